//! The stock book, and the lines that VAT figures are made of.

use std::collections::BTreeMap;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use forecourt_billing::{VatRate, VatScheme};
use forecourt_kernel::{BusinessId, Date, Money, Page, PageRequest, StoreResult, VehicleId};
use forecourt_stock_book::{
    MarginSum, StockBookFilter, StockBookReader, StockBookStore, StockEntry, StockStatus, VatDocument, VatLine,
    VatReader, VatSum, VatTotal,
};

use super::billing::{day, days};
use super::owned::OwnedTable;
use super::selection::{RecordKind, Selection};
use super::session::{Mode, Session, Write};
use super::{Db, list};
use crate::error::other;
use crate::personal::{Erasure::Kept, PersonalTable, table, withheld};
use crate::statement::{MayScan as _, Prepare as _, RunQueryDsl, Select, Sql};

pub(super) const OWNED_TABLES: &[OwnedTable] = &[
    OwnedTable::new("stock_book", "id", 500),
    OwnedTable::new("vat_lines", "kind, document, vat_scheme, vat_rate, stock_number", 500),
];

pub(super) const TABLES: &[PersonalTable] = &[
    table(
        "stock_book",
        &[withheld(
            "document",
            "its names are those of invoices and purchases, which the export shows",
            Kept("tax law demands the names in the book; the retention of parties ends them"),
        )],
        &[
            "business_id",
            "id",
            "vehicle",
            "status",
            "vat_scheme",
            "complete",
            "purchase_date",
            "sale_date",
        ],
    ),
    table(
        "vat_lines",
        &[],
        &[
            "business_id",
            "kind",
            "document",
            "vat_scheme",
            "vat_rate",
            "stock_number",
            "date",
            "net",
            "vat",
            "gross",
        ],
    ),
];

/// The counter of entries and their numbers.
pub(super) const STOCK_BOOK: &str = "stock_book";

const KIND: RecordKind = RecordKind {
    table: STOCK_BOOK,
    rows: STOCK_BOOK,
    texts: None,
};

/// The number of entries that are read at once by their numbers.
const ENTRIES_AT_ONCE: usize = 500;

diesel::table! {
    stock_book (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        vehicle -> BigInt,
        status -> Text,
        vat_scheme -> Text,
        complete -> BigInt,
        purchase_date -> Nullable<BigInt>,
        sale_date -> Nullable<BigInt>,
        document -> Text,
    }
}

diesel::table! {
    vat_lines (business_id, kind, document, vat_scheme, vat_rate, stock_number) {
        business_id -> BigInt,
        kind -> Text,
        document -> BigInt,
        vat_scheme -> Text,
        vat_rate -> BigInt,
        stock_number -> BigInt,
        date -> BigInt,
        net -> BigInt,
        vat -> BigInt,
        gross -> BigInt,
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = stock_book, check_for_backend(Db))]
struct EntryRow {
    id: i64,
    document: String,
}

#[derive(Insertable, AsChangeset)]
#[diesel(table_name = stock_book, check_for_backend(Db), treat_none_as_null = true, treat_none_as_default_value = false)]
struct EntryValues {
    vehicle: i64,
    status: &'static str,
    vat_scheme: &'static str,
    complete: i64,
    purchase_date: Option<i64>,
    sale_date: Option<i64>,
    document: String,
}

impl EntryValues {
    fn new(entry: &StockEntry) -> StoreResult<Self> {
        let content = &entry.content;
        Ok(Self {
            vehicle: content.vehicle.get(),
            status: content.status.name(),
            vat_scheme: content.vat_scheme.name(),
            complete: content.is_complete().into(),
            purchase_date: content.purchase.as_ref().map(|purchase| day(purchase.date)),
            sale_date: content.sale.as_ref().map(|sale| day(sale.date)),
            document: serde_json::to_string(content).map_err(other)?,
        })
    }
}

impl TryFrom<EntryRow> for StockEntry {
    type Error = forecourt_kernel::StoreError;

