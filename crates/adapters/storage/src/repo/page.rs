//! Pages of rows that belong to one record, such as its notes. Lists with filters are in [`list`](super::list).

/// Returns a page of rows, newest first, with their total if the page was requested by number.
///
/// `all` makes the boxed query for all rows, of which `id` is the column that cursors hold, and `order` the order of an index. A
/// page that may be one of many rows has `may_scan`.
macro_rules! page_of {
    ($conn:expr, $request:expr, $row:ty, $all:expr, $id:expr, $order:expr, $may_scan:expr) => {{
        use $crate::statement::{MayScan as _, RunQueryDsl as _};
        let (conn, request, all): (&mut Conn, &forecourt_kernel::PageRequest, _) = ($conn, $request, $all);
        let total: Option<i64> = match request.position {
            forecourt_kernel::Position::Number(_) => {
                Some(all().count().may_scan($may_scan).get_result(&mut *conn).await?)
            }
            forecourt_kernel::Position::After(_) => None,
        };
        let mut query = all();
        if let forecourt_kernel::Position::After(cursor) = &request.position {
            query = query.filter($id.lt(cursor.id()));
        }
        let rows: Vec<$row> = query
            .order($order)
            .limit(request.wanted())
            .offset(request.offset().unwrap_or_default())
            .select(<$row>::as_select())
            .may_scan($may_scan)
            .load(conn)
            .await?;
        forecourt_kernel::Page::of(rows, request, total, |row: &$row| row.id)
    }};
}

pub(super) use page_of;
