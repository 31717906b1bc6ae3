//! Tests of the use cases of orders, on the store in memory.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy excepts a test, but not what several tests share"
)]

use std::collections::BTreeSet;

use forecourt_accounts::{Business, Caller};
use forecourt_kernel::testing::FixedClock;
use forecourt_kernel::{
    BusinessId, ContactId, Date, EventName, Line, LongText, Money, NewEvent, PageRequest, Person, PersonKeys,
    Precondition, ScopeSet, Target, Timestamp, VehicleId,
};
use forecourt_orders::testing::{MemoryOrderStore, a_billed_contact, a_billed_vehicle, order_store_contract};
use forecourt_orders::{
    FullOrder, Order, OrderError, OrderFilter, OrderId, OrderIssue, OrderIssueChanges, OrderReader as _, OrderStatus,
    OrderStore as _, PaidDeposit, cancel_order, check_cancel, complete_order_issue, convert_order, draft_order,
    forget_former_party, forget_person_in_order, forget_person_in_order_event, list_orders, lock_order,
    prepare_order_issue, read_order, reopen_order, show_order, update_order, validate_order,
};
use forecourt_reference::{DocumentKind, document_statuses};
use serde_json::{Value, json};

/// 2026-03-01T23:59:59Z.
const NOW: Timestamp = Timestamp::from_epoch_seconds(1_772_409_599);

/// Contacts and a vehicle of the business.
const JANE: i64 = 7;
const LENDER: i64 = 8;
const FOCUS: i64 = 21;

type Store = MemoryOrderStore;

fn clock() -> FixedClock {
    FixedClock::at(NOW)
}

fn by() -> Caller {
    Caller::of(Business::new(BusinessId::new(1), "acme", "Acme Cars"), ScopeSet::all())
}

fn store() -> Store {
    let ours = by().business_id();
    Store {
        contacts: vec![
            (ours, a_billed_contact(JANE, "Jane Doe")),
            (ours, a_billed_contact(LENDER, "Credit Bank")),
        ],
        vehicles: vec![(ours, a_billed_vehicle(FOCUS, 1_299_500))],
        ..Store::default()
    }
}

/// A car for 12,995.00, and another in part exchange for 4,000.00 on which 1,500.00 is owed.
fn a_purchase() -> Value {
    json!({
        "customer": JANE, "lines": [{"type": "vehicle", "vehicle": FOCUS}],
        "part_exchanges": [{"registration": "AB12 CDE", "allowance": 4000, "settlement": 1500, "lender": LENDER}],
    })
}

async fn drafted(store: &mut Store, body: Value) -> Result<Order, OrderError> {
    let by = by();
    let body = serde_json::from_value(body).unwrap();
    let draft = validate_order(store, &by.business, NOW, body, true).await?;
    draft_order(store, &clock(), &by, &draft).await
}

async fn changed(store: &mut Store, id: OrderId, body: Value) -> Result<Order, OrderError> {
    let by = by();
    let body = serde_json::from_value(body).unwrap();
    let changes = validate_order(store, &by.business, NOW, body, false).await?;
    update_order(store, &clock(), &by, id, &changes).await
}

/// Issues a draft as the crate of sales does, without vehicles.
async fn issue(store: &mut Store, id: OrderId, issue: OrderIssue) -> Result<Order, OrderError> {
    let business = by().business;
    let prepared = prepare_order_issue(store, &business, id, issue).await?;
    complete_order_issue(store, &clock(), &business, prepared).await
}

async fn issued(store: &mut Store) -> Order {
    let draft = drafted(store, a_purchase()).await.unwrap();
    issue(store, draft.id, OrderIssue::default()).await.unwrap()
}

async fn read(store: &mut Store, id: OrderId) -> Order {
    read_order(store, by().business_id(), id).await.unwrap()
}

async fn shown(store: &mut Store, order: &Order) -> Value {
    let order = show_order(store, &by().business, order).await.unwrap();
    serde_json::to_value(FullOrder::from(&order)).unwrap()
}

fn day(text: &str) -> Date {
    text.parse().unwrap()
}

fn money(minor: i64) -> Money {
    Money::from_minor(minor)
}

