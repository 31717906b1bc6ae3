//! The recipes of `docs/clients`, followed: each client is made from the OpenAPI document and compiled strictly, and its tour runs
//! against a server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use crate::ci::Outcome;
use crate::codegen::{DOCUMENT, without_settings};
use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::scratch::Scratch;
use crate::server::{Server, tethered};
use crate::services::free_port;
use crate::workspace::Workspace;

/// Where the recipes are.
const RECIPES: &str = "docs/clients";
/// The business that `serve --demo` makes.
const DEMO: &str = "demo";

/// A client that a recipe makes.
struct Client {
    name: &'static str,
    /// The files of its recipe.
    files: &'static [&'static str],
    /// The file that pins its packages.
    lock: &'static str,
    /// Says what this machine lacks, if it does.
    missing: fn() -> Option<&'static str>,
    /// Installs the packages into the folder.
    install: fn(&Path) -> Result<()>,
    /// Whether packages can be had at all.
    is_reachable: fn(&Path) -> bool,
    /// Makes and compiles the client, of the document at this path.
    make: fn(&Path, &Path) -> Result<()>,
    /// Whether what was made in the folder has the operation.
    has: fn(&Path, &Operation) -> bool,
    tour: fn(&Path) -> Command,
}

const CLIENTS: [Client; 2] = [
    Client {
        name: "typescript",
        files: &["package.json", "package-lock.json", "tsconfig.json", "tour.ts"],
        lock: "package-lock.json",
        missing: || {
            let check = "process.exit(Number(process.versions.node.split('.')[0]) < 20 ? 1 : 0)";
            lacking("npm", "node", ["--eval", check], "Node 20 or later, with npm")
        },
        install: |folder| process::run(within(folder, "npm").arg("ci")),
        is_reachable: |folder| {
            process::output(within(folder, "npm").args(["view", "openapi-fetch", "version"])).is_ok()
        },
        make: |folder, document| {
            process::run(within(folder, "npm").args(["run", "generate"]).env("OPENAPI", document))?;
            process::run(within(folder, "npm").args(["run", "compile"]))
        },
        has: |folder, Operation { id, method, .. }| {
            let types = fs::read_to_string(folder.join("forecourt.ts")).unwrap_or_default();
            types.contains(&format!(" {method}: operations[\"{id}\"];")) && types.contains(&format!("\n    {id}: {{\n"))
        },
        tour: |folder| {
            let mut tour = within(folder, "npm");
            tour.args(["run", "tour"]);
            tour
        },
    },
    Client {
        name: "python",
        files: &["config.yaml", "prepare.py", "requirements.txt", "tour.py"],
        lock: "requirements.txt",
        missing: || {
            let check = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))";
            lacking("python3", "python3", ["-c", check], "Python 3.11 or later, with venv")
        },
        install: |folder| {
            process::run(within(folder, "python3").args(["-m", "venv", "--clear", "venv"]))?;
            process::run(python(folder).args(["-m", "pip", "install", "--quiet", "--requirement", "requirements.txt"]))
        },
        is_reachable: |folder| {
            process::output(python(folder).args(["-m", "pip", "index", "versions", "httpx"])).is_ok()
        },
        make: |folder, document| {
            // What an earlier document had is not to hide what this one lacks.
            let made = folder.join("forecourt_client");
            if made.exists() {
                fs::remove_dir_all(&made).context(|| format!("{} cannot be removed", made.display()))?;
            }
            let prepared = folder.join("openapi.json");
            process::run(python(folder).arg("prepare.py").arg(document).arg(&prepared))?;
            let mut generate = within(folder, folder.join("venv/bin/openapi-python-client"));
            generate
                .args(["generate", "--config", "config.yaml", "--meta", "none", "--overwrite", "--fail-on-warning"])
                .args(["--output-path", "forecourt_client", "--path"])
                .arg(prepared)
                // It calls the formatter that is installed beside it.
                .env("PATH", path_with(&folder.join("venv/bin"))?);
            process::run(&mut generate)?;
            process::run(python(folder).args(["-m", "mypy", "--strict", "--follow-imports", "silent", "tour.py"]))
        },
        has: |folder, Operation { id, area, .. }| folder.join(format!("forecourt_client/api/{area}/{id}.py")).is_file(),
        tour: |folder| {
            let mut tour = python(folder);
            tour.arg("tour.py");
            tour
        },
    },
];

