//! Businesses and keys.

use forecourt_accounts::{ApiKey, Business};
use forecourt_kernel::{BusinessId, EventName, Mail, Scope, ScopeSet, StoreError};
use forecourt_leads::{LeadDraft, LeadStatus};

use crate::installation::{Installation, both_engines};
use crate::samples::{a_business, a_car, a_full_business, a_key, a_lead, an_event, at, key_id};

both_engines!(
    every_field_of_a_business_reads_back,
    a_business_is_changed_as_a_whole,
    a_tag_is_given_once,
    businesses_are_listed_by_tag,
    a_deleted_business_takes_all_but_its_keys,
    a_large_business_is_removed_in_parts,
    every_field_of_a_key_reads_back,
    a_credential_comes_with_its_business,
    keys_are_listed_newest_first,
    an_earlier_revocation_stands,
    a_scope_of_a_later_version_is_passed_over,
);

async fn every_field_of_a_business_reads_back(installation: Installation) {
    for business in [a_business("blank"), a_full_business("full")] {
        let mut session = installation.begin().await;
        let id = session.insert_business(&business).await.unwrap();
        let stored = Business { id, ..business };
        assert_eq!(session.business(id).await.unwrap().as_ref(), Some(&stored));
        session.commit().await.unwrap();

        let mut reader = installation.read().await;
        assert_eq!(reader.business(id).await.unwrap().as_ref(), Some(&stored));
        assert_eq!(reader.business_by_tag(&stored.tag).await.unwrap(), Some(stored));
    }
    let mut reader = installation.read().await;
    assert_eq!(reader.business(BusinessId::new(99)).await.unwrap(), None);
    assert_eq!(reader.business_by_tag("FULL").await.unwrap(), None);
}

async fn a_business_is_changed_as_a_whole(installation: Installation) {
    let bystander = installation.business("bystander").await;
    let id = installation.business("before").await;
    let changed = Business {
        id,
        ..a_full_business("after")
    };
    let mut session = installation.begin().await;
    session.update_business(&changed).await.unwrap();
    session.commit().await.unwrap();
    let mut reader = installation.read().await;
    assert_eq!(reader.business(id).await.unwrap(), Some(changed));
    assert_eq!(reader.business_by_tag("before").await.unwrap(), None);
    assert_eq!(reader.business(bystander).await.unwrap().unwrap().tag, "bystander");
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

async fn businesses_are_listed_by_tag(installation: Installation) {
    for tag in ["b", "c", "a"] {
        installation.business(tag).await;
    }
    let businesses = installation.read().await.businesses().await.unwrap();
    let tags: Vec<_> = businesses.into_iter().map(|business| business.tag).collect();
    assert_eq!(tags, ["a", "b", "c"]);
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
        "business_counters",
    ];
    for table in owned {
        let of = async |business| {
            let query = format!("SELECT count(*) FROM {table} WHERE business_id = {business}");
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
    for table in ["leads", "businesses", "business_counters"] {
        let count = installation.number(&format!("SELECT count(*) FROM {table}")).await;
        assert_eq!(count, 1, "{table}");
    }
    for table in ["vehicles", "vehicle_facts", "deletions"] {
        let count = installation.number(&format!("SELECT count(*) FROM {table}")).await;
        assert_eq!(count, 0, "{table}");
    }
    assert!(installation.read().await.business(anew).await.unwrap().is_some());
}

async fn every_field_of_a_key_reads_back(installation: Installation) {
    let business = installation.business("acme").await;
    let full = ApiKey {
        scopes: [Scope::LeadsRead, Scope::LeadsWrite].into_iter().collect(),
        expires: Some(at(10)),
        revoked: Some(at(20)),
        ..a_key(1, Some(business))
    };
    let every_scope = ApiKey {
        scopes: ScopeSet::all(),
        ..a_key(2, None)
    };
    for key in [full, every_scope, a_key(3, None)] {
        let mut session = installation.begin().await;
        session.insert_key(&key).await.unwrap();
        session.commit().await.unwrap();
        let stored = installation
            .read()
            .await
            .credential(&key.id)
            .await
            .unwrap()
            .unwrap()
            .key;
        assert_same_key(&stored, &key);
    }
    let mut reader = installation.read().await;
    assert!(reader.credential(&key_id(9)).await.unwrap().is_none());
}

/// Keys cannot be compared: the comparison of hashes is for one purpose alone.
fn assert_same_key(one: &ApiKey, other: &ApiKey) {
    let ApiKey {
        id,
        secret_hash,
        business,
        scopes,
        created,
        expires,
        revoked,
    } = one;
    assert_eq!(
        (id, business, scopes, created, expires, revoked),
        (
            &other.id,
            &other.business,
            &other.scopes,
            &other.created,
            &other.expires,
            &other.revoked
        )
    );
    assert_eq!(secret_hash.as_bytes(), other.secret_hash.as_bytes());
}

async fn a_credential_comes_with_its_business(installation: Installation) {
    let mut session = installation.begin().await;
    let business = a_full_business("acme");
    let id = session.insert_business(&business).await.unwrap();
    session.insert_key(&a_key(1, Some(id))).await.unwrap();
    session.insert_key(&a_key(2, None)).await.unwrap();
    session.commit().await.unwrap();
    let mut reader = installation.read().await;
    let credential = reader.credential(&key_id(1)).await.unwrap().unwrap();
    assert_eq!(*credential.business.unwrap(), Business { id, ..business });
    let without = reader.credential(&key_id(2)).await.unwrap().unwrap();
    assert_eq!(without.business, None);
}

async fn keys_are_listed_newest_first(installation: Installation) {
    let (ours, theirs) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    let mut session = installation.begin().await;
    for (number, business, created) in [
        (1, Some(ours), 5),
        (2, Some(theirs), 9),
        (3, None, 1),
        (4, Some(ours), 7),
    ] {
        let key = ApiKey {
            created: at(created),
            ..a_key(number, business)
        };
        session.insert_key(&key).await.unwrap();
    }
    session.commit().await.unwrap();
    for (business, numbers) in [(Some(ours), vec![4, 1]), (None, vec![2, 4, 1, 3])] {
        let keys = installation.read().await.keys(business).await.unwrap();
        let ids: Vec<_> = keys.into_iter().map(|key| key.id).collect();
        assert_eq!(ids, numbers.into_iter().map(key_id).collect::<Vec<_>>());
    }
}

async fn an_earlier_revocation_stands(installation: Installation) {
    let mut session = installation.begin().await;
    session.insert_key(&a_key(1, None)).await.unwrap();
    session.commit().await.unwrap();
    for second in [5, 3, 9] {
        let mut session = installation.begin().await;
        assert!(session.revoke_key(&key_id(1), at(second)).await.unwrap());
        session.commit().await.unwrap();
        let key = installation
            .read()
            .await
            .credential(&key_id(1))
            .await
            .unwrap()
            .unwrap()
            .key;
        assert_eq!(key.revoked, Some(at(5)));
    }
    let mut session = installation.begin().await;
    assert!(
        !session.revoke_key(&key_id(2), at(0)).await.unwrap(),
        "there is no such key"
    );
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
