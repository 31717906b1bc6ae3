//! The rules by which a bill becomes a paper (decisions §10.8).

use std::collections::BTreeMap;

use forecourt_kernel::{Currency, Date, Money};

use crate::bill::{Balance, Bank, Bill, BillKind, BillLine, Distance, LineTax, Mark, Party, Rate, Totals};
use crate::paper::{Align, Block, Cell, Column, Paper, PaperSize, Row, Sum, Table, TableColumn, TextStyle};
use crate::texts::{METHODS, Texts};

impl Bill {
    /// Returns the heading, such as `VAT invoice`.
    pub fn heading(&self) -> &str {
        let texts = self.language.texts();
        match &self.kind {
            BillKind::Invoice if self.is_vat_invoice() => texts.vat_invoice,
            BillKind::Invoice => texts.invoice,
            BillKind::CreditNote { .. } => texts.credit_note,
            BillKind::Order { title, .. } if matches!(title.trim(), "" | "Order") => texts.order,
            BillKind::Order { title, .. } => title,
            BillKind::Purchase { .. } => texts.purchase,
            BillKind::PurchaseCredit { .. } => texts.purchase_credit,
        }
    }

    /// Returns the title for the metadata, such as `VAT invoice INV-12`.
    pub fn title(&self) -> String {
        format!("{} {}", self.heading(), self.shown_number())
    }

