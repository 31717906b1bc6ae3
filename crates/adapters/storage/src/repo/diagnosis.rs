//! Queries of one text column, for [`crate::diagnosis`].

use diesel::dsl::sql;
use diesel::sql_types::Text;
use forecourt_kernel::StoreResult;

use super::Engine;
use crate::statement::{MayScan as _, RunQueryDsl};

impl Engine {
    /// Returns the rows of a query of one text column.
    pub(crate) async fn first_column(&self, query: &str) -> StoreResult<Vec<String>> {
        let mut conn = self.read().await?;
        sql::<Text>(query).may_scan(true).load(&mut *conn).await
    }
}
