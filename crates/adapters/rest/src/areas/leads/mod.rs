//! Leads over HTTP (contract, "Leads").

mod adf;
mod appointments;
mod id;
mod messages;
mod notes;
mod vehicles;

use forecourt_accounts::{Business, Shown, ShownRecord};
use forecourt_dealership::Session;
use forecourt_kernel::{
    BoundedList, ContactId, Date, Field, LeadId, Line, ListName, Phone, SiteId, StaffId, Target, TextFilter,
    ValidationErrors, VehicleId, View,
};
use forecourt_leads::{
    self as leads, FullLead, Lead, LeadChanges, LeadError, LeadFilter, LeadStatus, LeadView, Rating, SetAssignment,
    StatusChange, StatusMove,
};
use forecourt_reference::LeadChannel;
use serde::Deserialize;
use utoipa::{
    ToSchema,
    openapi::{RefOr, Schema},
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
    parameters::{EmailFilter, ListRenderingParameters, PageParameters, RenderingParameters, filters},
    record::Personal,
    reply::{Answer, Deleted, Envelope, Reply, unwritable},
    schemas::{self, MomentRange},
    validated::ParsedBody,
};

const LIST: ListName = ListName::new("leads");

pub(super) const AREA: Area = Area {
    tag: "leads",
    about: "Enquiries with a status workflow, staff assignment, AI rating and summary",
    operations,
    codes: CODES,
    records: &[EventRecord {
        resource: "lead",
        schema: "Lead",
        example: leads::example_lead,
    }],
};

codes! {
    CODES;
    LEAD_NOT_FOUND = NOT_FOUND, "lead_not_found" {
        meaning: "The business has no such lead.",
        cause: "The id is wrong, the lead was deleted, or it belongs to another business.",
        remedy: "Look the lead up with `GET /2.0/leads`, and forget ids that answer 404.",
    }
    LEAD_NOTE_NOT_FOUND = NOT_FOUND, "lead_note_not_found" {
        meaning: "The lead has no such note.",
        cause: "The id is wrong, the note was deleted, or it belongs to another lead.",
        remedy: "List the notes with `GET /2.0/leads/{id}/notes`.",
    }
    LEAD_MESSAGE_NOT_FOUND = NOT_FOUND, "lead_message_not_found" {
        meaning: "The lead has no such message.",
        cause: "The id is wrong, or the message belongs to another lead.",
        remedy: "List the messages with `GET /2.0/leads/{id}/messages`.",
    }
    LEAD_SEND_FAILED = UNPROCESSABLE_ENTITY, "lead_send_failed" {
        meaning: "The reply to the lead could not be sent, and was not added.",
        cause: "The lead has no email address, the mail server cannot be reached or refuses the address, or the business has sent as many mails as it may in a UTC day.",
        remedy: "Correct the lead's email with `PATCH /2.0/leads/{id}`, or reply on another channel.",
    }
    LEAD_VEHICLE_NOT_FOUND = NOT_FOUND, "lead_vehicle_not_found" {
        meaning: "The lead is associated with no such vehicle.",
        cause: "The vehicle was never associated with this lead, was taken off, or was deleted.",
        remedy: "List the associations with `GET /2.0/leads/{id}/vehicles`.",
    }
    LEAD_VEHICLE_DUPLICATE = CONFLICT, "lead_vehicle_duplicate" {
        meaning: "The vehicle or the appointment is already associated with the lead.",
        cause: "It was added before.",
        remedy: "Nothing needs to be done: what was asked for is so already.",
    }
}

fn operations() -> Declared<Vec<Operation>> {
    let mut operations = operations![
        self::<__path_list_leads> list_leads,
        self::<__path_create_lead> create_lead,
        self::<__path_read_lead> read_lead,
        self::<__path_update_lead> update_lead,
        self::<__path_delete_lead> delete_lead,
        self::<__path_set_lead_status> set_lead_status,
        self::<__path_assign_lead> assign_lead,
    ];
    operations.append(&mut vehicles::operations()?);
    operations.append(&mut appointments::operations()?);
    operations.append(&mut messages::operations()?);
    operations.append(&mut notes::operations()?);
    operations.append(&mut adf::operations()?);
    Ok(operations)
}

