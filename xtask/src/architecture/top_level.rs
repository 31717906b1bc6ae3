//! The repository's top level stays small enough to be read at a glance.

use std::fs;
use std::path::Path;

use super::Violation;
use crate::error::{Context as _, Result};

/// Beside these and what git ignores there are only names with a dot.
const ALLOWED: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "README.md",
    "crates",
    "docs",
    "migrations",
    "rust-toolchain.toml",
    "tests",
    "xtask",
];

pub(super) fn check(root: &Path) -> Result<Vec<Violation>> {
    let unreadable = || format!("{} cannot be read", root.display());
    let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
    let mut names = Vec::new();
    for entry in fs::read_dir(root).context(unreadable)? {
        names.push(entry.context(unreadable)?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(validate(&names, &ignored))
}

/// Only the ignored names right under the root matter here.
fn validate(names: &[String], ignored: &str) -> Vec<Violation> {
    let ignored: Vec<&str> = ignored
        .lines()
        .filter_map(|line| line.trim().strip_prefix('/'))
        .collect();
    let allowed = |name: &&String| {
        let name = name.as_str();
        name.starts_with('.')
            || ALLOWED.contains(&name)
            || ignored.iter().any(|entry| entry.trim_end_matches('/') == name)
    };
    let violation = |name: &String| Violation {
        rule: "the top level is fixed",
        place: name.clone(),
        advice: format!(
            "move it; the top level holds {}, names with a dot, and no more",
            ALLOWED.join(", ")
        ),
    };
    names.iter().filter(|name| !allowed(name)).map(violation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strays(names: &[&str], ignored: &str) -> Vec<String> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        validate(&names, ignored)
            .into_iter()
            .map(|violation| violation.place)
            .collect()
    }

    #[test]
    fn known_names_and_dot_names_may_be_there() {
        assert_eq!(
            strays(&["Cargo.toml", "crates", "README.md", ".github", ".gitignore"], ""),
            [""; 0]
        );
    }

    #[test]
    fn others_may_not() {
        assert_eq!(
            strays(&["Cargo.toml", "scripts", "NOTES.md"], ""),
            ["scripts", "NOTES.md"]
        );
    }

    #[test]
    fn what_git_ignores_at_the_root_may_be_there() {
        assert_eq!(
            strays(&["target", "data", "other"], "/target\n/data/\nother\n"),
            ["other"]
        );
    }
}
