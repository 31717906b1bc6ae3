//! The ready-made feeds of listings, the fields that a listing lacks for them, and the command that rebuilds listings.
//!
//! Each feed has requirements of its own; these tests hold whether or not a listing meets them.

use std::collections::BTreeSet;

use harness::{Engine, Installation, Shop, both_engines};
use serde_json::{Value, json};

use crate::listing_changes::{CHANGES, LISTINGS, StockCopy, car, execute, id_of, listing, published, put_on};
use crate::vehicles_record::path;

both_engines! {
    four_feeds_are_listed
    a_feed_has_its_content_type_and_its_tables_are_regular
    a_feed_holds_the_listings_that_are_ready_for_it
    a_feed_is_sent_only_when_something_has_changed
    readiness_names_what_is_missing
    a_vehicle_that_is_not_listed_has_no_readiness
    nothing_else_reaches_a_feed
    what_looks_like_a_formula_is_neutralised
    quotes_commas_and_lines_stay_in_their_cells
    businesses_are_apart
    a_rebuild_finds_no_difference
    a_rebuild_mends_what_differs
    a_rebuild_leaves_a_server_nothing_to_make
    a_rebuild_beside_a_server_changes_nothing
    a_rebuild_of_an_unknown_business_fails
}

const FEEDS: &str = "/2.0/feeds";
const TYPES: [(&str, &str); 4] = [
    ("google", "text/tab-separated-values"),
    ("meta", "text/csv"),
    ("schema-org", "application/ld+json"),
    ("csv", "text/csv"),
];

/// Returns the text of a feed.
async fn feed(shop: &Shop, name: &str) -> String {
    let answer = shop.api.get(&format!("{FEEDS}/{name}")).await;
    assert_eq!(answer.status, 200, "{name}: {answer:?}");
    answer.text().to_owned()
}

async fn readiness(shop: &Shop, id: i64) -> Value {
    shop.api.get(&format!("{LISTINGS}/{id}/readiness")).await.ok()["feeds"].take()
}

/// Returns true if a listing is ready for a feed.
async fn is_ready(shop: &Shop, id: i64, name: &str) -> bool {
    let feeds = readiness(shop, id).await;
    let feed = feeds.as_array().unwrap().iter().find(|feed| feed["name"] == name);
    feed.unwrap()["ready"].as_bool().unwrap()
}

/// Returns the number of listings that are ready for a feed, and of those that are not.
async fn counts(shop: &Shop, name: &str) -> (i64, i64) {
    let feeds = shop.api.get(FEEDS).await.ok();
    let feed = feeds.as_array().unwrap().iter().find(|feed| feed["name"] == name);
    let feed = feed.unwrap();
    (feed["ready"].as_i64().unwrap(), feed["not_ready"].as_i64().unwrap())
}

/// Returns the rows of a table, its header first: the cells of RFC 4180, with this separator.
fn rows(text: &str, separator: char) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut characters = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if cell.is_empty() => quoted = true,
            _ if quoted => cell.push(character),
            '\n' => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            '\r' if characters.peek() == Some(&'\n') => {}
            _ if character == separator => row.push(std::mem::take(&mut cell)),
            _ => cell.push(character),
        }
    }
    assert!(!quoted, "a quote is closed: {text}");
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    rows
}

/// Returns the three feeds that are tables, with their rows.
async fn tables(shop: &Shop) -> Vec<(&'static str, Vec<Vec<String>>)> {
    let mut tables = Vec::new();
    for (name, separator) in [("google", '\t'), ("meta", ','), ("csv", ',')] {
        tables.push((name, rows(&feed(shop, name).await, separator)));
    }
    tables
}

