//! The table of all settings: their names, values and purposes.

use std::{net::SocketAddr, num::NonZeroU32, path::PathBuf};

use forecourt_file_store::FileLocation;
use forecourt_rest::CorsOrigins;

use super::{
    error::SettingError,
    secret_key::SecretKey,
    source::Found,
    value::{
        DatabaseUrl, LeadAi, Limit, LogFilter, LogFormat, Networks, Offsets, OptionalBind, PublicUrl, RedisUrl, Secret,
        Sender, SmtpUrl, Value, WebUrl,
    },
};

/// The commands with an option for a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Offer {
    /// All commands.
    Everywhere,
    /// Only `serve`.
    Serve,
    /// None: a list of this machine's processes would show the secret.
    Nowhere,
}

/// A setting, as the sources and the help know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// Its key in a file, and with hyphens its option.
    pub(crate) key: &'static str,
    /// Its environment variable.
    pub(crate) variable: &'static str,
    /// The commands that have it as an option.
    pub(crate) offer: Offer,
    /// The placeholder for its value in the help.
    pub(crate) placeholder: &'static str,
    /// Its default, as a text to parse.
    pub(super) default: Option<&'static str>,
    /// The default as the help shows it.
    pub(crate) default_shown: &'static str,
    /// Its purpose.
    pub(crate) help: &'static str,
    /// True if its value must not be shown.
    pub(super) secret: bool,
    /// True if its option may be used without a value.
    pub(crate) switch: bool,
}

/// The form in which a setting's value is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// The value.
    Value,
    /// The path of a file that holds it, which is how containers and service managers pass secrets.
    File,
}

