//! Tests of the use cases of purchases, on the store in memory.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy excepts a test, but not what several tests share"
)]

use std::collections::BTreeSet;

use forecourt_billing::{
    BillStatus, Issue, IssueChanges, LineKind, PaymentChanges, PaymentMethod, Reversal, SendDocument,
};
use forecourt_kernel::testing::FixedClock;
use forecourt_kernel::{
    BusinessId, ContactId, Date, EventName, LongText, Money, NewEvent, Person, PersonKeys, Precondition, Target,
    Timestamp,
};
use forecourt_purchases::testing::{MemoryPurchaseStore, purchase_store_contract};
use forecourt_purchases::{
    FullPurchase, NewPurchase, Purchase, PurchaseCreditChanges, PurchaseError, PurchaseId, PurchaseKind,
    PurchaseNumber, PurchaseReader as _, PurchaseStore as _, cancel_purchase, complete_purchase_issue, credit_purchase,
    draft_purchase, forget_former_supplier, forget_person_in_purchase, forget_person_in_purchase_event, lock_purchase,
    pay_purchase, prepare_purchase_issue, prepare_purchase_mail, read_purchase, refund_purchase,
    reverse_purchase_payment, show_purchase, update_purchase, validate_new_purchase, validate_purchase_changes,
    vehicle_costs,
};
use forecourt_reference::{DocumentKind, document_statuses};
use serde_json::{Value, json};

mod facts;

use facts::{FOCUS, QUAY, VALETERS, by, store};

/// 2026-03-01T23:59:59Z.
const NOW: Timestamp = Timestamp::from_epoch_seconds(1_772_409_599);

type Store = MemoryPurchaseStore;

fn clock() -> FixedClock {
    FixedClock::at(NOW)
}

/// A valet of 60.00 net on the Focus.
fn a_valet() -> Value {
    json!({
        "supplier": VALETERS, "supplier_invoice": "V-2217",
        "lines": [{"type": "cost", "category": "Valet", "description": "Full valet", "net": 60, "vehicle": FOCUS}],
    })
}

async fn drafted(store: &mut Store, body: Value) -> Result<Purchase, PurchaseError> {
    let by = by();
    let body: NewPurchase = serde_json::from_value(body).unwrap();
    let draft = validate_new_purchase(store, &by.business, NOW, body).await?;
    draft_purchase(store, &clock(), &by, &draft).await
}

async fn changed(store: &mut Store, id: impl Into<Target<PurchaseId>>, body: Value) -> Result<Purchase, PurchaseError> {
    let by = by();
    let body = serde_json::from_value(body).unwrap();
    let changes = validate_purchase_changes(store, &by.business, NOW, body).await?;
    update_purchase(store, &clock(), &by, id, &changes).await
}

/// Issues a draft as the crate of sales does, without vehicles.
async fn issue(store: &mut Store, id: PurchaseId, body: Value) -> Result<Purchase, PurchaseError> {
    let business = by().business;
    let issue: IssueChanges = serde_json::from_value(body).unwrap();
    let issue: Issue = issue.read(NOW)?;
    let stored = lock_purchase(store, business.id, id).await?;
    let draft = prepare_purchase_issue(store, &business, &stored, &issue).await?;
    let payment = issue.payment.as_ref();
    complete_purchase_issue(store, &clock(), &business, (stored, draft), Vec::new(), payment).await
}

async fn issued(store: &mut Store) -> Purchase {
    let mut body = a_valet();
    body["force"] = json!(true);
    let draft = drafted(store, body).await.unwrap();
    issue(store, draft.id, json!({})).await.unwrap()
}

async fn pay(store: &mut Store, id: PurchaseId, body: Value) -> Result<Purchase, PurchaseError> {
    let payment: PaymentChanges = serde_json::from_value(body).unwrap();
    let payment = payment.read(NOW).unwrap();
    pay_purchase(store, &clock(), &by(), id, &payment).await
}

