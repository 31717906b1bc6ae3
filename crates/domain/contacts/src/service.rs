//! The use cases. Each follows the wording of the contract. None begins, commits or retries a transaction.

use forecourt_accounts::{Business, Caller, Rules};
use forecourt_kernel::{
    BoxError, Clock, ContactId, ContactNoteId, EventName, EventSequence, Field, LeadId, Mail, NewEvent, Page,
    PageRequest, Scope, StoreError, Target, Timestamp, Valid, ValidationErrors, View,
    bounds::{MAX_CONTACT_BYTES, MAX_NOTES},
    fold_email,
};
use serde_json::Value;

use crate::{
    BlockKey, Contact, ContactChanges, ContactDraft, ContactError, ContactExport, ContactFilter, ContactNote,
    ContactReader, ContactStore, DuplicateAnswer, DuplicateProbe, ExportedEvent, FollowBlock, FollowBlocks,
    FullContact, LinkedLead, NewNote, Password, PasswordHash, SetFollowBlocks,
    follow::sms_number,
    mails::ContactLogin,
    validate::{NEEDS_EMAIL, validate_note},
};

/// Returns a page of the caller's contacts, newest first.
///
/// # Errors
/// [`ContactError::Store`].
pub async fn list_contacts(
    store: &mut dyn ContactReader,
    by: &Caller,
    filter: &ContactFilter,
    page: &PageRequest,
    view: View,
) -> Result<Page<Contact>, ContactError> {
    let view = if by.may(Scope::ContactNotesRead) {
        view
    } else {
        // Notes that are not shown are not read.
        View::Simple
    };
    Ok(store.contacts(by.business_id(), filter, page, view).await?)
}

/// Returns one of the caller's contacts.
///
/// # Errors
/// [`ContactError::NotFound`], [`ContactError::Store`].
pub async fn read_contact(store: &mut dyn ContactReader, by: &Caller, id: ContactId) -> Result<Contact, ContactError> {
    let contact = store.contact(by.business_id(), id).await?;
    contact.ok_or(ContactError::NotFound(id))
}

/// Creates a contact, validated by [`validate_new_contact`](crate::validate_new_contact). It does not look for duplicates;
/// [`check_duplicate`] does.
///
/// # Errors
/// [`ContactError::Invalid`] if it would be too large; [`ContactError::EmailDuplicate`] if it has a login and another contact
/// logs in with its email; [`ContactError::Store`].
pub async fn create_contact(
    store: &mut dyn ContactStore,
    clock: &dyn Clock,
    by: &Caller,
    changes: Valid<ContactChanges>,
) -> Result<Contact, ContactError> {
    let business = &*by.business;
    let now = clock.now();
    let rules = Rules { business, now };
    let changes = changes.into_inner();
    let blank = ContactDraft::blank(&business.catalogue);
    let mut draft = blank.clone();
    changes.apply(&mut draft, &blank, &rules);
    validate_size(&draft, &blank)?;
    if draft.login {
        ensure_login_is_free(store, business, None, &draft.email).await?;
    }

    let contact = store.insert_contact(business.id, draft, now).await?;
    let created = event(EventName::ContactCreated, &contact, business, now)?;
    store.record(business.id, created).await?;
    Ok(contact)
}

/// Changes the supplied fields of a contact, validated by [`validate_contact_change`](crate::validate_contact_change). Address,
/// licence and nominal codes are merged.
///
/// # Errors
/// [`ContactError::NotFound`], then [`ContactError::VersionMismatch`]. Then [`ContactError::Invalid`] if the contact would be too
/// large, or have a login without an email. Then [`ContactError::EmailDuplicate`] as for [`create_contact`];
/// [`ContactError::Store`].
pub async fn update_contact(
    store: &mut dyn ContactStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<ContactId>>,
    changes: Valid<ContactChanges>,
) -> Result<Contact, ContactError> {
    let business = &*by.business;
    let now = clock.now();
    let rules = Rules { business, now };
    let changes = changes.into_inner();
    let stored = lock(store, by, id).await?;
    let id = stored.id;
    // The fault is reported for the requested login, or otherwise for the email that was removed.
    let enables_login = changes.login == Field::Value(true);
    let at_fault = if enables_login { "login" } else { "email" };
    let mut content = stored.content.clone();
    changes.apply(&mut content, &ContactDraft::blank(&business.catalogue), &rules);
    if content == stored.content {
        let notes = store.newest_contact_notes(business.id, id).await?;
        return Ok(Contact { notes, ..stored });
    }
    validate_size(&content, &stored.content)?;
    if content.login {
        if content.email.is_empty() {
            return Err(ValidationErrors::one(at_fault, NEEDS_EMAIL).into());
        }
        if !stored.content.login || fold_email(&content.email) != fold_email(&stored.content.email) {
            ensure_login_is_free(store, business, Some(id), &content.email).await?;
        }
    } else if stored.content.login {
        store.set_contact_password(business.id, id, None).await?;
    }
    let contact = Contact {
        content,
        updated: now,
        version: stored.version.next(),
        ..stored
    };
    save(store, business, contact).await
}

