//! The requests of callers: parsed, not yet checked against what storage holds.

use forecourt_accounts::Business;
use forecourt_files::StoredFile;
use forecourt_kernel::{
    ContactId, Country, Date, LeadId, Line, LongText, Money, Range, StaffId, TextFilter, Timestamp, ValidationErrors,
    VehicleId, fold,
};
use forecourt_reference::{Catalogue, LocationRef, OptionList, StockType, TagChoice, Taxonomy, VehicleClass};
use serde_json::Value as Json;

use crate::declare::{FieldValue, FilterInfo, FilterKind, Key, Reader, Rules};
use crate::{
    ChannelOptions, ChannelOptionsPatch, Data, DataPatch, MediumKind, Registration, ReservationMethod, SignatureImage,
    StatusChoice, TimeOfDay, Upload, Vehicle, VehicleTag, YouTubeId,
};

/// `POST /2.0/vehicles`
#[derive(Clone, PartialEq, Debug)]
pub struct NewVehicle {
    /// Its stock type.
    pub kind: StockType,
    /// Its registration mark.
    pub registration: Option<Registration>,
    /// The country that it is in; the business's if it is not given.
    pub country: Option<Country>,
    /// Who of the staff it is assigned to.
    pub owner: Option<StaffId>,
    /// The record that it is a variant of.
    pub parent: Option<VehicleId>,
    /// What is known of it.
    pub data: Box<DataPatch>,
}

/// `PATCH /2.0/vehicles/{id}`. What is `None` stays; what is `Some(None)` goes, and the country back to the business's.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct UpdateVehicle {
    /// Its registration mark.
    pub registration: Option<Option<Registration>>,
    /// The country that it is in.
    pub country: Option<Option<Country>>,
    /// Who of the staff it is assigned to.
    pub owner: Option<Option<StaffId>>,
    /// The record that it is a variant of.
    pub parent: Option<Option<VehicleId>>,
    /// What changes of what is known of it.
    pub data: Box<DataPatch>,
}

/// `PUT /2.0/vehicles/{id}/channels`
#[derive(Clone, PartialEq, Debug)]
pub struct SetChannels {
    /// The channels that it is to be published on, by id, and no others; `None` leaves them.
    pub channels: Option<Vec<String>>,
    /// What to change of how channels advertise it.
    pub options: ChannelOptionsPatch,
}

/// `PUT /2.0/vehicles/{id}/tags`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetTags {
    /// The full set of tags; of several choices of one tag the last counts.
    pub tags: Vec<TagChoice>,
}

/// When a reservation was agreed on, as a caller gives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReservationDate {
    /// On this day.
    Day(Date),
    /// At this moment.
    Moment(Timestamp),
}

impl ReservationDate {
    /// The moment; of a day its first one in UTC.
    pub fn moment(self) -> Timestamp {
        match self {
            Self::Day(day) => day.midnight(),
            Self::Moment(moment) => moment,
        }
    }
}

/// `POST /2.0/vehicles/{id}/reserve`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReserveVehicle {
    /// The contact that it is for.
    pub customer: ContactId,
    /// How the deposit is paid.
    pub method: ReservationMethod,
    /// The deposit with any tax inside it; the vehicle's or the business's own if it is not given.
    pub deposit: Option<Money>,
    /// When it was agreed on; today in UTC if that is not given.
    pub date: Option<ReservationDate>,
    /// What the payer or the terminal calls the payment; may be empty.
    pub transaction: Line,
    /// Whether to invoice a deposit that is paid.
    pub create_invoice: bool,
}

/// `POST /2.0/vehicles/{id}/sale`
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SellVehicle {
    /// The contact that buys it.
    pub customer: Option<ContactId>,
    /// The price that was agreed on.
    pub price: Option<Money>,
    /// The day of the sale; today in UTC if it is not given.
    pub date: Option<Date>,
}

/// `POST /2.0/vehicles/{id}/appraisal/offer`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MakeOffer {
    /// The offer: above 0.
    pub offer: Money,
    /// The most that may be offered: not below the offer.
    pub max_offer: Option<Money>,
    /// The last day of the offer: today in UTC or later.
    pub expiry: Date,
    /// Who of the staff appraised the vehicle.
    pub appraised_by: StaffId,
    /// What they noted; may be empty.
    pub comments: LongText,
}

/// `POST /2.0/vehicles/{id}/appraisal/accept`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AcceptOffer {
    /// What was agreed on: above 0, and at most the most that may be offered; the offer if it is not given.
    pub agreed_amount: Option<Money>,
}

/// `POST /2.0/vehicles/{id}/documents`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddVehicleDocument {
    /// What the caller calls the file: the last part of it counts. Without one it is called `document`.
    pub filename: Option<String>,
    /// What it is, in words; may be empty unless it is public.
    pub description: LongText,
    /// Whether it may be shown to the public.
    pub public: bool,
    /// The file, whose content is stored.
    pub file: StoredFile,
}

