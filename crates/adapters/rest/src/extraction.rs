//! Extracts the members of a body that carries a file, and writes the file to the disk.

use std::{
    fmt::Display,
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    path::Path,
    pin::pin,
    sync::Arc,
};

use actix_multipart::{Field as Part, Multipart, MultipartError};
use actix_web::{
    error::PayloadError,
    http::header::{self, HeaderMap, HeaderValue},
};
use base64::{
    DecodeError,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
    read::DecoderReader,
};
use bytes::Bytes;
use forecourt_files::{ContentStream, FileKind, MAX_FILE_BYTES, PictureSource, VideoError, forget_places};
use forecourt_kernel::{
    BoxError, BusinessId, StoreError,
    bounds::{MAX_BODY_DEPTH, MAX_FORM_NAME_BYTES, MAX_FORM_PARTS, MAX_PART_HEAD_BYTES},
};
use futures_util::{
    FutureExt as _, StreamExt as _,
    stream::{iter, unfold},
};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use struson::{
    reader::{JsonReader as _, JsonStreamReader, ReaderError, ReaderSettings, TransferError, ValueType},
    writer::{JsonStreamWriter, JsonWriter as _},
};
use tokio::io::AsyncReadExt as _;

use crate::{
    body::{Form, MAX_JSON_BYTES},
    code::Code,
    error::ApiError,
    fair_semaphore::FairPermit,
    json_names::BoundedNames,
    parsing::{Abandoned, ParsePool, RawBody},
};

/// The member or part that is the file.
pub(crate) const FILE: &str = "file";
pub(crate) const TOO_LONG: &str = "must have at most 25 MB";
/// The maximum length of all parts of a form together, apart from the file.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// The number of bytes that are read or written at once.
const PART_BYTES: usize = 64 * 1024;
/// The maximum length of the text before the content of a `data:` URL.
const MAX_PREFIX_BYTES: usize = 256;

/// Any padding is accepted, since some senders leave it out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A body on the disk, as it was sent. Only the code that [`SentUpload::extract`] runs sees its bytes.
pub(crate) struct SentUpload {
    body: File,
    format: Format,
}

/// The format of a body.
enum Format {
    Json,
    /// With the `Content-Type`, which names the boundary between its parts.
    Form(HeaderValue),
}

/// The file member of a body.
pub(crate) enum FileMember {
    /// Nothing, or null.
    Absent,
    /// The fault of the member.
    Wrong(&'static str),
    /// The file.
    File(UploadedFile),
}

/// A file on the disk, which is removed with this value.
pub(crate) struct UploadedFile {
    file: File,
    pub(crate) size: u64,
    /// The SHA-256 in hexadecimal.
    pub(crate) sha256: String,
    /// Its type, by its first bytes.
    pub(crate) kind: Option<FileKind>,
    /// The permit under which a picture is made of it.
    pub(crate) turn: Option<Arc<FairPermit>>,
}

/// The content of a body: the members apart from the file, as JSON, and the file.
pub(crate) type Extracted = (RawBody, FileMember);

impl SentUpload {
    pub(crate) const fn json(body: File) -> Self {
        Self {
            body,
            format: Format::Json,
        }
    }

    pub(crate) const fn form(body: File, content_type: HeaderValue) -> Self {
        Self {
            body,
            format: Format::Form(content_type),
        }
    }

    /// Reads the body on a thread of the pool, and writes its file to `folder`.
    ///
    /// # Errors
    /// 400 if it does not match its `Content-Type`, 422 if it is too large.
    pub(crate) async fn extract(
        self,
        pool: &ParsePool,
        business: BusinessId,
        folder: &Path,
    ) -> Result<Extracted, ApiError> {
        let folder = folder.to_owned();
        pool.run(business, move |abandoned| {
            let Self { mut body, format } = self;
            body.seek(SeekFrom::Start(0)).map_err(unavailable)?;
            match format {
                Format::Json => extract_json(body, &folder, abandoned),
                Format::Form(content_type) => extract_form(body, content_type, &folder, abandoned),
            }
        })
        .await
    }
}

/// Extracts the members and the file of a form.
pub(crate) fn extract_form(
    body: impl Read + 'static,
    content_type: HeaderValue,
    folder: &Path,
    abandoned: &Abandoned,
) -> Result<Extracted, ApiError> {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, content_type);
    let content = iter(Parts(abandoned.watch(body))).map(|part| part.map_err(PayloadError::Io));
    let mut reading = pin!(read_form(Multipart::new(&headers, content), folder));
    loop {
        // All content is available, so a reader that pauses continues at once.
        if let Some(read) = reading.as_mut().now_or_never() {
            return read;
        }
        abandoned.check().map_err(unavailable)?;
    }
}

