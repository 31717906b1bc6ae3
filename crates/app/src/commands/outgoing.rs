//! `forecourt outgoing`.

use forecourt_kernel::Timestamp;
use forecourt_storage::{Discarded, Outgoing, Storage};
use serde::Serialize;

use super::{CommandError, key::minute_of};
use crate::{
    cli::{Format, OutgoingCommand},
    output,
    settings::Settings,
    system::SystemClock,
    wiring,
};

#[derive(Serialize)]
struct OutgoingDocument {
    outgoing: &'static str,
    since: Option<Timestamp>,
    #[serde(flatten)]
    discarded: Option<DiscardedDocument>,
}

#[derive(Serialize)]
struct DiscardedDocument {
    discarded_deliveries: u64,
    discarded_mails: u64,
}

/// Moves or shows the switch.
///
/// # Errors
/// [`CommandError`].
pub(super) async fn run(settings: &Settings, command: OutgoingCommand) -> Result<(), CommandError> {
    let storage = wiring::open_migrated(settings).await?;
    match command {
        OutgoingCommand::Hold { format } => show(storage.set_outgoing(true, &SystemClock).await?, None, format),
        OutgoingCommand::Release { discard, format } => {
            let discarded = if discard {
                Some(discard_all(&storage).await?)
            } else {
                None
            };
            show(storage.set_outgoing(false, &SystemClock).await?, discarded, format)
        }
        OutgoingCommand::Status { format } => show(storage.outgoing().await?, None, format),
    }
}

/// Drops everything that waits. Where nothing is held, what waits is about to leave, perhaps before an operator has looked at it.
async fn discard_all(storage: &Storage) -> Result<Discarded, CommandError> {
    if !storage.outgoing().await?.is_held {
        return Err(CommandError::NotHeld);
    }
    let mut all = Discarded::default();
    loop {
        let Discarded { deliveries, mails } = storage.discard_waiting().await?;
        if deliveries == 0 && mails == 0 {
            return Ok(all);
        }
        all.deliveries += deliveries;
        all.mails += mails;
    }
}

fn show(outgoing: Outgoing, discarded: Option<Discarded>, format: Format) -> Result<(), CommandError> {
    if format.json {
        let discarded = discarded.map(|discarded| DiscardedDocument {
            discarded_deliveries: discarded.deliveries,
            discarded_mails: discarded.mails,
        });
        let document = OutgoingDocument {
            outgoing: outgoing.name(),
            since: outgoing.since,
            discarded,
        };
        return Ok(output::json(&document)?);
    }
    if let Some(Discarded { deliveries, mails }) = discarded {
        output::line(format_args!("discarded: {deliveries} deliveries, {mails} mails"))?;
    }
    let since = outgoing.since.map(|since| format!(" since {}", minute_of(since)));
    Ok(output::line(format_args!(
        "outgoing: {}{}",
        outgoing.name(),
        since.unwrap_or_default()
    ))?)
}
