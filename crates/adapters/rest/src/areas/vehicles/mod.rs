//! Vehicles over HTTP (contract, "Vehicles"; decisions §7).

mod acquisition;
mod appraisals;
mod channels;
pub(super) mod documents;
mod drives;
mod id;
mod list;
mod media;
mod money;
mod reservations;
mod sales;
mod shown;

use std::cell::RefCell;

use forecourt_accounts::Rules;
use forecourt_dealership::Session;
use forecourt_kernel::{Country, Field, OrEmpty, StaffId, Target, ValidationErrors, VehicleId, integer};
use forecourt_reference::{RecordTags, StockType, TagChoices};
use forecourt_vehicles::{
    self as vehicles, FullVehicle, NewVehicle, NewVehicleData, Registration, SetTags, StatusChoice, TransitionError,
    UpdateVehicle, VehicleDataChange, VehicleError, VehicleView,
};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::{
    ToSchema,
    openapi::{
        RefOr, Schema,
        schema::{SchemaType, Type},
    },
};

use self::{
    id::IdParameter,
    shown::{shown, write_vehicle},
};
use crate::{
    areas::{Area, EventRecord},
    body::Form,
    call::Call,
    code::{Code, codes},
    conditional::RecordState,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::{FieldsParameter, RenderingParameters},
    reply::{Deleted, Envelope, Reply},
    schemas,
    validated::ParsedBody,
};

pub(super) const AREA: Area = Area {
    tag: "vehicles",
    about: "The stock and what else stands in the yard: records, tags, and where they are advertised",
    operations,
    codes: CODES,
    records: &[EventRecord {
        resource: "vehicle",
        schema: "Vehicle",
        example: forecourt_vehicles::example_vehicle,
    }],
};

