//! Identifiers, with a type for each kind of record, so that a contact's number cannot be used as a lead's.

/// Declares identifiers: positive whole numbers, each kind with a type of its own.
///
/// ```
/// # #![allow(unexpected_cfgs)]
/// forecourt_kernel::ids! {
///     /// Identifies a bay of a car park.
///     BayId;
/// }
/// assert_eq!("17".parse(), Ok(BayId::new(17)));
/// ```
///
/// The declaring crate needs serde as a dependency, and a feature `openapi` that enables utoipa.
#[macro_export]
macro_rules! ids {
    ($($(#[$meta:meta])* $name:ident;)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, ::serde::Serialize, ::serde::Deserialize)]
        #[cfg_attr(feature = "openapi", derive(::utoipa::ToSchema))]
        #[serde(transparent)]
        pub struct $name(i64);

        impl $name {
            /// Wraps a number that comes from storage or from a caller.
            pub const fn new(raw: i64) -> Self {
                Self(raw)
            }

            /// The bare number, as in JSON and in paths.
            pub const fn get(self) -> i64 {
                self.0
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&self.0, f)
            }
        }

        /// Reads a positive decimal number, as in paths.
        impl ::std::str::FromStr for $name {
            type Err = $crate::NotAnId;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::NotAnId::read(text).map(Self)
            }
        }
    )+};
}

ids! {
    /// Identifies a business: the tenant that owns every other record.
    BusinessId;
    /// Identifies a lead, uniquely across businesses.
    LeadId;
    /// Identifies a message of a lead's conversation, uniquely across businesses.
    LeadMessageId;
    /// Identifies a note on a lead, uniquely across businesses.
    LeadNoteId;
    /// Identifies a contact, uniquely across businesses.
    ContactId;
    /// Identifies a note on a contact, uniquely across businesses.
    ContactNoteId;
    /// Identifies a vehicle, uniquely across businesses.
    VehicleId;
    /// Identifies an appointment, uniquely across businesses.
    AppointmentId;
    /// Identifies a telephone call, uniquely across businesses.
    CallId;
    /// Identifies a job on a vehicle, uniquely across businesses.
    JobId;
    /// Identifies an invoice, uniquely across businesses.
    InvoiceId;
    /// Identifies an order, uniquely across businesses.
    OrderId;
    /// Identifies a site of a business; 0 is its main site.
    SiteId;
    /// Identifies a staff user of a business.
    StaffId;
    /// Identifies a webhook subscription, uniquely across businesses.
    WebhookId;
    /// Identifies a webhook delivery, uniquely across businesses.
    DeliveryId;
}

/// The text is not a positive whole number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("an identifier is a positive whole number")]
pub struct NotAnId;

impl NotAnId {
    /// Reads `text` as a positive decimal number.
    ///
    /// # Errors
    /// If `text` is not such a number.
    pub fn read(text: &str) -> Result<i64, Self> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|raw| digits && *raw > 0).ok_or(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_identifier_is_a_positive_whole_number() {
        assert_eq!("17".parse(), Ok(LeadId::new(17)));
        for text in ["", "0", "-1", "+1", "1.0", "abc", "9223372036854775808", " 1"] {
            assert_eq!(text.parse::<LeadId>(), Err(NotAnId), "{text:?}");
        }
    }
}
