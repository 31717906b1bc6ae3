//! The use cases, on scripted storage and a clock that stands still.

mod owning;
mod sending;
mod support;
