//! How long lists take among a million leads. Only a release build says something, and only alone:
//! `cargo test --release -p forecourt-storage --test stores -- --ignored --nocapture --test-threads 1 speed`.
//!
//! `FORECOURT_SPEED_LEADS` sets another number of leads. `FORECOURT_SPEED_SQLITE` and `FORECOURT_SPEED_POSTGRES` name a
//! database that is kept: the next run finds the leads there.

use std::env;
use std::time::Instant;

use forecourt_dealership::ReadSession;
use forecourt_kernel::{
    BusinessId, ContactId, Country, Cursor, PageRequest, Position, Range, SiteId, TextFilter, VehicleId,
};
use forecourt_leads::{LeadFilter, LeadStatus, Phone, Rating};
use forecourt_reference::LeadChannel;

use crate::crowd::{Crowd, SECONDS_BETWEEN};
use crate::installation::{Installation, on_postgres, on_sqlite};
use crate::samples::{a_car, at};

/// As many as a transaction of the program that loads samples has.
const BATCH: usize = 500;

/// How many vehicles a business has, besides the one that a tenth of its leads concern.
const MANY_CARS: i64 = 30_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn lists_on_sqlite() {
    match env::var("FORECOURT_SPEED_SQLITE") {
        Ok(url) => lists(Installation::new(url).await).await,
        Err(_) => on_sqlite(lists).await,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn lists_on_postgres() {
    match env::var("FORECOURT_SPEED_POSTGRES") {
        Ok(url) => lists(Installation::new(url).await).await,
        Err(_) => on_postgres(lists).await,
    }
}

fn wanted() -> usize {
    env::var("FORECOURT_SPEED_LEADS").map_or(1_000_000, |number| number.parse().unwrap())
}

async fn first_car(installation: &Installation, business: BusinessId) -> i64 {
    let query = format!("SELECT min(id) FROM vehicles WHERE business_id = {business}");
    installation.number(&query).await
}

async fn load(installation: &Installation, tag: &str, count: usize, rated: usize) -> BusinessId {
    let known = installation.read().await.business_by_tag(tag).await.unwrap();
    if let Some(business) = known {
        return business.id;
    }
    let business = installation.business(tag).await;
    let started = Instant::now();
    let mut crowd = Crowd::new(1, rated);
    let mut left = count;
    while left > 0 {
        let batch: Vec<_> = crowd.by_ref().take(BATCH.min(left)).collect();
        left -= batch.len();
        let mut session = installation.begin().await;
        session.load_leads(business, batch).await.unwrap();
        session.commit().await.unwrap();
    }
    let cars = vec![(a_car(), at(0)); usize::try_from(MANY_CARS).unwrap() + 1];
    let mut session = installation.begin().await;
    session.load_vehicles(business, cars).await.unwrap();
    session.commit().await.unwrap();
    let first = first_car(installation, business).await;
    // A third of them changed later, most of them soon. Half of them concern one of many vehicles, a tenth all the same one.
    installation
        .execute(&format!(
            "UPDATE leads SET updated = created + CASE WHEN id % 30 = 0 THEN 10000000 ELSE id * 7919 % 600000 END
                 WHERE business_id = {business} AND id % 3 = 0;
             INSERT INTO lead_vehicles (business_id, lead_id, vehicle_id, created)
                 SELECT business_id, id, {first} + id * 7919 % {MANY_CARS}, created FROM leads
                     WHERE business_id = {business} AND id % 2 = 0;
             INSERT INTO lead_vehicles (business_id, lead_id, vehicle_id, created)
                 SELECT business_id, id, {first} + {MANY_CARS}, created FROM leads
                     WHERE business_id = {business} AND id % 10 = 0;"
        ))
        .await;
    installation.settle().await;
    println!(
        "{count} leads loaded for {tag} in {:.1} s",
        started.elapsed().as_secs_f64()
    );
    business
}

async fn lists(installation: Installation) {
    let count = wanted();
    let large = load(&installation, "large", count, 90).await;
    load(&installation, "small", count / 10, 90).await;
    // A handful of a hundred thousand is rated.
    let unrated = load(&installation, "unrated", count / 10, 0).await;
    installation
        .execute(&format!(
            "UPDATE leads SET rating = 1 + reference % 5 WHERE business_id = {unrated} AND reference % 2500 = 7;"
        ))
        .await;
    println!(
        "{:<46} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "milliseconds for a page of 50", "counted", "again", "written", "cursor 0", "middle", "end", "total"
    );
    for (name, filter) in filters(i64::try_from(count).unwrap()) {
        report(&installation, large, name, &filter).await;
    }
    let first = first_car(&installation, large).await;
    for (name, number) in [("vehicle", 77), ("vehicle, of a tenth", MANY_CARS)] {
        let filter = LeadFilter {
            vehicle: Some(VehicleId::new(first + number)),
            ..LeadFilter::default()
        };
        report(&installation, large, name, &filter).await;
    }
    report(&installation, unrated, "rating_min 1, hardly any", &rated(1)).await;
    report(&installation, unrated, "rating_min 4, hardly any", &rated(4)).await;
    for (name, page) in [("page 100", 100), ("page 10,000", 10_000), ("page 19,999", 19_999)] {
        deep(&installation, large, name, &LeadFilter::default(), page).await;
    }
    let replied = LeadFilter {
        status: Some(LeadStatus::Replied),
        ..LeadFilter::default()
    };
    deep(&installation, large, "replied, page 3,000", &replied, 3_000).await;
}

fn rated(least: i64) -> LeadFilter {
    LeadFilter {
        rating_min: Rating::new(least),
        ..LeadFilter::default()
    }
}

/// One of each kind, common and rare, and some pairs.
fn filters(count: i64) -> Vec<(&'static str, LeadFilter)> {
    let end = count * SECONDS_BETWEEN;
    let all = LeadFilter::default;
    let phone = |text: &str| Phone::parse(text, Country::GB).ok();
    let pattern = |text: &str| Some(TextFilter::parse(text).unwrap());
    let range = |from: Option<i64>, to: Option<i64>| {
        Some(Range {
            from: from.map(at),
            to: to.map(at),
        })
    };
    let day = 86_400;
    vec![
        ("none", all()),
        (
            "site 0 (60 %)",
            LeadFilter {
                site: Some(SiteId::new(0)),
                ..all()
            },
        ),
        (
            "site 3 (1 %)",
            LeadFilter {
                site: Some(SiteId::new(3)),
                ..all()
            },
        ),
        (
            "status closed (61 %)",
            LeadFilter {
                status: Some(LeadStatus::Closed),
                ..all()
            },
        ),
        (
            "status replied (17 %)",
            LeadFilter {
                status: Some(LeadStatus::Replied),
                ..all()
            },
        ),
        (
            "status new_message (2 %)",
            LeadFilter {
                status: Some(LeadStatus::NewMessage),
                ..all()
            },
        ),
        (
            "channel website (45 %)",
            LeadFilter {
                channel: Some(LeadChannel::Website),
                ..all()
            },
        ),
        (
            "channel api (1 %)",
            LeadFilter {
                channel: Some(LeadChannel::Api),
                ..all()
            },
        ),
        (
            "channel sms (none)",
            LeadFilter {
                channel: Some(LeadChannel::Sms),
                ..all()
            },
        ),
        (
            "reference",
            LeadFilter {
                reference: Some(count / 2),
                ..all()
            },
        ),
        (
            "name",
            LeadFilter {
                name: pattern("Barbara Betonpa"),
                ..all()
            },
        ),
        (
            "name, some hundred",
            LeadFilter {
                name: pattern("Michael Laha"),
                ..all()
            },
        ),
        (
            "email",
            LeadFilter {
                email: pattern("David.Kaar706@btinternet.com"),
                ..all()
            },
        ),
        (
            "phone",
            LeadFilter {
                phone: phone("+441632000047"),
                ..all()
            },
        ),
        (
            "mobile",
            LeadFilter {
                mobile: phone("+447700000016"),
                ..all()
            },
        ),
        (
            "contact",
            LeadFilter {
                contact: Some(ContactId::new(77)),
                ..all()
            },
        ),
        ("rating_min 1 (90 %)", rated(1)),
        ("rating_min 4 (10 %)", rated(4)),
        ("rating_min 5 (1 %)", rated(5)),
        (
            "created, first half",
            LeadFilter {
                created: range(None, Some(end / 2)),
                ..all()
            },
        ),
        (
            "created, a day long ago",
            LeadFilter {
                created: range(Some(day), Some(2 * day)),
                ..all()
            },
        ),
        (
            "created, lately",
            LeadFilter {
                created: range(Some(end - day), None),
                ..all()
            },
        ),
        (
            "updated, first half",
            LeadFilter {
                updated: range(None, Some(end / 2)),
                ..all()
            },
        ),
        (
            "updated, a day long ago",
            LeadFilter {
                updated: range(Some(day), Some(2 * day)),
                ..all()
            },
        ),
        (
            "updated, lately",
            LeadFilter {
                updated: range(Some(end), None),
                ..all()
            },
        ),
        (
            "updated, the last hour",
            LeadFilter {
                updated: range(Some(end + 10_000_000 - 3600), None),
                ..all()
            },
        ),
        (
            "updated, all",
            LeadFilter {
                updated: range(Some(0), None),
                ..all()
            },
        ),
        (
            "updated, none",
            LeadFilter {
                updated: range(Some(end * 10), None),
                ..all()
            },
        ),
        (
            "name %james% (4 %)",
            LeadFilter {
                name: pattern("%james%"),
                ..all()
            },
        ),
        (
            "name %tonpa (0.5 %)",
            LeadFilter {
                name: pattern("%tonpa"),
                ..all()
            },
        ),
        (
            "name quetz% (20)",
            LeadFilter {
                name: pattern("quetz%"),
                ..all()
            },
        ),
        (
            "name %xyzzy% (none)",
            LeadFilter {
                name: pattern("%xyzzy%"),
                ..all()
            },
        ),
        (
            "name %s%a%m% (no trigram)",
            LeadFilter {
                name: pattern("%s%a%m%"),
                ..all()
            },
        ),
        (
            "name q%q%q (no trigram, none)",
            LeadFilter {
                name: pattern("q%q%q"),
                ..all()
            },
        ),
        (
            "email %@gmail.com (28 %)",
            LeadFilter {
                email: pattern("%@gmail.com"),
                ..all()
            },
        ),
        (
            "email zoë.laha7%",
            LeadFilter {
                email: pattern("zoë.laha7%"),
                ..all()
            },
        ),
        (
            "email %patricia.%55@outlook.com",
            LeadFilter {
                email: pattern("%patricia.%55@outlook.com"),
                ..all()
            },
        ),
        (
            "replied, site 3",
            LeadFilter {
                status: Some(LeadStatus::Replied),
                site: Some(SiteId::new(3)),
                ..all()
            },
        ),
        (
            "new, channel api",
            LeadFilter {
                status: Some(LeadStatus::New),
                channel: Some(LeadChannel::Api),
                ..all()
            },
        ),
        (
            "junk, rating_min 5",
            LeadFilter {
                status: Some(LeadStatus::Junk),
                ..rated(5)
            },
        ),
        (
            "closed, email",
            LeadFilter {
                status: Some(LeadStatus::Closed),
                email: pattern("David.Kaar706@btinternet.com"),
                ..all()
            },
        ),
        (
            "replied, created a day long ago",
            LeadFilter {
                status: Some(LeadStatus::Replied),
                created: range(Some(day), Some(2 * day)),
                ..all()
            },
        ),
        (
            "replied, updated lately",
            LeadFilter {
                status: Some(LeadStatus::Replied),
                updated: range(Some(end - day), None),
                ..all()
            },
        ),
        (
            "closed, name quetz%",
            LeadFilter {
                status: Some(LeadStatus::Closed),
                name: pattern("quetz%"),
                ..all()
            },
        ),
        (
            "name %james%, created long ago",
            LeadFilter {
                name: pattern("%james%"),
                created: range(None, Some(10 * day)),
                ..all()
            },
        ),
    ]
}

/// How long it takes, and what comes out.
async fn timed(
    reader: &mut dyn ReadSession,
    business: BusinessId,
    filter: &LeadFilter,
    position: Position,
) -> (f64, Option<i64>) {
    let request = PageRequest {
        position,
        per_page: PageRequest::DEFAULT_PER_PAGE,
    };
    let started = Instant::now();
    let page = reader.leads(business, filter, &request).await.unwrap();
    (started.elapsed().as_secs_f64() * 1000.0, page.total)
}

/// The best of some.
async fn best(reader: &mut dyn ReadSession, business: BusinessId, filter: &LeadFilter, position: Position) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..7 {
        best = best.min(timed(reader, business, filter, position.clone()).await.0);
    }
    best
}

/// The best of some, each after a lead was written.
async fn after_a_write(installation: &Installation, business: BusinessId, filter: &LeadFilter) -> f64 {
    let mut reader = installation.read().await;
    let newest = PageRequest {
        position: Position::After(Cursor::at([i64::MAX])),
        per_page: 1,
    };
    let page = reader.leads(business, &LeadFilter::default(), &newest).await.unwrap();
    let mut best = f64::MAX;
    for _ in 0..5 {
        let mut session = installation.begin().await;
        session.save_lead(business, &page.items[0]).await.unwrap();
        session.commit().await.unwrap();
        best = best.min(timed(reader.as_mut(), business, filter, Position::Number(1)).await.0);
    }
    best
}

async fn report(installation: &Installation, business: BusinessId, name: &str, filter: &LeadFilter) {
    let id_at = async |share: f64| {
        let query = format!(
            "SELECT min(id) + CAST((max(id) - min(id)) * {share} AS BIGINT) FROM leads WHERE business_id = {business}"
        );
        Position::After(Cursor::at([installation.number(&query).await]))
    };
    let (middle, end) = (id_at(0.5).await, id_at(0.01).await);
    let mut reader = installation.read().await;
    let reader = reader.as_mut();
    let (counted, total) = timed(reader, business, filter, Position::Number(1)).await;
    let again = best(reader, business, filter, Position::Number(1)).await;
    let written = after_a_write(installation, business, filter).await;
    let first = best(reader, business, filter, Position::After(Cursor::at([i64::MAX]))).await;
    let middle = best(reader, business, filter, middle).await;
    let end = best(reader, business, filter, end).await;
    println!(
        "{name:<46} {counted:9.2} {again:9.2} {written:9.2} {first:9.2} {middle:9.2} {end:9.2} {:9}",
        total.unwrap()
    );
}

async fn deep(installation: &Installation, business: BusinessId, name: &str, filter: &LeadFilter, page: u64) {
    let mut reader = installation.read().await;
    let again = best(reader.as_mut(), business, filter, Position::Number(page)).await;
    println!("{name:<46} {:>9} {again:9.2}", "");
}
