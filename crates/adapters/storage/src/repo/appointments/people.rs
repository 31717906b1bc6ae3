//! People's data in appointments, and its erasure.

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_accounts::Business;
use forecourt_appointments::{Appointment, AppointmentError, forget_person_in_appointment, forget_person_in_event};
use forecourt_kernel::{BusinessId, Person, PersonKeys, StoreResult};
use serde_json::Value;

use super::super::people::{APPOINTMENT, OF_APPOINTMENTS, PersonalArea, note_linked};
use super::super::session::{Session, Write};
use super::{AppointmentRow, appointments};
use crate::error::other;
use crate::personal::{
    Erasure::{Cleared, Kept, Redacted},
    PersonalTable, held, table, withheld,
};
use crate::statement::RunQueryDsl;

pub(in super::super) const TABLES: &[PersonalTable] = &[
    table(
        "appointments",
        &[
            // The visitor's name, email and number are cleared where they are theirs, the texts redacted.
            held("document", "appointments", Redacted),
            held("contact", "appointments", Cleared),
        ],
        &[
            "id",
            "business_id",
            "version",
            "created",
            "updated",
            "site",
            "kind",
            "calendar",
            "status",
            "source",
            "starts",
            "ends",
            "lead",
            "vehicle",
            "deal",
            "staff",
            "reminded",
            "remind_at",
        ],
    ),
    table("appointment_staff", &[], &["business_id", "staff", "appointment_id"]),
    table(
        "lead_appointments",
        &[],
        &["business_id", "lead_id", "appointment_id", "created"],
    ),
    table(
        "appointment_feeds",
        &[withheld(
            "name",
            "a name that the dealership gives to a calendar",
            Kept("it names a calendar"),
        )],
        &["id", "business_id", "created", "calendar", "staff", "details", "digest"],
    ),
];

/// The appointments of a contact, and those with text that is certainly about the person.
pub(in super::super) struct Appointments;

#[async_trait]
impl PersonalArea for Appointments {
    fn kind(&self) -> i32 {
        APPOINTMENT
    }

    fn answers(&self) -> Option<i32> {
        Some(APPOINTMENT)
    }

    async fn note(&self, session: &mut Session<Write>, business: BusinessId, keys: &mut PersonKeys) -> StoreResult<()> {
        let by = keys.contact().get();
        let linked = appointments::contact.assume_not_null().eq(by);
        note_linked!(session, business, keys, APPOINTMENT, appointments, created, linked).map(drop)
    }

    fn table(&self) -> &'static str {
        "appointments"
    }

    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: &Business,
        id: i64,
        person: &Person,
    ) -> StoreResult<()> {
        let now = session.dependencies.clock.now();
        // As it is stored: what it reads of the contact is gone already.
        let row: Option<AppointmentRow> = appointments::table
            .find((business.id.get(), id))
            .select(AppointmentRow::as_select())
            .get_optional(session.conn().await?)
            .await?;
        let Some(row) = row else { return Ok(()) };
        let stored = Appointment::try_from(row)?;
        let forgotten = forget_person_in_appointment(session, now, business.id, stored, person).await;
        forgotten.map_err(|error| match error {
            AppointmentError::Store(error) => error,
            error => other(error),
        })
    }

    fn event_condition(&self) -> Option<&'static str> {
        Some(OF_APPOINTMENTS)
    }

    fn forget_in_event(&self, shown: &mut Value, person: &Person) -> bool {
        let appointment = shown.as_object_mut();
        appointment.is_some_and(|appointment| forget_person_in_event(appointment, person))
    }
}
