//! Purchases over HTTP (areas §10.4).

mod id;
mod money;
mod papers;

use forecourt_accounts::{Business, Shown};
use forecourt_billing::{IssueChanges, PurchaseId, PurchaseNumber, StatusChoice};
use forecourt_dealership::Session;
use forecourt_kernel::{ContactId, ListName, SiteId, Target, ValidationErrors, VehicleId, View};
use forecourt_purchases::{
    self as purchases, FullPurchase, NewPurchase, Purchase, PurchaseChanges, PurchaseError, PurchaseFilter,
    PurchaseKind, PurchaseView,
};
use forecourt_sales as sales;
use serde_json::json;

use self::id::IdParameter;
use crate::{
    areas::{Area, EventRecord},
    call::Call,
    code::{Code, codes},
    conditional::RecordState,
    error::ApiError,
    list::{PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{ListRenderingParameters, OverduePurchaseFlag, PageParameters, RenderingParameters, filters},
    record::Personal,
    reply::{Answer, Envelope, Reply},
    schemas::{AmountRange, DayRange, MomentRange},
    validated::ParsedBody,
};

pub(super) const AREA: Area = Area {
    tag: "purchases",
    about: "What the dealership is billed: vehicles, costs on vehicles and overheads, with payments and credits",
    operations,
    codes: CODES,
    records: &[EventRecord {
        resource: "purchase",
        schema: "Purchase",
        example: purchases::example_purchase,
    }],
};

const LIST: ListName = ListName::new("purchases");

codes! {
    CODES;
    PURCHASE_NOT_FOUND = NOT_FOUND, "purchase_not_found" {
        meaning: "The business has no such purchase.",
        cause: "The id is wrong, or it belongs to another business.",
        remedy: "Look the purchase up with `GET /2.0/purchases`.",
    }
    PURCHASE_INVALID_STATUS = CONFLICT, "purchase_invalid_status" {
        meaning: "The status of the purchase does not allow it.",
        cause: "Only drafts are issued, cancelled and changed freely, and only what is issued is paid, credited or sent. Nothing may be due, or to be refunded; `details.status` is the status.",
        remedy: "Read the purchase, and take a step that its status allows.",
    }
    PURCHASE_DUPLICATE = CONFLICT, "purchase_duplicate" {
        meaning: "The same supplier's invoice is on another purchase.",
        cause: "A purchase that is neither cancelled nor credited has the same supplier and number of its invoice; `details.number` is its number, if it has one.",
        remedy: "Compare the two. Send `force: true` if the supplier did use its number twice.",
    }
    PURCHASE_ACQUISITION_LINKED = CONFLICT, "purchase_acquisition_linked" {
        meaning: "The purchase belongs to the acquisition of a vehicle.",
        cause: "Such a purchase changes in its notes alone, and is credited when the acquisition is undone.",
        remedy: "Undo the acquisition with `DELETE /2.0/vehicles/{id}/acquisition`, and acquire the vehicle anew.",
    }
}

fn operations() -> Declared<Vec<Operation>> {
    let mut operations = operations![
        self::<__path_list_purchases> list_purchases,
        self::<__path_create_purchase> create_purchase,
        self::<__path_read_purchase> read_purchase,
        self::<__path_update_purchase> update_purchase,
        self::<__path_issue_purchase> issue_purchase,
        self::<__path_cancel_purchase> cancel_purchase,
    ];
    operations.extend(money::operations()?);
    operations.extend(papers::operations()?);
    Ok(operations)
}

/// List purchases
///
/// Newest first.
#[utoipa::path(get, path = "/2.0/purchases", tag = "purchases", security(("bearer" = ["purchases:read"])),
    params(FilterParameters, PageParameters, ListRenderingParameters),
    responses((status = 200, description = "A page of purchases", body = PageEnvelope<PurchaseView<'static>>)))]
async fn list_purchases(call: Call) -> Result<Answer, ApiError> {
    let (mut filter, list) = call.filtered_list(LIST, View::Simple, FilterParameters::read)?;
    if let Some(overdue) = &mut filter.overdue {
        overdue.today = call.clock().now().date();
    }
    let is_full = list.view == View::Full;
    list.answer(
        call,
        RecordSize::Large,
        async move |session, call, page| purchases::list_purchases(session, &call.caller, &filter, page, is_full).await,
        |item, purchase| item.show(&PurchaseView::of(purchase, item.view)),
    )
    .await
}

/// Draft a purchase
///
/// With `issue` it is issued at once. A vehicle is bought with `POST /2.0/vehicles/{id}/acquisition`.
#[utoipa::path(post, path = "/2.0/purchases", tag = "purchases", security(("bearer" = ["purchases:write"])),
    request_body = NewPurchase,
    responses((status = 201, description = "The purchase", body = Envelope<FullPurchase<'static>>),
        (status = 409, description = "`purchase_duplicate`"),
        (status = 422, description = "`validation_failed`, `vehicle_costs_full`")))]
async fn create_purchase(call: Call) -> Result<Reply, ApiError> {
    let body = call.body::<NewPurchase>().await;
    let body = body.map(|body| ParsedBody::new(body, ValidationErrors::new()));
    let now = call.clock().now();
    let body = call
        .validated(body, async |session, body| {
            let business = &call.caller.business;
            faults(purchases::validate_new_purchase(session, business, now, body.clone()).await)
        })
        .await;
    call.write(body, async |session: &mut dyn Session, body| {
        let business = &call.caller.business;
        let draft = purchases::validate_new_purchase(session, business, now, body.into_inner()).await?;
        let purchase = sales::create_purchase(session, call.clock().as_ref(), &call.caller, &draft).await?;
        call.created(&shown(session, business, &purchase).await?)
    })
    .await
}

/// Read a purchase
#[utoipa::path(get, path = "/2.0/purchases/{id}", tag = "purchases", security(("bearer" = ["purchases:read"])),
    params(IdParameter, RenderingParameters),
    responses((status = 200, description = "The purchase", body = Envelope<PurchaseView<'static>>),
        (status = 404, description = "`purchase_not_found`")))]
async fn read_purchase(call: Call) -> Result<Reply, ApiError> {
    let rendering = call.rendering()?;
    let id: PurchaseId = call.id(Code::PURCHASE_NOT_FOUND)?;
    let mut session = call.read().await?;
    let purchase = purchases::read_purchase(session.as_mut(), call.caller.business_id(), id).await?;
    let purchase = purchases::show_purchase(session.as_mut(), &call.caller.business, &purchase).await?;
    let state = RecordState {
        version: purchase.version,
        updated: purchase.updated,
    };
    call.record(state, &rendering, &PurchaseView::of(&purchase, rendering.view))
}

/// Change a purchase
///
/// Only the supplied members change. A draft can change in everything. An issued or paid purchase can change in `notes` and
/// `due_date`, any other in `notes`, as the purchase of a vehicle.
#[utoipa::path(patch, path = "/2.0/purchases/{id}", tag = "purchases", security(("bearer" = ["purchases:write"])),
    params(IdParameter), request_body = PurchaseChanges,
    responses((status = 200, description = "The purchase", body = Envelope<FullPurchase<'static>>),
        (status = 404, description = "`purchase_not_found`"),
        (status = 409, description = "`purchase_invalid_status`, `purchase_acquisition_linked`, `purchase_duplicate`")))]
