//! An endpoint for webhooks. It answers at once, unless it is set to hold its answers back.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use actix_web::web::{Bytes, Data, Json, Path};
use tokio::sync::watch;

/// The times at which deliveries arrived, in microseconds since 1970, and whether answers are held back.
#[derive(Clone, Default)]
pub(crate) struct Hook {
    arrivals: Arc<Mutex<Vec<u64>>>,
    holds: watch::Sender<bool>,
}

/// Records a delivery, once it was read completely.
#[expect(clippy::disallowed_methods, reason = "a yardstick has no ports")]
pub(crate) async fn deliver(hook: Data<Hook>, _body: Bytes) -> &'static str {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = now.as_secs() * 1_000_000 + u64::from(now.subsec_micros());
    hook.arrivals.lock().unwrap_or_else(PoisonError::into_inner).push(now);
    // The sender lives as long as the program.
    let _ = hook.holds.subscribe().wait_for(|holds| !holds).await;
    ""
}

pub(crate) async fn hold(hook: Data<Hook>, whether: Path<bool>) -> &'static str {
    hook.holds.send_replace(*whether);
    ""
}

/// Returns the arrivals from the one with this number on; the first is number 0.
pub(crate) async fn arrivals(hook: Data<Hook>, number: Path<usize>) -> Json<Vec<u64>> {
    let arrivals = hook.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
    Json(arrivals.get(*number..).unwrap_or_default().to_vec())
}
