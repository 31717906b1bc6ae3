//! Payments, reversals and refunds.

use forecourt_billing::MAX_PAYMENTS;
use forecourt_invoices::{
    Credit, Invoice, InvoiceError, InvoiceId, InvoiceStatus, Reversal, TransitionError, credit_invoice, refund_invoice,
    reverse_payment,
};
use forecourt_kernel::EventName;
use serde_json::json;

use super::{
    Store, a_service, by, by_card, clock, drafted, faults, happened, in_status, issued, line, money, names, pay, read,
    refuses, store,
};

async fn reverse(store: &mut Store, id: InvoiceId, payment: i64) -> Result<Invoice, InvoiceError> {
    let command = Reversal {
        date: None,
        reference: line("bounced"),
    };
    reverse_payment(store, &clock(), &by(), id, payment, &command).await
}

async fn refund(store: &mut Store, id: InvoiceId, minor: Option<i64>) -> Result<Invoice, InvoiceError> {
    refund_invoice(store, &clock(), &by(), id, &by_card(minor)).await
}

async fn credit_all(store: &mut Store, id: InvoiceId) -> Invoice {
    credit_invoice(store, &clock(), &by(), id, Credit::default())
        .await
        .unwrap()
}

#[tokio::test]
async fn the_payment_that_leaves_nothing_pays() {
    let mut store = store();
    let invoice = issued(&mut store, a_service()).await;
    names(&mut store);
    let part = pay(&mut store, invoice.id, Some(5_000)).await.unwrap();
    assert_eq!(
        (part.content.status, part.content.totals().due),
        (InvoiceStatus::Issued, money(7_000))
    );
    let [(name, record, members)] = <[_; 1]>::try_from(happened(&mut store)).unwrap();
    assert_eq!((name, record), (EventName::InvoiceUpdated, invoice.id.get()));
    assert_eq!(members, ["totals", "payments", "version"]);
    let whole = pay(&mut store, invoice.id, None).await.unwrap();
    assert_eq!(
        (whole.content.status, whole.content.totals().due),
        (InvoiceStatus::Paid, money(0))
    );
    let [(name, _, members)] = <[_; 1]>::try_from(happened(&mut store)).unwrap();
    assert_eq!(name, EventName::InvoicePaid);
    assert_eq!(members, ["status", "totals", "payments", "version"]);
    let shown = serde_json::to_value(&whole.content.payments).unwrap();
    let payment = |id: i64, amount: &str| {
        json!({
            "id": id, "type": "payment", "date": "2026-03-01", "method": "Card", "amount": amount, "reference": "T-1",
            "reverses": null,
        })
    };
    assert_eq!(shown, json!([payment(1, "50.00"), payment(2, "70.00")]));
}

#[tokio::test]
async fn overpayments_are_not_taken() {
    let mut store = store();
    let invoice = issued(&mut store, a_service()).await;
    for minor in [12_001, 0, -1, i64::MAX, i64::MIN] {
        let refused = pay(&mut store, invoice.id, Some(minor)).await;
        let Err(InvoiceError::Invalid(errors)) = &refused else {
            panic!("{refused:?}")
        };
        let fault = &errors.as_slice()[0];
        assert_eq!(fault.field, "amount");
        assert!(
            fault.message.contains("120.00"),
            "it names the greatest: {}",
            fault.message
        );
    }
    assert_eq!(read(&mut store, invoice.id).await, invoice);
}

#[tokio::test]
async fn the_state_is_judged_before_the_amount() {
    let mut store = store();
    let draft = drafted(&mut store, a_service()).await.unwrap();
    let invoice = issued(&mut store, a_service()).await;
    let paid = pay(&mut store, invoice.id, None).await.unwrap();
    for minor in [None, Some(-1)] {
        for id in [draft.id, in_status(&mut store, &draft, InvoiceStatus::Cancelled).await] {
            refuses!(
                store,
                pay(&mut store, id, minor).await,
                InvoiceError::Transition(TransitionError::NotIssued)
            );
            refuses!(
                store,
                refund(&mut store, id, minor).await,
                InvoiceError::Transition(TransitionError::NotIssued)
            );
        }
        refuses!(
            store,
            pay(&mut store, paid.id, minor).await,
            InvoiceError::Transition(TransitionError::InvalidStatus(InvoiceStatus::Paid))
        );
        refuses!(
            store,
            refund(&mut store, paid.id, minor).await,
            InvoiceError::Transition(TransitionError::InvalidStatus(InvoiceStatus::Paid))
        );
    }
    refuses!(
        store,
        reverse(&mut store, draft.id, 1).await,
        InvoiceError::Transition(TransitionError::NotIssued)
    );
    let credited = credit_all(&mut store, invoice.id).await;
    refuses!(
        store,
        pay(&mut store, credited.id, None).await,
        InvoiceError::Transition(TransitionError::FullyCredited)
    );
    let absent = InvoiceId::new(99);
    refuses!(store, pay(&mut store, absent, None).await, InvoiceError::NotFound(_));
    refuses!(store, reverse(&mut store, absent, 1).await, InvoiceError::NotFound(_));
    refuses!(store, refund(&mut store, absent, None).await, InvoiceError::NotFound(_));
}

