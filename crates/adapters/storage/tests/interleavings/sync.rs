//! Locks at which the scheduler may let another task go on.

use std::cell::Cell;
use std::sync::LockResult;

pub(crate) use std::sync::MutexGuard;

thread_local! {
    /// Whether there is a scheduler; there is none for the tests that stand in the files compiled here.
    static IS_SCHEDULED: Cell<bool> = const { Cell::new(false) };
}

/// From now on the scheduler chooses, on this thread.
pub(crate) fn be_scheduled() {
    IS_SCHEDULED.set(true);
}

/// Never waited for: who holds it does not let others go on.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        if IS_SCHEDULED.get() {
            shuttle::thread::yield_now();
        }
        self.0.lock()
    }
}
