//! The passwords that customers log in with.

use std::fmt;

use forecourt_kernel::{BoxError, Random};

use crate::ContactError;

/// Letters and digits, without those that are read or typed for one another (0 O, 1 I l).
const ALPHABET: &[u8; 57] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// The number of byte values that stand for characters equally often; the others are drawn again.
const FAIR: usize = 256 / ALPHABET.len() * ALPHABET.len();

const DRAWN_AT_ONCE: usize = 32;

/// How often bytes are drawn at most. A sound source needs one or two; only a broken one ends here.
const MOST_DRAWS: usize = 32;

/// A password in the clear: 16 characters of a safe alphabet (decisions §6). Shown or mailed once, never stored or logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// How many characters it has.
    pub const CHARS: usize = 16;

    /// Draws a password, each one as likely as any other.
    ///
    /// # Errors
    /// [`NotRandom`] if the source gives nothing of use.
    pub fn draw(random: &dyn Random) -> Result<Self, NotRandom> {
        let mut password = String::with_capacity(Self::CHARS);
        let mut bytes = [0; DRAWN_AT_ONCE];
        for _ in 0..MOST_DRAWS {
            random.fill(&mut bytes);
            for byte in bytes {
                let value = usize::from(byte);
                if value < FAIR {
                    password.push(char::from(ALPHABET[value % ALPHABET.len()]));
                }
                if password.len() == Self::CHARS {
                    return Ok(Self(password));
                }
            }
        }
        Err(NotRandom)
    }

    /// The password as text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Says nothing of the password.
impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// The source of randomness is broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the source of randomness gives nothing to make a password of")]
pub struct NotRandom;

/// What is kept of a password: its Argon2id hash, with salt and parameters, in PHC form.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// Takes a hash from a hasher or from storage.
    pub const fn from_phc(text: String) -> Self {
        Self(text)
    }

    /// The hash in PHC form.
    pub fn as_phc(&self) -> &str {
        &self.0
    }
}

/// Says nothing of the hash.
impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// Hashes passwords. It takes much time and memory on purpose: never call it on a thread that others wait for, nor while a
/// transaction is open.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait PasswordHasher: Send + Sync {
    /// The hash of `password` with `salt`.
    ///
    /// # Errors
    /// If it cannot be made, for instance because memory is exhausted.
    fn hash(&self, password: &Password, salt: &[u8; 16]) -> Result<PasswordHash, BoxError>;
}

/// Makes a password and its hash, for [`reset_password`](crate::reset_password) or a login mail. As slow as `hasher`.
///
/// # Errors
/// [`ContactError::PasswordUnavailable`].
pub fn make_password(
    random: &dyn Random,
    hasher: &dyn PasswordHasher,
) -> Result<(Password, PasswordHash), ContactError> {
    let password = Password::draw(random).map_err(|error| ContactError::PasswordUnavailable(error.into()))?;
    let mut salt = [0; 16];
    random.fill(&mut salt);
    let hash = hasher
        .hash(&password, &salt)
        .map_err(ContactError::PasswordUnavailable)?;
    Ok((password, hash))
}

#[cfg(feature = "argon2")]
mod hashing {
    use argon2::{Algorithm, Argon2, Params, PasswordHasher as _, Version};

    use super::{BoxError, Password, PasswordHash, PasswordHasher};

    /// Argon2id with the parameters that OWASP's Password Storage Cheat Sheet names first for little memory: 19 MiB, two
    /// passes, one lane.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct Argon2idHasher;

    const MEMORY_KIB: u32 = 19 * 1024;
    const PASSES: u32 = 2;
    const LANES: u32 = 1;

    impl PasswordHasher for Argon2idHasher {
        fn hash(&self, password: &Password, salt: &[u8; 16]) -> Result<PasswordHash, BoxError> {
            let params = Params::new(MEMORY_KIB, PASSES, LANES, None)?;
            let argon2id = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
            let hash = argon2id.hash_password_with_salt(password.reveal().as_bytes(), salt)?;
            Ok(PasswordHash::from_phc(hash.to_string()))
        }
    }
}

#[cfg(feature = "argon2")]
pub use hashing::Argon2idHasher;
