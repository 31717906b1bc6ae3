//! An enquiry desk: a small service of its own, on Forecourt's domain crates and on tables of its own.
//!
//! It takes enquiries from a website, links each to the person who sent it, and tells one receiver of every change by a signed
//! webhook. What a lead is, what makes one valid, what changes when, and what a webhook looks like comes from the domain crates. The
//! desk adds what they leave open: HTTP (this file), storage ([`store`]) and the sending ([`hooks`]).

pub mod hooks;
pub mod store;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use forecourt_accounts::{Business, Caller, Rules};
use forecourt_contacts::{ContactChanges, ContactError, create_contact, validate_new_contact};
use forecourt_kernel::{
    BoxError, BusinessId, Clock, ContactId, Cursor, LeadId, PageRequest, Position, ScopeSet, StoreError, Timestamp,
    Valid, ValidationErrors, View,
};
use forecourt_leads::{
    Lead, LeadChanges, LeadError, LeadFilter, LeadStatus, LeadStore, LeadView, SenderKeys, create_lead, list_leads,
    read_lead, update_lead, validate_lead,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;

pub use hooks::Receiver;
use store::{Database, Transaction};

/// The operator's settings.
pub struct Settings {
    /// The file of the database.
    pub database: PathBuf,
    /// The receiver of webhooks, if there is one.
    pub receiver: Option<Receiver>,
    /// The pause between a failed delivery and the next attempt.
    pub retry_after: Duration,
}

impl Settings {
    /// Settings with the usual pause between attempts.
    pub fn new(database: impl Into<PathBuf>, receiver: Option<Receiver>) -> Self {
        Self {
            database: database.into(),
            receiver,
            retry_after: Duration::from_secs(10),
        }
    }
}

/// The clock of the machine. The domain reads no clock: it asks this one.
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let seconds = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        Timestamp::from_epoch_seconds(i64::try_from(seconds).unwrap_or(i64::MAX))
    }
}

/// The state that the handlers share.
struct Desk {
    database: Database,
    /// The dealership, which may do everything at its own desk.
    by: Caller,
    /// Wakes the sender when something was committed.
    changed: Arc<Notify>,
}

/// Serves until it is stopped.
///
/// # Errors
/// The database cannot be opened, or the listener fails.
pub async fn serve(listener: TcpListener, settings: Settings) -> Result<(), BoxError> {
    let business = Business::new(BusinessId::new(1), "acme", "Acme Cars");
    let desk = Desk {
        database: Database::open(&settings.database)?,
        by: Caller::of(business, ScopeSet::all()),
        changed: Arc::new(Notify::new()),
    };
    if let Some(receiver) = settings.receiver {
        let sending = hooks::send(
            desk.database.clone(),
            receiver,
            Arc::clone(&desk.changed),
            settings.retry_after,
        );
        tokio::spawn(sending);
    }
    let routes = Router::new()
        .route("/enquiries", post(take_in).get(list))
        .route("/enquiries/{id}", get(show))
        .route("/enquiries/{id}/contact", post(link));
    Ok(axum::serve(listener, routes.with_state(Arc::new(desk))).await?)
}

/// `POST /enquiries`: takes an enquiry in as a new lead.
async fn take_in(State(desk): State<Arc<Desk>>, Json(said): Json<LeadChanges>) -> Result<Response, Refusal> {
    let said = Valid::new(said, |said| validate_lead(said, &desk.rules()))?;
    let mut store = desk.database.begin().await?;
    let lead = create_lead(&mut store, &SystemClock, &desk.by, said).await?;
    desk.commit(store)?;
    Ok((StatusCode::CREATED, desk.full(&lead)).into_response())
}

/// `GET /enquiries/{id}`: shows one.
async fn show(State(desk): State<Arc<Desk>>, Path(id): Path<i64>) -> Result<Json<Value>, Refusal> {
    let mut store = desk.database.begin().await?;
    let lead = read_lead(&mut store, &desk.by, LeadId::new(id)).await?;
    Ok(desk.full(&lead))
}

/// The query of a list.
#[derive(Deserialize)]
struct Listed {
    /// Lists only enquiries in the state of this code.
    status: Option<i64>,
    /// Lists enquiries older than the one of this id, which is the `next` of the previous page.
    before: Option<i64>,
}

