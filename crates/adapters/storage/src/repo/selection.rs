//! The records that a list shows, as conditions of its statements.

use diesel::sql_types::Bool;
use forecourt_kernel::{BusinessId, Range, TextFilter, Timestamp};

use super::dialect;
use crate::statement::{Sql, Value};

/// A kind of records that has lists. Each area declares its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordKind {
    /// The table with the columns that lists filter by. It has the columns `business_id` and `id`.
    pub(super) table: &'static str,
    /// The table of the records themselves, by the same ids, which is also the kind of their counter. It is the same table, unless
    /// the records are too wide for a scan.
    pub(super) rows: &'static str,
    /// SQLite's index of the texts that take wildcards, if it has one.
    pub(super) texts: Option<&'static str>,
}

/// The records of a business that a list shows.
///
/// An absent filter adds nothing, so that each filter of an area is one call.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    pub(super) kind: RecordKind,
    pub(super) business: BusinessId,
    /// Their number changes only when such a record is written.
    pub(super) keeps_total: bool,
    conditions: Vec<Sql<Bool>>,
}

impl Selection {
    /// Selects all records of a business.
    pub(super) const fn all(kind: RecordKind, business: BusinessId) -> Self {
        Self {
            kind,
            business,
            keeps_total: true,
            conditions: Vec::new(),
        }
    }

    /// Returns `true` if no filter was added.
    pub(super) const fn is_all(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Notes that the number of records changes with time, or with other records.
    pub(super) const fn forget_total(&mut self) {
        self.keeps_total = false;
    }

    /// Selects records whose column has this value.
    pub(super) fn is(&mut self, column: &str, value: Option<impl Into<Value>>) {
        self.conditions.extend(value.map(|value| is(column, value)));
    }

    /// Selects records whose column has one of these values.
    pub(super) fn any_of(&mut self, column: &str, values: Option<impl IntoIterator<Item: Into<Value>>>) {
        let Some(values) = values else {
            return;
        };
        let mut condition = Sql::new(&format!("{column} IN ("));
        for (number, value) in values.into_iter().enumerate() {
            condition.sql(if number == 0 { "" } else { ", " }).bind(value);
        }
        // PostgreSQL takes no empty list.
        condition.sql(if condition.has_values() { ")" } else { "NULL)" });
        self.conditions.push(condition);
    }

    /// Selects records of which one of two columns has this value. Each is looked up by its own index.
    pub(super) fn in_either(&mut self, columns: [&str; 2], value: Option<impl Into<Value> + Clone>) {
        let Some(value) = value else {
            return;
        };
        let mut either = Sql::new("id IN (");
        for (number, column) in columns.into_iter().enumerate() {
            let table = self.kind.table;
            let union = if number == 0 { "" } else { " UNION ALL " };
            either
                .sql(&format!("{union}SELECT id FROM {table} WHERE business_id = "))
                .bind(self.business.get())
                .sql(" AND ");
            either.append(is(column, value.clone()));
        }
        either.sql(")");
        self.conditions.push(either);
    }

    /// Selects records whose column has a number within a range.
    pub(super) fn within(&mut self, column: &str, range: Option<Range<i64>>) {
        let Some(Range { from, to }) = range else {
            return;
        };
        if from.is_some() && from == to {
            // An index has the records with one value in the order of the list.
            return self.is(column, from);
        }
        for (bound, limit) in [(">=", from), ("<=", to)] {
            let condition = |limit| {
                let mut condition = Sql::new(&format!("{column} {bound} "));
                condition.bind(limit);
                condition
            };
            self.conditions.extend(limit.map(condition));
        }
    }

    /// Selects records whose column has a time within a range.
    pub(super) fn during(&mut self, column: &str, range: Option<Range<Timestamp>>) {
        let seconds = |Range { from, to }| Range {
            from: from.map(Timestamp::epoch_seconds),
            to: to.map(Timestamp::epoch_seconds),
        };
        self.within(column, range.map(seconds));
    }

    /// Selects records in this state whose day is before `today`, or all others.
    pub(super) fn overdue(&mut self, status: &str, state: &'static str, date: &str, today: i64, is_overdue: bool) {
        let mut overdue = Sql::new(if is_overdue { "(" } else { "NOT (" });
        overdue
            .append(is(status, state))
            .sql(&format!(" AND {date} IS NOT NULL AND {date} < "))
            .bind(today);
        overdue.sql(")");
        self.conditions.push(overdue);
        // Its number changes with the day.
        self.forget_total();
    }

    /// Selects records whose column has a text that passes the filter.
    pub(super) fn text(&mut self, column: &str, filter: Option<&TextFilter>) {
        match filter {
            None => {}
            Some(TextFilter::Exact(text)) => self.is(column, Some(text.as_str())),
            Some(TextFilter::Wildcard(pattern)) => {
                let Self { kind, business, .. } = *self;
                let found = |index| dialect::found_by_text(index, kind.table, business, pattern);
                self.conditions.extend(kind.texts.and_then(found));
                self.conditions.push(like(column, pattern));
            }
        }
    }

    /// Selects records whose id another table has beside this value, which few records share.
    pub(super) fn linked(&mut self, table: &str, id: &str, column: &str, value: Option<impl Into<Value>>) {
        let linked = value.map(|value| self.link(table, id, column, value));
        self.conditions.extend(linked);
    }

    /// Selects records whose id another table has beside this value, which many records share.
    ///
    /// Each record is looked up in a hash table. PostgreSQL would nest two joins, at any cost, before it has statistics.
    pub(super) fn tagged(&mut self, table: &str, id: &str, column: &str, value: Option<impl Into<Value>>) {
        let Some(value) = value else {
            return;
        };
        let mut tagged = Sql::new("(");
        tagged.append(self.link(table, id, column, value)).sql(") IS TRUE");
        self.conditions.push(tagged);
    }

    fn link(&self, table: &str, id: &str, column: &str, value: impl Into<Value>) -> Sql<Bool> {
        let mut linked = Sql::new(&format!("id IN (SELECT {id} FROM {table} WHERE business_id = "));
        linked.bind(self.business.get()).sql(" AND ");
        linked.append(is(column, value)).sql(")");
        linked
    }

    /// Returns the text of a query after its columns.
    pub(super) fn passing(&self) -> Sql<()> {
        let mut passing = Sql::new(&format!(" FROM {} WHERE business_id = ", self.kind.table));
        passing.bind(self.business.get());
        for condition in &self.conditions {
            passing.sql(" AND ").append(condition.clone());
        }
        if self.conditions.len() > 1 {
            // There are more combinations of filters than statements that may stay prepared.
            passing.plan_by_values();
        }
        passing
    }
}

fn is(column: &str, value: impl Into<Value>) -> Sql<Bool> {
    let mut is = Sql::new(&format!("{column} = "));
    is.bind(value);
    is
}

/// The condition that a column has a text that matches this pattern, in which only `%` is a wildcard.
pub(super) fn like(column: &str, pattern: &str) -> Sql<Bool> {
    let mut like = Sql::new(&format!("{column} LIKE "));
    like.bind(pattern.replace('\\', r"\\").replace('_', r"\_"))
        .sql(r" ESCAPE '\'");
    // PostgreSQL estimates by the pattern if its index of trigrams is worth while.
    like.plan_by_values();
    like
}
