//! A store in memory, and the suite that every store of the stock book must pass.

#![expect(clippy::expect_used, reason = "this is for tests, which fail so")]

use std::collections::BTreeMap;

use async_trait::async_trait;
use forecourt_billing::{InvoiceId, InvoiceNumber, PurchaseId, PurchaseNumber, VatScheme, negative, sum};
use forecourt_invoices::{InvoiceFilter, InvoiceReader};
use forecourt_kernel::testing::page_of;
use forecourt_kernel::{
    BusinessId, Cursor, Date, Money, Page, PageRequest, Position, Range, StoreResult, Timestamp, VehicleId,
};
use forecourt_purchases::{PurchaseFilter, PurchaseReader};
use forecourt_vehicles::VehicleReader;

use crate::{
    MarginSum, Particular, StockBookFilter, StockBookReader, StockBookStore, StockContent, StockEntry, StockPurchase,
    StockSale, StockStatus, VatDocument, VatLine, VatReader, VatSum, VatTotal, invoice_vat_lines, purchase_vat_lines,
};

/// Entries in memory, by business and number.
#[derive(Clone, Debug, Default)]
pub struct MemoryStockBook {
    entries: BTreeMap<(BusinessId, i64), StockEntry>,
}

/// A store in memory that holds a stock book, perhaps with other records.
pub trait HoldsStockBook: Send {
    /// The stock book.
    fn held_stock_book(&mut self) -> &mut MemoryStockBook;
}

impl MemoryStockBook {
    fn of(&self, business: BusinessId) -> impl DoubleEndedIterator<Item = &StockEntry> {
        self.entries
            .range((business, i64::MIN)..=(business, i64::MAX))
            .map(|(_, entry)| entry)
    }
}

fn passes(filter: &StockBookFilter, entry: &StockEntry) -> bool {
    let StockBookFilter {
        status,
        vat_scheme,
        vehicle,
        complete,
        purchase_date,
        sale_date,
    } = filter;
    let content = &entry.content;
    let within = |range: &Option<Range<Date>>, day: Option<Date>| {
        range.is_none_or(|range| day.is_some_and(|day| range.contains(&day)))
    };
    status.is_none_or(|status| content.status == status)
        && vat_scheme.is_none_or(|scheme| content.vat_scheme == scheme)
        && vehicle.is_none_or(|vehicle| content.vehicle == vehicle)
        && complete.is_none_or(|complete| content.is_complete() == complete)
        && within(purchase_date, content.purchase.as_ref().map(|purchase| purchase.date))
        && within(sale_date, content.sale.as_ref().map(|sale| sale.date))
}

#[async_trait]
impl<S: HoldsStockBook> StockBookReader for S {
    async fn stock_entry(&mut self, business: BusinessId, number: i64) -> StoreResult<Option<StockEntry>> {
        Ok(self.held_stock_book().entries.get(&(business, number)).cloned())
    }

    async fn stock_entries(
        &mut self,
        business: BusinessId,
        filter: &StockBookFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<StockEntry>> {
        let newest_first = self.held_stock_book().of(business).rev();
        let passing = newest_first.filter(|entry| passes(filter, entry));
        Ok(page_of(passing, page, |entry| entry.number))
    }

    async fn stock_entries_after(
        &mut self,
        business: BusinessId,
        filter: &StockBookFilter,
        after: i64,
        limit: u32,
    ) -> StoreResult<Vec<StockEntry>> {
        let oldest_first = self.held_stock_book().of(business);
        let passing = oldest_first.filter(|entry| entry.number > after && passes(filter, entry));
        Ok(passing.take(limit as usize).cloned().collect())
    }
}

#[async_trait]
impl<S: HoldsStockBook + VehicleReader + PurchaseReader + InvoiceReader> StockBookStore for S {
    async fn lock_stock_book(&mut self, _: BusinessId) -> StoreResult<()> {
        Ok(())
    }

