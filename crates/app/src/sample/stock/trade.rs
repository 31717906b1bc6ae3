//! The value of vehicles, and the data on their stock.

use chrono::NaiveDate;
use forecourt_contacts::ContactType;
use forecourt_kernel::{Line, Money, Timestamp};
use forecourt_reference::{StockType, VehicleClass};
use forecourt_vehicles::{
    Appraisal, AppraisalCalculation, AppraisalConfirm, AppraisalDetails, ContactIdText, CostRow, CostRowId, CostRows,
    Data, LocationId, Reservation, ReservationMethod, Reservations, Sale, Stock as StockData, VehicleStatus,
    WordOrEmpty,
};
use rand::{Rng, RngExt};

use super::{
    build::Build,
    calendar::{date, day_of, days_after, days_between, moment},
    marks,
    models::Power,
    words::{COSTS, FUNDERS, JOBS, NOTES, ORIGINS, SUPPLIERS},
};
use crate::sample::{
    known::{ExistingRecords, KnownContact},
    pick::{any, chance, one, weighted, when},
};

const YEAR: i64 = 365;
const PENCE: i64 = 100;

/// Returns the part of a vehicle's value that remains after a year, per mille.
const fn kept_in_a_year(build: &Build) -> i64 {
    match (build.class, build.engine.power) {
        (VehicleClass::Car | VehicleClass::Crossover | VehicleClass::Van, Power::Electric) => 800,
        (VehicleClass::Car | VehicleClass::Crossover, _) => 845,
        (VehicleClass::Van | VehicleClass::Truck, _) => 850,
        (VehicleClass::Bike, _) => 885,
        (VehicleClass::Motorhome | VehicleClass::Farm, _) => 930,
        (VehicleClass::Caravan | VehicleClass::Plant, _) => 905,
    }
}

/// Returns a dealer's asking price in pounds: lower for each year, higher or lower for its mileage, and varied by 4 % either
/// way.
pub(super) fn value(rng: &mut impl Rng, build: &Build) -> i64 {
    let new = i64::from(build.model.price);
    let kept = kept_in_a_year(build);
    let age = i64::from(build.age());
    let mut value = new * PENCE;
    for _ in 0..age / YEAR {
        value = value * kept / 1_000;
    }
    value -= value * (1_000 - kept) * (age % YEAR) / (1_000 * YEAR);
    if age > 0 {
        // The loss of value on the first drive home.
        value = value * 94 / 100;
    }
    let run_percent = build.run_percent();
    value -= value * (i64::from(run_percent) - 100).clamp(-40, 40) / 400;
    value = value * rng.random_range(96..=104) / 100;
    asked((value / PENCE).max(new * 3 / 100))
}

/// Rounds to a price as adverts have it, such as 12,495 or 1,895.
fn asked(pounds: i64) -> i64 {
    let step = match pounds {
        ..5_000 => 100,
        5_000..40_000 => 500,
        _ => 1_000,
    };
    (pounds / step + 1) * step - 5
}

fn pounds(amount: i64) -> Option<Money> {
    Some(Money::from_minor(amount * PENCE))
}

/// The inputs of stock data apart from the vehicle.
pub(super) struct Terms<'a> {
    pub(super) kind: StockType,
    pub(super) status: VehicleStatus,
    /// Its asking price, in pounds.
    pub(super) price: i64,
    /// Its position among the records, from 0.
    pub(super) at: u64,
    /// The time at which it came into the books.
    pub(super) created: Timestamp,
    /// The current time.
    pub(super) now: Timestamp,
    /// Ids of the business's locations.
    pub(super) locations: &'a [String],
    pub(super) known: &'a ExistingRecords,
}

impl Terms<'_> {
    fn is_stock(&self) -> bool {
        matches!(self.kind, StockType::InStock | StockType::ToOrder)
    }

    fn contact(&self, rng: &mut impl Rng, kinds: &[ContactType]) -> Option<&KnownContact> {
        self.known.contact_before(rng, kinds, self.created)
    }

    /// Returns the last day on which something may have happened: the day before today, but not before it came into the books.
    fn last_day(&self, build: &Build) -> NaiveDate {
        days_after(day_of(self.now), -1).max(build.booked)
    }

    /// Returns a day within `days` after it came into the books, but not in the future.
    fn day(&self, rng: &mut impl Rng, build: &Build, days: std::ops::Range<i64>) -> NaiveDate {
        days_after(build.booked, rng.random_range(days)).min(self.last_day(build))
    }
}

