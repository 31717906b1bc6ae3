//! What a contact's deletion takes with it: see [`ContactStore::erase_contact`](forecourt_contacts::ContactStore).

use std::ops::Range;

use diesel::dsl::sql;
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use forecourt_accounts::IdempotencyKey;
use forecourt_contacts::Contact;
use forecourt_kernel::{BusinessId, ContactId, EventName, StoreResult, VehicleId, fold};
use forecourt_leads::{Lead, LeadData, LeadStore};
use forecourt_vehicles::{AppraisalDetails, Vehicle, VehicleStore};
use serde_json::{Map, Value, json};

use super::super::database::Writing;
use super::super::{dialect, idempotency, webhooks as log};
use super::count_writes;
use super::numbers::Number;
use crate::error::{other, store_error};
use crate::models::{LeadRow, VehicleRow};
use crate::schema::{contacts, events, idempotency_keys, leads, mails, vehicles, webhook_deliveries};

/// How many deliveries are named in one statement.
const NAMED_AT_ONCE: usize = 500;

/// How many of a contact's events, the latest ones, are looked through for what it was called before.
const LOOKED_THROUGH: i64 = 1000;

/// That an event tells of a contact: word for word the condition of the index `events_of_contact`.
pub(super) fn of_contacts() -> SqlLiteral<Bool> {
    sql::<Bool>("substr(events.name, 1, 8) = 'contact.'")
}

/// That an event tells of a vehicle: word for word the condition of the index `events_of_vehicle`.
fn of_vehicles() -> SqlLiteral<Bool> {
    sql::<Bool>("substr(events.name, 1, 8) = 'vehicle.'")
}

impl Writing {
    pub(super) async fn erase(&mut self, business: BusinessId, contact: &Contact) -> StoreResult<()> {
        // Whoever links a lead to the contact is waited for, and nobody else begins to.
        let row = contacts::table.find((business.get(), contact.id.get()));
        let _: Option<i64> = dialect::owned!(row.select(contacts::id))
            .get_result(self.conn())
            .await
            .optional()
            .map_err(store_error)?;
        let linked = self.lock_linked(business, contact.id).await?;
        let named_in = self.lock_naming(business, contact.id).await?;
        count_writes(self.conn(), business, -1).await?;
        let own = self.own(business, contact).await?;
        let mut changed = self.empty_events(business, contact.id).await?;
        for lead in linked {
            changed.extend(self.forget_in_events(business, &lead, &own).await?);
            self.unlink(business, lead, &own).await?;
        }
        for vehicle in named_in {
            changed.extend(self.forget_in_vehicle_events(business, vehicle.id, &own).await?);
            self.forget_in_vehicle(business, vehicle, &own).await?;
        }
        self.forget_answers(business, &changed).await?;
        self.forget_replies(business, contact.id).await?;
        self.forget_in_mails(business, &own).await?;
        diesel::delete(row)
            .execute(self.conn())
            .await
            .map(drop)
            .map_err(store_error)
    }

    /// What tells who the contact is, and who it was as far as its events still tell.
    async fn own(&mut self, business: BusinessId, contact: &Contact) -> StoreResult<Own> {
        let told: Vec<String> = events::table
            .filter(events::business_id.eq(business.get()))
            .filter(events::record.eq(contact.id.get()))
            .filter(of_contacts())
            // Not the number itself: else it might seem wise to walk all events in its order.
            .order((events::sequence + 0).desc())
            .limit(LOOKED_THROUGH)
            .select(events::data)
            .load(self.conn())
            .await
            .map_err(store_error)?;
        let mut own = Own::of(contact);
        for data in told {
            own.add_shown(&serde_json::from_str(&data).map_err(other)?);
        }
        Ok(own.longest_first())
    }

