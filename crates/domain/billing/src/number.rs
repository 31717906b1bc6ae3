//! The numbers of documents: 1, 2, 3 … within a business for each kind, without gaps.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The maximum number of digits of a running number.
#[cfg(feature = "openapi")]
const MAX_DIGITS: usize = 19;

macro_rules! numbers {
    ($($(#[$meta:meta])* $name:ident = $prefix:literal;)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub struct $name(i64);

        impl $name {
            /// The first number of a business.
            pub const FIRST: Self = Self(1);

            /// Wraps a running number from storage.
            pub const fn new(running: i64) -> Self {
                Self(running)
            }

            /// Returns the running number, as storage keeps it.
            pub const fn get(self) -> i64 {
                self.0
            }

            /// Returns the next number.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl From<$name> for String {
            fn from(number: $name) -> Self {
                number.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = NotANumber;

            fn try_from(text: String) -> Result<Self, NotANumber> {
                text.parse()
            }
        }

        /// Accepts only the written form: no sign, no leading zero.
        impl FromStr for $name {
            type Err = NotANumber;

            fn from_str(text: &str) -> Result<Self, NotANumber> {
                let digits = text.strip_prefix($prefix).ok_or(NotANumber)?;
                let number = digits.parse().map(Self).map_err(|_| NotANumber)?;
                if number.0 < 1 || number.to_string() != text {
                    return Err(NotANumber);
                }
                Ok(number)
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .max_length(Some($prefix.len() + MAX_DIGITS))
                    .pattern(Some(concat!("^", $prefix, "[1-9][0-9]*$")))
                    .into()
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}
    )+};
}

numbers! {
    /// The number of an invoice within its business, written `INV-1` (decisions §7).
    InvoiceNumber = "INV-";
    /// The number of a credit note within its business, written `CN-1` (decisions §7).
    CreditNumber = "CN-";
    /// The number of an order within its business, written `ORD-1` (areas §10.1).
    OrderNumber = "ORD-";
    /// The number of a purchase within its business, written `PUR-1` (areas §10.1).
    PurchaseNumber = "PUR-";
    /// The number of the credit of a purchase within its business, written `PCN-1` (areas §10.1).
    PurchaseCreditNumber = "PCN-";
}

/// The error for a text that is not a number of that kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be a prefix and a positive whole number, such as INV-1")]
pub struct NotANumber;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_reads_back_as_it_is_written() {
        for running in [1, 9, 10, 1_000_000, i64::MAX] {
            let number = InvoiceNumber::new(running);
            assert_eq!(number.to_string(), format!("INV-{running}"));
            assert_eq!(number.to_string().parse(), Ok(number));
            let number = CreditNumber::new(running);
            assert_eq!(number.to_string(), format!("CN-{running}"));
            assert_eq!(number.to_string().parse(), Ok(number));
        }
        for text in [
            "",
            "1",
            "INV-",
            "INV-0",
            "INV-01",
            "INV-+1",
            "INV--1",
            "inv-1",
            "CN-1",
            "INV-1 ",
            "INV-9223372036854775808",
        ] {
            assert_eq!(text.parse::<InvoiceNumber>(), Err(NotANumber), "{text:?}");
        }
    }
}
