//! How fast webhooks go out: how long after its commit an event arrives, and how fast a backlog is worked off.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::endpoint::Endpoint;
use super::format::median;
use super::procfs::Counted;
use super::wrk::{Request, Wrk};
use crate::error::{Context as _, Error, Result};
use crate::http::Client;
use crate::server::Server;

/// How many events are delivered one after the other, and how far apart: 50 a second.
const CALM: u32 = 400;
const APART: Duration = Duration::from_millis(20);
/// How long a backlog grows; shorter than an endpoint may take to answer.
const GROWING: Duration = Duration::from_secs(6);
/// How long it may take to work it off.
const TIMEOUT: Duration = Duration::from_secs(300);

/// What was measured of webhooks.
pub(super) struct Webhooks {
    /// From the answer to a write to the arrival of its event, in milliseconds: half of them are faster, and 99 of 100.
    pub(super) p50: f64,
    pub(super) p99: f64,
    /// How many deliveries of a backlog, all to one endpoint, arrive in a second.
    pub(super) per_second: f64,
    /// CPU time per delivery in microseconds: the program's and, where there is one, the database server's.
    pub(super) cpu: f64,
    pub(super) database_cpu: Option<f64>,
}

impl Webhooks {
    pub(super) fn measure(server: &Server, database: Option<u32>, authorization: &str, wrk: &Wrk) -> Result<Self> {
        let endpoint = Endpoint::start().context(|| "an endpoint for webhooks cannot be started".to_owned())?;
        let client = Client {
            port: server.port(),
            authorization,
        };
        client.create(
            "/2.0/webhooks",
            &json!({"url": endpoint.url(), "events": ["lead.created"]}),
        )?;

        let mut committed = Vec::new();
        for number in 0..CALM {
            let lead = client.create("/2.0/leads", &json!({"name": format!("Calm {number}")}))?;
            committed.push((lead, Instant::now()));
            thread::sleep(APART);
        }
        arrived(&endpoint, CALM.into())?;
        let latency = |(lead, at): &(i64, Instant)| {
            let arrival = endpoint.arrival(*lead)?;
            Some(arrival.saturating_duration_since(*at).as_secs_f64() * 1e3)
        };
        let mut latencies: Vec<f64> = committed.iter().filter_map(latency).collect();
        latencies.sort_by(f64::total_cmp);
        let p99 = latencies[latencies.len() * 99 / 100];

        endpoint.hold(true);
        let before = endpoint.received();
        let grown = wrk.run(
            server.port(),
            authorization,
            &Request::Create("/2.0/leads".to_owned()),
            GROWING,
        )?;
        let waiting = endpoint.received();
        let cpu = || {
            let program = Counted::Process(server.process()).seconds()?;
            let database = database.map(|id| Counted::Family(id).seconds()).transpose()?;
            Ok::<_, Error>((program, database))
        };
        let used = cpu()?;
        let began = Instant::now();
        endpoint.hold(false);
        // What the last requests made that were cut off at the end of the load is not waited for.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of requests"
        )]
        arrived(&endpoint, before + grown.requests as u64)?;
        let took = began.elapsed().as_secs_f64();
        let used_then = cpu()?;
        let deliveries = (endpoint.received() - waiting) as f64;
        Ok(Self {
            p50: median(latencies),
            p99,
            per_second: deliveries / took,
            cpu: (used_then.0 - used.0) * 1e6 / deliveries,
            database_cpu: used_then
                .1
                .zip(used.1)
                .map(|(then, before)| (then - before) * 1e6 / deliveries),
        })
    }
}

fn arrived(endpoint: &Endpoint, count: u64) -> Result<()> {
    if endpoint.wait_for(count, TIMEOUT) {
        return Ok(());
    }
    let received = endpoint.received();
    Err(Error::new(format!(
        "of {count} deliveries {received} arrived in {} s",
        TIMEOUT.as_secs()
    )))
}
