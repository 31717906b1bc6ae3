//! The permissions of a key. The scopes are taken from the OpenAPI document, so that no operation is left out.

use std::collections::BTreeSet;

use harness::{Engine, Shop, both_engines};
use serde_json::{Value, json};

use crate::documents::{Operation, operations};

both_engines! {
    a_key_without_scopes_is_refused_with_the_one_it_needs
    a_key_with_other_scopes_is_refused_with_the_one_it_lacks
    each_scope_opens_its_own_operations_alone
    every_operation_of_the_document_is_guarded
    the_document_has_every_operation_of_the_contract
}

/// The operations that require no credential. This list may only shrink.
const PUBLIC: [&str; 1] = ["GET /2.0/openapi.json"];

/// The operations of the contract so far, with the scope that each needs.
const CONTRACT: [(&str, &str); 72] = [
    ("GET /2.0/leads", "leads:read"),
    ("POST /2.0/leads", "leads:write"),
    ("GET /2.0/leads/{id}", "leads:read"),
    ("PATCH /2.0/leads/{id}", "leads:write"),
    ("DELETE /2.0/leads/{id}", "leads:delete"),
    ("PATCH /2.0/leads/{id}/status", "leads:write"),
    ("PATCH /2.0/leads/{id}/assign", "leads:write"),
    ("GET /2.0/leads/{id}/vehicles", "leads:read"),
    ("POST /2.0/leads/{id}/vehicles", "leads:write"),
    ("DELETE /2.0/leads/{id}/vehicles/{vehicle_id}", "leads:write"),
    ("POST /2.0/leads/adf", "leads:write"),
    ("GET /2.0/leads/{id}/messages", "lead-messages:read"),
    ("POST /2.0/leads/{id}/messages", "lead-messages:write"),
    ("GET /2.0/leads/{id}/notes", "lead-notes:read"),
    ("POST /2.0/leads/{id}/notes", "lead-notes:write"),
    ("DELETE /2.0/leads/{id}/notes/{note_id}", "lead-notes:delete"),
    ("GET /2.0/webhooks", "webhooks:read"),
    ("POST /2.0/webhooks", "webhooks:write"),
    ("GET /2.0/webhooks/{id}", "webhooks:read"),
    ("PATCH /2.0/webhooks/{id}", "webhooks:write"),
    ("DELETE /2.0/webhooks/{id}", "webhooks:write"),
    ("POST /2.0/webhooks/{id}/ping", "webhooks:write"),
    ("POST /2.0/webhooks/{id}/secret/rotate", "webhooks:write"),
    ("GET /2.0/webhooks/{id}/deliveries", "webhooks:read"),
    (
        "POST /2.0/webhooks/{id}/deliveries/{delivery_id}/redeliver",
        "webhooks:write",
    ),
    ("GET /2.0/contacts", "contacts:read"),
    ("POST /2.0/contacts", "contacts:write"),
    ("GET /2.0/contacts/{id}", "contacts:read"),
    ("PATCH /2.0/contacts/{id}", "contacts:write"),
    ("DELETE /2.0/contacts/{id}", "contacts:delete"),
    ("POST /2.0/contacts/duplicate-check", "contacts:read"),
    ("GET /2.0/contacts/{id}/follow-blocks", "contacts:read"),
    ("GET /2.0/contacts/{id}/notes", "contact-notes:read"),
    ("POST /2.0/contacts/{id}/notes", "contact-notes:write"),
    ("DELETE /2.0/contacts/{id}/notes/{note_id}", "contact-notes:delete"),
    ("POST /2.0/contacts/{id}/login/password/reset", "contact-login:write"),
    ("POST /2.0/contacts/{id}/login/email", "contact-login:write"),
    ("GET /2.0/contacts/{id}/tags", "contacts:read"),
    ("GET /2.0/vehicles", "vehicles:read"),
    ("POST /2.0/vehicles", "vehicles:write"),
    ("GET /2.0/vehicles/{id}", "vehicles:read"),
    ("PATCH /2.0/vehicles/{id}", "vehicles:write"),
    ("DELETE /2.0/vehicles/{id}", "vehicles:delete"),
    ("GET /2.0/vehicles/{id}/tags", "vehicles:read"),
    ("PUT /2.0/vehicles/{id}/tags", "vehicles:write"),
    ("GET /2.0/vehicles/{id}/channels", "vehicles:read"),
    ("PUT /2.0/vehicles/{id}/channels", "vehicles:write"),
    ("POST /2.0/vehicles/{id}/test-drives/esign", "vehicle-drives:write"),
    ("POST /2.0/vehicles/{id}/test-drives/email", "vehicle-drives:write"),
    ("POST /2.0/vehicles/{id}/test-drives/photo", "vehicle-drives:write"),
    ("GET /2.0/vehicles/{id}/documents", "vehicle-documents:read"),
    ("POST /2.0/vehicles/{id}/documents", "vehicle-documents:write"),
    (
        "GET /2.0/vehicles/{id}/documents/{document_id}/download",
        "vehicle-documents:read",
    ),
    (
        "PATCH /2.0/vehicles/{id}/documents/{document_id}",
        "vehicle-documents:write",
    ),
    (
        "DELETE /2.0/vehicles/{id}/documents/{document_id}",
        "vehicle-documents:delete",
    ),
    ("GET /2.0/meta", "meta:read"),
    ("GET /2.0/reference/tags", "reference:read"),
    ("GET /2.0/reference/vehicle-statuses", "reference:read"),
    ("GET /2.0/reference/vehicle-types", "reference:read"),
    ("GET /2.0/reference/vehicle-options", "reference:read"),
    ("GET /2.0/reference/vehicle-taxonomy", "reference:read"),
    ("GET /2.0/reference/staff-users", "reference:read"),
    ("GET /2.0/reference/locations", "reference:read"),
    ("GET /2.0/reference/sites", "reference:read"),
    ("GET /2.0/reference/booking-types", "reference:read"),
    ("GET /2.0/reference/deal-stages", "reference:read"),
    ("GET /2.0/reference/lead-channels", "reference:read"),
    ("GET /2.0/reference/lead-types", "reference:read"),
    ("GET /2.0/reference/media-backgrounds", "reference:read"),
    ("GET /2.0/reference/invoice-statuses", "reference:read"),
    ("GET /2.0/reference/job-boards", "reference:read"),
    ("GET /2.0/reference/webhook-events", "reference:read"),
];

