//! How much speaks for a message being junk.

use std::collections::HashSet;

use forecourt_leads::JunkConfidence;

use super::{
    clean::Cleaned,
    lists::{
        EVERYDAY, FOREIGN_POINTS, GIBBERISH_POINTS, JUNK_HIGH, JUNK_LOW, JUNK_MEDIUM, JunkKind, LINK_POINTS,
        MARKUP_POINTS, ONLY_LINKS_POINTS, REAL, REAL_POINTS, REPLY_POINTS, Signal, TEST_POINTS, TEST_WORDS,
    },
    pattern::Finder,
    words::Words,
};

/// From here on the model thinks a message likely junk, in thousandths of log-odds: four to one.
const LIKELY: i64 = 1_400;
/// From here on it does not rule it out: one to two.
const UNLIKELY: i64 = -700;
/// From here on it all but rules it out: one to nine.
const VERY_UNLIKELY: i64 = -2_200;

/// Letters that do not stand side by side in words, of any language that customers write.
const RARE_PAIRS: &str = "bx cj cx fj fx gj gx hj hx jb jc jd jf jg jh jk jl jm jp jq jr jt jv jw jx jz kj kq kx lx mj mx pj \
    pq px qb qc qd qf qg qh qj qk ql qm qn qp qr qs qt qv qw qx qy qz rx sx tj tx vb vf vg vh vj vk vm vp vq vt vw vx vz wq wx \
    wz xd xf xg xj xk xn xq xr xv xz zb zc zf zg zj zk zm zn zp zq zr zs zv zx";

/// What the latest message is, if it is junk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Verdict {
    pub(super) kind: JunkKind,
    pub(super) confidence: JunkConfidence,
}

/// The message that is looked at.
pub(super) struct CheckedMessage<'a> {
    pub(super) cleaned: &'a Cleaned,
    pub(super) words: &'a Words,
    /// The words of its subject.
    pub(super) subject: &'a Words,
    /// What it says otherwise.
    pub(super) signals: &'a HashSet<Signal>,
    /// Whether it answers a message of the business.
    pub(super) is_reply: bool,
    /// Whether it concerns a vehicle.
    pub(super) has_vehicle: bool,
    /// What the model says of it, in thousandths; one half is 0.
    pub(super) prediction: i64,
}

/// Weighs a message.
pub(super) fn weigh(finder: &Finder<(JunkKind, i32)>, suspect: &CheckedMessage<'_>) -> Option<Verdict> {
    let mut points: Vec<(JunkKind, i32)> = Vec::new();
    let mut seen = HashSet::new();
    for found in finder.find(suspect.subject).chain(finder.find(suspect.words)) {
        if seen.insert(found.pattern) {
            points.push(found.what);
        }
    }
    let said: i32 = points.iter().map(|(_, points)| points).sum();
    let CheckedMessage { cleaned, words, .. } = suspect;

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
    if !suspect.has_vehicle && is_test(words) {
        points.push((JunkKind::Test, TEST_POINTS));
    } else if is_gibberish(words) {
        points.push((JunkKind::Gibberish, GIBBERISH_POINTS));
    }

    let mut total: i32 = points.iter().map(|(_, points)| points).sum();
    let real = REAL.iter().filter(|signal| suspect.signals.contains(signal)).count();
    let real = real.min(REAL_POINTS.1) + usize::from(suspect.has_vehicle && said < JUNK_HIGH);
    total -= REAL_POINTS.0 * i32::try_from(real).unwrap_or(0);
    if suspect.is_reply {
        total -= REPLY_POINTS;
    }
    // Points and model see different things: to be sure takes both.
    let confidence = match (suspect.prediction, total) {
        (LIKELY.., JUNK_MEDIUM..) | (0.., JUNK_HIGH..) => JunkConfidence::High,
        (LIKELY.., _) | (0.., 1..) | (UNLIKELY.., JUNK_MEDIUM..) => JunkConfidence::Medium,
        (VERY_UNLIKELY.., JUNK_LOW..) => JunkConfidence::Low,
        _ => return None,
    };
    // The kind for which most speaks; of several the first.
    let kinds: HashSet<JunkKind> = points.iter().map(|(kind, _)| *kind).collect();
    let sum = |kind: JunkKind| -> i32 {
        points
            .iter()
            .filter(|(of, _)| *of == kind)
            .map(|(_, points)| points)
            .sum()
    };
    let kind = kinds
        .into_iter()
        .max_by_key(|kind| (sum(*kind), std::cmp::Reverse(*kind)));
    Some(Verdict {
        kind: kind.unwrap_or(JunkKind::Bulk),
        confidence,
    })
}

fn is_test(words: &Words) -> bool {
    let mut all = words.sentences.iter().flatten().peekable();
    let is_some = all.peek().is_some();
    let mut tests = false;
    let known = all.all(|word| {
        tests |= word.text.starts_with("test");
        TEST_WORDS.contains(&word.text.as_str())
    });
    is_some && known && tests
}

/// Whether a text is letters without meaning: no everyday word, and hardly a word that can be spoken.
pub(super) fn is_gibberish(words: &Words) -> bool {
    let everyday: HashSet<&str> = EVERYDAY.split_whitespace().collect();
    let (mut odd, mut all) = (0, 0);
    for word in words.sentences.iter().flatten().take(60) {
        if everyday.contains(word.text.as_str()) {
            return false;
        }
        if word.class.is_none() && word.text.len() >= 4 {
            all += 1;
            odd += usize::from(is_unspeakable(&word.text));
        }
    }
    odd > 0 && odd * 2 >= all
}

/// Whether a word has long runs of consonants or of one letter, hardly a vowel, or is a walk along the keyboard.
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
    let has_rare_pair = RARE_PAIRS.split(' ').any(|pair| word.contains(pair));
    longest >= 5
        || longest_same >= 4
        || vowels * 5 < word.len()
        || has_rare_pair
        || keyboard.iter().any(|row| word.contains(row))
}
