//! `forecourt completions`.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use super::CommandError;
use crate::{cli::Cli, output};

/// Prints the completion script of a shell.
///
/// # Errors
/// [`CommandError::Output`].
pub(super) fn run(shell: Shell) -> Result<(), CommandError> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "forecourt", &mut script);
    Ok(output::text(&String::from_utf8_lossy(&script))?)
}
