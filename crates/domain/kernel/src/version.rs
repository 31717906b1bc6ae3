//! Versions of records. Readers recognise a newer state by them, and writers do not overwrite changes that they have not seen.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Serialize, Serializer};

/// The version of a record: 1 for a new record, raised by one with each change.
///
/// A record may also show data that is not its own and changes independently, such as the name of another record. If that data
/// differs from what it was at the record's last change, the version includes a digest of it ([`Version::shown_with`]). So two
/// representations of a record are the same if their versions are equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Version {
    number: i64,
    shown_with: u64,
}

impl Version {
    /// The version of a new record.
    pub const FIRST: Self = Self::new(1);

    /// The version with that number.
    pub const fn new(number: i64) -> Self {
        Self { number, shown_with: 0 }
    }

    /// The number, as in JSON.
    pub const fn number(self) -> i64 {
        self.number
    }

    /// The version after one more change.
    #[must_use]
    pub const fn next(self) -> Self {
        Self::new(self.number + 1)
    }

    /// The same version of the record, shown together with `content`, which the number does not cover.
    #[must_use]
    pub fn shown_with(self, content: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        (self.shown_with, content).hash(&mut hasher);
        Self {
            shown_with: hasher.finish(),
            ..self
        }
    }

    /// The digest of the other content with which the record is shown, if there is any.
    pub const fn digest(self) -> Option<u64> {
        match self.shown_with {
            0 => None,
            digest => Some(digest),
        }
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.number.serialize(serializer)
    }
}

/// The versions at which a record may be written (HTTP's `If-Match`). The default allows any.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Precondition(Option<Vec<i64>>);

impl Precondition {
    /// The record must be at one of the versions with these numbers.
    pub const fn one_of(numbers: Vec<i64>) -> Self {
        Self(Some(numbers))
    }

    /// Checks the `current` version of a record. The record must be locked, so that it is still at this version when it is
    /// written.
    ///
    /// # Errors
    /// [`VersionMismatch`] if it is at another version.
    pub fn check(&self, current: Version) -> Result<(), VersionMismatch> {
        match &self.0 {
            Some(numbers) if !numbers.contains(&current.number) => Err(VersionMismatch { current }),
            _ => Ok(()),
        }
    }
}

/// A record is not at the version that a write was meant for (`precondition_failed`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the record is at version {}", .current.number)]
pub struct VersionMismatch {
    /// The current version of the record.
    pub current: Version,
}

/// A record to be written, and the versions at which it may be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target<I> {
    /// The record's id.
    pub id: I,
    /// The versions at which it may be written.
    pub precondition: Precondition,
}

/// Accepts any version of the record.
impl<I> From<I> for Target<I> {
    fn from(id: I) -> Self {
        Self {
            id,
            precondition: Precondition::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_its_number_in_json() {
        assert_eq!(
            serde_json::to_string(&Version::FIRST.next().shown_with("x")).unwrap(),
            "2"
        );
    }

    #[test]
    fn what_a_record_is_shown_with_distinguishes_its_representations() {
        let plain = Version::new(3);
        assert_eq!(plain.digest(), None);
        assert_eq!(plain.shown_with("a"), plain.shown_with("a"));
        assert_ne!(plain.shown_with("a"), plain.shown_with("b"));
        assert_ne!(plain.shown_with("a"), plain);
        assert_ne!(plain.shown_with("a").shown_with("b"), plain.shown_with("b"));
        assert_eq!(plain.shown_with("a").next(), Version::new(4));
    }

    #[test]
    fn a_precondition_compares_the_number_alone() {
        let current = Version::new(3).shown_with("a");
        assert_eq!(Precondition::default().check(current), Ok(()));
        assert_eq!(Precondition::one_of(vec![1, 3]).check(current), Ok(()));
        for others in [vec![], vec![2, 4]] {
            let refused = Precondition::one_of(others).check(current);
            assert_eq!(refused, Err(VersionMismatch { current }));
        }
    }
}
