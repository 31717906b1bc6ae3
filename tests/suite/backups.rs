//! Backups: taking, verifying, restoring and moving an installation.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::{Client, Dice, Engine, Installation, Outcome, both_engines, eventually};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::process::Command;

both_engines! {
    backup_an_archive_restores_on_both_engines
    backup_every_flipped_byte_is_found
    backup_a_repository_keeps_each_file_once
    backup_a_missing_file_is_named
    backup_a_killed_command_leaves_no_backup
    backup_a_restore_needs_emptiness
    backup_an_unfinished_restore_is_refused_and_finished
    backup_a_copy_reaches_nobody
    backup_another_key_is_refused
    backup_moves_to_both_engines
    backup_a_moved_database_is_sealed
}

/// Lists that are the same on a restored server, but for the epoch.
const READS: [&str; 9] = [
    "/2.0/leads?view=full&per_page=200",
    "/2.0/contacts?view=full&per_page=200",
    "/2.0/vehicles?view=full&per_page=100",
    "/2.0/vehicles?status=for-sale&make=Ford",
    "/2.0/listings?per_page=200",
    "/2.0/blogs?per_page=100",
    "/2.0/reviews?per_page=100",
    "/2.0/webhooks",
    "/2.0/events?per_page=200",
];

/// Makes an empty installation, whose addresses of files do not depend on the server's port.
async fn empty(engine: Engine) -> Installation {
    let installation = Installation::new(engine).await;
    installation.configure("FORECOURT_PUBLIC_URL", Some("https://api.dealer.example"));
    installation
}

/// Makes an installation with the sample dealership, a webhook, events and files; returns it with a token.
async fn demo(engine: Engine) -> (Installation, String) {
    let installation = empty(engine).await;
    let mut server = installation.serve().args(["--demo"]).start().await;
    let printed = eventually("the token is printed", Duration::from_secs(60), async || {
        let printed = server.stdout();
        if printed.matches("curl ").count() >= 3 {
            Ok(printed)
        } else {
            Err(printed)
        }
    })
    .await;
    let allowed = |character: char| character.is_ascii_alphanumeric() || "_.".contains(character);
    let mut words = printed.split(|character| !allowed(character));
    let token = words
        .find(|word| word.starts_with("fck_") && word.contains('.'))
        .unwrap()
        .to_owned();
    let api = server.client(&token);
    let webhook = json!({"url": "https://receiver.example/hook", "events": ["review.updated"]});
    api.post("/2.0/webhooks", &webhook).await.created();
    for number in 0..5 {
        let lead = json!({"name": format!("Lead {number}"), "email": format!("lead{number}@example.com")});
        api.request("POST", "/2.0/leads")
            .key(&format!("key-{number}"))
            .json(&lead)
            .send()
            .await
            .created();
    }
    server.until_background_rests().await;
    server.terminate().await;
    (installation, token)
}

/// Takes an archive; returns its path.
async fn archive(installation: &Installation) -> PathBuf {
    let path = installation.folder().join("backup.tar");
    installation
        .run(["backup", "--output", path.to_str().unwrap()])
        .await
        .succeeded();
    path
}

fn manifest_of(archive: &Path) -> Value {
    let output = std::process::Command::new("tar")
        .args(["-xOf", archive.to_str().unwrap(), "manifest.json"])
        .output();
    serde_json::from_slice(&output.unwrap().stdout).unwrap()
}

/// Returns the digests of all tables but those that a restore changes.
fn digests(manifest: &Value) -> BTreeMap<String, String> {
    let tables = manifest["tables"].as_object().unwrap();
    let compared = tables
        .iter()
        .filter(|(name, _)| !["forecourt_meta", "servers"].contains(&name.as_str()));
    compared
        .map(|(name, table)| (name.clone(), table["digest"].as_str().unwrap().to_owned()))
        .collect()
}

async fn read_all(api: &Client) -> Vec<Value> {
    let mut answers = Vec::new();
    for path in READS {
        let mut answer = api.get(path).await.json();
        if let Some(meta) = answer["meta"].as_object_mut() {
            meta.remove("epoch");
            meta.remove("cursor");
            meta.remove("next_cursor");
        }
        answers.push(json!({"path": path, "answer": answer}));
    }
    answers
}

