//! Tests of the use cases, on the store in memory and on scripted ones.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

#[cfg(feature = "openapi")]
use std::collections::BTreeSet;

use forecourt_accounts::Business;
use forecourt_invoices::testing::{MemoryInvoiceStore, a_billed_contact, a_deposit, invoice_store_contract};
use forecourt_invoices::{
    CreditNumber, Invoice, InvoiceError, InvoiceId, InvoiceNumber, InvoiceReader, InvoiceStatus, InvoiceStore, MOVES,
    MockInvoiceStore, PaymentMethod, RaiseDeposit, TransitionError, Trigger, VatRate, credit_in_full,
    forget_person_in_event, forget_person_in_invoice, next, raise_deposit, read_invoice,
};
use forecourt_kernel::testing::FixedClock;
use forecourt_kernel::{
    BusinessId, Clock as _, ContactId, EventName, Line, LongText, Money, NewEvent, Person, PersonKeys, SiteId,
    StoreError, Timestamp, Version,
};
use forecourt_reference::{DocumentKind, document_statuses};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// 2026-03-01T23:59:59Z.
const NOW: Timestamp = Timestamp::from_epoch_seconds(1_772_409_599);

type Store = MemoryInvoiceStore;

fn clock() -> FixedClock {
    FixedClock::at(NOW)
}

fn business(country: &str) -> Business {
    Business {
        country: country.parse().unwrap(),
        ..Business::new(BusinessId::new(0), "acme", "Acme Cars")
    }
}

fn reason() -> Line {
    Line::new("Reservation cancelled").unwrap()
}

fn data(event: &NewEvent) -> Value {
    serde_json::from_str(&event.data).unwrap()
}

fn shown(invoice: &Invoice) -> Value {
    serde_json::to_value(forecourt_invoices::FullInvoice::from(invoice)).unwrap()
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(future)
}

async fn raised(store: &mut Store, deposit: RaiseDeposit) -> Invoice {
    raise_deposit(store, &clock(), &business("GB"), deposit).await.unwrap()
}

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    invoice_store_contract(&mut Store::default(), BusinessId::new(1), BusinessId::new(2)).await;
}

#[tokio::test]
async fn a_deposit_that_is_paid_is_issued_and_paid_at_once() {
    let mut store = Store::default();
    let jane = a_billed_contact(7, "Jane Doe");
    store.contacts.push((business("GB").id, jane));
    let invoice = raised(&mut store, a_deposit(50_000)).await;
    let address = json!({"line1": "", "line2": "", "line3": "", "city": "", "state": "", "country": "", "zip": ""});
    let own_address =
        json!({"line1": "", "line2": "", "line3": "", "city": "", "state": "", "country": "GB", "zip": ""});
    let paid = json!({
        "id": 1, "site": 0, "number": "INV-1", "status": {"id": 2, "name": "paid"}, "type": "deposit",
        "customer": 7, "vehicle": 21, "date": "2026-09-21", "due_date": "2026-09-21", "currency": "GBP",
        "totals": {
            "net": "416.67", "vat": "83.33", "gross": "500.00", "paid": "500.00", "credited": "0.00", "due": "0.00",
            "refund_due": "0.00",
        },
        "reference": "", "created": NOW, "updated": NOW, "order": null, "deal": null, "parent": null,
        "bill_to": {"name": "Jane Doe", "company": "", "address": address, "vat": ""},
        "bill_from": {
            "name": "Acme Cars", "address": own_address, "vat": "", "phone": "", "company_number": "", "fca_number": "",
            "bank": {"account_name": "", "sort_code": "", "account_number": "", "iban": "", "bic": ""},
        },
        "lines": [{
            "id": 1, "type": "deposit", "product": null, "vehicle": 21, "stock_number": null,
            "description": "Deposit for 2019 Citroën Ë-C4 \"Shine\" AB19 CDE", "quantity": 1, "net": "416.67",
            "vat_scheme": "standard", "vat_rate": "20.00", "vat": "83.33", "gross": "500.00", "credited": "0.00",
            "nominal": "",
        }],
        "part_exchanges": [], "finance": {"provider": null, "amount": null, "invoice": null},
        "payments": [{
            "id": 1, "type": "payment", "date": "2026-09-21", "method": "Card", "amount": "500.00",
            "reference": "T-4711", "reverses": null,
        }],
        "credit_notes": [], "salesperson": null, "distance": false, "cancel_until": null, "terms": "", "notes": "",
        "issued": NOW, "version": 3,
    });
    assert_eq!(shown(&invoice).to_string(), paid.to_string(), "in this order");
    let mut issued = paid.clone();
    issued["status"] = json!({"id": 1, "name": "issued"});
    issued["payments"] = json!([]);
    issued["totals"]["paid"] = "0.00".into();
    issued["totals"]["due"] = "500.00".into();
    issued["version"] = 2.into();
    let mut draft = issued.clone();
    draft["number"] = Value::Null;
    draft["status"] = json!({"id": 0, "name": "draft"});
    draft["issued"] = Value::Null;
    draft["version"] = 1.into();
    let mut paid = paid;
    paid["changed"] = json!(["status", "totals", "payments", "version"]);
    issued["changed"] = json!(["number", "status", "issued", "version"]);
    let all: Vec<String> = draft.as_object().unwrap().keys().cloned().collect();
    draft["changed"] = json!(all);
    let recorded: Vec<_> = store
        .events
        .iter()
        .map(|(_, event)| (event.name, data(event)))
        .collect();
    let expected = [
        (EventName::InvoiceCreated, draft),
        (EventName::InvoiceIssued, issued),
        (EventName::InvoicePaid, paid),
    ];
    assert_eq!(recorded, expected);
    assert!(
        store
            .events
            .iter()
            .all(|(_, event)| (event.record, event.at) == (invoice.id.get(), NOW))
    );
    let id = business("GB").id;
    assert_eq!(read_invoice(&mut store, id, invoice.id).await.unwrap(), invoice);
    let found = store.invoice_by_number(id, InvoiceNumber::FIRST).await.unwrap();
    assert_eq!(found, Some(invoice));
}

