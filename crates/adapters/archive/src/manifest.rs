//! The manifest: the content of a backup, and the digests by which it is verified.

use std::collections::BTreeMap;

use forecourt_kernel::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ArchiveError;
use crate::files::FileMode;
use crate::pack::sha256_of;

/// The format that this program writes, and the latest that it reads.
pub const FORMAT: u64 = 1;

/// The content of a backup.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the format.
    pub format: u64,
    /// The version of the program that made it.
    pub program: String,
    /// The name of the latest migration.
    pub schema: String,
    /// The engine of the database: `sqlite` or `postgres`.
    pub engine: String,
    /// The time at which it was begun, in epoch seconds.
    pub created: i64,
    /// The installation.
    pub installation: String,
    /// The epoch of the database.
    pub epoch: i64,
    /// Recognises the secret key; `None` if none was known.
    pub key: Option<String>,
    /// The member with the database.
    pub database: DatabaseEntry,
    /// The tables.
    pub tables: BTreeMap<String, TableEntry>,
    /// The businesses, with the numbers that they have given out.
    pub businesses: Vec<BusinessEntry>,
    /// The files.
    pub files: FilesEntry,
}

/// The member with the database.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DatabaseEntry {
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: String,
    /// The length of the database itself.
    pub unpacked_bytes: u64,
    /// The SHA-256 of the database itself.
    pub unpacked_sha256: String,
}

/// A table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TableEntry {
    /// The number of its rows.
    pub rows: u64,
    /// Their digest.
    pub digest: String,
}

/// A business, and the numbers that it has given out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BusinessEntry {
    /// Its id.
    pub id: i64,
    /// Its tag.
    pub tag: String,
    /// The oldest event that is kept; the next one if none is.
    pub first_event: i64,
    /// The event that was recorded last.
    pub last_event: i64,
    /// The latest reference of a lead.
    pub lead_reference: i64,
    /// The latest number of an invoice.
    pub invoice_number: i64,
    /// The latest number of a credit note.
    pub credit_number: i64,
    /// The head of its audit chain; `None` where there is no audit log.
    pub audit_head: Option<String>,
}

/// The files.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FilesEntry {
    /// The way in which they are in the backup.
    pub mode: FileMode,
    /// Their number, without those that were gone.
    pub count: u64,
    /// Their lengths together.
    pub bytes: u64,
}

/// The text between the rest of a manifest and its own digest.
const SEAL: &str = ",\"sha256\":\"";

impl Manifest {
    /// Returns the time at which it was begun.
    #[must_use]
    pub const fn time(&self) -> Timestamp {
        Timestamp::from_epoch_seconds(self.created)
    }

    /// Returns the number of rows of all tables together.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.tables.values().map(|table| table.rows).sum()
    }

    /// Writes it, with the digest of what comes before that.
    ///
    /// # Errors
    /// None known: every manifest can be written as JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ArchiveError> {
        let mut text = serde_json::to_string(self).map_err(|error| ArchiveError::Damaged(error.to_string()))?;
        text.pop();
        let digest = sha256_of(text.as_bytes());
        Ok(format!("{text}{SEAL}{digest}\"}}").into_bytes())
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`ArchiveError::NewerFormat`], [`ArchiveError::Encrypted`], or `Damaged` if it is not what was written.
    pub fn read(bytes: &[u8]) -> Result<Self, ArchiveError> {
        let damaged = |what: &str| ArchiveError::Damaged(format!("manifest.json {what}"));
        let text = str::from_utf8(bytes).map_err(|_| damaged("is not UTF-8"))?;
        let document: Value = serde_json::from_str(text).map_err(|error| damaged(&format!("is no JSON: {error}")))?;
        let format = document
            .get("format")
            .and_then(Value::as_u64)
            .ok_or_else(|| damaged("has no format"))?;
        if format > FORMAT {
            let program = document
                .get("program")
                .and_then(Value::as_str)
                .unwrap_or("of a later version");
            return Err(ArchiveError::NewerFormat {
                format,
                program: program.to_owned(),
            });
        }
        if document.get("encrypted") == Some(&Value::Bool(true)) {
            return Err(ArchiveError::Encrypted);
        }
        let (before, after) = text
            .rsplit_once(SEAL)
            .ok_or_else(|| damaged("has no sha256 at its end"))?;
        let digest = after
            .trim_end()
            .strip_suffix("\"}")
            .ok_or_else(|| damaged("goes on after its sha256"))?;
        if digest != sha256_of(before.as_bytes()) {
            return Err(damaged("is not what its sha256 says"));
        }
        serde_json::from_value(document).map_err(|error| damaged(&format!("cannot be understood: {error}")))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn a_manifest() -> Manifest {
        Manifest {
            format: FORMAT,
            program: "0.1.0".to_owned(),
            schema: "2026-11-21-000000_meta".to_owned(),
            engine: "sqlite".to_owned(),
            created: 1_795_663_860,
            installation: "i".to_owned(),
            epoch: 0,
            key: None,
            database: DatabaseEntry {
                bytes: 1,
                sha256: "a".to_owned(),
                unpacked_bytes: 2,
                unpacked_sha256: "b".to_owned(),
            },
            tables: BTreeMap::new(),
            businesses: Vec::new(),
            files: FilesEntry {
                mode: FileMode::All,
                count: 0,
                bytes: 0,
            },
        }
    }

    #[test]
    fn a_manifest_ends_with_the_digest_of_what_precedes_it() {
        let bytes = a_manifest().to_bytes().unwrap();
        assert_eq!(Manifest::read(&bytes).unwrap(), a_manifest());
        let text = String::from_utf8(bytes.clone()).unwrap();
        let comma = text.rfind(",\"sha256\"").unwrap();
        assert_eq!(
            text[comma..],
            format!(",\"sha256\":\"{}\"}}", sha256_of(&text.as_bytes()[..comma]))
        );
        assert!(
            text.starts_with("{\"format\":1,\"program\":\"0.1.0\",\"schema\":"),
            "{text}"
        );
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(Manifest::read(&flipped).is_err(), "byte {at} can be flipped unnoticed");
        }
    }

    #[test]
    fn a_later_format_names_its_program() {
        let later = br#"{"format":2,"program":"9.9.9","new":true}"#;
        let refusal = Manifest::read(later).unwrap_err().to_string();
        assert!(refusal.contains("format 2") && refusal.contains("9.9.9"), "{refusal}");
        let encrypted = br#"{"format":1,"created":1,"encrypted":true}"#;
        assert!(matches!(Manifest::read(encrypted), Err(ArchiveError::Encrypted)));
    }
}
