//! The lines of a document: how callers send them, what they default to, and their amounts (areas §10.1).

use std::collections::{BTreeMap, BTreeSet};

use forecourt_kernel::{
    BoundedText, Country, Field, FromJson, InvalidValue, Line, Money, VehicleId, bounds::MAX_LINE_CHARS, from_line,
    from_object, quoted,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Amount, BilledVehicle, PartExchange, Percent, Product, VatRate, VatScheme, VatSplit, negative,
    part_exchange::taken, sum,
};

/// The maximum number of lines that a caller can give a document.
pub const MAX_LINES: usize = 200;

/// The maximum number of items of a line.
const MAX_QUANTITY: i64 = 9_999;

/// The purpose of a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = BillLineType))]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// The deposit of a reservation.
    Deposit,
    /// A vehicle that is sold, or bought.
    Vehicle,
    /// A product or service.
    Product,
    /// A correction, which may be below 0.
    Adjustment,
    /// A cost of the dealership.
    Cost,
    /// The finance that is owed on a vehicle given in part exchange.
    Settlement,
}

impl LineKind {
    /// Returns the name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deposit => "deposit",
            Self::Vehicle => "vehicle",
            Self::Product => "product",
            Self::Adjustment => "adjustment",
            Self::Cost => "cost",
            Self::Settlement => "settlement",
        }
    }
}

/// The purposes of lines in bodies of sales.
#[cfg(feature = "openapi")]
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "it declares a schema")]
enum SaleLineType {
    /// A vehicle that is sold.
    Vehicle,
    /// A product or service.
    Product,
    /// A correction, which may be below 0.
    Adjustment,
}

/// The purpose of a line that a caller sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SentKind {
    /// A vehicle that is sold.
    Vehicle,
    /// A product or service.
    Product,
    /// A correction, which may be below 0.
    Adjustment,
    /// A cost, in a purchase.
    Cost,
}

impl std::str::FromStr for SentKind {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "vehicle" => Ok(Self::Vehicle),
            "product" => Ok(Self::Product),
            "adjustment" => Ok(Self::Adjustment),
            "cost" => Ok(Self::Cost),
            "deposit" | "settlement" => Err("is made by a process"),
            _ => Err("must be one of vehicle, product, adjustment, cost"),
        }
    }
}

impl FromJson for SentKind {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        from_line(value)
    }
}

impl From<SentKind> for LineKind {
    fn from(kind: SentKind) -> Self {
        match kind {
            SentKind::Vehicle => Self::Vehicle,
            SentKind::Product => Self::Product,
            SentKind::Adjustment => Self::Adjustment,
            SentKind::Cost => Self::Cost,
        }
    }
}

/// A nominal code.
pub type NominalCode = BoundedText<32>;

/// A line, as callers send it. Of `gross`, `net`, `unit_gross` and `unit_net` exactly one is given, unless the vehicle or the
/// product has a price.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = BillLineBody))]
pub struct LineChanges {
    /// The purpose of the line: vehicle, product or adjustment.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "openapi", schema(value_type = SaleLineType, required))]
    #[serde(default)]
    pub kind: Field<SentKind>,
    /// Id of a product of the business's catalogue, which fills in whatever is left out.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Line>))]
    #[serde(default)]
    pub product: Field<Line>,
    /// Vehicle that the line is for; required of a vehicle's line.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    #[serde(default)]
    pub vehicle: Field<i64>,
    /// Description of the item.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Line>))]
    #[serde(default)]
    pub description: Field<Line>,
    /// Category of a cost, such as Valet or MOT; required of a cost.
    #[cfg_attr(feature = "openapi", schema(ignore))]
    #[serde(default)]
    pub category: Field<Line>,
    /// Number of items, 1 by default.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, minimum = 1, maximum = 9_999))]
    #[serde(default)]
    pub quantity: Field<i64>,
    /// Amount of the whole line with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Amount>))]
    #[serde(default)]
    pub gross: Field<Amount>,
    /// Amount of the whole line without tax.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Amount>))]
    #[serde(default)]
    pub net: Field<Amount>,
    /// Amount of one item with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Amount>))]
    #[serde(default)]
    pub unit_gross: Field<Amount>,
    /// Amount of one item without tax.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Amount>))]
    #[serde(default)]
    pub unit_net: Field<Amount>,
    /// VAT scheme.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<VatScheme>))]
    #[serde(default)]
    pub vat_scheme: Field<VatScheme>,
    /// VAT rate in percent, with the scheme standard alone; by default the country's standard rate.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Percent>))]
    #[serde(default)]
    pub vat_rate: Field<Percent>,
    /// Nominal code.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, max_length = 32))]
    #[serde(default)]
    pub nominal: Field<NominalCode>,
}

