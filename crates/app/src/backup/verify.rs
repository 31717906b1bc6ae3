//! Verifying a backup: the proof that it can be restored.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Display,
    path::{Path, PathBuf},
    sync::Arc,
};

use forecourt_archive::{
    ArchiveError, Backup, BusinessEntry, DATABASE, Fetched, FileLine, FileMode, FilePath, Manifest, VerifyLevel,
    decompress_file,
};
use forecourt_dealership::Database;
use forecourt_files::{BlobStore, FileAddresses};
use forecourt_kernel::{BusinessId, Clock, EventSequence, PageRequest, Random, StoreResult, View};
use forecourt_storage::{Config, Fault, Snapshot, Storage};
use serde::Serialize;

use super::{
    BackupError, blocking, key_mark, storage_key,
    take::{SharedProgress, business_entry},
};
use crate::{
    scratch::Scratch,
    settings::SecretKey,
    system::{SystemClock, SystemRandom},
};

/// The most faults that are reported.
const MAX_FAULTS: usize = 100;
/// The number of businesses whose lists are read: the largest, and as many by chance.
const READ_BUSINESSES: usize = 10;

/// A verification to make.
pub(crate) struct Verifying<'a> {
    /// The backup.
    pub(crate) backup: &'a Backup,
    /// The thoroughness.
    pub(crate) level: VerifyLevel,
    /// The secret key, if it is known.
    pub(crate) key: Option<SecretKey>,
    /// The content of the installation's files, which a backup may refer to.
    pub(crate) files: Arc<dyn BlobStore>,
    /// The data folder.
    pub(crate) data_dir: &'a Path,
    /// True if progress is shown.
    pub(crate) shown: bool,
}

/// The result of a verification.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct VerifyReport {
    /// True if no fault was found.
    pub(crate) ok: bool,
    /// The backup's name.
    pub(crate) backup: String,
    /// The faults, the first hundred.
    pub(crate) faults: Vec<FaultLine>,
    /// The parts that were not looked at.
    #[serde(skip)]
    pub(crate) skipped: Vec<String>,
}

/// A fault, as it is shown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FaultLine {
    /// The rule that is broken.
    pub(crate) what: String,
    /// The place.
    #[serde(rename = "where")]
    pub(crate) place: String,
    /// The state that was found.
    pub(crate) found: String,
}

impl From<Fault> for FaultLine {
    fn from(Fault { what, place, found }: Fault) -> Self {
        Self { what, place, found }
    }
}

/// The faults found so far.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) faults: Vec<Fault>,
}

impl Faults {
    fn add(&mut self, what: &str, place: impl Display, found: impl Display) {
        self.extend([Fault::new(what, place, found)]);
    }

    fn extend(&mut self, faults: impl IntoIterator<Item = Fault>) {
        let room = MAX_FAULTS.saturating_sub(self.faults.len());
        self.faults.extend(faults.into_iter().take(room));
    }

    /// Notes a failure to look at something as a fault of it.
    fn take<T>(&mut self, place: &str, result: StoreResult<T>) -> Option<T> {
        match result {
            Ok(found) => Some(found),
            Err(error) => {
                self.add(READABLE, place, crate::output::chain(&error));
                None
            }
        }
    }

    fn compare(&mut self, what: &str, place: &str, found: impl Display, expected: impl Display) {
        let (found, expected) = (found.to_string(), expected.to_string());
        if found != expected {
            self.add(what, place, format_args!("{found}, the manifest says {expected}"));
        }
    }
}

const READABLE: &str = "what is recorded can be read";

