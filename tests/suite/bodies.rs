//! Request bodies: JSON, its types, its size.

use harness::{Answer, Engine, Raw, Shop, both_engines};
use serde_json::{Value, json};

both_engines! {
    what_is_no_json_is_malformed
    json_that_is_no_object_is_no_body
    an_empty_body_is_an_empty_object
    the_content_type_is_json_or_absent
    a_body_has_at_most_one_mebibyte
    a_chunked_body_has_at_most_one_mebibyte
    a_client_that_waits_for_leave_to_send_gets_it
    every_wrong_type_is_reported_at_once
    wrong_types_are_reported_for_changes_too
    a_fault_within_an_array_is_reported_by_its_path
    an_integer_is_whole_and_of_a_sensible_size
    unknown_members_are_ignored
}

const LEADS: &str = "/2.0/leads";
const MEBIBYTE: usize = 1024 * 1024;

async fn post(shop: &Shop, body: impl Into<Vec<u8>>) -> Answer {
    shop.api.request("POST", LEADS).body(body.into()).send().await
}

async fn what_is_no_json_is_malformed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let bodies: [&[u8]; 12] = [
        b"{",
        b"}",
        b"nonsense",
        b"{\"name\":\"Ann\"",
        b"{\"name\":\"Ann\"} x",
        b"{\"name\":\"Ann\"}{}",
        b"{'name':'Ann'}",
        b"{\"name\":\"Ann\",}",
        b"{name:1}",
        b"{\"name\":NaN}",
        b"{\"name\":\"\xff\xfe\"}",
        b"name=Ann",
    ];
    for body in bodies {
        post(&shop, body).await.refused(400, "json_invalid");
    }
    assert!(shop.api.list(LEADS).await.items.is_empty());
}

async fn json_that_is_no_object_is_no_body(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    for body in ["[]", "[{}]", "null", "true", "1", "\"text\""] {
        post(&shop, body).await.invalid(&["body"]);
        for path in [lead.clone(), format!("{lead}/status"), format!("{lead}/assign")] {
            let request = shop.api.request("PATCH", &path).body(body);
            request.send().await.invalid(&["body"]);
        }
    }
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

async fn the_content_type_is_json_or_absent(engine: Engine) {
    let shop = Shop::open(engine).await;
    let send = async |kind: &str| {
        let request = shop.api.request("POST", LEADS).header("Content-Type", kind);
        request.body(r#"{"name":"Ann"}"#).send().await
    };
    for kind in [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "Application/JSON",
    ] {
        send(kind).await.created();
    }
    send("application/merge-patch+json").await.created();
    for kind in [
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "json",
        "*/*",
    ] {
        send(kind).await.refused(400, "json_invalid");
    }
    post(&shop, r#"{"name":"Ann"}"#).await.created();
}

/// Returns a body of this length, most of which is in a member that is ignored.
fn heavy(length: usize) -> String {
    let frame = r#"{"padding":""}"#.len();
    format!(r#"{{"padding":"{}"}}"#, "x".repeat(length - frame))
}

async fn a_body_has_at_most_one_mebibyte(engine: Engine) {
    let shop = Shop::open(engine).await;
    post(&shop, heavy(MEBIBYTE)).await.created();
    for length in [MEBIBYTE + 1, 2 * MEBIBYTE, 5 * MEBIBYTE] {
        post(&shop, heavy(length)).await.invalid(&["body"]);
        post(&shop, "x".repeat(length)).await.invalid(&["body"]);
    }
    assert_eq!(shop.api.list(LEADS).await.items.len(), 1);
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

/// Returns a wrong type for each member that both writes of a lead have.
fn wrong_types() -> Value {
    json!({
        "site": "x", "channel": 1, "channel_id": {}, "name": [], "email": 5, "phone": {}, "mobile": true,
        "contact": "x", "type": 7, "data": "x", "status": "new", "tag": "Hot",
    })
}

const FIELDS: [&str; 12] = [
    "site",
    "channel",
    "channel_id",
    "name",
    "email",
    "phone",
    "mobile",
    "contact",
    "type",
    "data",
    "status",
    "tag",
];

async fn every_wrong_type_is_reported_at_once(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut body = wrong_types();
    for (member, value) in body.as_object().unwrap() {
        shop.api.post(LEADS, &json!({member: value})).await.invalid(&[member]);
    }
    for (member, value) in [
        ("notify", json!("yes")),
        ("vehicle", json!("x")),
        ("vehicle_tag", json!(1)),
    ] {
        shop.api.post(LEADS, &json!({member: value})).await.invalid(&[member]);
    }
    shop.api.post(LEADS, &body).await.invalid(&FIELDS);

    body["notify"] = json!("yes");
    body["vehicle"] = json!("x");
    let fields: Vec<&str> = FIELDS.into_iter().chain(["notify", "vehicle"]).collect();
    shop.api.post(LEADS, &body).await.invalid(&fields);
    assert!(shop.api.list(LEADS).await.items.is_empty());
}

async fn wrong_types_are_reported_for_changes_too(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    shop.api.patch(&lead, &wrong_types()).await.invalid(&FIELDS);
    shop.api
        .patch(&lead, &json!({"notify": "yes"}))
        .await
        .invalid(&["notify"]);
    let status = json!({"status": 3, "junk": "yes", "closed": 1, "reopen": 20300101, "stat": "no"});
    let fields = ["status", "junk", "closed", "reopen", "stat"];
    shop.api
        .patch(&format!("{lead}/status"), &status)
        .await
        .invalid(&fields);
    for assign in [json!("1"), json!(1), json!({"1": true}), json!(null)] {
        let answer = shop
            .api
            .patch(&format!("{lead}/assign"), &json!({"assign": assign}))
            .await;
        answer.invalid(&["assign"]);
    }
    assert_eq!(shop.api.get(&lead).await.ok()["name"], "Ann");
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

async fn an_integer_is_whole_and_of_a_sensible_size(engine: Engine) {
    let shop = Shop::open(engine).await;
    for number in [
        "1.5",
        "-1",
        "6",
        "9223372036854775808",
        "1e30",
        "-9223372036854775809",
        "\"1\"",
        "true",
        "[1]",
    ] {
        for member in ["site", "contact", "status", "vehicle"] {
            let answer = post(&shop, format!(r#"{{"{member}":{number}}}"#)).await;
            answer.invalid(&[member]);
        }
    }
}

async fn unknown_members_are_ignored(engine: Engine) {
    let shop = Shop::open(engine).await;
    let body = json!({"name": "Ann", "nonsense": 1, "id": 77, "reference": 88, "created": 99, "rating": 5, "ai": {}});
    let lead = shop.lead(&body).await;
    assert_ne!(lead["id"], 77);
    assert_eq!((&lead["reference"], &lead["rating"]), (&json!(1), &Value::Null));
    assert!(lead.get("nonsense").is_none());
    let path = format!("{LEADS}/{}", lead["id"]);
    assert_eq!(
        shop.api.patch(&path, &json!({"nonsense": 1, "id": 77})).await.ok(),
        lead
    );
}
