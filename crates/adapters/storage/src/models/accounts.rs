use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sqlite::Sqlite;

/// A business. `settings`, `catalogue` and `legal` are JSON.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::businesses, check_for_backend(Pg, Sqlite))]
pub(crate) struct BusinessRow {
    pub(crate) id: i64,
    pub(crate) tag: String,
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) country: String,
    pub(crate) website: String,
    pub(crate) verified: bool,
    pub(crate) state: String,
    pub(crate) plan: String,
    pub(crate) api_access: bool,
    pub(crate) settings: String,
    pub(crate) catalogue: String,
    pub(crate) legal: Option<String>,
    pub(crate) created: i64,
    pub(crate) updated: i64,
}

/// The columns of a business that are written: all but its id.
#[derive(Clone, Debug, Insertable, AsChangeset)]
#[diesel(table_name = crate::schema::businesses, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
pub(crate) struct BusinessValues {
    pub(crate) tag: String,
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) country: String,
    pub(crate) website: String,
    pub(crate) verified: bool,
    pub(crate) state: String,
    pub(crate) plan: String,
    pub(crate) api_access: bool,
    pub(crate) settings: String,
    pub(crate) catalogue: String,
    pub(crate) legal: Option<String>,
    pub(crate) created: i64,
    pub(crate) updated: i64,
}

/// A key. `scopes` is a JSON array of names, `addresses` a list of networks with commas between them.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = crate::schema::api_keys, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
pub(crate) struct ApiKeyRow {
    pub(crate) id: String,
    pub(crate) secret_hash: Vec<u8>,
    pub(crate) business_id: Option<i64>,
    pub(crate) scopes: String,
    pub(crate) created: i64,
    pub(crate) expires: Option<i64>,
    pub(crate) revoked: Option<i64>,
    pub(crate) addresses: Option<String>,
    pub(crate) last_used: Option<i64>,
}
