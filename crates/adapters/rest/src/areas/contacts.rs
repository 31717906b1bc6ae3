//! Contacts over HTTP (contract, "Contacts"; decisions §6).

use std::{collections::VecDeque, rc::Rc, sync::Arc, time::Duration};

use forecourt_accounts::{Business, Caller, Rules, Shown};
use forecourt_contacts::{
    self as contacts, Address, AddressChanges, Contact, ContactChanges, ContactError, ContactExport, ContactFilter,
    ContactNote, ContactView, DuplicateAnswer, DuplicateKind, DuplicateProbe, FollowBlocks, FullContact, LoginEmailed,
    LoginInvitation, NewNote, Password, PasswordHash, PasswordReset, SetFollowBlocks, WholeText,
};
use forecourt_dealership::Session;
use forecourt_kernel::{
    BoxError, ContactId, ContactNoteId, Cursor, EventSequence, Field, LeadId, Line, ListName, LongText, PageRequest,
    Phone, Position, Projection, Scope, StaffId, Target, ValidationErrors, View,
};
use forecourt_reference::RecordTags;
use futures_util::stream::try_unfold;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{
    sync::OwnedMutexGuard,
    task::yield_now,
    time::{sleep, timeout},
};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema, schema::OneOfBuilder},
};

use crate::{
    areas::{Area, EventRecord},
    body::Form,
    call::Call,
    code::{Code, codes},
    conditional::RecordState,
    detach::to_its_end,
    error::ApiError,
    list::{PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{
        EmailFilter, FieldsParameter, ListRenderingParameters, PageParameters, RenderingParameters, filters, parameters,
    },
    record::{OfContact, Personal},
    reply::{self, Answer, Deleted, Envelope, Reply},
    schemas,
    write::Prepared,
};

/// How many notes of an export are read at once.
const NOTES_AT_ONCE: u32 = 25;
/// How long a request that waits for another server's mail rests between polls: at first, and at most.
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
const LONGEST_BACKOFF: Duration = Duration::from_secs(1);
/// How long a login mail may take to send: well within its lease, and longer than a mailer of ours takes to give one up itself.
const SEND_TIMEOUT: Duration = Duration::from_secs(55);
const _: () = assert!(SEND_TIMEOUT.as_secs() + 10 < contacts::LOGIN_MAIL_LEASE_SECONDS.unsigned_abs());

const LIST: ListName = ListName::new("contacts");

pub(super) const AREA: Area = Area {
    tag: "contacts",
    about: "Customers, suppliers and others: their record, their privacy and their login",
    operations,
    codes: CODES,
    records: &[EventRecord {
        resource: "contact",
        schema: "Contact",
        example: an_example,
    }],
};

codes! {
    CODES;
    CONTACT_NOT_FOUND = NOT_FOUND, "contact_not_found" {
        meaning: "The business has no such contact.",
        cause: "The id is wrong, the contact was deleted, or it belongs to another business.",
        remedy: "Look the contact up with `GET /2.0/contacts`, and forget ids that answer 404.",
    }
    CONTACT_NOTE_NOT_FOUND = NOT_FOUND, "contact_note_not_found" {
        meaning: "The contact has no such note.",
        cause: "The id is wrong, the note was deleted, or it belongs to another contact.",
        remedy: "List the notes with `GET /2.0/contacts/{id}/notes`.",
    }
    CONTACT_EMAIL_DUPLICATE = CONFLICT, "contact_email_duplicate" {
        meaning: "Another contact logs in with this email.",
        cause: "The email is the login name, so two contacts with login cannot have the same.",
        remedy: "Use another email, or disable the login of one of them.",
    }
    CONTACT_LOGIN_DISABLED = CONFLICT, "contact_login_disabled" {
        meaning: "The contact has no login.",
        cause: "The operation is for contacts whose `login` is true.",
        remedy: "Enable it with `PATCH /2.0/contacts/{id}` and `{\"login\": true}`; that needs an email.",
    }
    CONTACT_LOGIN_EMAIL_FAILED = INTERNAL_SERVER_ERROR, "contact_login_email_failed" {
        meaning: "The mail with the login details could not be sent.",
        cause: "The mail server could not be reached or refused the mail. The password was not changed.",
        remedy: "Try again after a while. If it keeps failing, ask the operator of the installation to look at the mail settings.",
    }
    CONTACT_LOGIN_PASSWORD_UNAVAILABLE = INTERNAL_SERVER_ERROR, "contact_login_password_unavailable" {
        meaning: "A new password could not be made.",
        cause: "The server failed while it made one. The password was not changed.",
        remedy: "Try again after a while.",
    }
}

fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_contacts> list_contacts,
        self::<__path_create_contact> create_contact,
        self::<__path_read_contact> read_contact,
        self::<__path_update_contact> update_contact,
        self::<__path_delete_contact> delete_contact,
        self::<__path_check_contact_duplicate> check_contact_duplicate,
        self::<__path_read_contact_follow_blocks> read_contact_follow_blocks,
        self::<__path_set_contact_follow_blocks> set_contact_follow_blocks,
        self::<__path_list_contact_notes> list_contact_notes,
        self::<__path_create_contact_note> create_contact_note,
        self::<__path_delete_contact_note> delete_contact_note,
        self::<__path_reset_contact_password> reset_contact_password,
        self::<__path_email_contact_login> email_contact_login,
        self::<__path_read_contact_tags> read_contact_tags,
        self::<__path_export_contact> export_contact,
    ])
}

