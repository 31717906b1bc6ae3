use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use forecourt_kernel::{ContactId, Date, Money, ValidationErrors};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value as Json;

use crate::Vin;
use crate::declare::{FieldValue, Reader, Rules, Shown, ViewContext, section};
use crate::values::{FreeObject, LocationId, Scalar, Text, WordOrEmpty, text};

#[cfg(feature = "openapi")]
use crate::schema::{self, Side};
#[cfg(feature = "openapi")]
use forecourt_kernel::bounds::MAX_LINE_CHARS;
#[cfg(feature = "openapi")]
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

section! {
    /// The stock data and prices of a vehicle (contract, "data.stock").
    pub struct Stock: StockPatch {
        /// Stock reference.
        reference: String, simple, filter_text("reference");
        /// Stock number.
        number: String, simple, filter_text("number");
        /// Location: its id on write, its name on read.
        location: WordOrEmpty<LocationId>, simple, filter_location("location");
        /// Internal notes.
        notes: Text;
        /// Vehicle identification number: letters and digits, in upper case.
        vin: WordOrEmpty<Vin>, advert, filter_text("vin");
        /// Engine number.
        engine_number: String;
        /// Key number.
        key_number: String;
        /// Origin.
        origin: String;
        /// VAT status, for display.
        vat: String;
        /// VAT scheme of the price, for display.
        vat_pricing: String;
        /// Day on which it is due in.
        due_in_date: Option<Date>;
        /// Day on which it arrived on the forecourt.
        forecourt_date: Option<Date>;
        /// Advertised price.
        price_website: Option<Money>, simple, advert, filter_money("price");
        /// Price on marketplaces.
        price_channel: Option<Money>;
        /// Deposit for a reservation.
        price_reserve: Option<Money>;
        /// Starting price of an auction.
        price_auction_start: Option<Money>;
        /// Reserve price of an auction: the lowest at which it may end.
        price_auction_reserve: Option<Money>;
        /// Price for which it can be bought out of an auction.
        price_auction_buy_now: Option<Money>;
        /// Recommended retail price.
        price_rrp: Option<Money>, advert;
        /// Duration of an auction.
        price_auction_duration: String;
        /// Type of auction on platform_b; only for businesses that have that channel.
        price_auction_platform_b_type: WordOrEmpty<AuctionType>;
        /// `true` if the price is on application; written as data.setting.poa.
        price_poa: bool, simple, read_only;
        /// Funding provider.
        funding_provider: String, pricing;
        /// Contact id of the funding provider.
        funding_provider_id: Option<ContactId>, pricing;
        /// Funded amount.
        funding_provider_total: Option<Money>, pricing;
        /// Quantity in stock.
        stock_quantity: Option<u32>;
        /// Variants of a configurator.
        stock_variation: FreeObject;
        /// Day of purchase.
        purchase_date: Option<Date>, read_only;
        /// Number of the purchase invoice.
        purchase_invoice: String, read_only;
        /// Supplier that sold it to the dealership.
        purchase_supplier: String, read_only;
        /// Number of the supplier's invoice.
        purchase_supplier_invoice: String, read_only;
        /// Contact id of the supplier.
        purchase_supplier_id: Option<ContactId>, read_only;
        /// Purchase price without VAT.
        purchase_price: Option<Money>, read_only, pricing;
        /// VAT on the purchase price.
        purchase_price_vat: Option<Money>, read_only, pricing;
        /// Purchase price with VAT.
        purchase_price_total: Option<Money>, read_only, pricing;
        /// Sum of the costs, without VAT.
        purchase_cost: Option<Money>, read_only, pricing;
        /// VAT on the costs.
        purchase_cost_vat: Option<Money>, read_only, pricing;
        /// Sum of the costs, with VAT.
        purchase_cost_total: Option<Money>, read_only, pricing;
        /// Purchase price and costs together, without VAT.
        purchase_value: Option<Money>, read_only, pricing;
        /// VAT on purchase price and costs.
        purchase_value_vat: Option<Money>, read_only, pricing;
        /// Purchase price and costs together, with VAT.
        purchase_value_total: Option<Money>, read_only, pricing;
        /// Costs since the purchase; a write replaces them all. At most 50.
        purchase_cost_data: CostRows, pricing;
    }
}

