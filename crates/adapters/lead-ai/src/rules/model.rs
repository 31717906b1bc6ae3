//! Adds up what each feature of a conversation speaks for: a linear model, learned from the corpus by logistic regression.
//!
//! The file `weights.txt` has one line for each feature: its name, a tab, and for what it speaks how strongly, in hundredths;
//! `word:mot 1+52 4-20 service+131` says that the word "mot" speaks for a rating of 1, against one of 4, and for the intent
//! `service`. The rating and intent with the highest sums win. `learn` writes the file.

use std::collections::HashMap;

use forecourt_reference::LeadType;

use super::features::{Features, WHOLE};

const WEIGHTS: &str = include_str!("weights.txt");

/// What is picked among.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Outcome {
    /// A rating, 1 to 5.
    Rating(u8),
    /// What the sender wants.
    Intent(LeadType),
    /// That the latest message is junk.
    Junk,
}

impl Outcome {
    /// As the file writes it.
    #[cfg(test)]
    pub(super) fn name(self) -> String {
        match self {
            Self::Rating(rating) => rating.to_string(),
            Self::Intent(intent) => intent.id().to_owned(),
            Self::Junk => "junk".to_owned(),
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "junk" => Some(Self::Junk),
            "1" | "2" | "3" | "4" | "5" => name.parse().ok().map(Self::Rating),
            _ => name.parse().ok().map(Self::Intent),
        }
    }
}

/// Ratings that an intent goes with. Other pairs contradict themselves.
pub(super) const fn ratings(intent: LeadType) -> &'static [u8] {
    match intent {
        LeadType::Service | LeadType::Parts | LeadType::Feedback | LeadType::Other => &[1],
        LeadType::Warranty => &[1, 4],
        LeadType::Email => &[2, 3, 4, 5],
        LeadType::Phone | LeadType::Callback => &[2, 3, 4],
        LeadType::Availability | LeadType::TestDrive | LeadType::PartExchange | LeadType::Video => &[3, 4],
        LeadType::Finance => &[3, 4, 5],
        LeadType::Reservation => &[4, 5],
        LeadType::Valuation => &[2],
        LeadType::Brochure => &[2, 3],
    }
}

/// What the model says of a conversation. Sums are in thousandths; the probability of junk is one half at 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Prediction {
    pub(super) rating: u8,
    pub(super) intent: LeadType,
    pub(super) junk: i64,
}

/// The weights.
pub(super) struct Model {
    weights: HashMap<&'static str, Vec<(Outcome, i32)>>,
}

impl Model {
    /// The model of the file.
    pub(super) fn new() -> Self {
        let lines = WEIGHTS.lines().filter(|line| !line.starts_with('#'));
        let weights = lines.filter_map(|line| {
            let (feature, weights) = line.split_once('\t')?;
            Some((feature, weights.split(' ').filter_map(weight).collect()))
        });
        Self {
            weights: weights.collect(),
        }
    }

    /// How much speaks for each outcome.
    fn sums(&self, features: &Features) -> HashMap<Outcome, i64> {
        let mut sums = HashMap::new();
        let always = self.weights.get("always").map(|weights| (weights, WHOLE));
        let found = features
            .iter()
            .filter_map(|(feature, value)| Some((self.weights.get(feature.as_str())?, *value)));
        for (weights, value) in found.chain(always) {
            for (outcome, weight) in weights {
                *sums.entry(*outcome).or_default() += i64::from(*weight) * i64::from(value);
            }
        }
        sums
    }

    /// What these features speak for. `expected` is what the form is for through which they came, if it says, and counts in
    /// favour of that intent.
    pub(super) fn read(&self, features: &Features, expected: Option<LeadType>) -> Prediction {
        /// As much as a strong word.
        const EXPECTED: i64 = 1_000;
        let sums = self.sums(features);
        let sum = |outcome: Outcome| sums.get(&outcome).copied().unwrap_or(0);
        let pairs = LeadType::ALL.iter().flat_map(|intent| {
            let sum_of_intent = sum(Outcome::Intent(*intent)) + if expected == Some(*intent) { EXPECTED } else { 0 };
            ratings(*intent)
                .iter()
                .map(move |rating| (*rating, *intent, sum_of_intent))
        });
        let pairs = pairs.filter(|(_, intent, _)| *intent != LeadType::Phone);
        let best = pairs.max_by_key(|(rating, intent, of_intent)| {
            // Of two that are equal the higher rating, and the first intent: always the same one.
            (
                *of_intent + sum(Outcome::Rating(*rating)),
                *rating,
                std::cmp::Reverse(*intent as u8),
            )
        });
        let (rating, intent) = best.map_or((2, LeadType::Email), |(rating, intent, _)| (rating, intent));
        Prediction {
            rating,
            intent,
            junk: sum(Outcome::Junk),
        }
    }
}

/// `service+131`.
fn weight(text: &str) -> Option<(Outcome, i32)> {
    let sign = text.find(['+', '-'])?;
    let (name, weight) = text.split_at(sign);
    Some((Outcome::named(name)?, weight.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        for line in WEIGHTS.lines().filter(|line| !line.starts_with('#')) {
            let (feature, weights) = line.split_once('\t').unwrap_or_default();
            assert!(!feature.is_empty(), "{line}");
            assert!(weights.split(' ').all(|text| weight(text).is_some()), "{line}");
        }
    }
}
