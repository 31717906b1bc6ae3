//! Dependencies between the workspace's crates point inwards: app → adapters → domain → kernel.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::workspace::{Package, Workspace};

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

/// A crate of the workspace. Its paths are seen from the workspace's root.
pub(super) struct Member {
    pub(super) package: String,
    pub(super) folder: PathBuf,
    pub(super) layer: Layer,
    /// The roots of its library, programs, tests and examples.
    pub(super) targets: Vec<PathBuf>,
    /// The packages that it depends on, and whether only its tests do.
    pub(super) dependencies: Vec<(String, bool)>,
}

impl Layer {
    pub(super) fn of(folder: &Path) -> Option<Self> {
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
    pub(super) fn all(workspace: &Workspace) -> Result<(Vec<Self>, Vec<String>)> {
        let root = workspace.root();
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let (mut members, mut violations) = (Vec::new(), Vec::new());
        for package in workspace.metadata()?.packages {
            let name = package.name.clone();
            match Self::new(&root, package)? {
                Some(member) => members.push(member),
                None => violations.push(format!(
                    "{RULE}: {name}: it is in no layer; move it to crates/domain, crates/adapters or crates/app"
                )),
            }
        }
        Ok((members, violations))
    }

    fn new(root: &Path, package: Package) -> Result<Option<Self>> {
        let relative = |path: &Path| path.strip_prefix(root).map(Path::to_owned);
        let outside = |_| Error::new(format!("{} is not in the workspace's folder", package.name));
        let manifest = relative(&package.manifest_path).map_err(outside)?;
        let folder = manifest.with_file_name("");
        let Some(layer) = Layer::of(&folder) else {
            return Ok(None);
        };
        let targets = package
            .targets
            .iter()
            .filter_map(|target| relative(&target.src_path).ok());
        Ok(Some(Self {
            targets: targets.collect(),
            package: package.name,
            folder,
            layer,
            dependencies: package
                .dependencies
                .into_iter()
                .map(|dependency| (dependency.name, dependency.kind.as_deref() == Some("dev")))
                .collect(),
        }))
    }

    /// The name of its folder, which is what the architecture calls it.
    fn name(&self) -> &str {
        self.folder
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
    }
}

/// The arrows between members. What a crate's tests alone need is free, but for the domain: its tests are to run without
/// the world too.
pub(super) fn check(members: &[Member]) -> Vec<String> {
    let mut violations = Vec::new();
    for from in members {
        for (package, for_tests) in &from.dependencies {
            let Some(to) = members.iter().find(|member| member.package == *package) else {
                continue;
            };
            let is_free = *for_tests && (from.layer != Layer::Domain || to.layer == Layer::Domain);
            if !is_free && !may_depend(from, to) {
                violations.push(format!(
                    "{RULE}: {}: it may not depend on {package}; {}",
                    from.package,
                    remedy(from.layer, to.layer)
                ));
            }
        }
    }
    violations
}

fn may_depend(from: &Member, to: &Member) -> bool {
    match (from.layer, to.layer) {
        (Layer::Domain, Layer::Domain) => domain_may_depend(from.name(), to.name()),
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
