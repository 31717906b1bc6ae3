//! The command line: its commands and options, and their help.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::{ArgGroup, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint, error::ErrorKind};
use clap_complete::Shell;
use forecourt_accounts::KeyId;
use forecourt_archive::{FileMode, KeepRules, Stamp};
use forecourt_kernel::{Date, EventName, Scope, ScopeSet, Timestamp};
use forecourt_webhooks::TargetUrl;
use ipnet::IpNet;

use crate::{
    backup::BackupUrl,
    output,
    settings::{self, LISTEN_SECRET_VARIABLE, Options, TOKEN_VARIABLE},
};

/// The longest overlap of a key and its successor, in hours: ten years.
const MAX_OVERLAP_HOURS: i64 = 10 * 366 * 24;

const EXAMPLES: &str = "\
Examples:
  forecourt serve --demo                 try it: a sample dealership and a key
  forecourt business apply acme.toml     create or change a business from its file
  forecourt key create --business acme --scopes all
  forecourt serve                        serve the API on 127.0.0.1:8080

Every setting is an environment variable, most are an option of `forecourt serve` too, and all can stand in a TOML file \
(--config FILE). An option goes before the environment, that before the file. `forecourt serve --help` lists them. What may hold a \
password is no option, since a list of processes would show it: DATABASE_URL says where the records are, or DATABASE_URL_FILE which \
file holds that.";

const SERVE_EXAMPLES: &str = "
Examples:
  forecourt serve --bind 0.0.0.0:8080 --public-url https://api.dealer.example
  DATABASE_URL=postgres://forecourt@db/forecourt FORECOURT_SECRET_KEY_FILE=/run/secrets/key forecourt serve";

const SETTINGS_HEADING: &str = "Settings that every command takes";

/// An open dealership-management server: one binary, one REST API, no other service needed to start.
#[derive(Debug, Parser)]
#[command(name = "forecourt", version, after_help = EXAMPLES, max_term_width = 120)]
pub(crate) struct Cli {
    /// A TOML file with settings: their names in lower case, with or without forecourt_
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = SETTINGS_HEADING)]
    pub(crate) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Parses a command line, with the options that give settings.
///
/// # Errors
/// Clap's answer, for [`answer`].
pub(crate) fn parse(
    words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<(Cli, Options), clap::Error> {
    let matches = declaration().try_get_matches_from(words)?;
    Ok((Cli::from_arg_matches(&matches)?, settings::given(&matches)))
}

/// Returns the declaration of the command line: [`Cli`], with options for settings.
pub(crate) fn declaration() -> clap::Command {
    let everywhere = settings::options(true).map(|option| option.help_heading(SETTINGS_HEADING));
    Cli::command().args(everywhere).mut_subcommand("serve", |serve| {
        let options = settings::options(false).map(|option| option.help_heading("Settings"));
        let help = format!("{}{SERVE_EXAMPLES}", settings::secrets_help());
        serve.args(options).after_help(help)
    })
}

/// Answers a command line that requests help or the version, or is invalid.
pub(crate) fn answer(answer: &clap::Error) -> ExitCode {
    match answer.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // If it cannot be printed, there is no reader.
            let _ = answer.print();
        }
        _ => output::refusal(&format!("{} (try --help)", fault_of(answer)), wants_json()),
    }
    ExitCode::from(u8::try_from(answer.exit_code()).unwrap_or(1))
}

/// Returns true if the result, and so a failure too, is for a program to read.
pub(crate) fn wants_json() -> bool {
    std::env::args_os().any(|argument| argument == "--json")
}

