//! Lists of valid values (contract, "Reference").

use forecourt_kernel::{EventName, Line, StaffId, TimeZone};
use forecourt_reference::{
    BookingType, DealStageEntry, DocumentKind, Generation, JobBoard, LeadChannel, LeadType, Make, MediaBackground,
    Model, Named, OpeningHours, OptionList, Product, Site, Status, StockType, TagResource, TagSet, TagView, Taxonomy,
    VehicleClass, VehicleType, deal_stages, document_statuses, vehicle_statuses,
};
use serde::Serialize;
use utoipa::{
    ToSchema,
    openapi::{
        RefOr, Schema,
        schema::{ObjectBuilder, OneOfBuilder, Type},
    },
};

use crate::{
    areas::Area,
    call::Call,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::FieldsParameter,
    reply::{Envelope, Reply},
    schemas,
};

pub(super) const AREA: Area = Area {
    tag: "reference",
    about: "Lists of valid values",
    operations,
    codes: &[],
    records: &[],
};

fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_tags> list_tags,
        self::<__path_list_vehicle_statuses> list_vehicle_statuses,
        self::<__path_list_vehicle_types> list_vehicle_types,
        self::<__path_list_vehicle_options> list_vehicle_options,
        self::<__path_walk_vehicle_taxonomy> walk_vehicle_taxonomy,
        self::<__path_list_staff_users> list_staff_users,
        self::<__path_list_sites> list_sites,
        self::<__path_list_locations> list_locations,
        self::<__path_list_booking_types> list_booking_types,
        self::<__path_list_deal_stages> list_deal_stages,
        self::<__path_list_lead_channels> list_lead_channels,
        self::<__path_list_lead_types> list_lead_types,
        self::<__path_list_media_backgrounds> list_media_backgrounds,
        self::<__path_list_invoice_statuses> list_invoice_statuses,
        self::<__path_list_job_boards> list_job_boards,
        self::<__path_list_products> list_products,
        self::<__path_list_calendars> list_calendars,
        self::<__path_list_webhook_events> list_webhook_events,
    ])
}

/// Returns a list, or the part of it that `fields` names.
fn answer(call: &Call, data: &impl Serialize) -> Result<Reply, ApiError> {
    Reply::projected(data, call.fields()?.as_ref())
}

/// The tags that a kind of record can carry.
#[derive(Serialize, ToSchema)]
struct TagList<'a> {
    /// contact, lead or vehicle.
    #[schema(value_type = String)]
    resource: &'static str,
    /// The stock type's key, or false if there is none.
    #[schema(schema_with = key_or_false)]
    r#type: KeyOrFalse,
    /// The tags.
    tags: Vec<TagView<'a>>,
}

fn key_or_false() -> RefOr<Schema> {
    let key = ObjectBuilder::new().schema_type(Type::String);
    let none = ObjectBuilder::new()
        .schema_type(Type::Boolean)
        .enum_values(Some([false]));
    let about = "The stock type's key, or false where there is none.";
    OneOfBuilder::new().item(key).item(none).description(Some(about)).into()
}

/// A stock type's key, or false.
#[derive(Serialize)]
#[serde(untagged)]
enum KeyOrFalse {
    Key(&'static str),
    False(bool),
}

/// List the tags of a kind of record
#[utoipa::path(get, path = "/2.0/reference/tags", tag = "reference", security(("bearer" = ["reference:read"])),
    params(("resource" = inline(schemas::TagResourceParameter), Query, description = "contacts, contact, leads, lead, vehicles or vehicle"),
        ("type" = inline(Option<schemas::TaggedStockTypeParameter>), Query, description = "For vehicles, and required for them: s, t, u or r"),
        FieldsParameter),
    responses((status = 200, description = "The tags", body = Envelope<TagList<'static>>)))]
async fn list_tags(call: Call) -> Result<Reply, ApiError> {
    let mut query = call.query();
    let resource = query.required("resource", str::parse::<TagResource>);
    let kind = if resource == Some(TagResource::Vehicle) {
        query.required("type", tagged_stock_type)
    } else {
        // The stock type does not matter for other records, but is validated all the same: a known parameter with a bad value
        // is refused.
        query.with_empty("type", tagged_stock_type);
        None
    };
    let fields = query.fields();
    let (resource, fields) = query.finish((resource, fields))?;
    let resource = resource.unwrap_or(TagResource::Lead);

    let tags = call.caller.business.catalogue.tags_of(TagSet { resource, kind });
    let r#type = kind.map_or(KeyOrFalse::False(false), |kind| KeyOrFalse::Key(kind.key()));
    Reply::projected(
        &TagList {
            resource: resource.as_str(),
            r#type,
            tags: tags.map(TagView::from).collect(),
        },
        fields.as_ref(),
    )
}

fn tagged_stock_type(text: &str) -> Result<StockType, &'static str> {
    schemas::TAGGED_STOCK_TYPES
        .into_iter()
        .find(|kind| kind.key() == text)
        .ok_or("must be s, t, u or r")
}

/// The states of a kind of record.
#[derive(Serialize, ToSchema)]
struct StatusList {
    /// The kind of record that has these states.
    #[schema(value_type = String)]
    r#type: &'static str,
    /// The states, by code.
    statuses: Vec<Status>,
}

/// List the states of vehicles
#[utoipa::path(get, path = "/2.0/reference/vehicle-statuses", tag = "reference", security(("bearer" = ["reference:read"])),
    params(("type" = inline(Option<schemas::StockTypeParameter>), Query, description = "A stock type: in-stock (default), to-order, customer, courtesy or appraisal, or its key"),
        FieldsParameter),
    responses((status = 200, description = "The states", body = Envelope<StatusList>)))]
