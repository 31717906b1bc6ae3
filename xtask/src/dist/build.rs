//! Builds the program for each target, so that the folders of this machine leave no trace in it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::{Options, Release};
use crate::error::{Error, Result};
use crate::process;
use crate::workspace::executable;

/// The program for one target.
pub(crate) struct Program {
    pub(crate) target: String,
    pub(crate) path: PathBuf,
    /// The way in which it was built; `None` if that was elsewhere.
    pub(super) build: Option<Build>,
}

impl Program {
    /// Makes a program that was built elsewhere.
    pub(crate) fn given(target: &str, path: PathBuf) -> Self {
        Self {
            target: target.to_owned(),
            path,
            build: None,
        }
    }
}

/// The flags and tools of a build, in a form that is the same in every folder.
#[derive(Clone, Debug)]
pub(super) struct Build {
    pub(super) rust_flags: Vec<String>,
    pub(super) c_flags: String,
    /// True if the program holds the list of its crates.
    pub(super) is_auditable: bool,
}

/// A target of releases.
struct Target {
    name: &'static str,
    /// Programs that compile C for it; empty if any does.
    compilers: &'static [&'static str],
}

const TARGETS: [Target; 4] = [
    Target {
        name: "x86_64-unknown-linux-gnu",
        compilers: &[],
    },
    Target {
        name: "x86_64-unknown-linux-musl",
        compilers: &["musl-gcc", "x86_64-linux-musl-gcc"],
    },
    Target {
        name: "aarch64-unknown-linux-gnu",
        compilers: &["aarch64-linux-gnu-gcc"],
    },
    Target {
        name: "aarch64-unknown-linux-musl",
        compilers: &["aarch64-linux-musl-gcc"],
    },
];

/// Returns the programs of a release, built or given.
pub(super) fn programs(release: &Release<'_>, options: &Options) -> Result<Vec<Program>> {
    if let Some(path) = &options.program {
        let path = path.canonicalize();
        let path = path.map_err(|error| Error::new(format!("the program cannot be found: {error}")))?;
        let target = options.targets.first().unwrap_or(&release.host);
        return Ok(vec![Program::given(target, path)]);
    }
    let mut targets: Vec<&str> = options.targets.iter().map(String::as_str).collect();
    if targets.is_empty() {
        targets.push(&release.host);
        for target in TARGETS.iter().filter(|target| target.name != release.host) {
            match lacking(release, target.name)? {
                Some(what) => eprintln!("skipped: {}: {what}", target.name),
                None => targets.push(target.name),
            }
        }
    }
    let is_auditable = process::output(release.workspace.cargo().args(["auditable", "--version"])).is_ok();
    if !is_auditable {
        eprintln!(
            "skipped: the list of crates inside the program: cargo-auditable is not on this machine \
             (`cargo install cargo-auditable`)"
        );
    }
    let build = |target: &str| build(release, target, is_auditable);
    targets.into_iter().map(build).collect()
}

/// Returns the part that this machine lacks for a target, if it lacks one.
fn lacking(release: &Release<'_>, target: &str) -> Result<Option<String>> {
    let sysroot = process::output(release.workspace.command("rustc").args(["--print", "sysroot"]))?;
    let libraries = Path::new(sysroot.trim()).join("lib/rustlib").join(target).join("lib");
    if !libraries.is_dir() {
        return Ok(Some(format!(
            "the toolchain has no such target (`rustup target add {target}`)"
        )));
    }
    if target == release.host {
        return Ok(None);
    }
    let compilers = TARGETS
        .iter()
        .find(|known| known.name == target)
        .map_or(&[][..], |known| known.compilers);
    let is_missing = !compilers.is_empty() && compiler(target).is_none();
    Ok(is_missing.then(|| format!("{} is not on this machine", compilers.join(" or "))))
}

/// Returns the compiler of C for a target other than this machine's.
fn compiler(target: &str) -> Option<&'static str> {
    let known = TARGETS.iter().find(|known| known.name == target)?;
    let mut compilers = known.compilers.iter().copied();
    compilers.find(|program| process::find(program).is_some())
}

