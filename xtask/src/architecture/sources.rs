//! The domain asks its ports for the time, chance and the world, and the rest of the program has one clock.

use std::fs;
use std::path::{Path, PathBuf};

use super::Violation;
use super::layers::{Layer, Member};
use super::rust::{Mention, Source};
use crate::error::{Context as _, Result};

/// The one file that may ask the machine for the time.
const CLOCK: &str = "crates/app/src/system.rs";

/// Paths that may not be named, and what to do instead.
struct Ban {
    rule: &'static str,
    /// A path of several segments is found inside longer ones, so that `Utc::now` covers `chrono::Utc::now`; one segment
    /// is a crate.
    paths: &'static [&'static [&'static str]],
    advice: &'static str,
}

const IN_DOMAIN: &[Ban] = &[
    Ban {
        rule: "the domain has no clock",
        paths: &[
            &["std", "time", "SystemTime"],
            &["std", "time", "Instant"],
            &["SystemTime", "now"],
            &["Instant", "now"],
            &["Utc", "now"],
            &["Local", "now"],
        ],
        advice: "take the kernel's Clock, or the time as an argument",
    },
    Ban {
        rule: "the domain has no chance",
        paths: &[&["rand"], &["getrandom"], &["fastrand"]],
        advice: "take the kernel's Random",
    },
    Ban {
        rule: "the domain does no I/O",
        paths: &[
            &["std", "env"],
            &["std", "fs"],
            &["std", "io", "stderr"],
            &["std", "io", "stdin"],
            &["std", "io", "stdout"],
            &["std", "os"],
            &["std", "process"],
            &["std", "thread"],
        ],
        advice: "declare a port and let an adapter do it",
    },
    Ban {
        rule: "the domain does no I/O",
        paths: &[&["std", "net"]],
        advice: "declare a port and let an adapter do it; addresses as values are in core::net",
    },
];

/// Clippy's `disallowed-methods` sees calls better than a search does; what it cannot see is that an exception from it is
/// made anywhere else.
const OUTSIDE_CLOCK: &[Ban] = &[
    Ban {
        rule: "there is one clock",
        paths: &[&["SystemTime", "now"], &["Utc", "now"], &["Local", "now"]],
        advice: "ask the Clock port, which crates/app/src/system.rs implements",
    },
    Ban {
        rule: "there is one clock",
        paths: &[&["clippy", "disallowed_methods"]],
        advice: "only crates/app/src/system.rs may be excepted; ask the Clock port",
    },
];

pub(super) fn check(root: &Path, members: &[Member]) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    for member in members {
        let bans: &[&[Ban]] = match member.layer {
            Layer::Domain => &[IN_DOMAIN, OUTSIDE_CLOCK],
            Layer::Adapter | Layer::App => &[OUTSIDE_CLOCK],
            Layer::Outside => continue,
        };
        let files = read_sources(root, &member.folder.join("src"))?;
        violations.extend(validate(&files, bans));
    }
    Ok(violations)
}

struct File {
    /// As seen from the workspace's root.
    path: PathBuf,
    text: String,
}

