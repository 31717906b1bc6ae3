//! Test drives: the contact that drives, the terms, and the time of return (contract, "Test drive"; decisions §7).

use std::fmt::{self, Write as _};
use std::str::FromStr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use forecourt_accounts::{Business, Caller};
use forecourt_files::{FileKind, FileName, SignedAddresses};
use forecourt_kernel::{ContactId, Date, Line, LongText, Mail, Random, Scope, StaffId, Timestamp, VehicleId, View};
use md5::{Digest as _, Md5};
use serde::{Deserialize, Serialize};
use sha1::Sha1;

use crate::{Vehicle, mails::TestDriveSummary};

forecourt_kernel::ids! {
    /// Identifies a test drive, uniquely across businesses.
    TestDriveId;
}

/// Digits and capitals without U and without those that are easily misread (0 and O, 1, I and L).
const ALPHABET: &[u8; 30] = b"23456789ABCDEFGHJKMNPQRSTVWXYZ";
const CODE_CHARS: usize = 8;

/// A short code that names a test drive, unique in its business.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DriveCode(String);

impl DriveCode {
    /// Draws a code. Another drive is unlikely to have it: there are 30⁸ codes.
    pub fn random(random: &dyn Random) -> Self {
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        let mut number = u64::from_be_bytes(bytes);
        let mut code = String::with_capacity(CODE_CHARS);
        for _ in 0..CODE_CHARS {
            let at = number % ALPHABET.len() as u64;
            code.push(usize::try_from(at).map_or('2', |at| char::from(ALPHABET[at])));
            number /= ALPHABET.len() as u64;
        }
        Self(code)
    }

    /// Wraps a code from storage.
    pub const fn stored(code: String) -> Self {
        Self(code)
    }

    /// Returns the code as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Reads a code, case-sensitively.
impl FromStr for DriveCode {
    type Err = InvalidDriveCode;

    fn from_str(text: &str) -> Result<Self, InvalidDriveCode> {
        if text.len() == CODE_CHARS && text.bytes().all(|byte| ALPHABET.contains(&byte)) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidDriveCode)
        }
    }
}

/// The error for a text that cannot be the code of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no test drive has such a code")]
pub struct InvalidDriveCode;

impl fmt::Display for DriveCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A time of day to the minute, written `HH:MM`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeOfDay {
    minutes: u16,
}

impl TimeOfDay {
    /// Returns the minutes since midnight.
    fn minutes(self) -> u32 {
        self.minutes.into()
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.minutes / 60, self.minutes % 60)
    }
}

impl FromStr for TimeOfDay {
    type Err = InvalidTimeOfDay;

    fn from_str(text: &str) -> Result<Self, InvalidTimeOfDay> {
        let &[h1, h2, b':', m1, m2] = text.as_bytes() else {
            return Err(InvalidTimeOfDay);
        };
        let number = |tens: u8, ones: u8| {
            let is_number = tens.is_ascii_digit() && ones.is_ascii_digit();
            is_number.then(|| u16::from(tens - b'0') * 10 + u16::from(ones - b'0'))
        };
        match (number(h1, h2), number(m1, m2)) {
            (Some(hours), Some(minutes)) if hours < 24 && minutes < 60 => Ok(Self {
                minutes: hours * 60 + minutes,
            }),
            _ => Err(InvalidTimeOfDay),
        }
    }
}

impl TryFrom<String> for TimeOfDay {
    type Error = InvalidTimeOfDay;

    fn try_from(text: String) -> Result<Self, InvalidTimeOfDay> {
        text.parse()
    }
}

impl From<TimeOfDay> for String {
    fn from(time: TimeOfDay) -> Self {
        time.to_string()
    }
}

/// The error for a text that is not a time of day.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be a time in the form HH:MM")]
pub struct InvalidTimeOfDay;

/// The image of a signature, as the caller sent it: a data URL of a PNG or JPEG picture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignatureImage(String);

impl SignatureImage {
    /// Maximum length of the data URL, in bytes.
    pub const MAX_BYTES: usize = 512 * 1024;

    /// Returns the data URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SignatureImage {
    type Err = InvalidSignature;

