//! The readable part of a public page's address.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Maximum length of a slug.
pub(crate) const MAX_CHARS: usize = 200;

/// Joins the words of `parts` into a slug: lowercase ASCII letters and digits, with a single hyphen between words. Letters lose
/// their accents, `&` becomes "and", and every other character separates words. A slug that grows too long ends with the last
/// word that fits in 200 characters.
///
/// It is empty if the parts have no letter or digit that can be written in ASCII.
pub fn slug<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    slug_within(MAX_CHARS, parts)
}

/// As [`slug`], with at most `max_chars` characters.
pub(crate) fn slug_within<'a>(max_chars: usize, parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut plain = String::new();
    for part in parts {
        plain.push(' ');
        for character in part.nfkd().filter(|character| !is_combining_mark(*character)) {
            for character in character.to_lowercase() {
                match spelt_out(character) {
                    Some(letters) => plain.push_str(letters),
                    None => plain.push(character),
                }
            }
        }
    }

    let mut slug = String::new();
    let words = plain.split(|character: char| !character.is_ascii_alphanumeric());
    for word in words.filter(|word| !word.is_empty()) {
        if slug.is_empty() {
            slug.extend(word.chars().take(max_chars));
        } else if slug.len() + 1 + word.len() <= max_chars {
            slug.push('-');
            slug.push_str(word);
        } else {
            break;
        }
    }
    slug
}

/// Returns the replacement of a character that Unicode does not decompose into an ASCII letter and marks.
fn spelt_out(lowercase: char) -> Option<&'static str> {
    Some(match lowercase {
        '&' => " and ",
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'đ' | 'ð' => "d",
        'þ' => "th",
        'ħ' => "h",
        'ł' => "l",
        'ŧ' => "t",
        'ı' => "i",
        'ŋ' => "n",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_joined_by_hyphens() {
        assert_eq!(
            slug(["2019", "BMW", "3 Series", "320d M Sport", "KQVRK"]),
            "2019-bmw-3-series-320d-m-sport-kqvrk"
        );
        assert_eq!(slug(["  --Up!  ", "", "1.0 / 60 PS--"]), "up-1-0-60-ps");
    }

    #[test]
    fn what_is_not_ascii_is_spelt_as_well_as_can_be() {
        for (text, expected) in [
            ("Citroën", "citroen"),
            ("Škoda", "skoda"),
            ("SKODA S\u{30c}", "skoda-s"),
            ("Moto-Guzzi V7 Stornello Spéciale", "moto-guzzi-v7-stornello-speciale"),
            ("Größe GROẞ", "grosse-gross"),
            ("Łódź Ærø Þór Đ İı", "lodz-aero-thor-d-ii"),
            ("Ｆｕｌｌ ﬁt", "full-fit"),
            ("Лада Niva", "niva"),
            ("日本", ""),
            ("", ""),
        ] {
            assert_eq!(slug([text]), expected, "{text}");
        }
    }

    #[test]
    fn an_ampersand_is_a_word() {
        assert_eq!(slug(["R&D", "Fish & Chips", "&"]), "r-and-d-fish-and-chips-and");
    }

    #[test]
    fn a_long_slug_ends_with_a_word() {
        assert_eq!(slug(["word"].repeat(50)), ["word"; 40].join("-"));
        assert_eq!(slug(["a".repeat(199).as_str(), "bc"]), "a".repeat(199));
        assert_eq!(
            slug(["a".repeat(198).as_str(), "b", "c"]),
            format!("{}-b", "a".repeat(198))
        );
        assert_eq!(slug(["a".repeat(300).as_str(), "b"]), "a".repeat(200));
    }

    proptest! {
        #[test]
        fn any_text_gives_a_slug_which_is_its_own_slug(parts: Vec<String>, words in "[ a-zA-Zé&!]{0,400}") {
            let texts = parts.iter().map(String::as_str).chain([words.as_str()]);
            let slug = super::slug(texts);
            prop_assert!(slug.len() <= MAX_CHARS);
            prop_assert!(slug.is_empty() || slug.split('-').all(|word| {
                !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            }), "{slug}");
            prop_assert_eq!(super::slug([slug.as_str()]), slug);
        }
    }
}