/// List contacts
///
/// Newest first.
#[utoipa::path(get, path = "/2.0/contacts", tag = "contacts", security(("bearer" = ["contacts:read"])),
    params(FilterParameters, PageParameters, ListRenderingParameters),
    responses((status = 200, description = "A page of contacts", body = PageEnvelope<ContactView<'static>>)))]
async fn list_contacts(call: Call) -> Result<Answer, ApiError> {
    let (filter, list) = call.filtered_list(LIST, View::Simple, FilterParameters::read)?;
    let view = list.view;
    let size = match view {
        View::Simple => RecordSize::Small,
        View::Full => RecordSize::Large,
    };
    list.answer(
        call,
        size,
        async move |session, call, page| contacts::list_contacts(session, &call.caller, &filter, page, view).await,
        |item, contact| {
            let Caller { business, scopes, .. } = &item.call.caller;
            item.show(&ContactView::new(contact, item.view, &business.catalogue, *scopes))
        },
    )
    .await
}

/// Create a contact
///
/// Whether there is one like it is not asked: see the duplicate check.
#[utoipa::path(post, path = "/2.0/contacts", tag = "contacts", security(("bearer" = ["contacts:write"])),
    request_body = NewContactBody,
    responses((status = 201, description = "The contact that was created", body = Envelope<FullContact<'static>>),
        (status = 409, description = "`contact_email_duplicate`")))]
async fn create_contact(call: Call) -> Result<Reply, ApiError> {
    let changes = call.valid(contacts::validate_new_contact);
    write_contact(&call, changes, async |session: &mut dyn Session, changes| {
        let contact = contacts::create_contact(session, call.clock().as_ref(), &call.caller, changes).await?;
        call.created(&contact)
    })
    .await
}

/// Read a contact
#[utoipa::path(get, path = "/2.0/contacts/{id}", tag = "contacts", security(("bearer" = ["contacts:read"])),
    params(IdParameter, RenderingParameters),
    responses((status = 200, description = "The contact", body = Envelope<ContactView<'static>>),
        (status = 404, description = "`contact_not_found`")))]
async fn read_contact(call: Call) -> Result<Reply, ApiError> {
    let rendering = call.rendering()?;
    let id = call.id(Code::CONTACT_NOT_FOUND)?;

    let mut session = call.read().await?;
    let contact = contacts::read_contact(session.as_mut(), &call.caller, id).await?;
    let Caller { business, scopes, .. } = &call.caller;
    let state = RecordState {
        version: contact.version_shown(rendering.view, *scopes),
        updated: contact.updated,
    };
    let shown = ContactView::new(&contact, rendering.view, &business.catalogue, *scopes);
    call.record(state, &rendering, &shown)
}

/// Change a contact
///
/// Only the supplied fields change; address, license and nominal are merged by their members, and null clears them whole.
#[utoipa::path(patch, path = "/2.0/contacts/{id}", tag = "contacts", security(("bearer" = ["contacts:write"])),
    params(IdParameter), request_body = ContactChanges,
    responses((status = 200, description = "The contact", body = Envelope<FullContact<'static>>),
        (status = 404, description = "`contact_not_found`"), (status = 409, description = "`contact_email_duplicate`")))]
async fn update_contact(call: Call) -> Result<Reply, ApiError> {
    let changes = call.valid(contacts::validate_contact_change);
    write_contact(&call, changes, async |session: &mut dyn Session, changes| {
        let target = call.target(Code::CONTACT_NOT_FOUND)?;
        let contact = contacts::update_contact(session, call.clock().as_ref(), &call.caller, target, changes).await?;
        call.ok(&contact)
    })
    .await
}

