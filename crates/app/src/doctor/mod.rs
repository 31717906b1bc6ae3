//! `forecourt doctor`: checks of the settings, the database and everything around the server.
//!
//! A check is a function from the [`Context`] to a [`Finding`], declared with its id in [`CHECKS`]. Checks read the same settings
//! as a server. They change nothing, but for a probe in the file store. Nothing that they say holds a secret.

mod database;
mod dns;
mod machine;
mod services;
mod settings;
#[cfg(test)]
mod tests;
mod work;

use std::time::Duration;

use forecourt_storage::{RunningServer, Storage};
use futures_util::future::{BoxFuture, join_all};
use serde::Serialize;
use tokio::time::{Instant, timeout};

use crate::{output::chain, settings::Settings, system::SystemClock};

/// The maximum time of a check, and of opening the database for all of them.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The guide to what the checks find.
const HELP: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/operations.md#doctor");

/// The outcome of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// All is well.
    Ok,
    /// Something should be changed.
    Warn,
    /// Something must be changed.
    Fail,
    /// It was not looked at.
    Skip,
}

impl Status {
    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Skip => "skip",
        }
    }

    /// Returns true if something should be done.
    pub(crate) const fn is_bad(self) -> bool {
        matches!(self, Self::Warn | Self::Fail)
    }
}

/// The result of a check: what was found, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Finding {
    pub(crate) status: Status,
    pub(crate) found: String,
    /// A command or a setting to paste, where something is to be done.
    pub(crate) remedy: Option<String>,
}

impl Finding {
    fn ok(found: impl Into<String>) -> Self {
        Self::new(Status::Ok, found, None)
    }

    fn skip(found: impl Into<String>) -> Self {
        Self::new(Status::Skip, found, None)
    }

    fn warn(found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Status::Warn, found, Some(remedy.into()))
    }

    fn fail(found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Status::Fail, found, Some(remedy.into()))
    }

    fn new(status: Status, found: impl Into<String>, remedy: Option<String>) -> Self {
        Self {
            status,
            found: found.into(),
            remedy,
        }
    }
}

/// A check's finding, or the reason why there is none.
type Checked = Result<Finding, Unchecked>;

/// The reason why something was not looked at, in words without secrets.
struct Unchecked(String);

impl<E: std::error::Error> From<E> for Unchecked {
    fn from(error: E) -> Self {
        Self(chain(&error))
    }
}

/// A check.
pub(crate) struct Check {
    /// Its stable name.
    pub(crate) id: &'static str,
    /// Servers make it daily.
    is_daily: bool,
    needs: Need,
    /// The reason why its finding matters.
    pub(crate) why: &'static str,
    run: for<'a> fn(&'a Context) -> BoxFuture<'a, Checked>,
}

/// A precondition of a check.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Nothing,
    /// The database answers, and has the schema of this version.
    Schema,
    /// The database answers.
    Database,
    /// Connections to other services are allowed.
    Network,
}

macro_rules! checks {
    ($($id:literal $daily:literal $needs:ident $module:ident::$function:ident: $why:literal;)+) => {
        /// All checks, in the order of the output.
        pub(crate) const CHECKS: &[Check] = &[$(Check {
            id: $id,
            is_daily: $daily,
            needs: Need::$needs,
            why: $why,
            run: |context| Box::pin($module::$function(context)),
        },)+];
    };
}