codes! {
    CODES;
    VEHICLE_NOT_FOUND = NOT_FOUND, "vehicle_not_found" {
        meaning: "The business has no such vehicle.",
        cause: "The id is wrong, the vehicle was deleted, or it belongs to another business.",
        remedy: "Look the vehicle up with `GET /2.0/vehicles`, and forget ids that answer 404.",
    }
    VEHICLE_DOCUMENT_NOT_FOUND = NOT_FOUND, "vehicle_document_not_found" {
        meaning: "The vehicle has no such document.",
        cause: "The id is wrong, the document was deleted, or it belongs to another vehicle.",
        remedy: "List the documents with `GET /2.0/vehicles/{id}/documents`.",
    }
    VEHICLE_MEDIA_NOT_FOUND = NOT_FOUND, "vehicle_media_not_found" {
        meaning: "The vehicle has no such photo or video.",
        cause: "The id is wrong, or it was removed.",
        remedy: "List them with `GET /2.0/vehicles/{id}/media`.",
    }
    VEHICLE_MEDIA_UPLOAD_FAILED = UNPROCESSABLE_ENTITY, "vehicle_media_upload_failed" {
        meaning: "The picture could not be processed.",
        cause: "It is damaged, cut short, or has too many pixels.",
        remedy: "Open it in another program; if that can show it, save it anew as JPEG and send that.",
    }
    VEHICLE_DRIVE_NOT_FOUND = NOT_FOUND, "vehicle_drive_not_found" {
        meaning: "The vehicle has no such test drive.",
        cause: "The code is wrong, or it is one of another vehicle's drives.",
        remedy: "List the drives with `GET /2.0/vehicles/{id}/test-drives`.",
    }
    VEHICLE_DRIVE_ACTIVE = CONFLICT, "vehicle_drive_active" {
        meaning: "A test drive of the vehicle is active already.",
        cause: "The last one was not ended.",
        remedy: "Read it with `GET /2.0/vehicles/{id}/test-drives/active`, and end it first.",
    }
    VEHICLE_DRIVE_NOT_ACTIVE = CONFLICT, "vehicle_drive_not_active" {
        meaning: "No test drive of the vehicle is active.",
        cause: "None was started, or it has ended.",
        remedy: "Start one with `POST /2.0/vehicles/{id}/test-drives`.",
    }
    VEHICLE_DRIVE_SIGNED = CONFLICT, "vehicle_drive_signed" {
        meaning: "The terms of the test drive are signed already.",
        cause: "A drive is signed once.",
        remedy: "Read the signature with `GET /2.0/vehicles/{id}/test-drives/active`. For other terms end the drive, and start another one.",
    }
    VEHICLE_DRIVE_PHOTO_FAILED = UNPROCESSABLE_ENTITY, "vehicle_drive_photo_failed" {
        meaning: "The photo of the test drive could not be processed.",
        cause: "It is damaged, cut short, or has too many pixels.",
        remedy: "Take it anew, or save it anew as JPEG and send that.",
    }
    VEHICLE_DRIVE_EMAIL_FAILED = BAD_GATEWAY, "vehicle_drive_email_failed" {
        meaning: "The mail with the terms could not be sent.",
        cause: "The mail server could not be reached or refused the mail, or the business has sent as many mails as it may in a UTC day.",
        remedy: "Try again after a while. If it keeps failing, ask the operator of the installation to look at the mail settings.",
    }
    VEHICLE_SALE_INVOICED = CONFLICT, "vehicle_sale_invoiced" {
        meaning: "The sale of the vehicle has a live invoice.",
        cause: "A sale is undone after its invoice; `details.number` names it.",
        remedy: "Send `?credit=true` with the key's scope invoices:write, which credits the invoice in full first.",
    }
    VEHICLE_ALREADY_ACQUIRED = CONFLICT, "vehicle_already_acquired" {
        meaning: "The vehicle is acquired already.",
        cause: "A vehicle has one acquisition at a time.",
        remedy: "Read it with `GET /2.0/vehicles/{id}/acquisition`, or undo it first.",
    }
    VEHICLE_NOT_ACQUIRED = CONFLICT, "vehicle_not_acquired" {
        meaning: "The vehicle has no acquisition.",
        cause: "It was never acquired, or its acquisition was undone.",
        remedy: "Acquire it with `POST /2.0/vehicles/{id}/acquisition`.",
    }
    VEHICLE_ACQUISITION_NOT_ALLOWED = CONFLICT, "vehicle_acquisition_not_allowed" {
        meaning: "Vehicles of this stock type are not acquired.",
        cause: "Only vehicles in stock, to order and for courtesy are bought by the dealership.",
        remedy: "Accept an appraisal into stock first, or make a vehicle of another type.",
    }
    VEHICLE_COSTS_FULL = UNPROCESSABLE_ENTITY, "vehicle_costs_full" {
        meaning: "The vehicle cannot hold more purchase costs.",
        cause: "A vehicle holds at most 50 rows in `data.stock.purchase_cost_data`.",
        remedy: "Combine rows, or remove some.",
    }
    VEHICLE_STATUS_PROCESS_REQUIRED = CONFLICT, "vehicle_status_process_required" {
        meaning: "The status belongs to the reserve or sale process.",
        cause: "Reserved, sold and complete cannot be set directly.",
        remedy: "Use the operations of that process.",
    }
    VEHICLE_STATUS_TRANSITION_INVALID = CONFLICT, "vehicle_status_transition_invalid" {
        meaning: "The vehicle's status does not allow it.",
        cause: "The move is not among those that its stock type allows, or nobody drives a vehicle of its type and status: a draft, a sold one, a customer's or an appraisal.",
        remedy: "Read the vehicle's present status, and take the steps that lead on from it.",
    }
    VEHICLE_PUBLISH_INCOMPLETE = CONFLICT, "vehicle_publish_incomplete" {
        meaning: "The vehicle lacks what publishing needs.",
        cause: "The fields in `details.missing` are empty: a published vehicle needs its class, make, model, and a price or price on application.",
        remedy: "Fill them in with `PATCH /2.0/vehicles/{id}`; `GET /2.0/vehicles/{id}/publish-check` says beforehand what is missing.",
    }
    VEHICLE_PUBLISH_LIMIT_REACHED = CONFLICT, "vehicle_publish_limit_reached" {
        meaning: "The business may not have more vehicles for sale.",
        cause: "For-sale and reserved vehicles have reached the business's limit.",
        remedy: "Take another vehicle off sale first, or have the limit raised.",
    }
    VEHICLE_NOT_RESERVED = CONFLICT, "vehicle_not_reserved" {
        meaning: "The vehicle has no reservation.",
        cause: "It was never reserved, its reservation was cancelled, or it ended with the sale.",
        remedy: "Read `GET /2.0/vehicles/{id}/reserve` first.",
    }
    VEHICLE_ALREADY_RESERVED = CONFLICT, "vehicle_already_reserved" {
        meaning: "The vehicle is reserved already.",
        cause: "Someone else was first, or the request was sent twice without an Idempotency-Key.",
        remedy: "Read `GET /2.0/vehicles/{id}/reserve`; cancel that reservation if the vehicle is to be held for someone else.",
    }
    VEHICLE_RESERVE_INVALID_STATUS = CONFLICT, "vehicle_reserve_invalid_status" {
        meaning: "The vehicle cannot be reserved in its status.",
        cause: "It is not for sale: a draft, sold, or no stock vehicle.",
        remedy: "Publish it with `PUT /2.0/vehicles/{id}/channels`, or undo its sale.",
    }
    VEHICLE_NOT_SOLD = CONFLICT, "vehicle_not_sold" {
        meaning: "The vehicle is not sold.",
        cause: "It can neither be handed over nor have its sale undone.",
        remedy: "Sell it with `POST /2.0/vehicles/{id}/sale`.",
    }
    VEHICLE_NOT_APPRAISAL = CONFLICT, "vehicle_not_appraisal" {
        meaning: "The operation is for vehicles under appraisal.",
        cause: "The vehicle is of another stock type.",
        remedy: "Create the vehicle with `type` appraisal.",
    }
    VEHICLE_APPRAISAL_INVALID_STATUS = CONFLICT, "vehicle_appraisal_invalid_status" {
        meaning: "The appraisal is at another stage.",
        cause: "An offer is made once, and accepted or rejected once.",
        remedy: "Read the vehicle's `status`: added waits for an offer, appraised for a decision.",
    }
    VEHICLE_APPRAISAL_INCOMPLETE = CONFLICT, "vehicle_appraisal_incomplete" {
        meaning: "The vehicle lacks what stock needs.",
        cause: "The fields in `details.missing` are empty: stock needs a class, a make and a model.",
        remedy: "Fill them in with `PATCH /2.0/vehicles/{id}`, and accept the offer again.",
    }
}

