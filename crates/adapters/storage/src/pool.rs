//! Types about connections that both engines share.

/// The maximum length of a queue, of one business or of work without one; the next caller is refused.
pub(crate) const MAX_QUEUE: usize = 1000;

/// The use of the connections at this moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStatus {
    /// Connections that are open.
    pub size: usize,
    /// The open connections that are in use.
    pub in_use: usize,
    /// Callers that wait for one.
    pub waiting: usize,
}

/// The number of writes since the start. On SQLite, sessions per commit show how well group commit works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteStats {
    /// Sessions that were committed, by their own account.
    pub sessions: u64,
    /// Commits that the database made for them.
    pub commits: u64,
}
