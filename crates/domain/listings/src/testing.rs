//! A store in memory, and what every store of listings must do.

#![expect(clippy::expect_used, clippy::panic, reason = "this is for tests, which fail so")]

use std::collections::BTreeMap;

use async_trait::async_trait;
use forecourt_kernel::{
    BusinessId, Cursor, Page, PageRequest, Position, Range, StoreResult, TextFilter, Timestamp, VehicleId,
};
use serde_json::{Value, json};

use crate::{
    Advert, AdvertFacts, Build, DueExpiry, Listed, Listing, ListingFilter, ListingReader, ListingStore, ManifestEntry,
    ManifestState,
};

/// Listings in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryListings {
    listings: BTreeMap<(BusinessId, VehicleId), (Advert, Timestamp)>,
    revisions: BTreeMap<BusinessId, i64>,
    builds: BTreeMap<BusinessId, Build>,
}

impl MemoryListings {
    fn of(&self, business: BusinessId, now: Timestamp) -> impl Iterator<Item = Listing> {
        let shown = self.listings.iter().filter(move |((owner, _), (advert, _))| {
            *owner == business && advert.expires.is_none_or(|expires| expires > now)
        });
        shown.map(|((_, id), (advert, updated))| Listing {
            id: *id,
            updated: *updated,
            hash: advert.hash.clone(),
            json: advert.to_json(*updated),
        })
    }
}

/// What keeps listings in memory, perhaps beside other records: it is a [`ListingStore`].
pub trait HoldsListings: Send {
    /// The listings.
    fn held_listings(&mut self) -> &mut MemoryListings;
}

impl ListingFilter {
    /// Whether an advert last changed at `updated` passes.
    pub fn matches(&self, facts: &AdvertFacts, updated: Timestamp) -> bool {
        let text = |filter: &Option<TextFilter>, text: &str| filter.as_ref().is_none_or(|filter| filter.matches(text));
        let number = |range: Option<Range<i64>>, number: Option<i64>| {
            let within = |Range { from, to }: Range<i64>| {
                number.is_some_and(|number| from.is_none_or(|from| number >= from) && to.is_none_or(|to| number <= to))
            };
            range.is_none_or(within)
        };
        text(&self.make, &facts.make)
            && text(&self.model, &facts.model)
            && text(&self.fuel, &facts.fuel)
            && text(&self.transmission, &facts.transmission)
            && text(&self.body, &facts.body)
            && text(&self.colour, &facts.colour)
            && number(self.year, facts.year)
            && number(self.mileage, facts.mileage)
            && number(self.price, facts.price)
            && self.updated_since.is_none_or(|since| updated >= since)
            && self.updated_before.is_none_or(|before| updated < before)
    }
}

#[async_trait]
impl<S: HoldsListings> ListingReader for S {
    async fn listing(&mut self, business: BusinessId, id: VehicleId, now: Timestamp) -> StoreResult<Option<Listing>> {
        Ok(self.held_listings().of(business, now).find(|listing| listing.id == id))
    }

    async fn listings(
        &mut self,
        business: BusinessId,
        filter: &ListingFilter,
        now: Timestamp,
        page: &PageRequest,
    ) -> StoreResult<Page<Listing>> {
        let held = self.held_listings();
        let passes = |listing: &Listing| {
            let advert = &held.listings[&(business, listing.id)].0;
            filter.matches(&advert.facts(), listing.updated)
        };
        let mut passing: Vec<Listing> = held.of(business, now).filter(passes).collect();
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
        let listings = self.held_listings().of(business, now);
        let entries = listings.filter(|listing| listing.id > after).take(limit as usize);
        Ok(entries
            .map(|Listing { id, updated, hash, .. }| ManifestEntry { id, updated, hash })
            .collect())
    }

    async fn manifest_state(&mut self, business: BusinessId, now: Timestamp) -> StoreResult<ManifestState> {
        let held = self.held_listings();
        let own = held.listings.iter().filter(|((owner, _), _)| *owner == business);
        let overdue = own.filter(|(_, (advert, _))| advert.expires.is_some_and(|expires| expires <= now));
        Ok(ManifestState {
            revision: held.revisions.get(&business).copied().unwrap_or_default(),
            overdue: i64::try_from(overdue.count()).unwrap_or(i64::MAX),
        })
    }
}

#[async_trait]
impl<S: HoldsListings> ListingStore for S {
    async fn listed(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Listed>> {
        let stored = self.held_listings().listings.get(&(business, id));
        Ok(stored.map(|(advert, updated)| Listed {
            hash: advert.hash.clone(),
            expires: advert.expires,
            updated: *updated,
        }))
    }

    async fn save_listing(&mut self, business: BusinessId, advert: &Advert, updated: Timestamp) -> StoreResult<()> {
        let held = self.held_listings();
        *held.revisions.entry(business).or_default() += 1;
        held.listings
            .insert((business, advert.vehicle), (advert.clone(), updated));
        Ok(())
    }

    async fn remove_listing(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<()> {
        let held = self.held_listings();
        if held.listings.remove(&(business, id)).is_some() {
            *held.revisions.entry(business).or_default() += 1;
        }
        Ok(())
    }

    async fn due_expiries(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueExpiry>> {
        let listings = self.held_listings().listings.iter();
        let mut due: Vec<_> = listings
            .filter_map(|((business, vehicle), (advert, _))| {
                let expires = advert.expires.filter(|expires| *expires <= now)?;
                let (business, vehicle) = (*business, *vehicle);
                Some((expires, DueExpiry { business, vehicle }))
            })
            .collect();
        due.sort_by_key(|(expires, _)| *expires);
        Ok(due.into_iter().map(|(_, due)| due).take(limit as usize).collect())
    }

    /// Nothing here knows of businesses.
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

/// The advert of a vehicle with that id, and `facts` of it.
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
    }
}

/// Holds `store`, in which the two businesses have no listings, to all that a store of listings must do.
///
/// # Panics
/// If it does not do it.
pub async fn listing_store_contract(store: &mut dyn ListingStore, ours: BusinessId, theirs: BusinessId) {
    keeps_what_is_saved(store, ours, theirs).await;
    lists_what_passes(store, ours, theirs).await;
    goes_on_with_a_build(store, ours).await;
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
    store.remove_listing(theirs, id).await.expect("nothing is removed");
    store.remove_listing(ours, id).await.expect("it is removed");
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
