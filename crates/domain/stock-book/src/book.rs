//! Keeping the book: an entry is computed anew from the vehicle, its purchase, its invoices and its sale.

use forecourt_accounts::Business;
use forecourt_billing::{BillLine, BilledVehicle, LineKind, NoteLine, Party, VatRate, VatScheme, negative, sum};
use forecourt_invoices::{Invoice, InvoiceFilter, InvoiceKind, InvoiceStatus};
use forecourt_kernel::{Cursor, Money, PageRequest, Position, StoreResult, VehicleId};
use forecourt_purchases::Purchase;
use forecourt_vehicles::{Vehicle, VehicleStatus};

use crate::{
    Particular, StockBookFilter, StockBookStore, StockContent, StockEntry, StockPurchase, StockSale, StockStatus,
};

/// Returns the tax on a margin: `margin × rate / (100 + rate)`, rounded to the nearest minor unit, a half away from zero. A margin
/// of 0 or less has none: a loss is not set off against another vehicle (gov.uk, "VAT margin schemes").
pub fn margin_vat(rate: VatRate, margin: Money) -> Money {
    rate.split(margin.max(Money::ZERO)).vat
}

/// Keeps the entry of a vehicle that has changed. A vehicle without a number in the stock book has none.
///
/// # Errors
/// If the store fails.
pub async fn follow_vehicle(store: &mut dyn StockBookStore, business: &Business, vehicle: &Vehicle) -> StoreResult<()> {
    let Some(number) = vehicle.content.stock_number else {
        return Ok(());
    };
    // Most changes of a vehicle are none of its entry, which then needs no lock.
    let entry = store.stock_entry(business.id, number).await?;
    if entry.is_some_and(|entry| is_in_step(&entry.content, vehicle)) {
        return Ok(());
    }
    keep(store, business, vehicle.id, Some(number)).await
}

/// Computes the newest entry of a vehicle anew. A vehicle that has given up its number leaves the entry as returned.
///
/// # Errors
/// If the store fails.
pub async fn keep_entry(store: &mut dyn StockBookStore, business: &Business, vehicle: VehicleId) -> StoreResult<()> {
    keep(store, business, vehicle, None).await
}

/// Computes the entry of a number, or the newest one of the vehicle.
async fn keep(
    store: &mut dyn StockBookStore,
    business: &Business,
    id: VehicleId,
    number: Option<i64>,
) -> StoreResult<()> {
    // The second of two writers computes it from what the first one has committed.
    store.lock_stock_book(business.id).await?;
    let vehicle = store.vehicle(business.id, id).await?;
    let number = number.or(vehicle.as_ref().and_then(|vehicle| vehicle.content.stock_number));
    let previous = match number {
        Some(number) => store.stock_entry(business.id, number).await?,
        None => newest_entry(store, business, id).await?,
    };
    let Some(number) = number.or(previous.as_ref().map(|entry| entry.number)) else {
        return Ok(());
    };
    let previous = previous.map(|entry| entry.content);
    let acquisition = vehicle.as_ref().and_then(|vehicle| vehicle.content.acquisition);
    let purchase = match acquisition {
        Some(acquisition) => store.purchase(business.id, acquisition.purchase).await?,
        None => None,
    };
    let buyer = match vehicle
        .as_ref()
        .and_then(|vehicle| vehicle.content.sale.as_ref()?.customer)
    {
        Some(customer) => store.contact_name(business.id, customer).await?,
        None => None,
    };
    let facts = Facts {
        number,
        vehicle: vehicle.as_ref(),
        purchase: purchase.as_ref(),
        invoices: &invoices_of(store, business, id).await?,
        buyer: buyer.unwrap_or_default(),
        rate: VatRate::standard(business.country),
    };
    if let Some(content) = facts.content(id, previous.as_ref())
        && previous.as_ref() != Some(&content)
    {
        store
            .save_stock_entry(business.id, &StockEntry { number, content })
            .await?;
    }
    Ok(())
}

async fn newest_entry(
    store: &mut dyn StockBookStore,
    business: &Business,
    vehicle: VehicleId,
) -> StoreResult<Option<StockEntry>> {
    let filter = StockBookFilter {
        vehicle: Some(vehicle),
        ..StockBookFilter::default()
    };
    let request = PageRequest {
        position: Position::After(Cursor::at([i64::MAX])),
        per_page: 1,
    };
    let page = store.stock_entries(business.id, &filter, &request).await?;
    Ok(page.items.into_iter().next())
}

