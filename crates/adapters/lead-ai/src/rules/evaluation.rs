//! Evaluates the rules on labelled enquiries: on those that the model was not trained on, and on the corpus by cross-validation.
//! There each part is read by a model that was trained on the others.

use forecourt_leads::{Assessment, JunkConfidence, MAX_SUMMARY_WORDS};

use super::{
    Rules,
    corpus::{self, Example, similarity, to_f64},
    learn::{samples, train},
    model::Model,
};

/// The parts of the cross-validation.
const FOLDS: usize = 5;
/// The similarity from which on two texts are in the same part.
const SIMILAR: f64 = 0.6;

/// The agreement of readings with labels.
#[derive(Default)]
struct Agreement {
    all: usize,
    /// The number of readings with the label's rating.
    rating: usize,
    /// The number of readings that are rated at most one away from it.
    within_one: usize,
    intent: usize,
    junk: usize,
    buyers: usize,
    /// The number of buyers that are rated 1.
    called_none: usize,
    /// The number of real enquiries that would be put aside.
    put_aside: usize,
    /// The numbers of readings, by label and by rating.
    table: [[usize; 6]; 6],
}

impl Agreement {
    fn add(&mut self, example: &Example, read: &Assessment) {
        let rating = read.rating.map_or(0, u8::from);
        let summary = read.summary.as_deref().unwrap();
        assert!(summary.split_whitespace().count() <= MAX_SUMMARY_WORDS, "{summary}");
        self.all += 1;
        self.rating += usize::from(rating == example.rating);
        self.within_one += usize::from(rating.abs_diff(example.rating) <= 1);
        self.intent += usize::from(read.intent == Some(example.intent));
        self.junk += usize::from(read.junk != example.junk.is_empty());
        self.buyers += usize::from(example.rating > 1);
        self.called_none += usize::from(example.rating > 1 && rating == 1);
        self.put_aside += usize::from(example.junk.is_empty() && read.junk_confidence == Some(JunkConfidence::High));
        self.table[usize::from(example.rating)][usize::from(rating)] += 1;
    }

    fn print(&self, name: &str) {
        let percent = |count: usize, of: usize| 100.0 * to_f64(count) / to_f64(of.max(1));
        println!(
            "{name}: {} readings; rating {:.1} %, within one {:.1} %, buyers called 1 {:.1} %; intent {:.1} %, junk {:.1} %; put aside {}",
            self.all,
            percent(self.rating, self.all),
            percent(self.within_one, self.all),
            percent(self.called_none, self.buyers),
            percent(self.intent, self.all),
            percent(self.junk, self.all),
            self.put_aside,
        );
        println!("| rated as | 1 | 2 | 3 | 4 | 5 |\n| --- | --- | --- | --- | --- | --- |");
        for rating in (1..=5).rev() {
            let row = self.table[rating][1..].iter().map(|count| format!(" {count} |"));
            println!("| {rating} |{}", row.collect::<String>());
        }
    }
}

/// Reads an example, and prints it if it is misread and `SHOW` is set.
fn read(rules: &Rules, example: &Example, car: bool) -> Assessment {
    let read = rules.read(&example.conversation(car));
    let rating = read.rating.map_or(0, u8::from);
    if std::env::var_os("SHOW").is_some() && (rating != example.rating || read.junk == example.junk.is_empty()) {
        println!(
            "{} -> {rating}{} {} {}",
            example.rating,
            if read.junk { " junk" } else { "" },
            if car { "car" } else { "no-car" },
            example.text
        );
    }
    read
}

