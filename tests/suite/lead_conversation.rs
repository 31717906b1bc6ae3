//! The texts on leads: the messages of their conversations, notes for the staff, and the suggested contact of a sender.

use std::time::Duration;

use harness::{Answer, Client, Engine, PostOffice, Shop, both_engines, now, wait_for};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::lead_create::shown_detail;

both_engines! {
    a_message_is_added_and_moves_the_lead
    a_message_on_a_junk_lead_makes_it_new_message
    a_reply_by_email_is_mailed_in_its_thread
    a_retry_sends_no_second_mail
    a_reply_that_cannot_be_sent_is_refused_and_not_added
    a_reply_waits_for_no_mail_server_that_is_only_slow
    notes_are_for_the_staff_alone
    a_lead_has_at_most_a_thousand_notes
    messages_and_notes_are_deleted_with_their_lead
    a_contact_is_suggested_and_never_linked
    an_erased_contact_is_suggested_no_more_and_forgotten_in_messages
}

const LEADS: &str = "/2.0/leads";
const CONTACTS: &str = "/2.0/contacts";
const POST: Duration = Duration::from_secs(100);

async fn say(api: &Client, lead: &str, body: &Value) -> Answer {
    api.post(&format!("{lead}/messages"), body).await
}

/// Returns the path to a new lead that came by email from Ann.
async fn by_mail(shop: &Shop) -> String {
    let lead = json!({
        "name": "Ann", "email": "ann@example.com", "channel": "email", "notify": false, "data": {"subject": "Golf"},
    });
    format!("{LEADS}/{}", shop.lead(&lead).await["id"])
}

async fn a_message_is_added_and_moves_the_lead(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = shop.lead_path("Ann").await;
    let lead = shop.api.get(&path).await.ok();
    let start = now();
    let body = json!({"direction": "in", "channel": "whatsapp", "subject": "Golf", "body": "Is it there?\n🚗"});
    let answer = say(&shop.api, &path, &body).await;
    let message = answer.created();
    let created = message["created"].as_i64().unwrap();
    assert!((start..=now()).contains(&created));
    let expected = json!({
        "id": message["id"], "lead": lead["id"], "created": created, "direction": "in", "channel": "whatsapp",
        "subject": "Golf", "body": "Is it there?\n🚗", "user": null,
    });
    assert_eq!(message, expected);
    let location = format!("{path}/messages/{}", message["id"]);
    assert_eq!(answer.header("Location"), Some(location.as_str()));
    for (direction, status) in [
        ("in", "new_message"),
        ("out", "replied"),
        ("in", "new_message"),
        ("in", "new_message"),
    ] {
        let before = shop.api.get(&path).await.ok();
        let added = say(&shop.api, &path, &json!({"direction": direction, "body": "x"}))
            .await
            .created();
        assert_eq!((&added["channel"], &added["subject"]), (&lead["channel"], &json!("")));
        let after = shop.api.get(&path).await.ok();
        assert_eq!(after["status"]["name"], status);
        assert_eq!(after["version"], before["version"].as_i64().unwrap() + 1);
        let events = shop.api.list("/2.0/events?event=lead.updated").await.items;
        assert_eq!(events.last().unwrap()["data"], after);
    }
    let close = json!({"closed": true, "reopen": "2090-01-01"});
    shop.api.patch(&format!("{path}/status"), &close).await.ok();
    say(&shop.api, &path, &json!({"direction": "in", "body": "x"}))
        .await
        .created();
    let reopened = shop.api.get(&path).await.ok();
    assert_eq!(
        (&reopened["status"]["name"], &reopened["reopen"]),
        (&json!("new_message"), &Value::Null)
    );
}

async fn a_message_on_a_junk_lead_makes_it_new_message(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = shop.lead_path("Ann").await;
    shop.api
        .patch(&format!("{path}/status"), &json!({"junk": true}))
        .await
        .ok();
    say(&shop.api, &path, &json!({"direction": "in", "body": "Buy pills"}))
        .await
        .created();
    let lead = shop.api.get(&path).await.ok();
    assert_eq!(
        (&lead["status"]["name"], &lead["version"]),
        (&json!("new_message"), &json!(3))
    );
    say(&shop.api, &path, &json!({"direction": "out", "body": "No"}))
        .await
        .created();
    assert_eq!(shop.api.get(&path).await.ok()["status"]["name"], "replied");
}