    /// Returns the name of the file: `INV-12.pdf`, or `draft-42.pdf` of a record without a number.
    pub fn file_name(&self) -> String {
        // The name stands in a header of HTTP and in file systems.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        match &self.number {
            Some(number) => format!("{}.pdf", number.replace(|c| !is_plain(c), "-")),
            None => format!("draft-{}.pdf", self.record),
        }
    }

    /// Typesets the bill.
    pub fn paper(&self) -> Paper {
        let texts = self.language.texts();
        let mut blocks = vec![
            Block::Title(self.heading().to_owned()),
            Block::Columns(vec![
                party(texts.from, &self.issuer, texts),
                party(texts.to, &self.recipient, texts),
                self.details(),
            ]),
        ];
        if let BillKind::CreditNote { reason, .. } | BillKind::PurchaseCredit { reason, .. } = &self.kind
            && !reason.trim().is_empty()
        {
            blocks.push(Block::Text(format!("{}: {reason}", texts.reason), TextStyle::Normal));
        }
        blocks.push(Block::Table(self.lines_table()));
        if self.lines.iter().any(|line| line.tax == LineTax::Margin) {
            blocks.push(Block::Text(texts.margin_scheme.to_owned(), TextStyle::Strong));
        }
        if !self.part_exchanges.is_empty() {
            blocks.push(Block::Heading(texts.part_exchanges.to_owned()));
            blocks.push(Block::Table(self.part_exchange_table()));
        }
        blocks.push(Block::Sums(self.sums()));
        if self.has_tax() {
            blocks.push(Block::Heading(texts.vat_by_rate.to_owned()));
            blocks.push(Block::Table(self.tax_table()));
        }
        if !self.payments.is_empty() {
            blocks.push(Block::Heading(texts.payments.to_owned()));
            blocks.push(Block::Table(self.payments_table()));
        }
        blocks.extend(self.bank_details());
        if let Some(Distance { cancel_until }) = self.distance {
            blocks.extend(right_to_cancel(cancel_until, texts));
        }
        if !self.terms.trim().is_empty() {
            blocks.push(Block::Heading(texts.terms.to_owned()));
            blocks.push(Block::Text(without_gaps(&self.terms), TextStyle::Small));
        }
        if let BillKind::Order { .. } = self.kind {
            let signatures = [texts.customer_signature, texts.dealer_signature];
            blocks.push(Block::Signatures(signatures.map(str::to_owned).to_vec()));
        }
        Paper {
            size: PaperSize::of(self.country),
            title: self.title(),
            author: self.issuer.name.clone(),
            language: self.language,
            watermark: self.mark.map(|mark| mark_text(mark, texts).to_owned()),
            head: self.title(),
            foot: self.issuer.name.clone(),
            blocks,
        }
    }

    /// Tests that tax is charged by a business that is registered for it.
    fn is_vat_invoice(&self) -> bool {
        let charges = |line: &BillLine| matches!(line.tax, LineTax::Charged { vat, .. } if vat != Money::ZERO);
        self.lines.iter().any(charges) && !self.issuer.vat_number.trim().is_empty()
    }

    /// Tests that a line is in the scope of the tax. Without one the document shows no tax at all, not even that it is zero.
    fn has_tax(&self) -> bool {
        self.lines.iter().any(|line| line.tax.is_in_scope())
    }

    fn shown_number(&self) -> String {
        match &self.number {
            Some(number) => number.clone(),
            None => filled(self.language.texts().draft, self.record),
        }
    }

    fn details(&self) -> Column {
        let texts = self.language.texts();
        let date = |date: Option<Date>| date.map(|date| date.to_string()).unwrap_or_default();
        let mut pairs = vec![(texts.number, self.shown_number())];
        match &self.kind {
            BillKind::CreditNote { invoice, .. } => pairs.push((texts.credited_invoice, invoice.clone())),
            BillKind::PurchaseCredit { purchase, .. } => pairs.push((texts.credited_purchase, purchase.clone())),
            BillKind::Purchase { supplier_invoice } => pairs.push((texts.supplier_invoice, supplier_invoice.clone())),
            BillKind::Invoice | BillKind::Order { .. } => {}
        }
        pairs.push((texts.date, self.date.to_string()));
        pairs.push((texts.due_date, date(self.due_date)));
        if let BillKind::Order { valid_until, .. } = self.kind {
            pairs.push((texts.valid_until, date(valid_until)));
        }
        pairs.push((texts.reference, self.reference.clone()));
        pairs.push((texts.currency, self.currency_code().to_owned()));
        Column {
            title: texts.details.to_owned(),
            rows: present_pairs(pairs)
                .map(|(label, value)| Row::Pair(label, value))
                .collect(),
        }
    }

    /// Returns the currency's code, or nothing where the country has no currency.
    fn currency_code(&self) -> &str {
        if self.currency == Currency::NONE {
            ""
        } else {
            self.currency.code()
        }
    }

    fn lines_table(&self) -> Table {
        let texts = self.language.texts();
        let columns = if self.has_tax() {
            vec![
                wide(texts.description),
                narrow(texts.quantity, 3),
                narrow(texts.vat_rate, 5),
                narrow(texts.net, 6),
                narrow(texts.vat, 6),
                narrow(texts.gross, 6),
            ]
        } else {
            vec![
                wide(texts.description),
                narrow(texts.quantity, 3),
                narrow(texts.amount, 6),
            ]
        };
        let rows = self.lines.iter().map(|line| self.line_row(line)).collect();
        Table { columns, rows }
    }

    fn line_row(&self, line: &BillLine) -> Vec<Cell> {
        let texts = self.language.texts();
        let BillLine {
            description,
            quantity,
            stock_number,
            gross,
            tax,
        } = line;
        let mut notes: Vec<String> = stock_number
            .map(|number| filled(texts.stock_number, number))
            .into_iter()
            .collect();
        if *tax == LineTax::Margin {
            notes.push(texts.margin_line.to_owned());
        }
        let mut row = vec![
            Cell {
                text: description.clone(),
                notes,
            },
            quantity.to_string().into(),
        ];
        if self.has_tax() {
            row.extend(match tax {
                LineTax::Charged { rate, net, vat } => {
                    [percent(*rate), net.to_string(), vat.to_string()].map(Cell::from)
                }
                LineTax::Untaxed => [percent(Rate::ZERO), gross.to_string(), Money::ZERO.to_string()].map(Cell::from),
                LineTax::Outside | LineTax::Margin => <[Cell; 3]>::default(),
            });
        }
        row.push(gross.to_string().into());
        row
    }

    fn part_exchange_table(&self) -> Table {
        let texts = self.language.texts();
        let rows = self.part_exchanges.iter().map(|vehicle| {
            vec![
                vehicle.description.clone().into(),
                vehicle.allowance.to_string().into(),
                vehicle.settlement.to_string().into(),
            ]
        });
        Table {
            columns: vec![
                wide(texts.description),
                narrow(texts.allowance, 8),
                narrow(texts.settlement, 8),
            ],
            rows: rows.collect(),
        }
    }

    fn sums(&self) -> Vec<Sum> {
        let texts = self.language.texts();
        let Totals {
            net,
            vat,
            gross,
            balance,
        } = self.totals;
        let sum = |label: &str, value: Money| Sum {
            label: label.to_owned(),
            value: value.to_string(),
            strong: false,
        };
        let strong = |label: &str, value: Money| Sum {
            label: format!("{label} {}", self.currency_code()).trim_end().to_owned(),
            value: value.to_string(),
            strong: true,
        };
        let some = |label: &str, value: Money| (value != Money::ZERO).then(|| sum(label, value));
        let mut sums = Vec::new();
        if self.has_tax() {
            sums.push(sum(texts.total_net, net));
            sums.push(sum(texts.total_vat, vat));
        }
        sums.push(strong(texts.total, gross));
        match balance {
            Balance::None => {}
            Balance::Due {
                paid,
                credited,
                due,
                refund_due,
            } => {
                sums.extend(some(texts.paid, paid));
                sums.extend(some(texts.credited, credited));
                sums.push(strong(texts.due, due));
                sums.extend(some(texts.refund_due, refund_due));
            }
            Balance::Payable {
                part_exchange,
                deposit,
                payable,
            } => {
                sums.extend(some(texts.part_exchange, part_exchange));
                sums.extend(some(texts.deposit, deposit));
                sums.push(strong(texts.payable, payable));
            }
        }
        sums
    }

    fn tax_table(&self) -> Table {
        let texts = self.language.texts();
        let rows = tax_by_rate(&self.lines).into_iter().map(|(rate, sums)| {
            let amounts = [sums.net, sums.vat, sums.gross].map(|amount| amount.to_string().into());
            std::iter::once(percent(rate).into()).chain(amounts).collect()
        });
        Table {
            columns: vec![
                TableColumn {
                    align: Align::Start,
                    ..narrow(texts.vat_rate, 6)
                },
                narrow(texts.net, 6),
                narrow(texts.vat, 6),
                narrow(texts.gross, 6),
            ],
            rows: rows.collect(),
        }
    }

    fn payments_table(&self) -> Table {
        let texts = self.language.texts();
        let rows = self.payments.iter().map(|payment| {
            let known = METHODS.iter().position(|method| *method == payment.method);
            let method = known.and_then(|place| texts.methods.get(place).copied());
            vec![
                payment.date.to_string().into(),
                method.unwrap_or(&payment.method).to_owned().into(),
                payment.reference.clone().into(),
                payment.amount.to_string().into(),
            ]
        });
        let text = |heading: &str, weight| TableColumn {
            align: Align::Start,
            ..narrow(heading, weight)
        };
        Table {
            columns: vec![
                text(texts.date, 6),
                text(texts.method, 9),
                text(texts.reference, 12),
                narrow(texts.amount, 7),
            ],
            rows: rows.collect(),
        }
    }

    fn bank_details(&self) -> Option<Block> {
        let texts = self.language.texts();
        // Nothing is paid by a note that credits.
        if let BillKind::CreditNote { .. } | BillKind::PurchaseCredit { .. } = self.kind {
            return None;
        }
        let Bank {
            account_name,
            sort_code,
            account_number,
            iban,
            bic,
        } = self.bank.as_ref()?;
        let pairs = present_pairs([
            (texts.account_name, account_name.clone()),
            (texts.sort_code, sort_code.clone()),
            (texts.account_number, account_number.clone()),
            (texts.iban, iban.clone()),
            (texts.bic, bic.clone()),
        ]);
        let rows: Vec<Row> = pairs.map(|(label, value)| Row::Pair(label, value)).collect();
        let title = texts.bank.to_owned();
        (!rows.is_empty()).then(|| Block::Columns(vec![Column { title, rows }]))
    }
}

