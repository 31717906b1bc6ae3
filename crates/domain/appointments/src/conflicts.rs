//! Conflicts between appointments (areas §10.9).

use std::collections::BTreeMap;

use forecourt_accounts::Business;
use forecourt_kernel::{AppointmentId, StaffId, Timestamp, VehicleId};
use serde::Serialize;

use crate::open::{Hours, Span};

/// The conflicts that one refusal lists.
pub const MAX_CONFLICTS: usize = 20;

/// An appointment whose time is taken, as far as conflicts depend on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Occupied {
    /// The appointment.
    pub id: AppointmentId,
    /// Its calendar; empty for none.
    pub calendar: String,
    /// Its staff.
    pub staff: Vec<StaffId>,
    /// Its vehicle.
    pub vehicle: Option<VehicleId>,
    /// Its beginning.
    pub start: Timestamp,
    /// Its end.
    pub end: Timestamp,
}

impl Occupied {
    pub(crate) const fn span(&self) -> Span {
        Span::between(self.start, self.end)
    }
}

/// The reason of a conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ConflictReason {
    /// A member of the staff is elsewhere.
    Staff,
    /// The vehicle is out.
    Vehicle,
    /// The calendar has as many appointments at once as it can.
    Calendar,
    /// It is not open all that time.
    Closed,
}

/// A conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Conflict {
    /// Its reason.
    pub reason: ConflictReason,
    /// The other appointment.
    pub appointment: Option<AppointmentId>,
    /// The member of the staff who has both.
    pub staff: Option<StaffId>,
}

/// The rules of a business's calendars.
pub(crate) struct Calendars<'a> {
    business: &'a Business,
}

impl<'a> Calendars<'a> {
    pub(crate) const fn of(business: &'a Business) -> Self {
        Self { business }
    }

    /// The time that a calendar keeps free around its appointments, in seconds.
    pub(crate) fn buffer(&self, calendar: &str) -> i64 {
        let calendar = self.business.catalogue.calendar(calendar);
        calendar.map_or(0, |calendar| i64::from(calendar.buffer_minutes) * 60)
    }

    /// The longest time that any calendar keeps free, in seconds.
    pub(crate) fn longest_buffer(&self) -> i64 {
        let calendars = self.business.catalogue.calendars.iter();
        let longest = calendars.map(|calendar| calendar.buffer_minutes).max();
        i64::from(longest.unwrap_or_default()) * 60
    }

    /// The number of appointments that a calendar can have at once.
    pub(crate) fn capacity(&self, calendar: &str) -> Option<usize> {
        let capacity = self.business.catalogue.calendar(calendar)?.capacity?;
        Some(usize::try_from(capacity).unwrap_or(usize::MAX))
    }

    pub(crate) fn hours(&self, calendar: &str) -> Hours {
        Hours::of(self.business, self.business.catalogue.calendar(calendar))
    }
}

/// The times within which other appointments can be in conflict with one of `span`.
pub(crate) fn reach(business: &Business, span: Span) -> Span {
    span.widened(Calendars::of(business).longest_buffer())
}

/// Returns the times at which at least `capacity` of these spans overlap.
pub(crate) fn full(spans: impl Iterator<Item = Span>, capacity: usize) -> Vec<Span> {
    // At one moment ends come before beginnings, since spans that touch do not overlap.
    let mut changes: BTreeMap<i64, i64> = BTreeMap::new();
    for span in spans {
        *changes.entry(span.start).or_default() += 1;
        *changes.entry(span.end).or_default() -= 1;
    }
    let capacity = i64::try_from(capacity).unwrap_or(i64::MAX);
    let (mut full, mut since, mut count) = (Vec::new(), (capacity <= 0).then_some(i64::MIN), 0);
    for (at, change) in changes {
        count += change;
        match since {
            None if count >= capacity => since = Some(at),
            Some(start) if count < capacity => {
                full.push(Span { start, end: at });
                since = None;
            }
            _ => {}
        }
    }
    full.extend(since.map(|start| Span { start, end: i64::MAX }));
    full
}

/// Returns the conflicts of `wanted` with the other appointments, and with the hours.
pub(crate) fn conflicts(business: &Business, wanted: &Occupied, others: &[Occupied]) -> Vec<Conflict> {
    let calendars = Calendars::of(business);
    let (span, own_buffer) = (wanted.span(), calendars.buffer(&wanted.calendar));
    let others = || others.iter().filter(|other| other.id != wanted.id);
    let mut conflicts = Vec::new();
    for other in others() {
        let buffer = own_buffer.max(calendars.buffer(&other.calendar));
        if !other.span().widened(buffer).overlaps(span) {
            continue;
        }
        let both = wanted.staff.iter().filter(|staff| other.staff.contains(staff));
        conflicts.extend(both.map(|staff| Conflict {
            reason: ConflictReason::Staff,
            appointment: Some(other.id),
            staff: Some(*staff),
        }));
        if wanted.vehicle.is_some() && wanted.vehicle == other.vehicle {
            conflicts.push(Conflict {
                reason: ConflictReason::Vehicle,
                appointment: Some(other.id),
                staff: None,
            });
        }
    }
    conflicts.sort_by_key(|conflict| conflict.reason != ConflictReason::Staff);
    let mut single = Vec::new();
    let mut add = |reason| {
        single.push(Conflict {
            reason,
            appointment: None,
            staff: None,
        });
    };
    if let Some(capacity) = calendars.capacity(&wanted.calendar) {
        let same = others().filter(|other| other.calendar == wanted.calendar);
        let full = full(same.map(Occupied::span), capacity);
        if full.iter().any(|full| full.overlaps(span)) {
            add(ConflictReason::Calendar);
        }
    }
    if !calendars.hours(&wanted.calendar).are_open(span) {
        add(ConflictReason::Closed);
    }
    // Every reason is named, however many appointments are in the way.
    conflicts.truncate(MAX_CONFLICTS - single.len());
    conflicts.append(&mut single);
    conflicts
}
