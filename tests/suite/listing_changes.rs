//! The changes of listings in order, for clients that keep a copy of the stock, and the client of docs/syndication.md, which
//! does so.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use diesel::SqliteConnection;
use diesel::connection::{Connection as _, SimpleConnection as _};
use harness::{Answer, Client, Engine, Installation, Job, Shop, both_engines, eventually, now, repeated};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::vehicles_record::path;

both_engines! {
    changes_come_in_their_order
    an_entry_holds_the_listing
    the_latest_change_of_a_listing_stands_for_all
    a_removal_says_why
    a_listing_that_leaves_and_returns_is_one_upsert
    what_the_advert_does_not_show_is_no_change
    a_start_from_zero_holds_what_is_listed
    pages_follow_each_other
    a_page_has_fifty_unless_the_request_says_otherwise
    nothing_comes_after_the_last_change
    fields_narrow_entries
    a_request_that_waits_is_answered_when_a_change_comes
    a_request_that_waits_in_vain_is_answered_in_time
    a_request_that_waits_is_not_woken_by_other_businesses
    a_waiting_request_receives_another_server_s_change
    a_server_that_ends_lets_no_request_wait
    a_changed_business_is_a_change_of_its_listings
    a_business_without_a_website_removes_its_listings
    removals_that_are_no_longer_kept_are_an_error
    businesses_are_apart
    random_changes_leave_an_exact_copy
    a_copy_made_while_others_write_is_exact
    copies_are_exact_after_crashes
    the_client_of_the_guide_keeps_an_exact_copy
    the_client_of_the_guide_follows
}

pub(crate) const LISTINGS: &str = "/2.0/listings";
pub(crate) const CHANGES: &str = "/2.0/listings/changes";
/// The wait of the requests here, so that a request that waits in vain takes longer.
const WAIT: Duration = Duration::from_secs(30);
/// The maximum time for due background work.
const TIMEOUT: Duration = Duration::from_secs(90);
/// The number of crashes, the changes between them at most, and the number of concurrent writers.
const CRASHES: usize = 5;
const CHANGES_PER_CRASH: usize = 100;
const WRITERS: usize = 4;
/// The client that docs/syndication.md explains.
const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/sync.py");

/// Returns a car that can be published, with `data` merged into it by section.
pub(crate) fn car(data: &Value) -> Value {
    let mut car = json!({"data": {
        "vehicle": {"type": "Car", "make": "Ford", "model": "Focus", "fuel": "Petrol", "body": "Hatchback", "colour": "Red",
                    "transmission": "Manual", "mileage": 41_000},
        "history": {"year": 2019},
        "stock": {"price_website": 9995},
    }});
    for (section, members) in data.as_object().unwrap() {
        for (name, value) in members.as_object().unwrap() {
            car["data"][section][name] = value.clone();
        }
    }
    car
}

/// Publishes such a car; returns its path among the vehicles and its id.
pub(crate) async fn published(shop: &Shop, data: &Value) -> (String, i64) {
    let path = path(shop, &car(data)).await;
    put_on(shop, &path, json!(["website"])).await;
    let id = id_of(&path);
    (path, id)
}

pub(crate) fn id_of(path: &str) -> i64 {
    path.rsplit('/').next().unwrap().parse().unwrap()
}

pub(crate) async fn put_on(shop: &Shop, path: &str, channels: Value) {
    let body = json!({"channels": channels});
    shop.api.put(&format!("{path}/channels"), &body).await.ok();
}

pub(crate) async fn listing(shop: &Shop, id: i64) -> Value {
    shop.api.get(&format!("{LISTINGS}/{id}")).await.ok()
}

/// Returns the listings, by id.
async fn listed(client: &Client) -> BTreeMap<i64, Value> {
    let all = client.walk(&format!("{LISTINGS}?per_page=500&cursor=")).await;
    let by_id = |listing: Value| (listing["id"].as_i64().unwrap(), listing);
    all.into_iter().map(by_id).collect()
}

async fn paint(shop: &Shop, path: &str, colour: &str) {
    let body = json!({"data": {"vehicle": {"colour": colour}}});
    shop.api.patch(path, &body).await.ok();
}

/// Runs statements on the database of an installation, beside the program.
pub(crate) async fn execute(installation: &Installation, engine: Engine, statements: &str) {
    match engine {
        Engine::Postgres => installation.execute(statements).await,
        Engine::Sqlite => {
            let path = installation.database_url().strip_prefix("sqlite://").unwrap();
            let mut database = SqliteConnection::establish(path).unwrap();
            database.batch_execute("PRAGMA busy_timeout = 10000").unwrap();
            database.batch_execute(statements).unwrap();
        }
    }
}

