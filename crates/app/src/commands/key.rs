//! `forecourt key`.

use std::collections::HashMap;

use forecourt_accounts::{ApiKey, IssuedKey, KeyId, issue_key};
use forecourt_dealership::Database;
use forecourt_kernel::{BusinessId, Clock, Scope, ScopeSet, Timestamp};
use serde::Serialize;

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
}

async fn create(database: &dyn Database, args: KeyArgs) -> Result<(), CommandError> {
    let KeyArgs {
        business,
        // Said by the absence of the other.
        no_business: _,
        scopes,
        expires,
        format,
    } = args;
    let issued = transact(database, async |session| {
        let business = match &business {
            Some(tag) => Some(business_of_tag(session, tag).await?.id),
            None => None,
        };
        let issued = issue_key(business, scopes, expires, SystemClock.now(), &SystemRandom);
        session.insert_key(&issued.key).await?;
        Ok::<_, CommandError>(issued)
    })
    .await?;
    let IssuedKey { key, token } = issued;
    if format.json {
        return Ok(output::json(&NewKeyDocument {
            key_id: key.id.as_str(),
            token: token.reveal(),
            scopes,
            expires,
        })?);
    }
    output::line(format_args!("key:     {}", key.id))?;
    output::line(format_args!("token:   {}", token.reveal()))?;
    output::line(format_args!("scopes:  {}", listed(scopes)))?;
    output::line(format_args!("expires: {}", moment(expires)))?;
    Ok(output::line("The token is not shown again.")?)
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
                state_of(key, now),
                moment(key.expires),
                listed(key.scopes),
            ]
        })
        .collect();
    Ok(output::table(["KEY", "BUSINESS", "STATE", "EXPIRES", "SCOPES"], &rows)?)
}

/// A scope, and what needs it.
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

/// Lists every scope; that needs no database.
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

/// When a key was revoked.
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
        // It may have been revoked before, and that stands.
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

fn state_of(key: &ApiKey, now: Timestamp) -> String {
    let state = match key {
        ApiKey { revoked: Some(_), .. } => "revoked",
        ApiKey {
            expires: Some(expires), ..
        } if *expires <= now => "expired",
        _ => "active",
    };
    state.to_owned()
}

fn moment(moment: Option<Timestamp>) -> String {
    moment.map_or_else(|| "never".to_owned(), |moment| moment.date().to_string())
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
