//! Reservations: the contact that a vehicle is held for, and the deposit (contract, "Reservation"; decisions §7).

use std::{fmt, str::FromStr};

use forecourt_billing::{DealId, OrderId};
use forecourt_invoices::{CreditNumber, InvoiceId, InvoiceNumber, PaymentMethod};
use forecourt_kernel::{ContactId, Line, Money, Timestamp, fold};
use forecourt_reference::UnknownValue;
use serde::{Deserialize, Serialize, Serializer};

use crate::{Sale, Stock, Vehicle};

/// The payment method of a reservation's deposit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ReservationMethod {
    /// No payment: there is no deposit.
    #[serde(rename = "No Payment")]
    NoPayment,
    /// A transfer from bank to bank.
    #[serde(rename = "Bank Transfer")]
    BankTransfer,
    /// Notes and coins.
    Cash,
    /// A credit or debit card.
    Card,
    /// A cheque.
    Cheque,
    /// A finance provider.
    Finance,
}

impl ReservationMethod {
    /// Every method.
    pub const ALL: [Self; 6] = [
        Self::NoPayment,
        Self::BankTransfer,
        Self::Cash,
        Self::Card,
        Self::Cheque,
        Self::Finance,
    ];

    /// Returns the payment method of the deposit's invoice; `None` without a payment, when there is no invoice.
    pub const fn payment(self) -> Option<PaymentMethod> {
        match self {
            Self::NoPayment => None,
            Self::BankTransfer => Some(PaymentMethod::BankTransfer),
            Self::Cash => Some(PaymentMethod::Cash),
            Self::Card => Some(PaymentMethod::Card),
            Self::Cheque => Some(PaymentMethod::Cheque),
            Self::Finance => Some(PaymentMethod::Finance),
        }
    }

    /// Returns the name that callers and storage use.
    pub const fn name(self) -> &'static str {
        match self.payment() {
            None => "No Payment",
            Some(method) => method.name(),
        }
    }
}

const NAMES: [&str; 6] = {
    let mut names = [""; 6];
    let mut at = 0;
    while at < names.len() {
        names[at] = ReservationMethod::ALL[at].name();
        at += 1;
    }
    names
};

impl fmt::Display for ReservationMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reads the name, case-sensitively.
impl FromStr for ReservationMethod {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        let found = Self::ALL.into_iter().find(|method| method.name() == text);
        found.ok_or(UnknownValue(&NAMES))
    }
}

/// The invoice of a reservation's deposit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DepositInvoice {
    /// Its id, for the credit note.
    pub id: InvoiceId,
    /// Its number, for display.
    pub number: InvoiceNumber,
}

/// A reservation. Its serialised form is part of the vehicle's document: a new member needs `#[serde(default)]`, and no member is
/// ever renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reservation {
    /// The contact that it is for; `None` once the contact is deleted.
    pub customer: Option<ContactId>,
    /// The payment method of the deposit.
    pub method: ReservationMethod,
    /// The deposit including any tax, in the currency of the business's country; 0 for none.
    pub deposit: Money,
    /// The payer's or the terminal's reference of the payment; may be empty.
    pub transaction: Line,
    /// The time of the agreement, as the caller gave it; for a day its first moment in UTC.
    pub date: Timestamp,
    /// The time at which it was recorded.
    pub reserved_at: Timestamp,
    /// `true` if the sale of the vehicle carries value added tax, so that the deposit includes it ([`carries_vat`]).
    pub vat: bool,
    /// The invoice of the deposit, if one was raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invoice: Option<DepositInvoice>,
    /// The document that made it, if none of the vehicle's own operations did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<ReservationMaker>,
}

/// A document that reserves vehicles, and frees them again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReservationMaker {
    /// An order.
    Order(OrderId),
    /// A deal.
    Deal(DealId),
}

/// The way in which a reservation ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReservationEnd {
    /// It was cancelled.
    Cancelled,
    /// The vehicle was sold.
    Sold,
}

/// A former reservation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FormerReservation {
    /// The reservation.
    #[serde(flatten)]
    pub reservation: Reservation,
    /// The way in which it ended.
    pub end: ReservationEnd,
    /// The time at which it ended.
    pub ended_at: Timestamp,
    /// The credit note for its invoice, if it had one and was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credit_note: Option<CreditNumber>,
}

/// The current reservation of a vehicle and its former ones.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reservations {
    /// The current reservation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<Reservation>,
    /// The former ones, oldest first, at most [`Reservations::MAX_FORMER`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<FormerReservation>,
}

impl Reservations {
    /// Maximum number of former reservations that a vehicle keeps, so that its document stays within bounds. Older ones are
    /// dropped; their invoices stay.
    pub const MAX_FORMER: usize = 50;

