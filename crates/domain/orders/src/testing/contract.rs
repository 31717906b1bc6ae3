//! The suite that every store of orders must pass.

use forecourt_billing::{
    Agreement, BankAccount, BillLine, DealId, ExchangeScheme, InvoiceId, LegalParty, LineKind, PartExchange, Party,
    PartyAddress, SaleFinance,
};
use forecourt_kernel::testing::{assert_pages, between, since, until};
use forecourt_kernel::{
    BusinessId, ContactId, Country, Currency, LongText, Money, PageRequest, Range, SiteId, StaffId, VehicleId, Version,
};

use super::{AT, a_blank, a_line, an_order, line};
use crate::{Expired, Order, OrderContent, OrderFilter, OrderNumber, OrderStatus, OrderStatusChoice, OrderStore};

/// Checks what every [`OrderStore`] promises. The two businesses must have no orders in it, and must have drawn no numbers; no other
/// business may have orders of deleted contacts.
///
/// # Panics
/// If the store breaks its contract.
pub async fn order_store_contract(store: &mut dyn OrderStore, ours: BusinessId, theirs: BusinessId) {
    let listed = lists_what_passes(store, ours, theirs).await;
    lists_what_was_changed(store, ours, theirs, listed).await;
    finds_former_parties(store, ours, theirs).await;
    keeps_every_field(store, ours, theirs).await;
    draws_numbers_without_gaps(store, ours, theirs).await;
}

/// Stores an order and, unless it is a draft, changes it a hundred seconds later so that it gets its number.
async fn stored(
    store: &mut dyn OrderStore,
    business: BusinessId,
    content: OrderContent,
    second: i64,
    number: Option<i64>,
) -> Order {
    let at = AT.plus_seconds(second);
    let draft = OrderContent {
        status: OrderStatus::Draft,
        invoice: None,
        ..content.clone()
    };
    let inserted = store.insert_order(business, draft, at).await.expect("it is stored");
    if content == inserted.content {
        return inserted;
    }
    let order = Order {
        number: number.map(OrderNumber::new),
        version: inserted.version.next(),
        updated: at.plus_seconds(100),
        content,
        ..inserted
    };
    store.save_order(business, &order).await.expect("it is saved");
    order
}

/// Asserts that the list of these orders, oldest first, is what passes a filter.
async fn lists(store: &mut dyn OrderStore, business: BusinessId, filter: &OrderFilter, expected: &[&Order]) {
    let newest_first: Vec<Order> = expected.iter().rev().map(|order| (*order).clone()).collect();
    assert_pages(
        &newest_first,
        |order: &Order| order.id.get(),
        async |page: PageRequest| {
            let found = store.orders(business, filter, &page).await;
            found.unwrap_or_else(|error| panic!("{filter:?} cannot be read: {error}"))
        },
    )
    .await;
}

