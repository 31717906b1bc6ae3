//! The states of vehicles, deals, invoices, orders and purchases, as the reference endpoints list them.

use std::str::FromStr;

use serde::Serialize;

use crate::{StockType, UnknownValue};

/// A state: its code, its name and the name to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Status {
    /// The code.
    pub id: u8,
    /// The name to compare.
    pub name: &'static str,
    /// The name to show.
    pub label: &'static str,
}

const fn status(id: u8, name: &'static str, label: &'static str) -> Status {
    Status { id, name, label }
}

/// Returns the states of vehicles with this stock type, by code (contract, "States and transitions"). Code 2 of a vehicle for
/// sale is shown as reserved while a reservation exists. Code 3 is shown as complete once the vehicle is handed over.
pub fn vehicle_statuses(kind: StockType) -> [Status; 4] {
    if kind == StockType::Appraisal {
        return [
            status(1, "added", "Added"),
            status(2, "appraised", "Appraised"),
            status(3, "accepted", "Accepted"),
            status(4, "rejected", "Rejected"),
        ];
    }
    let (active, ended) = match kind {
        StockType::InStock | StockType::ToOrder => (status(2, "for-sale", "For Sale"), status(3, "sold", "Sold")),
        StockType::Customer => (status(2, "on-site", "On Site"), status(3, "closed", "Closed")),
        StockType::Courtesy | StockType::Appraisal => (status(2, "in use", "In Use"), status(3, "closed", "Closed")),
    };
    [
        status(1, "draft", "Draft"),
        active,
        ended,
        status(4, "deleted", "Deleted"),
    ]
}

/// The documents whose states `GET /2.0/reference/invoice-statuses` lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DocumentKind {
    /// A sales invoice.
    Invoice,
    /// A sales order.
    Order,
    /// A purchase invoice.
    Purchase,
}

impl DocumentKind {
    /// The name, as in the parameter `type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invoice => "invoice",
            Self::Order => "order",
            Self::Purchase => "purchase",
        }
    }
}

impl FromStr for DocumentKind {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        match text {
            "invoice" => Ok(Self::Invoice),
            "order" => Ok(Self::Order),
            "purchase" => Ok(Self::Purchase),
            _ => Err(UnknownValue(&["invoice", "order", "purchase"])),
        }
    }
}

/// Returns the states of such a document (contract, "Orders, invoices, purchases"; decisions §8).
pub fn document_statuses(kind: DocumentKind) -> Vec<Status> {
    let (second, last) = match kind {
        DocumentKind::Order => (status(2, "converted", "Converted"), None),
        DocumentKind::Invoice | DocumentKind::Purchase => {
            (status(2, "paid", "Paid"), Some(status(4, "credited", "Credited")))
        }
    };
    let all = [
        status(0, "draft", "Draft"),
        status(1, "issued", "Issued"),
        second,
        status(3, "cancelled", "Cancelled"),
    ];
    all.into_iter().chain(last).collect()
}

/// A stage of a deal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DealStageEntry {
    /// The name to compare.
    pub name: &'static str,
    /// The name to show.
    pub label: &'static str,
}

/// Returns the stages of a deal, in their order (contract, "Reference objects").
pub fn deal_stages() -> Vec<DealStageEntry> {
    [
        ("pending", "Pending"),
        ("begin", "Begin"),
        ("part_exchange", "Part Exchange"),
        ("product", "Product"),
        ("delivery_collection", "Delivery / Collection"),
        ("summary", "Summary"),
        ("finance", "Finance"),
        ("payment", "Payment"),
        ("payment_partial", "Partial Payment"),
        ("confirm", "Confirm"),
        ("handover", "Handover"),
        ("complete", "Complete"),
        ("declined", "Declined"),
        ("fatal", "Fatal"),
    ]
    .map(|(name, label)| DealStageEntry { name, label })
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_converted_where_the_others_are_paid() {
        let names = |kind| {
            document_statuses(kind)
                .iter()
                .map(|status| status.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            names(DocumentKind::Order),
            ["draft", "issued", "converted", "cancelled"]
        );
        assert_eq!(
            names(DocumentKind::Invoice),
            ["draft", "issued", "paid", "cancelled", "credited"]
        );
        assert_eq!(names(DocumentKind::Purchase), names(DocumentKind::Invoice));
    }

    #[test]
    fn every_stock_type_has_the_four_codes() {
        for kind in StockType::ALL {
            assert_eq!(vehicle_statuses(kind).map(|status| status.id), [1, 2, 3, 4]);
        }
    }
}
