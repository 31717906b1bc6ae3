//! The locks for which sessions queue.
//!
//! `tests/interleavings` compiles the queues with other locks in their place, which let a scheduler choose the task that goes on.

pub(crate) use std::sync::{Mutex, MutexGuard};