fn operations() -> Declared<Vec<Operation>> {
    let mut operations = operations![
        self::<__path_create_vehicle> create_vehicle,
        self::<__path_read_vehicle> read_vehicle,
        self::<__path_update_vehicle> update_vehicle,
        self::<__path_delete_vehicle> delete_vehicle,
        self::<__path_set_vehicle_status> set_vehicle_status,
        self::<__path_read_vehicle_tags> read_vehicle_tags,
        self::<__path_set_vehicle_tags> set_vehicle_tags,
    ];
    operations.append(&mut list::operations()?);
    operations.append(&mut channels::operations()?);
    operations.append(&mut reservations::operations()?);
    operations.append(&mut sales::operations()?);
    operations.append(&mut acquisition::operations()?);
    operations.append(&mut appraisals::operations()?);
    operations.append(&mut documents::operations()?);
    operations.append(&mut media::operations()?);
    operations.append(&mut drives::operations()?);
    Ok(operations)
}

/// Create a vehicle
#[utoipa::path(post, path = "/2.0/vehicles", tag = "vehicles", security(("bearer" = ["vehicles:write"])),
    request_body = NewVehicleBody,
    responses((status = 201, description = "The vehicle that was created", body = Envelope<FullVehicle>),
        (status = 422, description = "`validation_failed`, `vehicle_costs_full`")))]
async fn create_vehicle(call: Call) -> Result<Reply, ApiError> {
    let read = call.read_body(|body: NewVehicleBody, rules| Ok(body.read(rules))).await;
    let command = call
        .validated(read, async |session, command| {
            let NewVehicle {
                owner, parent, data, ..
            } = command;
            Ok(vehicles::validate_references(session, &call.caller, *owner, *parent, data).await?)
        })
        .await;
    write_vehicle(&call, command, async |session: &mut dyn Session, command| {
        let vehicle =
            vehicles::create_vehicle(session, call.clock().as_ref(), &call.caller, command.into_inner()).await?;
        call.created(&vehicle)
    })
    .await
}

