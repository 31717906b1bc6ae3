//! The cell of the database.

use diesel::prelude::*;
use forecourt_kernel::StoreError;

use super::meta::{self, CELL};
use super::{Engine, dialect};
use crate::cell::{Cell, CellError};
use crate::error::other;
use crate::schema::forecourt_meta;
use crate::statement::{RunQueryDsl, for_update};

impl Engine {
    /// Makes the database one of the `wanted` cell, if it has not given out ids; returns its cell.
    pub(crate) async fn adopt_cell(&self, wanted: Option<Cell>) -> Result<Cell, CellError> {
        let stored = meta::find(&mut *self.read().await?, CELL).await?;
        let stored = cell_of(stored.as_deref())?;
        let Some(wanted) = wanted.filter(|wanted| *wanted != stored) else {
            return Ok(stored);
        };
        let mut session = self.begin().await?;
        meta::add(&mut session, CELL, &stored.to_string()).await?;
        // Another server may be doing the same.
        let row = forecourt_meta::table.find(CELL).select(forecourt_meta::value);
        let locked: Option<String> = for_update(row).get_optional(&mut *session).await?;
        let stored = cell_of(locked.as_deref())?;
        if stored == wanted {
            return Ok(stored);
        }
        if dialect::has_given_ids(&mut session).await? {
            return Err(CellError::Other { stored });
        }
        dialect::begin_ids(&mut session, wanted.base()).await?;
        meta::set(&mut session, CELL, wanted.to_string()).await?;
        session.commit().await?;
        Ok(wanted)
    }
}

fn cell_of(stored: Option<&str>) -> Result<Cell, StoreError> {
    let number = stored.map_or(Ok(0), str::parse).map_err(other)?;
    Cell::new(number).ok_or_else(|| other(format!("the database is of cell {number}, which there is not")))
}
