//! A server that is told to end finishes the requests that it has accepted.

use std::time::Duration;

use harness::{Engine, Raw, Shop, both_engines, wait_for};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

both_engines! {
    it_ends_with_success
    a_request_that_has_begun_is_finished
    what_was_answered_was_done
}

async fn it_ends_with_success(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    // An idle connection does not delay the end.
    shop.api.get("/2.0/leads").await.ok();
    let idle = TcpStream::connect(shop.server.address()).await.unwrap();
    let status = shop.server.terminate().await;
    assert_eq!(status.code(), Some(0), "{}", shop.server.log());
    drop(idle);
}

async fn a_request_that_has_begun_is_finished(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let token = shop.business.key("leads:write").await.token;
    let body = r#"{"name": "Ann"}"#;
    let head = format!(
        "POST /2.0/leads HTTP/1.1\r\nHost: any\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let (first, rest) = body.split_at(5);
    let mut connection = Raw::connect(&shop.server).await;
    connection.send(head.as_bytes()).await.unwrap();
    connection.send(first.as_bytes()).await.unwrap();
    // A later request was answered, so this one has been accepted.
    shop.api.get("/2.0/leads").await.ok();

    shop.server.ask_to_end().await;
    let address = shop.server.address();
    wait_for("nobody new is let in", Duration::from_secs(10), async || {
        TcpStream::connect(&address).await.is_err()
    })
    .await;
    connection.send(rest.as_bytes()).await.unwrap();
    assert_eq!(connection.answer().await.created()["name"], "Ann");
    drop(connection);
    assert_eq!(shop.server.ended().await.code(), Some(0), "{}", shop.server.log());
}

async fn what_was_answered_was_done(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let mut workers = JoinSet::new();
    for worker in 0..8 {
        let api = shop.api.clone();
        workers.spawn(async move {
            let mut done = Vec::new();
            for number in 0.. {
                let name = format!("{worker}-{number}");
                let request = api.request("POST", "/2.0/leads").json(&json!({"name": name}));
                match request.attempt().await {
                    Ok(answer) if answer.status == 201 => done.push(name),
                    Ok(answer) => {
                        answer.refused(503, "service_unavailable");
                        break;
                    }
                    Err(_) => break,
                }
            }
            done
        });
    }
    let busy = async || shop.api.list("/2.0/leads").await.items.len() > 20;
    wait_for("the workers are busy", Duration::from_secs(30), busy).await;
    assert_eq!(shop.server.terminate().await.code(), Some(0), "{}", shop.server.log());

    let done: Vec<String> = workers.join_all().await.into_iter().flatten().collect();
    shop.server.restart().await;
    let leads = shop.api.walk("/2.0/leads?per_page=500&fields=name").await;
    for name in done {
        assert_eq!(leads.iter().filter(|lead| lead["name"] == name).count(), 1, "{name}");
    }
}
