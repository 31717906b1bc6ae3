//! An endpoint that webhooks are delivered to. It answers at once, unless it is told to hold its answers back.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use actix_web::web::{Bytes, Data, Path};
use tokio::sync::watch;

/// What arrived, and whether answers are held back.
#[derive(Clone, Default)]
pub(crate) struct Hook {
    /// In microseconds since 1970.
    arrivals: Arc<Mutex<Vec<u128>>>,
    is_holding: watch::Sender<bool>,
}

impl Hook {
    fn with_arrivals<T>(&self, work: impl FnOnce(&mut Vec<u128>) -> T) -> T {
        work(&mut self.arrivals.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The whole delivery is read before it counts.
#[expect(clippy::disallowed_methods, reason = "a yardstick has no ports")]
pub(crate) async fn deliver(hook: Data<Hook>, _body: Bytes) -> &'static str {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    hook.with_arrivals(|arrivals| arrivals.push(now.as_micros()));
    // The sender lives as long as the program.
    let _ = hook.is_holding.subscribe().wait_for(|is_holding| !is_holding).await;
    ""
}

pub(crate) async fn hold(hook: Data<Hook>) -> &'static str {
    hook.is_holding.send_replace(true);
    ""
}

pub(crate) async fn release(hook: Data<Hook>) -> &'static str {
    hook.is_holding.send_replace(false);
    ""
}

/// How many deliveries arrived.
pub(crate) async fn count(hook: Data<Hook>) -> String {
    hook.with_arrivals(|arrivals| arrivals.len().to_string())
}

/// When a delivery arrived, of which the first is number 0; nothing if it has not.
pub(crate) async fn arrival(hook: Data<Hook>, number: Path<usize>) -> String {
    let arrival = hook.with_arrivals(|arrivals| arrivals.get(*number).copied());
    arrival.map(|arrival| arrival.to_string()).unwrap_or_default()
}
