//! The targets of urls, in any spelling.

use std::{net::IpAddr, sync::Arc};

use forecourt_webhook_client::{Config, HttpWebhookClient};
use forecourt_webhooks::DeliveryError;
use tokio::net::TcpListener;

use crate::{
    AMPLE,
    failures::assert_is_fit_for_integrators,
    fake_network::{FakeNetwork, PUBLIC},
    peer::Peer,
    post, status,
};

/// Hosts that are an address in one spelling or another, none of them public.
const ADDRESSES: [&str; 96] = [
    // Loopback: in four parts, fewer, one; decimal, octal, hexadecimal, mixed; beyond the usual.
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.0.0.01",
    "127.00.00.01",
    "127.255.255.254",
    "127.1.2.3",
    "2130706433",
    "017700000001",
    "0017700000001",
    "0x7f000001",
    "0X7F000001",
    "0x7F.0x0.0x0.0x1",
    "0x7f.1",
    "0x7f.0.1",
    "0177.0.0.1",
    "0177.1",
    "00000177.0.0.1",
    "0177.0x0.0.1",
    "127.0x1",
    "127.0x000001",
    "0x7f.0.0.0x1",
    "127.65535",
    "127.16777215",
    "0x000000007f000001",
    "127.0.0.1.",
    "127.1.",
    "2130706433.",
    "0x7f000001.",
    // …percent-encoded, with wide digits, wide dots, and characters that vanish.
    "%31%32%37.0.0.1",
    "127%2E0%2E0%2E1",
    "%30%78%37%66.1",
    "127.0.0.%31",
    "%31%32%37%2e%30%2e%30%2e%31",
    "１２７.０.０.１",
    "127。0。0。1",
    "127．0．0．1",
    "127｡0｡0｡1",
    "①②⑦.⓪.⓪.①",
    "𝟏𝟐𝟕.𝟎.𝟎.𝟏",
    "１２７．１",
    "０ｘ７ｆ.1",
    "127.0.0\u{ad}.1",
    "127.0.0.1\u{200b}",
    "127\t.0.0.1",
    "127.0.\n0.1",
    "⑫7.0.0.1",
    "²130706433",
    // Unspecified.
    "0",
    "0.0.0.0",
    "0x0",
    "00",
    "0.0",
    "0.0.0",
    "0.1",
    "0.0.0.0.",
    "０",
    // Private, shared, link-local (the clouds' metadata), and the rest.
    "10.0.0.1",
    "10.1",
    "0xa000001",
    "167772161",
    "012.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "192.168.1",
    "3232235521",
    "0xc0a80001",
    "0300.0250.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "169.254.169.254",
    "169.254.43518",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "①⑥⑨。②⑤④。①⑥⑨。②⑤④",
    "192.0.0.192",
    "198.18.0.1",
    "203.0.113.7",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "4294967295",
    "0xffffffff",
    "168.63.129.16",
    // IPv6, and IPv4 inside it.
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::FFFF:7F00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[fe80::1]",
];

/// Names whose address is not public.
const NAMES: [&str; 12] = [
    "localhost",
    "LOCALHOST",
    "localhost.",
    "LocalHost.LocalDomain",
    "l%6fcalhost",
    "ｌｏｃａｌｈｏｓｔ",
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
    "loc\u{ad}alhost",
    "ip6-localhost",
    "127.0.0.1.nip.example",
    "metadata.google.internal",
    "hooks.example.com",
];

