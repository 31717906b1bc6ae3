//! Follow-blocks of contacts over HTTP: contacts that are not to be followed up (contract, "Contacts").

use forecourt_contacts::{self as contacts, FollowBlocks, SetFollowBlocks};
use forecourt_dealership::Session;
use forecourt_kernel::{ContactId, Field, Target, ValidationErrors};
use serde::Deserialize;
use utoipa::ToSchema;

use super::id::IdParameter;
use crate::{
    body::Form,
    call::Call,
    code::Code,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::FieldsParameter,
    record::OfContact,
    reply::{Envelope, Reply},
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_read_contact_follow_blocks> read_contact_follow_blocks,
        self::<__path_set_contact_follow_blocks> set_contact_follow_blocks,
    ])
}

/// Read whether a contact is to be left alone
#[utoipa::path(get, path = "/2.0/contacts/{id}/follow-blocks", tag = "contacts", security(("bearer" = ["contacts:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "Where the contact may not be written to", body = Envelope<FollowBlocks>),
        (status = 404, description = "`contact_not_found`")))]
async fn read_contact_follow_blocks(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id = call.id(Code::CONTACT_NOT_FOUND)?;
    let mut session = call.read().await?;
    let blocks = contacts::read_follow_blocks(session.as_mut(), &call.caller, id).await?;
    Reply::projected(&blocks, fields.as_ref())
}

/// Have a contact left alone, or not any more
///
/// A block belongs to the address or the number: it holds for every contact that has it, and remains after they are deleted.
#[utoipa::path(put, path = "/2.0/contacts/{id}/follow-blocks", tag = "contacts", security(("bearer" = ["contacts:write"])),
    params(IdParameter), request_body = FollowBlocksBody,
    responses((status = 200, description = "Where the contact may not be written to", body = Envelope<FollowBlocks>),
        (status = 404, description = "`contact_not_found`")))]
async fn set_contact_follow_blocks(call: Call) -> Result<Reply, ApiError> {
    let command = call.body().await.and_then(|body: FollowBlocksBody| Ok(body.command()?));
    call.write(command, async |session: &mut dyn Session, command| {
        let contact: Target<ContactId> = call.target(Code::CONTACT_NOT_FOUND)?;
        let id = contact.id;
        let blocks =
            contacts::set_follow_blocks(session, call.clock().as_ref(), &call.caller, contact, command).await?;
        call.ok(&OfContact {
            contact: Some(id),
            view: blocks,
        })
    })
    .await
}

/// The channels on which the contact is to be left alone. No field is required; a field that is left out stays unchanged.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"email": true}))]
struct FollowBlocksBody {
    /// True if no email is to be sent to the contact.
    #[serde(default)]
    #[schema(value_type = bool)]
    email: Field<bool>,
    /// True if no text message is to be sent to the contact.
    #[serde(default)]
    #[schema(value_type = bool)]
    sms: Field<bool>,
}

impl FollowBlocksBody {
    fn command(self) -> Result<SetFollowBlocks, ValidationErrors> {
        let Self { email, sms } = self;
        let mut form = Form::new();
        let command = SetFollowBlocks {
            // A block belongs to the address or the number, so it has no default that null could restore.
            email: form.present("email", email),
            sms: form.present("sms", sms),
        };
        form.finish(command)
    }
}