/// A page of changes.
#[derive(Debug)]
struct Page {
    entries: Vec<Value>,
    last_sequence: i64,
    more: bool,
}

impl Page {
    /// Returns the kind of each entry and the id of its listing.
    fn shown(&self) -> Vec<(&str, i64)> {
        let entries = self.entries.iter();
        entries
            .filter_map(|entry| Some((entry["type"].as_str()?, entry["id"].as_i64()?)))
            .collect()
    }

    fn sequences(&self) -> Vec<i64> {
        self.entries
            .iter()
            .filter_map(|entry| entry["sequence"].as_i64())
            .collect()
    }
}

#[track_caller]
fn page(answer: &Answer) -> Page {
    let Value::Array(entries) = answer.ok() else {
        panic!("no list: {answer:?}")
    };
    let meta = answer.json()["meta"].take();
    let last_sequence = meta["last_sequence"].as_i64().expect("last_sequence is a number");
    let more = meta["more"].as_bool().expect("more is a boolean");
    assert_eq!(
        meta,
        json!({"last_sequence": last_sequence, "more": more, "epoch": meta["epoch"]})
    );
    Page {
        entries,
        last_sequence,
        more,
    }
}

async fn changes(client: &Client, query: &str) -> Page {
    page(&client.get(&format!("{CHANGES}?{query}")).await)
}

/// Returns the changes after a number.
async fn after(shop: &Shop, sequence: i64) -> Page {
    changes(&shop.api, &format!("after={sequence}")).await
}

/// Returns the number of the latest change.
async fn latest(shop: &Shop) -> i64 {
    let mut page = after(shop, 0).await;
    while page.more {
        page = after(shop, page.last_sequence).await;
    }
    page.last_sequence
}

/// A copy of the stock, as a client keeps it.
#[derive(Debug, Default)]
pub(crate) struct StockCopy {
    pub(crate) listings: BTreeMap<i64, Value>,
    sequence: i64,
}

impl StockCopy {
    /// Applies one page; returns true if there is more.
    async fn step(&mut self, client: &Client, per_page: u32) -> bool {
        let query = format!("after={}&per_page={per_page}", self.sequence);
        let page = changes(client, &query).await;
        let sequences = page.sequences();
        assert_eq!(sequences.len(), page.entries.len());
        assert!(
            sequences.len() <= usize::try_from(per_page).unwrap(),
            "{query}: {sequences:?}"
        );
        assert!(
            sequences.is_sorted_by(|one, other| one < other),
            "{query}: {sequences:?}"
        );
        assert!(
            sequences.first().is_none_or(|&first| first > self.sequence),
            "{query}: {sequences:?}"
        );
        assert!(
            sequences.last().is_none_or(|&last| last <= page.last_sequence),
            "{query}: {page:?}"
        );
        assert!(
            page.last_sequence > self.sequence || !page.more,
            "the walk goes on: {page:?}"
        );
        for entry in page.entries {
            let id = entry["id"].as_i64().unwrap();
            if entry["type"] == "upsert" {
                assert_eq!(entry["listing"]["id"], id);
                self.listings.insert(id, entry["listing"].clone());
            } else {
                assert_eq!(entry["type"], "remove", "{entry}");
                self.listings.remove(&id);
            }
        }
        self.sequence = page.last_sequence;
        page.more
    }

    /// Applies all that has changed.
    pub(crate) async fn catch_up(&mut self, client: &Client, per_page: u32) {
        while self.step(client, per_page).await {}
    }
}

/// Random numbers that are the same in each run.
struct Random(u64);

