//! Notes on leads, over HTTP (decisions §5).

use forecourt_accounts::{Business, Shown, ShownRecord};
use forecourt_dealership::Session;
use forecourt_kernel::{Field, LeadId, LeadNoteId, LongText, StaffId, Target, ValidationErrors, View};
use forecourt_leads::{self as leads, LeadNote, NewLeadNote};
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
    record::Personal,
    reply::{Answer, Deleted, Envelope, Reply},
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_lead_notes> list_lead_notes,
        self::<__path_create_lead_note> create_lead_note,
        self::<__path_read_lead_note> read_lead_note,
        self::<__path_delete_lead_note> delete_lead_note,
    ])
}

/// List a lead's notes
///
/// Newest first.
#[utoipa::path(get, path = "/2.0/leads/{id}/notes", tag = "leads", security(("bearer" = ["lead-notes:read"])),
    params(IdParameter, PageParameters, FieldsParameter),
    responses((status = 200, description = "A page of notes", body = PageEnvelope<LeadNote>),
        (status = 404, description = "`lead_not_found`")))]
async fn list_lead_notes(call: Call) -> Result<Answer, ApiError> {
    let list = call.list(call.list_within("lead-notes"), View::Full)?;
    let lead = call.id(Code::LEAD_NOT_FOUND)?;
    list.answer(
        call,
        RecordSize::Large,
        async move |session, call, page| leads::list_lead_notes(session, &call.caller, lead, page).await,
        |item, note| item.show(note),
    )
    .await
}

/// Read a lead's note
#[utoipa::path(get, path = "/2.0/leads/{id}/notes/{note_id}", tag = "leads", security(("bearer" = ["lead-notes:read"])),
    params(IdParameter, NoteIdParameter, FieldsParameter),
    responses((status = 200, description = "The note", body = Envelope<LeadNote>),
        (status = 404, description = "`lead_not_found`, `lead_note_not_found`")))]
async fn read_lead_note(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let lead = call.id(Code::LEAD_NOT_FOUND)?;
    let note = call.second_id::<LeadNoteId>(Code::LEAD_NOTE_NOT_FOUND);
    let mut session = call.read().await?;
    // A missing lead is reported before a missing note.
    leads::read_lead(session.as_mut(), &call.caller, lead).await?;
    let note = leads::read_lead_note(session.as_mut(), &call.caller, lead, note?).await?;
    Reply::projected(&note, fields.as_ref())
}

/// Add a note to a lead
///
/// Notes are for the staff only: no event reports one, and adding one does not change the lead.
#[utoipa::path(post, path = "/2.0/leads/{id}/notes", tag = "leads", security(("bearer" = ["lead-notes:write"])),
    params(IdParameter), request_body = NoteBody,
    responses((status = 201, description = "The note that was added", body = Envelope<LeadNote>),
        (status = 404, description = "`lead_not_found`")))]
async fn create_lead_note(call: Call) -> Result<Reply, ApiError> {
    let note = call
        .body()
        .await
        .and_then(|body: NoteBody| Ok(body.note(&call.caller.business)?));
    call.write(note, async |session: &mut dyn Session, note| {
        let lead = call.target(Code::LEAD_NOT_FOUND)?;
        let note = leads::add_lead_note(session, call.clock().as_ref(), &call.caller, lead, note).await?;
        call.created(&note)
    })
    .await
}

/// Delete a lead's note
#[utoipa::path(delete, path = "/2.0/leads/{id}/notes/{note_id}", tag = "leads",
    security(("bearer" = ["lead-notes:delete"])), params(IdParameter, NoteIdParameter),
    responses((status = 200, description = "The note is gone", body = Envelope<Deleted>),
        (status = 404, description = "`lead_not_found`, `lead_note_not_found`")))]
async fn delete_lead_note(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let lead: Target<LeadId> = call.target(Code::LEAD_NOT_FOUND)?;
        let note = match call.second_id::<LeadNoteId>(Code::LEAD_NOTE_NOT_FOUND) {
            Ok(note) => note,
            Err(absent) => {
                // A missing lead is reported before a missing note.
                leads::read_lead(session, &call.caller, lead.id).await?;
                return Err(absent);
            }
        };
        leads::delete_lead_note(session, &call.caller, lead, note).await?;
        Reply::deleted(note.get())
    })
    .await
}

impl Personal for LeadNote {
    type View<'a> = &'a Self;

    fn view<'a>(&'a self, _: &'a Call) -> &'a Self {
        self
    }

    fn shown(&self) -> Shown {
        Shown {
            contact: None,
            record: Some(ShownRecord::Lead(self.lead)),
        }
    }
}

parameters! {
    path NoteIdParameter;

    /// Note id.
    note_id: i64;
}

/// A note to be added to a lead.
#[derive(Deserialize, ToSchema)]
#[schema(as = LeadNoteBody, example = json!({"note": "Prefers a call in the evening.", "user": 1}))]
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
    fn note(self, business: &Business) -> Result<NewLeadNote, ValidationErrors> {
        let Self { note, user } = self;
        let mut form = Form::new();
        let missing = matches!(note, Field::Absent | Field::Null);
        if missing {
            form.fault("note", "is required");
        }
        let note = NewLeadNote {
            // Invalid fields are not validated again.
            note: form.text("note", note).flatten().unwrap_or_default(),
            user: form.optional("user", user).map(StaffId::new),
        };
        form.finish_by(note, |note, found| leads::validate_lead_note(note, business, found))
    }
}