async fn four_feeds_are_listed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let all = async |ready_or_not: i64| {
        let feeds = shop.api.get(FEEDS).await.ok();
        let feeds = feeds.as_array().unwrap().clone();
        let names: BTreeSet<&str> = feeds.iter().map(|feed| feed["name"].as_str().unwrap()).collect();
        assert_eq!((feeds.len(), names), (4, TYPES.map(|(name, _)| name).into()));
        for feed in &feeds {
            let members: Vec<&String> = feed.as_object().unwrap().keys().collect();
            assert_eq!(members, ["name", "content_type", "ready", "not_ready"]);
            let (ready, not) = (feed["ready"].as_i64().unwrap(), feed["not_ready"].as_i64().unwrap());
            assert!(ready >= 0 && not >= 0, "{feed}");
            assert_eq!(ready + not, ready_or_not, "{feed}");
        }
    };
    all(0).await;
    let (first, _) = published(&shop, &json!({})).await;
    let (second, _) = published(&shop, &json!({"setting": {"poa": "Yes"}})).await;
    path(&shop, &car(&json!({}))).await;
    all(2).await;
    put_on(&shop, &first, json!([])).await;
    all(1).await;
    shop.api.delete(&second).await.ok();
    all(0).await;
    shop.api
        .post(FEEDS, &json!({}))
        .await
        .refused(405, "method_not_allowed");
}

async fn a_feed_has_its_content_type_and_its_tables_are_regular(engine: Engine) {
    let shop = Shop::open(engine).await;
    for round in 0..2 {
        let listed = shop.api.get(FEEDS).await.ok();
        for (name, expected) in TYPES {
            let answer = shop.api.get(&format!("{FEEDS}/{name}")).await;
            assert_eq!(answer.status, 200, "{name}");
            let kind = answer.header("Content-Type").unwrap();
            assert!(kind.starts_with(expected), "{name}: {kind}");
            let entry = listed.as_array().unwrap().iter().find(|feed| feed["name"] == name);
            assert_eq!(entry.unwrap()["content_type"], kind, "{name}");
        }
        let graph: Value = serde_json::from_str(&feed(&shop, "schema-org").await).unwrap();
        assert!(graph.to_string().contains("schema.org"), "{graph}");
        for (name, rows) in tables(&shop).await {
            let (ready, _) = counts(&shop, name).await;
            assert_eq!(
                rows.len(),
                usize::try_from(ready).unwrap() + 1,
                "{name}: a header and a row for each listing"
            );
            let width = rows[0].len();
            assert!(
                width > 3 && rows[0].iter().all(|title| !title.is_empty()),
                "{name}: {:?}",
                rows[0]
            );
            assert!(rows.iter().all(|row| row.len() == width), "{name}: {rows:?}");
        }
        if round == 0 {
            for _ in 0..3 {
                published(&shop, &json!({})).await;
            }
        }
    }
}

async fn a_feed_holds_the_listings_that_are_ready_for_it(engine: Engine) {
    let shop = Shop::open(engine).await;
    let sparse = json!({"vehicle": {"fuel": null, "body": null, "colour": null, "transmission": null, "mileage": null},
                        "history": {"year": null}});
    let mut ids = Vec::new();
    for data in [json!({}), json!({"setting": {"poa": "Yes"}}), sparse, json!({})] {
        ids.push(published(&shop, &data).await.1);
    }
    let (gone, hidden) = published(&shop, &json!({})).await;
    let address = listing(&shop, hidden).await["url_full"].as_str().unwrap().to_owned();
    put_on(&shop, &gone, json!([])).await;
    for (name, _) in TYPES {
        let text = feed(&shop, name).await;
        assert!(
            !text.contains(&address),
            "{name} has nothing of what is not listed: {text}"
        );
        let mut ready = 0;
        for &id in &ids {
            let is_ready = is_ready(&shop, id, name).await;
            let address = listing(&shop, id).await["url_full"].as_str().unwrap().to_owned();
            assert_eq!(text.contains(&address), is_ready, "{name} {id}: {text}");
            ready += i64::from(is_ready);
        }
        let total = i64::try_from(ids.len()).unwrap();
        assert_eq!(counts(&shop, name).await, (ready, total - ready), "{name}");
    }
}

