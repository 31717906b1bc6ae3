//! Leads in memory, with their messages and notes.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use forecourt_kernel::{
    BusinessId, ContactId, EventLog, LeadId, LeadMessageId, LeadNoteId, MailOutbox, Page, PageRequest, StoreError,
    StoreResult, Timestamp, VehicleId, Version, fold, fold_email,
    testing::{HoldsEvents, HoldsMails, MemoryEvents, MemoryMails, page_of},
};
use forecourt_reference::LeadChannel;

use super::Surroundings;
use crate::{
    ContactSuggestion, ConversationReader, ConversationStore, DueAssessment, DueReopening, Lead, LeadDraft, LeadFilter,
    LeadMessage, LeadNote, LeadReader, LeadStatus, LeadStore, LeadVehicle, NewLeadNote, NewMessage, SenderKeys,
    StockVehicle, VehicleChoice, VehicleClue,
};

/// The data of a business's contact that leads need.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownContact {
    /// The contact's id.
    pub id: ContactId,
    /// The email address; empty if unknown.
    pub email: String,
    /// The landline and the mobile in E.164; empty if unknown.
    pub numbers: [String; 2],
}

/// The data of a business's vehicle that leads need.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownVehicle {
    /// The data that leads show.
    pub vehicle: StockVehicle,
    /// Its stock number, and the dealership's own reference, which is used if no stock number matches. Empty if it has none.
    pub numbers: [String; 2],
    /// Its vehicle identification number; empty if unknown.
    pub vin: String,
}

/// Returns `true` if the text of a vehicle is the one searched for.
fn same(text: &str, wanted: &str) -> bool {
    !text.is_empty() && fold(text) == fold(wanted)
}

/// Returns a registration mark in the form in which marks are compared.
fn mark(text: &str) -> String {
    text.replace(' ', "").to_uppercase()
}

/// The reference numbers that a business has assigned to its leads.
#[derive(Clone, Copy, Debug)]
struct Given {
    reference: i64,
    created: Timestamp,
}

/// Leads in memory, with their messages and notes, and the data of contacts and vehicles that leads need.
#[derive(Clone, Debug, Default)]
pub struct MemoryLeads {
    leads: BTreeMap<LeadId, (BusinessId, Lead)>,
    given: BTreeMap<BusinessId, Given>,
    contacts: Vec<(BusinessId, KnownContact)>,
    vehicles: Vec<(BusinessId, KnownVehicle)>,
    associations: BTreeMap<(VehicleId, LeadId), Timestamp>,
    messages: Vec<LeadMessage>,
    notes: Vec<LeadNote>,
    /// The time at which each waiting conversation is due, and the number of attempts.
    waiting: BTreeMap<(BusinessId, LeadId), (Timestamp, u32)>,
    /// The mails that have become leads.
    mails: BTreeSet<(BusinessId, String)>,
    unreadable: BTreeSet<LeadId>,
    last_id: i64,
    saves: usize,
}

