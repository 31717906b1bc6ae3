//! Statements on many deliveries, one after another. On SQLite that costs no round trips, and each statement stays prepared.

use diesel::prelude::*;
use forecourt_kernel::StoreResult;
use forecourt_webhooks::DeliveryStatus;

use super::Conn;
use crate::models::{AttemptRow, DueAdvance, Merge, status_code};
use crate::schema::{webhook_deliveries, webhook_queues};
use crate::statement::{Prepare as _, RunQueryDsl};

/// Merges an event into the pending updates that have not settled yet. Returns the subscriptions that had one.
pub(crate) async fn merge(
    conn: &mut Conn,
    business: i64,
    places: Vec<String>,
    with: Merge<'_>,
) -> StoreResult<Vec<i64>> {
    let mut merged = Vec::new();
    for place in places {
        let settling = webhook_deliveries::table
            .filter(webhook_deliveries::business_id.eq(business))
            .filter(webhook_deliveries::settling.assume_not_null().eq(place));
        let found: Option<i64> = diesel::update(settling)
            .set(with.values())
            .returning(webhook_deliveries::webhook_id)
            .prepared()
            .get_optional(conn)
            .await?;
        merged.extend(found);
    }
    Ok(merged)
}

/// Makes queues due at the given times, unless they are due sooner.
pub(crate) async fn advance_due(conn: &mut Conn, queues: &[DueAdvance]) -> StoreResult<()> {
    for queue in queues {
        let later = webhook_queues::next_due
            .is_null()
            .or(webhook_queues::next_due.assume_not_null().gt(queue.due));
        let late = webhook_queues::table
            .find((queue.business_id, queue.webhook_id))
            .filter(later);
        diesel::update(late)
            .set(webhook_queues::next_due.eq(Some(queue.due)))
            .prepared()
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Does nothing: rows are looked up one by one anyway.
pub(crate) const fn look_up_by_key(_conn: &mut Conn) {}

/// Leases deliveries until a time. They have settled, and their answer will belong to the data that is sent now, which is the log's
/// present data.
pub(crate) async fn lease(conn: &mut Conn, business: i64, ids: Vec<i64>, until: i64) -> StoreResult<()> {
    diesel::update(of(business, ids))
        .set((
            webhook_deliveries::lease.eq(Some(until)),
            webhook_deliveries::due.eq(None::<i64>),
            webhook_deliveries::settling.eq(None::<String>),
            webhook_deliveries::forget_answer.eq(false),
        ))
        .execute(conn)
        .await
        .map(drop)
}

/// Ends the leases of deliveries, which are due at a time.
pub(crate) async fn give_back(conn: &mut Conn, business: i64, ids: Vec<i64>, due: i64) -> StoreResult<()> {
    diesel::update(of(business, ids))
        .set((
            webhook_deliveries::lease.eq(None::<i64>),
            webhook_deliveries::due.eq(Some(due)),
        ))
        .execute(conn)
        .await
        .map(drop)
}

/// A business's deliveries with these ids.
#[diesel::dsl::auto_type(no_type_alias)]
fn of(business: i64, ids: Vec<i64>) -> _ {
    webhook_deliveries::table
        .filter(webhook_deliveries::business_id.eq(business))
        .filter(webhook_deliveries::id.eq_any(ids))
}

/// Stores the results of attempts, unless their deliveries are no longer pending. Returns the deliveries to try again, with the
/// times.
pub(crate) async fn save(conn: &mut Conn, attempts: Vec<AttemptRow>) -> StoreResult<Vec<DueAdvance>> {
    let mut again = Vec::new();
    for AttemptRow {
        business_id,
        id,
        values,
    } in attempts
    {
        let due = values.due;
        let answered = values.response_body.is_some();
        let pending = webhook_deliveries::table
            .find((business_id, id))
            .filter(webhook_deliveries::status.eq(status_code(DeliveryStatus::Pending)));
        let saved: Option<i64> = diesel::update(pending)
            .set(values)
            .returning(webhook_deliveries::webhook_id)
            .prepared()
            .get_optional(conn)
            .await?;
        if answered {
            let forgetting = webhook_deliveries::table
                .find((business_id, id))
                .filter(webhook_deliveries::forget_answer.eq(true));
            diesel::update(forgetting)
                .set(webhook_deliveries::response_body.eq(None::<String>))
                .prepared()
                .execute(conn)
                .await?;
        }
        if let (Some(webhook_id), Some(due)) = (saved, due) {
            again.push(DueAdvance {
                business_id,
                webhook_id,
                due,
            });
        }
    }
    Ok(again)
}
