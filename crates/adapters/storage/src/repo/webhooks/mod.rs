//! Webhooks.
//!
//! Subscriptions are written here. Their histories and the event log are read in [`history`]. Events become deliveries in
//! [`fan_out`], and these are taken and tried by way of [`queue`].
//!
//! Locks are taken in the order of [`repo`](super). New entries of queues are noted at the end of the transaction, for all at
//! once ([`due`]). A transaction that takes from queues waits for nothing but them.

pub(super) mod due;
mod endpoint;
pub(super) mod fan_out;
mod history;
mod queue;

use async_trait::async_trait;
use diesel::dsl::{exists, select};
use diesel::prelude::*;
use forecourt_dealership::DeletionKind;
use forecourt_kernel::{BusinessId, DeliveryId, Moment, StoreResult, Timestamp, Version, WebhookId};
use forecourt_webhooks::{
    Delivery, DeliveryStatus, EndpointKey, Secret, Topic, Webhook, WebhookDraft, WebhookStatus, WebhookStore,
};

pub(super) use history::{first_behind, first_since};
pub(super) use queue::{PENDING, lock_deliveries_of};

/// The number of a deleted subscription's deliveries that one transaction fails.
const FAILED_AT_ONCE: i64 = 500;

use super::Conn;
use super::events::SUBSCRIBERS;
use super::session::{Session, Write};
use crate::models::{DeliveryRow, NewDeliveryRow, NewWebhookRow, WebhookRow, WebhookValues, status_code};
use crate::schema::{webhook_deliveries, webhook_queues, webhooks};
use crate::statement::{RunQueryDsl, for_no_key_update};
use endpoint::earliest;
pub(super) use endpoint::place;

#[async_trait]
impl WebhookStore for Session<Write> {
    async fn lock_webhook(&mut self, business: BusinessId, id: WebhookId) -> StoreResult<Option<Webhook>> {
        let query = webhooks::table
            .find((business.get(), id.get()))
            .filter(webhooks::deleted.is_null())
            .select(WebhookRow::as_select());
        let row = for_no_key_update(query).get_optional(self.conn().await?).await;
        row?.map(Webhook::try_from).transpose()
    }

