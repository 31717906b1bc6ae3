//! Bodies that carry a file: as JSON with a member `file`, or as a form with a part of that name.
//!
//! A file goes to the disk as it arrives, so a request takes little memory however long its file is. What else a body holds is
//! read as any other body.

use std::{
    cell::RefCell,
    collections::HashMap,
    fmt::Display,
    fs::File,
    io::{self, BufReader, Read, Seek as _, SeekFrom, Write},
    path::{Path, PathBuf},
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use actix_multipart::{Multipart, MultipartError};
use actix_web::{
    HttpRequest,
    error::PayloadError,
    http::header::{self, HeaderValue},
    web,
};
use base64::{
    DecodeError,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
    read::DecoderReader,
};
use bytes::Bytes;
use forecourt_files::{ContentStream, FileKind, MAX_FILE_BYTES, PictureSource, VideoError, forget_places};
use forecourt_kernel::{BoxError, BusinessId, StoreError, bounds::MAX_BODY_DEPTH};
use futures_util::{StreamExt as _, stream::unfold};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use struson::{
    reader::{JsonReader as _, JsonStreamReader, ReaderError, ReaderSettings, TransferError, ValueType},
    writer::{JsonStreamWriter, JsonWriter as _},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
    time::timeout,
};

use crate::{
    body::{Form, MAX_JSON_BYTES},
    code::Code,
    connection::Progress,
    error::ApiError,
    media_type::{is_form, is_json},
};

/// The member or part that is the file.
const FILE: &str = "file";
/// How long a body with a file may be: the longest file in base64, with room for escapes, and the other members.
const MAX_UPLOAD_BYTES: u64 = 40 * 1024 * 1024;
/// How long a part of a form may be that is not the file.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// How long nothing may arrive.
const STALL_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a body with a file may take to arrive.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// How long a request waits until others have ended: hundreds of photos of a second each may come before it.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// How many bodies with a file a business sends at the same time, and how many of these are worked on; more wait. The first bounds
/// the disk, the second the work.
const MAX_RECEIVING: usize = 32;
const MAX_PROCESSING: usize = 8;
/// From how many bodies a file is extracted at the same time: the names of their members may be long.
const MAX_EXTRACTING: usize = 2;
/// How much is read or written at once.
const PART_BYTES: usize = 64 * 1024;
/// How long what stands before the content of a `data:` URL may be.
const MAX_PREFIX_BYTES: usize = 256;

/// Any padding: some senders leave it out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What files an operation takes, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Upload {
    /// A document, in JSON, which is kept as it was sent.
    Document,
    /// A picture or a video, in JSON or as a part of a form. Of a picture new ones are made.
    Media,
}

/// What uploads share.
pub(crate) struct Uploads {
    /// Where files lie until they are stored.
    folder: PathBuf,
    shares: Mutex<HashMap<BusinessId, Arc<Share>>>,
    extracting: Arc<Semaphore>,
    picture: Arc<Semaphore>,
}

/// What a business may have under way.
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
    pub(crate) members: Bytes,
    /// Stands for the bytes of the body.
    pub(crate) digest: [u8; 32],
    pub(crate) file: FileMember,
    /// End with the request.
    _permits: [Option<OwnedSemaphorePermit>; 3],
    _share: Arc<Share>,
}

