//! The harness of the end-to-end tests. They start the program `forecourt` as an operator does, send requests as an integrator
//! does, and use nothing else.
//!
//! - [`Installation`]: a folder, a database and a secret key; commands and servers are run in it.
//! - [`Server`]: a running `forecourt serve`. It ends with its value, and its log is printed when the test fails.
//! - [`Shop`]: what most tests want: a server, a business and a client with every scope.
//! - [`Client`] and [`Answer`]: requests, and what is asserted of their answers.
//! - [`Postgres`]: a PostgreSQL of a test's own, which may be stopped.
//! - [`Receiver`]: an endpoint for webhooks.
//! - [`Job`]: a command that runs until it is asked to end.
//! - [`Browser`]: a Chromium without a screen.
//!
//! `FORECOURT_TEST_REPEAT` is a multiplier for the tests that repeat something at other moments ([`repeated`]).
//!
//! `FORECOURT_PROVE_SECONDS` is the duration of the proofs ([`proof_time`]); `cargo xtask prove` sets it.
//!
//! Two variables have the addresses of the servers that the tests need; `cargo xtask test` sets them. A test that lacks one
//! fails: nothing is skipped. Only the tests in a browser are skipped if there is none (`FORECOURT_TEST_BROWSER`).
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a harness has nobody to report to: what goes wrong in it fails the test"
)]

mod answer;
mod browser;
mod client;
mod clock;
mod database;
mod dice;
mod installation;
mod ports;
mod post_office;
mod postgres;
mod process;
mod program;
mod proxy;
mod raw;
mod receiver;
mod redis;
mod server;
mod shop;
mod template;
mod time;

pub use answer::{Answer, List};
pub use browser::{Appearance, Browser};
pub use client::{Client, Request, url_query};
pub use clock::WrongClock;
pub use database::Engine;
pub use dice::Dice;
pub use installation::{Business, Installation, Key};
pub use ports::Port;
pub use post_office::{Letter, PostOffice};
pub use postgres::Postgres;
pub use process::{Job, Outcome};
pub use program::program;
pub use proxy::{LossyProxy, Proxy};
pub use raw::Raw;
pub use receiver::{Received, Receiver, Reply, verify};
pub use redis::Redis;
pub use server::{Serve, Server};
pub use shop::{Shop, acme};
pub use time::{eventually, next_second, now, proof_time, repeated, today, wait_for};

/// Makes two tests of each named function, one per engine: `name::sqlite` and `name::postgres`.
///
/// ```text
/// both_engines! { a_lead_has_defaults }
///
/// async fn a_lead_has_defaults(engine: Engine) { … }
/// ```
#[macro_export]
macro_rules! both_engines {
    ($($name:ident)+) => {
        $(
            mod $name {
                #[tokio::test]
                async fn sqlite() {
                    Box::pin(super::$name($crate::Engine::Sqlite)).await;
                }

                #[tokio::test]
                async fn postgres() {
                    Box::pin(super::$name($crate::Engine::Postgres)).await;
                }
            }
        )+
    };
}
