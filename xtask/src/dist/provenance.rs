//! The provenance: an in-toto statement with a predicate of SLSA, version 1. It says from what, by what and how the files were
//! made, so that another machine can make them again and compare.

use serde_json::{Value, json};

use super::build::{Build, Program};
use super::{Release, sums, write};
use crate::error::{Context as _, Result};
use crate::process;

pub(super) const NAME: &str = "provenance.json";

/// Writes the provenance of these files; returns its name.
pub(super) fn make(release: &Release<'_>, programs: &[Program], files: &[String]) -> Result<String> {
    let version = |program| process::output(release.workspace.command(program).arg("-V"));
    let facts = Facts {
        repository: release.repository(),
        version: release.version(),
        commit: &release.commit.id,
        is_changed: release.commit.is_changed,
        time: release.commit.time,
        lock: sums::checksum(release.workspace, &release.workspace.root().join("Cargo.lock"))?,
        rustc: version("rustc")?.trim().to_owned(),
        cargo: version("cargo")?.trim().to_owned(),
        builds: programs
            .iter()
            .map(|program| (program.target.as_str(), program.build.as_ref()))
            .collect(),
        files: sums::of(release, files)?,
    };
    let text = serde_json::to_string_pretty(&facts.statement());
    let text = text.context(|| "the provenance cannot be written as JSON".to_owned())?;
    write(&release.folder().join(NAME), text + "\n")?;
    Ok(NAME.to_owned())
}

/// The content of a provenance. It has no time of its own and no name of a machine, so that two builds agree.
struct Facts<'a> {
    repository: &'a str,
    version: &'a str,
    commit: &'a str,
    is_changed: bool,
    time: u64,
    /// The checksum of `Cargo.lock`.
    lock: String,
    rustc: String,
    cargo: String,
    /// Targets, with their builds unless those were elsewhere.
    builds: Vec<(&'a str, Option<&'a Build>)>,
    /// Names and checksums.
    files: Vec<(&'a str, String)>,
}

impl Facts<'_> {
    fn statement(&self) -> Value {
        let subjects = self
            .files
            .iter()
            .map(|(name, sum)| json!({"name": name, "digest": {"sha256": sum}}));
        let targets = self.builds.iter().map(|(target, build)| {
            let build = build.map(|build| {
                json!({
                    "command": if build.is_auditable { "cargo auditable build" } else { "cargo build" },
                    "profile": "dist",
                    "rustflags": build.rust_flags,
                    "cflags": build.c_flags,
                })
            });
            json!({"target": target, "build": build.unwrap_or_else(|| json!("elsewhere"))})
        });
        let source = format!("git+{}@{}", self.repository, self.commit);
        json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": subjects.collect::<Vec<_>>(),
            "predicateType": "https://slsa.dev/provenance/v1",
            "predicate": {
                "buildDefinition": {
                    "buildType": format!("{}/blob/main/docs/contributing.md#releases", self.repository),
                    "externalParameters": {
                        "repository": self.repository,
                        "version": self.version,
                        "commit": self.commit,
                        "files_differ_from_the_commit": self.is_changed,
                    },
                    "internalParameters": {
                        "targets": targets.collect::<Vec<_>>(),
                        "SOURCE_DATE_EPOCH": self.time,
                    },
                    "resolvedDependencies": [
                        {"uri": source, "digest": {"gitCommit": self.commit}},
                        {"uri": "Cargo.lock", "digest": {"sha256": self.lock}},
                    ],
                },
                "runDetails": {
                    "builder": {
                        "id": format!("{}/tree/main/xtask", self.repository),
                        "version": {"rustc": self.rustc, "cargo": self.cargo},
                    },
                },
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_says_what_was_made_of_what() {
        let build = Build {
            rust_flags: vec!["--remap-path-prefix=$WORKSPACE=/forecourt".to_owned()],
            c_flags: "-ffile-prefix-map=$WORKSPACE=/forecourt".to_owned(),
            is_auditable: true,
        };
        let statement = Facts {
            repository: "https://example.org/f",
            version: "1.2.3",
            commit: "abc",
            is_changed: false,
            time: 7,
            lock: "10c4".to_owned(),
            rustc: "rustc 1".to_owned(),
            cargo: "cargo 1".to_owned(),
            builds: vec![("t-gnu", Some(&build)), ("t-musl", None)],
            files: vec![("a.tar.gz", "aa".to_owned()), ("b.deb", "bb".to_owned())],
        }
        .statement();
        assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
        assert_eq!(statement["predicateType"], "https://slsa.dev/provenance/v1");
        assert_eq!(
            statement["subject"][1],
            json!({"name": "b.deb", "digest": {"sha256": "bb"}})
        );
        let definition = &statement["predicate"]["buildDefinition"];
        assert_eq!(definition["resolvedDependencies"][0]["digest"]["gitCommit"], "abc");
        assert_eq!(definition["resolvedDependencies"][1]["digest"]["sha256"], "10c4");
        let targets = &definition["internalParameters"]["targets"];
        assert_eq!(targets[0]["build"]["command"], "cargo auditable build");
        assert_eq!(targets[0]["build"]["rustflags"][0], build.rust_flags[0].as_str());
        assert_eq!(targets[1], json!({"target": "t-musl", "build": "elsewhere"}));
        assert_eq!(
            statement["predicate"]["runDetails"]["builder"]["version"]["rustc"],
            "rustc 1"
        );
    }
}
