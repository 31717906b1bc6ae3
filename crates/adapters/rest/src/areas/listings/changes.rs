//! The changes of listings over HTTP: enough by themselves to keep a copy of the listings up to date (decisions §8).

use forecourt_kernel::{Projection, Timestamp, VehicleId};
use forecourt_listings::{self as listings, Change, ChangePage, ChangeRange, ChangedTo, ListingSchema};
use futures_util::stream::try_unfold;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::{task::yield_now, time::Instant};
use utoipa::ToSchema;

use super::stored::parsed;
use crate::{
    call::Call,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::parameters,
    query::whole_number,
    reply::{Answer, EnvelopeWriter, append, in_parts},
    schemas::{self, Fields, PerPage, Sequence, Wait},
    tail::MAX_WAIT,
};

/// The number of changes that are read at once.
const AT_ONCE: u32 = 25;

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_listing_changes> list_listing_changes { max_wait: MAX_WAIT },
    ])
}

/// List changes of listings
///
/// The latest change of each listing that changed after the number `after`, in the order in which they happened. Begin with 0,
/// which returns all current listings, and pass each answer's `last_sequence` as the next `after`: applied in order, the
/// entries keep a copy equal to the listings. Removals are kept for 30 days.
#[utoipa::path(get, path = "/2.0/listings/changes", tag = "listings", security(("bearer" = ["listings:read"])), params(ChangeParameters),
    responses((status = 200, description = "Changes in their order", body = ListingChanges),
        (status = 410, description = "`listing_changes_expired`")))]
async fn list_listing_changes(call: Call) -> Result<Answer, ApiError> {
    let mut query = call.query();
    let after = query.with_empty("after", |text| {
        whole_number(text).ok_or("must be a whole number from 0")
    });
    let per_page = query.per_page();
    let wait = query.wait();
    let fields = query.fields();
    let (after, per_page, wait, fields) = query.finish((after.unwrap_or_default(), per_page, wait, fields))?;

    let deadline = Instant::now() + wait;
    // The waiter is made before the first read, so that no change made after that read is missed.
    let waiter = if wait.is_zero() { None } else { call.event_waiter() };
    let mut found = read_changes(&call, after, per_page).await?;
    if let Some(mut waiter) = waiter {
        while found.changes.is_empty() {
            let happened = waiter.happened(deadline).await;
            if happened && call.epoch_stands() && !waiter.listings_changed_since(found.up_to) {
                continue;
            }
            found = read_changes(&call, after, per_page).await?;
            if !happened {
                break;
            }
        }
        // The key may have been revoked in the meantime.
        call.caller_now().await?;
    }
    let pages = ChangePages {
        left: per_page,
        call,
        with_removals: after > 0,
        fields,
        envelope: EnvelopeWriter::default(),
    };
    let parts = try_unfold(Some((pages, found)), async |state| match state {
        None => Ok(None),
        Some((mut pages, found)) => {
            let (body, next) = pages.part(found).await?;
            Ok(Some((body, next.map(|next| (pages, next)))))
        }
    });
    in_parts(parts).await
}

async fn read_changes(call: &Call, after: i64, per_page: u32) -> Result<ChangePage, ApiError> {
    let mut session = call.read().await?;
    let clock = call.clock().as_ref();
    Ok(listings::list_changes(session.as_mut(), clock, &call.caller, after, per_page.min(AT_ONCE)).await?)
}

/// An answer that is being written.
struct ChangePages {
    call: Call,
    with_removals: bool,
    fields: Option<Projection>,
    /// The number of changes that may still be shown.
    left: u32,
    envelope: EnvelopeWriter,
}

