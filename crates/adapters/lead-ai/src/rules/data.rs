//! The words and phrases of the folder `data`, which are part of the program.
//!
//! A file has sections; a name in brackets begins one. Lines that begin with `#` are for the reader.

/// The phrases that show what a message says.
pub(super) const SIGNALS: &str = include_str!("../../data/signals.txt");
/// The phrases of junk.
pub(super) const JUNK: &str = include_str!("../../data/junk.txt");
/// Groups of words.
pub(super) const WORDS: &str = include_str!("../../data/words.txt");
/// Short forms and mistakes.
pub(super) const SPELLING: &str = include_str!("../../data/spelling.txt");
/// The lines that portals and mail programs write.
pub(super) const MAIL: &str = include_str!("../../data/mail.txt");

/// The lines of a file, each with the name of its section.
pub(super) fn lines(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut section = "";
    file.lines().filter_map(move |line| {
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name;
            return None;
        }
        Some((section, line))
    })
}

/// The lines of one section.
pub(super) fn section(file: &'static str, name: &'static str) -> impl Iterator<Item = &'static str> {
    lines(file)
        .filter(move |(section, _)| *section == name)
        .map(|(_, line)| line)
}

/// The words of one section.
pub(super) fn words(file: &'static str, name: &'static str) -> impl Iterator<Item = &'static str> {
    section(file, name).flat_map(str::split_whitespace)
}

/// The pairs of one section, which are written `this = that`.
pub(super) fn pairs(file: &'static str, name: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    section(file, name).filter_map(|line| line.split_once(" = "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_have_the_lines_below_their_names() {
        let file = "# about\n[one]\na = b\nc d\n\n[two]\ne\n[one]\nf\n";
        assert_eq!(section(file, "one").collect::<Vec<_>>(), ["a = b", "c d", "f"]);
        assert_eq!(words(file, "two").collect::<Vec<_>>(), ["e"]);
        assert_eq!(pairs(file, "one").collect::<Vec<_>>(), [("a", "b")]);
    }
}
