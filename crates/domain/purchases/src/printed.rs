//! The printed forms of a purchase and of its credits, and its mail (areas §10.8).

use forecourt_accounts::Business;
use forecourt_billing::{
    BillStatus, OutgoingDocument, PurchaseCreditNumber, PurchaseId, SendDocument, print_legal_party, print_line,
    print_note_lines, print_party, print_payments, print_totals,
};
use forecourt_kernel::Target;
use forecourt_print::{Balance, Bill, BillKind, Language, Mark, Totals};

use crate::{Purchase, PurchaseError, PurchaseReader, read_purchase, show_purchase};

/// Returns the printed form of a purchase that is [shown](show_purchase). It comes from the supplier: who buys from a private person
/// makes it out himself.
pub fn bill_of_purchase(purchase: &Purchase, business: &Business) -> Bill {
    let content = &purchase.content;
    let home = business.country;
    let supplier = content.bill_from.as_ref().map(|party| print_party(party, home));
    let buyer = content.bill_to.as_ref().map(|party| print_legal_party(party, home));
    Bill {
        kind: BillKind::Purchase {
            supplier_invoice: content.supplier_invoice.to_string(),
        },
        language: Language::of(business.settings.language.as_deref().unwrap_or_default()),
        country: home,
        currency: content.currency,
        number: purchase.number.map(|number| number.to_string()),
        record: purchase.id.get(),
        mark: match content.status {
            BillStatus::Draft => Some(Mark::Draft),
            BillStatus::Cancelled => Some(Mark::Cancelled),
            BillStatus::Credited => Some(Mark::Credited),
            BillStatus::Issued | BillStatus::Paid => None,
        },
        date: content.date,
        due_date: Some(content.due_date),
        reference: String::new(),
        issuer: supplier.unwrap_or_default(),
        recipient: buyer.unwrap_or_default(),
        // The supplier's account is not known; the business does not pay to its own.
        bank: None,
        lines: content.lines.iter().map(print_line).collect(),
        part_exchanges: Vec::new(),
        totals: print_totals(&content.totals()),
        payments: print_payments(&content.payments),
        terms: String::new(),
        distance: None,
    }
}

/// Returns the printed form of a credit of a purchase; `None` if the purchase has no such credit.
pub fn bill_of_purchase_credit(purchase: &Purchase, business: &Business, number: PurchaseCreditNumber) -> Option<Bill> {
    let content = &purchase.content;
    let credit = content.credit_notes.iter().find(|credit| credit.number == number)?;
    Some(Bill {
        kind: BillKind::PurchaseCredit {
            purchase: purchase.number.map(|number| number.to_string()).unwrap_or_default(),
            reason: credit.reason.to_string(),
        },
        number: Some(credit.number.to_string()),
        mark: None,
        date: credit.date,
        due_date: None,
        reference: credit.supplier_reference.to_string(),
        lines: print_note_lines(&credit.lines, &content.lines),
        totals: Totals {
            net: credit.net,
            vat: credit.vat,
            gross: credit.gross,
            balance: Balance::None,
        },
        payments: Vec::new(),
        ..bill_of_purchase(purchase, business)
    })
}

/// Returns a purchase as it is mailed to its supplier. Nothing changes.
///
/// # Errors
/// [`PurchaseError::NotFound`], then [`PurchaseError::VersionMismatch`], then [`PurchaseError::InvalidStatus`] of a draft or a
/// cancelled purchase, then [`PurchaseError::Invalid`] without an address; [`PurchaseError::Store`].
pub async fn prepare_purchase_mail(
    store: &mut dyn PurchaseReader,
    business: &Business,
    id: impl Into<Target<PurchaseId>>,
    request: &SendDocument,
) -> Result<OutgoingDocument, PurchaseError> {
    let Target { id, precondition } = id.into();
    let purchase = read_purchase(store, business.id, id).await?;
    precondition.check(purchase.version)?;
    if let status @ (BillStatus::Draft | BillStatus::Cancelled) = purchase.content.status {
        return Err(PurchaseError::InvalidStatus(status));
    }
    let purchase = show_purchase(store, business, &purchase).await?;
    let bill = bill_of_purchase(&purchase, business);
    let supplier = purchase.content.supplier;
    Ok(OutgoingDocument::address(store, business.id, bill, supplier, request).await??)
}
