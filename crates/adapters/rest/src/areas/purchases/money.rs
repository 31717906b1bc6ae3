//! Payments, refunds and credits of purchases, over HTTP (areas §10.4).

use forecourt_billing::{NewPayment, PaymentChanges, PurchaseId, ReversalChanges};
use forecourt_dealership::Session;
use forecourt_kernel::{Target, ValidationErrors, VehicleId};
use forecourt_purchases::{self as purchases, FullPurchase, PurchaseCreditChanges};
use forecourt_sales as sales;

use super::{id::IdParameter, shown};
use crate::{
    call::Call,
    code::Code,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::parameters,
    reply::{Envelope, Reply},
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_pay_purchase> pay_purchase,
        self::<__path_reverse_purchase_payment> reverse_purchase_payment,
        self::<__path_refund_purchase> refund_purchase,
        self::<__path_credit_purchase> credit_purchase,
    ])
}

parameters! {
    path PaymentIdParameter;

    /// Number of the payment within the purchase.
    payment_id: i64;
}

/// Reads the payment of a body.
async fn payment(call: &Call) -> Result<NewPayment, ApiError> {
    let now = call.clock().now();
    let body = call.body::<PaymentChanges>().await?;
    Ok(body.read(now).map_err(ValidationErrors::from)?)
}

/// Record a payment of a purchase
///
/// A purchase of which nothing is due any more is paid.
#[utoipa::path(post, path = "/2.0/purchases/{id}/payments", tag = "purchases", security(("bearer" = ["purchases:write"])),
    params(IdParameter), request_body = PaymentChanges,
    responses((status = 200, description = "The purchase", body = Envelope<FullPurchase<'static>>),
        (status = 404, description = "`purchase_not_found`"), (status = 409, description = "`purchase_invalid_status`")))]
async fn pay_purchase(call: Call) -> Result<Reply, ApiError> {
    let command = payment(&call).await;
    call.write(command, async |session: &mut dyn Session, payment| {
        let id: Target<PurchaseId> = call.target(Code::PURCHASE_NOT_FOUND)?;
        let purchase = purchases::pay_purchase(session, call.clock().as_ref(), &call.caller, id, &payment).await?;
        call.ok(&shown(session, &call.caller.business, &purchase).await?)
    })
    .await
}

/// Reverse a payment of a purchase
///
/// For a payment that came back, or a mistake. The reversal is a payment of minus the amount.
#[utoipa::path(post, path = "/2.0/purchases/{id}/payments/{payment_id}/reverse", tag = "purchases",
    security(("bearer" = ["purchases:write"])), params(IdParameter, PaymentIdParameter), request_body = ReversalChanges,
    responses((status = 200, description = "The purchase", body = Envelope<FullPurchase<'static>>),
        (status = 404, description = "`purchase_not_found`, `payment_not_found`"),
        (status = 409, description = "`payment_reversed`, `purchase_invalid_status`")))]
async fn reverse_purchase_payment(call: Call) -> Result<Reply, ApiError> {
    let now = call.clock().now();
    let reversal = call
        .body::<ReversalChanges>()
        .await
        .and_then(|body| Ok(body.read(now)?));
    call.write(reversal, async |session: &mut dyn Session, reversal| {
        let id: Target<PurchaseId> = call.target(Code::PURCHASE_NOT_FOUND)?;
        // A missing purchase is reported before a missing payment, whose number may be no number at all.
        let payment = call.second_id::<VehicleId>(Code::PAYMENT_NOT_FOUND);
        let payment = payment.map_or(0, VehicleId::get);
        let clock = call.clock().as_ref();
        let caller = &call.caller;
        let purchase = purchases::reverse_purchase_payment(session, clock, caller, id, payment, &reversal).await?;
        call.ok(&shown(session, &call.caller.business, &purchase).await?)
    })
    .await
}

/// Record a refund of what was paid too much on a purchase
#[utoipa::path(post, path = "/2.0/purchases/{id}/refunds", tag = "purchases", security(("bearer" = ["purchases:write"])),
    params(IdParameter), request_body = PaymentChanges,
    responses((status = 200, description = "The purchase", body = Envelope<FullPurchase<'static>>),
        (status = 404, description = "`purchase_not_found`"), (status = 409, description = "`purchase_invalid_status`")))]
async fn refund_purchase(call: Call) -> Result<Reply, ApiError> {
    let command = payment(&call).await;
    call.write(command, async |session: &mut dyn Session, payment| {
        let id: Target<PurchaseId> = call.target(Code::PURCHASE_NOT_FOUND)?;
        let clock = call.clock().as_ref();
        let purchase = purchases::refund_purchase(session, clock, &call.caller, id, &payment).await?;
        call.ok(&shown(session, &call.caller.business, &purchase).await?)
    })
    .await
}

/// Credit a purchase
///
/// Without `lines` everything that remains is credited. Costs on vehicles are lowered, or removed.
#[utoipa::path(post, path = "/2.0/purchases/{id}/credit", tag = "purchases", security(("bearer" = ["purchases:write"])),
    params(IdParameter), request_body = PurchaseCreditChanges,
    responses((status = 200, description = "The purchase", body = Envelope<FullPurchase<'static>>),
        (status = 404, description = "`purchase_not_found`"),
        (status = 409, description = "`purchase_acquisition_linked`, `purchase_invalid_status`, `credit_cap_exceeded`")))]
async fn credit_purchase(call: Call) -> Result<Reply, ApiError> {
    let now = call.clock().now();
    let credit = call
        .body::<PurchaseCreditChanges>()
        .await
        .and_then(|body| Ok(body.read(now)?));
    call.write(credit, async |session: &mut dyn Session, credit| {
        let id: Target<PurchaseId> = call.target(Code::PURCHASE_NOT_FOUND)?;
        let purchase = sales::credit_purchase(session, call.clock().as_ref(), &call.caller, id, credit).await?;
        call.ok(&shown(session, &call.caller.business, &purchase).await?)
    })
    .await
}
