//! Texts that people write to a dealership, by their subject.

use forecourt_leads::LeadStatus;
use forecourt_reference::{LeadChannel, LeadType};

use super::{
    data::{Row, tables},
    pick::Weighted,
};

/// An enquiry of one kind. `{car}`, `{name}`, `{day}` and `{site}` are filled in.
pub(super) struct Script {
    pub(super) about: LeadType,
    pub(super) subject: &'static str,
    pub(super) message: &'static str,
    /// The writer's readiness to buy, 1 to 5.
    pub(super) rating: i64,
    /// The AI's summary, in at most 12 words.
    pub(super) summary: &'static str,
    pub(super) reason: &'static str,
    pub(super) next_action: &'static str,
}

tables! { "enquiries.txt":
    /// The channels of leads, with the source that each names.
    CHANNELS: Weighted<(LeadChannel, &'static str)>,
    /// The statuses of leads that came in long ago, and recently.
    OLD: Weighted<LeadStatus>,
    NEW: Weighted<LeadStatus>,
    SCRIPTS: Weighted<Script>,
    /// Junk mail.
    JUNK: Weighted<Script>,
    /// Cars that people own, or ask about without having seen one.
    CARS: &'static str,
    /// Days that people propose.
    DAYS: &'static str,
}

impl Row for Script {
    fn read(columns: &mut dyn Iterator<Item = &'static str>) -> Option<Self> {
        Some(Self {
            about: LeadType::read(columns)?,
            rating: i64::read(columns)?,
            subject: columns.next()?,
            message: columns.next()?,
            summary: columns.next()?,
            reason: columns.next()?,
            next_action: columns.next()?,
        })
    }
}

/// The values that are filled in.
pub(super) struct Words<'a> {
    pub(super) car: &'a str,
    pub(super) name: &'a str,
    pub(super) day: &'a str,
    pub(super) site: &'a str,
}

impl Words<'_> {
    /// Returns a text with all placeholders filled in.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len() + 48);
        let mut rest = text;
        while let Some((before, marked)) = rest.split_once('{') {
            let (word, after) = marked.split_once('}').unwrap_or((marked, ""));
            filled.push_str(before);
            filled.push_str(match word {
                "car" => self.car,
                "name" => self.name,
                "day" => self.day,
                _ => self.site,
            });
            rest = after;
        }
        filled.push_str(rest);
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_summary_fits_even_with_the_longest_car() {
        let longest = CARS.iter().map(|car| car.split(' ').count()).max().unwrap();
        let words = Words {
            car: &vec!["word"; longest].join(" "),
            name: "Ann Smith",
            day: "Monday",
            site: "Main",
        };
        for (_, script) in SCRIPTS.iter().chain(&*JUNK) {
            let summary = words.fill(script.summary);
            assert!(summary.split_whitespace().count() <= 12, "{summary}");
            assert!((1..=5).contains(&script.rating));
        }
    }

    #[test]
    fn words_are_filled_in() {
        let words = Words {
            car: "Ford Focus",
            name: "Ann",
            day: "Monday",
            site: "Main",
        };
        assert_eq!(
            words.fill("{car} on {day}, {name} at {site}."),
            "Ford Focus on Monday, Ann at Main."
        );
        assert_eq!(words.fill("nothing"), "nothing");
    }

    #[test]
    fn every_kind_of_enquiry_is_made() {
        for kind in LeadType::ALL {
            assert!(SCRIPTS.iter().any(|(_, script)| script.about == *kind), "{kind:?}");
        }
    }
}
