//! Tasks, and how they end.

use crate::error::Result;
use crate::workspace::Workspace;

/// One `cargo xtask <name>`.
pub(crate) struct Task {
    pub(crate) name: &'static str,
    /// What the arguments look like; empty where there are none.
    pub(crate) usage: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) run: fn(&Workspace, &[String]) -> Result<()>,
}

/// How a step ended that found no fault.
#[derive(Debug)]
pub(crate) enum Outcome {
    Passed,
    /// Wholly or in part: this machine lacks something that the step needs, and the text says what.
    Skipped(String),
}
