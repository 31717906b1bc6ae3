//! The observations of a server of its own work, which it leaves in the database for `forecourt doctor`.

use serde::{Deserialize, Serialize};

/// The observations. A server of another version may report less, or more.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Report {
    /// The secret keys that it reads with, by their identifiers.
    pub(crate) keys: Vec<String>,
    /// The address of the latest private peer, not listed as a proxy, that said whom it forwards for, and the time.
    pub(crate) unlisted_proxy: Option<(String, i64)>,
    /// Its background tasks.
    pub(crate) tasks: Vec<TaskState>,
}

impl Report {
    /// Reads a report. One that cannot be read says nothing.
    pub(crate) fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }
}

/// The state of a background task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct TaskState {
    /// Its name, as in the metrics.
    pub(crate) name: String,
    /// The seconds for which it rests when nothing is left to do.
    pub(crate) interval: u64,
    /// The time of its last round that did not fail, or of its start, in epoch seconds.
    pub(crate) last_round: i64,
    /// The seconds for which due work has waited.
    pub(crate) lag: i64,
}
