//! A store in memory, and the contract suite for stores of reviews.

#![expect(clippy::expect_used, clippy::panic, reason = "this is for tests, which fail so")]

use std::collections::BTreeMap;

use async_trait::async_trait;
use forecourt_kernel::testing::{WithEvents, assert_pages, page_of};
use forecourt_kernel::{
    BusinessId, EventLog, Page, PageRequest, Range, StoreResult, TextFilter, Timestamp, Version, fold,
};
use serde_json::{Map, Value, json};

use crate::{
    NamedReviewReader, Review, ReviewContent, ReviewFilter, ReviewId, ReviewReader, ReviewStatus, ReviewStore, Stars,
};

/// Reviews in memory, by their ids.
#[derive(Clone, Debug, Default)]
pub struct MemoryReviews(BTreeMap<ReviewId, (BusinessId, Review)>);

impl MemoryReviews {
    /// The reviews of all businesses, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Review> {
        self.0.values().map(|(_, review)| review)
    }
}

/// A type that keeps reviews in memory, perhaps with other records, and so implements [`ReviewStore`].
pub trait HoldsReviews: Send {
    /// The reviews.
    fn held_reviews(&mut self) -> &mut MemoryReviews;
}

impl HoldsReviews for WithEvents<MemoryReviews> {
    fn held_reviews(&mut self) -> &mut MemoryReviews {
        &mut self.records
    }
}

#[async_trait]
impl<S: HoldsReviews> ReviewReader for S {
    async fn review(&mut self, business: BusinessId, id: ReviewId) -> StoreResult<Option<Review>> {
        let stored = self.held_reviews().0.get(&id).filter(|(owner, _)| *owner == business);
        Ok(stored.map(|(_, review)| review.clone()))
    }

    async fn reviews(
        &mut self,
        business: BusinessId,
        filter: &ReviewFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Review>> {
        let newest_first = self.held_reviews().0.values().rev();
        let passing = newest_first.filter(|(owner, review)| *owner == business && filter.matches(review));
        Ok(page_of(passing.map(|(_, review)| review), page, |review| {
            review.id.get()
        }))
    }
}

#[async_trait]
impl<S: HoldsReviews> NamedReviewReader for S {
    async fn reviews_by(&mut self, business: BusinessId, name: &str, after: ReviewId) -> StoreResult<Vec<Review>> {
        let held = self.held_reviews().0.values();
        let own = held.filter(|(owner, review)| *owner == business && review.id > after);
        let named = own.filter(|(_, review)| !name.is_empty() && fold(&review.content.name) == fold(name));
        Ok(named.map(|(_, review)| review.clone()).collect())
    }
}

#[async_trait]
impl<S: HoldsReviews + EventLog> ReviewStore for S {
    async fn lock_review(&mut self, business: BusinessId, id: ReviewId) -> StoreResult<Option<Review>> {
        self.review(business, id).await
    }

    async fn insert_review(
        &mut self,
        business: BusinessId,
        content: ReviewContent,
        data: Map<String, Value>,
        at: Timestamp,
    ) -> StoreResult<Review> {
        let reviews = &mut self.held_reviews().0;
        let last = reviews.last_key_value().map_or(0, |(id, _)| id.get());
        let review = Review {
            id: ReviewId::new(last + 1),
            version: Version::FIRST,
            created: at,
            updated: at,
            content,
            data,
        };
        reviews.insert(review.id, (business, review.clone()));
        Ok(review)
    }

    async fn save_review(&mut self, business: BusinessId, review: &Review) -> StoreResult<()> {
        self.held_reviews().0.insert(review.id, (business, review.clone()));
        Ok(())
    }

