//! Tasks, and their outcomes.

use crate::error::Result;
use crate::workspace::Workspace;

/// One `cargo xtask <name>`.
pub(crate) struct Task {
    pub(crate) name: &'static str,
    /// The form of the arguments; empty if there are none.
    pub(crate) usage: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) run: fn(&Workspace, &[String]) -> Result<()>,
}

/// The outcome of a step that found no fault.
#[derive(Debug)]
pub(crate) enum Outcome {
    Passed,
    /// It was skipped completely or in part: this machine lacks something that the step needs, which the text names.
    Skipped(String),
}