/// Returns the invoices that bill a vehicle, newest first: neither deposits, which come before a sale, nor the copies that finance
/// providers get.
async fn invoices_of(
    store: &mut dyn StockBookStore,
    business: &Business,
    vehicle: VehicleId,
) -> StoreResult<Vec<Invoice>> {
    let filter = InvoiceFilter {
        vehicle: Some(vehicle),
        ..InvoiceFilter::default()
    };
    let mut request = PageRequest {
        position: Position::After(Cursor::at([i64::MAX])),
        per_page: PageRequest::DEFAULT_PER_PAGE,
    };
    let mut found = Vec::new();
    loop {
        let page = store.invoices(business.id, &filter, &request).await?;
        found.extend(page.items.into_iter().filter(counts));
        match page.next {
            Some(cursor) => request.position = Position::After(cursor),
            None => break,
        }
    }
    found.sort_by_key(|invoice| std::cmp::Reverse(invoice.number));
    Ok(found)
}

const fn counts(invoice: &Invoice) -> bool {
    matches!(invoice.content.kind, InvoiceKind::Sale | InvoiceKind::General)
        && matches!(
            invoice.content.status,
            InvoiceStatus::Issued | InvoiceStatus::Paid | InvoiceStatus::Credited
        )
}

/// Returns `true` if an entry shows the vehicle as it is now.
fn is_in_step(entry: &StockContent, vehicle: &Vehicle) -> bool {
    if vehicle.content.status == VehicleStatus::Deleted {
        return entry.status != StockStatus::InStock;
    }
    if entry.registration.is_empty() && vehicle.content.registration.is_some() {
        return false;
    }
    let acquisition = vehicle.content.acquisition.map(|acquisition| acquisition.purchase);
    if acquisition != entry.purchase.as_ref().map(|purchase| purchase.id) {
        return false;
    }
    match (&vehicle.content.sale, &entry.sale) {
        (None, None) => {
            let billed = BilledVehicle::from(vehicle);
            entry.status == StockStatus::InStock
                && (&entry.registration, &entry.vin, &entry.description)
                    == (&billed.registration, &billed.vin, &billed.description)
        }
        (Some(sale), Some(kept)) => match sale.invoice {
            Some(invoice) => kept.id == Some(invoice.id),
            None => {
                kept.id.is_none()
                    && (kept.date, kept.price) == (sale.date, sale.price)
                    && kept.customer.is_empty() == sale.customer.is_none()
            }
        },
        _ => false,
    }
}

/// The records that an entry is computed from.
struct Facts<'a> {
    number: i64,
    /// The vehicle, unless it is deleted.
    vehicle: Option<&'a Vehicle>,
    /// The purchase of its acquisition.
    purchase: Option<&'a Purchase>,
    /// The invoices that bill it, newest first.
    invoices: &'a [Invoice],
    /// The name of the contact that it is sold to.
    buyer: String,
    /// The country's standard rate.
    rate: VatRate,
}

