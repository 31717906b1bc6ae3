//! The commands of callers: parsed, but not yet checked against storage.

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
    ChannelOptions, ChannelOptionsPatch, Data, DataPatch, MediumKind, Registration, ReservationMaker,
    ReservationMethod, SignatureImage, StatusChoice, TimeOfDay, Upload, Vehicle, VehicleTag, YouTubeId,
};

/// `POST /2.0/vehicles`
#[derive(Clone, PartialEq, Debug)]
pub struct NewVehicle {
    /// Its stock type.
    pub kind: StockType,
    /// Its registration mark.
    pub registration: Option<Registration>,
    /// The country that it is in; by default the business's.
    pub country: Option<Country>,
    /// The staff user that it is assigned to.
    pub owner: Option<StaffId>,
    /// The record that it is a variant of.
    pub parent: Option<VehicleId>,
    /// The sections of its data.
    pub data: Box<DataPatch>,
}

/// `PATCH /2.0/vehicles/{id}`. A field that is `None` stays unchanged. `Some(None)` clears it, and resets the country to the
/// business's.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct UpdateVehicle {
    /// Its registration mark.
    pub registration: Option<Option<Registration>>,
    /// The country that it is in.
    pub country: Option<Option<Country>>,
    /// The staff user that it is assigned to.
    pub owner: Option<Option<StaffId>>,
    /// The record that it is a variant of.
    pub parent: Option<Option<VehicleId>>,
    /// The changes of its data.
    pub data: Box<DataPatch>,
}

/// `PUT /2.0/vehicles/{id}/channels`
#[derive(Clone, PartialEq, Debug)]
pub struct SetChannels {
    /// The ids of the channels to publish it on, which replace the present ones; `None` leaves them.
    pub channels: Option<Vec<String>>,
    /// The changes of the channels' advertising options.
    pub options: ChannelOptionsPatch,
}

/// `PUT /2.0/vehicles/{id}/tags`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetTags {
    /// The full set of tags. If a tag is chosen more than once, the last choice counts.
    pub tags: Vec<TagChoice>,
}

/// The date of a reservation, as a caller gives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReservationDate {
    /// A day.
    Day(Date),
    /// A moment.
    Moment(Timestamp),
}

impl ReservationDate {
    /// Returns the moment; for a day its first one in UTC.
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
    /// The contact that reserves it.
    pub customer: ContactId,
    /// The payment method of the deposit.
    pub method: ReservationMethod,
    /// The deposit including any tax; by default the vehicle's or the business's own.
    pub deposit: Option<Money>,
    /// The date of the agreement; by default today in UTC.
    pub date: Option<ReservationDate>,
    /// The payer's or the terminal's reference of the payment; may be empty.
    pub transaction: Line,
    /// `true` to invoice a deposit that is paid.
    pub create_invoice: bool,
    /// The document that reserves it, if it is no caller of the vehicle's own operation.
    pub made_by: Option<ReservationMaker>,
}

/// `POST /2.0/vehicles/{id}/sale`
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SellVehicle {
    /// The contact that buys it.
    pub customer: Option<ContactId>,
    /// The agreed price.
    pub price: Option<Money>,
    /// The day of the sale; by default today in UTC.
    pub date: Option<Date>,
}

/// `POST /2.0/vehicles/{id}/appraisal/offer`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MakeOffer {
    /// The offer: above 0.
    pub offer: Money,
    /// The maximum offer: not below the offer.
    pub max_offer: Option<Money>,
    /// The last day of the offer: today in UTC or later.
    pub expiry: Date,
    /// The staff user who appraised the vehicle.
    pub appraised_by: StaffId,
    /// Their notes; may be empty.
    pub comments: LongText,
}

/// `POST /2.0/vehicles/{id}/appraisal/accept`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AcceptOffer {
    /// The agreed amount: above 0, and at most the maximum offer. By default it is the offer.
    pub agreed_amount: Option<Money>,
}

/// `POST /2.0/vehicles/{id}/documents`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddVehicleDocument {
    /// The caller's file name, of which only the last part of a path is used. The default is `document`.
    pub filename: Option<String>,
    /// A description; may be empty unless the document is public.
    pub description: LongText,
    /// `true` if it may be shown to the public.
    pub public: bool,
    /// The file, whose content is already stored.
    pub file: StoredFile,
}

/// `PATCH /2.0/vehicles/{id}/documents/{document_id}`. A field that is `None` stays unchanged.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UpdateVehicleDocument {
    /// The description.
    pub description: Option<LongText>,
    /// `true` if it may be shown to the public.
    pub public: Option<bool>,
}

/// `POST /2.0/vehicles/{id}/media`
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AddMedium {
    /// A file whose content is already stored.
    File {
        /// Its kind; by default a picture becomes a photo and a video a video.
        kind: Option<MediumKind>,
        /// The file, and the copies made from it.
        upload: Upload,
    },
    /// A video on YouTube.
    YouTube(YouTubeId),
}

/// `PUT /2.0/vehicles/{id}/media/order`
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OrderMedia {
    /// The ids of the media to show first, in this order.
    pub media: Vec<String>,
}

