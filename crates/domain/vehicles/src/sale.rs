//! The sale of a vehicle (decisions §7, "Sale").

use forecourt_kernel::{ContactId, Date, Money, Timestamp};
use serde::{Deserialize, Serialize};

/// A sale. Its serialised form is part of the vehicle's document: a new member needs `#[serde(default)]`, and none is ever
/// renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sale {
    /// The contact that bought the vehicle; `None` if none was given, or once the contact is deleted.
    pub customer: Option<ContactId>,
    /// The price that was agreed on, in the currency of the business's country; `None` if none was given.
    pub price: Option<Money>,
    /// The day of the sale.
    pub date: Date,
    /// When it was recorded.
    pub at: Timestamp,
}
