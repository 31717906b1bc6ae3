//! The server's public pages: the OpenAPI document, the documentation page, and its health.

use std::collections::BTreeSet;

use harness::{Client, Engine, Installation, Shop, both_engines};
use reqwest::Url;
use serde_json::{Value, json};

use crate::conformance::{Document, Operation};

both_engines! {
    the_document_is_open_api_3_1
    the_document_is_the_one_that_the_command_prints
    the_document_names_the_public_url
    every_reference_in_the_document_leads_somewhere
    ranges_are_declared_as_one_value_and_as_two_bounds
    fields_are_said_to_leave_out_what_is_required
    the_words_that_parameters_declare_are_taken
    the_documentation_page_loads_nothing_from_other_hosts
    the_guides_are_beside_the_reference
    the_reference_is_small
    health_and_readiness_are_public
}

async fn the_document_is_open_api_3_1(engine: Engine) {
    let shop = Shop::open(engine).await;
    let answer = shop.server.anonymous().get("/2.0/openapi.json").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("Content-Type"), Some("application/json"));
    assert!(answer.header("X-Request-Id").is_some());
    let document = answer.json();
    assert!(
        document["openapi"].as_str().unwrap().starts_with("3.1"),
        "{}",
        document["openapi"]
    );
    assert_eq!(document["info"]["version"], "2.0");
    let mut ids = BTreeSet::new();
    for operation in &Document::new(document.clone()).operations {
        let declared = &document["paths"][&operation.path][operation.method.to_lowercase()];
        let id = declared["operationId"].as_str().unwrap_or_default().to_owned();
        assert!(
            !id.is_empty() && ids.insert(id),
            "{} has an operationId of its own",
            operation.name
        );
        assert!(declared["responses"].as_object().is_some_and(|map| !map.is_empty()));
        assert!(declared["summary"].is_string() || declared["description"].is_string());
    }
}

async fn the_document_is_the_one_that_the_command_prints(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut served = shop.server.anonymous().get("/2.0/openapi.json").await.json();
    let mut printed = shop.installation().run(["openapi"]).await.json();
    served["servers"].take();
    printed["servers"].take();
    assert!(served == printed, "the document served differs from the one printed");
}

async fn the_document_names_the_public_url(engine: Engine) {
    let installation = Installation::new(engine).await;
    let url = async |server: &harness::Server| {
        let document = server.anonymous().get("/2.0/openapi.json").await.json();
        document["servers"][0]["url"]
            .as_str()
            .unwrap()
            .trim_end_matches('/')
            .to_owned()
    };
    let server = installation.serve().start().await;
    assert_eq!(url(&server).await, server.base_url());
    let public = "https://api.acme.example/cars";
    let server = installation.serve().env("FORECOURT_PUBLIC_URL", public).start().await;
    assert_eq!(url(&server).await, public);
}

async fn every_reference_in_the_document_leads_somewhere(engine: Engine) {
    fn check(document: &Value, part: &Value) {
        match part {
            Value::Object(members) => {
                if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                    let pointer = reference.strip_prefix('#').expect("references are local");
                    assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
                }
                members.values().for_each(|member| check(document, member));
            }
            Value::Array(items) => items.iter().for_each(|item| check(document, item)),
            _ => {}
        }
    }
    let document = Shop::open(engine).await.installation().run(["openapi"]).await.json();
    check(&document, &document);
    for operation in &Document::new(document.clone()).operations {
        let declared = &document["paths"][&operation.path][operation.method.to_lowercase()];
        let parameters = declared["parameters"].as_array().into_iter().flatten();
        let in_path: Vec<&str> = parameters
            .filter(|parameter| parameter["in"] == "path")
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        let named: Vec<&str> = operation.path.split(['{', '}']).skip(1).step_by(2).collect();
        assert_eq!(in_path, named, "{}", operation.name);
    }
}

/// Returns the quoted values after `attribute` in a page.
fn quoted<'a>(text: &'a str, attribute: &str) -> Vec<&'a str> {
    let found = text.split(attribute).skip(1);
    found.filter_map(|rest| rest.split('"').next()).collect()
}

