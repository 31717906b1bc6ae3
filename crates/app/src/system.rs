//! The machine's clock and its randomness, behind the kernel's ports.

use forecourt_kernel::{Clock, Moment, Random, Timestamp};
use rand::Rng;

/// The clock of this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the port that everybody else asks")]
    fn now(&self) -> Timestamp {
        Timestamp::from_epoch_seconds(chrono::Utc::now().timestamp())
    }

    #[expect(clippy::disallowed_methods, reason = "this is the port that everybody else asks")]
    fn moment(&self) -> Moment {
        Moment::from_epoch_millis(chrono::Utc::now().timestamp_millis())
    }
}

/// A generator of each thread's own, which the operating system seeds repeatedly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, buffer: &mut [u8]) {
        rand::rng().fill_bytes(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_of_this_century() {
        let year = SystemClock.now().date().year();
        assert!((2025..2100).contains(&year), "{year}");
    }

    #[test]
    fn no_two_draws_are_alike() {
        let draw = || {
            let mut bytes = [0; 32];
            SystemRandom.fill(&mut bytes);
            bytes
        };
        assert_ne!(draw(), draw());
    }
}
