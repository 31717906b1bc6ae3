//! What can go wrong between a use case and its storage.

/// Any error, kept for the log.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a store's method returns.
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
    /// The store failed in a way that no caller can mend.
    #[error("the store failed")]
    Other(#[source] BoxError),
}

/// Why a store that can be reached takes no writes. It is the cause of [`StoreError::Unavailable`], and callers are answered with it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct WritesRefused(pub String);
