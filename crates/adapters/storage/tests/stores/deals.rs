//! The store of deals: the contract suite of its domain, and what concerns other records.

use forecourt_deals::testing::{a_full_deal, deal_store_contract};
use forecourt_deals::{DealContent, DealId};
use forecourt_kernel::{EventName, Line, LongText, NewEvent};
use forecourt_leads::LeadDraft;
use forecourt_vehicles::{Reservation, ReservationMaker, ReservationMethod, Vehicle};
use serde_json::json;

use crate::fleet::a_vehicle;
use crate::installation::{Installation, both_engines};
use crate::samples::{a_business, a_contact, a_lead, at};

both_engines!(
    deals_are_kept_as_their_domain_asks,
    a_deal_shows_its_reservation_and_knows_leads,
    a_deal_forgets_who_is_erased,
);

async fn deals_are_kept_as_their_domain_asks(installation: Installation) {
    let mut session = installation.begin().await;
    let ours = session.insert_business(&a_business("ours")).await.unwrap();
    let theirs = session.insert_business(&a_business("theirs")).await.unwrap();
    deal_store_contract(session.as_mut(), ours, theirs).await;
    session.commit().await.unwrap();
}

async fn a_deal_shows_its_reservation_and_knows_leads(installation: Installation) {
    let mut session = installation.begin().await;
    let ours = session.insert_business(&a_business("ours")).await.unwrap();
    let theirs = session.insert_business(&a_business("theirs")).await.unwrap();
    let lead = session
        .insert_lead(ours, LeadDraft { ..a_lead() }, at(0))
        .await
        .unwrap()
        .id;
    let vehicle = session.insert_vehicle(ours, a_vehicle(), at(0)).await.unwrap();
    let other = session.insert_vehicle(ours, a_vehicle(), at(0)).await.unwrap();
    let mut reserved = vehicle.clone();
    reserved.content.reservation.current = Some(Reservation {
        customer: None,
        method: ReservationMethod::NoPayment,
        deposit: forecourt_kernel::Money::ZERO,
        transaction: Line::default(),
        date: at(0),
        reserved_at: at(0),
        vat: false,
        invoice: None,
        made_by: Some(ReservationMaker::Deal(DealId::new(7))),
    });
    let reserved = Vehicle {
        version: vehicle.version.next(),
        ..reserved
    };
    session.save_vehicle(ours, &reserved).await.unwrap();
    session.commit().await.unwrap();
    let mut reader = installation.read().await;
    assert!(reader.is_lead_known(ours, lead).await.unwrap());
    assert!(!reader.is_lead_known(theirs, lead).await.unwrap());
    let cars = [vehicle.id, other.id];
    let found = reader.reserved_by_deals(ours, &cars).await.unwrap();
    assert_eq!(found, [(vehicle.id, DealId::new(7))]);
    assert_eq!(reader.reserved_by_deals(theirs, &cars).await.unwrap(), []);
}

async fn a_deal_forgets_who_is_erased(installation: Installation) {
    let business = installation.business("acme").await;
    let mut customer = a_contact();
    customer.name = "Ann Smith".to_owned();
    customer.email = "ann@example.com".to_owned();
    let customer = installation.contact(business, customer, 0).await;
    let mut lender = a_contact();
    lender.email = "bank@example.com".to_owned();
    let lender = installation.contact(business, lender, 0).await;
    let mut content = DealContent {
        contact: Some(customer.id),
        external_id: Line::default(),
        ..a_full_deal()
    };
    content.finance.provider = Some(lender.id);
    content.part_exchanges[0].lender = Some(lender.id);
    let mut session = installation.begin().await;
    let own = session.insert_deal(business, content.clone(), at(0)).await.unwrap();
    content.contact = None;
    content.notes = LongText::new("Knows ann@example.com.").unwrap();
    let others = session.insert_deal(business, content, at(0)).await.unwrap();
    let event = NewEvent {
        name: EventName::DealCreated,
        record: own.id.get(),
        data: json!({"id": own.id.get(), "contact": customer.id.get(), "notes": "Likes blue.",
            "history": [{"reason": {"code": "other", "note": "Ill."}}], "finance": {"provider": lender.id.get(), "reference": "F-1"}})
        .to_string(),
        at: at(0),
    };
    session.record(business, event).await.unwrap();
    session.commit().await.unwrap();
    let mut reader = installation.read().await;
    let exported = reader
        .contact_deals(business, customer.id, DealId::new(0))
        .await
        .unwrap();
    assert_eq!(exported, std::slice::from_ref(&own));
    drop(reader);
    installation.erase(business, &customer).await;
    installation.erase(business, &lender).await;
    installation.finish_deletions().await;

    let mut reader = installation.read().await;
    let after = reader.deal(business, own.id).await.unwrap().unwrap();
    let found = &after.content;
    assert_eq!(after.version.number(), 3);
    assert_eq!((found.contact, found.finance.provider), (None, None));
    assert_eq!(
        (&*found.notes, &*found.finance.reference, &*found.delivery.address),
        ("", "", "")
    );
    let exchange = &found.part_exchanges[0];
    assert_eq!(
        (&*exchange.registration, &*exchange.vin, exchange.lender),
        ("", "", None)
    );
    assert_eq!(
        (exchange.allowance, found.stage),
        (own.content.part_exchanges[0].allowance, own.content.stage)
    );
    assert!(
        found
            .history
            .iter()
            .flat_map(|entry| &entry.reason)
            .all(|reason| reason.note.is_empty())
    );
    let after = reader.deal(business, others.id).await.unwrap().unwrap();
    assert!(!after.content.notes.contains("ann@example.com"));
    assert_eq!(after.content.finance.provider, None);
    let events = reader
        .events(business, &Default::default(), forecourt_kernel::EventSequence(0), 99)
        .await
        .unwrap();
    for event in events.events {
        let event = format!("{event:?}");
        assert!(!event.contains("Ill.") && !event.contains("Likes blue."), "{event}");
    }
}