/// List leads
///
/// Newest first.
#[utoipa::path(get, path = "/2.0/leads", tag = "leads", security(("bearer" = ["leads:read"])),
    params(FilterParameters, PageParameters, ListRenderingParameters),
    responses((status = 200, description = "A page of leads", body = PageEnvelope<LeadView<'static>>)))]
async fn list_leads(call: Call) -> Result<Answer, ApiError> {
    let (filter, list) = call.filtered_list(LIST, View::Simple, FilterParameters::read)?;
    match list.view {
        View::Simple => {
            list.answer(
                call,
                RecordSize::Small,
                async move |session, call, page| leads::preview_leads(session, &call.caller, &filter, page).await,
                |item, lead| lead.write_to(item.body).map_err(unwritable),
            )
            .await
        }
        View::Full => {
            list.answer(
                call,
                RecordSize::Large,
                async move |session, call, page| leads::list_leads(session, &call.caller, &filter, page).await,
                |item, lead| item.show(&LeadView::new(lead, item.view, &item.call.caller.business.catalogue)),
            )
            .await
        }
    }
}

/// Create a lead
#[utoipa::path(post, path = "/2.0/leads", tag = "leads", security(("bearer" = ["leads:write"])), request_body = LeadChanges,
    responses((status = 201, description = "The lead that was created", body = Envelope<FullLead<'static>>)))]
async fn create_lead(call: Call) -> Result<Reply, ApiError> {
    let changes = call
        .validated(changes(&call).await, async |session, lead| {
            Ok(leads::validate_new_lead_references(session, &call.caller, lead).await?)
        })
        .await;
    call.write(changes, async |session: &mut dyn Session, changes| {
        let lead = leads::create_lead(session, call.clock().as_ref(), &call.caller, changes).await?;
        call.created(&lead)
    })
    .await
}

/// Read a lead
#[utoipa::path(get, path = "/2.0/leads/{id}", tag = "leads", security(("bearer" = ["leads:read"])), params(IdParameter, RenderingParameters),
    responses((status = 200, description = "The lead", body = Envelope<LeadView<'static>>),
        (status = 404, description = "`lead_not_found`")))]
async fn read_lead(call: Call) -> Result<Reply, ApiError> {
    let rendering = call.rendering()?;
    let id = call.id(Code::LEAD_NOT_FOUND)?;

    let mut session = call.read().await?;
    let lead = leads::read_lead(session.as_mut(), &call.caller, id).await?;
    let state = RecordState {
        version: lead.version,
        updated: lead.updated,
    };
    let shown = LeadView::new(&lead, rendering.view, &call.caller.business.catalogue);
    call.record(state, &rendering, &shown)
}

/// Change a lead
///
/// Only the supplied fields change.
#[utoipa::path(patch, path = "/2.0/leads/{id}", tag = "leads", security(("bearer" = ["leads:write"])), params(IdParameter),
    request_body = LeadChanges, responses((status = 200, description = "The lead", body = Envelope<FullLead<'static>>),
        (status = 404, description = "`lead_not_found`")))]
async fn update_lead(call: Call) -> Result<Reply, ApiError> {
    let changes = call
        .validated(changes(&call).await, async |session, lead| {
            Ok(leads::validate_lead_references(session, &call.caller, lead).await?)
        })
        .await;
    call.write(changes, async |session: &mut dyn Session, changes| {
        let id = call.target(Code::LEAD_NOT_FOUND)?;
        let lead = leads::update_lead(session, call.clock().as_ref(), &call.caller, id, changes).await?;
        call.ok(&lead)
    })
    .await
}

/// Returns the lead that the request body describes, and the faults of the body.
async fn changes(call: &Call) -> Result<ParsedBody<LeadChanges>, ApiError> {
    call.read_body(|changes, rules| {
        let errors = leads::validate_lead(&changes, rules);
        Ok(ParsedBody::new(changes, errors))
    })
    .await
}

/// Delete a lead
#[utoipa::path(delete, path = "/2.0/leads/{id}", tag = "leads", security(("bearer" = ["leads:delete"])), params(IdParameter),
    responses((status = 200, description = "The lead is gone", body = Envelope<Deleted>),
        (status = 404, description = "`lead_not_found`")))]
