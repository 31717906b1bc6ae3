//! The port for the randomness of secrets and identifiers.

/// A cryptographically strong source of random bytes.
pub trait Random: Send + Sync {
    /// Fills the whole `buffer`.
    fn fill(&self, buffer: &mut [u8]);
}
