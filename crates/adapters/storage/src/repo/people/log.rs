//! The places that show records elsewhere: events, deliveries of them, stored answers, and mails that wait to be sent.

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use forecourt_accounts::IdempotencyKey;
use forecourt_kernel::{BusinessId, ContactId, EventName, LeadId, Person, StoreResult, Timestamp};
use serde_json::{Value, json};

use super::super::session::{Session, Write};
use super::super::size::octet_length;
use super::super::{idempotency, webhooks};
use super::{Budget, PersonalArea, PersonalTexts};
use crate::error::other;
use crate::personal::{
    Erasure::{Deleted, Kept, Redacted, Sealed},
    PersonalTable, held, table, withheld,
};
use crate::schema::{events, idempotency_keys, mails, webhook_deliveries};
use crate::statement::{RunQueryDsl, for_no_key_update};

/// The number of events in one statement about their deliveries.
const NAMED_AT_ONCE: usize = 500;

/// The number of events, answers, mails or records that one statement reads.
pub(in super::super) const READ_AT_ONCE: i64 = 100;

pub(super) const TABLES: &[PersonalTable] = &[
    table(
        "events",
        &[held("data", "events", Redacted)],
        &["business_id", "sequence", "id", "name", "record", "created"],
    ),
    table(
        "webhook_deliveries",
        &[withheld(
            "response_body",
            "an endpoint's own words, which may repeat what it was sent",
            Deleted,
        )],
        &[
            "business_id",
            "id",
            "webhook_id",
            "topic",
            "event_id",
            "sequence",
            "status",
            "settling",
            "settle_by",
            "due",
            "lease",
            "attempts",
            "first_attempt",
            "next_attempt_at",
            "response_code",
            "response_ms",
            "error",
            "created",
            "pinged",
            "delivered_at",
            "forget_answer",
        ],
    ),
    table(
        "idempotency_keys",
        &[withheld("body", "an answer that was given already", Sealed)],
        // The key is the caller's name for a request, and the fingerprint is keyed.
        &[
            "business_id",
            "key",
            "fingerprint",
            "created",
            "status",
            "contact",
            "kind",
            "record",
        ],
    ),
    table(
        "mails",
        &[
            held("recipient", "mails", Deleted),
            held("subject", "mails", Redacted),
            held("text", "mails", Redacted),
            withheld("message_id", "made of the record's number", Deleted),
            withheld("in_reply_to", "an id of a mail that came in", Deleted),
            withheld("reply_to", "the business's own address", Deleted),
            withheld("attachments", "printed from records that the export has", Deleted),
        ],
        &[
            "id",
            "business_id",
            "attempts",
            "due",
            "claimed",
            "queued",
            "lead_id",
            "contact_id",
        ],
    ),
    table(
        "webhooks",
        &[],
        &[
            "business_id",
            "id",
            "url",
            "description",
            "events",
            "scopes",
            "active",
            "secret",
            "secret_hint",
            "failure_count",
            "last_status",
            "last_delivery_at",
            "created",
            "updated",
            "version",
            "deleted",
        ],
    ),
    table(
        "webhook_queues",
        &[],
        &["business_id", "webhook_id", "active", "next_due"],
    ),
    table(
        "deletions",
        &[withheld("state", "what an erasure goes on by", Sealed)],
        &["business_id", "kind", "record"],
    ),
    table(
        "erasure_records",
        &[],
        &["business_id", "contact", "kind", "record", "created"],
    ),
    table(
        "erased_people",
        &[withheld(
            "keys",
            "what spools are searched for, for ten minutes",
            Sealed,
        )],
        &["business_id", "contact", "until"],
    ),
    table("mail_quotas", &[], &["business_id", "day", "mails"]),
    table("file_removals", &[], &["business_id", "name"]),
    table("file_totals", &[], &["business_id", "bytes"]),
    table(
        "files",
        &[],
        &["business_id", "name", "kind", "size", "sha256", "stored", "public"],
    ),
    table(
        "businesses",
        &[
            withheld(
                "email",
                "the dealership's own",
                Kept("the dealership's own, from its business file"),
            ),
            withheld(
                "settings",
                "the dealership's own",
                Kept("the dealership's own, from its business file"),
            ),
            withheld(
                "legal",
                "the dealership's own",
                Kept("the dealership's own, from its business file"),
            ),
            withheld(
                "catalogue",
                "its staff's names and addresses",
                Kept("its staff, as its business file names them"),
            ),
        ],
        &[
            "id",
            "tag",
            "name",
            "country",
            "website",
            "verified",
            "state",
            "plan",
            "api_access",
            "created",
            "updated",
            "deleted",
        ],
    ),
    table(
        "api_keys",
        &[],
        &[
            "id",
            "secret_hash",
            "business_id",
            "scopes",
            "created",
            "expires",
            "revoked",
            "addresses",
            "last_used",
        ],
    ),
    table("forecourt_meta", &[], &["key", "value"]),
    table(
        "servers",
        &[],
        &[
            "id",
            "host",
            "pid",
            "version",
            "started",
            "seen",
            "clock_offset",
            "report",
        ],
    ),
    table(
        "counters",
        &[],
        &[
            "business_id",
            "kind",
            "records",
            "writes",
            "number",
            "stamp",
            "unordered",
        ],
    ),
    table(
        "articles",
        &[
            withheld(
                "head",
                "written for publication",
                Kept("what the dealership publishes of itself"),
            ),
            withheld(
                "body",
                "written for publication",
                Kept("what the dealership publishes of itself"),
            ),
            withheld(
                "author_folded",
                "written for publication",
                Kept("what the dealership publishes of itself"),
            ),
        ],
        &[
            "id",
            "business_id",
            "version",
            "created",
            "updated",
            "url",
            "status",
            "published_at",
            "category_folded",
            "announced",
            "announce_at",
            "undated",
        ],
    ),
    table("article_tags", &[], &["business_id", "tag", "article_id"]),
];

