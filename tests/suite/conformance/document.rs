//! The OpenAPI document, read for its operations.

use harness::Shop;
use serde_json::Value;

/// The OpenAPI document.
pub(crate) struct Document {
    pub(crate) json: Value,
    pub(crate) operations: Vec<Operation>,
}

/// An operation of the document.
pub(crate) struct Operation {
    /// Method and path, as in `GET /2.0/leads/{id}`.
    pub(crate) name: String,
    pub(crate) method: String,
    pub(crate) path: String,
    /// The scopes that it needs; empty for a public one.
    pub(crate) scopes: Vec<String>,
    /// Its declaration.
    pub(crate) declared: Value,
}

/// The paths of operations that need a record which no operation makes yet: purchases.
const NOT_POSSIBLE_YET: &str = "/2.0/vehicles/{id}/jobs/{job_id}/purchases";

impl Document {
    /// Reads the document that a shop's server publishes, without what is not possible yet.
    pub(crate) async fn of(shop: &Shop) -> Self {
        let mut document = Self::new(shop.server.anonymous().get("/2.0/openapi.json").await.json());
        let is_possible = |operation: &Operation| !operation.path.starts_with(NOT_POSSIBLE_YET);
        document.operations.retain(is_possible);
        document
    }

    pub(crate) fn new(json: Value) -> Self {
        let mut operations = Vec::new();
        for (path, item) in json["paths"].as_object().expect("the document has paths") {
            for (method, declared) in item.as_object().unwrap() {
                let method = method.to_uppercase();
                let schemes = declared["security"].as_array().into_iter().flatten();
                let scopes = schemes.filter_map(Value::as_object).flat_map(|scheme| scheme.values());
                let scopes = scopes.filter_map(Value::as_array).flatten();
                operations.push(Operation {
                    name: format!("{method} {path}"),
                    scopes: scopes.map(|scope| scope.as_str().unwrap().to_owned()).collect(),
                    path: path.clone(),
                    method,
                    declared: declared.clone(),
                });
            }
        }
        assert!(operations.len() > 100, "the document has operations");
        Self { json, operations }
    }

    /// Returns the operations that need a credential.
    pub(crate) fn guarded(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| !operation.scopes.is_empty())
    }

    /// Returns the operation of this method and path.
    pub(crate) fn operation(&self, name: &str) -> &Operation {
        let found = self.operations.iter().find(|operation| operation.name == name);
        found.unwrap_or_else(|| panic!("{name} is not in the document"))
    }

    /// Follows the reference that `part` may be.
    pub(crate) fn resolved<'a>(&'a self, part: &'a Value) -> &'a Value {
        match part["$ref"].as_str() {
            Some(reference) => self.json.pointer(&reference[1..]).expect("references lead somewhere"),
            None => part,
        }
    }

    /// Returns the schema of an operation's JSON body.
    pub(crate) fn body<'a>(&'a self, operation: &'a Operation) -> Option<&'a Value> {
        let content = &operation.declared["requestBody"]["content"];
        let media = content.get("application/json")?;
        Some(self.resolved(&media["schema"]))
    }

    /// Returns true if an operation's body may carry a file, which is extracted before anything else of it is read.
    pub(crate) fn takes_file(&self, operation: &Operation) -> bool {
        self.body(operation)
            .is_some_and(|schema| schema["properties"].get("file").is_some())
    }

    /// Returns the codes that an operation declares for a status.
    pub(crate) fn codes<'a>(&'a self, operation: &'a Operation, status: &str) -> Vec<&'a str> {
        let response = self.resolved(&operation.declared["responses"][status]);
        let described = response["description"].as_str().unwrap_or_default();
        let lines = described.lines().filter(|line| line.starts_with("- `"));
        lines.filter_map(|line| line.split('`').nth(1)).collect()
    }
}

impl Operation {
    /// Returns true if it changes something.
    pub(crate) fn writes(&self) -> bool {
        self.method != "GET"
    }

    /// Returns true if its path names a record.
    pub(crate) fn is_of_record(&self) -> bool {
        self.path.contains('{')
    }

    /// Returns true if it answers with a list in pages.
    pub(crate) fn is_paged(&self) -> bool {
        self.takes("page") && self.takes("cursor")
    }

    fn parameters(&self) -> impl Iterator<Item = &Value> {
        self.declared["parameters"].as_array().into_iter().flatten()
    }

    /// Returns true if it takes a parameter or a header with this name.
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.parameters().any(|parameter| parameter["name"] == name)
    }

    /// Returns its parameters in the query, with their names.
    pub(crate) fn queries(&self) -> impl Iterator<Item = (&str, &Value)> {
        let queries = self.parameters().filter(|parameter| parameter["in"] == "query");
        queries.map(|parameter| (parameter["name"].as_str().unwrap(), parameter))
    }

    /// Returns the status of its success; of an operation that creates or changes a record, that of the creation.
    pub(crate) fn success(&self) -> &str {
        let responses = self.declared["responses"].as_object().unwrap();
        let found = responses.keys().filter(|status| status.starts_with("20")).max();
        found.unwrap_or_else(|| panic!("{} declares no success", self.name))
    }

    /// Returns the declaration of its success.
    pub(crate) fn answer(&self) -> &Value {
        &self.declared["responses"][self.success()]
    }

    /// Returns its path with a value for each parameter.
    pub(crate) fn path_of(&self, value: &str) -> String {
        let parts = self.path.split('/');
        let parts: Vec<&str> = parts
            .map(|part| if part.starts_with('{') { value } else { part })
            .collect();
        parts.join("/")
    }
}