fn read_sources(root: &Path, folder: &Path) -> Result<Vec<File>> {
    let unreadable = || format!("{} cannot be read", folder.display());
    let mut entries = fs::read_dir(root.join(folder))
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .context(unreadable)?;
    entries.sort_unstable_by_key(fs::DirEntry::file_name);
    let mut files = Vec::new();
    for entry in entries {
        let path = folder.join(entry.file_name());
        if entry.file_type().context(unreadable)?.is_dir() {
            files.extend(read_sources(root, &path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(root.join(&path)).context(|| format!("{} cannot be read", path.display()))?;
            files.push(File { path, text });
        }
    }
    Ok(files)
}

fn validate(files: &[File], bans: &[&[Ban]]) -> Vec<Violation> {
    let sources: Vec<(&File, Source<'_>)> = files.iter().map(|file| (file, Source::read(&file.text))).collect();
    let test_modules: Vec<PathBuf> = sources
        .iter()
        .flat_map(|(file, source)| {
            source
                .test_modules
                .iter()
                .map(|name| module_folder(&file.path).join(name))
        })
        .collect();
    let is_test = |path: &Path| {
        test_modules
            .iter()
            .any(|module| path.with_extension("").starts_with(module))
    };

    let mut violations = Vec::new();
    for (file, source) in &sources {
        if is_test(&file.path) || file.path == Path::new(CLOCK) {
            continue;
        }
        for mention in &source.mentions {
            // One line per mention: the first ban says enough.
            let Some(ban) = bans.iter().copied().flatten().find(|ban| ban.hits(mention)) else {
                continue;
            };
            violations.push(Violation {
                rule: ban.rule,
                place: format!("{}:{}", file.path.display(), mention.line),
                advice: format!("{} is not for here; {}", mention.segments.join("::"), ban.advice),
            });
        }
    }
    violations
}

impl Ban {
    fn hits(&self, mention: &Mention<'_>) -> bool {
        self.paths.iter().any(|path| match path {
            [name] => mention.segments.first() == Some(name),
            path => mention.segments.windows(path.len()).any(|window| window == *path),
        })
    }
}

/// The folder that has the files of the modules declared in this file.
fn module_folder(file: &Path) -> PathBuf {
    let declares_beside = file
        .file_name()
        .is_some_and(|name| name == "lib.rs" || name == "main.rs" || name == "mod.rs");
    if declares_beside {
        file.parent().unwrap_or(Path::new("")).to_owned()
    } else {
        file.with_extension("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in these files, as "file:line path".
    fn found(files: &[(&str, &str)], bans: &[&[Ban]]) -> Vec<String> {
        let files: Vec<File> = files
            .iter()
            .map(|(path, text)| File {
                path: path.into(),
                text: (*text).to_owned(),
            })
            .collect();
        let told = |violation: Violation| {
            let path = violation.advice.split(' ').next().unwrap().to_owned();
            format!("{} {path}", violation.place)
        };
        validate(&files, bans).into_iter().map(told).collect()
    }

    fn in_domain(text: &str) -> Vec<String> {
        found(
            &[("crates/domain/leads/src/lead.rs", text)],
            &[IN_DOMAIN, OUTSIDE_CLOCK],
        )
    }

    fn in_adapter(text: &str) -> Vec<String> {
        found(&[("crates/adapters/mail/src/lib.rs", text)], &[OUTSIDE_CLOCK])
    }

    #[track_caller]
    fn banned(found: &[String], path: &str) {
        assert_eq!(found.len(), 1, "{path}: {found:?}");
        assert!(found[0].ends_with(&format!(":1 {path}")), "{path}: {found:?}");
    }

    #[test]
    fn every_ban_of_the_domain_bites_and_spares_its_tests() {
        for path in IN_DOMAIN.iter().flat_map(|ban| ban.paths) {
            // A crate is named by any use of it.
            let path = if path.len() == 1 {
                format!("{}::random", path[0])
            } else {
                path.join("::")
            };
            banned(&in_domain(&format!("fn f() {{ {path}(); }}")), &path);
            banned(&in_domain(&format!("use {path};")), &path);
            assert_eq!(
                in_domain(&format!("#[cfg(test)] mod tests {{ fn f() {{ {path}(); }} }}")),
                [""; 0]
            );
            assert_eq!(in_domain(&format!("// {path}()\nconst A: &str = \"{path}\";")), [""; 0]);
        }
    }

    #[test]
    fn the_domain_may_use_what_is_no_io() {
        let text = "use std::{collections::HashMap, fmt, io::Write, sync::Arc, time::Duration};\n\
                    use core::net::IpAddr;\nuse crate::rand::Strand;\nfn f(clock: &dyn Clock) { clock.now(); self::env::x() }";
        assert_eq!(in_domain(text), [""; 0]);
    }

    #[test]
    fn a_path_is_found_in_longer_ones_and_in_braces() {
        banned(&in_domain("fn f() { chrono::Utc::now(); }"), "chrono::Utc::now");
        banned(&in_domain("fn f() { std::fs::read(path); }"), "std::fs::read");
        banned(&in_domain("use std::{fmt, thread::{self}};"), "std::thread::self");
    }

    #[test]
    fn outside_the_domain_only_the_wall_clock_is_banned() {
        banned(&in_adapter("fn f() { chrono::Utc::now(); }"), "chrono::Utc::now");
        banned(&in_adapter("fn f() { SystemTime::now(); }"), "SystemTime::now");
        banned(
            &in_adapter("#[expect(clippy::disallowed_methods)] fn f() {}"),
            "clippy::disallowed_methods",
        );
        assert_eq!(
            in_adapter("use std::{fs, time::SystemTime}; fn f() { Instant::now(); rand::random() }"),
            [""; 0]
        );
    }

    #[test]
    fn one_file_is_the_clock() {
        let text = "fn now() { SystemTime::now(); }";
        assert_eq!(found(&[("crates/app/src/system.rs", text)], &[OUTSIDE_CLOCK]), [""; 0]);
        assert_eq!(
            found(&[("crates/app/src/other/system.rs", text)], &[OUTSIDE_CLOCK]),
            ["crates/app/src/other/system.rs:1 SystemTime::now"]
        );
    }

    #[test]
    fn files_of_test_modules_are_tests() {
        let files = [
            ("crates/domain/leads/src/lib.rs", "#[cfg(test)] mod memory; mod lead;"),
            ("crates/domain/leads/src/memory.rs", "use std::fs;"),
            ("crates/domain/leads/src/memory/deep.rs", "use std::fs;"),
            ("crates/domain/leads/src/lead.rs", "#[cfg(test)] mod tests;"),
            ("crates/domain/leads/src/lead/tests.rs", "use std::fs;"),
            ("crates/domain/leads/src/lead/other.rs", "use std::fs;"),
            ("crates/domain/leads/src/tests.rs", "use std::fs;"),
        ];
        let expected = [
            "crates/domain/leads/src/lead/other.rs:1 std::fs",
            "crates/domain/leads/src/tests.rs:1 std::fs",
        ];
        assert_eq!(found(&files, &[IN_DOMAIN]), expected);
    }
}