    async fn lock_webhook_count(&mut self, business: BusinessId) -> StoreResult<usize> {
        self.lock_counters(business).await?;
        let count: i64 = webhooks::table
            .filter(webhooks::business_id.eq(business.get()))
            .filter(webhooks::deleted.is_null())
            .count()
            .get_result(self.conn().await?)
            .await?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    async fn insert_webhook(
        &mut self,
        business: BusinessId,
        draft: WebhookDraft,
        secret: &Secret,
        at: Timestamp,
    ) -> StoreResult<Webhook> {
        let row = NewWebhookRow {
            business_id: business.get(),
            secret: self.seal(business, secret)?,
            secret_hint: secret.hint().to_owned(),
            created: at.epoch_seconds(),
            values: WebhookValues::new(&draft, 0, at),
        };
        let id: i64 = diesel::insert_into(webhooks::table)
            .values(row)
            .returning(webhooks::id)
            .get_result(self.conn().await?)
            .await?;
        diesel::insert_into(webhook_queues::table)
            .values((
                webhook_queues::business_id.eq(business.get()),
                webhook_queues::webhook_id.eq(id),
                webhook_queues::active.eq(draft.status == WebhookStatus::Active),
            ))
            .execute(self.conn().await?)
            .await?;
        let id = WebhookId::new(id);
        self.subscribers_changed(EndpointKey { business, webhook: id }).await?;
        Ok(Webhook {
            id,
            content: draft,
            secret_hint: secret.hint().to_owned(),
            failure_count: 0,
            last_status: None,
            last_delivery_at: None,
            created: at,
            updated: at,
            version: Version::FIRST,
        })
    }

    async fn save_webhook(&mut self, business: BusinessId, webhook: &Webhook) -> StoreResult<()> {
        diesel::update(webhooks::table.find((business.get(), webhook.id.get())))
            .set((
                WebhookValues::new(&webhook.content, webhook.failure_count, webhook.updated),
                webhooks::version.eq(webhook.version.number()),
            ))
            .execute(self.conn().await?)
            .await?;
        let endpoint = EndpointKey {
            business,
            webhook: webhook.id,
        };
        self.subscribers_changed(endpoint).await?;
        self.open_queue(endpoint, webhook.content.status == WebhookStatus::Active)
            .await
    }

    async fn replace_secret(
        &mut self,
        business: BusinessId,
        id: WebhookId,
        secret: &Secret,
        at: Timestamp,
    ) -> StoreResult<()> {
        let sealed = self.seal(business, secret)?;
        diesel::update(webhooks::table.find((business.get(), id.get())))
            .set((
                webhooks::secret.eq(sealed),
                webhooks::secret_hint.eq(secret.hint()),
                webhooks::updated.eq(at.epoch_seconds()),
                webhooks::version.eq(webhooks::version + 1),
            ))
            .execute(self.conn().await?)
            .await?;
        self.subscribers_changed(EndpointKey { business, webhook: id }).await
    }

    async fn delete_webhook(&mut self, business: BusinessId, id: WebhookId, at: Timestamp) -> StoreResult<()> {
        diesel::update(webhooks::table.find((business.get(), id.get())))
            .set((
                webhooks::deleted.eq(at.epoch_seconds()),
                webhooks::active.eq(false),
                webhooks::secret.eq(Vec::new()),
            ))
            .execute(self.conn().await?)
            .await?;
        let endpoint = EndpointKey { business, webhook: id };
        self.subscribers_changed(endpoint).await?;
        if self.fail_pending(business, id).await? {
            self.continue_later(business, DeletionKind::Webhook, id.get(), Vec::new())
                .await?;
        }
        diesel::delete(webhook_queues::table.find((business.get(), id.get())))
            .execute(self.conn().await?)
            .await?;
        Ok(())
    }

    async fn delivery(
        &mut self,
        business: BusinessId,
        webhook: WebhookId,
        id: DeliveryId,
    ) -> StoreResult<Option<Delivery>> {
        history::delivery(self.conn().await?, business, webhook, id).await
    }

    async fn queue_ping(&mut self, business: BusinessId, webhook: WebhookId, at: Moment) -> StoreResult<DeliveryId> {
        let event_id = self.dependencies.event_id();
        let pinged = DeliverySubject::Ping(at.timestamp().epoch_seconds());
        self.queue_now(EndpointKey { business, webhook }, Topic::Ping, event_id, pinged, at)
            .await
    }

    async fn queue_again(
        &mut self,
        business: BusinessId,
        webhook: WebhookId,
        delivery: DeliveryId,
        at: Moment,
    ) -> StoreResult<Delivery> {
        let (row, sequence, pinged): (DeliveryRow, Option<i64>, Option<i64>) = webhook_deliveries::table
            .find((business.get(), delivery.get()))
            .select((
                DeliveryRow::as_select(),
                webhook_deliveries::sequence,
                webhook_deliveries::pinged,
            ))
            .get_result(self.conn().await?)
            .await?;
        let past = Delivery::try_from(row)?;
        let subject = sequence.map_or_else(
            || DeliverySubject::Ping(pinged.unwrap_or(past.created.epoch_seconds())),
            DeliverySubject::Event,
        );
        let id = self
            .queue_now(
                EndpointKey { business, webhook },
                past.topic,
                past.event_id.clone(),
                subject,
                at,
            )
            .await?;
        Ok(Delivery {
            id,
            status: DeliveryStatus::Pending,
            attempts: 0,
            response_code: None,
            response_ms: None,
            response_body: None,
            error: None,
            next_attempt_at: Some(at.timestamp()),
            created: at.timestamp(),
            delivered_at: None,
            ..past
        })
    }
}

/// The subject of a delivery.
#[derive(Clone, Copy)]
enum DeliverySubject {
    /// The event of this number.
    Event(i64),
    /// The request for a ping, in this second.
    Ping(i64),
}

impl Session<Write> {
    fn seal(&self, business: BusinessId, secret: &Secret) -> StoreResult<Vec<u8>> {
        let place = place(business);
        let cipher = self.dependencies.cipher()?;
        cipher.seal(secret.reveal().as_bytes(), &place, self.dependencies.random.as_ref())
    }

