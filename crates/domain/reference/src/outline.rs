//! The text format of the data files: a `[heading]`, and below it the lines that belong to it. Empty lines and comments are
//! ignored. A comment begins with `#` and a space, because `#1` is a car. ` = ` separates a name from its other names. The parsed
//! values borrow from the text.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// A line that is neither empty nor a comment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    /// The heading of the entries below it.
    Heading(&'static str),
    /// An entry, trimmed.
    Entry(&'static str),
}

pub(crate) fn lines(text: &'static str) -> impl Iterator<Item = Line> {
    let said = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("# "));
    said.map(
        |line| match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(heading) => Line::Heading(heading.trim()),
            None => Line::Entry(line),
        },
    )
}

/// Returns the items of a comma-separated list.
pub(crate) fn items(list: &'static str) -> impl Iterator<Item = &'static str> + Clone {
    list.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// Returns the characters of a text in the form of [`forecourt_kernel::fold`], for comparisons without a copy.
pub(crate) fn folded(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}

/// Returns `true` if two texts differ in nothing but case.
pub(crate) fn same(one: &str, other: &str) -> bool {
    if one.is_ascii() && other.is_ascii() {
        return one.eq_ignore_ascii_case(other);
    }
    folded(one).eq(folded(other))
}

/// Splits an entry into a name and the list of its other names: `Volkswagen = VW`.
pub(crate) fn aliased(entry: &'static str) -> (&'static str, &'static str) {
    match entry.split_once(" = ") {
        Some((name, aliases)) => (name.trim(), aliases.trim()),
        None => (entry, ""),
    }
}

/// Returns the letters and digits of a text, without accents and in lower case. A plus sign counts: a Ka+ is not a Ka.
pub(crate) fn bare(text: &str) -> impl Iterator<Item = char> + '_ {
    let counts =
        |character: &char| *character == '+' || (character.is_alphanumeric() && !is_combining_mark(*character));
    text.nfd().filter(counts).flat_map(char::to_lowercase)
}

/// The same as [`bare`] for ASCII text, which needs no tables.
fn bare_ascii(text: &str) -> impl Iterator<Item = u8> + '_ {
    let counts = |byte: &u8| *byte == b'+' || byte.is_ascii_alphanumeric();
    text.bytes().filter(counts).map(|byte| byte.to_ascii_lowercase())
}

/// Returns `true` if two texts differ in nothing but case, accents, spaces and punctuation. ASCII has a faster path, because a
/// name is compared with a thousand others and nearly all are ASCII.
pub(crate) fn alike(one: &str, other: &str) -> bool {
    fn is_same_and_some<T: PartialEq>(one: impl Iterator<Item = T>, other: impl Iterator<Item = T>) -> bool {
        let mut one = one.peekable();
        one.peek().is_some() && one.eq(other)
    }
    if one.is_ascii() && other.is_ascii() {
        is_same_and_some(bare_ascii(one), bare_ascii(other))
    } else {
        is_same_and_some(bare(one), bare(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_empty_lines_say_nothing() {
        let read: Vec<Line> = lines("# cars\n\n[ Ford ]\n  Fiesta | Mk7  \n#1\n").collect();
        let expected = [Line::Heading("Ford"), Line::Entry("Fiesta | Mk7"), Line::Entry("#1")];
        assert_eq!(read, expected);
        assert_eq!(items(" a, b ,,c").collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[test]
    fn names_are_alike_without_accents_case_and_punctuation() {
        assert!(alike("Citroën", "CITROEN") && alike("Mercedes-Benz", "mercedes benz") && alike("up!", "UP"));
        assert!(!alike("Ka", "Ka+") && !alike("", "") && !alike("-", "!") && !alike("A4", "A40"));
        assert_eq!(aliased("Volkswagen = VW, V W"), ("Volkswagen", "VW, V W"));
        assert_eq!(aliased("Ford"), ("Ford", ""));
    }

    #[test]
    fn ascii_needs_no_tables() {
        let all: String = (0..128_u8).map(char::from).collect();
        let by_tables: Vec<char> = bare(&all).collect();
        assert_eq!(bare_ascii(&all).map(char::from).collect::<Vec<_>>(), by_tables);
        assert!(folded(&all).eq(all.chars().map(|one| one.to_ascii_lowercase())));
    }

    #[test]
    fn case_is_all_that_may_differ() {
        assert!(same("Citroën", "CITROËN") && !same("Citroen", "Citroën") && !same("Ka", "Ka+"));
    }
}
