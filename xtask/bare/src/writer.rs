//! Creates leads on one thread that commits for all waiting requests: group commit in its simplest form.

use std::error::Error;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::{iter, thread};

use actix_web::web::Bytes;
use rusqlite::{Connection, TransactionBehavior};
use serde::Deserialize;
use tokio::sync::oneshot;

use crate::database::{BUSINESS, open, write_lead};

/// The maximum number of leads that share a commit.
const SHARING: usize = 64;
/// The members of a lead apart from those of the enquiry.
const REST: &str = concat!(
    r#"{"site":0,"channel":"api","phone":"","contact":null,"status":0,"rating":null,"summary":null,"session":"","#,
    r#""avatar":"","assign":[],"tag":[],"stat":true,"reopen":null,"ai":null,"#
);
/// The further members that a list shows.
const PREVIEW: &str = r#""site":0,"channel":"api","phone":"","contact":null,"status":{"id":0,"name":"new"},"rating":null,"summary":null,"#;

#[derive(Clone)]
pub(crate) struct Writer(Sender<Job>);

struct Job {
    enquiry: Bytes,
    /// Receives the lead once it is durable; dropped if it never will be.
    answer: oneshot::Sender<String>,
}

/// The members that are stored in columns of their own. The texts have no escapes.
#[derive(Deserialize)]
struct Enquiry<'a> {
    name: &'a str,
    email: &'a str,
    mobile: &'a str,
}

impl Writer {
    pub(crate) fn start(file: &Path) -> rusqlite::Result<Self> {
        let mut connection = open(file)?;
        connection.execute_batch("PRAGMA cache_size = -8192; PRAGMA wal_autocheckpoint = 2000;")?;
        // There is no other writer, so the latest numbers can be kept in memory.
        let mut numbers = connection.query_row(
            "SELECT max(number) FILTER (WHERE kind = 'leads'), max(number) FILTER (WHERE kind = 'events')
             FROM counters WHERE business_id = ?1",
            [BUSINESS],
            |row| Ok([row.get(0)?, row.get(1)?]),
        )?;
        let (sender, jobs) = mpsc::channel();
        thread::spawn(move || {
            while let Ok(first) = jobs.recv() {
                // On failure all answers are dropped with the error.
                let _ = commit(&mut connection, &mut numbers, first, &jobs);
            }
        });
        Ok(Self(sender))
    }

    /// Returns the lead made from this enquiry, once it is durable.
    pub(crate) async fn create(&self, enquiry: Bytes) -> Option<String> {
        let (answer, lead) = oneshot::channel();
        self.0.send(Job { enquiry, answer }).ok()?;
        lead.await.ok()
    }
}

/// Creates the leads of waiting jobs. `numbers` are the latest lead's reference and the latest event's sequence number.
fn commit(
    connection: &mut Connection,
    numbers: &mut [i64; 2],
    first: Job,
    others: &Receiver<Job>,
) -> Result<(), Box<dyn Error>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut done = Vec::with_capacity(SHARING);
    for Job { enquiry, answer } in iter::once(first).chain(others.try_iter()).take(SHARING) {
        done.push((insert(&transaction, numbers, &enquiry)?, answer));
    }
    transaction.commit()?;
    for (lead, answer) in done {
        // A client that disconnected needs no answer.
        let _ = answer.send(lead);
    }
    Ok(())
}

