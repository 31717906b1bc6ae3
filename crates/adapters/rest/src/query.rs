//! Reading a query, each parameter judged and every fault told (contract, "Common rules" 4 to 7; decisions §3, "Lists").

use std::{borrow::Cow, str::FromStr};

use forecourt_accounts::Caller;
use forecourt_kernel::{
    Country, Cursor, ListName, PageRequest, Phone, Position, Projection, Range, Scope, TextFilter, Timestamp,
    ValidationErrors, View,
};
use utoipa::IntoParams;

use crate::{error::ApiError, text::without_nul};

/// The parameters of a query, read one by one. Parameters that nobody reads are ignored.
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

    /// What was read, if nothing was found wrong.
    pub(crate) fn finish<T>(self, value: T) -> Result<T, ApiError> {
        match self.denied {
            // Scopes are judged before fields.
            Some(scope) => Err(ApiError::scope_denied(scope)),
            None => Ok(self.errors.into_result(value)?),
        }
    }

    /// The parameter's text; the last one where it is given more than once.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.pairs
            .iter()
            .rev()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_ref())
    }

    /// Reads the parameter with `parse`.
    pub(crate) fn with<T, E: ToString>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<T, E>) -> Option<T> {
        let read = parse(self.text(name)?);
        read.map_err(|error| self.errors.add(name, error.to_string())).ok()
    }

    /// Reads a parameter that must be there.
    pub(crate) fn required<T, E: ToString>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        if self.text(name).is_none() {
            self.errors.add(name, "is required");
        }
        self.with(name, parse)
    }

    /// Reads the parameter as its type is written.
    pub(crate) fn parsed<T: FromStr<Err: ToString>>(&mut self, name: &str) -> Option<T> {
        self.with(name, str::parse)
    }

    /// Reads a whole number.
    pub(crate) fn integer(&mut self, name: &str) -> Option<i64> {
        self.with(name, |text| text.parse().map_err(|_| "must be a whole number"))
    }

    /// Reads a text that may hold wildcards, which `by` needs a scope for.
    pub(crate) fn filter(&mut self, name: &str, by: &Caller) -> Option<TextFilter> {
        let text = self.text(name)?;
        if TextFilter::is_wildcard(text) && !by.may(Scope::SearchWildcard) {
            self.denied = Some(Scope::SearchWildcard);
            return None;
        }
        self.with(name, |text| {
            TextFilter::parse(without_nul(text)?).map_err(|error| error.to_string())
        })
    }

    /// Reads a telephone number, in any usual spelling; without a country code it is one of `home`.
    pub(crate) fn phone(&mut self, name: &str, home: Country) -> Option<Phone> {
        self.with(name, |text| match text.strip_prefix(' ') {
            // A + that nobody escaped arrives as a space.
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

    /// The texts of a parameter that may be given as an array, `name[]=a&name[]=b` or `name[0]=a&name[1]=b`, or as one
    /// value; empty if it is not there.
    pub(crate) fn texts(&self, name: &str) -> Vec<&str> {
        let listed = self.pairs.iter().filter(|(key, _)| {
            let index = key
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix('[')?.strip_suffix(']'));
            index.is_some_and(|index| index.bytes().all(|byte| byte.is_ascii_digit()))
        });
        self.text(name)
            .into_iter()
            .chain(listed.map(|(_, value)| value.as_ref()))
            .collect()
    }

    /// Notes that a parameter is wrong.
    pub(crate) fn fault(&mut self, name: &str, message: impl Into<String>) {
        self.errors.add(name, message);
    }

    /// Reads a value or a two-element array of bounds: `name=a`, `name[]=a&name[]=b`, `name[0]=a&name[1]=b`. An empty
    /// bound is open.
    pub(crate) fn range<T: Copy, E: ToString>(
        &mut self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<Range<T>> {
        if let Some(exact) = self.with(name, &parse) {
            return Some(Range::exactly(exact));
        }
        let mut bounds: [Option<&str>; 2] = [None, None];
        let mut next = 0;
        for (key, value) in &self.pairs {
            let Some(index) = key
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix('[')?.strip_suffix(']'))
            else {
                continue;
            };
            let at = if index.is_empty() {
                Some(next)
            } else {
                index.parse().ok()
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

    /// Reads which page is wanted of a list whose order has `width` sort values. An empty cursor is that of the first page.
    pub(crate) fn page(&mut self, list: ListName, width: usize) -> PageRequest {
        let per_page = self.per_page();
        let position = if self.text("cursor") == Some("") {
            // Before the first record, as it were.
            Some(Position::After(Cursor::at(vec![i64::MAX; width])))
        } else if self.text("cursor").is_some() {
            self.with("cursor", |text| Cursor::decode(list, width, text))
                .map(Position::After)
        } else {
            let read_page = |text: &str| match text.parse() {
                Ok(page @ 1..) => Ok(page),
                _ => Err("must be a whole number from 1"),
            };
            self.with("page", read_page).map(Position::Number)
        };
        PageRequest {
            position: position.unwrap_or(Position::Number(1)),
            per_page,
        }
    }

    /// Reads how many records a page is to have.
    pub(crate) fn per_page(&mut self) -> u32 {
        let read = |text: &str| match text.parse() {
            Ok(per_page @ 1..=PageRequest::MAX_PER_PAGE) => Ok(per_page),
            _ => Err("must be a whole number from 1 to 500"),
        };
        self.with("per_page", read).unwrap_or(PageRequest::DEFAULT_PER_PAGE)
    }

    /// Reads how much is to be shown. `fields` goes before `view`, and takes from the full one.
    pub(crate) fn rendering(&mut self, default: View) -> Rendering {
        let view = self.parsed("view").unwrap_or(default);
        let fields = self.text("fields").and_then(Projection::parse);
        let view = if fields.is_some() { View::Full } else { view };
        Rendering { view, fields }
    }
}

/// How a record is to be shown.
#[derive(Clone, Debug)]
pub(crate) struct Rendering {
    pub(crate) view: View,
    pub(crate) fields: Option<Projection>,
}

/// How a single record can be shown, declared.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "declares the parameters; Query::rendering reads them")]
pub(crate) struct RenderingParameters {
    /// simple or full; full by default.
    view: Option<String>,
    /// Comma-separated dot-paths to be returned, from the full view.
    fields: Option<String>,
}

/// How the records of a list can be shown, declared.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "declares the parameters; Query::rendering reads them")]
pub(crate) struct ListRenderingParameters {
    /// simple or full; simple by default.
    view: Option<String>,
    /// Comma-separated dot-paths to be returned, from the full view.
    fields: Option<String>,
}

/// How whatever has one view can be shown, declared.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "declares the parameter; Call::fields and Query::rendering read it"
)]
pub(crate) struct FieldsParameter {
    /// Comma-separated dot-paths to be returned.
    fields: Option<String>,
}

/// Which page of a list can be asked for, declared.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "declares the parameters; Query::page reads them")]
pub(crate) struct PageParameters {
    /// The page's number, from 1; not heard together with cursor.
    #[param(minimum = 1)]
    page: Option<i64>,
    /// How many records a page has; 50 by default.
    #[param(minimum = 1, maximum = 500)]
    per_page: Option<i64>,
    /// `next_cursor` of the page before; empty for the first page.
    cursor: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    fn faults(query: Query<'_>) -> Vec<String> {
        match query.finish(()) {
            Ok(()) => Vec::new(),
            Err(error) => {
                let refusal = error.into_refusal();
                assert_eq!(refusal.code, Code::ValidationFailed);
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
        ] {
            let mut query = Query::new(text);
            assert_eq!(query.moments("created"), Some(Range { from, to }), "{text}");
            assert!(faults(query).is_empty());
        }
    }

    #[test]
    fn a_bad_range_is_told() {
        for text in [
            "created=",
            "created=x",
            "created[]=1&created[]=2&created[]=3",
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
            ("event=a&event=b", &["b"]),
            ("event[]=a&event%5B%5D=b", &["a", "b"]),
            ("event[0]=a&event[1]=b", &["a", "b"]),
            ("events=a&event.x=b&event[x]=c", &[]),
        ] {
            assert_eq!(Query::new(text).texts("event"), texts, "{text}");
        }
    }

    #[test]
    fn every_fault_of_a_query_is_told() {
        let mut query = Query::new("page=0&per_page=501&site=x&view=tiny");
        query.page(ListName::Leads, 1);
        query.integer("site");
        query.rendering(View::Simple);
        assert_eq!(faults(query), ["per_page", "page", "site", "view"]);
    }

    #[test]
    fn with_a_cursor_the_page_is_ignored() {
        let cursor = Cursor::at([7]);
        let text = format!("page=0&cursor={}", cursor.encode(ListName::Leads));
        let mut query = Query::new(&text);
        assert_eq!(query.page(ListName::Leads, 1).position, Position::After(cursor));
        assert!(faults(query).is_empty());
        let first = Position::After(Cursor::at([i64::MAX]));
        assert_eq!(Query::new("cursor=").page(ListName::Leads, 1).position, first);
        let mut query = Query::new("cursor=x");
        query.page(ListName::Leads, 1);
        assert_eq!(faults(query), ["cursor"]);
    }

    #[test]
    fn fields_take_from_the_full_view() {
        let rendering = Query::new("view=simple&fields=data.source").rendering(View::Simple);
        assert!(rendering.view == View::Full && rendering.fields.is_some());
        assert!(Query::new("fields=").rendering(View::Simple).fields.is_none());
    }
}
