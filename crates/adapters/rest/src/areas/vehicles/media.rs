//! The pictures and videos of vehicles over HTTP (decisions §7).

use std::cell::RefCell;

use forecourt_dealership::Session;
use forecourt_files::FileKind;
use forecourt_kernel::{BoundedList, Field, Line, Target, View};
use forecourt_vehicles::{self as vehicles, AddMedium, MediumKind, MediumView, OrderMedia, YouTubeId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::IdParameter;
use crate::{
    body::Form,
    call::Call,
    code::Code,
    conditional::RecordState,
    error::ApiError,
    extraction::{FileMember, UploadedFile},
    file_body::{FileBody, files_of},
    operation::{Declared, Operation, operations},
    parameters::{FieldsParameter, parameters},
    query::Rendering,
    reply::{Envelope, Reply},
    schemas::{self, MediumId},
    upload::Upload,
    write::Prepared,
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_vehicle_media> list_vehicle_media,
        self::<__path_read_vehicle_media> read_vehicle_media,
        self::<__path_create_vehicle_media> create_vehicle_media { upload: Some(Upload::Media) },
        self::<__path_order_vehicle_media> order_vehicle_media,
        self::<__path_delete_vehicle_media> delete_vehicle_media,
    ])
}

/// List a vehicle's media
///
/// In display order.
#[utoipa::path(get, path = "/2.0/vehicles/{id}/media", tag = "vehicles", security(("bearer" = ["vehicles:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "All media", body = Envelope<Vec<MediumView<'static>>>),
        (status = 404, description = "`vehicle_not_found`")))]
async fn list_vehicle_media(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id = call.id(Code::VEHICLE_NOT_FOUND)?;
    let mut session = call.read().await?;
    let vehicle = vehicles::read_vehicle(session.as_mut(), &call.caller, id).await?;
    let media = MediumView::all(&vehicle, call.caller.business_id(), &call.file_addresses());
    Reply::projected(&media, fields.as_ref())
}

/// Read a photo or video of a vehicle
#[utoipa::path(get, path = "/2.0/vehicles/{id}/media/{media_id}", tag = "vehicles", security(("bearer" = ["vehicles:read"])),
    params(IdParameter, MediaIdParameter, FieldsParameter),
    responses((status = 200, description = "The photo or video", body = Envelope<MediumView<'static>>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_media_not_found`")))]
async fn read_vehicle_media(call: Call) -> Result<Reply, ApiError> {
    let rendering = Rendering {
        view: View::Full,
        fields: call.fields()?,
    };
    let id = call.id(Code::VEHICLE_NOT_FOUND)?;
    let medium: String = call.second_id(Code::VEHICLE_MEDIA_NOT_FOUND)?;
    let mut session = call.read().await?;
    let vehicle = vehicles::read_medium(session.as_mut(), &call.caller, id, &medium).await?;
    let media = MediumView::all(&vehicle, call.caller.business_id(), &call.file_addresses());
    let found = vehicle
        .content
        .media
        .find(&medium)
        .and_then(|(position, _)| media.get(position - 1));
    // A medium has no version of its own: every change of it changes the vehicle.
    let state = RecordState {
        version: vehicle.version,
        updated: vehicle.updated,
    };
    call.record(state, &rendering, &found)
}

/// Add a photo or video to a vehicle
///
/// A JPEG, PNG or WEBP picture, an MP4 or MOV video, of at most 25 MB, or a video on YouTube. A file's type is recognised by
/// its content, not by its name. Pictures are turned upright, lose their metadata, and get smaller copies; videos lose their
/// metadata on places and people.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/media", tag = "vehicles", security(("bearer" = ["vehicle-media:write"])),
    params(IdParameter), request_body(content((MediaBody = "application/json"), (MediaBody = "multipart/form-data")),
        extensions(("x-rules" = json!({
        "if": {"properties": {"file": {"type": "null"}}},
        "then": {"required": ["youtube"], "properties": {"youtube": {"type": "string"}, "type": {"enum": ["youtube", null]}}},
        "else": {"properties": {"youtube": {"type": "null"}, "type": {"enum": ["photo", "video", "spin", null]}}},
    })))),
    responses((status = 201, description = "What was added", body = Envelope<MediumView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 422, description = "`vehicle_media_upload_failed`")))]
async fn create_vehicle_media(call: Call) -> Result<Reply, ApiError> {
    let read = call.body().await.and_then(|body: MediaBody| body.read(&call));
    let wanted = match call.strictly(read) {
        Ok(wanted) => wanted,
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
    let (command, stored) = match wanted {
        WantedMedium::YouTube(id) => (AddMedium::YouTube(id), Vec::new()),
        WantedMedium::File(file, kind, of) => {
            let stored = call
                .store_shown_file(file, of, true, Code::VEHICLE_MEDIA_UPLOAD_FAILED)
                .await;
            let upload = match stored {
                Ok(upload) => upload,
                Err(refused @ ApiError::Refused(_)) => return call.refuse(refused).await,
                Err(failed) => return Err(failed),
            };
            let stored = files_of(&upload);
            let kind = Some(kind);
            (AddMedium::File { kind, upload }, stored)
        }
    };
    let outcome = call.write(Ok(command), async |session: &mut dyn Session, command| {
        let target: Target<_> = call.target(Code::VEHICLE_NOT_FOUND)?;
        let vehicle = vehicles::add_medium(session, call.clock().as_ref(), &call.caller, target, command).await?;
        let media = MediumView::all(&vehicle, call.caller.business_id(), &call.file_addresses());
        Reply::created(&media.last())
    });
    let outcome = outcome.await;
    call.discard_unused(&stored, &outcome).await;
    outcome
}

/// Order a vehicle's media
///
/// The media that are named come first, in this order; the others follow in their previous order.
#[utoipa::path(put, path = "/2.0/vehicles/{id}/media/order", tag = "vehicles", security(("bearer" = ["vehicle-media:write"])),
    params(IdParameter), request_body = MediaOrderBody,
    responses((status = 200, description = "All media", body = Envelope<Vec<MediumView<'static>>>),
        (status = 404, description = "`vehicle_not_found`")))]