checks! {
    "settings.read" false Nothing settings::read: "A server does not start with settings that it cannot read.";
    "settings.unused" false Nothing settings::unused: "A setting that is passed over has no effect, whatever its name promises.";
    "settings.insecure" false Nothing settings::insecure: "What helps to try things out lets others in.";
    "proxy.trusted" true Nothing settings::proxy: "Behind a proxy that is not listed all callers have one address, and share its limits; if all are trusted, anyone can claim any address.";
    "secret-key" false Nothing settings::secret_key: "Without the right key webhook secrets and stored answers cannot be read, and whoever reads the key reads them.";
    "database.reach" false Nothing database::reach: "Nothing works without the database.";
    "database.version" false Database database::version: "Older versions are not tested.";
    "database.schema" false Database database::schema: "A server migrates when it starts, and refuses a schema that is too new for it.";
    "database.durability" false Database database::durability: "When the power fails, confirmed writes or the whole database are lost.";
    "database.connections" false Schema database::connections: "Requests are refused while no connection is free.";
    "database.isolation" false Database database::isolation: "Another isolation level makes writes fail that would have waited.";
    "database.collation" false Database database::collation: "Indexes that were built in another order of texts miss rows.";
    "database.extension" false Database database::extension: "Without trigrams, searches for parts of texts read every row.";
    "database.statistics" true Database database::statistics: "Without statistics the database plans lists badly.";
    "database.wraparound" true Database database::wraparound: "PostgreSQL stops taking writes before its transaction numbers run out, and keeps deleted rows for the oldest transaction.";
    "database.log" true Database database::log: "A log that only grows fills the disk.";
    "database.integrity" false Database database::integrity: "A damaged file gets worse with each write.";
    "disk" true Nothing machine::disk: "On a full disk nothing can be written.";
    "files.store" false Nothing machine::files_store: "Uploads are refused while files cannot be stored.";
    "files.sweep" false Schema machine::files_sweep: "Many files without a record mean that the store belongs to another database, or to a later state of this one.";
    "redis" false Network services::redis: "Without it each server counts requests for itself.";
    "redis.version" false Network services::redis_version: "Older versions are not tested.";
    "smtp" true Network services::smtp: "Mails wait, and are given up after a day.";
    "smtp.auth" true Network services::smtp_auth: "Mails wait, and are given up after a day.";
    "mail.sender" true Network services::mail_sender: "Mails whose sender's domain cannot be answered, or does not name its servers, end in junk folders.";
    "lead-ai" false Network services::lead_ai: "Leads are not rated while the model cannot be asked.";
    "clock" true Nothing machine::clock: "Wrong clocks give records wrong times, and signatures that receivers refuse.";
    "public-url" false Network services::public_url: "Links in mails, adverts and the documentation lead there.";
    "outbound" false Schema services::outbound: "Webhooks to these hosts cannot be delivered.";
    "webhooks.failing" true Schema work::failing: "Their owners miss events, and the webhooks are disabled in the end.";
    "webhooks.disabled" true Schema work::disabled: "Their owners miss events until the webhooks are active again.";
    "background" true Schema work::background: "Mails, webhooks, listings and purges are background work.";
    "mails" true Schema work::mails: "People wait for mails that do not leave.";
    "backup" true Nothing work::backup: "A disk that fails takes everything along.";
    "outgoing" false Schema work::outgoing: "While outgoing is held no webhook, mail or request to a model leaves.";
    "limits" false Nothing machine::limits: "A busy server needs many open files and some memory, and what is in a container's own layer is lost with it.";
}

/// The choice of checks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice {
    /// These alone; all, if it is empty.
    pub(crate) only: Vec<String>,
    /// All but these.
    pub(crate) skip: Vec<String>,
}

impl Choice {
    /// Returns a name of the choice that no check has.
    pub(crate) fn unknown(&self) -> Option<&str> {
        let mut names = self.only.iter().chain(&self.skip).map(String::as_str);
        names.find(|name| CHECKS.iter().all(|check| check.id != *name))
    }

    fn takes(&self, check: &Check) -> bool {
        let named = |names: &[String]| names.iter().any(|name| name == check.id);
        (self.only.is_empty() || named(&self.only)) && !named(&self.skip)
    }
}

/// Everything that checks look at.
pub(crate) struct Context {
    /// The settings, or the reason why they cannot be read.
    settings: Result<Settings, String>,
    /// The environment variables that look like settings of this program, by name.
    variables: Vec<String>,
    /// The database, or the reason why it cannot be reached.
    storage: Result<Storage, String>,
    /// The schema is not that of this version: its tables may be missing.
    is_outdated: bool,
    /// The servers that run on the database.
    servers: Vec<RunningServer>,
    /// Connect to nothing but the database and the file store.
    no_network: bool,
    /// Send a mail to this address.
    mail_to: Option<String>,
}

