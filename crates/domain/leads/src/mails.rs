//! The mails of this area.

use forecourt_accounts::{MailContent, MailKind, mail_kind};

/// The mails of this area, whose text businesses can change.
pub const MAILS: &[&MailKind] = &[LeadReceived::KIND, LeadReply::KIND];

mail_kind! {
    /// Sent to the business when it has a new lead.
    pub(crate) LeadReceived as "lead_received";

    /// The business's name.
    business;
    /// The lead's reference.
    number, required;
    /// The sender's name.
    name;
    /// The sender's email address.
    email;
    /// The sender's phone number.
    phone;
    /// The sender's mobile number.
    mobile;
    /// The subject of the enquiry, as the names of its types.
    about;
    /// The vehicle that the enquiry concerns.
    vehicle;
    /// The name of the channel that the enquiry came in by.
    channel;
    /// The subject line of the enquiry.
    subject;
    /// The message that the sender wrote.
    message, lines;
}

mail_kind! {
    /// Sent to a lead's sender as a reply by email.
    pub(crate) LeadReply as "lead_reply";

    /// The business's name.
    business;
    /// The subject of the reply. If it has none, `Re: ` and the subject of the enquiry, if there is one.
    subject;
    /// The reply.
    message, required, lines;
}
