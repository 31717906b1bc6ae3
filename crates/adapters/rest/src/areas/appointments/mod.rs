//! Appointments over HTTP (areas §10.9).

mod feeds;
mod id;
mod times;
mod visitor;

use forecourt_accounts::{Shown, ShownRecord};
use forecourt_appointments::{
    self as appointments, Appointment, AppointmentChanges, AppointmentError, AppointmentFilter, AppointmentStatus,
    AppointmentView, FullAppointment,
};
use forecourt_dealership::Session;
use forecourt_kernel::{
    ContactId, Field, LeadId, ListName, LongText, SiteId, StaffId, ValidationErrors, VehicleId, View,
};
use forecourt_reference::LeadChannel;
use serde::Deserialize;
use serde_json::json;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, schema::Schema},
};

use self::id::IdParameter;
use crate::{
    areas::{Area, EventRecord},
    body::Form,
    call::Call,
    code::{Code, codes},
    conditional::RecordState,
    error::ApiError,
    list::{PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{ListRenderingParameters, PageParameters, RenderingParameters, filters},
    record::Personal,
    reply::{Answer, Envelope, Reply},
    schemas::MomentRange,
    validated::ParsedBody,
};

pub(super) const AREA: Area = Area {
    tag: "appointments",
    about: "Appointments with visitors: conflicts, free slots, reminders and calendars",
    operations,
    codes: CODES,
    records: &[EventRecord {
        resource: "appointment",
        schema: "Appointment",
        example: appointments::example_appointment,
    }],
};

const LIST: ListName = ListName::new("appointments");

codes! {
    CODES;
    APPOINTMENT_NOT_FOUND = NOT_FOUND, "appointment_not_found" {
        meaning: "The business has no such appointment.",
        cause: "The id is wrong, or it belongs to another business.",
        remedy: "Look the appointment up with `GET /2.0/appointments`.",
    }
    APPOINTMENT_FEED_NOT_FOUND = NOT_FOUND, "appointment_feed_not_found" {
        meaning: "The business has no such feed of appointments.",
        cause: "The id is wrong, the feed was deleted, or it belongs to another business.",
        remedy: "Look the feed up with `GET /2.0/appointments/feeds`.",
    }
    APPOINTMENT_CONTACT_NOT_FOUND = UNPROCESSABLE_ENTITY, "appointment_contact_not_found" {
        meaning: "The contact of the booking does not exist.",
        cause: "The id is wrong, the contact was deleted, or it belongs to another business.",
        remedy: "Look the contact up with `GET /2.0/contacts`, or send `name`, `email` and `phone` of a visitor without contact.",
    }
    APPOINTMENT_INVALID_STATUS = CONFLICT, "appointment_invalid_status" {
        meaning: "The status of the appointment does not allow the change; `details.status` is its name.",
        cause: "No move leads from this status to the other, or a cancelled appointment was changed.",
        remedy: "Read the appointment, and book another one if it was cancelled.",
    }
    APPOINTMENT_CONFLICT = CONFLICT, "appointment_conflict" {
        meaning: "Other appointments or the opening hours are in the way; `details.conflicts` lists them.",
        cause: "A member of the staff or the vehicle is taken, the calendar is full, or the business is closed.",
        remedy: "Choose a slot of `GET /2.0/appointments/slots`, or send `force`.",
    }
    APPOINTMENT_NOTIFY_FAILED = INTERNAL_SERVER_ERROR, "appointment_notify_failed" {
        meaning: "The visitor could not be notified.",
        cause: "The mail server cannot be reached or refuses the address, or the business may send no more mails today.",
        remedy: "Check the address, and try again later.",
    }
    LEAD_APPOINTMENT_NOT_FOUND = NOT_FOUND, "lead_appointment_not_found" {
        meaning: "The appointment is not on the lead's list.",
        cause: "It was taken off before, or never added.",
        remedy: "List the appointments with `GET /2.0/leads/{id}/appointments`.",
    }
}

fn operations() -> Declared<Vec<Operation>> {
    let mut operations = operations![
        self::<__path_list_appointments> list_appointments,
        self::<__path_create_appointment> create_appointment,
        self::<__path_read_appointment> read_appointment,
        self::<__path_update_appointment> update_appointment,
        self::<__path_cancel_appointment> cancel_appointment,
    ];
    operations.append(&mut times::operations()?);
    operations.append(&mut visitor::operations()?);
    operations.append(&mut feeds::operations()?);
    Ok(operations)
}

/// List appointments
///
/// Newest first; cancelled ones are included.
#[utoipa::path(get, path = "/2.0/appointments", tag = "appointments", security(("bearer" = ["appointments:read"])),
    params(FilterParameters, PageParameters, ListRenderingParameters),
    responses((status = 200, description = "A page of appointments", body = PageEnvelope<AppointmentView<'static>>)))]
async fn list_appointments(call: Call) -> Result<Answer, ApiError> {
    let (filter, list) = call.filtered_list(LIST, View::Simple, FilterParameters::read)?;
    list.answer(
        call,
        RecordSize::Large,
        async move |session, call, page| appointments::list_appointments(session, &call.caller, &filter, page).await,
        |item, appointment| item.show(&AppointmentView::of(appointment, item.view)),
    )
    .await
}

/// Book an appointment
///
/// It is refused while it is in conflict with others or with the opening hours, unless `force` is true. The visitor gets a mail
/// with a calendar's entry, unless `notify` is false or there is no address.
#[utoipa::path(post, path = "/2.0/appointments", tag = "appointments", security(("bearer" = ["appointments:write"])),
    request_body = NewAppointmentBody,
    responses((status = 201, description = "The appointment that was booked", body = Envelope<FullAppointment<'static>>),
        (status = 409, description = "`appointment_conflict`"),
        (status = 422, description = "`validation_failed`, `appointment_contact_not_found`")))]
async fn create_appointment(call: Call) -> Result<Reply, ApiError> {
    let changes = call
        .validated(changes(&call, true).await, async |session, sent| {
            Ok(appointments::validate_appointment_references(session, &call.caller, sent).await?)
        })
        .await;
    call.write(changes, async |session: &mut dyn Session, changes| {
        let clock = call.clock().as_ref();
        let booked = appointments::create_appointment(session, clock, &call.caller, call.host(), changes).await?;
        call.created(&booked)
    })
    .await
}

/// Read an appointment
#[utoipa::path(get, path = "/2.0/appointments/{id}", tag = "appointments", security(("bearer" = ["appointments:read"])),
    params(IdParameter, RenderingParameters),
    responses((status = 200, description = "The appointment", body = Envelope<AppointmentView<'static>>),
        (status = 404, description = "`appointment_not_found`")))]
async fn read_appointment(call: Call) -> Result<Reply, ApiError> {
    let rendering = call.rendering()?;
    let id = call.id(Code::APPOINTMENT_NOT_FOUND)?;

    let mut session = call.read().await?;
    let appointment = appointments::read_appointment(session.as_mut(), &call.caller, id).await?;
    let state = RecordState {
        version: appointment.version,
        updated: appointment.updated,
    };
    call.record(state, &rendering, &AppointmentView::of(&appointment, rendering.view))
}

/// Change an appointment
///
/// Only the supplied fields change; a new `start` or `type` alone keeps the duration. The visitor gets a mail if the times, the
/// location, the type or the staff change, unless `notify` is false.
#[utoipa::path(patch, path = "/2.0/appointments/{id}", tag = "appointments", security(("bearer" = ["appointments:write"])),
    params(IdParameter), request_body = AppointmentChanges,
    responses((status = 200, description = "The appointment", body = Envelope<FullAppointment<'static>>),
        (status = 404, description = "`appointment_not_found`"),
        (status = 409, description = "`appointment_invalid_status`, `appointment_conflict`"),
        (status = 422, description = "`validation_failed`, `appointment_contact_not_found`")))]
