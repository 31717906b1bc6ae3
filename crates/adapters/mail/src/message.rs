//! Converts the domain's mail to a message in RFC 5322 form.

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use forecourt_kernel::{AttachmentsTooLarge, Clock, Mail, MailError, Random, Timestamp};
use lettre::{
    Address, Message,
    message::{
        Attachment as AttachmentPart, Mailbox, MultiPart, SinglePart,
        header::{ContentType, MIME_VERSION_1_0},
    },
};
use url::Host;

/// The last second that a Date header can express: the end of the year 9999.
const LAST_SECOND: u64 = 253_402_300_799;

/// The maximum length of a `Message-ID` in bytes: it must fit on a line of its own.
const MAX_ID_BYTES: usize = 250;

/// The settings that all mails share: their sender, and the sources of their dates and Message-IDs.
pub struct MessageBuilder {
    from: Mailbox,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
}

/// A mail ready to be sent.
pub(crate) struct OutgoingMessage {
    /// The text with its headers. All of it is ASCII.
    pub(crate) message: Message,
    /// The time at which it was written.
    pub(crate) at: Timestamp,
    /// The beginning of its Message-ID: 32 hexadecimal digits, unique to it.
    pub(crate) id: String,
}

impl MessageBuilder {
    /// Makes a builder for the sender, given as `noreply@example.com` or `Forecourt <noreply@example.com>`.
    ///
    /// # Errors
    /// [`InvalidSender`] if it is neither.
    pub fn new(from: &str, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Result<Self, InvalidSender> {
        let Mailbox { name, email } = from.parse().map_err(|_| InvalidSender)?;
        let email = plain_address(email.as_ref()).ok_or(InvalidSender)?;
        let from = Mailbox::new(name, email);
        Ok(Self { from, clock, random })
    }

    /// Returns the domain that mails come from.
    pub fn domain(&self) -> &str {
        self.from.email.domain()
    }

    /// Builds the message of `mail`.
    pub(crate) fn write(&self, mail: &Mail) -> Result<OutgoingMessage, MailError> {
        let to = plain_address(&mail.to).ok_or_else(|| MailError::Refused(Box::new(NoAddress)))?;
        let at = self.clock.now();
        let id = self.draw_id();
        let own = mail.message_id.as_deref().and_then(|id| self.message_id(id));
        let mut builder = Message::builder()
            .from(self.from.clone())
            .to(to.into())
            .subject(one_line(&mail.subject))
            .date(UNIX_EPOCH + Duration::from_secs(at.epoch_seconds().try_into().unwrap_or(0).min(LAST_SECOND)))
            .message_id(own.or_else(|| self.message_id(&id)));
        if let Some(address) = mail.reply_to.as_deref().and_then(plain_address) {
            builder = builder.reply_to(address.into());
        }
        if let Some(continued) = mail.in_reply_to.as_deref().and_then(|id| self.message_id(id)) {
            builder = builder.in_reply_to(continued.clone()).references(continued);
        }
        let builder = builder.header(MIME_VERSION_1_0);
        let text = plain_text(&mail.text);
        let message = match mail.attachments.is_empty() {
            true => builder.header(ContentType::TEXT_PLAIN).body(text),
            // The id is in no text, so it can mark where a part ends.
            false => builder.multipart(parts(mail, text, &id)?),
        };
        let message = message.map_err(|error| MailError::Refused(Box::new(error)))?;
        Ok(OutgoingMessage { message, at, id })
    }

    /// Returns a `Message-ID` with its brackets: `text` unchanged if it has a domain, else with the sender's domain. `None` if
    /// it cannot be one: ids of mails that came in are as their senders wrote them.
    fn message_id(&self, text: &str) -> Option<String> {
        let text = text.strip_prefix('<').unwrap_or(text);
        let text = text.strip_suffix('>').unwrap_or(text);
        let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>');
        if text.is_empty() || text.len() > MAX_ID_BYTES || !text.bytes().all(plain) {
            return None;
        }
        Some(if text.contains('@') {
            format!("<{text}>")
        } else {
            format!("<{text}@{}>", self.domain())
        })
    }

    fn draw_id(&self) -> String {
        let mut bytes = [0; 16];
        self.random.fill(&mut bytes);
        format!("{:032x}", u128::from_be_bytes(bytes))
    }
}

/// Returns the text and the attachments of a mail, which `boundary` separates.
fn parts(mail: &Mail, text: String, boundary: &str) -> Result<MultiPart, MailError> {
    if mail.attached_bytes() > Mail::MAX_ATTACHED_BYTES {
        return Err(MailError::Refused(Box::new(AttachmentsTooLarge)));
    }
    let mixed = MultiPart::mixed().boundary(boundary);
    let mut parts = mixed.singlepart(SinglePart::plain(text));
    for attachment in &mail.attachments {
        let media_type = ContentType::parse(&attachment.media_type);
        let media_type = media_type.map_err(|error| MailError::Refused(Box::new(error)))?;
        let part = AttachmentPart::new(one_line(&attachment.name));
        parts = parts.singlepart(part.body(attachment.content.to_vec(), media_type));
    }
    Ok(parts)
}

/// Parses an address to the form that every server accepts: ASCII, an international domain in its `xn--` form.
fn plain_address(text: &str) -> Option<Address> {
    let (user, domain) = text.rsplit_once('@')?;
    if !user.is_ascii() {
        return None;
    }
    if domain.is_ascii() {
        return Address::new(user, domain).ok();
    }
    let domain = Host::parse(domain).ok()?;
    Address::new(user, domain.to_string()).ok()
}

/// Returns `text` in a form for headers: each run of control characters, including line breaks, is one space.
fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split(char::is_control).filter(|part| !part.is_empty()).collect();
    words.join(" ")
}

