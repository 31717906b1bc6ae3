//! The erasure of a deleted contact's data: see [`ContactStore::erase_contact`](forecourt_contacts::ContactStore).
//!
//! It goes in parts, each a small transaction. The first one is the deletion's own, and for most contacts the only one. The rest
//! is noted in `deletions`, for the background work that continues it. A part ends when its [`Budget`] is spent, and the next one
//! continues the [`Stage`] that it was in.
//!
//! 1. The contact's former names, emails and numbers are read from its own events, which are emptied meanwhile.
//! 2. The records that are linked to it are cleaned, area by area.
//! 3. Everything that shows them elsewhere follows: attached texts, their events, and stored answers about them. This comes
//!    late since a transaction that changes a record holds its lock, and so its events are there once all records are cleaned.
//! 4. The other records are searched for text that is certainly about the person, and those found are cleaned in the same way.
//! 5. All texts of the business that stand for themselves are cleaned at last.

use diesel::prelude::*;
use forecourt_contacts::{Contact, name_key};
use forecourt_dealership::DeletionKind;
use forecourt_kernel::{BusinessId, ContactId, Person, PersonKeys, StoreError, StoreResult};
use serde_json::Value;

use super::super::session::{Session, Write};
use super::super::{accounts, contacts as contact_rows};
use super::{AREAS, Budget, READ_AT_ONCE, TEXTS, area};
use crate::erasure_state::{Erasure, FOUND, RecordRef, Stage};
use crate::error::other;
use crate::models::ERASURE;
use crate::schema::{contacts, deletions, erased_people, erasure_records};
use crate::statement::{RunQueryDsl, for_update};

/// The time for which the names of an erased person are kept, encrypted, so that every server takes them out of its spool, in
/// seconds.
const SPOOLS_SEARCHED: i64 = 10 * 60;

/// Adds the names and numbers in a representation of the contact.
fn add_shown(keys: &mut PersonKeys, shown: &Value) {
    let text = |place: &str| shown.pointer(place).and_then(Value::as_str).unwrap_or_default();
    keys.add_name(text("/data/name"));
    keys.add_email(text("/email"));
    for place in ["/data/telephone", "/data/mobile"] {
        keys.add_number(text(place));
    }
    for place in ["/data/ni", "/data/license/number", "/data/license/code"] {
        keys.add_identifier(text(place));
    }
    for member in ["line1", "line2", "line3", "zip"] {
        keys.add_address(text(&format!("/data/address/{member}")));
    }
}

/// Returns the state of an erasure that begins anew, and knows no more of the person than its number.
///
/// # Errors
/// It cannot be written.
pub(in super::super) fn nameless_erasure(contact: ContactId) -> StoreResult<Vec<u8>> {
    let erasure = Erasure {
        keys: PersonKeys::new(contact),
        emptied: i64::MAX,
        stage: Stage::Learn,
    };
    serde_json::to_vec(&erasure).map_err(other)
}

/// Names the place that the state of an erasure is encrypted for.
pub(in super::super) fn place(business: BusinessId, contact: ContactId) -> Vec<u8> {
    format!("erasure/{business}/{contact}").into_bytes()
}

/// Locked records, with the lengths of their texts.
struct Batch {
    records: Vec<(RecordRef, i32)>,
    /// No records come after them.
    last: bool,
}

