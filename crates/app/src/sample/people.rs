//! People who do not exist, with numbers and addresses that cannot be anybody's.

use std::fmt::Write;

use rand::{Rng, RngExt};

use super::pick::{Weighted, chance, one, weighted};

const FIRST_NAMES: &[&str] = &[
    "Aaron", "Abigail", "Adam", "Aisha", "Alan", "Alex", "Alice", "Amelia", "Amy", "Andrew", "Angela", "Anna",
    "Anthony", "Arjun", "Ashley", "Ben", "Beth", "Callum", "Cameron", "Carol", "Charlie", "Chloe", "Chris", "Claire",
    "Connor", "Craig", "Daniel", "David", "Deborah", "Diane", "Dylan", "Elaine", "Eleanor", "Ella", "Emily", "Emma",
    "Ethan", "Eve", "Fatima", "Fiona", "Freya", "Gareth", "Gary", "George", "Georgia", "Gillian", "Grace", "Graham",
    "Hannah", "Harriet", "Harry", "Hassan", "Heather", "Helen", "Holly", "Ian", "Imogen", "Imran", "Isla", "Jack",
    "Jacob", "James", "Jane", "Jasmine", "Jennifer", "Jessica", "Joan", "Joe", "John", "Jordan", "Joseph", "Joshua",
    "Judith", "Julie", "Karen", "Kate", "Keith", "Kelly", "Kevin", "Laura", "Lauren", "Leah", "Lee", "Leo", "Lewis",
    "Liam", "Linda", "Lisa", "Louise", "Lucy", "Luke", "Maria", "Mark", "Martin", "Matthew", "Megan", "Michael",
    "Michelle", "Mohammed", "Molly", "Natalie", "Nathan", "Neil", "Nicola", "Noah", "Oliver", "Olivia", "Oscar",
    "Owen", "Paige", "Patricia", "Paul", "Peter", "Philip", "Poppy", "Priya", "Rachel", "Rebecca", "Rhys", "Richard",
    "Robert", "Rosie", "Ruth", "Ryan", "Sam", "Samantha", "Sandra", "Sarah", "Sean", "Simon", "Sophie", "Stephen",
    "Steven", "Stuart", "Susan", "Thomas", "Tom", "Tracey", "Victoria", "Wendy", "William", "Yasmin", "Yusuf", "Zoe",
];

const LAST_NAMES: &[&str] = &[
    "Adams", "Ahmed", "Akhtar", "Ali", "Allen", "Anderson", "Andrews", "Atkinson", "Bailey", "Baker", "Ball", "Barker",
    "Barnes", "Bell", "Bennett", "Berry", "Booth", "Bradley", "Brooks", "Brown", "Burke", "Burton", "Butler",
    "Campbell", "Carr", "Carter", "Chambers", "Chapman", "Clark", "Clarke", "Cole", "Collins", "Cook", "Cooper", "Cox",
    "Davies", "Davis", "Dawson", "Dean", "Dixon", "Edwards", "Elliott", "Ellis", "Evans", "Fisher", "Fletcher", "Ford",
    "Foster", "Fox", "Gibson", "Gill", "Gordon", "Graham", "Grant", "Gray", "Green", "Hall", "Hamilton", "Harper",
    "Harris", "Harrison", "Hart", "Harvey", "Hill", "Holmes", "Hudson", "Hughes", "Hunt", "Hunter", "Hussain",
    "Jackson", "James", "Jenkins", "Johnson", "Johnston", "Jones", "Kaur", "Kelly", "Kennedy", "Khan", "King",
    "Knight", "Lawrence", "Lawson", "Lee", "Lewis", "Lloyd", "Marshall", "Martin", "Mason", "Matthews", "McDonald",
    "Miller", "Mills", "Mitchell", "Moore", "Morgan", "Morris", "Murphy", "Murray", "Owen", "Palmer", "Parker",
    "Patel", "Pearce", "Pearson", "Perry", "Phillips", "Poole", "Powell", "Price", "Reid", "Reynolds", "Richards",
    "Roberts", "Robinson", "Rogers", "Rose", "Ross", "Russell", "Ryan", "Saunders", "Scott", "Shah", "Shaw", "Simpson",
    "Singh", "Smith", "Spencer", "Stevens", "Stewart", "Stone", "Taylor", "Thomas", "Thompson", "Thomson", "Turner",
    "Walker", "Wallace", "Walsh", "Ward", "Watson", "Watts", "Webb", "Wells", "West", "White", "Williams", "Wilson",
    "Wood", "Woods", "Wright", "Young",
];

/// Domains that are reserved for examples.
const DOMAINS: &[Weighted<&str>] = &[
    (40, "example.com"),
    (25, "example.org"),
    (20, "example.net"),
    (10, "mail.example"),
    (5, "post.example"),
];

/// What landline numbers begin with that the regulator keeps free for drama; three digits follow.
const LANDLINES: &[&str] = &[
    "+441134960",
    "+441144960",
    "+441154960",
    "+441164960",
    "+441174960",
    "+441184960",
    "+441214960",
    "+441314960",
    "+441414960",
    "+441514960",
    "+441614960",
    "+442079460",
    "+441914980",
    "+442890180",
    "+442920180",
    "+441632960",
];

/// The same for mobile numbers.
const MOBILES: &str = "+447700900";

/// Somebody who asks.
pub(super) struct Person {
    pub(super) first_name: &'static str,
    pub(super) last_name: &'static str,
}

impl Person {
    pub(super) fn random(rng: &mut impl Rng) -> Self {
        Self {
            first_name: *one(rng, FIRST_NAMES),
            last_name: *one(rng, LAST_NAMES),
        }
    }

    pub(super) fn name(&self) -> String {
        format!("{} {}", self.first_name, self.last_name)
    }

    /// An address that may be theirs; not everybody's, since many share a name.
    pub(super) fn email(&self, rng: &mut impl Rng) -> String {
        let mut email = String::with_capacity(40);
        email.push_str(self.first_name);
        if chance(rng, 80) {
            email.push('.');
            email.push_str(self.last_name);
        }
        if chance(rng, 85) {
            // Nothing is written to a String in vain.
            let _ = write!(email, "{}", rng.random_range(1..10_000));
        }
        email.make_ascii_lowercase();
        email.push('@');
        let domain: &&str = weighted(rng, DOMAINS);
        email.push_str(domain);
        email
    }
}

/// A mobile number in E.164 that will never be given to anybody.
pub(super) fn mobile(rng: &mut impl Rng) -> String {
    format!("{MOBILES}{:03}", rng.random_range(0..1_000))
}

/// A landline number in E.164 that will never be given to anybody.
pub(super) fn landline(rng: &mut impl Rng) -> String {
    format!("{}{:03}", *one(rng, LANDLINES), rng.random_range(0..1_000))
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
