//! The mails of this area.

use forecourt_accounts::{MailContent, MailKind, mail_kind};

/// The mails of this area, which businesses can word.
pub const MAILS: &[&MailKind] = &[ContactLogin::KIND];

mail_kind! {
    /// Sent to a contact when its login details are mailed.
    pub(crate) ContactLogin as "contact_login";

    /// The contact's name.
    name;
    /// The business's name.
    business;
    /// The business's website; if it has none, its name.
    place;
    /// The address to log in with.
    email, required;
    /// The password that was made for this mail. It is in no subject.
    password, required, secret;
}
