//! Records in the requested view.

use serde::Serialize;

use crate::View;

/// A record in one of its views.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Viewed<S, F> {
    /// The fields that a list needs.
    Simple(S),
    /// Every field.
    Full(F),
}

impl<S, F> Viewed<S, F> {
    /// Shows a record in `view`.
    pub fn of<'r, R>(record: &'r R, view: View) -> Self
    where
        S: From<&'r R>,
        F: From<&'r R>,
    {
        match view {
            View::Simple => Self::Simple(record.into()),
            View::Full => Self::Full(record.into()),
        }
    }
}

/// Uses "any of", because a full record is a simple one too. A derive would use "one of".
#[cfg(feature = "openapi")]
impl<S: utoipa::ToSchema, F: utoipa::ToSchema> utoipa::PartialSchema for Viewed<S, F> {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::{Ref, schema::AnyOfBuilder};
        let views = [F::name(), S::name()].map(Ref::from_schema_name);
        let views = views.into_iter().fold(AnyOfBuilder::new(), AnyOfBuilder::item);
        utoipa::openapi::Schema::AnyOf(views.build()).into()
    }
}

#[cfg(feature = "openapi")]
impl<S: utoipa::ToSchema, F: utoipa::ToSchema> utoipa::ToSchema for Viewed<S, F> {
    fn name() -> std::borrow::Cow<'static, str> {
        format!("{}View", F::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
        schemas.push((F::name().into_owned(), F::schema()));
        schemas.push((S::name().into_owned(), S::schema()));
        F::schemas(schemas);
        S::schemas(schemas);
    }
}
