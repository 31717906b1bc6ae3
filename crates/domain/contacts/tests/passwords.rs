//! Passwords: drawn fairly, hashed slowly, never revealed.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use forecourt_contacts::{Argon2idHasher, ContactError, NotRandom, Password, PasswordHasher, make_password};
use forecourt_kernel::Random;

/// A source that repeats all byte values in order.
#[derive(Default)]
struct Counting(AtomicU64);

impl Random for Counting {
    fn fill(&self, buffer: &mut [u8]) {
        for byte in buffer {
            *byte = self.0.fetch_add(1, Ordering::Relaxed).to_le_bytes()[0];
        }
    }
}

/// A source that always gives the same value.
struct Stuck(u8);

impl Random for Stuck {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill(self.0);
    }
}

/// A source that gives this value, then zeros.
struct First(u8);

impl Random for First {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill(0);
        if let Some(first) = buffer.first_mut() {
            *first = self.0;
        }
    }
}

#[test]
fn every_character_is_as_likely_as_any_other() {
    let mut drawn = BTreeMap::<char, u32>::new();
    for value in 0..=u8::MAX {
        let password = Password::draw(&First(value)).unwrap();
        assert_eq!(password.reveal().len(), Password::CHARS);
        *drawn.entry(password.reveal().chars().next().unwrap()).or_default() += 1;
    }
    // A value that would favour some characters is skipped, and the zero after it is taken.
    let passed_over = 256 % 57;
    assert_eq!(drawn.remove(&'2'), Some(4 + passed_over));
    assert_eq!(drawn.len(), 56);
    for (character, count) in drawn {
        assert_eq!(count, 4, "{character}");
        assert!(character.is_ascii_alphanumeric() && !['0', 'O', '1', 'I', 'l'].contains(&character));
    }
}

#[test]
fn a_broken_source_is_an_error_and_no_endless_loop() {
    assert_eq!(Password::draw(&Stuck(255)), Err(NotRandom));
    assert_eq!(Password::draw(&Stuck(228)), Err(NotRandom));
    assert!(Password::draw(&Stuck(227)).is_ok());
    let outcome = make_password(&Stuck(255), &Argon2idHasher);
    assert!(matches!(outcome, Err(ContactError::PasswordUnavailable(_))));
}

#[test]
fn the_hash_is_argon2id_and_verifies() {
    use argon2::{Argon2, PasswordVerifier, password_hash::phc};
    let random = Counting::default();
    let (password, hash) = make_password(&random, &Argon2idHasher).unwrap();
    assert!(
        hash.as_phc().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
        "{}",
        hash.as_phc()
    );
    let stored = phc::PasswordHash::new(hash.as_phc()).unwrap();
    let verify = |text: &str| Argon2::default().verify_password(text.as_bytes(), &stored);
    assert!(verify(password.reveal()).is_ok());
    assert!(verify("2222222222222222").is_err());
    let again = Argon2idHasher.hash(&password, &[7; 16]).unwrap();
    assert_ne!(again, hash, "the salt counts");
    let shown = format!("{password:?} {hash:?}");
    assert!(
        !shown.contains(password.reveal()) && !shown.contains("argon2id"),
        "{shown}"
    );
}
