//! The report: tables with a row for each figure.

use std::array;
use std::fs;
use std::path::Path;

use crate::codegen;
use crate::error::{Context as _, Error, Result};

/// The report's place in a document.
const MARKS: [&str; 2] = ["<!-- measured: begin -->\n", "<!-- measured: end -->\n"];

const COLUMNS: [&str; 10] = [
    "figure",
    "Forecourt",
    "yardstick",
    "ratio",
    "target",
    "met?",
    "p50",
    "p99",
    "CPU",
    "yardstick CPU",
];

/// A figure with the values that it is compared with.
#[derive(Default)]
pub(super) struct Row {
    name: String,
    value: f64,
    unit: &'static str,
    /// The yardstick's value, and the ratio of the two. The target then applies to the ratio.
    pub(super) yardstick: Option<(f64, f64)>,
    target: Option<Target>,
    /// Further values of a load: p50, p99, CPU times of both sides.
    pub(super) load: [String; 4],
}

#[derive(Clone, Copy)]
enum Target {
    AtLeast(f64),
    AtMost(f64),
}

impl Row {
    pub(super) fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        let name = name.into();
        Self {
            name,
            value,
            unit,
            ..Self::default()
        }
    }

    pub(super) fn at_least(self, target: f64) -> Self {
        let target = Some(Target::AtLeast(target));
        Self { target, ..self }
    }

    pub(super) fn at_most(self, target: f64) -> Self {
        let target = Some(Target::AtMost(target));
        Self { target, ..self }
    }

    pub(super) fn cells(&self) -> [String; 10] {
        let with_unit = |value| format!("{} {}", number(value), self.unit);
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let (yardstick, ratio) = self.yardstick.unzip();
        let compared = ratio.unwrap_or(self.value);
        let wanted = |target| {
            if ratio.is_some() {
                percent(target)
            } else {
                with_unit(target)
            }
        };
        let (target, is_met) = match self.target {
            None => Default::default(),
            Some(Target::AtLeast(least)) => (format!("≥ {}", wanted(least)), Some(compared >= least)),
            Some(Target::AtMost(most)) => (format!("≤ {}", wanted(most)), Some(compared <= most)),
        };
        let [p50, p99, cpu, yardstick_cpu] = self.load.clone();
        [
            self.name.clone(),
            with_unit(self.value),
            yardstick.map(with_unit).unwrap_or_default(),
            ratio.map(percent).unwrap_or_default(),
            target,
            is_met.map_or("", |is_met| if is_met { "yes" } else { "NO" }).to_owned(),
            p50,
            p99,
            cpu,
            yardstick_cpu,
        ]
    }
}

/// Formats a number with its significant digits and a separator between thousands.
fn number(value: f64) -> String {
    let digits = match value {
        ..10.0 => return format!("{value:.2}"),
        ..100.0 => return format!("{value:.1}"),
        _ => format!("{value:.0}"),
    };
    let (first, rest) = digits.split_at((digits.len() - 1) % 3 + 1);
    let groups = rest.as_bytes().chunks(3).map(String::from_utf8_lossy);
    first.to_owned() + &groups.map(|group| format!(",{group}")).collect::<String>()
}

/// Formats a table that is readable as Markdown and on a terminal. The first column is text, the others are aligned right.
pub(super) fn table(rows: &[Row]) -> String {
    let mut lines = vec![COLUMNS.map(str::to_owned)];
    lines.extend(rows.iter().map(Row::cells));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: [usize; 10] = array::from_fn(|column| width(column).unwrap_or_default());
    lines.insert(1, widths.map(|width| "-".repeat(width - 1) + ":"));
    lines[1][0] = "-".repeat(widths[0]);
    let line = |[first, others @ ..]: &[String; 10]| {
        let others = others.iter().zip(&widths[1..]);
        let others = others.map(|(cell, width)| format!(" {cell:>width$} |"));
        format!("| {first:0$} |{1}\n", widths[0], others.collect::<String>())
    };
    lines.iter().map(line).collect()
}

/// Inserts the report into a document that has a place for it.
pub(super) fn write(file: &Path, report: &str) -> Result<()> {
    let document = fs::read_to_string(file).context(|| format!("{} cannot be read", file.display()))?;
    let document = codegen::replaced(&document, MARKS, &format!("\n{report}\n"));
    let document = document.ok_or_else(|| {
        let marks = MARKS.concat();
        Error::new(format!("{} has no place for the report: {marks}", file.display()))
    })?;
    fs::write(file, document).context(|| format!("{} cannot be written", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_one_for_the_ratio_where_there_is_a_yardstick() {
        let start = Row::new("start", 30.1, "ms").at_most(30.0);
        assert_eq!(start.cells()[..6], ["start", "30.1 ms", "", "", "≤ 30.0 ms", "NO"]);
        let mut read = Row::new("read", 30_007.0, "/s").at_least(0.65);
        read.yardstick = Some((41_234.5, 0.728));
        let expected = ["read", "30,007 /s", "41,234 /s", "73 %", "≥ 65 %", "yes"];
        assert_eq!(read.cells()[..6], expected);
    }
}
