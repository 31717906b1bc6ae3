//! Reserving, selling and appraising vehicles, over HTTP (contract, "Vehicles"; decisions §7).

use forecourt_accounts::{Shown, ShownRecord};
use forecourt_dealership::Session;
use forecourt_kernel::{ContactId, Date, Field, Line, LongText, Money, StaffId, Timestamp, ValidationErrors, integer};
use forecourt_vehicles::{
    self as vehicles, AppraisalView, FullVehicle, MakeOffer, ReservationDate, ReservationMethod, ReservationView,
    ReserveVehicle, SellVehicle, Vehicle,
};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{
    ToSchema,
    openapi::{
        RefOr, Schema,
        schema::{ObjectBuilder, SchemaType, Type},
    },
};

use super::vehicles::{IdParameter, write_vehicle};
use crate::{
    body::Form,
    call::Call,
    code::Code,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::FieldsParameter,
    record::Personal,
    reply::{Envelope, Reply},
    validated::Examined,
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_read_reservation> read_reservation,
        self::<__path_reserve_vehicle> reserve_vehicle,
        self::<__path_cancel_reservation> cancel_reservation,
        self::<__path_sell_vehicle> sell_vehicle,
        self::<__path_undo_sale> undo_sale,
        self::<__path_hand_over_vehicle> hand_over_vehicle,
        self::<__path_request_appraisal_offer> request_appraisal_offer,
        self::<__path_make_appraisal_offer> make_appraisal_offer,
        self::<__path_accept_appraisal_offer> accept_appraisal_offer,
        self::<__path_reject_appraisal_offer> reject_appraisal_offer,
    ])
}

/// Read a vehicle's reservation
#[utoipa::path(get, path = "/2.0/vehicles/{id}/reserve", tag = "vehicles", security(("bearer" = ["vehicle-reserve:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "The reservation, if there is one", body = Envelope<ReservationView<'static>>),
        (status = 404, description = "`vehicle_not_found`")))]
async fn read_reservation(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id = call.id(Code::VEHICLE_NOT_FOUND)?;
    let mut session = call.read().await?;
    let vehicle = vehicles::read_vehicle(session.as_mut(), &call.caller, id).await?;
    Reply::projected(&vehicles::read_reservation(&vehicle), fields.as_ref())
}

/// Reserve a vehicle
///
/// Only what is for sale can be reserved. A deposit that is paid gets an invoice, unless `create_invoice` is false.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/reserve", tag = "vehicles", security(("bearer" = ["vehicle-reserve:write"])),
    params(IdParameter), request_body = ReservationBody,
    responses((status = 200, description = "The reservation", body = Envelope<ReservationView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_already_reserved`, `vehicle_reserve_invalid_status`")))]
async fn reserve_vehicle(call: Call) -> Result<Reply, ApiError> {
    let read = call.body().map(ReservationBody::read);
    let command = call
        .validated(read, async |session, command| {
            Ok(vehicles::validate_customer(session, &call.caller.business, Some(command.customer)).await?)
        })
        .await;
    call.write(command, async |session: &mut dyn Session, command| {
        let id = call.target(Code::VEHICLE_NOT_FOUND)?;
        let customer = command.customer;
        let vehicle =
            vehicles::reserve_vehicle(session, call.clock().as_ref(), &call.caller, id, command.into_inner()).await?;
        call.ok(&Reserved { vehicle, customer })
    })
    .await
}

/// A vehicle with the customer whom it is reserved for.
struct Reserved {
    vehicle: Vehicle,
    customer: ContactId,
}

impl Personal for Reserved {
    type View<'a> = ReservationView<'a>;

    fn view<'a>(&'a self, _: &'a Call) -> ReservationView<'a> {
        vehicles::read_reservation(&self.vehicle)
    }

    fn shown(&self) -> Shown {
        Shown {
            contact: Some(self.customer),
            record: Some(ShownRecord::Vehicle(self.vehicle.id)),
        }
    }
}

/// Cancel a vehicle's reservation
///
/// The vehicle is for sale again, and the invoice of the deposit is credited in full.
#[utoipa::path(delete, path = "/2.0/vehicles/{id}/reserve", tag = "vehicles", security(("bearer" = ["vehicle-reserve:write"])),
    params(IdParameter),
    responses((status = 200, description = "No reservation, and the credit note", body = Envelope<ReservationView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_not_reserved`")))]
async fn cancel_reservation(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let id = call.target(Code::VEHICLE_NOT_FOUND)?;
        let vehicle = vehicles::cancel_reservation(session, call.clock().as_ref(), &call.caller, id).await?;
        Reply::ok(&vehicles::read_reservation(&vehicle))
    })
    .await
}