/// Content in parts of [`PART_BYTES`].
struct Parts<R>(R);

impl<R: Read> Iterator for Parts<R> {
    type Item = io::Result<Bytes>;

    fn next(&mut self) -> Option<io::Result<Bytes>> {
        let mut part = Vec::with_capacity(PART_BYTES);
        match self.0.by_ref().take(PART_BYTES as u64).read_to_end(&mut part) {
            Ok(0) => None,
            Ok(_) => Some(Ok(part.into())),
            Err(error) => Some(Err(error)),
        }
    }
}

async fn read_form(mut form: Multipart, folder: &Path) -> Result<Extracted, ApiError> {
    let mut members = Map::new();
    let mut file = FileMember::Absent;
    let (mut parts, mut length) = (0, 0);
    while let Some(field) = form.next().await {
        let mut field = field.map_err(|error| refusal_of_form(&error))?;
        parts += 1;
        check_part(&field, parts)?;
        let name = field.name().unwrap_or_default().to_owned();
        if name == FILE {
            if let Some(filename) = filename_of(&field) {
                members
                    .entry("filename")
                    .or_insert_with(|| Value::from(filename.to_owned()));
            }
            let mut spool = Spool::new(spool_file(folder).map_err(unavailable)?);
            while let Some(part) = field.next().await {
                let part = part.map_err(|error| refusal_of_form(&error))?;
                spool.write(&part).map_err(unavailable)?;
            }
            file = spool.finish().map_err(unavailable)?;
        } else {
            let mut text = Vec::new();
            while let Some(part) = field.next().await {
                let part = part.map_err(|error| refusal_of_form(&error))?;
                length += part.len();
                if length > MAX_TEXT_BYTES {
                    return Err(ApiError::field("body", "has too much beside the file"));
                }
                text.extend_from_slice(&part);
            }
            // Other parts that are files are not known members.
            let Ok(text) = String::from_utf8(text) else { continue };
            members.insert(name, Value::from(text));
        }
    }
    let members = Bytes::from(Value::Object(members).to_string());
    Ok((members.into(), file))
}

fn filename_of(part: &Part) -> Option<&str> {
    part.content_disposition().and_then(|about| about.get_filename())
}

/// Checks a part of a form, the `nth` of it, before its content is read.
fn check_part(part: &Part, nth: usize) -> Result<(), ApiError> {
    if nth > MAX_FORM_PARTS {
        return Err(ApiError::field(
            "body",
            format!("must have at most {MAX_FORM_PARTS} parts"),
        ));
    }
    let name = part.name().unwrap_or_default();
    if name.len() > MAX_FORM_NAME_BYTES {
        let message = format!("must name its parts in at most {MAX_FORM_NAME_BYTES} bytes, which part {nth} does not");
        return Err(ApiError::field("body", message));
    }
    let field = if name.is_empty() { "body" } else { name };
    if filename_of(part).is_some_and(|filename| filename.len() > MAX_FORM_NAME_BYTES) {
        let message = format!("must have a file name of at most {MAX_FORM_NAME_BYTES} bytes, which part {nth} has not");
        return Err(ApiError::field(field, message));
    }
    // Each counts with its colon, space and line end.
    let lines = part.headers().iter();
    let head: usize = lines.map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if head > MAX_PART_HEAD_BYTES {
        let message = format!("must have a head of at most {MAX_PART_HEAD_BYTES} bytes, which part {nth} has not");
        return Err(ApiError::field(field, message));
    }
    Ok(())
}

