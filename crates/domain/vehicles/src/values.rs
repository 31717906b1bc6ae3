//! The types of a vehicle's fields, each with its reading, validation, representation and filter key.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::Deref;

use forecourt_kernel::bounds::{MAX_ITEMS, MAX_LINE_CHARS, MAX_TEXT_CHARS};
use forecourt_kernel::{
    BoundedText, ContactId, Date, InvalidText, Money, Timestamp, TooManyItems, fold, integer, validate_nesting,
};
use forecourt_reference::{OptionList, VehicleClass, VehicleOptions};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Number, Value as Json};

use crate::declare::{FieldValue, Key, Reader, Rules, ViewContext};
use crate::placeholder::Placeholder;
use crate::{Vin, number};

#[cfg(feature = "openapi")]
use crate::schema::{self, Side};
#[cfg(feature = "openapi")]
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, SchemaType, Type};

/// A line of text, kept as it was sent; null and the empty text both clear it.
impl FieldValue for String {
    type Patch = Self;

    fn read(sent: &Json, reader: &mut Reader<'_>) -> Option<Self> {
        read_text::<MAX_LINE_CHARS>(sent, reader)
    }

    fn apply(&mut self, patch: Self) {
        *self = patch;
    }

    fn show<S: Serializer>(&self, context: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_empty() && context.empty_is_null() {
            serializer.serialize_none()
        } else {
            serializer.serialize_str(self)
        }
    }

    fn key(&self) -> Option<Key> {
        (!self.is_empty()).then(|| Key::Text(fold(self)))
    }

    #[cfg(feature = "openapi")]
    fn schema(side: Side) -> Schema {
        schema::text(side, MAX_LINE_CHARS).into()
    }
}

/// A longer text, kept as it was sent: a description, a note, an advert. Its length is checked when it is sent; a stored text may
/// be longer.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text(pub String);

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl FieldValue for Text {
    type Patch = Self;

    fn read(sent: &Json, reader: &mut Reader<'_>) -> Option<Self> {
        read_text::<MAX_TEXT_CHARS>(sent, reader).map(Self)
    }

    fn apply(&mut self, patch: Self) {
        *self = patch;
    }

    fn show<S: Serializer>(&self, context: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        FieldValue::show(&self.0, context, serializer)
    }

    #[cfg(feature = "openapi")]
    fn schema(side: Side) -> Schema {
        schema::text(side, MAX_TEXT_CHARS).into()
    }
}

/// Reads a text of at most `MAX` characters; null reads as the empty text.
fn read_text<const MAX: usize>(sent: &Json, reader: &mut Reader<'_>) -> Option<String> {
    match bounded::<MAX>(sent) {
        Ok(text) => Some(text.to_owned()),
        Err(message) => {
            reader.fault(message);
            None
        }
    }
}

/// Reads a line of text; null reads as the empty text.
pub(crate) fn text(sent: &Json) -> Result<&str, Cow<'static, str>> {
    bounded::<MAX_LINE_CHARS>(sent)
}

fn bounded<const MAX: usize>(sent: &Json) -> Result<&str, Cow<'static, str>> {
    match sent {
        Json::Null => Ok(""),
        Json::String(text) => match BoundedText::<MAX>::check(text) {
            Ok(()) => Ok(text),
            Err(error) => Err(error.to_string().into()),
        },
        _ => Err("must be a string".into()),
    }
}

/// Reads a [`Scalar`]. Null clears it, and so does a blank text if the value is sent as text.
fn scalar<T: Scalar>(sent: &Json, reader: &mut Reader<'_>) -> Option<Option<T>> {
    let blank = sent.as_str().is_some_and(|text| text.trim().is_empty());
    if sent.is_null() || (blank && T::IS_TEXT) {
        return Some(None);
    }
    match T::parse(sent, reader.rules()) {
        Ok(value) => Some(Some(value)),
        Err(message) => {
            reader.fault(message);
            None
        }
    }
}

