//! The suite that every store of purchases must pass.

use forecourt_billing::{
    BankAccount, BillLine, BillStatus, InvoiceId, LegalParty, NoteLine, Party, PartyAddress, Payment, PaymentKind,
    PaymentMethod, PurchaseCreditNumber, PurchaseNumber, StatusChoice, VatRate, VatScheme,
};
use forecourt_kernel::testing::{assert_pages, between, since, until};
use forecourt_kernel::{
    BusinessId, ContactId, Country, Currency, LongText, Money, PageRequest, Range, SiteId, VehicleId, Version,
};

use super::{AT, a_blank, a_cost, a_purchase, line};
use crate::{
    LinkedJob, OverduePurchase, Purchase, PurchaseContent, PurchaseCredit, PurchaseFilter, PurchaseKind,
    PurchaseOrigin, PurchaseStore, supplier_invoice_key,
};

/// Checks what every [`PurchaseStore`] promises. The two businesses must have no purchases in it, and must have drawn no numbers; no
/// other business may have purchases of deleted contacts.
///
/// # Panics
/// If the store breaks its contract.
pub async fn purchase_store_contract(store: &mut dyn PurchaseStore, ours: BusinessId, theirs: BusinessId) {
    let listed = lists_what_passes(store, ours, theirs).await;
    finds_the_suppliers_number(store, ours, theirs).await;
    lists_what_was_changed(store, ours, theirs, listed).await;
    finds_former_parties(store, ours, theirs).await;
    keeps_every_field(store, ours, theirs).await;
    draws_numbers_without_gaps(store, ours, theirs).await;
}

/// Stores a purchase and, unless it is a draft, changes it a hundred seconds later so that it gets its number.
async fn stored(
    store: &mut dyn PurchaseStore,
    business: BusinessId,
    content: PurchaseContent,
    second: i64,
    number: Option<i64>,
) -> Purchase {
    let at = AT.plus_seconds(second);
    let draft = PurchaseContent {
        status: BillStatus::Draft,
        ..content.clone()
    };
    let inserted = store.insert_purchase(business, draft, at).await.expect("it is stored");
    if content == inserted.content {
        return inserted;
    }
    let purchase = Purchase {
        number: number.map(PurchaseNumber::new),
        version: inserted.version.next(),
        updated: at.plus_seconds(100),
        content,
        ..inserted
    };
    store.save_purchase(business, &purchase).await.expect("it is saved");
    purchase
}

/// Asserts that the list of these purchases, oldest first, is what passes a filter.
async fn lists(store: &mut dyn PurchaseStore, business: BusinessId, filter: &PurchaseFilter, expected: &[&Purchase]) {
    let newest_first: Vec<Purchase> = expected.iter().rev().map(|purchase| (*purchase).clone()).collect();
    assert_pages(
        &newest_first,
        |purchase: &Purchase| purchase.id.get(),
        async |page: PageRequest| {
            let found = store.purchases(business, filter, &page).await;
            found.unwrap_or_else(|error| panic!("{filter:?} cannot be read: {error}"))
        },
    )
    .await;
}