fn refusal_of_form(error: &MultipartError) -> ApiError {
    match error {
        MultipartError::Payload(PayloadError::Io(_)) => unavailable(io::Error::other("the body cannot be read again")),
        // The reader's limit for a line or a head is sixteen times that of a head.
        MultipartError::Payload(PayloadError::Overflow) => {
            let message = format!("must have parts with heads of at most {MAX_PART_HEAD_BYTES} bytes each");
            ApiError::field("body", message)
        }
        error => ApiError::new(Code::JSON_INVALID, format!("the body is not a valid form: {error}")),
    }
}

/// Extracts the members and the file of a JSON body.
pub(crate) fn extract_json(body: impl Read, folder: &Path, abandoned: &Abandoned) -> Result<Extracted, ApiError> {
    let mut found = FileMember::Absent;
    let mut members = JsonStreamWriter::new(Bounded::default());
    members.begin_object().map_err(too_much)?;
    let settings = ReaderSettings {
        track_path: false,
        max_nesting_depth: u32::try_from(MAX_BODY_DEPTH).ok(),
        // A number of any size is JSON; the fields check the numbers that they use.
        restrict_number_values: false,
        ..ReaderSettings::default()
    };
    let mut body = BufReader::with_capacity(PART_BYTES, abandoned.watch(body));
    if body.fill_buf().map_err(unavailable)?.is_empty() {
        return Ok((RawBody::default(), found));
    }
    let mut reader = JsonStreamReader::new_custom(BoundedNames::new(body, MAX_JSON_BYTES), settings);
    if reader.peek().map_err(unreadable)? != ValueType::Object {
        reader.skip_value().map_err(unreadable)?;
        reader.consume_trailing_whitespace().map_err(unreadable)?;
        return Err(ApiError::field("body", "must be a JSON object"));
    }
    reader.begin_object().map_err(unreadable)?;
    let mut files = 0;
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
        // Of several the last one counts, but each is decoded.
        files += 1;
        if files > MAX_FORM_PARTS {
            return Err(ApiError::field(FILE, "must be sent once"));
        }
        found = match reader.peek().map_err(unreadable)? {
            ValueType::String => {
                let spool = spool_file(folder).map_err(unavailable)?;
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
    Ok((Bytes::from(members).into(), found))
}

fn unreadable(error: ReaderError) -> ApiError {
    match error {
        ReaderError::IoError { error, .. } if error.kind() == io::ErrorKind::FileTooLarge => too_much(error),
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

/// A text that is limited to the length of a JSON body.
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

/// Decodes base64, with or without a `data:` prefix. Reads the text to its end in any case.
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

/// Decodes the text into `spool`. Returns true if it is base64, as far as it was read.
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

/// Text without its whitespace: some senders break base64 into lines.
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

/// Returns the length of the prefix before the base64, which is empty or the beginning of a `data:` URL; `None` if such a URL
/// is not in base64.
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
    file: BufWriter<File>,
    size: u64,
    digest: Sha256,
    head: Vec<u8>,
}

impl Spool {
    fn new(file: File) -> Self {
        Self {
            file: BufWriter::with_capacity(PART_BYTES, file),
            size: 0,
            digest: Sha256::new(),
            head: Vec::new(),
        }
    }

    /// Bytes beyond the limit are counted, not stored.
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
            file,
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
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(FileMember::File(UploadedFile {
            file,
            size,
            sha256: in_hexadecimal(&digest.finalize()),
            kind: FileKind::of(&head),
            turn: None,
        }))
    }
}

pub(crate) fn unavailable(error: io::Error) -> ApiError {
    StoreError::Unavailable(error.into()).into()
}

/// Opens a file that is deleted when it is closed, even if the process is killed. If the folder is missing or cannot be
/// written, as on a server that stores nothing else there, the file is among the system's temporary files.
pub(crate) fn spool_file(folder: &Path) -> io::Result<File> {
    tempfile::tempfile_in(folder).or_else(|_| tempfile::tempfile())
}

/// Formats bytes as hexadecimal digits.
pub(crate) fn in_hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl UploadedFile {
    /// Removes the metadata on places and people from a video on the disk. Returns the SHA-256 of the rest, in hexadecimal.
    /// Content opened before becomes invalid.
    ///
    /// # Errors
    /// If the thread fails; within, as [`forget_places`] does.
    pub(crate) async fn forget_places(
        &self,
        pool: &ParsePool,
        business: BusinessId,
    ) -> Result<Result<String, VideoError>, ApiError> {
        let mut file = self.file.try_clone().map_err(unavailable)?;
        let sha256 = self.sha256.clone();
        let cleaned = move |file: &mut File| -> Result<String, VideoError> {
            if !forget_places(file)? {
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
        };
        pool.run(business, move |_| Ok(cleaned(&mut file))).await
    }

    /// Opens its content at the beginning. Content opened before becomes invalid.
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
        // A store may poll once more after the end.
        Ok(content.fuse().boxed())
    }

    /// Opens its content for a decoder, at the beginning. Content opened before becomes invalid.
    ///
    /// # Errors
    /// If the disk fails.
    pub(crate) fn picture(&self) -> Result<Box<dyn PictureSource>, ApiError> {
        let mut file = self.file.try_clone().map_err(unavailable)?;
        file.rewind().map_err(unavailable)?;
        Ok(Box::new(InTurn {
            content: BufReader::with_capacity(PART_BYTES, file),
            _turn: self.turn.clone(),
        }))
    }
}

/// Content that holds its permit until it has been read, even if the request has ended by then.
struct InTurn {
    content: BufReader<File>,
    _turn: Option<Arc<FairPermit>>,
}

impl Read for InTurn {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.content.read(buffer)
    }
}

impl BufRead for InTurn {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.content.fill_buf()
    }

    fn consume(&mut self, read: usize) {
        self.content.consume(read);
    }
}

