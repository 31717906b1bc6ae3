//! The list of vehicles and its filters, over HTTP (contract, "Vehicles").

use forecourt_accounts::Caller;
use forecourt_kernel::{
    LeadId, ListName, Money, Range, StaffId, TextFilter, View,
    bounds::{MAX_PATTERN_CHARS, MAX_PATTERN_WILDCARDS},
};
use forecourt_reference::StockType;
use forecourt_vehicles::{
    self as vehicles, FieldCondition, FieldFilter, FilterInfo, FilterKind, Registration, StatusChoice, VehicleFilter,
    VehicleTag, VehicleView,
};
use utoipa::{
    IntoParams,
    openapi::{
        RefOr, Required, Schema,
        path::{Parameter, ParameterBuilder, ParameterIn},
        schema::Type,
    },
};

use super::shown::shown;
use crate::{
    call::Call,
    error::ApiError,
    list::{PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{ListRenderingParameters, PageParameters, filters},
    query::Query,
    reply::{self, Answer},
    schemas::{self, MomentRange},
    text::without_nul,
};

const LIST: ListName = ListName::new("vehicles");

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![self::<__path_list_vehicles> list_vehicles])
}

/// List vehicles
///
/// Newest first.
#[utoipa::path(get, path = "/2.0/vehicles", tag = "vehicles", security(("bearer" = ["vehicles:read"])),
    params(FilterParameters, PageParameters, ListRenderingParameters, FieldFilterParameters),
    responses((status = 200, description = "A page of vehicles", body = PageEnvelope<VehicleView<'static>>)))]
async fn list_vehicles(call: Call) -> Result<Answer, ApiError> {
    let (filter, list) = call.filtered_list(LIST, View::Simple, FilterParameters::read)?;
    match list.view {
        View::Simple => {
            list.answer(
                call,
                RecordSize::Small,
                async move |session, call, page| vehicles::preview_vehicles(session, &call.caller, &filter, page).await,
                |item, vehicle| {
                    let Caller { business, scopes, .. } = &item.call.caller;
                    vehicle
                        .write_to(business, *scopes, item.body)
                        .map_err(reply::unwritable)
                },
            )
            .await
        }
        View::Full => {
            list.answer(
                call,
                RecordSize::Large,
                async move |session, call, page| vehicles::list_vehicles(session, &call.caller, &filter, page).await,
                |item, vehicle| item.show(&shown(vehicle, item.call, item.view)),
            )
            .await
        }
    }
}

filters! {
    FilterParameters => VehicleFilter, fields by field_filters;

    /// Of this stock type: in-stock, to-order, customer, courtesy or appraisal, or its key.
    kind as "type": StockType;
    /// In this state, by id or name.
    status: StatusChoice;
    /// With this registration mark, with or without its spaces and hyphens, in either case.
    registration: Registration;
    /// With this tag, the vehicle's short code, in either case.
    tag: VehicleTag;
    /// Assigned to this staff user.
    owner: StaffId;
    /// Published on this channel, by id.
    channel: String;
    /// Carrying the tag of this name.
    tag_name: String;
    /// Made between these two moments, both included; an empty one leaves that end open. `created=…` is just this moment.
    created: MomentRange;
    /// Last changed between these two moments, both included; an empty one leaves that end open. `updated=…` is just this
    /// moment.
    updated: MomentRange;
    /// Associated with this lead.
    lead: LeadId;
}

/// The filters that a vehicle's fields declare.
struct FieldFilterParameters;

impl IntoParams for FieldFilterParameters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vehicles::field_filters().iter().map(declared).collect()
    }
}

