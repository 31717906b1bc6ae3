//! Slots, compared with a search that tries every minute, in two time zones, over both nights on which clocks change.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

use std::collections::BTreeSet;

use forecourt_accounts::{Business, Caller};
use forecourt_appointments::testing::{MemoryAppointmentStore, an_appointment};
use forecourt_appointments::{
    AppointmentContent, AppointmentStatus, AppointmentStore as _, Hours, SlotQuery, Span, create_appointment,
    find_slots,
};
use forecourt_kernel::testing::FixedClock;
use forecourt_kernel::{BusinessId, Date, ScopeSet, StaffId, TimeZone, Timestamp, Valid, ValidationErrors};
use forecourt_reference::{BookingType, Calendar, OpeningHours, StaffUser};
use serde_json::{Value, json};

const DAY: i64 = 86_400;
const MINUTE: i64 = 60;
const OURS: BusinessId = BusinessId::new(1);

/// The first moment of a day in UTC.
fn day(date: &str) -> i64 {
    date.parse::<Date>().unwrap().midnight().epoch_seconds()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_epoch_seconds(seconds)
}

fn hours(json: Value) -> OpeningHours {
    serde_json::from_value(json).unwrap()
}

fn business(zone: &str, hours: Option<Value>, calendar: Calendar) -> Business {
    let mut business = Business::new(OURS, "acme", "Acme Cars");
    business.settings.timezone = Some(zone.parse().unwrap());
    business.settings.opening_hours = hours.map(self::hours);
    business.catalogue.booking_types = vec![BookingType {
        id: "viewing".into(),
        name: "Viewing".into(),
        enabled: true,
        calendar: "sales".into(),
        duration_minutes: 30,
    }];
    let user = |id| StaffUser {
        id: StaffId::new(id),
        name: format!("User {id}"),
        role: Vec::new(),
        email: String::new(),
    };
    business.catalogue.staff = vec![user(2), user(4)];
    business.catalogue.calendars = vec![calendar];
    business
}

fn calendar() -> Calendar {
    Calendar {
        id: "sales".into(),
        name: "Sales".into(),
        capacity: None,
        staff: Vec::new(),
        opening_hours: None,
        step_minutes: 30,
        buffer_minutes: 0,
        notice_minutes: 0,
    }
}

fn query(from: i64, to: i64) -> SlotQuery {
    SlotQuery {
        kind: "viewing".into(),
        from: Some(at(from)),
        to: Some(at(to)),
        staff: None,
        vehicle: None,
    }
}

async fn starts(store: &mut MemoryAppointmentStore, by: &Caller, now: i64, query: &SlotQuery) -> Vec<i64> {
    let found = find_slots(store, &FixedClock::at(at(now)), by, query).await.unwrap();
    found.slots.iter().map(|slot| slot.start.epoch_seconds()).collect()
}

/// Returns the minute of the day and the day, on the clocks of a zone.
fn clock(zone: TimeZone, moment: i64) -> (i64, Date) {
    let local = moment + zone.seconds_ahead(at(moment));
    (local.rem_euclid(DAY) / MINUTE, at(local).date())
}

/// Returns true if the clock on the wall shows a time within the hours at that minute.
fn is_open(business: &Business, moment: i64) -> bool {
    let (minute, date) = clock(business.time_zone(), moment);
    if business.settings.is_closed_on(date) {
        return false;
    }
    let Some(week) = &business.settings.opening_hours else {
        return true;
    };
    let spans = week.on(date.into());
    spans
        .iter()
        .any(|span| i64::from(span.opens().minutes()) <= minute && minute < i64::from(span.closes().minutes()))
}

