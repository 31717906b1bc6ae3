//! The id of an appointment in a path.

use crate::parameters::parameters;

parameters! {
    pub(super) path IdParameter;

    /// Appointment id.
    id: i64;
}
