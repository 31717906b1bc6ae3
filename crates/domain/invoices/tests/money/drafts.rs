//! Drafts, changes by state, and the issue.

use forecourt_billing::VatScheme;
use forecourt_invoices::{
    InvoiceError, InvoiceKind, InvoiceStatus, Issue, NewPayment, TransitionError, cancel_invoice, show_invoice,
    update_invoice, validate_changes,
};
use forecourt_kernel::{EventName, Precondition, Target};
use serde_json::{Value, json};

use super::{
    FOCUS, JANE, LENDER, a_financed_sale, a_service, by, by_card, changed, clock, drafted, faults, fields, happened,
    in_status, issue, issued, money, names, pay, read, refuses, store,
};

#[tokio::test]
async fn a_draft_takes_its_defaults_from_the_day_the_business_and_the_customer() {
    let mut store = store();
    let draft = drafted(&mut store, a_service()).await.unwrap();
    let content = &draft.content;
    assert_eq!(
        (draft.number, content.status, content.kind),
        (None, InvoiceStatus::Draft, InvoiceKind::General)
    );
    assert_eq!(
        (content.agreement.date.to_string(), content.due_date.to_string()),
        ("2026-03-01".into(), "2026-03-01".into())
    );
    assert_eq!(content.agreement.lines[0].nominal.as_str(), "4000", "the customer's");
    assert_eq!(content.totals().vat, money(2_000));
    assert_eq!(content.agreement.bill_to, None, "it is live, and not stored");
    let created = happened(&mut store);
    assert_eq!((created[0].0, created.len()), (EventName::InvoiceCreated, 1));
    assert!(
        created[0].2.contains(&"bill_to".to_owned()),
        "all members differ: {created:?}"
    );

    let sale = drafted(&mut store, a_financed_sale()).await.unwrap();
    assert_eq!(sale.content.kind, InvoiceKind::Sale);
    let line = &sale.content.agreement.lines[0];
    assert_eq!(
        (line.vat_scheme, line.gross, line.vat),
        (VatScheme::Margin, money(1_299_500), money(0))
    );
    assert_eq!(sale.content.agreement.vehicle, line.vehicle);
}

#[tokio::test]
async fn all_faults_of_a_new_invoice_are_found_at_once() {
    let mut store = store();
    let body = json!({
        "site": 99, "date": "1700-01-01", "due_date": "2999-01-01", "salesperson": 9, "distance": "x",
        "lines": [
            {"type": "deposit", "description": "x", "gross": 1}, {"type": "vehicle", "vehicle": 99}, {"type": "product"},
            {"type": "product", "description": "x", "gross": 1, "net": 1},
            {"type": "product", "description": "x", "gross": -1}, {"type": "adjustment", "description": "x", "gross": -1},
        ],
        "part_exchanges": [{"allowance": 0}], "finance": {"provider": 99, "amount": -1},
        "payment": {"method": "Gold"},
    });
    let mut wrong = faults(drafted(&mut store, body).await);
    wrong.sort_unstable();
    let mut expected = vec![
        "customer",
        "date",
        "distance",
        "due_date",
        "finance.amount",
        "finance.provider",
        "lines.0.type",
        "lines.1.vehicle",
        "lines.2",
        "lines.2.description",
        "lines.3",
        "lines.4",
        "part_exchanges.0.allowance",
        "part_exchanges.0.registration",
        "payment.method",
        "salesperson",
        "site",
    ];
    expected.sort_unstable();
    wrong.dedup();
    assert_eq!(wrong, expected);
    assert_eq!((store.records.all().count(), store.events.len()), (0, 0));

    for (member, value, field) in [
        ("customer", json!(99), "customer"),
        ("customer", Value::Null, "customer"),
        ("payment", json!({"method": "Card"}), "payment"),
        ("due_date", json!("2026-02-28"), "due_date"),
        (
            "finance",
            json!({"provider": LENDER, "amount": 120.01}),
            "finance.amount",
        ),
    ] {
        let mut body = a_service();
        body[member] = value.clone();
        assert_eq!(faults(drafted(&mut store, body).await), [field], "{member}: {value}");
    }
    let mut below_zero = a_service();
    below_zero["lines"] = json!([{"type": "adjustment", "description": "Goodwill", "gross": -0.01}]);
    assert_eq!(faults(drafted(&mut store, below_zero).await), ["lines"]);
}

#[tokio::test]
async fn a_change_that_changes_nothing_leaves_the_version() {
    let mut store = store();
    let draft = drafted(&mut store, a_service()).await.unwrap();
    names(&mut store);
    let same = json!({"customer": JANE, "reference": "", "notes": null, "date": "2026-03-01"});
    assert_eq!(changed(&mut store, draft.id, same).await.unwrap(), draft);
    assert_eq!(names(&mut store), []);
    let other = changed(
        &mut store,
        draft.id,
        json!({"reference": "PO 1", "finance": {"provider": LENDER}}),
    )
    .await;
    assert_eq!(other.unwrap().version, draft.version.next());
    let [(name, _, members)] = <[_; 1]>::try_from(happened(&mut store)).unwrap();
    assert_eq!(name, EventName::InvoiceUpdated);
    assert_eq!(members, ["reference", "finance", "version"]);
}

