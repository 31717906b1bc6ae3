//! Errors between a use case and its storage.

/// Any error, kept for the log.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The result of a store's method.
pub type StoreResult<T> = Result<T, StoreError>;

/// A failure of a store, in terms that a caller can act on.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The transaction lost against another one; running the whole unit of work again may succeed.
    #[error("the transaction conflicted with another one")]
    Conflict,
    /// The named uniqueness rule would be broken.
    #[error("the uniqueness rule {0} would be broken")]
    Duplicate(String),
    /// The store cannot be reached, or is too busy to answer in time.
    #[error("the store cannot be reached")]
    Unavailable(#[source] BoxError),
    /// The store failed in a way that no caller can fix.
    #[error("the store failed")]
    Other(#[source] BoxError),
}

/// The reason why a store that can be reached refuses writes. It is the source of [`StoreError::Unavailable`], and the caller
/// receives its text.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct WritesRefused(pub String);
