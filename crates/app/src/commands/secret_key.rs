//! `forecourt secret-key`.

use std::{
    collections::HashMap,
    io::{self, IsTerminal as _},
    time::Duration,
};

use forecourt_dealership::{Database, DeletionKind, OpenDeletion};
use forecourt_kernel::{BusinessId, Clock as _};
use forecourt_storage::{Forgotten, Keyring, Resealed, Storage, Unlocked};
use forecourt_webhooks::{EndpointKey, disable_damaged};
use serde::Serialize;
use tokio::time::sleep;

use super::CommandError;
use crate::{
    cli::{Format, SecretKeyCommand},
    output,
    report::Report,
    settings::Settings,
    system::{SystemClock, SystemRandom},
    transaction::transact,
    wiring,
};

/// The time within which every running server encrypts with the new key.
const FOLLOWED: Duration = Duration::from_secs(6);
/// The word that confirms on a terminal.
const CONFIRMATION: &str = "forget";

/// Changes the secret key of the database, or goes on without a lost one.
///
/// # Errors
/// [`CommandError`].
pub(super) async fn run(settings: &Settings, command: SecretKeyCommand) -> Result<(), CommandError> {
    let storage = wiring::open_migrated(settings).await?;
    match command {
        SecretKeyCommand::Rotate { format } => rotate(settings, &storage, format).await,
        SecretKeyCommand::Forget { yes, format } => forget(settings, &storage, yes, format).await,
    }
}

#[derive(Serialize)]
struct RotatedDocument {
    key: String,
    webhooks: u64,
    answers: u64,
    erasures: u64,
    people: u64,
    unreadable: u64,
}

async fn rotate(settings: &Settings, storage: &Storage, format: Format) -> Result<(), CommandError> {
    // The keys of the database, before a new one is made.
    wiring::check_key(storage, settings.working_keys(&SystemRandom)?).await?;
    let keyring = wiring::check_key(storage, settings.rotated_keys(&SystemRandom)?).await?;
    let key = keyring.key_ids().into_iter().next().unwrap_or_default();
    let running = storage.running_servers(&SystemClock).await?;
    let lacking: Vec<String> = running
        .iter()
        .filter(|running| !Report::read(&running.server.report).keys.contains(&key))
        .map(|running| format!("{} (process {})", running.server.host, running.server.pid))
        .collect();
    if !lacking.is_empty() {
        return Err(CommandError::LackNewKey(lacking.join(", ")));
    }
    storage.begin_rotation(&keyring, &SystemRandom).await?;
    if !running.is_empty() {
        sleep(FOLLOWED).await;
    }
    let mut resealed = Resealed::default();
    loop {
        let pass = storage.reseal(&keyring, &SystemRandom).await?;
        resealed.add(&pass);
        // A transaction may have been under way when its part was looked at.
        if pass.total() == 0 {
            break;
        }
    }
    storage.end_rotation().await?;
    settings.remove_previous_key()?;
    let Resealed {
        webhooks,
        answers,
        erasures,
        people,
        unreadable,
    } = resealed;
    if format.json {
        return Ok(output::json(&RotatedDocument {
            key,
            webhooks,
            answers,
            erasures,
            people,
            unreadable,
        })?);
    }
    output::line(format_args!(
        "encrypted with the new key {key}: {webhooks} secrets of webhooks, {answers} stored answers, {} other entries",
        erasures + people
    ))?;
    if unreadable > 0 {
        output::line(format_args!("{unreadable} entries can be read with neither key"))?;
    }
    Ok(output::line("The key before is no longer needed.")?)
}

#[derive(Serialize)]
struct ForgottenDocument<'a> {
    answers: u64,
    webhooks: Vec<Lost<'a>>,
    erasures: Vec<Lost<'a>>,
    people: Vec<Lost<'a>>,
    blocks: u64,
    enquiry_mails: u64,
}

/// A record with its business.
#[derive(Serialize)]
struct Lost<'a> {
    business: &'a str,
    id: i64,
}