    /// The leads that are linked to the contact.
    async fn lock_linked(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<Vec<Lead>> {
        let query = leads::table
            .filter(leads::business_id.eq(business.get()))
            .filter(leads::contact.assume_not_null().eq(contact.get()))
            .order((leads::contact, leads::id))
            .select(LeadRow::as_select());
        let rows: Vec<LeadRow> = dialect::locked!(query).load(self.conn()).await.map_err(store_error)?;
        rows.into_iter().map(Lead::try_from).collect()
    }

    /// Leaves the contact's own events nothing but its id, and answers which they are.
    async fn empty_events(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<Vec<i64>> {
        let told = events::table
            .filter(events::business_id.eq(business.get()))
            .filter(events::record.eq(contact.get()))
            .filter(of_contacts());
        diesel::update(told)
            .set(events::data.eq(format!(r#"{{"id":{contact}}}"#)))
            .returning(events::sequence)
            .get_results(self.conn())
            .await
            .map_err(store_error)
    }

    /// Takes what is the contact's own out of a lead's events, and answers in which it was.
    async fn forget_in_events(&mut self, business: BusinessId, lead: &Lead, own: &Own) -> StoreResult<Vec<i64>> {
        let mut told: Vec<(i64, String)> = events::table
            .filter(events::business_id.eq(business.get()))
            .filter(events::record.eq(lead.id.get()))
            // As the index says it.
            .filter(sql::<Bool>("events.name = 'lead.updated'"))
            .select((events::sequence, events::data))
            .load(self.conn())
            .await
            .map_err(store_error)?;
        told.extend(self.creation(business, lead).await?);
        let mut changed = Vec::new();
        for (sequence, data) in told {
            let mut data: Map<String, Value> = serde_json::from_str(&data).map_err(other)?;
            if !forget(&mut data, own) {
                continue;
            }
            let data = serde_json::to_string(&data).map_err(other)?;
            diesel::update(events::table.find((business.get(), sequence)))
                .set(events::data.eq(data))
                .execute(self.conn())
                .await
                .map_err(store_error)?;
            changed.push(sequence);
        }
        Ok(changed)
    }

    /// The event of a lead's creation, if it is still in the log. Leads are created in the order of their ids, and the event
    /// comes no earlier than the lead: so it is the first one of a lead with this id or a higher one.
    async fn creation(&mut self, business: BusinessId, lead: &Lead) -> StoreResult<Option<(i64, String)>> {
        let latest = log::latest(self.conn(), business).await?.0;
        let since = log::first_since(self.conn(), business, lead.created, 1, latest).await?;
        let first: Option<(i64, i64, String)> = events::table
            .filter(events::business_id.eq(business.get()))
            .filter(events::sequence.ge(since))
            .filter(events::name.eq(EventName::LeadCreated.as_str()))
            .filter(events::record.ge(lead.id.get()))
            .order(events::sequence)
            .limit(1)
            .select((events::sequence, events::record, events::data))
            .get_result(self.conn())
            .await
            .optional()
            .map_err(store_error)?;
        let own = first.filter(|(_, record, _)| *record == lead.id.get());
        Ok(own.map(|(sequence, _, data)| (sequence, data)))
    }

    /// Takes the contact out of a lead. That is no change that anybody made to the lead: its stamp stays.
    async fn unlink(&mut self, business: BusinessId, mut lead: Lead, own: &Own) -> StoreResult<()> {
        let content = &mut lead.content;
        content.contact = None;
        for (text, kind) in [
            (&mut content.name, Kind::Name),
            (&mut content.email, Kind::Email),
            (&mut content.phone, Kind::Number),
            (&mut content.mobile, Kind::Number),
        ] {
            if own.is(kind, text) {
                text.clear();
            }
        }
        let mut data: Value = serde_json::from_str(content.data.as_str()).map_err(other)?;
        if own.take_out(&mut data)
            && let Value::Object(members) = data
        {
            content.data = LeadData::default().merged(members).map_err(other)?;
        }
        let ai = content.ai.iter_mut();
        let ai = ai.flat_map(|ai| [&mut ai.rating_reason, &mut ai.next_action]);
        for text in ai.chain([&mut content.summary]).flatten() {
            own.take_out_of(text);
        }
        self.save_lead(business, &lead).await
    }

    /// The vehicles that the contact has offered, funded or supplied, those that are deleted as well.
    async fn lock_naming(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<Vec<Vehicle>> {
        let named = vehicles::contact
            .assume_not_null()
            .eq(contact.get())
            .or(vehicles::funder.assume_not_null().eq(contact.get()))
            .or(vehicles::supplier.assume_not_null().eq(contact.get()));
        let query = vehicles::table
            .filter(vehicles::business_id.eq(business.get()))
            .filter(named)
            // Not the id itself: else it might seem wise to walk all vehicles in its order.
            .order((vehicles::id + 0).asc())
            .select(VehicleRow::as_select());
        let rows: Vec<VehicleRow> = dialect::locked!(query).load(self.conn()).await.map_err(store_error)?;
        rows.into_iter().map(Vehicle::try_from).collect()
    }

    /// Takes the contact out of a vehicle's events, and answers in which they were.
    async fn forget_in_vehicle_events(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        own: &Own,
    ) -> StoreResult<Vec<i64>> {
        let told: Vec<(i64, String)> = events::table
            .filter(events::business_id.eq(business.get()))
            .filter(events::record.eq(vehicle.get()))
            .filter(of_vehicles())
            .select((events::sequence, events::data))
            .load(self.conn())
            .await
            .map_err(store_error)?;
        let mut changed = Vec::new();
        for (sequence, data) in told {
            let mut data: Value = serde_json::from_str(&data).map_err(other)?;
            if !forget_named(&mut data, own) {
                continue;
            }
            diesel::update(events::table.find((business.get(), sequence)))
                .set(events::data.eq(data.to_string()))
                .execute(self.conn())
                .await
                .map_err(store_error)?;
            changed.push(sequence);
        }
        Ok(changed)
    }

    /// Takes the contact out of a vehicle. That is no change that anybody made to the vehicle: its stamp stays.
    async fn forget_in_vehicle(&mut self, business: BusinessId, mut vehicle: Vehicle, own: &Own) -> StoreResult<()> {
        let data = &mut vehicle.content.data;
        if data.appraisal.details.customer_id.0.is_some_and(|id| id.0 == own.id) {
            data.appraisal.details = AppraisalDetails::default();
        }
        let stock = &mut data.stock;
        for (id, name) in [
            (&mut stock.funding_provider_id, &mut stock.funding_provider),
            (&mut stock.purchase_supplier_id, &mut stock.purchase_supplier),
        ] {
            if *id == Some(own.id) {
                *id = None;
                if own.is(Kind::Name, name) {
                    name.clear();
                }
            }
        }
        self.save_vehicle(business, &vehicle).await
    }

    /// Drops what receivers answered to these events, and what they are about to answer: they may repeat what they were sent.
    async fn forget_answers(&mut self, business: BusinessId, events: &[i64]) -> StoreResult<()> {
        for events in events.chunks(NAMED_AT_ONCE) {
            // In this order: an attempt that is recorded between the two has its answer by the second one.
            let under_way = webhook_deliveries::table
                .filter(webhook_deliveries::business_id.eq(business.get()))
                .filter(webhook_deliveries::lease.is_not_null())
                .filter(webhook_deliveries::sequence.eq_any(events.to_vec()));
            diesel::update(under_way)
                .set(webhook_deliveries::forget_answer.eq(true))
                .execute(self.conn())
                .await
                .map_err(store_error)?;
            let answered = webhook_deliveries::table
                .filter(webhook_deliveries::business_id.eq(business.get()))
                .filter(webhook_deliveries::sequence.is_not_null())
                .filter(webhook_deliveries::sequence.eq_any(events.to_vec()))
                .filter(webhook_deliveries::response_body.is_not_null());
            diesel::update(answered)
                .set(webhook_deliveries::response_body.eq(None::<String>))
                .execute(self.conn())
                .await
                .map_err(store_error)?;
        }
        Ok(())
    }

    /// Takes what is the contact's own out of the mails that wait to be sent.
    async fn forget_in_mails(&mut self, business: BusinessId, own: &Own) -> StoreResult<()> {
        let waiting = mails::table
            .filter(mails::business_id.eq(business.get()))
            .order(mails::id)
            .select((mails::id, mails::subject, mails::text));
        let waiting: Vec<(i64, String, String)> =
            dialect::locked!(waiting).load(self.conn()).await.map_err(store_error)?;
        for (id, mut subject, mut text) in waiting {
            if !own.is_in(&text) && !own.is_in(&subject) {
                continue;
            }
            own.take_out_of(&mut subject);
            own.take_out_of(&mut text);
            diesel::update(mails::table.find(id))
                .set((mails::subject.eq(subject), mails::text.eq(text)))
                .execute(self.conn())
                .await
                .map_err(store_error)?;
        }
        Ok(())
    }

    /// Leaves our own answers that show the contact, kept for retries, nothing but the id of what they are about.
    async fn forget_replies(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<()> {
        let stored: Vec<(String, Option<Vec<u8>>)> = idempotency_keys::table
            .filter(idempotency_keys::business_id.eq(business.get()))
            .filter(idempotency_keys::contact.assume_not_null().eq(contact.get()))
            .select((idempotency_keys::key, idempotency_keys::body))
            .load(self.conn())
            .await
            .map_err(store_error)?;
        for (key, body) in stored {
            let (Ok(key), Some(body)) = (key.parse::<IdempotencyKey>(), body) else {
                continue;
            };
            let place = idempotency::place(business, &key);
            let shown: Value = serde_json::from_slice(&self.tools.vault()?.open(&body, &place)?).unwrap_or_default();
            let id = shown["data"]["id"].as_i64().unwrap_or(contact.get());
            let body = json!({"success": true, "data": {"id": id}}).to_string();
            let sealed = self
                .tools
                .vault()?
                .seal(body.as_bytes(), &place, self.tools.random.as_ref())?;
            diesel::update(idempotency_keys::table.find((business.get(), key.as_str())))
                .set(idempotency_keys::body.eq(Some(sealed)))
                .execute(self.conn())
                .await
                .map_err(store_error)?;
        }
        Ok(())
    }
}

/// Empties what in a lead's representation is the contact's own, and the link to them; `false` if nothing is.
fn forget(lead: &mut Map<String, Value>, own: &Own) -> bool {
    let mut changed = false;
    if let Some(contact) = lead.get_mut("contact")
        && contact.as_i64() == Some(own.id.get())
    {
        *contact = Value::Null;
        changed = true;
    }
    for (member, kind) in [
        ("name", Kind::Name),
        ("email", Kind::Email),
        ("phone", Kind::Number),
        ("mobile", Kind::Number),
    ] {
        if let Some(Value::String(text)) = lead.get_mut(member)
            && own.is(kind, text)
        {
            text.clear();
            changed = true;
        }
    }
    for member in ["data", "summary", "ai"] {
        if let Some(value) = lead.get_mut(member) {
            changed |= own.take_out(value);
        }
    }
    changed
}

/// Empties what names the contact in a vehicle's representation; `false` if nothing does.
fn forget_named(vehicle: &mut Value, own: &Own) -> bool {
    let mut changed = false;
    for (section, id, name, none) in [
        ("/data/appraisal/details", "customer_id", "customer", Value::from("")),
        ("/data/stock", "funding_provider_id", "funding_provider", Value::Null),
        ("/data/stock", "purchase_supplier_id", "purchase_supplier", Value::Null),
    ] {
        let Some(section) = vehicle.pointer_mut(section).and_then(Value::as_object_mut) else {
            continue;
        };
        let shown = match section.get(id) {
            Some(Value::String(id)) => id.parse().ok(),
            Some(id) => id.as_i64(),
            None => None,
        };
        if shown != Some(own.id.get()) {
            continue;
        }
        // Who offers a vehicle is named by the contact's name, and by nothing else.
        let always = none.is_string();
        section.insert(id.to_owned(), none);
        if let Some(Value::String(name)) = section.get_mut(name)
            && (always || own.is(Kind::Name, name))
        {
            name.clear();
        }
        changed = true;
    }
    changed
}

#[derive(Clone, Copy)]
enum Kind {
    Name,
    Email,
    Number,
}

/// What tells who a contact is or was.
struct Own {
    id: ContactId,
    names: Vec<String>,
    emails: Vec<String>,
    numbers: Vec<Number>,
    /// Lines of addresses, and postcodes.
    addresses: Vec<String>,
}

impl Own {
    fn of(contact: &Contact) -> Self {
        let content = &contact.content;
        let mut own = Self {
            id: contact.id,
            names: Vec::new(),
            emails: Vec::new(),
            numbers: Vec::new(),
            addresses: Vec::new(),
        };
        add(&mut own.names, &content.name);
        add(&mut own.emails, &content.email);
        own.add_number(&content.telephone);
        own.add_number(&content.mobile);
        let address = &content.address;
        for line in [&address.line1, &address.line2, &address.line3, &address.zip] {
            own.add_address(line);
        }
        own
    }

    /// Adds what a representation of the contact shows.
    fn add_shown(&mut self, shown: &Value) {
        let text = |place: &str| shown.pointer(place).and_then(Value::as_str).unwrap_or_default();
        add(&mut self.names, text("/data/name"));
        add(&mut self.emails, text("/email"));
        for place in ["/data/telephone", "/data/mobile"] {
            self.add_number(text(place));
        }
        for member in ["line1", "line2", "line3", "zip"] {
            self.add_address(text(&format!("/data/address/{member}")));
        }
    }

    fn add_number(&mut self, e164: &str) {
        if !e164.is_empty() && !self.is(Kind::Number, e164) {
            self.numbers.push(Number::new(e164));
        }
    }

    /// A line without a number is as well the name of a place, or of nothing.
    fn add_address(&mut self, line: &str) {
        let tells = line.chars().any(char::is_alphabetic) && line.chars().any(char::is_numeric);
        if tells && line.chars().count() >= TELLING_ADDRESS {
            add(&mut self.addresses, line);
        }
    }

    /// So that no text is left with the rest of a value of which another one is a part.
    fn longest_first(mut self) -> Self {
        for values in [&mut self.names, &mut self.emails, &mut self.addresses] {
            values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        }
        self
    }

    fn is(&self, kind: Kind, text: &str) -> bool {
        !text.is_empty()
            && match kind {
                Kind::Name => self.names.contains(&fold(text)),
                Kind::Email => self.emails.contains(&fold(text)),
                Kind::Number => self.numbers.iter().any(|number| number.e164() == text),
            }
    }

    /// Takes it out of all texts in a value; `false` if it is in none.
    fn take_out(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => self.take_out_of(text),
            Value::Array(items) => items
                .iter_mut()
                .fold(false, |changed, item| self.take_out(item) | changed),
            Value::Object(members) => members
                .values_mut()
                .fold(false, |changed, member| self.take_out(member) | changed),
            Value::Number(digits) if self.numbers.iter().any(|number| number.is(&digits.to_string())) => {
                *value = Value::from(GONE);
                true
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Takes it out of a text, wherever it stands there by itself; `false` if it does not.
    fn take_out_of(&self, text: &mut String) -> bool {
        let words = self.emails.iter().chain(&self.names).chain(&self.addresses);
        let changed = words.fold(false, |changed, value| {
            let places = places(text, value);
            replace(text, &places) | changed
        });
        self.numbers.iter().fold(changed, |changed, number| {
            let places = number.places(text);
            replace(text, &places) | changed
        })
    }

    /// Whether a mail is about the contact: it has their address, one of their numbers, or a line of nothing but their name.
    fn is_in(&self, mail: &str) -> bool {
        let named = |line: &str| line.split_once(": ").is_some_and(|(_, who)| self.is(Kind::Name, who));
        mail.lines().any(named)
            || self.emails.iter().any(|email| !places(mail, email).is_empty())
            || self.numbers.iter().any(|number| !number.places(mail).is_empty())
    }
}

/// Adds a text, folded, unless it is empty or known.
fn add(values: &mut Vec<String>, text: &str) {
    let folded = fold(text);
    if !folded.is_empty() && !values.contains(&folded) {
        values.push(folded);
    }
}

/// How many characters a line of an address has that is taken out of texts: house numbers alone stand for anything.
const TELLING_ADDRESS: usize = 5;

/// What stands in the place of what is taken out of a text.
const GONE: &str = "…";

/// Takes out of a text what stands in these places; `false` if there are none.
fn replace(text: &mut String, places: &[Range<usize>]) -> bool {
    for place in places.iter().rev() {
        text.replace_range(place.clone(), GONE);
    }
    !places.is_empty()
}

/// Where in a text a folded value stands by itself, without regard to case.
fn places(text: &str, value: &str) -> Vec<Range<usize>> {
    if value.is_empty() {
        return Vec::new();
    }
    // What each byte of the folded text was made of.
    let mut origins: Vec<Range<usize>> = Vec::with_capacity(text.len());
    let mut folded = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        folded.extend(character.to_lowercase());
        origins.resize(folded.len(), at..at + character.len_utf8());
    }
    let is_apart = |character: Option<char>| character.is_none_or(|character| !character.is_alphanumeric());
    let alone = |&(at, _): &(usize, &str)| {
        let (before, behind) = (&folded[..at], &folded[at + value.len()..]);
        is_apart(before.chars().next_back()) && is_apart(behind.chars().next())
    };
    let found = folded.match_indices(value).filter(alone);
    found
        .filter_map(|(at, _)| {
            let (first, last) = (origins.get(at)?, origins.get(at + value.len() - 1)?);
            Some(first.start..last.end)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_left(text: &str, value: &str, expected: &str) {
        let mut left = text.to_owned();
        let found = places(text, value);
        let changed = replace(&mut left, &found);
        assert_eq!((left.as_str(), changed), (expected, text != expected));
    }

    #[test]
    fn a_value_is_taken_out_wherever_it_stands_by_itself() {
        assert_left("Ann, ann and ANN", "ann", "…, … and …");
        assert_left("Hi Annual plan", "ann", "Hi Annual plan");
        assert_left("joann@x.example ann@x.example", "ann@x.example", "joann@x.example …");
        assert_left("ring +447700900123!", "+447700900123", "ring …!");
        assert_left("ZOË, İ Zoë", "zoë", "…, İ …");
        assert_left("İan", "i\u{307}an", "…");
        assert_left("x", "", "x");
    }
}
