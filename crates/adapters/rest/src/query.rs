//! Reads a query: each parameter is checked and every fault reported (contract, "Common rules" 4 to 7; decisions §3, "Lists").

use std::{borrow::Cow, str::FromStr, time::Duration};

use forecourt_accounts::Caller;
use forecourt_kernel::{
    Country, Cursor, Line, ListName, PageRequest, Phone, Position, Projection, Range, Scope, TextFilter, Timestamp,
    TooManyItems, ValidationErrors, View, bounds::MAX_ITEMS,
};

use crate::{error::ApiError, tail::MAX_WAIT};

/// The last page that can be requested; clients hold numbers in 64 bits with a sign.
const MAX_PAGE: u64 = i64::MAX.unsigned_abs();

/// The parameters of a query, read one at a time. Parameters that are not read are ignored.
pub(crate) struct Query<'a> {
    pairs: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    errors: ValidationErrors,
    denied: Option<Scope>,
}

impl<'a> Query<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let pairs = if text.is_empty() {
            Vec::new()
        } else {
            form_urlencoded::parse(text.as_bytes()).collect()
        };
        Self {
            pairs,
            errors: ValidationErrors::new(),
            denied: None,
        }
    }

    /// Adds faults found before the query was read.
    pub(crate) fn with_faults(self, errors: ValidationErrors) -> Self {
        Self { errors, ..self }
    }

    /// Returns `value`, if no fault was found.
    pub(crate) fn finish<T>(self, value: T) -> Result<T, ApiError> {
        match self.denied {
            // Scopes are checked before fields.
            Some(scope) => Err(ApiError::scope_denied(scope)),
            None => Ok(self.errors.into_result(value)?),
        }
    }

    /// Returns the parameter's text; the last one if it is given more than once.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.pairs
            .iter()
            .rev()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_ref())
    }

    /// Returns the text of a parameter that has one value. Written as an array, it is refused, not ignored.
    fn scalar(&mut self, name: &str) -> Option<Cow<'a, str>> {
        if self.pairs.iter().any(|(key, _)| index_of(key, name).is_some()) {
            self.errors.add(name, "must be a single value, not an array");
            return None;
        }
        let (_, value) = self.pairs.iter().rev().find(|(key, _)| key == name)?;
        Some(value.clone())
    }

    /// Reads the parameter, a line of text, with `parse`. An empty one counts as absent.
    pub(crate) fn with<T, E: ToString>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<T, E>) -> Option<T> {
        let text = self.scalar(name).filter(|text| !text.is_empty())?;
        self.line(name, text, parse)
    }

    /// Reads the parameter, a line of text, with `parse`, even if it is empty.
    pub(crate) fn with_empty<T, E: ToString>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.scalar(name)?;
        self.line(name, text, parse)
    }

    fn line<T, E: ToString>(
        &mut self,
        name: &str,
        text: Cow<'a, str>,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let line = Line::new(text).map_err(|error| error.to_string());
        let read = line.and_then(|line| parse(&line).map_err(|error| error.to_string()));
        read.map_err(|message| self.errors.add(name, message)).ok()
    }

    /// Reads a required parameter.
    pub(crate) fn required<T, E: ToString>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        if self.text(name).is_none_or(str::is_empty) {
            self.errors.add(name, "is required");
            return None;
        }
        self.with(name, parse)
    }

    /// Reads the parameter by its type's `FromStr`.
    pub(crate) fn parsed<T: FromStr<Err: ToString>>(&mut self, name: &str) -> Option<T> {
        self.with(name, str::parse)
    }

    /// Reads a whole number.
    pub(crate) fn integer(&mut self, name: &str) -> Option<i64> {
        self.with(name, |text| text.parse().map_err(|_| "must be a whole number"))
    }

    /// Reads true or false.
    pub(crate) fn truth(&mut self, name: &str) -> Option<bool> {
        self.with(name, |text| match text {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err("must be true or false"),
        })
    }

    /// Reads a text that may hold wildcards, for which `by` needs a scope.
    pub(crate) fn filter(&mut self, name: &str, by: &Caller) -> Option<TextFilter> {
        if self.text(name).is_some_and(TextFilter::is_wildcard) && !by.may(Scope::SearchWildcard) {
            self.denied = Some(Scope::SearchWildcard);
            return None;
        }
        self.with(name, TextFilter::parse)
    }

    /// Reads a telephone number in any usual spelling; without a country code it is one of `home`.
    pub(crate) fn phone(&mut self, name: &str, home: Country) -> Option<Phone> {
        self.with(name, |text| match text.strip_prefix(' ') {
            // An unescaped + arrives as a space.
            Some(rest) if rest.starts_with(|first: char| first.is_ascii_digit()) => {
                Phone::parse(&format!("+{rest}"), home)
            }
            _ => Phone::parse(text, home),
        })
    }

    /// Reads a moment or a range of moments.
    pub(crate) fn moments(&mut self, name: &str) -> Option<Range<Timestamp>> {
        let read = |text: &str| {
            text.parse()
                .map(Timestamp::from_epoch_seconds)
                .map_err(|_| "must be a Unix timestamp")
        };
        self.range(name, read)
    }

    /// Returns the texts of a parameter that may be given as an array, `name[]=a&name[]=b`, `name[0]=a&name[1]=b` or
    /// `name=a&name=b`, or as one value. Returns none if it is absent or empty.
    pub(crate) fn texts(&mut self, name: &str) -> Vec<&str> {
        let elements = || elements(&self.pairs, name);
        if elements().any(|(index, _)| index.bytes().any(|byte| !byte.is_ascii_digit())) {
            self.errors.add(name, "must be one value or an array");
        } else if elements().count() > MAX_ITEMS {
            self.errors.add(name, TooManyItems(MAX_ITEMS).to_string());
        } else {
            let single = self.text(name).filter(|_| elements().count() == 1);
            let texts = elements().map(|(_, text)| text);
            return texts.filter(|_| single != Some("")).collect();
        }
        Vec::new()
    }

    /// Reads `wait`: the time for which the answer may be held back while there is nothing to show.
    pub(crate) fn wait(&mut self) -> Duration {
        let wait = self.with_empty("wait", |text| {
            whole_number(text)
                .and_then(|seconds| u64::try_from(seconds).ok())
                .filter(|seconds| *seconds <= MAX_WAIT.as_secs())
                .ok_or("must be a whole number of seconds from 0 to 30")
        });
        Duration::from_secs(wait.unwrap_or_default())
    }

    /// Records that a parameter is wrong.
    pub(crate) fn fault(&mut self, name: &str, message: impl Into<String>) {
        self.errors.add(name, message);
    }

    /// Reads a value, `name=a`, or an array of two bounds: `name[]=a&name[]=b`, `name[0]=a&name[1]=b`, `name=a&name=b`. An
    /// empty bound is open.
    pub(crate) fn range<T: Copy, E: ToString>(
        &mut self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<Range<T>> {
        let mut plain = self.pairs.iter().filter(|(key, _)| key == name);
        let indexed = self.pairs.iter().any(|(key, _)| index_of(key, name).is_some());
        if let (Some((_, exact)), None, false) = (plain.next(), plain.next(), indexed) {
            let read = parse(exact).map(Range::exactly).map_err(|error| error.to_string());
            return read.map_err(|message| self.errors.add(name, message)).ok();
        }
        let mut bounds: [Option<&str>; 2] = [None, None];
        let mut next = 0;
        for (key, value) in &self.pairs {
            let at = match index_of(key, name) {
                // An array begun in one spelling cannot be continued in another.
                None if key == name && indexed => None,
                None if key == name => Some(next),
                None => continue,
                Some("") => Some(next),
                Some(index) => index.parse().ok(),
            };
            match at.and_then(|at: usize| Some((at, bounds.get_mut(at)?))) {
                Some((at, bound)) => {
                    *bound = Some(value);
                    next = at + 1;
                }
                None => {
                    self.errors.add(name, "must be one value or an array of two bounds");
                    return None;
                }
            }
        }
        if bounds == [None, None] {
            return None;
        }
        let read = |bound: Option<&str>| bound.filter(|text| !text.is_empty()).map(&parse).transpose();
        match bounds.map(read) {
            [Ok(from), Ok(to)] => Some(Range { from, to }),
            [Err(error), _] | [_, Err(error)] => {
                self.errors.add(name, error.to_string());
                None
            }
        }
    }

    /// Reads the requested page of a list whose order has `width` sort values. An empty cursor is that of the first page.
    pub(crate) fn page(&mut self, list: ListName, width: usize) -> PageRequest {
        let per_page = self.per_page();
        let has_cursor = self
            .pairs
            .iter()
            .any(|(key, _)| key == "cursor" || index_of(key, "cursor").is_some());
        let position = if has_cursor {
            let read = |text: &str| match text {
                // Before the first record.
                "" => Ok(Cursor::at(vec![i64::MAX; width])),
                text => Cursor::decode(list, width, text),
            };
            self.with_empty("cursor", read).map(Position::After)
        } else {
            let read_page = |text: &str| match text.parse() {
                Ok(page @ 1..=MAX_PAGE) => Ok(page),
                _ => Err("must be a whole number from 1 to 9223372036854775807"),
            };
            self.with_empty("page", read_page).map(Position::Number)
        };
        PageRequest {
            position: position.unwrap_or(Position::Number(1)),
            per_page,
        }
    }

    /// Reads the number of records per page.
    pub(crate) fn per_page(&mut self) -> u32 {
        let read = |text: &str| match text.parse() {
            Ok(per_page @ 1..=PageRequest::MAX_PER_PAGE) => Ok(per_page),
            _ => Err("must be a whole number from 1 to 500"),
        };
        self.with_empty("per_page", read)
            .unwrap_or(PageRequest::DEFAULT_PER_PAGE)
    }

    /// Reads the fields and the view to show. `fields` goes before `view`, and takes from the full view.
    pub(crate) fn rendering(&mut self, default: View) -> Rendering {
        let view = self.with_empty("view", str::parse).unwrap_or(default);
        let fields = self.fields();
        let view = if fields.is_some() { View::Full } else { view };
        Rendering { view, fields }
    }

    /// Reads the fields to show.
    pub(crate) fn fields(&mut self) -> Option<Projection> {
        let text = self.scalar("fields")?;
        Projection::parse(&text)
            .map_err(|error| self.errors.add("fields", error.to_string()))
            .ok()
            .flatten()
    }
}

