//! Test support for use cases and stores: a clock that is set by hand, the event log and the outbox in memory, and pages of
//! records in memory.

#![expect(clippy::expect_used, reason = "this is for tests, which fail so")]

pub mod fuzz;

use std::fmt;
use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use async_trait::async_trait;

use crate::{
    BusinessId, Clock, Cursor, EventLog, Mail, MailOutbox, NewEvent, Page, PageRequest, Position, Range, StoreResult,
    Timestamp,
};

/// A clock that stands still until it is set. Clones share the time.
#[derive(Clone, Debug)]
pub struct FixedClock(Arc<AtomicI64>);

impl FixedClock {
    /// A clock that shows `now`.
    pub fn at(now: Timestamp) -> Self {
        Self(Arc::new(AtomicI64::new(now.epoch_seconds())))
    }

    /// Sets the clock.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.epoch_seconds(), Ordering::Relaxed);
    }

    /// Moves the clock on.
    pub fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_epoch_seconds(self.0.load(Ordering::Relaxed))
    }
}

/// The events that were recorded, oldest first, each with the business that it happened in.
pub type MemoryEvents = Vec<(BusinessId, NewEvent)>;

/// A store in memory that keeps its events, and so implements [`EventLog`].
pub trait HoldsEvents: Send {
    /// The events.
    fn held_events(&mut self) -> &mut MemoryEvents;
}

#[async_trait]
impl<S: HoldsEvents> EventLog for S {
    async fn record(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()> {
        self.held_events().push((business, event));
        Ok(())
    }
}

/// Records in memory with the events of their changes. It is a complete store for an area that needs nothing else.
#[derive(Clone, Debug, Default)]
pub struct WithEvents<T> {
    /// The records.
    pub records: T,
    /// The recorded events.
    pub events: MemoryEvents,
}

impl<T: Send> HoldsEvents for WithEvents<T> {
    fn held_events(&mut self) -> &mut MemoryEvents {
        &mut self.events
    }
}

/// The mails that were queued, oldest first, each with its business and the moment from which it is due.
pub type MemoryMails = Vec<(BusinessId, Mail, Timestamp)>;

/// A store in memory that keeps its mails, and so implements [`MailOutbox`].
pub trait HoldsMails: Send {
    /// The mails.
    fn held_mails(&mut self) -> &mut MemoryMails;
}

#[async_trait]
impl<S: HoldsMails> MailOutbox for S {
    async fn queue_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<()> {
        self.held_mails().push((business, mail, at));
        Ok(())
    }

    async fn queue_awaited_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<bool> {
        self.queue_mail(business, mail, at).await?;
        Ok(true)
    }

    async fn claim_mail(&mut self, _: BusinessId, _: Timestamp) -> StoreResult<bool> {
        Ok(true)
    }

    async fn queue_claimed_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<()> {
        self.queue_mail(business, mail, at).await
    }
}

/// Returns the page that `request` describes of a list in memory, which is given whole and newest first.
pub fn page_of<'a, T: Clone + 'a>(
    newest_first: impl IntoIterator<Item = &'a T>,
    request: &PageRequest,
    id: impl Fn(&T) -> i64,
) -> Page<T> {
    let all: Vec<&T> = newest_first.into_iter().collect();
    let total = request.offset().and(i64::try_from(all.len()).ok());
    let skipped = usize::try_from(request.offset().unwrap_or_default()).unwrap_or(usize::MAX);
    let before = match &request.position {
        Position::After(cursor) => cursor.id(),
        Position::Number(_) => i64::MAX,
    };
    let wanted = usize::try_from(request.wanted()).unwrap_or(usize::MAX);
    let found = all.into_iter().filter(|item| id(item) < before);
    Page::of(found.skip(skipped).take(wanted).cloned().collect(), request, total, id)
}

/// A source of choices that look random and are the same in every run, for tests of many combinations.
#[derive(Clone, Debug)]
pub struct Choices(u64);

impl Choices {
    /// The choices of the series `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number from 0 to `limit`, exclusive.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("it is below the limit")
    }

    /// Returns a number from 0 to `limit`, exclusive, as `i64` for timestamps and ids.
    pub fn number(&mut self, limit: i64) -> i64 {
        let limit = usize::try_from(limit).expect("it is positive");
        i64::try_from(self.below(limit)).expect("it is below the limit")
    }

    /// Returns `true` in `percent` of a hundred calls.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `list`.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Reads a list page by page, by number and by cursor, and asserts that it equals `expected`, newest first. `list` returns a
/// page.
///
/// # Panics
/// If the list has other items, another order, another total, or pages that do not follow each other.
pub async fn assert_pages<T: Clone + PartialEq + fmt::Debug>(
    expected: &[T],
    id: impl Fn(&T) -> i64,
    mut list: impl AsyncFnMut(PageRequest) -> Page<T>,
) {
    let whole = PageRequest {
        per_page: PageRequest::MAX_PER_PAGE,
        ..PageRequest::first()
    };
    assert!(expected.len() <= whole.per_page as usize, "the list fits on a page");
    assert_eq!(
        list(whole.clone()).await,
        page_of(expected, &whole, &id),
        "the whole list"
    );

    // Small pages for a short list, and few pages for a long one.
    let per_page = u32::try_from(expected.len() / 4 + 1).expect("it fits");
    let page = |position| PageRequest { position, per_page };
    for number in [1, 2, 3, 1_000_000, u64::MAX] {
        let request = page(Position::Number(number));
        assert_eq!(
            list(request.clone()).await,
            page_of(expected, &request, &id),
            "page {number}"
        );
    }
    let mut position = Position::After(Cursor::at([i64::MAX]));
    let mut walked = Vec::new();
    loop {
        let request = page(position);
        let part = list(request.clone()).await;
        assert_eq!(part, page_of(expected, &request, &id), "{request:?}");
        walked.extend(part.items);
        match part.next {
            Some(cursor) => position = Position::After(cursor),
            None => break,
        }
    }
    assert_eq!(walked, expected, "by cursor");
    for before_all in [0, i64::MIN] {
        let beyond = list(page(Position::After(Cursor::at([before_all])))).await;
        assert_eq!((beyond.items, beyond.next), (Vec::new(), None), "behind the last");
    }
}

/// The filter of a list by a range with both bounds.
pub const fn between<T>(from: T, to: T) -> Option<Range<T>> {
    Some(Range {
        from: Some(from),
        to: Some(to),
    })
}

/// The filter of a list by a lower bound.
pub const fn since<T>(from: T) -> Option<Range<T>> {
    Some(Range {
        from: Some(from),
        to: None,
    })
}

/// The filter of a list by an upper bound.
pub const fn until<T>(to: T) -> Option<Range<T>> {
    Some(Range {
        from: None,
        to: Some(to),
    })
}
