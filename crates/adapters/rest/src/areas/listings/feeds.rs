//! Ready-made outputs of the listings, and the fields that a listing still lacks for them, over HTTP (decisions §8).

use forecourt_kernel::{Timestamp, VehicleId};
use forecourt_listings::{self as listings, Dealer, Feed, ReadyCount};
use futures_util::stream::try_unfold;
use serde::Serialize;
use serde_json::Value;
use tokio::task::yield_now;
use utoipa::ToSchema;

use super::id::IdParameter;
use crate::{
    call::Call,
    code::Code,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::{FieldsParameter, parameters},
    reply::{self, Answer, Envelope, Reply},
    schemas::FeedName,
};

/// The number of listings that are read at once.
const AT_ONCE: usize = 100;

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_listing_feeds> list_listing_feeds,
        self::<__path_read_listing_feed> read_listing_feed,
        self::<__path_read_listing_readiness> read_listing_readiness,
    ])
}

/// List the listing feeds
///
/// The ready-made outputs of the listings, and the number of listings that have all fields that each of them needs.
#[utoipa::path(get, path = "/2.0/feeds", tag = "listings", security(("bearer" = ["listings:read"])), params(FieldsParameter),
    responses((status = 200, description = "The feeds", body = Envelope<Vec<ListingFeed>>)))]
async fn list_listing_feeds(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let mut session = call.read().await?;
    let counts = session
        .ready_counts(call.caller.business_id(), call.clock().now())
        .await?;
    let all: i64 = counts.iter().map(|count| count.listings).sum();
    let feed = |feed: Feed| {
        let counts = counts.iter().filter(|ReadyCount { ready, .. }| ready.contains(feed));
        let ready = counts.map(|count| count.listings).sum();
        ListingFeed {
            name: feed.name(),
            content_type: feed.content_type(),
            ready,
            not_ready: all - ready,
        }
    };
    let feeds: Vec<ListingFeed> = Feed::ALL.into_iter().map(feed).collect();
    Reply::projected(&feeds, fields.as_ref())
}

/// Read a listing feed
///
/// Returns all listings that have the fields that the feed needs, by id. Repeat the request with `If-None-Match`: as long as
/// nothing has changed, the answer is 304.
#[utoipa::path(get, path = "/2.0/feeds/{name}", tag = "listings", security(("bearer" = ["listings:read"])), params(NameParameter),
    responses((status = 200, description = "The feed", content(
            (String = "text/tab-separated-values"), (String = "text/csv"), (Object = "application/ld+json"))),
        (status = 404, description = "`listing_feed_not_found`")))]
async fn read_listing_feed(call: Call) -> Result<Answer, ApiError> {
    call.query().finish(())?;
    let name: String = call.id(Code::LISTING_FEED_NOT_FOUND)?;
    let Some(feed) = Feed::from_name(&name) else {
        let known = Feed::ALL.map(Feed::name).join(", ");
        let message = format!("there is no such feed; there are {known}");
        return Err(ApiError::new(Code::LISTING_FEED_NOT_FOUND, message));
    };
    let business = &call.caller.business;
    let now = call.clock().now();
    let mut session = call.read().await?;
    let state = session.manifest_state(business.id, now).await?;
    // A feed shows data of the business from its file.
    let etag = format!(
        "\"{}-{}-{state}-{}{}\"",
        business.id,
        feed.name(),
        business.updated.epoch_seconds(),
        call.epoch.mark()
    );
    if call.has(&etag) {
        return Ok(Reply::not_modified(etag).into());
    }
    let key = call.cache_key(feed.name(), &etag);
    if let Some(cached) = call.cached(&key) {
        return Ok(Answer::from(cached).typed(feed.content_type()).tagged(Some(etag)));
    }
    let ids = session.ready_listings(business.id, feed, now).await?;
    drop(session);
    let parts = Parts {
        call,
        feed,
        now,
        ids,
        next: 0,
        is_first: true,
    };
    let parts = try_unfold(Some(parts), async |parts| match parts {
        None => Ok(None),
        Some(mut parts) => {
            let (body, more) = parts.next().await?;
            Ok(Some((body, more.then_some(parts))))
        }
    });
    let answer = reply::in_parts(parts).await?;
    Ok(answer.typed(feed.content_type()).tagged(Some(etag)).cached_under(key))
}