async fn a_feed_is_sent_only_when_something_has_changed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, _) = published(&shop, &json!({})).await;
    for (name, _) in TYPES {
        let address = format!("{FEEDS}/{name}");
        let known = async |tag: &str| {
            let request = shop.api.request("GET", &address);
            request.header("If-None-Match", tag).send().await
        };
        let tag = async || {
            let answer = shop.api.get(&address).await;
            assert_eq!(answer.header("Cache-Control"), Some("private, no-cache"), "{name}");
            answer.header("ETag").unwrap().to_owned()
        };
        let mut before = tag().await;
        assert!(before.starts_with('"'), "it is strong: {before}");
        let same = known(&before).await;
        assert_eq!(
            (same.status, same.text(), same.header("ETag")),
            (304, "", Some(before.as_str())),
            "{name}"
        );
        for several in [format!("\"x\", {before}"), format!("W/{before}"), "*".to_owned()] {
            assert_eq!(known(&several).await.status, 304, "{name} {several}");
        }
        assert_eq!(known("\"x\"").await.status, 200);
        let notes = json!({"data": {"stock": {"notes": format!("Shown to {name}")}}});
        shop.api.patch(&path, &notes).await.ok();
        assert_eq!(known(&before).await.status, 304, "nothing of it is shown: {name}");
        for (method, below, body) in [
            (
                "PATCH",
                "",
                json!({"data": {"vehicle": {"derivative": format!("For {name}")}}}),
            ),
            ("PUT", "/channels", json!({"channels": []})),
            ("PUT", "/channels", json!({"channels": ["website"]})),
        ] {
            let request = shop.api.request(method, &format!("{path}{below}"));
            request.json(&body).send().await.ok();
            assert_eq!(known(&before).await.status, 200, "{name} after {body}");
            let after = tag().await;
            assert_ne!(after, before, "{name} after {body}");
            before = after;
        }
    }
}

async fn readiness_names_what_is_missing(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (_, full) = published(&shop, &json!({})).await;
    let bare =
        json!({"data": {"vehicle": {"type": "Car", "make": "Ford", "model": "Focus"}, "setting": {"poa": "Yes"}}});
    let bare_path = path(&shop, &bare).await;
    put_on(&shop, &bare_path, json!(["website"])).await;
    let bare = id_of(&bare_path);
    let mut lacking = Vec::new();
    for id in [full, bare] {
        let feeds = readiness(&shop, id).await;
        let feeds = feeds.as_array().unwrap();
        let names: BTreeSet<&str> = feeds.iter().map(|feed| feed["name"].as_str().unwrap()).collect();
        assert_eq!((feeds.len(), names), (4, TYPES.map(|(name, _)| name).into()));
        for feed in feeds {
            let members: Vec<&String> = feed.as_object().unwrap().keys().collect();
            assert_eq!(members, ["name", "ready", "missing"]);
            let missing = feed["missing"].as_array().unwrap();
            assert_eq!(feed["ready"], missing.is_empty(), "{feed}");
            for fault in missing {
                let members: Vec<&String> = fault.as_object().unwrap().keys().collect();
                assert_eq!(members, ["field", "reason"]);
                let says = |name: &str| fault[name].as_str().is_some_and(|text| !text.is_empty());
                assert!(says("field") && says("reason"), "{fault}");
            }
        }
        let faults = |feed: &Value| feed["missing"].as_array().unwrap().len();
        lacking.push(feeds.iter().map(faults).sum::<usize>());
    }
    assert!(lacking[1] > lacking[0], "the barer advert lacks more: {lacking:?}");
    // A field that has been added is no longer reported as missing.
    let rest = json!({"data": {"vehicle": {"fuel": "Petrol", "body": "Hatchback", "colour": "Red", "transmission": "Manual",
                                           "mileage": 41_000},
                               "history": {"year": 2019}, "stock": {"price_website": 9995}, "setting": {"poa": "No"}}});
    shop.api.patch(&bare_path, &rest).await.ok();
    assert_eq!(readiness(&shop, bare).await, readiness(&shop, full).await);
}

