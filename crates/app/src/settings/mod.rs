//! The settings of operators: their sources and their validation.
//!
//! [`TABLE`] declares each setting once: variable, option, key, default, type and help follow from its line there.

mod error;
mod secret_key;
mod source;
mod table;
mod value;

pub(crate) use error::SettingError;
pub(crate) use secret_key::{SecretKey, SecretKeyError};
pub(crate) use source::{LISTEN_SECRET_VARIABLE, Options, Sources, TOKEN_VARIABLE};
pub(crate) use table::{Offer, Setting, Settings, TABLE};
pub(crate) use value::{LeadAi, LogFilter, LogFormat, network};

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use forecourt_accounts::RateLimits;
use forecourt_file_store::FileLocation;
use forecourt_webhooks::{Policy, Schedule};

impl Settings {
    /// Reads and checks all settings.
    ///
    /// # Errors
    /// [`SettingError`] for the first that is unknown or malformed.
    pub(crate) fn load(sources: Sources) -> Result<Self, SettingError> {
        let settings = Self::read(&source::Found::in_sources(sources)?)?;
        settings.validate()?;
        Ok(settings)
    }

    /// Validates settings against each other.
    fn validate(&self) -> Result<(), SettingError> {
        let needed = [
            ("FORECOURT_LEAD_AI_URL", self.lead_ai_url.is_some()),
            ("FORECOURT_LEAD_AI_MODEL", self.lead_ai_model.is_some()),
        ];
        match needed.into_iter().find(|(_, set)| !set) {
            Some((missing, _)) if self.lead_ai == LeadAi::OpenAi => Err(SettingError::Missing {
                missing,
                because: "FORECOURT_LEAD_AI is openai",
            }),
            _ => Ok(()),
        }
    }

    /// Returns the base of links to a server that listens on `bound`.
    pub(crate) fn base_url(&self, bound: SocketAddr) -> String {
        self.public_url
            .as_ref()
            .map_or_else(|| format!("http://{bound}"), |url| url.0.clone())
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
            schedule: Schedule::new(self.webhook_retry_offsets.0.clone()),
            timeout: Duration::from_secs(self.webhook_timeout_seconds.get().into()),
            settle: Duration::from_secs(self.webhook_settle_seconds.into()),
            disable_after: self.webhook_disable_after.get(),
            allow_insecure: self.webhook_allow_insecure_targets,
        }
    }

    /// Returns the limits on the requests of a business.
    pub(crate) const fn rate_limits(&self) -> RateLimits {
        RateLimits {
            per_minute: self.rate_limit_per_minute.0,
            per_day: self.rate_limit_per_day.0,
        }
    }
}

#[cfg(test)]
mod tests;
