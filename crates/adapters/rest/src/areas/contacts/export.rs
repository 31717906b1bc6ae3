//! The export of all data held on a contact as one document, over HTTP (contract, "Contacts").

use std::collections::VecDeque;

use forecourt_appointments::{AppointmentId, FullAppointment};
use forecourt_calls::{CallId, FullCall};
use forecourt_contacts::{self as contacts, ContactExport};
use forecourt_dealership::ReadSession;
use forecourt_deals::{DealId, FullDeal};
use forecourt_invoices::{FullInvoice, InvoiceId};
use forecourt_kernel::{
    ContactId, Cursor, EventSequence, LeadId, PageRequest, Position, Projection, Scope, VehicleId, View,
};
use forecourt_orders::{FullOrder, OrderId};
use forecourt_purchases::{FullPurchase, PurchaseId};
use forecourt_reviews::{FullReview, ReviewId};
use forecourt_vehicles::{self as vehicles, Detail, TestDriveId, TestDriveView, VehicleDocumentView, VehicleView};
use futures_util::stream::try_unfold;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::yield_now;

use super::id::IdParameter;
use crate::{
    call::Call,
    code::Code,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::FieldsParameter,
    reply::{self, Answer, Envelope},
};

/// The number of notes, messages and documents of an export that are read at once.
const AT_ONCE: u32 = 25;

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![self::<__path_export_contact> export_contact])
}

/// Export all that is held on a contact
///
/// Answers a data subject's access request with one document. It has the record with all its notes, its follow-blocks, linked
/// leads with their messages and notes, and vehicles. It also has test drives with their signatures, reservations, sales,
/// invoices, orders, purchases, deals, appointments, calls, documents, reviews under the contact's name, mails that wait to be sent
/// to it, and past events. Data that the key may not read is left out, and named in `omitted`.
#[utoipa::path(get, path = "/2.0/contacts/{id}/export", tag = "contacts", security(("bearer" = ["contacts:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "All that is held", body = Envelope<ContactExport<'static>>),
        (status = 404, description = "`contact_not_found`")))]
async fn export_contact(call: Call) -> Result<Answer, ApiError> {
    let fields = call.fields()?;
    let id = call.id(Code::CONTACT_NOT_FOUND)?;
    let (outline, subject) = {
        let mut session = call.read().await?;
        let export = contacts::export_contact(session.as_mut(), call.clock().as_ref(), &call.caller, id).await?;
        let export = reply::value(&export)?;
        let text = |place: &str| {
            export
                .pointer(place)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let subject = Subject {
            id,
            name: text("/contact/data/name"),
            email: text("/contact/email"),
        };
        let export = match &fields {
            None => export,
            Some(fields) => fields.apply(export),
        };
        let sections = Section::ALL.map(|section| (section, section.path()));
        (
            outline(json!({"success": true, "data": export}), "/data", &sections),
            subject,
        )
    };
    let export = Export {
        call,
        subject,
        fields,
        pieces: outline.into(),
    };
    let parts = try_unfold(export, async |mut export| {
        let part = export.part().await?;
        Ok(part.map(|part| (part, export)))
    });
    reply::in_parts(parts).await
}

/// A list in an export that may have many items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Section {
    Notes,
    Leads,
    Messages(LeadId),
    LeadNotes(LeadId),
    Vehicles,
    Drives,
    Reservations,
    Sales,
    Invoices,
    Orders,
    Purchases,
    Deals,
    Appointments,
    Calls,
    Documents,
    Reviews,
    Mails,
    Events,
}

impl Section {
    /// The sections that are not part of another.
    const ALL: [Self; 16] = [
        Self::Notes,
        Self::Leads,
        Self::Vehicles,
        Self::Drives,
        Self::Reservations,
        Self::Sales,
        Self::Invoices,
        Self::Orders,
        Self::Purchases,
        Self::Deals,
        Self::Appointments,
        Self::Calls,
        Self::Documents,
        Self::Reviews,
        Self::Mails,
        Self::Events,
    ];

