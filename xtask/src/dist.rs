//! `cargo xtask dist`: packs the program as it is shipped into an archive with its checksum.

use std::fs;
use std::path::PathBuf;

use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::scratch::Scratch;
use crate::task::Task;
use crate::workspace::Workspace;

pub(crate) const TASK: Task = Task {
    name: "dist",
    usage: "",
    summary: "build the program as it is shipped (profile dist), and put an archive of it with its checksum into target/dist",
    run,
};

/// The documents in the archive.
const DOCUMENTS: [&str; 4] = [
    "README.md",
    "docs/CHANGELOG.md",
    "docs/licenses/MIT.txt",
    "docs/licenses/Apache-2.0.txt",
];

fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    if let Some(argument) = arguments.first() {
        return Err(Error::new(format!(
            "`cargo xtask dist` takes no arguments, so not `{argument}`"
        )));
    }
    let [program] = workspace.build_dist(["forecourt"])?;
    let metadata = workspace.metadata()?;
    let folder = metadata.target_directory.join("dist");
    let name = format!("forecourt-{}-{}", version(&metadata.packages)?, host(workspace)?);

    let scratch = Scratch::new(&folder, "dist")?;
    let content = scratch.path().join(&name);
    fs::create_dir(&content).context(|| format!("{} cannot be made", content.display()))?;
    let documents = DOCUMENTS.map(|document| workspace.root().join(document));
    for file in documents.iter().chain([&program]) {
        let copy = content.join(file.file_name().unwrap_or_default());
        fs::copy(file, &copy).context(|| format!("{} cannot be copied", file.display()))?;
    }
    let archive = folder.join(format!("{name}.tar.gz"));
    process::run(
        workspace
            .command("tar")
            .arg("-czf")
            .arg(&archive)
            .arg("-C")
            .arg(scratch.path())
            .arg(&name),
    )?;
    let checksum = checksum(workspace, &archive)?;
    let line = format!("{checksum}  {name}.tar.gz\n");
    let beside = folder.join(format!("{name}.tar.gz.sha256"));
    fs::write(&beside, &line).context(|| format!("{} cannot be written", beside.display()))?;
    println!("{}\n{}", archive.display(), line.trim_end());
    Ok(())
}

/// Returns the version of the program.
fn version(packages: &[crate::workspace::Package]) -> Result<&str> {
    packages
        .iter()
        .find(|package| package.name == "forecourt")
        .map(|package| package.version.as_str())
        .ok_or_else(|| Error::new("the workspace has no package `forecourt`"))
}

/// Returns the compiler's name for this kind of machine, for which it builds.
fn host(workspace: &Workspace) -> Result<String> {
    let said = process::output(workspace.command("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| Error::new("`rustc -vV` does not name the host"))
}

/// Returns the file's SHA-256, by the tool of the system: GNU's, or Perl's, which macOS has.
fn checksum(workspace: &Workspace, file: &PathBuf) -> Result<String> {
    let mut command = match process::find("sha256sum") {
        Some(program) => workspace.command(program),
        None => {
            let mut command = workspace.command("shasum");
            command.args(["-a", "256"]);
            command
        }
    };
    let said = process::output(command.arg(file))?;
    said.split_whitespace()
        .next()
        .map(str::to_owned)
        .ok_or_else(|| Error::new("the checksum cannot be read"))
}
