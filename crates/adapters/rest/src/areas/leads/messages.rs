//! The messages of a lead's conversation, over HTTP (decisions §5).

use std::time::Duration;

use forecourt_accounts::{Shown, ShownRecord};
use forecourt_dealership::Session;
use forecourt_kernel::{BoxError, Field, LeadId, LeadMessageId, Line, LongText, Mail, Target, ValidationErrors, View};
use forecourt_leads::{self as leads, Direction, LeadError, LeadMessage, NewMessage};
use forecourt_reference::LeadChannel;
use serde::Deserialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use super::id::IdParameter;
use crate::{
    body::Form,
    call::Call,
    code::Code,
    error::{ApiError, chain},
    list::{PageEnvelope, RecordSize},
    metrics,
    operation::{Declared, Operation, operations},
    parameters::{FieldsParameter, PageParameters, parameters},
    record::Personal,
    reply::{Answer, Envelope, Reply},
    write::Prepared,
};

/// The time within which the mail server must accept or reject the recipient: longer than our mailers wait for it.
const CHECK_TIMEOUT: Duration = Duration::from_secs(15);

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_lead_messages> list_lead_messages,
        self::<__path_create_lead_message> create_lead_message,
        self::<__path_read_lead_message> read_lead_message,
    ])
}

/// List a lead's messages
///
/// Newest first. The enquiry itself is not one of them: it is in the lead's `data`.
#[utoipa::path(get, path = "/2.0/leads/{id}/messages", tag = "leads", security(("bearer" = ["lead-messages:read"])),
    params(IdParameter, PageParameters, FieldsParameter),
    responses((status = 200, description = "A page of messages", body = PageEnvelope<LeadMessage>),
        (status = 404, description = "`lead_not_found`")))]
async fn list_lead_messages(call: Call) -> Result<Answer, ApiError> {
    let list = call.list(call.list_within("lead-messages"), View::Full)?;
    let lead = call.id(Code::LEAD_NOT_FOUND)?;
    list.answer(
        call,
        RecordSize::Large,
        async move |session, call, page| leads::list_messages(session, &call.caller, lead, page).await,
        |item, message| item.show(message),
    )
    .await
}

/// Read a lead's message
#[utoipa::path(get, path = "/2.0/leads/{id}/messages/{message_id}", tag = "leads", security(("bearer" = ["lead-messages:read"])),
    params(IdParameter, MessageIdParameter, FieldsParameter),
    responses((status = 200, description = "The message", body = Envelope<LeadMessage>),
        (status = 404, description = "`lead_not_found`, `lead_message_not_found`")))]
async fn read_lead_message(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let lead = call.id(Code::LEAD_NOT_FOUND)?;
    let message = call.second_id::<LeadMessageId>(Code::LEAD_MESSAGE_NOT_FOUND);
    let mut session = call.read().await?;
    // A missing lead is reported before a missing message.
    leads::read_lead(session.as_mut(), &call.caller, lead).await?;
    let message = leads::read_message(session.as_mut(), &call.caller, lead, message?).await?;
    Reply::projected(&message, fields.as_ref())
}

parameters! {
    path MessageIdParameter;

    /// Message id.
    message_id: i64;
}

/// Add a message to a lead
///
/// A message that came `in` makes the lead new_message and has the AI read the conversation; one that goes `out` makes it
/// replied. Both raise the lead's version and emit lead.updated. A message that goes out on channel `email` is mailed to the
/// lead's address. If the lead has no address, the mail server cannot be reached or refuses it, or the business has reached its
/// daily limit of mails, the answer is 422 `lead_send_failed`. No message is added then.
#[utoipa::path(post, path = "/2.0/leads/{id}/messages", tag = "leads", security(("bearer" = ["lead-messages:write"])),
    params(IdParameter), request_body = MessageBody,
    responses((status = 201, description = "The message that was added", body = Envelope<LeadMessage>),
        (status = 404, description = "`lead_not_found`"), (status = 422, description = "`validation_failed`, `lead_send_failed`")))]
