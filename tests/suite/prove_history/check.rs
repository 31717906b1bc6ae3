//! The properties of every history, whatever happened to the servers meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A client's request.
#[derive(Clone, Debug)]
pub(super) enum Ask {
    Create { name: String },
    Change { lead: i64, if_match: i64, token: String },
    Delete { lead: i64, if_match: i64 },
    Read { lead: i64 },
}

/// A request and its answer.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) key: Option<String>,
    pub(super) ask: Ask,
    /// The moments at which it began and ended, in the order of all such moments.
    pub(super) began: u64,
    pub(super) ended: u64,
    /// Status and body; `None` if the connection broke off.
    pub(super) answer: Option<(u16, Value)>,
}

/// The state at the end.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) leads: Vec<Value>,
    /// The log of events, as each server shows it.
    pub(super) events: Vec<Vec<Value>>,
    /// The database's log.
    pub(super) database_log: String,
}

/// The events of a lead.
#[derive(Default)]
struct Story {
    /// The number of its writes: its highest version.
    versions: i64,
    deleted: bool,
    /// The version at which each token was written.
    tokens: BTreeMap<String, i64>,
}

impl Exchange {
    fn status(&self) -> Option<u16> {
        self.answer.as_ref().map(|(status, _)| *status)
    }

    fn data(&self, member: &str) -> Option<&Value> {
        self.answer.as_ref().and_then(|(_, body)| body["data"].get(member))
    }

    fn lead(&self) -> Option<i64> {
        match &self.ask {
            Ask::Create { .. } => self.data("id")?.as_i64(),
            Ask::Change { lead, .. } | Ask::Delete { lead, .. } | Ask::Read { lead } => Some(*lead),
        }
    }

    /// Returns the version of the lead in the answer.
    fn version_said(&self) -> Option<i64> {
        match self.answer.as_ref()? {
            (200 | 201, body) => body["data"]["version"].as_i64(),
            (412, body) => body["error"]["details"]["version"].as_i64(),
            _ => None,
        }
    }
}

/// Returns all faults.
pub(super) fn faults(history: &[Exchange], state: &State) -> Vec<String> {
    let mut faults = Vec::new();
    let log = state.events.first().map_or(&[] as &[Value], Vec::as_slice);
    check_log(state, log, &mut faults);
    let stories = stories(log, &mut faults);
    check_leads(history, state, &stories, &mut faults);
    check_keys(history, &mut faults);
    for exchange in history {
        check_answer(exchange, &stories, &mut faults);
    }
    check_order(history, &mut faults);
    if let Some(line) = state
        .database_log
        .lines()
        .find(|line| line.contains("deadlock detected"))
    {
        faults.push(format!("a deadlock: {line}"));
    }
    faults
}

/// Checks that events are numbered without gaps, and that every server shows the same.
fn check_log(state: &State, log: &[Value], faults: &mut Vec<String>) {
    for (number, event) in (1..).zip(log) {
        if event["sequence"] != number {
            faults.push(format!("a gap in the events: number {number} is {}", event["sequence"]));
            return;
        }
    }
    for other in &state.events {
        if other != log {
            faults.push(format!(
                "servers show different events: {} and {}",
                log.len(),
                other.len()
            ));
        }
    }
}

/// Returns the events of each lead; those of a deleted one may have been emptied.
fn stories(log: &[Value], faults: &mut Vec<String>) -> BTreeMap<i64, Story> {
    let mut stories = BTreeMap::<i64, Story>::new();
    for event in log {
        let (name, data) = (event["event"].as_str().unwrap_or_default(), &event["data"]);
        let id = data["id"].as_i64().unwrap_or_default();
        let story = stories.entry(id).or_default();
        let fits = match name {
            "lead.created" => story.versions == 0,
            "lead.updated" | "lead.deleted" => story.versions > 0 && !story.deleted,
            _ => false,
        };
        if !fits {
            faults.push(format!("{name} of lead {id} comes after {} versions", story.versions));
        }
        if name == "lead.deleted" {
            story.deleted = true;
            continue;
        }
        story.versions += 1;
        if data["version"]
            .as_i64()
            .is_some_and(|version| version != story.versions)
        {
            faults.push(format!(
                "lead {id} has version {} where {} is due",
                data["version"], story.versions
            ));
        }
        if let Some(token) = data["data"]["token"].as_str()
            && let Some(before) = story.tokens.insert(token.to_owned(), story.versions)
        {
            faults.push(format!(
                "{token} was written twice, at version {before} and at {}",
                story.versions
            ));
        }
    }
    stories
}

