//! Mails that wait to be sent, and the number that a business has sent in a day.

use async_trait::async_trait;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use diesel::QueryableByName;
use diesel::insert_into;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use forecourt_contacts::{ContactMailReader, WaitingMail};
use forecourt_dealership::{MailQueue, TakenMails};
use forecourt_kernel::{
    Attachment, BusinessId, ContactId, LeadId, Mail, MailOutbox, PendingMail, StoreResult, Timestamp, fold,
};
use serde::{Deserialize, Serialize};

use super::session::{Read, Session, Write};
use crate::error::other;
use crate::models::{MailRow, NewMailRow};
use crate::schema::{mail_quotas, mails};
use crate::statement::{Prepare as _, RunQueryDsl, for_no_key_update, skip_locked};

const DAY: i64 = 86_400;
/// The number of a business's mails that one transaction puts off to another day.
const PUT_OFF_AT_ONCE: i64 = 500;

#[async_trait]
impl MailOutbox for Session<Write> {
    async fn queue_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<()> {
        let row = new_row(business, mail, at, false)?;
        self.send_later(business, insert_into(mails::table).values(row)).await
    }

    async fn queue_awaited_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<bool> {
        let is_claimed = self.claim_mail(business, at).await?;
        if is_claimed {
            let row = new_row(business, mail, at, true)?;
            self.send_later(business, insert_into(mails::table).values(row)).await?;
        }
        Ok(is_claimed)
    }

    async fn claim_mail(&mut self, business: BusinessId, at: Timestamp) -> StoreResult<bool> {
        Ok(self.claim_mails(business.get(), at, 1).await? > 0)
    }

    async fn queue_claimed_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<()> {
        let row = new_row(business, mail, at, true)?;
        self.send_later(business, insert_into(mails::table).values(row)).await
    }
}

/// An attachment in the JSON of a waiting mail.
#[derive(Serialize, Deserialize)]
struct StoredAttachment {
    name: String,
    media_type: String,
    /// In base64.
    content: String,
}

fn stored_attachments(attachments: &[Attachment]) -> StoreResult<Option<String>> {
    if attachments.is_empty() {
        return Ok(None);
    }
    let stored = attachments.iter().map(|attachment| StoredAttachment {
        name: attachment.name.clone(),
        media_type: attachment.media_type.clone(),
        content: BASE64_STANDARD.encode(&attachment.content),
    });
    let stored = serde_json::to_string(&stored.collect::<Vec<_>>());
    stored.map(Some).map_err(other)
}

fn read_attachments(stored: Option<&str>) -> StoreResult<Vec<Attachment>> {
    let Some(stored) = stored else {
        return Ok(Vec::new());
    };
    let stored: Vec<StoredAttachment> = serde_json::from_str(stored).map_err(other)?;
    let read = stored.into_iter().map(|attachment| {
        Ok(Attachment {
            content: BASE64_STANDARD.decode(attachment.content).map_err(other)?.into(),
            name: attachment.name,
            media_type: attachment.media_type,
        })
    });
    read.collect()
}

fn new_row(business: BusinessId, mail: Mail, at: Timestamp, claimed: bool) -> StoreResult<NewMailRow> {
    let Mail {
        to,
        subject,
        text,
        message_id,
        in_reply_to,
        reply_to,
        lead,
        attachments,
        contact,
    } = mail;
    Ok(NewMailRow {
        business_id: business.get(),
        recipient: to,
        subject,
        text,
        attempts: 0,
        due: at.epoch_seconds(),
        message_id,
        in_reply_to,
        reply_to,
        claimed,
        queued: Some(at.epoch_seconds()),
        lead_id: lead.map(LeadId::get),
        attachments: stored_attachments(&attachments)?,
        contact_id: contact.map(ContactId::get),
    })
}

#[derive(QueryableByName)]
struct WaitingRow {
    #[diesel(sql_type = BigInt)]
    business_id: i64,
}

/// The businesses with due mails, from those after `after` and up to `until`, in their order. Each is found by its first entry in
/// the index, and its first due mail likewise, however many mails it has.
fn waiting(after: i64, until: i64, now: i64, limit: usize) -> String {
    format!(
        "WITH RECURSIVE waiting (business_id) AS (\
         SELECT min(mails.business_id) FROM mails WHERE mails.business_id > {after} \
         UNION ALL \
         SELECT (SELECT min(mails.business_id) FROM mails WHERE mails.business_id > waiting.business_id) \
         FROM waiting WHERE waiting.business_id < {until}) \
         SELECT waiting.business_id FROM waiting WHERE waiting.business_id <= {until} AND \
         (SELECT mails.due FROM mails WHERE mails.business_id = waiting.business_id ORDER BY mails.due LIMIT 1) <= {now} \
         LIMIT {limit}"
    )
}

