//! Texts made fit to be drawn, and broken into lines.

use unicode_normalization::UnicodeNormalization as _;

use crate::face::{Face, FaceGlyph};

/// The sign for a character that the faces lack.
const SUBSTITUTE: char = '?';

/// Returns a text whose every character but the line feed has a glyph. Accents join their letters; characters without a look
/// of their own, such as marks of direction, are left out; what the face lacks becomes a question mark.
pub(crate) fn printable(text: &str, face: &Face) -> String {
    let text = text.replace("\r\n", "\n");
    let characters = text.nfc().filter(|character| !is_invisible(*character));
    characters
        .map(|character| match character {
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => '\n',
            _ if face.glyph(character).is_some() => character,
            _ if character.is_whitespace() => ' ',
            _ => SUBSTITUTE,
        })
        .collect()
}

/// Tests that a character has no look of its own in any face.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

/// Breaks a text into lines of at most `width` at a size of 1. Lines end at line feeds and between words. A word that is longer
/// than a line is broken. A width that holds no character at all makes lines of one each.
pub(crate) fn wrap(text: &str, face: &Face, width: f32) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        wrap_paragraph(paragraph, face, width, &mut lines);
    }
    lines
}

fn wrap_paragraph(text: &str, face: &Face, width: f32, lines: &mut Vec<String>) {
    // Places in the text, each with the width of the text before it.
    let (mut start, mut here) = ((0, 0.0), (0, 0.0));
    let mut last_space = None;
    for character in text.chars() {
        let after = (
            here.0 + character.len_utf8(),
            here.1 + face.glyph(character).map_or(0.0, |glyph: FaceGlyph| glyph.width),
        );
        if character == ' ' {
            // Spaces at the end of a line hang over.
            last_space = Some((here, after));
        } else if after.1 - start.1 > width && here.0 > start.0 {
            let (end, next) = last_space.take().unwrap_or((here, here));
            // Spaces before a long word make no line of their own.
            if end.0 > start.0 {
                push_line(&text[start.0..end.0], lines);
            }
            start = next;
            // The rest of a word that is itself too long for the line that it has come to.
            if after.1 - start.1 > width && here.0 > start.0 {
                push_line(&text[start.0..here.0], lines);
                start = here;
            }
        }
        here = after;
    }
    push_line(&text[start.0..], lines);
}

fn push_line(text: &str, lines: &mut Vec<String>) {
    lines.push(text.trim_end_matches(' ').to_owned());
}

/// Returns as much of a text as one line of `width` at a size of 1 holds, with an ellipsis in the place of the rest.
pub(crate) fn clipped(text: &str, face: &Face, width: f32) -> String {
    const ELLIPSIS: &str = "…";
    let text = text.replace('\n', " ");
    if face.width(&text) <= width {
        return text;
    }
    let width = width - face.width(ELLIPSIS);
    let mut end = (0, 0.0);
    for character in text.chars() {
        let after = end.1 + face.glyph(character).map_or(0.0, |glyph| glyph.width);
        if after > width {
            break;
        }
        end = (end.0 + character.len_utf8(), after);
    }
    format!("{}{ELLIPSIS}", text[..end.0].trim_end())
}
