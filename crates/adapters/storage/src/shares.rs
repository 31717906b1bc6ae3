//! Fair shares of scarce resources.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

use forecourt_kernel::{BusinessId, StoreResult};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::error::{other, unavailable};
use crate::pool::MAX_QUEUE;
use crate::sync::Mutex;

/// The factor by which a request may wait longer for others of its own business than for a connection: such a wait involves no
/// other business.
pub(crate) const OWN_TURNS: u32 = 4;

/// A number of places for each business. Callers that find none free wait in a queue of their business.
#[derive(Clone)]
pub(crate) struct TenantLimiter(Arc<Inner>);

struct Inner {
    /// The number of places of each business.
    each: usize,
    /// The businesses that hold a place or wait for one.
    businesses: Mutex<HashMap<BusinessId, Share>>,
    waiting: Arc<AtomicUsize>,
}

struct Share {
    places: Arc<Semaphore>,
    /// The callers that hold a place or wait for one.
    members: usize,
}

impl TenantLimiter {
    /// Creates a limiter with this number of places for each business, and at least one.
    pub(crate) fn new(each: usize) -> Self {
        Self(Arc::new(Inner {
            each: each.max(1),
            businesses: Mutex::default(),
            waiting: Arc::default(),
        }))
    }

    /// Returns a limiter with one place for each business, for sessions that then take one of these. Callers that wait for either
    /// are counted here.
    pub(crate) fn turns(&self) -> Self {
        Self(Arc::new(Inner {
            each: 1,
            businesses: Mutex::default(),
            waiting: Arc::clone(&self.0.waiting),
        }))
    }

    /// Takes a place of this business, which is given back when it is dropped. Work without a business needs no place.
    ///
    /// # Errors
    /// `Unavailable` if none comes free by the deadline, or too many callers wait already.
    pub(crate) async fn take(&self, business: Option<BusinessId>, deadline: Instant) -> StoreResult<Option<Permit>> {
        let Some(business) = business else { return Ok(None) };
        let (member, places) = self.join(business)?;
        let permit = match Arc::clone(&places).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                self.0.waiting.fetch_add(1, Ordering::Relaxed);
                let _waiting = scopeguard::guard((), |()| {
                    self.0.waiting.fetch_sub(1, Ordering::Relaxed);
                });
                timeout_at(deadline, Arc::clone(&places).acquire_owned())
                    .await
                    .map_err(|_| unavailable("this business's share of the connections did not come free in time"))?
                    .map_err(other)?
            }
        };
        Ok(Some(Permit { permit, member, places }))
    }

    /// The number of callers that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.0.waiting.load(Ordering::Relaxed)
    }

    fn join(&self, business: BusinessId) -> StoreResult<(Member, Arc<Semaphore>)> {
        let mut businesses = self.0.businesses.lock().unwrap_or_else(PoisonError::into_inner);
        let share = businesses.entry(business).or_insert_with(|| Share {
            places: Arc::new(Semaphore::new(self.0.each)),
            members: 0,
        });
        if share.members >= self.0.each + MAX_QUEUE {
            return Err(unavailable("too many requests of this business wait for the database"));
        }
        share.members += 1;
        let member = Member {
            shares: Arc::clone(&self.0),
            business,
        };
        Ok((member, Arc::clone(&share.places)))
    }
}

/// A place that is taken.
pub(crate) struct Permit {
    // Dropped in this order: a member without holders and waiters is forgotten.
    permit: OwnedSemaphorePermit,
    member: Member,
    places: Arc<Semaphore>,
}

impl Permit {
    /// The number of the business's callers that wait for a place, if all are held.
    pub(crate) fn awaited_by(&self) -> usize {
        let Member { shares, business } = &self.member;
        let businesses = shares.businesses.lock().unwrap_or_else(PoisonError::into_inner);
        let members = businesses.get(business).map_or(0, |share| share.members);
        members.saturating_sub(shares.each)
    }

    /// Gives the place back now. The future takes one again, after the callers that wait already.
    pub(crate) fn requeue(self) -> impl Future<Output = StoreResult<Self>> + Send {
        let Self { permit, member, places } = self;
        drop(permit);
        async move {
            let permit = Arc::clone(&places).acquire_owned().await.map_err(other)?;
            Ok(Self { permit, member, places })
        }
    }
}

struct Member {
    shares: Arc<Inner>,
    business: BusinessId,
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut businesses = self.shares.businesses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = businesses.get_mut(&self.business) {
            share.members -= 1;
            if share.members == 0 {
                businesses.remove(&self.business);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use forecourt_kernel::StoreError;
    use futures_util::FutureExt as _;

    use super::*;

    fn business(id: i64) -> Option<BusinessId> {
        Some(BusinessId::new(id))
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(5)
    }

    #[tokio::test]
    async fn a_business_waits_for_itself_alone() {
        let shares = TenantLimiter::new(2);
        let one = shares.take(business(1), soon()).await.unwrap();
        let two = shares.take(business(1), soon()).await.unwrap();
        let mut third = Box::pin(shares.take(business(1), soon()));
        assert!((&mut third).now_or_never().is_none());
        assert_eq!(shares.waiting(), 1);
        let other = shares.take(business(2), soon()).now_or_never().unwrap().unwrap();
        let nobody = shares.take(None, soon()).now_or_never().unwrap().unwrap();
        assert!(other.is_some() && nobody.is_none());
        drop(one);
        let third = third.await.unwrap();
        drop((two, third, other));
        assert!(
            shares.0.businesses.lock().unwrap().is_empty(),
            "what is over is forgotten"
        );
        assert_eq!(shares.waiting(), 0);
    }

    #[tokio::test]
    async fn waiting_is_bounded_in_time_and_in_number() {
        let shares = TenantLimiter::new(1);
        let held = shares.take(business(1), soon()).await.unwrap();
        let refused = shares.take(business(1), Instant::now()).await.err().unwrap();
        assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
        let mut queue: Vec<_> = (0..MAX_QUEUE)
            .map(|_| Box::pin(shares.take(business(1), soon())))
            .collect();
        for waiting in &mut queue {
            assert!(waiting.now_or_never().is_none());
        }
        let refused = shares.take(business(1), soon()).now_or_never().unwrap().err().unwrap();
        assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
        assert!(shares.take(business(2), soon()).now_or_never().unwrap().is_ok());
        drop((held, queue));
        assert!(shares.take(business(1), soon()).now_or_never().unwrap().is_ok());
    }
}
