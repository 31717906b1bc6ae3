//! The settings of operators: their declaration, their sources and their validation.

mod error;
mod parse;
mod secret_key;
mod sources;

pub(crate) use error::SettingError;
pub(crate) use parse::{DatabaseUrl, LeadAi, LogFormat, Secret, network};
pub(crate) use secret_key::{Keys, SecretKey, SecretKeyError};
#[cfg(test)]
pub(crate) use sources::declared;
pub(crate) use sources::{
    LISTEN_SECRET_VARIABLE, Options, Sources, TOKEN_VARIABLE, given, is_passed_over, options, secrets_help,
};

use std::{net::SocketAddr, num::NonZeroU32, path::PathBuf, time::Duration};

use clap::{ArgAction::Set, Args};
use forecourt_accounts::RateLimits;
use forecourt_file_store::FileLocation;
use forecourt_kernel::Email;
use forecourt_rest::CorsOrigins;
use forecourt_storage::Cell;
use forecourt_webhooks::{Policy, Schedule};
use tracing_subscriber::EnvFilter;
use url::Url;

use parse::{Limit, Networks, Offsets, OptionalBind};

/// All settings, validated.
///
/// A setting is declared here alone. `env` is its variable; its key in a file is the field's name. With `long` it is an option of
/// `serve`, with `global` of every command. One without `long` may hold a secret, which a list of this machine's processes would
/// show: it has no option, is not repeated in messages, and can be given as the path of a file (`VARIABLE_FILE`).
#[derive(Clone, Debug, Args)]
pub(crate) struct Settings {
    /// The database for the records: sqlite://PATH (a file on this machine) or postgres://USER:PASSWORD@HOST/DATABASE
    #[arg(env = "DATABASE_URL", value_name = "URL", default_value = "sqlite://data/forecourt.db", value_parser = parse::database_url)]
    pub(crate) database_url: DatabaseUrl,
    /// The folder for files, outgoing mail without an SMTP server, and the generated secret key
    #[arg(
        long,
        global = true,
        env = "FORECOURT_DATA_DIR",
        value_name = "FOLDER",
        default_value = "data"
    )]
    pub(crate) data_dir: PathBuf,
    /// The log lines that go to standard error: off, error, warn, info, debug, trace, or levels by module such as
    /// info,forecourt=debug [default: info; warn for all but serve]
    #[arg(long, global = true, env = "FORECOURT_LOG", value_name = "FILTER", value_parser = parse::log_filter)]
    pub(crate) log: Option<EnvFilter>,
    /// The format of log lines: text or json
    #[arg(
        long,
        global = true,
        env = "FORECOURT_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text"
    )]
    pub(crate) log_format: LogFormat,

    /// The address that the API listens on; GET /healthz and GET /readyz answer here too
    #[arg(long, env = "FORECOURT_BIND", value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = parse::bind)]
    pub(crate) bind: SocketAddr,
    /// The address that Prometheus reads GET /metrics from; off disables it
    #[arg(long, env = "FORECOURT_ADMIN_BIND", value_name = "ADDRESS", default_value = "127.0.0.1:9090", value_parser = parse::optional_bind)]
    pub(crate) admin_bind: OptionalBind,
    /// The base URL in links and in the OpenAPI document [default: http://BIND]
    #[arg(long, env = "FORECOURT_PUBLIC_URL", value_name = "URL", value_parser = parse::public_url)]
    pub(crate) public_url: Option<String>,
    /// 32 bytes in base64 that encrypt secrets at rest; must be set with PostgreSQL [default: made on first start in the data folder]
    #[arg(env = "FORECOURT_SECRET_KEY", value_name = "BASE64", value_parser = secret_key::parse)]
    pub(crate) secret_key: Option<SecretKey>,
    /// The secret key before, while `forecourt secret-key rotate` replaces it
    #[arg(env = "FORECOURT_SECRET_KEY_PREVIOUS", value_name = "BASE64", value_parser = secret_key::parse)]
    pub(crate) secret_key_previous: Option<SecretKey>,
    /// The cell that the ids of records are of, from 0 to 511: one for each of several installations whose data may meet
    /// [default: that of the database]
    #[arg(long, env = "FORECOURT_CELL", value_name = "N", value_parser = parse::cell)]
    pub(crate) cell: Option<Cell>,
    /// The operator's address for mails about the installation, which are sent even while others are held
    #[arg(long, env = "FORECOURT_OPERATOR_EMAIL", value_name = "ADDRESS", value_parser = parse::email)]
    pub(crate) operator_email: Option<Email>,
    /// Maximum number of requests of a business in a UTC minute; 0 for any number
    #[arg(long, env = "FORECOURT_RATE_LIMIT_PER_MINUTE", value_name = "N", default_value = "300", value_parser = parse::limit)]
    pub(crate) rate_limit_per_minute: Limit,
    /// Maximum number of requests of a business in a UTC day; 0 for any number
    #[arg(long, env = "FORECOURT_RATE_LIMIT_PER_DAY", value_name = "N", default_value = "10000", value_parser = parse::limit)]
    pub(crate) rate_limit_per_day: Limit,
    /// The Redis server through which several servers share their rate-limit counters [default: each server counts for itself]
    #[arg(env = "FORECOURT_REDIS_URL", value_name = "URL", value_parser = parse::redis_url)]
    pub(crate) redis_url: Option<Secret<String>>,
    /// Number of failed authentications a minute from one address that block it for 5 minutes; 0 for any number
    #[arg(long, env = "FORECOURT_AUTH_FAILURES_PER_MINUTE", value_name = "N", default_value = "60", value_parser = parse::limit)]
    pub(crate) auth_failures_per_minute: Limit,
    /// Comma-separated addresses or CIDR ranges that are blocked
    #[arg(long, env = "FORECOURT_BLOCKED_ADDRESSES", value_name = "LIST", default_value = "", value_parser = parse::networks)]
    pub(crate) blocked_addresses: Networks,
    /// Comma-separated CIDR ranges of proxies whose X-Forwarded-For is trusted
    #[arg(long, env = "FORECOURT_TRUSTED_PROXIES", value_name = "LIST", default_value = "", value_parser = parse::networks)]
    pub(crate) trusted_proxies: Networks,
    /// Comma-separated origins whose pages may call the API from a browser, such as `https://shop.example`, or * for all
    #[arg(long, env = "FORECOURT_CORS_ORIGINS", value_name = "LIST", default_value = "", value_parser = parse::cors_origins)]
    pub(crate) cors_origins: CorsOrigins,
    /// Allow webhooks to go to http:// URLs and to private or loopback addresses; for development and tests only
    #[arg(long, env = "FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", value_name = "BOOL", default_value = "false", value_parser = parse::switch)]
    #[arg(action = Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) webhook_allow_insecure_targets: bool,
    /// Allow a PostgreSQL that can lose confirmed data (fsync or full_page_writes off); for tests only
    #[arg(long, env = "FORECOURT_ALLOW_UNSAFE_DATABASE", value_name = "BOOL", default_value = "false", value_parser = parse::switch)]
    #[arg(action = Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) allow_unsafe_database: bool,
    /// Times of the retries of a failed webhook delivery, in seconds after its first attempt
    #[arg(long, env = "FORECOURT_WEBHOOK_RETRY_OFFSETS", value_name = "LIST", value_parser = parse::offsets)]
    #[arg(default_value = "60,300,900,3600,10800,21600,43200,86400")]
    pub(crate) webhook_retry_offsets: Offsets,
    /// Maximum time for one webhook attempt, in seconds
    #[arg(long, env = "FORECOURT_WEBHOOK_TIMEOUT_SECONDS", value_name = "SECONDS", default_value = "10", value_parser = parse::positive)]
    pub(crate) webhook_timeout_seconds: NonZeroU32,
    /// Seconds for which a record must rest before its update is delivered
    #[arg(long, env = "FORECOURT_WEBHOOK_SETTLE_SECONDS", value_name = "SECONDS", default_value = "3", value_parser = parse::number)]
    pub(crate) webhook_settle_seconds: u32,
    /// Number of deliveries in a row that must fail for good before their subscription is disabled
    #[arg(long, env = "FORECOURT_WEBHOOK_DISABLE_AFTER", value_name = "N", default_value = "10", value_parser = parse::positive)]
    pub(crate) webhook_disable_after: NonZeroU32,
    /// The location of documents and media: file://PATH or s3://BUCKET/PREFIX [default: file://DATA_DIR/files]
    #[arg(long, env = "FORECOURT_BLOB_URL", value_name = "URL", value_parser = parse::blob_url)]
    pub(crate) blob_url: Option<FileLocation>,
    /// The server that sends mails: smtp://USER:PASSWORD@HOST or smtps://… [default: mails become .eml files in DATA_DIR/mail]
    #[arg(env = "FORECOURT_SMTP_URL", value_name = "URL", value_parser = parse::smtp_url)]
    pub(crate) smtp_url: Option<Secret<String>>,
    /// Maximum number of mails of a business in a UTC day; 0 for any number
    #[arg(long, env = "FORECOURT_MAILS_PER_BUSINESS_PER_DAY", value_name = "N", default_value = "2000", value_parser = parse::limit)]
    pub(crate) mails_per_business_per_day: Limit,
    /// The sender of mails, such as Acme Cars <office@acme.example> [default: noreply at the host of the public URL]
    #[arg(long, env = "FORECOURT_MAIL_FROM", value_name = "SENDER", value_parser = parse::sender)]
    pub(crate) mail_from: Option<String>,
    /// The service that rates and summarises leads: rules (built in), openai (any OpenAI-compatible chat endpoint) or off
    #[arg(long, env = "FORECOURT_LEAD_AI", value_name = "WHO", default_value = "rules")]
    pub(crate) lead_ai: LeadAi,
    /// The chat endpoint's URL, for openai
    #[arg(env = "FORECOURT_LEAD_AI_URL", value_name = "URL", value_parser = parse::secret_web_url)]
    pub(crate) lead_ai_url: Option<Secret<Url>>,
    /// The model's name, for openai
    #[arg(long, env = "FORECOURT_LEAD_AI_MODEL", value_name = "NAME")]
    pub(crate) lead_ai_model: Option<String>,
    /// The chat endpoint's key, for openai
    #[arg(env = "FORECOURT_LEAD_AI_KEY", value_name = "KEY", value_parser = parse::secret)]
    pub(crate) lead_ai_key: Option<Secret<String>>,
    /// Maximum time for one request to the chat endpoint, in seconds
    #[arg(long, env = "FORECOURT_LEAD_AI_TIMEOUT_SECONDS", value_name = "SECONDS", default_value = "60", value_parser = parse::positive)]
    pub(crate) lead_ai_timeout_seconds: NonZeroU32,
    /// Maximum number of conversations of a business that the model reads in a UTC day
    #[arg(long, env = "FORECOURT_LEAD_AI_DAILY_READS", value_name = "N", default_value = "1000", value_parser = parse::number)]
    pub(crate) lead_ai_daily_reads: u32,
}