fn insert(connection: &Connection, numbers: &mut [i64; 2], enquiry: &[u8]) -> Result<String, Box<dyn Error>> {
    let enquiry = str::from_utf8(enquiry)?;
    let Enquiry { name, email, mobile } = serde_json::from_str(enquiry)?;
    let members = enquiry.strip_prefix('{').ok_or("an enquiry is an object")?;
    let document = format!("{REST}{members}");
    let preview = members.strip_suffix('}').ok_or("an enquiry is an object")?;

    *numbers = numbers.map(|number| number + 1);
    let [reference, sequence] = *numbers;
    let created: i64 = connection
        .prepare_cached("SELECT unixepoch()")?
        .query_one([], |row| row.get(0))?;
    let preview = format!(r#"{PREVIEW}"reference":{reference},"created":{created},"updated":{created},{preview}"#);
    let name = name.to_lowercase();
    connection
        .prepare_cached(
            "INSERT INTO leads (business_id, reference, site, channel, status, name_key, name_folded, email_folded,
                 mobile, created, updated, version, preview, document)
             VALUES (?1, ?2, 0, 'api', 0, ?3, ?3, ?4, ?5, ?6, ?6, 1, ?7, ?8)",
        )?
        .execute((BUSINESS, reference, &name, email, mobile, created, &preview, &document))?;
    let id = connection.last_insert_rowid();
    let mut lead = String::with_capacity(2 * document.len());
    write_lead(&mut lead, [id, reference, created, created], &document);
    connection
        .prepare_cached(
            "INSERT INTO events (business_id, sequence, id, name, record, data, created)
             VALUES (?1, ?2, 'evt_' || lower(hex(randomblob(16))), 'lead.created', ?3, ?4, ?5)",
        )?
        .execute((BUSINESS, sequence, id, &lead, created))?;
    Ok(format!(r#"{{"success":true,"data":{lead}}}"#))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;

    use super::*;
    use crate::reader::Reader;

    /// Creates the current schema, with a business.
    fn prepare(file: &Path) {
        let connection = Connection::open(file).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations/sqlite");
        let migrations = fs::read_dir(folder).unwrap();
        let mut migrations: Vec<_> = migrations.map(|entry| entry.unwrap().path()).collect();
        migrations.sort();
        for migration in migrations {
            let sql = fs::read_to_string(migration.join("up.sql")).unwrap();
            connection.execute_batch(&sql).unwrap();
        }
        let business = "INSERT INTO businesses
                (id, tag, name, email, country, website, verified, state, plan, api_access, settings, catalogue, created, updated, deleted)
            VALUES (1, 'a', 'A', '', 'GB', '', 0, 'active', 'scale', 1, '', '', 0, 0, NULL)";
        connection.execute_batch(business).unwrap();
        let counters = "INSERT INTO counters VALUES (1, 'leads', 0, 0, 0, 0, 0), (1, 'events', 0, 0, 0, 0, 0)";
        connection.execute_batch(counters).unwrap();
    }

    #[actix_web::test]
    async fn leads_are_created_with_an_event_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bare.db");
        prepare(&file);
        let writer = Writer::start(&file).unwrap();
        for name in ["Ann", "Bob"] {
            let enquiry = format!(r#"{{"name":"{name}","email":"a@example.com","mobile":"+447400000000"}}"#);
            let lead: Value = serde_json::from_str(&writer.create(enquiry.into()).await.unwrap()).unwrap();
            assert_eq!(lead["data"]["name"], name);
        }
        assert_eq!(writer.create(Bytes::from_static(b"{}")).await, None);

        let reader = Reader::open(&file).unwrap();
        let parse = |text: String| serde_json::from_str::<Value>(&text).unwrap();
        let lead = &parse(reader.lead(2).unwrap().unwrap())["data"];
        assert_eq!((&lead["reference"], &lead["name"]), (&2.into(), &"Bob".into()));
        assert_eq!(reader.lead(3).unwrap(), None);
        let first = parse(reader.first_page(0).unwrap());
        assert_eq!(
            (&first["meta"]["total"], &first["data"][0]["id"]),
            (&2.into(), &2.into())
        );
        let second = &parse(reader.page_before(0, 2).unwrap())["data"];
        assert_eq!((&second[0]["id"], &second[1]), (&1.into(), &Value::Null));

        let connection = Connection::open(&file).unwrap();
        let events = "SELECT count(*) FROM events WHERE sequence = record";
        let events: i64 = connection.query_row(events, (), |row| row.get(0)).unwrap();
        assert_eq!(events, 2);
    }
}
