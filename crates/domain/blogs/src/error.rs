//! The errors of this area's use cases.

use forecourt_kernel::{StoreError, ValidationErrors, VersionMismatch};

use crate::ArticleId;

/// A refusal or failure of a use case.
#[derive(Debug, thiserror::Error)]
pub enum ArticleError {
    /// The business has no article with that id (`blog_not_found`).
    #[error("article {0} does not exist")]
    NotFound(ArticleId),
    /// The request is not valid (`validation_failed`).
    #[error("{0}")]
    Invalid(ValidationErrors),
    /// The record is not at the version that the write expects (`precondition_failed`).
    #[error(transparent)]
    VersionMismatch(#[from] VersionMismatch),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ValidationErrors> for ArticleError {
    fn from(errors: ValidationErrors) -> Self {
        Self::Invalid(errors)
    }
}
