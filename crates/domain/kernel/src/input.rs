//! What callers send: fields of a JSON body, each read into a type that bounds it.
//!
//! A field that does not fit its type is no failure to read: the fault is kept, so that a caller learns of all at once
//! (decisions §3).

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::{
    BoundedList, BoundedText, Date, InvalidText, ValidationErrors,
    bounds::{MAX_ITEMS, MAX_TEXT_CHARS},
    integer,
};

/// A type that a field can be of. Its values are bounded, however much is sent.
pub trait FromJson: Sized {
    /// Takes `value`, if it is of this type and within its bounds.
    ///
    /// # Errors
    /// What is wrong with it.
    fn from_json(value: Value) -> Result<Self, InvalidValue>;
}

/// What is wrong with a value: the faults, each with the path that leads to it, from the value on; empty if it is the value
/// itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InvalidValue(Vec<(String, Cow<'static, str>)>);

impl InvalidValue {
    /// The value itself is wrong.
    pub fn here(message: impl Into<Cow<'static, str>>) -> Self {
        Self(vec![(String::new(), message.into())])
    }

    /// Adds the faults of the element or member `name`.
    pub fn add_within(&mut self, name: &str, faults: Self) {
        for (path, message) in faults.0 {
            self.0.push((join(name, &path), message));
        }
    }

    /// Adds them to `errors`, as those of the field `name`.
    pub fn report(&self, name: &str, errors: &mut ValidationErrors) {
        for (path, message) in &self.0 {
            errors.add(join(name, path), message.clone());
        }
    }
}

/// The path from a member on, of what lies at `path` within the member.
fn join(member: &str, path: &str) -> String {
    match path {
        "" => member.to_owned(),
        path => format!("{member}.{path}"),
    }
}

impl FromJson for i64 {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        integer(&value).ok_or(InvalidValue::here("must be an integer"))
    }
}

impl FromJson for bool {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        value.as_bool().ok_or(InvalidValue::here("must be true or false"))
    }
}

impl FromJson for Date {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let text = value.as_str().ok_or(InvalidValue::here("must be a string"))?;
        text.parse()
            .map_err(|error: crate::InvalidDate| InvalidValue::here(error.to_string()))
    }
}

impl<const MAX: usize> FromJson for BoundedText<MAX> {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        match value {
            Value::String(text) => Self::new(text).map_err(|error: InvalidText| InvalidValue::here(error.to_string())),
            _ => Err(InvalidValue::here("must be a string")),
        }
    }
}

/// Text whose meaning is checked elsewhere: bounded as a long one is.
impl FromJson for String {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        BoundedText::<MAX_TEXT_CHARS>::from_json(value).map(BoundedText::into_string)
    }
}

/// Bounded by its record as a whole.
impl FromJson for Map<String, Value> {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        match value {
            Value::Object(members) => Ok(members),
            _ => Err(InvalidValue::here("must be an object")),
        }
    }
}

impl<T: FromJson, const MAX: usize> FromJson for BoundedList<T, MAX> {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let Value::Array(items) = value else {
            return Err(InvalidValue::here("must be an array"));
        };
        // Counted first: what are too many is not looked at one by one.
        let items = BoundedList::<Value, MAX>::new(items).map_err(|error| InvalidValue::here(error.to_string()))?;
        let mut read = Vec::with_capacity(items.len());
        let mut wrong = InvalidValue::default();
        for (at, item) in items.into_iter().enumerate() {
            match T::from_json(item) {
                Ok(item) => read.push(item),
                Err(faults) => wrong.add_within(&at.to_string(), faults),
            }
        }
        if !wrong.0.is_empty() {
            return Err(wrong);
        }
        Self::new(read).map_err(|error| InvalidValue::here(error.to_string()))
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        BoundedList::<T, MAX_ITEMS>::from_json(value).map(BoundedList::into_vec)
    }
}

/// A field that may be null: a [`Field`] knows null by itself.
impl<T: FromJson> FromJson for Option<T> {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        T::from_json(value).map(Some)
    }
}

/// Of any type; the reader distinguishes and bounds them.
impl FromJson for Value {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        Ok(value)
    }
}

