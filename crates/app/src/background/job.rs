//! The trait of jobs, and the ports that they use.

use std::{path::PathBuf, sync::Arc, time::Duration};

use forecourt_accounts::KeyUses;
use forecourt_dealership::Database;
use forecourt_files::FileStore;
use forecourt_kernel::{BoxError, Clock, Mailer};
use forecourt_leads::Analyst;
use forecourt_rest::ProxyWatch;
use forecourt_storage::Keyring;

use super::PurgePause;
use crate::shutdown::Shutdown;

/// The outcome of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Round {
    /// No due work is left.
    Done,
    /// More work of the kind may be due.
    More,
}

/// A kind of recurring work. Clones share their state.
pub(super) trait Job: Clone + 'static {
    /// Its name in logs and metrics.
    const NAME: &'static str;
    /// The time for which it rests when nothing is left to do.
    const REST: Duration;

    /// Processes due work, up to a bound. Ends early if `shutdown` was requested, at a point where nothing is half done.
    async fn round(&mut self, shutdown: &Shutdown) -> Result<Round, BoxError>;
}

/// The ports that jobs use.
#[derive(Clone)]
pub(crate) struct Ports {
    /// The database.
    pub(crate) database: Arc<dyn Database>,
    /// The source of the current time.
    pub(crate) clock: Arc<dyn Clock>,
    /// Sends mails.
    pub(crate) mailer: Arc<dyn Mailer>,
    /// Stores the content of files.
    pub(crate) files: Arc<dyn FileStore>,
    /// The installation's identifier, from the database.
    pub(crate) installation: Arc<str>,
    /// Decides whether old data may be purged.
    pub(crate) purge_pause: PurgePause,
    /// Reads the conversations of leads; `None` if none are read.
    pub(crate) analyst: Option<Arc<dyn Analyst>>,
    /// The keys that were seen in use.
    pub(crate) key_uses: Arc<KeyUses>,
    /// The secret keys.
    pub(crate) keyring: Keyring,
    /// Notes proxies that are not listed.
    pub(crate) proxies: Arc<ProxyWatch>,
    /// The operator's address, to which mails are sent even while others are held.
    pub(crate) operator: Option<Arc<str>>,
    /// The folder of mails that are written as files.
    pub(crate) mail_folder: PathBuf,
}
