//! Makes contacts.

use forecourt_accounts::Business;
use forecourt_contacts::{Address, ContactDraft, ContactType, License, Marketing};
use forecourt_dealership::Loaded;
use forecourt_kernel::{Country, Date, SiteId, StaffId, Timestamp};
use forecourt_reference::{Catalogue, TagChoice, TagResource};
use rand::{Rng, RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::{
    Period,
    people::{Person, STREETS, TOWNS, TRADES, TYPES, landline, mobile},
    pick::{any, chance, one, weighted, when},
};

const DAY: i64 = 86_400;

/// An endless source of contacts for one business. The same business, seed and calls give the same contacts.
pub(crate) struct Customers {
    rng: Xoshiro256PlusPlus,
    period: Period,
    tags: Vec<String>,
    staff: Vec<StaffId>,
    sites: Vec<SiteId>,
}

impl Customers {
    /// Makes a source of contacts that were created over `period`.
    pub(crate) fn new(business: &Business, seed: u64, period: Period) -> Self {
        let catalogue = &business.catalogue;
        let tags = catalogue.tags_of(TagResource::Contact);
        Self {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            period,
            tags: tags.map(|tag| tag.name.clone()).collect(),
            staff: catalogue.staff.iter().map(|user| user.id).collect(),
            sites: catalogue
                .listed_sites(&business.name)
                .iter()
                .map(|site| site.id)
                .collect(),
        }
    }

    /// Returns the `at`th of `count` contacts, in order of creation, with the time of creation. None may log in: a login needs
    /// an email that no other contact has, existing ones included.
    pub(crate) fn contact(&mut self, at: u64, count: u64) -> Loaded<ContactDraft> {
        let created = self.period.moment(&mut self.rng, at, count);
        // Some have been corrected since, or had their licence checked.
        let changed = chance(&mut self.rng, 45);
        let updated = if changed {
            let later = self.period.later(&mut self.rng, created, 600..200 * DAY);
            later.max(created.plus_seconds(1))
        } else {
            created
        };
        Loaded {
            content: self.draft(updated, changed),
            created,
            updated,
        }
    }

    fn draft(&mut self, updated: Timestamp, changed: bool) -> ContactDraft {
        let rng = &mut self.rng;
        let kind = *weighted(rng, &TYPES);
        let person = Person::random(rng);
        let in_business = kind != ContactType::Customer || chance(rng, 6);
        let company = when(in_business, &format!("{} {}", person.last_name, one(rng, &TRADES)));
        let email = when(chance(rng, 88), &person.email(rng));
        ContactDraft {
            site: *one(rng, &self.sites),
            types: vec![kind],
            vat: when(in_business && chance(rng, 60), &vat(rng)),
            address: if chance(rng, 75) {
                address(rng)
            } else {
                Address::default()
            },
            telephone: when(chance(rng, 30), &landline(rng)),
            mobile: when(email.is_empty() || chance(rng, 80), &mobile(rng)),
            dob: if chance(rng, 45) { birthday(rng) } else { None },
            license: if chance(rng, 45) && changed {
                license(rng, &self.staff, updated)
            } else {
                License::default()
            },
            marketing: if chance(rng, 40) { Marketing::Yes } else { Marketing::No },
            tags: tags(rng, &self.tags),
            name: person.name(),
            company,
            email,
            ..ContactDraft::blank(&Catalogue::default())
        }
    }
}

/// Makes a number in the form of a British VAT number, with letters that none has.
fn vat(rng: &mut impl Rng) -> String {
    format!(
        "GB {:03} {:04} XX",
        rng.random_range(0..1_000),
        rng.random_range(0..10_000)
    )
}

fn address(rng: &mut impl Rng) -> Address {
    let (city, state, area) = *one(rng, &TOWNS);
    let letters = |rng: &mut _| char::from(*one(rng, b"ABDEFGHJLNPQRSTUWXYZ"));
    let (outward, inward) = (rng.random_range(1..60), rng.random_range(0..10));
    let unit = [letters(rng), letters(rng)];
    Address {
        line1: format!("{} {}", rng.random_range(1..250), one(rng, &STREETS)),
        line2: String::new(),
        line3: String::new(),
        city: city.to_owned(),
        state: state.to_owned(),
        country: Some(Country::GB),
        zip: format!("{area}{outward} {inward}{}{}", unit[0], unit[1]),
    }
}

/// Makes the birthday of a person aged about 17 to 80.
fn birthday(rng: &mut impl Rng) -> Option<Date> {
    let (year, month, day) = (
        rng.random_range(1946..2008),
        rng.random_range(1..13),
        rng.random_range(1..29),
    );
    format!("{year}-{month:02}-{day:02}").parse().ok()
}

fn license(rng: &mut impl Rng, staff: &[StaffId], checked: Timestamp) -> License {
    License {
        number: format!("XXXXX{:06}XX9XX", rng.random_range(0..1_000_000)),
        code: String::new(),
        checked: Some(checked.date()),
        checked_by: any(rng, staff).copied(),
    }
}

fn tags(rng: &mut impl Rng, taxonomy: &[String]) -> Vec<TagChoice> {
    let tagged = if chance(rng, 25) { any(rng, taxonomy) } else { None };
    let choice = |name: &String| TagChoice {
        name: name.clone(),
        checked: true,
    };
    tagged.map(choice).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use forecourt_accounts::Rules;
    use forecourt_contacts::{ContactChanges, validate_contact_change};
    use forecourt_kernel::{Email, Phone};
    use serde_json::json;

    use super::*;
    use crate::sample::testing::a_business;

    const NOW: Timestamp = Timestamp::from_epoch_seconds(1_790_000_000);

    fn contacts(seed: u64, count: u64) -> Vec<(ContactDraft, Timestamp)> {
        let mut customers = Customers::new(&a_business(), seed, Period::days_before(NOW, 730));
        let made = (0..count).map(|at| customers.contact(at, count));
        made.map(|made| (made.content, made.created)).collect()
    }

    #[test]
    fn a_seed_gives_the_same_contacts_and_another_gives_others() {
        assert_eq!(contacts(7, 200), contacts(7, 200));
        assert_ne!(contacts(7, 200), contacts(8, 200));
        assert!(contacts(7, 200).is_sorted_by_key(|(_, created)| *created));
    }

    #[test]
    fn each_is_one_that_the_api_could_have_taken_in() {
        let business = a_business();
        for (contact, created) in contacts(3, 3_000) {
            let ContactDraft {
                site,
                email,
                name,
                telephone,
                mobile,
                dob,
                tags,
                ..
            } = contact;
            for number in [&telephone, &mobile] {
                let same = |phone: Phone| phone.as_str() == number;
                assert!(number.is_empty() || Phone::parse(number, Country::GB).is_ok_and(same));
            }
            assert!(email.is_empty() || email.parse::<Email>().is_ok());
            assert!(!email.is_empty() || !mobile.is_empty());
            let changes: ContactChanges =
                serde_json::from_value(json!({"site": site, "name": name, "dob": dob, "tag": tags})).unwrap();
            let rules = Rules {
                business: &business,
                now: created,
            };
            let faults = validate_contact_change(&changes, &rules);
            assert!(faults.is_empty(), "{faults:?}");
        }
    }
}
