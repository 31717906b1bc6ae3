//! The agenda and the free slots.

use forecourt_accounts::Caller;
use forecourt_kernel::{Clock, Timestamp, ValidationErrors};

use crate::{
    AgendaFilter, Appointment, AppointmentError, AppointmentReader, Slots,
    appointment::booking_type,
    conflicts::reach,
    open::Span,
    slots::{SlotQuery, Wanted, free},
};

const SECONDS_PER_DAY: i64 = 86_400;
/// The longest agenda.
pub const MAX_AGENDA_DAYS: i64 = 62;
/// The appointments of an agenda.
pub const MAX_AGENDA: u32 = 5_000;
/// The longest time in which slots are looked for.
pub const MAX_SLOT_DAYS: i64 = 31;
/// The default of that time.
const SLOT_DAYS: i64 = 7;
/// The appointments that are read at once.
const AT_ONCE: u32 = 200;

/// Returns the fault of a span of time that is longer than `days` or runs backwards.
fn span_fault(from: Timestamp, to: Timestamp, days: i64) -> Option<ValidationErrors> {
    if to < from {
        return Some(ValidationErrors::one("to", "must not be before from"));
    }
    let too_long = from.plus_seconds(days * SECONDS_PER_DAY) < to;
    too_long.then(|| ValidationErrors::one("to", format!("must be at most {days} days after from")))
}

/// Returns the appointments that overlap a span of time, by their start and then by their id. Their notes are left out.
///
/// # Errors
/// [`AppointmentError::Invalid`] for `to` if the span is too long or has too many appointments; [`AppointmentError::Store`].
pub async fn read_agenda(
    store: &mut dyn AppointmentReader,
    by: &Caller,
    filter: &AgendaFilter,
) -> Result<Vec<Appointment>, AppointmentError> {
    if let Some(fault) = span_fault(filter.from, filter.to, MAX_AGENDA_DAYS) {
        return Err(fault.into());
    }
    let business = by.business_id();
    if store.count_agenda(business, filter, MAX_AGENDA + 1).await? > MAX_AGENDA {
        let message = format!("must be earlier: there are more than {MAX_AGENDA} appointments");
        return Err(ValidationErrors::one("to", message).into());
    }
    let mut agenda: Vec<Appointment> = Vec::new();
    loop {
        let after = agenda.last().map(|last| (last.content.start, last.id));
        let mut part = store.agenda(business, filter, after, AT_ONCE).await?;
        if part.is_empty() {
            return Ok(agenda);
        }
        // The view of an agenda has no long texts, and together they could be large.
        for appointment in &mut part {
            appointment.content.notes = String::new();
            appointment.content.cancel_reason = String::new();
        }
        agenda.append(&mut part);
    }
}

/// Returns the free slots of a booking type.
///
/// # Errors
/// [`AppointmentError::Invalid`] for `type` if it is unknown, disabled or without a duration, for `to` if it is too late;
/// [`AppointmentError::Store`].
pub async fn find_slots(
    store: &mut dyn AppointmentReader,
    clock: &dyn Clock,
    by: &Caller,
    query: &SlotQuery,
) -> Result<Slots, AppointmentError> {
    let business = &*by.business;
    let now = clock.now();
    let from = query.from.unwrap_or(now);
    let to = query.to.unwrap_or(from.plus_seconds(SLOT_DAYS * SECONDS_PER_DAY));
    let mut faults = ValidationErrors::new();
    let kind = booking_type(business, &query.kind);
    match kind {
        None => faults.add("type", "names no booking type of this business"),
        Some(kind) if !kind.enabled => faults.add("type", "cannot be booked at present"),
        Some(kind) if kind.duration_minutes == 0 => faults.add("type", "has no duration"),
        Some(_) => {}
    }
    if let Some(fault) = span_fault(from, to, MAX_SLOT_DAYS) {
        faults.extend(fault);
    }
    let Some(kind) = kind.filter(|_| faults.is_empty()) else {
        return Err(faults.into());
    };
    let mut slots = Slots {
        timezone: business.time_zone().to_string(),
        duration_minutes: kind.duration_minutes,
        slots: Vec::new(),
    };
    // What the business does not have is never free.
    if let Some(vehicle) = query.vehicle
        && store.vehicle_title(business.id, vehicle).await?.is_none()
    {
        return Ok(slots);
    }
    if query.staff.is_some_and(|staff| !business.catalogue.has_staff(staff)) {
        return Ok(slots);
    }
    let within = Span::between(from, to);
    let length = i64::from(kind.duration_minutes) * 60;
    let seen = reach(
        business,
        Span {
            end: within.end.saturating_add(length),
            ..within
        },
    );
    let start = Timestamp::from_epoch_seconds(seen.start);
    let end = Timestamp::from_epoch_seconds(seen.end);
    let others = store.occupied(business.id, start, end).await?;
    let wanted = Wanted {
        kind,
        within,
        now,
        staff: query.staff,
        vehicle: query.vehicle,
    };
    slots.slots = free(business, &wanted, &others);
    Ok(slots)
}
