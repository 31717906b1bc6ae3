//! The stages of a deal, and the moves between them (areas §10.12).

use forecourt_kernel::{FromJson, InvalidValue, from_line};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Declares an enumeration with the names that callers and storage use.
macro_rules! names {
    ($(#[$meta:meta])* $name:ident, $error:ident, $message:literal; $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)+) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, ::serde::Serialize, ::serde::Deserialize)]
        #[cfg_attr(feature = "openapi", derive(::utoipa::ToSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)+
        }

        impl $name {
            /// All, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the name that callers and storage use.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        /// The error for a text that is none of the names.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, ::thiserror::Error)]
        #[error($message)]
        pub struct $error;

        impl ::std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                Self::ALL.iter().copied().find(|one| one.name() == text).ok_or($error)
            }
        }

        impl ::forecourt_kernel::FromJson for $name {
            fn from_json(value: ::serde_json::Value) -> Result<Self, ::forecourt_kernel::InvalidValue> {
                ::forecourt_kernel::from_line(value)
            }
        }
    };
}

pub(crate) use names;

names! {
    /// The stage of a deal (contract: the fourteen deal stages).
    DealStage, UnknownDealStage,
    "must be one of pending, begin, part_exchange, product, delivery_collection, summary, finance, payment, payment_partial, confirm, handover, complete, declined, fatal";
    /// The customer is not there yet.
    Pending = "pending",
    /// The deal has begun.
    Begin = "begin",
    /// The customer's own car is looked at.
    PartExchange = "part_exchange",
    /// The customer chooses products.
    Product = "product",
    /// It is agreed how the car changes hands.
    DeliveryCollection = "delivery_collection",
    /// All is put together.
    Summary = "summary",
    /// Finance is arranged.
    Finance = "finance",
    /// The customer has to pay.
    Payment = "payment",
    /// The customer has paid a part.
    PaymentPartial = "payment_partial",
    /// The car is the customer's.
    Confirm = "confirm",
    /// The car is made ready to be handed over.
    Handover = "handover",
    /// The customer has the keys.
    Complete = "complete",
    /// The customer has declined.
    Declined = "declined",
    /// The deal cannot come about.
    Fatal = "fatal",
}

impl DealStage {
    /// The stages between which customers go back and forth.
    pub const EARLY: [Self; 8] = [
        Self::Pending,
        Self::Begin,
        Self::PartExchange,
        Self::Product,
        Self::DeliveryCollection,
        Self::Summary,
        Self::Finance,
        Self::Payment,
    ];

    /// The stages in which a deal has ended.
    pub const ENDED: [Self; 3] = [Self::Complete, Self::Declined, Self::Fatal];

    /// Returns the name to show (contract, "Reference objects").
    pub fn label(self) -> &'static str {
        let mut stages = forecourt_reference::deal_stages().into_iter();
        stages
            .find(|stage| stage.name == self.name())
            .map_or(self.name(), |stage| stage.label)
    }

    /// Returns `true` unless the deal has ended.
    pub const fn is_open(self) -> bool {
        !matches!(self, Self::Complete | Self::Declined | Self::Fatal)
    }

    /// Returns `true` in the stages between which customers go back and forth.
    pub fn is_early(self) -> bool {
        Self::EARLY.contains(&self)
    }

    /// Returns `true` while contact and vehicle stand still.
    pub const fn is_confirmed(self) -> bool {
        matches!(self, Self::Confirm | Self::Handover)
    }

    /// Returns the stages that a caller can move the deal to: the row of the table of areas §10.12.
    pub fn allowed(self) -> Vec<Self> {
        let mut allowed = match self {
            Self::PaymentPartial => vec![Self::Confirm],
            Self::Confirm => vec![Self::Payment, Self::Handover],
            Self::Handover => vec![Self::Confirm, Self::Complete],
            Self::Complete => return Vec::new(),
            Self::Declined | Self::Fatal => return vec![Self::Begin],
            _ => Self::EARLY.into_iter().chain([Self::Confirm]).collect(),
        };
        allowed.extend([Self::Declined, Self::Fatal]);
        allowed
    }

    /// Returns `true` in the stages from finance on, in which a commission must have been disclosed.
    pub const fn is_financed(self) -> bool {
        matches!(
            self,
            Self::Finance | Self::Payment | Self::PaymentPartial | Self::Confirm | Self::Handover | Self::Complete
        )
    }
}

