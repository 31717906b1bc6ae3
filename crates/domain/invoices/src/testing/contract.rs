//! The suite that every store of invoices must pass.

use forecourt_billing::{
    Agreement, BankAccount, BillLine, DealId, ExchangeScheme, LegalParty, LineKind, NoteLine, OrderId, PartExchange,
    Party, PartyAddress, Payment, PaymentKind, PurchaseId, SaleFinance, VatScheme,
};
use forecourt_kernel::testing::{assert_pages, between, since, until};
use forecourt_kernel::{
    BusinessId, ContactId, Country, Currency, LongText, Money, PageRequest, Range, SiteId, StaffId, VehicleId, Version,
};

use super::{AT, a_blank, a_deposit, a_draft, a_line, line};
use crate::{
    CreditNote, CreditNumber, Invoice, InvoiceContent, InvoiceFilter, InvoiceId, InvoiceKind, InvoiceNumber,
    InvoiceStatus, InvoiceStore, Overdue, ParentPayment, PaymentMethod, StatusChoice, VatRate,
};

/// Checks what every [`InvoiceStore`] promises. The two businesses must have no invoices in it, and must have drawn no numbers; no
/// other business may have invoices of deleted contacts.
///
/// # Panics
/// If the store breaks its contract.
pub async fn invoice_store_contract(store: &mut dyn InvoiceStore, ours: BusinessId, theirs: BusinessId) {
    let listed = Box::pin(lists_what_passes(store, ours, theirs)).await;
    lists_what_was_changed(store, ours, theirs, listed).await;
    finds_former_parties(store, ours, theirs).await;
    keeps_every_field(store, ours, theirs).await;
    draws_numbers_without_gaps(store, ours, theirs).await;
}

fn a_note(number: i64) -> CreditNote {
    CreditNote::new(CreditNumber::new(number), AT.date(), line("Returned"), Vec::new())
}

/// Stores an invoice and, unless it is a draft, changes it a hundred seconds later so that it gets its number.
async fn stored(
    store: &mut dyn InvoiceStore,
    business: BusinessId,
    content: InvoiceContent,
    second: i64,
    number: Option<i64>,
) -> Invoice {
    let at = AT.plus_seconds(second);
    let draft = InvoiceContent {
        status: InvoiceStatus::Draft,
        credit_notes: Vec::new(),
        ..content.clone()
    };
    let inserted = store.insert_invoice(business, draft, at).await.expect("it is stored");
    if content == inserted.content {
        return inserted;
    }
    let invoice = Invoice {
        number: number.map(InvoiceNumber::new),
        version: inserted.version.next(),
        updated: at.plus_seconds(100),
        content,
        ..inserted
    };
    store.save_invoice(business, &invoice).await.expect("it is saved");
    invoice
}

/// Asserts that the list of these invoices, oldest first, is what passes a filter.
async fn lists(store: &mut dyn InvoiceStore, business: BusinessId, filter: &InvoiceFilter, expected: &[&Invoice]) {
    let newest_first: Vec<Invoice> = expected.iter().rev().map(|invoice| (*invoice).clone()).collect();
    assert_pages(
        &newest_first,
        |invoice: &Invoice| invoice.id.get(),
        async |page: PageRequest| {
            let found = store.invoices(business, filter, &page).await;
            found.unwrap_or_else(|error| panic!("{filter:?} cannot be read: {error}"))
        },
    )
    .await;
}

