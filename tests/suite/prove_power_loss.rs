//! Acknowledged data is there after a power cut, however much of the unsynced data is lost or torn.
//!
//! A recorder under the program (`recorder.c`) records each of its writes and syncs. From that [`disk`] makes the files as they
//! may be found after a power cut at any moment, and these files are checked.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use diesel::connection::{Connection as _, SimpleConnection as _};
use diesel::prelude::QueryableByName;
use diesel::sql_types::{BigInt, Text};
use diesel::{RunQueryDsl as _, SqliteConnection, sql_query};
use harness::{Client, Dice, Engine, Installation, Shop, now, proof_time};
use serde_json::json;
use tokio::task::JoinSet;

use crate::vehicle_media::{PDF, base64};
use crate::vehicles_record;
use disk::{Disk, records};

mod disk;

/// The time for which the program works in the suite.
const TIME: Duration = Duration::from_secs(2);
/// The number of power cuts that are checked.
const STATES: usize = 300;
/// The number of them that come before the server is ready for the first time, after which the program has to continue.
const EARLY_STATES: usize = 8;

/// An acknowledgement of the program.
#[derive(Clone, Debug)]
enum Ack {
    /// The server is ready, and works with this key.
    Key(String),
    Lead {
        id: i64,
        version: i64,
    },
    Document {
        id: i64,
    },
    /// A mail to this address was sent.
    Mail(String),
}

/// The acknowledgements, each with the length of the record by then.
type Acks = Vec<(usize, Ack)>;

#[tokio::test]
async fn sqlite() {
    let (installation, place) = recorded_installation().await;
    let acks = work(&installation, &place).await;
    let log = fs::read(&place.log).unwrap();
    let proof = tokio::task::spawn_blocking(move || prove(&log, &acks, &place.disk));
    let early = proof.await.unwrap();
    for state in early {
        goes_on(state.path()).await;
    }
}

struct Place {
    /// All data of the program, in folders that it makes itself.
    disk: PathBuf,
    log: PathBuf,
}

impl Place {
    fn database(folder: &Path) -> PathBuf {
        folder.join("database/of/it/forecourt.db")
    }

    fn data(folder: &Path) -> PathBuf {
        folder.join("data/of/it")
    }
}

/// Makes an empty installation whose program is recorded.
async fn recorded_installation() -> (Installation, Place) {
    let installation = Installation::new(Engine::Sqlite).await;
    let folder = installation.folder();
    let source = folder.join("recorder.c");
    fs::write(&source, include_str!("prove_power_loss/recorder.c")).unwrap();
    let library = folder.join("recorder.so");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(&source)
        .arg("-lpthread");
    assert!(compiler.status().expect("there is a C compiler").success());
    let place = Place {
        disk: folder.join("disk"),
        log: folder.join("record.log"),
    };
    fs::create_dir(&place.disk).unwrap();
    for (name, path) in [
        ("LD_PRELOAD", &library),
        ("RECORD_ROOT", &place.disk),
        ("RECORD_LOG", &place.log),
    ] {
        installation.configure(name, Some(path.to_str().unwrap()));
    }
    keep_in(&installation, &place.disk);
    (installation, place)
}

/// Makes an installation store everything below this folder.
fn keep_in(installation: &Installation, folder: &Path) {
    let database = format!("sqlite://{}", Place::database(folder).display());
    installation.configure("DATABASE_URL", Some(&database));
    installation.configure("FORECOURT_DATA_DIR", Some(Place::data(folder).to_str().unwrap()));
    installation.configure("FORECOURT_SECRET_KEY", None);
}

/// Records acknowledgements.
#[derive(Clone)]
struct Notes {
    log: PathBuf,
    acks: Arc<Mutex<Acks>>,
}

impl Notes {
    fn note(&self, ack: Ack) {
        let recorded = fs::metadata(&self.log).unwrap().len();
        let recorded = usize::try_from(recorded).unwrap();
        self.acks.lock().unwrap().push((recorded, ack));
    }
}

