//! Texts of the business's record that are shown with a vehicle, and the placeholders that replace them in previews.

use std::borrow::Cow;
use std::cell::Cell;

use forecourt_accounts::Business;
use serde::{Deserialize, Serialize, Serializer};

/// A placeholder for a text of the business's record. No other field of a vehicle's data depends on that record.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Placeholder<'a> {
    /// The public address of the vehicle with this slug.
    #[serde(borrow)]
    Address(Cow<'a, str>),
    /// The location with this id.
    #[serde(borrow)]
    Location(Cow<'a, str>),
}

impl Placeholder<'_> {
    /// Returns the text from the record of `business`.
    pub(crate) fn text<'a>(&'a self, business: &'a Business) -> Cow<'a, str> {
        match self {
            Self::Address(slug) => business.vehicle_address(slug).into(),
            Self::Location(id) => {
                let location = business
                    .catalogue
                    .known_locations()
                    .find(|location| location.id == **id);
                // A location that was removed before former ones were kept is shown by its id.
                location.map_or(&**id, |location| &location.name).into()
            }
        }
    }
}

/// The way in which texts of the business's record are shown with a vehicle.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BusinessTexts<'a> {
    /// The texts of this business.
    Of(&'a Business),
    /// Placeholders.
    Placeholders(&'a PreviewNotes),
}

impl BusinessTexts<'_> {
    /// Notes that a value is left out which callers with certain scopes may see.
    pub(crate) fn withhold(&self) {
        if let Self::Placeholders(notes) = self {
            notes.withholds.set(true);
        }
    }

    /// Writes the text of `placeholder`, or the placeholder itself.
    pub(crate) fn show<S: Serializer>(&self, placeholder: &Placeholder<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Of(business) => serializer.serialize_str(&placeholder.text(business)),
            Self::Placeholders(notes) => {
                notes.is_placeholder_next.set(true);
                placeholder.serialize(serializer)
            }
        }
    }
}

/// Notes made while a preview is written.
#[derive(Debug, Default)]
pub(crate) struct PreviewNotes {
    /// `true` if a placeholder follows.
    pub(crate) is_placeholder_next: Cell<bool>,
    /// `true` if the preview lacks a value that callers with certain scopes may see.
    pub(crate) withholds: Cell<bool>,
}