async fn lists_what_passes(store: &mut dyn InvoiceStore, ours: BusinessId, theirs: BusinessId) -> Vec<Invoice> {
    let day = |days: u32| AT.date().days_later(days);
    let draft = a_draft(Some(7), 0, vec![a_line(1, LineKind::Product, None, 10_000)]);
    let sold = vec![
        a_line(1, LineKind::Vehicle, Some(21), 1_000_000),
        a_line(2, LineKind::Vehicle, Some(22), 2_000_000),
        a_line(3, LineKind::Product, Some(23), 5_000),
        a_line(4, LineKind::Adjustment, None, -5_000),
    ];
    let mut sale = a_draft(Some(7), 1, sold);
    sale.status = InvoiceStatus::Issued;
    sale.order = Some(OrderId::new(9));
    sale.agreement.site = SiteId::new(2);
    sale.agreement.reference = line("PO 4711 Ü");
    sale.agreement.deal = Some(DealId::new(5));
    sale.agreement.salesperson = Some(StaffId::new(3));
    let mut deposit = a_draft(Some(8), 2, vec![a_line(1, LineKind::Deposit, Some(21), 9_900)]);
    deposit.status = InvoiceStatus::Paid;
    deposit.kind = InvoiceKind::Deposit;
    deposit.agreement.reference = line("po 4711 ü");
    let mut credited = a_draft(None, 3, vec![a_line(1, LineKind::Product, None, 20_000)]);
    credited.status = InvoiceStatus::Credited;
    credited.credit_notes = vec![a_note(501), a_note(502)];
    credited.agreement.reference = line("PO 4711 Ü.");
    let mut finance = a_draft(Some(9), 4, vec![a_line(1, LineKind::Vehicle, Some(22), 3_000_000)]);
    finance.status = InvoiceStatus::Issued;
    finance.kind = InvoiceKind::Finance;
    let mut cancelled = a_draft(Some(8), 5, Vec::new());
    cancelled.status = InvoiceStatus::Cancelled;
    cancelled.agreement.salesperson = Some(StaffId::new(4));

    // Another business has the same, beside ours.
    let other = stored(store, theirs, sale.clone(), 1, Some(701)).await;
    let draft = stored(store, ours, draft, 0, None).await;
    let sale = stored(store, ours, sale, 1, Some(701)).await;
    let deposit = stored(store, ours, deposit, 2, Some(702)).await;
    let credited = stored(store, ours, credited, 3, Some(703)).await;
    finance.parent = Some(sale.id);
    let finance = stored(store, ours, finance, 4, Some(704)).await;
    let cancelled = stored(store, ours, cancelled, 5, None).await;
    let all = [&draft, &sale, &deposit, &credited, &finance, &cancelled];

    let none = InvoiceFilter::default;
    macro_rules! cases {
        ($($member:ident: $wanted:expr => [$($passing:expr),*];)+) => {
            $(lists(store, ours, &InvoiceFilter { $member: $wanted, ..none() }, &[$($passing),*]).await;)+
        };
    }
    lists(store, ours, &none(), &all).await;
    lists(store, theirs, &none(), &[&other]).await;
    cases! {
        site: Some(SiteId::new(2)) => [&sale];
        site: Some(SiteId::new(3)) => [];
        status: Some(StatusChoice(InvoiceStatus::Draft)) => [&draft];
        status: Some(StatusChoice(InvoiceStatus::Issued)) => [&sale, &finance];
        status: Some(StatusChoice(InvoiceStatus::Paid)) => [&deposit];
        status: Some(StatusChoice(InvoiceStatus::Cancelled)) => [&cancelled];
        status: Some(StatusChoice(InvoiceStatus::Credited)) => [&credited];
        kind: Some(InvoiceKind::Sale) => [&sale];
        kind: Some(InvoiceKind::Deposit) => [&deposit];
        kind: Some(InvoiceKind::Finance) => [&finance];
        kind: Some(InvoiceKind::General) => [&draft, &credited, &cancelled];
        number: Some(InvoiceNumber::new(702)) => [&deposit];
        number: Some(InvoiceNumber::new(1)) => [];
        reference: Some("Po 4711 ü".to_owned()) => [&sale, &deposit];
        reference: Some("PO 4711 Ü.".to_owned()) => [&credited];
        // It is no pattern.
        reference: Some("PO%".to_owned()) => [];
        customer: Some(ContactId::new(7)) => [&draft, &sale];
        customer: Some(ContactId::new(6)) => [];
        vehicle: Some(VehicleId::new(21)) => [&sale, &deposit];
        vehicle: Some(VehicleId::new(22)) => [&sale, &finance];
        vehicle: Some(VehicleId::new(23)) => [&sale];
        vehicle: Some(VehicleId::new(24)) => [];
        deal: Some(DealId::new(5)) => [&sale];
        deal: Some(DealId::new(6)) => [];
        order: Some(OrderId::new(9)) => [&sale];
        order: Some(OrderId::new(8)) => [];
        parent: Some(sale.id) => [&finance];
        parent: Some(finance.id) => [];
        salesperson: Some(StaffId::new(3)) => [&sale];
        salesperson: Some(StaffId::new(4)) => [&cancelled];
        credit_note: Some(CreditNumber::new(501)) => [&credited];
        credit_note: Some(CreditNumber::new(502)) => [&credited];
        credit_note: Some(CreditNumber::new(503)) => [];
        gross: between(Money::from_minor(9_900), Money::from_minor(10_000)) => [&draft, &deposit];
        gross: Some(Range::exactly(Money::from_minor(3_000_000))) => [&sale, &finance];
        gross: since(Money::from_minor(10_001)) => [&sale, &credited, &finance];
        gross: until(Money::ZERO) => [&cancelled];
        date: between(day(1), day(2)) => [&sale, &deposit];
        date: Some(Range::exactly(day(3))) => [&credited];
        date: since(day(4)) => [&finance, &cancelled];
        date: until(day(0)) => [&draft];
        due_date: between(day(6), day(7)) => [&sale, &deposit];
        due_date: until(day(4)) => [];
        created: between(AT.plus_seconds(2), AT.plus_seconds(3)) => [&deposit, &credited];
        updated: until(AT.plus_seconds(50)) => [&draft];
        updated: since(AT.plus_seconds(104)) => [&finance, &cancelled];
    }
    let overdue = |days, is_overdue| {
        let today = day(days);
        Some(Overdue { is_overdue, today })
    };
    cases! {
        // Both issued ones are due, on the sixth and on the ninth day.
        overdue: overdue(6, true) => [];
        overdue: overdue(7, true) => [&sale];
        overdue: overdue(10, true) => [&sale, &finance];
        overdue: overdue(6, false) => [&draft, &sale, &deposit, &credited, &finance, &cancelled];
        overdue: overdue(7, false) => [&draft, &deposit, &credited, &finance, &cancelled];
        overdue: overdue(100, false) => [&draft, &deposit, &credited, &cancelled];
    }
    for (filter, expected) in [
        (
            InvoiceFilter {
                vehicle: Some(VehicleId::new(21)),
                status: Some(StatusChoice(InvoiceStatus::Issued)),
                ..none()
            },
            vec![&sale],
        ),
        (
            InvoiceFilter {
                customer: Some(ContactId::new(7)),
                kind: Some(InvoiceKind::General),
                date: until(day(0)),
                ..none()
            },
            vec![&draft],
        ),
        (
            InvoiceFilter {
                credit_note: Some(CreditNumber::new(501)),
                vehicle: Some(VehicleId::new(21)),
                ..none()
            },
            vec![],
        ),
    ] {
        lists(store, ours, &filter, &expected).await;
    }
    vec![draft, sale, deposit, credited, finance, cancelled]
}

