//! Bodies that carry a file: as JSON with a member `file`, or as a form with a part of that name.
//!
//! A body goes to the disk as it arrives, and its file to another place there, so a request takes little memory however long
//! its file is. The other members of a body are read as in any other body.

use std::{
    collections::HashMap,
    fs::File,
    path::{Path, PathBuf},
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use actix_web::{HttpRequest, http::header, web};
use forecourt_files::FileKind;
use forecourt_kernel::{BusinessId, StoreError};
use futures_util::StreamExt as _;
use sha2::{Digest as _, Sha256};
use tokio::{
    io::AsyncWriteExt as _,
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
    time::timeout,
};

use crate::{
    code::Code,
    connection::Progress,
    error::ApiError,
    extraction::{FILE, FileMember, SentUpload, TOO_LONG, spool_file, unavailable},
    fair_semaphore::FairSemaphore,
    media_type::{is_form, is_json},
    parsing::{ParsePool, RawBody},
};

/// The maximum length of a body with a file: the longest file in base64, with room for escapes, and the other members.
const MAX_UPLOAD_BYTES: u64 = 40 * 1024 * 1024;
/// The maximum time between bytes.
const STALL_TIMEOUT: Duration = Duration::from_secs(20);
/// The maximum time for a body with a file to arrive.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// The maximum time that a request waits for others to end: hundreds of photos of a second each may come before it.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// The number of bodies with a file that a business may send at the same time, and the number of these that are processed; more
/// wait. The first bounds the disk, the second the work.
const MAX_RECEIVING: usize = 32;
const MAX_PROCESSING: usize = 8;
/// The number of requests for which pictures are made at the same time, each of another business. One holds up to 100 MB.
const PICTURES_AT_ONCE: usize = 2;
/// The number of bytes that are written at once.
const PART_BYTES: usize = 64 * 1024;

/// The kinds of files that an operation accepts, and their formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Upload {
    /// A document, in JSON, which is stored as it was sent.
    Document,
    /// A picture or a video, in JSON or as a part of a form. A picture is stored as new ones made from it.
    Media,
}

/// The state that uploads share.
pub(crate) struct Uploads {
    /// The folder for files until they are stored.
    folder: PathBuf,
    shares: Mutex<HashMap<BusinessId, Arc<Share>>>,
    /// The permits of the requests whose pictures are in memory.
    pictures: FairSemaphore,
}

/// The permits of a business for uploads.
struct Share {
    receiving: Arc<Semaphore>,
    processing: Arc<Semaphore>,
}

impl Default for Share {
    fn default() -> Self {
        Self {
            receiving: Arc::new(Semaphore::new(MAX_RECEIVING)),
            processing: Arc::new(Semaphore::new(MAX_PROCESSING)),
        }
    }
}

/// A body with a file.
pub(crate) struct Received {
    /// The other members, as JSON.
    pub(crate) members: RawBody,
    /// The digest of the bytes of the body.
    pub(crate) digest: [u8; 32],
    pub(crate) file: FileMember,
    /// Released with the request.
    _permits: [OwnedSemaphorePermit; 2],
    _share: Arc<Share>,
}

