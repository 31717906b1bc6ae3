//! Leads over HTTP (contract, "Leads").

use forecourt_accounts::{Business, Caller, ShownRecord};
use forecourt_dealership::Session;
use forecourt_kernel::{
    BoundedList, ContactId, Date, Field, LeadId, Line, ListName, PageRequest, SiteId, StaffId, Target, TextFilter,
    ValidationErrors, VehicleId, View, Words, quoted,
};
use forecourt_leads::{
    self as leads, CreateLead, Email, FullLead, Lead, LeadDraft, LeadError, LeadFilter, LeadPreview, LeadStatus,
    LeadView, Phone, Rating, SetAssignment, StatusChange, StatusMove, UpdateLead, VehicleChoice,
};
use forecourt_reference::{LeadType, TagChoice, TagChoices, TagResource};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::{
    IntoParams, ToSchema,
    openapi::{
        RefOr, Schema,
        schema::{ObjectBuilder, Type},
    },
};

use super::{lead_adf, lead_messages, lead_notes, lead_vehicles};
use crate::{
    areas::{Area, EventRecord},
    body::Form,
    call::Call,
    code::{Code, codes},
    conditional::RecordState,
    error::ApiError,
    openapi::Declared,
    operation::{Operation, operations},
    query::{ListRenderingParameters, PageParameters, Query, Rendering, RenderingParameters},
    reply::{self, Answer, Deleted, Envelope, PageEnvelope, RecordSize, Reply},
    schemas::{self, LeadStatusParameter, MomentRange},
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
        example: an_example,
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
    LEAD_SEND_FAILED = UNPROCESSABLE_ENTITY, "lead_send_failed" {
        meaning: "The reply to the lead could not be sent, and was not added.",
        cause: "The lead has no email address, or the mail server cannot be reached or refuses the address.",
        remedy: "Correct the lead's email with `PATCH /2.0/leads/{id}`, or reply on another channel.",
    }
    LEAD_VEHICLE_NOT_FOUND = NOT_FOUND, "lead_vehicle_not_found" {
        meaning: "The lead is associated with no such vehicle.",
        cause: "The vehicle was never associated with this lead, was taken off, or was deleted.",
        remedy: "List the associations with `GET /2.0/leads/{id}/vehicles`.",
    }
    LEAD_VEHICLE_DUPLICATE = CONFLICT, "lead_vehicle_duplicate" {
        meaning: "The vehicle is already associated with the lead.",
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
    operations.append(&mut lead_vehicles::operations()?);
    operations.append(&mut lead_messages::operations()?);
    operations.append(&mut lead_notes::operations()?);
    operations.append(&mut lead_adf::operations()?);
    Ok(operations)
}

/// List leads
///
/// Newest first.
#[utoipa::path(get, path = "/2.0/leads", tag = "leads", security(("bearer" = ["leads:read"])),
    params(FilterParameters, PageParameters, ListRenderingParameters),
    responses((status = 200, description = "A page of leads", body = PageEnvelope<LeadView<'static>>)))]
async fn list_leads(call: Call) -> Result<Answer, ApiError> {
    let mut query = call.query();
    let filter = filter(&mut query, &call.caller);
    let page = query.page(LIST, 1);
    let rendering = query.rendering(View::Simple);
    let (filter, page, Rendering { view, fields }) = query.finish((filter, page, rendering))?;

    if view == View::Simple && fields.is_none() {
        let read = async move |call: &Call, part: PageRequest| {
            let mut session = call.read().await?;
            Ok(leads::preview_leads(session.as_mut(), &call.caller, &filter, &part).await?)
        };
        return reply::page(call, LIST, page, RecordSize::Small, read, |_, lead, body| {
            LeadPreview::write_to(lead, body);
            Ok(())
        })
        .await;
    }
    let read = async move |call: &Call, part: PageRequest| {
        let mut session = call.read().await?;
        Ok(leads::list_leads(session.as_mut(), &call.caller, &filter, &part).await?)
    };
    let show = move |call: &Call, lead: &Lead, body: &mut Vec<u8>| {
        let shown = LeadView::new(lead, view, &call.caller.business.catalogue);
        reply::append(&shown, fields.as_ref(), body)
    };
    reply::page(call, LIST, page, RecordSize::Large, read, show).await
}

/// Create a lead
#[utoipa::path(post, path = "/2.0/leads", tag = "leads", security(("bearer" = ["leads:write"])), request_body = LeadBody,
    responses((status = 201, description = "The lead that was created", body = Envelope<FullLead<'static>>)))]
async fn create_lead(call: Call) -> Result<Reply, ApiError> {
    let command = validated(&call, LeadBody::read).await;
    call.write(command, async |session: &mut dyn Session, command| {
        let lead = leads::create_lead(session, call.clock().as_ref(), &call.caller, command).await?;
        Ok(shows(Reply::created(&full(&lead, &call))?, &lead))
    })
    .await
}

/// Read a lead
#[utoipa::path(get, path = "/2.0/leads/{id}", tag = "leads", security(("bearer" = ["leads:read"])), params(IdParameter, RenderingParameters),
    responses((status = 200, description = "The lead", body = Envelope<LeadView<'static>>),
        (status = 404, description = "`lead_not_found`")))]
async fn read_lead(call: Call) -> Result<Reply, ApiError> {
    let mut query = call.query();
    let rendering = query.rendering(View::Full);
    let rendering = query.finish(rendering)?;
    let id = call.id(Code::LEAD_NOT_FOUND)?;

    let mut session = call.read().await?;
    let lead = leads::read_lead(session.as_mut(), &call.caller, id).await?;
    let state = RecordState {
        version: lead.version,
        updated: lead.updated,
    };
    let shown = LeadView::new(&lead, rendering.view, &call.caller.business.catalogue);
    Reply::record(&call, state, &rendering, &shown)
}

/// Change a lead
///
/// Only the supplied fields change.
#[utoipa::path(patch, path = "/2.0/leads/{id}", tag = "leads", security(("bearer" = ["leads:write"])), params(IdParameter),
    request_body = LeadBody, responses((status = 200, description = "The lead", body = Envelope<FullLead<'static>>),
        (status = 404, description = "`lead_not_found`")))]
async fn update_lead(call: Call) -> Result<Reply, ApiError> {
    let command = validated(&call, LeadBody::change).await.map(|command| command.fields);
    call.write(command, async |session: &mut dyn Session, command| {
        let id = call.target(Code::LEAD_NOT_FOUND)?;
        let lead = leads::update_lead(session, call.clock().as_ref(), &call.caller, id, command).await?;
        Ok(shows(Reply::ok(&full(&lead, &call))?, &lead))
    })
    .await
}

/// The lead that the request body describes. If the body is invalid, the contact and the vehicle that it names are checked all
/// the same: a caller sees every fault at once.
async fn validated(
    call: &Call,
    read: impl FnOnce(LeadBody, &Business, &mut Form) -> CreateLead,
) -> Result<CreateLead, ApiError> {
    let body: LeadBody = call.body()?;
    let mut form = Form::with_faults(call.unknown.clone());
    let command = read(body, &call.caller.business, &mut form);
    let (contact, vehicle) = (command.fields.contact.flatten(), command.vehicle.clone());
    match form.finish(command) {
        Ok(command) => Ok(command),
        Err(mut errors) => {
            let mut session = call.read().await?;
            errors.extend(leads::validate_vehicle(session.as_mut(), &call.caller, vehicle.as_ref()).await?);
            errors.extend(leads::validate_contact(session.as_mut(), &call.caller, contact).await?);
            Err(errors.into())
        }
    }
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
    params(IdParameter), request_body = StatusBody,
    responses((status = 200, description = "The lead", body = Envelope<FullLead<'static>>),
        (status = 404, description = "`lead_not_found`")))]
async fn set_lead_status(call: Call) -> Result<Reply, ApiError> {
    let command = call.body().and_then(|body: StatusBody| Ok(body.command()?));
    call.write(command, async |session: &mut dyn Session, command| {
        let id = call.target(Code::LEAD_NOT_FOUND)?;
        let lead = leads::set_lead_status(session, call.clock().as_ref(), &call.caller, id, command).await?;
        Ok(shows(Reply::ok(&full(&lead, &call))?, &lead))
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
        .and_then(|body: AssignBody| Ok(body.command(&call.caller.business)?));
    call.write(command, async |session: &mut dyn Session, command| {
        let id = call.target(Code::LEAD_NOT_FOUND)?;
        let lead = leads::assign_lead(session, call.clock().as_ref(), &call.caller, id, command).await?;
        Ok(shows(Reply::ok(&full(&lead, &call))?, &lead))
    })
    .await
}

/// The answer to a change of a lead, known to show it.
pub(super) fn shows(reply: Reply, lead: &Lead) -> Reply {
    reply.showing(lead.content.contact).about(ShownRecord::Lead(lead.id))
}

/// A lead as it is shown in the answer to a write.
pub(super) fn full<'a>(lead: &'a Lead, call: &'a Call) -> FullLead<'a> {
    FullLead::new(lead, &call.caller.business.catalogue)
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
            LeadError::NoAddress => Self::new(
                Code::LEAD_SEND_FAILED,
                "the reply cannot be sent: the lead has no email address",
            ),
            LeadError::SendFailed(_) => Self::new(
                Code::LEAD_SEND_FAILED,
                "the reply could not be sent: the mail server cannot be reached, or does not take the lead's address",
            ),
            LeadError::VersionMismatch(mismatch) => mismatch.into(),
            LeadError::Invalid(errors) => errors.into(),
            LeadError::Store(error) => error.into(),
        }
    }
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "declares the parameter; the path gives it")]
pub(super) struct IdParameter {
    /// Lead id.
    id: i64,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "declares the parameters; filter reads them")]
struct FilterParameters {
    /// Filed under this site.
    site: Option<i64>,
    /// In this state, by code or name.
    #[param(inline)]
    status: Option<LeadStatusParameter>,
    /// Came in on this channel.
    #[param(inline)]
    channel: Option<forecourt_reference::LeadChannel>,
    /// With this reference number.
    reference: Option<i64>,
    /// Sender's name, case-insensitive; % stands for any characters (scope search:wildcard; at most 4 %, and 100 characters).
    #[param(inline)]
    name: Option<Line>,
    /// Sender's email address, case-insensitive; % as in name.
    #[param(inline)]
    email: Option<Line>,
    /// From this landline, in any usual spelling.
    #[param(inline)]
    phone: Option<Line>,
    /// From this mobile, in any usual spelling.
    #[param(inline)]
    mobile: Option<Line>,
    /// Linked to this contact.
    contact: Option<i64>,
    /// Associated with this vehicle.
    vehicle: Option<i64>,
    /// Rated at least so, 1 to 5; unrated leads are left out.
    #[param(minimum = 1, maximum = 5)]
    rating_min: Option<i64>,
    /// Came in between these two moments, both included; an empty one leaves that end open. `created=…` is just this moment.
    #[param(rename = "created[]", inline)]
    created: Option<MomentRange>,
    /// Last changed between these two moments, both included; an empty one leaves that end open. `updated=…` is just this
    /// moment.
    #[param(rename = "updated[]", inline)]
    updated: Option<MomentRange>,
}

fn filter(query: &mut Query<'_>, by: &Caller) -> LeadFilter {
    let country = by.business.country;
    let rating = |text: &str| {
        text.parse()
            .ok()
            .and_then(Rating::new)
            .ok_or("must be a whole number from 1 to 5")
    };
    LeadFilter {
        site: query.integer("site").map(SiteId::new),
        status: query.parsed("status"),
        channel: query.parsed("channel"),
        reference: query.integer("reference"),
        name: query.filter("name", by),
        email: query.filter("email", by).map(TextFilter::for_email),
        phone: query.phone("phone", country),
        mobile: query.phone("mobile", country),
        contact: query.integer("contact").map(ContactId::new),
        vehicle: query.integer("vehicle").map(VehicleId::new),
        rating_min: query.with("rating_min", rating),
        created: query.moments("created"),
        updated: query.moments("updated"),
    }
}

/// A lead to be created or changed. No field is required.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"name": "Ann Lee", "email": "ann@example.com", "mobile": "+447700900123", "type": ["test_drive"], "data": {"message": "Is it still for sale?"}}))]
struct LeadBody {
    /// A site of the business; 0 is none.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    site: Field<i64>,
    /// The channel that the lead came in on; api by default.
    #[serde(default)]
    #[schema(value_type = Option<forecourt_reference::LeadChannel>)]
    channel: Field<Line>,
    /// The channel's own reference, such as a thread id; read as data.channel_id.
    #[serde(default)]
    #[schema(value_type = Option<Line>)]
    channel_id: Field<Line>,
    /// Name.
    #[serde(default)]
    #[schema(value_type = Option<Line>)]
    name: Field<Line>,
    /// Email address.
    #[serde(default)]
    #[schema(value_type = Option<Email>)]
    email: Field<Line>,
    /// Landline, in international format.
    #[serde(default)]
    #[schema(value_type = Option<Line>)]
    phone: Field<Line>,
    /// Mobile, in international format.
    #[serde(default)]
    #[schema(value_type = Option<Line>)]
    mobile: Field<Line>,
    /// An existing contact to link.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    contact: Field<i64>,
    /// What the enquiry is about: an id of /2.0/reference/lead-types, several separated by commas, or an array; email by
    /// default.
    #[serde(default)]
    #[schema(value_type = Option<LeadTypes>)]
    r#type: Field<LeadTypes>,
    /// Free-form detail, at most 64 KiB; a change is merged by top-level member, and null removes one.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    data: Field<Map<String, Value>>,
    /// 0 to 5; better set by the status endpoint after creation.
    #[serde(default)]
    #[schema(value_type = Option<u8>, maximum = 5)]
    status: Field<i64>,
    /// The full set of tags, each a name or {name, checked}; names must exist.
    #[serde(default)]
    #[schema(value_type = Option<TagChoices>)]
    tag: Field<TagChoices>,
    /// Whether to notify the business of a new lead; true by default. On creation only.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    notify: Field<bool>,
    /// The stock vehicle that the enquiry concerns. On creation only.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    vehicle: Field<i64>,
    /// The same by the vehicle's tag. On creation only.
    #[serde(default)]
    #[schema(value_type = Option<Line>)]
    vehicle_tag: Field<Line>,
}

/// What an enquiry is about.
type LeadTypes = Words<LeadType>;

impl LeadBody {
    /// A change ignores the fields that are for creation only, but reports faults in them all the same.
    fn change(self, business: &Business, form: &mut Form) -> CreateLead {
        let CreateLead { fields, .. } = self.read(business, form);
        CreateLead {
            fields,
            ..CreateLead::default()
        }
    }

    fn read(self, business: &Business, form: &mut Form) -> CreateLead {
        let Self {
            site,
            channel,
            channel_id,
            name,
            email,
            phone,
            mobile,
            contact,
            r#type,
            data,
            status,
            tag,
            notify,
            vehicle,
            vehicle_tag,
        } = self;
        let blank = LeadDraft::blank(&business.catalogue);
        let number = |text: &str| Phone::parse(text, business.country);
        let fields = UpdateLead {
            site: form.parsed_or_default("site", site, blank.site, |id| known_site(id, business)),
            channel: form.parsed_or_default("channel", channel, blank.channel, |text| text.parse()),
            channel_id: form.text("channel_id", channel_id),
            name: form.text("name", name).map(Option::unwrap_or_default),
            email: form.meaning("email", email, str::parse::<Email>),
            phone: form.meaning("phone", phone, number),
            mobile: form.meaning("mobile", mobile, number),
            contact: form
                .nullable("contact", contact)
                .map(|contact| contact.map(ContactId::new)),
            types: form.nullable("type", r#type).map(|types| match types {
                Some(types) => types.or(blank.types),
                None => blank.types,
            }),
            data: form.nullable("data", data),
            status: form.parsed_or_default("status", status, blank.status, |code| {
                LeadStatus::from_code(code).ok_or("must be a status code from 0 to 5")
            }),
            tags: lead_tags(form, tag, business, blank.tags),
        };
        CreateLead {
            fields,
            notify: form.optional("notify", notify),
            vehicle: vehicle_choice(form, vehicle, vehicle_tag),
        }
    }
}

