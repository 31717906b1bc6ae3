//! Refusals and failures, as callers see them (contract, "Errors").

use std::{borrow::Cow, error::Error};

use forecourt_accounts::{AccountRefusal, AuthenticationError};
use forecourt_kernel::bounds::{MAX_HEADER_BYTES, MAX_TARGET_BYTES};
use forecourt_kernel::{BoxError, Scope, StoreError, ValidationErrors, VersionMismatch, WritesRefused};
use serde_json::{Value, json};

use crate::code::Code;

/// The reason why a request fails.
#[derive(Debug)]
pub(crate) enum ApiError {
    /// Reported to the caller, who can act on it.
    Refused(Refusal),
    /// Fields or parameters are invalid; the caller sees which ones.
    Invalid(ValidationErrors),
    /// Storage failed. A conflict re-runs the unit of work; other errors are logged, and the caller sees a fixed sentence.
    Store(StoreError),
    /// Another failure that the caller sees by name. The cause is logged and not shown.
    Failed {
        /// The refusal that the caller sees.
        refusal: Refusal,
        /// The cause, for the log.
        cause: BoxError,
    },
}

/// A refusal, as the envelope shows it.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    pub(crate) message: Cow<'static, str>,
    pub(crate) details: Option<Value>,
}

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
        }
    }

    /// Returns the refusal that reports invalid fields.
    fn invalid(errors: &ValidationErrors) -> Self {
        let first = errors.as_slice().first();
        let message = first.map_or_else(
            || "the request is not valid".to_owned(),
            |error| format!("{} {}", error.field, error.message),
        );
        let details = json!({"field": first.map(|error| &error.field), "errors": errors.as_slice()});
        Self {
            details: Some(details),
            ..Self::new(Code::VALIDATION_FAILED, message)
        }
    }

    /// Returns the body of the error envelope.
    pub(crate) fn to_json(&self) -> Value {
        let mut error = json!({"code": self.code.as_str(), "message": self.message});
        if let Some(details) = &self.details {
            error["details"] = details.clone();
        }
        json!({"success": false, "error": error})
    }
}

/// Formats a failure with all its causes, for logs.
pub(crate) fn chain(failure: &dyn Error) -> String {
    let mut chain = failure.to_string();
    let mut source = failure.source();
    while let Some(cause) = source {
        chain.push_str(": ");
        chain.push_str(&cause.to_string());
        source = cause.source();
    }
    chain
}