/// The sums of the lines at one rate.
#[derive(Clone, Copy)]
struct TaxSums {
    net: Money,
    vat: Money,
    gross: Money,
}

/// Sums the lines in the scope of the tax by their rates, the highest first.
fn tax_by_rate(lines: &[BillLine]) -> Vec<(Rate, TaxSums)> {
    let mut by_rate = BTreeMap::new();
    for line in lines {
        let (rate, net, vat) = match line.tax {
            LineTax::Charged { rate, net, vat } => (rate, net, vat),
            LineTax::Untaxed => (Rate::ZERO, line.gross, Money::ZERO),
            LineTax::Outside | LineTax::Margin => continue,
        };
        let sums = by_rate.entry(rate).or_insert(TaxSums {
            net: Money::ZERO,
            vat: Money::ZERO,
            gross: Money::ZERO,
        });
        *sums = TaxSums {
            net: plus(sums.net, net),
            vat: plus(sums.vat, vat),
            gross: plus(sums.gross, line.gross),
        };
    }
    by_rate.into_iter().rev().collect()
}

fn plus(sum: Money, amount: Money) -> Money {
    Money::from_minor(sum.minor().saturating_add(amount.minor()))
}

fn party(title: &str, party: &Party, texts: &Texts) -> Column {
    let Party {
        name,
        company,
        address,
        phone,
        company_number,
        vat_number,
        fca_number,
    } = party;
    let is_present = |text: &&String| !text.trim().is_empty();
    let names = [name, company].into_iter().filter(is_present);
    let mut rows: Vec<Row> = names.map(|name| Row::Strong(name.clone())).collect();
    rows.extend(address.iter().filter(is_present).map(|line| Row::Text(line.clone())));
    let pairs = present_pairs([
        (texts.phone, phone.clone()),
        (texts.company_number, company_number.clone()),
        (texts.vat_number, vat_number.clone()),
        (texts.fca_number, fca_number.clone()),
    ]);
    rows.extend(pairs.map(|(label, value)| Row::Pair(label, value)));
    Column {
        title: title.to_owned(),
        rows,
    }
}