async fn forget(settings: &Settings, storage: &Storage, yes: bool, format: Format) -> Result<(), CommandError> {
    let keys = settings.working_keys(&SystemRandom)?;
    let key = keys.current.clone();
    if let Unlocked::Keys(_) = storage.unlock(keys.current, keys.previous, &SystemRandom).await? {
        return Err(CommandError::KeyNotLost);
    }
    if !storage.running_servers(&SystemClock).await?.is_empty() {
        return Err(CommandError::ServersRun);
    }
    let lost = storage.forget_key(&key, false, &SystemRandom).await?;
    let database = wiring::database_of(settings, storage, Some(Keyring::from(key.clone())));
    let lost = without_deleted(&*database, lost).await?;
    let tags = tags(&*database).await?;
    if !format.json {
        describe(&lost, &tags)?;
    }
    if !yes {
        confirm()?;
    }
    storage.forget_key(&key, true, &SystemRandom).await?;
    let keyring = wiring::check_key(storage, settings.working_keys(&SystemRandom)?).await?;
    let database = wiring::database_of(settings, storage, Some(keyring));
    let now = SystemClock.now();
    for &(business, webhook) in &lost.webhooks {
        let endpoint = EndpointKey { business, webhook };
        transact::<_, CommandError>(&*database, async |session| {
            Ok(disable_damaged(session, endpoint, now).await?)
        })
        .await?;
    }
    for &(business, contact) in &lost.erasures {
        let deletion = OpenDeletion {
            business,
            kind: DeletionKind::Contact,
            record: contact.get(),
        };
        while transact::<_, CommandError>(&*database, async |session| {
            Ok(session.continue_deletion(deletion).await?)
        })
        .await?
        {}
    }
    if format.json {
        return Ok(output::json(&document(&lost, &tags))?);
    }
    Ok(output::line(
        "The lost key is forgotten; the database is used with the present one.",
    )?)
}

/// Leaves out webhooks that are deleted, whose secrets are not needed.
async fn without_deleted(database: &dyn Database, mut lost: Forgotten) -> Result<Forgotten, CommandError> {
    let mut present = Vec::new();
    for (business, webhook) in lost.webhooks {
        let endpoint = EndpointKey { business, webhook };
        let health = transact::<_, CommandError>(database, async |session| Ok(session.lock_health(endpoint).await?));
        if health.await?.is_some() {
            present.push((business, webhook));
        }
    }
    lost.webhooks = present;
    Ok(lost)
}

async fn tags(database: &dyn Database) -> Result<HashMap<BusinessId, String>, CommandError> {
    let all = transact::<_, CommandError>(database, async |session| Ok(session.businesses().await?)).await?;
    Ok(all.into_iter().map(|business| (business.id, business.tag)).collect())
}

fn tag_of(tags: &HashMap<BusinessId, String>, business: BusinessId) -> &str {
    tags.get(&business).map_or("(deleted)", String::as_str)
}

fn document<'a>(lost: &Forgotten, tags: &'a HashMap<BusinessId, String>) -> ForgottenDocument<'a> {
    let one = |business, id| Lost {
        business: tag_of(tags, business),
        id,
    };
    ForgottenDocument {
        answers: lost.answers,
        webhooks: lost
            .webhooks
            .iter()
            .map(|(business, id)| one(*business, id.get()))
            .collect(),
        erasures: lost
            .erasures
            .iter()
            .map(|(business, id)| one(*business, id.get()))
            .collect(),
        people: lost
            .people
            .iter()
            .map(|(business, id)| one(*business, id.get()))
            .collect(),
        blocks: lost.blocks,
        enquiry_mails: lost.enquiry_mails,
    }
}

fn describe(lost: &Forgotten, tags: &HashMap<BusinessId, String>) -> Result<(), CommandError> {
    output::line("Without the key that this database was used with, this is lost:")?;
    output::line(format_args!(
        "  {} stored answers: retries of those requests are carried out once more",
        lost.answers
    ))?;
    for (business, id) in &lost.webhooks {
        output::line(format_args!(
            "  webhook {id} of {}: disabled until its secret is rotated",
            tag_of(tags, *business)
        ))?;
    }
    for (business, id) in &lost.erasures {
        output::line(format_args!(
            "  the erasure of contact {id} of {}: finished by its number; names that only the lost text had may remain elsewhere",
            tag_of(tags, *business)
        ))?;
    }
    for (business, id) in &lost.people {
        output::line(format_args!(
            "  the names of the erased contact {id} of {}: spools are no longer searched for them",
            tag_of(tags, *business)
        ))?;
    }
    output::line(format_args!(
        "  {} blocked addresses and numbers: they are no longer known to be left alone",
        lost.blocks
    ))?;
    Ok(output::line(format_args!(
        "  {} imported mails: importing them again makes leads again",
        lost.enquiry_mails
    ))?)
}

fn confirm() -> Result<(), CommandError> {
    if !io::stdin().is_terminal() {
        return Err(CommandError::UnconfirmedForgetting);
    }
    output::notice(&format!("Type {CONFIRMATION} to go on:"));
    let mut typed = String::new();
    io::stdin().read_line(&mut typed).map_err(CommandError::Start)?;
    if typed.trim() == CONFIRMATION {
        Ok(())
    } else {
        Err(CommandError::Mistyped(CONFIRMATION.to_owned()))
    }
}
