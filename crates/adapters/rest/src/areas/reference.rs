//! Lists of valid values (contract, "Reference").

use forecourt_kernel::{EventName, StaffId};
use forecourt_reference::{
    BookingType, DealStage, DocumentKind, JobBoard, LeadChannel, LeadType, MediaBackground, Named, Site, Status,
    StockType, TagResource, VehicleType, deal_stages, document_statuses, vehicle_statuses,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    call::Call,
    error::ApiError,
    openapi::Declared,
    operation::{Operation, operations},
    reply::{Envelope, Reply},
};

pub(crate) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_tags> tags,
        self::<__path_vehicle_status_list> vehicle_status_list,
        self::<__path_vehicle_types> vehicle_types,
        self::<__path_staff_users> staff_users,
        self::<__path_sites> sites,
        self::<__path_booking_types> booking_types,
        self::<__path_deal_stage_list> deal_stage_list,
        self::<__path_lead_channels> lead_channels,
        self::<__path_lead_types> lead_types,
        self::<__path_media_backgrounds> media_backgrounds,
        self::<__path_invoice_statuses> invoice_statuses,
        self::<__path_job_boards> job_boards,
        self::<__path_webhook_events> webhook_events,
    ])
}

/// Answers with a list, or as much of it as `fields` names.
fn answer(call: &Call, data: &impl Serialize) -> Result<Reply, ApiError> {
    Reply::projected(data, call.fields().as_ref())
}

/// The tags that a kind of record can carry.
#[derive(Serialize, ToSchema)]
struct TagList<'a> {
    /// contact, lead or vehicle.
    #[schema(value_type = String)]
    resource: &'static str,
    /// The stock type's key, or false where there is none.
    #[schema(value_type = Object)]
    r#type: KeyOrFalse,
    /// The tags.
    tags: Vec<TagView<'a>>,
}

/// A stock type's key, or false.
#[derive(Serialize)]
#[serde(untagged)]
enum KeyOrFalse {
    Key(&'static str),
    False(bool),
}

/// A tag of the business's taxonomy.
#[derive(Serialize, ToSchema)]
#[schema(as = Tag)]
struct TagView<'a> {
    /// Its name.
    name: &'a str,
    /// A CSS colour.
    colour: &'a str,
    /// For vehicles the stock type's key.
    r#type: &'a str,
    /// Whether a new record starts with it.
    defaulted: bool,
}

/// List the tags of a kind of record
#[utoipa::path(get, path = "/2.0/reference/tags", tag = "reference", security(("bearer" = ["reference:read"])),
    params(("resource" = String, Query, description = "contacts, contact, leads, lead, vehicles or vehicle"),
        ("type" = Option<String>, Query, description = "For vehicles, and required for them: s, t, u or r"),
        ("fields" = Option<String>, Query, description = "Comma-separated dot-paths to be returned")),
    responses((status = 200, description = "The tags", body = Envelope<TagList<'static>>)))]
async fn tags(call: Call) -> Result<Reply, ApiError> {
    let mut query = call.query();
    let resource = query.required("resource", str::parse::<TagResource>);
    let kind = if resource == Some(TagResource::Vehicle) {
        query.required("type", tagged_stock_type)
    } else {
        None
    };
    let resource = query.finish(resource)?.unwrap_or(TagResource::Lead);

    let available = call
        .caller
        .business
        .catalogue
        .tags
        .iter()
        .filter(|tag| tag.resource == resource && kind.is_none_or(|kind: StockType| kind.key() == tag.kind));
    let tags = available
        .map(|tag| TagView {
            name: &tag.name,
            colour: &tag.colour,
            r#type: &tag.kind,
            defaulted: tag.defaulted,
        })
        .collect();
    let r#type = kind.map_or(KeyOrFalse::False(false), |kind| KeyOrFalse::Key(kind.key()));
    answer(
        &call,
        &TagList {
            resource: resource.as_str(),
            r#type,
            tags,
        },
    )
}

fn tagged_stock_type(text: &str) -> Result<StockType, &'static str> {
    let kinds = [
        StockType::InStock,
        StockType::ToOrder,
        StockType::Customer,
        StockType::Courtesy,
    ];
    kinds
        .into_iter()
        .find(|kind| kind.key() == text)
        .ok_or("must be s, t, u or r")
}

/// The states of a kind of record.
#[derive(Serialize, ToSchema)]
struct StatusList {
    /// What they are the states of.
    #[schema(value_type = String)]
    r#type: &'static str,
    /// The states, by code.
    statuses: Vec<Status>,
}

/// List the states of vehicles
#[utoipa::path(get, path = "/2.0/reference/vehicle-statuses", tag = "reference", security(("bearer" = ["reference:read"])),
    params(("type" = Option<String>, Query, description = "A stock type: in-stock (default), to-order, customer, courtesy or appraisal, or its key"),
        ("fields" = Option<String>, Query, description = "Comma-separated dot-paths to be returned")),
    responses((status = 200, description = "The states", body = Envelope<StatusList>)))]
