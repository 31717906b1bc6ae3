//! Tests of counters that share a Redis.

use forecourt_accounts::RateCounters;
use forecourt_redis::RedisRateCounters;
use futures_util::future::join_all;
use redis::AsyncTypedCommands;

use crate::{at, limits, new_business, parts, redis_url};

#[tokio::test]
async fn two_servers_see_what_each_other_counts() {
    let (one, other) = two_servers();
    let business = new_business();
    for (server, expected) in [
        (&one, (true, 3, 2, 60)),
        (&other, (true, 3, 1, 60)),
        (&one, (true, 3, 0, 60)),
        (&other, (false, 3, 0, 60)),
        (&one, (false, 3, 0, 60)),
    ] {
        let counted = server.count(business, limits(3, 1000), at(0)).await.unwrap();
        assert_eq!(parts(counted), expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_at_once_exactly_as_many_pass_as_the_limit_says() {
    let (one, other) = two_servers();
    let business = new_business();
    let requests = (0..50).map(|number| {
        let server = if number % 2 == 0 { &one } else { &other };
        server.count(business, limits(20, 1000), at(0))
    });
    let statuses = join_all(requests).await;
    let mut left: Vec<_> = statuses
        .into_iter()
        .map(|status| parts(status.unwrap()))
        .filter_map(|(allowed, _, remaining, _)| allowed.then_some(remaining))
        .collect();
    left.sort_unstable();
    assert_eq!(left, (0..20).collect::<Vec<_>>(), "each of those let through took one");
}

#[tokio::test]
async fn what_was_counted_goes_with_its_window() {
    let business = new_business();
    let (server, _) = two_servers();
    for _ in 0..2 {
        server.count(business, limits(3, 5), at(0)).await.unwrap();
    }
    let client = redis::Client::open(redis_url()).unwrap();
    let mut redis = client.get_multiplexed_async_connection().await.unwrap();
    for (window, seconds) in [("minute", 60), ("day", 86_400)] {
        let key = format!(
            "forecourt:rate:{{{business}}}:{window}:{}",
            at(0).epoch_seconds() / seconds
        );
        assert_eq!(redis.get(&key).await.unwrap().as_deref(), Some("2"), "{key}");
        let redis::IntegerReplyOrNoOp::IntegerReply(rest) = redis.ttl(&key).await.unwrap() else {
            panic!("{key} stays for ever");
        };
        let seconds = usize::try_from(seconds).unwrap();
        assert!((seconds - 30..=seconds).contains(&rest), "{key} stays for {rest} s");
    }
}

fn two_servers() -> (RedisRateCounters, RedisRateCounters) {
    let server = || RedisRateCounters::connect(&redis_url()).unwrap();
    (server(), server())
}