/// A value that is one number or one word.
pub trait Scalar: Clone + PartialEq {
    /// `true` if the value may be sent as text; the empty text then clears it.
    const IS_TEXT: bool = true;

    /// Reads a value that is neither null nor a blank text.
    ///
    /// # Errors
    /// A message that says what the value must be.
    fn parse(sent: &Json, rules: &Rules<'_>) -> Result<Self, Cow<'static, str>>;

    /// Writes the value.
    ///
    /// # Errors
    /// The errors of `serializer`.
    fn show<S: Serializer>(&self, context: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error>;

    /// Returns the value that filters compare.
    fn key(&self) -> Option<Key> {
        None
    }

    /// Returns the schema, with null if it is `nullable`.
    #[cfg(feature = "openapi")]
    fn schema(side: Side, nullable: bool) -> ObjectBuilder;
}

/// A value that is null while it is not set.
impl<T: Scalar> FieldValue for Option<T> {
    type Patch = Self;

    fn read(sent: &Json, reader: &mut Reader<'_>) -> Option<Self> {
        scalar(sent, reader)
    }

    fn apply(&mut self, patch: Self) {
        *self = patch;
    }

    fn show<S: Serializer>(&self, context: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => value.show(context, serializer),
            None => serializer.serialize_none(),
        }
    }

    fn key(&self) -> Option<Key> {
        self.as_ref().and_then(Scalar::key)
    }

    #[cfg(feature = "openapi")]
    fn schema(side: Side) -> Schema {
        let schema = T::schema(side, true);
        if T::IS_TEXT && !side.is_read() {
            schema::or_cleared(schema)
        } else {
            schema.into()
        }
    }
}

/// A word that is the empty text while it is not set.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WordOrEmpty<T>(pub Option<T>);

impl<T> Default for WordOrEmpty<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Scalar> FieldValue for WordOrEmpty<T> {
    type Patch = Self;

    fn read(sent: &Json, reader: &mut Reader<'_>) -> Option<Self> {
        scalar(sent, reader).map(Self)
    }

    fn apply(&mut self, patch: Self) {
        *self = patch;
    }

    fn show<S: Serializer>(&self, context: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(value) => value.show(context, serializer),
            None if context.empty_is_null() => serializer.serialize_none(),
            None => serializer.serialize_str(""),
        }
    }

    fn key(&self) -> Option<Key> {
        self.0.as_ref().and_then(Scalar::key)
    }

    #[cfg(feature = "openapi")]
    fn schema(side: Side) -> Schema {
        schema::or_empty(T::schema(side, !side.is_read())).into()
    }
}

/// Maximum distance of a date in the future, in years.
const MAX_YEARS_AHEAD: u32 = 10;

/// Reads a text that `parse` converts to a value.
fn word<T, E: ToString>(sent: &Json, parse: impl FnOnce(&str) -> Result<T, E>) -> Result<T, Cow<'static, str>> {
    parse(text(sent)?).map_err(|error| error.to_string().into())
}

/// Checks that a day is plausible for a vehicle, seen from `now` (decisions §7).
///
/// # Errors
/// A message that says what the date must be.
pub(crate) fn check_day(date: Date, now: Timestamp) -> Result<(), String> {
    let last = now.date().years_later(MAX_YEARS_AHEAD);
    if date.year() >= Year::FIRST.into() && date <= last {
        Ok(())
    } else {
        Err(format!("must be a date from {}-01-01 to {last}", Year::FIRST))
    }
}

/// A day in the life of a vehicle: from the year of the first motor car to ten years ahead (decisions §7).
impl Scalar for Date {
    fn parse(sent: &Json, rules: &Rules<'_>) -> Result<Self, Cow<'static, str>> {
        let date: Self = word(sent, str::parse)?;
        check_day(date, rules.now)?;
        Ok(date)
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }

    #[cfg(feature = "openapi")]
    fn schema(_: Side, nullable: bool) -> ObjectBuilder {
        schema::day(nullable)
    }
}

/// A count: a whole number from 0.
impl Scalar for u32 {
    const IS_TEXT: bool = false;

