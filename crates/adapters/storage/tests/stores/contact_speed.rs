//! How long lists of contacts and checks for duplicates take among a million. Only a release build says something, and only
//! alone: `cargo test --release -p forecourt-storage --test stores -- --ignored --nocapture --test-threads 1 contact_speed`.
//!
//! `FORECOURT_SPEED_CONTACTS` sets another number of contacts. `FORECOURT_SPEED_CONTACTS_SQLITE` and
//! `FORECOURT_SPEED_CONTACTS_POSTGRES` name a database that is kept: the next run finds the contacts there.

use std::env;
use std::time::Instant;

use forecourt_contacts::{Address, ContactDraft, ContactFilter, DuplicateKind, DuplicateProbe, WholeText};
use forecourt_dealership::ReadSession;
use forecourt_kernel::{BusinessId, Country, Cursor, PageRequest, Phone, Position, TextFilter, Timestamp, View};

use crate::crowd::Crowd;
use crate::installation::{Installation, on_postgres, on_sqlite};
use crate::samples::{Dice, a_contact};

/// As many as a transaction of the program that loads samples has.
const BATCH: usize = 500;
/// How often each query is run; the median is reported.
const TIMES: usize = 9;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn contacts_on_sqlite() {
    match env::var("FORECOURT_SPEED_CONTACTS_SQLITE") {
        Ok(url) => measure(Installation::new(url).await).await,
        Err(_) => on_sqlite(measure).await,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn contacts_on_postgres() {
    match env::var("FORECOURT_SPEED_CONTACTS_POSTGRES") {
        Ok(url) => measure(Installation::new(url).await).await,
        Err(_) => on_postgres(measure).await,
    }
}

/// Contacts of one business, in the order in which they are made.
struct Customers {
    people: Crowd,
    dice: Dice,
}

impl Customers {
    fn new() -> Self {
        Self {
            people: Crowd::new(1, 0),
            dice: Dice::new(2),
        }
    }
}

impl Iterator for Customers {
    type Item = (ContactDraft, Timestamp);

    fn next(&mut self) -> Option<Self::Item> {
        let (lead, created) = self.people.next()?;
        let dice = &mut self.dice;
        let family = lead.name.split(' ').next_back().unwrap_or_default();
        let in_business = dice.chance(20);
        // One company in twenty is the same one, as where the trade is sold to in cash.
        let company = match (in_business, dice.chance(5)) {
            (false, _) => String::new(),
            (true, true) => "Cash Sale".to_owned(),
            (true, false) => format!("{family} {}", dice.pick(&["Motors", "Ltd", "Garage", "& Sons"])),
        };
        let vat = if in_business && dice.chance(60) {
            format!("GB {:09}", dice.number(1_000_000))
        } else {
            String::new()
        };
        let streets = ["High Street", "Station Road", "Church Lane", "Park Avenue", "The Green"];
        let towns = [
            ("Leeds", "LS"),
            ("Bristol", "BS"),
            ("York", "YO"),
            ("Exeter", "EX"),
            ("Truro", "TR"),
        ];
        let address = if dice.chance(75) {
            let (city, area) = *dice.pick(&towns);
            Address {
                line1: format!("{} {}", 1 + dice.roll(250), dice.pick(&streets)),
                city: city.to_owned(),
                country: Some(Country::GB),
                zip: format!("{area}{} {}AB", 1 + dice.roll(60), dice.roll(10)),
                ..Address::default()
            }
        } else {
            Address::default()
        };
        let draft = ContactDraft {
            name: lead.name,
            email: lead.email,
            telephone: lead.phone,
            mobile: lead.mobile,
            company,
            vat,
            address,
            ..a_contact()
        };
        Some((draft, created))
    }
}

async fn load(installation: &Installation, tag: &str, count: usize) -> BusinessId {
    let known = installation.read().await.business_by_tag(tag).await.unwrap();
    if let Some(business) = known {
        return business.id;
    }
    let business = installation.business(tag).await;
    let started = Instant::now();
    let mut customers = Customers::new();
    let mut left = count;
    while left > 0 {
        let batch: Vec<_> = customers.by_ref().take(BATCH.min(left)).collect();
        left -= batch.len();
        let mut session = installation.begin().await;
        session.load_contacts(business, batch).await.unwrap();
        session.commit().await.unwrap();
    }
    installation.settle().await;
    println!(
        "{count} contacts loaded for {tag} in {:.1} s",
        started.elapsed().as_secs_f64()
    );
    business
}

async fn measure(installation: Installation) {
    let count = env::var("FORECOURT_SPEED_CONTACTS").map_or(1_000_000, |number| number.parse().unwrap());
    let business = load(&installation, "large", count).await;
    load(&installation, "small", count / 10).await;
    println!(
        "{:<40} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "milliseconds for a page of 50", "counted", "again", "written", "full", "cursor 0", "middle", "deep", "total"
    );
    for (name, filter) in filters() {
        report(&installation, business, name, &filter).await;
    }
    println!("{:<40} {:>9}", "milliseconds for a check for duplicates", "median");
    for (name, probe) in probes() {
        let mut reader = installation.read().await;
        let mut taken = Vec::new();
        let mut found = None;
        for _ in 0..TIMES {
            let started = Instant::now();
            found = reader.contact_like(business, &probe).await.unwrap();
            taken.push(millis(started));
        }
        println!("{name:<40} {:9.2} {found:?}", median(taken));
    }
}

/// One of each kind, common and rare, and some pairs.
fn filters() -> Vec<(&'static str, ContactFilter)> {
    let all = ContactFilter::default;
    let phone = |text: &str| Phone::parse(text, Country::GB).ok();
    let email = |text: &str| ContactFilter {
        email: Some(TextFilter::parse(text).unwrap()),
        ..all()
    };
    let name = |text: &str| ContactFilter {
        name: Some(WholeText::new(text)),
        ..all()
    };
    let company = |text: &str| ContactFilter {
        company: Some(WholeText::new(text)),
        ..all()
    };
    let zip = |text: &str| ContactFilter {
        zip: Some(WholeText::new(text)),
        ..all()
    };
    vec![
        ("none", all()),
        ("email", email("David.Kaar706@btinternet.com")),
        ("email, none", email("nobody@example.com")),
        ("email, of nobody's (15 %)", email("")),
        ("email %@gmail.com (28 %)", email("%@gmail.com")),
        ("email %example% (14 %)", email("%example%")),
        ("email james% (3.5 %)", email("james%")),
        ("email %tonpa% (0.5 %)", email("%tonpa%")),
        ("email %laha7% (0.05 %)", email("%laha7%")),
        ("email %patricia.%55@outlook.com", email("%patricia.%55@outlook.com")),
        ("email quetz% (20)", email("quetz%")),
        ("email %xyzzy% (none)", email("%xyzzy%")),
        ("email %s%a%m% (no run)", email("%s%a%m%")),
        ("email q%q%q (no run, none)", email("q%q%q")),
        ("name", name("barbara betonpa")),
        ("name, none", name("Nobody")),
        ("name, some hundred", name("Michael Laha")),
        ("company", company("Laha Motors")),
        ("company cash sale (1 %)", company("cash sale")),
        ("company, none (80 %)", company("")),
        (
            "vat",
            ContactFilter {
                vat: Some(WholeText::new("GB 000000077")),
                ..all()
            },
        ),
        ("zip", zip("LS7 3AB")),
        ("zip, none (25 %)", zip("")),
        (
            "telephone",
            ContactFilter {
                telephone: phone("+441632000047"),
                ..all()
            },
        ),
        (
            "mobile",
            ContactFilter {
                mobile: phone("+447700000016"),
                ..all()
            },
        ),
        (
            "name and zip",
            ContactFilter {
                zip: Some(WholeText::new("LS7 3AB")),
                ..name("Michael Laha")
            },
        ),
        (
            "company cash sale and zip",
            ContactFilter {
                zip: Some(WholeText::new("LS7 3AB")),
                ..company("cash sale")
            },
        ),
        (
            "company cash sale and name",
            ContactFilter {
                name: Some(WholeText::new("Michael Laha")),
                ..company("cash sale")
            },
        ),
        (
            "email %@gmail.com and name",
            ContactFilter {
                name: Some(WholeText::new("Michael Laha")),
                ..email("%@gmail.com")
            },
        ),
        (
            "email %@gmail.com and cash sale",
            ContactFilter {
                company: Some(WholeText::new("cash sale")),
                ..email("%@gmail.com")
            },
        ),
        (
            "email quetz% and zip",
            ContactFilter {
                zip: Some(WholeText::new("LS7 3AB")),
                ..email("quetz%")
            },
        ),
    ]
}

fn probes() -> Vec<(&'static str, DuplicateProbe)> {
    let text = |kind, value| DuplicateProbe::text(kind, value, Country::GB).unwrap();
    let address = |line1: &str, city: &str, zip: &str| {
        let address = Address {
            line1: line1.to_owned(),
            city: city.to_owned(),
            zip: zip.to_owned(),
            ..Address::default()
        };
        DuplicateProbe::address(&address).unwrap()
    };
    vec![
        ("email", text(DuplicateKind::Email, "David.Kaar706@btinternet.com")),
        ("email, none", text(DuplicateKind::Email, "nobody@example.com")),
        ("phone, a landline", text(DuplicateKind::Phone, "+441632000047")),
        ("phone, a mobile", text(DuplicateKind::Phone, "+447700000016")),
        ("name", text(DuplicateKind::Name, "Michael Laha")),
        ("company", text(DuplicateKind::Company, "Laha Motors")),
        ("company cash sale", text(DuplicateKind::Company, "cash sale")),
        ("vat", text(DuplicateKind::Vat, "gb-000000077")),
        ("address", address("7 High Street", "Leeds", "LS7 3AB")),
        ("address, without a postcode", address("7 High Street", "Leeds", "")),
        ("address, lines alone", address("7 High Street", "", "")),
        ("address, lines of another town", address("7 High Street", "Hull", "")),
        ("address, postcode alone", address("", "", "LS7 3AB")),
        ("address, postcode of another town", address("", "Hull", "LS7 3AB")),
        ("address, none", address("1 No Such Street", "Leeds", "")),
    ]
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

fn median(mut taken: Vec<f64>) -> f64 {
    taken.sort_by(f64::total_cmp);
    taken[taken.len() / 2]
}

/// How long a page takes, and how many the list has.
async fn timed(
    reader: &mut dyn ReadSession,
    business: BusinessId,
    filter: &ContactFilter,
    position: Position,
    view: View,
) -> (f64, Option<i64>) {
    let request = PageRequest {
        position,
        per_page: PageRequest::DEFAULT_PER_PAGE,
    };
    let started = Instant::now();
    let page = reader.contacts(business, filter, &request, view).await.unwrap();
    (millis(started), page.total)
}

async fn usual(
    reader: &mut dyn ReadSession,
    business: BusinessId,
    filter: &ContactFilter,
    position: Position,
    view: View,
) -> f64 {
    let mut taken = Vec::new();
    for _ in 0..TIMES {
        taken.push(timed(reader, business, filter, position.clone(), view).await.0);
    }
    median(taken)
}

/// How long a page usually takes after a contact was written.
async fn after_a_write(installation: &Installation, business: BusinessId, filter: &ContactFilter) -> f64 {
    let mut reader = installation.read().await;
    let newest = PageRequest {
        position: Position::After(Cursor::at([i64::MAX])),
        per_page: 1,
    };
    let all = ContactFilter::default();
    let page = reader.contacts(business, &all, &newest, View::Simple).await.unwrap();
    let mut taken = Vec::new();
    for _ in 0..TIMES {
        let mut session = installation.begin().await;
        session.save_contact(business, &page.items[0]).await.unwrap();
        session.commit().await.unwrap();
        let (took, _) = timed(reader.as_mut(), business, filter, Position::Number(1), View::Simple).await;
        taken.push(took);
    }
    median(taken)
}

async fn report(installation: &Installation, business: BusinessId, name: &str, filter: &ContactFilter) {
    // The writer's session remembers no totals: each time it counts anew.
    let mut counting = Vec::new();
    let mut total = None;
    {
        let mut writer = installation.begin().await;
        for _ in 0..TIMES {
            let request = PageRequest {
                position: Position::Number(1),
                per_page: PageRequest::DEFAULT_PER_PAGE,
            };
            let started = Instant::now();
            let page = writer.contacts(business, filter, &request, View::Simple).await.unwrap();
            counting.push(millis(started));
            total = page.total;
        }
        writer.commit().await.unwrap();
    }
    let total = total.unwrap();
    let query = format!("SELECT CAST((min(id) + max(id)) / 2 AS BIGINT) FROM contacts WHERE business_id = {business}");
    let middle = Position::After(Cursor::at([installation.number(&query).await]));
    let deep = Position::Number(u64::try_from(total / 2 / 50).unwrap() + 1);
    let mut reader = installation.read().await;
    let reader = reader.as_mut();
    let again = usual(reader, business, filter, Position::Number(1), View::Simple).await;
    let written = after_a_write(installation, business, filter).await;
    let full = usual(reader, business, filter, Position::Number(1), View::Full).await;
    let start = Position::After(Cursor::at([i64::MAX]));
    let start = usual(reader, business, filter, start, View::Simple).await;
    let middle = usual(reader, business, filter, middle, View::Simple).await;
    let deep = usual(reader, business, filter, deep, View::Simple).await;
    println!(
        "{name:<40} {:9.2} {again:9.2} {written:9.2} {full:9.2} {start:9.2} {middle:9.2} {deep:9.2} {total:9}",
        median(counting)
    );
}
