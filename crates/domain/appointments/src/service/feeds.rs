//! Feeds, to which calendars subscribe.

use forecourt_accounts::{Business, Caller};
use forecourt_kernel::{Clock, Page, PageRequest, Random, Target, Timestamp, Valid, ValidationErrors, Version};

use crate::{
    AgendaFilter, AppointmentError, AppointmentFeed, AppointmentFeedId, AppointmentReader, AppointmentStore,
    feed::{COMING_DAYS, FeedToken, MAX_FEEDS, NewFeed, PAST_DAYS},
    ical::FeedWriter,
};

const SECONDS_PER_DAY: i64 = 86_400;
/// The appointments that are read at once.
const AT_ONCE: u32 = 200;
/// The appointments of a feed: as many as two years of a busy dealership have, and not so many that one feed fills the memory.
const MAX_SHOWN: usize = 20_000;

/// Returns a page of the caller's feeds, newest first.
///
/// # Errors
/// [`AppointmentError::Store`].
pub async fn list_feeds(
    store: &mut dyn AppointmentReader,
    by: &Caller,
    page: &PageRequest,
) -> Result<Page<AppointmentFeed>, AppointmentError> {
    Ok(store.appointment_feeds(by.business_id(), page).await?)
}

/// Returns the faults of a new feed: a calendar or a staff user that the business does not have.
pub fn validate_feed(feed: &NewFeed, business: &Business) -> ValidationErrors {
    let mut faults = ValidationErrors::new();
    if let Some(calendar) = &feed.calendar
        && business.catalogue.calendar(calendar).is_none()
    {
        faults.add("calendar", "names no calendar of this business");
    }
    if let Some(staff) = feed.staff
        && !business.catalogue.has_staff(staff)
    {
        faults.add("staff", format!("names {staff}, who is no staff user of this business"));
    }
    faults
}

/// Creates a feed, validated by [`validate_feed`], and returns it with its token, which is shown this once.
///
/// # Errors
/// [`AppointmentError::Invalid`] for `feeds` if the business has as many as it can; [`AppointmentError::Store`].
pub async fn create_feed(
    store: &mut dyn AppointmentStore,
    clock: &dyn Clock,
    random: &dyn Random,
    by: &Caller,
    feed: Valid<NewFeed>,
) -> Result<(AppointmentFeed, FeedToken), AppointmentError> {
    let business = by.business_id();
    if store.count_feeds(business).await? >= MAX_FEEDS {
        let message = format!("there are {MAX_FEEDS} already; delete one first");
        return Err(ValidationErrors::one("feeds", message).into());
    }
    let token = FeedToken::draw(random);
    let feed = store
        .insert_feed(business, feed.into_inner(), &token.digest(), clock.now())
        .await?;
    Ok((feed, token))
}

/// Deletes a feed. It never changes, so its version is the first one.
///
/// # Errors
/// [`AppointmentError::FeedNotFound`], then [`AppointmentError::VersionMismatch`]; [`AppointmentError::Store`].
pub async fn delete_feed(
    store: &mut dyn AppointmentStore,
    by: &Caller,
    id: impl Into<Target<AppointmentFeedId>>,
) -> Result<(), AppointmentError> {
    let Target { id, precondition } = id.into();
    if !store.delete_feed(by.business_id(), id).await? {
        return Err(AppointmentError::FeedNotFound(id));
    }
    // Checked after the deletion, because a missing feed takes precedence. The transaction undoes the deletion.
    Ok(precondition.check(Version::FIRST)?)
}

/// Writes a feed as a calendar, as of `now`.
///
/// # Errors
/// [`AppointmentError::Store`].
pub async fn write_feed(
    store: &mut dyn AppointmentReader,
    now: Timestamp,
    business: &Business,
    host: &str,
    feed: &AppointmentFeed,
) -> Result<String, AppointmentError> {
    let NewFeed {
        name,
        calendar,
        staff,
        details,
    } = &feed.content;
    let filter = AgendaFilter {
        calendar: calendar.clone(),
        staff: *staff,
        with_cancelled: true,
        ..AgendaFilter::between(
            now.plus_seconds(-PAST_DAYS * SECONDS_PER_DAY),
            now.plus_seconds(COMING_DAYS * SECONDS_PER_DAY),
        )
    };
    let mut writer = FeedWriter::new(business, host, name, *details);
    let (mut after, mut count) = (None, 0);
    while count < MAX_SHOWN {
        let part = store.agenda(business.id, &filter, after, AT_ONCE).await?;
        let Some(last) = part.last() else { break };
        after = Some((last.content.start, last.id));
        count += part.len();
        for appointment in &part {
            let vehicle = writer.vehicle_of(appointment);
            let title = match vehicle {
                Some(id) if !writer.knows(id) => store.vehicle_title(business.id, id).await?,
                _ => None,
            };
            writer.add(appointment, title);
        }
    }
    Ok(writer.finish())
}
