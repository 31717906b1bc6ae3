//! Deals.

pub(super) mod people;

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_billing::{DealId, InvoiceId, OrderId};
use forecourt_deals::{
    ContactDealReader, Deal, DealContent, DealDeposit, DealFilter, DealReader, DealStage, DealStore, DealSurroundings,
    Surroundings,
};
use forecourt_kernel::{
    BusinessId, ContactId, LeadId, Page, PageRequest, SiteId, StaffId, StoreError, StoreResult, Timestamp, VehicleId,
    Version,
};
use forecourt_orders::{OrderReader as _, PaidDeposit};
use forecourt_reference::LeadChannel;
use forecourt_vehicles::{ReservationMaker, Vehicle};

use super::owned::OwnedTable;
use super::selection::{RecordKind, Selection};
use super::session::{Mode, Read, Session, Write};
use super::{Db, contacts, list};
use crate::error::other;
use crate::models::VehicleRow;
use crate::schema::{leads, vehicles};
use crate::statement::{Prepare as _, RunQueryDsl, for_no_key_update};

pub(super) const OWNED_TABLES: &[OwnedTable] = &[
    OwnedTable::new("deal_contacts", "contact, deal", 500),
    OwnedTable::new("deals", "id", 100),
];

/// The counter of deals and their references.
const DEALS: &str = "deals";

const KIND: RecordKind = RecordKind {
    table: "deals",
    rows: "deals",
    texts: None,
};

diesel::table! {
    deals (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        version -> BigInt,
        created -> BigInt,
        updated -> BigInt,
        reference -> BigInt,
        site -> BigInt,
        stage -> Text,
        is_open -> BigInt,
        source -> Text,
        staff -> Nullable<BigInt>,
        contact -> Nullable<BigInt>,
        lead -> Nullable<BigInt>,
        vehicle -> Nullable<BigInt>,
        provider -> Nullable<Text>,
        external_id -> Nullable<Text>,
        order_id -> Nullable<BigInt>,
        invoice -> Nullable<BigInt>,
        document -> Text,
    }
}

diesel::table! {
    deal_contacts (business_id, contact, deal) {
        business_id -> BigInt,
        contact -> BigInt,
        deal -> BigInt,
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = deals, check_for_backend(Db))]
struct DealRow {
    id: i64,
    version: i64,
    created: i64,
    updated: i64,
    reference: i64,
    document: String,
}

/// The columns of a deal that are written, first and at each change: its document, and beside it the columns that lists filter by.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = deals, check_for_backend(Db), treat_none_as_null = true, treat_none_as_default_value = false)]
struct DealValues {
    version: i64,
    updated: i64,
    site: i64,
    stage: &'static str,
    is_open: i64,
    source: &'static str,
    staff: Option<i64>,
    contact: Option<i64>,
    lead: Option<i64>,
    vehicle: Option<i64>,
    provider: Option<String>,
    external_id: Option<String>,
    order_id: Option<i64>,
    invoice: Option<i64>,
    document: String,
}

impl DealValues {
    fn new(deal: &Deal) -> StoreResult<Self> {
        let content = &deal.content;
        // Unknown values are not indexed. A part of a name alone does not distinguish a deal.
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Ok(Self {
            version: deal.version.number(),
            updated: deal.updated.epoch_seconds(),
            site: content.site.get(),
            stage: content.stage.name(),
            is_open: content.stage.is_open().into(),
            source: content.source.id(),
            staff: content.staff.map(StaffId::get),
            contact: content.contact.map(ContactId::get),
            lead: content.lead.map(LeadId::get),
            vehicle: content.vehicle.map(VehicleId::get),
            provider: known(&content.provider),
            external_id: known(&content.external_id),
            order_id: content.order.map(OrderId::get),
            invoice: content.invoice.map(InvoiceId::get),
            document: serde_json::to_string(content).map_err(other)?,
        })
    }
}

impl TryFrom<DealRow> for Deal {
    type Error = StoreError;

    fn try_from(row: DealRow) -> StoreResult<Self> {
        let unreadable = |failure| other(format!("deal {} cannot be read: {failure}", row.id));
        Ok(Self {
            id: DealId::new(row.id),
            reference: row.reference,
            version: Version::new(row.version),
            created: Timestamp::from_epoch_seconds(row.created),
            updated: Timestamp::from_epoch_seconds(row.updated),
            content: serde_json::from_str(&row.document).map_err(unreadable)?,
            around: Surroundings::default(),
        })
    }
}

