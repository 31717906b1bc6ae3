//! Totals and pages far down while records are written: they must be what a model counts anew each time.

use std::collections::BTreeMap;

use forecourt_contacts::{Contact, ContactDraft, ContactFilter, WholeText};
use forecourt_kernel::{
    BusinessId, ContactId, LeadId, PageRequest, Position, Range, TextFilter, Timestamp, VehicleId, View,
};
use forecourt_leads::{Lead, LeadDraft, LeadFilter, LeadStatus};
use forecourt_reference::StockType;
use forecourt_vehicles::{FieldCondition, FieldFilter, Vehicle, VehicleDraft, VehicleFilter, VehicleStatus};
use serde_json::json;

use crate::fleet::draft;
use crate::installation::{Installation, both_engines};
use crate::samples::{Dice, a_contact, a_lead, at};

both_engines!(
    lists_of_leads_are_counted_right_whatever_is_written,
    lists_of_contacts_are_counted_right_whatever_is_written,
    lists_of_vehicles_are_counted_right_whatever_is_written,
    what_is_written_while_it_is_counted_is_counted_in_the_end,
);

/// The number of records that are loaded at once.
const BATCH: usize = 300;
/// The number of batches: fewer would prove little.
const BATCHES: usize = 16;
const ROUNDS: usize = 24;
const PER_PAGE: u32 = 40;

/// The change of records between two counts.
#[derive(Clone, Copy, Debug)]
enum Change {
    Insert,
    Load(usize),
    Save(usize),
    Delete(usize),
    /// Many in a row.
    DeleteMany,
    /// As `Save`, but never committed.
    GiveUp,
}

fn a_change(dice: &mut Dice) -> Change {
    match dice.roll(9) {
        0 | 1 => Change::Insert,
        2 => Change::Load(1 + dice.roll(30)),
        3 | 4 => Change::Save(1),
        5 => Change::Save(30),
        6 => Change::Delete(1 + dice.roll(3)),
        7 => Change::DeleteMany,
        _ => Change::GiveUp,
    }
}

/// Some of the records.
fn chosen<K: Copy + Ord, R: Clone>(dice: &mut Dice, records: &BTreeMap<K, R>, change: Change) -> Vec<R> {
    let keys: Vec<K> = records.keys().copied().collect();
    let mut chosen: Vec<K> = match change {
        Change::Insert | Change::Load(_) => Vec::new(),
        Change::Save(count) | Change::Delete(count) => (0..count).map(|_| *dice.pick(&keys)).collect(),
        Change::GiveUp => (0..3).map(|_| *dice.pick(&keys)).collect(),
        Change::DeleteMany => {
            let first = dice.roll(keys.len());
            keys[first..].iter().copied().take(BATCH / 2).collect()
        }
    };
    chosen.sort_unstable();
    chosen.dedup();
    chosen.into_iter().map(|key| records[&key].clone()).collect()
}

/// Chooses a page of a list, and returns it with its part of the passing records.
fn a_page(dice: &mut Dice, passing: &[i64]) -> (PageRequest, Vec<i64>) {
    let per_page = PER_PAGE as usize;
    let pages = passing.len().div_ceil(per_page).max(1);
    let number = if dice.chance(50) { 0 } else { dice.roll(pages) };
    let request = PageRequest {
        position: Position::Number(number as u64 + 1),
        per_page: PER_PAGE,
    };
    let shown = passing.iter().skip(number * per_page).take(per_page);
    (request, shown.copied().collect())
}

fn a_new_lead(dice: &mut Dice) -> LeadDraft {
    LeadDraft {
        name: format!(
            "{} {}",
            dice.pick(&["Ann", "Bea", "Zoë"]),
            dice.pick(&["Smith", "Ford"])
        ),
        email: if dice.chance(95) { "ann@example.com" } else { "" }.to_owned(),
        status: *dice.pick(&[LeadStatus::New, LeadStatus::Closed]),
        ..a_lead()
    }
}

/// Filters, each with a model of its result.
type Cases<F, R> = Vec<(F, Box<dyn Fn(&R) -> bool + Send + Sync>)>;

