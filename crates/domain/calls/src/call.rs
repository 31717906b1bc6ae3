//! The record of a call.

use std::str::FromStr;

use forecourt_accounts::Rules;
use forecourt_kernel::{
    CallId, Change, ContactId, Field, FromJson, InvalidValue, LeadId, Line, LongText, SiteId, StaffId, Timestamp,
    UrlText, ValidationErrors, VehicleId, Version, from_line,
};
use forecourt_leads::{LeadStatus, PhoneLine};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The direction of a call, as the dealership sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum CallDirection {
    /// Somebody called the dealership.
    In,
    /// The dealership called somebody.
    Out,
}

/// The outcome of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum CallOutcome {
    /// The two talked.
    Answered,
    /// Nobody answered.
    Missed,
    /// The caller reached a mailbox.
    Voicemail,
    /// The line was busy.
    Busy,
    /// The call could not be put through.
    Failed,
    /// The caller gave up before it rang.
    Cancelled,
}

/// Gives an enumeration its names.
macro_rules! named {
    ($type:ident, $error:ident, $message:literal, $($variant:ident = $name:literal),+) => {
        impl $type {
            /// All, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name in the API and in storage.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        /// The text is not one of the names.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
        #[error($message)]
        pub struct $error;

        impl FromStr for $type {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                Self::ALL.iter().copied().find(|one| one.name() == text).ok_or($error)
            }
        }

        impl FromJson for $type {
            fn from_json(value: Value) -> Result<Self, InvalidValue> {
                from_line(value)
            }
        }
    };
}

named!(
    CallDirection,
    UnknownCallDirection,
    "must be in or out",
    In = "in",
    Out = "out"
);
named!(
    CallOutcome,
    UnknownCallOutcome,
    "must be answered, missed, voicemail, busy, failed or cancelled",
    Answered = "answered",
    Missed = "missed",
    Voicemail = "voicemail",
    Busy = "busy",
    Failed = "failed",
    Cancelled = "cancelled"
);

impl Change<Option<Self>, Rules<'_>> for CallOutcome {
    fn apply(self, stored: &mut Option<Self>, _: &Option<Self>, _: &Rules<'_>) {
        *stored = Some(self);
    }
}

/// The last second of the year 9999.
const LATEST: i64 = 253_402_300_799;

/// A moment of a call, in epoch seconds: from 1970 on, and at most tomorrow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CallMoment(pub Timestamp);

impl CallMoment {
    /// Returns the fault of a moment that cannot have passed yet (decisions §3).
    fn faults(self, rules: &Rules<'_>) -> InvalidValue {
        let past = self.0.date().validate_past(rules.now);
        past.err().map(InvalidValue::here).unwrap_or_default()
    }
}

impl FromJson for CallMoment {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        match i64::from_json(value)? {
            seconds @ 0..=LATEST => Ok(Self(Timestamp::from_epoch_seconds(seconds))),
            _ => Err(InvalidValue::here("must be a Unix timestamp from 1970 on")),
        }
    }
}

impl Change<Timestamp, Rules<'_>> for CallMoment {
    fn rule_faults(&self, rules: &Rules<'_>) -> InvalidValue {
        self.faults(rules)
    }

    fn apply(self, stored: &mut Timestamp, _: &Timestamp, _: &Rules<'_>) {
        *stored = self.0;
    }
}

impl Change<Option<Timestamp>, Rules<'_>> for CallMoment {
    fn rule_faults(&self, rules: &Rules<'_>) -> InvalidValue {
        self.faults(rules)
    }

    fn apply(self, stored: &mut Option<Timestamp>, _: &Option<Timestamp>, _: &Rules<'_>) {
        *stored = Some(self.0);
    }
}

/// The length of a talk in seconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TalkSeconds(i64);

/// The most seconds that a talk can have.
const MAX_TALK_SECONDS: i64 = i32::MAX as i64;

impl FromJson for TalkSeconds {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        match i64::from_json(value)? {
            seconds @ 0..=MAX_TALK_SECONDS => Ok(Self(seconds)),
            _ => Err(InvalidValue::here(format!("must be 0 to {MAX_TALK_SECONDS}"))),
        }
    }
}

impl Change<Option<i64>, Rules<'_>> for TalkSeconds {
    fn apply(self, stored: &mut Option<i64>, _: &Option<i64>, _: &Rules<'_>) {
        *stored = Some(self.0);
    }
}

#[cfg(feature = "openapi")]
mod schemas {
    use std::borrow::Cow;