async fn the_documentation_page_loads_nothing_from_other_hosts(engine: Engine) {
    let shop = Shop::open(engine).await;
    let browser = shop.server.anonymous();
    assert_eq!(browser.get("/docs").await.status, 200);
    for path in ["/docs", "/docs/"] {
        let mut place = Url::parse(&shop.server.base_url()).unwrap().join(path).unwrap();
        let mut page = browser.get(place.path()).await;
        if let Some(target) = page.header("Location") {
            place = place.join(target).unwrap();
            page = browser.get(place.path()).await;
        }
        if page.status == 200 {
            page_works(&browser, &place, page.text()).await;
        }
    }
}

/// Follows the references that a browser loads for the page at `place`.
async fn page_works(browser: &Client, place: &Url, page: &str) {
    let links = [quoted(page, "src=\""), quoted(page, "href=\"")].concat();
    assert!(!links.is_empty(), "an interactive page has parts");
    let mut documents = Vec::new();
    for link in links {
        let part = place.join(link).unwrap();
        assert_eq!(part.host(), place.host(), "{part} is somewhere else");
        let answer = browser.get(part.path()).await;
        assert_eq!(answer.status, 200, "{part}");
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        let names = quoted(&text, "\"")
            .into_iter()
            .filter(|name| name.ends_with("openapi.json"));
        documents.extend(names.map(|name| place.join(name).unwrap()));
    }
    assert!(!documents.is_empty(), "the page says where the document is");
    for document in documents {
        let answer = browser.get(document.path()).await;
        assert_eq!(answer.status, 200, "{place} looks for the document at {document}");
        assert_eq!(answer.json()["info"]["version"], "2.0");
    }
}

async fn the_guides_are_beside_the_reference(engine: Engine) {
    let shop = Shop::open(engine).await;
    let browser = shop.server.anonymous();
    let page = browser.get("/docs").await;
    let guides = quoted(page.text(), "href=\"");
    let guides: Vec<&str> = guides.into_iter().filter(|link| link.contains("/guides/")).collect();
    assert!(guides.len() >= 3, "{guides:?}");
    for guide in guides {
        let place = Url::parse(&shop.server.base_url()).unwrap().join(guide).unwrap();
        let guide = browser.get(place.path()).await;
        assert_eq!(
            guide.header("Content-Type"),
            Some("text/html; charset=utf-8"),
            "{place}"
        );
        for link in quoted(guide.text(), "href=\"") {
            let target = place.join(link).unwrap();
            if target.host() == place.host() {
                assert_eq!(browser.get(target.path()).await.status, 200, "{place}: {link}");
            }
        }
    }
    browser
        .get("/docs/guides/nothing")
        .await
        .refused(404, "route_not_found");
    browser.get("/docs/guides").await.refused(404, "route_not_found");
}

async fn the_reference_is_small(engine: Engine) {
    let shop = Shop::open(engine).await;
    let browser = shop.server.anonymous();
    let page = browser.get("/docs").await;
    let parts = [
        quoted(page.text(), "src=\""),
        quoted(page.text(), "rel=\"stylesheet\" href=\""),
    ]
    .concat();
    assert_eq!(parts.len(), 4, "{parts:?}");
    let mut bytes = page.body.len();
    for part in [parts, vec!["2.0/openapi.json"]].concat() {
        let request = browser.request("GET", &format!("/{part}"));
        bytes += request.header("Accept-Encoding", "gzip").send().await.body.len();
    }
    assert!(bytes < 1_000_000, "{bytes} bytes");
}

async fn health_and_readiness_are_public(engine: Engine) {
    let shop = Shop::open(engine).await;
    for path in ["/healthz", "/readyz"] {
        let answer = shop.server.anonymous().get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.header("X-Request-Id").is_some(), "{path}");
    }
    shop.api.get("/metrics").await.refused(404, "route_not_found");
}

/// Returns the parameters of every operation, with its path.
async fn parameters(shop: &Shop) -> Vec<(String, Value)> {
    let document = shop.server.anonymous().get("/2.0/openapi.json").await.json();
    let mut found = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for operation in operations.as_object().unwrap().values() {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            found.extend(parameters.map(|parameter| (path.clone(), parameter.clone())));
        }
    }
    found
}

