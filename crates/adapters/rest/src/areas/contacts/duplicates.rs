//! The search for a contact that a new one would repeat, over HTTP (contract, "Contacts").

use forecourt_accounts::Rules;
use forecourt_contacts::{self as contacts, Address, AddressChanges, DuplicateAnswer, DuplicateKind, DuplicateProbe};
use forecourt_dealership::Session;
use forecourt_kernel::{Field, Line, ValidationErrors};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{
    ToSchema,
    openapi::{Ref, RefOr, Schema, schema::OneOfBuilder},
};

use crate::{
    body::Form,
    call::Call,
    error::ApiError,
    operation::{Declared, Operation, operations},
    reply::{Envelope, Reply},
    schemas,
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![self::<__path_check_contact_duplicate> check_contact_duplicate])
}

/// Look for a contact that a new one would repeat
///
/// Names, emails and numbers are compared without regard to case, punctuation and spacing. Of several matches, the first is
/// returned.
#[utoipa::path(post, path = "/2.0/contacts/duplicate-check", tag = "contacts", security(("bearer" = ["contacts:read"])),
    request_body(content = DuplicateBody, extensions(("x-rules" = json!({
        "if": {"properties": {"type": {"const": "address"}}},
        "then": {"properties": {"type": {"type": "string"}, "value": {"type": "object"}}},
        "else": {"properties": {"type": {"type": "string"}, "value": {"type": "string"}}},
    })))),
    responses((status = 200, description = "What was found", body = Envelope<DuplicateAnswer>)))]
async fn check_contact_duplicate(call: Call) -> Result<Reply, ApiError> {
    let probe = call
        .read_body(|body: DuplicateBody, rules| Ok(body.probe(rules)?))
        .await;
    if call.retry.is_none() {
        let mut session = call.read().await?;
        return Reply::ok(&contacts::check_duplicate(session.as_mut(), &call.caller, &call.strictly(probe)?).await?);
    }
    call.write(probe, async |session: &mut dyn Session, probe| {
        Reply::ok(&contacts::check_duplicate(session, &call.caller, &probe).await?)
    })
    .await
}

/// A search for a duplicate.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"type": "email", "value": "ann@example.com"}))]
struct DuplicateBody {
    /// The field that is compared; phone is both telephone and mobile.
    #[serde(default)]
    #[schema(value_type = DuplicateKind, required)]
    r#type: Field<Line>,
    /// A text, or an address object if type is address.
    #[serde(default)]
    #[schema(schema_with = probe_schema, required)]
    value: Field<Value>,
}

fn probe_schema() -> RefOr<Schema> {
    let address = Ref::from_schema_name(AddressChanges::name());
    OneOfBuilder::new().item(schemas::non_blank_line()).item(address).into()
}

impl DuplicateBody {
    fn probe(self, rules: &Rules<'_>) -> Result<DuplicateProbe, ValidationErrors> {
        let Self { r#type, value } = self;
        let mut form = Form::new();
        let kind = form.required("type", r#type);
        let kind = form.validated("type", kind, |name| name.parse::<DuplicateKind>());
        let value = form.required("value", value);
        let probe = match (kind, value) {
            (Some(DuplicateKind::Address), Some(value @ Value::Object(_))) => {
                let address = form.within("value", Address::read(value, rules));
                form.validated("value", address, |address| DuplicateProbe::address(&address))
            }
            (Some(DuplicateKind::Address), Some(_)) => {
                form.fault("value", "must be an address object");
                None
            }
            (Some(kind), Some(Value::String(text))) => {
                let line = form.validated("value", Some(text), Line::new);
                let home = rules.business.country;
                form.validated("value", line, |text| DuplicateProbe::text(kind, &text, home))
            }
            (Some(_), Some(_)) => {
                form.fault("value", "must be a string");
                None
            }
            (None, _) | (_, None) => None,
        };
        form.finish_found(probe)
    }
}