impl FromJson for LineChanges {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        from_object(value)
    }
}

/// A line of a document. Always `net + vat == gross`, and `credited` is between 0 and `gross`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = InvoiceLine))]
#[serde(from = "StoredLine")]
pub struct BillLine {
    /// Its number within the document, from 1.
    pub id: i64,
    /// The purpose of the line.
    #[serde(rename = "type")]
    pub kind: LineKind,
    /// Id of a product of the business's catalogue.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub product: Option<Line>,
    /// The vehicle that the line is for.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    pub vehicle: Option<VehicleId>,
    /// The vehicle's number in the stock book, frozen at issue.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub stock_number: Option<i64>,
    /// A description of the item.
    pub description: Line,
    /// Category of a cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub category: Option<Line>,
    /// The number of items. The amounts are for all of them together.
    pub quantity: i64,
    /// The amount without tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "416.67"))]
    pub net: Money,
    /// The VAT scheme.
    pub vat_scheme: VatScheme,
    /// The rate of value added tax, in percent.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "20.00"))]
    pub vat_rate: VatRate,
    /// The tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "83.33"))]
    pub vat: Money,
    /// The amount with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "500.00"))]
    pub gross: Money,
    /// The credited part of the amount with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "0.00"))]
    pub credited: Money,
    /// Nominal code; may be empty.
    #[cfg_attr(feature = "openapi", schema(value_type = String, max_length = 32))]
    pub nominal: Line,
}

/// A line as storage has it: lines that an earlier release wrote lack some members.
#[derive(Deserialize)]
struct StoredLine {
    id: i64,
    #[serde(rename = "type")]
    kind: LineKind,
    #[serde(default)]
    product: Option<Line>,
    vehicle: Option<VehicleId>,
    #[serde(default)]
    stock_number: Option<i64>,
    description: Line,
    #[serde(default)]
    category: Option<Line>,
    quantity: i64,
    net: Money,
    #[serde(default)]
    vat_scheme: Option<VatScheme>,
    vat_rate: VatRate,
    vat: Money,
    gross: Money,
    credited: Money,
    #[serde(default)]
    nominal: Line,
}

impl From<StoredLine> for BillLine {
    fn from(stored: StoredLine) -> Self {
        let StoredLine {
            id,
            kind,
            product,
            vehicle,
            stock_number,
            description,
            category,
            quantity,
            net,
            vat_scheme,
            vat_rate,
            vat,
            gross,
            credited,
            nominal,
        } = stored;
        let of_deposit = if vat_rate == VatRate::ZERO {
            VatScheme::Outside
        } else {
            VatScheme::Standard
        };
        Self {
            id,
            kind,
            product,
            vehicle,
            stock_number,
            description,
            category,
            quantity,
            net,
            vat_scheme: vat_scheme.unwrap_or(of_deposit),
            vat_rate,
            vat,
            gross,
            credited,
            nominal,
        }
    }
}

impl BillLine {
    /// Returns the part of the amount with tax that is not credited.
    pub fn creditable(&self) -> Money {
        sum([self.gross, negative(self.credited)])
    }
}

/// The amounts of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Price {
    Net(Money),
    Gross(Money),
}

impl Price {
    const fn amount(self) -> Money {
        match self {
            Self::Net(amount) | Self::Gross(amount) => amount,
        }
    }

    /// Splits the amount at a rate. Under a scheme without tax the rate is 0.
    fn split(self, rate: VatRate) -> (Money, Money, Money) {
        match self {
            Self::Gross(gross) => {
                let VatSplit { net, vat } = rate.split(gross);
                (net, vat, gross)
            }
            Self::Net(net) => {
                let vat = rate.on_net(net);
                (net, vat, sum([net, vat]))
            }
        }
    }
}