#[track_caller]
fn exited(outcome: &Outcome, code: i32) {
    assert_eq!(outcome.status.code(), Some(code), "{outcome:#?}");
}

#[track_caller]
fn refused(outcome: &Outcome, code: i32, needle: &str) {
    exited(outcome, code);
    assert!(outcome.stderr.contains(needle), "{needle:?} is not in {outcome:#?}");
}

fn lossy(path: &Path) -> &str {
    path.to_str().unwrap()
}

async fn backup_an_archive_restores_on_both_engines(engine: Engine) {
    let (installation, token) = demo(engine).await;
    let path = archive(&installation).await;
    let report = installation.run(["verify", lossy(&path), "--json"]).await.json();
    assert_eq!(report["ok"], true, "{report}");
    assert_eq!(report["faults"], json!([]));
    let manifest = manifest_of(&path);
    assert_eq!(manifest["format"], 1);
    assert_eq!(
        manifest["engine"],
        if engine == Engine::Sqlite { "sqlite" } else { "postgres" }
    );
    assert_eq!(manifest["files"]["mode"], "all");
    assert!(manifest["files"]["count"].as_i64().unwrap() > 0, "{manifest}");
    let server = installation.serve().start().await;
    let expected = read_all(&server.client(&token)).await;
    drop(server);
    let mut epochs = Vec::new();
    for target in [Engine::Sqlite, Engine::Postgres] {
        let restored = empty(target).await;
        let report = restored.run(["restore", lossy(&path), "--json"]).await.json();
        assert_eq!(report["files"], manifest["files"]["count"]);
        let business = &report["businesses"][0];
        assert_eq!(business["last_event"], manifest["businesses"][0]["last_event"]);
        let epoch = report["epoch"].as_i64().unwrap();
        assert!(epoch > 1_700_000_000, "{report}");
        epochs.push(epoch);
        let again = archive(&restored).await;
        assert_eq!(digests(&manifest_of(&again)), digests(&manifest), "{target:?}");
        exited(&restored.run(["verify", lossy(&again)]).await, 0);
        let server = restored.serve().start().await;
        let api = server.client(&token);
        assert_eq!(read_all(&api).await, expected, "{target:?}");
        // What was answered before is answered again, and new ids are far from those that others may know.
        let lead = json!({"name": "Lead 0", "email": "lead0@example.com"});
        api.request("POST", "/2.0/leads")
            .key("key-0")
            .json(&lead)
            .send()
            .await
            .created();
        let highest = api.list("/2.0/leads").await.ids().into_iter().max().unwrap();
        let new = api.post("/2.0/leads", &json!({"name": "New"})).await.created();
        assert!(new["id"].as_i64().unwrap() >= highest + 10_000, "{new}");
        assert_files(&restored, &manifest);
    }
    assert_ne!(epochs[0], epochs[1], "one backup restored twice gives two epochs");
}

/// Asserts that the store has as many files as the manifest counts.
fn assert_files(installation: &Installation, manifest: &Value) {
    let mut folders = vec![installation.data_dir().join("files")];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_hidden = path.file_name().unwrap().to_str().unwrap().starts_with('.');
            if path.is_dir() && !is_hidden {
                folders.push(path);
            } else if !is_hidden {
                count += 1;
            }
        }
    }
    assert_eq!(manifest["files"]["count"], count);
}

