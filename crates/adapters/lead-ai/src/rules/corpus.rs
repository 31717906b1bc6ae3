//! The labelled enquiries of `corpus/`, whose README explains the format.

use std::collections::BTreeSet;

use forecourt_leads::{Conversation, Utterance};
use forecourt_reference::{LeadChannel, LeadType};

/// The files that the model is trained on.
const TRAINED: [&str; 9] = [
    "ready_to_buy",
    "one_car",
    "wants_a_car",
    "vague",
    "aftersales",
    "feedback",
    "other",
    "junk",
    "conversations",
];
/// The file that it is never trained on.
const HELD_OUT: &str = "held_out";
/// The file by an author who did not know the corpus. Nothing was learnt from how it is read.
const UNSEEN: &str = "unseen";

/// An enquiry, and the reading of it that is right.
pub(super) struct Example {
    /// Everything after the labels.
    pub(super) text: String,
    types: Vec<LeadType>,
    messages: Vec<Utterance>,
    /// The association that the labels hold for; `None` for either.
    pub(super) car: Option<bool>,
    pub(super) rating: u8,
    pub(super) intent: LeadType,
    /// The confidences that are right; none if it is no junk.
    pub(super) junk: Vec<String>,
}

impl Example {
    /// A text without labels.
    pub(super) fn of_text(text: &str) -> Self {
        parse_line(&format!("2 email | {text}"))
    }

    /// The conversation, with an associated vehicle or without one.
    pub(super) fn conversation(&self, has_vehicle: bool) -> Conversation {
        Conversation {
            types: self.types.clone(),
            channel: LeadChannel::Website,
            name: "Sam Taylor".into(),
            is_answerable: true,
            vehicles: has_vehicle.then(|| "Ford Kuga".to_owned()).into_iter().collect(),
            messages: self.messages.clone(),
        }
    }

    /// The associations that the labels hold for.
    pub(super) fn associations(&self) -> Vec<bool> {
        self.car.map_or_else(|| vec![true, false], |car| vec![car])
    }

    /// The three-letter pieces of the text, by which similar ones are found.
    pub(super) fn trigrams(&self) -> BTreeSet<[char; 3]> {
        let mut letters = vec![' ', ' '];
        for character in self.text.chars().flat_map(char::to_lowercase) {
            if character.is_alphanumeric() {
                letters.push(character);
            } else if letters.last() != Some(&' ') {
                letters.push(' ');
            }
        }
        letters.push(' ');
        letters.windows(3).map(|three| [three[0], three[1], three[2]]).collect()
    }
}

/// The share of pieces that two texts have in common.
pub(super) fn similarity(one: &BTreeSet<[char; 3]>, other: &BTreeSet<[char; 3]>) -> f64 {
    let common = one.intersection(other).count();
    to_f64(common) / to_f64((one.len() + other.len() - common).max(1))
}

pub(super) fn to_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

/// The contents of the files that the model is trained on.
pub(super) fn texts() -> Vec<String> {
    TRAINED.iter().map(|name| text(name)).collect()
}

/// The enquiries that the model is trained on.
pub(super) fn trained() -> Vec<Example> {
    texts().iter().flat_map(|text| parse(text)).collect()
}

/// The enquiries that it is never trained on.
pub(super) fn held_out() -> Vec<Example> {
    parse(&text(HELD_OUT))
}

/// The enquiries that nothing was learnt from.
pub(super) fn unseen() -> Vec<Example> {
    parse(&text(UNSEEN))
}

fn text(name: &str) -> String {
    let path = format!("{}/corpus/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// The enquiries of a file.
pub(super) fn parse(text: &str) -> Vec<Example> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(parse_line).collect()
}

/// Reads a line such as `4 test_drive car type=test_drive | Subject: Golf | Can I drive it? | us: Of course. | them: When?`
fn parse_line(line: &str) -> Example {
    let (labels, text) = line.split_once(" | ").unwrap_or_else(|| panic!("no text: {line}"));
    let mut labels = labels.split(' ');
    let rating = labels.next().unwrap().parse().unwrap();
    let intent = labels.next().unwrap().parse().unwrap();
    let (mut car, mut junk, mut types) = (None, Vec::new(), vec![LeadType::Email]);
    for label in labels {
        match label.split_once('=') {
            None if label == "car" => car = Some(true),
            None if label == "no-car" => car = Some(false),
            Some(("junk", levels)) => junk = levels.split('|').map(str::to_owned).collect(),
            Some(("type", ids)) => types = ids.split(',').map(|id| id.parse().unwrap()).collect(),
            _ => panic!("{label}: {line}"),
        }
    }
    let mut subject = String::new();
    let mut messages: Vec<Utterance> = Vec::new();
    for part in text.split(" | ") {
        if let Some(part) = part.strip_prefix("Subject: ") {
            part.clone_into(&mut subject);
            continue;
        }
        let (ours, part) = match (part.strip_prefix("us: "), part.strip_prefix("them: ")) {
            (Some(part), _) => (true, part),
            (_, Some(part)) => (false, part),
            _ => (false, part),
        };
        messages.push(Utterance {
            ours,
            subject: std::mem::take(&mut subject),
            text: part.replace("\\n", "\n"),
        });
    }
    Example {
        text: text.to_owned(),
        types,
        messages,
        car,
        rating,
        intent,
        junk,
    }
}
