//! Schemas of the values that callers send, with the bounds of the types that read them.

use std::str::FromStr;

use forecourt_kernel::{
    Cursor, EventName, PageRequest,
    bounds::{MAX_FIELDS_BYTES, MAX_ITEMS, MAX_LINE_CHARS},
};
use forecourt_leads::LeadStatus;
use forecourt_listings::{Feed, RemovalReason};
use forecourt_reference::{DocumentKind, StockType, TagResource, UnknownValue};
use forecourt_vehicles::{MediumKind, Registration, StatusChoice, VehicleTag, YouTubeId};
use forecourt_webhooks::{DeliveryStatus, Topic};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        KnownFormat, RefOr, SchemaFormat,
        extensions::Extensions,
        schema::{AnyOfBuilder, ArrayBuilder, ArrayItems, ObjectBuilder, Schema, Type},
    },
};

use crate::tail::MAX_WAIT;

/// The stock types whose vehicles have tags.
pub(crate) const TAGGED_STOCK_TYPES: [StockType; 4] = [
    StockType::InStock,
    StockType::ToOrder,
    StockType::Customer,
    StockType::Courtesy,
];

/// Returns the schema of a whole number.
pub(crate) fn integer() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
}

/// Returns the schema of a member `success` that is always this value. utoipa has no method for `const`.
pub(crate) fn always(value: bool) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Boolean)
        .description(Some(if value { "Always true." } else { "Always false" }))
        .extensions(Some(Extensions::from_iter([("const", value)])))
}

/// Returns the schema of the member `success` of an answer that is not a refusal.
pub(crate) fn success() -> RefOr<Schema> {
    always(true).into()
}

/// Returns the schema of a line of text.
pub(crate) fn line() -> ObjectBuilder {
    text(MAX_LINE_CHARS)
}

/// Returns the schema of a text with a maximum number of characters.
pub(crate) fn text(most: usize) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).max_length(Some(most))
}

/// The pattern of a text that is not blank, as declarations have it; the document adds that there is no NUL in it.
pub(crate) const NOT_BLANK: &str = r"\S";

/// Returns the schema of a line of text that is not blank.
pub(crate) fn non_blank_line() -> ObjectBuilder {
    line().pattern(Some(NOT_BLANK))
}

/// Returns the schema of an array with the maximum length of arrays in bodies.
pub(crate) fn array(items: impl Into<ArrayItems>) -> ArrayBuilder {
    ArrayBuilder::new().items(items).max_items(Some(MAX_ITEMS))
}

/// Returns the schema of the two bounds of a range, of which an empty one is open.
pub(crate) fn range(bound: Type) -> ArrayBuilder {
    let open = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([""]));
    let bound = match bound {
        Type::Integer => integer(),
        kind => ObjectBuilder::new().schema_type(kind),
    };
    ArrayBuilder::new()
        .items(AnyOfBuilder::new().item(bound).item(open))
        .min_items(Some(1))
        .max_items(Some(2))
}

/// Returns the schema of the two bounds of a range of days, of which an empty one is open.
fn days() -> ArrayBuilder {
    let day = ObjectBuilder::new()
        .schema_type(Type::String)
        .max_length(Some("2026-01-01".len()))
        .pattern(Some(r"^$|^\d{4}-\d{2}-\d{2}$"));
    ArrayBuilder::new().items(day).min_items(Some(1)).max_items(Some(2))
}

/// Returns the schema of one of these words.
pub(crate) fn words<T: Into<String>>(words: impl IntoIterator<Item = T>) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(words.into_iter().map(Into::into)))
}

/// Returns the words that `T` is parsed from, taken from the error for any other word.
fn words_of<T: FromStr<Err = UnknownValue>>() -> impl Iterator<Item = &'static str> {
    let words: &[_] = match T::from_str("") {
        Ok(_) => &[],
        Err(UnknownValue(words)) => words,
    };
    words.iter().copied()
}

/// Returns the resources that events concern, each once.
fn event_resources() -> Vec<&'static str> {
    let mut resources: Vec<_> = EventName::ALL.iter().map(|event| event.resource()).collect();
    resources.dedup();
    resources
}

/// Returns the schema of a vehicle's new status.
pub(crate) fn vehicle_status() -> RefOr<Schema> {
    let id = ObjectBuilder::new().schema_type(Type::Integer);
    let id = id.minimum(Some(1)).maximum(Some(4));
    let status = AnyOfBuilder::new().item(id).item(VehicleStatusParameter::schema());
    Schema::AnyOf(status.description(Some("Its id, 1 to 4, or its name.")).build()).into()
}

/// Returns the schema of the reason why a vehicle is no longer listed.
pub(crate) fn removal_reason() -> RefOr<Schema> {
    let about = "Why: it was sold too long ago, taken off the website, put into a state in which it is not offered, or deleted.";
    let words = words(RemovalReason::ALL.map(RemovalReason::as_str));
    words.description(Some(about)).into()
}

