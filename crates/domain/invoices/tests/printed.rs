//! The printed forms of invoices and credit notes.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

use forecourt_accounts::Business;
use forecourt_billing::{
    Agreement, AgreementDefaults, BillLine, CreditNumber, InvoiceId, InvoiceNumber, LegalParty, LineKind, NoteLine,
    PartExchange, Party, PartyAddress, Payment, PaymentKind, PaymentMethod, VatRate, VatScheme,
};
use forecourt_invoices::{CreditNote, Invoice, InvoiceContent, InvoiceStatus, bill_of_credit_note, bill_of_invoice};
use forecourt_kernel::{BusinessId, ContactId, Date, Line, LongText, Money, Timestamp, Version};
use forecourt_print::{Bill, testing::text_of};

const STANDARD: VatRate = VatRate::from_hundredths(2_000);

fn day(text: &str) -> Date {
    text.parse().unwrap()
}

fn line(text: &str) -> Line {
    Line::new(text).unwrap()
}

fn business() -> Business {
    Business::new(BusinessId::new(1), "acme", "Acme Cars")
}

/// Returns a line of this scheme and amount in pounds.
fn a_line(id: i64, text: &str, vat_scheme: VatScheme, pounds: i64) -> BillLine {
    let gross = Money::from_minor(pounds * 100);
    let vat_rate = if vat_scheme == VatScheme::Standard {
        STANDARD
    } else {
        VatRate::ZERO
    };
    let split = vat_rate.split(gross);
    BillLine {
        id,
        kind: LineKind::Vehicle,
        product: None,
        vehicle: None,
        stock_number: Some(77),
        description: line(text),
        category: None,
        quantity: 1,
        net: split.net,
        vat_scheme,
        vat_rate,
        vat: split.vat,
        gross,
        credited: Money::ZERO,
        nominal: Line::default(),
    }
}

fn an_invoice(lines: Vec<BillLine>) -> Invoice {
    let at = Timestamp::from_epoch_seconds(1_767_225_600);
    let defaults = AgreementDefaults {
        today: day("2026-01-05"),
        terms: LongText::new("Paid within a month.").unwrap(),
    };
    let agreement = Agreement {
        customer: Some(ContactId::new(3)),
        lines,
        reference: line("PO 77"),
        bill_to: Some(Party {
            name: "Amelia Hart".into(),
            address: PartyAddress {
                line1: "2 Low Road".into(),
                city: "York".into(),
                zip: "YO1 1AA".into(),
                ..PartyAddress::default()
            },
            ..Party::default()
        }),
        bill_from: Some(LegalParty {
            name: "Acme Cars Ltd".into(),
            vat: "GB123456789".into(),
            ..LegalParty::default()
        }),
        ..Agreement::blank(&business(), &defaults)
    };
    Invoice {
        id: InvoiceId::new(21),
        number: Some(InvoiceNumber::new(12)),
        version: Version::FIRST,
        created: at,
        updated: at,
        content: InvoiceContent {
            status: InvoiceStatus::Issued,
            ..InvoiceContent::draft(agreement, 30)
        },
    }
}

fn printed(invoice: &Invoice) -> String {
    text_of(&bill_of_invoice(invoice, &business()).paper())
}