/// Returns the fault in one line: the parser's own explanation continues with usage and advice.
fn fault_of(answer: &clap::Error) -> String {
    let text = answer.render().to_string();
    let end = ["\n\nUsage:", "\n\nFor more information"]
        .iter()
        .filter_map(|after| text.find(after))
        .min();
    let fault = text.get(..end.unwrap_or(text.len())).unwrap_or(&text);
    let fault = fault.strip_prefix("error: ").unwrap_or(fault);
    fault.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Apply pending migrations, then serve the API and do the background work, until SIGTERM or Ctrl-C
    Serve {
        /// On a database without a business first make a sample dealership and a key with every scope, and print requests
        /// to try
        #[arg(long)]
        demo: bool,
    },
    /// Apply pending migrations and exit
    #[command(after_help = "\
`forecourt serve` and the commands that need the database do this by themselves. Run it apart to change the schema before \
new servers start. Any number may run at once: the first migrates, the others wait.

Example:
  DATABASE_URL=postgres://forecourt@db/forecourt forecourt migrate")]
    Migrate,
    /// Create, change, list and delete businesses
    #[command(subcommand)]
    Business(BusinessCommand),
    /// Create, list and revoke keys for the API
    #[command(subcommand)]
    Key(KeyCommand),
    /// Take in enquiries
    #[command(subcommand)]
    Lead(LeadCommand),
    /// Check and mend the listings of businesses
    #[command(subcommand)]
    Listings(ListingsCommand),
    /// Check the files of businesses
    #[command(subcommand)]
    Files(FilesCommand),
    /// Begin a new epoch, after the database has gone back to an earlier state
    #[command(subcommand)]
    Epoch(EpochCommand),
    /// Hold or release webhooks, mails and requests to models
    #[command(subcommand)]
    Outgoing(OutgoingCommand),
    /// Change the secret key, or go on without a lost one
    #[command(subcommand)]
    SecretKey(SecretKeyCommand),
    /// Find out what is wrong with the settings, the database and everything around the server
    #[command(after_help = "\
It changes nothing but for a probe that it writes to the file store and deletes, and runs beside servers or without any. The exit code \
is 3 if a check fails. No secret is printed.

Examples:
  forecourt doctor
  forecourt doctor --strict --json
  forecourt doctor --only smtp,smtp.auth --mail-to me@example.com")]
    Doctor(DoctorArgs),
    /// Ask the server on this machine if it is ready: for containers that have no other program
    #[command(after_help = "\
The exit code is 0 if GET /readyz of FORECOURT_BIND answers 200 within 3 seconds, and else 1.

Examples:
  forecourt health
  forecourt health --url http://127.0.0.1:8080")]
    Health {
        /// The server [default: that of FORECOURT_BIND]
        #[arg(long, value_name = "URL", value_parser = server, value_hint = ValueHint::Url)]
        url: Option<ServerUrl>,
    },
    /// List the running servers that use the database
    #[command(after_help = "\
A server renews its entry every 10 seconds, and removes it when it stops. One that was not renewed for 30 seconds counts as gone.

Example:
  forecourt servers --json")]
    Servers {
        #[command(flatten)]
        format: Format,
    },
    /// Back up the database and the files, while servers go on
    #[command(
        args_conflicts_with_subcommands = true,
        subcommand_negates_reqs = true,
        after_help = "\
A backup is a compressed SQLite file with all tables, from PostgreSQL too, the files, and a manifest with the digests of both. It is \
taken as of one moment, and verified (quickly) when it was written. In a repository each file is stored once for all backups. The \
secret key is never part of it: keep that apart.

Examples:
  forecourt backup --to /backup/forecourt
  forecourt backup --to s3://backups/forecourt --json
  forecourt backup --output forecourt.tar
  forecourt backup --output - | age -r age1… > forecourt.tar.age
  forecourt backup list --from /backup/forecourt
  forecourt backup prune --from /backup/forecourt --keep 7d,4w,12m"
    )]
    Backup(BackupArgs),
    /// Prove that a backup can be restored, without touching the installation
    #[command(after_help = "\
Without --quick every table's digest, every reference, every number without gaps, every file, every listing's hash and (with the \
secret key) everything encrypted is checked, and the lists of the largest businesses are read. The exit code is 0 without a fault, 3 \
with faults, 1 if the backup cannot be read.

Examples:
  forecourt verify forecourt.tar
  forecourt verify --from /backup/forecourt --quick
  forecourt verify --from /backup/forecourt --backup 20261126T033100Z --json")]
    Verify(VerifyArgs),
    /// Restore a backup into an empty database and file store
    #[command(after_help = "\
DATABASE_URL and FORECOURT_BLOB_URL name the targets: a SQLite path without a file, or a PostgreSQL database without tables. Nothing \
is ever overwritten. A new epoch begins, and outgoing is held until `forecourt outgoing release`. A restore that was interrupted is \
finished by the same command.

Examples:
  forecourt restore forecourt.tar
  forecourt restore --from s3://backups/forecourt
  forecourt restore --from /backup/forecourt --backup 20261126T033100Z --as-copy")]
    Restore(RestoreArgs),
    /// Move the database to another engine or machine, with all ids, keys, events and secrets
    #[command(after_help = "\
No server may run. The target must be empty. Afterwards every table has been compared, and this database refuses to serve. Files stay \
where they are unless --files-to names another place.

Examples:
  forecourt move --to postgres://forecourt@db/forecourt
  forecourt move --to-file target.url --files-to s3://forecourt/files
  forecourt move --undo --yes")]
    Move(MoveArgs),
    /// Fill a business with made-up data
    #[command(after_help = "\