/// The kinds of lines that a caller can give a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineSide {
    /// What the dealership bills: vehicles, products and adjustments.
    Sales,
    /// What the dealership is billed: products, adjustments and costs.
    Purchases,
    /// A deal, whose vehicle has a line of its own: products and adjustments. They may add up to less
    /// than 0.
    Extras(Option<VehicleId>),
}

impl LineSide {
    fn refusal(self, kind: SentKind) -> Option<&'static str> {
        match (self, kind) {
            (Self::Sales | Self::Extras(_), SentKind::Cost) => Some("must not be cost, which only purchases have"),
            (Self::Purchases, SentKind::Vehicle) => {
                Some("must not be vehicle: POST /vehicles/{id}/acquisition buys a vehicle")
            }
            (Self::Extras(_), SentKind::Vehicle) => Some("must not be vehicle: the deal's vehicle has its own line"),
            _ => None,
        }
    }
}

/// The facts that lines are made of.
#[derive(Clone, Copy, Debug)]
pub struct LineFacts<'a> {
    /// The kinds of lines that are allowed.
    pub side: LineSide,
    /// The business's country, whose standard rate is the default.
    pub country: Country,
    /// The business's catalogue.
    pub products: &'a [Product],
    /// The vehicles that lines name.
    pub vehicles: &'a BTreeMap<VehicleId, BilledVehicle>,
    /// The nominal code of the contact; may be empty.
    pub nominal: &'a str,
}

/// Reads the lines of a document, with their defaults and amounts.
///
/// # Errors
/// Their faults, each with the path from the list.
pub fn read_lines(sent: Vec<LineChanges>, facts: LineFacts<'_>) -> Result<Vec<BillLine>, InvalidValue> {
    let sold: BTreeSet<VehicleId> = sent
        .iter()
        .filter(|line| line.kind == Field::Value(SentKind::Vehicle))
        .filter_map(|line| line.vehicle.value().copied().map(VehicleId::new))
        .chain(match facts.side {
            LineSide::Extras(vehicle) => vehicle,
            LineSide::Sales | LineSide::Purchases => None,
        })
        .collect();
    let mut seen = BTreeSet::new();
    let mut read = Vec::with_capacity(sent.len());
    let mut faults = InvalidValue::default();
    for (at, line) in sent.into_iter().enumerate() {
        match read_line(line, at, &sold, &mut seen, facts) {
            Ok(line) => read.push(line),
            Err(wrong) => faults.add_within(&at.to_string(), wrong),
        }
    }
    if faults.is_empty() && !matches!(facts.side, LineSide::Extras(_)) {
        faults.add_within("", sum_faults(&read));
    }
    if faults.is_empty() { Ok(read) } else { Err(faults) }
}

/// Returns the faults of the lines together: their sum, and that of a vehicle's margin lines, must not be below 0.
pub fn sum_faults(lines: &[BillLine]) -> InvalidValue {
    let mut faults = InvalidValue::default();
    if sum(lines.iter().map(|line| line.gross)) < Money::ZERO {
        faults.add("must not add up to less than 0");
    }
    let mut margins: BTreeMap<VehicleId, Money> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.vat_scheme == VatScheme::Margin) {
        if let Some(vehicle) = line.vehicle {
            let of_vehicle = margins.entry(vehicle).or_insert(Money::ZERO);
            *of_vehicle = sum([*of_vehicle, line.gross]);
        }
    }
    if margins.values().any(|&of_vehicle| of_vehicle < Money::ZERO) {
        faults.add("must not add up to less than 0 for a vehicle under the margin scheme");
    }
    faults
}