/// Reads `vehicle` and `vehicle_tag`, of which there may be one; an empty tag counts as left out.
pub(super) fn vehicle_choice(form: &mut Form, vehicle: Field<i64>, tag: Field<Line>) -> Option<VehicleChoice> {
    let vehicle = form.optional("vehicle", vehicle).map(VehicleId::new);
    let tag = form.text("vehicle_tag", tag).flatten();
    let named = (vehicle, tag.filter(|tag| !tag.is_empty()));
    form.validated("vehicle_tag", Some(named), |(vehicle, tag)| {
        VehicleChoice::of(vehicle, tag)
    })
    .flatten()
}

fn known_site(id: i64, business: &Business) -> Result<SiteId, &'static str> {
    let id = SiteId::new(id);
    business
        .catalogue
        .has_site(id)
        .then_some(id)
        .ok_or("names no site of this business")
}

/// Reads `tag`: names of tags that leads have, each once; null is the default.
fn lead_tags(
    form: &mut Form,
    field: Field<TagChoices>,
    business: &Business,
    default: Vec<TagChoice>,
) -> Option<Vec<TagChoice>> {
    let Some(choices) = form.nullable("tag", field)? else {
        return Some(default);
    };
    for choice in &*choices {
        if business.catalogue.tag(TagResource::Lead, &choice.name).is_none() {
            form.fault(
                "tag",
                format!("names {}, which is no tag of leads", quoted(&choice.name)),
            );
        }
    }
    Some(TagChoice::distinct(choices.into_vec()))
}