impl Session<Write> {
    /// Deletes a contact, and erases its data elsewhere as far as one transaction goes.
    pub(in super::super) async fn erase(&mut self, business: BusinessId, contact: &Contact) -> StoreResult<()> {
        // Transactions that link a lead to the contact are waited for, and no other can begin.
        let row = contacts::table.find((business.get(), contact.id.get()));
        let _: Option<i64> = for_update(row.select(contacts::id))
            .get_optional(self.conn().await?)
            .await?;
        let mut erasure = Erasure::of(contact);
        for area in AREAS {
            area.note(self, business, &mut erasure.keys).await?;
        }
        let mut budget = Budget::OWN;
        self.learn(business, &mut erasure, &mut budget).await?;
        let batch = self.lock_batch(business, &erasure, &budget).await?;
        self.counter(business, contact_rows::CONTACTS).await?.write(-1);
        diesel::delete(row).execute(self.conn().await?).await?;
        self.go_through(business, &mut erasure, batch, &mut budget).await?;
        if erasure.stage == Stage::Done {
            return Ok(());
        }
        let state = self.sealed(business, &erasure)?;
        self.continue_later(business, DeletionKind::Contact, contact.id.get(), state)
            .await
    }

    /// Continues an erasure whose entry in `deletions` the caller has locked. Returns `false` if nothing is left of it.
    pub(in super::super) async fn erase_more(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        state: &[u8],
    ) -> StoreResult<bool> {
        let state = self.dependencies.cipher()?.open(state, &place(business, contact))?;
        let mut erasure: Erasure = serde_json::from_slice(&state).map_err(other)?;
        let mut budget = Budget::BACKGROUND;
        self.learn(business, &mut erasure, &mut budget).await?;
        let batch = self.lock_batch(business, &erasure, &budget).await?;
        if accounts::business(self.conn().await?, business).await?.is_none() {
            return Ok(false);
        }
        // Another erasure may read the same events.
        self.lock_counters(business).await?;
        self.go_through(business, &mut erasure, batch, &mut budget).await?;
        if erasure.stage == Stage::Done {
            return Ok(false);
        }
        let state = self.sealed(business, &erasure)?;
        diesel::update(deletions::table.find((business.get(), ERASURE, contact.get())))
            .set(deletions::state.eq(state))
            .execute(self.conn().await?)
            .await?;
        Ok(true)
    }

    fn sealed(&self, business: BusinessId, erasure: &Erasure) -> StoreResult<Vec<u8>> {
        let state = serde_json::to_vec(erasure).map_err(other)?;
        let place = place(business, erasure.contact());
        self.dependencies
            .cipher()?
            .seal(&state, &place, self.dependencies.random.as_ref())
    }

    /// Records that a record names a contact, with the time of its creation.
    pub(in super::super) async fn note_record(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        kind: i32,
        (record, created): (i64, i64),
    ) -> StoreResult<()> {
        diesel::insert_into(erasure_records::table)
            .values((
                erasure_records::business_id.eq(business.get()),
                erasure_records::contact.eq(contact.get()),
                erasure_records::kind.eq(kind),
                erasure_records::record.eq(record),
                erasure_records::created.eq(created),
            ))
            .on_conflict_do_nothing()
            .execute(self.conn().await?)
            .await
            .map(drop)
    }

    /// Learns the contact's former names from its own events, latest first, and empties these. If there are more names than can
    /// be searched for at once, the rest follows when those are erased.
    async fn learn(&mut self, business: BusinessId, erasure: &mut Erasure, budget: &mut Budget) -> StoreResult<()> {
        if erasure.stage != Stage::Learn {
            return Ok(());
        }
        let contact = erasure.contact();
        while !erasure.keys.is_full() {
            let recorded = self.contact_events_below(business, contact, erasure.emptied).await?;
            if recorded.is_empty() {
                erasure.emptied = 0;
                break;
            }
            let affordable = budget.afford(&recorded);
            let Some(&last) = affordable.last() else {
                return Ok(());
            };
            for data in self.event_data(business, affordable.clone()).await?.into_values() {
                add_shown(&mut erasure.keys, &serde_json::from_str(&data).map_err(other)?);
            }
            self.empty_events(business, contact.get(), affordable.clone()).await?;
            budget.changed.extend(affordable);
            erasure.emptied = last;
        }
        erasure.stage = Stage::Clean(RecordRef::START);
        Ok(())
    }

