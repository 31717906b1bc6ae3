//! The time limit of an attempt, in each of its phases.

use std::time::Instant;

use forecourt_webhook_client::{Config, HttpWebhookClient};
use forecourt_webhooks::{SignedRequest, WebhookClient};

use crate::{
    AMPLE, BUSINESS, SHORT, assert_timed_out, client,
    fake_network::{FakeNetwork, PUBLIC},
    peer::{Peer, reply},
    post, signed_request, status, url,
};

fn client_over(fake_network: FakeNetwork) -> HttpWebhookClient {
    HttpWebhookClient::new(Config {
        timeout: SHORT,
        allow_insecure: true,
        network: fake_network.shared(),
        ..Config::default()
    })
    .unwrap()
}

#[tokio::test]
async fn a_look_up_that_never_ends_times_out() {
    let client = client_over(FakeNetwork::cut(&[]));
    assert_timed_out(&client.post(signed_request("http://silent.example/")).await);
}

#[tokio::test]
async fn an_address_that_never_answers_times_out() {
    let client = client_over(FakeNetwork::cut(&[]).silent_at(PUBLIC));
    assert_timed_out(&client.post(signed_request(format!("http://{PUBLIC}/"))).await);
}

#[tokio::test]
async fn a_handshake_that_is_not_answered_times_out() {
    // Connections to it wait in its queue for ever.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let https = format!("https://{}/", listener.local_addr().unwrap());
    assert_timed_out(&client(SHORT).post(signed_request(https)).await);
}

#[tokio::test]
async fn silence_times_out_and_ends_the_connection() {
    for beginning in [
        "",
        "HTT",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
        "HTTP/1.1 100\r\n\r\n",
    ] {
        let peer = Peer::start(move |_, _| reply(beginning).and_stalls()).await;
        assert_timed_out(&client(SHORT).post(signed_request(url(peer.address))).await);
        peer.closed(1).await;
    }
}

#[tokio::test]
async fn an_endpoint_that_does_not_read_times_out() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let signed_request = SignedRequest {
        business: BUSINESS,
        body: vec![0; 64 << 20],
        ..signed_request(url(listener.local_addr().unwrap()))
    };
    assert_timed_out(&client(SHORT).post(signed_request).await);
}

#[tokio::test]
async fn a_body_that_stalls_does_not_undo_the_answer() {
    for code in [200, 500] {
        let text = format!("HTTP/1.1 {code} Whatever\r\nContent-Length: 100\r\n\r\nsome");
        let peer = Peer::start(move |_, _| reply(text.clone()).and_stalls()).await;
        let begun = Instant::now();
        let attempt = client(SHORT).post(signed_request(url(peer.address))).await;
        assert!(attempt.took_ms < 1_000, "{}", attempt.took_ms);
        assert!(begun.elapsed() >= SHORT, "{:?}", begun.elapsed());
        let answer = attempt.outcome.unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (code, "some"));
        peer.closed(1).await;
    }
}

#[tokio::test]
async fn an_endless_body_is_not_read_to_its_end() {
    for head in [
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551613\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFF\r\n",
    ] {
        let peer = Peer::start(move |_, _| reply(head).and_floods()).await;
        let answer = post(&client(AMPLE), url(peer.address)).await.unwrap();
        assert_eq!((answer.status, answer.body), (200, "x".repeat(2048)));
        peer.closed(1).await;
    }
}

#[tokio::test]
async fn several_addresses_share_the_time() {
    let peer = Peer::content().await;
    let fake_network = FakeNetwork::cut(&[&["192.0.2.1", "192.0.2.2", PUBLIC]]).to(peer.address);
    let client = client_over(fake_network.silent_at("192.0.2.1").silent_at("192.0.2.2"));
    assert_eq!(status(post(&client, "http://slow.example/").await), 200);
}