The data is the same for the same seed and business. Records are spread over the past two years; nobody is told of them: they \
cause no events and no mails. Vehicles are of every class and in every state, and refer to contacts of the business, those that \
the same command makes among them; no more of them are for sale than the business may have.

Examples:
  forecourt sample --business acme --leads 100000 --seed 7
  forecourt sample --business acme --contacts 500 --vehicles 2000 --leads 5000")]
    Sample(SampleArgs),
    /// Try a webhook receiver: post a server's events, signed, to a URL that only this machine needs to reach
    #[command(after_help = "\
Follows the event log of a running server (GET /2.0/events) and posts each event just as a webhook would: the same body, the \
same headers, the same signature. No webhook is created, and the server needs no way to reach the receiver. The token comes by \
the environment variable FORECOURT_TOKEN, which process lists do not show; it needs the scope webhooks:read and the read scopes of the events; what it may not read is neither shown nor posted.

The signing secret is made for this run and printed first, unless FORECOURT_LISTEN_SECRET says it. Then each attempt is one line: the event's \
number, name and id, and the receiver's status and time. An event that is not answered with 2xx is tried three times more, and \
then skipped. Updates in quick succession, which a webhook gets as one, come one by one.

While the server is away it is tried again, with growing pauses; nothing that happens meanwhile is missed. Ctrl-C ends it.

Examples:
  export FORECOURT_TOKEN=fck_…
  forecourt listen --forward-to http://127.0.0.1:3000/hook
  forecourt listen --forward-to http://127.0.0.1:3000/hook --events lead.created,lead.updated --from-start
  forecourt listen --forward-to http://127.0.0.1:3000/hook --server https://api.dealer.example --json")]
    Listen(ListenArgs),
    /// Print the completion script for a shell
    #[command(after_help = "\
Examples:
  forecourt completions bash > /etc/bash_completion.d/forecourt
  forecourt completions zsh > \"${fpath[1]}/_forecourt\"
  forecourt completions fish > ~/.config/fish/completions/forecourt.fish")]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages of the command line, for man(1)
    #[command(after_help = "\
Example:
  forecourt man /usr/local/share/man/man1")]
    Man {
        /// The folder to write into: one page for each command
        #[arg(value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
    /// Print the OpenAPI document of the API
    #[command(after_help = "\
Example:
  FORECOURT_PUBLIC_URL=https://api.dealer.example forecourt openapi > openapi.json")]
    Openapi,
}

/// The commands on businesses.
#[derive(Debug, Subcommand)]
pub(crate) enum BusinessCommand {
    /// Create a business, or change the one of the same tag
    #[command(after_help = "\
Only `tag` and `name` are required. What the file leaves out stays as it is; on creation it takes the default. Applying the \
same file again changes nothing.

Example file:
  tag = \"acme\"
  name = \"Acme Cars\"
  email = \"office@acme.example\"
  country = \"GB\"

  [[staff]]
  id = 1
  name = \"Sam Hill\"
  role = [\"sales\"]

  [[tags]]
  resource = \"lead\"
  name = \"Hot\"
  colour = \"#d33\"")]
    Apply {
        /// The business's file: TOML or JSON, by its extension
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        #[command(flatten)]
        format: Format,
    },
    /// List all businesses
    List {
        #[command(flatten)]
        format: Format,
    },
    /// Delete a business and all that it owns
    #[command(after_help = "\
Its keys stay, and answer `business_not_found` from then on. On a terminal the tag must be typed to confirm; elsewhere --yes \
is required.

Example:
  forecourt business delete acme --yes")]
    Delete {
        /// The business's tag
        tag: String,
        /// Delete without asking
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        format: Format,
    },
}

/// The commands on keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create a key and print its token, this once
    #[command(after_help = "\
Examples:
  forecourt key create --business acme --scopes leads:read,leads:write --expires 2027-12-31
  forecourt key create --business acme --scopes all --json
  forecourt key create --business acme --scopes listings:read --from 203.0.113.7,2001:db8::/32")]
    Create(KeyArgs),
    /// List keys, newest first; never their tokens
    List {
        /// Only the keys of the business with this tag
        #[arg(long, value_name = "TAG")]
        business: Option<String>,
        #[command(flatten)]
        format: Format,
    },
    /// List every scope, with the operations that need it
    Scopes {
        #[command(flatten)]
        format: Format,
    },
    /// Make the successor of a key and print its token, this once
    #[command(after_help = "\
The new key has the business, the scopes, the addresses and the expiry of the old one. That is good for so many hours more, for \
its users to change over, unless it expires before then.