fn read_line(
    sent: LineChanges,
    at: usize,
    sold: &BTreeSet<VehicleId>,
    seen: &mut BTreeSet<VehicleId>,
    facts: LineFacts<'_>,
) -> Result<BillLine, InvalidValue> {
    let LineChanges {
        kind,
        product,
        vehicle,
        description,
        category,
        quantity,
        gross,
        net,
        unit_gross,
        unit_net,
        vat_scheme,
        vat_rate,
        nominal,
    } = sent;
    let mut faults = InvalidValue::default();
    let fault = |faults: &mut InvalidValue, name: &str, message: &'static str| {
        faults.add_within(name, InvalidValue::here(message));
    };

    if matches!(kind, Field::Absent | Field::Null) {
        fault(&mut faults, "type", "is required");
    }
    let kind = taken("type", kind, &mut faults);
    if let Some(refusal) = kind.and_then(|kind| facts.side.refusal(kind)) {
        fault(&mut faults, "type", refusal);
    }
    let is_vehicle = kind == Some(SentKind::Vehicle);

    let product = taken("product", product, &mut faults).filter(|id| !id.trim().is_empty());
    let listed = product
        .as_ref()
        .and_then(|id| facts.products.iter().find(|listed| *listed.id == **id));
    if let (Some(id), None) = (&product, listed) {
        let message = format!("names {}, which is no product of this business", quoted(id));
        faults.add_within("product", InvalidValue::here(message));
    }

    let was_vehicle_sent = !matches!(vehicle, Field::Absent | Field::Null);
    let vehicle = taken("vehicle", vehicle, &mut faults).map(VehicleId::new);
    let known = vehicle.and_then(|vehicle| facts.vehicles.get(&vehicle));
    match vehicle {
        None if is_vehicle && !was_vehicle_sent => fault(&mut faults, "vehicle", "is required of a vehicle's line"),
        Some(_) if known.is_none() => fault(&mut faults, "vehicle", "names no vehicle of this business"),
        Some(vehicle) if is_vehicle && !seen.insert(vehicle) => {
            fault(&mut faults, "vehicle", "has a line of its own already");
        }
        _ => {}
    }

    let quantity = taken("quantity", quantity, &mut faults).unwrap_or(1);
    if !(1..=MAX_QUANTITY).contains(&quantity) {
        fault(&mut faults, "quantity", "must be from 1 to 9999");
    } else if is_vehicle && quantity != 1 {
        fault(&mut faults, "quantity", "must be 1 for a vehicle");
    }

    let was_described = !matches!(description, Field::Absent | Field::Null);
    let description = taken("description", description, &mut faults);
    let description = match description {
        Some(text) if text.trim().is_empty() => {
            fault(&mut faults, "description", "must not be empty");
            None
        }
        None if was_described => None,
        Some(text) => Some(text),
        None => match (known, listed) {
            (Some(known), _) if is_vehicle => Some(cut(&known.description)),
            (_, Some(listed)) => Some(cut(&listed.name)),
            (Some(known), None) => Some(cut(&known.description)),
            (None, None) => {
                if !is_vehicle && product.is_none() {
                    fault(&mut faults, "description", "is required");
                }
                None
            }
        },
    };

    let was_category_sent = !matches!(category, Field::Absent | Field::Null);
    let category = taken("category", category, &mut faults).filter(|category| !category.trim().is_empty());
    if kind == Some(SentKind::Cost) && category.is_none() && (!was_category_sent || faults.is_empty()) {
        fault(&mut faults, "category", "is required of a cost");
    }

    let standard = VatRate::standard(facts.country);
    let sent_scheme = taken("vat_scheme", vat_scheme, &mut faults);
    let of_vehicle = known.filter(|known| sold.contains(&known.id)).map(|known| {
        if known.carries_vat {
            VatScheme::Standard
        } else if standard == VatRate::ZERO {
            VatScheme::Outside
        } else {
            VatScheme::Margin
        }
    });
    let of_product = listed.and_then(|listed| listed.vat_scheme);
    let scheme = sent_scheme.or(of_product).or(of_vehicle).unwrap_or(VatScheme::Standard);
    if scheme == VatScheme::Margin && known.is_some_and(|known| known.was_bought_with_vat) {
        fault(
            &mut faults,
            "vat_scheme",
            "must not be margin: the vehicle was bought with VAT shown",
        );
    }
    let sent_rate = taken("vat_rate", vat_rate, &mut faults).map(|rate| rate.0);
    if sent_rate.is_some() && scheme != VatScheme::Standard {
        fault(&mut faults, "vat_rate", "needs the scheme standard");
    }
    let rate = match scheme {
        VatScheme::Standard => {
            let of_product = listed.filter(|_| sent_scheme.is_none_or(|sent| sent == VatScheme::Standard));
            sent_rate
                .or(of_product.and_then(|listed| listed.vat_rate))
                .unwrap_or(standard)
        }
        _ => VatRate::ZERO,
    };

    let sent = [&gross, &net, &unit_gross, &unit_net];
    let amounts = sent
        .iter()
        .filter(|amount| !matches!(amount, Field::Absent | Field::Null))
        .count();
    let times = |amount: Amount| Money::from_minor(amount.0.minor().saturating_mul(quantity));
    let gross = taken("gross", gross, &mut faults).map(|amount| Price::Gross(amount.0));
    let net = taken("net", net, &mut faults).map(|amount| Price::Net(amount.0));
    let unit_gross = taken("unit_gross", unit_gross, &mut faults).map(|amount| Price::Gross(times(amount)));
    let unit_net = taken("unit_net", unit_net, &mut faults).map(|amount| Price::Net(times(amount)));
    let given = gross.or(net).or(unit_gross).or(unit_net);
    let default = || match (known, listed) {
        (Some(known), _) if is_vehicle => known.price.map(|price| match known.is_price_net {
            true => Price::Net(price),
            false => Price::Gross(price),
        }),
        (_, Some(listed)) if kind == Some(SentKind::Product) => {
            let gross = |gross: Money| Price::Gross(Money::from_minor(gross.minor().saturating_mul(quantity)));
            listed.gross.map(gross)
        }
        _ => None,
    };
    let price = match amounts {
        0 => default(),
        1 => given,
        _ => None,
    };
    match price {
        Some(price) if price.amount() < Money::ZERO && kind != Some(SentKind::Adjustment) => {
            faults.add("must not have an amount below 0 unless it is an adjustment");
        }
        None if amounts > 1 => faults.add("must have one of gross, net, unit_gross and unit_net only"),
        None if amounts == 0 && is_vehicle && known.is_none() => {}
        None if amounts == 0 => faults.add("needs one of gross, net, unit_gross and unit_net"),
        _ => {}
    }

    let nominal = match taken("nominal", nominal, &mut faults) {
        Some(code) => code.into_string(),
        None => listed
            .map(|listed| listed.nominal.clone())
            .filter(|code| !code.is_empty())
            .unwrap_or_else(|| facts.nominal.to_owned()),
    };
    let (true, Some(kind), Some(price)) = (faults.is_empty(), kind, price) else {
        return Err(faults);
    };
    let (net, vat, gross) = price.split(rate);
    Ok(BillLine {
        id: i64::try_from(at).unwrap_or_default() + 1,
        kind: kind.into(),
        product,
        vehicle,
        stock_number: known.and_then(|known| known.stock_number),
        description: description.unwrap_or_default(),
        category: category.filter(|_| kind == SentKind::Cost),
        quantity,
        net,
        vat_scheme: scheme,
        vat_rate: rate,
        vat,
        gross,
        credited: Money::ZERO,
        nominal: cut(&nominal),
    })
}

