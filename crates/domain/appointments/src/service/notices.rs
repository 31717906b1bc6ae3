//! The mails that appointments cause.

use forecourt_accounts::{Business, Caller, MailContent};
use forecourt_kernel::{
    AppointmentId, Attachment, Clock, ContactId, Mail, StaffId, StoreError, Target, Timestamp, ValidationErrors,
    VehicleId,
};

use crate::{
    AgendaFilter, Appointment, AppointmentContent, AppointmentError, AppointmentReader, AppointmentStore,
    appointment::booking_type,
    ical::{self, Method},
    mails::{AppointmentBooked, AppointmentCancelled, AppointmentChanged, AppointmentReminder, AppointmentVehicleSold},
};

/// The booking types whose appointments are pointless without the vehicle.
const NEEDS_VEHICLE: [&str; 2] = ["test_drive", "viewing"];
/// The appointments that one mail lists.
const MAX_LISTED: u32 = 200;

/// The occasion of a mail to the visitor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Occasion {
    Booked,
    Changed,
    Cancelled,
    Reminder,
}

impl Occasion {
    /// Returns the occasion of a change, if the visitor is told of it.
    pub(crate) fn of_change(before: &AppointmentContent, after: &AppointmentContent) -> Option<Self> {
        let shown = |content: &AppointmentContent| {
            (
                content.start,
                content.end,
                content.location.clone(),
                content.kind.clone(),
                content.staff.clone(),
            )
        };
        (shown(before) != shown(after)).then_some(Self::Changed)
    }

    const fn method(self) -> Method {
        match self {
            Self::Booked | Self::Changed | Self::Reminder => Method::Request,
            Self::Cancelled => Method::Cancel,
        }
    }
}

/// Returns the names of staff users, as far as the business has them.
fn names(business: &Business, staff: &[StaffId]) -> String {
    let known = staff
        .iter()
        .filter_map(|id| business.catalogue.staff.iter().find(|user| user.id == *id));
    let names: Vec<&str> = known.map(|user| user.name.as_str()).collect();
    names.join(", ")
}

/// Returns the name of the appointment's vehicle, if it has one that is not deleted.
async fn vehicle_of(
    store: &mut (impl AppointmentReader + ?Sized),
    business: &Business,
    content: &AppointmentContent,
) -> Result<Option<String>, StoreError> {
    match content.vehicle {
        Some(vehicle) => store.vehicle_title(business.id, vehicle).await,
        None => Ok(None),
    }
}

/// Makes the mail to the visitor, with the appointment as a calendar's entry.
async fn mail(
    store: &mut (impl AppointmentReader + ?Sized),
    business: &Business,
    host: &str,
    appointment: &Appointment,
    occasion: Occasion,
) -> Result<Mail, StoreError> {
    let content = &appointment.content;
    let vehicle = vehicle_of(store, business, content).await?;
    let zone = business.time_zone();
    let (start, end) = (zone.show(content.start), zone.show(content.end));
    let staff = names(business, &content.staff);
    let kind = booking_type(business, &content.kind).map_or(&*content.kind, |kind| &*kind.name);
    macro_rules! filled {
        ($kind:ident) => {
            to(
                business,
                &content.email,
                &$kind {
                    name: &content.name,
                    business: &business.name,
                    kind,
                    start: &start,
                    end: &end,
                    location: &content.location,
                    vehicle: vehicle.as_deref().unwrap_or_default(),
                    staff: &staff,
                    reason: &content.cancel_reason,
                },
            )
        };
    }
    let mut mail = match occasion {
        Occasion::Booked => filled!(AppointmentBooked),
        Occasion::Changed => filled!(AppointmentChanged),
        Occasion::Cancelled => filled!(AppointmentCancelled),
        Occasion::Reminder => filled!(AppointmentReminder),
    };
    let method = occasion.method();
    let calendar = ical::write(appointment, business, host, vehicle.as_deref(), method);
    mail.attachments.push(Attachment {
        name: "appointment.ics".to_owned(),
        media_type: format!("text/calendar; charset=utf-8; method={}", method.name()),
        content: calendar.into_bytes().into(),
    });
    mail.contact = content.contact;
    Ok(mail)
}

fn to(business: &Business, address: &str, content: &impl MailContent) -> Mail {
    business.mail(address, content)
}

/// Queues the mail to the visitor, if there is an address.
pub(crate) async fn notify(
    store: &mut dyn AppointmentStore,
    business: &Business,
    host: &str,
    appointment: &Appointment,
    occasion: Occasion,
    now: Timestamp,
) -> Result<(), StoreError> {
    if appointment.content.email.is_empty() {
        return Ok(());
    }
    let mail = mail(store, business, host, appointment, occasion).await?;
    store.queue_mail(business.id, mail, now).await
}

