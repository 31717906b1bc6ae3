//! The event log over HTTP: the events that webhooks deliver, for clients without a public endpoint. It is an addition to the
//! contract.

use std::time::Duration;

use forecourt_accounts::Caller;
use forecourt_dealership::ReadSession;
use forecourt_kernel::{BusinessId, Event, EventName, EventSequence, Projection, StoreError, View};
use forecourt_webhooks::{API_VERSION, Envelope, EnvelopeBusiness, EventFilter, LogPage, Projections};
use futures_util::stream::try_unfold;
use serde::Serialize;
use serde_json::{json, value::RawValue};
use tokio::{task::yield_now, time::Instant};
use utoipa::ToSchema;

use crate::{
    areas::Area,
    call::Call,
    code::{Code, codes},
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::parameters,
    query::{Query, Rendering, whole_number},
    reply::{Answer, EnvelopeWriter, append, in_parts},
    schemas::{self, EventCursor, EventNames, EventResource, Fields, MomentRange, PerPage, RecordNumber, Wait},
    tail::{LogPeek, MAX_WAIT},
};

/// The maximum number of parts of the log that are read for one answer, and the maximum time for that. If few events match, the
/// answer reports how far the scan got.
const MAX_PARTS: usize = 8;
const MAX_SCAN_TIME: Duration = Duration::from_secs(1);
/// A part of the log with fewer bytes to show than this was not ended by its size.
const SPARSE_BYTES: usize = 256 * 1024;
pub(super) const AREA: Area = Area {
    tag: "events",
    about: "The log of what happened, for those without a public endpoint",
    operations,
    codes: CODES,
    records: &[],
};

codes! {
    CODES;
    EVENTS_EXPIRED = GONE, "events_expired" {
        meaning: "The log cannot be read on from that place.",
        cause: "Events behind it are no longer kept, since it was not read on for more than 30 days; or the place is beyond the newest \
            event, since the server's database was restored or has failed over. `details.oldest` is the number of the oldest event \
            that is kept.",
        remedy: "Read the records anew, since what happened in between shows in them alone, and go on without a `cursor`, which is from \
            the oldest event, or with `latest`.",
    }
}

fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_events> list_events { max_wait: MAX_WAIT },
    ])
}

/// Read the event log
///
/// Lists the events of the last 30 days, oldest first. Only events whose read scope the key has are shown, with their records
/// projected to the key's scopes. Begin without a cursor, or with `latest`, and pass each answer's `position` as the next
/// `cursor`: nothing is missed and nothing is seen twice.
#[utoipa::path(get, path = "/2.0/events", tag = "events", security(("bearer" = ["webhooks:read"])), params(EventParameters),
    responses((status = 200, description = "A part of the log", body = EventPage<'static>),
        (status = 410, description = "`events_expired`")))]
async fn list_events(call: Call) -> Result<Answer, ApiError> {
    let mut query = call.query();
    let request = LogRequest::read(&mut query, &call.caller);
    let rendering = query.rendering(View::Full);
    let (request, Rendering { fields, .. }) = query.finish((request, rendering))?;

    let (found, caller) = if request.wait.is_zero() {
        (LogScan::from_start(&call, &request).await?, call.caller.clone())
    } else {
        let found = wait_for_events(&call, &request).await?;
        (found, call.caller_now().await?)
    };
    let pages = LogPages {
        left: request.per_page,
        call,
        request,
        caller,
        fields,
        sparse: 0,
        envelope: EnvelopeWriter::default(),
    };
    let parts = try_unfold(Some((pages, Some(found))), async |state| match state {
        None => Ok(None),
        Some((mut pages, found)) => {
            let (body, position) = pages.part(found).await?;
            Ok(Some((body, position.map(|position| (pages.at(position), None)))))
        }
    });
    in_parts(parts).await
}

