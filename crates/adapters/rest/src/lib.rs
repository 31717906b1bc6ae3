//! The REST API: HTTP in, use cases called, JSON out.
//!
//! Every operation is declared once, in the `utoipa::path` attribute of its handler. The router, the 405 table, the scope
//! check, `GET /2.0/meta` and the OpenAPI document all follow from that declaration (`operation`). A request passes
//! through `pipeline` in the order that decisions §3 gives, whichever operation it is for; a handler sees a `call`
//! that has been let in, and answers with a `reply`.

mod address;
mod announced;
mod answer_cache;
mod areas;
mod body;
mod call;
mod code;
mod compression;
mod conditional;
mod connection;
mod cors;
mod credentials;
mod detach;
mod docs;
mod document;
mod error;
mod examples;
mod file_body;
mod files;
mod guides;
mod health;
mod help;
mod keyed_mutex;
mod manifests;
mod media_type;
mod metrics;
mod notifier;
mod openapi;
mod operation;
mod page;
mod parameters;
mod pipeline;
mod query;
mod refusals;
mod reply;
mod request_id;
mod schemas;
mod server;
mod strict;
mod tail;
#[cfg(test)]
mod testing;
mod text;
mod upload;
mod validated;
mod worker;
mod write;

pub use cors::CorsOrigins;
pub use metrics::install as install_metrics;
pub use metrics::{Metrics, MetricsUnavailable};
pub use notifier::EventNotifier;
pub use openapi::{OperationSummary, openapi_json, operations};
pub use server::{Config, DatabaseFactory, Ports, Running, start};
