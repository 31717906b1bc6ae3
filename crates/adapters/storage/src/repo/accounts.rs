//! Businesses and their keys.

use std::fmt::Display;
use std::sync::Arc;

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_accounts::{AccountReader, AccountStore, ApiKey, Business, KeyId, Legal, SecretHash, StoredCredential};
use forecourt_dealership::DeletionKind;
use forecourt_kernel::{BoxError, BusinessId, ScopeSet, StoreError, StoreResult, Timestamp};
use ipnet::IpNet;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Conn;
use super::events::EVENTS;
use super::files::file_bytes;
use super::session::{Mode, Session, Write};
use crate::error::other;
use crate::models::{ApiKeyRow, BusinessRow, BusinessValues, Counter};
use crate::schema::{api_keys, businesses, counters, deletions, webhook_queues};
use crate::statement::RunQueryDsl;

/// Returns the business, if it exists.
pub(super) async fn business(conn: &mut Conn, id: BusinessId) -> StoreResult<Option<Business>> {
    let found = businesses::table
        .find(id.get())
        .filter(businesses::deleted.is_null())
        .select(BusinessRow::as_select())
        .get_optional(conn)
        .await;
    found?.map(read_business).transpose()
}

async fn all_businesses(conn: &mut Conn) -> StoreResult<Vec<Business>> {
    let query = businesses::table
        .filter(businesses::deleted.is_null())
        .order(businesses::tag)
        .select(BusinessRow::as_select());
    query.load(conn).await?.into_iter().map(read_business).collect()
}

#[async_trait]
impl<M: Mode> AccountReader for Session<M> {
    async fn credential(&mut self, key: &KeyId) -> StoreResult<Option<StoredCredential>> {
        let found = api_keys::table
            .left_join(
                businesses::table.on(businesses::id
                    .nullable()
                    .eq(api_keys::business_id)
                    .and(businesses::deleted.is_null())),
            )
            .filter(api_keys::id.eq(key.as_str()))
            .select((ApiKeyRow::as_select(), Option::<BusinessRow>::as_select()))
            .get_optional::<(ApiKeyRow, Option<BusinessRow>)>(self.conn().await?)
            .await?;
        let read = |(key, business): (ApiKeyRow, Option<BusinessRow>)| {
            Ok(StoredCredential {
                key: read_key(key)?,
                business: business.map(read_business).transpose()?.map(Arc::new),
            })
        };
        found.map(read).transpose()
    }

    async fn business(&mut self, id: BusinessId) -> StoreResult<Option<Business>> {
        business(self.conn().await?, id).await
    }

    async fn business_by_tag(&mut self, tag: &str) -> StoreResult<Option<Business>> {
        let query = businesses::table
            .filter(businesses::tag.eq(tag))
            .filter(businesses::deleted.is_null())
            .select(BusinessRow::as_select());
        query
            .get_optional(self.conn().await?)
            .await?
            .map(read_business)
            .transpose()
    }

    async fn businesses(&mut self) -> StoreResult<Vec<Business>> {
        all_businesses(self.conn().await?).await
    }

    async fn keys(&mut self, business: Option<BusinessId>) -> StoreResult<Vec<ApiKey>> {
        let conn = self.conn().await?;
        let query = api_keys::table
            .order((api_keys::created.desc(), api_keys::id))
            .select(ApiKeyRow::as_select());
        let rows = match business {
            Some(business) => query.filter(api_keys::business_id.eq(business.get())).load(conn).await,
            None => query.load(conn).await,
        };
        rows?.into_iter().map(read_key).collect()
    }
}

#[async_trait]
impl AccountStore for Session<Write> {
    async fn insert_business(&mut self, business: &Business) -> StoreResult<BusinessId> {
        let inserted = diesel::insert_into(businesses::table).values(business_values(business)?);
        let id: i64 = inserted
            .returning(businesses::id)
            .get_result(self.conn().await?)
            .await?;
        // The first counter, by which its transactions take turns. The others come with their first use.
        diesel::insert_into(counters::table)
            .values((
                counters::business_id.eq(id),
                counters::kind.eq(EVENTS),
                Counter::default(),
            ))
            .execute(self.conn().await?)
            .await?;
        Ok(BusinessId::new(id))
    }

