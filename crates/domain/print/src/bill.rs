//! The content of a bill, as an area fills it in.

use std::fmt;

use forecourt_kernel::{Country, Currency, Date, Money};

use crate::Language;

/// An invoice, a credit note, an order or a purchase, with everything that its printed form shows.
///
/// Amounts, parties and numbers are those of the record; nothing is computed here but the sums of the table of tax.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bill {
    /// Its kind, with the facts that only this kind has.
    pub kind: BillKind,
    /// The language of all texts that are not the caller's own.
    pub language: Language,
    /// The business's country, which decides the size of the paper.
    pub country: Country,
    /// The currency of every amount.
    pub currency: Currency,
    /// The number that the document was issued with; `None` for a draft.
    pub number: Option<String>,
    /// The record's id, by which a document without a number is known.
    pub record: i64,
    /// The word across each page.
    pub mark: Option<Mark>,
    /// The document's date.
    pub date: Date,
    /// The day by which it is to be paid.
    pub due_date: Option<Date>,
    /// The recipient's reference; may be empty.
    pub reference: String,
    /// The party that the document comes from: the business, or a purchase's supplier.
    pub issuer: Party,
    /// The party that the document is made out to.
    pub recipient: Party,
    /// The issuer's bank account; no credit note shows it.
    pub bank: Option<Bank>,
    /// The lines, in their order.
    pub lines: Vec<BillLine>,
    /// Vehicles taken in part exchange, if they are to be listed.
    pub part_exchanges: Vec<PartExchange>,
    /// The sums of the lines, and what they come to.
    pub totals: Totals,
    /// Payments, oldest first.
    pub payments: Vec<Payment>,
    /// Terms at the end of the document, of many paragraphs; may be empty.
    pub terms: String,
    /// The consumer's right to cancel a contract made at a distance.
    pub distance: Option<Distance>,
}

/// The kind of a bill, and the facts that only this kind has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BillKind {
    /// An invoice to a customer.
    Invoice,
    /// A note that credits an invoice, in part or in full.
    CreditNote {
        /// The number of the invoice.
        invoice: String,
        /// The reason; may be empty.
        reason: String,
    },
    /// A customer's order, which both parties sign.
    Order {
        /// The business's own title for orders. `Order` and the empty text are translated, any other is printed as it is.
        title: String,
        /// The last day of the offer.
        valid_until: Option<Date>,
    },
    /// An invoice that the business buys by.
    Purchase {
        /// The supplier's number of the invoice; may be empty.
        supplier_invoice: String,
    },
    /// A note that credits a purchase, in part or in full.
    PurchaseCredit {
        /// The number of the purchase.
        purchase: String,
        /// The reason; may be empty.
        reason: String,
    },
}

/// The word that stands across each page of a document that is not in force.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// It is not issued yet.
    Draft,
    /// It was cancelled.
    Cancelled,
    /// It was credited in full.
    Credited,
}

/// One side of a bill. Empty texts are left out of the document.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Party {
    /// The name of the person or business.
    pub name: String,
    /// The company that a person stands for.
    pub company: String,
    /// The lines of the address, the country's name with them.
    pub address: Vec<String>,
    /// The telephone number.
    pub phone: String,
    /// The number in the register of companies.
    pub company_number: String,
    /// The number for value added tax. With it, an invoice that charges the tax is a `VAT invoice`.
    pub vat_number: String,
    /// The reference number of the Financial Conduct Authority.
    pub fca_number: String,
}

/// The bank account to pay to. Empty texts are left out of the document.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Bank {
    /// The name of the account's holder.
    pub account_name: String,
    /// The sort code (United Kingdom).
    pub sort_code: String,
    /// The account number.
    pub account_number: String,
    /// The international account number.
    pub iban: String,
    /// The bank's international code.
    pub bic: String,
}

/// A line of a bill.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BillLine {
    /// The text.
    pub description: String,
    /// The number of units.
    pub quantity: u32,
    /// The vehicle's number in the stock book, printed below the description.
    pub stock_number: Option<i64>,
    /// The line's amount, with any tax.
    pub gross: Money,
    /// The tax in that amount.
    pub tax: LineTax,
}

/// Value added tax of a line. Only a charged line has an amount of tax, so none can be printed beside a margin line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineTax {
    /// Tax at a rate.
    Charged {
        /// The rate.
        rate: Rate,
        /// The amount without the tax.
        net: Money,
        /// The tax.
        vat: Money,
    },
    /// Zero-rated or exempt: it counts in the table of tax, at 0 %.
    Untaxed,
    /// Outside the scope of the tax.
    Outside,
    /// Sold under the margin scheme for second-hand goods.
    Margin,
}

impl LineTax {
    /// Tests that the line has its place in the table of tax, as neither a margin line nor one outside the tax has.
    pub(crate) fn is_in_scope(self) -> bool {
        matches!(self, Self::Charged { .. } | Self::Untaxed)
    }
}

/// A rate of tax in percent, exact to two decimals, written `20.00`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rate(u16);

impl Rate {
    /// No tax.
    pub const ZERO: Self = Self(0);

    /// Creates a rate from hundredths of a percent: 2000 is 20 %.
    pub const fn from_hundredths(hundredths: u16) -> Self {
        Self(hundredths)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

/// A vehicle taken in part exchange.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartExchange {
    /// Make, model and registration.
    pub description: String,
    /// The amount allowed for it.
    pub allowance: Money,
    /// The amount owed on it, which the business settles.
    pub settlement: Money,
}

/// The sums of a bill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Totals {
    /// Without tax. A document without lines in the scope of the tax does not show it.
    pub net: Money,
    /// The tax. A document without lines in the scope of the tax does not show it.
    pub vat: Money,
    /// With tax.
    pub gross: Money,
    /// The amounts below the total.
    pub balance: Balance,
}

/// The amounts below a bill's total.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Balance {
    /// No amounts, as below a credit note.
    None,
    /// The amounts of an invoice or a purchase.
    Due {
        /// The sum of the payments.
        paid: Money,
        /// The sum of the credit notes; not shown if it is zero.
        credited: Money,
        /// The rest to be paid.
        due: Money,
        /// The amount to be refunded; not shown if it is zero.
        refund_due: Money,
    },
    /// The amounts of an order.
    Payable {
        /// The allowances for part exchanges; not shown if they are zero.
        part_exchange: Money,
        /// Deposits paid; not shown if they are zero.
        deposit: Money,
        /// The rest, below zero if the customer receives it.
        payable: Money,
    },
}

/// A payment on a bill.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Payment {
    /// Its day.
    pub date: Date,
    /// The method's name in the API, such as `Bank Transfer`. Known names are translated.
    pub method: String,
    /// The amount, below zero for a refund or a reversal.
    pub amount: Money,
    /// Its reference; may be empty.
    pub reference: String,
}

/// The right to cancel a contract made at a distance within 14 days.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Distance {
    /// The last day to cancel, if the day of delivery is known.
    pub cancel_until: Option<Date>,
}