async fn update_appointment(call: Call) -> Result<Reply, ApiError> {
    let changes = call
        .validated(changes(&call, false).await, async |session, sent| {
            Ok(appointments::validate_appointment_references(session, &call.caller, sent).await?)
        })
        .await;
    call.write(changes, async |session: &mut dyn Session, changes| {
        let id = call.target(Code::APPOINTMENT_NOT_FOUND)?;
        let clock = call.clock().as_ref();
        let changed = appointments::update_appointment(session, clock, &call.caller, call.host(), id, changes).await?;
        call.ok(&changed)
    })
    .await
}

/// Returns the appointment that the request body describes, and the faults of the body.
async fn changes(call: &Call, is_new: bool) -> Result<ParsedBody<AppointmentChanges>, ApiError> {
    call.read_body(move |changes: AppointmentChanges, rules| {
        let errors = if is_new {
            changes.faults_of_new(rules)
        } else {
            changes.faults(rules)
        };
        Ok(ParsedBody::new(changes, errors))
    })
    .await
}

/// Cancel an appointment
///
/// The visitor gets a mail, unless `notify` is false or there is no address.
#[utoipa::path(post, path = "/2.0/appointments/{id}/cancel", tag = "appointments", security(("bearer" = ["appointments:write"])),
    params(IdParameter), request_body = CancelBody,
    responses((status = 200, description = "The appointment", body = Envelope<FullAppointment<'static>>),
        (status = 404, description = "`appointment_not_found`"), (status = 409, description = "`appointment_invalid_status`")))]
async fn cancel_appointment(call: Call) -> Result<Reply, ApiError> {
    let command = call.body().await.and_then(|body: CancelBody| Ok(body.read()?));
    call.write(command, async |session: &mut dyn Session, (reason, notify)| {
        let id = call.target(Code::APPOINTMENT_NOT_FOUND)?;
        let clock = call.clock().as_ref();
        let (by, host) = (&call.caller, call.host());
        let cancelled = appointments::cancel_appointment(session, clock, by, host, id, reason, notify).await?;
        call.ok(&cancelled)
    })
    .await
}

