//! How long lists of vehicles take among a hundred thousand of one business. Only a release build says something, and only alone:
//! `cargo test --release -p forecourt-storage --test stores -- --ignored --nocapture --test-threads 1 vehicles_speed`.
//!
//! `FORECOURT_SPEED_VEHICLES` sets another number of vehicles.

use std::env;
use std::time::Instant;

use forecourt_kernel::{BusinessId, Cursor, PageRequest, Position, Range, StaffId, TextFilter};
use forecourt_reference::StockType;
use forecourt_vehicles::{FieldFilter, StatusChoice, VehicleFilter, VehicleStatus, Wanted};

use crate::fleet::{Fleet, SECONDS_BETWEEN};
use crate::installation::{Installation, on_postgres, on_sqlite};
use crate::samples::at;

/// As many as a transaction of the program that loads samples has.
const BATCH: usize = 500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn lists_on_sqlite() {
    on_sqlite(lists).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn lists_on_postgres() {
    on_postgres(lists).await;
}

async fn lists(installation: Installation) {
    let count: usize = env::var("FORECOURT_SPEED_VEHICLES").map_or(100_000, |number| number.parse().unwrap());
    let business = installation.business("acme").await;
    let mut fleet = Fleet::new(1);
    let mut loading = 0.0;
    let mut left = count;
    while left > 0 {
        let batch: Vec<_> = fleet.by_ref().take(BATCH.min(left)).collect();
        left -= batch.len();
        let started = Instant::now();
        let mut session = installation.begin().await;
        session.load_vehicles(business, batch).await.unwrap();
        session.commit().await.unwrap();
        loading += started.elapsed().as_secs_f64();
    }
    println!("{count} vehicles loaded in {loading:.1} s");
    installation.settle().await;
    println!(
        "{:<46} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "milliseconds for a page of 50", "counted", "again", "written", "cursor 0", "middle", "deep page", "total"
    );
    for (name, filter) in filters(i64::try_from(count).unwrap()) {
        report(&installation, business, name, &filter).await;
    }
}

fn field(name: &'static str, wanted: Wanted) -> VehicleFilter {
    VehicleFilter {
        fields: vec![FieldFilter { name, wanted }],
        ..VehicleFilter::default()
    }
}

fn text(name: &'static str, text: &str) -> VehicleFilter {
    field(name, Wanted::Text(TextFilter::parse(text).unwrap()))
}

fn range(name: &'static str, from: Option<i64>, to: Option<i64>) -> VehicleFilter {
    field(name, Wanted::Within(Range { from, to }))
}

/// The combination of both filters.
fn both(mut one: VehicleFilter, other: VehicleFilter) -> VehicleFilter {
    one.kind = one.kind.or(other.kind);
    one.status = one.status.or(other.status);
    one.channel = one.channel.or(other.channel);
    one.created = one.created.or(other.created);
    one.updated = one.updated.or(other.updated);
    one.fields.extend(other.fields);
    one
}

/// One of each kind, common and rare, and some pairs.
fn filters(count: i64) -> Vec<(&'static str, VehicleFilter)> {
    let all = VehicleFilter::default;
    let end = count * SECONDS_BETWEEN;
    let status = |status| VehicleFilter {
        status: Some(StatusChoice::Name(status)),
        ..all()
    };
    let stamps = |from: Option<i64>, to: Option<i64>| {
        Some(Range {
            from: from.map(at),
            to: to.map(at),
        })
    };
    let created = |from, to| VehicleFilter {
        created: stamps(from, to),
        ..all()
    };
    let updated = |from, to| VehicleFilter {
        updated: stamps(from, to),
        ..all()
    };
    let channel = || VehicleFilter {
        channel: Some("website".to_owned()),
        ..all()
    };
    let any_of = |name, text: &str| field(name, Wanted::AnyOf(vec![text.to_owned()]));
    let kind = |kind| VehicleFilter {
        kind: Some(kind),
        ..all()
    };
    let for_sale = || status(VehicleStatus::ForSale);
    vec![
        ("none", all()),
        ("type in-stock (83 %)", kind(StockType::InStock)),
        ("type courtesy (2 %)", kind(StockType::Courtesy)),
        ("status complete (50 %)", status(VehicleStatus::Complete)),
        ("status added (2 %)", status(VehicleStatus::Added)),
        (
            "status 2 (30 %)",
            VehicleFilter {
                status: Some(StatusChoice::Id(2)),
                ..all()
            },
        ),
        (
            "owner (11 %)",
            VehicleFilter {
                owner: Some(StaffId::new(3)),
                ..all()
            },
        ),
        ("channel (28 %)", channel()),
        (
            "tag_name (30 %)",
            VehicleFilter {
                tag_name: Some("Ready".to_owned()),
                ..all()
            },
        ),
        ("make ford (23 %)", text("make", "ford")),
        ("make quetzal (10)", text("make", "quetzal")),
        ("make %ord% (23 %)", text("make", "%ord%")),
        ("make %a%u% (30 %)", text("make", "%a%u%i%")),
        ("make %etz% (10)", text("make", "%etz%")),
        ("make %xyz% (none)", text("make", "%xyz%")),
        ("model fiesta", text("model", "fiesta")),
        ("model %a%r%", text("model", "%or%a%")),
        ("generation %mk1 (50 %)", text("generation", "%mk1")),
        ("generation q3 mk3", text("generation", "q3 mk3")),
        ("derivative, one", text("derivative", "1.0 petrol se 100")),
        ("derivative %titanium% (17 %)", text("derivative", "%titanium%")),
        ("derivative %hybrid 4 265", text("derivative", "%hybrid 4 265")),
        ("fuel petrol (44 %)", text("fuel", "petrol")),
        ("fuel petrol% (50 %)", text("fuel", "petrol%")),
        ("transmission %auto%", text("transmission", "%auto%")),
        ("body con%", text("body", "con%")),
        ("colour %e%l%l%", text("colour", "%e%l%l%")),
        ("location", any_of("location", "3")),
        ("reference", any_of("reference", "r777")),
        ("number", any_of("number", "s777")),
        ("vin", any_of("vin", "wvw00000000000777")),
        ("mileage 10000- (92 %)", range("mileage", Some(10_000), None)),
        (
            "mileage 10000-11000 (1 %)",
            range("mileage", Some(10_000), Some(11_000)),
        ),
        ("mileage -50 (0.04 %)", range("mileage", None, Some(50))),
        ("year 2015- (92 %)", range("year", Some(2015), None)),
        ("year 2012", range("year", Some(2012), Some(2012))),
        (
            "price 5000-20000 (37 %)",
            range("price", Some(500_000), Some(2_000_000)),
        ),
        ("price 5000-5100", range("price", Some(500_000), Some(510_000))),
        ("appraisal_contact", range("appraisal_contact", Some(77), Some(77))),
        ("created, first half", created(None, Some(end / 2))),
        ("created, a day long ago", created(Some(86_400), Some(172_800))),
        ("created, lately", created(Some(end - 86_400), None)),
        ("updated, first half", updated(None, Some(end / 2))),
        ("updated, a day long ago", updated(Some(86_400), Some(172_800))),
        ("updated, lately", updated(Some(end - 86_400), None)),
        ("for sale, make ford", both(for_sale(), text("make", "ford"))),
        ("for sale, make %ord%", both(for_sale(), text("make", "%ord%"))),
        (
            "for sale, mileage 10000-",
            both(for_sale(), range("mileage", Some(10_000), None)),
        ),
        (
            "for sale, year 2020-",
            both(for_sale(), range("year", Some(2020), None)),
        ),
        (
            "for sale, price 5000-10000",
            both(for_sale(), range("price", Some(500_000), Some(1_000_000))),
        ),
        ("for sale, channel", both(for_sale(), channel())),
        ("for sale, in-stock", both(for_sale(), kind(StockType::InStock))),
        ("ford, fiesta", both(text("make", "ford"), text("model", "fiesta"))),
        ("ford, corsa (none)", both(text("make", "ford"), text("model", "corsa"))),
        (
            "ford, year 2018-",
            both(text("make", "ford"), range("year", Some(2018), None)),
        ),
        (
            "petrol, manual",
            both(text("fuel", "petrol"), text("transmission", "manual")),
        ),
        (
            "year 2015-, price -40000",
            both(range("year", Some(2015), None), range("price", None, Some(4_000_000))),
        ),
        (
            "year 2012-2013, mileage 100000-",
            both(
                range("year", Some(2012), Some(2013)),
                range("mileage", Some(100_000), None),
            ),
        ),
        ("ford, channel", both(channel(), text("make", "ford"))),
        (
            "ford, created lately",
            both(text("make", "ford"), created(Some(end - 86_400), None)),
        ),
        (
            "ford, created first half",
            both(text("make", "ford"), created(None, Some(end / 2))),
        ),
    ]
}

/// How long it takes at best, in some tries, and what comes out.
async fn best(
    installation: &Installation,
    business: BusinessId,
    filter: &VehicleFilter,
    position: &Position,
    tries: usize,
) -> (f64, Option<i64>) {
    let mut reader = installation.read().await;
    let mut best = (f64::MAX, None);
    for _ in 0..tries {
        let request = PageRequest {
            position: position.clone(),
            per_page: PageRequest::DEFAULT_PER_PAGE,
        };
        let started = Instant::now();
        let page = reader.vehicles(business, filter, &request).await.unwrap();
        let took = started.elapsed().as_secs_f64() * 1000.0;
        best = (best.0.min(took), page.total);
    }
    best
}

/// How long it takes at best, in some tries, each after a vehicle was written.
async fn after_a_write(installation: &Installation, business: BusinessId, filter: &VehicleFilter) -> f64 {
    let newest = PageRequest {
        position: Position::After(Cursor::at([i64::MAX])),
        per_page: 1,
    };
    let all = VehicleFilter::default();
    let page = installation
        .read()
        .await
        .vehicles(business, &all, &newest)
        .await
        .unwrap();
    let mut taken = f64::MAX;
    for _ in 0..5 {
        let mut session = installation.begin().await;
        session.save_vehicle(business, &page.items[0]).await.unwrap();
        session.commit().await.unwrap();
        let (took, _) = best(installation, business, filter, &Position::Number(1), 1).await;
        taken = taken.min(took);
    }
    taken
}

async fn report(installation: &Installation, business: BusinessId, name: &str, filter: &VehicleFilter) {
    let middle = format!("SELECT min(id) + (max(id) - min(id)) / 2 FROM vehicles WHERE business_id = {business}");
    let middle = Position::After(Cursor::at([installation.number(&middle).await]));
    let newest = Position::After(Cursor::at([i64::MAX]));
    let (counted, total) = best(installation, business, filter, &Position::Number(1), 1).await;
    let (again, _) = best(installation, business, filter, &Position::Number(1), 7).await;
    let written = after_a_write(installation, business, filter).await;
    let (first, _) = best(installation, business, filter, &newest, 7).await;
    let (middle, _) = best(installation, business, filter, &middle, 7).await;
    let total = total.unwrap();
    let deep = u64::try_from(total / i64::from(PageRequest::DEFAULT_PER_PAGE) / 2).unwrap() + 1;
    let (deep, _) = best(installation, business, filter, &Position::Number(deep), 7).await;
    println!("{name:<46} {counted:9.2} {again:9.2} {written:9.2} {first:9.2} {middle:9.2} {deep:9.2} {total:9}");
}
