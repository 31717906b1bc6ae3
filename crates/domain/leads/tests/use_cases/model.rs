//! Any sequence of changes, checked against a model that knows only the JSON that integrators see.

use forecourt_kernel::{ContactId, EventName, LeadId};
use forecourt_leads::{LeadChanges, LeadError, LeadStatus, StatusChange};
use forecourt_reference::{LeadChannel, LeadType};
use proptest::{option, prelude::*, sample::select};
use serde_json::{Value, json};

use crate::support::{ANN, BOB, Fixture, SOMEBODY_ELSES, at, changes};

const DAY: i64 = 86_400;

/// A change to a lead.
#[derive(Clone, Debug)]
enum Step {
    Update(Box<Update>),
    SetStatus(Change),
    Assign(Vec<i64>),
    Reopen,
    Wait(i64),
}

/// An update as JSON of the API.
#[derive(Clone, Debug)]
struct Update {
    site: Option<i64>,
    channel: Option<LeadChannel>,
    name: Option<String>,
    email: Option<Option<&'static str>>,
    contact: Option<Option<ContactId>>,
    types: Option<Vec<LeadType>>,
    status: Option<LeadStatus>,
    tags: Option<Vec<(&'static str, bool)>>,
    data: Vec<(&'static str, Option<u8>)>,
    channel_id: Option<Option<&'static str>>,
}

/// A change of status as JSON of the API. The day is one of March.
#[derive(Clone, Copy, Debug)]
struct Change {
    status: Option<LeadStatus>,
    junk: Option<bool>,
    closed: Option<bool>,
    reopen: Option<u32>,
    stat: Option<bool>,
}

fn rarely<S: Strategy>(value: S) -> impl Strategy<Value = Option<S::Value>> {
    option::weighted(0.3, value)
}

fn update() -> impl Strategy<Value = Update> {
    let contacts = vec![ANN, BOB, SOMEBODY_ELSES];
    let data = (select(vec!["message", "url", "channel_id"]), option::of(0..3_u8));
    let fields = (
        rarely(0..3_i64),
        rarely(select(LeadChannel::ALL)),
        rarely("[ab]{0,1}"),
        rarely(option::of(select(vec!["ann@example.com", "bob@example.com"]))),
        rarely(option::of(select(contacts))),
        rarely(prop::collection::vec(select(LeadType::ALL), 0..3)),
        rarely(select(LeadStatus::ALL.to_vec())),
        rarely(prop::collection::vec(
            (select(vec!["Hot", "Cold", "Gone"]), any::<bool>()),
            0..3,
        )),
        prop::collection::vec(data, 0..3),
        rarely(option::of(select(vec!["thread-1", "thread-2"]))),
    );
    fields.prop_map(
        |(site, channel, name, email, contact, types, status, tags, data, channel_id)| Update {
            site,
            channel,
            name,
            email,
            contact,
            types,
            status,
            tags,
            data,
            channel_id,
        },
    )
}

fn change() -> impl Strategy<Value = Change> {
    let fields = (
        rarely(select(LeadStatus::ALL.to_vec())),
        rarely(any::<bool>()),
        option::of(any::<bool>()),
        option::of(1..6_u32),
        rarely(any::<bool>()),
    );
    fields.prop_map(|(status, junk, closed, reopen, stat)| Change {
        status,
        junk,
        closed,
        reopen,
        stat,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => update().prop_map(|update| Step::Update(Box::new(update))),
        4 => change().prop_map(Step::SetStatus),
        1 => prop::collection::vec(1..3_i64, 0..3).prop_map(Step::Assign),
        2 => Just(Step::Reopen),
        2 => (0..2 * DAY).prop_map(Step::Wait),
    ]
}

/// A lead in the API, and the current time.
struct Model {
    lead: Value,
    seconds: i64,
}

impl Model {
    /// Applies the step as the contract says. Returns `false` if it must be refused.
    fn take(&mut self, step: &Step) -> bool {
        let before = self.lead.clone();
        let taken = match step {
            Step::Update(update) => self.update(update),
            Step::SetStatus(change) => self.change(*change),
            Step::Assign(staff) => {
                self.lead["assign"] = json!(staff);
                true
            }
            Step::Reopen => {
                let now = at(self.seconds).date().to_string();
                if self.lead["reopen"].as_str().is_some_and(|day| *day <= *now) {
                    self.move_to(LeadStatus::NewMessage);
                }
                true
            }
            Step::Wait(seconds) => {
                self.seconds += seconds;
                true
            }
        };
        let is_junk = |lead: &Value| lead["status"]["name"] == "junk";
        self.lead["data"]["junk"] = match (is_junk(&self.lead), is_junk(&before)) {
            (true, true) => before["data"]["junk"].clone(),
            (true, false) => json!({"by": "user", "at": at(self.seconds).epoch_seconds(), "confidence": null}),
            (false, _) => Value::Null,
        };
        if self.lead != before {
            self.lead["updated"] = json!(at(self.seconds).epoch_seconds());
            self.lead["version"] = json!(self.lead["version"].as_i64().unwrap() + 1);
        }
        taken
    }

    fn update(&mut self, update: &Update) -> bool {
        let names_no_tag = |tags: &Vec<(&str, bool)>| tags.iter().any(|(name, _)| *name == "Gone");
        if update.contact == Some(Some(SOMEBODY_ELSES)) || update.tags.as_ref().is_some_and(names_no_tag) {
            return false;
        }
        let mut set = |field: &str, value: Option<Value>| {
            if let Some(value) = value {
                self.lead[field] = value;
            }
        };
        set("site", update.site.map(|site| json!(site)));
        set("channel", update.channel.map(|channel| json!(channel.id())));
        set("name", update.name.as_ref().map(|name| json!(name)));
        set("email", update.email.map(|email| json!(email.unwrap_or_default())));
        set(
            "contact",
            update.contact.map(|contact| json!(contact.map(ContactId::get))),
        );
        let ids = |types: &Vec<LeadType>| {
            let mut ids: Vec<_> = types.iter().map(|kind| kind.id()).collect();
            ids.dedup();
            if ids.is_empty() { vec!["email"] } else { ids }
        };
        set("type", update.types.as_ref().map(|types| json!(ids(types))));
        let tag = |&(name, checked): &(&str, bool)| {
            let (colour, kind) = match name {
                "Hot" => ("#d33", "mood"),
                _ => ("#33d", ""),
            };
            json!({"name": name, "checked": checked, "colour": colour, "type": kind})
        };
        // If a tag is named twice, the last choice counts.
        let tags = |tags: &Vec<(&str, bool)>| match tags[..] {
            [(first, _), last] if first == last.0 => json!([tag(&last)]),
            _ => tags.iter().map(tag).collect(),
        };
        set("tag", update.tags.as_ref().map(tags));
        if let Some(status) = update.status {
            let reopen = self.lead["reopen"].take();
            self.move_to(status);
            if status == LeadStatus::Closed {
                self.lead["reopen"] = reopen;
            }
        }
        for (name, value) in update.data_written() {
            match value {
                Value::Null => self.lead["data"].as_object_mut().unwrap().shift_remove(name),
                value => self.lead["data"].as_object_mut().unwrap().insert(name.into(), value),
            };
        }
        true
    }

    fn change(&mut self, change: Change) -> bool {
        let asked = [change.status.is_some(), change.junk.is_some(), change.closed.is_some()];
        if asked.into_iter().filter(|asked| *asked).count() > 1 {
            return false;
        }
        let target = change
            .status
            .or(change
                .junk
                .map(|junk| if junk { LeadStatus::Junk } else { LeadStatus::New }))
            .or(change.closed.map(|closed| {
                if closed {
                    LeadStatus::Closed
                } else {
                    LeadStatus::NewMessage
                }
            }));
        if let Some(target) = target {
            self.move_to(target);
        }
        if change.closed == Some(true) {
            self.lead["reopen"] = json!(change.reopen.map(day));
        }
        if let Some(stat) = change.stat {
            self.lead["stat"] = json!(stat);
        }
        true
    }

    fn move_to(&mut self, status: LeadStatus) {
        self.lead["status"] = json!({"id": status.code(), "name": status.name()});
        self.lead["reopen"] = Value::Null;
    }
}

impl Update {
    /// Returns the members that are written into the data. The last of several values for a member counts, and the channel's
    /// reference comes last of all.
    fn data_written(&self) -> Vec<(&'static str, Value)> {
        let mut written: Vec<(&str, Value)> = Vec::new();
        let from_data = self.data.iter().map(|&(name, value)| (name, json!(value)));
        let channel_id = self.channel_id.map(|value| ("channel_id", json!(value)));
        for (name, value) in from_data.chain(channel_id) {
            written.retain(|(other, _)| *other != name);
            written.push((name, value));
        }
        written
    }

    fn into_command(self) -> LeadChanges {
        let data: Value = self
            .data
            .iter()
            .map(|&(name, value)| (name.to_owned(), json!(value)))
            .collect();
        let tag = |(name, checked): &(&str, bool)| json!({"name": name, "checked": checked});
        let tags = |tags: &Vec<(&str, bool)>| tags.iter().map(tag).collect::<Value>();
        let mut body = json!({"data": data});
        let mut say = |field: &str, value: Option<Value>| {
            if let Some(value) = value {
                body[field] = value;
            }
        };
        say("site", self.site.map(|site| json!(site)));
        say("channel", self.channel.map(|channel| json!(channel)));
        say("channel_id", self.channel_id.map(|id| json!(id)));
        say("name", self.name.map(|name| json!(name)));
        say("email", self.email.map(|email| json!(email)));
        say(
            "contact",
            self.contact.map(|contact| json!(contact.map(ContactId::get))),
        );
        say("type", self.types.map(|types| json!(types)));
        say("status", self.status.map(|status| json!(status.code())));
        say("tag", self.tags.as_ref().map(tags));
        changes(body)
    }
}

impl From<Change> for StatusChange {
    fn from(change: Change) -> Self {
        Self {
            status: change.status,
            junk: change.junk,
            closed: change.closed,
            reopen: change.reopen.map(|number| day(number).parse().unwrap()),
            stat: change.stat,
        }
    }
}

fn day(number: u32) -> String {
    format!("2026-03-{number:02}")
}

/// Applies the step to the fixture. Returns `false` if it was refused.
async fn take(fixture: &mut Fixture, id: LeadId, seconds: i64, step: Step) -> bool {
    let outcome = match step {
        Step::Update(update) => fixture.update(id, update.into_command()).await.map(drop),
        Step::SetStatus(change) => fixture.set_status(id, change.into()).await.map(drop),
        Step::Assign(staff) => fixture.assign(id, &staff).await.map(drop),
        Step::Reopen => fixture.reopen(id).await,
        Step::Wait(_) => {
            fixture.set_clock(seconds);
            Ok(())
        }
    };
    match outcome {
        Ok(()) => true,
        Err(LeadError::Invalid(_)) => false,
        Err(error) => panic!("{error}"),
    }
}

async fn compare(steps: Vec<Step>) {
    let mut fixture = Fixture::open();
    let id = fixture.create(LeadChanges::default()).await.unwrap().id;
    let mut model = Model {
        lead: fixture.view(&fixture.stored(id)),
        seconds: 0,
    };
    for step in steps {
        fixture.store.events.clear();
        let before = model.lead.clone();
        let accepted = model.take(&step);
        assert_eq!(
            take(&mut fixture, id, model.seconds, step.clone()).await,
            accepted,
            "{step:?} on {before}"
        );
        let lead = fixture.stored(id);
        assert_eq!(fixture.view(&lead), model.lead, "{step:?} on {before}");
        if model.lead == before {
            assert!(fixture.store.events.is_empty(), "{step:?} on {before} changed nothing");
        } else {
            fixture.assert_recorded(EventName::LeadUpdated, &lead);
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
