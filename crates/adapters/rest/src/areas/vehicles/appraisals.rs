//! Offers for vehicles under appraisal, over HTTP (contract, "Vehicles"; decisions §7).

use forecourt_dealership::Session;
use forecourt_kernel::{Date, Field, LongText, Money, StaffId, ValidationErrors};
use forecourt_reference::StockType;
use forecourt_vehicles::{self as vehicles, AcceptOffer, AppraisalView, MakeOffer, VehicleError};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{
    ToSchema,
    openapi::{RefOr, Schema},
};

use super::{
    id::IdParameter,
    money::{amount, amount_schema},
};
use crate::{
    body::Form,
    call::Call,
    code::Code,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::FieldsParameter,
    reply::{Envelope, Reply},
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_read_appraisal> read_appraisal,
        self::<__path_request_appraisal_offer> request_appraisal_offer,
        self::<__path_make_appraisal_offer> make_appraisal_offer,
        self::<__path_accept_appraisal_offer> accept_appraisal_offer,
        self::<__path_reject_appraisal_offer> reject_appraisal_offer,
    ])
}

/// Read an appraisal
///
/// Returns the offer for a vehicle under appraisal, and its outcome.
#[utoipa::path(get, path = "/2.0/vehicles/{id}/appraisal", tag = "vehicles", security(("bearer" = ["vehicles:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "The appraisal", body = Envelope<AppraisalView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_not_appraisal`")))]
async fn read_appraisal(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id = call.id(Code::VEHICLE_NOT_FOUND)?;
    let mut session = call.read().await?;
    let vehicle = vehicles::read_vehicle(session.as_mut(), &call.caller, id).await?;
    if vehicle.content.kind != StockType::Appraisal {
        return Err(VehicleError::NotAppraisal.into());
    }
    Reply::projected(&vehicles::read_appraisal(&vehicle), fields.as_ref())
}