#[tokio::test]
async fn a_deposit_without_a_payment_stays_due() {
    let mut store = Store::default();
    let deposit = RaiseDeposit {
        method: None,
        vat_included: false,
        site: SiteId::new(4),
        ..a_deposit(9_999)
    };
    let invoice = raised(&mut store, deposit).await;
    let shown = shown(&invoice);
    assert_eq!(shown["status"], json!({"id": 1, "name": "issued"}));
    assert_eq!((&shown["payments"], &shown["site"]), (&json!([]), &json!(4)));
    let totals = json!({
        "net": "99.99", "vat": "0.00", "gross": "99.99", "paid": "0.00", "credited": "0.00", "due": "99.99",
        "refund_due": "0.00",
    });
    assert_eq!(
        (&shown["totals"], &shown["lines"][0]["vat_rate"]),
        (&totals, &json!("0.00"))
    );
    assert_eq!(store.events.last().unwrap().1.name, EventName::InvoiceIssued);
}

#[tokio::test]
async fn every_method_pays_and_reads_as_the_reservation_names_it() {
    for method in PaymentMethod::ALL {
        assert_eq!(method.name().parse(), Ok(method));
        let deposit = RaiseDeposit {
            method: Some(method),
            ..a_deposit(100)
        };
        let invoice = raised(&mut Store::default(), deposit).await;
        assert_eq!(shown(&invoice)["payments"][0]["method"], method.name());
        assert_eq!(invoice.content.status, InvoiceStatus::Paid);
    }
    assert!("No Payment".parse::<PaymentMethod>().is_err());
}

#[tokio::test]
async fn tax_and_currency_are_those_of_the_country() {
    for (country, currency, rate, vat) in [
        ("IE", "EUR", "23.00", "230.00"),
        ("CH", "CHF", "8.10", "92.16"),
        ("FI", "EUR", "25.50", "249.92"),
        ("US", "USD", "0.00", "0.00"),
        ("BR", "BRL", "0.00", "0.00"),
    ] {
        let deposit = a_deposit(123_000);
        let invoice = raise_deposit(&mut Store::default(), &clock(), &business(country), deposit).await;
        let shown = shown(&invoice.unwrap());
        assert_eq!(shown["currency"], currency);
        assert_eq!(
            (&shown["lines"][0]["vat_rate"], &shown["totals"]["vat"]),
            (&json!(rate), &json!(vat))
        );
    }
}