/// Delete a contact
///
/// Its notes go with it, and its personal data is erased from what remains: leads, the log of events, deliveries.
#[utoipa::path(delete, path = "/2.0/contacts/{id}", tag = "contacts", security(("bearer" = ["contacts:delete"])),
    params(IdParameter),
    responses((status = 200, description = "The contact is gone", body = Envelope<Deleted>),
        (status = 404, description = "`contact_not_found`")))]
async fn delete_contact(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let contact: Target<ContactId> = call.target(Code::CONTACT_NOT_FOUND)?;
        let id = contact.id;
        contacts::delete_contact(session, call.clock().as_ref(), &call.caller, contact).await?;
        Reply::deleted(id.get())
    })
    .await
}

/// Look for a contact that a new one would repeat
///
/// Names, emails and numbers are compared without regard to case, punctuation and spacing. Of several matches, the first is
/// returned.
#[utoipa::path(post, path = "/2.0/contacts/duplicate-check", tag = "contacts", security(("bearer" = ["contacts:read"])),
    request_body(content = DuplicateBody, extensions(("x-rules" = json!({
        "if": {"properties": {"type": {"const": "address"}}},
        "then": {"properties": {"type": {"type": "string"}, "value": {"type": "object"}}},
        "else": {"properties": {"type": {"type": "string"}, "value": {"type": "string"}}},
    })))),
    responses((status = 200, description = "What was found", body = Envelope<DuplicateAnswer>)))]
async fn check_contact_duplicate(call: Call) -> Result<Reply, ApiError> {
    let probe = call
        .body()
        .and_then(|body: DuplicateBody| Ok(body.probe(&call.rules())?));
    if call.retry.is_none() {
        let mut session = call.read().await?;
        return Reply::ok(&contacts::check_duplicate(session.as_mut(), &call.caller, &call.strictly(probe)?).await?);
    }
    call.write(probe, async |session: &mut dyn Session, probe| {
        Reply::ok(&contacts::check_duplicate(session, &call.caller, &probe).await?)
    })
    .await
}

/// Read whether a contact is to be left alone
#[utoipa::path(get, path = "/2.0/contacts/{id}/follow-blocks", tag = "contacts", security(("bearer" = ["contacts:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "Where the contact may not be written to", body = Envelope<FollowBlocks>),
        (status = 404, description = "`contact_not_found`")))]
async fn read_contact_follow_blocks(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id = call.id(Code::CONTACT_NOT_FOUND)?;
    let mut session = call.read().await?;
    let blocks = contacts::read_follow_blocks(session.as_mut(), &call.caller, id).await?;
    Reply::projected(&blocks, fields.as_ref())
}

/// Have a contact left alone, or not any more
///
/// A block belongs to the address or the number: it holds for every contact that has it, and outlives them.
#[utoipa::path(put, path = "/2.0/contacts/{id}/follow-blocks", tag = "contacts", security(("bearer" = ["contacts:write"])),
    params(IdParameter), request_body = FollowBlocksBody,
    responses((status = 200, description = "Where the contact may not be written to", body = Envelope<FollowBlocks>),
        (status = 404, description = "`contact_not_found`")))]
async fn set_contact_follow_blocks(call: Call) -> Result<Reply, ApiError> {
    let command = call.body().and_then(|body: FollowBlocksBody| Ok(body.command()?));
    call.write(command, async |session: &mut dyn Session, command| {
        let contact: Target<ContactId> = call.target(Code::CONTACT_NOT_FOUND)?;
        let id = contact.id;
        let blocks =
            contacts::set_follow_blocks(session, call.clock().as_ref(), &call.caller, contact, command).await?;
        call.ok(&OfContact {
            contact: Some(id),
            view: blocks,
        })
    })
    .await
}

/// List a contact's notes
///
/// Newest first.
#[utoipa::path(get, path = "/2.0/contacts/{id}/notes", tag = "contacts", security(("bearer" = ["contact-notes:read"])),
    params(IdParameter, PageParameters, FieldsParameter),
    responses((status = 200, description = "A page of notes", body = PageEnvelope<ContactNote>),
        (status = 404, description = "`contact_not_found`")))]
async fn list_contact_notes(call: Call) -> Result<Answer, ApiError> {
    let list = call.list(call.list_within("contact-notes"), View::Full)?;
    let id = call.id(Code::CONTACT_NOT_FOUND)?;
    list.answer(
        call,
        RecordSize::Large,
        async move |session, call, page| contacts::list_notes(session, &call.caller, id, page).await,
        |item, note| item.show(note),
    )
    .await
}

/// Add a note to a contact
#[utoipa::path(post, path = "/2.0/contacts/{id}/notes", tag = "contacts", security(("bearer" = ["contact-notes:write"])),
    params(IdParameter), request_body = NoteBody,
    responses((status = 201, description = "The note that was added", body = Envelope<ContactNote>),
        (status = 404, description = "`contact_not_found`")))]
