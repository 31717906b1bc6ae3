//! Removes mails that were written as files a week ago.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use forecourt_kernel::{BoxError, Clock};
use forecourt_mail::remove_spooled;
use tokio::task::spawn_blocking;

use super::{
    job::{Job, Ports, Round},
    purge_pause::PurgePause,
};
use crate::shutdown::Shutdown;

/// The time in seconds for which a mail is kept.
const KEPT: i64 = 7 * 86_400;

#[derive(Clone)]
pub(super) struct MailSpool {
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    purge_pause: PurgePause,
}

impl MailSpool {
    pub(super) fn new(ports: &Ports) -> Self {
        Self {
            folder: ports.mail_folder.clone(),
            clock: Arc::clone(&ports.clock),
            purge_pause: ports.purge_pause,
        }
    }
}

impl Job for MailSpool {
    const NAME: &'static str = "mail_spool";
    const REST: Duration = Duration::from_secs(3_600);

    async fn round(&mut self, _: &Shutdown) -> Result<Round, BoxError> {
        if self.purge_pause.is_paused() {
            return Ok(Round::Done);
        }
        let second = self.clock.now().plus_seconds(-KEPT).epoch_seconds();
        let before = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(second).unwrap_or(0));
        let folder = self.folder.clone();
        let removed = spawn_blocking(move || remove_spooled(&folder, before)).await??;
        if removed > 0 {
            tracing::info!(removed, "mails in the spool that are older than 7 days were removed");
        }
        Ok(Round::Done)
    }
}
