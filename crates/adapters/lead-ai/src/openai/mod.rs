//! Asks a model at an OpenAI-compatible chat-completions endpoint.

mod answer;
mod problem;
mod prompt;
mod wire;

use std::{
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use forecourt_kernel::BusinessId;
use forecourt_leads::{Analyst, AnalystError, Assessment, Conversation};
use forecourt_net::CertificateDer;
use tokio::time::{Instant, sleep, timeout_at};

pub use self::wire::UnusableEndpoint;
use self::{
    problem::Problem,
    prompt::Dialect,
    wire::{Reply, Wire},
};

/// The maximum number of requests that one reading makes.
const MAX_TRIES: u32 = 3;

/// The time that a reading may take beyond its total time-out before it is cut off.
const GRACE: Duration = Duration::from_secs(10);

/// The endpoint, and the bounds of requests to it.
#[derive(Clone)]
pub struct OpenAiConfig {
    /// The base URL, such as `https://api.openai.com/v1` or `http://127.0.0.1:11434/v1`.
    pub url: String,
    /// The model's name.
    pub model: String,
    /// The key, sent as a bearer token; local servers need none.
    pub key: Option<String>,
    /// The longest time for connecting.
    pub connect_timeout: Duration,
    /// The longest time for one request, from connecting to the end of the answer.
    pub request_timeout: Duration,
    /// The longest time for one reading, with its repetitions and the pauses between them.
    pub total_timeout: Duration,
    /// The first pause; each one after it is twice as long.
    pub backoff: Duration,
    /// Authorities that may sign certificates, in addition to those that browsers know.
    pub extra_roots: Vec<CertificateDer<'static>>,
}

impl OpenAiConfig {
    /// Makes a configuration with the usual times. `url` is the base URL, to which `/chat/completions` is added.
    pub fn new(url: impl Into<String>, model: impl Into<String>, key: Option<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            key,
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(60),
            total_timeout: Duration::from_secs(90),
            backoff: Duration::from_millis(500),
            extra_roots: Vec::new(),
        }
    }
}

/// Omits the key.
impl fmt::Debug for OpenAiConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiConfig")
            .field("model", &self.model)
            .field("request_timeout", &self.request_timeout)
            .field("total_timeout", &self.total_timeout)
            .finish_non_exhaustive()
    }
}

/// An analyst that asks a model. The model's answer is validated field by field, and an invalid one is
/// [`AnalystError::Unusable`].
///
/// To be used inside one Tokio runtime.
pub struct OpenAi {
    wire: Wire,
    model: String,
    request_timeout: Duration,
    total_timeout: Duration,
    backoff: Duration,
    /// The parameters that the endpoint is known to accept.
    dialect: Mutex<Dialect>,
}

impl OpenAi {
    /// Makes an analyst for the endpoint of `config`. Nothing is connected before the first conversation.
    ///
    /// # Errors
    /// [`UnusableEndpoint`] if the URL, the key or an extra authority is not valid.
    pub fn new(config: OpenAiConfig) -> Result<Self, UnusableEndpoint> {
        let key = config.key.as_deref().filter(|key| !key.is_empty());
        Ok(Self {
            wire: Wire::new(&config.url, key, config.extra_roots, config.connect_timeout)?,
            model: config.model,
            request_timeout: config.request_timeout,
            total_timeout: config.total_timeout,
            backoff: config.backoff,
            dialect: Mutex::default(),
        })
    }

    fn dialect(&self) -> Dialect {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, dialect: Dialect) {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner) = dialect;
    }

    async fn post(&self, conversation: &Conversation, dialect: Dialect, deadline: Instant) -> Result<Reply, Problem> {
        let body = prompt::request(&self.model, conversation, dialect).to_string();
        let deadline = deadline.min(Instant::now() + self.request_timeout);
        let posted = timeout_at(deadline, self.wire.post(Bytes::from(body))).await;
        posted.unwrap_or(Err(Problem::TimedOut))
    }
}

/// The next step after a request that gave no assessment.
enum Failure {
    /// The answer cannot be used, now or later.
    Unusable(Problem),
    /// Another request may succeed at once.
    Passing(Problem, Option<Duration>),
    /// Another request may succeed only later, or after the settings were corrected.
    Lasting(Problem, Option<Duration>),
    /// The endpoint refuses a parameter.
    Refused(Problem, Dialect),
}

/// Reads a reply.
fn conclude(reply: Result<Reply, Problem>, dialect: Dialect) -> Result<Assessment, Failure> {
    let Reply {
        status,
        retry_after,
        body,
    } = reply.map_err(|problem| match problem {
        Problem::Connect(_) | Problem::Exchange(_) => Failure::Passing(problem, None),
        // A second request would cost as much time again, and perhaps money.
        Problem::TimedOut => Failure::Lasting(problem, None),
        _ => Failure::Unusable(problem),
    })?;
    let problem = Problem::Status(status);
    match status {
        200 => answer::read(&body).map_err(Failure::Unusable),
        400 | 422 => Err(match dialect.after(&String::from_utf8_lossy(&body)) {
            Some(next) => Failure::Refused(problem, next),
            None => Failure::Unusable(problem),
        }),
        408 | 409 | 425 | 429 | 500..=599 => Err(Failure::Passing(problem, retry_after)),
        // A wrong key, an empty account, a wrong model or path: an operator can correct it.
        401..=404 => Err(Failure::Lasting(problem, retry_after)),
        _ => Err(Failure::Unusable(problem)),
    }
}

#[async_trait]
impl Analyst for OpenAi {
    async fn assess(&self, _: BusinessId, conversation: &Conversation) -> Result<Assessment, AnalystError> {
        let deadline = Instant::now() + self.total_timeout;
        let mut pause = self.backoff;
        let mut tries = 0;
        loop {
            tries += 1;
            let dialect = self.dialect();
            // Boxed as it is large.
            let reply = Box::pin(self.post(conversation, dialect, deadline)).await;
            let failure = match conclude(reply, dialect) {
                Ok(assessment) => return Ok(assessment),
                Err(failure) => failure,
            };
            match failure {
                Failure::Unusable(problem) => return Err(AnalystError::Unusable(problem.into())),
                Failure::Lasting(problem, retry_after) => return Err(unavailable(problem, retry_after)),
                Failure::Refused(problem, next) => {
                    self.learn(next);
                    if tries >= MAX_TRIES {
                        return Err(unavailable(problem, None));
                    }
                }
                Failure::Passing(problem, retry_after) => {
                    let wait = retry_after.map_or(pause, |asked| asked.max(pause));
                    if tries >= MAX_TRIES || Instant::now().checked_add(wait).is_none_or(|until| until >= deadline) {
                        return Err(unavailable(problem, retry_after));
                    }
                    sleep(wait).await;
                    pause *= 2;
                }
            }
        }
    }

    fn is_remote(&self) -> bool {
        true
    }

    /// The time limit: a little more than the time after which it gives up by itself.
    fn time_limit(&self) -> Duration {
        self.total_timeout + GRACE
    }
}

fn unavailable(problem: Problem, retry_after: Option<Duration>) -> AnalystError {
    AnalystError::Unavailable {
        source: problem.into(),
        retry_after: retry_after.map(|time| time.as_secs()),
    }
}

/// Omits the key.
impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi")
            .field("host", &self.wire.host())
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
