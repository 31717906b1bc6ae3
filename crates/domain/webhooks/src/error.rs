//! The errors of this area's use cases.

use forecourt_kernel::{DeliveryId, Scope, StoreError, ValidationErrors, VersionMismatch, WebhookId};

/// A refusal or failure of a use case.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The business has no subscription with that id.
    #[error("webhook {0} does not exist")]
    NotFound(WebhookId),
    /// The subscription has no delivery with that id, or its event is no longer kept.
    #[error("webhook delivery {0} does not exist")]
    DeliveryNotFound(DeliveryId),
    /// The caller's key lacks a scope that the subscription has.
    #[error("this key lacks the scope {0}, which the webhook has")]
    Denied(Scope),
    /// The request is not valid.
    #[error("{0}")]
    Invalid(ValidationErrors),
    /// The record is not at the version that the write expects (`precondition_failed`).
    #[error(transparent)]
    VersionMismatch(#[from] VersionMismatch),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ValidationErrors> for WebhookError {
    fn from(errors: ValidationErrors) -> Self {
        Self::Invalid(errors)
    }
}
