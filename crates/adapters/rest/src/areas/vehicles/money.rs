//! Amounts of money in the bodies of vehicles' operations.

use forecourt_kernel::Money;
use forecourt_vehicles as vehicles;
use serde_json::Value;
use utoipa::openapi::{
    RefOr, Schema,
    schema::{ObjectBuilder, SchemaType, Type},
};

/// Parses an amount of money sent as a number.
pub(super) fn amount(sent: Value) -> Result<Money, String> {
    match sent {
        Value::Number(number) => vehicles::money(&number).map_err(|error| error.to_string()),
        _ => Err("must be a number".to_owned()),
    }
}

pub(super) fn amount_schema(about: &str, nullable: bool) -> RefOr<Schema> {
    let kinds = [Type::Number, Type::Null]
        .into_iter()
        .take(if nullable { 2 } else { 1 });
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter(kinds))
        .minimum(Some(0))
        .maximum(Some(vehicles::MAX_WHOLE))
        .description(Some(about))
        .into()
}
