//! The id of a vehicle in a path.

use crate::parameters::parameters;

parameters! {
    pub(super) path IdParameter;

    /// Vehicle id.
    id: i64;
}