/// The mails of one business that were taken.
#[derive(Default)]
struct Share {
    rows: Vec<MailRow>,
    /// There were at least as many as there was room for.
    is_full: bool,
    /// The business may send no more on that day.
    is_spent: bool,
}

impl Session<Write> {
    /// Takes up to `wanted` of the mails that a business may send in the UTC day of `at`; returns their number.
    async fn claim_mails(&mut self, business: i64, at: Timestamp, wanted: i64) -> StoreResult<i64> {
        let Some(limit) = self.dependencies.mails_per_day else {
            return Ok(wanted);
        };
        let today = at.epoch_seconds().div_euclid(DAY);
        diesel::insert_into(mail_quotas::table)
            .values((
                mail_quotas::business_id.eq(business),
                mail_quotas::day.eq(today),
                mail_quotas::mails.eq(0),
            ))
            .on_conflict_do_nothing()
            .execute(self.conn().await?)
            .await?;
        let quota = mail_quotas::table.find(business);
        let (day, sent): (i64, i64) = for_no_key_update(quota.select((mail_quotas::day, mail_quotas::mails)))
            .get_result(self.conn().await?)
            .await?;
        // The clock of another server may be in the next day already: then that day counts.
        let (day, sent) = if day == today || day == today + 1 {
            (day, sent)
        } else {
            (today, 0)
        };
        let claimed = wanted.min(i64::from(limit) - sent).max(0);
        if claimed > 0 {
            diesel::update(quota)
                .set((mail_quotas::day.eq(day), mail_quotas::mails.eq(sent + claimed)))
                .execute(self.conn().await?)
                .await?;
        }
        Ok(claimed)
    }

    /// Returns up to `limit` businesses with due mails, from the one after `after` on and then from the beginning.
    async fn businesses_with_mails(&mut self, after: i64, now: i64, limit: usize) -> StoreResult<Vec<i64>> {
        let due = mails::table.filter(mails::due.le(now)).order(mails::due).limit(1);
        let first: Option<i64> = due.select(mails::id).get_optional(self.flushed_conn().await?).await?;
        let mut found = Vec::new();
        if first.is_none() {
            return Ok(found);
        }
        for (after, until) in [(after, i64::MAX), (0, after)] {
            let rows: Vec<WaitingRow> = diesel::sql_query(waiting(after, until, now, limit - found.len()))
                .load(self.conn().await?)
                .await?;
            found.extend(rows.into_iter().map(|row| row.business_id));
        }
        Ok(found)
    }

    /// Leases up to `room` due mails of a business, those that have waited longest.
    async fn take_share(&mut self, business: i64, now: Timestamp, lease: Timestamp, room: usize) -> StoreResult<Share> {
        let due = mails::table
            .filter(mails::business_id.eq(business))
            .filter(mails::due.le(now.epoch_seconds()))
            .order((mails::due, mails::id))
            .limit(i64::try_from(room).map_err(other)?)
            .select(MailRow::as_select());
        let mut rows: Vec<MailRow> = skip_locked(due).load(self.conn().await?).await?;
        let is_full = rows.len() >= room;
        let wanted = rows.iter().filter(|row| !row.claimed).count();
        let mut granted = 0;
        if wanted > 0 {
            let wanted = i64::try_from(wanted).map_err(other)?;
            granted = self.claim_mails(business, now, wanted).await?;
        }
        let is_spent = granted < i64::try_from(wanted).map_err(other)?;
        rows.retain(|row| {
            let is_granted = row.claimed || granted > 0;
            granted -= i64::from(!row.claimed);
            is_granted
        });
        let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
        if !ids.is_empty() {
            diesel::update(mails::table.filter(mails::id.eq_any(ids)))
                .set((mails::due.eq(lease.epoch_seconds()), mails::claimed.eq(true)))
                .execute(self.conn().await?)
                .await?;
        }
        Ok(Share {
            rows,
            is_full,
            is_spent,
        })
    }

