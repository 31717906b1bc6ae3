//! A linear model of the meaning of a conversation, trained from the corpus by multinomial logistic regression.
//!
//! It weighs the features of a conversation for every *meaning*: a rating and an intent that go together, or junk. The
//! probability of a rating is the sum of the probabilities of its meanings.
//!
//! The file `weights.txt` names the meanings in its second line, with a weight that counts for every conversation. Each line
//! after it is a feature, a tab and one letter for each meaning: the weight in [`UNIT`]s, of which the letter [`ZERO`] is none.

use std::collections::HashMap;

use forecourt_reference::LeadType;

use super::features::{Features, WHOLE};

/// The trained weights.
pub(super) const WEIGHTS: &str = include_str!("weights.txt");
/// The weight of one step between letters.
pub(super) const UNIT: f64 = 0.04;
/// The letter for a weight of zero, in the middle of the printable ones.
pub(super) const ZERO: u8 = b'O';
/// The length of a conversation's features, as a vector, to which all are scaled: long texts weigh as much as short ones.
pub(super) const NORM: f64 = 6.0;
/// The factor by which enquiries rated 1 are rarer in practice than in the corpus, which has many because they are of so many
/// kinds.
const SHARE_OF_NONE: f64 = 0.6;
/// The factor in favour of a 1 if a phrase supports it too and none contradicts it.
const WITH_PHRASE: f64 = 3.0;
/// The cost of a rating at this distance from the right one.
const COSTS: [f64; 5] = [0.0, 1.0, 2.5, 3.0, 3.5];
/// The extra cost of calling a buyer a 1. It is the worst mistake, since the enquiry may be left lying.
const BUYER_LOST: f64 = 3.0;
/// The least rating of a buyer.
const BUYER: usize = 3;
/// The factor in favour of the intent of a form that has one.
const OF_FORM: f64 = 3.0;

/// A meaning of a conversation or a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// A rating with an intent.
    Enquiry(u8, LeadType),
    /// Junk among conversations.
    Junk,
    /// Junk, of a message by itself. Its weights are separate from the others'.
    JunkMessage,
}

impl Meaning {
    #[cfg(test)]
    pub(super) fn name(self) -> String {
        match self {
            Self::Enquiry(rating, intent) => format!("{rating}.{}", intent.id()),
            Self::Junk => "junk".to_owned(),
            Self::JunkMessage => "junk-message".to_owned(),
        }
    }

    fn named(name: &str) -> Option<Self> {
        match name {
            "junk" => Some(Self::Junk),
            "junk-message" => Some(Self::JunkMessage),
            _ => {
                let (rating, intent) = name.split_once('.')?;
                Some(Self::Enquiry(rating.parse().ok()?, intent.parse().ok()?))
            }
        }
    }
}

/// The reading of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Prediction {
    pub(super) rating: u8,
    pub(super) intent: LeadType,
}

/// Knowledge of a conversation beyond its features.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Hints {
    /// The intent of the form through which it came, if it has one.
    pub(super) of_form: Option<LeadType>,
    /// A phrase shows that the sender is no buyer, and none that they are.
    pub(super) not_buying: bool,
}

/// The weights.
pub(super) struct Model<'a> {
    meanings: Vec<(Meaning, i32)>,
    weights: HashMap<&'a str, &'a [u8]>,
}

impl<'a> Model<'a> {
    /// The model that a file describes.
    pub(super) fn parse(file: &'a str) -> Self {
        let mut lines = file.lines().skip(1);
        let meanings = lines.next().unwrap_or_default().split(' ').filter_map(|text| {
            let (name, weight) = text.split_once('=')?;
            Some((Meaning::named(name)?, weight.parse().ok()?))
        });
        let meanings: Vec<_> = meanings.collect();
        let weights = lines.filter_map(|line| {
            let (feature, letters) = line.split_once('\t')?;
            (letters.len() == meanings.len()).then_some((feature, letters.as_bytes()))
        });
        Self {
            weights: weights.collect(),
            meanings,
        }
    }

    /// The log-odds of each meaning, without a common term.
    fn sums(&self, features: &Features) -> Vec<(Meaning, f64)> {
        let mut sums = vec![0; self.meanings.len()];
        let mut square = 0;
        for (feature, value) in features {
            if let Some(letters) = self.weights.get(feature.as_str()) {
                square += value * value;
                for (sum, letter) in sums.iter_mut().zip(*letters) {
                    *sum += (i32::from(*letter) - i32::from(ZERO)) * value;
                }
            }
        }
        let scale = scale(square);
        let sums = self.meanings.iter().zip(sums);
        sums.map(|((meaning, always), sum)| {
            let sum = f64::from(sum) / f64::from(WHOLE) * scale + f64::from(*always);
            (*meaning, sum * UNIT)
        })
        .collect()
    }

