//! The list of listings, and the background's searches in public records.

use forecourt_kernel::{Cursor, PageRequest, Position, Range, TextFilter, VehicleId};
use forecourt_listings::{ChangeRange, Feed, ListingFilter};
use forecourt_storage::Storage;

use super::{about, at, explain, listening, no_scan, overheard, served};
use crate::installation::{Installation, both_engines};

both_engines!(each_list_of_listings_has_an_index, what_is_due_has_an_index,);

/// Among so few rows PostgreSQL may take another index as well.
fn goes_by(installation: &Installation, index: &str, plans: &str, filter: &impl std::fmt::Debug) {
    let is_sqlite = matches!(installation.storage, Storage::Sqlite(_));
    assert!(
        plans.contains(index) || !is_sqlite,
        "{filter:?} does not go by {index}:\n{plans}"
    );
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
    for filter in [
        all(),
        ListingFilter { make: text(), ..all() },
        ListingFilter { model: text(), ..all() },
        ListingFilter { fuel: text(), ..all() },
        ListingFilter {
            transmission: text(),
            ..all()
        },
        ListingFilter { body: text(), ..all() },
        ListingFilter {
            colour: text(),
            ..all()
        },
        ListingFilter {
            make: TextFilter::parse("%for%").ok(),
            ..all()
        },
        ListingFilter { year: range, ..all() },
        ListingFilter {
            mileage: range,
            price: range,
            ..all()
        },
        ListingFilter {
            updated_since: Some(at(5)),
            updated_before: Some(at(9)),
            ..all()
        },
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
        goes_by(&installation, "listings_list", &plans, &filter);
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
