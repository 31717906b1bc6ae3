//! A store of a team's own, which the crate does not know and which passes its contract suite.
//!
//! This one is a folder of sheets, one for each business, with a line of JSON for each review. A real store is a database. It
//! implements the same traits and is tested in the same way.

use std::collections::BTreeMap;

use async_trait::async_trait;
use forecourt_accounts::{Business, Caller};
use forecourt_kernel::{
    BusinessId, EventLog, NewEvent, Page, PageRequest, Position, ScopeSet, StoreError, StoreResult, Timestamp, Valid,
    Version, testing::FixedClock,
};
use forecourt_reviews::{
    Review, ReviewChanges, ReviewContent, ReviewFilter, ReviewId, ReviewReader, ReviewStore, create_review,
    list_reviews,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A line of a sheet, as JSON.
#[derive(Serialize, Deserialize)]
struct Line {
    id: i64,
    version: i64,
    created: i64,
    updated: i64,
    content: ReviewContent,
    data: Map<String, Value>,
}

impl From<&Review> for Line {
    fn from(review: &Review) -> Self {
        Self {
            id: review.id.get(),
            version: review.version.number(),
            created: review.created.epoch_seconds(),
            updated: review.updated.epoch_seconds(),
            content: review.content.clone(),
            data: review.data.clone(),
        }
    }
}

impl From<Line> for Review {
    fn from(line: Line) -> Self {
        Self {
            id: ReviewId::new(line.id),
            version: Version::new(line.version),
            created: Timestamp::from_epoch_seconds(line.created),
            updated: Timestamp::from_epoch_seconds(line.updated),
            content: line.content,
            data: line.data,
        }
    }
}

/// The folder.
#[derive(Default)]
struct Sheets {
    sheets: BTreeMap<i64, String>,
    last_id: i64,
    events: Vec<NewEvent>,
}

fn broken(failure: serde_json::Error) -> StoreError {
    StoreError::Other(failure.into())
}

impl Sheets {
    /// Returns the reviews of a business, oldest first.
    fn read(&self, business: BusinessId) -> StoreResult<Vec<Review>> {
        let sheet = self.sheets.get(&business.get()).map_or("", String::as_str);
        let lines = sheet.lines().map(serde_json::from_str::<Line>);
        lines.map(|line| line.map(Review::from).map_err(broken)).collect()
    }

    fn write(&mut self, business: BusinessId, reviews: &[Review]) -> StoreResult<()> {
        let mut sheet = String::new();
        for review in reviews {
            sheet += &serde_json::to_string(&Line::from(review)).map_err(broken)?;
            sheet.push('\n');
        }
        self.sheets.insert(business.get(), sheet);
        Ok(())
    }
}

fn passes(review: &Review, filter: &ReviewFilter) -> bool {
    // Destructured, so that a new filter of the crate does not compile until it is handled here.
    let ReviewFilter {
        status,
        source,
        verified,
        created,
        updated,
    } = filter;
    let content = &review.content;
    status.is_none_or(|status| status == content.status)
        && source.as_ref().is_none_or(|source| source.matches(&content.source))
        && verified.is_none_or(|verified| verified == content.verified)
        && created.is_none_or(|range| range.contains(&review.created))
        && updated.is_none_or(|range| range.contains(&review.updated))
}

#[async_trait]
impl ReviewReader for Sheets {
    async fn review(&mut self, business: BusinessId, id: ReviewId) -> StoreResult<Option<Review>> {
        let reviews = self.read(business)?;
        Ok(reviews.into_iter().find(|review| review.id == id))
    }

    async fn reviews(
        &mut self,
        business: BusinessId,
        filter: &ReviewFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Review>> {
        let mut passing = self.read(business)?;
        passing.retain(|review| passes(review, filter));
        passing.reverse();
        let total = page.offset().and(i64::try_from(passing.len()).ok());
        let before = match &page.position {
            Position::Number(_) => i64::MAX,
            Position::After(cursor) => cursor.id(),
        };
        let skipped = usize::try_from(page.offset().unwrap_or_default()).unwrap_or(usize::MAX);
        let wanted = usize::try_from(page.wanted()).unwrap_or(usize::MAX);
        let behind = passing.into_iter().filter(|review| review.id.get() < before);
        let found = behind.skip(skipped).take(wanted).collect();
        Ok(Page::of(found, page, total, |review| review.id.get()))
    }
}

#[async_trait]
impl ReviewStore for Sheets {
    async fn lock_review(&mut self, business: BusinessId, id: ReviewId) -> StoreResult<Option<Review>> {
        // A folder has one user at a time.
        self.review(business, id).await
    }

    async fn insert_review(
        &mut self,
        business: BusinessId,
        content: ReviewContent,
        data: Map<String, Value>,
        at: Timestamp,
    ) -> StoreResult<Review> {
        self.last_id += 1;
        let review = Review {
            id: ReviewId::new(self.last_id),
            version: Version::FIRST,
            created: at,
            updated: at,
            content,
            data,
        };
        let mut reviews = self.read(business)?;
        reviews.push(review.clone());
        self.write(business, &reviews)?;
        Ok(review)
    }

    async fn save_review(&mut self, business: BusinessId, review: &Review) -> StoreResult<()> {
        let mut reviews = self.read(business)?;
        for stored in reviews.iter_mut().filter(|stored| stored.id == review.id) {
            *stored = review.clone();
        }
        self.write(business, &reviews)
    }

    async fn delete_review(&mut self, business: BusinessId, id: ReviewId) -> StoreResult<()> {
        let mut reviews = self.read(business)?;
        reviews.retain(|review| review.id != id);
        self.write(business, &reviews)
    }
}

#[async_trait]
impl EventLog for Sheets {
    async fn record(&mut self, _: BusinessId, event: NewEvent) -> StoreResult<()> {
        self.events.push(event);
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let by = Caller::of(Business::new(BusinessId::new(1), "acme", "Acme Cars"), ScopeSet::all());
    let clock = FixedClock::at(Timestamp::from_epoch_seconds(1_767_225_600));
    let mut store = Sheets::default();
    let said = serde_json::from_str(r#"{"name": "Ann Lee", "rating": 4.5}"#)?;
    create_review(&mut store, &clock, &by, Valid::new(said, ReviewChanges::faults)?).await?;
    let listed = list_reviews(&mut store, &by, &ReviewFilter::default(), &PageRequest::first()).await?;
    assert_eq!((listed.total, store.events.len()), (Some(1), 1));
    Ok(())
}

/// The contract test. Run it with `cargo test --example own_storage`.
#[tokio::test]
async fn it_keeps_the_contract() {
    use forecourt_reviews::testing::review_store_contract;

    review_store_contract(&mut Sheets::default(), BusinessId::new(1), BusinessId::new(2)).await;
}
