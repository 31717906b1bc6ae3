//! The vehicles that a lead concerns: named with a new lead, associated, listed, removed, and searched for from both sides.

use std::collections::BTreeMap;

use harness::{Answer, Client, Engine, Installation, Shop, acme, both_engines, now};
use serde_json::{Value, json};

both_engines! {
    a_vehicle_is_associated_by_its_id_or_its_tag
    little_is_shown_of_a_vehicle_of_which_little_is_known
    what_names_no_vehicle_is_refused
    a_vehicle_is_associated_once
    of_simultaneous_associations_one_is_made
    of_simultaneous_associations_on_two_servers_one_is_made
    a_retry_gets_the_same_answer
    a_new_lead_names_its_vehicle
    a_new_lead_that_names_no_vehicle_is_not_made
    a_change_ignores_vehicles
    a_vehicle_is_taken_off
    leads_are_found_by_their_vehicle
    vehicles_are_found_by_their_lead
    associations_are_changes_of_the_lead
    a_lead_shows_its_vehicles_in_their_order
    a_deleted_vehicle_leaves_its_leads
    a_deleted_lead_leaves_its_vehicles
    other_businesses_have_no_part_in_it
}

const LEADS: &str = "/2.0/leads";
const VEHICLES: &str = "/2.0/vehicles";

/// Creates a vehicle from this body; returns its id and its tag.
async fn vehicle(api: &Client, body: &Value) -> (i64, String) {
    let vehicle = api.post(VEHICLES, body).await.created();
    (
        vehicle["id"].as_i64().unwrap(),
        vehicle["tag"].as_str().unwrap().to_owned(),
    )
}

/// Creates `count` vehicles without data; returns their ids, oldest first.
async fn vehicles(api: &Client, count: usize) -> Vec<i64> {
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(vehicle(api, &json!({})).await.0);
    }
    ids
}

/// Returns the path to a new lead's vehicles.
async fn lead(shop: &Shop) -> String {
    format!("{}/vehicles", shop.lead_path("Ann").await)
}

async fn associate(api: &Client, lead: &str, vehicle: i64) -> Answer {
    api.post(lead, &json!({"vehicle": vehicle})).await
}

/// Returns the ids of a lead's vehicles, in the order of their list.
async fn listed(api: &Client, lead: &str) -> Vec<i64> {
    let list = api.list(lead).await;
    let ids: Vec<_> = list.items.iter().filter_map(|item| item["vehicle"].as_i64()).collect();
    assert_eq!(list.pagination["total"], ids.len(), "{list:?}");
    ids
}

/// Returns the names of the leads that concern a vehicle, newest first.
async fn asking_for(api: &Client, vehicle: i64) -> Vec<Value> {
    let list = api.list(&format!("{LEADS}?vehicle={vehicle}")).await;
    assert_eq!(list.pagination["total"], list.items.len(), "{list:?}");
    list.column("name")
}

/// Returns the number in a path such as `/2.0/leads/7/vehicles`.
fn number(path: &str) -> i64 {
    path.split('/').find_map(|part| part.parse().ok()).unwrap()
}

async fn a_vehicle_is_associated_by_its_id_or_its_tag(engine: Engine) {
    let shop = Shop::open(engine).await;
    let golf = json!({
        "type": "in-stock", "registration": "ab12cde",
        "data": {"vehicle": {"make": "Volkswagen", "model": "Golf", "derivative": "1.5 TSI Match"},
                 "history": {"year": 2021}},
    });
    let (id, tag) = vehicle(&shop.api, &golf).await;
    let stored = shop.api.get(&format!("{VEHICLES}/{id}")).await.ok();
    let by_tag = |text: String| json!({"vehicle_tag": text});
    for body in [json!({"vehicle": id}), by_tag(tag.clone()), by_tag(tag.to_lowercase())] {
        let lead = lead(&shop).await;
        let start = now();
        let associated = shop.api.post(&lead, &body).await.ok();
        let created = associated["created"].as_i64().unwrap();
        assert!((start..=now()).contains(&created));
        let expected = json!({
            "lead": number(&lead), "vehicle": id, "tag": tag, "registration": "AB12 CDE", "type": "in-stock",
            "name": "Volkswagen Golf 1.5 TSI Match", "url": stored["url"], "url_full": stored["url_full"],
            "created": created,
        });
        assert_eq!(associated, expected);
        assert_eq!(shop.api.list(&lead).await.items, [expected]);
    }
    assert!(
        stored["url_full"]
            .as_str()
            .unwrap()
            .starts_with("https://acme.example/")
    );
}

