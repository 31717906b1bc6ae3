//! What a contact's deletion takes with it: see [`ContactStore::erase_contact`](forecourt_contacts::ContactStore).
//!
//! It goes in parts, each a small transaction. The first one is the deletion's own, and for most contacts the only one; what it
//! leaves is noted in `deletions`, for the background work that goes on with it. A part ends when its [`Part`] is spent, and the
//! next one takes up the [`Stage`] that it was in.
//!
//! The contact's former names, emails and numbers are read from its own events, which are emptied meanwhile. Then the leads
//! and vehicles that named it are cleaned, and next what shows them elsewhere: their events, and stored answers about them.
//! These come after all records, since a transaction that changes a record holds its lock, and what it wrote is there once the
//! record is cleaned.

use std::collections::HashMap;

use diesel::dsl::sql;
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Text};
use forecourt_accounts::{Business, IdempotencyKey};
use forecourt_contacts::Contact;
use forecourt_dealership::DeletionKind;
use forecourt_invoices::{InvoiceError, InvoiceId, InvoiceReader as _, forget_person_in_invoice};
use forecourt_kernel::{
    BusinessId, ContactId, EventName, LeadId, Person, PersonKeys, StoreError, StoreResult, Timestamp,
};
use forecourt_leads::{
    Lead, LeadError, LeadMessage, LeadNote, forget_person_in_lead, forget_person_in_lead_note,
    forget_person_in_message, forget_suggestion_in_lead,
};
use forecourt_vehicles::{TestDriveId, Vehicle, VehicleError, forget_person_in_drive, forget_person_in_vehicle};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::invoices::invoices;
use super::super::session::Writing;
use super::super::vehicles::drives::vehicle_drives;
use super::super::vehicles::{bring_up_to_date, drives};
use super::super::{accounts, dialect, idempotency, list, webhooks as log};
use super::{LEAD, VEHICLE, count_writes, of_contacts};
use crate::error::{other, store_error};
use crate::models::{ERASURE, LeadMessageRow, LeadNoteRow, LeadRow, VehicleRow};
use crate::schema::{
    contacts, deletions, erasure_records, events, idempotency_keys, lead_messages, lead_notes, leads, mails,
    vehicle_customers, vehicles, webhook_deliveries,
};
use crate::statement::RunQueryDsl;

/// How many deliveries are named in one statement.
const NAMED_AT_ONCE: usize = 500;

/// How many events, answers or mails one statement reads at most.
const READ_AT_ONCE: i64 = 100;

/// What an entry of `erasure_records` is beside a [`LEAD`] and a [`VEHICLE`].
const INVOICE: i32 = 3;
const DRIVE: i32 = 4;
/// A lead that is linked to no contact, and that the contact is suggested for.
const SUGGESTED: i32 = 5;

define_sql_function! {
    /// How long a text is in bytes, found out without reading it.
    fn octet_length(text: Text) -> Integer;
}

/// That an event is about a vehicle: word for word the condition of the index `events_of_vehicle`.
fn of_vehicles() -> SqlLiteral<Bool> {
    sql::<Bool>("substr(events.name, 1, 8) = 'vehicle.'")
}

/// That an event is about an invoice: word for word the condition of the index `events_of_invoice`.
fn of_invoices() -> SqlLiteral<Bool> {
    sql::<Bool>("substr(events.name, 1, 8) = 'invoice.'")
}

/// That an event reports a lead's change: word for word the condition of the index `events_of_changed_lead`.
fn of_changed_leads() -> SqlLiteral<Bool> {
    sql::<Bool>("events.name = 'lead.updated'")
}

/// How much one transaction may still look at, and what it has changed.
struct Part {
    records: i64,
    bytes: i64,
    /// The events that it has changed.
    changed: Vec<i64>,
}

impl Part {
    /// What fits into the deletion's own transaction, which on SQLite every other writer waits for.
    const OWN: Self = Self::of(100, 256 * 1024);
    /// What the background does at once, which they wait for as well.
    const BACKGROUND: Self = Self::of(20, 256 * 1024);

    const fn of(records: i64, bytes: i64) -> Self {
        Self {
            records,
            bytes,
            changed: Vec::new(),
        }
    }

    const fn is_spent(&self) -> bool {
        self.records <= 0 || self.bytes <= 0
    }

    /// Those of some texts, by their lengths, that can still be looked at: one at least, so that there is an end to it.
    fn afford(&mut self, texts: &[(i64, i32)]) -> Vec<i64> {
        let mut chosen = Vec::new();
        for &(key, length) in texts {
            if self.bytes <= 0 {
                break;
            }
            self.bytes -= i64::from(length) + 64;
            chosen.push(key);
        }
        chosen
    }
}

/// An erasure that goes on: all that it takes to do so.
#[derive(Serialize, Deserialize)]
struct Erasure {
    keys: PersonKeys,
    /// The contact's own events from this one on are emptied.
    emptied: i64,
    stage: Stage,
}