/// Deletes a contact with its notes, and erases its personal data from other records.
///
/// # Errors
/// [`ContactError::NotFound`], then [`ContactError::VersionMismatch`]; [`ContactError::Store`].
pub async fn delete_contact(
    store: &mut dyn ContactStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<ContactId>>,
) -> Result<(), ContactError> {
    let contact = lock(store, by, id).await?;
    let id = contact.id;
    store.erase_contact(by.business_id(), &contact).await?;
    // A deletion's payload is the id alone (contract, "Delivery request").
    let event = NewEvent {
        name: EventName::ContactDeleted,
        record: id.get(),
        data: format!(r#"{{"id":{id}}}"#),
        at: clock.now(),
    };
    Ok(store.record(by.business_id(), event).await?)
}

/// Finds a contact that a new one would duplicate.
///
/// # Errors
/// [`ContactError::Store`].
pub async fn check_duplicate(
    store: &mut dyn ContactReader,
    by: &Caller,
    probe: &DuplicateProbe,
) -> Result<DuplicateAnswer, ContactError> {
    let contact = store.contact_like(by.business_id(), probe).await?;
    Ok(DuplicateAnswer::new(probe.kind(), contact))
}

/// Returns a page of a contact's notes, newest first.
///
/// # Errors
/// [`ContactError::NotFound`], [`ContactError::Store`].
pub async fn list_notes(
    store: &mut dyn ContactReader,
    by: &Caller,
    contact: ContactId,
    page: &PageRequest,
) -> Result<Page<ContactNote>, ContactError> {
    let notes = store.contact_notes(by.business_id(), contact, page).await?;
    notes.ok_or(ContactError::NotFound(contact))
}

/// Returns one note of a contact.
///
/// # Errors
/// [`ContactError::NotFound`], then [`ContactError::NoteNotFound`]; [`ContactError::Store`].
pub async fn read_note(
    store: &mut dyn ContactReader,
    by: &Caller,
    contact: ContactId,
    id: ContactNoteId,
) -> Result<ContactNote, ContactError> {
    let found = list_notes(store, by, contact, &PageRequest::of_one(id.get())).await?;
    let found = found.items.into_iter().find(|note| note.id == id);
    found.ok_or(ContactError::NoteNotFound(id))
}

/// Adds a note to a contact. The contact itself does not change: its stamp stays, and there is no event (decisions §9).
///
/// # Errors
/// [`ContactError::Invalid`] as found by [`validate_note`], then [`ContactError::NotFound`], then
/// [`ContactError::VersionMismatch`], then [`ContactError::Invalid`] if the contact has the maximum number of notes;
/// [`ContactError::Store`].
pub async fn add_note(
    store: &mut dyn ContactStore,
    clock: &dyn Clock,
    by: &Caller,
    contact: impl Into<Target<ContactId>>,
    note: NewNote,
) -> Result<ContactNote, ContactError> {
    validate_note(&note, &by.business, ValidationErrors::new()).into_result(())?;
    let contact = lock(store, by, contact).await?.id;
    if store.count_contact_notes(by.business_id(), contact).await? >= MAX_NOTES {
        let mut errors = ValidationErrors::new();
        errors.add(
            "note",
            format!("cannot be added: a contact has at most {MAX_NOTES} notes"),
        );
        return Err(errors.into());
    }
    let at = clock.now();
    Ok(store.insert_contact_note(by.business_id(), contact, note, at).await?)
}

/// Deletes a note of a contact.
///
/// # Errors
/// [`ContactError::NotFound`], then [`ContactError::NoteNotFound`], then [`ContactError::VersionMismatch`];
/// [`ContactError::Store`].
pub async fn delete_note(
    store: &mut dyn ContactStore,
    by: &Caller,
    contact: impl Into<Target<ContactId>>,
    note: ContactNoteId,
) -> Result<(), ContactError> {
    let Target { id, precondition } = contact.into();
    let contact = lock(store, by, id).await?;
    if !store.delete_contact_note(by.business_id(), id, note).await? {
        return Err(ContactError::NoteNotFound(note));
    }
    // Last, because a missing note takes precedence. The transaction undoes the deletion.
    Ok(precondition.check(contact.version)?)
}

/// Returns the blocks of a contact's address and number.
///
/// # Errors
/// [`ContactError::NotFound`], [`ContactError::Store`].
pub async fn read_follow_blocks(
    store: &mut dyn ContactReader,
    by: &Caller,
    id: ContactId,
) -> Result<FollowBlocks, ContactError> {
    let contact = read_contact(store, by, id).await?;
    let keys = block_keys(&by.business, &contact.content);
    let blocked = blocked(store, &by.business, keys).await?;
    Ok(follow_blocks(&contact, blocked))
}

/// Sets or removes the block of a contact's address or number. The block belongs to the address or the number: it applies to
/// every contact that has it, and outlives them.
///
/// # Errors
/// [`ContactError::NotFound`], then [`ContactError::VersionMismatch`], then [`ContactError::Invalid`] if the contact lacks the
/// address or number to block; [`ContactError::Store`].
pub async fn set_follow_blocks(
    store: &mut dyn ContactStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<ContactId>>,
    command: SetFollowBlocks,
) -> Result<FollowBlocks, ContactError> {
    let business = &*by.business;
    let stored = lock(store, by, id).await?;
    let keys = block_keys(business, &stored.content);
    let mut errors = ValidationErrors::new();
    if command.email == Some(true) && keys[0].is_none() {
        errors.add("email", "cannot be blocked: the contact has no email");
    }
    if command.sms == Some(true) && keys[1].is_none() {
        errors.add("sms", "cannot be blocked: the contact has no number");
    }
    errors.into_result(())?;

    let before = blocked(store, business, keys).await?;
    let mut after = before;
    for ((wanted, key), blocked) in [command.email, command.sms].into_iter().zip(keys).zip(&mut after) {
        let (Some(wanted), Some(key)) = (wanted, key) else {
            continue;
        };
        if *blocked != wanted {
            store.set_blocked(business.id, &key, wanted).await?;
            *blocked = wanted;
        }
    }
    let blocks = follow_blocks(&stored, after);
    if after != before {
        let contact = Contact {
            updated: clock.now(),
            version: stored.version.next(),
            ..stored
        };
        save(store, business, contact).await?;
    }
    Ok(blocks)
}

/// Sets the hash of a contact's password, and replaces the old one. The password is not part of the representation, so there is
/// no event and the contact's stamp stays.
///
/// # Errors
/// [`ContactError::NotFound`], then [`ContactError::VersionMismatch`], then [`ContactError::LoginDisabled`];
/// [`ContactError::Store`].
pub async fn reset_password(
    store: &mut dyn ContactStore,
    by: &Caller,
    id: impl Into<Target<ContactId>>,
    hash: PasswordHash,
) -> Result<Contact, ContactError> {
    let contact = lock(store, by, id).await?;
    ensure_login(&contact)?;
    store
        .set_contact_password(by.business_id(), contact.id, Some(hash))
        .await?;
    Ok(contact)
}

/// The lease of one server on mailing a contact's login details, in seconds. It is longer than it takes to make a password, to
/// send a mail and to store the result. If the server dies meanwhile, another one may begin after the lease.
pub const LOGIN_MAIL_LEASE_SECONDS: i64 = 75;

/// The contact whose login details are about to be mailed, and the end of the lease.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoginInvitation {
    contact: ContactId,
    name: String,
    email: String,
    until: Timestamp,
}

