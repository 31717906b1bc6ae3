//! What was measured, in words and tables.

use std::fs;
use std::path::Path;

use super::feed::Feed;
use super::format::{megabytes, percent, rate, table};
use super::machine::{self, Machine};
use super::measure::{Measured, Row, Side};
use super::options::Options;
use super::webhooks::Webhooks;
use super::yardstick::Programs;
use crate::codegen;
use crate::error::{Context as _, Error, Result};

/// The report's place in a document.
const BEGIN: &str = "<!-- measured: begin -->\n";
const END: &str = "<!-- measured: end -->\n";

const LOADS: [&str; 11] = [
    "workload",
    "Forecourt /s",
    "yardstick /s",
    "ratio",
    "CPU µs",
    "yardstick CPU µs",
    "CPU ratio",
    "p50",
    "p99",
    "target ratio",
    "met?",
];
const FIGURES: [&str; 4] = ["figure", "measured", "target", "met?"];

pub(super) struct Report<'a> {
    pub(super) options: &'a Options,
    pub(super) programs: &'a Programs,
    pub(super) machine: Machine,
    /// How long the disk takes to keep something for good, before and after the measurements: on some machines that is not
    /// the same from one minute to the next, and with it the rate of creates.
    pub(super) sync_times: [f64; 2],
    pub(super) measured: Vec<Measured>,
}

impl Report<'_> {
    pub(super) fn to_markdown(&self) -> Result<String> {
        let mut text = format!(
            "Measured on {} by\n\n    {}\n",
            machine::date()?,
            self.options.command()
        );
        let mut section = |title: &str, table: String| text += &format!("\n### {title}\n\n{table}");
        let mut program = Vec::new();
        for measured in &self.measured {
            let engine = measured.engine.name();
            let yardstick = measured.engine.pick("the bare program", "pgbench");
            let loads: Vec<_> = measured.rows.iter().map(load).collect();
            section(&format!("{engine} beside {yardstick}"), table(LOADS, &loads));
            for (title, figures) in tables(measured) {
                section(&format!("{title}, {engine}"), table(FIGURES, &figures));
            }
            program.extend(of_program(measured));
        }
        program.push(figure("binary", megabytes(self.programs.size()?), "MB", Some(25.0)));
        section("Start, memory, size", table(FIGURES, &program));
        section("The machine", self.machine());
        Ok(text)
    }

    fn machine(&self) -> String {
        let [before, after] = self.sync_times;
        let databases: Vec<&str> = self.measured.iter().map(|measured| &*measured.database).collect();
        format!(
            "{}; the disk keeps 4 KiB for good in {before:.2} ms before and {after:.2} ms after the measurements.\n{}; {}.\n",
            self.machine.hardware,
            self.machine.rustc,
            databases.join(", ")
        )
    }
}

fn load(row: &Row) -> [String; 11] {
    let (p50, p99) = row.latency();
    [
        row.name.to_owned(),
        rate(row.per_second(Side::Ours)),
        rate(row.per_second(Side::Theirs)),
        percent(row.ratio()),
        cpu(row.cpu(Side::Ours)),
        cpu(row.cpu(Side::Theirs)),
        percent(row.cpu_ratio()),
        format!("{p50:.2} ms"),
        format!("{p99:.2} ms"),
        row.target
            .map_or_else(String::new, |target| format!("≥ {}", percent(target))),
        verdict(row.met()),
    ]
}