/// Urls that hide a host, and the reasons for which they are refused.
const TRICKS: [&str; 50] = [
    // Another scheme.
    "http://127.0.0.1/",
    "HTTP://hooks.example.com/",
    "http:hooks.example.com",
    "ftp://hooks.example.com/",
    "ws://hooks.example.com/",
    "wss://hooks.example.com/",
    "file:///etc/passwd",
    "file://hooks.example.com/x",
    "gopher://127.0.0.1:6379/_x",
    "unix:/var/run/docker.sock",
    "javascript:alert(1)",
    "data:text/plain,x",
    "blob:https://hooks.example.com/x",
    "view-source:https://hooks.example.com/",
    "jar:https://hooks.example.com/",
    "httpss://hooks.example.com/",
    "https+unix://x/",
    "about:blank",
    // Credentials.
    "https://user@hooks.example.com/",
    "https://user:password@hooks.example.com/",
    "https://:password@hooks.example.com/",
    "https://hooks.example.com@127.0.0.1/",
    "https://hooks.example.com:443@127.0.0.1/",
    "https://127.0.0.1@hooks.example.com/",
    "https://hooks.example.com%40127.0.0.1@[::1]/",
    "https://127.0.0.1:80@hooks.example.com:443/",
    "https://a@b@127.0.0.1/",
    "https://%20@127.0.0.1/",
    // Not a url.
    "",
    " ",
    "/",
    "//127.0.0.1/",
    "hooks.example.com",
    "127.0.0.1",
    "https",
    "https:",
    "https://",
    "https:///",
    "https://?x",
    "https://#x",
    "https://:443/",
    "https://hooks example.com/",
    "https://hooks<example>.com/",
    "https://127.0.0.1:99999/",
    "https://127.0.0.1:80:80/",
    "https://[::1/",
    "https://[::1%25lo]/",
    "https://256.256.256.256/",
    "https://1.2.3.4.5/",
    "https://0x1ffffffff/",
];

/// Returns a client that only connects to allowed addresses.
fn careful(fake_network: &Arc<FakeNetwork>) -> HttpWebhookClient {
    HttpWebhookClient::new(Config {
        timeout: AMPLE,
        network: Arc::clone(fake_network) as _,
        ..Config::default()
    })
    .unwrap()
}

async fn outcome(client: &HttpWebhookClient, url: &str) -> DeliveryError {
    let problem = post(client, url).await.unwrap_err();
    assert_is_fit_for_integrators(&problem);
    problem
}

#[tokio::test]
async fn no_spelling_of_an_address_leads_to_it() {
    let fake_network = FakeNetwork::cut(&[]).shared();
    let client = careful(&fake_network);
    for host in ADDRESSES {
        for url in [
            format!("https://{host}/hook"),
            format!("HTTPS:\\\\{host}:8443\\hook"),
            format!("https:{host}#@hooks.example.com"),
            format!("  https:////{host}?@hooks.example.com\n"),
        ] {
            assert_eq!(outcome(&client, &url).await, DeliveryError::ForbiddenAddress, "{url:?}");
        }
    }
    assert_eq!((fake_network.connected(), fake_network.looked_up()), (vec![], vec![]));
}

#[tokio::test]
async fn no_name_leads_to_a_forbidden_address() {
    let forbidden = [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "::1",
        "::ffff:127.0.0.1",
        "fd00::1",
        "64:ff9b::7f00:1",
    ];
    for address in forbidden {
        let fake_network = FakeNetwork::cut(&[&[address]]).shared();
        let client = careful(&fake_network);
        for name in NAMES {
            let problem = outcome(&client, &format!("https://{name}/hook")).await;
            assert_eq!(problem, DeliveryError::ForbiddenAddress, "{name} at {address}");
        }
        assert_eq!(
            (fake_network.connected(), fake_network.looked_up().len()),
            (vec![], NAMES.len())
        );
    }
}

#[tokio::test]
async fn a_name_without_addresses_is_unknown() {
    let fake_network = FakeNetwork::cut(&[&[]]).shared();
    let problem = outcome(&careful(&fake_network), "https://nowhere.example/").await;
    assert_eq!(problem, DeliveryError::UnknownHost);
}

#[tokio::test]
async fn urls_that_hide_their_host_or_are_none_are_refused() {
    let fake_network = FakeNetwork::cut(&[&[PUBLIC]]).shared();
    let client = careful(&fake_network);
    for url in TRICKS {
        let problem = outcome(&client, url).await;
        assert!(matches!(problem, DeliveryError::Url(_)), "{url}: {problem:?}");
    }
    assert_eq!((fake_network.connected(), fake_network.looked_up()), (vec![], vec![]));
}

