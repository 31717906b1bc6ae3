//! The representation of an invoice in webhooks (decisions §8, "Invoice").

use forecourt_kernel::{ContactId, Currency, Date, SiteId, Timestamp, VehicleId, Version};
use serde::Serialize;

use crate::{
    CreditNote, Invoice, InvoiceContent, InvoiceId, InvoiceKind, InvoiceLine, InvoiceNumber, InvoiceStatus, Payment,
    Totals,
};

/// An invoice. Amounts of money are written `"1234.00"`, rates `"20.00"`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Invoice))]
pub struct InvoiceView<'a> {
    /// Invoice id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: InvoiceId,
    /// The site of the invoice; 0 is the main one.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    site: SiteId,
    /// `INV-` and a running number of the business; null for a draft.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, example = "INV-1"))]
    number: Option<InvoiceNumber>,
    /// The current state.
    status: StatusView,
    /// The purpose of the invoice.
    #[serde(rename = "type")]
    kind: InvoiceKind,
    /// The contact that is billed; null once the contact is deleted.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    customer: Option<ContactId>,
    /// The vehicle that the invoice is for.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    vehicle: Option<VehicleId>,
    /// The day of the invoice.
    date: Date,
    /// The last day to pay it.
    due_date: Date,
    /// The currency of all amounts.
    currency: Currency,
    /// The lines.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<InvoiceLine>))]
    lines: &'a [InvoiceLine],
    /// The sums.
    totals: Totals,
    /// The payments, oldest first.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Payment>))]
    payments: &'a [Payment],
    /// The credit notes, oldest first.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<CreditNote>))]
    credit_notes: &'a [CreditNote],
    /// Notes of the staff.
    notes: &'a str,
    /// Time of creation, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
    /// Time of the last change, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    updated: Timestamp,
    /// Raised by one with each change, from 1.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    version: Version,
}

/// The state of an invoice.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = InvoiceStatusView))]
pub struct StatusView {
    /// 0 draft, 1 issued, 2 paid, 3 cancelled, 4 credited.
    id: u8,
    /// The name to compare.
    name: &'static str,
}

impl StatusView {
    /// Returns the representation of `status`.
    pub const fn new(status: InvoiceStatus) -> Self {
        Self {
            id: status.id(),
            name: status.name(),
        }
    }
}

impl<'a> From<&'a Invoice> for InvoiceView<'a> {
    fn from(invoice: &'a Invoice) -> Self {
        let Invoice {
            id,
            number,
            version,
            created,
            updated,
            content,
        } = invoice;
        let InvoiceContent {
            site,
            status,
            kind,
            customer,
            vehicle,
            date,
            due_date,
            currency,
            lines,
            payments,
            credit_notes,
            notes,
        } = content;
        Self {
            id: *id,
            site: *site,
            number: *number,
            status: StatusView::new(*status),
            kind: *kind,
            customer: *customer,
            vehicle: *vehicle,
            date: *date,
            due_date: *due_date,
            currency: *currency,
            lines,
            totals: content.totals(),
            payments,
            credit_notes,
            notes,
            created: *created,
            updated: *updated,
            version: *version,
        }
    }
}

/// A made-up invoice for the documentation, as events show it: a deposit of 500.00 that was paid by card.
#[cfg(feature = "openapi")]
pub fn example_invoice() -> serde_json::Value {
    use forecourt_kernel::{Country, Line, Money};

    use crate::{PaymentMethod, RaiseDeposit, VatRate};

    let at = Timestamp::from_epoch_seconds(1_767_225_600);
    let deposit = RaiseDeposit {
        site: SiteId::new(0),
        customer: ContactId::new(311),
        vehicle: VehicleId::new(1042),
        vehicle_description: "2019 BMW 3 Series AB19 CDE".into(),
        gross: Money::from_minor(50_000),
        vat_included: true,
        method: Some(PaymentMethod::Card),
        reference: Line::new("T-4711").unwrap_or_default(),
        date: at.date(),
    };
    let draft = InvoiceContent::deposit(&deposit, Country::GB.currency(), VatRate::standard(Country::GB));
    let payment = Payment {
        id: 1,
        date: deposit.date,
        method: PaymentMethod::Card,
        amount: deposit.gross,
        reference: deposit.reference,
    };
    let invoice = Invoice {
        id: InvoiceId::new(58),
        number: Some(InvoiceNumber::FIRST),
        version: Version::FIRST.next().next(),
        created: at,
        updated: at,
        content: InvoiceContent {
            status: InvoiceStatus::Paid,
            payments: vec![payment],
            ..draft
        },
    };
    serde_json::to_value(InvoiceView::from(&invoice)).unwrap_or_default()
}
