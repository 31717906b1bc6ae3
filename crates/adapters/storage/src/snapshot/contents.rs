//! The examination of a copy's rows.

use std::fmt::Display;

use forecourt_kernel::{BusinessId, StoreResult};

use super::digest::Value;
use super::file::Snapshot;
use super::gaps::gaps_in;
use crate::secrets::{Keyring, SecretKey};

/// Something that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rule that is broken.
    pub what: String,
    /// The place: a table, a business, a record.
    pub place: String,
    /// The state that was found.
    pub found: String,
}

impl Fault {
    /// A fault of these texts.
    pub fn new(what: &str, place: impl Display, found: impl Display) -> Self {
        Self {
            what: what.to_owned(),
            place: place.to_string(),
            found: found.to_string(),
        }
    }
}

/// The numbers that a business has given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusinessNumbers {
    /// The id.
    pub id: i64,
    /// The tag.
    pub tag: String,
    /// The oldest event that is kept; the next one if none is.
    pub first_event: i64,
    /// The event that was recorded last.
    pub last_event: i64,
    /// The latest reference of a lead.
    pub lead_reference: i64,
    /// The latest number of an invoice.
    pub invoice_number: i64,
    /// The latest number of a credit note.
    pub credit_number: i64,
}

/// A recorded file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// The business that owns it.
    pub business: BusinessId,
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// The most faults of one kind that are listed.
const MAX_FAULTS: usize = 100;

impl Snapshot {
    /// Returns the numbers of all businesses, in the order of their ids.
    ///
    /// # Errors
    /// The file cannot be read, or has another schema.
    pub fn businesses(&mut self) -> StoreResult<Vec<BusinessNumbers>> {
        let mut businesses = Vec::new();
        let number = |kind: &str| {
            format!("coalesce((SELECT number FROM counters WHERE business_id = businesses.id AND kind = '{kind}'), 0)")
        };
        let query = format!(
            "SELECT id, tag, {0}, coalesce((SELECT min(sequence) FROM events WHERE business_id = businesses.id), {0} + 1),
                {1}, {2}, {3} FROM businesses WHERE deleted IS NULL ORDER BY id",
            number("events"),
            number("leads"),
            number("invoices"),
            number("credits")
        );
        self.each_row(&query, |row| {
            if let [
                Value::Integer(id),
                Value::Text(tag),
                Value::Integer(last_event),
                Value::Integer(first_event),
                Value::Integer(lead_reference),
                Value::Integer(invoice_number),
                Value::Integer(credit_number),
            ] = row.as_slice()
            {
                businesses.push(BusinessNumbers {
                    id: *id,
                    tag: tag.clone(),
                    first_event: *first_event,
                    last_event: *last_event,
                    lead_reference: *lead_reference,
                    invoice_number: *invoice_number,
                    credit_number: *credit_number,
                });
            }
            Ok(())
        })?;
        Ok(businesses)
    }

    /// Returns the businesses with the most records, the largest first.
    ///
    /// # Errors
    /// As for [`Snapshot::businesses`].
    pub fn businesses_by_size(&mut self) -> StoreResult<Vec<BusinessId>> {
        let query = "SELECT id FROM businesses WHERE deleted IS NULL
            ORDER BY (SELECT count(*) FROM events WHERE business_id = id) + (SELECT count(*) FROM leads WHERE business_id = id)
                + (SELECT count(*) FROM contacts WHERE business_id = id) + (SELECT count(*) FROM vehicles WHERE business_id = id)
                DESC, id";
        Ok(self
            .integers::<1>(query)?
            .into_iter()
            .map(|[id]| BusinessId::new(id))
            .collect())
    }

    /// Returns all recorded files.
    ///
    /// # Errors
    /// As for [`Snapshot::businesses`].
    pub fn files(&mut self) -> StoreResult<Vec<StoredFile>> {
        let mut files = Vec::new();
        let query = "SELECT business_id, name, size, sha256 FROM files ORDER BY business_id, name";
        self.each_row(query, |row| {
            if let [
                Value::Integer(business),
                Value::Text(name),
                Value::Integer(bytes),
                Value::Text(sha256),
            ] = row.as_slice()
            {
                files.push(StoredFile {
                    business: BusinessId::new(*business),
                    name: name.clone(),
                    bytes: bytes.unsigned_abs(),
                    sha256: sha256.clone(),
                });
            }
            Ok(())
        })?;
        Ok(files)
    }

