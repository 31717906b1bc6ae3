//! The filters of a list, as conditions on columns.

use forecourt_kernel::{BusinessId, Range, TextFilter, Timestamp};

use crate::statement::{Sql, Value};

/// A kind of records that has lists. Each area declares its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct RecordKind {
    /// The table with the columns that lists are filtered by. It has the columns `business_id` and `id`.
    pub(crate) table: &'static str,
    /// The table of the records themselves, by the same ids, which is also the kind of their counter. It is the same table, unless
    /// the records are too wide for a scan.
    pub(crate) rows: &'static str,
    /// SQLite's index of the texts that wildcards are searched in. A kind with few records per business does without.
    pub(crate) texts: Option<TextIndex>,
}

/// An index of texts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TextIndex {
    pub(crate) name: &'static str,
    /// It keeps texts of different columns apart, by the names of the columns.
    pub(crate) has_columns: bool,
}

/// A condition that a record must meet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Condition {
    /// A column has this value.
    Is(&'static str, Value),
    /// A column has one of these values, which are distinct.
    AnyOf(&'static str, Vec<Value>),
    /// A column has a number within these bounds.
    Within(&'static str, Range<i64>),
    /// A column has a text that matches this pattern.
    Like(&'static str, String),
    /// Another table has the record's id beside this value.
    Noted {
        table: &'static str,
        id: &'static str,
        column: &'static str,
        value: Value,
    },
}

/// The records of a business that a list shows.
///
/// An absent filter adds nothing, so that each filter of an area is one call.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Selection {
    pub(crate) kind: RecordKind,
    pub(crate) business: BusinessId,
    pub(crate) conditions: Vec<Condition>,
    /// The range of the records' creation, in epoch seconds.
    pub(crate) created: Range<i64>,
    /// Time alone changes the list.
    pub(crate) depends_on_time: bool,
}

impl Selection {
    /// Selects all records of a business.
    pub(crate) const fn all(kind: RecordKind, business: BusinessId) -> Self {
        Self {
            kind,
            business,
            conditions: Vec::new(),
            created: Range { from: None, to: None },
            depends_on_time: false,
        }
    }

    pub(crate) fn is_all(&self) -> bool {
        self.conditions.is_empty() && self.created == Range { from: None, to: None }
    }

    /// Selects records whose column has this value.
    pub(crate) fn is(&mut self, column: &'static str, value: Option<impl Into<Value>>) {
        let condition = value.map(|value| Condition::Is(column, value.into()));
        self.conditions.extend(condition);
    }

    /// Selects records whose column has one of these values.
    pub(crate) fn any_of(&mut self, column: &'static str, values: Option<impl IntoIterator<Item: Into<Value>>>) {
        let Some(values) = values else {
            return;
        };
        let mut values: Vec<Value> = values.into_iter().map(Into::into).collect();
        values.sort_unstable();
        values.dedup();
        let condition = match <[Value; 1]>::try_from(values) {
            Ok([value]) => Condition::Is(column, value),
            Err(values) => Condition::AnyOf(column, values),
        };
        self.conditions.push(condition);
    }

    /// Selects records whose column has a number within a range.
    pub(crate) fn within(&mut self, column: &'static str, range: Option<Range<i64>>) {
        let condition = range.map(|range| match range {
            Range {
                from: Some(from),
                to: Some(to),
            } if from == to => Condition::Is(column, from.into()),
            range => Condition::Within(column, range),
        });
        self.conditions.extend(condition);
    }

    /// Selects records whose column has a text that passes the filter.
    pub(crate) fn text(&mut self, column: &'static str, filter: Option<&TextFilter>) {
        let condition = filter.map(|filter| match filter {
            TextFilter::Exact(text) => Condition::Is(column, text.as_str().into()),
            TextFilter::Wildcard(pattern) => Condition::Like(column, pattern.clone()),
        });
        self.conditions.extend(condition);
    }

    /// Selects records whose id another table has beside this value.
    pub(crate) fn noted(
        &mut self,
        table: &'static str,
        id: &'static str,
        column: &'static str,
        value: Option<impl Into<Value>>,
    ) {
        let condition = value.map(|value| Condition::Noted {
            table,
            id,
            column,
            value: value.into(),
        });
        self.conditions.extend(condition);
    }

    /// Notes that the list depends on the current time: no total of it is worth remembering.
    pub(crate) const fn set_depends_on_time(&mut self) {
        self.depends_on_time = true;
    }

    /// Selects records by the time of their creation.
    pub(crate) fn created(&mut self, range: Option<Range<Timestamp>>) {
        self.created = seconds(range);
    }

    /// Selects records by the time of their latest change. A record that was last changed before some time was made before it,
    /// too.
    pub(crate) fn updated(&mut self, range: Option<Range<Timestamp>>) {
        let updated = range.map(|range| seconds(Some(range)));
        self.within("updated", updated);
        let to = updated.and_then(|updated| updated.to);
        self.created.to = [self.created.to, to].into_iter().flatten().min();
    }

    /// The columns that are to match a pattern, each with its pattern.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.conditions.iter().filter_map(|condition| match condition {
            Condition::Like(column, pattern) => Some((*column, pattern.as_str())),
            _ => None,
        })
    }

    /// Returns `true` if the total stays the same as long as no record of its kind is written. A link between a lead and a
    /// vehicle is written in neither of them.
    pub(crate) fn stands_still(&self) -> bool {
        let elsewhere =
            |condition: &Condition| matches!(condition, Condition::Noted { table, .. } if *table == "lead_vehicles");
        !self.conditions.iter().any(elsewhere)
    }
}

/// Appends the condition that a column has a number within these bounds.
pub(crate) fn within<ST>(sql: &mut Sql<ST>, column: &str, Range { from, to }: Range<i64>) {
    sql.sql(&format!("{column} IS NOT NULL"));
    for (bound, limit) in [(">=", from), ("<=", to)] {
        if let Some(limit) = limit {
            sql.sql(&format!(" AND {column} {bound} ")).bind(limit);
        }
    }
}

fn seconds(range: Option<Range<Timestamp>>) -> Range<i64> {
    let Range { from, to } = range.unwrap_or(Range { from: None, to: None });
    Range {
        from: from.map(Timestamp::epoch_seconds),
        to: to.map(Timestamp::epoch_seconds),
    }
}
