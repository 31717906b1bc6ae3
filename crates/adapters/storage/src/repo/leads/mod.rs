//! Leads.
//!
//! Their list is in [`listed`], the vehicles that they concern in [`vehicles`], and their messages and notes in [`conversation`].

mod conversation;
mod listed;
pub(super) mod people;
mod vehicles;

use std::collections::BTreeMap;

use async_trait::async_trait;
use diesel::dsl::{exists, not};
use diesel::prelude::*;
use diesel::upsert::excluded;
use forecourt_contacts::ContactDraft;
use forecourt_dealership::{BulkLoad, Loaded};
use forecourt_kernel::{BusinessId, ContactId, LeadId, Page, PageRequest, StoreResult, Timestamp, VehicleId, Version};
use forecourt_leads::{
    ContactSuggestion, DueReopening, Lead, LeadDraft, LeadFilter, LeadPreview, LeadReader, LeadStore, LeadVehicle,
    SenderKeys, StockVehicle, VehicleChoice, VehicleClue,
};
use forecourt_vehicles::VehicleDraft;

use super::owned::OwnedTable;
use super::session::{Mode, Session, Write};
use super::{Conn, Db, contacts, dialect, list};
use crate::models::{AssessmentRow, LeadRow, LeadValues, NewLeadRow};
use crate::schema::{businesses, lead_assessments, lead_vehicles, leads};
use crate::statement::{Prepare as _, RunQueryDsl, for_no_key_update, for_update};

/// The kind of their counter.
const LEADS: &str = "leads";

pub(super) const OWNED_TABLES: &[OwnedTable] = &[
    OwnedTable::new("lead_vehicles", "vehicle_id, lead_id", 500),
    OwnedTable::new("lead_assessments", "lead_id", 500),
    OwnedTable::new("lead_messages", "id", 100),
    OwnedTable::new("lead_notes", "id", 100),
    OwnedTable::new("lead_mails", "message_id", 500),
    // Few: each is taken out of SQLite's index of texts, where it is overwritten.
    OwnedTable::new("leads", "id", 10),
];

/// Returns the page without leads that a filter by a contact gets while that is erased: records are still linked to it.
async fn nothing_while_erased<T>(
    session: &mut Session<impl Mode>,
    business: BusinessId,
    filter: &LeadFilter,
    request: &PageRequest,
) -> StoreResult<Option<Page<T>>> {
    let is_erased = contacts::is_being_erased(session.conn().await?, business, filter.contact).await?;
    Ok(is_erased.then(|| Page::of(Vec::new(), request, request.offset().map(|_| 0), |_| 0)))
}

#[async_trait]
impl<M: Mode> LeadReader for Session<M> {
    async fn lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>> {
        let query = leads::table
            .find((business.get(), id.get()))
            .select(LeadRow::as_select());
        let row = query.get_optional(self.flushed_conn().await?).await;
        row?.map(Lead::try_from).transpose()
    }

    async fn leads(
        &mut self,
        business: BusinessId,
        filter: &LeadFilter,
        request: &PageRequest,
    ) -> StoreResult<Page<Lead>> {
        match nothing_while_erased(self, business, filter, request).await? {
            Some(nothing) => Ok(nothing),
            None => listed::page(self, business, filter, request).await,
        }
    }

    async fn lead_previews(
        &mut self,
        business: BusinessId,
        filter: &LeadFilter,
        request: &PageRequest,
    ) -> StoreResult<Page<LeadPreview>> {
        match nothing_while_erased(self, business, filter, request).await? {
            Some(nothing) => Ok(nothing),
            None => listed::previews(self, business, filter, request).await,
        }
    }

