//! The page `docs/add-a-query.md` shows code that is compiled: each of its pieces stands in the file that the page names.

const PAGE: &str = include_str!("../../../../../docs/add-a-query.md");

/// The files that the page takes its pieces from, in order.
const SOURCES: [&str; 2] = [
    include_str!("../../../../domain/invoices/src/store.rs"),
    include_str!("../../src/repo/invoices/mod.rs"),
];

/// Returns the lines of a text without the blanks at their beginnings.
fn lines(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_code_on_the_page_is_that_of_the_source() {
    let pieces: Vec<&str> = PAGE
        .split("```rust\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```").map(|(piece, _)| piece))
        .collect();
    assert_eq!(pieces.len(), SOURCES.len());
    for (piece, source) in pieces.into_iter().zip(SOURCES) {
        let piece = lines(piece);
        assert!(lines(source).contains(piece.trim_end()), "{piece}");
    }
}
