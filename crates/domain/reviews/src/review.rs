//! The record of a review.

use std::str::FromStr;

use forecourt_kernel::{
    BoundedText, Date, Field, FromJson, InvalidValue, Line, LongText, Timestamp, ValidationErrors, Version,
    bounds::MAX_REVIEW_SOURCE_CHARS,
};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

forecourt_kernel::ids! {
    /// Identifies a review, uniquely across businesses.
    ReviewId;
}

/// The place where a review was written (contract, "Limits").
pub type Source = BoundedText<MAX_REVIEW_SOURCE_CHARS>;

/// A rating of 0 to 5 stars in steps of a half.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Deserialize)]
#[serde(try_from = "f64")]
pub struct Stars {
    halves: u8,
}

impl Stars {
    /// Returns the rating of `stars` if they are 0 to 5 in steps of 0.5.
    pub fn new(stars: f64) -> Option<Self> {
        (0..=10)
            .map(|halves| Self { halves })
            .find(|rating| rating.get() == stars)
    }

    /// The number of stars.
    pub fn get(self) -> f64 {
        f64::from(self.halves) / 2.0
    }
}

impl Serialize for Stars {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.halves.is_multiple_of(2) {
            serializer.serialize_u8(self.halves / 2)
        } else {
            serializer.serialize_f64(self.get())
        }
    }
}

impl TryFrom<f64> for Stars {
    type Error = &'static str;

    fn try_from(stars: f64) -> Result<Self, Self::Error> {
        Self::new(stars).ok_or("must be 0 to 5 in steps of 0.5")
    }
}

impl FromJson for Stars {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let stars = value.as_f64().ok_or(InvalidValue::here("must be a number"))?;
        stars.try_into().map_err(|error: &str| InvalidValue::here(error))
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Stars {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::{ObjectBuilder, schema::Type};
        ObjectBuilder::new()
            .schema_type(Type::Number)
            .minimum(Some(0))
            .maximum(Some(5))
            .multiple_of(Some(0.5))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Stars {}

/// The visibility of a review (contract, "States and transitions").
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ReviewStatus {
    /// The public may see it.
    #[default]
    Approved,
    /// It waits for approval.
    Pending,
}

impl ReviewStatus {
    /// The name in the API and in storage.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Pending => "pending",
        }
    }
}

/// The text is not the name of a status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be approved or pending")]
pub struct UnknownReviewStatus;

impl FromStr for ReviewStatus {
    type Err = UnknownReviewStatus;

    fn from_str(text: &str) -> Result<Self, UnknownReviewStatus> {
        [Self::Approved, Self::Pending]
            .into_iter()
            .find(|status| status.name() == text)
            .ok_or(UnknownReviewStatus)
    }
}

impl FromJson for ReviewStatus {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let name = value.as_str().ok_or(InvalidValue::here("must be a string"))?;
        name.parse()
            .map_err(|error: UnknownReviewStatus| InvalidValue::here(error.to_string()))
    }
}

forecourt_kernel::fields! {
    // The serialised form is also the stored form: a new field needs `#[serde(default)]` before its type, and no field is ever
    // renamed.
    /// The content of a review.
    content ReviewContent;
    /// A new review, or changes to one. No field is required.
    #[cfg_attr(feature = "openapi", schema(example = json!({"rating": 4.5, "name": "Priya Shah", "review": "Found us the right car and did not push.", "source": "Google", "verified": true})))]
    changes ReviewChanges;

    /// Stars, 0 to 5 in steps of 0.5; null if none were given.
    rating: Option<Stars>;
    /// The author's name.
    name: Line;
    /// The text of the review.
    review: LongText;
    /// The place where it was written, for example the name of a review site; at most 32 characters.
    source: Source;
    /// True if the author is known to be a customer.
    verified: bool;
    /// approved by default; only approved reviews are for the public.
    status: ReviewStatus;
    /// The day of the review; by default the day of its creation in UTC.
    date: Option<Date>;
}

impl ReviewChanges {
    /// Returns the faults of the body at the moment `now`: those of its fields, and a day after tomorrow, on which no review can have
    /// been written (decisions §3).
    pub fn faults_at(&self, now: Timestamp) -> ValidationErrors {
        let mut faults = self.faults();
        if let Field::Value(Some(date)) = self.date
            && let Err(message) = date.validate_past(now)
        {
            faults.add("date", message);
        }
        faults
    }
}

impl ReviewContent {
    /// The defaults of the fields of a review that is made on the day `today`.
    pub fn blank(today: Date) -> Self {
        Self {
            rating: None,
            name: Line::default(),
            review: LongText::default(),
            source: Source::default(),
            verified: false,
            status: ReviewStatus::default(),
            date: Some(today),
        }
    }
}

/// A review.
#[derive(Clone, PartialEq, Debug)]
pub struct Review {
    /// The review's id, unique across businesses.
    pub id: ReviewId,
    /// The record's version.
    pub version: Version,
    /// The time of its creation.
    pub created: Timestamp,
    /// The time of its last change.
    pub updated: Timestamp,
    /// The content of the review.
    pub content: ReviewContent,
    /// Further data from the review's source.
    pub data: Map<String, Value>,
}
