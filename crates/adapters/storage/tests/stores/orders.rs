//! Orders: the contract suite of their domain, and what concerns other records: deposits, and customers that are erased.

use forecourt_billing::Party;
use forecourt_invoices::InvoiceStatus;
use forecourt_kernel::{BusinessId, ContactId, EventName, Line, Money, NewEvent, PageRequest, VehicleId};
use forecourt_orders::testing::{a_draft_order, order_store_contract};
use forecourt_orders::{Order, OrderContent, OrderFilter, OrderId, OrderNumber, OrderStatus, PaidDeposit};
use serde_json::json;

use crate::installation::{Installation, both_engines};
use crate::samples::{a_business, a_contact, at};

both_engines!(
    orders_are_kept_as_their_domain_asks,
    deposits_are_what_was_paid_on_invoices_that_stand,
    an_order_forgets_who_is_erased,
);

async fn orders_are_kept_as_their_domain_asks(installation: Installation) {
    let mut session = installation.begin().await;
    let ours = session.insert_business(&a_business("ours")).await.unwrap();
    let theirs = session.insert_business(&a_business("theirs")).await.unwrap();
    order_store_contract(session.as_mut(), ours, theirs).await;
    session.commit().await.unwrap();
}

impl Installation {
    async fn order(&self, business: BusinessId, content: OrderContent) -> Order {
        let mut session = self.begin().await;
        let order = session.insert_order(business, content, at(0)).await.unwrap();
        session.commit().await.unwrap();
        order
    }
}

async fn deposits_are_what_was_paid_on_invoices_that_stand(installation: Installation) {
    let ours = installation.business("ours").await;
    let theirs = installation.business("theirs").await;
    let (ann, bea) = (ContactId::new(7), ContactId::new(8));
    let (focus, golf) = (VehicleId::new(21), VehicleId::new(22));
    let first = installation.deposit(ours, ann, focus).await;
    let second = installation.deposit(ours, ann, golf).await;
    let third = installation.deposit(ours, bea, focus).await;
    installation.deposit(theirs, ann, focus).await;
    let paid = async |customers: &[ContactId]| {
        let mut deposits = installation.read().await.paid_deposits(ours, customers).await.unwrap();
        deposits.sort_by_key(|deposit| (deposit.customer, deposit.vehicle));
        deposits
    };
    let deposit = |customer, vehicle, minor| PaidDeposit {
        customer,
        vehicle,
        paid: Money::from_minor(minor),
    };
    assert_eq!(
        paid(&[ann]).await,
        [deposit(ann, focus, 9_900), deposit(ann, golf, 9_900)]
    );
    assert_eq!(paid(&[bea, ann]).await.len(), 3);
    assert_eq!(paid(&[ContactId::new(9)]).await, []);
    assert_eq!(paid(&[]).await, []);

    // A part is given back; another one is credited, and no longer stands; the third is issued again.
    let mut refunded = first.clone();
    let mut refund = first.content.payments[0].clone();
    refund.id = 2;
    refund.amount = Money::from_minor(-900);
    refunded.content.payments.push(refund);
    let mut credited = second.clone();
    credited.content.status = InvoiceStatus::Credited;
    let mut unpaid = third.clone();
    unpaid.content.status = InvoiceStatus::Issued;
    unpaid.content.payments.clear();
    for invoice in [&refunded, &credited, &unpaid] {
        installation.save_invoice(ours, invoice).await;
    }
    assert_eq!(paid(&[ann]).await, [deposit(ann, focus, 9_000)]);
    let of_bea: i64 = paid(&[bea]).await.iter().map(|deposit| deposit.paid.minor()).sum();
    assert_eq!(of_bea, 0);
}

async fn an_order_forgets_who_is_erased(installation: Installation) {
    let business = installation.business("acme").await;
    let mut customer = a_contact();
    customer.name = "Ann Smith".to_owned();
    customer.email = "ann@example.com".to_owned();
    let customer = installation.contact(business, customer, 0).await;
    let mut lender = a_contact();
    lender.email = "bank@example.com".to_owned();
    let lender = installation.contact(business, lender, 0).await;
    let mut content = a_draft_order(customer.id, VehicleId::new(21));
    content.agreement.finance.provider = Some(lender.id);
    content.agreement.reference = Line::new("of ann@example.com").unwrap();
    let draft = installation.order(business, content.clone()).await;
    let mut issued = installation.order(business, content).await;
    issued.number = Some(OrderNumber::new(1));
    issued.content.status = OrderStatus::Issued;
    issued.content.agreement.bill_to = Some(Party {
        name: customer.content.name.clone(),
        ..Party::default()
    });
    let mut session = installation.begin().await;
    session.save_order(business, &issued).await.unwrap();
    let party = json!({"name": customer.content.name});
    for (name, record) in [(EventName::OrderCreated, draft.id), (EventName::OrderIssued, issued.id)] {
        let data = json!({
            "id": record.get(), "customer": customer.id.get(), "bill_to": party, "finance": {"provider": lender.id.get()},
            "reference": issued.content.agreement.reference,
        });
        let event = NewEvent {
            name,
            record: record.get(),
            data: data.to_string(),
            at: at(0),
        };
        session.record(business, event).await.unwrap();
    }
    session.commit().await.unwrap();
    let mut reader = installation.read().await;
    let exported = reader
        .contact_orders(business, customer.id, OrderId::new(0))
        .await
        .unwrap();
    assert_eq!(exported, [draft.clone(), issued.clone()]);
    let exported = reader.contact_orders(business, customer.id, draft.id).await.unwrap();
    assert_eq!(exported, [issued.clone()]);
    drop(reader);

    let of_customer = OrderFilter {
        customer: Some(customer.id),
        ..OrderFilter::default()
    };
    for contact in [&lender, &customer] {
        installation.erase(business, contact).await;
    }
    let page = PageRequest::first();
    let found = installation
        .read()
        .await
        .orders(business, &of_customer, &page)
        .await
        .unwrap();
    assert_eq!(
        (found.items, found.total),
        (vec![], Some(0)),
        "nobody sees links that are still there"
    );
    installation.finish_deletions().await;
    for (stored, is_issued) in [(&draft, false), (&issued, true)] {
        let left = installation
            .read()
            .await
            .order(business, stored.id)
            .await
            .unwrap()
            .unwrap();
        let agreement = &left.content.agreement;
        assert_eq!((agreement.customer, agreement.finance.provider), (None, None));
        assert_eq!(agreement.reference.as_str(), "of …");
        assert_eq!(agreement.bill_to.is_some(), is_issued);
    }
    let events = installation
        .texts("SELECT data FROM events WHERE name LIKE 'order.%' ORDER BY sequence")
        .await;
    assert_eq!(events.len(), 2, "there is none of the erasure");
    for event in events {
        for trace in [&customer.content.name, &customer.content.email] {
            assert!(!event.contains(trace.as_str()), "{event}");
        }
        let shown: serde_json::Value = serde_json::from_str(&event).unwrap();
        assert!(shown["customer"].is_null() && shown["bill_to"].is_null() && shown["finance"]["provider"].is_null());
    }
    let mut session = installation.begin().await;
    let kept = session
        .orders_with_former_parties("2099-01-01".parse().unwrap(), 9)
        .await
        .unwrap();
    assert_eq!(kept, [(business, issued.id)]);
    session.commit().await.unwrap();
}
