//! Test drives over HTTP (contract, "Vehicles"; decisions §7).

use std::time::Duration;

use forecourt_accounts::Rules;
use forecourt_dealership::Session;
use forecourt_files::FileKind;
use forecourt_kernel::{
    BoundedText, BoxError, ContactId, Date, Field, Line, LongText, Target, ValidationErrors, VehicleId, View,
    bounds::MAX_LINE_CHARS,
};
use forecourt_reference::LocationRef;
use forecourt_vehicles::{
    self as vehicles, AddDrivePhoto, DriveCode, DriveEmailView, DrivePhotoView, SignDrive, SignatureImage, StartDrive,
    TestDrive, TestDriveView, TimeOfDay,
};
use serde::Deserialize;
use utoipa::{
    ToSchema,
    openapi::{
        RefOr, Schema,
        schema::{ObjectBuilder, SchemaType, Type},
    },
};

use super::id::IdParameter;
use crate::{
    body::Form,
    call::{Call, Sender},
    code::Code,
    detach::run_to_completion,
    error::ApiError,
    extraction::UploadedFile,
    file_body::{self, FileBody, files_of},
    list::{PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{FieldsParameter, ListRenderingParameters, PageParameters, parameters},
    record::OfContact,
    reply::{Answer, Created, Envelope, Reply},
    schemas,
    upload::Upload,
    validated::ParsedBody,
    write::Prepared,
};

/// The endings that photos and videos have, as callers write them.
const EXTENSIONS: &[&str] = &["jpg", "jpeg", "png", "webp", "mp4", "mov"];
/// The time within which a mail must be sent: less than a request may take.
const SEND_TIMEOUT: Duration = Duration::from_secs(25);

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_test_drives> list_test_drives,
        self::<__path_read_active_test_drive> read_active_test_drive,
        self::<__path_read_test_drive> read_test_drive,
        self::<__path_start_test_drive> start_test_drive { created: Created::Code },
        self::<__path_end_test_drive> end_test_drive,
        self::<__path_sign_test_drive> sign_test_drive,
        self::<__path_email_test_drive> email_test_drive,
        self::<__path_add_drive_photo> add_drive_photo { upload: Some(Upload::Media), created: Created::Unreadable },
    ])
}

/// Returns the answer with a drive in the full view, marked as showing its contact.
fn shown(
    call: &Call,
    drive: &TestDrive,
    answer: impl FnOnce(&OfContact<TestDriveView<'_>>) -> Result<Reply, ApiError>,
) -> Result<Reply, ApiError> {
    let addresses = call.signed_addresses();
    answer(&OfContact {
        contact: drive.content.contact,
        view: TestDriveView::new(drive, &call.caller, &addresses, View::Full),
    })
}

/// List a vehicle's test drives
///
/// Newest first. In the simple view they have no image of the signature.
#[utoipa::path(get, path = "/2.0/vehicles/{id}/test-drives", tag = "vehicles", security(("bearer" = ["vehicle-drives:read"])),
    params(IdParameter, PageParameters, ListRenderingParameters),
    responses((status = 200, description = "A page of test drives", body = PageEnvelope<TestDriveView<'static>>),
        (status = 404, description = "`vehicle_not_found`")))]
async fn list_test_drives(call: Call) -> Result<Answer, ApiError> {
    let list = call.list(call.list_within("vehicle-drives"), View::Simple)?;
    let id = call.id(Code::VEHICLE_NOT_FOUND)?;
    let view = list.view;
    list.answer(
        call,
        RecordSize::Large,
        async move |session, call, page| vehicles::list_drives(session, &call.caller, id, page, view).await,
        |item, drive| {
            let addresses = item.call.signed_addresses();
            item.show(&TestDriveView::new(drive, &item.call.caller, &addresses, item.view))
        },
    )
    .await
}

/// Read a vehicle's active test drive
#[utoipa::path(get, path = "/2.0/vehicles/{id}/test-drives/active", tag = "vehicles", security(("bearer" = ["vehicle-drives:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "The drive", body = Envelope<TestDriveView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_drive_not_active`")))]
async fn read_active_test_drive(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id = call.id(Code::VEHICLE_NOT_FOUND)?;
    let mut session = call.read().await?;
    let drive = vehicles::read_active_drive(session.as_mut(), &call.caller, id).await?;
    shown(&call, &drive, |drive| Reply::projected(&drive.view, fields.as_ref()))
}

