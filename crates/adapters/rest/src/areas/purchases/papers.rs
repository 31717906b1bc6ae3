//! The printed forms of purchases and their credits, and their mails, over HTTP (areas §10.8).

use std::convert::Infallible;

use forecourt_billing::{PurchaseCreditNumber, SentDocument};
use forecourt_kernel::Line;
use forecourt_purchases::{self as purchases, PurchaseId};

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
        self::<__path_print_purchase> print_purchase { is_conditional: true, alternative: Some(PDF) },
        self::<__path_send_purchase> send_purchase,
    ])
}

parameters! {
    query CreditNoteParameter;

    /// Number of one of the purchase's credits, which is then printed in its place.
    credit_note: Line;
}

/// Print a purchase
///
/// With `Accept: application/pdf` the answer is the file itself. It comes from the supplier: a dealership that buys from a private
/// person makes it out itself. A draft, a cancelled and a credited purchase are marked as such on each page.
#[utoipa::path(get, path = "/2.0/purchases/{id}/pdf", tag = "purchases", security(("bearer" = ["purchases:read"])),
    params(IdParameter, CreditNoteParameter, FieldsParameter),
    responses((status = 200, description = "The printed purchase or credit", content(
            (Envelope<PrintedDocument> = "application/json"), (PdfFile = "application/pdf"))),
        (status = 404, description = "`purchase_not_found`")))]
async fn print_purchase(call: Call) -> Result<Reply, ApiError> {
    let mut query = call.query();
    let fields = query.fields();
    // A text that is no number of a credit is that of none of this purchase.
    let credit = query.with("credit_note", |text| {
        Ok::<_, Infallible>(text.parse::<PurchaseCreditNumber>().ok())
    });
    let (fields, credit) = query.finish((fields, credit))?;
    let id: PurchaseId = call.id(Code::PURCHASE_NOT_FOUND)?;
    let business = &call.caller.business;
    let mut session = call.read().await?;
    let purchase = purchases::read_purchase(session.as_mut(), business.id, id).await?;
    let purchase = purchases::show_purchase(session.as_mut(), business, &purchase).await?;
    drop(session);
    let bill = match credit {
        None => purchases::bill_of_purchase(&purchase, business),
        Some(credit) => credit
            .and_then(|number| purchases::bill_of_purchase_credit(&purchase, business, number))
            .ok_or_else(|| ApiError::new(Code::PURCHASE_NOT_FOUND, "this purchase has no such credit"))?,
    };
    call.printed(bill, fields.as_ref()).await
}

/// Mail a purchase
///
/// The printed purchase is attached. The answer comes once the mail server has the mail.
#[utoipa::path(post, path = "/2.0/purchases/{id}/send", tag = "purchases", security(("bearer" = ["purchases:write"])),
    params(IdParameter), request_body = SendBody,
    responses((status = 200, description = "The mail was sent", body = Envelope<SentDocument<'static>>),
        (status = 404, description = "`purchase_not_found`"), (status = 409, description = "`purchase_invalid_status`"),
        (status = 500, description = "`document_send_failed`")))]
async fn send_purchase(call: Call) -> Result<Reply, ApiError> {
    papers::send(call, DocumentKind::Purchase).await
}
