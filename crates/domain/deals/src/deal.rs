//! The record of a deal: its content, sums and warnings (areas §10.12).

use forecourt_billing::{BillLine, DealId, InvoiceId, Loan, OrderId, PartExchange, VatRate, allowances, negative, sum};
use forecourt_kernel::{
    ContactId, Date, LeadId, Line, LongText, Money, SiteId, StaffId, Timestamp, VehicleId, Version,
};
use forecourt_reference::LeadChannel;
use serde::{Deserialize, Serialize};

use crate::stage::names;
use crate::{DealReason, DealStage, MovedBy};

names! {
    /// The kind of finance of a deal.
    FinanceType, UnknownFinanceType,
    "must be one of none, hp, pcp, lease, loan";
    /// No finance.
    None = "none",
    /// Hire purchase.
    Hp = "hp",
    /// Personal contract purchase.
    Pcp = "pcp",
    /// A lease.
    Lease = "lease",
    /// A loan.
    Loan = "loan",
}

names! {
    /// The state of the finance of a deal.
    FinanceStatus, UnknownFinanceStatus,
    "must be one of none, quoted, applied, approved, declined, signed, paid_out";
    /// Nothing was asked for.
    None = "none",
    /// There is a quotation.
    Quoted = "quoted",
    /// It is applied for.
    Applied = "applied",
    /// The provider has approved it.
    Approved = "approved",
    /// The provider has declined it.
    Declined = "declined",
    /// The customer has signed.
    Signed = "signed",
    /// The provider has paid.
    PaidOut = "paid_out",
}

names! {
    /// The way in which the car changes hands.
    DeliveryMethod, UnknownDeliveryMethod,
    "must be collection or delivery";
    /// The customer collects it.
    Collection = "collection",
    /// The dealership delivers it.
    Delivery = "delivery",
}

names! {
    /// Something about a deal that somebody should look at. It refuses nothing.
    DealWarning, UnknownDealWarning,
    "must be one of apr_missing, total_mismatch, amount_mismatch, commission_not_disclosed";
    /// There is a monthly payment without an APR.
    AprMissing = "apr_missing",
    /// The total payable is more than 1.00 off the sum of the payments.
    TotalMismatch = "total_mismatch",
    /// The customer would get money back: the balance is below 0.
    AmountMismatch = "amount_mismatch",
    /// There is a provider, and it is not noted that its commission was disclosed.
    CommissionNotDisclosed = "commission_not_disclosed",
}

/// The finance of a deal. Amounts that were not given are `None`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct DealFinance {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: FinanceType,
    /// The provider.
    pub provider: Option<ContactId>,
    /// The amount lent.
    pub amount: Option<Money>,
    /// The amount paid at once.
    pub deposit: Option<Money>,
    /// The number of months.
    pub term: Option<u32>,
    /// The APR in percent.
    pub apr: Option<VatRate>,
    /// Each monthly payment.
    pub monthly: Option<Money>,
    /// The payment at the end.
    pub final_payment: Option<Money>,
    /// A fee paid with the first instalment.
    pub admin_fee: Option<Money>,
    /// A fee paid with the last instalment.
    pub option_purchase_fee: Option<Money>,
    /// Everything that the customer pays.
    pub total_payable: Option<Money>,
    /// Its state.
    pub status: FinanceStatus,
    /// The provider's reference; may be empty.
    pub reference: Line,
    /// `true` if the customer was told that the dealership gets a commission.
    pub commission_disclosed: bool,
}

impl Default for DealFinance {
    fn default() -> Self {
        Self {
            kind: FinanceType::None,
            provider: None,
            amount: None,
            deposit: None,
            term: None,
            apr: None,
            monthly: None,
            final_payment: None,
            admin_fee: None,
            option_purchase_fee: None,
            total_payable: None,
            status: FinanceStatus::None,
            reference: Line::default(),
            commission_disclosed: false,
        }
    }
}

impl DealFinance {
    /// Returns the monthly payment and the total payable: those that were given, else those of hire purchase or personal contract
    /// purchase, computed as a vehicle's finance example is (decisions §7).
    pub fn figures(&self) -> (Option<Money>, Option<Money>) {
        let computed = self.computed();
        (
            self.monthly.or(computed.map(|(monthly, _)| monthly)),
            self.total_payable.or(computed.map(|(_, total)| total)),
        )
    }

    fn computed(&self) -> Option<(Money, Money)> {
        if !matches!(self.kind, FinanceType::Hp | FinanceType::Pcp) {
            return None;
        }
        let loan = Loan {
            credit: self.amount?.minor(),
            balloon: self.final_payment.unwrap_or(Money::ZERO).minor(),
            term: self.term?,
        };
        let instalments = loan.instalments(f64::from(self.apr?.hundredths()) / 100.0)?;
        let repaid = Money::from_minor(loan.repaid(instalments)?);
        let fees = [self.deposit, self.admin_fee, self.option_purchase_fee];
        let total = sum(fees.into_iter().flatten().chain([repaid]));
        Some((Money::from_minor(instalments.monthly), total))
    }

