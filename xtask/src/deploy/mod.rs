//! `cargo xtask deploy`: tries what `docs/deploy` has and what `cargo xtask dist` makes, with the tools that Debian has.

mod debian;
mod files;
mod image;
mod units;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dist::{self, Options, Program, Release};
use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::scratch::Scratch;
use crate::task::{Outcome, Task};
use crate::workspace::Workspace;

pub(crate) const TASK: Task = Task {
    name: "deploy",
    usage: "[--program PATH] [--only PART]…",
    summary: "make a release, or the files of one from the program at PATH, and try them and docs/deploy: units, kubernetes, compose, \
              sums, sbom, image, debian, reproducible; a part whose tools are not on this machine is skipped, with a line",
    run,
};

/// A part of the trial.
struct Part {
    name: &'static str,
    run: fn(&Trial<'_>) -> Result<Outcome>,
}

const PARTS: [Part; 8] = [
    Part {
        name: "units",
        run: units::check,
    },
    Part {
        name: "kubernetes",
        run: files::kubernetes,
    },
    Part {
        name: "compose",
        run: files::compose,
    },
    Part {
        name: "sums",
        run: files::sums,
    },
    Part {
        name: "sbom",
        run: files::sbom,
    },
    Part {
        name: "image",
        run: image::check,
    },
    Part {
        name: "debian",
        run: debian::check,
    },
    Part {
        name: "reproducible",
        run: files::reproducible,
    },
];

/// A release to try.
struct Trial<'a> {
    release: Release<'a>,
    options: Options,
    /// The names of its files.
    files: Vec<String>,
}

fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let (program, only) = parse(arguments)?;
    let options = Options {
        image: process::find("buildah").is_some(),
        deb: process::find("dpkg-shlibdeps").is_some(),
        program,
        ..Options::default()
    };
    let trial = Trial {
        release: Release::new(workspace)?,
        files: dist::make(workspace, &options)?,
        options,
    };
    let mut outcomes = Vec::new();
    for part in PARTS.iter().filter(|part| only.is_empty() || only.contains(&part.name)) {
        eprintln!("\n== {} ==", part.name);
        let outcome = (part.run)(&trial);
        if let Err(error) = &outcome {
            eprintln!("xtask: {}: {error}", part.name);
        }
        outcomes.push((part.name, outcome));
    }
    conclude(&outcomes)
}

fn parse(arguments: &[String]) -> Result<(Option<PathBuf>, Vec<&'static str>)> {
    let names = PARTS.map(|part| part.name);
    let usage = || {
        Error::new(format!(
            "usage: cargo xtask deploy {}, where PART is one of {}",
            TASK.usage,
            names.join(", ")
        ))
    };
    let (mut program, mut only) = (None, Vec::new());
    for pair in arguments.chunks(2) {
        match pair {
            [option, path] if option == "--program" => program = Some(path.into()),
            [option, name] if option == "--only" => {
                only.push(*names.iter().find(|known| *known == name).ok_or_else(usage)?);
            }
            _ => return Err(usage()),
        }
    }
    Ok((program, only))
}

/// Prints a line for each part, and fails if one of them has failed.
fn conclude(outcomes: &[(&str, Result<Outcome>)]) -> Result<()> {
    eprintln!("\n== summary ==");
    for (name, outcome) in outcomes {
        match outcome {
            Ok(Outcome::Passed) => eprintln!("{name:12}  ok"),
            Ok(Outcome::Skipped(why)) => eprintln!("{name:12}  skipped: {why}"),
            Err(_) => eprintln!("{name:12}  FAILED"),
        }
    }
    let failed: Vec<&str> = outcomes
        .iter()
        .filter(|(_, outcome)| outcome.is_err())
        .map(|(name, _)| *name)
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Error::new(format!("failed: {}", failed.join(", "))))
    }
}