async fn list_vehicle_statuses(call: Call) -> Result<Reply, ApiError> {
    let mut query = call.query();
    let kind = query.with_empty("type", str::parse).unwrap_or(StockType::InStock);
    let fields = query.fields();
    let (kind, fields) = query.finish((kind, fields))?;
    Reply::projected(
        &StatusList {
            r#type: kind.slug(),
            statuses: vehicle_statuses(kind).to_vec(),
        },
        fields.as_ref(),
    )
}

/// List the stock types of vehicles
#[utoipa::path(get, path = "/2.0/reference/vehicle-types", tag = "reference", security(("bearer" = ["reference:read"])),
    params(FieldsParameter),
    responses((status = 200, description = "The stock types", body = Envelope<Vec<VehicleType>>)))]
async fn list_vehicle_types(call: Call) -> Result<Reply, ApiError> {
    answer(&call, &StockType::list())
}

/// A member of the business's staff.
#[derive(Serialize, ToSchema)]
#[schema(as = StaffUser)]
struct StaffView<'a> {
    /// Their number.
    #[schema(value_type = i64)]
    id: StaffId,
    /// Their name.
    name: &'a str,
    /// Their roles.
    role: &'a [String],
}

/// A place where vehicles stand.
#[derive(Serialize, ToSchema)]
#[schema(as = Location)]
struct LocationView<'a> {
    /// Its id, as used to write vehicles.
    id: &'a str,
    /// Its permanent number, as shown on test drives.
    number: i64,
    /// Its name, as shown on vehicles.
    name: &'a str,
}

/// The values of a vehicle's field.
#[derive(Serialize, ToSchema)]
#[schema(as = VehicleOptionList)]
struct OptionListView<'a> {
    /// The field's name.
    #[schema(value_type = String)]
    name: &'static str,
    /// True if a vehicle with another value is refused; if false, these are suggestions.
    enforced: bool,
    /// The values, with those that the business adds at the end.
    values: Vec<&'a str>,
}

