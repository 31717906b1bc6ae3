//! The printed forms of invoices and credit notes, and their mails, over HTTP (areas §10.8).

use std::convert::Infallible;

use forecourt_billing::SentDocument;
use forecourt_invoices::{self as invoices, CreditNumber, InvoiceId};
use forecourt_kernel::Line;

use super::id::IdParameter;
use crate::{
    areas::papers::{self, DocumentKind, PrintedDocument, SendBody},
    call::Call,
    code::Code,
    error::ApiError,
    media_type::PDF,
    operation::{Declared, Operation, operations},
    parameters::{FieldsParameter, parameters},
    reply::{Envelope, Reply},
    schemas::PdfFile,
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_print_invoice> print_invoice { is_conditional: true, alternative: Some(PDF) },
        self::<__path_send_invoice> send_invoice,
    ])
}

parameters! {
    query CreditNoteParameter;

    /// Number of one of the invoice's credit notes, which is then printed in its place.
    credit_note: Line;
}

/// Print an invoice
///
/// With `Accept: application/pdf` the answer is the file itself. A draft, a cancelled and a credited invoice are marked as such on each
/// page.
#[utoipa::path(get, path = "/2.0/invoices/{id}/pdf", tag = "invoices", security(("bearer" = ["invoices:read"])),
    params(IdParameter, CreditNoteParameter, FieldsParameter),
    responses((status = 200, description = "The printed invoice or credit note", content(
            (Envelope<PrintedDocument> = "application/json"), (PdfFile = "application/pdf"))),
        (status = 404, description = "`invoice_not_found`")))]
async fn print_invoice(call: Call) -> Result<Reply, ApiError> {
    let mut query = call.query();
    let fields = query.fields();
    // A text that is no number of a credit note is that of none of this invoice.
    let note = query.with("credit_note", |text| {
        Ok::<_, Infallible>(text.parse::<CreditNumber>().ok())
    });
    let (fields, note) = query.finish((fields, note))?;
    let id: InvoiceId = call.id(Code::INVOICE_NOT_FOUND)?;
    let business = &call.caller.business;
    let mut session = call.read().await?;
    let invoice = invoices::read_invoice(session.as_mut(), business.id, id).await?;
    let invoice = invoices::show_invoice(session.as_mut(), business, &invoice).await?;
    drop(session);
    let bill = match note {
        None => invoices::bill_of_invoice(&invoice, business),
        Some(note) => note
            .and_then(|number| invoices::bill_of_credit_note(&invoice, business, number))
            .ok_or_else(|| ApiError::new(Code::INVOICE_NOT_FOUND, "this invoice has no such credit note"))?,
    };
    call.printed(bill, fields.as_ref()).await
}

/// Mail an invoice
///
/// The printed invoice is attached. The answer comes once the mail server has the mail.
#[utoipa::path(post, path = "/2.0/invoices/{id}/send", tag = "invoices", security(("bearer" = ["invoices:write"])), params(IdParameter),
    request_body = SendBody, responses((status = 200, description = "The mail was sent", body = Envelope<SentDocument<'static>>),
        (status = 404, description = "`invoice_not_found`"), (status = 409, description = "`invoice_not_issued`"),
        (status = 500, description = "`document_send_failed`")))]
async fn send_invoice(call: Call) -> Result<Reply, ApiError> {
    papers::send(call, DocumentKind::Invoice).await
}