impl Settings {
    /// Validates settings against each other.
    fn validate(&self) -> Result<(), SettingError> {
        let needed = [
            ("FORECOURT_LEAD_AI_URL", self.lead_ai_url.is_some()),
            ("FORECOURT_LEAD_AI_MODEL", self.lead_ai_model.is_some()),
        ];
        match needed.into_iter().find(|(_, set)| !set) {
            Some((missing, _)) if self.lead_ai == LeadAi::Openai => Err(SettingError::Missing {
                missing,
                because: "FORECOURT_LEAD_AI is openai",
            }),
            _ => Ok(()),
        }
    }

    /// Returns the base of links to a server that listens on `bound`.
    pub(crate) fn base_url(&self, bound: SocketAddr) -> String {
        self.public_url.clone().unwrap_or_else(|| format!("http://{bound}"))
    }

    /// Returns the folder for mails that are not sent: those of a server without SMTP.
    pub(crate) fn mail_folder(&self) -> PathBuf {
        self.data_dir.join("mail")
    }

    /// Returns the location of documents and media.
    pub(crate) fn files_location(&self) -> FileLocation {
        let beside = || FileLocation::Folder(self.data_dir.join("files"));
        self.blob_url.clone().unwrap_or_else(beside)
    }

    /// Returns the policy of webhook delivery.
    pub(crate) fn webhook_policy(&self) -> Policy {
        Policy {
            schedule: Schedule::new(self.webhook_retry_offsets.clone()),
            timeout: Duration::from_secs(self.webhook_timeout_seconds.get().into()),
            settle: Duration::from_secs(self.webhook_settle_seconds.into()),
            disable_after: self.webhook_disable_after.get(),
            allow_insecure: self.webhook_allow_insecure_targets,
        }
    }

    /// Returns the limits on the requests of a business.
    pub(crate) const fn rate_limits(&self) -> RateLimits {
        RateLimits {
            per_minute: self.rate_limit_per_minute,
            per_day: self.rate_limit_per_day,
        }
    }
}

#[cfg(test)]
mod tests;