async fn little_is_shown_of_a_vehicle_of_which_little_is_known(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (lead, (id, tag)) = (
        lead(&shop).await,
        vehicle(&shop.api, &json!({"type": "customer"})).await,
    );
    let mut associated = associate(&shop.api, &lead, id).await.ok();
    let stored = shop.api.get(&format!("{VEHICLES}/{id}")).await.ok();
    associated["created"].take();
    let expected = json!({
        "lead": number(&lead), "vehicle": id, "tag": tag, "registration": null, "type": "customer", "name": "",
        "url": stored["url"], "url_full": stored["url_full"], "created": null,
    });
    assert_eq!(associated, expected);
}

async fn what_names_no_vehicle_is_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    let lead = lead(&shop).await;
    let (id, tag) = vehicle(&shop.api, &json!({})).await;
    let (gone, gone_tag) = vehicle(&shop.api, &json!({})).await;
    shop.api.delete(&format!("{VEHICLES}/{gone}")).await.ok();
    // Tags are unique only within a business, so the shop does not have the rival's third one.
    vehicles(&rival, 2).await;
    let (theirs, their_tag) = vehicle(&rival, &json!({})).await;
    for (body, field) in [
        (json!({}), "vehicle"),
        (json!({"vehicle": null, "vehicle_tag": null}), "vehicle"),
        (json!({"vehicle_tag": ""}), "vehicle"),
        (json!({"vehicle": "x"}), "vehicle"),
        (json!({"vehicle": 1.5}), "vehicle"),
        (json!({"vehicle": 0}), "vehicle"),
        (json!({"vehicle": -1}), "vehicle"),
        (json!({"vehicle": 987_654_321}), "vehicle"),
        (json!({"vehicle": gone}), "vehicle"),
        (json!({"vehicle": theirs}), "vehicle"),
        (json!({"vehicle_tag": 1}), "vehicle_tag"),
        (json!({"vehicle_tag": "nonsense"}), "vehicle_tag"),
        (json!({"vehicle_tag": "ZZZZZ"}), "vehicle_tag"),
        (json!({"vehicle_tag": "\0"}), "vehicle_tag"),
        (json!({"vehicle_tag": gone_tag}), "vehicle_tag"),
        (json!({"vehicle_tag": their_tag}), "vehicle_tag"),
        (json!({"vehicle": id, "vehicle_tag": tag}), "vehicle_tag"),
        (
            json!({"vehicle": 987_654_321, "vehicle_tag": "nonsense"}),
            "vehicle_tag",
        ),
    ] {
        let answer = shop.api.post(&lead, &body).await;
        answer.invalid(&[field]);
    }
    let request = shop.api.request("POST", &lead).body("[]");
    request.send().await.invalid(&["body"]);
    let request = shop.api.request("POST", &lead).body("{");
    request.send().await.refused(400, "json_invalid");
    assert!(listed(&shop.api, &lead).await.is_empty());
    // One of the two is enough if the other is empty.
    let body = json!({"vehicle": id, "vehicle_tag": null, "unknown": 1});
    shop.api.post(&lead, &body).await.ok();
}

async fn a_vehicle_is_associated_once(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (lead, other) = (lead(&shop).await, lead(&shop).await);
    let (id, tag) = vehicle(&shop.api, &json!({})).await;
    let first = associate(&shop.api, &lead, id).await.ok();
    for body in [json!({"vehicle": id}), json!({"vehicle_tag": tag})] {
        let again = shop.api.post(&lead, &body).await;
        again.refused(409, "lead_vehicle_duplicate");
    }
    assert_eq!(shop.api.list(&lead).await.items, [first]);
    associate(&shop.api, &other, id).await.ok();
    shop.api.delete(&format!("{lead}/{id}")).await.ok();
    associate(&shop.api, &lead, id).await.ok();
}