/// Returns the parameter of a filter. A range is declared here as the array of its bounds; the document adds the single value.
fn declared(filter: &FilterInfo) -> Parameter {
    let FilterInfo {
        name,
        kind,
        description,
    } = filter;
    let (schema, how) = match kind {
        FilterKind::Text => (schemas::line(), "Compared without regard to case.".to_owned()),
        FilterKind::Pattern => (
            schemas::line(),
            format!(
                "Compared without regard to case; % stands for any characters (scope search:wildcard), at most \
                 {MAX_PATTERN_WILDCARDS} times in {MAX_PATTERN_CHARS} characters."
            ),
        ),
        FilterKind::Number => (schemas::integer(), "Just this one.".to_owned()),
        FilterKind::Location => (schemas::line(), "By id or by name.".to_owned()),
        FilterKind::Range => return range(filter, Type::Integer),
        FilterKind::MoneyRange => return range(filter, Type::Number),
    };
    parameter(name, format!("{description} {how}"), schema.into())
}

fn range(filter: &FilterInfo, bound: Type) -> Parameter {
    let FilterInfo { name, description, .. } = filter;
    let about = format!(
        "{description} Between these two, both included; an empty one leaves that end open. `{name}=…` is just this one."
    );
    parameter(&format!("{name}[]"), about, schemas::range(bound).into())
}

fn parameter(name: &str, about: String, schema: RefOr<Schema>) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(about))
        .schema(Some(schema))
        .build()
}

fn field_filters(query: &mut Query<'_>, by: &Caller) -> Vec<FieldFilter> {
    vehicles::field_filters()
        .iter()
        .filter_map(|filter| field_filter(query, by, filter))
        .collect()
}