#[tokio::test]
async fn an_amount_that_is_not_above_zero_is_refused_and_leaves_no_trace() {
    for gross in [0, -1, i64::MIN] {
        let mut store = Store::default();
        let refused = raise_deposit(&mut store, &clock(), &business("GB"), a_deposit(gross)).await;
        let Err(InvoiceError::Invalid(errors)) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(errors.as_slice()[0].field, "deposit");
        assert_eq!((store.records.all().count(), store.events.len()), (0, 0));
        let first = store.next_invoice_number(business("GB").id).await.unwrap();
        assert_eq!(first, InvoiceNumber::FIRST, "no number is lost");
    }
}

#[tokio::test]
async fn a_description_is_cut_to_a_line() {
    let deposit = RaiseDeposit {
        vehicle_description: "é\0".repeat(400),
        ..a_deposit(100)
    };
    let invoice = raised(&mut Store::default(), deposit).await;
    let description = &invoice.content.agreement.lines[0].description;
    assert_eq!(description.chars().count(), 255);
    assert!(description.starts_with("Deposit for ééé"));
    let deposit = RaiseDeposit {
        vehicle_description: String::new(),
        ..a_deposit(100)
    };
    let invoice = raised(&mut Store::default(), deposit).await;
    assert_eq!(invoice.content.agreement.lines[0].description.as_str(), "Deposit for");
}

#[tokio::test]
async fn an_invoice_is_credited_in_full_once() {
    for method in [Some(PaymentMethod::Cash), None] {
        let mut store = Store::default();
        let business = business("GB");
        let deposit = RaiseDeposit {
            method,
            ..a_deposit(50_000)
        };
        let raised = raised(&mut store, deposit).await;
        let later = FixedClock::at(NOW.plus_seconds(1));
        let credited = credit_in_full(&mut store, &later, &business, raised.id, reason()).await;
        let (invoice, note) = credited.unwrap();
        assert_eq!(note.number, CreditNumber::FIRST);
        assert_eq!((invoice.version, invoice.updated), (raised.version.next(), later.now()));
        let shown = shown(&invoice);
        assert_eq!(shown["status"], json!({"id": 4, "name": "credited"}));
        assert_eq!(shown["number"], "INV-1");
        let notes = json!([
            {
                "number": "CN-1", "date": "2026-03-02", "reason": "Reservation cancelled", "net": "416.67",
                "vat": "83.33", "gross": "500.00",
                "lines": [{
                    "line": 1, "description": shown["lines"][0]["description"], "vat_scheme": "standard",
                    "vat_rate": "20.00", "net": "416.67", "vat": "83.33", "gross": "500.00",
                }],
            },
        ]);
        assert_eq!(shown["credit_notes"], notes);
        assert_eq!(shown["lines"][0]["credited"], "500.00");
        let sums = ["gross", "credited", "due", "refund_due"].map(|sum| shown["totals"][sum].clone());
        let refund_due = if method.is_some() { "500.00" } else { "0.00" };
        assert_eq!(sums, ["500.00", "500.00", "0.00", refund_due]);
        assert_eq!(store.events.last().unwrap().1.name, EventName::InvoiceCredited);
        let mut event = data(&store.events.last().unwrap().1);
        let changed = event.as_object_mut().unwrap().remove("changed").unwrap();
        assert_eq!(event, shown);
        let members = json!(["status", "totals", "updated", "lines", "credit_notes", "version"]);
        assert_eq!(changed, members);

        let again = credit_in_full(&mut store, &later, &business, raised.id, reason()).await;
        assert!(
            matches!(again, Err(InvoiceError::Transition(TransitionError::FullyCredited))),
            "{again:?}"
        );
        assert_eq!(store.invoice(business.id, raised.id).await.unwrap(), Some(invoice));
        let paid = usize::from(method.is_some());
        assert_eq!(store.events.len(), 3 + paid);
        let number = store.next_credit_number(business.id).await.unwrap();
        assert_eq!(number, CreditNumber::new(2), "the refusal draws no number");
    }
}

#[tokio::test]
async fn what_is_not_there_or_not_issued_is_not_credited() {
    let mut store = Store::default();
    let business = business("GB");
    let absent = InvoiceId::new(9);
    let refused = credit_in_full(&mut store, &clock(), &business, absent, reason()).await;
    assert!(matches!(refused, Err(InvoiceError::NotFound(id)) if id == absent));
    let refused = read_invoice(&mut store, business.id, absent).await;
    assert!(matches!(refused, Err(InvoiceError::NotFound(id)) if id == absent));

    let invoice = raised(&mut store, a_deposit(100)).await;
    for status in [InvoiceStatus::Draft, InvoiceStatus::Cancelled] {
        let mut unissued = invoice.clone();
        unissued.content.status = status;
        store.save_invoice(business.id, &unissued).await.unwrap();
        let refused = credit_in_full(&mut store, &clock(), &business, invoice.id, reason()).await;
        assert!(
            matches!(refused, Err(InvoiceError::Transition(TransitionError::NotIssued))),
            "{status:?}"
        );
    }
    let other = Business {
        id: BusinessId::new(business.id.get() + 1),
        ..business
    };
    let refused = credit_in_full(&mut store, &clock(), &other, invoice.id, reason()).await;
    assert!(
        matches!(refused, Err(InvoiceError::NotFound(_))),
        "businesses are apart"
    );
}