/// The part of each example: similar ones are in the same part.
fn folds(examples: &[Example]) -> Vec<usize> {
    let trigrams: Vec<_> = examples.iter().map(Example::trigrams).collect();
    let mut groups: Vec<usize> = (0..examples.len()).collect();
    for one in 0..examples.len() {
        for other in 0..one {
            let (of_one, of_other) = (&trigrams[one], &trigrams[other]);
            let close = of_one.len().min(of_other.len()) * 2 >= of_one.len().max(of_other.len());
            if close && groups[one] != groups[other] && similarity(of_one, of_other) >= SIMILAR {
                let (from, to) = (groups[one], groups[other]);
                groups
                    .iter_mut()
                    .filter(|group| **group == from)
                    .for_each(|group| *group = to);
            }
        }
    }
    // Spread by a hash, so that neighbours in the files, which are alike, are in different parts.
    groups
        .into_iter()
        .map(|group| (group.wrapping_mul(2_654_435_761) >> 7) % FOLDS)
        .collect()
}

/// `cargo xtask lead-model --report` runs it.
#[test]
#[ignore = "trains a model for each part, which takes minutes"]
fn cross_validation() {
    let rules = Rules::new();
    let examples = corpus::trained();
    let samples = samples(&rules, &examples);
    let folds = folds(&examples);
    let (samples, folds) = (&samples, &folds);
    // The parts are trained side by side.
    let models: Vec<Rules> = std::thread::scope(|scope| {
        let trained: Vec<_> = (0..FOLDS)
            .map(|fold| {
                scope.spawn(move || {
                    let others = samples.iter().zip(folds).filter(|(_, of)| **of != fold);
                    let weights = train(&others.map(|(sample, _)| sample).collect::<Vec<_>>(), "");
                    Rules::with(Model::parse(weights.leak()))
                })
            })
            .collect();
        trained.into_iter().map(|trained| trained.join().unwrap()).collect()
    });
    let (mut with, mut without) = (Agreement::default(), Agreement::default());
    for (example, fold) in examples.iter().zip(folds) {
        for car in example.associations() {
            let agreement = if car { &mut with } else { &mut without };
            agreement.add(example, &read(&models[*fold], example, car));
        }
    }
    with.print("cross-validated, with a vehicle");
    without.print("cross-validated, without a vehicle");
}

/// Reads the held-out enquiries: all of them, those with a vehicle and those without one.
fn read_held_out(rules: &Rules) -> [Agreement; 3] {
    let (mut all, mut with, mut without) = (Agreement::default(), Agreement::default(), Agreement::default());
    for example in corpus::held_out() {
        for car in example.associations() {
            let read = read(rules, &example, car);
            all.add(&example, &read);
            let part = if car { &mut with } else { &mut without };
            part.add(&example, &read);
        }
    }
    [all, with, without]
}

/// Reads the corpus.
fn read_corpus(rules: &Rules) -> Agreement {
    read_all(rules, corpus::trained())
}

/// Reads enquiries, with and without a vehicle as their labels say.
fn read_all(rules: &Rules, examples: Vec<Example>) -> Agreement {
    let mut all = Agreement::default();
    for example in examples {
        for car in example.associations() {
            all.add(&example, &read(rules, &example, car));
        }
    }
    all
}

/// Reads a file of labelled enquiries that nothing was made with: `ENQUIRIES=path`, and `SHOW=1` to print the misread ones.
#[test]
#[ignore = "needs a file of enquiries"]
fn a_file_is_read() {
    let path = std::env::var("ENQUIRIES").expect("ENQUIRIES names a file in the format of the corpus");
    let text = std::fs::read_to_string(path).unwrap();
    read_all(&Rules::new(), corpus::parse(&text)).print("file");
}

/// Prints the agreement on the corpus and on the held-out enquiries.
pub(super) fn report(rules: &Rules) {
    read_corpus(rules).print("corpus");
    let [_, with, without] = read_held_out(rules);
    with.print("held out, with a vehicle");
    without.print("held out, without a vehicle");
}

