//! The path's parameters of invoices.

use crate::parameters::parameters;

parameters! {
    pub(super) path IdParameter;

    /// Invoice id.
    id: i64;
}
