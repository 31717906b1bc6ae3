//! Entries for deletions that are longer than one transaction.

use diesel::prelude::*;
use forecourt_dealership::DeletionKind;
use forecourt_kernel::{BoxError, BusinessId, StoreError, StoreResult};

use super::session::{Session, Write};
use crate::models::ERASURE;
use crate::schema::deletions;
use crate::statement::RunQueryDsl;

pub(super) const fn code(kind: DeletionKind) -> i32 {
    match kind {
        DeletionKind::Contact => ERASURE,
        DeletionKind::Webhook => 2,
        DeletionKind::Business => 3,
        DeletionKind::Lead => 4,
    }
}

pub(super) fn kind(code: i32) -> StoreResult<DeletionKind> {
    let mut kinds = [
        DeletionKind::Contact,
        DeletionKind::Webhook,
        DeletionKind::Business,
        DeletionKind::Lead,
    ]
    .into_iter();
    kinds
        .find(|&kind| self::code(kind) == code)
        .ok_or_else(|| StoreError::Other(BoxError::from(format!("there is no deletion of kind {code}"))))
}

impl Session<Write> {
    /// Leaves the rest of a deletion to the background.
    pub(super) async fn continue_later(
        &mut self,
        business: BusinessId,
        kind: DeletionKind,
        record: i64,
        state: Vec<u8>,
    ) -> StoreResult<()> {
        diesel::insert_into(deletions::table)
            .values((
                deletions::business_id.eq(business.get()),
                deletions::kind.eq(code(kind)),
                deletions::record.eq(record),
                deletions::state.eq(state),
            ))
            .execute(self.conn().await?)
            .await
            .map(drop)
    }
}