    fn from_str(text: &str) -> Result<Self, InvalidSignature> {
        if text.len() > Self::MAX_BYTES {
            return Err(InvalidSignature::TooLong);
        }
        let kinds = [FileKind::Png, FileKind::Jpeg];
        let said = kinds.into_iter().find_map(|kind| {
            let beginning = format!("data:{};base64,", kind.mime());
            let (head, content) = text.split_at_checked(beginning.len())?;
            head.eq_ignore_ascii_case(&beginning).then_some((kind, content))
        });
        let (kind, content) = said.ok_or(InvalidSignature::NoImage)?;
        let bytes = BASE64_STANDARD.decode(content).map_err(|_| InvalidSignature::NoImage)?;
        if FileKind::of(&bytes) == Some(kind) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidSignature::NoImage)
        }
    }
}

/// The reasons why a text is not the image of a signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidSignature {
    /// It is not the data URL of an image.
    #[error("must be a base64 data URL of a PNG or JPEG image")]
    NoImage,
    /// It is too long.
    #[error("must have at most {} bytes", SignatureImage::MAX_BYTES)]
    TooLong,
}

/// The signature of a test drive's terms. Its serialised form is part of the drive's document: a new member needs
/// `#[serde(default)]`, and no member is ever renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DriveSignature {
    /// The name of the signer in print.
    pub name: Line,
    /// The time of signing.
    pub signed: Timestamp,
    /// The address that the request came from.
    pub ip: String,
    /// The `User-Agent` of the request.
    pub browser: Line,
    /// The MD5 of the terms, in hexadecimal.
    pub terms_md5: String,
    /// The SHA-1 of the terms, in hexadecimal.
    pub terms_sha1: String,
    /// The image as a data URL. It is long, so it is kept outside the document. `None` if the drive was read without it; saving
    /// such a drive leaves the image unchanged. Empty once the person is erased.
    #[serde(skip)]
    pub signature: Option<String>,
}

/// Returns the MD5 and SHA-1 of a text in hexadecimal, as the contract requires. They identify the text and protect nothing.
pub(crate) fn digests(text: &str) -> (String, String) {
    let hexadecimal = |bytes: &[u8]| {
        bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    };
    (
        hexadecimal(&Md5::digest(text.as_bytes())),
        hexadecimal(&Sha1::digest(text.as_bytes())),
    )
}

/// A photo or video of a test drive. Its serialised form is part of the drive's document: a new member needs `#[serde(default)]`,
/// and no member is ever renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DrivePhoto {
    /// The caller's file name.
    pub filename: Line,
    /// `true` for a video.
    pub video: bool,
    /// The name of the file in the store.
    pub file: FileName,
    /// The name of its smallest copy; `None` for a video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thumbnail: Option<FileName>,
}

/// The content of a test drive: everything except its id, its vehicle and its code.
///
/// Storage keeps its serialised form as one document: a new member needs `#[serde(default)]`, and no member is ever renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TestDriveContent {
    /// The contact that drives; `None` once the contact is deleted.
    pub contact: Option<ContactId>,
    /// The number of the driving licence.
    pub license_number: Line,
    /// The code with which a third party may check the licence.
    pub license_code: Line,
    /// `true` if the number was given for the drive, `false` if it was copied from the contact.
    #[serde(default, skip_serializing_if = "is_false")]
    pub gave_license_number: bool,
    /// `true` if the code was given for the drive, `false` if it was copied from the contact.
    #[serde(default, skip_serializing_if = "is_false")]
    pub gave_license_code: bool,
    /// The driver's national insurance number, as of the start of the drive.
    pub ni: Line,
    /// The driver's date of birth, as of the start of the drive.
    pub dob: Option<Date>,
    /// The day of the licence's last check, as of the start of the drive.
    pub license_checked: Option<Date>,
    /// The staff user who checked it.
    pub license_checked_by: Option<StaffId>,
    /// The day on which the vehicle must be back.
    pub return_date: Option<Date>,
    /// The time of that day.
    pub return_time: Option<TimeOfDay>,
    /// The level of the tank or the battery, in percent.
    pub fuel: Option<u8>,
    /// Notes of the staff; may be empty.
    pub note: LongText,
    /// The condition of the vehicle; may be empty.
    pub condition: LongText,
    /// The id of the location at which the drive started.
    pub location: Option<String>,
    /// `true` if the contact consented to the storage of their data.
    pub consent: bool,
    /// Photos and videos, in the order in which they were added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub photos: Vec<DrivePhoto>,
    /// The signature of the terms; `None` until they are signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub esign: Option<DriveSignature>,
    /// The time of the start.
    pub started: Timestamp,
    /// The time of the end; `None` while the drive is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// A test drive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestDrive {
    /// Its id, unique across businesses.
    pub id: TestDriveId,
    /// The vehicle.
    pub vehicle: VehicleId,
    /// Its code, unique within the business.
    pub code: DriveCode,
    /// Everything else.
    pub content: TestDriveContent,
}

