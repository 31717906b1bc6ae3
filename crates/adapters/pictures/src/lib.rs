//! Makes pictures ready to be shown: upright, without metadata, with smaller copies.
//!
//! [`Pictures`] decodes JPEG, PNG and WebP, and encodes the result again. The result has no metadata of the file, and nothing
//! from after its end. Only the colours are kept, converted to those of screens. Two pictures are made at a time, and the
//! memory of their decoders is known before they begin, so it is bounded.

mod abandoned;
mod drawing;
mod jpeg;
mod make;
mod png;
mod read;
mod webp;

pub use drawing::draw_car;
pub use make::Pictures;
pub use read::{MAX_PIXELS, MAX_SIDE};
