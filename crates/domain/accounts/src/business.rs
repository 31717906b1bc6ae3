//! A business: the tenant that owns every record, and the settings that its file declares (decisions §2).

use forecourt_kernel::{BusinessId, Country, Date, Money, TimeZone, Timestamp};
use forecourt_reference::{Calendar, Catalogue, Channel, OpeningHours, Site};
use serde::{Deserialize, Serialize};

use crate::{Legal, MailTexts};

/// The state of a business's account.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The business may use its account.
    #[default]
    Active,
    /// Frozen by the operator.
    Frozen,
    /// Suspended for billing.
    Suspended,
    /// A demonstration account, which has no API access.
    Demo,
    /// The account may be viewed elsewhere, but not used through the API.
    ReadOnly,
}

/// The plan that a business pays for. Ordered: each plan includes the ones before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    /// The smallest plan, without API access.
    Starter,
    /// The smallest plan with API access.
    #[default]
    Growth,
    /// The largest plan.
    Scale,
}

/// The terms of the finance examples in a business's adverts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinanceSettings {
    /// Annual percentage rate, a decimal such as `9.9`.
    pub apr: String,
    /// The number of months.
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
    /// The balloon as a share of the price, in percent. A value above 0 makes the example one with a balloon.
    #[serde(default = "zero")]
    pub final_payment_percent: String,
}

fn zero() -> String {
    "0".into()
}

const fn nothing() -> Money {
    Money::ZERO
}

/// The settings of a business.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The maximum number of vehicles for sale or reserved at once; `None` for no limit.
    pub publish_limit: Option<u32>,
    /// The deposit of a reservation whose vehicle has none of its own.
    pub reserve_deposit: Option<Money>,
    /// The number of days for which a sold vehicle stays listed.
    pub sold_retention_days: Option<u32>,
    /// The terms that a customer signs before a test drive.
    pub test_drive_terms: Option<String>,
    /// The terms of finance examples; `None` for no examples.
    pub finance: Option<FinanceSettings>,
    /// The maximum size of all its files together, in MB. 0 means no limit, and `None` means [`Settings::STORAGE_LIMIT_MB`].
    // Left out if absent, for the reason given at `language`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_limit_mb: Option<u32>,
    /// The language of its mails, as an ISO 639-1 code; `None` means English.
    // Left out if absent, because servers of the previous release refuse a member that they do not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The time zone of the business; `None` means the zone of its country.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<TimeZone>,
    /// The business's own texts of mails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mail_texts: Option<MailTexts>,
    /// The days after the date of an invoice by which it is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invoice_due_days: Option<u32>,
    /// The terms under invoices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invoice_terms: Option<String>,
    /// The terms under orders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order_terms: Option<String>,
    /// The title of orders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order_title: Option<String>,
    /// The years for which the parties of invoices, orders and purchases are kept after the year of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_years: Option<u32>,
    /// The opening hours of calendars that have none of their own; `None` means always open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opening_hours: Option<OpeningHours>,
    /// The days on which it is closed regardless of its hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_dates: Option<Vec<Date>>,
    /// The minutes before an appointment at which its reminder goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub appointment_reminder_minutes: Option<u32>,
    /// The days for which calls are kept; `None` means without end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_retention_days: Option<u32>,
}

impl Settings {
    /// The default of [`Settings::storage_limit_mb`].
    pub const STORAGE_LIMIT_MB: u32 = 20_480;
    /// The default of [`Settings::order_title`].
    pub const ORDER_TITLE: &str = "Order";
    /// The default of [`Settings::retention_years`].
    pub const RETENTION_YEARS: u32 = 6;
    /// The default of [`Settings::appointment_reminder_minutes`]: a day.
    pub const APPOINTMENT_REMINDER_MINUTES: u32 = 24 * 60;

