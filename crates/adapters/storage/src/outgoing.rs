//! The switch that keeps everything on this side that would reach people and programs elsewhere.

use forecourt_kernel::Timestamp;

/// The position of the switch, which all servers on a database obey.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outgoing {
    /// No webhook, mail or request to a model leaves any server.
    pub is_held: bool,
    /// The time since which that is so; `None` if the switch was never used.
    pub since: Option<Timestamp>,
}

/// The numbers of what was dropped before it could leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Discarded {
    /// Deliveries of webhooks, which have failed now.
    pub deliveries: u64,
    /// Mails.
    pub mails: u64,
}

const HELD: &str = "held";
const SENDING: &str = "sending";

impl Outgoing {
    /// The name of the position.
    #[must_use]
    pub const fn name(self) -> &'static str {
        if self.is_held { HELD } else { SENDING }
    }

    /// Returns its text in the database.
    pub(crate) fn stored(self) -> String {
        let since = self.since.map_or(0, Timestamp::epoch_seconds);
        format!("{} {since}", self.name())
    }

    /// Reads its text. A text that is not understood holds: what was sent cannot be called back.
    pub(crate) fn from_stored(stored: Option<&str>) -> Self {
        let Some(stored) = stored else {
            return Self::default();
        };
        let (name, since) = stored.split_once(' ').unwrap_or((stored, ""));
        Self {
            is_held: name != SENDING,
            since: since.parse().ok().map(Timestamp::from_epoch_seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_was_written() {
        for is_held in [false, true] {
            let since = Some(Timestamp::from_epoch_seconds(1_800_000_000));
            let outgoing = Outgoing { is_held, since };
            assert_eq!(Outgoing::from_stored(Some(&outgoing.stored())), outgoing);
        }
        assert!(!Outgoing::from_stored(None).is_held);
        assert!(Outgoing::from_stored(Some("else")).is_held);
    }
}
