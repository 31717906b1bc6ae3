//! The end of a transaction that left deliveries in queues.

use std::collections::BTreeMap;

use forecourt_kernel::{Moment, StoreResult};
use forecourt_webhooks::EndpointKey;

use super::super::{Conn, deliveries};
use crate::models::DueAdvance;

/// Notes the due times of new deliveries in their queues. It is the last statement of a transaction.
pub(in super::super) async fn advance_due(conn: &mut Conn, queued: &[(EndpointKey, Moment)]) -> StoreResult<()> {
    if queued.is_empty() {
        return Ok(());
    }
    let mut earliest: BTreeMap<EndpointKey, i64> = BTreeMap::new();
    for &(endpoint, due) in queued {
        let known = earliest.entry(endpoint).or_insert(i64::MAX);
        *known = due.epoch_millis().min(*known);
    }
    let queue = |(endpoint, due): (EndpointKey, i64)| DueAdvance {
        business_id: endpoint.business.get(),
        webhook_id: endpoint.webhook.get(),
        due,
    };
    let queues: Vec<DueAdvance> = earliest.into_iter().map(queue).collect();
    deliveries::advance_due(conn, &queues).await
}