/// Returns the events since the last call: their names, what they show, and `changed` of it.
fn happened(store: &mut Store) -> Vec<(EventName, Value, Vec<String>)> {
    let events = std::mem::take(&mut store.events);
    let each = |(_, event): (BusinessId, NewEvent)| {
        let mut data: Value = serde_json::from_str(&event.data).unwrap();
        let changed = data.as_object_mut().unwrap().remove("changed").unwrap();
        assert_eq!(data["id"], event.record);
        (event.name, data, serde_json::from_value(changed).unwrap())
    };
    events.into_iter().map(each).collect()
}

/// Returns the name of the only event since the last call, with its `changed`.
fn only(store: &mut Store) -> (EventName, Vec<String>) {
    let [(name, _, members)] = <[_; 1]>::try_from(happened(store)).unwrap();
    (name, members)
}

#[track_caller]
fn faults<T: std::fmt::Debug>(refused: Result<T, OrderError>) -> BTreeSet<String> {
    let Err(OrderError::Invalid(errors)) = refused else {
        panic!("{refused:?}")
    };
    errors.as_slice().iter().map(|error| error.field.clone()).collect()
}

fn set<const N: usize>(fields: [&str; N]) -> BTreeSet<String> {
    fields.into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    order_store_contract(&mut Store::default(), BusinessId::new(1), BusinessId::new(2)).await;
}

#[test]
fn the_reference_list_shows_the_same_states() {
    let listed = document_statuses(DocumentKind::Order);
    let listed: Vec<_> = listed.iter().map(|status| (status.id, status.name)).collect();
    assert_eq!(listed, OrderStatus::ALL.map(|status| (status.id(), status.name())));
}

#[tokio::test]
async fn a_draft_reads_as_it_was_agreed() {
    let mut store = store();
    let mut body = a_purchase();
    body["valid_until"] = json!("2026-02-01");
    body["finance"] = json!({"provider": LENDER, "amount": 8000});
    let draft = drafted(&mut store, body).await.unwrap();
    let expected = json!({
        "id": 1, "site": 0, "number": null, "status": {"id": 0, "name": "draft"}, "customer": JANE, "vehicle": FOCUS,
        "date": "2026-03-01", "valid_until": "2026-02-01", "currency": "GBP",
        "totals": {
            "net": "14495.00", "vat": "0.00", "gross": "14495.00", "part_exchange": "4000.00", "deposit": "0.00",
            "payable": "10495.00",
        },
        "invoice": null, "created": NOW, "updated": NOW, "reference": "", "deal": null,
        "bill_to": {
            "name": "Jane Doe", "company": "",
            "address": {"line1": "", "line2": "", "line3": "", "city": "", "state": "", "country": "", "zip": ""},
            "vat": "",
        },
    });
    let shown = shown(&mut store, &draft).await;
    for (member, expected) in expected.as_object().unwrap() {
        assert_eq!(shown[member], *expected, "{member}");
    }
    assert_eq!(shown["bill_from"]["name"], "Acme Cars");
    let line = json!({
        "id": 1, "type": "vehicle", "product": null, "vehicle": FOCUS, "stock_number": null,
        "description": "2019 Ford Focus ST-Line, AB19 CDE, 41000 miles", "quantity": 1, "net": "12995.00",
        "vat_scheme": "margin", "vat_rate": "0.00", "vat": "0.00", "gross": "12995.00", "nominal": "",
    });
    assert_eq!(
        shown["lines"][0].to_string(),
        line.to_string(),
        "nothing of it is credited"
    );
    assert_eq!(shown["lines"][1]["description"], "Settlement of finance on AB12 CDE");
    assert_eq!(
        shown["finance"],
        json!({"provider": LENDER, "amount": "8000.00", "invoice": null})
    );
    let [(name, data, members)] = <[_; 1]>::try_from(happened(&mut store)).unwrap();
    assert_eq!((name, &data), (EventName::OrderCreated, &shown));
    assert_eq!(members, data.as_object().unwrap().keys().cloned().collect::<Vec<_>>());
}

#[tokio::test]
async fn all_faults_are_found_at_once() {
    let mut store = store();
    let body = json!({
        "valid_until": "1700-01-01", "site": 99, "salesperson": 9, "lines": [{"type": "cost", "description": "x", "gross": 1}],
        "part_exchanges": [{"registration": "AB12 CDE", "allowance": 1, "settlement": 1}],
    });
    let wrong = faults(drafted(&mut store, body).await);
    let expected = set([
        "customer",
        "lines.0.category",
        "lines.0.type",
        "part_exchanges.0.lender",
        "salesperson",
        "site",
        "valid_until",
    ]);
    assert_eq!(wrong, expected);
    assert_eq!((store.records.all().count(), store.events.len()), (0, 0));
    let mut twice = a_purchase();
    twice["lines"] = json!([{"type": "vehicle", "vehicle": FOCUS}, {"type": "vehicle", "vehicle": FOCUS}]);
    assert_eq!(faults(drafted(&mut store, twice).await), set(["lines.1.vehicle"]));
}