/// A cause that moves a deal by itself (areas §10.12).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// Its invoice was issued, and something is due.
    Issued,
    /// A payment on its invoice left something due.
    PaidInPart,
    /// Nothing is due on its invoice.
    Paid,
    /// A payment on its invoice was taken back, and something is due. `true` while a payment stands.
    Reversed(bool),
    /// Its vehicle was handed over to its contact.
    HandedOver,
    /// Its vehicle was sold to another contact, or deleted.
    VehicleLost,
}

impl Step {
    /// Every cause.
    pub const ALL: [Self; 7] = [
        Self::Issued,
        Self::PaidInPart,
        Self::Paid,
        Self::Reversed(true),
        Self::Reversed(false),
        Self::HandedOver,
        Self::VehicleLost,
    ];

    /// Returns the stage that the cause leads to from `stage`; `None` if it moves nothing.
    pub fn target(self, stage: DealStage) -> Option<DealStage> {
        let pays = stage.is_early() || stage == DealStage::PaymentPartial;
        let target = match self {
            Self::Issued if stage.is_early() => DealStage::Payment,
            Self::PaidInPart if pays => DealStage::PaymentPartial,
            Self::Paid if pays => DealStage::Confirm,
            Self::Reversed(true) if stage == DealStage::Confirm => DealStage::PaymentPartial,
            Self::Reversed(false) if stage == DealStage::Confirm => DealStage::Payment,
            Self::HandedOver if stage.is_open() => DealStage::Complete,
            Self::VehicleLost if stage.is_open() => DealStage::Fatal,
            _ => return None,
        };
        (target != stage).then_some(target)
    }
}

names! {
    /// The reason why a deal did not come about.
    ReasonCode, UnknownReasonCode,
    "must be one of different_vehicle, unaffordable, not_interested, went_elsewhere, not_available, condition, poor_service, finance_declined, other";
    /// The customer wants another car.
    DifferentVehicle = "different_vehicle",
    /// It is too expensive.
    Unaffordable = "unaffordable",
    /// The customer is not interested any more.
    NotInterested = "not_interested",
    /// The customer bought elsewhere.
    WentElsewhere = "went_elsewhere",
    /// The car is gone.
    NotAvailable = "not_available",
    /// The car's condition.
    Condition = "condition",
    /// The dealership's service.
    PoorService = "poor_service",
    /// The finance was declined.
    FinanceDeclined = "finance_declined",
    /// Anything else.
    Other = "other",
}

names! {
    /// The mover of a deal.
    MovedBy, UnknownMovedBy,
    "must be api or system";
    /// A caller.
    Api = "api",
    /// The system, after something else has happened.
    System = "system",
}

/// The first stage of a new deal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FirstStage(pub DealStage);

impl FromJson for FirstStage {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        match from_line::<DealStage>(value) {
            Ok(stage @ (DealStage::Begin | DealStage::Pending)) => Ok(Self(stage)),
            _ => Err(InvalidValue::here("must be begin or pending")),
        }
    }
}

/// A stage as the API shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DealStageView {
    /// The name to compare.
    name: &'static str,
    /// The name to show.
    label: &'static str,
}

impl From<DealStage> for DealStageView {
    fn from(stage: DealStage) -> Self {
        Self {
            name: stage.name(),
            label: stage.label(),
        }
    }
}

/// The reason why a deal did not come about, with what was said about it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DealReason {
    /// The reason.
    pub code: ReasonCode,
    /// A note on it; may be empty.
    pub note: forecourt_kernel::LongText,
}
