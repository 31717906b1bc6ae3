//! Contacts over HTTP (contract, "Contacts"; decisions §6).

mod duplicates;
mod export;
mod follow_blocks;
mod id;
mod login;
mod notes;

use forecourt_accounts::{Caller, Shown};
use forecourt_contacts::{
    self as contacts, Contact, ContactChanges, ContactError, ContactFilter, ContactView, FullContact, WholeText,
};
use forecourt_dealership::Session;
use forecourt_kernel::{ContactId, ListName, Phone, Scope, Target, View};
use forecourt_reference::RecordTags;
use serde_json::{Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

use self::id::IdParameter;
use crate::{
    areas::{Area, EventRecord},
    call::Call,
    code::{Code, codes},
    conditional::RecordState,
    error::ApiError,
    list::{PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{EmailFilter, FieldsParameter, ListRenderingParameters, PageParameters, RenderingParameters, filters},
    record::Personal,
    reply::{Answer, Deleted, Envelope, Reply},
    schemas::{self, MomentRange},
};

const LIST: ListName = ListName::new("contacts");

pub(super) const AREA: Area = Area {
    tag: "contacts",
    about: "Customers, suppliers and others: their record, their privacy and their login",
    operations,
    codes: CODES,
    records: &[EventRecord {
        resource: "contact",
        schema: "Contact",
        example: an_example,
    }],
};

codes! {
    CODES;
    CONTACT_NOT_FOUND = NOT_FOUND, "contact_not_found" {
        meaning: "The business has no such contact.",
        cause: "The id is wrong, the contact was deleted, or it belongs to another business.",
        remedy: "Look the contact up with `GET /2.0/contacts`, and forget ids that answer 404.",
    }
    CONTACT_NOTE_NOT_FOUND = NOT_FOUND, "contact_note_not_found" {
        meaning: "The contact has no such note.",
        cause: "The id is wrong, the note was deleted, or it belongs to another contact.",
        remedy: "List the notes with `GET /2.0/contacts/{id}/notes`.",
    }
    CONTACT_EMAIL_DUPLICATE = CONFLICT, "contact_email_duplicate" {
        meaning: "Another contact logs in with this email.",
        cause: "The email is the login name, so two contacts with login cannot have the same.",
        remedy: "Use another email, or disable the login of one of them.",
    }
    CONTACT_LOGIN_DISABLED = CONFLICT, "contact_login_disabled" {
        meaning: "The contact has no login.",
        cause: "The operation is for contacts whose `login` is true.",
        remedy: "Enable it with `PATCH /2.0/contacts/{id}` and `{\"login\": true}`; that needs an email.",
    }
    CONTACT_LOGIN_EMAIL_FAILED = INTERNAL_SERVER_ERROR, "contact_login_email_failed" {
        meaning: "The mail with the login details could not be sent.",
        cause: "The mail server could not be reached or refused the mail, or the business has sent as many mails as it may in a UTC day. The password was not changed.",
        remedy: "Try again after a while. If it keeps failing, ask the operator of the installation to look at the mail settings.",
    }
    CONTACT_LOGIN_PASSWORD_UNAVAILABLE = INTERNAL_SERVER_ERROR, "contact_login_password_unavailable" {
        meaning: "A new password could not be made.",
        cause: "The server failed while it made one. The password was not changed.",
        remedy: "Try again after a while.",
    }
}

fn operations() -> Declared<Vec<Operation>> {
    let mut operations = operations![
        self::<__path_list_contacts> list_contacts,
        self::<__path_create_contact> create_contact,
        self::<__path_read_contact> read_contact,
        self::<__path_update_contact> update_contact,
        self::<__path_delete_contact> delete_contact,
        self::<__path_read_contact_tags> read_contact_tags,
    ];
    operations.append(&mut duplicates::operations()?);
    operations.append(&mut follow_blocks::operations()?);
    operations.append(&mut notes::operations()?);
    operations.append(&mut login::operations()?);
    operations.append(&mut export::operations()?);
    Ok(operations)
}

/// List contacts
///
/// Newest first.
#[utoipa::path(get, path = "/2.0/contacts", tag = "contacts", security(("bearer" = ["contacts:read"])),
    params(FilterParameters, PageParameters, ListRenderingParameters),
    responses((status = 200, description = "A page of contacts", body = PageEnvelope<ContactView<'static>>)))]
async fn list_contacts(call: Call) -> Result<Answer, ApiError> {
    let (filter, list) = call.filtered_list(LIST, View::Simple, FilterParameters::read)?;
    let view = list.view;
    let size = match view {
        View::Simple => RecordSize::Small,
        View::Full => RecordSize::Large,
    };
    list.answer(
        call,
        size,
        async move |session, call, page| contacts::list_contacts(session, &call.caller, &filter, page, view).await,
        |item, contact| {
            let Caller { business, scopes, .. } = &item.call.caller;
            item.show(&ContactView::new(contact, item.view, &business.catalogue, *scopes))
        },
    )
    .await
}

/// Create a contact
///
/// Existing contacts are not searched for a similar one: see the duplicate check.
#[utoipa::path(post, path = "/2.0/contacts", tag = "contacts", security(("bearer" = ["contacts:write"])),
    request_body = NewContactBody,
    responses((status = 201, description = "The contact that was created", body = Envelope<FullContact<'static>>),
        (status = 409, description = "`contact_email_duplicate`")))]
async fn create_contact(call: Call) -> Result<Reply, ApiError> {
    let changes = call.valid(contacts::validate_new_contact).await;
    write_contact(&call, changes, async |session: &mut dyn Session, changes| {
        let contact = contacts::create_contact(session, call.clock().as_ref(), &call.caller, changes).await?;
        call.created(&contact)
    })
    .await
}

/// Read a contact
#[utoipa::path(get, path = "/2.0/contacts/{id}", tag = "contacts", security(("bearer" = ["contacts:read"])),
    params(IdParameter, RenderingParameters),
    responses((status = 200, description = "The contact", body = Envelope<ContactView<'static>>),
        (status = 404, description = "`contact_not_found`")))]
async fn read_contact(call: Call) -> Result<Reply, ApiError> {
    let rendering = call.rendering()?;
    let id = call.id(Code::CONTACT_NOT_FOUND)?;

    let mut session = call.read().await?;
    let contact = contacts::read_contact(session.as_mut(), &call.caller, id).await?;
    let Caller { business, scopes, .. } = &call.caller;
    let state = RecordState {
        version: contact.version_shown(rendering.view, *scopes),
        updated: contact.updated,
    };
    let shown = ContactView::new(&contact, rendering.view, &business.catalogue, *scopes);
    call.record(state, &rendering, &shown)
}

/// Change a contact
///
/// Only the supplied fields change; address, license and nominal are merged by their members, and null clears the whole object.
#[utoipa::path(patch, path = "/2.0/contacts/{id}", tag = "contacts", security(("bearer" = ["contacts:write"])),
    params(IdParameter), request_body = ContactChanges,
    responses((status = 200, description = "The contact", body = Envelope<FullContact<'static>>),
        (status = 404, description = "`contact_not_found`"), (status = 409, description = "`contact_email_duplicate`")))]
async fn update_contact(call: Call) -> Result<Reply, ApiError> {
    let changes = call.valid(contacts::validate_contact_change).await;
    write_contact(&call, changes, async |session: &mut dyn Session, changes| {
        let target = call.target(Code::CONTACT_NOT_FOUND)?;
        let contact = contacts::update_contact(session, call.clock().as_ref(), &call.caller, target, changes).await?;
        call.ok(&contact)
    })
    .await
}

/// Delete a contact
///
/// Its notes are deleted too, and its personal data is erased from the records that remain: leads, the log of events,
/// deliveries.
#[utoipa::path(delete, path = "/2.0/contacts/{id}", tag = "contacts", security(("bearer" = ["contacts:delete"])),
    params(IdParameter),
    responses((status = 200, description = "The contact is gone", body = Envelope<Deleted>),
        (status = 404, description = "`contact_not_found`")))]