impl ChangePages {
    /// Returns the part of the body that shows the changes `found`, and the next page, if this is not the end.
    async fn part(&mut self, found: ChangePage) -> Result<(Vec<u8>, Option<ChangePage>), ApiError> {
        let ChangePage { changes, up_to, more } = found;
        let mut body = Vec::new();
        for change in &changes {
            self.envelope.element(&mut body);
            append(&ListingChange::new(change)?, self.fields.as_ref(), &mut body)?;
        }
        self.left = self
            .left
            .saturating_sub(u32::try_from(changes.len()).unwrap_or(u32::MAX));
        let last = changes.last().map(|last| last.sequence);
        if let Some(after) = last.filter(|_| more && self.left > 0) {
            // A read that does not have to wait does not yield to other tasks.
            yield_now().await;
            let range = ChangeRange {
                after,
                up_to,
                with_removals: self.with_removals,
            };
            let mut session = self.call.read().await?;
            let (clock, by) = (self.call.clock().as_ref(), &self.call.caller);
            let limit = self.left.min(AT_ONCE);
            let next = listings::continue_changes(session.as_mut(), clock, by, range, limit).await?;
            return Ok((body, Some(next)));
        }
        // If no more changes follow, everything up to that number has been shown.
        let last_sequence = last.filter(|_| more).unwrap_or(up_to);
        let meta = ChangesMeta {
            last_sequence,
            more,
            epoch: self.call.epoch.number(),
        };
        self.envelope.end(&meta, &mut body)?;
        Ok((body, None))
    }
}

/// Changes of listings, in their order.
// The shape that `ChangePages` writes change by change.
#[derive(Serialize, ToSchema)]
struct ListingChanges {
    /// Always true.
    #[schema(schema_with = schemas::success)]
    success: bool,
    /// The latest change of each listing, in the order in which they happened.
    data: Vec<ListingChange<'static>>,
    meta: ChangesMeta,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ListingChangesMeta)]
struct ChangesMeta {
    /// The value to send as `after` to continue from here.
    last_sequence: i64,
    /// True if there are more changes already.
    more: bool,
    /// The epoch of the server's database, 0 as long as it has never gone back to an earlier state. If it differs from the
    /// previous answer's, numbers were given a second time: start again from 0.
    epoch: i64,
}

/// The latest change of a listing.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum ListingChange<'a> {
    Upsert(ListingUpsert<'a>),
    Removal(ListingRemoval),
}

/// The vehicle is listed, and its listing is this.
#[derive(Serialize, ToSchema)]
struct ListingUpsert<'a> {
    /// The number of the change.
    sequence: i64,
    #[schema(inline)]
    r#type: UpsertType,
    /// Vehicle id.
    #[schema(value_type = i64)]
    id: VehicleId,
    /// Time of the listing's last change, epoch seconds.
    #[schema(value_type = i64)]
    at: Timestamp,
    /// The hash of the listing.
    hash: &'a str,
    #[schema(value_type = ListingSchema)]
    listing: &'a RawValue,
}

/// The vehicle is no longer listed.
#[derive(Serialize, ToSchema)]
struct ListingRemoval {
    /// The number of the change.
    sequence: i64,
    #[schema(inline)]
    r#type: RemovalType,
    /// Vehicle id.
    #[schema(value_type = i64)]
    id: VehicleId,
    /// Time of the removal, epoch seconds.
    #[schema(value_type = i64)]
    at: Timestamp,
    /// The reason: it was sold too long ago, taken off the website, put into a state in which it is not offered, or deleted.
    #[schema(schema_with = schemas::removal_reason)]
    reason: &'static str,
}

#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum UpsertType {
    Upsert,
}

#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum RemovalType {
    Remove,
}

impl<'a> ListingChange<'a> {
    fn new(change: &'a Change) -> Result<Self, ApiError> {
        let sequence = change.sequence;
        Ok(match &change.to {
            ChangedTo::Listed(listing) => Self::Upsert(ListingUpsert {
                sequence,
                r#type: UpsertType::Upsert,
                id: listing.id,
                at: listing.updated,
                hash: &listing.hash,
                listing: parsed(listing)?,
            }),
            ChangedTo::Removed { id, at, reason } => Self::Removal(ListingRemoval {
                sequence,
                r#type: RemovalType::Remove,
                id: *id,
                at: *at,
                reason: reason.as_str(),
            }),
        })
    }
}

parameters! {
    query ChangeParameters;

    /// Only changes with higher numbers: `last_sequence` of the previous answer. 0, the default, returns all current listings.
    after: Sequence;
    /// The maximum number of changes in an answer; 50 by default.
    per_page: PerPage;
    /// The number of seconds to hold the answer back while there is no change to show; 0 by default.
    wait: Wait;
    /// Comma-separated dot-paths of the entries to be returned: at most 100 of at most 8 parts each. An answer narrowed in this
    /// way may lack members that are otherwise required.
    fields: Fields;
}
