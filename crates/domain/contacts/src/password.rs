//! Passwords of customers.

use std::fmt;

use forecourt_kernel::{BoxError, Random};

use crate::ContactError;

/// Letters and digits, without those that are easily confused (0 O, 1 I l).
const ALPHABET: &[u8; 57] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// The number of byte values that give each character equal probability. The other values are drawn again.
const FAIR: usize = 256 / ALPHABET.len() * ALPHABET.len();

const DRAWN_AT_ONCE: usize = 32;

/// The maximum number of draws. A sound source needs one or two; only a broken one reaches the limit.
const MAX_DRAWS: usize = 32;

/// A password in clear text: 16 characters of a safe alphabet (decisions §6). It is shown or mailed once, and never stored or
/// logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// The number of characters.
    pub const CHARS: usize = 16;

    /// Draws a password. All passwords are equally likely.
    ///
    /// # Errors
    /// [`NotRandom`] if the source does not give enough usable bytes.
    pub fn draw(random: &dyn Random) -> Result<Self, NotRandom> {
        let mut password = String::with_capacity(Self::CHARS);
        let mut bytes = [0; DRAWN_AT_ONCE];
        for _ in 0..MAX_DRAWS {
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

/// Shows nothing of the password.
impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// The source of randomness is broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the source of randomness gives nothing to make a password of")]
pub struct NotRandom;

/// The stored form of a password: its Argon2id hash, with salt and parameters, in PHC form.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// Wraps a hash that comes from a hasher or from storage.
    pub const fn from_phc(text: String) -> Self {
        Self(text)
    }

    /// The hash in PHC form.
    pub fn as_phc(&self) -> &str {
        &self.0
    }
}

/// Shows nothing of the hash.
impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// Hashes passwords. It takes much time and memory on purpose: never call it on a thread that other work waits for, nor while a
/// transaction is open.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait PasswordHasher: Send + Sync {
    /// Hashes `password` with `salt`.
    ///
    /// # Errors
    /// If hashing fails, for instance because memory is exhausted.
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

    /// Argon2id with the first parameters that OWASP's Password Storage Cheat Sheet gives for little memory: 19 MiB, two passes,
    /// one lane.
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
