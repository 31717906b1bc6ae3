//! The desk over HTTP, with a receiver of its webhooks.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use enquiry_desk::{Receiver, Settings, serve};
use forecourt_kernel::Timestamp;
use forecourt_webhooks::{Secret, sign};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const SECRET: &str = "whsec_of_the_test";

/// A desk, and what its receiver was sent.
struct Running {
    address: SocketAddr,
    client: reqwest::Client,
    hooks: UnboundedReceiver<(HeaderMap, Bytes)>,
}

impl Running {
    /// Starts a desk on a database, and a receiver of its webhooks that refuses the first attempt.
    async fn start(database: impl Into<PathBuf>) -> Self {
        let (sender, hooks) = unbounded_channel();
        let refused = Arc::new(AtomicBool::new(false));
        let receive = move |headers: HeaderMap, body: Bytes| async move {
            if !refused.swap(true, Ordering::Relaxed) {
                return StatusCode::SERVICE_UNAVAILABLE;
            }
            sender
                .send((headers, body))
                .map_or(StatusCode::GONE, |()| StatusCode::NO_CONTENT)
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let hook = format!("http://{}/hook", listener.local_addr().unwrap());
        let receiving = Router::new().route("/hook", post(receive));
        tokio::spawn(async move { axum::serve(listener, receiving).await });
        let receiver = Receiver::new(&hook, SECRET.to_owned()).unwrap();
        Self {
            hooks,
            ..Self::with(database, Some(receiver)).await
        }
    }

    /// Starts a desk with that receiver, or with none.
    async fn with(database: impl Into<PathBuf>, receiver: Option<Receiver>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let settings = Settings {
            retry_after: Duration::from_millis(10),
            ..Settings::new(database, receiver)
        };
        tokio::spawn(serve(listener, settings));
        Self {
            address,
            client: reqwest::Client::new(),
            hooks: unbounded_channel().1,
        }
    }

    async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let request = self.client.post(format!("http://{}{path}", self.address)).json(body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap_or_default())
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        let response = self
            .client
            .get(format!("http://{}{path}", self.address))
            .send()
            .await
            .unwrap();
        (response.status().as_u16(), response.json().await.unwrap_or_default())
    }

    /// The next webhook, proved to come from the desk.
    async fn hook(&mut self) -> Value {
        let next = tokio::time::timeout(Duration::from_secs(60), self.hooks.recv()).await;
        let (headers, body) = next.expect("a webhook comes in time").unwrap();
        let signature = headers["X-Service-Signature"].to_str().unwrap();
        let at = signature
            .strip_prefix("t=")
            .and_then(|rest| rest.split_once(','))
            .unwrap()
            .0;
        let at = Timestamp::from_epoch_seconds(at.parse().unwrap());
        assert_eq!(signature, sign(&Secret::from_stored(SECRET.to_owned()), at, &body));
        let shown: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(shown["event"], headers["X-Service-Event"].to_str().unwrap());
        shown
    }
}

#[tokio::test]
async fn an_enquiry_is_taken_in_linked_and_announced() {
    let mut desk = Running::start(":memory:").await;

    let (status, refused) = desk
        .post("/enquiries", &json!({"email": "ann", "mobile": "12", "vehicle": 7}))
        .await;
    assert_eq!(status, 422);
    let faults = refused["faults"].as_array().unwrap();
    let fields: Vec<_> = faults.iter().map(|fault| fault["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["email", "mobile"], "{refused}");

    let ann = json!({"name": "Ann Lee", "email": "ann@example.com", "mobile": "07700 900123", "type": "test_drive"});
    let (status, first) = desk.post("/enquiries", &ann).await;
    assert_eq!(
        (status, &first["reference"], &first["mobile"]),
        (201, &json!(1), &json!("+447700900123"))
    );
    let created = desk.hook().await;
    assert_eq!((&created["event"], &created["data"]), (&json!("lead.created"), &first));

    // The sender is filed, once, and a second enquiry is linked to the same contact.
    let (status, linked) = desk.post("/enquiries/1/contact", &Value::Null).await;
    assert_eq!((status, &linked["contact"]), (200, &json!(1)));
    let filed = desk.hook().await;
    assert_eq!(
        (&filed["event"], &filed["data"]["data"]["name"]),
        (&json!("contact.created"), &json!("Ann Lee"))
    );
    let updated = desk.hook().await;
    assert_eq!(
        (&updated["event"], &updated["data"]["contact"]),
        (&json!("lead.updated"), &json!(1))
    );
    let (_, again) = desk.post("/enquiries/1/contact", &Value::Null).await;
    assert_eq!(again, linked);

    let (status, _) = desk
        .post("/enquiries", &json!({"name": "A. Lee", "email": "ANN@example.com"}))
        .await;
    assert_eq!(status, 201);
    let (_, second) = desk.post("/enquiries/2/contact", &Value::Null).await;
    assert_eq!(second["contact"], 1);
    assert_eq!(desk.hook().await["event"], "lead.created");
    assert_eq!(desk.hook().await["event"], "lead.updated", "and no contact was created");

    let (_, page) = desk.get("/enquiries?status=0").await;
    let ids: Vec<_> = page["enquiries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lead| lead["id"].as_i64().unwrap())
        .collect();
    assert_eq!((ids, &page["next"]), (vec![2, 1], &Value::Null));
    assert_eq!(desk.get("/enquiries?before=2").await.1["enquiries"][0]["id"], 1);
    assert_eq!(desk.get("/enquiries?status=5").await.1["enquiries"], json!([]));
    assert_eq!(desk.get("/enquiries/2").await, (200, second));
}

#[tokio::test]
async fn what_is_refused_leaves_nothing_behind() {
    let mut desk = Running::start(":memory:").await;
    assert_eq!(desk.get("/enquiries/1").await.0, 404);
    assert_eq!(desk.post("/enquiries/1/contact", &Value::Null).await.0, 404);
    assert_eq!(desk.get("/enquiries?status=9").await.0, 422);

    // An enquiry may come without a name, a contact may not.
    let (_, nameless) = desk.post("/enquiries", &json!({"email": "who@example.com"})).await;
    let (status, refused) = desk.post("/enquiries/1/contact", &Value::Null).await;
    assert_eq!((status, &refused["faults"][0]["field"]), (422, &json!("name")));
    assert_eq!(desk.get("/enquiries/1").await, (200, nameless));

    assert_eq!(desk.hook().await["event"], "lead.created");
    desk.post("/enquiries", &json!({"name": "Bob"})).await;
    let next = desk.hook().await;
    assert_eq!(
        (&next["event"], &next["data"]["name"]),
        (&json!("lead.created"), &json!("Bob"))
    );
}

#[tokio::test]
async fn events_wait_for_a_receiver_and_for_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("enquiries.db");
    let without = Running::with(&database, None).await;
    for name in ["Ann", "Bob"] {
        assert_eq!(without.post("/enquiries", &json!({"name": name})).await.0, 201);
    }
    let mut with = Running::start(&database).await;
    for name in ["Ann", "Bob"] {
        assert_eq!(with.hook().await["data"]["name"], name, "in their order");
    }
}
