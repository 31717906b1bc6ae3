//! The answer to the question whether the database would take a write, which many may ask at once.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use forecourt_kernel::{StoreError, StoreResult};
use tokio::time::{Instant, timeout};

use crate::error::unavailable;

/// How long an answer holds.
const HOLDS: Duration = Duration::from_secs(1);
/// How long the database has for one: `/readyz` answers within two seconds.
const TIMEOUT: Duration = Duration::from_millis(1500);

/// The latest answer. Those who ask while it is being found out wait for the same one.
#[derive(Default)]
pub(crate) struct ReadinessCache {
    latest: Mutex<Option<Latest>>,
    asking: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Latest {
    at: Instant,
    /// What kept the database from taking writes.
    hindrance: Option<String>,
}

impl ReadinessCache {
    /// Answers from memory, or by `ask`.
    ///
    /// # Errors
    /// `Unavailable` if the database would take no write, or does not say in time.
    pub(crate) async fn get(&self, ask: impl Future<Output = StoreResult<()>>) -> StoreResult<()> {
        let answer = async {
            let _one_at_a_time = self.asking.lock().await;
            if let Some(latest) = self.fresh() {
                return latest;
            }
            let answer = ask.await;
            self.keep(&answer);
            answer
        };
        if let Some(latest) = self.fresh() {
            return latest;
        }
        match timeout(TIMEOUT, answer).await {
            Ok(answer) => answer,
            Err(_) => {
                let late = Err(unavailable("the database did not say in time whether it takes writes"));
                self.keep(&late);
                late
            }
        }
    }

    /// Something has happened that may change the answer.
    pub(crate) fn forget(&self) {
        *self.latest() = None;
    }

    fn fresh(&self) -> Option<StoreResult<()>> {
        let latest = self.latest().clone().filter(|latest| latest.at.elapsed() < HOLDS)?;
        Some(match latest.hindrance {
            None => Ok(()),
            Some(hindrance) => Err(StoreError::Unavailable(hindrance.into())),
        })
    }

    fn keep(&self, answer: &StoreResult<()>) {
        let hindrance = answer.as_ref().err().map(|error| match error {
            StoreError::Unavailable(source) | StoreError::Other(source) => source.to_string(),
            other => other.to_string(),
        });
        *self.latest() = Some(Latest {
            at: Instant::now(),
            hindrance,
        });
    }

    fn latest(&self) -> MutexGuard<'_, Option<Latest>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
