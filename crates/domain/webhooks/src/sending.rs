//! The use cases of the sender: recording the results of attempts, and disabling subscriptions that cannot be delivered to.

use std::collections::BTreeMap;

use forecourt_accounts::Business;
use forecourt_kernel::{Mail, StoreResult, Timestamp};

use crate::{
    AttemptRecord, DeliveryQueue, EndpointKey, EndpointState, Health, LastStatus, Next, Policy,
    mails::{WebhookDisabled, WebhookSecretLost},
};

/// Records attempts and updates the health of the subscriptions (contract, "Delivery rules" 3). A success resets the count of
/// failures, and a delivery that failed for good raises it. Too many failures in a row disable the subscription, and the business
/// gets a mail. A ping's time and outcome are shown on the subscription, but do not count.
///
/// # Errors
/// If storage fails; then nothing is recorded.
pub async fn record_attempts(
    queue: &mut dyn DeliveryQueue,
    policy: &Policy,
    attempts: &[AttemptRecord],
    now: Timestamp,
) -> StoreResult<()> {
    // In the order of ids, the order in which every transaction locks them.
    let mut by_endpoint: BTreeMap<EndpointKey, Vec<&AttemptRecord>> = BTreeMap::new();
    for attempt in attempts {
        by_endpoint.entry(attempt.endpoint).or_default().push(attempt);
    }
    // All subscriptions are locked before any is disabled, because disabling takes further locks. A transaction that changes one
    // of them waits meanwhile, so it cannot hold a lock that this one waits for.
    let mut locked = Vec::new();
    for (endpoint, attempts) in by_endpoint {
        if let Some(health) = queue.lock_health(endpoint).await? {
            locked.push((health, attempts));
        }
    }
    for (mut health, attempts) in locked {
        let was_active = health.active;
        for attempt in attempts {
            health.record_attempt(attempt, policy);
        }
        queue.save_health(&health, now).await?;
        if was_active && !health.active {
            notify_owner(queue, health.endpoint, now, |business| disabled_mail(&health, business)).await?;
        }
    }
    queue.save_attempts(attempts).await
}

/// Disables a subscription whose secret cannot be read, and mails the business. Returns `false` if its state has changed
/// meanwhile.
///
/// # Errors
/// If storage fails; then nothing is changed.
pub async fn disable_damaged(
    queue: &mut dyn DeliveryQueue,
    endpoint: EndpointKey,
    now: Timestamp,
) -> StoreResult<bool> {
    // Locked first, because its owner may have given it a new secret meanwhile.
    let Some(mut health) = queue.lock_health(endpoint).await? else {
        return Ok(false);
    };
    if !health.active || queue.endpoint(endpoint).await? != EndpointState::Damaged {
        return Ok(false);
    }
    health.active = false;
    queue.save_health(&health, now).await?;
    notify_owner(queue, endpoint, now, |business| secret_lost_mail(&health, business)).await?;
    Ok(true)
}

impl Health {
    fn record_attempt(&mut self, attempt: &AttemptRecord, policy: &Policy) {
        self.last_delivery_at = Some(attempt.ended.timestamp());
        self.last_status = Some(match attempt.next {
            Next::Delivered => LastStatus::Delivered,
            Next::Retry(_) | Next::Failed => LastStatus::Failed,
        });
        if attempt.ping {
            return;
        }
        match attempt.next {
            Next::Delivered => self.failure_count = 0,
            Next::Retry(_) => {}
            Next::Failed => {
                self.failure_count = self.failure_count.saturating_add(1);
                self.active &= self.failure_count < policy.disable_after;
            }
        }
    }
}

/// Mails the business that owns the subscription, if it has an email address.
async fn notify_owner(
    queue: &mut dyn DeliveryQueue,
    endpoint: EndpointKey,
    now: Timestamp,
    mail: impl Fn(&Business) -> Mail + Send,
) -> StoreResult<()> {
    match queue.owner(endpoint.business).await? {
        Some(business) if !business.email.is_empty() => queue.queue_mail(business.id, mail(&business), now).await,
        _ => Ok(()),
    }
}

fn disabled_mail(health: &Health, business: &Business) -> Mail {
    let content = WebhookDisabled {
        business: &business.name,
        webhook: &health.endpoint.webhook.to_string(),
        url: &health.url,
        failures: &health.failure_count.to_string(),
    };
    business.mail(&business.email, &content)
}

fn secret_lost_mail(health: &Health, business: &Business) -> Mail {
    let content = WebhookSecretLost {
        business: &business.name,
        webhook: &health.endpoint.webhook.to_string(),
        url: &health.url,
    };
    business.mail(&business.email, &content)
}
