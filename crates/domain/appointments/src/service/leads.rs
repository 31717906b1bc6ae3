//! A lead's list of appointments. It is a set of its own, and changes neither the lead nor the appointment.

use forecourt_accounts::Caller;
use forecourt_kernel::{AppointmentId, Clock, LeadId, Page, PageRequest, StoreError, Target, ValidationErrors};

use crate::{Appointment, AppointmentError, AppointmentReader, AppointmentStore};

/// Returns a page of a lead's appointments, newest first.
///
/// # Errors
/// [`AppointmentError::LeadNotFound`], [`AppointmentError::Store`].
pub async fn list_lead_appointments(
    store: &mut dyn AppointmentReader,
    by: &Caller,
    lead: LeadId,
    page: &PageRequest,
) -> Result<Page<Appointment>, AppointmentError> {
    let appointments = store.lead_appointments(by.business_id(), lead, page).await?;
    appointments.ok_or(AppointmentError::LeadNotFound(lead))
}

/// Checks that the caller's business has the appointment that a lead's list is to have.
///
/// # Errors
/// If storage fails. Faults are returned, not errors.
pub async fn validate_lead_appointment(
    store: &mut dyn AppointmentReader,
    by: &Caller,
    appointment: AppointmentId,
) -> Result<ValidationErrors, StoreError> {
    Ok(match store.appointment(by.business_id(), appointment).await? {
        Some(_) => ValidationErrors::new(),
        None => ValidationErrors::one("appointment", "names no appointment of this business"),
    })
}

/// Adds an appointment to a lead's list, and returns it.
///
/// # Errors
/// [`AppointmentError::Invalid`] if the business lacks the appointment, then [`AppointmentError::LeadNotFound`], then
/// [`AppointmentError::VersionMismatch`] of the lead, then [`AppointmentError::LeadDuplicate`]; [`AppointmentError::Store`].
pub async fn add_lead_appointment(
    store: &mut dyn AppointmentStore,
    clock: &dyn Clock,
    by: &Caller,
    lead: impl Into<Target<LeadId>>,
    appointment: AppointmentId,
) -> Result<Appointment, AppointmentError> {
    let (business, Target { id: lead, precondition }) = (by.business_id(), lead.into());
    let found = store.appointment(business, appointment).await?;
    let found = found.ok_or_else(|| ValidationErrors::one("appointment", "names no appointment of this business"))?;
    let version = store.lead_version(business, lead).await?;
    precondition.check(version.ok_or(AppointmentError::LeadNotFound(lead))?)?;
    let now = clock.now();
    if !store.add_lead_appointment(business, lead, appointment, now).await? {
        return Err(AppointmentError::LeadDuplicate(appointment));
    }
    Ok(found)
}

/// Takes an appointment off a lead's list.
///
/// # Errors
/// [`AppointmentError::LeadNotFound`], then [`AppointmentError::NotOnLead`], then [`AppointmentError::VersionMismatch`] of the lead;
/// [`AppointmentError::Store`].
pub async fn remove_lead_appointment(
    store: &mut dyn AppointmentStore,
    by: &Caller,
    lead: impl Into<Target<LeadId>>,
    appointment: AppointmentId,
) -> Result<(), AppointmentError> {
    let (business, Target { id: lead, precondition }) = (by.business_id(), lead.into());
    let version = store.lead_version(business, lead).await?;
    let version = version.ok_or(AppointmentError::LeadNotFound(lead))?;
    if !store.remove_lead_appointment(business, lead, appointment).await? {
        return Err(AppointmentError::NotOnLead(appointment));
    }
    // Checked after the removal, because a missing appointment takes precedence. The transaction undoes the removal.
    Ok(precondition.check(version)?)
}

/// Checks that the lead exists, for a path whose appointment cannot be one.
///
/// # Errors
/// [`AppointmentError::LeadNotFound`], [`AppointmentError::Store`].
pub async fn require_lead(
    store: &mut dyn AppointmentReader,
    by: &Caller,
    lead: LeadId,
) -> Result<(), AppointmentError> {
    let known = store.contact_of_lead(by.business_id(), lead).await?;
    known.map(drop).ok_or(AppointmentError::LeadNotFound(lead))
}