async fn order_vehicle_media(call: Call) -> Result<Reply, ApiError> {
    let command = call.body().await.and_then(|body: MediaOrderBody| body.read());
    call.write(command, async |session: &mut dyn Session, command| {
        let target: Target<_> = call.target(Code::VEHICLE_NOT_FOUND)?;
        let vehicle = vehicles::order_media(session, call.clock().as_ref(), &call.caller, target, command).await?;
        Reply::ok(&MediumView::all(
            &vehicle,
            call.caller.business_id(),
            &call.file_addresses(),
        ))
    })
    .await
}

/// Remove a photo or video from a vehicle
///
/// Its files are deleted too.
#[utoipa::path(delete, path = "/2.0/vehicles/{id}/media/{media_id}", tag = "vehicles",
    security(("bearer" = ["vehicle-media:delete"])), params(IdParameter, MediaIdParameter),
    responses((status = 200, description = "It is gone", body = Envelope<DeletedMedia>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_media_not_found`")))]
async fn delete_vehicle_media(call: Call) -> Result<Reply, ApiError> {
    let gone = RefCell::new(Vec::new());
    let reply = call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let target: Target<_> = call.target(Code::VEHICLE_NOT_FOUND)?;
        let id: String = call.second_id(Code::VEHICLE_MEDIA_NOT_FOUND)?;
        let clock = call.clock().as_ref();
        let (_, files) = vehicles::delete_medium(session, clock, &call.caller, target, &id).await?;
        gone.replace(files);
        Reply::ok(&DeletedMedia { id, deleted: true })
    });
    let reply = reply.await?;
    call.discard(&gone.into_inner()).await;
    Ok(reply)
}

parameters! {
    path MediaIdParameter;

    /// Its id, as in the vehicle's `media`.
    media_id: MediumId;
}

/// The answer to the removal of a photo or video.
#[derive(Serialize, ToSchema)]
struct DeletedMedia {
    /// Its id.
    id: String,
    /// Always true.
    deleted: bool,
}

/// The medium to add: a file or a video on YouTube.
enum WantedMedium<'a> {
    File(&'a UploadedFile, MediumKind, FileKind),
    YouTube(YouTubeId),
}

/// A photo or video to be added: a file, or a video on YouTube.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"youtube": "dQw4w9WgXcQ"}))]
struct MediaBody {
    /// The file in base64, or a data: URL of it.
    #[serde(default, rename = "file")]
    #[schema(value_type = Option<String>, content_encoding = "base64", min_length = 1, max_length = 41_943_040)]
    _file: FileBody,
    /// Its type: photo, video or spin (a frame of one); a picture is a photo by default.
    #[serde(default)]
    #[schema(value_type = Option<schemas::MediumKindWord>, inline)]
    r#type: Field<Line>,
    /// The id of a video on YouTube, in place of a file.
    #[serde(default)]
    #[schema(value_type = Option<schemas::YouTubeIdText>, inline)]
    youtube: Field<Line>,
    /// The name of the file; the type is recognised by the content.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 255)]
    filename: Field<Line>,
}

impl MediaBody {
    fn read(self, call: &Call) -> Result<WantedMedium<'_>, ApiError> {
        let mut form = Form::new();
        // Validated, although it is not used.
        form.optional("filename", self.filename);
        let kind = form.optional("type", self.r#type);
        let kind = form.validated("type", kind, |kind| kind.parse::<MediumKind>());
        let youtube = form.optional("youtube", self.youtube);
        let youtube = form.validated("youtube", youtube, |id| id.parse::<YouTubeId>());
        let has_file = !matches!(call.file(), FileMember::Absent);
        if form.has_faults() && !has_file {
            return Err(form.finish(()).err().unwrap_or_default().into());
        }
        if let (Some(id), false) = (&youtube, has_file) {
            if kind.is_some_and(|kind| kind != MediumKind::Youtube) {
                form.fault("type", "must be youtube, or left out, for a video on YouTube");
            }
            return Ok(form.finish(WantedMedium::YouTube(id.clone()))?);
        }
        if youtube.is_some() {
            form.fault("youtube", "must be left out where there is a file");
        }
        let accepts = |of| MediumKind::of_file(kind, of).is_ok();
        let kinds = match kind {
            Some(MediumKind::Photo | MediumKind::Spin) => "a JPEG, PNG or WEBP picture",
            Some(MediumKind::Video) => "an MP4 or MOV video",
            _ => "a JPEG, PNG or WEBP picture, or an MP4 or MOV video",
        };
        let file = form.file(call.file(), accepts, kinds);
        let file = file.and_then(|(file, of)| Some(WantedMedium::File(file, MediumKind::of_file(kind, of).ok()?, of)));
        Ok(form.finish_found(file)?)
    }
}

/// The order of a vehicle's media.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"media": []}))]
struct MediaOrderBody {
    /// The ids of the media to show first, in their order.
    #[serde(default)]
    #[schema(value_type = Vec<Line>, required, max_items = 500)]
    media: Field<BoundedList<Line>>,
}

impl MediaOrderBody {
    fn read(self) -> Result<OrderMedia, ApiError> {
        let mut form = Form::new();
        let media = form.required("media", self.media);
        let media = media.map(|ids| OrderMedia {
            media: ids.into_iter().map(Line::into_string).collect(),
        });
        Ok(form.finish_found(media)?)
    }
}
