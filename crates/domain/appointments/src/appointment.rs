//! The record of an appointment.

use forecourt_accounts::{Business, Rules};
use forecourt_kernel::{
    AppointmentId, BoundedList, Change, ContactId, Field, FromJson, InvalidValue, LeadId, Line, LongText, SiteId,
    StaffId, Timestamp, ValidationErrors, VehicleId, Version, is_one_line,
};
use forecourt_reference::{BookingType, LeadChannel};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AppointmentStatus, Occupied,
    input::{DurationMinutes, EmailText, MomentInput, PhoneLine, ReminderMinutes},
};

/// The staff of one appointment.
pub const MAX_STAFF: usize = 10;

/// The seconds of the longest appointment.
const MAX_SECONDS: i64 = DurationMinutes::MAX * 60;

/// The staff of an appointment, each once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StaffList(BoundedList<i64, MAX_STAFF>);

impl FromJson for StaffList {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        BoundedList::from_json(value).map(Self)
    }
}

impl Change<Vec<StaffId>, Rules<'_>> for StaffList {
    fn rule_faults(&self, rules: &Rules<'_>) -> InvalidValue {
        let mut faults = InvalidValue::default();
        for (index, id) in self.0.iter().enumerate() {
            if !rules.business.catalogue.has_staff(StaffId::new(*id)) {
                let message = format!("names {id}, who is no staff user of this business");
                faults.add_within(&index.to_string(), InvalidValue::here(message));
            }
        }
        faults
    }

    fn apply(self, stored: &mut Vec<StaffId>, _: &Vec<StaffId>, _: &Rules<'_>) {
        let mut staff = Vec::with_capacity(self.0.len());
        for id in self.0.iter().copied().map(StaffId::new) {
            if !staff.contains(&id) {
                staff.push(id);
            }
        }
        *stored = staff;
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for StaffList {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        BoundedList::<i64, MAX_STAFF>::schema()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for StaffList {
    fn name() -> std::borrow::Cow<'static, str> {
        "AppointmentStaff".into()
    }
}

// The serialised form of the content is also the stored form, one document: a new field needs `#[serde(default)]` before its
// stored type, and no field is ever renamed.
forecourt_kernel::fields! {
    /// The content of an appointment.
    #[derive(Serialize, Deserialize)]
    content AppointmentContent;
    /// Changes to an appointment. Only the supplied fields change.
    #[cfg_attr(feature = "openapi", schema(as = AppointmentBody, example = json!({"type": "viewing", "start": 1_767_261_600, "duration_minutes": 30, "name": "Ann Lee", "email": "ann@example.com", "notes": "Has driven the petrol model."})))]
    changes AppointmentChanges, validated by Rules<'_>;

    /// Site of the business; 0 means none.
    site: i64 => SiteId;
    /// An id of /2.0/reference/booking-types. Its calendar becomes the appointment's.
    kind as "type": #[cfg_attr(feature = "openapi", schema(value_type = Line))] Line => String, rule is_named;
    /// The calendar of the type when it was set; empty if it had none.
    kept calendar: String;
    /// booked, confirmed, arrived, completed or no_show. On a change only; an appointment is cancelled by its own operation.
    status: AppointmentStatus => AppointmentStatus, rule is_not_cancelled;
    /// A title for the calendar.
    title: Line => String, rule is_one_line;
    /// Id of the contact who comes.
    contact: i64 => Option<ContactId>;
    /// Id of the lead that it belongs to. Without a contact, that of the lead is taken.
    lead: i64 => Option<LeadId>;
    /// Id of the vehicle that it concerns.
    vehicle: i64 => Option<VehicleId>;
    /// Id of the deal that it belongs to.
    deal: Option<i64> => Option<i64>;
    /// The staff users who take part, at most 10.
    staff: StaffList => Vec<StaffId>;
    /// Its beginning, epoch seconds. A new start alone keeps the duration.
    start: #[cfg_attr(feature = "openapi", schema(value_type = MomentInput))] MomentInput => Timestamp, rule is_given;
    /// The stored end.
    kept end: Timestamp;
    /// Its end, epoch seconds, at most 24 hours after the start.
    sent end: MomentInput;
    /// Its length, instead of an end; by default that of its type.
    sent duration_minutes: DurationMinutes;
    /// The place.
    location: Line => String, rule is_one_line;
    /// Name of a visitor without contact.
    name: Line => String, rule is_one_line;
    /// Email address of a visitor without contact.
    email: EmailText => String;
    /// Telephone number of a visitor without contact, in international format.
    phone: PhoneLine => String;
    /// Notes.
    notes: LongText => String;
    /// The channel by which it was booked; api by default.
    source: LeadChannel => LeadChannel;
    /// The minutes before the start at which the visitor is reminded; null for no reminder. By default that of the business.
    reminder_minutes: ReminderMinutes => Option<u32>;
    /// The reason why it was cancelled.
    kept cancel_reason: String;
    /// True to book in spite of conflicts.
    sent force: bool;
    /// False to send the visitor no mail; true by default.
    sent notify: bool;
}

fn is_named(kind: &Field<Line>, _: &Rules<'_>) -> InvalidValue {
    required(kind)
}

/// Returns the fault of booking this type now.
fn type_fault(business: &Business, id: &str) -> Option<&'static str> {
    match booking_type(business, id) {
        Some(kind) if kind.enabled => None,
        Some(_) => Some("cannot be booked at present"),
        None => Some("names no booking type of this business"),
    }
}