/// A record that named the contact; the first one has [`At::START`] before it.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct At {
    kind: i32,
    record: i64,
}

impl At {
    const START: Self = Self { kind: 0, record: 0 };
}

/// What comes next.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// To learn what the contact was called before.
    Learn,
    /// To clean the records after this one.
    Clean(At),
    /// To look for what shows the records after this one.
    Next(At),
    /// To clean this lead's messages after that one.
    Messages(At, i64),
    /// To clean this lead's notes after that one.
    Notes(At, i64),
    /// To clean this record's events after that number.
    Events(At, i64),
    /// To empty the stored answers about this record.
    Answers(At),
    /// To empty the stored answers that show the contact.
    OwnAnswers,
    /// To clean the waiting mails after this one.
    Mails(i64),
    /// To forget which records named the contact.
    Forget,
    /// Nothing.
    Done,
}

impl Erasure {
    fn of(contact: &Contact) -> Self {
        let content = &contact.content;
        let mut keys = PersonKeys::new(contact.id);
        keys.add_name(&content.name);
        keys.add_email(&content.email);
        keys.add_number(&content.telephone);
        keys.add_number(&content.mobile);
        let address = &content.address;
        for line in [&address.line1, &address.line2, &address.line3, &address.zip] {
            keys.add_address(line);
        }
        Self {
            keys,
            emptied: i64::MAX,
            stage: Stage::Learn,
        }
    }

    const fn contact(&self) -> ContactId {
        self.keys.contact()
    }
}

/// Adds what a representation of the contact shows.
fn add_shown(keys: &mut PersonKeys, shown: &Value) {
    let text = |place: &str| shown.pointer(place).and_then(Value::as_str).unwrap_or_default();
    keys.add_name(text("/data/name"));
    keys.add_email(text("/email"));
    for place in ["/data/telephone", "/data/mobile"] {
        keys.add_number(text(place));
    }
    for member in ["line1", "line2", "line3", "zip"] {
        keys.add_address(text(&format!("/data/address/{member}")));
    }
}

/// Names what the state of an erasure is encrypted for.
fn place(business: BusinessId, contact: ContactId) -> Vec<u8> {
    format!("erasure/{business}/{contact}").into_bytes()
}

/// Records that are locked, and how long their texts are.
struct Batch {
    records: Vec<(At, i32)>,
    /// Whether none come after them.
    last: bool,
}

impl Writing {
    /// Deletes a contact, and erases what is held on it elsewhere as far as one transaction goes.
    pub(super) async fn erase(&mut self, business: BusinessId, contact: &Contact) -> StoreResult<()> {
        // Transactions that link a lead to the contact are waited for, and no other can begin to.
        let row = contacts::table.find((business.get(), contact.id.get()));
        let _: Option<i64> = dialect::for_update!(row.select(contacts::id))
            .get_result(self.conn().await?)
            .await
            .optional()
            .map_err(store_error)?;
        self.note_records(business, contact.id).await?;
        let mut part = Part::OWN;
        let mut erasure = Erasure::of(contact);
        self.learn(business, &mut erasure, &mut part).await?;
        let batch = self.lock_batch(business, &erasure, &part).await?;
        count_writes(self.conn().await?, business, -1).await?;
        diesel::delete(row)
            .execute(self.conn().await?)
            .await
            .map_err(store_error)?;
        self.go_through(business, &mut erasure, batch, &mut part).await?;
        if erasure.stage == Stage::Done {
            return Ok(());
        }
        let state = self.sealed(business, &erasure)?;
        self.continue_later(business, DeletionKind::Contact, contact.id.get(), state)
            .await
    }

    /// Goes on with an erasure, whose entry in `deletions` the caller has locked; `false` if nothing is left of it.
    pub(in super::super) async fn erase_more(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        state: &[u8],
    ) -> StoreResult<bool> {
        let state = self.dependencies.cipher()?.open(state, &place(business, contact))?;
        let mut erasure: Erasure = serde_json::from_slice(&state).map_err(other)?;
        let mut part = Part::BACKGROUND;
        self.learn(business, &mut erasure, &mut part).await?;
        let batch = self.lock_batch(business, &erasure, &part).await?;
        if accounts::business(self.conn().await?, business).await?.is_none() {
            return Ok(false);
        }
        // Another erasure may look at the same events.
        self.lock_counters(business).await?;
        self.go_through(business, &mut erasure, batch, &mut part).await?;
        if erasure.stage == Stage::Done {
            return Ok(false);
        }
        let state = self.sealed(business, &erasure)?;
        diesel::update(deletions::table.find((business.get(), ERASURE, contact.get())))
            .set(deletions::state.eq(state))
            .execute(self.conn().await?)
            .await
            .map_err(store_error)?;
        Ok(true)
    }

    fn sealed(&self, business: BusinessId, erasure: &Erasure) -> StoreResult<Vec<u8>> {
        let state = serde_json::to_vec(erasure).map_err(other)?;
        let place = place(business, erasure.contact());
        self.dependencies
            .cipher()?
            .seal(&state, &place, self.dependencies.random.as_ref())
    }

