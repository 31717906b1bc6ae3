//! Parameters of paths and queries, each declared in one line; and the filters of lists, which are read by the same line.

use std::convert::Infallible;

use forecourt_accounts::Caller;
use forecourt_appointments::AppointmentStatus;
use forecourt_billing::{
    CreditNumber, DealId, InvoiceId, InvoiceNumber, OrderId, OrderNumber, PurchaseNumber, VatScheme,
};
use forecourt_blogs::ArticleStatus;
use forecourt_calls::{CallDirection, CallOutcome};
use forecourt_contacts::WholeText;
use forecourt_deals::DealStage;
use forecourt_invoices::{InvoiceKind, InvoiceStatus, Overdue, StatusChoice as InvoiceStatusChoice};
use forecourt_jobs::JobStatus;
use forecourt_kernel::{
    ContactId, Date, LeadId, Line, Money, Phone, Range, SiteId, StaffId, TextFilter, Timestamp, VehicleId,
};
use forecourt_leads::{LeadStatus, Rating};
use forecourt_orders::{Expired, OrderStatus, OrderStatusChoice};
use forecourt_purchases::{OverduePurchase, PurchaseKind};
use forecourt_reference::{LeadChannel, StockType};
use forecourt_reviews::ReviewStatus;
use forecourt_stock_book::StockStatus;
use forecourt_vehicles::{Registration, StatusChoice, VehicleTag};
use forecourt_webhooks::{DeliveryStatus, Topic};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Ref, RefOr, Required,
        path::{Parameter, ParameterBuilder, ParameterIn},
        schema::Schema,
    },
};

use crate::{
    query::Query,
    schemas::{
        self, AmountRange, CursorParameter, DayRange, Fields, MomentRange, MoneyRange, NumberRange, PageNumber,
        PerPage, ViewParameter,
    },
};