    /// Locks the records to clean next: all at once and in order, before anything else of them.
    async fn lock_batch(&mut self, business: BusinessId, erasure: &Erasure, budget: &Budget) -> StoreResult<Batch> {
        let Stage::Clean(after) = erasure.stage else {
            return Ok(Batch {
                records: Vec::new(),
                last: false,
            });
        };
        let limit = budget.records.max(1);
        let next = self.records_after(business, erasure.contact(), after, limit).await?;
        let last = i64::try_from(next.len()).is_ok_and(|found| found < limit);
        let mut records: Vec<(RecordRef, i32)> = next.into_iter().map(|(at, _)| (at, 0)).collect();
        for area in AREAS {
            let of_area = |at: RecordRef| at.kind % FOUND == area.kind();
            let ids: Vec<i64> = records
                .iter()
                .filter(|(at, _)| of_area(*at))
                .map(|(at, _)| at.record)
                .collect();
            if ids.is_empty() {
                continue;
            }
            for (id, length) in area.lock(self, business, ids).await? {
                for (at, known) in &mut records {
                    if of_area(*at) && at.record == id {
                        *known = length;
                    }
                }
            }
        }
        Ok(Batch { records, last })
    }

    /// Returns the records that named the contact, after one of them, with the times of their creation.
    async fn records_after(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: RecordRef,
        limit: i64,
    ) -> StoreResult<Vec<(RecordRef, i64)>> {
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
            .await?;
        let at = |(kind, record, created)| (RecordRef { kind, record }, created);
        Ok(found.into_iter().map(at).collect())
    }

    /// Goes through the stages until the budget is spent, or nothing is left.
    async fn go_through(
        &mut self,
        id: BusinessId,
        erasure: &mut Erasure,
        batch: Batch,
        budget: &mut Budget,
    ) -> StoreResult<()> {
        let Some(business) = accounts::business(self.conn().await?, id).await? else {
            erasure.stage = Stage::Done;
            return Ok(());
        };
        let mut person = Person::new(&erasure.keys).map_err(StoreError::Other)?;
        if let Stage::Clean(after) = erasure.stage {
            let mut stage = Stage::Clean(after);
            let mut is_whole = true;
            for (at, length) in batch.records {
                if budget.is_spent() {
                    is_whole = false;
                    break;
                }
                budget.records -= 1;
                budget.bytes -= i64::from(length);
                if let Some(area) = area(at.kind) {
                    area.clean(self, &business, at.record, &person).await?;
                }
                stage = Stage::Clean(at);
            }
            erasure.stage = match (is_whole && batch.last, after.kind >= FOUND) {
                (true, false) => Stage::Next(RecordRef::START),
                (true, true) => Stage::Next(RecordRef::FOUND),
                (false, _) => stage,
            };
        }
        while !budget.is_spent() && !matches!(erasure.stage, Stage::Learn | Stage::Clean(_) | Stage::Done) {
            erasure.stage = self.go_on(id, erasure, &person, budget).await?;
            match erasure.stage {
                Stage::Learn => erasure.keys = erasure.keys.emptied(),
                Stage::Find(0, 0) => {
                    self.note_shared(id, &mut erasure.keys).await?;
                    person = Person::new(&erasure.keys).map_err(StoreError::Other)?;
                }
                _ => {}
            }
        }
        let changed = std::mem::take(&mut budget.changed);
        self.forget_answers(id, &changed).await
    }

