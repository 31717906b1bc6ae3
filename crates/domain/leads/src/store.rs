//! The ports for the storage of leads.

use async_trait::async_trait;
use forecourt_kernel::{
    BusinessId, ContactId, EventLog, LeadId, LeadNoteId, MailOutbox, Page, PageRequest, StoreError, StoreResult,
    Timestamp, VehicleId,
};
use forecourt_reference::LeadChannel;

use crate::{
    ContactSuggestion, Lead, LeadDraft, LeadFilter, LeadMessage, LeadNote, LeadPreview, LeadVehicle, NewLeadNote,
    NewMessage, SenderKeys, StockVehicle, VehicleChoice, VehicleClue,
};

/// A closed lead whose reopening day has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DueReopening {
    /// The business that owns the lead.
    pub business: BusinessId,
    /// The lead.
    pub lead: LeadId,
}

/// A conversation that waits to be read, leased to one server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DueAssessment {
    /// The business that owns the lead.
    pub business: BusinessId,
    /// The lead.
    pub lead: LeadId,
    /// The end of the lease; no other server gets the conversation before it. It also identifies the lease.
    pub lease: Timestamp,
    /// The number of earlier attempts.
    pub attempts: u32,
}

/// Reads leads.
#[async_trait]
pub trait LeadReader: Send {
    /// Returns the lead, or `None` if the business has none with that id.
    async fn lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>>;

    /// Returns a page of the leads that pass `filter`, newest first (id descending).
    async fn leads(&mut self, business: BusinessId, filter: &LeadFilter, page: &PageRequest)
    -> StoreResult<Page<Lead>>;

