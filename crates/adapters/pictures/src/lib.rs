//! Makes pictures fit to be shown: upright, without metadata, with smaller copies.
//!
//! [`Pictures`] decodes JPEG, PNG and WebP, and writes what it makes anew: nothing of a file's metadata, and nothing behind its end,
//! is in what comes out, but its colours, which become those of screens. Two pictures are made at a time, and what their
//! decoders take is known before they begin, so that the memory is bounded.

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
