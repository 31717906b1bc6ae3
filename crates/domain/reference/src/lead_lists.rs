//! The lists that classify leads (contract, "Reference"; decisions §5).

use std::str::FromStr;

use forecourt_kernel::{FromJson, InvalidValue, from_line};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::UnknownValue;

/// A value of a list: its id, which records carry, and a name to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Named {
    /// The value to send and to compare.
    pub id: &'static str,
    /// The name to show.
    pub name: &'static str,
}

macro_rules! list {
    ($(#[doc = $doc:literal])+ $list:ident { $($variant:ident = $id:literal, $name:literal;)+ }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "each variant's meaning is the name beside it")]
        pub enum $list {
            $(#[serde(rename = $id)] $variant,)+
        }

        impl $list {
            /// All values, in the order in which to show them.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];
            const IDS: &[&str] = &[$($id,)+];

            /// The id, which records carry.
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$variant => $id,)+
                }
            }

            /// The name to show.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Returns all values with their names, as in the reference endpoint.
            pub fn list() -> Vec<Named> {
                Self::ALL.iter().map(|value| Named { id: value.id(), name: value.name() }).collect()
            }
        }

        // A derived schema does not have ids that a macro generates.
        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $list {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::Type::String)
                    .description(Some(concat!($($doc),+).trim()))
                    .enum_values(Some(Self::IDS.iter().copied()))
                    .into()
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $list {}

        impl FromStr for $list {
            type Err = UnknownValue;

            fn from_str(text: &str) -> Result<Self, UnknownValue> {
                match text {
                    $($id => Ok(Self::$variant),)+
                    _ => Err(UnknownValue(Self::IDS)),
                }
            }
        }

        impl FromJson for $list {
            fn from_json(value: Value) -> Result<Self, InvalidValue> {
                from_line(value)
            }
        }
    };
}

list! {
    /// The subject of an enquiry.
    LeadType {
        Email = "email", "General enquiry";
        Phone = "phone", "Phone call";
        Callback = "callback", "Callback request";
        TestDrive = "test_drive", "Test drive";
        Finance = "finance", "Finance";
        PartExchange = "part_exchange", "Part exchange";
        Valuation = "valuation", "Valuation";
        Reservation = "reservation", "Reservation";
        Availability = "availability", "Availability";
        Video = "video", "Video request";
        Brochure = "brochure", "Brochure request";
        Service = "service", "Service";
        Warranty = "warranty", "Warranty";
        Parts = "parts", "Parts";
        Feedback = "feedback", "Feedback";
        Other = "other", "Other";
    }
}

list! {
    /// The channel of an enquiry.
    LeadChannel {
        Api = "api", "API";
        Website = "website", "Website";
        Email = "email", "Email";
        Sms = "sms", "SMS";
        Whatsapp = "whatsapp", "WhatsApp";
        Phone = "phone", "Phone";
        Showroom = "showroom", "Showroom";
        Marketplace = "marketplace", "Marketplace";
        Social = "social", "Social media";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_reads_back() {
        assert!(LeadType::ALL.iter().all(|value| value.id().parse() == Ok(*value)));
        assert!(LeadChannel::ALL.iter().all(|value| value.id().parse() == Ok(*value)));
        assert_eq!((LeadType::ALL.len(), LeadChannel::ALL.len()), (16, 9));
    }

    #[test]
    fn a_refusal_names_what_would_do() {
        let refusal = "carrier_pigeon".parse::<LeadChannel>().unwrap_err();
        assert!(refusal.to_string().starts_with("must be one of api, website"));
    }
}
