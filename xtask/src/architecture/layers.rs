//! Dependencies between the workspace's crates point inwards: app → adapters → domain → kernel.

use std::path::{Path, PathBuf};

use super::Violation;
use crate::error::{Error, Result};
use crate::workspace::{Metadata, Workspace};

const RULE: &str = "dependencies point inwards";

/// Where a crate stands, from the inside out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layer {
    Domain,
    Adapter,
    App,
    /// What is no part of the product: the end-to-end tests and the tasks.
    Outside,
}

/// A crate of the workspace with the others that it depends on.
#[derive(Debug)]
pub(super) struct Member {
    /// The package's name.
    pub(super) package: String,
    /// The name of its folder, which is what the architecture calls it.
    pub(super) name: String,
    /// Its folder, seen from the workspace's root.
    pub(super) folder: PathBuf,
    pub(super) layer: Layer,
    pub(super) dependencies: Vec<Dependency>,
}

#[derive(Debug)]
pub(super) struct Dependency {
    package: String,
    /// Whether only the crate's own tests need it.
    dev: bool,
}

impl Layer {
    fn of(folder: &Path) -> Option<Self> {
        match folder.iter().map(|part| part.to_str()).collect::<Option<Vec<_>>>()?[..] {
            ["crates", "domain", _] => Some(Self::Domain),
            ["crates", "adapters", _] => Some(Self::Adapter),
            ["crates", "app"] => Some(Self::App),
            ["tests" | "xtask"] | ["xtask", _] => Some(Self::Outside),
            _ => None,
        }
    }
}

impl Member {
    /// The workspace's crates; those that are in no layer's folder are violations.
    pub(super) fn all(workspace: &Workspace) -> Result<(Vec<Self>, Vec<Violation>)> {
        let root = workspace
            .root()
            .canonicalize()
            .unwrap_or_else(|_| workspace.root().to_owned());
        Self::of_metadata(&root, workspace.metadata()?)
    }

    fn of_metadata(root: &Path, metadata: Metadata) -> Result<(Vec<Self>, Vec<Violation>)> {
        let (mut members, mut violations) = (Vec::new(), Vec::new());
        for package in metadata.packages {
            let folder = package
                .manifest_path
                .parent()
                .and_then(|folder| folder.strip_prefix(root).ok());
            let folder =
                folder.ok_or_else(|| Error::new(format!("{} is not in the workspace's folder", package.name)))?;
            let dependency = |dependency: crate::workspace::Dependency| Dependency {
                package: dependency.name,
                dev: dependency.kind.as_deref() == Some("dev"),
            };
            match Layer::of(folder) {
                Some(layer) => members.push(Self {
                    package: package.name,
                    name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                    folder: folder.to_owned(),
                    layer,
                    dependencies: package.dependencies.into_iter().map(dependency).collect(),
                }),
                None => violations.push(Violation {
                    rule: RULE,
                    place: package.name,
                    advice: format!(
                        "{} belongs to no layer; move it to crates/domain, crates/adapters or crates/app",
                        folder.display()
                    ),
                }),
            }
        }
        Ok((members, violations))
    }
}

/// The arrows between members. What a crate's tests alone need is free, but for the domain: its tests are to run without
/// the world too.
pub(super) fn check(members: &[Member]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for from in members {
        for dependency in &from.dependencies {
            let Some(to) = members.iter().find(|member| member.package == dependency.package) else {
                continue;
            };
            let free = dependency.dev && (from.layer != Layer::Domain || to.layer == Layer::Domain);
            if free || may_depend(from, to) {
                continue;
            }
            violations.push(Violation {
                rule: RULE,
                place: from.package.clone(),
                advice: format!("it may not depend on {}; {}", to.package, remedy(from.layer, to.layer)),
            });
        }
    }
    violations
}

fn may_depend(from: &Member, to: &Member) -> bool {
    match (from.layer, to.layer) {
        (Layer::Domain, Layer::Domain) => domain_may_depend(&from.name, &to.name),
        (Layer::Outside, Layer::Outside) => true,
        (from, to) => to < from,
    }
}

fn domain_may_depend(from: &str, to: &str) -> bool {
    match (from, to) {
        ("kernel", _) => false,
        ("files" | "html" | "reference", to) => to == "kernel",
        ("accounts", to) => matches!(to, "kernel" | "reference"),
        // It names all stores together.
        ("dealership", _) => true,
        ("listings", "vehicles") | ("vehicles", "files" | "invoices") => true,
        (_, to) => matches!(to, "kernel" | "html" | "accounts" | "reference"),
    }
}