impl Uploads {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            shares: Mutex::default(),
            pictures: FairSemaphore::new(PICTURES_AT_ONCE, 1),
        }
    }

    /// Returns the permits of the business, so that no business takes all of the disk or of the work.
    fn share(&self, business: BusinessId) -> Arc<Share> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        // A share with no other holder has no upload in progress.
        shares.retain(|_, share| Arc::strong_count(share) > 1);
        Arc::clone(shares.entry(business).or_default())
    }

    /// Receives the body of a request that `upload` allows to carry a file.
    ///
    /// # Errors
    /// 400 if it is neither JSON nor a form, 422 (`body`) if there is too much beside the file. A fault in the file itself is
    /// not an error here: it is reported with the other fields.
    pub(crate) async fn receive(
        &self,
        upload: Upload,
        business: BusinessId,
        pool: &ParsePool,
        request: &HttpRequest,
        payload: web::Payload,
    ) -> Result<Received, ApiError> {
        let share = self.share(business);
        let receiving = {
            let _held_back = request.conn_data::<Rc<Progress>>().map(Progress::hold_back);
            permit(&share.receiving).await?
        };
        let arrived = timeout(UPLOAD_TIMEOUT, self.receive_body(payload));
        let Arrived { body, length, digest } = arrived.await.map_err(|_| too_slow())??;
        let sent = match request.headers().get(header::CONTENT_TYPE) {
            Some(content_type) if upload == Upload::Media && is_form(content_type) => {
                SentUpload::form(body, content_type.clone())
            }
            Some(content_type) if length > 0 && !is_json(content_type) => {
                return Err(ApiError::new(Code::JSON_INVALID, "send the body as application/json"));
            }
            _ => SentUpload::json(body),
        };
        // A sender whose body is not read for half a minute may give up, so all of it is received before this.
        let working = permit(&share.processing).await?;
        let (members, mut file) = sent.extract(pool, business, &self.folder).await?;
        // A file that waits for its turn is on the disk, and uses none of the time for its work.
        if let FileMember::File(file) = &mut file
            && upload == Upload::Media
            && file.kind.is_some_and(FileKind::is_picture)
        {
            let turn = timeout(QUEUE_TIMEOUT, self.pictures.acquire(business));
            file.turn = Some(Arc::new(turn.await.map_err(|_| too_many())?));
        }
        Ok(Received {
            members,
            digest,
            file,
            _permits: [receiving, working],
            _share: share,
        })
    }

    /// Receives a body and stores it on the disk unchanged.
    async fn receive_body(&self, mut payload: web::Payload) -> Result<Arrived, ApiError> {
        let mut body = tokio::fs::File::from_std(spooled(&self.folder).await?);
        body.set_max_buf_size(PART_BYTES);
        let (mut length, mut digest) = (0, Sha256::new());
        while let Some(part) = timeout(STALL_TIMEOUT, payload.next()).await.map_err(|_| too_slow())? {
            let part = part.map_err(|_| ApiError::new(Code::JSON_INVALID, "the body broke off"))?;
            length += part.len() as u64;
            if length > MAX_UPLOAD_BYTES {
                return Err(ApiError::field(FILE, TOO_LONG));
            }
            digest.update(&part);
            body.write_all(&part).await.map_err(unavailable)?;
        }
        body.flush().await.map_err(unavailable)?;
        Ok(Arrived {
            body: body.into_std().await,
            length,
            digest: digest.finalize().into(),
        })
    }
}

/// A body that has arrived.
struct Arrived {
    body: File,
    length: u64,
    digest: [u8; 32],
}

/// Waits for a permit.
async fn permit(semaphore: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, ApiError> {
    match timeout(QUEUE_TIMEOUT, Arc::clone(semaphore).acquire_owned()).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => Err(too_many()),
    }
}

fn too_many() -> ApiError {
    StoreError::Unavailable("too many uploads are under way".into()).into()
}

fn too_slow() -> ApiError {
    ApiError::new(Code::REQUEST_TIMEOUT, "the body did not arrive in time")
}

async fn spooled(folder: &Path) -> Result<File, ApiError> {
    let folder = folder.to_owned();
    let file = spawn_blocking(move || spool_file(&folder)).await;
    file.map_err(|failure| StoreError::Other(failure.into()))?
        .map_err(unavailable)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use actix_web::{FromRequest as _, test::TestRequest};
    use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};

    use super::*;

    /// Receives a file that is sent in JSON.
    async fn receive(uploads: &Uploads, business: BusinessId, upload: Upload, content: &[u8]) -> Received {
        let body = format!(r#"{{"file":"{}"}}"#, BASE64.encode(content));
        let (request, mut payload) = TestRequest::post().set_payload(body).to_http_parts();
        let payload = web::Payload::from_request(&request, &mut payload).await.unwrap();
        let pool = ParsePool::new();
        let received = uploads.receive(upload, business, &pool, &request, payload);
        received.await.unwrap()
    }

    #[tokio::test]
    async fn pictures_of_a_business_wait_for_each_other_before_their_work_begins() {
        let uploads = Uploads::new(std::env::temp_dir());
        let (own, other) = (BusinessId::new(1), BusinessId::new(2));
        let photo = b"\xff\xd8\xff\xe0\0\x10JFIF";
        let first = receive(&uploads, own, Upload::Media, photo).await;
        let first_has_ended = Cell::new(false);
        let second = async {
            receive(&uploads, own, Upload::Media, photo).await;
            assert!(first_has_ended.get());
        };
        let others = async {
            receive(&uploads, own, Upload::Document, photo).await;
            receive(&uploads, own, Upload::Media, b"\0\0\0\x18ftypmp42\0\0\0\0").await;
            receive(&uploads, other, Upload::Media, photo).await;
            first_has_ended.set(true);
            drop(first);
        };
        tokio::join!(second, others);
    }
}
