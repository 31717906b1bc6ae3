//! Simple views that are stored beside their records.

use diesel::sql_types::Bool;
use forecourt_kernel::StoreResult;

use crate::statement::Sql;

/// A simple view that is stored beside its record.
pub(crate) trait Preview: Sized {
    type Record;

    /// Reads the view that was stored as `text`, or returns `None` if it was stored by a release with another view.
    fn stored(id: i64, text: String) -> Option<Self>;

    /// Makes the view of a record.
    ///
    /// # Errors
    /// If it cannot be written.
    fn of(record: Self::Record) -> StoreResult<Self>;

    fn id(&self) -> i64;
}

/// Reads the rows' stored simple views, and returns a condition for the records that have to be read instead, if there are any.
pub(crate) fn stored<P: Preview>(rows: Vec<(i64, Option<String>)>) -> (Vec<P>, Option<Sql<Bool>>) {
    let mut previews = Vec::with_capacity(rows.len());
    let mut others: Option<Sql<Bool>> = None;
    for (id, text) in rows {
        match text.and_then(|text| P::stored(id, text)) {
            Some(preview) => previews.push(preview),
            None => match &mut others {
                Some(others) => {
                    others.sql(", ").bind(id);
                }
                None => {
                    others.insert(Sql::new("id IN (")).bind(id);
                }
            },
        }
    }
    if let Some(others) = &mut others {
        others.sql(")");
    }
    (previews, others)
}

/// Returns all of a page's simple views, newest first.
pub(crate) fn with_read<P: Preview>(mut previews: Vec<P>, read: Vec<P::Record>) -> StoreResult<Vec<P>> {
    for record in read {
        previews.push(P::of(record)?);
    }
    previews.sort_unstable_by_key(|preview| std::cmp::Reverse(preview.id()));
    Ok(previews)
}
