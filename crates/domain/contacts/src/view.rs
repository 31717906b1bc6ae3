//! The representations of a contact and of what belongs to it that the API and webhooks show (contract, "Contact" and
//! "Contacts").

use forecourt_kernel::{
    ContactId, Country, Date, Scope, ScopeSet, SiteId, StaffId, Timestamp, Version, View, bounds::MAX_NOTES_SHOWN,
};
use forecourt_reference::{AppliedTag, Catalogue, TagResource};
use serde::{Serialize, Serializer};
use serde_json::{Value, value::RawValue};

use crate::{
    Address, Contact, ContactDraft, ContactNote, ContactType, DocumentReference, DuplicateKind, FollowBlocks, License,
    LoginInvitation, Marketing, Nominal, Password, PastEvent,
};

/// A contact as it is shown.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "a view is made, written and forgotten")]
pub enum ContactView<'a> {
    /// With the fields that a list needs.
    Simple(SimpleContact<'a>),
    /// With every field.
    Full(FullContact<'a>),
}

impl<'a> ContactView<'a> {
    /// `contact` as `view` shows it to a caller with `scopes`, its tags painted as `catalogue` says.
    pub fn new(contact: &'a Contact, view: View, catalogue: &'a Catalogue, scopes: ScopeSet) -> Self {
        match view {
            View::Simple => Self::Simple(SimpleContact::new(contact)),
            View::Full => Self::Full(FullContact::new(contact, catalogue, scopes)),
        }
    }
}

/// A contact in the simple view (decisions §6).
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SimpleContact))]
pub struct SimpleContact<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    /// What the contact says, in part.
    data: SimpleData<'a>,
}

/// A contact in the full view.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Contact))]
pub struct FullContact<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    /// Raised by one with each change, from 1; notes are no change.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    version: Version,
    /// What the contact says.
    data: FullData<'a>,
}

/// What every view of a contact begins with.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ContactHead))]
struct Head<'a> {
    /// Contact id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: ContactId,
    /// Site id; 0 means none.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    site: SiteId,
    /// Primary email; also the name to log in with.
    email: &'a str,
    /// When the contact was made, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
    /// When the contact last changed, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    updated: Timestamp,
}

/// What a contact says in the simple view.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SimpleContactData))]
struct SimpleData<'a> {
    /// What the contact is to the business.
    #[serde(rename = "type")]
    types: &'a [ContactType],
    /// Full name.
    name: &'a str,
    /// Company.
    company: &'a str,
    /// Landline in E.164.
    telephone: &'a str,
    /// Mobile in E.164.
    mobile: &'a str,
}

/// What a contact says. Texts that are unknown are empty.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ContactData))]
struct FullData<'a> {
    /// What the contact is to the business.
    #[serde(rename = "type")]
    types: &'a [ContactType],
    /// Full name.
    name: &'a str,
    /// Company.
    company: &'a str,
    /// VAT registration number.
    vat: &'a str,
    /// Postal address.
    address: AddressView<'a>,
    /// Landline in E.164.
    telephone: &'a str,
    /// Mobile in E.164.
    mobile: &'a str,
    /// Date of birth; null if unknown.
    #[cfg_attr(feature = "openapi", schema(required))]
    dob: Option<Date>,
    /// Driving licence.
    license: LicenseView<'a>,
    /// National insurance number.
    ni: &'a str,
    /// Marketing consent.
    marketing: Marketing,
    /// The newest notes, at most 50, newest first; present only with scope contact-notes:read. In an export it is all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<ContactNote>, required = false))]
    notes: Option<&'a [ContactNote]>,
    /// Accounting integration data; nothing fills it yet.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    accounting: Accounting,
    /// Nominal codes.
    nominal: NominalView<'a>,
    /// Applied tags.
    tag: Vec<AppliedTag<'a>>,
    /// Attached references, as they were written.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    document: &'a [DocumentReference],
    /// Whether customer login is enabled.
    login: bool,
}

/// A postal address.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ContactAddress))]
struct AddressView<'a> {
    line1: &'a str,
    line2: &'a str,
    line3: &'a str,
    city: &'a str,
    state: &'a str,
    /// Two-letter ISO code; empty if unknown.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    #[serde(serialize_with = "code_or_nothing")]
    country: Option<Country>,
    zip: &'a str,
}

