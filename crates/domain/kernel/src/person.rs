//! Finding a person in what is held on others, so that it can be taken out.

use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
};

use aho_corasick::{AhoCorasick, MatchKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{BoxError, ContactId, fold, phone_text::PhoneSpellings};

/// How many characters a line of an address has that is taken out of texts: house numbers alone stand for anything.
const MIN_ADDRESS_CHARS: usize = 5;
/// What stands in the place of what is taken out of a text.
const GONE: &str = "…";
/// How much is looked for at once: values, and bytes of them.
const MOST_VALUES: usize = 1_000;
const MOST_BYTES: usize = 64 * 1024;

/// What a contact is or was known by.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonKeys {
    contact: ContactId,
    names: BTreeSet<String>,
    emails: BTreeSet<String>,
    /// In E.164.
    numbers: BTreeSet<String>,
    /// Lines of addresses, and postcodes.
    addresses: BTreeSet<String>,
}

impl PersonKeys {
    /// Nothing but the contact's id.
    pub const fn new(contact: ContactId) -> Self {
        Self {
            contact,
            names: BTreeSet::new(),
            emails: BTreeSet::new(),
            numbers: BTreeSet::new(),
            addresses: BTreeSet::new(),
        }
    }

    /// Whose keys they are.
    pub const fn contact(&self) -> ContactId {
        self.contact
    }

    /// Adds a name, unless it is empty.
    pub fn add_name(&mut self, name: &str) {
        add(&mut self.names, name);
    }

    /// Adds an address for mails, unless it is empty.
    pub fn add_email(&mut self, email: &str) {
        add(&mut self.emails, email);
    }

    /// Adds a telephone number, unless it is empty.
    pub fn add_number(&mut self, e164: &str) {
        if !e164.is_empty() {
            self.numbers.insert(e164.to_owned());
        }
    }

    /// Adds a line of a postal address, or a postcode. A line without a number is as well the name of a place, or of nothing.
    pub fn add_address(&mut self, line: &str) {
        let is_specific = line.chars().any(char::is_alphabetic) && line.chars().any(char::is_numeric);
        if is_specific && line.chars().count() >= MIN_ADDRESS_CHARS {
            add(&mut self.addresses, line);
        }
    }

    /// Whether they are as many as are looked for at once.
    pub fn is_full(&self) -> bool {
        let sets = [&self.names, &self.emails, &self.numbers, &self.addresses];
        let values = sets.iter().map(|set| set.len()).sum::<usize>();
        let bytes = sets.iter().flat_map(|set| set.iter()).map(String::len).sum::<usize>();
        values >= MOST_VALUES || bytes >= MOST_BYTES
    }
}

/// Adds a text, folded, unless it is empty.
fn add(values: &mut BTreeSet<String>, text: &str) {
    let folded = fold(text);
    if !folded.is_empty() {
        values.insert(folded);
    }
}

/// Finds a person by all of their [`PersonKeys`] at once: a text is read once, however many they are.
pub struct Person {
    contact: ContactId,
    names: HashSet<String>,
    emails: HashSet<String>,
    numbers: HashSet<String>,
    /// Emails, then names, then lines of addresses.
    words: AhoCorasick,
    spellings: PhoneSpellings,
}

impl Person {
    /// The person known by these keys.
    ///
    /// # Errors
    /// They are more than can be searched for; those of [`PersonKeys::is_full`] are not.
    pub fn new(keys: &PersonKeys) -> Result<Self, BoxError> {
        let PersonKeys {
            contact,
            names,
            emails,
            numbers,
            addresses,
        } = keys;
        let words = emails.iter().chain(names).chain(addresses);
        let words = words.map(|word| Marked::new(word).text);
        Ok(Self {
            contact: *contact,
            names: names.iter().cloned().collect(),
            emails: emails.iter().cloned().collect(),
            numbers: numbers.iter().cloned().collect(),
            // The longest of several, so that no text is left with the rest of a value of which another one is a part.
            words: AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(words)?,
            spellings: PhoneSpellings::of(numbers.iter().map(String::as_str)),
        })
    }

    /// The contact that they are.
    pub const fn contact(&self) -> ContactId {
        self.contact
    }

    /// Whether the text is one of their names and nothing else.
    pub fn is_named(&self, text: &str) -> bool {
        !text.is_empty() && self.names.contains(&fold(text))
    }

    /// Whether the text is one of their addresses for mails.
    pub fn has_email(&self, text: &str) -> bool {
        !text.is_empty() && self.emails.contains(&fold(text))
    }

    /// Whether the text is one of their telephone numbers in E.164.
    pub fn has_number(&self, text: &str) -> bool {
        self.numbers.contains(text)
    }

    /// Takes the person out of a text, wherever one of their keys stands there by itself; `false` if none does.
    pub fn redact(&self, text: &mut String) -> bool {
        let marked = Marked::new(text);
        let found = self.words.find_iter(&marked.text);
        let words: Vec<_> = found.filter_map(|found| marked.origin(found.range())).collect();
        let changed = replace(text, &words);
        let numbers = self.spellings.places(text);
        replace(text, &numbers) | changed
    }

