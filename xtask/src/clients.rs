//! Follows the recipes of `docs/clients`: each client is made from the OpenAPI document and compiled strictly, and its tour
//! runs against a server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::codegen::DOCUMENT;
use crate::error::{Context as _, Error, Result};
use crate::forecourt::Forecourt;
use crate::process;
use crate::recipe::{Recipe, lacking, within};
use crate::scratch::Scratch;
use crate::server::Server;
use crate::task::Outcome;
use crate::workspace::Workspace;

/// The folder of the recipes.
const RECIPES: &str = "docs/clients";
/// The business that `serve --demo` makes.
const DEMO: &str = "demo";

/// A client that a recipe makes.
struct Client {
    recipe: Recipe,
    /// Makes and compiles the client from the document at this path.
    make: fn(&Path, &Path) -> Result<()>,
    /// Returns true if the client made in the folder has the operation.
    has: fn(&Path, &Operation) -> bool,
    /// Returns a program that visits every area with the client, if there is one.
    tour: Option<fn(&Path) -> Command>,
}

const CLIENTS: [Client; 3] = [
    Client {
        recipe: Recipe::of_node(
            "typescript",
            &["package.json", "package-lock.json", "tsconfig.json", "tour.ts"],
        ),
        make: |folder, document| {
            process::run(within(folder, "npm").args(["run", "generate"]).env("OPENAPI", document))?;
            process::run(within(folder, "npm").args(["run", "compile"]))
        },
        has: |folder, Operation { id, method, .. }| {
            let types = fs::read_to_string(folder.join("forecourt.ts")).unwrap_or_default();
            types.contains(&format!(" {method}: operations[\"{id}\"];")) && types.contains(&format!("\n    {id}: {{\n"))
        },
        tour: Some(|folder| {
            let mut tour = within(folder, "npm");
            tour.args(["run", "tour"]);
            tour
        }),
    },
    Client {
        recipe: Recipe {
            name: "python",
            files: &["config.yaml", "prepare.py", "requirements.txt", "tour.py"],
            lock: "requirements.txt",
            missing: || {
                let check = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))";
                lacking("python3", "python3", ["-c", check], "Python 3.11 or later, with venv")
            },
            install: |folder| {
                process::run(within(folder, "python3").args(["-m", "venv", "--clear", "venv"]))?;
                let mut pip = python(folder);
                pip.args(["-m", "pip", "install", "--quiet"]);
                process::run(pip.args(["--requirement", "requirements.txt"]))
            },
            is_reachable: |folder| {
                process::output(python(folder).args(["-m", "pip", "index", "versions", "httpx"])).is_ok()
            },
        },
        make: |folder, document| {
            // Remains of an earlier document must not hide a part that this one lacks.
            remove(&folder.join("forecourt_client"))?;
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
        tour: Some(|folder| {
            let mut tour = python(folder);
            tour.arg("tour.py");
            tour
        }),
    },
    Client {
        recipe: Recipe::of_node("postman", &["package.json", "package-lock.json"]),
        make: |folder, document| {
            remove(&folder.join(COLLECTION))?;
            process::run(within(folder, "npm").args(["run", "generate"]).env("OPENAPI", document))
        },
        has: |folder, operation| {
            let collection = fs::read_to_string(folder.join(COLLECTION)).unwrap_or_default();
            serde_json::from_str(&collection).is_ok_and(|collection| has_request(&collection, operation))
        },
        tour: None,
    },
];

/// The requests for Postman.
const COLLECTION: &str = "forecourt.postman.json";

/// Returns true if a folder of the collection, or one in it, has a request for the operation.
fn has_request(folder: &Value, operation: &Operation) -> bool {
    let items = folder["item"].as_array().into_iter().flatten();
    items.into_iter().any(|item| {
        let request = &item["request"];
        let of_operation = || {
            let method = request["method"].as_str().unwrap_or_default();
            let parts = request["url"]["path"].as_array().into_iter().flatten();
            let parts: Vec<&str> = parts.filter_map(Value::as_str).collect();
            method.eq_ignore_ascii_case(&operation.method) && parts == operation.postman_path()
        };
        request.is_object() && of_operation() || has_request(item, operation)
    })
}

