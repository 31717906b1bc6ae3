//! One lead at a time; lists of them are in `lists`.

use std::time::Duration;

use forecourt_kernel::{BusinessId, LeadId, PageRequest, Version};
use forecourt_leads::{DueReopening, Lead, LeadData, LeadDraft, LeadFilter, LeadStatus};
use futures_util::future::join_all;
use tokio::time::timeout;

use crate::installation::{Installation, both_engines};
use crate::samples::{Dice, a_full_lead, a_lead, at, data};

both_engines!(
    every_field_of_a_lead_reads_back,
    a_lead_is_changed_as_a_whole,
    a_lead_is_nobody_elses,
    references_have_no_gaps_whoever_writes_and_gives_up,
    stamps_never_run_against_ids,
    loaded_leads_continue_what_is_there,
    whoever_locks_a_lead_has_it_alone,
    a_deleted_lead_takes_its_vehicles_along,
    leads_reopen_when_their_day_has_begun,
);

impl Installation {
    /// A lead of that content, stored at that second.
    pub(crate) async fn lead(&self, business: BusinessId, draft: LeadDraft, second: i64) -> Lead {
        let mut session = self.begin().await;
        let lead = session.insert_lead(business, draft, at(second)).await.unwrap();
        session.commit().await.unwrap();
        lead
    }

    pub(crate) async fn save(&self, business: BusinessId, lead: &Lead) {
        let mut session = self.begin().await;
        session.save_lead(business, lead).await.unwrap();
        session.commit().await.unwrap();
    }

    pub(crate) async fn delete(&self, business: BusinessId, lead: LeadId) {
        let mut session = self.begin().await;
        session.delete_lead(business, lead).await.unwrap();
        session.commit().await.unwrap();
    }

    pub(crate) async fn stored(&self, business: BusinessId, lead: LeadId) -> Option<Lead> {
        self.read().await.lead(business, lead).await.unwrap()
    }
}

