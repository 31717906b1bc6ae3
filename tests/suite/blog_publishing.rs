//! The moment at which blog articles become public, and the event `blog.published`, which reports it once.

use std::time::Duration;

use harness::{Client, Engine, Receiver, Shop, both_engines, eventually, now, wait_for};
use serde_json::{Value, json};

use crate::blogs::{BLOGS, article, path_of};

both_engines! {
    the_time_decides_how_a_published_article_reads
    an_article_made_public_at_once_is_reported
    a_draft_that_is_published_is_reported
    an_article_is_reported_once
    a_scheduled_article_is_reported_at_its_time
    a_scheduled_article_that_is_made_public_before_its_time_is_reported_then
    what_is_withdrawn_before_its_time_is_not_reported
    an_article_that_was_reported_is_not_reported_at_a_later_time
    a_time_that_is_moved_is_kept
    a_restart_loses_no_time
    of_two_servers_one_reports
    the_etag_distinguishes_scheduled_from_published
    a_webhook_receives_a_scheduled_article
    only_a_key_that_may_read_articles_receives_them
}

const TIMEOUT: Duration = Duration::from_secs(60);
/// A number of seconds in the far future.
const FAR: i64 = 1_000_000;

async fn scheduled(shop: &Shop, title: &str, at: i64) -> Value {
    article(
        shop,
        &json!({"title": title, "status": "published", "published_at": at}),
    )
    .await
}

/// Returns the `blog.published` events so far, oldest first.
async fn recorded(client: &Client) -> Vec<Value> {
    client.walk("/2.0/events?event=blog.published").await
}

/// Returns the titles in these events, sorted.
async fn titles(client: &Client) -> Vec<String> {
    let events = recorded(client).await.into_iter();
    let mut titles: Vec<String> = events
        .map(|event| event["data"]["title"].as_str().unwrap().to_owned())
        .collect();
    titles.sort_unstable();
    titles
}

/// Waits for the event of the article with this title, and returns it.
async fn heard(client: &Client, title: &str) -> Value {
    let what = format!("{title} is reported");
    eventually(&what, TIMEOUT, async || {
        let events = recorded(client).await;
        let found = events.iter().find(|event| event["data"]["title"] == title);
        found.cloned().ok_or(events)
    })
    .await
}

/// Asserts that events report only these articles: an article that is public at once is reported after all that were due before
/// it.
async fn nothing_but(shop: &Shop, expected: &[&str]) {
    let marker = json!({"title": "~ marker", "status": "published"});
    let marker = path_of(&article(shop, &marker).await);
    heard(&shop.api, "~ marker").await;
    let all: Vec<&str> = expected.iter().copied().chain(["~ marker"]).collect();
    assert_eq!(titles(&shop.api).await, all);
    shop.api.delete(&marker).await.ok();
}

async fn status(shop: &Shop, path: &str) -> Value {
    shop.api.get(path).await.ok()["status"].take()
}

async fn the_time_decides_how_a_published_article_reads(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (past, future) = (now() - FAR, now() + FAR);
    for (written, at, read) in [
        ("draft", past, "draft"),
        ("draft", future, "draft"),
        ("published", past, "published"),
        ("published", 0, "published"),
        ("published", future, "scheduled"),
    ] {
        let made = article(&shop, &json!({"title": "Ann", "status": written, "published_at": at})).await;
        assert_eq!(
            (&made["status"], &made["published_at"]),
            (&json!(read), &json!(at)),
            "{written} {at}"
        );
        assert_eq!(status(&shop, &path_of(&made)).await, read);
        let simple = shop.api.get(&format!("{}?view=simple", path_of(&made))).await.ok();
        assert_eq!(simple["status"], read);
        assert_eq!(shop.api.list(BLOGS).await.items[0]["status"], read);
        assert_eq!(
            shop.api.list(&format!("{BLOGS}?fields=status")).await.items[0],
            json!({"status": read})
        );
    }
    // Without a time it is public now.
    let made = article(&shop, &json!({"title": "Bea", "status": "published"})).await;
    assert_eq!(made["status"], "published");
    let path = path_of(&made);
    for (change, read) in [
        (json!({"published_at": future}), "scheduled"),
        (json!({"status": "draft"}), "draft"),
        (json!({"status": "published"}), "scheduled"),
        (json!({"published_at": past}), "published"),
        (json!({"status": "draft"}), "draft"),
        (json!({"published_at": future}), "draft"),
        (json!({"status": "published", "published_at": null}), "published"),
    ] {
        let before = shop.api.get(&path).await.ok();
        let seen = shop.api.patch(&path, &change).await.ok();
        assert_eq!(seen["status"], read, "{change}");
        if change.get("published_at").is_none() {
            assert_eq!(seen["published_at"], before["published_at"], "{change}");
        }
        assert_eq!(shop.api.get(&path).await.ok(), seen, "{change}");
    }
}