    /// Notes the names, emails and numbers of the person that other contacts have as well.
    async fn note_shared(&mut self, business: BusinessId, keys: &mut PersonKeys) -> StoreResult<()> {
        let names: Vec<String> = keys.names().map(name_key).collect();
        let emails: Vec<String> = keys.emails().map(str::to_owned).collect();
        let numbers: Vec<String> = keys.numbers().map(str::to_owned).collect();
        macro_rules! others {
            ($column:expr, $known:expr, $shown:expr) => {
                contacts::table
                    .filter(contacts::business_id.eq(business.get()))
                    .filter($column.eq_any($known))
                    .limit(READ_AT_ONCE)
                    .select($shown)
                    .load::<String>(self.conn().await?)
                    .await?
            };
        }
        let mut shared = others!(contacts::name_key, names, contacts::name_literal);
        shared.extend(others!(contacts::email_folded, emails, contacts::email_folded));
        let telephone = contacts::telephone.assume_not_null();
        shared.extend(others!(telephone, numbers.clone(), telephone));
        let mobile = contacts::mobile.assume_not_null();
        shared.extend(others!(mobile, numbers, mobile));
        for value in shared {
            keys.share(&value);
        }
        Ok(())
    }

    /// Does a little of the stage, and returns the next one.
    async fn go_on(
        &mut self,
        business: BusinessId,
        erasure: &Erasure,
        person: &Person,
        budget: &mut Budget,
    ) -> StoreResult<Stage> {
        let contact = person.contact();
        // The events of the batch before are to be found.
        self.flush().await?;
        Ok(match erasure.stage {
            Stage::Next(after) => {
                let next = self.records_after(business, contact, after, 1).await?;
                match next.into_iter().next() {
                    None if after.kind >= FOUND => Stage::Texts(0, 0),
                    None => Stage::OwnAnswers,
                    Some((at, created)) => {
                        budget.records -= 1;
                        if let Some(area) = area(at.kind)
                            && let Some(recorded) = area.creation(self, business, at.record, created).await?
                        {
                            self.clean_events(business, area, vec![recorded], person, budget)
                                .await?;
                        }
                        Stage::Attached(at, 0, 0)
                    }
                }
            }
            Stage::Attached(at, nth, after) => {
                let texts = area(at.kind).and_then(|area| area.attached().get(nth).copied());
                match texts {
                    None => Stage::Events(at, 0),
                    Some(texts) => match texts
                        .clean(self, business, Some(at.record), after, person, budget)
                        .await?
                    {
                        Some(last) => Stage::Attached(at, nth, last),
                        None => Stage::Attached(at, nth + 1, 0),
                    },
                }
            }
            Stage::Events(at, after) => {
                let area = area(at.kind);
                let found = area.and_then(|area| Some((area, area.event_condition()?)));
                let Some((area, condition)) = found else {
                    return Ok(Stage::Answers(at));
                };
                match self.events_of(business, at.record, condition, after).await? {
                    recorded if recorded.is_empty() => Stage::Answers(at),
                    recorded => self
                        .clean_events(business, area, recorded, person, budget)
                        .await?
                        .map_or(Stage::Events(at, after), |last| Stage::Events(at, last)),
                }
            }
            Stage::Answers(at) => {
                let about = area(at.kind).and_then(|area| area.answers());
                let is_done = match about {
                    Some(kind) => {
                        self.empty_answers(business, Some((kind, at.record)), contact, budget)
                            .await?
                    }
                    None => true,
                };
                if is_done { Stage::Next(at) } else { Stage::Answers(at) }
            }
            Stage::OwnAnswers => {
                if self.empty_answers(business, None, contact, budget).await? {
                    Stage::Find(0, 0)
                } else {
                    Stage::OwnAnswers
                }
            }
            Stage::Find(nth, after) => match AREAS.get(nth) {
                None if self
                    .records_after(business, contact, RecordRef::FOUND, 1)
                    .await?
                    .is_empty() =>
                {
                    Stage::Texts(0, 0)
                }
                None => Stage::Clean(RecordRef::FOUND),
                Some(area) => match self.find(business, *area, after, person, budget).await? {
                    Some(last) => Stage::Find(nth, last),
                    None => Stage::Find(nth + 1, 0),
                },
            },
            Stage::Texts(nth, after) => match TEXTS.get(nth) {
                None => Stage::Mails(0),
                Some(texts) => match texts.clean(self, business, None, after, person, budget).await? {
                    Some(last) => Stage::Texts(nth, last),
                    None => Stage::Texts(nth + 1, 0),
                },
            },
            Stage::Mails(after) => match self.clean_mails(business, after, person, budget).await? {
                Some(last) => Stage::Mails(last),
                None => {
                    self.note_erased(business, &erasure.keys).await?;
                    // There may be more former names to learn.
                    if erasure.emptied > 0 {
                        Stage::Learn
                    } else {
                        Stage::Forget
                    }
                }
            },
            Stage::Forget => {
                if self.forget_records(business, contact, budget).await? {
                    Stage::Done
                } else {
                    Stage::Forget
                }
            }
            stage @ (Stage::Learn | Stage::Clean(_) | Stage::Done) => stage,
        })
    }

