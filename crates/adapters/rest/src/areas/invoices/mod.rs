//! Invoices over HTTP (areas §10.2).

mod id;
mod money;
mod papers;

use forecourt_accounts::{Business, Shown, ShownRecord};
use forecourt_billing::{DealId, InvoiceId, InvoiceNumber, OrderId};
use forecourt_dealership::Session;
use forecourt_invoices::{
    self as invoices, CreditNumber, FullInvoice, Invoice, InvoiceChanges, InvoiceError, InvoiceFilter, InvoiceKind,
    InvoiceView, IssueChanges, NewInvoice, StatusChoice, TransitionError,
};
use forecourt_kernel::{ContactId, ListName, SiteId, StaffId, Target, ValidationErrors, VehicleId, View};
use forecourt_sales::{self as sales, SaleError};
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
    parameters::{ListRenderingParameters, OverdueFlag, PageParameters, RenderingParameters, filters},
    record::Personal,
    reply::{Answer, Envelope, Reply},
    schemas::{AmountRange, DayRange, MomentRange},
    validated::ParsedBody,
};

pub(super) const AREA: Area = Area {
    tag: "invoices",
    about: "What the dealership bills: drafts, issued invoices under numbers without gaps, payments, refunds, credits and finance",
    operations,
    codes: CODES,
    records: &[EventRecord {
        resource: "invoice",
        schema: "Invoice",
        example: invoices::example_invoice,
    }],
};

const LIST: ListName = ListName::new("invoices");

codes! {
    CODES;
    INVOICE_NOT_FOUND = NOT_FOUND, "invoice_not_found" {
        meaning: "The business has no such invoice.",
        cause: "The id is wrong, or it belongs to another business.",
        remedy: "Look the invoice up with `GET /2.0/invoices`.",
    }
    PAYMENT_NOT_FOUND = NOT_FOUND, "payment_not_found" {
        meaning: "The document has no such payment.",
        cause: "The number of the payment is wrong.",
        remedy: "Read the payments of the document; each has its number as `id`.",
    }
    INVOICE_NOT_ISSUED = CONFLICT, "invoice_not_issued" {
        meaning: "The invoice is not issued.",
        cause: "It is a draft, or was cancelled: it can be neither paid, credited, financed nor sent.",
        remedy: "Issue the draft first with `POST /2.0/invoices/{id}/issue`.",
    }
    INVOICE_FULLY_CREDITED = CONFLICT, "invoice_fully_credited" {
        meaning: "The invoice is credited in full.",
        cause: "Nothing is left to pay, to credit or to finance.",
        remedy: "Make a new invoice.",
    }
    INVOICE_INVALID_STATUS = CONFLICT, "invoice_invalid_status" {
        meaning: "The status of the invoice does not allow it.",
        cause: "Only drafts are issued, cancelled and changed freely. Nothing may be due, or to be refunded; `details.status` is the status.",
        remedy: "Read the invoice, and take a step that its status allows.",
    }
    DOCUMENT_SEND_FAILED = INTERNAL_SERVER_ERROR, "document_send_failed" {
        meaning: "The mail with the document could not be sent.",
        cause: "The mail server refused it or did not answer in time, or the business has sent as many mails as it may in a day.",
        remedy: "Check the address, and try again later. Nothing was changed.",
    }
    PAYMENT_REVERSED = CONFLICT, "payment_reversed" {
        meaning: "The payment is reversed already, or is a reversal itself.",
        cause: "A payment is taken back once.",
        remedy: "Record a new payment if the money came after all.",
    }
    CREDIT_CAP_EXCEEDED = CONFLICT, "credit_cap_exceeded" {
        meaning: "More would be credited than remains.",
        cause: "Parts of the line were credited before; `details.creditable` is what remains of the line `details.line`, or of the whole document.",
        remedy: "Credit at most that.",
    }
    FINANCE_INVOICE_EXISTS = CONFLICT, "finance_invoice_exists" {
        meaning: "There is a finance invoice already.",
        cause: "An invoice has one at a time; `details.number` names it.",
        remedy: "Credit that one first.",
    }
    FINANCE_INVOICE_INELIGIBLE = UNPROCESSABLE_ENTITY, "finance_invoice_ineligible" {
        meaning: "The invoice lacks what a finance invoice needs.",
        cause: "It has no finance provider, no financed amount, or no vehicle; `details.missing` lists them.",
        remedy: "Give `finance.provider` and `finance.amount` before the invoice is issued.",
    }
}

