//! `forecourt sample`: realistic data in bulk.

use harness::{Engine, Installation, Shop, both_engines, now};
use serde_json::{Value, json};

both_engines! {
    the_same_seed_makes_the_same_leads
    ids_references_and_stamps_are_in_one_order
    another_seed_makes_others
    leads_are_added_to_those_that_are_there
    a_server_goes_on_meanwhile
    the_same_seed_makes_the_same_vehicles
    vehicles_are_of_every_class_and_in_every_state
    no_more_vehicles_are_for_sale_than_may_be
}

async fn sample(installation: &Installation, leads: &str, seed: &str) {
    let arguments = ["sample", "--business", "acme", "--leads", leads, "--seed", seed];
    installation.run(arguments).await.succeeded();
}

/// Returns the leads of a new shop with a sample of this seed.
async fn sampled(engine: Engine, seed: &str) -> Vec<Value> {
    let shop = Shop::open(engine).await;
    sample(shop.installation(), "2000", seed).await;
    let leads = shop
        .api
        .walk("/2.0/leads?per_page=500&fields=reference,name,email,mobile,type,status,data")
        .await;
    assert_eq!(leads.len(), 2_000);
    leads
}

async fn the_same_seed_makes_the_same_leads(engine: Engine) {
    let leads = sampled(engine, "7").await;
    assert!(leads == sampled(engine, "7").await);
    // The engine makes no difference.
    assert!(leads == sampled(Engine::Sqlite, "7").await);
}

async fn ids_references_and_stamps_are_in_one_order(engine: Engine) {
    let shop = Shop::open(engine).await;
    sample(shop.installation(), "6000", "1").await;
    let leads = shop
        .api
        .walk("/2.0/leads?per_page=500&fields=id,reference,created,updated")
        .await;
    let references = leads.iter().rev().filter_map(|lead| lead["reference"].as_i64());
    assert!(references.eq(1..=6_000));
    let stamps = || leads.iter().rev().filter_map(|lead| lead["created"].as_i64());
    assert!(stamps().is_sorted() && stamps().all(|stamp| stamp <= now()));
}

async fn another_seed_makes_others(engine: Engine) {
    assert!(sampled(engine, "7").await != sampled(engine, "8").await);
}

async fn leads_are_added_to_those_that_are_there(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.lead_path("Ann").await;
    sample(shop.installation(), "100", "1").await;
    sample(shop.installation(), "100", "2").await;
    let next = shop.lead(&json!({"name": "Bea"})).await;
    assert_eq!(next["reference"], 202);
    let list = shop.api.list("/2.0/leads?per_page=1").await;
    assert_eq!(list.pagination["total"], 202);
}

async fn a_server_goes_on_meanwhile(engine: Engine) {
    let shop = Shop::open(engine).await;
    let installation = shop.installation().clone();
    let loading = tokio::spawn(async move { sample(&installation, "12000", "1").await });
    let mut written = 0;
    while !loading.is_finished() {
        shop.lead(&json!({"name": "Ann", "notify": false})).await;
        shop.api.list("/2.0/leads?per_page=1").await;
        written += 1;
    }
    loading.await.unwrap();
    let leads = shop.api.walk("/2.0/leads?per_page=500&fields=reference").await;
    assert_eq!(leads.len(), 12_000 + written);
    let references = leads.iter().rev().filter_map(|lead| lead["reference"].as_u64());
    assert!(references.eq(1..=leads.len() as u64));
}

async fn sample_vehicles(installation: &Installation, count: &str) {
    let arguments = ["sample", "--business", "acme", "--vehicles", count];
    installation.run(arguments).await.succeeded();
}

/// Returns the vehicles of a new shop, without their identifiers.
async fn sampled_vehicles(engine: Engine) -> Vec<Value> {
    let shop = Shop::open(engine).await;
    sample_vehicles(shop.installation(), "600").await;
    let path = "/2.0/vehicles?per_page=500&fields=registration,tag,type,status,created,updated,data.vehicle,data.stock";
    let vehicles = shop.api.walk(path).await;
    assert_eq!(vehicles.len(), 600);
    vehicles
}

async fn the_same_seed_makes_the_same_vehicles(engine: Engine) {
    let vehicles = sampled_vehicles(engine).await;
    assert!(vehicles == sampled_vehicles(Engine::Sqlite).await);
    let stamps = || vehicles.iter().rev().filter_map(|vehicle| vehicle["created"].as_i64());
    assert!(stamps().is_sorted() && stamps().all(|stamp| stamp <= now()));
    let stamps = || {
        vehicles
            .iter()
            .map(|vehicle| (vehicle["created"].as_i64(), vehicle["updated"].as_i64()))
    };
    assert!(stamps().all(|(created, updated)| created <= updated));
    assert!(stamps().any(|(created, updated)| created < updated));
}

async fn vehicles_are_of_every_class_and_in_every_state(engine: Engine) {
    let shop = Shop::open(engine).await;
    sample_vehicles(shop.installation(), "3000").await;
    for (kind, status) in [
        ("in-stock", "draft"),
        ("in-stock", "for-sale"),
        ("in-stock", "reserved"),
        ("in-stock", "sold"),
        ("in-stock", "complete"),
        ("to-order", "for-sale"),
        ("customer", "on-site"),
        ("courtesy", "in%20use"),
        ("appraisal", "added"),
        ("appraisal", "appraised"),
        ("appraisal", "accepted"),
        ("appraisal", "rejected"),
    ] {
        let list = shop
            .api
            .list(&format!("/2.0/vehicles?type={kind}&status={status}"))
            .await;
        assert!(!list.items.is_empty(), "{kind} {status}");
        for vehicle in list.items {
            assert_eq!(vehicle["type"], kind);
        }
    }
    let vehicles = shop
        .api
        .walk("/2.0/vehicles?per_page=500&fields=data.vehicle.type")
        .await;
    let classes: std::collections::BTreeSet<_> = vehicles
        .iter()
        .filter_map(|vehicle| vehicle["data"]["vehicle"]["type"].as_str())
        .collect();
    assert_eq!(classes.len(), 9, "{classes:?}");
}

async fn no_more_vehicles_are_for_sale_than_may_be(engine: Engine) {
    let installation = Installation::new(engine).await;
    let mut file = harness::acme();
    file["settings"] = json!({"publish_limit": 20});
    let business = installation.business(&file).await;
    sample_vehicles(&installation, "400").await;
    sample_vehicles(&installation, "400").await;
    let server = installation.serve().start().await;
    let client = server.client(&business.key("all").await.token);
    let mut total = 0;
    for status in ["for-sale", "reserved"] {
        let list = client.list(&format!("/2.0/vehicles?status={status}")).await;
        total += list.pagination["total"].as_u64().unwrap();
    }
    assert!((15..=20).contains(&total), "{total}");
}