async fn create_contact_note(call: Call) -> Result<Reply, ApiError> {
    let note = call
        .body()
        .and_then(|body: NoteBody| Ok(body.note(&call.caller.business)?));
    call.write(note, async |session: &mut dyn Session, note| {
        let contact = call.target(Code::CONTACT_NOT_FOUND)?;
        let note = contacts::add_note(session, call.clock().as_ref(), &call.caller, contact, note).await?;
        call.created(&OfContact {
            contact: Some(note.contact),
            view: note,
        })
    })
    .await
}

/// Delete a contact's note
#[utoipa::path(delete, path = "/2.0/contacts/{id}/notes/{note_id}", tag = "contacts",
    security(("bearer" = ["contact-notes:delete"])), params(IdParameter, NoteIdParameter),
    responses((status = 200, description = "The note is gone", body = Envelope<Deleted>),
        (status = 404, description = "`contact_not_found`, `contact_note_not_found`")))]
async fn delete_contact_note(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let contact: Target<ContactId> = call.target(Code::CONTACT_NOT_FOUND)?;
        let note = match call.second_id::<ContactNoteId>(Code::CONTACT_NOTE_NOT_FOUND) {
            Ok(note) => note,
            Err(absent) => {
                // A missing contact is reported before a missing note.
                contacts::read_contact(session, &call.caller, contact.id).await?;
                return Err(absent);
            }
        };
        contacts::delete_note(session, &call.caller, contact, note).await?;
        Reply::deleted(note.get())
    })
    .await
}

/// Reset the password of a contact's login
///
/// The new password is shown this once.
#[utoipa::path(post, path = "/2.0/contacts/{id}/login/password/reset", tag = "contacts",
    security(("bearer" = ["contact-login:write"])), params(IdParameter),
    responses((status = 200, description = "The new password", body = Envelope<PasswordReset<'static>>),
        (status = 404, description = "`contact_not_found`"), (status = 409, description = "`contact_login_disabled`"),
        (status = 500, description = "`contact_login_password_unavailable`")))]
async fn reset_contact_password(call: Call) -> Result<Reply, ApiError> {
    // Made before the transaction begins, so that no other transaction waits for it.
    let (password, hash) = make_password(&call).await?;
    call.write(Ok(hash), async |session: &mut dyn Session, hash| {
        let target = call.target(Code::CONTACT_NOT_FOUND)?;
        let contact = contacts::reset_password(session, &call.caller, target, hash).await?;
        call.ok(&OfContact {
            contact: Some(contact.id),
            view: PasswordReset::new(&contact, &password),
        })
    })
    .await
}

/// Mail a contact the details of their login
///
/// With a new password, which takes the place of any other once the mail is on its way.
#[utoipa::path(post, path = "/2.0/contacts/{id}/login/email", tag = "contacts",
    security(("bearer" = ["contact-login:write"])), params(IdParameter),
    responses((status = 200, description = "The mail is on its way", body = Envelope<LoginEmailed<'static>>),
        (status = 404, description = "`contact_not_found`"), (status = 409, description = "`contact_login_disabled`"),
        (status = 500, description = "`contact_login_email_failed`, `contact_login_password_unavailable`")))]
async fn email_contact_login(call: Call) -> Result<Reply, ApiError> {
    let contact = match call.target::<ContactId>(Code::CONTACT_NOT_FOUND) {
        Ok(contact) => contact,
        Err(absent) => return call.refuse(absent).await,
    };
    // On this server those who want the same contact mailed take turns; between servers it is a lease that they wait for.
    let turns = &call.worker.shared.login_mails;
    let turn = turns.turn((call.caller.business_id(), contact.id)).await;
    let mail = Rc::new(LoginMail {
        call,
        contact,
        _turn: turn,
    });
    let mut pause = FIRST_BACKOFF;
    loop {
        let attempt = Rc::clone(&mail);
        // Else a caller who goes away while the mail is under way would leave a password behind that does not work.
        if let Some(reply) = to_its_end(async move { attempt.send().await }).await? {
            return Ok(reply);
        }
        sleep(pause).await;
        pause = LONGEST_BACKOFF.min(pause * 2);
    }
}

/// A request for a mail with a contact's login details.
struct LoginMail {
    call: Call,
    contact: Target<ContactId>,
    /// Held until the mail is through, even if no request waits for it.
    _turn: OwnedMutexGuard<()>,
}