    /// Returns `true` if there never was a reservation.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the current reservation and the former ones.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Reservation> {
        self.current
            .iter()
            .chain(self.former.iter().map(|former| &former.reservation))
    }

    /// Returns the current reservation and the former ones, for changes.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut Reservation> {
        let former = self.former.iter_mut().map(|former| &mut former.reservation);
        self.current.iter_mut().chain(former)
    }

    /// Turns the current reservation, if there is one, into a former one.
    pub(crate) fn end(&mut self, end: ReservationEnd, credit_note: Option<CreditNumber>, at: Timestamp) {
        let Some(reservation) = self.current.take() else {
            return;
        };
        self.former.push(FormerReservation {
            reservation,
            end,
            ended_at: at,
            credit_note,
        });
        let surplus = self.former.len().saturating_sub(Self::MAX_FORMER);
        self.former.drain(..surplus);
    }

    /// Returns the reservation that this sale ended.
    pub(crate) fn ended_by(&self, sale: &Sale) -> Option<&FormerReservation> {
        let last = self.former.last();
        last.filter(|last| last.end == ReservationEnd::Sold && last.ended_at == sale.at)
    }

    /// Makes the last former reservation the current one again.
    pub(crate) fn restore(&mut self) {
        self.current = self.former.pop().map(|former| former.reservation);
    }

    /// Returns the last reservation, if it was cancelled and none has followed.
    fn cancelled(&self) -> Option<&FormerReservation> {
        let last = self.former.last().filter(|_| self.current.is_none());
        last.filter(|last| last.end == ReservationEnd::Cancelled)
    }
}

/// Returns `true` if the sale of a vehicle carries value added tax. That is so if `stock.vat` calls it qualifying (and not, for
/// instance, `Non-qualifying`), or if `stock.vat_pricing` says that the price is `Inc VAT` or `Ex VAT`. Case and punctuation are
/// ignored. A vehicle sold under the margin scheme is neither.
pub fn carries_vat(stock: &Stock) -> bool {
    let status = words(&stock.vat);
    let qualifies = status.iter().any(|word| word == "qualifying")
        && !status.iter().any(|word| matches!(&**word, "non" | "not" | "no"));
    qualifies || matches!(words(&stock.vat_pricing).join(" ").as_str(), "inc vat" | "ex vat")
}

/// Returns the words of a text, without regard to case and punctuation.
pub(crate) fn words(text: &str) -> Vec<String> {
    let folded = fold(text);
    let words = folded.split(|char: char| !char.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The state of a vehicle's reservation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VehicleReservation))]
pub struct ReservationView<'a> {
    /// `true` if the vehicle is reserved.
    reserved: bool,
    /// `true` if the last reservation was cancelled and none has followed.
    cancelled: bool,
    /// Number of the credit note for the cancelled reservation's invoice; empty without one.
    #[serde(serialize_with = "number_or_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = ""))]
    credit_note: Option<CreditNumber>,
    /// Current reservation; null without one.
    #[cfg_attr(feature = "openapi", schema(required))]
    reservation: Option<ReservationDetails<'a>>,
}

/// A reservation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Reservation))]
pub struct ReservationDetails<'a> {
    /// Contact that it is for; null once the contact is deleted.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    customer: Option<ContactId>,
    /// Payment method of the deposit.
    method: ReservationMethod,
    /// Deposit including any tax.
    #[serde(serialize_with = "amount")]
    #[cfg_attr(feature = "openapi", schema(value_type = f64, minimum = 0, example = 99.5))]
    deposit: Money,
    /// The payer's or the terminal's reference of the payment; may be empty.
    transaction: &'a str,
    /// Time of the agreement, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    date: Timestamp,
    /// Time at which the reservation was recorded, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    reserved_at: Timestamp,
    /// `true` if the deposit includes value added tax.
    vat: bool,
    /// Number of the deposit's invoice; empty without one.
    #[serde(serialize_with = "number_or_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "INV-1"))]
    invoice: Option<InvoiceNumber>,
    /// Always empty, because a reservation with a credit note has ended.
    credit_note: &'static str,
}

/// Returns the state of a vehicle's reservation.
pub fn read_reservation(vehicle: &Vehicle) -> ReservationView<'_> {
    let Reservations { current, .. } = &vehicle.content.reservation;
    let cancelled = vehicle.content.reservation.cancelled();
    ReservationView {
        reserved: current.is_some(),
        cancelled: cancelled.is_some(),
        credit_note: cancelled.and_then(|former| former.credit_note),
        reservation: current.as_ref().map(ReservationDetails::new),
    }
}

impl<'a> ReservationDetails<'a> {
    pub(crate) fn new(reservation: &'a Reservation) -> Self {
        let Reservation {
            customer,
            method,
            deposit,
            transaction,
            date,
            reserved_at,
            vat,
            invoice,
            made_by: _,
        } = reservation;
        Self {
            customer: *customer,
            method: *method,
            deposit: *deposit,
            transaction: transaction.as_str(),
            date: *date,
            reserved_at: *reserved_at,
            vat: *vat,
            invoice: invoice.map(|invoice| invoice.number),
            credit_note: "",
        }
    }
}

fn number_or_empty<N: fmt::Display, S: Serializer>(number: &Option<N>, serializer: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => serializer.collect_str(number),
        None => serializer.serialize_str(""),
    }
}

/// Writes an amount as a number. The amount came from a JSON number, so its nearest floating-point number is written with the
/// amount's own decimals.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn amount<S: Serializer>(amount: &Money, serializer: S) -> Result<S::Ok, S::Error> {
    let minor = amount.minor();
    if minor % 100 == 0 {
        serializer.serialize_i64(minor / 100)
    } else {
        serializer.serialize_f64(minor as f64 / 100.0)
    }
}
