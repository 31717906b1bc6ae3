//! Purchases.

pub(super) mod people;

use async_trait::async_trait;
use diesel::dsl::{exists, not};
use diesel::prelude::*;
use forecourt_accounts::AccountReader as _;
use forecourt_billing::{BillStatus, PurchaseCreditNumber, PurchaseId, PurchaseNumber, sum};
use forecourt_jobs::{JobPurchases, LinkedPurchase as JobPurchase, PurchaseId as JobPurchaseId};
use forecourt_kernel::{
    BusinessId, ContactId, Date, JobId, Page, PageRequest, SiteId, StoreResult, Timestamp, VehicleId, Version,
};
use forecourt_purchases::{
    ContactPurchaseReader, LinkedJob, OverduePurchase, Purchase, PurchaseContent, PurchaseFilter, PurchaseKind,
    PurchaseReader, PurchaseStore, set_vehicle_job, supplier_invoice_key, vehicle_cost,
};
use forecourt_stock_book::purchase_vat_lines;

use super::billing::{amounts, day, days, former_parties, link_credits, link_vehicles};
use super::owned::OwnedTable;
use super::selection::{RecordKind, Selection};
use super::session::{Mode, Read, Session, Write};
use super::stock_book::STOCK_BOOK;
use super::{Db, contacts, list};
use crate::error::other;
use crate::schema::businesses;
use crate::statement::{Prepare as _, RunQueryDsl, for_no_key_update};

pub(super) const OWNED_TABLES: &[OwnedTable] = &[
    OwnedTable::new("purchase_vehicles", "vehicle, purchase", 500),
    OwnedTable::new("purchase_credits", "number", 500),
    OwnedTable::new("purchases", "id", 100),
];

/// The counter of purchases and their numbers, and that of the numbers of their credits.
const PURCHASES: &str = "purchases";
const CREDITS: &str = "purchase_credits";

const KIND: RecordKind = RecordKind {
    table: "purchases",
    rows: "purchases",
    texts: None,
};

diesel::table! {
    purchases (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        version -> BigInt,
        created -> BigInt,
        updated -> BigInt,
        number -> Nullable<BigInt>,
        supplier -> Nullable<BigInt>,
        supplier_key -> Nullable<Text>,
        site -> BigInt,
        status -> Text,
        kind -> Text,
        job -> Nullable<BigInt>,
        gross -> BigInt,
        date -> BigInt,
        due_date -> BigInt,
        retained -> Nullable<BigInt>,
        document -> Text,
    }
}

diesel::table! {
    purchase_vehicles (business_id, vehicle, purchase) {
        business_id -> BigInt,
        vehicle -> BigInt,
        purchase -> BigInt,
    }
}

diesel::table! {
    purchase_credits (business_id, number) {
        business_id -> BigInt,
        number -> BigInt,
        purchase -> BigInt,
        date -> BigInt,
    }
}

diesel::allow_tables_to_appear_in_same_query!(purchases, purchase_vehicles, businesses);

#[derive(Queryable, Selectable)]
#[diesel(table_name = purchases, check_for_backend(Db))]
struct PurchaseRow {
    id: i64,
    version: i64,
    created: i64,
    updated: i64,
    number: Option<i64>,
    document: String,
}

#[derive(Insertable, AsChangeset)]
#[diesel(table_name = purchases, check_for_backend(Db), treat_none_as_null = true, treat_none_as_default_value = false)]
struct PurchaseValues {
    version: i64,
    updated: i64,
    number: Option<i64>,
    supplier: Option<i64>,
    supplier_key: Option<String>,
    site: i64,
    status: &'static str,
    kind: &'static str,
    job: Option<i64>,
    gross: i64,
    date: i64,
    due_date: i64,
    retained: Option<i64>,
    document: String,
}

impl PurchaseValues {
    fn new(purchase: &Purchase) -> StoreResult<Self> {
        let content = &purchase.content;
        let is_held = content.supplier.is_none() && content.bill_from.is_some();
        Ok(Self {
            version: purchase.version.number(),
            updated: purchase.updated.epoch_seconds(),
            number: purchase.number.map(PurchaseNumber::get),
            supplier: content.supplier.map(ContactId::get),
            supplier_key: Some(supplier_invoice_key(&content.supplier_invoice)).filter(|key| !key.is_empty()),
            site: content.site.get(),
            status: content.status.name(),
            kind: content.kind.name(),
            job: content.vehicle_job.map(|linked| linked.job),
            gross: sum(content.lines.iter().map(|line| line.gross)).minor(),
            date: day(content.date),
            due_date: day(content.due_date),
            retained: is_held.then(|| day(content.date)),
            document: serde_json::to_string(content).map_err(other)?,
        })
    }
}

impl TryFrom<PurchaseRow> for Purchase {
    type Error = forecourt_kernel::StoreError;

