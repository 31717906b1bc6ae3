//! The declaration of the sections of a vehicle's data, in which each field is declared once.
//!
//! [`section!`] takes the name, the type and the further properties ([`FieldInfo`]) of each field. From these it generates the
//! struct that is stored, the patch for a write and its validating reader. It also generates the representation for each reader
//! ([`ViewContext`]), the list filters and the schema. A new field is one line in a section.

use std::fmt;

use forecourt_accounts::Business;
use forecourt_kernel::bounds::MAX_FAULTS;
use forecourt_kernel::{Timestamp, ValidationErrors};
use forecourt_reference::Catalogue;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use crate::placeholder::{BusinessTexts, PreviewNotes};

/// The callers that may write a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Callers that create or change a vehicle may write it; all callers read it.
    ReadWrite,
    /// No caller may write it: an attempt is a fault.
    ReadOnly,
    /// No caller may write it, but it may be sent back as it was read, and is then ignored.
    Echoed,
    /// Only callers that create a vehicle may write it; all callers read it.
    OnCreate,
    /// Callers that create or change a vehicle may write it; no caller reads it.
    WriteOnly,
}

/// The part of a field that a reduced view shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Nothing.
    None,
    /// The parts of it that the view shows, by the flags of its own fields.
    Some,
    /// The whole field.
    Whole,
}

/// The way in which a list filter compares a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FilterKind {
    /// By its whole text, ignoring case.
    Text,
    /// By its whole text or a pattern, ignoring case.
    Pattern,
    /// By a number.
    Number,
    /// By a range of numbers.
    Range,
    /// By a range of amounts of money.
    MoneyRange,
    /// By a location's id or name.
    Location,
}

/// A filter of the list of vehicles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FilterInfo {
    /// The query parameter. Storage keeps the value to compare ([`Key`]) under the same name.
    pub name: &'static str,
    /// The kind of comparison.
    pub kind: FilterKind,
    /// The description of the field.
    pub description: &'static str,
}

/// The value of a field that filters compare.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize)]
#[serde(untagged)]
pub enum Key {
    /// A text, folded.
    Text(String),
    /// A number; amounts of money are in minor units.
    Number(i64),
}

/// The properties of a field beyond its type.
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    /// Its name in JSON. A name that ends in `*` stands for every name with that prefix.
    pub name: &'static str,
    /// Its description, for the OpenAPI document.
    pub description: &'static str,
    /// The callers that may write it.
    pub access: Access,
    /// `true` if reading it needs the scope `vehicle-pricing:read`.
    pub pricing: bool,
    /// The part of it in the simple view.
    pub simple: Part,
    /// The part of it in the advert of the vehicle (contract, "Listing").
    pub advert: Part,
    /// The list filter by this field.
    pub filter: Option<FilterInfo>,
}

