//! The software bill of materials: a CycloneDX 1.6 document with every crate in the program, from what Cargo resolved.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Program, Release, write};
use crate::error::{Context as _, Error, Result};
use crate::process;

/// The part of `cargo metadata` that describes crates and their dependencies.
#[derive(Deserialize)]
struct Resolved {
    packages: Vec<Crate>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Crate {
    id: String,
    name: String,
    version: String,
    description: Option<String>,
    license: Option<String>,
    repository: Option<String>,
    /// The registry; `None` for a crate of the workspace.
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    dependencies: Vec<String>,
}

/// The names and versions of crates.
type Names = BTreeSet<(String, String)>;

/// Writes the document; returns its name.
pub(super) fn make(release: &Release<'_>, programs: &[Program]) -> Result<String> {
    let targets = programs.iter().map(|program| program.target.as_str());
    let resolved = {
        let mut cargo = release.workspace.cargo();
        cargo.args(["metadata", "--format-version", "1", "--locked"]);
        for target in targets.clone() {
            cargo.args(["--filter-platform", target]);
        }
        let json = process::output(&mut cargo)?;
        serde_json::from_str(&json).context(|| "what `cargo metadata` prints is not understood".to_owned())?
    };
    // Cargo's metadata has the crates of the whole workspace; its tree, those of one package.
    let tree = |edges: &str| {
        let mut cargo = release.workspace.cargo();
        cargo.args([
            "tree",
            "--locked",
            "--package",
            "forecourt",
            "--prefix",
            "none",
            "--edges",
            edges,
        ]);
        for target in targets.clone() {
            cargo.args(["--target", target]);
        }
        Ok::<_, Error>(names(&process::output(cargo.args(["--format", "{p}"]))?))
    };
    let lock = release.workspace.root().join("Cargo.lock");
    let lock = fs::read_to_string(&lock).context(|| format!("{} cannot be read", lock.display()))?;
    let bill = Bill {
        resolved,
        linked: tree("normal")?,
        used: tree("normal,build")?,
        checksums: checksums(&lock),
        time: release.date("+%Y-%m-%dT%H:%M:%SZ")?,
    };
    let text = serde_json::to_string_pretty(&bill.document()?);
    let name = format!("forecourt-{}.cdx.json", release.version());
    let text = text.context(|| "the bill of materials cannot be written as JSON".to_owned())?;
    write(&release.folder().join(&name), text + "\n")?;
    Ok(name)
}

/// Reads the lines of `cargo tree`, such as `serde v1.0.1 (proc-macro)`.
fn names(tree: &str) -> Names {
    let lines = tree.lines().filter_map(|line| {
        let (name, rest) = line.split_once(" v")?;
        let version = rest.split(' ').next()?;
        Some((name.to_owned(), version.to_owned()))
    });
    lines.collect()
}

/// Reads the checksums in `Cargo.lock`, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let packages = lock.split("[[package]]").skip(1).filter_map(|package| {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key))?;
            Some(line.strip_prefix(" = ")?.trim_matches('"').to_owned())
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    });
    packages.collect()
}

struct Bill {
    resolved: Resolved,
    /// The crates in the program.
    linked: Names,
    /// These, and those that only building it needs.
    used: Names,
    checksums: BTreeMap<(String, String), String>,
    time: String,
}

impl Bill {
    fn document(&self) -> Result<Value> {
        let mut crates: Vec<&Crate> = self
            .resolved
            .packages
            .iter()
            .filter(|package| self.used.contains(&package.key()))
            .collect();
        crates.sort_by_key(|package| package.key());
        let references: BTreeMap<&str, String> = crates
            .iter()
            .map(|package| (package.id.as_str(), package.url()))
            .collect();
        let is_main = |package: &&Crate| package.name == "forecourt" && package.source.is_none();
        let main = crates.iter().copied().find(is_main);
        let main = main.ok_or_else(|| Error::new("`cargo metadata` does not name the package `forecourt`"))?;

        let mut nodes: Vec<&Node> = self.resolved.resolve.nodes.iter().collect();
        nodes.sort_by_key(|node| references.get(node.id.as_str()));
        let dependencies = nodes.into_iter().filter_map(|node| {
            let reference = references.get(node.id.as_str())?;
            let on: BTreeSet<&String> = node
                .dependencies
                .iter()
                .filter_map(|id| references.get(id.as_str()))
                .collect();
            Some(json!({"ref": reference, "dependsOn": on}))
        });
        let mut described = self.component(main);
        described["type"] = "application".into();
        Ok(json!({
            "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": {
                "timestamp": self.time,
                "lifecycles": [{"phase": "build"}],
                "tools": {"components": [{"type": "application", "name": "xtask", "version": main.version}]},
                "component": described,
            },
            "components": crates.iter().filter(|package| package.id != main.id).map(|package| self.component(package)).collect::<Vec<_>>(),
            "dependencies": dependencies.collect::<Vec<_>>(),
        }))
    }

