//! The use of indexes of trigrams for patterns, in which `%` stands for any characters.

use std::collections::BTreeSet;

/// Returns `true` if PostgreSQL's index narrows the texts that match. It finds runs of three letters or digits and the beginning
/// of the text. For a pattern with neither, it would be read whole.
pub(crate) fn narrows(pattern: &str) -> bool {
    pattern.split('%').enumerate().any(|(number, piece)| {
        let runs = piece.split(|character: char| !character.is_alphanumeric());
        number == 0 && !piece.is_empty() || runs.into_iter().any(|run| run.chars().nth(2).is_some())
    })
}

/// Returns the trigrams to look up in SQLite's index, each quoted. They are those of the mailbox, if it has any, since many texts
/// share the part after the @.
pub(crate) fn selective(pattern: &str) -> Vec<String> {
    let mailbox = all(pattern.split_inclusive('@').next().unwrap_or_default());
    if mailbox.is_empty() { all(pattern) } else { mailbox }
}

/// Returns the trigrams that a text must have to match.
fn all(pattern: &str) -> Vec<String> {
    let mut runs = Vec::new();
    for piece in pattern.split('%') {
        let characters: Vec<char> = piece.chars().collect();
        runs.extend(characters.windows(3).step_by(3).map(quoted));
        runs.extend(characters.windows(3).last().map(quoted));
    }
    let mut seen = BTreeSet::new();
    runs.retain(|run| seen.insert(run.clone()));
    runs
}

fn quoted(run: &[char]) -> String {
    let text: String = run.iter().collect();
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_needs_a_run_or_a_beginning() {
        for pattern in ["%smi%", "j%n", "%a%b%smith", "x'yz%"] {
            assert!(narrows(pattern), "{pattern}");
        }
        for pattern in ["%a%b%c%", "%sm%it%", "%---%", "%.%.%.%"] {
            assert!(!narrows(pattern), "{pattern}");
        }
    }

    #[test]
    fn the_index_is_asked_for_runs_of_three() {
        for (pattern, expected) in [
            ("a%b%c", ""),
            ("%smi%", r#""smi""#),
            ("%zoë smith%", r#""zoë" AND " sm" AND "ith""#),
            ("an%smith", r#""smi" AND "ith""#),
            ("%ann%7@example.com", r#""ann""#),
            ("%@exa%", r#""@ex" AND "exa""#),
            (r#"%a"b%"#, r#""a""b""#),
        ] {
            assert_eq!(selective(pattern).join(" AND "), expected, "{pattern}");
        }
    }
}