async fn lists_what_passes(store: &mut dyn PurchaseStore, ours: BusinessId, theirs: BusinessId) -> Vec<Purchase> {
    let day = |days: u32| AT.date().days_later(days);
    let draft = a_purchase(BillStatus::Draft, Some(7), 0, Vec::new());
    let lines = vec![
        a_cost(1, Some(21), 10_000),
        a_cost(2, Some(22), 20_000),
        a_cost(3, None, 5_000),
    ];
    let mut issued = a_purchase(BillStatus::Issued, Some(7), 1, lines);
    issued.due_date = day(10);
    issued.site = SiteId::new(2);
    issued.supplier_invoice = line("V 22-17 Ü");
    issued.vehicle_job = Some(LinkedJob {
        vehicle: VehicleId::new(21),
        job: 5,
    });
    let mut paid = a_purchase(BillStatus::Paid, Some(8), 2, vec![a_cost(1, Some(21), 9_900)]);
    paid.due_date = day(10);
    paid.kind = PurchaseKind::Acquisition;
    paid.supplier_invoice = line("v22-17ü");
    let mut cancelled = a_purchase(BillStatus::Cancelled, None, 3, Vec::new());
    cancelled.kind = PurchaseKind::Settlement;
    let credited = a_purchase(BillStatus::Credited, Some(9), 4, vec![a_cost(1, None, 35_000)]);

    // Another business has the same, beside ours.
    let other = stored(store, theirs, issued.clone(), 1, Some(701)).await;
    let draft = stored(store, ours, draft, 0, None).await;
    let issued = stored(store, ours, issued, 1, Some(701)).await;
    let paid = stored(store, ours, paid, 2, Some(702)).await;
    let cancelled = stored(store, ours, cancelled, 3, None).await;
    let credited = stored(store, ours, credited, 4, Some(703)).await;
    let all = [&draft, &issued, &paid, &cancelled, &credited];

    let none = PurchaseFilter::default;
    macro_rules! cases {
        ($($member:ident: $wanted:expr => [$($passing:expr),*];)+) => {
            $(lists(store, ours, &PurchaseFilter { $member: $wanted, ..none() }, &[$($passing),*]).await;)+
        };
    }
    let money = Money::from_minor;
    lists(store, ours, &none(), &all).await;
    lists(store, theirs, &none(), &[&other]).await;
    cases! {
        site: Some(SiteId::new(2)) => [&issued];
        site: Some(SiteId::new(3)) => [];
        status: Some(StatusChoice(BillStatus::Draft)) => [&draft];
        status: Some(StatusChoice(BillStatus::Issued)) => [&issued];
        status: Some(StatusChoice(BillStatus::Paid)) => [&paid];
        status: Some(StatusChoice(BillStatus::Cancelled)) => [&cancelled];
        status: Some(StatusChoice(BillStatus::Credited)) => [&credited];
        kind: Some(PurchaseKind::Acquisition) => [&paid];
        kind: Some(PurchaseKind::Settlement) => [&cancelled];
        kind: Some(PurchaseKind::Cost) => [&draft, &issued, &credited];
        number: Some(PurchaseNumber::new(702)) => [&paid];
        number: Some(PurchaseNumber::new(1)) => [];
        supplier: Some(ContactId::new(7)) => [&draft, &issued];
        supplier: Some(ContactId::new(6)) => [];
        supplier_invoice: Some("V22-17 ü".to_owned()) => [&issued, &paid];
        // It is no pattern.
        supplier_invoice: Some("V22%".to_owned()) => [];
        vehicle: Some(VehicleId::new(21)) => [&issued, &paid];
        vehicle: Some(VehicleId::new(22)) => [&issued];
        vehicle: Some(VehicleId::new(24)) => [];
        job: Some(5) => [&issued];
        job: Some(6) => [];
        gross: between(money(9_900), money(34_999)) => [&paid];
        gross: Some(Range::exactly(money(35_000))) => [&issued, &credited];
        gross: until(money(0)) => [&draft, &cancelled];
        date: between(day(1), day(2)) => [&issued, &paid];
        date: Some(Range::exactly(day(3))) => [&cancelled];
        date: since(day(4)) => [&credited];
        date: until(day(0)) => [&draft];
        due_date: Some(Range::exactly(day(10))) => [&issued, &paid];
        due_date: until(day(0)) => [&draft];
        created: between(AT.plus_seconds(2), AT.plus_seconds(3)) => [&paid, &cancelled];
        updated: until(AT.plus_seconds(50)) => [&draft];
        updated: since(AT.plus_seconds(103)) => [&cancelled, &credited];
    }
    let overdue = |days, is_overdue| {
        let today = day(days);
        Some(OverduePurchase { is_overdue, today })
    };
    cases! {
        overdue: overdue(10, true) => [];
        overdue: overdue(11, true) => [&issued];
        overdue: overdue(10, false) => [&draft, &issued, &paid, &cancelled, &credited];
        // Only what is issued is ever overdue.
        overdue: overdue(100, false) => [&draft, &paid, &cancelled, &credited];
        overdue: overdue(100, true) => [&issued];
    }
    let both = PurchaseFilter {
        vehicle: Some(VehicleId::new(21)),
        status: Some(StatusChoice(BillStatus::Paid)),
        ..none()
    };
    lists(store, ours, &both, &[&paid]).await;
    vec![draft, issued, paid, cancelled, credited]
}

