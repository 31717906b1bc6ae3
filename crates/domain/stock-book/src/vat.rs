//! The VAT figures of a period (areas §10.7). They are for the accountant, and no return.

use std::collections::BTreeMap;

use forecourt_accounts::Business;
use forecourt_billing::{BillLine, NoteLine, VatRate, VatScheme, negative, sum};
use forecourt_invoices::{Invoice, InvoiceKind, InvoiceStatus};
use forecourt_kernel::{Currency, Date, Money, ValidationErrors};
use forecourt_purchases::Purchase;
use serde::Serialize;

use crate::{StockBookError, StockEntry, VatReader, book::margin_vat};

/// The maximum number of days from the first day of a period to its last one.
const MAX_DAYS: u32 = 399;

/// A kind of documents in VAT figures.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum VatDocument {
    /// An invoice.
    Sale,
    /// A credit note of an invoice.
    Credit,
    /// A purchase.
    Purchase,
    /// A credit of a purchase.
    PurchaseCredit,
}

impl VatDocument {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Sale, Self::Credit, Self::Purchase, Self::PurchaseCredit];

    /// Returns the name in storage.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sale => "sale",
            Self::Credit => "credit",
            Self::Purchase => "purchase",
            Self::PurchaseCredit => "purchase_credit",
        }
    }
}

/// The lines of a document under one scheme and rate, and with one number in the stock book, added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VatLine {
    /// The kind of the document.
    pub kind: VatDocument,
    /// The number of the document.
    pub document: i64,
    /// The day of the document.
    pub date: Date,
    /// The scheme.
    pub vat_scheme: VatScheme,
    /// The rate.
    pub vat_rate: VatRate,
    /// The number in the stock book; `None` for lines of no such vehicle.
    pub stock_number: Option<i64>,
    /// The sum without tax.
    pub net: Money,
    /// The sum of the tax.
    pub vat: Money,
    /// The sum with tax.
    pub gross: Money,
}

/// Returns what an invoice and its credit notes have for VAT figures: nothing while it is a draft, and of a finance invoice, which
/// repeats another.
pub fn invoice_vat_lines(invoice: &Invoice) -> Vec<VatLine> {
    let content = &invoice.content;
    let counts = matches!(
        content.status,
        InvoiceStatus::Issued | InvoiceStatus::Paid | InvoiceStatus::Credited
    );
    let Some(number) = invoice
        .number
        .filter(|_| counts && content.kind != InvoiceKind::Finance)
    else {
        return Vec::new();
    };
    let lines = &content.agreement.lines;
    let mut found = document_lines(VatDocument::Sale, number.get(), content.agreement.date, lines);
    for note in &content.credit_notes {
        let number = note.number.get();
        found.extend(note_lines(VatDocument::Credit, number, note.date, &note.lines, lines));
    }
    found
}

/// Returns what a purchase and its credits have for VAT figures.
pub fn purchase_vat_lines(purchase: &Purchase) -> Vec<VatLine> {
    let content = &purchase.content;
    let counts = matches!(
        content.status,
        InvoiceStatus::Issued | InvoiceStatus::Paid | InvoiceStatus::Credited
    );
    let Some(number) = purchase.number.filter(|_| counts) else {
        return Vec::new();
    };
    let lines = &content.lines;
    let mut found = document_lines(VatDocument::Purchase, number.get(), content.date, lines);
    for note in &content.credit_notes {
        let number = note.number.get();
        found.extend(note_lines(
            VatDocument::PurchaseCredit,
            number,
            note.date,
            &note.lines,
            lines,
        ));
    }
    found
}

type Amounts = (VatScheme, VatRate, Option<i64>, [Money; 3]);

fn document_lines(kind: VatDocument, document: i64, date: Date, lines: &[BillLine]) -> Vec<VatLine> {
    let amounts = lines.iter().map(|line| {
        let amounts = [line.net, line.vat, line.gross];
        (line.vat_scheme, line.vat_rate, line.stock_number, amounts)
    });
    added_up(kind, document, date, amounts)
}

fn note_lines(kind: VatDocument, document: i64, date: Date, notes: &[NoteLine], lines: &[BillLine]) -> Vec<VatLine> {
    let amounts = notes.iter().map(|note| {
        let credited = lines.iter().find(|line| line.id == note.line);
        let stock_number = credited.and_then(|line| line.stock_number);
        (
            note.vat_scheme,
            note.vat_rate,
            stock_number,
            [note.net, note.vat, note.gross],
        )
    });
    added_up(kind, document, date, amounts)
}

