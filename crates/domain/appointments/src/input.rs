//! The values of an appointment as callers write them.

use forecourt_accounts::Rules;
use forecourt_kernel::{Change, Country, FromJson, InvalidValue, Line, OrEmpty, Phone, Timestamp};
use serde_json::Value;

/// An email address, or the empty text.
pub type EmailText = OrEmpty<forecourt_kernel::Email>;

/// A moment, in whole seconds since the epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MomentInput(pub(crate) Timestamp);

impl MomentInput {
    /// The last moment that is accepted: the end of the year 9999, after which days have no usual form.
    pub(crate) const MAX: i64 = 253_402_300_799;
}

impl FromJson for MomentInput {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        match i64::from_json(value)? {
            seconds @ 0..=Self::MAX => Ok(Self(Timestamp::from_epoch_seconds(seconds))),
            _ => Err(InvalidValue::here("must be a Unix timestamp")),
        }
    }
}

impl Change<Timestamp, Rules<'_>> for MomentInput {
    fn apply(self, stored: &mut Timestamp, _: &Timestamp, _: &Rules<'_>) {
        *stored = self.0;
    }
}

/// The length of an appointment, at most a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DurationMinutes(pub(crate) i64);

impl DurationMinutes {
    /// The length of the longest appointment.
    pub(crate) const MAX: i64 = 24 * 60;
}

impl FromJson for DurationMinutes {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        match i64::from_json(value)? {
            minutes @ 1..=Self::MAX => Ok(Self(minutes)),
            _ => Err(InvalidValue::here("must be from 1 to 1440 minutes")),
        }
    }
}

/// The time before an appointment at which its reminder goes, at most 30 days.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReminderMinutes(pub(crate) u32);

impl ReminderMinutes {
    /// The longest time before an appointment.
    pub(crate) const MAX: u32 = 30 * 24 * 60;
}

impl FromJson for ReminderMinutes {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let minutes = u32::try_from(i64::from_json(value)?).ok();
        let minutes = minutes.filter(|minutes| *minutes <= Self::MAX);
        minutes
            .map(Self)
            .ok_or(InvalidValue::here("must be from 0 to 43200 minutes"))
    }
}

impl Change<Option<u32>, Rules<'_>> for ReminderMinutes {
    fn apply(self, stored: &mut Option<u32>, _: &Option<u32>, _: &Rules<'_>) {
        *stored = Some(self.0);
    }
}

/// A telephone number, or the empty text. Without a country code it is read as a number of the business's country. It is stored
/// in E.164.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhoneLine(Line);

impl PhoneLine {
    /// Returns the number, unless it is empty.
    fn read(&self, home: Country) -> Result<Option<Phone>, InvalidValue> {
        if self.0.trim().is_empty() {
            return Ok(None);
        }
        let phone = Phone::parse(&self.0, home).map_err(|error| InvalidValue::here(error.to_string()))?;
        Ok(Some(phone))
    }
}

impl FromJson for PhoneLine {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        Line::from_json(value).map(Self)
    }
}

impl Change<String, Rules<'_>> for PhoneLine {
    fn rule_faults(&self, rules: &Rules<'_>) -> InvalidValue {
        self.read(rules.business.country).err().unwrap_or_default()
    }

    fn apply(self, stored: &mut String, _: &String, rules: &Rules<'_>) {
        if let Ok(phone) = self.read(rules.business.country) {
            *stored = phone.map(Phone::into_string).unwrap_or_default();
        }
    }
}

#[cfg(feature = "openapi")]
mod schemas {
    use std::borrow::Cow;

    use utoipa::{
        PartialSchema, ToSchema,
        openapi::{KnownFormat, ObjectBuilder, RefOr, SchemaFormat, schema::Schema, schema::Type},
    };

    use super::{DurationMinutes, Line, MomentInput, PhoneLine, ReminderMinutes};

    fn integer(least: i64, most: i64) -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
            .minimum(Some(least))
            .maximum(Some(most))
            .into()
    }

    impl PartialSchema for MomentInput {
        fn schema() -> RefOr<Schema> {
            integer(0, Self::MAX)
        }
    }

    impl ToSchema for MomentInput {
        fn name() -> Cow<'static, str> {
            "AppointmentMoment".into()
        }
    }

    impl PartialSchema for DurationMinutes {
        fn schema() -> RefOr<Schema> {
            integer(1, Self::MAX)
        }
    }

    impl ToSchema for DurationMinutes {
        fn name() -> Cow<'static, str> {
            "AppointmentDuration".into()
        }
    }

    impl PartialSchema for ReminderMinutes {
        fn schema() -> RefOr<Schema> {
            integer(0, Self::MAX.into())
        }
    }

    impl ToSchema for ReminderMinutes {}

    impl PartialSchema for PhoneLine {
        fn schema() -> RefOr<Schema> {
            Line::schema()
        }
    }

    impl ToSchema for PhoneLine {
        fn name() -> Cow<'static, str> {
            <Line as ToSchema>::name()
        }
    }
}
