//! Conditional requests (RFC 9110, section 13): a record's version as its entity tag, `If-None-Match` and `If-Match`.

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use forecourt_accounts::Business;
use forecourt_kernel::{Epoch, Precondition, Timestamp, Version, View};

use crate::{credentials::CACHE_TTL, error::ApiError};

/// The maximum number of bytes of a header with entity tags.
pub(crate) const MAX_TAGS_BYTES: usize = 4096;

/// The state of a record that an answer shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordState {
    pub(crate) version: Version,
    pub(crate) updated: Timestamp,
}

impl RecordState {
    /// Returns the entity tag of the record in `view`: `"<version>"`, `"<version>-simple"`. If it shows data that changed
    /// without it, such as another record's name or a text of the business, a digest of that data follows. In a later `epoch`
    /// all tags end in `-e<epoch>`.
    pub(crate) fn entity_tag(self, view: View, business: &Business, epoch: Epoch) -> String {
        let Self { version, updated } = self;
        // A server may use the previous state of the business for a while, and shows the same in that time as before the
        // change.
        let cache_ttl = i64::try_from(CACHE_TTL.as_secs()).unwrap_or(i64::MAX);
        let version = if business.updated > business.created && updated <= business.updated.plus_seconds(cache_ttl) {
            version.shown_with(business.updated)
        } else {
            version
        };
        let view = match view {
            View::Full => "",
            View::Simple => "-simple",
        };
        let digest = version.digest().map(|digest| format!("-{digest:016x}"));
        let (digest, epoch) = (digest.unwrap_or_default(), epoch.mark());
        format!("\"{}{view}{digest}{epoch}\"", version.number())
    }
}

/// The entity tags that a header lists.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum EntityTags {
    /// There is no such header.
    #[default]
    Absent,
    /// `*`: any version.
    Any,
    /// The text between the quotes of each tag, including weak ones.
    Listed(Vec<Vec<u8>>),
    /// Anything else.
    Malformed,
}

impl EntityTags {
    /// Reads the entity tags of `If-None-Match`.
    pub(crate) fn if_none_match(headers: &HeaderMap) -> Self {
        Self::read(headers, &IF_NONE_MATCH)
    }

    fn read(headers: &HeaderMap, name: &HeaderName) -> Self {
        let mut lines = headers.get_all(name).map(HeaderValue::as_bytes);
        let Some(first) = lines.next() else {
            return Self::Absent;
        };
        let text = lines.fold(first.to_vec(), |text, line| [&text, b",".as_slice(), line].concat());
        if text.trim_ascii() == b"*" {
            return Self::Any;
        }
        listed(&text).map_or(Self::Malformed, Self::Listed)
    }

    /// Returns true if `tag`, which is strong, is among them by the weak comparison. A malformed header names no tags.
    pub(crate) fn contain(&self, tag: &str) -> bool {
        let opaque = tag.trim_matches('"').as_bytes();
        match self {
            Self::Any => true,
            Self::Listed(tags) => tags.iter().any(|known| known == opaque),
            Self::Absent | Self::Malformed => false,
        }
    }
}

/// Parses the opaque parts of a list of entity tags, of which there must be at least one.
fn listed(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut tags = Vec::new();
    let mut rest = text.trim_ascii_start();
    while !rest.is_empty() {
        // A list may have empty elements.
        if let Some(behind) = rest.strip_prefix(b",") {
            rest = behind.trim_ascii_start();
            continue;
        }
        let quoted = rest.strip_prefix(b"W/").unwrap_or(rest).strip_prefix(b"\"")?;
        let length = quoted.iter().position(|&byte| byte == b'"')?;
        let (opaque, behind) = quoted.split_at_checked(length)?;
        if opaque.iter().any(|&byte| byte <= b' ' || byte == 0x7f) {
            return None;
        }
        tags.push(opaque.to_vec());
        rest = behind.strip_prefix(b"\"")?.trim_ascii_start();
        if !rest.is_empty() && !rest.starts_with(b",") {
            return None;
        }
    }
    (!tags.is_empty()).then_some(tags)
}

/// Reads from `If-Match` the versions at which a write may happen. Only the version in a tag counts, so a tag of any view is
/// accepted, and also the weak form that proxies make of tags when they compress answers.
///
/// # Errors
/// 422 (`If-Match`) if it is malformed.
pub(crate) fn precondition(headers: &HeaderMap) -> Result<Precondition, ApiError> {
    match EntityTags::read(headers, &IF_MATCH) {
        EntityTags::Absent | EntityTags::Any => Ok(Precondition::default()),
        EntityTags::Listed(tags) => Ok(Precondition::one_of(
            tags.iter().filter_map(|tag| version_of(tag)).collect(),
        )),
        EntityTags::Malformed => Err(ApiError::field(
            "If-Match",
            "must be * or entity tags in quotes, such as \"3\"",
        )),
    }
}

