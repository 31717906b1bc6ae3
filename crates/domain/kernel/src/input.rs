//! Input from callers: fields of a JSON body, each read into a type that bounds it.
//!
//! Reading does not fail at a field that does not fit its type. The fault is kept, so that a caller learns of all faults at once
//! (decisions §3).

use std::{borrow::Cow, fmt::Display, str::FromStr};

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    BoundedList, BoundedText, Date, Email, InvalidText, Line, ValidationErrors,
    bounds::{MAX_ITEMS, MAX_TEXT_CHARS, has_line_break},
    integer,
};

/// A type of a field. Its values are bounded, however much a caller sends.
pub trait FromJson: Sized {
    /// Converts `value` if it has this type and is within its bounds.
    ///
    /// # Errors
    /// The faults of the value.
    fn from_json(value: Value) -> Result<Self, InvalidValue>;
}

/// The faults of a value. Each has the path from the value to the fault; the path is empty if the value itself is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InvalidValue(Vec<(String, Cow<'static, str>)>);

impl InvalidValue {
    /// A fault of the value itself.
    pub fn here(message: impl Into<Cow<'static, str>>) -> Self {
        Self(vec![(String::new(), message.into())])
    }

    /// Adds a fault of the value itself.
    pub fn add(&mut self, message: impl Into<Cow<'static, str>>) {
        self.0.push((String::new(), message.into()));
    }

    /// Returns `true` if there are no faults.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the faults of the element or member `name`.
    pub fn add_within(&mut self, name: &str, faults: Self) {
        for (path, message) in faults.0 {
            self.0.push((join(name, &path), message));
        }
    }

    /// Adds the faults to `errors` as those of the field `name`.
    pub fn report(&self, name: &str, errors: &mut ValidationErrors) {
        for (path, message) in &self.0 {
            errors.add(join(name, path), message.clone());
        }
    }
}

/// Converts the faults of a body, whose members are the fields.
impl From<InvalidValue> for ValidationErrors {
    fn from(faults: InvalidValue) -> Self {
        let mut errors = Self::new();
        for (path, message) in faults.0 {
            errors.add(path, message);
        }
        errors
    }
}

/// Joins the name of a member and the path within the member.
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

/// A rule for fields that go into a single line of a mail.
pub fn is_one_line<R: ?Sized>(line: &Field<Line>, _: &R) -> InvalidValue {
    match line.value() {
        Some(line) if has_line_break(line) => InvalidValue::here("must not have line breaks"),
        _ => InvalidValue::default(),
    }
}

/// Text whose meaning is checked elsewhere. Its bound is that of a long text.
impl FromJson for String {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        BoundedText::<MAX_TEXT_CHARS>::from_json(value).map(BoundedText::into_string)
    }
}

/// An object. Its size is bounded by the limit of the record that contains it.
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
        // Counted first, so that the elements of a list that is too long are never read.
        let items = BoundedList::<Value, MAX>::new(items).map_err(|error| InvalidValue::here(error.to_string()))?;
        let mut read = Vec::with_capacity(items.len());
        let mut wrong = InvalidValue::default();
        for (at, item) in items.into_iter().enumerate() {
            match T::from_json(item) {
                Ok(item) => read.push(item),
                Err(faults) => wrong.add_within(&at.to_string(), faults),
            }
        }
        if !wrong.is_empty() {
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

/// A field whose stored value may be null. [`Field`] handles null itself.
impl<T: FromJson> FromJson for Option<T> {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        T::from_json(value).map(Some)
    }
}

/// Reads a value that is written as a line of text, such as a status or a currency.
///
/// # Errors
/// If it is not a line of text, or the line does not name a value.
pub fn from_line<T: FromStr<Err: Display>>(value: Value) -> Result<T, InvalidValue> {
    let line = Line::from_json(value)?;
    line.parse()
        .map_err(|error: T::Err| InvalidValue::here(error.to_string()))
}