async fn delete_lead(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let lead: Target<LeadId> = call.target(Code::LEAD_NOT_FOUND)?;
        let id = lead.id;
        leads::delete_lead(session, call.clock().as_ref(), &call.caller, lead).await?;
        Reply::deleted(id.get())
    })
    .await
}

/// Move a lead through its workflow
///
/// `status` cannot be combined with `closed` or `junk`, nor these with each other.
#[utoipa::path(patch, path = "/2.0/leads/{id}/status", tag = "leads", security(("bearer" = ["leads:write"])),
    params(IdParameter), request_body(content = StatusBody, extensions(("x-rules" = json!({
        "if": {"required": ["status"], "properties": {"status": {"type": "string"}}},
        "then": {"properties": {"status": {"type": "string"}, "junk": {"type": "null"}, "closed": {"type": "null"}}},
        "else": {
            "if": {"required": ["closed"], "properties": {"closed": {"type": "boolean"}}},
            "then": {"properties": {"closed": {"type": "boolean"}, "junk": {"type": "null"}}},
        },
    })))),
    responses((status = 200, description = "The lead", body = Envelope<FullLead<'static>>),
        (status = 404, description = "`lead_not_found`")))]
async fn set_lead_status(call: Call) -> Result<Reply, ApiError> {
    let command = call.body().await.and_then(|body: StatusBody| Ok(body.command()?));
    call.write(command, async |session: &mut dyn Session, command| {
        let id = call.target(Code::LEAD_NOT_FOUND)?;
        let lead = leads::set_lead_status(session, call.clock().as_ref(), &call.caller, id, command).await?;
        call.ok(&lead)
    })
    .await
}

/// Replace the staff that deal with a lead
#[utoipa::path(patch, path = "/2.0/leads/{id}/assign", tag = "leads", security(("bearer" = ["leads:write"])),
    params(IdParameter), request_body = AssignBody,
    responses((status = 200, description = "The lead", body = Envelope<FullLead<'static>>),
        (status = 404, description = "`lead_not_found`")))]
async fn assign_lead(call: Call) -> Result<Reply, ApiError> {
    let command = call
        .body()
        .await
        .and_then(|body: AssignBody| Ok(body.command(&call.caller.business)?));
    call.write(command, async |session: &mut dyn Session, command| {
        let id = call.target(Code::LEAD_NOT_FOUND)?;
        let lead = leads::assign_lead(session, call.clock().as_ref(), &call.caller, id, command).await?;
        call.ok(&lead)
    })
    .await
}

impl Personal for Lead {
    type View<'a> = FullLead<'a>;

    fn view<'a>(&'a self, call: &'a Call) -> FullLead<'a> {
        FullLead::new(self, &call.caller.business.catalogue)
    }

    fn shown(&self) -> Shown {
        Shown {
            contact: self.content.contact,
            record: Some(ShownRecord::Lead(self.id)),
        }
    }
}

impl From<LeadError> for ApiError {
    fn from(error: LeadError) -> Self {
        match error {
            LeadError::NotFound(_) => Self::new(Code::LEAD_NOT_FOUND, "this business has no such lead"),
            LeadError::VehicleNotFound(_) => Self::new(
                Code::LEAD_VEHICLE_NOT_FOUND,
                "this lead is associated with no such vehicle",
            ),
            LeadError::VehicleDuplicate(_) => Self::new(
                Code::LEAD_VEHICLE_DUPLICATE,
                "this lead is associated with the vehicle already",
            ),
            LeadError::NoteNotFound(_) => Self::new(Code::LEAD_NOTE_NOT_FOUND, "this lead has no such note"),
            LeadError::MessageNotFound(_) => Self::new(Code::LEAD_MESSAGE_NOT_FOUND, "this lead has no such message"),
            LeadError::NoAddress => Self::new(
                Code::LEAD_SEND_FAILED,
                "the reply cannot be sent: the lead has no email address",
            ),
            LeadError::SendFailed(_) => Self::new(
                Code::LEAD_SEND_FAILED,
                "the reply could not be sent: the mail server cannot be reached, or does not take the lead's address",
            ),
            LeadError::TooManyMails => Self::new(
                Code::LEAD_SEND_FAILED,
                "the reply could not be sent: this business may send no more mails today",
            ),
            LeadError::VersionMismatch(mismatch) => mismatch.into(),
            LeadError::Invalid(errors) => errors.into(),
            LeadError::Store(error) => error.into(),
        }
    }
}