/// A driving licence.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ContactLicense))]
struct LicenseView<'a> {
    number: &'a str,
    code: &'a str,
    /// The day on which it was checked; null if it was not.
    #[cfg_attr(feature = "openapi", schema(required))]
    checked: Option<Date>,
    /// Staff user id of who checked it; null if unchecked.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    checked_by: Option<StaffId>,
}

/// Nominal codes.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ContactNominal))]
struct NominalView<'a> {
    invoice: &'a str,
    purchase: &'a str,
}

/// An object without members: what the accounting integration would keep.
#[derive(Clone, Copy, Debug, Serialize)]
struct Accounting {}

#[expect(clippy::ref_option, reason = "serde's signature")]
fn code_or_nothing<S: Serializer>(country: &Option<Country>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(country.as_ref().map_or("", Country::code))
}

impl<'a> SimpleContact<'a> {
    fn new(contact: &'a Contact) -> Self {
        let content = &contact.content;
        Self {
            head: Head::new(contact),
            data: SimpleData {
                types: &content.types,
                name: &content.name,
                company: &content.company,
                telephone: &content.telephone,
                mobile: &content.mobile,
            },
        }
    }
}

impl<'a> FullContact<'a> {
    /// `contact` with every field that a caller with `scopes` may see, its tags painted as `catalogue` says.
    pub fn new(contact: &'a Contact, catalogue: &'a Catalogue, scopes: ScopeSet) -> Self {
        let mut shown = Self::whole(contact, catalogue);
        if !scopes.contains(Scope::ContactNotesRead) {
            shown.data.notes = None;
        }
        shown
    }

    /// All of `contact`, as events keep it.
    pub fn whole(contact: &'a Contact, catalogue: &'a Catalogue) -> Self {
        // Every field is named, so that a new one does not compile before it has its place here or in the head.
        let ContactDraft {
            site: _,
            email: _,
            types,
            name,
            company,
            vat,
            address,
            telephone,
            mobile,
            dob,
            license,
            ni,
            marketing,
            nominal,
            tags,
            documents,
            login,
        } = &contact.content;
        Self {
            head: Head::new(contact),
            version: contact.version,
            data: FullData {
                types,
                name,
                company,
                vat,
                address: AddressView::new(address),
                telephone,
                mobile,
                dob: *dob,
                license: LicenseView::new(license),
                ni,
                marketing: *marketing,
                notes: Some(&contact.notes),
                accounting: Accounting {},
                nominal: NominalView::new(nominal),
                tag: catalogue.applied_tags(TagResource::Contact, tags),
                document: documents,
                login: *login,
            },
        }
    }
}

impl<'a> Head<'a> {
    fn new(contact: &'a Contact) -> Self {
        let Contact {
            id,
            created,
            updated,
            version: _,
            notes: _,
            content,
        } = contact;
        Self {
            id: *id,
            site: content.site,
            email: &content.email,
            created: *created,
            updated: *updated,
        }
    }
}

impl<'a> AddressView<'a> {
    fn new(address: &'a Address) -> Self {
        let Address {
            line1,
            line2,
            line3,
            city,
            state,
            country,
            zip,
        } = address;
        Self {
            line1,
            line2,
            line3,
            city,
            state,
            country: *country,
            zip,
        }
    }
}

impl<'a> LicenseView<'a> {
    fn new(license: &'a License) -> Self {
        let License {
            number,
            code,
            checked,
            checked_by,
        } = license;
        Self {
            number,
            code,
            checked: *checked,
            checked_by: *checked_by,
        }
    }
}

impl<'a> NominalView<'a> {
    fn new(nominal: &'a Nominal) -> Self {
        let Nominal { invoice, purchase } = nominal;
        Self { invoice, purchase }
    }
}

/// What a duplicate-check found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DuplicateAnswer {
    /// What was looked for.
    #[serde(rename = "type")]
    kind: DuplicateKind,
    /// Whether there is a match.
    duplicate: bool,
    /// The contact that matches; null if none does.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    contact: Option<ContactId>,
}