/// The tables of figures with their titles. Those without a target are there to be compared with.
fn tables(measured: &Measured) -> [(&'static str, Vec<[String; 4]>); 3] {
    let engine = measured.engine;
    let Feed { ours, theirs, .. } = measured.feed;
    let feed = vec![
        figure(
            &format!("{} listings", rate(measured.feed.listings as f64)),
            ours.as_secs_f64() * 1e3,
            "ms",
            None,
        ),
        figure("the bare program", theirs.as_secs_f64() * 1e3, "ms", None),
        figure(
            "in proportion",
            measured.feed.ratio(),
            "times",
            Some(engine.pick(2.0, 3.0)),
        ),
        figure("growth of memory", megabytes(measured.feed.growth), "MB", Some(20.0)),
    ];
    let Webhooks {
        p50,
        p99,
        per_second,
        cpu: program,
        database_cpu,
    } = measured.webhooks;
    let (least, most) = (engine.pick(7_000.0, 3_500.0), engine.pick(Some(200.0), None));
    let webhooks = vec![
        [
            "a backlog to one endpoint".to_owned(),
            format!("{} a second", rate(per_second)),
            format!("≥ {} a second", rate(least)),
            verdict(Some(per_second >= least)),
        ],
        [
            "CPU time per delivery".to_owned(),
            format!("{} µs", cpu((program, database_cpu))),
            most.map_or_else(String::new, |most| format!("≤ {most} µs")),
            verdict(most.map(|most| program + database_cpu.unwrap_or_default() <= most)),
        ],
        figure(
            "from commit to arrival at 50 a second, p50",
            p50,
            "ms",
            Some(engine.pick(1.0, 1.5)),
        ),
        figure("the same, p99", p99, "ms", None),
    ];
    let latency = &measured.neighbour.latency;
    let neighbour = vec![
        figure("another one's creates, reads and lists, p50", latency.p50, "ms", None),
        figure("the same, p99", latency.p99, "ms", Some(100.0)),
        figure(
            "growth of memory",
            megabytes(measured.neighbour.growth),
            "MB",
            Some(150.0),
        ),
    ];
    [
        ("The whole feed of listings", feed),
        ("Webhooks", webhooks),
        ("Beside a business that does its worst", neighbour),
    ]
}

fn of_program(measured: &Measured) -> [[String; 4]; 3] {
    let engine = measured.engine;
    let row = |what: &str, value, unit, most| figure(&format!("{what}, {}", engine.name()), value, unit, Some(most));
    [
        row("cold start", measured.cold_start, "ms", engine.pick(30.0, 100.0)),
        row("memory idle", megabytes(measured.idle_memory), "MB", 15.0),
        row("memory loaded", megabytes(measured.loaded_memory), "MB", 60.0),
    ]
}

/// The program's, and the database server's where there is one.
fn cpu((program, database): (f64, Option<f64>)) -> String {
    match database {
        None => format!("{program:.0}"),
        Some(database) => format!("{program:.0} + {database:.0}"),
    }
}

/// A figure that is to be small.
fn figure(name: &str, measured: f64, unit: &str, most: Option<f64>) -> [String; 4] {
    [
        name.to_owned(),
        format!("{measured:.1} {unit}"),
        most.map_or_else(String::new, |most| format!("≤ {most} {unit}")),
        verdict(most.map(|most| measured <= most)),
    ]
}

fn verdict(met: Option<bool>) -> String {
    met.map_or("", |met| if met { "yes" } else { "NO" }).to_owned()
}

/// Puts the report into a document that has the place for it.
pub(super) fn write(file: &Path, report: &str) -> Result<()> {
    let document = fs::read_to_string(file).context(|| format!("{} cannot be read", file.display()))?;
    let document = codegen::replaced(&document, [BEGIN, END], &format!("\n{report}\n")).ok_or_else(|| {
        Error::new(format!(
            "{} has no place for the report: give it the lines {BEGIN}{END}",
            file.display()
        ))
    })?;
    fs::write(file, document).context(|| format!("{} cannot be written", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_report_takes_the_place_of_the_one_before() {
        let folder = Scratch::new(&std::env::temp_dir(), "report").unwrap();
        let file = folder.path().join("performance.md");
        let with = |between: &str| format!("# Performance\n\n{BEGIN}{between}{END}Notes by hand.\n");
        fs::write(&file, with("")).unwrap();
        for report in ["first\n", "second\n"] {
            write(&file, report).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), with(&format!("\n{report}\n")));
        }
        fs::write(&file, "By hand.\n").unwrap();
        let error = write(&file, "report\n").unwrap_err().to_string();
        assert!(error.contains("<!-- measured: begin -->"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "By hand.\n");
    }

    #[test]
    fn a_figure_is_validated_by_its_target() {
        assert_eq!(figure("x", 30.0, "ms", Some(30.0)), ["x", "30.0 ms", "≤ 30 ms", "yes"]);
        assert_eq!(figure("x", 30.1, "ms", Some(30.0))[3], "NO");
        assert_eq!(figure("x", 1.0, "MB", None)[2..], ["", ""]);
    }

    #[test]
    fn a_database_servers_cpu_time_is_shown_beside_the_programs() {
        assert_eq!(cpu((30.4, None)), "30");
        assert_eq!(cpu((30.4, Some(57.0))), "30 + 57");
    }
}
