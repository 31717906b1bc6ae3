//! The texts of mails: those of the program, and those of the business.
//!
//! An area declares each mail that it sends with [`mail_kind!`](crate::mail_kind), which lists its placeholders and their
//! meaning. The built-in texts are files of that area, one for each language. A business can have its own texts in its settings.
//! Both are [`Template`]s.

use std::{borrow::Cow, collections::BTreeMap};

use forecourt_kernel::{Line, LongText, Mail, ValidationErrors, bounds::is_line_break, quoted};
use serde::{Deserialize, Serialize};

use crate::{Business, Settings, Template};

/// The language that every mail has a text in.
const ENGLISH: &str = "en";

/// The maximum number of uses of one placeholder in a text, since values can be long.
const MAX_USES: usize = 5;

/// A mail that an area sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MailKind {
    /// The mail's name in the settings of businesses.
    pub name: &'static str,
    /// The occasion of the mail and its recipient.
    pub purpose: &'static str,
    /// The placeholders that its texts can use.
    pub placeholders: &'static [Placeholder],
    /// The built-in texts: languages, as ISO 639-1 codes, each with a file that begins with the line `Subject: …` and an empty
    /// one.
    pub files: &'static [(&'static str, &'static str)],
}

/// A placeholder in the texts of a mail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placeholder {
    /// Its name.
    pub name: &'static str,
    /// The description of its value.
    pub meaning: &'static str,
    /// Set if the mail is useless without it.
    pub is_required: bool,
    /// Set if it may not be used in a subject, which is logged by mail servers and shown on locked screens.
    pub is_secret: bool,
    /// Set if its value may have several lines. The lines of any other value are joined, so that it adds no lines to the mail.
    pub has_lines: bool,
}

impl Placeholder {
    /// An optional placeholder.
    pub const fn new(name: &'static str, meaning: &'static str) -> Self {
        Self {
            name,
            meaning,
            is_required: false,
            is_secret: false,
            has_lines: false,
        }
    }

    /// Makes it a placeholder that every text must have.
    #[must_use]
    pub const fn required(self) -> Self {
        Self {
            is_required: true,
            ..self
        }
    }

    /// Makes it a placeholder whose value may have several lines.
    #[must_use]
    pub const fn lines(self) -> Self {
        Self {
            has_lines: true,
            ..self
        }
    }

    /// Makes it a placeholder that a subject must not have.
    #[must_use]
    pub const fn secret(self) -> Self {
        Self {
            is_secret: true,
            ..self
        }
    }
}

/// The values of a mail's placeholders. [`mail_kind!`](crate::mail_kind) declares the types that implement it.
pub trait MailContent {
    /// The kind of the mail.
    const KIND: &'static MailKind;

    /// The value of the placeholder of that name; empty if there is none.
    fn value(&self, placeholder: &str) -> &str;
}

/// A business's own text of a mail. The built-in text is used for what it leaves out.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MailWording {
    /// The template of the subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The template of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A business's own texts of mails, by language and kind of mail.
pub type MailTexts = BTreeMap<String, BTreeMap<String, MailWording>>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum MailPart {
    Subject,
    Text,
}

impl MailPart {
    fn name(self) -> &'static str {
        match self {
            Self::Subject => "subject",
            Self::Text => "text",
        }
    }

    /// Returns the fault in the characters of a template for this part, or in their number.
    fn fault(self, template: &str) -> Option<String> {
        let is_line_break_or_tab = |character| matches!(character, '\n' | '\r' | '\t');
        let (is_allowed, message, bounds) = match self {
            Self::Subject => (
                !template.contains(char::is_control),
                "must be one line, without control characters",
                Line::check(template),
            ),
            Self::Text => (
                !template.contains(|character: char| character.is_control() && !is_line_break_or_tab(character)),
                "must not contain control characters other than line breaks and tabs",
                LongText::check(template),
            ),
        };
        if !is_allowed {
            return Some(message.to_owned());
        }
        bounds.err().map(|error| error.to_string())
    }
}

