//! How the sections of a vehicle's data are declared: each field once.
//!
//! [`section!`] takes a field's name, its type and what is to be known of it beyond the type ([`FieldInfo`]), and makes of this
//! the struct that is kept, the patch that a write is, the reading of that patch with its faults, the representation for each
//! reader ([`ViewContext`]), the filters that lists have by it, and its schema. A new field is one line there.

use std::fmt;

use forecourt_accounts::Business;
use forecourt_kernel::bounds::MAX_FAULTS;
use forecourt_kernel::{Timestamp, ValidationErrors};
use forecourt_reference::Catalogue;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use crate::placeholder::{BusinessTexts, PreviewNotes};

/// Who may write a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Callers that create or change a vehicle; all callers read it.
    ReadWrite,
    /// No caller: writing it is a fault.
    ReadOnly,
    /// No caller: it may be sent back as it was read, and is ignored.
    Echoed,
    /// Only callers that create a vehicle; all callers read it.
    OnCreate,
    /// Callers that create or change a vehicle; no caller reads it.
    WriteOnly,
}

/// How much of a field a reduced view shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Nothing.
    None,
    /// Those of its own fields that the view shows.
    Some,
    /// All of it.
    Whole,
}

/// How a list of vehicles is filtered by a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FilterKind {
    /// By its whole text, without regard to case.
    Text,
    /// By its whole text or a pattern, without regard to case.
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

/// A filter of the list, and the column that it compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FilterInfo {
    /// The query parameter; storage keeps what it compares under the same name ([`Key`]).
    pub name: &'static str,
    /// How it compares.
    pub kind: FilterKind,
    /// What the field is, as its declaration says.
    pub description: &'static str,
}

/// What a field is compared by in filters.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize)]
#[serde(untagged)]
pub enum Key {
    /// A text, folded.
    Text(String),
    /// A number; of money the minor units.
    Number(i64),
}

/// What is known of a field beyond its name and type.
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    /// Its name in JSON. One that ends in `*` stands for every name that begins so.
    pub name: &'static str,
    /// What it means, for the OpenAPI document.
    pub description: &'static str,
    /// Who may write it.
    pub access: Access,
    /// Whether reading it needs the scope `vehicle-pricing:read`.
    pub pricing: bool,
    /// What the simple view shows of it.
    pub simple: Part,
    /// What the advert of the vehicle shows of it (contract, "Listing").
    pub advert: Part,
    /// The filter by it.
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

    /// Whether a member of that name is this field's.
    pub(crate) fn takes(&self, name: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(beginning) => name.len() > beginning.len() && name.starts_with(beginning) && is_field_name(name),
            None => self.name == name,
        }
    }
}

/// How long the name of a field may be whose beginning alone is declared.
pub(crate) const MAX_FIELD_NAME_BYTES: usize = 64;

fn is_field_name(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.len() <= MAX_FIELD_NAME_BYTES && name.bytes().all(word)
}

/// How much of a vehicle is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// What a list needs (decisions §7).
    Simple,
    /// Every field.
    Full,
    /// What its advert shows (contract, "Listing"), except its media and its hash: what is empty is null.
    Advert,
}

/// For whom, and as what, a vehicle is shown.
#[derive(Clone, Copy, Debug)]
pub struct ViewContext<'a> {
    /// How much of it.
    pub detail: Detail,
    /// Whether costs and funding are shown: to who holds `vehicle-pricing:read`.
    pub pricing: bool,
    texts: BusinessTexts<'a>,
    empty_is_null: bool,
}

impl<'a> ViewContext<'a> {
    /// Looks at a vehicle of `business`.
    pub fn new(detail: Detail, pricing: bool, business: &'a Business) -> Self {
        Self {
            detail,
            pricing,
            texts: BusinessTexts::Of(business),
            empty_is_null: detail == Detail::Advert,
        }
    }

    /// Shows a vehicle as every caller may see it, with placeholders for the texts of the business's file.
    pub(crate) const fn for_preview(detail: Detail, notes: &'a PreviewNotes) -> Self {
        Self {
            detail,
            pricing: false,
            texts: BusinessTexts::Placeholders(notes),
            empty_is_null: false,
        }
    }

    /// How fields with business text are shown: nothing else of the business may be shown with a field, since previews are kept
    /// for longer than a business's file.
    pub(crate) const fn texts(&self) -> &BusinessTexts<'a> {
        &self.texts
    }

    /// Whether a text that is not set shows as null, and not as an empty one.
    pub(crate) const fn empty_is_null(&self) -> bool {
        self.empty_is_null
    }

    /// The context that a field is looked at through; `None` if it is not shown.
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

