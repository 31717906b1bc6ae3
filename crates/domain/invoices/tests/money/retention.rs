//! The end of an invoice's retention, the right to cancel a distance sale, and what orders become.

use forecourt_billing::OrderId;
use forecourt_invoices::{
    Invoice, InvoiceFilter, InvoiceId, InvoiceStore as _, draft_from_order, forget_former_party, list_invoices,
    set_cancel_until,
};
use forecourt_kernel::{Date, EventName, PageRequest};
use serde_json::json;

use super::{Store, a_service, by, clock, drafted, happened, issued, names, read, store};

fn day(text: &str) -> Date {
    text.parse().unwrap()
}

async fn with_gone_customer(store: &mut Store) -> Invoice {
    let mut invoice = issued(store, a_service()).await;
    invoice.content.agreement.customer = None;
    store.save_invoice(by().business_id(), &invoice).await.unwrap();
    store.events.clear();
    invoice
}

#[tokio::test]
async fn a_party_is_blanked_once_it_is_no_longer_kept() {
    let mut store = store();
    let business = by().business;
    let gone = with_gone_customer(&mut store).await;
    let known = issued(&mut store, a_service()).await;
    store.events.clear();
    for (id, before) in [
        (gone.id, "2026-03-01"),
        (known.id, "2032-01-01"),
        (InvoiceId::new(99), "2032-01-01"),
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
    assert_eq!(blanked.content.agreement.bill_from, gone.content.agreement.bill_from);
    assert_eq!(names(&mut store), []);
}

#[tokio::test]
async fn a_distance_buyer_has_a_fortnight_from_the_handover() {
    let mut store = store();
    let business = by().business;
    let mut body = a_service();
    body["distance"] = json!(true);
    let distance = issued(&mut store, body.clone()).await;
    let draft = drafted(&mut store, body).await.unwrap();
    let present = issued(&mut store, a_service()).await;
    names(&mut store);
    for id in [draft.id, present.id, InvoiceId::new(99)] {
        set_cancel_until(&mut store, &clock(), &business, id, day("2026-03-05"))
            .await
            .unwrap();
    }
    assert_eq!(names(&mut store), []);
    for _ in 0..2 {
        set_cancel_until(&mut store, &clock(), &business, distance.id, day("2026-02-20"))
            .await
            .unwrap();
    }
    let changed = read(&mut store, distance.id).await;
    assert_eq!(changed.content.agreement.cancel_until, Some(day("2026-03-06")));
    let [(name, _, members)] = <[_; 1]>::try_from(happened(&mut store)).unwrap();
    assert_eq!(name, EventName::InvoiceUpdated);
    assert_eq!(members, ["cancel_until", "version"]);
}

#[tokio::test]
async fn an_order_is_taken_over() {
    let mut store = store();
    let agreed = drafted(&mut store, a_service()).await.unwrap().content.agreement;
    names(&mut store);
    let order = OrderId::new(31);
    let invoice = draft_from_order(&mut store, &clock(), &by(), order, agreed.clone())
        .await
        .unwrap();
    assert_eq!(
        (invoice.content.order, invoice.content.agreement),
        (Some(order), agreed)
    );
    assert_eq!(names(&mut store), [EventName::InvoiceCreated]);
}

#[tokio::test]
async fn a_list_shows_drafts_with_what_is_live() {
    let mut store = store();
    let draft = drafted(&mut store, a_service()).await.unwrap();
    let invoice = issued(&mut store, a_service()).await;
    let request = PageRequest::first();
    let (by, filter) = (by(), InvoiceFilter::default());
    let stored = list_invoices(&mut store, &by, &filter, &request, false).await.unwrap();
    assert_eq!(stored.items, [invoice.clone(), draft.clone()]);
    let full = list_invoices(&mut store, &by, &filter, &request, true).await.unwrap();
    assert_eq!((&full.items[0], full.total), (&invoice, Some(2)));
    assert_eq!(
        full.items[1].content.agreement.bill_to.as_ref().unwrap().name,
        "Jane Doe"
    );
    assert_ne!(full.items[1].version, draft.version);
}
