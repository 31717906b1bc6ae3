//! Weighs the evidence that a message is junk.

use std::{
    collections::{BTreeMap, HashSet},
    sync::LazyLock,
};

use forecourt_leads::JunkConfidence;

use super::{
    Read, data,
    pattern::Finder,
    signal::{Signal, named},
    words::Words,
};

named! {
    /// Kinds of junk.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    JunkKind {
        /// Search engines, links and traffic.
        Seo,
        /// Websites and software.
        WebDesign,
        /// Marketing and contact lists.
        Marketing,
        /// Cryptocurrencies, trading, get-rich-quick.
        Crypto,
        /// Loans and investments.
        Loans,
        /// Advance fees, phishing and threats.
        Fraud,
        /// Adult offers.
        Adult,
        /// Pills and casinos.
        Goods,
        /// Work from home.
        Jobs,
        /// Offers to businesses that are sent to everyone.
        Bulk,
        /// Instructions for a machine.
        Instructions,
        /// Random letters.
        Gibberish,
        /// A test of the form.
        Test,
    }
}

impl JunkKind {
    /// The words for it, after "Looks like".
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Seo => "an unsolicited SEO or link offer",
            Self::WebDesign => "an unsolicited web design or software offer",
            Self::Marketing => "an unsolicited marketing offer",
            Self::Crypto => "a cryptocurrency or trading scheme",
            Self::Loans => "an unsolicited loan or investment offer",
            Self::Fraud => "a phishing or fraud attempt",
            Self::Adult => "an adult advertisement",
            Self::Goods => "advertising for pills, gambling or goods",
            Self::Jobs => "a fake job offer",
            Self::Bulk => "a bulk business offer",
            Self::Instructions => "instructions for a machine, not an enquiry",
            Self::Gibberish => "random text without meaning",
            Self::Test => "a test message",
        }
    }
}

/// The number of points at which junk is all but certain; at [`MEDIUM`] it is likely, and at [`LOW`] a guess.
const HIGH: i32 = 6;
/// See [`HIGH`].
const MEDIUM: i32 = 4;
/// See [`HIGH`].
const LOW: i32 = 3;
/// Points that each kind of evidence of a real enquiry takes away, and the number of kinds that count.
const REAL_POINTS: (i32, usize) = (3, 2);
/// Points of one link to an unknown place, and of three or more.
const LINK_POINTS: (i32, i32) = (1, 3);
/// Points of a message that is nothing but links.
const ONLY_LINKS_POINTS: i32 = 5;
/// Points of markup for links.
const MARKUP_POINTS: i32 = 4;
/// Points of foreign script with a link.
const FOREIGN_POINTS: i32 = 6;
/// Points of random letters.
const GIBBERISH_POINTS: i32 = 5;
/// Points of a message that is only a test.
const TEST_POINTS: i32 = 3;
/// Signs of a real enquiry in a message that has words of junk.
const REAL: [Signal; 9] = [
    Signal::TestDrive,
    Signal::Viewing,
    Signal::PartExchange,
    Signal::Availability,
    Signal::NamesCar,
    Signal::Motability,
    Signal::Owner,
    Signal::Service,
    Signal::WarrantyClaim,
];

static TEST_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| data::words(data::MAIL, "test words").collect());
static RARE_PAIRS: LazyLock<Vec<&str>> = LazyLock::new(|| data::words(data::MAIL, "rare pairs").collect());
static EVERYDAY: LazyLock<HashSet<&str>> = LazyLock::new(|| data::words(data::MAIL, "everyday").collect());

/// The phrases of junk, each with its kind and points.
pub(super) fn phrases() -> impl Iterator<Item = (&'static str, (JunkKind, i32))> {
    data::lines(data::JUNK).filter_map(|(name, phrase)| {
        let (kind, points) = name.split_once(' ')?;
        Some((phrase, (JunkKind::named(kind)?, points.parse().ok()?)))
    })
}

/// The log-odds of junk at which the model alone is believed: twenty to one.
const VERY_LIKELY: f64 = 3.0;
/// The log-odds at which the model takes a message for junk: four to one.
const LIKELY: f64 = 1.4;
/// The log-odds at which the model does not rule junk out: one to two.
const UNLIKELY: f64 = -0.7;
/// The log-odds at which the model does not wholly rule junk out: one to nine.
const VERY_UNLIKELY: f64 = -2.2;

/// The kind of junk that a message is, and the confidence in that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Verdict {
    pub(super) kind: JunkKind,
    pub(super) confidence: JunkConfidence,
}