/// What the body says of its file.
pub(crate) enum FileMember {
    /// Nothing, or null.
    Absent,
    /// What is wrong with it.
    Wrong(&'static str),
    /// The file.
    File(UploadedFile),
}

/// A file on the disk, which goes with this value.
pub(crate) struct UploadedFile {
    file: File,
    pub(crate) size: u64,
    /// In hexadecimal.
    pub(crate) sha256: String,
    /// What it is, by its first bytes.
    pub(crate) kind: Option<FileKind>,
}

impl Uploads {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            shares: Mutex::default(),
            extracting: Arc::new(Semaphore::new(MAX_EXTRACTING)),
            picture: Arc::new(Semaphore::new(1)),
        }
    }

    /// What the business has under way: so no business has all the disk, nor all the work.
    fn share(&self, business: BusinessId) -> Arc<Share> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        // A share that nobody else holds has no upload under way.
        shares.retain(|_, share| Arc::strong_count(share) > 1);
        Arc::clone(shares.entry(business).or_default())
    }

    /// Receives the body of a request that `upload` allows to carry a file.
    ///
    /// # Errors
    /// 400 if it is no JSON and no form, 422 (`body`) if there is too much beside the file. What is wrong with the file alone is
    /// no error here: it is reported with the other fields.
    pub(crate) async fn receive(
        &self,
        upload: Upload,
        business: BusinessId,
        request: &HttpRequest,
        payload: web::Payload,
    ) -> Result<Received, ApiError> {
        let share = self.share(business);
        let receiving = {
            let _held_back = request.conn_data::<Rc<Progress>>().map(Progress::hold_back);
            permit(&share.receiving).await?
        };
        let content_type = request.headers().get(header::CONTENT_TYPE);
        let is_form = upload == Upload::Media && content_type.is_some_and(is_form);
        let parts = Arrival::default();
        let read = async {
            if is_form {
                self.receive_form(request, payload, &parts).await
            } else {
                self.receive_json(content_type, payload, &parts).await
            }
        };
        let arrived = timeout(UPLOAD_TIMEOUT, read).await.map_err(|_| too_slow())??;
        // A sender whose body is not read for half a minute may give up, so all of it is received before this.
        let working = permit(&share.processing).await?;
        let (members, file) = match arrived {
            ReceivedBody::Form(members, file) => (members, file),
            ReceivedBody::Json(raw) => self.extract_file(raw).await?,
        };
        // One picture is held in memory at a time. What waits for that is on the disk, and takes none of the time for its work.
        let making = match &file {
            FileMember::File(file) if upload == Upload::Media && file.kind.is_some_and(FileKind::is_picture) => {
                Some(permit(&self.picture).await?)
            }
            _ => None,
        };
        Ok(Received {
            members,
            digest: parts.digest(),
            file,
            _permits: [Some(receiving), Some(working), making],
            _share: share,
        })
    }

    async fn receive_json(
        &self,
        content_type: Option<&HeaderValue>,
        payload: web::Payload,
        parts: &Arrival,
    ) -> Result<ReceivedBody, ApiError> {
        let mut raw = tokio::fs::File::from_std(spooled(&self.folder).await?);
        raw.set_max_buf_size(PART_BYTES);
        let mut payload = parts.watch(payload);
        while let Some(part) = payload.next().await {
            let part = part.map_err(|error| parts.refusal(&error))?;
            raw.write_all(&part).await.map_err(unavailable)?;
        }
        raw.flush().await.map_err(unavailable)?;
        let raw = raw.into_std().await;
        if parts.length() > 0 && content_type.is_some_and(|value| !is_json(value)) {
            return Err(ApiError::new(Code::JSON_INVALID, "send the body as application/json"));
        }
        Ok(ReceivedBody::Json(raw))
    }

    /// Extracts the file of a JSON body on another thread.
    async fn extract_file(&self, mut raw: File) -> Result<(Bytes, FileMember), ApiError> {
        let folder = self.folder.clone();
        let _permit = self.extracting.acquire().await;
        let read = spawn_blocking(move || {
            raw.seek(SeekFrom::Start(0)).map_err(unavailable)?;
            extract_file(raw, &folder)
        });
        read.await.map_err(|failure| StoreError::Other(failure.into()))?
    }

    async fn receive_form(
        &self,
        request: &HttpRequest,
        payload: web::Payload,
        parts: &Arrival,
    ) -> Result<ReceivedBody, ApiError> {
        let watched = parts.watch(payload).map(|part| part.map_err(PayloadError::Io));
        let mut form = Multipart::new(request.headers(), watched);
        let mut members = Map::new();
        let mut file = FileMember::Absent;
        let mut length = 0;
        while let Some(field) = form.next().await {
            let mut field = field.map_err(|error| parts.refusal_of_form(&error))?;
            let name = field.name().unwrap_or_default().to_owned();
            if name == FILE {
                if let Some(filename) = field.content_disposition().and_then(|about| about.get_filename()) {
                    members
                        .entry("filename")
                        .or_insert_with(|| Value::from(filename.to_owned()));
                }
                let mut spool = Spool::new(spooled(&self.folder).await?);
                while let Some(part) = field.next().await {
                    let part = part.map_err(|error| parts.refusal_of_form(&error))?;
                    spool = spawn_blocking(move || spool.write(&part).map(|()| spool))
                        .await
                        .map_err(|failure| StoreError::Other(failure.into()))?
                        .map_err(unavailable)?;
                }
                file = spool.finish().map_err(unavailable)?;
            } else {
                let mut text = Vec::new();
                while let Some(part) = field.next().await {
                    let part = part.map_err(|error| parts.refusal_of_form(&error))?;
                    length += part.len();
                    if length > MAX_TEXT_BYTES {
                        return Err(ApiError::field("body", "has too much beside the file"));
                    }
                    text.extend_from_slice(&part);
                }
                // Another file is no member that is known.
                let Ok(text) = String::from_utf8(text) else { continue };
                length += name.len();
                members.insert(name, Value::from(text));
            }
        }
        Ok(ReceivedBody::Form(Value::Object(members).to_string().into(), file))
    }
}