Example:
  forecourt key rotate fck_0123456789abcdef --overlap 24")]
    Rotate {
        /// The key's id: the part of the token before the dot
        #[arg(value_name = "KEY_ID", value_parser = key_id)]
        key: KeyId,
        /// Hours for which the old key is still accepted; 0 for none
        #[arg(long, value_name = "HOURS", value_parser = clap::value_parser!(u32).range(..=MAX_OVERLAP_HOURS))]
        overlap: u32,
        #[command(flatten)]
        format: Format,
    },
    /// Revoke a key; every running server refuses it within 5 seconds
    Revoke {
        /// The key's id: the part of the token before the dot
        #[arg(value_name = "KEY_ID", value_parser = key_id)]
        key: KeyId,
        #[command(flatten)]
        format: Format,
    },
}

/// The commands on listings.
#[derive(Debug, Subcommand)]
pub(crate) enum ListingsCommand {
    /// Make every listing once more from its vehicle, report each that differs, and correct it
    #[command(after_help = "\
Servers may go on meanwhile: the vehicles are looked at in small parts. A listing was `missing`, `stale` (it showed something \
else) or `extra` (its vehicle is not to be listed). What is mended is a change as any other: copies elsewhere get it.

Examples:
  forecourt listings rebuild
  forecourt listings rebuild --business acme --json")]
    Rebuild {
        /// Only the listings of the business with this tag
        #[arg(long, value_name = "TAG")]
        business: Option<String>,
        #[command(flatten)]
        format: Format,
    },
}

