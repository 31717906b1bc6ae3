use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sqlite::Sqlite;
use forecourt_contacts::{AddressKeys, Contact, ContactDraft, ContactKeys, ContactNote, literal_key};
use forecourt_kernel::{BoxError, ContactId, ContactNoteId, StaffId, StoreError, StoreResult, Timestamp, Version};

use super::changes::values;
use crate::error::other;

diesel::table! {
    /// Customers and others.
    contacts (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        login_email -> Nullable<Text>,
        email_folded -> Text,
        name_key -> Text,
        name_literal -> Text,
        company_key -> Text,
        company_literal -> Text,
        vat_key -> Text,
        vat_literal -> Text,
        telephone -> Nullable<Text>,
        mobile -> Nullable<Text>,
        address_key -> Text,
        city_key -> Text,
        state_key -> Text,
        country -> Text,
        postcode_key -> Text,
        postcode_literal -> Text,
        password_hash -> Nullable<Text>,
        login_mail_until -> Nullable<BigInt>,
        created -> BigInt,
        updated -> BigInt,
        version -> BigInt,
        document -> Text,
    }
}

/// The columns of a contact that are read. The document has everything but its identity, its stamps and its notes.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = contacts, check_for_backend(Pg, Sqlite))]
pub(crate) struct ContactRow {
    pub(crate) id: i64,
    pub(crate) created: i64,
    pub(crate) updated: i64,
    pub(crate) version: i64,
    pub(crate) document: String,
}

/// A new contact, but for the id that the database gives it.
#[derive(Clone, Debug, Insertable)]
#[diesel(table_name = contacts, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
pub(crate) struct NewContactRow {
    pub(crate) business_id: i64,
    pub(crate) created: i64,
    pub(crate) updated: i64,
    #[diesel(embed)]
    pub(crate) values: ContactValues,
}

values! {
    /// The columns of a contact that are written, first and at each change: the document, and beside it the columns that contacts
    /// are found by.
    pub(crate) struct ContactValues, ContactUpdate in contacts {
        login_email: Option<String>,
        email_folded: String,
        name_key: String,
        name_literal: String,
        company_key: String,
        company_literal: String,
        vat_key: String,
        vat_literal: String,
        telephone: Option<String>,
        mobile: Option<String>,
        address_key: String,
        city_key: String,
        state_key: String,
        country: String,
        postcode_key: String,
        postcode_literal: String,
        document: String,
    }
}

impl ContactValues {
    /// Makes the columns of a contact with this `content`.
    pub(crate) fn new(content: &ContactDraft) -> StoreResult<Self> {
        let document = serde_json::to_string(content).map_err(other)?;
        let ContactKeys {
            email,
            telephone,
            mobile,
            name,
            company,
            vat,
            address:
                AddressKeys {
                    lines,
                    city,
                    state,
                    postcode,
                    country,
                },
        } = ContactKeys::new(content);
        Ok(Self {
            login_email: content.login.then(|| email.clone()),
            email_folded: email,
            name_key: name,
            name_literal: literal_key(&content.name),
            company_key: company,
            company_literal: literal_key(&content.company),
            vat_key: vat,
            vat_literal: literal_key(&content.vat),
            telephone: known(telephone),
            mobile: known(mobile),
            address_key: lines,
            city_key: city,
            state_key: state,
            country,
            postcode_key: postcode,
            postcode_literal: literal_key(&content.address.zip),
            document,
        })
    }
}

/// Returns the number if it is known; an unknown one is not indexed.
fn known(number: String) -> Option<String> {
    Some(number).filter(|number| !number.is_empty())
}

impl TryFrom<ContactRow> for Contact {
    type Error = StoreError;

    /// The contact without its notes.
    fn try_from(row: ContactRow) -> StoreResult<Self> {
        let ContactRow {
            id,
            created,
            updated,
            version,
            document,
        } = row;
        let content = serde_json::from_str(&document)
            .map_err(|failure| StoreError::Other(BoxError::from(format!("contact {id} cannot be read: {failure}"))))?;
        Ok(Self {
            id: ContactId::new(id),
            created: Timestamp::from_epoch_seconds(created),
            updated: Timestamp::from_epoch_seconds(updated),
            version: Version::new(version),
            notes: Vec::new(),
            content,
        })
    }
}

/// A note as it is read.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::contact_notes, check_for_backend(Pg, Sqlite))]
pub(crate) struct NoteRow {
    pub(crate) id: i64,
    pub(crate) contact_id: i64,
    pub(crate) created: i64,
    pub(crate) user_id: Option<i64>,
    pub(crate) note: String,
}

/// A new note, but for the id that the database gives it.
#[derive(Clone, Debug, Insertable)]
#[diesel(table_name = crate::schema::contact_notes, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
pub(crate) struct NewNoteRow<'a> {
    pub(crate) business_id: i64,
    pub(crate) contact_id: i64,
    pub(crate) created: i64,
    pub(crate) user_id: Option<i64>,
    pub(crate) note: &'a str,
}

impl From<NoteRow> for ContactNote {
    fn from(row: NoteRow) -> Self {
        let NoteRow {
            id,
            contact_id,
            created,
            user_id,
            note,
        } = row;
        Self {
            id: ContactNoteId::new(id),
            contact: ContactId::new(contact_id),
            created: Timestamp::from_epoch_seconds(created),
            user: user_id.map(StaffId::new),
            note,
        }
    }
}
