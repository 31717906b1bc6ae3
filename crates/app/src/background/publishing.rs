//! Records that scheduled articles have become public.

use forecourt_blogs::{ArticleError, ArticleId, DuePublication, publish_due_article};
use forecourt_dealership::Session;
use forecourt_kernel::{BusinessId, Clock, StoreError, Timestamp};

use super::due::DueWork;

#[derive(Clone)]
pub(super) struct Publishing;

impl DueWork for Publishing {
    const NAME: &'static str = "publishing";
    type Id = ArticleId;
    type Error = ArticleError;

    async fn due(
        session: &mut dyn Session,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<(BusinessId, ArticleId)>, StoreError> {
        let due = session.due_publications(now, limit).await?;
        Ok(due
            .into_iter()
            .map(|DuePublication { business, article }| (business, article))
            .collect())
    }

    async fn perform(
        &self,
        session: &mut dyn Session,
        clock: &dyn Clock,
        business: BusinessId,
        article: ArticleId,
    ) -> Result<(), ArticleError> {
        publish_due_article(session, clock, business, article).await
    }
}
