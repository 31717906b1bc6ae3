//! Files that others read: manifests, compose files, checksums, the bill of materials; and their sameness in another folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Trial, everything, missing};
use crate::dist::{self, SUMS};
use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::task::Outcome;

/// Packages of Python that know the forms of these files.
const PACKAGES: [&str; 3] = [
    "kubernetes-validate==1.37.0",
    "compose-spec==0.2.1",
    "cyclonedx-python-lib[json-validation]==11.12.0",
];

/// Reads each file as a compose file; fails for a member that the specification does not have.
const COMPOSE: &str = "
import sys
from compose_spec import PyCompose
for file in sys.argv[1:]:
    PyCompose.from_yaml(open(file).read())
    print(file, 'ok')
";

/// Validates a document against the schema of CycloneDX 1.6, with the forms of licences and dates.
const SBOM: &str = "
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
if fault:
    sys.exit(str(fault))
";

pub(super) fn kubernetes(trial: &Trial<'_>) -> Result<Outcome> {
    with_python(trial, |python| {
        let validate = python.with_file_name("kubernetes-validate");
        process::run(
            Command::new(validate)
                .arg("--strict")
                .arg(trial.source("docs/deploy/kubernetes.yml")),
        )
    })
}

pub(super) fn compose(trial: &Trial<'_>) -> Result<Outcome> {
    let files = ["compose.yml", "compose.postgres.yml"].map(|file| trial.source("docs/deploy").join(file));
    with_python(trial, |python| {
        let said = process::output(Command::new(python).args(["-c", COMPOSE]).args(&files))?;
        eprint!("{said}");
        Ok(())
    })
}

pub(super) fn sbom(trial: &Trial<'_>) -> Result<Outcome> {
    let name = trial.files.iter().find(|file| file.ends_with(".cdx.json"));
    let file = trial
        .release
        .folder()
        .join(name.ok_or_else(|| Error::new("the release has no bill of materials"))?);
    with_python(trial, |python| {
        everything(Command::new(python).args(["-c", SBOM]).arg(&file)).map(drop)
    })
}

/// Calls `work` with a Python that has the packages.
fn with_python(trial: &Trial<'_>, work: impl FnOnce(&Path) -> Result<()>) -> Result<Outcome> {
    match python(trial)? {
        Ok(python) => work(&python).map(|()| Outcome::Passed),
        Err(why) => Ok(Outcome::Skipped(why)),
    }
}

/// Returns a Python that has the packages, or the reason why there is none.
fn python(trial: &Trial<'_>) -> Result<Result<PathBuf, String>> {
    if let Some(what) = missing(&[("python3", "python3")]) {
        return Ok(Err(what));
    }
    let folder = trial.cache()?.join("python");
    let (python, stamp) = (folder.join("bin/python"), folder.join("installed"));
    let wanted = PACKAGES.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(Ok(python));
    }
    if let Err(error) = process::output(Command::new("python3").args(["-m", "venv"]).arg(&folder)) {
        return Ok(Err(format!(
            "no environment of Python can be made (Debian's package python3-venv): {error}"
        )));
    }
    let mut pip = Command::new(&python);
    if let Err(error) = process::output(pip.args(["-m", "pip", "install", "--quiet"]).args(PACKAGES)) {
        return Ok(Err(format!("{} cannot be had from PyPI: {error}", PACKAGES.join(", "))));
    }
    fs::write(&stamp, wanted).context(|| format!("{} cannot be written", stamp.display()))?;
    Ok(Ok(python))
}

/// Checks the sums, and signs and verifies them with a key for once.
pub(super) fn sums(trial: &Trial<'_>) -> Result<Outcome> {
    let folder = trial.release.folder();
    let sums = folder.join(SUMS);
    let said = process::output(
        Command::new("sha256sum")
            .current_dir(&folder)
            .args(["--check", "--strict", SUMS]),
    )?;
    eprint!("{said}");
    super::expect(
        "the number of sums",
        &said.lines().count(),
        &trial.files.iter().filter(|file| !file.starts_with(SUMS)).count(),
    )?;
    if let Some(what) = missing(&[("minisign", "minisign")]) {
        return Ok(Outcome::Skipped(format!("the signature: {what}")));
    }
    let scratch = trial.scratch()?;
    let [public, secret, signature] = ["key.pub", "key", "signature"].map(|name| scratch.path().join(name));
    process::output(
        Command::new("minisign")
            .args(["-G", "-W", "-p"])
            .arg(&public)
            .arg("-s")
            .arg(&secret),
    )?;
    dist::sign(&trial.release, secret.as_os_str(), &sums, &signature)?;
    let verify = |file: &Path| {
        let mut minisign = Command::new("minisign");
        minisign
            .arg("-V")
            .arg("-p")
            .arg(&public)
            .arg("-x")
            .arg(&signature)
            .arg("-m")
            .arg(file);
        process::output(&mut minisign)
    };
    verify(&sums)?;
    if verify(&trial.source("README.md")).is_ok() {
        return Err(Error::new("minisign accepts the signature for another file"));
    }
    Ok(Outcome::Passed)
}

/// Makes the same files from a clone in another folder, with another mask, and compares the sums. Without a given program the
/// program is built once more too.
pub(super) fn reproducible(trial: &Trial<'_>) -> Result<Outcome> {
    if trial.release.is_changed() {
        return Ok(Outcome::Skipped(
            "files differ from the commit, and a clone would not have them".to_owned(),
        ));
    }
    let scratch = trial.scratch()?;
    let clone = scratch.path().join("elsewhere");
    let root = trial.release.workspace.root();
    process::output(
        Command::new("git")
            .args(["clone", "--quiet", "--shared"])
            .arg(root)
            .arg(&clone),
    )?;
    let mut shell = Command::new("sh");
    shell
        .current_dir(&clone)
        .env("CARGO_TARGET_DIR", clone.join("target"))
        .env_remove("MINISIGN_KEY")
        .args(["-c", "umask 077 && exec cargo xtask dist \"$@\"", "sh"]);
    for (chosen, option) in [(trial.options.image, "--image"), (trial.options.deb, "--deb")] {
        if chosen {
            shell.arg(option);
        }
    }
    if let Some(program) = &trial.options.program {
        let program = program
            .canonicalize()
            .context(|| format!("{} cannot be found", program.display()))?;
        shell.arg("--program").arg(program);
    }
    process::run(&mut shell)?;
    let sums = |folder: PathBuf| {
        let file = folder.join(SUMS);
        fs::read_to_string(&file).context(|| format!("{} cannot be read", file.display()))
    };
    let (ours, theirs) = (sums(trial.release.folder())?, sums(clone.join("target/dist"))?);
    let differing: Vec<&str> = ours
        .lines()
        .filter(|line| !theirs.lines().any(|other| other == *line))
        .collect();
    super::expect("the list of files that differ", &differing, &Vec::new())?;
    super::expect("the number of files", &theirs.lines().count(), &ours.lines().count())?;
    Ok(Outcome::Passed)
}