/// Returns the number that these digits form. A sign is refused, and so is a number that does not fit.
pub(crate) fn whole_number(text: &str) -> Option<i64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Returns the elements of the array `name` in the order of the query, each with its index. The index is empty for `name[]=a`,
/// and for `name=a`, which is an element too if there are several.
fn elements<'q>(pairs: &'q [(Cow<'_, str>, Cow<'_, str>)], name: &str) -> impl Iterator<Item = (&'q str, &'q str)> {
    pairs.iter().filter_map(move |(key, value)| {
        let index = if key == name { "" } else { index_of(key, name)? };
        Some((index, value.as_ref()))
    })
}

/// Returns the text in the brackets if `key` is an element of the array `name`: `name[]`, `name[0]`. If the bracket is not
/// closed, the text is not an index, but is returned to be refused.
fn index_of<'k>(key: &'k str, name: &str) -> Option<&'k str> {
    let element = key.strip_prefix(name)?;
    let index = element.strip_prefix('[')?;
    Some(index.strip_suffix(']').unwrap_or(element))
}

/// The view and the fields in which a record is to be shown.
#[derive(Clone, Debug)]
pub(crate) struct Rendering {
    pub(crate) view: View,
    pub(crate) fields: Option<Projection>,
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::ScopeSet;

    use super::*;

