//! The results of attempts.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use forecourt_accounts::Business;
use forecourt_kernel::{DeliveryId, EventName, Mail, Moment};
use forecourt_webhooks::{
    Answer, Attempt, AttemptRecord, DeliveryError, DeliveryStatus, DueDelivery, Health, LastStatus, MockDeliveryQueue,
    Next, Policy, RetryAfter, Schedule, Topic, record_attempts,
};

use crate::support::{KEY, NOW};

fn due(topic: Topic, attempts: u32) -> DueDelivery {
    DueDelivery {
        id: DeliveryId::new(1),
        topic,
        event_id: "evt_1".into(),
        record: Some(5),
        data: Some("{}".into()),
        happened: NOW,
        attempts,
        first_attempt: (attempts > 0).then(|| NOW.into()),
        lease: Moment::from(NOW).plus_millis(30_000),
    }
}

const LEAD: Topic = Topic::Event(EventName::LeadCreated);

fn answer(status: u16) -> Attempt {
    Attempt {
        took_ms: 12,
        outcome: Ok(Answer {
            status,
            body: "hello".into(),
            retry_after: None,
        }),
    }
}

fn validate(due: &DueDelivery, attempt: Attempt) -> AttemptRecord {
    let began = Moment::from(NOW);
    due.validate(
        KEY,
        attempt,
        began,
        began.plus_millis(12),
        &Schedule::new(vec![60]),
        0.0,
    )
}

#[test]
fn any_2xx_is_delivered() {
    for status in [200, 201, 204, 299] {
        let record = validate(&due(LEAD, 0), answer(status));
        assert_eq!(
            (record.next, record.attempts, record.response_code),
            (Next::Delivered, 1, Some(status))
        );
        assert_eq!((record.response_body.as_deref(), record.error), (Some("hello"), None));
    }
}

#[test]
fn retry_after_puts_off_the_next_attempt() {
    let asked = |status, retry_after| {
        let mut attempt = answer(status);
        if let Ok(answer) = &mut attempt.outcome {
            answer.retry_after = Some(retry_after);
        }
        let schedule = Schedule::new(vec![60, 3600]);
        let began = Moment::from(NOW);
        due(LEAD, 0).validate(KEY, attempt, began, began, &schedule, 0.0).next
    };
    let after = |seconds: i64| Next::Retry(Moment::from(NOW).plus_millis(seconds * 1000));
    let delay = |seconds| RetryAfter::Delay(Duration::from_secs(seconds));
    assert_eq!(asked(429, delay(120)), after(120));
    assert_eq!(asked(503, delay(120)), after(120));
    assert_eq!(asked(503, delay(5)), after(60), "the schedule is later");
    assert_eq!(asked(500, delay(120)), after(60), "only 429 and 503 ask for a pause");
    assert_eq!(
        asked(429, delay(u64::MAX)),
        after(3600),
        "at most to the schedule's end"
    );
    let date = RetryAfter::At(Moment::from(NOW).plus_millis(90_000));
    assert_eq!(asked(503, date), after(90));
}

#[test]
fn anything_else_is_tried_again_until_the_schedule_ends() {
    let unanswered = Attempt {
        took_ms: 10_000,
        outcome: Err(DeliveryError::TimedOut),
    };
    for attempt in [answer(199), answer(301), answer(404), answer(500), unanswered] {
        let first = validate(&due(LEAD, 0), attempt.clone());
        assert_eq!(first.next, Next::Retry(Moment::from(NOW).plus_millis(60_000)));
        assert_eq!(first.next.status(), DeliveryStatus::Pending);
        let last = validate(&due(LEAD, 1), attempt);
        assert_eq!(
            (last.next, last.attempts, last.first_attempt),
            (Next::Failed, 2, NOW.into())
        );
    }
}

#[test]
fn a_ping_is_tried_once() {
    let record = validate(&due(Topic::Ping, 0), answer(500));
    assert!(record.ping && record.next == Next::Failed);
}

#[test]
fn why_there_was_no_answer_is_reported() {
    let refused = Attempt {
        took_ms: 0,
        outcome: Err(DeliveryError::ForbiddenAddress),
    };
    let record = validate(&due(LEAD, 0), refused);
    assert_eq!((record.response_code, record.response_body), (None, None));
    assert_eq!(record.error.as_deref(), Some("the host's address is not a public one"));
}

fn health() -> Health {
    Health {
        endpoint: KEY,
        url: "https://example.com/hook".into(),
        active: true,
        failure_count: 0,
        last_status: None,
        last_delivery_at: None,
    }
}

fn owner() -> Business {
    Business {
        email: "office@acme.example".into(),
        ..Business::new(KEY.business, "acme", "Acme Cars")
    }
}

/// Returns the subscription's health after attempts with these ends, and the mails that were sent.
async fn after(before: Health, ends: &[Next], ping: bool) -> (Option<Health>, Vec<Mail>) {
    after_of(owner(), before, ends, ping).await
}

