//! All kinds of mails that the program sends.

use forecourt_accounts::MailKind;

/// Returns the mails of all areas, whose text businesses can change.
pub(crate) fn mail_kinds() -> Vec<&'static MailKind> {
    let areas = [
        forecourt_leads::MAILS,
        forecourt_contacts::MAILS,
        forecourt_vehicles::MAILS,
        forecourt_billing::MAILS,
        forecourt_appointments::MAILS,
        forecourt_webhooks::MAILS,
    ];
    areas.concat()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write as _;

    use super::*;

    const PAGE: &str = include_str!("../../../docs/mail-texts.md");

    #[test]
    fn every_mail_has_a_name_of_its_own_and_words_in_every_language() {
        let kinds = mail_kinds();
        let names: BTreeSet<_> = kinds.iter().map(|kind| kind.name).collect();
        assert_eq!(names.len(), kinds.len());
        for kind in kinds {
            assert_eq!(kind.faults().as_slice(), [], "{}", kind.name);
            let languages: Vec<_> = kind.files.iter().map(|(language, _)| *language).collect();
            assert_eq!(languages, ["de", "en", "fr"]);
        }
    }

    #[test]
    fn the_page_for_operators_lists_every_mail_with_its_placeholders_and_its_english_words() {
        for kind in mail_kinds() {
            let mut section = format!("### `{}`\n\n{}\n\n", kind.name, kind.purpose);
            section.push_str("| placeholder | is replaced by |\n| --- | --- |\n");
            for placeholder in kind.placeholders {
                let _ = write!(section, "| `{}`", placeholder.name);
                if placeholder.is_required {
                    section.push_str(" (required)");
                }
                let _ = writeln!(section, " | {} |", placeholder.meaning);
            }
            let english = kind.files.iter().find(|(language, _)| *language == "en");
            let _ = write!(section, "\n```text\n{}```\n", english.unwrap().1);
            assert!(PAGE.contains(&section), "docs/mail-texts.md lacks this:\n\n{section}");
        }
    }
}