/// Read a test drive of a vehicle
#[utoipa::path(get, path = "/2.0/vehicles/{id}/test-drives/{code}", tag = "vehicles", security(("bearer" = ["vehicle-drives:read"])),
    params(IdParameter, CodeParameter, FieldsParameter),
    responses((status = 200, description = "The drive", body = Envelope<TestDriveView<'static>>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_drive_not_found`")))]
async fn read_test_drive(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id = call.id(Code::VEHICLE_NOT_FOUND)?;
    let mut session = call.read().await?;
    let code: DriveCode = match call.second_id(Code::VEHICLE_DRIVE_NOT_FOUND) {
        Ok(code) => code,
        Err(absent) => {
            // A missing vehicle is reported before a missing drive.
            vehicles::read_vehicle(session.as_mut(), &call.caller, id).await?;
            return Err(absent);
        }
    };
    let drive = vehicles::read_drive(session.as_mut(), &call.caller, id, &code).await?;
    let reply = shown(&call, &drive, |drive| Reply::projected(&drive.view, fields.as_ref()))?;
    Ok(match fields {
        None => call.known_by_content(reply),
        Some(_) => reply,
    })
}

parameters! {
    path CodeParameter;

    /// The drive's code.
    code: schemas::DriveCode;
}

/// Start a test drive
///
/// The vehicle must be in stock, to order or courtesy, and neither a draft nor sold; each has at most one active drive. The
/// contact's personal and licence data is copied for a key with the scope contacts:read.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/test-drives", tag = "vehicles", security(("bearer" = ["vehicle-drives:write"])),
    params(IdParameter), request_body = StartBody,
    responses((status = 201, description = "The drive", body = Envelope<TestDriveView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_status_transition_invalid`, `vehicle_drive_active`")))]
async fn start_test_drive(call: Call) -> Result<Reply, ApiError> {
    let read = call.read_body(|body: StartBody, rules| Ok(body.read(rules))).await;
    let command = call
        .validated(read, async |session, command| {
            Ok(vehicles::validate_driver(session, &call.caller.business, command.contact).await?)
        })
        .await;
    call.write(command, async |session: &mut dyn Session, command| {
        let target: Target<_> = call.target(Code::VEHICLE_NOT_FOUND)?;
        let clock = call.clock().as_ref();
        let drive = vehicles::start_drive(
            session,
            clock,
            call.random(),
            &call.caller,
            target,
            command.into_inner(),
        )
        .await?;
        shown(&call, &drive, |drive| call.created(drive))
    })
    .await
}

/// End a vehicle's active test drive
#[utoipa::path(post, path = "/2.0/vehicles/{id}/test-drives/end", tag = "vehicles", security(("bearer" = ["vehicle-drives:write"])),
    params(IdParameter),
    responses((status = 200, description = "The drive that ended", body = Envelope<TestDriveView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_drive_not_active`")))]
async fn end_test_drive(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let target: Target<_> = call.target(Code::VEHICLE_NOT_FOUND)?;
        let drive = vehicles::end_drive(session, call.clock().as_ref(), &call.caller, target).await?;
        shown(&call, &drive, |drive| call.ok(drive))
    })
    .await
}

/// Sign the terms of a vehicle's active test drive
///
/// Records the name, time and IP address of the signature, with digests of the current terms. A drive is signed once.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/test-drives/esign", tag = "vehicles", security(("bearer" = ["vehicle-drives:write"])),
    params(IdParameter), request_body = SignatureBody,
    responses((status = 200, description = "The drive", body = Envelope<TestDriveView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_drive_not_active`, `vehicle_drive_signed`")))]
async fn sign_test_drive(call: Call) -> Result<Reply, ApiError> {
    let sender = call.sender.clone();
    let command = call.read_body(|body: SignatureBody, _| body.read(sender)).await;
    call.write(command, async |session: &mut dyn Session, command| {
        let target: Target<_> = call.target(Code::VEHICLE_NOT_FOUND)?;
        let drive = vehicles::sign_drive(session, call.clock().as_ref(), &call.caller, target, command).await?;
        shown(&call, &drive, |drive| call.ok(drive))
    })
    .await
}

/// Email the terms of a vehicle's active test drive
///
/// The mail goes to the contact who drives.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/test-drives/email", tag = "vehicles", security(("bearer" = ["vehicle-drives:write"])),
    params(IdParameter),
    responses((status = 200, description = "The mail was sent", body = Envelope<DriveEmailView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_drive_not_active`"),
        (status = 502, description = "`vehicle_drive_email_failed`")))]
async fn email_test_drive(call: Call) -> Result<Reply, ApiError> {
    let id: VehicleId = match call.id(Code::VEHICLE_NOT_FOUND) {
        Ok(id) => id,
        Err(refused) => return call.refuse(refused).await,
    };
    let mails = &call.worker.shared.drive_mails;
    let lock = mails.lock((call.caller.business_id(), id)).await;
    // Otherwise a caller who disconnects while the mail is being sent would have a retry send it again.
    run_to_completion(async move {
        let _lock = lock;
        send_drive_mail(&call).await
    })
    .await
}

/// Sends the mail, then stores the answer.
async fn send_drive_mail(call: &Call) -> Result<Reply, ApiError> {
    let composed = call.prepare(async |session: &mut dyn Session| {
        let target: Target<VehicleId> = call.target(Code::VEHICLE_NOT_FOUND)?;
        let summary = vehicles::summarize_drive(session, &call.caller, target).await?;
        call.claim_mail(session, not_sent).await?;
        Ok(summary)
    });
    let summary = match composed.await? {
        Prepared::Done(summary) => summary,
        Prepared::Answered(reply) => return Ok(reply),
    };
    // The mail is sent while no transaction is open.
    let sent = call.send_mail(summary.mail.clone(), SEND_TIMEOUT).await;
    let held = sent.map_err(not_sent)?;
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        call.queue_held_mail(session, held.as_ref()).await?;
        call.ok(&OfContact {
            contact: Some(summary.contact),
            view: DriveEmailView::new(&summary, true),
        })
    })
    .await
}

