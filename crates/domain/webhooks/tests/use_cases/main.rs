//! The use cases, on scripted storage and a clock that stands still.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

mod owning;
mod sending;
mod support;
