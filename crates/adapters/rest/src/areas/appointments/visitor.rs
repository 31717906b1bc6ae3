//! Notices to visitors, and appointments as calendars, over HTTP.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use forecourt_appointments::{self as appointments, Appointment, AppointmentError, CALENDAR_MEDIA_TYPE};
use forecourt_dealership::Session;
use forecourt_kernel::{AppointmentId, BoxError};
use serde::Serialize;
use utoipa::ToSchema;

use super::id::IdParameter;
use crate::{
    call::Call,
    code::Code,
    detach::run_to_completion,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::FieldsParameter,
    record::OfContact,
    reply::{Envelope, Reply},
    write::Prepared,
};

/// The maximum time for a mail to be handed over while a request waits.
const SEND_TIMEOUT: Duration = Duration::from_secs(15);

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_notify_visitor> notify_visitor,
        self::<__path_read_calendar> read_calendar { alternative: Some("text/calendar") },
    ])
}

/// Notify the visitor of an appointment
///
/// Mails the present state with a calendar's entry, before it answers.
#[utoipa::path(post, path = "/2.0/appointments/{id}/notify", tag = "appointments", security(("bearer" = ["appointments:write"])),
    params(IdParameter),
    responses((status = 200, description = "The mail was sent", body = Envelope<Notified>),
        (status = 404, description = "`appointment_not_found`"),
        (status = 500, description = "`appointment_notify_failed`")))]
async fn notify_visitor(call: Call) -> Result<Reply, ApiError> {
    // Otherwise a caller who disconnects while the mail is being sent would have a retry send it again.
    run_to_completion(async move { send_notice(&call).await }).await
}

/// Sends the mail, then stores the answer.
async fn send_notice(call: &Call) -> Result<Reply, ApiError> {
    let composed = call.prepare(async |session: &mut dyn Session| {
        let id = call.target::<AppointmentId>(Code::APPOINTMENT_NOT_FOUND)?;
        let notice = appointments::notice_of(session, &call.caller, call.host(), id).await?;
        call.claim_mail(session, not_sent).await?;
        Ok(notice)
    });
    let (appointment, mail) = match composed.await? {
        Prepared::Done(notice) => notice,
        Prepared::Answered(reply) => return Ok(reply),
    };
    // The mail is sent while no transaction is open.
    let sent = call.send_mail(mail, SEND_TIMEOUT).await;
    let held = sent.map_err(not_sent)?;
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        call.queue_held_mail(session, held.as_ref()).await?;
        call.ok(&OfContact {
            contact: appointment.content.contact,
            view: Notified {
                id: appointment.id.get(),
                email: appointment.content.email.clone(),
                notified: true,
            },
        })
    })
    .await
}

fn not_sent(cause: BoxError) -> ApiError {
    AppointmentError::NotifyFailed(cause).into()
}

/// The answer to a notice.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = AppointmentNotified)]
struct Notified {
    /// Appointment id.
    id: i64,
    /// The address that the mail went to.
    email: String,
    /// Always true.
    notified: bool,
}

/// Download an appointment as a calendar
///
/// An iCalendar file with one entry, for callers who prefer `text/calendar`; for others a document with the file in base64.
#[utoipa::path(get, path = "/2.0/appointments/{id}/ics", tag = "appointments", security(("bearer" = ["appointments:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "The calendar", content(
            (Envelope<CalendarDownload> = "application/json"), (String = "text/calendar"))),
        (status = 404, description = "`appointment_not_found`")))]
async fn read_calendar(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id = call.id(Code::APPOINTMENT_NOT_FOUND)?;
    let mut session = call.read().await?;
    let (Appointment { id, .. }, calendar) =
        appointments::write_calendar(session.as_mut(), &call.caller, call.host(), id).await?;
    let name = format!("appointment-{id}.ics");
    if call.wants_alternative {
        return Ok(Reply::file(calendar.into_bytes(), CALENDAR_MEDIA_TYPE, name));
    }
    let download = CalendarDownload {
        id: id.to_string(),
        name,
        extension: "ics",
        mime: "text/calendar",
        size: calendar.len(),
        encoding: "base64",
        content: BASE64_STANDARD.encode(&calendar),
    };
    Reply::projected(&download, fields.as_ref())
}

/// An appointment as a file.
#[derive(Serialize, ToSchema)]
#[schema(as = AppointmentDownload)]
struct CalendarDownload {
    /// Appointment id.
    id: String,
    /// The name of the file.
    name: String,
    /// The usual ending of the names of such files.
    extension: &'static str,
    /// The media type.
    mime: &'static str,
    /// The length of the file in bytes.
    size: usize,
    /// The encoding of the content: base64.
    encoding: &'static str,
    /// The file.
    #[schema(content_encoding = "base64", max_length = 1_048_576)]
    content: String,
}
