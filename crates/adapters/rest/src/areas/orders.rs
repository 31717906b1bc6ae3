//! Orders over HTTP (areas §10.3).

use forecourt_accounts::{Business, Shown, ShownRecord};
use forecourt_billing::{DealId, InvoiceId, OrderId, OrderNumber, SentDocument};
use forecourt_dealership::Session;
use forecourt_invoices::FullInvoice;
use forecourt_kernel::{ContactId, ListName, SiteId, StaffId, Target, ValidationErrors, VehicleId, View};
use forecourt_orders::{
    self as orders, FullOrder, Order, OrderChanges, OrderError, OrderFilter, OrderIssueChanges, OrderStatusChoice,
    OrderView,
};
use forecourt_sales::{self as sales, ConversionChanges};
use serde_json::json;

use super::{
    invoices::shown as shown_invoice,
    papers::{self, DocumentKind, PrintedDocument, SendBody},
};
use crate::{
    areas::{Area, EventRecord},
    call::Call,
    code::{Code, codes},
    conditional::RecordState,
    error::ApiError,
    list::{PageEnvelope, RecordSize},
    media_type::PDF,
    operation::{Declared, Operation, operations},
    parameters::{
        ExpiredFlag, FieldsParameter, ListRenderingParameters, PageParameters, RenderingParameters, filters, parameters,
    },
    record::Personal,
    reply::{Answer, Created, Envelope, Reply},
    schemas::{DayRange, MomentRange, PdfFile},
    validated::ParsedBody,
};

pub(super) const AREA: Area = Area {
    tag: "orders",
    about: "What a customer agrees to before it is invoiced",
    operations,
    codes: CODES,
    records: &[EventRecord {
        resource: "order",
        schema: "Order",
        example: orders::example_order,
    }],
};

const LIST: ListName = ListName::new("orders");

codes! {
    CODES;
    ORDER_NOT_FOUND = NOT_FOUND, "order_not_found" {
        meaning: "The business has no such order.",
        cause: "The id is wrong, or it belongs to another business.",
        remedy: "Look the order up with `GET /2.0/orders`.",
    }
    ORDER_INVALID_STATUS = CONFLICT, "order_invalid_status" {
        meaning: "The status of the order does not allow it.",
        cause: "Only drafts are issued and changed freely, and only issued orders become invoices; `details.status` is the status.",
        remedy: "Read the order, and take a step that its status allows.",
    }
}

fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_orders> list_orders,
        self::<__path_create_order> create_order,
        self::<__path_read_order> read_order,
        self::<__path_update_order> update_order,
        self::<__path_issue_order> issue_order,
        self::<__path_cancel_order> cancel_order,
        self::<__path_convert_order> convert_order { created: Created::IdIn("/2.0/invoices") },
        self::<__path_print_order> print_order { is_conditional: true, alternative: Some(PDF) },
        self::<__path_send_order> send_order,
    ])
}

parameters! {
    path IdParameter;

    /// Order id.
    id: i64;
}