    /// Searches an area's next records after `after` for the person, and records those that name them. Returns the last record
    /// searched, or `None` if none is left.
    async fn find(
        &mut self,
        business: BusinessId,
        area: &'static dyn super::PersonalArea,
        after: i64,
        person: &Person,
        budget: &mut Budget,
    ) -> StoreResult<Option<i64>> {
        let next = area.next(self, business, after).await?;
        let affordable = budget.afford(&next);
        let Some(&last) = affordable.last() else {
            return Ok(None);
        };
        for record in area.naming(self, business, affordable, person).await? {
            // Its creation is not searched for: all events are gone through in any case.
            let found = (record, i64::MAX);
            self.note_record(business, person.contact(), FOUND + area.kind(), found)
                .await?;
        }
        Ok(Some(last))
    }

    /// Keeps the person's names, encrypted, until every server has taken them out of its spool.
    async fn note_erased(&mut self, business: BusinessId, keys: &PersonKeys) -> StoreResult<()> {
        let sealed = serde_json::to_vec(keys).map_err(other)?;
        let place = erased_place(business, keys.contact());
        let sealed = self
            .dependencies
            .cipher()?
            .seal(&sealed, &place, self.dependencies.random.as_ref())?;
        let until = self
            .dependencies
            .clock
            .now()
            .plus_seconds(SPOOLS_SEARCHED)
            .epoch_seconds();
        diesel::insert_into(erased_people::table)
            .values((
                erased_people::business_id.eq(business.get()),
                erased_people::contact.eq(keys.contact().get()),
                erased_people::until.eq(until),
                erased_people::keys.eq(&sealed),
            ))
            .on_conflict((erased_people::business_id, erased_people::contact))
            .do_update()
            .set((erased_people::until.eq(until), erased_people::keys.eq(&sealed)))
            .execute(self.conn().await?)
            .await
            .map(drop)
    }

    /// Forgets some of the records that named the contact; returns `true` if none is left.
    async fn forget_records(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        budget: &mut Budget,
    ) -> StoreResult<bool> {
        let records = self
            .records_after(business, contact, RecordRef::START, READ_AT_ONCE)
            .await?;
        let mut kinds: Vec<i32> = records.iter().map(|(at, _)| at.kind).collect();
        kinds.dedup();
        for kind in kinds {
            let own = records.iter().filter(|(at, _)| at.kind == kind);
            let ids: Vec<i64> = own.map(|(at, _)| at.record).collect();
            let gone = erasure_records::table
                .filter(erasure_records::business_id.eq(business.get()))
                .filter(erasure_records::contact.eq(contact.get()))
                .filter(erasure_records::kind.eq(kind))
                .filter(erasure_records::record.eq_any(ids));
            diesel::delete(gone).execute(self.conn().await?).await?;
        }
        budget.bytes -= 64 * READ_AT_ONCE;
        Ok(i64::try_from(records.len()).is_ok_and(|found| found < READ_AT_ONCE))
    }
}

/// Names the place that the keys of an erased person are encrypted for.
pub(in super::super) fn erased_place(business: BusinessId, contact: ContactId) -> Vec<u8> {
    format!("erased/{business}/{contact}").into_bytes()
}
