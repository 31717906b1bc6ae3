//! Mails that were received, read from files.

use mailparse::{DispositionType, MailAddr, MailHeaderMap as _, ParsedMail, addrparse_header, parse_mail};

/// How many parts of a mail are looked at.
const MAX_PARTS: usize = 1_000;

/// The parts of a received mail that an answer needs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReceivedMail {
    /// Its `Message-ID`, without brackets; empty if it has none.
    pub message_id: String,
    /// What its sender is called; empty if it does not say.
    pub name: String,
    /// The address of its sender; empty if it has none.
    pub address: String,
    /// Its subject.
    pub subject: String,
    /// Its text: the first part that is plain text, or else the first that is HTML, without its markup.
    pub text: String,
    /// The names of its attachments.
    pub attachments: Vec<String>,
}

/// The file is no mail.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableMail {
    /// It is not written as one.
    #[error("this is no mail")]
    Malformed(#[source] mailparse::MailParseError),
    /// It has no header that a mail has.
    #[error("this is no mail: it has neither From nor Message-ID")]
    NoHeaders,
}

/// Reads a mail in RFC 5322 form.
///
/// # Errors
/// [`UnreadableMail`].
pub fn read_mail(file: &[u8]) -> Result<ReceivedMail, UnreadableMail> {
    let mail = parse_mail(file).map_err(UnreadableMail::Malformed)?;
    let message_id = mail.headers.get_first_value("Message-ID").unwrap_or_default();
    let message_id = message_id
        .trim()
        .trim_start_matches('<')
        .trim_end_matches('>')
        .to_owned();
    let (name, address) = sender(&mail);
    if message_id.is_empty() && address.is_empty() {
        return Err(UnreadableMail::NoHeaders);
    }
    let (mut plain, mut html, mut attachments) = (None, None, Vec::new());
    for part in mail.parts().take(MAX_PARTS) {
        let disposition = part.get_content_disposition();
        let name = disposition.params.get("filename").or(part.ctype.params.get("name"));
        if disposition.disposition == DispositionType::Attachment || name.is_some() {
            attachments.push(line(name.map_or("unnamed", String::as_str)));
            continue;
        }
        // What cannot be decoded is passed over, and another part may say the same.
        match part.ctype.mimetype.as_str() {
            "text/plain" if plain.is_none() => plain = part.get_body().ok(),
            "text/html" if html.is_none() => html = part.get_body().ok(),
            _ => {}
        }
    }
    let text = plain.or_else(|| html.map(|html| without_markup(&html)));
    Ok(ReceivedMail {
        message_id,
        name,
        address,
        subject: line(&mail.headers.get_first_value("Subject").unwrap_or_default()),
        text: lines(&text.unwrap_or_default()),
        attachments,
    })
}

/// The name and the address of who wrote a mail; of several, the first.
fn sender(mail: &ParsedMail<'_>) -> (String, String) {
    let from = mail.headers.get_first_header("From");
    let addresses = from.and_then(|from| addrparse_header(from).ok());
    let senders = addresses.map(mailparse::MailAddrList::into_inner).unwrap_or_default();
    let first = senders.into_iter().find_map(|sender| match sender {
        MailAddr::Single(sender) => Some(sender),
        MailAddr::Group(group) => group.addrs.into_iter().next(),
    });
    first.map_or_else(Default::default, |sender| {
        let name = sender.display_name.as_deref().unwrap_or_default();
        (line(name), line(&sender.addr))
    })
}

