//! Pages of a list, by number or by cursor (contract, "Common rules" 4; decisions §3, "Lists").

use std::{fmt, str::FromStr};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};

use crate::{BusinessId, Epoch, bounds::MAX_LINE_CHARS};

/// The part of each record that a read shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// The fields that a list needs.
    Simple,
    /// Every field.
    Full,
}

impl FromStr for View {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "simple" => Ok(Self::Simple),
            "full" => Ok(Self::Full),
            _ => Err("must be simple or full"),
        }
    }
}

/// The start of a page within a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Position {
    /// The page of that number, counted from 1.
    Number(u64),
    /// After the record that the cursor marks.
    After(Cursor),
}

/// The part of a list that a caller requests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageRequest {
    /// The start of the page.
    pub position: Position,
    /// The maximum number of records, from 1 to [`PageRequest::MAX_PER_PAGE`].
    pub per_page: u32,
}

impl PageRequest {
    /// The page with the one record of that id, if it exists, in a list that is ordered newest first.
    pub fn of_one(id: i64) -> Self {
        Self {
            position: Position::After(Cursor::at([id.saturating_add(1)])),
            per_page: 1,
        }
    }

    /// The default number of records of a page.
    pub const DEFAULT_PER_PAGE: u32 = 50;
    /// The maximum number of records of a page (contract, "Limits").
    pub const MAX_PER_PAGE: u32 = 500;

    /// The first page, with the default size.
    pub const fn first() -> Self {
        Self {
            position: Position::Number(1),
            per_page: Self::DEFAULT_PER_PAGE,
        }
    }

    /// The number of records before the page; `None` if the page begins after a cursor.
    pub fn offset(&self) -> Option<i64> {
        match self.position {
            Position::Number(number) => {
                let before = number.saturating_sub(1).saturating_mul(u64::from(self.per_page));
                Some(i64::try_from(before).unwrap_or(i64::MAX))
            }
            Position::After(_) => None,
        }
    }

    /// The number of records that a store has to look for: one more than the page shows, to learn whether another page follows.
    pub fn wanted(&self) -> i64 {
        i64::from(self.per_page) + 1
    }
}

/// A part of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page<T> {
    /// The records, in the list's order.
    pub items: Vec<T>,
    /// A cursor for the last of `items`, if more records follow.
    pub next: Option<Cursor>,
    /// The number of records of the whole list. Present only if the page was requested by number.
    pub total: Option<i64>,
}

impl<T> Page<T> {
    /// Makes a page of the records found, up to [`PageRequest::wanted`] of them. The list must be ordered by `id` alone.
    pub fn of(mut found: Vec<T>, request: &PageRequest, total: Option<i64>, id: impl Fn(&T) -> i64) -> Self {
        let shown = request.per_page as usize;
        let more = found.len() > shown;
        found.truncate(shown);
        let next = found.last().filter(|_| more).map(|last| Cursor::at([id(last)]));
        Self {
            items: found,
            next,
            total,
        }
    }

    /// Converts each item of the page.
    ///
    /// # Errors
    /// The error of the first item that cannot be converted.
    pub fn try_map<U, E>(self, item: impl FnMut(T) -> Result<U, E>) -> Result<Page<U>, E> {
        Ok(Page {
            items: self.items.into_iter().map(item).collect::<Result<_, _>>()?,
            next: self.next,
            total: self.total,
        })
    }
}

/// The name of a list with cursors. A cursor of one list is refused by the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListName {
    name: &'static str,
    business: Option<BusinessId>,
    of: Option<i64>,
    epoch: Epoch,
}

impl ListName {
    /// The list of that name, of which each business has one.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            business: None,
            of: None,
            epoch: Epoch::FIRST,
        }
    }

    /// The list of that name that belongs to the record `of`.
    pub const fn within(name: &'static str, of: i64) -> Self {
        Self {
            of: Some(of),
            ..Self::new(name)
        }
    }

    /// The list that this business has.
    #[must_use]
    pub const fn of_business(self, business: BusinessId) -> Self {
        Self {
            business: Some(business),
            ..self
        }
    }

    /// The same list in `epoch`. A cursor from another epoch may mark the place of a different record by now.
    #[must_use]
    pub const fn in_epoch(self, epoch: Epoch) -> Self {
        Self { epoch, ..self }
    }
}

impl fmt::Display for ListName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.business
            .map_or(Ok(()), |business| write!(f, "@{}", business.get()))?;
        self.of.map_or(Ok(()), |of| write!(f, "-{of}"))?;
        write!(f, "{}", self.epoch.mark())
    }
}

/// A mark of a record in a list: the values that the list is ordered by. Opaque to callers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cursor(Vec<i64>);

impl Cursor {
    /// The maximum length of a cursor's text.
    pub const MAX_BYTES: usize = MAX_LINE_CHARS;

    /// A cursor for the record with these sort values.
    pub fn at(values: impl Into<Vec<i64>>) -> Self {
        Self(values.into())
    }

    /// The sort values of the marked record.
    pub fn values(&self) -> &[i64] {
        &self.0
    }

    /// The id of the marked record, in a list that is ordered by id alone.
    pub fn id(&self) -> i64 {
        self.0.first().copied().unwrap_or_default()
    }

