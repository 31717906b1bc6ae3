use std::collections::BTreeMap;
use std::ops::Deref;

use forecourt_kernel::LongText;
use forecourt_reference::feature;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value as Json;

use crate::declare::{FieldValue, Reader, ViewContext, section};
use crate::values::Text;

#[cfg(feature = "openapi")]
use crate::schema::{self, Side};

section! {
    /// A vehicle's equipment and the texts of its advert (contract, "data.option").
    pub struct Options: OptionsPatch {
        /// Factory options.
        factory as "option": Vec<String>, write_only;
        /// The dealer's own options.
        option_custom: Vec<String>;
        /// Attention line.
        attention: String;
        /// Description, plain text.
        description: Text;
        /// Advert body, HTML; elements that must not be shown on a public page are removed.
        website: Html;
        /// Factory options by group; options without a known group are under other.
        feature: Features, read_only;
    }
}

impl Options {
    /// Groups the factory options, under their names in the groups (decisions §7).
    pub(crate) fn resolve_features(&mut self) {
        let mut groups = BTreeMap::<String, Vec<String>>::new();
        for option in self.factory.iter().filter(|option| !option.trim().is_empty()) {
            let (group, name) = feature(option).map_or(("other", &**option), |known| (known.group, known.name));
            let group = groups.entry(group.to_owned()).or_default();
            if !group.iter().any(|there| there == name) {
                group.push(name.to_owned());
            }
        }
        self.feature = Features(groups);
    }
}

/// HTML that is fit for a public page; it is sanitised when it is read.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Html(pub String);

impl Deref for Html {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<String> for Html {
    /// Wraps HTML that needs no sanitising.
    fn from(html: String) -> Self {
        Self(html)
    }
}

impl FieldValue for Html {
    type Patch = Self;

    fn read(sent: &Json, reader: &mut Reader<'_>) -> Option<Self> {
        let html = match sent {
            Json::Null => return Some(Self::default()),
            Json::String(html) => html,
            _ => {
                reader.fault("must be a string");
                return None;
            }
        };
        let bounded = LongText::new(html.as_str()).map_err(|error| error.to_string());
        let clean = bounded.and_then(|html| forecourt_html::sanitize(&html).map_err(|error| error.to_string()));
        clean.map(Self).map_err(|message| reader.fault(message)).ok()
    }

    fn apply(&mut self, patch: Self) {
        *self = patch;
    }

    fn show<S: Serializer>(&self, context: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        FieldValue::show(&self.0, context, serializer)
    }

    #[cfg(feature = "openapi")]
    fn schema(side: Side) -> utoipa::openapi::schema::Schema {
        schema::text(side, forecourt_kernel::bounds::MAX_TEXT_CHARS)
            .content_media_type("text/html")
            .into()
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

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    #[cfg(feature = "openapi")]
    fn schema(side: Side) -> utoipa::openapi::schema::Schema {
        schema::any_object(side).into()
    }
}
