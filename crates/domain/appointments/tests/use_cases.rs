//! Tests of the use cases, on the store in memory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong in a test fails it")]

use forecourt_accounts::{Business, Caller, Rules};
use forecourt_appointments::testing::{MemoryAppointmentStore, appointment_store_contract};
use forecourt_appointments::{
    Appointment, AppointmentChanges, AppointmentError, AppointmentReader as _, AppointmentStatus,
    AppointmentStore as _, Conflict, ConflictReason, Visitor, cancel_appointment, create_appointment, remind,
    update_appointment,
};
use forecourt_kernel::testing::FixedClock;
use forecourt_kernel::{
    BusinessId, ContactId, LeadId, ScopeSet, StaffId, Timestamp, Valid, ValidationErrors, VehicleId, Version,
};
use forecourt_reference::{BookingType, Calendar, StaffUser};
use serde_json::{Value, json};

/// 2026-03-02T08:00:00Z, a Monday.
const NOW: Timestamp = Timestamp::from_epoch_seconds(1_772_438_400);
const HOST: &str = "cars.example";
const OURS: BusinessId = BusinessId::new(1);

type Store = MemoryAppointmentStore;

fn clock() -> FixedClock {
    FixedClock::at(NOW)
}

fn calendar(capacity: Option<u32>, buffer_minutes: u32) -> Calendar {
    Calendar {
        id: "sales".into(),
        name: "Sales".into(),
        capacity,
        staff: vec![StaffId::new(2), StaffId::new(4)],
        opening_hours: None,
        step_minutes: 15,
        buffer_minutes,
        notice_minutes: 0,
    }
}

fn business() -> Business {
    let mut business = Business::new(OURS, "acme", "Acme Cars");
    business.email = "office@acme.example".into();
    let kind = |id: &str, calendar: &str, duration_minutes, enabled| BookingType {
        id: id.into(),
        name: format!("The {id}"),
        enabled,
        calendar: calendar.into(),
        duration_minutes,
    };
    business.catalogue.booking_types = vec![
        kind("test_drive", "sales", 30, true),
        kind("open_end", "", 0, true),
        kind("old", "", 30, false),
    ];
    business.catalogue.calendars = vec![calendar(None, 0)];
    let user = |id| StaffUser {
        id: StaffId::new(id),
        name: format!("User {id}"),
        role: Vec::new(),
        email: String::new(),
    };
    business.catalogue.staff = vec![user(2), user(4), user(6)];
    business
}

fn by(business: Business) -> Caller {
    Caller::of(business, ScopeSet::all())
}

fn store() -> Store {
    let mut store = Store::default();
    store.appointments.know_contact(OURS, ann("Ann Lee"));
    store
        .appointments
        .know_lead(OURS, LeadId::new(7), Some(ContactId::new(77)));
    store
        .appointments
        .know_vehicle(OURS, VehicleId::new(9), "Ford Focus, AB12 CDE");
    store
}

fn ann(name: &str) -> Visitor {
    Visitor {
        contact: ContactId::new(77),
        name: name.into(),
        email: "ann@example.com".into(),
        phone: "+447700900123".into(),
    }
}

fn read(body: Value) -> AppointmentChanges {
    serde_json::from_value(body).unwrap()
}

async fn book_by(store: &mut Store, by: &Caller, body: Value) -> Result<Appointment, AppointmentError> {
    let rules = Rules {
        business: &by.business,
        now: NOW,
    };
    let changes = Valid::new(read(body), |changes| changes.faults_of_new(&rules))?;
    create_appointment(store, &clock(), by, HOST, changes).await
}

async fn book(store: &mut Store, body: Value) -> Result<Appointment, AppointmentError> {
    book_by(store, &by(business()), body).await
}

async fn change_by(
    store: &mut Store,
    by: &Caller,
    of: &Appointment,
    body: Value,
) -> Result<Appointment, AppointmentError> {
    let rules = Rules {
        business: &by.business,
        now: NOW,
    };
    let changes = Valid::new(read(body), |changes| changes.faults(&rules))?;
    update_appointment(store, &clock(), by, HOST, of.id, changes).await
}

async fn change(store: &mut Store, of: &Appointment, body: Value) -> Result<Appointment, AppointmentError> {
    change_by(store, &by(business()), of, body).await
}

