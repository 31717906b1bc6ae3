//! The contract of every implementation of the port.

use forecourt_accounts::{LocalRateCounters, RateCounters};
use forecourt_redis::RedisRateCounters;

use crate::{at, limits, new_business, parts, redis_url};

#[tokio::test]
async fn counters_of_one_process_keep_the_contract() {
    contract(&LocalRateCounters::default()).await;
}

#[tokio::test]
async fn counters_in_redis_keep_the_contract() {
    contract(&RedisRateCounters::connect(&redis_url()).unwrap()).await;
}

async fn contract(counters: &dyn RateCounters) {
    the_window_with_the_least_left_is_shown(counters).await;
    a_refused_request_counts_in_neither_window(counters).await;
    a_window_that_is_off_neither_refuses_nor_shows(counters).await;
    businesses_are_apart(counters).await;
    every_sequence_is_counted_as_in_one_process(counters).await;
}

async fn the_window_with_the_least_left_is_shown(counters: &dyn RateCounters) {
    let business = new_business();
    let expected = [
        (0, (true, 3, 2, 60)),
        (1, (true, 3, 1, 60)),
        (59, (true, 3, 0, 60)),
        (59, (false, 3, 0, 60)),
        (60, (true, 5, 1, 86_400)),
        (61, (true, 5, 0, 86_400)),
        (62, (false, 5, 0, 86_400)),
        (86_399, (false, 5, 0, 86_400)),
        (86_400, (true, 3, 2, 86_460)),
    ];
    for (seconds, status) in expected {
        let counted = counters.count(business, limits(3, 5), at(seconds)).await.unwrap();
        assert_eq!(parts(counted), status, "after {seconds} s");
    }
}

async fn a_refused_request_counts_in_neither_window(counters: &dyn RateCounters) {
    let business = new_business();
    for allowed in [true, false, false, false] {
        let counted = counters.count(business, limits(1, 3), at(0)).await.unwrap();
        assert_eq!(parts(counted).0, allowed);
    }
    let counted = counters.count(business, limits(10, 3), at(1)).await.unwrap();
    assert_eq!(
        parts(counted),
        (true, 3, 1, 86_400),
        "the minute refused, and the day did not count"
    );
    for allowed in [true, false, false] {
        let counted = counters.count(business, limits(10, 3), at(60)).await.unwrap();
        assert_eq!(parts(counted).0, allowed);
    }
    let counted = counters.count(business, limits(10, 100), at(61)).await.unwrap();
    assert_eq!(
        parts(counted),
        (true, 10, 8, 120),
        "the day refused, and the minute did not count"
    );
}

async fn a_window_that_is_off_neither_refuses_nor_shows(counters: &dyn RateCounters) {
    let business = new_business();
    for remaining in [1, 0] {
        let counted = counters.count(business, limits(None, 2), at(0)).await.unwrap();
        assert_eq!(parts(counted), (true, 2, remaining, 86_400));
    }
    let counted = counters.count(business, limits(5, None), at(0)).await.unwrap();
    assert_eq!(parts(counted), (true, 5, 2, 60));
    assert_eq!(counters.count(business, limits(None, None), at(0)).await.unwrap(), None);
}

async fn businesses_are_apart(counters: &dyn RateCounters) {
    let (ours, theirs) = (new_business(), new_business());
    for (business, allowed) in [(ours, true), (ours, false), (theirs, true)] {
        let counted = counters.count(business, limits(1, None), at(0)).await.unwrap();
        assert_eq!(parts(counted).0, allowed);
    }
}

async fn every_sequence_is_counted_as_in_one_process(counters: &dyn RateCounters) {
    let choices = [None, Some(0), Some(1), Some(3)];
    let moments = [0, 0, 1, 59, 60, 60, 86_399, 86_400, 86_401];
    for per_minute in choices {
        for per_day in choices {
            let (business, limits) = (new_business(), limits(per_minute, per_day));
            let model = LocalRateCounters::default();
            for seconds in moments {
                let expected = model.count(business, limits, at(seconds)).await.unwrap();
                let counted = counters.count(business, limits, at(seconds)).await.unwrap();
                assert_eq!(counted, expected, "{limits:?} after {seconds} s");
            }
        }
    }
}
