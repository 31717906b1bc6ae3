//! The ports to the storage of the stock book.

use async_trait::async_trait;
use forecourt_billing::VatScheme;
use forecourt_invoices::InvoiceReader;
use forecourt_kernel::{BusinessId, Date, Page, PageRequest, Range, StoreResult, VehicleId};
use forecourt_purchases::PurchaseReader;
use forecourt_vehicles::VehicleReader;

use crate::{MarginSum, StockEntry, StockStatus, VatSum};

/// The filters of the stock book (areas §10.6); an absent one lets every entry pass.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StockBookFilter {
    /// In this state.
    pub status: Option<StockStatus>,
    /// Under this scheme.
    pub vat_scheme: Option<VatScheme>,
    /// Of this vehicle.
    pub vehicle: Option<VehicleId>,
    /// Without a missing particular, or with one.
    pub complete: Option<bool>,
    /// Bought on a day within this range.
    pub purchase_date: Option<Range<Date>>,
    /// Sold on a day within this range.
    pub sale_date: Option<Range<Date>>,
}

/// Reads the stock book.
#[async_trait]
pub trait StockBookReader: Send {
    /// Returns the entry, or `None` if the business has none of that number.
    async fn stock_entry(&mut self, business: BusinessId, number: i64) -> StoreResult<Option<StockEntry>>;

    /// Returns a page of the entries that pass `filter`, newest number first.
    async fn stock_entries(
        &mut self,
        business: BusinessId,
        filter: &StockBookFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<StockEntry>>;

    /// Returns at most `limit` of the entries that pass `filter` with a number above `after`, oldest number first.
    async fn stock_entries_after(
        &mut self,
        business: BusinessId,
        filter: &StockBookFilter,
        after: i64,
        limit: u32,
    ) -> StoreResult<Vec<StockEntry>>;
}

/// Reads the sums that VAT figures are made of (areas §10.7).
#[async_trait]
pub trait VatReader: StockBookReader {
    /// Returns the sums of the documents of the days of `from` to `to`, both included, by their kind, scheme and rate. Drafts,
    /// cancelled documents and finance invoices do not count.
    async fn vat_sums(&mut self, business: BusinessId, from: Date, to: Date) -> StoreResult<Vec<VatSum>>;

    /// Returns the sums of the margin lines of each entry of the stock book that has such a line, or a credit of one, on a day of
    /// `from` to `to`.
    async fn margin_sums(&mut self, business: BusinessId, from: Date, to: Date) -> StoreResult<Vec<MarginSum>>;
}

/// Writes the stock book. All operations through one store commit together or not at all.
#[async_trait]
pub trait StockBookStore: StockBookReader + VehicleReader + PurchaseReader + InvoiceReader {
    /// Locks the stock book of the business against other writers until the transaction ends.
    async fn lock_stock_book(&mut self, business: BusinessId) -> StoreResult<()>;

    /// Stores a new or changed entry under its number.
    async fn save_stock_entry(&mut self, business: BusinessId, entry: &StockEntry) -> StoreResult<()>;
}
