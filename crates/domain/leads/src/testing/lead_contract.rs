//! The contract suite for stores of leads.

use std::collections::{BTreeMap, BTreeSet};

use forecourt_kernel::{
    BusinessId, ContactId, Country, Date, LeadId, PageRequest, Phone, Range, SiteId, TextFilter, Timestamp, VehicleId,
    Version, fold_email,
    testing::{Choices, assert_pages, page_of},
};
use forecourt_reference::{LeadChannel, StockType};

use super::samples::{a_full_lead, a_lead, data};
use super::{KnownContact, KnownVehicle};
use crate::{
    ContactSuggestion, DueReopening, Lead, LeadData, LeadDraft, LeadFilter, LeadPreview, LeadReader, LeadStatus,
    LeadStore, LeadVehicle, Rating, SenderKeys, StockVehicle, SuggestedBy, VehicleChoice, VehicleClue,
};

/// The records of the businesses before the suite begins: no leads, but contacts and vehicles.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The business that the suite works in.
    pub ours: BusinessId,
    /// Another business, with the same kinds of records.
    pub theirs: BusinessId,
    /// Two contacts of `ours`, the only ones. They have no email and no number in common, and the first has an email and two
    /// numbers.
    pub contacts: [KnownContact; 2],
    /// Five vehicles of `ours`, in the order of their ids. The last two are equal in everything by which a vehicle is described.
    pub vehicles: [KnownVehicle; 5],
    /// A vehicle of `theirs` about which nothing is known.
    pub their_vehicle: KnownVehicle,
}

impl Surroundings {
    /// Returns contacts and vehicles that the contract can work with. The store under test has to have them, with these ids, before the
    /// contract begins.
    pub fn example(ours: BusinessId, theirs: BusinessId) -> Self {
        let contact = |id, email: &str, numbers: [&str; 2]| KnownContact {
            id: ContactId::new(id),
            email: email.to_owned(),
            numbers: numbers.map(str::to_owned),
        };
        let vehicle = |id: i64, numbers: [&str; 2], vin: &str| KnownVehicle {
            vehicle: StockVehicle {
                id: VehicleId::new(id),
                tag: format!("KQVR{id}"),
                registration: (!vin.is_empty()).then(|| "AB12 CDE".to_owned()),
                kind: StockType::InStock,
                make: "Volkswagen".to_owned(),
                model: "Golf".to_owned(),
                derivative: "1.5 TSI Match".to_owned(),
                url: format!("2021-volkswagen-golf-1-5-tsi-match-kqvr{id}"),
            },
            numbers: numbers.map(str::to_owned),
            vin: vin.to_owned(),
        };
        let described = |id| vehicle(id, ["A-17", "Ref 9"], "WVWZZZ1KZ6W000001");
        let nameless = |id| vehicle(id, ["", ""], "");
        Self {
            ours,
            theirs,
            contacts: [
                contact(1, "Ann@Example.com", ["+441632960123", "+447700900123"]),
                contact(2, "", ["", "+447700900999"]),
            ],
            vehicles: [nameless(1), nameless(2), nameless(3), described(4), described(5)],
            their_vehicle: nameless(6),
        }
    }
}

/// The leads that [`lead_store_contract`] leaves in a store, for readers to find.
#[derive(Clone, Debug)]
pub struct LeadBook {
    business: BusinessId,
    leads: BTreeMap<LeadId, Lead>,
    associations: BTreeSet<(VehicleId, LeadId)>,
}

