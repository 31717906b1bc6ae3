//! A backlog of deliveries is worked off by the primary key, at whatever time statistics were gathered.

use diesel::dsl::sql;
use diesel::sql_types::Text;
use diesel_async::SimpleAsyncConnection as _;
use forecourt_storage::Storage;

use super::installation::{Installation, on_postgres};
use super::samples::{a_webhook, key, moment, room};
use super::{listening, overheard};

/// Deliveries that ended long ago, and then some that are due.
const HISTORY: &str =
    "INSERT INTO webhook_deliveries (business_id, webhook_id, topic, event_id, status, attempts, created)
    SELECT business_id, id, 'lead.created', 'evt', 1, 1, 0 FROM webhooks, generate_series(1, 20000)";
const BACKLOG: &str =
    "INSERT INTO webhook_deliveries (business_id, webhook_id, topic, event_id, status, attempts, created, due)
    SELECT business_id, id, 'lead.created', 'evt', 0, 0, 0, 0 FROM webhooks, generate_series(1, 20000)";

#[tokio::test(flavor = "multi_thread")]
async fn statistics_of_a_queue_without_history() {
    on_postgres(async |installation| plans_hold(installation, &[]).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_of_a_queue_in_which_nothing_is_pending() {
    on_postgres(async |installation| plans_hold(installation, &[HISTORY]).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_of_a_queue_with_a_backlog() {
    on_postgres(async |installation| plans_hold(installation, &[HISTORY, BACKLOG]).await).await;
}

/// Fills the queue after statistics were gathered, and looks at the statements that take deliveries, store attempts and give
/// deliveries back.
async fn plans_hold(installation: Installation, before: &[&str]) {
    let (installation, business) = listening(installation).await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    for statement in before {
        installation.execute(statement).await;
    }
    installation
        .execute("ANALYZE webhook_deliveries; ANALYZE webhook_queues")
        .await;
    installation.execute(BACKLOG).await;
    installation.execute("UPDATE webhook_queues SET next_due = 0").await;
    overheard();
    let mut session = installation.begin().await;
    let taken = session
        .take_due(endpoint, moment(0), moment(9), room(512), moment(5))
        .await
        .unwrap()
        .deliveries;
    assert_eq!(taken.len(), 512);
    let tried: Vec<_> = taken
        .iter()
        .map(|taken| taken.unsendable(endpoint, moment(0), "lost"))
        .collect();
    session.save_attempts(&tried[1..]).await.unwrap();
    session.give_back(endpoint, &[taken[0].id], moment(0)).await.unwrap();
    session.commit().await.unwrap();
    let (mut settings, mut changes) = (String::new(), 0);
    for statement in overheard() {
        if statement.starts_with("SET LOCAL") {
            settings = format!("{statement};");
        }
        if !(statement.contains("UPDATE webhook_deliveries") && statement.contains("unnest(")) {
            continue;
        }
        changes += 1;
        let plan = explained(&installation, &settings, &statement, taken[0].id.get(), business.get()).await;
        let by_key = plan.contains("webhook_deliveries_pkey");
        assert!(
            by_key && !plan.contains("Seq Scan on webhook_deliveries"),
            "{statement}\n{plan}"
        );
    }
    assert_eq!(changes, 3, "taken, stored, given back");
}

/// Returns the plan for 512 deliveries from this one on, made for these values.
async fn explained(installation: &Installation, settings: &str, statement: &str, first: i64, business: i64) -> String {
    use forecourt_storage::RunQueryDsl as _;
    let Storage::Postgres(engine) = &installation.storage else {
        return String::new();
    };
    let mut conn = engine.begin().await.unwrap();
    conn.batch_execute(&format!(
        "{settings} SET LOCAL plan_cache_mode = force_custom_plan; PREPARE it AS {statement}"
    ))
    .await
    .unwrap();
    let types: Vec<String> =
        sql::<Text>("SELECT unnest(parameter_types)::text FROM pg_prepared_statements WHERE name = 'it'")
            .load(&mut *conn)
            .await
            .unwrap();
    let ids: Vec<String> = (first..first + 512).map(|id| id.to_string()).collect();
    let ids = format!("'{{{}}}'::bigint[]", ids.join(","));
    let mut arrays = 0;
    let values: Vec<String> = types
        .iter()
        .map(|of| match of.as_str() {
            // A list of ids comes alone, or after that of the businesses.
            "bigint[]" => {
                arrays += 1;
                let is_business = arrays == 1 && statement.contains("unnest(");
                if is_business {
                    format!("array_fill({business}::bigint, ARRAY[512])")
                } else {
                    ids.clone()
                }
            }
            "integer[]" => "array_fill(0, ARRAY[512])".to_owned(),
            "text[]" => "array_fill(''::text, ARRAY[512])".to_owned(),
            "bigint" => business.to_string(),
            of => format!("NULL::{of}"),
        })
        .collect();
    let plan: Vec<String> = sql::<Text>(&format!("EXPLAIN EXECUTE it({})", values.join(", ")))
        .load(&mut *conn)
        .await
        .unwrap();
    conn.batch_execute("DEALLOCATE it").await.unwrap();
    plan.join("\n")
}
