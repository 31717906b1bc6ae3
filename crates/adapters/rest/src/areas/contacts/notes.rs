//! Notes on contacts, over HTTP (contract, "Contacts").

use forecourt_accounts::Business;
use forecourt_contacts::{self as contacts, ContactNote, NewNote};
use forecourt_dealership::Session;
use forecourt_kernel::{ContactId, ContactNoteId, Field, LongText, StaffId, Target, ValidationErrors, View};
use serde::Deserialize;
use utoipa::ToSchema;

use super::id::IdParameter;
use crate::{
    body::Form,
    call::Call,
    code::Code,
    error::ApiError,
    list::{PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{FieldsParameter, PageParameters, parameters},
    record::OfContact,
    reply::{Answer, Deleted, Envelope, Reply},
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_contact_notes> list_contact_notes,
        self::<__path_create_contact_note> create_contact_note,
        self::<__path_read_contact_note> read_contact_note,
        self::<__path_delete_contact_note> delete_contact_note,
    ])
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

/// Read a contact's note
#[utoipa::path(get, path = "/2.0/contacts/{id}/notes/{note_id}", tag = "contacts", security(("bearer" = ["contact-notes:read"])),
    params(IdParameter, NoteIdParameter, FieldsParameter),
    responses((status = 200, description = "The note", body = Envelope<ContactNote>),
        (status = 404, description = "`contact_not_found`, `contact_note_not_found`")))]
async fn read_contact_note(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let contact = call.id(Code::CONTACT_NOT_FOUND)?;
    let note = call.second_id::<ContactNoteId>(Code::CONTACT_NOTE_NOT_FOUND);
    let mut session = call.read().await?;
    // A missing contact is reported before a missing note.
    contacts::read_contact(session.as_mut(), &call.caller, contact).await?;
    let note = contacts::read_note(session.as_mut(), &call.caller, contact, note?).await?;
    Reply::projected(&note, fields.as_ref())
}

/// Add a note to a contact
#[utoipa::path(post, path = "/2.0/contacts/{id}/notes", tag = "contacts", security(("bearer" = ["contact-notes:write"])),
    params(IdParameter), request_body = NoteBody,
    responses((status = 201, description = "The note that was added", body = Envelope<ContactNote>),
        (status = 404, description = "`contact_not_found`")))]
async fn create_contact_note(call: Call) -> Result<Reply, ApiError> {
    let note = call
        .body()
        .await
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

parameters! {
    path NoteIdParameter;

    /// Note id.
    note_id: i64;
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