macro_rules! settings {
    ($(
        $(#[doc = $doc:literal])+
        $key:ident: $value:ty = $variable:literal, $offer:ident($placeholder:literal), $default:ident $shown:literal;
    )+) => {
        /// All settings, validated.
        #[derive(Clone, Debug)]
        pub(crate) struct Settings {
            $($(#[doc = $doc])+ pub(crate) $key: $value,)+
        }

        /// Every setting, in the order of the help.
        pub(crate) const TABLE: &[Setting] = &[$(
            Setting {
                key: stringify!($key),
                variable: $variable,
                offer: Offer::$offer,
                placeholder: $placeholder,
                default: settings!(@default $default $shown),
                default_shown: $shown,
                help: concat!($($doc),+).trim_ascii(),
                secret: <$value as Value>::SECRET,
                switch: <$value as Value>::SWITCH,
            },
        )+];

        impl Settings {
            /// Reads every setting from its source.
            pub(super) fn read(found: &Found) -> Result<Self, SettingError> {
                Ok(Self {
                    $($key: found.read(stringify!($key))?,)+
                })
            }
        }
    };
    (@default is $shown:literal) => { Some($shown) };
    (@default otherwise $shown:literal) => { None };
}

// `is` gives the default as it would be written; `otherwise` describes the behaviour without a value.
settings! {
    /// The database for the records: sqlite://PATH (a file on this machine) or postgres://USER:PASSWORD@HOST/DATABASE
    database_url: DatabaseUrl = "DATABASE_URL", Nowhere("URL"), is "sqlite://data/forecourt.db";
    /// The folder for files, outgoing mail without an SMTP server, and the generated secret key
    data_dir: PathBuf = "FORECOURT_DATA_DIR", Everywhere("FOLDER"), is "data";
    /// The log lines that go to standard error: off, error, warn, info, debug, trace, or levels by module such as
    /// info,forecourt=debug
    log: Option<LogFilter> = "FORECOURT_LOG", Everywhere("FILTER"), otherwise "info; warn for all but serve";
    /// The format of log lines: text or json
    log_format: LogFormat = "FORECOURT_LOG_FORMAT", Everywhere("FORMAT"), is "text";

    /// The address that the API listens on; GET /healthz and GET /readyz answer here too
    bind: SocketAddr = "FORECOURT_BIND", Serve("ADDRESS"), is "127.0.0.1:8080";
    /// The address that Prometheus reads GET /metrics from; off disables it
    admin_bind: OptionalBind = "FORECOURT_ADMIN_BIND", Serve("ADDRESS"), is "127.0.0.1:9090";
    /// The base URL in links and in the OpenAPI document
    public_url: Option<PublicUrl> = "FORECOURT_PUBLIC_URL", Serve("URL"), otherwise "http://<bind>";
    /// 32 bytes in base64 that encrypt secrets at rest; must be set with PostgreSQL
    secret_key: Option<SecretKey> = "FORECOURT_SECRET_KEY", Nowhere("BASE64"), otherwise "made on first start in the data folder";
    /// Maximum number of requests of a business in a UTC minute; 0 for any number
    rate_limit_per_minute: Limit = "FORECOURT_RATE_LIMIT_PER_MINUTE", Serve("N"), is "300";
    /// Maximum number of requests of a business in a UTC day; 0 for any number
    rate_limit_per_day: Limit = "FORECOURT_RATE_LIMIT_PER_DAY", Serve("N"), is "10000";
    /// The Redis server through which several servers share their rate-limit counters
    redis_url: Option<RedisUrl> = "FORECOURT_REDIS_URL", Nowhere("URL"), otherwise "each server counts for itself";
    /// Number of failed authentications a minute from one address that block it for 5 minutes; 0 for any number
    auth_failures_per_minute: Limit = "FORECOURT_AUTH_FAILURES_PER_MINUTE", Serve("N"), is "60";
    /// Comma-separated addresses or CIDR ranges that are blocked
    blocked_addresses: Networks = "FORECOURT_BLOCKED_ADDRESSES", Serve("LIST"), is "";
    /// Comma-separated CIDR ranges of proxies whose X-Forwarded-For is trusted
    trusted_proxies: Networks = "FORECOURT_TRUSTED_PROXIES", Serve("LIST"), is "";
    /// Comma-separated origins whose pages may call the API from a browser, such as `https://shop.example`, or * for all
    cors_origins: CorsOrigins = "FORECOURT_CORS_ORIGINS", Serve("LIST"), is "";
    /// Allow webhooks to go to http:// URLs and to private or loopback addresses; for development and tests only
    webhook_allow_insecure_targets: bool = "FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", Serve("BOOL"), is "false";
    /// Allow a PostgreSQL that can lose confirmed data (fsync or full_page_writes off); for tests only
    allow_unsafe_database: bool = "FORECOURT_ALLOW_UNSAFE_DATABASE", Serve("BOOL"), is "false";
    /// Times of the retries of a failed webhook delivery, in seconds after its first attempt
    webhook_retry_offsets: Offsets = "FORECOURT_WEBHOOK_RETRY_OFFSETS", Serve("LIST"), is "60,300,900,3600,10800,21600,43200,86400";
    /// Maximum time for one webhook attempt, in seconds
    webhook_timeout_seconds: NonZeroU32 = "FORECOURT_WEBHOOK_TIMEOUT_SECONDS", Serve("SECONDS"), is "10";
    /// Seconds for which a record must rest before its update is delivered
    webhook_settle_seconds: u32 = "FORECOURT_WEBHOOK_SETTLE_SECONDS", Serve("SECONDS"), is "3";
    /// Number of deliveries in a row that must fail for good before their subscription is disabled
    webhook_disable_after: NonZeroU32 = "FORECOURT_WEBHOOK_DISABLE_AFTER", Serve("N"), is "10";
    /// The location of documents and media: file://PATH or s3://BUCKET/PREFIX
    blob_url: Option<FileLocation> = "FORECOURT_BLOB_URL", Serve("URL"), otherwise "file://<data folder>/files";
    /// The server that sends mails: smtp://USER:PASSWORD@HOST or smtps://…
    smtp_url: Option<SmtpUrl> = "FORECOURT_SMTP_URL", Nowhere("URL"), otherwise "mails become .eml files in <data folder>/mail";
    /// Maximum number of mails of a business in a UTC day; 0 for any number
    mails_per_business_per_day: Limit = "FORECOURT_MAILS_PER_BUSINESS_PER_DAY", Serve("N"), is "2000";
    /// The sender of mails, such as Acme Cars <office@acme.example>
    mail_from: Option<Sender> = "FORECOURT_MAIL_FROM", Serve("SENDER"), otherwise "noreply at the host of the public URL";
    /// The service that rates and summarises leads: rules (built in), openai (any OpenAI-compatible chat endpoint) or off
    lead_ai: LeadAi = "FORECOURT_LEAD_AI", Serve("WHO"), is "rules";
    /// The chat endpoint's URL, for openai
    lead_ai_url: Option<WebUrl> = "FORECOURT_LEAD_AI_URL", Nowhere("URL"), otherwise "none";
    /// The model's name, for openai
    lead_ai_model: Option<String> = "FORECOURT_LEAD_AI_MODEL", Serve("NAME"), otherwise "none";
    /// The chat endpoint's key, for openai
    lead_ai_key: Option<Secret<String>> = "FORECOURT_LEAD_AI_KEY", Nowhere("KEY"), otherwise "none";
    /// Maximum time for one request to the chat endpoint, in seconds
    lead_ai_timeout_seconds: NonZeroU32 = "FORECOURT_LEAD_AI_TIMEOUT_SECONDS", Serve("SECONDS"), is "60";
    /// Maximum number of conversations of a business that the model reads in a UTC day
    lead_ai_daily_reads: u32 = "FORECOURT_LEAD_AI_DAILY_READS", Serve("N"), is "1000";
}

impl Setting {
    /// Returns its option, without the leading hyphens.
    pub(crate) fn option(&self) -> String {
        self.key.replace('_', "-")
    }

    /// Returns the setting that a key of a file names, and the form of its value. The key is its name in lower case, with or
    /// without `forecourt_`, with hyphens or underscores.
    pub(super) fn by_key(key: &str) -> Option<(&'static Self, Form)> {
        let key = key.replace('-', "_");
        let key = key.strip_prefix("forecourt_").unwrap_or(&key);
        Self::by_name(key, "_file", |setting| setting.key)
    }

    /// Returns the setting of this environment variable, and the form of its value.
    pub(super) fn by_variable(variable: &str) -> Option<(&'static Self, Form)> {
        Self::by_name(variable, "_FILE", |setting| setting.variable)
    }

    fn by_name(name: &str, suffix: &str, own: impl Fn(&Self) -> &'static str) -> Option<(&'static Self, Form)> {
        let named = |name: &str| TABLE.iter().find(|setting| own(setting) == name);
        let in_file = || named(name.strip_suffix(suffix)?).filter(|setting| setting.secret);
        named(name)
            .map(|setting| (setting, Form::Value))
            .or_else(|| Some((in_file()?, Form::File)))
    }

    /// Returns the help text.
    pub(crate) fn described(&self) -> String {
        let Self { help, variable, .. } = self;
        let variable = if self.secret {
            format!("{variable} or {variable}_FILE")
        } else {
            (*variable).to_owned()
        };
        match self.default_shown {
            "" => format!("{help} [env: {variable}]"),
            shown => format!("{help} [env: {variable}] [default: {shown}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_one_pattern_and_are_unique() {
        for (at, setting) in TABLE.iter().enumerate() {
            let upper = setting.key.to_uppercase();
            let expected = if setting.key == "database_url" {
                upper
            } else {
                format!("FORECOURT_{upper}")
            };
            assert_eq!(setting.variable, expected);
            assert!(TABLE[at + 1..].iter().all(|other| other.key != setting.key));
            assert!(
                !setting.help.ends_with('.') && !setting.help.contains("  "),
                "{}",
                setting.help
            );
        }
    }

    #[test]
    fn what_may_hold_a_secret_is_no_option() {
        for setting in TABLE {
            assert_eq!(setting.offer == Offer::Nowhere, setting.secret, "{}", setting.key);
        }
    }

    #[test]
    fn a_key_is_found_in_every_spelling() {
        for key in [
            "admin_bind",
            "admin-bind",
            "forecourt_admin_bind",
            "forecourt-admin-bind",
        ] {
            assert_eq!(
                Setting::by_key(key).map(|(setting, form)| (setting.key, form)),
                Some(("admin_bind", Form::Value)),
                "{key}"
            );
        }
        for key in ["smtp-url-file", "forecourt_smtp_url_file"] {
            let found = Setting::by_key(key).map(|(setting, form)| (setting.key, form));
            assert_eq!(found, Some(("smtp_url", Form::File)), "{key}");
        }
        assert!(Setting::by_variable("DATABASE_URL_FILE").is_some());
        assert!(Setting::by_key("bind_file").is_none() && Setting::by_variable("FORECOURT_BIND_FILE").is_none());
        assert!(Setting::by_key("ADMIN_BIND").is_none() && Setting::by_key("bnd").is_none());
    }
}
