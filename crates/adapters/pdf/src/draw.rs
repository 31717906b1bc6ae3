//! Pages written as a PDF file.

use forecourt_print::{Paper, PrintError};
use krilla::{
    Document, SerializeSettings,
    color::luma,
    geom::{PathBuilder, Point, Rect},
    metadata::Metadata,
    page::PageSettings,
    paint::Fill,
    surface::Surface,
    text::KrillaGlyph,
};

use crate::face::{Face, Faces};
use crate::layout::{Page, Placed, Rule, dimensions};

const RULE_HEIGHT: f32 = 0.5;

/// Writes the file.
pub(crate) fn file(paper: &Paper, pages: &[Page], faces: &Faces) -> Result<Vec<u8>, PrintError> {
    let (width, height) = dimensions(paper.size);
    let mut document = Document::new_with(SerializeSettings {
        // The texts are in reading order; krilla would ask for a tree of them.
        enable_tagging: false,
        ..SerializeSettings::default()
    });
    document.set_metadata(metadata(paper));
    for page in pages {
        let settings = PageSettings::from_wh(width, height).ok_or_else(|| PrintError::new("a page has no size"))?;
        let mut drawn = document.start_page_with(settings);
        let mut surface = drawn.surface();
        // Below everything else.
        if let Some(placed) = &page.watermark {
            draw_text(&mut surface, placed, faces.get(placed.style.weight));
        }
        for rule in &page.rules {
            draw_rule(&mut surface, rule);
        }
        for placed in &page.texts {
            draw_text(&mut surface, placed, faces.get(placed.style.weight));
        }
        surface.finish();
        drawn.finish();
    }
    document
        .finish()
        .map_err(|error| PrintError::new(format!("krilla refused the document: {error:?}")))
}

/// The metadata, without dates: krilla derives the file's identifier from the content.
fn metadata(paper: &Paper) -> Metadata {
    Metadata::new()
        .title(plain(&paper.title))
        .authors(
            Some(plain(&paper.author))
                .filter(|author| !author.is_empty())
                .into_iter()
                .collect(),
        )
        .creator("Forecourt".to_owned())
        .language(paper.language.code().to_owned())
}

/// Returns a text without control characters, which XML cannot hold.
fn plain(text: &str) -> String {
    let is_valid = |character: &char| !character.is_control() && !matches!(character, '\u{fffe}' | '\u{ffff}');
    text.chars().filter(is_valid).collect()
}

fn fill(shade: u8) -> Fill {
    Fill {
        paint: luma::Color::new(shade).into(),
        ..Fill::default()
    }
}

fn draw_rule(surface: &mut Surface<'_>, rule: &Rule) {
    let mut builder = PathBuilder::new();
    let rect = Rect::from_xywh(rule.x, rule.y - RULE_HEIGHT, rule.width, RULE_HEIGHT);
    let Some(rect) = rect else { return };
    builder.push_rect(rect);
    if let Some(path) = builder.finish() {
        surface.set_fill(Some(fill(rule.shade)));
        surface.draw_path(&path);
    }
}

fn draw_text(surface: &mut Surface<'_>, placed: &Placed, face: &Face) {
    let mut glyphs = Vec::with_capacity(placed.text.len());
    for (start, character) in placed.text.char_indices() {
        // The text was made of characters that the face has.
        let Some(glyph) = face.glyph(character) else { continue };
        glyphs.push(KrillaGlyph {
            glyph_id: glyph.id(),
            text_range: start..start + character.len_utf8(),
            x_advance: glyph.width,
            x_offset: 0.0,
            y_offset: 0.0,
            y_advance: 0.0,
            location: None,
        });
    }
    if glyphs.is_empty() {
        return;
    }
    surface.set_fill(Some(fill(placed.style.shade)));
    let start = Point::from_xy(placed.x, placed.y);
    surface.draw_glyphs(
        start,
        &glyphs,
        face.font.clone(),
        &placed.text,
        placed.style.size,
        false,
    );
}