async fn delete_contact(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let contact: Target<ContactId> = call.target(Code::CONTACT_NOT_FOUND)?;
        let id = contact.id;
        contacts::delete_contact(session, call.clock().as_ref(), &call.caller, contact).await?;
        Reply::deleted(id.get())
    })
    .await
}

/// Read a contact's tags
///
/// The tags that it carries, and those that it could carry.
#[utoipa::path(get, path = "/2.0/contacts/{id}/tags", tag = "contacts", security(("bearer" = ["contacts:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "The tags", body = Envelope<RecordTags<'static>>),
        (status = 404, description = "`contact_not_found`")))]
async fn read_contact_tags(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id = call.id(Code::CONTACT_NOT_FOUND)?;
    let mut session = call.read().await?;
    let contact = contacts::read_contact(session.as_mut(), &call.caller, id).await?;
    Reply::projected(&contact.tags(&call.caller.business.catalogue), fields.as_ref())
}

impl Personal for Contact {
    type View<'a> = FullContact<'a>;

    fn view<'a>(&'a self, call: &'a Call) -> FullContact<'a> {
        FullContact::new(self, &call.caller.business.catalogue, call.caller.scopes)
    }

    fn shown(&self) -> Shown {
        Shown {
            contact: Some(self.id),
            record: None,
        }
    }
}