/// An answer that is being written.
struct LogPages {
    call: Call,
    request: LogRequest,
    /// The caller who reads it.
    caller: Caller,
    fields: Option<Projection>,
    /// The number of parts of the log that had little to show.
    sparse: usize,
    /// The number of events that may still be shown.
    left: u32,
    envelope: EnvelopeWriter,
}

impl LogPages {
    /// Continues after this event.
    fn at(mut self, position: EventSequence) -> Self {
        self.request.start = Start::After(position);
        self
    }

    /// Returns the next part of the body, and the position to continue from, if this is not the end. The part shows `found`, or
    /// else the result of a new scan.
    async fn part(&mut self, found: Option<LogScan>) -> Result<(Vec<u8>, Option<EventSequence>), ApiError> {
        let mut body = Vec::new();
        let found = match found {
            Some(found) => found,
            None => {
                // A read that does not have to wait does not yield to other tasks.
                yield_now().await;
                LogScan::once(&self.call, &self.request, self.left).await?
            }
        };
        let LogScan { events, position, more } = found;
        for event in events.iter().filter(|event| self.caller.may(event.what.name.scope())) {
            self.envelope.element(&mut body);
            let data = shown_data(event, &self.caller, &self.call.worker.shared.projections)?;
            append(
                &LoggedEvent::new(event, &data, &self.caller),
                self.fields.as_ref(),
                &mut body,
            )?;
        }
        self.left = self
            .left
            .saturating_sub(u32::try_from(events.len()).unwrap_or(u32::MAX));
        // A part ends when it is large enough, or when enough of the log was scanned.
        if events.iter().map(|event| event.what.data.len()).sum::<usize>() < SPARSE_BYTES {
            self.sparse += 1;
        }
        if more && self.left > 0 && !events.is_empty() && self.sparse < MAX_PARTS {
            return Ok((body, Some(position)));
        }
        let position = position.0.to_string();
        let meta = LogMeta {
            pagination: LogPagination {
                per_page: self.request.per_page,
                next_cursor: more.then(|| position.clone()),
            },
            position,
            epoch: self.call.epoch.number(),
        };
        self.envelope.end(&meta, &mut body)?;
        Ok((body, None))
    }
}

/// Reads the log until there is something to show, the time to wait is over, or the server stops. No session is open meanwhile,
/// and the log is read for one request alone only if there may be something for it.
async fn wait_for_events(call: &Call, request: &LogRequest) -> Result<LogScan, ApiError> {
    let deadline = Instant::now() + request.wait;
    // The waiter is made before the first read, so that no event recorded after that read is missed.
    let waiter = call.event_waiter();
    let mut scan = LogScan::from_start(call, request).await?;
    let Some(mut waiter) = waiter else {
        return Ok(scan);
    };
    while scan.events.is_empty() && !scan.more {
        let happened = waiter.happened(deadline).await;
        if happened
            && call.epoch_stands()
            && let LogPeek::NothingUpTo(position) = waiter.peek(&request.filter, scan.position)
        {
            scan.position = position;
            continue;
        }
        scan = LogScan::at(call, request, Some(scan.position)).await?;
        if !happened {
            break;
        }
    }
    Ok(scan)
}

/// A caller's query of the log.
#[derive(Clone, Debug)]
struct LogRequest {
    start: Start,
    per_page: u32,
    filter: EventFilter,
    wait: Duration,
}

/// The position where a caller begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Start {
    /// With the oldest event that is kept.
    Oldest,
    /// After the event with this number.
    After(EventSequence),
    /// With the next event from now on.
    Latest,
}

impl LogRequest {
    fn read(query: &mut Query<'_>, by: &Caller) -> Self {
        let start = query.with_empty("cursor", |text| match text {
            "latest" => Ok(Start::Latest),
            _ => whole_number(text)
                .map(|number| Start::After(EventSequence(number)))
                .ok_or("must be the position of an earlier answer, or latest"),
        });
        Self {
            start: match start {
                // A caller who has seen nothing starts from the beginning.
                None | Some(Start::After(EventSequence(0))) => Start::Oldest,
                Some(start) => start,
            },
            per_page: query.per_page(),
            filter: event_filter(query, by),
            wait: query.wait(),
        }
    }
}

