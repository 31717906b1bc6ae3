use diesel::prelude::*;

/// An answer that is stored for a retry.
#[derive(Clone, Debug, Insertable)]
#[diesel(table_name = crate::schema::idempotency_keys, treat_none_as_default_value = false)]
pub(crate) struct AnswerRow {
    pub(crate) business_id: i64,
    pub(crate) key: String,
    pub(crate) fingerprint: Vec<u8>,
    pub(crate) created: i64,
    pub(crate) status: i32,
    /// Encrypted.
    pub(crate) body: Vec<u8>,
    pub(crate) contact: Option<i64>,
    pub(crate) kind: Option<i32>,
    pub(crate) record: Option<i64>,
}