    /// Returns the same page in the simple view. Storage that keeps [`LeadPreview::written`] with each lead need not read the
    /// leads themselves, as this default implementation does.
    async fn lead_previews(
        &mut self,
        business: BusinessId,
        filter: &LeadFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<LeadPreview>> {
        let page = self.leads(business, filter, page).await?;
        page.try_map(|lead| LeadPreview::of(&lead).map_err(|failure| StoreError::Other(failure.into())))
    }

    /// Returns `true` if the business has that contact.
    async fn contact_exists(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool>;

    /// Returns the vehicle, or `None` if the business has no such vehicle or it was deleted.
    async fn stock_vehicle(
        &mut self,
        business: BusinessId,
        choice: &VehicleChoice,
    ) -> StoreResult<Option<StockVehicle>>;

    /// Returns the vehicle that `clue` describes, or `None` if the business has none. If there are several, it is the one with
    /// the lowest id. Deleted vehicles do not count.
    async fn vehicle_with(&mut self, business: BusinessId, clue: &VehicleClue) -> StoreResult<Option<VehicleId>>;

    /// Returns a page of the vehicles that the lead concerns, newest first (vehicle id descending), or `None` if the business has
    /// no such lead. Deleted vehicles are left out.
    async fn lead_vehicles(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<LeadVehicle>>>;
}

/// Writes leads, and reads the other data that the rules need. One value of it is one transaction.
#[async_trait]
pub trait LeadStore: LeadReader + EventLog + MailOutbox {
    /// Returns the lead, locked against other writers until the transaction ends.
    async fn lock_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>>;

    /// Stores a new lead under an id that no business has used and under the business's next reference number.
    async fn insert_lead(&mut self, business: BusinessId, draft: LeadDraft, at: Timestamp) -> StoreResult<Lead>;

    /// Stores a changed lead.
    async fn save_lead(&mut self, business: BusinessId, lead: &Lead) -> StoreResult<()>;

    /// Deletes the lead and everything that belongs to it, such as its associations with vehicles, and waiting mails about it.
    /// Its events keep their places, names and stamps, and have `{"id":…}` as their data. Stored answers about it get the same
    /// data.
    async fn delete_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<()>;

    /// Associates the vehicle with the lead; the business has both. Returns `false` if they were already associated.
    async fn associate_vehicle(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        vehicle: VehicleId,
        at: Timestamp,
    ) -> StoreResult<bool>;

    /// Removes the association of the vehicle with the lead. Returns `false` if [`LeadReader::lead_vehicles`] does not have it.
    async fn dissociate_vehicle(&mut self, business: BusinessId, lead: LeadId, vehicle: VehicleId)
    -> StoreResult<bool>;

    /// Returns contacts that have an email or a number of `keys`, each with the strongest common value. It returns at most two,
    /// since only a single match is useful. A single match is not deleted before the transaction ends.
    async fn contacts_like(&mut self, business: BusinessId, keys: &SenderKeys) -> StoreResult<Vec<ContactSuggestion>>;

    /// Requests the reading of the lead's conversation at `at`. If it already waits or is being read, it is read anew from then
    /// on, and its attempts are reset.
    async fn request_assessment(&mut self, business: BusinessId, lead: LeadId, at: Timestamp) -> StoreResult<()>;

    /// Returns at most `limit` closed leads of any business whose reopening day has begun at `now`.
    async fn due_reopenings(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueReopening>>;
}

/// Reads the messages and notes of leads.
#[async_trait]
pub trait ConversationReader: LeadReader {
    /// Returns a page of the lead's messages, newest first (id descending), or `None` if the business has no such lead.
    async fn lead_messages(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<LeadMessage>>>;

    /// Returns a page of the lead's notes, newest first (id descending), or `None` if the business has no such lead.
    async fn lead_notes(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<LeadNote>>>;
}

/// Writes the messages and notes of leads, and keeps the queue of conversations to be read. One value of it is one transaction.
/// Deleting a lead deletes its messages and notes, and removes its conversation from the queue.
#[async_trait]
pub trait ConversationStore: ConversationReader + LeadStore {
    /// Stores a message under an id that no business has used and that is higher than those of the lead's earlier messages.
    /// `channel` is used if the message has none.
    async fn insert_lead_message(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        message: NewMessage,
        channel: LeadChannel,
        at: Timestamp,
    ) -> StoreResult<LeadMessage>;

    /// Returns the number of the lead's notes.
    async fn count_lead_notes(&mut self, business: BusinessId, lead: LeadId) -> StoreResult<usize>;

    /// Stores a note under an id that no business has used.
    async fn insert_lead_note(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        note: NewLeadNote,
        at: Timestamp,
    ) -> StoreResult<LeadNote>;

    /// Deletes a note. Returns `false` if the lead has none with that id.
    async fn delete_lead_note(&mut self, business: BusinessId, lead: LeadId, note: LeadNoteId) -> StoreResult<bool>;

    /// Notes that the mail with this `Message-ID` becomes a lead of the business. Returns `false` if it already has, even if that
    /// lead is deleted.
    async fn note_enquiry_mail(&mut self, business: BusinessId, message_id: &str) -> StoreResult<bool>;

    /// Leases at most `limit` conversations that wait to be read at `now`, until `lease`: no other caller gets them before then.
    /// Businesses with waiting conversations get equal shares, beginning with the businesses after `after`, so that a business
    /// with thousands does not delay the others. A caller passes the last business of its previous call.
    async fn take_assessments(
        &mut self,
        after: BusinessId,
        now: Timestamp,
        lease: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<DueAssessment>>;

    /// Notes that the conversation has been read, or never will be. Returns `false`, without a change, if the lease has ended:
    /// another server has it, or it is to be read anew.
    async fn finish_assessment(&mut self, due: &DueAssessment) -> StoreResult<bool>;

    /// Returns a conversation to the queue, to be read at `at`, and counts the attempt. Has no effect if the lease has ended.
    async fn postpone_assessment(&mut self, due: &DueAssessment, at: Timestamp) -> StoreResult<()>;

    /// Removes at most `limit` waiting conversations of any business, for a server that reads none. Returns the number removed.
    async fn drop_assessments(&mut self, limit: u32) -> StoreResult<u32>;
}

#[cfg(feature = "mock")]
mod mocks {
    use forecourt_kernel::{Mail, NewEvent};
    use mockall::mock;

    use super::*;

    mock! {
        /// A scripted [`LeadStore`], and so a [`LeadReader`].
        pub LeadStore {}

        #[async_trait]
        impl EventLog for LeadStore {
            async fn record(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()>;
        }

        #[async_trait]
        impl MailOutbox for LeadStore {
            async fn queue_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<()>;
            async fn queue_awaited_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<bool>;
            async fn claim_mail(&mut self, business: BusinessId, at: Timestamp) -> StoreResult<bool>;
            async fn queue_claimed_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<()>;
        }

        #[async_trait]
        impl LeadReader for LeadStore {
            async fn lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>>;
            async fn leads(&mut self, business: BusinessId, filter: &LeadFilter, page: &PageRequest) -> StoreResult<Page<Lead>>;
            async fn lead_previews(&mut self, business: BusinessId, filter: &LeadFilter, page: &PageRequest) -> StoreResult<Page<LeadPreview>>;
            async fn contact_exists(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool>;
            async fn stock_vehicle(&mut self, business: BusinessId, choice: &VehicleChoice) -> StoreResult<Option<StockVehicle>>;
            async fn vehicle_with(&mut self, business: BusinessId, clue: &VehicleClue) -> StoreResult<Option<VehicleId>>;
            async fn lead_vehicles(&mut self, business: BusinessId, lead: LeadId, page: &PageRequest) -> StoreResult<Option<Page<LeadVehicle>>>;
        }

        #[async_trait]
        impl LeadStore for LeadStore {
            async fn lock_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>>;
            async fn insert_lead(&mut self, business: BusinessId, draft: LeadDraft, at: Timestamp) -> StoreResult<Lead>;
            async fn save_lead(&mut self, business: BusinessId, lead: &Lead) -> StoreResult<()>;
            async fn delete_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<()>;
            async fn associate_vehicle(&mut self, business: BusinessId, lead: LeadId, vehicle: VehicleId, at: Timestamp) -> StoreResult<bool>;
            async fn dissociate_vehicle(&mut self, business: BusinessId, lead: LeadId, vehicle: VehicleId) -> StoreResult<bool>;
            async fn contacts_like(&mut self, business: BusinessId, keys: &SenderKeys) -> StoreResult<Vec<ContactSuggestion>>;
            async fn request_assessment(&mut self, business: BusinessId, lead: LeadId, at: Timestamp) -> StoreResult<()>;
            async fn due_reopenings(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueReopening>>;
        }
    }
}

#[cfg(feature = "mock")]
pub use mocks::MockLeadStore;
