//! The printed forms of an invoice and of its credit notes (areas §10.8).

use forecourt_accounts::Business;
use forecourt_billing::{
    CreditNumber, PrintedRecord, print_agreement, print_note_lines, print_payments, print_totals, sum,
};
use forecourt_print::{Balance, Bill, BillKind, LineTax, Mark, Totals};

use crate::{Invoice, InvoiceStatus};

/// Returns the printed form of an invoice that is [shown](crate::show_invoice), of whatever purpose.
pub fn bill_of_invoice(invoice: &Invoice, business: &Business) -> Bill {
    let content = &invoice.content;
    let printed = PrintedRecord {
        kind: BillKind::Invoice,
        number: invoice.number.map(|number| number.to_string()),
        record: invoice.id.get(),
        totals: print_totals(&content.totals()),
    };
    Bill {
        mark: match content.status {
            InvoiceStatus::Draft => Some(Mark::Draft),
            InvoiceStatus::Cancelled => Some(Mark::Cancelled),
            InvoiceStatus::Credited => Some(Mark::Credited),
            InvoiceStatus::Issued | InvoiceStatus::Paid => None,
        },
        due_date: Some(content.due_date),
        payments: print_payments(&content.payments),
        ..print_agreement(business, &content.agreement, printed)
    }
}

/// Returns the printed form of a credit note of an invoice; `None` if the invoice has no such note.
pub fn bill_of_credit_note(invoice: &Invoice, business: &Business, number: CreditNumber) -> Option<Bill> {
    let content = &invoice.content;
    let note = content.credit_notes.iter().find(|note| note.number == number)?;
    let lines = print_note_lines(&note.lines, &content.agreement.lines);
    // Of the lines, since an earlier release kept no sums of a note.
    let vat = sum(lines.iter().filter_map(|line| match line.tax {
        LineTax::Charged { vat, .. } => Some(vat),
        LineTax::Untaxed | LineTax::Outside | LineTax::Margin => None,
    }));
    let net = sum(lines.iter().map(|line| match line.tax {
        LineTax::Charged { net, .. } => net,
        LineTax::Untaxed | LineTax::Outside | LineTax::Margin => line.gross,
    }));
    let printed = PrintedRecord {
        kind: BillKind::CreditNote {
            invoice: invoice.number.map(|number| number.to_string()).unwrap_or_default(),
            reason: note.reason.to_string(),
        },
        number: Some(note.number.to_string()),
        record: invoice.id.get(),
        totals: Totals {
            net,
            vat,
            gross: note.gross,
            balance: Balance::None,
        },
    };
    Some(Bill {
        date: note.date,
        lines,
        part_exchanges: Vec::new(),
        terms: String::new(),
        distance: None,
        ..print_agreement(business, &content.agreement, printed)
    })
}
