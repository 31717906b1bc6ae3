//! The vehicles that a lead concerns.

use forecourt_accounts::Business;
use forecourt_kernel::{LeadId, Timestamp, ValidationErrors, VehicleId};
use forecourt_reference::StockType;
use serde::Serialize;

/// A caller's choice of a vehicle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VehicleChoice {
    /// By its id.
    Id(VehicleId),
    /// By its tag, regardless of case.
    Tag(String),
}

impl VehicleChoice {
    /// Makes a choice from `vehicle`, `vehicle_tag` or neither.
    ///
    /// # Errors
    /// [`NamedTwice`] for `vehicle_tag` if both are sent (decisions §5).
    pub fn of(vehicle: Option<VehicleId>, vehicle_tag: Option<String>) -> Result<Option<Self>, NamedTwice> {
        match (vehicle, vehicle_tag) {
            (Some(_), Some(_)) => Err(NamedTwice),
            (Some(id), None) => Ok(Some(Self::Id(id))),
            (None, Some(tag)) => Ok(Some(Self::Tag(tag))),
            (None, None) => Ok(None),
        }
    }

    /// The fault of choosing a vehicle that the business does not have.
    pub(crate) fn unknown(&self) -> ValidationErrors {
        let field = match self {
            Self::Id(_) => "vehicle",
            Self::Tag(_) => "vehicle_tag",
        };
        ValidationErrors::one(field, "names no vehicle of this business")
    }
}

/// A clue in an external enquiry to a vehicle that the business may have.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum VehicleClue {
    /// Its stock number, compared without regard to case.
    StockNumber(String),
    /// Its vehicle identification number, regardless of case.
    Vin(String),
    /// Its registration mark, in any usual spelling.
    Registration(String),
}

/// Both the id and the tag of a vehicle were sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("cannot be combined with vehicle")]
pub struct NamedTwice;

/// The data of a vehicle that leads show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StockVehicle {
    /// The vehicle's id, unique across businesses.
    pub id: VehicleId,
    /// Its code, unique within the business.
    pub tag: String,
    /// Its registration mark, as it is usually written.
    pub registration: Option<String>,
    /// Its stock type.
    pub kind: StockType,
    /// The name of its make; empty if unknown.
    pub make: String,
    /// The name of its model; empty if unknown.
    pub model: String,
    /// The name of its derivative; empty if unknown.
    pub derivative: String,
    /// The last part of its public address.
    pub url: String,
}

impl StockVehicle {
    /// Returns make, model and derivative, as far as they are known.
    pub fn name(&self) -> String {
        let Self {
            make,
            model,
            derivative,
            ..
        } = self;
        let parts = [make, model, derivative].map(|part| part.trim());
        let known: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        known.join(" ")
    }

    /// Returns the vehicle's title in mails: its name and its mark, or its tag if it has neither.
    pub fn title(&self) -> String {
        let name = self.name();
        match (&self.registration, name.is_empty()) {
            (Some(mark), false) => format!("{name}, {mark}"),
            (Some(mark), true) => mark.clone(),
            (None, false) => name,
            (None, true) => self.tag.clone(),
        }
    }
}

/// The association of a lead with a vehicle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeadVehicle {
    /// The lead's id.
    pub lead: LeadId,
    /// The vehicle.
    pub vehicle: StockVehicle,
    /// The time of the association.
    pub created: Timestamp,
}

/// A vehicle that a lead concerns.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LeadVehicle))]
pub struct LeadVehicleView<'a> {
    /// Lead id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    lead: LeadId,
    /// Vehicle id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    vehicle: VehicleId,
    /// The vehicle's short code.
    tag: &'a str,
    /// The vehicle's registration mark, as it is usually written.
    #[cfg_attr(feature = "openapi", schema(required))]
    registration: Option<&'a str>,
    /// The vehicle's stock type: in-stock, to-order, customer, courtesy or appraisal.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    kind: &'static str,
    /// Make, model and derivative, as far as they are known.
    name: String,
    /// Slug of the vehicle.
    url: &'a str,
    /// Public address of the vehicle; empty if the business has no website.
    url_full: String,
    /// Time of the association with the lead, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
}

impl<'a> LeadVehicleView<'a> {
    /// Shows `associated` to callers of `business`.
    pub fn new(associated: &'a LeadVehicle, business: &Business) -> Self {
        let LeadVehicle { lead, vehicle, created } = associated;
        let StockVehicle {
            id,
            tag,
            registration,
            kind,
            make: _,
            model: _,
            derivative: _,
            url,
        } = vehicle;
        Self {
            lead: *lead,
            vehicle: *id,
            tag,
            registration: registration.as_deref(),
            kind: kind.slug(),
            name: vehicle.name(),
            url,
            url_full: business.vehicle_address(url),
            created: *created,
        }
    }
}