/// List orders
///
/// Newest first.
#[utoipa::path(get, path = "/2.0/orders", tag = "orders", security(("bearer" = ["orders:read"])),
    params(FilterParameters, PageParameters, ListRenderingParameters),
    responses((status = 200, description = "A page of orders", body = PageEnvelope<OrderView<'static>>)))]
async fn list_orders(call: Call) -> Result<Answer, ApiError> {
    let (mut filter, list) = call.filtered_list(LIST, View::Simple, FilterParameters::read)?;
    if let Some(expired) = &mut filter.expired {
        expired.today = call.clock().now().date();
    }
    list.answer(
        call,
        RecordSize::Large,
        async move |session, call, page| orders::list_orders(session, &call.caller, &filter, page).await,
        |item, order| item.show(&OrderView::of(order, item.view)),
    )
    .await
}

/// Draft an order
#[utoipa::path(post, path = "/2.0/orders", tag = "orders", security(("bearer" = ["orders:write"])), request_body = OrderChanges,
    responses((status = 201, description = "The order", body = Envelope<FullOrder<'static>>)))]
async fn create_order(call: Call) -> Result<Reply, ApiError> {
    let body = body(&call, true).await;
    let now = call.clock().now();
    call.write(body, async |session: &mut dyn Session, body| {
        let business = &call.caller.business;
        let draft = orders::validate_order(session, business, now, body.into_inner(), true).await?;
        let order = orders::draft_order(session, call.clock().as_ref(), &call.caller, &draft).await?;
        call.created(&shown(session, business, &order).await?)
    })
    .await
}

/// Returns the body of a write. The use case looks up what it names in its own transaction.
async fn body(call: &Call, is_new: bool) -> Result<forecourt_kernel::Valid<OrderChanges>, ApiError> {
    let body = call.body::<OrderChanges>().await;
    let body = body.map(|body| ParsedBody::new(body, ValidationErrors::new()));
    let now = call.clock().now();
    call.validated(body, async |session, body| {
        match orders::validate_order(session, &call.caller.business, now, body.clone(), is_new).await {
            Ok(_) => Ok(ValidationErrors::new()),
            Err(OrderError::Invalid(errors)) => Ok(errors),
            Err(error) => Err(error.into()),
        }
    })
    .await
}

/// Read an order
#[utoipa::path(get, path = "/2.0/orders/{id}", tag = "orders", security(("bearer" = ["orders:read"])), params(IdParameter, RenderingParameters),
    responses((status = 200, description = "The order", body = Envelope<OrderView<'static>>),
        (status = 404, description = "`order_not_found`")))]
async fn read_order(call: Call) -> Result<Reply, ApiError> {
    let rendering = call.rendering()?;
    let id: OrderId = call.id(Code::ORDER_NOT_FOUND)?;
    let mut session = call.read().await?;
    let order = orders::read_order(session.as_mut(), call.caller.business_id(), id).await?;
    let order = orders::show_order(session.as_mut(), &call.caller.business, &order).await?;
    let state = RecordState {
        version: order.version,
        updated: order.updated,
    };
    call.record(state, &rendering, &OrderView::of(&order, rendering.view))
}

/// Change an order
///
/// Only the supplied members change. A draft can change in everything, an issued order in `notes`, `reference`, `valid_until` and
/// `salesperson`.
#[utoipa::path(patch, path = "/2.0/orders/{id}", tag = "orders", security(("bearer" = ["orders:write"])), params(IdParameter),
    request_body = OrderChanges, responses((status = 200, description = "The order", body = Envelope<FullOrder<'static>>),
        (status = 404, description = "`order_not_found`"), (status = 409, description = "`order_invalid_status`")))]
async fn update_order(call: Call) -> Result<Reply, ApiError> {
    let body = body(&call, false).await;
    let now = call.clock().now();
    call.write(body, async |session: &mut dyn Session, body| {
        let business = &call.caller.business;
        let changes = orders::validate_order(session, business, now, body.into_inner(), false).await?;
        let id: Target<OrderId> = call.target(Code::ORDER_NOT_FOUND)?;
        let order = orders::update_order(session, call.clock().as_ref(), &call.caller, id, &changes).await?;
        call.ok(&shown(session, business, &order).await?)
    })
    .await
}

/// Issue an order
///
/// The draft gets its number. With `reserve` its vehicles are reserved for the customer.
#[utoipa::path(post, path = "/2.0/orders/{id}/issue", tag = "orders", security(("bearer" = ["orders:write"])), params(IdParameter),
    request_body = OrderIssueChanges, responses((status = 200, description = "The order", body = Envelope<FullOrder<'static>>),
        (status = 404, description = "`order_not_found`"),
        (status = 409, description = "`order_invalid_status`, `vehicle_already_reserved`, `vehicle_status_transition_invalid`")))]
async fn issue_order(call: Call) -> Result<Reply, ApiError> {
    let now = call.clock().now();
    let issue = call
        .body::<OrderIssueChanges>()
        .await
        .and_then(|body| Ok(body.read(now)?));
    call.write(issue, async |session: &mut dyn Session, issue| {
        let id: Target<OrderId> = call.target(Code::ORDER_NOT_FOUND)?;
        let order = sales::issue_order(session, call.clock().as_ref(), &call.caller, id, issue).await?;
        call.ok(&shown(session, &call.caller.business, &order).await?)
    })
    .await
}

/// Cancel an order
///
/// The vehicles that it reserved are for sale again.
#[utoipa::path(post, path = "/2.0/orders/{id}/cancel", tag = "orders", security(("bearer" = ["orders:write"])), params(IdParameter),
    responses((status = 200, description = "The order", body = Envelope<FullOrder<'static>>),
        (status = 404, description = "`order_not_found`"), (status = 409, description = "`order_invalid_status`")))]
async fn cancel_order(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let id: Target<OrderId> = call.target(Code::ORDER_NOT_FOUND)?;
        let order = sales::cancel_order(session, call.clock().as_ref(), &call.caller, id).await?;
        call.ok(&shown(session, &call.caller.business, &order).await?)
    })
    .await
}

