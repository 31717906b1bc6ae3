//! The stored form of a listing.

use forecourt_listings::Listing;
use serde_json::value::RawValue;

use crate::{error::ApiError, reply};

/// Returns the JSON of a listing, from which members can be picked.
pub(super) fn parsed(listing: &Listing) -> Result<&RawValue, ApiError> {
    serde_json::from_str(&listing.json).map_err(reply::unwritable)
}