    fn try_from(row: PurchaseRow) -> StoreResult<Self> {
        let unreadable = |failure| other(format!("purchase {} cannot be read: {failure}", row.id));
        Ok(Self {
            id: PurchaseId::new(row.id),
            number: row.number.map(PurchaseNumber::new),
            version: Version::new(row.version),
            created: Timestamp::from_epoch_seconds(row.created),
            updated: Timestamp::from_epoch_seconds(row.updated),
            content: serde_json::from_str(&row.document).map_err(unreadable)?,
        })
    }
}

/// Selects the purchases that pass `filter`.
fn selection(business: BusinessId, filter: &PurchaseFilter) -> Selection {
    let PurchaseFilter {
        site,
        status,
        kind,
        number,
        supplier,
        supplier_invoice,
        vehicle,
        job,
        overdue,
        gross,
        date,
        due_date,
        created,
        updated,
    } = filter;
    let mut list = Selection::all(KIND, business);
    list.is("site", site.map(SiteId::get));
    list.is("status", status.map(|status| status.0.name()));
    list.is("kind", kind.map(PurchaseKind::name));
    list.is("number", number.map(PurchaseNumber::get));
    list.is("supplier", supplier.map(ContactId::get));
    list.is("supplier_key", supplier_invoice.as_deref().map(supplier_invoice_key));
    list.linked("purchase_vehicles", "purchase", "vehicle", vehicle.map(VehicleId::get));
    list.is("job", *job);
    if let Some(OverduePurchase { is_overdue, today }) = overdue {
        list.overdue(
            "status",
            BillStatus::Issued.name(),
            "due_date",
            day(*today),
            *is_overdue,
        );
    }
    list.within("gross", amounts(*gross));
    list.within("date", days(*date));
    list.within("due_date", days(*due_date));
    list.during("created", *created);
    list.during("updated", *updated);
    list
}

#[async_trait]
impl<M: Mode> PurchaseReader for Session<M> {
    async fn purchase(&mut self, business: BusinessId, id: PurchaseId) -> StoreResult<Option<Purchase>> {
        let row: Option<PurchaseRow> = purchases::table
            .find((business.get(), id.get()))
            .select(PurchaseRow::as_select())
            .get_optional(self.conn().await?)
            .await?;
        row.map(Purchase::try_from).transpose()
    }

    async fn purchases(
        &mut self,
        business: BusinessId,
        filter: &PurchaseFilter,
        request: &PageRequest,
    ) -> StoreResult<Page<Purchase>> {
        // Purchases are still linked to a contact while it is erased.
        if contacts::is_being_erased(self.conn().await?, business, filter.supplier).await? {
            return Ok(Page::of(Vec::new(), request, request.offset().map(|_| 0), |_| 0));
        }
        let selection = selection(business, filter);
        let page = list::page(
            self,
            &selection,
            request,
            PurchaseRow::as_select(),
            |row: &PurchaseRow| row.id,
        )
        .await?;
        page.try_map(Purchase::try_from)
    }
}

/// The number of a contact's purchases that are read at once.
const OF_CONTACT_AT_ONCE: i64 = 25;

#[async_trait]
impl ContactPurchaseReader for Session<Read> {
    async fn contact_purchases(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: PurchaseId,
    ) -> StoreResult<Vec<Purchase>> {
        let rows: Vec<PurchaseRow> = purchases::table
            .filter(purchases::business_id.eq(business.get()))
            .filter(purchases::supplier.assume_not_null().eq(contact.get()))
            .filter(purchases::id.gt(after.get()))
            // Not the id alone: otherwise the planner might read all purchases in its order.
            .order((purchases::supplier, purchases::id))
            .limit(OF_CONTACT_AT_ONCE)
            .select(PurchaseRow::as_select())
            .load(self.conn().await?)
            .await?;
        rows.into_iter().map(Purchase::try_from).collect()
    }
}

impl Session<Write> {
    /// Stores what lists find a purchase by beside its own columns.
    async fn link_purchase(&mut self, business: BusinessId, purchase: &Purchase) -> StoreResult<()> {
        let content = &purchase.content;
        // Only a draft's lines change.
        if content.status == BillStatus::Draft {
            let vehicles = content.lines.iter().filter_map(|line| line.vehicle);
            link_vehicles!(
                self,
                business,
                purchase_vehicles,
                purchase = purchase.id.get(),
                vehicles
            );
        }
        link_credits!(
            self,
            business,
            purchase_credits,
            purchase = purchase.id.get(),
            &content.credit_notes
        );
        Ok(())
    }
}

#[async_trait]
impl PurchaseStore for Session<Write> {
    async fn lock_purchase(&mut self, business: BusinessId, id: PurchaseId) -> StoreResult<Option<Purchase>> {
        let query = purchases::table.find((business.get(), id.get()));
        let row: Option<PurchaseRow> = for_no_key_update(query.select(PurchaseRow::as_select()))
            .get_optional(self.conn().await?)
            .await?;
        row.map(Purchase::try_from).transpose()
    }

