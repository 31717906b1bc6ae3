//! Work that continues after its request has ended.

use std::panic::resume_unwind;

use actix_web::rt;
use forecourt_kernel::StoreError;

use crate::error::ApiError;

/// Runs `work` to its end even if the request that started it is cancelled or times out. Use it for work that must not stop
/// half-way.
pub(crate) async fn run_to_completion<T: 'static>(
    work: impl Future<Output = Result<T, ApiError>> + 'static,
) -> Result<T, ApiError> {
    match rt::spawn(work).await {
        Ok(outcome) => outcome,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(stopped) => Err(StoreError::Unavailable(stopped.into()).into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, rc::Rc, time::Duration};

    use futures_util::FutureExt;
    use tokio::{
        sync::Notify,
        task::{LocalSet, yield_now},
        time::timeout,
    };

    use super::*;

    #[tokio::test]
    async fn work_is_done_although_the_caller_is_gone() {
        let (gate, done) = (Rc::new(Notify::new()), Rc::new(Cell::new(false)));
        let work = {
            let (gate, done) = (Rc::clone(&gate), Rc::clone(&done));
            async move {
                gate.notified().await;
                done.set(true);
                Ok(())
            }
        };
        let given_up = async {
            assert!(run_to_completion(work).now_or_never().is_none());
            gate.notify_one();
            while !done.get() {
                yield_now().await;
            }
        };
        let patience = Duration::from_secs(20);
        timeout(patience, LocalSet::new().run_until(given_up)).await.unwrap();
    }

    #[tokio::test]
    #[should_panic(expected = "as it was")]
    async fn a_panic_stays_one() {
        let work = async { panic!("as it was") };
        let outcome: Result<(), ApiError> = LocalSet::new().run_until(run_to_completion(work)).await;
        outcome.unwrap();
    }
}
