//! Hostile telephone numbers and email addresses are read or refused. Nothing panics, and a value that is read is safe to store,
//! to compare and to write into a mail.

use std::time::Duration;

use forecourt_kernel::{ContactId, Country, Email, InvalidEmail, InvalidPhone, Person, PersonKeys, Phone};
use phonenumber::metadata::DATABASE;
use proptest::prelude::*;

const MEBIBYTE: usize = 1 << 20;

fn cases(number: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(number)
    }
}

fn country() -> impl Strategy<Value = Country> {
    let letters = || 'A'..='Z';
    let codes = letters().flat_map(|first| letters().map(move |second| format!("{first}{second}")));
    prop::sample::select(codes.filter_map(|code| code.parse().ok()).collect::<Vec<_>>())
}

/// Texts that resemble telephone numbers.
fn phone_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[0-9]{1,20}",
        r"\+[1-9][0-9]{6,14}",
        r"\+?[0-9 ()./-]{0,30}",
        r"(tel:)?\+?[0-9a-fA-F.()-]{0,20}(;(phone-context|ext|isub)=[+0-9a-zA-Z.-]{0,10}){0,3}",
        r"[+＋]{0,3}[0-9٠-٩０-９]{0,20}( ?(x|ext|extn?\.?|#|доб|～) ?[0-9]{0,8})?",
        r"[0-9+*#;:xX\u{0}\u{2010}\u{3000}\u{200b}-]{0,24}",
    ]
}

/// Texts that resemble email addresses.
fn email_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        r"[a-z.+']{0,70}@[a-z0-9.-]{0,80}",
        r"[\x00-\x7f]{0,8}@[\x00-\x7f]{0,8}",
        r"[a-z]{1,3}@[\x00-\x20a-z]{0,4}\[[0-9a-f:.]{0,15}\]",
        r"[a-zé]{1,3}@[\u{80}-\u{ffff}]{1,5}\.[a-zé]{2,3}",
    ]
}

proptest! {
    #![proptest_config(cases(2000))]

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

    #[test]
    fn an_email_is_refused_or_one_word_with_a_name_and_a_domain(text in email_text()) {
        if let Ok(email) = text.parse::<Email>() {
            let email = email.into_string();
            let (name, domain) = email.rsplit_once('@').unwrap();
            prop_assert!(!name.is_empty() && !domain.is_empty(), "{email:?}");
            prop_assert!(!email.contains(|character: char| character.is_whitespace() || character.is_control()), "{email:?}");
            prop_assert!(!name.contains(['<', '>', ',', ';', '"', '@']), "{email:?}");
            prop_assert!(!domain.contains(['<', '>', ',', ';', '"', '@']), "{email:?}");
        }
    }
}

#[test]
fn the_examples_of_every_plan_are_read() {
    for plan in DATABASE.iter() {
        let kinds = plan.descriptors();
        let example = |kind: Option<&'static phonenumber::metadata::Descriptor>| kind.and_then(|kind| kind.example());
        let (fixed_line, mobile) = (example(kinds.fixed_line()), example(kinds.mobile()));
        let free = [example(kinds.toll_free()), example(kinds.voip()), example(kinds.uan())];
        for national in [fixed_line, mobile].into_iter().chain(free).flatten() {
            let e164 = format!("+{}{national}", plan.country_code());
            assert_eq!(Phone::parse(&e164, Country::GB).as_ref().map(Phone::as_str), Ok(&*e164));
        }
        // Some plans belong to no country, or to a part of one.
        let Ok(home) = plan.id().parse() else { continue };
        let prefix = plan.national_prefix().unwrap_or_default();
        for (national, prefix) in [(fixed_line, prefix), (fixed_line, ""), (mobile, "")] {
            let Some(national) = national else { continue };
            let dialled = format!("{prefix}{national}");
            let e164 = format!("+{}{national}", plan.country_code());
            let read = Phone::parse(&dialled, home);
            assert_eq!(read.as_ref().map(Phone::as_str), Ok(&*e164), "{dialled} in {home}");
        }
    }
}

#[test]
fn odd_spellings_of_a_number_are_one_number() {
    for text in [
        "+44 7700 900123",
        "＋44 7700 900123",
        "(+44) 7700 900123",
        "+44 (0)7700 900123",
        "0044 (0) 7700 900 123",
        "44 7700 900123",
        "7700900123",
        "07700.900.123",
        "07700/900123",
        "07700\u{a0}900\u{2011}123",
        "\u{202a}07700 900123\u{202c}",
        "tel:+447700900123",
        "07700 900123 x12",
        "07700 900123 ext. 12",
        "07700900123#12",
        "07700 900123 Extension: 12",
    ] {
        let read = Phone::parse(text, Country::GB).map(Phone::into_string);
        assert_eq!(read.as_deref(), Ok("+447700900123"), "{text:?}");
    }
}

