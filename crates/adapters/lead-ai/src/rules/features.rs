//! The features of a conversation that [`Model`](super::model::Model) weighs.
//!
//! A feature is a name, and most of them can be read aloud:
//!
//! | feature | the sender's latest messages … |
//! | --- | --- |
//! | `deposit` | have the word |
//! | `still_available` | have the two words side by side; `^` is the start of a sentence and `$` its end |
//! | `the.golf` | have the two words with one between them |
//! | `~avai` | have a word with these letters in a row; `<` and `>` are its start and end |
//! | `#component` | have a word of that group, such as a part of a car |
//! | `@my_component_is` | have words of these groups, or these words that only hold others together, side by side; `*` is any other |
//! | `:Availability` | have a phrase of that [`Signal`](super::signal::Signal) |
//! | `:Price+Viewing` | have phrases of both |
//! | `!Seo` | have a phrase of that kind of junk |
//! | `=asks`, `=link`, `=markup`, `=gibberish`, `=length9` | ask something, have links or markup, are random letters, are about so long |
//!
//! The rest of the conversation has features too: `-word` and `-:Availability` of the sender's messages before, `+word` and
//! `+:Availability` of the last message of the business. `=test_drive` is the form that it came in through, and there are
//! `=reply` and `=car`.

use std::collections::BTreeMap;

use forecourt_reference::LeadType;

use super::{
    Read,
    junk::JunkKind,
    junk::is_gibberish,
    pattern::Finder,
    words::{FUNCTION, MAKE, MONEY, NUMBER, PLATE, Word},
};

/// The value of a word, in tenths, and of a phrase of the other messages.
pub(super) const WHOLE: i32 = 10;
/// The value of neighbouring words and of groups.
const NEIGHBOURS: i32 = 8;
/// The value of a phrase or a mark.
pub(super) const PHRASE: i32 = 7;
/// The value of two phrases together.
const PHRASES: i32 = 6;
/// The value of a piece of a word: low, since a text has so many that they would drown the rest.
const PIECE: i32 = 4;
/// The value of a word of an earlier message, in tenths.
const EARLIER_WORD: i32 = 3;
/// The lengths of the pieces of words.
const PIECES: std::ops::RangeInclusive<usize> = 3..=5;

/// The features of a conversation with their values.
pub(super) type Features = BTreeMap<String, i32>;

/// The conversation that features are made of.
pub(super) struct Parts<'a> {
    pub(super) types: &'a [LeadType],
    /// It is about a vehicle of the stock, or a form names one.
    pub(super) has_car: bool,
    /// The sender's messages since the business wrote.
    pub(super) latest: &'a [&'a Read],
    /// Their messages before.
    pub(super) earlier: &'a [&'a Read],
    /// The message that the business wrote last before the latest ones.
    pub(super) offered: Option<&'a Read>,
}

/// The features of a conversation.
pub(super) fn features(parts: &Parts<'_>, junk: &Finder<(JunkKind, i32)>) -> Features {
    let mut features = Features::new();
    let mut add = |name: String| {
        let value = value(&name);
        features.insert(name, value);
    };
    if parts.has_car {
        add("=car".to_owned());
    }
    for kind in parts.types.iter().filter(|kind| **kind != LeadType::Email) {
        add(format!("={}", kind.id()));
    }
    if parts.offered.is_some() {
        add("=reply".to_owned());
    }
    let mut words = 0;
    for message in parts.latest {
        words += of_message(message, junk, &mut add);
    }
    let length = match words {
        0 | 1 => "1",
        2..=4 => "4",
        5..=9 => "9",
        10..=29 => "29",
        _ => "more",
    };
    add(format!("=length{length}"));
    for (sign, message) in parts
        .earlier
        .iter()
        .map(|message| ('-', *message))
        .chain(parts.offered.map(|message| ('+', message)))
    {
        for signal in &message.order {
            features.insert(format!("{sign}:{signal:?}"), WHOLE);
        }
        for word in message.words.sentences.iter().flatten() {
            features.insert(format!("{sign}{}", name(word)), EARLIER_WORD);
        }
    }
    features
}