    async fn purchase_of_supplier_invoice(
        &mut self,
        business: BusinessId,
        supplier: ContactId,
        key: &str,
        except: Option<PurchaseId>,
    ) -> StoreResult<Option<Purchase>> {
        // A second purchase of the same number waits here.
        self.lock_counters(business).await?;
        // By the number alone, which few purchases share: a supplier may have sent many.
        let rows: Vec<PurchaseRow> = purchases::table
            .filter(purchases::business_id.eq(business.get()))
            .filter(purchases::supplier_key.assume_not_null().eq(key))
            .filter(purchases::kind.eq(PurchaseKind::Cost.name()))
            .filter(purchases::status.ne_all([BillStatus::Cancelled.name(), BillStatus::Credited.name()]))
            .filter(purchases::id.ne(except.map_or(0, PurchaseId::get)))
            .order((purchases::supplier_key, purchases::id))
            .select(PurchaseRow::as_select())
            .load(self.conn().await?)
            .await?;
        let found: Vec<Purchase> = rows.into_iter().map(Purchase::try_from).collect::<StoreResult<_>>()?;
        let of_supplier = |purchase: &Purchase| purchase.content.supplier == Some(supplier);
        Ok(found.into_iter().find(of_supplier))
    }

    async fn insert_purchase(
        &mut self,
        business: BusinessId,
        content: PurchaseContent,
        at: Timestamp,
    ) -> StoreResult<Purchase> {
        let mut purchase = Purchase {
            id: PurchaseId::new(0),
            number: None,
            version: Version::FIRST,
            created: at,
            updated: at,
            content,
        };
        let id = diesel::insert_into(purchases::table)
            .values((
                purchases::business_id.eq(business.get()),
                purchases::created.eq(at.epoch_seconds()),
                PurchaseValues::new(&purchase)?,
            ))
            .returning(purchases::id)
            .get_result(self.conn().await?)
            .await?;
        purchase.id = PurchaseId::new(id);
        self.count_later(business, PURCHASES, 1).await?;
        self.link_purchase(business, &purchase).await?;
        Ok(purchase)
    }

    async fn save_purchase(&mut self, business: BusinessId, purchase: &Purchase) -> StoreResult<()> {
        diesel::update(purchases::table.find((business.get(), purchase.id.get())))
            .set(PurchaseValues::new(purchase)?)
            .prepared()
            .execute(self.conn().await?)
            .await?;
        self.count_later(business, PURCHASES, 0).await?;
        self.keep_vat_lines(business, purchase_vat_lines(purchase)).await?;
        self.link_purchase(business, purchase).await
    }

    async fn purchases_with_former_parties(
        &mut self,
        before: Date,
        limit: u32,
    ) -> StoreResult<Vec<(BusinessId, PurchaseId)>> {
        former_parties!(self, purchases, before, limit, PurchaseId)
    }

    async fn next_purchase_number(&mut self, business: BusinessId) -> StoreResult<PurchaseNumber> {
        self.next_number(business, PURCHASES).await.map(PurchaseNumber::new)
    }

    async fn next_stock_number(&mut self, business: BusinessId) -> StoreResult<i64> {
        self.next_number(business, STOCK_BOOK).await
    }

    async fn next_purchase_credit_number(&mut self, business: BusinessId) -> StoreResult<PurchaseCreditNumber> {
        self.next_number(business, CREDITS).await.map(PurchaseCreditNumber::new)
    }
}

/// Of a purchase, its lines for the job's vehicle (areas §10.11).
#[async_trait]
impl JobPurchases for Session<Write> {
    async fn purchase_lines(
        &mut self,
        business: BusinessId,
        purchase: JobPurchaseId,
        vehicle: VehicleId,
    ) -> StoreResult<Option<JobPurchase>> {
        let purchase = self.lock_purchase(business, PurchaseId::new(purchase.get())).await?;
        Ok(purchase.and_then(|purchase| job_purchase(&purchase, vehicle)))
    }

    async fn set_purchase_job(
        &mut self,
        business: BusinessId,
        purchase: JobPurchaseId,
        job: Option<(VehicleId, JobId)>,
        at: Timestamp,
    ) -> StoreResult<()> {
        let Some(business) = self.business(business).await? else {
            return Ok(());
        };
        let job = job.map(|(vehicle, job)| LinkedJob {
            vehicle,
            job: job.get(),
        });
        set_vehicle_job(self, &business, PurchaseId::new(purchase.get()), job, at).await
    }
}

/// Returns what a job shows of a purchase; `None` if the purchase has no line for the vehicle.
fn job_purchase(purchase: &Purchase, vehicle: VehicleId) -> Option<JobPurchase> {
    let cost = vehicle_cost(purchase, vehicle)?;
    Some(JobPurchase {
        id: JobPurchaseId::new(purchase.id.get()),
        number: purchase.number.map(|number| number.to_string()),
        category: cost.category,
        net: cost.net,
    })
}
