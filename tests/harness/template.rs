//! A database with the business [`acme`] and a key with every scope, made once for each build of the program. Most tests begin
//! with a copy of it, which takes a tenth of the time for migrating a database and running the commands.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::database::{Database, Engine};
use crate::installation::{Business, Installation, Key};
use crate::program::program;
use crate::shop::acme;

/// Returns a new installation with a copy of the template, and its business and key.
pub(crate) async fn installation(engine: Engine) -> (Business, Key) {
    let (installation, key) = match engine {
        Engine::Sqlite => on_sqlite().await,
        Engine::Postgres => on_postgres().await,
    };
    let tag = acme()["tag"].as_str().expect("a business has a tag").to_owned();
    (Business { installation, tag }, key)
}

/// Makes an installation that becomes the template.
async fn original(engine: Engine) -> (Installation, Key) {
    let installation = Installation::new(engine).await;
    let key = installation.business(&acme()).await.key("all").await;
    (installation, key)
}

/// Returns the name of the program's build.
fn build() -> String {
    let file = fs::metadata(program()).expect("the program is a file");
    let changed = file.modified().expect("files have times");
    let since = changed.duration_since(UNIX_EPOCH).expect("it was built after 1970");
    format!("{:x}_{:x}", since.as_nanos(), file.len())
}

/// The database of the template in its folder.
const FILE: &str = "forecourt.db";
/// The output of `key create`, beside the database.
const KEY: &str = "key.json";

async fn on_sqlite() -> (Installation, Key) {
    let templates = program().with_file_name("test-template");
    let template = templates.join(build());
    if !template.is_dir() {
        make_folder(&templates, &template).await;
    }
    let key = fs::read_to_string(template.join(KEY)).unwrap();
    let copy = Installation::with(|folder| {
        fs::copy(template.join(FILE), Database::file(folder)).unwrap();
        Database::in_folder(folder)
    });
    (copy, Key::read(serde_json::from_str(&key).unwrap()))
}

/// Makes the folder of the template. Several tests may do this at once: the first to finish wins.
async fn make_folder(templates: &Path, template: &Path) {
    let (installation, key) = original(Engine::Sqlite).await;
    let database = Database::file(installation.folder());
    assert!(!wal_of(&database).exists(), "the commands closed the database");
    fs::create_dir_all(templates).unwrap();
    // The folders of former builds.
    for former in fs::read_dir(templates).unwrap().map(|entry| entry.unwrap().path()) {
        if former.is_dir() && former != template && !former.to_string_lossy().ends_with("_new") {
            drop(fs::remove_dir_all(former));
        }
    }
    let new = tempfile::Builder::new().suffix("_new").tempdir_in(templates).unwrap();
    fs::copy(&database, new.path().join(FILE)).unwrap();
    fs::write(new.path().join(KEY), key.json.to_string()).unwrap();
    match fs::rename(new.path(), template) {
        Ok(()) => drop(new.keep()),
        Err(error) => assert!(template.is_dir(), "{} cannot be made: {error}", template.display()),
    }
}

fn wal_of(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    path.into()
}

async fn on_postgres() -> (Installation, Key) {
    let template = format!("forecourt_template_{}", build());
    let database = match Database::copy_on_server(&template).await {
        Some(copy) => copy,
        None => {
            let (installation, key) = original(Engine::Postgres).await;
            installation.become_template(&template, &key.json.to_string()).await;
            let copy = Database::copy_on_server(&template).await;
            copy.expect("the template was made")
        }
    };
    let key = database.comment_of(&template).await;
    let copy = Installation::with(|_| database);
    (copy, Key::read(serde_json::from_str(&key).unwrap()))
}
