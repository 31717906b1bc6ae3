//! The records that operations need, made by the operations themselves.

use std::sync::atomic::{AtomicU64, Ordering};

use harness::{Answer, Client, Request};
use serde_json::{Map, Value, json};

use super::{
    Conformance, Findings,
    document::{Document, Operation},
};

harness::both_engines! {
    every_operation_works
}

/// The number of addresses that were given to contacts with a login: each has its own.
static ADDRESSES: AtomicU64 = AtomicU64::new(0);

/// Returns the members of an operation's body that differ from the document's example. The text `@` and the path of a list
/// stands for the id of a new record of it, `@for-sale` for that of a vehicle for sale.
pub(super) fn overrides(operation: &str) -> Value {
    match operation {
        "POST /2.0/leads/{id}/vehicles" => json!({"vehicle": "@/2.0/vehicles"}),
        "POST /2.0/leads/{id}/appointments" => json!({"appointment": "@/2.0/appointments"}),
        "POST /2.0/vehicles/{id}/reserve" | "POST /2.0/vehicles/{id}/sale" => json!({"customer": "@/2.0/contacts"}),
        "POST /2.0/vehicles/{id}/test-drives" => json!({"contact": "@/2.0/contacts"}),
        "POST /2.0/invoices" | "POST /2.0/orders" | "PATCH /2.0/orders/{id}" => json!({"customer": "@/2.0/contacts"}),
        "POST /2.0/purchases" | "PATCH /2.0/purchases/{id}" => {
            json!({"supplier": "@/2.0/contacts", "supplier_invoice": ""})
        }
        "POST /2.0/vehicles/{id}/acquisition" => json!({"supplier": "@/2.0/contacts"}),
        // Everything is left to pay, then everything is paid, and a part of it is to be refunded.
        "POST /2.0/invoices/{id}/issue" | "POST /2.0/purchases/{id}/issue" => json!({"payment": null}),
        "POST /2.0/invoices/{id}/payments" | "POST /2.0/purchases/{id}/payments" => json!({"amount": null}),
        "POST /2.0/invoices/{id}/refunds" | "POST /2.0/purchases/{id}/refunds" => json!({"amount": 10}),
        // A job without stages is done, and another of its board can be opened.
        "POST /2.0/vehicles/{id}/jobs" => json!({"board": 2}),
        _ => json!({}),
    }
}

/// Returns the members of the record in an operation's path that differ from the document's example.
fn record(path: &str) -> Value {
    if path.contains("/appraisal") {
        json!({"type": "appraisal"})
    } else if path.contains("/login/") {
        json!({"login": true, "email": "#"})
    } else if path.starts_with("/2.0/deals/") {
        json!({"contact": "@/2.0/contacts", "vehicle": "@for-sale", "price": 9_000})
    } else if path.ends_with("/finance-invoice") {
        json!({"finance": {"provider": "@/2.0/contacts", "amount": 100},
            "lines": [{"type": "vehicle", "vehicle": "@for-sale", "gross": 9_000}]})
    } else {
        json!({})
    }
}

/// Returns the operations on the same record that come before an operation.
fn before(operation: &str) -> &'static [&'static str] {
    match operation {
        "POST /2.0/vehicles/{id}/appraisal/accept" | "POST /2.0/vehicles/{id}/appraisal/reject" => {
            &["POST /2.0/vehicles/{id}/appraisal/offer"]
        }
        "POST /2.0/vehicles/{id}/reserve"
        | "POST /2.0/vehicles/{id}/sale"
        | "POST /2.0/vehicles/{id}/test-drives"
        | "GET /2.0/vehicles/{id}/publish-check" => &["PUT /2.0/vehicles/{id}/channels"],
        "GET /2.0/vehicles/{id}/reserve" | "DELETE /2.0/vehicles/{id}/reserve" => &["POST /2.0/vehicles/{id}/reserve"],
        "GET /2.0/vehicles/{id}/sale" | "DELETE /2.0/vehicles/{id}/sale" | "POST /2.0/vehicles/{id}/handover" => {
            &["POST /2.0/vehicles/{id}/sale"]
        }
        "POST /2.0/invoices/{id}/payments"
        | "POST /2.0/invoices/{id}/credit"
        | "POST /2.0/invoices/{id}/finance-invoice"
        | "POST /2.0/invoices/{id}/send" => &["POST /2.0/invoices/{id}/issue"],
        "POST /2.0/invoices/{id}/refunds" => &["POST /2.0/invoices/{id}/payments", "POST /2.0/invoices/{id}/credit"],
        "POST /2.0/purchases/{id}/payments" | "POST /2.0/purchases/{id}/credit" | "POST /2.0/purchases/{id}/send" => {
            &["POST /2.0/purchases/{id}/issue"]
        }
        "POST /2.0/purchases/{id}/refunds" => &["POST /2.0/purchases/{id}/payments", "POST /2.0/purchases/{id}/credit"],
        "GET /2.0/vehicles/{id}/acquisition" | "DELETE /2.0/vehicles/{id}/acquisition" => {
            &["POST /2.0/vehicles/{id}/acquisition"]
        }
        "POST /2.0/orders/{id}/convert" | "POST /2.0/orders/{id}/send" => &["POST /2.0/orders/{id}/issue"],
        "GET /2.0/vehicles/{id}/test-drives/active"
        | "POST /2.0/vehicles/{id}/test-drives/email"
        | "POST /2.0/vehicles/{id}/test-drives/end"
        | "POST /2.0/vehicles/{id}/test-drives/esign"
        | "POST /2.0/vehicles/{id}/test-drives/photo" => &["POST /2.0/vehicles/{id}/test-drives"],
        _ => &[],
    }
}

