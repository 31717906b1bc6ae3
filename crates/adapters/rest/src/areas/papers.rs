//! The printed forms of documents over HTTP, and the mails that carry them (areas §10.8).

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use forecourt_billing::{InvoiceId, OrderId, OutgoingDocument, PurchaseId, SendDocument, SentDocument};
use forecourt_dealership::Session;
use forecourt_invoices as invoices;
use forecourt_kernel::{BoxError, Email, Field, Line, LongText, Mail, OrEmpty, Projection, StoreError, Target};
use forecourt_orders as orders;
use forecourt_print::Bill;
use forecourt_purchases as purchases;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    body::Form, call::Call, code::Code, detach::run_to_completion, error::ApiError, media_type::PDF, record::OfContact,
    reply::Reply, write::Prepared,
};

/// The time within which a mail must be sent: less than a request may take.
const SEND_TIMEOUT: Duration = Duration::from_secs(25);

/// A printed document with its content.
#[derive(Serialize, ToSchema)]
pub(super) struct PrintedDocument {
    /// Id of the record.
    #[schema(example = 21)]
    id: i64,
    /// The name of the file.
    #[schema(example = "INV-1.pdf")]
    name: String,
    /// The usual ending of the names of such files.
    #[schema(example = "pdf")]
    extension: &'static str,
    /// The media type.
    #[schema(example = "application/pdf")]
    mime: &'static str,
    /// The length of the file in bytes.
    #[schema(example = 15)]
    size: usize,
    /// The encoding of the content: base64.
    #[schema(example = "base64")]
    encoding: &'static str,
    /// The file.
    #[schema(
        content_encoding = "base64",
        max_length = 41_943_040,
        example = "JVBERi0xLjcKJSVFT0YK"
    )]
    content: String,
}

impl Call {
    /// Returns 200 with a printed bill: the file itself for a caller that prefers it, else JSON that contains it. Returns 304 if
    /// the caller has the same already.
    ///
    /// # Errors
    /// If it cannot be printed.
    pub(super) async fn printed(&self, bill: Bill, fields: Option<&Projection>) -> Result<Reply, ApiError> {
        let (id, name) = (bill.record, bill.file_name());
        let file = self.print(bill).await?;
        if self.wants_alternative {
            return Ok(self.known_by_content(Reply::file(file, PDF, name)));
        }
        let document = PrintedDocument {
            id,
            name,
            extension: "pdf",
            mime: PDF,
            size: file.len(),
            encoding: "base64",
            content: BASE64_STANDARD.encode(file),
        };
        let reply = Reply::projected(&document, fields)?;
        Ok(match fields {
            None => self.known_by_content(reply),
            Some(_) => reply,
        })
    }

    /// Prints a bill off the threads that serve requests, when it is the business's turn. A bill of 200 lines takes some ten
    /// milliseconds.
    async fn print(&self, bill: Bill) -> Result<Vec<u8>, ApiError> {
        let printer = Arc::clone(&self.worker.shared.printer);
        let pool = &self.worker.shared.parsing;
        pool.run(self.caller.business_id(), move |_| {
            let printed = printer.print(&bill.paper());
            printed.map_err(|failure| StoreError::Other(failure.into()).into())
        })
        .await
    }
}

/// A request to mail a document.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"email": "amelia@hart.example", "subject": "Your papers", "message": "As agreed on the phone."}))]
pub(super) struct SendBody {
    /// The address to mail it to; the contact's by default.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = "email", max_length = 255)]
    email: Field<OrEmpty<Email>>,
    /// The subject of the mail, in place of the usual one.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 255)]
    subject: Field<Line>,
    /// A message in the mail.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 20_000)]
    message: Field<LongText>,
}

impl SendBody {
    fn read(self) -> Result<SendDocument, ApiError> {
        let Self {
            email,
            subject,
            message,
        } = self;
        let mut form = Form::new();
        let request = SendDocument {
            email: form.optional("email", email).and_then(|OrEmpty(email)| email),
            subject: form.optional("subject", subject).unwrap_or_default(),
            message: form.optional("message", message).unwrap_or_default(),
        };
        Ok(form.finish(request)?)
    }
}

/// The kind of document that an operation mails.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum DocumentKind {
    Invoice,
    Order,
    Purchase,
}

/// A document that is to be mailed.
#[derive(Clone)]
enum Document {
    Invoice(Target<InvoiceId>),
    Order(Target<OrderId>),
    Purchase(Target<PurchaseId>),
}

impl Document {
    fn of(call: &Call, kind: DocumentKind) -> Result<Self, ApiError> {
        Ok(match kind {
            DocumentKind::Invoice => Self::Invoice(call.target(Code::INVOICE_NOT_FOUND)?),
            DocumentKind::Order => Self::Order(call.target(Code::ORDER_NOT_FOUND)?),
            DocumentKind::Purchase => Self::Purchase(call.target(Code::PURCHASE_NOT_FOUND)?),
        })
    }

    fn id(&self) -> i64 {
        match self {
            Self::Invoice(target) => target.id.get(),
            Self::Order(target) => target.id.get(),
            Self::Purchase(target) => target.id.get(),
        }
    }
}

/// Mails the document that the path names, and answers once that is done.
pub(super) async fn send(call: Call, kind: DocumentKind) -> Result<Reply, ApiError> {
    let request = call.body().await.and_then(SendBody::read);
    let request = match call.strictly(request) {
        Ok(request) => request,
        Err(refused) => return call.refuse(refused).await,
    };
    let document = match Document::of(&call, kind) {
        Ok(document) => document,
        Err(absent) => return call.refuse(absent).await,
    };
    let mails = &call.worker.shared.document_mails;
    let lock = mails.lock((call.caller.business_id(), kind, document.id())).await;
    // Otherwise a caller who disconnects while the mail is being sent would have a retry send it again.
    run_to_completion(async move {
        let _lock = lock;
        deliver(&call, &document, &request).await
    })
    .await
}

/// Sends the mail, then stores the answer.
async fn deliver(call: &Call, document: &Document, request: &SendDocument) -> Result<Reply, ApiError> {
    let business = &call.caller.business;
    let prepared = call.prepare(async |session: &mut dyn Session| {
        let document = match document.clone() {
            Document::Invoice(id) => invoices::prepare_invoice_mail(session, business, id, request).await?,
            Document::Order(id) => orders::prepare_order_mail(session, business, id, request).await?,
            Document::Purchase(id) => purchases::prepare_purchase_mail(session, business, id, request).await?,
        };
        call.claim_mail(session, not_sent).await?;
        Ok(document)
    });
    let document = match prepared.await? {
        Prepared::Done(document) => document,
        Prepared::Answered(reply) => return Ok(reply),
    };
    // It is printed and sent while no transaction is open.
    let mail = written(call, &document, request).await?;
    let sent = call.send_mail(mail, SEND_TIMEOUT).await;
    let held = sent.map_err(not_sent)?;
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        call.queue_held_mail(session, held.as_ref()).await?;
        call.ok(&OfContact {
            contact: document.contact,
            view: SentDocument::from(&document),
        })
    })
    .await
}

async fn written(call: &Call, document: &OutgoingDocument, request: &SendDocument) -> Result<Mail, ApiError> {
    let file = call.print(document.bill.clone()).await?;
    let mail = document.mail(&call.caller.business, request, file);
    mail.map_err(|too_large| not_sent(too_large.into()))
}

fn not_sent(cause: BoxError) -> ApiError {
    ApiError::failed(Code::DOCUMENT_SEND_FAILED, "the mail could not be sent", cause)
}