impl MailKind {
    /// Converts a value to the form in which the mail shows it.
    fn shown<'v>(&self, name: &str, value: &'v str) -> Cow<'v, str> {
        let has_lines = |placeholder: &Placeholder| placeholder.name == name && placeholder.has_lines;
        if !value.contains(is_line_break) || self.placeholders.iter().any(has_lines) {
            return Cow::Borrowed(value);
        }
        let lines = value
            .split(is_line_break)
            .map(str::trim)
            .filter(|line| !line.is_empty());
        Cow::Owned(lines.collect::<Vec<_>>().join(" "))
    }

    /// Returns the built-in texts in that language.
    fn built_in(&self, language: &str) -> Option<[&'static str; 2]> {
        let (_, file) = self.files.iter().find(|(name, _)| *name == language)?;
        let (subject, text) = file.strip_prefix("Subject: ")?.split_once("\n\n")?;
        Some([subject, text])
    }

    /// Returns the faults in the built-in texts. The program's tests make sure that there are none.
    pub fn faults(&self) -> ValidationErrors {
        let mut errors = ValidationErrors::new();
        for (language, _) in self.files {
            let place = format!("{language}.{}", self.name);
            match self.built_in(language) {
                Some([subject, text]) => {
                    self.validate(MailPart::Subject, subject, &place, &mut errors);
                    self.validate(MailPart::Text, text, &place, &mut errors);
                }
                None => errors.add(place, "must begin with a line for the subject, and an empty one"),
            }
        }
        errors
    }

    fn validate(&self, part: MailPart, template: &str, place: &str, errors: &mut ValidationErrors) {
        let place = format!("{place}.{}", part.name());
        let mut add = |fault: String| errors.add(&place, fault);
        if let Some(fault) = part.fault(template) {
            add(fault);
        }
        if template.trim().is_empty() {
            return add("must not be empty".to_owned());
        }
        match Template::parse(template) {
            Ok(template) => self.placeholder_faults(part, &template).into_iter().for_each(add),
            Err(error) => add(error.to_string()),
        }
    }

    /// Returns the faults in the placeholders that a template uses or lacks.
    fn placeholder_faults(&self, part: MailPart, template: &Template) -> Vec<String> {
        let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
        for name in template.names() {
            *uses.entry(name).or_default() += 1;
        }
        let uses = uses.into_iter();
        let mut faults: Vec<String> = uses
            .filter_map(|(name, count)| self.use_fault(part, name, count))
            .collect();
        if part == MailPart::Text {
            let required = self.placeholders.iter().filter(|placeholder| placeholder.is_required);
            let missing = required.filter(|placeholder| !template.always_shows(placeholder.name));
            faults.extend(missing.map(|placeholder| {
                let name = placeholder.name;
                format!("must show {{{{{name}}}}}, outside of sections of others")
            }));
        }
        faults
    }

    /// Returns the fault in using the placeholder of that name `count` times.
    fn use_fault(&self, part: MailPart, name: &str, count: usize) -> Option<String> {
        let quoted_name = quoted(name);
        let Some(placeholder) = self.placeholders.iter().find(|placeholder| placeholder.name == name) else {
            let known: Vec<&str> = self.placeholders.iter().map(|placeholder| placeholder.name).collect();
            let known = known.join(", ");
            return Some(format!("has the placeholder {quoted_name}; this mail has {known}"));
        };
        if placeholder.is_secret && part == MailPart::Subject {
            return Some(format!("must not have {quoted_name}, which belongs into the text"));
        }
        (count > MAX_USES).then(|| format!("has {quoted_name} more than {MAX_USES} times"))
    }
}

impl Business {
    /// Makes a mail to that address. It is in the business's language if there is a text in it, and otherwise in English. The
    /// business's own text takes precedence over the built-in one.
    pub fn mail<C: MailContent>(&self, to: impl Into<String>, content: &C) -> Mail {
        let [subject, text] = [MailPart::Subject, MailPart::Text].map(|part| self.words(part, content));
        Mail::new(to, &subject, &text)
    }

    fn words<C: MailContent>(&self, part: MailPart, content: &C) -> String {
        let Settings {
            language, mail_texts, ..
        } = &self.settings;
        let languages = [language.as_deref().unwrap_or(ENGLISH), ENGLISH];
        let templates = languages.into_iter().flat_map(|language| {
            let own = mail_texts
                .as_ref()
                .and_then(|texts| texts.get(language)?.get(C::KIND.name))
                .and_then(|MailWording { subject, text }| match part {
                    MailPart::Subject => subject.as_deref(),
                    MailPart::Text => text.as_deref(),
                });
            let built_in = C::KIND.built_in(language).map(|[subject, text]| match part {
                MailPart::Subject => subject,
                MailPart::Text => text,
            });
            [own, built_in].into_iter().flatten()
        });
        templates
            // Templates that another release accepted and this one does not are ignored.
            .filter_map(|template| Template::parse(template).ok())
            .map(|template| template.render(|name| C::KIND.shown(name, content.value(name))))
            .find(|text| !text.trim().is_empty())
            .unwrap_or_default()
    }
}