/// Read a vehicle
#[utoipa::path(get, path = "/2.0/vehicles/{id}", tag = "vehicles", security(("bearer" = ["vehicles:read"])),
    params(IdParameter, RenderingParameters),
    responses((status = 200, description = "The vehicle", body = Envelope<VehicleView<'static>>),
        (status = 404, description = "`vehicle_not_found`")))]
async fn read_vehicle(call: Call) -> Result<Reply, ApiError> {
    let rendering = call.rendering()?;
    let id = call.id(Code::VEHICLE_NOT_FOUND)?;

    let mut session = call.read().await?;
    let vehicle = vehicles::read_vehicle(session.as_mut(), &call.caller, id).await?;
    let state = RecordState {
        version: vehicle.version,
        updated: vehicle.updated,
    };
    call.record(state, &rendering, &shown(&vehicle, &call, rendering.view))
}

/// Change a vehicle
///
/// Only the supplied fields change, and null clears them. Unknown and read-only fields of `data` are refused. The fields that
/// publishing needs cannot be cleared while the vehicle is for sale or reserved.
#[utoipa::path(patch, path = "/2.0/vehicles/{id}", tag = "vehicles", security(("bearer" = ["vehicles:write"])),
    params(IdParameter), request_body(content = VehicleChangesBody, extensions(("x-rules" = json!({
        "if": {"properties": {"registration": false, "country": false, "owner": false, "parent": false}},
        "then": {"required": ["data"], "properties": {"data": {"type": "object"}}},
    })))),
    responses((status = 200, description = "The vehicle", body = Envelope<FullVehicle>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_publish_incomplete`, whose `details.missing` are the fields that it would lack"),
        (status = 422, description = "`validation_failed`, `vehicle_costs_full`")))]
async fn update_vehicle(call: Call) -> Result<Reply, ApiError> {
    let read = call
        .read_body(|body: VehicleChangesBody, rules| Ok(body.read(rules)))
        .await;
    let command = call
        .validated(read, async |session, command| {
            let (owner, parent) = (command.owner.flatten(), command.parent.flatten());
            Ok(vehicles::validate_references(session, &call.caller, owner, parent, &command.data).await?)
        })
        .await;
    write_vehicle(&call, command, async |session: &mut dyn Session, command| {
        let id = call.target(Code::VEHICLE_NOT_FOUND)?;
        let vehicle =
            vehicles::update_vehicle(session, call.clock().as_ref(), &call.caller, id, command.into_inner()).await?;
        call.ok(&vehicle)
    })
    .await
}

/// Delete a vehicle
///
/// Possible in every state.
#[utoipa::path(delete, path = "/2.0/vehicles/{id}", tag = "vehicles", security(("bearer" = ["vehicles:delete"])),
    params(IdParameter),
    responses((status = 200, description = "The vehicle is gone", body = Envelope<Deleted>),
        (status = 404, description = "`vehicle_not_found`")))]
async fn delete_vehicle(call: Call) -> Result<Reply, ApiError> {
    let gone = RefCell::new(Vec::new());
    let reply = call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let vehicle: Target<VehicleId> = call.target(Code::VEHICLE_NOT_FOUND)?;
        let id = vehicle.id;
        let files = forecourt_sales::delete_vehicle(session, call.clock().as_ref(), &call.caller, vehicle).await?;
        gone.replace(files);
        Reply::deleted(id.get())
    });
    let reply = reply.await?;
    call.discard(&gone.into_inner()).await;
    Ok(reply)
}

/// Set the state of a vehicle
///
/// Only states that neither publishing, the reservation, the sale nor the appraisal owns can be set. A vehicle set back to
/// draft is taken off its channels.
#[utoipa::path(patch, path = "/2.0/vehicles/{id}/status", tag = "vehicles", security(("bearer" = ["vehicles:write"])),
    params(IdParameter), request_body = VehicleStatusBody,
    responses((status = 200, description = "The vehicle", body = Envelope<FullVehicle>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_status_process_required`, `vehicle_status_transition_invalid`")))]
async fn set_vehicle_status(call: Call) -> Result<Reply, ApiError> {
    let choice = call.body().await.and_then(|body: VehicleStatusBody| Ok(body.choice()?));
    write_vehicle(&call, choice, async |session: &mut dyn Session, choice| {
        let id = call.target(Code::VEHICLE_NOT_FOUND)?;
        let vehicle = vehicles::set_vehicle_status(session, call.clock().as_ref(), &call.caller, id, choice).await?;
        call.ok(&vehicle)
    })
    .await
}

/// Read a vehicle's tags
///
/// The tags that it carries, and those that vehicles of its stock type can carry.
#[utoipa::path(get, path = "/2.0/vehicles/{id}/tags", tag = "vehicles", security(("bearer" = ["vehicles:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "The tags", body = Envelope<RecordTags<'static>>),
        (status = 404, description = "`vehicle_not_found`")))]