/// `GET /enquiries`: lists enquiries, newest first.
async fn list(State(desk): State<Arc<Desk>>, Query(listed): Query<Listed>) -> Result<Json<Value>, Refusal> {
    let status = match listed.status {
        Some(code) => {
            Some(LeadStatus::from_code(code).ok_or_else(|| ValidationErrors::one("status", "must be 0 to 5"))?)
        }
        None => None,
    };
    let filter = LeadFilter {
        status,
        ..LeadFilter::default()
    };
    let page = PageRequest {
        position: Position::After(Cursor::at([listed.before.unwrap_or(i64::MAX)])),
        per_page: PageRequest::DEFAULT_PER_PAGE,
    };
    let mut store = desk.database.begin().await?;
    let page = list_leads(&mut store, &desk.by, &filter, &page).await?;
    let catalogue = &desk.by.business.catalogue;
    let leads: Vec<_> = page
        .items
        .iter()
        .map(|lead| LeadView::new(lead, View::Simple, catalogue))
        .collect();
    Ok(Json(
        json!({"enquiries": leads, "next": page.next.map(|last| last.id())}),
    ))
}

/// `POST /enquiries/{id}/contact`: links an enquiry to the contact that sent it, which is filed if it is not known yet. Done again, it
/// changes nothing.
async fn link(State(desk): State<Arc<Desk>>, Path(id): Path<i64>) -> Result<Json<Value>, Refusal> {
    let mut store = desk.database.begin().await?;
    let lead = read_lead(&mut store, &desk.by, LeadId::new(id)).await?;
    if lead.content.contact.is_some() {
        return Ok(desk.full(&lead));
    }
    let known = store
        .contacts_like(desk.by.business_id(), &SenderKeys::of(&lead.content))
        .await?;
    let contact = match known[..] {
        [only] => only.contact,
        // Nobody is known by these, or several are, and then none of them for certain.
        _ => desk.file(&mut store, &lead).await?,
    };
    let said: LeadChanges = serde_json::from_value(json!({"contact": contact}))?;
    let said = Valid::new(said, |said| validate_lead(said, &desk.rules()))?;
    let lead = update_lead(&mut store, &SystemClock, &desk.by, lead.id, said).await?;
    // The contact, the link and the events of both: all of it is there from now on, or none.
    desk.commit(store)?;
    Ok(desk.full(&lead))
}

impl Desk {
    fn rules(&self) -> Rules<'_> {
        Rules {
            business: &self.by.business,
            now: SystemClock.now(),
        }
    }

    /// Files the sender of an enquiry as a contact.
    async fn file(&self, store: &mut Transaction, lead: &Lead) -> Result<ContactId, Refusal> {
        let sender = &lead.content;
        let said: ContactChanges = serde_json::from_value(json!({
            "name": sender.name, "email": sender.email, "telephone": sender.phone, "mobile": sender.mobile,
        }))?;
        let said = Valid::new(said, |said| validate_new_contact(said, &self.rules()))?;
        Ok(create_contact(store, &SystemClock, &self.by, said).await?.id)
    }

    fn commit(&self, store: Transaction) -> Result<(), StoreError> {
        store.commit()?;
        self.changed.notify_one();
        Ok(())
    }

    fn full(&self, lead: &Lead) -> Json<Value> {
        Json(json!(LeadView::new(lead, View::Full, &self.by.business.catalogue)))
    }
}

/// A refused or failed request. Its transaction is dropped, and leaves nothing behind.
enum Refusal {
    /// The request is not valid; the faults are listed by field.
    Invalid(ValidationErrors),
    /// There is no such enquiry.
    NotFound,
    /// The desk failed. Callers learn no details.
    Failed(BoxError),
}

impl From<ValidationErrors> for Refusal {
    fn from(faults: ValidationErrors) -> Self {
        Self::Invalid(faults)
    }
}

impl From<LeadError> for Refusal {
    fn from(error: LeadError) -> Self {
        match error {
            LeadError::Invalid(faults) => Self::Invalid(faults),
            LeadError::NotFound(_) => Self::NotFound,
            // The use cases that refuse otherwise are not run here.
            error => Self::Failed(error.into()),
        }
    }
}

impl From<ContactError> for Refusal {
    fn from(error: ContactError) -> Self {
        match error {
            ContactError::Invalid(faults) => Self::Invalid(faults),
            error => Self::Failed(error.into()),
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<serde_json::Error> for Refusal {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Invalid(faults) => (
                StatusCode::UNPROCESSABLE_ENTITY,
                Json(json!({"faults": faults.as_slice()})),
            )
                .into_response(),
            Self::NotFound => (StatusCode::NOT_FOUND, "there is no such enquiry").into_response(),
            Self::Failed(error) => {
                eprintln!("a request failed: {error}");
                (StatusCode::INTERNAL_SERVER_ERROR, "something went wrong here").into_response()
            }
        }
    }
}
