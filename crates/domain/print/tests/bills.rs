//! Tests of what a bill shows on paper, in the text that the printer for tests writes.

use forecourt_kernel::{Currency, Money};
use forecourt_print::testing::{
    TextPrinter, a_margin_invoice, an_invoice, an_order, charged_line, margin_line, text_of,
};
use forecourt_print::{
    Balance, Bank, Bill, BillKind, BillLine, Block, Distance, Language, LineTax, Mark, PaperSize, PartExchange, Party,
    Payment, Printer as _, Rate, Totals,
};
use proptest::prelude::*;

fn text(bill: &Bill) -> String {
    text_of(&bill.paper())
}

fn has_line(bill: &Bill, line: &str) -> bool {
    text(bill).lines().any(|printed| printed == line)
}

#[track_caller]
fn assert_line(bill: &Bill, line: &str) {
    assert!(has_line(bill, line), "{line:?} is not a line of\n{}", text(bill));
}

fn in_language(language: Language, bill: Bill) -> Bill {
    Bill { language, ..bill }
}

fn line_of(tax: LineTax) -> BillLine {
    BillLine {
        tax,
        ..margin_line("A thing", 17, 10_000)
    }
}

fn of_kind(kind: BillKind) -> Bill {
    Bill { kind, ..an_invoice() }
}

fn credit_note() -> BillKind {
    BillKind::CreditNote {
        invoice: "INV-12".to_owned(),
        reason: "The mirror was broken".to_owned(),
    }
}

fn order(title: &str) -> BillKind {
    BillKind::Order {
        title: title.to_owned(),
        valid_until: None,
    }
}

fn purchase() -> BillKind {
    BillKind::Purchase {
        supplier_invoice: "S/77".to_owned(),
    }
}

#[test]
fn each_kind_has_its_heading_in_each_language() {
    let purchase_credit = BillKind::PurchaseCredit {
        purchase: "PUR-4".to_owned(),
        reason: String::new(),
    };
    let cases = [
        (BillKind::Invoice, ["VAT invoice", "Rechnung", "Facture"]),
        (credit_note(), ["Credit note", "Gutschrift", "Avoir"]),
        (order("Order"), ["Order", "Bestellung", "Bon de commande"]),
        (order(""), ["Order", "Bestellung", "Bon de commande"]),
        (order("Sales agreement"), ["Sales agreement"; 3]),
        (purchase(), ["Purchase invoice", "Einkaufsbeleg", "Facture d'achat"]),
        (
            purchase_credit,
            [
                "Purchase credit note",
                "Gutschrift zum Einkaufsbeleg",
                "Avoir sur achat",
            ],
        ),
    ];
    for (kind, headings) in cases {
        for (language, heading) in Language::ALL.into_iter().zip(headings) {
            let bill = in_language(language, of_kind(kind.clone()));
            assert_eq!(bill.heading(), heading);
            assert_eq!(bill.paper().blocks.first(), Some(&Block::Title(heading.to_owned())));
            assert_eq!(bill.paper().title, format!("{heading} INV-12"));
        }
    }
}

#[test]
fn an_invoice_is_a_vat_invoice_if_a_registered_business_charges_the_tax() {
    let zero_rated = charged_line("Books", 0, 10_000, 0);
    let unregistered = Party {
        vat_number: " ".to_owned(),
        ..an_invoice().issuer
    };
    let cases = [
        (an_invoice(), "VAT invoice"),
        (a_margin_invoice(), "Invoice"),
        (
            Bill {
                issuer: unregistered,
                ..an_invoice()
            },
            "Invoice",
        ),
        (
            Bill {
                lines: vec![zero_rated, line_of(LineTax::Untaxed), line_of(LineTax::Outside)],
                ..an_invoice()
            },
            "Invoice",
        ),
    ];
    for (bill, heading) in cases {
        assert_eq!(bill.heading(), heading);
    }
    let mut mixed = a_margin_invoice();
    mixed.lines.extend(an_invoice().lines);
    assert_eq!(mixed.heading(), "VAT invoice");
}