#[tokio::test]
async fn nothing_reaches_this_machine() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let client = HttpWebhookClient::new(Config::default()).unwrap();
    for host in ADDRESSES.iter().chain(&[
        "localhost",
        "LOCALHOST",
        "localhost.",
        "l%6fcalhost",
        "ｌｏｃａｌｈｏｓｔ",
    ]) {
        for url in [
            format!("https://{host}:{port}/"),
            format!("http://{host}:{port}/"),
            format!("https://hooks.example.com@{host}:{port}/"),
        ] {
            let problem = outcome(&client, &url).await;
            let refused = matches!(
                problem,
                DeliveryError::ForbiddenAddress | DeliveryError::Url(_) | DeliveryError::UnknownHost
            );
            assert!(refused, "{url}: {problem:?}");
        }
    }
    // A connection would wait in the listener's queue.
    let nobody = tokio::time::timeout(std::time::Duration::ZERO, listener.accept()).await;
    assert!(nobody.is_err());
}

#[tokio::test]
async fn a_name_that_changes_its_mind_leads_nowhere() {
    let fake_network = FakeNetwork::cut(&[&[PUBLIC], &["127.0.0.1"], &[PUBLIC]]).shared();
    let client = careful(&fake_network);
    let public = vec![(PUBLIC.parse::<IpAddr>().unwrap(), 443).into()];
    let url = "https://rebind.example/";
    assert!(matches!(outcome(&client, url).await, DeliveryError::Connection(_)));
    // Looked up once, checked, and connected to without asking again.
    assert_eq!(
        (fake_network.looked_up().len(), fake_network.connected()),
        (1, public.clone())
    );
    assert_eq!(outcome(&client, url).await, DeliveryError::ForbiddenAddress);
    assert_eq!((fake_network.looked_up().len(), fake_network.connected()), (2, public));
}

#[tokio::test]
async fn of_several_addresses_only_public_ones_are_tried_and_not_too_many() {
    let mixed = ["127.0.0.1", PUBLIC, "10.0.0.1", "2606:4700::1111", "::ffff:8.8.8.8"];
    let fake_network = FakeNetwork::cut(&[&mixed]).shared();
    let problem = outcome(&careful(&fake_network), "https://mixed.example:8443/").await;
    assert_eq!(problem, DeliveryError::Connection("connection refused".into()));
    let tried: Vec<_> = fake_network.connected().iter().map(ToString::to_string).collect();
    assert_eq!(tried, [format!("{PUBLIC}:8443"), "[2606:4700::1111]:8443".into()]);

    let fake_network = FakeNetwork::cut(&[&[PUBLIC; 500]]).shared();
    outcome(&careful(&fake_network), "https://many.example/").await;
    assert_eq!(fake_network.connected().len(), 8);
}

#[tokio::test]
async fn development_may_post_to_anything_but_what_is_no_web_address() {
    let peer = Peer::content().await;
    let fake_network = FakeNetwork::cut(&[&["127.0.0.1"]]).to(peer.address).shared();
    let client = HttpWebhookClient::new(Config {
        timeout: AMPLE,
        allow_insecure: true,
        network: Arc::clone(&fake_network) as _,
        ..Config::default()
    })
    .unwrap();
    for url in [
        "http://127.0.0.1/",
        "http://[::1]:81/",
        "http://receiver.internal:82/",
        "http://2130706433:83",
    ] {
        assert_eq!(status(post(&client, url).await), 200);
    }
    let tried: Vec<_> = fake_network.connected().iter().map(ToString::to_string).collect();
    assert_eq!(tried, ["127.0.0.1:80", "[::1]:81", "127.0.0.1:82", "127.0.0.1:83"]);
    let hosts = peer
        .seen()
        .into_iter()
        .map(|seen| seen.head.lines().nth(1).map(str::to_owned));
    let expected = [
        "Host: 127.0.0.1",
        "Host: [::1]:81",
        "Host: receiver.internal:82",
        "Host: 127.0.0.1:83",
    ];
    assert!(hosts.eq(expected.map(|host| Some(host.to_owned()))));
    for url in ["ftp://127.0.0.1/", "http://user@127.0.0.1/", "file:///etc/passwd"] {
        assert!(matches!(outcome(&client, url).await, DeliveryError::Url(_)), "{url}");
    }
}
