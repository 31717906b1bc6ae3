//! The servers that use a database.

use forecourt_kernel::Timestamp;

/// A server as it announces itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerReport {
    /// A number that no other server has, drawn at its start.
    pub id: i64,
    /// The name of its machine.
    pub host: String,
    /// Its process there.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// The time of its start.
    pub started: Timestamp,
    /// Its observations of its own work, as JSON for those who look after it.
    pub report: String,
}

/// A server that has renewed its row within the last 30 seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningServer {
    /// The server.
    pub server: ServerReport,
    /// The time at which it last renewed its row.
    pub seen: Timestamp,
    /// The milliseconds by which its clock was ahead of the database's then; `None` if the database has no clock of its own.
    pub clock_offset: Option<i64>,
}

/// Returns the time in seconds by the database's clock, given this process's own and the milliseconds by which that is ahead.
pub(crate) fn database_seconds(own_millis: i64, offset: Option<i64>) -> i64 {
    (own_millis - offset.unwrap_or(0)).div_euclid(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_stamped_by_the_databases_clock() {
        assert_eq!(database_seconds(100_999, None), 100);
        assert_eq!(database_seconds(100_999, Some(1_000)), 99);
        assert_eq!(database_seconds(100_999, Some(-10_000)), 110);
    }
}
