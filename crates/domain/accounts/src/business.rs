//! A business: the tenant that owns every record, and the settings that its file declares (decisions §2).

use forecourt_kernel::{BusinessId, Country, Money, TimeZone, Timestamp};
use forecourt_reference::{Catalogue, Channel, Site};
use serde::{Deserialize, Serialize};

use crate::MailTexts;

/// Whether a business may use its account, and if not, why.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It may.
    #[default]
    Active,
    /// Frozen by the operator.
    Frozen,
    /// Suspended for billing.
    Suspended,
    /// A demonstration account, which has no API access.
    Demo,
    /// May be looked at elsewhere, but not used through the API.
    ReadOnly,
}

/// What a business pays for. Ordered: each plan includes the ones before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    /// The least; has no API access.
    Starter,
    /// The least that has API access.
    #[default]
    Growth,
    /// The most.
    Scale,
}

/// How a business sells on finance; the base of the finance example that its adverts carry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinanceSettings {
    /// Annual percentage rate, a decimal such as `9.9`.
    pub apr: String,
    /// How many months.
    pub term: u32,
    /// The deposit as a share of the price, in percent.
    #[serde(default = "zero")]
    pub deposit_percent: String,
    /// A fee paid with the first instalment.
    #[serde(default = "nothing")]
    pub admin_fee: Money,
    /// A fee paid with the last instalment.
    #[serde(default = "nothing")]
    pub option_purchase_fee: Money,
    /// The balloon as a share of the price, in percent; above 0 it makes the example one with a balloon.
    #[serde(default = "zero")]
    pub final_payment_percent: String,
}

fn zero() -> String {
    "0".into()
}

const fn nothing() -> Money {
    Money::ZERO
}

/// What a business may adjust.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How many vehicles may be for sale or reserved at once; `None` is no limit.
    pub publish_limit: Option<u32>,
    /// The deposit that a reservation takes when the vehicle has none of its own.
    pub reserve_deposit: Option<Money>,
    /// For how many days a sold vehicle stays listed.
    pub sold_retention_days: Option<u32>,
    /// The terms that a customer signs before a test drive.
    pub test_drive_terms: Option<String>,
    /// How finance examples are computed; `None` gives none.
    pub finance: Option<FinanceSettings>,
    /// How many MB all its files may have together; 0 is no limit, and `None` [`Settings::STORAGE_LIMIT_MB`].
    // As for the language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_limit_mb: Option<u32>,
    /// The language of its mails, as an ISO 639-1 code; `None` is English.
    // Left out where it is not given: servers of the version before refuse a member that they do not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Where its clocks are; `None` is the zone of its country.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<TimeZone>,
    /// The words that it has given its mails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mail_texts: Option<MailTexts>,
}

impl Settings {
    /// How many MB the files of a business may have that says nothing else.
    pub const STORAGE_LIMIT_MB: u32 = 20_480;

    /// How many bytes all files of the business may have together; `None` is no limit.
    pub fn storage_limit(&self) -> Option<u64> {
        match self.storage_limit_mb.unwrap_or(Self::STORAGE_LIMIT_MB) {
            0 => None,
            megabytes => Some(u64::from(megabytes) * 1024 * 1024),
        }
    }
}

/// A business, as it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Business {
    /// Its number.
    pub id: BusinessId,
    /// Its short name, unique, by which its file and its webhooks name it.
    pub tag: String,
    /// Its name.
    pub name: String,
    /// Where mails for it go; empty if it has given none.
    pub email: String,
    /// Where it is; numbers without a country code are read as its own.
    pub country: Country,
    /// Its website, the base of public links; empty if it has none.
    pub website: String,
    /// Whether it has completed the required verification.
    pub verified: bool,
    /// Whether it may use its account.
    pub state: State,
    /// What it pays for.
    pub plan: Plan,
    /// Whether it has been granted the API.
    pub api_access: bool,
    /// What it has adjusted.
    pub settings: Settings,
    /// Its own lists.
    pub catalogue: Catalogue,
    /// When it was first applied.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
}

impl Business {
    /// A business of which no more is said: active, on a plan that has the API, with one site, the website as its one channel,
    /// and no settings of its own. What else it has is set on its members.
    pub fn new(id: BusinessId, tag: &str, name: &str) -> Self {
        let website = Channel {
            id: "website".into(),
            name: "Website".into(),
            category: "website".into(),
        };
        Self {
            id,
            tag: tag.to_owned(),
            name: name.to_owned(),
            email: String::new(),
            country: Country::GB,
            website: String::new(),
            verified: true,
            state: State::Active,
            plan: Plan::Growth,
            api_access: true,
            settings: Settings::default(),
            catalogue: Catalogue {
                sites: vec![Site::main(name)],
                channels: vec![website],
                ..Catalogue::default()
            },
            created: Timestamp::from_epoch_seconds(0),
            updated: Timestamp::from_epoch_seconds(0),
        }
    }

    /// The time zone in which its people read times (decisions §2).
    pub fn time_zone(&self) -> TimeZone {
        let of_country = || TimeZone::of_country(self.country);
        self.settings.timezone.unwrap_or_else(of_country)
    }

    /// The public address of the vehicle of that slug; empty without a website.
    pub fn vehicle_address(&self, slug: &str) -> String {
        if self.website.is_empty() {
            return String::new();
        }
        format!("{}/vehicles/{slug}", self.website.trim_end_matches('/'))
    }
}
