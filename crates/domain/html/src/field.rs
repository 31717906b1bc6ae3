//! Request fields that hold HTML or an address. Reading one makes it fit for a public page.

use std::ops::Deref;

use ammonia::Url;
use forecourt_kernel::{BoundedText, FromJson, InvalidValue, UrlText};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::sanitize;

/// Sanitised HTML. `MAX` bounds the characters of the text as it was sent; sanitising may make it longer.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Html<const MAX: usize>(String);

impl<const MAX: usize> Deref for Html<MAX> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> FromJson for Html<MAX> {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let sent = BoundedText::<MAX>::from_json(value)?;
        sanitize(&sent)
            .map(Self)
            .map_err(|error| InvalidValue::here(error.to_string()))
    }
}

/// The address of an image on the web, exactly as it was sent, or an empty text if there is none.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ImageAddress(String);

impl Deref for ImageAddress {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl FromJson for ImageAddress {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let text = UrlText::from_json(value)?;
        if text.is_empty() || is_web_address(&text) {
            Ok(Self(text.into_string()))
        } else {
            Err(InvalidValue::here("must be an http or https URL"))
        }
    }
}

/// Returns `true` if `text` is an absolute `http` or `https` URL without a character that could end an HTML attribute.
fn is_web_address(text: &str) -> bool {
    let is_foreign =
        |character: char| character.is_whitespace() || character.is_control() || r#""<>\^`{|}"#.contains(character);
    let names_web = ["http://", "https://"].iter().any(|scheme| {
        text.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    names_web && !text.contains(is_foreign) && Url::parse(text).is_ok_and(|url| url.has_host())
}

#[cfg(feature = "openapi")]
mod openapi {
    use std::borrow::Cow;

    use forecourt_kernel::bounds::MAX_URL_CHARS;
    use utoipa::{
        PartialSchema, ToSchema,
        openapi::{ObjectBuilder, RefOr, Schema, schema::Type},
    };

    use super::{Html, ImageAddress};

    impl<const MAX: usize> PartialSchema for Html<MAX> {
        fn schema() -> RefOr<Schema> {
            ObjectBuilder::new()
                .schema_type(Type::String)
                .max_length(Some(MAX))
                .content_media_type("text/html")
                .into()
        }
    }

    impl<const MAX: usize> ToSchema for Html<MAX> {
        fn name() -> Cow<'static, str> {
            format!("Html{MAX}").into()
        }
    }

    impl PartialSchema for ImageAddress {
        fn schema() -> RefOr<Schema> {
            ObjectBuilder::new()
                .schema_type(Type::String)
                .max_length(Some(MAX_URL_CHARS))
                .pattern(Some(r#"^$|^[Hh][Tt][Tt][Pp][Ss]?://[^\s\x00-\x1F\x7F"<>\\^`{|}]+$"#))
                .into()
        }
    }

    impl ToSchema for ImageAddress {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn html_is_sanitised_and_bounded_as_it_was_sent() {
        let read = Html::<40>::from_json(json!("<p onclick='x()'>a</p>")).unwrap();
        assert_eq!(&*read, "<p>a</p>");
        let longer = Html::<40>::from_json(json!("<a href=https://x.example>x</a>")).unwrap();
        assert!(longer.len() > 40);
        for wrong in [json!("x".repeat(41)), json!("a\0"), json!(5)] {
            assert!(Html::<40>::from_json(wrong).is_err());
        }
    }

    #[test]
    fn an_image_is_on_the_web() {
        for good in [
            "",
            "https://cdn.example/a.jpg",
            "HTTP://cdn.example:8080/a%20b.jpg?w=800&h=600#x",
            "https://cdn.example/bücher/1'2.jpg",
            "https://[2001:db8::1]/a.png",
        ] {
            assert_eq!(&*ImageAddress::from_json(json!(good)).unwrap(), good);
        }
        for bad in [
            "javascript:alert(1)",
            "data:image/png;base64,AAAA",
            "//cdn.example/a.jpg",
            "/a.jpg",
            "a.jpg",
            "ftp://cdn.example/a.jpg",
            "https://",
            "https:///a.jpg ",
            "https:a.jpg",
            "https://cdn.example/a b.jpg",
            "https://cdn.example/\" onerror=\"alert(1)",
            "https://cdn.example/\n",
            " https://cdn.example/a.jpg",
            "https://cdn.example/<script>",
            "https://cdn.example:99999/",
        ] {
            assert!(ImageAddress::from_json(json!(bad)).is_err(), "{bad:?}");
        }
    }
}