pub(crate) fn check(workspace: &Workspace) -> Result<Outcome> {
    let document = workspace.root().join(DOCUMENT);
    let text = fs::read_to_string(&document).context(|| format!("{DOCUMENT} cannot be read"))?;
    let operations = operations(&serde_json::from_str(&text).context(|| format!("{DOCUMENT} is not JSON"))?);
    let parent = workspace.metadata()?.target_directory.join("clients");
    let (mut skipped, mut tours) = (Vec::new(), Vec::new());
    for client in &CLIENTS {
        let (name, folder) = (client.recipe.name, parent.join(client.recipe.name));
        if let Outcome::Skipped(why) = client.recipe.prepare(&workspace.root().join(RECIPES), &folder)? {
            let line = format!("{name}: {why}");
            eprintln!("skipped: {line}");
            skipped.push(line);
            continue;
        }
        (client.make)(&folder, &document)?;
        let dropped = operations.iter().filter(|operation| !(client.has)(&folder, operation));
        let dropped: Vec<&str> = dropped.map(|operation| &*operation.id).collect();
        if !dropped.is_empty() {
            let names = dropped.join(", ");
            return Err(Error::new(format!("the client for {name} lacks {names}")));
        }
        eprintln!("{name}: all {} operations are there", operations.len());
        tours.extend(client.tour.map(|tour| tour(&folder)));
    }
    if !tours.is_empty() {
        let demo = Demo::start(workspace, &parent)?;
        for tour in tours {
            process::run(&mut demo.visited_by(tour))?;
        }
    }
    Ok(if skipped.is_empty() {
        Outcome::Passed
    } else {
        Outcome::Skipped(skipped.join("; "))
    })
}

/// An operation of the document.
#[derive(Debug, PartialEq, Eq)]
struct Operation {
    id: String,
    /// The method in lower case.
    method: String,
    path: String,
    /// Its tag.
    area: String,
}

impl Operation {
    /// Returns the parts of its path as Postman writes them, with `:id` for `{id}`.
    fn postman_path(&self) -> Vec<String> {
        let parts = self.path.split('/').skip(1);
        let parts = parts.map(
            |part| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                Some(parameter) => format!(":{parameter}"),
                None => part.to_owned(),
            },
        );
        parts.collect()
    }
}

fn operations(document: &Value) -> Vec<Operation> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items = document["paths"].as_object().into_iter().flatten();
    let operations = items.flat_map(|(path, item)| {
        let operations = item.as_object().into_iter().flatten();
        operations.map(move |(method, operation)| (path, method, operation))
    });
    operations
        .map(|(path, method, operation)| Operation {
            id: text(&operation["operationId"]),
            method: method.clone(),
            path: path.clone(),
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
        let program = workspace.build()?.server;
        let folder = Scratch::new(parent, "demo")?;
        let forecourt = Forecourt {
            program,
            folder: folder.path().to_owned(),
            // The webhook's receiver is on this machine.
            settings: vec![("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", "true".to_owned())],
        };
        // Its first start makes the dealership.
        forecourt.serve(&["--demo"])?.stop()?;
        Ok(Self {
            token: forecourt.new_key(DEMO)?,
            server: forecourt.serve(&[])?,
            _folder: folder,
        })
    }

    /// Returns `tour` with the address and the token that it needs.
    fn visited_by(&self, mut tour: Command) -> Command {
        tour.env("FORECOURT_URL", format!("http://127.0.0.1:{}", self.server.port()))
            .env("FORECOURT_TOKEN", &self.token)
            // A configured proxy must not be used for this machine.
            .env("no_proxy", "*");
        tour
    }
}

/// Removes a folder or a file, if it exists.
fn remove(path: &Path) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let remove = if path.is_dir() {
        fs::remove_dir_all
    } else {
        fs::remove_file
    };
    remove(path).context(|| format!("{} cannot be removed", path.display()))
}

/// Returns the Python that has the recipe's packages.
fn python(folder: &Path) -> Command {
    within(folder, folder.join("venv/bin/python"))
}

/// Returns `PATH` with `folder` before all others.
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
            path: "/a".to_owned(),
            area: "as".to_owned(),
        };
        let mut found = operations(&document);
        found.sort_by(|one, other| one.method.cmp(&other.method));
        assert_eq!(found, [operation("list_as", "get"), operation("create_a", "post")]);
    }

    #[test]
    fn a_request_is_found_in_the_folders_of_a_collection() {
        let read = |path: &str, method: &str| Operation {
            id: "read_a".to_owned(),
            method: method.to_owned(),
            path: path.to_owned(),
            area: "as".to_owned(),
        };
        let request = json!({"request": {"method": "GET", "url": {"path": ["2.0", "as", ":id"]}}});
        let collection = json!({"item": [{"item": [{"name": "as", "item": [request]}]}]});
        assert!(has_request(&collection, &read("/2.0/as/{id}", "get")));
        assert!(!has_request(&collection, &read("/2.0/as/{id}", "delete")));
        assert!(!has_request(&collection, &read("/2.0/as", "get")));
    }
}
