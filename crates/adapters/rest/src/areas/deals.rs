//! Deals over HTTP (areas §10.12).

use forecourt_accounts::{Shown, ShownRecord};
use forecourt_billing::{DealId, InvoiceId, OrderId};
use forecourt_dealership::Session;
use forecourt_deals::{
    self as deals, Deal, DealChanges, DealError, DealFilter, DealStage, DealView, FullDeal, Opened, StageChanges,
};
use forecourt_invoices::FullInvoice;
use forecourt_kernel::{
    ContactId, LeadId, ListName, SiteId, StaffId, Target, Valid, ValidationErrors, VehicleId, View,
};
use forecourt_orders::{self as orders, FullOrder};
use forecourt_reference::LeadChannel;
use forecourt_sales::{self as sales, DealInvoiceChanges, DealOrderChanges};
use serde_json::json;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

use super::invoices::shown as shown_invoice;
use crate::{
    areas::{Area, EventRecord},
    call::Call,
    code::{Code, codes},
    conditional::RecordState,
    error::ApiError,
    list::{PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{ListRenderingParameters, PageParameters, RenderingParameters, Truth, filters, parameters},
    record::Personal,
    reply::{Answer, Created, Envelope, Reply},
    schemas::MomentRange,
    validated::ParsedBody,
};

pub(super) const AREA: Area = Area {
    tag: "deals",
    about: "One customer and one car, on the way from interest to keys",
    operations,
    codes: CODES,
    records: &[EventRecord {
        resource: "deal",
        schema: "Deal",
        example: deals::example_deal,
    }],
};

const LIST: ListName = ListName::new("deals");

codes! {
    CODES;
    DEAL_NOT_FOUND = NOT_FOUND, "deal_not_found" {
        meaning: "The business has no such deal.",
        cause: "The id is wrong, or it belongs to another business.",
        remedy: "Look the deal up with `GET /2.0/deals`.",
    }
    DEAL_INVALID_STAGE = CONFLICT, "deal_invalid_stage" {
        meaning: "The stage of the deal does not allow it.",
        cause: "No move leads to the stage, the deal has ended, or its contact and vehicle stand still; `details.allowed` lists the stages that a caller can move it to.",
        remedy: "Read the deal, and move it to a stage that is allowed.",
    }
    DEAL_INCOMPLETE = CONFLICT, "deal_incomplete" {
        meaning: "The deal lacks what this needs.",
        cause: "It has no contact or no vehicle; `details.missing` lists what is missing.",
        remedy: "Add what is missing with `PATCH /2.0/deals/{id}`.",
    }
}

fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_deals> list_deals,
        self::<__path_open_deal> open_deal { may_change: true },
        self::<__path_read_deal> read_deal,
        self::<__path_update_deal> update_deal,
        self::<__path_move_deal> move_deal,
        self::<__path_order_deal> order_deal { created: Created::IdIn("/2.0/orders") },
        self::<__path_invoice_deal> invoice_deal { created: Created::IdIn("/2.0/invoices") },
    ])
}

parameters! {
    path IdParameter;

    /// Deal id.
    id: i64;
}

