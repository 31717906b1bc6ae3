//! Facts of the database about itself.

use std::collections::HashMap;

use diesel::prelude::*;
use forecourt_kernel::{BusinessId, Clock, Epoch, StoreResult, Timestamp};

use super::{Conn, Engine, UnitOfWork, dialect};
use crate::DatabaseFacts;
use crate::error::other;
use crate::models::MetaRow;
use crate::outgoing::Outgoing;
use crate::schema::forecourt_meta;
use crate::statement::{RunQueryDsl, for_update};

pub(super) const SECRET_PROOF: &str = "secret_proof";
const INSTALLATION: &str = "installation";
const EPOCH: &str = "epoch";
const TIMELINE: &str = "timeline";
const LEAST_VERSION: &str = "least_version";
pub(super) const CELL: &str = "cell";
pub(super) const OUTGOING: &str = "outgoing";

impl Engine {
    /// Begins a transaction for a session of the stores, unless the schema has become too new for this version to write to it.
    pub(super) async fn begin_writing(&self, business: Option<BusinessId>) -> StoreResult<UnitOfWork> {
        let mut session = self.begin_for(business).await?;
        let check = self.version_check();
        if check.is_due() {
            check.note(find(&mut session, LEAST_VERSION).await?);
        }
        check.verdict()?;
        Ok(session)
    }

    /// Identifies the database, and returns its facts. A database without an identity becomes `installation`. One that is on
    /// another timeline than before begins a new epoch, in whichever of several servers sees that first.
    pub(crate) async fn identify(&self, installation: String, now: Timestamp) -> StoreResult<DatabaseFacts> {
        let mut conn = self.read().await?;
        let timeline = dialect::timeline(&mut conn).await?;
        let facts = facts(&mut conn).await?;
        drop(conn);
        let seen = timeline.clone();
        let facts = match facts {
            Some(facts) if timeline.is_none() || timeline == facts.timeline => facts,
            Some(_) | None => self.note_identity(installation, timeline, now).await?,
        };
        self.state().take_up(facts.epoch);
        self.state().note_outgoing(facts.outgoing.is_held);
        if let Some(seen) = seen {
            self.state().note_timeline(seen);
        }
        Ok(facts)
    }

    /// Returns the milliseconds by which `clock` is at least ahead of the database's own clock, negative if it is behind. `None`
    /// if the database has none.
    pub(crate) async fn clock_offset(&self, clock: &dyn Clock) -> StoreResult<Option<i64>> {
        let mut conn = self.read().await?;
        let before = clock.moment().epoch_millis();
        let Some(its) = dialect::clock(&mut conn).await? else {
            return Ok(None);
        };
        let after = clock.moment().epoch_millis();
        Ok(Some(if its < before {
            before - its
        } else {
            (after - its).min(0)
        }))
    }

    async fn note_identity(
        &self,
        installation: String,
        timeline: Option<String>,
        now: Timestamp,
    ) -> StoreResult<DatabaseFacts> {
        let mut session = self.begin().await?;
        add(&mut session, EPOCH, &Epoch::FIRST.number().to_string()).await?;
        add(&mut session, INSTALLATION, &installation).await?;
        if let Some(timeline) = timeline {
            add(&mut session, TIMELINE, &timeline).await?;
            let other = forecourt_meta::table
                .find(TIMELINE)
                .filter(forecourt_meta::value.ne(&timeline));
            // Only one of several servers still finds the former timeline.
            let changed = diesel::update(other)
                .set(forecourt_meta::value.eq(&timeline))
                .execute(&mut *session)
                .await?;
            if changed > 0 {
                let epoch = raise(&mut session, now).await?;
                tracing::warn!(
                    timeline,
                    epoch = epoch.number(),
                    "PostgreSQL has another timeline than before, so the last commits may be lost: a new epoch begins"
                );
            }
        }
        let facts = facts(&mut session).await?;
        session.commit().await?;
        facts.ok_or_else(|| other("the installation was written and is not there"))
    }

