//! Prints papers as PDF.
//!
//! [`PdfPrinter`] breaks the lines and pages of a [`Paper`] itself, and krilla writes the file. Two faces of Noto Sans are
//! embedded, with Latin, Greek and Cyrillic; any other character is drawn as `?`. The file has the paper's title and language,
//! and its text can be extracted in reading order. The same paper gives the same bytes, since neither a clock nor a random
//! number has part in them.
//!
//! ```
//! use forecourt_pdf::PdfPrinter;
//! use forecourt_print::{Printer as _, testing::an_invoice};
//!
//! let printer = PdfPrinter::new()?;
//! let file = printer.print(&an_invoice().paper())?;
//! assert!(file.starts_with(b"%PDF-1.7"));
//! # Ok::<(), forecourt_print::PrintError>(())
//! ```

mod draw;
mod face;
mod layout;
mod table;
mod text;

use forecourt_print::{Paper, PrintError, Printer};

use face::Faces;

/// A printer of PDF files. It is made once, and any number of threads print with it.
pub struct PdfPrinter {
    faces: Faces,
}

impl PdfPrinter {
    /// Reads the embedded faces.
    ///
    /// # Errors
    /// [`PrintError`] if they cannot be read, as no release can be made that has this.
    pub fn new() -> Result<Self, PrintError> {
        let faces = Faces::embedded()?;
        Ok(Self { faces })
    }
}

impl Printer for PdfPrinter {
    fn print(&self, paper: &Paper) -> Result<Vec<u8>, PrintError> {
        let pages = layout::pages(paper, &self.faces);
        draw::file(paper, &pages, &self.faces)
    }
}
