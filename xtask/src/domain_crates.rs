//! Checks for those who reuse the domain crates: each crate can be packaged, any of its features compile, and the service in
//! `docs/examples` that is built on them works.

use crate::error::{Error, Result};
use crate::process;
use crate::task::Task;
use crate::workspace::{Package, Workspace};

pub(crate) const FEATURES: Task = Task {
    name: "features",
    usage: "",
    summary: "check each crate of the domain without features, with each feature alone, and with all: some minutes",
    run: |workspace, arguments| match arguments {
        [] => check_features(workspace),
        _ => Err(Error::new("usage: cargo xtask features")),
    },
};

/// The service that is built on crates of the domain.
const SERVICE: &str = "docs/examples/enquiry-desk";

/// Packages every crate of the domain as `cargo publish` would, all at once since they depend on each other.
pub(crate) fn package(workspace: &Workspace) -> Result<()> {
    let packages = packages(workspace)?;
    let faults: Vec<String> = packages.iter().filter_map(incomplete).collect();
    if !faults.is_empty() {
        return Err(Error::new(faults.join("; ")));
    }
    let package = |options: &[&str]| {
        let mut command = workspace.cargo();
        // They are compiled by the other steps, and what is not committed yet is packaged all the same.
        command
            .args(["package", "--quiet", "--no-verify", "--allow-dirty"])
            .args(options);
        command.args(packages.iter().flat_map(|package| ["--package", &package.name]));
        command
    };
    // What they depend on is on this machine, unless nothing was built yet.
    process::output(&mut package(&["--offline"]))
        .map(drop)
        .or_else(|_| process::run(&mut package(&[])))
}

/// Names the fields that a registry shows and the manifest lacks.
fn incomplete(package: &Package) -> Option<String> {
    let Package {
        name,
        description,
        license,
        repository,
        readme,
        keywords,
        categories,
        ..
    } = package;
    let said = [
        ("description", description.is_some()),
        ("license", license.is_some()),
        ("repository", repository.is_some()),
        ("readme", readme.is_some()),
        ("keywords", !keywords.is_empty()),
        ("categories", !categories.is_empty()),
    ];
    let missing: Vec<&str> = said
        .iter()
        .filter(|(_, is_said)| !is_said)
        .map(|(field, _)| *field)
        .collect();
    (!missing.is_empty()).then(|| format!("{name} says nothing of its {}", missing.join(", ")))
}

fn check_features(workspace: &Workspace) -> Result<()> {
    for package in packages(workspace)? {
        for features in feature_sets(&package) {
            let mut clippy = workspace.cargo();
            clippy.args(["clippy", "--quiet", "--lib", "--package", &package.name]);
            clippy.arg("--no-default-features");
            if !features.is_empty() {
                clippy.args(["--features", &features]);
            }
            process::run(clippy.args(["--", "-D", "warnings"]))?;
        }
    }
    Ok(())
}

/// Returns the sets of features to check: none, each alone, and all.
fn feature_sets(package: &Package) -> Vec<String> {
    let names: Vec<&str> = package.features.keys().map(String::as_str).collect();
    let mut sets = vec![String::new()];
    sets.extend(names.iter().map(|name| (*name).to_owned()));
    if names.len() > 1 {
        sets.push(names.join(","));
    }
    sets
}

/// Checks the format of the service, compiles it without warnings, and runs its tests. It is a workspace of its own, and has its own target
/// folder, so that it does not wait for the other steps.
pub(crate) fn example(workspace: &Workspace) -> Result<()> {
    let manifest = workspace.root().join(SERVICE).join("Cargo.toml");
    let target = workspace.metadata()?.target_directory.join("enquiry-desk");
    process::run(
        workspace
            .cargo()
            .args(["fmt", "--check", "--manifest-path"])
            .arg(&manifest),
    )?;
    let mut test = workspace.cargo();
    test.args(["test", "--quiet", "--locked", "--manifest-path"])
        .arg(&manifest);
    process::run(test.arg("--target-dir").arg(target).env("RUSTFLAGS", "-D warnings"))
}

fn packages(workspace: &Workspace) -> Result<Vec<Package>> {
    let mut packages = workspace.metadata()?.packages;
    let domain = workspace.root().join("crates/domain");
    packages.retain(|package| package.manifest_path.starts_with(&domain));
    Ok(packages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(json: &str) -> Package {
        let start =
            r#"{"name": "a", "version": "1.0.0", "manifest_path": "/a/Cargo.toml", "dependencies": [], "targets": []"#;
        serde_json::from_str(&format!("{start}{json}}}")).unwrap()
    }

    #[test]
    fn a_crate_says_what_a_registry_shows() {
        let bare = package(r#", "description": "A crate.", "license": "MIT", "keywords": [], "categories": ["email"]"#);
        let expected = "a says nothing of its repository, readme, keywords";
        assert_eq!(incomplete(&bare).as_deref(), Some(expected));
        let whole = package(
            r#", "description": "A crate.", "license": "MIT", "repository": "https://example.com", "readme": "README.md",
                "keywords": ["mail"], "categories": ["email"]"#,
        );
        assert_eq!(incomplete(&whole), None);
    }

    #[test]
    fn features_are_tried_alone_and_together() {
        assert_eq!(feature_sets(&package("")), [""]);
        assert_eq!(feature_sets(&package(r#", "features": {"x": []}"#)), ["", "x"]);
        assert_eq!(
            feature_sets(&package(r#", "features": {"y": [], "x": ["y"]}"#)),
            ["", "x", "y", "x,y"]
        );
    }
}