fn added_up(kind: VatDocument, document: i64, date: Date, lines: impl Iterator<Item = Amounts>) -> Vec<VatLine> {
    let mut sums: BTreeMap<_, [Money; 3]> = BTreeMap::new();
    for (vat_scheme, vat_rate, stock_number, amounts) in lines {
        let added = sums
            .entry((vat_scheme, vat_rate, stock_number))
            .or_insert([Money::ZERO; 3]);
        for (sum_of, amount) in added.iter_mut().zip(amounts) {
            *sum_of = sum([*sum_of, amount]);
        }
    }
    let line = |((vat_scheme, vat_rate, stock_number), [net, vat, gross]): (_, [Money; 3])| VatLine {
        kind,
        document,
        date,
        vat_scheme,
        vat_rate,
        stock_number,
        net,
        vat,
        gross,
    };
    sums.into_iter().map(line).collect()
}

/// The documents of a kind in a period, under one scheme and rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VatSum {
    /// Their kind.
    pub kind: VatDocument,
    /// Their sums.
    pub total: VatTotal,
}

/// The sums of documents under one scheme and rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VatTotal {
    /// The scheme.
    pub vat_scheme: VatScheme,
    /// The rate in percent.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "20.00"))]
    pub vat_rate: VatRate,
    /// The sum without tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "416.67"))]
    pub net: Money,
    /// The sum of the tax that the documents show.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "83.33"))]
    pub vat: Money,
    /// The sum with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "500.00"))]
    pub gross: Money,
    /// The number of documents.
    pub documents: i64,
}

/// The margin lines of an entry of the stock book, less their credits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarginSum {
    /// The entry as it is now.
    pub entry: StockEntry,
    /// The sum of what is dated before the period.
    pub before: Money,
    /// The sum of what is dated until its end.
    pub until: Money,
}

impl MarginSum {
    /// Returns the tax due on a sum of margin lines: none of a vehicle that is not bought under the scheme, or whose entry is not
    /// complete, and none while the lines sum to 0.
    fn due(&self, rate: VatRate, sold: Money) -> Money {
        let content = &self.entry.content;
        let bought = content
            .purchase
            .as_ref()
            .filter(|purchase| purchase.vat_scheme == VatScheme::Margin && content.is_complete());
        match bought {
            Some(bought) if sold != Money::ZERO => margin_vat(rate, sum([sold, negative(bought.price)])),
            _ => Money::ZERO,
        }
    }
}

/// A period of days, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VatPeriod {
    from: Date,
    to: Date,
}

impl VatPeriod {
    /// Makes a period of at most 400 days.
    ///
    /// # Errors
    /// If its end (`to`) is before its beginning, or too far from it.
    pub fn new(from: Date, to: Date) -> Result<Self, ValidationErrors> {
        if to < from {
            return Err(ValidationErrors::one("to", "must not be before from"));
        }
        if to > from.days_later(MAX_DAYS) {
            return Err(ValidationErrors::one("to", "must be at most 399 days after from"));
        }
        Ok(Self { from, to })
    }
}

/// The tax on margins in a period.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VatMargin))]
pub struct MarginFigures {
    /// The number of vehicles whose tax due changed in the period.
    pub vehicles: i64,
    /// The amount by which it changed.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "499.17"))]
    pub vat_due: Money,
}

/// The VAT figures of a period.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VatFigures {
    /// The first day.
    pub from: Date,
    /// The last day.
    pub to: Date,
    /// The currency of all amounts.
    pub currency: Currency,
    /// The invoices, by scheme and rate.
    pub sales: Vec<VatTotal>,
    /// The credit notes.
    pub credits: Vec<VatTotal>,
    /// The purchases.
    pub purchases: Vec<VatTotal>,
    /// The credits of purchases.
    pub purchase_credits: Vec<VatTotal>,
    /// The tax under the margin scheme, which no document shows.
    pub margin: MarginFigures,
    /// The tax of sales less that of their credits, and that under the margin scheme.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "524.17"))]
    pub output_vat: Money,
    /// The tax of purchases less that of their credits.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "200.00"))]
    pub input_vat: Money,
    /// The first less the second.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "324.17"))]
    pub net_vat: Money,
}

/// Returns the VAT figures of a period. A vehicle's tax due is that of its lines and credits up to a day, so the figures of
/// adjoining periods add up, and a credit note counts in its own.
///
/// # Errors
/// [`StockBookError::Store`].
pub async fn vat_figures(
    store: &mut dyn VatReader,
    business: &Business,
    period: VatPeriod,
) -> Result<VatFigures, StockBookError> {
    let VatPeriod { from, to } = period;
    let sums = store.vat_sums(business.id, from, to).await?;
    let margins = store.margin_sums(business.id, from, to).await?;
    let of = |kind| {
        let mut totals: Vec<VatTotal> = sums
            .iter()
            .filter(|sum| sum.kind == kind)
            .map(|sum| sum.total)
            .collect();
        totals.sort_by_key(|total| (total.vat_scheme, std::cmp::Reverse(total.vat_rate)));
        totals
    };
    let margin = margin_figures(VatRate::standard(business.country), &margins);
    let [sales, credits, purchases, purchase_credits] = VatDocument::ALL.map(of);
    let vat = |totals: &[VatTotal]| sum(totals.iter().map(|total| total.vat));
    let output_vat = sum([vat(&sales), negative(vat(&credits)), margin.vat_due]);
    let input_vat = sum([vat(&purchases), negative(vat(&purchase_credits))]);
    Ok(VatFigures {
        from,
        to,
        currency: business.country.currency(),
        sales,
        credits,
        purchases,
        purchase_credits,
        margin,
        output_vat,
        input_vat,
        net_vat: sum([output_vat, negative(input_vat)]),
    })
}

