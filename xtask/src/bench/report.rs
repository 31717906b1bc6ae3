//! What was measured, in words and tables.

use std::fs;
use std::io;
use std::path::Path;

use super::Engine;
use super::feed::Feed;
use super::format::{megabytes, percent, rate, table};
use super::machine::{self, Machine};
use super::measure::{Measured, Row, Side};
use super::neighbour::Neighbour;
use super::options::Options;
use super::programs::Programs;
use crate::error::{Context as _, Error, Result};

/// The report's place in a document.
const BEGIN: &str = "<!-- measured: begin -->\n";
const END: &str = "<!-- measured: end -->\n";

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
        for measured in &self.measured {
            let yardstick = match measured.engine {
                Engine::Sqlite => "the bare program",
                Engine::Postgres => "pgbench",
            };
            let title = format!("{} beside {yardstick}", measured.engine.name());
            text += &format!("\n### {title}\n\n{}", loads(&measured.rows));
            let title = format!("The whole feed of listings, {}", measured.engine.name());
            text += &format!("\n### {title}\n\n{}", feed(measured.engine, &measured.feed));
            let title = format!("Webhooks, {}", measured.engine.name());
            text += &format!("\n### {title}\n\n{}", webhooks(measured));
            let title = format!("Beside a business that does its worst, {}", measured.engine.name());
            text += &format!("\n### {title}\n\n{}", neighbour(&measured.neighbour));
        }
        text += &format!("\n### Start, memory, size\n\n{}", self.figures()?);
        text += &format!("\n### The machine\n\n{}", self.machine());
        Ok(text)
    }

    fn figures(&self) -> Result<String> {
        let mut rows = Vec::new();
        for measured in &self.measured {
            let patience = match measured.engine {
                Engine::Sqlite => 30.0,
                Engine::Postgres => 100.0,
            };
            let (idle, loaded) = (megabytes(measured.idle_memory), megabytes(measured.loaded_memory));
            let name = |what: &str| format!("{what}, {}", measured.engine.name());
            rows.push(figure(name("cold start"), measured.cold_start, "ms", Some(patience)));
            rows.push(figure(name("memory idle"), idle, "MB", Some(15.0)));
            rows.push(figure(name("memory loaded"), loaded, "MB", Some(60.0)));
        }
        let size = megabytes(self.programs.size()?);
        rows.push(figure("binary", size, "MB", Some(25.0)));
        Ok(table(["figure", "measured", "target", "met?"], &rows))
    }

    fn machine(&self) -> String {
        let Machine {
            cores,
            processor,
            memory,
            kernel,
            rustc,
        } = &self.machine;
        let [before, after] = self.sync_times;
        let databases: Vec<&str> = self
            .measured
            .iter()
            .map(|measured| measured.database.as_str())
            .collect();
        format!(
            "{cores} cores of {processor}, {memory:.0} GiB of memory, Linux {kernel}; the disk keeps 4 KiB for good in \
             {before:.2} ms before and {after:.2} ms after the measurements.\n{rustc}; {}.\n",
            databases.join(", ")
        )
    }
}