/// Ask for an offer
///
/// The vehicle must be under appraisal and wait for an offer.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/appraisal/request-offer", tag = "vehicles",
    security(("bearer" = ["vehicle-appraisals:write"])), params(IdParameter),
    responses((status = 200, description = "The appraisal", body = Envelope<AppraisalView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_not_appraisal`, `vehicle_appraisal_invalid_status`")))]
async fn request_appraisal_offer(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let id = call.target(Code::VEHICLE_NOT_FOUND)?;
        let vehicle = vehicles::request_offer(session, call.clock().as_ref(), &call.caller, id).await?;
        Reply::ok(&vehicles::read_appraisal(&vehicle))
    })
    .await
}

/// Confirm an offer
///
/// The vehicle's state becomes appraised.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/appraisal/offer", tag = "vehicles",
    security(("bearer" = ["vehicle-appraisals:write"])), params(IdParameter), request_body = OfferBody,
    responses((status = 200, description = "The appraisal", body = Envelope<AppraisalView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_not_appraisal`, `vehicle_appraisal_invalid_status`")))]
async fn make_appraisal_offer(call: Call) -> Result<Reply, ApiError> {
    let command = call.body().await.and_then(|body: OfferBody| Ok(body.command(&call)?));
    call.write(command, async |session: &mut dyn Session, command| {
        let id = call.target(Code::VEHICLE_NOT_FOUND)?;
        let vehicle = vehicles::make_offer(session, call.clock().as_ref(), &call.caller, id, command).await?;
        Reply::ok(&vehicles::read_appraisal(&vehicle))
    })
    .await
}

/// Accept an offer
///
/// The vehicle is taken into stock, as a draft of its own.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/appraisal/accept", tag = "vehicles",
    security(("bearer" = ["vehicle-appraisals:write"])), params(IdParameter), request_body = AcceptanceBody,
    responses((status = 200, description = "The appraisal", body = Envelope<AppraisalView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_not_appraisal`, `vehicle_appraisal_invalid_status`; \
            `vehicle_appraisal_incomplete`, whose `details.missing` are the fields to be filled in")))]
async fn accept_appraisal_offer(call: Call) -> Result<Reply, ApiError> {
    let command = call.body().await.and_then(|body: AcceptanceBody| Ok(body.command()?));
    call.write(command, async |session: &mut dyn Session, command| {
        let id = call.target(Code::VEHICLE_NOT_FOUND)?;
        let (vehicle, _) = vehicles::accept_offer(session, call.clock().as_ref(), &call.caller, id, command).await?;
        Reply::ok(&vehicles::read_appraisal(&vehicle))
    })
    .await
}

/// Reject an offer
#[utoipa::path(post, path = "/2.0/vehicles/{id}/appraisal/reject", tag = "vehicles",
    security(("bearer" = ["vehicle-appraisals:write"])), params(IdParameter),
    responses((status = 200, description = "The appraisal", body = Envelope<AppraisalView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_not_appraisal`, `vehicle_appraisal_invalid_status`")))]
async fn reject_appraisal_offer(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let id = call.target(Code::VEHICLE_NOT_FOUND)?;
        let vehicle = vehicles::reject_offer(session, call.clock().as_ref(), &call.caller, id).await?;
        Reply::ok(&vehicles::read_appraisal(&vehicle))
    })
    .await
}

/// An acceptance of an offer.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"agreed_amount": 7600}))]
struct AcceptanceBody {
    /// The agreed amount: more than 0, and not above the maximum offer. The offer by default.
    #[serde(default)]
    #[schema(schema_with = agreed_amount_schema)]
    agreed_amount: Field<Value>,
}

fn agreed_amount_schema() -> RefOr<Schema> {
    above_zero(amount_schema(
        "What was agreed on: more than 0, and at most the most that may be offered. The offer by default.",
        true,
    ))
}

impl AcceptanceBody {
    fn command(self) -> Result<AcceptOffer, ValidationErrors> {
        let Self { agreed_amount } = self;
        let mut form = Form::new();
        let agreed_amount = form.optional("agreed_amount", agreed_amount);
        let agreed_amount = form.validated("agreed_amount", agreed_amount, |value| match amount(value)? {
            amount if amount > Money::ZERO => Ok(amount),
            _ => Err("must be above 0".to_owned()),
        });
        form.finish(AcceptOffer { agreed_amount })
    }
}

/// An offer for a vehicle under appraisal.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"offer": 7500, "max_offer": 7900, "expiry": "2035-12-31", "appraised_by": 1, "comments": "Two keys"}))]
struct OfferBody {
    /// The amount offered: more than 0.
    #[serde(default)]
    #[schema(schema_with = offer_schema, required)]
    offer: Field<Value>,
    /// The maximum that may be offered; not below the offer.
    #[serde(default)]
    #[schema(schema_with = max_offer_schema)]
    max_offer: Field<Value>,
    /// Last day of the offer: not before today.
    #[serde(default)]
    #[schema(value_type = Date, required)]
    expiry: Field<Date>,
    /// Staff user id of the appraiser.
    #[serde(default)]
    #[schema(value_type = i64, required)]
    appraised_by: Field<i64>,
    /// Comments on the offer.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 20_000)]
    comments: Field<LongText>,
}

fn offer_schema() -> RefOr<Schema> {
    above_zero(amount_schema("What is offered: more than 0.", false))
}

fn above_zero(mut schema: RefOr<Schema>) -> RefOr<Schema> {
    if let RefOr::T(Schema::Object(amount)) = &mut schema {
        amount.minimum = None;
        amount.exclusive_minimum = Some(0.into());
    }
    schema
}

fn max_offer_schema() -> RefOr<Schema> {
    amount_schema("What may be offered at most; not below the offer.", true)
}

impl OfferBody {
    fn command(self, call: &Call) -> Result<MakeOffer, ValidationErrors> {
        let Self {
            offer,
            max_offer,
            expiry,
            appraised_by,
            comments,
        } = self;
        let mut form = Form::new();
        let offer = form.required("offer", offer);
        let offer = form.validated("offer", offer, amount);
        let max_offer = form.optional("max_offer", max_offer);
        let max_offer = form.validated("max_offer", max_offer, amount);
        let expiry = form.required("expiry", expiry);
        let appraised_by = form.required("appraised_by", appraised_by).map(StaffId::new);
        let comments = form.optional("comments", comments).unwrap_or_default();
        let mut found = form.finish(()).err().unwrap_or_default();
        found.extend(vehicles::validate_offer(
            offer,
            max_offer,
            expiry,
            appraised_by,
            &call.caller.business,
            call.clock().now(),
        ));
        match (offer, expiry, appraised_by) {
            (Some(offer), Some(expiry), Some(appraised_by)) if found.is_empty() => Ok(MakeOffer {
                offer,
                max_offer,
                expiry,
                appraised_by,
                comments,
            }),
            _ => Err(found),
        }
    }
}
