//! The appointments on a lead's list, over HTTP (areas §10.9).

use forecourt_appointments::{self as appointments, AppointmentId, SimpleAppointment};
use forecourt_dealership::Session;
use forecourt_kernel::{Field, LeadId, Scope, Target, ValidationErrors, View};
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
    record::Personal as _,
    reply::{Answer, Deleted, Envelope, Reply},
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_lead_appointments> list_lead_appointments,
        self::<__path_add_lead_appointment> add_lead_appointment,
        self::<__path_remove_lead_appointment> remove_lead_appointment,
    ])
}

/// List the appointments on a lead's list
///
/// Newest appointment first. The key needs the scope appointments:read too.
#[utoipa::path(get, path = "/2.0/leads/{id}/appointments", tag = "leads", security(("bearer" = ["leads:read"])),
    params(IdParameter, PageParameters, FieldsParameter),
    responses((status = 200, description = "A page of appointments", body = PageEnvelope<SimpleAppointment<'static>>),
        (status = 404, description = "`lead_not_found`")))]
async fn list_lead_appointments(call: Call) -> Result<Answer, ApiError> {
    if !call.caller.may(Scope::AppointmentsRead) {
        return Err(ApiError::scope_denied(Scope::AppointmentsRead));
    }
    let list = call.list(call.list_within("lead-appointments"), View::Full)?;
    let lead = call.id(Code::LEAD_NOT_FOUND)?;
    list.answer(
        call,
        RecordSize::Large,
        async move |session, call, page| appointments::list_lead_appointments(session, &call.caller, lead, page).await,
        |item, appointment| item.show(&SimpleAppointment::from(appointment)),
    )
    .await
}

/// Add an appointment to a lead's list
///
/// It changes neither the lead nor the appointment.
#[utoipa::path(post, path = "/2.0/leads/{id}/appointments", tag = "leads", security(("bearer" = ["leads:write"])),
    params(IdParameter), request_body = AppointmentBody,
    responses((status = 200, description = "The appointment", body = Envelope<SimpleAppointment<'static>>),
        (status = 404, description = "`lead_not_found`"), (status = 409, description = "`lead_vehicle_duplicate`")))]
async fn add_lead_appointment(call: Call) -> Result<Reply, ApiError> {
    let appointment = call.body().await.and_then(|body: AppointmentBody| Ok(body.id()?));
    call.write(appointment, async |session: &mut dyn Session, appointment| {
        let lead = match call.target(Code::LEAD_NOT_FOUND) {
            Ok(lead) => lead,
            Err(absent) => {
                // A missing appointment is reported first.
                let errors = appointments::validate_lead_appointment(session, &call.caller, appointment).await?;
                errors.into_result(())?;
                return Err(absent);
            }
        };
        let clock = call.clock().as_ref();
        let added = appointments::add_lead_appointment(session, clock, &call.caller, lead, appointment).await?;
        Ok(Reply {
            shows: added.shown(),
            ..Reply::ok(&SimpleAppointment::from(&added))?
        })
    })
    .await
}

/// Take an appointment off a lead's list
///
/// Nothing is cancelled.
#[utoipa::path(delete, path = "/2.0/leads/{id}/appointments/{appointment_id}", tag = "leads",
    security(("bearer" = ["leads:write"])), params(IdParameter, AppointmentIdParameter),
    responses((status = 200, description = "The appointment is off the list; `id` is the appointment's", body = Envelope<Deleted>),
        (status = 404, description = "`lead_not_found`, `lead_appointment_not_found`")))]
async fn remove_lead_appointment(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let lead: Target<LeadId> = call.target(Code::LEAD_NOT_FOUND)?;
        let appointment = match call.second_id::<AppointmentId>(Code::LEAD_APPOINTMENT_NOT_FOUND) {
            Ok(appointment) => appointment,
            Err(absent) => {
                // A missing lead is reported first.
                appointments::require_lead(session, &call.caller, lead.id).await?;
                return Err(absent);
            }
        };
        appointments::remove_lead_appointment(session, &call.caller, lead, appointment).await?;
        Reply::deleted(appointment.get())
    })
    .await
}

parameters! {
    path AppointmentIdParameter;

    /// Appointment id.
    appointment_id: i64;
}

/// An appointment to be added.
#[derive(Deserialize, ToSchema)]
#[schema(as = LeadAppointmentBody, example = json!({"appointment": 1}))]
struct AppointmentBody {
    /// Appointment id.
    #[serde(default)]
    #[schema(value_type = i64, required)]
    appointment: Field<i64>,
}

impl AppointmentBody {
    fn id(self) -> Result<AppointmentId, ValidationErrors> {
        let mut form = Form::new();
        let id = form.required("appointment", self.appointment);
        form.finish_found(id.map(AppointmentId::new))
    }
}