impl Random {
    /// Returns one below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

async fn changes_come_in_their_order(engine: Engine) {
    let shop = Shop::open(engine).await;
    let empty = after(&shop, 0).await;
    assert_eq!((empty.entries.len(), empty.last_sequence, empty.more), (0, 0, false));
    let (first, one) = published(&shop, &json!({})).await;
    let (_, two) = published(&shop, &json!({})).await;
    let (_, three) = published(&shop, &json!({})).await;
    paint(&shop, &first, "Blue").await;
    let page = after(&shop, 0).await;
    assert_eq!(page.shown(), [("upsert", two), ("upsert", three), ("upsert", one)]);
    let sequences = page.sequences();
    assert!(
        sequences.is_sorted_by(|one, other| one < other) && sequences[0] > 0,
        "{sequences:?}"
    );
    assert_eq!((sequences.last(), page.more), (Some(&page.last_sequence), false));
    // Without `after` it is 0.
    assert_eq!(changes(&shop.api, "").await.entries, page.entries);
    // After any of them come the following ones.
    for (place, &sequence) in sequences.iter().enumerate() {
        let rest = after(&shop, sequence).await;
        assert_eq!(rest.entries, page.entries[place + 1..], "{sequence}");
        assert_eq!(rest.last_sequence, page.last_sequence);
    }
}

async fn an_entry_holds_the_listing(engine: Engine) {
    let shop = Shop::open(engine).await;
    let start = now();
    let (path, id) = published(&shop, &json!({"option": {"website": "<b>Fast</b>"}})).await;
    let end = now();
    let members = |entry: &Value| -> Vec<String> { entry.as_object().unwrap().keys().cloned().collect() };
    let page = after(&shop, 0).await;
    let entry = &page.entries[0];
    assert_eq!(members(entry), ["sequence", "type", "id", "at", "hash", "listing"]);
    let listing = listing(&shop, id).await;
    assert_eq!((&entry["listing"], &entry["hash"]), (&listing, &listing["hash"]));
    assert!((start..=end).contains(&entry["at"].as_i64().unwrap()), "{entry}");

    let start = now();
    shop.api.delete(&path).await.ok();
    let end = now();
    let page = after(&shop, page.last_sequence).await;
    let entry = &page.entries[0];
    assert_eq!(members(entry), ["sequence", "type", "id", "at", "reason"]);
    assert_eq!(entry["id"], id);
    assert!((start..=end).contains(&entry["at"].as_i64().unwrap()), "{entry}");
}

async fn the_latest_change_of_a_listing_stands_for_all(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, id) = published(&shop, &json!({})).await;
    let start = latest(&shop).await;
    for colour in ["Blue", "Black", "Green"] {
        paint(&shop, &path, colour).await;
    }
    for from in [0, start] {
        let page = after(&shop, from).await;
        assert_eq!(page.shown(), [("upsert", id)], "after {from}");
        assert_eq!(page.entries[0]["listing"], listing(&shop, id).await);
    }
    put_on(&shop, &path, json!([])).await;
    shop.api.delete(&path).await.ok();
    let page = after(&shop, start).await;
    assert_eq!(page.shown(), [("remove", id)]);
    assert_eq!(
        page.entries[0]["reason"], "unpublished",
        "it was no longer listed when it was deleted"
    );
}

async fn a_removal_says_why(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut expected = Vec::new();
    let mut vehicles = Vec::new();
    for reason in ["unpublished", "unpublished", "deleted", "status"] {
        let (path, id) = published(&shop, &json!({})).await;
        vehicles.push(path);
        expected.push((id, reason));
    }
    let (_, stays) = published(&shop, &json!({})).await;
    let start = latest(&shop).await;
    put_on(&shop, &vehicles[0], json!([])).await;
    put_on(&shop, &vehicles[1], json!(["platform_a"])).await;
    shop.api.delete(&vehicles[2]).await.ok();
    let draft = json!({"status": "draft"});
    shop.api.patch(&format!("{}/status", vehicles[3]), &draft).await.ok();
    let page = after(&shop, start).await;
    let reasons: Vec<(i64, &str)> = page
        .entries
        .iter()
        .map(|entry| (entry["id"].as_i64().unwrap(), entry["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(reasons, expected);
    assert!(page.entries.iter().all(|entry| entry["type"] == "remove"));
    assert_eq!(listed(&shop.api).await.into_keys().collect::<Vec<_>>(), [stays]);
}

async fn a_listing_that_leaves_and_returns_is_one_upsert(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, id) = published(&shop, &json!({})).await;
    let start = latest(&shop).await;
    for channels in [json!([]), json!(["website"])] {
        put_on(&shop, &path, channels).await;
    }
    for from in [0, start] {
        let page = after(&shop, from).await;
        assert_eq!(page.shown(), [("upsert", id)], "after {from}");
        assert_eq!(page.entries[0]["listing"], listing(&shop, id).await);
    }
}

async fn what_the_advert_does_not_show_is_no_change(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, _) = published(&shop, &json!({})).await;
    let start = latest(&shop).await;
    for internal in [
        json!({"data": {"stock": {"notes": "Rang twice"}}}),
        json!({"owner": "1"}),
        json!({"data": {"stock": {"price_reserve": 9000}}}),
        json!({"data": {"vehicle": {"colour": "Red"}}}),
    ] {
        shop.api.patch(&path, &internal).await.ok();
    }
    put_on(&shop, &path, json!(["website", "platform_a"])).await;
    let page = after(&shop, start).await;
    assert_eq!((page.entries.len(), page.last_sequence), (0, start));
    // Changes of a vehicle that is not listed are not shown either.
    let draft = crate::vehicles_record::path(&shop, &car(&json!({}))).await;
    let start = latest(&shop).await;
    paint(&shop, &draft, "Blue").await;
    put_on(&shop, &draft, json!(["platform_a"])).await;
    shop.api.delete(&draft).await.ok();
    let page = after(&shop, start).await;
    assert_eq!((page.entries.len(), page.last_sequence), (0, start));
}

async fn a_start_from_zero_holds_what_is_listed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut vehicles = Vec::new();
    for _ in 0..6 {
        vehicles.push(published(&shop, &json!({})).await);
    }
    put_on(&shop, &vehicles[0].0, json!([])).await;
    shop.api.delete(&vehicles[2].0).await.ok();
    shop.api.delete(&vehicles[5].0).await.ok();
    let page = after(&shop, 0).await;
    let expected: Vec<(&str, i64)> = [1, 3, 4].map(|place: usize| ("upsert", vehicles[place].1)).into();
    assert_eq!((page.shown(), page.more), (expected, false));
    let rest = after(&shop, page.last_sequence).await;
    assert_eq!((rest.entries.len(), rest.last_sequence), (0, page.last_sequence));
    // In pages of one, only removals may come in between.
    let mut copy = StockCopy::default();
    copy.catch_up(&shop.api, 1).await;
    assert_eq!(copy.listings, listed(&shop.api).await);
    // Once no vehicle is listed, a new copy has nothing to read.
    for place in [1, 3, 4] {
        shop.api.delete(&vehicles[place].0).await.ok();
    }
    let page = after(&shop, 0).await;
    assert_eq!((page.entries.len(), page.more), (0, false));
    copy.catch_up(&shop.api, 1).await;
    assert!(copy.listings.is_empty());
}