fn build(release: &Release<'_>, target: &str, is_auditable: bool) -> Result<Program> {
    if let Some(what) = lacking(release, target)? {
        return Err(Error::new(format!("there can be no program for {target}: {what}")));
    }
    let prefixes = prefixes(release);
    let real = |(folder, hidden): &(Prefix, &'static str)| (folder.path.display().to_string(), *hidden);
    let shown = |(folder, hidden): &(Prefix, &'static str)| (folder.name.to_owned(), *hidden);
    let given = env::var("CFLAGS").unwrap_or_default();
    let (rust_flags, c_flags) = flags(prefixes.iter().map(real), &given);

    let mut cargo = release.workspace.cargo();
    if is_auditable {
        cargo.arg("auditable");
    }
    cargo
        .args(["build", "--profile", "dist", "--locked", "--package", "forecourt", "--target", target])
        .args(["--message-format", "json-render-diagnostics"])
        .env("CARGO_ENCODED_RUSTFLAGS", rust_flags.join("\x1f"))
        .env("CFLAGS", c_flags)
        .env("SOURCE_DATE_EPOCH", release.commit.time.to_string())
        // Incremental parts depend on what was built before.
        .env("CARGO_INCREMENTAL", "0");
    if let Some(compiler) = compiler(target).filter(|_| target != release.host) {
        let of_target = target.replace('-', "_");
        cargo.env(format!("CC_{of_target}"), compiler);
        if !target.starts_with("x86_64") {
            cargo.env(format!("CARGO_TARGET_{}_LINKER", of_target.to_uppercase()), compiler);
        }
    }
    eprintln!("$ cargo build --profile dist --target {target}");
    let messages = process::output(cargo.stderr(Stdio::inherit()))?;
    let path = executable(&messages, "forecourt");
    let (rust_flags, c_flags) = flags(prefixes.iter().map(shown), &given);
    Ok(Program {
        target: target.to_owned(),
        path: path.ok_or_else(|| Error::new("Cargo does not say where it put `forecourt`"))?,
        build: Some(Build {
            rust_flags,
            c_flags,
            is_auditable,
        }),
    })
}

/// A folder of this machine, and the name under which the provenance shows it.
struct Prefix {
    path: PathBuf,
    name: &'static str,
}

/// Returns the folders that compilers write into programs, and what they are to write in their place. Where two match, the later
/// one counts.
fn prefixes(release: &Release<'_>) -> Vec<(Prefix, &'static str)> {
    let folder = |path: PathBuf, name| Prefix { path, name };
    let mut prefixes = vec![
        (folder(release.workspace.root().to_owned(), "$WORKSPACE"), "/forecourt"),
        (folder(release.target_directory.clone(), "$TARGET"), "/target"),
    ];
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cargo")));
    // Each registry has a folder, with a name that depends on the registry's address.
    let registries = home.and_then(|home| home.join("registry/src").read_dir().ok());
    let mut registries: Vec<PathBuf> = registries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    registries.sort();
    prefixes.extend(
        registries
            .into_iter()
            .map(|path| (folder(path, "$REGISTRY"), "/registry")),
    );
    prefixes
}

/// Returns the flags for the compilers of Rust and of C.
fn flags<'a>(prefixes: impl Iterator<Item = (String, &'a str)>, given: &str) -> (Vec<String>, String) {
    let mut rust = Vec::new();
    let mut c = vec![given.to_owned()];
    for (folder, hidden) in prefixes {
        let (for_rust, for_c) = (
            format!("--remap-path-prefix={folder}={hidden}"),
            format!("-ffile-prefix-map={folder}={hidden}"),
        );
        // Several registries have one name where they are shown.
        if !rust.contains(&for_rust) {
            rust.push(for_rust);
            c.push(for_c);
        }
    }
    (rust, c.join(" ").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_is_hidden_from_both_compilers() {
        let prefixes = [
            ("/home/a/f", "/forecourt"),
            ("/home/a/f/target", "/target"),
            ("/r", "/r1"),
            ("/r", "/r1"),
        ];
        let (rust, c) = flags(
            prefixes.map(|(folder, hidden)| (folder.to_owned(), hidden)).into_iter(),
            "-DX=1",
        );
        assert_eq!(
            rust,
            [
                "--remap-path-prefix=/home/a/f=/forecourt",
                "--remap-path-prefix=/home/a/f/target=/target",
                "--remap-path-prefix=/r=/r1",
            ]
        );
        assert_eq!(
            c,
            "-DX=1 -ffile-prefix-map=/home/a/f=/forecourt -ffile-prefix-map=/home/a/f/target=/target -ffile-prefix-map=/r=/r1"
        );
        assert_eq!(flags(std::iter::empty(), ""), (Vec::new(), String::new()));
    }
}
