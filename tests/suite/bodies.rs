//! Request bodies: JSON, its types, its size.

use harness::{Answer, Engine, Raw, Shop, both_engines};
use serde_json::json;

both_engines! {
    an_empty_body_is_an_empty_object
    a_chunked_body_has_at_most_one_mebibyte
    a_client_that_waits_for_leave_to_send_gets_it
    a_fault_within_an_array_is_reported_by_its_path
}

const LEADS: &str = "/2.0/leads";
const MEBIBYTE: usize = 1024 * 1024;

async fn post(shop: &Shop, body: impl Into<Vec<u8>>) -> Answer {
    shop.api.request("POST", LEADS).body(body.into()).send().await
}

async fn an_empty_body_is_an_empty_object(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = post(&shop, "").await.created();
    assert_eq!(lead["name"], "");
    let request = shop
        .api
        .request("POST", LEADS)
        .header("Content-Type", "application/json");
    request.send().await.created();
    let path = format!("{LEADS}/{}", lead["id"]);
    assert_eq!(shop.api.request("PATCH", &path).send().await.ok(), lead);
    assert_eq!(
        shop.api.request("PATCH", &format!("{path}/status")).send().await.ok(),
        lead
    );
    let request = shop.api.request("PATCH", &format!("{path}/assign"));
    request.send().await.invalid(&["assign"]);
}

/// Returns a body of this length, most of which is in a member that is ignored.
fn heavy(length: usize) -> String {
    let frame = r#"{"padding":""}"#.len();
    format!(r#"{{"padding":"{}"}}"#, "x".repeat(length - frame))
}

async fn a_chunked_body_has_at_most_one_mebibyte(engine: Engine) {
    let shop = Shop::open(engine).await;
    let token = shop.business.key("leads:write").await.token;
    let send = async |body: &str| {
        let head = format!(
            "POST {LEADS} HTTP/1.1\r\nHost: any\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        let chunks = body.as_bytes().chunks(60_000).map(|chunk| {
            let text = str::from_utf8(chunk).unwrap();
            format!("{:x}\r\n{text}\r\n", chunk.len())
        });
        let request: String = [head]
            .into_iter()
            .chain(chunks)
            .chain(["0\r\n\r\n".to_owned()])
            .collect();
        Raw::exchange(&shop.server, request.as_bytes()).await
    };
    send(r#"{"name":"Ann"}"#).await.created();
    send(&heavy(MEBIBYTE)).await.created();
    send(&heavy(MEBIBYTE + 1)).await.invalid(&["body"]);
}

async fn a_client_that_waits_for_leave_to_send_gets_it(engine: Engine) {
    let shop = Shop::open(engine).await;
    let token = shop.business.key("leads:write").await.token;
    let body = r#"{"name":"Ann"}"#;
    let head = format!(
        "POST {LEADS} HTTP/1.1\r\nHost: any\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    let mut connection = Raw::connect(&shop.server).await;
    connection.send(head.as_bytes()).await.unwrap();
    connection.hear("HTTP/1.1 100 Continue\r\n\r\n").await;
    connection.send(body.as_bytes()).await.unwrap();
    assert_eq!(connection.answer().await.created()["name"], "Ann");
}

async fn a_fault_within_an_array_is_reported_by_its_path(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let table = [
        (json!({"tag": [5]}), "tag.0"),
        (json!({"tag": ["Hot", {"name": 5}]}), "tag.1.name"),
        (json!({"tag": [{"name": "Hot", "checked": "yes"}]}), "tag.0.checked"),
        (json!({"type": ["finance", 5]}), "type.1"),
    ];
    for (body, field) in table {
        shop.api.post(LEADS, &body).await.invalid(&[field]);
        shop.api.patch(&lead, &body).await.invalid(&[field]);
    }
    let assign = shop
        .api
        .patch(&format!("{lead}/assign"), &json!({"assign": [1, "2"]}))
        .await;
    assign.invalid(&["assign.1"]);
}
