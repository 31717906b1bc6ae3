//! Taking vehicles in part exchange (areas §10.2, step 4 of "Issuing a sale"). They become stock, bought from the customer for their
//! allowance; the finance that is owed on them is bought from its lender.

use forecourt_accounts::{Business, Caller};
use forecourt_billing::{
    Issue, PartExchange, Payment, PaymentKind, PaymentMethod, PurchaseId, VatScheme, cut, with_settlements,
};
use forecourt_invoices::{Invoice, InvoiceError, InvoiceNumber};
use forecourt_kernel::{Clock, ContactId, Date, Line, LongText, Money, ValidationErrors};
use forecourt_purchases::{self as purchases, NewAcquisition, PurchaseContent, PurchaseKind, PurchaseOrigin};
use forecourt_vehicles as vehicles;

use crate::acquisition::{Acquired, acquire, billed_supplier};
use crate::{SaleError, SaleStore};

/// The sale that vehicles are given in part exchange for.
#[derive(Clone, Copy)]
struct Origin<'a> {
    invoice: &'a Invoice,
    number: InvoiceNumber,
    customer: ContactId,
    date: Date,
}

/// Takes the part exchanges of a draft that is about to be issued under `number`, and shows in the draft what they became.
///
/// # Errors
/// Those of [`vehicles::take_in_exchange`] and [`vehicles::validate_acquirable`]; [`InvoiceError::Invalid`]
/// (`part_exchanges.N.lender`) if the lender is gone.
pub(crate) async fn take_part_exchanges(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    draft: &mut Invoice,
    number: InvoiceNumber,
) -> Result<(), SaleError> {
    let Some(customer) = draft.content.agreement.customer else {
        return Ok(());
    };
    let mut exchanges = draft.content.agreement.part_exchanges.clone();
    let origin = Origin {
        invoice: draft,
        number,
        customer,
        date: draft.content.agreement.date,
    };
    for (at, exchange) in exchanges.iter_mut().enumerate() {
        let (purchase, vehicle) = buy_vehicle(store, clock, by, origin, exchange).await?;
        exchange.purchase = Some(purchase);
        exchange.stock_vehicle = Some(vehicle);
        if exchange.settlement > Money::ZERO {
            let settled = settle(store, clock, &by.business, origin, exchange).await?;
            let gone = || {
                ValidationErrors::one(
                    format!("part_exchanges.{at}.lender"),
                    "names no contact of this business",
                )
            };
            exchange.settlement_purchase = Some(settled.ok_or_else(|| InvoiceError::Invalid(gone()))?);
        }
    }
    draft.content.agreement.part_exchanges = exchanges;
    Ok(())
}

impl Origin<'_> {
    fn of(self, exchange: &PartExchange) -> PurchaseOrigin {
        PurchaseOrigin {
            invoice: self.invoice.id,
            part_exchange: exchange.id,
        }
    }
}

async fn buy_vehicle(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    origin: Origin<'_>,
    exchange: &PartExchange,
) -> Result<(PurchaseId, forecourt_kernel::VehicleId), SaleError> {
    let business = &*by.business;
    let vehicle = vehicles::take_in_exchange(store, clock, by, exchange).await?;
    vehicles::validate_acquirable(&vehicle)?;
    let id = vehicle.id;
    let supplier = billed_supplier(store, business, origin.customer).await?;
    let gone = || ValidationErrors::one("customer", "names no contact of this business");
    let supplier = supplier.ok_or_else(|| InvoiceError::Invalid(gone()))?;
    let command = NewAcquisition {
        supplier: origin.customer,
        price: exchange.allowance,
        vat_scheme: VatScheme::from(exchange.vat_scheme),
        vat_rate: None,
        date: origin.date,
        supplier_invoice: Line::default(),
        due_date: None,
        payment: None,
        notes: LongText::default(),
    };
    let paid = Payment {
        id: 1,
        kind: PaymentKind::PartExchange,
        date: origin.date,
        method: PaymentMethod::PartExchange,
        amount: exchange.allowance,
        reference: cut(&origin.number.to_string()),
        reverses: None,
    };
    let acquired = Acquired {
        vehicle,
        supplier,
        origin: Some(origin.of(exchange)),
        taken: vec![paid],
    };
    let purchase = acquire(store, clock, business, acquired, command).await?;
    Ok((purchase.id, id))
}

/// Bills the settlement of what is owed on a part exchange; `None` if its lender is gone.
async fn settle(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    business: &Business,
    origin: Origin<'_>,
    exchange: &PartExchange,
) -> Result<Option<PurchaseId>, SaleError> {
    let Some(lender) = exchange.lender else { return Ok(None) };
    let Some(supplier) = billed_supplier(store, business, lender).await? else {
        return Ok(None);
    };
    let mut lines = with_settlements(Vec::new(), std::slice::from_ref(exchange));
    for line in &mut lines {
        line.nominal = cut(&supplier.nominal_purchases);
    }
    let content = PurchaseContent {
        kind: PurchaseKind::Settlement,
        supplier: Some(supplier.id),
        date: origin.date,
        due_date: origin.date,
        lines,
        origin: Some(origin.of(exchange)),
        ..PurchaseContent::blank(business, origin.date)
    };
    let draft = purchases::insert(store, business, clock.now(), content).await?;
    let prepared = purchases::prepare_purchase_issue(store, business, &draft, &Issue::default()).await?;
    let steps = (draft, prepared);
    let purchase = purchases::complete_purchase_issue(store, clock, business, steps, Vec::new(), None).await?;
    Ok(Some(purchase.id))
}