#[tokio::test]
async fn a_clock_that_was_set_back_does_not_age_the_invoice() {
    let mut store = Store::default();
    let invoice = raised(&mut store, a_deposit(100)).await;
    let earlier = FixedClock::at(NOW.plus_seconds(-60));
    let credited = credit_in_full(&mut store, &earlier, &business("GB"), invoice.id, reason()).await;
    assert_eq!(credited.unwrap().0.updated, NOW);
}

#[tokio::test]
async fn a_counter_that_fails_issues_nothing() {
    let mut store = MockInvoiceStore::new();
    store.expect_insert_invoice().once().returning(|_, content, at| {
        Ok(Invoice {
            id: InvoiceId::new(1),
            number: None,
            version: Version::FIRST,
            created: at,
            updated: at,
            content,
        })
    });
    store.expect_billed_contacts().returning(|_, _| Ok(Vec::new()));
    store.expect_billed_vehicles().returning(|_, _| Ok(Vec::new()));
    let created = |_: &BusinessId, event: &NewEvent| event.name == EventName::InvoiceCreated;
    store.expect_record().once().withf(created).returning(|_, _| Ok(()));
    store
        .expect_next_invoice_number()
        .once()
        .returning(|_| Err(StoreError::Conflict));
    store.expect_save_invoice().never();
    let failed = raise_deposit(&mut store, &clock(), &business("GB"), a_deposit(100)).await;
    assert!(matches!(failed, Err(InvoiceError::Store(StoreError::Conflict))));
}

#[test]
fn what_the_table_does_not_name_is_refused() {
    for from in InvoiceStatus::ALL {
        for trigger in Trigger::ALL {
            let rows: Vec<_> = MOVES
                .iter()
                .filter(|row| row.from == from && row.trigger == trigger)
                .collect();
            let expected = match (from, trigger) {
                (InvoiceStatus::Draft, Trigger::Issue) => Ok(InvoiceStatus::Issued),
                (InvoiceStatus::Draft, Trigger::Cancel) => Ok(InvoiceStatus::Cancelled),
                (InvoiceStatus::Issued, Trigger::Pay) => Ok(InvoiceStatus::Paid),
                (InvoiceStatus::Paid, Trigger::Reopen) => Ok(InvoiceStatus::Issued),
                (InvoiceStatus::Issued | InvoiceStatus::Paid, Trigger::Credit) => Ok(InvoiceStatus::Credited),
                (InvoiceStatus::Draft | InvoiceStatus::Cancelled, Trigger::Pay | Trigger::Credit) => {
                    Err(TransitionError::NotIssued)
                }
                (InvoiceStatus::Credited, Trigger::Pay | Trigger::Credit) => Err(TransitionError::FullyCredited),
                _ => Err(TransitionError::InvalidStatus(from)),
            };
            assert_eq!(next(from, trigger), expected, "{from:?} {trigger:?}");
            assert_eq!(
                rows.len(),
                usize::from(expected.is_ok()),
                "one trigger leads to one state"
            );
        }
    }
}

#[test]
fn the_reference_list_shows_the_same_states() {
    let listed = document_statuses(DocumentKind::Invoice);
    let listed: Vec<_> = listed.iter().map(|status| (status.id, status.name)).collect();
    assert_eq!(listed, InvoiceStatus::ALL.map(|status| (status.id(), status.name())));
}

#[test]
fn what_storage_keeps_reads_back() {
    let mut store = Store::default();
    let invoice = run(raised(&mut store, a_deposit(50_000)));
    let business = business("GB");
    let credited = run(credit_in_full(&mut store, &clock(), &business, invoice.id, reason()));
    let (invoice, _) = credited.unwrap();
    let stored = serde_json::to_string(&invoice.content).unwrap();
    assert_eq!(
        serde_json::from_str::<forecourt_invoices::InvoiceContent>(&stored).unwrap(),
        invoice.content
    );
}