#[tokio::test]
async fn a_draft_shows_what_was_paid_on_deposits_and_an_issue_freezes_it() {
    let mut store = store();
    let ours = by().business_id();
    let deposit = |customer, vehicle, minor| PaidDeposit {
        customer: ContactId::new(customer),
        vehicle: VehicleId::new(vehicle),
        paid: money(minor),
    };
    let draft = drafted(&mut store, a_purchase()).await.unwrap();
    let before = show_order(&mut store, &by().business, &draft).await.unwrap();
    store.records.deposits = vec![
        (ours, deposit(JANE, FOCUS, 9_900)),
        (ours, deposit(JANE, FOCUS, 100)),
        (ours, deposit(JANE, 22, 1)),
        (ours, deposit(LENDER, FOCUS, 1)),
        (BusinessId::new(2), deposit(JANE, FOCUS, 1)),
    ];
    let after = show_order(&mut store, &by().business, &draft).await.unwrap();
    let totals = after.content.totals();
    assert_eq!((totals.deposit, totals.payable), (money(10_000), money(1_039_500)));
    assert_ne!(before.version, after.version, "an ETag sees it");
    let page = list_orders(&mut store, &by(), &OrderFilter::default(), &PageRequest::first())
        .await
        .unwrap();
    assert_eq!(page.items, [after]);

    let order = issue(&mut store, draft.id, OrderIssue::default()).await.unwrap();
    store.records.deposits.clear();
    let frozen = show_order(&mut store, &by().business, &order).await.unwrap();
    assert_eq!(
        (frozen.content.totals().deposit, frozen.version),
        (money(10_000), order.version)
    );
}

#[tokio::test]
async fn payable_may_be_below_zero() {
    let mut store = store();
    let body = json!({
        "customer": JANE, "lines": [{"type": "vehicle", "vehicle": FOCUS, "gross": 1000}],
        "part_exchanges": [{"registration": "AB12 CDE", "allowance": 4000}],
    });
    let order = drafted(&mut store, body).await.unwrap();
    assert_eq!(order.content.totals().payable, money(-300_000));
}

#[tokio::test]
async fn an_issue_takes_a_number_and_freezes_the_parties() {
    let mut store = store();
    let draft = drafted(&mut store, a_purchase()).await.unwrap();
    happened(&mut store);
    let later = OrderIssue {
        date: Some(day("2026-03-05")),
        reserve: false,
    };
    let order = issue(&mut store, draft.id, later).await.unwrap();
    assert_eq!(order.number.unwrap().to_string(), "ORD-1");
    assert_eq!(
        (order.content.status, order.content.issued),
        (OrderStatus::Issued, Some(NOW))
    );
    assert_eq!(order.content.agreement.date, day("2026-03-05"));
    let (name, members) = only(&mut store);
    assert_eq!(name, EventName::OrderIssued);
    assert_eq!(members, ["number", "status", "date", "issued", "version"]);
    store.contacts[0].1.party.name = "Jane Roe".to_owned();
    assert_eq!(shown(&mut store, &order).await["bill_to"]["name"], "Jane Doe");

    let again = issue(&mut store, draft.id, OrderIssue::default()).await;
    assert!(
        matches!(again, Err(OrderError::InvalidStatus(OrderStatus::Issued))),
        "{again:?}"
    );
    let next = store.next_order_number(by().business_id()).await.unwrap();
    assert_eq!(next.get(), 2, "a refusal draws no number");
}

#[tokio::test]
async fn an_issue_needs_a_customer_a_line_and_a_right_scheme() {
    let mut store = store();
    let draft = drafted(&mut store, json!({"customer": LENDER})).await.unwrap();
    let gone = store.contacts.pop();
    assert_eq!(
        faults(issue(&mut store, draft.id, OrderIssue::default()).await),
        set(["customer", "lines"])
    );
    store.contacts.extend(gone);
    let draft = drafted(&mut store, a_purchase()).await.unwrap();
    store.vehicles[0].1.was_bought_with_vat = true;
    assert_eq!(
        faults(issue(&mut store, draft.id, OrderIssue::default()).await),
        set(["lines.0.vat_scheme"])
    );
    assert_eq!(read(&mut store, draft.id).await, draft);
}