    /// Takes the person out of all texts of a value, names of members included; `false` if they are in none.
    pub fn redact_value(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => self.redact(text),
            Value::Array(items) => items
                .iter_mut()
                .fold(false, |changed, item| self.redact_value(item) | changed),
            Value::Object(members) => self.redact_members(members),
            Value::Number(digits) if self.spellings.is(&digits.to_string()) => {
                *value = Value::from(GONE);
                true
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn redact_members(&self, members: &mut Map<String, Value>) -> bool {
        let mut changed = false;
        let mut renamed = false;
        for (name, value) in members.iter_mut() {
            changed |= self.redact_value(value);
            renamed |= self.redact(&mut name.clone());
        }
        if renamed {
            let mut left = Map::with_capacity(members.len());
            for (mut name, value) in std::mem::take(members) {
                self.redact(&mut name);
                while left.contains_key(&name) {
                    name.push_str(GONE);
                }
                left.insert(name, value);
            }
            *members = left;
        }
        changed | renamed
    }

    /// Whether a mail is about the person: it has their address, one of their numbers, or a line of nothing but their name.
    pub fn is_in_mail(&self, mail: &str) -> bool {
        let named = |line: &str| line.split_once(": ").is_some_and(|(_, who)| self.is_named(who));
        let marked = Marked::new(mail);
        mail.lines().any(named)
            || self
                .words
                .find_iter(&marked.text)
                .any(|found| found.pattern().as_usize() < self.emails.len())
            || !self.spellings.places(mail).is_empty()
    }
}

/// Before and behind each character that is neither letter nor digit, and behind and before the text: so that a word between
/// two of them stands by itself, and each has its own.
const BEFORE: char = '\u{1}';
const BEHIND: char = '\u{2}';

/// A text in small letters, with marks where words may begin and end.
struct Marked {
    text: String,
    /// Of which byte of the original each byte was made, and where the next one begins.
    origins: Vec<Range<usize>>,
}

impl Marked {
    fn new(original: &str) -> Self {
        let mut marked = Self {
            text: String::with_capacity(original.len() + 2),
            origins: Vec::with_capacity(original.len() + 2),
        };
        marked.push(BEHIND, 0..0);
        for (at, character) in original.char_indices() {
            let origin = at..at + character.len_utf8();
            let mut reached = origin.start;
            for folded in character.to_lowercase() {
                let apart = !folded.is_alphanumeric();
                if apart {
                    marked.push(BEFORE, reached..reached);
                }
                // A sigma is written in another way at the end of a word.
                marked.push(if folded == 'ς' { 'σ' } else { folded }, origin.clone());
                reached = origin.end;
                if apart {
                    marked.push(BEHIND, reached..reached);
                }
            }
        }
        marked.push(BEFORE, original.len()..original.len());
        marked
    }

    fn push(&mut self, character: char, origin: Range<usize>) {
        self.text.push(character);
        self.origins.resize(self.text.len(), origin);
    }

    /// Where in the original a place of the marked text is.
    fn origin(&self, place: Range<usize>) -> Option<Range<usize>> {
        let first = self.origins.get(place.start)?;
        let last = self.origins.get(place.end.checked_sub(1)?)?;
        Some(first.start..last.end)
    }
}

/// Takes out of a text what stands in these places, which are in order; `false` if there are none.
fn replace(text: &mut String, places: &[Range<usize>]) -> bool {
    if places.is_empty() {
        return false;
    }
    let mut left = String::with_capacity(text.len());
    let mut end = 0;
    for place in places {
        left.push_str(&text[end..place.start]);
        left.push_str(GONE);
        end = place.end;
    }
    left.push_str(&text[end..]);
    *text = left;
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn known_by(names: &[&str]) -> PersonKeys {
        let mut keys = PersonKeys::new(ContactId::new(7));
        for name in names {
            keys.add_name(name);
        }
        keys
    }

    #[track_caller]
    fn assert_left(text: &str, names: &[&str], expected: &str) {
        let person = Person::new(&known_by(names)).unwrap();
        let mut left = text.to_owned();
        let changed = person.redact(&mut left);
        assert_eq!((left.as_str(), changed), (expected, text != expected));
    }

    #[test]
    fn a_value_is_taken_out_wherever_it_stands_by_itself() {
        assert_left("Ann, ann and ANN", &["ann"], "…, … and …");
        assert_left("Ann Ann\u{1}Ann", &["ann"], "… …\u{1}…");
        assert_left("Hi Annual plan", &["ann"], "Hi Annual plan");
        assert_left("joann@x.example ann@x.example", &["ann@x.example"], "joann@x.example …");
        assert_left("ring +447700900123!", &["+447700900123"], "ring …!");
        assert_left("ZOË, İ Zoë", &["zoë"], "…, İ …");
        assert_left("İan", &["İan"], "…");
        assert_left("ΣΊΣΥΦΟΣ", &["Σίσυφος"], "…");
        assert_left("x", &[""], "x");
        assert_left("-x-", &["-x-"], "…");
    }

    #[test]
    fn of_several_values_the_longest_is_taken_out() {
        let names = ["ann", "ann lee", "ann lee-smith"];
        assert_left("Ann Lee-Smith, Ann Lee and Ann Leeds", &names, "…, … and … Leeds");
    }

    #[test]
    fn values_of_any_kind_and_names_of_members_are_redacted() {
        let mut keys = known_by(&["ann"]);
        keys.add_number("+442079465555");
        let person = Person::new(&keys).unwrap();
        let mut value = json!({"Ann": {"to": ["Ann", 1, null]}, "ANN": 442_079_465_555_i64, "x": "020 7946 5555 ann"});
        assert!(person.redact_value(&mut value));
        assert_eq!(value, json!({"…": {"to": ["…", 1, null]}, "……": "…", "x": "… …"}));
        assert!(!person.redact_value(&mut value));
    }
}