impl LoginInvitation {
    /// The contact.
    pub const fn contact(&self) -> ContactId {
        self.contact
    }

    /// The address that the mail goes to.
    pub fn email(&self) -> &str {
        &self.email
    }

    /// Makes the mail. It contains the password, so it is sent directly and never queued.
    pub fn mail(&self, business: &Business, password: &Password) -> Mail {
        let Self {
            contact: _,
            name,
            email,
            until: _,
        } = self;
        // A name that a caller supplies must not be mistaken for a line of the mail.
        let words = name.split(|character: char| character.is_whitespace() || character.is_control());
        let name = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        let place = match &*business.website {
            "" => &business.name,
            website => website,
        };
        let content = ContactLogin {
            name: &name,
            business: &business.name,
            place,
            email,
            password: password.reveal(),
        };
        business.mail(email, &content)
    }
}

/// Begins to mail a contact's login details; `None` while another mail to the contact is being sent by any server. The caller
/// then makes a password ([`make_password`](crate::make_password)) and sends [`LoginInvitation::mail`], outside of any
/// transaction. After that it calls [`finish_login_email`], or [`abandon_login_email`] if something failed. All this must happen
/// within [`LOGIN_MAIL_LEASE_SECONDS`].
///
/// Since only one mail is sent at a time, the password of the latest mail is the valid one. A retry waits for the answer of the
/// first try.
///
/// # Errors
/// [`ContactError::NotFound`], then [`ContactError::VersionMismatch`], then [`ContactError::LoginDisabled`];
/// [`ContactError::Store`].
pub async fn begin_login_email(
    store: &mut dyn ContactStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<ContactId>>,
) -> Result<Option<LoginInvitation>, ContactError> {
    let contact = lock(store, by, id).await?;
    let id = contact.id;
    ensure_login(&contact)?;
    let now = clock.now();
    let until = now.plus_seconds(LOGIN_MAIL_LEASE_SECONDS);
    if !store.lease_login_mail(by.business_id(), id, now, until).await? {
        return Ok(None);
    }
    let ContactDraft { name, email, .. } = contact.content;
    Ok(Some(LoginInvitation {
        contact: id,
        name,
        email,
        until,
    }))
}

