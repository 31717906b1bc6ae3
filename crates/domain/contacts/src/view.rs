//! The representations of contacts and their sub-resources in the API and webhooks (contract, "Contact" and "Contacts").

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

/// A contact in one of its views.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "a view is made, written and forgotten")]
pub enum ContactView<'a> {
    /// The fields that a list needs.
    Simple(SimpleContact<'a>),
    /// Every field.
    Full(FullContact<'a>),
}

impl<'a> ContactView<'a> {
    /// Shows `contact` in `view` to a caller with `scopes`. The colours and types of its tags are taken from `catalogue`.
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
    /// The contact's fields that lists show.
    data: SimpleData<'a>,
}

/// A contact in the full view.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Contact))]
pub struct FullContact<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    /// Raised by one with each change, from 1. Notes are not changes.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    version: Version,
    /// The contact's fields.
    data: FullData<'a>,
}

/// The members that all views of a contact share.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ContactHead))]
struct Head<'a> {
    /// Contact id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: ContactId,
    /// Site id; 0 means none.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    site: SiteId,
    /// Primary email; also the login name.
    email: &'a str,
    /// Time of creation, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
    /// Time of the last change, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    updated: Timestamp,
}

/// The fields of a contact in the simple view.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SimpleContactData))]
struct SimpleData<'a> {
    /// Relation to the business.
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

/// The fields of a contact. Unknown texts are empty.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ContactData))]
struct FullData<'a> {
    /// Relation to the business.
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
    /// The newest notes, at most 50, newest first. Present only with scope contact-notes:read. An export has all notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<ContactNote>, required = false))]
    notes: Option<&'a [ContactNote]>,
    /// Accounting integration data; always empty so far.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    accounting: Accounting,
    /// Nominal codes.
    nominal: NominalView<'a>,
    /// Applied tags.
    tag: Vec<AppliedTag<'a>>,
    /// Attached references, as they were sent.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    document: &'a [DocumentReference],
    /// True if customer login is enabled.
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
    /// Staff user id of the checker; null if unchecked.
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

/// An object without members, for data of an accounting integration.
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
    /// Shows the fields of `contact` that a caller with `scopes` may see. The colours and types of its tags are taken from
    /// `catalogue`.
    pub fn new(contact: &'a Contact, catalogue: &'a Catalogue, scopes: ScopeSet) -> Self {
        let mut shown = Self::whole(contact, catalogue);
        if !scopes.contains(Scope::ContactNotesRead) {
            shown.data.notes = None;
        }
        shown
    }

    /// Shows all fields of `contact`, as events store it.
    pub fn whole(contact: &'a Contact, catalogue: &'a Catalogue) -> Self {
        // Every field is named, so that a new field does not compile until it has its place here or in the head.
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

/// The result of a duplicate check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DuplicateAnswer {
    /// The field of the search.
    #[serde(rename = "type")]
    kind: DuplicateKind,
    /// True if there is a match.
    duplicate: bool,
    /// The contact that matches; null if there is none.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    contact: Option<ContactId>,
}

impl DuplicateAnswer {
    /// Makes the result for the matching `contact`, or for none.
    pub const fn new(kind: DuplicateKind, contact: Option<ContactId>) -> Self {
        Self {
            kind,
            duplicate: contact.is_some(),
            contact,
        }
    }
}

/// A contact's new password, which is shown only this once.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PasswordReset))]
pub struct PasswordReset<'a> {
    /// Contact id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: ContactId,
    /// True if customer login is enabled.
    login: bool,
    /// The password.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    #[serde(serialize_with = "in_the_clear")]
    password: &'a Password,
}

impl<'a> PasswordReset<'a> {
    /// Makes the response for the new `password` of `contact`.
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
    /// The address that they were sent to.
    email: &'a str,
    /// Always true; a failure is an error.
    emailed: bool,
}

impl<'a> LoginEmailed<'a> {
    /// Makes the response for an `invitation` that has been sent.
    pub fn new(invitation: &'a LoginInvitation) -> Self {
        Self {
            id: invitation.contact(),
            email: invitation.email(),
            emailed: true,
        }
    }
}