impl FieldInfo {
    pub(crate) const fn new(name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            description,
            access: Access::ReadWrite,
            pricing: false,
            simple: Part::None,
            advert: Part::None,
            filter: None,
        }
    }

    pub(crate) const fn read_only(self) -> Self {
        self.with_access(Access::ReadOnly)
    }

    pub(crate) const fn echoed(self) -> Self {
        self.with_access(Access::Echoed)
    }

    pub(crate) const fn on_create(self) -> Self {
        self.with_access(Access::OnCreate)
    }

    pub(crate) const fn write_only(self) -> Self {
        self.with_access(Access::WriteOnly)
    }

    const fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    pub(crate) const fn pricing(mut self) -> Self {
        self.pricing = true;
        self
    }

    pub(crate) const fn simple(mut self) -> Self {
        self.simple = Part::Whole;
        self
    }

    pub(crate) const fn simple_in_part(mut self) -> Self {
        self.simple = Part::Some;
        self
    }

    pub(crate) const fn advert(mut self) -> Self {
        self.advert = Part::Whole;
        self
    }

    pub(crate) const fn advert_in_part(mut self) -> Self {
        self.advert = Part::Some;
        self
    }

    pub(crate) const fn filter_text(self, name: &'static str) -> Self {
        self.with_filter(name, FilterKind::Text)
    }

    pub(crate) const fn filter_pattern(self, name: &'static str) -> Self {
        self.with_filter(name, FilterKind::Pattern)
    }

    pub(crate) const fn filter_number(self, name: &'static str) -> Self {
        self.with_filter(name, FilterKind::Number)
    }

    pub(crate) const fn filter_range(self, name: &'static str) -> Self {
        self.with_filter(name, FilterKind::Range)
    }

    pub(crate) const fn filter_money(self, name: &'static str) -> Self {
        self.with_filter(name, FilterKind::MoneyRange)
    }

    pub(crate) const fn filter_location(self, name: &'static str) -> Self {
        self.with_filter(name, FilterKind::Location)
    }

    const fn with_filter(mut self, name: &'static str, kind: FilterKind) -> Self {
        let description = self.description;
        self.filter = Some(FilterInfo {
            name,
            kind,
            description,
        });
        self
    }

    /// Returns `true` if a member of that name belongs to this field.
    pub(crate) fn takes(&self, name: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(beginning) => name.len() > beginning.len() && name.starts_with(beginning) && is_field_name(name),
            None => self.name == name,
        }
    }
}

/// Maximum length of a field's name if only its prefix is declared.
pub(crate) const MAX_FIELD_NAME_BYTES: usize = 64;

fn is_field_name(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.len() <= MAX_FIELD_NAME_BYTES && name.bytes().all(word)
}

/// The level of detail in which a vehicle is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// The fields that a list needs (decisions §7).
    Simple,
    /// Every field.
    Full,
    /// The fields of its advert (contract, "Listing"), except its media and its hash. Empty texts are null.
    Advert,
}

/// The reader and the level of detail for which a vehicle is shown.
#[derive(Clone, Copy, Debug)]
pub struct ViewContext<'a> {
    /// The level of detail.
    pub detail: Detail,
    /// `true` to show costs and funding, for callers that have `vehicle-pricing:read`.
    pub pricing: bool,
    texts: BusinessTexts<'a>,
    empty_is_null: bool,
}

impl<'a> ViewContext<'a> {
    /// Creates the context for a vehicle of `business`.
    pub fn new(detail: Detail, pricing: bool, business: &'a Business) -> Self {
        Self {
            detail,
            pricing,
            texts: BusinessTexts::Of(business),
            empty_is_null: detail == Detail::Advert,
        }
    }

    /// Creates a context that shows only what every caller may see, with placeholders for the texts of the business's record.
    pub(crate) const fn for_preview(detail: Detail, notes: &'a PreviewNotes) -> Self {
        Self {
            detail,
            pricing: false,
            texts: BusinessTexts::Placeholders(notes),
            empty_is_null: false,
        }
    }

    /// Returns the texts of the business's record, or their placeholders. A field must show nothing else of the business, because
    /// previews are kept longer than a business's record.
    pub(crate) const fn texts(&self) -> &BusinessTexts<'a> {
        &self.texts
    }

    /// Returns `true` if an unset text is shown as null instead of as an empty text.
    pub(crate) const fn empty_is_null(&self) -> bool {
        self.empty_is_null
    }

    /// Returns the context for a field; `None` if the field is not shown.
    pub(crate) fn onto(&self, field: &FieldInfo) -> Option<Self> {
        let part = match self.detail {
            _ if field.access == Access::WriteOnly => Part::None,
            Detail::Full => Part::Whole,
            Detail::Simple => field.simple,
            Detail::Advert => field.advert,
        };
        match part {
            Part::None => None,
            _ if field.pricing && !self.pricing => {
                self.texts.withhold();
                None
            }
            Part::Some => Some(*self),
            Part::Whole => Some(Self {
                detail: Detail::Full,
                ..*self
            }),
        }
    }
}