/// Jane Doe, whose contact has the id 7.
fn jane() -> Person {
    let mut keys = PersonKeys::new(ContactId::new(7));
    keys.add_name("Jane Doe");
    keys.add_email("jane@example.com");
    Person::new(&keys).unwrap()
}

#[tokio::test]
async fn a_person_is_forgotten_and_the_figures_stay() {
    let mut store = Store::default();
    let business = business("GB");
    store.contacts.push((business.id, a_billed_contact(7, "Jane Doe")));
    let deposit = RaiseDeposit {
        vehicle_description: "Jane Doe's Focus".into(),
        reference: Line::new("JANE DOE deposit").unwrap(),
        ..a_deposit(50_000)
    };
    let raised = raised(&mut store, deposit).await;
    let about = Line::new("jane@example.com wrote").unwrap();
    let credited = credit_in_full(&mut store, &clock(), &business, raised.id, about).await;
    let (mut invoice, _) = credited.unwrap();
    invoice.content.agreement.notes = LongText::new("Call Jane Doe back").unwrap();
    store.save_invoice(business.id, &invoice).await.unwrap();

    let mut event: Map<String, Value> = serde_json::from_value(shown(&invoice)).unwrap();
    assert!(forget_person_in_event(&mut event, &jane()));
    assert!(!forget_person_in_event(&mut event, &jane()), "it is gone");

    let later = NOW.plus_seconds(5);
    let forgotten = forget_person_in_invoice(&mut store, later, business.id, invoice.clone(), &jane()).await;
    forgotten.unwrap();
    let clean = read_invoice(&mut store, business.id, invoice.id).await.unwrap();
    assert_eq!((clean.version, clean.updated), (invoice.version.next(), later));
    assert_eq!(clean.content.agreement.customer, None);
    let mut kept = shown(&clean);
    assert_eq!(kept["bill_to"]["name"], "Jane Doe", "tax law asks for the party");
    assert_eq!(event["bill_to"], Value::Null, "an event keeps nothing");
    kept["bill_to"] = Value::Null;
    for text in ["jane", "doe"] {
        assert!(!kept.to_string().to_lowercase().contains(text), "{kept}");
    }
    kept["version"] = shown(&invoice)["version"].clone();
    kept["updated"] = shown(&invoice)["updated"].clone();
    assert_eq!(
        kept,
        Value::Object(event),
        "record and event forget the same but for that"
    );
    assert_eq!(
        (kept["totals"]["gross"].clone(), clean.number),
        ("500.00".into(), raised.number)
    );
    assert_eq!(store.events.len(), 4, "there is no event for it");
}

#[tokio::test]
async fn a_person_is_found_in_each_place_alone() {
    let business = business("GB");
    for place in ["customer", "description", "reference", "reason", "notes"] {
        let mut store = Store::default();
        let deposit = RaiseDeposit {
            customer: ContactId::new(8),
            ..a_deposit(50_000)
        };
        let id = raised(&mut store, deposit).await.id;
        let credited = credit_in_full(&mut store, &clock(), &business, id, reason()).await;
        let (mut invoice, _) = credited.unwrap();
        let named = || Line::new("of Jane Doe").unwrap();
        let content = &mut invoice.content;
        match place {
            "customer" => content.agreement.customer = Some(jane().contact()),
            "description" => content.agreement.lines[0].description = named(),
            "reference" => content.payments[0].reference = named(),
            "reason" => content.credit_notes[0].reason = named(),
            _ => content.agreement.notes = LongText::new("of Jane Doe").unwrap(),
        }
        store.save_invoice(business.id, &invoice).await.unwrap();
        let mut event: Map<String, Value> = serde_json::from_value(shown(&invoice)).unwrap();
        assert!(forget_person_in_event(&mut event, &jane()), "{place}");
        forget_person_in_invoice(&mut store, NOW, business.id, invoice.clone(), &jane())
            .await
            .unwrap();
        let clean = read_invoice(&mut store, business.id, invoice.id).await.unwrap();
        assert_eq!(clean.version, invoice.version.next(), "{place}");
        assert!(!shown(&clean).to_string().contains("Jane"), "{place}");
    }
}