/// The condition that an event is about a vehicle: word for word that of the index `events_of_vehicle`.
pub(in super::super) const OF_VEHICLES: &str = "substr(events.name, 1, 8) = 'vehicle.'";

/// The condition that an event is about a job: word for word that of the index `events_of_vehicle_job`.
pub(in super::super) const OF_VEHICLE_JOBS: &str = "substr(events.name, 1, 12) = 'vehicle_job.'";

/// The condition that an event is about an invoice: word for word that of the index `events_of_invoice`.
pub(in super::super) const OF_INVOICES: &str = "substr(events.name, 1, 8) = 'invoice.'";

/// The condition that an event is about an order: word for word that of the index `events_of_order`.
pub(in super::super) const OF_ORDERS: &str = "substr(events.name, 1, 6) = 'order.'";

/// The condition that an event is about a purchase: word for word that of the index `events_of_purchase`.
pub(in super::super) const OF_PURCHASES: &str = "substr(events.name, 1, 9) = 'purchase.'";

/// The condition that an event is about a deal: word for word that of the index `events_of_deal`.
pub(in super::super) const OF_DEALS: &str = "substr(events.name, 1, 5) = 'deal.'";

/// The condition that an event is about an appointment: word for word that of the index `events_of_appointment`.
pub(in super::super) const OF_APPOINTMENTS: &str = "substr(events.name, 1, 12) = 'appointment.'";

/// The condition that an event is about a call: word for word that of the index `events_of_call`.
pub(in super::super) const OF_CALLS: &str = "substr(events.name, 1, 5) = 'call.'";

/// The condition that an event is about a contact: word for word that of the index `events_of_contact`.
pub(in super::super) const OF_CONTACTS: &str = "substr(events.name, 1, 8) = 'contact.'";

/// The condition that an event reports a lead's change: word for word that of the index `events_of_changed_lead`.
pub(in super::super) const OF_CHANGED_LEADS: &str = "events.name = 'lead.updated'";