async fn pages_follow_each_other(engine: Engine) {
    let shop = Shop::open(engine).await;
    for _ in 0..5 {
        published(&shop, &json!({})).await;
    }
    let all = after(&shop, 0).await;
    for (per_page, lengths) in [
        (1, &[1, 1, 1, 1, 1][..]),
        (2, &[2, 2, 1]),
        (4, &[4, 1]),
        (5, &[5]),
        (500, &[5]),
    ] {
        let (mut entries, mut seen, mut sequence) = (Vec::new(), Vec::new(), 0);
        loop {
            let page = changes(&shop.api, &format!("after={sequence}&per_page={per_page}")).await;
            assert_eq!(page.sequences().last(), Some(&page.last_sequence), "{per_page}");
            seen.push(page.entries.len());
            entries.extend(page.entries);
            sequence = page.last_sequence;
            if !page.more {
                break;
            }
        }
        assert_eq!(seen, lengths, "a full last page has none behind it: {per_page}");
        assert_eq!((entries, sequence), (all.entries.clone(), all.last_sequence));
    }
}

async fn a_page_has_fifty_unless_the_request_says_otherwise(engine: Engine) {
    let shop = Shop::open(engine).await;
    for _ in 0..51 {
        published(&shop, &json!({})).await;
    }
    let page = changes(&shop.api, "").await;
    assert_eq!((page.entries.len(), page.more), (50, true));
    let rest = after(&shop, page.last_sequence).await;
    assert_eq!((rest.entries.len(), rest.more), (1, false));
}

async fn nothing_comes_after_the_last_change(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, _) = published(&shop, &json!({})).await;
    let last = latest(&shop).await;
    let page = after(&shop, last).await;
    assert_eq!((page.entries.len(), page.more), (0, false));
    for beyond in [last + 1, last + 1_000_000, i64::MAX] {
        let answer = shop.api.get(&format!("{CHANGES}?after={beyond}")).await;
        answer.refused(410, "listing_changes_expired");
    }
    // A page reads the same again, regardless of the requests in between.
    shop.api.delete(&path).await.ok();
    assert_eq!(after(&shop, last).await.entries.len(), 1);
}

async fn fields_narrow_entries(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (_, stays) = published(&shop, &json!({})).await;
    let (gone, removed) = published(&shop, &json!({})).await;
    put_on(&shop, &gone, json!([])).await;
    let all = changes(&shop.api, "after=0").await.sequences();
    let fields = "fields=sequence,type,id,reason,listing.data.vehicle.make,nothing";
    let page = changes(&shop.api, &format!("after=0&{fields}")).await;
    assert_eq!(
        page.entries,
        [json!({"sequence": all[0], "type": "upsert", "id": stays,
                "listing": {"data": {"vehicle": {"make": "Ford"}}}})]
    );
    let page = changes(&shop.api, &format!("after={}&{fields}", all[0])).await;
    assert_eq!(
        page.entries,
        [json!({"sequence": page.last_sequence, "type": "remove", "id": removed, "reason": "unpublished"})]
    );
    let page = changes(&shop.api, "fields=id").await;
    assert_eq!((page.entries, page.more), (vec![json!({"id": stays})], false));
}