#[tokio::test]
async fn an_invoice_of_another_customer_is_left_alone() {
    let mut store = Store::default();
    let deposit = RaiseDeposit {
        customer: ContactId::new(8),
        ..a_deposit(100)
    };
    let invoice = raised(&mut store, deposit).await;
    let id = business("GB").id;
    forget_person_in_invoice(&mut store, NOW, id, invoice.clone(), &jane())
        .await
        .unwrap();
    assert_eq!(read_invoice(&mut store, id, invoice.id).await.unwrap(), invoice);
    let mut event: Map<String, Value> = serde_json::from_value(shown(&invoice)).unwrap();
    assert!(!forget_person_in_event(&mut event, &jane()));
    assert_eq!(Value::Object(event), shown(&invoice));
}

#[cfg(feature = "openapi")]
#[test]
fn the_example_has_the_members_of_an_invoice() {
    let example = forecourt_invoices::example_invoice();
    let invoice = run(raised(&mut Store::default(), a_deposit(100)));
    let names = |shown: &Value| shown.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&example), names(&shown(&invoice)));
    assert_eq!(
        (&example["number"], &example["status"]["name"], &example["version"]),
        (&json!("INV-1"), &json!("paid"), &json!(3))
    );
}

#[cfg(feature = "openapi")]
#[test]
fn the_schema_requires_every_member() {
    use utoipa::openapi::{RefOr, Schema};
    let RefOr::T(Schema::AllOf(parts)) = <forecourt_invoices::FullInvoice<'_> as utoipa::PartialSchema>::schema()
    else {
        panic!("it is the simple view and more")
    };
    let simple = <forecourt_invoices::SimpleInvoice<'_> as utoipa::PartialSchema>::schema();
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
    let shown = shown(&run(raised(&mut Store::default(), a_deposit(100))));
    assert_eq!(members, shown.as_object().unwrap().keys().cloned().collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn net_and_tax_are_the_amount_and_the_tax_is_the_nearest(gross in any::<i64>(), hundredths in 0_u16..=10_000) {
        let rate = VatRate::from_hundredths(hundredths);
        prop_assert_eq!(rate.hundredths(), hundredths);
        let split = rate.split(Money::from_minor(gross));
        prop_assert_eq!(split.net.minor() + split.vat.minor(), gross);
        // |vat × (100 % + rate) - gross × rate| is at most half of 100 % + rate.
        let (rate, gross, vat) = (i128::from(hundredths), i128::from(gross), i128::from(split.vat.minor()));
        let off = vat * (10_000 + rate) - gross * rate;
        prop_assert!(2 * off.abs() <= 10_000 + rate);
        prop_assert!(vat.abs() <= gross.abs() && vat.signum() * gross.signum() >= 0);
        // Halves are rounded away from zero.
        if 2 * off.abs() == 10_000 + rate {
            prop_assert_eq!(off.signum(), gross.signum());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn numbers_have_no_gaps_whatever_is_raised_and_credited(
        steps in prop::collection::vec((any::<bool>(), -5_i64..1_000_000, any::<bool>(), any::<prop::sample::Index>()), 1..40),
    ) {
        run(async {
            let mut store = Store::default();
            let business = business("GB");
            let mut numbers = Vec::new();
            let mut notes = Vec::new();
            let mut ids = Vec::new();
            for (credit, gross, vat_included, which) in steps {
                if credit && !ids.is_empty() {
                    let id = ids[which.index(ids.len())];
                    if let Ok((_, note)) = credit_in_full(&mut store, &clock(), &business, id, reason()).await {
                        notes.push(note.number.get());
                    }
                } else {
                    let deposit = RaiseDeposit { vat_included, ..a_deposit(gross) };
                    if let Ok(invoice) = raise_deposit(&mut store, &clock(), &business, deposit).await {
                        numbers.push(invoice.number.unwrap().get());
                        ids.push(invoice.id);
                    }
                }
            }
            for drawn in [numbers, notes] {
                assert!(drawn.iter().zip(1..).all(|(number, place)| *number == place), "{drawn:?}");
            }
            for invoice in store.records.all() {
                let totals = invoice.content.totals();
                assert_eq!(totals.net.minor() + totals.vat.minor(), totals.gross.minor());
                assert_eq!(totals.due, Money::ZERO);
                let credited = invoice.content.status == InvoiceStatus::Credited;
                assert_eq!(totals.credited, if credited { totals.gross } else { Money::ZERO });
                assert_eq!(invoice.content.credit_notes.len(), usize::from(credited));
            }
        });
    }
}