/// Adds an operation to `steps`, after those that come before it.
fn add_step(name: &'static str, steps: &mut Vec<&'static str>) {
    for earlier in before(name) {
        add_step(earlier, steps);
    }
    if !steps.contains(&name) {
        steps.push(name);
    }
}

/// Returns the parameters that an operation requires.
fn query(operation: &str) -> &'static str {
    match operation {
        "GET /2.0/reference/tags" => "?resource=lead",
        "GET /2.0/appointments/agenda" => "?from=1767225600&to=1767312000",
        "GET /2.0/appointments/slots" => "?type=viewing",
        "GET /2.0/reports/vat" => "?from=2026-01-01&to=2026-12-31",
        _ => "",
    }
}

/// The origin of the value of a path's last parameter, where it is not the end of the `Location` of a creation.
enum Origin {
    /// This member of an operation's answer.
    Answer(&'static str, &'static str),
    /// A vehicle after this operation.
    Vehicle(&'static str),
    /// The number 1, of the part of the record that this operation adds to it.
    Part(&'static str),
    /// The number in the stock book of a vehicle that was acquired.
    StockNumber,
    /// One of the words that the path declares.
    Word,
}

fn origin(path: &str) -> Option<Origin> {
    match path {
        "/2.0/leads/{id}/vehicles/{vehicle_id}" => Some(Origin::Answer("POST /2.0/leads/{id}/vehicles", "vehicle")),
        "/2.0/leads/{id}/appointments/{appointment_id}" => {
            Some(Origin::Answer("POST /2.0/leads/{id}/appointments", "id"))
        }
        "/2.0/appointments/feeds/{feed_id}" => Some(Origin::Answer("POST /2.0/appointments/feeds", "id")),
        "/2.0/webhooks/{id}/deliveries/{delivery_id}" => {
            Some(Origin::Answer("POST /2.0/webhooks/{id}/ping", "delivery_id"))
        }
        "/2.0/invoices/{id}/payments/{payment_id}" => Some(Origin::Part("POST /2.0/invoices/{id}/payments")),
        "/2.0/purchases/{id}/payments/{payment_id}" => Some(Origin::Part("POST /2.0/purchases/{id}/payments")),
        "/2.0/listings/{id}" => Some(Origin::Vehicle("PUT /2.0/vehicles/{id}/channels")),
        "/2.0/stock-book/{number}" => Some(Origin::StockNumber),
        "/2.0/feeds/{name}" => Some(Origin::Word),
        "/2.0/vehicles/{id}/jobs/{job_id}/stages/{stage_id}" => {
            Some(Origin::Part("POST /2.0/vehicles/{id}/jobs/{job_id}/stages"))
        }
        _ => None,
    }
}

/// The operations that add an entry to a list which is not added to by `POST`.
pub(super) fn entry(list: &str) -> Option<&'static [&'static str]> {
    match list {
        "/2.0/webhooks/{id}/deliveries" => Some(&["POST /2.0/webhooks/{id}/ping"]),
        "/2.0/vehicles/{id}/test-drives" => Some(&[
            "POST /2.0/vehicles/{id}/test-drives",
            "POST /2.0/vehicles/{id}/test-drives/end",
        ]),
        _ => None,
    }
}

/// Makes records, as one business.
pub(super) struct Maker<'a> {
    pub(super) document: &'a Document,
    pub(super) api: &'a Client,
}

/// An operation that is ready to be sent.
#[derive(Clone)]
pub(super) struct Ready {
    pub(super) method: String,
    /// The path, with the parameters that it needs.
    pub(super) path: String,
    pub(super) body: Option<Value>,
    /// The body of an operation that takes XML.
    pub(super) xml: Option<String>,
}