fn loads(rows: &[Row]) -> String {
    let row = |row: &Row| {
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
    };
    let heading = [
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
    table(heading, &rows.iter().map(row).collect::<Vec<_>>())
}

fn feed(engine: Engine, feed: &Feed) -> String {
    let most = match engine {
        Engine::Sqlite => 2.0,
        Engine::Postgres => 3.0,
    };
    let rows = [
        figure(
            format!("{} listings", rate(feed.listings as f64)),
            feed.ours.as_secs_f64() * 1e3,
            "ms",
            None,
        ),
        figure("the bare program", feed.theirs.as_secs_f64() * 1e3, "ms", None),
        figure("in proportion", feed.ratio(), "times", Some(most)),
        figure("growth of memory", megabytes(feed.growth), "MB", Some(20.0)),
    ];
    table(["figure", "measured", "target", "met?"], &rows)
}

fn webhooks(measured: &Measured) -> String {
    let (least, patience) = match measured.engine {
        Engine::Sqlite => (7000.0, 1.0),
        Engine::Postgres => (3500.0, 1.5),
    };
    let webhooks = &measured.webhooks;
    let each = webhooks.cpu + webhooks.database_cpu.unwrap_or_default();
    let rows = [
        [
            "a backlog to one endpoint".to_owned(),
            format!("{} a second", rate(webhooks.per_second)),
            format!("≥ {} a second", rate(least)),
            verdict(Some(webhooks.per_second >= least)),
        ],
        [
            "CPU time per delivery".to_owned(),
            format!("{} µs", cpu((webhooks.cpu, webhooks.database_cpu))),
            match measured.engine {
                Engine::Sqlite => "≤ 200 µs".to_owned(),
                Engine::Postgres => String::new(),
            },
            verdict(matches!(measured.engine, Engine::Sqlite).then_some(each <= 200.0)),
        ],
        figure(
            "from commit to arrival at 50 a second, p50",
            webhooks.p50,
            "ms",
            Some(patience),
        ),
        figure("the same, p99", webhooks.p99, "ms", None),
    ];
    table(["figure", "measured", "target", "met?"], &rows)
}

fn neighbour(neighbour: &Neighbour) -> String {
    let Neighbour { latency, growth } = neighbour;
    let rows = [
        figure("another one's creates, reads and lists, p50", latency.p50, "ms", None),
        figure("the same, p99", latency.p99, "ms", Some(100.0)),
        figure("growth of memory", megabytes(*growth), "MB", Some(150.0)),
    ];
    table(["figure", "measured", "target", "met?"], &rows)
}

/// The program's, and the database server's where there is one.
fn cpu((program, database): (f64, Option<f64>)) -> String {
    match database {
        None => format!("{program:.0}"),
        Some(database) => format!("{program:.0} + {database:.0}"),
    }
}

/// A figure that is to be small.
fn figure(name: impl Into<String>, measured: f64, unit: &str, target: Option<f64>) -> [String; 4] {
    [
        name.into(),
        format!("{measured:.1} {unit}"),
        target.map_or_else(String::new, |target| format!("≤ {target} {unit}")),
        verdict(target.map(|target| measured <= target)),
    ]
}

fn verdict(met: Option<bool>) -> String {
    let word = match met {
        Some(true) => "yes",
        Some(false) => "NO",
        None => "",
    };
    word.to_owned()
}

/// Puts the report into a document: between the marks of an earlier one, or into a new document.
pub(super) fn write(file: &Path, report: &str) -> Result<()> {
    let document = match fs::read_to_string(file) {
        Ok(document) => document,
        Err(error) if error.kind() == io::ErrorKind::NotFound => format!("# Performance\n\n{BEGIN}{END}"),
        Err(error) => return Err(error).context(|| format!("{} cannot be read", file.display())),
    };
    let document = replaced(&document, report).ok_or_else(|| {
        Error::new(format!(
            "{} has no place for the report: give it the lines {} and {}",
            file.display(),
            BEGIN.trim_end(),
            END.trim_end()
        ))
    })?;
    fs::write(file, document).context(|| format!("{} cannot be written", file.display()))
}

/// The document with another report between its marks.
fn replaced(document: &str, report: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{report}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_report_takes_the_place_of_the_one_before() {
        let folder = Scratch::new(&std::env::temp_dir(), "report").unwrap();
        let file = folder.path().join("performance.md");
        write(&file, "first\n").unwrap();
        let document = fs::read_to_string(&file).unwrap();
        fs::write(&file, document + "Notes by hand.\n").unwrap();
        write(&file, "second\n").unwrap();
        let expected = format!("# Performance\n\n{BEGIN}\nsecond\n\n{END}Notes by hand.\n");
        assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    }

    #[test]
    fn a_document_without_a_place_is_left_alone() {
        let folder = Scratch::new(&std::env::temp_dir(), "report").unwrap();
        let file = folder.path().join("performance.md");
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
    fn a_database_servers_cpu_time_stands_beside_the_programs() {
        assert_eq!(cpu((30.4, None)), "30");
        assert_eq!(cpu((30.4, Some(57.0))), "30 + 57");
    }
}