/// Removes from a contact's full view what a caller with `scopes` may not see (decisions §6). Views from the time when all notes
/// were shown are cut to the newest notes.
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

/// The data on a contact that the key may read, as one document.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ContactExport))]
pub struct ContactExport<'a> {
    /// Time of the export, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    exported: Timestamp,
    /// The full record, including its notes and attached references.
    #[cfg_attr(feature = "openapi", schema(value_type = FullContact<'static>))]
    contact: Owned<'a>,
    /// True if a password is stored for the login. Only its hash is stored.
    password: bool,
    /// The blocks of the email and the number.
    follow_blocks: FollowBlocks,
    /// The enquiries that are linked to the contact, in full, each with its `messages` (with lead-messages:read) and its `notes`
    /// (with lead-notes:read). Absent without scope leads:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    leads: Option<Vec<Box<RawValue>>>,
    /// The vehicles that the contact has offered, funded, supplied, reserved or bought, in full. Pricing only with scope
    /// vehicle-pricing:read. Absent without vehicles:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    vehicles: Option<Vec<Box<RawValue>>>,
    /// The contact's test drives, each with its `vehicle`, signature and photos. Absent without vehicle-drives:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    drives: Option<Vec<Box<RawValue>>>,
    /// The reservations of vehicles for the contact, including ended ones, each with its `vehicle`. Absent without
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
    /// The orders of the contact. Absent without orders:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    orders: Option<Vec<Box<RawValue>>>,
    /// The purchases from the contact. Absent without purchases:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    purchases: Option<Vec<Box<RawValue>>>,
    /// The deals of the contact. Absent without deals:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    deals: Option<Vec<Box<RawValue>>>,
    /// The appointments of the contact. Absent without appointments:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    appointments: Option<Vec<Box<RawValue>>>,
    /// The calls with the contact. Absent without calls:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    calls: Option<Vec<Box<RawValue>>>,
    /// The documents kept with vehicles that the contact has offered, reserved or bought, each with its `vehicle`. Absent without
    /// vehicle-documents:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    documents: Option<Vec<Box<RawValue>>>,
    /// The reviews under the contact's name. Absent without reviews:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    reviews: Option<Vec<Box<RawValue>>>,
    /// The waiting mails to the contact's address. Absent without lead-messages:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>, required = false))]
    mails: Option<Vec<Box<RawValue>>>,
    /// The events of the log that show the contact, oldest first.
    events: Vec<ExportedEvent>,
    /// The data that the key may not read and that is left out. It names absent sections, `leads.messages` and `leads.notes`. It
    /// also names `notes` (of the contact and of its events) without contact-notes:read, and `vehicles.pricing` without
    /// vehicle-pricing:read.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    omitted: Vec<&'static str>,
}

/// A contact in the full view that owns the data that it shows.
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
    /// Event name.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    event: &'static str,
    /// Time of the event, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
    /// The contact at that moment.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    data: Box<RawValue>,
}

/// The parts of an export, each with the scope that reading it needs.
const SECTIONS: [(&str, Scope); 18] = [
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
    ("orders", Scope::OrdersRead),
    ("purchases", Scope::PurchasesRead),
    ("deals", Scope::DealsRead),
    ("appointments", Scope::AppointmentsRead),
    ("calls", Scope::CallsRead),
    ("documents", Scope::VehicleDocumentsRead),
    ("reviews", Scope::ReviewsRead),
    // Mails to a contact are replies to its enquiries.
    ("mails", Scope::LeadMessagesRead),
];

impl<'a> ContactExport<'a> {
    /// Makes the export of `contact` at the time `exported`, for a caller with `scopes`.
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
            orders: section(Scope::OrdersRead),
            purchases: section(Scope::PurchasesRead),
            deals: section(Scope::DealsRead),
            appointments: section(Scope::AppointmentsRead),
            calls: section(Scope::CallsRead),
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

/// Uses "any of", because a full contact is a simple one too. A derive would use "one of".
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