fn is_not_cancelled(status: &Field<AppointmentStatus>, _: &Rules<'_>) -> InvalidValue {
    match status.value() {
        Some(AppointmentStatus::Cancelled) => InvalidValue::here("is set by POST /appointments/{id}/cancel"),
        _ => InvalidValue::default(),
    }
}

fn is_given(start: &Field<MomentInput>, _: &Rules<'_>) -> InvalidValue {
    required(start)
}

fn required<T>(field: &Field<T>) -> InvalidValue {
    match field {
        Field::Null => InvalidValue::here("must not be null"),
        _ => InvalidValue::default(),
    }
}

/// Returns the booking type of that id, even if it is disabled.
pub(crate) fn booking_type<'a>(business: &'a Business, id: &str) -> Option<&'a BookingType> {
    business.catalogue.booking_types.iter().find(|kind| kind.id == id)
}

impl AppointmentChanges {
    /// Returns the faults of the body of a new appointment.
    pub fn faults_of_new(&self, rules: &Rules<'_>) -> ValidationErrors {
        let mut faults = self.faults(rules);
        let fault = self.kind.value().and_then(|kind| type_fault(rules.business, kind));
        if let Some(fault) = fault {
            faults.add("type", fault);
        }
        for (name, is_absent) in [
            ("type", matches!(self.kind, Field::Absent)),
            ("start", matches!(self.start, Field::Absent)),
        ] {
            if is_absent {
                faults.add(name, "is required");
            }
        }
        faults
    }

    /// Returns `true` unless the visitor is to get no mail.
    pub(crate) fn notifies(&self) -> bool {
        self.notify != Field::Value(false)
    }

    /// Returns `true` if conflicts do not matter.
    pub(crate) fn forces(&self) -> bool {
        self.force == Field::Value(true)
    }
}

impl AppointmentContent {
    /// The defaults of the fields, to which null resets them. Null turns the reminder off.
    pub fn blank() -> Self {
        let unset = Timestamp::from_epoch_seconds(0);
        Self {
            site: SiteId::new(0),
            kind: String::new(),
            calendar: String::new(),
            status: AppointmentStatus::Booked,
            title: String::new(),
            contact: None,
            lead: None,
            vehicle: None,
            deal: None,
            staff: Vec::new(),
            start: unset,
            end: unset,
            location: String::new(),
            name: String::new(),
            email: String::new(),
            phone: String::new(),
            notes: String::new(),
            source: LeadChannel::Api,
            reminder_minutes: None,
            cancel_reason: String::new(),
        }
    }

    /// The defaults of a new appointment of `business`.
    pub fn new(business: &Business) -> Self {
        Self {
            reminder_minutes: Some(
                business
                    .settings
                    .appointment_reminder_minutes()
                    .min(ReminderMinutes::MAX),
            ),
            ..Self::blank()
        }
    }

