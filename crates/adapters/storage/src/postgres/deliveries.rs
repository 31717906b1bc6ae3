//! Statements on many deliveries in one round trip, as PostgreSQL has them.

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Array, BigInt, Integer, Nullable, Text};
use diesel_async::SimpleAsyncConnection as _;
use futures_util::FutureExt as _;

use super::Conn;
use crate::models::{AttemptRow, AttemptValues, DueAdvance, Merge, status_code};
use crate::schema::webhook_deliveries;
use crate::statement::RunQueryDsl;
use forecourt_kernel::StoreResult;
use forecourt_webhooks::DeliveryStatus;

/// Merges an event into the pending updates that have not settled yet. Returns the subscriptions that had one.
pub(crate) async fn merge(
    conn: &mut Conn,
    business: i64,
    places: Vec<String>,
    with: Merge<'_>,
) -> StoreResult<Vec<i64>> {
    // If the list might be empty, the planner cannot infer that the partial index holds all.
    let settling = webhook_deliveries::table
        .filter(webhook_deliveries::business_id.eq(business))
        .filter(webhook_deliveries::settling.is_not_null())
        .filter(webhook_deliveries::settling.assume_not_null().eq_any(places));
    diesel::update(settling)
        .set(with.values())
        .returning(webhook_deliveries::webhook_id)
        .load(conn)
        .await
}

/// Makes queues due at the given times, unless they are due sooner. All are locked, in the order of their keys. A transaction
/// that takes from a queue at the same time has not seen the new deliveries in it, so the queue's due time is set after that one
/// ends.
pub(crate) async fn advance_due(conn: &mut Conn, queues: &[DueAdvance]) -> StoreResult<()> {
    let queues = AdvanceDue {
        businesses: queues.iter().map(|queue| queue.business_id).collect(),
        webhooks: queues.iter().map(|queue| queue.webhook_id).collect(),
        dues: queues.iter().map(|queue| queue.due).collect(),
    };
    queues.execute(conn).await.map(drop)
}

/// Has the rest of the transaction look up each row of a list by its key. The statistics may be from a time when the table was
/// empty, or had no pending rows. With such statistics the planner may read all of it, once for the list or once for each of its
/// rows.
pub(crate) fn look_up_by_key(conn: &mut Conn) {
    const BY_KEY: &str =
        "SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_seqscan = off";
    // As for BEGIN: the server takes statements in order, and a cause that keeps this one from running stops the next one too.
    drop(conn.batch_execute(BY_KEY).now_or_never());
}

/// Leases deliveries until a time. They have settled, and their answer will belong to the data that is sent now, which is the log's
/// present data.
pub(crate) async fn lease(conn: &mut Conn, business: i64, ids: Vec<i64>, until: i64) -> StoreResult<()> {
    Change {
        set: "due = NULL, settling = NULL, forget_answer = FALSE, lease",
        to: until,
        businesses: vec![business; ids.len()],
        ids,
    }
    .execute(conn)
    .await
    .map(drop)
}

/// Ends the leases of deliveries, which are due at a time.
pub(crate) async fn give_back(conn: &mut Conn, business: i64, ids: Vec<i64>, due: i64) -> StoreResult<()> {
    Change {
        set: "lease = NULL, due",
        to: due,
        businesses: vec![business; ids.len()],
        ids,
    }
    .execute(conn)
    .await
    .map(drop)
}

/// Stores the results of attempts, unless their deliveries are no longer pending. Returns the deliveries to try again, with the
/// times.
pub(crate) async fn save(conn: &mut Conn, attempts: Vec<AttemptRow>) -> StoreResult<Vec<DueAdvance>> {
    let mut columns = Save::default();
    for AttemptRow {
        business_id,
        id,
        values,
    } in attempts
    {
        let AttemptValues {
            status,
            due,
            lease: _,
            attempts,
            first_attempt,
            next_attempt_at,
            response_code,
            response_ms,
            response_body,
            error,
            delivered_at,
        } = values;
        columns.business_id.push(business_id);
        columns.id.push(id);
        columns.pending.push(status_code(DeliveryStatus::Pending));
        columns.status.push(status);
        columns.due.push(due);
        columns.attempts.push(attempts);
        columns.first_attempt.push(first_attempt);
        columns.next_attempt_at.push(next_attempt_at);
        columns.response_code.push(response_code);
        columns.response_ms.push(response_ms);
        columns.response_body.push(response_body);
        columns.error.push(error);
        columns.delivered_at.push(delivered_at);
    }
    look_up_by_key(conn);
    let saved: Vec<(i64, i64, Option<i64>)> = columns.load(conn).await?;
    let again = |(business_id, webhook_id, due): (i64, i64, Option<i64>)| {
        due.map(|due| DueAdvance {
            business_id,
            webhook_id,
            due,
        })
    };
    Ok(saved.into_iter().filter_map(again).collect())
}

/// Has a statement that joins lists with a table planned for the present size of the table. A plan that was kept from a time with
/// few deliveries took seconds for the hundreds of a backlog.
fn plan_anew(out: &mut AstPass<'_, '_, Pg>) {
    out.unsafe_to_cache_prepared();
}

struct AdvanceDue {
    businesses: Vec<i64>,
    webhooks: Vec<i64>,
    dues: Vec<i64>,
}