/// Checks that the leads are those that were created and not deleted, each once, and that their references have no gaps.
fn check_leads(history: &[Exchange], state: &State, stories: &BTreeMap<i64, Story>, faults: &mut Vec<String>) {
    let (mut names, mut references, mut there) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
    for lead in &state.leads {
        let id = lead["id"].as_i64().unwrap_or_default();
        there.insert(id);
        if !names.insert(lead["name"].to_string()) {
            faults.push(format!("{} was made twice", lead["name"]));
        }
        references.insert(lead["reference"].as_i64().unwrap_or_default(), id);
        match stories.get(&id) {
            Some(story) if !story.deleted && lead["version"] == story.versions => (),
            _ => faults.push(format!(
                "lead {id} at version {} is not what the events say",
                lead["version"]
            )),
        }
    }
    for (id, _) in stories
        .iter()
        .filter(|(id, story)| !story.deleted && !there.contains(id))
    {
        faults.push(format!("lead {id} is missing"));
    }
    for made in history.iter().filter(|exchange| exchange.status() == Some(201)) {
        let id = made.lead().unwrap_or_default();
        let reference = made.data("reference").and_then(Value::as_i64).unwrap_or_default();
        if references.insert(reference, id).is_some_and(|other| other != id) {
            faults.push(format!("reference {reference} was given twice"));
        }
    }
    let made = i64::try_from(stories.len()).expect("few leads");
    if !references.keys().copied().eq(1..=made) {
        faults.push(format!(
            "a gap in the references: {made} leads, {} references",
            references.len()
        ));
    }
}

/// Checks that each key has one answer.
fn check_keys(history: &[Exchange], faults: &mut Vec<String>) {
    let mut answers = BTreeMap::new();
    for exchange in history {
        let (Some(key), Some((status, body))) = (&exchange.key, &exchange.answer) else {
            continue;
        };
        if *status < 500 {
            let first = answers.entry(key).or_insert((status, body));
            if *first != (status, body) {
                faults.push(format!("two answers to the key {key}: {first:?} and {status} {body}"));
            }
        }
    }
}

/// Checks an answer: a write that it acknowledges is stored, and so is the state that it refuses for.
fn check_answer(exchange: &Exchange, stories: &BTreeMap<i64, Story>, faults: &mut Vec<String>) {
    let Some((status, _)) = exchange.answer else { return };
    let nothing = Story::default();
    let lead = exchange.lead().unwrap_or_default();
    let story = stories.get(&lead).unwrap_or(&nothing);
    let said = exchange.version_said().unwrap_or_default();
    let holds = match (&exchange.ask, status) {
        (_, 503) => true,
        (Ask::Create { .. }, 201) => story.versions > 0,
        (Ask::Change { if_match, token, .. }, 200) => {
            // The events of a deleted lead may be empty.
            let written = story
                .tokens
                .get(token)
                .map_or(story.deleted, |version| *version == said);
            written && said == if_match + 1
        }
        (Ask::Delete { .. }, 200) => story.deleted,
        (Ask::Change { if_match, .. } | Ask::Delete { if_match, .. }, 412) => {
            said != *if_match && (1..=story.versions).contains(&said)
        }
        (Ask::Read { .. }, 200) => (1..=story.versions).contains(&said),
        (Ask::Change { .. } | Ask::Delete { .. } | Ask::Read { .. }, 404) => story.deleted,
        _ => false,
    };
    if !holds {
        faults.push(format!(
            "not so: {exchange:?}; the lead has {} versions, deleted: {}",
            story.versions, story.deleted
        ));
    }
}

