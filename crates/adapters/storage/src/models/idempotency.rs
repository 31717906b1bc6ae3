use diesel::prelude::*;

/// An answer that is stored for a retry, under a key that was claimed.
#[derive(Clone, Debug, AsChangeset)]
#[diesel(table_name = crate::schema::idempotency_keys, primary_key(business_id, key), treat_none_as_null = true)]
pub(crate) struct AnswerRow {
    pub(crate) business_id: i64,
    pub(crate) key: String,
    pub(crate) status: Option<i32>,
    /// Encrypted.
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) contact: Option<i64>,
    pub(crate) kind: Option<i32>,
    pub(crate) record: Option<i64>,
}
