//! The representation of a call in the API and in webhooks (decisions §10.10).

use forecourt_kernel::{CallId, ContactId, LeadId, SiteId, StaffId, Timestamp, VehicleId, Version, Viewed};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Call, CallContent, CallDirection, CallOutcome};

/// A call in one of its views.
pub type CallView<'a> = Viewed<SimpleCall<'a>, FullCall<'a>>;

/// A call in the simple view.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SimpleCall))]
pub struct SimpleCall<'a> {
    /// Call id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: CallId,
    /// Site id; 0 means none.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    site: SiteId,
    /// in or out.
    direction: CallDirection,
    /// The caller's number in E.164; empty where it is withheld.
    from: &'a str,
    /// The number that was called, in E.164.
    to: &'a str,
    /// The contact that the other party is.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    contact: Option<ContactId>,
    /// The lead that the call is about.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    lead: Option<LeadId>,
    /// The vehicle that the call is about.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    vehicle: Option<VehicleId>,
    /// The staff user who talked.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    staff: Option<StaffId>,
    /// Time at which it began, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    started: Timestamp,
    /// Time at which it was answered.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    answered: Option<Timestamp>,
    /// Time at which it ended.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    ended: Option<Timestamp>,
    /// Seconds talked.
    duration: i64,
    /// answered, missed, voicemail, busy, failed or cancelled.
    outcome: CallOutcome,
    /// The telephone system that reports it.
    provider: &'a str,
    /// The telephone system's own id of it.
    external_id: &'a str,
    /// The number or campaign that was dialled.
    tracking: &'a str,
    /// Time of creation, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
    /// Time of the last change, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    updated: Timestamp,
}

/// A call in the full view.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Call))]
pub struct FullCall<'a> {
    #[serde(flatten)]
    simple: SimpleCall<'a>,
    /// Raised by one with each change, from 1.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    version: Version,
    /// Address of the recording; empty if there is none.
    recording_url: &'a str,
    /// The words of the call.
    transcript: &'a str,
    /// A summary of the call.
    summary: &'a str,
    /// Notes on the call.
    notes: &'a str,
}

/// A call in an event.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = CallEvent))]
pub struct CallEventView<'a> {
    #[serde(flatten)]
    call: FullCall<'a>,
    /// The members that differ from the version before.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    changed: Vec<String>,
}

impl<'a> From<&'a Call> for SimpleCall<'a> {
    fn from(call: &'a Call) -> Self {
        let Call {
            id,
            version: _,
            created,
            updated,
            content,
        } = call;
        Self {
            id: *id,
            site: content.site,
            direction: content.direction,
            from: &content.from,
            to: &content.to,
            contact: content.contact,
            lead: content.lead,
            vehicle: content.vehicle,
            staff: content.staff,
            started: content.started,
            answered: content.answered,
            ended: content.ended,
            duration: content.talk_seconds(),
            outcome: content.actual_outcome(),
            provider: &content.provider,
            external_id: &content.external_id,
            tracking: &content.tracking,
            created: *created,
            updated: *updated,
        }
    }
}

impl<'a> From<&'a Call> for FullCall<'a> {
    fn from(call: &'a Call) -> Self {
        // Every field is named, so that a new field does not compile until it has its place here or in the simple view.
        let CallContent {
            site: _,
            direction: _,
            from: _,
            to: _,
            contact: _,
            lead: _,
            vehicle: _,
            staff: _,
            started: _,
            answered: _,
            ended: _,
            duration: _,
            outcome: _,
            provider: _,
            external_id: _,
            tracking: _,
            recording_url,
            transcript,
            summary,
            notes,
            contact_sent: _,
            lead_sent: _,
            lead_made: _,
            moved: _,
        } = &call.content;
        Self {
            simple: call.into(),
            version: call.version,
            recording_url,
            transcript,
            summary,
            notes,
        }
    }
}

impl<'a> CallEventView<'a> {
    /// Shows `call` in an event, with the names of the members that differ from those of `before`: all, if it is new. Version and
    /// time of change always do.
    ///
    /// # Errors
    /// No cause is known: any call can be written as JSON.
    pub fn new(call: &'a Call, before: Option<&Call>) -> serde_json::Result<Self> {
        let members = |call| match serde_json::to_value(FullCall::from(call))? {
            Value::Object(members) => Ok::<_, serde_json::Error>(members),
            _ => Ok(Map::new()),
        };
        let earlier = before.map(members).transpose()?.unwrap_or_default();
        let differs = |(name, value): &(String, Value)| {
            matches!(name.as_str(), "version" | "updated") || earlier.get(name) != Some(value)
        };
        let changed = members(call)?.into_iter().filter(differs).map(|(name, _)| name);
        Ok(Self {
            changed: changed.collect(),
            call: call.into(),
        })
    }
}

/// Returns `true` if callers see no difference between two states of a call.
pub(crate) fn looks_alike(call: &Call, other: &Call) -> serde_json::Result<bool> {
    let shown = serde_json::to_value(FullCall::from(call))?;
    Ok(shown == serde_json::to_value(FullCall::from(other))?)
}

/// An example of a call in an event, for the documentation.
#[cfg(feature = "openapi")]
pub fn example_call() -> Value {
    serde_json::json!({
        "id": 1042,
        "site": 0,
        "direction": "in",
        "from": "+447700900123",
        "to": "+441132000000",
        "contact": 17,
        "lead": 73,
        "vehicle": null,
        "staff": null,
        "started": 1_767_225_600,
        "answered": null,
        "ended": 1_767_225_625,
        "duration": 0,
        "outcome": "missed",
        "provider": "switchboard",
        "external_id": "c-88213",
        "tracking": "spring-sale",
        "created": 1_767_225_626,
        "updated": 1_767_225_626,
        "version": 2,
        "recording_url": "",
        "transcript": "",
        "summary": "",
        "notes": "",
        "changed": ["ended", "updated", "version"]
    })
}
