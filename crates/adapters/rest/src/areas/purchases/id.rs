//! The path's parameters of purchases.

use crate::parameters::parameters;

parameters! {
    pub(super) path IdParameter;

    /// Purchase id.
    id: i64;
}