/// The rules by which the values of a write are checked.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// The option lists of the business.
    pub catalogue: &'a Catalogue,
    /// The current time.
    pub now: Timestamp,
    /// `true` if the vehicle is being created.
    pub creating: bool,
}

/// Reads a write, and collects its faults with their dot-paths.
#[derive(Debug)]
pub struct Reader<'a> {
    rules: Rules<'a>,
    path: String,
    /// `true` for the fields of a vehicle's data: unknown ones are faults, and sections cannot be null.
    is_strict: bool,
    errors: ValidationErrors,
}

impl<'a> Reader<'a> {
    /// Creates a reader of the value at `path` of a body.
    pub fn new(rules: Rules<'a>, path: &str) -> Self {
        Self {
            rules,
            path: path.to_owned(),
            is_strict: true,
            errors: ValidationErrors::new(),
        }
    }

    /// Makes the reader ignore unknown fields.
    #[must_use]
    pub const fn lenient(mut self) -> Self {
        self.is_strict = false;
        self
    }

    /// Returns the rules by which the values are checked.
    pub const fn rules(&self) -> &Rules<'a> {
        &self.rules
    }

    /// Returns the faults that were found.
    pub fn into_errors(self) -> ValidationErrors {
        self.errors
    }

    /// Returns `true` if there are as many faults as a response lists, so that the rest need not be read.
    pub(crate) fn is_full(&self) -> bool {
        self.errors.as_slice().len() >= MAX_FAULTS
    }

    /// Records a fault of the value that is being read.
    pub(crate) fn fault(&mut self, message: impl Into<String>) {
        self.errors.add(self.path.clone(), message);
    }

    /// Records an unknown field as a fault, unless the reader ignores them.
    pub(crate) fn unknown(&mut self) {
        if self.is_strict {
            self.fault("is no field of a vehicle");
        }
    }

    /// Returns `true` if null clears the value that is being read. It does not clear a whole section of a vehicle's data, or all
    /// of them.
    pub(crate) fn takes_null(&self) -> bool {
        !self.is_strict || self.path.bytes().filter(|&byte| byte == b'.').count() > 1
    }

    /// Reads the member of that name.
    pub(crate) fn member<T>(&mut self, name: impl fmt::Display, read: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path = format!("{}.{name}", self.path);
        let value = read(self);
        self.path.truncate(length);
        value
    }

    /// Returns `true` if the field may be written now. If not, it records a fault, unless the field may be sent back.
    pub(crate) fn admits(&mut self, field: &FieldInfo) -> bool {
        match field.access {
            Access::ReadWrite | Access::WriteOnly => true,
            Access::OnCreate if self.rules.creating => true,
            Access::OnCreate => {
                self.fault("can be written only when the vehicle is created");
                false
            }
            Access::ReadOnly => {
                self.fault("cannot be written");
                false
            }
            Access::Echoed => false,
        }
    }
}

/// The type of a field. Its default is the unset field.
pub trait FieldValue: Clone + PartialEq + Default {
    /// The change of the field in a write.
    type Patch;

    /// Its own fields, if it is a group.
    const FIELDS: &'static [FieldInfo] = &[];

