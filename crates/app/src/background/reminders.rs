//! Reminds visitors of their appointments.

use std::sync::Arc;

use forecourt_appointments::{AppointmentError, AppointmentId, DueReminder, remind};
use forecourt_dealership::Session;
use forecourt_kernel::{BusinessId, Clock, StoreError, Timestamp};

use super::due::DueWork;

#[derive(Clone)]
pub(super) struct Reminders {
    /// The public host of the server.
    host: Arc<str>,
}

impl Reminders {
    pub(super) fn new(host: &str) -> Self {
        Self { host: host.into() }
    }
}

impl DueWork for Reminders {
    const NAME: &'static str = "reminders";
    type Id = AppointmentId;
    type Error = AppointmentError;

    async fn due(
        session: &mut dyn Session,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<(BusinessId, AppointmentId)>, StoreError> {
        let due = session.due_reminders(now, limit).await?;
        Ok(due
            .into_iter()
            .map(|DueReminder { business, appointment }| (business, appointment))
            .collect())
    }

    async fn perform(
        &self,
        session: &mut dyn Session,
        clock: &dyn Clock,
        business: BusinessId,
        appointment: AppointmentId,
    ) -> Result<(), AppointmentError> {
        match session.business(business).await? {
            Some(business) => remind(session, clock, &business, &self.host, appointment).await,
            // The business was deleted a moment ago, and the appointment with it.
            None => Ok(()),
        }
    }
}