/// A body that has arrived.
enum ReceivedBody {
    /// JSON, on the disk.
    Json(File),
    /// The members of a form as JSON, and its file.
    Form(Bytes, FileMember),
}

/// Waits for a permit.
async fn permit(semaphore: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, ApiError> {
    match timeout(QUEUE_TIMEOUT, Arc::clone(semaphore).acquire_owned()).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => Err(StoreError::Unavailable("too many uploads are under way".into()).into()),
    }
}

/// What has arrived of a body.
#[derive(Clone, Default)]
struct Arrival(Rc<RefCell<(Sha256, u64)>>);

impl Arrival {
    /// The parts of a body that is not too long, and does not stall.
    fn watch(&self, payload: web::Payload) -> futures_util::stream::LocalBoxStream<'static, io::Result<Bytes>> {
        let arrival = self.clone();
        unfold(Some(payload), move |payload| {
            let arrival = arrival.clone();
            async move {
                let mut payload = payload?;
                let part = match timeout(STALL_TIMEOUT, payload.next()).await {
                    Ok(part) => part?.map_err(io::Error::other),
                    Err(_) => Err(io::ErrorKind::TimedOut.into()),
                };
                let part = part.and_then(|part| arrival.note(part));
                let rest = part.is_ok().then_some(payload);
                Some((part, rest))
            }
        })
        // Readers of forms look once more behind the end.
        .fuse()
        .boxed_local()
    }

    fn note(&self, part: Bytes) -> io::Result<Bytes> {
        let (digest, length) = &mut *self.0.borrow_mut();
        *length += part.len() as u64;
        if *length > MAX_UPLOAD_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        digest.update(&part);
        Ok(part)
    }

    fn length(&self) -> u64 {
        self.0.borrow().1
    }

    fn digest(&self) -> [u8; 32] {
        self.0.borrow().0.clone().finalize().into()
    }

    fn refusal(&self, error: &io::Error) -> ApiError {
        match error.kind() {
            io::ErrorKind::FileTooLarge => ApiError::field(FILE, TOO_LONG),
            io::ErrorKind::TimedOut => too_slow(),
            _ => ApiError::new(Code::JSON_INVALID, "the body broke off"),
        }
    }

    fn refusal_of_form(&self, error: &MultipartError) -> ApiError {
        match error {
            MultipartError::Payload(PayloadError::Io(error)) => self.refusal(error),
            error => ApiError::new(Code::JSON_INVALID, format!("the body is not a valid form: {error}")),
        }
    }
}

const TOO_LONG: &str = "must have at most 25 MB";

fn too_slow() -> ApiError {
    ApiError::new(Code::REQUEST_TIMEOUT, "the body did not arrive in time")
}