async fn lists_what_passes(store: &mut dyn OrderStore, ours: BusinessId, theirs: BusinessId) -> Vec<Order> {
    let day = |days: u32| AT.date().days_later(days);
    let draft = an_order(OrderStatus::Draft, Some(7), 0, Vec::new());
    let vehicles = vec![
        a_line(1, LineKind::Vehicle, Some(21), 1_000_000),
        a_line(2, LineKind::Vehicle, Some(22), 2_000_000),
        a_line(3, LineKind::Product, Some(23), 5_000),
        a_line(4, LineKind::Product, None, 5_000),
    ];
    let mut issued = an_order(OrderStatus::Issued, Some(7), 1, vehicles);
    issued.valid_until = Some(day(10));
    issued.agreement.site = SiteId::new(2);
    issued.agreement.reference = line("PO 4711 Ü");
    issued.agreement.deal = Some(DealId::new(5));
    issued.agreement.salesperson = Some(StaffId::new(3));
    let of_vehicle = vec![a_line(1, LineKind::Vehicle, Some(21), 9_900)];
    let mut converted = an_order(OrderStatus::Converted, Some(8), 2, of_vehicle);
    converted.valid_until = Some(day(10));
    converted.invoice = Some(InvoiceId::new(9));
    converted.agreement.reference = line("po 4711 ü");
    let mut cancelled = an_order(OrderStatus::Cancelled, None, 3, Vec::new());
    cancelled.valid_until = Some(day(11));
    cancelled.agreement.salesperson = Some(StaffId::new(4));
    let open = an_order(OrderStatus::Issued, Some(9), 4, Vec::new());

    // Another business has the same, beside ours.
    let other = stored(store, theirs, issued.clone(), 1, Some(701)).await;
    let draft = stored(store, ours, draft, 0, None).await;
    let issued = stored(store, ours, issued, 1, Some(701)).await;
    let converted = stored(store, ours, converted, 2, Some(702)).await;
    let cancelled = stored(store, ours, cancelled, 3, None).await;
    let open = stored(store, ours, open, 4, Some(703)).await;
    let all = [&draft, &issued, &converted, &cancelled, &open];

    let none = OrderFilter::default;
    macro_rules! cases {
        ($($member:ident: $wanted:expr => [$($passing:expr),*];)+) => {
            $(lists(store, ours, &OrderFilter { $member: $wanted, ..none() }, &[$($passing),*]).await;)+
        };
    }
    lists(store, ours, &none(), &all).await;
    lists(store, theirs, &none(), &[&other]).await;
    cases! {
        site: Some(SiteId::new(2)) => [&issued];
        site: Some(SiteId::new(3)) => [];
        status: Some(OrderStatusChoice(OrderStatus::Draft)) => [&draft];
        status: Some(OrderStatusChoice(OrderStatus::Issued)) => [&issued, &open];
        status: Some(OrderStatusChoice(OrderStatus::Converted)) => [&converted];
        status: Some(OrderStatusChoice(OrderStatus::Cancelled)) => [&cancelled];
        number: Some(OrderNumber::new(702)) => [&converted];
        number: Some(OrderNumber::new(1)) => [];
        reference: Some("Po 4711 ü".to_owned()) => [&issued, &converted];
        // It is no pattern.
        reference: Some("PO%".to_owned()) => [];
        customer: Some(ContactId::new(7)) => [&draft, &issued];
        customer: Some(ContactId::new(6)) => [];
        vehicle: Some(VehicleId::new(21)) => [&issued, &converted];
        vehicle: Some(VehicleId::new(22)) => [&issued];
        vehicle: Some(VehicleId::new(23)) => [&issued];
        vehicle: Some(VehicleId::new(24)) => [];
        deal: Some(DealId::new(5)) => [&issued];
        deal: Some(DealId::new(6)) => [];
        invoice: Some(InvoiceId::new(9)) => [&converted];
        invoice: Some(InvoiceId::new(8)) => [];
        salesperson: Some(StaffId::new(3)) => [&issued];
        salesperson: Some(StaffId::new(4)) => [&cancelled];
        date: between(day(1), day(2)) => [&issued, &converted];
        date: Some(Range::exactly(day(3))) => [&cancelled];
        date: since(day(4)) => [&open];
        date: until(day(0)) => [&draft];
        valid_until: Some(Range::exactly(day(10))) => [&issued, &converted];
        valid_until: since(day(11)) => [&cancelled];
        valid_until: until(day(9)) => [];
        created: between(AT.plus_seconds(2), AT.plus_seconds(3)) => [&converted, &cancelled];
        updated: until(AT.plus_seconds(50)) => [&draft];
        updated: since(AT.plus_seconds(103)) => [&cancelled, &open];
    }
    let expired = |days, is_expired| {
        let today = day(days);
        Some(Expired { is_expired, today })
    };
    cases! {
        expired: expired(10, true) => [];
        expired: expired(11, true) => [&issued];
        expired: expired(10, false) => [&draft, &issued, &converted, &cancelled, &open];
        // What has no last day never expires.
        expired: expired(100, false) => [&draft, &converted, &cancelled, &open];
        expired: expired(100, true) => [&issued];
    }
    let both = OrderFilter {
        vehicle: Some(VehicleId::new(21)),
        status: Some(OrderStatusChoice(OrderStatus::Converted)),
        ..none()
    };
    lists(store, ours, &both, &[&converted]).await;
    vec![draft, issued, converted, cancelled, open]
}

