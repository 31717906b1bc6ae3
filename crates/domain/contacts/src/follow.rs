//! Follow blocks: addresses and numbers whose owners asked not to be contacted.

use std::fmt;

use forecourt_kernel::{BusinessId, ContactId, fold_email};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::ContactDraft;

/// Identifies a blocked address or number of a business, without revealing it.
///
/// A block belongs to the address or the number and outlives the contact (decisions §6). The contact's personal data must not
/// outlive it, so only a digest is stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockKey([u8; 32]);

impl BlockKey {
    /// The key of an email address, which is compared without regard to case; `None` if it is empty.
    pub fn email(business: BusinessId, email: &str) -> Option<Self> {
        Self::digest(business, "email", &fold_email(email))
    }

    /// The key of a number in E.164; `None` if it is empty.
    pub fn sms(business: BusinessId, number: &str) -> Option<Self> {
        Self::digest(business, "sms", number)
    }

    /// The key for storage.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn digest(business: BusinessId, channel: &str, value: &str) -> Option<Self> {
        let named = format!("{channel}:{business}:{value}");
        (!value.is_empty()).then(|| Self(Sha256::digest(named.as_bytes()).into()))
    }
}

/// Shows nothing of the digest.
impl fmt::Debug for BlockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BlockKey(…)")
    }
}

/// The addresses at which a contact may or may not be contacted (contract, "Contacts").
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FollowBlocks {
    /// Contact id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub contact: ContactId,
    /// The email address.
    pub email: FollowBlock,
    /// The mobile number, or the landline if there is none.
    pub sms: FollowBlock,
}

/// An address or a number, and its block.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FollowBlock {
    /// The address or the number; empty if there is none.
    pub value: String,
    /// True if it must not be contacted.
    pub blocked: bool,
}

/// The number to which a contact's text messages are sent.
pub(crate) fn sms_number(content: &ContactDraft) -> &str {
    if content.mobile.is_empty() {
        &content.telephone
    } else {
        &content.mobile
    }
}