fn drafts() -> [LeadDraft; 4] {
    let padded = LeadDraft {
        name: "  İSTANBUL ǅ ß ﬁ  ".to_owned(),
        email: "x".repeat(3000),
        ..a_lead()
    };
    let largest = LeadDraft {
        data: data(&format!(r#"{{"a":"{}"}}"#, "é".repeat(LeadData::MAX_BYTES / 2 - 8))),
        name: "n".repeat(3000),
        ..a_full_lead()
    };
    [a_lead(), a_full_lead(), padded, largest]
}

async fn every_field_of_a_lead_reads_back(installation: Installation) {
    let business = installation.business("acme").await;
    for (number, draft) in (1..).zip(drafts()) {
        let mut session = installation.begin().await;
        let lead = session.insert_lead(business, draft.clone(), at(number)).await.unwrap();
        let expected = Lead {
            id: lead.id,
            reference: number,
            created: at(number),
            updated: at(number),
            version: Version::FIRST,
            content: draft,
        };
        assert_eq!(lead, expected);
        assert_eq!(
            session.lock_lead(business, lead.id).await.unwrap().as_ref(),
            Some(&lead)
        );
        session.commit().await.unwrap();
        assert_eq!(installation.stored(business, lead.id).await.as_ref(), Some(&lead));
        let list = installation
            .read()
            .await
            .leads(business, &LeadFilter::default(), &PageRequest::first())
            .await
            .unwrap();
        assert_eq!(list.items.first(), Some(&lead));
    }
}

async fn a_lead_is_changed_as_a_whole(installation: Installation) {
    let business = installation.business("acme").await;
    let bystander = installation.lead(business, a_lead(), 0).await;
    let lead = installation.lead(business, a_lead(), 0).await;
    for (second, content) in (1..).zip(drafts().into_iter().rev()) {
        let changed = Lead {
            content,
            updated: at(second),
            version: Version::new(second + 1),
            ..lead.clone()
        };
        installation.save(business, &changed).await;
        assert_eq!(installation.stored(business, lead.id).await, Some(changed));
    }
    assert_eq!(installation.stored(business, bystander.id).await, Some(bystander));
    let versions = installation.texts("SELECT '' || version FROM leads ORDER BY id").await;
    assert_eq!(versions, ["1", "5"]);
}

async fn a_lead_is_nobody_elses(installation: Installation) {
    let (ours, theirs) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    let lead = installation.lead(ours, a_lead(), 0).await;

    let mut session = installation.begin().await;
    assert_eq!(session.lead(theirs, lead.id).await.unwrap(), None);
    assert_eq!(session.lock_lead(theirs, lead.id).await.unwrap(), None);
    let changed = Lead {
        content: a_full_lead(),
        ..lead.clone()
    };
    session.save_lead(theirs, &changed).await.unwrap();
    session.delete_lead(theirs, lead.id).await.unwrap();
    session.commit().await.unwrap();

    let mut reader = installation.read().await;
    assert_eq!(reader.lead(theirs, lead.id).await.unwrap(), None);
    let page = reader
        .leads(theirs, &LeadFilter::default(), &PageRequest::first())
        .await
        .unwrap();
    assert_eq!((page.items, page.total), (Vec::new(), Some(0)));
    assert_eq!(reader.lead(ours, lead.id).await.unwrap(), Some(lead));
    let other = installation.lead(theirs, a_lead(), 0).await;
    assert_eq!(other.reference, 1, "each business counts for itself");
}

async fn references_have_no_gaps_whoever_writes_and_gives_up(installation: Installation) {
    let businesses = [installation.business("one").await, installation.business("two").await];
    let sessions = (0..50_u64).map(|seed| {
        let database = installation.database.clone();
        tokio::spawn(async move {
            let mut dice = Dice::new(seed);
            let business = *dice.pick(&businesses);
            let mut session = database.begin().await.unwrap();
            for _ in 0..=dice.roll(3) {
                session.insert_lead(business, a_lead(), at(0)).await.unwrap();
                tokio::task::yield_now().await;
            }
            if dice.chance(70) {
                session.commit().await.unwrap();
            }
        })
    });
    for session in join_all(sessions).await {
        session.unwrap();
    }
    for business in businesses {
        let query = format!("SELECT '' || reference FROM leads WHERE business_id = {business} ORDER BY id");
        let references = installation.texts(&query).await;
        let expected: Vec<_> = (1..=references.len()).map(|number| number.to_string()).collect();
        assert!(references.len() > 10);
        assert_eq!(references, expected, "in the order of the ids, too");
    }
}

async fn stamps_never_run_against_ids(installation: Installation) {
    let business = installation.business("acme").await;
    let other = installation.business("other").await;
    for (second, expected) in [(100, 100), (40, 100), (100, 100), (130, 130), (129, 130)] {
        let lead = installation.lead(business, a_lead(), second).await;
        assert_eq!((lead.created, lead.updated), (at(expected), at(expected)));
        assert_eq!(installation.stored(business, lead.id).await, Some(lead.clone()));

        // A change cannot come before its lead either.
        let changed = Lead {
            updated: at(7),
            ..lead.clone()
        };
        installation.save(business, &changed).await;
        assert_eq!(installation.stored(business, lead.id).await, Some(lead));
    }
    let lead = installation.lead(other, a_lead(), 3).await;
    assert_eq!(lead.created, at(3), "each business has a clock of its own");
}

async fn loaded_leads_continue_what_is_there(installation: Installation) {
    const LOADED: i64 = 2508;
    let business = installation.business("acme").await;
    installation.lead(business, a_lead(), 50).await;
    // More than fit into one statement, some of them out of order, the last one too.
    let stamp = |number: i64| at(if number % 100 == 7 { 10 } else { 60 + number });
    let leads = (0..LOADED).map(|number| (a_full_lead(), stamp(number))).collect();
    let mut session = installation.begin().await;
    session.load_leads(business, leads).await.unwrap();
    session.load_leads(business, Vec::new()).await.unwrap();
    session.commit().await.unwrap();
    let last = installation.lead(business, a_lead(), 0).await;
    assert_eq!((last.reference, last.created), (LOADED + 2, stamp(LOADED - 2)));

    let rows = installation
        .texts("SELECT reference || ' ' || (created - 1790000000) || ' ' || (updated - created) FROM leads ORDER BY id")
        .await;
    let mut latest = 50;
    let expected = (0..LOADED).map(|number| {
        latest = latest.max(stamp(number).epoch_seconds() - at(0).epoch_seconds());
        format!("{} {latest} 0", number + 2)
    });
    let expected: Vec<_> = ["1 50 0".to_owned()].into_iter().chain(expected).collect();
    assert_eq!(rows[..rows.len() - 1], expected);
    let loaded = installation
        .read()
        .await
        .lead(business, LeadId::new(last.id.get() - 1))
        .await
        .unwrap();
    assert_eq!(loaded.unwrap().content, a_full_lead());
}

async fn whoever_locks_a_lead_has_it_alone(installation: Installation) {
    let business = installation.business("acme").await;
    let lead = installation.lead(business, a_lead(), 0).await;
    let mut session = installation.begin().await;
    let mut locked = session.lock_lead(business, lead.id).await.unwrap().unwrap();
    let other = tokio::spawn({
        let database = installation.database.clone();
        async move {
            let mut session = database.begin().await.unwrap();
            session.lock_lead(business, lead.id).await.unwrap().unwrap()
        }
    });
    installation.until_one_waits().await;
    assert!(!other.is_finished(), "the other one does not wait");
    locked.content.name = "changed".to_owned();
    session.save_lead(business, &locked).await.unwrap();
    session.commit().await.unwrap();
    let seen = timeout(Duration::from_secs(20), other).await.unwrap().unwrap();
    assert_eq!(seen, locked);
}

async fn a_deleted_lead_takes_its_vehicles_along(installation: Installation) {
    let business = installation.business("acme").await;
    let (gone, stays) = (
        installation.lead(business, a_lead(), 0).await,
        installation.lead(business, a_lead(), 0).await,
    );
    let cars = installation.cars(business, 2).await;
    for (lead, car) in [&gone, &stays].into_iter().zip(&cars) {
        assert!(installation.associate(business, lead.id, *car, 0).await);
    }
    installation.delete(business, gone.id).await;
    installation.delete(business, gone.id).await;
    assert_eq!(installation.stored(business, gone.id).await, None);
    assert!(installation.stored(business, stays.id).await.is_some());
    assert_eq!(
        installation.texts("SELECT '' || vehicle_id FROM lead_vehicles").await,
        [cars[1].to_string()]
    );
}

async fn leads_reopen_when_their_day_has_begun(installation: Installation) {
    let (one, two) = (installation.business("one").await, installation.business("two").await);
    let closed = |day: &str| LeadDraft {
        status: LeadStatus::Closed,
        reopen: Some(day.parse().unwrap()),
        ..a_lead()
    };
    let mut due = Vec::new();
    for (business, day) in [(one, "2026-03-02"), (two, "2026-03-01"), (one, "2026-03-03")] {
        let lead = installation.lead(business, closed(day), 0).await;
        due.push(DueReopening {
            business,
            lead: lead.id,
        });
    }
    installation.lead(one, a_lead(), 0).await;
    let midnight = |day: &str| day.parse::<forecourt_kernel::Date>().unwrap().midnight();
    for (now, limit, expected) in [
        (midnight("2026-03-01").plus_seconds(-1), 9, &[][..]),
        (midnight("2026-03-02").plus_seconds(-1), 9, &[due[1]]),
        (midnight("2026-03-02"), 9, &[due[1], due[0]]),
        (midnight("2026-03-09"), 2, &[due[1], due[0]]),
        (midnight("2026-03-09"), 9, &[due[1], due[0], due[2]]),
    ] {
        let mut session = installation.begin().await;
        assert_eq!(session.due_reopenings(now, limit).await.unwrap(), expected);
    }
}