    /// Returns true if the secrets in the file were encrypted with `key`, or none ever was.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn accepts_key(&mut self, key: &SecretKey) -> StoreResult<bool> {
        let proof = self.meta("secret_proof")?;
        Ok(proof.is_none_or(|proof| Keyring::from(key.clone()).proves(&proof)))
    }

    /// Returns the faults in the numbers that businesses give out: events, references, invoices, orders, purchases, the credits of invoices and purchases, and the stock book.
    ///
    /// # Errors
    /// As for [`Snapshot::businesses`].
    pub fn number_faults(&mut self) -> StoreResult<Vec<Fault>> {
        let mut faults = Vec::new();
        let gaps = "SELECT business_id, sequence, next FROM (
                SELECT business_id, sequence, lead(sequence) OVER (PARTITION BY business_id ORDER BY sequence) AS next FROM events
            ) WHERE next <> sequence + 1";
        for [business, before, after] in self.integers(gaps)? {
            let found = format!("after {before} comes {after}");
            faults.push(Fault::new(
                "event numbers have no gap",
                format!("events of business {business}"),
                found,
            ));
        }
        let numbers = self.businesses()?;
        for business in &numbers {
            let place = |kind: &str| format!("{kind} of business {}", business.id);
            let last = format!(
                "SELECT coalesce(max(sequence), {0}) FROM events WHERE business_id = {1}",
                business.last_event, business.id
            );
            if let Some([last]) = self
                .integers::<1>(&last)?
                .first()
                .filter(|[last]| *last != business.last_event)
            {
                let found = format!("the last event is {last}, the counter says {}", business.last_event);
                faults.push(Fault::new("the last event is the counter's", place("events"), found));
            }
            let references = format!(
                "SELECT reference, count(*) FROM leads WHERE business_id = {} GROUP BY reference
                     HAVING count(*) > 1 OR reference > {} OR reference < 1 LIMIT {MAX_FAULTS}",
                business.id, business.lead_reference
            );
            for [reference, leads] in self.integers(&references)? {
                let found = format!(
                    "{leads} leads have {reference}, the counter says {}",
                    business.lead_reference
                );
                faults.push(Fault::new(
                    "each lead reference was given out once",
                    place("leads"),
                    found,
                ));
            }
            let invoices = format!(
                "SELECT number FROM invoices WHERE business_id = {} AND number IS NOT NULL",
                business.id
            );
            let credits = format!(
                "SELECT CAST(substr(json_extract(note.value, '$.number'), 4) AS INTEGER)
                     FROM invoices, json_each(document, '$.credit_notes') AS note WHERE business_id = {}",
                business.id
            );
            let orders = format!(
                "SELECT number FROM orders WHERE business_id = {} AND number IS NOT NULL",
                business.id
            );
            let purchases = format!(
                "SELECT number FROM purchases WHERE business_id = {} AND number IS NOT NULL",
                business.id
            );
            let purchase_credits = format!(
                "SELECT number FROM purchase_credits WHERE business_id = {}",
                business.id
            );
            let stock_book = format!("SELECT id FROM stock_book WHERE business_id = {}", business.id);
            let mut latest = |kind| self.latest_number(business.id, kind);
            let (latest_order, latest_purchase) = (latest("orders")?, latest("purchases")?);
            let latest_purchase_credit = latest("purchase_credits")?;
            let latest_entry = latest("stock_book")?;
            for (kind, query, latest) in [
                ("invoices", invoices, business.invoice_number),
                ("credit notes", credits, business.credit_number),
                ("orders", orders, latest_order),
                ("purchases", purchases, latest_purchase),
                ("credits of purchases", purchase_credits, latest_purchase_credit),
                ("stock book", stock_book, latest_entry),
            ] {
                let mut found: Vec<i64> = self.integers::<1>(&query)?.into_iter().map(|[number]| number).collect();
                found.sort_unstable();
                faults
                    .extend(gaps_in(&found, latest).map(|found| Fault::new("numbers have no gap", place(kind), found)));
            }
        }
        faults.truncate(MAX_FAULTS);
        Ok(faults)
    }

    /// Returns the latest number that a counter gave out.
    fn latest_number(&mut self, business: i64, kind: &str) -> StoreResult<i64> {
        let latest =
            format!("SELECT coalesce(max(number), 0) FROM counters WHERE business_id = {business} AND kind = '{kind}'");
        Ok(self.integers::<1>(&latest)?.first().map_or(0, |[latest]| *latest))
    }

    /// Returns the listings whose hash is not that of their content, which `hash_of` computes.
    ///
    /// # Errors
    /// As for [`Snapshot::businesses`].
    pub fn listing_faults(&mut self, hash_of: impl Fn(&str) -> Option<String>) -> StoreResult<Vec<Fault>> {
        let mut faults = Vec::new();
        self.each_row("SELECT business_id, id, hash, json FROM listings", |row| {
            if let [
                Value::Integer(business),
                Value::Integer(id),
                Value::Text(hash),
                Value::Text(json),
            ] = row.as_slice()
                && hash_of(json).as_ref() != Some(hash)
                && faults.len() < MAX_FAULTS
            {
                let place = format!("listing {id} of business {business}");
                faults.push(Fault::new("a listing's hash is that of its content", place, hash));
            }
            Ok(())
        })?;
        Ok(faults)
    }

    /// Returns the webhook secrets and stored answers that `key` does not decrypt.
    ///
    /// # Errors
    /// As for [`Snapshot::businesses`].
    pub fn secret_faults(&mut self, key: &SecretKey) -> StoreResult<Vec<Fault>> {
        const RULE: &str = "what is encrypted can be decrypted";
        let cipher = Keyring::from(key.clone());
        let mut faults = Vec::new();
        let secrets = "SELECT business_id, id, secret FROM webhooks WHERE deleted IS NULL";
        self.each_row(secrets, |row| {
            if let [Value::Integer(business), Value::Integer(id), Value::Binary(secret)] = row.as_slice()
                && let Err(error) = cipher.open(secret, format!("webhook/{business}").as_bytes())
            {
                faults.push(Fault::new(
                    RULE,
                    format!("the secret of webhook {id} of business {business}"),
                    error,
                ));
            }
            Ok(())
        })?;
        let answers = "SELECT business_id, key, body FROM idempotency_keys WHERE body IS NOT NULL";
        self.each_row(answers, |row| {
            if let [Value::Integer(business), Value::Text(name), Value::Binary(body)] = row.as_slice() {
                let opened = cipher.open(body, format!("idempotency/{business}/{name}").as_bytes());
                if opened.is_err() {
                    let place = format!("the stored answer of {name:?} of business {business}");
                    faults.push(Fault::new(
                        RULE,
                        place,
                        "it was encrypted with another key, or is damaged",
                    ));
                }
            }
            Ok(())
        })?;
        faults.truncate(MAX_FAULTS);
        Ok(faults)
    }
}
