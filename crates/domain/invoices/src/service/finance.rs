//! The invoice to a finance provider (areas §10.2).

use forecourt_accounts::Caller;
use forecourt_billing::{
    Agreement, BillLine, InvoiceId, MAX_PAYMENTS, Payment, PaymentKind, PaymentMethod, SaleFinance, negative, sum,
};
use forecourt_kernel::{Clock, EventName, Line, LongText, Money, Target};

use super::{Ledger, issue::freeze, lock_invoice};
use crate::{
    Invoice, InvoiceContent, InvoiceError, InvoiceKind, InvoiceStatus, InvoiceStore, TransitionError, Trigger,
    due_days, next,
};

/// Issues the invoice to the finance provider of a sale: the parent's lines to the letter, with the customer's part paid. Records
/// invoice.created, invoice.issued, then invoice.updated of the parent.
///
/// # Errors
/// [`InvoiceError::NotFound`], then [`InvoiceError::VersionMismatch`], then [`InvoiceError::Transition`] if it is not issued, or
/// credited. Then [`InvoiceError::FinanceIneligible`], then [`InvoiceError::FinanceExists`]; [`InvoiceError::Store`].
pub async fn create_finance_invoice(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<InvoiceId>>,
) -> Result<Invoice, InvoiceError> {
    let business = &*by.business;
    let now = clock.now();
    let parent = lock_invoice(store, business.id, id).await?;
    match parent.content.status {
        InvoiceStatus::Draft | InvoiceStatus::Cancelled => return Err(TransitionError::NotIssued.into()),
        InvoiceStatus::Credited => return Err(TransitionError::FullyCredited.into()),
        InvoiceStatus::Issued | InvoiceStatus::Paid => {}
    }
    let SaleFinance {
        provider,
        amount,
        invoice: existing,
    } = parent.content.agreement.finance;
    let amount = amount.filter(|&amount| amount > Money::ZERO);
    let (Some(provider), Some(amount), Some(_)) = (provider, amount, parent.content.agreement.sold_vehicles().next())
    else {
        let needs = [
            ("provider", provider.is_none()),
            ("amount", amount.is_none()),
            ("vehicle", parent.content.agreement.sold_vehicles().next().is_none()),
        ];
        let missing = needs.into_iter().filter(|(_, is_missing)| *is_missing);
        return Err(InvoiceError::FinanceIneligible(missing.map(|(name, _)| name).collect()));
    };
    if let Some(existing) = existing
        && let Some(existing) = store.invoice(business.id, existing).await?
        && existing.content.is_live()
        && let Some(number) = existing.number
    {
        return Err(InvoiceError::FinanceExists(number));
    }

    let agreement = Agreement {
        customer: Some(provider),
        date: now.date(),
        lines: parent.content.agreement.lines.iter().map(uncredited).collect(),
        notes: LongText::default(),
        part_exchanges: Vec::new(),
        finance: SaleFinance::default(),
        reference: Line::default(),
        cancel_until: None,
        distance: false,
        bill_to: None,
        bill_from: None,
        ..parent.content.agreement.clone()
    };
    let stock_numbers: Vec<_> = agreement.lines.iter().map(|line| line.stock_number).collect();
    let mut content = InvoiceContent::draft(agreement, due_days(business));
    content.kind = InvoiceKind::Finance;
    content.parent = Some(parent.id);
    let mut ledger = Ledger { store, business, now };
    let draft = ledger.insert(content).await?;

    let mut invoice = draft.clone();
    invoice.content.status = next(invoice.content.status, Trigger::Issue)?;
    invoice.content.issued = Some(now);
    freeze(ledger.store, business, &mut invoice).await?;
    if invoice.content.agreement.bill_to.is_none() {
        return Err(InvoiceError::FinanceIneligible(vec!["provider"]));
    }
    for (line, number) in invoice.content.agreement.lines.iter_mut().zip(stock_numbers) {
        line.stock_number = number;
    }
    let customers_part = sum([invoice.content.totals().gross, negative(amount)]);
    if customers_part > Money::ZERO {
        invoice.content.payments.push(Payment {
            id: 1,
            kind: PaymentKind::Transfer,
            date: invoice.content.agreement.date,
            method: PaymentMethod::Customer,
            amount: customers_part,
            reference: Line::default(),
            reverses: None,
        });
    }
    debug_assert!(invoice.content.payments.len() <= MAX_PAYMENTS);
    invoice.number = Some(ledger.store.next_invoice_number(business.id).await?);
    let issued = ledger.save(EventName::InvoiceIssued, &draft, invoice).await?;

    let mut changed = parent.clone();
    changed.content.agreement.finance.invoice = Some(issued.id);
    ledger.save(EventName::InvoiceUpdated, &parent, changed).await?;
    Ok(issued)
}

fn uncredited(line: &BillLine) -> BillLine {
    BillLine {
        credited: Money::ZERO,
        ..line.clone()
    }
}