impl Trial<'_> {
    /// Returns a file of the repository.
    fn source(&self, path: &str) -> PathBuf {
        self.release.workspace.root().join(path)
    }

    /// Returns the program of this machine's kind. That of a release is in its archive.
    fn program(&self, scratch: &Scratch) -> Result<Program> {
        let name = format!("forecourt-{}-{}", self.release.version(), self.release.host);
        let archive = self.release.folder().join(format!("{name}.tar.gz"));
        let mut tar = Command::new("tar");
        tar.arg("--extract")
            .arg("--file")
            .arg(archive)
            .arg("--directory")
            .arg(scratch.path());
        process::output(&mut tar)?;
        Ok(Program::given(
            &self.release.host,
            scratch.path().join(name).join("forecourt"),
        ))
    }

    fn scratch(&self) -> Result<Scratch> {
        Scratch::new(&self.release.folder(), "deploy")
    }

    /// Returns the folder for what is kept between runs.
    fn cache(&self) -> Result<PathBuf> {
        let folder = self.release.target_directory.join("deploy");
        fs::create_dir_all(&folder).context(|| format!("{} cannot be made", folder.display()))?;
        Ok(folder)
    }
}

/// Returns the first of these programs that is not on this machine, with the package that has it.
fn missing(programs: &[(&str, &str)]) -> Option<String> {
    let mut missing = programs.iter().filter(|(program, _)| process::find(program).is_none());
    missing
        .next()
        .map(|(program, package)| format!("{program} is not on this machine (Debian's package {package})"))
}

/// Returns the reason why this account can make no chroot, if it cannot.
fn unprivileged() -> Result<Option<String>> {
    let is_root = process::output(Command::new("id").arg("-u"))?.trim() == "0";
    Ok((!is_root).then(|| "only root can make a chroot".to_owned()))
}

/// Runs a command that must print nothing, on either output.
fn silently(command: &mut Command) -> Result<()> {
    let said = everything(command)?;
    if said.trim().is_empty() {
        Ok(())
    } else {
        Err(Error::new(said.trim().to_owned()))
    }
}

/// Runs a command, and returns what it prints on both outputs.
fn everything(command: &mut Command) -> Result<String> {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "exec \"$@\" 2>&1", "sh"])
        .arg(command.get_program())
        .args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    let output = shell.output().context(|| "`sh` cannot be started".to_owned())?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(said)
    } else {
        Err(Error::new(format!(
            "`{}` failed: {}",
            command.get_program().display(),
            said.trim()
        )))
    }
}

/// Fails unless `found` is what was expected.
fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<()> {
    if found == expected {
        Ok(())
    } else {
        Err(Error::new(format!("{what} is {found:?}, and should be {expected:?}")))
    }
}

/// Returns `program` in a chroot.
fn chroot(root: &Path, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("chroot");
    command.arg(root).arg(program);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_picked() {
        let parsed = |arguments: &str| {
            let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
            parse(&arguments)
        };
        assert_eq!(parsed("").unwrap(), (None, Vec::new()));
        assert_eq!(
            parsed("--only sbom --program x --only image").unwrap(),
            (Some("x".into()), vec!["sbom", "image"])
        );
        for arguments in ["--only", "--only nonsense", "sbom", "--skip sbom"] {
            assert!(
                parsed(arguments)
                    .unwrap_err()
                    .to_string()
                    .contains("PART is one of units"),
                "{arguments}"
            );
        }
        for part in PARTS {
            assert!(TASK.summary.contains(part.name), "{}", part.name);
        }
    }

    #[test]
    fn one_failed_part_fails_the_run() {
        let outcomes = [
            ("sums", Ok(Outcome::Passed)),
            ("image", Err(Error::new("broken"))),
            (
                "debian",
                Ok(Outcome::Skipped("lintian is not on this machine".to_owned())),
            ),
        ];
        assert_eq!(conclude(&outcomes).unwrap_err().to_string(), "failed: image");
        assert!(conclude(&outcomes[2..]).is_ok());
    }

    #[test]
    fn both_outputs_count() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        assert_eq!(everything(&mut shell("echo one; echo two >&2")).unwrap(), "one\ntwo\n");
        assert!(
            everything(&mut shell("echo why >&2; exit 1"))
                .unwrap_err()
                .to_string()
                .ends_with("why")
        );
        assert!(silently(&mut shell("exit 0")).is_ok());
        assert_eq!(silently(&mut shell("echo but >&2")).unwrap_err().to_string(), "but");
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        assert_eq!(missing(&[("sh", "dash")]), None);
        assert_eq!(
            missing(&[("sh", "dash"), ("no-such-program", "some")]).unwrap(),
            "no-such-program is not on this machine (Debian's package some)"
        );
    }
}