async fn vehicle_status_list(call: Call) -> Result<Reply, ApiError> {
    let mut query = call.query();
    let kind = query.parsed("type").unwrap_or(StockType::InStock);
    let kind = query.finish(kind)?;
    answer(
        &call,
        &StatusList {
            r#type: kind.slug(),
            statuses: vehicle_statuses(kind).to_vec(),
        },
    )
}

/// List the stock types of vehicles
#[utoipa::path(get, path = "/2.0/reference/vehicle-types", tag = "reference", security(("bearer" = ["reference:read"])),
    params(("fields" = Option<String>, Query, description = "Comma-separated dot-paths to be returned")),
    responses((status = 200, description = "The stock types", body = Envelope<Vec<VehicleType>>)))]
async fn vehicle_types(call: Call) -> Result<Reply, ApiError> {
    answer(&call, &StockType::list())
}

/// Somebody who works for the business.
#[derive(Serialize, ToSchema)]
#[schema(as = StaffUser)]
struct StaffView<'a> {
    /// Their number.
    #[schema(value_type = i64)]
    id: StaffId,
    /// Their name.
    name: &'a str,
    /// What they do.
    role: &'a [String],
}

/// List the staff users
#[utoipa::path(get, path = "/2.0/reference/staff-users", tag = "reference", security(("bearer" = ["reference:read"])),
    params(("fields" = Option<String>, Query, description = "Comma-separated dot-paths to be returned")),
    responses((status = 200, description = "The staff users", body = Envelope<Vec<StaffView<'static>>>)))]
async fn staff_users(call: Call) -> Result<Reply, ApiError> {
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
    params(("fields" = Option<String>, Query, description = "Comma-separated dot-paths to be returned")),
    responses((status = 200, description = "The sites", body = Envelope<Vec<Site>>)))]
async fn sites(call: Call) -> Result<Reply, ApiError> {
    let business = &call.caller.business;
    answer(&call, &business.catalogue.listed_sites(&business.name))
}

/// List the kinds of appointment that can be booked
#[utoipa::path(get, path = "/2.0/reference/booking-types", tag = "reference", security(("bearer" = ["reference:read"])),
    params(("fields" = Option<String>, Query, description = "Comma-separated dot-paths to be returned")),
    responses((status = 200, description = "The booking types", body = Envelope<Vec<BookingType>>)))]
async fn booking_types(call: Call) -> Result<Reply, ApiError> {
    answer(&call, &call.caller.business.catalogue.booking_types)
}

/// List the stages of a deal
#[utoipa::path(get, path = "/2.0/reference/deal-stages", tag = "reference", security(("bearer" = ["reference:read"])),
    params(("fields" = Option<String>, Query, description = "Comma-separated dot-paths to be returned")),
    responses((status = 200, description = "The stages", body = Envelope<Vec<DealStage>>)))]
async fn deal_stage_list(call: Call) -> Result<Reply, ApiError> {
    answer(&call, &deal_stages())
}

