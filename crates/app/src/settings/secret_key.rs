//! The key that encrypts data that must not be readable in a stolen database, such as webhook secrets.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use forecourt_durable::{create_file, sync_folder};
use forecourt_kernel::Random;

use super::{Secret, Settings};

/// The length of a key in bytes.
const KEY_BYTES: usize = 32;
/// The file in the data directory that holds a key which this program made.
const FILE_NAME: &str = "secret.key";
/// The file of the key before, while a change is not finished, and that of the next one, while it is written.
const PREVIOUS_FILE_NAME: &str = "secret.key.previous";
const NEXT_FILE_NAME: &str = "secret.key.next";

/// Base64 as people paste it, with or without `=` at its end.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// 32 bytes that encrypt secrets at rest.
pub(crate) type SecretKey = Secret<[u8; KEY_BYTES]>;

pub(super) fn parse(text: &str) -> Result<SecretKey, &'static str> {
    let bytes = BASE64.decode(text.trim()).ok();
    bytes
        .and_then(|bytes| bytes.try_into().ok())
        .map(SecretKey::new)
        .ok_or("must be 32 bytes in base64, such as `openssl rand -base64 32` prints")
}

/// The reason why there is no key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretKeyError {
    /// Several servers may share the database, and all of them need the same key.
    #[error(
        "FORECOURT_SECRET_KEY must be set with PostgreSQL: 32 bytes in base64, the same for every server \
         (`openssl rand -base64 32` makes one)"
    )]
    Required,
    /// A change of keys needs both.
    #[error("FORECOURT_SECRET_KEY must hold the new key and FORECOURT_SECRET_KEY_PREVIOUS the one before")]
    NoPrevious,
    /// The file of the key has other content.
    #[error("the secret key file {0} does not hold 32 bytes in base64")]
    Malformed(PathBuf),
    /// The file of the key can neither be read nor made.
    #[error("the secret key file {path} cannot be {action}")]
    File {
        /// The file.
        path: PathBuf,
        /// The failed action, such as `read` or `made`.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl Settings {
    /// Returns the key: the configured one, or with SQLite the one in the data directory, which is created if it is missing.
    ///
    /// # Errors
    /// [`SecretKeyError`].
    pub(crate) fn working_secret_key(&self, random: &dyn Random) -> Result<SecretKey, SecretKeyError> {
        match &self.secret_key {
            Some(key) => Ok(key.clone()),
            None if self.database_url.is_postgres() => Err(SecretKeyError::Required),
            None => kept_key(&self.data_dir, random),
        }
    }

    /// Returns the key that is configured, or that the data directory has; `None` if there is none.
    ///
    /// # Errors
    /// [`SecretKeyError`] if its file cannot be used.
    pub(crate) fn known_secret_key(&self) -> Result<Option<SecretKey>, SecretKeyError> {
        match &self.secret_key {
            Some(key) => Ok(Some(key.clone())),
            None => read(&self.data_dir.join(FILE_NAME)),
        }
    }
}

/// The keys that a process works with.
#[derive(Debug)]
pub(crate) struct Keys {
    /// The key in use, or the one that is to be.
    pub(crate) current: forecourt_storage::SecretKey,
    /// The key before, while a change is not finished.
    pub(crate) previous: Option<forecourt_storage::SecretKey>,
}

impl Keys {
    fn new(current: &SecretKey, previous: Option<&SecretKey>) -> Self {
        let key = |key: &SecretKey| forecourt_storage::SecretKey::from_bytes(*key.reveal());
        Self {
            current: key(current),
            previous: previous.map(key),
        }
    }
}

impl Settings {
    /// Returns the keys to work with: the configured ones, or with SQLite those in the data directory.
    ///
    /// # Errors
    /// [`SecretKeyError`].
    pub(crate) fn working_keys(&self, random: &dyn Random) -> Result<Keys, SecretKeyError> {
        let current = self.working_secret_key(random)?;
        let kept = match (&self.secret_key, &self.secret_key_previous) {
            (None, None) => read(&self.data_dir.join(PREVIOUS_FILE_NAME))?,
            _ => None,
        };
        Ok(Keys::new(&current, self.secret_key_previous.as_ref().or(kept.as_ref())))
    }