async fn a_request_that_waits_is_answered_when_a_change_comes(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, id) = published(&shop, &json!({})).await;
    let mut last = latest(&shop).await;
    for number in 0..6 {
        let api = shop.api.clone();
        let waiting = tokio::spawn(async move { changes(&api, &format!("after={last}&wait=30")).await });
        // It does not matter whether the change comes before the wait begins or after.
        tokio::time::sleep(Duration::from_millis(number * 50)).await;
        let asked = Instant::now();
        let expected = match number {
            4 => "remove",
            _ => "upsert",
        };
        match number {
            4 => put_on(&shop, &path, json!([])).await,
            5 => put_on(&shop, &path, json!(["website"])).await,
            _ => {
                paint(
                    &shop,
                    &path,
                    ["Blue", "Red", "Black", "Green"][usize::try_from(number).unwrap()],
                )
                .await;
            }
        }
        let heard = waiting.await.unwrap();
        assert!(asked.elapsed() < WAIT, "{:?}", asked.elapsed());
        assert_eq!(heard.shown(), [(expected, id)]);
        last = heard.last_sequence;
    }
    // If there are changes, no request waits.
    let asked = Instant::now();
    assert_eq!(changes(&shop.api, "wait=30").await.entries.len(), 1);
    assert!(asked.elapsed() < WAIT, "{:?}", asked.elapsed());
}

async fn a_request_that_waits_in_vain_is_answered_in_time(engine: Engine) {
    let shop = Shop::open(engine).await;
    published(&shop, &json!({})).await;
    let last = latest(&shop).await;
    let asked = Instant::now();
    let page = changes(&shop.api, &format!("after={last}&wait=2")).await;
    let took = asked.elapsed();
    assert!(took >= Duration::from_secs(2), "{took:?}");
    assert_eq!((page.entries.len(), page.last_sequence, page.more), (0, last, false));
    let asked = Instant::now();
    changes(&shop.api, &format!("after={last}")).await;
    assert!(asked.elapsed() < WAIT, "without `wait` no request waits");
}

async fn a_request_that_waits_is_not_woken_by_other_businesses(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, id) = published(&shop, &json!({})).await;
    let rival = shop.rival().await;
    let last = latest(&shop).await;
    let api = shop.api.clone();
    let waiting = tokio::spawn(async move { changes(&api, &format!("after={last}&wait=30")).await });
    for _ in 0..5 {
        let vehicle = rival.post("/2.0/vehicles", &car(&json!({}))).await.created();
        let channels = format!("/2.0/vehicles/{}/channels", vehicle["id"]);
        rival.put(&channels, &json!({"channels": ["website"]})).await.ok();
    }
    paint(&shop, &path, "Blue").await;
    assert_eq!(waiting.await.unwrap().shown(), [("upsert", id)]);
}

async fn a_waiting_request_receives_another_server_s_change(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, id) = published(&shop, &json!({})).await;
    let last = latest(&shop).await;
    let second = shop.installation().serve().start().await;
    let other = second.client(&shop.business.key("all").await.token);
    let waiting = tokio::spawn(async move { changes(&other, &format!("after={last}&wait=30")).await });
    // One of these comes after the waiting has begun.
    let asked = Instant::now();
    let mut colours = ["Blue", "Red"].into_iter().cycle();
    while !waiting.is_finished() {
        paint(&shop, &path, colours.next().unwrap()).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert!(asked.elapsed() < WAIT, "{:?}", asked.elapsed());
    assert_eq!(waiting.await.unwrap().shown(), [("upsert", id)]);
}

async fn a_server_that_ends_lets_no_request_wait(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    published(&shop, &json!({})).await;
    let last = latest(&shop).await;
    let mut waiting = JoinSet::new();
    for _ in 0..10 {
        let api = shop.api.clone();
        let path = format!("{CHANGES}?after={last}&wait=30");
        waiting.spawn(async move { api.request("GET", &path).attempt().await });
    }
    // By then most of them are accepted; the others will not be.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let asked = Instant::now();
    let status = shop.server.terminate().await;
    assert!(status.success(), "{status}");
    assert!(asked.elapsed() < WAIT, "{:?}", asked.elapsed());
    let answers = waiting.join_all().await;
    let answered: Vec<&Answer> = answers.iter().flatten().collect();
    assert!(!answered.is_empty(), "{answers:?}");
    for answer in answered {
        let heard = page(answer);
        assert_eq!((heard.entries.len(), heard.last_sequence), (0, last));
    }
}