/// A feed that is being written.
struct Parts {
    call: Call,
    feed: Feed,
    now: Timestamp,
    ids: Vec<VehicleId>,
    /// The number of listings that were checked.
    next: usize,
    is_first: bool,
}

impl Parts {
    /// Returns the next part of the body, and whether there is more.
    async fn next(&mut self) -> Result<(Vec<u8>, bool), ApiError> {
        let mut body = Vec::new();
        if self.next == 0 {
            self.feed.start(&mut body);
        } else {
            // A read that does not have to wait does not yield to other tasks.
            yield_now().await;
        }
        let business = &self.call.caller.business;
        let ids = self.ids.get(self.next..).unwrap_or_default();
        let ids = ids.get(..AT_ONCE).unwrap_or(ids);
        let mut session = self.call.read().await?;
        let listings = session.listings_of(business.id, ids, self.now).await?;
        drop(session);
        self.next += ids.len();
        let dealer = Dealer::from(&**business);
        for listing in &listings {
            let shown: Value = serde_json::from_str(&listing.json).map_err(reply::unwritable)?;
            // A listing that has changed since may lack a field now.
            if self.feed.missing(&dealer, &shown).is_empty() {
                self.feed
                    .append(&dealer, &shown, std::mem::take(&mut self.is_first), &mut body);
            }
        }
        let more = self.next < self.ids.len();
        if !more {
            self.feed.end(&mut body);
        }
        Ok((body, more))
    }
}

/// Check what a listing needs for the feeds
///
/// Tells for each feed whether the listing is in it, and if not, which fields it still needs and why.
#[utoipa::path(get, path = "/2.0/listings/{id}/readiness", tag = "listings", security(("bearer" = ["listings:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "What the listing needs", body = Envelope<ListingReadiness>),
        (status = 404, description = "`listing_not_found`")))]
async fn read_listing_readiness(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id: VehicleId = call.id(Code::LISTING_NOT_FOUND)?;
    let mut session = call.read().await?;
    let listing = listings::read_listing(session.as_mut(), call.clock().as_ref(), &call.caller, id).await?;
    drop(session);
    let shown: Value = serde_json::from_str(&listing.json).map_err(reply::unwritable)?;
    let dealer = Dealer::from(&*call.caller.business);
    let feed = |feed: Feed| {
        let missing = feed.missing(&dealer, &shown).into_iter();
        let missing: Vec<MissingField> = missing
            .map(|missing| MissingField {
                field: missing.field,
                reason: missing.reason,
            })
            .collect();
        FeedReadiness {
            name: feed.name(),
            ready: missing.is_empty(),
            missing,
        }
    };
    let readiness = ListingReadiness {
        feeds: Feed::ALL.into_iter().map(feed).collect(),
    };
    Reply::projected(&readiness, fields.as_ref())
}

/// A ready-made output of the listings.
#[derive(Serialize, ToSchema)]
struct ListingFeed {
    /// Its name in the path.
    name: &'static str,
    /// The media type of its answer.
    content_type: &'static str,
    /// The number of listings in it.
    ready: i64,
    /// The number of listings that are not in it, because they lack a field that it needs.
    not_ready: i64,
}

/// The readiness of a listing for the feeds.
#[derive(Serialize, ToSchema)]
struct ListingReadiness {
    /// Every feed.
    feeds: Vec<FeedReadiness>,
}

/// The readiness of a listing for one feed.
#[derive(Serialize, ToSchema)]
struct FeedReadiness {
    /// The feed's name.
    name: &'static str,
    /// True if the listing is in it.
    ready: bool,
    /// The fields that the listing lacks.
    missing: Vec<MissingField>,
}

/// A field that a listing lacks for a feed.
#[derive(Serialize, ToSchema)]
struct MissingField {
    /// The dot-path of the field.
    field: String,
    /// The reason why the feed needs it.
    reason: String,
}

parameters! {
    path NameParameter;

    /// The feed's name.
    name: FeedName;
}
