//! The identity of a database, and its epoch.

use forecourt_kernel::{Clock as _, Epoch, StoreError};
use forecourt_storage::DatabaseFacts;
use futures_util::future::join_all;

use crate::installation::{Installation, SequentialRandom, both_engines};

both_engines!(
    an_installation_is_named_once,
    each_restore_begins_a_later_epoch,
    a_blocked_process_writes_nothing,
);

async fn identified(server: &Installation) -> DatabaseFacts {
    server
        .storage
        .identify(&*server.clock, &SequentialRandom)
        .await
        .unwrap()
}

async fn an_installation_is_named_once(one: Installation) {
    let other = one.another_server().await;
    // Whichever of them is first.
    let both = join_all([identified(&one), identified(&other)]).await;
    assert_eq!(both[0], both[1]);
    let facts = identified(&other).await;
    assert_eq!(facts, both[0]);
    assert_eq!(facts.installation.len(), 36, "{facts:?}");
    assert_eq!((facts.epoch, one.storage.epoch()), (Epoch::FIRST, Epoch::FIRST));
    assert_eq!(identified(&one.restarted().await).await, facts);
}

async fn each_restore_begins_a_later_epoch(one: Installation) {
    let other = one.another_server().await;
    identified(&one).await;
    let now = one.clock.now().epoch_seconds();
    let raised = one.storage.raise_epoch(&*one.clock).await.unwrap();
    assert_eq!(raised.number(), now);
    assert_eq!((one.storage.epoch(), one.database.epoch()), (raised, raised));
    // Within the same second, by another server.
    let again = other.storage.raise_epoch(&*other.clock).await.unwrap();
    assert_eq!(again.number(), now + 1);
    assert_eq!(identified(&one).await.epoch, again);
    assert_eq!(one.storage.for_worker().epoch(), again);
    assert_eq!(
        one.restarted().await.storage.epoch(),
        Epoch::FIRST,
        "it is not known yet"
    );
}

async fn a_blocked_process_writes_nothing(one: Installation) {
    let reason = |outcome| match outcome {
        Err(StoreError::Unavailable(reason)) => reason.to_string(),
        other => panic!("{:?}", other.map(drop)),
    };
    assert!(one.storage.block_writes(Some("too late".to_owned())));
    assert_eq!(reason(one.database.begin().await.map(drop)), "too late");
    assert_eq!(reason(one.database.ping().await), "too late");
    drop(one.read().await);
    assert!(one.storage.block_writes(None));
    one.begin().await.commit().await.unwrap();
    one.database.ping().await.unwrap();
}

mod postgres_alone {
    use super::*;
    use crate::installation::on_postgres;

    #[tokio::test(flavor = "multi_thread")]
    async fn another_timeline_begins_one_epoch_for_all_servers() {
        on_postgres(async |one| {
            let other = one.another_server().await;
            let facts = identified(&one).await;
            assert_eq!(facts.timeline.map(|digits| digits.len()), Some(8));
            // The timeline that a promoted standby finds.
            one.execute("UPDATE forecourt_meta SET value = '00000000' WHERE key = 'timeline'")
                .await;
            let both = join_all([identified(&one), identified(&other)]).await;
            assert_eq!(both[0], both[1]);
            assert_eq!(both[0].epoch, Epoch::new(one.clock.now().epoch_seconds()));
            assert_eq!(
                (one.storage.epoch(), other.storage.epoch()),
                (both[0].epoch, both[0].epoch)
            );
            assert_eq!(identified(&one).await, both[0]);
        })
        .await;
    }
}
