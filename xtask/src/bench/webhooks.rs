//! Measures webhooks: the time from a commit to the arrival of its event, and the speed at which a backlog is delivered.
//!
//! They go to the bare program, which answers at once, or holds its answers back so that a backlog grows.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::measure::{Bench, percentile};
use super::report::Row;
use crate::error::{Error, Result};
use crate::http::Client;

/// The number of events that are delivered one after another, and the interval between them: 50 a second.
const SINGLE_EVENTS: usize = 400;
const INTERVAL: Duration = Duration::from_millis(20);
/// The time for which a backlog grows; shorter than an endpoint may take to answer.
const BACKLOG_SECONDS: u32 = 6;

impl Bench<'_> {
    pub(super) fn webhooks(&mut self) -> Result<()> {
        let (client, bare) = (self.client(0), self.bare_client());
        let url = format!("http://127.0.0.1:{}/hook", bare.port);
        client.create("/2.0/webhooks", &json!({"url": url, "events": ["lead.created"]}))?;

        let mut commits = Vec::new();
        for _ in 0..SINGLE_EVENTS {
            client.create("/2.0/leads", &json!({"name": "Ann"}))?;
            commits.push(now());
            thread::sleep(INTERVAL);
        }
        wait_for_arrival(bare, SINGLE_EVENTS - 1)?;
        // They are sent one at a time, so they arrive in order.
        let waits = arrivals(bare, 0)?.into_iter().zip(commits);
        let latencies: Vec<f64> = waits
            .map(|(arrival, commit)| (arrival - commit).max(0.0) * 1e3)
            .collect();

        bare.post("/hook/holds/true", "")?;
        // The last requests are cut off at the end of the load; their events are not awaited.
        let all = SINGLE_EVENTS + self.create_leads(BACKLOG_SECONDS)?;
        let backlog = all.saturating_sub(arrivals(bare, 0)?.len()) as f64;
        let (took, cpu) = self.with_cpu(self.server.process(), || {
            let began = now();
            bare.post("/hook/holds/false", "")?;
            Ok(wait_for_arrival(bare, all - 1)? - began)
        })?;

        let row = Row::new("webhooks to one endpoint", backlog / took, "/s");
        self.add(row.at_least(self.engine.pick([15_000.0, 6_000.0])));
        let each = (cpu[0] + cpu[1]) * 1e6 / backlog;
        self.at_most("CPU time of a delivery", each, "µs", [100.0; 2]);
        let p50 = percentile(latencies.iter().copied(), 50);
        self.at_most(
            "webhooks, from commit to arrival at 50 a second, p50",
            p50,
            "ms",
            [1.0, 1.5],
        );
        self.add(Row::new("the same, p99", percentile(latencies, 99), "ms"));
        Ok(())
    }
}

/// Returns the time in seconds, from the clock that the bare program reads too.
#[expect(clippy::disallowed_methods, reason = "a measurement asks the machine for the time")]
fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
}

/// Returns the arrival times of the deliveries from the one with this number on; the first is number 0.
fn arrivals(bare: Client<'_>, number: usize) -> Result<Vec<f64>> {
    let arrivals = bare.get_json(&format!("/hook/{number}"))?;
    let microseconds = arrivals.as_array().into_iter().flatten().filter_map(Value::as_f64);
    Ok(microseconds.map(|microseconds| microseconds / 1e6).collect())
}

/// Waits for the delivery with this number; returns the time of its arrival.
fn wait_for_arrival(bare: Client<'_>, number: usize) -> Result<f64> {
    const POLL_INTERVAL: Duration = Duration::from_millis(20);
    const ATTEMPTS: usize = 15_000;
    for _ in 0..ATTEMPTS {
        if let Some(arrival) = arrivals(bare, number)?.first() {
            return Ok(*arrival);
        }
        thread::sleep(POLL_INTERVAL);
    }
    let received = arrivals(bare, 0)?.len();
    Err(Error::new(format!(
        "of {} deliveries only {received} arrived",
        number + 1
    )))
}
