//! The appointments of the sample dealership: this week and the next one.

use forecourt_accounts::{Business, Caller};
use forecourt_appointments::{
    AppointmentContent, AppointmentError, AppointmentStatus, FeedDetails, Hours, NewFeed, Span, create_feed,
    validate_feed,
};
use forecourt_dealership::Session;
use forecourt_kernel::{
    Clock, ContactId, PageRequest, Position, Random, ScopeSet, StoreError, Timestamp, Valid, VehicleId, View,
};
use forecourt_reference::{BookingType, LeadChannel, Weekday};
use forecourt_vehicles::{StatusChoice, VehicleFilter};

const DAY: i64 = 86_400;
const DAYS: i64 = 14;
const QUARTER: i64 = 15 * 60;
/// The appointments of each booking type on a day.
const A_DAY: usize = 2;
const CHANNELS: [LeadChannel; 4] = [
    LeadChannel::Website,
    LeadChannel::Phone,
    LeadChannel::Showroom,
    LeadChannel::Email,
];

/// Stores the appointments, with one cancelled and one whose visitor did not come, and two feeds.
pub(super) async fn load(
    session: &mut dyn Session,
    business: &Business,
    random: &dyn Random,
    clock: &dyn Clock,
) -> Result<(), StoreError> {
    let now = clock.now();
    let contacts = contacts(session, business).await?;
    let vehicles = vehicles(session, business).await?;
    for (place, (kind, start)) in begins(business, now).into_iter().enumerate() {
        let end = start.plus_seconds(i64::from(kind.duration_minutes) * 60);
        let status = match place {
            3 => AppointmentStatus::Cancelled,
            7 => AppointmentStatus::NoShow,
            _ if end <= now => AppointmentStatus::Completed,
            _ if start <= now => AppointmentStatus::Arrived,
            _ if place % 3 == 0 => AppointmentStatus::Confirmed,
            _ => AppointmentStatus::Booked,
        };
        let calendar = business.catalogue.calendar(&kind.calendar);
        let staff = calendar.map_or(&[][..], |calendar| &calendar.staff);
        let contact = contacts.get(place % contacts.len().max(1)).copied();
        let visitor = match contact {
            Some(contact) => session.visitor(business.id, contact).await?,
            None => None,
        };
        let (name, email, phone) =
            visitor.map_or_else(Default::default, |visitor| (visitor.name, visitor.email, visitor.phone));
        let needs_vehicle = matches!(kind.id.as_str(), "test_drive" | "viewing" | "collection");
        let vehicle = vehicles.get(place % vehicles.len().max(1)).filter(|_| needs_vehicle);
        let content = AppointmentContent {
            kind: kind.id.clone(),
            calendar: kind.calendar.clone(),
            status,
            contact,
            vehicle: vehicle.copied(),
            staff: staff.get(place % staff.len().max(1)).copied().into_iter().collect(),
            start,
            end,
            name,
            email,
            phone,
            source: CHANNELS[place % CHANNELS.len()],
            cancel_reason: match status {
                AppointmentStatus::Cancelled => "The visitor has bought elsewhere.".to_owned(),
                _ => String::new(),
            },
            ..AppointmentContent::blank()
        };
        // A sample sends no mail.
        session.insert_appointment(business.id, content, None, now).await?;
    }
    for (name, details) in [
        ("Busy times", FeedDetails::Busy),
        ("All appointments", FeedDetails::Full),
    ] {
        let feed = NewFeed {
            name: name.to_owned(),
            calendar: None,
            staff: None,
            details,
        };
        let feed = Valid::new(feed, |feed| validate_feed(feed, business)).map_err(failed)?;
        let by = Caller::of(business.clone(), ScopeSet::all());
        let made = create_feed(session, clock, random, &by, feed).await;
        made.map_err(|error| match error {
            AppointmentError::Store(error) => error,
            error => failed(error),
        })?;
    }
    Ok(())
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Other(error.into())
}

/// Returns the beginnings of appointments, type by type, on each day of both weeks. Those of one calendar follow each other.
fn begins(business: &Business, now: Timestamp) -> Vec<(&BookingType, Timestamp)> {
    let today = now.date();
    let since_monday = Weekday::ALL.iter().position(|day| *day == Weekday::from(today));
    let since_monday = i64::try_from(since_monday.unwrap_or_default()).unwrap_or_default();
    let monday = today.midnight().epoch_seconds() - since_monday * DAY;
    let mut begins = Vec::new();
    for day in 0..DAYS {
        let mut taken: Vec<(&str, i64)> = Vec::new();
        for kind in &business.catalogue.booking_types {
            let hours = Hours::of(business, business.catalogue.calendar(&kind.calendar));
            let length = i64::from(kind.duration_minutes) * 60;
            let mut booked = 0;
            for quarter in 0..DAY / QUARTER {
                let start = monday + day * DAY + quarter * QUARTER;
                let span = Span {
                    start,
                    end: start + length,
                };
                let is_free = taken
                    .iter()
                    .all(|(calendar, until)| *calendar != kind.calendar || *until <= start);
                if booked < A_DAY && is_free && hours.are_open(span) {
                    booked += 1;
                    taken.push((&kind.calendar, span.end + 2 * QUARTER));
                    begins.push((kind, Timestamp::from_epoch_seconds(start)));
                }
            }
        }
    }
    begins
}

const PAGE: PageRequest = PageRequest {
    position: Position::Number(1),
    per_page: 40,
};

async fn contacts(session: &mut dyn Session, business: &Business) -> Result<Vec<ContactId>, StoreError> {
    let page = session
        .contacts(business.id, &Default::default(), &PAGE, View::Simple)
        .await?;
    Ok(page.items.iter().map(|contact| contact.id).collect())
}

/// Returns vehicles for sale.
async fn vehicles(session: &mut dyn Session, business: &Business) -> Result<Vec<VehicleId>, StoreError> {
    let filter = VehicleFilter {
        status: "for-sale".parse::<StatusChoice>().ok(),
        ..VehicleFilter::default()
    };
    let page = session.vehicles(business.id, &filter, &PAGE).await?;
    Ok(page.items.iter().map(|vehicle| vehicle.id).collect())
}