/// Returns the beginnings of slots, found by walking through every minute from a day before.
fn by_minutes(business: &Business, from: i64, to: i64, now: i64) -> Vec<i64> {
    let step = i64::from(business.catalogue.calendars[0].step_minutes);
    let has_hours = business.settings.opening_hours.is_some();
    let zone = business.time_zone();
    let (mut found, mut opened) = (Vec::new(), None);
    for moment in ((from - 9 * DAY)..to).step_by(60) {
        if !is_open(business, moment) {
            opened = None;
            continue;
        }
        let is_new_day = !has_hours && clock(zone, moment).1 != clock(zone, moment - MINUTE).1;
        if opened.is_none() || is_new_day {
            opened = Some(moment);
        }
        let is_step = (moment - opened.unwrap()) / MINUTE % step == 0;
        let fits = (0..30).all(|minute| is_open(business, moment + minute * MINUTE));
        if is_step && fits && moment >= from && moment >= now {
            found.push(moment);
        }
    }
    found
}

#[tokio::test]
async fn slots_are_those_that_a_search_by_minutes_finds() {
    let weeks = [
        None,
        Some(json!({"mon": [["09:00", "12:30"], ["13:15", "18:00"]], "sat": [["10:00", "16:00"]]})),
        // Over midnight, and over the hour that is skipped or occurs twice.
        Some(
            json!({"sat": [["20:00", "24:00"]], "sun": [["00:00", "05:10"], ["22:00", "24:00"]], "mon": [["00:00", "03:00"]]}),
        ),
        Some(json!({"sun": [["00:30", "01:30"], ["02:45", "04:00"]]})),
    ];
    let nights = [
        ("Europe/London", ["2026-03-29", "2026-10-25"]),
        ("America/New_York", ["2026-03-08", "2026-11-01"]),
    ];
    for (zone, nights) in nights {
        for night in nights {
            for week in &weeks {
                for (step_minutes, closed) in [(30, None), (25, None), (50, Some(day(night) + DAY))] {
                    let calendar = Calendar {
                        step_minutes,
                        ..calendar()
                    };
                    let mut business = business(zone, week.clone(), calendar);
                    business.settings.closed_dates = closed.map(|closed| vec![at(closed).date()]);
                    let (from, to) = (day(night) - 2 * DAY, day(night) + 3 * DAY);
                    let now = from + 3 * 3600 + 7;
                    let expected = by_minutes(&business, from, to, now);
                    let by = Caller::of(business, ScopeSet::all());
                    let found = starts(&mut MemoryAppointmentStore::default(), &by, now, &query(from, to)).await;
                    assert_eq!(found, expected, "{zone} {night} {week:?} {step_minutes} {closed:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn days_of_23_and_25_hours_have_as_many_hours_of_slots() {
    for (night, hours) in [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)] {
        let by = Caller::of(business("Europe/London", None, calendar()), ScopeSet::all());
        let zone = by.business.time_zone();
        let (from, to) = (day(night) - DAY, day(night) + 2 * DAY);
        let found = starts(&mut MemoryAppointmentStore::default(), &by, from, &query(from, to)).await;
        let on_the_day = found.iter().filter(|start| clock(zone, **start).1.to_string() == night);
        assert_eq!(on_the_day.count(), hours * 2, "{night}");
    }
}

#[tokio::test]
async fn a_slot_can_be_booked_and_no_other_time_can() {
    let monday = day("2026-06-01");
    let week = json!({"mon": [["09:00", "13:00"]]});
    let full = Calendar {
        capacity: Some(2),
        staff: vec![StaffId::new(2), StaffId::new(4)],
        step_minutes: 15,
        buffer_minutes: 10,
        ..calendar()
    };
    let by = Caller::of(business("Europe/London", Some(week), full), ScopeSet::all());
    let mut store = MemoryAppointmentStore::default();
    // 09:00 is 08:00 in UTC in summer.
    let opens = monday + 8 * 3600;
    for (minutes, staff, status) in [
        (60, 2, AppointmentStatus::Booked),
        (75, 4, AppointmentStatus::Confirmed),
        (150, 2, AppointmentStatus::Cancelled),
        (180, 4, AppointmentStatus::Arrived),
        (180, 2, AppointmentStatus::NoShow),
    ] {
        let start = at(opens + minutes * MINUTE);
        let content = AppointmentContent {
            kind: "viewing".into(),
            calendar: "sales".into(),
            status,
            staff: vec![StaffId::new(staff)],
            start,
            end: start.plus_seconds(30 * MINUTE),
            ..an_appointment()
        };
        store.insert_appointment(OURS, content, None, start).await.unwrap();
    }
    let now = monday;
    let clock = FixedClock::at(at(now));
    let found = find_slots(&mut store, &clock, &by, &query(monday, monday + DAY))
        .await
        .unwrap();
    let found: BTreeSet<(i64, Vec<i64>)> = found
        .slots
        .iter()
        .map(|slot| {
            (
                slot.start.epoch_seconds(),
                slot.staff.iter().map(|id| id.get()).collect(),
            )
        })
        .collect();
    let mut bookable = BTreeSet::new();
    for minutes in (0..=240).step_by(15) {
        let start = opens + minutes * MINUTE;
        let mut free = Vec::new();
        for staff in [2, 4] {
            let body = json!({"type": "viewing", "start": start, "staff": [staff]});
            let body = Valid::new(serde_json::from_value(body).unwrap(), |_| ValidationErrors::new()).unwrap();
            let mut store = store.clone();
            if create_appointment(&mut store, &clock, &by, "cars.example", body)
                .await
                .is_ok()
            {
                free.push(staff);
            }
        }
        if !free.is_empty() {
            bookable.insert((start, free));
        }
    }
    assert_eq!(found, bookable);
    assert!(found.len() > 5 && found.len() < 15, "{}", found.len());
    let narrowed = SlotQuery {
        staff: Some(StaffId::new(4)),
        ..query(monday, monday + DAY)
    };
    let narrowed = find_slots(&mut store, &clock, &by, &narrowed).await.unwrap().slots;
    let of_four = found.iter().filter(|(_, staff)| staff.contains(&4)).count();
    assert_eq!(narrowed.len(), of_four);
    assert!(narrowed.iter().all(|slot| slot.staff == [StaffId::new(4)]));
}

#[tokio::test]
async fn notice_and_bounds_are_kept() {
    let monday = day("2026-06-01");
    let with_notice = Calendar {
        notice_minutes: 90,
        ..calendar()
    };
    let by = Caller::of(business("Europe/London", None, with_notice), ScopeSet::all());
    let mut store = MemoryAppointmentStore::default();
    let found = starts(&mut store, &by, monday + 1, &query(monday, monday + 3 * 3600)).await;
    assert_eq!(found, [monday + 2 * 3600, monday + 2 * 3600 + 1800]);
    let refused = async |query: SlotQuery| {
        let mut store = MemoryAppointmentStore::default();
        find_slots(&mut store, &FixedClock::at(at(monday)), &by, &query)
            .await
            .is_err()
    };
    assert!(!refused(query(monday, monday + 31 * DAY)).await);
    assert!(refused(query(monday, monday + 31 * DAY + 1)).await);
    assert!(refused(query(monday, monday - 1)).await);
    assert!(
        refused(SlotQuery {
            kind: "none".into(),
            ..query(monday, monday + DAY)
        })
        .await
    );
}

#[test]
fn spans_that_touch_are_one_and_closed_days_are_closed() {
    let week = json!({"fri": [["20:00", "24:00"]], "sat": [["00:00", "02:00"]]});
    let mut business = business("Europe/London", Some(week), calendar());
    let midnight = day("2026-01-10");
    let over = Span {
        start: midnight - 3600,
        end: midnight + 3600,
    };
    assert!(Hours::of(&business, None).are_open(over));
    business.settings.closed_dates = Some(vec!["2026-01-10".parse().unwrap()]);
    assert!(!Hours::of(&business, None).are_open(over));
    // Closed days count also where there are no hours.
    business.settings.opening_hours = None;
    let hours = Hours::of(&business, None);
    assert!(!hours.are_open(over));
    let before = Span {
        start: midnight - 9 * 3600,
        end: midnight,
    };
    assert!(hours.are_open(before));
}
