//! Operations, as lists of them show them.

use forecourt_kernel::Scope;

/// An operation of the API.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperationSummary {
    /// The scope that it needs.
    pub scope: Scope,
    /// GET, POST, PUT, PATCH or DELETE.
    pub method: String,
    /// With parameters in braces.
    pub path: String,
}
