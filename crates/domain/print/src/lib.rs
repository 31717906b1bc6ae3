//! Printed documents of a dealership: invoices, credit notes, orders and purchases.
//!
//! A [`Bill`] holds all that such a document shows. [`Bill::paper`] applies the rules of decisions §10.8 to it: the title, the
//! table of tax, the statement of the margin scheme, the mark across a draft, the notice of the right to cancel. The result is
//! a [`Paper`], neutral content that an adapter behind the port [`Printer`] lays out on pages.
//!
//! With the feature `testing` the crate has sample bills, and a printer that writes the text alone.
//!
//! ```
//! use forecourt_print::Printer as _;
//! use forecourt_print::testing::{TextPrinter, an_invoice};
//!
//! let bill = an_invoice();
//! assert_eq!(bill.title(), "VAT invoice INV-12");
//! let text = String::from_utf8(TextPrinter.print(&bill.paper())?)?;
//! assert!(text.contains("Balance due GBP 11495.00"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bill;
mod language;
mod paper;
#[cfg(feature = "testing")]
pub mod testing;
mod texts;
mod typeset;

pub use bill::{
    Balance, Bank, Bill, BillKind, BillLine, Distance, LineTax, Mark, PartExchange, Party, Payment, Rate, Totals,
};
pub use language::Language;
pub use paper::{
    Align, Block, Cell, Column, Paper, PaperSize, PrintError, Printer, Row, Sum, Table, TableColumn, TextStyle,
};

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
