use forecourt_kernel::{Date, Money, Timestamp};
use serde::Serializer;
use serde_json::Value as Json;

use crate::declare::{FieldValue, Reader, ViewContext, section};
use crate::values::{ContactIdText, WordOrEmpty};

#[cfg(feature = "openapi")]
use crate::schema::{self, Side};

section! {
    /// A vehicle's appraisal (contract, "data.appraisal").
    pub struct Appraisal: AppraisalPatch {
        /// Person who offers the vehicle.
        details: AppraisalDetails, on_create;
        /// Basis of the offer.
        calculation: AppraisalCalculation, read_only;
        /// Offer and its result.
        confirm: AppraisalConfirm, read_only;
    }
}

section! {
    /// The person who offers a vehicle to the dealership.
    pub struct AppraisalDetails: AppraisalDetailsPatch {
        /// Contact id of the person who offers the vehicle.
        customer_id: WordOrEmpty<ContactIdText>, on_create, filter_number("appraisal_contact");
        /// Name of that person.
        customer: String, read_only;
    }
}

section! {
    /// The basis of an offer.
    pub struct AppraisalCalculation: AppraisalCalculationPatch {
        /// The offer.
        offer: WordOrEmpty<Money>, read_only;
        /// Outstanding amount owed to a finance company.
        finance_settlement: WordOrEmpty<Money>, read_only;
    }
}

section! {
    /// An offer and its result.
    pub struct AppraisalConfirm: AppraisalConfirmPatch {
        /// The offer.
        offer: WordOrEmpty<Money>, read_only;
        /// The last day of the offer; empty if there is none.
        expiry: WordOrEmpty<Date>, read_only;
        /// Time of confirmation, epoch seconds; 0 before that.
        appraised_at: Option<Timestamp>, read_only;
        /// Agreed amount.
        agreed_amount: WordOrEmpty<Money>, read_only;
        /// Decision: accepted, rejected, or empty.
        decision: String, read_only;
        /// Time of the decision, epoch seconds; 0 before that.
        decision_at: Option<Timestamp>, read_only;
        /// Vehicle id of the stock vehicle that was created from the appraisal.
        stock_id: String, read_only;
        /// Tag of the stock vehicle that was created from the appraisal.
        stock_tag: String, read_only;
    }
}

/// A time, written as 0 until it is set.
impl FieldValue for Option<Timestamp> {
    type Patch = Self;

    fn read(_: &Json, _: &mut Reader<'_>) -> Option<Self> {
        None
    }

    fn apply(&mut self, patch: Self) {
        *self = patch;
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.map_or(0, Timestamp::epoch_seconds))
    }

    #[cfg(feature = "openapi")]
    fn schema(_: Side) -> utoipa::openapi::schema::Schema {
        schema::plain(utoipa::openapi::schema::Type::Integer, false).into()
    }
}