#[test]
fn a_margin_line_shows_its_stock_number_and_no_tax() {
    for (language, line, statement) in [
        (
            Language::En,
            "2019 Vauxhall Corsa AB19 CDE; Stock number 17; Margin scheme | 1 | 12995.00",
            "Margin scheme - second hand goods",
        ),
        (
            Language::De,
            "2019 Vauxhall Corsa AB19 CDE; Bestandsnummer 17; Differenzbesteuerung | 1 | 12995.00",
            "Gebrauchtgegenstände/Sonderregelung (Differenzbesteuerung)",
        ),
        (
            Language::Fr,
            "2019 Vauxhall Corsa AB19 CDE; Numéro de stock 17; Régime de la marge | 1 | 12995.00",
            "Régime particulier - Biens d'occasion",
        ),
    ] {
        let bill = in_language(language, a_margin_invoice());
        assert_line(&bill, line);
        assert_line(&bill, statement);
    }
    assert!(!text(&an_invoice()).contains("Margin scheme"));
}

#[test]
fn a_document_of_margin_and_outside_lines_alone_has_no_word_of_tax_but_the_numbers() {
    let bill = Bill {
        lines: vec![line_of(LineTax::Margin), line_of(LineTax::Outside)],
        ..a_margin_invoice()
    };
    for (language, tax) in [(Language::En, "VAT"), (Language::De, "USt"), (Language::Fr, "TVA")] {
        let printed = text(&in_language(language, bill.clone()));
        let with_tax: Vec<&str> = printed.lines().filter(|line| line.contains(tax)).collect();
        assert_eq!(with_tax.len(), 2, "the numbers of both parties in\n{printed}");
        assert!(
            with_tax
                .iter()
                .all(|line| line.contains("GB123456789") || line.contains("GB987654321"))
        );
        assert!(!printed.contains("0.00 %"));
    }
    assert_line(&bill, "Description | Qty | Amount");
    assert_line(&bill, "Total GBP 12995.00");
}

#[test]
fn beside_taxed_lines_a_margin_line_has_empty_cells() {
    let mut bill = a_margin_invoice();
    bill.lines.push(charged_line("Delivery", 2_000, 10_000, 2_000));
    bill.lines.push(line_of(LineTax::Untaxed));
    bill.lines.push(BillLine {
        stock_number: None,
        ..line_of(LineTax::Outside)
    });
    assert_line(&bill, "Description | Qty | VAT rate | Net | VAT | Gross");
    assert_line(
        &bill,
        "2019 Vauxhall Corsa AB19 CDE; Stock number 17; Margin scheme | 1 |  |  |  | 12995.00",
    );
    assert_line(&bill, "Delivery | 1 | 20.00 % | 100.00 | 20.00 | 120.00");
    assert_line(&bill, "A thing; Stock number 17 | 1 | 0.00 % | 100.00 | 0.00 | 100.00");
    assert_line(&bill, "A thing | 1 |  |  |  | 100.00");
}

#[test]
fn the_table_of_tax_sums_by_rate_the_lines_in_its_scope() {
    let bill = Bill {
        lines: vec![
            charged_line("One", 500, 1_000, 50),
            charged_line("Two", 2_000, 10_000, 2_000),
            charged_line("Three", 2_000, -1_000, -200),
            line_of(LineTax::Untaxed),
            line_of(LineTax::Margin),
            line_of(LineTax::Outside),
        ],
        ..an_invoice()
    };
    let printed = text(&bill);
    let table: Vec<&str> = printed
        .lines()
        .skip_while(|line| *line != "VAT by rate")
        .skip(1)
        .take(5)
        .collect();
    assert_eq!(
        table,
        [
            "VAT rate | Net | VAT | Gross",
            "20.00 % | 90.00 | 18.00 | 108.00",
            "5.00 % | 10.00 | 0.50 | 10.50",
            "0.00 % | 100.00 | 0.00 | 100.00",
            "Payments",
        ]
    );
}

#[test]
fn an_invoice_shows_its_parties_sums_payments_and_bank() {
    let bill = an_invoice();
    for line in [
        "Acme Cars Ltd",
        "LS1 1AA",
        "Company number 01234567",
        "VAT number GB123456789",
        "FCA number 654321",
        "Zoë Šimić",
        "Šimić Deliveries",
        "Number INV-12",
        "Date 2026-01-05",
        "Due date 2026-02-04",
        "Reference PO 77",
        "Currency GBP",
        "Total net 10829.17",
        "Total VAT 2165.83",
        "Total GBP 12995.00",
        "Paid 1500.00",
        "Balance due GBP 11495.00",
        "2026-01-05 | Bank transfer | INV-11 | 1500.00",
        "Sort code 12-34-56",
        "IBAN GB82WEST12345698765432",
        "The vehicle remains our property until it is paid for in full.",
    ] {
        assert_line(&bill, line);
    }
    for absent in [
        "Credited",
        "To be refunded",
        "Your right to cancel",
        "Part exchange",
        "________",
    ] {
        assert!(!text(&bill).contains(absent), "{absent}");
    }
}

