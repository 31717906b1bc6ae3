//! The documents of vehicles over HTTP (contract, "Vehicles"; decisions §7).

use std::cell::RefCell;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use forecourt_dealership::Session;
use forecourt_files::{FileKind, FileStoreError, OpenFile, StoredFile};
use forecourt_kernel::{Field, Line, LongText, Projection, StoreError, Target, Timestamp, VehicleId, View};
use forecourt_vehicles::{
    self as vehicles, AddVehicleDocument, UpdateVehicleDocument, VehicleDocument, VehicleDocumentId,
    VehicleDocumentView,
};
use futures_util::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{
    ToSchema,
    openapi::{RefOr, Schema},
};

use super::id::IdParameter;
use crate::{
    body::Form,
    call::Call,
    code::Code,
    conditional::RecordState,
    error::ApiError,
    extraction::UploadedFile,
    file_body::{self, FileBody},
    list::{PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{FieldsParameter, PageParameters, parameters},
    query::Rendering,
    reply::{self, Answer, Envelope, Reply},
    schemas::DocumentId,
    upload::Upload,
    write::Prepared,
};

/// The endings that documents have, as callers write them.
const EXTENSIONS: &[&str] = &["pdf", "jpg", "jpeg", "png"];

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_vehicle_documents> list_vehicle_documents,
        self::<__path_create_vehicle_document> create_vehicle_document { upload: Some(Upload::Document) },
        self::<__path_read_vehicle_document> read_vehicle_document,
        self::<__path_download_vehicle_document> download_vehicle_document,
        self::<__path_update_vehicle_document> update_vehicle_document,
        self::<__path_delete_vehicle_document> delete_vehicle_document,
    ])
}

/// List a vehicle's documents
///
/// Newest first.
#[utoipa::path(get, path = "/2.0/vehicles/{id}/documents", tag = "vehicles", security(("bearer" = ["vehicle-documents:read"])),
    params(IdParameter, PageParameters, FieldsParameter),
    responses((status = 200, description = "A page of documents", body = PageEnvelope<VehicleDocumentView<'static>>),
        (status = 404, description = "`vehicle_not_found`")))]
async fn list_vehicle_documents(call: Call) -> Result<Answer, ApiError> {
    let list = call.list(call.list_within("vehicle-documents"), View::Full)?;
    let id = call.id(Code::VEHICLE_NOT_FOUND)?;
    list.answer(
        call,
        RecordSize::Small,
        async move |session, call, page| vehicles::list_documents(session, &call.caller, id, page).await,
        |item, document| item.show(&VehicleDocumentView::new(document)),
    )
    .await
}

/// Upload a document of a vehicle
///
/// A PDF document, or a JPEG or PNG picture, of at most 25 MB. Its type is recognised by its content, not by its name.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/documents", tag = "vehicles", security(("bearer" = ["vehicle-documents:write"])),
    params(IdParameter), request_body(content = DocumentBody, extensions(("x-rules" = json!({
        "if": {"required": ["public"], "properties": {"public": {"const": true}}},
        "then": {"required": ["description"], "properties": {"description": {"type": "string", "pattern": "\\S"}}},
    })))),
    responses((status = 201, description = "The document that was uploaded", body = Envelope<VehicleDocumentView<'static>>),
        (status = 404, description = "`vehicle_not_found`")))]