/// Lists follow what becomes of an invoice, however often it is changed within one transaction: of a draft everything, of any other
/// its credit notes and what it may change.
async fn lists_what_was_changed(
    store: &mut dyn InvoiceStore,
    ours: BusinessId,
    theirs: BusinessId,
    listed: Vec<Invoice>,
) {
    let [draft, sale, deposit, credited, finance, cancelled] = <[Invoice; 6]>::try_from(listed).expect("they are six");
    let of_vehicle = |id| InvoiceFilter {
        vehicle: Some(VehicleId::new(id)),
        ..InvoiceFilter::default()
    };
    let of_note = |number| InvoiceFilter {
        credit_note: Some(CreditNumber::new(number)),
        ..InvoiceFilter::default()
    };
    let mut changed = locked(store, ours, &draft).await;
    changed.content.agreement.lines = vec![
        a_line(1, LineKind::Vehicle, Some(22), 1),
        a_line(2, LineKind::Product, Some(25), 1),
    ];
    store.save_invoice(ours, &changed).await.expect("it is saved");
    // Others are locked and changed in between.
    let mut noted = locked(store, ours, &deposit).await;
    noted.content.credit_notes.push(a_note(504));
    store.save_invoice(ours, &noted).await.expect("it is saved");
    changed.content.agreement.lines = vec![
        a_line(1, LineKind::Vehicle, Some(26), 1),
        a_line(2, LineKind::Product, Some(25), 1),
    ];
    store.save_invoice(ours, &changed).await.expect("it is saved");
    let mut referred = locked(store, ours, &sale).await;
    referred.content.agreement.reference = line("");
    referred.content.credit_notes = vec![a_note(505)];
    store.save_invoice(ours, &referred).await.expect("it is saved");
    referred.content.credit_notes.push(a_note(506));
    store.save_invoice(ours, &referred).await.expect("it is saved");

    lists(store, ours, &of_vehicle(22), &[&referred, &finance]).await;
    lists(store, ours, &of_vehicle(25), &[&changed]).await;
    lists(store, ours, &of_vehicle(26), &[&changed]).await;
    lists(store, ours, &of_note(504), &[&noted]).await;
    for number in [505, 506] {
        lists(store, ours, &of_note(number), &[&referred]).await;
        lists(store, theirs, &of_note(number), &[]).await;
    }
    let with_reference = InvoiceFilter {
        reference: Some("PO 4711 Ü".to_owned()),
        ..InvoiceFilter::default()
    };
    lists(store, ours, &with_reference, &[&noted]).await;
    // What its lines are for stays found once it is issued.
    changed.number = Some(InvoiceNumber::new(705));
    changed.content.status = InvoiceStatus::Issued;
    store.save_invoice(ours, &changed).await.expect("it is saved");
    lists(store, ours, &of_vehicle(26), &[&changed]).await;
    let all = [&changed, &referred, &noted, &credited, &finance, &cancelled];
    lists(store, ours, &InvoiceFilter::default(), &all).await;
}