    /// The log-odds of a message being junk, from the features of that message alone.
    pub(super) fn junk(&self, features: &Features) -> f64 {
        let sums = self.sums(features);
        sums.iter()
            .find(|(meaning, _)| *meaning == Meaning::JunkMessage)
            .map_or(0.0, |(_, sum)| *sum)
    }

    /// Reads a conversation that is no junk.
    pub(super) fn read(&self, features: &Features, hints: Hints) -> Prediction {
        let sums = self.sums(features);
        let sums = sums.iter().filter(|(meaning, _)| *meaning != Meaning::JunkMessage);
        let highest = sums.clone().map(|(_, sum)| *sum).fold(f64::MIN, f64::max);
        let mut chances: Vec<(u8, Option<LeadType>, f64)> = Vec::new();
        for (meaning, sum) in sums {
            let chance = exp(*sum - highest);
            match *meaning {
                Meaning::Enquiry(rating, intent) => {
                    let factor = if hints.of_form == Some(intent) { OF_FORM } else { 1.0 };
                    chances.push((rating, Some(intent), chance * factor));
                }
                _ => chances.push((1, None, chance)),
            }
        }
        let of = |rating: u8| -> f64 {
            let own = chances.iter().filter(|(of, _, _)| *of == rating);
            own.map(|(_, _, chance)| chance).sum()
        };
        let rating = rate([1, 2, 3, 4, 5].map(of), hints.not_buying);
        let intents = chances.iter().filter(|(of, _, _)| *of == rating);
        let intent = intents
            .filter_map(|(_, intent, chance)| Some(((*intent)?, *chance)))
            .max_by(|(_, one), (_, other)| one.total_cmp(other));
        Prediction {
            rating,
            intent: intent.map_or(LeadType::Other, |(intent, _)| intent),
        }
    }
}

/// Returns the rating with the lowest average cost, from the probability of each.
fn rate(mut chances: [f64; 5], not_buying: bool) -> u8 {
    chances[0] *= SHARE_OF_NONE * if not_buying { WITH_PHRASE } else { 1.0 };
    let cost = |rating: usize| -> f64 {
        let of_right = (1..).zip(&chances).map(|(right, chance): (usize, _)| {
            let lost = if rating == 1 && right >= BUYER { BUYER_LOST } else { 0.0 };
            chance * (COSTS[right.abs_diff(rating)] + lost)
        });
        of_right.sum()
    };
    let ratings = (1..=5).map(|rating: u8| (rating, cost(rating.into())));
    ratings
        .min_by(|(_, one), (_, other)| one.total_cmp(other))
        .map_or(2, |(rating, _)| rating)
}

/// Returns the factor by which features of this square of a length are scaled.
fn scale(square: i32) -> f64 {
    let length = f64::from(square).sqrt() / f64::from(WHOLE);
    if length > 0.0 { NORM / length } else { 0.0 }
}

/// The exponential of a number that is not positive, by the same operations on every machine.
pub(super) fn exp(x: f64) -> f64 {
    const TERMS: u32 = 14;
    let x = x.max(-60.0);
    let halvings = (-x / std::f64::consts::LN_2).floor();
    let rest = x + halvings * std::f64::consts::LN_2;
    let (mut term, mut sum) = (1.0, 1.0);
    for number in 1..TERMS {
        term *= rest / f64::from(number);
        sum += term;
    }
    let mut left = halvings;
    while left > 0.5 {
        sum *= 0.5;
        left -= 1.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        let model = Model::parse(WEIGHTS);
        assert_eq!(model.weights.len(), WEIGHTS.lines().count() - 2);
        assert!(model.meanings.len() >= 20);
        assert!(WEIGHTS.len() <= 300 * 1024, "{}", WEIGHTS.len());
    }

    #[test]
    fn exponentials_are_those_of_the_library() {
        for tenth in 0..400 {
            let x = -f64::from(tenth) / 10.0;
            assert!((exp(x) - x.exp()).abs() <= 1e-12 * x.exp(), "{x}");
        }
    }
}