pub(crate) fn check(workspace: &Workspace) -> Result<Outcome> {
    let document = workspace.root().join(DOCUMENT);
    let text = fs::read_to_string(&document).context(|| format!("{DOCUMENT} cannot be read"))?;
    let operations = operations(&serde_json::from_str(&text).context(|| format!("{DOCUMENT} is not JSON"))?);
    let parent = workspace.metadata()?.target_directory.join("clients");
    let mut skipped = Vec::new();
    let mut made = Vec::new();
    for client in &CLIENTS {
        let folder = parent.join(client.name);
        match client.prepare(&workspace.root().join(RECIPES), &folder)? {
            Outcome::Skipped(why) => {
                let line = format!("{}: {why}", client.name);
                eprintln!("skipped: {line}");
                skipped.push(line);
            }
            Outcome::Passed => {
                (client.make)(&folder, &document)?;
                let dropped: Vec<&str> = operations
                    .iter()
                    .filter(|operation| !(client.has)(&folder, operation))
                    .map(|operation| operation.id.as_str())
                    .collect();
                if !dropped.is_empty() {
                    let names = dropped.join(", ");
                    return Err(Error::new(format!("the client for {} lacks {names}", client.name)));
                }
                eprintln!("{}: all {} operations are there", client.name, operations.len());
                made.push((client, folder));
            }
        }
    }
    if !made.is_empty() {
        let demo = Demo::start(workspace, &parent)?;
        for (client, folder) in made {
            process::run(&mut demo.visited_by((client.tour)(&folder)))?;
        }
    }
    Ok(if skipped.is_empty() {
        Outcome::Passed
    } else {
        Outcome::Skipped(skipped.join("; "))
    })
}

impl Client {
    /// Lays out the recipe in `folder`, and installs its packages unless they are there.
    fn prepare(&self, recipes: &Path, folder: &Path) -> Result<Outcome> {
        if let Some(what) = (self.missing)() {
            return Ok(Outcome::Skipped(format!("{what} is not on this machine")));
        }
        fs::create_dir_all(folder).context(|| format!("{} cannot be made", folder.display()))?;
        for file in self.files {
            let (from, to) = (recipes.join(self.name).join(file), folder.join(file));
            fs::copy(&from, &to).context(|| format!("{} cannot be copied", from.display()))?;
        }
        let (lock, stamp) = (folder.join(self.lock), folder.join("installed"));
        let wanted = fs::read(&lock).context(|| format!("{} cannot be read", lock.display()))?;
        if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(Outcome::Passed);
        }
        if let Err(error) = (self.install)(folder) {
            // A recipe that cannot be followed is a fault, a registry that is out of reach is none.
            if (self.is_reachable)(folder) {
                return Err(error);
            }
            return Ok(Outcome::Skipped(
                "the packages cannot be had, their registry is out of reach".to_owned(),
            ));
        }
        fs::write(&stamp, wanted).context(|| format!("{} cannot be written", stamp.display()))?;
        Ok(Outcome::Passed)
    }
}

/// An operation of the document.
#[derive(Debug, PartialEq, Eq)]
struct Operation {
    id: String,
    /// In lower case.
    method: String,
    /// Its tag.
    area: String,
}

fn operations(document: &Value) -> Vec<Operation> {
    let items = document["paths"].as_object().into_iter().flatten();
    let operations = items.filter_map(|(_, item)| item.as_object()).flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    operations
        .map(|(method, operation)| Operation {
            id: text(&operation["operationId"]),
            method: method.clone(),
            area: text(&operation["tags"][0]),
        })
        .collect()
}

