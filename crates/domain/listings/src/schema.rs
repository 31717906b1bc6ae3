//! The schema of a listing, for an OpenAPI document.

use std::borrow::Cow;

use forecourt_vehicles::{StatusView, add_advert_schemas, advert_data};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Ref, RefOr, Schema,
        schema::{ArrayBuilder, ObjectBuilder, SchemaType, Type},
    },
};

use crate::advert::ListingMedium;

/// The schema of a listing.
#[derive(Clone, Copy, Debug)]
pub struct ListingSchema;

impl PartialSchema for ListingSchema {
    fn schema() -> RefOr<Schema> {
        let of = |kind: Type, about: &str| ObjectBuilder::new().schema_type(kind).description(Some(about));
        let or_null = |about: &str| {
            ObjectBuilder::new()
                .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
                .description(Some(about))
        };
        let media = ArrayBuilder::new()
            .items(Ref::from_schema_name(ListingMedium::name()))
            .description(Some("In the order to show them in."));
        let members: Vec<(&str, RefOr<Schema>)> = vec![
            ("id", of(Type::Integer, "Vehicle id.").into()),
            ("tag", or_null("Short code, unique within the business.").into()),
            ("country", or_null("Country, two-letter ISO code.").into()),
            (
                "registration",
                or_null("Registration mark, as it is usually written.").into(),
            ),
            ("url_full", or_null("Public address.").into()),
            ("status", Ref::from_schema_name(StatusView::name()).into()),
            ("data", advert_data()),
            ("media", media.into()),
            (
                "updated",
                of(Type::Integer, "Time of the last change of the advert, epoch seconds.").into(),
            ),
            (
                "hash",
                of(Type::String, "Hash that changes if and only if the advert changes.").into(),
            ),
        ];
        let object = ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some("The advert of a vehicle. What is empty is null."));
        let all = members.into_iter().fold(object, |object, (name, schema)| {
            object.property(name, schema).required(name)
        });
        RefOr::T(all.into())
    }
}

impl ToSchema for ListingSchema {
    fn name() -> Cow<'static, str> {
        "Listing".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        add_advert_schemas(schemas);
        schemas.push((ListingMedium::name().into_owned(), ListingMedium::schema()));
        ListingMedium::schemas(schemas);
    }
}
