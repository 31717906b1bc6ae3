//! The mails of documents.

use forecourt_accounts::{MailContent, MailKind, mail_kind};

/// The mails of this crate, whose wording businesses can change.
pub const MAILS: &[&MailKind] = &[DocumentSent::KIND];

mail_kind! {
    /// Sent to a customer or another address with an invoice, a credit note, an order or a purchase as a PDF file. A caller's own subject replaces that of the text.
    pub(crate) DocumentSent as "document_sent";

    /// The name of the party that the document is made out to.
    name;
    /// The business's name.
    business;
    /// The title of the document with its number, such as `VAT invoice INV-12`.
    document;
    /// The caller's message.
    message, required, lines;
}