/// List the channels that leads come in on
#[utoipa::path(get, path = "/2.0/reference/lead-channels", tag = "reference", security(("bearer" = ["reference:read"])),
    params(("fields" = Option<String>, Query, description = "Comma-separated dot-paths to be returned")),
    responses((status = 200, description = "The channels", body = Envelope<Vec<Named>>)))]
async fn lead_channels(call: Call) -> Result<Reply, ApiError> {
    answer(&call, &LeadChannel::list())
}

/// List what enquiries can be about
#[utoipa::path(get, path = "/2.0/reference/lead-types", tag = "reference", security(("bearer" = ["reference:read"])),
    params(("fields" = Option<String>, Query, description = "Comma-separated dot-paths to be returned")),
    responses((status = 200, description = "The types", body = Envelope<Vec<Named>>)))]
async fn lead_types(call: Call) -> Result<Reply, ApiError> {
    answer(&call, &LeadType::list())
}

/// List the backgrounds that vehicle photos can be given
///
/// The default set, then the business's own.
#[utoipa::path(get, path = "/2.0/reference/media-backgrounds", tag = "reference", security(("bearer" = ["reference:read"])),
    params(("fields" = Option<String>, Query, description = "Comma-separated dot-paths to be returned")),
    responses((status = 200, description = "The backgrounds", body = Envelope<Vec<MediaBackground>>)))]
async fn media_backgrounds(call: Call) -> Result<Reply, ApiError> {
    answer(&call, &call.caller.business.catalogue.listed_backgrounds())
}

/// List the states of invoices, orders or purchases
#[utoipa::path(get, path = "/2.0/reference/invoice-statuses", tag = "reference", security(("bearer" = ["reference:read"])),
    params(("type" = Option<String>, Query, description = "invoice (default), order or purchase"),
        ("fields" = Option<String>, Query, description = "Comma-separated dot-paths to be returned")),
    responses((status = 200, description = "The states", body = Envelope<StatusList>)))]
async fn invoice_statuses(call: Call) -> Result<Reply, ApiError> {
    let mut query = call.query();
    let kind = query.parsed("type").unwrap_or(DocumentKind::Invoice);
    let kind = query.finish(kind)?;
    answer(
        &call,
        &StatusList {
            r#type: kind.as_str(),
            statuses: document_statuses(kind),
        },
    )
}

/// List the job boards
#[utoipa::path(get, path = "/2.0/reference/job-boards", tag = "reference", security(("bearer" = ["reference:read"])),
    params(("fields" = Option<String>, Query, description = "Comma-separated dot-paths to be returned")),
    responses((status = 200, description = "The job boards", body = Envelope<Vec<JobBoard>>)))]
async fn job_boards(call: Call) -> Result<Reply, ApiError> {
    answer(&call, &call.caller.business.catalogue.job_boards)
}

/// An event that webhooks can be subscribed to.
#[derive(Serialize, ToSchema)]
#[schema(as = WebhookEvent)]
struct EventView {
    /// Its name, resource.action.
    #[schema(value_type = String)]
    event: &'static str,
    /// What it happens to.
    #[schema(value_type = String)]
    resource: &'static str,
    /// When it happens.
    #[schema(value_type = String)]
    description: &'static str,
    /// What a subscription needs to receive it.
    #[schema(value_type = String)]
    scope: &'static str,
}

/// List the events that webhooks can be subscribed to
#[utoipa::path(get, path = "/2.0/reference/webhook-events", tag = "reference", security(("bearer" = ["reference:read"])),
    params(("fields" = Option<String>, Query, description = "Comma-separated dot-paths to be returned")),
    responses((status = 200, description = "The events", body = Envelope<Vec<EventView>>)))]
async fn webhook_events(call: Call) -> Result<Reply, ApiError> {
    let show = |event: &EventName| EventView {
        event: event.as_str(),
        resource: event.resource(),
        description: event.description(),
        scope: event.scope().as_str(),
    };
    answer(&call, &EventName::ALL.iter().map(show).collect::<Vec<_>>())
}
