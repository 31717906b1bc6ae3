//! Tags: the taxonomy of a business, and what of it a record carries.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::UnknownValue;

/// The kinds of record that can be tagged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TagResource {
    /// Contacts.
    Contact,
    /// Leads.
    Lead,
    /// Vehicles; their tags are apart for each stock type.
    Vehicle,
}

impl TagResource {
    /// The singular name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Contact => "contact",
            Self::Lead => "lead",
            Self::Vehicle => "vehicle",
        }
    }
}

/// Reads the singular or the plural.
impl FromStr for TagResource {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        match text {
            "contact" | "contacts" => Ok(Self::Contact),
            "lead" | "leads" => Ok(Self::Lead),
            "vehicle" | "vehicles" => Ok(Self::Vehicle),
            _ => Err(UnknownValue(&[
                "contacts", "contact", "leads", "lead", "vehicles", "vehicle",
            ])),
        }
    }
}

/// A tag that a business has made available.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tag {
    /// What it can be applied to.
    pub resource: TagResource,
    /// Its name, unique among the tags of a resource and type.
    pub name: String,
    /// A CSS colour.
    #[serde(default)]
    pub colour: String,
    /// For vehicles the key of the stock type; otherwise free text.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// Whether a new record starts with it.
    #[serde(default)]
    pub defaulted: bool,
}

/// A caller's choice of a tag.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TagChoice {
    /// The tag's name.
    pub name: String,
    /// Whether it is ticked.
    pub checked: bool,
}

/// A tag as a record shows it: the choice, with how the business's taxonomy paints it now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AppliedTag<'a> {
    /// The tag's name.
    pub name: &'a str,
    /// Whether it is ticked.
    pub checked: bool,
    /// A CSS colour; empty if the taxonomy no longer has the tag.
    pub colour: &'a str,
    /// The tag's type; empty if it has none.
    #[serde(rename = "type")]
    pub kind: &'a str,
}
