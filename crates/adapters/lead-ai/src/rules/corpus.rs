//! How often the rules agree with the labels of the corpus.

use forecourt_leads::{Conversation, JunkConfidence, MAX_SUMMARY_WORDS, Utterance};
use forecourt_reference::{LeadChannel, LeadType};
use toml::{Table, Value};

use super::Rules;

/// The files that the model learns from.
pub(super) const LEARNT: [&str; 19] = [
    "sales",
    "aftersales_and_others",
    "conversations_and_mails",
    "junk",
    "varied",
    "more",
    "everyday",
    "availability",
    "questions",
    "searches",
    "vague",
    "test_drives_calls_and_videos",
    "finance_and_part_exchange",
    "ready_to_buy",
    "replies",
    "workshop",
    "feedback",
    "not_buying",
    "spam",
];

/// An enquiry, and how it is to be read.
pub(super) struct Example {
    pub(super) conversation: Conversation,
    pub(super) rating: u8,
    pub(super) intent: LeadType,
    /// The confidences that are right; none if it is no junk.
    pub(super) junk: Vec<String>,
}

/// The text of a file of the corpus.
pub(super) fn text(name: &str) -> String {
    let path = format!("{}/corpus/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// The enquiries of a file of the corpus.
pub(super) fn load(text: &str) -> Vec<Example> {
    let table: Table = text.parse().unwrap();
    let examples = table["enquiry"].as_array().unwrap();
    examples
        .iter()
        .map(|example| read(example.as_table().unwrap()))
        .collect()
}
fn read(table: &Table) -> Example {
    let known = [
        "text", "subject", "channel", "types", "vehicle", "then", "rating", "intent", "junk",
    ];
    assert!(table.keys().all(|key| known.contains(&key.as_str())), "{table}");
    let text = |key: &str| table.get(key).map(|value| value.as_str().unwrap());
    let utterance = |ours: bool, subject: &str, text: &str| Utterance {
        ours,
        subject: subject.to_owned(),
        text: text.to_owned(),
    };
    let mut messages = vec![utterance(
        false,
        text("subject").unwrap_or_default(),
        text("text").unwrap(),
    )];
    for message in table.get("then").and_then(Value::as_array).into_iter().flatten() {
        messages.push(utterance(
            message[0].as_str() == Some("us"),
            "",
            message[1].as_str().unwrap(),
        ));
    }
    let types = table.get("types").and_then(Value::as_array);
    Example {
        conversation: Conversation {
            types: types.map_or_else(
                || vec![LeadType::Email],
                |types| types.iter().map(|id| id.as_str().unwrap().parse().unwrap()).collect(),
            ),
            channel: text("channel").map_or(LeadChannel::Website, |id| id.parse().unwrap()),
            name: "Sam Taylor".into(),
            is_answerable: true,
            vehicles: text("vehicle").map(str::to_owned).into_iter().collect(),
            messages,
        },
        rating: table["rating"].as_integer().unwrap().try_into().unwrap(),
        intent: text("intent").unwrap().parse().unwrap(),
        junk: text("junk")
            .into_iter()
            .flat_map(|junk| junk.split('|'))
            .map(str::to_owned)
            .collect(),
    }
}

struct Agreement {
    all: usize,
    rating: usize,
    intent: usize,
    junk: usize,
    junk_messages: usize,
    confidence: usize,
    /// Real enquiries that would be put aside as junk.
    lost: usize,
}

fn compare(name: &str, examples: &[Example]) -> Agreement {
    let rules = Rules::new();
    let mut agreement = Agreement {
        all: examples.len(),
        rating: 0,
        intent: 0,
        junk: 0,
        junk_messages: 0,
        confidence: 0,
        lost: 0,
    };
    for example in examples {
        let read = rules.read(&example.conversation);
        let summary = read.summary.clone().unwrap();
        assert!(summary.split_whitespace().count() <= MAX_SUMMARY_WORDS, "{summary}");
        let rating = read.rating.map(u8::from) == Some(example.rating);
        let intent = read.intent == Some(example.intent);
        let junk = read.junk != example.junk.is_empty();
        let confidence = read.junk_confidence.map(|confidence| match confidence {
            JunkConfidence::Low => "low",
            JunkConfidence::Medium => "medium",
            JunkConfidence::High => "high",
        });
        agreement.rating += usize::from(rating);
        agreement.intent += usize::from(intent);
        agreement.junk += usize::from(junk);
        agreement.junk_messages += usize::from(!example.junk.is_empty());
        let sure = confidence.is_some_and(|confidence| example.junk.iter().any(|right| right == confidence));
        agreement.confidence += usize::from(sure);
        agreement.lost += usize::from(example.junk.is_empty() && confidence == Some("high"));
        if !rating || !intent || !junk || (!example.junk.is_empty() && !sure) {
            let text: String = example
                .conversation
                .messages
                .iter()
                .map(|message| format!("{} / ", message.text))
                .collect();
            println!(
                "{}{}{}{} {:?}->{} {:?}->{:?} {:?}->{:?}\n    {:.160?}\n    {summary}",
                if rating { '.' } else { 'R' },
                if intent { '.' } else { 'I' },
                if junk { '.' } else { 'J' },
                if example.junk.is_empty() || sure { '.' } else { 'C' },
                example.rating,
                u8::from(read.rating.unwrap()),
                example.intent.id(),
                read.intent.map(LeadType::id),
                example.junk,
                confidence,
                text,
            );
        } else if std::env::var_os("SHOW").is_some() {
            println!("ok {} {summary}", example.rating);
        }
    }
    let percent = |count: usize, all: usize| {
        format!(
            "{:.1} %",
            100.0 * f64::from(u32::try_from(count).unwrap()) / f64::from(u32::try_from(all).unwrap())
        )
    };
    println!(
        "{name}: {} enquiries; rating {}, intent {}, junk {}; confidence of {} junk messages {}; {} real enquiries marked high",
        agreement.all,
        percent(agreement.rating, agreement.all),
        percent(agreement.intent, agreement.all),
        percent(agreement.junk, agreement.all),
        agreement.junk_messages,
        percent(agreement.confidence, agreement.junk_messages.max(1)),
        agreement.lost,
    );
    agreement
}

fn assert_at_least(percent: usize, agreement: &Agreement) {
    for count in [agreement.rating, agreement.intent, agreement.junk] {
        assert!(count * 100 >= percent * agreement.all, "{count} of {}", agreement.all);
    }
    assert_eq!(agreement.lost, 0, "a real enquiry must never be put aside");
}

#[test]
fn the_rules_agree_with_the_labels() {
    let examples: Vec<Example> = LEARNT.iter().flat_map(|name| load(&text(name))).collect();
    assert!(examples.len() >= 220);
    let agreement = compare("corpus", &examples);
    assert!(agreement.junk_messages >= 50);
    assert_at_least(90, &agreement);
}

/// What the model did not learn from.
#[test]
fn the_rules_agree_on_what_they_did_not_learn_from() {
    let examples = load(&text("held_out"));
    assert!(examples.len() >= 60);
    let agreement = compare("held out", &examples);
    assert_at_least(90, &agreement);
}
