//! Rules that every operation keeps, walked from the OpenAPI document.
//!
//! A rule is one test on each engine. It takes the operations of the document to which it applies, brings a record into the
//! state that each of them needs ([`records`]), sends its requests, and reports all operations that break it. So an operation
//! is covered once it is declared. Only a state that its example does not have by itself is a row in `records`;
//! `every_operation_works` fails for an operation that lacks one.

mod access;
mod bounds;
mod document;
mod input;
mod lists;
mod probes;
mod reads;
mod records;
mod relations;
mod routes;
mod writes;

use std::fmt::Debug;

pub(crate) use document::{Document, Operation};
use harness::{Answer, Client, Engine, Shop, acme};
use serde_json::{Value, json};

/// A shop, and the document that its server publishes.
struct Conformance {
    shop: Shop,
    document: Document,
}

impl Conformance {
    async fn open(engine: Engine) -> Self {
        let shop = Shop::open(engine).await;
        let document = Document::of(&shop).await;
        Self { shop, document }
    }

    /// Returns a client of another business with the same lists.
    async fn rival(&self) -> Client {
        let mut file = acme();
        file["tag"] = json!("rival");
        let business = self.shop.installation().business(&file).await;
        self.shop.server.client(&business.key("all").await.token)
    }
}

/// The expectations that were not met, each with its operation.
#[derive(Default)]
struct Findings {
    checked: usize,
    found: Vec<String>,
}

impl Findings {
    /// Records that an operation answered with `seen`, if that is not `expected`.
    #[expect(clippy::needless_pass_by_value, reason = "what is compared is mostly made for it")]
    fn expect<T: PartialEq<U> + Debug, U: Debug>(&mut self, operation: &str, what: &str, seen: T, expected: U) {
        self.checked += 1;
        if seen != expected {
            self.found
                .push(format!("{operation}: {what}: {seen:?} instead of {expected:?}"));
        }
    }

    /// Records an answer that has not this status, or is not a refusal with this code.
    fn answers(&mut self, operation: &str, what: &str, answer: &Answer, expected: &str) {
        self.expect(operation, what, outcome(answer), expected.to_owned());
    }

    /// Records an answer that does not report exactly these fields as faults.
    fn faults(&mut self, operation: &str, what: &str, answer: &Answer, fields: &[&str]) {
        let mut expected: Vec<String> = fields.iter().map(|&field| field.to_owned()).collect();
        expected.sort_unstable();
        self.expect(operation, what, faulty(answer), expected);
    }

    /// Asserts that there were at least so many expectations, and that all were met.
    #[track_caller]
    fn assert(self, least: usize) {
        let Self { checked, found } = self;
        assert!(found.is_empty(), "{} of {checked}: {found:#?}", found.len());
        assert!(checked >= least, "the rule reads the document: {checked}");
    }
}

/// Returns the status of an answer, and the code if it is a refusal. A refusal lacks no part of its envelope.
fn outcome(answer: &Answer) -> String {
    if answer.status < 400 {
        return answer.status.to_string();
    }
    let Ok(envelope) = serde_json::from_slice::<Value>(&answer.body) else {
        return format!("{} without an envelope", answer.status);
    };
    let error = &envelope["error"];
    let code = error["code"].as_str().unwrap_or_default();
    let help = error["details"]["help"].as_str().unwrap_or_default();
    let is_whole = envelope["success"] == false
        && error["message"].as_str().is_some_and(|message| !message.is_empty())
        && help.ends_with(&format!("/docs/errors/{code}"))
        && answer.header("X-Request-Id").is_some_and(|id| !id.is_empty())
        && answer.header("Content-Type") == Some("application/json");
    if is_whole {
        format!("{} {code}", answer.status)
    } else {
        format!("{} {code} in {}", answer.status, answer.text())
    }
}

/// Returns the fields that a failed validation names, sorted, or the outcome of another answer.
fn faulty(answer: &Answer) -> Vec<String> {
    let outcome = outcome(answer);
    if outcome != "422 validation_failed" {
        return vec![outcome];
    }
    let details = answer.json()["error"]["details"].take();
    let errors = details["errors"].as_array().cloned().unwrap_or_default();
    let field = |error: &Value| error["field"].as_str().unwrap_or_default().to_owned();
    let mut fields: Vec<String> = errors.iter().map(field).collect();
    if details["field"].as_str().map(str::to_owned) != fields.first().cloned() || answer.body.len() > 64 * 1024 {
        return vec![format!(
            "`details.field` is not the first, or {} bytes",
            answer.body.len()
        )];
    }
    fields.sort_unstable();
    fields.dedup();
    fields
}
