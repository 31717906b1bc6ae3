//! Sales and handovers of vehicles, over HTTP (contract, "Vehicles"; decisions §7).

use forecourt_dealership::Session;
use forecourt_kernel::{ContactId, Date, Field, Scope};
use forecourt_sales as sales;
use forecourt_vehicles::{self as vehicles, FullVehicle, SaleView, SellVehicle};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{
    ToSchema,
    openapi::{RefOr, Schema},
};

use super::{
    id::IdParameter,
    money::{amount, amount_schema},
    shown::write_vehicle,
};
use crate::{
    body::Form,
    call::Call,
    code::Code,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::{FieldsParameter, parameters},
    reply::{Envelope, Reply},
    schemas::TruthWord,
    validated::ParsedBody,
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_read_sale> read_sale,
        self::<__path_sell_vehicle> sell_vehicle,
        self::<__path_undo_sale> undo_sale,
        self::<__path_hand_over_vehicle> hand_over_vehicle,
    ])
}

/// Read the sale of a vehicle
///
/// Returns the buyer, the date and the price; `sold` is false and every other member null unless it is sold.
#[utoipa::path(get, path = "/2.0/vehicles/{id}/sale", tag = "vehicles", security(("bearer" = ["vehicle-sales:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "The sale", body = Envelope<SaleView>),
        (status = 404, description = "`vehicle_not_found`")))]
async fn read_sale(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id = call.id(Code::VEHICLE_NOT_FOUND)?;
    let mut session = call.read().await?;
    let vehicle = vehicles::read_vehicle(session.as_mut(), &call.caller, id).await?;
    Reply::projected(&vehicles::read_sale(&vehicle), fields.as_ref())
}

/// Sell a vehicle
///
/// The vehicle must be for sale or reserved. The sale ends a reservation. With `create_invoice`, which needs the scope
/// invoices:write too, the sale is billed by an invoice of one line.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/sale", tag = "vehicles", security(("bearer" = ["vehicle-sales:write"])),
    params(IdParameter), request_body = SaleBody,
    responses((status = 200, description = "The vehicle", body = Envelope<FullVehicle>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_status_transition_invalid`, `vehicle_already_reserved`")))]
async fn sell_vehicle(call: Call) -> Result<Reply, ApiError> {
    let read = call.body().await.map(SaleBody::read);
    let is_invoiced = read
        .as_ref()
        .ok()
        .and_then(|read| read.command.as_ref())
        .is_some_and(|command| command.create_invoice);
    if is_invoiced && !call.caller.may(Scope::InvoicesWrite) {
        return call.refuse(ApiError::scope_denied(Scope::InvoicesWrite)).await;
    }
    let command = call
        .validated(read, async |session, command| {
            Ok(vehicles::validate_customer(session, &call.caller.business, command.sale.customer).await?)
        })
        .await;
    write_vehicle(&call, command, async |session: &mut dyn Session, command| {
        let id = call.target(Code::VEHICLE_NOT_FOUND)?;
        let SaleCommand { sale, create_invoice } = command.into_inner();
        let clock = call.clock().as_ref();
        let vehicle = match create_invoice {
            true => sales::sell_with_invoice(session, clock, &call.caller, id, sale).await?,
            false => sales::sell_vehicle(session, clock, &call.caller, id, sale).await?,
        };
        call.ok(&vehicle)
    })
    .await
}

/// Undo the sale of a vehicle
///
/// The vehicle becomes for sale again, or reserved if its sale ended a reservation that is not credited. It counts against the
/// limit of vehicles for sale again. A sale whose invoice stands is undone with `credit=true` only, which needs the scope
/// invoices:write too and credits the invoice in full first.
#[utoipa::path(delete, path = "/2.0/vehicles/{id}/sale", tag = "vehicles", security(("bearer" = ["vehicle-sales:write"])),
    params(IdParameter, CreditParameter),
    responses((status = 200, description = "The vehicle", body = Envelope<FullVehicle>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_not_sold`, `vehicle_sale_invoiced`, `vehicle_publish_limit_reached`")))]
async fn undo_sale(call: Call) -> Result<Reply, ApiError> {
    let mut query = call.query();
    let credit = query.truth("credit").unwrap_or_default();
    let credit = query.finish(credit);
    if matches!(credit, Ok(true)) && !call.caller.may(Scope::InvoicesWrite) {
        return call.refuse(ApiError::scope_denied(Scope::InvoicesWrite)).await;
    }
    write_vehicle(&call, credit, async |session: &mut dyn Session, credit| {
        let id = call.target(Code::VEHICLE_NOT_FOUND)?;
        let vehicle = sales::undo_sale(session, call.clock().as_ref(), &call.caller, id, credit).await?;
        call.ok(&vehicle)
    })
    .await
}

/// Hand a sold vehicle over
///
/// This completes the sale.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/handover", tag = "vehicles", security(("bearer" = ["vehicle-sales:write"])),
    params(IdParameter),
    responses((status = 200, description = "The vehicle", body = Envelope<FullVehicle>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_not_sold`")))]
async fn hand_over_vehicle(call: Call) -> Result<Reply, ApiError> {
    write_vehicle(&call, Ok(()), async |session: &mut dyn Session, ()| {
        let id = call.target(Code::VEHICLE_NOT_FOUND)?;
        let vehicle = sales::hand_over(session, call.clock().as_ref(), &call.caller, id).await?;
        call.ok(&vehicle)
    })
    .await
}

/// A sale.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"customer": 12, "price": 16950, "date": "2026-11-23"}))]
struct SaleBody {
    /// Contact id of the buyer.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    customer: Field<i64>,
    /// The sale price.
    #[serde(default)]
    #[schema(schema_with = price_schema)]
    price: Field<Value>,
    /// Day of the sale; today by default.
    #[serde(default)]
    #[schema(value_type = Option<Date>)]
    date: Field<Date>,
    /// True to bill the sale by an invoice; it needs a customer, and a price unless the vehicle has one. False by default.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    create_invoice: Field<bool>,
}

/// A sale, and whether it is invoiced.
#[derive(Clone)]
struct SaleCommand {
    sale: SellVehicle,
    create_invoice: bool,
}

parameters! {
    query CreditParameter;

    /// true to credit the invoice of the sale in full first; false by default.
    credit: TruthWord;
}

fn price_schema() -> RefOr<Schema> {
    amount_schema("What it was sold for.", true)
}

impl SaleBody {
    fn read(self) -> ParsedBody<SaleCommand> {
        let Self {
            customer,
            price,
            date,
            create_invoice,
        } = self;
        let mut form = Form::new();
        let customer = form.optional("customer", customer).map(ContactId::new);
        let price = form.optional("price", price);
        let price = form.validated("price", price, amount);
        let date = form.optional("date", date);
        let create_invoice = form.optional("create_invoice", create_invoice).unwrap_or_default();
        let command = SaleCommand {
            sale: SellVehicle { customer, price, date },
            create_invoice,
        };
        ParsedBody::new(command, form.finish(()).err().unwrap_or_default())
    }
}
