//! The contract suite for stores of businesses, keys and answers.

use forecourt_kernel::{BusinessId, Scope, ScopeSet, StoreError, Timestamp};

use crate::{
    AccountStore, ApiKey, Business, Fingerprint, IdempotencyStore, KeyId, KeyUse, KeyedRequest, SecretHash, Shown,
    StoredResponse,
};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_epoch_seconds(1_790_000_000 + seconds)
}

fn business(tag: &str) -> Business {
    Business::new(BusinessId::new(0), tag, "Acme Cars")
}

/// A key of that number.
fn key(number: u8, business: Option<BusinessId>) -> ApiKey {
    ApiKey {
        id: key_id(number),
        secret_hash: SecretHash::from_bytes([number; 32]),
        business,
        scopes: ScopeSet::NONE,
        from: Vec::new(),
        created: at(0),
        expires: None,
        revoked: None,
        last_used: None,
    }
}

fn key_id(number: u8) -> KeyId {
    format!("fck_{number:016}").parse().expect("it is a name")
}

/// Tests that `store` meets the contract of a store of businesses and keys. It must be empty. `full` is a business with a value
/// in every field. The last step fails, so the transaction must be rolled back.
///
/// # Panics
/// If the store violates the contract.
pub async fn account_store_contract(store: &mut dyn AccountStore, full: &Business) {
    let first = keeps_businesses(store, full).await;
    keeps_keys(store, first).await;
    lists_keys(store, first).await;
    forgets_businesses_but_not_their_keys(store).await;
    let taken = store.insert_business(&business(&full.tag)).await;
    assert!(
        matches!(&taken, Err(StoreError::Duplicate(rule)) if rule == "businesses_tag_key"),
        "a tag is given once: {taken:?}"
    );
}

/// Stores a blank business and the full one. Returns the id of the blank one.
async fn keeps_businesses(store: &mut dyn AccountStore, full: &Business) -> BusinessId {
    let mut ids = Vec::new();
    for business in [business("m-blank"), full.clone()] {
        let id = store.insert_business(&business).await.expect("it is stored");
        let expected = Business { id, ..business };
        assert_eq!(store.business(id).await.expect("it is read").as_ref(), Some(&expected));
        let by_tag = store.business_by_tag(&expected.tag).await.expect("it is read");
        assert_eq!(by_tag, Some(expected));
        ids.push(id);
    }
    assert_ne!(ids[0], ids[1]);
    let missing = BusinessId::new(i64::MAX);
    assert_eq!(store.business(missing).await.expect("an answer"), None);
    let capitals = full.tag.to_uppercase();
    assert_eq!(store.business_by_tag(&capitals).await.expect("an answer"), None);

    let changed = Business {
        id: ids[0],
        tag: "n-changed".to_owned(),
        ..full.clone()
    };
    store.update_business(&changed).await.expect("it is stored");
    assert_eq!(store.business(ids[0]).await.expect("it is read"), Some(changed));
    assert_eq!(store.business_by_tag("m-blank").await.expect("an answer"), None);
    let bystander = store.business(ids[1]).await.expect("it is read");
    assert_eq!(bystander.map(|business| business.tag), Some(full.tag.clone()));

    for tag in ["z-last", "0-first"] {
        store.insert_business(&business(tag)).await.expect("it is stored");
    }
    let listed = store.businesses().await.expect("they are listed");
    let tags: Vec<_> = listed.iter().map(|business| business.tag.as_str()).collect();
    let mut sorted = tags.clone();
    sorted.sort_unstable();
    assert_eq!(tags, sorted);
    assert_eq!((tags.len(), tags[0], tags[3]), (4, "0-first", "z-last"));
    ids[0]
}

async fn keeps_keys(store: &mut dyn AccountStore, business: BusinessId) {
    let full = ApiKey {
        scopes: [Scope::LeadsRead, Scope::LeadsWrite].into_iter().collect(),
        from: ["192.0.2.7/32", "2001:db8::/32"]
            .map(|network| network.parse().expect("a network"))
            .to_vec(),
        last_used: Some(at(15)),
        expires: Some(at(10)),
        revoked: Some(at(20)),
        ..key(1, Some(business))
    };
    let every_scope = ApiKey {
        scopes: ScopeSet::all(),
        ..key(2, None)
    };
    let owner = store.business(business).await.expect("it is read");
    for key in [full, every_scope, key(3, None)] {
        store.insert_key(&key).await.expect("it is stored");
        let stored = store.credential(&key.id).await.expect("it is read").expect("a key");
        assert_same_key(&stored.key, &key);
        let expected = owner.as_ref().filter(|_| key.business.is_some());
        assert_eq!(
            stored.business.as_deref(),
            expected,
            "a credential comes with its business"
        );
    }
    assert!(store.credential(&key_id(99)).await.expect("an answer").is_none());
    for second in [5, 3, 9] {
        assert!(store.revoke_key(&key_id(3), at(second)).await.expect("an answer"));
        let revoked = store.credential(&key_id(3)).await.expect("it is read").expect("a key");
        assert_eq!(revoked.key.revoked, Some(at(5)), "an earlier revocation stands");
    }
    assert!(!store.revoke_key(&key_id(99), at(0)).await.expect("an answer"));

    assert!(store.expire_key(&key_id(2), at(7)).await.expect("an answer"));
    let expiring = store.credential(&key_id(2)).await.expect("it is read").expect("a key");
    assert_eq!(expiring.key.expires, Some(at(7)));
    for number in [3, 99] {
        assert!(
            !store.expire_key(&key_id(number), at(7)).await.expect("an answer"),
            "a key that is revoked, or none"
        );
    }
    for (second, stored) in [(3_600, 3_600), (0, 3_600), (7_200, 7_200)] {
        let uses = [(key_id(2), at(second)), (key_id(99), at(second))];
        store.note_key_uses(&uses).await.expect("they are stored");
        let used = store.credential(&key_id(2)).await.expect("it is read").expect("a key");
        assert_eq!(used.key.last_used, Some(at(stored)), "a later hour stands");
    }
}

