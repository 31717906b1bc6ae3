//! The state that clients keep, and a database that goes back to an earlier state.

use std::time::{Duration, Instant};

use harness::{Answer, Client, Engine, Installation, Postgres, Proxy, Shop, both_engines, eventually};
use serde_json::{Value, json};

use crate::listing_changes::{execute, published};

both_engines! {
    a_place_that_the_log_does_not_have_is_an_error
    a_change_that_was_not_made_yet_is_an_error
    a_new_epoch_marks_what_clients_remember
    one_backup_restored_twice_gives_two_epochs
    a_waiting_reader_learns_of_a_restore
    a_total_is_counted_anew
}

const EVENTS: &str = "/2.0/events";
const CHANGES: &str = "/2.0/listings/changes";

/// Begins a new epoch, and waits until the server knows it.
async fn raise(shop: &Shop) -> i64 {
    let begun = Instant::now();
    let epoch = raised(shop.installation()).await;
    await_epoch(&shop.api, epoch).await;
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    epoch
}

async fn raised(installation: &Installation) -> i64 {
    let report = installation.run(["epoch", "raise", "--json"]).await.json();
    report["epoch"].as_i64().unwrap()
}

async fn epoch(api: &Client) -> i64 {
    let answer = api.get(&format!("{EVENTS}?per_page=1")).await;
    answer.json()["meta"]["epoch"].as_i64().unwrap()
}

async fn await_epoch(api: &Client, expected: i64) {
    eventually("the epoch is known", Duration::from_secs(20), async || {
        let found = epoch(api).await;
        if found == expected { Ok(()) } else { Err(found) }
    })
    .await;
}

#[track_caller]
fn oldest(answer: &Answer) -> i64 {
    let error = answer.refused(410, "events_expired");
    error["details"]["oldest"].as_i64().unwrap()
}

async fn a_place_that_the_log_does_not_have_is_an_error(engine: Engine) {
    let shop = Shop::open(engine).await;
    let read = async |query: &str| shop.api.get(&format!("{EVENTS}?{query}")).await;
    // The usual place of a reader of an empty log.
    assert_eq!(read("cursor=0").await.json()["meta"]["position"], "0");
    assert_eq!(oldest(&read("cursor=1").await), 1);
    for number in 0..5 {
        shop.lead(&json!({"name": format!("Lead {number}")})).await;
    }
    for query in [
        "cursor=5",
        "cursor=0",
        "",
        "cursor=latest",
        "cursor=5&event=vehicle.created",
    ] {
        let answer = read(query).await;
        assert_eq!(answer.status, 200, "{query}: {answer:?}");
        assert_eq!(answer.json()["meta"]["epoch"], 0, "{query}");
    }
    let beyond = [
        "cursor=6",
        "cursor=9999999",
        "cursor=9223372036854775807",
        "cursor=6&wait=30",
        "cursor=6&resource=vehicle",
    ];
    let asked = Instant::now();
    for query in beyond {
        assert_eq!(oldest(&read(query).await), 1, "{query}");
    }
    assert!(
        asked.elapsed() < Duration::from_secs(20),
        "no request waits for what cannot come"
    );
    // A key without access to any of it.
    let blind = shop.client("webhooks:read").await;
    assert_eq!(blind.get(&format!("{EVENTS}?cursor=5")).await.status, 200);
    assert_eq!(oldest(&blind.get(&format!("{EVENTS}?cursor=6")).await), 1);

    execute(shop.installation(), engine, "DELETE FROM events WHERE sequence <= 3").await;
    for query in [
        "cursor=1",
        "cursor=2",
        "cursor=2&wait=30",
        "cursor=2&per_page=1",
        "cursor=1&event=lead.created",
    ] {
        assert_eq!(oldest(&read(query).await), 4, "{query}");
    }
    for query in ["cursor=3", "cursor=0", "", "cursor=3&per_page=1"] {
        assert_eq!(read(query).await.list().items[0]["sequence"], 4, "{query}");
    }
    assert_eq!(read("cursor=4&event=lead.created").await.list().items.len(), 1);

    execute(shop.installation(), engine, "DELETE FROM events").await;
    assert_eq!(oldest(&read("cursor=4").await), 6);
    for query in ["cursor=5", "cursor=0", "", "cursor=latest"] {
        assert_eq!(read(query).await.json()["meta"]["position"], "5", "{query}");
    }
}

