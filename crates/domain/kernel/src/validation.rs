//! Faults of a request's fields, collected so that a caller learns of all of them at once.

use serde::Serialize;

use crate::bounds::{MAX_FAULTS, MAX_LINE_CHARS};

/// The maximum number of characters of a message.
const MAX_MESSAGE_CHARS: usize = 512;

/// The maximum number of characters of a caller's text that a message quotes.
const MAX_QUOTED_CHARS: usize = 60;

/// Quotes a caller's text for a message. A long text is cut off.
pub fn quoted(text: &str) -> String {
    format!("{:?}", shortened(text, MAX_QUOTED_CHARS))
}

/// Returns `text`, cut off with an ellipsis if it has more than `most` characters.
fn shortened(text: impl Into<String>, most: usize) -> String {
    let mut text = text.into();
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// A field that is wrong, and the reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldError {
    /// The field's dot-path in the body, or the query parameter's name.
    pub field: String,
    /// The fault, for example `must be an integer`.
    pub message: String,
}

/// The invalid fields, in the order in which they were checked. Only the first [`MAX_FAULTS`] are kept, each of bounded length,
/// so that the response does not grow with the size of the request.
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

    /// Adds a fault of `field`.
    pub fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        if self.0.len() < MAX_FAULTS {
            self.0.push(FieldError {
                field: shortened(field.into(), MAX_LINE_CHARS),
                message: shortened(message.into(), MAX_MESSAGE_CHARS),
            });
        }
    }

    /// Adds the faults of `others`.
    pub fn extend(&mut self, others: Self) {
        let room = MAX_FAULTS - self.0.len();
        self.0.extend(others.0.into_iter().take(room));
    }

    /// Returns `true` if there are no faults.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The faults, first found first.
    pub fn as_slice(&self) -> &[FieldError] {
        &self.0
    }

    /// Returns `value` if there are no faults.
    ///
    /// # Errors
    /// The faults, if there are any.
    pub fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }
}

/// A value that was validated. Use cases take it, so that a caller validates once and cannot forget to.
///
/// ```
/// use forecourt_kernel::{Valid, ValidationErrors};
///
/// let is_even = |number: &u8| match number % 2 {
///     0 => ValidationErrors::new(),
///     _ => ValidationErrors::one("number", "must be even"),
/// };
/// assert_eq!(Valid::new(8, is_even).map(Valid::into_inner), Ok(8));
/// assert!(Valid::new(7, is_even).is_err());
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Valid<T>(T);

impl<T> Valid<T> {
    /// Returns `value` if `validate` finds no faults. Each use case names the function to pass.
    ///
    /// # Errors
    /// The faults.
    pub fn new(value: T, validate: impl FnOnce(&T) -> ValidationErrors) -> Result<Self, ValidationErrors> {
        validate(&value).into_result(Self(value))
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> std::ops::Deref for Valid<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_faults_are_kept() {
        let mut errors = ValidationErrors::one("first", "is odd");
        for at in 0..2 * MAX_FAULTS {
            errors.add(format!("field.{at}"), "is odd");
        }
        assert_eq!(errors.as_slice().len(), MAX_FAULTS);
        assert_eq!(errors.as_slice()[0].field, "first");
        let mut others = ValidationErrors::one("other", "is odd");
        others.extend(errors);
        assert_eq!(others.as_slice().len(), MAX_FAULTS);
        assert_eq!(others.as_slice()[1].field, "first");
    }

    #[test]
    fn a_fault_is_short_whatever_was_sent() {
        let long = "é".repeat(1_000_000);
        let errors = ValidationErrors::one(long.clone(), format!("names {}", quoted(&long)));
        let FieldError { field, message } = &errors.as_slice()[0];
        assert_eq!(field.chars().count(), MAX_LINE_CHARS + 1);
        assert_eq!(message.chars().count(), "names \"\"".len() + MAX_QUOTED_CHARS + 1);
        assert_eq!(quoted("a\"b"), r#""a\"b""#);
        let errors = ValidationErrors::one("field", long);
        assert_eq!(errors.as_slice()[0].message.chars().count(), MAX_MESSAGE_CHARS + 1);
    }
}