    /// Fails some pending deliveries of a deleted subscription; returns `false` if these were the last.
    pub(super) async fn fail_pending(&mut self, business: BusinessId, id: WebhookId) -> StoreResult<bool> {
        let pending = webhook_deliveries::table
            .filter(webhook_deliveries::business_id.eq(business.get()))
            .filter(webhook_deliveries::webhook_id.eq(id.get()))
            .filter(webhook_deliveries::status.eq(status_code(DeliveryStatus::Pending)))
            .order(webhook_deliveries::id)
            .limit(FAILED_AT_ONCE)
            .select(webhook_deliveries::id);
        let pending: Vec<i64> = for_no_key_update(pending).load(self.conn().await?).await?;
        let more = i64::try_from(pending.len()).is_ok_and(|found| found == FAILED_AT_ONCE);
        let pending = webhook_deliveries::table
            .filter(webhook_deliveries::business_id.eq(business.get()))
            .filter(webhook_deliveries::id.eq_any(pending));
        diesel::update(pending)
            .set((
                webhook_deliveries::status.eq(status_code(DeliveryStatus::Failed)),
                webhook_deliveries::settling.eq(None::<String>),
                webhook_deliveries::due.eq(None::<i64>),
                webhook_deliveries::lease.eq(None::<i64>),
                webhook_deliveries::next_attempt_at.eq(None::<i64>),
                webhook_deliveries::error.eq(Some(history::WEBHOOK_DELETED)),
            ))
            .execute(self.conn().await?)
            .await?;
        Ok(more)
    }

    /// Gives the business's subscriptions a new number, so that caches of them are renewed.
    async fn subscribers_changed(&mut self, endpoint: EndpointKey) -> StoreResult<()> {
        // Locked before the look-up: a transaction that changes another subscription at the same time has done so, or will see
        // this one.
        self.lock_counters(endpoint.business).await?;
        let active = webhooks::table
            .filter(webhooks::business_id.eq(endpoint.business.get()))
            .filter(webhooks::deleted.is_null())
            .filter(webhooks::active.eq(true));
        let any: bool = select(exists(active)).get_result(self.conn().await?).await?;
        let number = if any { self.dependencies.draw_number() } else { 0 };
        self.counter(endpoint.business, SUBSCRIBERS).await?.number = number;
        self.summary().changed.push(endpoint);
        Ok(())
    }

    /// Activates a subscription's queue, or stops it. In a stopped queue only pings are found.
    async fn open_queue(&mut self, endpoint: EndpointKey, active: bool) -> StoreResult<()> {
        let EndpointKey { business, webhook } = endpoint;
        let queue = webhook_queues::table.find((business.get(), webhook.get()));
        let changed = diesel::update(queue.filter(webhook_queues::active.eq(!active)))
            .set(webhook_queues::active.eq(active))
            .execute(self.conn().await?)
            .await?;
        if changed > 0
            && active
            && let Some(due) = earliest(self.conn().await?, endpoint, true).await?
        {
            self.summary().queued.push((endpoint, Moment::from_epoch_millis(due)));
        }
        Ok(())
    }

    /// Queues a delivery that is due at once. A ping reaches a disabled subscription too; all others wait for its activation.
    async fn queue_now(
        &mut self,
        endpoint: EndpointKey,
        topic: Topic,
        event_id: String,
        subject: DeliverySubject,
        at: Moment,
    ) -> StoreResult<DeliveryId> {
        let (sequence, pinged) = match subject {
            DeliverySubject::Event(sequence) => (Some(sequence), None),
            DeliverySubject::Ping(asked) => (None, Some(asked)),
        };
        let row = NewDeliveryRow {
            business_id: endpoint.business.get(),
            webhook_id: endpoint.webhook.get(),
            topic: topic.as_str(),
            event_id,
            sequence,
            status: status_code(DeliveryStatus::Pending),
            settling: None,
            settle_by: None,
            due: Some(at.epoch_millis()),
            lease: None,
            attempts: 0,
            next_attempt_at: Some(at.timestamp().epoch_seconds()),
            created: at.timestamp().epoch_seconds(),
            pinged,
        };
        let id: i64 = diesel::insert_into(webhook_deliveries::table)
            .values(row)
            .returning(webhook_deliveries::id)
            .get_result(self.conn().await?)
            .await?;
        self.summary().queued.push((endpoint, at));
        Ok(DeliveryId::new(id))
    }
}

async fn webhook(conn: &mut Conn, business: BusinessId, id: WebhookId) -> StoreResult<Option<Webhook>> {
    let query = webhooks::table
        .find((business.get(), id.get()))
        .filter(webhooks::deleted.is_null())
        .select(WebhookRow::as_select());
    let row = query.get_optional(conn).await;
    row?.map(Webhook::try_from).transpose()
}
