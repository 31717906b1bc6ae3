//! The queue of the sessions that write.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use forecourt_kernel::{BusinessId, StoreError, StoreResult};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use crate::error::unavailable;
use crate::pool::MAX_QUEUE;
use crate::shares::OWN_TURNS;
use crate::sync::{Mutex, MutexGuard};

/// The number of sessions that may go before a requested commit if sessions of several businesses share it.
const BEFORE_SHARED_COMMIT: usize = 64;

/// Hands the turn on: to each waiting business in rotation, and within a business in order of arrival. So many sessions of one
/// business delay another's single session by one session, not by all of them.
///
/// The committer waits too. The sessions that wait already when it arrives go first, and so share the commit. If sessions of
/// several businesses share it, only [`BEFORE_SHARED_COMMIT`] go first, so that a business with a long queue does not delay the
/// answer to another's only session.
#[derive(Default)]
pub(super) struct WriteQueue(Mutex<State>);

#[derive(Default)]
struct State {
    /// A session has the turn; if none has it, none waits.
    taken: bool,
    waiting: HashMap<Option<BusinessId>, VecDeque<oneshot::Sender<Turn>>>,
    /// The businesses that wait, the next one first.
    rotation: VecDeque<Option<BusinessId>>,
    committer: Option<Committer>,
    /// The businesses that have had turns since the last commit.
    served: Served,
}

struct Committer {
    waiter: oneshot::Sender<Turn>,
    /// The number of sessions that go first.
    after: usize,
    /// The number of sessions that have gone since it arrived.
    passed: usize,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Served {
    #[default]
    Nobody,
    One(Option<BusinessId>),
    Several,
}

impl WriteQueue {
    /// Waits for a turn of this business. The wait is at most `wait`, or [`OWN_TURNS`] times as long while `done` shows that
    /// earlier sessions do their work.
    ///
    /// # Errors
    /// `Unavailable` if it does not come in that time, or too many of the business wait already.
    pub(super) async fn enter(
        self: &Arc<Self>,
        business: Option<BusinessId>,
        wait: Duration,
        done: impl Fn() -> u64,
    ) -> StoreResult<Turn> {
        let last = Instant::now() + OWN_TURNS * wait;
        let mut turn = {
            let mut state = self.state();
            if !state.taken {
                state.taken = true;
                state.serve(business);
                return Ok(Turn::new(self));
            }
            state.join(business)?
        };
        loop {
            let done_before = done();
            match timeout(wait, &mut turn).await {
                Ok(turn) => return turn.map_err(|gone| StoreError::Unavailable(gone.into())),
                Err(_) if done() > done_before && Instant::now() < last => {}
                Err(_) => return Err(unavailable("the turn to write to the SQLite file did not come in time")),
            }
        }
    }

    /// Waits for the committer's turn. Blocks.
    pub(super) fn enter_to_commit(self: &Arc<Self>) -> Turn {
        loop {
            match self.join_to_commit() {
                Ok(turn) => return turn,
                Err(turn) => {
                    if let Ok(turn) = turn.blocking_recv() {
                        return turn;
                    }
                }
            }
        }
    }

    /// Returns the committer's turn, or the receiver that gets it.
    pub(super) fn join_to_commit(self: &Arc<Self>) -> Result<Turn, oneshot::Receiver<Turn>> {
        let mut state = self.state();
        if !state.taken {
            state.taken = true;
            state.served = Served::Nobody;
            return Ok(Turn::new(self));
        }
        let (waiter, turn) = oneshot::channel();
        state.committer = Some(Committer {
            waiter,
            after: state.waiting(),
            passed: 0,
        });
        Err(turn)
    }

    /// The number of sessions that wait.
    pub(super) fn waiting(&self) -> usize {
        self.state().waiting()
    }

    fn hand_on(self: &Arc<Self>) {
        let mut state = self.state();
        while let Some(waiter) = state.next() {
            match waiter.send(Turn::new(self)) {
                Ok(()) => return,
                // The caller has gone away: the turn is the next one's.
                Err(mut turn) => turn.0 = None,
            }
        }
        state.taken = false;
    }

    /// No code that can panic runs under this lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn waiting(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }

    fn join(&mut self, business: Option<BusinessId>) -> StoreResult<oneshot::Receiver<Turn>> {
        let queue = self.waiting.entry(business).or_default();
        if queue.len() >= MAX_QUEUE {
            queue.retain(|waiter| !waiter.is_closed());
        }
        if queue.len() >= MAX_QUEUE {
            return Err(unavailable("too many requests of this business wait to write"));
        }
        if queue.is_empty() && !self.rotation.contains(&business) {
            self.rotation.push_back(business);
        }
        let (waiter, turn) = oneshot::channel();
        queue.push_back(waiter);
        Ok(turn)
    }

    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        if let Some(committer) = self.committer.take_if(|committer| {
            committer.after <= committer.passed
                || (self.served == Served::Several && committer.passed >= BEFORE_SHARED_COMMIT)
        }) {
            self.served = Served::Nobody;
            return Some(committer.waiter);
        }
        while let Some(business) = self.rotation.pop_front() {
            let Some(queue) = self.waiting.get_mut(&business) else {
                continue;
            };
            let waiter = queue.pop_front();
            if queue.is_empty() {
                self.waiting.remove(&business);
            } else {
                self.rotation.push_back(business);
            }
            if let Some(waiter) = waiter.filter(|waiter| !waiter.is_closed()) {
                if let Some(committer) = &mut self.committer {
                    committer.passed += 1;
                }
                self.serve(business);
                return Some(waiter);
            }
        }
        self.served = Served::Nobody;
        self.committer.take().map(|committer| committer.waiter)
    }

