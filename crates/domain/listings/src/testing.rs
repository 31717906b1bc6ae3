//! A store in memory, and the suite that every store of listings must pass.

#![expect(clippy::expect_used, clippy::panic, reason = "this is for tests, which fail so")]

use std::collections::BTreeMap;

use async_trait::async_trait;
use forecourt_kernel::{
    BusinessId, Cursor, Page, PageRequest, Position, Range, StoreResult, TextFilter, Timestamp, VehicleId,
};
use forecourt_vehicles::FileAddresses;
use serde_json::{Value, json};

use crate::{
    Advert, Build, Change, ChangeRange, ChangedTo, DueExpiry, Feed, Listed, Listing, ListingFilter, ListingReader,
    ListingStore, ManifestEntry, ManifestState, ReadyCount, ReadyFor, RemovalReason, StoredListing,
};

/// Listings in memory. The files of their vehicles are at `https://api.example`.
#[derive(Clone, Debug, Default)]
pub struct MemoryListings {
    listings: BTreeMap<(BusinessId, VehicleId), Held>,
    removals: BTreeMap<(BusinessId, VehicleId), Change>,
    kept_since: BTreeMap<BusinessId, i64>,
    revisions: BTreeMap<BusinessId, i64>,
    builds: BTreeMap<BusinessId, Build>,
}

/// A listing in memory.
#[derive(Clone, Debug)]
struct Held {
    advert: Advert,
    updated: Timestamp,
    sequence: i64,
}

impl Held {
    fn is_live(&self, now: Timestamp) -> bool {
        self.advert.expires.is_none_or(|expires| expires > now)
    }

    fn listing(&self) -> Listing {
        Listing {
            id: self.advert.vehicle,
            updated: self.updated,
            hash: self.advert.hash.clone(),
            json: self.advert.to_json(self.updated),
        }
    }
}

impl MemoryListings {
    fn of(&self, business: BusinessId) -> impl Iterator<Item = &Held> {
        let own = self.listings.iter().filter(move |((owner, _), _)| *owner == business);
        own.map(|(_, held)| held)
    }

    fn live(&self, business: BusinessId, now: Timestamp) -> impl Iterator<Item = &Held> {
        self.of(business).filter(move |held| held.is_live(now))
    }

    fn next_sequence(&mut self, business: BusinessId) -> i64 {
        let revision = self.revisions.entry(business).or_default();
        *revision += 1;
        *revision
    }
}

/// A store in memory that holds listings, perhaps with other records; it is a [`ListingStore`].
pub trait HoldsListings: Send {
    /// The listings.
    fn held_listings(&mut self) -> &mut MemoryListings;
}

/// On its own it is a complete store.
impl HoldsListings for MemoryListings {
    fn held_listings(&mut self) -> &mut MemoryListings {
        self
    }
}

#[async_trait]
impl<S: HoldsListings> ListingReader for S {
    async fn listing(&mut self, business: BusinessId, id: VehicleId, now: Timestamp) -> StoreResult<Option<Listing>> {
        let mut live = self.held_listings().live(business, now);
        Ok(live.find(|held| held.advert.vehicle == id).map(Held::listing))
    }

    async fn listings(
        &mut self,
        business: BusinessId,
        filter: &ListingFilter,
        now: Timestamp,
        page: &PageRequest,
    ) -> StoreResult<Page<Listing>> {
        let held = self.held_listings();
        let passes = |held: &&Held| filter.matches(&held.advert.facts(), held.updated);
        let mut passing: Vec<Listing> = held.live(business, now).filter(passes).map(Held::listing).collect();
        let place = |listing: &Listing| [listing.updated.epoch_seconds(), listing.id.get()];
        passing.sort_by_key(place);
        let total = page.offset().and(i64::try_from(passing.len()).ok());
        if let Position::After(cursor) = &page.position {
            passing.retain(|listing| place(listing).as_slice() > cursor.values());
        }
        let skipped = usize::try_from(page.offset().unwrap_or_default()).unwrap_or(usize::MAX);
        let rest = passing.len().saturating_sub(skipped);
        let items: Vec<Listing> = passing.into_iter().skip(skipped).take(page.per_page as usize).collect();
        let next = items
            .last()
            .filter(|_| rest > items.len())
            .map(|last| Cursor::at(place(last)));
        Ok(Page { items, next, total })
    }

