//! The check that this version may still write to a schema that a later one may have changed.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use forecourt_kernel::{StoreError, StoreResult, WritesRefused};

use crate::VERSION;
use crate::migration::is_older;

/// The interval at which a server that writes reads the oldest version allowed.
const INTERVAL: Duration = Duration::from_secs(1);

/// The query for the oldest version that can write to the schema.
pub(crate) const LEAST_VERSION: &str = "SELECT value FROM forecourt_meta WHERE key = 'least_version'";

/// The result of the latest look at the database.
#[derive(Default)]
pub(crate) struct VersionCheck(Mutex<State>);

#[derive(Default)]
struct State {
    looked: Option<Instant>,
    /// The oldest version that may write, if it is later than this one.
    least: Option<String>,
}

impl VersionCheck {
    /// Returns `true` if it is time to look again; of several callers at once, to one.
    pub(crate) fn is_due(&self) -> bool {
        let mut state = self.state();
        let is_due = state.looked.is_none_or(|looked| looked.elapsed() >= INTERVAL);
        if is_due {
            state.looked = Some(Instant::now());
        }
        is_due
    }

    /// Takes the database's answer.
    pub(crate) fn note(&self, least: Option<String>) {
        let least = least.filter(|least| is_older(VERSION, least));
        let mut state = self.state();
        if let Some(least) = least.as_ref().filter(|_| state.least.is_none()) {
            tracing::error!(
                version = VERSION,
                least,
                "the database was upgraded and this server is too old to write to it: writes are refused"
            );
        }
        state.least = least;
    }

    /// Checks that this version may write.
    ///
    /// # Errors
    /// `Unavailable` with [`WritesRefused`], if it is too old.
    pub(crate) fn verdict(&self) -> StoreResult<()> {
        match &self.state().least {
            None => Ok(()),
            Some(least) => Err(StoreError::Unavailable(
                WritesRefused(format!(
                    "the database was upgraded, and this server of version {VERSION} is too old to write to it: it needs {least} or later"
                ))
                .into(),
            )),
        }
    }

    /// No code that can panic runs under this lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