fn event_filter(query: &mut Query<'_>, by: &Caller) -> EventFilter {
    let texts = query.texts("event").into_iter();
    let named: Vec<_> = texts.map(str::parse::<EventName>).collect();
    let named = match named.into_iter().collect::<Result<Vec<_>, _>>() {
        Ok(names) => names,
        Err(error) => {
            query.fault("event", error.to_string());
            Vec::new()
        }
    };
    let resource = query.with("resource", |text| {
        let mut known = EventName::ALL.iter().map(|event| event.resource());
        known
            .find(|resource| *resource == text)
            .ok_or("must be the part of an event's name before the dot")
    });
    let record = query.with("record", |text| {
        whole_number(text).filter(|id| *id > 0).ok_or("must be a record's id")
    });
    if record.is_some() && query.text("resource").is_none_or(str::is_empty) {
        query.fault("record", "needs resource, to say whose id it is");
    }
    let passes = |event: &EventName| {
        by.may(event.scope())
            && (named.is_empty() || named.contains(event))
            && resource.is_none_or(|resource| event.resource() == resource)
    };
    EventFilter {
        names: EventName::ALL.iter().copied().filter(passes).collect(),
        record,
        created: query.moments("created"),
    }
}

/// The result of a scan of the log.
#[derive(Debug)]
struct LogScan {
    events: Vec<Event>,
    /// The position up to which the log was scanned.
    position: EventSequence,
    /// True if there are more events after it.
    more: bool,
}

impl LogScan {
    async fn from_start(call: &Call, request: &LogRequest) -> Result<Self, ApiError> {
        match request.start {
            Start::Oldest => Self::at(call, request, None).await,
            Start::After(after) => Self::at(call, request, Some(after)).await,
            Start::Latest => Self::at_the_end(call).await,
        }
    }

    async fn at_the_end(call: &Call) -> Result<Self, ApiError> {
        let mut session = call.read().await?;
        Ok(Self {
            events: Vec::new(),
            position: session.latest_event(call.caller.business_id()).await?,
            more: false,
        })
    }

    /// Scans one part of the log, for at most `limit` events.
    async fn once(call: &Call, request: &LogRequest, limit: u32) -> Result<Self, ApiError> {
        let after = match request.start {
            Start::Oldest => None,
            Start::After(after) => Some(after),
            Start::Latest => return Self::at_the_end(call).await,
        };
        let mut session = call.read().await?;
        let page = session
            .events(
                call.caller.business_id(),
                &request.filter,
                after.unwrap_or(EventSequence(0)),
                limit,
            )
            .await?;
        let LogPage { events, position, more } = page;
        let scan = Self { events, position, more };
        scan.without_gap(session.as_mut(), call.caller.business_id(), after)
            .await
    }

    /// Scans a few parts of the log after `after`, or from its beginning, until something is found.
    async fn at(call: &Call, request: &LogRequest, after: Option<EventSequence>) -> Result<Self, ApiError> {
        let mut session = call.read().await?;
        let scan = Self::parts(session.as_mut(), call, request, after.unwrap_or(EventSequence(0))).await?;
        scan.without_gap(session.as_mut(), call.caller.business_id(), after)
            .await
    }

