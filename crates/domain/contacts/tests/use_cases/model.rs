//! Any sequence of changes, checked against a model that knows only the JSON that integrators send and see.

use forecourt_contacts::ContactError;
use forecourt_kernel::{ContactId, EventName};
use proptest::{option, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use crate::support::{Office, at, changes, named};

/// A change to a contact.
#[derive(Clone, Debug)]
enum Step {
    /// A patch as JSON of the API.
    Update(Value),
    Block(Option<bool>, Option<bool>),
    AddNote,
    Wait(i64),
}

/// Objects with any of these members.
fn object(members: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let member = |(name, value): (&'static str, BoxedStrategy<Value>)| {
        option::weighted(0.3, value).prop_map(move |value| value.map(|value| (name.to_owned(), value)))
    };
    let members: Vec<_> = members.into_iter().map(member).collect();
    members
        .prop_map(|members| Value::Object(members.into_iter().flatten().collect()))
        .boxed()
}

fn one_of(values: Vec<Value>) -> BoxedStrategy<Value> {
    select(values).boxed()
}

fn text() -> BoxedStrategy<Value> {
    one_of(vec![Value::Null, json!(""), json!("a"), json!("b")])
}

fn or_null(value: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    prop_oneof![5 => value, 1 => Just(Value::Null)].boxed()
}

fn patch() -> BoxedStrategy<Value> {
    let lines = ["line1", "line2", "line3", "city", "state", "zip"].map(|name| (name, text()));
    let country = ("country", one_of(vec![Value::Null, json!("GB"), json!("IE")]));
    let address = object(lines.into_iter().chain([country]).collect());
    let license = object(vec![
        ("number", text()),
        ("code", text()),
        (
            "checked",
            one_of(vec![Value::Null, json!("2026-02-28"), json!("2025-01-01")]),
        ),
        ("checked_by", one_of(vec![Value::Null, json!(1), json!(1), json!(2)])),
    ]);
    let nominal = object(vec![("invoice", text()), ("purchase", text())]);
    let email = one_of(vec![
        Value::Null,
        json!("ann@example.com"),
        json!("bob@example.com"),
        json!("BOB@example.com"),
    ]);
    let dob = vec![
        Value::Null,
        json!("1980-02-29"),
        json!("1990-01-01"),
        json!("2027-01-01"),
    ];
    let tags = vec![
        json!([]),
        json!(["Good"]),
        json!([{"name": "Bad", "checked": false}, {"name": "Bad", "checked": true}]),
    ];
    let types = vec![json!([]), json!(["Trade"]), json!(["Other", "Trade", "Other"])];
    object(vec![
        ("site", one_of(vec![json!(0), json!(2)])),
        ("email", email),
        ("name", one_of(vec![json!("Ann"), json!("Bob"), json!(" ")])),
        ("company", text()),
        ("address", or_null(address)),
        ("dob", one_of(dob)),
        ("license", or_null(license)),
        ("marketing", one_of(vec![json!("Yes"), json!("No")])),
        ("nominal", or_null(nominal)),
        ("tag", one_of(tags)),
        ("type", one_of(types)),
        ("login", one_of(vec![json!(true), json!(false)])),
    ])
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => patch().prop_map(Step::Update),
        2 => (any::<Option<bool>>(), any::<Option<bool>>()).prop_map(|(email, sms)| Step::Block(email, sms)),
        1 => Just(Step::AddNote),
        2 => (0..100_000_i64).prop_map(Step::Wait),
    ]
}

/// A contact in the API, the blocked addresses, and the current time.
struct Model {
    contact: Value,
    blocked: Vec<String>,
    seconds: i64,
}

/// The outcome of a step.
#[derive(Clone, Copy, PartialEq, Debug)]
enum End {
    /// No event is recorded.
    Quiet,
    Recorded,
    Invalid,
    Twin,
}

impl Model {
    /// Applies the step as the contract says.
    fn take(&mut self, step: &Step) -> End {
        match step {
            Step::Update(patch) => self.update(patch.as_object().unwrap()),
            Step::Block(email, sms) => self.block(*email, *sms),
            Step::AddNote => End::Quiet,
            Step::Wait(seconds) => {
                self.seconds += seconds;
                End::Quiet
            }
        }
    }