/// The text as one line.
fn line(text: &str) -> String {
    let words: Vec<&str> = text
        .split(|character: char| character.is_whitespace() || character.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

/// The text without what is no part of one.
fn lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let kept: String = text
        .chars()
        .filter(|character| !character.is_control() || matches!(character, '\n' | '\t'))
        .collect();
    kept.trim().to_owned()
}

/// What HTML says, roughly: for people who read it as plain text. Nothing of it is ever shown as HTML.
fn without_markup(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, behind)) = rest.split_once('<') {
        text.push_str(before);
        let (tag, after) = behind.split_once('>').unwrap_or((behind, ""));
        rest = after;
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        match name.to_ascii_lowercase().as_str() {
            // What these contain is for programs.
            "style" | "script" | "head" if !tag.starts_with('/') => {
                let end = format!("</{name}");
                let mut places = rest.as_bytes().windows(end.len());
                let end = places.position(|place| place.eq_ignore_ascii_case(end.as_bytes()));
                rest = end.and_then(|at| rest.get(at..)).unwrap_or_default();
            }
            "br" | "p" | "div" | "tr" | "li" | "h1" | "h2" | "h3" => text.push('\n'),
            _ => {}
        }
    }
    text.push_str(rest);
    // The ampersand last, so that nothing is decoded twice.
    for (entity, character) in [
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ] {
        text = text.replace(entity, character);
    }
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mail: &str) -> ReceivedMail {
        read_mail(mail.replace('\n', "\r\n").as_bytes()).unwrap()
    }

    #[test]
    fn a_plain_mail_is_read() {
        let read = read(
            "From: =?utf-8?q?Zo=C3=AB?= Lee <zoe@example.com>\nTo: office@acme.example\nSubject: The =?utf-8?b?R29sZg==?=\n\
             Message-ID: <one@example.com>\nContent-Type: text/plain; charset=utf-8\n\nIs it there?\n\nZoë\n",
        );
        let expected = ReceivedMail {
            message_id: "one@example.com".into(),
            name: "Zoë Lee".into(),
            address: "zoe@example.com".into(),
            subject: "The Golf".into(),
            text: "Is it there?\n\nZoë".into(),
            attachments: Vec::new(),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn of_several_parts_the_text_is_read_and_attachments_are_named() {
        let read = read(
            "From: ann@example.com\nMessage-ID: <two@example.com>\nContent-Type: multipart/mixed; boundary=outer\n\n\
             --outer\nContent-Type: multipart/alternative; boundary=inner\n\n\
             --inner\nContent-Type: text/html\n\n<p>Rich</p>\n--inner\nContent-Type: text/plain\n\nPlain\n--inner--\n\
             --outer\nContent-Type: image/jpeg; name=\"car.jpg\"\nContent-Transfer-Encoding: base64\n\n/9g=\n\
             --outer\nContent-Type: text/plain\nContent-Disposition: attachment; filename=\"notes.txt\"\n\nnot this\n--outer--\n",
        );
        assert_eq!((read.text.as_str(), read.name.as_str()), ("Plain", ""));
        assert_eq!(read.attachments, ["car.jpg", "notes.txt"]);
    }

    #[test]
    fn html_alone_loses_its_markup() {
        let read = read(
            "From: ann@example.com\nMessage-ID: <3@example.com>\nContent-Type: text/html\n\n\
             <html><head><title>x</title><style>p { color: red }</style></head><body><p>Is the <b>Golf</b> there?</p>\
             <script>alert(1)</script><div>A &amp; B &amp;lt;</div></body></html>\n",
        );
        assert_eq!(read.text, "Is the Golf there?\nA & B &lt;");
    }

    #[test]
    fn what_is_no_mail_is_refused() {
        for file in [&b""[..], b"hello", b"\x00\xff\xfe", b"Subject: x\r\n\r\ny"] {
            assert!(read_mail(file).is_err(), "{file:?}");
        }
        // However deeply it is nested, it is read or refused, and nothing worse.
        let mut nested = String::from("From: a@example.com\r\n");
        for level in 0..5_000 {
            nested.push_str(&format!(
                "Content-Type: multipart/mixed; boundary=b{level}\r\n\r\n--b{level}\r\n"
            ));
        }
        let _ = read_mail(nested.as_bytes());
    }
}