#[tokio::test]
async fn the_state_decides_what_can_change() {
    let mut store = store();
    let order = issued(&mut store).await;
    let everything = [
        ("customer", json!(LENDER)),
        ("date", json!("2026-02-01")),
        ("lines", json!([])),
        ("part_exchanges", json!([])),
        ("finance", json!({"provider": LENDER, "amount": 1})),
        ("distance", json!(true)),
        ("terms", json!("None")),
        ("reference", json!("PO 1")),
        ("valid_until", json!("2026-05-01")),
        ("notes", json!("Called")),
    ];
    for status in [OrderStatus::Issued, OrderStatus::Converted, OrderStatus::Cancelled] {
        for (member, value) in &everything {
            let mut stored = order.clone();
            stored.content.status = status;
            store.save_order(by().business_id(), &stored).await.unwrap();
            happened(&mut store);
            let mut body = json!({});
            body[*member] = value.clone();
            let outcome = changed(&mut store, order.id, body).await;
            if status == OrderStatus::Issued && ["reference", "valid_until", "notes"].contains(member) {
                assert_eq!(outcome.unwrap().version, order.version.next(), "{member}");
                assert_eq!(
                    only(&mut store),
                    (
                        EventName::OrderUpdated,
                        vec![(*member).to_owned(), "version".to_owned()]
                    )
                );
            } else {
                assert!(
                    matches!(outcome, Err(OrderError::InvalidStatus(found)) if found == status),
                    "{status:?} {member}"
                );
                assert_eq!(read(&mut store, order.id).await, stored);
                assert_eq!(happened(&mut store), []);
            }
        }
    }
}

#[tokio::test]
async fn a_change_that_changes_nothing_leaves_the_version() {
    let mut store = store();
    let draft = drafted(&mut store, a_purchase()).await.unwrap();
    happened(&mut store);
    let same = json!({"customer": JANE, "date": "2026-03-01", "valid_until": null, "notes": ""});
    assert_eq!(changed(&mut store, draft.id, same).await.unwrap(), draft);
    assert_eq!(happened(&mut store), []);
    let dearer = json!({"lines": [{"type": "vehicle", "vehicle": FOCUS, "gross": 13000}], "valid_until": "2026-12-31"});
    let other = changed(&mut store, draft.id, dearer).await.unwrap();
    assert_eq!(other.content.agreement.lines.len(), 2, "the settlement stays");
    assert_eq!(
        only(&mut store),
        (
            EventName::OrderUpdated,
            ["valid_until", "totals", "lines", "version"]
                .map(str::to_owned)
                .to_vec()
        )
    );
    let target = Target {
        id: draft.id,
        precondition: Precondition::one_of(vec![1]),
    };
    let refused = lock_order(&mut store, by().business_id(), target).await;
    assert!(matches!(refused, Err(OrderError::VersionMismatch(_))), "{refused:?}");
    let absent = changed(&mut store, OrderId::new(99), json!({})).await;
    assert!(matches!(absent, Err(OrderError::NotFound(id)) if id == OrderId::new(99)));
}

#[tokio::test]
async fn drafts_and_issued_orders_are_cancelled() {
    let mut store = store();
    let business = by().business;
    for status in OrderStatus::ALL {
        let mut order = issued(&mut store).await;
        order.content.status = status;
        store.save_order(business.id, &order).await.unwrap();
        happened(&mut store);
        let outcome = cancel_order(&mut store, &clock(), &business, order.clone()).await;
        if matches!(status, OrderStatus::Draft | OrderStatus::Issued) {
            assert!(check_cancel(&order).is_ok());
            assert_eq!(outcome.unwrap().content.status, OrderStatus::Cancelled);
            let (name, members) = only(&mut store);
            assert_eq!((name, members.len()), (EventName::OrderCancelled, 2));
            assert_eq!(members, ["status", "version"]);
        } else {
            assert!(matches!(outcome, Err(OrderError::InvalidStatus(found)) if found == status));
            assert_eq!(happened(&mut store), []);
        }
    }
}

