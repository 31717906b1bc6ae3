//! The event log of a server, read over its API.

use std::time::Duration;

use async_trait::async_trait;
use forecourt_kernel::EventName;
use forecourt_webhooks::DeliveryError;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The maximum time for which the server may hold back an answer without events.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(30);

/// Reads a server's event log.
#[async_trait]
pub(crate) trait EventLog: Send + Sync {
    /// Returns the answer to a `GET` of `path`.
    ///
    /// # Errors
    /// [`DeliveryError`] if no answer came.
    async fn read(&self, path: &str) -> Result<LogReply, DeliveryError>;
}

/// A server's answer.
#[derive(Clone, Debug)]
pub(crate) struct LogReply {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The delay that it requests before the next request.
    pub(crate) retry_after: Option<Duration>,
    /// The body.
    pub(crate) body: Vec<u8>,
}

/// The reason why a server is no longer followed.
#[derive(PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum ListenError {
    /// There is no token to identify the caller.
    #[error("a token is needed: the environment variable FORECOURT_TOKEN names it")]
    NoToken,
    /// The token is not sufficient.
    #[error("{server} refuses the token: {code}: {message}")]
    Refused {
        /// The server.
        server: String,
        /// The error's code, as the contract lists them.
        code: String,
        /// The server's message.
        message: String,
    },
    /// The server that answers has no event log.
    #[error("what answers at {server} is no Forecourt with an event log: {answer}")]
    NoLog {
        /// The server.
        server: String,
        /// Its answer.
        answer: String,
    },
}

/// The reason why there is no part of the log.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Problem {
    /// A later request would fail as well.
    Final(ListenError),
    /// The log cannot be read from that place.
    Expired,
    /// The server is down, or busy.
    Passing {
        /// The cause.
        why: String,
        /// The delay that it requests before the next request.
        asked: Option<Duration>,
    },
}

/// A part of the log.
#[derive(Debug, Deserialize)]
pub(super) struct LogPart {
    /// The events, oldest first.
    pub(super) data: Vec<LoggedEvent>,
    /// Its position.
    pub(super) meta: LogMeta,
}

/// The position of a part of the log.
#[derive(Debug, Deserialize)]
pub(super) struct LogMeta {
    /// The cursor to the next part.
    pub(super) position: String,
    /// The epoch of the server's database; a server of an earlier version has none.
    #[serde(default)]
    pub(super) epoch: i64,
}

/// An event of the log: the body of a delivery, with a number.
#[derive(Debug, Deserialize)]
pub(super) struct LoggedEvent {
    /// Its number within the business.
    pub(super) sequence: i64,
    /// Its id.
    pub(super) id: String,
    /// The name of the event.
    pub(super) event: String,
    /// Its time, epoch seconds.
    pub(super) created: i64,
    /// The business that has the record.
    pub(super) business: LoggedBusiness,
    /// The record, unchanged.
    pub(super) data: Box<RawValue>,
}

/// A business as events name it.
#[derive(Debug, Deserialize)]
pub(super) struct LoggedBusiness {
    /// Its id.
    pub(super) id: i64,
    /// Its tag.
    pub(super) tag: String,
}

/// A query of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Query {
    start: Start,
    filter: String,
}

/// The beginning of the next part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Start {
    /// With the oldest event that is kept.
    Oldest,
    /// With the next event from now on.
    Latest,
    /// After an earlier part.
    After(String),
}

impl Query {
    /// Makes a query of events with these names from `start` on; no names select all.
    pub(super) fn new(start: Start, events: &[EventName]) -> Self {
        let filter = events.iter().map(|event| format!("&event%5B%5D={event}")).collect();
        Self { start, filter }
    }

    /// Continues after a part.
    pub(super) fn go_on_from(&mut self, part: &LogPart) {
        self.start = Start::After(part.meta.position.clone());
    }

    /// Continues with the next event from now on.
    pub(super) fn go_on_from_now(&mut self) {
        self.start = Start::Latest;
    }

    /// Returns the path of the request, which the server holds back for `wait` while nothing happens.
    pub(super) fn path(&self, wait: Duration) -> String {
        let cursor = match &self.start {
            Start::Oldest => String::new(),
            Start::Latest => "&cursor=latest".to_owned(),
            Start::After(position) => format!("&cursor={position}"),
        };
        format!("/2.0/events?wait={}{cursor}{}", wait.as_secs(), self.filter)
    }
}