    async fn delete_review(&mut self, business: BusinessId, id: ReviewId) -> StoreResult<()> {
        let reviews = &mut self.held_reviews().0;
        if reviews.get(&id).is_some_and(|(owner, _)| *owner == business) {
            reviews.remove(&id);
        }
        Ok(())
    }
}

/// A review with this many stars.
pub fn a_review(stars: f64) -> ReviewContent {
    let today = Timestamp::from_epoch_seconds(1_790_000_000).date();
    ReviewContent {
        rating: Stars::new(stars),
        name: "Zoë Šimić".to_owned().try_into().expect("it is short"),
        review: "Five minutes, and the \"paperwork\" was done.\n\u{1f697}"
            .to_owned()
            .try_into()
            .expect("it is short"),
        source: "AutoTrader".to_owned().try_into().expect("it is short"),
        verified: true,
        ..ReviewContent::blank(today)
    }
}

/// Tests that `store` meets the contract of a store of reviews. The two businesses must have no reviews.
///
/// # Panics
/// If the store violates the contract.
pub async fn review_store_contract(store: &mut dyn ReviewStore, ours: BusinessId, theirs: BusinessId) {
    keeps_every_field(store, ours, theirs).await;
    lists_what_passes(store, ours, theirs).await;
}

async fn keeps_every_field(store: &mut dyn ReviewStore, ours: BusinessId, theirs: BusinessId) {
    let at = Timestamp::from_epoch_seconds(1_790_000_000);
    let Value::Object(data) = json!({"url": "https://reviews.example/1", "likes": 3}) else {
        panic!("it is an object")
    };
    let review = store
        .insert_review(ours, a_review(4.5), data.clone(), at)
        .await
        .expect("it is stored");
    let expected = Review {
        id: review.id,
        version: Version::FIRST,
        created: at,
        updated: at,
        content: a_review(4.5),
        data,
    };
    assert_eq!(review, expected);
    assert_eq!(
        store.review(ours, review.id).await.expect("it is read"),
        Some(expected.clone())
    );
    assert_eq!(
        store.lock_review(ours, review.id).await.expect("it is locked"),
        Some(expected)
    );
    for nothing in [
        store.review(theirs, review.id).await,
        store.lock_review(theirs, review.id).await,
    ] {
        assert_eq!(nothing.expect("there is none"), None, "businesses are apart");
    }
    let changed = Review {
        version: review.version.next(),
        updated: at.plus_seconds(9),
        content: ReviewContent {
            rating: None,
            date: None,
            status: ReviewStatus::Pending,
            ..ReviewContent::blank(at.date())
        },
        ..review
    };
    store.save_review(ours, &changed).await.expect("it is saved");
    assert_eq!(
        store.review(ours, changed.id).await.expect("it is read"),
        Some(changed.clone())
    );
    store
        .delete_review(theirs, changed.id)
        .await
        .expect("nothing is deleted");
    assert!(store.review(ours, changed.id).await.expect("it is read").is_some());
    store.delete_review(ours, changed.id).await.expect("it is deleted");
    assert_eq!(store.review(ours, changed.id).await.expect("it is gone"), None);
}

async fn lists_what_passes(store: &mut dyn ReviewStore, ours: BusinessId, theirs: BusinessId) {
    let at = Timestamp::from_epoch_seconds(1_790_000_000);
    let mut stored = Vec::new();
    for (number, source) in ["Google", "google", "AutoTrader", "Auto_Trader", "Facebook", ""]
        .into_iter()
        .enumerate()
    {
        let content = ReviewContent {
            source: source.to_owned().try_into().expect("it is short"),
            verified: number % 2 == 0,
            status: if number < 2 {
                ReviewStatus::Pending
            } else {
                ReviewStatus::Approved
            },
            ..a_review(3.0)
        };
        let at = at.plus_seconds(i64::try_from(number).unwrap_or_default());
        stored.push(
            store
                .insert_review(ours, content, Map::new(), at)
                .await
                .expect("it is stored"),
        );
    }
    store
        .insert_review(theirs, a_review(1.0), Map::new(), at)
        .await
        .expect("it is stored");
    let text = |text: &str| TextFilter::parse(text).ok();
    let lately = Some(Range {
        from: Some(at.plus_seconds(2)),
        to: Some(at.plus_seconds(3)),
    });
    let cases = [
        (ReviewFilter::default(), vec![5, 4, 3, 2, 1, 0]),
        (
            ReviewFilter {
                status: Some(ReviewStatus::Pending),
                ..ReviewFilter::default()
            },
            vec![1, 0],
        ),
        (
            ReviewFilter {
                verified: Some(false),
                ..ReviewFilter::default()
            },
            vec![5, 3, 1],
        ),
        (
            ReviewFilter {
                source: text("GOOGLE"),
                ..ReviewFilter::default()
            },
            vec![1, 0],
        ),
        (
            ReviewFilter {
                source: text("auto%"),
                ..ReviewFilter::default()
            },
            vec![3, 2],
        ),
        (
            ReviewFilter {
                source: text("%o_t%"),
                ..ReviewFilter::default()
            },
            vec![3],
        ),
        (
            ReviewFilter {
                source: text("oog"),
                ..ReviewFilter::default()
            },
            vec![],
        ),
        (
            ReviewFilter {
                source: text("%oog%"),
                verified: Some(true),
                status: Some(ReviewStatus::Pending),
                ..ReviewFilter::default()
            },
            vec![0],
        ),
        (
            ReviewFilter {
                created: lately,
                ..ReviewFilter::default()
            },
            vec![3, 2],
        ),
        (
            ReviewFilter {
                updated: lately,
                ..ReviewFilter::default()
            },
            vec![3, 2],
        ),
    ];
    for (filter, expected) in cases {
        let expected: Vec<&Review> = expected.into_iter().map(|number: usize| &stored[number]).collect();
        let expected: Vec<Review> = expected.into_iter().cloned().collect();
        assert_pages(
            &expected,
            |review| review.id.get(),
            async |request| {
                let page = store.reviews(ours, &filter, &request).await;
                page.unwrap_or_else(|failure| panic!("{filter:?}: {failure}"))
            },
        )
        .await;
    }
}
