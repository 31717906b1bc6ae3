//! Opening hours as spans of time, in the business's time zone. Days of 23 and 25 hours come out right, because hours are compared
//! with the clock on the wall: a moment is open if the clock then shows a time within the hours of its day.

use std::collections::BTreeSet;

use forecourt_accounts::Business;
use forecourt_kernel::{Date, TimeZone, Timestamp};
use forecourt_reference::{Calendar, OpenSpan, OpeningHours, Weekday};

const SECONDS_PER_DAY: i64 = 86_400;
const SECONDS_PER_MINUTE: i64 = 60;
/// Clocks of one place change at most once in this time.
const REGIME_STEP: i64 = SECONDS_PER_DAY;

/// A span of time, from its first second up to its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Span {
    /// Its first second.
    pub start: i64,
    /// The second after its last one.
    pub end: i64,
}

impl Span {
    /// The span between two moments.
    pub const fn between(start: Timestamp, end: Timestamp) -> Self {
        Self {
            start: start.epoch_seconds(),
            end: end.epoch_seconds(),
        }
    }

    /// Returns `true` if they have a second in common.
    pub const fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Returns `true` if `other` lies within it.
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Returns the span with this much more on both sides.
    #[must_use]
    pub const fn widened(self, seconds: i64) -> Self {
        Self {
            start: self.start.saturating_sub(seconds),
            end: self.end.saturating_add(seconds),
        }
    }

    fn common(self, other: Self) -> Option<Self> {
        let common = Self {
            start: self.start.max(other.start),
            end: self.end.min(other.end),
        };
        (common.start < common.end).then_some(common)
    }
}

/// Joins spans that overlap or touch, in the order of time.
pub(crate) fn joined(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => joined.push(span),
        }
    }
    joined
}

/// Returns `true` if one of these spans, which are in the order of time and apart from each other, contains `span`.
pub(crate) fn any_contains(spans: &[Span], span: Span) -> bool {
    let after = spans.partition_point(|open| open.start <= span.start);
    after
        .checked_sub(1)
        .and_then(|at| spans.get(at))
        .is_some_and(|open| open.contains(span))
}

/// Returns `true` if one of these spans, which are in the order of time and apart from each other, overlaps `span`.
pub(crate) fn any_overlaps(spans: &[Span], span: Span) -> bool {
    let after = spans.partition_point(|busy| busy.end <= span.start);
    spans.get(after).is_some_and(|busy| busy.overlaps(span))
}

/// The hours of a calendar.
#[derive(Clone, Debug)]
pub struct Hours {
    zone: TimeZone,
    /// `None` for always open.
    week: Option<OpeningHours>,
    closed: BTreeSet<Date>,
}

/// A stretch of a local day, with the number of that day.
struct OpenPart {
    day: i64,
    span: Span,
}

impl Hours {
    /// The hours of a calendar, or else of the business.
    pub fn of(business: &Business, calendar: Option<&Calendar>) -> Self {
        let own = calendar.and_then(|calendar| calendar.opening_hours.as_ref());
        let week = own.or(business.settings.opening_hours.as_ref());
        Self {
            zone: business.time_zone(),
            // A week without a gap has no opening from which slots could be counted.
            week: week.filter(|week| !is_unbroken(week)).cloned(),
            closed: business.settings.closed_dates.iter().flatten().copied().collect(),
        }
    }

    /// The open times between two moments, in the order of time and apart from each other.
    pub(crate) fn open(&self, within: Span) -> Vec<Span> {
        let parts = self.parts(within).into_iter();
        joined(parts.map(|part| part.span).collect())
    }

    /// Returns `true` if it is open all the time of `span`.
    pub fn are_open(&self, span: Span) -> bool {
        any_contains(&self.open(span), span)
    }

