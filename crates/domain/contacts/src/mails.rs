//! The mails of this area.

use forecourt_accounts::{MailContent, MailKind, mail_kind};

/// The mails of this area, whose text businesses can change.
pub const MAILS: &[&MailKind] = &[ContactLogin::KIND];

mail_kind! {
    /// Sent to a contact with its login details.
    pub(crate) ContactLogin as "contact_login";

    /// The contact's name.
    name;
    /// The business's name.
    business;
    /// The business's website; if it has none, its name.
    place;
    /// The email address to log in with.
    email, required;
    /// The password, which is made for this mail. It may not be used in a subject.
    password, required, secret;
}
