//! Search for a person in records about others, so that the person can be removed from them.

use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
};

use aho_corasick::{AhoCorasick, MatchKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{BoxError, ContactId, fold, phone_text::PhoneSpellings};

/// The minimum number of characters of an address line that is removed from texts. A house number alone could mean anything.
const MIN_ADDRESS_CHARS: usize = 5;
/// The minimum number of letters and digits of a document number that is removed from texts.
const MIN_IDENTIFIER_CHARS: usize = 6;
/// The replacement for what is removed from a text.
const REDACTED: &str = "…";
/// The maximum of one search: the number of values, and their bytes in total.
const MAX_VALUES: usize = 1_000;
const MAX_BYTES: usize = 64 * 1024;

/// The names, addresses and numbers by which a contact is or was known.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonKeys {
    contact: ContactId,
    names: BTreeSet<String>,
    emails: BTreeSet<String>,
    /// Telephone numbers in E.164.
    numbers: BTreeSet<String>,
    /// Lines of addresses, and postcodes.
    addresses: BTreeSet<String>,
    /// Numbers of driving licences and the like: only letters and digits, in capitals.
    #[serde(default)]
    identifiers: BTreeSet<String>,
    /// Set if the names are also those of a make of cars or of a company.
    #[serde(default)]
    ambiguous: bool,
    /// Names, emails and numbers that somebody else has too.
    #[serde(default)]
    shared: BTreeSet<String>,
}

impl PersonKeys {
    /// The keys of a contact of whom only the id is known.
    pub const fn new(contact: ContactId) -> Self {
        Self {
            contact,
            names: BTreeSet::new(),
            emails: BTreeSet::new(),
            numbers: BTreeSet::new(),
            addresses: BTreeSet::new(),
            identifiers: BTreeSet::new(),
            ambiguous: false,
            shared: BTreeSet::new(),
        }
    }

    /// Notes that the names can also mean others. A name in a text then does not show that the text is about this person.
    pub const fn have_ambiguous_names(&mut self) {
        self.ambiguous = true;
    }

    /// Notes that somebody else has this name, email or number too. It is given folded or in E.164. The value in a text then does
    /// not show that the text is about this person.
    pub fn share(&mut self, value: &str) {
        self.shared.insert(value.to_owned());
    }

    /// The names, folded.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The email addresses, folded.
    pub fn emails(&self) -> impl Iterator<Item = &str> {
        self.emails.iter().map(String::as_str)
    }

    /// The telephone numbers in E.164.
    pub fn numbers(&self) -> impl Iterator<Item = &str> {
        self.numbers.iter().map(String::as_str)
    }

    /// Returns keys of the same person without any values.
    #[must_use]
    pub fn emptied(&self) -> Self {
        let mut keys = Self::new(self.contact);
        keys.ambiguous = self.ambiguous;
        keys
    }

    /// The contact whose keys these are.
    pub const fn contact(&self) -> ContactId {
        self.contact
    }

    /// Adds a name, unless it is empty.
    pub fn add_name(&mut self, name: &str) {
        add(&mut self.names, name);
    }

    /// Adds an email address, unless it is empty.
    pub fn add_email(&mut self, email: &str) {
        add(&mut self.emails, email);
    }

    /// Adds a telephone number, unless it is empty.
    pub fn add_number(&mut self, e164: &str) {
        if !e164.is_empty() {
            self.numbers.insert(e164.to_owned());
        }
    }

    /// Adds a line of a postal address, or a postcode. A line without a number is ignored: it could also be the name of a place.
    pub fn add_address(&mut self, line: &str) {
        let is_specific = line.chars().any(char::is_alphabetic) && line.chars().any(char::is_numeric);
        if is_specific && line.chars().count() >= MIN_ADDRESS_CHARS {
            add(&mut self.addresses, line);
        }
    }

    /// Adds the number of a driving licence, an insurance number or the like, in any spacing. A short one is ignored: it could
    /// mean anything.
    pub fn add_identifier(&mut self, number: &str) {
        let squeezed: String = number.chars().filter(char::is_ascii_alphanumeric).collect();
        if squeezed.len() >= MIN_IDENTIFIER_CHARS && squeezed.bytes().any(|byte| byte.is_ascii_digit()) {
            self.identifiers.insert(squeezed.to_ascii_uppercase());
        }
    }