    const LEADS: ListName = ListName::new("leads");
    use crate::{code::Code, testing::a_caller};

    fn faults(query: Query<'_>) -> Vec<String> {
        match query.finish(()) {
            Ok(()) => Vec::new(),
            Err(error) => {
                let refusal = error.into_refusal();
                assert_eq!(refusal.code, Code::VALIDATION_FAILED);
                let details = refusal.details.unwrap();
                details["errors"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|error| error["field"].as_str().unwrap().to_owned())
                    .collect()
            }
        }
    }

    #[test]
    fn a_range_is_read_in_every_spelling() {
        let at = |seconds| Some(Timestamp::from_epoch_seconds(seconds));
        for (text, from, to) in [
            ("created=5", at(5), at(5)),
            ("created[]=5&created[]=9", at(5), at(9)),
            ("created%5B%5D=5&created%5B%5D=9", at(5), at(9)),
            ("created[0]=5&created[1]=9", at(5), at(9)),
            ("created[1]=9&created[0]=5", at(5), at(9)),
            ("created[]=&created[]=9", None, at(9)),
            ("created[]=5&created[]=", at(5), None),
            ("created=5&created=9", at(5), at(9)),
            ("created=&created=9", None, at(9)),
            ("created=5&created=", at(5), None),
            ("created=&created=", None, None),
        ] {
            let mut query = Query::new(text);
            assert_eq!(query.moments("created"), Some(Range { from, to }), "{text}");
            assert!(faults(query).is_empty());
        }
    }

    #[test]
    fn a_bad_range_is_reported() {
        for text in [
            "created=",
            "created=x",
            "created[]=1&created[]=2&created[]=3",
            "created=1&created=2&created=3",
            "created=1&created=x",
            "created=1&created[]=2",
            "created[]=&created=2",
            "created[2]=1",
            "created[a]=1",
            "created[]=x",
        ] {
            let mut query = Query::new(text);
            assert_eq!(query.moments("created"), None, "{text}");
            assert_eq!(faults(query), ["created"], "{text}");
        }
    }