/// Lists follow what becomes of an order, however often it is changed within one transaction: of a draft everything, of any other
/// what it may change.
async fn lists_what_was_changed(store: &mut dyn OrderStore, ours: BusinessId, theirs: BusinessId, listed: Vec<Order>) {
    let [draft, issued, converted, cancelled, open] = <[Order; 5]>::try_from(listed).expect("they are five");
    let of_vehicle = |id| OrderFilter {
        vehicle: Some(VehicleId::new(id)),
        ..OrderFilter::default()
    };
    let mut changed = locked(store, ours, &draft).await;
    changed.content.agreement.lines = vec![
        a_line(1, LineKind::Vehicle, Some(22), 1),
        a_line(2, LineKind::Product, Some(25), 1),
    ];
    store.save_order(ours, &changed).await.expect("it is saved");
    // Another one is locked and changed in between.
    let mut reopened = locked(store, ours, &converted).await;
    reopened.content.status = OrderStatus::Issued;
    reopened.content.invoice = None;
    store.save_order(ours, &reopened).await.expect("it is saved");
    changed.content.agreement.lines = vec![a_line(1, LineKind::Product, Some(25), 1)];
    store.save_order(ours, &changed).await.expect("it is saved");

    lists(store, ours, &of_vehicle(21), &[&issued, &reopened]).await;
    lists(store, ours, &of_vehicle(22), &[&issued]).await;
    lists(store, ours, &of_vehicle(25), &[&changed]).await;
    lists(store, theirs, &of_vehicle(25), &[]).await;
    let became = OrderFilter {
        invoice: Some(InvoiceId::new(9)),
        ..OrderFilter::default()
    };
    lists(store, ours, &became, &[]).await;
    // What its lines are for stays found once it is issued.
    changed.number = Some(OrderNumber::new(705));
    changed.content.status = OrderStatus::Issued;
    store.save_order(ours, &changed).await.expect("it is saved");
    lists(store, ours, &of_vehicle(25), &[&changed]).await;
    let all = [&changed, &issued, &reopened, &cancelled, &open];
    lists(store, ours, &OrderFilter::default(), &all).await;
}

async fn locked(store: &mut dyn OrderStore, business: BusinessId, order: &Order) -> Order {
    let locked = store.lock_order(business, order.id).await;
    locked.expect("it is read").expect("it is there")
}

async fn finds_former_parties(store: &mut dyn OrderStore, ours: BusinessId, theirs: BusinessId) {
    let held = |days| {
        let mut content = an_order(OrderStatus::Issued, None, days, Vec::new());
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
            .orders_with_former_parties(before, limit)
            .await
            .expect("they are read");
        assert_eq!(found, expected, "before {before}, at most {limit}");
    }
    for (business, held) in [(theirs, earlier), (ours, later)] {
        let mut blanked = held;
        blanked.content.agreement.bill_to = None;
        store.save_order(business, &blanked).await.expect("it is saved");
        let found = store
            .orders_with_former_parties(day(31), 10)
            .await
            .expect("they are read");
        assert!(!found.contains(&(business, blanked.id)), "its party is gone");
    }
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
            quantity: 3,
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
        purchase: None,
        settlement_purchase: None,
        stock_vehicle: None,
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
            invoice: None,
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

async fn keeps_every_field(store: &mut dyn OrderStore, ours: BusinessId, theirs: BusinessId) {
    let draft = OrderContent::draft(a_blank());
    let order = store.insert_order(ours, draft.clone(), AT).await.expect("it is stored");
    let expected = Order {
        id: order.id,
        number: None,
        version: Version::FIRST,
        created: AT,
        updated: AT,
        content: draft,
    };
    assert_eq!(order, expected);
    finds(store, ours, theirs, &expected).await;

    let changed = Order {
        number: Some(OrderNumber::new(9_000_000_000)),
        version: order.version.next(),
        updated: AT.plus_seconds(9),
        content: OrderContent {
            agreement: a_full_agreement(),
            status: OrderStatus::Converted,
            valid_until: Some(AT.date().days_later(30)),
            invoice: Some(InvoiceId::new(58)),
            issued: Some(AT),
            deposit: Money::from_minor(9_900),
        },
        ..order
    };
    store.save_order(ours, &changed).await.expect("it is saved");
    finds(store, ours, theirs, &changed).await;

    // Another business can have the same number.
    let other = store
        .insert_order(theirs, changed.content.clone(), AT)
        .await
        .expect("it is stored");
    assert_ne!(other.id, changed.id, "ids are unique across businesses");
    let other = Order {
        number: changed.number,
        version: other.version.next(),
        ..other
    };
    store.save_order(theirs, &other).await.expect("it is saved");
    finds(store, theirs, ours, &other).await;
}

async fn finds(store: &mut dyn OrderStore, ours: BusinessId, theirs: BusinessId, order: &Order) {
    for (business, expected) in [(ours, Some(order)), (theirs, None)] {
        for found in [
            store.order(business, order.id).await,
            store.lock_order(business, order.id).await,
        ] {
            assert_eq!(found.expect("it is read").as_ref(), expected, "businesses are apart");
        }
    }
}

async fn draws_numbers_without_gaps(store: &mut dyn OrderStore, ours: BusinessId, theirs: BusinessId) {
    for running in 1..=20 {
        let number = store.next_order_number(ours).await.expect("it is drawn");
        assert_eq!(number, OrderNumber::new(running));
        if running % 5 == 0 {
            let number = store.next_order_number(theirs).await.expect("it is drawn");
            assert_eq!(number, OrderNumber::new(running / 5), "businesses count by themselves");
        }
    }
}
