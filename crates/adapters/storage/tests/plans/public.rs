//! The lists of articles, reviews and listings, and the background's searches in them.

use forecourt_blogs::testing::an_article;
use forecourt_blogs::{ArticleFilter, ArticleStatus, Publication};
use forecourt_kernel::{Cursor, PageRequest, Position, Range, TextFilter, VehicleId};
use forecourt_listings::{ChangeRange, Feed, ListingFilter};
use forecourt_reviews::testing::a_review;
use forecourt_reviews::{ReviewFilter, ReviewStatus};
use forecourt_storage::Storage;
use serde_json::{Map, json};

use super::{about, at, explain, listening, no_scan, overheard, pages, served};
use crate::installation::{Installation, both_engines};

both_engines!(
    each_list_of_articles_has_an_index,
    each_list_of_reviews_has_an_index,
    each_list_of_listings_has_an_index,
    what_is_due_has_an_index,
);

/// Among so few rows PostgreSQL may take another index as well.
fn goes_by(installation: &Installation, index: &str, plans: &str, filter: &impl std::fmt::Debug) {
    let is_sqlite = matches!(installation.storage, Storage::Sqlite(_));
    assert!(
        plans.contains(index) || !is_sqlite,
        "{filter:?} does not go by {index}:\n{plans}"
    );
}

async fn each_list_of_articles_has_an_index(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    for number in 0..9 {
        let (head, body) = an_article(&format!("a-{number}"), json!({}));
        session
            .insert_article(business, head, body, Publication::default(), at(number))
            .await
            .unwrap();
    }
    session.commit().await.unwrap();
    let ArticleFilter {
        status: _,
        category: _,
        author: _,
        tag: _,
        url: _,
        created: _,
        updated: _,
    } = ArticleFilter::default();
    let all = ArticleFilter::default;
    let lately = Some(Range {
        from: Some(at(3)),
        to: Some(at(4)),
    });
    let text = |text: &str| TextFilter::parse(text).ok();
    for (filter, index) in [
        (all(), ""),
        (
            ArticleFilter {
                status: Some(ArticleStatus::Draft),
                ..all()
            },
            "articles_status",
        ),
        (
            ArticleFilter {
                status: Some(ArticleStatus::Published),
                ..all()
            },
            "articles_",
        ),
        (
            ArticleFilter {
                status: Some(ArticleStatus::Scheduled),
                ..all()
            },
            "articles_",
        ),
        (
            ArticleFilter {
                category: text("advice"),
                ..all()
            },
            "articles_category",
        ),
        (
            ArticleFilter {
                category: text("%dvi%"),
                ..all()
            },
            "",
        ),
        (
            ArticleFilter {
                author: text("sam hill"),
                ..all()
            },
            "articles_author",
        ),
        (
            ArticleFilter {
                tag: Some("mot".to_owned()),
                ..all()
            },
            "article_tags",
        ),
        (
            ArticleFilter {
                url: Some("a-1".to_owned()),
                ..all()
            },
            "articles_url",
        ),
        (
            ArticleFilter {
                created: lately,
                ..all()
            },
            "",
        ),
        (
            ArticleFilter {
                updated: lately,
                ..all()
            },
            "articles_updated",
        ),
    ] {
        let mut plans = String::new();
        for request in pages() {
            overheard();
            let mut reader = installation.read().await;
            reader.articles(business, &filter, at(9), &request).await.unwrap();
            reader.article_heads(business, &filter, at(9), &request).await.unwrap();
            drop(reader);
            plans += &served(&installation, &["articles", "article_tags"]).await;
        }
        goes_by(&installation, index, &plans, &filter);
    }
}

async fn each_list_of_reviews_has_an_index(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    for number in 0..9 {
        session
            .insert_review(business, a_review(4.0), Map::new(), at(number))
            .await
            .unwrap();
    }
    session.commit().await.unwrap();
    let ReviewFilter {
        status: _,
        source: _,
        verified: _,
        created: _,
        updated: _,
    } = ReviewFilter::default();
    let all = ReviewFilter::default;
    let lately = Some(Range {
        from: Some(at(3)),
        to: Some(at(4)),
    });
    for (filter, index) in [
        (all(), ""),
        (
            ReviewFilter {
                status: Some(ReviewStatus::Pending),
                ..all()
            },
            "reviews_status",
        ),
        (
            ReviewFilter {
                source: TextFilter::parse("google").ok(),
                ..all()
            },
            "reviews_source",
        ),
        (
            ReviewFilter {
                source: TextFilter::parse("%oog%").ok(),
                ..all()
            },
            "",
        ),
        (
            ReviewFilter {
                verified: Some(true),
                ..all()
            },
            "reviews_verified",
        ),
        (
            ReviewFilter {
                created: lately,
                ..all()
            },
            "",
        ),
        (
            ReviewFilter {
                updated: lately,
                ..all()
            },
            "reviews_updated",
        ),
    ] {
        let mut plans = String::new();
        for request in pages() {
            overheard();
            let mut reader = installation.read().await;
            reader.reviews(business, &filter, &request).await.unwrap();
            drop(reader);
            plans += &served(&installation, &["reviews"]).await;
        }
        goes_by(&installation, index, &plans, &filter);
    }
}