impl Ready {
    /// Begins the request.
    pub(super) fn by(&self, client: &Client) -> Request {
        self.at(client, &self.path)
    }

    /// Begins the request with a further parameter.
    pub(super) fn with(&self, client: &Client, query: &str) -> Request {
        self.at(client, &self.url(query))
    }

    /// Begins the request at another path.
    pub(super) fn at(&self, client: &Client, path: &str) -> Request {
        let request = client.request(&self.method, path);
        match (&self.body, &self.xml) {
            (Some(body), _) => request.json(body),
            (None, Some(xml)) => request.header("Content-Type", "application/xml").body(xml.clone()),
            _ => request,
        }
    }

    /// Returns the path with a further parameter.
    pub(super) fn url(&self, query: &str) -> String {
        let separator = if self.path.contains('?') { '&' } else { '?' };
        format!("{}{separator}{query}", self.path)
    }
}

/// The parameters of a path that have values.
type Values = Vec<(String, String)>;

fn filled(template: &str, values: &Values) -> String {
    values
        .iter()
        .fold(template.to_owned(), |path, (name, value)| path.replace(name, value))
}

impl Maker<'_> {
    /// Brings a new record into the state that an operation needs.
    pub(super) async fn ready(&self, operation: &Operation) -> Ready {
        let values = self.values(&operation.path, &record(&operation.path)).await;
        self.steps(before(&operation.name), &values).await;
        self.on(operation, &values).await
    }

    /// Makes an operation ready on a record.
    async fn on(&self, operation: &Operation, values: &Values) -> Ready {
        let content = &operation.declared["requestBody"]["content"];
        Ready {
            method: operation.method.clone(),
            path: filled(&operation.path, values) + query(&operation.name),
            body: self.body(operation).await,
            xml: content["application/xml"]["example"].as_str().map(str::to_owned),
        }
    }

    /// Makes a list of `count` entries; returns it ready to be read.
    pub(super) async fn list(&self, list: &Operation, count: usize) -> Ready {
        let values = self.values(&list.path, &record(&list.path)).await;
        let add = format!("POST {}", list.path);
        if !list.path.contains("listings") && list.path != "/2.0/jobs" {
            self.steps(before(&add), &values).await;
        }
        for _ in 0..count {
            match entry(&list.path) {
                Some(steps) => {
                    for step in steps {
                        self.perform(step, &values).await;
                    }
                }
                None if list.path == "/2.0/listings" => {
                    self.values("/2.0/listings/{id}", &json!({})).await;
                }
                None if list.path == "/2.0/jobs" => {
                    self.values("/2.0/vehicles/{id}/jobs/{job_id}", &json!({})).await;
                }
                None if list.path == "/2.0/stock-book" => {
                    self.values("/2.0/stock-book/{number}", &json!({})).await;
                }
                None => {
                    self.perform(&add, &values).await;
                }
            }
        }
        self.on(list, &values).await
    }

    /// Performs operations on a record, each after those that come before it, and each once.
    async fn steps(&self, names: &[&'static str], values: &Values) {
        let mut steps = Vec::new();
        for name in names {
            add_step(name, &mut steps);
        }
        for name in steps {
            self.perform(name, values).await;
        }
    }

    /// Performs an operation on a record.
    async fn perform(&self, name: &str, values: &Values) -> Answer {
        let operation = self.document.operation(name);
        let ready = Box::pin(self.on(operation, values)).await;
        let answer = ready.by(self.api).send().await;
        assert_eq!(
            answer.status.to_string(),
            operation.success(),
            "{name}: {}",
            answer.text()
        );
        answer
    }

    /// Makes the records that a path names; returns their ids.
    async fn values(&self, template: &str, first: &Value) -> Values {
        let mut values = Values::new();
        let mut prefix = String::new();
        for part in template.split('/').skip(1) {
            prefix = format!("{prefix}/{part}");
            if !part.starts_with('{') {
                continue;
            }
            let value = match origin(&prefix) {
                Some(Origin::Answer(name, member)) => {
                    self.perform(name, &values).await.json()["data"][member].to_string()
                }
                Some(Origin::Vehicle(name)) => {
                    let vehicle = Box::pin(self.values("/2.0/vehicles/{id}", first)).await;
                    self.perform(name, &vehicle).await;
                    vehicle[0].1.clone()
                }
                Some(Origin::Part(name)) => {
                    self.steps(before(name), &values).await;
                    self.perform(name, &values).await;
                    "1".to_owned()
                }
                Some(Origin::StockNumber) => {
                    let vehicle = Box::pin(self.values("/2.0/vehicles/{id}", &json!({}))).await;
                    self.perform("POST /2.0/vehicles/{id}/acquisition", &vehicle).await;
                    let acquired = self.perform("GET /2.0/vehicles/{id}/acquisition", &vehicle).await;
                    acquired.json()["data"]["stock_number"].to_string()
                }
                Some(Origin::Word) => {
                    let declared = &self.document.json["paths"][&prefix]["get"]["parameters"][0]["schema"];
                    declared["enum"][0].as_str().expect("its words are declared").to_owned()
                }
                None => {
                    self.created(prefix.trim_end_matches(&format!("/{part}")), &values, first)
                        .await
                }
            };
            values.push((part.to_owned(), value));
        }
        values
    }

    /// Creates a record of a list; returns its id.
    async fn created(&self, list: &str, values: &Values, first: &Value) -> String {
        let name = format!("POST {list}");
        self.steps(before(&name), values).await;
        let mut ready = Box::pin(self.on(self.document.operation(&name), values)).await;
        if values.is_empty()
            && let Some(Value::Object(body)) = &mut ready.body
        {
            body.extend(self.referring(first).await);
        }
        let answer = ready.by(self.api).send().await;
        answer.created();
        let location = answer.header("Location").expect("a creation has a location");
        location.rsplit('/').next().unwrap().to_owned()
    }

    /// Returns the example of an operation's body, with ids that exist.
    async fn body(&self, operation: &Operation) -> Option<Value> {
        let mut body = self.document.body(operation)?["example"].clone();
        assert!(body.is_object(), "{} has no example", operation.name);
        body.as_object_mut()
            .unwrap()
            .extend(self.referring(&overrides(&operation.name)).await);
        Some(body)
    }

    /// Returns members in which `@` is replaced by the id of a new record, and `#` by an address of its own.
    async fn referring(&self, members: &Value) -> Map<String, Value> {
        let mut found = Map::new();
        for (name, value) in members.as_object().unwrap() {
            found.insert(name.clone(), Box::pin(self.referring_value(value)).await);
        }
        found
    }

    async fn referring_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) if text == "#" => {
                json!(format!("ann{}@example.com", ADDRESSES.fetch_add(1, Ordering::Relaxed)))
            }
            Value::String(text) if text == "@for-sale" => {
                let publish = "PUT /2.0/vehicles/{id}/channels";
                let vehicle = Box::pin(self.values("/2.0/vehicles/{id}", &json!({}))).await;
                Box::pin(self.perform(publish, &vehicle)).await;
                json!(vehicle[0].1.parse::<i64>().unwrap())
            }
            Value::String(text) if text.starts_with('@') => {
                let id = Box::pin(self.created(&text[1..], &Values::new(), &json!({}))).await;
                json!(id.parse::<i64>().unwrap())
            }
            Value::Object(_) => Value::Object(Box::pin(self.referring(value)).await),
            Value::Array(items) => {
                let mut found = Vec::new();
                for item in items {
                    found.push(Box::pin(self.referring_value(item)).await);
                }
                found.into()
            }
            _ => value.clone(),
        }
    }
}