async fn update_purchase(call: Call) -> Result<Reply, ApiError> {
    let body = call.body::<PurchaseChanges>().await;
    let body = body.map(|body| ParsedBody::new(body, ValidationErrors::new()));
    let now = call.clock().now();
    let body = call
        .validated(body, async |session, body| {
            let business = &call.caller.business;
            faults(purchases::validate_purchase_changes(session, business, now, body.clone()).await)
        })
        .await;
    call.write(body, async |session: &mut dyn Session, body| {
        let business = &call.caller.business;
        let changes = purchases::validate_purchase_changes(session, business, now, body.into_inner()).await?;
        let id: Target<PurchaseId> = call.target(Code::PURCHASE_NOT_FOUND)?;
        let purchase = sales::update_purchase(session, call.clock().as_ref(), &call.caller, id, &changes).await?;
        call.ok(&shown(session, business, &purchase).await?)
    })
    .await
}

/// Issue a purchase
///
/// The draft gets its number. Its costs on vehicles are added to `data.stock.purchase_cost_data` of the vehicles.
#[utoipa::path(post, path = "/2.0/purchases/{id}/issue", tag = "purchases", security(("bearer" = ["purchases:write"])),
    params(IdParameter), request_body = IssueChanges,
    responses((status = 200, description = "The purchase", body = Envelope<FullPurchase<'static>>),
        (status = 404, description = "`purchase_not_found`"),
        (status = 409, description = "`purchase_acquisition_linked`, `purchase_invalid_status`"),
        (status = 422, description = "`validation_failed`, `vehicle_costs_full`")))]
