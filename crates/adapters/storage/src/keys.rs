//! A change of the secret key, and a way on without it.

use forecourt_kernel::{BusinessId, ContactId, WebhookId};

/// The numbers of what was encrypted with another key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Resealed {
    /// Secrets of webhooks.
    pub webhooks: u64,
    /// Answers that are stored for retries.
    pub answers: u64,
    /// Unfinished erasures of contacts.
    pub erasures: u64,
    /// People who were erased a few minutes ago.
    pub people: u64,
    /// Entries that neither key opens, and that stay as they are.
    pub unreadable: u64,
}

impl Resealed {
    /// The number of all that was encrypted anew.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.webhooks + self.answers + self.erasures + self.people
    }

    /// Adds the numbers of a further pass.
    pub const fn add(&mut self, other: &Self) {
        self.webhooks += other.webhooks;
        self.answers += other.answers;
        self.erasures += other.erasures;
        self.people += other.people;
        self.unreadable = other.unreadable;
    }
}

/// The data that a lost key takes along.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Forgotten {
    /// Answers that are stored for retries.
    pub answers: u64,
    /// Webhooks, whose secrets have to be rotated.
    pub webhooks: Vec<(BusinessId, WebhookId)>,
    /// Contacts whose erasure is not finished. It begins anew with what is still known of them: their numbers.
    pub erasures: Vec<(BusinessId, ContactId)>,
    /// Contacts that were erased a few minutes ago, and that servers would still have looked for in their spools.
    pub people: Vec<(BusinessId, ContactId)>,
    /// Addresses and numbers that were to be left alone. Nothing can be compared with them any longer.
    pub blocks: u64,
    /// Mails that became leads, and may become leads again.
    pub enquiry_mails: u64,
}