    async fn contact_exists(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool> {
        contacts::exists::<M::KeyShare>(self.conn().await?, business, id).await
    }

    async fn stock_vehicle(
        &mut self,
        business: BusinessId,
        choice: &VehicleChoice,
    ) -> StoreResult<Option<StockVehicle>> {
        vehicles::named(self.conn().await?, business, choice).await
    }

    async fn vehicle_with(&mut self, business: BusinessId, clue: &VehicleClue) -> StoreResult<Option<VehicleId>> {
        vehicles::described(self.conn().await?, business, clue).await
    }

    async fn lead_vehicles(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        request: &PageRequest,
    ) -> StoreResult<Option<Page<LeadVehicle>>> {
        vehicles::page(self.flushed_conn().await?, business, lead, request).await
    }
}

#[async_trait]
impl LeadStore for Session<Write> {
    async fn lock_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>> {
        let query = leads::table
            .find((business.get(), id.get()))
            .select(LeadRow::as_select());
        let row = for_no_key_update(query).get_optional(self.flushed_conn().await?).await;
        row?.map(Lead::try_from).transpose()
    }

    async fn insert_lead(&mut self, business: BusinessId, draft: LeadDraft, at: Timestamp) -> StoreResult<Lead> {
        let id = self.next_id(business, LEADS).await?;
        let counter = self.shared_counter(business, LEADS).await?;
        counter.write(1);
        let mut lead = unsaved(draft, counter.next(at));
        lead.id = LeadId::new(id);
        let row = NewLeadRow::new(business, &lead)?;
        let inserted = diesel::insert_into(leads::table).values((leads::id.eq(id), row));
        self.send_later(business, inserted).await?;
        Ok(lead)
    }

    async fn save_lead(&mut self, business: BusinessId, lead: &Lead) -> StoreResult<()> {
        let values = if lead.updated < lead.created {
            // The clock went back to before the lead's creation: the change counts as made then.
            let updated = lead.created;
            LeadValues::new(&Lead {
                updated,
                ..lead.clone()
            })?
        } else {
            LeadValues::new(lead)?
        };
        let row = leads::table.find((business.get(), lead.id.get()));
        let conn = self.flushed_conn().await?;
        let stored = dialect::stored!(conn, row, LeadValues)?;
        diesel::update(row)
            .set((
                values.changes(stored.as_ref()),
                leads::version.eq(lead.version.number()),
            ))
            .prepared()
            .execute(conn)
            .await?;
        self.count_later(business, LEADS, 0).await
    }

    async fn delete_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<()> {
        let row = leads::table.find((business.get(), id.get()));
        // In this order: its vehicles go with it, and a deleted vehicle takes its associations with leads along.
        let created: Option<i64> = for_update(row.select(leads::created))
            .get_optional(self.flushed_conn().await?)
            .await?;
        let Some(created) = created else {
            return Ok(());
        };
        self.counter(business, LEADS).await?.write(-1);
        diesel::delete(row).execute(self.conn().await?).await?;
        self.forget_lead(business, id, Timestamp::from_epoch_seconds(created))
            .await
    }

    async fn associate_vehicle(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        vehicle: VehicleId,
        at: Timestamp,
    ) -> StoreResult<bool> {
        self.flush().await?;
        // The place in lists of a vehicle that is deleted at the same time is locked after them.
        self.lock_counters(business).await?;
        vehicles::associate(self.conn().await?, business, lead, vehicle, at).await
    }

    async fn dissociate_vehicle(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        vehicle: VehicleId,
    ) -> StoreResult<bool> {
        self.flush().await?;
        self.lock_counters(business).await?;
        vehicles::dissociate(self.conn().await?, business, lead, vehicle).await
    }

    async fn contacts_like(&mut self, business: BusinessId, keys: &SenderKeys) -> StoreResult<Vec<ContactSuggestion>> {
        // Most senders are strangers. They are looked up first, so that new leads of theirs can go on sharing a commit.
        let found = contacts::of_sender(self.shared_conn().await?, business, keys, false).await?;
        if found.len() != 1 {
            return Ok(found);
        }
        contacts::of_sender(self.conn().await?, business, keys, true).await
    }

