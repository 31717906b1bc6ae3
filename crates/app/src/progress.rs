//! The progress of a long command, on standard error: a bar on a terminal; elsewhere, if it takes really long, a line now and
//! then.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

/// The interval between lines if there is no terminal.
const LINES: Duration = Duration::from_secs(5);

/// The template for work whose extent is known.
const BAR: &str = "{bar:30} {pos} of {len} {msg}, {rate} a second, {eta} left";
/// The template for work whose extent is not known.
const COUNT: &str = "{spinner} {pos} {msg}, {rate} a second";

/// The progress of a piece of work. It is erased when it is dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    lines: Option<Lines>,
}

/// Progress as lines.
struct Lines {
    kind: &'static str,
    total: u64,
    begun: Instant,
    last: Instant,
}

impl Progress {
    /// Shows work on `total` records of a kind, on a terminal or in a log.
    pub(crate) fn of(kind: &'static str, total: u64) -> Self {
        let mut progress = Self::bar(kind, total);
        if progress.bar.is_hidden() {
            let now = Instant::now();
            progress.lines = Some(Lines {
                kind,
                total,
                begun: now,
                last: now,
            });
        }
        progress
    }

    /// Shows work on `total` records of a kind, on a terminal only.
    pub(crate) fn bar(kind: &'static str, total: u64) -> Self {
        Self::shown(ProgressBar::new(total), BAR, kind)
    }

    /// Shows work on an unknown number of records of a kind, on a terminal only.
    pub(crate) fn count(kind: &'static str) -> Self {
        Self::shown(ProgressBar::no_length(), COUNT, kind)
    }

    fn shown(bar: ProgressBar, template: &str, kind: &'static str) -> Self {
        bar.set_style(style(template));
        bar.set_message(kind);
        Self { bar, lines: None }
    }

    /// Shows that this number of records are done.
    pub(crate) fn reach(&mut self, done: u64) {
        self.bar.set_position(done);
        if let Some(lines) = &mut self.lines {
            lines.reach(done);
        }
    }

    /// Prints something while the bar is hidden.
    pub(crate) fn print<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Lines {
    fn reach(&mut self, done: u64) {
        if self.last.elapsed() < LINES {
            return;
        }
        self.last = Instant::now();
        crate::output::notice(&line(self.kind, done, self.total, self.begun.elapsed()));
    }
}

/// Parses a template. An invalid one is replaced by the library's own.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("rate", |state: &ProgressState, text: &mut dyn std::fmt::Write| {
            // Writing to a String does not fail.
            let _ = write!(text, "{:.0}", state.per_sec());
        })
}

/// Formats the progress, the speed, and the time left.
fn line(kind: &str, done: u64, total: u64, took: Duration) -> String {
    let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).max(1);
    let rate = done.saturating_mul(1_000) / milliseconds;
    let left = total.saturating_sub(done) / rate.max(1);
    let percent = done.saturating_mul(100) / total.max(1);
    format!("{done} of {total} {kind} ({percent} %), {rate} a second, {left} s left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_much_is_left() {
        let text = line("leads", 250, 1_000, Duration::from_millis(500));
        assert_eq!(text, "250 of 1000 leads (25 %), 500 a second, 1 s left");
        assert_eq!(
            line("contacts", 0, 10, Duration::ZERO),
            "0 of 10 contacts (0 %), 0 a second, 10 s left"
        );
    }

    #[test]
    fn the_templates_are_ones() {
        for template in [BAR, COUNT] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