    /// Returns `true` if one search cannot take more keys.
    pub fn is_full(&self) -> bool {
        let sets = [
            &self.names,
            &self.emails,
            &self.numbers,
            &self.addresses,
            &self.identifiers,
        ];
        let values = sets.iter().map(|set| set.len()).sum::<usize>();
        let bytes = sets.iter().flat_map(|set| set.iter()).map(String::len).sum::<usize>();
        values >= MAX_VALUES || bytes >= MAX_BYTES
    }
}

/// Adds a text, folded, unless it is empty.
fn add(values: &mut BTreeSet<String>, text: &str) {
    let folded = fold(text);
    if !folded.is_empty() {
        values.insert(folded);
    }
}

/// A search for a person by all of their [`PersonKeys`] at once. A text is read once, regardless of the number of keys.
pub struct Person {
    contact: ContactId,
    names: HashSet<String>,
    emails: HashSet<String>,
    numbers: HashSet<String>,
    /// Emails, then names, then lines of addresses.
    words: AhoCorasick,
    /// Emails and whole names that are theirs alone.
    certain: AhoCorasick,
    spellings: PhoneSpellings,
    /// Telephone numbers that are theirs alone.
    certain_spellings: PhoneSpellings,
    identifiers: Identifiers,
}

impl Person {
    /// Prepares the search for the person with these keys.
    ///
    /// # Errors
    /// If there are too many keys to search for. This does not happen as long as no key was added after [`PersonKeys::is_full`].
    pub fn new(keys: &PersonKeys) -> Result<Self, BoxError> {
        let PersonKeys {
            contact,
            names,
            emails,
            numbers,
            addresses,
            identifiers,
            ambiguous,
            shared,
        } = keys;
        let words = emails.iter().chain(names).chain(addresses);
        let own = |value: &&String| !shared.contains(*value);
        let whole_names = names.iter().filter(|name| !ambiguous && is_whole_name(name));
        Ok(Self {
            contact: *contact,
            names: names.iter().cloned().collect(),
            emails: emails.iter().cloned().collect(),
            numbers: numbers.iter().cloned().collect(),
            // The longest match wins, so that no part of a value is left over when another value is a part of it.
            words: finder(words)?,
            certain: finder(emails.iter().chain(whole_names).filter(own))?,
            certain_spellings: PhoneSpellings::of(numbers.iter().filter(own).map(String::as_str)),
            identifiers: Identifiers::new(identifiers)?,
            spellings: PhoneSpellings::of(numbers.iter().map(String::as_str)),
        })
    }

    /// The person's contact.
    pub const fn contact(&self) -> ContactId {
        self.contact
    }

    /// Returns `true` if the text is one of their names and nothing else.
    pub fn is_named(&self, text: &str) -> bool {
        !text.is_empty() && self.names.contains(&fold(text))
    }

    /// Returns `true` if the text is one of their email addresses.
    pub fn has_email(&self, text: &str) -> bool {
        !text.is_empty() && self.emails.contains(&fold(text))
    }

    /// Returns `true` if the text is one of their telephone numbers in E.164.
    pub fn has_number(&self, text: &str) -> bool {
        self.numbers.contains(text)
    }

    /// Removes the person from a text, wherever one of their keys occurs as a word of its own. Returns `false` if none does.
    pub fn redact(&self, text: &mut String) -> bool {
        self.take_out(&self.words, &self.spellings, text)
    }

    /// Removes the person from a text that may be about others. Only document numbers count, and emails, telephone numbers and whole
    /// names that are theirs alone. Returns `false` if none occurs.
    pub fn redact_certain(&self, text: &mut String) -> bool {
        self.take_out(&self.certain, &self.certain_spellings, text)
    }

    fn take_out(&self, words: &AhoCorasick, spellings: &PhoneSpellings, text: &mut String) -> bool {
        let marked = Marked::new(text);
        let found = words.find_iter(&marked.text);
        let words: Vec<_> = found.filter_map(|found| marked.origin(found.range())).collect();
        let changed = replace(text, &words);
        let identifiers = self.identifiers.places(text);
        let changed = replace(text, &identifiers) | changed;
        let numbers = spellings.places(text);
        replace(text, &numbers) | changed
    }

    /// Returns `true` if a text that may be about others names the person: by a document number, or by an email, a telephone number or
    /// a whole name that is theirs alone.
    pub fn is_certainly_in(&self, text: &str) -> bool {
        self.certain.is_match(&Marked::new(text).text)
            || !self.identifiers.places(text).is_empty()
            || !self.certain_spellings.places(text).is_empty()
    }