async fn a_changed_business_is_a_change_of_its_listings(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(published(&shop, &json!({})).await.1);
    }
    let mut copy = StockCopy::default();
    copy.catch_up(&shop.api, 50).await;
    shop.business.change(json!({"website": "https://other.example"})).await;
    eventually("the copy has the new addresses", TIMEOUT, async || {
        copy.catch_up(&shop.api, 50).await;
        let address = |listing: &Value| listing["url_full"].as_str().map(str::to_owned);
        let addresses: Vec<Option<String>> = copy.listings.values().map(address).collect();
        let new = |address: &Option<String>| {
            address
                .as_deref()
                .is_some_and(|address| address.starts_with("https://other.example/"))
        };
        if addresses.iter().all(new) {
            Ok(())
        } else {
            Err(addresses)
        }
    })
    .await;
    assert_eq!(copy.listings, listed(&shop.api).await);
    assert_eq!(copy.listings.into_keys().collect::<Vec<_>>(), ids);
}

async fn a_business_without_a_website_removes_its_listings(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (_, id) = published(&shop, &json!({})).await;
    let start = latest(&shop).await;
    let channels = json!([{"id": "platform_a", "name": "Platform A", "category": "marketplace"}]);
    shop.business.change(json!({"channels": channels})).await;
    let entry = eventually("the listing is removed", TIMEOUT, async || {
        let page = after(&shop, start).await;
        page.entries.into_iter().next().ok_or("nothing has changed")
    })
    .await;
    assert_eq!(
        (&entry["type"], &entry["id"], &entry["reason"]),
        (&json!("remove"), &json!(id), &json!("unpublished"))
    );
}

async fn removals_that_are_no_longer_kept_are_an_error(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let (gone, first) = published(&shop, &json!({})).await;
    let start = latest(&shop).await;
    let python = has_python().await;
    let token = shop.business.key("listings:read").await.token;
    if python {
        client(&shop, &token, "--once").await;
    }
    shop.api.delete(&gone).await.ok();
    let (_, second) = published(&shop, &json!({})).await;
    assert_eq!(
        after(&shop, start).await.shown(),
        [("remove", first), ("upsert", second)]
    );
    // The removal must be old enough to be purged.
    assert!(shop.server.terminate().await.success());
    let age = format!("UPDATE listing_removals SET at = at - {}", 31 * 86_400);
    execute(shop.installation(), engine, &age).await;
    shop.server.restart().await;
    let refused = eventually("the removal is forgotten", TIMEOUT, async || {
        let answer = shop.api.get(&format!("{CHANGES}?after={start}")).await;
        if answer.status == 200 {
            Err("not yet")
        } else {
            Ok(answer)
        }
    })
    .await;
    let oldest = refused.refused(410, "listing_changes_expired")["details"]["oldest"].take();
    let oldest = oldest.as_i64().expect("details.oldest is a number");
    assert!(oldest > start, "{oldest} {start}");
    // No request waits for a change that cannot come.
    let asked = Instant::now();
    let waiting = shop.api.get(&format!("{CHANGES}?after={start}&wait=30")).await;
    waiting.refused(410, "listing_changes_expired");
    assert!(asked.elapsed() < WAIT, "{:?}", asked.elapsed());
    for from in [0, oldest] {
        assert_eq!(after(&shop, from).await.shown(), [("upsert", second)], "after {from}");
    }
    if python {
        client(&shop, &token, "--once").await;
        assert_eq!(dumped(&shop, &token, "once.db").await, listed(&shop.api).await);
    }
}

async fn businesses_are_apart(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    let (path, id) = published(&shop, &json!({})).await;
    let (_, other) = published(&shop, &json!({})).await;
    shop.api.delete(&path).await.ok();
    for query in ["", "after=0", "after=0&per_page=500"] {
        let page = changes(&rival, query).await;
        assert_eq!((page.entries.len(), page.more), (0, false), "{query}");
    }
    let beyond = rival.get(&format!("{CHANGES}?after=1")).await;
    beyond.refused(410, "listing_changes_expired");
    let vehicle = rival.post("/2.0/vehicles", &car(&json!({}))).await.created();
    let channels = format!("/2.0/vehicles/{}/channels", vehicle["id"]);
    let before = latest(&shop).await;
    rival.put(&channels, &json!({"channels": ["website"]})).await.ok();
    let theirs = changes(&rival, "").await;
    assert_eq!(theirs.shown(), [("upsert", vehicle["id"].as_i64().unwrap())]);
    assert_eq!(latest(&shop).await, before, "each business counts for itself");
    assert_eq!(after(&shop, 0).await.shown(), [("upsert", other)]);
    assert_ne!(id, other);
}