fn unavailable(error: io::Error) -> ApiError {
    StoreError::Unavailable(error.into()).into()
}

/// A file that is gone when it is closed, also if the process is killed.
async fn spooled(folder: &Path) -> Result<File, ApiError> {
    let folder = folder.to_owned();
    let file = spawn_blocking(move || tempfile::tempfile_in(folder)).await;
    file.map_err(|failure| StoreError::Other(failure.into()))?
        .map_err(unavailable)
}

/// Extracts the file of a JSON body: it goes to the disk, and the other members are returned as JSON.
fn extract_file(raw: File, folder: &Path) -> Result<(Bytes, FileMember), ApiError> {
    let mut found = FileMember::Absent;
    let mut members = JsonStreamWriter::new(Bounded::default());
    members.begin_object().map_err(too_much)?;
    let settings = ReaderSettings {
        track_path: false,
        max_nesting_depth: u32::try_from(MAX_BODY_DEPTH).ok(),
        // A number of any size is JSON; those that mean something are checked by their fields.
        restrict_number_values: false,
        ..ReaderSettings::default()
    };
    let mut raw = BufReader::with_capacity(PART_BYTES, raw);
    if io::BufRead::fill_buf(&mut raw).map_err(unavailable)?.is_empty() {
        return Ok((Bytes::new(), found));
    }
    let mut reader = JsonStreamReader::new_custom(raw, settings);
    if reader.peek().map_err(unreadable)? != ValueType::Object {
        reader.skip_value().map_err(unreadable)?;
        reader.consume_trailing_whitespace().map_err(unreadable)?;
        return Err(ApiError::field("body", "must be a JSON object"));
    }
    reader.begin_object().map_err(unreadable)?;
    while reader.has_next().map_err(unreadable)? {
        let name = reader.next_name_owned().map_err(unreadable)?;
        if name != FILE {
            members.name(&name).map_err(too_much)?;
            reader.transfer_to(&mut members).map_err(|error| match error {
                TransferError::ReaderError(error) => unreadable(error),
                TransferError::WriterError(error) => too_much(error),
            })?;
            continue;
        }
        found = match reader.peek().map_err(unreadable)? {
            ValueType::String => {
                let spool = tempfile::tempfile_in(folder).map_err(unavailable)?;
                decode(reader.next_string_reader().map_err(unreadable)?, spool)?
            }
            ValueType::Null => {
                reader.skip_value().map_err(unreadable)?;
                FileMember::Absent
            }
            _ => {
                reader.skip_value().map_err(unreadable)?;
                FileMember::Wrong("must be a string: the file in base64, or a data: URL of it")
            }
        };
    }
    reader.end_object().map_err(unreadable)?;
    reader.consume_trailing_whitespace().map_err(unreadable)?;
    members.end_object().map_err(too_much)?;
    let Bounded(members) = members.finish_document().map_err(too_much)?;
    Ok((members.into(), found))
}

fn unreadable(error: ReaderError) -> ApiError {
    match error {
        ReaderError::MaxNestingDepthExceeded { .. } => {
            ApiError::field("body", format!("must be nested at most {MAX_BODY_DEPTH} deep"))
        }
        error => no_json(error),
    }
}

fn no_json(error: impl Display) -> ApiError {
    ApiError::new(Code::JSON_INVALID, format!("the body is not valid JSON: {error}"))
}

fn too_much(_: io::Error) -> ApiError {
    ApiError::field("body", "must have at most 1 MiB beside the file")
}

/// A text that is as long as a JSON body may be.
#[derive(Default)]
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        if self.0.len() + part.len() > MAX_JSON_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Decodes base64, with or without a `data:` prefix, and reads the text to its end in any case.
fn decode(text: impl Read, spool: File) -> Result<FileMember, ApiError> {
    let mut spool = Spool::new(spool);
    let mut text = WithoutWhitespace(text);
    let mut head = Vec::new();
    let limit = MAX_PREFIX_BYTES as u64;
    text.by_ref().take(limit).read_to_end(&mut head).map_err(no_json)?;
    let is_base64 = match prefix_length(&head) {
        Some(length) => decode_into(&mut spool, Read::chain(&head[length..], &mut text))?,
        None => false,
    };
    io::copy(&mut text, &mut io::sink()).map_err(no_json)?;
    if is_base64 {
        spool.finish().map_err(unavailable)
    } else {
        Ok(FileMember::Wrong("must be base64, or a data: URL in base64"))
    }
}