#[tokio::test]
async fn an_order_becomes_an_invoice_and_an_order_again() {
    let mut store = store();
    let business = by().business;
    let invoice = forecourt_billing::InvoiceId::new(58);
    let order = issued(&mut store).await;
    happened(&mut store);
    let converted = convert_order(&mut store, &clock(), &business, order.clone(), invoice)
        .await
        .unwrap();
    assert_eq!(
        (converted.content.status, converted.content.invoice),
        (OrderStatus::Converted, Some(invoice))
    );
    assert_eq!(
        only(&mut store),
        (
            EventName::OrderConverted,
            ["status", "invoice", "version"].map(str::to_owned).to_vec()
        )
    );
    // Another invoice is none of its business.
    for (id, other) in [
        (order.id, forecourt_billing::InvoiceId::new(59)),
        (OrderId::new(99), invoice),
    ] {
        reopen_order(&mut store, &clock(), &business, id, other).await.unwrap();
    }
    assert_eq!(
        (read(&mut store, order.id).await, happened(&mut store)),
        (converted, vec![])
    );
    reopen_order(&mut store, &clock(), &business, order.id, invoice)
        .await
        .unwrap();
    let again = read(&mut store, order.id).await;
    assert_eq!(
        (again.content.status, again.content.invoice),
        (OrderStatus::Issued, None)
    );
    assert_eq!(
        only(&mut store),
        (
            EventName::OrderUpdated,
            ["status", "invoice", "version"].map(str::to_owned).to_vec()
        )
    );
    assert_eq!(again.number, order.number);
}

/// Jane Doe, whose contact has the id 7.
fn jane() -> Person {
    let mut keys = PersonKeys::new(ContactId::new(JANE));
    keys.add_name("Jane Doe");
    keys.add_email("jane@example.com");
    Person::new(&keys).unwrap()
}

#[tokio::test]
async fn a_person_is_forgotten_in_each_place_alone_and_the_figures_stay() {
    let mut store = store();
    let business = by().business_id();
    for place in [
        "customer",
        "provider",
        "lender",
        "description",
        "model",
        "reference",
        "terms",
        "notes",
    ] {
        let mut body = a_purchase();
        body["customer"] = json!(LENDER);
        let draft = drafted(&mut store, body).await.unwrap();
        let mut order = issue(&mut store, draft.id, OrderIssue::default()).await.unwrap();
        let named = || Line::new("of Jane Doe").unwrap();
        let long = || LongText::new("of Jane Doe").unwrap();
        let agreement = &mut order.content.agreement;
        let theirs = Some(jane().contact());
        match place {
            "customer" => agreement.customer = theirs,
            "provider" => agreement.finance.provider = theirs,
            "lender" => agreement.part_exchanges[0].lender = theirs,
            "description" => agreement.lines[0].description = named(),
            "model" => agreement.part_exchanges[0].model = named(),
            "reference" => agreement.reference = named(),
            "terms" => agreement.terms = long(),
            _ => agreement.notes = long(),
        }
        store.save_order(business, &order).await.unwrap();
        happened(&mut store);
        let Value::Object(mut event) = shown(&mut store, &order).await else {
            panic!("it is an object")
        };
        assert!(forget_person_in_order_event(&mut event, &jane()), "{place}");
        assert!(!forget_person_in_order_event(&mut event, &jane()), "{place} is gone");
        assert_eq!(event["bill_to"].is_null(), place == "customer", "{place}");
        forget_person_in_order(&mut store, NOW, business, order.clone(), &jane())
            .await
            .unwrap();
        let clean = read(&mut store, order.id).await;
        assert_eq!(clean.version, order.version.next(), "{place}");
        assert_eq!(
            clean.content.agreement.bill_to, order.content.agreement.bill_to,
            "it is kept"
        );
        assert_eq!(
            (clean.number, clean.content.totals()),
            (order.number, order.content.totals())
        );
        let mut kept = shown(&mut store, &clean).await;
        kept["bill_to"] = event["bill_to"].clone();
        kept["version"] = event["version"].clone();
        assert_eq!(kept, Value::Object(event), "{place}: record and event forget the same");
        assert_eq!(happened(&mut store), [], "there is no event for it");
        // Once more there is nothing to do.
        forget_person_in_order(&mut store, NOW, business, clean.clone(), &jane())
            .await
            .unwrap();
        assert_eq!(read(&mut store, order.id).await, clean);
    }
}