/// Some vehicles, and the actions on them.
struct Stock {
    random: Random,
    vehicles: Vec<(String, bool)>,
}

impl Stock {
    fn new(seed: u64) -> Self {
        Self {
            random: Random(seed),
            vehicles: Vec::new(),
        }
    }

    /// Creates, changes, publishes, unpublishes or deletes one.
    async fn change(&mut self, shop: &Shop) {
        let choice = self.random.below(12);
        if self.vehicles.is_empty() || choice < 3 {
            let (path, _) = published(shop, &json!({})).await;
            self.vehicles.push((path, true));
            return;
        }
        let place = self.random.below(self.vehicles.len());
        let price = 5_000 + self.random.below(20);
        let (path, on) = &mut self.vehicles[place];
        match choice {
            3..=6 => {
                let body = json!({"data": {"stock": {"price_website": price}}});
                shop.api.patch(path, &body).await.ok();
            }
            7 => {
                let body = json!({"data": {"stock": {"notes": format!("Seen for {price}")}}});
                shop.api.patch(path, &body).await.ok();
            }
            8..=10 => {
                *on = !*on;
                let channels = if *on { json!(["website"]) } else { json!([]) };
                put_on(shop, path, channels).await;
            }
            _ => {
                shop.api.delete(path).await.ok();
                self.vehicles.swap_remove(place);
            }
        }
    }
}

async fn random_changes_leave_an_exact_copy(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut stock = Stock::new(0x5eed_cafe);
    let mut copies = vec![StockCopy::default()];
    for round in 0..300 {
        stock.change(&shop).await;
        if round % 50 == 49 {
            copies.push(StockCopy::default());
        }
        // Each copy advances page by page, in pages of its own size, while the stock changes between them.
        for (per_page, copy) in (1..).zip(&mut copies) {
            if stock.random.below(4) == 0 {
                copy.step(&shop.api, per_page).await;
            }
        }
        if round % 100 == 99 {
            copies[0].catch_up(&shop.api, 3).await;
            assert_eq!(copies[0].listings, listed(&shop.api).await, "round {round}");
        }
    }
    let listed = listed(&shop.api).await;
    assert!(listed.len() > 10, "{}", listed.len());
    for (place, copy) in copies.iter_mut().enumerate() {
        copy.catch_up(&shop.api, 7).await;
        assert!(copy.listings == listed, "copy {place} differs");
    }
}

async fn a_copy_made_while_others_write_is_exact(engine: Engine) {
    let shop = Shop::open(engine).await;
    let write = async |seed| {
        let mut stock = Stock::new(seed);
        for _ in 0..40 {
            stock.change(&shop).await;
        }
    };
    let mut copy = StockCopy::default();
    let follow = async {
        // This is long enough to read while they write; later changes are read below.
        let until = Instant::now() + Duration::from_secs(3);
        while Instant::now() < until {
            copy.step(&shop.api, 5).await;
        }
    };
    tokio::join!(Box::pin(follow), write(11), write(22), write(33), write(44));
    copy.catch_up(&shop.api, 5).await;
    assert_eq!(copy.listings, listed(&shop.api).await);
}