    use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, schema::Type};

    fn integer(max: i64) -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
            .minimum(Some(0))
            .maximum(Some(max))
            .into()
    }

    macro_rules! numbers {
        ($($type:ident = $max:expr;)+) => {$(
            impl utoipa::PartialSchema for super::$type {
                fn schema() -> RefOr<Schema> {
                    integer($max)
                }
            }

            impl utoipa::ToSchema for super::$type {
                fn name() -> Cow<'static, str> {
                    stringify!($type).into()
                }
            }
        )+};
    }

    numbers! {
        CallMoment = super::LATEST;
        TalkSeconds = super::MAX_TALK_SECONDS;
    }
}

// The serialised form of the content is also the stored form, one document: a new field needs `#[serde(default)]` before its
// stored type, and no field is ever renamed.
forecourt_kernel::fields! {
    /// The fields of a call, without its identity and timestamps. A field by which lists are filtered also has a column of its
    /// own.
    #[derive(Serialize, Deserialize)]
    content CallContent;
    /// Changes to a call. Only the supplied fields change.
    #[cfg_attr(feature = "openapi", schema(as = CallBody, example = json!({"outcome": "voicemail", "notes": "Rings again after five."})))]
    changes CallChanges, validated by Rules<'_>;

    /// Site of the business; 0 means none.
    site: i64 => SiteId;
    /// in or out.
    direction: #[cfg_attr(feature = "openapi", schema(value_type = CallDirection))] CallDirection => CallDirection, rule is_given;
    /// The caller's number, in international format or as a number of the business's country; empty where it is withheld.
    from: PhoneLine => String;
    /// The number that was called, in the same forms.
    to: PhoneLine => String;
    /// Id of the contact that the other party is. By default the one contact with that telephone or mobile.
    contact: i64 => Option<ContactId>;
    /// Id of the lead that the call is about. By default the newest lead of the last 90 days, neither closed nor junk, of that
    /// contact or number.
    lead: i64 => Option<LeadId>;
    /// Id of the stock vehicle that the call is about.
    vehicle: i64 => Option<VehicleId>;
    /// Id of the staff user who talked.
    staff: i64 => Option<StaffId>;
    /// The moment at which it began, epoch seconds.
    started: #[cfg_attr(feature = "openapi", schema(value_type = CallMoment))] CallMoment => Timestamp, rule is_given;
    /// The moment at which it was answered.
    answered: CallMoment => Option<Timestamp>;
    /// The moment at which it ended.
    ended: CallMoment => Option<Timestamp>;
    /// Seconds talked. By default those from `answered` to `ended`.
    duration: TalkSeconds => Option<i64>;
    /// By default answered where `answered` or a duration is there, else missed.
    outcome: CallOutcome => Option<CallOutcome>;
    /// The telephone system that reports the call.
    provider: Line => String;
    /// The telephone system's own id of the call.
    external_id: Line => String;
    /// The number or campaign that was dialled.
    tracking: Line => String;
    /// The address of the recording; https. It is never fetched.
    recording_url: UrlText => String, rule is_https;
    /// The words of the call.
    transcript: LongText => String;
    /// A summary of the call.
    summary: LongText => String;
    /// Notes on the call.
    notes: LongText => String;
    /// Set if a caller has chosen the contact; then it stays when the numbers change.
    kept contact_sent: bool;
    /// Set if a caller has chosen the lead, or the call has made it; then it stays when the numbers change.
    kept lead_sent: bool;
    /// Set if the call has made its lead, which then stays new.
    kept lead_made: bool;
    /// The outcomes for which the call has moved a lead already.
    kept moved: Vec<CallOutcome>;
    /// True to make a lead of an incoming call that has none. On creation only.
    sent create_lead: bool;
}

fn is_given<T>(field: &Field<T>, _: &Rules<'_>) -> InvalidValue {
    match field {
        Field::Null => InvalidValue::here("must not be null"),
        _ => InvalidValue::default(),
    }
}

fn is_https(url: &Field<UrlText>, _: &Rules<'_>) -> InvalidValue {
    match url.value() {
        Some(url) if !url.is_empty() && !is_https_address(url) => {
            InvalidValue::here("must be an https address, or empty")
        }
        _ => InvalidValue::default(),
    }
}

/// Returns `true` if the text is an https address with a host and without spaces.
fn is_https_address(text: &str) -> bool {
    let host = text.get(..8).filter(|scheme| scheme.eq_ignore_ascii_case("https://"));
    let rest = host.and_then(|_| text.get(8..)).unwrap_or_default();
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let printable = |character: char| !character.is_whitespace() && !character.is_control();
    !host.is_empty() && !host.starts_with(':') && text.chars().all(printable)
}

impl CallChanges {
    /// Returns the faults of changes to a stored call by `rules`, apart from the records that they name.
    pub fn all_faults(&self, rules: &Rules<'_>) -> ValidationErrors {
        let mut faults = self.faults(rules);
        let moment = |field: &Field<CallMoment>| field.value().map(|moment| moment.0);
        let order = order_faults(moment(&self.started), moment(&self.answered), moment(&self.ended));
        faults.extend(order);
        faults
    }

