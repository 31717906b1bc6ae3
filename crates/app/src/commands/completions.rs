//! `forecourt completions`.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use super::CommandError;
use crate::{cli::Cli, output};

/// Prints what completes the command line in a shell.
///
/// # Errors
/// [`CommandError::Output`].
pub(super) fn run(shell: Shell) -> Result<(), CommandError> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "forecourt", &mut script);
    Ok(output::text(&String::from_utf8_lossy(&script))?)
}