impl ApiError {
    pub(crate) fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self::Refused(Refusal::new(code, message))
    }

    /// Returns a failure that has a code of its own.
    pub(crate) fn failed(code: Code, message: &'static str, cause: BoxError) -> Self {
        Self::Failed {
            refusal: Refusal::new(code, message),
            cause,
        }
    }

    /// Returns the refusal of a request whose head is too long, malformed or late.
    pub(crate) fn of_head(code: Code) -> Self {
        let message = if code == Code::URI_TOO_LONG {
            format!("the request target must have at most {MAX_TARGET_BYTES} bytes")
        } else if code == Code::HEADERS_TOO_LARGE {
            format!("the header fields must have at most {MAX_HEADER_BYTES} bytes in 96 lines")
        } else if code == Code::REQUEST_TIMEOUT {
            "the request did not arrive in time".to_owned()
        } else {
            "the request is not valid HTTP".to_owned()
        };
        Self::new(code, message)
    }

    /// Returns the error for a single wrong field.
    pub(crate) fn field(field: &str, message: impl Into<String>) -> Self {
        ValidationErrors::one(field, message).into()
    }

    /// Returns a refusal whose details name what the caller can act on.
    pub(crate) fn with_details(code: Code, message: impl Into<Cow<'static, str>>, details: Value) -> Self {
        Self::Refused(Refusal {
            details: Some(details),
            ..Refusal::new(code, message)
        })
    }

    /// Returns the refusal for a key that has some scopes, but not `scope`.
    pub(crate) fn scope_denied(scope: Scope) -> Self {
        Self::scope(Code::SCOPE_DENIED, scope, format!("this key lacks the scope {scope}"))
    }

    /// Returns the refusal for a key that has no scopes at all, and so not `scope`.
    pub(crate) fn scope_required(scope: Scope) -> Self {
        Self::scope(
            Code::SCOPE_REQUIRED,
            scope,
            format!("this needs the scope {scope}, and this key has none"),
        )
    }

    fn scope(code: Code, scope: Scope, message: String) -> Self {
        Self::with_details(code, message, json!({"scope": scope.as_str()}))
    }

    /// Returns the refusal that the caller sees.
    pub(crate) fn into_refusal(self) -> Refusal {
        match self {
            Self::Refused(refusal) | Self::Failed { refusal, .. } => refusal,
            Self::Invalid(errors) => Refusal::invalid(&errors),
            Self::Store(StoreError::Unavailable(cause)) if cause.is::<WritesRefused>() => {
                Refusal::new(Code::SERVICE_UNAVAILABLE, cause.to_string())
            }
            Self::Store(StoreError::Unavailable(_) | StoreError::Conflict) => Refusal::new(
                Code::SERVICE_UNAVAILABLE,
                "the service is busy or its database cannot be reached; try again",
            ),
            Self::Store(StoreError::Duplicate(_) | StoreError::Other(_)) => {
                Refusal::new(Code::INTERNAL, "an unexpected error occurred")
            }
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<VersionMismatch> for ApiError {
    fn from(mismatch: VersionMismatch) -> Self {
        let VersionMismatch { current } = mismatch;
        let message = format!("the record has changed: it is at version {}", current.number());
        Self::with_details(Code::PRECONDITION_FAILED, message, json!({"version": current}))
    }
}

impl From<ValidationErrors> for ApiError {
    fn from(errors: ValidationErrors) -> Self {
        Self::Invalid(errors)
    }
}

impl From<AuthenticationError> for ApiError {
    fn from(error: AuthenticationError) -> Self {
        let code = match error {
            AuthenticationError::Invalid => Code::AUTHENTICATION_INVALID,
            AuthenticationError::Revoked => Code::AUTHENTICATION_REVOKED,
            AuthenticationError::Expired => Code::AUTHENTICATION_EXPIRED,
            AuthenticationError::Elsewhere => Code::AUTHENTICATION_BLOCKED,
            AuthenticationError::Refused(refusal) => match refusal {
                AccountRefusal::BusinessRequired => Code::BUSINESS_REQUIRED,
                AccountRefusal::BusinessNotFound => Code::BUSINESS_NOT_FOUND,
                AccountRefusal::BusinessUnverified => Code::BUSINESS_UNVERIFIED,
                AccountRefusal::AccountFrozen => Code::ACCOUNT_FROZEN,
                AccountRefusal::AccountSuspended => Code::ACCOUNT_SUSPENDED,
                AccountRefusal::AccountDemo => Code::ACCOUNT_DEMO,
                AccountRefusal::AccountReadOnly => Code::ACCOUNT_READ_ONLY,
                AccountRefusal::PlanUpgradeRequired => Code::PLAN_UPGRADE_REQUIRED,
                AccountRefusal::ApiAccessRequired => Code::API_ACCESS_REQUIRED,
            },
        };
        Self::new(code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_envelope_names_the_first_field_and_all_of_them() {
        let mut errors = ValidationErrors::new();
        errors.add("site", "must be a whole number");
        errors.add("data.x", "is odd");
        let envelope = ApiError::from(errors).into_refusal().to_json();
        assert_eq!(envelope["error"]["details"]["field"], "site");
        assert_eq!(
            envelope["error"]["details"]["errors"][1],
            json!({"field": "data.x", "message": "is odd"})
        );
    }

    #[test]
    fn a_failure_shows_nothing_of_its_cause() {
        let failure = ApiError::from(StoreError::Other("password=hunter2".into()));
        assert!(!failure.into_refusal().to_json().to_string().contains("hunter2"));
    }
}