/// Checks that a client never sees an older state than was known before its request. A replayed answer is as old as the first.
fn check_order(history: &[Exchange], faults: &mut Vec<String>) {
    let mut by_lead = BTreeMap::<i64, Vec<&Exchange>>::new();
    for exchange in history {
        if let (Some(lead), Some(_)) = (exchange.lead(), exchange.version_said()) {
            by_lead.entry(lead).or_default().push(exchange);
        }
    }
    for (lead, mut exchanges) in by_lead {
        let mut known: Vec<(u64, i64)> = exchanges
            .iter()
            .map(|one| (one.ended, one.version_said().unwrap_or_default()))
            .collect();
        known.sort_unstable();
        exchanges.sort_unstable_by_key(|exchange| exchange.began);
        let (mut known, mut least) = (known.into_iter().peekable(), 0);
        for exchange in exchanges {
            while let Some((_, version)) = known.next_if(|(ended, _)| *ended < exchange.began) {
                least = least.max(version);
            }
            if matches!(exchange.ask, Ask::Read { .. }) && exchange.version_said().is_some_and(|said| said < least) {
                faults.push(format!("lead {lead} was at version {least} before {exchange:?}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn exchange(at: u64, key: &str, ask: Ask, status: u16, body: Value) -> Exchange {
        Exchange {
            key: Some(key.to_owned()),
            ask,
            began: at,
            ended: at + 1,
            answer: Some((status, body)),
        }
    }

    fn create(at: u64, id: i64, name: &str) -> Exchange {
        let body = json!({"data": {"id": id, "version": 1, "reference": id}});
        exchange(at, name, Ask::Create { name: name.to_owned() }, 201, body)
    }

    fn change(at: u64, lead: i64, if_match: i64, token: &str) -> Exchange {
        let body = json!({"data": {"id": lead, "version": if_match + 1}});
        let token = token.to_owned();
        exchange(at, &token.clone(), Ask::Change { lead, if_match, token }, 200, body)
    }

    fn refused(at: u64, lead: i64, if_match: i64, version: i64) -> Exchange {
        let body = json!({"error": {"details": {"version": version}}});
        let ask = Ask::Change {
            lead,
            if_match,
            token: format!("never-{at}"),
        };
        exchange(at, &format!("refused-{at}"), ask, 412, body)
    }

    fn event(sequence: i64, name: &str, id: i64, version: i64, token: &Value) -> Value {
        let data = json!({"id": id, "version": version, "data": {"token": token}});
        json!({"sequence": sequence, "event": name, "data": data})
    }

    /// Returns a history without a fault: two leads, one changed twice, one deleted.
    fn sound() -> (Vec<Exchange>, State) {
        let deleted = exchange(
            8,
            "gone",
            Ask::Delete { lead: 2, if_match: 1 },
            200,
            json!({"data": {"deleted": true}}),
        );
        let read = exchange(
            20,
            "read",
            Ask::Read { lead: 1 },
            200,
            json!({"data": {"id": 1, "version": 3}}),
        );
        let absent = exchange(22, "none", Ask::Read { lead: 2 }, 404, json!({}));
        let history = vec![
            create(0, 1, "Ann"),
            create(2, 2, "Bea"),
            change(4, 1, 1, "first"),
            change(6, 1, 2, "second"),
            deleted,
            refused(10, 1, 1, 2),
            read,
            absent,
        ];
        let log = vec![
            event(1, "lead.created", 1, 1, &Value::Null),
            event(2, "lead.created", 2, 1, &Value::Null),
            event(3, "lead.updated", 1, 2, &json!("first")),
            event(4, "lead.updated", 1, 3, &json!("second")),
            json!({"sequence": 5, "event": "lead.deleted", "data": {"id": 2}}),
        ];
        let state = State {
            leads: vec![json!({"id": 1, "name": "Ann", "reference": 1, "version": 3})],
            events: vec![log.clone(), log],
            database_log: "LOG:  checkpoint complete".to_owned(),
        };
        (history, state)
    }

    #[test]
    fn a_sound_history_has_no_fault() {
        let (history, state) = sound();
        assert_eq!(faults(&history, &state), Vec::<String>::new());
    }

    /// Forges the sound history; asserts that the checker finds a fault that mentions `needle`.
    #[track_caller]
    fn finds(needle: &str, forge: impl FnOnce(&mut Vec<Exchange>, &mut State)) {
        let (mut history, mut state) = sound();
        forge(&mut history, &mut state);
        let found = faults(&history, &state);
        assert!(found.iter().any(|fault| fault.contains(needle)), "{needle}: {found:?}");
    }

    #[test]
    fn every_forged_history_is_refused() {
        finds("not so", |history, _| history.push(create(30, 3, "Cid")));
        finds("is missing", |_, state| state.leads.clear());
        finds("not so", |history, _| history.push(change(30, 1, 3, "lost")));
        finds("not so", |history, _| history.push(refused(30, 1, 1, 4)));
        finds("not so", |history, _| {
            history.push(exchange(
                30,
                "gone too",
                Ask::Delete { lead: 1, if_match: 3 },
                200,
                json!({}),
            ));
        });
        let absent = exchange(30, "absent", Ask::Read { lead: 1 }, 404, json!({}));
        finds("not so", |history, _| history.push(absent));
        finds("not so", |history, _| history[0].answer = Some((500, json!({}))));
        finds("two answers to the key", |history, _| {
            let mut again = history[2].clone();
            again.answer = Some((412, json!({"error": {"details": {"version": 2}}})));
            history.push(again);
        });
        finds("made twice", |_, state| {
            let mut twin = state.leads[0].clone();
            twin["id"] = 3.into();
            state.leads.push(twin);
        });
        finds("written twice", |_, state| {
            for log in &mut state.events {
                log.push(event(6, "lead.updated", 1, 4, &json!("first")));
            }
            state.leads[0]["version"] = 4.into();
        });
        finds("a gap in the events", |_, state| {
            for log in &mut state.events {
                log.remove(2);
            }
        });
        finds("different events", |_, state| drop(state.events[1].pop()));
        finds("a gap in the references", |history, state| {
            state.leads[0]["reference"] = 3.into();
            let (_, body) = history[0].answer.as_mut().unwrap();
            body["data"]["reference"] = 3.into();
        });
        finds("given twice", |history, _| {
            let (_, body) = history[1].answer.as_mut().unwrap();
            body["data"]["reference"] = 1.into();
        });
        finds("where 3 is due", |_, state| {
            for log in &mut state.events {
                log[3]["data"]["version"] = 4.into();
            }
        });
        finds("before", |history, _| {
            history.push(exchange(
                30,
                "stale",
                Ask::Read { lead: 1 },
                200,
                json!({"data": {"version": 2}}),
            ));
        });
        let deadlock = "ERROR:  deadlock detected".to_owned();
        finds("a deadlock", |_, state| state.database_log = deadlock);
    }
}