fn remedy(from: Layer, to: Layer) -> &'static str {
    match (from, to) {
        (_, Layer::Outside) => "nothing of the product needs its tests or tasks",
        (Layer::Domain, Layer::Domain) => "ask for what it needs through a port of its own",
        (Layer::Domain, _) => "declare a port in the domain and implement it there",
        (Layer::Adapter, Layer::Adapter) => "let the app wire the two, by a port of the domain",
        _ => "turn the dependency round",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(folder: &str, dependencies: &[&str]) -> Member {
        let folder = PathBuf::from(folder);
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        Member {
            package: format!("forecourt-{name}"),
            layer: Layer::of(&folder).unwrap(),
            dependencies: dependencies
                .iter()
                .map(|name| match name.strip_prefix("dev:") {
                    Some(name) => Dependency {
                        package: format!("forecourt-{name}"),
                        dev: true,
                    },
                    None => Dependency {
                        package: format!("forecourt-{name}"),
                        dev: false,
                    },
                })
                .collect(),
            name,
            folder,
        }
    }

    /// The arrows that are violations, in a workspace of all crates in which one has these dependencies.
    fn broken(folder: &str, dependencies: &[&str]) -> Vec<String> {
        let others = [
            "crates/domain/kernel",
            "crates/domain/accounts",
            "crates/domain/reference",
            "crates/domain/leads",
            "crates/domain/vehicles",
            "crates/domain/listings",
            "crates/domain/invoices",
            "crates/domain/dealership",
            "crates/adapters/storage",
            "crates/adapters/rest",
            "crates/app",
            "tests",
            "xtask",
        ];
        let mut members = vec![member(folder, dependencies)];
        members.extend(
            others
                .into_iter()
                .filter(|other| *other != folder)
                .map(|other| member(other, &[])),
        );
        check(&members)
            .into_iter()
            .map(|violation| violation.to_string())
            .collect()
    }

    #[track_caller]
    fn clean(folder: &str, dependencies: &[&str]) {
        assert_eq!(broken(folder, dependencies), [""; 0]);
    }

    #[track_caller]
    fn violated(folder: &str, dependency: &str) {
        let broken = broken(folder, &[dependency]);
        let name = dependency.trim_start_matches("dev:");
        assert_eq!(broken.len(), 1, "{folder} → {dependency}: {broken:?}");
        assert!(
            broken[0].contains(&format!("may not depend on forecourt-{name};")),
            "{broken:?}"
        );
    }

    #[test]
    fn the_app_knows_adapters_and_domains_and_nobody_knows_the_app() {
        clean("crates/app", &["storage", "rest", "leads", "kernel"]);
        violated("crates/adapters/storage", "app");
        violated("crates/domain/leads", "app");
    }

    #[test]
    fn adapters_know_domains_and_no_other_adapter() {
        clean("crates/adapters/rest", &["kernel", "leads", "dealership"]);
        violated("crates/adapters/rest", "storage");
    }

    #[test]
    fn domains_know_no_adapter() {
        clean("crates/domain/leads", &["kernel", "accounts", "reference"]);
        violated("crates/domain/leads", "storage");
    }

    #[test]
    fn domains_know_each_other_along_the_drawn_arrows_only() {
        clean("crates/domain/listings", &["vehicles", "kernel"]);
        violated("crates/domain/vehicles", "listings");
        clean("crates/domain/vehicles", &["invoices"]);
        violated("crates/domain/invoices", "vehicles");
        violated("crates/domain/leads", "vehicles");
        violated("crates/domain/listings", "invoices");
    }

    #[test]
    fn the_shared_domains_know_only_what_is_further_in() {
        clean("crates/domain/accounts", &["reference", "kernel"]);
        violated("crates/domain/reference", "accounts");
        violated("crates/domain/accounts", "leads");
        violated("crates/domain/kernel", "reference");
    }

    #[test]
    fn dealership_knows_every_domain_and_no_domain_knows_it() {
        clean(
            "crates/domain/dealership",
            &["leads", "vehicles", "listings", "invoices", "accounts", "kernel"],
        );
        violated("crates/domain/leads", "dealership");
        violated("crates/domain/dealership", "storage");
    }

    #[test]
    fn tests_may_need_more_but_in_the_domain() {
        clean("crates/adapters/rest", &["dev:storage"]);
        clean("crates/domain/leads", &["dev:vehicles"]);
        violated("crates/domain/leads", "dev:storage");
    }

    #[test]
    fn the_product_needs_neither_its_tests_nor_its_tasks() {
        clean("tests", &["app", "kernel"]);
        clean("xtask", &["tests"]);
        violated("crates/app", "tests");
        violated("crates/adapters/rest", "xtask");
    }

    #[test]
    fn crates_of_others_are_no_concern_of_the_arrows() {
        clean("crates/domain/leads", &["not-a-member"]);
    }

    #[test]
    fn a_crate_in_no_layer_is_a_violation() {
        let json = r#"{"target_directory": "/w/target", "packages": [
            {"name": "forecourt-kernel", "manifest_path": "/w/crates/domain/kernel/Cargo.toml", "dependencies": [
                {"name": "proptest", "kind": "dev"}, {"name": "serde", "kind": null}]},
            {"name": "stray", "manifest_path": "/w/crates/stray/Cargo.toml", "dependencies": []}]}"#;
        let (members, violations) = Member::of_metadata(Path::new("/w"), serde_json::from_str(json).unwrap()).unwrap();
        assert_eq!(members.len(), 1);
        assert_eq!(members[0].name, "kernel");
        assert_eq!(
            members[0]
                .dependencies
                .iter()
                .map(|dependency| dependency.dev)
                .collect::<Vec<_>>(),
            [true, false]
        );
        assert_eq!(violations.len(), 1);
        assert!(
            violations[0]
                .to_string()
                .contains("stray: crates/stray belongs to no layer")
        );
    }
}