    /// Reads a value that was sent; null clears. Faults are recorded in `reader`, and give `None`.
    fn read(sent: &Json, reader: &mut Reader<'_>) -> Option<Self::Patch>;

    /// Reads the member `name`, which belongs to this field, and adds it to the change so far.
    fn read_member(_name: &str, sent: &Json, reader: &mut Reader<'_>, patch: &mut Option<Self::Patch>) {
        *patch = Self::read(sent, reader);
    }

    /// Applies a change.
    fn apply(&mut self, patch: Self::Patch);

    /// Writes the value.
    ///
    /// # Errors
    /// The errors of `serializer`.
    fn show<S: Serializer>(&self, context: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error>;

    /// Writes the value as a member of its group.
    ///
    /// # Errors
    /// The errors of `group`.
    fn show_member<M: SerializeMap>(
        &self,
        name: &'static str,
        context: &ViewContext<'_>,
        group: &mut M,
    ) -> Result<(), M::Error> {
        group.serialize_entry(name, &Shown { value: self, context })
    }

    /// Returns the value that filters compare; `None` if it is not set, or no filter compares it.
    fn key(&self) -> Option<Key> {
        None
    }

    /// Passes to `found` the keys of those of its fields that lists are filtered by.
    fn each_key(&self, _found: &mut dyn FnMut(&'static str, Key)) {}

    /// Removes from its representation the values that need `vehicle-pricing:read`.
    fn withhold_pricing(_shown: &mut Json) {}

    /// Appends the names and types of the fields that are shown to `names`.
    fn outline(_context: &ViewContext<'_>, _names: &mut String) {}

    /// Passes the filters by its fields to `found`.
    fn each_filter(_found: &mut dyn FnMut(FilterInfo)) {}

    /// Returns its schema, for reading or for writing.
    #[cfg(feature = "openapi")]
    fn schema(side: crate::schema::Side) -> utoipa::openapi::schema::Schema;
}

/// Returns `true` if a field is not set, so that it is not stored.
pub(crate) fn is_unset<T: FieldValue>(value: &T) -> bool {
    *value == T::default()
}

/// A value with the context in which it is shown.
pub(crate) struct Shown<'a, 'b, T> {
    pub(crate) value: &'a T,
    pub(crate) context: &'a ViewContext<'b>,
}

impl<T: FieldValue> Serialize for Shown<'_, '_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.show(self.context, serializer)
    }
}

/// Declares a group of fields.
///
/// ```text
/// section! {
///     /// Description of the group.
///     pub struct Group: GroupPatch {
///         /// Description of the field.
///         field as "name in JSON": Type, flag, flag("argument");
///     }
/// }
/// ```
///
/// The name in JSON may be omitted if it is the field's. The flags are the methods of [`FieldInfo`].
macro_rules! section {
    (
        $(#[$meta:meta])*
        pub struct $Section:ident: $Patch:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident $(as $name:literal)?: $kind:ty $(, $flag:ident $(($argument:literal))?)*;
            )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct $Section {
            $(
                $(#[doc = $doc])+
                #[serde(skip_serializing_if = "crate::declare::is_unset")]
                pub $field: $kind,
            )+
        }

        /// A change of the fields of
        #[doc = concat!("[`", stringify!($Section), "`].")]
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct $Patch {
            /// `true` to clear the fields that the write does not name.
            pub cleared: bool,
            $(
                $(#[doc = $doc])+
                pub $field: Option<<$kind as $crate::declare::FieldValue>::Patch>,
            )+
        }

        #[expect(non_upper_case_globals, reason = "a constant for each field, named as the field is")]
        impl $Section {
            $(
                const $field: $crate::declare::FieldInfo = $crate::declare::FieldInfo::new(
                    $crate::declare::field_name!($field $($name)?),
                    concat!($($doc),+).trim_ascii(),
                )$(.$flag($($argument)?))*;
            )+
        }

        impl $crate::declare::FieldValue for $Section {
            type Patch = $Patch;

            const FIELDS: &'static [$crate::declare::FieldInfo] = &[$(Self::$field),+];

            fn read(sent: &serde_json::Value, reader: &mut $crate::declare::Reader<'_>) -> Option<$Patch> {
                let mut patch = $Patch::default();
                let members = match sent {
                    serde_json::Value::Object(members) => members,
                    serde_json::Value::Null if reader.takes_null() => {
                        patch.cleared = true;
                        return Some(patch);
                    }
                    _ => {
                        reader.fault("must be an object");
                        return None;
                    }
                };
                for (name, sent) in members {
                    if reader.is_full() {
                        break;
                    }
                    reader.member(name, |reader| {
                        $(
                            if Self::$field.takes(name) {
                                if reader.admits(&Self::$field) {
                                    <$kind as $crate::declare::FieldValue>::read_member(
                                        name, sent, reader, &mut patch.$field,
                                    );
                                }
                                return;
                            }
                        )+
                        reader.unknown();
                    });
                }
                Some(patch)
            }

            fn apply(&mut self, patch: $Patch) {
                $(
                    let writable = matches!(
                        Self::$field.access,
                        $crate::declare::Access::ReadWrite | $crate::declare::Access::WriteOnly
                    );
                    if patch.cleared && writable {
                        self.$field = Default::default();
                    }
                    if let Some(field) = patch.$field {
                        <$kind as $crate::declare::FieldValue>::apply(&mut self.$field, field);
                    }
                )+
            }

            fn show<S: serde::Serializer>(
                &self,
                context: &$crate::declare::ViewContext<'_>,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                let mut group = serializer.serialize_map(None)?;
                $crate::declare::GroupValue::show_fields(self, context, &mut group)?;
                serde::ser::SerializeMap::end(group)
            }

            fn outline(context: &$crate::declare::ViewContext<'_>, names: &mut String) {
                names.push('{');
                $(
                    if let Some(context) = context.onto(&Self::$field) {
                        names.push_str(Self::$field.name);
                        names.push_str(concat!(": ", stringify!($kind), ","));
                        <$kind as $crate::declare::FieldValue>::outline(&context, names);
                    }
                )+
                names.push('}');
            }

            fn each_key(&self, found: &mut dyn FnMut(&'static str, $crate::declare::Key)) {
                $(
                    if let Some(filter) = Self::$field.filter
                        && let Some(key) = $crate::declare::FieldValue::key(&self.$field)
                    {
                        found(filter.name, key);
                    }
                    $crate::declare::FieldValue::each_key(&self.$field, found);
                )+
            }

            fn each_filter(found: &mut dyn FnMut($crate::declare::FilterInfo)) {
                $(
                    if let Some(filter) = Self::$field.filter {
                        found(filter);
                    }
                    <$kind as $crate::declare::FieldValue>::each_filter(found);
                )+
            }

            fn withhold_pricing(shown: &mut serde_json::Value) {
                let Some(members) = shown.as_object_mut() else {
                    return;
                };
                $(
                    if Self::$field.pricing {
                        members.remove(Self::$field.name);
                    } else if let Some(member) = members.get_mut(Self::$field.name) {
                        <$kind as $crate::declare::FieldValue>::withhold_pricing(member);
                    }
                )+
            }

            #[cfg(feature = "openapi")]
            fn schema(side: $crate::schema::Side) -> utoipa::openapi::schema::Schema {
                let mut group = $crate::schema::Group::new(side);
                $(
                    group.add(&Self::$field, <$kind as $crate::declare::FieldValue>::schema);
                )+
                group.build()
            }
        }

        impl $crate::declare::GroupValue for $Section {
            fn show_fields<M: serde::ser::SerializeMap>(
                &self,
                context: &$crate::declare::ViewContext<'_>,
                group: &mut M,
            ) -> Result<(), M::Error> {
                $(
                    if let Some(context) = context.onto(&Self::$field) {
                        $crate::declare::FieldValue::show_member(&self.$field, Self::$field.name, &context, group)?;
                    }
                )+
                Ok(())
            }
        }
    };
}

/// A group of fields that can be shown among others.
pub(crate) trait GroupValue {
    fn show_fields<M: SerializeMap>(&self, context: &ViewContext<'_>, group: &mut M) -> Result<(), M::Error>;
}

macro_rules! field_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:literal) => {
        $name
    };
}

pub(crate) use {field_name, section};
