//! Answers, and assertions on them.

use reqwest::header::HeaderMap;
use serde_json::Value;

/// The answer to a request.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Method and path of the request, for messages.
    pub(crate) request: String,
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as received.
    pub body: Vec<u8>,
}

/// A page of a list.
#[derive(Clone, Debug)]
pub struct List {
    /// `data`.
    pub items: Vec<Value>,
    /// `meta.pagination`.
    pub pagination: Value,
}

impl Answer {
    /// Returns the value of a header, if it is there.
    pub fn header(&self, name: &str) -> Option<&str> {
        let value = self.headers.get(name)?;
        Some(value.to_str().expect("headers are ASCII"))
    }

    /// Returns the value of a header with a number.
    #[track_caller]
    pub fn number(&self, name: &str) -> i64 {
        let value = self
            .header(name)
            .unwrap_or_else(|| panic!("{name} is missing: {self:?}"));
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {value:?}"))
    }

    /// Returns the body as text.
    pub fn text(&self) -> &str {
        str::from_utf8(&self.body).expect("bodies are UTF-8")
    }

    /// Returns the body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.describe()))
    }

    /// Asserts this status and the envelope of a success; returns `data`.
    #[track_caller]
    pub fn success(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.describe());
        let mut envelope = self.json();
        assert_eq!(envelope["success"], true, "{}", self.describe());
        self.assert_common();
        envelope["data"].take()
    }

    /// Asserts a success that created nothing; returns `data`.
    #[track_caller]
    pub fn ok(&self) -> Value {
        self.success(200)
    }

    /// Asserts that a record was created; returns it.
    #[track_caller]
    pub fn created(&self) -> Value {
        self.success(201)
    }

    /// Asserts a page of a list.
    #[track_caller]
    pub fn list(&self) -> List {
        let Value::Array(items) = self.ok() else {
            panic!("no list: {}", self.describe())
        };
        List {
            items,
            pagination: self.json()["meta"]["pagination"].take(),
        }
    }

    /// Asserts the envelope of an error with this status and code; returns `error`.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Value {
        let seen = self.json()["error"].take();
        assert_eq!(
            (self.status, seen["code"].as_str()),
            (status, Some(code)),
            "{}",
            self.describe()
        );
        assert_eq!(self.json()["success"], false, "{}", self.describe());
        let message = seen["message"].as_str().unwrap_or_default();
        assert!(!message.is_empty(), "an error has a message: {}", self.describe());
        self.assert_common();
        seen
    }

    /// Asserts a failed validation of exactly these fields, in any order.
    #[track_caller]
    pub fn invalid(&self, fields: &[&str]) {
        let error = self.refused(422, "validation_failed");
        let errors = error["details"]["errors"]
            .as_array()
            .unwrap_or_else(|| panic!("details.errors: {}", self.describe()));
        let mut found: Vec<&str> = errors.iter().filter_map(|error| error["field"].as_str()).collect();
        assert_eq!(
            error["details"]["field"].as_str(),
            found.first().copied(),
            "details.field is the first of details.errors: {}",
            self.describe()
        );
        let has_message = |error: &Value| error["message"].as_str().is_some_and(|message| !message.is_empty());
        assert!(
            errors.iter().all(has_message),
            "each error has a message: {}",
            self.describe()
        );
        let mut expected = fields.to_vec();
        expected.sort_unstable();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, expected, "{}", self.describe());
    }

    /// Asserts that the answer reports a success or a client's fault, but not a server's fault.
    #[track_caller]
    pub fn not_our_fault(&self) {
        assert!(self.status < 500, "{}", self.describe());
    }

    /// Asserts the properties of every answer of the API.
    #[track_caller]
    fn assert_common(&self) {
        let id = self.header("X-Request-Id").unwrap_or_default();
        assert!(!id.is_empty(), "no X-Request-Id: {self:?}");
        let kind = self.header("Content-Type").unwrap_or_default();
        assert!(kind.starts_with("application/json"), "{kind}: {}", self.describe());
    }

    fn describe(&self) -> String {
        let body = String::from_utf8_lossy(&self.body);
        let body: String = body.chars().take(2_000).collect();
        format!("{} answered {}: {body}", self.request, self.status)
    }
}

impl List {
    /// Returns this member of every record.
    pub fn column(&self, member: &str) -> Vec<Value> {
        self.items.iter().map(|item| item[member].clone()).collect()
    }

    /// Returns the records' ids.
    pub fn ids(&self) -> Vec<i64> {
        self.items.iter().filter_map(|item| item["id"].as_i64()).collect()
    }
}