/// Finds a supplier's number on another live purchase of the type cost.
async fn finds_the_suppliers_number(store: &mut dyn PurchaseStore, ours: BusinessId, theirs: BusinessId) {
    let numbered = |status, kind| PurchaseContent {
        kind,
        supplier_invoice: line("QV 900"),
        ..a_purchase(status, Some(17), 5, Vec::new())
    };
    // Neither of these counts.
    stored(
        store,
        ours,
        numbered(BillStatus::Cancelled, PurchaseKind::Cost),
        5,
        None,
    )
    .await;
    stored(
        store,
        ours,
        numbered(BillStatus::Credited, PurchaseKind::Cost),
        6,
        Some(711),
    )
    .await;
    stored(
        store,
        ours,
        numbered(BillStatus::Issued, PurchaseKind::Acquisition),
        7,
        Some(712),
    )
    .await;
    stored(
        store,
        theirs,
        numbered(BillStatus::Issued, PurchaseKind::Cost),
        8,
        Some(713),
    )
    .await;
    let key = supplier_invoice_key("QV 900");
    let supplier = ContactId::new(17);
    let found = store.purchase_of_supplier_invoice(ours, supplier, &key, None).await;
    assert_eq!(found.expect("it is read"), None);

    let issued = stored(
        store,
        ours,
        numbered(BillStatus::Issued, PurchaseKind::Cost),
        9,
        Some(714),
    )
    .await;
    for (supplier, key, except, expected) in [
        (supplier, key.as_str(), None, Some(&issued)),
        (supplier, "qv901", None, None),
        (ContactId::new(18), &key, None, None),
        (supplier, &key, Some(issued.id), None),
    ] {
        let found = store.purchase_of_supplier_invoice(ours, supplier, key, except).await;
        assert_eq!(found.expect("it is read").as_ref(), expected, "{key} except {except:?}");
    }
}

/// Lists follow what becomes of a purchase, however often it is changed within one transaction: of a draft everything, of any other
/// what it may change.
async fn lists_what_was_changed(
    store: &mut dyn PurchaseStore,
    ours: BusinessId,
    theirs: BusinessId,
    listed: Vec<Purchase>,
) {
    let [draft, issued, paid, ..] = <[Purchase; 5]>::try_from(listed).expect("they are five");
    let of_vehicle = |id| PurchaseFilter {
        vehicle: Some(VehicleId::new(id)),
        ..PurchaseFilter::default()
    };
    let mut changed = locked(store, ours, &draft).await;
    changed.content.lines = vec![a_cost(1, Some(22), 1), a_cost(2, Some(25), 1)];
    store.save_purchase(ours, &changed).await.expect("it is saved");
    // Another one is locked and changed in between.
    let mut reopened = locked(store, ours, &paid).await;
    reopened.content.status = BillStatus::Issued;
    store.save_purchase(ours, &reopened).await.expect("it is saved");
    changed.content.lines = vec![a_cost(1, Some(25), 1)];
    store.save_purchase(ours, &changed).await.expect("it is saved");

    lists(store, ours, &of_vehicle(21), &[&issued, &reopened]).await;
    lists(store, ours, &of_vehicle(22), &[&issued]).await;
    lists(store, ours, &of_vehicle(25), &[&changed]).await;
    lists(store, theirs, &of_vehicle(25), &[]).await;
    // What its lines are for stays found once it is issued.
    changed.number = Some(PurchaseNumber::new(705));
    changed.content.status = BillStatus::Issued;
    store.save_purchase(ours, &changed).await.expect("it is saved");
    lists(store, ours, &of_vehicle(25), &[&changed]).await;
    // A credit is kept once, however often its purchase is saved.
    changed.content.credit_notes.push(a_credit(801));
    store.save_purchase(ours, &changed).await.expect("it is saved");
    changed.content.credit_notes.push(a_credit(802));
    store.save_purchase(ours, &changed).await.expect("it is saved");
    let found = store.purchase(ours, changed.id).await.expect("it is read");
    assert_eq!(found, Some(changed));
}

