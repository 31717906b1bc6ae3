//! `forecourt completions`.

use clap_complete::{Shell, generate};

use super::CommandError;
use crate::{cli, output};

/// Prints the completion script of a shell.
///
/// # Errors
/// [`CommandError::Output`].
pub(super) fn run(shell: Shell) -> Result<(), CommandError> {
    let mut script = Vec::new();
    generate(shell, &mut cli::declaration(), "forecourt", &mut script);
    Ok(output::text(&String::from_utf8_lossy(&script))?)
}