/// Whether the text is base64, as far as it was read.
fn decode_into(spool: &mut Spool, text: impl Read) -> Result<bool, ApiError> {
    let mut content = DecoderReader::new(text, &BASE64);
    let mut part = Vec::with_capacity(PART_BYTES);
    loop {
        part.clear();
        match content.by_ref().take(PART_BYTES as u64).read_to_end(&mut part) {
            Ok(0) => return Ok(true),
            Ok(_) => spool.write(&part).map_err(unavailable)?,
            Err(error) if error.get_ref().is_some_and(|cause| cause.is::<DecodeError>()) => return Ok(false),
            Err(error) => return Err(no_json(error)),
        }
    }
}

/// Text of which nothing but the whitespace is left out: some senders break base64 into lines.
struct WithoutWhitespace<R>(R);

impl<R: Read> Read for WithoutWhitespace<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.0.read(buffer)?;
            let mut kept = 0;
            for at in 0..read {
                if !buffer[at].is_ascii_whitespace() {
                    buffer[kept] = buffer[at];
                    kept += 1;
                }
            }
            if kept > 0 || read == 0 {
                return Ok(kept);
            }
        }
    }
}

/// How much stands before the base64: nothing, or the beginning of a `data:` URL; `None` if such a URL is not in base64.
fn prefix_length(text: &[u8]) -> Option<usize> {
    let is_url = text
        .get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"data:"));
    if !is_url {
        return Some(0);
    }
    let comma = text.iter().take(MAX_PREFIX_BYTES).position(|&byte| byte == b',')?;
    text[..comma]
        .to_ascii_lowercase()
        .ends_with(b";base64")
        .then_some(comma + 1)
}

/// Writes a file to the disk.
struct Spool {
    file: File,
    size: u64,
    digest: Sha256,
    head: Vec<u8>,
}

impl Spool {
    fn new(file: File) -> Self {
        Self {
            file,
            size: 0,
            digest: Sha256::new(),
            head: Vec::new(),
        }
    }

    /// What is too long is counted, not kept.
    fn write(&mut self, part: &[u8]) -> io::Result<()> {
        self.size += part.len() as u64;
        if self.size > MAX_FILE_BYTES {
            return Ok(());
        }
        let missing = FileKind::HEAD_BYTES.saturating_sub(self.head.len());
        self.head.extend(part.iter().take(missing));
        self.digest.update(part);
        self.file.write_all(part)
    }

    fn finish(self) -> io::Result<FileMember> {
        let Self {
            mut file,
            size,
            digest,
            head,
        } = self;
        if size > MAX_FILE_BYTES {
            return Ok(FileMember::Wrong(TOO_LONG));
        }
        if size == 0 {
            return Ok(FileMember::Wrong("must not be empty"));
        }
        file.flush()?;
        Ok(FileMember::File(UploadedFile {
            file,
            size,
            sha256: in_hexadecimal(&digest.finalize()),
            kind: FileKind::of(&head),
        }))
    }
}

