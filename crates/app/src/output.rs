//! The output of commands: results on standard output, failures on standard error.

use std::{
    error::Error,
    fmt::{self, Write as _},
    io::{self, Write},
};

use serde::Serialize;
use serde_json::json;

/// The result cannot be printed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputError {
    /// Standard output is closed or full.
    #[error("standard output cannot be written to")]
    Closed(#[source] io::Error),
    /// The result has no JSON form.
    #[error("the result cannot be written as JSON")]
    Json(#[source] serde_json::Error),
}

/// Prints one line of a result.
///
/// # Errors
/// [`OutputError::Closed`].
pub(crate) fn line(line: impl fmt::Display) -> Result<(), OutputError> {
    text(&format!("{line}\n"))
}

/// Prints a text that ends its own lines.
///
/// # Errors
/// [`OutputError::Closed`].
pub(crate) fn text(text: &str) -> Result<(), OutputError> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(OutputError::Closed)
}

/// Prints a result as the one JSON document that a program reads.
///
/// # Errors
/// [`OutputError`].
pub(crate) fn json(result: &impl Serialize) -> Result<(), OutputError> {
    line(serde_json::to_string(result).map_err(OutputError::Json)?)
}

/// Prints rows below a heading, each column as wide as its widest cell.
///
/// # Errors
/// [`OutputError::Closed`].
pub(crate) fn table<const COLUMNS: usize>(
    heading: [&str; COLUMNS],
    rows: &[[String; COLUMNS]],
) -> Result<(), OutputError> {
    line(aligned(heading, rows))
}

fn aligned<const COLUMNS: usize>(heading: [&str; COLUMNS], rows: &[[String; COLUMNS]]) -> String {
    let heading = heading.map(str::to_owned);
    let all = || std::iter::once(&heading).chain(rows);
    let widths: [usize; COLUMNS] =
        std::array::from_fn(|column| all().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let text = |row: &[String; COLUMNS]| {
        let mut text = String::new();
        for (cell, width) in row.iter().zip(widths) {
            // Writing to a String does not fail.
            let _ = write!(text, "{cell:width$}  ");
        }
        text.trim_end().to_owned()
    };
    all().map(text).collect::<Vec<_>>().join("\n")
}

/// Reports why the command failed, in one line, which is a JSON document if a program reads it.
pub(crate) fn failure(error: &dyn Error, json: bool) {
    refusal(&chain(error), json);
}

/// Reports why nothing was done, in one line, which is a JSON document if a program reads it.
pub(crate) fn refusal(text: &str, json: bool) {
    if json {
        let document = json!({"success": false, "error": {"message": text}});
        // If this cannot be written, the exit code must be enough.
        let _ = writeln!(io::stderr(), "{document}");
    } else {
        complaint(format_args!("{text}"));
    }
}

/// Reports a fault in one line of text.
pub(crate) fn complaint(text: fmt::Arguments<'_>) {
    // If this cannot be written, the exit code must be enough.
    let _ = writeln!(io::stderr(), "forecourt: {text}");
}

/// Formats an error with its causes, in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        // Some libraries repeat their cause in their own message.
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Prints one line that is neither result nor failure.
pub(crate) fn notice(text: &str) {
    // A failure to print it is ignored.
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct ChainedError(&'static str, #[source] Option<Box<ChainedError>>);

    #[test]
    fn a_failure_is_one_line_with_its_causes() {
        let root = ChainedError("connection\n  refused", None);
        let error = ChainedError("the store cannot be reached", Some(Box::new(root)));
        assert_eq!(chain(&error), "the store cannot be reached: connection refused");
        let repeating = ChainedError(
            "it failed: for this reason",
            Some(Box::new(ChainedError("for this reason", None))),
        );
        assert_eq!(chain(&repeating), "it failed: for this reason");
    }

    #[test]
    fn columns_are_as_wide_as_need_be() {
        let rows = [["1".to_owned(), "Añil".to_owned(), "x".to_owned()]];
        assert_eq!(aligned(["ID", "N", "STATE"], &rows), "ID  N     STATE\n1   Añil  x");
    }
}