#[test]
fn amounts_that_are_there_are_shown_below_the_total() {
    let amount = Money::from_minor;
    let mut bill = an_invoice();
    bill.totals.balance = Balance::Due {
        paid: amount(1_299_500),
        credited: amount(50_000),
        due: Money::ZERO,
        refund_due: amount(50_000),
    };
    for line in [
        "Paid 12995.00",
        "Credited 500.00",
        "Balance due GBP 0.00",
        "To be refunded 500.00",
    ] {
        assert_line(&bill, line);
    }
    bill.currency = Currency::NONE;
    assert_line(&bill, "Total 12995.00");
    assert!(!text(&bill).contains("XXX"));
}

#[test]
fn methods_of_payment_are_translated_and_others_kept() {
    let payment = |method: &str| Payment {
        method: method.to_owned(),
        amount: Money::from_minor(-100),
        ..an_invoice().payments.remove(0)
    };
    let mut bill = in_language(Language::De, an_invoice());
    bill.payments = vec![payment("Bank Transfer"), payment("Part Exchange"), payment("Barter")];
    for method in ["Überweisung", "Inzahlungnahme", "Barter"] {
        assert_line(&bill, &format!("2026-01-05 | {method} | INV-11 | -1.00"));
    }
}

#[test]
fn a_credit_note_names_its_invoice_and_asks_for_no_money() {
    let bill = Bill {
        number: Some("CN-3".to_owned()),
        totals: Totals {
            balance: Balance::None,
            ..an_invoice().totals
        },
        ..of_kind(credit_note())
    };
    assert_line(&bill, "Number CN-3");
    assert_line(&bill, "Invoice INV-12");
    assert_line(&bill, "Reason: The mirror was broken");
    for absent in ["IBAN", "Balance due"] {
        assert!(!text(&bill).contains(absent), "{absent}");
    }
}

#[test]
fn an_order_shows_what_is_to_pay_and_is_signed_by_both() {
    let mut bill = an_order();
    bill.part_exchanges.push(PartExchange {
        description: "2012 Ford Ka AB12 CDE".to_owned(),
        allowance: Money::from_minor(300_000),
        settlement: Money::from_minor(50_000),
    });
    for line in [
        "Valid until 2026-01-19",
        "2012 Ford Ka AB12 CDE | 3000.00 | 500.00",
        "Part exchange 3000.00",
        "Deposit paid 1500.00",
        "Balance to pay GBP 8495.00",
        "________ Signature of the customer, date",
        "________ Signature of the dealer, date",
    ] {
        assert_line(&bill, line);
    }
    assert!(matches!(bill.paper().blocks.last(), Some(Block::Signatures(labels)) if labels.len() == 2));
}

#[test]
fn a_purchase_names_the_suppliers_invoice() {
    assert_line(&of_kind(purchase()), "Supplier's invoice S/77");
}

#[test]
fn the_mark_is_said_in_each_language() {
    let marks = [
        (Mark::Draft, ["DRAFT", "ENTWURF", "BROUILLON"]),
        (Mark::Cancelled, ["CANCELLED", "STORNIERT", "ANNULÉE"]),
        (Mark::Credited, ["CREDITED", "GUTGESCHRIEBEN", "CRÉDITÉE"]),
    ];
    for (mark, words) in marks {
        for (language, word) in Language::ALL.into_iter().zip(words) {
            let bill = Bill {
                mark: Some(mark),
                ..in_language(language, an_invoice())
            };
            assert_eq!(bill.paper().watermark.as_deref(), Some(word));
        }
    }
    assert_eq!(an_invoice().paper().watermark, None);
}

#[test]
fn a_draft_is_known_by_its_record() {
    let draft = Bill {
        number: None,
        mark: Some(Mark::Draft),
        ..an_invoice()
    };
    assert_eq!(draft.file_name(), "draft-42.pdf");
    assert_eq!(draft.title(), "VAT invoice Draft 42");
    assert_line(&draft, "Number Draft 42");
    assert_eq!(an_invoice().file_name(), "INV-12.pdf");
    let hostile = Bill {
        number: Some("../a\"\r\nb".to_owned()),
        ..an_invoice()
    };
    assert_eq!(hostile.file_name(), "---a---b.pdf");
}

