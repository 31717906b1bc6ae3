//! The tags of vehicles: each stock type has its own (contract, "Reference": tags).

use forecourt_reference::{AppliedTag, Catalogue, StockType, Tag, TagChoice, TagResource};
use serde::Serialize;

use crate::Vehicle;

fn available(catalogue: &Catalogue, kind: StockType) -> impl Iterator<Item = &Tag> {
    let of_kind = move |tag: &&Tag| tag.resource == TagResource::Vehicle && tag.kind == kind.key();
    catalogue.tags.iter().filter(of_kind)
}

/// The tag of that name, if vehicles of this stock type can carry it.
pub(crate) fn find<'a>(catalogue: &'a Catalogue, kind: StockType, name: &str) -> Option<&'a Tag> {
    available(catalogue, kind).find(|tag| tag.name == name)
}

/// The tags that a new vehicle of this stock type starts with.
pub(crate) fn defaulted(catalogue: &Catalogue, kind: StockType) -> Vec<TagChoice> {
    let choice = |tag: &Tag| TagChoice {
        name: tag.name.clone(),
        checked: true,
    };
    available(catalogue, kind)
        .filter(|tag| tag.defaulted)
        .map(choice)
        .collect()
}

/// The tags of a vehicle as it shows them.
pub(crate) fn applied<'a>(vehicle: &'a Vehicle, catalogue: &'a Catalogue) -> Vec<AppliedTag<'a>> {
    let paint = |choice: &'a TagChoice| {
        let tag = find(catalogue, vehicle.content.kind, &choice.name);
        AppliedTag {
            name: &choice.name,
            checked: choice.checked,
            colour: tag.map_or("", |tag| &tag.colour),
            kind: tag.map_or("", |tag| &tag.kind),
        }
    };
    vehicle.content.tags.iter().map(paint).collect()
}

/// The tags that a vehicle carries, and those that it could.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VehicleTags))]
pub struct VehicleTags<'a> {
    /// Applied tags.
    applied: Vec<AppliedTag<'a>>,
    /// The business's tags for vehicles of this stock type.
    available: Vec<AvailableVehicleTag<'a>>,
}

/// A tag that vehicles of a stock type can carry.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AvailableVehicleTag))]
struct AvailableVehicleTag<'a> {
    /// Its name.
    name: &'a str,
    /// A CSS colour.
    colour: &'a str,
    /// Key of the stock type.
    #[serde(rename = "type")]
    kind: &'a str,
    /// Whether a new vehicle starts with it.
    defaulted: bool,
}

impl<'a> VehicleTags<'a> {
    /// The tags of `vehicle` and of `catalogue`.
    pub fn new(vehicle: &'a Vehicle, catalogue: &'a Catalogue) -> Self {
        let tag = |tag: &'a Tag| AvailableVehicleTag {
            name: &tag.name,
            colour: &tag.colour,
            kind: &tag.kind,
            defaulted: tag.defaulted,
        };
        Self {
            applied: applied(vehicle, catalogue),
            available: available(catalogue, vehicle.content.kind).map(tag).collect(),
        }
    }
}