/// A move through the workflow. No field is required.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"status": "read"}))]
struct StatusBody {
    /// The status to take: new, new_message, read, replied, closed or junk.
    #[serde(default)]
    #[schema(value_type = Option<Line>)]
    status: Field<Line>,
    /// true makes it junk, false new.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    junk: Field<bool>,
    /// true closes it, false makes it new_message.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    closed: Field<bool>,
    /// The day on which it reopens; ignored without closed: true.
    #[serde(default)]
    #[schema(value_type = Option<Date>)]
    reopen: Field<Line>,
    /// Whether it counts toward reports.
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
        // `junk` and `closed` are orders and no fields of a lead: null is none. Beside one, null is no status either.
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
    /// Staff user ids; an empty array clears.
    #[serde(default)]
    #[schema(schema_with = assign_schema, required)]
    assign: Field<BoundedList<i64>>,
}

fn assign_schema() -> RefOr<Schema> {
    schemas::array(ObjectBuilder::new().schema_type(Type::Integer))
        .description(Some("Staff user ids; an empty array clears."))
        .into()
}

impl AssignBody {
    fn command(self, business: &Business) -> Result<SetAssignment, ValidationErrors> {
        let mut form = Form::new();
        let mut assign: Vec<StaffId> = Vec::new();
        for id in form.required("assign", self.assign).unwrap_or_default() {
            let id = StaffId::new(id);
            if !business.catalogue.has_staff(id) {
                form.fault("assign", format!("names {id}, who is no staff user of this business"));
            } else if !assign.contains(&id) {
                assign.push(id);
            }
        }
        form.finish(SetAssignment { assign })
    }
}

/// A lead as events show it.
fn an_example() -> Value {
    json!({
        "id": 1042,
        "site": 0,
        "channel": "website",
        "reference": 17,
        "name": "Ann Smith",
        "email": "ann@example.com",
        "phone": "",
        "mobile": "+447700900123",
        "contact": null,
        "type": ["test_drive"],
        "status": {"id": 0, "name": "new"},
        "rating": null,
        "summary": null,
        "created": 1_767_225_600,
        "updated": 1_767_225_600,
        "version": 1,
        "session": "",
        "avatar": "",
        "assign": [],
        "tag": [],
        "stat": true,
        "reopen": null,
        "data": {"message": "Is it still there? I would like to drive it on Saturday."},
        "ai": null
    })
}
