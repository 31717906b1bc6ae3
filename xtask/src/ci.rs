//! `cargo xtask ci`: the checks that every change must pass, the cheapest first. Checks that use Cargo little run beside the
//! others.

use std::env;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::process;
use crate::task::{Outcome, Task};
use crate::workspace::Workspace;
use crate::{architecture, clients, codegen, deny, domain_crates, lint, migrations, test};

pub(crate) const TASK: Task = Task {
    name: "ci",
    usage: "[--only STEP]… [--skip STEP]…",
    summary: "run what continuous integration runs: fmt, architecture, migrations, clippy, codegen, lint, deny, doc, package, example, clients, test",
    run,
};

struct Step {
    name: &'static str,
    /// True if it runs beside the others, since it mostly leaves Cargo's target folder alone. So it uses the time in which a
    /// large crate keeps one core busy. The output of its commands comes before the last step.
    is_beside: bool,
    run: fn(&Workspace) -> Result<Outcome>,
}

static STEPS: [Step; 12] = [
    Step::new("fmt", |workspace| passed(fmt(workspace))),
    Step::new("architecture", |workspace| passed(architecture::check(workspace))),
    Step::new("migrations", |workspace| passed(migrations::check(workspace))),
    Step::new("clippy", |workspace| passed(clippy(workspace))),
    Step::new("codegen", |workspace| passed(codegen::check(workspace))),
    Step::new("lint", lint::check).beside(),
    Step::new("deny", |workspace| passed(deny::check(workspace))).beside(),
    Step::new("doc", |workspace| passed(doc(workspace))),
    Step::new("package", |workspace| passed(domain_crates::package(workspace))),
    Step::new("example", |workspace| passed(domain_crates::example(workspace))).beside(),
    Step::new("clients", clients::check).beside(),
    Step::new("test", test),
];

impl Step {
    const fn new(name: &'static str, run: fn(&Workspace) -> Result<Outcome>) -> Self {
        let is_beside = false;
        Self { name, is_beside, run }
    }

    const fn beside(self) -> Self {
        Self {
            is_beside: true,
            ..self
        }
    }
}

fn passed(result: Result<()>) -> Result<Outcome> {
    result.map(|()| Outcome::Passed)
}

fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let steps = pick(arguments)?.into_iter();
    let (beside, others): (Vec<&Step>, Vec<&Step>) = steps.partition(|step| step.is_beside);
    // The last step is the tests, whose summary ends a run.
    let (first, last) = others.split_at(others.len().saturating_sub(1));
    let mut reports = Vec::new();
    // A failed step does not end the run: one run reports everything that must be repaired.
    let mut run_all = |steps: &[&Step]| {
        for step in steps {
            eprintln!("\n== {} ==", step.name);
            reports.push(report(workspace, step));
        }
    };
    let beside = thread::scope(|scope| {
        let beside = scope.spawn(|| {
            let run = |step| process::captured(|| report(workspace, step));
            beside.into_iter().map(run).collect::<Vec<_>>()
        });
        run_all(first);
        beside.join().map_err(|_| Error::new("a step panicked"))
    })?;
    for (printed, report) in &beside {
        eprintln!("\n== {} ==\n{}", report.step, printed.trim_end());
    }
    run_all(last);
    reports.extend(beside.into_iter().map(|(_, report)| report));
    conclude(&reports)
}

fn report(workspace: &Workspace, step: &Step) -> Report {
    let started = Instant::now();
    let result = (step.run)(workspace);
    if let Err(error) = &result {
        eprintln!("xtask: {}: {error}", step.name);
    }
    Report {
        step: step.name,
        took: started.elapsed(),
        result,
    }
}

struct Report {
    step: &'static str,
    took: Duration,
    result: Result<Outcome>,
}

/// Prints a line for each step, and fails if one of them has failed.
fn conclude(reports: &[Report]) -> Result<()> {
    eprintln!("\n== summary ==");
    for Report { step, took, result } in reports {
        let (verdict, why) = match result {
            Ok(Outcome::Passed) => ("ok", ""),
            Ok(Outcome::Skipped(why)) => ("skipped", why.as_str()),
            Err(_) => ("FAILED", ""),
        };
        eprintln!("{step:12}  {verdict:7}  {:4} s  {why}", took.as_secs());
    }
    let failed = reports.iter().filter(|report| report.result.is_err());
    let failed: Vec<&str> = failed.map(|report| report.step).collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Error::new(format!("failed: {}", failed.join(", "))))
    }
}

