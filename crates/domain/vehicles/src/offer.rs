//! What a dealership offers for a customer's vehicle: the appraisal's offer, and what came of it (contract, "Appraisal"; decisions
//! §7, "Appraisals").

use forecourt_kernel::{Date, LongText, Money, StaffId, Timestamp, VehicleId};
use serde::{Deserialize, Serialize};

use crate::{StatusView, Vehicle, VehicleTag};

/// What staff keep of an appraisal's offer, beside what its data shows. Its serialised form is part of the vehicle's document: a
/// new member needs `#[serde(default)]`, and none is ever renamed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AppraisalOffer {
    /// When an offer was first requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested: Option<Timestamp>,
    /// The most that may be offered, in the currency of the business's country; not below the offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_offer: Option<Money>,
    /// Who of the staff appraised the vehicle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub appraised_by: Option<StaffId>,
    /// What they noted.
    #[serde(skip_serializing_if = "is_blank")]
    pub comments: LongText,
}

fn is_blank(text: &LongText) -> bool {
    text.as_str().is_empty()
}

impl AppraisalOffer {
    /// Whether nothing of it is known.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// An appraisal, as the operations on it answer. Money reads `"1234.00"`; what is not known is empty.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Appraisal))]
pub struct AppraisalView<'a> {
    /// Vehicle id of the appraisal.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: VehicleId,
    /// Its short code, unique within the business.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    tag: &'a VehicleTag,
    /// Where it is: added, appraised, accepted or rejected.
    status: StatusView,
    /// The offer for it.
    offer: OfferView<'a>,
    /// The stock vehicle that came of it.
    stock: StockReference<'a>,
    /// Whether an offer was requested.
    requested: bool,
}

/// An offer, as it is shown.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AppraisalOffer))]
struct OfferView<'a> {
    /// The offer; empty before there is one.
    #[cfg_attr(feature = "openapi", schema(pattern = "^$|^-?\\d+\\.\\d{2}$", example = "4500.00"))]
    offer: String,
    /// The most that may be offered; empty if that is not set.
    #[cfg_attr(feature = "openapi", schema(pattern = "^$|^-?\\d+\\.\\d{2}$", example = "4750.00"))]
    max_offer: String,
    /// What was agreed on; empty before the offer is accepted.
    #[cfg_attr(feature = "openapi", schema(pattern = "^$|^-?\\d+\\.\\d{2}$", example = ""))]
    agreed_amount: String,
    /// The last day of the offer, as YYYY-MM-DD; empty before there is one.
    #[cfg_attr(feature = "openapi", schema(example = "2026-01-31"))]
    expiry: String,
    /// Staff user who appraised it; null before that.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    appraised_by: Option<StaffId>,
    /// What they noted.
    comments: &'a str,
    /// accepted, rejected, or empty.
    decision: &'a str,
}

/// A stock vehicle, as an appraisal names it.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AppraisalStock))]
struct StockReference<'a> {
    /// Its id; empty before the offer is accepted.
    #[cfg_attr(feature = "openapi", schema(example = ""))]
    id: &'a str,
    /// Its short code; empty before the offer is accepted.
    #[cfg_attr(feature = "openapi", schema(example = ""))]
    tag: &'a str,
}

/// An appraisal, as the API shows it.
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