/// Makes the mailed password the valid one. Called once the mail server has accepted the mail.
///
/// # Errors
/// As for [`reset_password`]. [`ContactError::LoginEmailFailed`] if the contact's email has changed meanwhile, because the mail
/// then went to an address that may be a stranger's. The same error if it took so long that another mail was begun, whose
/// password is to be valid. The old password stays.
pub async fn finish_login_email(
    store: &mut dyn ContactStore,
    by: &Caller,
    invitation: &LoginInvitation,
    hash: PasswordHash,
) -> Result<(), ContactError> {
    let contact = lock(store, by, invitation.contact).await?;
    ensure_login(&contact)?;
    if contact.content.email != invitation.email {
        let moved = BoxError::from("the contact's email changed while the mail was on its way");
        return Err(ContactError::LoginEmailFailed(moved));
    }
    let business = by.business_id();
    if !store.return_login_mail(business, contact.id, invitation.until).await? {
        let late = BoxError::from("another mail was begun before this one was through");
        return Err(ContactError::LoginEmailFailed(late));
    }
    Ok(store.set_contact_password(business, contact.id, Some(hash)).await?)
}

/// Ends the lease after a mail that failed or whose password was not accepted, so that others can mail the login details. It has
/// no effect if another sender has begun to.
///
/// # Errors
/// [`ContactError::Store`]; then others wait until the lease ends.
pub async fn abandon_login_email(
    store: &mut dyn ContactStore,
    by: &Caller,
    invitation: &LoginInvitation,
) -> Result<(), ContactError> {
    let LoginInvitation { contact, until, .. } = invitation;
    store.return_login_mail(by.business_id(), *contact, *until).await?;
    Ok(())
}

/// Collects the data on a contact that the caller may read, for a data subject's access request. Data that may be large is left
/// empty and is read in parts: by [`list_notes`], [`export_leads`] and [`export_events`], and from the other areas.
///
/// # Errors
/// [`ContactError::NotFound`], [`ContactError::Store`].
pub async fn export_contact<'a>(
    store: &mut dyn ContactReader,
    clock: &dyn Clock,
    by: &'a Caller,
    id: ContactId,
) -> Result<ContactExport<'a>, ContactError> {
    let contact = read_contact(store, by, id).await?;
    let catalogue = &by.business.catalogue;
    let keys = block_keys(&by.business, &contact.content);
    let blocks = follow_blocks(&contact, blocked(store, &by.business, keys).await?);
    let has_password = store.has_contact_password(by.business_id(), id).await?;
    let contact = Contact {
        notes: Vec::new(),
        ..contact
    };
    Ok(ContactExport::new(
        contact,
        has_password,
        blocks,
        catalogue,
        by.scopes,
        clock.now(),
    ))
}

/// Returns some of an export's leads after `after`; none at the end.
///
/// # Errors
/// [`ContactError::Store`].
pub async fn export_leads(
    store: &mut dyn ContactReader,
    by: &Caller,
    id: ContactId,
    after: LeadId,
) -> Result<Vec<LinkedLead>, ContactError> {
    let catalogue = &by.business.catalogue;
    Ok(store.contact_leads(by.business_id(), id, after, catalogue).await?)
}

/// Returns some of an export's events after `after`, each with its number, projected to the caller's scopes; none at the end.
///
/// # Errors
/// [`ContactError::Store`].
pub async fn export_events(
    store: &mut dyn ContactReader,
    by: &Caller,
    id: ContactId,
    after: EventSequence,
) -> Result<Vec<(EventSequence, ExportedEvent)>, ContactError> {
    let events = store.contact_events(by.business_id(), id, after).await?;
    let shown = events.into_iter().map(|event| {
        let sequence = event.sequence;
        ExportedEvent::new(event, by.scopes)
            .map(|event| (sequence, event))
            .map_err(|error| StoreError::Other(BoxError::from(error)).into())
    });
    shown.collect()
}

