//! The printed form of orders.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

use forecourt_accounts::Business;
use forecourt_billing::{
    Agreement, AgreementDefaults, BillLine, ExchangeScheme, LegalParty, LineKind, OrderId, OrderNumber, PartExchange,
    VatRate, VatScheme,
};
use forecourt_kernel::{BusinessId, Date, Line, LongText, Money, Timestamp, Version};
use forecourt_orders::{Order, OrderContent, OrderStatus, bill_of_order};
use forecourt_print::testing::text_of;

fn line(text: &str) -> Line {
    Line::new(text).unwrap()
}

/// Returns an order of a car on the margin scheme, with another in part exchange and a deposit.
fn an_order(business: &Business, status: OrderStatus) -> Order {
    let at = Timestamp::from_epoch_seconds(1_767_225_600);
    let defaults = AgreementDefaults {
        today: at.date(),
        terms: LongText::default(),
    };
    let car = BillLine {
        id: 1,
        kind: LineKind::Vehicle,
        product: None,
        vehicle: None,
        stock_number: Some(77),
        description: line("2021 Ford Focus"),
        category: None,
        quantity: 1,
        net: Money::from_minor(1_299_500),
        vat_scheme: VatScheme::Margin,
        vat_rate: VatRate::ZERO,
        vat: Money::ZERO,
        gross: Money::from_minor(1_299_500),
        credited: Money::ZERO,
        nominal: Line::default(),
    };
    let exchange = PartExchange {
        id: 1,
        registration: Line::default(),
        vin: line("WVWZZZ1KZAW000001"),
        make: line("VW"),
        model: Line::default(),
        mileage: None,
        vehicle: None,
        allowance: Money::from_minor(400_000),
        settlement: Money::ZERO,
        lender: None,
        vat_scheme: ExchangeScheme::Margin,
        purchase: None,
        settlement_purchase: None,
        stock_vehicle: None,
    };
    Order {
        id: OrderId::new(31),
        number: (status != OrderStatus::Draft).then(|| OrderNumber::new(4)),
        version: Version::FIRST,
        created: at,
        updated: at,
        content: OrderContent {
            agreement: Agreement {
                lines: vec![car],
                part_exchanges: vec![exchange],
                bill_from: Some(LegalParty {
                    name: "Acme Cars Ltd".into(),
                    ..LegalParty::default()
                }),
                ..Agreement::blank(business, &defaults)
            },
            status,
            valid_until: Some("2026-01-31".parse::<Date>().unwrap()),
            invoice: None,
            issued: None,
            deposit: Money::from_minor(9_900),
        },
    }
}

#[test]
fn an_order_shows_what_is_left_to_pay_and_has_lines_to_sign_on() {
    let business = Business::new(BusinessId::new(1), "acme", "Acme Cars");
    let bill = bill_of_order(&an_order(&business, OrderStatus::Issued), &business);
    assert_eq!(
        (bill.title(), bill.file_name()),
        ("Order ORD-4".into(), "ORD-4.pdf".into())
    );
    let text = text_of(&bill.paper());
    for part in [
        "2026-01-31",
        "VW WVWZZZ1KZAW000001 | 4000.00",
        "Stock number 77",
        "99.00",
        "8896.00",
        "________",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("VAT"), "{text}");
}

#[test]
fn an_order_has_the_title_of_its_business() {
    let mut business = Business::new(BusinessId::new(1), "acme", "Acme Cars");
    business.settings.order_title = Some("Quote".into());
    let order = an_order(&business, OrderStatus::Issued);
    assert_eq!(bill_of_order(&order, &business).title(), "Quote ORD-4");
    business.settings.order_title = None;
    business.settings.language = Some("fr".into());
    assert_eq!(bill_of_order(&order, &business).title(), "Bon de commande ORD-4");
}

#[test]
fn what_is_not_in_force_is_marked() {
    let business = Business::new(BusinessId::new(1), "acme", "Acme Cars");
    for (status, mark) in [
        (OrderStatus::Draft, Some("DRAFT")),
        (OrderStatus::Issued, None),
        (OrderStatus::Converted, None),
        (OrderStatus::Cancelled, Some("CANCELLED")),
    ] {
        let paper = bill_of_order(&an_order(&business, status), &business).paper();
        assert_eq!(paper.watermark.as_deref(), mark, "{status:?}");
    }
}