impl QueryId for AdvanceDue {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl QueryFragment<Pg> for AdvanceDue {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        plan_anew(&mut out);
        // The locked row is compared. The row itself is seen as it was before the wait for its lock.
        out.push_sql(
            "WITH locked AS MATERIALIZED (SELECT queue.business_id, queue.webhook_id, queue.next_due, given.due \
             FROM webhook_queues AS queue JOIN unnest(",
        );
        out.push_bind_param::<Array<BigInt>, _>(&self.businesses)?;
        out.push_sql("::BIGINT[], ");
        out.push_bind_param::<Array<BigInt>, _>(&self.webhooks)?;
        out.push_sql("::BIGINT[], ");
        out.push_bind_param::<Array<BigInt>, _>(&self.dues)?;
        out.push_sql(
            "::BIGINT[]) AS given (business_id, webhook_id, due) USING (business_id, webhook_id) \
             ORDER BY queue.business_id, queue.webhook_id FOR NO KEY UPDATE OF queue) \
             UPDATE webhook_queues AS queue SET next_due = locked.due FROM locked \
             WHERE queue.business_id = locked.business_id AND queue.webhook_id = locked.webhook_id \
             AND (locked.next_due IS NULL OR locked.next_due > locked.due)",
        );
        Ok(())
    }
}

/// A change of deliveries that are looked up by their keys. The business is compared with a column of the list: if it were a value,
/// statistics of an empty table would make its deliveries seem few, and all of them would be read.
struct Change {
    /// The columns that are set, the last one to the value.
    set: &'static str,
    to: i64,
    businesses: Vec<i64>,
    ids: Vec<i64>,
}

impl QueryId for Change {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<Pg> for Change {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        plan_anew(&mut out);
        out.push_sql("UPDATE webhook_deliveries AS delivery SET ");
        out.push_sql(self.set);
        out.push_sql(" = ");
        out.push_bind_param::<BigInt, _>(&self.to)?;
        out.push_sql("::BIGINT FROM unnest(");
        out.push_bind_param::<Array<BigInt>, _>(&self.businesses)?;
        out.push_sql("::BIGINT[], ");
        out.push_bind_param::<Array<BigInt>, _>(&self.ids)?;
        out.push_sql(
            "::BIGINT[]) AS listed (business_id, id) \
             WHERE delivery.business_id = listed.business_id AND delivery.id = listed.id",
        );
        Ok(())
    }
}

#[derive(Default)]
struct Save {
    business_id: Vec<i64>,
    id: Vec<i64>,
    pending: Vec<i32>,
    status: Vec<i32>,
    due: Vec<Option<i64>>,
    attempts: Vec<i32>,
    first_attempt: Vec<Option<i64>>,
    next_attempt_at: Vec<Option<i64>>,
    response_code: Vec<Option<i32>>,
    response_ms: Vec<Option<i32>>,
    response_body: Vec<Option<String>>,
    error: Vec<Option<String>>,
    delivered_at: Vec<Option<i64>>,
}

impl Query for Save {
    type SqlType = (BigInt, BigInt, Nullable<BigInt>);
}

impl QueryId for Save {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl QueryFragment<Pg> for Save {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        plan_anew(&mut out);
        type Whole = Array<Nullable<BigInt>>;
        type Small = Array<Nullable<Integer>>;
        type Texts = Array<Nullable<Text>>;
        out.push_sql(
            "UPDATE webhook_deliveries AS delivery SET status = tried.status, due = tried.due, lease = NULL, \
             attempts = tried.attempts, first_attempt = tried.first_attempt, next_attempt_at = tried.next_attempt_at, \
             response_code = tried.response_code, response_ms = tried.response_ms, \
             response_body = CASE WHEN NOT delivery.forget_answer THEN tried.response_body END, \
             error = tried.error, delivered_at = tried.delivered_at FROM unnest(",
        );
        out.push_bind_param::<Array<BigInt>, _>(&self.business_id)?;
        out.push_sql("::BIGINT[], ");
        out.push_bind_param::<Array<BigInt>, _>(&self.id)?;
        out.push_sql("::BIGINT[], ");
        out.push_bind_param::<Array<Integer>, _>(&self.pending)?;
        out.push_sql("::INTEGER[], ");
        out.push_bind_param::<Array<Integer>, _>(&self.status)?;
        out.push_sql("::INTEGER[], ");
        out.push_bind_param::<Whole, _>(&self.due)?;
        out.push_sql("::BIGINT[], ");
        out.push_bind_param::<Array<Integer>, _>(&self.attempts)?;
        out.push_sql("::INTEGER[], ");
        out.push_bind_param::<Whole, _>(&self.first_attempt)?;
        out.push_sql("::BIGINT[], ");
        out.push_bind_param::<Whole, _>(&self.next_attempt_at)?;
        out.push_sql("::BIGINT[], ");
        out.push_bind_param::<Small, _>(&self.response_code)?;
        out.push_sql("::INTEGER[], ");
        out.push_bind_param::<Small, _>(&self.response_ms)?;
        out.push_sql("::INTEGER[], ");
        out.push_bind_param::<Texts, _>(&self.response_body)?;
        out.push_sql("::TEXT[], ");
        out.push_bind_param::<Texts, _>(&self.error)?;
        out.push_sql("::TEXT[], ");
        out.push_bind_param::<Whole, _>(&self.delivered_at)?;
        // The status is compared with a column of the list. A condition of the table alone would be estimated by statistics. If
        // these were gathered while nothing was pending, no row seems to have it: then the table seems the shorter side, and is
        // read whole.
        out.push_sql(
            "::BIGINT[]) AS tried (business_id, id, pending, status, due, attempts, first_attempt, next_attempt_at, response_code, \
             response_ms, response_body, error, delivered_at) \
             WHERE delivery.business_id = tried.business_id AND delivery.id = tried.id AND delivery.status = tried.pending \
             RETURNING delivery.business_id, delivery.webhook_id, delivery.due",
        );
        Ok(())
    }
}
