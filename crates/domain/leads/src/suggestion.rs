//! The suggested contact of a lead, which the sender probably is. It is never linked automatically: that is a person's decision.

use forecourt_accounts::Business;
use forecourt_kernel::{ContactId, StoreError, fold_email};
use serde::{Deserialize, Serialize};

use crate::{LeadDraft, LeadStore};

/// The value by which a contact was found.
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

/// A contact with the email or a number of a lead that names no contact.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ContactSuggestion {
    /// The contact.
    pub contact: ContactId,
    /// The value that it has in common with the lead.
    pub by: SuggestedBy,
}

/// The values of a lead by which contacts are found. Storage compares an address in the form of [`fold_email`], and each number
/// with both a contact's landline and its mobile. Empty values find nothing.
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
    /// The keys of a lead.
    pub fn of(content: &LeadDraft) -> Self {
        Self {
            email: fold_email(&content.email),
            mobile: content.mobile.clone(),
            phone: content.phone.clone(),
        }
    }

    /// Returns `true` if there are no values to search for.
    pub const fn is_empty(&self) -> bool {
        self.email.is_empty() && self.mobile.is_empty() && self.phone.is_empty()
    }

    /// Returns the strongest value that a contact with this folded email and these numbers has in common with the lead.
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

/// Finds the contact to suggest for a lead with `content`: the only one that has its email or one of its numbers. A lead that
/// names a contact gets no suggestion.
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