/// A cancellation.
#[derive(Deserialize, ToSchema)]
#[schema(as = AppointmentCancelBody, example = json!({"reason": "The visitor is ill."}))]
struct CancelBody {
    /// The reason; empty by default.
    #[serde(default)]
    #[schema(value_type = Option<LongText>)]
    reason: Field<LongText>,
    /// False to send the visitor no mail; true by default.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    notify: Field<bool>,
}

impl CancelBody {
    fn read(self) -> Result<(String, bool), ValidationErrors> {
        let Self { reason, notify } = self;
        let mut form = Form::new();
        let reason = form.optional("reason", reason);
        let notify = form.optional("notify", notify);
        form.finish((
            reason.map(LongText::into_string).unwrap_or_default(),
            notify.unwrap_or(true),
        ))
    }
}

impl Call {
    /// The public host of the server, which makes the ids of calendars' entries unique.
    pub(crate) fn host(&self) -> &str {
        host_of(&self.worker.shared.public_url)
    }
}

/// Returns the host of a URL, without its port.
pub fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// An appointment to be booked: [`AppointmentChanges`] with a type and a start.
enum NewAppointmentBody {}

impl PartialSchema for NewAppointmentBody {
    fn schema() -> RefOr<Schema> {
        let mut schema = AppointmentChanges::schema();
        if let RefOr::T(Schema::Object(body)) = &mut schema {
            body.required.extend(["type", "start"].map(str::to_owned));
            body.description = Some("An appointment to be booked.".to_owned());
        }
        schema
    }
}

impl ToSchema for NewAppointmentBody {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        AppointmentChanges::schemas(schemas);
    }
}

impl Personal for Appointment {
    type View<'a> = FullAppointment<'a>;

    fn view<'a>(&'a self, _: &'a Call) -> FullAppointment<'a> {
        self.into()
    }

    fn shown(&self) -> Shown {
        Shown {
            contact: self.content.contact,
            record: Some(ShownRecord::Appointment(self.id)),
        }
    }
}

impl From<AppointmentError> for ApiError {
    fn from(error: AppointmentError) -> Self {
        match error {
            AppointmentError::NotFound(_) => {
                Self::new(Code::APPOINTMENT_NOT_FOUND, "this business has no such appointment")
            }
            AppointmentError::FeedNotFound(_) => Self::new(
                Code::APPOINTMENT_FEED_NOT_FOUND,
                "this business has no such feed of appointments",
            ),
            AppointmentError::LeadNotFound(_) => Self::new(Code::LEAD_NOT_FOUND, "this business has no such lead"),
            AppointmentError::NotOnLead(_) => Self::new(
                Code::LEAD_APPOINTMENT_NOT_FOUND,
                "this appointment is not on the lead's list",
            ),
            AppointmentError::LeadDuplicate(_) => Self::new(
                Code::LEAD_VEHICLE_DUPLICATE,
                "this appointment is on the lead's list already",
            ),
            AppointmentError::ContactNotFound(_) => Self::with_details(
                Code::APPOINTMENT_CONTACT_NOT_FOUND,
                "contact names no contact of this business",
                json!({"field": "contact"}),
            ),
            AppointmentError::InvalidStatus(status) => Self::with_details(
                Code::APPOINTMENT_INVALID_STATUS,
                format!("an appointment that is {} does not allow this", status.name()),
                json!({"status": status.name()}),
            ),
            AppointmentError::Conflict(conflicts) => Self::with_details(
                Code::APPOINTMENT_CONFLICT,
                "other appointments or the opening hours are in the way; see details.conflicts",
                json!({"conflicts": conflicts}),
            ),
            AppointmentError::NotifyFailed(cause) => Self::failed(
                Code::APPOINTMENT_NOTIFY_FAILED,
                "the visitor could not be notified",
                cause,
            ),
            AppointmentError::TooManyMails => Self::new(
                Code::APPOINTMENT_NOTIFY_FAILED,
                "the visitor could not be notified: this business may send no more mails today",
            ),
            AppointmentError::VersionMismatch(mismatch) => mismatch.into(),
            AppointmentError::Invalid(errors) => errors.into(),
            AppointmentError::Store(error) => error.into(),
        }
    }
}

filters! {
    FilterParameters => AppointmentFilter;

    /// Filed under this site.
    site: SiteId;
    /// Of this booking type.
    kind as "type": String;
    /// In this calendar.
    calendar: String;
    /// In this status.
    status: AppointmentStatus;
    /// Of this contact.
    contact: ContactId;
    /// Belonging to this lead.
    lead: LeadId;
    /// About this vehicle.
    vehicle: VehicleId;
    /// Belonging to this deal.
    deal: i64;
    /// With this staff user.
    staff: StaffId;
    /// Booked by this channel.
    source: LeadChannel;
    /// Beginning between these two moments, both included; an empty one leaves that end open. `start=…` is just this moment.
    start: MomentRange;
    /// Ending between these two moments, both included; an empty one leaves that end open. `end=…` is just this moment.
    end: MomentRange;
    /// Booked between these two moments, both included; an empty one leaves that end open. `created=…` is just this moment.
    created: MomentRange;
    /// Last changed between these two moments, both included; an empty one leaves that end open. `updated=…` is just this
    /// moment.
    updated: MomentRange;
}
