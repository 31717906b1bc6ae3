//! The id of a contact in a path.

use crate::parameters::parameters;

parameters! {
    pub(super) path IdParameter;

    /// Contact id.
    id: i64;
}