    fn try_from(row: EntryRow) -> StoreResult<Self> {
        let unreadable = |failure| other(format!("entry {} of the stock book cannot be read: {failure}", row.id));
        Ok(Self {
            number: row.id,
            content: serde_json::from_str(&row.document).map_err(unreadable)?,
        })
    }
}

/// Selects the entries that pass `filter`.
fn selection(business: BusinessId, filter: &StockBookFilter) -> Selection {
    let StockBookFilter {
        status,
        vat_scheme,
        vehicle,
        complete,
        purchase_date,
        sale_date,
    } = filter;
    let mut list = Selection::all(KIND, business);
    list.is("status", status.map(StockStatus::name));
    list.is("vat_scheme", vat_scheme.map(VatScheme::name));
    list.is("vehicle", vehicle.map(VehicleId::get));
    list.is("complete", complete.map(i64::from));
    list.within("purchase_date", days(*purchase_date));
    list.within("sale_date", days(*sale_date));
    list
}

#[async_trait]
impl<M: Mode> StockBookReader for Session<M> {
    async fn stock_entry(&mut self, business: BusinessId, number: i64) -> StoreResult<Option<StockEntry>> {
        let row: Option<EntryRow> = stock_book::table
            .find((business.get(), number))
            .select(EntryRow::as_select())
            .get_optional(self.conn().await?)
            .await?;
        row.map(StockEntry::try_from).transpose()
    }

    async fn stock_entries(
        &mut self,
        business: BusinessId,
        filter: &StockBookFilter,
        request: &PageRequest,
    ) -> StoreResult<Page<StockEntry>> {
        let selection = selection(business, filter);
        let page = list::page(self, &selection, request, EntryRow::as_select(), |row: &EntryRow| {
            row.id
        })
        .await?;
        page.try_map(StockEntry::try_from)
    }

    async fn stock_entries_after(
        &mut self,
        business: BusinessId,
        filter: &StockBookFilter,
        after: i64,
        limit: u32,
    ) -> StoreResult<Vec<StockEntry>> {
        let selection = selection(business, filter);
        let mut entries = selection.passing();
        entries
            .sql(" AND id > ")
            .bind(after)
            .sql(&format!(" ORDER BY id LIMIT {limit}"));
        let rows: Vec<EntryRow> = Select::new(EntryRow::as_select(), entries)
            .may_scan(!selection.is_all())
            .load(self.flushed_conn().await?)
            .await?;
        rows.into_iter().map(StockEntry::try_from).collect()
    }
}

#[async_trait]
impl StockBookStore for Session<Write> {
    async fn lock_stock_book(&mut self, business: BusinessId) -> StoreResult<()> {
        self.lock_counters(business).await.map(drop)
    }

    async fn save_stock_entry(&mut self, business: BusinessId, entry: &StockEntry) -> StoreResult<()> {
        let values = EntryValues::new(entry)?;
        let changed = diesel::update(stock_book::table.find((business.get(), entry.number)))
            .set(&values)
            .prepared()
            .execute(self.conn().await?)
            .await?;
        if changed == 0 {
            let new = (
                stock_book::business_id.eq(business.get()),
                stock_book::id.eq(entry.number),
                values,
            );
            diesel::insert_into(stock_book::table)
                .values(new)
                .execute(self.conn().await?)
                .await?;
        }
        self.count_later(business, STOCK_BOOK, i64::from(changed == 0)).await
    }
}

