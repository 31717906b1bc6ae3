//! The output for each event: a line for people, or a JSON document for programs.

use std::time::Duration;

use forecourt_webhooks::{Attempt, Secret};
use serde::Serialize;

use super::log::{LogPart, LoggedEvent};
use crate::output::{self, OutputError};

/// Prints reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    /// True for one JSON document per line.
    pub(super) json: bool,
}

/// The outcome of an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// The receiver has it.
    Delivered,
    /// It is tried again after this time.
    Again(Duration),
    /// It is not tried again.
    Skipped,
}

/// The report of the start.
#[derive(Serialize)]
struct BeginningDocument<'a> {
    server: &'a str,
    forward_to: &'a str,
    secret: &'a str,
    position: &'a str,
}

/// An attempt.
#[derive(Serialize)]
struct AttemptDocument<'a> {
    sequence: i64,
    event: &'a str,
    event_id: &'a str,
    attempt: u32,
    outcome: &'static str,
    status: Option<u16>,
    took_ms: Option<u32>,
    error: Option<String>,
    again_in_seconds: Option<u64>,
}

impl Report {
    /// Reports the start: the server, the receiver, and the secret with which receivers verify.
    pub(super) fn begin(
        self,
        server: &str,
        forward_to: &str,
        secret: &Secret,
        first: &LogPart,
    ) -> Result<(), OutputError> {
        let secret = secret.reveal();
        if self.json {
            return output::json(&BeginningDocument {
                server,
                forward_to,
                secret,
                position: &first.meta.position,
            });
        }
        output::text(&format!(
            "Events of {server} go to {forward_to}\nSigning secret: {secret}\nCtrl-C ends it.\n"
        ))
    }

    /// Reports an attempt; the first of an event has number 1.
    pub(super) fn attempt(
        self,
        event: &LoggedEvent,
        number: u32,
        attempt: &Attempt,
        outcome: Outcome,
    ) -> Result<(), OutputError> {
        if !self.json {
            return output::line(line(event, attempt, outcome));
        }
        let (status, error) = match &attempt.outcome {
            Ok(answer) => (Some(answer.status), None),
            Err(undelivered) => (None, Some(undelivered.to_string())),
        };
        output::json(&AttemptDocument {
            attempt: number,
            status,
            took_ms: Some(attempt.took_ms),
            error,
            ..document(event, outcome)
        })
    }

    /// Reports an event that this version of the program cannot post.
    pub(super) fn unknown(self, event: &LoggedEvent) -> Result<(), OutputError> {
        let error = "this version of the program knows no such event";
        if !self.json {
            return output::line(format_args!("{}: {error}; skipped", name(event)));
        }
        output::json(&AttemptDocument {
            error: Some(error.to_owned()),
            ..document(event, Outcome::Skipped)
        })
    }
}

fn document(event: &LoggedEvent, outcome: Outcome) -> AttemptDocument<'_> {
    AttemptDocument {
        sequence: event.sequence,
        event: &event.event,
        event_id: &event.id,
        attempt: 0,
        outcome: match outcome {
            Outcome::Delivered => "delivered",
            Outcome::Again(_) => "failed",
            Outcome::Skipped => "skipped",
        },
        status: None,
        took_ms: None,
        error: None,
        again_in_seconds: match outcome {
            Outcome::Again(pause) => Some(pause.as_secs()),
            Outcome::Delivered | Outcome::Skipped => None,
        },
    }
}

fn name(event: &LoggedEvent) -> String {
    format!("{} {} {}", event.sequence, event.event, event.id)
}

fn line(event: &LoggedEvent, attempt: &Attempt, outcome: Outcome) -> String {
    let came = match &attempt.outcome {
        Ok(answer) => format!("{} in {} ms", answer.status, attempt.took_ms),
        Err(undelivered) => format!("{undelivered} ({} ms)", attempt.took_ms),
    };
    let then = match outcome {
        Outcome::Delivered => String::new(),
        Outcome::Again(pause) => format!("; again in {} s", pause.as_secs()),
        Outcome::Skipped => "; skipped".to_owned(),
    };
    format!("{}: {came}{then}", name(event))
}

#[cfg(test)]
mod tests {
    use forecourt_webhooks::{Answer, DeliveryError};

    use super::*;

    fn event() -> LoggedEvent {
        let event = r#"{"sequence":12,"id":"evt_1","event":"lead.created","api_version":"2.0","created":7,
            "business":{"id":1,"tag":"acme"},"data":{"id":5}}"#;
        serde_json::from_str(event).unwrap()
    }

    fn line_of(outcome: Result<u16, DeliveryError>, then: Outcome) -> String {
        let answer = |status| Answer {
            status,
            body: String::new(),
            retry_after: None,
        };
        let attempt = Attempt {
            took_ms: 3,
            outcome: outcome.map(answer),
        };
        line(&event(), &attempt, then)
    }

    #[test]
    fn an_attempt_is_one_line() {
        let again = Outcome::Again(Duration::from_secs(2));
        assert_eq!(
            line_of(Ok(204), Outcome::Delivered),
            "12 lead.created evt_1: 204 in 3 ms"
        );
        assert_eq!(
            line_of(Ok(500), again),
            "12 lead.created evt_1: 500 in 3 ms; again in 2 s"
        );
        assert_eq!(
            line_of(Err(DeliveryError::TimedOut), Outcome::Skipped),
            "12 lead.created evt_1: there was no answer in time (3 ms); skipped"
        );
    }

    #[test]
    fn a_document_says_the_same() {
        let event = event();
        let document = document(&event, Outcome::Again(Duration::from_secs(2)));
        let document = serde_json::to_value(document).unwrap();
        assert_eq!(
            (&document["outcome"], &document["again_in_seconds"]),
            (&"failed".into(), &2.into())
        );
    }
}
