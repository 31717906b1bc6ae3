//! The calendars in which appointments are booked.

use forecourt_kernel::StaffId;
use serde::{Deserialize, Serialize};

use crate::OpeningHours;

/// A calendar in which appointments are booked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calendar {
    /// Its id, which booking types name.
    pub id: String,
    /// The name to show.
    pub name: String,
    /// The number of appointments that can take place at once; `None` for no limit.
    #[serde(default)]
    pub capacity: Option<u32>,
    /// The staff users whose appointments these are.
    #[serde(default)]
    pub staff: Vec<StaffId>,
    /// Its own opening hours; `None` for those of the business.
    #[serde(default)]
    pub opening_hours: Option<OpeningHours>,
    /// The minutes between the beginnings of two slots.
    #[serde(default = "quarter_of_an_hour")]
    pub step_minutes: u32,
    /// The minutes that a person or a vehicle is kept free between two appointments.
    #[serde(default)]
    pub buffer_minutes: u32,
    /// The minutes before which a slot is no longer offered.
    #[serde(default)]
    pub notice_minutes: u32,
}

const fn quarter_of_an_hour() -> u32 {
    15
}
