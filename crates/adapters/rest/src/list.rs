//! Lists: pages of records, written out as they are read.

use forecourt_accounts::Caller;
use forecourt_dealership::ReadSession;
use forecourt_kernel::{Cursor, ListName, Page, PageRequest, Position, Projection, View};
use futures_util::stream::try_unfold;
use serde::Serialize;
use tokio::task::yield_now;

use crate::{
    call::Call,
    error::ApiError,
    large_answers::{LargeAnswer, LargeAnswers},
    query::{Query, Rendering},
    reply::{Answer, EnvelopeWriter, append, in_parts},
    schemas,
};

/// The initial capacity of a part for each record, before their size is known.
const USUAL_BYTES: usize = 1024;
/// The maximum number of records that are read at once, however small they are.
const MAX_AT_ONCE: u32 = 250;

/// A page of a list.
// The shape that `ListRequest::answer` writes record by record.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct PageEnvelope<T> {
    /// Always true.
    #[schema(schema_with = schemas::success)]
    success: bool,
    /// The records of the page.
    data: Vec<T>,
    /// The position of the page.
    meta: PageMeta,
}

#[derive(Serialize, utoipa::ToSchema)]
struct PageMeta {
    pagination: Pagination,
}

/// The position of a page in its list. After a cursor only `per_page` and `next_cursor` are shown.
#[derive(Serialize, utoipa::ToSchema)]
struct Pagination {
    /// The page's number, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<u64>,
    /// The maximum number of records in a page.
    per_page: u32,
    /// The number of records in the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<i64>,
    /// The number of pages in the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_pages: Option<i64>,
    /// The value to send as `cursor` for the next page; null on the last one.
    #[schema(required)]
    next_cursor: Option<String>,
}

impl Pagination {
    fn new(list: ListName, request: &PageRequest, total: Option<i64>, next: Option<&Cursor>) -> Self {
        let number = match request.position {
            Position::Number(number) => Some(number),
            Position::After(_) => None,
        };
        let total = total.filter(|_| number.is_some());
        let per_page = i64::from(request.per_page);
        Self {
            page: number,
            per_page: request.per_page,
            total,
            total_pages: total.map(|total| (total + per_page - 1) / per_page),
            next_cursor: next.map(|cursor| cursor.encode(list)),
        }
    }
}

/// The size of a list's records, which decides how many of them are read at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecordSize {
    /// A few hundred bytes, at most a few thousand.
    Small,
    /// Up to the most that a caller may store in one record.
    Large,
}

impl RecordSize {
    fn at_once(self, large: &LargeAnswers) -> u32 {
        match self {
            Self::Small => MAX_AT_ONCE,
            Self::Large => large.records_each(),
        }
    }
}

/// The requested page of a list, and how its records are to be shown.
pub(crate) struct ListRequest {
    pub(crate) list: ListName,
    pub(crate) page: PageRequest,
    pub(crate) view: View,
    pub(crate) fields: Option<Projection>,
}

impl Call {
    /// Reads the page that a GET of `list` requests. Records with views use the `default` one if the query names none.
    ///
    /// # Errors
    /// 422 if it is not valid.
    pub(crate) fn list(&self, list: ListName, default: View) -> Result<ListRequest, ApiError> {
        let ((), request) = self.filtered_list(list, default, |_, _| ())?;
        Ok(request)
    }

    /// Reads the page that a GET of `list` requests, with the filter that `read` finds in the query; otherwise like
    /// [`Call::list`].
    ///
    /// # Errors
    /// 422 if it is not valid, 403 if the filter needs a scope that the caller lacks.
    pub(crate) fn filtered_list<F>(
        &self,
        list: ListName,
        default: View,
        read: impl FnOnce(&mut Query<'_>, &Caller) -> F,
    ) -> Result<(F, ListRequest), ApiError> {
        let mut query = self.query();
        let list = self.own_list(list);
        let filter = read(&mut query, &self.caller);
        let page = query.page(list, 1);
        let Rendering { view, fields } = query.rendering(default);
        let request = ListRequest {
            list,
            page,
            view,
            fields,
        };
        query.finish((filter, request))
    }
}

/// A place in the body of a page, into which a record is written.
pub(crate) struct Item<'a> {
    pub(crate) call: &'a Call,
    pub(crate) view: View,
    pub(crate) fields: Option<&'a Projection>,
    pub(crate) body: &'a mut Vec<u8>,
}

impl Item<'_> {
    /// Writes the record, or the part of it that `fields` names.
    pub(crate) fn show(&mut self, record: &impl Serialize) -> Result<(), ApiError> {
        append(record, self.fields, self.body)
    }
}