    fn component(&self, package: &Crate) -> Value {
        let mut component = json!({
            "type": "library",
            "bom-ref": package.url(),
            "name": package.name,
            "version": package.version,
            // What only building needs is not in the program.
            "scope": if self.linked.contains(&package.key()) { "required" } else { "excluded" },
            "purl": package.url(),
        });
        if let Some(description) = &package.description {
            component["description"] = description.split_whitespace().collect::<Vec<_>>().join(" ").into();
        }
        if let Some(license) = &package.license {
            // Old crates separate alternatives with a slash.
            let license = license.replace(" / ", " OR ").replace('/', " OR ");
            component["licenses"] = json!([{"expression": license}]);
        }
        if let Some(checksum) = self.checksums.get(&package.key()) {
            component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
        }
        if let Some(repository) = &package.repository {
            component["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
        }
        component
    }
}

impl Crate {
    fn key(&self) -> (String, String) {
        (self.name.clone(), self.version.clone())
    }

    /// Returns its package URL.
    fn url(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version.replace('+', "%2B"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bill() -> Bill {
        let package = |name: &str, version: &str, source: Option<&str>| Crate {
            id: format!("{name} {version}"),
            name: name.to_owned(),
            version: version.to_owned(),
            description: Some("A\n crate".to_owned()),
            license: Some("MIT/Apache-2.0".to_owned()),
            repository: None,
            source: source.map(str::to_owned),
        };
        let node = |id: &str, dependencies: &[&str]| Node {
            id: id.to_owned(),
            dependencies: dependencies.iter().map(ToString::to_string).collect(),
        };
        let registry = Some("registry");
        Bill {
            resolved: Resolved {
                packages: vec![
                    package("serde", "1.0.0", registry),
                    package("cc", "1.1.0+x", registry),
                    package("insta", "1.0.0", registry),
                    package("forecourt", "0.1.0", None),
                ],
                resolve: Resolve {
                    nodes: vec![
                        node("serde 1.0.0", &[]),
                        node("forecourt 0.1.0", &["serde 1.0.0", "cc 1.1.0+x", "insta 1.0.0"]),
                        node("cc 1.1.0+x", &[]),
                        node("insta 1.0.0", &["serde 1.0.0"]),
                    ],
                },
            },
            linked: names("forecourt v0.1.0 (/somewhere)\nserde v1.0.0\nserde v1.0.0 (*)\n"),
            used: names("forecourt v0.1.0\nserde v1.0.0\ncc v1.1.0+x\n"),
            checksums: checksums(
                "version = 4\n\n[[package]]\nname = \"serde\"\nversion = \"1.0.0\"\nsource = \"r\"\nchecksum = \"5e7d\"\n\n\
                 [[package]]\nname = \"forecourt\"\nversion = \"0.1.0\"\n",
            ),
            time: "2026-01-01T00:00:00Z".to_owned(),
        }
    }

    #[test]
    fn the_crates_of_the_program_are_listed() {
        let document = bill().document().unwrap();
        assert_eq!(document["specVersion"], "1.6");
        assert_eq!(document["metadata"]["component"]["type"], "application");
        let names: Vec<&str> = document["components"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|one| one["purl"].as_str())
            .collect();
        assert_eq!(
            names,
            ["pkg:cargo/cc@1.1.0%2Bx", "pkg:cargo/serde@1.0.0"],
            "without those of tests"
        );
        let [cc, serde] = [&document["components"][0], &document["components"][1]];
        assert_eq!(
            (&cc["scope"], &serde["scope"]),
            (&json!("excluded"), &json!("required"))
        );
        assert_eq!(serde["hashes"], json!([{"alg": "SHA-256", "content": "5e7d"}]));
        assert_eq!(serde["licenses"], json!([{"expression": "MIT OR Apache-2.0"}]));
        assert_eq!(serde["description"], "A crate");
        assert!(cc.get("hashes").is_none());
    }

    #[test]
    fn every_crate_says_what_it_needs() {
        let document = bill().document().unwrap();
        assert_eq!(
            document["dependencies"],
            json!([
                {"ref": "pkg:cargo/cc@1.1.0%2Bx", "dependsOn": []},
                {"ref": "pkg:cargo/forecourt@0.1.0", "dependsOn": ["pkg:cargo/cc@1.1.0%2Bx", "pkg:cargo/serde@1.0.0"]},
                {"ref": "pkg:cargo/serde@1.0.0", "dependsOn": []},
            ])
        );
    }
}
