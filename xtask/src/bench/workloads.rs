//! The workloads: what is requested, and what the yardstick does meanwhile.

use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::measure::{Bench, Side};
use super::report::Row;
use super::wrk::{Load, Request};
use crate::error::{Error, Result};
use crate::http::Client;

/// What both sides do, and the row that is to hold the result.
pub(super) struct Workload {
    pub(super) row: Row,
    pub(super) ours: Side,
    pub(super) yardstick: Side,
    /// The most milliseconds of CPU time that 1,000 requests may take: the program's, and the database server's.
    pub(super) cpu_targets: &'static [f64],
}

impl Workload {
    fn new(name: &str, ours: Load, yardstick: Side) -> Self {
        Self {
            row: Row::new(name, f64::NAN, "/s"),
            ours: Side::Forecourt(ours),
            yardstick,
            cpu_targets: &[],
        }
    }

    /// The least that the throughput is to be, in proportion to the yardstick's.
    fn at_least(self, ratio: f64) -> Self {
        let row = self.row.at_least(ratio);
        Self { row, ..self }
    }
}

/// All workloads. Those that write come last: what they leave behind is in no other's way.
pub(super) fn all(bench: &Bench<'_>) -> Result<Vec<Workload>> {
    let engine = bench.engine;
    let clients = bench.options.connections;
    let places = Places::find(bench.client(0))?;
    let load = |request, path: &str| bench.load(request, path);
    let get = |path: &str| load(Request::Page, path);
    let beside = |bare, sql: &str| {
        let sql = sql.to_owned();
        engine.pick(Side::Bare(bare), Side::Pgbench { sql, clients })
    };
    let by_cursor = |cursor: &str| get(&format!("/2.0/leads?cursor={cursor}"));
    let create = |request| load(request, "/2.0/leads");
    let create_by = |clients| Load {
        clients,
        ..create(Request::Create)
    };
    let sql = include_str!("sql/create.sql");
    let sql_in_all = sql.replace(r"\set business 1", r"\set business random(1, 16)");
    let beside_create = |sql| beside(load(Request::Create, "/leads"), sql);
    let new_by_cursor = format!("/2.0/leads?status=new&cursor={}", places.after_first_new);
    // Far enough from the end that a whole page follows.
    let bare_by_cursor = format!("/leads?status=0&before={}", bench.options.leads.saturating_sub(1000));
    let mut creates = Workload::new("create with event", create(Request::Create), beside_create(sql));
    creates.cpu_targets = engine.pick(&[180.0], &[300.0, 600.0]);
    Ok(vec![
        Workload::new(
            "read by id",
            load(Request::Record, "/2.0/leads/"),
            beside(load(Request::Record, "/leads/"), include_str!("sql/read.sql")),
        )
        .at_least(engine.pick(0.70, 0.60)),
        Workload::new(
            "list of 50 with total, filtered",
            get("/2.0/leads?status=new"),
            beside(get("/leads?status=0"), include_str!("sql/page_by_number.sql")),
        )
        .at_least(0.60),
        Workload::new(
            "list of 50 by cursor, filtered",
            get(&new_by_cursor),
            beside(get(&bare_by_cursor), include_str!("sql/page_by_cursor.sql")),
        )
        .at_least(engine.pick(0.65, 0.60)),
        Workload::new(
            "page deep by cursor ÷ first page",
            by_cursor(&places.deep),
            Side::Forecourt(by_cursor(&places.after_first)),
        )
        .at_least(0.90),
        Workload::new(
            "manifest of listings, unchanged ÷ hello",
            load(Request::Unchanged(places.manifest), "/2.0/listings/manifest"),
            Side::Bare(get("/hello")),
        )
        .at_least(0.50),
        Workload::new(
            "listings, page of 50",
            get("/2.0/listings?per_page=50&cursor="),
            Side::Bare(get("/listings?updated=0&id=0&limit=50")),
        )
        .at_least(0.60),
        creates.at_least(engine.pick(0.60, 0.33)),
        Workload::new(
            "create with event and idempotency key",
            create(Request::CreateWithKey),
            beside_create(sql),
        ),
        Workload::new(
            "create in 16 businesses",
            create(Request::CreateInAll),
            beside_create(&sql_in_all),
        )
        .at_least(0.50),
        // What is measured twice differs by some hundredths.
        Workload::new("create by 32 ÷ by 2", create_by(32), Side::Forecourt(create_by(2))).at_least(0.95),
        Workload::new("create by 128 ÷ by 32", create_by(128), Side::Forecourt(create_by(32))).at_least(0.95),
    ])
}

/// Cursors in the list of leads, and the entity tag of the manifest of listings.
struct Places {
    after_first_new: String,
    after_first: String,
    /// Shortly before the end.
    deep: String,
    manifest: String,
}

impl Places {
    fn find(client: Client<'_>) -> Result<Self> {
        const PER_PAGE: u64 = 50;
        let first = client.get_json("/2.0/leads")?;
        let pages = first["meta"]["pagination"]["total"].as_u64().unwrap_or_default() / PER_PAGE;
        // Behind it a full page follows, as behind the first.
        let deep = (pages * 95 / 100).clamp(1, pages.saturating_sub(1).max(1));
        Ok(Self {
            after_first_new: next_cursor(&client.get_json("/2.0/leads?status=new")?)?,
            after_first: next_cursor(&first)?,
            deep: next_cursor(&client.get_json(&format!("/2.0/leads?page={deep}"))?)?,
            manifest: manifest_tag(client)?,
        })
    }
}

fn next_cursor(page: &Value) -> Result<String> {
    let cursor = page["meta"]["pagination"]["next_cursor"].as_str();
    let cursor = cursor.ok_or_else(|| Error::new("the lists are shorter than two pages: take more leads"))?;
    Ok(cursor.to_owned())
}

/// The entity tag of the manifest, once the server has been through all listings and it stays the same for some seconds.
fn manifest_tag(client: Client<'_>) -> Result<String> {
    let (mut tag, mut times) = (String::new(), 0);
    while times < 5 {
        let answer = client.get("/2.0/listings/manifest")?;
        let now = answer
            .etag
            .ok_or_else(|| Error::new("the manifest has no entity tag"))?;
        times = if tag == now { times + 1 } else { 0 };
        tag = now;
        thread::sleep(Duration::from_secs(1));
    }
    Ok(tag)
}
