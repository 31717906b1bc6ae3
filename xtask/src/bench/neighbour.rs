//! Measures the requests of one business while another one creates many leads, or sends the costliest requests within its rate
//! limit.

use std::iter;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use serde_json::json;

use super::measure::{Bench, percentile};
use super::procfs;
use super::report::Row;
use crate::error::{Error, Result};
use crate::http::Client;

/// The number of concurrent requests of the hostile business.
const AT_ONCE: usize = 32;
/// The number of its large leads, and the bytes of text in each.
const LARGE_LEADS: usize = 300;
const TEXT_BYTES: usize = 60_000;

impl Bench<'_> {
    pub(super) fn reads_beside_creates(&mut self) -> Result<()> {
        let load = || self.create_leads(self.options.seconds).map(drop);
        let latencies = latencies_beside(self.client(1), false, load)?;
        let p99 = percentile(latencies, 99);
        self.at_most("beside creates, another business's reads, p99", p99, "ms", [5.0, 10.0]);
        Ok(())
    }

    pub(super) fn hostile_business(&mut self) -> Result<()> {
        let hostile = self.client(0);
        for number in 0..LARGE_LEADS {
            let message = format!("Name {number} ").repeat(TEXT_BYTES / 9);
            let lead = json!({"name": "a".repeat(250), "data": {"message": message}});
            hostile.create("/2.0/leads", &lead)?;
        }
        let process = self.server.process();
        let before = procfs::memory(process)?;
        let attack = || send_costliest_requests(hostile);
        let (latencies, peak) = procfs::peak_memory(process, || latencies_beside(self.client(1), true, attack))?;
        let p50 = percentile(latencies.iter().copied(), 50);
        self.add(Row::new(
            "beside a hostile business, another one's requests, p50",
            p50,
            "ms",
        ));
        self.at_most("the same, p99", percentile(latencies, 99), "ms", [100.0; 2]);
        self.at_most("growth of memory", peak - before, "MB", [150.0; 2]);
        Ok(())
    }
}

/// Returns the milliseconds of each request of a business with ordinary use, while there is a load.
fn latencies_beside(
    client: Client<'_>,
    has_creates: bool,
    load: impl FnOnce() -> Result<()> + Send,
) -> Result<Vec<f64>> {
    const LEAST: usize = 300;
    const INTERVAL: Duration = Duration::from_millis(10);
    let create = || client.create("/2.0/leads", &json!({"name": "Ann"}));
    let mut id = create()?;
    thread::scope(|scope| {
        let load = scope.spawn(load);
        let mut latencies = Vec::new();
        while latencies.len() < LEAST || !load.is_finished() {
            let mut began = Instant::now();
            let mut record = || {
                latencies.push(began.elapsed().as_secs_f64() * 1e3);
                began = Instant::now();
            };
            if has_creates {
                id = create()?;
                record();
            }
            for path in [&format!("/2.0/leads/{id}"), "/2.0/leads"] {
                client.get_json(path)?;
                record();
            }
            thread::sleep(INTERVAL);
        }
        join(load)?;
        Ok(latencies)
    })
}

/// Sends the costliest requests, about as many as the default rate limit allows in a minute.
fn send_costliest_requests(client: Client<'_>) -> Result<()> {
    let many = format!("[{}0]", "0,".repeat(500_000));
    let pattern = format!("%25{a}%25{a}%25{a}b%25", a = "a".repeat(30));
    let lead = json!({"name": "One more", "data": {"message": "m".repeat(TEXT_BYTES)}});
    // The number of requests and the path, with a body for a POST.
    let kinds = [
        (12, "/2.0/leads?view=full&per_page=500".to_owned(), None),
        (6, "/2.0/leads?fields=id,data&per_page=500".to_owned(), None),
        (6, "/2.0/events?per_page=500".to_owned(), None),
        (40, format!("/2.0/leads?name={pattern}"), None),
        (40, "/2.0/leads?page=1900&rating=1,5".to_owned(), None),
        (4, format!("/2.0/reference/sites?fields={}", "a.".repeat(1_000)), None),
        (6, "/2.0/leads".to_owned(), Some("[".repeat(1_000_000))),
        (12, "/2.0/leads".to_owned(), Some(format!("{{\"type\":{many}}}"))),
        (12, "/2.0/contacts".to_owned(), Some(format!("{{\"tag\":{many}}}"))),
        (100, "/2.0/leads".to_owned(), Some(lead.to_string())),
    ];
    let requests = kinds
        .iter()
        .flat_map(|(times, path, body)| iter::repeat_n((path, body), *times));
    let requests: Vec<_> = requests.collect();
    let next = AtomicUsize::new(0);
    let send = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= requests.len() {
                return Ok(());
            }
            // All kinds are sent at the same time.
            let (path, body) = requests[number * 97 % requests.len()];
            let answer = match body {
                Some(body) => client.post(path, body)?,
                None => client.get(path)?,
            };
            if answer.status >= 500 {
                let start: String = path.chars().take(80).collect();
                return Err(Error::new(format!("{start} is answered {}", answer.status)));
            }
        }
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(send)).collect();
        clients.into_iter().try_for_each(join)
    })
}

pub(super) fn join(thread: ScopedJoinHandle<'_, Result<()>>) -> Result<()> {
    thread.join().map_err(|_| Error::new("a client panicked"))?
}