async fn guarded(shop: &Shop) -> Vec<Operation> {
    let document = shop.server.anonymous().get("/2.0/openapi.json").await.json();
    let mut operations = operations(&document);
    operations.retain(|operation| !PUBLIC.contains(&operation.name.as_str()));
    operations
}

/// Asserts that the answer names the missing scope.
#[track_caller]
fn lacks(answer: &harness::Answer, code: &str, scope: &str) {
    assert_eq!(answer.refused(403, code)["details"]["scope"], scope);
}

async fn a_key_without_scopes_is_refused_with_the_one_it_needs(engine: Engine) {
    let shop = Shop::open(engine).await;
    let client = shop.client("none").await;
    for operation in guarded(&shop).await {
        let answer = client
            .request(&operation.method, &operation.example_path())
            .send()
            .await;
        lacks(&answer, "scope_required", operation.scope());
    }
}

async fn a_key_with_other_scopes_is_refused_with_the_one_it_lacks(engine: Engine) {
    let shop = Shop::open(engine).await;
    let client = shop.client("calls:read,search:wildcard").await;
    for operation in guarded(&shop).await {
        let answer = client
            .request(&operation.method, &operation.example_path())
            .send()
            .await;
        lacks(&answer, "scope_denied", operation.scope());
    }
}

async fn each_scope_opens_its_own_operations_alone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let operations = guarded(&shop).await;
    let scopes: BTreeSet<&str> = operations.iter().map(Operation::scope).collect();
    for scope in scopes {
        let client = shop.client(scope).await;
        for operation in &operations {
            let answer = client
                .request(&operation.method, &operation.example_path())
                .send()
                .await;
            let open = answer.status != 403;
            assert_eq!(open, operation.scope() == scope, "{} with {scope}", operation.name);
        }
    }
}

async fn every_operation_of_the_document_is_guarded(engine: Engine) {
    let shop = Shop::open(engine).await;
    for operation in guarded(&shop).await {
        let path = operation.example_path();
        let request = shop.server.anonymous().request(&operation.method, &path);
        request.send().await.refused(401, "authentication_required");
        let request = shop.server.client("nonsense").request(&operation.method, &path);
        request.send().await.refused(401, "authentication_invalid");
    }
    for name in PUBLIC {
        let (method, path) = name.split_once(' ').unwrap();
        let answer = shop.server.anonymous().request(method, path).send().await;
        assert_eq!(answer.status, 200, "{name}");
    }
}

async fn the_document_has_every_operation_of_the_contract(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documented = guarded(&shop).await;
    for (name, scope) in CONTRACT {
        let operation = documented.iter().find(|operation| operation.name == name);
        let operation = operation.unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(operation.scopes, [scope], "{name}");
    }
    // A search is one operation with a second scope, which only a wildcard needs.
    let answer = shop
        .client("leads:read")
        .await
        .get("/2.0/leads?email=%25example%25")
        .await;
    lacks(&answer, "scope_denied", "search:wildcard");
    let answer: Value = shop.api.get("/2.0/leads?email=%25example%25").await.ok();
    assert_eq!(answer, json!([]));
}
