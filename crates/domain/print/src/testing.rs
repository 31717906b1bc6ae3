//! A printer of plain text, and sample bills.

#![expect(clippy::expect_used, reason = "this is for tests, which fail so")]

use forecourt_kernel::{Country, Currency, Date, Money};

use crate::{
    Balance, Bank, Bill, BillKind, BillLine, Block, Column, Language, LineTax, Paper, Party, Payment, PrintError,
    Printer, Rate, Row, Table, Totals,
};

/// A printer whose files are the paper's text, a line for each line, row or sum. All is on one page.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextPrinter;

impl Printer for TextPrinter {
    fn print(&self, paper: &Paper) -> Result<Vec<u8>, PrintError> {
        Ok(text_of(paper).into_bytes())
    }
}

/// Returns the paper's text, a line for each line, row or sum.
pub fn text_of(paper: &Paper) -> String {
    let mut lines: Vec<String> = paper.watermark.iter().cloned().collect();
    for block in &paper.blocks {
        match block {
            Block::Title(text) | Block::Heading(text) | Block::Text(text, _) => lines.push(text.clone()),
            Block::Columns(columns) => lines.extend(columns.iter().flat_map(column_lines)),
            Block::Table(table) => lines.extend(table_lines(table)),
            Block::Sums(sums) => lines.extend(sums.iter().map(|sum| format!("{} {}", sum.label, sum.value))),
            Block::Signatures(labels) => lines.extend(labels.iter().map(|label| format!("________ {label}"))),
        }
    }
    lines.push(format!("{} {}", paper.foot, paper.language.page_number(1, 1)));
    lines.join("\n")
}

fn column_lines(column: &Column) -> Vec<String> {
    let rows = column.rows.iter().map(|row| match row {
        Row::Text(text) | Row::Strong(text) => text.clone(),
        Row::Pair(label, value) => format!("{label} {value}"),
    });
    std::iter::once(column.title.clone()).chain(rows).collect()
}

fn table_lines(table: &Table) -> Vec<String> {
    let headings: Vec<&str> = table.columns.iter().map(|column| &*column.heading).collect();
    let rows = table.rows.iter().map(|row| {
        let cells = row.iter().map(|cell| {
            let texts = std::iter::once(&cell.text).chain(&cell.notes);
            texts.map(String::as_str).collect::<Vec<_>>().join("; ")
        });
        cells.collect::<Vec<_>>().join(" | ")
    });
    std::iter::once(headings.join(" | ")).chain(rows).collect()
}

/// An issued invoice of a British dealer: a vehicle at 20 % and a deposit that is paid.
pub fn an_invoice() -> Bill {
    Bill {
        kind: BillKind::Invoice,
        language: Language::En,
        country: Country::GB,
        currency: Currency::GBP,
        number: Some("INV-12".to_owned()),
        record: 42,
        mark: None,
        date: date("2026-01-05"),
        due_date: Some(date("2026-02-04")),
        reference: "PO 77".to_owned(),
        issuer: Party {
            name: "Acme Cars Ltd".to_owned(),
            address: lines(&["1 High Street", "Leeds", "LS1 1AA", "United Kingdom"]),
            phone: "0113 496 0000".to_owned(),
            company_number: "01234567".to_owned(),
            vat_number: "GB123456789".to_owned(),
            fca_number: "654321".to_owned(),
            ..Party::default()
        },
        recipient: Party {
            name: "Zoë Šimić".to_owned(),
            company: "Šimić Deliveries".to_owned(),
            address: lines(&["2 Low Road", "York", "YO1 1AA", "United Kingdom"]),
            vat_number: "GB987654321".to_owned(),
            ..Party::default()
        },
        bank: Some(Bank {
            account_name: "Acme Cars Ltd".to_owned(),
            sort_code: "12-34-56".to_owned(),
            account_number: "12345678".to_owned(),
            iban: "GB82WEST12345698765432".to_owned(),
            bic: "WESTGB2L".to_owned(),
        }),
        lines: vec![charged_line(
            "2021 Ford Transit 2.0 AB21 CDE, 41000 miles",
            2_000,
            1_082_917,
            216_583,
        )],
        part_exchanges: Vec::new(),
        totals: Totals {
            net: Money::from_minor(1_082_917),
            vat: Money::from_minor(216_583),
            gross: Money::from_minor(1_299_500),
            balance: Balance::Due {
                paid: Money::from_minor(150_000),
                credited: Money::ZERO,
                due: Money::from_minor(1_149_500),
                refund_due: Money::ZERO,
            },
        },
        payments: vec![Payment {
            date: date("2026-01-05"),
            method: "Bank Transfer".to_owned(),
            amount: Money::from_minor(150_000),
            reference: "INV-11".to_owned(),
        }],
        terms: "The vehicle remains our property until it is paid for in full.".to_owned(),
        distance: None,
    }
}

/// An order for the vehicle of [`an_invoice`].
pub fn an_order() -> Bill {
    Bill {
        kind: BillKind::Order {
            title: "Order".to_owned(),
            valid_until: Some(date("2026-01-19")),
        },
        number: Some("ORD-3".to_owned()),
        due_date: None,
        bank: None,
        payments: Vec::new(),
        totals: Totals {
            balance: Balance::Payable {
                part_exchange: Money::from_minor(300_000),
                deposit: Money::from_minor(150_000),
                payable: Money::from_minor(849_500),
            },
            ..an_invoice().totals
        },
        ..an_invoice()
    }
}

/// An invoice for one vehicle under the margin scheme, with the number 17 in the stock book.
pub fn a_margin_invoice() -> Bill {
    let gross = Money::from_minor(1_299_500);
    Bill {
        lines: vec![margin_line("2019 Vauxhall Corsa AB19 CDE", 17, 1_299_500)],
        totals: Totals {
            net: gross,
            vat: Money::ZERO,
            gross,
            ..an_invoice().totals
        },
        ..an_invoice()
    }
}

/// A line with tax at a rate in hundredths of a percent; amounts are in minor units.
pub fn charged_line(description: &str, rate: u16, net: i64, vat: i64) -> BillLine {
    BillLine {
        description: description.to_owned(),
        quantity: 1,
        stock_number: None,
        gross: Money::from_minor(net + vat),
        tax: LineTax::Charged {
            rate: Rate::from_hundredths(rate),
            net: Money::from_minor(net),
            vat: Money::from_minor(vat),
        },
    }
}

/// A line under the margin scheme; the amount is in minor units.
pub fn margin_line(description: &str, stock_number: i64, gross: i64) -> BillLine {
    BillLine {
        description: description.to_owned(),
        quantity: 1,
        stock_number: Some(stock_number),
        gross: Money::from_minor(gross),
        tax: LineTax::Margin,
    }
}

fn date(text: &str) -> Date {
    text.parse().expect("it is a day")
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}
