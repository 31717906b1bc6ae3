use std::collections::HashSet;

use forecourt_contacts::Contact;
use forecourt_kernel::{ContactId, Version};
use forecourt_leads::Email;
use forecourt_vehicles::{Vehicle, VehicleTag};

use super::*;
use crate::sample::{Customers, Stock, testing::a_business};

const NOW: Timestamp = Timestamp::from_epoch_seconds(1_790_000_000);

fn generator(seed: u64, period: Period) -> Generator {
    Generator::new(&a_business(), seed, period, ExistingRecords::default())
}

fn leads(seed: u64, count: u64) -> Vec<(LeadDraft, Timestamp)> {
    let mut generator = generator(seed, Period::days_before(NOW, 730));
    let made = (0..count).map(|at| generator.lead(at, count).0);
    made.map(|lead| (lead.content, lead.created)).collect()
}

/// Returns the percentage of leads for which `of` holds.
fn share(leads: &[(LeadDraft, Timestamp)], of: impl Fn(&LeadDraft) -> bool) -> usize {
    leads.iter().filter(|(lead, _)| of(lead)).count() * 100 / leads.len()
}

#[test]
fn a_seed_gives_the_same_leads_and_another_gives_others() {
    assert_eq!(leads(7, 200), leads(7, 200));
    assert_ne!(leads(7, 200), leads(8, 200));
}

#[test]
fn the_time_of_day_does_not_matter() {
    let at = |seconds| {
        let period = Period::days_before(NOW.date().midnight().plus_seconds(seconds), 730);
        generator(1, period).lead(0, 1)
    };
    assert_eq!(at(0), at(DAY - 1));
}

#[test]
fn they_come_in_one_after_the_other_over_the_period() {
    let leads = leads(1, 5_000);
    assert!(leads.is_sorted_by_key(|(_, created)| *created));
    let (first, last) = (leads[0].1, leads[4_999].1);
    let today = NOW.date().midnight();
    assert!(first >= today.plus_seconds(-730 * DAY) && first < today.plus_seconds(-729 * DAY));
    assert!(last < today && last > today.plus_seconds(-DAY));
}

#[test]
fn more_leads_than_seconds_stay_in_order() {
    let mut generator = generator(1, Period { from: NOW, seconds: 10 });
    let leads: Vec<_> = (0..100).map(|at| generator.lead(at, 100).0).collect();
    assert!(leads.is_sorted_by_key(|lead| lead.created));
}

#[test]
fn statuses_are_distributed_as_in_a_dealership() {
    let leads = leads(1, 20_000);
    let share_of = |status| share(&leads, |lead| lead.status == status);
    assert!((50..70).contains(&share_of(LeadStatus::Closed)));
    assert!((6..12).contains(&share_of(LeadStatus::Junk)));
    for status in LeadStatus::ALL {
        assert!(leads.iter().any(|(lead, _)| lead.status == status), "{status:?}");
    }
    assert!((80..95).contains(&share(&leads, |lead| lead.rating.is_some())));
    assert!((35..50).contains(&share(&leads, |lead| lead.channel == LeadChannel::Website)));
    assert!((20..70).contains(&share(&leads, |lead| !lead.tags.is_empty())));
    assert!((60..95).contains(&share(&leads, |lead| !lead.assign.is_empty())));
    let recent = &leads[leads.len() - 300..];
    assert!(
        share(recent, |lead| lead.status == LeadStatus::New) > share(&leads, |lead| lead.status == LeadStatus::New)
    );
    let names: HashSet<_> = leads.iter().map(|(lead, _)| &lead.name).collect();
    assert!(names.len() > 5_000, "{}", names.len());
}

#[test]
fn each_is_one_that_the_api_could_have_taken_in() {
    let business = a_business();
    for (lead, created) in leads(3, 5_000) {
        assert!(
            lead.email.is_empty() || lead.email.parse::<Email>().is_ok(),
            "{}",
            lead.email
        );
        assert!(!lead.email.is_empty() || !lead.mobile.is_empty());
        assert!(business.catalogue.has_site(lead.site));
        assert!(lead.assign.iter().all(|&user| business.catalogue.has_staff(user)));
        let known = |tag: &TagChoice| business.catalogue.tag(TagResource::Lead, &tag.name).is_some();
        assert!(
            lead.tags.iter().all(known)
                && lead.tags.iter().map(|tag| &tag.name).collect::<HashSet<_>>().len() == lead.tags.len()
        );
        assert!(
            lead.summary
                .as_ref()
                .is_none_or(|summary| summary.split_whitespace().count() <= 12)
        );
        assert_eq!(
            (lead.rating.is_some(), lead.summary.is_some()),
            (lead.ai.is_some(), lead.ai.is_some())
        );
        if let Some(ai) = &lead.ai {
            assert!(ai.processed.unwrap() > created);
            assert_eq!(ai.junk, lead.status == LeadStatus::Junk);
        }
        assert!(
            lead.reopen
                .is_none_or(|day| lead.status == LeadStatus::Closed && day.midnight() > NOW.date().midnight())
        );
        let detail: serde_json::Value = serde_json::from_str(lead.data.as_str()).unwrap();
        for member in ["source", "subject", "message"] {
            let text = detail[member].as_str().unwrap();
            assert!(!text.is_empty() && !text.contains(['{', '}']), "{text}");
        }
    }
}