/// What the values of a write are checked by.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// The business's lists.
    pub catalogue: &'a Catalogue,
    /// The current moment.
    pub now: Timestamp,
    /// Whether the vehicle is being created.
    pub creating: bool,
}

/// Reads a write, and gathers its faults with their dot-paths.
#[derive(Debug)]
pub struct Reader<'a> {
    rules: Rules<'a>,
    path: String,
    /// Whether the fields are those of a vehicle's data: unknown ones are faults, and sections cannot be null.
    is_strict: bool,
    errors: ValidationErrors,
}

impl<'a> Reader<'a> {
    /// Reads what lies at `path` of a body.
    pub fn new(rules: Rules<'a>, path: &str) -> Self {
        Self {
            rules,
            path: path.to_owned(),
            is_strict: true,
            errors: ValidationErrors::new(),
        }
    }

    /// Passes over fields that there are not.
    #[must_use]
    pub const fn lenient(mut self) -> Self {
        self.is_strict = false;
        self
    }

    /// What the values are checked by.
    pub const fn rules(&self) -> &Rules<'a> {
        &self.rules
    }

    /// The faults that were found.
    pub fn into_errors(self) -> ValidationErrors {
        self.errors
    }

    /// Whether so many faults were found that no answer lists more: the rest need not be looked at.
    pub(crate) fn is_full(&self) -> bool {
        self.errors.as_slice().len() >= MAX_FAULTS
    }

    /// Notes that what is being read is wrong.
    pub(crate) fn fault(&mut self, message: impl Into<String>) {
        self.errors.add(self.path.clone(), message);
    }

    /// Notes that there is no such field.
    pub(crate) fn unknown(&mut self) {
        if self.is_strict {
            self.fault("is no field of a vehicle");
        }
    }

    /// Whether null clears what is being read. It does not clear a whole section of a vehicle's data, nor all of them.
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

    /// Whether the field may be written now; that it may not is noted, unless it may be sent back.
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

/// A type that a field can be of. Its default is the field that is not set.
pub trait FieldValue: Clone + PartialEq + Default {
    /// What a write says of it.
    type Patch;

    /// The fields that it has, if it is a group of them.
    const FIELDS: &'static [FieldInfo] = &[];

    /// Reads what was sent; null clears. What is wrong is noted in `reader`, and gives `None`.
    fn read(sent: &Json, reader: &mut Reader<'_>) -> Option<Self::Patch>;

    /// Reads the member `name`, which is this field's, into what the write says of it so far.
    fn read_member(_name: &str, sent: &Json, reader: &mut Reader<'_>, patch: &mut Option<Self::Patch>) {
        *patch = Self::read(sent, reader);
    }

    /// Takes over what a write says.
    fn apply(&mut self, patch: Self::Patch);

    /// Shows it.
    ///
    /// # Errors
    /// Those of `serializer`.
    fn show<S: Serializer>(&self, context: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error>;

    /// Shows it as a member of the group that it is in.
    ///
    /// # Errors
    /// Those of `group`.
    fn show_member<M: SerializeMap>(
        &self,
        name: &'static str,
        context: &ViewContext<'_>,
        group: &mut M,
    ) -> Result<(), M::Error> {
        group.serialize_entry(name, &Shown { value: self, context })
    }

    /// What filters compare it by; `None` if it is not set, or no filter compares it.
    fn key(&self) -> Option<Key> {
        None
    }

    /// Passes to `found` the keys of those of its fields that lists are filtered by.
    fn each_key(&self, _found: &mut dyn FnMut(&'static str, Key)) {}

    /// Takes out of its representation what only `vehicle-pricing:read` shows.
    fn withhold_pricing(_shown: &mut Json) {}

    /// Appends to `names` which of its fields are shown, and of what types.
    fn outline(_lens: &ViewContext<'_>, _names: &mut String) {}

    /// Passes to `found` the filters by its fields.
    fn each_filter(_found: &mut dyn FnMut(FilterInfo)) {}

    /// Its schema, as it is read or as it is written.
    #[cfg(feature = "openapi")]
    fn schema(side: crate::schema::Side) -> utoipa::openapi::schema::Schema;
}

/// Whether a field is not set, and so is not kept.
pub(crate) fn is_unset<T: FieldValue>(value: &T) -> bool {
    *value == T::default()
}

/// A value, seen through a context.
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
///     /// What the group is.
///     pub struct Group: GroupPatch {
///         /// What the field means.
///         field as "name in JSON": Type, flag, flag("argument");
///     }
/// }
/// ```
///
/// The name in JSON may be left out if it is the field's. The flags are the methods of [`FieldInfo`].
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

        /// What a write says of the fields of
        #[doc = concat!("[`", stringify!($Section), "`].")]
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct $Patch {
            /// Whether the fields that the write does not name are cleared.
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
