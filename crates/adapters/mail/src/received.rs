//! Received mails, read from files.

use forecourt_kernel::bounds::{MAX_MAIL_BYTES, MAX_MAIL_DEPTH, MAX_MAIL_PARTS};
use mailparse::{
    DispositionType, MailAddr, MailHeader, MailParseError, ParsedContentType, addrparse_header,
    parse_content_disposition, parse_content_type, parse_header, parse_mail,
};

/// The maximum length of a header that is read. Decoding takes the square of its length.
const MAX_HEADER_BYTES: usize = 4 * 1024;

/// The parts of a received mail that an answer needs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReceivedMail {
    /// Its `Message-ID`, without brackets; empty if it has none.
    pub message_id: String,
    /// The name of its sender; empty if it has none.
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

/// The file is not a mail, or not one that can be read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableMail {
    /// It is malformed.
    #[error("this is no mail")]
    Malformed(#[from] MailParseError),
    /// It has none of a mail's headers.
    #[error("this is no mail: it has neither From nor Message-ID")]
    NoHeaders,
    /// It is longer than a mail may be.
    #[error("the mail is longer than {} MiB", MAX_MAIL_BYTES / 1024 / 1024)]
    TooLong,
    /// It has more parts than a mail may have.
    #[error("the mail has more than {MAX_MAIL_PARTS} parts")]
    TooManyParts,
    /// Its parts are nested too deep.
    #[error("the mail has parts nested more than {MAX_MAIL_DEPTH} deep")]
    NestedTooDeep,
    /// One of its headers is too long.
    #[error("the mail has a header {0} of more than {kib} KiB", kib = MAX_HEADER_BYTES / 1024)]
    LongHeader(&'static str),
}

/// Reads a mail in RFC 5322 form.
///
/// # Errors
/// [`UnreadableMail`].
pub fn read_mail(file: &[u8]) -> Result<ReceivedMail, UnreadableMail> {
    if file.len() > MAX_MAIL_BYTES {
        return Err(UnreadableMail::TooLong);
    }
    let Entity { headers, .. } = Entity::read(file)?;
    let message_id = headers.value("Message-ID");
    let message_id = message_id
        .trim()
        .trim_start_matches('<')
        .trim_end_matches('>')
        .to_owned();
    let (name, address) = sender(&headers);
    if message_id.is_empty() && address.is_empty() {
        return Err(UnreadableMail::NoHeaders);
    }
    let subject = line(&headers.value("Subject"));
    let mut content = Content::default();
    content.read(file, 1)?;
    let Content {
        plain,
        html,
        attachments,
        ..
    } = content;
    let text = plain.or_else(|| html.map(|html| without_markup(&html)));
    Ok(ReceivedMail {
        message_id,
        name,
        address,
        subject,
        text: lines(&text.unwrap_or_default()),
        attachments,
    })
}

/// A mail, or a part of one.
struct Entity<'a> {
    headers: Headers<'a>,
    body: &'a [u8],
}

/// The headers that are read; of several with one name, the first.
#[derive(Default)]
struct Headers<'a>(Vec<(&'static str, MailHeader<'a>)>);

impl<'a> Entity<'a> {
    fn read(raw: &'a [u8]) -> Result<Self, UnreadableMail> {
        const READ: [&str; 6] = [
            "Message-ID",
            "From",
            "Subject",
            "Content-Type",
            "Content-Disposition",
            "Content-Transfer-Encoding",
        ];
        let mut headers = Headers::default();
        let mut rest = raw;
        loop {
            if let Some(body) = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")) {
                return Ok(Self { headers, body });
            }
            if rest.is_empty() {
                return Ok(Self { headers, body: rest });
            }
            if rest.starts_with(b"\r") {
                return Err(UnreadableMail::Malformed(MailParseError::Generic(
                    "a carriage return stands alone",
                )));
            }
            let (header, length) = parse_header(rest)?;
            rest = rest.get(length..).unwrap_or_default();
            let name = READ
                .into_iter()
                .find(|name| header.get_key_raw().eq_ignore_ascii_case(name.as_bytes()));
            if let Some(name) = name.filter(|name| headers.get(name).is_none()) {
                if header.get_value_raw().len() > MAX_HEADER_BYTES {
                    return Err(UnreadableMail::LongHeader(name));
                }
                headers.0.push((name, header));
            }
        }
    }
}

impl<'a> Headers<'a> {
    fn get(&self, name: &str) -> Option<&MailHeader<'a>> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, header)| header)
    }

    /// Returns the value of a header; empty if it is missing.
    fn value(&self, name: &str) -> String {
        self.get(name).map(MailHeader::get_value).unwrap_or_default()
    }
}

/// The content found in the parts of a mail.
#[derive(Default)]
struct Content {
    parts: usize,
    plain: Option<String>,
    html: Option<String>,
    attachments: Vec<String>,
}

