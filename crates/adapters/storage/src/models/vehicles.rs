use std::collections::BTreeMap;

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sqlite::Sqlite;
use forecourt_kernel::{
    BoxError, BusinessId, ContactId, StaffId, StoreError, StoreResult, Timestamp, VehicleId, Version,
};
use forecourt_vehicles::{Key, Registration, Vehicle, VehiclePreview, VehicleStatus};

use super::changes::values;
use crate::error::other;
use crate::preview::Preview;

/// The length of a text in the column that filters compare, and so in its index, in characters: less than any index's limit, and
/// more than a line of text may have.
const KEY_CHARS: usize = 600;

/// Returns the value of the column for a text that filters compare.
pub(crate) fn key_of(text: &str) -> String {
    text.chars().take(KEY_CHARS).collect()
}

/// The columns of a vehicle that are read. The document has everything but its identity and its stamps.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::vehicles, check_for_backend(Pg, Sqlite))]
pub(crate) struct VehicleRow {
    pub(crate) id: i64,
    pub(crate) tag: String,
    pub(crate) created: i64,
    pub(crate) updated: i64,
    pub(crate) version: i64,
    pub(crate) document: String,
}

impl TryFrom<VehicleRow> for Vehicle {
    type Error = StoreError;

    fn try_from(row: VehicleRow) -> StoreResult<Self> {
        let VehicleRow {
            id,
            tag,
            created,
            updated,
            version,
            document,
        } = row;
        let unreadable =
            |failure: BoxError| StoreError::Other(format!("vehicle {id} cannot be read: {failure}").into());
        Ok(Self {
            id: VehicleId::new(id),
            tag: tag.parse().map_err(|failure| unreadable(BoxError::from(failure)))?,
            created: Timestamp::from_epoch_seconds(created),
            updated: Timestamp::from_epoch_seconds(updated),
            version: Version::new(version),
            content: serde_json::from_str(&document).map_err(|failure| unreadable(failure.into()))?,
        })
    }
}

/// A new vehicle, but for the id that the database gives it.
#[derive(Clone, Debug, Insertable)]
#[diesel(table_name = crate::schema::vehicles, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
pub(crate) struct NewVehicleRow {
    pub(crate) business_id: i64,
    pub(crate) tag: String,
    pub(crate) created: i64,
    #[diesel(embed)]
    pub(crate) values: VehicleValues,
}

impl NewVehicleRow {
    /// The row of `vehicle`, which is new.
    pub(crate) fn new(business: BusinessId, vehicle: &Vehicle) -> StoreResult<Self> {
        Ok(Self {
            business_id: business.get(),
            tag: vehicle.tag.to_string(),
            created: vehicle.created.epoch_seconds(),
            values: VehicleValues::new(vehicle)?,
        })
    }
}

/// The columns of a vehicle that are written, first and at each change.
#[derive(Clone, Debug, Insertable, AsChangeset)]
#[diesel(table_name = crate::schema::vehicles, check_for_backend(Pg, Sqlite), treat_none_as_null = true, treat_none_as_default_value = false)]
pub(crate) struct VehicleValues {
    pub(crate) contact: Option<i64>,
    pub(crate) funder: Option<i64>,
    pub(crate) supplier: Option<i64>,
    pub(crate) updated: i64,
    pub(crate) deleted: bool,
    pub(crate) preview: Option<String>,
    pub(crate) document: String,
}

impl VehicleValues {
    /// The columns of `vehicle`, whose id need not be known yet.
    pub(crate) fn new(vehicle: &Vehicle) -> StoreResult<Self> {
        let content = &vehicle.content;
        let contact = content.data.appraisal.details.customer_id.0;
        let stock = &content.data.stock;
        let deleted = content.status == VehicleStatus::Deleted;
        let preview = if deleted {
            None
        } else {
            VehiclePreview::written(vehicle).map_err(other)?
        };
        Ok(Self {
            contact: contact.map(|contact| contact.0.get()),
            funder: stock.funding_provider_id.map(ContactId::get),
            supplier: stock.purchase_supplier_id.map(ContactId::get),
            updated: vehicle.updated.epoch_seconds(),
            deleted,
            preview,
            document: serde_json::to_string(content).map_err(other)?,
        })
    }
}