async fn backup_every_flipped_byte_is_found(engine: Engine) {
    let (installation, _) = demo(engine).await;
    let path = archive(&installation).await;
    let bytes = fs::read(&path).unwrap();
    let damaged = installation.folder().join("damaged.tar");
    let mut dice = Dice::new(7);
    for _ in 0..8 {
        let at = dice.pick(bytes.len());
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << dice.pick(8);
        fs::write(&damaged, &flipped).unwrap();
        let outcome = installation.run(["verify", lossy(&damaged)]).await;
        assert!(matches!(outcome.status.code(), Some(1 | 3)), "byte {at}: {outcome:#?}");
    }
    for length in [0, 100, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&damaged, &bytes[..length]).unwrap();
        exited(&installation.run(["verify", lossy(&damaged)]).await, 1);
    }
    // A row less, in an archive whose members are otherwise in order.
    let folder = installation.folder().join("unpacked");
    fs::create_dir(&folder).unwrap();
    let script = format!(
        "set -e; cd {}; tar xf {}; zstd -q -d database.sqlite.zst -o d.sqlite; \
         sqlite3 d.sqlite 'DELETE FROM events WHERE sequence = (SELECT max(sequence) - 1 FROM events)'; \
         zstd -q -f d.sqlite -o database.sqlite.zst; rm d.sqlite; \
         tar --format=ustar -cf {} database.sqlite.zst files files.jsonl.zst manifest.json",
        folder.display(),
        path.display(),
        damaged.display()
    );
    let shell = Command::new("sh").args(["-c", &script]).output().await.unwrap();
    assert!(shell.status.success(), "{shell:?}");
    let outcome = installation.run(["verify", lossy(&damaged), "--json"]).await;
    exited(&outcome, 3);
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let faults = report["faults"].to_string();
    assert!(
        report["ok"] == false && faults.contains("events") && faults.contains("comes"),
        "{report}"
    );
}

async fn backup_a_repository_keeps_each_file_once(engine: Engine) {
    let (installation, token) = demo(engine).await;
    let repository = installation.folder().join("repository");
    let to = lossy(&repository);
    let server = installation.serve().start().await;
    let first = installation.run(["backup", "--to", to, "--json"]).await.json();
    assert!(
        first["new_files"].as_i64().unwrap() > 0 && first["new_files"] == first["files"],
        "{first}"
    );
    assert_eq!(first["verified"], "quick");
    server
        .client(&token)
        .post("/2.0/leads", &json!({"name": "One more"}))
        .await
        .created();
    let second = installation
        .run(["backup", "--to", &format!("file://{to}"), "--json"])
        .await
        .json();
    assert_eq!((&second["new_files"], &second["files"]), (&json!(0), &first["files"]));
    assert_ne!(first["stamp"], second["stamp"]);
    let list = installation
        .run(["backup", "list", "--from", to, "--json"])
        .await
        .json();
    let stamps: Vec<_> = list.as_array().unwrap().iter().map(|backup| &backup["stamp"]).collect();
    assert_eq!(stamps, [&first["stamp"], &second["stamp"]]);
    exited(&installation.run(["verify", "--from", to]).await, 0);
    let list = installation
        .run(["backup", "list", "--from", to, "--json"])
        .await
        .json();
    assert_eq!(
        (&list[0]["verified"]["how"], &list[1]["verified"]["how"]),
        (&json!("quick"), &json!("full"))
    );
    assert_eq!(list[1]["rows"], second["rows"]);
    let text = installation.run(["backup", "list", "--from", to]).await.succeeded();
    assert!(
        text.contains(second["stamp"].as_str().unwrap()) && text.contains("full"),
        "{text}"
    );
    let pruned = installation
        .run(["backup", "prune", "--from", to, "--keep", "1d", "--json"])
        .await
        .json();
    assert_eq!(pruned["removed"], json!([first["stamp"]]));
    exited(
        &installation
            .run(["verify", "--from", to, "--backup", second["stamp"].as_str().unwrap()])
            .await,
        0,
    );
    let gone = installation
        .run(["verify", "--from", to, "--backup", first["stamp"].as_str().unwrap()])
        .await;
    refused(&gone, 1, first["stamp"].as_str().unwrap());
    // A stamp without a manifest is none.
    fs::remove_file(repository.join(second["stamp"].as_str().unwrap()).join("manifest.json")).unwrap();
    exited(&installation.run(["verify", "--from", to]).await, 1);
    let list = installation
        .run(["backup", "list", "--from", to, "--json"])
        .await
        .json();
    assert_eq!(list, json!([]));
}