fn margin_figures(rate: VatRate, margins: &[MarginSum]) -> MarginFigures {
    let changes = margins.iter().map(|margin| {
        let before = margin.due(rate, margin.before);
        sum([margin.due(rate, margin.until), negative(before)])
    });
    let changes: Vec<Money> = changes.filter(|change| *change != Money::ZERO).collect();
    MarginFigures {
        vehicles: i64::try_from(changes.len()).unwrap_or(i64::MAX),
        vat_due: sum(changes),
    }
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::VehicleId;

    use super::*;
    use crate::{Particular, StockContent, StockPurchase, StockStatus};

    const RATE: VatRate = VatRate::from_hundredths(2_000);

    fn day(text: &str) -> Date {
        text.parse().unwrap()
    }

    fn bought_for(price: i64, vat_scheme: VatScheme) -> StockEntry {
        StockEntry {
            number: 1,
            content: StockContent {
                vehicle: VehicleId::new(1),
                registration: "AB12 CDE".to_owned(),
                vin: String::new(),
                description: "2019 Ford Focus".to_owned(),
                vat_scheme,
                status: StockStatus::InStock,
                purchase: Some(StockPurchase {
                    id: forecourt_billing::PurchaseId::new(1),
                    number: None,
                    date: day("2026-01-01"),
                    supplier_invoice: String::new(),
                    supplier: "Ann Smith".to_owned(),
                    vat_scheme,
                    price: Money::from_minor(price),
                    vat: Money::ZERO,
                }),
                sale: None,
                margin: None,
                vat_due: None,
                missing: Vec::new(),
            },
        }
    }

    /// Returns the figures of a period of a car, with lines of these amounts on these days.
    fn figures(entry: &StockEntry, lines: &[(&str, i64)], from: &str, to: &str) -> (i64, String) {
        let (from, to) = (day(from), day(to));
        let until = |last: &dyn Fn(Date) -> bool| {
            let counted = lines.iter().filter(|(on, _)| last(day(on)));
            sum(counted.map(|(_, gross)| Money::from_minor(*gross)))
        };
        let margin = MarginSum {
            entry: entry.clone(),
            before: until(&|on| on < from),
            until: until(&|on| on <= to),
        };
        let MarginFigures { vehicles, vat_due } = margin_figures(RATE, &[margin]);
        (vehicles, vat_due.to_string())
    }

    #[test]
    fn a_credit_note_counts_in_its_own_period_and_adjoining_ones_add_up() {
        let car = bought_for(1_000_000, VatScheme::Margin);
        let lines = [
            ("2026-03-31", 1_299_500),
            ("2026-04-01", -100_000),
            ("2026-05-02", -1_199_500),
        ];
        let quarter = |from, to| figures(&car, &lines, from, to);
        assert_eq!(quarter("2026-01-01", "2026-03-31"), (1, "499.17".to_owned()));
        // 11,995.00 - 10,000.00 leaves 1,995.00, of which 332.50 is due.
        assert_eq!(quarter("2026-04-01", "2026-04-30"), (1, "-166.67".to_owned()));
        assert_eq!(quarter("2026-05-01", "2026-05-31"), (1, "-332.50".to_owned()));
        assert_eq!(
            quarter("2026-01-01", "2026-05-31"),
            (0, "0.00".to_owned()),
            "nothing is sold in the end"
        );
    }

    #[test]
    fn a_loss_and_a_car_outside_the_scheme_have_no_tax_on_a_margin() {
        let lines = [("2026-03-31", 900_000)];
        let loss = bought_for(1_000_000, VatScheme::Margin);
        assert_eq!(figures(&loss, &lines, "2026-01-01", "2026-12-31").0, 0);
        let taxed = bought_for(100_000, VatScheme::Standard);
        assert_eq!(figures(&taxed, &lines, "2026-01-01", "2026-12-31").0, 0);
        let mut incomplete = bought_for(100_000, VatScheme::Margin);
        incomplete.content.missing.push(Particular::Registration);
        assert_eq!(figures(&incomplete, &lines, "2026-01-01", "2026-12-31").0, 0);
    }

    #[test]
    fn a_period_has_at_most_four_hundred_days() {
        let from = day("2026-01-01");
        for (to, is_allowed) in [
            ("2026-01-01", true),
            ("2025-12-31", false),
            ("2027-02-04", true),
            ("2027-02-05", false),
        ] {
            assert_eq!(VatPeriod::new(from, day(to)).is_ok(), is_allowed, "{to}");
        }
    }
}
