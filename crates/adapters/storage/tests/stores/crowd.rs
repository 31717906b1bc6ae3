//! Many leads, as a busy dealership has them: most values are common, and some are rare.

use forecourt_kernel::{ContactId, SiteId, StaffId, Timestamp};
use forecourt_leads::{AiRead, LeadDraft, LeadStatus, Rating};
use forecourt_reference::{LeadChannel, LeadType, TagChoice};

use crate::samples::{Dice, a_lead, at, data};

const FIRST_NAMES: [&str; 24] = [
    "James",
    "Mary",
    "John",
    "Patricia",
    "Robert",
    "Jennifer",
    "Michael",
    "Linda",
    "David",
    "Elizabeth",
    "William",
    "Barbara",
    "Richard",
    "Susan",
    "Joseph",
    "Jessica",
    "Thomas",
    "Sarah",
    "Mohammed",
    "Priya",
    "Zoë",
    "Chen",
    "Olga",
    "Siân",
];
const SYLLABLES: [&str; 32] = [
    "al", "an", "ar", "be", "bo", "ca", "ch", "da", "de", "el", "en", "er", "fa", "gr", "ha", "il", "in", "ja", "ka",
    "la", "ma", "na", "or", "pa", "ra", "sa", "ta", "ul", "vi", "wa", "ton", "son",
];
const HOSTS: [&str; 6] = [
    "gmail.com",
    "gmail.com",
    "hotmail.co.uk",
    "outlook.com",
    "btinternet.com",
    "example.org",
];
const STATUSES: [(usize, LeadStatus); 6] = [
    (3, LeadStatus::New),
    (2, LeadStatus::NewMessage),
    (7, LeadStatus::Read),
    (17, LeadStatus::Replied),
    (61, LeadStatus::Closed),
    (10, LeadStatus::Junk),
];
const CHANNELS: [(usize, LeadChannel); 8] = [
    (45, LeadChannel::Website),
    (25, LeadChannel::Marketplace),
    (10, LeadChannel::Email),
    (9, LeadChannel::Phone),
    (5, LeadChannel::Whatsapp),
    (3, LeadChannel::Showroom),
    (2, LeadChannel::Social),
    (1, LeadChannel::Api),
];
/// The ratings of rated leads, with their shares in a hundred.
const RATINGS: [(usize, i64); 5] = [(30, 1), (34, 2), (25, 3), (10, 4), (1, 5)];

/// The time between two leads, in seconds on average.
pub(crate) const SECONDS_BETWEEN: i64 = 60;

/// Leads of one business, in the order of their arrival.
pub(crate) struct Crowd {
    dice: Dice,
    number: i64,
    second: i64,
    /// The number of leads in a hundred that the AI has rated.
    rated: usize,
}

impl Crowd {
    pub(crate) fn new(seed: u64, rated: usize) -> Self {
        Self {
            dice: Dice::new(seed),
            number: 0,
            second: 0,
            rated,
        }
    }

    fn weighted<T: Copy>(&mut self, table: &[(usize, T)]) -> T {
        let mut left = self.dice.roll(100);
        for (weight, value) in table {
            if left < *weight {
                return *value;
            }
            left -= weight;
        }
        table[0].1
    }

    /// A family name; a few of the thousands are everywhere.
    fn family_name(&mut self) -> String {
        let mut family = Dice::new(self.dice.roll(2000).min(self.dice.roll(2000)).min(self.dice.roll(2000)) as u64);
        let syllables = 2 + family.roll(2);
        let name: String = (0..syllables).map(|_| *family.pick(&SYLLABLES)).collect();
        name[..1].to_uppercase() + &name[1..]
    }
}

impl Iterator for Crowd {
    type Item = (LeadDraft, Timestamp);

    fn next(&mut self) -> Option<Self::Item> {
        self.number += 1;
        self.second += self.dice.number(2 * SECONDS_BETWEEN);
        let created = at(self.second);
        let family = self.family_name();
        let first = *self.dice.pick(&FIRST_NAMES);
        // One in fifty thousand, for a search by a pattern to find.
        let first = if self.number % 50_000 == 7 {
            "Quetzalcoatl"
        } else {
            first
        };
        let host = *self.dice.pick(&HOSTS);
        let mailbox = format!("{first}.{family}{}@{host}", self.dice.number(1000));
        let status = self.weighted(&STATUSES);
        let rated = self.dice.chance(self.rated);
        let rating = self.weighted(&RATINGS);
        let message = format!(
            "Hello, is the {} still available? I could come on {}day and would like to trade in my {} with {} miles. {first}",
            self.dice.pick(&[
                "BMW 320d Touring",
                "Ford Fiesta 1.0 Titanium",
                "Audi A3 Sportback",
                "Kia e-Niro"
            ]),
            self.dice.pick(&["Mon", "Tues", "Thurs", "Fri", "Satur"]),
            self.dice.pick(&["Golf", "Corsa", "Focus", "Polo"]),
            self.dice.number(150_000),
        );
        let draft = LeadDraft {
            site: SiteId::new(self.weighted(&[(60, 0), (30, 1), (9, 2), (1, 3)])),
            channel: self.weighted(&CHANNELS),
            name: format!("{first} {family}"),
            email: if self.dice.chance(85) { mailbox } else { String::new() },
            phone: if self.dice.chance(22) {
                format!("+441632{:06}", self.dice.number(1_000_000))
            } else {
                String::new()
            },
            mobile: if self.dice.chance(80) {
                format!("+44770{:07}", self.dice.number(10_000_000))
            } else {
                String::new()
            },
            contact: self
                .dice
                .chance(5)
                .then(|| ContactId::new(1 + self.dice.number(20_000))),
            types: vec![LeadType::TestDrive],
            status,
            rating: Rating::new(rating).filter(|_| rated),
            summary: rated.then(|| "Asks whether a car is still there and wants to trade in".to_owned()),
            session: format!("{:016x}", self.dice.number(i64::MAX)),
            assign: vec![StaffId::new(1 + self.dice.number(9))],
            tags: vec![TagChoice {
                name: "Hot".to_owned(),
                checked: true,
            }],
            reopen: (self.number % 1000 == 3).then(|| created.plus_seconds(90 * 86_400).date()),
            data: data(&format!(
                r#"{{"source":"Website enquiry form","subject":"Enquiry","message":"{message}"}}"#
            )),
            ai: rated.then(|| AiRead {
                intent: Some(LeadType::Availability),
                rating_reason: Some("Names a car and a day".to_owned()),
                next_action: Some("Offer a time".to_owned()),
                junk: status == LeadStatus::Junk,
                junk_confidence: None,
                processed: Some(created.plus_seconds(3)),
            }),
            ..a_lead()
        };
        Some((draft, created))
    }
}
