//! A document ready to be drawn, in words that no printer's library knows.

use forecourt_kernel::{BoxError, Country};

use crate::Language;

/// A typeset document: its content in reading order. Where lines and pages break is the printer's decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Paper {
    /// The size of each page.
    pub size: PaperSize,
    /// The title in the file's metadata.
    pub title: String,
    /// The author in the file's metadata; may be empty.
    pub author: String,
    /// The language of the content.
    pub language: Language,
    /// The word across each page.
    pub watermark: Option<String>,
    /// The line at the top of each page but the first.
    pub head: String,
    /// The line at the bottom of each page, beside the page's number.
    pub foot: String,
    /// The content.
    pub blocks: Vec<Block>,
}

/// The size of paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PaperSize {
    /// 210 by 297 millimetres.
    A4,
    /// 8.5 by 11 inches.
    Letter,
}

impl PaperSize {
    /// Returns the size that a country prints on.
    pub fn of(country: Country) -> Self {
        match country.code() {
            "US" | "CA" => Self::Letter,
            _ => Self::A4,
        }
    }
}

/// A part of a paper's content, over the whole width of the page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Block {
    /// The title at the head of the document.
    Title(String),
    /// A heading, which stays on the page of what follows it.
    Heading(String),
    /// Text, whose line feeds are kept.
    Text(String, TextStyle),
    /// Columns of equal width, side by side.
    Columns(Vec<Column>),
    /// A table, whose heading is repeated on each page that it continues on.
    Table(Table),
    /// Sums at the right margin, which stay together on a page.
    Sums(Vec<Sum>),
    /// Lines to sign on, side by side, with the text below each.
    Signatures(Vec<String>),
}

/// The weight of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextStyle {
    /// As most of the document.
    Normal,
    /// To be noticed.
    Strong,
    /// Smaller, for long terms.
    Small,
}

/// One of the columns that stand side by side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// The heading.
    pub title: String,
    /// The lines below it.
    pub rows: Vec<Row>,
}

/// A line of a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Row {
    /// Text.
    Text(String),
    /// Text to be noticed.
    Strong(String),
    /// A value and its label.
    Pair(String, String),
}

/// A table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// The columns.
    pub columns: Vec<TableColumn>,
    /// The rows, each with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableColumn {
    /// The heading.
    pub heading: String,
    /// The side that its cells stand at.
    pub align: Align,
    /// The column's part of the width, relative to the other columns.
    pub weight: u16,
}

/// The side of a column that its text stands at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Left, as text.
    Start,
    /// Right, as amounts.
    End,
}

/// A cell of a table.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Cell {
    /// The text, whose line feeds are kept.
    pub text: String,
    /// Smaller lines below it.
    pub notes: Vec<String>,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            text,
            notes: Vec::new(),
        }
    }
}

/// A sum with its label.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sum {
    /// The label.
    pub label: String,
    /// The amount.
    pub value: String,
    /// The sums that a reader looks for.
    pub strong: bool,
}

/// A printer of papers. It uses the processor alone, for up to hundreds of milliseconds, so a caller that serves others runs it
/// on a thread that may block.
pub trait Printer: Send + Sync {
    /// Prints `paper`. The same paper gives the same bytes.
    ///
    /// Every text is printed: characters that the printer cannot draw as `?`, long words broken, long texts over many pages.
    ///
    /// # Errors
    /// [`PrintError`] if the printer itself fails, which no text of a paper causes.
    fn print(&self, paper: &Paper) -> Result<Vec<u8>, PrintError>;
}

/// The printer failed.
#[derive(Debug, thiserror::Error)]
#[error("the document could not be printed")]
pub struct PrintError(#[source] BoxError);

impl PrintError {
    /// Creates the error from its cause.
    pub fn new(cause: impl Into<BoxError>) -> Self {
        Self(cause.into())
    }
}