fn lead_cases() -> Cases<LeadFilter, Lead> {
    let all = LeadFilter::default;
    let text = |text: &str| TextFilter::parse(text).ok();
    // Some come in after the one and before the other.
    let (from, to) = (at(500), at(50_000));
    let range = move |from: Option<Timestamp>, to: Option<Timestamp>| Some(Range { from, to });
    vec![
        (
            LeadFilter {
                email: text("%example.com"),
                ..all()
            },
            Box::new(|lead| lead.content.email.ends_with("example.com")),
        ),
        (
            LeadFilter {
                email: text("ann@example.com"),
                created: range(Some(from), None),
                ..all()
            },
            Box::new(move |lead| lead.content.email == "ann@example.com" && lead.created >= from),
        ),
        (
            LeadFilter {
                name: text("%smith"),
                status: Some(LeadStatus::Closed),
                ..all()
            },
            Box::new(|lead| lead.content.name.ends_with("Smith") && lead.content.status == LeadStatus::Closed),
        ),
        (
            LeadFilter {
                email: text("%@example.%"),
                updated: range(None, Some(to)),
                ..all()
            },
            Box::new(move |lead| !lead.content.email.is_empty() && lead.updated <= to),
        ),
        (
            LeadFilter {
                name: text("%nobody%"),
                ..all()
            },
            Box::new(|_| false),
        ),
    ]
}

async fn lists_of_leads_are_counted_right_whatever_is_written(installation: Installation) {
    let business = installation.business("acme").await;
    let mut dice = Dice::new(1);
    for batch in 0..BATCHES {
        let mut session = installation.begin().await;
        let count = if batch == 3 { 5 } else { BATCH };
        let drafts = (0..count).map(|_| (a_new_lead(&mut dice), at(batch as i64 * 100)));
        session.load_leads(business, drafts.collect()).await.unwrap();
        session.commit().await.unwrap();
    }
    let mut leads = BTreeMap::new();
    every_lead(&installation, business, &mut leads).await;
    let other_server = installation.another_server().await;
    let cases = lead_cases();
    for round in 0..ROUNDS {
        for (filter, passes) in &cases {
            let passing = leads.values().rev().filter(|lead| passes(lead));
            let passing: Vec<i64> = passing.map(|lead| lead.id.get()).collect();
            let (request, expected) = a_page(&mut dice, &passing);
            let mut reader = installation.read().await;
            let page = reader.leads(business, filter, &request).await.unwrap();
            let shown: Vec<i64> = page.items.iter().map(|lead| lead.id.get()).collect();
            let total = i64::try_from(passing.len()).ok();
            assert_eq!((page.total, shown), (total, expected), "round {round}, {filter:?}");
        }
        let change = a_change(&mut dice);
        let chosen = chosen(&mut dice, &leads, change);
        let now = at(10_000 + round as i64 * 2_000);
        let server = if dice.chance(50) { &installation } else { &other_server };
        let mut session = server.begin().await;
        match change {
            Change::Insert => {
                let lead = session.insert_lead(business, a_new_lead(&mut dice), now).await.unwrap();
                leads.insert(lead.id, lead);
            }
            Change::Load(count) => {
                let drafts = (0..count).map(|_| (a_new_lead(&mut dice), now));
                session.load_leads(business, drafts.collect()).await.unwrap();
            }
            Change::Save(_) | Change::GiveUp => {
                for lead in chosen {
                    let lead = Lead {
                        content: a_new_lead(&mut dice),
                        updated: now,
                        ..lead
                    };
                    session.save_lead(business, &lead).await.unwrap();
                    if !matches!(change, Change::GiveUp) {
                        leads.insert(lead.id, lead);
                    }
                }
            }
            Change::Delete(_) | Change::DeleteMany => {
                for lead in chosen {
                    session.delete_lead(business, lead.id).await.unwrap();
                    leads.remove(&lead.id);
                }
            }
        }
        if matches!(change, Change::GiveUp) {
            drop(session);
        } else {
            session.commit().await.unwrap();
        }
        if matches!(change, Change::Load(_)) {
            every_lead(&installation, business, &mut leads).await;
        }
    }
}

