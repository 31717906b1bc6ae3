//! Lists of leads, beyond their domain's contract.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use forecourt_dealership::ReadSession;
use forecourt_kernel::{BusinessId, Cursor, LeadId, PageRequest, Position, Range, SiteId};
use forecourt_leads::{Lead, LeadDraft, LeadFilter, LeadPreview, LeadStatus, Rating};

use crate::crowd::Crowd;
use crate::installation::{Installation, both_engines};
use crate::samples::{Dice, a_lead, at};

both_engines!(
    a_long_list_is_counted_and_paged,
    a_preview_of_another_release_is_not_believed,
    a_total_follows_every_change,
    a_total_is_that_of_each_server,
    a_cursor_passes_each_lead_once_whatever_others_write,
);

async fn every_lead(reader: &mut dyn ReadSession, business: BusinessId) -> Vec<Lead> {
    let request = page(Position::Number(1), PageRequest::MAX_PER_PAGE);
    reader
        .leads(business, &LeadFilter::default(), &request)
        .await
        .unwrap()
        .items
}

fn page(position: Position, per_page: u32) -> PageRequest {
    PageRequest { position, per_page }
}

fn ids(leads: &[Lead]) -> Vec<i64> {
    leads.iter().map(|lead| lead.id.get()).collect()
}

/// Asserts that the stored simple views agree with the leads.
async fn assert_previews(
    reader: &mut dyn ReadSession,
    business: BusinessId,
    filter: &LeadFilter,
    request: &PageRequest,
    expected: &[Lead],
) {
    let previews = reader.lead_previews(business, filter, request).await.unwrap();
    let expected: Vec<_> = expected.iter().map(|lead| LeadPreview::of(lead).unwrap()).collect();
    assert_eq!(previews.items, expected, "{filter:?}");
}

async fn a_preview_of_another_release_is_not_believed(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    for second in 0..3 {
        session.insert_lead(business, a_lead(), at(second)).await.unwrap();
    }
    session.commit().await.unwrap();
    let leads = all(&installation, business, &LeadFilter::default()).await;
    // The stored view of a release without marks.
    let former = "UPDATE leads SET preview = '\"site\":0' WHERE reference = 2";
    installation.execute(former).await;
    let request = page(Position::Number(1), 50);
    let mut reader = installation.read().await;
    assert_previews(reader.as_mut(), business, &LeadFilter::default(), &request, &leads).await;
}

/// References and stamps far apart.
async fn a_long_list_is_counted_and_paged(installation: Installation) {
    let business = installation.business("long").await;
    let mut crowd = Crowd::new(1, 60);
    for batch in 0..30 {
        let leads = crowd.by_ref().take(40);
        let leads: Vec<_> = leads
            .zip(batch * 40..)
            .map(|((draft, _), number)| (draft, at(number * 50_000)))
            .collect();
        let mut session = installation.begin().await;
        session.load_leads(business, leads).await.unwrap();
        session.commit().await.unwrap();
        let apart =
            format!("UPDATE counters SET number = number + 9000 WHERE business_id = {business} AND kind = 'leads'");
        installation.execute(&apart).await;
    }
    // Some change, some go.
    let everything = all(&installation, business, &LeadFilter::default()).await;
    let mut session = installation.begin().await;
    for (number, mut lead) in everything.into_iter().enumerate() {
        match number % 10 {
            3 => session.delete_lead(business, lead.id).await.unwrap(),
            7 => {
                lead.content.status = LeadStatus::NewMessage;
                lead.content.rating = Rating::new(5);
                lead.updated = lead.updated.plus_seconds(5_000_000);
                session.save_lead(business, &lead).await.unwrap();
            }
            _ => {}
        }
    }
    session.commit().await.unwrap();

    let stamps = [None, Some(at(7_000_001)), Some(at(50_000_000))];
    let mut filters = vec![
        LeadFilter::default(),
        LeadFilter {
            rating_min: Rating::new(2),
            ..LeadFilter::default()
        },
    ];
    for status in [None, Some(LeadStatus::Closed), Some(LeadStatus::NewMessage)] {
        for (from, to) in [(1, 0), (0, 2), (1, 2)] {
            let range = Some(Range {
                from: stamps[from],
                to: stamps[to],
            });
            let all = LeadFilter {
                status,
                ..LeadFilter::default()
            };
            filters.extend([
                LeadFilter {
                    created: range,
                    ..all.clone()
                },
                LeadFilter {
                    updated: range,
                    ..all.clone()
                },
                LeadFilter {
                    site: Some(SiteId::new(0)),
                    created: range,
                    ..all
                },
            ]);
        }
    }
    let mut reader = installation.read().await;
    for filter in filters {
        let expected = all(&installation, business, &filter).await;
        for number in [1, 9, 14, 20, 30] {
            let request = page(Position::Number(number), 40);
            let part = reader.leads(business, &filter, &request).await.unwrap();
            assert_eq!(part.total, i64::try_from(expected.len()).ok(), "{filter:?}");
            let before = usize::try_from(number - 1).unwrap() * 40;
            let end = (before + 40).min(expected.len());
            let shown = expected.get(before..end).unwrap_or_default();
            assert_eq!(ids(&part.items), ids(shown), "page {number} of {filter:?}");
        }
    }
}