async fn read_vehicle_tags(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id = call.id(Code::VEHICLE_NOT_FOUND)?;
    let mut session = call.read().await?;
    let vehicle = vehicles::read_vehicle(session.as_mut(), &call.caller, id).await?;
    Reply::projected(&vehicle.tags(&call.caller.business.catalogue), fields.as_ref())
}

/// Replace a vehicle's tags
#[utoipa::path(put, path = "/2.0/vehicles/{id}/tags", tag = "vehicles", security(("bearer" = ["vehicles:write"])),
    params(IdParameter), request_body = VehicleTagsBody,
    responses((status = 200, description = "The tags", body = Envelope<RecordTags<'static>>),
        (status = 404, description = "`vehicle_not_found`")))]
async fn set_vehicle_tags(call: Call) -> Result<Reply, ApiError> {
    let command = call.body().await.and_then(|body: VehicleTagsBody| Ok(body.command()?));
    call.write(command, async |session: &mut dyn Session, command| {
        let id = call.target(Code::VEHICLE_NOT_FOUND)?;
        let vehicle = vehicles::set_vehicle_tags(session, call.clock().as_ref(), &call.caller, id, command).await?;
        Reply::ok(&vehicle.tags(&call.caller.business.catalogue))
    })
    .await
}

impl From<VehicleError> for ApiError {
    fn from(error: VehicleError) -> Self {
        let message = error.to_string();
        match error {
            VehicleError::NotFound(_) => Self::new(Code::VEHICLE_NOT_FOUND, "this business has no such vehicle"),
            VehicleError::VersionMismatch(mismatch) => mismatch.into(),
            VehicleError::Invalid(errors) => errors.into(),
            VehicleError::CostsFull => Self::new(Code::VEHICLE_COSTS_FULL, message),
            VehicleError::Transition(TransitionError::ProcessRequired) => {
                Self::new(Code::VEHICLE_STATUS_PROCESS_REQUIRED, message)
            }
            VehicleError::Transition(TransitionError::TransitionInvalid) => {
                Self::new(Code::VEHICLE_STATUS_TRANSITION_INVALID, message)
            }
            VehicleError::PublishIncomplete(missing) => {
                Self::with_details(Code::VEHICLE_PUBLISH_INCOMPLETE, message, json!({"missing": missing}))
            }
            VehicleError::PublishLimitReached(_) => Self::new(Code::VEHICLE_PUBLISH_LIMIT_REACHED, message),
            VehicleError::NotReserved => Self::new(Code::VEHICLE_NOT_RESERVED, message),
            VehicleError::AlreadyReserved => Self::new(Code::VEHICLE_ALREADY_RESERVED, message),
            VehicleError::ReserveInvalidStatus => Self::new(Code::VEHICLE_RESERVE_INVALID_STATUS, message),
            VehicleError::NotSold => Self::new(Code::VEHICLE_NOT_SOLD, message),
            VehicleError::SaleInvoiced(number) => {
                Self::with_details(Code::VEHICLE_SALE_INVOICED, message, json!({"number": number}))
            }
            VehicleError::AlreadyAcquired => Self::new(Code::VEHICLE_ALREADY_ACQUIRED, message),
            VehicleError::NotAcquired => Self::new(Code::VEHICLE_NOT_ACQUIRED, message),
            VehicleError::AcquisitionNotAllowed => Self::new(Code::VEHICLE_ACQUISITION_NOT_ALLOWED, message),
            VehicleError::NotAppraisal => Self::new(Code::VEHICLE_NOT_APPRAISAL, message),
            VehicleError::AppraisalInvalidStatus => Self::new(Code::VEHICLE_APPRAISAL_INVALID_STATUS, message),
            VehicleError::AppraisalIncomplete(missing) => {
                Self::with_details(Code::VEHICLE_APPRAISAL_INCOMPLETE, message, json!({"missing": missing}))
            }
            VehicleError::DocumentNotFound(_) => {
                Self::new(Code::VEHICLE_DOCUMENT_NOT_FOUND, "this vehicle has no such document")
            }
            VehicleError::MediumNotFound => Self::new(Code::VEHICLE_MEDIA_NOT_FOUND, message),
            VehicleError::DriveNotFound => Self::new(Code::VEHICLE_DRIVE_NOT_FOUND, message),
            VehicleError::DriveSigned => Self::new(Code::VEHICLE_DRIVE_SIGNED, message),
            VehicleError::DriveActive => Self::new(Code::VEHICLE_DRIVE_ACTIVE, message),
            VehicleError::DriveNotActive => Self::new(Code::VEHICLE_DRIVE_NOT_ACTIVE, message),
            VehicleError::Store(error) => error.into(),
        }
    }
}