/// `PATCH /2.0/vehicles/{id}/documents/{document_id}`. What is `None` stays.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UpdateVehicleDocument {
    /// What it is, in words.
    pub description: Option<LongText>,
    /// Whether it may be shown to the public.
    pub public: Option<bool>,
}

/// `POST /2.0/vehicles/{id}/media`
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AddMedium {
    /// A file whose content is stored.
    File {
        /// Its kind; if it is not given, a picture becomes a photo and a video a video.
        kind: Option<MediumKind>,
        /// The file, and what was made of it.
        upload: Upload,
    },
    /// A video on YouTube.
    YouTube(YouTubeId),
}

/// `PUT /2.0/vehicles/{id}/media/order`
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OrderMedia {
    /// The ids of the media to show first, in their order.
    pub media: Vec<String>,
}

/// `POST /2.0/vehicles/{id}/test-drives`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StartDrive {
    /// The contact that drives.
    pub contact: ContactId,
    /// The number of their driving licence; the contact's if it is not given.
    pub license_number: Option<Line>,
    /// The code by which a third party may look it up; the contact's if it is not given.
    pub license_code: Option<Line>,
    /// The day on which the vehicle is to be back.
    pub return_date: Option<Date>,
    /// At what time of that day.
    pub return_time: Option<TimeOfDay>,
    /// How full the tank or the battery is, in percent: 0 to 100.
    pub fuel: Option<i64>,
    /// What staff note; may be empty.
    pub note: LongText,
    /// The condition of the vehicle; may be empty.
    pub condition: LongText,
    /// Where the drive starts.
    pub location: Option<LocationRef>,
    /// Whether the contact agreed that their data are kept.
    pub consent: bool,
}

/// `POST /2.0/vehicles/{id}/test-drives/esign`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignDrive {
    /// Who signs, in print; not empty.
    pub name: Line,
    /// The signature.
    pub signature: SignatureImage,
    /// The address that the request came from.
    pub ip: String,
    /// What the request's sender calls itself; cut to a line.
    pub browser: String,
}

/// `POST /2.0/vehicles/{id}/test-drives/photo`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddDrivePhoto {
    /// What the caller calls the file: the last part of it counts. Without one it is called `photo` or `video`, with the usual
    /// ending.
    pub filename: Option<String>,
    /// The file, and what was made of it.
    pub upload: Upload,
}

/// Reads the member `data` of a body that creates a vehicle, or changes one.
///
/// # Errors
/// Every fault with its dot-path: unknown fields, fields that cannot be written, values that do not fit.
pub fn read_data(
    sent: &Json,
    business: &Business,
    now: Timestamp,
    creating: bool,
) -> Result<Box<DataPatch>, ValidationErrors> {
    let (patch, found) = validate_data(sent, business, now, creating);
    found.into_result(patch)
}

/// As [`read_data`], and also returns what could be read beside the faults: a caller with more to validate reports all faults
/// together.
pub fn validate_data(
    sent: &Json,
    business: &Business,
    now: Timestamp,
    creating: bool,
) -> (Box<DataPatch>, ValidationErrors) {
    let rules = Rules {
        catalogue: &business.catalogue,
        now,
        creating,
    };
    let mut reader = Reader::new(rules, "data");
    let patch = Box::new(Data::read(sent, &mut reader).unwrap_or_default());
    let mut errors = reader.into_errors();
    if let Some(vehicle) = &patch.vehicle {
        errors.extend(vehicle.validate_words(&business.catalogue.vehicle_options));
    }
    (patch, errors)
}

/// Reads the member `options` of `PUT /2.0/vehicles/{id}/channels`.
///
/// # Errors
/// Every fault with its dot-path; what is unknown is passed over.
pub fn read_channel_options(
    sent: &Json,
    business: &Business,
    now: Timestamp,
) -> Result<ChannelOptionsPatch, ValidationErrors> {
    let rules = Rules {
        catalogue: &business.catalogue,
        now,
        creating: false,
    };
    let mut reader = Reader::new(rules, "options").lenient();
    let patch = ChannelOptions::read(sent, &mut reader).unwrap_or_default();
    reader.into_errors().into_result(patch)
}

/// Which vehicles a list is of (decisions §7). What is `None` does not narrow it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct VehicleFilter {
    /// Of this stock type.
    pub kind: Option<StockType>,
    /// In this state.
    pub status: Option<StatusChoice>,
    /// With this registration mark, as [`Registration::key`] spells it.
    pub registration: Option<String>,
    /// With this tag.
    pub tag: Option<VehicleTag>,
    /// Assigned to this staff user.
    pub owner: Option<StaffId>,
    /// Published on this channel.
    pub channel: Option<String>,
    /// Carrying the tag of this name.
    pub tag_name: Option<String>,
    /// Made then.
    pub created: Option<Range<Timestamp>>,
    /// Last changed then.
    pub updated: Option<Range<Timestamp>>,
    /// Associated with this lead.
    pub lead: Option<LeadId>,
    /// Whose fields are so.
    pub fields: Vec<FieldFilter>,
}

/// What a field must be for a vehicle to pass.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FieldFilter {
    /// The filter's name, under which storage keeps what it compares.
    pub name: &'static str,
    /// What it must be.
    pub wanted: FieldCondition,
}

