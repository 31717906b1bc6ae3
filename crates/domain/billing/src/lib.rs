//! What invoices, orders, purchases and deals have in common: lines and their tax, parties, part exchanges, payments, credits,
//! and the numbers of documents (areas §10.1).
//!
//! Everything here is a pure function of values. [`read_lines`] turns what a caller sends into [`BillLine`]s, with the
//! [`LineFacts`] that a use case has read through [`BillingReader`]. The areas keep the results in records of their own.
//!
//! ```
//! use forecourt_billing::{LineChanges, LineFacts, LineSide, read_lines};
//! use forecourt_kernel::Country;
//!
//! let sent: LineChanges = serde_json::from_str(r#"{"type": "product", "description": "Delivery", "net": 19.99}"#)?;
//! let facts = LineFacts {
//!     side: LineSide::Sales,
//!     country: Country::GB,
//!     products: &[],
//!     vehicles: &Default::default(),
//!     nominal: "",
//! };
//! let lines = read_lines(vec![sent], facts).unwrap();
//! assert_eq!((lines[0].vat.to_string(), lines[0].gross.to_string()), ("4.00".into(), "23.99".into()));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod agreement;
mod amount;
mod commands;
mod credit;
mod facts;
mod forget;
mod ids;
mod line;
mod loan;
mod mails;
mod number;
mod part_exchange;
mod party;
mod payment;
mod printed;
mod sending;
mod size;
mod status;
mod totals;
mod vat;

pub use agreement::{
    Agreement, AgreementChanges, AgreementDefaults, AgreementPatch, FinanceChanges, Live, SaleFinance, check_day,
    legal_party, merge, products, validate_whole,
};
pub use amount::{Amount, Percent};
pub use commands::{
    Credit, CreditChanges, Issue, IssueChanges, NewPayment, PaymentChanges, Reversal, ReversalChanges, add_payment,
    day, nested_payment, payment_of, take,
};
pub use credit::{CreditError, CreditLine, CreditLineChanges, NoteLine, credit_lines};
pub use facts::{BilledContact, BilledVehicle, BillingReader, Product};
pub use forget::{forget_person_in_agreement, forget_person_in_document, redact_text};
pub use ids::{DealId, InvoiceId, OrderId, PurchaseId};
pub use line::{
    BillLine, LineChanges, LineFacts, LineKind, LineSide, MAX_LINES, NominalCode, SentKind, cut, read_lines,
    sum_faults, with_settlements,
};
pub use loan::{Instalments, Loan, annuity, minor_units};
pub use mails::MAILS;
pub use number::{CreditNumber, InvoiceNumber, NotANumber, OrderNumber, PurchaseCreditNumber, PurchaseNumber};
pub use part_exchange::{
    ExchangeFacts, ExchangeScheme, MAX_PART_EXCHANGES, PartExchange, PartExchangeChanges, allowances,
    read_part_exchanges,
};
pub use party::{BankAccount, LegalParty, Party, PartyAddress};
pub use payment::{
    MAX_PAYMENTS, Payment, PaymentKind, PaymentMethod, ReversalError, UnknownPaymentMethod, next_payment_id, paid,
    reversal,
};
pub use printed::{
    PrintedRecord, print_agreement, print_bank, print_legal_party, print_line, print_note_lines, print_part_exchange,
    print_party, print_payments, print_totals,
};
pub use sending::{OutgoingDocument, SendDocument, SentDocument};
pub use size::validate_shown_size;
pub use status::{BillStatus, MOVES, Move, StatusChoice, TransitionError, Trigger, UnknownBillStatus, next};
pub use totals::{Totals, negative, sum};
pub use vat::{InvalidVatRate, UnknownVatScheme, VatRate, VatScheme, VatSplit};

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
