//! What a conversation has that may say something of its sender: the *features* that [`Model`](super::model::Model) weighs.
//!
//! A feature is a name, and most of them can be read aloud: `word:deposit`, `pair:still available`, `says:Availability`.
//!
//! | feature | the sender's latest messages … |
//! | --- | --- |
//! | `word:w`, `stem:w` | have the word, or one with these first letters |
//! | `word:w@car`, `word:w@no-car` | have the word, and the enquiry is about a certain car or not |
//! | `pair:v w` | have the two words side by side; `^` is the start of a sentence and `$` its end |
//! | `kind:k` | have a word of that kind, such as a part of a car |
//! | `says:s`, `first:s` | have a phrase of that [`Signal`](super::lists::Signal), or have it first |
//! | `junk:k` | have a phrase of that kind of junk |
//! | `asks`, `link`, `markup`, `gibberish`, `length:n` | ask something, have links or markup, are random letters, are about so long |
//!
//! and, of the rest of the conversation, `earlier-word:w` and `earlier:s` (their messages before), `offered:s` (what the
//! business said last), `type:t` (the form that it came in through), `reply`, `car` and `no-car`.

use std::collections::BTreeMap;

use forecourt_reference::LeadType;

use super::{
    Read,
    junk::is_gibberish,
    lists::JunkKind,
    pattern::Finder,
    words::{Class, Word, Words},
};

/// How much a feature counts, in tenths.
pub(super) const WHOLE: i32 = 10;
/// How much a word of an earlier message counts, in tenths.
const EARLIER_WORD: i32 = 3;
/// How many letters a stem has.
const STEM: usize = 5;

/// The features of a conversation, and how much each counts.
pub(super) type Features = BTreeMap<String, i32>;

/// What features are made of.
pub(super) struct Parts<'a> {
    pub(super) types: &'a [LeadType],
    /// Whether it is about a vehicle of the stock, or a form names one.
    pub(super) has_car: bool,
    /// The sender's messages since the business wrote.
    pub(super) latest: &'a [Read],
    /// Their messages before.
    pub(super) earlier: &'a [&'a Read],
    /// What the business wrote last before the latest messages.
    pub(super) offered: Option<&'a Read>,
}

/// The features of a conversation.
pub(super) fn features(parts: &Parts<'_>, junk: &Finder<(JunkKind, i32)>) -> Features {
    let mut features = Features::new();
    let mut add = |name: String| {
        features.insert(name, WHOLE);
    };
    let car = if parts.has_car { "car" } else { "no-car" };
    add(car.to_owned());
    for kind in parts.types.iter().filter(|kind| **kind != LeadType::Email) {
        add(format!("type:{}", kind.id()));
    }
    if parts.offered.is_some() {
        add("reply".to_owned());
    }
    let mut words = 0;
    for message in parts.latest {
        for text in [Some(&message.words), message.own_subject.then_some(&message.subject)] {
            let sentences = text.into_iter().flat_map(|text| &text.sentences);
            for sentence in sentences {
                words += sentence.len();
                of_sentence(sentence, car, &mut add);
            }
        }
        for signal in &message.order {
            add(format!("says:{signal:?}"));
            add(format!("says:{signal:?}@{car}"));
        }
        if let Some(first) = message.order.first() {
            add(format!("first:{first:?}"));
        }
        for text in [&message.words, &message.subject] {
            for found in junk.find(text) {
                let (kind, points) = found.what;
                add(format!("junk:{kind:?}{points}"));
            }
        }
        if message.words.asks {
            add("asks".to_owned());
            add(format!("asks@{car}"));
        }
        if message.cleaned.strange_links > 0 {
            add("link".to_owned());
        }
        if message.cleaned.markup {
            add("markup".to_owned());
        }
        if is_gibberish(&message.words) {
            add("gibberish".to_owned());
        }
    }
    let length = match words {
        0 | 1 => "1",
        2..=4 => "4",
        5..=9 => "9",
        10..=29 => "29",
        _ => "more",
    };
    add(format!("length:{length}"));
    for signal in parts.earlier.iter().flat_map(|message| &message.order) {
        add(format!("earlier:{signal:?}"));
    }
    for signal in parts.offered.iter().flat_map(|message| &message.order) {
        add(format!("offered:{signal:?}"));
    }
    let all = |words: &'_ Words| {
        words
            .sentences
            .iter()
            .flatten()
            .map(|word| name(word).to_owned())
            .collect()
    };
    for word in parts
        .earlier
        .iter()
        .flat_map(|message| -> Vec<String> { all(&message.words) })
    {
        features.insert(format!("earlier-word:{word}"), EARLIER_WORD);
    }
    features
}

fn of_sentence(sentence: &[Word], car: &str, add: &mut impl FnMut(String)) {
    let mut previous = "^";
    for word in sentence {
        let name = name(word);
        add(format!("word:{name}"));
        add(format!("word:{name}@{car}"));
        let stem: String = name.chars().take(STEM).collect();
        add(format!("stem:{stem}"));
        add(format!("pair:{previous} {name}"));
        if let Some(class) = word.class {
            add(format!("kind:{class:?}"));
            add(format!("kind:{class:?}@{car}"));
        }
        previous = name;
    }
    add(format!("pair:{previous} $"));
}

/// The word, or its kind if it matters no more than that.
fn name(word: &Word) -> &str {
    match word.class {
        Some(Class::Make) => "<make>",
        Some(Class::Money) => "<money>",
        Some(Class::Number) => "<number>",
        Some(Class::Plate) => "<plate>",
        _ => &word.text,
    }
}