/// The commands on leads.
#[derive(Debug, Subcommand)]
pub(crate) enum LeadCommand {
    /// Make a lead of each mail, once
    #[command(after_help = "\
A lead has the name and the address of the mail's sender, its subject, its text and the names of its attachments; their content is \
not kept. It came in by email, and is a lead like any other: events report it, the business is mailed, the AI reads it.

A mail is known by its Message-ID: one of which a lead was made before is passed over, so the command may be run again over the \
same folder. What is no mail, or is longer than a lead may be, is reported and holds up no other; the exit code is then 1.

Examples:
  forecourt lead import enquiry.eml --business acme
  forecourt lead import mails/*.eml --business acme --json")]
    Import {
        /// The mails' files, in RFC 5322 form
        #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
        /// The tag of the business that the leads are for
        #[arg(long, value_name = "TAG")]
        business: String,
        #[command(flatten)]
        format: Format,
    },
}

/// Commands on the epoch of the database.
#[derive(Debug, Subcommand)]
pub(crate) enum EpochCommand {
    /// Begin a new epoch: to be done once after each restore of a dump or a copy, before servers start on it
    #[command(after_help = "\
A restored database gives versions and event numbers out a second time. In a new epoch entity tags and cursors from before are not \
taken for those of now, and clients of the event log and of the changes of listings learn that they have to begin anew. Servers that \
run take it up within 5 seconds. A PostgreSQL standby that is promoted begins one by itself.

Examples:
  forecourt epoch raise
  forecourt epoch raise --json")]
    Raise {
        #[command(flatten)]
        format: Format,
    },
}

/// What `doctor` looks at, and how it reports that.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Exit with 3 on warnings too
    #[arg(long)]
    pub(crate) strict: bool,
    /// Make these checks only, comma-separated
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Leave these checks out, comma-separated
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    pub(crate) skip: Vec<String>,
    /// Send a mail to this address, to see if it arrives
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) mail_to: Option<String>,
    /// Connect to nothing but the database and the file store
    #[arg(long)]
    pub(crate) no_network: bool,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Commands on the secret key.
#[derive(Debug, Subcommand)]
pub(crate) enum SecretKeyCommand {
    /// Encrypt everything with a new key
    #[command(after_help = "\
Put the new key in FORECOURT_SECRET_KEY and the one before in FORECOURT_SECRET_KEY_PREVIOUS, restart all servers with both, and run \
this; servers go on meanwhile. It can be interrupted and run again. Then the key before is no longer needed. Without these settings, \
with SQLite, it makes a new key in the data folder and keeps the one before as secret.key.previous until it is done.

Examples:
  forecourt secret-key rotate
  FORECOURT_SECRET_KEY_FILE=new FORECOURT_SECRET_KEY_PREVIOUS_FILE=old forecourt secret-key rotate --json")]
    Rotate {
        #[command(flatten)]
        format: Format,
    },
    /// Go on without a key that is lost, and without what only that can read
    #[command(after_help = "\
It drops stored answers, disables every webhook until its secret is rotated, finishes erasures by their contacts' numbers, and lists \
all that. First it says what is lost, and asks on a terminal; elsewhere --yes is required. No server may run.

Example:
  forecourt secret-key forget --yes")]
    Forget {
        /// Go on without asking
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        format: Format,
    },
}

/// Commands on what leaves the servers.
#[derive(Debug, Subcommand)]
pub(crate) enum OutgoingCommand {
    /// Let no webhook, mail or request to a model leave any server
    #[command(after_help = "\
Every running server obeys within 5 seconds. Deliveries and mails queue meanwhile, and the API answers as ever. Mails to \
FORECOURT_OPERATOR_EMAIL leave all the same. A restored database is held from the beginning.

Example:
  forecourt outgoing hold")]
    Hold {
        #[command(flatten)]
        format: Format,
    },
    /// Send again, beginning with what has queued
    #[command(after_help = "\
With --discard all waiting deliveries fail first, with the error `discarded after a restore`, and all waiting mails are dropped: \
for a copy of a database whose original has sent them.

Examples:
  forecourt outgoing release
  forecourt outgoing release --discard --json")]
    Release {
        /// Drop all waiting deliveries and mails first
        #[arg(long)]
        discard: bool,
        #[command(flatten)]
        format: Format,
    },
    /// Show the position of the switch
    Status {
        #[command(flatten)]
        format: Format,
    },
}

/// Commands on the stored files.
#[derive(Debug, Subcommand)]
pub(crate) enum FilesCommand {
    /// Compare the files that are recorded with those that are stored, and report each that only one of the two has
    #[command(after_help = "\
Servers may run meanwhile, and the command changes nothing. A running server moves content that is older than 24 hours and has no \
record to a quarantine, and deletes it 7 days later. A record without content means that the store has lost the file.

Examples:
  forecourt files check
  forecourt files check --json")]
    Check {
        #[command(flatten)]
        format: Format,
    },
}

/// The target of a backup.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").required(true))]
pub(crate) struct BackupArgs {
    #[command(subcommand)]
    pub(crate) command: Option<BackupCommand>,
    /// One more backup in a repository: file://FOLDER, a path, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "URL", group = "target")]
    pub(crate) to: Option<BackupUrl>,
    /// One archive, which must not exist; - is standard output
    #[arg(long, value_name = "FILE", group = "target", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// The files: copied (all), listed (reference), or left out (none) [default: all for folders, reference for buckets]
    #[arg(long, value_name = "MODE", value_parser = file_mode)]
    pub(crate) files: Option<FileMode>,
    /// An age recipient to encrypt for; only in programs that were built with encryption
    #[arg(long, value_name = "AGE1…")]
    pub(crate) recipient: Vec<String>,
    /// Put the secret key into the encrypted backup
    #[arg(long)]
    pub(crate) include_key: bool,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// The commands on repositories of backups.
#[derive(Debug, Subcommand)]
pub(crate) enum BackupCommand {
    /// List the finished backups of a repository
    List {
        /// The repository: file://FOLDER, a path, or s3://BUCKET/PREFIX
        #[arg(long, value_name = "URL")]
        from: BackupUrl,
        #[command(flatten)]
        format: Format,
    },
    /// Remove the backups of a repository that the rules do not keep, and files that no backup names
    #[command(after_help = "\
The last backup of each of so many days, weeks and months of UTC stays, and always the newest that was verified without a fault. A \
backup with faults counts for no day. What is not finished is removed after a day.

Example:
  forecourt backup prune --from /backup/forecourt --keep 7d,4w,12m")]
    Prune {
        /// The repository: file://FOLDER, a path, or s3://BUCKET/PREFIX
        #[arg(long, value_name = "URL")]
        from: BackupUrl,
        /// Numbers of days, weeks and months, such as 7d,4w,12m
        #[arg(long, value_name = "SPEC")]
        keep: KeepRules,
        #[command(flatten)]
        format: Format,
    },
}

/// A backup to read.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("source").required(true))]
pub(crate) struct SourceArgs {
    /// An archive
    #[arg(value_name = "FILE", group = "source", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// A repository: file://FOLDER, a path, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "URL", group = "source")]
    pub(crate) from: Option<BackupUrl>,
    /// The backup of the repository [default: the newest that is finished]
    #[arg(long, value_name = "STAMP", requires = "from")]
    pub(crate) backup: Option<Stamp>,
    /// The file of an age identity; only in programs that were built with encryption
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) identity: Option<PathBuf>,
}

/// The backup to verify.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Only digests of the members, what SQLite finds quickly, and the numbers of rows
    #[arg(long)]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// The backup to restore.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// For a staging server: a new installation, all keys revoked, all webhooks disabled, waiting mails dropped
    #[arg(long)]
    pub(crate) as_copy: bool,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// The target of a move.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("work").required(true))]
pub(crate) struct MoveArgs {
    /// The empty database: sqlite://PATH or postgres://USER@HOST/DATABASE, without a password
    #[arg(long, value_name = "DATABASE_URL", group = "work")]
    pub(crate) to: Option<String>,
    /// A file with the URL of the empty database, which may have a password
    #[arg(long, value_name = "FILE", group = "work", value_hint = ValueHint::FilePath)]
    pub(crate) to_file: Option<PathBuf>,
    /// Let a database be used again that was moved, or whose move was interrupted
    #[arg(long, group = "work")]
    pub(crate) undo: bool,
    /// Copy the files to another place: file://FOLDER, a path, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "URL", conflicts_with = "undo")]
    pub(crate) files_to: Option<BackupUrl>,
    /// Undo without asking
    #[arg(long, requires = "undo")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// The properties of a new key.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("owner").required(true))]
pub(crate) struct KeyArgs {
    /// The tag of the business whose data the key sees
    #[arg(long, value_name = "TAG", group = "owner")]
    pub(crate) business: Option<String>,
    /// Make a key without a business, which the API refuses with `business_required`
    #[arg(long, group = "owner")]
    pub(crate) no_business: bool,
    /// Its scopes: comma-separated, such as leads:read,leads:write, or all, or none
    #[arg(long, value_parser = scopes)]
    pub(crate) scopes: ScopeSet,
    /// The time from which it is refused: a date (00:00 UTC of that day) or epoch seconds [default: never]
    #[arg(long, value_name = "DATE_OR_EPOCH", value_parser = moment, allow_negative_numbers = true)]
    pub(crate) expires: Option<Timestamp>,
    /// The addresses that it may be used from: comma-separated addresses or CIDR ranges [default: any]
    #[arg(long, value_name = "CIDR,…", value_parser = network, value_delimiter = ',')]
    pub(crate) from: Vec<IpNet>,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// The amount of made-up data, and the business that gets it.
#[derive(Debug, Args)]
pub(crate) struct SampleArgs {
    /// The tag of the business
    #[arg(long, value_name = "TAG")]
    pub(crate) business: String,
    /// Number of vehicles
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) vehicles: u64,
    /// Number of leads
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) leads: u64,
    /// Number of contacts
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) contacts: u64,
    /// The same seed gives the same data
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// The events to follow, and the receiver.
#[derive(Debug, Args)]
pub(crate) struct ListenArgs {
    /// The receiver that events are posted to: an http or https URL, at any address
    #[arg(long, value_name = "URL", value_parser = receiver, value_hint = ValueHint::Url)]
    pub(crate) forward_to: TargetUrl,
    /// The server to follow
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080", value_parser = server, value_hint = ValueHint::Url)]
    pub(crate) server: ServerUrl,
    /// Only events with these names, comma-separated [default: all that the token may read]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) events: Vec<EventName>,
    /// Begin with the oldest event that the server keeps, not with the next one
    #[arg(long)]
    pub(crate) from_start: bool,
    /// Print one JSON document per line
    #[arg(long)]
    pub(crate) json: bool,
}

fn file_mode(text: &str) -> Result<FileMode, &'static str> {
    match text {
        "none" => Ok(FileMode::None),
        "reference" => Ok(FileMode::Reference),
        "all" => Ok(FileMode::All),
        _ => Err("must be all, reference or none"),
    }
}

/// Returns the token with which `listen` reads events.
pub(crate) fn listen_token() -> Option<String> {
    variable(TOKEN_VARIABLE)
}

/// Returns the secret with which `listen` signs, unless it makes one.
pub(crate) fn listen_secret() -> Option<String> {
    variable(LISTEN_SECRET_VARIABLE)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// The base URL of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ServerUrl(pub(crate) String);

/// The format in which the result is printed.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Format {
    /// Print the result as one JSON document, and nothing else, on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

fn receiver(text: &str) -> Result<TargetUrl, String> {
    TargetUrl::parse(text, true).map_err(|_| "must be an http or https URL without a user name or password".to_owned())
}

fn server(text: &str) -> Result<ServerUrl, String> {
    TargetUrl::parse(text, true)
        .ok()
        .filter(|_| !text.contains(['?', '#']))
        .map(|_| ServerUrl(text.trim_end_matches('/').to_owned()))
        .ok_or_else(|| "must be an http or https URL such as https://api.dealer.example".to_owned())
}

fn key_id(text: &str) -> Result<KeyId, String> {
    text.parse()
        .map_err(|_| "a key's id is fck_ and 16 characters of a-z and 0-9".to_owned())
}

fn scopes(text: &str) -> Result<ScopeSet, String> {
    match text {
        "all" => Ok(ScopeSet::all()),
        "none" => Ok(ScopeSet::NONE),
        names => names
            .split(',')
            .map(|name| name.trim().parse::<Scope>().map_err(|unknown| unknown.to_string()))
            .collect(),
    }
}

fn network(text: &str) -> Result<IpNet, String> {
    settings::network(text.trim())
        .ok_or_else(|| "must be an address or a CIDR range, such as 192.0.2.7 or 10.0.0.0/8".to_owned())
}

fn moment(text: &str) -> Result<Timestamp, String> {
    let date = || text.parse().ok().map(Date::midnight);
    let epoch = || text.parse().ok().map(Timestamp::from_epoch_seconds);
    date()
        .or_else(epoch)
        .ok_or_else(|| "must be a date such as 2027-12-31 or epoch seconds".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_with_options(line: &str) -> Result<(Cli, Options), ErrorKind> {
        super::parse(line.split(' ')).map_err(|error| error.kind())
    }

    fn parse(line: &str) -> Result<Cli, ErrorKind> {
        parse_with_options(line).map(|(cli, _)| cli)
    }

    #[test]
    fn the_declaration_is_sound() {
        declaration().debug_assert();
    }

    #[test]
    fn settings_are_options_of_serve_and_some_of_all() {
        let line = "forecourt --data-dir a serve --bind 127.0.0.1:1 --log-format json --demo";
        let (cli, options) = parse_with_options(line).unwrap();
        assert!(matches!(cli.command, Command::Serve { demo: true }));
        let expected = [("bind", "127.0.0.1:1"), ("data_dir", "a"), ("log_format", "json")];
        let owned = |(id, text): (&str, &str)| (id.to_owned(), text.to_owned());
        assert_eq!(options, expected.map(owned).into());

        let (cli, options) = parse_with_options("forecourt key list --config c.toml").unwrap();
        assert_eq!((cli.config, options), (Some("c.toml".into()), Options::new()));
        assert_eq!(
            parse("forecourt key list --bind 127.0.0.1:1").unwrap_err(),
            ErrorKind::UnknownArgument
        );
    }

    #[test]
    fn what_may_hold_a_password_is_an_option_of_no_command() {
        for option in [
            "--database-url",
            "--smtp-url",
            "--redis-url",
            "--secret-key",
            "--lead-ai-key",
            "--lead-ai-url",
            "--token",
            "--secret",
        ] {
            for command in [
                "serve",
                "migrate",
                "key list",
                "listen --forward-to http://localhost:1",
                "openapi",
            ] {
                let refused = parse(&format!("forecourt {command} {option} a")).unwrap_err();
                assert_eq!(refused, ErrorKind::UnknownArgument, "{command} {option}");
            }
        }
    }

    #[test]
    fn a_switch_stands_alone_or_takes_a_value() {
        for (given, expected) in [("", "true"), ("=false", "false")] {
            let line = format!("forecourt serve --webhook-allow-insecure-targets{given}");
            let (_, options) = parse_with_options(&line).unwrap();
            assert_eq!(options["webhook_allow_insecure_targets"], expected);
        }
    }

    #[test]
    fn a_key_has_one_owner_or_none_and_says_what_it_may() {
        let create = |rest: &str| {
            let cli = parse(&format!("forecourt key create {rest}"))?;
            let Command::Key(KeyCommand::Create(args)) = cli.command else {
                panic!("another command")
            };
            Ok::<_, ErrorKind>(args)
        };
        let args = create("--business acme --scopes leads:read,meta:read --expires 2027-01-01 --json").unwrap();
        assert_eq!(args.business.as_deref(), Some("acme"));
        assert_eq!(args.scopes, [Scope::LeadsRead, Scope::MetaRead].into_iter().collect());
        assert_eq!(args.expires, Some("2027-01-01".parse::<Date>().unwrap().midnight()));
        assert!(args.format.json);
        let args = create("--no-business --scopes none --expires 17").unwrap();
        assert!(args.no_business && args.scopes.is_empty());
        assert_eq!(args.expires, Some(Timestamp::from_epoch_seconds(17)));
        assert!(args.from.is_empty());
        let args = create("--no-business --scopes none --from 192.0.2.7,10.1.2.3/8,::ffff:198.51.100.0/120").unwrap();
        let from: Vec<_> = args.from.iter().map(ToString::to_string).collect();
        assert_eq!(from, ["192.0.2.7/32", "10.0.0.0/8", "198.51.100.0/24"]);
        assert_eq!(create("--business a --scopes all").unwrap().scopes, ScopeSet::all());

        let refused = |rest| create(rest).unwrap_err();
        assert_eq!(refused("--scopes all"), ErrorKind::MissingRequiredArgument);
        assert_eq!(refused("--business a"), ErrorKind::MissingRequiredArgument);
        assert_eq!(
            refused("--business a --no-business --scopes all"),
            ErrorKind::ArgumentConflict
        );
        assert_eq!(refused("--business a --scopes leads"), ErrorKind::ValueValidation);
        assert_eq!(
            refused("--business a --scopes all --expires soon"),
            ErrorKind::ValueValidation
        );
        for from in ["", "10.0.0.0/33", "here", "192.0.2.7,"] {
            let refused = create(&format!("--business a --scopes all --from={from}")).unwrap_err();
            assert_eq!(refused, ErrorKind::ValueValidation, "{from}");
        }
    }

    #[test]
    fn a_rotation_says_how_long_the_old_key_lasts() {
        let rotate = |rest: &str| parse(&format!("forecourt key rotate fck_0123456789abcdef {rest}"));
        let cli = rotate("--overlap 24").unwrap();
        assert!(matches!(
            cli.command,
            Command::Key(KeyCommand::Rotate { overlap: 24, .. })
        ));
        assert_eq!(rotate("--json").unwrap_err(), ErrorKind::MissingRequiredArgument);
        for overlap in ["-1", "1.5", "99999999"] {
            assert_eq!(
                rotate(&format!("--overlap={overlap}")).unwrap_err(),
                ErrorKind::ValueValidation,
                "{overlap}"
            );
        }
    }

    #[test]
    fn listen_needs_a_target() {
        let listen = |rest: &str| {
            let cli = parse(&format!("forecourt listen {rest}"))?;
            let Command::Listen(args) = cli.command else {
                panic!("another command")
            };
            Ok::<_, ErrorKind>(args)
        };
        let args = listen("--forward-to http://localhost:1/x --events lead.created,lead.deleted").unwrap();
        assert_eq!(args.forward_to.as_str(), "http://localhost:1/x");
        assert_eq!(args.server, ServerUrl("http://127.0.0.1:8080".into()));
        assert_eq!(args.events, [EventName::LeadCreated, EventName::LeadDeleted]);
        assert!(!args.from_start && !args.json);
        let args = listen("--forward-to https://a.example --server https://b.example/x/").unwrap();
        assert_eq!(args.server, ServerUrl("https://b.example/x".into()));

        let refused = |rest| listen(rest).unwrap_err();
        assert_eq!(refused("--from-start"), ErrorKind::MissingRequiredArgument);
        for rest in [
            "--forward-to localhost:1",
            "--forward-to http://a.example --server a.example",
            "--forward-to http://a.example --server http://a.example/?b",
            "--forward-to http://a.example --events lead.exploded",
        ] {
            assert_eq!(refused(rest), ErrorKind::ValueValidation, "{rest}");
        }
    }

    #[test]
    fn a_command_line_that_makes_no_sense_is_reported_in_one_line() {
        let fault = |line: &str| fault_of(&super::parse(line.split(' ')).unwrap_err());
        assert_eq!(
            fault("forecourt key create --no-business --scopes leads:fly"),
            r#"invalid value 'leads:fly' for '--scopes <SCOPES>': unknown scope "leads:fly""#
        );
        assert_eq!(
            fault("forecourt key create"),
            "the following required arguments were not provided: --scopes <SCOPES> <--business <TAG>|--no-business>"
        );
        assert!(fault("forecourt serve --bnid 1").starts_with("unexpected argument '--bnid' found"));
        assert!(fault("forecourt srve").starts_with("unrecognized subcommand 'srve'"));
    }

    #[test]
    fn help_lists_every_setting_with_its_variable() {
        let mut command = declaration();
        command.build();
        let help = command
            .find_subcommand_mut("serve")
            .unwrap()
            .render_long_help()
            .to_string();
        let words: Vec<_> = help.split([' ', '\n', ']']).collect();
        for setting in settings::declared() {
            let variable = setting.get_env().unwrap().to_str().unwrap();
            assert!(words.contains(&variable), "{variable}");
        }
    }

    #[test]
    fn every_command_teaches() {
        for command in declaration().get_subcommands() {
            assert!(command.get_about().is_some(), "{}", command.get_name());
        }
    }
}
