//! The articles on the sample dealership's website.

use forecourt_blogs::{ArticleBody, ArticleChanges, ArticleHead, ArticleStatus, Publication, PublicationTime};
use forecourt_dealership::Session;
use forecourt_kernel::{BoxError, BusinessId, StoreError, StoreResult, Timestamp};
use serde::Deserialize;

/// The articles, oldest first.
const FILE: &str = include_str!("articles.json");
const SECONDS_PER_DAY: i64 = 86_400;

#[derive(Deserialize)]
struct Sample {
    /// The age in days; negative for an article that is scheduled.
    days_ago: i64,
    #[serde(flatten)]
    fields: ArticleChanges,
}

/// Stores the articles. They are an initial state, so no events report the public ones; events will report the scheduled ones.
pub(super) async fn load(session: &mut dyn Session, business: BusinessId, now: Timestamp) -> StoreResult<()> {
    let samples: Vec<Sample> =
        serde_json::from_str(FILE).map_err(|failure| StoreError::Other(BoxError::from(failure)))?;
    for Sample { days_ago, fields } in samples {
        let published_at = now.plus_seconds(-days_ago * SECONDS_PER_DAY);
        let at = published_at.min(now);
        let blank = ArticleHead {
            published_at: PublicationTime(published_at),
            ..ArticleHead::blank(at)
        };
        let (mut head, mut body) = (blank.clone(), ArticleBody::default());
        fields.head.apply(&mut head, &blank);
        fields.body.apply(&mut body, &ArticleBody::default());
        let publication = Publication {
            announced: head.status_at(now) == ArticleStatus::Published,
            undated: false,
        };
        session.insert_article(business, head, body, publication, at).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_article_is_one_that_a_caller_could_send() {
        let samples: Vec<Sample> = serde_json::from_str(FILE).unwrap();
        for Sample { fields, .. } in &samples {
            assert!(fields.faults().is_empty(), "{:?}", fields.faults());
        }
        let slugs: HashSet<_> = samples
            .iter()
            .filter_map(|sample| sample.fields.head.url.value())
            .collect();
        assert_eq!(slugs.len(), samples.len());
        assert!(
            samples.is_sorted_by(|one, other| one.days_ago > other.days_ago),
            "oldest first"
        );
    }
}