/// Verifies a backup.
///
/// # Errors
/// [`BackupError`] if it cannot be read at all.
pub(crate) async fn verify(verifying: Verifying<'_>) -> Result<VerifyReport, BackupError> {
    let backup = verifying.backup;
    let manifest = backup.manifest();
    let scratch = Scratch::with_room(verifying.data_dir, manifest.database.unpacked_bytes)?;
    let Checked {
        mut faults,
        snapshot,
        lines,
    } = check(backup, &scratch).await?;
    let mut skipped = Vec::new();
    if verifying.level == VerifyLevel::Full {
        if let Some(snapshot) = snapshot {
            check_contents(&verifying, snapshot, &mut faults, &mut skipped).await?;
        }
        match (manifest.files.mode, lines) {
            (FileMode::None, _) => skipped.push("the files, which are not in the backup".to_owned()),
            (mode, Some(lines)) => {
                if mode == FileMode::Reference {
                    skipped.push(
                        "the content of files, which the backup only refers to: sizes and entity tags".to_owned(),
                    );
                }
                check_files(&verifying, &scratch, &lines, &mut faults).await?;
            }
            (_, None) => {}
        }
    } else {
        skipped.push("all that --quick leaves out".to_owned());
    }
    Ok(VerifyReport {
        ok: faults.faults.is_empty(),
        backup: backup.stamp().to_string(),
        faults: faults.faults.into_iter().map(FaultLine::from).collect(),
        skipped,
    })
}

/// The result of the quick part.
pub(super) struct Checked {
    pub(super) faults: Faults,
    /// The database, if it can be opened.
    pub(super) snapshot: Option<Snapshot>,
    pub(super) lines: Option<Vec<FileLine>>,
}

/// The path in a scratch folder that the database of a backup is unpacked to.
pub(super) fn unpacked(scratch: &Scratch) -> PathBuf {
    scratch.path("unpacked.sqlite")
}

/// Checks the members, and unpacks the database into the scratch folder.
pub(super) async fn check(backup: &Backup, scratch: &Scratch) -> Result<Checked, BackupError> {
    let manifest = backup.manifest().clone();
    let mut faults = Faults::default();
    let lines = match backup.files().await {
        Ok(lines) => {
            let present = || lines.iter().filter(|line| !line.gone);
            let what = "the list of files is the manifest's";
            let count = present().count();
            faults.compare(what, "files.jsonl.zst", count, manifest.files.count);
            let bytes: u64 = present().map(|line| line.bytes).sum();
            faults.compare(what, "files.jsonl.zst, in bytes", bytes, manifest.files.bytes);
            Some(lines)
        }
        Err(ArchiveError::Damaged(found)) => {
            faults.add(READABLE, "files.jsonl.zst", found);
            None
        }
        Err(error) => return Err(error.into()),
    };
    let packed = scratch.path("packed.sqlite.zst");
    let fetched = match backup.fetch(DATABASE, &packed).await {
        Ok(fetched) => fetched,
        Err(ArchiveError::Damaged(found)) => {
            faults.add(READABLE, DATABASE, found);
            return Ok(Checked {
                faults,
                snapshot: None,
                lines,
            });
        }
        Err(error) => return Err(error.into()),
    };
    let database = unpacked(scratch);
    let (faults, snapshot) = blocking(move || {
        let snapshot = check_database(&manifest, &fetched, &packed, &database, &mut faults)?;
        Ok::<_, BackupError>((faults, snapshot))
    })
    .await?;
    Ok(Checked {
        faults,
        snapshot,
        lines,
    })
}

