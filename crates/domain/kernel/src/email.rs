//! Email addresses.

use std::str::FromStr;

use validator::ValidateEmail;

use crate::{bounds::MAX_LINE_CHARS, fold};

/// Text that looks like an email address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Email(String);

impl Email {
    /// The address as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The address as it was written, owned.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// Reads an address; spaces around it are dropped.
impl FromStr for Email {
    type Err = InvalidEmail;

    fn from_str(text: &str) -> Result<Self, InvalidEmail> {
        let text = text.trim();
        let bracket = text.rsplit_once('@').and_then(|(_, domain)| domain.rfind('['));
        // The validator looks only at the end of a domain in brackets.
        let short = text.chars().nth(MAX_LINE_CHARS).is_none();
        // An internet domain has at least two labels. An address in brackets is not a domain.
        let dotted = text
            .rsplit_once('@')
            .is_some_and(|(_, domain)| domain.contains(['.', '[']));
        if short && dotted && matches!(bracket, None | Some(0)) && text.validate_email() {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidEmail)
        }
    }
}

/// Returns an address in the form in which addresses are compared: without regard to case, with the ASCII form of its domain
/// (decisions §6). A text that is not an address is folded like any other.
pub fn fold_email(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((name, domain)) if !domain.is_ascii() => match idna::domain_to_ascii(domain) {
            Ok(ascii) => format!("{}@{ascii}", fold(name)),
            Err(_) => fold(text),
        },
        _ => fold(text),
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Email {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::{KnownFormat, ObjectBuilder, SchemaFormat, schema::Type};
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Email)))
            .max_length(Some(MAX_LINE_CHARS))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Email {}

/// The text does not look like an email address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be an email address")]
pub struct InvalidEmail;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_name_and_a_domain() {
        assert_eq!(
            " Ann@Example.com ".parse::<Email>().unwrap().into_string(),
            "Ann@Example.com"
        );
        for text in [
            "",
            "ann",
            "ann@",
            "@example.com",
            "ann smith@example.com",
            "ann@exa mple.com",
            "a@b\0.com",
            "ann@localhost",
            "ann@example.",
            "ann@.com",
        ] {
            assert_eq!(text.parse::<Email>(), Err(InvalidEmail), "{text:?}");
        }
    }

    #[test]
    fn domains_compare_by_their_ascii_form() {
        let ascii = "ann@xn--mnchen-3ya.example";
        assert_eq!(fold_email("Ann@München.example"), ascii);
        assert_eq!(fold_email("ANN@MU\u{308}NCHEN.EXAMPLE"), ascii);
        assert_eq!(fold_email(ascii), ascii);
        assert_eq!(fold_email("Ann.Ö@Example.com"), "ann.ö@example.com");
        assert_eq!(fold_email("Müller"), "müller");
    }
}