async fn an_article_made_public_at_once_is_reported(engine: Engine) {
    let shop = Shop::open(engine).await;
    let start = now();
    let body = json!({"title": "Ann", "status": "published", "tags": ["a"], "summary": "<p>Hi</p><script>x</script>"});
    let made = article(&shop, &body).await;
    let past = scheduled(&shop, "Bea", start - FAR).await;
    article(&shop, &json!({"title": "Draft"})).await;
    for made in [made, past] {
        let event = heard(&shop.api, made["title"].as_str().unwrap()).await;
        assert_eq!(event["data"], made);
        assert_eq!(event["data"], shop.api.get(&path_of(&made)).await.ok());
        assert_eq!(event["data"]["status"], "published");
        assert!(event["created"].as_i64().unwrap() >= start);
    }
    // No other events report articles: neither creations, changes nor deletions.
    nothing_but(&shop, &["Ann", "Bea"]).await;
    let names = shop.api.list("/2.0/events").await.column("event");
    assert!(names.iter().all(|name| name == "blog.published"), "{names:?}");
}

async fn a_draft_that_is_published_is_reported(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path_of(&article(&shop, &json!({"title": "Draft"})).await);
    shop.api.patch(&path, &json!({"title": "Ann"})).await.ok();
    nothing_but(&shop, &[]).await;
    let seen = shop.api.patch(&path, &json!({"status": "published"})).await.ok();
    assert_eq!(seen["status"], "published");
    let event = heard(&shop.api, "Ann").await;
    assert_eq!(event["data"], seen);
}

async fn an_article_is_reported_once(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path_of(&article(&shop, &json!({"title": "Ann", "status": "published"})).await);
    heard(&shop.api, "Ann").await;
    for change in [
        json!({"title": "Bea"}),
        json!({"status": "published"}),
        json!({"published_at": now() - 50}),
        json!({"status": "draft"}),
        json!({"status": "published"}),
        json!({"status": "draft", "published_at": null}),
        json!({"title": "Cleo", "status": "published", "published_at": 1_000}),
        json!({"published_at": now() + FAR}),
        json!({"published_at": null}),
    ] {
        shop.api.patch(&path, &change).await.ok();
    }
    assert_eq!(status(&shop, &path).await, "published");
    shop.api.delete(&path).await.ok();
    let markers = recorded(&shop.api).await.len();
    assert_eq!(markers, 1);
    article(&shop, &json!({"title": "Marker", "status": "published"})).await;
    heard(&shop.api, "Marker").await;
    assert_eq!(recorded(&shop.api).await.len(), 2);
}

async fn a_scheduled_article_is_reported_at_its_time(engine: Engine) {
    let shop = Shop::open(engine).await;
    let at = now() + 3;
    let made = scheduled(&shop, "Ann", at).await;
    assert_eq!(made["status"], "scheduled");
    let path = path_of(&made);
    let renamed = shop
        .api
        .patch(&path, &json!({"title": "Bea", "content": "<p>Now.</p>"}))
        .await
        .ok();
    assert_eq!(renamed["status"], "scheduled");
    let event = heard(&shop.api, "Bea").await;
    assert!(now() >= at, "it is reported before its time");
    assert!(event["created"].as_i64().unwrap() >= at, "{event}");
    let mut expected = renamed;
    expected["status"] = json!("published");
    let read = shop.api.get(&path).await.ok();
    // The contract leaves open whether becoming public changes the version.
    expected["version"] = read["version"].clone();
    assert_eq!(read, expected);
    assert_eq!(event["data"], read);
    assert_eq!(
        shop.api
            .list(&format!("{BLOGS}?status=published"))
            .await
            .column("title"),
        ["Bea"]
    );
    assert!(
        shop.api
            .list(&format!("{BLOGS}?status=scheduled"))
            .await
            .items
            .is_empty()
    );
    // Later edits record no more events.
    for change in [
        json!({"title": "Cleo"}),
        json!({"status": "draft"}),
        json!({"status": "published"}),
    ] {
        shop.api.patch(&path, &change).await.ok();
    }
    nothing_but(&shop, &["Bea"]).await;
}