/// Sends the same association from every client at once, and asserts that one of them makes it.
async fn race(clients: Vec<Client>, lead: &str, vehicle: i64) {
    let tasks: Vec<_> = clients
        .iter()
        .cloned()
        .map(|client| {
            let lead = lead.to_owned();
            tokio::spawn(async move { associate(&client, &lead, vehicle).await })
        })
        .collect();
    let mut answers: BTreeMap<u16, usize> = BTreeMap::new();
    for task in tasks {
        let answer = task.await.unwrap();
        if answer.status != 200 {
            answer.refused(409, "lead_vehicle_duplicate");
        }
        *answers.entry(answer.status).or_default() += 1;
    }
    assert_eq!(answers, BTreeMap::from([(200, 1), (409, clients.len() - 1)]));
    assert_eq!(listed(&clients[0], lead).await, [vehicle]);
}

async fn of_simultaneous_associations_one_is_made(engine: Engine) {
    let shop = Shop::open(engine).await;
    for vehicle in vehicles(&shop.api, 3).await {
        race(vec![shop.api.clone(); 20], &lead(&shop).await, vehicle).await;
    }
}

async fn of_simultaneous_associations_on_two_servers_one_is_made(engine: Engine) {
    let installation = Installation::new(engine).await;
    let (one, other) = (installation.serve().start().await, installation.serve().start().await);
    let token = installation.business(&acme()).await.key("all").await.token;
    let (one, other) = (one.client(&token), other.client(&token));
    let vehicles = vehicles(&one, 1).await;
    let lead = one.post(LEADS, &json!({})).await.created();
    let clients = [one, other].into_iter().cycle().take(20).collect();
    race(clients, &format!("{LEADS}/{}/vehicles", lead["id"]), vehicles[0]).await;
}

async fn a_retry_gets_the_same_answer(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = lead(&shop).await;
    let ids = vehicles(&shop.api, 2).await;
    let send = async |method: &str, path: &str, key: &str, body: &Value| {
        let request = shop.api.request(method, path).key(key);
        let request = if body.is_null() { request } else { request.json(body) };
        request.send().await
    };
    let replayed = |first: &Answer, again: &Answer| {
        assert_eq!(again.header("X-Idempotent-Replay"), Some("true"));
        assert_eq!((again.status, again.text()), (first.status, first.text()));
    };
    let body = json!({"vehicle": ids[0]});
    let first = send("POST", &lead, "add", &body).await;
    first.ok();
    replayed(&first, &send("POST", &lead, "add", &body).await);
    let duplicate = send("POST", &lead, "add-again", &body).await;
    duplicate.refused(409, "lead_vehicle_duplicate");
    let path = format!("{lead}/{}", ids[0]);
    let removed = send("DELETE", &path, "remove", &Value::Null).await;
    removed.ok();
    replayed(&removed, &send("DELETE", &path, "remove", &Value::Null).await);
    // A refused request stays refused, and a successful one is not repeated.
    replayed(&duplicate, &send("POST", &lead, "add-again", &body).await);
    replayed(&first, &send("POST", &lead, "add", &body).await);
    assert!(listed(&shop.api, &lead).await.is_empty());
    let other = send("POST", &lead, "add", &json!({"vehicle": ids[1]})).await;
    other.refused(422, "idempotency_key_reused");

    let body = json!({"name": "Bea", "vehicle": ids[1]});
    let made = send("POST", LEADS, "new", &body).await;
    made.created();
    replayed(&made, &send("POST", LEADS, "new", &body).await);
    assert_eq!(asking_for(&shop.api, ids[1]).await, ["Bea"]);
}

async fn a_new_lead_names_its_vehicle(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (id, tag) = vehicle(&shop.api, &json!({"registration": "AB12 CDE"})).await;
    let mut named = Vec::new();
    for body in [
        json!({"name": "A", "vehicle": id}),
        json!({"name": "B", "vehicle_tag": tag}),
        json!({"name": "C", "vehicle_tag": tag.to_lowercase(), "vehicle": null}),
        json!({"name": "D", "vehicle": id, "vehicle_tag": ""}),
    ] {
        let lead = shop.lead(&body).await;
        let path = format!("{LEADS}/{}/vehicles", lead["id"]);
        let items = shop.api.list(&path).await.items;
        assert_eq!(
            (items.len(), &items[0]["vehicle"], &items[0]["lead"]),
            (1, &json!(id), &lead["id"])
        );
        associate(&shop.api, &path, id)
            .await
            .refused(409, "lead_vehicle_duplicate");
        named.insert(0, body["name"].clone());
    }
    shop.lead(&json!({"name": "E"})).await;
    assert_eq!(asking_for(&shop.api, id).await, named);
}