fn right_to_cancel(until: Option<Date>, texts: &Texts) -> [Block; 3] {
    let end = match until {
        Some(day) => texts.cancel_until.replace("{day}", &day.to_string()),
        None => texts.cancel_after_delivery.to_owned(),
    };
    [
        Block::Heading(texts.right_to_cancel.to_owned()),
        Block::Text(format!("{} {end}", texts.may_cancel), TextStyle::Normal),
        Block::Text(texts.how_to_cancel.to_owned(), TextStyle::Normal),
    ]
}

fn mark_text(mark: Mark, texts: &Texts) -> &'static str {
    match mark {
        Mark::Draft => texts.draft_mark,
        Mark::Cancelled => texts.cancelled_mark,
        Mark::Credited => texts.credited_mark,
    }
}

/// Returns the pairs whose value is not empty.
fn present_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> impl Iterator<Item = (String, String)> {
    let present = pairs.into_iter().filter(|(_, value)| !value.trim().is_empty());
    present.map(|(label, value)| (label.to_owned(), value))
}

/// Merges empty lines that follow each other, of which a text could fill hundreds of pages.
fn without_gaps(text: &str) -> String {
    let mut lines: Vec<&str> = text.trim().lines().map(str::trim_end).collect();
    lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    lines.join("\n")
}

fn filled(text: &str, number: i64) -> String {
    text.replace("{number}", &number.to_string())
}

fn percent(rate: Rate) -> String {
    format!("{rate} %")
}

fn wide(heading: &str) -> TableColumn {
    TableColumn {
        heading: heading.to_owned(),
        align: Align::Start,
        weight: 16,
    }
}

fn narrow(heading: &str, weight: u16) -> TableColumn {
    TableColumn {
        heading: heading.to_owned(),
        align: Align::End,
        weight,
    }
}
