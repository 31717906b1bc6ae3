//! Refusals report all faults of a body.

use harness::{Answer, Engine, Shop, both_engines};
use serde_json::{Value, json};

both_engines! {
    every_wrong_element_of_an_array_is_reported
    every_unknown_tag_is_reported
}

/// Returns the fields of all the faults, as often as each is named.
fn fields(answer: &Answer) -> Vec<String> {
    let error = answer.refused(422, "validation_failed");
    let errors = error["details"]["errors"].as_array().unwrap();
    let field = |error: &Value| error["field"].as_str().unwrap().to_owned();
    errors.iter().map(field).collect()
}

async fn every_wrong_element_of_an_array_is_reported(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let assign = json!({"assign": ["x", 1, null, 2.5]});
    let answer = shop.api.patch(&format!("{lead}/assign"), &assign).await;
    assert_eq!(fields(&answer), ["assign.0", "assign.2", "assign.3"]);

    let contact = json!({"name": "Ann", "type": ["Customer", 5, true], "document": [1, {}, 2]});
    let answer = shop.api.post("/2.0/contacts", &contact).await;
    assert_eq!(fields(&answer), ["type.1", "type.2", "document.0", "document.2"]);
}

async fn every_unknown_tag_is_reported(engine: Engine) {
    let shop = Shop::open(engine).await;
    let body = json!({"name": "Ann", "tag": ["none", "nowhere"]});
    for path in ["/2.0/leads", "/2.0/contacts"] {
        let answer = shop.api.post(path, &body).await;
        assert_eq!(fields(&answer), ["tag.0", "tag.1"], "{path}");
    }
}
