//! How fast webhooks go out: how long after its commit an event arrives, and how fast a backlog is worked off.
//!
//! They go to the bare program, which answers at once, or holds its answers back so that a backlog grows.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::measure::{Bench, percentile};
use super::report::Row;
use crate::error::{Error, Result};
use crate::http::Client;

/// How many events are delivered one after the other, and how far apart: 50 a second.
const SINGLE_EVENTS: usize = 400;
const INTERVAL: Duration = Duration::from_millis(20);
/// How long a backlog grows; shorter than an endpoint may take to answer.
const BACKLOG_SECONDS: u32 = 6;

#[expect(clippy::disallowed_methods, reason = "a measurement asks the machine for the time")]
impl Bench<'_> {
    pub(super) fn webhooks(&mut self) -> Result<()> {
        let (client, bare) = (self.client(0), self.bare_client());
        let url = format!("http://127.0.0.1:{}/hook", bare.port);
        client.create("/2.0/webhooks", &json!({"url": url, "events": ["lead.created"]}))?;

        let mut commits = Vec::new();
        for _ in 0..SINGLE_EVENTS {
            client.create("/2.0/leads", &json!({"name": "Ann"}))?;
            commits.push(SystemTime::now());
            thread::sleep(INTERVAL);
        }
        // One at a time, so they arrive in order.
        let latencies = commits.into_iter().enumerate().map(|(number, commit)| {
            let arrival = arrival(bare, number)?;
            Ok(arrival.duration_since(commit).unwrap_or_default().as_secs_f64() * 1e3)
        });
        let latencies = latencies.collect::<Result<Vec<f64>>>()?;

        bare.post("/hook/hold", "")?;
        let (created, _) = self.run(&self.creates(), BACKLOG_SECONDS)?;
        let received = bare.get("/hook")?.body.parse().unwrap_or_default();
        let (rate, cpu) = self.with_cpu(self.server.process(), || {
            let began = SystemTime::now();
            bare.post("/hook/release", "")?;
            // What the last requests made that were cut off at the end of the load is not waited for.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a number of requests"
            )]
            let all = SINGLE_EVENTS + created.requests as usize;
            let took = arrival(bare, all - 1)?.duration_since(began).unwrap_or_default();
            let deliveries = all.saturating_sub(received) as f64;
            Ok((deliveries, deliveries / took.as_secs_f64()))
        })?;

        let engine = self.engine;
        self.add(Row::new("webhooks to one endpoint", rate, "/s").at_least(engine.pick(15_000.0, 6_000.0)));
        let each = cpu.program + cpu.database.unwrap_or_default();
        self.add(Row::new("CPU time of a delivery", each, "µs").at_most(100.0));
        let p50 = percentile(latencies.iter().copied(), 50);
        let row = Row::new("webhooks, from commit to arrival at 50 a second, p50", p50, "ms");
        self.add(row.at_most(engine.pick(1.0, 1.5)));
        self.add(Row::new("the same, p99", percentile(latencies, 99), "ms"));
        Ok(())
    }
}

/// Waits for a delivery, which are numbered from 0; returns when it arrived.
fn arrival(bare: Client<'_>, number: usize) -> Result<SystemTime> {
    const POLL_INTERVAL: Duration = Duration::from_millis(20);
    const ATTEMPTS: usize = 15_000;
    for _ in 0..ATTEMPTS {
        if let Ok(microseconds) = bare.get(&format!("/hook/{number}"))?.body.parse() {
            return Ok(UNIX_EPOCH + Duration::from_micros(microseconds));
        }
        thread::sleep(POLL_INTERVAL);
    }
    let received = bare.get("/hook")?.body;
    Err(Error::new(format!(
        "of {} deliveries only {received} arrived",
        number + 1
    )))
}