    async fn update_business(&mut self, business: &Business) -> StoreResult<()> {
        diesel::update(businesses::table.find(business.id.get()))
            .set(business_values(business)?)
            .execute(self.conn().await?)
            .await?;
        Ok(())
    }

    async fn delete_business(&mut self, id: BusinessId) -> StoreResult<()> {
        // No tag has this character, so that another business may have the tag.
        let unnamed = format!("~{id}");
        let deleted = diesel::update(businesses::table.find(id.get()).filter(businesses::deleted.is_null()))
            .set((
                businesses::deleted.eq(Some(self.dependencies.clock.now().epoch_seconds())),
                businesses::tag.eq(unnamed),
                businesses::name.eq(""),
                businesses::email.eq(""),
                businesses::website.eq(""),
                businesses::settings.eq("{}"),
                businesses::catalogue.eq("{}"),
                businesses::legal.eq(None::<String>),
            ))
            .execute(self.conn().await?)
            .await?;
        if deleted == 0 {
            return Ok(());
        }
        // Any other unfinished deletion of the business goes with the rest.
        diesel::delete(deletions::table.filter(deletions::business_id.eq(id.get())))
            .execute(self.conn().await?)
            .await?;
        // Its deliveries would still be sent.
        diesel::delete(webhook_queues::table.filter(webhook_queues::business_id.eq(id.get())))
            .execute(self.conn().await?)
            .await?;
        let has_files = file_bytes(self.conn().await?, id).await? > 0;
        // The content of its files is deleted in the background.
        if self.remove_owned(id).await? || has_files {
            self.continue_later(id, DeletionKind::Business, id.get(), Vec::new())
                .await?;
        }
        Ok(())
    }

    async fn insert_key(&mut self, key: &ApiKey) -> StoreResult<()> {
        let row = ApiKeyRow {
            id: key.id.to_string(),
            secret_hash: key.secret_hash.as_bytes().to_vec(),
            business_id: key.business.map(BusinessId::get),
            scopes: to_json(&key.scopes)?,
            created: key.created.epoch_seconds(),
            expires: key.expires.map(Timestamp::epoch_seconds),
            revoked: key.revoked.map(Timestamp::epoch_seconds),
            addresses: written_networks(&key.from),
            last_used: key.last_used.map(Timestamp::epoch_seconds),
        };
        diesel::insert_into(api_keys::table)
            .values(row)
            .execute(self.conn().await?)
            .await?;
        Ok(())
    }

    async fn revoke_key(&mut self, key: &KeyId, at: Timestamp) -> StoreResult<bool> {
        let standing = api_keys::table.find(key.as_str()).filter(api_keys::revoked.is_null());
        let revoked = diesel::update(standing)
            .set(api_keys::revoked.eq(at.epoch_seconds()))
            .execute(self.conn().await?)
            .await?;
        if revoked > 0 {
            return Ok(true);
        }
        let known = api_keys::table
            .find(key.as_str())
            .select(api_keys::id)
            .get_optional::<String>(self.conn().await?)
            .await;
        Ok(known?.is_some())
    }

    async fn expire_key(&mut self, key: &KeyId, at: Timestamp) -> StoreResult<bool> {
        let standing = api_keys::table.find(key.as_str()).filter(api_keys::revoked.is_null());
        let expiring = diesel::update(standing)
            .set(api_keys::expires.eq(at.epoch_seconds()))
            .execute(self.conn().await?)
            .await?;
        Ok(expiring > 0)
    }

    async fn note_key_uses(&mut self, uses: &[(KeyId, Timestamp)]) -> StoreResult<()> {
        for (key, hour) in uses {
            let hour = hour.epoch_seconds();
            let earlier = api_keys::table
                .find(key.as_str())
                .filter(api_keys::last_used.is_null().or(api_keys::last_used.lt(hour)));
            diesel::update(earlier)
                .set(api_keys::last_used.eq(hour))
                .execute(self.conn().await?)
                .await?;
        }
        Ok(())
    }
}