/// Interprets an answer of `server`.
pub(super) fn check(server: &str, reply: Result<LogReply, DeliveryError>) -> Result<LogPart, Problem> {
    let passing = |why: String, asked| Err(Problem::Passing { why, asked });
    let LogReply {
        status,
        retry_after,
        body,
    } = match reply {
        Ok(reply) => reply,
        Err(problem) => return passing(problem.to_string(), None),
    };
    let no_log = |answer: String| {
        Problem::Final(ListenError::NoLog {
            server: server.to_owned(),
            answer,
        })
    };
    match status {
        200 => serde_json::from_slice(&body).map_err(|_| no_log("what it says is no part of a log".to_owned())),
        401 | 403 => {
            let ErrorBody { code, message } = error_body(&body).unwrap_or_else(|| ErrorBody {
                code: format!("status {status}"),
                message: "without a reason".to_owned(),
            });
            Err(Problem::Final(ListenError::Refused {
                server: server.to_owned(),
                code,
                message,
            }))
        }
        410 => Err(Problem::Expired),
        408 | 429 | 500.. => {
            let why = match error_body(&body) {
                Some(ErrorBody { code, .. }) => format!("status {status}, {code}"),
                None => format!("status {status}"),
            };
            passing(why, retry_after)
        }
        _ => Err(no_log(match error_body(&body) {
            Some(ErrorBody { code, message }) => format!("status {status}, {code}: {message}"),
            None => format!("status {status}"),
        })),
    }
}

/// The body of a failed answer.
#[derive(Deserialize)]
struct ErrorBody {
    code: String,
    message: String,
}

fn error_body(body: &[u8]) -> Option<ErrorBody> {
    #[derive(Deserialize)]
    struct Failure {
        error: ErrorBody,
    }
    let Failure { error } = serde_json::from_slice(body).ok()?;
    Some(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = "http://127.0.0.1:8080";

    fn reply(status: u16, body: &str) -> Result<LogPart, Problem> {
        let reply = LogReply {
            status,
            retry_after: Some(Duration::from_secs(7)),
            body: body.into(),
        };
        check(SERVER, Ok(reply))
    }

    #[test]
    fn the_log_is_asked_for_from_where_the_last_part_ended() {
        let wait = Duration::from_secs(30);
        let events = [EventName::LeadCreated, EventName::LeadDeleted];
        assert_eq!(
            Query::new(Start::Oldest, &[]).path(Duration::ZERO),
            "/2.0/events?wait=0"
        );
        let mut query = Query::new(Start::Latest, &events);
        let filter = "&event%5B%5D=lead.created&event%5B%5D=lead.deleted";
        assert_eq!(query.path(wait), format!("/2.0/events?wait=30&cursor=latest{filter}"));
        let part = reply(
            200,
            r#"{"success":true,"data":[],"meta":{"pagination":{},"position":"12"}}"#,
        );
        query.go_on_from(&part.unwrap());
        assert_eq!(query.path(wait), format!("/2.0/events?wait=30&cursor=12{filter}"));
    }

    #[test]
    fn a_record_is_kept_to_the_letter() {
        let part = reply(
            200,
            r#"{"success":true,"data":[{"sequence":3,"id":"evt_1","event":"lead.created","api_version":"2.0","created":7,
                "business":{"id":1,"tag":"acme"},"data":{"b":1.50, "a":"\u00e9"}}],"meta":{"position":"3"}}"#,
        );
        let event = part.unwrap().data.remove(0);
        assert_eq!((event.sequence, event.created), (3, 7));
        assert_eq!(event.data.get(), r#"{"b":1.50, "a":"\u00e9"}"#);
    }

    #[test]
    fn a_refusal_is_final_and_an_absence_is_not() {
        let error = r#"{"success":false,"error":{"code":"scope_denied","message":"needs webhooks:read","details":{}}}"#;
        let refused = reply(403, error).unwrap_err();
        let Problem::Final(refused) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(
            refused.to_string(),
            "http://127.0.0.1:8080 refuses the token: scope_denied: needs webhooks:read"
        );
        assert!(matches!(
            reply(401, "<html>"),
            Err(Problem::Final(ListenError::Refused { .. }))
        ));
        for status in [200, 301, 404, 422] {
            let problem = reply(status, "<html>").unwrap_err();
            assert!(matches!(problem, Problem::Final(ListenError::NoLog { .. })), "{status}");
        }
        for status in [408, 429, 500, 502, 503] {
            let problem = reply(status, "<html>").unwrap_err();
            let asked = Some(Duration::from_secs(7));
            assert_eq!(
                problem,
                Problem::Passing {
                    why: format!("status {status}"),
                    asked
                }
            );
        }
        assert_eq!(reply(410, "").unwrap_err(), Problem::Expired);
        let away = check(SERVER, Err(DeliveryError::TimedOut)).unwrap_err();
        let why = "there was no answer in time".to_owned();
        assert_eq!(away, Problem::Passing { why, asked: None });
    }
}
