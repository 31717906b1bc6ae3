//! The comparison keys of any contact are short, are the same for the same meaning, and are made without a panic.

use forecourt_contacts::{Address, AddressKeys, BlockKey, DuplicateKind, DuplicateProbe, WholeText};
use forecourt_kernel::{BusinessId, Country};
use proptest::prelude::*;

const MEBIBYTE: usize = 1 << 20;

fn cases(number: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(number)
    }
}

fn key(text: &str) -> String {
    WholeText::new(text).key().to_owned()
}

/// Texts that people write, and texts that they do not.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[A-Za-z0-9 ,.'/-]{0,40}",
        "[a-zéßİǅﬁ０-９\u{300}-\u{30f}\u{200b}-\u{200f} ]{0,40}",
        "[\u{0}-\u{ff}]{0,300}",
    ]
}

fn lines(line1: &str, line2: &str, line3: &str) -> AddressKeys {
    AddressKeys::new(&Address {
        line1: line1.into(),
        line2: line2.into(),
        line3: line3.into(),
        ..Address::default()
    })
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn a_key_fits_every_index(text in text()) {
        prop_assert!(key(&text).len() <= 128);
        prop_assert!(lines(&text, &text, &text).lines.len() <= 128);
    }

    #[test]
    fn texts_that_a_filter_holds_equal_have_the_same_key(text in text()) {
        for other in [text.to_lowercase(), text.to_uppercase()] {
            let wanted = WholeText::new(&text);
            if wanted.matches(&other) {
                prop_assert_eq!(wanted.key(), key(&other));
            }
        }
        prop_assert!(WholeText::new(&text).matches(&text));
    }

    #[test]
    fn punctuation_and_spacing_do_not_matter(words in prop::collection::vec("[a-z0-9]{1,8}", 1..6), gap in "[ ,.;:'\"()/-]{1,4}") {
        prop_assert_eq!(key(&words.join(&gap)), key(&words.concat()));
        prop_assert_eq!(key(&format!("{gap}{}{gap}", words.join(" "))), key(&words.concat()));
        prop_assert_eq!(lines(&words.join(&gap), "", ""), lines(&words.join(" "), "", ""));
    }

    #[test]
    fn where_lines_break_does_not_matter(words in prop::collection::vec("[a-z0-9]{1,8}", 3..7), first in 0..3_usize, second in 0..3_usize) {
        let (head, rest) = words.split_at(first);
        let (middle, end) = rest.split_at(second.min(rest.len()));
        prop_assert_eq!(lines(&head.join(" "), &middle.join(" "), &end.join(" ")), lines(&words.join(" "), "", ""));
    }

    #[test]
    fn a_probe_is_read_or_refused(text in text()) {
        use DuplicateKind::{Address, Company, Email, Name, Phone, Vat};
        for kind in [Email, Phone, Name, Company, Vat, Address] {
            if let Ok(probe) = DuplicateProbe::text(kind, &text, Country::GB) {
                prop_assert_eq!(probe.kind(), kind);
            }
        }
    }
}

#[test]
fn numbers_of_an_address_stay_apart() {
    assert_ne!(lines("1 12 High Street", "", ""), lines("11 2 High Street", "", ""));
    assert_ne!(
        lines("Flat 1", "2 High Street", ""),
        lines("Flat 12", "High Street", "")
    );
    assert_eq!(
        lines("Flat 1/2", "High Street", ""),
        lines("FLAT 1 - 2", "", "HIGH STREET")
    );
    assert_eq!(lines("12A High Street", "", ""), lines("12 a High-Street", "", ""));
}

#[test]
fn a_text_as_long_as_a_body_has_a_key() {
    for piece in ["a", " ", "-", "é", "\u{fdfa}", "a\u{300}\u{316}", "9 "] {
        let text = piece.repeat(MEBIBYTE / piece.len());
        assert!(key(&text).len() <= 128, "{piece:?} and so on");
    }
}

#[test]
fn a_percent_sign_is_an_ordinary_character() {
    let all = WholeText::new("%");
    assert!(all.matches("%") && !all.matches("Ann") && !all.matches(""));
    assert!(WholeText::new("ann lee").matches("ANN LEE"));
    assert!(!WholeText::new("ann lee").matches("Ann-Lee"), "exact but for case");
}

#[test]
fn a_block_is_of_one_business_one_channel_and_one_address() {
    let [ours, theirs] = [1, 11].map(BusinessId::new);
    let key = BlockKey::email(ours, "Ann@Example.com").unwrap();
    assert_eq!(BlockKey::email(ours, "ann@example.com"), Some(key));
    for other in [
        BlockKey::email(theirs, "ann@example.com"),
        BlockKey::sms(ours, "ann@example.com"),
        BlockKey::email(ours, "bob@example.com"),
    ] {
        assert_ne!(other, Some(key));
    }
    assert_eq!((BlockKey::email(ours, ""), BlockKey::sms(ours, "")), (None, None));
    assert!(!format!("{key:?}").contains(char::is_numeric));
}
