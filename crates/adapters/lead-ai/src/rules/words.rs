//! Splits a text into words that patterns can be compared with: folded, spelt out, spelling mistakes mended.

use std::collections::{HashMap, HashSet};

use unicode_normalization::UnicodeNormalization;

use super::data;

/// Words shorter than this are not mended: too many others are one letter away.
const MIN_MENDED: usize = 6;
/// Words longer than this are not mended either, which bounds the work for each of them.
const MAX_MENDED: usize = 20;
/// The maximum length of a word, in bytes; the rest is dropped.
const MAX_WORD: usize = 40;

/// A word of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Word {
    /// In lower case, without accents and apostrophes.
    pub(super) text: String,
    /// Its groups, the most telling one first.
    pub(super) groups: Vec<Group>,
    /// The amount, if it is a number.
    pub(super) amount: Option<u32>,
}

/// A group of words that mean the same to the rules, of `data/words.txt` or one of these.
pub(super) type Group = &'static str;
/// A sum of money, with a sign of a currency or in thousands.
pub(super) const MONEY: Group = "money";
/// Any other number.
pub(super) const NUMBER: Group = "number";
/// A UK number plate.
pub(super) const PLATE: Group = "plate";
/// A make or a model.
pub(super) const MAKE: Group = "make";
/// Words that only hold others together.
pub(super) const FUNCTION: Group = "function";

/// A text as words, one list for each sentence.
#[derive(Clone, Default, Debug)]
pub(super) struct Words {
    pub(super) sentences: Vec<Vec<Word>>,
    /// It has a question mark.
    pub(super) asks: bool,
}

impl Words {
    /// The number of words.
    pub(super) fn count(&self) -> usize {
        self.sentences.iter().map(Vec::len).sum()
    }
}

/// Reads texts. It knows the words that patterns are made of, and mends others that are one slip away from one of them.
pub(super) struct Reader {
    known: HashSet<String>,
    /// The known words by the rest of each when it lacks one letter.
    slips: HashMap<String, Vec<String>>,
    short_forms: HashMap<&'static str, &'static str>,
    groups: HashMap<&'static str, Vec<Group>>,
    with_apostrophe: HashMap<&'static str, &'static str>,
    /// The phrases that become one word, by the first of their words; the longest first.
    joined: HashMap<&'static str, Vec<(Vec<&'static str>, &'static str)>>,
}

