//! Businesses and keys, beyond their domain's contract.

use forecourt_accounts::Business;
use forecourt_accounts::testing::account_store_contract;
use forecourt_kernel::{EventName, Mail, Scope, ScopeSet, StoreError};
use forecourt_leads::{LeadDraft, LeadStatus};

use crate::installation::{Installation, both_engines};
use crate::samples::{a_business, a_car, a_full_business, a_key, a_lead, an_event, at, key_id};

both_engines!(
    businesses_and_keys_are_kept_as_their_domain_asks,
    a_tag_is_given_once,
    a_deleted_business_takes_all_but_its_keys,
    a_large_business_is_removed_in_parts,
    a_scope_of_a_later_version_is_passed_over,
);

async fn businesses_and_keys_are_kept_as_their_domain_asks(installation: Installation) {
    let mut session = installation.begin().await;
    account_store_contract(session.as_mut(), &a_full_business("full")).await;
    drop(session);
    // A read without a transaction finds the written values.
    let full = a_full_business("full");
    let mut session = installation.begin().await;
    let id = session.insert_business(&full).await.unwrap();
    session.insert_key(&a_key(1, Some(id))).await.unwrap();
    session.commit().await.unwrap();
    let stored = Business { id, ..full };
    let mut reader = installation.read().await;
    assert_eq!(reader.business(id).await.unwrap().as_ref(), Some(&stored));
    assert_eq!(reader.business_by_tag("full").await.unwrap().as_ref(), Some(&stored));
    let credential = reader.credential(&key_id(1)).await.unwrap().unwrap();
    assert_eq!(credential.business.as_deref(), Some(&stored));
}

async fn a_tag_is_given_once(installation: Installation) {
    installation.business("taken").await;
    let other = installation.business("other").await;
    let mut session = installation.begin().await;
    let failure = session.insert_business(&a_business("taken")).await.unwrap_err();
    assert!(
        matches!(&failure, StoreError::Duplicate(rule) if rule == "businesses_tag_key"),
        "{failure:?}"
    );
    drop(session);
    let mut session = installation.begin().await;
    let renamed = Business {
        id: other,
        ..a_business("taken")
    };
    let failure = session.update_business(&renamed).await.unwrap_err();
    assert!(
        matches!(&failure, StoreError::Duplicate(rule) if rule == "businesses_tag_key"),
        "{failure:?}"
    );
}

async fn a_deleted_business_takes_all_but_its_keys(installation: Installation) {
    let (gone, stays) = (
        installation.business("gone").await,
        installation.business("stays").await,
    );
    for (number, business) in [(1, gone), (2, stays)] {
        let mut session = installation.begin().await;
        session.insert_key(&a_key(number, Some(business))).await.unwrap();
        let lead = session.insert_lead(business, a_lead(), at(0)).await.unwrap();
        session
            .record(business, an_event(EventName::LeadCreated, lead.id))
            .await
            .unwrap();
        let mail = Mail {
            to: "office@acme.example".to_owned(),
            subject: "New lead".to_owned(),
            ..Mail::default()
        };
        session.queue_mail(business, mail, at(0)).await.unwrap();
        let car = session.insert_vehicle(business, a_car(), at(0)).await.unwrap();
        let associated = session.associate_vehicle(business, lead.id, car.id, at(0)).await;
        assert!(associated.unwrap());
        session.commit().await.unwrap();
        installation
            .execute(&format!(
                "INSERT INTO idempotency_keys (business_id, key, fingerprint, created) SELECT {business}, 'k', secret_hash, 0
                     FROM api_keys WHERE id = '{}';",
                key_id(number),
            ))
            .await;
    }

    let mut session = installation.begin().await;
    session.delete_business(gone).await.unwrap();
    session.commit().await.unwrap();

    let owned = [
        "leads",
        "lead_vehicles",
        "events",
        "mails",
        "idempotency_keys",
        "counters",
    ];
    for table in owned {
        let of = async |business| {
            let query = format!("SELECT count(DISTINCT business_id) FROM {table} WHERE business_id = {business}");
            installation.number(&query).await
        };
        assert_eq!((of(gone).await, of(stays).await), (0, 1), "{table}");
    }
    let mut reader = installation.read().await;
    assert_eq!(reader.business(gone).await.unwrap(), None);
    let orphan = reader.credential(&key_id(1)).await.unwrap().unwrap();
    assert_eq!((orphan.key.business, orphan.business), (Some(gone), None));
    let other = reader.credential(&key_id(2)).await.unwrap().unwrap();
    assert_eq!(other.business.unwrap().id, stays);
    assert_eq!(reader.keys(Some(gone)).await.unwrap().len(), 1);
}

async fn a_large_business_is_removed_in_parts(installation: Installation) {
    const LEADS: usize = 1_300;
    let gone = installation.business("acme").await;
    let mut session = installation.begin().await;
    session.insert_key(&a_key(1, Some(gone))).await.unwrap();
    session.load_leads(gone, vec![(a_lead(), at(0)); LEADS]).await.unwrap();
    let due = LeadDraft {
        status: LeadStatus::Closed,
        reopen: Some("1970-01-02".parse().unwrap()),
        ..a_lead()
    };
    session.insert_lead(gone, due, at(0)).await.unwrap();
    session.insert_vehicle(gone, a_car(), at(0)).await.unwrap();
    session.commit().await.unwrap();

    let mut session = installation.begin().await;
    session.delete_business(gone).await.unwrap();
    session.commit().await.unwrap();
    let left = installation.number("SELECT count(*) FROM leads").await;
    assert!(left > 0, "that is more than one transaction removes");
    let mut session = installation.begin().await;
    assert_eq!(session.business(gone).await.unwrap(), None);
    assert_eq!(session.business_by_tag("acme").await.unwrap(), None);
    assert_eq!(session.businesses().await.unwrap(), []);
    let orphan = session.credential(&key_id(1)).await.unwrap().unwrap();
    assert_eq!(orphan.business, None);
    assert_eq!(session.due_reopenings(at(999_999), 9).await.unwrap(), []);
    session.commit().await.unwrap();
    let anew = installation.business("acme").await;
    installation.lead(anew, a_lead(), 0).await;

    let parts = installation.finish_deletions().await;
    assert!(parts > 5, "{parts} parts are too few to be small");
    for table in ["leads", "businesses"] {
        let count = installation.number(&format!("SELECT count(*) FROM {table}")).await;
        assert_eq!(count, 1, "{table}");
    }
    let counted = "SELECT count(DISTINCT business_id) FROM counters";
    assert_eq!(installation.number(counted).await, 1);
    for table in ["vehicles", "vehicle_facts", "deletions"] {
        let count = installation.number(&format!("SELECT count(*) FROM {table}")).await;
        assert_eq!(count, 0, "{table}");
    }
    assert!(installation.read().await.business(anew).await.unwrap().is_some());
}

async fn a_scope_of_a_later_version_is_passed_over(installation: Installation) {
    let mut session = installation.begin().await;
    session.insert_key(&a_key(1, None)).await.unwrap();
    session.commit().await.unwrap();
    installation
        .execute(r#"UPDATE api_keys SET scopes = '["leads:read", "moon:land"]'"#)
        .await;
    let key = installation
        .read()
        .await
        .credential(&key_id(1))
        .await
        .unwrap()
        .unwrap()
        .key;
    assert_eq!(key.scopes, ScopeSet::from(Scope::LeadsRead));
}
