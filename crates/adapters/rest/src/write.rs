//! The unit of work behind every write: idempotency, use case, events and answer in one transaction.

use std::convert::Infallible;

use actix_web::http::StatusCode;
use forecourt_accounts::{KeyUse, KeyedRequest};
use forecourt_dealership::Session;
use forecourt_kernel::StoreError;
use tokio::sync::OwnedMutexGuard;

use crate::{call::Call, code::Code, error::ApiError, reply::Reply};

/// The number of times that a unit of work is run before its conflicts end it.
const MAX_TRIES: usize = 8;

/// The outcome of preparing a write.
pub(crate) enum Prepared<T> {
    /// The request was answered before, or refused: nothing is left to do.
    Answered(Reply),
    /// The preparation succeeded, with this result.
    Done(T),
}

impl Call {
    /// Runs `work` on `command` in a transaction of its own, and answers only once that is durable.
    ///
    /// `command` is the validated body, read before the transaction begins; if it is invalid, the answer is its refusal, which
    /// an idempotency key replays. A conflict with another transaction runs it all again.
    pub(crate) async fn write<C: Clone>(
        &self,
        command: Result<C, ApiError>,
        work: impl AsyncFn(&mut dyn Session, C) -> Result<Reply, ApiError>,
    ) -> Result<Reply, ApiError> {
        // Without a key there is nothing to store, so an invalid body needs no transaction.
        let command = match (self.strictly(command), &self.retry) {
            (Err(error), None) => return Err(error),
            (command, _) => command.map_err(|refused| Reply::refusal(refused, self.help())),
        };
        let _lock = self.lock_key().await;
        retry_conflicts(async || match &self.retry {
            None => self.write_once(&command, &work).await,
            Some(request) => self.write_once_for_all(request, &command, &work).await,
        })
        .await
    }

    /// Returns a refusal that was found before [`Call::write`], and that an idempotency key replays.
    pub(crate) async fn refuse(&self, refused: ApiError) -> Result<Reply, ApiError> {
        self.write(
            Err(refused),
            async |_: &mut dyn Session, never: Infallible| match never {},
        )
        .await
    }

    /// Runs `work` in a transaction of its own, unless the request was answered before. It is for a write that has to do
    /// something slow between two transactions. If `work` refuses the request, the answer is that refusal, which an idempotency
    /// key replays. [`Call::write`] checks again whether the key is free.
    pub(crate) async fn prepare<T>(
        &self,
        work: impl AsyncFn(&mut dyn Session) -> Result<T, ApiError>,
    ) -> Result<Prepared<T>, ApiError> {
        let prepared = self.apart(async |session: &mut dyn Session| {
            let Some(request) = &self.retry else {
                return work(session).await.map(Prepared::Done);
            };
            if let Some(answered) = self.answered(session, request).await? {
                return Ok(Prepared::Answered(answered));
            }
            session.savepoint().await?;
            let done = work(session).await?;
            // While `work` waited for a lock, another server may have answered the request.
            match self.answered(session, request).await? {
                None => Ok(Prepared::Done(done)),
                Some(answered) => {
                    session.rollback_to_savepoint().await?;
                    Ok(Prepared::Answered(answered))
                }
            }
        });
        match prepared.await {
            Err(refused @ (ApiError::Refused(_) | ApiError::Invalid(_))) => {
                self.refuse(refused).await.map(Prepared::Answered)
            }
            outcome => outcome,
        }
    }

    /// Runs `work` in a transaction of its own, apart from the request's answer.
    pub(crate) async fn apart<T>(
        &self,
        work: impl AsyncFn(&mut dyn Session) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        retry_conflicts(async || {
            let mut session = self.begin().await?;
            let outcome = work(session.as_mut()).await;
            ended(session, outcome).await
        })
        .await
    }

