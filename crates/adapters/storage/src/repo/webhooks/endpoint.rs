//! Endpoints of subscriptions, and the due times of their deliveries.

use diesel::prelude::*;
use forecourt_kernel::{BusinessId, StoreResult};
use forecourt_webhooks::{Endpoint, EndpointKey, EndpointState, Secret, TargetUrl, Topic};

use super::super::Conn;
use crate::Dependencies;
use crate::models::EndpointRow;
use crate::schema::{businesses, webhook_deliveries};
use crate::statement::RunQueryDsl;

/// Returns the due time of the first waiting delivery, or, if the subscription is disabled, of the first ping.
pub(super) async fn earliest(conn: &mut Conn, endpoint: EndpointKey, active: bool) -> StoreResult<Option<i64>> {
    let waiting = webhook_deliveries::table
        .filter(webhook_deliveries::business_id.eq(endpoint.business.get()))
        .filter(webhook_deliveries::webhook_id.eq(endpoint.webhook.get()))
        .filter(webhook_deliveries::due.is_not_null())
        .order(webhook_deliveries::due)
        .limit(1)
        .select(webhook_deliveries::due);
    let first: Option<Option<i64>> = if active {
        waiting.get_optional(conn).await?
    } else {
        let pings = waiting.filter(webhook_deliveries::topic.eq(Topic::Ping.as_str()));
        pings.get_optional(conn).await?
    };
    Ok(first.flatten())
}

pub(super) async fn business_tag(conn: &mut Conn, business: BusinessId) -> StoreResult<Option<String>> {
    let tag = businesses::table
        .find(business.get())
        .filter(businesses::deleted.is_null())
        .select(businesses::tag);
    tag.get_optional(conn).await
}

/// Decrypts the secret of a row. A secret that cannot be decrypted is no failure of storage: it concerns its subscription alone.
pub(super) fn open_endpoint(
    dependencies: &Dependencies,
    row: EndpointRow,
    business_tag: String,
) -> StoreResult<EndpointState> {
    let key = row.key();
    let scopes = row.subscriber()?.scopes;
    let Ok(secret) = dependencies.cipher()?.open(&row.secret, &place(key.business)) else {
        return Ok(EndpointState::Damaged);
    };
    Ok(EndpointState::Ready(Endpoint {
        key,
        business_tag,
        url: TargetUrl::from_stored(row.url),
        secret: Secret::from_stored(String::from_utf8_lossy(&secret).into_owned()),
        scopes,
        active: row.active,
    }))
}

/// Names the place that a secret is encrypted for.
pub(in super::super) fn place(business: BusinessId) -> Vec<u8> {
    format!("webhook/{business}").into_bytes()
}
