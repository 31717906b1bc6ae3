//! Reservations of vehicles, over HTTP (contract, "Vehicles"; decisions §7).

use forecourt_accounts::{Shown, ShownRecord};
use forecourt_dealership::Session;
use forecourt_kernel::{ContactId, Date, Field, Line, Timestamp, integer};
use forecourt_vehicles::{
    self as vehicles, ReservationDate, ReservationMethod, ReservationView, ReserveVehicle, Vehicle,
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
    record::Personal,
    reply::{Envelope, Reply},
    validated::ParsedBody,
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_read_reservation> read_reservation,
        self::<__path_reserve_vehicle> reserve_vehicle,
        self::<__path_cancel_reservation> cancel_reservation,
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
/// Only a vehicle for sale can be reserved. A deposit that is paid is invoiced, unless `create_invoice` is false.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/reserve", tag = "vehicles", security(("bearer" = ["vehicle-reserve:write"])),
    params(IdParameter), request_body = ReservationBody,
    responses((status = 200, description = "The reservation", body = Envelope<ReservationView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_already_reserved`, `vehicle_reserve_invalid_status`")))]
async fn reserve_vehicle(call: Call) -> Result<Reply, ApiError> {
    let read = call.body().await.map(ReservationBody::read);
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

/// A vehicle with the customer for whom it is reserved.
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

/// A reservation to be made.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"customer": 12, "method": "Card", "deposit": 250, "transaction": "ch_3P8", "create_invoice": true}))]
struct ReservationBody {
    /// Contact id of the person for whom the vehicle is held.
    #[serde(default)]
    #[schema(value_type = i64, required)]
    customer: Field<i64>,
    /// The method of payment of the deposit: No Payment, Bank Transfer, Cash, Card, Cheque or Finance.
    #[serde(default)]
    #[schema(value_type = ReservationMethod, required)]
    method: Field<Line>,
    /// The amount paid, VAT included; by default the vehicle's reserve price, or else the business's deposit. 0 for No Payment.
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
    /// True if an invoice is raised for the deposit; true by default.
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
    fn read(self) -> ParsedBody<ReserveVehicle> {
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
            made_by: None,
        });
        let errors = form.finish(()).err().unwrap_or_default();
        ParsedBody { command, errors }
    }
}