async fn refund(store: &mut Store, id: PurchaseId, body: Value) -> Result<Purchase, PurchaseError> {
    let payment: PaymentChanges = serde_json::from_value(body).unwrap();
    let payment = payment.read(NOW).unwrap();
    refund_purchase(store, &clock(), &by(), id, &payment).await
}

async fn reverse(store: &mut Store, id: PurchaseId, payment: i64) -> Result<Purchase, PurchaseError> {
    reverse_purchase_payment(store, &clock(), &by(), id, payment, &Reversal::default()).await
}

async fn credit(store: &mut Store, id: PurchaseId, body: Value) -> Result<Purchase, PurchaseError> {
    let business = by().business;
    let body: PurchaseCreditChanges = serde_json::from_value(body).unwrap();
    let credit = body.read(NOW)?;
    let stored = lock_purchase(store, business.id, id).await?;
    credit_purchase(store, &clock(), &business, stored, credit).await
}

async fn read(store: &mut Store, id: PurchaseId) -> Purchase {
    read_purchase(store, by().business_id(), id).await.unwrap()
}

async fn shown(store: &mut Store, purchase: &Purchase) -> Value {
    let purchase = show_purchase(store, &by().business, purchase).await.unwrap();
    serde_json::to_value(FullPurchase::from(&purchase)).unwrap()
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

/// Returns the names of the events since the last call, each with its `changed`.
fn names(store: &mut Store) -> Vec<(EventName, String)> {
    let events = happened(store).into_iter();
    events.map(|(name, _, changed)| (name, changed.join(" "))).collect()
}

#[track_caller]
fn faults<T: std::fmt::Debug>(refused: Result<T, PurchaseError>) -> BTreeSet<String> {
    let Err(PurchaseError::Invalid(errors)) = refused else {
        panic!("{refused:?}")
    };
    errors.as_slice().iter().map(|error| error.field.clone()).collect()
}

fn set<const N: usize>(fields: [&str; N]) -> BTreeSet<String> {
    fields.into_iter().map(str::to_owned).collect()
}

#[track_caller]
fn refused_in<T: std::fmt::Debug>(status: BillStatus, refused: Result<T, PurchaseError>) {
    match refused {
        Err(PurchaseError::InvalidStatus(found)) => assert_eq!(found, status),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    purchase_store_contract(&mut Store::default(), BusinessId::new(1), BusinessId::new(2)).await;
}

#[test]
fn the_reference_list_shows_the_same_states() {
    let listed = document_statuses(DocumentKind::Purchase);
    let listed: Vec<_> = listed.iter().map(|status| (status.id, status.name)).collect();
    assert_eq!(listed, BillStatus::ALL.map(|status| (status.id(), status.name())));
}

#[tokio::test]
async fn a_draft_reads_as_it_was_billed() {
    let mut store = store();
    let draft = drafted(&mut store, a_valet()).await.unwrap();
    let expected = json!({
        "id": 1, "site": 0, "number": null, "status": {"id": 0, "name": "draft"}, "type": "cost",
        "supplier": VALETERS, "supplier_invoice": "V-2217", "date": "2026-03-01", "due_date": "2026-03-01",
        "currency": "GBP",
        "totals": {
            "net": "60.00", "vat": "12.00", "gross": "72.00", "paid": "0.00", "credited": "0.00", "due": "72.00",
            "refund_due": "0.00",
        },
        "created": NOW, "updated": NOW,
        "lines": [{
            "id": 1, "type": "cost", "product": null, "vehicle": FOCUS, "stock_number": null,
            "description": "Full valet", "category": "Valet", "quantity": 1, "net": "60.00",
            "vat_scheme": "standard", "vat_rate": "20.00", "vat": "12.00", "gross": "72.00", "credited": "0.00",
            "nominal": "5010",
        }],
        "payments": [], "credit_notes": [], "vehicle_job": null, "issued": null, "notes": "",
    });
    let shown = shown(&mut store, &draft).await;
    for (member, expected) in expected.as_object().unwrap() {
        assert_eq!(shown[member], *expected, "{member}");
    }
    assert_eq!(
        (&shown["bill_from"]["name"], &shown["bill_to"]["name"]),
        (&json!("Quay Valeting"), &json!("Acme Cars"))
    );
    let [(name, data, members)] = <[_; 1]>::try_from(happened(&mut store)).unwrap();
    assert_eq!((name, &data), (EventName::PurchaseCreated, &shown));
    assert_eq!(members, data.as_object().unwrap().keys().cloned().collect::<Vec<_>>());
}

#[tokio::test]
async fn all_faults_are_found_at_once() {
    let mut store = store();
    let body = json!({
        "supplier": 99, "site": 9, "date": "1700-01-01", "supplier_invoice": 1, "payment": {"method": "Cash"},
        "lines": [
            {"type": "cost", "description": "x", "gross": 1},
            {"type": "vehicle", "vehicle": FOCUS},
            {"type": "product", "description": "x", "gross": -1},
            {"type": "settlement", "description": "x", "gross": 1},
            {"type": "cost", "category": "MOT", "description": "x", "gross": 1, "net": 1},
            {"type": "cost", "category": "MOT", "description": "x", "gross": 1, "vehicle": 99},
        ],
    });
    let found = faults(drafted(&mut store, body).await);
    let expected = [
        "date",
        "lines.0.category",
        "lines.1.type",
        "lines.2",
        "lines.3.type",
        "lines.4",
        "lines.5.vehicle",
        "payment",
        "site",
        "supplier",
        "supplier_invoice",
    ];
    assert_eq!(found, set(expected));
    assert_eq!(faults(drafted(&mut store, json!({})).await), set(["supplier"]));
    assert_eq!(
        faults(drafted(&mut store, json!({"supplier": null})).await),
        set(["supplier"])
    );
    let early = json!({"supplier": QUAY, "date": "2026-03-01", "due_date": "2026-02-28"});
    assert_eq!(faults(drafted(&mut store, early).await), set(["due_date"]));
    assert_eq!(happened(&mut store), []);
}

#[tokio::test]
async fn only_an_adjustment_is_below_0_and_their_sum_never() {
    let mut store = store();
    let lines = |rebate: i64| {
        json!({"supplier": QUAY, "lines": [
            {"type": "cost", "category": "Parts", "description": "Tyres", "gross": 100},
            {"type": "adjustment", "description": "Rebate", "gross": rebate},
        ]})
    };
    let draft = drafted(&mut store, lines(-100)).await.unwrap();
    assert_eq!(draft.content.totals().gross, Money::ZERO);
    assert_eq!(faults(drafted(&mut store, lines(-101)).await), set(["lines"]));
    // Nothing is due, so that it is paid at once.
    happened(&mut store);
    let paid = issue(&mut store, draft.id, json!({})).await.unwrap();
    assert_eq!(paid.content.status, BillStatus::Paid);
    let names: Vec<_> = happened(&mut store).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, [EventName::PurchaseIssued, EventName::PurchasePaid]);
}

#[tokio::test]
async fn an_issue_freezes_the_parties_and_draws_a_number() {
    let mut store = store();
    let draft = drafted(&mut store, a_valet()).await.unwrap();
    happened(&mut store);
    let body = json!({"date": "2026-02-10", "payment": {"method": "Cash", "amount": 22}});
    let issued = issue(&mut store, draft.id, body).await.unwrap();
    assert_eq!(issued.number.map(PurchaseNumber::get), Some(1));
    assert_eq!(
        (issued.content.date, issued.content.due_date),
        (day("2026-02-10"), day("2026-02-10"))
    );
    assert_eq!(
        (issued.content.status, issued.content.totals().due),
        (BillStatus::Issued, money(5_000))
    );
    let expected = "number status date due_date totals updated lines payments issued version";
    let [(name, members)] = <[_; 1]>::try_from(names(&mut store)).unwrap();
    assert_eq!(name, EventName::PurchaseIssued);
    for member in ["number", "status", "issued", "payments", "totals", "version"] {
        assert!(
            members.split(' ').any(|named| named == member),
            "{member} of {members}, such as {expected}"
        );
    }
    store.contacts[0].1.party.name = "Another".to_owned();
    assert_eq!(
        shown(&mut store, &issued).await["bill_from"]["name"],
        "Quay Valeting",
        "it is frozen"
    );

    refused_in(BillStatus::Issued, issue(&mut store, draft.id, json!({})).await);
    refused_in(
        BillStatus::Issued,
        cancel_purchase(&mut store, &clock(), &by(), draft.id).await,
    );
    let empty = drafted(&mut store, json!({"supplier": QUAY})).await.unwrap();
    assert_eq!(faults(issue(&mut store, empty.id, json!({})).await), set(["lines"]));
    store.contacts.retain(|(_, contact)| contact.id != ContactId::new(QUAY));
    assert_eq!(
        faults(issue(&mut store, empty.id, json!({})).await),
        set(["lines", "supplier"])
    );
    let next = drafted(&mut store, json!({"supplier": VALETERS, "lines": a_valet()["lines"]}))
        .await
        .unwrap();
    let too_much = json!({"payment": {"method": "Cash", "amount": 72.01}});
    assert_eq!(
        faults(issue(&mut store, next.id, too_much).await),
        set(["payment.amount"])
    );
    let costs: Vec<_> = vehicle_costs(&issued)
        .map(|(vehicle, line)| (vehicle.get(), line.kind))
        .collect();
    assert_eq!(costs, [(FOCUS, LineKind::Cost)]);
}

#[tokio::test]
async fn a_draft_changes_in_everything_and_an_issued_one_in_little() {
    let mut store = store();
    let draft = drafted(&mut store, a_valet()).await.unwrap();
    happened(&mut store);
    let same = changed(&mut store, draft.id, a_valet()).await.unwrap();
    assert_eq!((&same, happened(&mut store)), (&draft, Vec::new()), "nothing changes");
    let moved = changed(&mut store, draft.id, json!({"date": "2026-03-05", "supplier": QUAY}))
        .await
        .unwrap();
    assert_eq!(
        (moved.content.due_date, moved.version),
        (day("2026-03-05"), draft.version.next())
    );
    let [(name, members)] = <[_; 1]>::try_from(names(&mut store)).unwrap();
    assert_eq!(
        (name, members.as_str()),
        (EventName::PurchaseUpdated, "supplier date due_date bill_from version")
    );
    let stale = Target {
        id: draft.id,
        precondition: Precondition::one_of(vec![draft.version.number()]),
    };
    let refused = changed(&mut store, stale, json!({})).await;
    assert!(matches!(refused, Err(PurchaseError::VersionMismatch(_))), "{refused:?}");

    issue(&mut store, draft.id, json!({})).await.unwrap();
    for body in [
        json!({"supplier_invoice": "V-1"}),
        json!({"lines": []}),
        json!({"date": "2026-03-06"}),
    ] {
        refused_in(BillStatus::Issued, changed(&mut store, draft.id, body).await);
    }
    changed(
        &mut store,
        draft.id,
        json!({"notes": "Paid late", "due_date": "2026-04-01"}),
    )
    .await
    .unwrap();
    assert_eq!(
        faults(changed(&mut store, draft.id, json!({"due_date": "2026-01-01"})).await),
        set(["due_date"])
    );
    credit(&mut store, draft.id, json!({})).await.unwrap();
    refused_in(
        BillStatus::Credited,
        changed(&mut store, draft.id, json!({"due_date": "2026-05-01"})).await,
    );
    changed(&mut store, draft.id, json!({"notes": "Returned"}))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_suppliers_number_is_billed_once_unless_it_is_forced() {
    let mut store = store();
    let first = issued(&mut store).await;
    let again = |number: &str| {
        let mut body = a_valet();
        body["supplier_invoice"] = json!(number);
        body
    };
    // A dash is neither case nor blank.
    drafted(&mut store, again("V2217")).await.unwrap();
    let refused = drafted(&mut store, again(" v -22 17")).await;
    let Err(PurchaseError::Duplicate(number)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(number, first.number);
    let mut forced = again("V-2217");
    forced["force"] = json!(true);
    let forced = drafted(&mut store, forced).await.unwrap();
    // Another supplier may use the same number, and no number is no duplicate.
    let mut other = again("V-2217");
    other["supplier"] = json!(QUAY);
    let other = drafted(&mut store, other).await.unwrap();
    for _ in 0..2 {
        drafted(&mut store, again("")).await.unwrap();
    }
    let moved = changed(&mut store, other.id, json!({"supplier": VALETERS})).await;
    assert!(matches!(moved, Err(PurchaseError::Duplicate(_))), "{moved:?}");
    changed(&mut store, forced.id, json!({"notes": "It is kept"}))
        .await
        .unwrap();
    // What is cancelled or credited counts no more.
    cancel_purchase(&mut store, &clock(), &by(), forced.id).await.unwrap();
    credit(&mut store, first.id, json!({})).await.unwrap();
    drafted(&mut store, again("V-2217")).await.unwrap();
}

#[tokio::test]
async fn payments_reversals_and_refunds_move_it() {
    let mut store = store();
    let purchase = drafted(&mut store, a_valet()).await.unwrap();
    let id = purchase.id;
    refused_in(BillStatus::Draft, pay(&mut store, id, json!({"method": "Cash"})).await);
    refused_in(BillStatus::Draft, reverse(&mut store, id, 1).await);
    refused_in(BillStatus::Draft, credit(&mut store, id, json!({})).await);
    issue(&mut store, id, json!({})).await.unwrap();
    happened(&mut store);

    let part = pay(&mut store, id, json!({"method": "Cash", "amount": 20}))
        .await
        .unwrap();
    assert_eq!(
        (part.content.status, part.content.totals().due),
        (BillStatus::Issued, money(5_200))
    );
    assert_eq!(
        faults(pay(&mut store, id, json!({"method": "Cash", "amount": 52.01})).await),
        set(["amount"])
    );
    let paid = pay(&mut store, id, json!({"method": "Bank Transfer", "date": "2026-03-04"}))
        .await
        .unwrap();
    assert_eq!(paid.content.status, BillStatus::Paid);
    let last = &paid.content.payments[1];
    assert_eq!(
        (last.method, last.amount, last.date),
        (PaymentMethod::BankTransfer, money(5_200), day("2026-03-04"))
    );
    refused_in(BillStatus::Paid, pay(&mut store, id, json!({"method": "Cash"})).await);
    refused_in(
        BillStatus::Paid,
        refund(&mut store, id, json!({"method": "Cash"})).await,
    );

    let reopened = reverse(&mut store, id, 1).await.unwrap();
    assert_eq!(
        (reopened.content.status, reopened.content.totals().due),
        (BillStatus::Issued, money(2_000))
    );
    for payment in [1, 3] {
        let refused = reverse(&mut store, id, payment).await;
        assert!(matches!(refused, Err(PurchaseError::PaymentReversed)), "{refused:?}");
    }
    let refused = reverse(&mut store, id, 9).await;
    assert!(matches!(refused, Err(PurchaseError::PaymentNotFound(9))), "{refused:?}");
    let happened = names(&mut store).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let expected = [
        EventName::PurchaseUpdated,
        EventName::PurchasePaid,
        EventName::PurchaseUpdated,
    ];
    assert_eq!(happened, expected);

    // What was paid too much comes back.
    let credited = credit(&mut store, id, json!({"lines": [{"line": 1, "gross": 60}]}))
        .await
        .unwrap();
    assert_eq!(
        (credited.content.status, credited.content.totals().refund_due),
        (BillStatus::Paid, money(4_000))
    );
    assert_eq!(
        faults(refund(&mut store, id, json!({"method": "Cash", "amount": 41})).await),
        set(["amount"])
    );
    let refunded = refund(&mut store, id, json!({"method": "Cash"})).await.unwrap();
    assert_eq!(
        (
            refunded.content.payments[3].amount,
            refunded.content.totals().refund_due
        ),
        (money(-4_000), Money::ZERO)
    );
    let happened = names(&mut store).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let expected = [
        EventName::PurchaseCredited,
        EventName::PurchasePaid,
        EventName::PurchaseUpdated,
    ];
    assert_eq!(happened, expected);
}

#[tokio::test]
async fn a_credit_takes_back_a_part_or_the_rest() {
    let mut store = store();
    let purchase = issued(&mut store).await;
    let id = purchase.id;
    happened(&mut store);
    for (lines, expected) in [
        (json!([{"line": 2, "gross": 1}]), set(["lines.0.line"])),
        (json!([{"line": 1, "gross": 0}]), set(["lines.0.gross"])),
    ] {
        assert_eq!(faults(credit(&mut store, id, json!({"lines": lines})).await), expected);
    }
    let refused = credit(&mut store, id, json!({"lines": [{"line": 1, "gross": 72.01}]})).await;
    let Err(PurchaseError::CapExceeded { line, creditable }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!((line, creditable), (Some(1), money(7_200)));
    let body = json!({"reason": "Poor work", "supplier_reference": "CR-8", "lines": [{"line": 1, "gross": 12}]});
    let part = credit(&mut store, id, body).await.unwrap();
    assert_eq!(part.content.status, BillStatus::Issued);
    let note = shown(&mut store, &part).await["credit_notes"][0].clone();
    let expected = json!({
        "number": "PCN-1", "supplier_reference": "CR-8", "date": "2026-03-01", "reason": "Poor work",
        "net": "10.00", "vat": "2.00", "gross": "12.00",
        "lines": [{"line": 1, "description": "Full valet", "vat_scheme": "standard", "vat_rate": "20.00",
            "net": "10.00", "vat": "2.00", "gross": "12.00"}],
    });
    assert_eq!(note, expected);
    let whole = credit(&mut store, id, json!({})).await.unwrap();
    assert_eq!(
        (whole.content.status, whole.content.totals().credited),
        (BillStatus::Credited, money(7_200))
    );
    refused_in(BillStatus::Credited, credit(&mut store, id, json!({})).await);
    refused_in(
        BillStatus::Credited,
        pay(&mut store, id, json!({"method": "Cash"})).await,
    );
    let happened = names(&mut store);
    let names: Vec<_> = happened.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, [EventName::PurchaseCredited; 2]);
    for (_, members) in happened {
        for member in ["lines", "credit_notes", "totals", "version"] {
            assert!(members.split(' ').any(|named| named == member), "{member} of {members}");
        }
    }
}

#[tokio::test]
async fn what_belongs_to_an_acquisition_changes_with_it_alone() {
    let mut store = store();
    let mut purchase = issued(&mut store).await;
    purchase.content.kind = PurchaseKind::Acquisition;
    store.save_purchase(by().business_id(), &purchase).await.unwrap();
    let id = purchase.id;
    let linked = |refused: Result<Purchase, PurchaseError>| {
        assert!(matches!(refused, Err(PurchaseError::AcquisitionLinked)), "{refused:?}");
    };
    linked(changed(&mut store, id, json!({"due_date": "2026-04-01"})).await);
    linked(changed(&mut store, id, json!({"supplier_invoice": "V-1", "notes": "x"})).await);
    linked(cancel_purchase(&mut store, &clock(), &by(), id).await);
    changed(&mut store, id, json!({"notes": "One key"})).await.unwrap();
    let paid = pay(&mut store, id, json!({"method": "Cash"})).await.unwrap();
    assert_eq!(paid.content.status, BillStatus::Paid);
    reverse(&mut store, id, 1).await.unwrap();
}

#[tokio::test]
async fn it_is_mailed_to_its_supplier() {
    let mut store = store();
    let business = by().business;
    let request = SendDocument::default();
    let draft = drafted(&mut store, a_valet()).await.unwrap();
    let refused = prepare_purchase_mail(&mut store, &business, draft.id, &request).await;
    refused_in(BillStatus::Draft, refused);
    issue(&mut store, draft.id, json!({})).await.unwrap();
    let document = prepare_purchase_mail(&mut store, &business, draft.id, &request)
        .await
        .unwrap();
    assert_eq!(
        (document.to.as_str(), document.contact),
        ("desk@quay.example", Some(ContactId::new(VALETERS)))
    );
    let mail = document.mail(&business, &request, Vec::new()).unwrap();
    assert!(mail.text.contains("Quay Valeting"), "{}", mail.text);
    let nobody = drafted(&mut store, json!({"supplier": QUAY, "lines": a_valet()["lines"]}))
        .await
        .unwrap();
    issue(&mut store, nobody.id, json!({})).await.unwrap();
    let refused = prepare_purchase_mail(&mut store, &business, nobody.id, &request).await;
    assert_eq!(faults(refused), set(["email"]));
}

fn the_valeter() -> Person {
    let mut keys = PersonKeys::new(ContactId::new(VALETERS));
    keys.add_name("Quay Valeting");
    Person::new(&keys).unwrap()
}

#[tokio::test]
async fn an_erasure_keeps_the_frozen_party_alone() {
    let mut store = store();
    let business = by().business_id();
    let mut purchase = issued(&mut store).await;
    purchase.content.notes = LongText::new("Ask Quay Valeting").unwrap();
    store.save_purchase(business, &purchase).await.unwrap();
    let mut event = shown(&mut store, &purchase).await;
    forget_person_in_purchase(&mut store, NOW, business, purchase.clone(), &the_valeter())
        .await
        .unwrap();
    let clean = read(&mut store, purchase.id).await;
    assert_eq!((clean.content.supplier, clean.version), (None, purchase.version.next()));
    assert_eq!(clean.content.bill_from, purchase.content.bill_from, "it is kept");
    assert!(!clean.content.notes.contains("Quay"), "{:?}", clean.content.notes);
    let members = event.as_object_mut().unwrap();
    assert!(forget_person_in_purchase_event(members, &the_valeter()));
    assert!(!event.to_string().contains("Quay"), "{event}");
    assert_eq!(event["supplier"], Value::Null);
}

#[tokio::test]
async fn a_party_is_blanked_once_it_is_no_longer_kept() {
    let mut store = store();
    let business = by().business;
    let mut gone = issued(&mut store).await;
    gone.content.supplier = None;
    store.save_purchase(business.id, &gone).await.unwrap();
    let known = issued(&mut store).await;
    happened(&mut store);
    for (id, before) in [
        (gone.id, "2026-03-01"),
        (known.id, "2032-01-01"),
        (PurchaseId::new(99), "2032-01-01"),
    ] {
        forget_former_supplier(&mut store, &clock(), &business, id, day(before))
            .await
            .unwrap();
    }
    assert_eq!(
        (read(&mut store, gone.id).await, read(&mut store, known.id).await),
        (gone.clone(), known)
    );
    forget_former_supplier(&mut store, &clock(), &business, gone.id, day("2026-03-02"))
        .await
        .unwrap();
    let blanked = read(&mut store, gone.id).await;
    assert_eq!(
        (blanked.content.bill_from, blanked.version),
        (None, gone.version.next())
    );
    assert_eq!(happened(&mut store), []);
}

#[tokio::test]
async fn what_storage_keeps_reads_back() {
    let mut store = store();
    let purchase = issued(&mut store).await;
    let stored = serde_json::to_string(&purchase.content).unwrap();
    assert_eq!(
        serde_json::from_str::<forecourt_purchases::PurchaseContent>(&stored).unwrap(),
        purchase.content
    );
    let found = store.purchase(by().business_id(), purchase.id).await.unwrap();
    assert_eq!(found, Some(purchase));
}

#[cfg(feature = "openapi")]
#[tokio::test]
async fn the_example_has_the_members_of_a_purchase() {
    let mut store = store();
    let purchase = issued(&mut store).await;
    let shown = shown(&mut store, &purchase).await;
    let members: BTreeSet<&String> = shown.as_object().unwrap().keys().collect();
    let example = forecourt_purchases::example_purchase();
    let mut named: BTreeSet<&String> = example.as_object().unwrap().keys().collect();
    assert!(named.remove(&"changed".to_owned()), "it is one of an event");
    assert_eq!(named, members);
}
