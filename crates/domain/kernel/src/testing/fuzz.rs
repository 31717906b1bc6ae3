//! Fuzzing of parsers. A parser runs for some seconds on texts that combine and repeat its own tokens in many orders, and must
//! finish each text within a bounded time.

#![expect(
    clippy::panic,
    clippy::print_stdout,
    reason = "a proof fails by panicking, and says of what"
)]

use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Duration,
};

/// The environment variable with the seconds that each test takes.
pub const SECONDS: &str = "FORECOURT_PROVE_SECONDS";
/// The seconds that a test takes if the variable is not set.
const DEFAULT_SECONDS: u64 = 5;
/// The time limit for one text. It is far longer than any text takes, since other work may slow the parser down and tests are not
/// optimised. It is far shorter than a parser takes whose work grows with a power of the length.
pub const MAX_TIME: Duration = Duration::from_secs(5);

/// A clock for the time that a parser takes.
pub struct Stopwatch {
    elapsed: Box<dyn Fn() -> Duration>,
    time: Duration,
}

/// Starts a [`Stopwatch`] by the machine's clock. It is a macro, since the domain itself reads no clock.
#[macro_export]
macro_rules! stopwatch {
    () => {{
        let begin = ::std::time::Instant::now();
        let seconds = ::std::env::var($crate::testing::fuzz::SECONDS).ok();
        $crate::testing::fuzz::Stopwatch::new(move || begin.elapsed(), seconds.as_deref())
    }};
}

impl Stopwatch {
    /// A stopwatch that shows the time of `elapsed`, for a test of so many `seconds`: the value of [`SECONDS`], if it is set.
    pub fn new(elapsed: impl Fn() -> Duration + 'static, seconds: Option<&str>) -> Self {
        let seconds = seconds.and_then(|seconds| seconds.parse().ok());
        Self {
            elapsed: Box::new(elapsed),
            time: Duration::from_secs(seconds.unwrap_or(DEFAULT_SECONDS)),
        }
    }

    /// Runs `parse` on a text.
    ///
    /// # Panics
    /// If `parse` panics, or takes longer than `limit`.
    pub fn within(&self, limit: Duration, text: &[u8], parse: &mut impl FnMut(&[u8])) {
        let begin = (self.elapsed)();
        let outcome = catch_unwind(AssertUnwindSafe(|| parse(text)));
        let time = (self.elapsed)().saturating_sub(begin);
        let shown = String::from_utf8_lossy(text.get(..2_000).unwrap_or(text));
        if let Err(panic) = outcome {
            let panic: Box<dyn Any + Send> = panic;
            println!("a text of {} bytes fails: {shown:?}", text.len());
            resume_unwind(panic);
        }
        if time > limit {
            panic!("a text of {} bytes took {time:?}: {shown:?}", text.len());
        }
    }
}

impl fmt::Debug for Stopwatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stopwatch({:?})", self.time)
    }
}

/// The material of the texts.
#[derive(Clone, Copy, Debug)]
pub struct Fuzz<'a> {
    /// Texts that the parser reads to their end. Every other text is derived from one of these.
    pub corpus: &'a [&'a [u8]],
    /// Tokens of the parser. `#` in a token becomes a number, a different one each time.
    pub tokens: &'a [&'a [u8]],
    /// The maximum length of a text, in bytes.
    pub max_bytes: usize,
}

impl Fuzz<'_> {
    /// Runs `parse` on texts until the time is up.
    ///
    /// # Panics
    /// If `parse` panics, or takes longer than [`MAX_TIME`] for a text. The text is printed.
    pub fn run(&self, stopwatch: &Stopwatch, mut parse: impl FnMut(&[u8])) {
        for text in self.corpus {
            stopwatch.within(MAX_TIME, text, &mut parse);
        }
        let mut number = 0;
        while (stopwatch.elapsed)() < stopwatch.time {
            number += 1;
            stopwatch.within(MAX_TIME, &self.text(number), &mut parse);
        }
        println!("{number} texts");
    }

    /// Returns the text of that number, which is always the same.
    pub fn text(&self, number: u64) -> Vec<u8> {
        let mut random = Random(number);
        let mut text = random.of(self.corpus).unwrap_or_default().to_vec();
        for _ in 0..=random.below(6) {
            self.change(&mut text, &mut random);
        }
        text.truncate(self.max_bytes);
        text
    }

    fn change(&self, text: &mut Vec<u8>, random: &mut Random) {
        let room = self.max_bytes.saturating_sub(text.len());
        let (at, end) = (random.below(text.len() + 1), random.below(text.len() + 1));
        let (from, to) = (at.min(end), at.max(end));
        match random.below(8) {
            0 => drop(text.drain(from..to.min(from + 100))),
            1 => {
                let part = text[from..to].repeat(1 + random.below(3));
                text.splice(to..to, part.into_iter().take(room));
            }
            2 => {
                if let Some(byte) = text.get_mut(at) {
                    *byte = u8::try_from(random.below(256)).unwrap_or_default();
                }
            }
            3 => {
                let other = random.of(self.corpus).unwrap_or_default();
                let begin = random.below(other.len() + 1);
                text.splice(at..at, other[begin..].iter().copied().take(room));
            }
            4 | 5 => {
                let token = self.repeated(1, random);
                text.splice(at..at, token.into_iter().take(room));
            }
            // Nested and long texts.
            6 => {
                let count = random.count(room);
                let (open, close) = (self.repeated(count, random), self.repeated(count, random));
                text.splice(to..to, close.into_iter().take(room / 2));
                text.splice(from..from, open.into_iter().take(room / 2));
            }
            _ => {
                let count = random.count(room);
                let part = self.repeated(count, random);
                text.splice(at..at, part.into_iter().take(room));
            }
        }
    }

    /// Repeats one or two tokens `count` times.
    fn repeated(&self, count: usize, random: &mut Random) -> Vec<u8> {
        let first = random.of(self.tokens).unwrap_or_default();
        let second = match random.below(2) {
            0 => random.of(self.tokens).unwrap_or_default(),
            _ => b"",
        };
        let mut text = Vec::new();
        for number in 0..count {
            for byte in first.iter().chain(second) {
                match byte {
                    b'#' => text.extend_from_slice(number.to_string().as_bytes()),
                    byte => text.push(*byte),
                }
            }
            if text.len() > self.max_bytes {
                break;
            }
        }
        text
    }
}

/// Numbers that look random and are the same each time (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    /// Returns a number below `limit`; 0 if there is none.
    fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        let number = self.next().checked_rem(limit).unwrap_or_default();
        usize::try_from(number).unwrap_or_default()
    }

    /// Returns a number of repetitions: sometimes a few, sometimes as many as there is room for.
    fn count(&mut self, room: usize) -> usize {
        match self.below(4) {
            0 => room,
            1 => self.below(1_000),
            _ => self.below(20),
        }
    }

    fn of<'a>(&mut self, texts: &[&'a [u8]]) -> Option<&'a [u8]> {
        let at = self.below(texts.len());
        texts.get(at).copied()
    }
}