    async fn save_stock_entry(&mut self, business: BusinessId, entry: &StockEntry) -> StoreResult<()> {
        let entries = &mut self.held_stock_book().entries;
        entries.insert((business, entry.number), entry.clone());
        Ok(())
    }
}

/// Returns the VAT lines of all documents of a business.
async fn vat_lines<S: PurchaseReader + InvoiceReader>(
    store: &mut S,
    business: BusinessId,
) -> StoreResult<Vec<VatLine>> {
    let all = PageRequest {
        position: Position::After(Cursor::at([i64::MAX])),
        per_page: u32::MAX,
    };
    let invoices = store.invoices(business, &InvoiceFilter::default(), &all).await?;
    let purchases = store.purchases(business, &PurchaseFilter::default(), &all).await?;
    let mut lines: Vec<VatLine> = invoices.items.iter().flat_map(invoice_vat_lines).collect();
    lines.extend(purchases.items.iter().flat_map(purchase_vat_lines));
    Ok(lines)
}

#[async_trait]
impl<S: HoldsStockBook + PurchaseReader + InvoiceReader> VatReader for S {
    async fn vat_sums(&mut self, business: BusinessId, from: Date, to: Date) -> StoreResult<Vec<VatSum>> {
        let mut lines = vat_lines(self, business).await?;
        lines.retain(|line| (from..=to).contains(&line.date));
        let mut groups: BTreeMap<_, Vec<VatLine>> = BTreeMap::new();
        for line in lines {
            let group = (line.kind, line.vat_scheme, line.vat_rate);
            groups.entry(group).or_default().push(line);
        }
        let of_group = |((kind, vat_scheme, vat_rate), lines): ((VatDocument, _, _), Vec<VatLine>)| {
            let mut documents: Vec<i64> = lines.iter().map(|line| line.document).collect();
            documents.sort_unstable();
            documents.dedup();
            VatSum {
                kind,
                total: VatTotal {
                    vat_scheme,
                    vat_rate,
                    net: sum(lines.iter().map(|line| line.net)),
                    vat: sum(lines.iter().map(|line| line.vat)),
                    gross: sum(lines.iter().map(|line| line.gross)),
                    documents: i64::try_from(documents.len()).unwrap_or(i64::MAX),
                },
            }
        };
        Ok(groups.into_iter().map(of_group).collect())
    }