/// Adds the faults in a business's settings of mails. `kinds` are all kinds of mail.
pub(crate) fn validate_mails(settings: &Settings, kinds: &[&MailKind], errors: &mut ValidationErrors) {
    let texts = settings.mail_texts.iter().flatten();
    for (language, texts) in texts.clone() {
        let place = format!("settings.mail_texts.{language}");
        if language.len() != 2 || !language.bytes().all(|byte| byte.is_ascii_lowercase()) {
            errors.add(
                &place,
                "must be a language's two lowercase letters (ISO 639-1), such as en",
            );
        }
        for (name, wording) in texts {
            let place = format!("{place}.{name}");
            let Some(kind) = kinds.iter().find(|kind| kind.name == name) else {
                let known: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
                errors.add(&place, format!("is no mail; there are {}", known.join(", ")));
                continue;
            };
            let MailWording { subject, text } = wording;
            if subject.is_none() && text.is_none() {
                errors.add(&place, "must have a subject or a text");
            }
            if let Some(subject) = subject {
                kind.validate(MailPart::Subject, subject, &place, errors);
            }
            if let Some(text) = text {
                kind.validate(MailPart::Text, text, &place, errors);
            }
        }
    }
    if let Some(language) = &settings.language {
        let built_in = kinds
            .iter()
            .flat_map(|kind| kind.files.iter().map(|(language, _)| *language));
        let own = texts.map(|(language, _)| language.as_str());
        let known: std::collections::BTreeSet<&str> = built_in.chain(own).collect();
        if !known.contains(language.as_str()) {
            let known: Vec<&str> = known.into_iter().collect();
            let known = known.join(", ");
            let message = format!("must be one of {known}, or a language that settings.mail_texts has");
            errors.add("settings.language", message);
        }
    }
}

/// Declares a mail that the area sends: the type of its content, its name in the settings, and its placeholders. The built-in
/// texts are the files `data/mails/<language>/<name>.txt` of the crate, for each language that the program knows. The comments on
/// the mail and on its placeholders are data too: they become its purpose and their meaning.
///
/// A placeholder without which the mail is useless is `required`. One that a subject must not have is `secret`.
///
/// ```ignore
/// forecourt_accounts::mail_kind! {
///     /// Sent to a contact who may log in.
///     pub(crate) ContactLogin as "contact_login";
///
///     /// The contact's name.
///     name;
///     /// The password.
///     password, required, secret;
/// }
/// ```
#[macro_export]
macro_rules! mail_kind {
    (
        $(#[doc = $purpose:literal])+
        $vis:vis $content:ident as $name:literal;

        $($(#[doc = $meaning:literal])+ $placeholder:ident $(, $flag:ident)*;)+
    ) => {
        $(#[doc = $purpose])+
        $vis struct $content<'a> {
            $($(#[doc = $meaning])+ $vis $placeholder: &'a str,)+
        }

        impl $crate::MailContent for $content<'_> {
            const KIND: &'static $crate::MailKind = &$crate::MailKind {
                name: $name,
                purpose: concat!($($purpose),+).trim_ascii(),
                placeholders: &[$(
                    $crate::Placeholder::new(stringify!($placeholder), concat!($($meaning),+).trim_ascii())$(.$flag())*,
                )+],
                files: &[
                    ("de", $crate::mail_kind!(@file "de", $name)),
                    ("en", $crate::mail_kind!(@file "en", $name)),
                    ("fr", $crate::mail_kind!(@file "fr", $name)),
                ],
            };

            fn value(&self, placeholder: &str) -> &str {
                match placeholder {
                    $(stringify!($placeholder) => self.$placeholder,)+
                    _ => "",
                }
            }
        }
    };
    (@file $language:literal, $name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/data/mails/", $language, "/", $name, ".txt"))
    };
}