/// Selects the deals that pass `filter`.
fn selection(business: BusinessId, filter: &DealFilter) -> Selection {
    let DealFilter {
        site,
        reference,
        stage,
        open,
        contact,
        lead,
        vehicle,
        staff,
        source,
        provider,
        external_id,
        order,
        invoice,
        created,
        updated,
    } = filter;
    let mut list = Selection::all(KIND, business);
    list.is("site", site.map(SiteId::get));
    list.is("reference", *reference);
    list.is("stage", stage.map(DealStage::name));
    list.is("is_open", open.map(i64::from));
    list.is("contact", contact.map(ContactId::get));
    list.is("lead", lead.map(LeadId::get));
    list.is("vehicle", vehicle.map(VehicleId::get));
    list.is("staff", staff.map(StaffId::get));
    list.is("source", source.map(LeadChannel::id));
    list.is("provider", provider.as_deref());
    list.is("external_id", external_id.as_deref());
    list.is("order_id", order.map(OrderId::get));
    list.is("invoice", invoice.map(InvoiceId::get));
    list.during("created", *created);
    list.during("updated", *updated);
    list
}

/// The error of a deal whose name another transaction has just given to one: the work is done again, and finds that deal.
fn taken(error: StoreError) -> StoreError {
    match error {
        StoreError::Duplicate(_) => StoreError::Conflict,
        error => error,
    }
}

#[async_trait]
impl<M: Mode> DealSurroundings for Session<M> {
    async fn deposits_paid(&mut self, business: BusinessId, contacts: &[ContactId]) -> StoreResult<Vec<DealDeposit>> {
        let deposits = self.paid_deposits(business, contacts).await?;
        let paid = |deposit| {
            let PaidDeposit {
                customer,
                vehicle,
                paid,
            } = deposit;
            DealDeposit {
                contact: customer,
                vehicle,
                paid,
            }
        };
        Ok(deposits.into_iter().map(paid).collect())
    }

    async fn reserved_by_deals(
        &mut self,
        business: BusinessId,
        named: &[VehicleId],
    ) -> StoreResult<Vec<(VehicleId, DealId)>> {
        let rows: Vec<VehicleRow> = vehicles::table
            .filter(vehicles::business_id.eq(business.get()))
            .filter(vehicles::id.eq_any(named.iter().map(|id| id.get())))
            .filter(vehicles::deleted.eq(false))
            .select(VehicleRow::as_select())
            .load(self.conn().await?)
            .await?;
        let mut reserved = Vec::new();
        for row in rows {
            let vehicle = Vehicle::try_from(row)?;
            let current = vehicle.content.reservation.current.as_ref();
            if let Some(ReservationMaker::Deal(deal)) = current.and_then(|current| current.made_by) {
                reserved.push((vehicle.id, deal));
            }
        }
        Ok(reserved)
    }

    async fn is_lead_known(&mut self, business: BusinessId, lead: LeadId) -> StoreResult<bool> {
        let found: Option<i64> = leads::table
            .find((business.get(), lead.get()))
            .select(leads::id)
            .get_optional(self.conn().await?)
            .await?;
        Ok(found.is_some())
    }
}

/// Returns `true` if the business has the deal.
pub(super) async fn exists<M: Mode>(session: &mut Session<M>, business: BusinessId, id: DealId) -> StoreResult<bool> {
    let found: Option<i64> = deals::table
        .find((business.get(), id.get()))
        .select(deals::id)
        .get_optional(session.conn().await?)
        .await?;
    Ok(found.is_some())
}

#[async_trait]
impl<M: Mode> DealReader for Session<M> {
    async fn deal(&mut self, business: BusinessId, id: DealId) -> StoreResult<Option<Deal>> {
        let row: Option<DealRow> = deals::table
            .find((business.get(), id.get()))
            .select(DealRow::as_select())
            .get_optional(self.conn().await?)
            .await?;
        row.map(Deal::try_from).transpose()
    }

    async fn deals(
        &mut self,
        business: BusinessId,
        filter: &DealFilter,
        request: &PageRequest,
    ) -> StoreResult<Page<Deal>> {
        // Deals are still linked to a contact while it is erased.
        if contacts::is_being_erased(self.conn().await?, business, filter.contact).await? {
            return Ok(Page::of(Vec::new(), request, request.offset().map(|_| 0), |_| 0));
        }
        let selection = selection(business, filter);
        let page = list::page(self, &selection, request, DealRow::as_select(), |row: &DealRow| row.id).await?;
        page.try_map(Deal::try_from)
    }
}