async fn create_vehicle_document(call: Call) -> Result<Reply, ApiError> {
    let read = call.body().await.and_then(|body: DocumentBody| body.read(&call));
    let (document, file, kind) = match call.strictly(read) {
        Ok(read) => read,
        Err(refused) => return call.refuse(refused).await,
    };
    // Nothing is stored for a request that is refused, or that was answered before.
    let prepared = call.prepare(async |session: &mut dyn Session| {
        let Target { id, precondition } = call.target(Code::VEHICLE_NOT_FOUND)?;
        let vehicle = vehicles::read_vehicle(session, &call.caller, id).await?;
        Ok(precondition.check(vehicle.version)?)
    });
    if let Prepared::Answered(reply) = prepared.await? {
        return Ok(reply);
    }
    let stored = [call.store_file(file, kind, false).await?];
    let [file] = &stored;
    let DocumentParts {
        filename,
        description,
        public,
    } = document;
    let command = AddVehicleDocument {
        filename,
        description,
        public,
        file: file.clone(),
    };
    let outcome = call.write(Ok(command), async |session: &mut dyn Session, command| {
        let target: Target<VehicleId> = call.target(Code::VEHICLE_NOT_FOUND)?;
        let clock = call.clock().as_ref();
        let document = vehicles::add_document(session, clock, &call.caller, target, command).await?;
        Reply::created(&VehicleDocumentView::new(&document))
    });
    let outcome = outcome.await;
    call.discard_unused(&stored, &outcome).await;
    outcome
}