async fn issue_purchase(call: Call) -> Result<Reply, ApiError> {
    let now = call.clock().now();
    let issue = call.body::<IssueChanges>().await.and_then(|body| Ok(body.read(now)?));
    call.write(issue, async |session: &mut dyn Session, issue| {
        let id: Target<PurchaseId> = call.target(Code::PURCHASE_NOT_FOUND)?;
        let purchase = sales::issue_purchase(session, call.clock().as_ref(), &call.caller, id, &issue).await?;
        call.ok(&shown(session, &call.caller.business, &purchase).await?)
    })
    .await
}

/// Cancel a purchase
///
/// Only a draft can be cancelled.
#[utoipa::path(post, path = "/2.0/purchases/{id}/cancel", tag = "purchases", security(("bearer" = ["purchases:write"])),
    params(IdParameter),
    responses((status = 200, description = "The purchase", body = Envelope<FullPurchase<'static>>),
        (status = 404, description = "`purchase_not_found`"),
        (status = 409, description = "`purchase_acquisition_linked`, `purchase_invalid_status`")))]
async fn cancel_purchase(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let id: Target<PurchaseId> = call.target(Code::PURCHASE_NOT_FOUND)?;
        let purchase = purchases::cancel_purchase(session, call.clock().as_ref(), &call.caller, id).await?;
        call.ok(&shown(session, &call.caller.business, &purchase).await?)
    })
    .await
}

/// Returns the faults that a validation found.
fn faults<T>(read: Result<T, PurchaseError>) -> Result<ValidationErrors, ApiError> {
    match read {
        Ok(_) => Ok(ValidationErrors::new()),
        Err(PurchaseError::Invalid(errors)) => Ok(errors),
        Err(error) => Err(error.into()),
    }
}

/// Returns a purchase as an answer shows it.
pub(super) async fn shown(
    session: &mut dyn Session,
    business: &Business,
    purchase: &Purchase,
) -> Result<Purchase, ApiError> {
    Ok(purchases::show_purchase(session, business, purchase).await?)
}

impl Personal for Purchase {
    type View<'a> = FullPurchase<'a>;

    fn view<'a>(&'a self, _: &'a Call) -> FullPurchase<'a> {
        FullPurchase::from(self)
    }

    fn shown(&self) -> Shown {
        Shown {
            contact: self.content.supplier,
            record: None,
        }
    }
}

impl From<PurchaseError> for ApiError {
    fn from(error: PurchaseError) -> Self {
        let message = error.to_string();
        match error {
            PurchaseError::NotFound(_) => Self::new(Code::PURCHASE_NOT_FOUND, "this business has no such purchase"),
            PurchaseError::VersionMismatch(mismatch) => mismatch.into(),
            PurchaseError::Invalid(errors) => errors.into(),
            PurchaseError::InvalidStatus(status) => {
                Self::with_details(Code::PURCHASE_INVALID_STATUS, message, json!({"status": status.name()}))
            }
            PurchaseError::AcquisitionLinked => Self::new(Code::PURCHASE_ACQUISITION_LINKED, message),
            PurchaseError::Duplicate(number) => {
                Self::with_details(Code::PURCHASE_DUPLICATE, message, json!({"number": number}))
            }
            PurchaseError::PaymentNotFound(_) => Self::new(Code::PAYMENT_NOT_FOUND, message),
            PurchaseError::PaymentReversed => Self::new(Code::PAYMENT_REVERSED, message),
            PurchaseError::CapExceeded { line, creditable } => {
                let details = json!({"line": line, "creditable": creditable});
                Self::with_details(Code::CREDIT_CAP_EXCEEDED, message, details)
            }
            PurchaseError::Store(error) => error.into(),
        }
    }
}

filters! {
    FilterParameters => PurchaseFilter;

    /// Filed under this site.
    site: SiteId;
    /// In this state, by name or by id.
    status: StatusChoice;
    /// Of this purpose.
    kind as "type": PurchaseKind;
    /// With this number.
    number: PurchaseNumber;
    /// From this contact.
    supplier: ContactId;
    /// With this number of the supplier's, without regard to case and blanks.
    supplier_invoice: String;
    /// With a line for this vehicle.
    vehicle: VehicleId;
    /// Linked to this job.
    job: i64;
    /// true: issued, and due before today; false: all others.
    overdue: OverduePurchaseFlag;
    /// With a gross between these two amounts, both included; an empty one leaves that end open.
    gross: AmountRange;
    /// Of a day between these two, both included; an empty one leaves that end open.
    date: DayRange;
    /// Due on a day between these two, both included; an empty one leaves that end open.
    due_date: DayRange;
    /// Made between these two moments, both included; an empty one leaves that end open. `created=…` is just this moment.
    created: MomentRange;
    /// Last changed between these two moments, both included; an empty one leaves that end open. `updated=…` is just this
    /// moment.
    updated: MomentRange;
}