    /// Returns `true` if the total payable is more than 1.00 off the sum of the payments, as far as they are known.
    fn is_total_off(&self) -> bool {
        const TOLERANCE: i64 = 100;
        if self.monthly.is_none() && self.total_payable.is_none() {
            // Both are computed. The rounding of the instalments is in the first one.
            return false;
        }
        let (Some(monthly), Some(total), Some(term)) = (self.figures().0, self.figures().1, self.term) else {
            return false;
        };
        let instalments = Money::from_minor(monthly.minor().saturating_mul(i64::from(term)));
        let others = [
            self.deposit,
            self.final_payment,
            self.admin_fee,
            self.option_purchase_fee,
        ];
        let paid = sum(others.into_iter().flatten().chain([instalments]));
        sum([total, negative(paid)]).minor().saturating_abs() > TOLERANCE
    }
}

/// The hand-over of the car.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = DealDelivery))]
pub struct Delivery {
    /// The way in which the car changes hands.
    pub method: DeliveryMethod,
    /// The day on which it does.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub date: Option<Date>,
    /// The address to which it is delivered; may be empty.
    pub address: LongText,
    /// Notes; may be empty.
    pub notes: LongText,
}

impl Default for Delivery {
    fn default() -> Self {
        Self {
            method: DeliveryMethod::Collection,
            date: None,
            address: LongText::default(),
            notes: LongText::default(),
        }
    }
}

/// A move of a deal, or its beginning.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = DealHistoryEntry))]
pub struct HistoryEntry {
    /// The stage that it came to.
    pub stage: DealStage,
    /// The time of the move, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub at: Timestamp,
    /// api if a caller moved it, system if something else did.
    pub by: MovedBy,
    /// The reason that was given.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub reason: Option<DealReason>,
}

/// The largest number of entries in the history of a deal.
pub const MAX_HISTORY: usize = 100;

/// The content of a deal: everything except its id, its reference, its version and its timestamps.
///
/// Storage keeps its serialised form as one document: a new member needs `#[serde(default)]`, and no member is ever renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DealContent {
    /// The site; 0 is the main one.
    pub site: SiteId,
    /// The stage.
    pub stage: DealStage,
    /// The customer.
    pub contact: Option<ContactId>,
    /// The lead that it came of.
    pub lead: Option<LeadId>,
    /// The car.
    pub vehicle: Option<VehicleId>,
    /// The staff user who leads it.
    pub staff: Option<StaffId>,
    /// The channel by which it came.
    pub source: LeadChannel,
    /// The system that the deal is known to under `external_id`; may be empty.
    pub provider: Line,
    /// That system's id of the deal; may be empty.
    pub external_id: Line,
    /// The lines beside the vehicle's.
    pub lines: Vec<BillLine>,
    /// The price of the car with tax.
    pub price: Option<Money>,
    /// Set if a caller has chosen the price, so that another car does not change it.
    pub price_sent: bool,
    /// The cars given in part exchange.
    pub part_exchanges: Vec<PartExchange>,
    /// The finance.
    pub finance: DealFinance,
    /// The hand-over.
    pub delivery: Delivery,
    /// `true` if it is agreed to at a distance.
    pub distance: bool,
    /// The deposit that was paid when the invoice was issued; `None` before, while it is live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deposit: Option<Money>,
    /// The last order that it became.
    pub order: Option<OrderId>,
    /// The last invoice that it became.
    pub invoice: Option<InvoiceId>,
    /// The reason why it did not come about.
    pub reason: Option<DealReason>,
    /// The stages that it came to, newest first, at most [`MAX_HISTORY`].
    pub history: Vec<HistoryEntry>,
    /// Notes of the staff.
    pub notes: LongText,
}

impl DealContent {
    /// Makes an empty deal in its first stage.
    pub fn blank(stage: DealStage) -> Self {
        Self {
            site: SiteId::new(0),
            stage,
            contact: None,
            lead: None,
            vehicle: None,
            staff: None,
            source: LeadChannel::Api,
            provider: Line::default(),
            external_id: Line::default(),
            lines: Vec::new(),
            price: None,
            price_sent: false,
            part_exchanges: Vec::new(),
            finance: DealFinance::default(),
            delivery: Delivery::default(),
            distance: false,
            deposit: None,
            order: None,
            invoice: None,
            reason: None,
            history: Vec::new(),
            notes: LongText::default(),
        }
    }

    /// Returns the name under which another system knows the deal, if it has both parts.
    pub fn reported_as(&self) -> Option<(&str, &str)> {
        let is_known = !self.provider.is_empty() && !self.external_id.is_empty();
        is_known.then_some((self.provider.as_str(), self.external_id.as_str()))
    }

    /// Returns the contacts that the deal names beside its customer.
    pub fn other_contacts(&self) -> impl Iterator<Item = ContactId> {
        let lenders = self.part_exchanges.iter().filter_map(|exchange| exchange.lender);
        self.finance.provider.into_iter().chain(lenders)
    }

