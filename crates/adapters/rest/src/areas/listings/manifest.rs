//! The manifest of listings over HTTP (contract, "Listings"; decisions §8).

use forecourt_kernel::{Projection, Timestamp, VehicleId};
use forecourt_listings::ManifestEntry;
use futures_util::stream::try_unfold;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    call::Call,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::FieldsParameter,
    reply::{self, Answer, EnvelopeWriter, Reply},
    schemas,
};

/// The number of entries of the manifest that are read at once.
const ENTRIES_AT_ONCE: u32 = 1000;

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_read_manifest> read_manifest { is_conditional: true },
    ])
}

/// Read the manifest
///
/// Lists every live listing by its id, with its hash and the time of its last change, which tell whether a copy is up to date.
/// Repeat the request with `If-None-Match`: as long as nothing has changed, the answer is 304.
#[utoipa::path(get, path = "/2.0/listings/manifest", tag = "listings", security(("bearer" = ["listings:read"])), params(FieldsParameter),
    responses((status = 200, description = "The manifest", body = Manifest)))]
async fn read_manifest(call: Call) -> Result<Answer, ApiError> {
    let fields = call.fields()?;
    let business = call.caller.business_id();
    let now = call.clock().now();
    let manifests = &call.worker.shared.manifests;
    // Only without `fields`, since the tag is that of the whole manifest.
    if fields.is_none()
        && let Some(etag) = manifests.unchanged(business, call.epoch, &call.if_none_match)
    {
        return Ok(Reply::not_modified(etag).into());
    }
    let listener = call.worker.shared.notifier.listen(business);
    let mut session = call.read().await?;
    let state = session.manifest_state(business, now).await?;
    drop(session);
    let etag = format!("\"{business}-{state}{}\"", call.epoch.mark());
    if call.epoch_stands() {
        manifests.note(business, call.epoch, etag.clone(), listener);
    }
    let key = call.cache_key("manifest", &etag);
    let etag = fields.is_none().then_some(etag);
    if let Some(etag) = etag.as_ref().filter(|etag| call.has(etag)) {
        return Ok(Reply::not_modified(etag.clone()).into());
    }
    if let Some(cached) = call.cached(&key) {
        return Ok(Answer::from(cached).tagged(etag));
    }
    let meta = ManifestMeta {
        count: 0,
        updated: None,
    };
    let parts = Parts {
        call,
        now,
        fields,
        meta,
        after: Some(VehicleId::new(0)),
        envelope: EnvelopeWriter::default(),
    };
    let parts = try_unfold(parts, async |mut parts| {
        let part = parts.next().await?;
        Ok(part.map(|part| (part, parts)))
    });
    Ok(reply::in_parts(parts).await?.tagged(etag).cached_under(key))
}

/// A manifest that is being written.
struct Parts {
    call: Call,
    now: Timestamp,
    fields: Option<Projection>,
    meta: ManifestMeta,
    /// The last vehicle that was written; `None` if all were written.
    after: Option<VehicleId>,
    envelope: EnvelopeWriter,
}

impl Parts {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        let Some(after) = self.after else { return Ok(None) };
        let business = self.call.caller.business_id();
        let mut session = self.call.read().await?;
        let entries = session.manifest(business, after, self.now, ENTRIES_AT_ONCE).await?;
        drop(session);
        let mut body = Vec::with_capacity(96 * (entries.len() + 2));
        for entry in &entries {
            self.envelope.element(&mut body);
            reply::append(&EntryView::new(entry), self.fields.as_ref(), &mut body)?;
            self.meta.count += 1;
            self.meta.updated = self.meta.updated.max(Some(entry.updated));
        }
        let is_full = entries.len() >= ENTRIES_AT_ONCE as usize;
        self.after = entries.last().map(|last| last.id).filter(|_| is_full);
        if self.after.is_none() {
            self.envelope.end(&self.meta, &mut body)?;
        }
        Ok(Some(body))
    }
}

/// The manifest of all live listings.
// The shape that `Parts` writes entry by entry.
#[derive(Serialize, ToSchema)]
struct Manifest {
    /// Always true.
    #[schema(schema_with = schemas::success)]
    success: bool,
    /// The listings, by id.
    data: Vec<EntryView<'static>>,
    meta: ManifestMeta,
}

/// A line of the manifest.
#[derive(Serialize, ToSchema)]
#[schema(as = ManifestEntry)]
struct EntryView<'a> {
    /// Vehicle id.
    #[schema(value_type = i64)]
    id: VehicleId,
    /// Time of the listing's last change, epoch seconds.
    #[schema(value_type = i64)]
    updated: Timestamp,
    /// The hash of the listing.
    hash: &'a str,
}

impl<'a> EntryView<'a> {
    fn new(entry: &'a ManifestEntry) -> Self {
        let ManifestEntry { id, updated, hash } = entry;
        Self {
            id: *id,
            updated: *updated,
            hash,
        }
    }
}

#[derive(Serialize, ToSchema)]
struct ManifestMeta {
    /// The number of listings.
    count: i64,
    /// Time of the last change of any of them, epoch seconds; null if there is none.
    #[schema(value_type = Option<i64>, required)]
    updated: Option<Timestamp>,
}
