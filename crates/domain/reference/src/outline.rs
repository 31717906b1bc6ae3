//! The plain text that the data files are written in: a `[heading]`, and below it the lines that belong to it. Empty
//! lines and comments, lines that begin with `#` and a space, say nothing (`#1` is a car). Whatever is read borrows from
//! the text.

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
    fn case_is_all_that_may_differ() {
        assert!(same("Citroën", "CITROËN") && !same("Citroen", "Citroën") && !same("Ka", "Ka+"));
    }
}