/// Declares parameters for the `params(…)` of an operation. The line of each has its meaning, its name, and a type whose schema
/// is that of its values.
///
/// ```ignore
/// parameters! {
///     path IdParameter;
///     /// Lead id.
///     id: i64;
/// }
/// ```
macro_rules! parameters {
    (
        $(#[$meta:meta])* $vis:vis $place:ident $name:ident;
        $($(#[doc = $doc:literal])+ $field:ident $(as $other:literal)?: $kind:ty;)+
    ) => {
        $(#[$meta])*
        $vis enum $name {}

        impl ::utoipa::IntoParams for $name {
            fn into_params(
                _: impl Fn() -> Option<::utoipa::openapi::path::ParameterIn>,
            ) -> Vec<::utoipa::openapi::path::Parameter> {
                vec![$(
                    $crate::parameters::$place(
                        $crate::parameters::name!($field $($other)?),
                        &[$($doc),+],
                        <$kind as ::utoipa::PartialSchema>::schema(),
                    ),
                )+]
            }
        }
    };
}

/// Declares the filters of a list. The line of each has its meaning, its name and a type that implements [`Filter`]. The name
/// is also that of the field in the domain's filter, unless `as` gives the parameter another one. The parameters and their
/// reading are generated from it. The other fields of a domain's filter are read by a function that is named after it.
///
/// ```ignore
/// filters! {
///     FilterParameters => LeadFilter;
///     /// Filed under this site.
///     site: SiteId;
/// }
/// ```
macro_rules! filters {
    (
        $name:ident => $filter:ident $(, $besides:ident by $function:ident)*;
        $($(#[doc = $doc:literal])+ $field:ident $(as $other:literal)?: $kind:ty;)+
    ) => {
        enum $name {}

        impl ::utoipa::IntoParams for $name {
            fn into_params(
                _: impl Fn() -> Option<::utoipa::openapi::path::ParameterIn>,
            ) -> Vec<::utoipa::openapi::path::Parameter> {
                vec![$(
                    $crate::parameters::filter::<$kind>($crate::parameters::name!($field $($other)?), &[$($doc),+]),
                )+]
            }
        }

        impl $name {
            /// Reads the filter from the query.
            fn read(query: &mut $crate::query::Query<'_>, by: &::forecourt_accounts::Caller) -> $filter {
                $filter {
                    $(
                        $field: <$kind as $crate::parameters::Filter>::read(
                            query,
                            $crate::parameters::name!($field $($other)?),
                            by,
                        ),
                    )+
                    $($besides: $function(query, by),)*
                }
            }
        }
    };
}

/// Returns the name of a parameter.
macro_rules! name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $other:literal) => {
        $other
    };
}

pub(crate) use {filters, name, parameters};

/// Returns a parameter of a path.
pub(crate) fn path(name: &str, about: &[&str], schema: RefOr<Schema>) -> Parameter {
    declared(ParameterIn::Path, Required::True, name, about, schema)
}

/// Returns a parameter of a query.
pub(crate) fn query(name: &str, about: &[&str], schema: RefOr<Schema>) -> Parameter {
    declared(ParameterIn::Query, Required::False, name, about, schema)
}

/// Returns the parameter of a filter.
pub(crate) fn filter<F: Filter>(name: &str, about: &[&str]) -> Parameter {
    let brackets = if F::IS_RANGE { "[]" } else { "" };
    query(&format!("{name}{brackets}"), about, F::schema())
}

fn declared(place: ParameterIn, required: Required, name: &str, about: &[&str], schema: RefOr<Schema>) -> Parameter {
    let about: Vec<_> = about.iter().map(|line| line.trim()).collect();
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(required)
        .description(Some(about.join("\n")))
        .schema(Some(schema))
        .build()
}

/// A type that a filter can have: the way its value is written in a query, and read.
pub(crate) trait Filter {
    /// Its type in the domain's filter.
    type Value;
    /// True if it has two bounds: then the document adds the single value.
    const IS_RANGE: bool = false;

    /// Returns the schema of its value.
    fn schema() -> RefOr<Schema>;

    /// Reads the query's value under this name.
    fn read(query: &mut Query<'_>, name: &str, by: &Caller) -> Option<Self::Value>;
}

/// An email: compared as an address if it has no wildcards.
pub(crate) enum EmailFilter {}

/// 1 for yes, 0 for no.
pub(crate) enum Flag {}

/// true or false.
pub(crate) enum Truth {}

/// true or false, judged on the current day, which the handler adds.
pub(crate) enum OverdueFlag {}

/// true or false, judged on the current day, which the handler adds.
pub(crate) enum OverduePurchaseFlag {}

/// true or false, judged on the current day, which the handler adds.
pub(crate) enum ExpiredFlag {}

/// The day that a filter has before its handler adds the current one.
const EPOCH: Timestamp = Timestamp::from_epoch_seconds(0);

/// Implements [`Filter`] for types, each with its value, its schema and its reading.
macro_rules! kinds {
    ($($kind:ty => $value:ty { $schema:expr, |$query:ident, $name:ident, $by:pat_param| $read:expr })+) => {$(
        impl Filter for $kind {
            type Value = $value;

            fn schema() -> RefOr<Schema> {
                $schema.into()
            }

            fn read($query: &mut Query<'_>, $name: &str, $by: &Caller) -> Option<$value> {
                $read
            }
        }
    )+};
    ($(range $kind:ty => $value:ty { |$query:ident, $name:ident| $read:expr })+) => {$(
        impl Filter for $kind {
            type Value = $value;
            const IS_RANGE: bool = true;

            fn schema() -> RefOr<Schema> {
                <Self as PartialSchema>::schema()
            }

            fn read($query: &mut Query<'_>, $name: &str, _: &Caller) -> Option<$value> {
                $read
            }
        }
    )+};
}

kinds! {
    i64 => i64 { schemas::integer(), |query, name, _| query.integer(name) }
    SiteId => SiteId { schemas::integer(), |query, name, _| query.integer(name).map(Self::new) }
    StaffId => StaffId { schemas::integer(), |query, name, _| query.integer(name).map(Self::new) }
    ContactId => ContactId { schemas::integer(), |query, name, _| query.integer(name).map(Self::new) }
    LeadId => LeadId { schemas::integer(), |query, name, _| query.integer(name).map(Self::new) }
    VehicleId => VehicleId { schemas::integer(), |query, name, _| query.integer(name).map(Self::new) }
    Timestamp => Timestamp { schemas::integer(), |query, name, _| query.integer(name).map(Self::from_epoch_seconds) }
    Rating => Rating {
        schemas::integer().minimum(Some(1)).maximum(Some(5)),
        |query, name, _| query.with(name, |text| {
            text.parse().ok().and_then(Self::new).ok_or("must be a whole number from 1 to 5")
        })
    }
    Flag => bool {
        schemas::integer().minimum(Some(0)).maximum(Some(1)),
        |query, name, _| query.with(name, |text| match text {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err("must be 0 or 1"),
        })
    }
    String => String { Line::schema(), |query, name, _| query.parsed(name) }
    WholeText => WholeText {
        Line::schema(),
        |query, name, _| query.with(name, |text| Ok::<_, Infallible>(Self::new(text)))
    }
    TextFilter => TextFilter { Line::schema(), |query, name, by| query.filter(name, by) }
    EmailFilter => TextFilter { Line::schema(), |query, name, by| query.filter(name, by).map(TextFilter::for_email) }
    Phone => Phone { Line::schema(), |query, name, by| query.phone(name, by.business.country) }
    Registration => String {
        schemas::RegistrationMark::schema(),
        |query, name, _| query.parsed(name).map(|mark: Self| mark.key().to_owned())
    }
    VehicleTag => VehicleTag { schemas::VehicleTagText::schema(), |query, name, _| query.parsed(name) }
    LeadStatus => LeadStatus {
        schemas::words(LeadStatus::ALL.map(|status| status.name().to_owned()).into_iter()
            .chain(LeadStatus::ALL.map(|status| status.code().to_string()))),
        |query, name, _| query.parsed(name)
    }
    LeadChannel => LeadChannel { named::<Self>(), |query, name, _| query.parsed(name) }
    StockType => StockType { schemas::StockTypeParameter::schema(), |query, name, _| query.parsed(name) }
    StatusChoice => StatusChoice { schemas::VehicleStatusParameter::schema(), |query, name, _| query.parsed(name) }
    ArticleStatus => ArticleStatus { named::<Self>(), |query, name, _| query.parsed(name) }
    CallDirection => CallDirection { named::<Self>(), |query, name, _| query.parsed(name) }
    CallOutcome => CallOutcome { named::<Self>(), |query, name, _| query.parsed(name) }
    DealStage => DealStage { named::<Self>(), |query, name, _| query.parsed(name) }
    AppointmentStatus => AppointmentStatus { named::<Self>(), |query, name, _| query.parsed(name) }
    ReviewStatus => ReviewStatus { named::<Self>(), |query, name, _| query.parsed(name) }
    DeliveryStatus => DeliveryStatus {
        schemas::DeliveryStatusParameter::schema(),
        |query, name, _| query.with(name, |text| {
            Self::from_name(text).ok_or("must be pending, delivered or failed")
        })
    }
    InvoiceId => InvoiceId { schemas::integer(), |query, name, _| query.integer(name).map(Self::new) }
    OrderId => OrderId { schemas::integer(), |query, name, _| query.integer(name).map(Self::new) }
    DealId => DealId { schemas::integer(), |query, name, _| query.integer(name).map(Self::new) }
    InvoiceNumber => InvoiceNumber { <InvoiceNumber as PartialSchema>::schema(), |query, name, _| query.parsed(name) }
    CreditNumber => CreditNumber { <CreditNumber as PartialSchema>::schema(), |query, name, _| query.parsed(name) }
    OrderNumber => OrderNumber { <OrderNumber as PartialSchema>::schema(), |query, name, _| query.parsed(name) }
    PurchaseNumber => PurchaseNumber { <PurchaseNumber as PartialSchema>::schema(), |query, name, _| query.parsed(name) }
    PurchaseKind => PurchaseKind { named::<Self>(), |query, name, _| query.parsed(name) }
    VatScheme => VatScheme { named::<Self>(), |query, name, _| query.parsed(name) }
    StockStatus => StockStatus { named::<Self>(), |query, name, _| query.parsed(name) }
    InvoiceKind => InvoiceKind { named::<Self>(), |query, name, _| query.parsed(name) }
    InvoiceStatusChoice => InvoiceStatusChoice {
        schemas::words(InvoiceStatus::ALL.map(|status| status.name().to_owned()).into_iter()
            .chain(InvoiceStatus::ALL.map(|status| status.id().to_string()))),
        |query, name, _| query.parsed(name)
    }
    OrderStatusChoice => OrderStatusChoice {
        schemas::words(OrderStatus::ALL.map(|status| status.name().to_owned()).into_iter()
            .chain(OrderStatus::ALL.map(|status| status.id().to_string()))),
        |query, name, _| query.parsed(name)
    }
    OverdueFlag => Overdue {
        schemas::words(["true", "false"]),
        |query, name, _| query.truth(name).map(|is_overdue| Overdue { is_overdue, today: EPOCH.date() })
    }
    OverduePurchaseFlag => OverduePurchase {
        schemas::words(["true", "false"]),
        |query, name, _| query.truth(name).map(|is_overdue| OverduePurchase { is_overdue, today: EPOCH.date() })
    }
    ExpiredFlag => Expired {
        schemas::words(["true", "false"]),
        |query, name, _| query.truth(name).map(|is_expired| Expired { is_expired, today: EPOCH.date() })
    }
    JobStatus => JobStatus { named::<Self>(), |query, name, _| query.parsed(name) }
    Truth => bool { schemas::words(["true", "false"]), |query, name, _| query.truth(name) }
    Topic => Topic {
        schemas::TopicParameter::schema(),
        |query, name, _| query.with(name, |text| Self::from_name(text).ok_or("must be the name of an event, or ping"))
    }
}

kinds! {
    range MomentRange => Range<Timestamp> { |query, name| query.moments(name) }
    range NumberRange => Range<i64> {
        |query, name| query.range(name, |text| text.parse().map_err(|_| "must be a whole number"))
    }
    range AmountRange => Range<Money> { |query, name| query.range(name, str::parse::<Money>) }
    range DayRange => Range<Date> { |query, name| query.range(name, str::parse::<Date>) }
    range MoneyRange => Range<i64> { |query, name| query.range(name, |text| text.parse().map(Money::minor)) }
}

parameters! {
    /// The options for showing a single record, declared.
    pub(crate) query RenderingParameters;

    /// simple or full; full by default.
    view: ViewParameter;
    /// Comma-separated dot-paths to be returned, from the full view: at most 100 of at most 8 parts each. An answer narrowed in
    /// this way may lack members that are otherwise required.
    fields: Fields;
}

parameters! {
    /// The options for showing the records of a list, declared.
    pub(crate) query ListRenderingParameters;

    /// simple or full; simple by default.
    view: ViewParameter;
    /// Comma-separated dot-paths to be returned, from the full view: at most 100 of at most 8 parts each. An answer narrowed in
    /// this way may lack members that are otherwise required.
    fields: Fields;
}

parameters! {
    /// The query parameters of records with one view, declared.
    pub(crate) query FieldsParameter;

    /// Comma-separated dot-paths to be returned: at most 100 of at most 8 parts each. An answer narrowed in this way may lack
    /// members that are otherwise required.
    fields: Fields;
}

parameters! {
    /// The query parameters of paging, declared.
    pub(crate) query PageParameters;

    /// The page's number, from 1; ignored together with cursor.
    page: PageNumber;
    /// The number of records in a page; 50 by default.
    per_page: PerPage;
    /// `next_cursor` of the previous page; empty for the first page.
    cursor: CursorParameter;
}

/// Returns a schema that bodies or answers declare.
fn named<T: ToSchema>() -> Ref {
    Ref::from_schema_name(T::name())
}