fn field_filter(query: &mut Query<'_>, by: &Caller, filter: &FilterInfo) -> Option<FieldFilter> {
    let name = filter.name;
    let whole = |text: &str| text.parse().map_err(|_| "must be a whole number");
    let minor_units = |text: &str| text.parse().map(Money::minor);
    let wanted = match filter.kind {
        FilterKind::Pattern => {
            let make = query
                .text("make")
                .filter(|make| !make.is_empty() && !TextFilter::is_wildcard(make));
            let make = make.map(str::to_owned);
            filter.of_pattern(query.filter(name, by)?, make.as_deref(), &by.business.catalogue)
        }
        FilterKind::Number => FieldCondition::Within(Range::exactly(query.integer(name)?)),
        FilterKind::Range => FieldCondition::Within(query.range(name, whole)?),
        FilterKind::MoneyRange => FieldCondition::Within(query.range(name, minor_units)?),
        FilterKind::Text | FilterKind::Location => {
            query.with(name, |text| filter.of_text(without_nul(text)?, &by.business.catalogue))?
        }
    };
    Some(FieldFilter { name, wanted })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use forecourt_kernel::{Scope, Timestamp};

    use super::*;
    use crate::{code::Code, testing::a_caller};

    fn read_filter(text: &str) -> Result<VehicleFilter, ApiError> {
        let mut query = Query::new(text);
        let filter = FilterParameters::read(&mut query, &a_caller(Scope::VehiclesRead));
        query.finish(filter)
    }

    #[test]
    fn the_list_declares_each_filter_once() {
        let operations = operations().unwrap();
        let parameters = (operations[0].describe)().declaration.parameters.unwrap();
        let name = |parameter: &RefOr<Parameter>| match parameter {
            RefOr::T(parameter) => parameter.name.clone(),
            RefOr::Ref(_) => panic!("the parameters are declared in place"),
        };
        let names: Vec<_> = parameters.iter().map(name).collect();
        let once: BTreeSet<_> = names.iter().map(String::as_str).collect();
        assert_eq!(once.len(), names.len(), "{names:?}");
        for name in [
            "type",
            "status",
            "registration",
            "tag",
            "reference",
            "number",
            "vin",
            "location",
            "owner",
            "channel",
            "tag_name",
            "make",
            "model",
            "generation",
            "derivative",
            "fuel",
            "transmission",
            "body",
            "colour",
            "mileage[]",
            "year[]",
            "price[]",
            "created[]",
            "updated[]",
            "appraisal_contact",
            "lead",
        ] {
            assert!(once.contains(name), "{name}");
        }
    }

    #[test]
    fn without_parameters_there_is_no_filter() {
        assert_eq!(read_filter("unknown=x").unwrap(), VehicleFilter::default());
    }

    #[test]
    fn fixed_filters_are_read() {
        let filter = read_filter(
            "type=t&status=for-sale&registration=ab+12%20cde&tag=kqvrk&owner=7&channel=website&tag_name=Ready&lead=9\
             &created[]=5&created[]=&updated=6",
        )
        .unwrap();
        assert_eq!(filter.kind, Some(StockType::ToOrder));
        assert_eq!(filter.status, "for-sale".parse().ok());
        assert_eq!(filter.registration.as_deref(), Some("AB12CDE"));
        assert_eq!(filter.tag, "KQVRK".parse().ok());
        assert_eq!(
            (filter.owner, filter.lead),
            (Some(StaffId::new(7)), Some(LeadId::new(9)))
        );
        assert_eq!(
            (filter.channel.as_deref(), filter.tag_name.as_deref()),
            (Some("website"), Some("Ready"))
        );
        assert_eq!(filter.created.map(|range| range.to), Some(None));
        assert_eq!(filter.updated, Some(Range::exactly(Timestamp::from_epoch_seconds(6))));
        assert_eq!(read_filter("status=2").unwrap().status, Some(StatusChoice::Id(2)));
    }

    #[test]
    fn declared_filters_are_read_as_their_kind_says() {
        let wanted = |text: &str| {
            let filter = read_filter(text).unwrap();
            assert_eq!(filter.fields.len(), 1, "{text}");
            filter.fields[0].wanted.clone()
        };
        let texts = |texts: &[&str]| FieldCondition::AnyOf(texts.iter().map(|&text| text.to_owned()).collect());
        let within = |from, to| FieldCondition::Within(Range { from, to });
        assert_eq!(
            wanted("make=BMW"),
            FieldCondition::Text(TextFilter::Exact("bmw".into()))
        );
        assert_eq!(wanted("make=Citro%C3%ABn"), texts(&["citroën", "citroen"]));
        assert_eq!(wanted("fuel=ELECTRICITY"), texts(&["electricity", "electric"]));
        assert_eq!(
            wanted("derivative=VW"),
            FieldCondition::Text(TextFilter::Exact("vw".into()))
        );
        assert_eq!(wanted("vin=WBA"), texts(&["wba"]));
        assert_eq!(wanted("location=Yard"), texts(&["yard"]));
        assert_eq!(wanted("appraisal_contact=4"), within(Some(4), Some(4)));
        assert_eq!(wanted("mileage[]=&mileage[]=9"), within(None, Some(9)));
        assert_eq!(wanted("year[0]=2019"), within(Some(2019), None));
        assert_eq!(wanted("price=99.5"), within(Some(9_950), Some(9_950)));
        assert_eq!(wanted("price[]=99&price[]=100.01"), within(Some(9_900), Some(10_001)));
    }

    #[test]
    fn a_bad_value_is_reported_by_its_parameter() {
        for (text, field) in [
            ("type=x", "type"),
            ("status=5", "status"),
            ("registration=%00", "registration"),
            ("tag=x", "tag"),
            ("owner=x", "owner"),
            ("channel=%00", "channel"),
            ("tag_name=%00", "tag_name"),
            ("created=", "created"),
            ("lead=x", "lead"),
            ("make=%00", "make"),
            ("vin=%00", "vin"),
            ("location=%00", "location"),
            ("mileage=", "mileage"),
            ("mileage=1.5", "mileage"),
            ("year[]=1&year[]=2&year[]=3", "year"),
            ("price=1.005", "price"),
            ("appraisal_contact=x", "appraisal_contact"),
        ] {
            let refusal = read_filter(text).unwrap_err().into_refusal();
            assert_eq!(refusal.details.unwrap()["field"], field, "{text}");
        }
        let denied = read_filter("make=%25bmw%25&year=x").unwrap_err().into_refusal();
        assert_eq!(denied.code, Code::SCOPE_DENIED);
    }
}