async fn a_new_lead_that_names_no_vehicle_is_not_made(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (id, tag) = vehicle(&shop.api, &json!({})).await;
    let (gone, gone_tag) = vehicle(&shop.api, &json!({})).await;
    shop.api.delete(&format!("{VEHICLES}/{gone}")).await.ok();
    for (body, fields) in [
        (json!({"vehicle": 987_654_321}), vec!["vehicle"]),
        (json!({"vehicle": gone}), vec!["vehicle"]),
        (json!({"vehicle_tag": "nonsense"}), vec!["vehicle_tag"]),
        (json!({"vehicle_tag": gone_tag}), vec!["vehicle_tag"]),
        (json!({"vehicle": id, "vehicle_tag": tag}), vec!["vehicle_tag"]),
        (
            json!({"vehicle": 987_654_321, "contact": 77}),
            vec!["vehicle", "contact"],
        ),
        (json!({"vehicle": 987_654_321, "site": 99}), vec!["vehicle", "site"]),
        (
            json!({"vehicle_tag": "nonsense", "site": 99, "contact": 77}),
            vec!["vehicle_tag", "site", "contact"],
        ),
    ] {
        shop.api.post(LEADS, &body).await.invalid(&fields);
    }
    assert!(shop.api.list(LEADS).await.items.is_empty());
}

async fn a_change_ignores_vehicles(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = lead(&shop).await;
    let (id, tag) = vehicle(&shop.api, &json!({})).await;
    let path = lead.strip_suffix("/vehicles").unwrap();
    for body in [
        json!({"vehicle": id}),
        json!({"vehicle_tag": tag}),
        json!({"vehicle": 987_654_321}),
    ] {
        shop.api.patch(path, &body).await.ok();
    }
    assert!(listed(&shop.api, &lead).await.is_empty());
}

async fn a_vehicle_is_taken_off(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (lead, other) = (lead(&shop).await, lead(&shop).await);
    let ids = vehicles(&shop.api, 3).await;
    for (lead, vehicle) in [(&lead, ids[0]), (&lead, ids[1]), (&other, ids[2])] {
        associate(&shop.api, lead, vehicle).await.ok();
    }
    let path = format!("{lead}/{}", ids[0]);
    let expected = json!({"id": ids[0], "deleted": true});
    assert_eq!(shop.api.delete(&path).await.ok(), expected);
    shop.api.delete(&path).await.refused(404, "lead_vehicle_not_found");
    for vehicle in [ids[2].to_string(), "987654321".into(), "0".into(), "x".into()] {
        let answer = shop.api.delete(&format!("{lead}/{vehicle}")).await;
        answer.refused(404, "lead_vehicle_not_found");
    }
    assert_eq!(listed(&shop.api, &lead).await, [ids[1]]);
    assert_eq!(listed(&shop.api, &other).await, [ids[2]]);
    // The vehicle itself is still there.
    shop.api.get(&format!("{VEHICLES}/{}", ids[0])).await.ok();
}

async fn leads_are_found_by_their_vehicle(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ids = vehicles(&shop.api, 3).await;
    for number in 0..30 {
        let vehicle = ids[usize::from(number % 3 == 0)];
        let body = json!({"name": format!("Lead {number}"), "site": number % 2 * 2, "vehicle": vehicle});
        shop.lead(&body).await;
    }
    let expected: Vec<Value> = (0..30)
        .rev()
        .step_by(3)
        .map(|number| json!(format!("Lead {}", number - 2)))
        .collect();
    assert_eq!(asking_for(&shop.api, ids[1]).await, expected);
    assert!(asking_for(&shop.api, ids[2]).await.is_empty());
    assert!(asking_for(&shop.api, 987_654_321).await.is_empty());

    let query = format!("{LEADS}?vehicle={}&per_page=3", ids[0]);
    assert_eq!(shop.api.list(&query).await.pagination["total"], 20);
    assert_eq!(shop.api.walk(&query).await.len(), 20);
    let list = shop.api.list(&format!("{LEADS}?vehicle={}&site=2", ids[1])).await;
    assert_eq!((list.items.len(), &list.pagination["total"]), (5, &json!(5)));

    // The total is updated at once.
    let lead = lead(&shop).await;
    associate(&shop.api, &lead, ids[0]).await.ok();
    assert_eq!(shop.api.list(&query).await.pagination["total"], 21);
    shop.api.delete(&format!("{lead}/{}", ids[0])).await.ok();
    assert_eq!(shop.api.list(&query).await.pagination["total"], 20);
}