async fn a_scheduled_article_that_is_made_public_before_its_time_is_reported_then(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (past, future) = (now() - FAR, now() + FAR);
    for (title, change) in [
        ("Ann", json!({"published_at": past})),
        ("Bea", json!({"published_at": null})),
        ("Cleo", json!({"status": "published", "published_at": 0})),
    ] {
        let made = scheduled(&shop, title, future).await;
        let seen = shop.api.patch(&path_of(&made), &change).await.ok();
        assert_eq!(seen["status"], "published", "{change}");
        assert_eq!(heard(&shop.api, title).await["data"], seen, "{change}");
    }
    nothing_but(&shop, &["Ann", "Bea", "Cleo"]).await;
}

async fn what_is_withdrawn_before_its_time_is_not_reported(engine: Engine) {
    let shop = Shop::open(engine).await;
    let at = now() + 4;
    for (title, change) in [
        ("Unpublished", json!({"status": "draft"})),
        ("Reset", json!({"status": null})),
        ("Postponed", json!({"published_at": at + FAR})),
        ("Deleted", Value::Null),
    ] {
        let path = path_of(&scheduled(&shop, title, at).await);
        if change.is_null() {
            shop.api.delete(&path).await.ok();
        } else {
            let seen = shop.api.patch(&path, &change).await.ok();
            assert_ne!(seen["status"], "published", "{change}");
        }
    }
    article(&shop, &json!({"title": "Draft", "published_at": at})).await;
    assert!(now() < at, "the machine is too slow for this test");
    scheduled(&shop, "Marker", at + 1).await;
    heard(&shop.api, "Marker").await;
    nothing_but(&shop, &["Marker"]).await;
    let unpublished = shop.api.list(&format!("{BLOGS}?url=unpublished")).await.items;
    assert_eq!(
        (&unpublished[0]["status"], &unpublished[0]["published_at"]),
        (&json!("draft"), &json!(at))
    );
}

async fn an_article_that_was_reported_is_not_reported_at_a_later_time(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path_of(&article(&shop, &json!({"title": "Ann", "status": "published"})).await);
    heard(&shop.api, "Ann").await;
    let at = now() + 2;
    let seen = shop.api.patch(&path, &json!({"published_at": at})).await.ok();
    assert_eq!(seen["status"], "scheduled");
    scheduled(&shop, "Marker", at + 1).await;
    heard(&shop.api, "Marker").await;
    assert_eq!(status(&shop, &path).await, "published");
    nothing_but(&shop, &["Ann", "Marker"]).await;
}

async fn a_time_that_is_moved_is_kept(engine: Engine) {
    let shop = Shop::open(engine).await;
    let soon = now() + 3;
    let (earlier, later) = (
        scheduled(&shop, "Earlier", soon + FAR).await,
        scheduled(&shop, "Later", soon).await,
    );
    let back = scheduled(&shop, "Back", soon).await;
    shop.api
        .patch(&path_of(&earlier), &json!({"published_at": soon}))
        .await
        .ok();
    shop.api
        .patch(&path_of(&later), &json!({"published_at": soon + 2}))
        .await
        .ok();
    for status in ["draft", "published"] {
        shop.api.patch(&path_of(&back), &json!({"status": status})).await.ok();
    }
    for (title, at) in [("Earlier", soon), ("Back", soon), ("Later", soon + 2)] {
        let event = heard(&shop.api, title).await;
        assert!(event["created"].as_i64().unwrap() >= at, "{event}");
        assert_eq!(
            (&event["data"]["status"], &event["data"]["published_at"]),
            (&json!("published"), &json!(at))
        );
    }
    nothing_but(&shop, &["Back", "Earlier", "Later"]).await;
}

async fn a_restart_loses_no_time(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let (during, after) = (now() + 2, now() + 5);
    let first = path_of(&scheduled(&shop, "During", during).await);
    scheduled(&shop, "After", after).await;
    shop.server.kill9().await;
    wait_for("the first time passes", TIMEOUT, async || now() > during).await;
    shop.server.restart().await;
    assert_eq!(status(&shop, &first).await, "published");
    for (title, at) in [("During", during), ("After", after)] {
        let event = heard(&shop.api, title).await;
        assert!(event["created"].as_i64().unwrap() >= at, "{event}");
        assert_eq!(event["data"]["status"], "published");
    }
    // A server that starts does not repeat events.
    shop.server.terminate().await;
    shop.server.restart().await;
    nothing_but(&shop, &["After", "During"]).await;
}

