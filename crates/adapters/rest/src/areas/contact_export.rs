//! All that is held on a contact as one document, over HTTP (contract, "Contacts").

use std::collections::VecDeque;

use forecourt_contacts::{self as contacts, ContactExport};
use forecourt_kernel::{ContactId, Cursor, EventSequence, LeadId, PageRequest, Position, Projection};
use futures_util::stream::try_unfold;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::yield_now;

use super::contacts::IdParameter;
use crate::{
    call::Call,
    code::Code,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::FieldsParameter,
    reply::{self, Answer, Envelope},
};

/// How many notes of an export are read at once.
const NOTES_AT_ONCE: u32 = 25;

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![self::<__path_export_contact> export_contact])
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
        let export = match &fields {
            None => export,
            Some(fields) => fields.apply(export),
        };
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
