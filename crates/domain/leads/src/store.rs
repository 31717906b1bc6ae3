//! What this area needs from storage.

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

/// A closed lead whose day to reopen has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DueReopening {
    /// Whose lead it is.
    pub business: BusinessId,
    /// Which lead.
    pub lead: LeadId,
}

/// A conversation that waits to be read, leased to one server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DueAssessment {
    /// Whose lead it is.
    pub business: BusinessId,
    /// Which lead.
    pub lead: LeadId,
    /// Until when no other server gets it. It identifies the lease as well.
    pub lease: Timestamp,
    /// How often it was tried before.
    pub attempts: u32,
}

/// Reads leads.
#[async_trait]
pub trait LeadReader: Send {
    /// The lead, or `None` if the business has none of that id.
    async fn lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>>;

    /// A page of the leads that pass `filter`, newest first (id descending).
    async fn leads(&mut self, business: BusinessId, filter: &LeadFilter, page: &PageRequest)
    -> StoreResult<Page<Lead>>;

    /// The same page in the simple view. Storage that keeps [`LeadPreview::written`] beside each lead need not read the leads
    /// themselves, as is done here.
    async fn lead_previews(
        &mut self,
        business: BusinessId,
        filter: &LeadFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<LeadPreview>> {
        let page = self.leads(business, filter, page).await?;
        page.try_map(|lead| LeadPreview::of(&lead).map_err(|failure| StoreError::Other(failure.into())))
    }

    /// Whether the business has that contact.
    async fn contact_exists(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool>;

    /// The vehicle, or `None` if the business has no such vehicle or it was deleted.
    async fn stock_vehicle(
        &mut self,
        business: BusinessId,
        choice: &VehicleChoice,
    ) -> StoreResult<Option<StockVehicle>>;

    /// The vehicle that `clue` describes, or `None` if the business has none such; of several the first, that of the lowest id.
    /// Vehicles that were deleted are none.
    async fn vehicle_with(&mut self, business: BusinessId, clue: &VehicleClue) -> StoreResult<Option<VehicleId>>;

    /// A page of the vehicles that the lead concerns, newest first (vehicle id descending), or `None` if the business has no
    /// such lead. Vehicles that were deleted are not among them.
    async fn lead_vehicles(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<LeadVehicle>>>;
}

/// Writes leads, and looks up what else the rules need. One value of it is one transaction.
#[async_trait]
pub trait LeadStore: LeadReader + EventLog + MailOutbox {
    /// The lead, locked against other writers until the transaction ends.
    async fn lock_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>>;

    /// Stores a new lead under an id that no business has used and under the business's next reference number.
    async fn insert_lead(&mut self, business: BusinessId, draft: LeadDraft, at: Timestamp) -> StoreResult<Lead>;

    /// Stores a lead that has changed.
    async fn save_lead(&mut self, business: BusinessId, lead: &Lead) -> StoreResult<()>;

    /// Removes the lead and all that belongs to it, its associations with vehicles for one, and mails about it that wait. Its events keep
    /// their places, names and stamps, and have `{"id":…}` as their data; so do stored answers about it.
    async fn delete_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<()>;

    /// Notes that the lead concerns the vehicle, both of which the business has; `false` if that was known before.
    async fn associate_vehicle(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        vehicle: VehicleId,
        at: Timestamp,
    ) -> StoreResult<bool>;

    /// Forgets that the lead concerns the vehicle; `false` if [`LeadReader::lead_vehicles`] does not have it.
    async fn dissociate_vehicle(&mut self, business: BusinessId, lead: LeadId, vehicle: VehicleId)
    -> StoreResult<bool>;

    /// Contacts that have an email or a number of `keys`, each with the most telling thing in common; two at most, since only a
    /// single one is of use. That one is not deleted before the transaction ends.
    async fn contacts_like(&mut self, business: BusinessId, keys: &SenderKeys) -> StoreResult<Vec<ContactSuggestion>>;

    /// Has the lead's conversation read once `at` has come. If it waits to be read already, or is being read, it is read anew from
    /// then on, as if it had never been tried.
    async fn request_assessment(&mut self, business: BusinessId, lead: LeadId, at: Timestamp) -> StoreResult<()>;

    /// At most `limit` closed leads of any business whose day to reopen has begun at `now`.
    async fn due_reopenings(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueReopening>>;
}

/// Reads what is written on leads.
#[async_trait]
pub trait ConversationReader: LeadReader {
    /// A page of the lead's messages, newest first (id descending), or `None` if the business has no such lead.
    async fn lead_messages(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<LeadMessage>>>;

    /// A page of the lead's notes, newest first (id descending), or `None` if the business has no such lead.
    async fn lead_notes(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<LeadNote>>>;
}

/// Writes what is written on leads, and keeps which conversations wait to be read. One value of it is one transaction. Deleting a
/// lead deletes its messages and notes, and its conversation waits no more.
#[async_trait]
pub trait ConversationStore: ConversationReader + LeadStore {
    /// Stores a message under an id that no business has used and that is higher than those of the lead's earlier ones. It went on
    /// `channel` if it names none itself.
    async fn insert_lead_message(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        message: NewMessage,
        channel: LeadChannel,
        at: Timestamp,
    ) -> StoreResult<LeadMessage>;

    /// How many notes the lead has.
    async fn count_lead_notes(&mut self, business: BusinessId, lead: LeadId) -> StoreResult<usize>;

    /// Stores a note under an id that no business has used.
    async fn insert_lead_note(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        note: NewLeadNote,
        at: Timestamp,
    ) -> StoreResult<LeadNote>;

    /// Removes a note; `false` if the lead has none of that id.
    async fn delete_lead_note(&mut self, business: BusinessId, lead: LeadId, note: LeadNoteId) -> StoreResult<bool>;

    /// Notes that a mail of this `Message-ID` becomes a lead of the business; `false` if one has before, even if that lead is deleted.
    async fn note_enquiry_mail(&mut self, business: BusinessId, message_id: &str) -> StoreResult<bool>;

    /// Leases at most `limit` conversations that wait to be read at `now`, until `lease`: no other caller gets them before then.
    /// They are shared out fairly: of each business that has any as many, beginning with the businesses behind `after`, so that one
    /// with thousands keeps no other waiting. A caller passes the last business that it was given.
    async fn take_assessments(
        &mut self,
        after: BusinessId,
        now: Timestamp,
        lease: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<DueAssessment>>;

    /// Notes that the conversation has been read, or never will be; `false`, and nothing is noted, if the lease is not in force:
    /// another server has it since, or it is to be read anew.
    async fn finish_assessment(&mut self, due: &DueAssessment) -> StoreResult<bool>;

    /// Puts a conversation back, to be read at `at`, one attempt more to its count; without effect if the lease is not in force.
    async fn postpone_assessment(&mut self, due: &DueAssessment, at: Timestamp) -> StoreResult<()>;

    /// Drops at most `limit` conversations that wait, of any business, for a server that reads none; answers how many.
    async fn drop_assessments(&mut self, limit: u32) -> StoreResult<u32>;
}

#[cfg(feature = "mock")]
mod mocks {
    use forecourt_kernel::{Mail, NewEvent};
    use mockall::mock;

    use super::*;

    mock! {
        /// A scripted [`LeadReader`].
        pub LeadReader {}

        #[async_trait]
        impl LeadReader for LeadReader {
            async fn lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>>;
            async fn leads(&mut self, business: BusinessId, filter: &LeadFilter, page: &PageRequest) -> StoreResult<Page<Lead>>;
            async fn lead_previews(&mut self, business: BusinessId, filter: &LeadFilter, page: &PageRequest) -> StoreResult<Page<LeadPreview>>;
            async fn contact_exists(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool>;
            async fn stock_vehicle(&mut self, business: BusinessId, choice: &VehicleChoice) -> StoreResult<Option<StockVehicle>>;
            async fn vehicle_with(&mut self, business: BusinessId, clue: &VehicleClue) -> StoreResult<Option<VehicleId>>;
            async fn lead_vehicles(&mut self, business: BusinessId, lead: LeadId, page: &PageRequest) -> StoreResult<Option<Page<LeadVehicle>>>;
        }
    }

    mock! {
        /// A scripted [`LeadStore`].
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
pub use mocks::{MockLeadReader, MockLeadStore};