/// List the values of vehicles' fields
///
/// With a class, the answer has only the values for its vehicles and the business's own. If a list is enforced, vehicles of the
/// class accept no other values.
#[utoipa::path(get, path = "/2.0/reference/vehicle-options", tag = "reference", security(("bearer" = ["reference:read"])),
    params(("type" = Option<VehicleClass>, Query, description = "A class of vehicles"),
        FieldsParameter),
    responses((status = 200, description = "The lists", body = Envelope<Vec<OptionListView<'static>>>)))]
async fn list_vehicle_options(call: Call) -> Result<Reply, ApiError> {
    let mut query = call.query();
    let class = query.with_empty("type", str::parse::<VehicleClass>);
    let fields = query.fields();
    let (class, fields) = query.finish((class, fields))?;
    let own = &call.caller.business.catalogue.vehicle_options;
    let show = |list: &OptionList| OptionListView {
        name: list.name(),
        enforced: list.is_enforced(),
        values: list.values(class, own).collect(),
    };
    Reply::projected(&OptionList::ALL.iter().map(show).collect::<Vec<_>>(), fields.as_ref())
}

/// The level of the taxonomy below the requested class, make and model. The lists of other levels are absent.
#[derive(Default, Serialize, ToSchema)]
#[schema(as = VehicleTaxonomy)]
struct TaxonomyView<'a> {
    /// The class.
    r#type: Option<VehicleClass>,
    /// The make, as the taxonomy spells it, or else as it was sent.
    make: Option<&'a str>,
    /// The model, as the taxonomy spells it, or else as it was sent.
    model: Option<&'a str>,
    /// The classes, if none was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    types: Option<[VehicleClass; VehicleClass::ALL.len()]>,
    /// The makes of the class.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    makes: Option<Vec<&'static str>>,
    /// The models of the make.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    models: Option<Vec<&'static str>>,
    /// The model's generations, oldest first; this list and the next ones are empty if the taxonomy has no entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    generations: Option<Vec<GenerationView>>,
    /// Its best-known derivatives.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    derivatives: Option<Vec<&'static str>>,
    /// Its trims.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    trims: Option<Vec<&'static str>>,
    /// The sizes of its engines, in litres.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    engine_sizes: Option<Vec<&'static str>>,
}

/// A generation of a model.
#[derive(Serialize, ToSchema)]
#[schema(as = VehicleGeneration)]
struct GenerationView {
    /// Its name.
    #[schema(value_type = String)]
    name: &'static str,
    /// The year in which it was first sold as new.
    from: u16,
    /// The year in which it was last sold as new; null if it still is.
    to: Option<u16>,
}

impl TaxonomyView<'_> {
    /// Adds the variants of a model, if the taxonomy has it.
    fn show_variants(&mut self, model: Option<&Model>) {
        let show = |Generation { name, from, to }| GenerationView { name, from, to };
        let generations = model.map(|model| model.generations().map(show).collect());
        self.generations = Some(generations.unwrap_or_default());
        self.derivatives = Some(model.map(|model| model.derivatives().collect()).unwrap_or_default());
        self.trims = Some(model.map(|model| model.trims().collect()).unwrap_or_default());
        self.engine_sizes = Some(model.map(|model| model.engine_sizes().collect()).unwrap_or_default());
    }
}