async fn after_of(owner: Business, before: Health, ends: &[Next], ping: bool) -> (Option<Health>, Vec<Mail>) {
    let records: Vec<AttemptRecord> = ends
        .iter()
        .map(|next| AttemptRecord {
            next: *next,
            ping,
            ..validate(&due(LEAD, 0), answer(500))
        })
        .collect();
    let saved: Arc<Mutex<Option<Health>>> = Arc::default();
    let mails: Arc<Mutex<Vec<Mail>>> = Arc::default();
    let mut queue = MockDeliveryQueue::new();
    queue.expect_lock_health().returning(move |_| Ok(Some(before.clone())));
    queue.expect_owner().returning(move |id| {
        assert_eq!(id, KEY.business);
        Ok(Some(owner.clone()))
    });
    queue.expect_save_health().returning({
        let saved = Arc::clone(&saved);
        move |health, _| {
            *saved.lock().unwrap() = Some(health.clone());
            Ok(())
        }
    });
    queue.expect_queue_mail().returning({
        let mails = Arc::clone(&mails);
        move |business, mail, _| {
            assert_eq!(business, KEY.business);
            mails.lock().unwrap().push(mail);
            Ok(())
        }
    });
    let count = records.len();
    queue
        .expect_save_attempts()
        .withf(move |records| records.len() == count)
        .once()
        .returning(|_| Ok(()));
    let policy = Policy {
        disable_after: 3,
        ..Policy::default()
    };
    record_attempts(&mut queue, &policy, &records, NOW).await.unwrap();
    let health = saved.lock().unwrap().clone();
    let mails = mails.lock().unwrap().clone();
    (health, mails)
}

const RETRY: Next = Next::Retry(Moment::from_epoch_millis(0));

#[tokio::test]
async fn any_success_resets_the_count() {
    let failing = Health {
        failure_count: 2,
        ..health()
    };
    let (saved, _) = after(failing, &[Next::Delivered], false).await;
    let saved = saved.unwrap();
    assert_eq!(
        (saved.failure_count, saved.last_status),
        (0, Some(LastStatus::Delivered))
    );
    assert_eq!(saved.last_delivery_at, Some(NOW));
}

#[tokio::test]
async fn only_what_failed_for_good_counts() {
    let (saved, _) = after(health(), &[RETRY, RETRY, Next::Failed, RETRY], false).await;
    let saved = saved.unwrap();
    assert_eq!(
        (saved.failure_count, saved.last_status, saved.active),
        (1, Some(LastStatus::Failed), true)
    );
}

#[tokio::test]
async fn too_many_failures_disable_and_are_mailed_once() {
    let (saved, mails) = after(health(), &[Next::Failed; 5], false).await;
    assert!(!saved.unwrap().active);
    let text = "5 deliveries in a row to a webhook of Acme Cars could not be made, so it was disabled.\n\n\
                Webhook: 5\nURL: https://example.com/hook\n\n\
                It receives no events until it is enabled again:\n\n\
                PATCH /2.0/webhooks/5   {\"status\": \"active\"}\n\n\
                What was queued is then delivered. GET /2.0/webhooks/5/deliveries tells why deliveries failed.\n";
    let expected = Mail::new("office@acme.example", "Webhook 5 was disabled", text);
    assert_eq!(mails, [expected]);

    let disabled = Health {
        active: false,
        failure_count: 5,
        ..health()
    };
    let (saved, mails) = after(disabled, &[Next::Failed], false).await;
    assert!(!saved.unwrap().active && mails.is_empty(), "it was reported before");

    let unreachable = Business {
        email: String::new(),
        ..owner()
    };
    let (_, mails) = after_of(unreachable, health(), &[Next::Failed; 3], false).await;
    assert!(mails.is_empty());
}

#[tokio::test]
async fn a_success_in_between_starts_the_count_again() {
    let ends = [Next::Failed, Next::Failed, Next::Delivered, Next::Failed, Next::Failed];
    let (saved, _) = after(health(), &ends, false).await;
    assert!(saved.unwrap().active);
}

#[tokio::test]
async fn pings_are_reported_and_not_counted() {
    let before = Health {
        failure_count: 2,
        ..health()
    };
    let (saved, mails) = after(before.clone(), &[Next::Failed; 5], true).await;
    let saved = saved.unwrap();
    assert_eq!(
        (saved.failure_count, saved.last_status, saved.active),
        (2, Some(LastStatus::Failed), true)
    );
    assert!(mails.is_empty());

    let saved = after(before, &[Next::Delivered], true).await.0.unwrap();
    assert_eq!(
        (saved.failure_count, saved.last_status),
        (2, Some(LastStatus::Delivered))
    );
    assert_eq!(saved.last_delivery_at, Some(NOW));
}
