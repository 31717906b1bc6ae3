use std::collections::BTreeMap;

use forecourt_reference::feature_group;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value as Json;

use crate::declare::{FieldValue, Lens, Reader, section};
use crate::values::Text;

#[cfg(feature = "openapi")]
use crate::schema::{self, Side};

section! {
    /// A vehicle's equipment and the texts of its advert (contract, "data.option").
    pub struct Options: OptionsPatch {
        /// Factory options.
        factory as "option": Vec<String>, write_only;
        /// Options of the dealer's own.
        option_custom: Vec<String>;
        /// Line that catches attention.
        attention: String;
        /// Description, plain text.
        description: Text;
        /// Advert body, HTML.
        website: Text;
        /// The factory options by group; those that no group knows are under other.
        feature: Features, read_only;
    }
}

impl Options {
    /// Groups the factory options (decisions §7).
    pub(crate) fn resolve_features(&mut self) {
        let mut groups = BTreeMap::<String, Vec<String>>::new();
        for option in self.factory.iter().filter(|option| !option.trim().is_empty()) {
            let group = groups
                .entry(feature_group(option).unwrap_or("other").to_owned())
                .or_default();
            if !group.contains(option) {
                group.push(option.clone());
            }
        }
        self.feature = Features(groups);
    }
}

/// Equipment by group.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Features(pub BTreeMap<String, Vec<String>>);

impl FieldValue for Features {
    type Patch = Self;

    fn read(_: &Json, _: &mut Reader<'_>) -> Option<Self> {
        None
    }

    fn apply(&mut self, patch: Self) {
        *self = patch;
    }

    fn show<S: Serializer>(&self, _: &Lens<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    #[cfg(feature = "openapi")]
    fn schema(side: Side) -> utoipa::openapi::schema::Schema {
        schema::any_object(side).into()
    }
}
