//! Files that a request stores before the record that names them.
//!
//! Their content is durable when the record commits. Files of a refused request are removed at once. If the outcome of a
//! request is unknown, the sweep of orphans removes its files unless a record names them.

use bytes::Bytes;
use forecourt_files::{
    ContentStream, FileKind, FileName, FileStoreError, MadePicture, PictureError, Renditions, SignedAddresses,
    StoredFile, VideoError,
};
use forecourt_kernel::{BoxError, BusinessId, Field, Line, StoreError};
use forecourt_vehicles::{FileAddresses, Upload};
use futures_util::{StreamExt as _, stream};
use serde::de::IgnoredAny;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use utoipa::openapi::{
    RefOr, Schema,
    schema::{ObjectBuilder, SchemaType, Type},
};

use crate::{
    body::Form,
    call::Call,
    code::Code,
    error::ApiError,
    extraction::{UploadedFile, in_hexadecimal},
    reply::Reply,
};

/// Returns all files of an upload.
pub(crate) fn files_of(upload: &Upload) -> Vec<StoredFile> {
    let copies = upload.thumbnails.iter().map(|(_, file)| file.clone());
    std::iter::once(upload.file.clone()).chain(copies).collect()
}

impl Call {
    /// Returns the addresses of this server's public files.
    pub(crate) fn file_addresses(&self) -> FileAddresses {
        FileAddresses::new(&self.worker.shared.public_url)
    }

    /// Returns the addresses of private files in an answer to this call.
    pub(crate) fn signed_addresses(&self) -> SignedAddresses {
        let key = self.worker.shared.address_key.clone();
        SignedAddresses::new(self.file_addresses(), key, self.clock().now())
    }

    /// Stores a file as it was sent.
    pub(crate) async fn store_file(
        &self,
        file: &UploadedFile,
        kind: FileKind,
        public: bool,
    ) -> Result<StoredFile, ApiError> {
        self.store_as(file, kind, public, file.sha256.clone()).await
    }

    async fn store_as(
        &self,
        file: &UploadedFile,
        kind: FileKind,
        public: bool,
        sha256: String,
    ) -> Result<StoredFile, ApiError> {
        let stored = StoredFile {
            name: FileName::random(self.random(), kind),
            kind,
            size: file.size,
            sha256,
            stored: self.clock().now(),
            public,
        };
        self.put(&stored, file.open().await?).await?;
        Ok(stored)
    }

    /// Stores a picture or a video ready to be shown: without metadata on places and people, and a picture with smaller copies.
    /// A file that cannot be read is refused with `code`.
    pub(crate) async fn store_shown_file(
        &self,
        file: &UploadedFile,
        kind: FileKind,
        public: bool,
        code: Code,
    ) -> Result<Upload, ApiError> {
        if !kind.is_picture() {
            let pool = &self.worker.shared.parsing;
            let cleaned = file.forget_places(pool, self.caller.business_id()).await?;
            let sha256 = cleaned.map_err(|error| match error {
                VideoError::TooManyParts => ApiError::new(code, "the video is damaged, or has too many parts"),
                VideoError::Failed(cause) => StoreError::Unavailable(cause.into()).into(),
            })?;
            return Ok(Upload {
                file: self.store_as(file, kind, public, sha256).await?,
                thumbnails: Vec::new(),
                dimensions: None,
            });
        }
        let made = self.worker.shared.pictures.make(kind, file.picture()?).await;
        let Renditions { picture, thumbnails } = made.map_err(|error| refusal(error, code))?;
        let name = FileName::random(self.random(), picture.kind);
        let dimensions = Some((picture.width, picture.height));
        let mut upload = Upload {
            file: self.store_picture(name.clone(), picture, public).await?,
            thumbnails: Vec::with_capacity(thumbnails.len()),
            dimensions,
        };
        for (width, copy) in thumbnails {
            let name = name.thumbnail(width, copy.kind);
            upload
                .thumbnails
                .push((width, self.store_picture(name, copy, public).await?));
        }
        Ok(upload)
    }

