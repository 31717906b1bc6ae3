//! Acquisitions of vehicles, over HTTP (areas §10.5).

use forecourt_dealership::Session;
use forecourt_kernel::{Target, ValidationErrors, VehicleId};
use forecourt_purchases::{AcquisitionChanges, FullPurchase};
use forecourt_sales::{self as sales, AcquisitionView};

use super::id::IdParameter;
use crate::{
    areas::purchases::shown,
    call::Call,
    code::Code,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::FieldsParameter,
    record::OfContact,
    reply::{Created, Envelope, Reply},
    validated::ParsedBody,
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_read_acquisition> read_acquisition,
        self::<__path_acquire_vehicle> acquire_vehicle { created: Created::IdIn("/2.0/purchases") },
        self::<__path_undo_acquisition> undo_acquisition,
    ])
}

/// Read the acquisition of a vehicle
///
/// Returns the vehicle's number in the stock book and its purchase; `acquired` is false and every other member null without one.
#[utoipa::path(get, path = "/2.0/vehicles/{id}/acquisition", tag = "vehicles", security(("bearer" = ["purchases:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "The acquisition", body = Envelope<AcquisitionView>),
        (status = 404, description = "`vehicle_not_found`")))]
async fn read_acquisition(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id: VehicleId = call.id(Code::VEHICLE_NOT_FOUND)?;
    let mut session = call.read().await?;
    let acquisition = sales::read_acquisition(session.as_mut(), call.caller.business_id(), id).await?;
    Reply::projected(&acquisition, fields.as_ref())
}

/// Acquire a vehicle
///
/// The vehicle gets its number in the stock book, and shows the purchase, which is issued at once. A sold vehicle can be acquired
/// after the fact.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/acquisition", tag = "vehicles", security(("bearer" = ["purchases:write"])),
    params(IdParameter), request_body = AcquisitionChanges,
    responses((status = 201, description = "The purchase", body = Envelope<FullPurchase<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_acquisition_not_allowed`, `vehicle_already_acquired`")))]
async fn acquire_vehicle(call: Call) -> Result<Reply, ApiError> {
    let now = call.clock().now();
    let read = call.body::<AcquisitionChanges>().await.map(|body| {
        let (acquisition, errors) = body.read(now);
        ParsedBody::new(acquisition, errors)
    });
    let is_supplier_wrong = read
        .as_ref()
        .is_ok_and(|read| read.errors.as_slice().iter().any(|error| error.field == "supplier"));
    let command = call
        .validated(read, async |session, command| {
            if is_supplier_wrong {
                return Ok(ValidationErrors::new());
            }
            Ok(sales::validate_acquisition(session, &call.caller.business, command.supplier).await?)
        })
        .await;
    call.write(command, async |session: &mut dyn Session, command| {
        let id: Target<VehicleId> = call.target(Code::VEHICLE_NOT_FOUND)?;
        let clock = call.clock().as_ref();
        let purchase = sales::acquire_vehicle(session, clock, &call.caller, id, command.into_inner()).await?;
        call.created(&shown(session, &call.caller.business, &purchase).await?)
    })
    .await
}

/// Undo the acquisition of a vehicle
///
/// The purchase is credited in full. The stock book keeps its line; another acquisition gets a new number.
#[utoipa::path(delete, path = "/2.0/vehicles/{id}/acquisition", tag = "vehicles", security(("bearer" = ["purchases:write"])),
    params(IdParameter),
    responses((status = 200, description = "The acquisition, which is none any more", body = Envelope<AcquisitionView>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_status_transition_invalid`, `vehicle_not_acquired`")))]
async fn undo_acquisition(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let id: Target<VehicleId> = call.target(Code::VEHICLE_NOT_FOUND)?;
        let clock = call.clock().as_ref();
        sales::undo_acquisition(session, clock, &call.caller, id).await?;
        call.ok(&OfContact {
            contact: None,
            view: AcquisitionView::default(),
        })
    })
    .await
}