async fn each_list_of_listings_has_an_index(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let ListingFilter {
        make: _,
        model: _,
        fuel: _,
        transmission: _,
        body: _,
        colour: _,
        year: _,
        mileage: _,
        price: _,
        updated_since: _,
        updated_before: _,
    } = ListingFilter::default();
    let all = ListingFilter::default;
    let text = || TextFilter::parse("x").ok();
    let range = Some(Range {
        from: Some(1),
        to: Some(9),
    });
    for (filter, index) in [
        (all(), "listings_updated"),
        (ListingFilter { make: text(), ..all() }, "listings_make"),
        (ListingFilter { model: text(), ..all() }, "listings_model"),
        (ListingFilter { fuel: text(), ..all() }, "listings_fuel"),
        (
            ListingFilter {
                transmission: text(),
                ..all()
            },
            "listings_transmission",
        ),
        (ListingFilter { body: text(), ..all() }, "listings_body"),
        (
            ListingFilter {
                colour: text(),
                ..all()
            },
            "listings_colour",
        ),
        (
            ListingFilter {
                make: TextFilter::parse("%for%").ok(),
                ..all()
            },
            "listings_updated",
        ),
        (ListingFilter { year: range, ..all() }, "listings_updated"),
        (
            ListingFilter {
                mileage: range,
                ..all()
            },
            "listings_updated",
        ),
        (ListingFilter { price: range, ..all() }, "listings_updated"),
        (
            ListingFilter {
                updated_since: Some(at(5)),
                updated_before: Some(at(9)),
                ..all()
            },
            "listings_updated",
        ),
    ] {
        let mut plans = String::new();
        let by_cursor = PageRequest {
            position: Position::After(Cursor::at([7, 7])),
            per_page: 2,
        };
        for request in [PageRequest::first(), by_cursor] {
            overheard();
            let mut reader = installation.read().await;
            reader.listings(business, &filter, at(9), &request).await.unwrap();
            drop(reader);
            plans += &served(&installation, &["listings"]).await;
        }
        goes_by(&installation, index, &plans, &filter);
    }
    overheard();
    let mut reader = installation.read().await;
    reader.listing(business, VehicleId::new(1), at(9)).await.unwrap();
    reader.manifest(business, VehicleId::new(1), at(9), 9).await.unwrap();
    reader.manifest_state(business, at(9)).await.unwrap();
    drop(reader);
    served(&installation, &["listings", "counters"]).await;
    overheard();
    let mut reader = installation.read().await;
    let range = ChangeRange {
        after: 3,
        up_to: 9,
        with_removals: true,
    };
    reader.listing_changes(business, range, at(9), 9).await.unwrap();
    reader.removals_kept_since(business).await.unwrap();
    drop(reader);
    let tables = ["listings", "listing_removals", "listing_removals_kept"];
    let plans = served(&installation, &tables).await;
    goes_by(&installation, "listings_sequence", &plans, &range);
    goes_by(&installation, "listing_removals_sequence", &plans, &range);
    overheard();
    let mut reader = installation.read().await;
    reader.ready_counts(business, at(9)).await.unwrap();
    reader.ready_listings(business, Feed::ALL[0], at(9)).await.unwrap();
    reader.listings_of(business, &[VehicleId::new(1)], at(9)).await.unwrap();
    drop(reader);
    let plans = served(&installation, &["listings"]).await;
    goes_by(&installation, "listings_ready", &plans, &Feed::ALL[0]);
}

async fn what_is_due_has_an_index(installation: Installation) {
    let (installation, _) = listening(installation).await;
    let mut session = installation.begin().await;
    overheard();
    session.due_publications(at(9), 10).await.unwrap();
    session.due_expiries(at(9), 10).await.unwrap();
    session.purge_removals(at(9), 10).await.unwrap();
    session.commit().await.unwrap();
    let statements = about(&["articles", "listings", "listing_removals"]);
    assert_eq!(statements.len(), 3, "{statements:?}");
    for statement in statements {
        no_scan(&statement, &explain(&installation, &statement).await);
    }
}
