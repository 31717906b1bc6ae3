//! The reviews of the sample dealership by customers.

use forecourt_dealership::Session;
use forecourt_kernel::{BoxError, BusinessId, StoreError, StoreResult, Timestamp};
use forecourt_reviews::{ReviewChanges, ReviewContent};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The reviews, oldest first.
const FILE: &str = include_str!("reviews.json");
const SECONDS_PER_DAY: i64 = 86_400;

#[derive(Deserialize)]
struct Sample {
    days_ago: i64,
    /// Further data of the site on which it was written.
    #[serde(default)]
    data: Map<String, Value>,
    #[serde(flatten)]
    fields: ReviewChanges,
}

/// Stores the reviews, the newest of them a few days old.
pub(super) async fn load(session: &mut dyn Session, business: BusinessId, now: Timestamp) -> StoreResult<()> {
    let samples: Vec<Sample> =
        serde_json::from_str(FILE).map_err(|failure| StoreError::Other(BoxError::from(failure)))?;
    for Sample { days_ago, data, fields } in samples {
        let at = now.plus_seconds(-days_ago * SECONDS_PER_DAY);
        let blank = ReviewContent::blank(at.date());
        let mut content = blank.clone();
        fields.apply(&mut content, &blank);
        session.insert_review(business, content, data, at).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_review_is_one_that_a_caller_could_send() {
        let samples: Vec<Sample> = serde_json::from_str(FILE).unwrap();
        for Sample { fields, .. } in &samples {
            assert!(fields.faults().is_empty(), "{:?}", fields.faults());
        }
        assert!(
            samples.is_sorted_by(|one, other| one.days_ago > other.days_ago),
            "oldest first"
        );
    }
}