async fn a_reply_by_email_is_mailed_in_its_thread(engine: Engine) {
    let office = PostOffice::open().await;
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_SMTP_URL", office.url())).await;
    let path = by_mail(&shop).await;
    let reply = json!({"direction": "out", "body": "Come and see it.\nSam"});
    let first = say(&shop.api, &path, &reply).await.created();
    assert_eq!(first["channel"], "email");
    wait_for("the reply arrives", POST, async || office.letters().len() == 1).await;
    say(
        &shop.api,
        &path,
        &json!({"direction": "in", "channel": "email", "body": "When?"}),
    )
    .await
    .created();
    let titled = json!({"direction": "out", "subject": "Saturday", "body": "At ten."});
    say(&shop.api, &path, &titled).await.created();
    wait_for("the second reply arrives", POST, async || office.letters().len() == 2).await;

    let letters = office.letters();
    assert_eq!(letters[0].to, ["<ann@example.com>"]);
    let header = |letter: usize, name: &str| {
        let lines = letters[letter].content.lines().take_while(|line| !line.is_empty());
        let mut found = lines.filter_map(|line| line.strip_prefix(&format!("{name}: ")));
        found.next().map(str::to_owned)
    };
    assert_eq!(header(0, "Subject").as_deref(), Some("Re: Golf"));
    assert_eq!(header(0, "Reply-To").as_deref(), Some("office@acme.example"));
    assert!(letters[0].content.contains("Come and see it."), "{letters:?}");
    assert_eq!(header(0, "In-Reply-To"), None);
    assert_eq!(header(1, "Subject").as_deref(), Some("Saturday"));
    for name in ["In-Reply-To", "References"] {
        assert_eq!(header(1, name), header(0, "Message-ID"), "{letters:?}");
    }
    assert_ne!(header(1, "Message-ID"), header(0, "Message-ID"));
    // Messages on other channels, or that come in, are not mailed.
    say(
        &shop.api,
        &path,
        &json!({"direction": "out", "channel": "sms", "body": "x"}),
    )
    .await
    .created();
    shop.lead(&json!({"name": "Last"})).await;
    wait_for("the last mail arrives", POST, async || office.letters().len() >= 3).await;
    assert!(office.letters()[2].content.contains("Last"));
}

async fn a_retry_sends_no_second_mail(engine: Engine) {
    let office = PostOffice::open().await;
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_SMTP_URL", office.url())).await;
    let path = by_mail(&shop).await;
    let send = || {
        let request = shop.api.request("POST", &format!("{path}/messages")).key("once");
        request.json(&json!({"direction": "out", "body": "Hello"})).send()
    };
    let (first, second) = tokio::join!(send(), send());
    assert_eq!(first.created(), second.created());
    assert_eq!(send().await.created(), first.created());
    // Waiting mails are sent concurrently: only one that is queued after another has arrived comes after all that were queued
    // with that one.
    for name in ["Next", "Last"] {
        shop.lead(&json!({"name": name})).await;
        wait_for("the notice arrives", POST, async || {
            office.letters().iter().any(|letter| letter.content.contains(name))
        })
        .await;
    }
    assert_eq!(office.letters().len(), 3);
    assert_eq!(shop.api.list(&format!("{path}/messages")).await.items.len(), 1);
}

async fn a_reply_that_cannot_be_sent_is_refused_and_not_added(engine: Engine) {
    let office = PostOffice::open().await;
    office.refuse("ann@example.com");
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_SMTP_URL", office.url())).await;
    let (path, nameless) = (by_mail(&shop).await, shop.lead_path("Bea").await);
    let reply = json!({"direction": "out", "channel": "email", "body": "Hello"});
    let before = shop.api.get(&path).await.ok();
    for lead in [&path, &nameless] {
        say(&shop.api, lead, &reply).await.refused(422, "lead_send_failed");
        assert!(shop.api.list(&format!("{lead}/messages")).await.items.is_empty());
    }
    assert_eq!(shop.api.get(&path).await.ok(), before);
    // Faults of the request are reported first.
    say(&shop.api, &path, &json!({"direction": "out", "body": ""}))
        .await
        .invalid(&["body"]);
    say(&shop.api, "/2.0/leads/987654", &reply)
        .await
        .refused(404, "lead_not_found");
    let stale = shop
        .api
        .request("POST", &format!("{path}/messages"))
        .header("If-Match", "\"7\"");
    stale.json(&reply).send().await.refused(412, "precondition_failed");
    // A retry under the same key gets the same answer, as after any refusal.
    let keyed = async |key: &str| {
        let request = shop.api.request("POST", &format!("{path}/messages")).key(key);
        request.json(&reply).send().await
    };
    keyed("one").await.refused(422, "lead_send_failed");
    shop.api.patch(&path, &json!({"email": "ann@other.example"})).await.ok();
    let again = keyed("one").await;
    assert_eq!(again.header("X-Idempotent-Replay"), Some("true"));
    again.refused(422, "lead_send_failed");
    keyed("two").await.created();
    // The business is notified of new leads as well.
    let replies = || {
        office
            .letters()
            .into_iter()
            .filter(|letter| letter.to == ["<ann@other.example>"])
            .count()
    };
    wait_for("the reply arrives", POST, async || replies() == 1).await;
}