fn not_sent(cause: BoxError) -> ApiError {
    ApiError::failed(Code::VEHICLE_DRIVE_EMAIL_FAILED, "the mail could not be sent", cause)
}

/// Add a photo or video to a vehicle's active test drive
///
/// A JPEG, PNG or WEBP picture, or an MP4 or MOV video, of at most 25 MB. Its type is recognised by its content, not by its
/// name. Its addresses are valid for 15 minutes; a later read of the drive shows new ones, and a key with the scope
/// vehicle-drives:read can always read them.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/test-drives/photo", tag = "vehicles", security(("bearer" = ["vehicle-drives:write"])),
    params(IdParameter), request_body(content((PhotoBody = "application/json"), (PhotoBody = "multipart/form-data"))),
    responses((status = 201, description = "What was added", body = Envelope<DrivePhotoView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_drive_not_active`"),
        (status = 422, description = "`vehicle_drive_photo_failed`")))]
async fn add_drive_photo(call: Call) -> Result<Reply, ApiError> {
    let read = call.body().await.and_then(|body: PhotoBody| body.read(&call));
    let (file, kind, filename) = match call.strictly(read) {
        Ok(read) => read,
        Err(refused) => return call.refuse(refused).await,
    };
    // Nothing is stored for a request that is refused, or that was answered before.
    let prepared = call.prepare(async |session: &mut dyn Session| {
        let Target { id, precondition } = call.target(Code::VEHICLE_NOT_FOUND)?;
        let vehicle = vehicles::read_vehicle(session, &call.caller, id).await?;
        precondition.check(vehicle.version)?;
        vehicles::read_active_drive(session, &call.caller, id).await?;
        Ok(())
    });
    if let Prepared::Answered(reply) = prepared.await? {
        return Ok(reply);
    }
    let upload = match call
        .store_shown_file(file, kind, false, Code::VEHICLE_DRIVE_PHOTO_FAILED)
        .await
    {
        Ok(upload) => upload,
        Err(refused @ ApiError::Refused(_)) => return call.refuse(refused).await,
        Err(failed) => return Err(failed),
    };
    let stored = files_of(&upload);
    let command = AddDrivePhoto { filename, upload };
    let outcome = call.write(Ok(command), async |session: &mut dyn Session, command| {
        let target: Target<_> = call.target(Code::VEHICLE_NOT_FOUND)?;
        let (_, photo) = vehicles::add_drive_photo(session, &call.caller, target, command).await?;
        Reply::created(&DrivePhotoView::new(
            &photo,
            &call.caller.business,
            &call.signed_addresses(),
        ))
    });
    let outcome = outcome.await;
    call.discard_unused(&stored, &outcome).await;
    outcome
}

/// A test drive to be started.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"contact": 12, "return_date": "2035-12-31", "return_time": "16:30", "fuel": 75, "consent": true}))]
struct StartBody {
    /// Contact id of the driver.
    #[serde(default)]
    #[schema(value_type = i64, required)]
    contact: Field<i64>,
    /// The number of their driving licence; by default the contact's, if the key may read contacts.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 255)]
    license_number: Field<Line>,
    /// The code by which a third party may look it up; by default as for the number.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 255)]
    license_code: Field<Line>,
    /// The day on which the vehicle is to be back.
    #[serde(default)]
    #[schema(value_type = Option<Date>)]
    return_date: Field<Date>,
    /// The time of that day, as HH:MM.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 5, pattern = "^(([01][0-9]|2[0-3]):[0-5][0-9])?$")]
    return_time: Field<Line>,
    /// The fill level of the tank or the battery, in percent.
    #[serde(default)]
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 100)]
    fuel: Field<i64>,
    /// A note of the staff.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 20_000)]
    note: Field<LongText>,
    /// The condition of the vehicle.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 20_000)]
    condition: Field<LongText>,
    /// The location where the drive starts, by its id (a string) or its number (an integer).
    #[serde(default)]
    #[schema(schema_with = location_schema)]
    location: Field<LocationRef>,
    /// True if the contact agreed that their data is kept; false by default.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    consent: Field<bool>,
}

fn location_schema() -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Integer, Type::Null]))
        .max_length(Some(MAX_LINE_CHARS))
        .description(Some(
            "The location where the drive starts: its id as a string, or its number as an integer.",
        ))
        .into()
}

impl StartBody {
    fn read(self, rules: &Rules<'_>) -> ParsedBody<StartDrive> {
        let Self {
            contact,
            license_number,
            license_code,
            return_date,
            return_time,
            fuel,
            note,
            condition,
            location,
            consent,
        } = self;
        let mut form = Form::new();
        let contact = form.required("contact", contact).map(ContactId::new);
        let license_number = form.optional("license_number", license_number);
        let license_code = form.optional("license_code", license_code);
        let return_date = form.optional("return_date", return_date);
        let return_time = form.meaning("return_time", return_time, |text| text.parse::<TimeOfDay>());
        let fuel = form.optional("fuel", fuel);
        let note = form.optional("note", note).unwrap_or_default();
        let condition = form.optional("condition", condition).unwrap_or_default();
        let location = form.optional("location", location);
        let consent = form.optional("consent", consent).unwrap_or_default();
        let mut errors = form.finish(()).err().unwrap_or_default();
        errors.extend(vehicles::validate_drive(rules, return_date, fuel, location.as_ref()));
        let command = contact.map(|contact| StartDrive {
            contact,
            license_number,
            license_code,
            return_date,
            return_time: return_time.flatten(),
            fuel,
            note,
            condition,
            location,
            consent,
        });
        ParsedBody { command, errors }
    }
}

/// A signature of a test drive's terms.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"name": "Ann Quill", "signature": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="}))]
struct SignatureBody {
    /// A data: URL of a PNG or JPEG image in base64, of at most 512 KiB.
    #[serde(default)]
    #[schema(value_type = String, required, max_length = 524_288, pattern = "^data:image/(png|jpeg);base64,")]
    signature: Field<BoundedText<{ SignatureImage::MAX_BYTES }>>,
    /// Name of the person who signs, in print.
    #[serde(default)]
    #[schema(value_type = String, required, min_length = 1, max_length = 255, pattern = "\\S")]
    name: Field<Line>,
}

impl SignatureBody {
    fn read(self, sender: Sender) -> Result<SignDrive, ApiError> {
        let Self { signature, name } = self;
        let mut form = Form::new();
        let signature = form.required("signature", signature);
        let signature = form.validated("signature", signature, |text| text.parse::<SignatureImage>());
        let name = form.required("name", name);
        let name = form.validated("name", name, |name| match name.trim().is_empty() {
            true => Err("must not be empty"),
            false => Ok(name),
        });
        let command = signature.zip(name).map(|(signature, name)| SignDrive {
            name,
            signature,
            ip: sender.address,
            browser: sender.agent,
        });
        Ok(form.finish_found(command)?)
    }
}

/// A photo or video to be added to a test drive.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"filename": "front.png",
    "file": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="}))]
struct PhotoBody {
    /// The file in base64, or a data: URL of it.
    #[serde(default, rename = "file")]
    #[schema(value_type = String, required, content_encoding = "base64", min_length = 1, max_length = 41_943_040)]
    _file: FileBody,
    /// The name of the file, in place of the name in the part of a form; of a path only the last part is used.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 255)]
    filename: Field<Line>,
    /// The extension of its name, if the name has none: jpg, jpeg, png, webp, mp4 or mov.
    #[serde(default)]
    #[schema(schema_with = extension_schema)]
    extension: Field<Line>,
}

fn extension_schema() -> RefOr<Schema> {
    file_body::extension_schema(EXTENSIONS)
}

impl PhotoBody {
    fn read(self, call: &Call) -> Result<(&UploadedFile, FileKind, Option<String>), ApiError> {
        let mut form = Form::new();
        let accepts = |kind: FileKind| kind.is_picture() || kind.is_video();
        let kinds = "a JPEG, PNG or WEBP picture, or an MP4 or MOV video";
        let file = form.file(call.file(), accepts, kinds);
        let filename = form.filename(self.filename, self.extension, EXTENSIONS);
        let read = file.map(|(file, kind)| (file, kind, filename));
        let read: Result<_, ValidationErrors> = form.finish_found(read);
        Ok(read?)
    }
}