async fn a_change_that_was_not_made_yet_is_an_error(engine: Engine) {
    let shop = Shop::open(engine).await;
    published(&shop, &json!({})).await;
    let all = shop.api.get(CHANGES).await.json();
    assert_eq!(all["meta"]["epoch"], 0);
    let last = all["meta"]["last_sequence"].as_i64().unwrap();
    assert_eq!(shop.api.get(&format!("{CHANGES}?after={last}")).await.status, 200);
    for query in [format!("after={}", last + 1), format!("after={}&wait=30", last + 1)] {
        let refused = shop.api.get(&format!("{CHANGES}?{query}")).await;
        let error = refused.refused(410, "listing_changes_expired");
        assert_eq!(error["details"]["oldest"], 0, "{query}");
    }
}

async fn tag(api: &Client, path: &str) -> String {
    let answer = api.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer
        .header("ETag")
        .unwrap_or_else(|| panic!("{path} has no ETag"))
        .to_owned()
}

async fn a_new_epoch_marks_what_clients_remember(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    shop.lead_path("Bea").await;
    published(&shop, &json!({})).await;
    let paths = [
        lead.clone(),
        format!("{lead}?view=simple"),
        "/2.0/listings/manifest".to_owned(),
        "/2.0/feeds/csv".to_owned(),
    ];
    let mut known = Vec::new();
    for path in &paths {
        known.push(tag(&shop.api, path).await);
    }
    assert_eq!(known[..2], ["\"1\"", "\"1-simple\""]);
    let next = async |list: &str| shop.api.list(list).await.pagination["next_cursor"].clone();
    let cursor = next("/2.0/leads?per_page=1").await;
    let follow = async |cursor: &Value| {
        let path = format!("/2.0/leads?per_page=1&cursor={}", cursor.as_str().unwrap());
        shop.api.get(&path).await
    };
    follow(&cursor).await.list();

    let epoch = raise(&shop).await;
    assert_eq!(shop.api.get(CHANGES).await.json()["meta"]["epoch"], epoch);
    for (path, known) in paths.iter().zip(&known) {
        let request = shop.api.request("GET", path).header("If-None-Match", known);
        let answer = request.send().await;
        assert_eq!(answer.status, 200, "{path}: what was known may be another state");
        let new = answer.header("ETag").unwrap().to_owned();
        assert_eq!(
            new,
            format!("{}-e{epoch}\"", known.strip_suffix('"').unwrap()),
            "{path}"
        );
        let again = shop.api.request("GET", path).header("If-None-Match", &new).send().await;
        assert_eq!(again.status, 304, "{path}");
        assert_eq!(again.header("ETag"), Some(&*new));
    }
    // A version is the same as before.
    let change = async |tag: &str| {
        let request = shop.api.request("PATCH", &lead).header("If-Match", tag);
        request.json(&json!({"name": format!("Cia {tag}")})).send().await
    };
    assert_eq!(change("\"1\"").await.ok()["version"], 2);
    change("\"1\"").await.refused(412, "precondition_failed");
    change(&format!("\"1-e{epoch}\""))
        .await
        .refused(412, "precondition_failed");
    assert_eq!(change(&format!("\"2-simple-e{epoch}\"")).await.ok()["version"], 3);
    follow(&cursor).await.invalid(&["cursor"]);
    follow(&next("/2.0/leads?per_page=1").await).await.list();
}

