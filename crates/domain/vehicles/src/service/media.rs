//! A vehicle's pictures and videos (decisions §7).

use forecourt_accounts::Caller;
use forecourt_files::FileName;
use forecourt_kernel::{Clock, Target, ValidationErrors, VehicleId};

use super::documents::record_files;
use super::{lock, read_vehicle, save};
use crate::media::MediaFile;
use crate::{AddMedium, Media, Medium, MediumKind, OrderMedia, Vehicle, VehicleError, VehicleFileStore, VehicleReader};

/// Returns one of the caller's vehicles, if it has a medium with that id.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::MediumNotFound`]; [`VehicleError::Store`].
pub async fn read_medium(
    store: &mut dyn VehicleReader,
    by: &Caller,
    vehicle: VehicleId,
    id: &str,
) -> Result<Vehicle, VehicleError> {
    let vehicle = read_vehicle(store, by, vehicle).await?;
    match vehicle.content.media.find(id) {
        Some(_) => Ok(vehicle),
        None => Err(VehicleError::MediumNotFound),
    }
}

/// Adds a picture or video to a vehicle, after those that it has. Returns the vehicle, whose last medium is the new one. Records
/// vehicle.updated.
///
/// # Errors
/// [`VehicleError::Invalid`] if a file is of the wrong kind (`file`). Then [`VehicleError::NotFound`], then
/// [`VehicleError::VersionMismatch`]. Then [`VehicleError::Invalid`] if the vehicle has the maximum number of media (`media`) or
/// already has that video (`youtube`), or if the business has no storage left for the file (`file`); [`VehicleError::Store`].
pub async fn add_medium(
    store: &mut dyn VehicleFileStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    command: AddMedium,
) -> Result<Vehicle, VehicleError> {
    let now = clock.now();
    let (medium, files) = match command {
        AddMedium::File { kind, upload } => {
            let wrong = |error: crate::WrongFileKind| ValidationErrors::one("file", error.to_string());
            let kind = MediumKind::of_file(kind, upload.file.kind).map_err(wrong)?;
            let file = MediaFile::new(&upload, now);
            let medium = match kind {
                MediumKind::Video => Medium::Video(file),
                MediumKind::Spin => Medium::Spin(file),
                MediumKind::Photo | MediumKind::Youtube => Medium::Photo(file),
            };
            (medium, upload.files(true))
        }
        AddMedium::YouTube(id) => (Medium::Youtube { id, uploaded: now }, Vec::new()),
    };
    let stored = lock(store, by, id).await?;
    let mut content = stored.content.clone();
    if content.media.as_slice().len() >= Media::MAX {
        let message = format!("a vehicle may have at most {} media", Media::MAX);
        return Err(ValidationErrors::one("media", message).into());
    }
    if content.media.find(medium.id()).is_some() {
        return Err(ValidationErrors::one("youtube", "is a video that the vehicle has already").into());
    }
    if !files.is_empty() {
        record_files(store, &by.business, &files).await?;
    }
    content.media.push(medium);
    save(store, now, &by.business, stored, content).await
}

/// Moves some of a vehicle's media to the front, in the given order. The others follow in their present order. Records
/// vehicle.updated.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`]. Then [`VehicleError::Invalid`] if the vehicle has no
/// medium with one of the ids, or an id is repeated (`media`); [`VehicleError::Store`].
pub async fn order_media(
    store: &mut dyn VehicleFileStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    command: OrderMedia,
) -> Result<Vehicle, VehicleError> {
    let OrderMedia { media: ids } = command;
    let stored = lock(store, by, id).await?;
    let mut content = stored.content.clone();
    let mut errors = ValidationErrors::new();
    for (at, id) in ids.iter().enumerate() {
        if content.media.find(id).is_none() {
            errors.add(format!("media.{at}"), "names no medium of this vehicle");
        } else if ids[..at].contains(id) {
            errors.add(format!("media.{at}"), "names a medium once more");
        }
    }
    errors.into_result(())?;
    content.media.bring_forward(&ids);
    save(store, clock.now(), &by.business, stored, content).await
}

/// Removes a picture or video from a vehicle. Returns the vehicle, and the names of the files whose content must be deleted after
/// the transaction has committed. Records vehicle.updated.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::MediumNotFound`], then [`VehicleError::VersionMismatch`];
/// [`VehicleError::Store`].
pub async fn delete_medium(
    store: &mut dyn VehicleFileStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    medium: &str,
) -> Result<(Vehicle, Vec<FileName>), VehicleError> {
    let Target { id, precondition } = id.into();
    let stored = lock(store, by, id).await?;
    let mut content = stored.content.clone();
    let gone = content.media.remove(medium).ok_or(VehicleError::MediumNotFound)?;
    precondition.check(stored.version)?;
    let files = match gone.file() {
        Some(file) => store.remove_files(by.business_id(), &file.file).await?,
        None => Vec::new(),
    };
    let vehicle = save(store, clock.now(), &by.business, stored, content).await?;
    Ok((vehicle, files))
}