    async fn request_assessment(&mut self, business: BusinessId, lead: LeadId, at: Timestamp) -> StoreResult<()> {
        let row = AssessmentRow {
            business_id: business.get(),
            lead_id: lead.get(),
            due: at.epoch_seconds(),
            attempts: 0,
        };
        // It waits once, as if it had never been tried.
        let waiting = diesel::insert_into(lead_assessments::table)
            .values(row)
            .on_conflict((lead_assessments::business_id, lead_assessments::lead_id))
            .do_update()
            .set((
                lead_assessments::due.eq(excluded(lead_assessments::due)),
                lead_assessments::attempts.eq(excluded(lead_assessments::attempts)),
            ));
        self.send_later(business, waiting.prepared()).await
    }

    async fn due_reopenings(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueReopening>> {
        let due: Vec<(i64, i64)> = leads::table
            .filter(leads::reopens.assume_not_null().le(now.epoch_seconds()))
            .filter(not(exists(
                businesses::table
                    .filter(businesses::id.eq(leads::business_id))
                    .filter(businesses::deleted.is_not_null()),
            )))
            .order(leads::reopens)
            .limit(limit.into())
            .select((leads::business_id, leads::id))
            .load(self.flushed_conn().await?)
            .await?;
        let each = |(business, lead)| DueReopening {
            business: BusinessId::new(business),
            lead: LeadId::new(lead),
        };
        Ok(due.into_iter().map(each).collect())
    }
}

#[async_trait]
impl BulkLoad for Session<Write> {
    async fn load_made_leads(
        &mut self,
        business: BusinessId,
        made: Vec<(Loaded<LeadDraft>, Option<VehicleId>)>,
    ) -> StoreResult<()> {
        let count = i64::try_from(made.len()).unwrap_or(i64::MAX);
        let counter = self.counter(business, LEADS).await?;
        counter.write(count);
        let mut rows = Vec::with_capacity(made.len());
        let mut concerned = Vec::new();
        for (lead, vehicle) in made {
            let (reference, created) = counter.next_loaded(lead.created);
            concerned.extend(vehicle.map(|vehicle| (reference, vehicle, created.epoch_seconds())));
            let content = LeadDraft {
                vehicles: vehicle.into_iter().collect(),
                ..lead.content
            };
            let unsaved = unsaved(content, (reference, created));
            let lead = Lead {
                updated: lead.updated.max(unsaved.created),
                ..unsaved
            };
            rows.push(NewLeadRow::new(business, &lead)?);
        }
        let last = counter.number;
        dialect::insert_many!(self.conn().await?, leads::table, rows)?;
        if concerned.is_empty() {
            return Ok(());
        }
        let numbered = leads::table
            .filter(leads::business_id.eq(business.get()))
            .filter(leads::reference.between(last - count + 1, last))
            .select((leads::reference, leads::id));
        let ids: Vec<(i64, i64)> = numbered.load(self.conn().await?).await?;
        let ids: BTreeMap<i64, i64> = ids.into_iter().collect();
        let of_lead = |(reference, vehicle, created): (i64, VehicleId, i64)| {
            Some((
                lead_vehicles::business_id.eq(business.get()),
                lead_vehicles::lead_id.eq(*ids.get(&reference)?),
                lead_vehicles::vehicle_id.eq(vehicle.get()),
                lead_vehicles::created.eq(created),
            ))
        };
        let rows: Vec<_> = concerned.into_iter().filter_map(of_lead).collect();
        dialect::insert_many!(self.conn().await?, lead_vehicles::table, rows)?;
        Ok(())
    }

    async fn load_made_contacts(
        &mut self,
        business: BusinessId,
        contacts: Vec<Loaded<ContactDraft>>,
    ) -> StoreResult<()> {
        self.insert_contacts(business, contacts).await
    }

    async fn load_made_vehicles(
        &mut self,
        business: BusinessId,
        vehicles: Vec<Loaded<VehicleDraft>>,
    ) -> StoreResult<()> {
        self.insert_vehicles(business, vehicles).await
    }
}

/// A new lead, which gets its id from the database.
fn unsaved(content: LeadDraft, (reference, created): (i64, Timestamp)) -> Lead {
    Lead {
        id: LeadId::new(0),
        reference,
        created,
        updated: created,
        version: Version::FIRST,
        content,
    }
}