/// Walk the vehicle taxonomy
///
/// Returns the next level: the classes, the makes of a class, the models of a make, or the variants of a model. A vehicle may
/// also have values that are not in the taxonomy.
#[utoipa::path(get, path = "/2.0/reference/vehicle-taxonomy", tag = "reference", security(("bearer" = ["reference:read"])),
    params(("type" = Option<VehicleClass>, Query, description = "A class of vehicles; required with make"),
        ("make" = Option<Line>, Query, description = "A make, without regard to case, accents, spaces and \
            hyphens; required with model"),
        ("model" = Option<Line>, Query, description = "A model, likewise"),
        FieldsParameter),
    responses((status = 200, description = "The next level", body = Envelope<TaxonomyView<'static>>)))]
async fn walk_vehicle_taxonomy(call: Call) -> Result<Reply, ApiError> {
    let mut query = call.query();
    let class = query.with_empty("type", str::parse::<VehicleClass>);
    let make = query.parsed::<String>("make");
    let model = query.parsed::<String>("model");
    let typed = query.text("type").is_some();
    let made = query.text("make").is_some_and(|text| !text.is_empty());
    if make.is_some() && !typed {
        query.fault("type", "is required with make");
    }
    if model.is_some() && !made {
        query.fault("make", "is required with model");
    }
    let fields = query.fields();
    let (class, fields) = query.finish((class, fields))?;

    let taxonomy = Taxonomy::built_in();
    let known = class.and_then(|class| taxonomy.make(Some(class), make.as_deref()?));
    let mut view = TaxonomyView {
        r#type: class,
        make: known.map(Make::name).or(make.as_deref()),
        model: model.as_deref(),
        ..TaxonomyView::default()
    };
    match (class, &make, &model) {
        (None, ..) => view.types = Some(VehicleClass::ALL),
        (Some(class), None, _) => view.makes = Some(taxonomy.makes(class).iter().map(Make::name).collect()),
        (_, Some(_), None) => {
            let models = known.map_or(&[][..], Make::models);
            view.models = Some(models.iter().map(Model::name).collect());
        }
        (_, Some(_), Some(model)) => {
            let known = known.and_then(|make| make.model(model));
            view.model = known.map(Model::name).or(Some(model));
            view.show_variants(known);
        }
    }
    Reply::projected(&view, fields.as_ref())
}

/// List the staff users
#[utoipa::path(get, path = "/2.0/reference/staff-users", tag = "reference", security(("bearer" = ["reference:read"])),
    params(FieldsParameter),
    responses((status = 200, description = "The staff users", body = Envelope<Vec<StaffView<'static>>>)))]
async fn list_staff_users(call: Call) -> Result<Reply, ApiError> {
    let staff = &call.caller.business.catalogue.staff;
    let shown: Vec<_> = staff
        .iter()
        .map(|user| StaffView {
            id: user.id,
            name: &user.name,
            role: &user.role,
        })
        .collect();
    answer(&call, &shown)
}

/// List the sites
///
/// The main site, whose id is 0, comes first, then the active configured ones.
#[utoipa::path(get, path = "/2.0/reference/sites", tag = "reference", security(("bearer" = ["reference:read"])),
    params(FieldsParameter),
    responses((status = 200, description = "The sites", body = Envelope<Vec<Site>>)))]
async fn list_sites(call: Call) -> Result<Reply, ApiError> {
    let business = &call.caller.business;
    answer(&call, &business.catalogue.listed_sites(&business.name))
}

/// List the locations
///
/// Locations are the places where vehicles stand. Vehicles are written with a location's id and read with its name. Test drives
/// are read with its number.
#[utoipa::path(get, path = "/2.0/reference/locations", tag = "reference", security(("bearer" = ["reference:read"])),
    params(FieldsParameter),
    responses((status = 200, description = "The locations", body = Envelope<Vec<LocationView<'static>>>)))]
async fn list_locations(call: Call) -> Result<Reply, ApiError> {
    let catalogue = &call.caller.business.catalogue;
    let shown: Vec<_> = catalogue
        .locations
        .iter()
        .filter_map(|location| {
            Some(LocationView {
                id: &location.id,
                number: catalogue.location_number(&location.id)?,
                name: &location.name,
            })
        })
        .collect();
    answer(&call, &shown)
}

/// List the kinds of appointment that can be booked
#[utoipa::path(get, path = "/2.0/reference/booking-types", tag = "reference", security(("bearer" = ["reference:read"])),
    params(FieldsParameter),
    responses((status = 200, description = "The booking types", body = Envelope<Vec<BookingType>>)))]
async fn list_booking_types(call: Call) -> Result<Reply, ApiError> {
    answer(&call, &call.caller.business.catalogue.booking_types)
}

/// List the stages of a deal
#[utoipa::path(get, path = "/2.0/reference/deal-stages", tag = "reference", security(("bearer" = ["reference:read"])),
    params(FieldsParameter),
    responses((status = 200, description = "The stages", body = Envelope<Vec<DealStageEntry>>)))]
async fn list_deal_stages(call: Call) -> Result<Reply, ApiError> {
    answer(&call, &deal_stages())
}

/// List the channels that leads come in on
#[utoipa::path(get, path = "/2.0/reference/lead-channels", tag = "reference", security(("bearer" = ["reference:read"])),
    params(FieldsParameter),
    responses((status = 200, description = "The channels", body = Envelope<Vec<Named>>)))]
async fn list_lead_channels(call: Call) -> Result<Reply, ApiError> {
    answer(&call, &LeadChannel::list())
}

/// List what enquiries can be about
#[utoipa::path(get, path = "/2.0/reference/lead-types", tag = "reference", security(("bearer" = ["reference:read"])),
    params(FieldsParameter),
    responses((status = 200, description = "The types", body = Envelope<Vec<Named>>)))]
async fn list_lead_types(call: Call) -> Result<Reply, ApiError> {
    answer(&call, &LeadType::list())
}

/// List the backgrounds that vehicle photos can be given
///
/// The default set comes first, then the business's own backgrounds.
#[utoipa::path(get, path = "/2.0/reference/media-backgrounds", tag = "reference", security(("bearer" = ["reference:read"])),
    params(FieldsParameter),
    responses((status = 200, description = "The backgrounds", body = Envelope<Vec<MediaBackground>>)))]
async fn list_media_backgrounds(call: Call) -> Result<Reply, ApiError> {
    answer(&call, &call.caller.business.catalogue.listed_backgrounds())
}

