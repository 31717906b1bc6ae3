//! `forecourt health`.

use super::CommandError;
use crate::{cli::ServerUrl, output, service_manager::reachable, settings::Settings, wiring};

/// Asks a server if it is ready: the one at `url`, or the one of the settings.
///
/// # Errors
/// [`CommandError::NotReady`].
pub(super) async fn check(settings: &Settings, url: Option<ServerUrl>) -> Result<(), CommandError> {
    let ServerUrl(url) = url.unwrap_or_else(|| ServerUrl(format!("http://{}", reachable(settings.bind))));
    let answered = wiring::readiness(&url)?.get("/readyz").await;
    match answered {
        Ok(answer) if answer.status == 200 => Ok(output::line("ready")?),
        Ok(answer) => Err(CommandError::NotReady(format!("/readyz answers {}", answer.status))),
        Err(error) => Err(CommandError::NotReady(output::chain(&error))),
    }
}