/// The server is killed repeatedly while the stock changes; a copy that follows the changes, and those of the guide's client,
/// then equal the server's listings.
async fn copies_are_exact_after_crashes(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let token = shop.business.key("listings:read").await.token;
    let python = has_python().await;
    let mut vehicles = Vec::new();
    for _ in 0..20 {
        vehicles.push(published(&shop, &json!({})).await.0);
    }
    let mut copy = StockCopy::default();
    let crashes = repeated(CRASHES);
    for crash in 0..crashes {
        let (answered, mut answers) = mpsc::unbounded_channel();
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let (client, vehicles, answered) = (shop.api.clone(), vehicles.clone(), answered.clone());
            let mut random = Random(0x5eed + (crash * WRITERS + writer) as u64 * 0x9e37_79b9);
            writers.spawn(async move {
                for _ in 0..CHANGES_PER_CRASH / WRITERS {
                    let path = &vehicles[random.below(vehicles.len())];
                    let price = 5_000 + random.below(20);
                    let (method, path, body) = match random.below(4) {
                        0 => ("PUT", format!("{path}/channels"), json!({"channels": []})),
                        1 => ("PUT", format!("{path}/channels"), json!({"channels": ["website"]})),
                        _ => (
                            "PATCH",
                            path.clone(),
                            json!({"data": {"stock": {"price_website": price}}}),
                        ),
                    };
                    if client.request(method, &path).json(&body).attempt().await.is_err() {
                        break;
                    }
                    // The counter has ended if the server was killed.
                    answered.send(()).unwrap_or_default();
                }
            });
        }
        drop(answered);
        // Each time at another moment.
        for answer in 0..CHANGES_PER_CRASH * (crash % CRASHES + 1) / (CRASHES + 1) {
            answers.recv().await;
            if answer % 10 == 9 {
                copy.step(&shop.api, 3).await;
            }
        }
        shop.server.kill9().await;
        shop.server.restart().await;
        drop(answers);
        writers.join_all().await;
        let listed = listed(&shop.api).await;
        copy.catch_up(&shop.api, 7).await;
        assert_eq!(copy.listings, listed, "after crash {crash}");
        for (mode, database) in [("--once", "once.db"), ("--delta", "delta.db")] {
            if python {
                client(&shop, &token, mode).await;
                assert_eq!(
                    dumped(&shop, &token, database).await,
                    listed,
                    "{mode} after crash {crash}"
                );
            }
        }
    }
}

/// Returns true if Python is on this machine. If it is missing, that is reported.
#[expect(
    clippy::print_stderr,
    reason = "a skipped check is to be seen by the person who runs the tests"
)]
async fn has_python() -> bool {
    let mut command = Command::new("python3");
    let command = command
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let there = command.status().await.is_ok_and(|status| status.success());
    if !there {
        eprintln!("python3 is not on this machine: docs/examples/sync.py was not run");
    }
    there
}

fn client_command(shop: &Shop, token: &str, database: &str, mode: Option<&str>) -> Command {
    let mut command = Command::new("python3");
    command
        .arg(CLIENT)
        .args([shop.server.base_url().as_str(), database])
        .args(mode)
        .current_dir(shop.installation().folder())
        .env("FORECOURT_TOKEN", token)
        .env("no_proxy", "*")
        .kill_on_drop(true)
        .stdin(Stdio::null());
    command
}

/// Runs the client in a mode that ends by itself, with a copy for the mode.
async fn client(shop: &Shop, token: &str, mode: &str) {
    let database = format!("{}.db", mode.trim_start_matches('-'));
    let output = client_command(shop, token, &database, Some(mode))
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{mode}: {output:?}");
    assert!(output.stdout.is_empty(), "{mode}: {output:?}");
}

/// Returns the content of one of the client's copies, by id.
async fn dumped(shop: &Shop, token: &str, database: &str) -> BTreeMap<i64, Value> {
    let output = client_command(shop, token, database, Some("--dump"))
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let listings: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<i64> = listings.iter().map(|listing| listing["id"].as_i64().unwrap()).collect();
    assert!(ids.is_sorted_by(|one, other| one < other), "{ids:?}");
    ids.into_iter().zip(listings).collect()
}

async fn the_client_of_the_guide_keeps_an_exact_copy(engine: Engine) {
    if !has_python().await {
        return;
    }
    let shop = Shop::open(engine).await;
    let token = shop.business.key("listings:read").await.token;
    let mut stock = Stock::new(77);
    for round in 0..6 {
        for mode in ["--once", "--delta"] {
            client(&shop, &token, mode).await;
        }
        let listed = listed(&shop.api).await;
        for database in ["once.db", "delta.db"] {
            let copy = dumped(&shop, &token, database).await;
            assert_eq!(copy, listed, "{database} after round {round}");
        }
        // The fourth time nothing has changed.
        for _ in 0..if round == 3 { 0 } else { 15 } {
            stock.change(&shop).await;
        }
    }
}

async fn the_client_of_the_guide_follows(engine: Engine) {
    if !has_python().await {
        return;
    }
    let mut shop = Shop::open(engine).await;
    let token = shop.business.key("listings:read").await.token;
    let place = shop.installation().folder().join("follower");
    let job = Job::start(client_command(&shop, &token, "followed.db", None), &place);
    let mut stock = Stock::new(99);
    for round in 0..3 {
        for _ in 0..15 {
            stock.change(&shop).await;
        }
        let listed = listed(&shop.api).await;
        eventually("the copy is up to date", TIMEOUT, async || {
            let copy = dumped(&shop, &token, "followed.db").await;
            if copy == listed {
                Ok(())
            } else {
                Err((copy.len(), listed.len(), job.stderr()))
            }
        })
        .await;
        if round == 1 {
            shop.server.restart().await;
        }
    }
}
