//! Cached facts on the manifests of listings.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use forecourt_kernel::{BusinessId, Epoch};
use futures_util::FutureExt as _;

use crate::{conditional::EntityTags, notifier::Listener};

/// The time for which a manifest's entity tag is trusted. A commit of this server ends it at once. A commit of another server,
/// or a listing that leaves by the passing of time alone, shows after this time.
const CACHE_TTL: Duration = Duration::from_secs(1);

/// The entity tags of manifests that were read recently. With them the many callers who check for changes are answered without
/// the database.
#[derive(Default)]
pub(crate) struct Manifests(Mutex<HashMap<(BusinessId, Epoch), Known>>);

/// The entity tag of a manifest.
struct Known {
    etag: String,
    read: Instant,
    /// Listens since before the tag was read.
    listener: Listener,
}

impl Manifests {
    /// Returns the entity tag of the business's manifest in `epoch`, if it is among those that the caller has.
    pub(crate) fn unchanged(&self, business: BusinessId, epoch: Epoch, tags: &EntityTags) -> Option<String> {
        let mut manifests = self.manifests();
        let known = manifests.get_mut(&(business, epoch))?;
        let is_good = known.read.elapsed() < CACHE_TTL && known.listener.notified().now_or_never().is_none();
        if !is_good {
            manifests.remove(&(business, epoch));
            return None;
        }
        tags.contain(&known.etag).then(|| known.etag.clone())
    }

    /// Stores a tag that was read after `listener` began to listen.
    pub(crate) fn note(&self, business: BusinessId, epoch: Epoch, etag: String, listener: Listener) {
        let mut manifests = self.manifests();
        manifests.retain(|_, known| known.read.elapsed() < CACHE_TTL);
        let read = Instant::now();
        manifests.insert((business, epoch), Known { etag, read, listener });
    }

    /// Code that holds the lock never leaves the map half-changed.
    fn manifests(&self) -> MutexGuard<'_, HashMap<(BusinessId, Epoch), Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderMap, HeaderValue, IF_NONE_MATCH};

    use super::*;
    use crate::notifier::EventNotifier;

    const ACME: BusinessId = BusinessId::new(1);
    const OTHER: BusinessId = BusinessId::new(2);

    fn having(tag: &'static str) -> EntityTags {
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, HeaderValue::from_static(tag));
        EntityTags::if_none_match(&headers)
    }

    #[test]
    fn what_a_caller_has_is_known_until_something_happens() {
        let (notifier, manifests) = (EventNotifier::default(), Manifests::default());
        let unchanged = |business, tag| manifests.unchanged(business, Epoch::FIRST, &having(tag));
        assert_eq!(unchanged(ACME, "\"1-5-0\""), None);
        manifests.note(ACME, Epoch::FIRST, "\"1-5-0\"".to_owned(), notifier.listen(ACME));
        assert_eq!(unchanged(ACME, "W/\"1-5-0\"").as_deref(), Some("\"1-5-0\""));
        assert_eq!(unchanged(ACME, "\"1-4-0\""), None);
        assert_eq!(unchanged(OTHER, "*"), None, "each business has its own");
        assert_eq!(
            manifests.unchanged(ACME, Epoch::new(7), &having("*")),
            None,
            "and each epoch"
        );
        notifier.notify(OTHER);
        assert!(unchanged(ACME, "*").is_some());
        notifier.notify(ACME);
        assert_eq!(unchanged(ACME, "\"1-5-0\""), None);
        notifier.mute();
        manifests.note(ACME, Epoch::FIRST, "\"1-6-0\"".to_owned(), notifier.listen(ACME));
        assert_eq!(unchanged(ACME, "*"), None, "a server that stops knows nothing");
    }
}
