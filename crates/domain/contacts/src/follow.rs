//! Who must be left alone: addresses and numbers that asked not to be written to.

use std::fmt;

use forecourt_kernel::{BusinessId, ContactId, fold_email};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::ContactDraft;

/// Identifies an address or a number among those that a business leaves alone, without revealing it.
///
/// A block belongs to the address or the number and outlives the contact (decisions §6), whose personal data must not
/// outlive it; so what is kept of it is a digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockKey([u8; 32]);

impl BlockKey {
    /// The key of an email, which is compared without regard to case; `None` of the empty one.
    pub fn email(business: BusinessId, email: &str) -> Option<Self> {
        Self::digest(business, "email", &fold_email(email))
    }

    /// The key of a number in E.164; `None` of the empty one.
    pub fn sms(business: BusinessId, number: &str) -> Option<Self> {
        Self::digest(business, "sms", number)
    }

    /// The key as storage keeps it.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn digest(business: BusinessId, channel: &str, value: &str) -> Option<Self> {
        let named = format!("{channel}:{business}:{value}");
        (!value.is_empty()).then(|| Self(Sha256::digest(named.as_bytes()).into()))
    }
}

/// Says no more than that there is one.
impl fmt::Debug for BlockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BlockKey(…)")
    }
}

/// Where a contact may be written to, and where not (contract, "Contacts").
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FollowBlocks {
    /// Contact id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub contact: ContactId,
    /// The email.
    pub email: FollowBlock,
    /// The mobile; the landline of a contact that has none.
    pub sms: FollowBlock,
}

/// An address or a number, and whether it is to be left alone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FollowBlock {
    /// The address or the number; empty if there is none.
    pub value: String,
    /// Whether it is to be left alone.
    pub blocked: bool,
}

/// The number by which a contact gets text messages.
pub(crate) fn sms_number(content: &ContactDraft) -> &str {
    if content.mobile.is_empty() {
        &content.telephone
    } else {
        &content.mobile
    }
}