/// Returns the version that one of our tags names: its digits up to the first hyphen.
fn version_of(opaque: &[u8]) -> Option<i64> {
    let digits = opaque.split(|&byte| byte == b'-').next()?;
    let plain = digits.iter().all(u8::is_ascii_digit) && !digits.starts_with(b"0");
    str::from_utf8(digits).ok().filter(|_| plain)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::a_caller;
    use forecourt_kernel::ScopeSet;

    fn headers(name: &HeaderName, lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name.clone(), HeaderValue::from_str(line).unwrap());
        }
        headers
    }

    #[test]
    fn a_tag_names_version_and_view() {
        let mut business = (*a_caller(ScopeSet::NONE).business).clone();
        let at = Timestamp::from_epoch_seconds;
        let state = RecordState {
            version: Version::new(3),
            updated: at(100),
        };
        assert_eq!(state.entity_tag(View::Full, &business, Epoch::FIRST), "\"3\"");
        assert_eq!(state.entity_tag(View::Simple, &business, Epoch::FIRST), "\"3-simple\"");
        // The texts of the business have changed since the record did.
        business.updated = at(100);
        let renamed = state.entity_tag(View::Full, &business, Epoch::FIRST);
        assert!(renamed.starts_with("\"3-") && renamed.len() == 20, "{renamed}");
        business.updated = at(101);
        assert_ne!(state.entity_tag(View::Full, &business, Epoch::FIRST), renamed);
        // A change of the record after that shows the new texts.
        let later = RecordState {
            updated: at(104),
            ..state
        };
        assert_eq!(later.entity_tag(View::Full, &business, Epoch::FIRST), "\"3\"");
        let other = RecordState {
            version: Version::new(3).shown_with("a name"),
            ..later
        };
        let named_otherwise = other.entity_tag(View::Simple, &business, Epoch::FIRST);
        assert!(named_otherwise.starts_with("\"3-simple-"));
        // The database was restored.
        let later_epoch = |state: RecordState, view| state.entity_tag(view, &business, Epoch::new(7));
        assert_eq!(later_epoch(later, View::Full), "\"3-e7\"");
        assert_eq!(later_epoch(later, View::Simple), "\"3-simple-e7\"");
        assert_eq!(
            later_epoch(other, View::Simple),
            format!("{}-e7\"", named_otherwise.strip_suffix('"').unwrap())
        );
    }

    #[test]
    fn a_known_tag_is_found_in_a_list() {
        let known = |lines: &[&str]| EntityTags::if_none_match(&headers(&IF_NONE_MATCH, lines)).contain("\"3\"");
        for lines in [
            &["\"3\""] as &[&str],
            &["W/\"3\""],
            &["*"],
            &[" * "],
            &["\"1\", \"3\""],
            &["\"1\"", "W/\"2\",,\"3\" "],
            &["\"a,b\",\"3\""],
        ] {
            assert!(known(lines), "{lines:?}");
        }
        for lines in [
            &[] as &[&str],
            &[""],
            &["3"],
            &["\"3-simple\""],
            &["\"3"],
            &["\"3\" \"4\""],
            &["\"3\"x"],
            &["w/\"3\""],
            &["*, \"1\""],
            &["\"1\", 3"],
        ] {
            assert!(!known(lines), "{lines:?}");
        }
    }

    #[test]
    fn a_precondition_names_versions() {
        let read = |lines: &[&str]| precondition(&headers(&IF_MATCH, lines));
        assert_eq!(read(&[]).unwrap(), Precondition::default());
        assert_eq!(read(&["*"]).unwrap(), Precondition::default());
        for (lines, versions) in [
            (&["\"3\""] as &[&str], vec![3]),
            (&["W/\"3-simple\", \"4-00ff\"", "\"5\""], vec![3, 4, 5]),
            (&["\"3-e7\", \"4-simple-e7\", \"5-00ff-e7\""], vec![3, 4, 5]),
            (&["\"abc\", \"\", \"03\", \"+3\", \"99999999999999999999\""], vec![]),
        ] {
            assert_eq!(read(lines).unwrap(), Precondition::one_of(versions), "{lines:?}");
        }
        for lines in [&[""] as &[&str], &["3"], &["\"3"], &["*", "*"], &["\"3\" 4"], &[","]] {
            let refusal = read(lines).unwrap_err().into_refusal();
            assert_eq!(refusal.details.unwrap()["field"], "If-Match", "{lines:?}");
        }
    }
}