impl Facts<'_> {
    /// Returns the entry of a vehicle; `None` if the vehicle is gone and had none.
    fn content(&self, id: VehicleId, previous: Option<&StockContent>) -> Option<StockContent> {
        let is_given_up = self
            .vehicle
            .is_some_and(|vehicle| vehicle.content.stock_number != Some(self.number));
        let kept = || previous.and_then(|previous| previous.purchase.clone());
        let purchase = match self.vehicle {
            Some(_) if !is_given_up => self.purchase.and_then(purchase_of),
            _ => kept(),
        };
        let (sale, scheme) = match self.invoiced_sale(id) {
            Some((sale, scheme)) => (Some(sale), Some(scheme)),
            None => (self.plain_sale(previous, purchase.as_ref()), None),
        };
        let of_purchase = purchase.as_ref().map(|purchase| purchase.vat_scheme);
        let before = previous.map(|previous| previous.vat_scheme);
        let status = match (&sale, self.vehicle) {
            (Some(_), _) => StockStatus::Sold,
            (None, _) if is_given_up => StockStatus::Returned,
            (None, None) => StockStatus::Removed,
            (None, Some(vehicle)) if vehicle.content.status == VehicleStatus::Deleted => StockStatus::Removed,
            (None, Some(_)) => StockStatus::InStock,
        };
        // A vehicle is described as it was when it left the stock.
        let is_gone = self.vehicle.is_none() || is_given_up;
        let kept = previous.filter(|previous| is_gone || sale.is_some() && previous.status == StockStatus::Sold);
        let mut content = match kept {
            Some(kept) => kept.clone(),
            None => described(self.vehicle?),
        };
        if let Some(vehicle) = self.vehicle.filter(|_| content.registration.is_empty()) {
            content.registration = BilledVehicle::from(vehicle).registration;
        }
        content.vat_scheme = scheme.or(of_purchase).or(before).unwrap_or(VatScheme::Margin);
        content.status = status;
        content.purchase = purchase;
        content.sale = sale;
        content.missing = self.missing(&content);
        (content.margin, content.vat_due) = self.margin(&content).unzip();
        Some(content)
    }

    /// Returns the sale that the newest live invoice of the vehicle bills, and its scheme. All lines and credits of the vehicle
    /// under the scheme count together, whichever invoice they are on.
    fn invoiced_sale(&self, id: VehicleId) -> Option<(StockSale, VatScheme)> {
        let sells = |line: &&BillLine| {
            line.kind == LineKind::Vehicle
                && line.vehicle == Some(id)
                && (line.creditable() != Money::ZERO || line.gross == Money::ZERO)
        };
        let (invoice, line) = self
            .invoices
            .iter()
            .filter(|invoice| invoice.is_live_sale())
            .find_map(|invoice| {
                let line = invoice.content.agreement.lines.iter().find(sells)?;
                Some((invoice, line))
            })?;
        let scheme = line.vat_scheme;
        let mut amounts = (Vec::new(), Vec::new());
        for invoice in self.invoices {
            let billed = invoice.content.agreement.lines.iter();
            for line in billed.filter(|line| line.vehicle == Some(id) && line.vat_scheme == scheme) {
                amounts.0.push(line.creditable());
                amounts.1.push(line.vat);
                amounts
                    .1
                    .extend(credits_of(invoice, line).map(|note| negative(note.vat)));
            }
        }
        let sale = StockSale {
            id: Some(invoice.id),
            number: invoice.number,
            date: invoice.content.agreement.date,
            customer: invoice
                .content
                .agreement
                .bill_to
                .as_ref()
                .map(name_of)
                .unwrap_or_default(),
            price: Some(sum(amounts.0)),
            vat: sum(amounts.1),
        };
        Some((sale, scheme))
    }

    /// Returns the sale of a vehicle that was sold without an invoice.
    fn plain_sale(&self, previous: Option<&StockContent>, purchase: Option<&StockPurchase>) -> Option<StockSale> {
        let Some(vehicle) = self
            .vehicle
            .filter(|vehicle| vehicle.content.status != VehicleStatus::Deleted)
        else {
            let kept = previous.and_then(|previous| previous.sale.clone());
            return kept.filter(|sale| sale.id.is_none());
        };
        let sale = vehicle.content.sale.as_ref().filter(|sale| sale.invoice.is_none())?;
        let is_taxed = purchase.is_some_and(|purchase| purchase.vat_scheme == VatScheme::Standard);
        let vat = sale.price.filter(|_| is_taxed).map(|price| self.rate.split(price).vat);
        Some(StockSale {
            id: None,
            number: None,
            date: sale.date,
            customer: self.buyer.clone(),
            price: sale.price,
            vat: vat.unwrap_or(Money::ZERO),
        })
    }

    /// Returns the particulars that an entry lacks. A name that is kept no longer was there, so it is none of them.
    fn missing(&self, entry: &StockContent) -> Vec<Particular> {
        let mut missing = Vec::new();
        match &entry.purchase {
            None => missing.push(Particular::Purchase),
            Some(purchase) => {
                let is_forgotten = self
                    .purchase
                    .is_none_or(|purchase| purchase.content.bill_from.is_none());
                if purchase.supplier.is_empty() && !is_forgotten {
                    missing.push(Particular::Supplier);
                }
            }
        }
        if let Some(sale) = &entry.sale {
            if sale.number.is_none() {
                missing.push(Particular::SaleNumber);
            }
            let invoice = self.invoices.iter().find(|invoice| Some(invoice.id) == sale.id);
            let is_forgotten = invoice.is_some_and(|invoice| invoice.content.agreement.bill_to.is_none());
            if sale.customer.is_empty() && !is_forgotten {
                missing.push(Particular::Customer);
            }
        }
        if entry.registration.is_empty() {
            missing.push(Particular::Registration);
        }
        missing
    }

    /// Returns the margin and its tax: of a vehicle that was bought and sold under the scheme, and whose entry is complete.
    fn margin(&self, entry: &StockContent) -> Option<(Money, Money)> {
        let bought = entry.purchase.as_ref()?;
        let sold = entry.sale.as_ref()?.price?;
        if bought.vat_scheme != VatScheme::Margin || entry.vat_scheme != VatScheme::Margin || !entry.is_complete() {
            return None;
        }
        let margin = sum([sold, negative(bought.price)]);
        Some((margin, margin_vat(self.rate, margin)))
    }
}

/// Returns the credits of a line of an invoice.
fn credits_of<'a>(invoice: &'a Invoice, line: &'a BillLine) -> impl Iterator<Item = &'a NoteLine> {
    let notes = invoice.content.credit_notes.iter().flat_map(|note| &note.lines);
    notes.filter(|note| note.line == line.id)
}