impl TestDrive {
    /// Maximum number of photos and videos of a drive.
    pub const MAX_PHOTOS: usize = 100;

    /// Returns `true` if it has not ended. At most one drive of a vehicle is active.
    pub const fn is_active(&self) -> bool {
        self.content.ended.is_none()
    }
}

/// The values that a test drive copies from the record of the contact that drives.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Driver {
    /// Name; may be empty.
    pub name: String,
    /// E-mail address; may be empty.
    pub email: String,
    /// The number of the driving licence; may be empty.
    pub license_number: String,
    /// The code with which a third party may check the licence; may be empty.
    pub license_code: String,
    /// The day on which the licence was last checked.
    pub license_checked: Option<Date>,
    /// The staff user who checked it.
    pub license_checked_by: Option<StaffId>,
    /// National insurance number; may be empty.
    pub ni: String,
    /// Date of birth.
    pub dob: Option<Date>,
}

/// A test drive.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TestDrive))]
pub struct TestDriveView<'a> {
    /// Code of the drive.
    #[cfg_attr(feature = "openapi", schema(example = "K7M2XQ9B"))]
    code: &'a str,
    /// `true` if the drive has not ended.
    active: bool,
    /// Contact that drives; null once the contact is deleted.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    contact: Option<ContactId>,
    /// Number of the driving licence; may be empty. A number from the contact's record is shown only with the scope
    /// contacts:read.
    license_number: &'a str,
    /// Code with which a third party may check the licence; may be empty. A code from the contact's record is shown only with the
    /// scope contacts:read.
    license_code: &'a str,
    /// National insurance number; may be empty. Shown only with the scope contacts:read.
    ni: &'a str,
    /// Date of birth; null if unknown. Shown only with the scope contacts:read.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = Date, required))]
    dob: Option<Date>,
    /// Day on which the licence was last checked before the drive; null if it was not. Shown only with the scope contacts:read.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = Date, required))]
    license_checked: Option<Date>,
    /// Name of the staff user who checked it; empty if unknown. Shown only with the scope contacts:read.
    license_checked_by: String,
    /// Day on which the vehicle must be back; null if none was given.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = Date, required))]
    return_date: Option<Date>,
    /// Time of that day, as HH:MM; empty if none was given.
    #[cfg_attr(feature = "openapi", schema(example = "16:30"))]
    return_time: String,
    /// Level of the tank or the battery in percent; null if it was not given.
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 100, required))]
    fuel: Option<u8>,
    /// Notes of the staff; may be empty.
    note: &'a str,
    /// Condition of the vehicle; may be empty.
    condition: &'a str,
    /// Number of the location at which the drive started; null if none was given.
    #[cfg_attr(feature = "openapi", schema(required))]
    location: Option<i64>,
    /// Name of that location; empty if none was given.
    location_name: &'a str,
    /// `true` if the contact consented to the storage of their data.
    consent: bool,
    /// Photos and videos.
    photo: Vec<DrivePhotoView<'a>>,
    /// Signature of the terms; null if there is none.
    #[cfg_attr(feature = "openapi", schema(required))]
    esign: Option<DriveSignatureView<'a>>,
    /// Time of the start, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    started: Timestamp,
    /// Time of the end, epoch seconds; null while the drive is active.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    ended: Option<Timestamp>,
}

/// A photo or video of a test drive.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TestDrivePhoto))]
pub struct DrivePhotoView<'a> {
    /// File name.
    filename: &'a str,
    /// `true` for a video.
    video: bool,
    /// Address of the content, valid for up to 15 minutes. A later read shows a new one.
    url: String,
    /// Address of the smallest copy, valid for as long; null for a video.
    #[cfg_attr(feature = "openapi", schema(required))]
    thumbnail_url: Option<String>,
}

/// The signature of a test drive's terms.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TestDriveSignature))]
struct DriveSignatureView<'a> {
    /// Name of the signer in print.
    name: &'a str,
    /// Image as a data URL; null in the simple view.
    #[cfg_attr(feature = "openapi", schema(required, max_length = 524_288))]
    signature: Option<&'a str>,
    /// Time of signing, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    signed: Timestamp,
    /// Address that the request came from.
    ip: &'a str,
    /// `User-Agent` of the request.
    browser: &'a str,
    /// MD5 of the terms, in hexadecimal.
    terms_md5: &'a str,
    /// SHA-1 of the terms, in hexadecimal.
    terms_sha1: &'a str,
}

