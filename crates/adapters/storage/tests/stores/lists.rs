//! Lists of leads: every filter, alone and beside every other one, against a model that looks at each lead.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use forecourt_dealership::ReadSession;
use forecourt_kernel::{
    BusinessId, ContactId, Country, Cursor, LeadId, PageRequest, Position, Range, SiteId, TextFilter, Timestamp,
    VehicleId,
};
use forecourt_leads::{Lead, LeadDraft, LeadFilter, LeadPreview, LeadStatus, Phone, Rating};
use forecourt_reference::LeadChannel;

use crate::crowd::Crowd;
use crate::installation::{Installation, both_engines};
use crate::samples::{Dice, a_lead, at};

both_engines!(
    a_long_list_is_counted_and_paged,
    a_preview_of_another_release_is_not_believed,
    every_filter_finds_what_it_is_to_find,
    every_two_filters_find_what_both_are_to_find,
    no_filter_finds_all_page_by_page,
    a_total_follows_every_change,
    a_total_is_that_of_each_server,
    a_cursor_passes_each_lead_once_whatever_others_write,
);

const LEADS: i64 = 400;

const NAMES: [&str; 9] = [
    "Ann Smith",
    "ANN SMITH",
    "Zoë Ångström",
    "100% Cars",
    "under_score",
    "back\\slash",
    "O'Neill",
    "Ann",
    "",
];
const EMAILS: [&str; 5] = [
    "ann@example.com",
    "Ann@Example.com",
    "zoë@example.org",
    "a_b@example.com",
    "",
];
const PHONES: [&str; 4] = ["+441632960123", "+441632960124", "+14155552671", ""];
const PATTERNS: [&str; 9] = [
    "%smith",
    "ann%",
    "%NN S%",
    "%a%n%s%",
    "%100\\%%",
    "%r_s%",
    "%k\\s%",
    "%example.com",
    "%no such thing%",
];

/// All that the business has, and what the model knows of it.
struct Book {
    business: BusinessId,
    leads: BTreeMap<LeadId, Lead>,
    vehicles: BTreeSet<(VehicleId, LeadId)>,
}

impl Book {
    /// The leads that pass, newest first.
    fn passing(&self, filter: &LeadFilter) -> Vec<Lead> {
        let newest_first = self.leads.values().rev();
        newest_first.filter(|lead| self.passes(filter, lead)).cloned().collect()
    }

    fn passes(&self, filter: &LeadFilter, lead: &Lead) -> bool {
        let LeadFilter {
            site,
            status,
            channel,
            reference,
            name,
            email,
            phone,
            mobile,
            contact,
            vehicle,
            rating_min,
            created,
            updated,
        } = filter;
        let within = |range: &Range<Timestamp>, stamp: Timestamp| {
            range.from.is_none_or(|from| from <= stamp) && range.to.is_none_or(|to| stamp <= to)
        };
        let content = &lead.content;
        site.is_none_or(|site| site == content.site)
            && status.is_none_or(|status| status == content.status)
            && channel.is_none_or(|channel| channel == content.channel)
            && reference.is_none_or(|reference| reference == lead.reference)
            && name.as_ref().is_none_or(|name| name.matches(&content.name))
            && email.as_ref().is_none_or(|email| email.matches(&content.email))
            && phone.as_ref().is_none_or(|phone| phone.as_str() == content.phone)
            && mobile.as_ref().is_none_or(|mobile| mobile.as_str() == content.mobile)
            && contact.is_none_or(|contact| Some(contact) == content.contact)
            && vehicle.is_none_or(|vehicle| self.vehicles.contains(&(vehicle, lead.id)))
            && rating_min.is_none_or(|least| content.rating.is_some_and(|rating| rating >= least))
            && created.as_ref().is_none_or(|range| within(range, lead.created))
            && updated.as_ref().is_none_or(|range| within(range, lead.updated))
    }
}

