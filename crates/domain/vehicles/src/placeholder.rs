//! Texts of the business's file that are shown with a vehicle, and the placeholders that stand for them in previews.

use std::borrow::Cow;
use std::cell::Cell;

use forecourt_accounts::Business;
use serde::{Deserialize, Serialize, Serializer};

/// Stands for a text of the business's file. There is no other part of a vehicle's data that is shown as that file says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Placeholder<'a> {
    /// The public address of the vehicle of that slug.
    #[serde(borrow)]
    Address(Cow<'a, str>),
    /// The location of that id.
    #[serde(borrow)]
    Location(Cow<'a, str>),
}

impl Placeholder<'_> {
    /// The text that the file of `business` has for it.
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

/// How the texts of the business's file are shown with a vehicle.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BusinessTexts<'a> {
    /// As the file of a business has them.
    Of(&'a Business),
    /// As placeholders.
    Placeholders(&'a PreviewNotes),
}

impl BusinessTexts<'_> {
    /// Notes that something is not shown which callers with some scope may see.
    pub(crate) fn withhold(&self) {
        if let Self::Placeholders(notes) = self {
            notes.withholds.set(true);
        }
    }

    /// Shows the text that `placeholder` stands for, or the placeholder.
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

/// What is noted while a preview is written.
#[derive(Debug, Default)]
pub(crate) struct PreviewNotes {
    /// Whether a placeholder comes next.
    pub(crate) is_placeholder_next: Cell<bool>,
    /// Whether the preview lacks something that callers with some scope may see.
    pub(crate) withholds: Cell<bool>,
}