    /// Postpones due mails of a business to the next UTC day. Returns the mails that are given up since they have waited too
    /// long.
    async fn put_off(&mut self, business: i64, now: i64) -> StoreResult<Vec<i64>> {
        let tomorrow = (now.div_euclid(DAY) + 1) * DAY;
        let due = mails::table
            .filter(mails::business_id.eq(business))
            .filter(mails::due.le(now))
            .filter(mails::claimed.eq(false))
            .order((mails::due, mails::id))
            .limit(PUT_OFF_AT_ONCE)
            .select((mails::id, mails::queued));
        let due: Vec<(i64, Option<i64>)> = skip_locked(due).load(self.conn().await?).await?;
        let is_old =
            |queued: Option<i64>| queued.is_some_and(|queued| queued + TakenMails::MAX_WAIT_SECONDS < tomorrow);
        let of = |wanted: bool| {
            let rows = due.iter().filter(|(_, queued)| is_old(*queued) == wanted);
            rows.map(|(id, _)| *id).collect::<Vec<_>>()
        };
        let (given_up, waiting) = (of(true), of(false));
        if !given_up.is_empty() {
            diesel::delete(mails::table.filter(mails::id.eq_any(given_up.clone())))
                .execute(self.conn().await?)
                .await?;
        }
        if !waiting.is_empty() {
            diesel::update(mails::table.filter(mails::id.eq_any(waiting)))
                .set(mails::due.eq(tomorrow))
                .execute(self.conn().await?)
                .await?;
        }
        // A server of the version before does not record the time at which it queued a mail.
        let unknown: Vec<i64> = due
            .iter()
            .filter(|(_, queued)| queued.is_none())
            .map(|(id, _)| *id)
            .collect();
        if !unknown.is_empty() {
            diesel::update(mails::table.filter(mails::id.eq_any(unknown)))
                .set(mails::queued.eq(now))
                .execute(self.conn().await?)
                .await?;
        }
        Ok(given_up)
    }
}

/// The number of waiting mails that one statement looks through.
const READ_AT_ONCE: i64 = 500;
/// The number of mails that are read at once.
const MAILS_AT_ONCE: usize = 10;

#[async_trait]
impl ContactMailReader for Session<Read> {
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
                .await?;
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
            .await?;
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
impl MailQueue for Session<Write> {
    async fn take_mails(
        &mut self,
        after: BusinessId,
        now: Timestamp,
        lease: Timestamp,
        limit: u32,
    ) -> StoreResult<TakenMails> {
        let limit = limit as usize;
        let mut businesses = self
            .businesses_with_mails(after.get(), now.epoch_seconds(), limit)
            .await?;
        let mut taken = TakenMails {
            last: businesses.last().copied().map(BusinessId::new),
            ..TakenMails::default()
        };
        let share = limit.checked_div(businesses.len()).unwrap_or_default();
        // In one order on every server, so that none waits for another's lock while that waits for one of its own.
        businesses.sort_unstable();
        for business in businesses {
            let Share {
                rows,
                is_full,
                is_spent,
            } = self.take_share(business, now, lease, share).await?;
            for row in rows {
                taken.mails.push(pending(row)?);
            }
            taken.more |= is_full;
            if is_spent {
                let given_up = self.put_off(business, now.epoch_seconds()).await?;
                let business = BusinessId::new(business);
                taken.given_up.extend(given_up.into_iter().map(|id| (id, business)));
                taken.over_quota.push(business);
                taken.more = true;
            }
        }
        Ok(taken)
    }

    async fn take_mails_to(
        &mut self,
        address: &str,
        now: Timestamp,
        lease: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<PendingMail>> {
        let due = mails::table
            .filter(mails::recipient.eq(address))
            .filter(mails::due.le(now.epoch_seconds()))
            .order((mails::due, mails::id))
            .limit(limit.into())
            .select(MailRow::as_select());
        let rows: Vec<MailRow> = skip_locked(due).load(self.flushed_conn().await?).await?;
        let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
        if !ids.is_empty() {
            diesel::update(mails::table.filter(mails::id.eq_any(ids)))
                .set((mails::due.eq(lease.epoch_seconds()), mails::claimed.eq(true)))
                .execute(self.conn().await?)
                .await?;
        }
        rows.into_iter().map(pending).collect()
    }

    async fn drop_mail(&mut self, id: i64) -> StoreResult<()> {
        diesel::delete(mails::table.find(id))
            .execute(self.conn().await?)
            .await?;
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
            .await?;
        Ok(())
    }
}

fn pending(row: MailRow) -> StoreResult<PendingMail> {
    Ok(PendingMail {
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
            attachments: read_attachments(row.attachments.as_deref())?,
            contact: row.contact_id.map(ContactId::new),
        },
        attempts: u32::try_from(row.attempts).unwrap_or_default(),
    })
}