#[tokio::test]
async fn a_reversal_that_leaves_something_due_issues_again() {
    let mut store = store();
    let invoice = issued(&mut store, a_service()).await;
    pay(&mut store, invoice.id, Some(5_000)).await.unwrap();
    pay(&mut store, invoice.id, None).await.unwrap();
    names(&mut store);
    let reversed = reverse(&mut store, invoice.id, 1).await.unwrap();
    assert_eq!(
        (reversed.content.status, reversed.content.totals().due),
        (InvoiceStatus::Issued, money(5_000))
    );
    let [(name, _, members)] = <[_; 1]>::try_from(happened(&mut store)).unwrap();
    assert_eq!(name, EventName::InvoiceUpdated);
    assert_eq!(members, ["status", "totals", "payments", "version"]);
    let shown = serde_json::to_value(reversed.content.payments.last()).unwrap();
    assert_eq!(
        shown,
        json!({
            "id": 3, "type": "reversal", "date": "2026-03-01", "method": "Card", "amount": "-50.00",
            "reference": "bounced", "reverses": 1,
        })
    );
    for of_reversal in [1, 3] {
        refuses!(
            store,
            reverse(&mut store, invoice.id, of_reversal).await,
            InvoiceError::PaymentReversed
        );
    }
    for none in [0, 4, -1] {
        refuses!(
            store,
            reverse(&mut store, invoice.id, none).await,
            InvoiceError::PaymentNotFound(_)
        );
    }
    let again = pay(&mut store, invoice.id, None).await.unwrap();
    assert_eq!(
        (again.content.status, again.content.payments.len()),
        (InvoiceStatus::Paid, 4)
    );
    // Of a credited one too, whose state stays.
    credit_all(&mut store, invoice.id).await;
    let reversed = reverse(&mut store, invoice.id, 2).await.unwrap();
    assert_eq!(reversed.content.status, InvoiceStatus::Credited);
    assert_eq!(reversed.content.totals().refund_due, money(5_000));
}

#[tokio::test]
async fn what_a_process_paid_is_not_reversed() {
    let mut store = store();
    let mut body = a_service();
    body["part_exchanges"] = json!([{"registration": "AB12 CDE", "allowance": 50}]);
    let invoice = issued(&mut store, body).await;
    refuses!(
        store,
        reverse(&mut store, invoice.id, 1).await,
        InvoiceError::Transition(TransitionError::InvalidStatus(InvoiceStatus::Issued))
    );
}

#[tokio::test]
async fn what_was_paid_too_much_is_refunded() {
    let mut store = store();
    let invoice = issued(&mut store, a_service()).await;
    pay(&mut store, invoice.id, None).await.unwrap();
    let credited = credit_all(&mut store, invoice.id).await;
    assert_eq!(
        (credited.content.status, credited.content.totals().refund_due),
        (InvoiceStatus::Credited, money(12_000))
    );
    for minor in [12_001, 0, -1] {
        assert_eq!(faults(refund(&mut store, invoice.id, Some(minor)).await), ["amount"]);
    }
    names(&mut store);
    let part = refund(&mut store, invoice.id, Some(2_000)).await.unwrap();
    assert_eq!(
        (part.content.status, part.content.totals().refund_due),
        (InvoiceStatus::Credited, money(10_000))
    );
    let [(name, _, members)] = <[_; 1]>::try_from(happened(&mut store)).unwrap();
    assert_eq!((name, members.len()), (EventName::InvoiceUpdated, 3));
    assert_eq!(members, ["totals", "payments", "version"]);
    let rest = refund(&mut store, invoice.id, None).await.unwrap();
    let totals = rest.content.totals();
    assert_eq!(
        (totals.paid, totals.refund_due, totals.due),
        (money(0), money(0), money(0))
    );
    let shown = serde_json::to_value(&rest.content.payments).unwrap();
    assert_eq!(
        (&shown[1]["type"], &shown[1]["amount"]),
        (&json!("refund"), &json!("-20.00"))
    );
    refuses!(
        store,
        refund(&mut store, invoice.id, None).await,
        InvoiceError::Transition(TransitionError::InvalidStatus(InvoiceStatus::Credited))
    );
    // Nothing below 0 would be paid.
    refuses!(
        store,
        reverse(&mut store, invoice.id, 1).await,
        InvoiceError::Transition(TransitionError::InvalidStatus(InvoiceStatus::Credited))
    );
    // A refund that did not arrive.
    let back = reverse(&mut store, invoice.id, 3).await.unwrap();
    assert_eq!(back.content.totals().refund_due, money(10_000));
}

#[tokio::test]
async fn there_are_only_so_many_payments() {
    let mut store = store();
    let invoice = issued(&mut store, a_service()).await;
    for _ in 0..MAX_PAYMENTS {
        pay(&mut store, invoice.id, Some(1)).await.unwrap();
    }
    assert_eq!(faults(pay(&mut store, invoice.id, Some(1)).await), ["payments"]);
    assert_eq!(faults(reverse(&mut store, invoice.id, 1).await), ["payments"]);
}
