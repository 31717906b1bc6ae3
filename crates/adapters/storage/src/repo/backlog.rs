//! The number of deliveries and mails that wait to be sent, over all businesses.

use async_trait::async_trait;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable};
use forecourt_dealership::{Backlog, BacklogReader};
use forecourt_kernel::{Moment, StoreResult};

use super::session::{Read, Session};
use crate::statement::{MayScan as _, RunQueryDsl};

/// The number of the webhooks' queues in which the oldest delivery is searched for: those that are due first.
const QUEUES: u32 = 1_000;

#[derive(QueryableByName)]
struct BacklogRow {
    #[diesel(sql_type = BigInt)]
    deliveries: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    oldest_due: Option<i64>,
    #[diesel(sql_type = BigInt)]
    disabled_webhooks: i64,
    #[diesel(sql_type = BigInt)]
    mails: i64,
}

/// One statement for both engines. Counting stops at [`Backlog::MOST`] rows. The order is that of the index, so that no planner
/// reads the table. The due time of a queue is the time of its next turn, and not that of its first delivery.
fn statement() -> String {
    let most = Backlog::MOST;
    format!(
        "SELECT \
         (SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries WHERE due IS NOT NULL \
         ORDER BY business_id, webhook_id, due LIMIT {most}) AS waiting) AS deliveries, \
         (SELECT min(queues.first_due) FROM (SELECT (SELECT webhook_deliveries.due FROM webhook_deliveries \
         WHERE webhook_deliveries.business_id = webhook_queues.business_id \
         AND webhook_deliveries.webhook_id = webhook_queues.webhook_id AND webhook_deliveries.due IS NOT NULL \
         ORDER BY webhook_deliveries.due LIMIT 1) AS first_due \
         FROM webhook_queues WHERE webhook_queues.next_due IS NOT NULL AND webhook_queues.active \
         ORDER BY webhook_queues.next_due LIMIT {QUEUES}) AS queues) AS oldest_due, \
         (SELECT count(*) FROM (SELECT active FROM webhook_queues LIMIT {most}) AS known WHERE NOT known.active) \
         AS disabled_webhooks, \
         (SELECT count(*) FROM (SELECT 1 FROM mails ORDER BY due LIMIT {most}) AS queued) AS mails"
    )
}

#[async_trait]
impl BacklogReader for Session<Read> {
    async fn backlog(&mut self) -> StoreResult<Backlog> {
        let BacklogRow {
            deliveries,
            oldest_due,
            disabled_webhooks,
            mails,
        } = diesel::sql_query(statement())
            .may_scan(true)
            .get_result(self.conn().await?)
            .await?;
        let count = |counted: i64| u32::try_from(counted).unwrap_or(Backlog::MOST);
        Ok(Backlog {
            deliveries: count(deliveries),
            oldest_due: oldest_due.map(Moment::from_epoch_millis),
            disabled_webhooks: count(disabled_webhooks),
            mails: count(mails),
        })
    }
}
