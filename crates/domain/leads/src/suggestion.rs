//! The contact that the sender of an enquiry seems to be. It is suggested and never linked: that is a person's decision.

use forecourt_accounts::Business;
use forecourt_kernel::{ContactId, StoreError, fold_email};
use serde::{Deserialize, Serialize};

use crate::{LeadDraft, LeadStore};

/// What a contact was found by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SuggestedBy {
    /// The email address.
    Email,
    /// The mobile.
    Mobile,
    /// The landline.
    Phone,
}

/// A contact that has the email or a number of a lead which names no contact.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ContactSuggestion {
    /// Which contact.
    pub contact: ContactId,
    /// What it has in common with the lead.
    pub by: SuggestedBy,
}

/// What of a lead contacts are looked for by. Storage compares an address as [`fold_email`] writes it, and each number with a
/// contact's landline as with its mobile; what is empty finds nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SenderKeys {
    /// The address, folded.
    pub email: String,
    /// The mobile in E.164.
    pub mobile: String,
    /// The landline in E.164.
    pub phone: String,
}

impl SenderKeys {
    /// Those of a lead.
    pub fn of(content: &LeadDraft) -> Self {
        Self {
            email: fold_email(&content.email),
            mobile: content.mobile.clone(),
            phone: content.phone.clone(),
        }
    }

    /// Whether there is nothing to look for.
    pub const fn is_empty(&self) -> bool {
        self.email.is_empty() && self.mobile.is_empty() && self.phone.is_empty()
    }

    /// What a contact with this folded email and these numbers has in common with the lead, the most telling first.
    pub fn found_by(&self, email: &str, numbers: [&str; 2]) -> Option<SuggestedBy> {
        let has = |number: &String| !number.is_empty() && numbers.contains(&number.as_str());
        if !self.email.is_empty() && self.email == email {
            Some(SuggestedBy::Email)
        } else if has(&self.mobile) {
            Some(SuggestedBy::Mobile)
        } else if has(&self.phone) {
            Some(SuggestedBy::Phone)
        } else {
            None
        }
    }
}

/// Finds the contact to suggest for a lead that says `content`: the only one that has its email or a number of it, if it names
/// none itself.
pub(crate) async fn suggest(
    store: &mut dyn LeadStore,
    business: &Business,
    content: &LeadDraft,
) -> Result<Option<ContactSuggestion>, StoreError> {
    let keys = SenderKeys::of(content);
    if content.contact.is_some() || keys.is_empty() {
        return Ok(None);
    }
    let found = store.contacts_like(business.id, &keys).await?;
    Ok(match *found {
        [only] => Some(only),
        _ => None,
    })
}
