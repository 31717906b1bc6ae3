//! The mails of this area.

use forecourt_accounts::{MailContent, MailKind, mail_kind};

/// The mails of this area, whose text businesses can change.
pub const MAILS: &[&MailKind] = &[WebhookDisabled::KIND, WebhookSecretLost::KIND];

mail_kind! {
    /// Sent to the business when a webhook is disabled because too many deliveries in a row failed.
    pub(crate) WebhookDisabled as "webhook_disabled";

    /// The business's name.
    business;
    /// The webhook's id.
    webhook, required;
    /// The URL that the webhook delivers to.
    url;
    /// The number of deliveries that failed in a row.
    failures;
}

mail_kind! {
    /// Sent to the business when a webhook is disabled because its stored secret can no longer be read.
    pub(crate) WebhookSecretLost as "webhook_secret_lost";

    /// The business's name.
    business;
    /// The webhook's id.
    webhook, required;
    /// The URL that the webhook delivers to.
    url;
}
