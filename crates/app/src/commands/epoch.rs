//! `forecourt epoch`.

use serde::Serialize;

use super::CommandError;
use crate::{cli::Format, output, settings::Settings, wiring};

#[derive(Serialize)]
struct EpochDocument {
    epoch: i64,
}

/// Begins a new epoch.
///
/// # Errors
/// [`CommandError::Wiring`], [`CommandError::Output`].
pub(super) async fn raise(settings: &Settings, format: Format) -> Result<(), CommandError> {
    let storage = wiring::open_migrated(settings).await?;
    let epoch = wiring::raise_epoch(&storage).await?.number();
    if format.json {
        return Ok(output::json(&EpochDocument { epoch })?);
    }
    Ok(output::line(format_args!("epoch: {epoch}"))?)
}