/// Reads an object whose members are [fields](crate::fields!).
///
/// # Errors
/// If it is not an object. Wrong members are not an error; they are kept as faults.
pub fn from_object<T: DeserializeOwned>(value: Value) -> Result<T, InvalidValue> {
    match value {
        Value::Object(_) => serde_json::from_value(value).map_err(|error| InvalidValue::here(error.to_string())),
        _ => Err(InvalidValue::here("must be an object")),
    }
}

/// A value that is written as a line of text, such as an email address. The empty line stands for `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrEmpty<T>(pub Option<T>);

impl<T: FromStr<Err: Display>> FromJson for OrEmpty<T> {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let line = Line::from_json(value)?;
        if line.trim().is_empty() {
            return Ok(Self(None));
        }
        let read = line
            .parse()
            .map_err(|error: T::Err| InvalidValue::here(error.to_string()));
        read.map(|value| Self(Some(value)))
    }
}

#[cfg(feature = "openapi")]
impl<T: utoipa::PartialSchema> utoipa::PartialSchema for OrEmpty<T> {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::{ObjectBuilder, RefOr, Schema, schema::AnyOfBuilder, schema::Type};
        let mut written = T::schema();
        match &mut written {
            // The empty text does not match the format, so it is an alternative of its own.
            RefOr::T(Schema::Object(object)) if object.format.is_some() => {
                let empty = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([""]));
                Schema::AnyOf(AnyOfBuilder::new().item(written).item(empty).build()).into()
            }
            RefOr::T(Schema::Object(object)) => {
                object.pattern = object.pattern.take().map(|pattern| format!("^$|{pattern}"));
                written
            }
            _ => written,
        }
    }
}

#[cfg(feature = "openapi")]
impl<T: utoipa::ToSchema> utoipa::ToSchema for OrEmpty<T> {
    fn name() -> Cow<'static, str> {
        T::name()
    }
}

/// Names from a list, sent as an array or as one text with commas between them. Repeated names count once. An empty list stands
/// for the default.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Words<T>(Vec<T>);

impl<T> Words<T> {
    /// The names, or `default` if there are none.
    pub fn or(self, default: Vec<T>) -> Vec<T> {
        if self.0.is_empty() { default } else { self.0 }
    }
}

impl<T> From<Vec<T>> for Words<T> {
    fn from(names: Vec<T>) -> Self {
        Self(names)
    }
}

impl<T: FromStr<Err: Display> + PartialEq> FromJson for Words<T> {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let is_list = value.is_array();
        let names: Vec<String> = match value {
            Value::String(_) => {
                let line = Line::from_json(value)?;
                let names = line.split(',').map(str::trim).filter(|name| !name.is_empty());
                names.map(str::to_owned).collect()
            }
            Value::Array(_) => {
                let names = BoundedList::<Line>::from_json(value)?.into_iter();
                names.map(Line::into_string).collect()
            }
            _ => return Err(InvalidValue::here("must be a string or an array of strings")),
        };
        let mut read = Vec::new();
        let mut wrong = InvalidValue::default();
        for (index, name) in names.into_iter().enumerate() {
            match name.parse::<T>() {
                Ok(value) if read.contains(&value) => {}
                Ok(value) => read.push(value),
                Err(error) if is_list => wrong.add_within(&index.to_string(), InvalidValue::here(error.to_string())),
                Err(error) => wrong.add(error.to_string()),
            }
        }
        if wrong.is_empty() { Ok(Self(read)) } else { Err(wrong) }
    }
}

#[cfg(feature = "openapi")]
impl<T: utoipa::ToSchema> utoipa::PartialSchema for Words<T> {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::{
            Ref, RefOr, Schema,
            schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Type},
        };
        let words = match T::schema() {
            RefOr::T(Schema::Object(one)) => one.enum_values.unwrap_or_default(),
            _ => Vec::new(),
        };
        let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
        let word = format!("(({})\\s*)?", words.join("|"));
        let text = ObjectBuilder::new()
            .schema_type(Type::String)
            .max_length(Some(crate::bounds::MAX_LINE_CHARS))
            .pattern((!words.is_empty()).then(|| format!("^\\s*{word}(,\\s*{word})*$")))
            .description(Some("One of them, or several with commas between."));
        let names = ArrayBuilder::new()
            .items(Ref::from_schema_name(T::name()))
            .max_items(Some(MAX_ITEMS));
        OneOfBuilder::new().item(text).item(names).into()
    }
}

