//! Summaries of operations, for lists.

use forecourt_kernel::Scope;

/// An operation of the API.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperationSummary {
    /// The scope that it needs.
    pub scope: Scope,
    /// GET, POST, PUT, PATCH or DELETE.
    pub method: String,
    /// The path, with parameters in braces.
    pub path: String,
}