impl<'a> TestDriveView<'a> {
    /// Returns the representation of `drive`, a drive of the caller's business, for `by`. Values that were copied from the
    /// contact's record are shown only to callers that may read contacts.
    pub fn new(drive: &'a TestDrive, by: &'a Caller, addresses: &SignedAddresses, view: View) -> Self {
        let business = &*by.business;
        let may_read_contact = by.may(Scope::ContactsRead);
        let copied = |text: &'a Line| if may_read_contact { text.as_str() } else { "" };
        let TestDrive {
            id: _,
            vehicle: _,
            code,
            content,
        } = drive;
        let TestDriveContent {
            contact,
            license_number,
            license_code,
            gave_license_number,
            gave_license_code,
            ni,
            dob,
            license_checked,
            license_checked_by,
            return_date,
            return_time,
            fuel,
            note,
            condition,
            location,
            consent,
            photos,
            esign,
            started,
            ended,
        } = content;
        let checker = |id: StaffId| {
            let staff = business.catalogue.staff.iter().find(|staff| staff.id == id);
            staff.map_or_else(|| id.to_string(), |staff| staff.name.clone())
        };
        let signed = |esign: &'a DriveSignature| DriveSignatureView {
            name: esign.name.as_str(),
            signature: esign.signature.as_deref().filter(|_| view == View::Full),
            signed: esign.signed,
            ip: &esign.ip,
            browser: esign.browser.as_str(),
            terms_md5: &esign.terms_md5,
            terms_sha1: &esign.terms_sha1,
        };
        Self {
            code: code.as_str(),
            active: drive.is_active(),
            contact: *contact,
            license_number: match gave_license_number {
                true => license_number.as_str(),
                false => copied(license_number),
            },
            license_code: match gave_license_code {
                true => license_code.as_str(),
                false => copied(license_code),
            },
            ni: copied(ni),
            dob: dob.filter(|_| may_read_contact),
            license_checked: license_checked.filter(|_| may_read_contact),
            license_checked_by: license_checked_by
                .filter(|_| may_read_contact)
                .map(checker)
                .unwrap_or_default(),
            return_date: *return_date,
            return_time: return_time.map(|time| time.to_string()).unwrap_or_default(),
            fuel: *fuel,
            note: note.as_str(),
            condition: condition.as_str(),
            location: location
                .as_deref()
                .and_then(|id| business.catalogue.location_number(id)),
            location_name: location.as_deref().map_or("", |id| location_name(business, id)),
            consent: *consent,
            photo: photos
                .iter()
                .map(|photo| DrivePhotoView::new(photo, business, addresses))
                .collect(),
            esign: esign.as_ref().map(signed),
            started: *started,
            ended: *ended,
        }
    }
}

/// Returns the name of the location with this id, or the id itself if the business never had one.
fn location_name<'a>(business: &'a Business, id: &'a str) -> &'a str {
    let mut known = business.catalogue.known_locations();
    known
        .find(|location| location.id == id)
        .map_or(id, |location| &location.name)
}

impl<'a> DrivePhotoView<'a> {
    /// Returns the representation of a photo of one of the drives of `business`.
    pub fn new(photo: &'a DrivePhoto, business: &Business, addresses: &SignedAddresses) -> Self {
        let DrivePhoto {
            filename,
            video,
            file,
            thumbnail,
        } = photo;
        Self {
            filename: filename.as_str(),
            video: *video,
            url: addresses.of(business.id, file),
            thumbnail_url: thumbnail.as_ref().map(|name| addresses.of(business.id, name)),
        }
    }
}

/// The mail with a summary of a test drive and its terms, for the contact that drives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DriveSummary {
    /// The drive's code.
    pub code: DriveCode,
    /// The contact.
    pub contact: ContactId,
    /// The mail.
    pub mail: Mail,
}