/// Returns all leads that pass, by cursor.
async fn all(installation: &Installation, business: BusinessId, filter: &LeadFilter) -> Vec<Lead> {
    let mut reader = installation.read().await;
    let mut passed = Vec::new();
    let mut after = Some(Cursor::at([i64::MAX]));
    while let Some(cursor) = after {
        let request = page(Position::After(cursor), PageRequest::MAX_PER_PAGE);
        let part = reader.leads(business, filter, &request).await.unwrap();
        passed.extend(part.items);
        after = part.next;
    }
    passed
}

async fn total(installation: &Installation, business: BusinessId, filter: &LeadFilter) -> i64 {
    let mut reader = installation.read().await;
    let list = reader.leads(business, filter, &PageRequest::first()).await.unwrap();
    let total = list.total.unwrap();
    assert!(total > 50 || list.items.len() == usize::try_from(total).unwrap());
    total
}

fn replied() -> LeadFilter {
    LeadFilter {
        status: Some(LeadStatus::Replied),
        ..LeadFilter::default()
    }
}

/// Returns the number of a business's leads, and of those that are replied to.
async fn totals(installation: &Installation, business: BusinessId) -> (i64, i64) {
    (
        total(installation, business, &LeadFilter::default()).await,
        total(installation, business, &replied()).await,
    )
}

async fn a_total_follows_every_change(installation: Installation) {
    let business = installation.business("acme").await;
    assert_eq!(totals(&installation, business).await, (0, 0));
    let mut lead = installation.lead(business, a_lead(), 0).await;
    assert_eq!(totals(&installation, business).await, (1, 0));

    // No event reports it.
    lead.content.status = LeadStatus::Replied;
    installation.save(business, &lead).await;
    assert_eq!(totals(&installation, business).await, (1, 1));

    let mut session = installation.begin().await;
    let drafts = (0..9).map(|_| (lead.content.clone(), at(0))).collect();
    session.load_leads(business, drafts).await.unwrap();
    let within = session
        .leads(business, &replied(), &PageRequest::first())
        .await
        .unwrap();
    assert_eq!(within.total, Some(10), "a session sees what it wrote");
    assert_eq!(totals(&installation, business).await, (1, 1));
    session.commit().await.unwrap();
    assert_eq!(totals(&installation, business).await, (10, 10));

    // A count in a session that gave up is not found by another one with as many writes.
    for status in [LeadStatus::Replied, LeadStatus::Junk] {
        let mut session = installation.begin().await;
        let draft = LeadDraft { status, ..a_lead() };
        session.insert_lead(business, draft, at(0)).await.unwrap();
        let within = session
            .leads(business, &replied(), &PageRequest::first())
            .await
            .unwrap();
        assert_eq!(within.total, Some(if status == LeadStatus::Replied { 11 } else { 10 }));
        if status == LeadStatus::Junk {
            session.commit().await.unwrap();
        }
    }
    assert_eq!(totals(&installation, business).await, (11, 10));

    let mut session = installation.begin().await;
    session.delete_lead(business, lead.id).await.unwrap();
    session.delete_lead(business, lead.id).await.unwrap();
    session.commit().await.unwrap();
    assert_eq!(totals(&installation, business).await, (10, 9));
}

async fn a_total_is_that_of_each_server(installation: Installation) {
    let other_server = installation.another_server().await;
    let (business, other) = (
        installation.business("acme").await,
        installation.business("other").await,
    );
    for round in 1..=3 {
        let writer = if round % 2 == 0 { &installation } else { &other_server };
        let draft = LeadDraft {
            status: LeadStatus::Replied,
            ..a_lead()
        };
        writer.lead(business, draft, 0).await;
        for server in [&installation, &other_server] {
            assert_eq!(totals(server, business).await, (round, round));
            assert_eq!(totals(server, other).await, (0, 0));
        }
    }
}

async fn a_cursor_passes_each_lead_once_whatever_others_write(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    let drafts = (0..300).map(|_| (a_lead(), at(0))).collect();
    session.load_leads(business, drafts).await.unwrap();
    session.commit().await.unwrap();
    let before = ids(&every_lead(installation.read().await.as_mut(), business).await);

    let stopped = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn({
        let (database, stopped, before) = (installation.database.clone(), Arc::clone(&stopped), before.clone());
        async move {
            let mut dice = Dice::new(4);
            let mut deleted = BTreeSet::new();
            while !stopped.load(Ordering::Relaxed) {
                let mut session = database.begin().await.unwrap();
                session.insert_lead(business, a_lead(), at(0)).await.unwrap();
                let id = *dice.pick(&before);
                session.delete_lead(business, LeadId::new(id)).await.unwrap();
                deleted.insert(id);
                session.commit().await.unwrap();
            }
            deleted
        }
    });
    let mut reader = installation.read().await;
    let mut passed = Vec::new();
    let mut after = Some(Cursor::at([before[0] + 1]));
    while let Some(cursor) = after {
        let request = page(Position::After(cursor), 7);
        let part = reader.leads(business, &LeadFilter::default(), &request).await.unwrap();
        passed.extend(ids(&part.items));
        after = part.next;
        tokio::task::yield_now().await;
    }
    stopped.store(true, Ordering::Relaxed);
    let deleted = writer.await.unwrap();
    assert!(passed.is_sorted_by(|one, next| one > next), "none twice, newest first");
    let passed: BTreeSet<_> = passed.into_iter().collect();
    assert!(passed.iter().all(|id| before.contains(id)));
    let missed: Vec<_> = before.iter().filter(|id| !passed.contains(id)).collect();
    assert!(missed.iter().all(|id| deleted.contains(id)), "{missed:?}");
}