/// Returns the mail that shows the visitor the present state of an appointment. The caller sends it.
///
/// # Errors
/// [`AppointmentError::NotFound`], then [`AppointmentError::VersionMismatch`]; [`AppointmentError::Invalid`] for `email` without an
/// address; [`AppointmentError::Store`].
pub async fn notice_of(
    store: &mut dyn AppointmentReader,
    by: &Caller,
    host: &str,
    id: impl Into<Target<AppointmentId>>,
) -> Result<(Appointment, Mail), AppointmentError> {
    let Target { id, precondition } = id.into();
    let appointment = super::read_appointment(store, by, id).await?;
    precondition.check(appointment.version)?;
    if appointment.content.email.is_empty() {
        return Err(ValidationErrors::one("email", "is needed: the visitor has no address").into());
    }
    let mail = mail(store, &by.business, host, &appointment, Occasion::Booked).await?;
    Ok((appointment, mail))
}

/// Returns an appointment as a calendar with one entry.
///
/// # Errors
/// [`AppointmentError::NotFound`], [`AppointmentError::Store`].
pub async fn write_calendar(
    store: &mut dyn AppointmentReader,
    by: &Caller,
    host: &str,
    id: AppointmentId,
) -> Result<(Appointment, String), AppointmentError> {
    let appointment = super::read_appointment(store, by, id).await?;
    let vehicle = vehicle_of(store, &by.business, &appointment.content).await?;
    let calendar = ical::write(&appointment, &by.business, host, vehicle.as_deref(), Method::Publish);
    Ok((appointment, calendar))
}

/// Reminds the visitor of an appointment, unless the reminder is no longer due. It goes once, since the appointment is locked and
/// notes it in the same transaction.
///
/// # Errors
/// [`AppointmentError::Store`].
pub async fn remind(
    store: &mut dyn AppointmentStore,
    clock: &dyn Clock,
    business: &Business,
    host: &str,
    id: AppointmentId,
) -> Result<(), AppointmentError> {
    let now = clock.now();
    let Some(stored) = store.lock_appointment(business.id, id).await? else {
        return Ok(());
    };
    if stored.remind_at.is_none_or(|at| at > now) {
        return Ok(());
    }
    let content = &stored.content;
    let goes = content.status.is_awaited() && content.start > now && !content.email.is_empty();
    if goes {
        notify(store, business, host, &stored, Occasion::Reminder, now).await?;
    }
    let reminded = Appointment {
        remind_at: None,
        reminded: goes.then_some(now).or(stored.reminded),
        ..stored
    };
    Ok(store.save_appointment(business.id, &reminded).await?)
}

/// Tells the business of the coming test drives and viewings of a vehicle that was sold, to `buyer` if to a contact, or deleted. The
/// buyer's own are left out. `title` is the name of the vehicle. The appointments stay.
///
/// # Errors
/// [`AppointmentError::Store`].
pub async fn tell_of_lost_vehicle(
    store: &mut dyn AppointmentStore,
    now: Timestamp,
    business: &Business,
    vehicle: VehicleId,
    title: &str,
    buyer: Option<ContactId>,
) -> Result<(), AppointmentError> {
    if business.email.is_empty() {
        return Ok(());
    }
    let filter = AgendaFilter {
        vehicle: Some(vehicle),
        ..AgendaFilter::between(now, Timestamp::from_epoch_seconds(i64::MAX))
    };
    let coming = store.agenda(business.id, &filter, None, MAX_LISTED).await?;
    let zone = business.time_zone();
    let concerned = coming.iter().filter(|Appointment { content, .. }| {
        content.status.takes_up()
            && content.start > now
            && NEEDS_VEHICLE.contains(&content.kind.as_str())
            && (content.contact.is_none() || content.contact != buyer)
    });
    let lines: Vec<String> = concerned
        .map(|Appointment { id, content, .. }| {
            let kind = booking_type(business, &content.kind).map_or(&*content.kind, |kind| &*kind.name);
            let name = content.name.split_whitespace().collect::<Vec<_>>().join(" ");
            let visitor = if name.is_empty() {
                String::new()
            } else {
                format!(", {name}")
            };
            format!("{}: {kind}{visitor} ({id})", zone.show(content.start))
        })
        .collect();
    if lines.is_empty() {
        return Ok(());
    }
    let mail = business.mail(
        &business.email,
        &AppointmentVehicleSold {
            business: &business.name,
            vehicle: title,
            number: &lines.len().to_string(),
            appointments: &lines.join("\n"),
        },
    );
    Ok(store.queue_mail(business.id, mail, now).await?)
}
