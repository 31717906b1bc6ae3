//! Trains the model from the corpus, by multinomial logistic regression with small weights (L2). Rare classes count for more than
//! their number: by the square root of the classes' sizes.
//!
//! The same corpus gives the same weights on every machine: arithmetic is plain and in a fixed order, and random choices have a
//! fixed seed.

use std::{collections::BTreeMap, fmt::Write};

use super::{
    Rules,
    corpus::{self, Example, to_f64},
    data, evaluation,
    features::{Features, PHRASE, WHOLE},
    model::{Meaning, Model, NORM, UNIT, WEIGHTS, ZERO, exp},
};

/// The number of times that the corpus is gone through.
const ROUNDS: usize = 25;
/// The number of times to find the features that matter.
const ROUNDS_TO_SELECT: usize = 6;
/// The length of the first step.
const STEP: f64 = 0.5;
/// The pull of weights towards 0.
const SHRINK: f64 = 0.7;
/// The number of enquiries that must have a feature.
const RAREST: usize = 2;
/// The maximum number of features of the model: those that matter most.
const MAX_FEATURES: usize = 7_500;
/// The largest weight, in units, that a letter can stand for.
const MAX_WEIGHT: i32 = 46;

/// An example: the numbers of its features with their values.
type Row = Vec<(usize, f64)>;

/// The features of an example: of its conversation, and of its latest message alone.
pub(super) struct Sample {
    conversation: Features,
    message: Features,
    meaning: Meaning,
}

impl Sample {
    pub(super) fn new(rules: &Rules, example: &Example) -> Self {
        let mut conversation = rules.features_of(&example.conversation(false));
        // Both with a vehicle and without one: between the two.
        let car = example.car.map_or(PHRASE / 2, |car| if car { PHRASE } else { 0 });
        let car = car.max(conversation.get("=car").copied().unwrap_or_default());
        if car > 0 {
            conversation.insert("=car".to_owned(), car);
        }
        Self {
            conversation,
            message: rules.features_of_last_message(&example.conversation(false)),
            meaning: if example.junk.is_empty() {
                Meaning::Enquiry(example.rating, example.intent)
            } else {
                Meaning::Junk
            },
        }
    }
}

/// The file of weights that these samples train.
pub(super) fn train(samples: &[&Sample], fingerprint: &str) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in samples.iter().flat_map(|sample| sample.conversation.keys()) {
        *counts.entry(name).or_default() += 1;
    }
    let frequent = counts.iter().filter(|(_, count)| **count >= RAREST);
    let mut names: Vec<&str> = frequent.map(|(name, _)| *name).collect();
    let first = fit(samples, &names, ROUNDS_TO_SELECT);
    // Those with the largest weights, and of these those that are seen more often.
    let mut importance: Vec<(f64, &str)> = names
        .iter()
        .enumerate()
        .map(|(number, name)| {
            let squares: f64 = first.iter().map(|(_, weights)| weights[number] * weights[number]).sum();
            (squares * to_f64(counts[name]).sqrt(), *name)
        })
        .collect();
    importance.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    names = importance.iter().take(MAX_FEATURES).map(|(_, name)| *name).collect();
    names.sort_unstable();
    let fitted = fit(samples, &names, ROUNDS);
    let mut file = format!(
        "# Written by `cargo xtask lead-model`; do not edit. Trained with {} enquiries; fingerprint {fingerprint}.\n",
        samples.len()
    );
    let always = fitted.iter().map(|(meaning, weights)| {
        let always = weights.last().unwrap() / UNIT;
        format!("{}={always:.0}", meaning.name())
    });
    writeln!(file, "{}", always.collect::<Vec<_>>().join(" ")).unwrap();
    for (number, name) in names.iter().enumerate() {
        let letters: String = fitted.iter().map(|(_, weights)| letter(weights[number])).collect();
        writeln!(file, "{name}\t{letters}").unwrap();
    }
    file
}

fn letter(weight: f64) -> char {
    let units: i32 = format!("{:.0}", weight / UNIT).parse().unwrap();
    let units = units.clamp(-MAX_WEIGHT, MAX_WEIGHT);
    char::from(u8::try_from(i32::from(ZERO) + units).unwrap())
}

/// The weights of each meaning for these features, and last the weight that always counts.
fn fit(samples: &[&Sample], names: &[&str], rounds: usize) -> Vec<(Meaning, Vec<f64>)> {
    let numbers: BTreeMap<&str, usize> = names.iter().enumerate().map(|(number, name)| (*name, number)).collect();
    let row = |features: &Features| -> Row {
        let mut row: Row = features
            .iter()
            .filter_map(|(name, value)| Some((*numbers.get(name.as_str())?, f64::from(*value) / f64::from(WHOLE))))
            .collect();
        let length = row.iter().map(|(_, value)| value * value).sum::<f64>().sqrt();
        row.iter_mut().for_each(|(_, value)| *value *= NORM / length);
        row.push((names.len(), 1.0));
        row
    };
    let meanings: BTreeMap<String, Meaning> = samples
        .iter()
        .map(|sample| (sample.meaning.name(), sample.meaning))
        .collect();
    let meanings: Vec<Meaning> = meanings.into_values().collect();
    let rows: Vec<Row> = samples.iter().map(|sample| row(&sample.conversation)).collect();
    let labels = samples
        .iter()
        .map(|sample| meanings.iter().position(|meaning| *meaning == sample.meaning).unwrap());
    let of_conversations = descend(
        &rows,
        &labels.collect::<Vec<_>>(),
        meanings.len(),
        names.len() + 1,
        rounds,
    );
    let rows: Vec<Row> = samples.iter().map(|sample| row(&sample.message)).collect();
    let labels = samples
        .iter()
        .map(|sample| usize::from(sample.meaning == Meaning::Junk));
    let of_messages = descend(&rows, &labels.collect::<Vec<_>>(), 2, names.len() + 1, rounds);
    let mut weights: Vec<(Meaning, Vec<f64>)> = meanings
        .iter()
        .enumerate()
        .map(|(kind, meaning)| (*meaning, of_conversations.iter().map(|of| of[kind]).collect()))
        .collect();
    let junk = of_messages.iter().map(|of| of[1] - of[0]).collect();
    weights.push((Meaning::JunkMessage, junk));
    weights
}