impl MemoryLeads {
    /// The leads of all businesses, oldest first.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Lead> {
        self.leads.values().map(|(_, lead)| lead)
    }

    /// Returns the lead with that id of any business.
    pub fn get(&self, id: LeadId) -> Option<&Lead> {
        self.leads.get(&id).map(|(_, lead)| lead)
    }

    /// The number of times that a lead was saved, even with the same content.
    pub const fn saves(&self) -> usize {
        self.saves
    }

    /// Returns the associations of leads with vehicles.
    pub fn associations(&self) -> impl ExactSizeIterator<Item = (LeadId, VehicleId)> {
        self.associations.keys().map(|(vehicle, lead)| (*lead, *vehicle))
    }

    /// Returns the conversations that wait to be read, or are leased.
    pub fn waiting(&self) -> Vec<LeadId> {
        self.waiting.keys().map(|(_, lead)| *lead).collect()
    }

    /// Adds a contact to the business, and replaces one with the same id.
    pub fn know_contact(&mut self, business: BusinessId, contact: KnownContact) {
        self.contacts.retain(|(_, known)| known.id != contact.id);
        self.contacts.push((business, contact));
        self.contacts.sort_by_key(|(_, known)| known.id);
    }

    /// Adds a vehicle to the business, and replaces one with the same id.
    pub fn know_vehicle(&mut self, business: BusinessId, vehicle: KnownVehicle) {
        self.vehicles
            .retain(|(_, known)| known.vehicle.id != vehicle.vehicle.id);
        self.vehicles.push((business, vehicle));
        self.vehicles.sort_by_key(|(_, known)| known.vehicle.id);
    }

    /// Lets the businesses have these contacts and vehicles.
    pub fn know(&mut self, around: &Surroundings) {
        for contact in &around.contacts {
            self.know_contact(around.ours, contact.clone());
        }
        for vehicle in &around.vehicles {
            self.know_vehicle(around.ours, vehicle.clone());
        }
        self.know_vehicle(around.theirs, around.their_vehicle.clone());
    }

    /// Associates the vehicle with the lead, even if the business is not known to have it.
    pub fn associate(&mut self, lead: LeadId, vehicle: VehicleId, at: Timestamp) {
        self.associations.entry((vehicle, lead)).or_insert(at);
    }

    /// Makes reads of the lead fail from now on, or succeed again.
    pub fn set_readable(&mut self, lead: LeadId, readable: bool) {
        if readable {
            self.unreadable.remove(&lead);
        } else {
            self.unreadable.insert(lead);
        }
    }

    /// Removes everything that a business has.
    pub fn forget_business(&mut self, business: BusinessId) {
        let own: Vec<_> = self
            .leads
            .iter()
            .filter(|(_, (owner, _))| *owner == business)
            .map(|(id, _)| *id)
            .collect();
        own.into_iter().for_each(|lead| self.forget(lead));
        self.given.remove(&business);
        self.contacts.retain(|(owner, _)| *owner != business);
        self.vehicles.retain(|(owner, _)| *owner != business);
    }

    fn forget(&mut self, lead: LeadId) {
        self.leads.remove(&lead);
        self.associations.retain(|(_, of), _| *of != lead);
        self.messages.retain(|message| message.lead != lead);
        self.notes.retain(|note| note.lead != lead);
        self.waiting.retain(|(_, waiting), _| *waiting != lead);
    }

    fn of(&self, business: BusinessId, id: LeadId) -> Option<&Lead> {
        let owned = self.leads.get(&id).filter(|(owner, _)| *owner == business);
        owned.map(|(_, lead)| lead)
    }

    /// Returns the lead with the vehicles that it concerns.
    fn shown(&self, lead: &Lead) -> Lead {
        let associated = self.associations.iter().filter(|((_, of), _)| *of == lead.id);
        let mut associated: Vec<(Timestamp, VehicleId)> =
            associated.map(|((vehicle, _), at)| (*at, *vehicle)).collect();
        associated.sort_unstable();
        let associated: Vec<VehicleId> = associated.into_iter().map(|(_, vehicle)| vehicle).collect();
        lead.clone().concerning(&associated)
    }

    fn vehicles_of(&self, business: BusinessId) -> impl Iterator<Item = &KnownVehicle> {
        self.vehicles
            .iter()
            .filter(move |(owner, _)| *owner == business)
            .map(|(_, known)| known)
    }

    fn next_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }

    /// Ends a lease that is in force, and returns the number of attempts.
    fn end(&mut self, due: &DueAssessment) -> Option<u32> {
        let key = (due.business, due.lead);
        let (lease, attempts) = *self.waiting.get(&key)?;
        (lease == due.lease).then(|| {
            self.waiting.remove(&key);
            attempts
        })
    }
}

/// A type that keeps leads in memory, perhaps with other records. With an event log and an outbox it is a [`LeadStore`] and a
/// [`ConversationStore`].
pub trait HoldsLeads: Send {
    /// The leads.
    fn held_leads(&mut self) -> &mut MemoryLeads;
}