/// Adds the leads that the model does not have yet.
async fn every_lead(installation: &Installation, business: BusinessId, leads: &mut BTreeMap<LeadId, Lead>) {
    let latest = leads.keys().next_back().copied();
    let mut reader = installation.read().await;
    let mut request = newest();
    loop {
        let page = reader.leads(business, &LeadFilter::default(), &request).await.unwrap();
        let known = page.items.iter().any(|lead| Some(lead.id) == latest);
        leads.extend(page.items.into_iter().map(|lead| (lead.id, lead)));
        let Some(next) = page.next.filter(|_| !known) else {
            break;
        };
        request.position = Position::After(next);
    }
}

fn newest() -> PageRequest {
    PageRequest {
        position: Position::Number(1),
        per_page: PageRequest::MAX_PER_PAGE,
    }
}

fn a_new_contact(dice: &mut Dice) -> ContactDraft {
    ContactDraft {
        name: (*dice.pick(&["Ann Smith", "Bea Ford"])).to_owned(),
        email: if dice.chance(95) {
            "ann@example.com"
        } else {
            "zoe@example.org"
        }
        .to_owned(),
        vat: if dice.chance(98) { "GB 9" } else { "" }.to_owned(),
        ..a_contact()
    }
}

fn contact_filters() -> Vec<ContactFilter> {
    let all = ContactFilter::default;
    let text = |text: &str| TextFilter::parse(text).ok();
    vec![
        all(),
        ContactFilter {
            email: text("%example.com"),
            ..all()
        },
        ContactFilter {
            email: text("%nobody%"),
            ..all()
        },
        ContactFilter {
            email: text("%ann%"),
            name: Some(WholeText::new("ann smith")),
            ..all()
        },
        ContactFilter {
            vat: Some(WholeText::new("gb 9")),
            ..all()
        },
    ]
}

async fn lists_of_contacts_are_counted_right_whatever_is_written(installation: Installation) {
    let business = installation.business("acme").await;
    let mut dice = Dice::new(2);
    for batch in 0..BATCHES {
        let mut session = installation.begin().await;
        let count = if batch == 3 { 5 } else { BATCH };
        let drafts = (0..count).map(|_| (a_new_contact(&mut dice), at(0)));
        session.load_contacts(business, drafts.collect()).await.unwrap();
        session.commit().await.unwrap();
    }
    let mut contacts = BTreeMap::new();
    every_contact(&installation, business, &mut contacts).await;
    let other_server = installation.another_server().await;
    for round in 0..ROUNDS {
        for filter in contact_filters() {
            let passing = contacts.values().rev().filter(|contact| filter.matches(contact));
            let passing: Vec<i64> = passing.map(|contact| contact.id.get()).collect();
            let (request, expected) = a_page(&mut dice, &passing);
            let mut reader = installation.read().await;
            let page = reader
                .contacts(business, &filter, &request, View::Simple)
                .await
                .unwrap();
            let shown: Vec<i64> = page.items.iter().map(|contact| contact.id.get()).collect();
            let total = i64::try_from(passing.len()).ok();
            assert_eq!((page.total, shown), (total, expected), "round {round}, {filter:?}");
        }
        let change = a_change(&mut dice);
        let chosen = chosen(&mut dice, &contacts, change);
        let server = if dice.chance(50) { &installation } else { &other_server };
        let mut session = server.begin().await;
        match change {
            Change::Insert => {
                let draft = a_new_contact(&mut dice);
                let contact = session.insert_contact(business, draft, at(1)).await.unwrap();
                contacts.insert(contact.id, contact);
            }
            Change::Load(count) => {
                let drafts = (0..count).map(|_| (a_new_contact(&mut dice), at(1)));
                session.load_contacts(business, drafts.collect()).await.unwrap();
            }
            Change::Save(_) | Change::GiveUp => {
                for contact in chosen {
                    let contact = Contact {
                        content: a_new_contact(&mut dice),
                        ..contact
                    };
                    session.save_contact(business, &contact).await.unwrap();
                    if !matches!(change, Change::GiveUp) {
                        contacts.insert(contact.id, contact);
                    }
                }
            }
            Change::Delete(_) | Change::DeleteMany => {
                for contact in chosen {
                    session.erase_contact(business, &contact).await.unwrap();
                    contacts.remove(&contact.id);
                }
            }
        }
        if matches!(change, Change::GiveUp) {
            drop(session);
        } else {
            session.commit().await.unwrap();
        }
        if matches!(change, Change::Load(_)) {
            every_contact(&installation, business, &mut contacts).await;
        }
    }
}

