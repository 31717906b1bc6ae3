//! Calendars to subscribe to, which their address alone opens.

use std::str::FromStr;

use forecourt_kernel::{FromJson, InvalidValue, Random, StaffId, Timestamp, from_line};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

forecourt_kernel::ids! {
    /// Identifies a feed of appointments, uniquely across businesses.
    AppointmentFeedId;
}

/// The feeds of one business.
pub const MAX_FEEDS: usize = 50;

/// The days before now that a feed shows.
pub(crate) const PAST_DAYS: i64 = 30;
/// The days after now that a feed shows.
pub(crate) const COMING_DAYS: i64 = 366;

/// The part of an appointment that a feed shows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AppointmentFeedDetails))]
#[serde(rename_all = "lowercase")]
pub enum FeedDetails {
    /// The times alone.
    #[default]
    Busy,
    /// The type, the vehicle and the visitor's name too.
    Full,
}

impl FeedDetails {
    /// The name in the API and in storage.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Full => "full",
        }
    }
}

/// The text is not the name of a kind of feed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be full or busy")]
pub struct UnknownFeedDetails;

impl FromStr for FeedDetails {
    type Err = UnknownFeedDetails;

    fn from_str(text: &str) -> Result<Self, UnknownFeedDetails> {
        [Self::Busy, Self::Full]
            .into_iter()
            .find(|details| details.name() == text)
            .ok_or(UnknownFeedDetails)
    }
}

impl FromJson for FeedDetails {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        from_line(value)
    }
}

/// A new feed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewFeed {
    /// Its name.
    pub name: String,
    /// The calendar whose appointments it shows; `None` for all.
    pub calendar: Option<String>,
    /// The member of the staff whose appointments it shows; `None` for all.
    pub staff: Option<StaffId>,
    /// The part of each appointment that it shows.
    pub details: FeedDetails,
}

/// A feed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppointmentFeed {
    /// Its id.
    pub id: AppointmentFeedId,
    /// The time of its creation.
    pub created: Timestamp,
    /// Its selection of appointments.
    pub content: NewFeed,
}

/// The secret part of a feed's address.
pub struct FeedToken(String);

impl FeedToken {
    /// Makes a token of 32 random bytes.
    pub(crate) fn draw(random: &dyn Random) -> Self {
        let mut bytes = [0; 32];
        random.fill(&mut bytes);
        Self(in_hexadecimal(&bytes))
    }

    /// The token as it stands in an address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the digest under which a token is stored, or `None` if the text is no token.
    pub fn digest_of(text: &str) -> Option<String> {
        let is_token = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_token.then(|| in_hexadecimal(&Sha256::digest(text)))
    }

    pub(crate) fn digest(&self) -> String {
        in_hexadecimal(&Sha256::digest(&self.0))
    }
}

fn in_hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A feed in the API.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AppointmentFeed))]
pub struct AppointmentFeedView<'a> {
    /// Feed id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: AppointmentFeedId,
    /// Its name.
    name: &'a str,
    /// The calendar whose appointments it shows; null for all.
    #[cfg_attr(feature = "openapi", schema(required))]
    calendar: Option<&'a str>,
    /// The staff user whose appointments it shows; null for all.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    staff: Option<StaffId>,
    /// busy: the times alone; full: type, vehicle and visitor's name too.
    details: FeedDetails,
    /// Time of its creation, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
    /// Its address. Only the answer to its creation has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

impl<'a> AppointmentFeedView<'a> {
    /// Shows a feed; with its address if it was just created.
    pub fn new(feed: &'a AppointmentFeed, url: Option<String>) -> Self {
        let AppointmentFeed { id, created, content } = feed;
        let NewFeed {
            name,
            calendar,
            staff,
            details,
        } = content;
        Self {
            id: *id,
            name,
            calendar: calendar.as_deref(),
            staff: *staff,
            details: *details,
            created: *created,
            url,
        }
    }
}
