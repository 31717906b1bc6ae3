//! The stock book (areas §10.6) in step with the invoices, and the end of the names in it.

use std::collections::BTreeSet;

use forecourt_accounts::{Business, Caller};
use forecourt_billing::Agreement;
use forecourt_invoices::{self as invoices, Credit, Invoice, InvoiceId};
use forecourt_kernel::{Clock, Date, Target, VehicleId};
use forecourt_stock_book::{self as stock_book, StockBookStore};
use forecourt_vehicles::Vehicle;

use crate::{SaleError, SaleStore};

/// Draws a number in the stock book for each vehicle that is about to be sold and has none, and shows the numbers in its lines.
pub(crate) async fn draw_stock_numbers(
    store: &mut dyn SaleStore,
    business: &Business,
    agreement: &mut Agreement,
    sold: &mut [Vehicle],
) -> Result<(), SaleError> {
    for vehicle in sold {
        let number = match vehicle.content.stock_number {
            Some(number) => number,
            None => store.next_stock_number(business.id).await?,
        };
        vehicle.content.stock_number = Some(number);
        for line in agreement
            .lines
            .iter_mut()
            .filter(|line| line.vehicle == Some(vehicle.id))
        {
            line.stock_number = Some(number);
        }
    }
    Ok(())
}

/// Keeps the entries of the vehicles that an issued or credited invoice bills, but for those that `followed` says are kept already.
pub(crate) async fn keep_book(
    store: &mut dyn StockBookStore,
    business: &Business,
    invoice: &Invoice,
    followed: impl Fn(VehicleId) -> bool,
) -> Result<(), SaleError> {
    let lines = &invoice.content.agreement.lines;
    let numbered = lines.iter().filter(|line| line.stock_number.is_some());
    let vehicles: BTreeSet<VehicleId> = numbered.filter_map(|line| line.vehicle).collect();
    for vehicle in vehicles.into_iter().filter(|vehicle| !followed(*vehicle)) {
        stock_book::keep_entry(store, business, vehicle).await?;
    }
    Ok(())
}

/// Credits a part of an invoice, or all that remains of it, and keeps the stock book.
///
/// # Errors
/// Those of [`invoices::credit_invoice`].
pub async fn credit_invoice(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<InvoiceId>>,
    command: Credit,
) -> Result<Invoice, SaleError> {
    let invoice = invoices::credit_invoice(store, clock, by, id, command).await?;
    keep_book(store, &by.business, &invoice, |_| false).await?;
    Ok(invoice)
}

/// Blanks the customer of an issued invoice whose contact was deleted, once it is kept no longer, and its name in the stock book.
///
/// # Errors
/// If the store fails.
pub async fn forget_former_party(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    business: &Business,
    id: InvoiceId,
    before: Date,
) -> Result<(), SaleError> {
    invoices::forget_former_party(store, clock, business, id, before).await?;
    if let Some(invoice) = store.invoice(business.id, id).await?
        && invoice.content.agreement.bill_to.is_none()
    {
        stock_book::forget_customer(store, business.id, &invoice).await?;
    }
    Ok(())
}