fn check_database(
    manifest: &Manifest,
    fetched: &Fetched,
    packed: &Path,
    database: &Path,
    faults: &mut Faults,
) -> Result<Option<Snapshot>, BackupError> {
    let expected = &manifest.database;
    let what = "the database is the one of the manifest";
    faults.compare(what, "database.sqlite.zst, in bytes", fetched.bytes, expected.bytes);
    faults.compare(
        what,
        "database.sqlite.zst, by SHA-256",
        &fetched.sha256,
        &expected.sha256,
    );
    let (bytes, sha256) = match decompress_file(packed, database, expected.unpacked_bytes) {
        Ok(unpacked) => unpacked,
        Err(ArchiveError::Damaged(found)) => {
            faults.add(READABLE, DATABASE, found);
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    // It is not needed any more, and its room is.
    let _ = std::fs::remove_file(packed);
    faults.compare(what, "the unpacked database, in bytes", bytes, expected.unpacked_bytes);
    faults.compare(
        what,
        "the unpacked database, by SHA-256",
        &sha256,
        &expected.unpacked_sha256,
    );
    let Some(mut snapshot) = faults.take("the unpacked database", Snapshot::open(database)) else {
        return Ok(None);
    };
    let structure = snapshot.structural_faults(false);
    for found in faults.take("the unpacked database", structure).unwrap_or_default() {
        faults.add("the database is whole", "the unpacked database", found);
    }
    let rows = snapshot.rows();
    if let Some(rows) = faults.take("the tables", rows) {
        let counts = manifest
            .tables
            .iter()
            .map(|(name, table)| (name.clone(), table.rows))
            .collect();
        compare_tables("a table has the rows of the manifest", faults, &rows, &counts);
    }
    Ok(Some(snapshot))
}

fn compare_tables<T: Display + PartialEq>(
    what: &str,
    faults: &mut Faults,
    found: &BTreeMap<String, T>,
    expected: &BTreeMap<String, T>,
) {
    for (name, expected) in expected {
        match found.get(name) {
            Some(found) if found == expected => {}
            Some(found) => faults.add(what, name, format_args!("{found}, the manifest says {expected}")),
            None => faults.add(what, name, "the table is not there"),
        }
    }
    for name in found.keys().filter(|name| !expected.contains_key(*name)) {
        faults.add(what, name, "the manifest does not name the table");
    }
}

/// Checks every rule on the rows of the database, and brings it up to date.
async fn check_contents(
    verifying: &Verifying<'_>,
    mut snapshot: Snapshot,
    faults: &mut Faults,
    skipped: &mut Vec<String>,
) -> Result<(), BackupError> {
    let manifest = verifying.backup.manifest().clone();
    let key = verifying
        .key
        .clone()
        .filter(|key| manifest.key.as_ref().is_none_or(|mark| *mark == key_mark(key)));
    match (&verifying.key, &key) {
        (None, _) => skipped.push("secrets and stored answers: the secret key is not known".to_owned()),
        (Some(_), None) => skipped.push("secrets and stored answers: the secret key is not the backup's".to_owned()),
        _ => {}
    }
    let progress = SharedProgress::new(verifying.shown, "rows", Some(manifest.rows()));
    let mut so_far = std::mem::take(faults);
    let (found, path, readable) = blocking(move || {
        check_rows(&manifest, &mut snapshot, &mut so_far, &progress);
        let readable = match snapshot.migrate() {
            Ok(()) => {
                let compared = compare_businesses(&mut snapshot, &manifest);
                so_far.extend_from("the businesses", compared);
                check_rules(&mut snapshot, key.as_ref(), &mut so_far);
                let businesses = snapshot.businesses_by_size();
                so_far.take("the businesses", businesses)
            }
            Err(error) => {
                so_far.add(
                    "the database can be brought up to date",
                    &manifest.schema,
                    crate::output::chain(&error),
                );
                None
            }
        };
        let path = snapshot.path().to_owned();
        drop(snapshot);
        Ok::<_, BackupError>((so_far, path, readable))
    })
    .await?;
    *faults = found;
    if let Some(businesses) = readable {
        read_lists(&path, businesses, faults).await;
    }
    Ok(())
}

fn check_rows(manifest: &Manifest, snapshot: &mut Snapshot, faults: &mut Faults, progress: &SharedProgress) {
    const PLACE: &str = "the unpacked database";
    let structure = snapshot.structural_faults(true);
    for found in faults.take(PLACE, structure).unwrap_or_default() {
        faults.add("the database is whole", PLACE, found);
    }
    let dangling = snapshot.dangling_references();
    for (table, found) in faults.take(PLACE, dangling).unwrap_or_default() {
        faults.add("every reference leads to a row", table, found);
    }
    let digests = snapshot.digests(|rows| progress.reach(rows));
    if let Some(digests) = faults.take("the tables", digests) {
        let found = digests.into_iter().map(|(name, table)| (name, table.digest)).collect();
        let expected = manifest
            .tables
            .iter()
            .map(|(name, table)| (name.clone(), table.digest.clone()))
            .collect();
        compare_tables("a table has the digest of the manifest", faults, &found, &expected);
    }
}

/// Checks what the rows must fulfil, in a database of this program's schema.
fn check_rules(snapshot: &mut Snapshot, key: Option<&SecretKey>, faults: &mut Faults) {
    let numbers = snapshot.number_faults();
    faults.extend_from("the numbers", numbers);
    let listings = snapshot.listing_faults(forecourt_listings::content_hash);
    faults.extend_from("the listings", listings);
    if let Some(key) = key {
        let secrets = snapshot.secret_faults(&storage_key(key));
        faults.extend_from("the secrets", secrets);
    }
}

impl Faults {
    fn extend_from(&mut self, place: &str, found: StoreResult<Vec<Fault>>) {
        let found = self.take(place, found).unwrap_or_default();
        self.extend(found);
    }
}

/// Compares the businesses of a database with those of the manifest.
pub(super) fn compare_businesses(snapshot: &mut Snapshot, manifest: &Manifest) -> StoreResult<Vec<Fault>> {
    let found: BTreeMap<i64, BusinessEntry> = snapshot
        .businesses()?
        .into_iter()
        .map(business_entry)
        .map(|entry| (entry.id, entry))
        .collect();
    let what = "a business has the numbers of the manifest";
    let mut faults = Vec::new();
    for entry in &manifest.businesses {
        let place = format!("business {} ({})", entry.id, entry.tag);
        match found.get(&entry.id) {
            None => faults.push(Fault::new(what, place, "it is not there")),
            Some(found)
                if (
                    found.first_event,
                    found.last_event,
                    found.lead_reference,
                    found.invoice_number,
                    found.credit_number,
                ) != (
                    entry.first_event,
                    entry.last_event,
                    entry.lead_reference,
                    entry.invoice_number,
                    entry.credit_number,
                ) =>
            {
                let shown = |entry: &BusinessEntry| {
                    format!(
                        "events {} to {}, lead reference {}, invoice {}, credit note {}",
                        entry.first_event,
                        entry.last_event,
                        entry.lead_reference,
                        entry.invoice_number,
                        entry.credit_number
                    )
                };
                faults.push(Fault::new(
                    what,
                    place,
                    format_args!("{}; the manifest says {}", shown(found), shown(entry)),
                ));
            }
            Some(_) => {}
        }
    }
    Ok(faults)
}

/// Reads the first page of every list of some businesses, as a server would.
async fn read_lists(path: &Path, mut businesses: Vec<BusinessId>, faults: &mut Faults) {
    let mut chosen: Vec<BusinessId> = businesses.drain(..businesses.len().min(READ_BUSINESSES)).collect();
    for _ in 0..READ_BUSINESSES.min(businesses.len()) {
        let mut drawn = [0; 8];
        SystemRandom.fill(&mut drawn);
        let drawn = usize::try_from(u64::from_be_bytes(drawn) % businesses.len().max(1) as u64).unwrap_or_default();
        chosen.push(businesses.swap_remove(drawn));
    }
    let opened = Storage::open(&Config::new(format!("sqlite://{}", path.display()))).await;
    let storage = match opened {
        Ok(storage) => storage,
        Err(error) => {
            faults.add(READABLE, "the database", crate::output::chain(&error));
            return;
        }
    };
    let database = storage.database(forecourt_storage::Ports {
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        secret_key: None,
        policy: forecourt_webhooks::Policy::default(),
        watcher: None,
        files: FileAddresses::new("http://localhost"),
        mails_per_day: None,
    });
    for business in chosen {
        for (list, read) in read_each(&*database, business).await {
            faults.take(&format!("the {list} of business {business}"), read);
        }
    }
}

async fn read_each(database: &dyn Database, business: BusinessId) -> Vec<(&'static str, StoreResult<()>)> {
    let mut session = match database.read_for(Some(business)).await {
        Ok(session) => session,
        Err(error) => return vec![("lists", Err(error))],
    };
    let (page, now) = (PageRequest::first(), SystemClock.now());
    let leads = session.leads(business, &Default::default(), &page).await.map(drop);
    let previews = session
        .lead_previews(business, &Default::default(), &page)
        .await
        .map(drop);
    let contacts = session
        .contacts(business, &Default::default(), &page, View::Full)
        .await
        .map(drop);
    let vehicles = session.vehicles(business, &Default::default(), &page).await.map(drop);
    let listings = session
        .listings(business, &Default::default(), now, &page)
        .await
        .map(drop);
    let articles = session
        .articles(business, &Default::default(), now, &page)
        .await
        .map(drop);
    let reviews = session.reviews(business, &Default::default(), &page).await.map(drop);
    let calls = session.calls(business, &Default::default(), &page).await.map(drop);
    let deals = session.deals(business, &Default::default(), &page).await.map(drop);
    let appointments = session
        .appointments(business, &Default::default(), &page)
        .await
        .map(drop);
    let webhooks = session.webhooks(business, &page).await.map(drop);
    let events = session
        .events(business, &Default::default(), EventSequence(0), page.per_page)
        .await
        .map(drop);
    vec![
        ("leads", leads),
        ("leads in the simple view", previews),
        ("contacts", contacts),
        ("vehicles", vehicles),
        ("listings", listings),
        ("articles", articles),
        ("reviews", reviews),
        ("calls", calls),
        ("deals", deals),
        ("appointments", appointments),
        ("webhooks", webhooks),
        ("events", events),
    ]
}

/// Checks that every recorded file is there, with its content.
async fn check_files(
    verifying: &Verifying<'_>,
    scratch: &Scratch,
    lines: &[FileLine],
    faults: &mut Faults,
) -> Result<(), BackupError> {
    let database = unpacked(scratch);
    let recorded = blocking(move || match Snapshot::open(&database) {
        Ok(mut snapshot) => Ok::<_, BackupError>(snapshot.files()),
        Err(error) => Ok(Err(error)),
    })
    .await?;
    let Some(recorded) = faults.take("the records of files", recorded) else {
        return Ok(());
    };
    let listed: HashMap<&str, &FileLine> = lines.iter().map(|line| (line.name.as_str(), line)).collect();
    let is_copied = verifying.backup.manifest().files.mode == FileMode::All;
    let progress = SharedProgress::new(
        verifying.shown && !recorded.is_empty(),
        "files",
        Some(recorded.len() as u64),
    );
    for (done, file) in (0..).zip(recorded) {
        progress.reach(done);
        let Ok(name) = file.name.parse() else {
            faults.add(
                READABLE,
                format_args!("the record of the file {:?}", file.name),
                "it is no file's name",
            );
            continue;
        };
        let path = FilePath {
            business: file.business,
            name,
        };
        let path = path.to_string();
        let Some(line) = listed.get(path.as_str()) else {
            faults.add(FILE_RULE, &path, "files.jsonl.zst does not name it");
            continue;
        };
        if line.gone {
            continue;
        }
        let found = if is_copied {
            match verifying.backup.file(&path).await? {
                Some(open) => Some(format!("{}", Shown(Fetched::of(open.content).await?))),
                None => None,
            }
        } else {
            let blob = verifying.files.stat(&path).await?;
            blob.map(|blob| match (blob.etag, &line.etag) {
                (Some(etag), Some(_)) => format!("{} bytes, entity tag {etag}", blob.size),
                _ => format!("{} bytes", blob.size),
            })
        };
        let expected = match (&line.etag, is_copied) {
            (_, true) => format!(
                "{}",
                Shown(Fetched {
                    bytes: file.bytes,
                    sha256: file.sha256
                })
            ),
            (Some(etag), false) => format!("{} bytes, entity tag {etag}", line.bytes),
            (None, false) => format!("{} bytes", line.bytes),
        };
        match found {
            Some(found) if found == expected => {}
            Some(found) => faults.add(FILE_RULE, &path, format_args!("{found}; recorded are {expected}")),
            None => faults.add(FILE_RULE, &path, "it is missing"),
        }
    }
    Ok(())
}

const FILE_RULE: &str = "every recorded file is there with its content";

/// Writes the length and the digest of content.
struct Shown(Fetched);

impl Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes with the SHA-256 {}", self.0.bytes, self.0.sha256)
    }
}