fn operations() -> Declared<Vec<Operation>> {
    let mut operations = operations![
        self::<__path_list_invoices> list_invoices,
        self::<__path_create_invoice> create_invoice,
        self::<__path_read_invoice> read_invoice,
        self::<__path_update_invoice> update_invoice,
        self::<__path_issue_invoice> issue_invoice,
        self::<__path_cancel_invoice> cancel_invoice,
    ];
    operations.extend(money::operations()?);
    operations.extend(papers::operations()?);
    Ok(operations)
}

/// List invoices
///
/// Newest first.
#[utoipa::path(get, path = "/2.0/invoices", tag = "invoices", security(("bearer" = ["invoices:read"])),
    params(FilterParameters, PageParameters, ListRenderingParameters),
    responses((status = 200, description = "A page of invoices", body = PageEnvelope<InvoiceView<'static>>)))]
async fn list_invoices(call: Call) -> Result<Answer, ApiError> {
    let (mut filter, list) = call.filtered_list(LIST, View::Simple, FilterParameters::read)?;
    if let Some(overdue) = &mut filter.overdue {
        overdue.today = call.clock().now().date();
    }
    let is_full = list.view == View::Full;
    list.answer(
        call,
        RecordSize::Large,
        async move |session, call, page| invoices::list_invoices(session, &call.caller, &filter, page, is_full).await,
        |item, invoice| item.show(&InvoiceView::of(invoice, item.view)),
    )
    .await
}

/// Draft an invoice
///
/// With `issue` it is issued at once, which sells its vehicles.
#[utoipa::path(post, path = "/2.0/invoices", tag = "invoices", security(("bearer" = ["invoices:write"])), request_body = NewInvoice,
    responses((status = 201, description = "The invoice", body = Envelope<FullInvoice<'static>>),
        (status = 409, description = "`invoice_invalid_status`, `vehicle_already_reserved`, `vehicle_status_transition_invalid`")))]
async fn create_invoice(call: Call) -> Result<Reply, ApiError> {
    let body = call.body::<NewInvoice>().await;
    let body = body.map(|body| ParsedBody::new(body, ValidationErrors::new()));
    let now = call.clock().now();
    let body = call
        .validated(body, async |session, body| {
            let read = invoices::validate_new(session, &call.caller.business, now, body.clone()).await;
            faults(read)
        })
        .await;
    call.write(body, async |session: &mut dyn Session, body| {
        let business = &call.caller.business;
        let draft = invoices::validate_new(session, business, now, body.into_inner()).await?;
        let invoice = sales::create_invoice(session, call.clock().as_ref(), &call.caller, &draft).await?;
        call.created(&shown(session, business, &invoice).await?)
    })
    .await
}

/// Read an invoice
#[utoipa::path(get, path = "/2.0/invoices/{id}", tag = "invoices", security(("bearer" = ["invoices:read"])), params(IdParameter, RenderingParameters),
    responses((status = 200, description = "The invoice", body = Envelope<InvoiceView<'static>>),
        (status = 404, description = "`invoice_not_found`")))]
