//! The stock book, which the margin scheme for second-hand goods demands (areas §10.6), and the VAT figures of a period (areas §10.7).
//!
//! The book cannot be edited. It is written in the transactions that it follows from: [`follow_vehicle`] with each change of a vehicle,
//! [`keep_entry`] after a credit of an invoice, and after an acquisition that was undone.
//!
//! ```
//! use forecourt_billing::VatRate;
//! use forecourt_kernel::Money;
//! use forecourt_stock_book::margin_vat;
//!
//! // A car is bought for 10,000.00 and sold for 12,995.00.
//! let due = margin_vat(VatRate::from_hundredths(2000), Money::from_minor(1_299_500 - 1_000_000));
//! assert_eq!(due.to_string(), "499.17");
//! ```

mod book;
mod entry;
mod retain;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod vat;
mod view;

use forecourt_kernel::StoreError;

pub use book::{follow_vehicle, keep_entry, margin_vat};
pub use entry::{Particular, StockContent, StockEntry, StockPurchase, StockSale, StockStatus, UnknownStockStatus};
pub use retain::{forget_customer, forget_supplier};
pub use store::{StockBookFilter, StockBookReader, StockBookStore, VatReader};
pub use vat::{
    MarginFigures, MarginSum, VatDocument, VatFigures, VatLine, VatPeriod, VatSum, VatTotal, invoice_vat_lines,
    purchase_vat_lines, vat_figures,
};
pub use view::{CSV_HEADER, StockEntryView, csv_row};

/// The error of a use case of the stock book.
#[derive(Debug, thiserror::Error)]
pub enum StockBookError {
    /// The business has no entry of that number.
    #[error("the stock book has no entry {0}")]
    NotFound(i64),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Returns an entry of the stock book.
///
/// # Errors
/// [`StockBookError::NotFound`]; [`StockBookError::Store`].
pub async fn read_entry(
    store: &mut dyn StockBookReader,
    business: forecourt_kernel::BusinessId,
    number: i64,
) -> Result<StockEntry, StockBookError> {
    let entry = store.stock_entry(business, number).await?;
    entry.ok_or(StockBookError::NotFound(number))
}

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
