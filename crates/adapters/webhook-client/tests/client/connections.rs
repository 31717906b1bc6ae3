//! Connections are kept and used again.

use forecourt_webhook_client::{Config, HttpWebhookClient};
use futures_util::future::join_all;

use crate::{
    AMPLE, client,
    peer::{Peer, answer, reply},
    post, status, url,
};

async fn assert_one_connection_serves_many() {
    let peer = Peer::content().await;
    let client = client(AMPLE);
    for _ in 0..100 {
        assert_eq!(status(post(&client.clone(), url(peer.address)).await), 200);
    }
    assert_eq!((peer.opened(), peer.seen().len()), (1, 100));
}

#[tokio::test]
async fn one_connection_serves_many_parcels() {
    assert_one_connection_serves_many().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_connection_serves_many_parcels_on_several_threads() {
    assert_one_connection_serves_many().await;
}

#[tokio::test]
async fn each_parcel_on_its_way_has_a_connection_and_a_bounded_number_is_kept() {
    let peer = Peer::content().await;
    let client = HttpWebhookClient::new(Config {
        timeout: AMPLE,
        allow_insecure: true,
        idle_per_endpoint: 2,
        ..Config::default()
    })
    .unwrap();
    for opened in [6, 10, 14] {
        for outcome in join_all((0..6).map(|_| post(&client, url(peer.address)))).await {
            assert_eq!(status(outcome), 200);
        }
        assert_eq!(peer.opened(), opened);
        peer.closed(opened - 2).await;
    }
}

#[tokio::test]
async fn endpoints_do_not_share_connections() {
    let (one, other) = (Peer::content().await, Peer::content().await);
    let client = client(AMPLE);
    for _ in 0..3 {
        assert_eq!(status(post(&client, url(one.address)).await), 200);
        assert_eq!(status(post(&client, url(other.address)).await), 200);
    }
    assert_eq!((one.opened(), other.opened()), (1, 1));
}

#[tokio::test]
async fn a_connection_is_closed_when_it_was_idle_for_half_a_minute() {
    let peer = Peer::content().await;
    let client = client(AMPLE);
    assert_eq!(status(post(&client, url(peer.address)).await), 200);
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    // With nothing else to do the clock advances by itself.
    peer.closed(1).await;
    let idle = begun.elapsed().as_secs();
    assert!((25..=40).contains(&idle), "{idle}");
    tokio::time::resume();
    assert_eq!(status(post(&client, url(peer.address)).await), 200);
    assert_eq!(peer.opened(), 2);
}

#[tokio::test]
async fn connections_are_closed_with_the_client() {
    let peer = Peer::content().await;
    let client = client(AMPLE);
    assert_eq!(status(post(&client, url(peer.address)).await), 200);
    drop(client);
    peer.closed(1).await;
}

#[tokio::test]
async fn a_peer_that_says_it_will_hang_up_is_believed() {
    let peer = Peer::start(|_, _| reply("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")).await;
    let client = client(AMPLE);
    for _ in 0..3 {
        assert_eq!(status(post(&client, url(peer.address)).await), 200);
    }
    assert_eq!((peer.opened(), peer.seen().len()), (3, 3));
}

#[tokio::test]
async fn a_peer_that_hangs_up_on_an_idle_connection_costs_no_parcel() {
    let peer = Peer::start(|_, _| answer(200, "").and_hangs_up()).await;
    let client = client(AMPLE);
    for _ in 0..500 {
        assert_eq!(status(post(&client, url(peer.address)).await), 200);
    }
}

#[tokio::test]
async fn a_kept_connection_that_is_lost_is_replaced_once() {
    let peer = Peer::start(|connection, request| match (connection, request) {
        (_, 0) => answer(200, ""),
        _ => reply("").and_hangs_up(),
    })
    .await;
    let client = client(AMPLE);
    assert_eq!(status(post(&client, url(peer.address)).await), 200);
    assert_eq!(status(post(&client, url(peer.address)).await), 200);
    assert_eq!((peer.opened(), peer.seen().len()), (2, 3));
}

#[tokio::test]
async fn a_new_connection_that_is_lost_is_not_replaced() {
    let peer = Peer::start(|_, _| reply("").and_hangs_up()).await;
    let client = client(AMPLE);
    assert!(post(&client, url(peer.address)).await.is_err());
    assert_eq!((peer.opened(), peer.seen().len()), (1, 1));
}

#[tokio::test]
async fn a_connection_with_a_long_body_is_used_again_and_one_with_a_huge_body_is_not() {
    for (length, opened) in [(60_000, 1), (1_000_000, 3)] {
        let peer = Peer::start(move |_, _| answer(200, &"x".repeat(length))).await;
        let client = client(AMPLE);
        for _ in 0..3 {
            assert_eq!(status(post(&client, url(peer.address)).await), 200);
        }
        assert_eq!(peer.opened(), opened, "{length}");
    }
}

#[tokio::test]
async fn a_connection_that_says_more_than_it_was_asked_is_not_used_again() {
    let twice = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n";
    let peer = Peer::start(move |_, _| reply(twice)).await;
    let client = client(AMPLE);
    for _ in 0..20 {
        assert_eq!(status(post(&client, url(peer.address)).await), 200);
    }
    assert_eq!(peer.opened(), 20);
}