impl LoginMail {
    /// The answer, given before or after the mail was sent; `None` while another server sends this contact one.
    async fn send(&self) -> Result<Option<Reply>, ApiError> {
        let Self { call, contact, .. } = self;
        let begun = call.prepare(async |session: &mut dyn Session| {
            Ok(contacts::begin_login_email(session, call.clock().as_ref(), &call.caller, contact.clone()).await?)
        });
        let invitation = match begun.await {
            Ok(Prepared::Done(Some(invitation))) => invitation,
            Ok(Prepared::Done(None)) => return Ok(None),
            Ok(Prepared::Answered(reply)) => return Ok(Some(reply)),
            Err(failed @ (ApiError::Store(_) | ApiError::Failed { .. })) => return Err(failed),
            Err(refused) => return call.refuse(refused).await.map(Some),
        };
        let outcome = self.send_to(&invitation).await;
        if !matches!(&outcome, Ok(reply) if reply.status.is_success()) {
            self.abandon(&invitation).await;
        }
        outcome.map(Some)
    }

    /// Sends the mail while no transaction is open, then makes its password the one that counts.
    async fn send_to(&self, invitation: &LoginInvitation) -> Result<Reply, ApiError> {
        let call = &self.call;
        let (password, hash) = make_password(call).await?;
        let mail = invitation.mail(&call.caller.business, &password);
        let sent = timeout(SEND_TIMEOUT, call.worker.shared.mailer.send(&mail)).await;
        sent.map_err(BoxError::from)
            .and_then(|sent| sent.map_err(BoxError::from))
            .map_err(ContactError::LoginEmailFailed)?;
        call.write(Ok(hash), async |session: &mut dyn Session, hash| {
            contacts::finish_login_email(session, &call.caller, invitation, hash).await?;
            call.ok(&OfContact {
                contact: Some(invitation.contact()),
                view: LoginEmailed::new(invitation),
            })
        })
        .await
    }

    /// Lets the next one try at once.
    async fn abandon(&self, invitation: &LoginInvitation) {
        let Self { call, contact, .. } = self;
        let abandoned = call.apart(async |session: &mut dyn Session| {
            Ok(contacts::abandon_login_email(session, &call.caller, invitation).await?)
        });
        if abandoned.await.is_err() {
            // The failure before this one is logged, and most likely has the same cause.
            tracing::warn!(contact = %contact.id, "a login mail that failed keeps others waiting until its lease is over");
        }
    }
}

/// Makes a password on a blocking thread; the number made at once is limited, since each takes much memory.
async fn make_password(call: &Call) -> Result<(Password, PasswordHash), ApiError> {
    let shared = Arc::clone(&call.worker.shared);
    let lost = |error: BoxError| ApiError::from(ContactError::PasswordUnavailable(error));
    let _permit = call
        .worker
        .shared
        .hashing
        .acquire()
        .await
        .map_err(|closed| lost(closed.into()))?;
    let made =
        tokio::task::spawn_blocking(move || contacts::make_password(shared.random.as_ref(), shared.hasher.as_ref()));
    Ok(made.await.map_err(|panicked| lost(panicked.into()))??)
}

/// Read a contact's tags
///
/// Those that it carries, and those that it could.
#[utoipa::path(get, path = "/2.0/contacts/{id}/tags", tag = "contacts", security(("bearer" = ["contacts:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "The tags", body = Envelope<RecordTags<'static>>),
        (status = 404, description = "`contact_not_found`")))]
async fn read_contact_tags(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id = call.id(Code::CONTACT_NOT_FOUND)?;
    let mut session = call.read().await?;
    let contact = contacts::read_contact(session.as_mut(), &call.caller, id).await?;
    Reply::projected(&contact.tags(&call.caller.business.catalogue), fields.as_ref())
}

/// Export all that is held on a contact
///
/// For answering a data subject's access request: the record with all its notes, its follow-blocks, linked leads and past
/// events, as one document. What the key may not read is left out, and named in `omitted`.
#[utoipa::path(get, path = "/2.0/contacts/{id}/export", tag = "contacts", security(("bearer" = ["contacts:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "All that is held", body = Envelope<ContactExport<'static>>),
        (status = 404, description = "`contact_not_found`")))]
async fn export_contact(call: Call) -> Result<Answer, ApiError> {
    let fields = call.fields()?;
    let id = call.id(Code::CONTACT_NOT_FOUND)?;
    let outline = {
        let mut session = call.read().await?;
        let export = contacts::export_contact(session.as_mut(), call.clock().as_ref(), &call.caller, id).await?;
        let export = reply::value(&export)?;
        let export = fields
            .as_ref()
            .map_or_else(|| export.clone(), |fields| fields.apply(export.clone()));
        outline(json!({"success": true, "data": export}))
    };
    let export = Export {
        call,
        id,
        fields,
        pieces: outline.into(),
        read: None,
    };
    let parts = try_unfold(export, async |mut export| {
        let part = export.part().await?;
        Ok(part.map(|part| (part, export)))
    });
    reply::in_parts(parts).await
}