    fn parse(sent: &Json, _: &Rules<'_>) -> Result<Self, Cow<'static, str>> {
        match integer(sent) {
            Some(number) if number < 0 => Err("must not be negative".into()),
            Some(number) => Self::try_from(number).map_err(|_| "is too large".into()),
            None => Err("must be an integer".into()),
        }
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(*self)
    }

    fn key(&self) -> Option<Key> {
        Some(Key::Number((*self).into()))
    }

    #[cfg(feature = "openapi")]
    fn schema(_: Side, nullable: bool) -> ObjectBuilder {
        schema::plain(Type::Integer, nullable)
            .minimum(Some(0))
            .maximum(Some(u32::MAX))
    }
}

/// The year in which a vehicle was made: from 1885 to next year (decisions §7).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Year(u16);

impl Year {
    /// The year of the first motor car.
    pub const FIRST: u16 = 1885;

    /// Returns the calendar year.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl Scalar for Year {
    const IS_TEXT: bool = false;

    fn parse(sent: &Json, rules: &Rules<'_>) -> Result<Self, Cow<'static, str>> {
        let next = u16::try_from(rules.now.date().year() + 1).unwrap_or(u16::MAX);
        let number = integer(sent).ok_or("must be an integer")?;
        match u16::try_from(number) {
            Ok(year) if (Self::FIRST..=next).contains(&year) => Ok(Self(year)),
            _ => Err(format!("must be a year from {} to {next}", Self::FIRST).into()),
        }
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u16(self.0)
    }

    fn key(&self) -> Option<Key> {
        Some(Key::Number(self.0.into()))
    }

    #[cfg(feature = "openapi")]
    fn schema(_: Side, nullable: bool) -> ObjectBuilder {
        schema::plain(Type::Integer, nullable).minimum(Some(Self::FIRST))
    }
}

/// An amount of money: a number on write, a text with two decimals on read.
impl Scalar for Money {
    const IS_TEXT: bool = false;

    fn parse(sent: &Json, _: &Rules<'_>) -> Result<Self, Cow<'static, str>> {
        match sent {
            Json::Number(amount) => number::money(amount).map_err(|error| error.to_string().into()),
            _ => Err("must be a number".into()),
        }
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }

    fn key(&self) -> Option<Key> {
        Some(Key::Number(self.minor()))
    }

    #[cfg(feature = "openapi")]
    fn schema(side: Side, nullable: bool) -> ObjectBuilder {
        if side.is_read() {
            schema::plain(Type::String, nullable).pattern(Some(r"^-?\d+\.\d{2}$"))
        } else {
            // A multipleOf of 0.01 would state the rule, but most validators then refuse 19.99.
            schema::plain(Type::Number, nullable)
                .minimum(Some(0))
                .maximum(Some(number::MAX_WHOLE))
        }
    }
}

/// Yes or no, as a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum YesNo {
    /// Yes.
    Yes,
    /// No.
    No,
}

impl YesNo {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "Yes",
            Self::No => "No",
        }
    }
}

impl Scalar for YesNo {
    fn parse(sent: &Json, _: &Rules<'_>) -> Result<Self, Cow<'static, str>> {
        match text(sent)? {
            "Yes" => Ok(Self::Yes),
            "No" => Ok(Self::No),
            _ => Err("must be Yes or No".into()),
        }
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }

    #[cfg(feature = "openapi")]
    fn schema(_: Side, nullable: bool) -> ObjectBuilder {
        schema::words(["Yes", "No"], nullable)
    }
}

impl Scalar for VehicleClass {
    fn parse(sent: &Json, _: &Rules<'_>) -> Result<Self, Cow<'static, str>> {
        word(sent, str::parse)
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }

    fn key(&self) -> Option<Key> {
        Some(Key::Text(fold(self.name())))
    }

    #[cfg(feature = "openapi")]
    fn schema(_: Side, nullable: bool) -> ObjectBuilder {
        schema::words(Self::ALL.map(Self::name), nullable)
    }
}

impl Scalar for Vin {
    fn parse(sent: &Json, _: &Rules<'_>) -> Result<Self, Cow<'static, str>> {
        word(sent, str::parse)
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }

    fn key(&self) -> Option<Key> {
        Some(Key::Text(fold(self.as_str())))
    }

    #[cfg(feature = "openapi")]
    fn schema(_: Side, nullable: bool) -> ObjectBuilder {
        schema::plain(Type::String, nullable)
            .max_length(Some(Self::MAX_CHARS))
            .pattern(Some("^[0-9A-Za-z]+$"))
    }
}

impl Scalar for ContactId {
    const IS_TEXT: bool = false;

