//! The status of an article (contract, "States and transitions").

use std::str::FromStr;

use forecourt_kernel::{FromJson, InvalidValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Status of an article. Callers write draft or published. A published article is shown as scheduled before its time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ArticleStatus {
    /// Only API clients of the business can read it.
    #[default]
    Draft,
    /// The public may read it.
    Published,
    /// The public may read it from its time on.
    Scheduled,
}

impl ArticleStatus {
    /// The name in the API and in storage.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Published => "published",
            Self::Scheduled => "scheduled",
        }
    }
}

/// The text is not the name of a status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be draft, published or scheduled")]
pub struct UnknownStatus;

impl FromStr for ArticleStatus {
    type Err = UnknownStatus;

    fn from_str(text: &str) -> Result<Self, UnknownStatus> {
        [Self::Draft, Self::Published, Self::Scheduled]
            .into_iter()
            .find(|status| status.name() == text)
            .ok_or(UnknownStatus)
    }
}

/// Reads a status as callers write it. They cannot write scheduled, which follows from the time.
impl FromJson for ArticleStatus {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        match value.as_str() {
            None => Err(InvalidValue::here("must be a string")),
            Some("draft") => Ok(Self::Draft),
            Some("published") => Ok(Self::Published),
            Some("scheduled") => Err(InvalidValue::here(
                "must be draft or published: an article is scheduled by a published_at in the future",
            )),
            Some(_) => Err(InvalidValue::here("must be draft or published")),
        }
    }
}