/// List deals
///
/// Newest first.
#[utoipa::path(get, path = "/2.0/deals", tag = "deals", security(("bearer" = ["deals:read"])),
    params(FilterParameters, PageParameters, ListRenderingParameters),
    responses((status = 200, description = "A page of deals", body = PageEnvelope<DealView<'static>>)))]
async fn list_deals(call: Call) -> Result<Answer, ApiError> {
    let (filter, list) = call.filtered_list(LIST, View::Simple, FilterParameters::read)?;
    list.answer(
        call,
        RecordSize::Large,
        async move |session, call, page| deals::list_deals(session, &call.caller, &filter, page).await,
        |item, deal| item.show(&DealView::of(deal, item.view)),
    )
    .await
}

/// Returns the body of a write. The use case looks up what it names once more, in its own transaction.
async fn body(call: &Call, is_new: bool) -> Result<Valid<DealChanges>, ApiError> {
    let body = call.body::<DealChanges>().await;
    let body = body.map(|body| ParsedBody::new(body, ValidationErrors::new()));
    let now = call.clock().now();
    call.validated(body, async |session, body| {
        Ok(body.all_faults(session, &call.caller.business, now, is_new).await?)
    })
    .await
}

/// Open a deal
///
/// A deal whose `provider` and `external_id` are those of a stored deal changes that one, apart from its stage, and answers 200 without a
/// `Location`. `If-Match` then names that deal's version.
#[utoipa::path(post, path = "/2.0/deals", tag = "deals", security(("bearer" = ["deals:write"])), request_body = DealChanges,
    responses((status = 200, description = "The deal, which was known", body = Envelope<FullDeal<'static>>),
        (status = 201, description = "The deal that was opened", body = Envelope<FullDeal<'static>>),
        (status = 409, description = "`deal_invalid_stage`")))]
async fn open_deal(call: Call) -> Result<Reply, ApiError> {
    let body = body(&call, true).await;
    call.write(body, async |session: &mut dyn Session, body| {
        let (clock, precondition) = (call.clock().as_ref(), &call.precondition);
        // It is long, as it may free a car.
        let opened = sales::open_deal(session, clock, &call.caller, precondition, body.into_inner());
        match Box::pin(opened).await? {
            Opened::Created(deal) => call.created(&deal),
            Opened::Known(deal) => call.ok(&deal),
        }
    })
    .await
}

/// Read a deal
#[utoipa::path(get, path = "/2.0/deals/{id}", tag = "deals", security(("bearer" = ["deals:read"])), params(IdParameter, RenderingParameters),
    responses((status = 200, description = "The deal", body = Envelope<DealView<'static>>),
        (status = 404, description = "`deal_not_found`")))]
async fn read_deal(call: Call) -> Result<Reply, ApiError> {
    let rendering = call.rendering()?;
    let id: DealId = call.id(Code::DEAL_NOT_FOUND)?;
    let mut session = call.read().await?;
    let deal = deals::read_deal(session.as_mut(), call.caller.business_id(), id).await?;
    let state = RecordState {
        version: deal.shown_version(),
        updated: deal.updated,
    };
    call.record(state, &rendering, &DealView::of(&deal, rendering.view))
}

/// Change a deal
///
/// Only the supplied members change. Of a deal that has ended only the notes can change, and in confirm and handover contact and vehicle
/// stand still.
#[utoipa::path(patch, path = "/2.0/deals/{id}", tag = "deals", security(("bearer" = ["deals:write"])), params(IdParameter),
    request_body = UpdateDealBody, responses((status = 200, description = "The deal", body = Envelope<FullDeal<'static>>),
        (status = 404, description = "`deal_not_found`"), (status = 409, description = "`deal_invalid_stage`")))]
async fn update_deal(call: Call) -> Result<Reply, ApiError> {
    let body = body(&call, false).await;
    call.write(body, async |session: &mut dyn Session, body| {
        let id: Target<DealId> = call.target(Code::DEAL_NOT_FOUND)?;
        let deal = sales::update_deal(session, call.clock().as_ref(), &call.caller, id, &body.into_inner()).await?;
        call.ok(&deal)
    })
    .await
}

/// Move a deal to a stage
///
/// Confirming reserves the car for the contact. Completing hands a sold car over, and closes the lead. `declined` and `fatal` need a
/// reason; they free the car, and cancel the deal's order and draft invoice.
#[utoipa::path(post, path = "/2.0/deals/{id}/stage", tag = "deals", security(("bearer" = ["deals:write"])), params(IdParameter),
    request_body = StageChanges, responses((status = 200, description = "The deal", body = Envelope<FullDeal<'static>>),
        (status = 404, description = "`deal_not_found`"),
        (status = 409, description = "`deal_invalid_stage`, `deal_incomplete`, `vehicle_already_reserved`, \
            `vehicle_status_transition_invalid`, `vehicle_reserve_invalid_status`, `vehicle_not_sold`, `vehicle_sale_invoiced`")))]
async fn move_deal(call: Call) -> Result<Reply, ApiError> {
    let command = call.body::<StageChanges>().await.and_then(|body| Ok(body.read()?));
    call.write(command, async |session: &mut dyn Session, command| {
        let id: Target<DealId> = call.target(Code::DEAL_NOT_FOUND)?;
        let deal = sales::move_deal(session, call.clock().as_ref(), &call.caller, id, command).await?;
        call.ok(&deal)
    })
    .await
}

/// Make a deal an order
///
/// The order takes over the car, lines, part exchanges and finance. There is no second one while the last is not cancelled.
#[utoipa::path(post, path = "/2.0/deals/{id}/order", tag = "deals", security(("bearer" = ["orders:write"])), params(IdParameter),
    request_body = DealOrderChanges, responses((status = 201, description = "The order", body = Envelope<FullOrder<'static>>),
        (status = 404, description = "`deal_not_found`"),
        (status = 409, description = "`deal_incomplete`, `deal_invalid_stage`, `order_invalid_status`, `vehicle_already_reserved`, \
            `vehicle_status_transition_invalid`")))]
