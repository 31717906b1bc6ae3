//! The locks behind which sessions queue.
//!
//! `tests/interleavings` compiles the queues with others in their place, which let a scheduler choose who goes on.

pub(crate) use std::sync::{Mutex, MutexGuard};