impl Conformance {
    pub(super) fn maker(&self) -> Maker<'_> {
        self.maker_of(&self.shop.api)
    }

    pub(super) fn maker_of<'a>(&'a self, api: &'a Client) -> Maker<'a> {
        Maker {
            document: &self.document,
            api,
        }
    }
}

/// Returns the names of the members of an answer's record; `None` for an empty list.
fn members(envelope: &Value) -> Option<Vec<String>> {
    let data = &envelope["data"];
    let record = data.as_array().map_or(Some(data), |list| list.first())?;
    let mut names: Vec<String> = record
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .collect();
    names.sort_unstable();
    Some(names)
}

/// The examples of bodies are accepted, with strict handling, and answers look like their examples.
async fn every_operation_works(engine: harness::Engine) {
    let here = Conformance::open(engine).await;
    let mut findings = Findings::default();
    for operation in here.document.guarded() {
        let ready = here.maker().ready(operation).await;
        let answer = ready
            .by(&here.shop.api)
            .header("Prefer", "handling=strict")
            .send()
            .await;
        findings.answers(&operation.name, "on its own record", &answer, operation.success());
        let content = &operation.answer()["content"]["application/json"];
        if content.is_null() {
            continue;
        }
        let examples = content["examples"].as_object().into_iter().flatten();
        let examples: Vec<_> = examples
            .map(|(_, example)| here.document.resolved(example))
            .filter_map(|example| members(&example["value"]))
            .collect();
        let Some(shown) = members(&answer.json()) else { continue };
        if !examples.contains(&shown) {
            findings.expect(&operation.name, "members", Some(&shown), examples.first());
        }
    }
    findings.assert(100);
}