async fn vehicles_are_found_by_their_lead(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (lead, other) = (lead(&shop).await, lead(&shop).await);
    let ids = vehicles(&shop.api, 4).await;
    for vehicle in &ids[..3] {
        associate(&shop.api, &lead, *vehicle).await.ok();
    }
    let of = async |lead: &str| shop.api.list(&format!("{VEHICLES}?lead={}", number(lead))).await;
    let list = of(&lead).await;
    assert_eq!(
        (list.ids(), &list.pagination["total"]),
        (vec![ids[2], ids[1], ids[0]], &json!(3))
    );
    assert!(of(&other).await.items.is_empty());
    shop.api.delete(&format!("{lead}/{}", ids[1])).await.ok();
    let list = of(&lead).await;
    assert_eq!(
        (list.ids(), &list.pagination["total"]),
        (vec![ids[2], ids[0]], &json!(2))
    );
}

async fn associations_are_changes_of_the_lead(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = shop.lead_path("Ann").await;
    let lead = format!("{path}/vehicles");
    let ids = vehicles(&shop.api, 1).await;
    let car = format!("{VEHICLES}/{}", ids[0]);
    let (before, vehicle) = (shop.api.get(&path).await.ok(), shop.api.get(&car).await.ok());
    assert_eq!(
        (&before["vehicles"], &before["data"]["vehicle"]),
        (&json!([]), &Value::Null)
    );
    associate(&shop.api, &lead, ids[0]).await.ok();
    associate(&shop.api, &lead, ids[0])
        .await
        .refused(409, "lead_vehicle_duplicate");
    let associated = shop.api.get(&path).await.ok();
    assert_eq!(
        (
            &associated["vehicles"],
            &associated["data"]["vehicle"],
            &associated["version"]
        ),
        (&json!([ids[0]]), &json!(ids[0]), &json!(2))
    );
    shop.api.delete(&format!("{lead}/{}", ids[0])).await.ok();
    let after = shop.api.get(&path).await.ok();
    assert_eq!((&after["vehicles"], &after["version"]), (&json!([]), &json!(3)));
    assert_eq!(shop.api.get(&car).await.ok(), vehicle, "the vehicle has not changed");
    let events = shop.api.walk("/2.0/events").await;
    let names: Vec<_> = events.iter().map(|event| event["event"].clone()).collect();
    assert_eq!(
        names,
        ["lead.created", "vehicle.created", "lead.updated", "lead.updated"]
    );
    assert_eq!((&events[2]["data"], &events[3]["data"]), (&associated, &after));
}

/// The first is the one that was associated first, regardless of its id.
async fn a_lead_shows_its_vehicles_in_their_order(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ids = vehicles(&shop.api, 3).await;
    let made = shop.lead(&json!({"vehicle": ids[2]})).await;
    assert_eq!(
        (&made["vehicles"], &made["data"]["vehicle"]),
        (&json!([ids[2]]), &json!(ids[2]))
    );
    let path = format!("{LEADS}/{}", made["id"]);
    let lead = format!("{path}/vehicles");
    for vehicle in [ids[0], ids[1]] {
        associate(&shop.api, &lead, vehicle).await.ok();
    }
    let shown = async || {
        let lead = shop.api.get(&path).await;
        let etag = lead.header("ETag").unwrap().to_owned();
        let lead = lead.ok();
        let listed = shop.api.list(&format!("{LEADS}?view=full")).await.items.remove(0);
        assert_eq!(lead, listed);
        (lead["vehicles"].clone(), lead["data"]["vehicle"].clone(), etag)
    };
    let (vehicles, first, etag) = shown().await;
    assert_eq!((vehicles, first), (json!([ids[2], ids[0], ids[1]]), json!(ids[2])));
    // A deleted vehicle is left out, and the entity tag changes.
    shop.api.delete(&format!("{VEHICLES}/{}", ids[2])).await.ok();
    let (vehicles, first, after) = shown().await;
    assert_eq!((vehicles, first), (json!([ids[0], ids[1]]), json!(ids[0])));
    assert_ne!(after, etag);
    // The caller's own member has precedence, and the data can be written back as read.
    let data = shop.api.get(&path).await.ok()["data"].clone();
    let same = shop.api.patch(&path, &json!({"data": data})).await.ok();
    assert_eq!(same["version"], 3);
    let own = shop
        .api
        .patch(&path, &json!({"data": {"vehicle": "a red one"}}))
        .await
        .ok();
    assert_eq!(own["data"]["vehicle"], "a red one");
    assert_eq!(own["vehicles"], json!([ids[0], ids[1]]));
    let none = shop.api.patch(&path, &json!({"data": {"vehicle": null}})).await.ok();
    assert_eq!(none["data"]["vehicle"], ids[0]);
}

