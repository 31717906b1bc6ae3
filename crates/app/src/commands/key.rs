//! `forecourt key`.

use std::collections::HashMap;

use forecourt_accounts::{ApiKey, IssuedKey, KeyId, issue_key};
use forecourt_dealership::Database;
use forecourt_kernel::{BusinessId, Clock, Scope, ScopeSet, Timestamp};
use ipnet::IpNet;
use serde::{Serialize, Serializer};

use super::{CommandError, business_of_tag};
use crate::{
    cli::{Format, KeyArgs, KeyCommand},
    output,
    system::{SystemClock, SystemRandom},
    transaction::transact,
    wiring,
};

/// Runs a command on keys.
///
/// # Errors
/// [`CommandError`].
pub(super) async fn run(database: &dyn Database, command: KeyCommand) -> Result<(), CommandError> {
    match command {
        KeyCommand::Create(args) => create(database, args).await,
        KeyCommand::List { business, format } => list(database, business.as_deref(), format).await,
        KeyCommand::Rotate { key, overlap, format } => rotate(database, &key, overlap, format).await,
        KeyCommand::Revoke { key, format } => revoke(database, &key, format).await,
        KeyCommand::Scopes { format } => scopes(format),
    }
}

/// A new key, with its token.
#[derive(Serialize)]
struct NewKeyDocument<'a> {
    key_id: &'a str,
    token: String,
    scopes: ScopeSet,
    expires: Option<Timestamp>,
    /// The addresses that it is bound to, if any.
    #[serde(skip_serializing_if = "<[IpNet]>::is_empty", serialize_with = "as_texts")]
    from: &'a [IpNet],
}

fn as_texts<S: Serializer>(networks: &[IpNet], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(networks.iter().map(ToString::to_string))
}

async fn create(database: &dyn Database, args: KeyArgs) -> Result<(), CommandError> {
    let KeyArgs {
        business,
        // The absence of `business` has the same meaning.
        no_business: _,
        scopes,
        expires,
        from,
        format,
    } = args;
    let issued = transact(database, async |session| {
        let business = match &business {
            Some(tag) => Some(business_of_tag(session, tag).await?.id),
            None => None,
        };
        let now = SystemClock.now();
        let issued = issue_key(business, scopes, from.clone(), expires, now, &SystemRandom);
        session.insert_key(&issued.key).await?;
        Ok::<_, CommandError>(issued)
    })
    .await?;
    show(&issued, format)
}

/// Prints a new key with its token.
fn show(issued: &IssuedKey, format: Format) -> Result<(), CommandError> {
    let IssuedKey { key, token } = issued;
    if format.json {
        return Ok(output::json(&NewKeyDocument {
            key_id: key.id.as_str(),
            token: token.reveal(),
            scopes: key.scopes,
            expires: key.expires,
            from: &key.from,
        })?);
    }
    output::line(format_args!("key:     {}", key.id))?;
    output::line(format_args!("token:   {}", token.reveal()))?;
    output::line(format_args!("scopes:  {}", listed(key.scopes)))?;
    output::line(format_args!("expires: {}", moment(key.expires)))?;
    if !key.from.is_empty() {
        output::line(format_args!("from:    {}", networks(&key.from)))?;
    }
    Ok(output::line("The token is not shown again.")?)
}

async fn rotate(database: &dyn Database, id: &KeyId, overlap: u32, format: Format) -> Result<(), CommandError> {
    let now = SystemClock.now();
    let (successor, until) = transact(database, async |session| {
        let stored = session.credential(id).await?;
        let old = stored.ok_or_else(|| CommandError::NoKey(id.clone()))?.key;
        let overlap = now.plus_seconds(i64::from(overlap) * 3600);
        let until = old.expires.map_or(overlap, |expires| expires.min(overlap));
        let is_good = state_of(&old, now) == ACTIVE;
        if !is_good || !session.expire_key(id, until).await? {
            return Err(CommandError::DeadKey(id.clone()));
        }
        let successor = old.successor(now, &SystemRandom);
        session.insert_key(&successor.key).await?;
        Ok((successor, until))
    })
    .await?;
    show(&successor, format)?;
    if format.json {
        return Ok(());
    }
    Ok(output::line(format_args!(
        "{id} is accepted until {}.",
        minute_of(until)
    ))?)
}

/// A key, without its token, which is not stored.
#[derive(Serialize)]
struct KeyDocument<'a> {
    key_id: &'a str,
    business: Option<&'a str>,
    business_id: Option<BusinessId>,
    scopes: ScopeSet,
    created: Timestamp,
    expires: Option<Timestamp>,
    revoked: Option<Timestamp>,
    /// The hour in which it was last used.
    last_used: Option<Timestamp>,
    /// The addresses that it is bound to; empty if it is not.
    #[serde(serialize_with = "as_texts")]
    from: &'a [IpNet],
}

