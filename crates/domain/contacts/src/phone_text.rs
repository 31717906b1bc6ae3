//! Telephone numbers as callers write them.

use forecourt_accounts::Rules;
use forecourt_kernel::{Change, Country, Field, FromJson, InvalidValue, Line, OrEmpty, Phone, from_object};
use serde::Deserialize;
use serde_json::Value;

/// A telephone number: a text, or an object with the number and the country that it is dialled in. Without a country it is read
/// as a number of the business's country. It is stored in E.164.
#[derive(Clone, PartialEq, Debug)]
pub struct PhoneText(Spelling);

#[derive(Clone, PartialEq, Debug)]
enum Spelling {
    Whole(Line),
    Parts(Parts),
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
struct Parts {
    country: Field<OrEmpty<Country>>,
    number: Field<Line>,
}

impl PhoneText {
    /// Returns the number, unless it is empty.
    fn read(&self, home: Country) -> Result<Option<Phone>, InvalidValue> {
        let Parts { country, number } = match &self.0 {
            Spelling::Whole(text) => return phone(text, home),
            Spelling::Parts(parts) => parts,
        };
        let mut faults = InvalidValue::default();
        faults.add_within("country", country.shape_faults::<Option<Country>, ()>());
        let country = match country {
            Field::Value(OrEmpty(Some(country))) => *country,
            _ => home,
        };
        let read = match number {
            // A country without a number is not a phone number.
            Field::Absent => Err(InvalidValue::here("is required")),
            Field::Null => Ok(None),
            Field::Value(text) => phone(text, country),
            Field::Wrong(wrong) => Err(wrong.clone()),
        };
        match read {
            Ok(phone) if faults.is_empty() => Ok(phone),
            Ok(_) => Err(faults),
            Err(wrong) => {
                faults.add_within("number", wrong);
                Err(faults)
            }
        }
    }
}

fn phone(text: &str, country: Country) -> Result<Option<Phone>, InvalidValue> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let phone = Phone::parse(text, country).map_err(|error| InvalidValue::here(error.to_string()))?;
    Ok(Some(phone))
}

impl FromJson for PhoneText {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        match value {
            Value::String(_) => Line::from_json(value).map(Spelling::Whole),
            Value::Object(_) => from_object(value).map(Spelling::Parts),
            _ => Err(InvalidValue::here(
                "must be a string or an object of country and number",
            )),
        }
        .map(Self)
    }
}

impl Change<String, Rules<'_>> for PhoneText {
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
impl utoipa::PartialSchema for PhoneText {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Type};
        let parts = ObjectBuilder::new()
            .schema_type(Type::Object)
            .property("country", Country::schema())
            .property("number", Line::schema())
            .required("number");
        OneOfBuilder::new().item(Line::schema()).item(parts).into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for PhoneText {}
