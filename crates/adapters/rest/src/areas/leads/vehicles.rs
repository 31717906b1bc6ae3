//! The vehicles that a lead concerns, over HTTP (decisions §5).

use forecourt_dealership::Session;
use forecourt_kernel::{Field, LeadId, Line, Target, ValidationErrors, VehicleId, View};
use forecourt_leads::{self as leads, LeadVehicleView, VehicleChoice};
use serde::Deserialize;
use utoipa::ToSchema;

use super::id::IdParameter;
use crate::{
    body::Form,
    call::Call,
    code::Code,
    error::ApiError,
    list::{PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{FieldsParameter, PageParameters, parameters},
    reply::{Answer, Deleted, Envelope, Reply},
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_lead_vehicles> list_lead_vehicles,
        self::<__path_add_lead_vehicle> add_lead_vehicle,
        self::<__path_remove_lead_vehicle> remove_lead_vehicle,
    ])
}

/// List the vehicles that a lead concerns
///
/// Newest vehicle first. A deleted vehicle leaves the list.
#[utoipa::path(get, path = "/2.0/leads/{id}/vehicles", tag = "leads", security(("bearer" = ["leads:read"])),
    params(IdParameter, PageParameters, FieldsParameter),
    responses((status = 200, description = "A page of vehicles", body = PageEnvelope<LeadVehicleView<'static>>),
        (status = 404, description = "`lead_not_found`")))]
async fn list_lead_vehicles(call: Call) -> Result<Answer, ApiError> {
    let list = call.list(call.list_within("lead-vehicles"), View::Full)?;
    let lead = call.id(Code::LEAD_NOT_FOUND)?;
    list.answer(
        call,
        RecordSize::Small,
        async move |session, call, page| leads::list_lead_vehicles(session, &call.caller, lead, page).await,
        |item, vehicle| item.show(&LeadVehicleView::new(vehicle, &item.call.caller.business)),
    )
    .await
}

/// Associate a vehicle with a lead
///
/// The vehicle is named by `vehicle` or by `vehicle_tag`.
#[utoipa::path(post, path = "/2.0/leads/{id}/vehicles", tag = "leads", security(("bearer" = ["leads:write"])),
    params(IdParameter), request_body(content = VehicleBody, extensions(("x-rules" = json!({
        "if": {"properties": {"vehicle": {"type": "null"}}},
        "then": {"required": ["vehicle_tag"], "properties": {"vehicle_tag": {"type": "string", "minLength": 1}}},
        "else": {"properties": {"vehicle": {"type": "integer"}, "vehicle_tag": {"enum": ["", null]}}},
    })))),
    responses((status = 200, description = "The association", body = Envelope<LeadVehicleView<'static>>),
        (status = 404, description = "`lead_not_found`"), (status = 409, description = "`lead_vehicle_duplicate`")))]
async fn add_lead_vehicle(call: Call) -> Result<Reply, ApiError> {
    let choice = call.body().await.and_then(|body: VehicleBody| Ok(body.choice()?));
    call.write(choice, async |session: &mut dyn Session, choice| {
        let lead = match call.target(Code::LEAD_NOT_FOUND) {
            Ok(lead) => lead,
            Err(absent) => {
                // A missing vehicle is reported first.
                let errors = leads::validate_vehicle(session, &call.caller, Some(&choice)).await?;
                errors.into_result(())?;
                return Err(absent);
            }
        };
        let added = leads::add_lead_vehicle(session, call.clock().as_ref(), &call.caller, lead, choice).await?;
        Reply::ok(&LeadVehicleView::new(&added, &call.caller.business))
    })
    .await
}

/// Take a vehicle off a lead
#[utoipa::path(delete, path = "/2.0/leads/{id}/vehicles/{vehicle_id}", tag = "leads",
    security(("bearer" = ["leads:write"])), params(IdParameter, VehicleIdParameter),
    responses((status = 200, description = "The association is gone; `id` is the vehicle's", body = Envelope<Deleted>),
        (status = 404, description = "`lead_not_found`, `lead_vehicle_not_found`")))]
async fn remove_lead_vehicle(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let lead: Target<LeadId> = call.target(Code::LEAD_NOT_FOUND)?;
        let vehicle = match call.second_id::<VehicleId>(Code::LEAD_VEHICLE_NOT_FOUND) {
            Ok(vehicle) => vehicle,
            Err(absent) => {
                // A missing lead is reported first.
                leads::read_lead(session, &call.caller, lead.id).await?;
                return Err(absent);
            }
        };
        leads::remove_lead_vehicle(session, call.clock().as_ref(), &call.caller, lead, vehicle).await?;
        Reply::deleted(vehicle.get())
    })
    .await
}

parameters! {
    path VehicleIdParameter;

    /// Vehicle id.
    vehicle_id: i64;
}

/// A vehicle to be associated: one of the two.
#[derive(Deserialize, ToSchema)]
#[schema(as = LeadVehicleBody, example = json!({"vehicle": 1}))]
struct VehicleBody {
    /// Vehicle id.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    vehicle: Field<i64>,
    /// The vehicle's tag, in either case.
    #[serde(default)]
    #[schema(value_type = Option<Line>)]
    vehicle_tag: Field<Line>,
}

impl VehicleBody {
    fn choice(self) -> Result<VehicleChoice, ValidationErrors> {
        let Self { vehicle, vehicle_tag } = self;
        let mut form = Form::new();
        let vehicle = form.optional("vehicle", vehicle).map(VehicleId::new);
        let tag = form.text("vehicle_tag", vehicle_tag).flatten();
        // An empty tag counts as left out.
        let named = (vehicle, tag.filter(|tag| !tag.is_empty()));
        let choice = form.validated("vehicle_tag", Some(named), |(vehicle, tag)| {
            VehicleChoice::of(vehicle, tag)
        });
        let choice = form.finish(choice)?.flatten();
        choice.ok_or_else(|| ValidationErrors::one("vehicle", "is required, unless vehicle_tag is given"))
    }
}