/// Weighs a message by itself. `log_odds` are the model's.
pub(super) fn weigh(finder: &Finder<(JunkKind, i32)>, suspect: &Read, log_odds: f64) -> Option<Verdict> {
    let mut points: Vec<(JunkKind, i32)> = Vec::new();
    let mut seen = HashSet::new();
    for found in finder.find(&suspect.subject).chain(finder.find(&suspect.words)) {
        if seen.insert(found.pattern) {
            points.push(found.what);
        }
    }
    let Read { cleaned, words, .. } = suspect;

    let letters = || cleaned.text.chars().filter(|character| character.is_alphabetic());
    let foreign = letters().filter(|letter| u32::from(*letter) >= 0x250).count();
    if foreign * 2 > letters().count() && cleaned.links > 0 {
        points.push((JunkKind::Bulk, FOREIGN_POINTS));
    }
    match cleaned.strange_links {
        0 => {}
        1 | 2 => points.push((JunkKind::Bulk, LINK_POINTS.0)),
        _ => points.push((JunkKind::Bulk, LINK_POINTS.1)),
    }
    if cleaned.links > 0 && words.count() == 0 && cleaned.strange_links > 0 {
        points.push((JunkKind::Bulk, ONLY_LINKS_POINTS));
    }
    if cleaned.markup {
        points.push((JunkKind::Seo, MARKUP_POINTS));
    }
    if is_test(words) {
        points.push((JunkKind::Test, TEST_POINTS));
    } else if is_gibberish(words) {
        points.push((JunkKind::Gibberish, GIBBERISH_POINTS));
    }

    let mut total: i32 = points.iter().map(|(_, points)| points).sum();
    let real = REAL.iter().filter(|signal| suspect.signals.contains(signal)).count();
    total -= REAL_POINTS.0 * i32::try_from(real.min(REAL_POINTS.1)).unwrap_or(0);
    // Points and model see different things: high confidence takes both.
    let confidence = if log_odds >= LIKELY && total >= MEDIUM || log_odds >= 0.0 && total >= HIGH {
        JunkConfidence::High
    } else if log_odds >= VERY_LIKELY || log_odds >= 0.0 && total > 0 || log_odds >= UNLIKELY && total >= MEDIUM {
        JunkConfidence::Medium
    } else if log_odds >= VERY_UNLIKELY && total >= LOW {
        JunkConfidence::Low
    } else {
        return None;
    };
    let mut kinds: BTreeMap<JunkKind, i32> = BTreeMap::new();
    for (kind, points) in points {
        *kinds.entry(kind).or_default() += points;
    }
    // The kind with the most points; of several the first.
    let kind = kinds
        .into_iter()
        .max_by_key(|(kind, points)| (*points, std::cmp::Reverse(*kind)));
    Some(Verdict {
        kind: kind.map_or(JunkKind::Bulk, |(kind, _)| kind),
        confidence,
    })
}

fn is_test(words: &Words) -> bool {
    let mut all = words.sentences.iter().flatten().peekable();
    let is_some = all.peek().is_some();
    let mut tests = false;
    let known = all.all(|word| {
        tests |= word.text.starts_with("test");
        TEST_WORDS.contains(word.text.as_str())
    });
    is_some && known && tests
}

/// Returns `true` if a text is letters without meaning: it has no everyday word, and few words that can be spoken.
pub(super) fn is_gibberish(words: &Words) -> bool {
    let (mut odd, mut all) = (0, 0);
    for word in words.sentences.iter().flatten().take(60) {
        if EVERYDAY.contains(word.text.as_str()) {
            return false;
        }
        if word.groups.is_empty() && word.text.len() >= 4 {
            all += 1;
            odd += usize::from(is_unspeakable(&word.text));
        }
    }
    odd > 0 && odd * 2 >= all
}

/// Returns `true` if a word has long runs of consonants or of one letter, too few vowels, or neighbouring keys of the keyboard.
fn is_unspeakable(word: &str) -> bool {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return false;
    }
    let is_vowel = |byte: u8| matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
    let vowels = word.bytes().filter(|byte| is_vowel(*byte)).count();
    let (mut consonants, mut same, mut longest, mut longest_same, mut previous) = (0, 0, 0, 0, 0);
    for byte in word.bytes() {
        consonants = if is_vowel(byte) { 0 } else { consonants + 1 };
        same = if byte == previous { same + 1 } else { 1 };
        previous = byte;
        longest = longest.max(consonants);
        longest_same = longest_same.max(same);
    }
    let keyboard = [
        "asdf", "qwer", "zxcv", "hjkl", "qwpo", "sdfg", "dfgh", "fghj", "ghjk", "rtyf",
    ];
    let has_rare_pair = RARE_PAIRS.iter().any(|pair| word.contains(pair));
    longest >= 5
        || longest_same >= 4
        || vowels * 5 < word.len()
        || has_rare_pair
        || keyboard.iter().any(|row| word.contains(row))
}
