//! A server that is killed at any moment has done each request once or not at all, and a retry finds out which.

use std::collections::BTreeMap;
use std::time::Duration;

use harness::{Answer, Client, Engine, Shop, both_engines};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

both_engines! {
    creates_survive_crashes_exactly_once
    changes_and_deletions_survive_crashes_exactly_once
    twins_under_one_key_survive_crashes_as_one
    invoices_issued_through_crashes_have_numbers_without_gaps
}

const ROUNDS: usize = 10;
const WORKERS: usize = 16;

/// A write with a key: `(key, method, path, body)`.
type Write = (String, &'static str, String, Value);

async fn send(client: &Client, (key, method, path, body): &Write) -> Result<Answer, String> {
    let request = client.request(method, path).key(key).json(body);
    request.attempt().await.map_err(|error| error.to_string())
}

/// Sends the writes from several workers, kills the server meanwhile, starts it again, and repeats every write. Returns the
/// final answers; those that had been given before the crash are asserted to be given again.
async fn through_a_crash(shop: &mut Shop, round: usize, writes: Vec<Write>) -> Vec<Answer> {
    let mut workers = JoinSet::new();
    let (told, mut heard) = mpsc::unbounded_channel();
    for batch in writes.chunks(writes.len().div_ceil(WORKERS)).map(<[Write]>::to_vec) {
        let (client, told) = (shop.api.clone(), told.clone());
        workers.spawn(async move {
            let mut given = Vec::new();
            for write in batch {
                if let Ok(answer) = send(&client, &write).await {
                    given.push((write.0, answer));
                    told.send(()).unwrap();
                }
            }
            given
        });
    }
    // The moment differs in each round: from before the first commit to shortly before the last.
    for _ in 0..writes.len() * round / ROUNDS {
        heard.recv().await.unwrap();
    }
    tokio::time::sleep(Duration::from_micros(700 * round as u64)).await;
    shop.server.kill9().await;
    let given: BTreeMap<String, Answer> = workers.join_all().await.into_iter().flatten().collect();
    shop.server.restart().await;

    let mut answers = Vec::new();
    for write in &writes {
        let answer = send(&shop.api, write).await.unwrap();
        if let Some(before) = given.get(&write.0).filter(|before| before.status < 500) {
            assert_eq!(answer.header("X-Idempotent-Replay"), Some("true"), "{write:?}");
            assert_eq!(
                (answer.status, answer.text()),
                (before.status, before.text()),
                "{write:?}"
            );
        }
        answers.push(answer);
    }
    answers
}

async fn creates_survive_crashes_exactly_once(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let mut names = Vec::new();
    for round in 0..ROUNDS {
        let create = |number| {
            let name = format!("round-{round}-lead-{number}");
            (name.clone(), "POST", "/2.0/leads".to_owned(), json!({"name": name}))
        };
        let writes: Vec<Write> = (0..96).map(create).collect();
        names.extend(writes.iter().map(|(key, ..)| json!(key)));
        for answer in through_a_crash(&mut shop, round, writes).await {
            answer.created();
        }
    }
    let leads = shop.api.walk("/2.0/leads").await;
    let mut found: Vec<Value> = leads.iter().map(|lead| lead["name"].clone()).collect();
    found.sort_by_key(Value::to_string);
    names.sort_by_key(Value::to_string);
    assert_eq!(found, names, "each create made one lead");
    let references = leads.iter().rev().filter_map(|lead| lead["reference"].as_u64());
    assert!(references.eq(1..=names.len() as u64), "references have no gaps");
}

async fn changes_and_deletions_survive_crashes_exactly_once(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    for round in 0..ROUNDS / 2 {
        let mut leads = Vec::new();
        for number in 0..48 {
            leads.push((shop.lead_path(&format!("{number}")).await, number));
        }
        let key = |kind: &str, number: i32| format!("{kind}-{round}-{number}");
        let changes = |&(ref lead, number): &(String, i32)| {
            let change = (
                key("change", number),
                "PATCH",
                lead.clone(),
                json!({"data": {"round": round}}),
            );
            let deletion = (key("delete", number), "DELETE", lead.clone(), json!({}));
            [change, deletion]
        };
        let writes: Vec<Write> = leads.iter().flat_map(changes).collect();
        let answers = through_a_crash(&mut shop, round, writes).await;
        for (pair, (lead, _)) in answers.chunks(2).zip(&leads) {
            assert_eq!(
                pair[0].ok()["data"]["round"],
                round,
                "a change is replayed, or made before the deletion"
            );
            assert_eq!(pair[1].ok()["deleted"], true, "a deletion is replayed, not refused");
            shop.api.get(lead).await.refused(404, "lead_not_found");
        }
    }
    assert!(shop.api.walk("/2.0/leads").await.is_empty());
}

async fn twins_under_one_key_survive_crashes_as_one(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    for round in 0..ROUNDS {
        let write: Write = (
            format!("twins-{round}"),
            "POST",
            "/2.0/leads".to_owned(),
            json!({"name": "Twin"}),
        );
        let twins = |client: &Client| {
            let mut twins = JoinSet::new();
            for _ in 0..20 {
                let (client, write) = (client.clone(), write.clone());
                twins.spawn(async move { send(&client, &write).await });
            }
            twins
        };
        let before = twins(&shop.api);
        tokio::time::sleep(Duration::from_millis(2 * round as u64)).await;
        shop.server.kill9().await;
        let before = before.join_all().await;
        shop.server.restart().await;
        let after = twins(&shop.api).join_all().await;
        assert!(after.iter().all(Result::is_ok));
        let mut leads: Vec<Value> = before
            .into_iter()
            .chain(after)
            .flatten()
            .map(|answer| answer.created())
            .collect();
        leads.dedup();
        assert_eq!(leads.len(), 1, "all twins get the same answer");
    }
    let references = shop.api.list("/2.0/leads").await.column("reference");
    assert!(
        references.into_iter().eq((1..=ROUNDS).rev().map(Value::from)),
        "one lead for each round"
    );
}

async fn invoices_issued_through_crashes_have_numbers_without_gaps(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let customer = shop
        .api
        .post("/2.0/contacts", &json!({"name": "Amelia Hart"}))
        .await
        .created()["id"]
        .take();
    let mut issued = 0;
    for round in 0..5 {
        let mut writes: Vec<Write> = Vec::new();
        for number in 0..32 {
            let lines = json!([{"type": "product", "description": "Tow bar", "gross": 240}]);
            let draft = json!({"customer": customer, "lines": lines});
            let draft = shop.api.post("/2.0/invoices", &draft).await.created();
            let path = format!("/2.0/invoices/{}/issue", draft["id"]);
            writes.push((format!("round-{round}-issue-{number}"), "POST", path, json!({})));
        }
        issued += writes.len();
        for answer in through_a_crash(&mut shop, 2 * round, writes).await {
            answer.ok();
        }
    }
    let invoices = shop.api.walk("/2.0/invoices").await;
    let mut numbers: Vec<usize> = invoices
        .iter()
        .filter_map(|invoice| invoice["number"].as_str()?.strip_prefix("INV-")?.parse().ok())
        .collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=issued), "each number once");
}