async fn a_vehicle_that_is_not_listed_has_no_readiness(engine: Engine) {
    let shop = Shop::open(engine).await;
    let draft = path(&shop, &car(&json!({}))).await;
    let (off, _) = published(&shop, &json!({})).await;
    put_on(&shop, &off, json!(["platform_a"])).await;
    let (deleted, _) = published(&shop, &json!({})).await;
    shop.api.delete(&deleted).await.ok();
    let known = [draft, off, deleted].map(|path| id_of(&path).to_string());
    let none = ["0", "x", "99999999", "-1", "1.5"].map(str::to_owned);
    for id in known.into_iter().chain(none) {
        shop.api
            .get(&format!("{LISTINGS}/{id}/readiness"))
            .await
            .refused(404, "listing_not_found");
    }
}

async fn nothing_else_reaches_a_feed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = json!({"name": "Secret Person"});
    let contact = shop.api.post("/2.0/contacts", &contact).await.created()["id"].clone();
    let secrets = json!({
        "stock": {"notes": "SECRET", "reference": "SECRET", "number": "SECRET", "key_number": "SECRET", "origin": "SECRET",
                  "engine_number": "SECRET", "funding_provider_id": contact, "price_reserve": 9_753_101, "price_channel": 9_753_102,
                  "price_auction_reserve": 9_753_103, "due_in_date": "2020-07-31",
                  "purchase_cost_data": [{"type": "SECRET", "supplier": "SECRET", "cost": 9_753_105, "vat": 0, "invoice": "SECRET",
                                          "reference": "SECRET", "date": "2020-07-31"}]},
        "history": {"service_note": "SECRET", "v5": "Yes"},
        "vehicle": {"group": "SECRET"},
    });
    let (path, id) = published(&shop, &secrets).await;
    shop.api.patch(&path, &json!({"owner": "1"})).await.ok();
    // The removal of such a listing is an entry too.
    let mut others = secrets;
    others["stock"]["number"] = "SECRET 2".into();
    others["stock"]["reference"] = "SECRET 2".into();
    let (gone, _) = published(&shop, &others).await;
    let start = shop.api.get(CHANGES).await.json()["meta"]["last_sequence"].clone();
    shop.api.delete(&gone).await.ok();
    let mut paths = vec![
        FEEDS.to_owned(),
        CHANGES.to_owned(),
        format!("{CHANGES}?after={start}"),
        format!("{LISTINGS}/{id}/readiness"),
    ];
    paths.extend(TYPES.map(|(name, _)| format!("{FEEDS}/{name}")));
    for path in paths {
        let answer = shop.api.get(&path).await;
        assert_eq!(answer.status, 200, "{path}");
        let text = answer.text();
        for secret in ["SECRET", "Secret", "975310", "2020-07", "purchase", "funding"] {
            assert!(!text.contains(secret), "{path} {secret}: {text}");
        }
    }
}

async fn what_looks_like_a_formula_is_neutralised(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut ids = Vec::new();
    for text in ["=cmd|' /C calc'!A0", "+SUM(1;2)", "-1+marker", "@SUM(marker)"] {
        let data = json!({"vehicle": {"make": text, "model": text, "derivative": text, "trim": text},
                          "option": {"attention": text, "description": format!("\t{text}"), "website": text}});
        ids.push(published(&shop, &data).await.1);
    }
    for (name, rows) in tables(&shop).await {
        for cell in rows.iter().skip(1).flatten() {
            let begins = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
            assert!(!begins || cell.parse::<f64>().is_ok(), "{name}: {cell:?}");
        }
        if is_ready(&shop, ids[0], name).await {
            let found = rows.iter().flatten().any(|cell| cell.contains("cmd|"));
            assert!(found, "{name} still has the text: {rows:?}");
        }
    }
}

