//! Mails that wait to be sent.

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_dealership::MailQueue;
use forecourt_kernel::{BusinessId, Mail, MailOutbox, PendingMail, StoreResult, Timestamp};

use super::dialect;
use super::session::Writing;
use crate::error::store_error;
use crate::models::{MailRow, NewMailRow};
use crate::schema::mails;
use crate::statement::{Prepare as _, RunQueryDsl};

#[async_trait]
impl MailOutbox for Writing {
    async fn queue_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<()> {
        let Mail {
            to,
            subject,
            text,
            message_id,
            in_reply_to,
            reply_to,
        } = mail;
        let row = NewMailRow {
            business_id: business.get(),
            recipient: to,
            subject,
            text,
            attempts: 0,
            due: at.epoch_seconds(),
            message_id,
            in_reply_to,
            reply_to,
        };
        self.buffer(business).await?.mail(row);
        Ok(())
    }
}

#[async_trait]
impl MailQueue for Writing {
    async fn take_mails(&mut self, now: Timestamp, lease: Timestamp, limit: u32) -> StoreResult<Vec<PendingMail>> {
        let due = mails::table
            .filter(mails::due.le(now.epoch_seconds()))
            .order(mails::due)
            .limit(limit.into())
            .select(MailRow::as_select());
        let rows: Vec<MailRow> = dialect::skip_locked!(due)
            .load(self.conn().await?)
            .await
            .map_err(store_error)?;
        let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
        if !ids.is_empty() {
            diesel::update(mails::table.filter(mails::id.eq_any(ids)))
                .set(mails::due.eq(lease.epoch_seconds()))
                .execute(self.conn().await?)
                .await
                .map_err(store_error)?;
        }
        let take = |row: MailRow| PendingMail {
            id: row.id,
            business: BusinessId::new(row.business_id),
            mail: Mail {
                to: row.recipient,
                subject: row.subject,
                text: row.text,
                message_id: row.message_id,
                in_reply_to: row.in_reply_to,
                reply_to: row.reply_to,
            },
            attempts: u32::try_from(row.attempts).unwrap_or_default(),
        };
        Ok(rows.into_iter().map(take).collect())
    }

    async fn drop_mail(&mut self, id: i64) -> StoreResult<()> {
        diesel::delete(mails::table.find(id))
            .execute(self.conn().await?)
            .await
            .map_err(store_error)?;
        Ok(())
    }

    async fn retry_mail(&mut self, id: i64, due: Timestamp) -> StoreResult<()> {
        diesel::update(mails::table.find(id))
            .set((
                mails::due.eq(due.epoch_seconds()),
                mails::attempts.eq(mails::attempts + 1),
            ))
            .prepared()
            .execute(self.conn().await?)
            .await
            .map_err(store_error)?;
        Ok(())
    }
}
