//! The request to end, passed to all running parts.

use std::{io, time::Duration};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
    time,
};

/// Asks all holders of its [`Shutdown`] to end.
#[derive(Debug)]
pub(crate) struct Trigger(watch::Sender<bool>);

/// Shows whether the end was requested.
#[derive(Clone, Debug)]
pub(crate) struct Shutdown(watch::Receiver<bool>);

/// Returns a trigger, and the handle that it acts on.
pub(crate) fn shutdown() -> (Trigger, Shutdown) {
    let (sender, receiver) = watch::channel(false);
    (Trigger(sender), Shutdown(receiver))
}

impl Trigger {
    /// Requests the end.
    pub(crate) fn pull(&self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// Returns true if the end was requested.
    pub(crate) fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for `patience`, or for the end if that comes first. Returns true if the end was requested.
    pub(crate) async fn within(&mut self, patience: Duration) -> bool {
        // A dropped trigger counts as pulled.
        let requested = self.0.wait_for(|&requested| requested);
        time::timeout(patience, requested).await.is_ok()
    }
}

/// The signals that tell a process to end.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Listens for the signals from now on; until then they end the process at once.
    ///
    /// # Errors
    /// If the system refuses the signal handlers.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next one; returns its name.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_waiting_task_learns_of_the_end_at_once() {
        let (trigger, mut shutdown) = shutdown();
        assert!(!shutdown.within(Duration::from_millis(1)).await);
        let mut other = shutdown.clone();
        let waiting = tokio::spawn(async move { other.within(Duration::from_secs(3_600)).await });
        trigger.pull();
        assert!(waiting.await.unwrap() && shutdown.is_requested());
        assert!(shutdown.within(Duration::ZERO).await);
    }
}
