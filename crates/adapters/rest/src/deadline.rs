//! The time that work on a request may take.

use std::{future::Future, time::Duration};

use forecourt_kernel::StoreError;

use crate::error::ApiError;

/// The maximum time for a request once its body has arrived.
pub(crate) const WORK_TIMEOUT: Duration = Duration::from_secs(30);

/// Ends work that takes too long. A write that is ended in this way is rolled back, or is durable without its answer: a retry
/// with its idempotency key shows which.
pub(crate) async fn with_timeout<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, ApiError> {
    let too_slow = || StoreError::Unavailable("the request took too long".into());
    tokio::time::timeout(limit, work)
        .await
        .unwrap_or_else(|_| Err(too_slow().into()))
}
