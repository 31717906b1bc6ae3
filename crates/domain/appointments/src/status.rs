//! The statuses of an appointment, and the moves between them (areas §10.9).

use std::str::FromStr;

use forecourt_kernel::{FromJson, InvalidValue, from_line};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The status of an appointment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AppointmentStatus {
    /// It was booked.
    #[default]
    Booked,
    /// The visitor has confirmed it.
    Confirmed,
    /// The visitor is there.
    Arrived,
    /// It took place.
    Completed,
    /// The visitor did not come.
    NoShow,
    /// It was cancelled.
    Cancelled,
}

impl AppointmentStatus {
    /// Every status, in the order of the contract.
    pub const ALL: [Self; 6] = [
        Self::Booked,
        Self::Confirmed,
        Self::Arrived,
        Self::Completed,
        Self::NoShow,
        Self::Cancelled,
    ];

    /// The name in the API and in storage.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Booked => "booked",
            Self::Confirmed => "confirmed",
            Self::Arrived => "arrived",
            Self::Completed => "completed",
            Self::NoShow => "no_show",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns `true` if it takes up staff, vehicle and calendar.
    pub const fn takes_up(self) -> bool {
        matches!(self, Self::Booked | Self::Confirmed | Self::Arrived)
    }

    /// Returns `true` if the visitor is still to come, so that a reminder makes sense.
    pub(crate) const fn is_awaited(self) -> bool {
        matches!(self, Self::Booked | Self::Confirmed)
    }

    /// Returns `true` if a caller may set `to` in this status. Cancelling is an operation of its own.
    pub const fn may_become(self, to: Self) -> bool {
        match self {
            Self::Booked => matches!(
                to,
                Self::Booked | Self::Confirmed | Self::Arrived | Self::Completed | Self::NoShow
            ),
            Self::Confirmed => matches!(
                to,
                Self::Confirmed | Self::Booked | Self::Arrived | Self::Completed | Self::NoShow
            ),
            Self::Arrived => matches!(to, Self::Arrived | Self::Completed | Self::Booked),
            Self::Completed => matches!(to, Self::Completed | Self::Booked),
            Self::NoShow => matches!(to, Self::NoShow | Self::Booked),
            Self::Cancelled => matches!(to, Self::Cancelled),
        }
    }
}

/// The text is not the name of a status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be booked, confirmed, arrived, completed, no_show or cancelled")]
pub struct UnknownAppointmentStatus;

impl FromStr for AppointmentStatus {
    type Err = UnknownAppointmentStatus;

    fn from_str(text: &str) -> Result<Self, UnknownAppointmentStatus> {
        Self::ALL
            .into_iter()
            .find(|status| status.name() == text)
            .ok_or(UnknownAppointmentStatus)
    }
}

impl FromJson for AppointmentStatus {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        from_line(value)
    }
}
