//! Names and texts of people that are kept no longer (areas §10.0, "People").

use forecourt_invoices::Invoice;
use forecourt_kernel::{BusinessId, StoreResult};
use forecourt_purchases::Purchase;

use crate::{StockBookStore, StockEntry};

/// Blanks the customer's name in the entries of vehicles that were sold by an invoice whose party is kept no longer. Nothing else
/// of the entries changes.
///
/// # Errors
/// If the store fails.
pub async fn forget_customer(
    store: &mut dyn StockBookStore,
    business: BusinessId,
    invoice: &Invoice,
) -> StoreResult<()> {
    let numbers = invoice
        .content
        .agreement
        .lines
        .iter()
        .filter_map(|line| line.stock_number);
    change(store, business, numbers, |entry| {
        let sale = entry.content.sale.as_mut().filter(|sale| sale.id == Some(invoice.id));
        sale.is_some_and(|sale| !std::mem::take(&mut sale.customer).is_empty())
    })
    .await
}

/// Takes over what a purchase still says of a supplier that was deleted: its name while the party is kept, and the supplier's own
/// number of the invoice, from which the erasure may have taken a name.
///
/// # Errors
/// If the store fails.
pub async fn forget_supplier(
    store: &mut dyn StockBookStore,
    business: BusinessId,
    purchase: &Purchase,
) -> StoreResult<()> {
    let numbers = purchase.content.lines.iter().filter_map(|line| line.stock_number);
    let text = purchase.content.supplier_invoice.to_string();
    change(store, business, numbers, |entry| {
        let bought = entry
            .content
            .purchase
            .as_mut()
            .filter(|bought| bought.id == purchase.id);
        let Some(bought) = bought else {
            return false;
        };
        let is_forgotten = purchase.content.bill_from.is_none() && !std::mem::take(&mut bought.supplier).is_empty();
        let differs = bought.supplier_invoice != text;
        bought.supplier_invoice.clone_from(&text);
        is_forgotten || differs
    })
    .await
}

/// Changes the entries of these numbers, and stores those of which `change` says that they differ.
async fn change(
    store: &mut dyn StockBookStore,
    business: BusinessId,
    numbers: impl Iterator<Item = i64>,
    change: impl Fn(&mut StockEntry) -> bool,
) -> StoreResult<()> {
    for number in numbers {
        if let Some(mut entry) = store.stock_entry(business, number).await?
            && change(&mut entry)
        {
            store.save_stock_entry(business, &entry).await?;
        }
    }
    Ok(())
}