/// Returns the purchase of a vehicle. It has one line.
fn purchase_of(purchase: &Purchase) -> Option<StockPurchase> {
    let content = &purchase.content;
    let line = content.lines.first()?;
    Some(StockPurchase {
        id: purchase.id,
        number: purchase.number,
        date: content.date,
        supplier_invoice: content.supplier_invoice.to_string(),
        supplier: content.bill_from.as_ref().map(name_of).unwrap_or_default(),
        vat_scheme: line.vat_scheme,
        price: line.gross,
        vat: line.vat,
    })
}

/// Returns the name of a party: a company may have no other.
fn name_of(party: &Party) -> String {
    let names = [&party.name, &party.company];
    let name = names.into_iter().map(|name| name.trim()).find(|name| !name.is_empty());
    name.unwrap_or_default().to_owned()
}

/// Returns an entry that describes a vehicle, and shows nothing else yet.
fn described(vehicle: &Vehicle) -> StockContent {
    let BilledVehicle {
        id,
        description,
        registration,
        vin,
        ..
    } = BilledVehicle::from(vehicle);
    StockContent {
        vehicle: id,
        registration,
        vin,
        description,
        vat_scheme: VatScheme::Margin,
        status: StockStatus::InStock,
        purchase: None,
        sale: None,
        margin: None,
        vat_due: None,
        missing: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use forecourt_billing::{InvoiceId, InvoiceNumber};
    use forecourt_kernel::{ContactId, Timestamp, Version};

    use super::*;

    #[test]
    fn the_tax_is_part_of_the_margin_and_a_loss_has_none() {
        for (margin, due) in [
            (299_500, "499.17"),
            (3, "0.01"),
            (2, "0.00"),
            (0, "0.00"),
            (-50_000, "0.00"),
        ] {
            let found = margin_vat(VatRate::from_hundredths(2_000), Money::from_minor(margin));
            assert_eq!(found.to_string(), due, "{margin}");
        }
    }
    /// Returns the entry of a car that is bought for 10,000.00, whose vehicle is gone, and that these invoices bill.
    fn entry_of(invoices: &[Invoice]) -> StockContent {
        let bought = crate::testing::a_stock_entry(1, VehicleId::new(21)).content;
        let facts = Facts {
            number: 1,
            vehicle: None,
            purchase: None,
            invoices,
            buyer: String::new(),
            rate: VatRate::from_hundredths(2_000),
        };
        facts.content(VehicleId::new(21), Some(&bought)).unwrap()
    }

    fn an_invoice(number: i64, gross: i64, credited: i64) -> Invoice {
        let mut content = forecourt_invoices::testing::a_draft_sale(ContactId::new(5), VehicleId::new(21));
        content.status = InvoiceStatus::Issued;
        if gross == credited {
            content.status = InvoiceStatus::Credited;
        }
        content.agreement.bill_to = Some(Party {
            name: "Amelia Hart".to_owned(),
            ..Party::default()
        });
        for line in &mut content.agreement.lines {
            line.vat_scheme = VatScheme::Margin;
            line.vat_rate = VatRate::ZERO;
            line.vat = Money::ZERO;
            line.gross = Money::from_minor(gross);
            line.net = line.gross;
            line.credited = Money::from_minor(credited);
        }
        Invoice {
            id: InvoiceId::new(number),
            number: Some(InvoiceNumber::new(number)),
            version: Version::FIRST,
            created: Timestamp::from_epoch_seconds(0),
            updated: Timestamp::from_epoch_seconds(0),
            content,
        }
    }

    #[test]
    fn a_margin_is_shown_below_zero_and_has_no_tax_then() {
        let profit = entry_of(&[an_invoice(1, 1_299_500, 0)]);
        assert_eq!(profit.status, StockStatus::Sold);
        assert_eq!(
            (profit.margin, profit.vat_due),
            (Some(Money::from_minor(299_500)), Some(Money::from_minor(49_917)))
        );
        let loss = entry_of(&[an_invoice(1, 1_299_500, 400_000)]);
        assert_eq!(
            (loss.margin, loss.vat_due),
            (Some(Money::from_minor(-100_500)), Some(Money::ZERO))
        );
    }

    #[test]
    fn what_is_credited_in_full_counts_as_unsold() {
        let credited = an_invoice(1, 1_299_500, 1_299_500);
        let unsold = entry_of(std::slice::from_ref(&credited));
        assert_eq!(
            (unsold.status, unsold.sale, unsold.margin, unsold.vat_due),
            (StockStatus::Removed, None, None, None)
        );
        let again = entry_of(&[an_invoice(2, 1_100_000, 0), credited]);
        let sale = again.sale.unwrap();
        assert_eq!(
            (sale.number, sale.price),
            (Some(InvoiceNumber::new(2)), Some(Money::from_minor(1_100_000)))
        );
    }
}