/// Bytes in hexadecimal digits.
pub(crate) fn in_hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl UploadedFile {
    /// Removes from a video, on the disk, what it says of places and people; yields the SHA-256 of what is left, in hexadecimal.
    /// What was opened before ends.
    ///
    /// # Errors
    /// If the thread fails; within, as [`forget_places`] does.
    pub(crate) async fn forget_places(&self) -> Result<Result<String, VideoError>, ApiError> {
        let mut file = self.file.try_clone().map_err(unavailable)?;
        let sha256 = self.sha256.clone();
        let cleaned = spawn_blocking(move || {
            if !forget_places(&mut file)? {
                return Ok(sha256);
            }
            file.rewind()?;
            let mut digest = Sha256::new();
            let mut part = vec![0; PART_BYTES];
            loop {
                match file.read(&mut part)? {
                    0 => return Ok(in_hexadecimal(&digest.finalize())),
                    read => digest.update(&part[..read]),
                }
            }
        });
        cleaned
            .await
            .map_err(|failure| StoreError::Other(failure.into()).into())
    }

    /// Its content, from the beginning. What was opened before ends.
    ///
    /// # Errors
    /// If the disk fails.
    pub(crate) async fn open(&self) -> Result<ContentStream, ApiError> {
        let file = self.file.try_clone().map_err(unavailable)?;
        let mut file = tokio::fs::File::from_std(file);
        tokio::io::AsyncSeekExt::rewind(&mut file).await.map_err(unavailable)?;
        let content = unfold(file, async |mut file| {
            let mut part = bytes::BytesMut::with_capacity(PART_BYTES);
            match file.read_buf(&mut part).await {
                Ok(0) => None,
                Ok(_) => Some((Ok(part.freeze()), file)),
                Err(error) => Some((Err(BoxError::from(error)), file)),
            }
        });
        Ok(content.boxed())
    }

    /// Its content for a decoder, from the beginning. What was opened before ends.
    ///
    /// # Errors
    /// If the disk fails.
    pub(crate) fn picture(&self) -> Result<Box<dyn PictureSource>, ApiError> {
        let mut file = self.file.try_clone().map_err(unavailable)?;
        file.rewind().map_err(unavailable)?;
        Ok(Box::new(BufReader::with_capacity(PART_BYTES, file)))
    }
}