async fn locked(store: &mut dyn PurchaseStore, business: BusinessId, purchase: &Purchase) -> Purchase {
    let locked = store.lock_purchase(business, purchase.id).await;
    locked.expect("it is read").expect("it is there")
}

async fn finds_former_parties(store: &mut dyn PurchaseStore, ours: BusinessId, theirs: BusinessId) {
    let held = |days| {
        let mut content = a_purchase(BillStatus::Issued, None, days, Vec::new());
        content.bill_from = Some(Party::default());
        content
    };
    let mut known = held(20);
    known.supplier = Some(ContactId::new(7));
    stored(store, ours, known, 20, Some(901)).await;
    let later = stored(store, ours, held(30), 21, Some(902)).await;
    let earlier = stored(store, theirs, held(29), 22, Some(903)).await;
    let day = |days| AT.date().days_later(days);
    let expected = [(theirs, earlier.id), (ours, later.id)];
    for (before, limit, expected) in [
        (day(29), 10, &expected[..0]),
        (day(30), 10, &expected[..1]),
        (day(31), 10, &expected[..]),
        (day(31), 1, &expected[..1]),
    ] {
        let found = store.purchases_with_former_parties(before, limit).await;
        assert_eq!(
            found.expect("they are read"),
            expected,
            "before {before}, at most {limit}"
        );
    }
    for (business, held) in [(theirs, earlier), (ours, later)] {
        let mut blanked = held;
        blanked.content.bill_from = None;
        store.save_purchase(business, &blanked).await.expect("it is saved");
        let found = store.purchases_with_former_parties(day(31), 10).await;
        let found = found.expect("they are read");
        assert!(!found.contains(&(business, blanked.id)), "its party is gone");
    }
}

fn a_credit(number: i64) -> PurchaseCredit {
    PurchaseCredit::new(
        PurchaseCreditNumber::new(number),
        line("CR-8"),
        AT.date().days_later(9),
        line("Returned"),
        vec![NoteLine {
            line: 1,
            description: line("Full valet"),
            vat_scheme: VatScheme::Outside,
            vat_rate: VatRate::ZERO,
            net: Money::from_minor(100),
            vat: Money::ZERO,
            gross: Money::from_minor(100),
        }],
    )
}

