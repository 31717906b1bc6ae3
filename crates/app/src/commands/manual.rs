//! `forecourt man`.

use std::{fs, path::Path};

use super::CommandError;
use crate::cli;

/// Writes the manual pages into `folder`: `forecourt.1`, and one for each command.
///
/// # Errors
/// [`CommandError::Manual`].
pub(super) fn run(folder: &Path) -> Result<(), CommandError> {
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(cli::declaration(), folder))
        .map_err(|source| CommandError::Manual {
            folder: folder.to_owned(),
            source,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        run(folder.path()).unwrap();
        let page = fs::read_to_string(folder.path().join("forecourt.1")).unwrap();
        for command in cli::declaration().get_subcommands().map(clap::Command::get_name) {
            let name = format!("forecourt-{command}.1");
            assert!(folder.path().join(&name).is_file(), "{name}");
            assert!(
                page.replace('\\', "").contains(&format!("forecourt-{command}(1)")),
                "{command}"
            );
        }
    }
}
