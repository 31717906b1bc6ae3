//! A business with a webhook.

use forecourt_accounts::{Business, Caller};
use forecourt_kernel::{BusinessId, Clock, Random, Scope, ScopeSet, Timestamp, Version, WebhookId};
use forecourt_webhooks::{EndpointKey, Events, TargetUrl, Webhook, WebhookDraft, WebhookStatus};

pub(crate) const NOW: Timestamp = Timestamp::from_epoch_seconds(1_772_357_400);
pub(crate) const ID: WebhookId = WebhookId::new(5);
pub(crate) const KEY: EndpointKey = EndpointKey {
    business: BusinessId::new(7),
    webhook: ID,
};

pub(crate) struct At(pub(crate) Timestamp);

impl Clock for At {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// A source of randomness that always draws the same.
pub(crate) struct Sevens;

impl Random for Sevens {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill(7);
    }
}

/// A caller with these scopes.
pub(crate) fn caller(scopes: &[Scope]) -> Caller {
    let acme = Business::new(KEY.business, "acme", "Acme Cars");
    Caller::of(acme, scopes.iter().copied().collect::<ScopeSet>())
}

pub(crate) fn url(text: &str) -> TargetUrl {
    TargetUrl::parse(text, false).unwrap()
}

pub(crate) fn draft(events: Events, scopes: impl Into<ScopeSet>) -> WebhookDraft {
    WebhookDraft {
        url: url("https://example.com/hook"),
        description: "CRM".into(),
        events,
        scopes: scopes.into(),
        status: WebhookStatus::Active,
    }
}

/// A webhook that was created an hour ago.
pub(crate) fn webhook(content: WebhookDraft) -> Webhook {
    let created = NOW.plus_seconds(-3_600);
    Webhook {
        id: ID,
        content,
        secret_hint: "abcd".into(),
        failure_count: 3,
        last_status: None,
        last_delivery_at: None,
        created,
        updated: created,
        version: Version::FIRST,
    }
}