/// What an export has many of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Section {
    Notes,
    Leads,
    Events,
}

impl Section {
    const ALL: [Self; 3] = [Self::Notes, Self::Leads, Self::Events];

    /// Where it stands in the export.
    const fn path(self) -> &'static [&'static str] {
        match self {
            Self::Notes => &["contact", "data", "notes"],
            Self::Leads => &["leads"],
            Self::Events => &["events"],
        }
    }
}

/// A piece of the export's body.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Text(Vec<u8>),
    /// What a section has, between its brackets.
    Items(Section),
}

/// The body of an export whose sections, as far as they are requested, are still to be filled in.
fn outline(envelope: Value) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut text = envelope;
    let mut marks = Vec::new();
    for section in Section::ALL {
        let path = section
            .path()
            .iter()
            .fold("/data".to_owned(), |path, part| path + "/" + part);
        if let Some(Value::Array(items)) = text.pointer_mut(&path) {
            // No text of a contact has the character NUL, so nothing else looks like this.
            let mark = format!("\0{path}");
            items.push(Value::from(mark.as_str()));
            marks.push((section, Value::from(mark).to_string()));
        }
    }
    let text = text.to_string();
    let mut marks: Vec<_> = marks
        .into_iter()
        .filter_map(|(section, mark)| Some((text.find(&mark)?, mark.len(), section)))
        .collect();
    marks.sort_by_key(|(at, ..)| *at);
    let mut from = 0;
    for (at, length, section) in marks {
        pieces.push(Piece::Text(text.as_bytes()[from..at].to_vec()));
        pieces.push(Piece::Items(section));
        from = at + length;
    }
    pieces.push(Piece::Text(text.as_bytes()[from..].to_vec()));
    pieces
}

/// An export that is being written, a few items at a time.
struct Export {
    call: Call,
    id: ContactId,
    fields: Option<Projection>,
    /// What is still to be written, in order.
    pieces: VecDeque<Piece>,
    /// The last item that was read of the section that is being written.
    read: Option<i64>,
}

impl Export {
    /// The next part of the body; `None` at its end.
    async fn part(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        loop {
            let section = match self.pieces.pop_front() {
                None => return Ok(None),
                Some(Piece::Text(text)) => return Ok(Some(text)),
                Some(Piece::Items(section)) => section,
            };
            // A read that need not wait does not let others run.
            yield_now().await;
            let mut body = Vec::new();
            let last = match section {
                Section::Notes => self.notes(&mut body).await?,
                Section::Leads => self.leads(&mut body).await?,
                Section::Events => self.events(&mut body).await?,
            };
            self.read = last;
            if last.is_some() {
                self.pieces.push_front(Piece::Items(section));
                return Ok(Some(body));
            }
        }
    }

    async fn notes(&self, body: &mut Vec<u8>) -> Result<Option<i64>, ApiError> {
        let behind = PageRequest {
            position: Position::After(Cursor::at([self.read.unwrap_or(i64::MAX)])),
            per_page: NOTES_AT_ONCE,
        };
        let mut session = self.call.read().await?;
        let notes = contacts::list_notes(session.as_mut(), &self.call.caller, self.id, &behind).await?;
        drop(session);
        self.items(
            Section::Notes,
            notes.items.iter().map(|note| (note.id.get(), note)),
            body,
        )
    }

    async fn leads(&self, body: &mut Vec<u8>) -> Result<Option<i64>, ApiError> {
        let after = LeadId::new(self.read.unwrap_or_default());
        let mut session = self.call.read().await?;
        let leads = contacts::export_leads(session.as_mut(), &self.call.caller, self.id, after).await?;
        drop(session);
        self.items(
            Section::Leads,
            leads.iter().map(|lead| (lead.id.get(), &lead.shown)),
            body,
        )
    }

    async fn events(&self, body: &mut Vec<u8>) -> Result<Option<i64>, ApiError> {
        let after = EventSequence(self.read.unwrap_or_default());
        let mut session = self.call.read().await?;
        let events = contacts::export_events(session.as_mut(), &self.call.caller, self.id, after).await?;
        drop(session);
        let events = events.iter().map(|(EventSequence(number), event)| (*number, event));
        self.items(Section::Events, events, body)
    }