async fn a_reply_waits_for_no_mail_server_that_is_only_slow(engine: Engine) {
    let office = PostOffice::silent().await;
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_SMTP_URL", office.url())).await;
    let path = by_mail(&shop).await;
    // The server takes its time over the content; the message is added all the same, and the mail is being sent.
    say(&shop.api, &path, &json!({"direction": "out", "body": "Hello"}))
        .await
        .created();
    wait_for("the reply arrives", POST, async || !office.letters().is_empty()).await;
    office.answer();
}

async fn notes_are_for_the_staff_alone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = shop.lead_path("Ann").await;
    let notes = format!("{path}/notes");
    let lead = shop.api.get(&path).await.ok();
    let position = shop.api.get("/2.0/events?cursor=latest").await.json();
    let answer = shop.api.post(&notes, &json!({"note": "Call\nlater", "user": 2})).await;
    let first = answer.created();
    let expected = json!({
        "id": first["id"], "lead": lead["id"], "created": first["created"], "user": 2, "note": "Call\nlater",
    });
    assert_eq!(first, expected);
    let location = format!("{notes}/{}", first["id"]);
    assert_eq!(answer.header("Location"), Some(location.as_str()));
    let second = shop.api.post(&notes, &json!({"note": "x"})).await.created();
    assert_eq!(second["user"], Value::Null);
    assert_eq!(shop.api.list(&notes).await.items, [second.clone(), first.clone()]);
    for (body, field) in [
        (json!({}), "note"),
        (json!({"note": " "}), "note"),
        (json!({"note": "ä".repeat(20_001)}), "note"),
        (json!({"note": "x", "user": 9}), "user"),
    ] {
        shop.api.post(&notes, &body).await.invalid(&[field]);
    }
    let gone = format!("{notes}/{}", first["id"]);
    let deleted = shop.api.delete(&gone).await.ok();
    assert_eq!(deleted, json!({"id": first["id"], "deleted": true}));
    for absent in [gone, format!("{notes}/x")] {
        shop.api.delete(&absent).await.refused(404, "lead_note_not_found");
    }
    for absent in ["/2.0/leads/987654/notes", "/2.0/leads/x/notes"] {
        shop.api.get(absent).await.refused(404, "lead_not_found");
        shop.api
            .post(absent, &json!({"note": "x"}))
            .await
            .refused(404, "lead_not_found");
        shop.api
            .delete(&format!("{absent}/x"))
            .await
            .refused(404, "lead_not_found");
    }
    // They do not change the lead, are shown nowhere else, and cause no event.
    assert_eq!(shop.api.get(&path).await.ok(), lead);
    let after = shop.api.get("/2.0/events?cursor=latest").await.json();
    assert_eq!(after["meta"]["position"], position["meta"]["position"]);
}

async fn a_lead_has_at_most_a_thousand_notes(engine: Engine) {
    let shop = Shop::open(engine).await;
    let notes = format!("{}/notes", shop.lead_path("Ann").await);
    let mut writers = JoinSet::new();
    for _ in 0..8 {
        let (api, notes) = (shop.api.clone(), notes.clone());
        writers.spawn(async move {
            let mut refused = 0;
            for _ in 0..126 {
                let answer = api.post(&notes, &json!({"note": "x"})).await;
                if answer.status != 201 {
                    answer.invalid(&["note"]);
                    refused += 1;
                }
            }
            refused
        });
    }
    assert_eq!(writers.join_all().await.iter().sum::<i32>(), 8);
    let list = shop.api.list(&notes).await;
    assert_eq!(list.pagination["total"], 1000);
    shop.api.delete(&format!("{notes}/{}", list.items[0]["id"])).await.ok();
    shop.api.post(&notes, &json!({"note": "y"})).await.created();
}

