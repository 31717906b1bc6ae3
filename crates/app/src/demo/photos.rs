//! Photos of the sample dealership's vehicles, drawn by the program.

use std::{collections::BTreeMap, io::Cursor};

use bytes::Bytes;
use forecourt_dealership::{Loaded, Session};
use forecourt_files::{
    FileKind, FileName, FileStore, FileStoreError, PictureError, PictureMaker, Renditions, StoredFile,
};
use forecourt_kernel::{BoxError, BusinessId, Random, StoreError, StoreResult, Timestamp};
use forecourt_vehicles::{Media, MediaFile, Medium, VehicleDraft, VehicleStatus};
use futures_util::{StreamExt as _, stream};
use sha2::{Digest as _, Sha256};

/// The paint of vehicles by their colours, as red, green and blue.
const PAINTS: &[(&str, [u8; 3])] = &[
    ("Black", [38, 38, 42]),
    ("Blue", [38, 84, 168]),
    ("Green", [44, 110, 72]),
    ("Grey", [120, 124, 130]),
    ("Red", [176, 32, 38]),
    ("Silver", [186, 190, 196]),
    ("White", [236, 236, 232]),
];
/// The paint of vehicles of other colours.
const OTHER: [u8; 3] = [196, 140, 52];

/// Draws photos and stores them.
pub(crate) struct Gallery<'a> {
    pub(crate) files: &'a dyn FileStore,
    pub(crate) pictures: &'a dyn PictureMaker,
    /// Draws a vehicle with this paint, as PNG.
    pub(crate) draw: fn([u8; 3]) -> Vec<u8>,
    pub(crate) random: &'a dyn Random,
}

impl Gallery<'_> {
    /// Gives each advertised vehicle a photo.
    pub(super) async fn hang(
        &self,
        session: &mut dyn Session,
        business: BusinessId,
        vehicles: &mut [Loaded<VehicleDraft>],
        now: Timestamp,
    ) -> StoreResult<()> {
        // Each paint is drawn once.
        let mut drawn: BTreeMap<[u8; 3], Renditions> = BTreeMap::new();
        for Loaded { content: record, .. } in vehicles {
            let is_shown = matches!(
                record.status,
                VehicleStatus::ForSale | VehicleStatus::Reserved | VehicleStatus::Sold
            );
            if !is_shown {
                continue;
            }
            let colour = record.data.vehicle.colour.0.as_ref().map(|colour| colour.as_str());
            let paint = PAINTS
                .iter()
                .find(|(name, _)| Some(*name) == colour)
                .map_or(OTHER, |(_, paint)| *paint);
            let made = match drawn.get(&paint) {
                Some(made) => made.clone(),
                None => {
                    let drawing = (self.draw)(paint);
                    let made = self.pictures.make(FileKind::Png, Box::new(Cursor::new(drawing))).await;
                    let made = made.map_err(|failure: PictureError| StoreError::Other(BoxError::from(failure)))?;
                    drawn.insert(paint, made.clone());
                    made
                }
            };
            record.media = self.hang_one(session, business, made, now).await?;
        }
        Ok(())
    }

    async fn hang_one(
        &self,
        session: &mut dyn Session,
        business: BusinessId,
        made: Renditions,
        now: Timestamp,
    ) -> StoreResult<Media> {
        let Renditions { picture, thumbnails } = made;
        let name = FileName::random(self.random, picture.kind);
        let mut widths: Vec<u32> = thumbnails.iter().map(|(width, _)| *width).collect();
        widths.sort_unstable();
        widths.dedup();
        let photo = MediaFile {
            file: name.clone(),
            kind: picture.kind,
            size: picture.content.len() as u64,
            width: Some(picture.width),
            height: Some(picture.height),
            thumbnails: widths,
            uploaded: now,
        };
        let mut files = vec![
            self.store(business, name.clone(), (picture.kind, picture.content), true, now)
                .await?,
        ];
        for (width, copy) in thumbnails {
            let name = name.thumbnail(width, copy.kind);
            files.push(self.store(business, name, (copy.kind, copy.content), true, now).await?);
        }
        session.insert_files(business, &files).await?;
        Ok([Medium::Photo(photo)].into_iter().collect())
    }

    pub(super) async fn store(
        &self,
        business: BusinessId,
        name: FileName,
        (kind, content): (FileKind, Bytes),
        public: bool,
        now: Timestamp,
    ) -> StoreResult<StoredFile> {
        let digest = Sha256::digest(&content);
        let file = StoredFile {
            name,
            kind,
            size: content.len() as u64,
            sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            stored: now,
            public,
        };
        let content = stream::iter([Ok(content)]).boxed();
        let put = self.files.put(business, &file.name, file.size, content).await;
        put.map_err(|FileStoreError(failure)| StoreError::Unavailable(failure))?;
        Ok(file)
    }
}