impl Context {
    /// Collects what checks look at. `storage` is the database of a server that makes them; without it the settings' one is opened
    /// if it exists, but never made.
    pub(crate) async fn new(
        settings: Result<Settings, String>,
        storage: Option<Storage>,
        no_network: bool,
        mail_to: Option<String>,
    ) -> Self {
        let storage = match (storage, &settings) {
            (Some(storage), _) => Ok(storage),
            (None, Ok(settings)) => match timeout(TIMEOUT, database::open(settings)).await {
                Ok(opened) => opened,
                Err(_) => Err("it did not answer within 5 seconds".to_owned()),
            },
            (None, Err(_)) => Err("the settings cannot be read".to_owned()),
        };
        let mut context = Self {
            settings,
            variables: settings::variables(),
            storage,
            is_outdated: true,
            servers: Vec::new(),
            no_network,
            mail_to,
        };
        if let Ok(storage) = &context.storage {
            let look = async {
                let migrations = storage.migrations().await?;
                let servers = storage.running_servers(&SystemClock).await?;
                Ok::<_, forecourt_kernel::StoreError>((migrations, servers))
            };
            if let Ok(Ok((migrations, servers))) = timeout(TIMEOUT, look).await {
                context.is_outdated = !migrations.pending.is_empty();
                context.servers = servers;
            }
        }
        context
    }

    fn settings(&self) -> Result<&Settings, Unchecked> {
        let unread = |_: &String| Unchecked("the settings cannot be read".to_owned());
        self.settings.as_ref().map_err(unread)
    }

    fn storage(&self) -> Result<&Storage, Unchecked> {
        let unreached = |_: &String| Unchecked("the database cannot be reached".to_owned());
        self.storage.as_ref().map_err(unreached)
    }

    /// Returns the reason why a check cannot be made.
    fn lack(&self, check: &Check) -> Option<&'static str> {
        if check.id != "settings.read" && self.settings.is_err() {
            return Some("the settings cannot be read");
        }
        match check.needs {
            Need::Network if self.no_network => Some("left out, with --no-network"),
            Need::Database | Need::Schema if self.storage.is_err() => Some("the database cannot be reached"),
            Need::Schema if self.is_outdated => Some("the schema is not that of this version"),
            _ => None,
        }
    }

    async fn make(&self, check: &'static Check) -> Made {
        let begun = Instant::now();
        let finding = match self.lack(check) {
            Some(lack) => Finding::skip(lack),
            None => match timeout(TIMEOUT, (check.run)(self)).await {
                Ok(Ok(finding)) => finding,
                Ok(Err(Unchecked(reason))) => Finding::skip(reason),
                Err(_) => Finding::skip("it took longer than 5 seconds"),
            },
        };
        Made {
            check,
            finding,
            took: begun.elapsed(),
        }
    }

    /// Makes the chosen checks, all at once.
    pub(crate) async fn make_all(&self, choice: &Choice) -> Vec<Made> {
        let chosen = CHECKS.iter().filter(|check| choice.takes(check));
        join_all(chosen.map(|check| self.make(check))).await
    }

    /// Makes the checks that servers make daily.
    pub(crate) async fn make_daily(&self) -> Vec<Made> {
        let daily = CHECKS.iter().filter(|check| check.is_daily);
        join_all(daily.map(|check| self.make(check))).await
    }
}

/// A check that was made.
pub(crate) struct Made {
    pub(crate) check: &'static Check,
    pub(crate) finding: Finding,
    pub(crate) took: Duration,
}

/// A check as a JSON document shows it.
#[derive(Serialize)]
pub(crate) struct MadeDocument {
    id: &'static str,
    status: Status,
    found: String,
    remedy: Option<String>,
    help: &'static str,
    milliseconds: u64,
}

impl Made {
    /// Returns the check for a JSON document.
    pub(crate) fn document(&self) -> MadeDocument {
        MadeDocument {
            id: self.check.id,
            status: self.finding.status,
            found: self.finding.found.clone(),
            remedy: self.finding.remedy.clone(),
            help: HELP,
            milliseconds: u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Returns the lines that show it.
    pub(crate) fn lines(&self) -> String {
        let Finding { status, found, remedy } = &self.finding;
        let mut lines = format!("{:4}  {:22}  {found}", status.name(), self.check.id);
        if let Some(remedy) = remedy {
            let why = self.check.why;
            for (name, text) in [("why", why), ("do", remedy.as_str()), ("see", HELP)] {
                lines.push_str(&format!("\n      {name}: {text}"));
            }
        }
        lines
    }
}
