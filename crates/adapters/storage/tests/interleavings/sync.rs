//! Locks at which the scheduler may choose another task.

use std::cell::Cell;
use std::sync::LockResult;

pub(crate) use std::sync::MutexGuard;

thread_local! {
    /// There is a scheduler. The tests in the files that are compiled here have none.
    static IS_SCHEDULED: Cell<bool> = const { Cell::new(false) };
}

/// Lets the scheduler choose from now on, on this thread.
pub(crate) fn be_scheduled() {
    IS_SCHEDULED.set(true);
}

/// A mutex that is never waited for: its holder does not let other tasks go on.
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
