//! Notifications of recorded events for requests that wait for them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use forecourt_kernel::BusinessId;
use tokio::sync::watch;

/// Wakes requests that wait for events of a business when some are recorded. Clones share the same notifier.
///
/// It serves this server alone: events that another server records do not reach it, so waiting requests also poll.
#[derive(Clone)]
pub struct EventNotifier(Arc<Mutex<Option<Listeners>>>);

/// The listeners, by business; `None` once the notifier is muted.
type Listeners = HashMap<BusinessId, watch::Sender<()>>;

impl Default for EventNotifier {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Some(Listeners::new()))))
    }
}

impl EventNotifier {
    /// Announces that events of `business` were recorded. Call it after their commit; it is cheap if no request listens.
    pub fn notify(&self, business: BusinessId) {
        let mut listeners = self.listeners();
        let Some(listeners) = listeners.as_mut() else { return };
        if listeners.get(&business).is_some_and(|heard| heard.send(()).is_err()) {
            // The listeners are gone; the next one subscribes again.
            listeners.remove(&business);
        }
    }

    /// Listens from now on. A caller that reads the log after this and then waits misses no event.
    pub(crate) fn listen(&self, business: BusinessId) -> Listener {
        let mut listeners = self.listeners();
        let heard = match listeners.as_mut() {
            Some(listeners) => listeners.entry(business).or_default().subscribe(),
            None => watch::channel(()).1,
        };
        Listener(heard)
    }

    /// Ends all waiting, since the server stops.
    pub(crate) fn mute(&self) {
        *self.listeners() = None;
    }

    fn listeners(&self) -> MutexGuard<'_, Option<Listeners>> {
        // Code that holds the lock never leaves the map half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A listener for the events of a business.
pub(crate) struct Listener(watch::Receiver<()>);

impl Listener {
    /// Waits for a notification, if there has been none since the last call; returns false if there will be none.
    pub(crate) async fn notified(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    const ACME: BusinessId = BusinessId::new(1);
    const OTHER: BusinessId = BusinessId::new(2);

    #[test]
    fn a_notification_after_listening_began_is_received_once() {
        let notifier = EventNotifier::default();
        notifier.notify(ACME);
        let mut listener = notifier.listen(ACME);
        assert_eq!(listener.notified().now_or_never(), None, "that was before");
        notifier.notify(OTHER);
        assert_eq!(listener.notified().now_or_never(), None, "that was for others");
        notifier.notify(ACME);
        notifier.notify(ACME);
        assert_eq!(listener.notified().now_or_never(), Some(true));
        assert_eq!(listener.notified().now_or_never(), None, "it was heard");
    }

    #[test]
    fn a_muted_notifier_keeps_nobody_waiting() {
        let notifier = EventNotifier::default();
        let mut before = notifier.listen(ACME);
        notifier.mute();
        notifier.notify(ACME);
        assert_eq!(before.notified().now_or_never(), Some(false));
        assert_eq!(notifier.listen(ACME).notified().now_or_never(), Some(false));
    }

    #[test]
    fn nothing_is_kept_for_cancelled_waiters() {
        let notifier = EventNotifier::default();
        drop(notifier.listen(ACME));
        notifier.notify(ACME);
        assert!(notifier.listeners().as_ref().unwrap().is_empty());
        let mut again = notifier.listen(ACME);
        notifier.notify(ACME);
        assert_eq!(again.notified().now_or_never(), Some(true));
    }
}
