//! The invoice of a deposit (decisions §8).

use forecourt_accounts::Business;
use forecourt_billing::{Agreement, Payment, PaymentKind, VatRate};
use forecourt_kernel::{Clock, EventName, Money, ValidationErrors};

use super::Ledger;
use crate::{
    Invoice, InvoiceContent, InvoiceError, InvoiceStore, RaiseDeposit, Trigger, invoice::defaults, next,
    service::issue::freeze,
};

/// Invoices the deposit of a reservation: drafts the invoice, issues it and, if a payment method is given, records the payment
/// (decisions §8).
///
/// It records invoice.created, then invoice.issued and, with a payment, invoice.paid. Each event shows the invoice as it was at
/// that moment: the draft without a number at version 1, the issued invoice at version 2, the paid one at version 3. The last of
/// them is returned.
///
/// # Errors
/// [`InvoiceError::Invalid`] (`deposit`) if the amount is not above 0; [`InvoiceError::Store`].
pub async fn raise_deposit(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    business: &Business,
    command: RaiseDeposit,
) -> Result<Invoice, InvoiceError> {
    if command.gross <= Money::ZERO {
        return Err(ValidationErrors::one("deposit", "must be above 0").into());
    }
    let now = clock.now();
    let blank = Agreement::blank(business, &defaults(business, command.date));
    let content = InvoiceContent::deposit(&command, blank, VatRate::standard(business.country));
    let mut ledger = Ledger { store, business, now };
    let draft = ledger.insert(content).await?;

    let mut invoice = draft.clone();
    invoice.content.status = next(invoice.content.status, Trigger::Issue)?;
    invoice.content.issued = Some(now);
    freeze(ledger.store, business, &mut invoice).await?;
    // The number's lock blocks the business's other invoices until the end of the transaction, so it comes late.
    invoice.number = Some(ledger.store.next_invoice_number(business.id).await?);
    let issued = ledger.save(EventName::InvoiceIssued, &draft, invoice).await?;
    let RaiseDeposit {
        method,
        gross,
        reference,
        date,
        ..
    } = command;
    let Some(method) = method else {
        return Ok(issued);
    };
    let mut invoice = issued.clone();
    invoice.content.status = next(invoice.content.status, Trigger::Pay)?;
    invoice.content.payments.push(Payment {
        id: 1,
        kind: PaymentKind::Payment,
        date,
        method,
        amount: gross,
        reference,
        reverses: None,
    });
    ledger.save(EventName::InvoicePaid, &issued, invoice).await
}
