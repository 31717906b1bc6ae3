//! Mails that wait to be sent.

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_contacts::{ContactMailReader, WaitingMail};
use forecourt_dealership::MailQueue;
use forecourt_kernel::{BusinessId, LeadId, Mail, MailOutbox, PendingMail, StoreResult, Timestamp, fold};

use super::dialect;
use super::session::{Reading, Writing};
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
            lead,
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
            lead_id: lead.map(LeadId::get),
        };
        self.buffer(business).await?.mail(row);
        Ok(())
    }
}

/// How many waiting mails are looked at in one statement.
const READ_AT_ONCE: i64 = 500;
/// How many mails are read at once.
const MAILS_AT_ONCE: usize = 10;

#[async_trait]
impl ContactMailReader for Reading {
    async fn mails_to(&mut self, business: BusinessId, address: &str, after: i64) -> StoreResult<Vec<WaitingMail>> {
        let (address, mut after) = (fold(address), after);
        let mut to = Vec::new();
        while !address.is_empty() && to.len() < MAILS_AT_ONCE {
            let waiting: Vec<(i64, String)> = mails::table
                .filter(mails::business_id.eq(business.get()))
                .filter(mails::id.gt(after))
                .order(mails::id)
                .limit(READ_AT_ONCE)
                .select((mails::id, mails::recipient))
                .load(self.conn().await?)
                .await
                .map_err(store_error)?;
            let Some((last, _)) = waiting.last() else {
                break;
            };
            after = *last;
            let own = waiting.into_iter().filter(|(_, recipient)| fold(recipient) == address);
            to.extend(own.map(|(id, _)| id));
        }
        to.truncate(MAILS_AT_ONCE);
        if to.is_empty() {
            return Ok(Vec::new());
        }
        let rows: Vec<MailRow> = mails::table
            .filter(mails::business_id.eq(business.get()))
            .filter(mails::id.eq_any(to))
            .order(mails::id)
            .select(MailRow::as_select())
            .load(self.conn().await?)
            .await
            .map_err(store_error)?;
        let waiting = rows.into_iter().map(|row| WaitingMail {
            id: row.id,
            to: row.recipient,
            subject: row.subject,
            text: row.text,
        });
        Ok(waiting.collect())
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
                lead: row.lead_id.map(LeadId::new),
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