#[test]
fn an_invoice_shows_its_parties_lines_payments_and_terms() {
    let mut invoice = an_invoice(vec![
        a_line(1, "2021 Ford Transit", VatScheme::Standard, 12_000),
        a_line(2, "Warranty", VatScheme::Exempt, 399),
    ]);
    invoice.content.payments.push(Payment {
        id: 1,
        kind: PaymentKind::Payment,
        date: day("2026-01-06"),
        method: PaymentMethod::Card,
        amount: Money::from_minor(9_900),
        reference: line("T 5"),
        reverses: None,
    });
    invoice.content.agreement.part_exchanges.push(PartExchange {
        id: 1,
        registration: line("AB12 CDE"),
        vin: Line::default(),
        make: line("Kia"),
        model: line("Ceed"),
        mileage: None,
        vehicle: None,
        allowance: Money::from_minor(400_000),
        settlement: Money::from_minor(150_000),
        lender: None,
        vat_scheme: forecourt_billing::ExchangeScheme::Margin,
        purchase: None,
        settlement_purchase: None,
        stock_vehicle: None,
    });
    let bill = bill_of_invoice(&invoice, &business());
    assert_eq!(
        (bill.title(), bill.file_name()),
        ("VAT invoice INV-12".into(), "INV-12.pdf".into())
    );
    let text = printed(&invoice);
    for part in [
        "Acme Cars Ltd",
        "GB123456789",
        "Amelia Hart\n2 Low Road\nYork\nYO1 1AA",
        "PO 77",
        "2026-02-04",
        "2021 Ford Transit | 1 | 20.00 % | 10000.00 | 2000.00 | 12000.00",
        "Kia Ceed AB12 CDE | 4000.00 | 1500.00",
        "2026-01-06 | Card | T 5 | 99.00",
        "Balance due GBP 12300.00",
        "Paid within a month.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("Stock number"), "only margin lines show it: {text}");
}

#[test]
fn a_margin_sale_shows_no_tax() {
    let invoice = an_invoice(vec![
        a_line(1, "2021 Ford Focus", VatScheme::Margin, 12_995),
        a_line(2, "Settlement", VatScheme::Outside, 1_500),
    ]);
    let text = printed(&invoice);
    assert!(
        text.contains("Margin scheme - second hand goods") && text.contains("Stock number 77"),
        "{text}"
    );
    // But for the number that the dealer is registered under.
    let words = text.replace("VAT number GB123456789", "");
    assert!(
        !words.contains("VAT") && !words.contains("Net") && !words.contains("20.00"),
        "{text}"
    );
    assert_eq!(bill_of_invoice(&invoice, &business()).title(), "Invoice INV-12");
}

#[test]
fn what_is_not_in_force_is_marked() {
    for (status, mark) in [
        (InvoiceStatus::Draft, Some("DRAFT")),
        (InvoiceStatus::Issued, None),
        (InvoiceStatus::Paid, None),
        (InvoiceStatus::Cancelled, Some("CANCELLED")),
        (InvoiceStatus::Credited, Some("CREDITED")),
    ] {
        let mut invoice = an_invoice(vec![a_line(1, "Delivery", VatScheme::Standard, 120)]);
        invoice.content.status = status;
        let paper = bill_of_invoice(&invoice, &business()).paper();
        assert_eq!(paper.watermark.as_deref(), mark, "{status:?}");
    }
    let mut draft = an_invoice(Vec::new());
    draft.number = None;
    assert_eq!(bill_of_invoice(&draft, &business()).file_name(), "draft-21.pdf");
}

#[test]
fn a_sale_at_a_distance_says_until_when_it_can_be_cancelled() {
    let mut invoice = an_invoice(vec![a_line(1, "Delivery", VatScheme::Standard, 120)]);
    invoice.content.agreement.distance = true;
    assert!(printed(&invoice).contains("14 days"));
    invoice.content.agreement.cancel_until = Some(day("2026-01-20"));
    assert!(printed(&invoice).contains("2026-01-20"));
}

fn a_note(lines: Vec<NoteLine>, gross: i64) -> CreditNote {
    CreditNote {
        gross: Money::from_minor(gross),
        ..CreditNote::new(CreditNumber::new(3), day("2026-01-09"), line("A scratch"), lines)
    }
}

fn note_of(invoice: &Invoice) -> Bill {
    bill_of_credit_note(invoice, &business(), CreditNumber::new(3)).unwrap()
}

#[test]
fn a_credit_note_shows_what_it_takes_back() {
    let mut invoice = an_invoice(vec![
        a_line(1, "2021 Ford Focus", VatScheme::Margin, 12_995),
        a_line(2, "Delivery", VatScheme::Standard, 120),
    ]);
    assert_eq!(bill_of_credit_note(&invoice, &business(), CreditNumber::new(3)), None);
    let note = |number: i64, scheme: VatScheme, net: i64, vat: i64| NoteLine {
        line: number,
        description: line("Part of it"),
        vat_scheme: scheme,
        vat_rate: if scheme == VatScheme::Standard {
            STANDARD
        } else {
            VatRate::ZERO
        },
        net: Money::from_minor(net),
        vat: Money::from_minor(vat),
        gross: Money::from_minor(net + vat),
    };
    let lines = vec![
        note(1, VatScheme::Margin, 10_000, 0),
        note(2, VatScheme::Standard, 5_000, 1_000),
    ];
    invoice.content.credit_notes.push(a_note(lines, 16_000));
    let bill = note_of(&invoice);
    assert_eq!((bill.file_name(), bill.date), ("CN-3.pdf".into(), day("2026-01-09")));
    let text = text_of(&bill.paper());
    for part in [
        "INV-12",
        "A scratch",
        "Stock number 77",
        "20.00 % | 50.00 | 10.00 | 60.00",
        "GBP 160.00",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for part in ["Balance", "Paid within a month"] {
        assert!(!text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_note_of_an_earlier_release_credits_all_lines() {
    let mut invoice = an_invoice(vec![a_line(1, "Deposit", VatScheme::Standard, 120)]);
    invoice.content.credit_notes.push(a_note(Vec::new(), 12_000));
    let text = text_of(&note_of(&invoice).paper());
    assert!(
        text.contains("Deposit | 1 | 20.00 % | 100.00 | 20.00 | 120.00"),
        "{text}"
    );
    assert!(text.contains("GBP 120.00"), "{text}");
}