    /// Waits for a request under the same key on this server, if there is one, and makes later ones wait.
    async fn lock_key(&self) -> Option<OwnedMutexGuard<()>> {
        let key = (self.caller.business_id(), self.retry.as_ref()?.key.clone());
        Some(self.worker.shared.keyed_requests.lock(key).await)
    }

    /// Returns the answer that is stored for the request, if there is one.
    async fn answered(&self, session: &mut dyn Session, request: &KeyedRequest) -> Result<Option<Reply>, ApiError> {
        let business = self.caller.business_id();
        match session.key_use(business, request, self.clock().now()).await? {
            KeyUse::Free => Ok(None),
            KeyUse::Answered(stored) => Ok(Some(Reply::replay(stored))),
            KeyUse::Reused => {
                let message = "this Idempotency-Key was used for another request";
                Err(ApiError::new(Code::IDEMPOTENCY_KEY_REUSED, message))
            }
        }
    }

    async fn write_once<C: Clone>(
        &self,
        command: &Result<C, Reply>,
        work: &impl AsyncFn(&mut dyn Session, C) -> Result<Reply, ApiError>,
    ) -> Result<Reply, ApiError> {
        let command = match command {
            Ok(command) => command.clone(),
            Err(refused) => return Ok(refused.clone()),
        };
        let mut session = self.begin().await?;
        let outcome = work(session.as_mut(), command).await;
        ended(session, outcome).await
    }

    async fn write_once_for_all<C: Clone>(
        &self,
        request: &KeyedRequest,
        command: &Result<C, Reply>,
        work: &impl AsyncFn(&mut dyn Session, C) -> Result<Reply, ApiError>,
    ) -> Result<Reply, ApiError> {
        let business = self.caller.business_id();
        let mut session = self.begin().await?;
        match self.answered(session.as_mut(), request).await {
            Ok(None) => (),
            Ok(Some(answered)) => return ended(session, Ok(answered)).await,
            Err(refused) => return ended(session, Err(refused)).await,
        }
        let reply = match command {
            Err(refused) => refused.clone(),
            Ok(command) => {
                session.savepoint().await?;
                match work(session.as_mut(), command.clone()).await {
                    Ok(reply) => reply,
                    Err(failed @ (ApiError::Store(_) | ApiError::Failed { .. })) => return Err(failed),
                    Err(refused) => {
                        session.rollback_to_savepoint().await?;
                        Reply::refusal(refused, self.help())
                    }
                }
            }
        };
        if is_final(reply.status) {
            session
                .store_response(business, request, self.clock().now(), &reply.to_stored(), reply.shows)
                .await?;
            session.commit().await?;
        } else {
            session.rollback().await?;
        }
        Ok(reply)
    }
}

/// Ends a session after its work: commits it, or undoes refused work. In both cases the data that it has read may not be
/// durable yet; it is when this returns, so that no answer shows data that is lost later.
async fn ended<T>(session: Box<dyn Session>, outcome: Result<T, ApiError>) -> Result<T, ApiError> {
    match &outcome {
        Ok(_) => session.commit().await?,
        Err(ApiError::Refused(_) | ApiError::Invalid(_)) => session.rollback().await?,
        // The caller sees a fixed sentence.
        Err(ApiError::Store(_) | ApiError::Failed { .. }) => drop(session),
    }
    outcome
}

/// Runs a unit of work again as long as it conflicts with another, a bounded number of times.
async fn retry_conflicts<T>(work: impl AsyncFn() -> Result<T, ApiError>) -> Result<T, ApiError> {
    let mut tries = 1;
    loop {
        match work().await {
            Err(ApiError::Store(StoreError::Conflict)) if tries < MAX_TRIES => tries += 1,
            outcome => return outcome,
        }
    }
}

/// Returns true if an answer with this status may be stored for a replay.
fn is_final(status: StatusCode) -> bool {
    // Whether a key may do something depends on the key, and another one may retry.
    !status.is_server_error() && status != StatusCode::FORBIDDEN
}
