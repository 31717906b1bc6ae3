//! Feeds, to which calendars subscribe, over HTTP.

use forecourt_appointments::{
    self as appointments, AppointmentFeedId, AppointmentFeedView, FeedDetails, MAX_FEEDS, NewFeed,
};
use forecourt_dealership::Session;
use forecourt_kernel::{Field, Line, ListName, StaffId, Valid, ValidationErrors, View, bounds::has_line_break};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    body::Form,
    calendars,
    call::Call,
    code::Code,
    error::ApiError,
    list::{PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{FieldsParameter, PageParameters, parameters},
    reply::{Answer, Created, Deleted, Envelope, Reply},
};

const LIST: ListName = ListName::new("appointment-feeds");
const _: () = assert!(MAX_FEEDS == 50, "the document says so");

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_appointment_feeds> list_appointment_feeds,
        self::<__path_create_appointment_feed> create_appointment_feed { created: Created::Unreadable },
        self::<__path_delete_appointment_feed> delete_appointment_feed,
    ])
}

/// List the feeds of appointments
///
/// Newest first. Their addresses are not shown again.
#[utoipa::path(get, path = "/2.0/appointments/feeds", tag = "appointments", security(("bearer" = ["appointments:read"])),
    params(PageParameters, FieldsParameter),
    responses((status = 200, description = "A page of feeds", body = PageEnvelope<AppointmentFeedView<'static>>)))]
async fn list_appointment_feeds(call: Call) -> Result<Answer, ApiError> {
    let list = call.list(LIST, View::Full)?;
    list.answer(
        call,
        RecordSize::Small,
        async |session, call, page| appointments::list_feeds(session, &call.caller, page).await,
        |item, feed| item.show(&AppointmentFeedView::new(feed, None)),
    )
    .await
}

/// Create a feed of appointments
///
/// Its address alone opens it, without a key, and is shown only in this answer. A business has at most 50.
#[utoipa::path(post, path = "/2.0/appointments/feeds", tag = "appointments", security(("bearer" = ["appointments:write"])),
    request_body = FeedBody,
    responses((status = 201, description = "The feed that was created, with its address", body = Envelope<AppointmentFeedView<'static>>)))]
async fn create_appointment_feed(call: Call) -> Result<Reply, ApiError> {
    let feed = call.body().await.and_then(|body: FeedBody| {
        let feed = body.read()?;
        let business = &call.caller.business;
        Ok(Valid::new(feed, |feed| appointments::validate_feed(feed, business))?)
    });
    call.write(feed, async |session: &mut dyn Session, feed| {
        let clock = call.clock().as_ref();
        let (feed, token) = appointments::create_feed(session, clock, call.random(), &call.caller, feed).await?;
        let url = calendars::address(&call.worker.shared.public_url, token.as_str());
        Reply::created(&AppointmentFeedView::new(&feed, Some(url)))
    })
    .await
}

/// Delete a feed of appointments
///
/// Its address answers 404 from then on.
#[utoipa::path(delete, path = "/2.0/appointments/feeds/{feed_id}", tag = "appointments", security(("bearer" = ["appointments:write"])),
    params(FeedIdParameter),
    responses((status = 200, description = "The feed is gone", body = Envelope<Deleted>),
        (status = 404, description = "`appointment_feed_not_found`")))]
async fn delete_appointment_feed(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let feed = call.target::<AppointmentFeedId>(Code::APPOINTMENT_FEED_NOT_FOUND)?;
        let id = feed.id;
        appointments::delete_feed(session, &call.caller, feed).await?;
        Reply::deleted(id.get())
    })
    .await
}

parameters! {
    path FeedIdParameter;

    /// Feed id.
    feed_id: i64;
}

/// A feed to be created.
#[derive(Deserialize, ToSchema)]
#[schema(as = AppointmentFeedBody, example = json!({"name": "Sales", "details": "busy"}))]
struct FeedBody {
    /// Its name, which calendars show.
    #[serde(default)]
    #[schema(value_type = Line, required, pattern = r"\S")]
    name: Field<Line>,
    /// The id of the calendar whose appointments it shows; all by default.
    #[serde(default)]
    #[schema(value_type = Option<Line>)]
    calendar: Field<Line>,
    /// The staff user whose appointments it shows; all by default.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    staff: Field<i64>,
    /// busy (the default): the times alone; full: type, vehicle and visitor's name too.
    #[serde(default)]
    #[schema(value_type = Option<FeedDetails>)]
    details: Field<FeedDetails>,
}

impl FeedBody {
    fn read(self) -> Result<NewFeed, ValidationErrors> {
        let Self {
            name,
            calendar,
            staff,
            details,
        } = self;
        let mut form = Form::new();
        let name = form.required("name", name);
        let name = form.validated("name", name, |name| {
            if name.trim().is_empty() {
                Err("must not be empty")
            } else if has_line_break(&name) {
                Err("must not have line breaks")
            } else {
                Ok(name.into_string())
            }
        });
        let calendar = form.optional("calendar", calendar).map(Line::into_string);
        let staff = form.optional("staff", staff).map(StaffId::new);
        let details = form.optional("details", details).unwrap_or_default();
        form.finish_found(name.map(|name| NewFeed {
            name,
            calendar,
            staff,
            details,
        }))
    }
}