/// The weights of each feature for each kind, by stochastic gradient descent (`AdaGrad`).
fn descend(rows: &[Row], labels: &[usize], kinds: usize, features: usize, rounds: usize) -> Vec<Vec<f64>> {
    let sizes: Vec<f64> = (0..kinds)
        .map(|kind| to_f64(labels.iter().filter(|label| **label == kind).count()))
        .collect();
    let mean = to_f64(labels.len()) / to_f64(kinds);
    let mut in_rows = vec![0.0; features];
    for (feature, _) in rows.iter().flatten() {
        in_rows[*feature] += 1.0;
    }
    let always = features - 1;
    let mut weights = vec![vec![0.0; kinds]; features];
    let mut squares = vec![vec![1e-8; kinds]; features];
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let mut random = 1_u64;
    let mut errors = vec![0.0; kinds];
    for _ in 0..rounds {
        for at in (1..order.len()).rev() {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            order.swap(at, usize::try_from(random >> 33).unwrap() % (at + 1));
        }
        for row in &order {
            let (row, label) = (&rows[*row], labels[*row]);
            errors.iter_mut().for_each(|error| *error = 0.0);
            for (feature, value) in row {
                for (error, weight) in errors.iter_mut().zip(&weights[*feature]) {
                    *error += weight * value;
                }
            }
            let highest = errors.iter().copied().fold(f64::MIN, f64::max);
            errors.iter_mut().for_each(|error| *error = exp(*error - highest));
            let all: f64 = errors.iter().sum();
            let importance = (mean / sizes[label]).sqrt();
            for (kind, error) in errors.iter_mut().enumerate() {
                let right = if kind == label { 1.0 } else { 0.0 };
                *error = (*error / all - right) * importance;
            }
            for (feature, value) in row {
                let shrink = if *feature == always {
                    0.0
                } else {
                    SHRINK / in_rows[*feature]
                };
                let of_feature = weights[*feature].iter_mut().zip(&mut squares[*feature]);
                for ((weight, square), error) in of_feature.zip(&errors) {
                    let slope = error * value + shrink * *weight;
                    *square += slope * slope;
                    *weight -= STEP * slope / square.sqrt();
                }
            }
        }
    }
    weights
}

/// FNV-1a of everything that the weights depend on: the corpus, the words and phrases, and the code that makes features.
fn fingerprint() -> String {
    let code = [
        include_str!("clean.rs"),
        include_str!("corpus.rs"),
        include_str!("data.rs"),
        include_str!("features.rs"),
        include_str!("junk.rs"),
        include_str!("learn.rs"),
        include_str!("mod.rs"),
        include_str!("pattern.rs"),
        include_str!("signal.rs"),
        include_str!("words.rs"),
        data::SIGNALS,
        data::JUNK,
        data::WORDS,
        data::SPELLING,
        data::MAIL,
    ];
    let corpus = corpus::texts();
    let bytes = corpus.iter().map(String::as_str).chain(code).flat_map(str::bytes);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// The samples of the whole corpus.
pub(super) fn samples(rules: &Rules, examples: &[Example]) -> Vec<Sample> {
    examples.iter().map(|example| Sample::new(rules, example)).collect()
}

/// Writes `weights.txt`; `cargo xtask lead-model` runs it.
#[test]
#[ignore = "writes weights.txt"]
fn writes_the_weights() {
    let rules = Rules::new();
    let samples = samples(&rules, &corpus::trained());
    let file = train(&samples.iter().collect::<Vec<_>>(), &fingerprint());
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/rules/weights.txt"), &file).unwrap();
    evaluation::report(&Rules::with(Model::parse(file.leak())));
}

/// Trains again and compares; `cargo xtask lead-model --check` runs it.
#[test]
#[ignore = "takes half a minute"]
fn the_weights_are_those_that_training_gives() {
    let rules = Rules::new();
    let samples = samples(&rules, &corpus::trained());
    let file = train(&samples.iter().collect::<Vec<_>>(), &fingerprint());
    assert!(file == WEIGHTS, "run `cargo xtask lead-model` and commit the result");
}

#[test]
fn the_weights_are_those_of_the_corpus() {
    let head = WEIGHTS.lines().next().unwrap_or_default();
    let fingerprint = fingerprint();
    assert!(
        head.contains(&fingerprint),
        "the corpus or the rules changed ({fingerprint}): run `cargo xtask lead-model` and commit the result"
    );
}

#[test]
fn a_trained_model_tells_its_samples_apart() {
    let rules = Rules::new();
    let examples = corpus::trained();
    let few: Vec<Example> = examples.into_iter().step_by(12).collect();
    let samples = samples(&rules, &few);
    let file = train(&samples.iter().collect::<Vec<_>>(), "");
    assert_eq!(
        file,
        train(&samples.iter().collect::<Vec<_>>(), ""),
        "training gives the same weights again"
    );
    let rules = Rules::with(Model::parse(file.leak()));
    let right = few.iter().filter(|example| {
        let read = rules.read(&example.conversation(example.car.unwrap_or_default()));
        read.rating.map(u8::from) == Some(example.rating)
    });
    assert!(right.count() * 10 >= few.len() * 9);
}
