//! Makes pictures fit to be shown: upright, without metadata, with smaller copies.
//!
//! [`Pictures`] decodes JPEG, PNG and WebP, and writes what it makes anew: nothing of a file's metadata, and nothing behind its end,
//! is in what comes out. One picture is made at a time, and none has more than [`MAX_PIXELS`], so that the memory is bounded.

mod drawing;
mod make;

pub use drawing::draw_car;
pub use make::{MAX_PIXELS, MAX_SIDE, Pictures};
