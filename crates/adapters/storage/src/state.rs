//! A process's knowledge of its database: its identity, its epoch, and whether the process may write to it.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use forecourt_kernel::{Epoch, Random, StoreError, StoreResult, WritesRefused};

use crate::outgoing::Outgoing;

/// The facts by which a database is identified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseFacts {
    /// Names the installation: a UUID, made by the server that starts first.
    pub installation: String,
    /// The epoch.
    pub epoch: Epoch,
    /// The timeline of the PostgreSQL server that it was last seen on.
    pub timeline: Option<String>,
    /// The switch that keeps webhooks, mails and requests to models from leaving.
    pub outgoing: Outgoing,
}

/// The state that all handles on a database share.
#[derive(Default)]
pub(crate) struct DatabaseState {
    epoch: AtomicI64,
    is_outgoing_held: AtomicBool,
    /// The timeline of PostgreSQL that this process has seen.
    timeline: Mutex<Option<String>>,
    is_blocked: AtomicBool,
    /// The reason why this process must not write, if there is one.
    block: Mutex<Option<String>>,
}

impl DatabaseState {
    pub(crate) fn epoch(&self) -> Epoch {
        Epoch::new(AtomicI64::load(&self.epoch, Ordering::Acquire))
    }

    /// Adopts an epoch, unless a later one is known.
    pub(crate) fn take_up(&self, epoch: Epoch) {
        self.epoch.fetch_max(epoch.number(), Ordering::AcqRel);
    }

    /// Returns `true` while nothing must leave this process, as far as it knows.
    pub(crate) fn is_outgoing_held(&self) -> bool {
        AtomicBool::load(&self.is_outgoing_held, Ordering::Acquire)
    }

    pub(crate) fn note_outgoing(&self, is_held: bool) {
        self.is_outgoing_held.store(is_held, Ordering::Release);
    }

    /// The timeline that this process has seen.
    pub(crate) fn timeline(&self) -> Option<String> {
        self.timeline.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn note_timeline(&self, timeline: String) {
        *self.timeline.lock().unwrap_or_else(PoisonError::into_inner) = Some(timeline);
    }

    /// Keeps the process from writing for a `reason`, or no longer if it is `None`. Returns `true` if that changes whether it may
    /// write.
    pub(crate) fn block_writes(&self, reason: Option<String>) -> bool {
        let mut block = self.block();
        let was_blocked = block.is_some();
        let is_blocked = reason.is_some();
        *block = reason;
        self.is_blocked.store(is_blocked, Ordering::Release);
        was_blocked != is_blocked
    }

    /// Checks that the process may write.
    ///
    /// # Errors
    /// `Unavailable`, with the reason, if it must not.
    pub(crate) fn may_write(&self) -> StoreResult<()> {
        if !AtomicBool::load(&self.is_blocked, Ordering::Acquire) {
            return Ok(());
        }
        match self.block().clone() {
            Some(reason) => Err(StoreError::Unavailable(WritesRefused(reason).into())),
            None => Ok(()),
        }
    }

    /// No code that can panic runs under this lock.
    fn block(&self) -> MutexGuard<'_, Option<String>> {
        self.block.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A UUID of version 4 (RFC 9562).
pub(crate) fn random_uuid(random: &dyn Random) -> String {
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    let bits = u128::from_be_bytes(bytes) & !(0xf << 76) & !(0b11 << 62) | 4 << 76 | 0b10 << 62;
    let digits = format!("{bits:032x}");
    let groups = [0..8, 8..12, 12..16, 16..20, 20..32];
    groups.map(|group| digits.get(group).unwrap_or_default()).join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes(u8);

    impl Random for Bytes {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.fill(self.0);
        }
    }

    #[test]
    fn a_uuid_names_its_version_and_variant() {
        assert_eq!(random_uuid(&Bytes(0xff)), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(random_uuid(&Bytes(0)), "00000000-0000-4000-8000-000000000000");
    }

    #[test]
    fn writing_is_refused_as_long_as_there_is_a_reason() {
        let state = DatabaseState::default();
        assert!(state.may_write().is_ok());
        assert!(state.block_writes(Some("the clock".to_owned())));
        assert!(!state.block_writes(Some("still the clock".to_owned())));
        let reason = |state: &DatabaseState| match state.may_write() {
            Err(StoreError::Unavailable(reason)) => reason.to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(reason(&state), "still the clock");
        assert!(state.block_writes(None));
        assert!(state.may_write().is_ok());
    }

    #[test]
    fn an_epoch_never_goes_back() {
        let state = DatabaseState::default();
        assert_eq!(state.epoch(), Epoch::FIRST);
        state.take_up(Epoch::new(7));
        state.take_up(Epoch::new(5));
        assert_eq!(state.epoch(), Epoch::new(7));
    }
}