async fn a_deleted_vehicle_leaves_its_leads(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = lead(&shop).await;
    let ids = vehicles(&shop.api, 2).await;
    for vehicle in &ids {
        associate(&shop.api, &lead, *vehicle).await.ok();
    }
    shop.api.delete(&format!("{VEHICLES}/{}", ids[1])).await.ok();
    assert_eq!(listed(&shop.api, &lead).await, [ids[0]]);
    assert!(asking_for(&shop.api, ids[1]).await.is_empty());
    assert_eq!(asking_for(&shop.api, ids[0]).await, ["Ann"]);
    let answer = shop.api.delete(&format!("{lead}/{}", ids[1])).await;
    answer.refused(404, "lead_vehicle_not_found");
    associate(&shop.api, &lead, ids[1]).await.invalid(&["vehicle"]);
}

async fn a_deleted_lead_leaves_its_vehicles(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (gone, stays) = (lead(&shop).await, lead(&shop).await);
    let ids = vehicles(&shop.api, 1).await;
    for lead in [&gone, &stays] {
        associate(&shop.api, lead, ids[0]).await.ok();
    }
    shop.api.delete(gone.strip_suffix("/vehicles").unwrap()).await.ok();
    let list = shop.api.list(&format!("{VEHICLES}?lead={}", number(&gone))).await;
    assert!(list.items.is_empty());
    let list = shop.api.list(&format!("{LEADS}?vehicle={}", ids[0])).await;
    assert_eq!(
        (list.ids(), &list.pagination["total"]),
        (vec![number(&stays)], &json!(1))
    );
    shop.api.get(&gone).await.refused(404, "lead_not_found");
    associate(&shop.api, &gone, ids[0]).await.refused(404, "lead_not_found");
    let answer = shop.api.delete(&format!("{gone}/{}", ids[0])).await;
    answer.refused(404, "lead_not_found");
}

async fn other_businesses_have_no_part_in_it(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    let lead = lead(&shop).await;
    let ids = vehicles(&shop.api, 1).await;
    let theirs = vehicles(&rival, 1).await;
    associate(&shop.api, &lead, ids[0]).await.ok();

    rival.get(&lead).await.refused(404, "lead_not_found");
    associate(&rival, &lead, ids[0]).await.invalid(&["vehicle"]);
    associate(&rival, &lead, theirs[0]).await.refused(404, "lead_not_found");
    let answer = rival.delete(&format!("{lead}/{}", ids[0])).await;
    answer.refused(404, "lead_not_found");
    let own = rival.post(LEADS, &json!({"vehicle": theirs[0]})).await.created();
    let own = format!("{LEADS}/{}/vehicles", own["id"]);
    let answer = rival.delete(&format!("{own}/{}", ids[0])).await;
    answer.refused(404, "lead_vehicle_not_found");
    rival
        .post(LEADS, &json!({"vehicle": ids[0]}))
        .await
        .invalid(&["vehicle"]);
    assert!(asking_for(&rival, ids[0]).await.is_empty());
    let list = rival.list(&format!("{VEHICLES}?lead={}", number(&lead))).await;
    assert!(list.items.is_empty());
    assert_eq!(listed(&shop.api, &lead).await, ids);
    assert_eq!(listed(&rival, &own).await, theirs);
}
