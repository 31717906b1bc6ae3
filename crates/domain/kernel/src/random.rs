//! The port through which secrets and identifiers get their randomness.

/// A cryptographically strong source of random bytes.
pub trait Random: Send + Sync {
    /// Fills the whole of `buffer`.
    fn fill(&self, buffer: &mut [u8]);
}