#[tokio::test]
async fn lines_are_replaced_as_a_whole_and_settlements_are_kept_in_step() {
    let mut store = store();
    let body = json!({
        "customer": JANE, "lines": [{"type": "product", "description": "Service", "gross": 120}],
        "part_exchanges": [{"registration": "AB12 CDE", "allowance": 50, "settlement": 20, "lender": LENDER}],
    });
    let draft = drafted(&mut store, body).await.unwrap();
    let described = |invoice: &forecourt_invoices::Invoice| {
        let lines = &invoice.content.agreement.lines;
        lines
            .iter()
            .map(|line| (line.id, line.description.as_str().to_owned(), line.gross))
            .collect::<Vec<_>>()
    };
    let settlement = "Settlement of finance on AB12 CDE".to_owned();
    assert_eq!(
        described(&draft),
        [
            (1, "Service".into(), money(12_000)),
            (2, settlement.clone(), money(2_000))
        ]
    );
    let lines = json!([
        {"type": "vehicle", "vehicle": FOCUS, "gross": 9000},
        {"type": "adjustment", "description": "Goodwill", "vehicle": FOCUS, "gross": -100},
    ]);
    let sale = changed(&mut store, draft.id, json!({"lines": lines})).await.unwrap();
    assert_eq!(sale.content.kind, InvoiceKind::Sale);
    let schemes: Vec<_> = sale
        .content
        .agreement
        .lines
        .iter()
        .map(|line| line.vat_scheme)
        .collect();
    assert_eq!(schemes, [VatScheme::Margin, VatScheme::Margin, VatScheme::Outside]);
    assert_eq!(described(&sale)[2], (3, settlement, money(2_000)));
    let bare = changed(&mut store, draft.id, json!({"lines": null, "part_exchanges": []}))
        .await
        .unwrap();
    assert_eq!((described(&bare), bare.content.kind), (vec![], InvoiceKind::General));
    assert_eq!(bare.content.agreement.vehicle, None);
}

#[tokio::test]
async fn the_last_day_moves_with_the_day_until_a_caller_chooses_it() {
    let mut store = store();
    let draft = drafted(&mut store, a_service()).await.unwrap();
    let days = |invoice: &forecourt_invoices::Invoice| {
        [invoice.content.agreement.date, invoice.content.due_date].map(|day| day.to_string())
    };
    let moved = changed(&mut store, draft.id, json!({"date": "2026-03-10"}))
        .await
        .unwrap();
    assert_eq!(days(&moved), ["2026-03-10", "2026-03-10"]);
    let chosen = changed(&mut store, draft.id, json!({"due_date": "2026-03-20"}))
        .await
        .unwrap();
    assert_eq!(days(&chosen), ["2026-03-10", "2026-03-20"]);
    let kept = changed(&mut store, draft.id, json!({"date": "2026-03-12"}))
        .await
        .unwrap();
    assert_eq!(days(&kept), ["2026-03-12", "2026-03-20"]);
    let late = changed(&mut store, draft.id, json!({"date": "2026-03-21"})).await;
    assert_eq!(faults(late), ["due_date"]);
    let free = changed(&mut store, draft.id, json!({"due_date": null})).await.unwrap();
    assert_eq!(days(&free), ["2026-03-12", "2026-03-12"]);
    let day = |text: &str| Some(text.parse().unwrap());
    let later = Issue {
        date: day("2026-03-15"),
        ..Issue::default()
    };
    let invoice = issue(&mut store, draft.id, &later).await.unwrap();
    assert_eq!(days(&invoice), ["2026-03-15", "2026-03-15"]);

    let draft = drafted(&mut store, a_service()).await.unwrap();
    let before = Issue {
        date: day("2026-03-15"),
        due_date: day("2026-03-14"),
        ..Issue::default()
    };
    assert_eq!(faults(issue(&mut store, draft.id, &before).await), ["due_date"]);
    let extended = changed(&mut store, invoice.id, json!({"due_date": "2026-04-01"}))
        .await
        .unwrap();
    assert_eq!(days(&extended), ["2026-03-15", "2026-04-01"]);
    let early = changed(&mut store, invoice.id, json!({"due_date": "2026-03-14"})).await;
    assert_eq!(faults(early), ["due_date"]);
}

