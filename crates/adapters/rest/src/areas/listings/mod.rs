//! Listings over HTTP (contract, "Listings"; decisions §8).

mod changes;
mod feeds;
mod id;
mod manifest;
mod stored;

use forecourt_kernel::{Cursor, ListName, PageRequest, Position, TextFilter, Timestamp, VehicleId, View};
use forecourt_listings::{self as listings, ListingError, ListingFilter, ListingSchema};
use serde_json::json;

use self::{id::IdParameter, stored::parsed};
use crate::{
    areas::Area,
    call::Call,
    code::{Code, codes},
    error::ApiError,
    list::{ListRequest, PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{FieldsParameter, PageParameters, filters},
    reply::{Answer, Envelope, Reply},
    schemas::{MoneyRange, NumberRange},
};

pub(super) const AREA: Area = Area {
    tag: "listings",
    about: "The adverts of the stock, for websites and stock feeds",
    operations,
    codes: CODES,
    records: &[],
};

const LIST: ListName = ListName::new("listings");

codes! {
    CODES;
    LISTING_NOT_FOUND = NOT_FOUND, "listing_not_found" {
        meaning: "The business lists no such vehicle.",
        cause: "The id is wrong, or the vehicle is not published on the website, is no stock for sale, or was sold too long ago.",
        remedy: "Take it off your site. `GET /2.0/listings/manifest` lists what is advertised.",
    }
    LISTING_CHANGES_EXPIRED = GONE, "listing_changes_expired" {
        meaning: "Changes cannot be read on from that number.",
        cause: "The copy was not brought up to date for more than 30 days, and removals behind the number are no longer kept; or the \
            number is beyond the latest change, since the server's database was restored or has failed over. `details.oldest` is the \
            lowest number that can still be asked for.",
        remedy: "Start anew from `after=0`, and drop what your copy holds beside what you get then.",
    }
    LISTING_FEED_NOT_FOUND = NOT_FOUND, "listing_feed_not_found" {
        meaning: "There is no feed of that name.",
        cause: "The name is misspelt.",
        remedy: "`GET /2.0/feeds` lists the feeds.",
    }
}

fn operations() -> Declared<Vec<Operation>> {
    let mut operations = operations![
        self::<__path_list_listings> list_listings,
        self::<__path_read_listing> read_listing,
    ];
    operations.append(&mut manifest::operations()?);
    operations.append(&mut changes::operations()?);
    operations.append(&mut feeds::operations()?);
    // Many callers request the same answer until a listing changes.
    for operation in &mut operations {
        operation.caches_answers = true;
    }
    Ok(operations)
}

/// List listings
///
/// In the order of `updated`, then id: those that changed last come at the end. To keep a copy up to date, page by cursor from
/// `updated_since` a few seconds before the highest `updated` that you have; compare with the manifest to find removed
/// listings.
#[utoipa::path(get, path = "/2.0/listings", tag = "listings", security(("bearer" = ["listings:read"])),
    params(FilterParameters, PageParameters, FieldsParameter),
    responses((status = 200, description = "A page of listings", body = PageEnvelope<ListingSchema>)))]
async fn list_listings(call: Call) -> Result<Answer, ApiError> {
    let mut query = call.query();
    let filter = FilterParameters::read(&mut query, &call.caller);
    let name = call.own_list(LIST);
    let list = ListRequest {
        list: name,
        page: from_the_beginning(query.page(name, 2)),
        view: View::Full,
        fields: query.fields(),
    };
    let (filter, list) = query.finish((filter, list))?;
    let mut session = call.read().await?;
    let state = session
        .manifest_state(call.caller.business_id(), call.clock().now())
        .await?;
    drop(session);
    let key = call.cache_key("listings", &state.to_string());
    if let Some(cached) = call.cached(&key) {
        return Ok(cached.into());
    }

    let answer = list.answer(
        call,
        RecordSize::Large,
        async move |session, call, page| {
            listings::list_listings(session, call.clock().as_ref(), &call.caller, &filter, page).await
        },
        |item, listing| {
            if item.fields.is_some() {
                return item.show(&parsed(listing)?);
            }
            item.body.extend_from_slice(listing.json.as_bytes());
            Ok(())
        },
    );
    Ok(answer.await?.cached_under(key))
}

/// Read a listing
///
/// The ETag is its hash.
#[utoipa::path(get, path = "/2.0/listings/{id}", tag = "listings", security(("bearer" = ["listings:read"])), params(IdParameter, FieldsParameter),
    responses((status = 200, description = "The listing", body = Envelope<ListingSchema>),
        (status = 404, description = "`listing_not_found`")))]
async fn read_listing(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id: VehicleId = call.id(Code::LISTING_NOT_FOUND)?;
    let mut session = call.read().await?;
    let listing = listings::read_listing(session.as_mut(), call.clock().as_ref(), &call.caller, id).await?;
    if fields.is_some() {
        return Reply::projected(&parsed(&listing)?, fields.as_ref());
    }
    let etag = format!("\"{}\"", listing.hash);
    if call.if_none_match.contain(&etag) {
        return Ok(Reply::not_modified(etag));
    }
    Ok(Reply::ok(&parsed(&listing)?)?.tagged(etag))
}

/// Treats an empty cursor as the place before the first listing, which is the one that has not changed for the longest time.
fn from_the_beginning(page: PageRequest) -> PageRequest {
    match &page.position {
        Position::After(cursor) if cursor.values() == [i64::MAX, i64::MAX] => PageRequest {
            position: Position::After(Cursor::at([i64::MIN, i64::MIN])),
            ..page
        },
        _ => page,
    }
}

impl From<ListingError> for ApiError {
    fn from(error: ListingError) -> Self {
        match error {
            ListingError::NotFound(_) => Self::new(Code::LISTING_NOT_FOUND, "this business lists no such vehicle"),
            ListingError::ChangesExpired { oldest } => Self::with_details(
                Code::LISTING_CHANGES_EXPIRED,
                format!("changes can be read on from {oldest} to the latest one: start anew from 0"),
                json!({"oldest": oldest}),
            ),
            ListingError::Store(error) => error.into(),
        }
    }
}

filters! {
    FilterParameters => ListingFilter;

    /// Of this make, without regard to case; % stands for any characters (scope search:wildcard; at most 4 %, and 100 characters).
    make: TextFilter;
    /// Of this model, as for `make`.
    model: TextFilter;
    /// With this fuel, as for `make`.
    fuel: TextFilter;
    /// With this transmission, as for `make`.
    transmission: TextFilter;
    /// With this body, as for `make`.
    body: TextFilter;
    /// Of this colour, as for `make`.
    colour: TextFilter;
    /// Between these two years, both included; an empty one leaves that end open. `year=…` is just this year.
    year: NumberRange;
    /// Between these two mileages, both included; an empty one leaves that end open. `mileage=…` is just this mileage.
    mileage: NumberRange;
    /// Between these two website prices, both included; an empty one leaves that end open. `price=…` is just this price.
    /// Vehicles priced on application are never found by price.
    price: MoneyRange;
    /// Changed at or after this moment, epoch seconds.
    updated_since: Timestamp;
    /// Changed before this moment, epoch seconds.
    updated_before: Timestamp;
}