    /// Returns the keys to work with, without making any; `None` if there is none yet.
    ///
    /// # Errors
    /// [`SecretKeyError`].
    pub(crate) fn found_keys(&self, random: &dyn Random) -> Result<Option<Keys>, SecretKeyError> {
        let is_kept = self.secret_key.is_none() && !self.database_url.is_postgres();
        if is_kept && read(&self.secret_key_file())?.is_none() {
            return Ok(None);
        }
        self.working_keys(random).map(Some)
    }

    /// Returns the file of a key that this program made.
    pub(crate) fn secret_key_file(&self) -> PathBuf {
        self.data_dir.join(FILE_NAME)
    }

    /// Returns the keys for a change: the configured ones, or with SQLite a new one in the data directory and the one before.
    /// A change that was interrupted gets the same ones again.
    ///
    /// # Errors
    /// [`SecretKeyError`].
    pub(crate) fn rotated_keys(&self, random: &dyn Random) -> Result<Keys, SecretKeyError> {
        match (&self.secret_key, &self.secret_key_previous) {
            (None, None) if self.database_url.is_postgres() => Err(SecretKeyError::Required),
            (None, None) => next_key(&self.data_dir, random),
            (Some(_), Some(_)) => self.working_keys(random),
            _ => Err(SecretKeyError::NoPrevious),
        }
    }

    /// Removes the key before from the data directory, once a change is done.
    ///
    /// # Errors
    /// [`SecretKeyError::File`].
    pub(crate) fn remove_previous_key(&self) -> Result<(), SecretKeyError> {
        let path = self.data_dir.join(PREVIOUS_FILE_NAME);
        if self.secret_key.is_some() {
            return Ok(());
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(unusable(&path, "removed", error)),
            _ => Ok(()),
        }
    }
}

/// Makes a new key in `folder` and keeps the one before beside it.
fn next_key(folder: &Path, random: &dyn Random) -> Result<Keys, SecretKeyError> {
    let (path, previous_path) = (folder.join(FILE_NAME), folder.join(PREVIOUS_FILE_NAME));
    let current = kept_key(folder, random)?;
    match read(&previous_path)? {
        Some(previous) if previous != current => return Ok(Keys::new(&current, Some(&previous))),
        // The last attempt ended between the two steps.
        Some(_) => {}
        None => {
            make(folder, PREVIOUS_FILE_NAME, current.reveal(), random)
                .map_err(|error| unusable(&previous_path, "made", error))?;
        }
    }
    let mut key = [0; KEY_BYTES];
    random.fill(&mut key);
    // Made under another name first, and then moved into its place: there is a complete key at any moment.
    let next_path = folder.join(NEXT_FILE_NAME);
    let moved = fs::remove_file(&next_path)
        .or_else(|error| {
            if error.kind() == ErrorKind::NotFound {
                Ok(())
            } else {
                Err(error)
            }
        })
        .and_then(|()| make(folder, NEXT_FILE_NAME, &key, random))
        .and_then(|()| fs::rename(&next_path, &path))
        .and_then(|()| sync_folder(folder));
    moved.map_err(|error| unusable(&path, "replaced", error))?;
    Ok(Keys::new(&SecretKey::new(key), Some(&current)))
}