/// Adds the contacts that the model does not have yet.
async fn every_contact(installation: &Installation, business: BusinessId, contacts: &mut BTreeMap<ContactId, Contact>) {
    let latest = contacts.keys().next_back().copied();
    let mut reader = installation.read().await;
    let mut request = newest();
    loop {
        let everyone = ContactFilter::default();
        let page = reader
            .contacts(business, &everyone, &request, View::Simple)
            .await
            .unwrap();
        let known = page.items.iter().any(|contact| Some(contact.id) == latest);
        contacts.extend(page.items.into_iter().map(|contact| (contact.id, contact)));
        let Some(next) = page.next.filter(|_| !known) else {
            break;
        };
        request.position = Position::After(next);
    }
}

fn a_new_vehicle(dice: &mut Dice) -> VehicleDraft {
    draft(json!({
        "type": "s", "status": dice.pick(&["for_sale", "complete"]), "country": "GB",
        "channels": if dice.chance(95) { json!(["website"]) } else { json!([]) },
        "tag": if dice.chance(95) { json!([{"name": "Ready", "checked": true}]) } else { json!([]) },
        "data": {
            "vehicle": {
                "make": dice.pick(&["Ford", "Kia", "Fjord"]), "fuel": "Petrol", "mileage": dice.number(120_000),
            },
            "stock": {"reference": dice.pick(&["R1", "R2"])},
        },
    }))
}

fn vehicle_filters() -> Vec<VehicleFilter> {
    let all = VehicleFilter::default;
    let field = |name, wanted| FieldFilter { name, wanted };
    let text = |text: &str| FieldCondition::Text(TextFilter::parse(text).unwrap());
    let from = |from| FieldCondition::Within(Range { from, to: None });
    vec![
        all(),
        VehicleFilter {
            channel: Some("website".to_owned()),
            tag_name: Some("Ready".to_owned()),
            kind: Some(StockType::InStock),
            ..all()
        },
        VehicleFilter {
            fields: vec![field("make", text("%ord%")), field("mileage", from(Some(10_000)))],
            ..all()
        },
        VehicleFilter {
            fields: vec![field("fuel", text("petrol"))],
            created: Some(Range {
                from: Some(at(50)),
                to: None,
            }),
            ..all()
        },
        VehicleFilter {
            fields: vec![field("mileage", from(Some(1_234)))],
            ..all()
        },
        VehicleFilter {
            status: "for_sale".parse().ok(),
            fields: vec![field(
                "reference",
                FieldCondition::AnyOf(vec!["r1".to_owned(), "r3".to_owned()]),
            )],
            ..all()
        },
    ]
}

async fn lists_of_vehicles_are_counted_right_whatever_is_written(installation: Installation) {
    let business = installation.business("acme").await;
    let mut dice = Dice::new(3);
    for batch in 0..BATCHES {
        let mut session = installation.begin().await;
        let count = if batch == 3 { 5 } else { BATCH };
        let drafts = (0..count).map(|_| (a_new_vehicle(&mut dice), at(batch as i64 * 10)));
        session.load_vehicles(business, drafts.collect()).await.unwrap();
        session.commit().await.unwrap();
    }
    let mut vehicles = BTreeMap::new();
    every_vehicle(&installation, business, &mut vehicles).await;
    let other_server = installation.another_server().await;
    for round in 0..ROUNDS {
        for filter in vehicle_filters() {
            let passing = vehicles.values().rev().filter(|vehicle| filter.matches(vehicle));
            let passing: Vec<i64> = passing.map(|vehicle| vehicle.id.get()).collect();
            let (request, expected) = a_page(&mut dice, &passing);
            let mut reader = installation.read().await;
            let page = reader.vehicles(business, &filter, &request).await.unwrap();
            let shown: Vec<i64> = page.items.iter().map(|vehicle| vehicle.id.get()).collect();
            let total = i64::try_from(passing.len()).ok();
            assert_eq!((page.total, shown), (total, expected), "round {round}, {filter:?}");
        }
        let change = a_change(&mut dice);
        let chosen = chosen(&mut dice, &vehicles, change);
        let server = if dice.chance(50) { &installation } else { &other_server };
        let mut session = server.begin().await;
        match change {
            Change::Insert => {
                let draft = a_new_vehicle(&mut dice);
                let vehicle = session.insert_vehicle(business, draft, at(1_000)).await.unwrap();
                vehicles.insert(vehicle.id, vehicle);
            }
            Change::Load(count) => {
                let drafts = (0..count).map(|_| (a_new_vehicle(&mut dice), at(1_000)));
                session.load_vehicles(business, drafts.collect()).await.unwrap();
            }
            Change::Save(_) | Change::GiveUp => {
                for vehicle in chosen {
                    let vehicle = Vehicle {
                        content: a_new_vehicle(&mut dice),
                        ..vehicle
                    };
                    session.save_vehicle(business, &vehicle).await.unwrap();
                    if !matches!(change, Change::GiveUp) {
                        vehicles.insert(vehicle.id, vehicle);
                    }
                }
            }
            Change::Delete(_) | Change::DeleteMany => {
                for mut vehicle in chosen {
                    vehicle.content.status = VehicleStatus::Deleted;
                    session.save_vehicle(business, &vehicle).await.unwrap();
                    vehicles.remove(&vehicle.id);
                }
            }
        }
        if matches!(change, Change::GiveUp) {
            drop(session);
        } else {
            session.commit().await.unwrap();
        }
        if matches!(change, Change::Load(_)) {
            every_vehicle(&installation, business, &mut vehicles).await;
        }
    }
}

