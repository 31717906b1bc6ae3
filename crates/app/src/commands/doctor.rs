//! `forecourt doctor`.

use serde::Serialize;

use super::CommandError;
use crate::{
    cli::DoctorArgs,
    doctor::{Choice, Context, MadeDocument, Status},
    output,
    settings::Settings,
};

#[derive(Serialize)]
struct DoctorDocument {
    ok: bool,
    checks: Vec<MadeDocument>,
}

/// Makes the checks, with the settings or the reason why they cannot be read.
///
/// # Errors
/// [`CommandError::NotInOrder`] if one fails, [`CommandError::Misused`] for a check that there is not.
pub(super) async fn run(settings: Result<Settings, String>, args: DoctorArgs) -> Result<(), CommandError> {
    let DoctorArgs {
        strict,
        only,
        skip,
        mail_to,
        no_network,
        format,
    } = args;
    let choice = Choice { only, skip };
    if let Some(unknown) = choice.unknown() {
        return Err(CommandError::Misused(format!(
            "there is no check {unknown:?}; `forecourt doctor` shows all"
        )));
    }
    let context = Context::new(settings, None, no_network, mail_to).await;
    let made = context.make_all(&choice).await;
    let is_bad = |status: Status| status == Status::Fail || strict && status.is_bad();
    let ok = !made.iter().any(|made| is_bad(made.finding.status));
    if format.json {
        let checks = made.iter().map(|made| made.document()).collect();
        output::json(&DoctorDocument { ok, checks })?;
    } else {
        for made in &made {
            output::line(made.lines())?;
        }
    }
    if ok { Ok(()) } else { Err(CommandError::NotInOrder) }
}