fn written_networks(networks: &[IpNet]) -> Option<String> {
    let written: Vec<_> = networks.iter().map(ToString::to_string).collect();
    (!written.is_empty()).then(|| written.join(","))
}

/// Reads a key's networks. A key whose networks cannot be read is of no use, rather than good for any address.
fn read_networks(written: Option<&str>) -> StoreResult<Vec<IpNet>> {
    let networks = written.map(|written| written.split(',').map(str::parse).collect());
    let networks: Option<Result<Vec<IpNet>, _>> = networks;
    networks
        .transpose()
        .map(Option::unwrap_or_default)
        .map_err(|failure| unreadable("addresses", failure))
}

fn business_values(business: &Business) -> StoreResult<BusinessValues> {
    // The id is the row's, and given by the database.
    let Business {
        id: _,
        tag,
        name,
        email,
        country,
        website,
        verified,
        state,
        plan,
        api_access,
        settings,
        legal_details,
        catalogue,
        created,
        updated,
    } = business;
    Ok(BusinessValues {
        tag: tag.clone(),
        name: name.clone(),
        email: email.clone(),
        country: country.to_string(),
        website: website.clone(),
        verified: *verified,
        state: to_json(state)?,
        plan: to_json(plan)?,
        api_access: *api_access,
        settings: to_json(settings)?,
        catalogue: to_json(catalogue)?,
        legal: (!legal_details.is_empty())
            .then(|| to_json(legal_details))
            .transpose()?,
        created: created.epoch_seconds(),
        updated: updated.epoch_seconds(),
    })
}

fn read_business(row: BusinessRow) -> StoreResult<Business> {
    Ok(Business {
        id: BusinessId::new(row.id),
        tag: row.tag,
        name: row.name,
        email: row.email,
        country: row.country.parse().map_err(|failure| unreadable("country", failure))?,
        website: row.website,
        verified: row.verified,
        state: from_json("state", &row.state)?,
        plan: from_json("plan", &row.plan)?,
        api_access: row.api_access,
        settings: from_json("settings", &row.settings)?,
        legal_details: match &row.legal {
            Some(legal) => from_json("legal", legal)?,
            None => Legal::default(),
        },
        catalogue: from_json("catalogue", &row.catalogue)?,
        created: Timestamp::from_epoch_seconds(row.created),
        updated: Timestamp::from_epoch_seconds(row.updated),
    })
}

fn read_key(row: ApiKeyRow) -> StoreResult<ApiKey> {
    let hash: [u8; 32] = row
        .secret_hash
        .try_into()
        .map_err(|_| unreadable("secret_hash", "it has not 32 bytes"))?;
    // A server of a later version may have given the key a scope that this one does not know.
    let names: Vec<String> = from_json("scopes", &row.scopes)?;
    Ok(ApiKey {
        id: row.id.parse().map_err(|failure| unreadable("id", failure))?,
        secret_hash: SecretHash::from_bytes(hash),
        business: row.business_id.map(BusinessId::new),
        scopes: names.iter().filter_map(|name| name.parse().ok()).collect::<ScopeSet>(),
        created: Timestamp::from_epoch_seconds(row.created),
        expires: row.expires.map(Timestamp::from_epoch_seconds),
        revoked: row.revoked.map(Timestamp::from_epoch_seconds),
        from: read_networks(row.addresses.as_deref())?,
        last_used: row.last_used.map(Timestamp::from_epoch_seconds),
    })
}

fn to_json(value: &impl Serialize) -> StoreResult<String> {
    serde_json::to_string(value).map_err(other)
}

fn from_json<T: DeserializeOwned>(column: &str, text: &str) -> StoreResult<T> {
    serde_json::from_str(text).map_err(|failure| unreadable(column, failure))
}

fn unreadable(column: &str, failure: impl Display) -> StoreError {
    StoreError::Other(BoxError::from(format!("the stored {column} cannot be read: {failure}")))
}
