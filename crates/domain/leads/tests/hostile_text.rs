//! Whatever a caller sends as a telephone number or an email address, it is read or refused; nothing panics, and what is
//! read is safe to store, to compare and to write into a mail.

use forecourt_kernel::Country;
use forecourt_leads::{Email, InvalidPhone, Phone};
use proptest::prelude::*;

/// The two-letter texts that are countries.
fn countries() -> Vec<Country> {
    let letters = || 'A'..='Z';
    letters()
        .flat_map(|first| letters().map(move |second| format!("{first}{second}")))
        .filter_map(|code| code.parse().ok())
        .collect()
}

fn country() -> impl Strategy<Value = Country> {
    prop::sample::select(countries())
}

/// Texts that look like telephone numbers to a varying degree.
fn phone_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[0-9]{1,20}",
        r"\+?[0-9 ()./-]{0,30}",
        r"(tel:)?\+?[0-9a-fA-F.()-]{0,20}(;(phone-context|ext|isub)=[+0-9a-zA-Z.-]{0,10}){0,3}",
        r"[+＋]{0,3}[0-9٠-٩０-９]{0,20}( ?(x|ext|extn?\.?|#|доб|～) ?[0-9]{0,8})?",
        r"[0-9+*#;:xX\u{0}\u{2010}\u{3000}\u{200b}-]{0,24}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_phone_is_refused_or_in_e164(text in phone_text(), country in country()) {
        if let Ok(phone) = Phone::parse(&text, country) {
            let digits = phone.as_str().strip_prefix('+').unwrap_or_default();
            prop_assert!(digits.bytes().all(|byte| byte.is_ascii_digit()), "{text:?} became {phone:?}");
            prop_assert!((1..=15).contains(&digits.len()), "{text:?} became {phone:?}");
            prop_assert!(!digits.starts_with('0'), "{text:?} became {phone:?}");
        }
    }

    #[test]
    fn a_phone_in_e164_reads_the_same_everywhere(text in phone_text(), home in country(), abroad in country()) {
        if let Ok(phone) = Phone::parse(&text, home) {
            prop_assert_eq!(Phone::parse(phone.as_str(), abroad), Ok(phone), "{:?}", text);
        }
    }
}