    /// The open times from which slots are counted: each begins at an opening, or at midnight if there are no hours. The second
    /// member is the end of the open time that it belongs to.
    pub(crate) fn openings(&self, within: Span) -> Vec<(Span, i64)> {
        // An opening may lie before the span; hours with a gap have one each week.
        let seen = Span {
            start: within.start.saturating_sub(9 * SECONDS_PER_DAY),
            // A slot that begins within the span may end a day later.
            end: within.end.saturating_add(2 * SECONDS_PER_DAY),
        };
        let open = self.open(seen);
        let mut openings = Vec::new();
        if self.week.is_some() {
            openings.extend(open.iter().map(|span| (*span, span.end)));
        } else {
            let mut days: Vec<OpenPart> = Vec::new();
            for part in self.parts(seen) {
                match days.last_mut() {
                    Some(last) if last.day == part.day && last.span.end == part.span.start => {
                        last.span.end = part.span.end;
                    }
                    _ => days.push(part),
                }
            }
            for OpenPart { span, .. } in days {
                let after = open.partition_point(|open| open.start <= span.start);
                let whole = after.checked_sub(1).and_then(|at| open.get(at));
                openings.push((span, whole.map_or(span.end, |whole| whole.end)));
            }
        }
        // The first one may be cut off at the beginning.
        openings.retain(|(span, _)| span.start > seen.start && span.end > within.start && span.start < within.end);
        openings
    }

    /// The open parts of the local days between two moments.
    fn parts(&self, within: Span) -> Vec<OpenPart> {
        let mut parts = Vec::new();
        for (regime, ahead) in regimes(self.zone, within) {
            let local = Span {
                start: regime.start + ahead,
                end: regime.end + ahead,
            };
            let days = local.start.div_euclid(SECONDS_PER_DAY)..=(local.end - 1).div_euclid(SECONDS_PER_DAY);
            for day in days {
                let midnight = day * SECONDS_PER_DAY;
                for open in self.on(midnight) {
                    let open = Span {
                        start: midnight + open.start,
                        end: midnight + open.end,
                    };
                    let common = open.common(local).map(|common| Span {
                        start: common.start - ahead,
                        end: common.end - ahead,
                    });
                    parts.extend(common.map(|span| OpenPart { day, span }));
                }
            }
        }
        parts
    }

    /// The open times of a day, in seconds on its clock. `midnight` is its first second as if it were in UTC.
    fn on(&self, midnight: i64) -> Vec<Span> {
        let date = Timestamp::from_epoch_seconds(midnight).date();
        if self.closed.contains(&date) {
            return Vec::new();
        }
        let Some(week) = &self.week else {
            return vec![Span {
                start: 0,
                end: SECONDS_PER_DAY,
            }];
        };
        let spans = week.on(Weekday::from(date)).into_iter();
        spans.map(|span| clock_span(&span)).collect()
    }
}

fn clock_span(span: &OpenSpan) -> Span {
    Span {
        start: i64::from(span.opens().minutes()) * SECONDS_PER_MINUTE,
        end: i64::from(span.closes().minutes()) * SECONDS_PER_MINUTE,
    }
}

/// Returns `true` if the hours have no gap in the whole week.
fn is_unbroken(week: &OpeningHours) -> bool {
    Weekday::ALL.into_iter().all(|day| {
        let whole = Span {
            start: 0,
            end: SECONDS_PER_DAY,
        };
        week.on(day).iter().any(|span| clock_span(span).contains(whole))
    })
}

/// The times between two moments in which clocks are ahead of UTC by the same, with the seconds by which they are.
fn regimes(zone: TimeZone, within: Span) -> Vec<(Span, i64)> {
    let ahead = |at: i64| zone.seconds_ahead(Timestamp::from_epoch_seconds(at));
    let mut regimes: Vec<(Span, i64)> = Vec::new();
    let mut add = |span: Span, ahead: i64| match regimes.last_mut() {
        Some((last, same)) if *same == ahead => last.end = span.end,
        _ if span.start < span.end => regimes.push((span, ahead)),
        _ => {}
    };
    let mut start = within.start;
    while start < within.end {
        let end = start.saturating_add(REGIME_STEP).min(within.end);
        let (first, last) = (ahead(start), ahead(end));
        if first == last {
            add(Span { start, end }, first);
        } else {
            // The first moment of the new time is between them.
            let (mut old, mut new) = (start, end);
            while new - old > 1 {
                let middle = old + (new - old) / 2;
                if ahead(middle) == first {
                    old = middle;
                } else {
                    new = middle;
                }
            }
            add(Span { start, end: new }, first);
            add(Span { start: new, end }, last);
        }
        start = end;
    }
    regimes
}
