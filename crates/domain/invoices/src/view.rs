//! The representation of an invoice in the API and in webhooks (decisions §8, areas §10.2).

use forecourt_billing::{
    Agreement, BillLine, DealId, InvoiceId, InvoiceNumber, LegalParty, OrderId, PartExchange, Party, Payment,
    SaleFinance, Totals,
};
use forecourt_kernel::{ContactId, Currency, Date, SiteId, StaffId, Timestamp, VehicleId, Version, Viewed};
use serde::Serialize;

use crate::{CreditNote, Invoice, InvoiceContent, InvoiceKind, InvoiceStatus};

/// An invoice in one of its views.
pub type InvoiceView<'a> = Viewed<SimpleInvoice<'a>, FullInvoice<'a>>;

/// An invoice in the simple view. Amounts of money are written `"1234.00"`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SimpleInvoice))]
pub struct SimpleInvoice<'a> {
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
    /// The vehicle of the first vehicle line.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    vehicle: Option<VehicleId>,
    /// The day of the invoice.
    date: Date,
    /// The last day to pay it.
    due_date: Date,
    /// The currency of all amounts.
    currency: Currency,
    /// The sums.
    totals: Totals,
    /// The customer's reference; may be empty.
    reference: &'a str,
    /// Time of creation, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
    /// Time of the last change, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    updated: Timestamp,
}

/// An invoice. Amounts of money are written `"1234.00"`, rates `"20.00"`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Invoice))]
pub struct FullInvoice<'a> {
    #[serde(flatten)]
    simple: SimpleInvoice<'a>,
    /// The order that it was made of.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    order: Option<OrderId>,
    /// The deal that it belongs to.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    deal: Option<DealId>,
    /// The customer's invoice, of a finance invoice.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    parent: Option<InvoiceId>,
    /// The contact that is billed: live in a draft, frozen at issue; null if it was deleted before.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Party>, required))]
    bill_to: Option<&'a Party>,
    /// The business: live in a draft, frozen at issue.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<LegalParty>, required))]
    bill_from: Option<&'a LegalParty>,
    /// The lines.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<BillLine>))]
    lines: &'a [BillLine],
    /// The vehicles given in part exchange.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<PartExchange>))]
    part_exchanges: &'a [PartExchange],
    /// The finance of the sale.
    finance: SaleFinance,
    /// The payments, oldest first.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Payment>))]
    payments: &'a [Payment],
    /// The credit notes, oldest first.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<CreditNote>))]
    credit_notes: &'a [CreditNote],
    /// Staff user id of the salesperson.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    salesperson: Option<StaffId>,
    /// True if it was agreed to at a distance.
    distance: bool,
    /// The last day on which a distance buyer can cancel, once the vehicle is handed over.
    #[cfg_attr(feature = "openapi", schema(required))]
    cancel_until: Option<Date>,
    /// The terms.
    terms: &'a str,
    /// Notes of the staff.
    notes: &'a str,
    /// Time of the issue, epoch seconds; null before it.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    issued: Option<Timestamp>,
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

impl<'a> From<&'a Invoice> for SimpleInvoice<'a> {
    fn from(invoice: &'a Invoice) -> Self {
        let Invoice { content, .. } = invoice;
        let Agreement {
            site,
            customer,
            vehicle,
            date,
            currency,
            reference,
            ..
        } = &content.agreement;
        Self {
            id: invoice.id,
            site: *site,
            number: invoice.number,
            status: StatusView::new(content.status),
            kind: content.kind,
            customer: *customer,
            vehicle: *vehicle,
            date: *date,
            due_date: content.due_date,
            currency: *currency,
            totals: content.totals(),
            reference,
            created: invoice.created,
            updated: invoice.updated,
        }
    }
}

/// Shows an invoice whose agreement is [filled](forecourt_billing::Live::fill).
impl<'a> From<&'a Invoice> for FullInvoice<'a> {
    fn from(invoice: &'a Invoice) -> Self {
        let InvoiceContent {
            agreement,
            payments,
            credit_notes,
            order,
            parent,
            issued,
            ..
        } = &invoice.content;
        let Agreement {
            lines,
            notes,
            deal,
            part_exchanges,
            finance,
            salesperson,
            distance,
            cancel_until,
            terms,
            bill_to,
            bill_from,
            ..
        } = agreement;
        Self {
            simple: invoice.into(),
            order: *order,
            deal: *deal,
            parent: *parent,
            bill_to: bill_to.as_ref(),
            bill_from: bill_from.as_ref(),
            lines,
            part_exchanges,
            finance: *finance,
            payments,
            credit_notes,
            salesperson: *salesperson,
            distance: *distance,
            cancel_until: *cancel_until,
            terms,
            notes,
            issued: *issued,
            version: invoice.version,
        }
    }
}

/// A made-up invoice for the documentation, as events show it: a deposit of 500.00 that was paid by card.
#[cfg(feature = "openapi")]
pub fn example_invoice() -> serde_json::Value {
    use forecourt_accounts::Business;
    use forecourt_billing::{PartyAddress, PaymentKind, PaymentMethod, VatRate, legal_party};
    use forecourt_kernel::{BusinessId, Country, Line, Money};

    use crate::RaiseDeposit;

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
    let business = Business::new(BusinessId::new(1), "harbour", "Harbour Lane Cars");
    let blank = Agreement::blank(&business, &crate::invoice::defaults(&business, at.date()));
    let mut content = InvoiceContent::deposit(&deposit, blank, VatRate::standard(Country::GB));
    content.agreement.bill_to = Some(Party {
        name: "Amelia Hart".into(),
        company: String::new(),
        address: PartyAddress {
            line1: "12 Quay Street".into(),
            city: "Bristol".into(),
            zip: "BS1 4DJ".into(),
            country: Some(Country::GB),
            ..PartyAddress::default()
        },
        vat: String::new(),
    });
    content.agreement.bill_from = Some(legal_party(&business));
    content.payments.push(Payment {
        id: 1,
        kind: PaymentKind::Payment,
        date: deposit.date,
        method: PaymentMethod::Card,
        amount: deposit.gross,
        reference: deposit.reference,
        reverses: None,
    });
    content.status = InvoiceStatus::Paid;
    content.issued = Some(at);
    let invoice = Invoice {
        id: InvoiceId::new(58),
        number: Some(InvoiceNumber::FIRST),
        version: Version::FIRST.next().next(),
        created: at,
        updated: at,
        content,
    };
    serde_json::to_value(FullInvoice::from(&invoice)).unwrap_or_default()
}
