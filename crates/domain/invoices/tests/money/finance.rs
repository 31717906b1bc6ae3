//! The invoice to a finance provider.

use forecourt_invoices::{
    Credit, Invoice, InvoiceError, InvoiceId, InvoiceKind, InvoiceStatus, Reversal, TransitionError,
    create_finance_invoice, credit_invoice, reverse_payment,
};
use forecourt_kernel::{ContactId, EventName};
use serde_json::json;

use super::{
    JANE, LENDER, Store, a_financed_sale, a_service, by, changed, clock, drafted, happened, issued, money, names, pay,
    read, refuses, store,
};

async fn finance(store: &mut Store, id: InvoiceId) -> Result<Invoice, InvoiceError> {
    create_finance_invoice(store, &clock(), &by(), id).await
}

async fn reverse(store: &mut Store, id: InvoiceId, payment: i64) -> Result<Invoice, InvoiceError> {
    reverse_payment(store, &clock(), &by(), id, payment, &Reversal::default()).await
}

#[tokio::test]
async fn the_lines_are_copied_and_the_customers_part_is_paid() {
    let mut store = store();
    let parent = issued(&mut store, a_financed_sale()).await;
    names(&mut store);
    let invoice = finance(&mut store, parent.id).await.unwrap();
    let content = &invoice.content;
    assert_eq!(
        (content.kind, content.status),
        (InvoiceKind::Finance, InvoiceStatus::Issued)
    );
    assert_eq!(
        (content.parent, content.agreement.customer),
        (Some(parent.id), Some(ContactId::new(LENDER)))
    );
    assert_eq!(content.agreement.lines, parent.content.agreement.lines, "to the letter");
    assert_eq!(content.agreement.bill_to.as_ref().unwrap().name, "Credit Bank");
    assert_eq!(content.agreement.finance, forecourt_billing::SaleFinance::default());
    assert_eq!(content.totals().due, money(800_000));
    let paid = serde_json::to_value(&content.payments).unwrap();
    assert_eq!(
        paid,
        json!([{
            "id": 1, "type": "transfer", "date": "2026-03-01", "method": "Customer", "amount": "4995.00",
            "reference": "", "reverses": null,
        }])
    );
    let stored = read(&mut store, parent.id).await;
    assert_eq!(stored.content.agreement.finance.invoice, Some(invoice.id));
    let events = happened(&mut store);
    let expected = [
        (EventName::InvoiceCreated, invoice.id.get()),
        (EventName::InvoiceIssued, invoice.id.get()),
        (EventName::InvoiceUpdated, parent.id.get()),
    ];
    assert_eq!(
        events
            .iter()
            .map(|(name, record, _)| (*name, *record))
            .collect::<Vec<_>>(),
        expected
    );
    assert_eq!(events[2].2, ["finance", "version"]);

    let refused = finance(&mut store, parent.id).await;
    let Err(InvoiceError::FinanceExists(number)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(Some(number), invoice.number);
    // A finance invoice has no finance of its own.
    refuses!(
        store,
        finance(&mut store, invoice.id).await,
        InvoiceError::FinanceIneligible(_)
    );
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let mut store = store();
    let draft = drafted(&mut store, a_financed_sale()).await.unwrap();
    refuses!(
        store,
        finance(&mut store, draft.id).await,
        InvoiceError::Transition(TransitionError::NotIssued)
    );
    for (sale, finance_of, missing) in [
        (false, json!(null), vec!["provider", "amount", "vehicle"]),
        (true, json!({"provider": LENDER}), vec!["amount"]),
        (true, json!({"provider": LENDER, "amount": 0}), vec!["amount"]),
        (true, json!({"amount": 100}), vec!["provider"]),
        (false, json!({"provider": LENDER, "amount": 100}), vec!["vehicle"]),
    ] {
        let mut body = if sale { a_financed_sale() } else { a_service() };
        body["finance"] = finance_of;
        let invoice = issued(&mut store, body).await;
        let refused = finance(&mut store, invoice.id).await;
        let Err(InvoiceError::FinanceIneligible(named)) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(named, missing);
    }
    let sale = issued(&mut store, a_financed_sale()).await;
    credit_invoice(&mut store, &clock(), &by(), sale.id, Credit::default())
        .await
        .unwrap();
    refuses!(
        store,
        finance(&mut store, sale.id).await,
        InvoiceError::Transition(TransitionError::FullyCredited)
    );
}

#[tokio::test]
async fn all_may_be_financed() {
    let mut store = store();
    let mut body = a_financed_sale();
    body["finance"]["amount"] = json!(12995);
    let parent = issued(&mut store, body).await;
    let invoice = finance(&mut store, parent.id).await.unwrap();
    assert_eq!(
        (invoice.content.payments.len(), invoice.content.totals().due),
        (0, money(1_299_500))
    );
}

#[tokio::test]
async fn a_payment_of_the_provider_pays_the_customers_invoice_too() {
    let mut store = store();
    let parent = issued(&mut store, a_financed_sale()).await;
    let invoice = finance(&mut store, parent.id).await.unwrap();
    names(&mut store);
    let part = pay(&mut store, invoice.id, Some(300_000)).await.unwrap();
    assert_eq!(
        (part.content.status, part.content.totals().due),
        (InvoiceStatus::Issued, money(500_000))
    );
    assert_eq!(names(&mut store), [EventName::InvoiceUpdated; 2]);
    let mirrored = read(&mut store, parent.id).await;
    let payment = serde_json::to_value(&mirrored.content.payments).unwrap();
    assert_eq!(
        payment,
        json!([{
            "id": 1, "type": "payment", "date": "2026-03-01", "method": "Finance", "amount": "3000.00",
            "reference": invoice.number.unwrap().to_string(), "reverses": null,
        }])
    );
    // Jane pays more than her part; the provider's payment pays what is then left.
    pay(&mut store, parent.id, Some(600_000)).await.unwrap();
    names(&mut store);
    let rest = pay(&mut store, invoice.id, None).await.unwrap();
    assert_eq!(rest.content.status, InvoiceStatus::Paid);
    assert_eq!(names(&mut store), [EventName::InvoicePaid; 2]);
    let whole = read(&mut store, parent.id).await;
    assert_eq!(
        (whole.content.status, whole.content.totals().due),
        (InvoiceStatus::Paid, money(0))
    );
    assert_eq!(whole.content.payments[2].amount, money(399_500));

    // Taking it back takes both back.
    let reversed = reverse(&mut store, invoice.id, 3).await.unwrap();
    assert_eq!(
        (reversed.content.status, reversed.content.totals().due),
        (InvoiceStatus::Issued, money(500_000))
    );
    let back = read(&mut store, parent.id).await;
    assert_eq!(
        (back.content.status, back.content.totals().due),
        (InvoiceStatus::Issued, money(399_500))
    );
    assert_eq!(names(&mut store), [EventName::InvoiceUpdated; 2]);
    // On the customer's invoice it is not reversed by itself; the customer's own payment is.
    refuses!(
        store,
        reverse(&mut store, parent.id, 1).await,
        InvoiceError::Transition(TransitionError::InvalidStatus(InvoiceStatus::Issued))
    );
    assert!(reverse(&mut store, parent.id, 2).await.is_ok());
}

#[tokio::test]
async fn a_payment_whose_customer_owes_nothing_pays_the_finance_invoice_alone() {
    let mut store = store();
    let parent = issued(&mut store, a_financed_sale()).await;
    let invoice = finance(&mut store, parent.id).await.unwrap();
    let whole = pay(&mut store, parent.id, None).await.unwrap();
    names(&mut store);
    pay(&mut store, invoice.id, None).await.unwrap();
    assert_eq!(names(&mut store), [EventName::InvoicePaid]);
    assert_eq!(read(&mut store, parent.id).await, whole);
    reverse(&mut store, invoice.id, 2).await.unwrap();
    assert_eq!(names(&mut store), [EventName::InvoiceUpdated]);
    assert_eq!(read(&mut store, parent.id).await, whole);
}

#[tokio::test]
async fn crediting_the_customers_invoice_in_full_credits_it_too() {
    let mut store = store();
    let parent = issued(&mut store, a_financed_sale()).await;
    let invoice = finance(&mut store, parent.id).await.unwrap();
    names(&mut store);
    let command = Credit {
        reason: super::line("Returned"),
        ..Credit::default()
    };
    credit_invoice(&mut store, &clock(), &by(), parent.id, command)
        .await
        .unwrap();
    let credited = read(&mut store, invoice.id).await;
    assert_eq!(credited.content.status, InvoiceStatus::Credited);
    assert_eq!(credited.content.credit_notes[0].reason.as_str(), "Returned");
    let events = happened(&mut store);
    let records: Vec<_> = events.iter().map(|(name, record, _)| (*name, *record)).collect();
    let expected = [parent.id, invoice.id].map(|id| (EventName::InvoiceCredited, id.get()));
    assert_eq!(records, expected);
}

#[tokio::test]
async fn a_finance_invoice_that_was_credited_can_be_made_again() {
    let mut store = store();
    let parent = issued(&mut store, a_financed_sale()).await;
    let first = finance(&mut store, parent.id).await.unwrap();
    credit_invoice(&mut store, &clock(), &by(), first.id, Credit::default())
        .await
        .unwrap();
    let second = finance(&mut store, parent.id).await.unwrap();
    assert_eq!(
        read(&mut store, parent.id).await.content.agreement.finance.invoice,
        Some(second.id)
    );
    assert_eq!(second.content.agreement.lines[0].credited, money(0));
}

#[tokio::test]
async fn the_provider_must_be_there() {
    let mut store = store();
    let parent = issued(&mut store, a_financed_sale()).await;
    store.contacts.pop();
    let refused = finance(&mut store, parent.id).await;
    assert!(
        matches!(&refused, Err(InvoiceError::FinanceIneligible(missing)) if *missing == ["provider"]),
        "{refused:?}"
    );
    let unknown = changed(&mut store, parent.id, json!({"finance": {"provider": LENDER}})).await;
    assert_eq!(super::faults(unknown), ["finance.provider"]);
    assert_eq!(parent.content.agreement.customer, Some(ContactId::new(JANE)));
}