async fn locked(store: &mut dyn InvoiceStore, business: BusinessId, invoice: &Invoice) -> Invoice {
    let locked = store.lock_invoice(business, invoice.id).await;
    locked.expect("it is read").expect("it is there")
}

async fn finds_former_parties(store: &mut dyn InvoiceStore, ours: BusinessId, theirs: BusinessId) {
    let held = |days| {
        let mut content = a_draft(None, days, vec![a_line(1, LineKind::Product, None, 100)]);
        content.status = InvoiceStatus::Paid;
        content.agreement.bill_to = Some(Party::default());
        content
    };
    let mut known = held(20);
    known.agreement.customer = Some(ContactId::new(7));
    stored(store, ours, known, 20, Some(801)).await;
    let later = stored(store, ours, held(30), 21, Some(802)).await;
    let earlier = stored(store, theirs, held(29), 22, Some(803)).await;
    let day = |days| AT.date().days_later(days);
    let expected = [(theirs, earlier.id), (ours, later.id)];
    for (before, limit, expected) in [
        (day(29), 10, &expected[..0]),
        (day(30), 10, &expected[..1]),
        (day(31), 10, &expected[..]),
        (day(31), 1, &expected[..1]),
    ] {
        let found = store
            .invoices_with_former_parties(before, limit)
            .await
            .expect("they are read");
        assert_eq!(found, expected, "before {before}, at most {limit}");
    }
    let mut blanked = earlier;
    blanked.content.agreement.bill_to = None;
    store.save_invoice(theirs, &blanked).await.expect("it is saved");
    let found = store
        .invoices_with_former_parties(day(31), 10)
        .await
        .expect("they are read");
    assert_eq!(found, [(ours, later.id)]);
    let mut blanked = later;
    blanked.content.agreement.bill_to = None;
    store.save_invoice(ours, &blanked).await.expect("it is saved");
}