impl Reader {
    /// Makes a reader that knows these words.
    pub(super) fn new<'a>(patterns: impl Iterator<Item = &'a str>) -> Self {
        let mut known: HashSet<String> = patterns.map(str::to_owned).collect();
        let short_forms: HashMap<_, _> = data::pairs(data::SPELLING, "short forms").collect();
        let with_apostrophe = data::pairs(data::SPELLING, "with apostrophe").collect();
        let mut groups: HashMap<&'static str, Vec<Group>> = HashMap::new();
        for (group, words) in data::lines(data::WORDS) {
            for word in words.split_whitespace() {
                groups.entry(word).or_default().push(group);
            }
        }
        let mut joined: HashMap<&'static str, Vec<(Vec<&'static str>, &'static str)>> = HashMap::new();
        for (phrase, word) in data::pairs(data::SPELLING, "joined") {
            let words: Vec<&str> = phrase.split(' ').collect();
            known.extend(words.iter().map(|word| (*word).to_owned()));
            if let Some(first) = words.first() {
                joined.entry(first).or_default().push((words, word));
            }
        }
        for phrases in joined.values_mut() {
            phrases.sort_by_key(|(words, _)| usize::MAX - words.len());
        }
        known.extend(short_forms.keys().chain(groups.keys()).map(|word| (*word).to_owned()));
        let mut mendable: Vec<&String> = known
            .iter()
            .filter(|word| word.len() >= MIN_MENDED && word.bytes().all(|byte| byte.is_ascii_lowercase()))
            .collect();
        // In order, so that the same mistake is always mended the same way.
        mendable.sort();
        let mut slips: HashMap<String, Vec<String>> = HashMap::new();
        for word in mendable {
            for slip in with_one_letter_less(word).chain([word.clone()]) {
                slips.entry(slip).or_default().push(word.clone());
            }
        }
        Self {
            known,
            slips,
            short_forms,
            groups,
            with_apostrophe,
            joined,
        }
    }

    /// Splits a text into words.
    pub(super) fn read(&self, text: &str) -> Words {
        let mut words = Words::default();
        let mut sentence = Vec::new();
        let mut word = String::new();
        let mut has_apostrophe = false;
        let mut characters = fold(text).peekable();
        let mut previous = ' ';
        while let Some(character) = characters.next() {
            let next = characters.peek().copied().unwrap_or(' ');
            let in_number = previous.is_ascii_digit() && next.is_ascii_digit();
            if character.is_alphanumeric() || matches!(character, '£' | '$' | '€') || (character == '.' && in_number)
            {
                if word.len() < MAX_WORD {
                    word.push(character);
                }
            } else if matches!(character, '\'' | '’' | '‘' | '`') {
                has_apostrophe |= !word.is_empty();
            } else if character == ',' && in_number {
                // Part of the number, with no effect on its value.
            } else {
                self.end_word(&mut word, &mut has_apostrophe, &mut sentence);
                if matches!(character, '.' | '!' | '?' | '\n' | ';') && !sentence.is_empty() {
                    words.sentences.push(std::mem::take(&mut sentence));
                }
                words.asks |= character == '?';
            }
            previous = character;
        }
        self.end_word(&mut word, &mut has_apostrophe, &mut sentence);
        if !sentence.is_empty() {
            words.sentences.push(sentence);
        }
        for sentence in &mut words.sentences {
            self.join(sentence);
        }
        words
    }

    fn end_word(&self, word: &mut String, has_apostrophe: &mut bool, sentence: &mut Vec<Word>) {
        let had_apostrophe = std::mem::take(has_apostrophe);
        if word.is_empty() {
            return;
        }
        let whole = std::mem::take(word);
        let apart = self.with_apostrophe.get(whole.as_str()).filter(|_| had_apostrophe);
        let long = apart.or_else(|| self.short_forms.get(whole.as_str()));
        if let Some(long) = long {
            sentence.extend(long.split(' ').map(|word| self.word(word.to_owned())));
        } else {
            let mended = self.mend(whole);
            sentence.push(self.word(mended));
        }
    }

    fn word(&self, text: String) -> Word {
        let known = || self.groups.get(text.as_str()).cloned().unwrap_or_default();
        let (groups, amount) = match number(&text) {
            Some((amount, true)) => (vec![MONEY], Some(amount)),
            // Some models are numbers.
            Some((amount, false)) => (known().into_iter().chain([NUMBER]).collect(), Some(amount)),
            None if is_plate(&text) => (vec![PLATE], None),
            None => (known(), None),
        };
        Word { text, groups, amount }
    }

    /// Returns the known word that this one was meant to be, or the word itself.
    fn mend(&self, word: String) -> String {
        let is_mendable = (MIN_MENDED..=MAX_MENDED).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_lowercase())
            && !self.known.contains(word.as_str());
        if !is_mendable {
            return word;
        }
        let mut slips = with_one_letter_less(&word).chain([word.clone()]);
        let meant = slips.find_map(|slip| {
            let known = self.slips.get(&slip)?;
            known.iter().find(|known| is_one_slip(&word, known)).cloned()
        });
        drop(slips);
        meant.unwrap_or(word)
    }

    /// Makes one word of each phrase that means something other than its words.
    fn join(&self, sentence: &mut Vec<Word>) {
        let mut joined = Vec::with_capacity(sentence.len());
        let mut at = 0;
        while let Some(word) = sentence.get(at) {
            let rest = sentence.get(at..).unwrap_or_default();
            // A number plate that is written with a space.
            if let Some(second) = rest.get(1)
                && is_plate(&format!("{}{}", word.text, second.text))
            {
                joined.push(self.word(format!("{}{}", word.text, second.text)));
                at += 2;
                continue;
            }
            let found = self.joined.get(word.text.as_str()).and_then(|phrases| {
                phrases.iter().find(|(words, _)| {
                    rest.len() >= words.len() && words.iter().zip(rest).all(|(word, read)| *word == read.text)
                })
            });
            if let Some((words, one)) = found {
                joined.push(self.word((*one).to_owned()));
                at += words.len();
            } else {
                joined.push(word.clone());
                at += 1;
            }
        }
        *sentence = joined;
    }
}

/// Folds a text to lower case and compatible forms, without accents.
fn fold(text: &str) -> impl Iterator<Item = char> {
    text.nfkd()
        .filter(|character| !('\u{300}'..='\u{36f}').contains(character))
        .flat_map(char::to_lowercase)
        .map(|character| match character {
            'ł' => 'l',
            'ø' => 'o',
            'ı' => 'i',
            other => other,
        })
}

/// Returns the amount, and `true` if it is one of money.
fn number(text: &str) -> Option<(u32, bool)> {
    let bare = text.trim_start_matches(['£', '$', '€']);
    let has_sign = bare.len() < text.len();
    let (digits, thousand) = match bare.strip_suffix('k') {
        Some(digits) => (digits, true),
        None => (bare, false),
    };
    if digits.is_empty() || !digits.starts_with(|first: char| first.is_ascii_digit()) || digits.len() > 9 {
        return None;
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let whole: u32 = whole.parse().ok()?;
    let amount = if thousand {
        let tenths = fraction.get(..1).and_then(|tenth| tenth.parse().ok()).unwrap_or(0u32);
        whole.checked_mul(1000)?.checked_add(tenths * 100)?
    } else {
        whole
    };
    Some((amount, has_sign || thousand))
}

/// Returns `true` for two letters, two digits, three letters.
fn is_plate(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 7
        && bytes.iter().enumerate().all(|(at, byte)| {
            if (2..4).contains(&at) {
                byte.is_ascii_digit()
            } else {
                byte.is_ascii_lowercase()
            }
        })
}

fn with_one_letter_less(word: &str) -> impl Iterator<Item = String> {
    let letters = if word.is_ascii() { word.len() } else { 0 };
    // Never the first one: mistakes seldom begin a word.
    (1..letters).map(move |at| format!("{}{}", &word[..at], &word[at + 1..]))
}

/// Returns `true` if one letter is missing, added or wrong, or two neighbours are swapped.
fn is_one_slip(word: &str, known: &str) -> bool {
    let (a, b) = (word.as_bytes(), known.as_bytes());
    let same_start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same_start..], &b[same_start..]);
    let same_end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - same_end], &b[..b.len() - same_end]);
    same_start > 0 && (a.len().max(b.len()) <= 1 || (a.len() == 2 && b.len() == 2 && a[0] == b[1] && a[1] == b[0]))
}
