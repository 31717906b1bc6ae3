//! Drawings for sample data.

use std::io::Cursor;

use image::{ImageFormat, Rgb, RgbImage};

const WIDTH: u32 = 960;
const HEIGHT: u32 = 640;
const SKY: [u8; 3] = [206, 220, 232];
const YARD: [u8; 3] = [150, 148, 144];
const GLASS: [u8; 3] = [72, 88, 104];
const TYRE: [u8; 3] = [28, 28, 30];
const RIM: [u8; 3] = [190, 192, 196];
const LIGHT: [u8; 3] = [250, 236, 180];

/// Draws a car with this paint in a yard, seen from its side, as PNG: 960 by 640 pixels.
pub fn draw_car(paint: [u8; 3]) -> Vec<u8> {
    let drawing = RgbImage::from_fn(WIDTH, HEIGHT, |x, y| Rgb(colour_at(f64::from(x), f64::from(y), paint)));
    let mut content = Cursor::new(Vec::new());
    // Writing to memory does not fail.
    let written = drawing.write_to(&mut content, ImageFormat::Png);
    written.map(|()| content.into_inner()).unwrap_or_default()
}

fn colour_at(x: f64, y: f64, paint: [u8; 3]) -> [u8; 3] {
    for centre in [285.0, 690.0] {
        let from_hub = (x - centre).hypot(y - 455.0);
        if from_hub < 34.0 {
            return RIM;
        }
        if from_hub < 66.0 {
            return TYRE;
        }
    }
    // The roof rises from the bonnet to the windscreen's top, and falls to the boot.
    let roof = |inset: f64| {
        let (left, right) = (300.0 + inset, 700.0 - inset);
        let slope = 110.0;
        let height = ((x - left) / slope).min((right - x) / slope).clamp(0.0, 1.0);
        320.0 - height * (130.0 - inset)
    };
    let is_pillar = (500.0..514.0).contains(&x);
    if (roof(18.0)..318.0).contains(&y) && (330.0..670.0).contains(&x) && !is_pillar {
        return GLASS;
    }
    let is_cabin = (300.0..700.0).contains(&x) && y > roof(0.0) && y <= 320.0;
    let is_body = (150.0..820.0).contains(&x) && (320.0..450.0).contains(&y);
    if is_body && (800.0..820.0).contains(&x) && (345.0..375.0).contains(&y) {
        return LIGHT;
    }
    if is_cabin || is_body {
        let shade = if y > 400.0 { 0.8 } else { 1.0 };
        return paint.map(|part| shaded(part, shade));
    }
    if y > 430.0 { YARD } else { SKY }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a byte is a byte"
)]
fn shaded(part: u8, shade: f64) -> u8 {
    (f64::from(part) * shade) as u8
}
