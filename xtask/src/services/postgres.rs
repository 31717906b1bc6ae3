//! A temporary PostgreSQL.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::home::Medium;
use super::server::{Recipe, Server, connect};
use super::{Kind, install};
use crate::error::{Context as _, Error, Result};
use crate::process;

pub(super) const KIND: Kind = Kind {
    name: "PostgreSQL",
    variable: "FORECOURT_TEST_POSTGRES_URL",
    package: "postgresql",
    hint: "install it (Debian: postgresql, Fedora: postgresql-server and postgresql-contrib, macOS: brew install postgresql)",
    find,
    start: |programs| start(programs, Medium::Memory, THROWN_AWAY),
    url: |port| format!("postgres://postgres@127.0.0.1:{port}/postgres"),
};

/// Returns a folder with the whole server: some systems only have a client's programs on `PATH`.
fn find() -> Option<PathBuf> {
    process::search_path().chain(usual_places()).find(|folder| {
        ["initdb", "postgres"]
            .iter()
            .all(|program| folder.join(program).is_file())
    })
}

/// Returns the places where packages install programs outside `PATH`, the newest version first.
fn usual_places() -> Vec<PathBuf> {
    let mut places = versions(Path::new("/usr/lib/postgresql"), "");
    places.push("/usr/local/pgsql/bin".into());
    for homebrew in ["/opt/homebrew/opt", "/usr/local/opt", "/home/linuxbrew/.linuxbrew/opt"] {
        places.extend(versions(Path::new(homebrew), "postgresql@"));
        places.push(Path::new(homebrew).join("postgresql/bin"));
    }
    places
}

/// Returns the `bin` folders of all versions in `parent`, whose names are a prefix and a number; the highest number comes
/// first.
fn versions(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    found.sort_unstable_by(|one, other| other.cmp(one));
    found.into_iter().map(|(_, folder)| folder).collect()
}

/// The settings for tests, without fsync: the data that a power cut could lose is deleted anyway. The log has to leave room for
/// the data in memory.
const THROWN_AWAY: &str = "-c shared_buffers=64MB -c fsync=off -c synchronous_commit=off -c full_page_writes=off \
    -c wal_level=minimal -c max_wal_senders=0 -c max_wal_size=256MB";
/// The settings for measurements, as an operator would have them: confirmed data survives a power cut, and the data fits in
/// memory.
const DURABLE: &str = "-c shared_buffers=512MB -c max_wal_size=4GB";

/// Starts a server with many connections, because every test has a database, and so pools, of its own.
fn start(programs: &Path, medium: Medium, settings: &str) -> Result<Server> {
    Server::start(&Recipe {
        label: "postgres",
        location: programs,
        medium,
        prepare: r#""$LOCATION/initdb" -D data -U postgres --auth=trust --encoding=UTF8 --locale=C --no-sync"#,
        serve: &format!(
            r#""$LOCATION/postgres" -D data -p "$PORT" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
                -c max_connections=300 {settings}"#
        ),
        stop: "QUIT",
        probe,
    })
}

/// A PostgreSQL for measurements, with its own programs beside it. It is always one of this machine and never one that the
/// environment names, whose settings and other load are unknown.
pub(crate) struct DurablePostgres {
    programs: PathBuf,
    server: Server,
}

impl DurablePostgres {
    pub(crate) fn start() -> Result<Self> {
        if KIND.programs().is_err() {
            install::servers(&[&KIND])?;
        }
        let programs = KIND.programs()?;
        let server = start(&programs, Medium::Disk, DURABLE)?;
        Ok(Self { programs, server })
    }

    pub(crate) fn url(&self) -> String {
        (KIND.url)(self.server.port())
    }

    /// Returns the server's answer to a statement.
    pub(crate) fn execute(&self, sql: &str) -> Result<String> {
        let mut psql = Command::new(self.program("psql")?);
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        psql.args(["--set=ON_ERROR_STOP=1", "--command", sql, &self.url()]);
        process::output(&mut psql)
    }

    /// Returns one of the programs that come with the server: beside it, beside the target of its links, or on `PATH`.
    pub(crate) fn program(&self, name: &str) -> Result<PathBuf> {
        let linked = self.programs.join("postgres").canonicalize().ok();
        let folders = [
            Some(self.programs.join(name)),
            linked.map(|server| server.with_file_name(name)),
        ];
        folders
            .into_iter()
            .flatten()
            .find(|program| program.is_file())
            .or_else(|| process::find(name))
            .ok_or_else(|| Error::new(format!("PostgreSQL's {name} is not on this machine: {}", KIND.hint)))
    }

    /// Returns the server's first process, the parent of all others.
    pub(crate) fn process(&self) -> Result<u32> {
        let file = self.server.folder().join("data/postmaster.pid");
        let text = fs::read_to_string(&file).context(|| format!("{} cannot be read", file.display()))?;
        let process = text.lines().next().and_then(|line| line.trim().parse().ok());
        process.ok_or_else(|| Error::new(format!("{} does not begin with a process id", file.display())))
    }
}

/// Logs in. Only a server that is ready answers a start-up message with an `R`, for "authentication"; while it starts, and when
/// it is full, it answers with an error.
fn probe(port: u16) -> io::Result<bool> {
    let mut connection = connect(port)?;
    const PROTOCOL_3_0: u32 = 3 << 16;
    const PARAMETERS: &[u8] = b"user\0postgres\0database\0postgres\0\0";
    let length = u32::try_from(8 + PARAMETERS.len()).map_err(io::Error::other)?;
    let message = [&length.to_be_bytes(), &PROTOCOL_3_0.to_be_bytes(), PARAMETERS].concat();
    connection.write_all(&message)?;
    let mut answer = [0];
    connection.read_exact(&mut answer)?;
    Ok(answer == *b"R")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn the_newest_version_comes_first() {
        let folder = Scratch::new(&std::env::temp_dir(), "versions").unwrap();
        for name in [
            "postgresql@9",
            "postgresql@17",
            "postgresql@15",
            "redis",
            "postgresql@old",
        ] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let expected =
            ["postgresql@17/bin", "postgresql@15/bin", "postgresql@9/bin"].map(|name| folder.path().join(name));
        assert_eq!(versions(folder.path(), "postgresql@"), expected);
    }
}