    /// Merges the supplied fields into the content. `is_new` makes the type's length the default. Returns the faults in the
    /// times that follow.
    pub(crate) fn overlay(&mut self, changes: AppointmentChanges, rules: &Rules<'_>, is_new: bool) -> ValidationErrors {
        let seconds = self.end.epoch_seconds() - self.start.epoch_seconds();
        let is_retyped = changes.kind.value().is_some_and(|kind| is_new || **kind != *self.kind);
        let (end, duration) = (changes.end.clone(), changes.duration_minutes.clone());
        changes.apply(self, &Self::blank(), rules);
        let mut faults = ValidationErrors::new();
        let kind = booking_type(rules.business, &self.kind);
        if is_retyped {
            if let Some(fault) = type_fault(rules.business, &self.kind).filter(|_| !is_new) {
                faults.add("type", fault);
            }
            self.calendar = kind.map(|kind| kind.calendar.clone()).unwrap_or_default();
        }
        let of_kind = kind.map_or(0, |kind| i64::from(kind.duration_minutes)) * 60;
        let is_reset = matches!(end, Field::Null) || matches!(duration, Field::Null);
        self.end = match (end.value(), duration.value()) {
            (Some(MomentInput(end)), None) => *end,
            (None, Some(DurationMinutes(minutes))) => self.start.plus_seconds(minutes * 60),
            (Some(MomentInput(end)), Some(DurationMinutes(minutes))) => {
                if *end != self.start.plus_seconds(minutes * 60) {
                    faults.add("duration_minutes", "must agree with end, or be left out");
                }
                *end
            }
            (None, None) if is_new || is_reset => {
                if of_kind == 0 && kind.is_some() {
                    faults.add("end", "is required, since this type has no duration");
                    return faults;
                }
                self.start.plus_seconds(of_kind)
            }
            (None, None) => self.start.plus_seconds(seconds),
        };
        // Without a type there is no length to be wrong about.
        if kind.is_some() || !is_new {
            if self.end <= self.start {
                faults.add("end", "must be after start");
            } else if self.end > self.start.plus_seconds(MAX_SECONDS) {
                faults.add("end", "must be at most 24 hours after start");
            }
        }
        faults
    }

    /// The length, in whole minutes.
    pub fn duration_minutes(&self) -> i64 {
        (self.end.epoch_seconds() - self.start.epoch_seconds()) / 60
    }

    /// The part of an appointment on which conflicts depend.
    pub(crate) fn occupied(&self, id: AppointmentId) -> Occupied {
        Occupied {
            id,
            calendar: self.calendar.clone(),
            staff: self.staff.clone(),
            vehicle: self.vehicle,
            start: self.start,
            end: self.end,
        }
    }

    /// Takes the name, email and number of a contact for the visitor's; without a contact they are the visitor's own.
    pub(crate) fn show_visitor(&mut self, visitor: Option<&Visitor>) {
        if let Some(Visitor {
            contact: _,
            name,
            email,
            phone,
        }) = visitor
        {
            self.name.clone_from(name);
            self.email.clone_from(email);
            self.phone.clone_from(phone);
        }
    }

    /// The moment of the reminder.
    pub(crate) fn reminder_at(&self) -> Option<Timestamp> {
        let minutes = self.reminder_minutes.filter(|_| self.status.is_awaited())?;
        Some(self.start.plus_seconds(-i64::from(minutes) * 60))
    }
}

/// The data of a contact that appointments show.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Visitor {
    /// The contact.
    pub contact: ContactId,
    /// Its name.
    pub name: String,
    /// Its email address; empty if unknown.
    pub email: String,
    /// Its mobile number, or else its telephone number, in E.164; empty if unknown.
    pub phone: String,
}

/// An appointment.
#[derive(Clone, PartialEq, Debug)]
pub struct Appointment {
    /// The appointment's id, unique across businesses.
    pub id: AppointmentId,
    /// The record's version.
    pub version: Version,
    /// The time of its creation.
    pub created: Timestamp,
    /// The time of its last change.
    pub updated: Timestamp,
    /// The time of the reminder of this start, once it went.
    pub reminded: Option<Timestamp>,
    /// The time at which the reminder is due, if it is still to go.
    pub remind_at: Option<Timestamp>,
    /// All other fields.
    pub content: AppointmentContent,
}

impl Appointment {
    /// Returns the appointment as it reads: with the present name, email and number of its contact, and a version that tells
    /// apart representations that differ by these or by the reminder alone. A contact that is gone is none.
    #[must_use]
    pub fn visited_by(mut self, visitor: Option<&Visitor>) -> Self {
        if let Some(contact) = self.content.contact {
            let known = visitor.filter(|visitor| visitor.contact == contact);
            let of = |content: &AppointmentContent| {
                (
                    content.contact,
                    content.name.clone(),
                    content.email.clone(),
                    content.phone.clone(),
                )
            };
            let before = of(&self.content);
            match known {
                Some(visitor) => self.content.show_visitor(Some(visitor)),
                None => {
                    self.content.contact = None;
                    self.content.name.clear();
                    self.content.email.clear();
                    self.content.phone.clear();
                }
            }
            let now = of(&self.content);
            if now != before {
                self.version = self.version.shown_with(now);
            }
        }
        if let Some(reminded) = self.reminded {
            self.version = self.version.shown_with(reminded);
        }
        self
    }
}