    #[test]
    fn a_list_of_texts_is_read_in_every_spelling() {
        for (text, texts) in [
            ("event=a", &["a"][..]),
            ("event=a&event=b", &["a", "b"]),
            ("event[]=", &[""]),
            ("event[]=a&event%5B%5D=b", &["a", "b"]),
            ("event[0]=a&event[1]=b", &["a", "b"]),
            ("events=a&event.x=b", &[]),
            ("event=", &[]),
        ] {
            let mut query = Query::new(text);
            assert_eq!(query.texts("event"), texts, "{text}");
            assert!(faults(query).is_empty());
        }
        let many = "event[]=a&".repeat(501);
        for text in ["event[x]=c", "event[=c", &many] {
            let mut query = Query::new(text);
            assert!(query.texts("event").is_empty(), "{text}");
            assert_eq!(faults(query), ["event"]);
        }
    }

    #[test]
    fn a_single_value_is_not_written_as_an_array() {
        for key in ["site[]", "site[0]", "site%5B%5D", "site[x]", "site[", "site[][a]"] {
            for text in [format!("{key}=1"), format!("site=1&{key}=1")] {
                let mut query = Query::new(&text);
                assert_eq!(query.integer("site"), None, "{text}");
                assert_eq!(faults(query), ["site"], "{text}");
            }
        }
        let mut query = Query::new("page[]=1&per_page[]=1&view[]=full&fields[]=id&name[]=a&phone[0]=1");
        query.page(LEADS, 1);
        query.rendering(View::Simple);
        query.filter("name", &a_caller(Scope::LeadsRead));
        query.phone("phone", Country::GB);
        assert_eq!(faults(query), ["per_page", "page", "view", "fields", "name", "phone"]);
        let mut query = Query::new("cursor[]=x");
        query.page(LEADS, 1);
        assert_eq!(faults(query), ["cursor"]);
    }

    #[test]
    fn an_empty_filter_is_none() {
        let mut query = Query::new("site=&status=&name=&phone=");
        let by = a_caller(ScopeSet::default());
        assert_eq!(query.integer("site"), None);
        assert_eq!(query.parsed::<u8>("status"), None);
        assert_eq!(query.filter("name", &by), None);
        assert_eq!(query.phone("phone", Country::GB), None);
        assert!(faults(query).is_empty());
        let mut query = Query::new("resource=&page=&per_page=&view=");
        query.required::<u8, _>("resource", str::parse);
        query.page(LEADS, 1);
        query.rendering(View::Simple);
        assert_eq!(faults(query), ["resource", "per_page", "page", "view"]);
    }

    #[test]
    fn every_text_of_a_query_is_bounded() {
        let long = "a".repeat(256);
        let many = "id,".repeat(101);
        let text = format!("name={long}&email=a%25{long}&phone={long}&status={long}&fields={many}&cursor={long}");
        let mut query = Query::new(&text);
        let by = a_caller(Scope::SearchWildcard);
        query.filter("name", &by);
        query.filter("email", &by);
        query.phone("phone", Country::GB);
        query.parsed::<u8>("status");
        query.rendering(View::Simple);
        query.page(LEADS, 1);
        assert_eq!(faults(query), ["name", "email", "phone", "status", "fields", "cursor"]);
    }

    #[test]
    fn every_fault_of_a_query_is_reported() {
        let mut query = Query::new("page=0&per_page=501&site=x&view=tiny");
        query.page(LEADS, 1);
        query.integer("site");
        query.rendering(View::Simple);
        assert_eq!(faults(query), ["per_page", "page", "site", "view"]);
        let mut query = Query::new("page=9223372036854775808");
        query.page(LEADS, 1);
        assert_eq!(faults(query), ["page"]);
        let mut query = Query::new("page=9223372036854775807");
        query.page(LEADS, 1);
        assert_eq!(faults(query), [""; 0]);
    }

    #[test]
    fn with_a_cursor_the_page_is_ignored() {
        let cursor = Cursor::at([7]);
        let text = format!("page=0&cursor={}", cursor.encode(LEADS));
        let mut query = Query::new(&text);
        assert_eq!(query.page(LEADS, 1).position, Position::After(cursor));
        assert!(faults(query).is_empty());
        let first = Position::After(Cursor::at([i64::MAX]));
        assert_eq!(Query::new("cursor=").page(LEADS, 1).position, first);
        let mut query = Query::new("cursor=x");
        query.page(LEADS, 1);
        assert_eq!(faults(query), ["cursor"]);
    }

    #[test]
    fn fields_take_from_the_full_view() {
        let rendering = Query::new("view=simple&fields=data.source").rendering(View::Simple);
        assert!(rendering.view == View::Full && rendering.fields.is_some());
        assert!(Query::new("fields=").rendering(View::Simple).fields.is_none());
    }
}