/// Returns `text` with one kind of line break and without other control characters. A server that accepts a bare carriage
/// return as the end of a line could otherwise read the text after it as commands.
fn plain_text(text: &str) -> String {
    let mut text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.retain(|character| !character.is_control() || matches!(character, '\n' | '\t'));
    text
}

/// The text is not a valid sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be an email address, with or without a name: noreply@example.com or Forecourt <noreply@example.com>")]
pub struct InvalidSender;

/// Hides the address itself, since the error ends up in logs.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the recipient is no email address")]
struct NoAddress;

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Option<String> {
        plain_address(text).map(|address| address.to_string())
    }

    #[test]
    fn an_international_domain_is_written_as_every_server_reads_it() {
        assert_eq!(address("ann@exämple.com").as_deref(), Some("ann@xn--exmple-cua.com"));
        assert_eq!(address("ann@[192.0.2.1]").as_deref(), Some("ann@[192.0.2.1]"));
    }

    #[test]
    fn what_is_no_address_is_none() {
        for text in [
            "",
            "ann",
            "@example.com",
            "ann@",
            "änn@example.com",
            "ann@example.com\r\nBcc: bob@example.com",
            "ann@example.com>\r\nRCPT TO:<bob@example.com",
            "ann\r\n@example.com",
            "ann@exa mple.com",
            "ann@example.com, bob@example.com",
            "Ann <ann@example.com>",
        ] {
            assert_eq!(address(text), None, "{text:?}");
        }
    }

    #[test]
    fn line_breaks_in_a_subject_are_dropped() {
        assert_eq!(
            one_line("New lead\r\nBcc: bob@example.com\0"),
            "New lead Bcc: bob@example.com"
        );
        assert_eq!(one_line("\n"), "");
    }

    #[test]
    fn a_text_has_one_sort_of_line_break() {
        assert_eq!(plain_text("a\r\nb\rc\nd\te\0\u{7}f"), "a\nb\nc\nd\tef");
    }
}