async fn ranges_are_declared_as_one_value_and_as_two_bounds(engine: Engine) {
    let shop = Shop::open(engine).await;
    let parameters = parameters(&shop).await;
    let schema = |path: &str, name: &str| {
        let parameter = parameters.iter().find(|(at, one)| at == path && one["name"] == name);
        parameter.map(|(_, parameter)| parameter["schema"].clone())
    };
    for (path, name, kind) in [
        ("/2.0/leads", "created", "integer"),
        ("/2.0/leads", "updated", "integer"),
        ("/2.0/vehicles", "created", "integer"),
        ("/2.0/vehicles", "updated", "integer"),
        ("/2.0/vehicles", "mileage", "integer"),
        ("/2.0/vehicles", "year", "integer"),
        ("/2.0/vehicles", "price", "number"),
        ("/2.0/listings", "price", "number"),
        ("/2.0/events", "created", "integer"),
    ] {
        let range = schema(path, &format!("{name}[]")).unwrap_or_default();
        assert_eq!(range["type"], "array", "{path}: {name}");
        assert_eq!(range["maxItems"], 2, "{path}: {name}");
        assert_eq!(range["items"]["anyOf"][0]["type"], kind, "{path}: {name}");
        let one = schema(path, name).unwrap_or_default();
        assert_eq!(one["type"], kind, "{path}: {name}");
    }
}

async fn fields_are_said_to_leave_out_what_is_required(engine: Engine) {
    let shop = Shop::open(engine).await;
    for (path, parameter) in parameters(&shop).await {
        if parameter["name"] == "fields" {
            let text = parameter["description"].as_str().unwrap();
            assert!(text.contains("otherwise required"), "{path}: {text}");
        }
    }
}

async fn the_words_that_parameters_declare_are_taken(engine: Engine) {
    let shop = Shop::open(engine).await;
    let webhook = json!({"url": "https://crm.example/hook", "events": "*"});
    let webhook = shop.api.post("/2.0/webhooks", &webhook).await.created();
    let deliveries = "/2.0/webhooks/{id}/deliveries";
    let document = shop.server.anonymous().get("/2.0/openapi.json").await.json();
    let mut seen = BTreeSet::new();
    let lists = Document::new(document.clone())
        .operations
        .into_iter()
        .filter(|operation| {
            operation.method == "GET" && (!operation.path.contains('{') || operation.path == deliveries)
        });
    for Operation { path, .. } in lists {
        // The tags of vehicles are those of a stock type.
        let others = if path.ends_with("/tags") {
            "resource=vehicle&type=s&"
        } else {
            ""
        };
        let at = path.replace("{id}", &webhook["id"].to_string());
        for parameter in document["paths"][&path]["get"]["parameters"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let mut schema = &parameter["schema"];
            if let Some(reference) = schema["$ref"].as_str() {
                schema = document.pointer(&reference[1..]).unwrap();
            }
            let words = schema["enum"].as_array().or_else(|| schema["items"]["enum"].as_array());
            let (Some(words), Some(name)) = (words, parameter["name"].as_str()) else {
                continue;
            };
            for word in words.iter().filter_map(Value::as_str) {
                let url = format!("{at}?{others}{name}={word}");
                let answer = shop.api.get(&url).await;
                assert_eq!(answer.status, 200, "{url}: {}", answer.text());
            }
            seen.insert(format!("{path} {name}"));
        }
    }
    for closed in [
        "/2.0/leads status",
        "/2.0/leads channel",
        "/2.0/leads view",
        "/2.0/vehicles type",
        "/2.0/vehicles status",
        "/2.0/blogs status",
        "/2.0/reviews status",
        "/2.0/events event",
        "/2.0/events resource",
        "/2.0/webhooks/{id}/deliveries status",
        "/2.0/webhooks/{id}/deliveries event",
        "/2.0/reference/tags resource",
        "/2.0/reference/tags type",
        "/2.0/reference/vehicle-statuses type",
        "/2.0/reference/invoice-statuses type",
        "/2.0/reference/vehicle-options type",
    ] {
        assert!(seen.contains(closed), "{closed} is no enumeration");
    }
}

/// A value that has to be of two types at once matches nothing, and breaks generated code.
#[test]
fn the_parts_of_a_schema_are_of_one_type() {
    fn check(place: &str, part: &Value) {
        let types: BTreeSet<&str> = part["allOf"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|part| part["type"].as_str())
            .collect();
        assert!(types.len() < 2, "{place} is of {types:?} at once");
        match part {
            Value::Object(members) => members
                .iter()
                .for_each(|(name, member)| check(&format!("{place}/{name}"), member)),
            Value::Array(items) => items.iter().for_each(|item| check(place, item)),
            _ => {}
        }
    }
    let document: Value = serde_json::from_str(include_str!("../../docs/openapi.json")).unwrap();
    check("", &document);
}