    /// Appends items of a section, given with what they are found by; answers that of the last one.
    fn items<T: Serialize>(
        &self,
        section: Section,
        items: impl Iterator<Item = (i64, T)>,
        body: &mut Vec<u8>,
    ) -> Result<Option<i64>, ApiError> {
        let mut last = None;
        for (found_by, item) in items {
            if self.read.is_some() || last.is_some() {
                body.push(b',');
            }
            last = Some(found_by);
            match &self.fields {
                None => reply::append(&item, None, body)?,
                Some(fields) => {
                    let wrap = |inner: Value, name: &&str| json!({*name: inner});
                    let wrapped = section.path().iter().rev().fold(json!([reply::value(&item)?]), wrap);
                    let shown = fields.apply(wrapped);
                    let path = section
                        .path()
                        .iter()
                        .fold(String::new(), |path, part| path + "/" + part)
                        + "/0";
                    reply::append(&shown.pointer(&path), None, body)?;
                }
            }
        }
        Ok(last)
    }
}

impl Personal for Contact {
    type View<'a> = FullContact<'a>;

    fn view<'a>(&'a self, call: &'a Call) -> FullContact<'a> {
        FullContact::new(self, &call.caller.business.catalogue, call.caller.scopes)
    }

    fn shown(&self) -> Shown {
        Shown {
            contact: Some(self.id),
            record: None,
        }
    }
}

/// Runs a write that answers with a contact. The answer to a retry may have been made for another key of the business, so
/// what this one may not see is taken out of it.
async fn write_contact<C: Clone>(
    call: &Call,
    command: Result<C, ApiError>,
    work: impl AsyncFn(&mut dyn Session, C) -> Result<Reply, ApiError>,
) -> Result<Reply, ApiError> {
    let reply = call.write(command, work).await?;
    if reply.replayed && !call.caller.may(Scope::ContactNotesRead) {
        return reply.withholding(|contact| contacts::project(contact, call.caller.scopes));
    }
    Ok(reply)
}

impl From<ContactError> for ApiError {
    fn from(error: ContactError) -> Self {
        match error {
            ContactError::NotFound(_) => Self::new(Code::CONTACT_NOT_FOUND, "this business has no such contact"),
            ContactError::NoteNotFound(_) => Self::new(Code::CONTACT_NOTE_NOT_FOUND, "this contact has no such note"),
            ContactError::VersionMismatch(mismatch) => mismatch.into(),
            ContactError::Invalid(errors) => errors.into(),
            ContactError::EmailDuplicate => Self::new(
                Code::CONTACT_EMAIL_DUPLICATE,
                "another contact of this business logs in with this email",
            ),
            ContactError::LoginDisabled => {
                Self::new(Code::CONTACT_LOGIN_DISABLED, "this contact has no customer login")
            }
            ContactError::PasswordUnavailable(cause) => Self::failed(
                Code::CONTACT_LOGIN_PASSWORD_UNAVAILABLE,
                "a new password could not be made",
                cause,
            ),
            ContactError::LoginEmailFailed(cause) => Self::failed(
                Code::CONTACT_LOGIN_EMAIL_FAILED,
                "the login details could not be mailed",
                cause,
            ),
            ContactError::Store(error) => error.into(),
        }
    }
}

parameters! {
    path IdParameter;

    /// Contact id.
    id: i64;
}

parameters! {
    path NoteIdParameter;

    /// Note id.
    note_id: i64;
}

filters! {
    FilterParameters => ContactFilter;

    /// With this address, case-insensitive; % stands for any characters (scope search:wildcard; at most 4 %, and 100
    /// characters).
    email: EmailFilter;
    /// Of this name, without regard to case.
    name: WholeText;
    /// Of this company, without regard to case.
    company: WholeText;
    /// With this VAT registration number, without regard to case.
    vat: WholeText;
    /// With this postcode, without regard to case.
    zip: WholeText;
    /// With this landline, in any usual spelling.
    telephone: Phone;
    /// With this mobile, in any usual spelling.
    mobile: Phone;
}

/// A contact to be created: [`ContactChanges`] with a name.
enum NewContactBody {}

impl PartialSchema for NewContactBody {
    fn schema() -> RefOr<Schema> {
        let mut schema = ContactChanges::schema();
        if let RefOr::T(Schema::Object(body)) = &mut schema {
            let name = schemas::non_blank_line().description(Some("Full name."));
            body.properties.insert("name".to_owned(), name.into());
            body.required.push("name".to_owned());
            body.description = Some("A contact to be created.".to_owned());
            body.example = Some(json!({
                "name": "Ann Lee",
                "email": "ann@example.com",
                "mobile": "+447700900123",
                "address": {"line1": "1 High Street", "city": "Leeds", "country": "GB", "zip": "LS1 1AA"},
                "marketing": "Yes",
            }));
        }
        schema
    }
}