/// An agreement of which every member is set.
fn a_full_agreement() -> Agreement {
    let address = PartyAddress {
        line1: "12 Quay Street".to_owned(),
        line2: "Flat 3".to_owned(),
        line3: "Harbourside".to_owned(),
        city: "Bristol".to_owned(),
        state: "Avon".to_owned(),
        country: Some(Country::GB),
        zip: "BS1 4DJ".to_owned(),
    };
    let lines = vec![
        BillLine {
            product: Some(line("warranty-12")),
            stock_number: Some(17),
            category: Some(line("Valet")),
            quantity: 3,
            credited: Money::from_minor(1),
            nominal: line("4010"),
            ..a_line(1, LineKind::Vehicle, Some(21), 1_234_567)
        },
        a_line(2, LineKind::Settlement, None, 150_000),
    ];
    let exchange = PartExchange {
        id: 1,
        registration: line("AB12 CDE"),
        vin: line("WVWZZZ1KZ6W000001"),
        make: line("Citroën"),
        model: line("Ë-C4"),
        mileage: Some(41_000),
        vehicle: Some(VehicleId::new(31)),
        allowance: Money::from_minor(400_000),
        settlement: Money::from_minor(150_000),
        lender: Some(ContactId::new(12)),
        vat_scheme: ExchangeScheme::Standard,
        purchase: Some(PurchaseId::new(41)),
        settlement_purchase: Some(PurchaseId::new(42)),
        stock_vehicle: Some(VehicleId::new(32)),
    };
    Agreement {
        site: SiteId::new(3),
        customer: None,
        vehicle: Some(VehicleId::new(21)),
        date: AT.date(),
        currency: "EUR".parse::<Currency>().expect("it is a currency"),
        lines,
        notes: LongText::new("ä".repeat(20_000)).expect("it is within the bound"),
        deal: Some(DealId::new(5)),
        part_exchanges: vec![exchange],
        finance: SaleFinance {
            provider: Some(ContactId::new(11)),
            amount: Some(Money::from_minor(800_000)),
            invoice: Some(InvoiceId::new(9)),
        },
        reference: line("PO \"4711\"\n\u{1f697}"),
        salesperson: Some(StaffId::new(3)),
        distance: true,
        cancel_until: Some(AT.date().days_later(14)),
        terms: LongText::new("Payment before handover").expect("it is within the bound"),
        bill_to: Some(Party {
            name: "Zoë Šimić".to_owned(),
            company: "Šimić d.o.o.".to_owned(),
            address: address.clone(),
            vat: "HR12345678901".to_owned(),
        }),
        bill_from: Some(LegalParty {
            name: "Acme Cars Ltd".to_owned(),
            address,
            vat: "GB123456789".to_owned(),
            phone: "+441632960123".to_owned(),
            company_number: "01234567".to_owned(),
            fca_number: "654321".to_owned(),
            bank: BankAccount {
                account_name: "Acme".to_owned(),
                sort_code: "00-00-00".to_owned(),
                account_number: "12345678".to_owned(),
                iban: "GB00".to_owned(),
                bic: "ACME".to_owned(),
            },
        }),
    }
}

/// An invoice of which every member is set.
fn a_full_invoice() -> InvoiceContent {
    let note = NoteLine {
        line: 1,
        description: line("A line"),
        vat_scheme: VatScheme::Standard,
        vat_rate: VatRate::standard(Country::GB),
        net: Money::from_minor(1),
        vat: Money::ZERO,
        gross: Money::from_minor(1),
    };
    InvoiceContent {
        agreement: a_full_agreement(),
        status: InvoiceStatus::Credited,
        kind: InvoiceKind::Finance,
        due_date: AT.plus_seconds(30 * 86_400).date(),
        is_due_date_chosen: true,
        payments: vec![
            Payment {
                id: 1,
                kind: PaymentKind::Transfer,
                date: AT.date(),
                method: PaymentMethod::BankTransfer,
                amount: Money::from_minor(50_000),
                reference: line("Überweisung \u{1f697}"),
                reverses: None,
            },
            Payment {
                id: 2,
                kind: PaymentKind::Reversal,
                date: AT.date(),
                method: PaymentMethod::PartExchange,
                amount: Money::from_minor(-50_000),
                reference: line(""),
                reverses: Some(1),
            },
        ],
        credit_notes: vec![CreditNote::new(
            CreditNumber::new(9_000_000_001),
            AT.date(),
            line("Changed \"their\" mind\n"),
            vec![note],
        )],
        order: Some(OrderId::new(6)),
        parent: Some(InvoiceId::new(8)),
        parent_payments: vec![ParentPayment { payment: 1, parent: 4 }],
        issued: Some(AT),
    }
}