/// A complete store: leads, the events of their changes, and the mails that they cause.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    /// The leads.
    pub leads: MemoryLeads,
    /// The recorded events.
    pub events: MemoryEvents,
    /// The queued mails.
    pub mails: MemoryMails,
}

impl HoldsLeads for MemoryStore {
    fn held_leads(&mut self) -> &mut MemoryLeads {
        &mut self.leads
    }
}

impl HoldsEvents for MemoryStore {
    fn held_events(&mut self) -> &mut MemoryEvents {
        &mut self.events
    }
}

impl HoldsMails for MemoryStore {
    fn held_mails(&mut self) -> &mut MemoryMails {
        &mut self.mails
    }
}

#[async_trait]
impl<S: HoldsLeads> LeadReader for S {
    async fn lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>> {
        let held = self.held_leads();
        if held.unreadable.contains(&id) {
            return Err(StoreError::Other("the lead cannot be read".into()));
        }
        Ok(held.of(business, id).map(|lead| held.shown(lead)))
    }

    async fn leads(
        &mut self,
        business: BusinessId,
        filter: &LeadFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Lead>> {
        let held = self.held_leads();
        let newest_first = held.leads.values().rev();
        let passing = newest_first.filter(|(owner, lead)| {
            let concerns = |vehicle| held.associations.contains_key(&(vehicle, lead.id));
            *owner == business && filter.matches(lead, concerns)
        });
        let passing: Vec<Lead> = passing.map(|(_, lead)| held.shown(lead)).collect();
        Ok(page_of(&passing, page, |lead| lead.id.get()))
    }

    async fn contact_exists(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool> {
        let mut contacts = self.held_leads().contacts.iter();
        Ok(contacts.any(|(owner, contact)| *owner == business && contact.id == id))
    }

    async fn stock_vehicle(
        &mut self,
        business: BusinessId,
        choice: &VehicleChoice,
    ) -> StoreResult<Option<StockVehicle>> {
        let mut vehicles = self.held_leads().vehicles_of(business).map(|known| &known.vehicle);
        let found = vehicles.find(|vehicle| match choice {
            VehicleChoice::Id(id) => *id == vehicle.id,
            VehicleChoice::Tag(tag) => tag.eq_ignore_ascii_case(&vehicle.tag),
        });
        Ok(found.cloned())
    }

    async fn vehicle_with(&mut self, business: BusinessId, clue: &VehicleClue) -> StoreResult<Option<VehicleId>> {
        let mut vehicles = self.held_leads().vehicles_of(business);
        let found = match clue {
            VehicleClue::StockNumber(wanted) => {
                let own: Vec<_> = vehicles.collect();
                let by = |place: usize| own.iter().find(|known| same(&known.numbers[place], wanted)).copied();
                by(0).or_else(|| by(1))
            }
            VehicleClue::Vin(vin) => vehicles.find(|known| same(&known.vin, vin)),
            VehicleClue::Registration(wanted) => vehicles.find(|known| {
                let own = known.vehicle.registration.as_deref().map(mark);
                own.is_some_and(|own| own == mark(wanted))
            }),
        };
        Ok(found.map(|known| known.vehicle.id))
    }

    async fn lead_vehicles(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<LeadVehicle>>> {
        let held = self.held_leads();
        if held.of(business, lead).is_none() {
            return Ok(None);
        }
        let mut concerned: Vec<_> = held
            .vehicles_of(business)
            .filter_map(|known| {
                Some(LeadVehicle {
                    lead,
                    vehicle: known.vehicle.clone(),
                    created: *held.associations.get(&(known.vehicle.id, lead))?,
                })
            })
            .collect();
        concerned.reverse();
        Ok(Some(page_of(&concerned, page, |concerned| concerned.vehicle.id.get())))
    }
}

#[async_trait]
impl<S: HoldsLeads + EventLog + MailOutbox> LeadStore for S {
    async fn lock_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>> {
        self.lead(business, id).await
    }

    async fn insert_lead(&mut self, business: BusinessId, content: LeadDraft, at: Timestamp) -> StoreResult<Lead> {
        let held = self.held_leads();
        let id = LeadId::new(held.next_id());
        let before = held.given.get(&business);
        let given = Given {
            reference: before.map_or(0, |before| before.reference) + 1,
            created: before.map_or(at, |before| at.stamp_after(before.created)),
        };
        held.given.insert(business, given);
        let lead = Lead {
            id,
            reference: given.reference,
            created: given.created,
            updated: given.created,
            version: Version::FIRST,
            content,
        };
        held.leads.insert(id, (business, lead.clone()));
        Ok(lead)
    }

    async fn save_lead(&mut self, business: BusinessId, lead: &Lead) -> StoreResult<()> {
        let held = self.held_leads();
        if let Some((_, stored)) = held.leads.get_mut(&lead.id).filter(|(owner, _)| *owner == business) {
            *stored = Lead {
                updated: lead.updated.max(stored.created),
                ..lead.clone()
            };
            held.saves += 1;
        }
        Ok(())
    }

    async fn delete_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<()> {
        let held = self.held_leads();
        if held.of(business, id).is_some() {
            held.forget(id);
        }
        Ok(())
    }

    async fn associate_vehicle(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        vehicle: VehicleId,
        at: Timestamp,
    ) -> StoreResult<bool> {
        let held = self.held_leads();
        let known = held.vehicles_of(business).any(|known| known.vehicle.id == vehicle);
        if !known || held.of(business, lead).is_none() {
            return Err(StoreError::Conflict);
        }
        let new = !held.associations.contains_key(&(vehicle, lead));
        held.associate(lead, vehicle, at);
        Ok(new)
    }

    async fn dissociate_vehicle(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        vehicle: VehicleId,
    ) -> StoreResult<bool> {
        let held = self.held_leads();
        let own = held.of(business, lead).is_some();
        Ok(own && held.associations.remove(&(vehicle, lead)).is_some())
    }

    async fn contacts_like(&mut self, business: BusinessId, keys: &SenderKeys) -> StoreResult<Vec<ContactSuggestion>> {
        let own = self
            .held_leads()
            .contacts
            .iter()
            .filter(|(owner, _)| *owner == business);
        let found = own.filter_map(|(_, known)| {
            let [phone, mobile] = &known.numbers;
            let by = keys.found_by(&fold_email(&known.email), [phone, mobile])?;
            Some(ContactSuggestion { contact: known.id, by })
        });
        Ok(found.take(2).collect())
    }

    async fn request_assessment(&mut self, business: BusinessId, lead: LeadId, at: Timestamp) -> StoreResult<()> {
        self.held_leads().waiting.insert((business, lead), (at, 0));
        Ok(())
    }

    async fn due_reopenings(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueReopening>> {
        let leads = self.held_leads().leads.values();
        let mut due: Vec<_> = leads
            .filter(|(_, lead)| lead.content.status == LeadStatus::Closed)
            .filter_map(|(business, lead)| Some((lead.content.reopen?, *business, lead.id)))
            .filter(|(day, ..)| day.midnight() <= now)
            .collect();
        due.sort_by_key(|(day, ..)| *day);
        let each = due
            .into_iter()
            .map(|(_, business, lead)| DueReopening { business, lead });
        Ok(each.take(limit as usize).collect())
    }
}

#[async_trait]
impl<S: HoldsLeads> ConversationReader for S {
    async fn lead_messages(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        request: &PageRequest,
    ) -> StoreResult<Option<Page<LeadMessage>>> {
        if self.lead(business, lead).await?.is_none() {
            return Ok(None);
        }
        let all = self.held_leads().messages.iter().rev();
        let own = all.filter(|message| message.lead == lead);
        Ok(Some(page_of(own, request, |message| message.id.get())))
    }

    async fn lead_notes(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        request: &PageRequest,
    ) -> StoreResult<Option<Page<LeadNote>>> {
        if self.lead(business, lead).await?.is_none() {
            return Ok(None);
        }
        let all = self.held_leads().notes.iter().rev();
        let own = all.filter(|note| note.lead == lead);
        Ok(Some(page_of(own, request, |note| note.id.get())))
    }
}

#[async_trait]
impl<S: HoldsLeads + EventLog + MailOutbox> ConversationStore for S {
    async fn insert_lead_message(
        &mut self,
        _: BusinessId,
        lead: LeadId,
        message: NewMessage,
        channel: LeadChannel,
        at: Timestamp,
    ) -> StoreResult<LeadMessage> {
        let held = self.held_leads();
        let message = LeadMessage {
            id: LeadMessageId::new(held.next_id()),
            lead,
            created: at,
            direction: message.direction,
            channel: message.channel.unwrap_or(channel),
            subject: message.subject,
            body: message.body,
            user: None,
        };
        held.messages.push(message.clone());
        Ok(message)
    }

    async fn count_lead_notes(&mut self, _: BusinessId, lead: LeadId) -> StoreResult<usize> {
        let notes = self.held_leads().notes.iter();
        Ok(notes.filter(|note| note.lead == lead).count())
    }

    async fn insert_lead_note(
        &mut self,
        _: BusinessId,
        lead: LeadId,
        note: NewLeadNote,
        at: Timestamp,
    ) -> StoreResult<LeadNote> {
        let held = self.held_leads();
        let note = LeadNote {
            id: LeadNoteId::new(held.next_id()),
            lead,
            created: at,
            user: note.user,
            note: note.note,
        };
        held.notes.push(note.clone());
        Ok(note)
    }

    async fn delete_lead_note(&mut self, business: BusinessId, lead: LeadId, note: LeadNoteId) -> StoreResult<bool> {
        let held = self.held_leads();
        if held.of(business, lead).is_none() {
            return Ok(false);
        }
        let before = held.notes.len();
        held.notes.retain(|kept| kept.lead != lead || kept.id != note);
        Ok(held.notes.len() < before)
    }

    async fn note_enquiry_mail(&mut self, business: BusinessId, message_id: &str) -> StoreResult<bool> {
        let mails = &mut self.held_leads().mails;
        Ok(mails.insert((business, message_id.to_owned())))
    }

    async fn take_assessments(
        &mut self,
        after: BusinessId,
        now: Timestamp,
        lease: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<DueAssessment>> {
        let waiting = &mut self.held_leads().waiting;
        let mut by_business: BTreeMap<(bool, BusinessId), Vec<(Timestamp, LeadId)>> = BTreeMap::new();
        for (&(business, lead), &(due, _)) in waiting.iter().filter(|(_, (due, _))| *due <= now) {
            by_business
                .entry((business <= after, business))
                .or_default()
                .push((due, lead));
        }
        let limit = limit as usize;
        let share = limit.checked_div(by_business.len()).unwrap_or_default().max(1);
        let mut taken = Vec::new();
        for ((_, business), mut leads) in by_business {
            leads.sort_unstable();
            for (_, lead) in leads.into_iter().take(share.min(limit - taken.len())) {
                let (due, attempts) = waiting.get_mut(&(business, lead)).expect("it waits");
                *due = lease;
                taken.push(DueAssessment {
                    business,
                    lead,
                    lease,
                    attempts: *attempts,
                });
            }
        }
        Ok(taken)
    }

    async fn finish_assessment(&mut self, due: &DueAssessment) -> StoreResult<bool> {
        Ok(self.held_leads().end(due).is_some())
    }

    async fn postpone_assessment(&mut self, due: &DueAssessment, at: Timestamp) -> StoreResult<()> {
        let held = self.held_leads();
        if let Some(attempts) = held.end(due) {
            held.waiting.insert((due.business, due.lead), (at, attempts + 1));
        }
        Ok(())
    }

    async fn drop_assessments(&mut self, limit: u32) -> StoreResult<u32> {
        let waiting = &mut self.held_leads().waiting;
        let mut dropped = 0;
        while dropped < limit && waiting.pop_first().is_some() {
            dropped += 1;
        }
        Ok(dropped)
    }
}