/// Types that stand for parameters whose text has a bound of its own.
macro_rules! parameter_schemas {
    ($($(#[$doc:meta])+ $name:ident = $schema:expr;)+) => {$(
        $(#[$doc])+
        pub(crate) enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                $schema.into()
            }
        }

        impl ToSchema for $name {}
    )+};
}

parameter_schemas! {
    /// The parameter `view`.
    ViewParameter = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["simple", "full"]));
    /// The name of a feed.
    FeedName = words(Feed::ALL.map(Feed::name));
    /// A stock type, by slug or by key.
    StockTypeParameter = words(words_of::<StockType>());
    /// The stock type of vehicles that have tags, by key.
    TaggedStockTypeParameter = words(TAGGED_STOCK_TYPES.map(StockType::key));
    /// The state of a vehicle, by id or by name.
    VehicleStatusParameter = words(words_of::<StatusChoice>().chain(["1", "2", "3", "4"]));
    /// The kind of a document.
    DocumentKindParameter = words(words_of::<DocumentKind>());
    /// A kind of record that can be tagged, in the singular or the plural.
    TagResourceParameter = words(words_of::<TagResource>());
    /// Names of events.
    EventNames = ArrayBuilder::new()
        .items(words(EventName::ALL.iter().map(|event| event.as_str())))
        .min_items(Some(1))
        .max_items(Some(MAX_ITEMS));
    /// The topic of a delivery: an event, or a test.
    TopicParameter = words(EventName::ALL.iter().map(|event| event.as_str()).chain([Topic::Ping.as_str()]));
    /// The resources that events concern.
    EventResource = words(event_resources());
    /// The status of a delivery.
    DeliveryStatusParameter = words([DeliveryStatus::Pending, DeliveryStatus::Delivered, DeliveryStatus::Failed].map(DeliveryStatus::as_str));
    /// The new status of a lead.
    LeadStatusWord = words(LeadStatus::ALL.map(LeadStatus::name));
    /// The kind of a new photo or video.
    MediumKindWord = words(words_of::<MediumKind>());
    /// A registration mark: letters, digits and hyphens, with any spacing, without control characters between them.
    RegistrationMark = line().pattern(Some(format!(
        r"^\s*([^\s\x00-\x1F\x7F-\x9F][^\S\x00-\x1F\x7F-\x9F]*){{0,{}}}\s*$",
        Registration::MAX_CHARS,
    )));
    /// The tag of a vehicle, in either case.
    VehicleTagText = text(VehicleTag::MAX_CHARS).pattern(Some(format!(
        "^$|^[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{{{},{}}}$",
        VehicleTag::MIN_CHARS,
        VehicleTag::MAX_CHARS,
    )));
    /// The id of a video on YouTube.
    YouTubeIdText = text(YouTubeId::CHARS).min_length(Some(YouTubeId::CHARS)).pattern(Some("^[A-Za-z0-9_-]+$"));
    /// true or false.
    TruthWord = words(["true", "false"]);
    /// The parameter `fields`.
    Fields = text(MAX_FIELDS_BYTES);
    /// A range of moments, as `created[]` gives it.
    MomentRange = range(Type::Integer);
    /// A range of whole numbers, as `year[]` gives it.
    NumberRange = range(Type::Integer);
    /// A range of amounts of money, as `price[]` gives it.
    MoneyRange = range(Type::Number);
    /// A range of amounts of money, as `gross[]` gives it.
    AmountRange = range(Type::Number);
    /// A range of days, as `date[]` gives it.
    DayRange = days();
    /// A file of the type PDF.
    PdfFile = ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary)));
    /// The parameter `cursor`.
    CursorParameter = text(Cursor::MAX_BYTES);
    /// The parameter `cursor` of the event log: a position in it, or its end.
    EventCursor = text(Cursor::MAX_BYTES).pattern(Some("^(latest|0*[0-9]{1,18})$"));
    /// The parameter `page`.
    PageNumber = integer().minimum(Some(1));
    /// The parameter `per_page`.
    PerPage = integer().minimum(Some(1)).maximum(Some(PageRequest::MAX_PER_PAGE));
    /// The parameter `wait`, in seconds.
    Wait = integer().minimum(Some(0)).maximum(Some(MAX_WAIT.as_secs()));
    /// The number of a change, or 0 for none.
    Sequence = integer().minimum(Some(0));
    /// The id of some record.
    RecordNumber = integer().minimum(Some(1));
    /// The id of a medium of a vehicle.
    MediumId = text(32);
    /// The id of a document of a vehicle.
    DocumentId = text(20);
    /// The code of a test drive.
    DriveCode = text(8);
}