    /// Notes which leads, invoices and test drives are linked to the contact, and which vehicles it has offered, funded or
    /// supplied, those that are deleted as well.
    async fn note_records(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<()> {
        let columns = (
            erasure_records::business_id,
            erasure_records::contact,
            erasure_records::kind,
            erasure_records::record,
            erasure_records::created,
        );
        let by = contact.get();
        macro_rules! note_leads {
            ($kind:expr, $column:ident) => {
                leads::table
                    .filter(leads::business_id.eq(business.get()))
                    .filter(leads::$column.assume_not_null().eq(by))
                    .select((
                        leads::business_id,
                        by.into_sql::<BigInt>(),
                        $kind.into_sql::<Integer>(),
                        leads::id,
                        leads::created,
                    ))
                    .insert_into(erasure_records::table)
                    .into_columns(columns)
                    .execute(self.conn().await?)
                    .await
                    .map_err(store_error)?;
            };
        }
        note_leads!(LEAD, contact);
        note_leads!(SUGGESTED, suggested);
        let named = vehicles::contact
            .assume_not_null()
            .eq(by)
            .or(vehicles::funder.assume_not_null().eq(by))
            .or(vehicles::supplier.assume_not_null().eq(by));
        vehicles::table
            .filter(vehicles::business_id.eq(business.get()))
            .filter(named)
            .select((
                vehicles::business_id,
                by.into_sql::<BigInt>(),
                VEHICLE.into_sql::<Integer>(),
                vehicles::id,
                vehicles::created,
            ))
            .insert_into(erasure_records::table)
            .into_columns(columns)
            .execute(self.conn().await?)
            .await
            .map_err(store_error)?;
        self.note_bought(business, contact).await?;
        invoices::table
            .filter(invoices::business_id.eq(business.get()))
            .filter(invoices::customer.assume_not_null().eq(by))
            .select((
                invoices::business_id,
                by.into_sql::<BigInt>(),
                INVOICE.into_sql::<Integer>(),
                invoices::id,
                invoices::created,
            ))
            .insert_into(erasure_records::table)
            .into_columns(columns)
            .execute(self.conn().await?)
            .await
            .map_err(store_error)?;
        vehicle_drives::table
            .filter(vehicle_drives::business_id.eq(business.get()))
            .filter(vehicle_drives::contact.assume_not_null().eq(by))
            .select((
                vehicle_drives::business_id,
                by.into_sql::<BigInt>(),
                DRIVE.into_sql::<Integer>(),
                vehicle_drives::id,
                vehicle_drives::started,
            ))
            .insert_into(erasure_records::table)
            .into_columns(columns)
            .execute(self.conn().await?)
            .await
            .map(drop)
            .map_err(store_error)
    }

    /// Notes which vehicles the contact reserved or bought, beside those that are noted.
    async fn note_bought(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<()> {
        let bought = vehicle_customers::table
            .filter(vehicle_customers::business_id.eq(business.get()))
            .filter(vehicle_customers::contact.eq(contact.get()));
        let mut ids: Vec<i64> = bought
            .select(vehicle_customers::vehicle)
            .load(self.conn().await?)
            .await
            .map_err(store_error)?;
        if ids.is_empty() {
            return Ok(());
        }
        let noted: Vec<i64> = erasure_records::table
            .filter(erasure_records::business_id.eq(business.get()))
            .filter(erasure_records::contact.eq(contact.get()))
            .filter(erasure_records::kind.eq(VEHICLE))
            .select(erasure_records::record)
            .load(self.conn().await?)
            .await
            .map_err(store_error)?;
        ids.retain(|id| !noted.contains(id));
        vehicles::table
            .filter(vehicles::business_id.eq(business.get()))
            .filter(vehicles::id.eq_any(ids))
            .select((
                vehicles::business_id,
                contact.get().into_sql::<BigInt>(),
                VEHICLE.into_sql::<Integer>(),
                vehicles::id,
                vehicles::created,
            ))
            .insert_into(erasure_records::table)
            .into_columns((
                erasure_records::business_id,
                erasure_records::contact,
                erasure_records::kind,
                erasure_records::record,
                erasure_records::created,
            ))
            .execute(self.conn().await?)
            .await
            .map_err(store_error)?;
        diesel::delete(bought)
            .execute(self.conn().await?)
            .await
            .map(drop)
            .map_err(store_error)
    }

    /// Learns from the contact's own events, the latest ones first, what it was called, and empties them. If it was called more
    /// than can be looked for at once, the rest is found when that is erased.
    async fn learn(&mut self, business: BusinessId, erasure: &mut Erasure, part: &mut Part) -> StoreResult<()> {
        if erasure.stage != Stage::Learn {
            return Ok(());
        }
        let contact = erasure.contact();
        while !erasure.keys.is_full() {
            let recorded: Vec<(i64, i32)> = events::table
                .filter(events::business_id.eq(business.get()))
                .filter(events::record.eq(contact.get()))
                .filter(of_contacts())
                .filter(events::sequence.lt(erasure.emptied))
                .order(events::sequence.desc())
                .limit(READ_AT_ONCE)
                .select((events::sequence, octet_length(events::data)))
                .load(self.conn().await?)
                .await
                .map_err(store_error)?;
            if recorded.is_empty() {
                erasure.emptied = 0;
                break;
            }
            let affordable = part.afford(&recorded);
            let Some(&last) = affordable.last() else {
                return Ok(());
            };
            for data in self.event_data(business, affordable.clone()).await?.into_values() {
                add_shown(&mut erasure.keys, &serde_json::from_str(&data).map_err(other)?);
            }
            let emptied = events::table
                .filter(events::business_id.eq(business.get()))
                .filter(events::sequence.eq_any(affordable.clone()));
            diesel::update(emptied)
                .set(events::data.eq(format!(r#"{{"id":{contact}}}"#)))
                .execute(self.conn().await?)
                .await
                .map_err(store_error)?;
            part.changed.extend(affordable);
            erasure.emptied = last;
        }
        erasure.stage = Stage::Clean(At::START);
        Ok(())
    }

    /// The data of these events, by sequence number.
    async fn event_data(&mut self, business: BusinessId, sequences: Vec<i64>) -> StoreResult<HashMap<i64, String>> {
        let data: Vec<(i64, String)> = events::table
            .filter(events::business_id.eq(business.get()))
            .filter(events::sequence.eq_any(sequences))
            .select((events::sequence, events::data))
            .load(self.conn().await?)
            .await
            .map_err(store_error)?;
        Ok(data.into_iter().collect())
    }

    /// Locks the records that are to be cleaned next: all at once and in order, before anything else of them is.
    async fn lock_batch(&mut self, business: BusinessId, erasure: &Erasure, part: &Part) -> StoreResult<Batch> {
        let Stage::Clean(after) = erasure.stage else {
            return Ok(Batch {
                records: Vec::new(),
                last: false,
            });
        };
        let limit = part.records.max(1);
        let next = self.records_after(business, erasure.contact(), after, limit).await?;
        let of = |kind: i32| -> Vec<i64> {
            let own = next.iter().filter(|(at, _)| at.kind == kind);
            own.map(|(at, _)| at.record).collect()
        };
        let mut lengths: HashMap<(i32, i64), i32> = HashMap::new();
        macro_rules! lock {
            ($kind:expr, $table:ident) => {
                let ids = of($kind);
                if !ids.is_empty() {
                    let rows = $table::table
                        .filter($table::business_id.eq(business.get()))
                        .filter($table::id.eq_any(ids))
                        .order($table::id)
                        .select(($table::id, octet_length($table::document)));
                    let rows: Vec<(i64, i32)> = dialect::for_no_key_update!(rows)
                        .load(self.conn().await?)
                        .await
                        .map_err(store_error)?;
                    lengths.extend(rows.into_iter().map(|(id, length)| (($kind, id), length)));
                }
            };
        }
        lock!(LEAD, leads);
        lock!(SUGGESTED, leads);
        lock!(VEHICLE, vehicles);
        lock!(INVOICE, invoices);
        lock!(DRIVE, vehicle_drives);
        let last = i64::try_from(next.len()).is_ok_and(|found| found < limit);
        let length = |at: At| lengths.get(&(at.kind, at.record)).copied().unwrap_or_default();
        let records = next.into_iter().map(|(at, _)| (at, length(at))).collect();
        Ok(Batch { records, last })
    }

    /// The records that named the contact, after one of them, with when they were made.
    async fn records_after(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: At,
        limit: i64,
    ) -> StoreResult<Vec<(At, Timestamp)>> {
        let later = erasure_records::kind.gt(after.kind).or(erasure_records::kind
            .eq(after.kind)
            .and(erasure_records::record.gt(after.record)));
        let found: Vec<(i32, i64, i64)> = erasure_records::table
            .filter(erasure_records::business_id.eq(business.get()))
            .filter(erasure_records::contact.eq(contact.get()))
            .filter(later)
            .order((erasure_records::kind, erasure_records::record))
            .limit(limit)
            .select((erasure_records::kind, erasure_records::record, erasure_records::created))
            .load(self.conn().await?)
            .await
            .map_err(store_error)?;
        let at = |(kind, record, created)| (At { kind, record }, Timestamp::from_epoch_seconds(created));
        Ok(found.into_iter().map(at).collect())
    }

    /// Goes through the stages until the part is spent, or nothing is left.
    async fn go_through(
        &mut self,
        id: BusinessId,
        erasure: &mut Erasure,
        batch: Batch,
        part: &mut Part,
    ) -> StoreResult<()> {
        let Some(business) = accounts::business(self.conn().await?, id).await? else {
            erasure.stage = Stage::Done;
            return Ok(());
        };
        let person = Person::new(&erasure.keys).map_err(StoreError::Other)?;
        if let Stage::Clean(_) = erasure.stage {
            erasure.stage = self.clean(&business, batch, erasure.stage, &person, part).await?;
        }
        while !part.is_spent() && !matches!(erasure.stage, Stage::Learn | Stage::Clean(_) | Stage::Done) {
            erasure.stage = self.go_on(id, erasure, &person, part).await?;
            if erasure.stage == Stage::Learn {
                erasure.keys = PersonKeys::new(person.contact());
            }
        }
        let changed = std::mem::take(&mut part.changed);
        self.forget_answers(id, &changed).await
    }

    /// Cleans the records that are locked, as far as the part goes.
    async fn clean(
        &mut self,
        business: &Business,
        batch: Batch,
        mut stage: Stage,
        person: &Person,
        part: &mut Part,
    ) -> StoreResult<Stage> {
        let now = self.dependencies.clock.now();
        for (at, length) in batch.records {
            if part.is_spent() {
                return Ok(stage);
            }
            part.records -= 1;
            part.bytes -= i64::from(length);
            let key = (business.id.get(), at.record);
            if at.kind == INVOICE {
                let id = InvoiceId::new(at.record);
                if let Some(invoice) = self.invoice(business.id, id).await? {
                    let forgotten = forget_person_in_invoice(self, now, business.id, invoice, person).await;
                    forgotten.map_err(|error| match error {
                        InvoiceError::Store(error) => error,
                        error => other(error),
                    })?;
                }
            } else if at.kind == DRIVE {
                let id = TestDriveId::new(at.record);
                if let Some(drive) = drives::drive(self.conn().await?, business.id, id).await? {
                    let forgotten = forget_person_in_drive(self, business.id, drive, person).await;
                    forgotten.map_err(|error| match error {
                        VehicleError::Store(error) => error,
                        error => other(error),
                    })?;
                }
            } else if matches!(at.kind, LEAD | SUGGESTED) {
                let row = leads::table.find(key).select(LeadRow::as_select());
                let row = row
                    .get_result(self.conn().await?)
                    .await
                    .optional()
                    .map_err(store_error)?;
                if let Some(row) = row {
                    // As it is, not as it is shown meanwhile.
                    let lead = Lead::try_from(LeadRow { unlinked: false, ..row })?;
                    let forgotten = if at.kind == LEAD {
                        forget_person_in_lead(self, now, business, lead, person).await
                    } else {
                        forget_suggestion_in_lead(self, now, business, lead, person.contact()).await
                    };
                    forgotten.map_err(|error| match error {
                        LeadError::Store(error) => error,
                        error => other(error),
                    })?;
                }
            } else {
                let row = vehicles::table.find(key).select(VehicleRow::as_select());
                let row = row
                    .get_result(self.conn().await?)
                    .await
                    .optional()
                    .map_err(store_error)?;
                if let Some(row) = row {
                    let mut vehicle = Vehicle::try_from(row)?;
                    bring_up_to_date(self.conn().await?, business.id, std::slice::from_mut(&mut vehicle)).await?;
                    let forgotten = forget_person_in_vehicle(self, now, business, vehicle, person).await;
                    forgotten.map_err(|error| match error {
                        VehicleError::Store(error) => error,
                        error => other(error),
                    })?;
                }
            }
            stage = Stage::Clean(at);
        }
        Ok(if batch.last { Stage::Next(At::START) } else { stage })
    }

    /// Does a little of the stage, and answers which one comes next.
    async fn go_on(
        &mut self,
        business: BusinessId,
        erasure: &Erasure,
        person: &Person,
        part: &mut Part,
    ) -> StoreResult<Stage> {
        let contact = person.contact();
        // What was recorded of the batch before is to be found.
        self.flush().await?;
        Ok(match erasure.stage {
            Stage::Next(after) => {
                let next = self.records_after(business, contact, after, 1).await?;
                match next.into_iter().next() {
                    None => Stage::OwnAnswers,
                    // No event shows a test drive, and stored answers that do are found by their contact.
                    Some((at, _)) if at.kind == DRIVE => {
                        part.records -= 1;
                        Stage::Next(at)
                    }
                    Some((at, created)) => {
                        part.records -= 1;
                        if matches!(at.kind, LEAD | SUGGESTED)
                            && let Some(recorded) = self.creation(business, LeadId::new(at.record), created).await?
                        {
                            self.clean_events(business, at, vec![recorded], person, part).await?;
                        }
                        if at.kind == LEAD {
                            Stage::Messages(at, 0)
                        } else {
                            Stage::Events(at, 0)
                        }
                    }
                }
            }
            Stage::Messages(at, after) => match self.clean_messages(business, at, after, person, part).await? {
                Some(last) => Stage::Messages(at, last),
                None => Stage::Notes(at, 0),
            },
            Stage::Notes(at, after) => match self.clean_notes(business, at, after, person, part).await? {
                Some(last) => Stage::Notes(at, last),
                None => Stage::Events(at, 0),
            },
            Stage::Events(at, after) => match self.next_events(business, at, after).await?.as_slice() {
                [] => Stage::Answers(at),
                recorded => self
                    .clean_events(business, at, recorded.to_vec(), person, part)
                    .await?
                    .map_or(Stage::Events(at, after), |last| Stage::Events(at, last)),
            },
            Stage::Answers(at) => {
                if self.empty_answers(business, Some(at), contact, part).await? {
                    Stage::Next(at)
                } else {
                    Stage::Answers(at)
                }
            }
            Stage::OwnAnswers => {
                if self.empty_answers(business, None, contact, part).await? {
                    Stage::Mails(0)
                } else {
                    Stage::OwnAnswers
                }
            }
            Stage::Mails(after) => match self.clean_mails(business, after, person, part).await? {
                Some(last) => Stage::Mails(last),
                // There are more former names to learn.
                None if erasure.emptied > 0 => Stage::Learn,
                None => Stage::Forget,
            },
            Stage::Forget => {
                if self.forget_records(business, contact, part).await? {
                    Stage::Done
                } else {
                    Stage::Forget
                }
            }
            stage @ (Stage::Learn | Stage::Clean(_) | Stage::Done) => stage,
        })
    }

    /// The next events of a record, and how long they are.
    async fn next_events(&mut self, business: BusinessId, at: At, after: i64) -> StoreResult<Vec<(i64, i32)>> {
        macro_rules! next {
            ($condition:expr) => {
                events::table
                    .filter(events::business_id.eq(business.get()))
                    .filter(events::record.eq(at.record))
                    .filter($condition)
                    .filter(events::sequence.gt(after))
                    .order(events::sequence)
                    .limit(READ_AT_ONCE)
                    .select((events::sequence, octet_length(events::data)))
                    .load(self.conn().await?)
                    .await
                    .map_err(store_error)
            };
        }
        match at.kind {
            LEAD | SUGGESTED => next!(of_changed_leads()),
            INVOICE => next!(of_invoices()),
            _ => next!(of_vehicles()),
        }
    }

    /// Takes the person out of a record's events, as far as the part goes; answers up to which number.
    async fn clean_events(
        &mut self,
        business: BusinessId,
        at: At,
        recorded: Vec<(i64, i32)>,
        person: &Person,
        part: &mut Part,
    ) -> StoreResult<Option<i64>> {
        let affordable = part.afford(&recorded);
        let Some(&last) = affordable.last() else {
            return Ok(None);
        };
        for (sequence, data) in self.event_data(business, affordable).await? {
            let mut shown: Value = serde_json::from_str(&data).map_err(other)?;
            let changed = match (at.kind, &mut shown) {
                (LEAD, Value::Object(lead)) => forecourt_leads::forget_person_in_event(lead, person),
                (SUGGESTED, Value::Object(lead)) => forecourt_leads::forget_suggestion_in_event(lead, person.contact()),
                (INVOICE, Value::Object(invoice)) => forecourt_invoices::forget_person_in_event(invoice, person),
                (_, vehicle) => forecourt_vehicles::forget_person_in_event(vehicle, person),
            };
            let cleaned = changed.then(|| shown.to_string());
            let Some(data) = cleaned else {
                continue;
            };
            diesel::update(events::table.find((business.get(), sequence)))
                .set(events::data.eq(data))
                .execute(self.conn().await?)
                .await
                .map_err(store_error)?;
            part.changed.push(sequence);
        }
        Ok(Some(last))
    }

    /// Takes the person out of a lead's next messages; answers up to which one, or `None` if none is left.
    async fn clean_messages(
        &mut self,
        business: BusinessId,
        at: At,
        after: i64,
        person: &Person,
        part: &mut Part,
    ) -> StoreResult<Option<i64>> {
        let next: Vec<(i64, i32)> = lead_messages::table
            .filter(lead_messages::business_id.eq(business.get()))
            .filter(lead_messages::lead_id.eq(at.record))
            .filter(lead_messages::id.gt(after))
            .order((lead_messages::lead_id, lead_messages::id))
            .limit(READ_AT_ONCE)
            .select((lead_messages::id, octet_length(lead_messages::body)))
            .load(self.conn().await?)
            .await
            .map_err(store_error)?;
        let affordable = part.afford(&next);
        let Some(&last) = affordable.last() else {
            return Ok(None);
        };
        let rows: Vec<LeadMessageRow> = lead_messages::table
            .filter(lead_messages::business_id.eq(business.get()))
            .filter(lead_messages::id.eq_any(affordable))
            .select(LeadMessageRow::as_select())
            .load(self.conn().await?)
            .await
            .map_err(store_error)?;
        for row in rows {
            let mut message = LeadMessage::try_from(row)?;
            if !forget_person_in_message(&mut message, person) {
                continue;
            }
            diesel::update(lead_messages::table.find((business.get(), message.id.get())))
                .set((
                    lead_messages::subject.eq(message.subject),
                    lead_messages::body.eq(message.body),
                ))
                .execute(self.conn().await?)
                .await
                .map_err(store_error)?;
        }
        Ok(Some(last))
    }

    /// Takes the person out of a lead's next notes; answers up to which one, or `None` if none is left.
    async fn clean_notes(
        &mut self,
        business: BusinessId,
        at: At,
        after: i64,
        person: &Person,
        part: &mut Part,
    ) -> StoreResult<Option<i64>> {
        let next: Vec<(i64, i32)> = lead_notes::table
            .filter(lead_notes::business_id.eq(business.get()))
            .filter(lead_notes::lead_id.eq(at.record))
            .filter(lead_notes::id.gt(after))
            .order((lead_notes::lead_id, lead_notes::id))
            .limit(READ_AT_ONCE)
            .select((lead_notes::id, octet_length(lead_notes::note)))
            .load(self.conn().await?)
            .await
            .map_err(store_error)?;
        let affordable = part.afford(&next);
        let Some(&last) = affordable.last() else {
            return Ok(None);
        };
        let rows: Vec<LeadNoteRow> = lead_notes::table
            .filter(lead_notes::business_id.eq(business.get()))
            .filter(lead_notes::id.eq_any(affordable))
            .select(LeadNoteRow::as_select())
            .load(self.conn().await?)
            .await
            .map_err(store_error)?;
        for row in rows {
            let mut note = LeadNote::from(row);
            if !forget_person_in_lead_note(&mut note, person) {
                continue;
            }
            diesel::update(lead_notes::table.find((business.get(), note.id.get())))
                .set(lead_notes::note.eq(note.note))
                .execute(self.conn().await?)
                .await
                .map_err(store_error)?;
        }
        Ok(Some(last))
    }

    /// The event of a lead's creation, if it is still in the log. Leads are created in the order of their ids, and the event
    /// comes no earlier than the lead: so it is the first one of a lead with this id or a higher one.
    async fn creation(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        created: Timestamp,
    ) -> StoreResult<Option<(i64, i32)>> {
        let latest = log::latest(self.conn().await?, business).await?.0;
        let since = if list::are_stamps_unordered(self.conn().await?, business).await? {
            1
        } else {
            log::first_since(self.conn().await?, business, created, 1, latest).await?
        };
        let first: Option<(i64, i64, i32)> = events::table
            .filter(events::business_id.eq(business.get()))
            .filter(events::sequence.ge(since))
            .filter(events::name.eq(EventName::LeadCreated.as_str()))
            .filter(events::record.ge(lead.get()))
            .order(events::sequence)
            .limit(1)
            .select((events::sequence, events::record, octet_length(events::data)))
            .get_result(self.conn().await?)
            .await
            .optional()
            .map_err(store_error)?;
        let own = first.filter(|(_, record, _)| *record == lead.get());
        Ok(own.map(|(sequence, _, length)| (sequence, length)))
    }

    /// Drops what receivers answered to these events, and what they are about to answer: they may repeat what they were sent.
    async fn forget_answers(&mut self, business: BusinessId, events: &[i64]) -> StoreResult<()> {
        for events in events.chunks(NAMED_AT_ONCE) {
            log::lock_deliveries_of(self.conn().await?, business, events).await?;
            // In this order: an attempt that is recorded between the two has its answer by the second one.
            let under_way = webhook_deliveries::table
                .filter(webhook_deliveries::business_id.eq(business.get()))
                .filter(webhook_deliveries::lease.is_not_null())
                .filter(webhook_deliveries::sequence.eq_any(events.to_vec()));
            diesel::update(under_way)
                .set(webhook_deliveries::forget_answer.eq(true))
                .execute(self.conn().await?)
                .await
                .map_err(store_error)?;
            let answered = webhook_deliveries::table
                .filter(webhook_deliveries::business_id.eq(business.get()))
                .filter(webhook_deliveries::sequence.is_not_null())
                .filter(webhook_deliveries::sequence.eq_any(events.to_vec()))
                .filter(webhook_deliveries::response_body.is_not_null());
            diesel::update(answered)
                .set(webhook_deliveries::response_body.eq(None::<String>))
                .execute(self.conn().await?)
                .await
                .map_err(store_error)?;
        }
        Ok(())
    }

    /// Takes the person out of the next mails that wait to be sent; answers up to which one, or `None` if none is left.
    async fn clean_mails(
        &mut self,
        business: BusinessId,
        after: i64,
        person: &Person,
        part: &mut Part,
    ) -> StoreResult<Option<i64>> {
        let waiting = mails::table
            .filter(mails::business_id.eq(business.get()))
            .filter(mails::id.gt(after))
            .order(mails::id)
            .limit(READ_AT_ONCE)
            .select((mails::id, octet_length(mails::text)));
        let waiting: Vec<(i64, i32)> = dialect::for_no_key_update!(waiting)
            .load(self.conn().await?)
            .await
            .map_err(store_error)?;
        if waiting.is_empty() {
            return Ok(None);
        }
        let affordable = part.afford(&waiting);
        let last = affordable.last().copied().unwrap_or(after);
        let waiting: Vec<(i64, String, String, String)> = mails::table
            .filter(mails::business_id.eq(business.get()))
            .filter(mails::id.eq_any(affordable))
            .select((mails::id, mails::recipient, mails::subject, mails::text))
            .load(self.conn().await?)
            .await
            .map_err(store_error)?;
        for (id, recipient, mut subject, mut text) in waiting {
            if person.has_email(&recipient) {
                // The person that it would be sent to is erased.
                diesel::delete(mails::table.find(id))
                    .execute(self.conn().await?)
                    .await
                    .map_err(store_error)?;
                continue;
            }
            if !person.is_in_mail(&text) && !person.is_in_mail(&subject) {
                continue;
            }
            person.redact(&mut subject);
            person.redact(&mut text);
            diesel::update(mails::table.find(id))
                .set((mails::subject.eq(subject), mails::text.eq(text)))
                .execute(self.conn().await?)
                .await
                .map_err(store_error)?;
        }
        Ok(Some(last))
    }

    /// Leaves our own answers about a record, or else those that show the contact, kept for retries, nothing but the id of what
    /// they are about; `true` if none is left.
    async fn empty_answers(
        &mut self,
        business: BusinessId,
        about: Option<At>,
        contact: ContactId,
        part: &mut Part,
    ) -> StoreResult<bool> {
        macro_rules! next {
            ($($condition:expr),+) => {
                idempotency_keys::table
                    .filter(idempotency_keys::business_id.eq(business.get()))
                    $(.filter($condition))+
                    .limit(part.records.clamp(1, READ_AT_ONCE))
                    .select((idempotency_keys::key, idempotency_keys::body))
                    .load(self.conn().await?)
                    .await
                    .map_err(store_error)?
            };
        }
        let stored: Vec<(String, Option<Vec<u8>>)> = match about {
            Some(At { kind, record }) => next!(
                idempotency_keys::kind
                    .assume_not_null()
                    .eq(if kind == SUGGESTED { LEAD } else { kind }),
                idempotency_keys::record.assume_not_null().eq(record)
            ),
            None => next!(idempotency_keys::contact.assume_not_null().eq(contact.get())),
        };
        if stored.is_empty() {
            return Ok(true);
        }
        for (key, body) in stored {
            let row = idempotency_keys::table.find((business.get(), key.clone()));
            let sealed = match (key.parse::<IdempotencyKey>(), body) {
                (Ok(key), Some(body)) => {
                    part.bytes -= i64::try_from(body.len()).unwrap_or(i64::MAX);
                    let cipher = self.dependencies.cipher()?;
                    let place = idempotency::place(business, &key);
                    // One that cannot be read is emptied all the same.
                    let shown = cipher.open(&body, &place).unwrap_or_default();
                    let shown: Value = serde_json::from_slice(&shown).unwrap_or_default();
                    let known = about.map_or(contact.get(), |at| at.record);
                    let id = shown["data"]["id"].as_i64().unwrap_or(known);
                    let body = json!({"success": true, "data": {"id": id}}).to_string();
                    Some(cipher.seal(body.as_bytes(), &place, self.dependencies.random.as_ref())?)
                }
                _ => None,
            };
            diesel::update(row)
                .set((
                    idempotency_keys::body.eq(sealed),
                    idempotency_keys::contact.eq(None::<i64>),
                    idempotency_keys::kind.eq(None::<i32>),
                    idempotency_keys::record.eq(None::<i64>),
                ))
                .execute(self.conn().await?)
                .await
                .map_err(store_error)?;
        }
        Ok(false)
    }

    /// Forgets some of the records that named the contact; `true` if none is left.
    async fn forget_records(&mut self, business: BusinessId, contact: ContactId, part: &mut Part) -> StoreResult<bool> {
        let records = self.records_after(business, contact, At::START, READ_AT_ONCE).await?;
        for kind in [LEAD, VEHICLE, INVOICE, DRIVE, SUGGESTED] {
            let own = records.iter().filter(|(at, _)| at.kind == kind);
            let ids: Vec<i64> = own.map(|(at, _)| at.record).collect();
            let gone = erasure_records::table
                .filter(erasure_records::business_id.eq(business.get()))
                .filter(erasure_records::contact.eq(contact.get()))
                .filter(erasure_records::kind.eq(kind))
                .filter(erasure_records::record.eq_any(ids));
            diesel::delete(gone)
                .execute(self.conn().await?)
                .await
                .map_err(store_error)?;
        }
        part.bytes -= 64 * READ_AT_ONCE;
        Ok(i64::try_from(records.len()).is_ok_and(|found| found < READ_AT_ONCE))
    }
}