    async fn store_picture(&self, name: FileName, made: MadePicture, public: bool) -> Result<StoredFile, ApiError> {
        let stored = StoredFile {
            name,
            kind: made.kind,
            size: made.content.len() as u64,
            sha256: in_hexadecimal(&Sha256::digest(&made.content)),
            stored: self.clock().now(),
            public,
        };
        let content: [Result<Bytes, BoxError>; 1] = [Ok(made.content)];
        self.put(&stored, stream::iter(content).boxed()).await?;
        Ok(stored)
    }

    async fn put(&self, file: &StoredFile, content: ContentStream) -> Result<(), ApiError> {
        let files = &self.worker.shared.files;
        let put = files
            .put(self.caller.business_id(), &file.name, file.size, content)
            .await;
        put.map_err(|FileStoreError(error)| StoreError::Unavailable(error).into())
    }

    /// Removes the files stored for a request that was refused, or whose answer is a replay.
    pub(crate) async fn discard_unused(&self, stored: &[StoredFile], outcome: &Result<Reply, ApiError>) {
        let is_unused = match outcome {
            Ok(reply) => reply.replayed || !reply.status.is_success(),
            Err(ApiError::Refused(_) | ApiError::Invalid(_)) => true,
            // It may have committed nevertheless.
            Err(ApiError::Store(_) | ApiError::Failed { .. }) => false,
        };
        if is_unused {
            let names: Vec<FileName> = stored.iter().map(|file| file.name.clone()).collect();
            self.discard(&names).await;
        }
    }

    /// Removes the content of files whose records are gone. The sweep of orphans removes those that cannot be removed now.
    pub(crate) async fn discard(&self, names: &[FileName]) {
        let business: BusinessId = self.caller.business_id();
        for name in names {
            if let Err(FileStoreError(error)) = self.worker.shared.files.delete(business, name).await {
                tracing::warn!(%error, file = %name, "a file could not be removed, and is left to the sweep");
            }
        }
    }
}

/// The member `file` of a body, which is received before the other members are read ([`Call::file`]).
pub(crate) type FileBody = IgnoredAny;

/// Returns the schema of a file name's extension, one of `known`.
pub(crate) fn extension_schema(known: &[&str]) -> RefOr<Schema> {
    let (last, others) = known.split_last().unwrap_or((&"", &[]));
    let about = format!(
        "File extension, used if the name has none: {} or {last}.",
        others.join(", ")
    );
    let words = known.iter().copied().map(Value::from).chain([Value::Null]);
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .enum_values(Some(words))
        .description(Some(about))
        .into()
}

impl Form {
    /// Returns the name of a file. A name without an extension gets the one that the caller sent.
    pub(crate) fn filename(&mut self, filename: Field<Line>, extension: Field<Line>, known: &[&str]) -> Option<String> {
        let filename = self.optional("filename", filename);
        let filename = filename.map(|name| {
            name.chars()
                .filter(|character| !character.is_control())
                .collect::<String>()
        });
        let extension = self.optional("extension", extension);
        let extension = self.validated("extension", extension, |extension| {
            match known.iter().find(|known| **known == extension.as_str()) {
                Some(known) => Ok(*known),
                None => Err(format!("must be one of {}", known.join(", "))),
            }
        });
        match (filename, extension) {
            (Some(name), Some(extension)) if !name.is_empty() && !name.contains('.') => {
                Some(format!("{name}.{extension}"))
            }
            (name, _) => name,
        }
    }
}

/// Returns the error for a picture that was not made.
pub(crate) fn refusal(error: PictureError, code: Code) -> ApiError {
    match error {
        PictureError::Unreadable(_) => ApiError::new(code, "the picture is damaged, or is none of its kind"),
        PictureError::TooLarge(pixels) => ApiError::new(code, format!("a picture may have at most {pixels} pixels")),
        PictureError::Failed(cause) => StoreError::Other(cause).into(),
    }
}