/// Makes the program do actions of each kind for a while, and kills it.
async fn work(installation: &Installation, place: &Place) -> Acks {
    let mut shop = Shop::on(installation.serve().start().await).await;
    let notes = Notes {
        log: place.log.clone(),
        acks: Arc::default(),
    };
    let key = fs::read_to_string(Place::data(&place.disk).join("secret.key")).unwrap();
    notes.note(Ack::Key(key));
    let documents = format!(
        "{}/documents",
        vehicles_record::path(&shop, &vehicles_record::a_car()).await
    );
    let end = Instant::now() + proof_time(TIME);
    let mut clients = JoinSet::new();
    for _ in 0..2 {
        clients.spawn(write_leads(shop.api.clone(), notes.clone(), end));
    }
    let (api, noted) = (shop.api.clone(), notes.clone());
    clients.spawn(async move {
        while Instant::now() < end {
            let body = json!({"file": base64(PDF), "filename": "V5C.pdf"});
            let document = api.post(&documents, &body).await.created();
            noted.note(Ack::Document {
                id: document["id"].as_str().unwrap().parse().unwrap(),
            });
        }
    });
    let (api, noted) = (shop.api.clone(), notes.clone());
    clients.spawn(async move {
        for number in 0.. {
            let email = format!("ann{number}@example.com");
            let contact = json!({"name": "Ann", "email": email, "login": true});
            let contact = api.post("/2.0/contacts", &contact).await.created();
            let mail = format!("/2.0/contacts/{}/login/email", contact["id"]);
            api.post(&mail, &json!({})).await.ok();
            noted.note(Ack::Mail(email));
            if Instant::now() >= end {
                return;
            }
        }
    });
    clients.join_all().await;
    shop.server.kill9().await;
    let mut acks = std::mem::take(&mut *notes.acks.lock().unwrap());
    acks.sort_by_key(|(recorded, _)| *recorded);
    acks
}

async fn write_leads(api: Client, notes: Notes, end: Instant) {
    while Instant::now() < end {
        let lead = api.post("/2.0/leads", &json!({"name": "Bea"})).await.created();
        let id = lead["id"].as_i64().unwrap();
        notes.note(Ack::Lead { id, version: 1 });
        let changed = api
            .patch(
                &format!("/2.0/leads/{id}"),
                &json!({"data": {"text": "x".repeat(3_000)}}),
            )
            .await
            .ok();
        let version = changed["version"].as_i64().unwrap();
        notes.note(Ack::Lead { id, version });
    }
}

/// Checks power cuts at many moments; returns some early ones, as folders.
#[expect(clippy::print_stdout, reason = "`cargo xtask prove` shows what a proof found")]
fn prove(log: &[u8], acks: &[(usize, Ack)], root: &Path) -> Vec<tempfile::TempDir> {
    let seed = u64::try_from(now()).expect("after 1970");
    let (states, found) = faults(log, acks, root, true, STATES, seed);
    println!(
        "power loss: {} bytes in {} recorded, {} acknowledged; {states} states, {} bad",
        log.len(),
        records(log).len(),
        acks.len(),
        found.len()
    );
    let first: Vec<&String> = found.iter().take(20).collect();
    assert!(found.is_empty(), "{} faults, seed {seed}: {first:#?}", found.len());

    // The same proof detects a disk that stores nothing.
    let (_, found) = faults(log, acks, root, false, 60, seed);
    for kind in ["key", "lead", "document", "mail"] {
        assert!(
            found.iter().any(|fault| fault.starts_with(kind)),
            "no {kind} is lost by a disk without syncs: {found:?}"
        );
    }

    let ready = acks.first().expect("the server was ready").0;
    let mut dice = Dice::new(seed);
    let records = records(log);
    let before = records.iter().take_while(|(end, _)| *end <= ready).count();
    let mut moments: Vec<usize> = (0..EARLY_STATES).map(|_| dice.pick(before + 1)).collect();
    moments.sort_unstable();
    let mut disk = Disk::new(root, true);
    let mut applied = 0;
    moments
        .into_iter()
        .map(|moment| {
            for (_, record) in &records[applied..moment] {
                disk.apply(record);
            }
            applied = moment;
            let folder = tempfile::tempdir().unwrap();
            disk.after_power_cut(&mut dice, folder.path());
            folder
        })
        .collect()
}

/// Returns the faults after power cuts: at random moments, and just after an acknowledgement.
fn faults(
    log: &[u8],
    acks: &[(usize, Ack)],
    root: &Path,
    syncs: bool,
    states: usize,
    seed: u64,
) -> (usize, Vec<String>) {
    let mut dice = Dice::new(seed);
    let records = records(log);
    let at = |place: usize| records.partition_point(|(end, _)| *end <= place);
    let mut moments: Vec<usize> = (0..states)
        .map(|number| match number % 2 {
            0 => dice.pick(records.len() + 1),
            _ => at(acks[dice.pick(acks.len())].0),
        })
        .collect();
    moments.sort_unstable();
    let (mut disk, mut applied, mut found) = (Disk::new(root, syncs), 0, Vec::new());
    for moment in &moments {
        for (_, record) in &records[applied..*moment] {
            disk.apply(record);
        }
        applied = *moment;
        let recorded = records[..applied].last().map_or(0, |(end, _)| *end);
        let acknowledged = acks
            .iter()
            .take_while(|(place, _)| *place <= recorded)
            .map(|(_, ack)| ack);
        let folder = tempfile::tempdir().unwrap();
        disk.after_power_cut(&mut dice, folder.path());
        let missing = missing(folder.path(), root, acknowledged);
        found.extend(missing.into_iter().map(|fault| format!("{fault}, at record {applied}")));
    }
    (moments.len(), found)
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = BigInt)]
    number: i64,
    #[diesel(sql_type = Text)]
    text: String,
}