/// Returns the key in `folder`, which the first call creates. Any number of processes may call this at once: all get the same
/// key.
fn kept_key(folder: &Path, random: &dyn Random) -> Result<SecretKey, SecretKeyError> {
    let path = folder.join(FILE_NAME);
    if let Some(key) = read(&path)? {
        // The process that created it may have been killed before it was durable. A key from elsewhere may be in a folder that
        // this account cannot open.
        let _ = sync_folder(folder);
        return Ok(key);
    }
    let mut key = [0; KEY_BYTES];
    random.fill(&mut key);
    let made = make(folder, FILE_NAME, &key, random);
    match made {
        Ok(()) => Ok(SecretKey::new(key)),
        // Another process was faster: its key is used.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            read(&path)?.ok_or_else(|| unusable(&path, "made", error))
        }
        Err(error) => Err(unusable(&path, "made", error)),
    }
}

fn read(path: &Path) -> Result<Option<SecretKey>, SecretKeyError> {
    match fs::read_to_string(path) {
        Ok(text) => parse(&text)
            .map(Some)
            .map_err(|_| SecretKeyError::Malformed(path.to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(path, "read", error)),
    }
}

/// Writes the key so that the file is complete or missing, and never replaces another.
fn make(folder: &Path, name: &str, key: &[u8; KEY_BYTES], random: &dyn Random) -> io::Result<()> {
    let mut suffix = [0; 8];
    random.fill(&mut suffix);
    let draft = format!("{FILE_NAME}.{:016x}", u64::from_le_bytes(suffix));
    create_file(folder, name, &draft, format!("{}\n", BASE64.encode(key)).as_bytes())
}

fn unusable(path: &Path, action: &'static str, source: io::Error) -> SecretKeyError {
    SecretKeyError::File {
        path: path.to_owned(),
        action,
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::system::SystemRandom;

    #[test]
    fn a_key_is_32_bytes_in_base64() {
        let text = BASE64.encode([7; 32]);
        assert_eq!(parse(&text).unwrap().reveal(), &[7; 32]);
        assert!(parse(text.trim_end_matches('=')).is_ok());
        for text in [
            "",
            "abc",
            &BASE64.encode([7; 31]),
            &BASE64.encode([7; 33]),
            "not base64 !",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn it_is_made_once_and_for_its_owner_only() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("not/there/yet");
        let first = kept_key(&folder, &SystemRandom).unwrap();
        assert_eq!(kept_key(&folder, &SystemRandom).unwrap(), first);
        let mode = fs::metadata(folder.join(FILE_NAME)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no draft is left behind");
    }

    #[test]
    fn many_at_once_agree() {
        let home = tempfile::tempdir().unwrap();
        let keys: Vec<_> = std::thread::scope(|scope| {
            let make = || scope.spawn(|| kept_key(home.path(), &SystemRandom).unwrap());
            let threads: Vec<_> = (0..8).map(|_| make()).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
    }

    #[test]
    fn a_next_key_is_made_once_until_the_change_is_done() {
        let home = tempfile::tempdir().unwrap();
        let first = kept_key(home.path(), &SystemRandom).unwrap();
        let next = next_key(home.path(), &SystemRandom).unwrap();
        let kept = kept_key(home.path(), &SystemRandom).unwrap();
        assert_ne!(kept, first);
        let id = |key: &SecretKey| Keys::new(key, None).current.id();
        assert_eq!(next.current.id(), id(&kept));
        assert_eq!(next.previous.unwrap().id(), id(&first));
        // Interrupted at any point, it goes on with the same keys.
        let again = next_key(home.path(), &SystemRandom).unwrap();
        assert_eq!(again.current.id(), id(&kept));
        fs::write(home.path().join(FILE_NAME), BASE64.encode(first.reveal())).unwrap();
        fs::write(home.path().join(NEXT_FILE_NAME), "half").unwrap();
        let resumed = next_key(home.path(), &SystemRandom).unwrap();
        assert_eq!(resumed.previous.unwrap().id(), id(&first));
        assert_ne!(resumed.current.id(), id(&first));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_spoilt_file_is_never_replaced() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(FILE_NAME), "half a k").unwrap();
        let error = kept_key(home.path(), &SystemRandom).unwrap_err();
        assert!(matches!(error, SecretKeyError::Malformed(_)), "{error}");
    }
}
