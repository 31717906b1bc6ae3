//! Learns the weights of the model from the corpus, by logistic regression: one for the rating, one for the intent and one for
//! junk. Weights are kept small (L2), and what is rare counts more than its number (the square root of the classes' sizes).
//!
//! `cargo test -p forecourt-lead-ai learn -- --ignored` writes `weights.txt` anew, always with the same result.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use super::{
    Rules,
    corpus::{LEARNT, load, text},
    features::WHOLE,
    model::Outcome,
};

/// How often the corpus is gone through.
const ROUNDS: usize = 50;
/// How far the first step goes.
const STEP: f64 = 0.5;
/// How strongly weights are drawn to 0.
const SHRINK: f64 = 2.0;
/// In how many examples a feature has to be.
const RAREST: usize = 2;
/// Weights that are smaller are left out.
const SMALLEST: f64 = 0.06;

/// An example: its features by their number, and how much each counts.
type Row = Vec<(usize, f64)>;

#[test]
#[ignore = "writes weights.txt"]
fn learn() {
    let rules = Rules::new();
    let texts: Vec<String> = LEARNT.iter().map(|name| text(name)).collect();
    let examples: Vec<_> = texts.iter().flat_map(|text| load(text)).collect();
    let features: Vec<_> = examples
        .iter()
        .map(|example| rules.features(&example.conversation, &rules.read_thread(&example.conversation)))
        .collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in features.iter().flat_map(|features| features.keys()) {
        *counts.entry(name).or_default() += 1;
    }
    let names: Vec<&str> = counts
        .iter()
        .filter(|(_, count)| **count >= RAREST)
        .map(|(name, _)| *name)
        .collect();
    let numbers: BTreeMap<&str, usize> = names.iter().enumerate().map(|(number, name)| (*name, number)).collect();
    let rows: Vec<Row> = features
        .iter()
        .map(|features| {
            let known = features
                .iter()
                .filter_map(|(name, value)| Some((*numbers.get(name.as_str())?, f64::from(*value) / f64::from(WHOLE))));
            // The last one is in every example.
            known.chain([(names.len(), 1.0)]).collect()
        })
        .collect();
    let mut lines: BTreeMap<&str, String> = BTreeMap::new();
    let ratings: Vec<_> = examples
        .iter()
        .map(|example| Some(Outcome::Rating(example.rating)))
        .collect();
    let intents: Vec<_> = examples
        .iter()
        .map(|example| Some(Outcome::Intent(example.intent)))
        .collect();
    let junk: Vec<_> = examples
        .iter()
        .map(|example| (!example.junk.is_empty()).then_some(Outcome::Junk))
        .collect();
    for labels in [ratings, intents, junk] {
        for (outcome, weights) in fit(&rows, names.len() + 1, &labels) {
            for (number, weight) in weights
                .into_iter()
                .enumerate()
                .filter(|(_, weight)| weight.abs() >= SMALLEST)
            {
                let line = lines.entry(names.get(number).copied().unwrap_or("always")).or_default();
                write!(line, " {}{:+.0}", outcome.name(), weight * 100.0).unwrap();
            }
        }
    }
    let mut file = format!(
        "# Written by `learn`; do not edit. Learnt from {} enquiries with the fingerprint {:016x}.\n",
        examples.len(),
        fingerprint(&texts)
    );
    for (name, weights) in lines {
        writeln!(file, "{name}\t{}", weights.trim_start()).unwrap();
    }
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/rules/weights.txt"), file).unwrap();
}

/// The weights for each label. `None` is the label that none of the others is, and has no weights.
fn fit(rows: &[Row], features: usize, labels: &[Option<Outcome>]) -> Vec<(Outcome, Vec<f64>)> {
    let kinds: BTreeSet<Option<String>> = labels.iter().map(|label| label.map(Outcome::name)).collect();
    let kinds: Vec<Option<String>> = kinds.into_iter().collect();
    let labels: Vec<usize> = labels
        .iter()
        .map(|label| kinds.iter().position(|kind| *kind == label.map(Outcome::name)).unwrap())
        .collect();
    let sizes: Vec<f64> = (0..kinds.len())
        .map(|kind| to_f64(labels.iter().filter(|label| **label == kind).count()))
        .collect();
    let mean = to_f64(labels.len()) / to_f64(kinds.len());
    let mut in_rows = vec![0.0; features];
    for (feature, _) in rows.iter().flatten() {
        in_rows[*feature] += 1.0;
    }
    let always = features - 1;
    let mut weights = vec![vec![0.0; kinds.len()]; features];
    let mut squares = vec![vec![1e-8; kinds.len()]; features];
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let mut random = 1_u64;
    for _ in 0..ROUNDS {
        for at in (1..order.len()).rev() {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            order.swap(at, usize::try_from(random >> 33).unwrap() % (at + 1));
        }
        for row in &order {
            let (row, label) = (&rows[*row], labels[*row]);
            let importance = (mean / sizes[label]).sqrt();
            let mut chances: Vec<f64> = (0..kinds.len())
                .map(|kind| row.iter().map(|(feature, value)| weights[*feature][kind] * value).sum())
                .collect();
            let highest = chances.iter().copied().fold(f64::MIN, f64::max);
            chances.iter_mut().for_each(|sum| *sum = (*sum - highest).exp());
            let all: f64 = chances.iter().sum();
            for (kind, chance) in chances.iter().enumerate() {
                let error = (chance / all - if kind == label { 1.0 } else { 0.0 }) * importance;
                for (feature, value) in row {
                    let weight = &mut weights[*feature][kind];
                    let shrink = if *feature == always {
                        0.0
                    } else {
                        SHRINK * *weight / in_rows[*feature]
                    };
                    let slope = error * value + shrink;
                    let square = &mut squares[*feature][kind];
                    *square += slope * slope;
                    *weight -= STEP * slope / square.sqrt();
                }
            }
        }
    }
    let of = |kind: usize| weights.iter().map(|weights| weights[kind]).collect::<Vec<_>>();
    let named = kinds
        .iter()
        .enumerate()
        .filter_map(|(kind, name)| Some((Outcome::named(name.as_ref()?)?, kind)));
    let none = kinds.iter().position(Option::is_none);
    named
        .map(|(outcome, kind)| {
            let mut own = of(kind);
            if let Some(none) = none {
                own.iter_mut().zip(of(none)).for_each(|(own, none)| *own -= none);
            }
            (outcome, own)
        })
        .collect()
}

fn to_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

/// FNV-1a, by which a corpus is recognised.
fn fingerprint(texts: &[String]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[test]
fn the_weights_are_those_of_the_corpus() {
    let texts: Vec<String> = LEARNT.iter().map(|name| text(name)).collect();
    let head = include_str!("weights.txt").lines().next().unwrap_or_default();
    assert!(
        head.contains(&format!("{:016x}", fingerprint(&texts))),
        "the corpus changed; run `cargo test -p forecourt-lead-ai learn -- --ignored`"
    );
}