async fn quotes_commas_and_lines_stay_in_their_cells(engine: Engine) {
    let shop = Shop::open(engine).await;
    let odd = "Special \"R\", 5;door <b>&amp; Zoë's 🚗";
    let data = json!({"vehicle": {"model": odd}, "option": {"attention": "One, \"two\"", "description": "</script> A line,\nand\tone \"more\"\r\nend"}});
    let (_, id) = published(&shop, &data).await;
    let (_, other) = published(&shop, &json!({})).await;
    for (name, rows) in tables(&shop).await {
        let width = rows[0].len();
        assert!(rows.iter().all(|row| row.len() == width), "{name}: {rows:?}");
        for id in [id, other] {
            let address = listing(&shop, id).await["url_full"].clone();
            let found = rows.iter().flatten().any(|cell| address == cell.as_str());
            assert_eq!(
                found,
                is_ready(&shop, id, name).await,
                "{name}: the address is a cell of its own"
            );
        }
    }
    // The text is part of a web page, where this would end the script around it.
    let graph = feed(&shop, "schema-org").await;
    assert!(!graph.contains("</script"), "{graph}");
    serde_json::from_str::<Value>(&graph).unwrap();
}

async fn businesses_are_apart(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (_, id) = published(&shop, &json!({})).await;
    let rival = shop.rival().await;
    let feeds = rival.get(FEEDS).await.ok();
    for feed in feeds.as_array().unwrap() {
        assert_eq!((&feed["ready"], &feed["not_ready"]), (&json!(0), &json!(0)), "{feed}");
    }
    rival
        .get(&format!("{LISTINGS}/{id}/readiness"))
        .await
        .refused(404, "listing_not_found");
    let tag = listing(&shop, id).await["tag"].as_str().unwrap().to_owned();
    for (name, _) in TYPES {
        let (theirs, ours) = (
            rival.get(&format!("{FEEDS}/{name}")).await,
            shop.api.get(&format!("{FEEDS}/{name}")).await,
        );
        for shown in ["acme", "Focus", tag.as_str()] {
            assert!(!theirs.text().contains(shown), "{name} {shown}: {}", theirs.text());
        }
        assert_ne!(theirs.header("ETag"), ours.header("ETag"), "{name}");
    }
}

/// Rebuilds the listings of a business; returns the report of the command.
async fn rebuilt(installation: &Installation) -> Value {
    let arguments = ["listings", "rebuild", "--business", "acme", "--json"];
    installation.run(arguments).await.json()
}

/// Returns the differences of a report, by id.
fn differences(report: &Value) -> BTreeSet<(i64, &str)> {
    let differences = report["differences"].as_array().unwrap();
    let pair = |difference: &'_ Value| difference["id"].as_i64();
    let ids = differences.iter().filter_map(pair);
    let found = differences.iter().filter_map(|difference| difference["found"].as_str());
    ids.zip(found).collect()
}

async fn a_rebuild_finds_no_difference(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    for _ in 0..2 {
        published(&shop, &json!({})).await;
    }
    path(&shop, &car(&json!({}))).await;
    let manifest = shop.api.get("/2.0/listings/manifest").await;
    let tag = manifest.header("ETag").unwrap().to_owned();
    assert!(shop.server.terminate().await.success());
    for _ in 0..2 {
        let report = rebuilt(shop.installation()).await;
        assert_eq!(
            report,
            json!({"business": "acme", "vehicles": 3, "listed": 2, "differences": []})
        );
    }
    let text = shop.installation().run(["listings", "rebuild"]).await.succeeded();
    assert!(
        text.contains("acme") && text.contains('3') && text.contains('0'),
        "it says how many vehicles there are and how many listings differ: {text}"
    );
    shop.server.restart().await;
    let after = shop.api.get("/2.0/listings/manifest").await;
    assert_eq!(
        (after.json(), after.header("ETag")),
        (manifest.json(), Some(tag.as_str()))
    );
}

