//! The server's metrics: requests by route and status, latency, failed authentications, connections, the process itself.

use std::{sync::OnceLock, time::Duration};

use actix_web::http::StatusCode;
use forecourt_dealership::PoolLoad;
use metrics::{Counter, Histogram, Unit};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use metrics_process::Collector;

use crate::code::Code;

const BUILD: &str = "forecourt_build_info";
const REQUESTS: &str = "forecourt_http_requests_total";
const LATENCY: &str = "forecourt_http_request_duration_seconds";
const AUTHENTICATION_FAILURES: &str = "forecourt_authentication_failures_total";
const LIMITED: &str = "forecourt_requests_limited_by_address_total";
const UNSENT_MAILS: &str = "forecourt_mails_refused_total";
const OPEN_CONNECTIONS: &str = "forecourt_database_connections_open";
const CONNECTIONS_IN_USE: &str = "forecourt_database_connections_in_use";
const WAITING_SESSIONS: &str = "forecourt_database_sessions_waiting";

/// Upper bounds of histograms, in seconds.
const BUCKETS: [f64; 16] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// The codes of a refused credential or address. A request without a credential does not guess at one, so its code is not among
/// them.
pub(crate) const AUTHENTICATION_CODES: [Code; 4] = [
    Code::AUTHENTICATION_INVALID,
    Code::AUTHENTICATION_EXPIRED,
    Code::AUTHENTICATION_REVOKED,
    Code::AUTHENTICATION_BLOCKED,
];

/// The recorder of the process's metrics.
#[derive(Clone)]
pub struct Metrics {
    recorded: PrometheusHandle,
    process: Collector,
}

impl Metrics {
    /// Returns the metrics in Prometheus' text format.
    pub fn render(&self) -> String {
        self.process.collect();
        self.recorded.render()
    }

    /// Folds the samples collected since the last call. It must be called every few seconds, or memory grows.
    pub fn upkeep(&self) {
        self.recorded.run_upkeep();
    }
}

/// Another recorder is installed in this process already.
#[derive(Debug, thiserror::Error)]
#[error("metrics cannot be gathered")]
pub struct MetricsUnavailable(#[source] metrics_exporter_prometheus::BuildError);

/// Installs the recorder for this process, which runs `version` of the program. Call it once, before anything is measured.
///
/// # Errors
/// [`MetricsUnavailable`] on a second call.
pub fn install(version: &'static str) -> Result<Metrics, MetricsUnavailable> {
    let builder = PrometheusBuilder::new()
        .set_buckets(&BUCKETS)
        .map_err(MetricsUnavailable)?;
    let recorded = builder.install_recorder().map_err(MetricsUnavailable)?;
    metrics::describe_gauge!(BUILD, "1, labelled with the version of the program");
    metrics::gauge!(BUILD, "version" => version).set(1.0);
    metrics::describe_counter!(REQUESTS, "Requests answered, by method, route and status");
    metrics::describe_histogram!(
        LATENCY,
        Unit::Seconds,
        "Time from a request's head to its answer, by method and route"
    );
    metrics::describe_counter!(
        AUTHENTICATION_FAILURES,
        "Requests refused for the credential that they presented, or for their blocked address, by code"
    );
    for code in AUTHENTICATION_CODES {
        // Registered from the start, so that the first failure shows as an increase.
        metrics::counter!(AUTHENTICATION_FAILURES, "code" => code.as_str()).increment(0);
    }
    metrics::describe_counter!(
        LIMITED,
        "Requests without a valid credential refused since their address had made too many in the minute"
    );
    metrics::counter!(LIMITED).increment(0);
    metrics::describe_counter!(
        UNSENT_MAILS,
        "Requests refused since their business has sent as many mails as it may in a day"
    );
    metrics::counter!(UNSENT_MAILS).increment(0);
    metrics::describe_gauge!(OPEN_CONNECTIONS, "Database connections that are open");
    metrics::describe_gauge!(CONNECTIONS_IN_USE, "Database connections that are in use");
    metrics::describe_gauge!(
        WAITING_SESSIONS,
        "Sessions that wait for a database connection or their turn to write"
    );
    let process = Collector::default();
    process.describe();
    Ok(Metrics { recorded, process })
}

/// Counts a request that was refused with one of [`AUTHENTICATION_CODES`].
pub(crate) fn count_authentication_failure(code: Code) {
    metrics::counter!(AUTHENTICATION_FAILURES, "code" => code.as_str()).increment(1);
}

/// Counts a request that was refused for the number of requests from its address.
pub(crate) fn count_limited_request() {
    metrics::counter!(LIMITED).increment(1);
}

/// Counts a request that was refused for the number of mails of its business.
pub(crate) fn count_refused_mail() {
    metrics::counter!(UNSENT_MAILS).increment(1);
}

/// Records the load of the database's connections.
pub(crate) fn record_pool(load: PoolLoad) {
    let PoolLoad { open, in_use, waiting } = load;
    for (name, count) in [
        (OPEN_CONNECTIONS, open),
        (CONNECTIONS_IN_USE, in_use),
        (WAITING_SESSIONS, waiting),
    ] {
        metrics::gauge!(name).set(u32::try_from(count).unwrap_or(u32::MAX));
    }
}

/// The metrics of one route. Handles are looked up once, so that measuring costs an addition.
pub(crate) struct Meter {
    method: String,
    route: String,
    latency: OnceLock<Histogram>,
    by_status: [OnceLock<Counter>; STATUSES.len()],
}

/// The usual statuses of answers; any other is counted under its own label by a look-up.
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