impl LeadBook {
    /// Returns the leads that pass the filter, newest first.
    fn passing(&self, filter: &LeadFilter) -> Vec<Lead> {
        let concerns = |lead: &Lead| filter.matches(lead, |vehicle| self.associations.contains(&(vehicle, lead.id)));
        self.leads
            .values()
            .rev()
            .filter(|lead| concerns(lead))
            .cloned()
            .collect()
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_epoch_seconds(1_790_000_000 + seconds)
}

/// The largest page.
fn all() -> PageRequest {
    PageRequest {
        per_page: PageRequest::MAX_PER_PAGE,
        ..PageRequest::first()
    }
}

/// Tests that `store` meets the contract of a store of leads, and leaves leads in it for [`lead_reader_contract`].
///
/// # Panics
/// If the store violates the contract.
pub async fn lead_store_contract(store: &mut dyn LeadStore, around: &Surroundings) -> LeadBook {
    let Surroundings { ours, theirs, .. } = *around;
    knows_contacts_and_vehicles(store, around).await;
    keeps_every_field(store, ours).await;
    changes_one_lead_as_a_whole(store, ours).await;
    keeps_businesses_apart(store, ours, theirs).await;
    never_lets_stamps_run_against_ids(store, ours, theirs).await;
    associates_each_vehicle_once(store, around).await;
    reopens_leads_when_their_day_has_begun(store, ours, theirs).await;
    let book = fill(store, around).await;
    let mut choices = Choices::new(2);
    for _ in 0..3 {
        for (_, filter) in members(&a_filter(&mut choices, &book)) {
            assert_lists(store, &book, &filter).await;
        }
    }
    book
}

/// Tests that `reader` lists the leads that [`lead_store_contract`] has stored.
///
/// # Panics
/// If a list is not the leads that pass its filter.
pub async fn lead_reader_contract(reader: &mut dyn LeadReader, book: &LeadBook) {
    for lead in book.leads.values() {
        assert_eq!(stored(reader, book.business, lead.id).await.as_ref(), Some(lead));
    }
    assert_lists(reader, book, &LeadFilter::default()).await;
    let mut choices = Choices::new(1);
    for _ in 0..12 {
        for (_, filter) in members(&a_filter(&mut choices, book)) {
            assert_lists(reader, book, &filter).await;
        }
    }
    for _ in 0..2 {
        let whole = a_filter(&mut choices, book);
        assert_lists(reader, book, &whole).await;
        let members = members(&whole);
        for (place, (_, one)) in members.iter().enumerate() {
            for (_, other) in &members[..place] {
                assert_lists(reader, book, &both(one, other)).await;
            }
        }
    }
}

async fn stored(reader: &mut dyn LeadReader, business: BusinessId, id: LeadId) -> Option<Lead> {
    reader.lead(business, id).await.expect("it is read")
}

async fn inserted(store: &mut dyn LeadStore, business: BusinessId, draft: LeadDraft, second: i64) -> Lead {
    store
        .insert_lead(business, draft, at(second))
        .await
        .expect("it is stored")
}

async fn listed(reader: &mut dyn LeadReader, business: BusinessId, filter: &LeadFilter) -> Vec<LeadId> {
    let page = reader
        .leads(business, filter, &PageRequest::first())
        .await
        .expect("it is listed");
    page.items.iter().map(|lead| lead.id).collect()
}

fn concerning(vehicle: VehicleId) -> LeadFilter {
    LeadFilter {
        vehicle: Some(vehicle),
        ..LeadFilter::default()
    }
}

async fn knows_contacts_and_vehicles(store: &mut dyn LeadStore, around: &Surroundings) {
    let Surroundings {
        ours,
        theirs,
        contacts: [ann, bob],
        vehicles,
        their_vehicle,
    } = around;
    let (ours, theirs) = (*ours, *theirs);
    for contact in [ann, bob] {
        assert!(store.contact_exists(ours, contact.id).await.expect("an answer"));
        assert!(!store.contact_exists(theirs, contact.id).await.expect("an answer"));
    }
    let missing = ContactId::new(ann.id.get().max(bob.id.get()) + 1);
    assert!(!store.contact_exists(ours, missing).await.expect("an answer"));

    let email = fold_email(&ann.email);
    let [phone, mobile] = &ann.numbers;
    let stranger = "x@example.com";
    let keys = |email: &str, mobile: &str, phone: &str| SenderKeys {
        email: email.to_owned(),
        mobile: mobile.to_owned(),
        phone: phone.to_owned(),
    };
    for (keys, by) in [
        (keys(&email, "", ""), Some(SuggestedBy::Email)),
        (keys(&email, mobile, phone), Some(SuggestedBy::Email)),
        // The contact's landline is the sender's mobile.
        (keys(stranger, phone, ""), Some(SuggestedBy::Mobile)),
        (keys("", "", mobile), Some(SuggestedBy::Phone)),
        (keys(stranger, "", "+447700900000"), None),
        (keys("", "", ""), None),
    ] {
        let expected = by.map(|by| ContactSuggestion { contact: ann.id, by });
        let found = store.contacts_like(ours, &keys).await.expect("an answer");
        assert_eq!(found, Vec::from_iter(expected), "{keys:?}");
        assert_eq!(
            store.contacts_like(theirs, &keys).await.expect("an answer"),
            [],
            "{keys:?}"
        );
    }
    let bobs = bob.numbers.iter().find(|number| !number.is_empty()).expect("a number");
    let both = store
        .contacts_like(ours, &keys(&email, bobs, ""))
        .await
        .expect("an answer");
    assert_eq!(both.len(), 2);

    for KnownVehicle { vehicle, .. } in vehicles {
        for choice in [
            VehicleChoice::Id(vehicle.id),
            VehicleChoice::Tag(vehicle.tag.clone()),
            VehicleChoice::Tag(vehicle.tag.to_lowercase()),
        ] {
            let found = store.stock_vehicle(ours, &choice).await.expect("an answer");
            assert_eq!(found.as_ref(), Some(vehicle), "{choice:?}");
        }
        let by_id = VehicleChoice::Id(vehicle.id);
        assert_eq!(store.stock_vehicle(theirs, &by_id).await.expect("an answer"), None);
    }
    for choice in [
        VehicleChoice::Id(their_vehicle.vehicle.id),
        VehicleChoice::Id(VehicleId::new(0)),
        VehicleChoice::Id(VehicleId::new(i64::MAX)),
        VehicleChoice::Tag("ZZZZZ".into()),
        VehicleChoice::Tag("no tag at all".into()),
        VehicleChoice::Tag(String::new()),
    ] {
        assert_eq!(
            store.stock_vehicle(ours, &choice).await.expect("an answer"),
            None,
            "{choice:?}"
        );
    }
    let [.., described, _] = vehicles;
    let id = Some(described.vehicle.id);
    let [number, reference] = &described.numbers;
    let registration = described.vehicle.registration.as_deref().expect("a mark");
    for (clue, expected) in [
        (VehicleClue::StockNumber(number.to_lowercase()), id),
        (VehicleClue::StockNumber(reference.to_uppercase()), id),
        (VehicleClue::StockNumber("no such number".to_owned()), None),
        (VehicleClue::Registration(registration.replace(' ', "")), id),
        (VehicleClue::Registration(registration.to_lowercase()), id),
        (VehicleClue::Registration("???".to_owned()), None),
        (VehicleClue::Vin(described.vin.to_lowercase()), id),
        (VehicleClue::Vin("WVWZZZ1KZ6W999999".to_owned()), None),
    ] {
        assert_eq!(
            store.vehicle_with(ours, &clue).await.expect("an answer"),
            expected,
            "{clue:?}"
        );
        assert_eq!(
            store.vehicle_with(theirs, &clue).await.expect("an answer"),
            None,
            "{clue:?}"
        );
    }
}

fn drafts() -> [LeadDraft; 4] {
    let padded = LeadDraft {
        name: "  İSTANBUL ǅ ß ﬁ  ".to_owned(),
        email: "x".repeat(3000),
        ..a_lead()
    };
    let largest = LeadDraft {
        data: data(&format!(r#"{{"a":"{}"}}"#, "é".repeat(LeadData::MAX_BYTES / 2 - 8))),
        name: "n".repeat(3000),
        ..a_full_lead()
    };
    [a_lead(), a_full_lead(), padded, largest]
}

async fn keeps_every_field(store: &mut dyn LeadStore, ours: BusinessId) {
    let mut last = None;
    for (number, draft) in (1..).zip(drafts()) {
        let lead = inserted(store, ours, draft.clone(), number).await;
        let expected = Lead {
            id: lead.id,
            reference: number,
            created: at(number),
            updated: at(number),
            version: Version::FIRST,
            content: draft,
        };
        assert_eq!(lead, expected);
        assert!(Some(lead.id) > last, "ids rise");
        last = Some(lead.id);
        assert_eq!(stored(store, ours, lead.id).await.as_ref(), Some(&expected));
        assert_eq!(
            store.lock_lead(ours, lead.id).await.expect("it is locked"),
            Some(expected.clone())
        );
        let page = store.leads(ours, &LeadFilter::default(), &PageRequest::first()).await;
        assert_eq!(page.expect("it is listed").items.first(), Some(&expected));
    }
}

async fn changes_one_lead_as_a_whole(store: &mut dyn LeadStore, ours: BusinessId) {
    let bystander = inserted(store, ours, a_lead(), 5).await;
    let lead = inserted(store, ours, a_lead(), 5).await;
    for (step, content) in (1..).zip(drafts().into_iter().rev()) {
        let changed = Lead {
            content,
            updated: at(5 + step),
            version: Version::new(step + 1),
            ..lead.clone()
        };
        store.save_lead(ours, &changed).await.expect("it is saved");
        assert_eq!(stored(store, ours, lead.id).await, Some(changed));
    }
    assert_eq!(stored(store, ours, bystander.id).await, Some(bystander));
}

async fn keeps_businesses_apart(store: &mut dyn LeadStore, ours: BusinessId, theirs: BusinessId) {
    let lead = inserted(store, ours, a_lead(), 10).await;
    assert_eq!(stored(store, theirs, lead.id).await, None);
    assert_eq!(store.lock_lead(theirs, lead.id).await.expect("an answer"), None);
    let changed = Lead {
        content: a_full_lead(),
        ..lead.clone()
    };
    store.save_lead(theirs, &changed).await.expect("nothing is saved");
    store.delete_lead(theirs, lead.id).await.expect("nothing is deleted");
    let page = store
        .leads(theirs, &LeadFilter::default(), &PageRequest::first())
        .await
        .expect("it is listed");
    assert_eq!((page.items, page.total), (Vec::new(), Some(0)));
    assert_eq!(stored(store, ours, lead.id).await, Some(lead));
    let other = inserted(store, theirs, a_lead(), 3).await;
    assert_eq!(other.reference, 1, "each business counts for itself");
    assert_eq!(other.created, at(3), "each business has a clock of its own");
}

async fn never_lets_stamps_run_against_ids(store: &mut dyn LeadStore, ours: BusinessId, theirs: BusinessId) {
    let first = inserted(store, ours, a_lead(), 100).await;
    for (number, (second, expected)) in (1..).zip([(100, 100), (40, 100), (130, 130), (129, 130)]) {
        let lead = inserted(store, ours, a_lead(), second).await;
        assert_eq!(lead.reference, first.reference + number);
        assert_eq!((lead.created, lead.updated), (at(expected), at(expected)));
        assert_eq!(stored(store, ours, lead.id).await, Some(lead.clone()));
        // A change is not earlier than its lead either.
        let changed = Lead {
            updated: at(7),
            ..lead.clone()
        };
        store.save_lead(ours, &changed).await.expect("it is saved");
        assert_eq!(stored(store, ours, lead.id).await, Some(lead));
    }
    assert_eq!(inserted(store, theirs, a_lead(), 4).await.created, at(4));
}

async fn associates_each_vehicle_once(store: &mut dyn LeadStore, around: &Surroundings) {
    let (ours, theirs) = (around.ours, around.theirs);
    let cars = around.vehicles.each_ref().map(|known| known.vehicle.clone());
    let one = inserted(store, ours, a_lead(), 200).await.id;
    let other = inserted(store, ours, a_lead(), 200).await.id;
    for (lead, car, second, new) in [
        (one, 2, 201, true),
        (one, 2, 202, false),
        (one, 4, 203, true),
        (one, 0, 204, true),
        (one, 3, 205, true),
        (one, 1, 206, true),
        (other, 2, 207, true),
    ] {
        let associated = store.associate_vehicle(ours, lead, cars[car].id, at(second)).await;
        assert_eq!(associated.expect("an answer"), new, "vehicle {car} at {second}");
    }
    let expected: Vec<_> = [(4, 203), (3, 205), (2, 201), (1, 206), (0, 204)]
        .map(|(car, second)| LeadVehicle {
            lead: one,
            vehicle: cars[car].clone(),
            created: at(second),
        })
        .into();
    let id = |concerned: &LeadVehicle| concerned.vehicle.id.get();
    assert_pages(&expected, id, async |request| {
        let page = store.lead_vehicles(ours, one, &request).await.expect("they are listed");
        page.expect("a lead")
    })
    .await;
    assert_eq!(listed(store, ours, &concerning(cars[2].id)).await, [other, one]);
    assert_eq!(listed(store, ours, &concerning(cars[0].id)).await, [one]);
    assert!(listed(store, theirs, &concerning(cars[0].id)).await.is_empty());

    // Another lead and another business have no association to remove.
    for (business, lead, car) in [(ours, other, 0), (theirs, one, 2), (ours, LeadId::new(i64::MAX), 2)] {
        let forgotten = store.dissociate_vehicle(business, lead, cars[car].id).await;
        assert!(!forgotten.expect("an answer"));
    }
    assert!(
        store
            .dissociate_vehicle(ours, one, cars[2].id)
            .await
            .expect("an answer")
    );
    assert!(
        !store
            .dissociate_vehicle(ours, one, cars[2].id)
            .await
            .expect("an answer")
    );
    assert_eq!(listed(store, ours, &concerning(cars[2].id)).await, [other]);

    let theirs_car = around.their_vehicle.vehicle.id;
    let their_lead = inserted(store, theirs, a_lead(), 200).await.id;
    assert!(
        store
            .associate_vehicle(theirs, their_lead, theirs_car, at(208))
            .await
            .expect("an answer")
    );
    assert!(listed(store, ours, &concerning(theirs_car)).await.is_empty());
    let first = PageRequest::first();
    for (business, lead) in [(ours, their_lead), (theirs, one), (ours, LeadId::new(i64::MAX))] {
        assert_eq!(
            store.lead_vehicles(business, lead, &first).await.expect("an answer"),
            None
        );
    }

    // A deleted lead has no vehicles.
    store.delete_lead(ours, one).await.expect("it is deleted");
    store.delete_lead(ours, one).await.expect("it is gone already");
    assert_eq!(stored(store, ours, one).await, None);
    assert_eq!(store.lead_vehicles(ours, one, &first).await.expect("an answer"), None);
    assert!(listed(store, ours, &concerning(cars[0].id)).await.is_empty());
    assert!(stored(store, ours, other).await.is_some());
    assert_eq!(listed(store, ours, &concerning(cars[2].id)).await, [other]);
}

async fn reopens_leads_when_their_day_has_begun(store: &mut dyn LeadStore, ours: BusinessId, theirs: BusinessId) {
    let closed = |day: &str| LeadDraft {
        status: LeadStatus::Closed,
        reopen: Some(day.parse().expect("it is a day")),
        ..a_lead()
    };
    let mut due = Vec::new();
    for (business, day) in [(ours, "2026-03-02"), (theirs, "2026-03-01"), (ours, "2026-03-03")] {
        let lead = inserted(store, business, closed(day), 300).await.id;
        due.push(DueReopening { business, lead });
    }
    let midnight = |day: &str| day.parse::<Date>().expect("it is a day").midnight();
    for (now, limit, expected) in [
        (midnight("2026-03-01").plus_seconds(-1), 9, &[][..]),
        (midnight("2026-03-02").plus_seconds(-1), 9, &[due[1]]),
        (midnight("2026-03-02"), 9, &[due[1], due[0]]),
        (midnight("2026-03-09"), 2, &[due[1], due[0]]),
        (midnight("2026-03-09"), 9, &[due[1], due[0], due[2]]),
    ] {
        assert_eq!(
            store.due_reopenings(now, limit).await.expect("an answer"),
            expected,
            "{now:?}"
        );
    }
}

const LEADS: i64 = 200;

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

fn a_draft(choices: &mut Choices) -> LeadDraft {
    LeadDraft {
        site: SiteId::new(choices.number(3)),
        channel: *choices.pick(LeadChannel::ALL),
        status: *choices.pick(&LeadStatus::ALL),
        name: (*choices.pick(&NAMES)).to_owned(),
        email: (*choices.pick(&EMAILS)).to_owned(),
        phone: (*choices.pick(&PHONES)).to_owned(),
        mobile: (*choices.pick(&PHONES)).to_owned(),
        contact: choices
            .chance(30)
            .then(|| ContactId::new(1_000_000 + choices.number(5))),
        rating: Rating::new(choices.number(8)),
        ..a_lead()
    }
}

/// Stores several hundred leads of every kind, many of them changed and some deleted. Another business gets equal ones.
async fn fill(store: &mut dyn LeadStore, around: &Surroundings) -> LeadBook {
    let (business, mut choices) = (around.ours, Choices::new(3));
    let before = store
        .leads(business, &LeadFilter::default(), &all())
        .await
        .expect("they are listed");
    for lead in before.items {
        store.delete_lead(business, lead.id).await.expect("it is deleted");
    }
    let mut leads = BTreeMap::new();
    let mut second = 1_000;
    for number in 0..LEADS * 3 / 2 {
        second += choices.number(4);
        let draft = a_draft(&mut choices);
        if number % 3 == 2 {
            inserted(store, around.theirs, draft, second).await;
        } else {
            let lead = inserted(store, business, draft, second).await;
            leads.insert(lead.id, lead);
        }
    }
    for id in leads.keys().copied().collect::<Vec<_>>() {
        match choices.below(10) {
            0 => {
                store.delete_lead(business, id).await.expect("it is deleted");
                leads.remove(&id);
            }
            1..4 => {
                let lead = leads.get_mut(&id).expect("it is there");
                lead.content = a_draft(&mut choices);
                lead.updated = lead.created.plus_seconds(choices.number(LEADS));
                lead.version = lead.version.next();
                store.save_lead(business, lead).await.expect("it is saved");
            }
            _ => {}
        }
    }
    // A sixth of the leads have no vehicle.
    let mut associations = BTreeSet::new();
    for (lead, turn) in leads.values_mut().zip((0..6).cycle()) {
        if let Some(known) = around.vehicles.get(turn) {
            let car = known.vehicle.id;
            assert!(
                store
                    .associate_vehicle(business, lead.id, car, at(0))
                    .await
                    .expect("an answer")
            );
            associations.insert((car, lead.id));
            *lead = lead.clone().concerning(&[car]);
        }
    }
    LeadBook {
        business,
        leads,
        associations,
    }
}

/// A filter with every member set, most often to a value that some lead has.
fn a_filter(choices: &mut Choices, book: &LeadBook) -> LeadFilter {
    let leads: Vec<&Lead> = book.leads.values().collect();
    let lead = *choices.pick(&leads);
    let vehicles: Vec<_> = book.associations.iter().collect();
    let phone = |text: &str| Phone::parse(text, Country::GB).ok();
    let text = |choices: &mut Choices, text: &str| {
        let wanted = if choices.chance(50) {
            choices.pick(&PATTERNS)
        } else {
            text
        };
        TextFilter::parse(wanted).ok()
    };
    let stamps = |choices: &mut Choices| {
        let bound = |choices: &mut Choices| choices.chance(70).then(|| at(1_000 + choices.number(LEADS * 3)));
        let (from, to) = (bound(choices), bound(choices));
        Some(match choices.below(3) {
            0 => Range::exactly(lead.created),
            // Empty ranges too.
            _ => Range { from, to },
        })
    };
    LeadFilter {
        site: Some(lead.content.site),
        status: Some(lead.content.status),
        channel: Some(lead.content.channel),
        reference: Some(lead.reference + i64::from(choices.chance(10))),
        name: text(choices, &lead.content.name),
        email: text(choices, &lead.content.email).map(TextFilter::for_email),
        phone: phone(&lead.content.phone).or_else(|| phone(PHONES[choices.below(3)])),
        mobile: phone(&lead.content.mobile).or_else(|| phone(PHONES[choices.below(3)])),
        contact: lead.content.contact.or(Some(ContactId::new(1_000_000))),
        vehicle: Some(choices.pick(&vehicles).0),
        rating_min: Rating::new(1 + choices.number(5)),
        created: stamps(choices),
        updated: stamps(choices),
    }
}

/// Lists the members of a filter. A new member does not compile until it is named here, and then it must be tested.
macro_rules! members {
    ($($member:ident),+) => {
        /// Returns a filter for each member, with its name.
        fn members(filter: &LeadFilter) -> Vec<(&'static str, LeadFilter)> {
            let LeadFilter { $($member),+ } = filter.clone();
            vec![$({
                assert!($member.is_some(), concat!(stringify!($member), " is not tested"));
                (stringify!($member), LeadFilter { $member, ..LeadFilter::default() })
            }),+]
        }

        /// Combines two filters that set different members.
        fn both(one: &LeadFilter, other: &LeadFilter) -> LeadFilter {
            let (one, other) = (one.clone(), other.clone());
            LeadFilter { $($member: one.$member.or(other.$member),)+ }
        }
    };
}

members! {
    site, status, channel, reference, name, email, phone, mobile, contact, vehicle, rating_min, created, updated
}

/// Asserts that the lists, by number and by cursor and in both views, have the leads that pass the filter.
async fn assert_lists(reader: &mut dyn LeadReader, book: &LeadBook, filter: &LeadFilter) {
    let expected = book.passing(filter);
    assert_pages(
        &expected,
        |lead| lead.id.get(),
        async |request| {
            let page = reader.leads(book.business, filter, &request).await;
            page.unwrap_or_else(|failure| panic!("{filter:?}: {failure}"))
        },
    )
    .await;
    let previews: Vec<_> = expected
        .iter()
        .map(|lead| LeadPreview::of(lead).expect("it is shown"))
        .collect();
    let shown = reader
        .lead_previews(book.business, filter, &all())
        .await
        .expect("they are listed");
    assert_eq!(
        shown,
        page_of(&previews, &all(), |preview| preview.id().get()),
        "{filter:?}"
    );
}
