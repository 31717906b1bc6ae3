//! What a domain crate pulls in, however far away, does no input or output.

use super::Violation;
use super::layers::{Layer, Member};
use crate::error::Result;
use crate::process;
use crate::workspace::Workspace;

const RULE: &str = "the domain does no I/O";

/// Runtimes, networks, databases, files and sources of chance. What these are built on is named as well, so that an
/// unknown newcomer is caught by its foundation.
const DENIED: &[&str] = &[
    "actix-http",
    "actix-web",
    "async-std",
    "axum",
    "deadpool",
    "diesel",
    "diesel-async",
    "getrandom",
    "hyper",
    "lettre",
    "libsqlite3-sys",
    "mio",
    "object_store",
    "rand",
    "redis",
    "reqwest",
    "rusqlite",
    "smol",
    "socket2",
    "tokio",
    "tokio-postgres",
    "ureq",
];

/// What counts of a dependency tree: all that is compiled into the program with every feature on. What tests need, and
/// what runs inside the compiler, does not.
const EDGES: [&str; 3] = ["--all-features", "--edges", "normal,no-proc-macro"];

/// Asks Cargo for each domain crate alone. The workspace's common resolution would blame a crate for features that
/// others turn on.
pub(super) fn check(workspace: &Workspace, members: &[Member]) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    for member in members.iter().filter(|member| member.layer == Layer::Domain) {
        let mut tree = workspace.cargo();
        tree.args([
            "tree",
            "--package",
            &member.package,
            "--prefix",
            "none",
            "--format",
            "{p}",
        ])
        .args(EDGES);
        violations.extend(validate(&member.package, &process::output(&mut tree)?));
    }
    Ok(violations)
}

/// `tree` has a package per line, its name first.
fn validate(package: &str, tree: &str) -> Vec<Violation> {
    let mut found: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    found.retain(|name| DENIED.contains(name));
    found.sort_unstable();
    found.dedup();
    let violation = |name| Violation {
        rule: RULE,
        place: package.to_owned(),
        advice: format!(
            "it pulls in {name}; `cargo tree -p {package} {} --invert {name}` shows how. I/O belongs in an adapter, behind a port",
            EDGES.join(" ")
        ),
    };
    found.into_iter().map(violation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_that_do_io_are_found_once_each() {
        let tree = "forecourt-leads v0.1.0 (/w/crates/domain/leads)\nserde v1.0.0\ntokio v1.5.0\nmio v1.0.0\ntokio v1.5.0 (*)\n";
        let violations = validate("forecourt-leads", tree);
        let found: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("forecourt-leads: it pulls in mio;"), "{found:?}");
        assert!(found[1].contains("forecourt-leads: it pulls in tokio;"), "{found:?}");
    }

    #[test]
    fn names_are_compared_whole() {
        assert_eq!(
            validate(
                "forecourt-leads",
                "serde v1.0.0\nrand_core v0.10.0\ntokio-util v0.7.0\n"
            ),
            []
        );
    }
}
