//! Tests of the use cases, on the store in memory.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

use forecourt_accounts::{Business, BusinessFile};
use forecourt_kernel::{BusinessId, Timestamp, VehicleId, Version};
use forecourt_listings::testing::{MemoryListings, listing_store_contract};
use forecourt_listings::{
    Advert, DueExpiry, FileAddresses, Listed, ListingReader, ListingStore, follow, remove_expired,
};
use forecourt_vehicles::{Vehicle, VehicleTag};
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::from_epoch_seconds(1_790_000_000);
const DAY: i64 = 86_400;

type Store = MemoryListings;

fn business(settings: &Value) -> Business {
    let file: BusinessFile = serde_json::from_value(json!({
        "tag": "acme", "name": "Acme Cars", "website": "https://acme.example", "settings": settings,
    }))
    .unwrap();
    file.apply(None, &[], NOW).unwrap()
}

/// Returns a car for sale on the website, with `members` instead of its own.
fn car(members: &Value) -> Vehicle {
    let mut kept = json!({
        "type": "s", "status": "for_sale", "country": "GB", "channels": ["platform_a", "website"],
        "data": {"vehicle": {"class": "Car", "make": "Ford", "model": "Focus"}, "stock": {"notes": "SECRET"}},
    });
    for (name, value) in members.as_object().unwrap() {
        kept[name] = value.clone();
    }
    Vehicle {
        id: VehicleId::new(901),
        tag: VehicleTag::nth(1),
        created: NOW,
        updated: NOW,
        version: Version::FIRST,
        content: serde_json::from_value(kept).unwrap(),
    }
}

fn is_listed(members: &Value, settings: &Value, now: Timestamp) -> bool {
    let addresses = FileAddresses::new("https://api.example");
    let advert = Advert::of(&car(members), &business(settings), &addresses, now);
    advert.unwrap().is_some()
}

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    listing_store_contract(&mut Store::default(), BusinessId::new(1), BusinessId::new(2)).await;
}

#[test]
fn stock_on_the_website_is_listed_while_it_is_for_sale_and_shortly_after() {
    for (members, listed) in [
        (json!({}), true),
        (json!({"type": "t"}), true),
        (json!({"status": "reserved"}), true),
        (json!({"status": "sold"}), true),
        (json!({"status": "complete"}), true),
        (json!({"status": "draft"}), false),
        (json!({"status": "deleted"}), false),
        (json!({"channels": ["platform_a"]}), false),
        (json!({"channels": []}), false),
        (json!({"type": "u", "status": "on_site"}), false),
        (json!({"type": "r", "status": "in_use"}), false),
        (json!({"type": "a", "status": "appraised"}), false),
    ] {
        assert_eq!(is_listed(&members, &json!({}), NOW), listed, "{members}");
    }
    let sold = json!({"status": "sold"});
    for (days, seconds, listed) in [(3, 3 * DAY - 1, true), (3, 3 * DAY, false), (0, 0, false)] {
        let settings = json!({"sold_retention_days": days});
        assert_eq!(
            is_listed(&sold, &settings, NOW.plus_seconds(seconds)),
            listed,
            "{days} {seconds}"
        );
    }
}

#[tokio::test]
async fn a_listing_follows_its_vehicle() {
    let (mut store, business) = (Store::default(), business(&json!({"sold_retention_days": 2})));
    let id = VehicleId::new(901);
    let at = |seconds| NOW.plus_seconds(seconds);
    follow(&mut store, &business, &car(&json!({"channels": []})), at(0))
        .await
        .unwrap();
    assert_eq!(store.listed(business.id, id).await.unwrap(), None);
    follow(&mut store, &business, &car(&json!({})), at(1)).await.unwrap();
    let listing = store.listing(business.id, id, at(1)).await.unwrap().unwrap();
    assert_eq!(listing.updated, at(1));
    let shown: Value = serde_json::from_str(&listing.json).unwrap();
    assert_eq!(
        (&shown["hash"], &shown["updated"]),
        (&json!(listing.hash), &json!(at(1)))
    );
    assert!(!listing.json.contains("SECRET"));
    // A change of a field that is not shown changes nothing, not even the revision.
    let revision = store.manifest_state(business.id, at(2)).await.unwrap().revision;
    let internal = Vehicle {
        updated: at(2),
        version: Version::FIRST.next(),
        ..car(&json!({"owner": 1}))
    };
    follow(&mut store, &business, &internal, at(2)).await.unwrap();
    assert_eq!(
        store.listing(business.id, id, at(2)).await.unwrap(),
        Some(listing.clone())
    );
    assert_eq!(
        store.manifest_state(business.id, at(2)).await.unwrap().revision,
        revision
    );
    // The sale is shown, and gives the listing an end.
    follow(&mut store, &business, &car(&json!({"status": "sold"})), at(3))
        .await
        .unwrap();
    let Listed {
        hash, expires, updated, ..
    } = store.listed(business.id, id).await.unwrap().unwrap();
    assert_ne!(hash, listing.hash);
    assert_eq!((expires, updated), (Some(at(2 * DAY)), at(3)));
    follow(&mut store, &business, &car(&json!({"status": "deleted"})), at(4))
        .await
        .unwrap();
    assert_eq!(store.listed(business.id, id).await.unwrap(), None);
}