/// Returns the contact, locked, if it is at a version that the caller accepts.
async fn lock(
    store: &mut dyn ContactStore,
    by: &Caller,
    target: impl Into<Target<ContactId>>,
) -> Result<Contact, ContactError> {
    let Target { id, precondition } = target.into();
    let contact = store.lock_contact(by.business_id(), id).await?;
    let contact = contact.ok_or(ContactError::NotFound(id))?;
    precondition.check(contact.version)?;
    Ok(contact)
}

const fn ensure_login(contact: &Contact) -> Result<(), ContactError> {
    if contact.content.login {
        Ok(())
    } else {
        Err(ContactError::LoginDisabled)
    }
}

/// Checks that no other contact logs in with the email. The email is the login name, so it must be unique among contacts with a
/// login (decisions §6).
async fn ensure_login_is_free(
    store: &mut dyn ContactStore,
    business: &Business,
    own: Option<ContactId>,
    email: &str,
) -> Result<(), ContactError> {
    match store.login_holder(business.id, email).await? {
        Some(holder) if Some(holder) != own => Err(ContactError::EmailDuplicate),
        _ => Ok(()),
    }
}

/// Returns the block keys of a contact's email and number; `None` for one that it lacks.
fn block_keys(business: &Business, content: &ContactDraft) -> [Option<BlockKey>; 2] {
    [
        BlockKey::email(business.id, &content.email),
        BlockKey::sms(business.id, sms_number(content)),
    ]
}

/// Returns the state of these blocks.
async fn blocked<S: ContactReader + ?Sized>(
    store: &mut S,
    business: &Business,
    keys: [Option<BlockKey>; 2],
) -> Result<[bool; 2], StoreError> {
    let known: Vec<_> = keys.into_iter().flatten().collect();
    if known.is_empty() {
        return Ok([false; 2]);
    }
    let blocked = store.blocked(business.id, &known).await?;
    Ok(keys.map(|key| key.is_some_and(|key| blocked.contains(&key))))
}

fn follow_blocks(contact: &Contact, [email, sms]: [bool; 2]) -> FollowBlocks {
    let block = |value: &str, blocked| FollowBlock {
        value: value.to_owned(),
        blocked,
    };
    FollowBlocks {
        contact: contact.id,
        email: block(&contact.content.email, email),
        sms: block(sms_number(&contact.content), sms),
    }
}

/// Checks the size of a contact. If it is too large, the fault is reported for the largest of the members that differ from
/// `before`.
fn validate_size(content: &ContactDraft, before: &ContactDraft) -> Result<(), ContactError> {
    let unwritable = |error: serde_json::Error| StoreError::Other(BoxError::from(error));
    if serde_json::to_string(content).map_err(unwritable)?.len() <= MAX_CONTACT_BYTES {
        return Ok(());
    }
    let content = serde_json::to_value(content).map_err(unwritable)?;
    let before = serde_json::to_value(before).map_err(unwritable)?;
    let changed = content.as_object().into_iter().flatten();
    let changed = changed.filter(|(name, value)| before.get(name) != Some(value));
    let at_fault = changed.max_by_key(|(_, value): &(_, &Value)| value.to_string().len());
    let field = at_fault.map_or("body", |(name, _)| name.as_str());
    let message = format!("makes the contact longer than {} KiB of JSON", MAX_CONTACT_BYTES / 1024);
    Err(ValidationErrors::one(field, message).into())
}

/// Stores a changed contact, and records the event. Returns the contact as it is shown, with its newest notes.
async fn save(store: &mut dyn ContactStore, business: &Business, contact: Contact) -> Result<Contact, ContactError> {
    store.save_contact(business.id, &contact).await?;
    let contact = Contact {
        notes: store.newest_contact_notes(business.id, contact.id).await?,
        ..contact
    };
    let updated = event(EventName::ContactUpdated, &contact, business, contact.updated)?;
    store.record(business.id, updated).await?;
    Ok(contact)
}

fn event(name: EventName, contact: &Contact, business: &Business, at: Timestamp) -> Result<NewEvent, StoreError> {
    let view = FullContact::whole(contact, &business.catalogue);
    let data = serde_json::to_string(&view).map_err(|error| StoreError::Other(BoxError::from(error)))?;
    Ok(NewEvent {
        name,
        record: contact.id.get(),
        data,
        at,
    })
}