    /// Returns the section's place in the export.
    const fn path(self) -> &'static [&'static str] {
        match self {
            Self::Notes => &["contact", "data", "notes"],
            Self::Leads => &["leads"],
            Self::Messages(_) => &["leads", "messages"],
            Self::LeadNotes(_) => &["leads", "notes"],
            Self::Vehicles => &["vehicles"],
            Self::Drives => &["drives"],
            Self::Reservations => &["reservations"],
            Self::Sales => &["sales"],
            Self::Invoices => &["invoices"],
            Self::Orders => &["orders"],
            Self::Purchases => &["purchases"],
            Self::Deals => &["deals"],
            Self::Appointments => &["appointments"],
            Self::Calls => &["calls"],
            Self::Documents => &["documents"],
            Self::Reviews => &["reviews"],
            Self::Mails => &["mails"],
            Self::Events => &["events"],
        }
    }
}

/// A piece of the export's body.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Text(Vec<u8>),
    /// The items of a section, between its brackets.
    Items(Items),
}

/// The items of a section that are still to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Items {
    section: Section,
    /// The last record that was read.
    after: Option<i64>,
    /// True once an item was written.
    begun: bool,
}

/// Splits a text at the arrays at these paths below `root`, as far as they exist: their items are still to be written.
fn outline(mut text: Value, root: &str, sections: &[(Section, &[&str])]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut marks = Vec::new();
    for (section, path) in sections {
        let path = path.iter().fold(root.to_owned(), |path, part| path + "/" + part);
        if let Some(Value::Array(items)) = text.pointer_mut(&path) {
            // No stored text has the character NUL, so nothing else looks like this.
            let mark = format!("\0{path}");
            *items = vec![Value::from(mark.as_str())];
            marks.push((*section, Value::from(mark).to_string()));
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
        pieces.push(Piece::Items(Items {
            section,
            after: None,
            begun: false,
        }));
        from = at + length;
    }
    pieces.push(Piece::Text(text.as_bytes()[from..].to_vec()));
    pieces
}

/// The contact whose data is exported.
struct Subject {
    id: ContactId,
    name: String,
    email: String,
}

/// An item that names its vehicle.
#[derive(Serialize)]
struct OfVehicle<T> {
    vehicle: VehicleId,
    #[serde(flatten)]
    item: T,
}

/// Some items of a section, and the last record that they were read from; `None` at the section's end.
type Part = (Option<i64>, Vec<Value>);

fn part<T: Serialize>(last: Option<i64>, items: impl Iterator<Item = T>) -> Result<Part, ApiError> {
    let items = items.map(|item| reply::value(&item)).collect::<Result<_, _>>()?;
    Ok((last, items))
}

/// An export that is being written, a few items at a time.
struct Export {
    call: Call,
    subject: Subject,
    fields: Option<Projection>,
    /// The pieces that are still to be written, in order.
    pieces: VecDeque<Piece>,
}

impl Export {
    /// Returns the next part of the body; `None` at its end.
    async fn part(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        loop {
            let items = match self.pieces.pop_front() {
                None => return Ok(None),
                Some(Piece::Text(text)) => return Ok(Some(text)),
                Some(Piece::Items(items)) => items,
            };
            // A read that does not have to wait does not yield to other tasks.
            yield_now().await;
            let (after, found) = self.read(items).await?;
            if after.is_none() {
                continue;
            }
            let mut begun = items.begun;
            let mut pieces = Vec::new();
            let mut text = Vec::new();
            for item in found {
                if begun {
                    text.push(b',');
                }
                begun = true;
                if items.section == Section::Leads {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                    pieces.extend(self.lead(item));
                } else {
                    self.append(items.section, &item, &mut text)?;
                }
            }
            pieces.push(Piece::Text(text));
            pieces.push(Piece::Items(Items { after, begun, ..items }));
            for piece in pieces.into_iter().rev() {
                self.pieces.push_front(piece);
            }
        }
    }

    /// Reads the next items of a section.
    async fn read(&self, Items { section, after, .. }: Items) -> Result<Part, ApiError> {
        let Self { call, subject, .. } = self;
        let (business, contact) = (call.caller.business_id(), subject.id);
        let behind = PageRequest {
            position: Position::After(Cursor::at([after.unwrap_or(i64::MAX)])),
            per_page: AT_ONCE,
        };
        let after = after.unwrap_or_default();
        let mut session = call.read().await?;
        match section {
            Section::Notes => {
                let notes = contacts::list_notes(session.as_mut(), &call.caller, contact, &behind).await?;
                part(notes.items.last().map(|note| note.id.get()), notes.items.iter())
            }
            Section::Leads => {
                let after = LeadId::new(after);
                let linked = contacts::export_leads(session.as_mut(), &call.caller, contact, after).await?;
                part(
                    linked.last().map(|lead| lead.id.get()),
                    linked.iter().map(|lead| &lead.shown),
                )
            }
            Section::Messages(lead) => {
                let page = session.lead_messages(business, lead, &behind).await?;
                let messages = page.map(|page| page.items).unwrap_or_default();
                part(messages.last().map(|message| message.id.get()), messages.iter())
            }
            Section::LeadNotes(lead) => {
                let page = session.lead_notes(business, lead, &behind).await?;
                let notes = page.map(|page| page.items).unwrap_or_default();
                part(notes.last().map(|note| note.id.get()), notes.iter())
            }
            Section::Drives => {
                let drives = session
                    .contact_drives(business, contact, TestDriveId::new(after))
                    .await?;
                let addresses = call.signed_addresses();
                let shown = drives.iter().map(|drive| OfVehicle {
                    vehicle: drive.vehicle,
                    item: TestDriveView::new(drive, &call.caller, &addresses, View::Full),
                });
                part(drives.last().map(|drive| drive.id.get()), shown)
            }
            Section::Invoices => {
                let after = InvoiceId::new(after);
                let invoices = session.contact_invoices(business, contact, after).await?;
                let last = invoices.last().map(|invoice| invoice.id.get());
                let shown =
                    forecourt_invoices::show_invoices(session.as_mut(), &call.caller.business, &invoices).await?;
                part(last, shown.iter().map(FullInvoice::from))
            }
            Section::Orders => {
                let orders = session.contact_orders(business, contact, OrderId::new(after)).await?;
                let last = orders.last().map(|order| order.id.get());
                let shown = forecourt_orders::show_orders(session.as_mut(), &call.caller.business, orders).await?;
                part(last, shown.iter().map(FullOrder::from))
            }
            Section::Purchases => {
                let after = PurchaseId::new(after);
                let purchases = session.contact_purchases(business, contact, after).await?;
                let last = purchases.last().map(|purchase| purchase.id.get());
                let business = &call.caller.business;
                let shown = forecourt_purchases::show_purchases(session.as_mut(), business, purchases).await?;
                part(last, shown.iter().map(FullPurchase::from))
            }
            Section::Deals => {
                let deals = session.contact_deals(business, contact, DealId::new(after)).await?;
                let last = deals.last().map(|deal| deal.id.get());
                let shown = forecourt_deals::show_deals(session.as_mut(), business, deals).await?;
                part(last, shown.iter().map(FullDeal::from))
            }
            Section::Appointments => {
                let after = AppointmentId::new(after);
                let appointments = session.contact_appointments(business, contact, after).await?;
                let last = appointments.last().map(|appointment| appointment.id.get());
                part(last, appointments.iter().map(FullAppointment::from))
            }
            Section::Calls => {
                let calls = session.contact_calls(business, contact, CallId::new(after)).await?;
                let last = calls.last().map(|call| call.id.get());
                part(last, calls.iter().map(FullCall::from))
            }
            Section::Reviews => {
                let after = ReviewId::new(after);
                let reviews = session.reviews_by(business, &subject.name, after).await?;
                let last = reviews.last().map(|review| review.id.get());
                part(last, reviews.iter().map(FullReview::from))
            }
            Section::Mails => {
                let mails = session.mails_to(business, &subject.email, after).await?;
                part(mails.last().map(|mail| mail.id), mails.iter())
            }
            Section::Events => {
                let after = EventSequence(after);
                let events = contacts::export_events(session.as_mut(), &call.caller, contact, after).await?;
                let last = events.last().map(|(EventSequence(number), _)| *number);
                part(last, events.iter().map(|(_, event)| event))
            }
            Section::Vehicles | Section::Reservations | Section::Sales | Section::Documents => {
                let found = session
                    .contact_vehicles(business, contact, VehicleId::new(after))
                    .await?;
                let last = found.last().map(|vehicle| vehicle.id.get());
                if section == Section::Documents {
                    let mut items = Vec::new();
                    for vehicle in found.iter().filter(|vehicle| vehicles::is_customer(vehicle, contact)) {
                        items.extend(self.documents(session.as_mut(), vehicle.id).await?);
                    }
                    return Ok((last, items));
                }
                let business = &call.caller.business;
                let view = |vehicle| VehicleView::new(vehicle, business, Detail::Full, call.caller.scopes);
                let reservations = |vehicle| vehicles::contact_reservations(vehicle, contact);
                match section {
                    Section::Reservations => part(last, found.iter().flat_map(reservations)),
                    Section::Sales => {
                        let sales = found
                            .iter()
                            .filter_map(|vehicle| vehicles::contact_sale(vehicle, contact));
                        part(last, sales)
                    }
                    _ => part(last, found.iter().map(view)),
                }
            }
        }
    }

    /// Returns the documents that are kept with a vehicle.
    async fn documents(&self, session: &mut dyn ReadSession, vehicle: VehicleId) -> Result<Vec<Value>, ApiError> {
        let mut items = Vec::new();
        let mut next = Some(Cursor::at([i64::MAX]));
        while let Some(cursor) = next {
            let page = PageRequest {
                position: Position::After(cursor),
                per_page: AT_ONCE,
            };
            let page = session
                .vehicle_documents(self.call.caller.business_id(), vehicle, &page)
                .await?;
            for document in &page.items {
                let item = VehicleDocumentView::new(document);
                items.push(reply::value(&OfVehicle { vehicle, item })?);
            }
            next = page.next;
        }
        Ok(items)
    }

    /// Splits a lead into pieces, in which its messages and notes are still to be filled in.
    fn lead(&self, lead: Value) -> Vec<Piece> {
        let Value::Object(mut lead) = lead else {
            return Vec::new();
        };
        let id = LeadId::new(lead.get("id").and_then(Value::as_i64).unwrap_or_default());
        let mut sections: Vec<(Section, &[&str])> = Vec::new();
        for (section, name, scope) in [
            (Section::Messages(id), &["messages"], Scope::LeadMessagesRead),
            (Section::LeadNotes(id), &["notes"], Scope::LeadNotesRead),
        ] {
            if self.call.caller.may(scope) {
                lead.insert(name[0].to_owned(), Value::Array(Vec::new()));
                sections.push((section, name));
            }
        }
        let lead = Value::Object(lead);
        let lead = match &self.fields {
            None => lead,
            Some(fields) => fields.apply(json!({"leads": lead}))["leads"].take(),
        };
        outline(lead, "", &sections)
    }

    /// Appends an item of a section, or the part of it that is requested.
    fn append(&self, section: Section, item: &Value, body: &mut Vec<u8>) -> Result<(), ApiError> {
        let Some(fields) = &self.fields else {
            return reply::append(item, None, body);
        };
        let wrap = |inner: Value, name: &&str| json!({*name: inner});
        let wrapped = section.path().iter().rev().fold(json!([item]), wrap);
        let shown = fields.apply(wrapped);
        let path = section
            .path()
            .iter()
            .fold(String::new(), |path, part| path + "/" + part)
            + "/0";
        reply::append(&shown.pointer(&path), None, body)
    }
}