/// Compares keys field by field. They have no equality, since digests may be compared for only one purpose.
fn assert_same_key(one: &ApiKey, other: &ApiKey) {
    let ApiKey {
        id,
        secret_hash,
        business,
        scopes,
        from,
        created,
        expires,
        revoked,
        last_used,
    } = one;
    assert_eq!(
        (id, business, scopes, from, created, expires, revoked, last_used),
        (
            &other.id,
            &other.business,
            &other.scopes,
            &other.from,
            &other.created,
            &other.expires,
            &other.revoked,
            &other.last_used
        )
    );
    assert_eq!(secret_hash.as_bytes(), other.secret_hash.as_bytes());
}

async fn lists_keys(store: &mut dyn AccountStore, ours: BusinessId) {
    let theirs = store.insert_business(&business("theirs")).await.expect("it is stored");
    for (number, business, created) in [
        (11, Some(ours), 5),
        (12, Some(theirs), 9),
        (13, None, 1),
        (14, Some(ours), 7),
    ] {
        let key = ApiKey {
            created: at(created),
            ..key(number, business)
        };
        store.insert_key(&key).await.expect("it is stored");
    }
    for (business, numbers) in [(Some(ours), vec![14, 11, 1]), (Some(theirs), vec![12])] {
        let keys = store.keys(business).await.expect("they are listed");
        let ids: Vec<_> = keys.into_iter().map(|key| key.id).collect();
        assert_eq!(ids, numbers.into_iter().map(key_id).collect::<Vec<_>>());
    }
    let all = store.keys(None).await.expect("they are listed");
    let newest: Vec<_> = all.iter().take(4).map(|key| key.id.clone()).collect();
    assert_eq!((newest, all.len()), ([12, 14, 11, 13].map(key_id).to_vec(), 7));
}

async fn forgets_businesses_but_not_their_keys(store: &mut dyn AccountStore) {
    let gone = store.insert_business(&business("gone")).await.expect("it is stored");
    store.insert_key(&key(21, Some(gone))).await.expect("it is stored");
    store.delete_business(gone).await.expect("it is deleted");
    assert_eq!(store.business(gone).await.expect("an answer"), None);
    assert_eq!(store.business_by_tag("gone").await.expect("an answer"), None);
    let listed = store.businesses().await.expect("they are listed");
    assert!(listed.iter().all(|business| business.id != gone));
    let orphan = store.credential(&key_id(21)).await.expect("it is read").expect("a key");
    assert_eq!((orphan.key.business, orphan.business), (Some(gone), None));
    assert_eq!(store.keys(Some(gone)).await.expect("they are listed").len(), 1);
    let next = store.insert_business(&business("gone")).await.expect("its tag is free");
    assert_ne!(next, gone, "no id is used twice");
}

/// Tests that `store` meets the contract of a store of answers. It must have these two businesses and no answers.
///
/// # Panics
/// If the store violates the contract.
pub async fn idempotency_store_contract(store: &mut dyn IdempotencyStore, ours: BusinessId, theirs: BusinessId) {
    const DAY: i64 = <dyn IdempotencyStore>::KEPT_SECONDS;
    let request = |key: &str, body: &[u8]| KeyedRequest {
        key: key.parse().expect("it is a key"),
        fingerprint: Fingerprint::of("POST", "/2.0/leads", "", body),
    };
    let answer = |body: &[u8]| StoredResponse {
        status: 201,
        body: body.to_vec(),
    };
    for (business, key, second, body) in [
        (ours, "k", 0, "the answer"),
        (ours, "old", 0, "x"),
        (theirs, "old", 0, "x"),
        (ours, "new", 2, "x"),
    ] {
        let request = request(key, b"1");
        let found = store.key_use(business, &request, at(second)).await.expect("an answer");
        assert_eq!(found, KeyUse::Free);
        let response = answer(body.as_bytes());
        let stored = store
            .store_response(business, &request, at(second), &response, Shown::default())
            .await;
        stored.expect("it is stored");
    }
    for (business, request, second, expected) in [
        (ours, request("k", b"1"), 1, KeyUse::Answered(answer(b"the answer"))),
        (
            ours,
            request("k", b"1"),
            DAY - 1,
            KeyUse::Answered(answer(b"the answer")),
        ),
        (ours, request("k", b"2"), 1, KeyUse::Reused),
        (ours, request("K", b"1"), 1, KeyUse::Free),
        (theirs, request("k", b"1"), 1, KeyUse::Free),
        (ours, request("k", b"2"), DAY, KeyUse::Free),
    ] {
        let found = store.key_use(business, &request, at(second)).await.expect("an answer");
        assert_eq!(found, expected, "{request:?} at {second}");
    }
    // A key that is free again accepts another answer.
    let second = request("k", b"2");
    let stored = store
        .store_response(ours, &second, at(DAY), &answer(b"another"), Shown::default())
        .await;
    stored.expect("it is stored");

    let mut forgotten = Vec::new();
    for _ in 0..3 {
        forgotten.push(store.purge_expired(at(DAY), 1).await.expect("an answer"));
    }
    assert_eq!(forgotten, [1, 1, 0]);
}
