//! The URLs that deliveries go to.

use std::fmt;

use forecourt_kernel::{BoundedText, FromJson, InvalidValue, bounds::MAX_WEBHOOK_URL_CHARS};
use serde_json::Value;
use url::Url;

/// The URL of an endpoint, as it was written. The addresses of its host are checked at each connection, since a name can change
/// its address at any time (decisions §9).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TargetUrl(String);

impl TargetUrl {
    /// The maximum length of a URL (contract, "Limits").
    pub const MAX_CHARS: usize = MAX_WEBHOOK_URL_CHARS;

    /// Reads a URL. `http:` is for development alone and needs `allow_insecure`.
    ///
    /// # Errors
    /// [`InvalidTarget`].
    pub fn parse(text: &str, allow_insecure: bool) -> Result<Self, InvalidTarget> {
        if text.chars().count() > Self::MAX_CHARS {
            return Err(InvalidTarget::TooLong);
        }
        // A parser drops these characters, so the stored URL would differ from the one that was checked.
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(InvalidTarget::NoUrl);
        }
        let url = Url::parse(text).map_err(|_| InvalidTarget::NoUrl)?;
        match url.scheme() {
            "https" => {}
            "http" if allow_insecure => {}
            _ => return Err(InvalidTarget::Insecure),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidTarget::Credentials);
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(InvalidTarget::NoUrl);
        }
        Ok(Self(text.to_owned()))
    }

    fn is_secure(&self) -> bool {
        Url::parse(&self.0).is_ok_and(|url| url.scheme() == "https")
    }

    /// Wraps a URL that was read from storage.
    pub const fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The URL as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TargetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromJson for TargetUrl {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let text = BoundedText::<MAX_WEBHOOK_URL_CHARS>::from_json(value)?;
        Self::parse(&text, true).map_err(|invalid| InvalidValue::here(invalid.to_string()))
    }
}

/// The URLs that subscriptions may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TargetPolicy {
    /// Set if `http:` is allowed, as in development.
    pub allow_insecure: bool,
}

impl TargetPolicy {
    /// Checks that a subscription may have that URL.
    ///
    /// # Errors
    /// [`InvalidTarget::Insecure`].
    pub fn check(self, url: &TargetUrl) -> Result<(), InvalidTarget> {
        if self.allow_insecure || url.is_secure() {
            Ok(())
        } else {
            Err(InvalidTarget::Insecure)
        }
    }
}

#[cfg(feature = "openapi")]
pub(crate) fn url_schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
    use utoipa::openapi::{ObjectBuilder, SchemaFormat, Type};
    ObjectBuilder::new()
        .schema_type(Type::String)
        .max_length(Some(MAX_WEBHOOK_URL_CHARS))
        .format(Some(SchemaFormat::Custom("uri".to_owned())))
        .pattern(Some(r"^[Hh][Tt][Tt][Pp][Ss]://[^\s\x00-\x1F\x7F]+$"))
        .description(Some("The endpoint, an https url."))
        .into()
}

/// The reason for refusing a URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidTarget {
    /// It is not a URL with a host.
    #[error("must be a url")]
    NoUrl,
    /// It is not `https:`.
    #[error("must be an https url")]
    Insecure,
    /// It is too long.
    #[error("must have at most {max} characters", max = TargetUrl::MAX_CHARS)]
    TooLong,
    /// It contains a user or a password, which would be stored and shown in clear text.
    #[error("must not hold a user name or a password")]
    Credentials,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_an_https_url() {
        for good in [
            "https://example.com",
            "https://example.com:8443/a/b?c=d#e",
            "HTTPS://EXAMPLE.com/",
            "https://127.0.0.1/",
            "https://[::1]/",
            "https://bücher.example/ä",
        ] {
            assert_eq!(TargetUrl::parse(good, false).map(|url| url.0), Ok(good.to_owned()));
        }
        for bad in [
            "",
            "example.com",
            "/hook",
            "http://example.com",
            "ftp://example.com",
            "https://",
            "https:///path",
            " https://example.com",
            "https://exa\nmple.com",
            "https://user@example.com",
            "https://user:pass@example.com",
            "javascript:alert(1)",
        ] {
            let parsed = TargetUrl::parse(bad, false);
            assert!(parsed.is_err() || bad == "https:///path", "{bad:?}");
        }
    }

    #[test]
    fn http_is_for_development() {
        assert!(TargetUrl::parse("http://localhost:1/x", true).is_ok());
        assert!(TargetUrl::parse("ftp://localhost:1/x", true).is_err());
    }

    #[test]
    fn a_url_has_512_characters_at_most() {
        let url = |chars: usize| format!("https://example.com/{}", "é".repeat(chars - 20));
        assert!(TargetUrl::parse(&url(512), false).is_ok());
        assert_eq!(TargetUrl::parse(&url(513), false), Err(InvalidTarget::TooLong));
    }
}