/// Cuts a text to the length of a line.
pub fn cut(text: &str) -> Line {
    let short: String = text.chars().filter(|char| *char != '\0').take(MAX_LINE_CHARS).collect();
    Line::new(short).unwrap_or_default()
}

/// Returns the caller's lines with a line behind them for each settlement of a part exchange.
pub fn with_settlements(lines: Vec<BillLine>, exchanges: &[PartExchange]) -> Vec<BillLine> {
    let mut lines = lines;
    lines.retain(|line| line.kind != LineKind::Settlement);
    for exchange in exchanges.iter().filter(|exchange| exchange.settlement > Money::ZERO) {
        let mark = match exchange.registration.trim() {
            "" => exchange.vin.trim(),
            registration => registration,
        };
        lines.push(BillLine {
            id: 0,
            kind: LineKind::Settlement,
            product: None,
            vehicle: None,
            stock_number: None,
            description: cut(&format!("Settlement of finance on {mark}")),
            category: None,
            quantity: 1,
            net: exchange.settlement,
            vat_scheme: VatScheme::Outside,
            vat_rate: VatRate::ZERO,
            vat: Money::ZERO,
            gross: exchange.settlement,
            credited: Money::ZERO,
            nominal: Line::default(),
        });
    }
    for (line, id) in lines.iter_mut().zip(1..) {
        line.id = id;
    }
    lines
}