impl Session<Write> {
    /// Returns the next events of a record that meet a condition, after a number, with their lengths.
    pub(super) async fn events_of(
        &mut self,
        business: BusinessId,
        record: i64,
        condition: &str,
        after: i64,
    ) -> StoreResult<Vec<(i64, i32)>> {
        events::table
            .filter(events::business_id.eq(business.get()))
            .filter(events::record.eq(record))
            .filter(sql::<Bool>(condition))
            .filter(events::sequence.gt(after))
            .order(events::sequence)
            .limit(READ_AT_ONCE)
            .select((events::sequence, octet_length(events::data)))
            .load(self.conn().await?)
            .await
    }

    /// Returns the latest events of a contact below a number, with their lengths.
    pub(super) async fn contact_events_below(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        below: i64,
    ) -> StoreResult<Vec<(i64, i32)>> {
        events::table
            .filter(events::business_id.eq(business.get()))
            .filter(events::record.eq(contact.get()))
            .filter(sql::<Bool>(OF_CONTACTS))
            .filter(events::sequence.lt(below))
            .order(events::sequence.desc())
            .limit(READ_AT_ONCE)
            .select((events::sequence, octet_length(events::data)))
            .load(self.conn().await?)
            .await
    }

    /// Leaves only the record's id in these events.
    pub(in super::super) async fn empty_events(
        &mut self,
        business: BusinessId,
        record: i64,
        sequences: Vec<i64>,
    ) -> StoreResult<()> {
        let emptied = events::table
            .filter(events::business_id.eq(business.get()))
            .filter(events::sequence.eq_any(sequences));
        diesel::update(emptied)
            .set(events::data.eq(format!(r#"{{"id":{record}}}"#)))
            .execute(self.conn().await?)
            .await
            .map(drop)
    }

    /// Returns the data of these events, by sequence number.
    pub(super) async fn event_data(
        &mut self,
        business: BusinessId,
        sequences: Vec<i64>,
    ) -> StoreResult<HashMap<i64, String>> {
        let data: Vec<(i64, String)> = events::table
            .filter(events::business_id.eq(business.get()))
            .filter(events::sequence.eq_any(sequences))
            .select((events::sequence, events::data))
            .load(self.conn().await?)
            .await?;
        Ok(data.into_iter().collect())
    }

    /// Takes the person out of a record's events, as far as the budget goes. Returns the last number done, or `None` if there was
    /// no budget.
    pub(super) async fn clean_events(
        &mut self,
        business: BusinessId,
        area: &'static dyn PersonalArea,
        recorded: Vec<(i64, i32)>,
        person: &Person,
        budget: &mut Budget,
    ) -> StoreResult<Option<i64>> {
        let affordable = budget.afford(&recorded);
        let Some(&last) = affordable.last() else {
            return Ok(None);
        };
        for (sequence, data) in self.event_data(business, affordable).await? {
            let mut shown: Value = serde_json::from_str(&data).map_err(other)?;
            if area.forget_in_event(&mut shown, person) {
                self.rewrite_event(business, sequence, &shown, budget).await?;
            }
        }
        Ok(Some(last))
    }

    async fn rewrite_event(
        &mut self,
        business: BusinessId,
        sequence: i64,
        shown: &Value,
        budget: &mut Budget,
    ) -> StoreResult<()> {
        diesel::update(events::table.find((business.get(), sequence)))
            .set(events::data.eq(shown.to_string()))
            .execute(self.conn().await?)
            .await?;
        budget.changed.push(sequence);
        Ok(())
    }

    /// Returns the event of a lead's creation, if it is still in the log. Leads are created in the order of their ids, and the
    /// event comes no earlier than the lead. So it is the first one of a lead with this id or a higher one.
    pub(in super::super) async fn lead_creation(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        created: Timestamp,
    ) -> StoreResult<Option<(i64, i32)>> {
        let latest = super::super::events::latest(self.conn().await?, business).await?.0;
        let since = if super::super::events::are_stamps_unordered(self.conn().await?, business).await? {
            1
        } else {
            webhooks::first_since(self.conn().await?, business, created, 1, latest).await?
        };
        let first: Option<(i64, i64, i32)> = events::table
            .filter(events::business_id.eq(business.get()))
            .filter(events::sequence.ge(since))
            .filter(events::name.eq(EventName::LeadCreated.as_str()))
            .filter(events::record.ge(lead.get()))
            .order(events::sequence)
            .limit(1)
            .select((events::sequence, events::record, octet_length(events::data)))
            .get_optional(self.conn().await?)
            .await?;
        let own = first.filter(|(_, record, _)| *record == lead.get());
        Ok(own.map(|(sequence, _, length)| (sequence, length)))
    }

    /// Drops the receivers' answers to these events, and those of attempts under way: they may repeat the data that was sent.
    pub(in super::super) async fn forget_answers(&mut self, business: BusinessId, events: &[i64]) -> StoreResult<()> {
        for events in events.chunks(NAMED_AT_ONCE) {
            webhooks::lock_deliveries_of(self.conn().await?, business, events).await?;
            // In this order: an attempt that is recorded between the two has its answer by the second one.
            let under_way = webhook_deliveries::table
                .filter(webhook_deliveries::business_id.eq(business.get()))
                .filter(webhook_deliveries::lease.is_not_null())
                .filter(webhook_deliveries::sequence.eq_any(events.to_vec()));
            diesel::update(under_way)
                .set(webhook_deliveries::forget_answer.eq(true))
                .execute(self.conn().await?)
                .await?;
            let answered = webhook_deliveries::table
                .filter(webhook_deliveries::business_id.eq(business.get()))
                .filter(webhook_deliveries::sequence.is_not_null())
                .filter(webhook_deliveries::sequence.eq_any(events.to_vec()))
                .filter(webhook_deliveries::response_body.is_not_null());
            diesel::update(answered)
                .set(webhook_deliveries::response_body.eq(None::<String>))
                .execute(self.conn().await?)
                .await?;
        }
        Ok(())
    }

    /// Takes the person out of the next mails that wait to be sent. Returns the last mail done, or `None` if none is left.
    pub(in super::super) async fn clean_mails(
        &mut self,
        business: BusinessId,
        after: i64,
        person: &Person,
        budget: &mut Budget,
    ) -> StoreResult<Option<i64>> {
        let waiting = mails::table
            .filter(mails::business_id.eq(business.get()))
            .filter(mails::id.gt(after))
            .order(mails::id)
            .limit(READ_AT_ONCE)
            .select((mails::id, octet_length(mails::text)));
        let waiting: Vec<(i64, i32)> = for_no_key_update(waiting).load(self.conn().await?).await?;
        if waiting.is_empty() {
            return Ok(None);
        }
        let affordable = budget.afford(&waiting);
        let last = affordable.last().copied().unwrap_or(after);
        let waiting: Vec<(i64, String, String, String, bool, Option<i64>)> = mails::table
            .filter(mails::business_id.eq(business.get()))
            .filter(mails::id.eq_any(affordable))
            .select((
                mails::id,
                mails::recipient,
                mails::subject,
                mails::text,
                mails::attachments.is_not_null(),
                mails::contact_id,
            ))
            .load(self.conn().await?)
            .await?;
        for (id, recipient, mut subject, mut text, has_attachments, about) in waiting {
            let is_theirs = person.has_email(&recipient) || about == Some(person.contact().get());
            // Nobody can be taken out of an attachment, so the mail goes with it.
            let names_them = || person.is_in_mail(&text) || person.is_in_mail(&subject);
            if is_theirs || has_attachments && names_them() {
                diesel::delete(mails::table.find(id))
                    .execute(self.conn().await?)
                    .await?;
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
                .await?;
        }
        Ok(Some(last))
    }

    /// Empties our own answers that are kept for retries but for an id: those about a record, or else those that show the
    /// contact. Returns `true` if none is left.
    pub(in super::super) async fn empty_answers(
        &mut self,
        business: BusinessId,
        about: Option<(i32, i64)>,
        contact: ContactId,
        budget: &mut Budget,
    ) -> StoreResult<bool> {
        macro_rules! next {
            ($($condition:expr),+) => {
                idempotency_keys::table
                    .filter(idempotency_keys::business_id.eq(business.get()))
                    $(.filter($condition))+
                    .limit(budget.records.clamp(1, READ_AT_ONCE))
                    .select((idempotency_keys::key, idempotency_keys::body))
                    .load(self.conn().await?)
                    .await?
            };
        }
        let stored: Vec<(String, Option<Vec<u8>>)> = match about {
            Some((kind, record)) => next!(
                idempotency_keys::kind.assume_not_null().eq(kind),
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
                    budget.bytes -= i64::try_from(body.len()).unwrap_or(i64::MAX);
                    let cipher = self.dependencies.cipher()?;
                    let place = idempotency::place(business, &key);
                    // An unreadable answer is emptied all the same.
                    let shown = cipher.open(&body, &place).unwrap_or_default();
                    let shown: Value = serde_json::from_slice(&shown).unwrap_or_default();
                    let known = about.map_or(contact.get(), |(_, record)| record);
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
                .await?;
        }
        Ok(false)
    }
}

/// All events of a business.
pub(super) struct Events;

#[async_trait]
impl PersonalTexts for Events {
    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: BusinessId,
        _: Option<i64>,
        after: i64,
        person: &Person,
        budget: &mut Budget,
    ) -> StoreResult<Option<i64>> {
        let next: Vec<(i64, i32)> = events::table
            .filter(events::business_id.eq(business.get()))
            .filter(events::sequence.gt(after))
            .order(events::sequence)
            .limit(READ_AT_ONCE)
            .select((events::sequence, octet_length(events::data)))
            .load(session.conn().await?)
            .await?;
        let affordable = budget.afford(&next);
        let Some(&last) = affordable.last() else {
            return Ok(None);
        };
        for (sequence, data) in session.event_data(business, affordable).await? {
            if !person.is_certainly_in_json(&data) {
                continue;
            }
            let mut shown: Value = serde_json::from_str(&data).map_err(other)?;
            if person.redact_certain_value(&mut shown) {
                session.rewrite_event(business, sequence, &shown, budget).await?;
            }
        }
        Ok(Some(last))
    }
}

/// The answers of endpoints to deliveries.
pub(super) struct ReceivedAnswers;

#[async_trait]
impl PersonalTexts for ReceivedAnswers {
    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: BusinessId,
        _: Option<i64>,
        after: i64,
        person: &Person,
        budget: &mut Budget,
    ) -> StoreResult<Option<i64>> {
        let answered: Vec<(i64, String)> = webhook_deliveries::table
            .filter(webhook_deliveries::business_id.eq(business.get()))
            .filter(webhook_deliveries::id.gt(after))
            .filter(webhook_deliveries::response_body.is_not_null())
            .order(webhook_deliveries::id)
            .limit(READ_AT_ONCE)
            .select((
                webhook_deliveries::id,
                webhook_deliveries::response_body.assume_not_null(),
            ))
            .load(session.conn().await?)
            .await?;
        let Some(&(last, _)) = answered.last() else {
            return Ok(None);
        };
        let bytes: usize = answered.iter().map(|(_, answer)| answer.len() + 64).sum();
        budget.spend(bytes);
        let naming = answered.iter().filter(|(_, answer)| person.is_certainly_in(answer));
        let naming: Vec<i64> = naming.map(|(id, _)| *id).collect();
        if !naming.is_empty() {
            let forgotten = webhook_deliveries::table
                .filter(webhook_deliveries::business_id.eq(business.get()))
                .filter(webhook_deliveries::id.eq_any(naming));
            diesel::update(forgotten)
                .set(webhook_deliveries::response_body.eq(None::<String>))
                .execute(session.conn().await?)
                .await?;
        }
        Ok(Some(last))
    }
}