    async fn margin_sums(&mut self, business: BusinessId, from: Date, to: Date) -> StoreResult<Vec<MarginSum>> {
        let mut entries: BTreeMap<i64, Vec<VatLine>> = BTreeMap::new();
        for line in vat_lines(self, business).await? {
            let is_of_sales = matches!(line.kind, VatDocument::Sale | VatDocument::Credit);
            if let Some(number) = line
                .stock_number
                .filter(|_| is_of_sales && line.vat_scheme == VatScheme::Margin)
            {
                entries.entry(number).or_default().push(line);
            }
        }
        let mut found = Vec::new();
        for (number, lines) in entries {
            if !lines.iter().any(|line| (from..=to).contains(&line.date)) {
                continue;
            }
            let sold = |is_counted: &dyn Fn(Date) -> bool| {
                let counted = lines.iter().filter(|line| is_counted(line.date));
                sum(counted.map(|line| match line.kind {
                    VatDocument::Credit => negative(line.gross),
                    _ => line.gross,
                }))
            };
            if let Some(entry) = self.stock_entry(business, number).await? {
                found.push(MarginSum {
                    entry,
                    before: sold(&|day| day < from),
                    until: sold(&|day| day <= to),
                });
            }
        }
        Ok(found)
    }
}

/// The day of the suite's purchases.
const AT: Timestamp = Timestamp::from_epoch_seconds(1_790_000_000);

/// An entry of a vehicle in stock that was bought under the margin scheme.
pub fn a_stock_entry(number: i64, vehicle: VehicleId) -> StockEntry {
    let purchase = StockPurchase {
        id: PurchaseId::new(number),
        number: Some(PurchaseNumber::new(number)),
        date: AT.date(),
        supplier_invoice: "A 1".to_owned(),
        supplier: "Ann Smith".to_owned(),
        vat_scheme: VatScheme::Margin,
        price: Money::from_minor(1_000_000),
        vat: Money::ZERO,
    };
    StockEntry {
        number,
        content: StockContent {
            vehicle,
            registration: "AB12 CDE".to_owned(),
            vin: String::new(),
            description: "2019 Ford Focus".to_owned(),
            vat_scheme: VatScheme::Margin,
            status: StockStatus::InStock,
            purchase: Some(purchase),
            sale: None,
            margin: None,
            vat_due: None,
            missing: Vec::new(),
        },
    }
}

/// Checks a store: its entries are found by every filter, in their order, and only by their business.
pub async fn stock_book_contract<S>(store: &mut S, ours: BusinessId, theirs: BusinessId)
where
    S: StockBookStore + ?Sized,
{
    let mut entries: Vec<StockEntry> = (1..=4)
        .map(|number| a_stock_entry(number, VehicleId::new(number)))
        .collect();
    entries[1].content.sale = Some(StockSale {
        id: Some(InvoiceId::new(7)),
        number: Some(InvoiceNumber::new(7)),
        date: AT.date().days_later(30),
        customer: "Bob Jones".to_owned(),
        price: Some(Money::from_minor(1_299_500)),
        vat: Money::ZERO,
    });
    entries[1].content.status = StockStatus::Sold;
    entries[2].content.vat_scheme = VatScheme::Standard;
    entries[2].content.missing = vec![Particular::Registration];
    entries[3].content.purchase = None;
    entries[3].content.vehicle = VehicleId::new(1);
    for entry in &entries {
        store.save_stock_entry(ours, entry).await.expect("it is stored");
    }
    let other = a_stock_entry(1, VehicleId::new(9));
    store.save_stock_entry(theirs, &other).await.expect("it is stored");
    entries[0].content.status = StockStatus::Removed;
    store.save_stock_entry(ours, &entries[0]).await.expect("it is stored");

    for entry in &entries {
        let found = store.stock_entry(ours, entry.number).await.expect("it is read");
        assert_eq!(found.as_ref(), Some(entry));
    }
    assert_eq!(store.stock_entry(theirs, 2).await.expect("it is read"), None);

    let day = |later| {
        let day = Some(AT.date().days_later(later));
        Some(Range { from: day, to: day })
    };
    let all = StockBookFilter::default();
    let cases = [
        (all.clone(), vec![4, 3, 2, 1]),
        (
            StockBookFilter {
                status: Some(StockStatus::Sold),
                ..all.clone()
            },
            vec![2],
        ),
        (
            StockBookFilter {
                vat_scheme: Some(VatScheme::Standard),
                ..all.clone()
            },
            vec![3],
        ),
        (
            StockBookFilter {
                vehicle: Some(VehicleId::new(1)),
                ..all.clone()
            },
            vec![4, 1],
        ),
        (
            StockBookFilter {
                complete: Some(false),
                ..all.clone()
            },
            vec![3],
        ),
        (
            StockBookFilter {
                complete: Some(true),
                ..all.clone()
            },
            vec![4, 2, 1],
        ),
        (
            StockBookFilter {
                purchase_date: day(0),
                ..all.clone()
            },
            vec![3, 2, 1],
        ),
        (
            StockBookFilter {
                sale_date: day(30),
                ..all.clone()
            },
            vec![2],
        ),
        (
            StockBookFilter {
                sale_date: day(31),
                ..all.clone()
            },
            vec![],
        ),
    ];
    for (filter, expected) in cases {
        let page = store
            .stock_entries(ours, &filter, &PageRequest::first())
            .await
            .expect("it is read");
        let found: Vec<i64> = page.items.iter().map(|entry| entry.number).collect();
        assert_eq!(found, expected, "{filter:?}");
        assert_eq!(page.total, i64::try_from(expected.len()).ok());
        let mut oldest_first = expected;
        oldest_first.reverse();
        let found = store
            .stock_entries_after(ours, &filter, 0, 10)
            .await
            .expect("it is read");
        let found: Vec<i64> = found.iter().map(|entry| entry.number).collect();
        assert_eq!(found, oldest_first, "{filter:?}");
    }
    let later = store.stock_entries_after(ours, &all, 1, 2).await.expect("it is read");
    assert_eq!(later.iter().map(|entry| entry.number).collect::<Vec<_>>(), [2, 3]);
}
