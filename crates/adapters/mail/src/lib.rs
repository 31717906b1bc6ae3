//! Sends the mails that the domain queues: over SMTP, or into a folder where no server is set up.
//!
//! [`SmtpMailer`] and [`SpoolMailer`] are the kernel's [`Mailer`](forecourt_kernel::Mailer). Both write a mail the same
//! way, on a [`MessageBuilder`]: plain text in RFC 5322 form, in which nothing that a mail says can become a header or a
//! command. Neither logs anything, and no error of theirs names an address or quotes what a server said, since servers
//! like to repeat addresses.
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
