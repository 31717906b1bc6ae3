//! The mails of this area.

use forecourt_accounts::{MailContent, MailKind, mail_kind};

/// The mails of this area, which businesses can word.
pub const MAILS: &[&MailKind] = &[WebhookDisabled::KIND, WebhookSecretLost::KIND];

mail_kind! {
    /// Sent to the business when a webhook is disabled since too many deliveries in a row failed.
    pub(crate) WebhookDisabled as "webhook_disabled";

    /// The business's name.
    business;
    /// The webhook's id.
    webhook, required;
    /// The address that it delivers to.
    url;
    /// How many deliveries failed in a row.
    failures;
}

mail_kind! {
    /// Sent to the business when a webhook is disabled since its stored secret cannot be read any more.
    pub(crate) WebhookSecretLost as "webhook_secret_lost";

    /// The business's name.
    business;
    /// The webhook's id.
    webhook, required;
    /// The address that it delivers to.
    url;
}