/// Each member of a filter by name, alone: `None` where it does not narrow.
pub(crate) fn members(filter: &LeadFilter) -> [(&'static str, Option<LeadFilter>); 13] {
    // A new member is refused here until it has its place, and then has to be tested.
    let LeadFilter {
        site,
        status,
        channel,
        reference,
        name,
        email,
        phone,
        mobile,
        contact,
        vehicle,
        rating_min,
        created,
        updated,
    } = filter.clone();
    let nothing = LeadFilter::default;
    [
        (
            "site",
            site.map(|site| LeadFilter {
                site: Some(site),
                ..nothing()
            }),
        ),
        (
            "status",
            status.map(|status| LeadFilter {
                status: Some(status),
                ..nothing()
            }),
        ),
        (
            "channel",
            channel.map(|channel| LeadFilter {
                channel: Some(channel),
                ..nothing()
            }),
        ),
        (
            "reference",
            reference.map(|reference| LeadFilter {
                reference: Some(reference),
                ..nothing()
            }),
        ),
        (
            "name",
            name.map(|name| LeadFilter {
                name: Some(name),
                ..nothing()
            }),
        ),
        (
            "email",
            email.map(|email| LeadFilter {
                email: Some(email),
                ..nothing()
            }),
        ),
        (
            "phone",
            phone.map(|phone| LeadFilter {
                phone: Some(phone),
                ..nothing()
            }),
        ),
        (
            "mobile",
            mobile.map(|mobile| LeadFilter {
                mobile: Some(mobile),
                ..nothing()
            }),
        ),
        (
            "contact",
            contact.map(|contact| LeadFilter {
                contact: Some(contact),
                ..nothing()
            }),
        ),
        (
            "vehicle",
            vehicle.map(|vehicle| LeadFilter {
                vehicle: Some(vehicle),
                ..nothing()
            }),
        ),
        (
            "rating_min",
            rating_min.map(|least| LeadFilter {
                rating_min: Some(least),
                ..nothing()
            }),
        ),
        (
            "created",
            created.map(|created| LeadFilter {
                created: Some(created),
                ..nothing()
            }),
        ),
        (
            "updated",
            updated.map(|updated| LeadFilter {
                updated: Some(updated),
                ..nothing()
            }),
        ),
    ]
}

/// The combination of both filters, which are about different members.
pub(crate) fn both(one: &LeadFilter, other: &LeadFilter) -> LeadFilter {
    let (one, other) = (one.clone(), other.clone());
    LeadFilter {
        site: one.site.or(other.site),
        status: one.status.or(other.status),
        channel: one.channel.or(other.channel),
        reference: one.reference.or(other.reference),
        name: one.name.or(other.name),
        email: one.email.or(other.email),
        phone: one.phone.or(other.phone),
        mobile: one.mobile.or(other.mobile),
        contact: one.contact.or(other.contact),
        vehicle: one.vehicle.or(other.vehicle),
        rating_min: one.rating_min.or(other.rating_min),
        created: one.created.or(other.created),
        updated: one.updated.or(other.updated),
    }
}

/// A filter with every member set, to what some lead has more often than not.
fn a_filter(dice: &mut Dice, book: &Book) -> LeadFilter {
    let leads: Vec<&Lead> = book.leads.values().collect();
    let lead = *dice.pick(&leads);
    let vehicles: Vec<_> = book.vehicles.iter().collect();
    let phone = |text: &str| Phone::parse(text, Country::GB).ok();
    let text = |dice: &mut Dice, text: &str| {
        let wanted = if dice.chance(50) { dice.pick(&PATTERNS) } else { text };
        Some(TextFilter::parse(wanted).unwrap())
    };
    let stamps = |dice: &mut Dice| {
        let bound = |dice: &mut Dice| dice.chance(70).then(|| at(dice.number(LEADS * 3)));
        let (from, to) = (bound(dice), bound(dice));
        Some(match dice.roll(3) {
            0 => Range::exactly(lead.created),
            // Empty ranges too.
            _ => Range { from, to },
        })
    };
    LeadFilter {
        site: Some(lead.content.site),
        status: Some(lead.content.status),
        channel: Some(lead.content.channel),
        reference: Some(lead.reference + i64::from(dice.chance(10))),
        name: text(dice, &lead.content.name),
        email: text(dice, &lead.content.email),
        phone: phone(&lead.content.phone).or_else(|| phone(PHONES[dice.roll(3)])),
        mobile: phone(&lead.content.mobile).or_else(|| phone(PHONES[dice.roll(3)])),
        contact: lead.content.contact.or(Some(ContactId::new(1))),
        vehicle: Some(dice.pick(&vehicles).0),
        rating_min: Rating::new(1 + dice.number(5)),
        created: stamps(dice),
        updated: stamps(dice),
    }
}

fn a_draft(dice: &mut Dice) -> LeadDraft {
    LeadDraft {
        site: SiteId::new(dice.number(3)),
        channel: *dice.pick(LeadChannel::ALL),
        status: *dice.pick(&LeadStatus::ALL),
        name: (*dice.pick(&NAMES)).to_owned(),
        email: (*dice.pick(&EMAILS)).to_owned(),
        phone: (*dice.pick(&PHONES)).to_owned(),
        mobile: (*dice.pick(&PHONES)).to_owned(),
        contact: dice.chance(30).then(|| ContactId::new(1 + dice.number(5))),
        rating: Rating::new(dice.number(8)),
        ..a_lead()
    }
}

/// A business with some hundred leads of every sort, of which many were changed and some deleted; and another business whose
/// leads look just the same.
async fn a_book(installation: &Installation, dice: &mut Dice) -> Book {
    let (business, other) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    let mut second = 0;
    let mut session = installation.begin().await;
    for business in [business, other, business] {
        let mut drafts = Vec::new();
        for _ in 0..LEADS / 2 {
            second += dice.number(4);
            drafts.push((a_draft(dice), at(second)));
        }
        session.load_leads(business, drafts).await.unwrap();
    }
    session.commit().await.unwrap();
    let mut book = Book {
        business,
        leads: BTreeMap::new(),
        vehicles: BTreeSet::new(),
    };
    for lead in every_lead(installation.read().await.as_mut(), business).await {
        book.leads.insert(lead.id, lead);
    }
    let mut session = installation.begin().await;
    for id in book.leads.keys().copied().collect::<Vec<_>>() {
        match dice.roll(10) {
            0 => {
                session.delete_lead(business, id).await.unwrap();
                book.leads.remove(&id);
            }
            1..4 => {
                let lead = book.leads.get_mut(&id).unwrap();
                lead.content = a_draft(dice);
                lead.updated = lead.created.plus_seconds(dice.number(LEADS));
                session.save_lead(business, lead).await.unwrap();
            }
            _ => {}
        }
    }
    session.commit().await.unwrap();
    // A fifth of the leads concern none.
    let cars = installation.cars(business, 4).await;
    for (lead, turn) in book.leads.keys().zip((0..5).cycle()) {
        if let Some(car) = cars.get(turn) {
            assert!(installation.associate(business, *lead, *car, 0).await);
            book.vehicles.insert((*car, *lead));
        }
    }
    book
}

async fn every_lead(reader: &mut dyn ReadSession, business: BusinessId) -> Vec<Lead> {
    let request = page(Position::Number(1), PageRequest::MAX_PER_PAGE);
    reader
        .leads(business, &LeadFilter::default(), &request)
        .await
        .unwrap()
        .items
}

fn page(position: Position, per_page: u32) -> PageRequest {
    PageRequest { position, per_page }
}

fn ids(leads: &[Lead]) -> Vec<i64> {
    leads.iter().map(|lead| lead.id.get()).collect()
}

/// The list is what the model says: by number, in one page and in several, and by cursor.
async fn assert_lists(reader: &mut dyn ReadSession, dice: &mut Dice, book: &Book, filter: &LeadFilter) {
    let expected = book.passing(filter);
    let total = i64::try_from(expected.len()).unwrap();
    let whole_request = page(Position::Number(1), PageRequest::MAX_PER_PAGE);
    let whole = reader.leads(book.business, filter, &whole_request).await.unwrap();
    assert_eq!(ids(&whole.items), ids(&expected), "{filter:?}");
    assert_eq!(whole.items, expected, "{filter:?}");
    assert_eq!((whole.total, whole.next), (Some(total), None), "{filter:?}");
    assert_previews(reader, book.business, filter, &whole_request, &expected).await;

    let per_page = 1 + dice.roll(60);
    let mut after = None;
    let mut passed = Vec::new();
    loop {
        let position = after.map_or(Position::Number(1), Position::After);
        let by_cursor = !matches!(position, Position::Number(_));
        let request = page(position, u32::try_from(per_page).unwrap());
        let part = reader.leads(book.business, filter, &request).await.unwrap();
        assert_eq!(part.total, (!by_cursor).then_some(total), "{filter:?}");
        passed.extend(ids(&part.items));
        match &part.next {
            Some(cursor) => assert_eq!((part.items.len(), Some(&cursor.id())), (per_page, passed.last())),
            None => break assert!(part.items.len() <= per_page),
        }
        after = part.next;
    }
    assert_eq!(passed, ids(&expected), "{filter:?}");

    let number = dice.roll(2 + expected.len() / per_page);
    let request = page(Position::Number(number as u64 + 1), u32::try_from(per_page).unwrap());
    let part = reader.leads(book.business, filter, &request).await.unwrap();
    let before = (number * per_page).min(expected.len());
    let end = (before + per_page).min(expected.len());
    assert_eq!(ids(&part.items), ids(&expected[before..end]), "{filter:?}");
    assert_eq!(
        (part.total, part.next.is_some()),
        (Some(total), end < expected.len()),
        "{filter:?}"
    );
}

/// What is stored for the simple view says what the leads say.
async fn assert_previews(
    reader: &mut dyn ReadSession,
    business: BusinessId,
    filter: &LeadFilter,
    request: &PageRequest,
    expected: &[Lead],
) {
    let previews = reader.lead_previews(business, filter, request).await.unwrap();
    let expected: Vec<_> = expected.iter().map(|lead| LeadPreview::of(lead).unwrap()).collect();
    assert_eq!(previews.items, expected, "{filter:?}");
}

async fn a_preview_of_another_release_is_not_believed(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    for second in 0..3 {
        session.insert_lead(business, a_lead(), at(second)).await.unwrap();
    }
    session.commit().await.unwrap();
    let leads = all(&installation, business, &LeadFilter::default()).await;
    // What releases kept that had no marks.
    let former = "UPDATE leads SET preview = '\"site\":0' WHERE reference = 2";
    installation.execute(former).await;
    let request = page(Position::Number(1), 50);
    let mut reader = installation.read().await;
    assert_previews(reader.as_mut(), business, &LeadFilter::default(), &request, &leads).await;
}

/// References and stamps far apart.
async fn a_long_list_is_counted_and_paged(installation: Installation) {
    let business = installation.business("long").await;
    let mut crowd = Crowd::new(1, 60);
    for batch in 0..30 {
        let leads = crowd.by_ref().take(40);
        let leads: Vec<_> = leads
            .zip(batch * 40..)
            .map(|((draft, _), number)| (draft, at(number * 50_000)))
            .collect();
        let mut session = installation.begin().await;
        session.load_leads(business, leads).await.unwrap();
        session.commit().await.unwrap();
        let apart = format!(
            "UPDATE business_counters SET lead_reference = lead_reference + 9000 WHERE business_id = {business}"
        );
        installation.execute(&apart).await;
    }
    // Some change, some go.
    let everything = all(&installation, business, &LeadFilter::default()).await;
    let mut session = installation.begin().await;
    for (number, mut lead) in everything.into_iter().enumerate() {
        match number % 10 {
            3 => session.delete_lead(business, lead.id).await.unwrap(),
            7 => {
                lead.content.status = LeadStatus::NewMessage;
                lead.content.rating = Rating::new(5);
                lead.updated = lead.updated.plus_seconds(5_000_000);
                session.save_lead(business, &lead).await.unwrap();
            }
            _ => {}
        }
    }
    session.commit().await.unwrap();

    let stamps = [None, Some(at(7_000_001)), Some(at(50_000_000))];
    let mut filters = vec![
        LeadFilter::default(),
        LeadFilter {
            rating_min: Rating::new(2),
            ..LeadFilter::default()
        },
    ];
    for status in [None, Some(LeadStatus::Closed), Some(LeadStatus::NewMessage)] {
        for (from, to) in [(1, 0), (0, 2), (1, 2)] {
            let range = Some(Range {
                from: stamps[from],
                to: stamps[to],
            });
            let all = LeadFilter {
                status,
                ..LeadFilter::default()
            };
            filters.extend([
                LeadFilter {
                    created: range,
                    ..all.clone()
                },
                LeadFilter {
                    updated: range,
                    ..all.clone()
                },
                LeadFilter {
                    site: Some(SiteId::new(0)),
                    created: range,
                    ..all
                },
            ]);
        }
    }
    let mut reader = installation.read().await;
    for filter in filters {
        let expected = all(&installation, business, &filter).await;
        for number in [1, 9, 14, 20, 30] {
            let request = page(Position::Number(number), 40);
            let part = reader.leads(business, &filter, &request).await.unwrap();
            assert_eq!(part.total, i64::try_from(expected.len()).ok(), "{filter:?}");
            let before = usize::try_from(number - 1).unwrap() * 40;
            let end = (before + 40).min(expected.len());
            let shown = expected.get(before..end).unwrap_or_default();
            assert_eq!(ids(&part.items), ids(shown), "page {number} of {filter:?}");
        }
    }
}

/// All that pass, by cursor.
async fn all(installation: &Installation, business: BusinessId, filter: &LeadFilter) -> Vec<Lead> {
    let mut reader = installation.read().await;
    let mut passed = Vec::new();
    let mut after = Some(Cursor::at([i64::MAX]));
    while let Some(cursor) = after {
        let request = page(Position::After(cursor), PageRequest::MAX_PER_PAGE);
        let part = reader.leads(business, filter, &request).await.unwrap();
        passed.extend(part.items);
        after = part.next;
    }
    passed
}

async fn every_filter_finds_what_it_is_to_find(installation: Installation) {
    let mut dice = Dice::new(1);
    let book = a_book(&installation, &mut dice).await;
    let mut reader = installation.read().await;
    for _ in 0..12 {
        for (name, alone) in members(&a_filter(&mut dice, &book)) {
            let filter = alone.unwrap_or_else(|| panic!("{name} is not tested"));
            assert_lists(reader.as_mut(), &mut dice, &book, &filter).await;
        }
    }
}

async fn every_two_filters_find_what_both_are_to_find(installation: Installation) {
    let mut dice = Dice::new(2);
    let book = a_book(&installation, &mut dice).await;
    let mut reader = installation.read().await;
    for _ in 0..2 {
        let members = members(&a_filter(&mut dice, &book)).map(|(_, alone)| alone.unwrap());
        for (place, one) in members.iter().enumerate() {
            for other in &members[..place] {
                assert_lists(reader.as_mut(), &mut dice, &book, &both(one, other)).await;
            }
        }
    }
    let all = a_filter(&mut dice, &book);
    assert_lists(reader.as_mut(), &mut dice, &book, &all).await;
}

async fn no_filter_finds_all_page_by_page(installation: Installation) {
    let mut dice = Dice::new(3);
    let book = a_book(&installation, &mut dice).await;
    let mut reader = installation.read().await;
    assert_lists(reader.as_mut(), &mut dice, &book, &LeadFilter::default()).await;
    for number in [1_000_000, u64::MAX / 500, u64::MAX] {
        let request = page(Position::Number(number), PageRequest::MAX_PER_PAGE);
        let beyond = reader
            .leads(book.business, &LeadFilter::default(), &request)
            .await
            .unwrap();
        let total = i64::try_from(book.leads.len()).unwrap();
        assert_eq!(
            (beyond.items, beyond.total, beyond.next),
            (Vec::new(), Some(total), None)
        );
    }
    for (id, expected) in [(0, 0), (i64::MIN, 0), (i64::MAX, book.leads.len())] {
        let request = page(Position::After(Cursor::at([id])), PageRequest::MAX_PER_PAGE);
        let list = reader
            .leads(book.business, &LeadFilter::default(), &request)
            .await
            .unwrap();
        assert_eq!(list.items.len(), expected);
    }
}

async fn total(installation: &Installation, business: BusinessId, filter: &LeadFilter) -> i64 {
    let mut reader = installation.read().await;
    let list = reader.leads(business, filter, &PageRequest::first()).await.unwrap();
    let total = list.total.unwrap();
    assert!(total > 50 || list.items.len() == usize::try_from(total).unwrap());
    total
}

fn replied() -> LeadFilter {
    LeadFilter {
        status: Some(LeadStatus::Replied),
        ..LeadFilter::default()
    }
}

/// How many leads a business has, and how many of them are replied to.
async fn totals(installation: &Installation, business: BusinessId) -> (i64, i64) {
    (
        total(installation, business, &LeadFilter::default()).await,
        total(installation, business, &replied()).await,
    )
}

async fn a_total_follows_every_change(installation: Installation) {
    let business = installation.business("acme").await;
    assert_eq!(totals(&installation, business).await, (0, 0));
    let mut lead = installation.lead(business, a_lead(), 0).await;
    assert_eq!(totals(&installation, business).await, (1, 0));

    // No event reports it.
    lead.content.status = LeadStatus::Replied;
    installation.save(business, &lead).await;
    assert_eq!(totals(&installation, business).await, (1, 1));

    let mut session = installation.begin().await;
    let drafts = (0..9).map(|_| (lead.content.clone(), at(0))).collect();
    session.load_leads(business, drafts).await.unwrap();
    let within = session
        .leads(business, &replied(), &PageRequest::first())
        .await
        .unwrap();
    assert_eq!(within.total, Some(10), "a session sees what it wrote");
    assert_eq!(totals(&installation, business).await, (1, 1));
    session.commit().await.unwrap();
    assert_eq!(totals(&installation, business).await, (10, 10));

    // What was counted in a session that gave up is not what another one finds that writes as much.
    for status in [LeadStatus::Replied, LeadStatus::Junk] {
        let mut session = installation.begin().await;
        let draft = LeadDraft { status, ..a_lead() };
        session.insert_lead(business, draft, at(0)).await.unwrap();
        let within = session
            .leads(business, &replied(), &PageRequest::first())
            .await
            .unwrap();
        assert_eq!(within.total, Some(if status == LeadStatus::Replied { 11 } else { 10 }));
        if status == LeadStatus::Junk {
            session.commit().await.unwrap();
        }
    }
    assert_eq!(totals(&installation, business).await, (11, 10));

    let mut session = installation.begin().await;
    session.delete_lead(business, lead.id).await.unwrap();
    session.delete_lead(business, lead.id).await.unwrap();
    session.commit().await.unwrap();
    assert_eq!(totals(&installation, business).await, (10, 9));
}

async fn a_total_is_that_of_each_server(installation: Installation) {
    let other_server = installation.another_server().await;
    let (business, other) = (
        installation.business("acme").await,
        installation.business("other").await,
    );
    for round in 1..=3 {
        let writer = if round % 2 == 0 { &installation } else { &other_server };
        let draft = LeadDraft {
            status: LeadStatus::Replied,
            ..a_lead()
        };
        writer.lead(business, draft, 0).await;
        for server in [&installation, &other_server] {
            assert_eq!(totals(server, business).await, (round, round));
            assert_eq!(totals(server, other).await, (0, 0));
        }
    }
}

async fn a_cursor_passes_each_lead_once_whatever_others_write(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    let drafts = (0..300).map(|_| (a_lead(), at(0))).collect();
    session.load_leads(business, drafts).await.unwrap();
    session.commit().await.unwrap();
    let before = ids(&every_lead(installation.read().await.as_mut(), business).await);

    let stopped = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn({
        let (database, stopped, before) = (installation.database.clone(), Arc::clone(&stopped), before.clone());
        async move {
            let mut dice = Dice::new(4);
            let mut deleted = BTreeSet::new();
            while !stopped.load(Ordering::Relaxed) {
                let mut session = database.begin().await.unwrap();
                session.insert_lead(business, a_lead(), at(0)).await.unwrap();
                let id = *dice.pick(&before);
                session.delete_lead(business, LeadId::new(id)).await.unwrap();
                deleted.insert(id);
                session.commit().await.unwrap();
            }
            deleted
        }
    });
    let mut reader = installation.read().await;
    let mut passed = Vec::new();
    let mut after = Some(Cursor::at([before[0] + 1]));
    while let Some(cursor) = after {
        let request = page(Position::After(cursor), 7);
        let part = reader.leads(business, &LeadFilter::default(), &request).await.unwrap();
        passed.extend(ids(&part.items));
        after = part.next;
        tokio::task::yield_now().await;
    }
    stopped.store(true, Ordering::Relaxed);
    let deleted = writer.await.unwrap();
    assert!(passed.is_sorted_by(|one, next| one > next), "none twice, newest first");
    let passed: BTreeSet<_> = passed.into_iter().collect();
    assert!(passed.iter().all(|id| before.contains(id)));
    let missed: Vec<_> = before.iter().filter(|id| !passed.contains(id)).collect();
    assert!(missed.iter().all(|id| deleted.contains(id)), "{missed:?}");
}
