//! The stock book: the contract suite of its domain, and the sums that VAT figures are made of.

use forecourt_billing::{BillLine, BillStatus, InvoiceNumber, LineKind, VatRate, VatScheme};
use forecourt_invoices::testing::a_draft_sale;
use forecourt_invoices::{InvoiceContent, InvoiceKind};
use forecourt_kernel::{ContactId, Line, Money, VehicleId};
use forecourt_stock_book::VatDocument;
use forecourt_stock_book::testing::{a_stock_entry, stock_book_contract};

use crate::installation::{Installation, both_engines};
use crate::samples::{a_business, at};

both_engines!(the_book_is_kept_as_its_domain_asks, figures_are_summed_by_their_days);

async fn the_book_is_kept_as_its_domain_asks(installation: Installation) {
    let mut session = installation.begin().await;
    let ours = session.insert_business(&a_business("ours")).await.unwrap();
    let theirs = session.insert_business(&a_business("theirs")).await.unwrap();
    stock_book_contract(session.as_mut(), ours, theirs).await;
    session.commit().await.unwrap();
}

/// A margin line of the entry 1.
fn a_margin_line(gross: i64) -> BillLine {
    let gross = Money::from_minor(gross);
    BillLine {
        id: 1,
        kind: LineKind::Vehicle,
        product: None,
        vehicle: Some(VehicleId::new(21)),
        stock_number: Some(1),
        description: Line::new("Ford Focus").unwrap(),
        category: None,
        quantity: 1,
        net: gross,
        vat_scheme: VatScheme::Margin,
        vat_rate: VatRate::ZERO,
        vat: Money::ZERO,
        gross,
        credited: Money::ZERO,
        nominal: Line::default(),
    }
}

async fn figures_are_summed_by_their_days(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    session
        .save_stock_entry(business, &a_stock_entry(1, VehicleId::new(21)))
        .await
        .unwrap();
    let today = at(0).date();
    for (days, kind, status) in [
        (0, InvoiceKind::Sale, BillStatus::Paid),
        (0, InvoiceKind::Sale, BillStatus::Draft),
        (0, InvoiceKind::Finance, BillStatus::Issued),
        (9, InvoiceKind::Sale, BillStatus::Issued),
    ] {
        let draft = a_draft_sale(ContactId::new(1), VehicleId::new(21));
        let mut invoice = session.insert_invoice(business, draft, at(0)).await.unwrap();
        let content: &mut InvoiceContent = &mut invoice.content;
        (content.kind, content.status) = (kind, status);
        content.agreement.date = today.days_later(days);
        content.agreement.lines = vec![a_margin_line(1_000)];
        invoice.number = (status != BillStatus::Draft).then(|| InvoiceNumber::new(invoice.id.get()));
        for _ in 0..2 {
            session.save_invoice(business, &invoice).await.unwrap();
        }
    }
    session.commit().await.unwrap();
    let mut reader = installation.read().await;
    for (from, to, documents, before, until) in [(0, 8, 1, 0, 1_000), (0, 9, 2, 0, 2_000), (1, 9, 1, 1_000, 2_000)] {
        let (from, to) = (today.days_later(from), today.days_later(to));
        let sums = reader.vat_sums(business, from, to).await.unwrap();
        let [sum] = sums[..] else {
            panic!("{sums:?}");
        };
        assert_eq!((sum.kind, sum.total.documents), (VatDocument::Sale, documents));
        let margins = reader.margin_sums(business, from, to).await.unwrap();
        assert_eq!(
            (margins[0].before, margins[0].until),
            (Money::from_minor(before), Money::from_minor(until))
        );
    }
}