async fn list(database: &dyn Database, tag: Option<&str>, format: Format) -> Result<(), CommandError> {
    let (keys, tags) = transact(database, async |session| {
        let business = match tag {
            Some(tag) => Some(business_of_tag(session, tag).await?.id),
            None => None,
        };
        let businesses = session.businesses().await?.into_iter();
        let tags: HashMap<_, _> = businesses.map(|business| (business.id, business.tag)).collect();
        Ok::<_, CommandError>((session.keys(business).await?, tags))
    })
    .await?;
    let tag_of = |key: &ApiKey| key.business.and_then(|id| tags.get(&id)).map(String::as_str);
    if format.json {
        let documents: Vec<_> = keys
            .iter()
            .map(|key| KeyDocument {
                key_id: key.id.as_str(),
                business: tag_of(key),
                business_id: key.business,
                scopes: key.scopes,
                created: key.created,
                expires: key.expires,
                revoked: key.revoked,
                last_used: key.last_used,
                from: &key.from,
            })
            .collect();
        return Ok(output::json(&documents)?);
    }
    let now = SystemClock.now();
    let rows: Vec<_> = keys
        .iter()
        .map(|key| {
            let owner = match (key.business, tag_of(key)) {
                (_, Some(tag)) => tag.to_owned(),
                (Some(id), None) => format!("(deleted: {id})"),
                (None, None) => "-".to_owned(),
            };
            [
                key.id.to_string(),
                owner,
                state_of(key, now).to_owned(),
                moment(key.expires),
                key.last_used.map_or_else(|| "never".to_owned(), minute_of),
                networks(&key.from),
                listed(key.scopes),
            ]
        })
        .collect();
    let head = [
        "KEY",
        "BUSINESS",
        "STATE",
        "EXPIRES",
        "LAST USED (UTC)",
        "FROM",
        "SCOPES",
    ];
    Ok(output::table(head, &rows)?)
}

/// A scope, and the operations that need it.
#[derive(Serialize)]
struct ScopeDocument {
    scope: &'static str,
    operations: Vec<OperationDocument>,
}

#[derive(Serialize)]
struct OperationDocument {
    method: String,
    path: String,
}

/// Lists every scope, without a database.
///
/// # Errors
/// [`CommandError`].
pub(super) fn scopes(format: Format) -> Result<(), CommandError> {
    let operations = wiring::operations()?;
    let document = |scope: &Scope| ScopeDocument {
        scope: scope.as_str(),
        operations: operations
            .iter()
            .filter(|operation| operation.scope == *scope)
            .map(|operation| OperationDocument {
                method: operation.method.clone(),
                path: operation.path.clone(),
            })
            .collect(),
    };
    let documents: Vec<_> = Scope::ALL.iter().map(document).collect();
    if format.json {
        return Ok(output::json(&documents)?);
    }
    let mut rows = Vec::new();
    for ScopeDocument { scope, operations } in &documents {
        let mut operations = operations
            .iter()
            .map(|OperationDocument { method, path }| format!("{method} {path}"));
        rows.push([(*scope).to_owned(), operations.next().unwrap_or_else(|| "-".to_owned())]);
        rows.extend(operations.map(|operation| [String::new(), operation]));
    }
    Ok(output::table(["SCOPE", "OPERATIONS"], &rows)?)
}

/// A revoked key, with the time of its revocation.
#[derive(Serialize)]
struct RevokedDocument<'a> {
    key_id: &'a str,
    revoked: Option<Timestamp>,
}

async fn revoke(database: &dyn Database, id: &KeyId, format: Format) -> Result<(), CommandError> {
    let now = SystemClock.now();
    let revoked = transact(database, async |session| {
        if !session.revoke_key(id, now).await? {
            return Err(CommandError::NoKey(id.clone()));
        }
        // It may have been revoked before, and that time remains.
        Ok(session.credential(id).await?.and_then(|stored| stored.key.revoked))
    })
    .await?;
    if format.json {
        return Ok(output::json(&RevokedDocument {
            key_id: id.as_str(),
            revoked,
        })?);
    }
    Ok(output::line(format_args!(
        "revoked: {id}; every server refuses it within 5 seconds"
    ))?)
}

const ACTIVE: &str = "active";

fn state_of(key: &ApiKey, now: Timestamp) -> &'static str {
    match key {
        ApiKey { revoked: Some(_), .. } => "revoked",
        ApiKey {
            expires: Some(expires), ..
        } if *expires <= now => "expired",
        _ => ACTIVE,
    }
}

fn moment(moment: Option<Timestamp>) -> String {
    moment.map_or_else(|| "never".to_owned(), |moment| moment.date().to_string())
}