/// Read a document of a vehicle
///
/// Returns its metadata, without its content.
#[utoipa::path(get, path = "/2.0/vehicles/{id}/documents/{document_id}", tag = "vehicles",
    security(("bearer" = ["vehicle-documents:read"])), params(IdParameter, DocumentIdParameter, FieldsParameter),
    responses((status = 200, description = "The document", body = Envelope<VehicleDocumentView<'static>>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_document_not_found`")))]
async fn read_vehicle_document(call: Call) -> Result<Reply, ApiError> {
    let rendering = Rendering {
        view: View::Full,
        fields: call.fields()?,
    };
    let document = found(&call).await?;
    let state = RecordState {
        version: document.version,
        // The answer shows nothing from the business's file.
        updated: Timestamp::from_epoch_seconds(i64::MAX),
    };
    call.record(state, &rendering, &VehicleDocumentView::new(&document))
}

/// Returns the document that the path names. A missing vehicle is reported before a missing document.
async fn found(call: &Call) -> Result<VehicleDocument, ApiError> {
    let vehicle: VehicleId = call.id(Code::VEHICLE_NOT_FOUND)?;
    let mut session = call.read().await?;
    match call.second_id::<VehicleDocumentId>(Code::VEHICLE_DOCUMENT_NOT_FOUND) {
        Ok(id) => Ok(vehicles::read_document(session.as_mut(), &call.caller, vehicle, id).await?),
        Err(absent) => {
            vehicles::read_vehicle(session.as_mut(), &call.caller, vehicle).await?;
            Err(absent)
        }
    }
}

/// Download a document of a vehicle
#[utoipa::path(get, path = "/2.0/vehicles/{id}/documents/{document_id}/download", tag = "vehicles",
    security(("bearer" = ["vehicle-documents:read"])), params(IdParameter, DocumentIdParameter, FieldsParameter),
    responses((status = 200, description = "The document with its content", body = Envelope<DocumentDownload>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_document_not_found`")))]
async fn download_vehicle_document(call: Call) -> Result<Answer, ApiError> {
    let fields = call.fields()?;
    let VehicleDocument { id, content, .. } = found(&call).await?;
    download(&call, fields.as_ref(), id.to_string(), content.name, &content.file).await
}

/// Returns a document with its content, or the part of it that `fields` names.
pub(in crate::areas) async fn download(
    call: &Call,
    fields: Option<&Projection>,
    id: String,
    name: Line,
    file: &StoredFile,
) -> Result<Answer, ApiError> {
    let download = DocumentDownload {
        id,
        name: name.into_string(),
        extension: file.kind.extension(),
        mime: file.kind.mime(),
        size: file.size,
        encoding: "base64",
        content: String::new(),
    };
    let whole = serde_json::to_value(download).map_err(reply::unwritable)?;
    let mut shown = match fields {
        None => whole,
        Some(fields) => fields.apply(whole),
    };
    let content = shown
        .as_object_mut()
        .and_then(|members| members.shift_remove("content"));
    if content.is_none() {
        return Ok(Reply::ok(&shown)?.into());
    }
    with_content(call, file, &shown).await
}

/// Returns a document with its content as the last member, written as it is read: it may be as long as 33 MB.
async fn with_content(call: &Call, file: &StoredFile, shown: &Value) -> Result<Answer, ApiError> {
    let files = &call.worker.shared.files;
    let opened = files.open(call.caller.business_id(), &file.name, None).await;
    let opened = opened.map_err(|FileStoreError(error)| StoreError::Unavailable(error))?;
    let lost = || StoreError::Other(format!("the content of {} is missing", file.name).into());
    let OpenFile { content, .. } = opened.ok_or_else(lost)?;
    let members = shown.to_string();
    let comma = if members == "{}" { "" } else { "," };
    let members = members.trim_end_matches('}');
    let head = format!(r#"{{"success":true,"data":{members}{comma}"content":""#);
    let encoded = stream::unfold(Some((content, Vec::new())), async |state| {
        let (mut content, mut left) = state?;
        match content.next().await {
            Some(Ok(part)) => {
                left.extend_from_slice(&part);
                // Base64 has four characters for each three bytes.
                let whole = left.len() / 3 * 3;
                let text = BASE64_STANDARD.encode(&left[..whole]);
                left.drain(..whole);
                Some((Ok(text.into_bytes()), Some((content, left))))
            }
            Some(Err(error)) => Some((Err(ApiError::from(StoreError::Unavailable(error))), None)),
            None => {
                let end = BASE64_STANDARD.encode(&left) + r#""}}"#;
                Some((Ok(end.into_bytes()), None))
            }
        }
    });
    reply::in_parts(stream::iter([Ok(head.into_bytes())]).chain(encoded)).await
}

/// Change a document of a vehicle
#[utoipa::path(patch, path = "/2.0/vehicles/{id}/documents/{document_id}", tag = "vehicles",
    security(("bearer" = ["vehicle-documents:write"])), params(IdParameter, DocumentIdParameter),
    request_body = DocumentPatch,
    responses((status = 200, description = "The document", body = Envelope<VehicleDocumentView<'static>>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_document_not_found`")))]
async fn update_vehicle_document(call: Call) -> Result<Reply, ApiError> {
    let command = call.body().await.and_then(|body: DocumentPatch| body.read());
    call.write(command, async |session: &mut dyn Session, command| {
        let (vehicle, document) = ids(&call, session).await?;
        let document = vehicles::update_document(session, &call.caller, vehicle, document, command).await?;
        Reply::ok(&VehicleDocumentView::new(&document))
    })
    .await
}

/// Delete a document of a vehicle
///
/// Its file is deleted too.
#[utoipa::path(delete, path = "/2.0/vehicles/{id}/documents/{document_id}", tag = "vehicles",
    security(("bearer" = ["vehicle-documents:delete"])), params(IdParameter, DocumentIdParameter),
    responses((status = 200, description = "The document is gone", body = Envelope<DeletedDocument>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_document_not_found`")))]
async fn delete_vehicle_document(call: Call) -> Result<Reply, ApiError> {
    let gone = RefCell::new(Vec::new());
    let reply = call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let (vehicle, document) = ids(&call, session).await?;
        let id = document.id;
        let files = vehicles::delete_document(session, &call.caller, vehicle, document).await?;
        gone.replace(files);
        Reply::ok(&DeletedDocument {
            id: id.to_string(),
            deleted: true,
        })
    });
    let reply = reply.await?;
    call.discard(&gone.into_inner()).await;
    Ok(reply)
}

/// Returns the vehicle and the document that the path names. A missing vehicle is reported before a missing document.
async fn ids(call: &Call, session: &mut dyn Session) -> Result<(VehicleId, Target<VehicleDocumentId>), ApiError> {
    let Target { id, precondition } = call.target(Code::VEHICLE_NOT_FOUND)?;
    match call.second_id(Code::VEHICLE_DOCUMENT_NOT_FOUND) {
        Ok(document) => Ok((
            id,
            Target {
                id: document,
                precondition,
            },
        )),
        Err(absent) => {
            vehicles::read_vehicle(session, &call.caller, id).await?;
            Err(absent)
        }
    }
}

parameters! {
    path DocumentIdParameter;

    /// Document id.
    document_id: DocumentId;
}

/// A document with its content.
#[derive(Serialize, ToSchema)]
pub(in crate::areas) struct DocumentDownload {
    /// Document id.
    id: String,
    /// Its name.
    name: String,
    /// The usual ending of the names of such files.
    extension: &'static str,
    /// The media type.
    mime: &'static str,
    /// The length of the file in bytes.
    size: u64,
    /// The encoding of the content: base64.
    encoding: &'static str,
    /// The file.
    #[schema(content_encoding = "base64", max_length = 41_943_040)]
    content: String,
}

/// The answer to the deletion of a document.
#[derive(Serialize, ToSchema)]
pub(in crate::areas) struct DeletedDocument {
    /// Document id.
    pub(in crate::areas) id: String,
    /// Always true.
    pub(in crate::areas) deleted: bool,
}

/// A document to be uploaded.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"file": "JVBERi0xLjQKJSVFT0YK", "filename": "service-history.pdf", "description": "Service history"}))]
pub(in crate::areas) struct DocumentBody {
    /// The file in base64, or a data: URL of it.
    #[serde(default, rename = "file")]
    #[schema(value_type = String, required, content_encoding = "base64", min_length = 1, max_length = 41_943_040)]
    _file: FileBody,
    /// The name of the file; of a path only the last part is used.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 255)]
    filename: Field<Line>,
    /// The extension of its name, if the name has none: pdf, jpg, jpeg or png.
    #[serde(default)]
    #[schema(schema_with = extension_schema)]
    extension: Field<Line>,
    /// Its description; required if it is public.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 20_000)]
    description: Field<LongText>,
    /// True if it may be shown to the public; false by default.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    public: Field<bool>,
}

fn extension_schema() -> RefOr<Schema> {
    file_body::extension_schema(EXTENSIONS)
}

impl DocumentBody {
    /// Returns the command, except for the file, which is stored later.
    pub(in crate::areas) fn read(self, call: &Call) -> Result<(DocumentParts, &UploadedFile, FileKind), ApiError> {
        let Self {
            _file,
            filename,
            extension,
            description,
            public,
        } = self;
        let mut form = Form::new();
        let accepts = |kind| matches!(kind, FileKind::Pdf | FileKind::Jpeg | FileKind::Png);
        let file = form.file(call.file(), accepts, "a PDF document, or a JPEG or PNG picture");
        let filename = form.filename(filename, extension, EXTENSIONS);
        let description = form.optional("description", description).unwrap_or_default();
        let public = form.optional("public", public).unwrap_or_default();
        let mut found = form.finish(()).err().unwrap_or_default();
        found.extend(vehicles::validate_document(description.as_str(), public, None));
        match file {
            Some((file, kind)) if found.is_empty() => Ok((
                DocumentParts {
                    filename,
                    description,
                    public,
                },
                file,
                kind,
            )),
            _ => Err(found.into()),
        }
    }
}

/// The details of a document apart from its file.
pub(in crate::areas) struct DocumentParts {
    pub(in crate::areas) filename: Option<String>,
    pub(in crate::areas) description: LongText,
    pub(in crate::areas) public: bool,
}

/// Changes of a document.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"description": "Service history, 4 stamps", "public": true}))]
struct DocumentPatch {
    /// Its description; required if it is public.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 20_000)]
    description: Field<LongText>,
    /// True if it may be shown to the public.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    public: Field<bool>,
}

impl DocumentPatch {
    fn read(self) -> Result<UpdateVehicleDocument, ApiError> {
        let Self { description, public } = self;
        let mut form = Form::new();
        let command = UpdateVehicleDocument {
            description: form.or_default("description", description, LongText::default()),
            public: form.or_default("public", public, false),
        };
        Ok(form.finish(command)?)
    }
}