impl DuplicateAnswer {
    /// The answer that `contact` matches, or that none does.
    pub const fn new(kind: DuplicateKind, contact: Option<ContactId>) -> Self {
        Self {
            kind,
            duplicate: contact.is_some(),
            contact,
        }
    }
}

/// A contact's new password, shown this once.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PasswordReset))]
pub struct PasswordReset<'a> {
    /// Contact id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: ContactId,
    /// Whether customer login is enabled.
    login: bool,
    /// The password.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    #[serde(serialize_with = "in_the_clear")]
    password: &'a Password,
}

impl<'a> PasswordReset<'a> {
    /// The answer that `contact` logs in with `password` now.
    pub const fn new(contact: &Contact, password: &'a Password) -> Self {
        Self {
            id: contact.id,
            login: contact.content.login,
            password,
        }
    }
}

fn in_the_clear<S: Serializer>(password: &&Password, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(password.reveal())
}

/// Login details that have been mailed.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LoginEmailed))]
pub struct LoginEmailed<'a> {
    /// Contact id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: ContactId,
    /// The address that they went to.
    email: &'a str,
    /// True: a failure is an error.
    emailed: bool,
}

impl<'a> LoginEmailed<'a> {
    /// The answer that `invitation` has been sent.
    pub fn new(invitation: &'a LoginInvitation) -> Self {
        Self {
            id: invitation.contact(),
            email: invitation.email(),
            emailed: true,
        }
    }
}

/// Removes from a contact's full view what a caller with `scopes` may not see (decisions §6). In a view that was written when
/// all notes were shown, the newest remain.
pub fn project(shown: &mut Value, scopes: ScopeSet) {
    let Some(data) = shown.get_mut("data").and_then(Value::as_object_mut) else {
        return;
    };
    if !scopes.contains(Scope::ContactNotesRead) {
        data.retain(|member, _| member != "notes");
    } else if let Some(Value::Array(notes)) = data.get_mut("notes") {
        notes.truncate(MAX_NOTES_SHOWN);
    }
}

/// What is held on a contact, as one document, as far as the key may read it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ContactExport))]
pub struct ContactExport<'a> {
    /// When this was put together, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    exported: Timestamp,
    /// The record in full, its notes and attached references included.
    #[cfg_attr(feature = "openapi", schema(value_type = FullContact<'static>))]
    contact: Owned<'a>,
    /// Whether a password is stored for the login; only its hash is.
    password: bool,
    /// Whether the email and the number are to be left alone.
    follow_blocks: FollowBlocks,
    /// The enquiries that are linked to the contact, in full, each with its `messages` (with lead-messages:read) and its `notes`
    /// (with lead-notes:read). Absent without scope leads:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    leads: Option<Vec<Box<RawValue>>>,
    /// The vehicles that the contact has offered, funded, supplied, reserved or bought, in full; pricing only with scope
    /// vehicle-pricing:read. Absent without vehicles:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    vehicles: Option<Vec<Box<RawValue>>>,
    /// The contact's test drives, each with its `vehicle`, signature and photos. Absent without vehicle-drives:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    drives: Option<Vec<Box<RawValue>>>,
    /// The reservations of vehicles for the contact, ended ones as well, each with its `vehicle`. Absent without
    /// vehicle-reserve:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    reservations: Option<Vec<Box<RawValue>>>,
    /// The sales of vehicles to the contact, each with its `vehicle`. Absent without vehicle-sales:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    sales: Option<Vec<Box<RawValue>>>,
    /// The invoices for the contact. Absent without invoices:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    invoices: Option<Vec<Box<RawValue>>>,
    /// The documents kept with vehicles that the contact has offered, reserved or bought, each with its `vehicle`. Absent without
    /// vehicle-documents:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    documents: Option<Vec<Box<RawValue>>>,
    /// The reviews under the contact's name. Absent without reviews:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    reviews: Option<Vec<Box<RawValue>>>,
    /// The mails to the contact's address that wait to be sent. Absent without lead-messages:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    mails: Option<Vec<Box<RawValue>>>,
    /// The contact as events of the log show it, oldest first.
    events: Vec<ExportedEvent>,
    /// What the key may not read, and is left out: a section that is absent, `leads.messages` and `leads.notes`, `notes` (those
    /// of the contact, and of its events) without contact-notes:read, `vehicles.pricing` without vehicle-pricing:read.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    omitted: Vec<&'static str>,
}