/// A member of a body. Reading it never fails: a value of the wrong type is kept as the fault that it is.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Field<T> {
    /// The member is not there.
    #[default]
    Absent,
    /// It is null.
    Null,
    /// It has a value of the right type.
    Value(T),
    /// It has not.
    Wrong(InvalidValue),
}

impl<T> Field<T> {
    /// The value that was sent.
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null | Self::Wrong(_) => None,
        }
    }

    /// Adds what is wrong with the field `name` to `errors`.
    pub fn report(&self, name: &str, errors: &mut ValidationErrors) {
        if let Self::Wrong(wrong) = self {
            wrong.report(name, errors);
        }
    }

    /// Puts the value that was sent in the place of `stored`; null stands for `default`.
    pub fn apply(self, stored: &mut T, default: &T)
    where
        T: Clone,
    {
        match self {
            Self::Absent | Self::Wrong(_) => {}
            Self::Null => stored.clone_from(default),
            Self::Value(value) => *stored = value,
        }
    }
}

impl<T> From<T> for Field<T> {
    fn from(value: T) -> Self {
        Self::Value(value)
    }
}

impl<'de, T: FromJson> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.is_null() {
            return Ok(Self::Null);
        }
        Ok(match T::from_json(value) {
            Ok(value) => Self::Value(value),
            Err(wrong) => Self::Wrong(wrong),
        })
    }
}

/// Declares the fields that callers write of a record, each once: its name, its type, which bounds it, and what it means.
///
/// Two types come of it: the content that is stored and shown, and the changes that a body describes, where a field may be
/// absent, null (its default) or wrong. Reading, validation, storage, the views and the OpenAPI document all follow from the
/// declaration.
///
/// ```
/// # #![allow(unexpected_cfgs)]
/// use forecourt_kernel::{Line, ValidationErrors};
///
/// forecourt_kernel::fields! {
///     /// What is known of a bay.
///     #[derive(Default)]
///     content Bay;
///     /// A bay to be marked out or changed.
///     changes BayChanges;
///
///     /// What is painted on it.
///     name: Line;
///     /// Whether it has a charger.
///     charger: bool;
/// }
///
/// let changes: BayChanges = serde_json::from_str(r#"{"name": "A 7", "charger": null}"#)?;
/// assert!(changes.faults().is_empty());
/// let mut bay = Bay { charger: true, ..Bay::default() };
/// changes.apply(&mut bay, &Bay::default());
/// assert_eq!((bay.name.as_str(), bay.charger), ("A 7", false));
///
/// let wrong: BayChanges = serde_json::from_str(r#"{"charger": "yes"}"#)?;
/// assert_eq!(wrong.faults().as_slice()[0].field, "charger");
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// The crate that declares fields depends on serde, and has a feature `openapi` that brings utoipa.
#[macro_export]
macro_rules! fields {
    (
        $(#[$content_meta:meta])*
        content $content:ident;
        $(#[$changes_meta:meta])*
        changes $changes:ident;

        $($(#[$meta:meta])* $name:ident: $type:ty;)+
    ) => {
        #[derive(Clone, PartialEq, Debug, ::serde::Serialize, ::serde::Deserialize)]
        #[cfg_attr(feature = "openapi", derive(::utoipa::ToSchema))]
        $(#[$content_meta])*
        pub struct $content {
            $(
                $(#[$meta])*
                #[cfg_attr(feature = "openapi", schema(required))]
                pub $name: $type,
            )+
        }

        #[derive(Clone, PartialEq, Debug, Default, ::serde::Deserialize)]
        #[cfg_attr(feature = "openapi", derive(::utoipa::ToSchema))]
        $(#[$changes_meta])*
        pub struct $changes {
            $(
                $(#[$meta])*
                #[serde(default)]
                #[cfg_attr(feature = "openapi", schema(value_type = Option<$type>))]
                pub $name: $crate::Field<$type>,
            )+
        }

        impl $changes {
            /// What is wrong with what was sent, each fault with the path to it.
            pub fn faults(&self) -> $crate::ValidationErrors {
                let mut errors = $crate::ValidationErrors::new();
                $(self.$name.report(stringify!($name), &mut errors);)+
                errors
            }

            /// Lays what was sent over `content`; null takes it from `defaults`.
            pub fn apply(self, content: &mut $content, defaults: &$content) {
                $(self.$name.apply(&mut content.$name, &defaults.$name);)+
            }
        }
    };
}