/// Sell a vehicle
///
/// What is for sale or reserved. A reservation ends with it.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/sale", tag = "vehicles", security(("bearer" = ["vehicle-sales:write"])),
    params(IdParameter), request_body = SaleBody,
    responses((status = 200, description = "The vehicle", body = Envelope<FullVehicle>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_status_transition_invalid`")))]
async fn sell_vehicle(call: Call) -> Result<Reply, ApiError> {
    let read = call.body().map(SaleBody::read);
    let command = call
        .validated(read, async |session, command| {
            Ok(vehicles::validate_customer(session, &call.caller.business, command.customer).await?)
        })
        .await;
    write_vehicle(&call, command, async |session: &mut dyn Session, command| {
        let id = call.target(Code::VEHICLE_NOT_FOUND)?;
        let vehicle =
            vehicles::sell_vehicle(session, call.clock().as_ref(), &call.caller, id, command.into_inner()).await?;
        call.ok(&vehicle)
    })
    .await
}

/// Undo the sale of a vehicle
///
/// It is for sale again, and counts against the limit of vehicles for sale.
#[utoipa::path(delete, path = "/2.0/vehicles/{id}/sale", tag = "vehicles", security(("bearer" = ["vehicle-sales:write"])),
    params(IdParameter),
    responses((status = 200, description = "The vehicle", body = Envelope<FullVehicle>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_not_sold`, `vehicle_publish_limit_reached`")))]
async fn undo_sale(call: Call) -> Result<Reply, ApiError> {
    write_vehicle(&call, Ok(()), async |session: &mut dyn Session, ()| {
        let id = call.target(Code::VEHICLE_NOT_FOUND)?;
        let vehicle = vehicles::undo_sale(session, call.clock().as_ref(), &call.caller, id).await?;
        call.ok(&vehicle)
    })
    .await
}

/// Hand a sold vehicle over
///
/// Its sale is complete then.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/handover", tag = "vehicles", security(("bearer" = ["vehicle-sales:write"])),
    params(IdParameter),
    responses((status = 200, description = "The vehicle", body = Envelope<FullVehicle>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_not_sold`")))]
async fn hand_over_vehicle(call: Call) -> Result<Reply, ApiError> {
    write_vehicle(&call, Ok(()), async |session: &mut dyn Session, ()| {
        let id = call.target(Code::VEHICLE_NOT_FOUND)?;
        let vehicle = vehicles::hand_over_vehicle(session, call.clock().as_ref(), &call.caller, id).await?;
        call.ok(&vehicle)
    })
    .await
}

/// Ask for an offer
///
/// For a vehicle under appraisal that waits for one.
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
/// The vehicle is appraised then.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/appraisal/offer", tag = "vehicles",
    security(("bearer" = ["vehicle-appraisals:write"])), params(IdParameter), request_body = OfferBody,
    responses((status = 200, description = "The appraisal", body = Envelope<AppraisalView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_not_appraisal`, `vehicle_appraisal_invalid_status`")))]
async fn make_appraisal_offer(call: Call) -> Result<Reply, ApiError> {
    let command = call.body().and_then(|body: OfferBody| Ok(body.command(&call)?));
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
    security(("bearer" = ["vehicle-appraisals:write"])), params(IdParameter),
    responses((status = 200, description = "The appraisal", body = Envelope<AppraisalView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_not_appraisal`, `vehicle_appraisal_invalid_status`; \
            `vehicle_appraisal_incomplete`, whose `details.missing` are the fields to be filled in")))]
async fn accept_appraisal_offer(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let id = call.target(Code::VEHICLE_NOT_FOUND)?;
        let (vehicle, _) = vehicles::accept_offer(session, call.clock().as_ref(), &call.caller, id).await?;
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

/// An amount of money as a number.
fn amount(sent: Value) -> Result<Money, String> {
    match sent {
        Value::Number(number) => vehicles::money(&number).map_err(|error| error.to_string()),
        _ => Err("must be a number".to_owned()),
    }
}

fn amount_schema(about: &str, nullable: bool) -> RefOr<Schema> {
    let kinds = [Type::Number, Type::Null]
        .into_iter()
        .take(if nullable { 2 } else { 1 });
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter(kinds))
        .minimum(Some(0))
        .maximum(Some(vehicles::MAX_WHOLE))
        .description(Some(about))
        .into()
}

/// A reservation to be made.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"customer": 12, "method": "Card", "deposit": 250, "transaction": "ch_3P8", "create_invoice": true}))]
struct ReservationBody {
    /// Contact id of the person whom the vehicle is held for.
    #[serde(default)]
    #[schema(value_type = i64, required)]
    customer: Field<i64>,
    /// How the deposit is paid: No Payment, Bank Transfer, Cash, Card, Cheque or Finance.
    #[serde(default)]
    #[schema(value_type = ReservationMethod, required)]
    method: Field<Line>,
    /// What is paid, VAT included; by default the vehicle's reserve price, then the business's deposit. 0 for No Payment.
    #[serde(default)]
    #[schema(schema_with = deposit_schema)]
    deposit: Field<Value>,
    /// Day of the reservation, or epoch seconds; today by default.
    #[serde(default)]
    #[schema(schema_with = date_schema)]
    date: Field<Value>,
    /// Reference of the payment.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 255)]
    transaction: Field<Line>,
    /// Whether an invoice is raised for the deposit; true by default.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    create_invoice: Field<bool>,
}

fn deposit_schema() -> RefOr<Schema> {
    amount_schema(
        "What is paid, VAT included; by default the vehicle's reserve price, then the business's deposit. 0 for No Payment.",
        true,
    )
}

fn date_schema() -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Integer, Type::Null]))
        .max_length(Some(10))
        .pattern(Some(r"^\d{4}-\d{2}-\d{2}$"))
        .description(Some("Day of the reservation, or epoch seconds; today by default."))
        .into()
}

/// Reads a day, or a moment in epoch seconds.
fn reservation_date(sent: Value) -> Result<ReservationDate, &'static str> {
    const MUST: &str = "must be a date, YYYY-MM-DD, or epoch seconds";
    match (integer(&sent), sent) {
        (Some(seconds), _) => Ok(ReservationDate::Moment(Timestamp::from_epoch_seconds(seconds))),
        (None, Value::String(text)) => text.parse::<Date>().map(ReservationDate::Day).map_err(|_| MUST),
        _ => Err(MUST),
    }
}

impl ReservationBody {
    fn read(self) -> Examined<ReserveVehicle> {
        let Self {
            customer,
            method,
            deposit,
            date,
            transaction,
            create_invoice,
        } = self;
        let mut form = Form::new();
        let customer = form.required("customer", customer).map(ContactId::new);
        let method = form.required("method", method);
        let method = form.validated("method", method, |method| method.parse::<ReservationMethod>());
        let deposit = form.optional("deposit", deposit);
        let deposit = form.validated("deposit", deposit, amount);
        let date = form.optional("date", date);
        let date = form.validated("date", date, reservation_date);
        let transaction = form.optional("transaction", transaction).unwrap_or_default();
        let create_invoice = form.optional("create_invoice", create_invoice).unwrap_or(true);
        let command = customer.zip(method).map(|(customer, method)| ReserveVehicle {
            customer,
            method,
            deposit,
            date,
            transaction,
            create_invoice,
        });
        let errors = form.finish(()).err().unwrap_or_default();
        Examined { command, errors }
    }
}

/// A sale.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"customer": 12, "price": 16950, "date": "2026-11-23"}))]
struct SaleBody {
    /// Contact id of the buyer.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    customer: Field<i64>,
    /// What it was sold for.
    #[serde(default)]
    #[schema(schema_with = price_schema)]
    price: Field<Value>,
    /// Day of the sale; today by default.
    #[serde(default)]
    #[schema(value_type = Option<Date>)]
    date: Field<Date>,
}

fn price_schema() -> RefOr<Schema> {
    amount_schema("What it was sold for.", true)
}

impl SaleBody {
    fn read(self) -> Examined<SellVehicle> {
        let Self { customer, price, date } = self;
        let mut form = Form::new();
        let customer = form.optional("customer", customer).map(ContactId::new);
        let price = form.optional("price", price);
        let price = form.validated("price", price, amount);
        let date = form.optional("date", date);
        let command = SellVehicle { customer, price, date };
        Examined::new(command, form.finish(()).err().unwrap_or_default())
    }
}

/// An offer for a vehicle under appraisal.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"offer": 7500, "max_offer": 7900, "expiry": "2035-12-31", "appraised_by": 1, "comments": "Two keys"}))]
struct OfferBody {
    /// What is offered: more than 0.
    #[serde(default)]
    #[schema(schema_with = offer_schema, required)]
    offer: Field<Value>,
    /// What may be offered at most; not below the offer.
    #[serde(default)]
    #[schema(schema_with = max_offer_schema)]
    max_offer: Field<Value>,
    /// Last day of the offer: today or later.
    #[serde(default)]
    #[schema(value_type = Date, required)]
    expiry: Field<Date>,
    /// Staff user id of the appraiser.
    #[serde(default)]
    #[schema(value_type = i64, required)]
    appraised_by: Field<i64>,
    /// What there is to say of it.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 20_000)]
    comments: Field<LongText>,
}

fn offer_schema() -> RefOr<Schema> {
    let mut schema = amount_schema("What is offered: more than 0.", false);
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