/// Returns its stock data.
pub(super) fn stock(rng: &mut impl Rng, build: &Build, terms: &Terms<'_>) -> StockData {
    let vin = marks::vin(rng, build.model.make, chrono::Datelike::year(&build.registered));
    let tail = vin.as_ref().map_or("", |vin| &vin.as_str()[11..]);
    let mut stock = StockData {
        reference: format!("{}{tail}", &build.class.name()[..1]),
        number: format!("{:06}", terms.at + 1),
        location: WordOrEmpty(location(rng, terms)),
        notes: match terms.kind {
            StockType::Customer => (*one(rng, &JOBS)).to_owned().into(),
            _ => when(chance(rng, 15), one::<&str>(rng, &NOTES)).into(),
        },
        key_number: when(
            build.engine.power != Power::None,
            &format!("K{:04}", rng.random_range(0..10_000)),
        ),
        vin: WordOrEmpty(vin),
        ..StockData::default()
    };
    if terms.is_stock() {
        offer(rng, build, terms, &mut stock);
        bought(rng, build, terms, &mut stock);
    }
    stock
}

/// Returns its location: none before it has arrived, or after it has left.
fn location(rng: &mut impl Rng, terms: &Terms<'_>) -> Option<LocationId> {
    let gone = matches!(terms.status, VehicleStatus::Complete | VehicleStatus::Closed);
    let here = !gone && !matches!(terms.kind, StockType::ToOrder | StockType::Appraisal);
    let found = any(rng, terms.locations).filter(|_| here);
    found.map(|id| LocationId(id.clone()))
}

/// Sets its offer prices.
fn offer(rng: &mut impl Rng, build: &Build, terms: &Terms<'_>, stock: &mut StockData) {
    let &Terms { price, status, .. } = terms;
    let priced = status != VehicleStatus::Draft || chance(rng, 60);
    let nearly_new = i64::from(build.age()) < 2 * YEAR;
    let qualifies = build.is_commercial() || build.is_new();
    stock.vat = if build.is_commercial() { "Ex VAT" } else { "Inc VAT" }.to_owned();
    stock.vat_pricing = if qualifies { "VAT Qualifying" } else { "Marginal" }.to_owned();
    if build.is_new() {
        stock.stock_quantity = Some(rng.random_range(1..5));
    }
    let gone = matches!(status, VehicleStatus::Sold | VehicleStatus::Complete);
    if terms.kind == StockType::ToOrder && gone {
        stock.due_in_date = Some(date(terms.day(rng, build, 14..90)));
    } else if terms.kind == StockType::ToOrder {
        // An ordered vehicle is still to come.
        let ordered = terms.last_day(build);
        stock.due_in_date = Some(date(days_after(ordered, rng.random_range(14..120))));
    } else if status == VehicleStatus::Draft && chance(rng, 40) {
        stock.due_in_date = Some(date(days_after(terms.last_day(build), rng.random_range(2..15))));
    } else {
        stock.forecourt_date = Some(date(terms.day(rng, build, 0..10)));
    }
    if priced {
        stock.price_website = pounds(price);
        stock.price_channel = pounds(price);
    }
    if nearly_new {
        stock.price_rrp = pounds(i64::from(build.model.price) - 5).filter(|rrp| Some(*rrp) > stock.price_website);
    }
    if chance(rng, 15) {
        stock.price_reserve = pounds(*one(rng, &[99, 199, 250, 500]));
    }
}

