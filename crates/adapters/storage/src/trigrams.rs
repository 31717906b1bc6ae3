//! The trigrams of a pattern, by which SQLite's indexes of texts find what may match it.

use std::collections::BTreeSet;

/// Returns the trigrams that a text must have to match the pattern, each quoted. `%` stands for any characters.
pub(crate) fn of(pattern: &str) -> Vec<String> {
    let mut trigrams = BTreeSet::new();
    for piece in pattern.split('%') {
        let characters: Vec<char> = piece.chars().collect();
        trigrams.extend(characters.windows(3).map(quoted));
    }
    trigrams.into_iter().collect()
}

fn quoted(trigram: &[char]) -> String {
    let text: String = trigram.iter().collect();
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_piece_of_a_pattern_has_its_trigrams() {
        for (pattern, expected) in [
            ("a%b%c", ""),
            ("%smi%", r#""smi""#),
            ("%zoë s%", r#""oë " AND "zoë" AND "ë s""#),
            ("an%anan", r#""ana" AND "nan""#),
            (r#"%a"b%"#, r#""a""b""#),
        ] {
            assert_eq!(of(pattern).join(" AND "), expected, "{pattern}");
        }
    }
}