    /// Returns the sum of all lines with tax: the vehicle's, the caller's, and those of settlements.
    pub fn gross(&self) -> Money {
        let price = self.price.filter(|_| self.vehicle.is_some());
        let lines = self.lines.iter().map(|line| line.gross);
        sum(lines.chain(price).chain([self.settlement()]))
    }

    fn settlement(&self) -> Money {
        sum(self.part_exchanges.iter().map(|exchange| exchange.settlement))
    }

    /// Returns the contact and the vehicle.
    ///
    /// # Errors
    /// The names of those that are missing.
    pub fn parties(&self) -> Result<(ContactId, VehicleId), Vec<&'static str>> {
        match (self.contact, self.vehicle) {
            (Some(contact), Some(vehicle)) => Ok((contact, vehicle)),
            (contact, vehicle) => {
                let named = [("contact", contact.is_none()), ("vehicle", vehicle.is_none())];
                Err(named
                    .into_iter()
                    .filter(|(_, missing)| *missing)
                    .map(|(name, _)| name)
                    .collect())
            }
        }
    }

    /// Moves the deal to a stage.
    pub fn enter(&mut self, stage: DealStage, at: Timestamp, by: MovedBy, reason: Option<DealReason>) {
        self.stage = stage;
        let has_failed = matches!(stage, DealStage::Declined | DealStage::Fatal);
        self.reason = reason.clone().filter(|_| has_failed);
        let entry = HistoryEntry { stage, at, by, reason };
        self.history.insert(0, entry);
        self.history.truncate(MAX_HISTORY);
    }
}

/// The facts of other records that a deal shows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Surroundings {
    /// The amount that the contact has paid on deposits of the vehicle that stand.
    pub deposit: Money,
    /// `true` if the deal made the vehicle's present reservation.
    pub is_reserved: bool,
}

impl Default for Surroundings {
    fn default() -> Self {
        Self {
            deposit: Money::ZERO,
            is_reserved: false,
        }
    }
}

/// A deal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deal {
    /// Its id, unique across businesses.
    pub id: DealId,
    /// Its number within the business: 1, 2, 3 …
    pub reference: i64,
    /// The version, raised with each change.
    pub version: Version,
    /// The time of its creation.
    pub created: Timestamp,
    /// The time of its last change.
    pub updated: Timestamp,
    /// Everything else.
    pub content: DealContent,
    /// The facts of other records that it shows; blank as it is stored.
    pub around: Surroundings,
}

/// The sums of a deal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DealTotals {
    /// The sum of all lines with tax, settlements included.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "12995.00"))]
    pub gross: Money,
    /// The allowances for part exchanges.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "4000.00"))]
    pub part_exchange: Money,
    /// The finance that is owed on them.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "0.00"))]
    pub settlement: Money,
    /// The amount that the contact has paid on deposits of the vehicle.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "99.00"))]
    pub deposit: Money,
    /// The amount lent, unless the finance is none.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "6000.00"))]
    pub finance: Money,
    /// The amount that is left to pay; it may be below 0.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "2896.00"))]
    pub balance: Money,
}

impl Deal {
    /// Returns the sums.
    pub fn totals(&self) -> DealTotals {
        let content = &self.content;
        let gross = content.gross();
        let part_exchange = allowances(&content.part_exchanges);
        let deposit = content.deposit.unwrap_or(self.around.deposit);
        let finance = match content.finance.kind {
            FinanceType::None => Money::ZERO,
            _ => content.finance.amount.unwrap_or(Money::ZERO),
        };
        DealTotals {
            gross,
            part_exchange,
            settlement: content.settlement(),
            deposit,
            finance,
            balance: sum([gross, negative(part_exchange), negative(deposit), negative(finance)]),
        }
    }

    /// Returns what somebody should look at.
    pub fn warnings(&self) -> Vec<DealWarning> {
        let DealContent { finance, stage, .. } = &self.content;
        let is_undisclosed = finance.provider.is_some() && !finance.commission_disclosed && stage.is_financed();
        [
            (
                DealWarning::AprMissing,
                finance.monthly.is_some() && finance.apr.is_none(),
            ),
            (DealWarning::TotalMismatch, finance.is_total_off()),
            (DealWarning::AmountMismatch, self.totals().balance < Money::ZERO),
            (DealWarning::CommissionNotDisclosed, is_undisclosed),
        ]
        .into_iter()
        .filter(|(_, applies)| *applies)
        .map(|(warning, _)| warning)
        .collect()
    }

    /// Returns the deal with its version and time of change advanced.
    pub(crate) fn changed_at(self, now: Timestamp) -> Self {
        Self {
            version: self.version.next(),
            // If the clock was set back, the change is still not older than the record.
            updated: now.max(self.created),
            ..self
        }
    }

    /// Returns the version at which the deal is shown with its surroundings.
    pub fn shown_version(&self) -> Version {
        match self.around {
            around if around == Surroundings::default() => self.version,
            around => self.version.shown_with(around),
        }
    }
}