/// Returns acknowledged data that is missing, and differences between the database's content and the files.
fn missing<'a>(folder: &Path, root: &Path, acks: impl Iterator<Item = &'a Ack>) -> Vec<String> {
    let database = Place::database(folder);
    let mut faults = Vec::new();
    let (mut leads, mut documents) = (BTreeMap::new(), BTreeMap::new());
    if database.exists() {
        match rows(&database) {
            Ok([checks, found_leads, found_documents, files]) => {
                faults.extend(
                    checks
                        .into_iter()
                        .filter(|row| row.text != "ok")
                        .map(|row| format!("damage: {}", row.text)),
                );
                leads.extend(found_leads.into_iter().map(|row| (row.id, row.number)));
                documents.extend(found_documents.into_iter().map(|row| (row.id, row.number)));
                for Row { id, number, text } in files {
                    let file = Place::data(folder).join(format!("files/{id}/{}/{text}", &text[..2]));
                    let length = fs::metadata(&file).map(|found| found.len()).ok();
                    if length.and_then(|length| i64::try_from(length).ok()) != Some(number) {
                        faults.push(format!("file {} is {length:?} bytes and not {number}", file.display()));
                    }
                }
            }
            Err(error) => faults.push(format!("damage: {error}")),
        }
    }
    let spool = fs::read_dir(Place::data(folder).join("mail"))
        .into_iter()
        .flatten()
        .flatten();
    let mut mails = String::new();
    for entry in spool.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "eml")) {
        let mail = fs::read(entry.path()).unwrap();
        // The content is the one written last.
        if fs::read(Place::data(root).join("mail").join(entry.file_name())).unwrap() == mail {
            mails.push_str(&String::from_utf8_lossy(&mail));
        }
    }
    for ack in acks {
        match ack {
            Ack::Key(key) => {
                if fs::read_to_string(Place::data(folder).join("secret.key")).ok().as_ref() != Some(key) {
                    faults.push("key is lost".to_owned());
                }
            }
            Ack::Lead { id, version } if leads.get(id).is_none_or(|found| found < version) => {
                faults.push(format!("lead {id} at version {version} is {:?}", leads.get(id)));
            }
            Ack::Document { id } if !documents.contains_key(id) => faults.push(format!("document {id} is lost")),
            Ack::Mail(to) if !mails.contains(to) => {
                faults.push(format!("mail to {to} is lost"));
            }
            Ack::Lead { .. } | Ack::Document { .. } | Ack::Mail(_) => (),
        }
    }
    faults
}

/// Returns the outcome of a check, leads, documents and files.
fn rows(database: &Path) -> Result<[Vec<Row>; 4], Box<dyn std::error::Error>> {
    let mut conn = SqliteConnection::establish(database.to_str().unwrap())?;
    conn.batch_execute("PRAGMA synchronous = OFF")?;
    let checks =
        sql_query("SELECT 0 AS id, 0 AS number, quick_check AS text FROM pragma_quick_check").load(&mut conn)?;
    let mut all = |table: &str, columns: &str| {
        let is_there = format!("SELECT 0 AS id, 0 AS number, name AS text FROM sqlite_schema WHERE name = '{table}'");
        if sql_query(is_there).load::<Row>(&mut conn)?.is_empty() {
            return Ok(Vec::new());
        }
        sql_query(format!("SELECT {columns} FROM {table}")).load::<Row>(&mut conn)
    };
    let leads = all("leads", "id, version AS number, '' AS text")?;
    let documents = all("vehicle_documents", "id, version AS number, '' AS text")?;
    let files = all("files", "business_id AS id, size AS number, name AS text")?;
    Ok([checks, leads, documents, files])
}

/// Starts the program on the remains of its first start after a power cut: half a folder, half a key, half a migration.
async fn goes_on(folder: &Path) {
    let installation = Installation::new(Engine::Sqlite).await;
    keep_in(&installation, folder);
    installation.run(["migrate"]).await.succeeded();
    let shop = Shop::on(installation.serve().start().await).await;
    shop.lead(&json!({"name": "Cid"})).await;
}