/// Sets its purchase price, its costs since, and its funder.
fn bought(rng: &mut impl Rng, build: &Build, terms: &Terms<'_>, stock: &mut StockData) {
    let day = days_after(build.booked, -rng.random_range(0..6)).max(build.registered);
    let total = terms.price * PENCE * rng.random_range(80..92) / 100;
    // The price of a margin car shows no VAT.
    let (net, vat) = match (&*stock.vat_pricing, &*stock.vat) {
        ("VAT Qualifying", "Ex VAT") => (total, total / 5),
        ("VAT Qualifying", _) => (total - total / 6, total / 6),
        _ => (total, 0),
    };
    stock.purchase_price = Some(Money::from_minor(net));
    stock.purchase_price_vat = Some(Money::from_minor(vat));
    stock.purchase_price_total = Some(Money::from_minor(net + vat));
    stock.purchase_date = Some(date(day));
    stock.purchase_invoice = format!("P{:06}", terms.at + 1);
    stock.purchase_supplier_invoice = format!("{:06}", rng.random_range(0..1_000_000));
    stock.origin = (*one(rng, &ORIGINS)).to_owned();
    match terms.contact(rng, &[ContactType::Supplier, ContactType::Trade]) {
        Some(KnownContact { id, name, .. }) => {
            stock.purchase_supplier_id = Some(*id);
            stock.purchase_supplier.clone_from(name);
        }
        None => (*one(rng, &SUPPLIERS)).clone_into(&mut stock.purchase_supplier),
    }
    if !build.is_new() {
        // A vehicle on the forecourt is ready.
        let ready = stock.forecourt_date.map(|date| day_of(date.midnight()));
        let ready = ready.unwrap_or_else(|| terms.day(rng, build, 0..10));
        stock.purchase_cost_data = costs(rng, day, ready);
    }
    if chance(rng, 22) {
        match terms.contact(rng, &[ContactType::Finance]) {
            Some(KnownContact { id, name, .. }) => {
                stock.funding_provider_id = Some(*id);
                stock.funding_provider.clone_from(name);
            }
            None => (*one(rng, &FUNDERS)).clone_into(&mut stock.funding_provider),
        }
        stock.funding_provider_total = Some(Money::from_minor(net * 9 / 10));
    }
}

fn costs(rng: &mut impl Rng, bought: NaiveDate, ready: NaiveDate) -> CostRows {
    let wanted = rng.random_range(0..5_u32);
    let rows = (1..=wanted).map(|number| {
        let &(kind, supplier, (least, most)) = one(rng, &COSTS);
        let cost = rng.random_range(least * PENCE..most * PENCE);
        // Neither tests nor insurance bear VAT.
        let vat = if matches!(kind, "MOT" | "Warranty") {
            0
        } else {
            cost / 5
        };
        CostRow {
            kind: kind.to_owned(),
            supplier: supplier.to_owned(),
            cost: Some(Money::from_minor(cost)),
            vat: Some(Money::from_minor(vat)),
            invoice: format!("{:05}", rng.random_range(0..100_000)),
            reference: String::new(),
            date: Some(date(days_after(
                bought,
                rng.random_range(0..=i64::from(days_between(bought, ready))),
            ))),
            id: Some(CostRowId::Number(number)),
            total: Some(Money::from_minor(cost + vat)),
        }
    });
    CostRows(rows.collect())
}

/// Returns the state of the appraisal, if it is a vehicle on offer.
pub(super) fn appraisal(rng: &mut impl Rng, terms: &Terms<'_>) -> Appraisal {
    if terms.kind != StockType::Appraisal {
        return Appraisal::default();
    }
    let seller = terms.contact(rng, &[ContactType::Customer]);
    let mut appraisal = Appraisal {
        details: AppraisalDetails {
            customer_id: WordOrEmpty(seller.map(|seller| ContactIdText(seller.id))),
            customer: seller.map(|contact| contact.name.clone()).unwrap_or_default(),
        },
        ..Appraisal::default()
    };
    if terms.status == VehicleStatus::Added {
        return appraisal;
    }
    let offer = terms.price * rng.random_range(78..88) / 100 / 50 * 50;
    let appraised = terms
        .created
        .plus_seconds(rng.random_range(1_800..14_400))
        .min(terms.now);
    let decided = appraised
        .plus_seconds(rng.random_range(3_600..4 * 86_400))
        .min(terms.now);
    appraisal.calculation = AppraisalCalculation {
        offer: WordOrEmpty(pounds(offer)),
        finance_settlement: WordOrEmpty(if chance(rng, 20) { pounds(offer / 3) } else { None }),
    };
    appraisal.confirm = AppraisalConfirm {
        offer: WordOrEmpty(pounds(offer)),
        expiry: WordOrEmpty(Some(date(days_after(day_of(appraised), 7)))),
        appraised_at: Some(appraised),
        ..AppraisalConfirm::default()
    };
    let decision = match terms.status {
        VehicleStatus::Accepted => "accepted",
        VehicleStatus::Rejected => "rejected",
        _ => return appraisal,
    };
    appraisal.confirm.decision = decision.to_owned();
    appraisal.confirm.decision_at = Some(decided);
    if terms.status == VehicleStatus::Accepted {
        let more = *weighted(rng, &[(3, 0), (1, 100), (1, 250)]);
        appraisal.confirm.agreed_amount = WordOrEmpty(pounds(offer + more));
    }
    appraisal
}