    fn serve(&mut self, business: Option<BusinessId>) {
        self.served = match self.served {
            Served::Nobody => Served::One(business),
            Served::One(before) if before == business => Served::One(before),
            Served::One(_) | Served::Several => Served::Several,
        };
    }
}

/// The turn to write. The next one begins when this is dropped.
pub(super) struct Turn(Option<Arc<WriteQueue>>);

impl Turn {
    fn new(queue: &Arc<WriteQueue>) -> Self {
        Self(Some(Arc::clone(queue)))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(queue) = self.0.take() {
            queue.hand_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use futures_util::FutureExt as _;
    use futures_util::future::BoxFuture;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(5);

    fn nothing() -> u64 {
        0
    }

    /// Waits in the queue for a turn of this business.
    fn waiting(queue: &Arc<WriteQueue>, business: i64) -> BoxFuture<'static, StoreResult<Turn>> {
        let queue = Arc::clone(queue);
        let mut turn = async move { queue.enter(Some(BusinessId::new(business)), TIMEOUT, nothing).await }.boxed();
        assert!((&mut turn).now_or_never().is_none());
        turn
    }

    #[tokio::test]
    async fn businesses_take_turns_and_their_sessions_come_in_order() {
        let queue = Arc::new(WriteQueue::default());
        let first = queue.enter(None, TIMEOUT, nothing).await.unwrap();
        let mut crowd: VecDeque<_> = (0..3).map(|_| waiting(&queue, 1)).collect();
        let mut single = waiting(&queue, 2);
        drop(first);
        let turn = crowd.pop_front().unwrap().await.unwrap();
        assert!((&mut single).now_or_never().is_none());
        drop(turn);
        assert!((&mut crowd[0]).now_or_never().is_none(), "the other business is next");
        drop(single.await.unwrap());
        for turn in crowd {
            drop(turn.await.unwrap());
        }
        assert!(
            queue.enter(None, TIMEOUT, nothing).now_or_never().is_some(),
            "the turn is free"
        );
    }

    #[tokio::test]
    async fn a_cancelled_turn_is_passed_on() {
        let queue = Arc::new(WriteQueue::default());
        let first = queue.enter(None, TIMEOUT, nothing).await.unwrap();
        let (gone, late, there) = (waiting(&queue, 1), waiting(&queue, 1), waiting(&queue, 1));
        drop(gone);
        drop(first);
        // It was handed over, and is never looked at.
        drop(late);
        drop(there.await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_is_waited_for_longer_while_others_do_their_work() {
        const WAIT: Duration = Duration::from_millis(20);
        let queue = Arc::new(WriteQueue::default());
        let _held = queue.enter(None, TIMEOUT, nothing).await.unwrap();
        let work = AtomicU64::new(0);
        let begun = Instant::now();
        let late = queue.enter(None, WAIT, || work.fetch_add(1, Ordering::Relaxed)).await;
        assert!(late.is_err());
        assert!(begun.elapsed() >= OWN_TURNS * WAIT);
        assert_eq!(
            work.into_inner(),
            2 * u64::from(OWN_TURNS),
            "it looked before and after each wait"
        );
    }

    #[tokio::test]
    async fn a_queue_has_an_end() {
        let queue = Arc::new(WriteQueue::default());
        let held = queue.enter(None, TIMEOUT, nothing).await.unwrap();
        let crowd: Vec<_> = (0..MAX_QUEUE).map(|_| waiting(&queue, 1)).collect();
        let one_more = queue.enter(Some(BusinessId::new(1)), TIMEOUT, nothing).await;
        assert!(matches!(one_more, Err(StoreError::Unavailable(_))));
        let late = queue.enter(Some(BusinessId::new(2)), Duration::ZERO, nothing).await;
        assert!(matches!(late, Err(StoreError::Unavailable(_))));
        drop(crowd);
        let mut again = waiting(&queue, 1);
        drop(held);
        assert!((&mut again).now_or_never().is_some());
    }

    /// Returns the number of sessions of a crowd that go before the commit, with or without a session of another business.
    async fn before_the_commit(crowd: usize, with_another: bool) -> usize {
        let queue = Arc::new(WriteQueue::default());
        let mut turn = queue.enter(Some(BusinessId::new(1)), TIMEOUT, nothing).await.unwrap();
        let mut crowd: VecDeque<_> = (0..crowd).map(|_| waiting(&queue, 1)).collect();
        if with_another {
            let other = waiting(&queue, 2);
            drop(turn);
            drop(crowd.pop_front().unwrap().await.unwrap());
            turn = other.await.unwrap();
        }
        let committing = std::thread::spawn({
            let queue = Arc::clone(&queue);
            move || drop(queue.enter_to_commit())
        });
        while queue.state().committer.is_none() {
            tokio::task::yield_now().await;
        }
        drop(turn);
        let mut count = 0;
        while queue.state().committer.is_some() {
            let turn = crowd.pop_front().unwrap().await.unwrap();
            count += 1;
            drop(turn);
        }
        committing.join().unwrap();
        for turn in crowd {
            drop(turn.await.unwrap());
        }
        count
    }

    #[tokio::test]
    async fn waiting_sessions_share_a_commit_but_few_delay_another_business() {
        assert_eq!(before_the_commit(100, false).await, 100);
        assert_eq!(before_the_commit(100, true).await, BEFORE_SHARED_COMMIT);
        assert_eq!(before_the_commit(5, true).await, 4);
    }
}