async fn keeps_every_field(store: &mut dyn InvoiceStore, ours: BusinessId, theirs: BusinessId) {
    let at = AT;
    let draft = InvoiceContent::deposit(&a_deposit(50_000), a_blank(), VatRate::standard(Country::GB));
    let invoice = store
        .insert_invoice(ours, draft.clone(), at)
        .await
        .expect("it is stored");
    let expected = Invoice {
        id: invoice.id,
        number: None,
        version: Version::FIRST,
        created: at,
        updated: at,
        content: draft,
    };
    assert_eq!(invoice, expected);
    finds(store, ours, theirs, &expected).await;

    let number = InvoiceNumber::new(9_000_000_000);
    let unnumbered = store.invoice_by_number(ours, number).await.expect("there is none");
    assert_eq!(unnumbered, None, "a draft has no number");
    let changed = Invoice {
        number: Some(number),
        version: invoice.version.next(),
        updated: at.plus_seconds(9),
        content: a_full_invoice(),
        ..invoice
    };
    store.save_invoice(ours, &changed).await.expect("it is saved");
    finds(store, ours, theirs, &changed).await;
    for (business, expected) in [(ours, Some(&changed)), (theirs, None)] {
        let found = store.invoice_by_number(business, number).await.expect("it is read");
        assert_eq!(found.as_ref(), expected, "numbers are the business's own");
    }

    // Another business can have the same number.
    let other = store
        .insert_invoice(theirs, changed.content.clone(), at)
        .await
        .expect("it is stored");
    assert_ne!(other.id, changed.id, "ids are unique across businesses");
    let other = Invoice {
        number: Some(number),
        version: other.version.next(),
        ..other
    };
    store.save_invoice(theirs, &other).await.expect("it is saved");
    for (business, expected) in [(ours, &changed), (theirs, &other)] {
        let found = store.invoice_by_number(business, number).await.expect("it is read");
        assert_eq!(found.as_ref(), Some(expected), "businesses are apart");
    }
}

async fn finds(store: &mut dyn InvoiceStore, ours: BusinessId, theirs: BusinessId, invoice: &Invoice) {
    for (business, expected) in [(ours, Some(invoice)), (theirs, None)] {
        for found in [
            store.invoice(business, invoice.id).await,
            store.lock_invoice(business, invoice.id).await,
        ] {
            assert_eq!(found.expect("it is read").as_ref(), expected, "businesses are apart");
        }
    }
}

async fn draws_numbers_without_gaps(store: &mut dyn InvoiceStore, ours: BusinessId, theirs: BusinessId) {
    for running in 1..=20 {
        let number = store.next_invoice_number(ours).await.expect("it is drawn");
        assert_eq!(number, InvoiceNumber::new(running));
        if running % 2 == 0 {
            let number = store.next_credit_number(ours).await.expect("it is drawn");
            assert_eq!(
                number,
                CreditNumber::new(running / 2),
                "credit notes count by themselves"
            );
        }
        if running % 5 == 0 {
            let number = store.next_invoice_number(theirs).await.expect("it is drawn");
            assert_eq!(
                number,
                InvoiceNumber::new(running / 5),
                "businesses count by themselves"
            );
        }
    }
    let number = store.next_credit_number(theirs).await.expect("it is drawn");
    assert_eq!(number, CreditNumber::FIRST);
}