/// A server with the sample dealership.
struct Demo {
    server: Server,
    token: String,
    /// Removed after the server has ended.
    _folder: Scratch,
}

impl Demo {
    fn start(workspace: &Workspace, parent: &Path) -> Result<Self> {
        #[derive(Deserialize)]
        struct Key {
            token: String,
        }
        let program = workspace.build()?.server;
        let folder = Scratch::new(parent, "demo")?;
        let forecourt = |mut command: Command| {
            without_settings(&mut command);
            command
                .current_dir(folder.path())
                .env("FORECOURT_ADMIN_BIND", "off")
                // For the webhook's receiver, which is on this machine.
                .env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", "true");
            command
        };
        let serve = |arguments: &[&str]| {
            let port = free_port()?;
            let mut command = forecourt(tethered(&program));
            command
                .args(arguments)
                .env("FORECOURT_BIND", format!("127.0.0.1:{port}"));
            Server::start(command, port, "/readyz", &folder.path().join("server.log"))
        };
        // Its first start makes the dealership.
        serve(&["serve", "--demo"])?.stop()?;
        let key = ["key", "create", "--business", DEMO, "--scopes", "all", "--json"];
        let key = process::output(forecourt(Command::new(&program)).args(key))?;
        let key: Key = serde_json::from_str(&key).context(|| "the new key is not understood".to_owned())?;
        Ok(Self {
            server: serve(&["serve"])?,
            token: key.token,
            _folder: folder,
        })
    }

    /// `tour`, with the address and the token that it needs.
    fn visited_by(&self, mut tour: Command) -> Command {
        tour.env("FORECOURT_URL", format!("http://127.0.0.1:{}", self.server.port()))
            .env("FORECOURT_TOKEN", &self.token)
            // Whatever proxy there is, it is not for this machine.
            .env("no_proxy", "*");
        tour
    }
}

/// `what`, if `installer` is not on this machine or `program` fails with these arguments.
fn lacking<const N: usize>(
    installer: &str,
    program: &str,
    arguments: [&str; N],
    what: &'static str,
) -> Option<&'static str> {
    let is_there = process::find(installer).is_some() && process::output(Command::new(program).args(arguments)).is_ok();
    (!is_there).then_some(what)
}

/// A command in `folder`.
fn within(folder: &Path, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder);
    command
}

/// The Python that has the recipe's packages.
fn python(folder: &Path) -> Command {
    within(folder, folder.join("venv/bin/python"))
}

/// `PATH` with `folder` before all others.
fn path_with(folder: &Path) -> Result<std::ffi::OsString> {
    let folders = [PathBuf::from(folder)].into_iter().chain(process::search_path());
    std::env::join_paths(folders).context(|| "PATH cannot be extended".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operations_are_read_from_the_document() {
        let document = json!({"paths": {"/a": {
            "get": {"operationId": "list_as", "tags": ["as"]},
            "post": {"operationId": "create_a", "tags": ["as"]},
        }}});
        let operation = |id: &str, method: &str| Operation {
            id: id.to_owned(),
            method: method.to_owned(),
            area: "as".to_owned(),
        };
        let mut found = operations(&document);
        found.sort_by(|one, other| one.method.cmp(&other.method));
        assert_eq!(found, [operation("list_as", "get"), operation("create_a", "post")]);
    }

    #[test]
    fn what_a_machine_lacks_is_named() {
        assert_eq!(lacking("sh", "sh", ["-c", "exit 0"], "a shell"), None);
        assert_eq!(
            lacking("sh", "sh", ["-c", "exit 1"], "a newer shell"),
            Some("a newer shell")
        );
        assert_eq!(lacking("no-such-installer", "sh", ["-c", "exit 0"], "it"), Some("it"));
    }
}