impl ListRequest {
    /// Returns 200 with the page. It is read part by part, each in a session of its own, which ends before the part is sent. So
    /// a slow reader holds no connection, and memory does not grow with the page.
    ///
    /// `read` may return fewer records than requested if they are large; its cursor then tells where to continue.
    pub(crate) async fn answer<T: 'static, E: Into<ApiError> + 'static>(
        self,
        call: Call,
        size: RecordSize,
        read: impl AsyncFn(&mut dyn ReadSession, &Call, &PageRequest) -> Result<Page<T>, E> + 'static,
        show: impl Fn(&mut Item<'_>, &T) -> Result<(), ApiError> + 'static,
    ) -> Result<Answer, ApiError> {
        let large = &call.worker.shared.large_answers;
        let pages = Pages {
            // It is counted before its share is computed.
            _large: (size == RecordSize::Large).then(|| large.begin()),
            left: self.page.per_page,
            next: first_part(&self.page, size.at_once(large)),
            call,
            request: self,
            size,
            total: None,
            envelope: EnvelopeWriter::default(),
            read,
            show,
        };
        let parts = try_unfold(Some(pages), async |pages| match pages {
            None => Ok(None),
            Some(mut pages) => {
                let (body, more) = pages.part().await?;
                Ok(Some((body, more.then_some(pages))))
            }
        });
        in_parts(parts).await
    }
}

/// Returns the request for the beginning of a page. For a page found by number it has the largest size that divides the page's,
/// so that it is found by a number too; the rest is found by cursor.
fn first_part(request: &PageRequest, at_once: u32) -> PageRequest {
    let PageRequest { position, per_page } = request;
    let at_once = at_once.min(*per_page);
    match position {
        Position::Number(number @ 2..) => {
            let fitting = (1..=at_once).rev().find(|part| per_page.is_multiple_of(*part));
            let part = fitting.unwrap_or(1);
            let before = (number - 1).saturating_mul(u64::from(per_page / part));
            PageRequest {
                position: Position::Number(before.saturating_add(1)),
                per_page: part,
            }
        }
        Position::Number(_) | Position::After(_) => PageRequest {
            position: position.clone(),
            per_page: at_once,
        },
    }
}

/// A page that is being written.
struct Pages<R, S> {
    call: Call,
    request: ListRequest,
    size: RecordSize,
    _large: Option<LargeAnswer>,
    /// The number of records that may still be shown.
    left: u32,
    /// The next records to read.
    next: PageRequest,
    /// The number of records in the list.
    total: Option<i64>,
    envelope: EnvelopeWriter,
    read: R,
    show: S,
}

impl<R, S> Pages<R, S> {
    /// Returns the next part of the body, and whether another one follows.
    async fn part<T, E: Into<ApiError>>(&mut self) -> Result<(Vec<u8>, bool), ApiError>
    where
        R: AsyncFn(&mut dyn ReadSession, &Call, &PageRequest) -> Result<Page<T>, E>,
        S: Fn(&mut Item<'_>, &T) -> Result<(), ApiError>,
    {
        let ListRequest {
            list,
            page,
            view,
            fields,
        } = &self.request;
        let is_first = !self.envelope.has_begun;
        if !is_first {
            // A read that does not have to wait does not yield to other tasks.
            yield_now().await;
        }
        let mut session = self.call.read().await?;
        let found = (self.read)(session.as_mut(), &self.call, &self.next)
            .await
            .map_err(E::into)?;
        drop(session);
        let mut body = Vec::with_capacity(USUAL_BYTES * (found.items.len() + 1));
        if is_first {
            self.total = found.total;
        }
        for (index, record) in found.items.iter().enumerate() {
            if index == 1 {
                body.reserve(body.len() * (found.items.len() - 1));
            }
            self.envelope.element(&mut body);
            let mut item = Item {
                call: &self.call,
                view: *view,
                fields: fields.as_ref(),
                body: &mut body,
            };
            (self.show)(&mut item, record)?;
        }
        let count = u32::try_from(found.items.len()).unwrap_or(u32::MAX);
        self.left = self.left.saturating_sub(count);
        if let Some(cursor) = found.next.as_ref().filter(|_| self.left > 0) {
            // Most large records are not that large: the first ones show how many more may be read at once.
            let large = &self.call.worker.shared.large_answers;
            let mean = body.len() / found.items.len().max(1);
            let affordable = u32::try_from(large.bytes_each() / mean.max(1)).unwrap_or(u32::MAX);
            let at_once = self.size.at_once(large).max(affordable.min(MAX_AT_ONCE));
            self.next = PageRequest {
                position: Position::After(cursor.clone()),
                per_page: self.left.min(at_once),
            };
            return Ok((body, true));
        }
        let pagination = Pagination::new(*list, page, self.total, found.next.as_ref());
        self.envelope.end(&PageMeta { pagination }, &mut body)?;
        Ok((body, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(number: u64, per_page: u32, at_once: u32) -> (Option<i64>, u32) {
        let request = PageRequest {
            position: Position::Number(number),
            per_page,
        };
        let part = first_part(&request, at_once);
        assert_eq!(part.offset(), request.offset(), "{request:?}");
        (part.offset(), part.per_page)
    }

    #[test]
    fn a_page_begins_where_its_number_says_in_whatever_parts_it_is_read() {
        assert_eq!(first(1, 499, 25), (Some(0), 25));
        assert_eq!(first(3, 500, 25), (Some(1000), 25));
        assert_eq!(first(2, 499, 25), (Some(499), 1));
        assert_eq!(first(2, 50, 250), (Some(50), 50));
        assert_eq!(first(u64::MAX, 500, 25).0, Some(i64::MAX));
    }

    #[test]
    fn a_page_behind_a_cursor_begins_there() {
        let request = PageRequest {
            position: Position::After(Cursor::at([7])),
            per_page: 500,
        };
        let part = first_part(&request, 25);
        assert_eq!((part.position, part.per_page), (request.position, 25));
    }

    #[test]
    fn all_large_answers_hold_few_records_together() {
        let large = LargeAnswers::default();
        let mut answers = Vec::new();
        for (under_way, each) in [(1, 50), (2, 25), (20, 2), (1_000, 1)] {
            answers.resize_with(under_way, || large.begin());
            assert_eq!(RecordSize::Large.at_once(&large), each);
            assert_eq!(RecordSize::Small.at_once(&large), 250);
        }
    }
}