async fn one_backup_restored_twice_gives_two_epochs(engine: Engine) {
    let shop = Shop::open(engine).await;
    let first = raised(shop.installation()).await;
    let second = raised(shop.installation()).await;
    assert!(first > 1_700_000_000 && second > first, "{first} {second}");
    await_epoch(&shop.api, second).await;
    // It remains after a restart.
    let mut shop = shop;
    shop.server.restart().await;
    assert_eq!(epoch(&shop.api).await, second);
}

async fn a_waiting_reader_learns_of_a_restore(engine: Engine) {
    let shop = Shop::open(engine).await;
    for _ in 0..3 {
        shop.lead_path("Ann").await;
    }
    let api = shop.client("all").await;
    let asked = Instant::now();
    let waiting = tokio::spawn(async move { api.get(&format!("{EVENTS}?cursor=3&wait=30")).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    // The state after a restore of a backup.
    let restore = "DELETE FROM events WHERE sequence > 1; UPDATE counters SET number = 1 WHERE kind = 'events'";
    execute(shop.installation(), engine, restore).await;
    raised(shop.installation()).await;
    assert_eq!(oldest(&waiting.await.unwrap()), 1);
    assert!(asked.elapsed() < Duration::from_secs(28), "{:?}", asked.elapsed());
}

async fn a_total_is_counted_anew(engine: Engine) {
    let shop = Shop::open(engine).await;
    for _ in 0..3 {
        shop.lead_path("Ann").await;
    }
    let total = async || shop.api.list("/2.0/leads?name=Ann").await.pagination["total"].clone();
    assert_eq!(total().await, 3);
    // Another state with the same number of writes.
    execute(
        shop.installation(),
        engine,
        "UPDATE leads SET name_folded = 'bea' WHERE reference = 2",
    )
    .await;
    raise(&shop).await;
    assert_eq!(total().await, 2);
}

#[tokio::test]
async fn a_promoted_standby_begins_an_epoch_on_all_servers() {
    let shop = Shop::open(Engine::Postgres).await;
    let other = shop.installation().serve().start().await;
    let their = other.client(&shop.business.key("all").await.token);
    assert_eq!((epoch(&shop.api).await, epoch(&their).await), (0, 0));
    // The database was last seen on another timeline.
    let promoted = "UPDATE forecourt_meta SET value = '00000000' WHERE key = 'timeline'";
    shop.installation().execute(promoted).await;
    let begun = eventually("an epoch begins", Duration::from_secs(20), async || {
        let found = epoch(&shop.api).await;
        if found > 0 { Ok(found) } else { Err(found) }
    })
    .await;
    await_epoch(&their, begun).await;
    assert!(shop.server.log().contains("another timeline") || other.log().contains("another timeline"));
}

#[tokio::test]
async fn a_standby_that_lacks_the_last_commits_begins_an_epoch() {
    let primary = Postgres::start().await;
    let standby = primary.standby().await;
    let proxy = Proxy::to(primary.address()).await;
    let installation = Installation::at(&primary.url_through(&proxy));
    let shop = Shop::on(installation.serve().start().await).await;
    shop.lead_path("Ann").await;
    primary.leave_behind(&standby).await;
    let lost = shop.lead_path("Bea").await;
    let known = tag(&shop.api, &lost).await;

    standby.promote().await;
    proxy.switch(standby.address());
    let begun = eventually("an epoch begins", Duration::from_secs(60), async || {
        let answer = shop.api.get(&format!("{EVENTS}?cursor=1")).await;
        match answer.json()["meta"]["epoch"].as_i64() {
            Some(epoch) if epoch > 0 => Ok(epoch),
            _ => Err(answer),
        }
    })
    .await;
    // A consumer that has seen the lost event learns that its place is gone.
    assert_eq!(oldest(&shop.api.get(&format!("{EVENTS}?cursor=2")).await), 1);
    assert_eq!(shop.api.get(&lost).await.status, 404);
    // A version that is given again is not taken for the lost one.
    let other = shop.lead_path("Cia").await;
    let new = tag(&shop.api, &other).await;
    assert_eq!((known.as_str(), new), ("\"1\"", format!("\"1-e{begun}\"")));
}
