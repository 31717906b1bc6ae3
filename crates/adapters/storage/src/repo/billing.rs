//! The contacts and vehicles that documents show, and their days in columns.

use std::collections::BTreeSet;

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_billing::{Agreement, BilledContact, BilledVehicle, BillingReader, DealId};
use forecourt_contacts::Contact;
use forecourt_kernel::{BusinessId, ContactId, Date, Money, Range, StoreResult, VehicleId, fold};
use forecourt_vehicles::Vehicle;

use super::session::{Mode, Session};
use crate::models::{ContactRow, VehicleRow};
use crate::schema::{contacts, vehicles};
use crate::statement::{RunQueryDsl, locking};

#[async_trait]
impl<M: Mode> BillingReader for Session<M> {
    async fn billed_contacts(&mut self, business: BusinessId, ids: &[ContactId]) -> StoreResult<Vec<BilledContact>> {
        let named = contacts::table
            .filter(contacts::business_id.eq(business.get()))
            .filter(contacts::id.eq_any(ids.iter().map(|id| id.get())))
            .order(contacts::id)
            .select(ContactRow::as_select());
        // In a session that writes, none of them is deleted before the document that names it is there, for its erasure.
        let rows: Vec<ContactRow> = locking::<M::KeyShare, _>(named).load(self.conn().await?).await?;
        let billed = |row| Ok(BilledContact::from(&Contact::try_from(row)?));
        rows.into_iter().map(billed).collect()
    }

    async fn billed_vehicles(&mut self, business: BusinessId, ids: &[VehicleId]) -> StoreResult<Vec<BilledVehicle>> {
        let rows: Vec<VehicleRow> = vehicles::table
            .filter(vehicles::business_id.eq(business.get()))
            .filter(vehicles::id.eq_any(ids.iter().map(|id| id.get())))
            .filter(vehicles::deleted.eq(false))
            .select(VehicleRow::as_select())
            .load(self.conn().await?)
            .await?;
        let billed = |row| Ok(BilledVehicle::from(&Vehicle::try_from(row)?));
        rows.into_iter().map(billed).collect()
    }

    async fn deal_exists(&mut self, business: BusinessId, deal: DealId) -> StoreResult<bool> {
        super::deals::exists(self, business, deal).await
    }
}

/// Returns the column of a day: the epoch seconds of its midnight in UTC.
pub(super) fn day(date: Date) -> i64 {
    date.midnight().epoch_seconds()
}

/// Returns the range of the columns of days.
pub(super) fn days(range: Option<Range<Date>>) -> Option<Range<i64>> {
    range.map(|Range { from, to }| Range {
        from: from.map(day),
        to: to.map(day),
    })
}

/// Returns the range of the columns of amounts.
pub(super) fn amounts(range: Option<Range<Money>>) -> Option<Range<i64>> {
    range.map(|Range { from, to }| Range {
        from: from.map(Money::minor),
        to: to.map(Money::minor),
    })
}

/// Returns the text that a filter compares; none if it is empty.
pub(super) fn folded(text: &str) -> Option<String> {
    Some(fold(text)).filter(|text| !text.is_empty())
}

/// Returns the day from which the retention of a document's party counts: only a contact that is gone has one.
pub(super) fn retained(agreement: &Agreement) -> Option<i64> {
    let is_held = agreement.customer.is_none() && agreement.bill_to.is_some();
    is_held.then(|| day(agreement.date))
}

/// Returns the contacts that an agreement names beside its customer.
pub(super) fn other_contacts(agreement: &Agreement) -> BTreeSet<ContactId> {
    let lenders = agreement.part_exchanges.iter().filter_map(|exchange| exchange.lender);
    agreement.finance.provider.into_iter().chain(lenders).collect()
}

/// Replaces the rows that link a document to the vehicles of its lines.
macro_rules! link_vehicles {
    ($session:expr, $business:expr, $table:ident, $document:ident = $id:expr, $vehicles:expr) => {{
        let (business, id) = ($business, $id);
        let former = $table::table
            .filter($table::business_id.eq(business.get()))
            .filter($table::$document.eq(id));
        $session.send_later(business, diesel::delete(former)).await?;
        for vehicle in $vehicles {
            let link = diesel::insert_into($table::table)
                .values((
                    $table::business_id.eq(business.get()),
                    $table::vehicle.eq(vehicle.get()),
                    $table::$document.eq(id),
                ))
                .on_conflict_do_nothing();
            $session.send_later(business, link).await?;
        }
    }};
}

/// Returns the documents whose party is kept for its retention alone, and from before a day, oldest first, with their businesses,
/// unless those are deleted.
macro_rules! former_parties {
    ($session:expr, $table:ident, $before:expr, $limit:expr, $id:ident) => {{
        let is_deleted = businesses::table
            .filter(businesses::id.eq($table::business_id))
            .filter(businesses::deleted.is_not_null());
        let rows: Vec<(i64, i64)> = $table::table
            .filter($table::retained.assume_not_null().lt(day($before)))
            .filter(not(exists(is_deleted)))
            .order(($table::retained, $table::id))
            .limit($limit.into())
            .select(($table::business_id, $table::id))
            .load($session.conn().await?)
            .await?;
        let ids = rows
            .into_iter()
            .map(|(business, id)| (BusinessId::new(business), $id::new(id)));
        Ok(ids.collect())
    }};
}

/// Replaces the rows that link a document to the contacts that it names beside its customer.
macro_rules! link_contacts {
    ($session:expr, $business:expr, $table:ident, $document:ident = $id:expr, $agreement:expr) => {{
        let (business, id) = ($business, $id);
        let former = $table::table
            .filter($table::business_id.eq(business.get()))
            .filter($table::$document.eq(id));
        $session.send_later(business, diesel::delete(former)).await?;
        for contact in super::billing::other_contacts(&$agreement) {
            let link = diesel::insert_into($table::table)
                .values((
                    $table::business_id.eq(business.get()),
                    $table::contact.eq(contact.get()),
                    $table::$document.eq(id),
                ))
                .on_conflict_do_nothing();
            $session.send_later(business, link).await?;
        }
    }};
}

/// Stores the rows that link a document to its credits.
macro_rules! link_credits {
    ($session:expr, $business:expr, $table:ident, $document:ident = $id:expr, $credits:expr) => {{
        let (business, id) = ($business, $id);
        for credit in $credits {
            let link = diesel::insert_into($table::table)
                .values((
                    $table::business_id.eq(business.get()),
                    $table::number.eq(credit.number.get()),
                    $table::$document.eq(id),
                    $table::date.eq(super::billing::day(credit.date)),
                ))
                .on_conflict_do_nothing();
            $session.send_later(business, link).await?;
        }
    }};
}

pub(super) use {former_parties, link_contacts, link_credits, link_vehicles};