    /// The maximum size of all the business's files together, in bytes; `None` for no limit.
    pub fn storage_limit(&self) -> Option<u64> {
        match self.storage_limit_mb.unwrap_or(Self::STORAGE_LIMIT_MB) {
            0 => None,
            megabytes => Some(u64::from(megabytes) * 1024 * 1024),
        }
    }

    /// The days after the date of an invoice by which it is due; by default none.
    pub fn invoice_due_days(&self) -> u32 {
        self.invoice_due_days.unwrap_or(0)
    }

    /// The terms under invoices; by default empty.
    pub fn invoice_terms(&self) -> &str {
        self.invoice_terms.as_deref().unwrap_or_default()
    }

    /// The terms under orders; by default empty.
    pub fn order_terms(&self) -> &str {
        self.order_terms.as_deref().unwrap_or_default()
    }

    /// The title of orders.
    pub fn order_title(&self) -> &str {
        self.order_title.as_deref().unwrap_or(Self::ORDER_TITLE)
    }

    /// The years for which the parties of documents are kept after the year of the document.
    pub fn retention_years(&self) -> u32 {
        self.retention_years.unwrap_or(Self::RETENTION_YEARS)
    }

    /// Returns `true` if the business is closed on that day regardless of its hours.
    pub fn is_closed_on(&self, day: Date) -> bool {
        self.closed_dates.iter().flatten().any(|closed| *closed == day)
    }

    /// The minutes before an appointment at which its reminder goes.
    pub fn appointment_reminder_minutes(&self) -> u32 {
        let own = self.appointment_reminder_minutes;
        own.unwrap_or(Self::APPOINTMENT_REMINDER_MINUTES)
    }
}

/// A business with its current settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Business {
    /// The business's id.
    pub id: BusinessId,
    /// Its short name, unique, which identifies it in its file and in its webhooks.
    pub tag: String,
    /// Its name.
    pub name: String,
    /// The address of mails to the business; empty if it has none.
    pub email: String,
    /// The business's country. Telephone numbers without a country code are read as numbers of this country.
    pub country: Country,
    /// Its website, the base of public links; empty if it has none.
    pub website: String,
    /// Set if it has completed the required verification.
    pub verified: bool,
    /// The state of its account.
    pub state: State,
    /// The plan that it pays for.
    pub plan: Plan,
    /// Set if it has been granted the API.
    pub api_access: bool,
    /// Its settings.
    pub settings: Settings,
    /// The company behind it, as declared. [`Business::legal`] returns it with its defaults.
    pub legal_details: Legal,
    /// Its own lists.
    pub catalogue: Catalogue,
    /// The time at which its file was first applied.
    pub created: Timestamp,
    /// The time of its last change.
    pub updated: Timestamp,
}

impl Business {
    /// Makes a business with defaults: active, on a plan with API access, with one site, the website as its only channel, and no
    /// settings of its own. Everything else is set on its fields.
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
            legal_details: Legal::default(),
            catalogue: Catalogue {
                sites: vec![Site::main(name)],
                channels: vec![website],
                ..Catalogue::default()
            },
            created: Timestamp::from_epoch_seconds(0),
            updated: Timestamp::from_epoch_seconds(0),
        }
    }

    /// The time zone in which times are shown to its people (decisions §2).
    pub fn time_zone(&self) -> TimeZone {
        let of_country = || TimeZone::of_country(self.country);
        self.settings.timezone.unwrap_or_else(of_country)
    }

    /// Returns the opening hours of a calendar: its own, or else those of the business. `None` means always open.
    pub fn opening_hours<'a>(&'a self, calendar: &'a Calendar) -> Option<&'a OpeningHours> {
        let own = calendar.opening_hours.as_ref();
        own.or(self.settings.opening_hours.as_ref())
    }

    /// Returns the public address of the vehicle with that slug; empty without a website.
    pub fn vehicle_address(&self, slug: &str) -> String {
        if self.website.is_empty() {
            return String::new();
        }
        format!("{}/vehicles/{slug}", self.website.trim_end_matches('/'))
    }
}