#[cfg(feature = "openapi")]
impl<T: utoipa::ToSchema> utoipa::ToSchema for Words<T> {
    fn name() -> Cow<'static, str> {
        format!("{}Words", T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
        schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(schemas);
    }
}

/// A value of any type. The code that reads the field checks its type and its size.
impl FromJson for Value {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        Ok(value)
    }
}

/// A change that a write makes to a field that is stored as a `T`. `R` is the additional data that validation needs, such as the
/// lists of a business.
pub trait Change<T, R: ?Sized = ()>: FromJson {
    /// Returns the faults of members that are fields themselves.
    fn shape_faults(&self) -> InvalidValue {
        InvalidValue::default()
    }

    /// Returns the faults according to `rules`.
    fn rule_faults(&self, _rules: &R) -> InvalidValue {
        InvalidValue::default()
    }

    /// Replaces `stored`, or merges the change into it. `default` is the value of a field about which nothing is known.
    fn apply(self, stored: &mut T, default: &T, rules: &R);
}

/// A field that is stored in the form in which it is written.
impl<T: FromJson, R: ?Sized> Change<T, R> for T {
    fn apply(self, stored: &mut T, _: &T, _: &R) {
        *stored = self;
    }
}

impl<R: ?Sized, const MAX: usize> Change<String, R> for BoundedText<MAX> {
    fn apply(self, stored: &mut String, _: &String, _: &R) {
        *stored = self.into_string();
    }
}

impl<T: FromJson, R: ?Sized, const MAX: usize> Change<Vec<T>, R> for BoundedList<T, MAX> {
    fn apply(self, stored: &mut Vec<T>, _: &Vec<T>, _: &R) {
        *stored = self.into_vec();
    }
}

impl<T: Clone, R: ?Sized> Change<Vec<T>, R> for Words<T>
where
    Self: FromJson,
{
    fn apply(self, stored: &mut Vec<T>, default: &Vec<T>, _: &R) {
        *stored = self.or(default.clone());
    }
}

impl<T, R: ?Sized> Change<Option<T>, R> for OrEmpty<T>
where
    Self: FromJson,
{
    fn apply(self, stored: &mut Option<T>, _: &Option<T>, _: &R) {
        *stored = self.0;
    }
}

impl<R: ?Sized> Change<String, R> for OrEmpty<Email> {
    fn apply(self, stored: &mut String, _: &String, _: &R) {
        *stored = self.0.map(Email::into_string).unwrap_or_default();
    }
}

/// A member of a body. Reading it never fails: a value of the wrong type is kept as a fault.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Field<T> {
    /// The member is missing.
    #[default]
    Absent,
    /// The member is null.
    Null,
    /// The member has a value of the right type.
    Value(T),
    /// The member has a value of the wrong type or out of bounds.
    Wrong(InvalidValue),
}

