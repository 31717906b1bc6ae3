//! The unit of work behind every write: idempotency, use case, events and answer in one transaction.

use forecourt_accounts::Claim;
use forecourt_dealership::Session;
use forecourt_kernel::StoreError;

use crate::{
    call::{Call, Retry},
    error::{ApiError, Code},
    operation::is_final,
    reply::Reply,
};

/// How often a unit of work is run before its conflicts are given up on.
const TRIES: usize = 8;

impl Call {
    /// Runs `work` on `command` in a transaction of its own, and answers only once that is durable.
    ///
    /// `command` is what the body was judged to ask for, judged before the transaction begins; if it was found wrong, that
    /// is the answer, and one that an idempotency key replays. A conflict with another transaction runs it all again.
    pub(crate) async fn write<C: Clone>(
        &self,
        command: Result<C, ApiError>,
        work: impl AsyncFn(&mut dyn Session, C) -> Result<Reply, ApiError>,
    ) -> Result<Reply, ApiError> {
        // Without a key there is nothing to store, so a wrong body needs no transaction.
        let command = match (command, &self.retry) {
            (Err(error), None) => return Err(error),
            (command, _) => command.map_err(Reply::refusal),
        };
        let mut tries = 1;
        loop {
            let outcome = match &self.retry {
                None => self.write_once(&command, &work).await,
                Some(retry) => self.write_once_for_all(retry, &command, &work).await,
            };
            match outcome {
                Err(ApiError::Store(StoreError::Conflict)) if tries < TRIES => tries += 1,
                outcome => return outcome,
            }
        }
    }

    /// The answer that the request was given before, for a write that has something to do before its transaction begins.
    /// Whether the key is free is judged again in [`Call::write`].
    pub(crate) async fn replay(&self) -> Result<Option<Reply>, ApiError> {
        let Some(retry) = &self.retry else { return Ok(None) };
        let mut session = self.worker.database.begin().await?;
        match self.claim(session.as_mut(), retry).await {
            Ok(Some(stored)) => {
                // What was read may not be durable yet; it is when this returns.
                session.commit().await?;
                Ok(Some(stored))
            }
            Err(ApiError::Store(StoreError::Conflict)) => Ok(None),
            unanswered => unanswered,
        }
    }

    /// Claims the key of a retry; answers with what is stored under it.
    async fn claim(
        &self,
        session: &mut dyn Session,
        Retry { key, fingerprint }: &Retry,
    ) -> Result<Option<Reply>, ApiError> {
        let business = self.caller.business_id();
        match session.claim(business, key, *fingerprint, self.clock().now()).await? {
            Claim::Fresh => Ok(None),
            Claim::Replay(stored) => Ok(Some(Reply::replay(stored))),
            Claim::Reused => {
                let message = "this Idempotency-Key was used for another request";
                Err(ApiError::new(Code::IdempotencyKeyReused, message))
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
        let mut session = self.worker.database.begin().await?;
        let reply = work(session.as_mut(), command).await?;
        session.commit().await?;
        Ok(reply)
    }

    async fn write_once_for_all<C: Clone>(
        &self,
        retry: &Retry,
        command: &Result<C, Reply>,
        work: &impl AsyncFn(&mut dyn Session, C) -> Result<Reply, ApiError>,
    ) -> Result<Reply, ApiError> {
        let business = self.caller.business_id();
        let mut session = self.worker.database.begin().await?;
        if let Some(answered) = self.claim(session.as_mut(), retry).await? {
            // What was read may not be durable yet; it is when this returns.
            session.commit().await?;
            return Ok(answered);
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
                        Reply::refusal(refused)
                    }
                }
            }
        };
        if is_final(reply.status) {
            session
                .store_response(business, &retry.key, &reply.to_stored(), reply.shows)
                .await?;
            session.commit().await?;
        }
        Ok(reply)
    }
}
