//! `forecourt key create|list|revoke`.

use std::collections::BTreeSet;

use harness::{Engine, Shop, both_engines};
use serde_json::{Value, json};

both_engines! {
    a_key_is_shown_once_with_all_that_it_is
    a_key_may_have_all_scopes_or_none
    a_date_is_its_midnight_in_utc
    the_list_has_every_key_and_no_secret
    a_revoked_key_stays_revoked
}

async fn a_key_is_shown_once_with_all_that_it_is(engine: Engine) {
    let shop = Shop::open(engine).await;
    let key = shop.business.key("leads:write,leads:read").await;
    let members: BTreeSet<&str> = key.json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, BTreeSet::from(["key_id", "token", "scopes", "expires"]));
    assert_eq!(key.json["expires"], Value::Null);
    let scopes: BTreeSet<&str> = key.json["scopes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(scopes, BTreeSet::from(["leads:read", "leads:write"]));

    let name = key.id.strip_prefix("fck_").unwrap();
    assert!(
        name.len() == 16
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    );
    assert!(key.token.starts_with(&format!("{}.", key.id)));
    assert!(key.secret().len() > 6 + 42 && key.secret().bytes().all(|byte| byte.is_ascii_alphanumeric()));
    assert_ne!(shop.business.key("all").await.token, key.token);
}

async fn a_key_may_have_all_scopes_or_none(engine: Engine) {
    let shop = Shop::open(engine).await;
    assert_eq!(shop.business.key("none").await.json["scopes"], json!([]));
    let all = shop.business.key("all").await.json["scopes"].take();
    // The contract's list, and what the decisions add to it.
    let known = "leads:read leads:write leads:delete contacts:read contacts:write contacts:delete contact-notes:read \
        contact-notes:write contact-notes:delete contact-login:write vehicles:read vehicles:write vehicle-pricing:read \
        vehicle-drives:write vehicle-documents:read vehicle-documents:write vehicle-documents:delete \
        vehicle-reserve:read vehicle-reserve:write vehicle-appraisals:write listings:read blogs:read blogs:write \
        blogs:delete reviews:read reviews:write reviews:delete reference:read webhooks:read webhooks:write meta:read \
        search:wildcard invoices:read orders:read purchases:read deals:read appointments:read calls:read \
        vehicles:delete vehicle-media:write vehicle-media:delete vehicle-drives:read vehicle-sales:read vehicle-sales:write \
        lead-messages:read lead-messages:write lead-notes:read lead-notes:write lead-notes:delete";
    let known: BTreeSet<&str> = known.split_whitespace().collect();
    assert_eq!(
        all.as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect::<BTreeSet<_>>(),
        known
    );
    for scope in known {
        assert_eq!(shop.business.key(scope).await.json["scopes"], json!([scope]));
    }
}

async fn a_date_is_its_midnight_in_utc(engine: Engine) {
    let shop = Shop::open(engine).await;
    for (written, epoch) in [("2040-01-01", 2_208_988_800_i64), ("2208988800", 2_208_988_800)] {
        let arguments = ["--business", "acme", "--scopes", "leads:read", "--expires", written];
        let key = shop.installation().key(&arguments).await;
        assert_eq!(key.json["expires"], epoch);
        shop.server.client(&key.token).get("/2.0/leads").await.ok();
    }
}

async fn the_list_has_every_key_and_no_secret(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.rival().await;
    let (ours, free) = (
        shop.business.key("leads:read").await,
        shop.installation().key(&["--no-business", "--scopes", "none"]).await,
    );
    let list = async |arguments: &[&'static str]| {
        let start = ["key", "list"];
        shop.installation()
            .run(start.into_iter().chain(arguments.iter().copied()))
            .await
            .succeeded()
    };
    for arguments in [&["--json"][..], &[]] {
        let all = list(arguments).await;
        assert!(all.contains(&ours.id) && all.contains(&free.id), "{all}");
        assert!(!all.contains(ours.secret()) && !all.contains(free.secret()), "{all}");
    }
    let acme = list(&["--business", "acme", "--json"]).await;
    assert!(acme.contains(&ours.id) && !acme.contains(&free.id), "{acme}");
    let rival = list(&["--business", "rival", "--json"]).await;
    assert!(!rival.contains(&ours.id) && !rival.contains(&free.id), "{rival}");
}

async fn a_revoked_key_stays_revoked(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let key = shop.business.key("leads:read").await;
    for _ in 0..2 {
        // Doing it again is no mistake.
        shop.installation().run(["key", "revoke", &key.id]).await.succeeded();
    }
    shop.server.restart().await;
    shop.server
        .client(&key.token)
        .get("/2.0/leads")
        .await
        .refused(401, "authentication_revoked");
}