async fn create_lead_message(call: Call) -> Result<Reply, ApiError> {
    let message = call.body().await.and_then(|body: MessageBody| Ok(body.message()?));
    // Requests that strict handling refuses are refused before the mail server is asked about a recipient.
    if let Ok(message) = &message
        && call.unknown.is_empty()
        && message.direction == Direction::Out
    {
        match recipient(&call, message).await? {
            Prepared::Answered(reply) => return Ok(reply),
            Prepared::Done(Some(mail)) => {
                if let Err(failed) = check(&call, &mail).await {
                    // The cause is only logged. The answer is a refusal like any other, and is replayed as one.
                    tracing::warn!(error = chain(&*failed), "a reply to a lead could not be sent");
                    return call.refuse(LeadError::SendFailed(failed).into()).await;
                }
            }
            Prepared::Done(None) => {}
        }
    }
    call.write(message, async |session: &mut dyn Session, message| {
        let lead = call.target(Code::LEAD_NOT_FOUND)?;
        let added = leads::add_message(session, call.clock().as_ref(), &call.caller, lead, message).await;
        if matches!(added, Err(LeadError::TooManyMails)) {
            metrics::count_refused_mail();
        }
        call.created(&added?)
    })
    .await
}

/// Returns the mail for a reply, after checking its recipient while no transaction is open.
async fn recipient(call: &Call, message: &NewMessage) -> Result<Prepared<Option<Mail>>, ApiError> {
    call.prepare(async |session: &mut dyn Session| {
        let lead: Target<LeadId> = call.target(Code::LEAD_NOT_FOUND)?;
        Ok(leads::outgoing_mail(session, &call.caller, lead, message).await?)
    })
    .await
}

/// Asks the mail server whether it accepts the recipient. The mail itself is stored in the outbox together with the message and
/// sent after the commit. So it is not lost, and none is sent for a message that does not exist. While outgoing is held the mail
/// server is left alone.
async fn check(call: &Call, mail: &Mail) -> Result<(), BoxError> {
    if call.worker.database.is_outgoing_held() {
        return Ok(());
    }
    timeout(CHECK_TIMEOUT, call.worker.shared.mailer.check(mail)).await??;
    Ok(())
}

impl Personal for LeadMessage {
    type View<'a> = &'a Self;

    fn view<'a>(&'a self, _: &'a Call) -> &'a Self {
        self
    }

    fn shown(&self) -> Shown {
        Shown {
            contact: None,
            record: Some(ShownRecord::Lead(self.lead)),
        }
    }
}

/// A message to be added to a lead.
#[derive(Deserialize, ToSchema)]
#[schema(as = LeadMessageBody, example = json!({"direction": "in", "channel": "whatsapp", "body": "Is it still for sale?"}))]
struct MessageBody {
    /// in for a message from the sender of the enquiry, out for one from the business.
    #[serde(default)]
    #[schema(value_type = Direction, required)]
    direction: Field<Line>,
    /// The channel that the message used; the lead's by default. On email, a message that goes out is mailed.
    #[serde(default)]
    #[schema(value_type = Option<LeadChannel>)]
    channel: Field<Line>,
    /// Its subject. A mail without one continues that of the enquiry.
    #[serde(default)]
    #[schema(value_type = Option<Line>)]
    subject: Field<Line>,
    /// The text; it may have line breaks.
    #[serde(default)]
    #[schema(value_type = String, required, min_length = 1, max_length = 20_000, pattern = "\\S")]
    body: Field<LongText>,
}

impl MessageBody {
    fn message(self) -> Result<NewMessage, ValidationErrors> {
        let Self {
            direction,
            channel,
            subject,
            body,
        } = self;
        let mut form = Form::new();
        let direction = form.required("direction", direction);
        let direction = form.validated("direction", direction, |name| name.parse::<Direction>());
        let channel = form.optional("channel", channel);
        let channel = form.validated("channel", channel, |name| name.parse::<LeadChannel>());
        let subject = form.text("subject", subject).flatten().unwrap_or_default();
        let missing = matches!(body, Field::Absent | Field::Null);
        if missing {
            form.fault("body", "is required");
        }
        let message = NewMessage {
            // A missing direction is a fault already.
            direction: direction.unwrap_or(Direction::In),
            channel,
            subject,
            // Invalid fields are not validated again.
            body: form.text("body", body).flatten().unwrap_or_default(),
        };
        form.finish_by(message, leads::validate_message)
    }
}
