//! Requests.

use std::time::Duration;

use reqwest::{Method, Url};
use serde_json::Value;

use crate::answer::{Answer, List};

/// A time longer than any answer takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Sends requests to one server, with or without a token.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base_url: String,
    token: Option<String>,
}

impl Client {
    pub(crate) fn new(base_url: String, token: Option<&str>) -> Self {
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT)
            .build()
            .unwrap();
        Self {
            http,
            base_url,
            token: token.map(str::to_owned),
        }
    }

    /// Returns the same client with another token.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        Self {
            token: Some(token.to_owned()),
            ..self.clone()
        }
    }

    /// Begins a request. `path` may have a query.
    pub fn request(&self, method: &str, path: &str) -> Request {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let what = format!("{method} {path}");
        let mut builder = self.http.request(method, format!("{}{path}", self.base_url));
        if let Some(token) = &self.token {
            builder = builder.bearer_auth(token);
        }
        Request { what, builder }
    }

    /// Sends `GET`.
    pub async fn get(&self, path: &str) -> Answer {
        self.request("GET", path).send().await
    }

    /// Sends `POST` with a JSON body.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.request("POST", path).json(body).send().await
    }

    /// Sends `PATCH` with a JSON body.
    pub async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.request("PATCH", path).json(body).send().await
    }

    /// Sends `PUT` with a JSON body.
    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.request("PUT", path).json(body).send().await
    }

    /// Sends `DELETE`.
    pub async fn delete(&self, path: &str) -> Answer {
        self.request("DELETE", path).send().await
    }

    /// Returns the answer to `GET` as a list.
    pub async fn list(&self, path: &str) -> List {
        self.get(path).await.list()
    }

    /// Returns all records of a list, read page by page by its cursor. `path` may have a query.
    pub async fn walk(&self, path: &str) -> Vec<Value> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let mut list = self.list(path).await;
        let mut all = list.items;
        while let Some(cursor) = list.pagination["next_cursor"].as_str() {
            list = self.list(&format!("{path}{separator}cursor={cursor}")).await;
            all.append(&mut list.items);
        }
        all
    }
}

/// A request that is being made.
#[derive(Debug)]
pub struct Request {
    what: String,
    builder: reqwest::RequestBuilder,
}

impl Request {
    /// Adds a header; its value may have invalid characters.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.builder = self.builder.header(name, value.as_bytes());
        self
    }

    /// Adds an `Idempotency-Key`.
    #[must_use]
    pub fn key(self, key: &str) -> Self {
        self.header("Idempotency-Key", key)
    }

    /// Adds a JSON body with its content type.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.header("Content-Type", "application/json").body(body.to_string())
    }

    /// Adds a body without a content type.
    #[must_use]
    pub fn body(mut self, body: impl Into<reqwest::Body>) -> Self {
        self.builder = self.builder.body(body);
        self
    }

    /// Sends it.
    pub async fn send(self) -> Answer {
        let what = self.what.clone();
        self.attempt()
            .await
            .unwrap_or_else(|error| panic!("{what} was not answered: {error:?}"))
    }

    /// Sends it to a server that may be down.
    ///
    /// # Errors
    /// The server did not answer completely.
    pub async fn attempt(self) -> Result<Answer, reqwest::Error> {
        let response = self.builder.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await?.to_vec();
        Ok(Answer {
            request: self.what,
            status,
            headers,
            body,
        })
    }
}

/// Returns a path with a query of these pairs, with any characters.
pub fn url_query<'a>(path: &str, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut url = Url::parse("http://any").unwrap().join(path).unwrap();
    url.query_pairs_mut().extend_pairs(pairs);
    format!("{}?{}", url.path(), url.query().unwrap_or_default())
}