/// A contact in the full view that keeps what it shows.
#[derive(Clone, Debug)]
struct Owned<'a> {
    contact: Contact,
    catalogue: &'a Catalogue,
    scopes: ScopeSet,
}

impl Serialize for Owned<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FullContact::new(&self.contact, self.catalogue, self.scopes).serialize(serializer)
    }
}

/// An event of the log.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ExportedEvent))]
pub struct ExportedEvent {
    /// `evt_` and hexadecimal text.
    id: String,
    /// What happened.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    event: &'static str,
    /// When it happened, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
    /// The contact at that moment.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    data: Box<RawValue>,
}

/// The parts of an export, each with the scope that its own reads need.
const SECTIONS: [(&str, Scope); 13] = [
    ("leads", Scope::LeadsRead),
    ("notes", Scope::ContactNotesRead),
    ("leads.messages", Scope::LeadMessagesRead),
    ("leads.notes", Scope::LeadNotesRead),
    ("vehicles", Scope::VehiclesRead),
    ("vehicles.pricing", Scope::VehiclePricingRead),
    ("drives", Scope::VehicleDrivesRead),
    ("reservations", Scope::VehicleReserveRead),
    ("sales", Scope::VehicleSalesRead),
    ("invoices", Scope::InvoicesRead),
    ("documents", Scope::VehicleDocumentsRead),
    ("reviews", Scope::ReviewsRead),
    // Mails to a contact are replies to its enquiries.
    ("mails", Scope::LeadMessagesRead),
];

impl<'a> ContactExport<'a> {
    /// What is held on `contact`, as it was put together at `exported` for a caller with `scopes`.
    pub(crate) fn new(
        contact: Contact,
        has_password: bool,
        follow_blocks: FollowBlocks,
        catalogue: &'a Catalogue,
        scopes: ScopeSet,
        exported: Timestamp,
    ) -> Self {
        let withheld = SECTIONS.iter().filter(|(_, scope)| !scopes.contains(*scope));
        let section = |scope| scopes.contains(scope).then(Vec::new);
        Self {
            exported,
            contact: Owned {
                contact,
                catalogue,
                scopes,
            },
            password: has_password,
            follow_blocks,
            leads: section(Scope::LeadsRead),
            vehicles: section(Scope::VehiclesRead),
            drives: section(Scope::VehicleDrivesRead),
            reservations: section(Scope::VehicleReserveRead),
            sales: section(Scope::VehicleSalesRead),
            invoices: section(Scope::InvoicesRead),
            documents: section(Scope::VehicleDocumentsRead),
            reviews: section(Scope::ReviewsRead),
            mails: section(Scope::LeadMessagesRead),
            events: Vec::new(),
            omitted: withheld.map(|(section, _)| *section).collect(),
        }
    }
}

impl ExportedEvent {
    pub(crate) fn new(event: PastEvent, scopes: ScopeSet) -> serde_json::Result<Self> {
        let PastEvent {
            sequence: _,
            id,
            name,
            created,
            data,
        } = event;
        let mut shown = serde_json::from_str(data.get())?;
        project(&mut shown, scopes);
        Ok(Self {
            id,
            event: name.as_str(),
            created,
            data: serde_json::value::to_raw_value(&shown)?,
        })
    }
}

/// A full contact is a simple one too, so "one of" would not do, which is what a derive makes of an enum.
#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for ContactView<'_> {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::{Ref, schema::AnyOfBuilder};
        let views = ["Contact", "SimpleContact"].map(Ref::from_schema_name);
        let views = views.into_iter().fold(AnyOfBuilder::new(), AnyOfBuilder::item);
        utoipa::openapi::Schema::AnyOf(views.build()).into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for ContactView<'_> {
    fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
        use utoipa::PartialSchema;
        schemas.push(("Contact".to_owned(), FullContact::schema()));
        schemas.push(("SimpleContact".to_owned(), SimpleContact::schema()));
        <FullContact<'_> as utoipa::ToSchema>::schemas(schemas);
        <SimpleContact<'_> as utoipa::ToSchema>::schemas(schemas);
    }
}