/// Returns the steps that the arguments select.
fn pick(arguments: &[String]) -> Result<Vec<&'static Step>> {
    let usage = || {
        let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        Error::new(format!(
            "usage: cargo xtask ci {}, where STEP is one of {}",
            TASK.usage,
            names.join(", ")
        ))
    };
    let (mut only, mut skip) = (Vec::new(), Vec::new());
    for pair in arguments.chunks(2) {
        let [option, name] = pair else { return Err(usage()) };
        let step = STEPS.iter().find(|step| step.name == name).ok_or_else(usage)?;
        match option.as_str() {
            "--only" => only.push(step.name),
            "--skip" => skip.push(step.name),
            _ => return Err(usage()),
        }
    }
    let wanted = |step: &&Step| (only.is_empty() || only.contains(&step.name)) && !skip.contains(&step.name);
    Ok(STEPS.iter().filter(wanted).collect())
}

fn fmt(workspace: &Workspace) -> Result<()> {
    component(workspace, "fmt", "rustfmt")?;
    process::run(workspace.cargo().args(["fmt", "--all", "--check"]))
}

fn clippy(workspace: &Workspace) -> Result<()> {
    component(workspace, "clippy", "clippy")?;
    let mut clippy = workspace.cargo();
    // This is not `--all-targets`, which would check libraries without tests of their own for tests too.
    clippy.args(["clippy", "--workspace", "--lib", "--bins", "--tests", "--examples"]);
    process::run(clippy.args(["--", "-D", "warnings"]))
}

fn doc(workspace: &Workspace) -> Result<()> {
    let mut doc = workspace.cargo();
    doc.env("RUSTDOCFLAGS", "-D warnings");
    // For the documentation of a crate, Cargo checks its dependencies. With the compiler that `cargo clippy` names it finds
    // that they were checked; without these variables, or if they change, it checks them once more.
    let cargo = env::var_os("CARGO").and_then(|cargo| fs::canonicalize(cargo).ok());
    let clippy = cargo.map(|cargo| cargo.with_file_name("clippy-driver"));
    if let Some(clippy) = clippy.filter(|clippy| clippy.is_file()) {
        doc.env("RUSTC_WORKSPACE_WRAPPER", clippy);
        doc.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    }
    // The example enables the features of the dependencies for development, with which clippy has checked all of them.
    doc.args(["doc", "--no-deps", "--workspace", "--lib", "--bins"]);
    process::run(doc.args(["--example", "bounds"]))
}

fn test(workspace: &Workspace) -> Result<Outcome> {
    test::run(workspace, &[])?;
    Ok(match test::browser() {
        Some(_) => Outcome::Passed,
        None => Outcome::Skipped(test::NO_BROWSER.to_owned()),
    })
}

/// Checks that a component of the toolchain is installed. A minimal toolchain installed before lacks the components that
/// `rust-toolchain.toml` lists.
fn component(workspace: &Workspace, subcommand: &str, component: &str) -> Result<()> {
    if process::output(workspace.cargo().args([subcommand, "--version"])).is_ok() {
        return Ok(());
    }
    process::run(workspace.command("rustup").args(["component", "add", component]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(arguments: &str) -> Result<Vec<&'static str>> {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        Ok(pick(&arguments)?.into_iter().map(|step| step.name).collect())
    }

    #[test]
    fn all_steps_are_run_unless_some_are_picked() {
        let all = picked("").unwrap();
        assert_eq!(all.len(), STEPS.len());
        for name in all {
            assert!(TASK.summary.contains(name), "the help does not know {name}");
        }
    }

    #[test]
    fn steps_are_picked_and_left_out() {
        assert_eq!(picked("--only test --only fmt").unwrap(), ["fmt", "test"]);
        assert!(!picked("--skip test").unwrap().contains(&"test"));
        assert_eq!(picked("--only fmt --skip fmt").unwrap(), [""; 0]);
    }

    #[test]
    fn what_is_no_step_is_an_error() {
        for arguments in ["--only", "--only nonsense", "fmt", "--without fmt"] {
            assert!(
                picked(arguments)
                    .unwrap_err()
                    .to_string()
                    .contains("STEP is one of fmt"),
                "{arguments}"
            );
        }
    }

    #[test]
    fn one_failed_step_fails_the_run() {
        let report = |step, result| Report {
            step,
            took: Duration::ZERO,
            result,
        };
        let reports = [
            report("fmt", Ok(Outcome::Passed)),
            report("doc", Err(Error::new("broken"))),
            report(
                "clients",
                Ok(Outcome::Skipped("Node is not on this machine".to_owned())),
            ),
        ];
        assert_eq!(conclude(&reports).unwrap_err().to_string(), "failed: doc");
        assert!(conclude(&reports[..1]).is_ok());
        assert!(conclude(&reports[2..]).is_ok());
    }
}