async fn messages_and_notes_are_deleted_with_their_lead(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = shop.lead_path("Ann").await;
    say(&shop.api, &path, &json!({"direction": "in", "body": "x"}))
        .await
        .created();
    shop.api
        .post(&format!("{path}/notes"), &json!({"note": "x"}))
        .await
        .created();
    shop.api.delete(&path).await.ok();
    for part in ["messages", "notes"] {
        shop.api
            .get(&format!("{path}/{part}"))
            .await
            .refused(404, "lead_not_found");
    }
    if engine == Engine::Sqlite {
        return;
    }
    for table in ["lead_messages", "lead_notes", "lead_assessments"] {
        let empty = format!("SELECT count(*) = 0 FROM {table}");
        assert!(shop.installation().is_true(&empty).await, "{table}");
    }
}

async fn a_contact_is_suggested_and_never_linked(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ann = json!({"name": "Ann", "email": "ann@example.com", "mobile": "+447700900123"});
    let ann = shop.api.post(CONTACTS, &ann).await.created()["id"].clone();
    let lead = shop
        .lead(&json!({"email": "Ann@Example.com", "data": {"message": "Hi"}}))
        .await;
    let suggestion = json!({"contact": ann, "by": "email"});
    let expected = json!({"message": "Hi", "contact_suggestion": suggestion});
    assert_eq!(lead["data"], shown_detail(expected));
    assert_eq!(lead["contact"], Value::Null);
    let path = format!("{LEADS}/{}", lead["id"]);
    assert_eq!(shop.api.get(&path).await.ok(), lead);
    assert_eq!(
        shop.api.list("/2.0/events?event=lead.created").await.items[0]["data"],
        lead
    );
    let few = shop
        .api
        .get(&format!("{path}?fields=data.contact_suggestion.by"))
        .await
        .ok();
    assert_eq!(few, json!({"data": {"contact_suggestion": {"by": "email"}}}));
    let simple = shop.api.get(&format!("{path}?view=simple")).await.ok();
    assert!(simple.get("data").is_none());

    let shown = |lead: &Value| lead["data"]["contact_suggestion"].clone();
    let change = async |body: Value| shown(&shop.api.patch(&path, &body).await.ok());
    assert_eq!(change(json!({"data": {"contact_suggestion": null}})).await, suggestion);
    assert_eq!(change(json!({"email": "other@example.com"})).await, Value::Null);
    assert_eq!(
        change(json!({"mobile": "07700 900123"})).await,
        json!({"contact": ann, "by": "mobile"})
    );
    assert_eq!(change(json!({"contact": ann})).await, Value::Null);
    assert_eq!(
        change(json!({"contact": null, "mobile": null, "phone": "07700 900123"})).await,
        json!({"contact": ann, "by": "phone"})
    );
    // If two contacts are possible, neither is suggested.
    shop.api
        .post(CONTACTS, &json!({"name": "Bob", "email": "bob@example.com"}))
        .await
        .created();
    assert_eq!(change(json!({"email": "bob@example.com"})).await, Value::Null);
    let rival = shop.rival().await;
    let theirs = rival.post(LEADS, &json!({"email": "ann@example.com"})).await.created();
    assert_eq!(shown(&theirs), Value::Null);
}

async fn an_erased_contact_is_suggested_no_more_and_forgotten_in_messages(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ann = json!({"name": "Ann Quillfeather", "email": "ann@example.com"});
    let ann = shop.api.post(CONTACTS, &ann).await.created()["id"].clone();
    let suggested = shop.lead(&json!({"email": "ann@example.com"})).await;
    let linked = shop.lead(&json!({"contact": ann})).await;
    let linked = format!("{LEADS}/{}", linked["id"]);
    let message = json!({"direction": "in", "subject": "Ann Quillfeather", "body": "Write to ann@example.com"});
    say(&shop.api, &linked, &message).await.created();
    let note = json!({"note": "Ann Quillfeather called"});
    shop.api.post(&format!("{linked}/notes"), &note).await.created();
    shop.api.delete(&format!("{CONTACTS}/{ann}")).await.ok();
    let left = shop.api.get(&format!("{LEADS}/{}", suggested["id"])).await.ok();
    assert_eq!(
        (&left["data"], &left["email"]),
        (&shown_detail(json!({})), &json!("ann@example.com"))
    );
    wait_for("what is written forgets her", POST, async || {
        let messages = shop.api.list(&format!("{linked}/messages")).await.items;
        let notes = shop.api.list(&format!("{linked}/notes")).await.items;
        let events = shop.api.list("/2.0/events").await.items;
        let left = json!([messages, notes]).to_string();
        !left.contains("Quillfeather")
            && !left.contains("ann@example.com")
            && !events
                .iter()
                .any(|event| event["data"].to_string().contains("contact_suggestion"))
    })
    .await;
}