/// Adds the vehicles that the model does not have yet.
async fn every_vehicle(installation: &Installation, business: BusinessId, vehicles: &mut BTreeMap<VehicleId, Vehicle>) {
    let latest = vehicles.keys().next_back().copied();
    let mut reader = installation.read().await;
    let mut request = newest();
    loop {
        let page = reader
            .vehicles(business, &VehicleFilter::default(), &request)
            .await
            .unwrap();
        let known = page.items.iter().any(|vehicle| Some(vehicle.id) == latest);
        vehicles.extend(page.items.into_iter().map(|vehicle| (vehicle.id, vehicle)));
        let Some(next) = page.next.filter(|_| !known) else {
            break;
        };
        request.position = Position::After(next);
    }
}

async fn what_is_written_while_it_is_counted_is_counted_in_the_end(installation: Installation) {
    let business = installation.business("acme").await;
    let mut dice = Dice::new(4);
    for _ in 0..BATCHES {
        let mut session = installation.begin().await;
        let drafts = (0..BATCH).map(|_| (a_new_contact(&mut dice), at(0)));
        session.load_contacts(business, drafts.collect()).await.unwrap();
        session.commit().await.unwrap();
    }
    let mut contacts = BTreeMap::new();
    every_contact(&installation, business, &mut contacts).await;
    let contacts: Vec<Contact> = contacts.into_values().collect();
    let request = PageRequest {
        position: Position::Number(1),
        per_page: 1,
    };
    for turn in 0..4 {
        let write = async |seed| {
            let mut dice = Dice::new(seed);
            for turn in 0..20 {
                let mut session = installation.begin().await;
                for _ in 0..=turn % 3 {
                    let content = a_new_contact(&mut dice);
                    if dice.chance(30) {
                        session.insert_contact(business, content, at(1)).await.unwrap();
                        continue;
                    }
                    // No other thread writes those: no writer waits for another.
                    let number = dice.roll(contacts.len() / 2) * 2 + usize::from(seed % 2 == 0);
                    let contact = Contact {
                        content,
                        ..contacts[number].clone()
                    };
                    session.save_contact(business, &contact).await.unwrap();
                }
                session.commit().await.unwrap();
            }
        };
        let count = async || {
            for _ in 0..20 {
                for filter in contact_filters() {
                    let mut reader = installation.read().await;
                    reader
                        .contacts(business, &filter, &request, View::Simple)
                        .await
                        .unwrap();
                }
            }
        };
        tokio::join!(write(2 * turn), write(2 * turn + 1), count(), count());
        for filter in contact_filters() {
            let mut reader = installation.read().await;
            let page = reader
                .contacts(business, &filter, &request, View::Simple)
                .await
                .unwrap();
            drop(reader);
            // A writer uses no remembered count.
            let mut session = installation.begin().await;
            let counted = session
                .contacts(business, &filter, &request, View::Simple)
                .await
                .unwrap();
            assert_eq!(page.total, counted.total, "{filter:?}");
        }
    }
}