/// Formats a moment for people, to the minute.
pub(super) fn minute_of(moment: Timestamp) -> String {
    let minute = moment.epoch_seconds().div_euclid(60);
    let (hour, minute) = (minute.div_euclid(60).rem_euclid(24), minute.rem_euclid(60));
    format!("{} {hour:02}:{minute:02}", moment.date())
}

fn networks(networks: &[IpNet]) -> String {
    if networks.is_empty() {
        return "any".to_owned();
    }
    let texts: Vec<_> = networks.iter().map(ToString::to_string).collect();
    texts.join(",")
}

fn listed(scopes: ScopeSet) -> String {
    if scopes.is_empty() {
        "none".to_owned()
    } else if scopes == ScopeSet::all() {
        "all".to_owned()
    } else {
        Vec::from(scopes).join(",")
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{
        cli::{Cli, Command},
        memory::MemoryDatabase,
    };

    async fn key(database: &MemoryDatabase, line: &str) -> Result<(), CommandError> {
        let cli = Cli::try_parse_from(format!("forecourt key {line}").split(' ')).unwrap();
        let Command::Key(command) = cli.command else {
            panic!("another command")
        };
        run(database, command).await
    }

    #[tokio::test]
    async fn a_key_is_stored_with_what_was_asked_for_and_can_be_revoked() {
        let database = MemoryDatabase::default();
        key(&database, "create --no-business --scopes leads:read --expires 17")
            .await
            .unwrap();
        let stored = database.state().accounts.keys()[0].clone();
        assert_eq!(
            (stored.business, stored.expires),
            (None, Some(Timestamp::from_epoch_seconds(17)))
        );
        assert_eq!(listed(stored.scopes), "leads:read");
        assert_eq!(state_of(&stored, Timestamp::from_epoch_seconds(17)), "expired");
        key(&database, &format!("revoke {}", stored.id)).await.unwrap();
        let first = database.state().accounts.keys()[0].revoked;
        assert!(first.is_some());
        key(&database, &format!("revoke {} --json", stored.id)).await.unwrap();
        assert_eq!(database.state().accounts.keys()[0].revoked, first);
        key(&database, "list").await.unwrap();
    }

    #[tokio::test]
    async fn a_key_is_followed_by_one_like_it() {
        let database = MemoryDatabase::default();
        key(&database, "create --no-business --scopes leads:read --from 192.0.2.7")
            .await
            .unwrap();
        let id = database.state().accounts.keys()[0].id.clone();
        let before = SystemClock.now();
        key(&database, &format!("rotate {id} --overlap 2")).await.unwrap();
        let [old, new] = database.state().accounts.keys().to_vec().try_into().unwrap();
        assert!(old.expires.unwrap() >= before.plus_seconds(7_200));
        assert!(old.expires.unwrap() <= SystemClock.now().plus_seconds(7_200));
        assert_eq!(
            (new.expires, networks(&new.from), listed(new.scopes)),
            (None, "192.0.2.7/32".to_owned(), "leads:read".to_owned())
        );
        // An earlier expiry remains.
        let expires = old.expires;
        key(&database, &format!("rotate {id} --overlap 3")).await.unwrap();
        assert_eq!(database.state().accounts.keys()[0].expires, expires);
        assert_eq!(database.state().accounts.keys()[2].expires, expires);
        key(&database, &format!("revoke {id}")).await.unwrap();
        let error = key(&database, &format!("rotate {id} --overlap 1")).await.unwrap_err();
        assert!(matches!(error, CommandError::DeadKey(_)), "{error}");
        let error = key(&database, "rotate fck_0123456789abcdef --overlap 1")
            .await
            .unwrap_err();
        assert!(matches!(error, CommandError::NoKey(_)), "{error}");
    }

    #[test]
    fn a_moment_is_shown_to_the_minute() {
        assert_eq!(
            minute_of(Timestamp::from_epoch_seconds(1_790_000_000)),
            "2026-09-21 14:13"
        );
    }

    #[tokio::test]
    async fn what_is_not_there_is_named() {
        let database = MemoryDatabase::default();
        let error = key(&database, "create --business acme --scopes all").await.unwrap_err();
        assert!(matches!(error, CommandError::NoBusiness(tag) if tag == "acme"));
        let error = key(&database, "revoke fck_0123456789abcdef").await.unwrap_err();
        assert!(
            error.to_string().starts_with("there is no key fck_0123456789abcdef"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_conflict_makes_one_key() {
        let database = MemoryDatabase::default();
        database.refuse_commits(1);
        key(&database, "create --no-business --scopes all").await.unwrap();
        let mut session = forecourt_dealership::Database::begin(&database).await.unwrap();
        assert_eq!(session.keys(None).await.unwrap().len(), 1);
    }
}