/// What a filter wants.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FieldCondition {
    /// One of these texts, folded.
    AnyOf(Vec<String>),
    /// A text that matches.
    Text(TextFilter),
    /// A number within; of money the minor units.
    Within(Range<i64>),
}

impl FieldCondition {
    /// Whether a field with this key passes.
    pub fn accepts(&self, key: &Key) -> bool {
        match (self, key) {
            (Self::AnyOf(texts), Key::Text(text)) => texts.contains(text),
            (Self::Text(filter), Key::Text(text)) => filter.matches(text),
            (Self::Within(range), Key::Number(number)) => range.contains(number),
            _ => false,
        }
    }
}

/// Every filter by a field of a vehicle's data, as the fields' declarations say.
pub fn field_filters() -> Vec<FilterInfo> {
    let mut filters = Vec::new();
    Data::each_filter(&mut |filter| filters.push(filter));
    filters
}

impl FilterInfo {
    /// The condition for a text or a pattern. A text is sought under each name that a record may keep it by: a filter
    /// understands the names that a write does. `make` is the make that is filtered by beside it.
    pub fn of_pattern(&self, wanted: TextFilter, make: Option<&str>, catalogue: &Catalogue) -> FieldCondition {
        let TextFilter::Exact(text) = &wanted else {
            return FieldCondition::Text(wanted);
        };
        let mut texts = vec![text.clone()];
        let mut add = |name: &str| {
            let name = fold(name);
            if !texts.contains(&name) {
                texts.push(name);
            }
        };
        match (self.name, self.name.parse::<OptionList>()) {
            ("make", _) => Taxonomy::built_in().spellings_of_make(text).for_each(add),
            ("model", _) => Taxonomy::built_in().spellings_of_model(make, text).for_each(add),
            (_, Ok(list)) => {
                let classes = VehicleClass::ALL.into_iter().map(Some).chain([None]);
                classes
                    .filter_map(|class| list.find(text, class, &catalogue.vehicle_options))
                    .for_each(&mut add);
            }
            _ => {}
        }
        if texts.len() > 1 {
            FieldCondition::AnyOf(texts)
        } else {
            FieldCondition::Text(wanted)
        }
    }

    /// The condition for `text`; not for the kinds that compare numbers.
    ///
    /// # Errors
    /// What the text must be.
    pub fn of_text(&self, text: &str, catalogue: &Catalogue) -> Result<FieldCondition, String> {
        match self.kind {
            FilterKind::Pattern => TextFilter::parse(text)
                .map(FieldCondition::Text)
                .map_err(|error| error.to_string()),
            FilterKind::Text => Ok(FieldCondition::AnyOf(vec![fold(text)])),
            FilterKind::Location => {
                let named = |location: &&forecourt_reference::Location| {
                    location.id == text || fold(&location.name) == fold(text)
                };
                let found = catalogue
                    .known_locations()
                    .filter(named)
                    .map(|location| fold(&location.id));
                // A location that was given up before former ones were kept may still be named by its id.
                Ok(FieldCondition::AnyOf(found.chain([fold(text)]).collect()))
            }
            FilterKind::Number | FilterKind::Range | FilterKind::MoneyRange => Err("must be a number".into()),
        }
    }
}

impl Vehicle {
    /// What filters compare its fields by.
    pub fn keys(&self) -> Vec<(&'static str, Key)> {
        let mut keys = Vec::new();
        self.content.data.each_key(&mut |name, key| keys.push((name, key)));
        keys
    }
}

impl VehicleFilter {
    /// Whether `vehicle` passes; the association with a lead is not part of the vehicle, and is not checked. What storage finds
    /// by its columns is what passes here.
    pub fn matches(&self, vehicle: &Vehicle) -> bool {
        let Self {
            kind,
            status,
            registration,
            tag,
            owner,
            channel,
            tag_name,
            created,
            updated,
            lead: _,
            fields,
        } = self;
        let content = &vehicle.content;
        let mark = content.registration.as_ref().map(Registration::key);
        let keys = vehicle.keys();
        let is = |filter: &FieldFilter| {
            let key = keys.iter().find(|(name, _)| *name == filter.name);
            key.is_some_and(|(_, key)| filter.wanted.accepts(key))
        };
        kind.is_none_or(|kind| kind == content.kind)
            && status.is_none_or(|status| status.means(content.status))
            && registration.as_deref().is_none_or(|wanted| mark == Some(wanted))
            && tag.as_ref().is_none_or(|tag| *tag == vehicle.tag)
            && owner.is_none_or(|owner| content.owner == Some(owner))
            && channel
                .as_ref()
                .is_none_or(|channel| content.channels.contains(channel))
            && tag_name
                .as_ref()
                .is_none_or(|name| content.tags.iter().any(|tag| tag.name == *name))
            && created.is_none_or(|range| range.contains(&vehicle.created))
            && updated.is_none_or(|range| range.contains(&vehicle.updated))
            && fields.iter().all(is)
    }
}