impl ToSchema for NewContactBody {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        ContactChanges::schemas(schemas);
    }
}

/// What to look for.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"type": "email", "value": "ann@example.com"}))]
struct DuplicateBody {
    /// What is compared; phone is both telephone and mobile.
    #[serde(default)]
    #[schema(value_type = DuplicateKind, required)]
    r#type: Field<Line>,
    /// Text, or an address object when type is address.
    #[serde(default)]
    #[schema(schema_with = probe_schema, required)]
    value: Field<Value>,
}

fn probe_schema() -> RefOr<Schema> {
    use utoipa::openapi::Ref;
    let address = Ref::from_schema_name(AddressChanges::name());
    OneOfBuilder::new().item(schemas::non_blank_line()).item(address).into()
}

impl DuplicateBody {
    fn probe(self, rules: &Rules<'_>) -> Result<DuplicateProbe, ValidationErrors> {
        let Self { r#type, value } = self;
        let mut form = Form::new();
        let kind = form.required("type", r#type);
        let kind = form.validated("type", kind, |name| name.parse::<DuplicateKind>());
        let value = form.required("value", value);
        let probe = match (kind, value) {
            (Some(DuplicateKind::Address), Some(value @ Value::Object(_))) => {
                let address = form.within("value", Address::read(value, rules));
                form.validated("value", address, |address| DuplicateProbe::address(&address))
            }
            (Some(DuplicateKind::Address), Some(_)) => {
                form.fault("value", "must be an address object");
                None
            }
            (Some(kind), Some(Value::String(text))) => {
                let line = form.validated("value", Some(text), Line::new);
                let home = rules.business.country;
                form.validated("value", line, |text| DuplicateProbe::text(kind, &text, home))
            }
            (Some(_), Some(_)) => {
                form.fault("value", "must be a string");
                None
            }
            (None, _) | (_, None) => None,
        };
        form.finish_found(probe)
    }
}

/// What is to be left alone. No field is required; what is left out stays as it is.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"email": true}))]
struct FollowBlocksBody {
    /// Whether the email is.
    #[serde(default)]
    #[schema(value_type = bool)]
    email: Field<bool>,
    /// Whether the number is.
    #[serde(default)]
    #[schema(value_type = bool)]
    sms: Field<bool>,
}

impl FollowBlocksBody {
    fn command(self) -> Result<SetFollowBlocks, ValidationErrors> {
        let Self { email, sms } = self;
        let mut form = Form::new();
        let command = SetFollowBlocks {
            // A block belongs to the address or the number, so that it has no default that null could bring back.
            email: form.present("email", email),
            sms: form.present("sms", sms),
        };
        form.finish(command)
    }
}

/// A note to be added.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"note": "Prefers a call in the evening.", "user": 1}))]
struct NoteBody {
    /// The text; it may have line breaks.
    #[serde(default)]
    #[schema(value_type = String, required, max_length = 20_000, pattern = "\\S")]
    note: Field<LongText>,
    /// Staff user id of the author.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    user: Field<i64>,
}

impl NoteBody {
    fn note(self, business: &Business) -> Result<NewNote, ValidationErrors> {
        let Self { note, user } = self;
        let mut form = Form::new();
        let missing = matches!(note, Field::Absent | Field::Null);
        if missing {
            form.fault("note", "is required");
        }
        let note = NewNote {
            // Invalid fields are not validated again.
            note: form.text("note", note).flatten().unwrap_or_default(),
            user: form.optional("user", user).map(StaffId::new),
        };
        form.finish_by(note, |note, found| contacts::validate_note(note, business, found))
    }
}

/// A contact as events show it.
fn an_example() -> Value {
    json!({
        "id": 1042,
        "site": 0,
        "email": "ann@example.com",
        "created": 1_767_225_600,
        "updated": 1_767_225_600,
        "version": 1,
        "data": {
            "type": ["Customer"],
            "name": "Ann Smith",
            "company": "",
            "vat": "",
            "address": {
                "line1": "2 High Street",
                "line2": "",
                "line3": "",
                "city": "Leeds",
                "state": "",
                "country": "GB",
                "zip": "LS1 4AB"
            },
            "telephone": "",
            "mobile": "+447700900123",
            "dob": null,
            "license": {"number": "", "code": "", "checked": null, "checked_by": null},
            "ni": "",
            "marketing": "No",
            "notes": [],
            "accounting": {},
            "nominal": {"invoice": "", "purchase": ""},
            "tag": [],
            "document": [],
            "login": false
        }
    })
}