/// The number of a contact's deals that are read at once.
const OF_CONTACT_AT_ONCE: i64 = 25;

#[async_trait]
impl ContactDealReader for Session<Read> {
    async fn contact_deals(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: DealId,
    ) -> StoreResult<Vec<Deal>> {
        let rows: Vec<DealRow> = deals::table
            .filter(deals::business_id.eq(business.get()))
            .filter(deals::contact.assume_not_null().eq(contact.get()))
            .filter(deals::id.gt(after.get()))
            // Not the id alone: otherwise the planner might read all deals in its order.
            .order((deals::contact, deals::id))
            .limit(OF_CONTACT_AT_ONCE)
            .select(DealRow::as_select())
            .load(self.conn().await?)
            .await?;
        rows.into_iter().map(Deal::try_from).collect()
    }
}

impl Session<Write> {
    /// Stores the links of a deal to the contacts that it names beside its customer.
    async fn link_deal(&mut self, business: BusinessId, deal: &Deal) -> StoreResult<()> {
        let id = deal.id.get();
        let former = deal_contacts::table
            .filter(deal_contacts::business_id.eq(business.get()))
            .filter(deal_contacts::deal.eq(id));
        self.send_later(business, diesel::delete(former)).await?;
        for contact in deal.content.other_contacts() {
            let link = diesel::insert_into(deal_contacts::table)
                .values((
                    deal_contacts::business_id.eq(business.get()),
                    deal_contacts::contact.eq(contact.get()),
                    deal_contacts::deal.eq(id),
                ))
                .on_conflict_do_nothing();
            self.send_later(business, link).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl DealStore for Session<Write> {
    async fn lock_deal(&mut self, business: BusinessId, id: DealId) -> StoreResult<Option<Deal>> {
        let query = deals::table.find((business.get(), id.get()));
        let row: Option<DealRow> = for_no_key_update(query.select(DealRow::as_select()))
            .get_optional(self.conn().await?)
            .await?;
        row.map(Deal::try_from).transpose()
    }

    async fn deal_reported_as(
        &mut self,
        business: BusinessId,
        provider: &str,
        external_id: &str,
    ) -> StoreResult<Option<DealId>> {
        let known: Option<i64> = deals::table
            .filter(deals::business_id.eq(business.get()))
            .filter(deals::external_id.eq(external_id))
            .filter(deals::provider.eq(provider))
            .select(deals::id)
            .get_optional(self.conn().await?)
            .await?;
        Ok(known.map(DealId::new))
    }

    async fn open_deals_of_vehicle(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<Vec<DealId>> {
        let ids: Vec<i64> = deals::table
            .filter(deals::business_id.eq(business.get()))
            .filter(deals::vehicle.assume_not_null().eq(vehicle.get()))
            .filter(deals::is_open.eq(1))
            // Not the id alone: otherwise the planner might read all deals in its order.
            .order((deals::vehicle, deals::id))
            .select(deals::id)
            .load(self.conn().await?)
            .await?;
        Ok(ids.into_iter().map(DealId::new).collect())
    }

    async fn insert_deal(&mut self, business: BusinessId, content: DealContent, at: Timestamp) -> StoreResult<Deal> {
        let counter = self.counter(business, DEALS).await?;
        counter.write(1);
        counter.number += 1;
        let mut deal = Deal {
            id: DealId::new(0),
            reference: counter.number,
            version: Version::FIRST,
            created: at,
            updated: at,
            content,
            around: Surroundings::default(),
        };
        let id = diesel::insert_into(deals::table)
            .values((
                deals::business_id.eq(business.get()),
                deals::created.eq(at.epoch_seconds()),
                deals::reference.eq(deal.reference),
                DealValues::new(&deal)?,
            ))
            .returning(deals::id)
            .get_result(self.conn().await?)
            .await
            .map_err(taken)?;
        deal.id = DealId::new(id);
        self.link_deal(business, &deal).await?;
        Ok(deal)
    }

    async fn save_deal(&mut self, business: BusinessId, deal: &Deal) -> StoreResult<()> {
        diesel::update(deals::table.find((business.get(), deal.id.get())))
            .set(DealValues::new(deal)?)
            .prepared()
            .execute(self.conn().await?)
            .await
            .map_err(taken)?;
        self.count_later(business, DEALS, 0).await?;
        self.link_deal(business, deal).await
    }
}