/// Asserts the bar of decisions §5: 85 in 100 as a dealer rates them, 97 within one, at most 1 in 100 buyers called 1.
fn assert_bar(all: &Agreement) {
    assert!(all.rating * 100 >= 85 * all.all, "{} of {}", all.rating, all.all);
    assert!(
        all.within_one * 100 >= 97 * all.all,
        "{} of {}",
        all.within_one,
        all.all
    );
    assert!(
        all.called_none * 100 <= all.buyers,
        "{} of {}",
        all.called_none,
        all.buyers
    );
    assert!(all.junk * 100 >= 97 * all.all, "{} of {}", all.junk, all.all);
    assert_eq!(all.put_aside, 0, "a real enquiry must never be put aside");
}

#[test]
fn enquiries_that_the_model_was_not_trained_on_are_read_right() {
    let [all, with, without] = read_held_out(&Rules::new());
    assert_bar(&all);
    for part in [with, without] {
        assert!(part.rating * 100 >= 85 * part.all, "{} of {}", part.rating, part.all);
    }
}

#[test]
fn enquiries_that_nothing_was_learnt_from_are_read_right() {
    assert_bar(&read_all(&Rules::new(), corpus::unseen()));
}

#[test]
fn enquiries_of_the_corpus_are_read_right() {
    let all = read_corpus(&Rules::new());
    assert!(all.rating * 100 >= 95 * all.all);
    assert!(all.within_one * 100 >= 98 * all.all);
    assert!(all.intent * 100 >= 90 * all.all);
    assert!(all.junk * 100 >= 98 * all.all);
    assert_eq!(all.put_aside, 0, "a real enquiry must never be put aside");
}

#[test]
fn the_corpus_is_large_and_has_nothing_of_what_is_held_out() {
    let trained = corpus::trained();
    let held_out: Vec<_> = corpus::held_out().into_iter().chain(corpus::unseen()).collect();
    assert!(trained.len() >= 2_000 && held_out.len() >= 150);
    let trigrams: Vec<_> = trained.iter().map(Example::trigrams).collect();
    for example in &held_out {
        let own = example.trigrams();
        let similar = trigrams.iter().position(|trigrams| similarity(&own, trigrams) >= 0.7);
        if let Some(similar) = similar {
            panic!("{} is like {}", example.text, trained[similar].text);
        }
    }
}

#[test]
fn buyers_are_buyers_without_an_associated_vehicle() {
    let rules = Rules::new();
    for (text, rating) in [
        ("I want to reserve the red MX-5, can I pay the £99 online?", 5),
        ("I want to buy it now, please send me the payment details", 5),
        ("Can I come and see it after work today?", 4),
    ] {
        let example = Example::of_text(text);
        assert_eq!(
            rules.read(&example.conversation(false)).rating.map(u8::from),
            Some(rating),
            "{text}"
        );
        assert_eq!(
            rules.read(&example.conversation(true)).rating.map(u8::from),
            Some(rating),
            "{text}"
        );
    }
}

#[test]
fn only_the_last_message_makes_junk() {
    let rules = Rules::new();
    let spam = "We guarantee first page rankings on Google, buy cheap backlinks at https://seo.example/buy";
    let after_spam = Example::of_text(&format!(
        "{spam} | them: Sorry, my son did that. Is the blue Kia Ceed still for sale?"
    ));
    let read = rules.read(&after_spam.conversation(false));
    assert!(!read.junk);
    assert_eq!(read.rating.map(u8::from), Some(4));
    let before_spam = Example::of_text(&format!(
        "Is the blue Kia Ceed still for sale? | us: It is. | them: {spam}"
    ));
    let read = rules.read(&before_spam.conversation(false));
    assert!(read.junk);
    assert_eq!(
        read.rating.map(u8::from),
        Some(4),
        "the rating is that of the conversation"
    );
    let alone = rules.read(&Example::of_text(spam).conversation(true));
    assert!(alone.junk);
    assert_eq!(
        (alone.rating.map(u8::from), alone.junk_confidence),
        (Some(1), Some(JunkConfidence::High))
    );
}