    fn update(&mut self, patch: &Map<String, Value>) -> End {
        let mut contact = self.contact.clone();
        for (name, value) in patch {
            match &**name {
                "site" => contact["site"] = value.clone(),
                "email" => contact["email"] = json!(value.as_str().unwrap_or_default()),
                "name" if value.as_str() == Some(" ") => return End::Invalid,
                "dob" if value.as_str() > Some("2026-12-31") => return End::Invalid,
                "license" if value["checked_by"] == json!(2) => return End::Invalid,
                "address" | "license" | "nominal" => merge(&mut contact["data"][name], value),
                "company" => contact["data"][name] = json!(value.as_str().unwrap_or_default()),
                "tag" => contact["data"][name] = painted(value),
                "type" => contact["data"][name] = distinct(value),
                _ => contact["data"][name] = value.clone(),
            }
        }
        let login = |contact: &Value| (contact["data"]["login"] == true).then(|| contact["email"].clone());
        if login(&contact) == Some(json!("")) {
            return End::Invalid;
        }
        // Another contact logs in as Bob all the time.
        let is_bob = |email: Value| {
            email
                .as_str()
                .is_some_and(|email| email.to_lowercase() == "bob@example.com")
        };
        if login(&contact).is_some_and(is_bob) {
            return End::Twin;
        }
        if contact == self.contact {
            return End::Quiet;
        }
        contact["updated"] = json!(at(self.seconds));
        self.contact = contact;
        self.raise_version();
        End::Recorded
    }

    /// The contact never has a number.
    fn block(&mut self, email: Option<bool>, sms: Option<bool>) -> End {
        let address = self.contact["email"].as_str().unwrap_or_default().to_lowercase();
        if sms == Some(true) || (email == Some(true) && address.is_empty()) {
            return End::Invalid;
        }
        let blocked = self.blocked.contains(&address);
        match email {
            Some(wanted) if wanted != blocked && !address.is_empty() => {
                self.blocked.retain(|kept| *kept != address);
                if wanted {
                    self.blocked.push(address);
                }
                self.contact["updated"] = json!(at(self.seconds));
                self.raise_version();
                End::Recorded
            }
            _ => End::Quiet,
        }
    }

    fn raise_version(&mut self) {
        self.contact["version"] = json!(self.contact["version"].as_i64().unwrap() + 1);
    }
}

/// Null clears all members, or one.
fn merge(target: &mut Value, patch: &Value) {
    let blank = |name: &str| {
        if name.starts_with("checked") {
            Value::Null
        } else {
            json!("")
        }
    };
    for (name, member) in target.as_object_mut().unwrap() {
        match patch.get(name) {
            None if patch.is_null() => *member = blank(name),
            None => {}
            Some(Value::Null) => *member = blank(name),
            Some(value) => *member = value.clone(),
        }
    }
}

fn painted(choices: &Value) -> Value {
    match choices.get(0) {
        None => json!([]),
        Some(choice) if choice == "Good" => {
            json!([{"name": "Good", "checked": true, "colour": "#3a3", "type": "mood"}])
        }
        Some(_) => json!([{"name": "Bad", "checked": true, "colour": "#d33", "type": ""}]),
    }
}

fn distinct(types: &Value) -> Value {
    match types.as_array().unwrap().len() {
        0 => json!(["Customer"]),
        1 => types.clone(),
        _ => json!(["Other", "Trade"]),
    }
}

/// Applies the step to the office.
async fn take(office: &mut Office, id: ContactId, seconds: i64, step: &Step) -> End {
    let outcome = match step {
        Step::Update(patch) => office.update(id, changes(patch.clone())).await.map(drop),
        Step::Block(email, sms) => office.block(id, *email, *sms).await.map(drop),
        Step::AddNote => office.add_note(id, "x", None).await.map(drop),
        Step::Wait(_) => {
            office.set_clock(seconds);
            Ok(())
        }
    };
    match outcome {
        Ok(()) if office.store.events.is_empty() => End::Quiet,
        Ok(()) => End::Recorded,
        Err(ContactError::Invalid(_)) => End::Invalid,
        Err(ContactError::EmailDuplicate) => End::Twin,
        Err(error) => panic!("{error}"),
    }
}

async fn compare(steps: Vec<Step>) {
    let mut office = Office::open();
    office
        .create(crate::support::login("Bob", "bob@example.com"))
        .await
        .unwrap();
    let id = office.create(named("Ann")).await.unwrap().id;
    let mut model = Model {
        contact: office.view(&office.stored(id)),
        blocked: Vec::new(),
        seconds: 0,
    };
    for step in steps {
        office.store.events.clear();
        let before = model.contact.clone();
        let end = model.take(&step);
        assert_eq!(
            take(&mut office, id, model.seconds, &step).await,
            end,
            "{step:?} on {before}"
        );
        let contact = office.stored(id);
        model.contact["data"]["notes"] = json!(contact.notes);
        assert_eq!(office.view(&contact), model.contact, "{step:?} on {before}");
        if end == End::Recorded {
            office.assert_recorded(EventName::ContactUpdated, &contact);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn every_sequence_of_changes_does_what_the_contract_says(steps in prop::collection::vec(step(), 1..20)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(compare(steps));
    }
}