impl DriveSummary {
    /// Summarises `drive` for `driver`, who has an e-mail address.
    pub(crate) fn new(
        drive: &TestDrive,
        contact: ContactId,
        driver: &Driver,
        vehicle: &Vehicle,
        business: &Business,
    ) -> Self {
        let content = &drive.content;
        let started = content.started;
        let place = content.location.as_deref().map(|id| location_name(business, id));
        let zone = business.time_zone();
        let day = content.return_date.map(|day| day.to_string()).unwrap_or_default();
        // A time without a day belongs to the day on which the drive started.
        let zone_day = content.return_date.unwrap_or_else(|| zone.date(started));
        let shown = |time: TimeOfDay| format!("{time} {}", zone.abbreviation(zone_day, time.minutes()));
        let time = content.return_time.map(shown).unwrap_or_default();
        let return_by = format!("{day} {time}");
        let summary = TestDriveSummary {
            name: driver.name.trim(),
            business: &business.name,
            vehicle: &vehicle.description(),
            code: drive.code.as_str(),
            started: &zone.show(started),
            location: place.unwrap_or_default(),
            return_by: return_by.trim(),
            terms: business.settings.test_drive_terms.as_deref().unwrap_or_default().trim(),
        };
        Self {
            code: drive.code.clone(),
            contact,
            mail: business.mail(&driver.email, &summary),
        }
    }
}

/// The result of mailing the summary of a test drive.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TestDriveEmail))]
pub struct DriveEmailView<'a> {
    /// Code of the drive.
    code: &'a str,
    /// Contact that drives.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    contact: ContactId,
    /// Address that the mail was sent to.
    email: &'a str,
    /// `true` if it was sent.
    sent: bool,
}

impl<'a> DriveEmailView<'a> {
    /// Returns the result for the mail of `summary`.
    pub fn new(summary: &'a DriveSummary, sent: bool) -> Self {
        Self {
            code: summary.code.as_str(),
            contact: summary.contact,
            email: &summary.mail.to,
            sent,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Of([u8; 8]);

    impl Random for Of {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.copy_from_slice(&self.0);
        }
    }

    #[test]
    fn codes_have_eight_unambiguous_characters() {
        for bytes in [[0; 8], [255; 8], [1, 2, 3, 4, 5, 6, 7, 8]] {
            let code = DriveCode::random(&Of(bytes));
            assert_eq!(code.as_str().len(), CODE_CHARS);
            assert!(code.as_str().bytes().all(|byte| ALPHABET.contains(&byte)), "{code}");
            assert_eq!(code.as_str().parse(), Ok(code));
        }
        for text in [
            "",
            "2345678",
            "234567890",
            "2345678a",
            "2345678O",
            "234567\08",
            "2345678É",
        ] {
            assert_eq!(text.parse::<DriveCode>(), Err(InvalidDriveCode), "{text:?}");
        }
    }

    #[test]
    fn times_are_of_a_day() {
        for text in ["00:00", "09:30", "23:59"] {
            assert_eq!(text.parse::<TimeOfDay>().unwrap().to_string(), text);
        }
        for text in ["", "24:00", "12:60", "9:30", "12:3a", "12-30", "12:300", "+1:30"] {
            assert_eq!(text.parse::<TimeOfDay>(), Err(InvalidTimeOfDay), "{text}");
        }
    }

    #[test]
    fn signatures_are_images() {
        let url = |mime: &str, bytes: &[u8]| format!("data:{mime};base64,{}", BASE64_STANDARD.encode(bytes));
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        let jpeg = b"\xff\xd8\xff\xe0\0\x10JFIF";
        for good in [url("image/png", png), url("IMAGE/JPEG", jpeg)] {
            assert_eq!(good.parse::<SignatureImage>().unwrap().as_str(), good);
        }
        for bad in [
            url("image/png", jpeg),
            url("image/webp", b"RIFF\x24\0\0\0WEBPVP8 "),
            url("image/png", b""),
            "data:image/png;base64,*".to_owned(),
            "é".repeat(20),
            String::new(),
        ] {
            assert_eq!(bad.parse::<SignatureImage>(), Err(InvalidSignature::NoImage), "{bad}");
        }
        let mut long = png.to_vec();
        long.resize(SignatureImage::MAX_BYTES, 0);
        let long = url("image/png", &long);
        assert_eq!(long.parse::<SignatureImage>(), Err(InvalidSignature::TooLong));
    }

    #[test]
    fn digests_are_those_of_others() {
        let (md5, sha1) = digests("abc");
        assert_eq!(md5, "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(sha1, "a9993e364706816aba3e25717850c26c9cd0d89d");
    }

    proptest! {
        #[test]
        fn no_text_is_read_as_what_it_is_not(text in "\\PC{0,8}") {
            if let Ok(time) = text.parse::<TimeOfDay>() {
                prop_assert_eq!(time.to_string(), text.clone());
            }
            prop_assert!(text.parse::<SignatureImage>().is_err());
        }
    }
}