diesel::table! {
    /// The columns that lists of vehicles filter by, one for each filter. A filter by a field of the data has its name.
    vehicle_facts (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        kind -> Text,
        status -> Text,
        owner -> Nullable<BigInt>,
        registration -> Nullable<Text>,
        created -> BigInt,
        updated -> BigInt,
        make -> Nullable<Text>,
        model -> Nullable<Text>,
        generation -> Nullable<Text>,
        derivative -> Nullable<Text>,
        body -> Nullable<Text>,
        colour -> Nullable<Text>,
        fuel -> Nullable<Text>,
        transmission -> Nullable<Text>,
        reference -> Nullable<Text>,
        number -> Nullable<Text>,
        vin -> Nullable<Text>,
        location -> Nullable<Text>,
        mileage -> Nullable<BigInt>,
        year -> Nullable<BigInt>,
        price -> Nullable<BigInt>,
        appraisal_contact -> Nullable<BigInt>,
    }
}

/// A vehicle's place in lists, which it has unless it is deleted.
#[derive(Clone, Debug, Insertable)]
#[diesel(table_name = vehicle_facts, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
pub(crate) struct NewFactsRow {
    pub(crate) business_id: i64,
    pub(crate) id: i64,
    pub(crate) created: i64,
    #[diesel(embed)]
    pub(crate) values: FactsValues,
}

impl NewFactsRow {
    /// The place of `vehicle`.
    pub(crate) fn new(business: BusinessId, vehicle: &Vehicle) -> Self {
        Self {
            business_id: business.get(),
            id: vehicle.id.get(),
            created: vehicle.created.epoch_seconds(),
            values: FactsValues::new(vehicle),
        }
    }
}

values! {
    /// The columns that lists filter by.
    pub(crate) struct FactsValues, FactsUpdate in vehicle_facts {
        kind: String,
        status: String,
        owner: Option<i64>,
        registration: Option<String>,
        updated: i64,
        make: Option<String>,
        model: Option<String>,
        generation: Option<String>,
        derivative: Option<String>,
        body: Option<String>,
        colour: Option<String>,
        fuel: Option<String>,
        transmission: Option<String>,
        reference: Option<String>,
        number: Option<String>,
        vin: Option<String>,
        location: Option<String>,
        mileage: Option<i64>,
        year: Option<i64>,
        price: Option<i64>,
        appraisal_contact: Option<i64>,
    }
}

impl FactsValues {
    /// The columns of `vehicle`.
    pub(crate) fn new(vehicle: &Vehicle) -> Self {
        let content = &vehicle.content;
        let keys: BTreeMap<_, _> = vehicle.keys().into_iter().collect();
        let text = |filter| match keys.get(filter) {
            Some(Key::Text(text)) => Some(key_of(text)),
            _ => None,
        };
        let number = |filter| match keys.get(filter) {
            Some(Key::Number(number)) => Some(*number),
            _ => None,
        };
        Self {
            kind: content.kind.key().to_owned(),
            status: content.status.name().to_owned(),
            owner: content.owner.map(StaffId::get),
            registration: content.registration.as_ref().map(Registration::key).map(str::to_owned),
            updated: vehicle.updated.epoch_seconds(),
            make: text("make"),
            model: text("model"),
            generation: text("generation"),
            derivative: text("derivative"),
            body: text("body"),
            colour: text("colour"),
            fuel: text("fuel"),
            transmission: text("transmission"),
            reference: text("reference"),
            number: text("number"),
            vin: text("vin"),
            location: text("location"),
            mileage: number("mileage"),
            year: number("year"),
            price: number("price"),
            appraisal_contact: number("appraisal_contact"),
        }
    }
}

impl Preview for VehiclePreview {
    type Record = Vehicle;

    fn stored(id: i64, text: String) -> Option<Self> {
        Self::stored(VehicleId::new(id), text)
    }

    fn of(vehicle: Vehicle) -> StoreResult<Self> {
        Ok(vehicle.into())
    }

    fn id(&self) -> i64 {
        self.id().get()
    }
}
