//! The bodies of callers, and the commands that they become.

use forecourt_billing::check_day;
use forecourt_kernel::{Date, Field, InvalidValue, Timestamp, ValidationErrors};
use serde::Deserialize;

forecourt_billing::document_changes! {
    /// A new order, or changes to one. `customer` is required of a new one.
    #[cfg_attr(feature = "openapi", schema(as = OrderBody, example = json!({"customer": 12, "lines": [{"type": "product", "description": "Tow bar, fitted", "gross": 480}], "valid_until": "2026-12-31"})))]
    OrderChanges and OrderOwn;

    /// Last day of the offer.
    valid_until: #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))] Date;
}

/// The issue of a draft, as callers send it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = OrderIssueBody, example = json!({"reserve": true})))]
pub struct OrderIssueChanges {
    /// Day of the order; by default the draft's.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))]
    pub date: Field<Date>,
    /// True to reserve its vehicles for the customer, without a payment.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<bool>))]
    pub reserve: Field<bool>,
}

/// The issue of a draft.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OrderIssue {
    /// The day of the order, if it changes.
    pub date: Option<Date>,
    /// `true` if its vehicles are reserved.
    pub reserve: bool,
}

impl OrderIssueChanges {
    /// Reads the issue.
    ///
    /// # Errors
    /// Its faults.
    pub fn read(self, now: Timestamp) -> Result<OrderIssue, ValidationErrors> {
        let mut faults = InvalidValue::default();
        let date = day("date", &self.date, now, &mut faults);
        let reserve = match self.reserve {
            Field::Value(reserve) => reserve,
            Field::Wrong(wrong) => {
                faults.add_within("reserve", wrong);
                false
            }
            Field::Absent | Field::Null => false,
        };
        ValidationErrors::from(faults).into_result(OrderIssue { date, reserve })
    }
}

/// Returns a day within the bounds of documents' days, or notes its faults.
pub(crate) fn day(name: &str, field: &Field<Date>, now: Timestamp, faults: &mut InvalidValue) -> Option<Date> {
    match field {
        Field::Absent | Field::Null => None,
        Field::Wrong(wrong) => {
            faults.add_within(name, wrong.clone());
            None
        }
        Field::Value(date) => match check_day(*date, now) {
            Ok(()) => Some(*date),
            Err(message) => {
                faults.add_within(name, InvalidValue::here(message));
                None
            }
        },
    }
}
