//! Sends the mails that the domain queues: over SMTP, or into a folder if no server is configured.
//!
//! [`SmtpMailer`] and [`SpoolMailer`] are the kernel's [`Mailer`](forecourt_kernel::Mailer). Both write a mail the same way, on
//! a [`MessageBuilder`]: plain text in RFC 5322 form, in which no text of a mail can become a header or a command. Neither logs
//! anything, and their errors neither name an address nor quote a server, since servers often repeat addresses.
//!
//! [`read_mail`] reads mails that others sent, from their files.

mod message;
mod problem;
mod received;
mod relay;
mod smtp;
mod spool;

pub use message::{InvalidSender, MessageBuilder};
pub use received::{ReceivedMail, UnreadableMail, read_mail};
pub use relay::InvalidSmtpUrl;
pub use smtp::SmtpMailer;
pub use spool::{SpoolMailer, remove_spooled};
