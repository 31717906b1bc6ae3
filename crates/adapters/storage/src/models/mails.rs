use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sqlite::Sqlite;

/// A mail to be queued.
#[derive(Clone, Debug, Insertable)]
#[diesel(table_name = crate::schema::mails, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
pub(crate) struct NewMailRow {
    pub(crate) business_id: i64,
    pub(crate) recipient: String,
    pub(crate) subject: String,
    pub(crate) text: String,
    pub(crate) attempts: i32,
    pub(crate) due: i64,
    pub(crate) message_id: Option<String>,
    pub(crate) in_reply_to: Option<String>,
    pub(crate) reply_to: Option<String>,
    pub(crate) claimed: bool,
    pub(crate) queued: Option<i64>,
    pub(crate) lead_id: Option<i64>,
    pub(crate) attachments: Option<String>,
    pub(crate) contact_id: Option<i64>,
}

/// A mail that waits to be sent.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::mails, check_for_backend(Pg, Sqlite))]
pub(crate) struct MailRow {
    pub(crate) id: i64,
    pub(crate) business_id: i64,
    pub(crate) recipient: String,
    pub(crate) subject: String,
    pub(crate) text: String,
    pub(crate) attempts: i32,
    pub(crate) message_id: Option<String>,
    pub(crate) in_reply_to: Option<String>,
    pub(crate) reply_to: Option<String>,
    pub(crate) claimed: bool,
    pub(crate) lead_id: Option<i64>,
    pub(crate) attachments: Option<String>,
    pub(crate) contact_id: Option<i64>,
}
