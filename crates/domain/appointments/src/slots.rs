//! Free slots, by the rules of conflicts (areas §10.9).

use forecourt_accounts::Business;
use forecourt_kernel::{StaffId, Timestamp, VehicleId};
use forecourt_reference::BookingType;
use serde::Serialize;

use crate::{
    conflicts::{Calendars, Occupied, full},
    open::{Span, any_overlaps, joined},
};

/// The step of calendars that have none of their own, in minutes.
const DEFAULT_STEP_MINUTES: u32 = 15;

/// A request for free slots.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotQuery {
    /// The id of a booking type.
    pub kind: String,
    /// The first moment at which a slot may begin; by default now.
    pub from: Option<Timestamp>,
    /// The moment before which slots begin; by default a week later.
    pub to: Option<Timestamp>,
    /// The member of the staff who is to be free.
    pub staff: Option<StaffId>,
    /// The vehicle that is to be free.
    pub vehicle: Option<VehicleId>,
}

/// A free slot.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AppointmentSlot))]
pub struct Slot {
    /// Its beginning, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub start: Timestamp,
    /// Its end, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub end: Timestamp,
    /// The staff of the calendar who are free.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<i64>))]
    pub staff: Vec<StaffId>,
}

/// The free slots of a booking type.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AppointmentSlots))]
pub struct Slots {
    /// The business's time zone, an IANA name.
    pub timezone: String,
    /// The length of each slot.
    pub duration_minutes: u32,
    /// The slots, in the order of time.
    pub slots: Vec<Slot>,
}

/// The choice of slots.
pub(crate) struct Wanted<'a> {
    pub(crate) kind: &'a BookingType,
    /// The times at which slots may begin.
    pub(crate) within: Span,
    pub(crate) now: Timestamp,
    pub(crate) staff: Option<StaffId>,
    pub(crate) vehicle: Option<VehicleId>,
}

/// The times in which a person or a vehicle is taken, with the time that is kept free around them.
fn taken<'a>(calendars: &Calendars<'_>, own_buffer: i64, others: impl Iterator<Item = &'a Occupied>) -> Vec<Span> {
    let taken = others.map(|other| {
        let buffer = own_buffer.max(calendars.buffer(&other.calendar));
        other.span().widened(buffer)
    });
    joined(taken.collect())
}

/// Returns the free slots. `others` are the appointments that can be in conflict with any of them.
pub(crate) fn free(business: &Business, wanted: &Wanted<'_>, others: &[Occupied]) -> Vec<Slot> {
    let Wanted {
        kind,
        within,
        now,
        staff,
        vehicle,
    } = wanted;
    let calendars = Calendars::of(business);
    let calendar = business.catalogue.calendar(&kind.calendar);
    let step = calendar.map_or(DEFAULT_STEP_MINUTES, |calendar| calendar.step_minutes.max(1));
    let step = i64::from(step) * 60;
    let length = i64::from(kind.duration_minutes) * 60;
    let notice = calendar.map_or(0, |calendar| i64::from(calendar.notice_minutes) * 60);
    let earliest = within.start.max(now.plus_seconds(notice).epoch_seconds());
    let own_buffer = calendars.buffer(&kind.calendar);

    let of_staff = |id: StaffId| {
        taken(
            &calendars,
            own_buffer,
            others.iter().filter(|other| other.staff.contains(&id)),
        )
    };
    let of_calendar = calendar.map_or(&[][..], |calendar| &calendar.staff);
    let colleagues = of_calendar
        .iter()
        .filter(|id| business.catalogue.has_staff(**id) && staff.is_none_or(|only| only == **id));
    let colleagues: Vec<(StaffId, Vec<Span>)> = colleagues.map(|id| (*id, of_staff(*id))).collect();
    let needs_staff = !of_calendar.is_empty();
    let mut busy = match vehicle {
        Some(vehicle) => taken(
            &calendars,
            own_buffer,
            others.iter().filter(|other| other.vehicle == Some(*vehicle)),
        ),
        None => Vec::new(),
    };
    if let (false, Some(id)) = (needs_staff, staff) {
        busy.extend(of_staff(*id));
    }
    if let Some(capacity) = calendars.capacity(&kind.calendar) {
        let same = others.iter().filter(|other| other.calendar == kind.calendar);
        busy.extend(full(same.map(Occupied::span), capacity));
    }
    let busy = joined(busy);

    let mut slots = Vec::new();
    for (opening, closes) in calendars.hours(&kind.calendar).openings(*within) {
        let skipped = (earliest - opening.start).max(0);
        let mut start = opening.start + (skipped + step - 1) / step * step;
        while start < opening.end.min(within.end) && start + length <= closes {
            let span = Span {
                start,
                end: start + length,
            };
            start += step;
            if any_overlaps(&busy, span) {
                continue;
            }
            let free = colleagues.iter().filter(|(_, taken)| !any_overlaps(taken, span));
            let staff: Vec<StaffId> = free.map(|(id, _)| *id).collect();
            if needs_staff && staff.is_empty() {
                continue;
            }
            slots.push(Slot {
                start: Timestamp::from_epoch_seconds(span.start),
                end: Timestamp::from_epoch_seconds(span.end),
                staff,
            });
        }
    }
    slots
}