/// List the states of invoices, orders or purchases
#[utoipa::path(get, path = "/2.0/reference/invoice-statuses", tag = "reference", security(("bearer" = ["reference:read"])),
    params(("type" = inline(Option<schemas::DocumentKindParameter>), Query, description = "invoice (default), order or purchase"),
        FieldsParameter),
    responses((status = 200, description = "The states", body = Envelope<StatusList>)))]
async fn list_invoice_statuses(call: Call) -> Result<Reply, ApiError> {
    let mut query = call.query();
    let kind = query.with_empty("type", str::parse).unwrap_or(DocumentKind::Invoice);
    let fields = query.fields();
    let (kind, fields) = query.finish((kind, fields))?;
    Reply::projected(
        &StatusList {
            r#type: kind.as_str(),
            statuses: document_statuses(kind),
        },
        fields.as_ref(),
    )
}

/// List the job boards
#[utoipa::path(get, path = "/2.0/reference/job-boards", tag = "reference", security(("bearer" = ["reference:read"])),
    params(FieldsParameter),
    responses((status = 200, description = "The job boards", body = Envelope<Vec<JobBoard>>)))]
async fn list_job_boards(call: Call) -> Result<Reply, ApiError> {
    answer(&call, &call.caller.business.catalogue.job_boards)
}

/// List the products
///
/// Products are sold besides vehicles. Lines of invoices, orders and purchases name them by their ids.
#[utoipa::path(get, path = "/2.0/reference/products", tag = "reference", security(("bearer" = ["reference:read"])),
    params(FieldsParameter),
    responses((status = 200, description = "The products", body = Envelope<Vec<Product>>)))]
async fn list_products(call: Call) -> Result<Reply, ApiError> {
    answer(&call, &call.caller.business.catalogue.products)
}

/// A calendar in which appointments are booked.
#[derive(Serialize, ToSchema)]
#[schema(as = Calendar)]
struct CalendarView<'a> {
    /// Its id, which booking types name.
    id: &'a str,
    /// Its name.
    name: &'a str,
    /// The number of appointments that can take place at once; null for no limit.
    capacity: Option<u32>,
    /// The numbers of the staff users whose appointments these are.
    #[schema(value_type = Vec<i64>)]
    staff: &'a [StaffId],
    /// The name of the time zone of its hours.
    #[schema(value_type = String, example = "Europe/London")]
    timezone: TimeZone,
    /// Its opening hours: its own, or else those of the business. Null means always open.
    opening_hours: Option<&'a OpeningHours>,
}

/// List the calendars
///
/// Calendars are those in which appointments are booked. Each booking type names one.
#[utoipa::path(get, path = "/2.0/reference/calendars", tag = "reference", security(("bearer" = ["reference:read"])),
    params(FieldsParameter),
    responses((status = 200, description = "The calendars", body = Envelope<Vec<CalendarView<'static>>>)))]
async fn list_calendars(call: Call) -> Result<Reply, ApiError> {
    let business = &call.caller.business;
    let shown: Vec<_> = business
        .catalogue
        .calendars
        .iter()
        .map(|calendar| CalendarView {
            id: &calendar.id,
            name: &calendar.name,
            capacity: calendar.capacity,
            staff: &calendar.staff,
            timezone: business.time_zone(),
            opening_hours: business.opening_hours(calendar),
        })
        .collect();
    answer(&call, &shown)
}

/// An event that webhooks can be subscribed to.
#[derive(Serialize, ToSchema)]
#[schema(as = WebhookEvent)]
struct EventView {
    /// Its name, resource.action.
    #[schema(value_type = String)]
    event: &'static str,
    /// The kind of record that it concerns.
    #[schema(value_type = String)]
    resource: &'static str,
    /// The occasion on which it is sent.
    #[schema(value_type = String)]
    description: &'static str,
    /// The scope that a subscription needs to receive it.
    #[schema(value_type = String)]
    scope: &'static str,
}

/// List the events that webhooks can be subscribed to
#[utoipa::path(get, path = "/2.0/reference/webhook-events", tag = "reference", security(("bearer" = ["reference:read"])),
    params(FieldsParameter),
    responses((status = 200, description = "The events", body = Envelope<Vec<EventView>>)))]
async fn list_webhook_events(call: Call) -> Result<Reply, ApiError> {
    let show = |event: &EventName| EventView {
        event: event.as_str(),
        resource: event.resource(),
        description: event.description(),
        scope: event.scope().as_str(),
    };
    answer(&call, &EventName::ALL.iter().map(show).collect::<Vec<_>>())
}