/// `POST /2.0/vehicles/{id}/test-drives`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StartDrive {
    /// The contact that drives.
    pub contact: ContactId,
    /// The number of the driving licence; by default the contact's.
    pub license_number: Option<Line>,
    /// The code with which a third party may check the licence; by default the contact's.
    pub license_code: Option<Line>,
    /// The day on which the vehicle must be back.
    pub return_date: Option<Date>,
    /// The time of that day.
    pub return_time: Option<TimeOfDay>,
    /// The level of the tank or the battery in percent, 0 to 100.
    pub fuel: Option<i64>,
    /// Notes of the staff; may be empty.
    pub note: LongText,
    /// The condition of the vehicle; may be empty.
    pub condition: LongText,
    /// The location at which the drive starts.
    pub location: Option<LocationRef>,
    /// `true` if the contact consented to the storage of their data.
    pub consent: bool,
}

/// `POST /2.0/vehicles/{id}/test-drives/esign`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignDrive {
    /// The name of the signer in print; not empty.
    pub name: Line,
    /// The signature.
    pub signature: SignatureImage,
    /// The address that the request came from.
    pub ip: String,
    /// The `User-Agent` of the request, cut to a line.
    pub browser: String,
}

/// `POST /2.0/vehicles/{id}/test-drives/photo`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddDrivePhoto {
    /// The caller's file name, of which only the last part of a path is used. The default is `photo` or `video`, with the usual
    /// extension.
    pub filename: Option<String>,
    /// The file, and the copies made from it.
    pub upload: Upload,
}

/// Reads the member `data` of a body that creates or changes a vehicle.
///
/// # Errors
/// Every fault with its dot-path: unknown fields, fields that cannot be written, and invalid values.
pub fn read_data(
    sent: &Json,
    business: &Business,
    now: Timestamp,
    creating: bool,
) -> Result<Box<DataPatch>, ValidationErrors> {
    let (patch, found) = validate_data(sent, business, now, creating);
    found.into_result(patch)
}

/// As [`read_data`], but also returns the values that could be read in spite of the faults. So a caller with more to validate can
/// report all faults together.
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
/// Every fault with its dot-path; unknown fields are ignored.
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

/// A filter of vehicles (decisions §7). A field that is `None` does not restrict the result.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct VehicleFilter {
    /// Stock type.
    pub kind: Option<StockType>,
    /// State.
    pub status: Option<StatusChoice>,
    /// Registration mark, in the form of [`Registration::key`].
    pub registration: Option<String>,
    /// Short code.
    pub tag: Option<VehicleTag>,
    /// The staff user that the vehicle is assigned to.
    pub owner: Option<StaffId>,
    /// A channel that it is published on.
    pub channel: Option<String>,
    /// The name of a tag that it carries.
    pub tag_name: Option<String>,
    /// Time of creation.
    pub created: Option<Range<Timestamp>>,
    /// Time of the last change.
    pub updated: Option<Range<Timestamp>>,
    /// A lead that it is associated with.
    pub lead: Option<LeadId>,
    /// Conditions on fields of its data.
    pub fields: Vec<FieldFilter>,
}

/// A condition on a field of a vehicle's data.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FieldFilter {
    /// The filter's name, under which storage keeps the value to compare.
    pub name: &'static str,
    /// The condition.
    pub wanted: FieldCondition,
}

/// The condition of a field filter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FieldCondition {
    /// One of these texts, folded.
    AnyOf(Vec<String>),
    /// A text that matches.
    Text(TextFilter),
    /// A number in this range; amounts of money are in minor units.
    Within(Range<i64>),
}

impl FieldCondition {
    /// Returns `true` if a field with this key meets the condition.
    pub fn accepts(&self, key: &Key) -> bool {
        match (self, key) {
            (Self::AnyOf(texts), Key::Text(text)) => texts.contains(text),
            (Self::Text(filter), Key::Text(text)) => filter.matches(text),
            (Self::Within(range), Key::Number(number)) => range.contains(number),
            _ => false,
        }
    }
}

/// Returns every filter by a field of a vehicle's data, as the fields declare them.
pub fn field_filters() -> Vec<FilterInfo> {
    let mut filters = Vec::new();
    Data::each_filter(&mut |filter| filters.push(filter));
    filters
}

impl FilterInfo {
    /// Returns the condition for a text or a pattern. The condition covers each name under which a record may keep the text, so
    /// that a filter accepts the same names as a write. `make` is the make that the same request filters by.
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

    /// Returns the condition for `text`. It does not apply to the kinds that compare numbers.
    ///
    /// # Errors
    /// A message that says what the text must be.
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
                // A location that was removed before former ones were kept can still be named by its id.
                Ok(FieldCondition::AnyOf(found.chain([fold(text)]).collect()))
            }
            FilterKind::Number | FilterKind::Range | FilterKind::MoneyRange => Err("must be a number".into()),
        }
    }
}

impl Vehicle {
    /// Returns the values that filters compare.
    pub fn keys(&self) -> Vec<(&'static str, Key)> {
        let mut keys = Vec::new();
        // A price filter never matches a vehicle on application (decisions §8).
        let hides_price = self.content.data.setting.is_price_on_application();
        self.content.data.each_key(&mut |name, key| {
            if !(hides_price && name == "price") {
                keys.push((name, key));
            }
        });
        keys
    }
}

impl VehicleFilter {
    /// Returns `true` if the filter accepts `vehicle`. The association with a lead is not part of the vehicle and is not checked.
    /// A search in storage, which uses columns, must find the same vehicles.
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
