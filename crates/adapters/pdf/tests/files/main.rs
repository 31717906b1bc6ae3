//! Tests of the files that the printer writes, in the text that is read from them again.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong in a test fails it")]

mod reader;

use std::sync::LazyLock;

use forecourt_kernel::Money;
use forecourt_pdf::PdfPrinter;
use forecourt_print::testing::{a_margin_invoice, an_invoice, an_order, charged_line};
use forecourt_print::{
    Align, Balance, Bill, BillKind, BillLine, Block, Cell, Distance, Language, LineTax, Mark, Paper, PaperSize,
    PartExchange, Payment, Printer as _, Rate, Table, TableColumn, TextStyle, Totals,
};
use proptest::prelude::*;

use reader::File;

static PRINTER: LazyLock<PdfPrinter> = LazyLock::new(|| PdfPrinter::new().unwrap());

fn file(paper: &Paper) -> File {
    File::read(&PRINTER.print(paper).unwrap())
}

fn pages(bill: &Bill) -> Vec<String> {
    file(&bill.paper()).pages()
}

/// The text of all pages on one line, as lines break anywhere between words.
fn flat(pages: &[String]) -> String {
    pages.join("\n").replace('\n', " ")
}

fn many_lines(count: usize) -> Bill {
    let line = |number| charged_line(&format!("Line {number} of the service"), 2_000, 10_000, 2_000);
    Bill {
        lines: (0..count).map(line).collect(),
        ..an_invoice()
    }
}

fn paper_of(blocks: Vec<Block>) -> Paper {
    Paper {
        blocks,
        ..an_invoice().paper()
    }
}

fn text_block(text: impl Into<String>) -> Block {
    Block::Text(text.into(), TextStyle::Normal)
}

#[test]
fn the_same_paper_gives_the_same_bytes() {
    let paper = many_lines(200).paper();
    let first = PRINTER.print(&paper).unwrap();
    assert_eq!(PRINTER.print(&paper).unwrap(), first);
    let other = PdfPrinter::new().unwrap();
    assert_eq!(other.print(&paper).unwrap(), first);
    for date in [&b"CreationDate"[..], b"ModDate", b"CreateDate", b"ModifyDate"] {
        assert!(!first.windows(date.len()).any(|window| window == date));
    }
}