#[tokio::test]
async fn the_state_decides_what_can_change() {
    let mut store = store();
    let invoice = issued(&mut store, a_service()).await;
    let everything = [
        ("customer", json!(LENDER)),
        ("date", json!("2026-02-01")),
        ("lines", json!([])),
        ("part_exchanges", json!([{"registration": "AB12 CDE", "allowance": 50}])),
        ("finance", json!({"provider": LENDER, "amount": 1})),
        ("distance", json!(true)),
        ("terms", json!("None")),
        ("reference", json!("PO 1")),
        ("due_date", json!("2026-05-01")),
        ("notes", json!("Called")),
    ];
    let while_live = ["reference", "due_date", "notes"];
    for (status, allowed) in [
        (InvoiceStatus::Issued, &while_live[..]),
        (InvoiceStatus::Paid, &while_live[..]),
        (InvoiceStatus::Cancelled, &["notes"][..]),
        (InvoiceStatus::Credited, &["notes"][..]),
    ] {
        for (member, value) in &everything {
            let id = in_status(&mut store, &invoice, status).await;
            let mut body = json!({});
            body[*member] = value.clone();
            if allowed.contains(member) {
                let other = changed(&mut store, id, body).await.unwrap();
                assert_eq!(other.version, invoice.version.next(), "{status:?} {member}");
            } else {
                refuses!(
                    store,
                    changed(&mut store, id, body).await,
                    InvoiceError::Transition(TransitionError::InvalidStatus(_))
                );
            }
        }
        // What does not change is no fault.
        let id = in_status(&mut store, &invoice, status).await;
        let same = json!({"customer": JANE, "distance": false, "date": "2026-03-01", "finance": null});
        let unchanged = changed(&mut store, id, same).await.unwrap();
        assert_eq!(unchanged.version, invoice.version, "{status:?}");
    }
}

#[tokio::test]
async fn an_issue_freezes_the_parties_and_takes_a_number() {
    let mut store = store();
    let draft = drafted(&mut store, a_service()).await.unwrap();
    let shown = show_invoice(&mut store, &by().business, &draft).await.unwrap();
    assert_eq!(
        shown.content.agreement.bill_to.unwrap().name,
        "Jane Doe",
        "a draft shows who it would be to"
    );
    store.contacts[0].1.party.name = "Jane Roe".into();
    let again = show_invoice(&mut store, &by().business, &draft).await.unwrap();
    assert_ne!(again.version, shown.version, "an ETag sees it");
    names(&mut store);
    let invoice = issue(&mut store, draft.id, &Issue::default()).await.unwrap();
    assert_eq!(invoice.number.unwrap().to_string(), "INV-1");
    let [(name, _, members)] = <[_; 1]>::try_from(happened(&mut store)).unwrap();
    assert_eq!(name, EventName::InvoiceIssued);
    assert_eq!(members, ["number", "status", "issued", "version"]);
    store.contacts[0].1.party.name = "Jane Poe".into();
    let shown = show_invoice(&mut store, &by().business, &invoice).await.unwrap();
    assert_eq!(shown.content.agreement.bill_to.unwrap().name, "Jane Roe");
    assert_eq!(shown.version, invoice.version);

    refuses!(
        store,
        issue(&mut store, invoice.id, &Issue::default()).await,
        InvoiceError::Transition(TransitionError::InvalidStatus(InvoiceStatus::Issued))
    );
}

#[tokio::test]
async fn an_issue_needs_a_customer_and_a_line() {
    let mut store = store();
    let draft = drafted(&mut store, json!({"customer": LENDER})).await.unwrap();
    store.contacts.pop();
    let mut missing = faults(issue(&mut store, draft.id, &Issue::default()).await);
    missing.sort_unstable();
    assert_eq!(missing, ["customer", "lines"]);
    // A vehicle that turned out to have been bought with VAT shown.
    let sale = drafted(&mut store, a_service()).await.unwrap();
    let lines = json!([{"type": "vehicle", "vehicle": FOCUS}]);
    changed(&mut store, sale.id, json!({"lines": lines})).await.unwrap();
    store.vehicles[0].1.was_bought_with_vat = true;
    assert_eq!(
        faults(issue(&mut store, sale.id, &Issue::default()).await),
        ["lines.0.vat_scheme"]
    );
    assert_eq!(
        faults(
            changed(
                &mut store,
                sale.id,
                json!({"lines": [{"type": "vehicle", "vehicle": FOCUS, "vat_scheme": "margin"}]})
            )
            .await
        ),
        ["lines.0.vat_scheme"]
    );
    assert_eq!(read(&mut store, draft.id).await, draft);
}