/// A vehicle to be created. No field is required.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"registration": "AB12 CDE", "data": {"vehicle": {"type": "Car", "make": "Ford", "model": "Focus"}, "stock": {"price_website": 9995}}}))]
struct NewVehicleBody {
    /// Stock type: in-stock (default), to-order, customer, courtesy or appraisal, or its key.
    #[serde(default)]
    #[schema(value_type = Option<schemas::StockTypeParameter>, inline)]
    r#type: Field<String>,
    /// Registration mark.
    #[serde(default)]
    #[schema(value_type = Option<schemas::RegistrationMark>, inline)]
    registration: Field<String>,
    /// Two-letter ISO code; the business's country by default.
    #[serde(default)]
    #[schema(value_type = Option<Country>, inline)]
    country: Field<String>,
    /// Staff user id of the assignee.
    #[serde(default)]
    #[schema(schema_with = owner_schema)]
    owner: Field<Value>,
    /// Vehicle id of the record that it is a variant of.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    parent: Field<i64>,
    /// The vehicle's fields, by section.
    #[serde(default)]
    #[schema(value_type = Option<NewVehicleData>)]
    data: Field<Value>,
}

/// A country, or the empty text.
type CountryText = OrEmpty<Country>;

fn owner_schema() -> RefOr<Schema> {
    let kinds = SchemaType::from_iter([Type::Integer, Type::String, Type::Null]);
    let about = "Staff user id of who it is assigned to.";
    let id = schemas::line().pattern(Some(r"^\s*$|^\d{1,19}$"));
    id.schema_type(kinds).description(Some(about)).into()
}

impl NewVehicleBody {
    fn read(self, rules: &Rules<'_>) -> ParsedBody<NewVehicle> {
        let Self {
            r#type,
            registration,
            country,
            owner,
            parent,
            data,
        } = self;
        let mut form = Form::new();
        let kind = form.optional("type", r#type);
        let kind = form.validated("type", kind, |kind| kind.parse::<StockType>());
        let registration = form
            .meaning("registration", registration, str::parse::<Registration>)
            .flatten();
        let country = form.optional("country", country);
        let country = form.validated("country", country, |country| country.parse::<Country>());
        let owner = form.optional("owner", owner);
        let owner = form.validated("owner", owner, staff_id).flatten();
        let parent = form.optional("parent", parent).map(VehicleId::new);
        let sent = form.optional("data", data);
        let mut found = form.finish(()).err().unwrap_or_default();
        let data = sent.map_or_else(Box::default, |sent| {
            let (data, faults) = vehicles::validate_data(&sent, rules.business, rules.now, true);
            found.extend(faults);
            data
        });
        let command = NewVehicle {
            kind: kind.unwrap_or(StockType::InStock),
            registration,
            country,
            owner,
            parent,
            data,
        };
        ParsedBody::new(command, found)
    }
}

/// Reads the id of a staff user, as a number or as vehicles show it; the empty text clears it.
fn staff_id(sent: Value) -> Result<Option<StaffId>, &'static str> {
    const MUST: &str = "must be the id of a staff user";
    match sent {
        Value::Number(_) => integer(&sent).map(StaffId::new).map(Some).ok_or(MUST),
        Value::Null => Ok(None),
        Value::String(text) if text.trim().is_empty() => Ok(None),
        Value::String(text) => text.parse().map(Some).map_err(|_| MUST),
        _ => Err(MUST),
    }
}