async fn order_deal(call: Call) -> Result<Reply, ApiError> {
    let command = call.body::<DealOrderChanges>().await.and_then(|body| Ok(body.read()?));
    call.write(command, async |session: &mut dyn Session, issue| {
        let id: Target<DealId> = call.target(Code::DEAL_NOT_FOUND)?;
        let order = sales::order_deal(session, call.clock().as_ref(), &call.caller, id, issue).await?;
        call.created(&orders::show_order(session, &call.caller.business, &order).await?)
    })
    .await
}

/// Make a deal an invoice
///
/// The invoice takes over the car, lines, part exchanges and finance. There is no second one while the last is neither cancelled nor
/// credited. With `issue` it is issued at once, which sells the car.
#[utoipa::path(post, path = "/2.0/deals/{id}/invoice", tag = "deals", security(("bearer" = ["invoices:write"])), params(IdParameter),
    request_body = DealInvoiceChanges, responses((status = 201, description = "The invoice", body = Envelope<FullInvoice<'static>>),
        (status = 404, description = "`deal_not_found`"),
        (status = 409, description = "`deal_incomplete`, `deal_invalid_stage`, `invoice_invalid_status`, `vehicle_already_reserved`, \
            `vehicle_status_transition_invalid`")))]
async fn invoice_deal(call: Call) -> Result<Reply, ApiError> {
    let now = call.clock().now();
    let command = call
        .body::<DealInvoiceChanges>()
        .await
        .and_then(|body| Ok(body.read(now)?));
    call.write(command, async |session: &mut dyn Session, issue| {
        let id: Target<DealId> = call.target(Code::DEAL_NOT_FOUND)?;
        let invoice = sales::invoice_deal(session, call.clock().as_ref(), &call.caller, id, issue).await?;
        call.created(&shown_invoice(session, &call.caller.business, &invoice).await?)
    })
    .await
}

/// Changes to a deal: [`DealChanges`] without a stage, which has an operation of its own.
enum UpdateDealBody {}

impl PartialSchema for UpdateDealBody {
    fn schema() -> RefOr<Schema> {
        let mut schema = DealChanges::schema();
        if let RefOr::T(Schema::Object(body)) = &mut schema {
            body.properties.swap_remove("stage");
            body.description = Some("Changes to a deal. Only the supplied members change.".to_owned());
        }
        schema
    }
}

impl ToSchema for UpdateDealBody {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        DealChanges::schemas(schemas);
    }
}

impl Personal for Deal {
    type View<'a> = FullDeal<'a>;

    fn view<'a>(&'a self, _: &'a Call) -> FullDeal<'a> {
        self.into()
    }

    fn shown(&self) -> Shown {
        Shown {
            contact: self.content.contact,
            record: Some(ShownRecord::Deal(self.id.get())),
        }
    }
}

impl From<DealError> for ApiError {
    fn from(error: DealError) -> Self {
        let message = error.to_string();
        match error {
            DealError::NotFound(_) => Self::new(Code::DEAL_NOT_FOUND, "this business has no such deal"),
            DealError::VersionMismatch(mismatch) => mismatch.into(),
            DealError::Invalid(errors) => errors.into(),
            DealError::InvalidStage(stage) => {
                let allowed: Vec<_> = stage.allowed().into_iter().map(DealStage::name).collect();
                Self::with_details(Code::DEAL_INVALID_STAGE, message, json!({"allowed": allowed}))
            }
            DealError::Incomplete(missing) => {
                Self::with_details(Code::DEAL_INCOMPLETE, message, json!({"missing": missing}))
            }
            DealError::Store(error) => error.into(),
        }
    }
}

filters! {
    FilterParameters => DealFilter;

    /// Filed under this site.
    site: SiteId;
    /// With this reference number.
    reference: i64;
    /// In this stage, by name.
    stage: DealStage;
    /// true: not complete, declined or fatal; false: ended.
    open: Truth;
    /// Of this contact.
    contact: ContactId;
    /// Of this lead.
    lead: LeadId;
    /// About this vehicle.
    vehicle: VehicleId;
    /// Of this staff user.
    staff: StaffId;
    /// That came by this channel.
    source: LeadChannel;
    /// Known to this system.
    provider: String;
    /// With this id of another system.
    external_id: String;
    /// That became this order.
    order: OrderId;
    /// That became this invoice.
    invoice: InvoiceId;
    /// Made between these two moments, both included; an empty one leaves that end open. `created=…` is just this moment.
    created: MomentRange;
    /// Last changed between these two moments, both included; an empty one leaves that end open. `updated=…` is just this
    /// moment.
    updated: MomentRange;
}
