//! The plain text that the data files are written in: a `[heading]`, and below it the lines that belong to it. Empty
//! lines and comments, lines that begin with `#` and a space, say nothing (`#1` is a car). ` = ` separates a name from the
//! other names that it goes by. Whatever is read borrows from the text.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// A line that says something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    /// What the entries from here on belong to.
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

/// The items of a list that commas separate.
pub(crate) fn items(list: &'static str) -> impl Iterator<Item = &'static str> + Clone {
    list.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// The characters of a text as [`forecourt_kernel::fold`] makes them, for comparisons that copy nothing.
pub(crate) fn folded(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}

/// Whether two texts are the same but for case.
pub(crate) fn same(one: &str, other: &str) -> bool {
    folded(one).eq(folded(other))
}

/// A name, and the list of the other names that it goes by: `Volkswagen = VW`.
pub(crate) fn aliased(entry: &'static str) -> (&'static str, &'static str) {
    match entry.split_once(" = ") {
        Some((name, aliases)) => (name.trim(), aliases.trim()),
        None => (entry, ""),
    }
}

/// The letters and digits of a text, without accents and in lower case. A plus sign counts: a Ka+ is no Ka.
pub(crate) fn bare(text: &str) -> impl Iterator<Item = char> + '_ {
    let counts =
        |character: &char| *character == '+' || (character.is_alphanumeric() && !is_combining_mark(*character));
    text.nfd().filter(counts).flat_map(char::to_lowercase)
}

/// Whether two texts are the same but for case, accents, spaces and punctuation.
pub(crate) fn alike(one: &str, other: &str) -> bool {
    let mut one = bare(one).peekable();
    one.peek().is_some() && one.eq(bare(other))
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
    fn case_is_all_that_may_differ() {
        assert!(same("Citroën", "CITROËN") && !same("Citroen", "Citroën") && !same("Ka", "Ka+"));
    }
}