async fn read_invoice(call: Call) -> Result<Reply, ApiError> {
    let rendering = call.rendering()?;
    let id: InvoiceId = call.id(Code::INVOICE_NOT_FOUND)?;
    let mut session = call.read().await?;
    let invoice = invoices::read_invoice(session.as_mut(), call.caller.business_id(), id).await?;
    let invoice = invoices::show_invoice(session.as_mut(), &call.caller.business, &invoice).await?;
    let state = RecordState {
        version: invoice.version,
        updated: invoice.updated,
    };
    call.record(state, &rendering, &InvoiceView::of(&invoice, rendering.view))
}

/// Change an invoice
///
/// Only the supplied members change. A draft can change in everything. An issued or paid invoice can change in `notes`,
/// `reference`, `due_date` and `salesperson`, any other in `notes`.
#[utoipa::path(patch, path = "/2.0/invoices/{id}", tag = "invoices", security(("bearer" = ["invoices:write"])), params(IdParameter),
    request_body = InvoiceChanges, responses((status = 200, description = "The invoice", body = Envelope<FullInvoice<'static>>),
        (status = 404, description = "`invoice_not_found`"), (status = 409, description = "`invoice_invalid_status`")))]
async fn update_invoice(call: Call) -> Result<Reply, ApiError> {
    let body = call.body::<InvoiceChanges>().await;
    let body = body.map(|body| ParsedBody::new(body, ValidationErrors::new()));
    let now = call.clock().now();
    let body = call
        .validated(body, async |session, body| {
            let read = invoices::validate_changes(session, &call.caller.business, now, body.clone()).await;
            faults(read)
        })
        .await;
    call.write(body, async |session: &mut dyn Session, body| {
        let business = &call.caller.business;
        let changes = invoices::validate_changes(session, business, now, body.into_inner()).await?;
        let id: Target<InvoiceId> = call.target(Code::INVOICE_NOT_FOUND)?;
        let invoice = invoices::update_invoice(session, call.clock().as_ref(), &call.caller, id, &changes).await?;
        call.ok(&shown(session, business, &invoice).await?)
    })
    .await
}

/// Issue an invoice
///
/// The draft gets its number. Its vehicles are sold to the customer, whose deposits move to the invoice.
#[utoipa::path(post, path = "/2.0/invoices/{id}/issue", tag = "invoices", security(("bearer" = ["invoices:write"])), params(IdParameter),
    request_body = IssueChanges, responses((status = 200, description = "The invoice", body = Envelope<FullInvoice<'static>>),
        (status = 404, description = "`invoice_not_found`"),
        (status = 409, description = "`invoice_invalid_status`, `vehicle_already_reserved`, `vehicle_status_transition_invalid`")))]
async fn issue_invoice(call: Call) -> Result<Reply, ApiError> {
    let now = call.clock().now();
    let issue = call.body::<IssueChanges>().await.and_then(|body| Ok(body.read(now)?));
    call.write(issue, async |session: &mut dyn Session, issue| {
        let id: Target<InvoiceId> = call.target(Code::INVOICE_NOT_FOUND)?;
        let issued = sales::issue_invoice(session, call.clock().as_ref(), &call.caller, id, &issue);
        // It is long.
        let invoice = Box::pin(issued).await?;
        call.ok(&shown(session, &call.caller.business, &invoice).await?)
    })
    .await
}

/// Cancel an invoice
///
/// Only a draft can be cancelled. The order that it was made of is issued again.
#[utoipa::path(post, path = "/2.0/invoices/{id}/cancel", tag = "invoices", security(("bearer" = ["invoices:write"])), params(IdParameter),
    responses((status = 200, description = "The invoice", body = Envelope<FullInvoice<'static>>),
        (status = 404, description = "`invoice_not_found`"), (status = 409, description = "`invoice_invalid_status`")))]
async fn cancel_invoice(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let id: Target<InvoiceId> = call.target(Code::INVOICE_NOT_FOUND)?;
        let invoice = sales::cancel_invoice(session, call.clock().as_ref(), &call.caller, id).await?;
        call.ok(&shown(session, &call.caller.business, &invoice).await?)
    })
    .await
}

