//! Documents that are mailed (areas §10.8).

use forecourt_accounts::Business;
use forecourt_kernel::{
    Attachment, AttachmentsTooLarge, BusinessId, ContactId, Email, Line, LongText, Mail, StoreResult, ValidationErrors,
};
use forecourt_print::{Bill, BillKind};
use serde::Serialize;

use crate::{BillingReader, mails::DocumentSent};

/// A request to mail a document.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SendDocument {
    /// The address to mail it to; `None` for the contact's.
    pub email: Option<Email>,
    /// The subject; the mail's own if it is blank.
    pub subject: Line,
    /// A message in the mail; may be empty.
    pub message: LongText,
}

/// A document that can be mailed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutgoingDocument {
    /// Its printed form.
    pub bill: Bill,
    /// The address to mail it to.
    pub to: String,
    /// The contact that it is about.
    pub contact: Option<ContactId>,
}

impl OutgoingDocument {
    /// Addresses a document about a contact.
    ///
    /// # Errors
    /// The fault of the request if it names no address and the contact has none; if the store fails.
    pub async fn address(
        store: &mut dyn BillingReader,
        business: BusinessId,
        bill: Bill,
        contact: Option<ContactId>,
        request: &SendDocument,
    ) -> StoreResult<Result<Self, ValidationErrors>> {
        let to = match (&request.email, contact) {
            (Some(email), _) => email.as_str().to_owned(),
            (None, Some(contact)) => {
                let found = store.billed_contacts(business, &[contact]).await?;
                found
                    .into_iter()
                    .next()
                    .map(|contact| contact.email)
                    .unwrap_or_default()
            }
            (None, None) => String::new(),
        };
        if to.is_empty() {
            let message = "is required: the contact has no email address";
            return Ok(Err(ValidationErrors::one("email", message)));
        }
        Ok(Ok(Self { bill, to, contact }))
    }

    /// Returns the mail with the printed document. Answers to it reach the business.
    ///
    /// # Errors
    /// [`AttachmentsTooLarge`].
    pub fn mail(
        &self,
        business: &Business,
        request: &SendDocument,
        file: Vec<u8>,
    ) -> Result<Mail, AttachmentsTooLarge> {
        let Self { bill, to, contact } = self;
        // Of a purchase, the contact is who it comes from.
        let addressee = match bill.kind {
            BillKind::Purchase { .. } | BillKind::PurchaseCredit { .. } => &bill.issuer,
            BillKind::Invoice | BillKind::CreditNote { .. } | BillKind::Order { .. } => &bill.recipient,
        };
        let content = DocumentSent {
            name: &addressee.name,
            business: &business.name,
            document: &bill.title(),
            message: request.message.as_str().trim(),
        };
        let mut mail = business.mail(to, &content);
        if !request.subject.trim().is_empty() {
            mail = Mail::new(to, &request.subject, &mail.text);
        }
        mail.reply_to = Some(business.email.clone()).filter(|address| !address.is_empty());
        mail.contact = *contact;
        mail.attach(Attachment {
            name: bill.file_name(),
            media_type: "application/pdf".to_owned(),
            content: file.into(),
        })
    }
}

/// A document that was mailed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SentDocument))]
pub struct SentDocument<'a> {
    /// Id of the record.
    id: i64,
    /// Its number.
    #[cfg_attr(feature = "openapi", schema(example = "INV-1"))]
    number: &'a str,
    /// Address that the mail was sent to.
    #[cfg_attr(feature = "openapi", schema(example = "amelia@hart.example"))]
    email: &'a str,
    /// Always `true`.
    sent: bool,
}

impl<'a> From<&'a OutgoingDocument> for SentDocument<'a> {
    fn from(document: &'a OutgoingDocument) -> Self {
        let OutgoingDocument { bill, to, contact: _ } = document;
        Self {
            id: bill.record,
            number: bill.number.as_deref().unwrap_or_default(),
            email: to,
            sent: true,
        }
    }
}