/// A content of which every member is set.
fn a_full_content() -> PurchaseContent {
    let address = PartyAddress {
        line1: "12 Quay Street".to_owned(),
        line2: "Flat 3".to_owned(),
        line3: "Harbourside".to_owned(),
        city: "Bristol".to_owned(),
        state: "Avon".to_owned(),
        country: Some(Country::GB),
        zip: "BS1 4DJ".to_owned(),
    };
    let costs = BillLine {
        product: Some(line("warranty-12")),
        stock_number: Some(17),
        quantity: 3,
        credited: Money::from_minor(100),
        nominal: line("4010"),
        ..a_cost(1, Some(21), 1_234_567)
    };
    let payment = Payment {
        id: 1,
        kind: PaymentKind::Payment,
        date: AT.date(),
        method: PaymentMethod::BankTransfer,
        amount: Money::from_minor(1_000),
        reference: line("QV 900"),
        reverses: None,
    };
    PurchaseContent {
        site: SiteId::new(3),
        status: BillStatus::Issued,
        kind: PurchaseKind::Settlement,
        supplier: None,
        supplier_invoice: line("QV \"901\"\u{1f697}"),
        date: AT.date(),
        due_date: AT.date().days_later(30),
        is_due_date_chosen: true,
        currency: "EUR".parse::<Currency>().expect("it is a currency"),
        lines: vec![costs],
        payments: vec![payment],
        credit_notes: vec![a_credit(9_000_000_001)],
        vehicle_job: Some(LinkedJob {
            vehicle: VehicleId::new(21),
            job: 5,
        }),
        bill_from: Some(Party {
            name: "Zoë Šimić".to_owned(),
            company: "Šimić d.o.o.".to_owned(),
            address: address.clone(),
            vat: "HR12345678901".to_owned(),
        }),
        bill_to: Some(LegalParty {
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
        notes: LongText::new("ä".repeat(20_000)).expect("it is within the bound"),
        origin: Some(PurchaseOrigin {
            invoice: InvoiceId::new(58),
            part_exchange: 1,
        }),
        issued: Some(AT),
    }
}

async fn keeps_every_field(store: &mut dyn PurchaseStore, ours: BusinessId, theirs: BusinessId) {
    let draft = a_blank();
    let inserted = store.insert_purchase(ours, draft.clone(), AT).await;
    let purchase = inserted.expect("it is stored");
    let expected = Purchase {
        id: purchase.id,
        number: None,
        version: Version::FIRST,
        created: AT,
        updated: AT,
        content: draft,
    };
    assert_eq!(purchase, expected);
    finds(store, ours, theirs, &expected).await;

    let changed = Purchase {
        number: Some(PurchaseNumber::new(9_000_000_000)),
        version: purchase.version.next(),
        updated: AT.plus_seconds(9),
        content: a_full_content(),
        ..purchase
    };
    store.save_purchase(ours, &changed).await.expect("it is saved");
    finds(store, ours, theirs, &changed).await;

    // Another business can have the same number.
    let inserted = store.insert_purchase(theirs, changed.content.clone(), AT).await;
    let other = inserted.expect("it is stored");
    assert_ne!(other.id, changed.id, "ids are unique across businesses");
    let other = Purchase {
        number: changed.number,
        version: other.version.next(),
        ..other
    };
    store.save_purchase(theirs, &other).await.expect("it is saved");
    finds(store, theirs, ours, &other).await;
}

async fn finds(store: &mut dyn PurchaseStore, ours: BusinessId, theirs: BusinessId, purchase: &Purchase) {
    for (business, expected) in [(ours, Some(purchase)), (theirs, None)] {
        for found in [
            store.purchase(business, purchase.id).await,
            store.lock_purchase(business, purchase.id).await,
        ] {
            assert_eq!(found.expect("it is read").as_ref(), expected, "businesses are apart");
        }
    }
}

async fn draws_numbers_without_gaps(store: &mut dyn PurchaseStore, ours: BusinessId, theirs: BusinessId) {
    for running in 1..=20 {
        let number = store.next_purchase_number(ours).await.expect("it is drawn");
        assert_eq!(number, PurchaseNumber::new(running));
        let credit = store.next_purchase_credit_number(ours).await.expect("it is drawn");
        assert_eq!(
            credit,
            PurchaseCreditNumber::new(running),
            "credits count by themselves"
        );
        let stock = store.next_stock_number(ours).await.expect("it is drawn");
        assert_eq!(stock, running, "so does the stock book");
        if running % 5 == 0 {
            let number = store.next_purchase_number(theirs).await.expect("it is drawn");
            assert_eq!(
                number,
                PurchaseNumber::new(running / 5),
                "businesses count by themselves"
            );
        }
    }
}