impl<T> Field<T> {
    /// The value, if a valid one was sent.
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null | Self::Wrong(_) => None,
        }
    }

    /// Returns the faults of type and bounds in a value sent for a `K`.
    pub fn shape_faults<K, R: ?Sized>(&self) -> InvalidValue
    where
        T: Change<K, R>,
    {
        match self {
            Self::Absent | Self::Null => InvalidValue::default(),
            Self::Value(value) => Change::<K, R>::shape_faults(value),
            Self::Wrong(wrong) => wrong.clone(),
        }
    }

    /// Returns the faults of the value according to `rules`.
    pub fn rule_faults<K, R: ?Sized>(&self, rules: &R) -> InvalidValue
    where
        T: Change<K, R>,
    {
        self.value()
            .map(|value| Change::<K, R>::rule_faults(value, rules))
            .unwrap_or_default()
    }

    /// Merges the value into `stored`; null resets it to `default`.
    pub fn apply<K: Clone, R: ?Sized>(self, stored: &mut K, default: &K, rules: &R)
    where
        T: Change<K, R>,
    {
        match self {
            Self::Absent | Self::Wrong(_) => {}
            Self::Null => stored.clone_from(default),
            Self::Value(value) => value.apply(stored, default, rules),
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

/// Declares the fields of a record that callers write, each once: its name, its type, which bounds it, and its meaning.
///
/// The macro generates two types: the content, which is stored and shown, and the changes that a body describes. In the changes a
/// field may be absent, null (its default) or wrong. Reading, validation, storage, the views and the OpenAPI document all follow
/// from the declaration.
///
/// ```
/// # #![allow(unexpected_cfgs)]
/// use forecourt_kernel::{Line, ValidationErrors};
///
/// forecourt_kernel::fields! {
///     /// The data of a bay.
///     #[derive(Default)]
///     content Bay;
///     /// A new bay, or changes to one.
///     changes BayChanges;
///
///     /// The text painted on it.
///     name: Line;
///     /// Set if it has a charger.
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
/// Attributes before a type apply to the content alone: a field that older records lack has `#[serde(default)]` there. If the
/// field is sent in another type, attributes before that type apply to the changes alone. They replace the attribute that takes
/// the field's schema from that type.
///
/// # A record that is stored in other types than it is written in
///
/// In this form the changes name the type that they are validated by. Each line gives the type in which the field is written and,
/// after the arrow, the type in which it is stored. A [`Change`] converts the one into the other. A content that is stored as
/// JSON has to derive serde's traits itself. `as` gives the member of the JSON a name other than the field's, and `rule` names a
/// function that finds further faults. The changes of a record can be a field of another record, whose members are then merged.
///
/// A line that begins with `kept` belongs to the content alone: callers do not write it. A line that begins with `sent` belongs
/// to the body alone. Such a field is an instruction for the request, or belongs to another field; a use case reads it by its
/// name.
///
/// ```
/// # #![allow(unexpected_cfgs)]
/// use forecourt_kernel::{Field, InvalidValue, Line, OrEmpty, Country};
///
/// /// The rules for visitors.
/// pub struct House {
///     closed_to: String,
/// }
///
/// fn is_welcome(name: &Field<Line>, house: &House) -> InvalidValue {
///     match name {
///         Field::Value(name) if **name == *house.closed_to => InvalidValue::here("is not welcome"),
///         _ => InvalidValue::default(),
///     }
/// }
///
/// // The OpenAPI document wants a name for a type that has parameters.
/// type CountryText = OrEmpty<Country>;
///
/// forecourt_kernel::fields! {
///     /// A visitor.
///     #[derive(Default, serde::Serialize, serde::Deserialize)]
///     content Visitor;
///     /// A new visitor, or changes to one.
///     changes VisitorChanges, validated by House;
///
///     /// The name.
///     name: Line => String, rule is_welcome;
///     /// The country that they come from.
///     origin as "from": CountryText => Option<Country>;
///     /// The number of visits.
///     kept visits: u32;
///     /// Set if they are to be announced.
///     sent announce: bool;
/// }
///
/// let house = House { closed_to: "Ann".into() };
/// let changes: VisitorChanges = serde_json::from_str(r#"{"name": "Ann", "from": "Leeds"}"#)?;
/// let faults = changes.faults(&house);
/// assert_eq!(faults.as_slice().iter().map(|fault| &*fault.field).collect::<Vec<_>>(), ["from", "name"]);
/// let changes: VisitorChanges = serde_json::from_str(r#"{"name": "Bob", "visits": 9, "announce": false}"#)?;
/// let mut visitor = Visitor { visits: 2, ..Visitor::default() };
/// assert_eq!(changes.announce, Field::Value(false));
/// changes.apply(&mut visitor, &Visitor::default(), &house);
/// assert_eq!((visitor.name.as_str(), visitor.visits), ("Bob", 2));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// The declaring crate needs serde and serde_json as dependencies, and a feature `openapi` that enables utoipa.
#[macro_export]
macro_rules! fields {
    // A record that is stored, written and shown in the same types.
    (
        $(#[$content_meta:meta])*
        content $content:ident;
        $(#[$changes_meta:meta])*
        changes $changes:ident;

        $($(#[$meta:meta])* $name:ident: $(#[$kept_meta:meta])* $type:ty;)+
    ) => {
        #[derive(Clone, PartialEq, Debug, ::serde::Serialize, ::serde::Deserialize)]
        #[cfg_attr(feature = "openapi", derive(::utoipa::ToSchema))]
        $(#[$content_meta])*
        pub struct $content {
            $(
                $(#[$meta])*
                $(#[$kept_meta])*
                #[cfg_attr(feature = "openapi", schema(required))]
                pub $name: $type,
            )+
        }

        $crate::fields! {
            @changes $content $(#[$changes_meta])* $changes by ();
            applied { $($name)+ }
            $(
                $(#[$meta])* $name: #[cfg_attr(feature = "openapi", schema(value_type = Option<$type>))] $type => $type;
            )+
        }

        impl $changes {
            /// Returns the faults of the body, each with the path to it.
            pub fn faults(&self) -> $crate::ValidationErrors {
                $crate::Change::<$content>::shape_faults(self).into()
            }

            /// Merges the changes into `content`; null resets a field to its value in `defaults`.
            pub fn apply(self, content: &mut $content, defaults: &$content) {
                $crate::Change::apply(self, content, defaults, &());
            }
        }
    };

    // A record with a view of its own.
    (
        $(#[$content_meta:meta])*
        content $content:ident;
        $(#[$changes_meta:meta])*
        changes $changes:ident, validated by $rules:ty;

        $($lines:tt)+
    ) => {
        $crate::fields! {
            @sort [$(#[$content_meta])* $content] [$(#[$changes_meta])* $changes, $rules]
            kept {} sent {} applied {}
            $($lines)+
        }

        impl $changes {
            /// Returns the faults of the body, each with the path to it: first wrong types, then violations of `rules`.
            pub fn faults(&self, rules: &$rules) -> $crate::ValidationErrors {
                let mut faults = $crate::ValidationErrors::from($crate::Change::<$content, $rules>::shape_faults(self));
                faults.extend($crate::Change::<$content, $rules>::rule_faults(self, rules).into());
                faults
            }

            /// Merges the changes into `content`; null resets a field to its value in `defaults`.
            pub fn apply(self, content: &mut $content, defaults: &$content, rules: &$rules) {
                $crate::Change::apply(self, content, defaults, rules);
            }
        }
    };

    // Sorts the lines of such a record, one by one, into those that are stored, those that are sent, or both.
    (
        @sort $content:tt $changes:tt kept { $($kept:tt)* } sent { $($sent:tt)* } applied { $($applied:tt)* }
        $(#[$meta:meta])* kept $name:ident $(as $json:tt)?: $(#[$kept_meta:meta])* $type:ty;
        $($lines:tt)*
    ) => {
        $crate::fields! {
            @sort $content $changes
            kept { $($kept)* $(#[$meta])* $(#[$kept_meta])* $(#[serde(rename = $json)])? $name: $type; }
            sent { $($sent)* }
            applied { $($applied)* }
            $($lines)*
        }
    };
    (
        @sort $content:tt $changes:tt kept { $($kept:tt)* } sent { $($sent:tt)* } applied { $($applied:tt)* }
        $(#[$meta:meta])* sent $name:ident $(as $json:tt)?: $type:ty $(, rule $rule:ident)?;
        $($lines:tt)*
    ) => {
        $crate::fields! {
            @sort $content $changes
            kept { $($kept)* }
            sent {
                $($sent)*
                $(#[$meta])* $name $(as $json)?:
                    #[cfg_attr(feature = "openapi", schema(value_type = Option<$type>))] $type => $type
                    $(, rule $rule)?;
            }
            applied { $($applied)* }
            $($lines)*
        }
    };
    (
        @sort $content:tt $changes:tt kept { $($kept:tt)* } sent { $($sent:tt)* } applied { $($applied:tt)* }
        $(#[$meta:meta])* $name:ident $(as $json:tt)?:
            $type:ty => $(#[$kept_meta:meta])* $kept_type:ty $(, rule $rule:ident)?;
        $($lines:tt)*
    ) => {
        $crate::fields! {
            @sort $content $changes
            kept { $($kept)* } sent { $($sent)* } applied { $($applied)* }
            $(#[$meta])* $name $(as $json)?:
                #[cfg_attr(feature = "openapi", schema(value_type = Option<$type>))]
                $type => $(#[$kept_meta])* $kept_type $(, rule $rule)?;
            $($lines)*
        }
    };
    (
        @sort $content:tt $changes:tt kept { $($kept:tt)* } sent { $($sent:tt)* } applied { $($applied:tt)* }
        $(#[$meta:meta])* $name:ident $(as $json:tt)?:
            $(#[$type_meta:meta])+ $type:ty => $(#[$kept_meta:meta])* $kept_type:ty $(, rule $rule:ident)?;
        $($lines:tt)*
    ) => {
        $crate::fields! {
            @sort $content $changes
            kept { $($kept)* $(#[$meta])* $(#[$kept_meta])* $(#[serde(rename = $json)])? $name: $kept_type; }
            sent {
                $($sent)*
                $(#[$meta])* $name $(as $json)?: $(#[$type_meta])+ $type => $kept_type $(, rule $rule)?;
            }
            applied { $($applied)* $name }
            $($lines)*
        }
    };
    (
        @sort [$(#[$content_meta:meta])* $content:ident] [$(#[$changes_meta:meta])* $changes:ident, $rules:ty]
        kept { $($(#[$kept_meta:meta])* $kept:ident: $kept_type:ty;)+ }
        sent { $($sent:tt)+ }
        applied { $($applied:ident)+ }
    ) => {
        #[derive(Clone, PartialEq, Debug)]
        $(#[$content_meta])*
        pub struct $content {
            $($(#[$kept_meta])* pub $kept: $kept_type,)+
        }

        $crate::fields! {
            @changes $content $(#[$changes_meta])* $changes by $rules;
            applied { $($applied)+ }
            $($sent)+
        }
    };

    // The fields of a body, and how they are merged into the content.
    (
        @changes $content:ident $(#[$changes_meta:meta])* $changes:ident by $rules:ty;
        applied { $($applied:ident)+ }
        $(
            $(#[$meta:meta])* $name:ident $(as $json:tt)?:
                $(#[$type_meta:meta])* $sent:ty => $kept:ty $(, rule $rule:ident)?;
        )+
    ) => {
        #[derive(Clone, PartialEq, Debug, Default, ::serde::Deserialize)]
        #[cfg_attr(feature = "openapi", derive(::utoipa::ToSchema))]
        $(#[$changes_meta])*
        pub struct $changes {
            $(
                $(#[$meta])*
                #[serde(default)]
                $(#[serde(rename = $json)])?
                $(#[$type_meta])*
                pub $name: $crate::Field<$sent>,
            )+
        }

        impl $crate::FromJson for $changes {
            fn from_json(value: ::serde_json::Value) -> Result<Self, $crate::InvalidValue> {
                $crate::from_object(value)
            }
        }

        impl $crate::Change<$content, $rules> for $changes {
            fn shape_faults(&self) -> $crate::InvalidValue {
                let mut faults = $crate::InvalidValue::default();
                $(
                    let name = $crate::fields!(@json $name $(as $json)?);
                    faults.add_within(name, self.$name.shape_faults::<$kept, $rules>());
                )+
                faults
            }

            fn rule_faults(&self, rules: &$rules) -> $crate::InvalidValue {
                let mut faults = $crate::InvalidValue::default();
                $(
                    let name = $crate::fields!(@json $name $(as $json)?);
                    faults.add_within(name, self.$name.rule_faults::<$kept, $rules>(rules));
                    $(faults.add_within(name, $rule(&self.$name, rules));)?
                )+
                faults
            }

            fn apply(self, content: &mut $content, defaults: &$content, rules: &$rules) {
                $(self.$applied.apply(&mut content.$applied, &defaults.$applied, rules);)+
            }
        }
    };

    // The name of a field in JSON.
    (@json $name:ident) => { stringify!($name) };
    (@json $name:ident as $json:tt) => { $json };
}