    async fn manifest(
        &mut self,
        business: BusinessId,
        after: VehicleId,
        now: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<ManifestEntry>> {
        let listings = self.held_listings().live(business, now).map(Held::listing);
        let entries = listings.filter(|listing| listing.id > after).take(limit as usize);
        Ok(entries
            .map(|Listing { id, updated, hash, .. }| ManifestEntry { id, updated, hash })
            .collect())
    }

    async fn manifest_state(&mut self, business: BusinessId, now: Timestamp) -> StoreResult<ManifestState> {
        let held = self.held_listings();
        let overdue = held.of(business).filter(|held| !held.is_live(now));
        Ok(ManifestState {
            revision: held.revisions.get(&business).copied().unwrap_or_default(),
            overdue: i64::try_from(overdue.count()).unwrap_or(i64::MAX),
        })
    }

    async fn listing_changes(
        &mut self,
        business: BusinessId,
        range: ChangeRange,
        now: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<Change>> {
        let held = self.held_listings();
        let listed = held.live(business, now).map(|held| Change {
            sequence: held.sequence,
            to: ChangedTo::Listed(held.listing()),
        });
        let removals = held.removals.iter().filter(|((owner, _), _)| *owner == business);
        let removals = removals
            .filter(|_| range.with_removals)
            .map(|(_, change)| change.clone());
        let mut changes: Vec<Change> = listed
            .chain(removals)
            .filter(|change| range.after < change.sequence && change.sequence <= range.up_to)
            .collect();
        changes.sort_by_key(|change| change.sequence);
        changes.truncate(limit as usize);
        Ok(changes)
    }

    async fn removals_kept_since(&mut self, business: BusinessId) -> StoreResult<i64> {
        Ok(self
            .held_listings()
            .kept_since
            .get(&business)
            .copied()
            .unwrap_or_default())
    }

    async fn ready_counts(&mut self, business: BusinessId, now: Timestamp) -> StoreResult<Vec<ReadyCount>> {
        let mut counts = BTreeMap::<u8, i64>::new();
        for held in self.held_listings().live(business, now) {
            *counts.entry(held.advert.ready.bits()).or_default() += 1;
        }
        let count = |(bits, listings)| ReadyCount {
            ready: ReadyFor::from_bits(bits),
            listings,
        };
        Ok(counts.into_iter().map(count).collect())
    }

    async fn ready_listings(
        &mut self,
        business: BusinessId,
        feed: Feed,
        now: Timestamp,
    ) -> StoreResult<Vec<VehicleId>> {
        let live = self.held_listings().live(business, now);
        let ready = live.filter(|held| held.advert.ready.contains(feed));
        Ok(ready.map(|held| held.advert.vehicle).collect())
    }

    async fn listings_of(
        &mut self,
        business: BusinessId,
        ids: &[VehicleId],
        now: Timestamp,
    ) -> StoreResult<Vec<Listing>> {
        let live = self.held_listings().live(business, now);
        let wanted = live.filter(|held| ids.contains(&held.advert.vehicle));
        Ok(wanted.map(Held::listing).collect())
    }
}

#[async_trait]
impl<S: HoldsListings> ListingStore for S {
    fn file_addresses(&self) -> FileAddresses {
        FileAddresses::new("https://api.example")
    }

    async fn listed(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Listed>> {
        let stored = self.held_listings().listings.get(&(business, id));
        Ok(stored.map(|Held { advert, updated, .. }| Listed {
            hash: advert.hash.clone(),
            expires: advert.expires,
            ready: advert.ready,
            updated: *updated,
        }))
    }

    async fn stored_listing(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<StoredListing>> {
        let stored = self.held_listings().listings.get(&(business, id));
        Ok(stored.map(|held| StoredListing {
            listing: held.listing(),
            expires: held.advert.expires,
            ready: held.advert.ready,
            facts: held.advert.facts(),
        }))
    }

    async fn stored_listings(
        &mut self,
        business: BusinessId,
        after: VehicleId,
        limit: u32,
    ) -> StoreResult<Vec<VehicleId>> {
        let ids = self.held_listings().of(business).map(|held| held.advert.vehicle);
        Ok(ids.filter(|id| *id > after).take(limit as usize).collect())
    }

    async fn save_listing(&mut self, business: BusinessId, advert: &Advert, updated: Timestamp) -> StoreResult<()> {
        let store = self.held_listings();
        let sequence = store.next_sequence(business);
        let held = Held {
            advert: advert.clone(),
            updated,
            sequence,
        };
        store.listings.insert((business, advert.vehicle), held);
        store.removals.remove(&(business, advert.vehicle));
        Ok(())
    }

    async fn remove_listing(
        &mut self,
        business: BusinessId,
        id: VehicleId,
        at: Timestamp,
        reason: RemovalReason,
    ) -> StoreResult<()> {
        let store = self.held_listings();
        if store.listings.remove(&(business, id)).is_some() {
            let sequence = store.next_sequence(business);
            let to = ChangedTo::Removed { id, at, reason };
            store.removals.insert((business, id), Change { sequence, to });
        }
        Ok(())
    }

    async fn purge_removals(&mut self, before: Timestamp, limit: u32) -> StoreResult<u32> {
        let store = self.held_listings();
        let is_old = |business: BusinessId, change: &Change| {
            let oldest_listed = store.of(business).map(|held| held.sequence).min();
            matches!(change.to, ChangedTo::Removed { at, .. } if at < before)
                && oldest_listed.is_none_or(|oldest| change.sequence < oldest)
        };
        let old = store
            .removals
            .iter()
            .filter(|((business, _), change)| is_old(*business, change));
        let old: Vec<_> = old
            .map(|(key, change)| (*key, change.sequence))
            .take(limit as usize)
            .collect();
        for (key, sequence) in &old {
            store.removals.remove(key);
            let since = store.kept_since.entry(key.0).or_default();
            *since = (*since).max(*sequence);
        }
        Ok(u32::try_from(old.len()).unwrap_or(u32::MAX))
    }

    async fn due_expiries(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueExpiry>> {
        let listings = self.held_listings().listings.iter();
        let mut due: Vec<_> = listings
            .filter_map(|((business, vehicle), held)| {
                let expires = held.advert.expires.filter(|expires| *expires <= now)?;
                let (business, vehicle) = (*business, *vehicle);
                Some((expires, DueExpiry { business, vehicle }))
            })
            .collect();
        due.sort_by_key(|(expires, _)| *expires);
        Ok(due.into_iter().map(|(_, due)| due).take(limit as usize).collect())
    }

    /// This store holds no businesses.
    async fn due_builds(&mut self, _: Timestamp, _: u32) -> StoreResult<Vec<BusinessId>> {
        Ok(Vec::new())
    }

    async fn lock_build(&mut self, business: BusinessId) -> StoreResult<Option<Build>> {
        let never = Build {
            of: Timestamp::from_epoch_seconds(i64::MIN),
            below: Some(VehicleId::new(i64::MAX)),
        };
        Ok(Some(
            self.held_listings().builds.get(&business).copied().unwrap_or(never),
        ))
    }

    async fn save_build(&mut self, business: BusinessId, build: Build) -> StoreResult<()> {
        self.held_listings().builds.insert(business, build);
        Ok(())
    }
}

const NOW: Timestamp = Timestamp::from_epoch_seconds(1_790_000_000);

/// Returns an advert of the vehicle `id` with `facts` as its values.
fn an_advert(id: i64, hash: &str, facts: &Value) -> Advert {
    let Value::Object(content) = json!({
        "id": id,
        "data": {
            "vehicle": {
                "make": facts["make"], "model": "Šta_ & \"co\"", "fuel": facts["fuel"], "mileage": facts["mileage"],
                "transmission": null, "body": "Estate", "colour": "Red",
            },
            "history": {"year": facts["year"]},
            "stock": {"price_website": facts["price"]},
        },
    }) else {
        panic!("it is an object")
    };
    Advert {
        vehicle: VehicleId::new(id),
        hash: hash.to_owned(),
        content,
        expires: facts["expires"].as_i64().map(Timestamp::from_epoch_seconds),
        ready: ReadyFor::from_bits(
            facts["ready"]
                .as_u64()
                .and_then(|bits| bits.try_into().ok())
                .unwrap_or_default(),
        ),
    }
}

/// Checks what every [`ListingStore`] promises. The two businesses must have no listings in it.
///
/// # Panics
/// If the store breaks its contract.
pub async fn listing_store_contract(store: &mut dyn ListingStore, ours: BusinessId, theirs: BusinessId) {
    keeps_what_is_saved(store, ours, theirs).await;
    lists_what_passes(store, ours, theirs).await;
    goes_on_with_a_build(store, ours).await;
    numbers_what_changes(store, theirs).await;
    knows_what_feeds_need(store, theirs).await;
}

async fn keeps_what_is_saved(store: &mut dyn ListingStore, ours: BusinessId, theirs: BusinessId) {
    let (id, now) = (VehicleId::new(7), NOW);
    let revision = async |store: &mut dyn ListingStore| {
        let state = store.manifest_state(ours, NOW).await.expect("it is read");
        assert_eq!(state.overdue, 0);
        state.revision
    };
    let before = revision(store).await;
    let advert = an_advert(7, "h1", &json!({"make": "Ford", "expires": now.epoch_seconds() + 10}));
    store.save_listing(ours, &advert, now).await.expect("it is saved");
    let listing = store
        .listing(ours, id, now)
        .await
        .expect("it is read")
        .expect("it is there");
    assert_eq!((listing.id, listing.updated, listing.hash.as_str()), (id, now, "h1"));
    assert_eq!(listing.json, advert.to_json(now));
    assert_eq!(
        store.listing(theirs, id, now).await.expect("it is read"),
        None,
        "businesses are apart"
    );
    let first = revision(store).await;
    assert!(first > before);
    let later = now.plus_seconds(5);
    let changed = an_advert(7, "h2", &json!({"make": "Kia", "expires": now.epoch_seconds() + 20}));
    store.save_listing(ours, &changed, later).await.expect("it is saved");
    let listed = store.listed(ours, id).await.expect("it is read").expect("it is there");
    assert_eq!(
        (listed.hash.as_str(), listed.updated, listed.expires),
        ("h2", later, changed.expires)
    );
    let second = revision(store).await;
    assert!(second > first);
    // An expired listing is stored until it is removed, but no reader gets it.
    let over = now.plus_seconds(20);
    assert_eq!(store.listing(ours, id, over).await.expect("it is read"), None);
    assert!(store.listed(ours, id).await.expect("it is read").is_some());
    let state = store.manifest_state(ours, over).await.expect("it is read");
    let expected = ManifestState {
        revision: second,
        overdue: 1,
    };
    assert_eq!(state, expected, "what is shown is not the same any more");
    assert!(
        store
            .manifest(ours, VehicleId::new(0), over, 9)
            .await
            .expect("it is read")
            .is_empty()
    );
    let due = DueExpiry {
        business: ours,
        vehicle: id,
    };
    assert_eq!(store.due_expiries(over, 9).await.expect("they are found"), [due]);
    assert!(
        store
            .due_expiries(over.plus_seconds(-1), 9)
            .await
            .expect("they are found")
            .is_empty()
    );
    for business in [theirs, ours] {
        let removed = store.remove_listing(business, id, over, RemovalReason::Sold).await;
        removed.expect("it is removed where it is");
    }
    assert_eq!(store.listed(ours, id).await.expect("it is read"), None);
    assert!(revision(store).await > second);
}

async fn lists_what_passes(store: &mut dyn ListingStore, ours: BusinessId, theirs: BusinessId) {
    let stored = [
        (
            4,
            0,
            json!({"make": "Ford", "fuel": "Petrol", "year": 2019, "mileage": 0, "price": "9995.00"}),
        ),
        (
            2,
            0,
            json!({"make": "FORD", "fuel": "Diesel", "year": 2020, "mileage": 41_000, "price": "10000.50"}),
        ),
        (
            3,
            1,
            json!({"make": "Kia", "fuel": null, "year": null, "mileage": null, "price": null}),
        ),
        (
            9,
            2,
            json!({"make": "Kia", "year": 2020, "expires": NOW.epoch_seconds() + 1}),
        ),
        (
            1,
            3,
            json!({"make": "Kia", "year": 2021, "expires": NOW.epoch_seconds()}),
        ),
    ];
    for (id, seconds, facts) in &stored {
        let advert = an_advert(*id, &format!("h{id}"), facts);
        store
            .save_listing(ours, &advert, NOW.plus_seconds(*seconds))
            .await
            .expect("it is saved");
    }
    store
        .save_listing(theirs, &an_advert(5, "h5", &json!({"make": "Ford"})), NOW)
        .await
        .expect("it is saved");
    let all = ListingFilter::default;
    let text = |text: &str| TextFilter::parse(text).ok();
    let range = |from, to| Some(Range { from, to });
    let at = |seconds| Some(NOW.plus_seconds(seconds));
    let cases = [
        (all(), vec![2, 4, 3, 9]),
        (
            ListingFilter {
                make: text("ford"),
                ..all()
            },
            vec![2, 4],
        ),
        (
            ListingFilter {
                make: text("%or%d%"),
                ..all()
            },
            vec![2, 4],
        ),
        (
            ListingFilter {
                model: text("šta_%co%"),
                ..all()
            },
            vec![2, 4, 3, 9],
        ),
        (
            ListingFilter {
                model: text("štax%"),
                ..all()
            },
            vec![],
        ),
        (
            ListingFilter {
                fuel: text("%sel"),
                ..all()
            },
            vec![2],
        ),
        (
            ListingFilter {
                body: text("estate"),
                colour: text("red"),
                ..all()
            },
            vec![2, 4, 3, 9],
        ),
        (
            ListingFilter {
                transmission: text("manual"),
                ..all()
            },
            vec![],
        ),
        (
            ListingFilter {
                year: range(Some(2020), None),
                ..all()
            },
            vec![2, 9],
        ),
        (
            ListingFilter {
                year: range(Some(2019), Some(2019)),
                ..all()
            },
            vec![4],
        ),
        (
            ListingFilter {
                mileage: range(None, Some(41_000)),
                ..all()
            },
            vec![2, 4],
        ),
        (
            ListingFilter {
                price: range(Some(1_000_001), None),
                ..all()
            },
            vec![2],
        ),
        (
            ListingFilter {
                price: range(None, None),
                ..all()
            },
            vec![2, 4],
        ),
        (
            ListingFilter {
                updated_since: at(1),
                ..all()
            },
            vec![3, 9],
        ),
        (
            ListingFilter {
                updated_since: at(0),
                updated_before: at(1),
                ..all()
            },
            vec![2, 4],
        ),
    ];
    for (filter, expected) in cases {
        let page = store
            .listings(ours, &filter, NOW, &PageRequest::first())
            .await
            .expect("it is listed");
        let ids: Vec<i64> = page.items.iter().map(|listing| listing.id.get()).collect();
        assert_eq!(ids, expected, "{filter:?}");
        assert_eq!((page.total, page.next), (i64::try_from(expected.len()).ok(), None));
        let mut position = Position::After(Cursor::at([i64::MIN, i64::MIN]));
        let mut walked = Vec::new();
        loop {
            let request = PageRequest { position, per_page: 1 };
            let page = store
                .listings(ours, &filter, NOW, &request)
                .await
                .expect("it is listed");
            walked.extend(page.items.iter().map(|listing| listing.id.get()));
            match page.next {
                Some(cursor) => position = Position::After(cursor),
                None => break,
            }
        }
        assert_eq!(walked, expected, "{filter:?}");
    }
    let second = PageRequest {
        position: Position::Number(2),
        per_page: 3,
    };
    let page = store.listings(ours, &all(), NOW, &second).await.expect("it is listed");
    assert_eq!((page.items.len(), page.total), (1, Some(4)));
    let manifest = store
        .manifest(ours, VehicleId::new(2), NOW, 2)
        .await
        .expect("it is read");
    let entry = |id: i64, seconds| ManifestEntry {
        id: VehicleId::new(id),
        updated: NOW.plus_seconds(seconds),
        hash: format!("h{id}"),
    };
    assert_eq!(manifest, [entry(3, 1), entry(4, 0)]);
    let state = store.manifest_state(ours, NOW).await.expect("it is read");
    assert_eq!(state.overdue, 1);
}

async fn goes_on_with_a_build(store: &mut dyn ListingStore, ours: BusinessId) {
    let build = store
        .lock_build(ours)
        .await
        .expect("it is locked")
        .expect("nobody else does it");
    assert_eq!(build.below, Some(VehicleId::new(i64::MAX)), "nothing was looked at yet");
    for below in [Some(VehicleId::new(12)), None] {
        let build = Build { of: NOW, below };
        store.save_build(ours, build).await.expect("it is saved");
        assert_eq!(store.lock_build(ours).await.expect("it is locked"), Some(build));
    }
}

async fn numbers_what_changes(store: &mut dyn ListingStore, business: BusinessId) {
    let old = store
        .stored_listings(business, VehicleId::new(0), 99)
        .await
        .expect("they are read");
    for id in old {
        let removed = store.remove_listing(business, id, NOW, RemovalReason::Deleted).await;
        removed.expect("it is removed");
    }
    let start = store.manifest_state(business, NOW).await.expect("it is read").revision;
    let forgotten = store
        .purge_removals(NOW.plus_seconds(50), 99)
        .await
        .expect("they are forgotten");
    assert!(forgotten >= 1);
    assert_eq!(store.removals_kept_since(business).await.expect("it is read"), start);

    let at = |seconds| NOW.plus_seconds(seconds);
    for (seconds, id) in [(1, 31), (2, 32), (3, 33)] {
        let advert = an_advert(id, "h", &json!({"make": "Ford"}));
        store
            .save_listing(business, &advert, at(seconds))
            .await
            .expect("it is saved");
    }
    let expiring = an_advert(34, "h", &json!({"expires": at(9).epoch_seconds()}));
    store
        .save_listing(business, &expiring, at(4))
        .await
        .expect("it is saved");
    let (gone, back) = (VehicleId::new(32), VehicleId::new(33));
    for (id, reason) in [(gone, RemovalReason::Unpublished), (back, RemovalReason::Status)] {
        store
            .remove_listing(business, id, at(5), reason)
            .await
            .expect("it is removed");
    }
    let advert = an_advert(33, "h", &json!({"make": "Kia"}));
    store.save_listing(business, &advert, at(6)).await.expect("it is saved");

    let all = ChangeRange {
        after: start,
        up_to: i64::MAX,
        with_removals: true,
    };
    let mut read = async |range: ChangeRange, now, limit| {
        let changes = store
            .listing_changes(business, range, now, limit)
            .await
            .expect("they are read");
        let each = |change: Change| match change.to {
            ChangedTo::Listed(listing) => (change.sequence - start, listing.id.get(), listing.json),
            ChangedTo::Removed { id, at, reason } => {
                let text = format!("{} {}", reason.as_str(), at.epoch_seconds() - NOW.epoch_seconds());
                (change.sequence - start, id.get(), text)
            }
        };
        changes.into_iter().map(each).collect::<Vec<_>>()
    };
    let listed = |id: i64, make: &str, seconds| an_advert(id, "h", &json!({"make": make})).to_json(at(seconds));
    let first = (1, 31, listed(31, "Ford", 1));
    let second = (4, 34, expiring.to_json(at(4)));
    let third = (5, 32, "unpublished 5".to_owned());
    let last = (7, 33, listed(33, "Kia", 6));
    let everything = [first.clone(), second.clone(), third.clone(), last.clone()];
    assert_eq!(read(all, at(8), 9).await, everything, "the latest of each, in order");
    assert_eq!(read(all, at(8), 2).await, everything[..2]);
    let range = |after, up_to| ChangeRange {
        after: start + after,
        up_to: start + up_to,
        with_removals: true,
    };
    assert_eq!(read(range(4, 6), at(8), 9).await, std::slice::from_ref(&third));
    let without = ChangeRange {
        with_removals: false,
        ..all
    };
    assert_eq!(read(without, at(8), 9).await, [first.clone(), second, last.clone()]);
    assert_eq!(read(all, at(9), 9).await, [first, third, last], "one has expired");

    let forgotten = store.purge_removals(at(99), 9).await.expect("they are forgotten");
    assert_eq!(forgotten, 0, "a listing has not changed for longer");
    let id = VehicleId::new(31);
    store
        .remove_listing(business, id, at(7), RemovalReason::Sold)
        .await
        .expect("it is removed");
    store
        .remove_listing(business, expiring.vehicle, at(7), RemovalReason::Sold)
        .await
        .expect("it is removed");
    let forgotten = store.purge_removals(at(7), 9).await.expect("they are forgotten");
    assert_eq!(forgotten, 1, "the others are not old enough, or newer than a listing");
    let since = store.removals_kept_since(business).await.expect("it is read");
    assert_eq!(since - start, 5);
}

async fn knows_what_feeds_need(store: &mut dyn ListingStore, business: BusinessId) {
    let old = store
        .stored_listings(business, VehicleId::new(0), 99)
        .await
        .expect("they are read");
    assert_eq!(
        store
            .stored_listings(business, old[0], 99)
            .await
            .expect("they are read"),
        old[1..]
    );
    for id in old {
        let removed = store.remove_listing(business, id, NOW, RemovalReason::Deleted).await;
        removed.expect("it is removed");
    }
    let (one, other) = (Feed::ALL[0], Feed::ALL[1]);
    let over = NOW.epoch_seconds();
    let adverts = [
        an_advert(43, "h", &json!({"ready": 0b01})),
        an_advert(41, "h", &json!({"ready": 0b11})),
        an_advert(42, "h", &json!({"ready": 0b00})),
        an_advert(44, "h", &json!({"ready": 0b11, "expires": over})),
    ];
    for advert in &adverts {
        store.save_listing(business, advert, NOW).await.expect("it is saved");
        let listed = store.listed(business, advert.vehicle).await.expect("it is read");
        assert_eq!(listed.map(|listed| listed.ready), Some(advert.ready));
    }
    let mut counts = store.ready_counts(business, NOW).await.expect("they are read");
    counts.sort_by_key(|count| count.ready.bits());
    let counts: Vec<_> = counts
        .iter()
        .map(|count| (count.ready.bits(), count.listings))
        .collect();
    assert_eq!(counts, [(0b00, 1), (0b01, 1), (0b11, 1)]);
    let ids = |ids: &[i64]| ids.iter().copied().map(VehicleId::new).collect::<Vec<_>>();
    for (feed, expected) in [(one, ids(&[41, 43])), (other, ids(&[41]))] {
        assert_eq!(
            store.ready_listings(business, feed, NOW).await.expect("they are read"),
            expected
        );
    }
    let some = ids(&[44, 43, 42, 7]);
    let read = store.listings_of(business, &some, NOW).await.expect("they are read");
    let found: Vec<_> = read.iter().map(|listing| listing.id).collect();
    assert_eq!(found, ids(&[42, 43]));
    let stored = store
        .stored_listing(business, VehicleId::new(41))
        .await
        .expect("it is read")
        .expect("it is there");
    let expected = StoredListing {
        listing: read_as(&adverts[1]),
        expires: None,
        ready: adverts[1].ready,
        facts: adverts[1].facts(),
    };
    assert_eq!(stored, expected);
}

/// Returns the listing of an advert that last changed at [`NOW`].
fn read_as(advert: &Advert) -> Listing {
    Listing {
        id: advert.vehicle,
        updated: NOW,
        hash: advert.hash.clone(),
        json: advert.to_json(NOW),
    }
}