    /// Encodes the cursor for callers, bound to the list that made it.
    pub fn encode(&self, list: ListName) -> String {
        let body = Body { list, values: &self.0 }.to_string();
        let checksum = crc32fast::hash(body.as_bytes());
        BASE64_URL_SAFE_NO_PAD.encode(format!("{body}:{checksum:08x}"))
    }

    /// Reads a cursor that `list` made. The order of the list has `width` sort values.
    ///
    /// # Errors
    /// [`InvalidCursor`] if the text is not a cursor, was altered, or was made for another list (one of another business is another
    /// list) or in another epoch.
    pub fn decode(list: ListName, width: usize, text: &str) -> Result<Self, InvalidCursor> {
        if text.len() > Self::MAX_BYTES {
            return Err(InvalidCursor);
        }
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidCursor)?;
        let whole = str::from_utf8(&bytes).map_err(|_| InvalidCursor)?;
        let (body, checksum) = whole.rsplit_once(':').ok_or(InvalidCursor)?;
        if checksum != format!("{:08x}", crc32fast::hash(body.as_bytes())) {
            return Err(InvalidCursor);
        }
        let mut parts = body.split(':');
        if parts.next() != Some(list.to_string().as_str()) {
            return Err(InvalidCursor);
        }
        let values = parts
            .map(str::parse)
            .collect::<Result<Vec<i64>, _>>()
            .map_err(|_| InvalidCursor)?;
        if values.len() == width {
            Ok(Self(values))
        } else {
            Err(InvalidCursor)
        }
    }
}

struct Body<'a> {
    list: ListName,
    values: &'a [i64],
}

impl fmt::Display for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.fmt(f)?;
        self.values.iter().try_for_each(|value| write!(f, ":{value}"))
    }
}

/// The text is not a cursor of this list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be a next_cursor that this list gave")]
pub struct InvalidCursor;

#[cfg(test)]
mod tests {
    use super::*;

    const LEADS: ListName = ListName::new("leads");

    #[test]
    fn a_page_shows_no_more_than_was_asked_for_and_marks_its_last_record_if_more_follow() {
        let request = PageRequest {
            per_page: 2,
            ..PageRequest::first()
        };
        let page = |found: &[i64]| Page::of(found.to_vec(), &request, Some(9), |id| *id);
        let shown = |items: &[i64], next: Option<i64>| Page {
            items: items.to_vec(),
            next: next.map(|id| Cursor::at([id])),
            total: Some(9),
        };
        assert_eq!(request.wanted(), 3);
        assert_eq!(page(&[5, 4, 3]), shown(&[5, 4], Some(4)));
        assert_eq!(page(&[5, 4]), shown(&[5, 4], None));
        assert_eq!(page(&[]), shown(&[], None));
        let doubled = page(&[5, 4, 3]).try_map(|id| Ok::<_, &str>(2 * id));
        assert_eq!(doubled, Ok(shown(&[10, 8], Some(4))));
        assert_eq!(page(&[5]).try_map(|_| Err::<i64, _>("no")), Err("no"));
    }

    #[test]
    fn a_cursor_reads_back() {
        let cursor = Cursor::at([42]);
        assert_eq!(Cursor::decode(LEADS, 1, &cursor.encode(LEADS)), Ok(cursor));
    }

    #[test]
    fn a_made_up_cursor_is_refused() {
        let good = Cursor::at([42]).encode(LEADS);
        for text in ["", "42", "bGVhZHM6NDI", &good[1..], &format!("{good}A")] {
            assert_eq!(Cursor::decode(LEADS, 1, text), Err(InvalidCursor), "{text:?}");
        }
        assert_eq!(Cursor::decode(LEADS, 2, &good), Err(InvalidCursor));
        assert_eq!(Cursor::decode(ListName::new("contacts"), 1, &good), Err(InvalidCursor));

        let notes = |contact| ListName::within("contact-notes", contact);
        let of_one = Cursor::at([42]).encode(notes(1));
        assert_eq!(Cursor::decode(notes(1), 1, &of_one), Ok(Cursor::at([42])));
        assert_eq!(Cursor::decode(notes(2), 1, &of_one), Err(InvalidCursor));
        let own = |business| LEADS.of_business(BusinessId::new(business));
        let of_seven = Cursor::at([42]).encode(own(7));
        assert_eq!(Cursor::decode(own(7), 1, &of_seven), Ok(Cursor::at([42])));
        assert_eq!(Cursor::decode(own(8), 1, &of_seven), Err(InvalidCursor));
        let later = |list: ListName| list.in_epoch(Epoch::new(7));
        assert_eq!(Cursor::decode(later(LEADS), 1, &good), Err(InvalidCursor));
        let of_later = Cursor::at([42]).encode(later(notes(1)));
        assert_eq!(Cursor::decode(later(notes(1)), 1, &of_later), Ok(Cursor::at([42])));
        assert_eq!(Cursor::decode(notes(1), 1, &of_later), Err(InvalidCursor));
    }

    #[test]
    fn no_page_number_overflows() {
        let last = PageRequest {
            position: Position::Number(u64::MAX),
            per_page: 500,
        };
        assert_eq!(last.offset(), Some(i64::MAX));
    }
}
