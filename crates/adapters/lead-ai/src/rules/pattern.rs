//! Finds phrases among words.

use std::collections::HashMap;

use super::words::{Group, Word, Words};

/// The maximum number of words that the sign `~` stands for.
const MAX_GAP_WORDS: usize = 3;
/// Words that refer to a particular thing.
const POINTERS: [&str; 8] = ["my", "our", "your", "the", "this", "that", "his", "her"];
/// The number of words before a phrase in which a word such as "not" reverses it.
const NEGATION_REACH: usize = 3;

/// A phrase, as the lists write it: words with a space between them.
///
/// | sign | stands for | such as |
/// | --- | --- | --- |
/// | `a\|b` | either word | `is\|was it sold` |
/// | `a?` | a word that may be missing | `is the? car sold` |
/// | `a*` | any word that begins so | `negotiat*` |
/// | `~` | up to three words, or none | `pay ~ deposit` |
/// | `_` | the same, but none that refers to a particular thing | `need _ <body>` finds "need a small estate", not "need my estate" |
/// | `<make>` | a word of that [`Group`] | `the <make>` |
/// | `^` at the front | the start of a sentence | `^yes` |
/// | `$` at the end | the end of a sentence | `interested$` |
struct Pattern {
    parts: Vec<Part>,
    at_start: bool,
    at_end: bool,
}

struct Part {
    choices: Vec<Choice>,
    optional: bool,
    gap: bool,
    /// The gap may have words that refer to a particular thing.
    any_words: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Choice {
    Word(String),
    Beginning(String),
    Kind(Group),
}

impl Choice {
    fn read(text: &'static str) -> Self {
        let group = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
        if let Some(group) = group {
            Self::Kind(group)
        } else if let Some(beginning) = text.strip_suffix('*') {
            Self::Beginning(beginning.to_owned())
        } else {
            Self::Word(text.to_owned())
        }
    }

    fn is(&self, word: &Word) -> bool {
        match self {
            Self::Word(text) => *text == word.text,
            Self::Beginning(text) => word.text.starts_with(text.as_str()),
            Self::Kind(group) => word.groups.contains(group),
        }
    }
}

impl Pattern {
    fn read(text: &'static str) -> Self {
        let (text, at_start) = text.strip_prefix('^').map_or((text, false), |text| (text, true));
        let (text, at_end) = text.strip_suffix('$').map_or((text, false), |text| (text, true));
        let parts = text.split_whitespace().map(|part| {
            let (part, optional) = part.strip_suffix('?').map_or((part, false), |part| (part, true));
            Part {
                choices: part.split('|').map(Choice::read).collect(),
                optional,
                gap: matches!(part, "~" | "_"),
                any_words: part == "~",
            }
        });
        Self {
            parts: parts.collect(),
            at_start,
            at_end,
        }
    }

    fn is_at(&self, sentence: &[Word], at: usize) -> bool {
        (!self.at_start || at == 0) && follows(&self.parts, sentence.get(at..).unwrap_or_default(), self.at_end)
    }
}

/// Returns `true` if these words begin with the parts. A phrase has few parts and gaps are short, so that this is constant work.
fn follows(parts: &[Part], words: &[Word], at_end: bool) -> bool {
    let Some((part, parts)) = parts.split_first() else {
        return !at_end || words.is_empty();
    };
    if part.gap {
        let room = words
            .iter()
            .take_while(|word| part.any_words || !POINTERS.contains(&word.text.as_str()));
        let room = room.take(MAX_GAP_WORDS).count();
        return (0..=room).any(|skipped| follows(parts, &words[skipped..], at_end));
    }
    let here = words.split_first().is_some_and(|(word, words)| {
        part.choices.iter().any(|choice| choice.is(word)) && follows(parts, words, at_end)
    });
    here || (part.optional && follows(parts, words, at_end))
}

/// Phrases, each of which stands for a `T`.
pub(super) struct Finder<T> {
    patterns: Vec<(Pattern, T)>,
    by_first_word: HashMap<String, Vec<usize>>,
    /// The phrases that begin with anything but a word.
    others: Vec<usize>,
}

/// A phrase that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Found<T> {
    /// The value of the phrase.
    pub(super) what: T,
    /// The index of the pattern.
    pub(super) pattern: usize,
    /// The index of the sentence.
    pub(super) sentence: usize,
    /// A word such as "not" is shortly before it.
    pub(super) negated: bool,
}

impl<T: Copy> Finder<T> {
    /// Makes a finder of these phrases.
    pub(super) fn new(phrases: impl Iterator<Item = (&'static str, T)>) -> Self {
        let patterns: Vec<(Pattern, T)> = phrases.map(|(text, what)| (Pattern::read(text), what)).collect();
        let mut by_first_word: HashMap<String, Vec<usize>> = HashMap::new();
        let mut others = Vec::new();
        for (index, (pattern, _)) in patterns.iter().enumerate() {
            let choices = pattern.parts.first().filter(|part| !part.optional && !part.gap);
            let words: Option<Vec<&String>> = choices.and_then(|part| {
                let words = part.choices.iter().map(|choice| match choice {
                    Choice::Word(word) => Some(word),
                    _ => None,
                });
                words.collect()
            });
            match words {
                Some(words) => {
                    for word in words {
                        by_first_word.entry(word.clone()).or_default().push(index);
                    }
                }
                None => others.push(index),
            }
        }
        Self {
            patterns,
            by_first_word,
            others,
        }
    }

    /// The words that the phrases are made of.
    pub(super) fn vocabulary(&self) -> impl Iterator<Item = &str> {
        let parts = self.patterns.iter().flat_map(|(pattern, _)| &pattern.parts);
        parts.flat_map(|part| &part.choices).filter_map(|choice| match choice {
            Choice::Word(word) => Some(word.as_str()),
            _ => None,
        })
    }

    /// Finds every phrase that these words have, in their order.
    pub(super) fn find<'a>(&'a self, words: &'a Words) -> impl Iterator<Item = Found<T>> + 'a {
        words.sentences.iter().enumerate().flat_map(move |(number, sentence)| {
            (0..sentence.len()).flat_map(move |at| {
                let first = self.by_first_word.get(sentence[at].text.as_str());
                let candidates = first.into_iter().flatten().chain(&self.others).copied();
                candidates
                    .filter(move |index| self.patterns[*index].0.is_at(sentence, at))
                    .map(move |index| Found {
                        what: self.patterns[index].1,
                        pattern: index,
                        sentence: number,
                        negated: is_negated(sentence, at),
                    })
            })
        })
    }
}

fn is_negated(sentence: &[Word], at: usize) -> bool {
    at > 0 && sentence[at - 1].text == "no"
        || sentence[at.saturating_sub(NEGATION_REACH)..at]
            .iter()
            .any(|word| matches!(word.text.as_str(), "not" | "never" | "nor" | "cancel" | "without"))
}