    /// Returns `true` if a text of this JSON is certain to be about the person. JSON writes a line break as an escape, whose letter
    /// would hide where a name begins, so JSON with escapes is parsed.
    pub fn is_certainly_in_json(&self, json: &str) -> bool {
        if !json.contains('\\') {
            return self.is_certainly_in(json);
        }
        serde_json::from_str(json).is_ok_and(|mut value: Value| self.redact_certain_value(&mut value))
    }

    /// Removes the person from all texts of a value, including the names of members. Returns `false` if no text has them.
    pub fn redact_value(&self, value: &mut Value) -> bool {
        self.redact_texts(value, &|text| self.redact(text))
    }

    /// Removes the person from all texts of a value, each as in [`Person::redact_certain`].
    pub fn redact_certain_value(&self, value: &mut Value) -> bool {
        self.redact_texts(value, &|text| self.redact_certain(text))
    }

    fn redact_texts(&self, value: &mut Value, redact: &dyn Fn(&mut String) -> bool) -> bool {
        match value {
            Value::String(text) => redact(text),
            Value::Array(items) => items
                .iter_mut()
                .fold(false, |changed, item| self.redact_texts(item, redact) | changed),
            Value::Object(members) => self.redact_members(members, redact),
            Value::Number(digits) if self.spellings.is(&digits.to_string()) => {
                *value = Value::from(REDACTED);
                true
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn redact_members(&self, members: &mut Map<String, Value>, redact: &dyn Fn(&mut String) -> bool) -> bool {
        let mut changed = false;
        let mut renamed = false;
        for (name, value) in members.iter_mut() {
            changed |= self.redact_texts(value, redact);
            renamed |= redact(&mut name.clone());
        }
        if renamed {
            let mut left = Map::with_capacity(members.len());
            for (mut name, value) in std::mem::take(members) {
                redact(&mut name);
                while left.contains_key(&name) {
                    name.push_str(REDACTED);
                }
                left.insert(name, value);
            }
            *members = left;
        }
        changed | renamed
    }

    /// Returns `true` if a mail is about the person: it has their address, one of their numbers, or a line with nothing but their
    /// name.
    pub fn is_in_mail(&self, mail: &str) -> bool {
        let named = |line: &str| line.split_once(": ").is_some_and(|(_, who)| self.is_named(who));
        let marked = Marked::new(mail);
        mail.lines().any(named)
            || self
                .words
                .find_iter(&marked.text)
                .any(|found| found.pattern().as_usize() < self.emails.len())
            || !self.identifiers.places(mail).is_empty()
            || !self.spellings.places(mail).is_empty()
    }
}

/// Builds a search for whole words. The longest match wins, so that no part of a value is left over when another value is a part
/// of it.
fn finder<'a>(words: impl Iterator<Item = &'a String>) -> Result<AhoCorasick, BoxError> {
    let words = words.map(|word| Marked::new(word).text);
    Ok(AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(words)?)
}

/// Returns `true` if a name has at least two words. Such a name is taken to belong to one person.
fn is_whole_name(name: &str) -> bool {
    let words = name.split_whitespace();
    words
        .filter(|word| word.chars().filter(|letter| letter.is_alphabetic()).count() >= 2)
        .count()
        >= 2
}

/// A search for document numbers in any spacing.
struct Identifiers(Option<AhoCorasick>);

impl Identifiers {
    fn new(identifiers: &BTreeSet<String>) -> Result<Self, BoxError> {
        if identifiers.is_empty() {
            return Ok(Self(None));
        }
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(identifiers)?;
        Ok(Self(Some(finder)))
    }

    /// Returns the places in the text where a number occurs as a word of its own, in order.
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        let Some(finder) = &self.0 else {
            return Vec::new();
        };
        let mut squeezed = String::with_capacity(text.len());
        let mut origins = Vec::with_capacity(text.len());
        for (at, character) in text.char_indices() {
            if character.is_ascii_alphanumeric() {
                squeezed.push(character.to_ascii_uppercase());
                origins.push(at);
            } else if !character.is_whitespace() && !matches!(character, '-' | '.' | '/' | '_') {
                // A character that ends a number.
                squeezed.push('\0');
                origins.push(at);
            }
        }
        let found = finder.find_iter(&squeezed).filter_map(|found| {
            let start = *origins.get(found.start())?;
            let end = *origins.get(found.end().checked_sub(1)?)? + 1;
            let is_apart = |neighbour: Option<char>| neighbour.is_none_or(|neighbour| !neighbour.is_alphanumeric());
            let apart = is_apart(text[..start].chars().next_back()) && is_apart(text[end..].chars().next());
            apart.then_some(start..end)
        });
        found.collect()
    }
}

/// Marks before and after each character that is neither letter nor digit, and around the whole text. A word between two marks
/// stands alone, and neighbouring words do not share a mark.
const BEFORE: char = '\u{1}';
const AFTER: char = '\u{2}';

/// A text in small letters, with marks where words may begin and end.
struct Marked {
    text: String,
    /// For each byte, the range of the original bytes that it was made from.
    origins: Vec<Range<usize>>,
}

impl Marked {
    fn new(original: &str) -> Self {
        let mut marked = Self {
            text: String::with_capacity(original.len() + 2),
            origins: Vec::with_capacity(original.len() + 2),
        };
        marked.push(AFTER, 0..0);
        for (at, character) in original.char_indices() {
            let origin = at..at + character.len_utf8();
            let mut reached = origin.start;
            for folded in character.to_lowercase() {
                let apart = !folded.is_alphanumeric();
                if apart {
                    marked.push(BEFORE, reached..reached);
                }
                // A sigma has a different form at the end of a word.
                marked.push(if folded == 'ς' { 'σ' } else { folded }, origin.clone());
                reached = origin.end;
                if apart {
                    marked.push(AFTER, reached..reached);
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

    /// Converts a place of the marked text to the place in the original.
    fn origin(&self, place: Range<usize>) -> Option<Range<usize>> {
        let first = self.origins.get(place.start)?;
        let last = self.origins.get(place.end.checked_sub(1)?)?;
        Some(first.start..last.end)
    }
}

/// Replaces the given places of a text, which must be in order. Returns `false` if there are none.
fn replace(text: &mut String, places: &[Range<usize>]) -> bool {
    if places.is_empty() {
        return false;
    }
    let mut left = String::with_capacity(text.len());
    let mut end = 0;
    for place in places {
        left.push_str(&text[end..place.start]);
        left.push_str(REDACTED);
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

    #[test]
    fn numbers_of_documents_are_taken_out_however_they_are_spaced() {
        let mut keys = known_by(&[]);
        for number in ["QQ 80 51 70 C", "QUILL805170Z99XY", "Q7"] {
            keys.add_identifier(number);
        }
        let person = Person::new(&keys).unwrap();
        for (text, expected) in [
            ("NI qq805170c, or QQ 80-51-70 C.", "NI …, or …."),
            ("licence QUILL 805170 Z99XY", "licence …"),
            ("Q7 and AQQ805170C, QQ805170CD", "Q7 and AQQ805170C, QQ805170CD"),
            ("é QQ805170C é", "é … é"),
            ("QQ8051,70C", "QQ8051,70C"),
        ] {
            let mut left = text.to_owned();
            assert_eq!(person.redact(&mut left), text != expected, "{text}");
            assert_eq!(left, expected);
        }
        assert!(person.is_certainly_in("His is QQ 805170 C") && !person.is_certainly_in("His is QQ 805170 D"));
    }

    #[test]
    fn a_text_about_anybody_is_theirs_by_a_whole_name() {
        let keys = known_by(&["Ann", "Ann Lee"]);
        let person = Person::new(&keys).unwrap();
        assert!(person.is_certainly_in("see ann lee") && !person.is_certainly_in("see Ann"));
        let mut left = "Ann, Ann Lee".to_owned();
        assert!(person.redact_certain(&mut left));
        assert_eq!(left, "Ann, …");
        let mut ambiguous = keys;
        ambiguous.have_ambiguous_names();
        assert!(!Person::new(&ambiguous).unwrap().is_certainly_in("see ann lee"));
    }

    #[test]
    fn a_name_at_the_beginning_of_a_line_is_found_in_json() {
        let mut keys = PersonKeys::new(ContactId::new(1));
        keys.add_name("Ann Lee");
        let person = Person::new(&keys).unwrap();
        for (text, expected) in [
            ("Ann Lee rang", true),
            ("A customer:\nAnn Lee", true),
            ("\t\"Ann Lee\"", true),
            ("A customer:\nAnn Leeds", false),
        ] {
            let json = json!({"notes": text}).to_string();
            assert_eq!(person.is_certainly_in_json(&json), expected, "{json}");
        }
    }
}
