//! The server's metrics: requests by route and status, latency, pool use.

use std::{sync::OnceLock, time::Duration};

use actix_web::http::StatusCode;
use forecourt_dealership::PoolLoad;
use metrics::{Counter, Histogram, Unit};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

const REQUESTS: &str = "forecourt_http_requests_total";
const LATENCY: &str = "forecourt_http_request_duration_seconds";
const POOL: &str = "forecourt_database_connections";

/// Upper bounds of the latency histogram, in seconds.
const BUCKETS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// What gathers the process's figures.
#[derive(Clone)]
pub struct Metrics(PrometheusHandle);

impl Metrics {
    /// The figures in Prometheus' text format.
    pub fn render(&self) -> String {
        self.0.render()
    }

    /// Folds what was gathered since the last call; to be called every few seconds, or memory grows.
    pub fn upkeep(&self) {
        self.0.run_upkeep();
    }
}

/// Something else gathers this process's figures already.
#[derive(Debug, thiserror::Error)]
#[error("metrics cannot be gathered")]
pub struct MetricsUnavailable(#[source] metrics_exporter_prometheus::BuildError);

/// Makes this process's figures be gathered. To be called once, before anything is measured.
///
/// # Errors
/// [`MetricsUnavailable`] on a second call.
pub fn install() -> Result<Metrics, MetricsUnavailable> {
    let builder = PrometheusBuilder::new()
        .set_buckets(&BUCKETS)
        .map_err(MetricsUnavailable)?;
    let handle = builder.install_recorder().map_err(MetricsUnavailable)?;
    metrics::describe_counter!(REQUESTS, "Requests answered, by method, route and status");
    metrics::describe_histogram!(
        LATENCY,
        Unit::Seconds,
        "Time from a request's head to its answer, by method and route"
    );
    metrics::describe_gauge!(
        POOL,
        "Database connections, by state: open, in_use; and sessions that are waiting"
    );
    Ok(Metrics(handle))
}

/// Records how busy the database's connections are.
pub(crate) fn record_pool(load: PoolLoad) {
    for (state, count) in [("open", load.open), ("in_use", load.in_use), ("waiting", load.waiting)] {
        metrics::gauge!(POOL, "state" => state).set(u32::try_from(count).unwrap_or(u32::MAX));
    }
}

/// The figures of one route. Handles are looked up once, so that measuring costs an addition.
pub(crate) struct Meter {
    method: String,
    route: String,
    latency: OnceLock<Histogram>,
    by_status: [OnceLock<Counter>; STATUSES.len()],
}

/// The statuses that answers have; any other counts under its own label by a look-up.
const STATUSES: [u16; 17] = [
    200, 201, 204, 304, 400, 401, 403, 404, 405, 408, 409, 422, 429, 500, 502, 503, 413,
];

impl Meter {
    pub(crate) fn new(method: &str, route: &str) -> Self {
        Self {
            method: method.to_owned(),
            route: route.to_owned(),
            latency: OnceLock::new(),
            by_status: [const { OnceLock::new() }; STATUSES.len()],
        }
    }

    pub(crate) fn record(&self, status: StatusCode, took: Duration) {
        let latency = self.latency.get_or_init(
            || metrics::histogram!(LATENCY, "method" => self.method.clone(), "route" => self.route.clone()),
        );
        latency.record(took.as_secs_f64());
        let counter = || {
            let status = status.as_str().to_owned();
            metrics::counter!(REQUESTS, "method" => self.method.clone(), "route" => self.route.clone(), "status" => status)
        };
        match STATUSES.iter().position(|&known| known == status.as_u16()) {
            Some(at) => self.by_status[at].get_or_init(counter).increment(1),
            None => counter().increment(1),
        }
    }
}