/// Returns the reservation of a reserved vehicle, made at its last change. It has no deposit, so it needs no invoice.
pub(super) fn reservation(rng: &mut impl Rng, terms: &Terms<'_>, at: Timestamp) -> Reservations {
    let current = (terms.status == VehicleStatus::Reserved).then(|| Reservation {
        customer: terms.contact(rng, &[ContactType::Customer]).map(|customer| customer.id),
        method: ReservationMethod::NoPayment,
        deposit: Money::ZERO,
        transaction: Line::default(),
        date: at.date().midnight(),
        reserved_at: at,
        vat: false,
        invoice: None,
        made_by: None,
    });
    Reservations {
        current,
        former: Vec::new(),
    }
}

/// Returns the sale of a sold vehicle, made at its last change.
pub(super) fn sale(rng: &mut impl Rng, terms: &Terms<'_>, price: Option<Money>, at: Timestamp) -> Option<Sale> {
    let sold = matches!(terms.status, VehicleStatus::Sold | VehicleStatus::Complete);
    sold.then(|| Sale {
        customer: terms.contact(rng, &[ContactType::Customer]).map(|customer| customer.id),
        price,
        date: at.date(),
        at,
        handed_over: (terms.status == VehicleStatus::Complete).then_some(at),
        invoice: None,
    })
}

/// Returns the time of a vehicle's last change: its arrival in the books if nothing has happened to it since.
pub(super) fn touched(rng: &mut impl Rng, terms: &Terms<'_>, data: &Data) -> Timestamp {
    const HOUR: i64 = 3_600;
    const DAY: i64 = 24 * HOUR;
    let &Terms {
        status, created, now, ..
    } = terms;
    let costs = data.stock.purchase_cost_data.0.iter().filter_map(|row| row.date);
    let dated = costs.chain(data.stock.forecourt_date).chain(data.stock.due_in_date);
    let dated = dated.map(|day| moment(day_of(day.midnight())).plus_seconds(9 * HOUR));
    // Future dates, such as due dates, have not happened yet.
    let happened = dated.filter(|moment| *moment <= now).max();
    let confirm = &data.appraisal.confirm;
    let after = match status {
        VehicleStatus::Added => return created,
        VehicleStatus::Appraised => return confirm.appraised_at.unwrap_or(created),
        VehicleStatus::Accepted | VehicleStatus::Rejected => return confirm.decision_at.unwrap_or(created),
        VehicleStatus::Draft if happened.is_none() && chance(rng, 50) => return created,
        VehicleStatus::Draft => HOUR..4 * DAY,
        VehicleStatus::ForSale => HOUR..25 * DAY,
        VehicleStatus::Reserved => DAY..40 * DAY,
        VehicleStatus::Sold | VehicleStatus::Complete => 3 * DAY..90 * DAY,
        VehicleStatus::OnSite | VehicleStatus::Closed | VehicleStatus::InUse | VehicleStatus::Deleted => HOUR..10 * DAY,
    };
    let later = created.plus_seconds(rng.random_range(after));
    later
        .max(happened.unwrap_or(created))
        .min(now)
        .max(created.plus_seconds(1))
}
