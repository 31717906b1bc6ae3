//! Purchases: the contract suite of their domain, and what concerns other records: jobs, and suppliers that are erased.

use forecourt_billing::{BillStatus, Party, PurchaseId, PurchaseNumber};
use forecourt_jobs::{LinkedPurchase, PurchaseId as JobPurchaseId};
use forecourt_kernel::{BusinessId, EventName, JobId, Line, Money, NewEvent, PageRequest, VehicleId};
use forecourt_purchases::testing::{a_draft_purchase, purchase_store_contract};
use forecourt_purchases::{LinkedJob, Purchase, PurchaseContent, PurchaseFilter};
use serde_json::json;

use crate::installation::{Installation, both_engines};
use crate::samples::{a_business, a_contact, at};

both_engines!(
    purchases_are_kept_as_their_domain_asks,
    a_job_finds_the_cost_of_its_vehicle,
    a_purchase_forgets_who_is_erased,
);

async fn purchases_are_kept_as_their_domain_asks(installation: Installation) {
    let mut session = installation.begin().await;
    let ours = session.insert_business(&a_business("ours")).await.unwrap();
    let theirs = session.insert_business(&a_business("theirs")).await.unwrap();
    purchase_store_contract(session.as_mut(), ours, theirs).await;
    session.commit().await.unwrap();
}

impl Installation {
    async fn purchase(&self, business: BusinessId, content: PurchaseContent) -> Purchase {
        let mut session = self.begin().await;
        let purchase = session.insert_purchase(business, content, at(0)).await.unwrap();
        session.commit().await.unwrap();
        purchase
    }
}

async fn a_job_finds_the_cost_of_its_vehicle(installation: Installation) {
    let ours = installation.business("ours").await;
    let theirs = installation.business("theirs").await;
    let (supplier, focus) = (installation.contact(ours, a_contact(), 0).await.id, VehicleId::new(21));
    let purchase = installation.purchase(ours, a_draft_purchase(supplier, focus)).await;
    let id = JobPurchaseId::new(purchase.id.get());
    let mut session = installation.begin().await;
    let linked = LinkedPurchase {
        id,
        number: None,
        category: "Valet".to_owned(),
        net: Money::from_minor(6_000),
    };
    for (business, vehicle, expected) in [
        (ours, focus, Some(linked)),
        (ours, VehicleId::new(22), None),
        (theirs, focus, None),
    ] {
        assert_eq!(session.purchase_lines(business, id, vehicle).await.unwrap(), expected);
    }
    for job in [Some((focus, JobId::new(5))), None, None] {
        session.set_purchase_job(ours, id, job, at(1)).await.unwrap();
        let stored = session.purchase(ours, purchase.id).await.unwrap().unwrap();
        let expected = job.map(|(vehicle, job)| LinkedJob {
            vehicle,
            job: job.get(),
        });
        assert_eq!(stored.content.vehicle_job, expected);
    }
    session.commit().await.unwrap();
    let events = "SELECT data FROM events WHERE name = 'purchase.updated' ORDER BY sequence";
    assert_eq!(
        installation.texts(events).await.len(),
        2,
        "the last one changed nothing"
    );
}

async fn a_purchase_forgets_who_is_erased(installation: Installation) {
    let business = installation.business("acme").await;
    let mut supplier = a_contact();
    supplier.name = "Ann Smith".to_owned();
    supplier.email = "ann@example.com".to_owned();
    let supplier = installation.contact(business, supplier, 0).await;
    let mut content = a_draft_purchase(supplier.id, VehicleId::new(21));
    content.supplier_invoice = Line::new("of ann@example.com").unwrap();
    let draft = installation.purchase(business, content.clone()).await;
    let mut issued = installation.purchase(business, content).await;
    issued.number = Some(PurchaseNumber::new(1));
    issued.content.status = BillStatus::Issued;
    issued.content.bill_from = Some(Party {
        name: supplier.content.name.clone(),
        ..Party::default()
    });
    let mut session = installation.begin().await;
    session.save_purchase(business, &issued).await.unwrap();
    let party = json!({"name": supplier.content.name});
    for (name, record) in [
        (EventName::PurchaseCreated, draft.id),
        (EventName::PurchaseIssued, issued.id),
    ] {
        let data = json!({
            "id": record.get(), "supplier": supplier.id.get(), "bill_from": party,
            "supplier_invoice": issued.content.supplier_invoice,
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
        .contact_purchases(business, supplier.id, PurchaseId::new(0))
        .await;
    assert_eq!(exported.unwrap(), [draft.clone(), issued.clone()]);
    let exported = reader.contact_purchases(business, supplier.id, draft.id).await;
    assert_eq!(exported.unwrap(), [issued.clone()]);
    drop(reader);

    let from_supplier = PurchaseFilter {
        supplier: Some(supplier.id),
        ..PurchaseFilter::default()
    };
    installation.erase(business, &supplier).await;
    let page = PageRequest::first();
    let mut reader = installation.read().await;
    let found = reader.purchases(business, &from_supplier, &page).await.unwrap();
    drop(reader);
    assert_eq!(
        (found.items, found.total),
        (vec![], Some(0)),
        "nobody sees links that are still there"
    );
    installation.finish_deletions().await;
    for (stored, is_issued) in [(&draft, false), (&issued, true)] {
        let mut reader = installation.read().await;
        let left = reader.purchase(business, stored.id).await.unwrap().unwrap();
        assert_eq!(left.content.supplier, None);
        assert_eq!(left.content.supplier_invoice.as_str(), "of …");
        assert_eq!(left.content.bill_from.is_some(), is_issued);
    }
    let events = installation
        .texts("SELECT data FROM events WHERE name LIKE 'purchase.%' ORDER BY sequence")
        .await;
    assert_eq!(events.len(), 2, "there is none of the erasure");
    for event in events {
        for trace in [&supplier.content.name, &supplier.content.email] {
            assert!(!event.contains(trace.as_str()), "{event}");
        }
        let shown: serde_json::Value = serde_json::from_str(&event).unwrap();
        assert!(shown["supplier"].is_null() && shown["bill_from"].is_null());
    }
    let mut session = installation.begin().await;
    let kept = session
        .purchases_with_former_parties("2099-01-01".parse().unwrap(), 9)
        .await;
    assert_eq!(kept.unwrap(), [(business, issued.id)]);
    session.commit().await.unwrap();
}