    /// Returns the name under which a telephone system reports the call, if the body has both parts of it.
    pub(crate) fn reported_as(&self) -> Option<(&str, &str)> {
        let text = |field: &'_ Field<Line>| field.value().filter(|text| !text.is_empty()).is_some();
        if !text(&self.provider) || !text(&self.external_id) {
            return None;
        }
        Some((self.provider.value()?.as_str(), self.external_id.value()?.as_str()))
    }
}

/// A new call: [`CallChanges`] with a direction and the moment at which it began.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct NewCall(pub CallChanges);

impl NewCall {
    /// Returns the faults of the body by `rules`, apart from the records that it names.
    pub fn faults(&self, rules: &Rules<'_>) -> ValidationErrors {
        let mut faults = ValidationErrors::new();
        if self.0.direction == Field::Absent {
            faults.add("direction", "is required");
        }
        if self.0.started == Field::Absent {
            faults.add("started", "is required");
        }
        faults.extend(self.0.all_faults(rules));
        faults
    }
}

/// Returns the faults in the order of a call's moments, as far as they are known.
fn order_faults(started: Option<Timestamp>, answered: Option<Timestamp>, ended: Option<Timestamp>) -> ValidationErrors {
    let is_before = |one: Option<Timestamp>, other: Option<Timestamp>| matches!((one, other), (Some(one), Some(other)) if one < other);
    let mut faults = ValidationErrors::new();
    if is_before(answered, started) {
        faults.add("answered", "must not be before started");
    }
    if is_before(ended, answered) {
        faults.add("ended", "must not be before answered");
    } else if is_before(ended, started) {
        faults.add("ended", "must not be before started");
    }
    faults
}

impl CallContent {
    /// The defaults of the fields. Direction and start of a new call are always sent.
    pub fn blank() -> Self {
        Self {
            site: SiteId::new(0),
            direction: CallDirection::In,
            from: String::new(),
            to: String::new(),
            contact: None,
            lead: None,
            vehicle: None,
            staff: None,
            started: Timestamp::from_epoch_seconds(0),
            answered: None,
            ended: None,
            duration: None,
            outcome: None,
            provider: String::new(),
            external_id: String::new(),
            tracking: String::new(),
            recording_url: String::new(),
            transcript: String::new(),
            summary: String::new(),
            notes: String::new(),
            contact_sent: false,
            lead_sent: false,
            lead_made: false,
            moved: Vec::new(),
        }
    }

    /// The number of the other party in E.164; empty where it is withheld.
    pub fn other_party(&self) -> &str {
        match self.direction {
            CallDirection::In => &self.from,
            CallDirection::Out => &self.to,
        }
    }

    /// The seconds talked: those that were sent, or those from the answer to the end.
    pub fn talk_seconds(&self) -> i64 {
        let talked = || Some(self.ended?.epoch_seconds() - self.answered?.epoch_seconds());
        self.duration.or_else(talked).unwrap_or_default()
    }

    /// The outcome that was sent, or the one that the moments and the duration show.
    pub fn actual_outcome(&self) -> CallOutcome {
        let talked = self.answered.is_some() || self.talk_seconds() > 0;
        self.outcome.unwrap_or(if talked {
            CallOutcome::Answered
        } else {
            CallOutcome::Missed
        })
    }

    /// The name under which a telephone system reports the call, if it is known.
    pub fn reported_as(&self) -> Option<(&str, &str)> {
        let is_known = !self.provider.is_empty() && !self.external_id.is_empty();
        is_known.then_some((self.provider.as_str(), self.external_id.as_str()))
    }

    /// The status that the call gives to its lead; `None` if it leaves that as it is.
    pub fn lead_status(&self) -> Option<LeadStatus> {
        match (self.direction, self.actual_outcome()) {
            (CallDirection::In, CallOutcome::Missed | CallOutcome::Voicemail) => Some(LeadStatus::NewMessage),
            (CallDirection::Out, CallOutcome::Answered) => Some(LeadStatus::Replied),
            _ => None,
        }
    }

    /// Returns the faults in the order of its moments.
    pub(crate) fn order_faults(&self) -> ValidationErrors {
        order_faults(Some(self.started), self.answered, self.ended)
    }
}

/// A call.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The call's id, unique across businesses.
    pub id: CallId,
    /// The record's version.
    pub version: Version,
    /// The time of its creation.
    pub created: Timestamp,
    /// The time of its last change.
    pub updated: Timestamp,
    /// The content of the call.
    pub content: CallContent,
}
