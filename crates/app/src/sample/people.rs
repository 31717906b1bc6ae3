//! People who do not exist, with numbers and addresses that are not in use.

use std::fmt::Write;

use forecourt_contacts::ContactType;
use rand::{Rng, RngExt};

use super::{
    data::tables,
    pick::{Weighted, chance, one, weighted},
};

tables! { "people.txt":
    FIRST_NAMES: &'static str,
    LAST_NAMES: &'static str,
    DOMAINS: Weighted<&'static str>,
    LANDLINES: &'static str,
    STREETS: &'static str,
    /// Towns with their county and the beginning of their postcodes.
    TOWNS: (&'static str, &'static str, &'static str),
    /// Words that follow the owner's name in the names of companies.
    TRADES: &'static str,
    /// The types of contacts.
    TYPES: Weighted<ContactType>,
}

/// The beginning of the mobile numbers that the regulator reserves for drama; three digits follow.
const MOBILES: &str = "+447700900";

/// A person who enquires.
pub(super) struct Person {
    pub(super) first_name: &'static str,
    pub(super) last_name: &'static str,
}

impl Person {
    pub(super) fn random(rng: &mut impl Rng) -> Self {
        Self {
            first_name: *one(rng, &FIRST_NAMES),
            last_name: *one(rng, &LAST_NAMES),
        }
    }

    pub(super) fn name(&self) -> String {
        format!("{} {}", self.first_name, self.last_name)
    }

    /// Makes an email address for the person, with variations, since many share a name.
    pub(super) fn email(&self, rng: &mut impl Rng) -> String {
        let mut email = String::with_capacity(40);
        email.push_str(self.first_name);
        if chance(rng, 80) {
            email.push('.');
            email.push_str(self.last_name);
        }
        if chance(rng, 85) {
            // Writing to a String does not fail.
            let _ = write!(email, "{}", rng.random_range(1..10_000));
        }
        email.make_ascii_lowercase();
        email.push('@');
        let domain: &&str = weighted(rng, &DOMAINS);
        email.push_str(domain);
        email
    }
}

/// Makes a mobile number in E.164 that is never assigned.
pub(super) fn mobile(rng: &mut impl Rng) -> String {
    format!("{MOBILES}{:03}", rng.random_range(0..1_000))
}

/// Makes a landline number in E.164 that is never assigned.
pub(super) fn landline(rng: &mut impl Rng) -> String {
    format!("{}{:03}", *one(rng, &LANDLINES), rng.random_range(0..1_000))
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::Country;
    use forecourt_leads::{Email, Phone};
    use rand::{SeedableRng, rngs::Xoshiro256PlusPlus};

    use super::*;

    #[test]
    fn addresses_and_numbers_are_such_as_the_api_takes() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for _ in 0..1_000 {
            let email = Person::random(&mut rng).email(&mut rng);
            assert_eq!(email.parse::<Email>().unwrap().into_string(), email);
            for number in [mobile(&mut rng), landline(&mut rng)] {
                assert_eq!(Phone::parse(&number, Country::GB).unwrap().as_str(), number);
            }
        }
    }
}
