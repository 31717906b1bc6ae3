//! The offer of a dealership for a customer's vehicle, and its result (contract, "Appraisal"; decisions §7, "Appraisals").

use forecourt_kernel::{Date, LongText, Money, StaffId, Timestamp, VehicleId};
use serde::{Deserialize, Serialize};

use crate::{StatusView, Vehicle, VehicleTag};

/// The offer of an appraisal: the values that are not part of its data. Its serialised form is part of the vehicle's document: a
/// new member needs `#[serde(default)]`, and no member is ever renamed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AppraisalOffer {
    /// The time at which an offer was first requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested: Option<Timestamp>,
    /// The maximum offer, in the currency of the business's country; not below the offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_offer: Option<Money>,
    /// The staff user who appraised the vehicle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub appraised_by: Option<StaffId>,
    /// Their notes.
    #[serde(skip_serializing_if = "is_blank")]
    pub comments: LongText,
}

fn is_blank(text: &LongText) -> bool {
    text.as_str().is_empty()
}

impl AppraisalOffer {
    /// Returns `true` if no value is set.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// An appraisal. Amounts of money are written `"1234.00"`; an unknown value is empty.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Appraisal))]
pub struct AppraisalView<'a> {
    /// Vehicle id of the appraisal.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: VehicleId,
    /// Short code, unique within the business.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    tag: &'a VehicleTag,
    /// Current state: added, appraised, accepted or rejected.
    status: StatusView,
    /// The offer for the vehicle.
    offer: OfferView<'a>,
    /// The stock vehicle that was created from the appraisal.
    stock: StockReference<'a>,
    /// `true` if an offer was requested.
    requested: bool,
}

/// The offer of an appraisal.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AppraisalOffer))]
struct OfferView<'a> {
    /// Offered amount; empty before there is an offer.
    #[cfg_attr(feature = "openapi", schema(pattern = "^$|^-?\\d+\\.\\d{2}$", example = "4500.00"))]
    offer: String,
    /// Maximum offer; empty if it is not set.
    #[cfg_attr(feature = "openapi", schema(pattern = "^$|^-?\\d+\\.\\d{2}$", example = "4750.00"))]
    max_offer: String,
    /// Agreed amount; empty before the offer is accepted.
    #[cfg_attr(feature = "openapi", schema(pattern = "^$|^-?\\d+\\.\\d{2}$", example = ""))]
    agreed_amount: String,
    /// Last day of the offer, as YYYY-MM-DD; empty before there is an offer.
    #[cfg_attr(feature = "openapi", schema(example = "2026-01-31"))]
    expiry: String,
    /// Staff user who appraised the vehicle; null before that.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    appraised_by: Option<StaffId>,
    /// Notes of the appraiser.
    comments: &'a str,
    /// Decision: accepted, rejected, or empty.
    decision: &'a str,
}

/// The stock vehicle of an appraisal.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AppraisalStock))]
struct StockReference<'a> {
    /// Vehicle id; empty before the offer is accepted.
    #[cfg_attr(feature = "openapi", schema(example = ""))]
    id: &'a str,
    /// Short code; empty before the offer is accepted.
    #[cfg_attr(feature = "openapi", schema(example = ""))]
    tag: &'a str,
}

/// Returns the representation of an appraisal.
pub fn read_appraisal(vehicle: &Vehicle) -> AppraisalView<'_> {
    let confirm = &vehicle.content.data.appraisal.confirm;
    let AppraisalOffer {
        requested,
        max_offer,
        appraised_by,
        comments,
    } = &vehicle.content.offer;
    let money = |amount: Option<Money>| amount.map(|amount| amount.to_string()).unwrap_or_default();
    AppraisalView {
        id: vehicle.id,
        tag: &vehicle.tag,
        status: StatusView::new(vehicle.content.status),
        offer: OfferView {
            offer: money(confirm.offer.0),
            max_offer: money(*max_offer),
            agreed_amount: money(confirm.agreed_amount.0),
            expiry: confirm.expiry.0.as_ref().map(Date::to_string).unwrap_or_default(),
            appraised_by: *appraised_by,
            comments: comments.as_str(),
            decision: &confirm.decision,
        },
        stock: StockReference {
            id: &confirm.stock_id,
            tag: &confirm.stock_tag,
        },
        requested: requested.is_some(),
    }
}