async fn of_two_servers_one_reports(engine: Engine) {
    let shop = Shop::open(engine).await;
    let second = shop.installation().serve().start().await;
    let other = second.client(&shop.business.key("all").await.token);
    let at = now() + 4;
    let mut expected = Vec::new();
    for number in 0..10 {
        let client = [&shop.api, &other][number % 2];
        let title = format!("Article {number}");
        let body = json!({"title": title, "status": "published", "published_at": at + i64::from(number > 5)});
        client.post(BLOGS, &body).await.created();
        expected.push(title);
    }
    scheduled(&shop, "Marker", at + 2).await;
    heard(&other, "Marker").await;
    let expected: Vec<&str> = expected.iter().map(String::as_str).chain(["Marker"]).collect();
    nothing_but(&shop, &expected).await;
    let ids: std::collections::BTreeSet<String> = recorded(&other)
        .await
        .iter()
        .map(|event| event["id"].to_string())
        .collect();
    assert_eq!(ids.len(), expected.len() + 1);
}

async fn the_etag_distinguishes_scheduled_from_published(engine: Engine) {
    let shop = Shop::open(engine).await;
    let made = scheduled(&shop, "Ann", now() + 3).await;
    let path = path_of(&made);
    let views = ["view=full", "view=simple"].map(|view| format!("{path}?{view}"));
    let mut before = Vec::new();
    for view in &views {
        let answer = shop.api.get(view).await;
        assert_eq!(answer.ok()["status"], "scheduled");
        let tag = answer.header("ETag").unwrap().to_owned();
        let known = shop.api.request("GET", view).header("If-None-Match", &tag).send().await;
        assert_eq!(known.status, 304, "{view}");
        before.push(tag);
    }
    wait_for("it is published", TIMEOUT, async || {
        status(&shop, &path).await == "published"
    })
    .await;
    // The event comes with a version of its own.
    heard(&shop.api, "Ann").await;
    for (view, tag) in views.iter().zip(&before) {
        let known = shop.api.request("GET", view).header("If-None-Match", tag).send().await;
        assert_eq!(known.ok()["status"], "published", "{view}");
        let now = known.header("ETag").unwrap().to_owned();
        assert_ne!(&now, tag, "{view}");
        let known = shop.api.request("GET", view).header("If-None-Match", &now).send().await;
        assert_eq!(known.status, 304, "{view}");
    }
    // A write for the version that was read is accepted, with either of the tags.
    let tag = shop.api.get(&path).await.header("ETag").unwrap().to_owned();
    let request = shop.api.request("PATCH", &path).header("If-Match", &tag);
    let seen = request.json(&json!({"title": "Bea"})).send().await.ok();
    assert!(seen["version"].as_i64() > made["version"].as_i64());
}

async fn a_webhook_receives_a_scheduled_article(engine: Engine) {
    let shop = Shop::open_with(engine, |serve| {
        serve.env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
    })
    .await;
    let receiver = Receiver::start();
    let hook = json!({"url": receiver.url("/blog"), "events": ["blog.published"]});
    let hook = shop.api.post("/2.0/webhooks", &hook).await.created();
    assert_eq!(hook["scopes"], json!(["blogs:read"]));
    article(&shop, &json!({"title": "Draft"})).await;
    scheduled(&shop, "Later", now() + FAR).await;
    let made = scheduled(&shop, "Ann", now() + 2).await;
    let received = receiver.wait_for(1, TIMEOUT).remove(0);
    assert_eq!(received.header("X-Service-Event"), Some("blog.published"));
    assert!(received.is_signed(hook["secret"].as_str().unwrap()));
    let body = received.json();
    assert_eq!(body["data"], shop.api.get(&path_of(&made)).await.ok());
    assert_eq!(
        (&body["data"]["status"], &body["business"]["tag"]),
        (&json!("published"), &json!("acme"))
    );
    // An edit records no event.
    shop.api.patch(&path_of(&made), &json!({"title": "Bea"})).await.ok();
    article(&shop, &json!({"title": "Marker", "status": "published"})).await;
    let received = receiver.wait_for(2, TIMEOUT);
    assert_eq!(received[1].json()["data"]["title"], "Marker");
}

async fn only_a_key_that_may_read_articles_receives_them(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    article(&shop, &json!({"title": "Ann", "status": "published"})).await;
    heard(&shop.api, "Ann").await;
    let reader = shop.client("webhooks:read,blogs:read").await;
    assert_eq!(titles(&reader).await, ["Ann"]);
    let other = shop.client("webhooks:read,reviews:read").await;
    assert!(other.walk("/2.0/events").await.is_empty());
    assert!(rival.walk("/2.0/events").await.is_empty());
}