#[tokio::test]
async fn an_issue_can_be_paid_at_once() {
    let mut store = store();
    let with = |minor| Issue {
        payment: Some(by_card(minor)),
        ..Issue::default()
    };
    for (minor, status, events) in [
        (
            None,
            InvoiceStatus::Paid,
            &[EventName::InvoiceIssued, EventName::InvoicePaid][..],
        ),
        (
            Some(12_000),
            InvoiceStatus::Paid,
            &[EventName::InvoiceIssued, EventName::InvoicePaid][..],
        ),
        (Some(1), InvoiceStatus::Issued, &[EventName::InvoiceIssued][..]),
    ] {
        let draft = drafted(&mut store, a_service()).await.unwrap();
        names(&mut store);
        let invoice = issue(&mut store, draft.id, &with(minor)).await.unwrap();
        assert_eq!(invoice.content.status, status);
        assert_eq!(names(&mut store), events);
    }
    let draft = drafted(&mut store, a_service()).await.unwrap();
    for minor in [12_001, 0, -1] {
        assert_eq!(
            faults(issue(&mut store, draft.id, &with(Some(minor))).await),
            ["payment.amount"]
        );
    }
    // What costs nothing is paid by its issue.
    let free = json!({"customer": JANE, "lines": [{"type": "product", "description": "Check", "gross": 0}]});
    let draft = drafted(&mut store, free).await.unwrap();
    let invoice = issue(&mut store, draft.id, &Issue::default()).await.unwrap();
    assert_eq!(invoice.content.status, InvoiceStatus::Paid);
}

#[tokio::test]
async fn allowances_for_part_exchanges_are_payments() {
    let mut store = store();
    let body = json!({
        "customer": JANE, "lines": [{"type": "product", "description": "Conversion", "gross": 900, "vat_scheme": "exempt"}],
        "part_exchanges": [
            {"registration": "AB12 CDE", "allowance": 500, "settlement": 100.5, "lender": LENDER},
            {"vin": "WVWZZZ1KZ6W000001", "allowance": 0.01},
        ],
    });
    let invoice = issued(&mut store, body).await;
    let totals = invoice.content.totals();
    assert_eq!(
        (totals.gross, totals.paid, totals.due),
        (money(100_050), money(50_001), money(50_049))
    );
    let shown = serde_json::to_value(&invoice.content.payments).unwrap();
    assert_eq!(
        shown[0],
        json!({
            "id": 1, "type": "part_exchange", "date": "2026-03-01", "method": "Part Exchange", "amount": "500.00",
            "reference": "AB12 CDE", "reverses": null,
        })
    );
    assert_eq!((&shown[1]["id"], &shown[1]["amount"]), (&json!(2), &json!("0.01")));
}

#[tokio::test]
async fn drafts_alone_are_cancelled() {
    let mut store = store();
    let draft = drafted(&mut store, a_service()).await.unwrap();
    names(&mut store);
    let cancelled = cancel_invoice(&mut store, &clock(), &by().business, draft.id)
        .await
        .unwrap();
    assert_eq!(
        (cancelled.content.status, cancelled.number),
        (InvoiceStatus::Cancelled, None)
    );
    let [(name, _, members)] = <[_; 1]>::try_from(happened(&mut store)).unwrap();
    assert_eq!(
        (name, members),
        (
            EventName::InvoiceCancelled,
            vec!["status".to_owned(), "version".to_owned()]
        )
    );
    let invoice = issued(&mut store, a_service()).await;
    for (id, state) in [
        (cancelled.id, InvoiceStatus::Cancelled),
        (invoice.id, InvoiceStatus::Issued),
    ] {
        let refused = cancel_invoice(&mut store, &clock(), &by().business, id).await;
        let Err(InvoiceError::Transition(TransitionError::InvalidStatus(status))) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(status, state);
    }
    refuses!(
        store,
        pay(&mut store, cancelled.id, None).await,
        InvoiceError::Transition(TransitionError::NotIssued)
    );
}

#[tokio::test]
async fn the_version_is_compared_before_the_state() {
    let mut store = store();
    let invoice = issued(&mut store, a_service()).await;
    let by = by();
    let body = serde_json::from_value(json!({"distance": true})).unwrap();
    let changes = validate_changes(&mut store, &by.business, super::NOW, body)
        .await
        .unwrap();
    let target = Target {
        id: invoice.id,
        precondition: Precondition::one_of(vec![1]),
    };
    let refused = update_invoice(&mut store, &clock(), &by, target, &changes).await;
    assert!(matches!(refused, Err(InvoiceError::VersionMismatch(_))), "{refused:?}");
}

#[tokio::test]
async fn a_payment_that_cannot_be_read_names_its_members() {
    let body = json!({"method": "Part Exchange", "amount": "1", "date": "1700-01-01", "reference": 5});
    let body: forecourt_invoices::PaymentChanges = serde_json::from_value(body).unwrap();
    let refused: Result<NewPayment, _> = body.read(super::NOW);
    let errors = refused.map_err(forecourt_kernel::ValidationErrors::from).unwrap_err();
    assert_eq!(fields(&errors), ["method", "amount", "date", "reference"]);
}