/// A change of a vehicle: at least one member.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"data": {"stock": {"price_website": 9495}}}))]
struct VehicleChangesBody {
    /// Registration mark; null clears it.
    #[serde(default)]
    #[schema(value_type = Option<schemas::RegistrationMark>, inline)]
    registration: Field<String>,
    /// Two-letter ISO code; null makes it the business's country.
    #[serde(default)]
    #[schema(value_type = Option<CountryText>, inline)]
    country: Field<String>,
    /// Staff user id of the assignee; null for none.
    #[serde(default)]
    #[schema(schema_with = owner_schema)]
    owner: Field<Value>,
    /// Vehicle id of the record that it is a variant of; null for none.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    parent: Field<i64>,
    /// The fields of its data that change, by section.
    #[serde(default)]
    #[schema(value_type = VehicleDataChange)]
    data: Field<Value>,
}

impl VehicleChangesBody {
    fn read(self, rules: &Rules<'_>) -> ParsedBody<UpdateVehicle> {
        let Self {
            registration,
            country,
            owner,
            parent,
            data,
        } = self;
        let mut form = Form::new();
        let needs_data = matches!(
            (&registration, &country, &owner, &parent),
            (Field::Absent, Field::Absent, Field::Absent, Field::Absent)
        );
        let registration = form.meaning("registration", registration, str::parse::<Registration>);
        let country = form.meaning("country", country, str::parse::<Country>);
        let owner = form.nullable("owner", owner).map(Option::unwrap_or_default);
        let owner = form.validated("owner", owner, staff_id);
        let parent = form.nullable("parent", parent);
        let sent = if needs_data {
            form.required("data", data)
        } else {
            form.present("data", data)
        };
        let mut found = form.finish(()).err().unwrap_or_default();
        let data = sent.map_or_else(Box::default, |sent| {
            let (data, faults) = vehicles::validate_data(&sent, rules.business, rules.now, false);
            found.extend(faults);
            data
        });
        let command = UpdateVehicle {
            registration,
            country,
            owner,
            parent: parent.map(|parent| parent.map(VehicleId::new)),
            data,
        };
        ParsedBody::new(command, found)
    }
}

/// The new state of a vehicle.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"status": 1}))]
struct VehicleStatusBody {
    /// Its id, 1 to 4, or its name.
    #[serde(default)]
    #[schema(schema_with = schemas::vehicle_status, required)]
    status: Field<Value>,
}

impl VehicleStatusBody {
    fn choice(self) -> Result<StatusChoice, ValidationErrors> {
        let Self { status } = self;
        let mut form = Form::new();
        let status = form.required("status", status);
        let choice = form.validated("status", status, |status| {
            let text = match (integer(&status), status) {
                (Some(id), _) => id.to_string(),
                (None, Value::String(name)) => name,
                _ => return Err("must be the id or the name of a status".to_owned()),
            };
            text.parse::<StatusChoice>().map_err(|error| error.to_string())
        });
        form.finish_found(choice)
    }
}

/// The new tags of a vehicle.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"tags": ["Ready"]}))]
struct VehicleTagsBody {
    /// The full set, each a name or {name, checked}; names must be available for the vehicle's stock type.
    #[serde(default)]
    #[schema(value_type = TagChoices, required)]
    tags: Field<TagChoices>,
}

