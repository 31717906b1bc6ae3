//! The embedded faces: their characters and the widths of these.

use forecourt_print::PrintError;
use krilla::text::{Font, GlyphId};
use skrifa::{
    FontRef, MetadataProvider as _,
    instance::{LocationRef, Size},
};

const REGULAR: &[u8] = include_bytes!("../fonts/NotoSans-Regular.ttf");
const BOLD: &[u8] = include_bytes!("../fonts/NotoSans-Bold.ttf");

/// The weight of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Weight {
    Regular,
    Bold,
}

/// A face in each weight.
pub(crate) struct Faces {
    regular: Face,
    bold: Face,
}

/// A face of one weight.
pub(crate) struct Face {
    pub(crate) font: Font,
    /// The glyph of each character, by its code point. No character of the faces is beyond the first plane.
    glyphs: Vec<Option<FaceGlyph>>,
}

/// A glyph, and its width at a size of 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FaceGlyph {
    id: u16,
    pub(crate) width: f32,
}

impl FaceGlyph {
    pub(crate) fn id(self) -> GlyphId {
        GlyphId::new(self.id.into())
    }
}

impl Faces {
    pub(crate) fn embedded() -> Result<Self, PrintError> {
        Ok(Self {
            regular: Face::read(REGULAR)?,
            bold: Face::read(BOLD)?,
        })
    }

    pub(crate) fn get(&self, weight: Weight) -> &Face {
        match weight {
            Weight::Regular => &self.regular,
            Weight::Bold => &self.bold,
        }
    }
}

impl Face {
    fn read(data: &'static [u8]) -> Result<Self, PrintError> {
        let font = Font::new(data.into(), 0).ok_or_else(|| PrintError::new("an embedded face cannot be read"))?;
        let face = FontRef::new(data).map_err(PrintError::new)?;
        let metrics = face.glyph_metrics(Size::unscaled(), LocationRef::default());
        let mut glyphs = Vec::new();
        for (character, id) in face.charmap().mappings() {
            let width = metrics.advance_width(id).unwrap_or_default() / font.units_per_em();
            let (Ok(place), Ok(id)) = (usize::try_from(character), u16::try_from(id.to_u32())) else {
                continue;
            };
            if place >= glyphs.len() {
                glyphs.resize(place + 1, None);
            }
            glyphs[place] = Some(FaceGlyph { id, width });
        }
        Ok(Self { font, glyphs })
    }

    /// Returns the glyph of a character, if the face has it.
    pub(crate) fn glyph(&self, character: char) -> Option<FaceGlyph> {
        let place = usize::try_from(u32::from(character)).ok()?;
        self.glyphs.get(place).copied().flatten()
    }

    /// Returns the width of a text at a size of 1.
    pub(crate) fn width(&self, text: &str) -> f32 {
        text.chars()
            .filter_map(|character| self.glyph(character))
            .map(|glyph| glyph.width)
            .sum()
    }
}