impl Stock {
    /// Computes the totals of the costs, and of price and costs together.
    pub(crate) fn add_up_costs(&mut self) {
        let sum = |amount: fn(&CostRow) -> Option<Money>| {
            let minor: i64 = self
                .purchase_cost_data
                .0
                .iter()
                .filter_map(amount)
                .map(Money::minor)
                .sum();
            Money::from_minor(minor)
        };
        let (cost, vat) = (sum(|row| row.cost), sum(|row| row.vat));
        let with = |price: Option<Money>, cost: Money| Some(plus(price.unwrap_or(Money::ZERO), cost));
        self.purchase_cost = Some(cost);
        self.purchase_cost_vat = Some(vat);
        self.purchase_cost_total = Some(plus(cost, vat));
        self.purchase_value = with(self.purchase_price, cost);
        self.purchase_value_vat = with(self.purchase_price_vat, vat);
        self.purchase_value_total = with(self.purchase_price_total, plus(cost, vat));
    }
}

/// Adds two amounts. No sum of writable values comes near the limit: an amount has at most 2^53 minor units, and there are 50
/// rows.
const fn plus(one: Money, other: Money) -> Money {
    Money::from_minor(one.minor().saturating_add(other.minor()))
}

/// The types of auction on platform_b.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum AuctionType {
    /// Bids only.
    LiveAuction,
    /// Bids, or the price to buy now.
    AuctionWithBuyNow,
    /// The price to buy now only.
    BuyNow,
}

impl AuctionType {
    const ALL: [Self; 3] = [Self::LiveAuction, Self::AuctionWithBuyNow, Self::BuyNow];
    /// The channel that has these auctions.
    const CHANNEL: &'static str = "platform_b";

    const fn name(self) -> &'static str {
        match self {
            Self::LiveAuction => "Live Auction",
            Self::AuctionWithBuyNow => "Auction with Buy Now",
            Self::BuyNow => "Buy Now",
        }
    }
}

impl Scalar for AuctionType {
    fn parse(sent: &Json, rules: &Rules<'_>) -> Result<Self, Cow<'static, str>> {
        let found = Self::ALL.into_iter().find(|kind| sent.as_str() == Some(kind.name()));
        let kind = found.ok_or("must be Live Auction, Auction with Buy Now or Buy Now")?;
        if rules
            .catalogue
            .channels
            .iter()
            .any(|channel| channel.id == Self::CHANNEL)
        {
            Ok(kind)
        } else {
            Err("needs the channel platform_b, which this business does not have".into())
        }
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }

    #[cfg(feature = "openapi")]
    fn schema(_: Side, nullable: bool) -> ObjectBuilder {
        schema::words(Self::ALL.map(Self::name), nullable)
    }
}

section! {
    /// A cost since the purchase of the vehicle.
    pub struct CostRow: CostRowPatch {
        /// Type of the cost.
        kind as "type": String;
        /// Supplier that was paid.
        supplier: String;
        /// Cost without VAT.
        cost: Option<Money>;
        /// VAT on the cost.
        vat: Option<Money>;
        /// Number of the invoice.
        invoice: String;
        /// Reference.
        reference: String;
        /// Day of the cost.
        date: Option<Date>;
        /// Id of the row; a row without one gets a number.
        id: Option<CostRowId>;
        /// Cost with VAT.
        total: Option<Money>, echoed;
    }
}

/// The id of a cost row: a number, or the caller's own text. A number and its digits are the same id.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CostRowId {
    /// A number.
    Number(u32),
    /// A text.
    Word(String),
}

impl fmt::Display for CostRowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Word(word) => f.write_str(word),
        }
    }
}

