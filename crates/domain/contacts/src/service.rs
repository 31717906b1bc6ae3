//! The use cases. Each reads as the contract's sentence does; none begins, commits or retries a transaction.

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

/// A page of the caller's contacts, newest first.
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
        // What is not shown is not read.
        View::Simple
    };
    Ok(store.contacts(by.business_id(), filter, page, view).await?)
}

/// One of the caller's contacts.
///
/// # Errors
/// [`ContactError::NotFound`], [`ContactError::Store`].
pub async fn read_contact(store: &mut dyn ContactReader, by: &Caller, id: ContactId) -> Result<Contact, ContactError> {
    let contact = store.contact(by.business_id(), id).await?;
    contact.ok_or(ContactError::NotFound(id))
}

/// Makes a contact, validated by [`validate_new_contact`](crate::validate_new_contact). Whether there is one like it is not asked:
/// that is [`check_duplicate`]'s affair.
///
/// # Errors
/// [`ContactError::Invalid`] if it would be too large; [`ContactError::EmailDuplicate`] if it may log in and another contact logs in
/// with its email; [`ContactError::Store`].
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

/// Changes the supplied fields of a contact, validated by [`validate_contact_change`](crate::validate_contact_change); address,
/// licence and nominal codes are merged.
///
/// # Errors
/// [`ContactError::NotFound`], then [`ContactError::VersionMismatch`], then [`ContactError::Invalid`] if the contact would be too
/// large, or left with a login and without an email, then [`ContactError::EmailDuplicate`] as for [`create_contact`]; [`ContactError::Store`].
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
    // Reports the field at fault: the requested login, or else the email that was removed.
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

/// Deletes a contact, its notes with it, and erases its personal data from what remains.
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

/// Looks for a contact that a new one would repeat.
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

/// A page of a contact's notes, newest first.
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

/// One note of a contact.
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

/// Adds a note to a contact. That is no change of the contact: its stamp stays, and no event reports it (decisions §9).
///
/// # Errors
/// [`ContactError::Invalid`] as [`validate_note`] finds, then [`ContactError::NotFound`], then
/// [`ContactError::VersionMismatch`], then [`ContactError::Invalid`] if the contact has as many notes as it may have;
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
    // Last, since what does not exist comes first; the transaction takes the deletion back.
    Ok(precondition.check(contact.version)?)
}

/// Whether a contact's address and number are to be left alone.
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

/// Has a contact's address or number left alone, or not any more. The block belongs to the address or the number: it holds
/// for every contact that has it, and outlives them.
///
/// # Errors
/// [`ContactError::NotFound`], then [`ContactError::VersionMismatch`], then [`ContactError::Invalid`] if what is to be left
/// alone is not there; [`ContactError::Store`].
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

/// Gives a contact the password that `hash` was made of, in place of any that it had. The password is no part of the
/// representation, so no event reports it and the contact's stamp stays.
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

/// How long the mailing of a contact's login details is leased to one server, in seconds: longer than it takes to make a
/// password, to send a mail and to store what came of it. If that server dies meanwhile, the next one may begin then.
pub const LOGIN_MAIL_LEASE_SECONDS: i64 = 75;

/// The contact to whom login details are about to be mailed, and the end of the lease.
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

    /// The mail. It names the password, so it is sent and forgotten, never queued.
    pub fn mail(&self, business: &Business, password: &Password) -> Mail {
        let Self {
            contact: _,
            name,
            email,
            until: _,
        } = self;
        // Text that a caller supplies as a name must not pass for a line of ours.
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

/// Begins to mail a contact's login details; `None` while another mail of theirs is under way, on whichever server. Next,
/// outside of any transaction, a password is made ([`make_password`](crate::make_password)) and [`LoginInvitation::mail`] is
/// sent; then [`finish_login_email`], or if something failed [`abandon_login_email`]. All that within
/// [`LOGIN_MAIL_LEASE_SECONDS`].
///
/// One mail at a time is what makes the password of the latest one the one that counts, and has a retry wait for the answer of
/// the first try.
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

/// Makes the password that was mailed the one to log in with; called once the mail server has accepted the mail.
///
/// # Errors
/// As for [`reset_password`]; [`ContactError::LoginEmailFailed`] if the contact has got another email in the meantime, for
/// then the mail went to an address that may be a stranger's, or if it took so long that another mail was begun, whose password
/// is to count. The password stays as it was.
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

/// Lets others mail the contact's login details, after a mail that failed or whose password was not taken. Has no effect if
/// another sender has begun to.
///
/// # Errors
/// [`ContactError::Store`]; then others wait until the lease is over.
pub async fn abandon_login_email(
    store: &mut dyn ContactStore,
    by: &Caller,
    invitation: &LoginInvitation,
) -> Result<(), ContactError> {
    let LoginInvitation { contact, until, .. } = invitation;
    store.return_login_mail(by.business_id(), *contact, *until).await?;
    Ok(())
}

/// What is held on a contact, as far as the caller may read it, for a data subject's access request. What may be many is left
/// empty, and read a few at a time: by [`list_notes`], [`export_leads`] and [`export_events`], and from the other areas.
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

/// Some of the leads that an export has behind `after`; none at its end.
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

/// Some of the events that an export has behind `after`, each with its number, shown as the caller may see the contact; none at
/// its end.
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

/// The contact, locked, at a version at which it may be written.
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

/// The email is the name that one logs in with, so of the contacts that may log in each has its own (decisions §6).
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

/// What a contact's email and number are blocked by; `None` for what it lacks.
fn block_keys(business: &Business, content: &ContactDraft) -> [Option<BlockKey>; 2] {
    [
        BlockKey::email(business.id, &content.email),
        BlockKey::sms(business.id, sms_number(content)),
    ]
}

/// Which of these are to be left alone.
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

/// Checks how much a contact says. What is at fault if that is too much is the largest of the members that differ from
/// `before`, for without it the contact would be the smallest.
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

/// Stores a contact that has changed, and records the event. Returns the contact as it is shown, its newest notes included.
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