impl Form {
    /// The file of a body, which must be there and of one of these kinds.
    pub(crate) fn file<'a>(
        &mut self,
        member: &'a FileMember,
        accepts: impl Fn(FileKind) -> bool,
        kinds: &str,
    ) -> Option<(&'a UploadedFile, FileKind)> {
        match member {
            FileMember::Absent => self.fault(FILE, "is required"),
            FileMember::Wrong(wrong) => self.fault(FILE, *wrong),
            FileMember::File(file) => match file.kind.filter(|kind| accepts(*kind)) {
                Some(kind) => return Some((file, kind)),
                None => self.fault(FILE, format!("must be {kinds}, by its content")),
            },
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use actix_web::{FromRequest as _, test::TestRequest};
    use base64::Engine as _;

    use super::*;

    fn taken(body: &[u8]) -> Result<(String, FileMember), ApiError> {
        let mut raw = tempfile::tempfile().unwrap();
        raw.write_all(body).unwrap();
        raw.rewind().unwrap();
        let (members, file) = extract_file(raw, &std::env::temp_dir())?;
        Ok((String::from_utf8(members.to_vec()).unwrap(), file))
    }

    #[track_caller]
    fn content(body: &[u8]) -> Vec<u8> {
        let (_, FileMember::File(mut file)) = taken(body).unwrap() else {
            panic!("there is no file")
        };
        file.file.rewind().unwrap();
        let mut content = Vec::new();
        file.file.read_to_end(&mut content).unwrap();
        assert_eq!(content.len() as u64, file.size);
        content
    }

    fn code(body: &[u8]) -> Code {
        taken(body).err().unwrap().into_refusal().code
    }

    #[test]
    fn a_file_is_written_to_disk_and_the_rest_is_json() {
        let body = br#" {"a": [1, {"b": "x"}], "file": "aGVsbG8=", "c": null} "#;
        assert_eq!(content(body), b"hello");
        assert_eq!(taken(body).unwrap().0, r#"{"a":[1,{"b":"x"}],"c":null}"#);
        let (members, file) = taken(b"").unwrap();
        assert!(members.is_empty() && matches!(file, FileMember::Absent));
        assert!(matches!(taken(br#"{"file": null}"#).unwrap().1, FileMember::Absent));
    }

    #[test]
    fn base64_is_read_as_senders_write_it() {
        let padded_in_between = "AAAA".repeat(PART_BYTES / 4 - 1) + "aGk=aGk=";
        for text in [
            "aGVsbG8_",
            "data:text/plain,hello",
            "aGVsbG8=aGVsbG8=",
            &padded_in_between,
            "data:;base64",
            "é",
        ] {
            let body = format!(r#"{{"file":"{text}"}}"#);
            assert!(
                matches!(taken(body.as_bytes()).unwrap().1, FileMember::Wrong(_)),
                "{text}"
            );
        }
        for text in [
            "aGVsbG8=",
            "aGVsbG8",
            r"aGVs\r\nbG8=",
            "data:image/png;base64,aGVsbG8=",
            "DATA:;BASE64,aGVsbG8=",
            r"aGVs\u0062G8=",
        ] {
            assert_eq!(
                content(format!(r#"{{"file":"{text}"}}"#).as_bytes()),
                b"hello",
                "{text}"
            );
        }
        assert_eq!(content(br#"{"file":"\/\/\u002b\/"}"#), [0xff, 0xff, 0xbf]);
    }

    #[test]
    fn long_files_are_kept_whole_up_to_the_bound() {
        let longest = vec![0xa5; usize::try_from(MAX_FILE_BYTES).unwrap()];
        let body = |content: &[u8]| format!(r#"{{"file":"{}"}}"#, BASE64.encode(content));
        assert!(content(body(&longest).as_bytes()) == longest);
        let longer = [longest.as_slice(), b"."].concat();
        let (_, file) = taken(body(&longer).as_bytes()).unwrap();
        assert!(matches!(file, FileMember::Wrong(TOO_LONG)));
        let (_, file) = taken(br#"{"file":""}"#).unwrap();
        assert!(matches!(file, FileMember::Wrong(_)));
    }

    #[test]
    fn what_is_no_json_is_refused_wherever_it_breaks() {
        for body in [
            &b"{"[..],
            br#"{"file":"aGVsbG8="#,
            br#"{"file":"aGVsbG8="} x"#,
            br#"{"file":"aGVs"bG8="}"#,
            b"{\"file\":\"\xff\"}",
            b"{\"a\":\"\xff\"}",
            br#"{"a":01}"#,
            b"x",
        ] {
            assert_eq!(code(body), Code::JSON_INVALID, "{}", String::from_utf8_lossy(body));
        }
        assert_eq!(code(b"[]"), Code::VALIDATION_FAILED);
        let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(40), "]".repeat(40));
        assert_eq!(code(deep.as_bytes()), Code::VALIDATION_FAILED);
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(MAX_JSON_BYTES));
        assert_eq!(code(long.as_bytes()), Code::VALIDATION_FAILED);
    }

    #[test]
    fn of_two_files_the_last_one_counts() {
        assert_eq!(content(br#"{"file":"aGVsbG8=","file":"aGk="}"#), b"hi");
    }

    /// What arrives of a file that is sent in JSON.
    async fn receive(uploads: &Uploads, upload: Upload, content: &[u8]) -> Received {
        let body = format!(r#"{{"file":"{}"}}"#, BASE64.encode(content));
        let (request, mut payload) = TestRequest::post().set_payload(body).to_http_parts();
        let payload = web::Payload::from_request(&request, &mut payload).await.unwrap();
        let received = uploads.receive(upload, BusinessId::new(1), &request, payload);
        received.await.unwrap()
    }

    #[tokio::test]
    async fn pictures_wait_for_each_other_before_their_work_begins() {
        let uploads = Uploads::new(std::env::temp_dir());
        let photo = b"\xff\xd8\xff\xe0\0\x10JFIF";
        let first = receive(&uploads, Upload::Media, photo).await;
        let first_has_ended = Cell::new(false);
        let second = async {
            receive(&uploads, Upload::Media, photo).await;
            assert!(first_has_ended.get());
        };
        let others = async {
            receive(&uploads, Upload::Document, photo).await;
            receive(&uploads, Upload::Media, b"\0\0\0\x18ftypmp42\0\0\0\0").await;
            first_has_ended.set(true);
            drop(first);
        };
        tokio::join!(second, others);
    }
}