#[tokio::test]
async fn a_longer_window_prolongs_a_listing_without_changing_it() {
    let mut store = Store::default();
    let sold = car(&json!({"status": "sold"}));
    let (short, long) = (
        business(&json!({"sold_retention_days": 1})),
        business(&json!({"sold_retention_days": 9})),
    );
    follow(&mut store, &short, &sold, NOW).await.unwrap();
    let before = store.listed(short.id, sold.id).await.unwrap().unwrap();
    follow(&mut store, &long, &sold, NOW.plus_seconds(60)).await.unwrap();
    let after = store.listed(short.id, sold.id).await.unwrap().unwrap();
    assert_eq!((&after.hash, after.updated), (&before.hash, before.updated));
    let due = DueExpiry {
        business: short.id,
        vehicle: sold.id,
    };
    remove_expired(&mut store, NOW.plus_seconds(2 * DAY), due)
        .await
        .unwrap();
    assert!(
        store.listed(short.id, sold.id).await.unwrap().is_some(),
        "it was prolonged meanwhile"
    );
    remove_expired(&mut store, NOW.plus_seconds(9 * DAY), due)
        .await
        .unwrap();
    assert_eq!(store.listed(short.id, sold.id).await.unwrap(), None);
}

#[tokio::test]
async fn a_listing_shows_all_media_and_changes_with_them() {
    let (mut store, business) = (Store::default(), business(&json!({})));
    let file = |key: &str, extension: &str, kind: &str| {
        json!({
            "type": kind, "file": format!("{}.{extension}", key.repeat(16)), "size": 9, "uploaded": 1,
            "kind": if extension == "jpg" { "jpeg" } else { extension },
        })
    };
    let media = json!([
        file("0a", "jpg", "photo"),
        {"type": "youtube", "id": "dQw4w9WgXcQ", "uploaded": 1},
        file("0b", "mp4", "video"),
        file("0c", "webp", "spin"),
    ]);
    let mut hashes = Vec::new();
    for (seconds, media) in [(1, json!([])), (2, media.clone())] {
        let at = NOW.plus_seconds(seconds);
        let car = car(&json!({"media": media}));
        follow(&mut store, &business, &car, at).await.unwrap();
        let listing = store.listing(business.id, car.id, at).await.unwrap().unwrap();
        assert_eq!(listing.updated, at);
        hashes.push(listing.hash);
        let shown: Value = serde_json::from_str(&listing.json).unwrap();
        if seconds == 1 {
            assert_eq!(shown["media"], json!([]));
            continue;
        }
        let address = |key: &str, extension: &str| {
            format!(
                "https://api.example/files/{}/{}.{extension}",
                business.id,
                key.repeat(16)
            )
        };
        assert_eq!(
            shown["media"],
            json!([
                {"url": address("0a", "jpg"), "type": "photo", "position": 1},
                {"url": "https://www.youtube.com/watch?v=dQw4w9WgXcQ", "type": "youtube", "position": 2},
                {"url": address("0b", "mp4"), "type": "video", "position": 3},
                {"url": address("0c", "webp"), "type": "spin", "position": 4},
            ])
        );
    }
    assert_ne!(hashes[0], hashes[1]);
}
