//! Fixtures for tests.

use std::sync::Arc;

use forecourt_accounts::{BusinessFile, Caller};
use forecourt_kernel::{ScopeSet, Timestamp};

/// Returns a caller with these scopes.
pub(crate) fn a_caller(scopes: impl Into<ScopeSet>) -> Caller {
    let file: BusinessFile = serde_json::from_str(r#"{"tag": "acme", "name": "Acme Cars"}"#).unwrap();
    Caller {
        key: "fck_0123456789abcdef".parse().unwrap(),
        scopes: scopes.into(),
        business: Arc::new(file.apply(None, &[], Timestamp::from_epoch_seconds(0)).unwrap()),
    }
}
