//! Faults of a request's fields, gathered so that a caller learns of all of them at once.

use serde::Serialize;

/// One field that is wrong, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldError {
    /// The field's dot-path in the body, or the query parameter's name.
    pub field: String,
    /// What the field must be.
    pub message: String,
}

/// The fields found wrong, in the order in which they were judged.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ValidationErrors(Vec<FieldError>);

impl ValidationErrors {
    /// No faults yet.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// A single fault.
    pub fn one(field: impl Into<String>, message: impl Into<String>) -> Self {
        let mut errors = Self::new();
        errors.add(field, message);
        errors
    }

    /// Notes that `field` is wrong.
    pub fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(FieldError {
            field: field.into(),
            message: message.into(),
        });
    }

    /// Takes over the faults of `others`.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Whether nothing was found wrong.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The faults, first found first.
    pub fn as_slice(&self) -> &[FieldError] {
        &self.0
    }

    /// `value` if nothing was found wrong.
    ///
    /// # Errors
    /// The faults, if there are any.
    pub fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl std::fmt::Display for ValidationErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, FieldError { field, message }) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { "; " };
            write!(f, "{separator}{field} {message}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ValidationErrors {}
