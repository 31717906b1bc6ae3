//! Carries webhooks to their endpoints: HTTP/1.1 posts over TLS, and only to public addresses.
//!
//! [`HttpWebhookClient`] implements the port [`WebhookClient`](forecourt_webhooks::WebhookClient). A url is checked at the
//! moment of connecting, on the very address that is connected to. So neither an unusual spelling of an address nor a name
//! whose address changes leads into a private network. Redirects are answers like any other; the proxies of the environment,
//! cookies and compression are not used. Nothing is logged: an [`Attempt`] reports everything.
//!
//! [`ApiClient`] uses the same connections to read the API of a server, for programs that follow its event log.
//!
//! [`Attempt`]: forecourt_webhooks::Attempt

mod address;
mod api;
mod client;
mod connect;
mod connections;
mod look_ups;
mod network;
mod pool;
mod problem;
mod target;

pub use address::is_public;
pub use api::{ApiAnswer, ApiClient, UnusableApi};
pub use client::{Config, HttpWebhookClient, UnusableTls};
pub use forecourt_net::CertificateDer;
pub use network::{Network, SystemNetwork};
