//! Validation of bodies together with the records that they refer to (decisions §3).

use forecourt_accounts::Rules;
use forecourt_dealership::ReadSession;
use forecourt_kernel::{Valid, ValidationErrors};
use serde::de::DeserializeOwned;

use crate::{call::Call, error::ApiError};

/// A body that was read.
pub(crate) struct ParsedBody<C> {
    /// The command; `None` if the faults leave it open.
    pub(crate) command: Option<C>,
    /// The faults of the body by itself.
    pub(crate) errors: ValidationErrors,
}

impl<C> ParsedBody<C> {
    /// Makes a body whose command is known even if it has faults.
    pub(crate) const fn new(command: C, errors: ValidationErrors) -> Self {
        let command = Some(command);
        Self { command, errors }
    }
}

impl Call {
    /// Returns the body, if `validate` finds no fault in it. It names no other records.
    pub(crate) async fn valid<B: DeserializeOwned + Send + 'static>(
        &self,
        validate: impl FnOnce(&B, &Rules<'_>) -> ValidationErrors + Send + 'static,
    ) -> Result<Valid<B>, ApiError> {
        self.read_body(move |body, rules| Ok(Valid::new(body, |body| validate(body, rules))?))
            .await
    }

    /// Returns the command of a body that names other records, given with the faults of the body by itself. If there are any,
    /// or strict handling refuses it, `look_up` checks the other records all the same, so that a caller sees every fault at
    /// once. If there are none, the use case checks them in the session in which it writes.
    pub(crate) async fn validated<C>(
        &self,
        read: Result<ParsedBody<C>, ApiError>,
        look_up: impl AsyncFnOnce(&mut dyn ReadSession, &C) -> Result<ValidationErrors, ApiError>,
    ) -> Result<Valid<C>, ApiError> {
        let ParsedBody { command, mut errors } = read?;
        match command {
            Some(command) if self.unknown.is_empty() && errors.is_empty() => Ok(Valid::new(command, |_| errors)?),
            Some(command) => {
                let mut session = self.read().await?;
                errors.extend(look_up(session.as_mut(), &command).await?);
                Err(errors.into())
            }
            None => Err(errors.into()),
        }
    }
}