    fn parse(sent: &Json, _: &Rules<'_>) -> Result<Self, Cow<'static, str>> {
        match integer(sent) {
            Some(id) if id > 0 => Ok(Self::new(id)),
            _ => Err("must be the id of a contact".into()),
        }
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.get())
    }

    fn key(&self) -> Option<Key> {
        Some(Key::Number(self.get()))
    }

    #[cfg(feature = "openapi")]
    fn schema(_: Side, nullable: bool) -> ObjectBuilder {
        schema::plain(Type::Integer, nullable)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
            .minimum(Some(1))
    }
}

/// A contact id in a text field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContactIdText(pub ContactId);

impl Scalar for ContactIdText {
    fn parse(sent: &Json, rules: &Rules<'_>) -> Result<Self, Cow<'static, str>> {
        match sent {
            Json::String(text) => match text.parse() {
                Ok(id) => Ok(Self(id)),
                Err(_) => Err("must be the id of a contact".into()),
            },
            _ => ContactId::parse(sent, rules).map(Self),
        }
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }

    fn key(&self) -> Option<Key> {
        Some(Key::Number(self.0.get()))
    }

    #[cfg(feature = "openapi")]
    fn schema(side: Side, nullable: bool) -> ObjectBuilder {
        let id = schema::line(nullable).pattern(Some("^0*[1-9][0-9]*$"));
        if side.is_read() {
            return id;
        }
        let kinds = [Type::String, Type::Integer, Type::Null];
        id.schema_type(SchemaType::from_iter(kinds)).minimum(Some(1))
    }
}

/// A figure of a data sheet: a number, or a text such as `1,598 cc`. It is kept and shown as it was sent.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Figure {
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
    /// Yes or no.
    Flag(bool),
}

impl Scalar for Figure {
    fn parse(sent: &Json, _: &Rules<'_>) -> Result<Self, Cow<'static, str>> {
        match sent {
            Json::Number(number) if number.as_f64().is_some_and(|number| number < 0.0) => {
                Err("must not be negative".into())
            }
            Json::Number(number) => Ok(Self::Number(number.clone())),
            Json::String(_) => Ok(Self::Text(text(sent)?.to_owned())),
            Json::Bool(flag) => Ok(Self::Flag(*flag)),
            _ => Err("must be a number, a string, true or false".into()),
        }
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    #[cfg(feature = "openapi")]
    fn schema(_: Side, _: bool) -> ObjectBuilder {
        let kinds = [Type::Number, Type::String, Type::Boolean, Type::Null];
        ObjectBuilder::new()
            .schema_type(SchemaType::from_iter(kinds))
            .minimum(Some(0))
            .max_length(Some(MAX_LINE_CHARS))
    }
}

/// Figures whose names have a common prefix: the value of a field declared as `name*`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Figures(pub BTreeMap<String, Figure>);

impl FieldValue for Figures {
    type Patch = BTreeMap<String, Option<Figure>>;

    fn read(_: &Json, _: &mut Reader<'_>) -> Option<Self::Patch> {
        None
    }

    fn read_member(name: &str, sent: &Json, reader: &mut Reader<'_>, patch: &mut Option<Self::Patch>) {
        if let Some(figure) = scalar(sent, reader) {
            patch.get_or_insert_default().insert(name.to_owned(), figure);
        }
    }

    fn apply(&mut self, patch: Self::Patch) {
        for (name, figure) in patch {
            match figure {
                Some(figure) => self.0.insert(name, figure),
                None => self.0.remove(&name),
            };
        }
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    fn show_member<M: SerializeMap>(
        &self,
        _: &'static str,
        _: &ViewContext<'_>,
        group: &mut M,
    ) -> Result<(), M::Error> {
        self.0
            .iter()
            .try_for_each(|(name, figure)| group.serialize_entry(name, figure))
    }

    #[cfg(feature = "openapi")]
    fn schema(side: Side) -> Schema {
        <Option<Figure> as FieldValue>::schema(side)
    }
}

/// Several lines of text.
impl FieldValue for Vec<String> {
    type Patch = Self;

    fn read(sent: &Json, reader: &mut Reader<'_>) -> Option<Self> {
        let items = match sent {
            Json::Null => return Some(Self::new()),
            Json::Array(items) => items,
            _ => {
                reader.fault("must be an array");
                return None;
            }
        };
        if items.len() > MAX_ITEMS {
            reader.fault(TooManyItems(MAX_ITEMS).to_string());
            return None;
        }
        let mut texts = Self::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            reader.member(at, |reader| match text(item) {
                Ok(_) if item.is_null() => reader.fault("must be a string"),
                Ok(text) => texts.push(text.to_owned()),
                Err(message) => reader.fault(message),
            });
        }
        Some(texts)
    }

    fn apply(&mut self, patch: Self) {
        *self = patch;
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    #[cfg(feature = "openapi")]
    fn schema(side: Side) -> Schema {
        schema::array(schema::line(false).into(), side).into()
    }
}

/// A flag that is false while it is not set.
impl FieldValue for bool {
    type Patch = Self;

    fn read(sent: &Json, reader: &mut Reader<'_>) -> Option<Self> {
        match sent {
            Json::Null => Some(false),
            Json::Bool(flag) => Some(*flag),
            _ => {
                reader.fault("must be true or false");
                None
            }
        }
    }

    fn apply(&mut self, patch: Self) {
        *self = patch;
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(*self)
    }

    #[cfg(feature = "openapi")]
    fn schema(_: Side) -> Schema {
        schema::plain(Type::Boolean, false).into()
    }
}

/// A flag that may be unknown.
impl Scalar for bool {
    const IS_TEXT: bool = false;

    fn parse(sent: &Json, _: &Rules<'_>) -> Result<Self, Cow<'static, str>> {
        sent.as_bool().ok_or_else(|| "must be true or false".into())
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(*self)
    }

    #[cfg(feature = "openapi")]
    fn schema(_: Side, nullable: bool) -> ObjectBuilder {
        schema::plain(Type::Boolean, nullable)
    }
}

/// An option list that contains a field's words.
pub trait Options: Clone + PartialEq {
    /// The list.
    const LIST: OptionList;
}

macro_rules! option_lists {
    ($($(#[$meta:meta])* $name:ident => $list:ident;)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name;

        impl Options for $name {
            const LIST: OptionList = OptionList::$list;
        }
    )+};
}

option_lists! {
    /// Body styles.
    Bodies => Body;
    /// Basic colours.
    Colours => Colour;
    /// Fuels.
    Fuels => Fuel;
    /// Transmissions.
    Transmissions => Transmission;
    /// Drivetrains.
    Drivetrains => Drivetrain;
    /// Layouts of bedrooms.
    BedroomLayouts => BedroomLayout;
    /// Layouts of the rear end.
    EndLayouts => EndLayout;
}

/// A word of an option list, built-in or added by the business. Any of the word's usual names is accepted, and it is kept in the
/// spelling of the list. A name that means something else for vehicles of other classes is kept as it was sent, until
/// `Listed::fit` knows the class.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Listed<L> {
    word: String,
    #[serde(skip)]
    list: PhantomData<L>,
}

impl<L> Listed<L> {
    /// Returns the word.
    pub fn as_str(&self) -> &str {
        &self.word
    }
}

impl<L: Options> Listed<L> {
    /// Spells the word as the list for vehicles of this class does.
    ///
    /// # Errors
    /// A message that the list has no such word for the class; the word is then unchanged.
    pub(crate) fn fit(&mut self, class: Option<VehicleClass>, own: &VehicleOptions) -> Result<(), String> {
        let Some(word) = L::LIST.find(&self.word, class, own) else {
            let of = class.map_or_else(String::new, |class| {
                format!(" for vehicles of the class {}", class.name())
            });
            return Err(format!("is none of the options of {}{of}", L::LIST.name()));
        };
        word.clone_into(&mut self.word);
        Ok(())
    }

    /// Returns `true` if the list has the word for vehicles of any class.
    pub(crate) fn is_known(&self, own: &VehicleOptions) -> bool {
        L::LIST.find(&self.word, None, own).is_some()
    }
}

impl<L: Options> Scalar for Listed<L> {
    fn parse(sent: &Json, rules: &Rules<'_>) -> Result<Self, Cow<'static, str>> {
        let sent = text(sent)?.trim();
        let own = &rules.catalogue.vehicle_options;
        let found = L::LIST.find(sent, None, own);
        let found = found.ok_or_else(|| Cow::from(format!("is none of the options of {}", L::LIST.name())))?;
        let of_class = |&class: &VehicleClass| L::LIST.find(sent, Some(class), own);
        let is_plain = VehicleClass::ALL.iter().filter_map(of_class).all(|word| word == found);
        let word = if is_plain { found } else { sent };
        Ok(Self {
            word: word.to_owned(),
            list: PhantomData,
        })
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.word)
    }

    fn key(&self) -> Option<Key> {
        Some(Key::Text(fold(&self.word)))
    }

    #[cfg(feature = "openapi")]
    fn schema(_: Side, nullable: bool) -> ObjectBuilder {
        schema::line(nullable)
    }
}

/// The location of a vehicle: its id on write, its name on read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LocationId(pub String);

impl Scalar for LocationId {
    fn parse(sent: &Json, rules: &Rules<'_>) -> Result<Self, Cow<'static, str>> {
        let id = text(sent)?;
        if rules.catalogue.locations.iter().any(|location| location.id == id) {
            Ok(Self(id.to_owned()))
        } else {
            Err("names no location of this business".into())
        }
    }

    fn show<S: Serializer>(&self, context: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        context
            .texts()
            .show(&Placeholder::Location((&*self.0).into()), serializer)
    }

    fn key(&self) -> Option<Key> {
        Some(Key::Text(fold(&self.0)))
    }

    #[cfg(feature = "openapi")]
    fn schema(_: Side, nullable: bool) -> ObjectBuilder {
        schema::line(nullable)
    }
}

/// An object with members of the caller's choice, kept as it was sent. Its size is bounded by the maximum size of the record.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FreeObject(Map<String, Json>);

fn has_nul(value: &Json) -> bool {
    match value {
        Json::String(text) => text.contains('\0'),
        Json::Array(items) => items.iter().any(has_nul),
        Json::Object(members) => members
            .iter()
            .any(|(name, member)| name.contains('\0') || has_nul(member)),
        _ => false,
    }
}

impl FieldValue for FreeObject {
    type Patch = Self;

    fn read(sent: &Json, reader: &mut Reader<'_>) -> Option<Self> {
        let members = match sent {
            Json::Null => return Some(Self::default()),
            Json::Object(members) => members,
            _ => {
                reader.fault("must be an object");
                return None;
            }
        };
        if let Err(error) = validate_nesting(members) {
            reader.fault(error.to_string());
            return None;
        }
        if has_nul(sent) {
            reader.fault(InvalidText::Nul.to_string());
            return None;
        }
        Some(Self(members.clone()))
    }

    fn apply(&mut self, patch: Self) {
        *self = patch;
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    #[cfg(feature = "openapi")]
    fn schema(side: Side) -> Schema {
        schema::any_object(side).into()
    }
}