async fn a_rebuild_leaves_a_server_nothing_to_make(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let (_, id) = published(&shop, &json!({})).await;
    let is_there = async |shop: &Shop| shop.api.get(&format!("{LISTINGS}/{id}")).await.status == 200;
    // The state after vehicles were loaded into a business that was changed some time ago.
    let to_be_made = "DELETE FROM listing_builds; UPDATE businesses SET updated = updated - 3600;";
    for rebuilds in [false, true] {
        assert!(shop.server.terminate().await.success());
        execute(shop.installation(), engine, to_be_made).await;
        if rebuilds {
            rebuilt(shop.installation()).await;
        }
        execute(shop.installation(), engine, "DELETE FROM listings").await;
        shop.server.restart().await;
        shop.server.until_background_rests().await;
        assert_ne!(is_there(&shop).await, rebuilds);
    }
}

async fn a_rebuild_mends_what_differs(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(published(&shop, &json!({})).await.1);
    }
    let draft = id_of(&path(&shop, &car(&json!({}))).await);
    let (stale, missing, moved, intact) = (ids[0], ids[1], ids[2], ids[3]);
    let mut before = Vec::new();
    for &id in &ids {
        before.push(listing(&shop, id).await);
    }
    let mut copy = StockCopy::default();
    copy.catch_up(&shop.api, 50).await;
    assert!(shop.server.terminate().await.success());
    let damage = format!(
        "UPDATE listings SET json = replace(json, 'Ford', 'Lada') WHERE id = {stale};
         DELETE FROM listings WHERE id = {missing};
         UPDATE listings SET id = {draft} WHERE id = {moved};"
    );
    execute(shop.installation(), engine, &damage).await;

    let report = rebuilt(shop.installation()).await;
    let expected = [
        (stale, "stale"),
        (missing, "missing"),
        (moved, "missing"),
        (draft, "extra"),
    ];
    assert_eq!(differences(&report), expected.into(), "{report}");
    assert_eq!(
        (&report["business"], &report["vehicles"], &report["listed"]),
        (&json!("acme"), &json!(5), &json!(4))
    );
    assert!(differences(&rebuilt(shop.installation()).await).is_empty());

    shop.server.restart().await;
    for (id, mut was) in ids.iter().copied().zip(before) {
        let mut is = listing(&shop, id).await;
        if id != intact {
            // A copy has to learn of the change.
            for listing in [&mut is, &mut was] {
                listing["updated"].take();
            }
        }
        assert_eq!(is, was, "{id}");
    }
    shop.api
        .get(&format!("{LISTINGS}/{draft}"))
        .await
        .refused(404, "listing_not_found");
    copy.catch_up(&shop.api, 50).await;
    let walked = shop.api.walk(&format!("{LISTINGS}?per_page=500&cursor=")).await;
    assert_eq!(walked.len(), 4);
    for listing in walked {
        let id = listing["id"].as_i64().unwrap();
        assert_eq!(copy.listings.remove(&id), Some(listing), "copies are mended too");
    }
    assert!(copy.listings.is_empty(), "{:?}", copy.listings);
}

async fn a_rebuild_beside_a_server_changes_nothing(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, id) = published(&shop, &json!({})).await;
    let before = listing(&shop, id).await;
    let report = rebuilt(shop.installation()).await;
    assert!(differences(&report).is_empty(), "{report}");
    assert_eq!(listing(&shop, id).await, before);
    let body = json!({"data": {"vehicle": {"colour": "Blue"}}});
    shop.api.patch(&path, &body).await.ok();
    assert!(differences(&rebuilt(shop.installation()).await).is_empty());
    assert_ne!(listing(&shop, id).await["hash"], before["hash"]);
}

async fn a_rebuild_of_an_unknown_business_fails(engine: Engine) {
    let installation = Installation::new(engine).await;
    installation.run(["migrate"]).await.succeeded();
    installation
        .run(["listings", "rebuild", "--business", "nobody", "--json"])
        .await
        .failed_naming("nobody");
}