#[tokio::test]
async fn a_party_is_blanked_once_it_is_no_longer_kept() {
    let mut store = store();
    let business = by().business;
    let mut gone = issued(&mut store).await;
    gone.content.agreement.customer = None;
    store.save_order(business.id, &gone).await.unwrap();
    let known = issued(&mut store).await;
    happened(&mut store);
    for (id, before) in [
        (gone.id, "2026-03-01"),
        (known.id, "2032-01-01"),
        (OrderId::new(99), "2032-01-01"),
    ] {
        forget_former_party(&mut store, &clock(), &business, id, day(before))
            .await
            .unwrap();
    }
    assert_eq!(
        (read(&mut store, gone.id).await, read(&mut store, known.id).await),
        (gone.clone(), known)
    );
    forget_former_party(&mut store, &clock(), &business, gone.id, day("2026-03-02"))
        .await
        .unwrap();
    let blanked = read(&mut store, gone.id).await;
    assert_eq!(
        (blanked.content.agreement.bill_to, blanked.version),
        (None, gone.version.next())
    );
    assert_eq!(happened(&mut store), []);
    let found = store.orders_with_former_parties(day("2032-01-01"), 9).await.unwrap();
    assert_eq!(found, []);
}

#[test]
fn the_issue_of_a_draft_names_its_faults() {
    let read = |body: Value| {
        let body: OrderIssueChanges = serde_json::from_value(body).unwrap();
        body.read(NOW)
    };
    assert_eq!(read(json!({})).unwrap(), OrderIssue::default());
    let issue = read(json!({"date": "2026-03-05", "reserve": true})).unwrap();
    assert_eq!((issue.date, issue.reserve), (Some(day("2026-03-05")), true));
    let errors = read(json!({"date": "1700-01-01", "reserve": "yes"})).unwrap_err();
    let fields: Vec<_> = errors.as_slice().iter().map(|error| error.field.as_str()).collect();
    assert_eq!(fields, ["date", "reserve"]);
}

#[tokio::test]
async fn what_storage_keeps_reads_back() {
    let mut store = store();
    let mut body = a_purchase();
    body["finance"] = json!({"provider": LENDER, "amount": 8000});
    let draft = drafted(&mut store, body).await.unwrap();
    let order = issue(&mut store, draft.id, OrderIssue::default()).await.unwrap();
    let stored = serde_json::to_string(&order.content).unwrap();
    assert_eq!(
        serde_json::from_str::<forecourt_orders::OrderContent>(&stored).unwrap(),
        order.content
    );
    let found = store.order(by().business_id(), order.id).await.unwrap();
    assert_eq!(found, Some(order));
}

#[cfg(feature = "openapi")]
#[tokio::test]
async fn the_example_has_the_members_of_an_order() {
    let mut store = store();
    let order = issued(&mut store).await;
    let shown = shown(&mut store, &order).await;
    let members: BTreeSet<&String> = shown.as_object().unwrap().keys().collect();
    let example = forecourt_orders::example_order();
    let named: BTreeSet<&String> = example.as_object().unwrap().keys().collect();
    assert_eq!(named, members);
}

#[cfg(feature = "openapi")]
#[test]
fn the_schema_requires_every_member() {
    use utoipa::openapi::{RefOr, Schema};
    let RefOr::T(Schema::AllOf(parts)) = <FullOrder<'_> as utoipa::PartialSchema>::schema() else {
        panic!("it is the simple view and more")
    };
    let simple = <forecourt_orders::SimpleOrder as utoipa::PartialSchema>::schema();
    let mut members: Vec<String> = Vec::new();
    for part in parts.items.iter().map(|part| match part {
        RefOr::Ref(_) => &simple,
        part => part,
    }) {
        let RefOr::T(Schema::Object(part)) = part else {
            panic!("it is an object")
        };
        let names: Vec<&String> = part.properties.keys().collect();
        assert_eq!(part.required.iter().collect::<Vec<_>>(), names);
        members.extend(names.into_iter().cloned());
    }
    let mut store = store();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let shown = runtime.block_on(async {
        let order = issued(&mut store).await;
        shown(&mut store, &order).await
    });
    assert_eq!(members, shown.as_object().unwrap().keys().cloned().collect::<Vec<_>>());
}