/// The value of a feature of the latest messages.
fn value(name: &str) -> i32 {
    match name.chars().next() {
        Some('~') => PIECE,
        Some(':') if name.contains('+') => PHRASES,
        Some(':' | '!' | '=') => PHRASE,
        Some('@' | '#') => NEIGHBOURS,
        _ if name.contains(['_', '.']) => NEIGHBOURS,
        _ => WHOLE,
    }
}

/// Adds the features of a message, and returns the number of its words.
fn of_message(message: &Read, junk: &Finder<(JunkKind, i32)>, add: &mut impl FnMut(String)) -> usize {
    let mut words = 0;
    for text in [Some(&message.words), message.own_subject.then_some(&message.subject)] {
        for sentence in text.into_iter().flat_map(|text| &text.sentences) {
            words += sentence.len();
            of_sentence(sentence, add);
        }
    }
    for (at, signal) in message.order.iter().enumerate() {
        add(format!(":{signal:?}"));
        for other in message.order.iter().take(at) {
            let (one, two) = (signal.min(other), signal.max(other));
            add(format!(":{one:?}+{two:?}"));
        }
    }
    for text in [&message.words, &message.subject] {
        for found in junk.find(text) {
            let (kind, _) = found.what;
            add(format!("!{kind:?}"));
        }
    }
    let marks = [
        (message.words.asks, "=asks"),
        (message.cleaned.strange_links > 0, "=link"),
        (message.cleaned.markup, "=markup"),
        (is_gibberish(&message.words), "=gibberish"),
    ];
    for (_, mark) in marks.into_iter().filter(|(holds, _)| *holds) {
        add(mark.to_owned());
    }
    words
}

fn of_sentence(sentence: &[Word], add: &mut impl FnMut(String)) {
    let mut before = "";
    let mut previous = "^";
    for word in sentence {
        let name = name(word);
        add(name.to_owned());
        add(format!("{previous}_{name}"));
        if !before.is_empty() {
            add(format!("{before}.{name}"));
        }
        for group in word.groups.iter().filter(|group| **group != FUNCTION) {
            add(format!("#{group}"));
        }
        if !name.starts_with('<') {
            of_word(name, add);
        }
        before = previous;
        previous = name;
    }
    add(format!("{previous}_$"));
    of_groups(sentence, add);
}

/// Adds two and three neighbours of the sentence with each word replaced by its group, so that lessons about one word hold for
/// the others.
fn of_groups(sentence: &[Word], add: &mut impl FnMut(String)) {
    let mut groups = vec!["^"];
    for word in sentence {
        let group = match word.groups.first() {
            Some(&FUNCTION) => word.text.as_str(),
            Some(group) => *group,
            None => "*",
        };
        // Words of no group count once, however many there are.
        if group != "*" || groups.last() != Some(&"*") {
            groups.push(group);
        }
    }
    groups.push("$");
    for neighbours in [2, 3] {
        for some in groups.windows(neighbours) {
            add(format!("@{}", some.join("_")));
        }
    }
}

/// Adds the pieces of a word.
fn of_word(word: &str, add: &mut impl FnMut(String)) {
    let letters: Vec<char> = ['<'].into_iter().chain(word.chars()).chain(['>']).collect();
    for length in PIECES {
        for piece in letters.windows(length) {
            add(['~'].iter().chain(piece).collect());
        }
    }
}

/// Returns the word, or its kind if it matters no more than that.
fn name(word: &Word) -> &str {
    let is = |group| word.groups.contains(&group);
    if is(MAKE) {
        "<make>"
    } else if is(MONEY) {
        "<money>"
    } else if is(NUMBER) {
        "<number>"
    } else if is(PLATE) {
        "<plate>"
    } else {
        &word.text
    }
}
