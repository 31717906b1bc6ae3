//! Contacts.
//!
//! Their list is in [`listed`].
//!
//! All transactions take locks in one order: a contact, the leads that are linked to it, the vehicles that name it, the
//! business's counters, and then as for webhooks. A part of an erasure locks all the vehicles that it cleans before it changes
//! the first of them.

mod listed;
pub(super) mod people;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use diesel::dsl::{count_star, sql};
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool};
use forecourt_contacts::{
    AddressKeys, BlockKey, Contact, ContactDraft, ContactFilter, ContactNote, ContactReader, ContactStore,
    DuplicateProbe, LOGIN_EMAIL_RULE, LinkedLead, NewNote, PasswordHash, PastEvent,
};
use forecourt_dealership::Loaded;
use forecourt_kernel::{
    BusinessId, ContactId, ContactNoteId, Cursor, Event, EventSequence, LeadId, Page, PageRequest, StaffId, StoreError,
    StoreResult, Timestamp, Version, View, bounds::MAX_NOTES_SHOWN, fold_email,
};
use forecourt_leads::{ContactSuggestion, FullLead, Lead, SenderKeys};
use forecourt_reference::Catalogue;
use serde_json::value::RawValue;

use super::owned::OwnedTable;
use super::page::page_of;
use super::people::OF_CONTACTS;
use super::session::{Mode, Session, Write};
use super::size::{BYTES_AT_ONCE, octet_length, within_bytes};
use super::{Conn, Db, dialect, list};
use crate::error::other;
use crate::models::{ContactRow, ContactValues, ERASURE, LeadRow, LoggedRow, NewContactRow, NewNoteRow, NoteRow};
use crate::schema::{contact_blocks, contact_notes, contacts, deletions, events, leads};
use crate::secrets::Keyring;
use crate::statement::{
    Lock, MayScan as _, Prepare as _, RunQueryDsl, Unlocked, for_key_share, for_no_key_update, locking,
};

/// The kind of their counter.
pub(super) const CONTACTS: &str = "contacts";

pub(super) const OWNED_TABLES: &[OwnedTable] = &[
    OwnedTable::new("contact_notes", "id", 100),
    // Few, as leads are.
    OwnedTable::new("contacts", "id", 20),
    OwnedTable::new("contact_blocks", "key", 500),
];

