//! The REST API: HTTP in, use cases called, JSON out.
//!
//! Every operation is declared once, in the `utoipa::path` attribute of its handler. The router, the 405 table, the scope
//! check, `GET /2.0/meta` and the OpenAPI document all follow from that declaration (`operation`, `router`, `openapi`). Every
//! request passes through `pipeline` in the order that decisions §3 gives. A handler (`areas`) sees a `call` that has been let
//! in, and answers with a `reply`: a `record`, a page of a `list`, or the outcome of a `write`.

mod address;
mod admission;
mod answer_cache;
mod areas;
mod body;
mod calendars;
mod call;
mod code;
mod compression;
mod conditional;
mod connection;
mod cors;
mod credentials;
mod deadline;
mod detach;
mod docs;
mod error;
mod extraction;
mod fair_semaphore;
mod file_body;
mod files;
#[cfg(test)]
mod fuzz;
mod guides;
mod health;
mod help;
mod json_names;
mod keyed_mutex;
mod large_answers;
mod list;
mod manifests;
mod media_type;
mod metrics;
mod notifier;
mod openapi;
mod operation;
mod page;
mod parameters;
mod parsing;
mod pipeline;
mod proxy_watch;
mod query;
mod record;
mod reply;
mod request_id;
mod request_info;
mod router;
mod schemas;
mod server;
mod strict;
mod summary;
mod tail;
#[cfg(test)]
mod testing;
mod text;
mod upload;
mod validated;
mod worker;
mod write;

pub use areas::{host_of, summaries as operations};
pub use cors::CorsOrigins;
pub use metrics::install as install_metrics;
pub use metrics::{Metrics, MetricsUnavailable};
pub use notifier::EventNotifier;
pub use openapi::openapi_json;
pub use proxy_watch::ProxyWatch;
pub use server::{Config, DatabaseFactory, Ports, Running, start};
pub use summary::OperationSummary;
