//! Every crate is under the workspace's lints, and those forbid `unsafe`.

use std::fs;
use std::path::Path;

use toml::{Table, Value};

use super::Violation;
use super::layers::Member;
use crate::error::{Context as _, Result};

const RULE: &str = "lints hold everywhere";

pub(super) fn check(root: &Path, members: &[Member]) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    if !forbids_unsafe(&read(&root.join("Cargo.toml"))?) {
        violations.push(Violation {
            rule: RULE,
            place: "Cargo.toml".to_owned(),
            advice: "set `unsafe_code = \"forbid\"` in [workspace.lints.rust]".to_owned(),
        });
    }
    for member in members {
        let manifest = member.folder.join("Cargo.toml");
        if !takes_workspace_lints(&read(&root.join(&manifest))?) {
            violations.push(Violation {
                rule: RULE,
                place: manifest.display().to_string(),
                advice: "set `workspace = true` in [lints]".to_owned(),
            });
        }
    }
    Ok(violations)
}

fn read(path: &Path) -> Result<Table> {
    let text = fs::read_to_string(path).context(|| format!("{} cannot be read", path.display()))?;
    text.parse().context(|| format!("{} is not TOML", path.display()))
}

fn forbids_unsafe(manifest: &Table) -> bool {
    let lint = get(manifest, &["workspace", "lints", "rust", "unsafe_code"]);
    lint.map(|lint| lint.get("level").unwrap_or(lint))
        .and_then(Value::as_str)
        == Some("forbid")
}

fn takes_workspace_lints(manifest: &Table) -> bool {
    get(manifest, &["lints", "workspace"]).and_then(Value::as_bool) == Some(true)
}

fn get<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(*key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    #[test]
    fn unsafe_code_is_forbidden_not_just_denied() {
        assert!(forbids_unsafe(&table("[workspace.lints.rust]\nunsafe_code = 'forbid'")));
        assert!(forbids_unsafe(&table(
            "[workspace.lints.rust]\nunsafe_code = { level = 'forbid', priority = 1 }"
        )));
        assert!(!forbids_unsafe(&table("[workspace.lints.rust]\nunsafe_code = 'deny'")));
        assert!(!forbids_unsafe(&table("[workspace]")));
    }

    #[test]
    fn a_crate_takes_the_workspaces_lints() {
        assert!(takes_workspace_lints(&table("[lints]\nworkspace = true")));
        assert!(takes_workspace_lints(&table("lints.workspace = true")));
        assert!(!takes_workspace_lints(&table("[lints.rust]\nunsafe_code = 'allow'")));
        assert!(!takes_workspace_lints(&table("[package]\nname = 'x'")));
    }
}