#[test]
fn a_distance_document_prints_the_right_to_cancel() {
    let until = |day: Option<&str>| Bill {
        distance: Some(Distance {
            cancel_until: day.map(|day| day.parse().unwrap()),
        }),
        ..an_invoice()
    };
    let known = [
        (Language::En, "within 14 days", "at the end of 2026-01-30."),
        (Language::De, "binnen 14 Tagen", "mit Ablauf des 2026-01-30."),
        (Language::Fr, "délai de 14 jours", "à la fin du 2026-01-30."),
    ];
    for (language, days, end) in known {
        let printed = text(&in_language(language, until(Some("2026-01-30"))));
        assert!(printed.contains(days) && printed.contains(end), "{printed}");
    }
    let unknown = [
        (
            Language::En,
            "ends 14 days after the day on which you receive the goods",
        ),
        (Language::De, "endet 14 Tage nach dem Tag"),
        (Language::Fr, "expire 14 jours après le jour"),
    ];
    for (language, end) in unknown {
        assert!(text(&in_language(language, until(None))).contains(end));
    }
}

#[test]
fn texts_have_no_place_left_open() {
    for language in Language::ALL {
        for mut bill in [an_invoice(), an_order(), a_margin_invoice(), of_kind(credit_note())] {
            bill.number = None;
            bill.distance = Some(Distance {
                cancel_until: Some(bill.date),
            });
            let printed = text(&in_language(language, bill));
            assert!(!printed.contains(['{', '}']), "{printed}");
        }
    }
}

#[test]
fn pages_are_numbered_in_each_language() {
    let numbers = ["Page 1 of 3", "Seite 1 von 3", "Page 1 sur 3"];
    for (language, number) in Language::ALL.into_iter().zip(numbers) {
        assert_eq!(language.page_number(1, 3), number);
    }
}

#[test]
fn a_language_is_read_from_its_tag() {
    for (tag, language) in [
        ("en", Language::En),
        ("DE", Language::De),
        ("fr-CA", Language::Fr),
        ("de_CH", Language::De),
        ("", Language::En),
        ("frr", Language::En),
    ] {
        assert_eq!(Language::of(tag), language, "{tag}");
    }
}

#[test]
fn the_country_decides_the_size_of_paper() {
    for (country, size) in [
        ("GB", PaperSize::A4),
        ("US", PaperSize::Letter),
        ("CA", PaperSize::Letter),
        ("MX", PaperSize::A4),
    ] {
        let bill = Bill {
            country: country.parse().unwrap(),
            ..an_invoice()
        };
        assert_eq!(bill.paper().size, size, "{country}");
    }
}

#[test]
fn empty_texts_leave_no_trace() {
    let bill = Bill {
        due_date: None,
        reference: " ".to_owned(),
        issuer: Party::default(),
        recipient: Party::default(),
        bank: Some(Bank::default()),
        lines: Vec::new(),
        payments: Vec::new(),
        terms: "\n \n".to_owned(),
        ..an_invoice()
    };
    assert_eq!(
        text(&bill).lines().collect::<Vec<_>>(),
        [
            "Invoice",
            "From",
            "To",
            "Details",
            "Number INV-12",
            "Date 2026-01-05",
            "Currency GBP",
            "Description | Qty | Amount",
            "Total GBP 12995.00",
            "Paid 1500.00",
            "Balance due GBP 11495.00",
            " Page 1 of 1",
        ]
    );
}

#[test]
fn empty_lines_of_terms_are_merged() {
    let bill = Bill {
        terms: format!("First.{}Second.\r\nThird.\n\n", "\n \r\n".repeat(20_000)),
        ..an_invoice()
    };
    assert!(text(&bill).contains("Terms\nFirst.\n\nSecond.\nThird.\nAcme"));
}

#[test]
fn rates_are_exact_to_two_decimals() {
    assert_eq!(Rate::from_hundredths(2_550).to_string(), "25.50");
    assert_eq!(Rate::from_hundredths(5).to_string(), "0.05");
}

proptest! {
    #[test]
    fn any_amounts_are_printed(net: i64, vat: i64, gross: i64, rate: u16, quantity: u32, stock_number: i64) {
        let line = BillLine {
            description: String::new(),
            quantity,
            stock_number: Some(stock_number),
            gross: Money::from_minor(gross),
            tax: LineTax::Charged {
                rate: Rate::from_hundredths(rate),
                net: Money::from_minor(net),
                vat: Money::from_minor(vat),
            },
        };
        let bill = Bill { lines: vec![line; 3], ..an_invoice() };
        let file = TextPrinter.print(&bill.paper()).unwrap();
        let expected = format!("{} | {}", Money::from_minor(vat), Money::from_minor(gross));
        prop_assert!(String::from_utf8(file).unwrap().contains(&expected));
    }
}