impl Session<Write> {
    /// Stores the lines of an issued document and its credits for VAT figures. Neither ever changes.
    pub(super) async fn keep_vat_lines(&mut self, business: BusinessId, lines: Vec<VatLine>) -> StoreResult<()> {
        for line in lines {
            let VatLine {
                kind,
                document,
                date,
                vat_scheme,
                vat_rate,
                stock_number,
                net,
                vat,
                gross,
            } = line;
            let line = diesel::insert_into(vat_lines::table)
                .values((
                    vat_lines::business_id.eq(business.get()),
                    vat_lines::kind.eq(kind.name()),
                    vat_lines::document.eq(document),
                    vat_lines::vat_scheme.eq(vat_scheme.name()),
                    vat_lines::vat_rate.eq(i64::from(vat_rate.hundredths())),
                    vat_lines::stock_number.eq(stock_number.unwrap_or_default()),
                    vat_lines::date.eq(day(date)),
                    vat_lines::net.eq(net.minor()),
                    vat_lines::vat.eq(vat.minor()),
                    vat_lines::gross.eq(gross.minor()),
                ))
                .on_conflict_do_nothing();
            self.send_later(business, line).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl<M: Mode> VatReader for Session<M> {
    async fn vat_sums(&mut self, business: BusinessId, from: Date, to: Date) -> StoreResult<Vec<VatSum>> {
        let mut sums: Sql<(Text, Text, BigInt, BigInt, BigInt, BigInt, BigInt)> = Sql::new(
            "SELECT kind, vat_scheme, vat_rate, CAST(sum(net) AS BIGINT), CAST(sum(vat) AS BIGINT), \
             CAST(sum(gross) AS BIGINT), count(DISTINCT document) FROM vat_lines WHERE business_id = ",
        );
        sums.bind(business.get())
            .sql(" AND date >= ")
            .bind(day(from))
            .sql(" AND date <= ")
            .bind(day(to))
            .sql(" GROUP BY kind, vat_scheme, vat_rate");
        sums.plan_by_values();
        type Row = (String, String, i64, i64, i64, i64, i64);
        let rows: Vec<Row> = sums.may_scan(true).load(self.flushed_conn().await?).await?;
        let sum = |(kind, scheme, rate, net, vat, gross, documents): Row| {
            let known = VatDocument::ALL.into_iter().find(|known| known.name() == kind);
            Ok(VatSum {
                kind: known.ok_or_else(|| other(format!("{kind} is no kind of document")))?,
                total: VatTotal {
                    vat_scheme: scheme.parse().map_err(other)?,
                    vat_rate: VatRate::from_hundredths(rate.try_into().map_err(other)?),
                    net: Money::from_minor(net),
                    vat: Money::from_minor(vat),
                    gross: Money::from_minor(gross),
                    documents,
                },
            })
        };
        rows.into_iter().map(sum).collect()
    }

    async fn margin_sums(&mut self, business: BusinessId, from: Date, to: Date) -> StoreResult<Vec<MarginSum>> {
        const SIGNED: &str = "(CASE WHEN kind = 'credit' THEN -gross ELSE gross END)";
        let mut sums: Sql<(BigInt, BigInt, BigInt)> = Sql::new("SELECT stock_number, CAST(sum(CASE WHEN date < ");
        sums.bind(day(from))
            .sql(&format!(
                " THEN {SIGNED} ELSE 0 END) AS BIGINT), CAST(sum({SIGNED}) AS BIGINT) FROM vat_lines WHERE business_id = "
            ))
            .bind(business.get())
            .sql(" AND stock_number IN (SELECT stock_number FROM vat_lines WHERE business_id = ")
            .bind(business.get())
            .sql(" AND date >= ")
            .bind(day(from))
            .sql(" AND date <= ")
            .bind(day(to))
            .sql(" AND stock_number > 0) AND date <= ")
            .bind(day(to))
            .sql(" AND vat_scheme = 'margin' AND kind IN ('sale', 'credit') GROUP BY stock_number");
        sums.plan_by_values();
        let rows: Vec<(i64, i64, i64)> = sums.may_scan(true).load(self.flushed_conn().await?).await?;
        let mut entries = BTreeMap::new();
        for numbers in rows.chunks(ENTRIES_AT_ONCE) {
            let found: Vec<EntryRow> = stock_book::table
                .filter(stock_book::business_id.eq(business.get()))
                .filter(stock_book::id.eq_any(numbers.iter().map(|(number, ..)| *number)))
                .select(EntryRow::as_select())
                .load(self.conn().await?)
                .await?;
            for row in found {
                entries.insert(row.id, StockEntry::try_from(row)?);
            }
        }
        let sum = |(number, before, until)| {
            Some(MarginSum {
                entry: entries.remove(&number)?,
                before: Money::from_minor(before),
                until: Money::from_minor(until),
            })
        };
        Ok(rows.into_iter().filter_map(sum).collect())
    }
}