#[test]
fn a_business_without_lists_has_leads_too() {
    let mut bare = a_business();
    bare.catalogue = forecourt_reference::Catalogue::default();
    bare.website.clear();
    let period = Period::days_before(NOW, 1);
    let lead = Generator::new(&bare, 1, period, ExistingRecords::default())
        .lead(0, 1)
        .0
        .content;
    assert!(lead.tags.is_empty() && lead.assign.is_empty() && lead.site.get() == 0);
}

/// Makes a business with some contacts and vehicles, and the leads that arrive beside them.
fn made_beside(seed: u64, count: u64) -> (Vec<Contact>, Vec<Vehicle>, Vec<MadeLead>) {
    let business = a_business();
    let period = Period::days_before(NOW, 90);
    let mut known = ExistingRecords::default();
    let mut customers = Customers::new(&business, seed, Period::days_before(NOW, 365));
    let contacts: Vec<_> = (0..200)
        .map(|at| customers.contact(at, 200))
        .zip(1..)
        .map(|(made, id)| Contact {
            id: ContactId::new(id),
            created: made.created,
            updated: made.updated,
            version: Version::FIRST,
            notes: Vec::new(),
            content: made.content,
        })
        .collect();
    contacts.iter().cloned().for_each(|contact| known.add_contact(contact));
    let mut stock = Stock::new(&business, seed, period, known.clone());
    let vehicles: Vec<_> = (0..200)
        .map(|at| stock.vehicle(at, 200))
        .zip(1..)
        .map(|(made, id)| Vehicle {
            id: VehicleId::new(id),
            tag: VehicleTag::nth(u64::try_from(id).unwrap()),
            created: made.created,
            updated: made.updated,
            version: Version::FIRST,
            content: made.content,
        })
        .collect();
    for vehicle in &vehicles {
        known.add_vehicle(vehicle, business.vehicle_address(&vehicle.url()));
    }
    let mut generator = Generator::new(&business, seed, period, known);
    let leads = (0..count).map(|at| generator.lead(at, count)).collect();
    (contacts, vehicles, leads)
}

#[test]
fn they_come_from_contacts_and_are_about_vehicles_that_were_there() {
    let (contacts, vehicles, leads) = made_beside(1, 1_500);
    let today = NOW.date().midnight();
    let (mut linked, mut about, mut with_address) = (0, 0, 0);
    for (lead, vehicle) in &leads {
        let content = &lead.content;
        assert!(lead.created <= lead.updated && lead.updated <= today);
        let untouched = content.status == LeadStatus::New && content.assign.is_empty() && content.tags.is_empty();
        assert!(
            lead.created < lead.updated || (untouched && content.ai.is_none()),
            "{content:?}"
        );
        let read = content.ai.as_ref().and_then(|ai| ai.processed);
        assert!(read.is_none_or(|at| lead.created < at && at <= lead.updated));
        if let Some(id) = content.contact {
            linked += 1;
            let contact = contacts.iter().find(|contact| contact.id == id).unwrap();
            assert!(contact.created <= lead.created);
            let known = &contact.content;
            assert_eq!(
                (&content.name, &content.email, &content.phone, &content.mobile),
                (&known.name, &known.email, &known.telephone, &known.mobile)
            );
        }
        let detail: serde_json::Value = serde_json::from_str(content.data.as_str()).unwrap();
        let url = detail["url"].as_str().unwrap_or_default();
        let Some(id) = vehicle else {
            assert_eq!(url, "", "{content:?}");
            continue;
        };
        about += 1;
        let vehicle = vehicles.iter().find(|vehicle| vehicle.id == *id).unwrap();
        let published = !vehicle.content.channels.is_empty();
        assert!(published && vehicle.created <= lead.created && content.status != LeadStatus::Junk);
        assert!(vehicle.content.status.counts_as_for_sale() || lead.created < vehicle.updated);
        let text = detail["message"].as_str().unwrap();
        assert!(text.contains(&vehicle.content.data.vehicle.model), "{text}");
        if !url.is_empty() {
            with_address += 1;
            assert_eq!(url, a_business().vehicle_address(&vehicle.url()));
        }
    }
    let some = [linked, about, with_address].map(|count| count * 100 / leads.len());
    assert!(some[0] > 20 && some[1] > 40 && some[2] > 25, "{some:?}");
}

#[test]
fn contacts_change_after_they_came_in() {
    let (contacts, _, _) = made_beside(2, 1);
    let today = NOW.date().midnight();
    let changed = contacts
        .iter()
        .filter(|contact| contact.created < contact.updated)
        .count();
    assert!((40..160).contains(&changed), "{changed}");
    for contact in contacts {
        assert!(contact.created <= contact.updated && contact.updated <= today);
        let checked = contact.content.license.checked;
        assert!(checked.is_none_or(|day| day == contact.updated.date() && contact.updated > contact.created));
    }
}
