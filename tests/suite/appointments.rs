//! Appointments: every sentence of the decisions about them (§10.9).

use std::collections::BTreeSet;
use std::time::Duration;

use harness::{Engine, Receiver, Shop, both_engines, now, wait_for};
use serde_json::{Value, json};
use tokio::task::JoinSet;

both_engines! {
    a_booking_of_little_has_every_default
    each_fault_names_its_field
    twenty_bookings_of_one_place_make_one
    a_status_moves_as_the_table_says
    slots_and_agenda_show_what_is_taken
    a_lead_has_a_list_of_appointments
    a_visitor_gets_mails_with_a_calendar
    a_reminder_goes_once
    a_sold_vehicle_is_told_of
    an_appointment_is_a_calendar
    feeds_are_read_without_a_key
    each_filter_alone
    a_webhook_receives_appointments
    an_erased_contact_leaves_its_appointments
}

const APPOINTMENTS: &str = "/2.0/appointments";
const TIMEOUT: Duration = Duration::from_secs(60);
const DAY: i64 = 86_400;

/// Returns the body of a viewing that begins in this many seconds.
fn a_viewing(seconds: i64, more: &Value) -> Value {
    let mut body = json!({"type": "viewing", "start": now() + seconds});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

async fn book(shop: &Shop, seconds: i64, more: &Value) -> Value {
    shop.api.post(APPOINTMENTS, &a_viewing(seconds, more)).await.created()
}

fn path(appointment: &Value) -> String {
    format!("{APPOINTMENTS}/{}", appointment["id"])
}

/// Opens a shop whose business has a calendar with this capacity, closed on no day.
async fn with_calendar(engine: Engine, capacity: i64) -> Shop {
    let shop = Shop::open(engine).await;
    let calendar = json!({"id": "sales", "name": "Sales", "capacity": capacity, "staff": []});
    let kinds = json!([
        {"id": "viewing", "name": "Viewing", "enabled": true, "calendar": "sales", "duration_minutes": 30},
        {"id": "test_drive", "name": "Test drive", "enabled": true, "duration_minutes": 45},
        {"id": "old", "name": "Old", "enabled": false, "duration_minutes": 45},
    ]);
    shop.business
        .change(json!({"calendars": [calendar], "booking_types": kinds}))
        .await;
    wait_for("the change takes effect", TIMEOUT, async || {
        let kinds = shop.api.get("/2.0/reference/booking-types").await.ok();
        kinds.as_array().unwrap().len() == 3
    })
    .await;
    shop
}

async fn staff(shop: &Shop) -> Value {
    shop.api.get("/2.0/reference/staff-users").await.ok()[0]["id"].clone()
}

async fn contact(shop: &Shop, body: &Value) -> Value {
    shop.api.post("/2.0/contacts", body).await.created()["id"].take()
}

async fn events(shop: &Shop) -> Vec<String> {
    let events = shop.api.walk("/2.0/events").await;
    let names = events.iter().map(|event| event["event"].as_str().unwrap().to_owned());
    names.filter(|name| name.starts_with("appointment.")).collect()
}

async fn a_booking_of_little_has_every_default(engine: Engine) {
    let shop = Shop::open(engine).await;
    let body = a_viewing(2 * DAY, &json!({}));
    let answer = shop.api.post(APPOINTMENTS, &body).await;
    let made = answer.created();
    assert_eq!(answer.header("Location"), Some(&*path(&made)));
    let read = shop.api.get(&path(&made)).await;
    assert_eq!((read.ok(), read.header("ETag")), (made.clone(), Some("\"1\"")));
    let start = body["start"].as_i64().unwrap();
    let expected = json!({
        "id": made["id"], "site": 0, "type": "viewing", "calendar": "sales", "status": "booked", "title": "",
        "contact": null, "lead": null, "vehicle": null, "staff": [], "start": start, "end": start + 1800,
        "created": made["created"], "updated": made["created"], "deal": null, "duration_minutes": 30, "location": "",
        "name": "", "email": "", "phone": "", "notes": "", "source": "api", "reminder_minutes": 1440, "reminded": null,
        "cancel_reason": "", "version": 1,
    });
    assert_eq!(made, expected);
    let simple = shop.api.list(APPOINTMENTS).await.items.remove(0);
    let names: Vec<&String> = simple.as_object().unwrap().keys().collect();
    let expected = [
        "id", "site", "type", "calendar", "status", "title", "contact", "lead", "vehicle", "staff", "start", "end",
        "created", "updated",
    ];
    assert_eq!(names, expected);
    let same = shop.api.patch(&path(&made), &json!({"title": "", "nonsense": 1})).await;
    assert_eq!(same.ok(), made);
    let moved = shop.api.patch(&path(&made), &json!({"start": start + 60})).await.ok();
    assert_eq!((&moved["end"], &moved["version"]), (&json!(start + 1860), &json!(2)));
    let log = shop.api.walk("/2.0/events").await;
    let changed = log[1]["data"]["changed"].as_array().unwrap();
    for member in ["start", "end", "updated", "version"] {
        assert!(changed.contains(&json!(member)), "{changed:?}");
    }
    assert!(!changed.contains(&json!("title")), "{changed:?}");
    assert_eq!(events(&shop).await, ["appointment.created", "appointment.updated"]);
}

async fn each_fault_names_its_field(engine: Engine) {
    let shop = with_calendar(engine, 9).await;
    let start = now() + DAY;
    for (body, field) in [
        (json!({"start": start}), "type"),
        (json!({"type": "viewing"}), "start"),
        (json!({"type": "old", "start": start}), "type"),
        (json!({"type": "viewing", "start": start, "end": start}), "end"),
        (
            json!({"type": "viewing", "start": start, "end": start + DAY + 1}),
            "end",
        ),
        (json!({"type": "viewing", "start": start, "lead": 999_999}), "lead"),
        (
            json!({"type": "viewing", "start": start, "vehicle": 999_999}),
            "vehicle",
        ),
        (json!({"type": "viewing", "start": start, "deal": 987_654}), "deal"),
        (json!({"type": "viewing", "start": start, "site": 99}), "site"),
        (json!({"type": "viewing", "start": start, "staff": [99]}), "staff.0"),
        (
            json!({"type": "viewing", "start": start, "reminder_minutes": -1}),
            "reminder_minutes",
        ),
        (json!({"type": "viewing", "start": start, "email": "nobody"}), "email"),
    ] {
        shop.api.post(APPOINTMENTS, &body).await.invalid(&[field]);
    }
    let absent = json!({"type": "viewing", "start": start, "contact": 999_999});
    let refused = shop.api.post(APPOINTMENTS, &absent).await;
    let refused = refused.refused(422, "appointment_contact_not_found");
    assert_eq!(refused["details"]["field"], "contact", "{refused}");
    let made = book(&shop, DAY, &json!({})).await;
    shop.api
        .patch(&path(&made), &json!({"status": "cancelled"}))
        .await
        .invalid(&["status"]);
    shop.api
        .get(&format!("{APPOINTMENTS}/agenda"))
        .await
        .invalid(&["from", "to"]);
    for (query, field) in [
        ("slots", "type"),
        ("slots?type=old", "type"),
        ("slots?type=viewing&from=10&to=9", "to"),
    ] {
        shop.api.get(&format!("{APPOINTMENTS}/{query}")).await.invalid(&[field]);
    }
    let long = format!("{APPOINTMENTS}/agenda?from=0&to={}", 62 * DAY + 1);
    shop.api.get(&long).await.invalid(&["to"]);
}

async fn twenty_bookings_of_one_place_make_one(engine: Engine) {
    let shop = with_calendar(engine, 1).await;
    let second = shop.installation().serve().start().await;
    let other = second.client(&shop.business.key("all").await.token);
    for round in 0..3 {
        let body = a_viewing((round + 2) * DAY, &json!({}));
        let mut bookings = JoinSet::new();
        for client in [&shop.api, &other].into_iter().cycle().take(20) {
            let (client, body) = (client.clone(), body.clone());
            bookings.spawn(async move { client.post(APPOINTMENTS, &body).await });
        }
        let answers = bookings.join_all().await;
        let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
        assert_eq!(
            statuses.iter().filter(|status| **status == 201).count(),
            1,
            "{statuses:?}"
        );
        for answer in answers.iter().filter(|answer| answer.status != 201) {
            let refused = answer.refused(409, "appointment_conflict");
            let expected = json!([{"reason": "calendar", "appointment": null, "staff": null}]);
            assert_eq!(refused["details"]["conflicts"], expected);
        }
    }
    // Staff alone, without a calendar, are judged the same way.
    let staff = staff(&shop).await;
    let body = json!({"type": "test_drive", "start": now() + 9 * DAY, "staff": [staff]});
    let first = shop.api.post(APPOINTMENTS, &body).await.created();
    let refused = shop.api.post(APPOINTMENTS, &body).await;
    let refused = refused.refused(409, "appointment_conflict");
    let expected = json!([{"reason": "staff", "appointment": first["id"], "staff": staff}]);
    assert_eq!(refused["details"]["conflicts"], expected);
    let mut forced = body;
    forced["force"] = json!(true);
    shop.api.post(APPOINTMENTS, &forced).await.created();
}

async fn a_status_moves_as_the_table_says(engine: Engine) {
    let shop = Shop::open(engine).await;
    let made = book(&shop, DAY, &json!({})).await;
    let set = async |status: &str| shop.api.patch(&path(&made), &json!({"status": status})).await;
    for status in ["confirmed", "arrived", "completed"] {
        assert_eq!(set(status).await.ok()["status"], status);
    }
    let refused = set("no_show").await.refused(409, "appointment_invalid_status");
    assert_eq!(refused["details"]["status"], "completed");
    let cancel = format!("{}/cancel", path(&made));
    let refused = shop.api.post(&cancel, &json!({})).await;
    refused.refused(409, "appointment_invalid_status");
    set("booked").await.ok();
    let cancelled = shop.api.post(&cancel, &json!({"reason": "Rain."})).await.ok();
    let expected = (&json!("cancelled"), &json!("Rain."));
    assert_eq!((&cancelled["status"], &cancelled["cancel_reason"]), expected);
    set("booked").await.refused(409, "appointment_invalid_status");
    let refused = shop.api.patch(&path(&made), &json!({"title": "x"})).await;
    refused.refused(409, "appointment_invalid_status");
    let noted = shop.api.patch(&path(&made), &json!({"notes": "Rings again."})).await;
    assert_eq!(noted.ok()["notes"], "Rings again.");
    let absent = shop
        .api
        .post(&format!("{APPOINTMENTS}/999999/cancel"), &json!({}))
        .await;
    absent.refused(404, "appointment_not_found");
}

async fn slots_and_agenda_show_what_is_taken(engine: Engine) {
    let shop = with_calendar(engine, 1).await;
    let slots = async || {
        let path = format!("{APPOINTMENTS}/slots?type=viewing&from={}", now() + DAY);
        let slots = shop.api.get(&path).await.ok();
        let expected = (&json!(30), &json!("Europe/London"));
        assert_eq!((&slots["duration_minutes"], &slots["timezone"]), expected);
        let starts = slots["slots"].as_array().unwrap().iter();
        starts.map(|slot| slot["start"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    let chosen = slots().await[7];
    let body = json!({"type": "viewing", "start": chosen});
    let made = shop.api.post(APPOINTMENTS, &body).await.created();
    let left = slots().await;
    let is_free = |start: &i64| *start <= chosen - 1800 || *start >= chosen + 1800;
    assert!(left.iter().all(is_free) && left.contains(&(chosen + 1800)), "{left:?}");
    let other = book(&shop, 20 * DAY, &json!({})).await;
    shop.api
        .post(&format!("{}/cancel", path(&other)), &json!({}))
        .await
        .ok();
    let shown = async |from: i64, to: i64| {
        let path = format!("{APPOINTMENTS}/agenda?from={from}&to={to}");
        let shown = shop.api.get(&path).await.ok();
        let ids = shown.as_array().unwrap().iter().map(|one| one["id"].clone());
        ids.collect::<Vec<_>>()
    };
    let only = [made["id"].clone()];
    assert_eq!(shown(now(), now() + 60 * DAY).await, only);
    assert_eq!(shown(chosen + 1799, chosen + 1800).await, only);
    assert_eq!(shown(chosen - 60, chosen).await, [(); 0].map(|()| Value::Null));
    assert_eq!(shown(chosen + 1800, chosen + 1900).await, [(); 0].map(|()| Value::Null));
}

async fn a_lead_has_a_list_of_appointments(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = contact(&shop, &json!({"name": "Ann Lee"})).await;
    let lead = shop
        .lead(&json!({"name": "Ann", "contact": contact, "notify": false}))
        .await["id"]
        .take();
    let list = format!("/2.0/leads/{lead}/appointments");
    let made = book(&shop, DAY, &json!({"lead": lead})).await;
    assert_eq!((&made["contact"], &made["name"]), (&contact, &json!("Ann Lee")));
    let other = book(&shop, 2 * DAY, &json!({})).await;
    let version = async || shop.api.get(&format!("/2.0/leads/{lead}")).await.ok()["version"].take();
    let before = version().await;
    let body = json!({"appointment": other["id"]});
    let added = shop.api.post(&list, &body).await;
    assert_eq!((added.status, &added.ok()["id"]), (200, &other["id"]));
    shop.api.post(&list, &body).await.refused(409, "lead_vehicle_duplicate");
    let absent = shop.api.post(&list, &json!({"appointment": 999_999})).await;
    absent.invalid(&["appointment"]);
    let listed = shop.api.list(&list).await;
    assert_eq!(listed.column("id"), [other["id"].clone(), made["id"].clone()]);
    let without = shop.client("leads:read").await;
    without.get(&list).await.refused(403, "scope_denied");
    let own = format!("{list}/{}", made["id"]);
    shop.api.delete(&own).await.ok();
    shop.api.delete(&own).await.refused(404, "lead_appointment_not_found");
    let elsewhere = format!("/2.0/leads/999999/appointments/{}", made["id"]);
    shop.api.delete(&elsewhere).await.refused(404, "lead_not_found");
    let read = shop.api.get(&path(&made)).await.ok();
    assert_eq!((&read["lead"], &read["status"]), (&lead, &json!("booked")));
    assert_eq!(version().await, before);
}

/// Returns the mails that were sent to an address.
fn mails_to(shop: &Shop, address: &str) -> Vec<String> {
    let mails = shop.installation().mails().into_iter();
    mails
        .filter(|mail| mail.contains(&format!("To: {address}\r\n")))
        .collect()
}

async fn a_visitor_gets_mails_with_a_calendar(engine: Engine) {
    let shop = Shop::open(engine).await;
    let to = json!({"name": "Ann Lee", "email": "ann@example.com"});
    let made = book(&shop, 3 * DAY, &to).await;
    for change in [
        json!({"notes": "no mail for this"}),
        json!({"location": "Hall 2"}),
        json!({"location": "Hall 3", "notify": false}),
    ] {
        shop.api.patch(&path(&made), &change).await.ok();
    }
    let notify = |made: &Value| format!("{}/notify", path(made));
    let notified = shop.api.post(&notify(&made), &json!({})).await.ok();
    let expected = json!({"id": made["id"], "email": "ann@example.com", "notified": true});
    assert_eq!(notified, expected);
    shop.api
        .post(&format!("{}/cancel", path(&made)), &json!({"reason": "Rain."}))
        .await
        .ok();
    let has_all = async || mails_to(&shop, "ann@example.com").len() == 4;
    wait_for("the mails", TIMEOUT, has_all).await;
    let mails = mails_to(&shop, "ann@example.com");
    let count = |text: &str| mails.iter().filter(|mail| mail.contains(text)).count();
    for (text, expected) in [
        ("Subject: Your appointment with Acme Cars\r\n", 2),
        ("Subject: Your appointment with Acme Cars has changed\r\n", 1),
        ("Subject: Your appointment with Acme Cars is cancelled\r\n", 1),
        ("method=REQUEST", 3),
        ("method=CANCEL", 1),
    ] {
        assert_eq!(count(text), expected, "{text} {mails:?}");
    }
    let nobody = book(&shop, 4 * DAY, &json!({})).await;
    shop.api.post(&notify(&nobody), &json!({})).await.invalid(&["email"]);
    book(&shop, 5 * DAY, &json!({"email": "bob@example.com", "notify": false})).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(mails_to(&shop, "bob@example.com").is_empty());
}

async fn a_reminder_goes_once(engine: Engine) {
    let shop = Shop::open(engine).await;
    let _second = shop.installation().serve().start().await;
    let to = |address: &str| json!({"email": address, "reminder_minutes": 10, "notify": false});
    let made = book(&shop, 610, &to("ann@example.com")).await;
    // Booked later than its reminder, and cancelled before it.
    book(&shop, 300, &to("bob@example.com")).await;
    let gone = book(&shop, 610, &to("bob@example.com")).await;
    let cancel = format!("{}/cancel", path(&gone));
    shop.api.post(&cancel, &json!({"notify": false})).await.ok();
    let has_gone = async || mails_to(&shop, "ann@example.com").len() == 1;
    wait_for("the reminder", TIMEOUT, has_gone).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mails = mails_to(&shop, "ann@example.com");
    assert_eq!(mails.len(), 1);
    assert!(
        mails[0].contains("Subject: Reminder of your appointment with Acme Cars\r\n"),
        "{}",
        mails[0]
    );
    assert!(mails_to(&shop, "bob@example.com").is_empty());
    let read = shop.api.get(&path(&made)).await;
    assert!(read.ok()["reminded"].is_i64());
    assert_eq!(read.ok()["version"], 1);
    assert_ne!(read.header("ETag"), Some("\"1\""));
    assert!(!events(&shop).await.contains(&"appointment.updated".to_owned()));
}

async fn a_sold_vehicle_is_told_of(engine: Engine) {
    let shop = with_calendar(engine, 9).await;
    let (_, car) = crate::listings::published(&shop, json!({})).await;
    let buyer = contact(&shop, &json!({"name": "Bea Buyer"})).await;
    book(&shop, DAY, &json!({"vehicle": car, "name": "Ann Lee"})).await;
    book(&shop, 2 * DAY, &json!({"vehicle": car, "contact": buyer})).await;
    let past = json!({"type": "test_drive", "start": now() - DAY, "vehicle": car, "name": "Carl Past"});
    shop.api.post(APPOINTMENTS, &past).await.created();
    let sale = format!("/2.0/vehicles/{car}/sale");
    shop.api.post(&sale, &json!({"customer": buyer})).await.ok();
    let handover = format!("/2.0/vehicles/{car}/handover");
    shop.api.post(&handover, &json!({})).await.ok();
    let told = || {
        let mails = shop.installation().mails().into_iter();
        mails
            .filter(|mail| mail.contains("is no longer there"))
            .collect::<Vec<_>>()
    };
    wait_for("the mail", TIMEOUT, async || told().len() == 1).await;
    let mail = told().remove(0);
    assert!(mail.contains("Ann Lee") && mail.contains("Viewing"), "{mail}");
    assert!(!mail.contains("Bea") && !mail.contains("Carl"), "{mail}");
    let listed = shop.api.list(&format!("{APPOINTMENTS}?status=booked")).await;
    assert_eq!(listed.items.len(), 3, "they stay");
}

async fn an_appointment_is_a_calendar(engine: Engine) {
    let shop = Shop::open(engine).await;
    let long = "é".repeat(100);
    let notes = format!("Line one\nLine, two; \\ three {long}");
    let more = json!({"title": "Second look", "location": "Hall 2", "notes": notes});
    let made = book(&shop, DAY, &more).await;
    let ics = format!("{}/ics", path(&made));
    let file = shop.api.request("GET", &ics).header("Accept", "text/calendar");
    let file = file.send().await;
    assert_eq!(file.header("Content-Type"), Some("text/calendar; charset=utf-8"));
    let text = file.text();
    assert!(text.ends_with("END:VCALENDAR\r\n"), "{text}");
    let is_line = |line: &str| line.len() <= 75 && !line.contains(['\n', '\r']);
    assert!(text.split("\r\n").all(is_line), "{text}");
    let unfolded = text.replace("\r\n ", "");
    for line in [
        format!("UID:appointment-{}@127.0.0.1", made["id"]),
        "SEQUENCE:0".to_owned(),
        "SUMMARY:Viewing: Second look".to_owned(),
        "LOCATION:Hall 2".to_owned(),
        format!("DESCRIPTION:Line one\\nLine\\, two\\; \\\\ three {long}"),
    ] {
        assert!(unfolded.contains(&format!("\r\n{line}\r\n")), "{line}: {unfolded}");
    }
    assert!(unfolded.contains("ORGANIZER;CN=Acme Cars:mailto:"), "{unfolded}");
    let download = shop.api.get(&ics).await.ok();
    let expected = (&json!("text/calendar"), &json!("base64"));
    assert_eq!((&download["mime"], &download["encoding"]), expected);
    assert_eq!(download["size"], text.len());
}

async fn feeds_are_read_without_a_key(engine: Engine) {
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_TRUSTED_PROXIES", "127.0.0.1")).await;
    let visitor = json!({"name": "Ann Lee", "phone": "+447700900123", "notes": "secret"});
    let made = book(&shop, DAY, &visitor).await;
    let feeds = format!("{APPOINTMENTS}/feeds");
    let created = shop.api.post(&feeds, &json!({"name": "All", "details": "full"})).await;
    assert_eq!(created.header("Location"), None);
    let full = created.created();
    let busy = shop.api.post(&feeds, &json!({"name": "Busy"})).await.created();
    let expected = (&json!("busy"), &Value::Null, &Value::Null);
    assert_eq!((&busy["details"], &busy["calendar"], &busy["staff"]), expected);
    let listed = shop.api.list(&feeds).await;
    assert!(listed.items.iter().all(|feed| feed.get("url").is_none()));
    let path_of = |feed: &Value| {
        let url = feed["url"].as_str().unwrap();
        url[url.find("/calendars/").unwrap()..].to_owned()
    };
    let anyone = shop.server.anonymous();
    let read = async |path: &str, etag: &str| {
        let request = anyone.request("GET", path).header("X-Forwarded-For", "203.0.113.9");
        request.header("If-None-Match", etag).send().await
    };
    let answer = read(&path_of(&full), "\"none\"").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("Cache-Control"), Some("private, max-age=300"));
    let etag = answer.header("ETag").unwrap().to_owned();
    let text = answer.text();
    assert!(text.contains("Viewing") && text.contains("Ann Lee"), "{text}");
    assert!(!text.contains("7700") && !text.contains("secret"), "{text}");
    assert_eq!(read(&path_of(&full), &etag).await.status, 304);
    let answer = read(&path_of(&busy), "\"none\"").await;
    let text = answer.text();
    assert!(text.contains("SUMMARY:Busy"), "{text}");
    assert!(!text.contains("Ann") && !text.contains("Viewing"), "{text}");
    shop.api.post(&format!("{}/cancel", path(&made)), &json!({})).await.ok();
    let answer = read(&path_of(&full), &etag).await;
    let text = answer.text();
    assert!(text.contains("STATUS:CANCELLED"), "{text}");
    let own = format!("{feeds}/{}", full["id"]);
    shop.api.delete(&own).await.ok();
    shop.api.delete(&own).await.refused(404, "appointment_feed_not_found");
    assert_eq!(read(&path_of(&full), "\"none\"").await.status, 404);
    let faulty = json!({"calendar": "none", "details": "all"});
    shop.api.post(&feeds, &faulty).await.refused(422, "validation_failed");
    for _ in 0..49 {
        shop.api.post(&feeds, &json!({"name": "More"})).await.created();
    }
    let more = shop.api.post(&feeds, &json!({"name": "Too many"})).await;
    more.invalid(&["feeds"]);
    // At worst the minute ends in between.
    let mut statuses = BTreeSet::new();
    for _ in 0..130 {
        let answer = read("/calendars/nonsense.ics", "\"none\"").await;
        statuses.insert(answer.status);
    }
    assert_eq!(statuses, BTreeSet::from([404, 429]));
}

async fn each_filter_alone(engine: Engine) {
    let shop = with_calendar(engine, 9).await;
    let contact = contact(&shop, &json!({"name": "Ann Lee"})).await;
    let lead = shop.lead(&json!({"name": "Ann", "notify": false})).await["id"].take();
    let car = shop.api.post("/2.0/vehicles", &json!({"data": {}})).await.created()["id"].take();
    let staff = staff(&shop).await;
    let more = json!({"contact": contact, "lead": lead, "vehicle": car, "staff": [staff], "source": "phone"});
    let first = book(&shop, DAY, &more).await;
    let second = json!({"type": "test_drive", "start": now() + 5 * DAY});
    let second = shop.api.post(APPOINTMENTS, &second).await.created();
    let confirmed = json!({"status": "confirmed"});
    shop.api.patch(&path(&second), &confirmed).await.ok();
    let (start, end) = (&first["start"], &first["end"]);
    for (filter, expected) in [
        (format!("contact={contact}"), vec![&first]),
        (format!("lead={lead}"), vec![&first]),
        (format!("vehicle={car}"), vec![&first]),
        (format!("staff={staff}"), vec![&first]),
        ("source=phone".to_owned(), vec![&first]),
        ("type=viewing".to_owned(), vec![&first]),
        ("calendar=sales".to_owned(), vec![&first]),
        ("status=booked".to_owned(), vec![&first]),
        ("status=confirmed".to_owned(), vec![&second]),
        ("site=0".to_owned(), vec![&second, &first]),
        ("deal=1".to_owned(), vec![]),
        (format!("start[]=&start[]={start}"), vec![&first]),
        (format!("end={end}"), vec![&first]),
        ("created[]=0&created[]=".to_owned(), vec![&second, &first]),
        ("updated[]=&updated[]=1".to_owned(), vec![]),
    ] {
        let expected: Vec<Value> = expected.into_iter().map(|made| made["id"].clone()).collect();
        let found = shop.api.list(&format!("{APPOINTMENTS}?{filter}")).await;
        assert_eq!(found.column("id"), expected, "{filter}");
    }
    let unknown = shop.api.get(&format!("{APPOINTMENTS}?status=lost")).await;
    unknown.invalid(&["status"]);
}

async fn a_webhook_receives_appointments(engine: Engine) {
    let shop = Shop::open_with(engine, |serve| {
        serve
            .env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
            .env("FORECOURT_WEBHOOK_SETTLE_SECONDS", 3)
    })
    .await;
    let receiver = Receiver::start();
    let hook = json!({
        "url": receiver.url("/hook"),
        "events": ["appointment.created", "appointment.updated", "appointment.cancelled"],
    });
    shop.api.post("/2.0/webhooks", &hook).await.created();
    let made = book(&shop, DAY, &json!({})).await;
    let unsettled = json!({"title": "never sent"});
    shop.api.patch(&path(&made), &unsettled).await.ok();
    shop.api.post(&format!("{}/cancel", path(&made)), &json!({})).await.ok();
    let received = receiver.wait_for(2, TIMEOUT);
    let of = |name: &str| received.iter().map(|one| one.json()).find(|one| one["event"] == name);
    assert!(of("appointment.created").is_some());
    let cancelled = of("appointment.cancelled").unwrap();
    assert_eq!(cancelled["data"], json!({"id": made["id"]}));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(
        receiver.received().len(),
        2,
        "the update that had not settled is dropped"
    );
}

async fn an_erased_contact_leaves_its_appointments(engine: Engine) {
    let shop = Shop::open(engine).await;
    let body = json!({"name": "Amelia Unusual", "email": "amelia@example.com", "mobile": "+447700900456"});
    let contact = contact(&shop, &body).await;
    let of = |notes: &str| json!({"contact": contact, "notes": notes, "notify": false});
    let past = book(&shop, -DAY, &of("Amelia Unusual likes blue.")).await;
    let coming = book(&shop, DAY, &of("Call +447700900456.")).await;
    let export = shop.api.get(&format!("/2.0/contacts/{contact}/export")).await.ok();
    assert_eq!(export["appointments"].as_array().unwrap().len(), 2);
    shop.api.delete(&format!("/2.0/contacts/{contact}")).await.ok();
    wait_for("the erasure", TIMEOUT, async || {
        shop.api.get(&path(&coming)).await.ok()["status"] == "cancelled"
    })
    .await;
    let past = shop.api.get(&path(&past)).await.ok();
    let nobody = (&Value::Null, &json!(""), &json!(""));
    assert_eq!((&past["contact"], &past["name"], &past["email"]), nobody);
    assert_eq!((&past["status"], &past["type"]), (&json!("booked"), &json!("viewing")));
    assert!(!past["notes"].as_str().unwrap().contains("Amelia"), "{past}");
    let names = events(&shop).await;
    for name in ["appointment.cancelled", "appointment.updated"] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
    let log = json!(shop.api.walk("/2.0/events").await).to_string();
    for trace in ["Amelia", "amelia@", "7700900456"] {
        assert!(!log.contains(trace), "{log}");
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(mails_to(&shop, "amelia@example.com").is_empty());
}
