//! A semaphore whose permits are granted to businesses in rotation.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use forecourt_kernel::BusinessId;
use tokio::sync::oneshot;

/// A semaphore that serves its waiters in rotation by business, and those of one business in order of arrival. No business
/// holds more permits than its share, so that some remain for the others.
#[derive(Clone, Debug)]
pub(crate) struct FairSemaphore(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    /// The maximum number of permits that a business may hold.
    share: usize,
    /// The businesses that hold a permit or wait for one.
    businesses: HashMap<BusinessId, Queue>,
    /// The businesses that wait for a permit and may hold another one, in order of rotation.
    rotation: VecDeque<BusinessId>,
}

#[derive(Debug, Default)]
struct Queue {
    held: usize,
    waiters: VecDeque<oneshot::Sender<FairPermit>>,
    is_in_rotation: bool,
}

/// A permit, which is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct FairPermit {
    /// `None` if there is nothing to give back.
    semaphore: Option<FairSemaphore>,
    business: BusinessId,
}

impl FairSemaphore {
    /// Makes a semaphore with this number of permits, of which a business may hold `share`; at least one each.
    pub(crate) fn new(permits: usize, share: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            free: permits.max(1),
            share: share.max(1),
            businesses: HashMap::new(),
            rotation: VecDeque::new(),
        })))
    }

    /// Waits for a permit. A caller that stops waiting loses its place.
    pub(crate) async fn acquire(&self, business: BusinessId) -> FairPermit {
        let (waiter, permit) = oneshot::channel();
        {
            let mut state = self.state();
            state.businesses.entry(business).or_default().waiters.push_back(waiter);
            state.enqueue(business);
            state.grant(self);
        }
        // The queue never drops a waiter that still waits.
        permit.await.unwrap_or(FairPermit {
            semaphore: None,
            business,
        })
    }

    fn release(&self, business: BusinessId) {
        let mut state = self.state();
        state.free += 1;
        if let Some(queue) = state.businesses.get_mut(&business) {
            queue.held -= 1;
        }
        state.enqueue(business);
        state.grant(self);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Puts a business into the rotation if it waits for a permit and may have another. Removes a business that has no permit
    /// and waits for none.
    fn enqueue(&mut self, business: BusinessId) {
        let Some(queue) = self.businesses.get_mut(&business) else {
            return;
        };
        if queue.waiters.is_empty() && queue.held == 0 {
            self.businesses.remove(&business);
        } else if !queue.waiters.is_empty() && queue.held < self.share && !queue.is_in_rotation {
            queue.is_in_rotation = true;
            self.rotation.push_back(business);
        }
    }

    /// Hands out the free permits.
    fn grant(&mut self, semaphore: &FairSemaphore) {
        while self.free > 0
            && let Some(business) = self.rotation.pop_front()
        {
            if let Some(queue) = self.businesses.get_mut(&business) {
                queue.is_in_rotation = false;
                let permit = FairPermit {
                    semaphore: Some(semaphore.clone()),
                    business,
                };
                if queue.hand_out(permit) {
                    queue.held += 1;
                    self.free -= 1;
                }
            }
            self.enqueue(business);
        }
    }
}

impl Queue {
    /// Gives the permit to the first waiter that still waits, if there is one.
    fn hand_out(&mut self, mut permit: FairPermit) -> bool {
        while let Some(waiter) = self.waiters.pop_front() {
            match waiter.send(permit) {
                Ok(()) => return true,
                Err(unclaimed) => permit = unclaimed,
            }
        }
        permit.semaphore = None;
        false
    }
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        if let Some(semaphore) = self.semaphore.take() {
            semaphore.release(self.business);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    const A: BusinessId = BusinessId::new(1);
    const B: BusinessId = BusinessId::new(2);
    const C: BusinessId = BusinessId::new(3);

    type Waiting<'a> = std::pin::Pin<Box<dyn Future<Output = FairPermit> + 'a>>;

    /// Begins to wait.
    fn wait(semaphore: &FairSemaphore, business: BusinessId) -> (Waiting<'_>, Option<FairPermit>) {
        let mut waiting: Waiting<'_> = Box::pin(semaphore.acquire(business));
        let permit = (&mut waiting).now_or_never();
        (waiting, permit)
    }

    #[test]
    fn businesses_take_turns_whatever_one_of_them_asks_for() {
        let semaphore = FairSemaphore::new(1, 1);
        let (_, held) = wait(&semaphore, A);
        let mut held = held.unwrap();
        let mut waiting: Vec<_> = [A, A, A, A, B, C, B]
            .into_iter()
            .map(|business| (business, wait(&semaphore, business).0))
            .collect();
        let mut served = Vec::new();
        while !waiting.is_empty() {
            drop(held);
            let at = waiting
                .iter_mut()
                .enumerate()
                .find_map(|(at, (_, waiting))| Some((at, waiting.now_or_never()?)));
            let (at, permit) = at.unwrap();
            held = permit;
            served.push(waiting.remove(at).0);
        }
        assert_eq!(served, [B, C, A, B, A, A, A]);
        drop(held);
        assert!(semaphore.state().businesses.is_empty(), "what is over is forgotten");
        assert_eq!(semaphore.state().free, 1);
    }

    #[test]
    fn a_business_holds_no_more_than_its_share() {
        let semaphore = FairSemaphore::new(3, 2);
        let (first, second, third) = (
            wait(&semaphore, A).1.unwrap(),
            wait(&semaphore, A).1.unwrap(),
            wait(&semaphore, A),
        );
        assert!(third.1.is_none());
        let other = wait(&semaphore, B).1.unwrap();
        drop(other);
        let mut third = third.0;
        assert!((&mut third).now_or_never().is_none(), "what is free is kept for others");
        drop(first);
        let third = (&mut third).now_or_never().unwrap();
        drop((second, third));
        assert_eq!(semaphore.state().free, 3);
    }

    #[test]
    fn who_waits_no_longer_takes_no_turn() {
        let semaphore = FairSemaphore::new(1, 1);
        let held = wait(&semaphore, A).1.unwrap();
        let gone: Vec<_> = [A, B, B, C].map(|business| wait(&semaphore, business).0).into();
        let mut left = wait(&semaphore, C).0;
        // One waiter is dropped while it holds the permit.
        let mut last = wait(&semaphore, B).0;
        drop(gone);
        drop(held);
        let granted = (&mut left).now_or_never();
        let other = (&mut last).now_or_never();
        assert!(granted.is_some() != other.is_some());
        drop((granted, other));
        drop((left, last));
        assert!(semaphore.state().businesses.is_empty());
        assert_eq!(semaphore.state().free, 1);
    }
}
