//! Extracts a sender's own words from a message: no quotes, no signature, no lines of forms and portals, no links.

use std::sync::LazyLock;

use super::data;

/// The lists of `data/mail.txt`.
struct Lists {
    dropped_labels: Vec<&'static str>,
    vehicle_labels: Vec<&'static str>,
    text_labels: Vec<&'static str>,
    boilerplate: Vec<&'static str>,
    ends: Vec<&'static str>,
    sign_offs: Vec<&'static str>,
    usual_hosts: Vec<&'static str>,
}

static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    let list = |name| data::section(data::MAIL, name).collect();
    Lists {
        dropped_labels: list("dropped labels"),
        vehicle_labels: list("vehicle labels"),
        text_labels: list("text labels"),
        boilerplate: list("boilerplate"),
        ends: list("ends"),
        sign_offs: list("sign-offs"),
        usual_hosts: list("usual hosts"),
    }
});

/// The maximum length of a message that is read, in characters. Its beginning matters most.
const MAX_READ_CHARS: usize = 20_000;
/// The maximum number of lines that may follow a sign-off: more than that is no signature.
const MAX_SIGNATURE_LINES: usize = 25;

/// The relevant part of a message.
#[derive(Clone, Default, Debug)]
pub(super) struct Cleaned {
    /// The sender's own words.
    pub(super) text: String,
    /// A form names a car.
    pub(super) names_car: bool,
    /// The number of links.
    pub(super) links: usize,
    /// The number of links to places that customers do not send links to.
    pub(super) strange_links: usize,
    /// It has markup for links.
    pub(super) markup: bool,
}

/// Cuts a text at a made-up end of the conversation. Some senders write one in the hope that a machine obeys the words after it.
fn before_made_up_end(text: &str) -> &str {
    const ENDS: [&str; 5] = ["</conversation", "</message", "</prompt", "</system", "</user"];
    let lower = text.to_ascii_lowercase();
    let end = ENDS.iter().filter_map(|end| lower.find(end)).min();
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Cleans a text.
pub(super) fn clean(text: &str) -> Cleaned {
    let end = text.char_indices().nth(MAX_READ_CHARS).map_or(text.len(), |(at, _)| at);
    let text = before_made_up_end(&text[..end]);
    let mut cleaned = Cleaned {
        markup: text.contains("href=") || text.contains("[url"),
        ..Cleaned::default()
    };
    let lines: Vec<&str> = text.lines().collect();
    let is_form = lines.iter().filter(|line| label(line).is_some()).count() >= 2;
    let mut own = false;
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim();
        let plain = plain(line);
        if line.starts_with('>') || plain.is_empty() && !has_foreign_letters(line) {
            cleaned.text.push('\n');
            continue;
        }
        if own && (begins_quote(&plain, &lines[at..]) || LISTS.ends.iter().any(|end| plain.starts_with(end)))
            || line == "--"
        {
            break;
        }
        if own && LISTS.sign_offs.contains(&plain.as_str()) && lines.len() - at <= MAX_SIGNATURE_LINES {
            break;
        }
        if LISTS.boilerplate.iter().any(|start| plain.starts_with(start)) {
            continue;
        }
        let kept = match label(line).filter(|_| is_form) {
            Some((Label::Dropped, _)) => "",
            Some((Label::Vehicle, value)) => {
                cleaned.names_car |= !value.is_empty();
                ""
            }
            Some((Label::Text, value)) => value,
            None => line,
        };
        own |= !kept.is_empty();
        for word in kept.split_whitespace() {
            add(word, &mut cleaned);
        }
        cleaned.text.push('\n');
    }
    cleaned
}

/// Adds a word unless it is a link or an address.
fn add(word: &str, cleaned: &mut Cleaned) {
    let lower = word.to_lowercase();
    if lower.contains("://") || lower.starts_with("www.") || lower.contains("href=") {
        cleaned.links += 1;
        if !LISTS.usual_hosts.iter().any(|host| lower.contains(host)) {
            cleaned.strange_links += 1;
        }
        // The sentence before a link ends there.
        cleaned.text.push_str(". ");
    } else if !word.contains('@') {
        cleaned.text.push_str(word);
        cleaned.text.push(' ');
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Dropped,
    Vehicle,
    Text,
}

/// Returns the label that a line of a form begins with, and the text after it.
fn label(line: &str) -> Option<(Label, &str)> {
    let (name, value) = line.split_once(':')?;
    if name.len() > 40 || value.starts_with("//") {
        return None;
    }
    let name = plain(name);
    let kind = if LISTS.dropped_labels.contains(&name.as_str()) {
        Label::Dropped
    } else if LISTS.vehicle_labels.contains(&name.as_str()) {
        Label::Vehicle
    } else if LISTS.text_labels.contains(&name.as_str()) {
        Label::Text
    } else {
        return None;
    };
    Some((kind, value.trim()))
}

/// Returns `true` if the rest of a mail is a quote of the mail that it answers.
fn begins_quote(plain: &str, rest: &[&str]) -> bool {
    let is_head = |line: &&str| {
        let line = line.trim().to_lowercase();
        ["sent:", "to:", "subject:", "date:"]
            .iter()
            .any(|name| line.starts_with(name))
    };
    (plain.starts_with("on ") && plain.ends_with("wrote"))
        || (plain.starts_with("from ") && rest.iter().skip(1).take(3).filter(|line| is_head(line)).count() >= 2)
}

/// The letters and digits of a line in lower case, with one space between words.
fn plain(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    for character in line.chars().flat_map(char::to_lowercase) {
        if character.is_ascii_alphanumeric() {
            plain.push(character);
        } else if !plain.is_empty() && !plain.ends_with(' ') {
            plain.push(' ');
        }
    }
    plain.truncate(plain.trim_end().len());
    plain
}

fn has_foreign_letters(line: &str) -> bool {
    line.chars()
        .any(|character| character.is_alphabetic() && !character.is_ascii())
}