impl Scalar for CostRowId {
    fn parse(sent: &Json, rules: &Rules<'_>) -> Result<Self, Cow<'static, str>> {
        match sent {
            Json::String(_) => Ok(Self::Word(text(sent)?.to_owned())),
            _ => u32::parse(sent, rules).map(Self::Number),
        }
    }

    fn show<S: Serializer>(&self, _: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    #[cfg(feature = "openapi")]
    fn schema(_: Side, _: bool) -> ObjectBuilder {
        use utoipa::openapi::schema::SchemaType;
        ObjectBuilder::new()
            .schema_type(SchemaType::from_iter([Type::Integer, Type::String, Type::Null]))
            .minimum(Some(0))
            .maximum(Some(u32::MAX))
            .max_length(Some(MAX_LINE_CHARS))
    }
}

/// The costs since the purchase of a vehicle.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CostRows(pub Vec<CostRow>);

impl CostRows {
    /// Maximum number of rows of a vehicle (contract, "Limits").
    pub const MAX: usize = 50;

    pub(crate) fn new(mut rows: Vec<CostRow>) -> Self {
        let taken: HashSet<_> = rows
            .iter()
            .filter_map(|row| row.id.as_ref())
            .map(CostRowId::to_string)
            .collect();
        let mut free = (1..)
            .map(CostRowId::Number)
            .filter(|id| !taken.contains(&id.to_string()));
        for row in &mut rows {
            if row.id.is_none() {
                row.id = free.next();
            }
            let minor = |amount: Option<Money>| amount.unwrap_or(Money::ZERO);
            row.total = Some(plus(minor(row.cost), minor(row.vat)));
        }
        Self(rows)
    }

    /// Returns the rows of purchases that a write adds or changes: only purchases do (areas §10.4).
    pub(crate) fn validate_billed(&self, known: &Self) -> ValidationErrors {
        let mut errors = ValidationErrors::new();
        for (at, row) in self.0.iter().enumerate() {
            if row.is_billed() && !known.0.contains(row) {
                let message = "is a purchase's, which alone changes it";
                errors.add(format!("data.stock.purchase_cost_data.{at}"), message);
            }
        }
        errors
    }

    /// Returns these rows with those of purchases among `known` that they leave out, each at its place.
    pub(crate) fn with_billed(self, known: &Self) -> Self {
        let mut rows = self.0;
        for (at, row) in known.0.iter().enumerate() {
            if row.is_billed() && !rows.contains(row) {
                rows.insert(at.min(rows.len()), row.clone());
            }
        }
        Self(rows)
    }
}

impl CostRow {
    /// Returns `true` if it is the row of a purchase's line, which its id names: `PUR-<number>-<line>`.
    fn is_billed(&self) -> bool {
        let Some(CostRowId::Word(id)) = &self.id else {
            return false;
        };
        let parts: Vec<&str> = id.split('-').collect();
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        matches!(parts.as_slice(), ["PUR", number, line] if is_number(number) && is_number(line))
    }
}

impl FieldValue for CostRows {
    type Patch = Self;

    fn read(sent: &Json, reader: &mut Reader<'_>) -> Option<Self> {
        let items = match sent {
            Json::Null => return Some(Self::default()),
            Json::Array(items) => items,
            _ => {
                reader.fault("must be an array");
                return None;
            }
        };
        let mut ids = HashSet::new();
        // One row too many is enough to refuse the request, so the rest is not read.
        let items = items.get(..=Self::MAX).unwrap_or(items);
        let mut rows = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            reader.member(at, |reader| {
                if item.is_null() {
                    reader.fault("must be an object");
                    return;
                }
                let mut row = CostRow::default();
                row.apply(CostRow::read(item, reader).unwrap_or_default());
                if row.id.as_ref().is_some_and(|id| !ids.insert(id.to_string())) {
                    reader.member("id", |reader| reader.fault("is another row's already"));
                }
                rows.push(row);
            });
        }
        Some(Self::new(rows))
    }

    fn apply(&mut self, patch: Self) {
        *self = patch;
    }

    fn show<S: Serializer>(&self, context: &ViewContext<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.0.len()))?;
        for value in &self.0 {
            rows.serialize_element(&Shown { value, context })?;
        }
        rows.end()
    }

    fn outline(context: &ViewContext<'_>, names: &mut String) {
        CostRow::outline(context, names);
    }

    #[cfg(feature = "openapi")]
    fn schema(side: Side) -> Schema {
        let mut rows = schema::array(CostRow::schema(side), side);
        rows.max_items = Some(Self::MAX);
        rows.into()
    }
}