    /// Begins a new epoch.
    pub(crate) async fn raise_epoch(&self, now: Timestamp) -> StoreResult<Epoch> {
        let mut session = self.begin().await?;
        let epoch = raise(&mut session, now).await?;
        session.commit().await?;
        self.state().take_up(epoch);
        Ok(epoch)
    }

    /// Notes the beginning of a round that one server makes for all, unless another has begun one within so many seconds.
    pub(crate) async fn claim_round(&self, name: &str, seconds: i64, now: Timestamp) -> StoreResult<bool> {
        let mut session = self.begin().await?;
        add(&mut session, name, "0").await?;
        let latest = forecourt_meta::table.find(name).select(forecourt_meta::value);
        let latest: Option<String> = for_update(latest).get_optional(&mut *session).await?;
        let latest: i64 = latest.map_or(Ok(0), |text| text.parse()).map_err(other)?;
        if (now.epoch_seconds() - latest).abs() < seconds {
            return Ok(false);
        }
        set(&mut session, name, now.epoch_seconds().to_string()).await?;
        session.commit().await?;
        Ok(true)
    }

    /// Returns a fact that a program keeps here.
    pub(crate) async fn fact(&self, key: &str) -> StoreResult<Option<String>> {
        find(&mut *self.read().await?, key).await
    }

    /// Keeps a fact.
    pub(crate) async fn set_fact(&self, key: &str, value: String) -> StoreResult<()> {
        let mut session = self.begin().await?;
        set(&mut session, key, value).await?;
        session.commit().await
    }
}

/// Returns the facts of the database, or `None` if it has not been identified.
async fn facts(conn: &mut Conn) -> StoreResult<Option<DatabaseFacts>> {
    let rows: Vec<(String, String)> = forecourt_meta::table
        .filter(forecourt_meta::key.eq_any([INSTALLATION, EPOCH, TIMELINE, OUTGOING]))
        .select((forecourt_meta::key, forecourt_meta::value))
        .load(conn)
        .await?;
    let mut facts = HashMap::<_, _>::from_iter(rows);
    let Some(installation) = facts.remove(INSTALLATION) else {
        return Ok(None);
    };
    Ok(Some(DatabaseFacts {
        installation,
        epoch: epoch_of(facts.get(EPOCH).map(String::as_str))?,
        timeline: facts.remove(TIMELINE),
        outgoing: Outgoing::from_stored(facts.get(OUTGOING).map(String::as_str)),
    }))
}

/// Raises the epoch. Its row stays locked until the transaction ends.
async fn raise(conn: &mut Conn, now: Timestamp) -> StoreResult<Epoch> {
    add(conn, EPOCH, &Epoch::FIRST.number().to_string()).await?;
    let stored = forecourt_meta::table.find(EPOCH).select(forecourt_meta::value);
    let stored: Option<String> = for_update(stored).get_optional(conn).await?;
    let epoch = epoch_of(stored.as_deref())?.raised(now);
    diesel::update(forecourt_meta::table.find(EPOCH))
        .set(forecourt_meta::value.eq(epoch.number().to_string()))
        .execute(conn)
        .await?;
    Ok(epoch)
}

fn epoch_of(stored: Option<&str>) -> StoreResult<Epoch> {
    let number = stored.map_or(Ok(0), str::parse).map_err(other)?;
    Ok(Epoch::new(number))
}

/// Writes a fact, unless there is one of that key.
pub(super) async fn add(conn: &mut Conn, key: &str, value: &str) -> StoreResult<()> {
    let row = MetaRow {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    diesel::insert_into(forecourt_meta::table)
        .values(row)
        .on_conflict_do_nothing()
        .execute(conn)
        .await?;
    Ok(())
}

/// Returns the fact called `key`, or `None` if it was never written.
pub(super) async fn find(conn: &mut Conn, key: &str) -> StoreResult<Option<String>> {
    forecourt_meta::table
        .find(key)
        .select(forecourt_meta::value)
        .get_optional(conn)
        .await
}

/// Writes a fact, in place of the one with its key.
pub(super) async fn set(conn: &mut Conn, key: &str, value: String) -> StoreResult<()> {
    diesel::delete(forecourt_meta::table.find(key)).execute(conn).await?;
    add(conn, key, &value).await
}
