//! The workloads: their requests, the yardstick's work, and the minimum ratio of the two.

use std::thread;
use std::time::Duration;

use super::compare::{Clients, Side, Workload};
use super::installation::BUSINESSES;
use super::measure::Bench;
use super::wrk::Request;
use crate::error::{Error, Result};
use crate::http::Client;

/// Returns all workloads. Those that write come last, since they leave records that would disturb the others.
pub(super) fn all(bench: &Bench<'_>) -> Result<Vec<Workload>> {
    let (engine, clients, leads) = (bench.engine, bench.clients(), bench.options.leads);
    let client = bench.client(0);
    let row = |name, ours, yardstick, at_least| Workload {
        name,
        sides: [Side::Forecourt(ours), yardstick],
        clients: [clients; 2],
        at_least,
        cpu_at_most: &[],
    };
    let get = Request::get;
    let create = || Request::post("/2.0/leads");
    let beside = |bare, script| engine.pick([Side::Bare(bare), Side::Pgbench(script)]);
    let create_beside = || beside(Request::post("/leads"), "create.sql");
    // Two measurements of the same work differ by some hundredths.
    let create_by = |name, counts: [u32; 2]| Workload {
        clients: counts.map(|count| Clients { count, ..clients }),
        ..row(name, create(), Side::Forecourt(create()), Some([0.95; 2]))
    };
    let in_all = Clients {
        businesses: BUSINESSES,
        ..clients
    };
    // A whole page follows after either.
    let deep = (leads / 50 * 95 / 100).max(1);
    let bare_deep = format!("/leads?status=0&before={}", leads.saturating_sub(1000));
    Ok(vec![
        row(
            "read by id",
            get("/2.0/leads/"),
            beside(get("/leads/"), "read.sql"),
            Some([0.70, 0.60]),
        ),
        row(
            "list of 50 with total, filtered",
            get("/2.0/leads?status=new"),
            beside(get("/leads?status=0"), "page_by_number.sql"),
            Some([0.60; 2]),
        ),
        row(
            "list of 50 by cursor, filtered",
            behind_page(client, "status=new&", 1)?,
            beside(get(&bare_deep), "page_by_cursor.sql"),
            Some([0.65, 0.60]),
        ),
        row(
            "page deep by cursor ÷ first page",
            behind_page(client, "", deep)?,
            Side::Forecourt(behind_page(client, "", 1)?),
            Some([0.90; 2]),
        ),
        row(
            "manifest of listings, unchanged ÷ hello",
            get("/2.0/listings/manifest").with_header(format!("If-None-Match: {}", manifest_tag(client)?)),
            Side::Bare(get("/hello")),
            Some([0.50; 2]),
        ),
        row(
            "listings, page of 50",
            get("/2.0/listings?per_page=50&cursor="),
            Side::Bare(get("/listings?per_page=50&cursor=")),
            Some([0.60; 2]),
        ),
        Workload {
            cpu_at_most: engine.pick([&[180.0], &[300.0, 600.0]]),
            ..row("create with event", create(), create_beside(), Some([0.60, 0.33]))
        },
        row(
            "create with event and idempotency key",
            create().with_header("Idempotency-Key: bench-NUMBER".to_owned()),
            create_beside(),
            None,
        ),
        Workload {
            clients: [in_all; 2],
            ..row("create in 16 businesses", create(), create_beside(), Some([0.50; 2]))
        },
        create_by("create by 32 ÷ by 2", [32, 2]),
        create_by("create by 128 ÷ by 32", [128, 32]),
    ])
}

/// Requests the page of leads after the one with this number, by cursor.
fn behind_page(client: Client<'_>, filter: &str, number: u32) -> Result<Request> {
    let page = client.get_json(&format!("/2.0/leads?{filter}page={number}"))?;
    let cursor = page["meta"]["pagination"]["next_cursor"].as_str();
    let cursor = cursor.ok_or_else(|| Error::new("the lists are shorter than two pages: take more leads"))?;
    Ok(Request::get(&format!("/2.0/leads?{filter}cursor={cursor}")))
}

/// Returns the entity tag of the manifest, once the server has processed all listings and the tag stays the same for some
/// seconds.
fn manifest_tag(client: Client<'_>) -> Result<String> {
    let (mut tag, mut times) = (String::new(), 0);
    while times < 5 {
        let now = client.get("/2.0/listings/manifest")?.etag;
        let now = now.ok_or_else(|| Error::new("the manifest has no entity tag"))?;
        times = if tag == now { times + 1 } else { 0 };
        tag = now;
        thread::sleep(Duration::from_secs(1));
    }
    Ok(tag)
}
