//! Payments, refunds, credits and finance of invoices, over HTTP (areas §10.2).

use forecourt_billing::InvoiceId;
use forecourt_dealership::Session;
use forecourt_invoices::{self as invoices, CreditChanges, FullInvoice, NewPayment, PaymentChanges, ReversalChanges};
use forecourt_kernel::{Target, ValidationErrors};
use forecourt_sales as sales;

use super::{id::IdParameter, shown};
use crate::{
    call::Call,
    code::Code,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::parameters,
    reply::{Created, Envelope, Reply},
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_pay_invoice> pay_invoice,
        self::<__path_reverse_invoice_payment> reverse_invoice_payment,
        self::<__path_refund_invoice> refund_invoice,
        self::<__path_credit_invoice> credit_invoice,
        self::<__path_create_finance_invoice> create_finance_invoice { created: Created::IdIn("/2.0/invoices") },
    ])
}

parameters! {
    path PaymentIdParameter;

    /// Number of the payment within the invoice.
    payment_id: i64;
}

/// Reads the payment of a body.
async fn payment(call: &Call) -> Result<NewPayment, ApiError> {
    let now = call.clock().now();
    let body = call.body::<PaymentChanges>().await?;
    Ok(body.read(now).map_err(ValidationErrors::from)?)
}

/// Record a payment of an invoice
///
/// An invoice of which nothing is due any more is paid. A payment of a finance invoice also pays the customer's invoice.
#[utoipa::path(post, path = "/2.0/invoices/{id}/payments", tag = "invoices", security(("bearer" = ["invoices:write"])), params(IdParameter),
    request_body = PaymentChanges, responses((status = 200, description = "The invoice", body = Envelope<FullInvoice<'static>>),
        (status = 404, description = "`invoice_not_found`"),
        (status = 409, description = "`invoice_not_issued`, `invoice_fully_credited`, `invoice_invalid_status`")))]
async fn pay_invoice(call: Call) -> Result<Reply, ApiError> {
    let command = payment(&call).await;
    call.write(command, async |session: &mut dyn Session, payment| {
        let id: Target<InvoiceId> = call.target(Code::INVOICE_NOT_FOUND)?;
        let invoice = sales::pay_invoice(session, call.clock().as_ref(), &call.caller, id, &payment).await?;
        call.ok(&shown(session, &call.caller.business, &invoice).await?)
    })
    .await
}

/// Reverse a payment of an invoice
///
/// For a cheque that bounced, or a mistake. The reversal is a payment of minus the amount.
#[utoipa::path(post, path = "/2.0/invoices/{id}/payments/{payment_id}/reverse", tag = "invoices", security(("bearer" = ["invoices:write"])),
    params(IdParameter, PaymentIdParameter), request_body = ReversalChanges,
    responses((status = 200, description = "The invoice", body = Envelope<FullInvoice<'static>>),
        (status = 404, description = "`invoice_not_found`, `payment_not_found`"),
        (status = 409, description = "`invoice_not_issued`, `payment_reversed`, `invoice_invalid_status`")))]
async fn reverse_invoice_payment(call: Call) -> Result<Reply, ApiError> {
    let now = call.clock().now();
    let reversal = call
        .body::<ReversalChanges>()
        .await
        .and_then(|body| Ok(body.read(now)?));
    call.write(reversal, async |session: &mut dyn Session, reversal| {
        let id: Target<InvoiceId> = call.target(Code::INVOICE_NOT_FOUND)?;
        // A missing invoice is reported before a missing payment, whose number may be no number at all.
        let payment = call.second_id::<forecourt_kernel::VehicleId>(Code::PAYMENT_NOT_FOUND);
        let payment = payment.map_or(0, forecourt_kernel::VehicleId::get);
        let clock = call.clock().as_ref();
        let invoice = sales::reverse_payment(session, clock, &call.caller, id, payment, &reversal).await?;
        call.ok(&shown(session, &call.caller.business, &invoice).await?)
    })
    .await
}

/// Refund what was paid too much on an invoice
#[utoipa::path(post, path = "/2.0/invoices/{id}/refunds", tag = "invoices", security(("bearer" = ["invoices:write"])), params(IdParameter),
    request_body = PaymentChanges, responses((status = 200, description = "The invoice", body = Envelope<FullInvoice<'static>>),
        (status = 404, description = "`invoice_not_found`"),
        (status = 409, description = "`invoice_not_issued`, `invoice_invalid_status`")))]
async fn refund_invoice(call: Call) -> Result<Reply, ApiError> {
    let command = payment(&call).await;
    call.write(command, async |session: &mut dyn Session, payment| {
        let id: Target<InvoiceId> = call.target(Code::INVOICE_NOT_FOUND)?;
        let invoice = invoices::refund_invoice(session, call.clock().as_ref(), &call.caller, id, &payment).await?;
        call.ok(&shown(session, &call.caller.business, &invoice).await?)
    })
    .await
}

/// Credit an invoice
///
/// Without `lines` everything that remains is credited.
#[utoipa::path(post, path = "/2.0/invoices/{id}/credit", tag = "invoices", security(("bearer" = ["invoices:write"])), params(IdParameter),
    request_body = CreditChanges, responses((status = 200, description = "The invoice", body = Envelope<FullInvoice<'static>>),
        (status = 404, description = "`invoice_not_found`"),
        (status = 409, description = "`invoice_not_issued`, `invoice_fully_credited`, `credit_cap_exceeded`")))]
async fn credit_invoice(call: Call) -> Result<Reply, ApiError> {
    let now = call.clock().now();
    let credit = call.body::<CreditChanges>().await.and_then(|body| Ok(body.read(now)?));
    call.write(credit, async |session: &mut dyn Session, credit| {
        let id: Target<InvoiceId> = call.target(Code::INVOICE_NOT_FOUND)?;
        let invoice = sales::credit_invoice(session, call.clock().as_ref(), &call.caller, id, credit).await?;
        call.ok(&shown(session, &call.caller.business, &invoice).await?)
    })
    .await
}

/// Invoice the finance provider of an invoice
///
/// The new invoice has the same lines. The customer's part is paid on it, so that the financed amount is due.
#[utoipa::path(post, path = "/2.0/invoices/{id}/finance-invoice", tag = "invoices", security(("bearer" = ["invoices:write"])), params(IdParameter),
    responses((status = 201, description = "The finance invoice", body = Envelope<FullInvoice<'static>>),
        (status = 404, description = "`invoice_not_found`"),
        (status = 409, description = "`invoice_not_issued`, `invoice_fully_credited`, `finance_invoice_exists`"),
        (status = 422, description = "`validation_failed`, `finance_invoice_ineligible`")))]
async fn create_finance_invoice(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let id: Target<InvoiceId> = call.target(Code::INVOICE_NOT_FOUND)?;
        let invoice = invoices::create_finance_invoice(session, call.clock().as_ref(), &call.caller, id).await?;
        call.created(&shown(session, &call.caller.business, &invoice).await?)
    })
    .await
}
