//! How long one business waits while another one does its worst within its rate limit.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::measure::{self, Latency};
use super::procfs;
use crate::error::{Error, Result};
use crate::http::Client;
use crate::server::Server;

/// How many requests are under way at once.
const AT_ONCE: usize = 32;
/// How many large leads the hostile business has, and the bytes of text in each.
const LEADS: usize = 300;
const TEXT: usize = 60_000;
/// Between two requests of the neighbour, which is a business with an ordinary day.
const APART: Duration = Duration::from_millis(10);
/// How many of its requests are measured at least.
const LEAST: usize = 300;

/// What was measured of a business beside a hostile one.
pub(super) struct Neighbour {
    /// Of its creates, reads and lists.
    pub(super) latency: Latency,
    /// By how many bytes the program's memory grew at most.
    pub(super) growth: u64,
}

impl Neighbour {
    pub(super) fn measure(server: &Server, hostile: &str, neighbour: &str) -> Result<Self> {
        let [hostile, neighbour] = [hostile, neighbour].map(|authorization| Client {
            port: server.port(),
            authorization,
        });
        for number in 0..LEADS {
            let lead = json!({
                "name": "a".repeat(250),
                "data": {"message": format!("Name {number} ").repeat(TEXT / 9)},
            });
            hostile.create("/2.0/leads", &lead)?;
        }
        let before = procfs::memory(server.process())?;
        let requests = Mutex::new(worst());
        let (seen, most) = measure::watching_memory(server.process(), || {
            thread::scope(|scope| {
                let attackers: Vec<_> = (0..AT_ONCE)
                    .map(|_| scope.spawn(|| attack(hostile, &requests)))
                    .collect();
                let seen = live(neighbour, || {
                    attackers.iter().all(thread::ScopedJoinHandle::is_finished)
                });
                for attacker in attackers {
                    attacker.join().map_err(|_| Error::new("a client panicked"))??;
                }
                seen
            })
        })?;
        let seen = seen?;
        let at = |share: usize| seen[seen.len() * share / 100].as_secs_f64() * 1e3;
        Ok(Self {
            latency: Latency {
                p50: at(50),
                p99: at(99),
            },
            growth: most.saturating_sub(before),
        })
    }
}

/// A request, with its body if it is a POST.
type Request = (String, Option<String>);

/// The costliest requests that one may make, about as many as the default rate limit allows in a minute.
fn worst() -> Vec<Request> {
    let mut requests = Vec::new();
    let mut add = |times: usize, path: &str, body: Option<String>| {
        requests.extend((0..times).map(|_| (path.to_owned(), body.clone())));
    };
    let many = format!("[{}0]", "0,".repeat(500_000));
    let pattern = format!("%25{a}%25{a}%25{a}b%25", a = "a".repeat(30));
    add(12, "/2.0/leads?view=full&per_page=500", None);
    add(6, "/2.0/leads?fields=id,data&per_page=500", None);
    add(6, "/2.0/events?per_page=500", None);
    add(40, &format!("/2.0/leads?name={pattern}"), None);
    add(40, "/2.0/leads?page=1900&rating=1,5", None);
    add(4, &format!("/2.0/reference/sites?fields={}", "a.".repeat(1_000)), None);
    add(6, "/2.0/leads", Some("[".repeat(1_000_000)));
    add(12, "/2.0/leads", Some(format!("{{\"type\":{many}}}")));
    add(12, "/2.0/contacts", Some(format!("{{\"tag\":{many}}}")));
    let lead = json!({"name": "One more", "data": {"message": "m".repeat(TEXT)}});
    add(100, "/2.0/leads", Some(lead.to_string()));
    // All kinds at the same time, in any order above.
    let kinds = requests.len();
    (0..kinds).map(|at| requests[at * 97 % kinds].clone()).collect()
}

/// Sends what is left of the requests, one after the other.
fn attack(client: Client<'_>, requests: &Mutex<Vec<Request>>) -> Result<()> {
    loop {
        let next = requests
            .lock()
            .map_err(|_| Error::new("another client panicked"))?
            .pop();
        let Some((path, body)) = next else { return Ok(()) };
        let answer = match body {
            Some(body) => client.post(&path, &body)?,
            None => client.get(&path)?,
        };
        if answer.status >= 500 {
            return Err(Error::new(format!(
                "{} is answered {}",
                path.chars().take(80).collect::<String>(),
                answer.status
            )));
        }
    }
}

/// Creates, reads and lists until it is enough. How long each took, in order.
fn live(client: Client<'_>, over: impl Fn() -> bool) -> Result<Vec<Duration>> {
    let mut seen = Vec::new();
    while seen.len() < LEAST || !over() {
        let mut timed = Instant::now();
        let id = client.create("/2.0/leads", &json!({"name": "Ann"}))?;
        seen.push(timed.elapsed());
        for path in [format!("/2.0/leads/{id}"), "/2.0/leads".to_owned()] {
            timed = Instant::now();
            let answer = client.get(&path)?;
            seen.push(timed.elapsed());
            if answer.status != 200 {
                return Err(Error::new(format!("{path} is answered {}", answer.status)));
            }
        }
        thread::sleep(APART);
    }
    seen.sort_unstable();
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_costliest_requests_are_as_many_as_the_rate_limit_allows_and_of_all_kinds_at_once() {
        let requests = worst();
        assert!((200..=300).contains(&requests.len()), "{}", requests.len());
        let kinds = |requests: &[Request]| {
            let mut paths: Vec<_> = requests.iter().map(|(path, _)| path.clone()).collect();
            paths.sort_unstable();
            paths.dedup();
            paths.len()
        };
        assert!(kinds(&requests[..AT_ONCE]) >= 5);
        assert_eq!(kinds(&requests), 8);
    }
}