/// Runs a write that answers with a contact. The answer to a retry may have been made for another key of the business, so
/// everything that this key may not see is removed.
async fn write_contact<C: Clone>(
    call: &Call,
    command: Result<C, ApiError>,
    work: impl AsyncFn(&mut dyn Session, C) -> Result<Reply, ApiError>,
) -> Result<Reply, ApiError> {
    let reply = call.write(command, work).await?;
    if reply.replayed && !call.caller.may(Scope::ContactNotesRead) {
        return reply.withholding(|contact| contacts::project(contact, call.caller.scopes));
    }
    Ok(reply)
}

impl From<ContactError> for ApiError {
    fn from(error: ContactError) -> Self {
        match error {
            ContactError::NotFound(_) => Self::new(Code::CONTACT_NOT_FOUND, "this business has no such contact"),
            ContactError::NoteNotFound(_) => Self::new(Code::CONTACT_NOTE_NOT_FOUND, "this contact has no such note"),
            ContactError::VersionMismatch(mismatch) => mismatch.into(),
            ContactError::Invalid(errors) => errors.into(),
            ContactError::EmailDuplicate => Self::new(
                Code::CONTACT_EMAIL_DUPLICATE,
                "another contact of this business logs in with this email",
            ),
            ContactError::LoginDisabled => {
                Self::new(Code::CONTACT_LOGIN_DISABLED, "this contact has no customer login")
            }
            ContactError::PasswordUnavailable(cause) => Self::failed(
                Code::CONTACT_LOGIN_PASSWORD_UNAVAILABLE,
                "a new password could not be made",
                cause,
            ),
            ContactError::LoginEmailFailed(cause) => Self::failed(
                Code::CONTACT_LOGIN_EMAIL_FAILED,
                "the login details could not be mailed",
                cause,
            ),
            ContactError::Store(error) => error.into(),
        }
    }
}

filters! {
    FilterParameters => ContactFilter;

    /// With this address, case-insensitive; % stands for any characters (scope search:wildcard; at most 4 %, and 100
    /// characters).
    email: EmailFilter;
    /// Of this name, without regard to case.
    name: WholeText;
    /// Of this company, without regard to case.
    company: WholeText;
    /// With this VAT registration number, without regard to case.
    vat: WholeText;
    /// With this postcode, without regard to case.
    zip: WholeText;
    /// With this landline, in any usual spelling.
    telephone: Phone;
    /// With this mobile, in any usual spelling.
    mobile: Phone;
    /// Made between these two moments, both included; an empty one leaves that end open. `created=…` is just this moment.
    created: MomentRange;
    /// Last changed between these two moments, both included; an empty one leaves that end open. `updated=…` is just this
    /// moment.
    updated: MomentRange;
}

/// A contact to be created: [`ContactChanges`] with a name.
enum NewContactBody {}

impl PartialSchema for NewContactBody {
    fn schema() -> RefOr<Schema> {
        let mut schema = ContactChanges::schema();
        if let RefOr::T(Schema::Object(body)) = &mut schema {
            let name = schemas::non_blank_line().description(Some("Full name."));
            body.properties.insert("name".to_owned(), name.into());
            body.required.push("name".to_owned());
            body.description = Some("A contact to be created.".to_owned());
            body.example = Some(json!({
                "name": "Ann Lee",
                "email": "ann@example.com",
                "mobile": "+447700900123",
                "address": {"line1": "1 High Street", "city": "Leeds", "country": "GB", "zip": "LS1 1AA"},
                "marketing": "Yes",
            }));
        }
        schema
    }
}

impl ToSchema for NewContactBody {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        ContactChanges::schemas(schemas);
    }
}

/// A contact as events show it.
fn an_example() -> Value {
    json!({
        "id": 1042,
        "site": 0,
        "email": "ann@example.com",
        "created": 1_767_225_600,
        "updated": 1_767_225_600,
        "version": 1,
        "data": {
            "type": ["Customer"],
            "name": "Ann Smith",
            "company": "",
            "vat": "",
            "address": {
                "line1": "2 High Street",
                "line2": "",
                "line3": "",
                "city": "Leeds",
                "state": "",
                "country": "GB",
                "zip": "LS1 4AB"
            },
            "telephone": "",
            "mobile": "+447700900123",
            "dob": null,
            "license": {"number": "", "code": "", "checked": null, "checked_by": null},
            "ni": "",
            "marketing": "No",
            "notes": [],
            "accounting": {},
            "nominal": {"invoice": "", "purchase": ""},
            "tag": [],
            "document": [],
            "login": false
        }
    })
}