    /// Returns the same scan, if it misses no event after `after`.
    ///
    /// # Errors
    /// 410 if it does, or the log does not reach to `after`.
    async fn without_gap(
        self,
        session: &mut dyn ReadSession,
        business: BusinessId,
        after: Option<EventSequence>,
    ) -> Result<Self, ApiError> {
        let Some(after) = after else { return Ok(self) };
        let next = self.events.first().map(|event| event.sequence.0);
        if next == Some(after.0.saturating_add(1)) {
            return Ok(self);
        }
        let extent = session.log_extent(business).await?;
        if extent.continues(after) {
            return Ok(self);
        }
        let oldest = extent.oldest.0;
        let message = format!(
            "the log cannot be read on from {}: its oldest event is {oldest}",
            after.0
        );
        Err(ApiError::with_details(
            Code::EVENTS_EXPIRED,
            message,
            json!({"oldest": oldest}),
        ))
    }

    async fn parts(
        session: &mut dyn ReadSession,
        call: &Call,
        request: &LogRequest,
        after: EventSequence,
    ) -> Result<Self, ApiError> {
        let LogRequest { filter, per_page, .. } = request;
        let business = call.caller.business_id();
        if filter.names.is_empty() {
            // No event can match, however many there are.
            return Ok(Self {
                events: Vec::new(),
                position: session.latest_event(business).await?.max(after),
                more: false,
            });
        }
        let began = Instant::now();
        let mut position = after;
        for part in 1.. {
            let LogPage {
                events,
                position: to,
                more,
            } = session.events(business, filter, position, *per_page).await?;
            position = position.max(to);
            let enough = !events.is_empty() || !more;
            if enough || part >= MAX_PARTS || began.elapsed() >= MAX_SCAN_TIME {
                return Ok(Self { events, position, more });
            }
        }
        Ok(Self {
            events: Vec::new(),
            position,
            more: true,
        })
    }
}

/// Returns the record of `event` as `caller` may see it.
fn shown_data(event: &Event, caller: &Caller, projections: &Projections) -> Result<Box<RawValue>, ApiError> {
    let data = projections.apply(event.what.name, &event.what.data, caller.scopes);
    RawValue::from_string(data.into_owned()).map_err(|error| StoreError::Other(error.into()).into())
}

/// An event of the log: the body that webhooks receive, with its number.
#[derive(Serialize, ToSchema)]
struct LoggedEvent<'a> {
    /// The number of the event within the business: 1, 2, 3 … without gaps.
    sequence: i64,
    #[serde(flatten)]
    envelope: Envelope<'a>,
}

impl<'a> LoggedEvent<'a> {
    fn new(event: &'a Event, data: &'a RawValue, caller: &'a Caller) -> Self {
        let Event { sequence, id, what } = event;
        Self {
            sequence: sequence.0,
            envelope: Envelope {
                id,
                event: what.name.as_str(),
                api_version: API_VERSION,
                created: what.at,
                business: EnvelopeBusiness {
                    id: caller.business_id().get(),
                    tag: &caller.business.tag,
                },
                data,
            },
        }
    }
}

/// A part of the log.
// The shape that `LogPages` writes.
#[derive(Serialize, ToSchema)]
struct EventPage<'a> {
    /// Always true.
    #[schema(schema_with = schemas::success)]
    success: bool,
    /// The events, oldest first.
    data: Vec<LoggedEvent<'a>>,
    /// The position of the part.
    meta: LogMeta,
}

#[derive(Serialize, ToSchema)]
struct LogMeta {
    pagination: LogPagination,
    /// The value to send as `cursor` to continue from here, also if this is the end of the log.
    position: String,
    /// The epoch of the server's database, 0 as long as it has never gone back to an earlier state. If it differs from the
    /// previous answer's, numbers were given a second time: read the records again, and continue with `latest`.
    epoch: i64,
}

#[derive(Serialize, ToSchema)]
struct LogPagination {
    /// The maximum number of events in a part.
    per_page: u32,
    /// The value to send as `cursor` for the next part; null at the end of the log. A part may be short or empty if few events
    /// pass the filters.
    #[schema(required)]
    next_cursor: Option<String>,
}