#[test]
fn all_that_the_bill_shows_is_in_the_file_in_its_order() {
    let text = flat(&pages(&an_invoice()));
    let mut rest = &*text;
    for part in [
        "VAT invoice",
        "Acme Cars Ltd",
        "VAT number GB123456789",
        "Zoë Šimić",
        "Number INV-12",
        "Description",
        "2021 Ford Transit 2.0 AB21 CDE, 41000 miles",
        "20.00 % 10829.17 2165.83 12995.00",
        "Total GBP 12995.00",
        "Balance due GBP 11495.00",
        "Bank transfer",
        "IBAN GB82WEST12345698765432",
        "The vehicle remains our property",
        "Acme Cars Ltd",
        "Page 1 of 1",
    ] {
        let at = rest
            .find(part)
            .unwrap_or_else(|| panic!("{part:?} is not behind the others in {text}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn the_metadata_has_title_author_and_language() {
    let metadata = file(
        &Bill {
            language: Language::Fr,
            ..an_invoice()
        }
        .paper(),
    )
    .metadata();
    for part in [
        "/Title(Facture INV-12)",
        "/Author(Acme Cars Ltd)",
        "/Lang(fr)",
        "<rdf:li xml:lang=\"x-default\">Facture INV-12",
    ] {
        assert!(metadata.contains(part), "{part} is not in {metadata}");
    }
}

#[test]
fn a_table_repeats_its_heading_and_every_page_its_number_and_mark() {
    let bill = Bill {
        mark: Some(Mark::Draft),
        ..many_lines(200)
    };
    let pages = pages(&bill);
    assert!(pages.len() > 4, "{} pages", pages.len());
    for (place, page) in pages.iter().enumerate() {
        assert_eq!(page.lines().next(), Some("DRAFT"));
        assert_eq!(
            page.lines().last(),
            Some(&*format!("Page {} of {}", place + 1, pages.len()))
        );
        let of_table = page.lines().filter(|line| *line == "Description").count();
        let lines = page.lines().filter(|line| line.starts_with("Line ")).count();
        assert_eq!(of_table, usize::from(lines > 0), "{page}");
        assert_eq!(page.lines().any(|line| line == "VAT invoice INV-12"), place > 0);
    }
    let text = flat(&pages);
    for number in 0..200 {
        assert_eq!(text.matches(&format!("Line {number} of the service")).count(), 1);
    }
    // The heading of the second page stands above its first line.
    assert!(pages[1].find("Description").unwrap() < pages[1].find("Line ").unwrap());
}

#[test]
fn each_language_and_mark_can_be_drawn() {
    for language in Language::ALL {
        for mark in [Mark::Draft, Mark::Cancelled, Mark::Credited] {
            for bill in [an_invoice(), an_order(), a_margin_invoice()] {
                let bill = Bill {
                    language,
                    mark: Some(mark),
                    distance: Some(Distance {
                        cancel_until: Some(bill.date),
                    }),
                    ..bill
                };
                let text = flat(&pages(&bill));
                assert!(!text.contains(['?', '\u{fffd}']), "{text}");
            }
        }
    }
}

#[test]
fn a_margin_invoice_has_no_word_of_tax_but_the_numbers() {
    let text = flat(&pages(&a_margin_invoice()));
    assert!(text.contains("Margin scheme - second hand goods"));
    assert!(text.contains("Stock number 17"));
    assert_eq!(
        text.matches("VAT").count(),
        text.matches("VAT number").count(),
        "{text}"
    );
}

#[test]
fn characters_that_the_faces_lack_become_question_marks() {
    for (text, drawn) in [
        ("日本 🚗 \u{5e9}\u{5dc}\u{5d5}\u{5dd} a\u{0}b\u{1b}", "?? ? ???? a?b?"),
        ("👨\u{200d}👩\u{fe0f}", "??"),
        ("e\u{301}\u{328} Łódź Ђ Ω ά ẞ € №", "ę\u{301} Łódź Ђ Ω ά ẞ € №"),
        ("tab\there\u{3000}wide\u{ad}\u{feff}\u{202e}end", "tab here wideend"),
        ("one\r\ntwo\u{2028}three\rfour", "one two three four"),
    ] {
        let text = flat(&file(&paper_of(vec![text_block(text), text_block("END")])).pages());
        let (found, _) = text.split_once(" END").unwrap();
        assert_eq!(found, drawn);
    }
}

#[test]
fn accents_are_drawn_with_their_letters() {
    let text = flat(&file(&paper_of(vec![text_block("Zoe\u{308} S\u{30c}imic\u{301}")])).pages());
    assert!(text.starts_with("Zoë Šimić "), "{text}");
}

#[test]
fn a_long_text_takes_as_many_pages_as_it_needs() {
    let words: String = (0..10_000).map(|number| format!("w{number} ")).collect();
    let pages = file(&paper_of(vec![Block::Text(words, TextStyle::Small)])).pages();
    assert!(pages.len() > 2);
    let text = flat(&pages);
    assert!((0..10_000).all(|number| text.contains(&format!("w{number} "))));
}

#[test]
fn a_long_word_is_broken_and_nothing_of_it_lost() {
    for (character, count) in [("W", 50_000), ("i", 50_000), ("\u{301}", 50_000), ("W", 255)] {
        let pages = file(&paper_of(vec![text_block(character.repeat(count))])).pages();
        let drawn: usize = pages.iter().map(|page| page.matches(character).count()).sum();
        let elsewhere = file(&paper_of(Vec::new())).pages()[0].matches(character).count() * pages.len();
        let heads = (pages.len() - 1) * "VAT invoice INV-12".matches(character).count();
        assert_eq!(drawn, count + elsewhere + heads, "{character:?}");
    }
}

#[test]
fn long_words_stay_within_their_columns() {
    let mut bill = an_invoice();
    for text in [
        &mut bill.lines[0].description,
        &mut bill.recipient.name,
        &mut bill.issuer.vat_number,
        &mut bill.reference,
        &mut bill.payments[0].reference,
    ] {
        *text = "W".repeat(255);
    }
    let text = flat(&pages(&bill)).replace(' ', "");
    assert_eq!(
        text.matches('W').count(),
        5 * 255 + "GB82WEST12345698765432WESTGB2L".matches('W').count()
    );
}

#[test]
fn a_row_higher_than_a_page_continues_on_the_next() {
    let mut bill = an_invoice();
    bill.lines[0].description = "word\n".repeat(500);
    let pages = pages(&bill);
    assert!(pages.len() > 6);
    assert_eq!(flat(&pages).matches("word").count(), 500);
    assert!(pages[1].contains("Description"));
}

#[test]
fn a_heading_of_a_table_higher_than_a_page_is_printed_once() {
    let column = |heading: String| TableColumn {
        heading,
        align: Align::Start,
        weight: 1,
    };
    let table = Table {
        columns: vec![column("high\n".repeat(300)), column("low".to_owned())],
        rows: vec![vec![Cell::from("cell".to_owned()), Cell::default()]; 300],
    };
    let text = flat(&file(&paper_of(vec![Block::Table(table)])).pages());
    assert_eq!(text.matches("high").count(), 300);
    assert_eq!(text.matches("cell").count(), 300);
}

#[test]
fn tables_of_any_shape_are_drawn() {
    let column = |align| TableColumn {
        heading: "h".to_owned(),
        align,
        weight: 0,
    };
    for aligns in [
        vec![],
        vec![Align::End; 3],
        vec![Align::Start; 300],
        vec![Align::End; 300],
    ] {
        let columns: Vec<TableColumn> = aligns.into_iter().map(column).collect();
        let row = vec![Cell::from("123456.00".to_owned()); 2];
        let table = Table {
            columns,
            rows: vec![row, Vec::new()],
        };
        let blocks = vec![
            Block::Table(table),
            Block::Columns(Vec::new()),
            Block::Sums(Vec::new()),
            Block::Signatures(vec!["x".to_owned(); 5]),
        ];
        assert!(!file(&paper_of(blocks)).pages().is_empty());
    }
}

#[test]
fn pages_have_the_size_of_the_country() {
    assert_eq!(file(&an_invoice().paper()).size(), "0 0 595.28 841.89");
    let letter = Paper {
        size: PaperSize::Letter,
        ..an_invoice().paper()
    };
    assert_eq!(file(&letter).size(), "0 0 612 792");
}

#[test]
fn an_empty_paper_is_one_page() {
    let paper = Paper {
        title: String::new(),
        author: String::new(),
        watermark: Some(String::new()),
        head: String::new(),
        foot: String::new(),
        ..paper_of(Vec::new())
    };
    assert_eq!(file(&paper).pages(), ["Page 1 of 1"]);
}

#[test]
fn a_line_at_the_edge_is_cut_and_not_wrapped() {
    let paper = Paper {
        foot: "W".repeat(255),
        ..an_invoice().paper()
    };
    let pages = file(&paper).pages();
    let foot = pages[0].lines().rev().nth(1).unwrap();
    assert!(foot.starts_with("WWW") && foot.ends_with('…'), "{foot}");
}

/// Texts as callers may send them: any characters, long words, many lines.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,80}",
        any::<Vec<char>>().prop_map(String::from_iter),
        ("[a-zA-Z\u{300}-\u{310}\u{600}-\u{610}🚗 \n]{1,4}", 0..300_usize).prop_map(|(text, count)| text.repeat(count)),
    ]
}

fn any_line() -> impl Strategy<Value = BillLine> {
    let amount = || any::<i64>().prop_map(Money::from_minor);
    let tax = prop_oneof![
        (any::<u16>(), amount(), amount()).prop_map(|(rate, net, vat)| LineTax::Charged {
            rate: Rate::from_hundredths(rate),
            net,
            vat,
        }),
        Just(LineTax::Untaxed),
        Just(LineTax::Outside),
        Just(LineTax::Margin),
    ];
    (any_text(), any::<u32>(), any::<Option<i64>>(), amount(), tax).prop_map(
        |(description, quantity, stock_number, gross, tax)| BillLine {
            description,
            quantity,
            stock_number,
            gross,
            tax,
        },
    )
}

fn any_kind() -> impl Strategy<Value = BillKind> {
    prop_oneof![
        Just(BillKind::Invoice),
        (any_text(), any_text()).prop_map(|(invoice, reason)| BillKind::CreditNote { invoice, reason }),
        any_text().prop_map(|title| BillKind::Order {
            title,
            valid_until: Some(an_invoice().date),
        }),
        any_text().prop_map(|supplier_invoice| BillKind::Purchase { supplier_invoice }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bill_is_printed(
        kind in any_kind(),
        language in prop::sample::select(Language::ALL.to_vec()),
        number in proptest::option::of(any_text()),
        lines in proptest::collection::vec(any_line(), 0..20),
        texts in proptest::collection::vec(any_text(), 9),
        amounts: [i64; 6],
        mark in prop::sample::select(vec![None, Some(Mark::Draft), Some(Mark::Credited)]),
    ) {
        let [net, vat, gross, part_exchange, deposit, payable] = amounts.map(Money::from_minor);
        let mut bill = Bill { kind, language, number, lines, mark, ..an_invoice() };
        bill.issuer.name.clone_from(&texts[0]);
        bill.issuer.address.clone_from(&texts);
        bill.recipient.company.clone_from(&texts[1]);
        bill.recipient.vat_number.clone_from(&texts[2]);
        bill.reference.clone_from(&texts[3]);
        bill.terms.clone_from(&texts[4]);
        bill.payments.push(Payment {
            date: bill.date,
            method: texts[5].clone(),
            amount: net,
            reference: texts[6].clone(),
        });
        bill.part_exchanges.push(PartExchange {
            description: texts[7].clone(),
            allowance: part_exchange,
            settlement: deposit,
        });
        bill.totals = Totals {
            net,
            vat,
            gross,
            balance: Balance::Payable { part_exchange, deposit, payable },
        };
        let paper = bill.paper();
        let first = PRINTER.print(&paper).unwrap();
        let pages = File::read(&first).pages();
        let number = language.page_number(pages.len(), pages.len());
        prop_assert_eq!(pages.last().unwrap().lines().last(), Some(&*number));
        prop_assert_eq!(PRINTER.print(&paper).unwrap(), first);
    }
}