async fn backup_a_missing_file_is_named(engine: Engine) {
    let (installation, _) = demo(engine).await;
    let lost = find_file(&installation.data_dir().join("files"));
    fs::remove_file(&lost).unwrap();
    let name = lost.file_name().unwrap().to_str().unwrap();
    let path = installation.folder().join("backup.tar");
    let outcome = installation.run(["backup", "--output", lossy(&path)]).await;
    refused(&outcome, 3, name);
    let outcome = installation.run(["verify", lossy(&path), "--json"]).await;
    exited(&outcome, 3);
    assert!(outcome.stdout.contains(name), "{outcome:#?}");
    // Without files there is nothing to miss, and the verification says so.
    let path = installation.folder().join("none.tar");
    installation
        .run(["backup", "--output", lossy(&path), "--files", "none"])
        .await
        .succeeded();
    let verified = installation.run(["verify", lossy(&path)]).await.succeeded();
    assert!(
        verified.contains("the files, which are not in the backup"),
        "{verified}"
    );
}

fn find_file(folder: &Path) -> PathBuf {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with('.') {
            continue;
        }
        return if path.is_dir() { find_file(&path) } else { path };
    }
    panic!("{} is empty", folder.display());
}

async fn backup_a_killed_command_leaves_no_backup(engine: Engine) {
    let (installation, _) = demo(engine).await;
    let repository = installation.folder().join("repository");
    let to = lossy(&repository).to_owned();
    let mut dice = Dice::new(11);
    for _ in 0..6 {
        let job = installation.start(["backup", "--to", &to], &[]);
        tokio::time::sleep(Duration::from_millis(20 + dice.pick(600) as u64)).await;
        // It is killed with its value.
        drop(job);
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let list = installation
        .run(["backup", "list", "--from", &to, "--json"])
        .await
        .json();
    for backup in list.as_array().unwrap() {
        let stamp = backup["stamp"].as_str().unwrap();
        exited(&installation.run(["verify", "--from", &to, "--backup", stamp]).await, 0);
    }
    installation.run(["backup", "--to", &to]).await.succeeded();
    exited(&installation.run(["verify", "--from", &to]).await, 0);
    let scratch: Vec<_> = fs::read_dir(installation.data_dir().join("scratch")).unwrap().collect();
    assert!(scratch.is_empty(), "{scratch:?}");
}

async fn backup_a_restore_needs_emptiness(engine: Engine) {
    let (installation, _) = demo(engine).await;
    let path = archive(&installation).await;
    let there = match engine {
        Engine::Sqlite => "forecourt.db",
        Engine::Postgres => "api_keys",
    };
    refused(&installation.run(["restore", lossy(&path)]).await, 1, there);
    // Other content under a name of the backup.
    let restored = empty(engine).await;
    let file = find_file(&installation.data_dir().join("files"));
    let within = file.strip_prefix(installation.data_dir()).unwrap();
    let other = restored.data_dir().join(within);
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    fs::write(&other, vec![0; fs::read(&file).unwrap().len()]).unwrap();
    let name = within.strip_prefix("files").unwrap().to_str().unwrap();
    refused(&restored.run(["restore", lossy(&path)]).await, 1, name);
    // The same content may be there.
    fs::copy(&file, &other).unwrap();
    restored.run(["restore", lossy(&path)]).await.succeeded();
    exited(&restored.run(["restore", lossy(&path)]).await, 1);
}

/// Runs a statement on the database of an installation.
async fn execute(engine: Engine, installation: &Installation, statement: &str) {
    match engine {
        Engine::Postgres => installation.execute(statement).await,
        Engine::Sqlite => {
            let path = installation.database_url().strip_prefix("sqlite://").unwrap();
            let done = Command::new("sqlite3").args([path, statement]).output().await.unwrap();
            assert!(done.status.success(), "{done:?}");
        }
    }
}

async fn backup_an_unfinished_restore_is_refused_and_finished(engine: Engine) {
    let (installation, token) = demo(engine).await;
    let path = archive(&installation).await;
    let stamp = installation
        .run(["verify", lossy(&path), "--quick", "--json"])
        .await
        .json()["backup"]
        .take();
    let stamp = stamp.as_str().unwrap();
    let restored = empty(engine).await;
    restored.run(["restore", lossy(&path)]).await.succeeded();
    // As a restore that was killed before its end leaves it.
    let mark = format!(
        "CREATE TABLE forecourt_restore (name TEXT NOT NULL); INSERT INTO forecourt_restore VALUES ('the restore of backup {stamp}')"
    );
    execute(engine, &restored, &mark).await;
    let file = find_file(&restored.data_dir().join("files"));
    fs::remove_file(&file).unwrap();
    let outcome = restored.serve().refused().await;
    refused(&outcome, 1, stamp);
    refused(&restored.run(["business", "list"]).await, 1, stamp);
    // Killed again and again, it can always be run once more.
    for pause in [5, 50, 150, 300] {
        let job = restored.start(["restore", lossy(&path)], &[]);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        drop(job);
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let last = restored.run(["restore", lossy(&path)]).await;
    // One of them may have come to its end.
    assert!(
        last.status.success() || last.stderr.contains("empty database"),
        "{last:#?}"
    );
    assert!(file.exists());
    let server = restored.serve().start().await;
    assert!(!server.client(&token).list("/2.0/leads").await.items.is_empty());
}

async fn backup_a_copy_reaches_nobody(engine: Engine) {
    let (installation, token) = demo(engine).await;
    let path = archive(&installation).await;
    let copy = empty(engine).await;
    let text = copy.run(["restore", lossy(&path), "--as-copy"]).await.succeeded();
    assert!(
        text.contains("made a copy: a new installation, 1 keys revoked, 1 webhooks disabled"),
        "{text}"
    );
    let again = archive(&copy).await;
    assert_ne!(manifest_of(&again)["installation"], manifest_of(&path)["installation"]);
    let server = copy.serve().start().await;
    server
        .client(&token)
        .get("/2.0/leads")
        .await
        .refused(401, "authentication_revoked");
    let tag = copy.run(["business", "list", "--json"]).await.json()[0]["tag"]
        .as_str()
        .unwrap()
        .to_owned();
    let key = copy.key(&["--business", &tag, "--scopes", "all"]).await;
    let webhooks = server.client(&key.token).list("/2.0/webhooks").await.items;
    assert_eq!(
        (webhooks.len(), &webhooks[0]["status"]),
        (1, &json!("disabled")),
        "{webhooks:?}"
    );
}

async fn backup_another_key_is_refused(engine: Engine) {
    let (installation, _) = demo(engine).await;
    let path = archive(&installation).await;
    let other = [("FORECOURT_SECRET_KEY", "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0NTY=")];
    let restored = empty(engine).await;
    refused(
        &restored.run_with(["restore", lossy(&path)], &other).await,
        1,
        "secret key",
    );
    restored.run(["restore", lossy(&path)]).await.succeeded();
    refused(
        &installation.run_with(["backup", "--output", "other.tar"], &other).await,
        1,
        "secret key",
    );
    let verified = installation
        .run_with(["verify", lossy(&path)], &other)
        .await
        .succeeded();
    assert!(verified.contains("not looked at: secrets"), "{verified}");
    for arguments in [
        &["backup", "--output", "x.tar", "--include-key"][..],
        &["backup", "--output", "x.tar", "--recipient", "age1x"],
        &["backup"],
        &["verify", lossy(&path), "--identity", "key.txt"],
        &["verify"],
        &["restore"],
        &["move"],
        &["move", "--to", "postgres://me:secret@db/x"],
    ] {
        exited(&installation.run(arguments.iter().copied()).await, 2);
    }
}

async fn backup_moves_to_both_engines(engine: Engine) {
    for target in [Engine::Sqlite, Engine::Postgres] {
        let (installation, token) = demo(engine).await;
        let mut server = installation.serve().start().await;
        let expected = read_all(&server.client(&token)).await;
        let etag = |answer: harness::Answer| answer.header("etag").map(str::to_owned);
        let first = server.client(&token).list("/2.0/leads").await.ids()[0];
        let tag = etag(server.client(&token).get(&format!("/2.0/leads/{first}")).await);
        server.terminate().await;
        let before = manifest_of(&archive(&installation).await);
        let moved = empty(target).await;
        let url = installation.write("url", moved.database_url());
        let files = moved.data_dir().join("files");
        let report = installation
            .run(["move", "--to-file", &url, "--files-to", lossy(&files), "--json"])
            .await
            .json();
        assert_eq!(report["differing"], json!([]));
        let after = manifest_of(&archive(&moved).await);
        assert_eq!(digests(&after), digests(&before), "{target:?}");
        assert_eq!(after["installation"], before["installation"]);
        assert_eq!(after["epoch"], before["epoch"]);
        let server = moved.serve().start().await;
        let api = server.client(&token);
        assert_eq!(read_all(&api).await, expected, "{target:?}");
        assert_eq!(etag(api.get(&format!("/2.0/leads/{first}")).await), tag);
        assert_files(&moved, &after);
        let lead = json!({"name": "Lead 0", "email": "lead0@example.com"});
        api.request("POST", "/2.0/leads")
            .key("key-0")
            .json(&lead)
            .send()
            .await
            .created();
        let new = api.post("/2.0/leads", &json!({"name": "New"})).await.created();
        assert!(new["id"].as_i64().unwrap() > first);
        exited(
            &moved
                .run(["verify", lossy(&archive_named(&moved, "later.tar").await)])
                .await,
            0,
        );
    }
}

async fn archive_named(installation: &Installation, name: &str) -> PathBuf {
    let path = installation.folder().join(name);
    installation.run(["backup", "--output", lossy(&path)]).await.succeeded();
    path
}

async fn backup_a_moved_database_is_sealed(engine: Engine) {
    let (installation, token) = demo(engine).await;
    let target = installation.folder().join("target.db");
    let url = format!("sqlite://{}", target.display());
    fs::write(&target, "something").unwrap();
    refused(&installation.run(["move", "--to", &url]).await, 1, "target.db");
    fs::remove_file(&target).unwrap();
    installation.run(["move", "--to", &url]).await.succeeded();
    refused(&installation.serve().refused().await, 1, "moved to sqlite://");
    refused(&installation.run(["business", "list"]).await, 1, "moved to sqlite://");
    refused(
        &installation.run(["move", "--to", "sqlite://elsewhere.db"]).await,
        1,
        "moved to",
    );
    exited(&installation.run(["move", "--undo"]).await, 2);
    let undone = installation.run(["move", "--undo", "--yes"]).await.succeeded();
    assert!(undone.contains("the target must not serve"), "{undone}");
    exited(&installation.run(["move", "--undo", "--yes"]).await, 1);
    let server = installation.serve().start().await;
    assert!(!server.client(&token).list("/2.0/leads").await.items.is_empty());
}

#[tokio::test]
async fn backup_opens_with_common_tools() {
    let (installation, _) = demo(Engine::Sqlite).await;
    let path = archive(&installation).await;
    let folder = installation.folder().join("by-hand");
    fs::create_dir(&folder).unwrap();
    let script = format!(
        "set -e; cd {}; tar xf {}; zstd -q -d database.sqlite.zst; sqlite3 database.sqlite 'SELECT count(*) FROM leads'; \
         zstd -q -d -c files.jsonl.zst",
        folder.display(),
        path.display()
    );
    let shell = Command::new("sh").args(["-c", &script]).output().await.unwrap();
    assert!(shell.status.success(), "{shell:?}");
    let printed = String::from_utf8(shell.stdout).unwrap();
    let (leads, lines) = printed.split_once('\n').unwrap();
    let manifest: Value = serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["tables"]["leads"]["rows"].to_string(), leads);
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let content = fs::read(folder.join("files").join(line["name"].as_str().unwrap())).unwrap();
        let digest: String = Sha256::digest(&content)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            (line["bytes"].as_u64().unwrap(), line["sha256"].as_str().unwrap()),
            (content.len() as u64, &*digest)
        );
    }
    let text = fs::read_to_string(folder.join("manifest.json")).unwrap();
    let (before, after) = text.rsplit_once(",\"sha256\":\"").unwrap();
    let digest: String = Sha256::digest(before)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(after, format!("{digest}\"}}"));
    let database = fs::read(folder.join("database.sqlite")).unwrap();
    let digest: String = Sha256::digest(&database)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(manifest["database"]["unpacked_sha256"], digest);
    let piped = installation
        .piped_into(["backup", "--output", "-"], "tar t")
        .await
        .succeeded();
    let members: Vec<&str> = piped.lines().collect();
    assert_eq!(
        (members[0], *members.last().unwrap()),
        ("database.sqlite.zst", "manifest.json")
    );
    assert_eq!(members[members.len() - 2], "files.jsonl.zst");
}