impl Seek for InTurn {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.content.seek(to)
    }

    fn seek_relative(&mut self, offset: i64) -> io::Result<()> {
        self.content.seek_relative(offset)
    }
}

impl Form {
    /// Returns the file of a body, which must be present and of one of these kinds.
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
    use base64::Engine as _;
    use futures_util::FutureExt as _;

    use super::*;

    fn taken(body: &[u8]) -> Result<(String, FileMember), ApiError> {
        let (members, file) = extract_json(body, &std::env::temp_dir(), &Abandoned::default())?;
        Ok((members.text(), file))
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
        let many = format!("{{{}\"a\":1}}", r#""file":"aGk=","#.repeat(101));
        assert_eq!(code(many.as_bytes()), Code::VALIDATION_FAILED);
    }

    #[test]
    fn a_name_or_a_number_of_any_length_is_too_much() {
        for body in [
            format!(r#"{{"{}":1}}"#, "a".repeat(MAX_JSON_BYTES + 1)),
            format!(r#"{{"a":{}}}"#, "1".repeat(MAX_JSON_BYTES + 1)),
        ] {
            assert_eq!(code(body.as_bytes()), Code::VALIDATION_FAILED);
        }
    }

    #[tokio::test]
    async fn content_may_be_asked_for_more_behind_its_end() {
        let (_, FileMember::File(file)) = taken(br#"{"file":"aGVsbG8="}"#).unwrap() else {
            panic!("there is no file")
        };
        let mut content = file.open().await.unwrap();
        assert_eq!(content.next().await.unwrap().unwrap(), &b"hello"[..]);
        assert!(content.next().await.is_none());
        assert!(content.next().now_or_never().unwrap().is_none());
    }

    #[test]
    fn work_ends_when_nobody_waits_for_it() {
        let body = format!(r#"{{"file":"{}"}}"#, "A".repeat(4 * PART_BYTES));
        let abandoned = Abandoned::default();
        abandoned.set();
        assert!(extract_json(body.as_bytes(), &std::env::temp_dir(), &abandoned).is_err());
    }
}
