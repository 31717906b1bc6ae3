//! The register of people's data names every place that there is.

use std::collections::{BTreeMap, BTreeSet};

use forecourt_kernel::EventName;
use forecourt_storage::{Storage, personal};

use serde_json::Value;

use crate::installation::{Installation, both_engines};

both_engines! {
    every_column_is_in_the_register,
}

/// The engine's own tables, and the pages of indexes of texts, which the register has by names of their own.
const ENGINE: [&str; 3] = ["sqlite_", "__diesel_schema_migrations", "forecourt_migrations"];
const INDEX_PAGES: [&str; 3] = ["_search_config", "_search_data", "_search_idx"];

/// The columns of every table, as the database has them.
async fn columns(installation: &Installation) -> BTreeMap<String, BTreeSet<String>> {
    let query = match installation.storage {
        Storage::Sqlite(_) => {
            "SELECT tables.name || '.' || columns.name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns \
             WHERE tables.type IN ('table', 'view')"
        }
        Storage::Postgres(_) => {
            "SELECT concat(table_name, '.', column_name) FROM information_schema.columns WHERE table_schema = 'public'"
        }
    };
    let all = installation.texts(query).await;
    let mut columns: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for place in all {
        let (table, column) = place.split_once('.').unwrap();
        let is_ours = !ENGINE.iter().any(|prefix| table.starts_with(prefix));
        if is_ours && !INDEX_PAGES.iter().any(|suffix| table.ends_with(suffix)) {
            columns.entry(table.to_owned()).or_default().insert(column.to_owned());
        }
    }
    columns
}

/// The columns of every table, as the register has them.
fn registered(installation: &Installation) -> BTreeMap<String, BTreeSet<String>> {
    let mut columns: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for table in installation.storage.personal_tables() {
        let personal = table.personal.iter().map(|held| held.place);
        for column in personal.chain(table.impersonal.iter().copied()) {
            let is_new = columns
                .entry(table.table.to_owned())
                .or_default()
                .insert(column.to_owned());
            assert!(is_new, "{}.{column} stands there twice", table.table);
        }
    }
    columns
}

/// The differences between what there is and what is registered.
fn missing(there: &BTreeMap<String, BTreeSet<String>>, known: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut missing = Vec::new();
    for (table, columns) in there {
        let known = known.get(table).cloned().unwrap_or_default();
        missing.extend(columns.difference(&known).map(|column| format!("{table}.{column}")));
    }
    missing
}

async fn every_column_is_in_the_register(installation: Installation) {
    let registered = registered(&installation);
    let there = columns(&installation).await;
    assert_eq!(
        missing(&there, &registered),
        Vec::<String>::new(),
        "each area declares its tables"
    );
    // A place that only one engine has is no fault on the other.
    let sqlite_alone = |place: &String| place.contains("_search");
    let mut gone = missing(&registered, &there);
    if matches!(installation.storage, Storage::Postgres(_)) {
        gone.retain(|place| !sqlite_alone(place));
    }
    assert_eq!(gone, Vec::<String>::new(), "these are in the register alone");

    installation
        .execute("CREATE TABLE customers_to_come (id BIGINT, name TEXT)")
        .await;
    installation.execute("ALTER TABLE leads ADD COLUMN nickname TEXT").await;
    let there = columns(&installation).await;
    let expected = ["customers_to_come.id", "customers_to_come.name", "leads.nickname"];
    assert_eq!(missing(&there, &registered), expected, "a new place is noticed");
}

#[test]
fn every_event_is_in_the_register() {
    let resources: BTreeSet<&str> = EventName::ALL.iter().map(|event| event.resource()).collect();
    let registered: BTreeSet<&str> = personal::EVENTS.iter().map(|held| held.place).collect();
    assert_eq!(registered, resources);
}

#[test]
fn every_upload_is_in_the_register() {
    let document: Value = serde_json::from_str(include_str!("../../../../../docs/openapi.json")).unwrap();
    let mut uploads = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            let contents = operation.pointer("/requestBody/content").and_then(Value::as_object);
            for content in contents.into_iter().flatten().map(|(_, content)| content) {
                let reference = content
                    .pointer("/schema/$ref")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let schema = document
                    .pointer(reference.trim_start_matches('#'))
                    .unwrap_or(&content["schema"]);
                if schema.pointer("/properties/file").is_some() {
                    uploads.insert(path.as_str());
                }
            }
        }
    }
    let registered: BTreeSet<&str> = personal::UPLOADS.iter().map(|held| held.place).collect();
    assert_eq!(registered, uploads);
}
