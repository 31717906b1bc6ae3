//! Bounds, and the resources that businesses share.

use std::{
    future::pending,
    io,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, Moment};
use forecourt_webhook_client::{Config, HttpWebhookClient, Network};
use forecourt_webhooks::{Attempt, DeliveryError, RetryAfter, SignedRequest, WebhookClient};
use tokio::{net::TcpStream, task::JoinSet};

use crate::{
    AMPLE, client,
    fake_network::PUBLIC,
    peer::{Peer, reply},
    post, signed_request, status, url,
};

/// Returns a head of this number of bytes, in one field or in many.
fn head(bytes: usize, fields: usize) -> String {
    let (start, end) = ("HTTP/1.1 200 \r\nContent-Length: 0\r\n", "\r\n");
    let of_field = (bytes - start.len() - end.len()) / fields;
    let field = |length: usize| format!("X-Pad: {}\r\n", "x".repeat(length - "X-Pad: \r\n".len()));
    let last = bytes - start.len() - end.len() - of_field * (fields - 1);
    format!("{start}{}{}{end}", field(of_field).repeat(fields - 1), field(last))
}

#[tokio::test]
async fn a_head_above_16_kib_is_a_failure() {
    for fields in [1, 50] {
        for bytes in [8 * 1024, 16 * 1024] {
            let peer = Peer::start(move |_, _| reply(head(bytes, fields))).await;
            assert_eq!(status(post(&client(AMPLE), url(peer.address)).await), 200, "{bytes}");
        }
        for bytes in [16 * 1024 + 1, 20_000, 60_000, 64 * 1024, 66_000, 100_000, 500_000] {
            let peer = Peer::start(move |_, _| reply(head(bytes, fields))).await;
            for _ in 0..3 {
                let outcome = post(&client(AMPLE), url(peer.address)).await;
                assert!(
                    matches!(outcome, Err(DeliveryError::Exchange(_))),
                    "{bytes}: {outcome:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn retry_after_is_seconds_or_a_date() {
    let delay = |seconds| Some(RetryAfter::Delay(Duration::from_secs(seconds)));
    let date = Some(RetryAfter::At(Moment::from_epoch_millis(784_111_777_000)));
    for (value, expected) in [
        ("120", delay(120)),
        ("0", delay(0)),
        ("Sun, 06 Nov 1994 08:49:37 GMT", date),
        ("-1", None),
        ("soon", None),
        ("1.5", None),
    ] {
        let text = format!("HTTP/1.1 503 Busy\r\nRetry-After: {value}\r\nContent-Length: 0\r\n\r\n");
        let peer = Peer::start(move |_, _| reply(text.clone())).await;
        let answer = post(&client(AMPLE), url(peer.address)).await.unwrap();
        assert_eq!(answer.retry_after, expected, "{value}");
    }
}

/// A network whose names under `silent.example` are never resolved, and that lacks a resource if so configured.
struct Troubled {
    look_ups: AtomicUsize,
    resolving: Option<i32>,
    connecting: Option<i32>,
    address: IpAddr,
    end: SocketAddr,
}

#[async_trait]
impl Network for Troubled {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.look_ups.fetch_add(1, Ordering::SeqCst);
        if host.ends_with("silent.example") {
            return pending().await;
        }
        match self.resolving {
            Some(code) => Err(io::Error::from_raw_os_error(code)),
            None => Ok(vec![self.address]),
        }
    }

    async fn connect(&self, _: SocketAddr) -> io::Result<TcpStream> {
        match self.connecting {
            Some(code) => Err(io::Error::from_raw_os_error(code)),
            None => TcpStream::connect(self.end).await,
        }
    }
}

fn in_network(network: Troubled) -> (HttpWebhookClient, Arc<Troubled>) {
    let network = Arc::new(network);
    let config = Config {
        timeout: Duration::from_secs(5),
        allow_insecure: true,
        network: Arc::clone(&network) as Arc<dyn Network>,
        ..Config::default()
    };
    (HttpWebhookClient::new(config).unwrap(), network)
}

fn troubled(end: SocketAddr) -> Troubled {
    Troubled {
        look_ups: AtomicUsize::new(0),
        resolving: None,
        connecting: None,
        address: PUBLIC.parse().unwrap(),
        end,
    }
}

#[tokio::test]
async fn silent_name_servers_of_one_business_leave_look_ups_to_others() {
    let peer = Peer::content().await;
    let (client, network) = in_network(troubled(peer.address));
    let mut waiting = JoinSet::new();
    for number in 0..100 {
        let client = client.clone();
        let signed_request = SignedRequest {
            business: BusinessId::new(7),
            ..signed_request(format!("http://{number}.silent.example/"))
        };
        waiting.spawn(async move { client.post(signed_request).await });
    }
    while network.look_ups.load(Ordering::SeqCst) < 8 {
        tokio::task::yield_now().await;
    }
    let other = SignedRequest {
        business: BusinessId::new(8),
        ..signed_request("http://quick.example/")
    };
    assert_eq!(status(client.post(other).await.outcome), 200);
    assert_eq!(network.look_ups.load(Ordering::SeqCst), 9);
    let gave_up: Vec<Attempt> = waiting.join_all().await;
    assert!(
        gave_up
            .iter()
            .all(|attempt| attempt.outcome == Err(DeliveryError::TimedOut))
    );
}

#[tokio::test]
async fn what_this_machine_lacks_says_nothing_of_the_endpoint() {
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
    for code in [24, 23, 12] {
        let resolving = Troubled {
            resolving: Some(code),
            ..troubled(nowhere)
        };
        let connecting = Troubled {
            connecting: Some(code),
            ..troubled(nowhere)
        };
        for network in [resolving, connecting] {
            let (client, _) = in_network(network);
            let outcome = post(&client, "http://some.example/").await;
            assert_eq!(outcome, Err(DeliveryError::Shortage), "{code}");
        }
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_port_is_a_lack_and_no_route_is_none() {
    const NO_ADDRESS: i32 = 99;
    let lacking = |address: &str| Troubled {
        connecting: Some(NO_ADDRESS),
        address: address.parse().unwrap(),
        ..troubled(SocketAddr::from(([127, 0, 0, 1], 1)))
    };
    let (client, _) = in_network(lacking(PUBLIC));
    assert_eq!(
        post(&client, "http://some.example/").await,
        Err(DeliveryError::Shortage)
    );
    let (client, _) = in_network(lacking("2606:2800:220:1::1"));
    let outcome = post(&client, "http://some.example/").await;
    assert!(matches!(outcome, Err(DeliveryError::Connection(_))), "{outcome:?}");
}
