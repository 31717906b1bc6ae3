//! Outages of Redis.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use forecourt_accounts::RateCounters;
use forecourt_kernel::BusinessId;
use forecourt_redis::RedisRateCounters;
use redis::{Client, ConnectionAddr, IntoConnectionInfo};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::sleep,
};
use tracing::{Event, Level, Metadata, Subscriber, span};

use crate::{at, limits, new_business, parts, redis_url, unused};

/// Returns the host and the port of the Redis.
fn redis_address() -> String {
    let info = redis_url().into_connection_info().unwrap();
    let ConnectionAddr::Tcp(host, port) = info.addr() else {
        panic!("the tests need a Redis at a TCP port, without TLS");
    };
    format!("{host}:{port}")
}

/// A connection to Redis that can be interrupted.
struct Way {
    address: SocketAddr,
    redis: String,
    /// The listener and the connections; empty while the way is interrupted.
    open: JoinSet<()>,
}

impl Way {
    async fn open() -> Self {
        let mut way = Self {
            address: "127.0.0.1:0".parse().unwrap(),
            redis: redis_address(),
            open: JoinSet::new(),
        };
        way.mend().await;
        way
    }

    async fn mend(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.address = listener.local_addr().unwrap();
        let redis = self.redis.clone();
        self.open.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut near, _)) = listener.accept().await {
                let redis = redis.clone();
                connections.spawn(async move {
                    let mut far = TcpStream::connect(redis).await.unwrap();
                    // Either end may disconnect at any time.
                    let _ = copy_bidirectional(&mut near, &mut far).await;
                });
            }
        });
    }

    async fn cut(&mut self) {
        self.open.shutdown().await;
    }

    fn counters(&self) -> RedisRateCounters {
        RedisRateCounters::connect(&format!("redis://{}", self.address)).unwrap()
    }
}

/// Makes a request and returns how many of its 100 per minute the business has left.
async fn left(counters: &RedisRateCounters, business: BusinessId) -> u32 {
    let status = counters.count(business, limits(100, None), at(0)).await.unwrap();
    let (allowed, _, left, _) = parts(status);
    assert!(allowed);
    left
}

/// Makes requests until one is counted in Redis again, together with that of another server.
async fn assert_comes_back(counters: &RedisRateCounters) {
    let direct = RedisRateCounters::connect(&redis_url()).unwrap();
    let begun = Instant::now();
    loop {
        let business = new_business();
        assert_eq!(left(&direct, business).await, 99);
        if left(counters, business).await == 98 {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "Redis is not used again");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn while_redis_is_away_a_server_counts_on_its_own_and_says_so_once() {
    let log = Log::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    let mut way = Way::open().await;
    let counters = way.counters();
    let business = new_business();
    assert_eq!(left(&counters, business).await, 99);
    assert!(log.levels().is_empty());

    way.cut().await;
    for expected in [99, 98, 97] {
        assert_eq!(
            left(&counters, business).await,
            expected,
            "on its own, from the beginning"
        );
    }
    // This is long enough for Redis to be tried again without success.
    sleep(Duration::from_millis(1200)).await;
    assert_eq!(left(&counters, business).await, 96);
    assert_eq!(log.levels(), [Level::WARN]);

    way.mend().await;
    assert_comes_back(&counters).await;
    assert_eq!(left(&counters, business).await, 98, "Redis has counted one");
    assert_eq!(log.levels(), [Level::WARN, Level::INFO]);
}

#[tokio::test]
async fn a_server_starts_while_redis_is_away() {
    let mut way = Way::open().await;
    way.cut().await;
    let counters = way.counters();
    assert_eq!(left(&counters, new_business()).await, 99);
    way.mend().await;
    assert_comes_back(&counters).await;
}

#[tokio::test]
async fn a_connection_that_was_lost_is_replaced_without_ado() {
    let log = Log::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    let mut way = Way::open().await;
    let counters = way.counters();
    let business = new_business();
    for expected in [99, 98, 97] {
        assert_eq!(left(&counters, business).await, expected);
        way.cut().await;
        way.mend().await;
    }
    assert!(log.levels().is_empty());
}

#[tokio::test]
async fn a_redis_that_hangs_holds_up_one_request_a_second_at_most() {
    // Connections to it are made, and get no answer.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}", silent.local_addr().unwrap());
    let counters = RedisRateCounters::connect(&url).unwrap();
    let business = new_business();
    assert_eq!(left(&counters, business).await, 99);
    let begun = Instant::now();
    for expected in (49..99).rev() {
        assert_eq!(left(&counters, business).await, expected);
    }
    // Each that waited for Redis would have taken a second.
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_redis_that_refused_the_login_is_tried_again() {
    let user = format!("forecourt-test-{}", unused());
    let url = format!("redis://{user}:secret@{}", redis_address());
    let counters = RedisRateCounters::connect(&url).unwrap();
    assert_eq!(left(&counters, new_business()).await, 99);

    let admin = Client::open(redis_url()).unwrap();
    let mut admin = admin.get_multiplexed_async_connection().await.unwrap();
    let mut add_user = redis::cmd("ACL");
    add_user.arg(&["SETUSER", &user, "on", ">secret", "~*", "+@all"]);
    add_user.exec_async(&mut admin).await.unwrap();
    assert_comes_back(&counters).await;
    let mut remove_user = redis::cmd("ACL");
    remove_user.arg(&["DELUSER", &user]);
    remove_user.exec_async(&mut admin).await.unwrap();
}

#[tokio::test]
async fn tls_with_a_redis_that_has_none_is_an_outage() {
    let url = redis_url().replacen("redis://", "rediss://", 1);
    let counters = RedisRateCounters::connect(&url).unwrap();
    assert_eq!(left(&counters, new_business()).await, 99);
}

#[tokio::test]
async fn a_url_that_is_none_is_refused_without_being_repeated() {
    for url in [
        "",
        "localhost",
        "http://:secret@localhost",
        "redis://:secret@localhost/x",
        "redis://:secret@",
    ] {
        let refusal = RedisRateCounters::connect(url).err().unwrap();
        assert!(!format!("{refusal} {refusal:?}").contains("secret"), "{url}");
    }
}

/// The levels of the crate's log lines.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Level>>>);

impl Log {
    fn levels(&self) -> Vec<Level> {
        self.0.lock().unwrap().clone()
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("forecourt_redis")
    }

    fn event(&self, event: &Event<'_>) {
        self.0.lock().unwrap().push(*event.metadata().level());
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