#[test]
fn a_number_is_read_by_the_plan_of_its_own_country() {
    for (text, country, e164) in [
        // In Italy the zero belongs to the number.
        ("+39 06 1234 5678", "GB", "+390612345678"),
        ("0039 06 1234 5678", "GB", "+390612345678"),
        ("011 39 06 1234 5678", "US", "+390612345678"),
        ("06 1234 5678", "IT", "+390612345678"),
        ("+44 (0)7700 900123", "IT", "+447700900123"),
        // In Russia the prefix is an eight, and numbers may begin with an eight too.
        ("+7 812 123-45-67", "GB", "+78121234567"),
        ("812 123-45-67", "RU", "+78121234567"),
        ("8 (812) 123-45-67", "RU", "+78121234567"),
        // Countries that share a code.
        ("+1 246 234 5678", "GB", "+12462345678"),
        ("+44 1534 456789", "US", "+441534456789"),
        // The prefix of a mobile number replaces another one.
        ("011 15-2345-6789", "AR", "+5491123456789"),
        // A territory without a plan.
        ("+44 7700 900123", "AQ", "+447700900123"),
    ] {
        let read = Phone::parse(text, country.parse().unwrap()).map(Phone::into_string);
        assert_eq!(read.as_deref(), Ok(e164), "{text:?} in {country}");
    }
}

#[test]
fn what_is_more_or_less_than_a_number_is_refused() {
    for text in [
        "07700 90012",
        "07700 9001234",
        "+44 7700 90012",
        "+44 7700 9001234",
        "1 415 555 2671",
        // Would be a number with the area code of one of the countries that share the code.
        "+1 455 1234",
        "call me on 07700 900123",
        "07700 900123 (home)",
        "07700 900123 or 07700 900124",
        "07700 900123, 07700 900124",
        "abc07700900123xyz",
        "0800 FLOWERS",
        "07700 900123 <script>",
        "ann@example.com 07700 900123",
        "++447700900123",
        "07700+900123",
        "x12",
        "+",
        "999",
    ] {
        assert_eq!(Phone::parse(text, Country::GB), Err(InvalidPhone), "{text:?}");
    }
    assert_eq!(Phone::parse("123456", "AQ".parse().unwrap()), Err(InvalidPhone));
}

#[test]
fn a_number_as_long_as_a_body_is_refused() {
    for piece in ["1", "x", "1 ext ", "+", "1(", " ", "-", "٣"] {
        let text = piece.repeat(MEBIBYTE / piece.len());
        assert_eq!(
            Phone::parse(&text, Country::GB),
            Err(InvalidPhone),
            "{piece:?} and so on"
        );
    }
}

#[test]
fn what_could_steer_a_mail_is_no_address() {
    for text in [
        "ann@example.com\r\nBcc: bob@example.com",
        "ann\n@example.com",
        "ann@x\r\nBcc: bob [192.0.2.1]",
        "ann@evil [192.0.2.1]",
        "ann@evil[192.0.2.1]",
        "ann@exa\u{0}mple.com",
        "<ann@example.com>",
        "Ann <ann@example.com>",
        "ann@example.com, bob@example.com",
        "\"ann smith\"@example.com",
        "ann@example.com>",
    ] {
        assert_eq!(text.parse::<Email>(), Err(InvalidEmail), "{text:?}");
    }
}

#[test]
fn unusual_addresses_are_addresses() {
    for text in [
        "o'neill+cars@example.co.uk",
        "ann@exämple.com",
        "ann@xn--exmple-cua.com",
        "ann@[192.0.2.1]",
        "ann@[2001:db8::1]",
    ] {
        assert_eq!(text.parse::<Email>().map(Email::into_string).as_deref(), Ok(text));
    }
}

#[test]
fn an_address_as_long_as_a_body_is_refused() {
    for text in [
        "a".repeat(MEBIBYTE),
        "@".repeat(MEBIBYTE),
        format!("a@{}com", "a.".repeat(MEBIBYTE / 2)),
    ] {
        assert_eq!(text.parse::<Email>(), Err(InvalidEmail));
    }
}

#[test]
#[expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the domain has no clock, but its test measures it"
)]
fn many_values_of_a_person_cost_no_more_than_one() {
    let mut keys = PersonKeys::new(ContactId::new(7));
    for length in 1..=250 {
        keys.add_name("a ".repeat(length).trim());
    }
    let person = Person::new(&keys).unwrap();
    let began = std::time::Instant::now();
    let mut text = "a ".repeat(32 * 1024) + "b";
    assert!(person.redact(&mut text));
    assert!(began.elapsed() < Duration::from_secs(60));
    assert_eq!(text.matches('a').count(), 0);
}
