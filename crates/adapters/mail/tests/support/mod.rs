//! Shared fixtures of the tests of both mailers.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use forecourt_kernel::{Clock, Mail, MailError, Random, Timestamp};
use forecourt_mail::MessageBuilder;

/// A clock that always shows 2026-01-01T12:34:56Z.
struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::from_epoch_seconds(1_767_270_896)
    }
}

/// A counter, which is enough to distinguish draws.
#[derive(Default)]
struct Counting(AtomicU8);

impl Random for Counting {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill_with(|| self.0.fetch_add(1, Ordering::Relaxed));
    }
}

pub(crate) fn messages() -> MessageBuilder {
    let from = "Forecourt Büro <noreply@example.com>";
    MessageBuilder::new(from, Arc::new(Noon), Arc::new(Counting::default())).unwrap()
}

pub(crate) fn mail() -> Mail {
    Mail {
        to: "ann@dealer.example".into(),
        subject: "Neuer Kontakt: Jörg Müller 🚗".into(),
        text: "Grüße!\n.\nZwei Zeilen – und ein Punkt allein.\n".into(),
        ..Mail::default()
    }
}

/// Asserts that neither the error nor any of its sources names the address, as a log would.
#[track_caller]
pub(crate) fn assert_names_no_person(error: &MailError) {
    let mut shown = format!("{error:?}");
    let mut next: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = next {
        shown.push_str(&format!(" {error} {error:?}"));
        next = error.source();
    }
    assert!(!shown.contains("ann@") && !shown.contains("dealer.example"), "{shown}");
}
