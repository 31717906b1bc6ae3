//! Checks the OpenAPI document with linters of other projects, each with its strictest rules.

use std::fs;

use crate::codegen::DOCUMENT;
use crate::error::{Context as _, Result};
use crate::process;
use crate::recipe::{Recipe, within};
use crate::task::Outcome;
use crate::workspace::Workspace;

/// Redocly and Spectral, with the findings that they must ignore.
const LINTERS: Recipe = Recipe::of_node(
    "lint",
    &["package.json", "package-lock.json", "redocly.yaml", "spectral.yaml"],
);

pub(crate) fn check(workspace: &Workspace) -> Result<Outcome> {
    let folder = workspace.metadata()?.target_directory.join("lint");
    let outcome = LINTERS.prepare(&workspace.root().join("docs"), &folder)?;
    if let Outcome::Passed = outcome {
        let document = folder.join("openapi.json");
        fs::copy(workspace.root().join(DOCUMENT), &document).context(|| format!("{DOCUMENT} cannot be copied"))?;
        process::run(within(&folder, "npm").args(["run", "lint"]))?;
    }
    Ok(outcome)
}
