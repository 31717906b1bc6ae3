//! The id of a lead in a path.

use crate::parameters::parameters;

parameters! {
    pub(super) path IdParameter;

    /// Lead id.
    id: i64;
}
