//! A cache of the check that the database would take a write, which many callers may request at once.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use forecourt_kernel::{StoreError, StoreResult};
use tokio::time::{Instant, timeout};

use crate::error::unavailable;

/// The time for which an answer is valid.
const HOLDS: Duration = Duration::from_secs(1);
/// The time that the database has for an answer: `/readyz` answers within two seconds.
const TIMEOUT: Duration = Duration::from_millis(1500);

/// The latest answer. Callers that arrive during a check wait for its answer.
#[derive(Default)]
pub(crate) struct ReadinessCache {
    latest: Mutex<Option<Latest>>,
    asking: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Latest {
    at: Instant,
    /// The reason why the database took no writes.
    hindrance: Option<String>,
}

impl ReadinessCache {
    /// Returns the latest answer if it is valid, else that of `ask`.
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

    /// Forgets the answer, since something happened that may change it.
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