#[async_trait]
impl<M: Mode> ContactReader for Session<M> {
    async fn contact(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<Contact>> {
        let row = contacts::table
            .find((business.get(), id.get()))
            .select(ContactRow::as_select())
            .get_optional(self.conn().await?)
            .await?;
        whole(self.conn().await?, business, row).await
    }

    async fn contacts(
        &mut self,
        business: BusinessId,
        filter: &ContactFilter,
        page: &PageRequest,
        view: View,
    ) -> StoreResult<Page<Contact>> {
        listed::page(self, business, filter, page, view).await
    }

    async fn contact_like(&mut self, business: BusinessId, probe: &DuplicateProbe) -> StoreResult<Option<ContactId>> {
        let conn = self.conn().await?;
        macro_rules! by {
            ($column:expr, $value:expr) => {
                contacts::table
                    .filter(contacts::business_id.eq(business.get()))
                    .filter($column.eq($value))
                    .order(($column, contacts::id))
                    .limit(1)
                    .select(contacts::id)
                    .get_optional::<i64>(conn)
                    .await?
            };
        }
        let found = match probe {
            DuplicateProbe::Email(email) => by!(contacts::email_folded, email),
            DuplicateProbe::Phone(phone) => {
                let by_telephone = by!(contacts::telephone.assume_not_null(), phone.as_str());
                let by_mobile = by!(contacts::mobile.assume_not_null(), phone.as_str());
                by_telephone.into_iter().chain(by_mobile).min()
            }
            DuplicateProbe::Name(name) => by!(contacts::name_key, name),
            DuplicateProbe::Company(company) => by!(contacts::company_key, company),
            DuplicateProbe::Vat(vat) => by!(contacts::vat_key, vat),
            DuplicateProbe::Address(address) => {
                let of_business = contacts::table.filter(contacts::business_id.eq(business.get()));
                let conditions = at_address(address);
                let matching = conditions
                    .into_iter()
                    .fold(of_business.into_boxed::<Db>(), |query, condition| {
                        query.filter(condition)
                    });
                matching
                    // Not the id itself: otherwise the planner might read all contacts in its order.
                    .order((contacts::id + 0).asc())
                    .limit(1)
                    .select(contacts::id)
                    .get_optional::<i64>(conn)
                    .await?
            }
        };
        Ok(found.map(ContactId::new))
    }

    async fn contact_notes(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<ContactNote>>> {
        if !exists::<Unlocked>(self.conn().await?, business, contact).await? {
            return Ok(None);
        }
        notes(self.conn().await?, business, contact, page).await.map(Some)
    }

    async fn blocked(&mut self, business: BusinessId, keys: &[BlockKey]) -> StoreResult<Vec<BlockKey>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let dependencies = Arc::clone(&self.dependencies);
        blocked(self.conn().await?, dependencies.cipher()?, business, keys).await
    }

    async fn newest_contact_notes(
        &mut self,
        business: BusinessId,
        contact: ContactId,
    ) -> StoreResult<Vec<ContactNote>> {
        newest_notes(self.conn().await?, business, contact).await
    }

    async fn has_contact_password(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool> {
        let known = contacts::table
            .find((business.get(), id.get()))
            .select(contacts::password_hash.is_not_null());
        let known = known.get_optional(self.conn().await?).await;
        Ok(known?.unwrap_or_default())
    }

    async fn contact_leads(
        &mut self,
        business: BusinessId,
        id: ContactId,
        after: LeadId,
        catalogue: &Catalogue,
    ) -> StoreResult<Vec<LinkedLead>> {
        let rows: Vec<LeadRow> = leads::table
            .filter(leads::business_id.eq(business.get()))
            .filter(leads::contact.assume_not_null().eq(id.get()))
            .filter(leads::id.gt(after.get()))
            .order((leads::contact, leads::id))
            .limit(TRACES_AT_ONCE)
            .select(LeadRow::as_select())
            .load(self.conn().await?)
            .await?;
        let shown = |row: LeadRow| {
            let lead = Lead::try_from(row)?;
            let shown = serde_json::value::to_raw_value(&FullLead::new(&lead, catalogue)).map_err(other)?;
            Ok(LinkedLead { id: lead.id, shown })
        };
        rows.into_iter().map(shown).collect()
    }

    async fn contact_events(
        &mut self,
        business: BusinessId,
        id: ContactId,
        after: EventSequence,
    ) -> StoreResult<Vec<PastEvent>> {
        past_events(self, business, id, after).await
    }
}

/// Returns `true` if the business has the contact, and locks it.
pub(super) async fn exists<L: Lock>(conn: &mut Conn, business: BusinessId, id: ContactId) -> StoreResult<bool> {
    let query = contacts::table.find((business.get(), id.get())).select(contacts::id);
    let known: Option<i64> = locking::<L, _>(query).get_optional(conn).await?;
    Ok(known.is_some())
}

/// Returns `true` if there is a contact and its erasure is not done: records are still linked to it.
pub(super) async fn is_being_erased(
    conn: &mut Conn,
    business: BusinessId,
    contact: Option<ContactId>,
) -> StoreResult<bool> {
    let Some(contact) = contact else {
        return Ok(false);
    };
    let erasure = deletions::table
        .find((business.get(), ERASURE, contact.get()))
        .select(deletions::record);
    let known = erasure.get_optional::<i64>(conn).await?;
    Ok(known.is_some())
}

/// Returns the names of those of the contacts that exist.
pub(super) async fn names(
    conn: &mut Conn,
    business: BusinessId,
    ids: &BTreeSet<ContactId>,
) -> StoreResult<BTreeMap<ContactId, String>> {
    let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
    let query = contacts::table
        .filter(contacts::business_id.eq(business.get()))
        .filter(contacts::id.eq_any(ids))
        .select(ContactRow::as_select());
    let rows: Vec<ContactRow> = query.load(conn).await?;
    let named = |row| Contact::try_from(row).map(|contact| (contact.id, contact.content.name));
    rows.into_iter().map(named).collect()
}

/// Returns the contents of those of the contacts that exist.
pub(super) async fn contents(
    conn: &mut Conn,
    business: BusinessId,
    ids: &BTreeSet<ContactId>,
) -> StoreResult<BTreeMap<ContactId, ContactDraft>> {
    let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
    let query = contacts::table
        .filter(contacts::business_id.eq(business.get()))
        .filter(contacts::id.eq_any(ids))
        .select(ContactRow::as_select());
    let rows: Vec<ContactRow> = query.load(conn).await?;
    let each = |row| Contact::try_from(row).map(|contact| (contact.id, contact.content));
    rows.into_iter().map(each).collect()
}

/// Returns the content of a contact, and locks it.
pub(super) async fn content<L: Lock>(
    conn: &mut Conn,
    business: BusinessId,
    id: ContactId,
) -> StoreResult<Option<ContactDraft>> {
    let query = contacts::table
        .find((business.get(), id.get()))
        .select(ContactRow::as_select());
    let row: Option<ContactRow> = locking::<L, _>(query).get_optional(conn).await?;
    let contact = row.map(Contact::try_from).transpose()?;
    Ok(contact.map(|contact| contact.content))
}

/// Returns the contact of a row, with its newest notes.
async fn whole(conn: &mut Conn, business: BusinessId, row: Option<ContactRow>) -> StoreResult<Option<Contact>> {
    let Some(row) = row else {
        return Ok(None);
    };
    let mut contact = Contact::try_from(row)?;
    contact.notes = newest_notes(conn, business, contact.id).await?;
    Ok(Some(contact))
}

/// Returns the newest notes of a contact.
async fn newest_notes(conn: &mut Conn, business: BusinessId, contact: ContactId) -> StoreResult<Vec<ContactNote>> {
    let rows: Vec<NoteRow> = contact_notes::table
        .filter(contact_notes::business_id.eq(business.get()))
        .filter(contact_notes::contact_id.eq(contact.get()))
        .order((contact_notes::contact_id.desc(), contact_notes::id.desc()))
        .limit(NOTES_SHOWN)
        .select(NoteRow::as_select())
        .load(conn)
        .await?;
    Ok(rows.into_iter().map(ContactNote::from).collect())
}

/// The number of notes that a contact shows.
const NOTES_SHOWN: i64 = MAX_NOTES_SHOWN as i64;

/// The number of bytes of notes on a page, unless a single contact has more.
const NOTE_BYTES: i64 = BYTES_AT_ONCE;

/// Gives the contacts of a page their newest notes. A page with long notes ends before there are too many.
async fn with_notes(
    session: &mut Session<impl Mode>,
    business: BusinessId,
    page: &mut Page<Contact>,
) -> StoreResult<()> {
    if page.items.is_empty() {
        return Ok(());
    }
    let conn = session.flushed_conn().await?;
    let of: Vec<i64> = page.items.iter().map(|contact| contact.id.get()).collect();
    let sizes: Vec<(i64, i64, i64)> = contact_notes::table
        .filter(contact_notes::business_id.eq(business.get()))
        .filter(contact_notes::contact_id.eq_any(of))
        .group_by(contact_notes::contact_id)
        .select((contact_notes::contact_id, count_star(), bytes_of_notes()))
        .may_scan(true)
        .load(conn)
        .await?;
    let (mut shown, mut bytes) = (0, 0);
    let (mut few, mut many) = (Vec::new(), Vec::new());
    for contact in &page.items {
        let id = contact.id.get();
        let size = sizes.iter().find(|(of, ..)| *of == id);
        let (count, size) = size.map_or((0, 0), |(_, count, size)| (*count, *size));
        if shown > 0 && bytes + size > NOTE_BYTES {
            break;
        }
        shown += 1;
        bytes += size;
        match count {
            0 => {}
            1..=NOTES_SHOWN => few.push(id),
            _ => many.push(contact.id),
        }
    }
    if shown < page.items.len() {
        page.items.truncate(shown);
        page.next = page.items.last().map(|last| Cursor::at([last.id.get()]));
    }
    let mut notes: Vec<ContactNote> = Vec::new();
    if !few.is_empty() {
        let rows: Vec<NoteRow> = contact_notes::table
            .filter(contact_notes::business_id.eq(business.get()))
            .filter(contact_notes::contact_id.eq_any(few))
            .order(contact_notes::id.desc())
            .select(NoteRow::as_select())
            .load(conn)
            .await?;
        notes.extend(rows.into_iter().map(ContactNote::from));
    }
    for contact in many {
        notes.extend(newest_notes(conn, business, contact).await?);
    }
    for note in notes {
        if let Some(contact) = page.items.iter_mut().find(|contact| contact.id == note.contact) {
            contact.notes.push(note);
        }
    }
    Ok(())
}

/// The number of bytes of a group's notes.
fn bytes_of_notes() -> SqlLiteral<BigInt> {
    sql::<BigInt>("sum(octet_length(contact_notes.note))")
}

/// Returns up to two contacts that have an email or a number of a lead's. If they are locked, they are not deleted before the
/// transaction ends.
pub(super) async fn of_sender(
    conn: &mut Conn,
    business: BusinessId,
    keys: &SenderKeys,
    is_locked: bool,
) -> StoreResult<Vec<ContactSuggestion>> {
    let mut any: Option<Condition> = None;
    // Each alternative names the business, so that each has its index: otherwise SQLite reads all contacts of the business.
    macro_rules! or {
        ($column:expr, $value:expr) => {{
            let alternative = contacts::business_id.eq(business.get()).and($column.eq($value.clone()));
            any = Some(match any.take() {
                Some(others) => Box::new(others.or(alternative)),
                None => Box::new(alternative),
            });
        }};
    }
    if !keys.email.is_empty() {
        or!(contacts::email_folded, keys.email);
    }
    for number in [&keys.mobile, &keys.phone] {
        if !number.is_empty() {
            or!(contacts::telephone.assume_not_null(), number);
            or!(contacts::mobile.assume_not_null(), number);
        }
    }
    let Some(any) = any else {
        return Ok(Vec::new());
    };
    let like = contacts::table.filter(any).limit(2).select((
        contacts::id,
        contacts::email_folded,
        contacts::telephone,
        contacts::mobile,
    ));
    let rows = if is_locked {
        let locked = for_key_share(like);
        locked.load(conn).await
    } else {
        like.load(conn).await
    };
    let rows: Vec<(i64, String, Option<String>, Option<String>)> = rows?;
    let found = rows.into_iter().filter_map(|(id, email, telephone, mobile)| {
        let numbers = [&telephone, &mobile].map(|number| number.as_deref().unwrap_or_default());
        let by = keys.found_by(&email, numbers)?;
        let contact = ContactId::new(id);
        Some(ContactSuggestion { contact, by })
    });
    Ok(found.collect())
}

/// A condition on contacts, to be joined to others.
type Condition = Box<dyn BoxableExpression<contacts::table, Db, SqlType = Bool>>;

/// The conditions by which a contact's address matches the given one: see [`DuplicateProbe`](forecourt_contacts::DuplicateProbe).
fn at_address(asked: &AddressKeys) -> Vec<Condition> {
    let AddressKeys {
        lines,
        city,
        state,
        postcode,
        country,
    } = asked;
    let mut all: Vec<Condition> = Vec::new();
    // An unknown part contradicts nothing; a part that is not compared is left out.
    macro_rules! agrees {
        ($asked:expr, $known:ident) => {
            if !$asked.is_empty() {
                all.push(Box::new(contacts::$known.eq_any([String::new(), $asked.clone()])));
            }
        };
    }
    if lines.is_empty() {
        all.push(Box::new(contacts::postcode_key.eq(postcode.clone())));
    } else {
        all.push(Box::new(contacts::address_key.eq(lines.clone())));
        agrees!(postcode, postcode_key);
    }
    agrees!(city, city_key);
    agrees!(state, state_key);
    agrees!(country, country);
    all
}

/// Returns a page of a contact's notes.
async fn notes(
    conn: &mut Conn,
    business: BusinessId,
    contact: ContactId,
    request: &PageRequest,
) -> StoreResult<Page<ContactNote>> {
    let all = || {
        contact_notes::table
            .filter(contact_notes::business_id.eq(business.get()))
            .filter(contact_notes::contact_id.eq(contact.get()))
            .into_boxed::<Db>()
    };
    let order = (contact_notes::contact_id.desc(), contact_notes::id.desc());
    let page = page_of!(conn, request, NoteRow, all, contact_notes::id, order, false);
    page.try_map(|row| Ok(ContactNote::from(row)))
}

async fn blocked(
    conn: &mut Conn,
    cipher: &Keyring,
    business: BusinessId,
    keys: &[BlockKey],
) -> StoreResult<Vec<BlockKey>> {
    let wanted: Vec<Vec<u8>> = keys.iter().flat_map(|key| people::block_digests(cipher, key)).collect();
    let known: Vec<Vec<u8>> = contact_blocks::table
        .filter(contact_blocks::business_id.eq(business.get()))
        .filter(contact_blocks::key.eq_any(wanted))
        .select(contact_blocks::key)
        .load(conn)
        .await?;
    let is_known = |key: &&BlockKey| {
        people::block_digests(cipher, key)
            .iter()
            .any(|digest| known.contains(digest))
    };
    Ok(keys.iter().filter(is_known).copied().collect())
}

/// The number of linked leads, or of events, that are read at once.
const TRACES_AT_ONCE: i64 = 25;

/// Returns the next few of a contact's events after `after`.
async fn past_events(
    session: &mut Session<impl Mode>,
    business: BusinessId,
    id: ContactId,
    after: EventSequence,
) -> StoreResult<Vec<PastEvent>> {
    let conn = session.flushed_conn().await?;
    // Not the number itself: otherwise the planner might read all events in its order.
    let sequence = events::sequence + 0;
    let own = || {
        events::table
            .filter(events::business_id.eq(business.get()))
            .filter(events::record.eq(id.get()))
            .filter(sql::<Bool>(OF_CONTACTS))
    };
    let sizes: Vec<(i64, i32)> = own()
        .filter(sequence.gt(after.0))
        .order(sequence.asc())
        .limit(TRACES_AT_ONCE)
        .select((events::sequence, octet_length(events::data)))
        .may_scan(true)
        .load(conn)
        .await?;
    let Some(last) = within_bytes(&sizes) else {
        return Ok(Vec::new());
    };
    let rows: Vec<LoggedRow> = own()
        .filter(sequence.gt(after.0))
        .filter(sequence.le(last))
        .order(sequence.asc())
        .select(LoggedRow::as_select())
        .may_scan(true)
        .load(conn)
        .await?;
    let event = |row: LoggedRow| {
        let Event { sequence, id, what } = Event::try_from(row)?;
        Ok(PastEvent {
            sequence,
            id,
            name: what.name,
            created: what.at,
            data: RawValue::from_string(what.data).map_err(other)?,
        })
    };
    rows.into_iter().map(event).collect()
}

#[async_trait]
impl ContactStore for Session<Write> {
    async fn lock_contact(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<Contact>> {
        let query = contacts::table
            .find((business.get(), id.get()))
            .select(ContactRow::as_select());
        let row: Option<ContactRow> = for_no_key_update(query).get_optional(self.conn().await?).await?;
        row.map(Contact::try_from).transpose()
    }

    async fn login_holder(&mut self, business: BusinessId, email: &str) -> StoreResult<Option<ContactId>> {
        let holder: Option<i64> = contacts::table
            .filter(contacts::business_id.eq(business.get()))
            .filter(contacts::login_email.assume_not_null().eq(fold_email(email)))
            .select(contacts::id)
            .get_optional(self.conn().await?)
            .await?;
        Ok(holder.map(ContactId::new))
    }

    async fn insert_contact(
        &mut self,
        business: BusinessId,
        draft: ContactDraft,
        at: Timestamp,
    ) -> StoreResult<Contact> {
        let row = NewContactRow {
            business_id: business.get(),
            created: at.epoch_seconds(),
            updated: at.epoch_seconds(),
            values: ContactValues::new(&draft)?,
        };
        // First, so that within a business ids are given in the order of the commits.
        self.counter(business, CONTACTS).await?.write(1);
        let inserted = diesel::insert_into(contacts::table).values(row).returning(contacts::id);
        let id: i64 = inserted.get_result(self.conn().await?).await.map_err(contact_error)?;
        Ok(Contact {
            id: ContactId::new(id),
            created: at,
            updated: at,
            version: Version::FIRST,
            notes: Vec::new(),
            content: draft,
        })
    }

    async fn save_contact(&mut self, business: BusinessId, contact: &Contact) -> StoreResult<()> {
        self.counter(business, CONTACTS).await?.write(0);
        // If the clock went back to before the contact's creation, the change counts as made then.
        let updated = contact.updated.max(contact.created);
        let row = contacts::table.find((business.get(), contact.id.get()));
        let conn = self.conn().await?;
        let stored = dialect::stored!(conn, row, ContactValues)?;
        diesel::update(row)
            .set((
                ContactValues::new(&contact.content)?.changes(stored.as_ref()),
                contacts::updated.eq(updated.epoch_seconds()),
                contacts::version.eq(contact.version.number()),
            ))
            .prepared()
            .execute(conn)
            .await
            .map(drop)
            .map_err(contact_error)
    }

    async fn set_contact_password(
        &mut self,
        business: BusinessId,
        id: ContactId,
        hash: Option<PasswordHash>,
    ) -> StoreResult<()> {
        // No list filters by it.
        diesel::update(contacts::table.find((business.get(), id.get())))
            .set(contacts::password_hash.eq(hash.as_ref().map(PasswordHash::as_phc)))
            .prepared()
            .execute(self.conn().await?)
            .await
            .map(drop)
    }

    async fn lease_login_mail(
        &mut self,
        business: BusinessId,
        id: ContactId,
        now: Timestamp,
        until: Timestamp,
    ) -> StoreResult<bool> {
        let free = contacts::login_mail_until.is_null();
        let over = contacts::login_mail_until.assume_not_null().le(now.epoch_seconds());
        let leased = diesel::update(contacts::table.find((business.get(), id.get())).filter(free.or(over)))
            .set(contacts::login_mail_until.eq(Some(until.epoch_seconds())))
            .execute(self.conn().await?)
            .await?;
        Ok(leased > 0)
    }

    async fn return_login_mail(&mut self, business: BusinessId, id: ContactId, until: Timestamp) -> StoreResult<bool> {
        let row = contacts::table.find((business.get(), id.get()));
        let returned = diesel::update(row.filter(contacts::login_mail_until.eq(Some(until.epoch_seconds()))))
            .set(contacts::login_mail_until.eq(None::<i64>))
            .execute(self.conn().await?)
            .await?;
        Ok(returned > 0)
    }

    async fn count_contact_notes(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<usize> {
        let count: i64 = contact_notes::table
            .filter(contact_notes::business_id.eq(business.get()))
            .filter(contact_notes::contact_id.eq(contact.get()))
            .count()
            .get_result(self.conn().await?)
            .await?;
        usize::try_from(count).map_err(other)
    }

    async fn insert_contact_note(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        note: NewNote,
        at: Timestamp,
    ) -> StoreResult<ContactNote> {
        let NewNote { note, user } = note;
        let row = NewNoteRow {
            business_id: business.get(),
            contact_id: contact.get(),
            created: at.epoch_seconds(),
            user_id: user.map(StaffId::get),
            note: &note,
        };
        let inserted = diesel::insert_into(contact_notes::table)
            .values(row)
            .returning(contact_notes::id);
        let id: i64 = inserted.get_result(self.conn().await?).await?;
        Ok(ContactNote {
            id: ContactNoteId::new(id),
            contact,
            created: at,
            user,
            note,
        })
    }

    async fn delete_contact_note(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        note: ContactNoteId,
    ) -> StoreResult<bool> {
        let row = contact_notes::table.find((business.get(), note.get()));
        let deleted = diesel::delete(row.filter(contact_notes::contact_id.eq(contact.get())))
            .execute(self.conn().await?)
            .await?;
        Ok(deleted > 0)
    }

    async fn set_blocked(&mut self, business: BusinessId, key: &BlockKey, blocked: bool) -> StoreResult<()> {
        let [keyed, bare] = people::block_digests(self.dependencies.cipher()?, key);
        // A block of an earlier version is deleted either way.
        let gone = if blocked { vec![bare] } else { vec![keyed.clone(), bare] };
        let gone = contact_blocks::table
            .filter(contact_blocks::business_id.eq(business.get()))
            .filter(contact_blocks::key.eq_any(gone));
        diesel::delete(gone).execute(self.conn().await?).await?;
        if blocked {
            diesel::insert_into(contact_blocks::table)
                .values((
                    contact_blocks::business_id.eq(business.get()),
                    contact_blocks::key.eq(keyed),
                ))
                .on_conflict_do_nothing()
                .execute(self.conn().await?)
                .await?;
        }
        Ok(())
    }

    async fn erase_contact(&mut self, business: BusinessId, contact: &Contact) -> StoreResult<()> {
        self.erase(business, contact).await
    }
}

impl Session<Write> {
    /// Stores contacts with their stamps.
    pub(super) async fn insert_contacts(
        &mut self,
        business: BusinessId,
        made: Vec<Loaded<ContactDraft>>,
    ) -> StoreResult<()> {
        let count = i64::try_from(made.len()).unwrap_or(i64::MAX);
        self.counter(business, CONTACTS).await?.write(count);
        let row = |contact: Loaded<ContactDraft>| {
            Ok(NewContactRow {
                business_id: business.get(),
                created: contact.created.epoch_seconds(),
                updated: contact.updated.epoch_seconds(),
                values: ContactValues::new(&contact.content)?,
            })
        };
        let rows = made.into_iter().map(row).collect::<StoreResult<Vec<_>>>()?;
        dialect::insert_many!(self.conn().await?, contacts::table, rows).map_err(contact_error)?;
        Ok(())
    }
}

/// Translates a failure to write a contact into the terms of its domain.
fn contact_error(error: StoreError) -> StoreError {
    match error {
        StoreError::Duplicate(constraint) if constraint == "contacts_business_id_login_email_key" => {
            StoreError::Duplicate(LOGIN_EMAIL_RULE.to_owned())
        }
        error => error,
    }
}