parameters! {
    query EventParameters;

    /// The event after which to begin: `position` of the previous answer, or `latest` for events from now on. By default the
    /// log is read from the oldest event that is kept.
    cursor: EventCursor;
    /// The maximum number of events in an answer; 50 by default.
    per_page: PerPage;
    /// Events with this name, or with one of several: `event=lead.created&event=lead.updated`.
    event: EventNames;
    /// Events of this resource only: vehicle, contact, lead and so on, the part of the name before the dot.
    resource: EventResource;
    /// Events of the record with this id; needs resource.
    record: RecordNumber;
    /// Happened between these two moments, both included; an empty one leaves that end open. `created=…` is just this moment.
    created as "created[]": MomentRange;
    /// The number of seconds to hold the answer back while there is no event to show; 0 by default.
    wait: Wait;
    /// Comma-separated dot-paths to be returned: at most 100 of at most 8 parts each. An answer narrowed in this way may lack
    /// members that are otherwise required.
    fields: Fields;
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::{Scope, ScopeSet};

    use super::*;
    use crate::testing::a_caller;

    fn read(text: &str) -> Result<LogRequest, ApiError> {
        let by = a_caller(
            [Scope::LeadsRead, Scope::ContactsRead]
                .into_iter()
                .collect::<ScopeSet>(),
        );
        let mut query = Query::new(text);
        let request = LogRequest::read(&mut query, &by);
        query.finish(request)
    }

    fn names(text: &str) -> Vec<&'static str> {
        read(text)
            .unwrap()
            .filter
            .names
            .into_iter()
            .map(EventName::as_str)
            .collect()
    }

    #[test]
    fn what_is_not_said_narrows_nothing_but_what_the_key_may_read() {
        let request = read("").unwrap();
        assert_eq!(request.start, Start::Oldest);
        assert_eq!((request.per_page, request.wait), (50, Duration::ZERO));
        let all = [
            "contact.created",
            "contact.updated",
            "contact.deleted",
            "lead.created",
            "lead.updated",
            "lead.deleted",
        ];
        assert_eq!(names(""), all);
    }

    #[test]
    fn names_and_resources_narrow() {
        assert_eq!(names("event=lead.created"), ["lead.created"]);
        assert_eq!(
            names("event[]=lead.deleted&event%5B%5D=lead.created"),
            ["lead.created", "lead.deleted"]
        );
        assert_eq!(names("event[0]=lead.deleted&event[1]=vehicle.sold"), ["lead.deleted"]);
        assert_eq!(names("resource=contact").len(), 3);
        assert_eq!(names("resource=contact&event=lead.created"), Vec::<&str>::new());
        let request = read("resource=lead&record=7&cursor=12&wait=30").unwrap();
        assert_eq!(request.filter.record, Some(7));
        assert_eq!(request.start, Start::After(EventSequence(12)));
        assert_eq!(request.wait, Duration::from_secs(30));
        assert_eq!(read("cursor=latest").unwrap().start, Start::Latest);
    }

    #[test]
    fn a_bad_value_is_reported() {
        for (text, field) in [
            ("cursor=", "cursor"),
            ("cursor=-1", "cursor"),
            ("cursor=+1", "cursor"),
            ("cursor=9223372036854775808", "cursor"),
            ("wait=31", "wait"),
            ("wait=-1", "wait"),
            ("wait=1.5", "wait"),
            ("wait=", "wait"),
            ("per_page=0", "per_page"),
            ("per_page=501", "per_page"),
            ("event[]=", "event"),
            ("event=ping", "event"),
            ("event[]=lead.created&event[]=x", "event"),
            ("resource=leads", "resource"),
            ("record=1", "record"),
            ("record=1&resource=", "record"),
            ("record=0&resource=lead", "record"),
            ("record=x&resource=lead", "record"),
            ("created=x", "created"),
        ] {
            let refusal = read(text).unwrap_err().into_refusal();
            assert_eq!(refusal.details.unwrap()["field"], field, "{text}");
        }
    }
}
