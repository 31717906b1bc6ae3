//! Random sequences of patches to the merged parts of a contact, compared with an independent model.

use std::collections::BTreeSet;

use harness::{Client, Engine, Shop, both_engines};
use serde_json::{Map, Value, json};

use crate::contacts_record::CONTACTS;

both_engines! {
    address_license_and_nominal_are_merged_whatever_is_sent
}

const SEEDS: std::ops::Range<u64> = 1..6;
const PATCHES: usize = 50;

/// The values of a member apart from null.
struct Member {
    name: &'static str,
    /// The value that it reads as if it is unknown.
    unknown: Value,
    /// The values that it can be set to, each with the value that it then reads as.
    values: Vec<(Value, Value)>,
    wrong: Vec<Value>,
}

fn same(values: &[&str]) -> Vec<(Value, Value)> {
    values.iter().map(|value| (json!(value), json!(value))).collect()
}

fn text(name: &'static str, values: &[&str]) -> Member {
    let mut values = same(values);
    values.push((json!(""), json!("")));
    Member {
        name,
        unknown: json!(""),
        values,
        wrong: vec![json!(5), json!(true), json!([]), json!({}), json!("a\u{0}b")],
    }
}

/// Returns the parts and their members.
fn parts() -> Vec<(&'static str, Vec<Member>)> {
    let country = Member {
        name: "country",
        unknown: json!(""),
        values: [("GB", "GB"), ("ie", "IE"), ("De", "DE"), ("", "")]
            .map(|(sent, read)| (json!(sent), json!(read)))
            .into(),
        wrong: vec![json!("XX"), json!("GBR"), json!(44), json!(["GB"])],
    };
    let checked = Member {
        name: "checked",
        unknown: Value::Null,
        values: [same(&["2026-02-28", "2024-02-29"]), vec![(json!(""), Value::Null)]].concat(),
        wrong: vec![json!("2026-02-29"), json!("28.2.2026"), json!(20_260_228), json!({})],
    };
    let checked_by = Member {
        name: "checked_by",
        unknown: Value::Null,
        values: vec![(json!(1), json!(1)), (json!(2), json!(2))],
        wrong: vec![json!(99), json!("Sam"), json!(1.5), json!([1])],
    };
    let lines = ["line1", "line2", "line3", "city", "state", "zip"];
    let mut address: Vec<Member> = lines
        .into_iter()
        .map(|line| text(line, &["Flat 1", "Zoë's Höfe 北", " \"two\"\nlines\\ "]))
        .collect();
    address.push(country);
    vec![
        ("address", address),
        (
            "license",
            vec![
                text("number", &["LEE99", "x"]),
                text("code", &["a 7", "Ö"]),
                checked,
                checked_by,
            ],
        ),
        (
            "nominal",
            vec![text("invoice", &["4000", "4001"]), text("purchase", &["5000", "5"])],
        ),
    ]
}

/// Random numbers that depend only on the seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % below as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.roll(list.len())]
    }
}

/// The parts with their expected values.
#[derive(Clone, PartialEq, Debug)]
struct Model(Map<String, Value>);

impl Model {
    fn blank(parts: &[(&'static str, Vec<Member>)]) -> Self {
        let mut model = Map::new();
        for (part, members) in parts {
            let unknown = members
                .iter()
                .map(|member| (member.name.to_owned(), member.unknown.clone()));
            model.insert((*part).to_owned(), Value::Object(unknown.collect()));
        }
        Self(model)
    }

    fn read(&self, contact: &Value) -> Self {
        let part = |part: &String| (part.clone(), contact["data"][part].clone());
        Self(self.0.keys().map(part).collect())
    }
}

/// Returns a body, the expected contact after it, and the fields of the body that are wrong.
fn patch(dice: &mut Dice, before: &Model) -> (Value, Model, Vec<String>) {
    let (mut body, mut after, mut wrong) = (Map::new(), before.clone(), Vec::new());
    // One patch in four may have something wrong in it, however much else is right.
    let careless = dice.roll(4) == 0;
    for (part, members) in parts() {
        let sent = match dice.roll(8) {
            0..3 => continue,
            3 => {
                after.0.insert(part.to_owned(), Model::blank(&parts()).0[part].clone());
                Value::Null
            }
            4 if careless => {
                wrong.push(part.to_owned());
                dice.pick(&[json!("x"), json!(5), json!([]), json!(false)]).clone()
            }
            _ => {
                let mut sent = Map::new();
                for member in members {
                    let (value, reads) = match dice.roll(8) {
                        0..4 => continue,
                        4 => (Value::Null, member.unknown),
                        5 if careless => {
                            wrong.push(format!("{part}.{}", member.name));
                            (dice.pick(&member.wrong).clone(), Value::Null)
                        }
                        _ => dice.pick(&member.values).clone(),
                    };
                    sent.insert(member.name.to_owned(), value);
                    after.0[part][member.name] = reads;
                }
                if dice.roll(6) == 0 {
                    sent.insert("unknown".to_owned(), json!({"line1": "nothing"}));
                }
                Value::Object(sent)
            }
        };
        body.insert(part.to_owned(), sent);
    }
    (Value::Object(body), after, wrong)
}

async fn follow(api: &Client, seed: u64) {
    let mut dice = Dice(seed);
    let mut model = Model::blank(&parts());
    // Members sent with the creation are merged into an empty part.
    let (mut body, contact) = loop {
        let (body, after, wrong) = patch(&mut dice, &model);
        if wrong.is_empty() {
            break (body, after);
        }
    };
    model = contact;
    body["name"] = json!("Ann");
    let mut contact = api.post(CONTACTS, &body).await.created();
    assert_eq!(model.read(&contact), model, "seed {seed}: created of {body}");
    let path = format!("{CONTACTS}/{}", contact["id"]);
    let mut changes = 0;
    for step in 0..PATCHES {
        let (body, after, wrong) = patch(&mut dice, &model);
        let place = format!("seed {seed}, patch {step}: {body} to {model:?}");
        let answer = api.patch(&path, &body).await;
        if wrong.is_empty() {
            let said = answer.json();
            assert_eq!(
                (answer.status, &said["success"]),
                (200, &json!(true)),
                "{place}\n{said}"
            );
            assert_eq!(model.read(&said["data"]), after, "{place}");
            if after == model {
                assert_eq!(said["data"], contact, "nothing changed: {place}");
            }
            changes += usize::from(after != model);
            (contact, model) = (said["data"].clone(), after);
        } else {
            let said = answer.json();
            let errors = said["error"]["details"]["errors"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let found: BTreeSet<&str> = errors.iter().filter_map(|error| error["field"].as_str()).collect();
            let wrong: BTreeSet<&str> = wrong.iter().map(String::as_str).collect();
            assert_eq!(found, wrong, "{place}\n{said}");
            answer.invalid(&Vec::from_iter(wrong));
        }
        assert_eq!(api.get(&path).await.ok(), contact, "{place}");
    }
    let events = api
        .walk(&format!("/2.0/events?resource=contact&record={}", contact["id"]))
        .await;
    let updates = events.iter().filter(|event| event["event"] == "contact.updated");
    assert_eq!(
        updates.count(),
        changes,
        "seed {seed}: each change is in the log, and nothing else"
    );
    assert!(changes > PATCHES / 4, "seed {seed}: {changes} changes");
}

async fn address_license_and_nominal_are_merged_whatever_is_sent(engine: Engine) {
    let shop = Shop::open(engine).await;
    for seed in SEEDS {
        follow(&shop.api, seed).await;
    }
}
