//! The agenda and free slots, over HTTP.

use forecourt_appointments::{self as appointments, AgendaFilter, SimpleAppointment, SlotQuery, Slots};
use forecourt_kernel::{Line, SiteId, StaffId, Timestamp, VehicleId};

use crate::{
    call::Call,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::{FieldsParameter, parameters},
    query::Query,
    reply::{Envelope, Reply},
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_read_agenda> read_agenda,
        self::<__path_list_slots> list_slots,
    ])
}

/// Read the agenda
///
/// All appointments that overlap a span of at most 62 days, but cancelled ones, by `start` and then by id: at most 5,000.
#[utoipa::path(get, path = "/2.0/appointments/agenda", tag = "appointments", security(("bearer" = ["appointments:read"])),
    params(AgendaParameters, FieldsParameter),
    responses((status = 200, description = "The appointments", body = Envelope<Vec<SimpleAppointment<'static>>>)))]
async fn read_agenda(call: Call) -> Result<Reply, ApiError> {
    let mut query = call.query();
    let fields = query.fields();
    let from = required_moment(&mut query, "from");
    let to = required_moment(&mut query, "to");
    let filter = AgendaFilter {
        calendar: query.parsed("calendar"),
        staff: query.integer("staff").map(StaffId::new),
        site: query.integer("site").map(SiteId::new),
        vehicle: query.integer("vehicle").map(VehicleId::new),
        ..AgendaFilter::between(from.unwrap_or(EPOCH), to.unwrap_or(EPOCH))
    };
    let filter = query.finish(filter)?;
    let mut session = call.read().await?;
    let agenda = appointments::read_agenda(session.as_mut(), &call.caller, &filter).await?;
    let agenda: Vec<SimpleAppointment<'_>> = agenda.iter().map(SimpleAppointment::from).collect();
    Reply::projected(&agenda, fields.as_ref())
}

const EPOCH: Timestamp = Timestamp::from_epoch_seconds(0);

fn moment(text: &str) -> Result<Timestamp, &'static str> {
    text.parse()
        .map(Timestamp::from_epoch_seconds)
        .map_err(|_| "must be a Unix timestamp")
}

fn required_moment(query: &mut Query<'_>, name: &str) -> Option<Timestamp> {
    query.required(name, moment)
}

parameters! {
    query AgendaParameters;

    /// The first moment of the span, epoch seconds; required.
    from: i64;
    /// The moment after its last one, epoch seconds, at most 62 days later; required.
    to: i64;
    /// In this calendar.
    calendar: Line;
    /// With this staff user.
    staff: i64;
    /// Filed under this site.
    site: i64;
    /// About this vehicle.
    vehicle: i64;
}

/// Find free slots
///
/// The times at which an appointment of this type can be booked without a conflict. `staff` of a slot lists those of the calendar
/// who are free.
#[utoipa::path(get, path = "/2.0/appointments/slots", tag = "appointments", security(("bearer" = ["appointments:read"])),
    params(SlotParameters, FieldsParameter),
    responses((status = 200, description = "The free slots", body = Envelope<Slots>)))]
async fn list_slots(call: Call) -> Result<Reply, ApiError> {
    let mut query = call.query();
    let fields = query.fields();
    let kind: Option<String> = query.required("type", str::parse);
    let wanted = SlotQuery {
        kind: kind.unwrap_or_default(),
        from: query.with("from", moment),
        to: query.with("to", moment),
        staff: query.integer("staff").map(StaffId::new),
        vehicle: query.integer("vehicle").map(VehicleId::new),
    };
    let wanted = query.finish(wanted)?;
    let mut session = call.read().await?;
    let slots = appointments::find_slots(session.as_mut(), call.clock().as_ref(), &call.caller, &wanted).await?;
    Reply::projected(&slots, fields.as_ref())
}

parameters! {
    query SlotParameters;

    /// The booking type's id; required.
    kind as "type": Line;
    /// The first moment at which a slot may begin, epoch seconds; now by default.
    from: i64;
    /// The moment before which slots begin, epoch seconds, at most 31 days later; 7 days by default.
    to: i64;
    /// The staff user who is to be free.
    staff: i64;
    /// The vehicle that is to be free.
    vehicle: i64;
}