impl Content {
    /// Reads a part, or the mail itself, at this depth of nesting.
    fn read(&mut self, raw: &[u8], depth: usize) -> Result<(), UnreadableMail> {
        self.parts += 1;
        if self.parts > MAX_MAIL_PARTS {
            return Err(UnreadableMail::TooManyParts);
        }
        if depth > MAX_MAIL_DEPTH {
            return Err(UnreadableMail::NestedTooDeep);
        }
        let Entity { headers, body } = Entity::read(raw)?;
        let content_type = match headers.get("Content-Type") {
            Some(header) => parse_content_type(&header.get_value()),
            None => ParsedContentType::default(),
        };
        let disposition = parse_content_disposition(&headers.value("Content-Disposition"));
        let name = disposition.params.get("filename").or(content_type.params.get("name"));
        if disposition.disposition == DispositionType::Attachment || name.is_some() {
            self.attachments.push(line(name.map_or("unnamed", String::as_str)));
        } else {
            // A part that cannot be decoded is ignored; another part may have the same text.
            match content_type.mimetype.as_str() {
                "text/plain" if self.plain.is_none() => self.plain = decoded(&headers, body),
                "text/html" if self.html.is_none() => self.html = decoded(&headers, body),
                _ => {}
            }
        }
        if let Some(boundary) = content_type.params.get("boundary")
            && content_type.mimetype.starts_with("multipart/")
            && !boundary.is_empty()
        {
            for part in parts(body, boundary.as_bytes()) {
                self.read(part, depth + 1)?;
            }
        }
        Ok(())
    }
}

/// Returns the text of a part that has no parts of its own.
fn decoded(headers: &Headers<'_>, body: &[u8]) -> Option<String> {
    let mut part = Vec::with_capacity(body.len() + 2 * MAX_HEADER_BYTES);
    for name in ["Content-Type", "Content-Transfer-Encoding"] {
        if let Some(header) = headers.get(name) {
            part.extend([name.as_bytes(), b": ", header.get_value_raw(), b"\r\n"].concat());
        }
    }
    part.extend_from_slice(b"\r\n");
    part.extend_from_slice(body);
    parse_mail(&part).ok()?.get_body().ok()
}

/// Returns the parts of a body between lines that begin with `--` and the boundary.
fn parts<'a>(body: &'a [u8], boundary: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let delimiter = move |line: &[u8]| {
        let end = line.strip_prefix(b"--")?.strip_prefix(boundary)?;
        let is_last = end.starts_with(b"--");
        (is_last || end.trim_ascii().is_empty()).then_some(is_last)
    };
    let mut lines = body.split_inclusive(|byte| *byte == b'\n');
    let mut at = 0;
    let mut is_over = !lines.any(|line| {
        at += line.len();
        delimiter(line).is_some()
    });
    std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        let begin = at;
        for line in lines.by_ref() {
            let end = at;
            at += line.len();
            if let Some(is_last) = delimiter(line) {
                is_over = is_last;
                return body.get(begin..end).map(without_line_end);
            }
        }
        // The final boundary is missing.
        is_over = true;
        body.get(begin..).filter(|part| !part.is_empty())
    })
}

/// Removes the line end before a boundary, which belongs to the boundary.
fn without_line_end(part: &[u8]) -> &[u8] {
    let part = part.strip_suffix(b"\n").unwrap_or(part);
    part.strip_suffix(b"\r").unwrap_or(part)
}

/// Returns the name and the address of a mail's writer; of several, the first.
fn sender(headers: &Headers<'_>) -> (String, String) {
    let addresses = headers.get("From").and_then(|from| addrparse_header(from).ok());
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

/// Returns the text as one line.
fn line(text: &str) -> String {
    let words: Vec<&str> = text
        .split(|character: char| character.is_whitespace() || character.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

/// Returns the text without characters that do not belong in one.
fn lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let kept: String = text
        .chars()
        .filter(|character| !character.is_control() || matches!(character, '\n' | '\t'))
        .collect();
    kept.trim().to_owned()
}

/// Returns the text of HTML, roughly, for people who read it as plain text. It is never shown as HTML.
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
            // Their content is for programs.
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
    // The ampersand comes last, so that nothing is decoded twice.
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
    }

    /// Returns a mail with this number of nested multiparts, of which the last has this number of parts.
    fn nested(levels: usize, parts: usize) -> String {
        let mut mail = String::from("From: a@example.com\r\n");
        for level in 0..levels {
            mail.push_str(&format!(
                "Content-Type: multipart/mixed; boundary=b{level}\r\n\r\n--b{level}\r\n"
            ));
        }
        for _ in 1..parts {
            mail.push_str(&format!("\r\nx\r\n--b{}\r\n", levels - 1));
        }
        mail + "Content-Type: text/plain\r\n\r\nat the end"
    }

    #[test]
    fn what_takes_more_than_its_length_is_refused() {
        assert_eq!(read_mail(nested(7, 1).as_bytes()).unwrap().text, "at the end");
        assert!(read_mail(nested(1, 499).as_bytes()).is_ok());
        let refused = |mail: &str| read_mail(mail.as_bytes()).unwrap_err();
        assert!(matches!(refused(&nested(8, 1)), UnreadableMail::NestedTooDeep));
        assert!(matches!(refused(&nested(5_000, 1)), UnreadableMail::NestedTooDeep));
        assert!(matches!(refused(&nested(1, 500)), UnreadableMail::TooManyParts));
        let words = "=?utf-8?q?a?= ".repeat(100_000);
        for name in ["From", "Subject", "Message-ID", "Content-Type"] {
            let mail = format!("{name}: {words}\r\nFrom: a@example.com\r\n\r\n");
            assert!(
                matches!(refused(&mail), UnreadableMail::LongHeader(header) if header == name),
                "{name}"
            );
        }
        // A header that is not read may have any length.
        assert!(read_mail(format!("From: a@example.com\r\nReferences: {words}\r\n\r\n").as_bytes()).is_ok());
        let long = format!("From: a@example.com\r\n\r\n{}", "x".repeat(MAX_MAIL_BYTES));
        assert!(matches!(refused(&long), UnreadableMail::TooLong));
    }
}
