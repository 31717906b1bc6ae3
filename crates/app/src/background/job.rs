//! What a job is, and what it works with.

use std::{path::PathBuf, sync::Arc, time::Duration};

use forecourt_accounts::KeyUses;
use forecourt_dealership::Database;
use forecourt_files::FileStore;
use forecourt_kernel::{BoxError, Clock, Mailer};
use forecourt_leads::Analyst;

use super::PurgePause;
use crate::shutdown::Shutdown;

/// What a round left behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Round {
    /// Nothing that is due.
    Done,
    /// Perhaps more of the same.
    More,
}

/// A kind of work that comes up again and again. Clones work on the same things.
pub(super) trait Job: Clone + 'static {
    /// What logs and metrics call it.
    const NAME: &'static str;
    /// How long it rests when nothing is left to do.
    const REST: Duration;

    /// Does what is due, up to a bound. Ends early if `shutdown` was requested, at a point where nothing is half done.
    async fn round(&mut self, shutdown: &Shutdown) -> Result<Round, BoxError>;
}

/// What jobs work with.
#[derive(Clone)]
pub(crate) struct Ports {
    /// Where everything is kept.
    pub(crate) database: Arc<dyn Database>,
    /// The source of the current time.
    pub(crate) clock: Arc<dyn Clock>,
    /// Sends mails.
    pub(crate) mailer: Arc<dyn Mailer>,
    /// Keeps the content of files.
    pub(crate) files: Arc<dyn FileStore>,
    /// Which installation this is, as the database says.
    pub(crate) installation: Arc<str>,
    /// Whether anything may be forgotten for its age.
    pub(crate) purge_pause: PurgePause,
    /// Reads the conversations of leads; `None` if none are to be read.
    pub(crate) analyst: Option<Arc<dyn Analyst>>,
    /// The keys that were seen in use.
    pub(crate) key_uses: Arc<KeyUses>,
    /// Where mails lie that were written as files.
    pub(crate) mail_folder: PathBuf,
}