fn later(seconds: i64) -> i64 {
    NOW.plus_seconds(seconds).epoch_seconds()
}

fn fields(errors: &ValidationErrors) -> Vec<&str> {
    errors.as_slice().iter().map(|error| &*error.field).collect()
}

fn faults(result: Result<Appointment, AppointmentError>) -> Vec<String> {
    match result {
        Err(AppointmentError::Invalid(errors)) => fields(&errors).into_iter().map(str::to_owned).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    appointment_store_contract(&mut Store::default(), OURS, BusinessId::new(2)).await;
}

#[tokio::test]
async fn a_booking_has_the_defaults_and_its_event_and_its_mail() {
    let mut store = store();
    let body = json!({"type": "test_drive", "start": later(7200), "lead": 7, "vehicle": 9, "staff": [4, 4, 2]});
    let booked = book(&mut store, body).await.unwrap();
    let content = &booked.content;
    assert_eq!(content.end, NOW.plus_seconds(7200 + 1800));
    assert_eq!((content.calendar.as_str(), content.duration_minutes()), ("sales", 30));
    assert_eq!(content.contact, Some(ContactId::new(77)), "the lead's");
    assert_eq!(
        (content.name.as_str(), content.email.as_str()),
        ("Ann Lee", "ann@example.com")
    );
    assert_eq!(content.staff, [StaffId::new(4), StaffId::new(2)]);
    assert_eq!(content.reminder_minutes, Some(1440));
    assert_eq!(booked.remind_at, None, "it was booked later than its reminder");
    let [(_, event)] = store.events.as_slice() else {
        panic!()
    };
    let data: Value = serde_json::from_str(&event.data).unwrap();
    assert_eq!(event.name.as_str(), "appointment.created");
    assert_eq!(
        data["changed"].as_array().unwrap().len(),
        data.as_object().unwrap().len() - 1
    );
    let [(_, mail, _)] = store.mails.as_slice() else {
        panic!()
    };
    assert_eq!(mail.to, "ann@example.com");
    assert!(
        mail.text.contains("2026-03-02 10:00 GMT") && mail.text.contains("User 4, User 2"),
        "{}",
        mail.text
    );
    let calendar = String::from_utf8(mail.attachments[0].content.to_vec()).unwrap();
    for line in [
        "METHOD:REQUEST",
        &format!("UID:appointment-{}@cars.example", booked.id),
        "SEQUENCE:0",
        "DTSTART:20260302T100000Z",
        "DTEND:20260302T103000Z",
        "SUMMARY:The test_drive: Ford Focus\\, AB12 CDE",
    ] {
        assert!(calendar.contains(&format!("\r\n{line}\r\n")), "{line}: {calendar}");
    }
    assert!(
        calendar
            .split("\r\n")
            .all(|line| line.len() <= 75 && !line.contains('\n'))
    );
    let page = store
        .lead_appointments(
            OURS,
            LeadId::new(7),
            &forecourt_kernel::PageRequest::of_one(booked.id.get()),
        )
        .await
        .unwrap();
    assert_eq!(page.unwrap().items.len(), 1, "it is on the lead's list");
}

#[tokio::test]
async fn every_fault_is_named() {
    let mut store = store();
    let start = later(60);
    for (body, expected) in [
        (json!({}), vec!["type", "start"]),
        (json!({"type": "none", "start": start}), vec!["type"]),
        (json!({"type": "old", "start": start}), vec!["type"]),
        (json!({"type": null, "start": null}), vec!["type", "start"]),
        (json!({"type": "open_end", "start": start}), vec!["end"]),
        (json!({"type": "test_drive", "start": start, "end": start}), vec!["end"]),
        (
            json!({"type": "test_drive", "start": start, "end": start + 86_401}),
            vec!["end"],
        ),
        (
            json!({"type": "test_drive", "start": start, "end": start + 60, "duration_minutes": 2}),
            vec!["duration_minutes"],
        ),
        (
            json!({"type": "test_drive", "start": start, "duration_minutes": 0}),
            vec!["duration_minutes"],
        ),
        (
            json!({"type": "test_drive", "start": start, "staff": [2, 3]}),
            vec!["staff.1"],
        ),
        (json!({"type": "test_drive", "start": start, "deal": 1}), vec!["deal"]),
        (
            json!({"type": "test_drive", "start": start, "lead": 8, "vehicle": 8}),
            vec!["lead", "vehicle"],
        ),
        (json!({"type": "test_drive", "start": start, "site": 8}), vec!["site"]),
        (
            json!({"type": "test_drive", "start": start, "reminder_minutes": 43_201}),
            vec!["reminder_minutes"],
        ),
        (
            json!({"type": "test_drive", "start": "soon", "email": "x", "phone": "y"}),
            vec!["start", "email", "phone"],
        ),
    ] {
        assert_eq!(faults(book(&mut store, body.clone()).await), expected, "{body}");
    }
    let absent = book(&mut store, json!({"type": "test_drive", "start": start, "contact": 78})).await;
    assert!(matches!(absent, Err(AppointmentError::ContactNotFound(id)) if id.get() == 78));
    let booked = book(&mut store, json!({"type": "test_drive", "start": start}))
        .await
        .unwrap();
    for (body, expected) in [
        (json!({"status": "cancelled"}), "status"),
        (json!({"start": null}), "start"),
        (json!({"type": "old"}), "type"),
        (json!({"end": start}), "end"),
    ] {
        assert_eq!(
            faults(change(&mut store, &booked, body.clone()).await),
            [expected],
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_new_start_or_type_keeps_the_duration() {
    let mut store = store();
    let body = json!({"type": "test_drive", "start": later(60), "duration_minutes": 45});
    let booked = book(&mut store, body).await.unwrap();
    let moved = change(&mut store, &booked, json!({"start": later(7200)}))
        .await
        .unwrap();
    assert_eq!(moved.content.end, NOW.plus_seconds(7200 + 2700));
    let retyped = change(&mut store, &booked, json!({"type": "open_end"})).await.unwrap();
    assert_eq!(
        (retyped.content.duration_minutes(), &*retyped.content.calendar),
        (45, "")
    );
    let longer = change(&mut store, &booked, json!({"duration_minutes": 60}))
        .await
        .unwrap();
    assert_eq!(longer.content.duration_minutes(), 60);
    assert_eq!(longer.version, Version::new(4));
    let same = change(&mut store, &booked, json!({"duration_minutes": 60}))
        .await
        .unwrap();
    assert_eq!((same.version, store.events.len()), (Version::new(4), 4));
    let data: Value = serde_json::from_str(&store.events[1].1.data).unwrap();
    assert_eq!(data["changed"], json!(["start", "end", "version", "updated"]));
}

#[tokio::test]
async fn every_cell_of_the_table_of_statuses_is_kept() {
    let allowed = [
        ("booked", vec!["confirmed", "arrived", "completed", "no_show"]),
        ("confirmed", vec!["booked", "arrived", "completed", "no_show"]),
        ("arrived", vec!["completed", "booked"]),
        ("completed", vec!["booked"]),
        ("no_show", vec!["booked"]),
        ("cancelled", vec![]),
    ];
    for (from, to) in allowed {
        for status in AppointmentStatus::ALL.map(AppointmentStatus::name) {
            let mut store = store();
            let start = later(60);
            let booked = book(&mut store, json!({"type": "test_drive", "start": start}))
                .await
                .unwrap();
            match from {
                "booked" => {}
                "cancelled" => {
                    let by = by(business());
                    cancel_appointment(&mut store, &clock(), &by, HOST, booked.id, "ill".into(), true)
                        .await
                        .unwrap();
                }
                from => drop(change(&mut store, &booked, json!({"status": from})).await.unwrap()),
            }
            let result = change(&mut store, &booked, json!({"status": status})).await;
            if status == "cancelled" {
                assert_eq!(faults(result), ["status"], "{from} to {status}");
            } else if to.contains(&status) || status == from {
                assert_eq!(result.unwrap().content.status.name(), status, "{from} to {status}");
            } else {
                let refused = matches!(result, Err(AppointmentError::InvalidStatus(status)) if status.name() == from);
                assert!(refused, "{from} to {status}");
            }
            let by = by(business());
            let mut before = store.clone();
            let current = before.lock_appointment(OURS, booked.id).await.unwrap().unwrap();
            let cancelled = cancel_appointment(&mut store, &clock(), &by, HOST, booked.id, String::new(), true).await;
            assert_eq!(
                cancelled.is_ok(),
                current.content.status.takes_up(),
                "{from} to {status}, cancelled"
            );
        }
    }
}

#[tokio::test]
async fn a_cancelled_one_changes_but_its_notes() {
    let mut store = store();
    let booked = book(
        &mut store,
        json!({"type": "test_drive", "start": later(60), "email": "bob@example.com"}),
    )
    .await;
    let booked = booked.unwrap();
    let by = by(business());
    let cancelled = cancel_appointment(&mut store, &clock(), &by, HOST, booked.id, "ill".into(), true).await;
    assert_eq!(cancelled.unwrap().content.cancel_reason, "ill");
    let (_, event) = store.events.last().unwrap();
    assert_eq!(
        (event.name.as_str(), &*event.data),
        ("appointment.cancelled", &*format!("{{\"id\":{}}}", booked.id))
    );
    let (_, mail, _) = store.mails.last().unwrap();
    let calendar = String::from_utf8(mail.attachments[0].content.to_vec()).unwrap();
    assert!(calendar.contains("METHOD:CANCEL\r\n") && calendar.contains("STATUS:CANCELLED\r\n"));
    assert!(mail.text.contains("Reason: ill"));
    change(
        &mut store,
        &booked,
        json!({"notes": "rings on Monday", "status": "booked"}),
    )
    .await
    .unwrap_err();
    change(&mut store, &booked, json!({"title": "x"})).await.unwrap_err();
    change(&mut store, &booked, json!({"title": "", "notes": "rings on Monday"}))
        .await
        .unwrap();
}

fn conflict(reason: ConflictReason, appointment: Option<&Appointment>, staff: Option<i64>) -> Conflict {
    Conflict {
        reason,
        appointment: appointment.map(|appointment| appointment.id),
        staff: staff.map(StaffId::new),
    }
}

fn conflicts(result: Result<Appointment, AppointmentError>) -> Vec<Conflict> {
    match result {
        Err(AppointmentError::Conflict(conflicts)) => conflicts,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn conflicts_name_every_reason() {
    let mut full = business();
    full.catalogue.calendars = vec![calendar(Some(1), 10)];
    full.settings.opening_hours = serde_json::from_value(json!({"mon": [["08:00", "12:00"]]})).unwrap();
    let full = by(full);
    let mut store = store();
    let at = |minutes: i64| later(minutes * 60);
    let body = json!({"type": "test_drive", "start": at(60), "staff": [2, 4], "vehicle": 9});
    let first = book_by(&mut store, &full, body.clone()).await.unwrap();
    let again = conflicts(book_by(&mut store, &full, body.clone()).await);
    use ConflictReason::{Calendar, Closed, Staff, Vehicle};
    let expected = [
        conflict(Staff, Some(&first), Some(2)),
        conflict(Staff, Some(&first), Some(4)),
        conflict(Vehicle, Some(&first), None),
        conflict(Calendar, None, None),
    ];
    assert_eq!(again, expected);
    let mut forced = body;
    forced["force"] = json!(true);
    book_by(&mut store, &full, forced).await.unwrap();

    // The buffer counts for staff and vehicle, not for the calendar.
    for (minutes, staff, expected) in [
        (90, json!([]), 0),
        (99, json!([2]), 2),
        (100, json!([2]), 0),
        (20, json!([2]), 0),
        (21, json!([2]), 2),
        (30, json!([]), 0),
    ] {
        let mut store = store.clone();
        let body = json!({"type": "test_drive", "start": at(minutes), "staff": staff});
        let result = book_by(&mut store, &full, body).await;
        match expected {
            0 => drop(result.unwrap()),
            count => assert_eq!(conflicts(result).len(), count, "{minutes}"),
        }
    }
    for (start, is_open) in [(-1, false), (0, true), (210, true), (211, false), (24 * 60, false)] {
        let mut store = Store::default();
        let result = book_by(&mut store, &full, json!({"type": "test_drive", "start": at(start)})).await;
        if is_open {
            result.unwrap();
        } else {
            assert_eq!(conflicts(result), [conflict(Closed, None, None)], "{start}");
        }
    }
}

#[tokio::test]
async fn a_status_that_comes_back_is_judged_and_other_changes_are_not() {
    let mut full = business();
    full.catalogue.calendars = vec![calendar(Some(1), 0)];
    let full = by(full);
    let mut store = store();
    let body = json!({"type": "test_drive", "start": later(60)});
    let first = book_by(&mut store, &full, body.clone()).await.unwrap();
    change_by(&mut store, &full, &first, json!({"status": "no_show"}))
        .await
        .unwrap();
    let second = book_by(&mut store, &full, body).await.unwrap();
    let back = change_by(&mut store, &full, &first, json!({"status": "booked"})).await;
    assert_eq!(conflicts(back).len(), 1);
    change_by(&mut store, &full, &first, json!({"status": "booked", "force": true}))
        .await
        .unwrap();
    change_by(&mut store, &full, &second, json!({"notes": "x", "title": "y"}))
        .await
        .unwrap();
    let moved = change_by(&mut store, &full, &second, json!({"start": later(120)})).await;
    assert_eq!(conflicts(moved).len(), 1);
}

#[tokio::test]
async fn a_reminder_goes_once_for_each_start() {
    let mut store = store();
    let by = by(business());
    let body =
        json!({"type": "test_drive", "start": later(7200), "contact": 77, "reminder_minutes": 60, "notify": false});
    let booked = book(&mut store, body).await.unwrap();
    assert_eq!(booked.remind_at, Some(NOW.plus_seconds(3600)));
    let round = async |store: &mut Store, at: i64| {
        let clock = FixedClock::at(NOW.plus_seconds(at));
        for due in store.due_reminders(NOW.plus_seconds(at), 9).await.unwrap() {
            remind(store, &clock, &by.business, HOST, due.appointment)
                .await
                .unwrap();
        }
        store.mails.len()
    };
    assert_eq!(round(&mut store, 3599).await, 0);
    assert_eq!(round(&mut store, 3600).await, 1);
    assert_eq!(round(&mut store, 3601).await, 1);
    let read = store.appointment(OURS, booked.id).await.unwrap().unwrap();
    assert_eq!(
        (read.reminded, read.version.number(), store.events.len()),
        (Some(NOW.plus_seconds(3600)), 1, 1)
    );
    // A later start has a reminder of its own; null is none.
    change(&mut store, &booked, json!({"start": later(86_400), "notify": false}))
        .await
        .unwrap();
    assert_eq!(round(&mut store, 86_400 - 3600).await, 2);
    change(&mut store, &booked, json!({"start": later(90_000), "notify": false}))
        .await
        .unwrap();
    change(&mut store, &booked, json!({"reminder_minutes": null}))
        .await
        .unwrap();
    assert_eq!(round(&mut store, 90_000).await, 2);
    let other = book(
        &mut store,
        json!({"type": "test_drive", "start": later(7200), "contact": 77, "reminder_minutes": 60, "notify": false}),
    );
    let other = other.await.unwrap();
    cancel_appointment(&mut store, &clock(), &by, HOST, other.id, String::new(), false)
        .await
        .unwrap();
    assert_eq!(round(&mut store, 7000).await, 2);
}

#[tokio::test]
async fn the_visitor_reads_as_the_contact_does_now() {
    let mut store = store();
    let booked = book(
        &mut store,
        json!({"type": "test_drive", "start": later(60), "contact": 77, "name": "Nobody"}),
    )
    .await;
    let booked = booked.unwrap();
    assert_eq!(booked.content.name, "Ann Lee");
    let before = store.appointment(OURS, booked.id).await.unwrap().unwrap();
    assert_eq!(before.version, Version::FIRST);
    store.appointments.know_contact(OURS, ann("Ann Smith"));
    let after = store.appointment(OURS, booked.id).await.unwrap().unwrap();
    assert_eq!(after.content.name, "Ann Smith");
    assert_eq!(after.version.number(), 1);
    assert_ne!(after.version, before.version);
    let without = change(&mut store, &booked, json!({"contact": null, "name": "Bob"}))
        .await
        .unwrap();
    assert_eq!((&*without.content.name, &*without.content.email), ("Bob", ""));
}