impl VehicleTagsBody {
    fn command(self) -> Result<SetTags, ValidationErrors> {
        let Self { tags } = self;
        let mut form = Form::new();
        let tags = form.required("tags", tags).map(TagChoices::into_vec);
        form.finish_found(tags.map(|tags| SetTags { tags }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use forecourt_kernel::{Scope, ScopeSet, Timestamp};

    use super::*;
    use crate::{body, testing::a_caller};

    const NOW: Timestamp = Timestamp::from_epoch_seconds(1_767_225_600);

    fn named(errors: &ValidationErrors) -> Vec<&str> {
        errors.as_slice().iter().map(|error| error.field.as_str()).collect()
    }

    fn new_vehicle(body: &Value) -> (NewVehicle, ValidationErrors) {
        let body: NewVehicleBody = body::parse(body.to_string().as_bytes()).unwrap();
        let business = &a_caller(Scope::VehiclesWrite).business;
        let ParsedBody { command, errors } = body.read(&Rules { business, now: NOW });
        (command.unwrap(), errors)
    }

    #[test]
    fn a_vehicle_may_be_made_of_nothing() {
        for body in [
            json!({}),
            json!({"type": null, "owner": "", "data": null, "unknown": 1}),
            json!({"data": {}}),
        ] {
            let (vehicle, found) = new_vehicle(&body);
            assert!(found.is_empty(), "{found}");
            assert_eq!((vehicle.kind, vehicle.owner), (StockType::InStock, None));
        }
        let (vehicle, found) = new_vehicle(&json!({"type": "u", "owner": "7", "country": "fr", "parent": 3}));
        assert!(found.is_empty(), "{found}");
        assert_eq!(
            (vehicle.kind, vehicle.owner),
            (StockType::Customer, Some(StaffId::new(7)))
        );
        assert_eq!(
            (vehicle.country, vehicle.parent),
            ("FR".parse().ok(), Some(VehicleId::new(3)))
        );
    }

    #[test]
    fn shape_and_data_are_reported_together() {
        let (_, found) = new_vehicle(&json!({
            "type": "", "registration": "", "country": " ", "owner": [], "parent": "3",
            "data": {"vehicle": {"seats": -1, "wings": 2}, "unknown": 1},
        }));
        let fields = [
            "type",
            "country",
            "owner",
            "parent",
            "data.vehicle.seats",
            "data.vehicle.wings",
            "data.unknown",
        ];
        assert_eq!(BTreeSet::from_iter(named(&found)), BTreeSet::from(fields));
        assert_eq!(named(&new_vehicle(&json!({"data": []})).1), ["data"]);
    }

    #[test]
    fn a_status_is_an_id_or_a_name() {
        let choice = |status: Value| {
            VehicleStatusBody {
                status: Field::Value(status),
            }
            .choice()
        };
        assert_eq!(choice(json!(2)), Ok(StatusChoice::Id(2)));
        assert_eq!(choice(json!("in use")), Ok("in use".parse().unwrap()));
        for bad in [
            json!(0),
            json!(5),
            json!(1.5),
            json!("For Sale"),
            json!(true),
            json!([]),
        ] {
            assert_eq!(named(&choice(bad.clone()).unwrap_err()), ["status"], "{bad}");
        }
        assert_eq!(
            named(&VehicleStatusBody { status: Field::Absent }.choice().unwrap_err()),
            ["status"]
        );
    }

    #[test]
    fn a_retry_shows_a_key_no_more_than_it_may_see() {
        let stored =
            json!({"success": true, "data": {"id": 1, "data": {"stock": {"vin": "", "purchase_cost": "9.00"}}}});
        let reply = |scopes: ScopeSet| {
            let reply = Reply::replay(forecourt_accounts::StoredResponse {
                status: 200,
                body: stored.to_string().into(),
            });
            let reply = reply.withholding(|vehicle| vehicles::project(vehicle, scopes));
            reply.unwrap().body
        };
        assert_eq!(reply(Scope::VehiclePricingRead.into()), stored.to_string());
        let expected = json!({"success": true, "data": {"id": 1, "data": {"stock": {"vin": ""}}}});
        assert_eq!(reply(Scope::VehiclesWrite.into()), expected.to_string());
    }

    #[test]
    fn what_is_missing_is_reported() {
        let refusal = ApiError::from(VehicleError::PublishIncomplete(vec!["data.vehicle.make"])).into_refusal();
        assert_eq!(refusal.code, Code::VEHICLE_PUBLISH_INCOMPLETE);
        assert_eq!(refusal.details, Some(json!({"missing": ["data.vehicle.make"]})));
    }
}
