//! Runs other programs.

use std::cell::RefCell;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::error::{Context as _, Error, Result};

thread_local! {
    /// The output of this thread's commands, if it is captured.
    static PRINTED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Returns the output of the commands that `work` [`run`]s on this thread, and the result of `work`. None of it appears on the
/// terminal.
pub(crate) fn captured<T>(work: impl FnOnce() -> T) -> (String, T) {
    PRINTED.set(Some(String::new()));
    let done = work();
    (PRINTED.take().unwrap_or_default(), done)
}

/// Shows the command, runs it on this terminal, and fails unless it succeeds.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = command_line(command);
    let unstarted = || format!("`{line}` cannot be started");
    let is_captured = PRINTED.with_borrow(Option::is_some);
    let status = if is_captured {
        let Output { status, stdout, stderr } = command.output().context(unstarted)?;
        let [stdout, stderr] = [&stdout, &stderr].map(|bytes| String::from_utf8_lossy(bytes));
        PRINTED.with_borrow_mut(|printed| {
            if let Some(printed) = printed {
                printed.extend(["$ ", &line, "\n", &stdout, &stderr]);
            }
        });
        status
    } else {
        eprintln!("$ {line}");
        command.status().context(unstarted)?
    };
    if status.success() {
        Ok(())
    } else {
        Err(Error::new(format!("`{line}` failed ({status})")))
    }
}

/// Runs the command and returns its output; fails with its last lines unless it succeeds. A command whose standard error is
/// inherited reports its errors itself.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = command_line(command);
    let Output { status, stdout, stderr } = command.output().context(|| format!("`{line}` cannot be started"))?;
    if status.success() {
        return String::from_utf8(stdout).context(|| format!("what `{line}` prints is not UTF-8"));
    }
    let mut message = format!("`{line}` failed ({status})");
    if !stderr.is_empty() {
        message += &format!(": {}", error_line(&String::from_utf8_lossy(&stderr)));
    }
    Err(Error::new(message))
}

/// Returns the line that most likely contains the error: the first that calls itself an error, else the last.
pub(crate) fn error_line(output: &str) -> &str {
    let is_error = |line: &&str| {
        ["error", "fatal"]
            .iter()
            .any(|word| line.to_ascii_lowercase().contains(word))
    };
    output
        .lines()
        .find(is_error)
        .or_else(|| output.lines().rfind(|line| !line.trim().is_empty()))
        .unwrap_or("")
        .trim()
}

/// Polls a server until it is ready; fails with the error in its log if it ends instead.
pub(crate) fn wait_until_ready(
    server: &mut Child,
    name: &str,
    log: &Path,
    interval: Duration,
    is_ready: impl Fn() -> bool,
) -> Result<()> {
    const TIMEOUT: Duration = Duration::from_secs(120);
    let started = Instant::now();
    while !is_ready() {
        let ended = server.try_wait().context(|| format!("{name} cannot be watched"))?;
        if ended.is_some() || started.elapsed() > TIMEOUT {
            let log = fs::read_to_string(log).unwrap_or_default();
            return Err(Error::new(format!("{name} does not start: {}", error_line(&log))));
        }
        thread::sleep(interval);
    }
    Ok(())
}

/// Returns the command as one would type it: variables set for it, program, arguments; those with blanks are quoted.
fn command_line(command: &Command) -> String {
    let quoted = |word: &OsStr| {
        let word = word.to_string_lossy();
        if word.contains(char::is_whitespace) {
            format!("'{word}'")
        } else {
            word.into_owned()
        }
    };
    let variables = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), quoted(value?))));
    // A toolchain's full path adds nothing to its name.
    let program = Path::new(command.get_program()).file_name().map(quoted);
    variables
        .chain(program)
        .chain(command.get_args().map(quoted))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the path of this program in `PATH`.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    search_path()
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// Returns the folders of `PATH`.
pub(crate) fn search_path() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_and_its_complaint() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo 'error: two' >&2; echo three >&2; exit 3"]);
        let error = output(&mut command).unwrap_err().to_string();
        assert!(error.starts_with("`sh -c 'echo one;"), "{error}");
        assert!(error.ends_with("error: two"), "{error}");
    }

    #[test]
    fn a_silent_failure_is_reported_by_its_status() {
        let error = output(&mut Command::new("false")).unwrap_err().to_string();
        assert_eq!(error, "`false` failed (exit status: 1)");
    }

    #[test]
    fn what_commands_print_can_be_kept() {
        let (printed, result) = captured(|| run(Command::new("sh").args(["-c", "echo one; echo two >&2; exit 1"])));
        assert_eq!(printed, "$ sh -c 'echo one; echo two >&2; exit 1'\none\ntwo\n");
        assert!(result.is_err());
        assert!(PRINTED.with_borrow(Option::is_none));
    }

    #[test]
    fn output_is_handed_back() {
        assert_eq!(output(Command::new("echo").arg("hello")).unwrap(), "hello\n");
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let error = run(&mut Command::new("/no/such/program")).unwrap_err().to_string();
        assert!(error.starts_with("`program` cannot be started"), "{error}");
    }

    #[test]
    fn the_error_line_is_the_first_error_or_else_the_last() {
        assert_eq!(error_line("a\nFATAL: b\nc\n"), "FATAL: b");
        assert_eq!(error_line("a\nb\n\n"), "b");
        assert_eq!(error_line(""), "");
    }
}