/// Returns the faults that a validation found.
fn faults<T>(read: Result<T, InvoiceError>) -> Result<ValidationErrors, ApiError> {
    match read {
        Ok(_) => Ok(ValidationErrors::new()),
        Err(InvoiceError::Invalid(errors)) => Ok(errors),
        Err(error) => Err(error.into()),
    }
}

/// Returns an invoice as an answer shows it.
pub(super) async fn shown(
    session: &mut dyn Session,
    business: &Business,
    invoice: &Invoice,
) -> Result<Invoice, ApiError> {
    Ok(invoices::show_invoice(session, business, invoice).await?)
}

impl Personal for Invoice {
    type View<'a> = FullInvoice<'a>;

    fn view<'a>(&'a self, _: &'a Call) -> FullInvoice<'a> {
        FullInvoice::from(self)
    }

    fn shown(&self) -> Shown {
        Shown {
            contact: self.content.agreement.customer,
            record: Some(ShownRecord::Invoice(self.id)),
        }
    }
}

impl From<InvoiceError> for ApiError {
    fn from(error: InvoiceError) -> Self {
        let message = error.to_string();
        match error {
            InvoiceError::NotFound(_) => Self::new(Code::INVOICE_NOT_FOUND, "this business has no such invoice"),
            InvoiceError::VersionMismatch(mismatch) => mismatch.into(),
            InvoiceError::Invalid(errors) => errors.into(),
            InvoiceError::Transition(TransitionError::NotIssued) => Self::new(Code::INVOICE_NOT_ISSUED, message),
            InvoiceError::Transition(TransitionError::FullyCredited) => {
                Self::new(Code::INVOICE_FULLY_CREDITED, message)
            }
            InvoiceError::Transition(TransitionError::InvalidStatus(status)) => {
                Self::with_details(Code::INVOICE_INVALID_STATUS, message, json!({"status": status.name()}))
            }
            InvoiceError::PaymentNotFound(_) => Self::new(Code::PAYMENT_NOT_FOUND, message),
            InvoiceError::PaymentReversed => Self::new(Code::PAYMENT_REVERSED, message),
            InvoiceError::CapExceeded { line, creditable } => {
                let details = json!({"line": line, "creditable": creditable});
                Self::with_details(Code::CREDIT_CAP_EXCEEDED, message, details)
            }
            InvoiceError::FinanceIneligible(missing) => {
                Self::with_details(Code::FINANCE_INVOICE_INELIGIBLE, message, json!({"missing": missing}))
            }
            InvoiceError::FinanceExists(number) => {
                Self::with_details(Code::FINANCE_INVOICE_EXISTS, message, json!({"number": number}))
            }
            InvoiceError::Store(error) => error.into(),
        }
    }
}

impl From<SaleError> for ApiError {
    fn from(error: SaleError) -> Self {
        match error {
            SaleError::Invoice(error) => error.into(),
            SaleError::Order(error) => error.into(),
            SaleError::Purchase(error) => error.into(),
            SaleError::Vehicle(error) => error.into(),
            SaleError::Deal(error) => error.into(),
        }
    }
}

filters! {
    FilterParameters => InvoiceFilter;

    /// Filed under this site.
    site: SiteId;
    /// In this state, by name or by id.
    status: StatusChoice;
    /// Of this purpose.
    kind as "type": InvoiceKind;
    /// With this number.
    number: InvoiceNumber;
    /// With this reference of the customer, without regard to case.
    reference: String;
    /// Billed to this contact.
    customer: ContactId;
    /// With a line for this vehicle.
    vehicle: VehicleId;
    /// Of this deal.
    deal: DealId;
    /// Made of this order.
    order: OrderId;
    /// The finance invoices of this invoice.
    parent: InvoiceId;
    /// Of this salesperson.
    salesperson: StaffId;
    /// With this credit note.
    credit_note: CreditNumber;
    /// true: issued, and due before today; false: all others.
    overdue: OverdueFlag;
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