/// Turn an order into an invoice
///
/// The invoice takes the order over. With `issue` it is issued at once, which sells its vehicles.
#[utoipa::path(post, path = "/2.0/orders/{id}/convert", tag = "orders", security(("bearer" = ["invoices:write"])), params(IdParameter),
    request_body = ConversionChanges, responses((status = 201, description = "The invoice", body = Envelope<FullInvoice<'static>>),
        (status = 404, description = "`order_not_found`"),
        (status = 409, description = "`order_invalid_status`, `vehicle_already_reserved`, `vehicle_status_transition_invalid`")))]
async fn convert_order(call: Call) -> Result<Reply, ApiError> {
    let now = call.clock().now();
    let conversion = call
        .body::<ConversionChanges>()
        .await
        .and_then(|body| Ok(body.read(now)?));
    call.write(conversion, async |session: &mut dyn Session, conversion| {
        let id: Target<OrderId> = call.target(Code::ORDER_NOT_FOUND)?;
        let invoice = sales::convert_order(session, call.clock().as_ref(), &call.caller, id, conversion).await?;
        call.created(&shown_invoice(session, &call.caller.business, &invoice).await?)
    })
    .await
}

/// Print an order
///
/// With `Accept: application/pdf` the answer is the file itself. A draft and a cancelled order are marked as such on each page.
#[utoipa::path(get, path = "/2.0/orders/{id}/pdf", tag = "orders", security(("bearer" = ["orders:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "The printed order", content(
            (Envelope<PrintedDocument> = "application/json"), (PdfFile = "application/pdf"))),
        (status = 404, description = "`order_not_found`")))]
async fn print_order(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id: OrderId = call.id(Code::ORDER_NOT_FOUND)?;
    let business = &call.caller.business;
    let mut session = call.read().await?;
    let order = orders::read_order(session.as_mut(), business.id, id).await?;
    let order = orders::show_order(session.as_mut(), business, &order).await?;
    drop(session);
    call.printed(orders::bill_of_order(&order, business), fields.as_ref())
        .await
}

/// Mail an order
///
/// The printed order is attached. The answer comes once the mail server has the mail.
#[utoipa::path(post, path = "/2.0/orders/{id}/send", tag = "orders", security(("bearer" = ["orders:write"])), params(IdParameter),
    request_body = SendBody, responses((status = 200, description = "The mail was sent", body = Envelope<SentDocument<'static>>),
        (status = 404, description = "`order_not_found`"), (status = 409, description = "`order_invalid_status`"),
        (status = 500, description = "`document_send_failed`")))]
async fn send_order(call: Call) -> Result<Reply, ApiError> {
    papers::send(call, DocumentKind::Order).await
}

/// Returns an order as an answer shows it.
async fn shown(session: &mut dyn Session, business: &Business, order: &Order) -> Result<Order, ApiError> {
    Ok(orders::show_order(session, business, order).await?)
}

impl Personal for Order {
    type View<'a> = FullOrder<'a>;

    fn view<'a>(&'a self, _: &'a Call) -> FullOrder<'a> {
        FullOrder::from(self)
    }

    fn shown(&self) -> Shown {
        Shown {
            contact: self.content.agreement.customer,
            record: Some(ShownRecord::Order(self.id)),
        }
    }
}

impl From<OrderError> for ApiError {
    fn from(error: OrderError) -> Self {
        let message = error.to_string();
        match error {
            OrderError::NotFound(_) => Self::new(Code::ORDER_NOT_FOUND, "this business has no such order"),
            OrderError::VersionMismatch(mismatch) => mismatch.into(),
            OrderError::Invalid(errors) => errors.into(),
            OrderError::InvalidStatus(status) => {
                Self::with_details(Code::ORDER_INVALID_STATUS, message, json!({"status": status.name()}))
            }
            OrderError::Store(error) => error.into(),
        }
    }
}

filters! {
    FilterParameters => OrderFilter;

    /// Filed under this site.
    site: SiteId;
    /// In this state, by name or by id.
    status: OrderStatusChoice;
    /// With this number.
    number: OrderNumber;
    /// With this reference of the customer, without regard to case.
    reference: String;
    /// Of this customer.
    customer: ContactId;
    /// With a line for this vehicle.
    vehicle: VehicleId;
    /// Of this deal.
    deal: DealId;
    /// That became this invoice.
    invoice: InvoiceId;
    /// Of this salesperson.
    salesperson: StaffId;
    /// true: issued, and valid until a day before today; false: all others.
    expired: ExpiredFlag;
    /// Of a day between these two, both included; an empty one leaves that end open.
    date: DayRange;
    /// Valid until a day between these two, both included; an empty one leaves that end open.
    valid_until: DayRange;
    /// Made between these two moments, both included; an empty one leaves that end open. `created=…` is just this moment.
    created: MomentRange;
    /// Last changed between these two moments, both included; an empty one leaves that end open. `updated=…` is just this
    /// moment.
    updated: MomentRange;
}