filters! {
    FilterParameters => LeadFilter;

    /// Filed under this site.
    site: SiteId;
    /// In this state, by code or name.
    status: LeadStatus;
    /// Came in on this channel.
    channel: LeadChannel;
    /// With this reference number.
    reference: i64;
    /// Sender's name, case-insensitive; % stands for any characters (scope search:wildcard; at most 4 %, and 100 characters).
    name: TextFilter;
    /// Sender's email address, case-insensitive; % as in name.
    email: EmailFilter;
    /// From this landline, in any usual spelling.
    phone: Phone;
    /// From this mobile, in any usual spelling.
    mobile: Phone;
    /// Linked to this contact.
    contact: ContactId;
    /// Associated with this vehicle.
    vehicle: VehicleId;
    /// Rated at least this, 1 to 5; unrated leads are left out.
    rating_min: Rating;
    /// Came in between these two moments, both included; an empty one leaves that end open. `created=…` is just this moment.
    created: MomentRange;
    /// Last changed between these two moments, both included; an empty one leaves that end open. `updated=…` is just this
    /// moment.
    updated: MomentRange;
}

/// A move through the workflow. No field is required.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"status": "read"}))]
struct StatusBody {
    /// The status to take: new, new_message, read, replied, closed or junk.
    #[serde(default)]
    #[schema(value_type = Option<schemas::LeadStatusWord>, inline)]
    status: Field<Line>,
    /// true makes it junk, false new.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    junk: Field<bool>,
    /// true closes it, false makes it new_message.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    closed: Field<bool>,
    /// The day on which it reopens; ignored unless closed is true.
    #[serde(default)]
    #[schema(value_type = Option<Date>)]
    reopen: Field<Line>,
    /// True if it counts toward reports.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    stat: Field<bool>,
}

impl StatusBody {
    fn command(self) -> Result<StatusMove, ValidationErrors> {
        let Self {
            status,
            junk,
            closed,
            reopen,
            stat,
        } = self;
        let mut form = Form::new();
        let by_name =
            |name: Line| LeadStatus::from_name(&name).ok_or("must be new, new_message, read, replied, closed or junk");
        // `junk` and `closed` are commands, not fields of a lead, so null does not set them. Beside one of them, a null
        // `status` is no status either.
        let (junk, closed) = (form.optional("junk", junk), form.optional("closed", closed));
        let resets_status = matches!(status, Field::Null) && junk.is_none() && closed.is_none();
        let named = form.optional("status", status);
        let change = StatusChange {
            status: if resets_status {
                Some(LeadStatus::default())
            } else {
                form.validated("status", named, by_name)
            },
            junk,
            closed,
            reopen: form.meaning("reopen", reopen, str::parse::<Date>).flatten(),
            stat: form.or_default("stat", stat, true),
        };
        form.finish(change)?.validate()
    }
}

/// An assignment.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"assign": [1]}))]
struct AssignBody {
    /// Staff user ids; an empty array removes all.
    #[serde(default)]
    #[schema(schema_with = assign_schema, required)]
    assign: Field<BoundedList<i64>>,
}

fn assign_schema() -> RefOr<Schema> {
    schemas::array(schemas::integer())
        .description(Some("Staff user ids; an empty array clears."))
        .into()
}

impl AssignBody {
    fn command(self, business: &Business) -> Result<SetAssignment, ValidationErrors> {
        let mut form = Form::new();
        let mut assign: Vec<StaffId> = Vec::new();
        let ids = form.required("assign", self.assign).unwrap_or_default();
        for (index, id) in ids.into_iter().enumerate() {
            let id = StaffId::new(id);
            if !business.catalogue.has_staff(id) {
                let field = format!("assign.{index}");
                form.fault(&field, format!("names {id}, who is no staff user of this business"));
            } else if !assign.contains(&id) {
                assign.push(id);
            }
        }
        form.finish(SetAssignment { assign })
    }
}
