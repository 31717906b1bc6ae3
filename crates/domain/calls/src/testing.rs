//! A store in memory, and the contract suite for stores of calls.

#![expect(clippy::expect_used, clippy::panic, reason = "this is for tests, which fail so")]

use std::collections::BTreeMap;

use async_trait::async_trait;
use forecourt_kernel::testing::{HoldsEvents, HoldsMails, MemoryEvents, MemoryMails, assert_pages, page_of};
use forecourt_kernel::{
    BusinessId, CallId, ContactId, Country, EventLog, LeadId, MailOutbox, Page, PageRequest, Phone, Range, SiteId,
    StaffId, StoreError, StoreResult, Timestamp, VehicleId, Version,
};
use forecourt_leads::testing::{HoldsLeads, MemoryLeads};
use forecourt_leads::{LeadDraft, LeadStatus};
use forecourt_reference::Catalogue;

use crate::{Call, CallContent, CallDirection, CallFilter, CallOutcome, CallReader, CallStore, ContactCallReader};

/// Calls in memory, by their ids, and the names of contacts.
#[derive(Clone, Debug, Default)]
pub struct MemoryCalls {
    calls: BTreeMap<CallId, (BusinessId, Call)>,
    names: BTreeMap<(BusinessId, ContactId), String>,
    last_id: i64,
}

impl MemoryCalls {
    /// The calls of all businesses, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Call> {
        self.calls.values().map(|(_, call)| call)
    }

    /// Lets a contact of the business have this name.
    pub fn know_name(&mut self, business: BusinessId, contact: ContactId, name: &str) {
        self.names.insert((business, contact), name.to_owned());
    }

    fn of(&self, business: BusinessId) -> impl DoubleEndedIterator<Item = &Call> {
        let own = self.calls.values().filter(move |(owner, _)| *owner == business);
        own.map(|(_, call)| call)
    }

    /// Returns the call of the business that a telephone system reports under this name, other than `except`.
    fn reported_as(&self, business: BusinessId, name: (&str, &str), except: Option<CallId>) -> Option<CallId> {
        let mut own = self.of(business).filter(|call| Some(call.id) != except);
        own.find(|call| call.content.reported_as() == Some(name))
            .map(|call| call.id)
    }
}

/// A type that keeps calls in memory, with leads and perhaps with other records. With an event log and an outbox it is a
/// [`CallStore`].
pub trait HoldsCalls: Send {
    /// The calls.
    fn held_calls(&mut self) -> &mut MemoryCalls;
}

/// A complete store: calls, leads, the events of their changes, and the mails that they cause.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    /// The calls.
    pub calls: MemoryCalls,
    /// The leads.
    pub leads: MemoryLeads,
    /// The recorded events.
    pub events: MemoryEvents,
    /// The queued mails.
    pub mails: MemoryMails,
}

impl HoldsCalls for MemoryStore {
    fn held_calls(&mut self) -> &mut MemoryCalls {
        &mut self.calls
    }
}

impl HoldsLeads for MemoryStore {
    fn held_leads(&mut self) -> &mut MemoryLeads {
        &mut self.leads
    }
}

impl HoldsEvents for MemoryStore {
    fn held_events(&mut self) -> &mut MemoryEvents {
        &mut self.events
    }
}

impl HoldsMails for MemoryStore {
    fn held_mails(&mut self) -> &mut MemoryMails {
        &mut self.mails
    }
}

#[async_trait]
impl<S: HoldsCalls> CallReader for S {
    async fn call(&mut self, business: BusinessId, id: CallId) -> StoreResult<Option<Call>> {
        let stored = self.held_calls().calls.get(&id).filter(|(owner, _)| *owner == business);
        Ok(stored.map(|(_, call)| call.clone()))
    }

    async fn calls(
        &mut self,
        business: BusinessId,
        filter: &CallFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Call>> {
        let newest_first = self.held_calls().of(business).rev();
        let passing = newest_first.filter(|call| filter.matches(call));
        Ok(page_of(passing, page, |call| call.id.get()))
    }
}

#[async_trait]
impl<S: HoldsCalls> ContactCallReader for S {
    async fn contact_calls(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: CallId,
    ) -> StoreResult<Vec<Call>> {
        let own = self.held_calls().of(business);
        let linked = own.filter(|call| call.id > after && call.content.contact == Some(contact));
        Ok(linked.cloned().collect())
    }
}

#[async_trait]
impl<S: HoldsCalls + HoldsLeads + EventLog + MailOutbox> CallStore for S {
    async fn lock_call(&mut self, business: BusinessId, id: CallId) -> StoreResult<Option<Call>> {
        self.call(business, id).await
    }

    async fn call_reported_as(
        &mut self,
        business: BusinessId,
        provider: &str,
        external_id: &str,
    ) -> StoreResult<Option<CallId>> {
        Ok(self.held_calls().reported_as(business, (provider, external_id), None))
    }

    async fn insert_call(&mut self, business: BusinessId, content: CallContent, at: Timestamp) -> StoreResult<Call> {
        let held = self.held_calls();
        let known = content
            .reported_as()
            .and_then(|name| held.reported_as(business, name, None));
        if known.is_some() {
            return Err(StoreError::Conflict);
        }
        held.last_id += 1;
        let call = Call {
            id: CallId::new(held.last_id),
            version: Version::FIRST,
            created: at,
            updated: at,
            content,
        };
        held.calls.insert(call.id, (business, call.clone()));
        Ok(call)
    }

    async fn save_call(&mut self, business: BusinessId, call: &Call) -> StoreResult<()> {
        let held = self.held_calls();
        let name = call.content.reported_as();
        if name
            .and_then(|name| held.reported_as(business, name, Some(call.id)))
            .is_some()
        {
            return Err(StoreError::Conflict);
        }
        held.calls.insert(call.id, (business, call.clone()));
        Ok(())
    }

    async fn delete_call(&mut self, business: BusinessId, id: CallId) -> StoreResult<()> {
        let calls = &mut self.held_calls().calls;
        if calls.get(&id).is_some_and(|(owner, _)| *owner == business) {
            calls.remove(&id);
        }
        Ok(())
    }

    async fn contact_name(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<Option<String>> {
        Ok(self.held_calls().names.get(&(business, contact)).cloned())
    }

    async fn lead_of_party(
        &mut self,
        business: BusinessId,
        contact: Option<ContactId>,
        number: &str,
        since: Timestamp,
    ) -> StoreResult<Option<LeadId>> {
        let open = self.leads_since(business, since).await?;
        let is_theirs = |content: &LeadDraft| {
            contact.is_some_and(|contact| content.contact == Some(contact))
                || (!number.is_empty() && [&content.phone, &content.mobile].iter().any(|own| *own == number))
        };
        let mut theirs = open.into_iter().filter(|(_, content)| is_theirs(content));
        Ok(theirs.next().map(|(id, _)| id))
    }

    async fn call_purge_quota(
        &mut self,
        business: BusinessId,
        before: Timestamp,
        since: Timestamp,
    ) -> StoreResult<u32> {
        let own: Vec<Timestamp> = self
            .held_calls()
            .of(business)
            .map(|call| call.content.started)
            .collect();
        let old = own.iter().filter(|started| **started < before).count();
        let recent = own.iter().filter(|started| (since..before).contains(started)).count();
        let quota = if old > recent {
            recent.max(own.len().div_ceil(10))
        } else {
            recent
        };
        Ok(u32::try_from(quota).unwrap_or(u32::MAX))
    }

    async fn purge_calls(&mut self, business: BusinessId, before: Timestamp, limit: u32) -> StoreResult<u32> {
        let held = self.held_calls();
        let old = held.of(business).filter(|call| call.content.started < before);
        let old: Vec<CallId> = old.map(|call| call.id).take(limit as usize).collect();
        for id in &old {
            held.calls.remove(id);
        }
        Ok(u32::try_from(old.len()).unwrap_or(u32::MAX))
    }
}

/// Reads open leads of a store in memory.
#[async_trait]
trait OpenLeads: Send {
    /// Returns the leads since a moment that are neither closed nor junk, newest first.
    async fn leads_since(&mut self, business: BusinessId, since: Timestamp) -> StoreResult<Vec<(LeadId, LeadDraft)>>;
}

#[async_trait]
impl<S: HoldsLeads> OpenLeads for S {
    async fn leads_since(&mut self, business: BusinessId, since: Timestamp) -> StoreResult<Vec<(LeadId, LeadDraft)>> {
        let ids: Vec<LeadId> = self.held_leads().all().rev().map(|lead| lead.id).collect();
        let mut open = Vec::new();
        for id in ids {
            let lead = forecourt_leads::LeadReader::lead(self, business, id).await?;
            let is_open = |status| !matches!(status, LeadStatus::Closed | LeadStatus::Junk);
            let lead = lead.filter(|lead| lead.created >= since && is_open(lead.content.status));
            open.extend(lead.map(|lead| (lead.id, lead.content)));
        }
        Ok(open)
    }
}

const NOW: Timestamp = Timestamp::from_epoch_seconds(1_790_000_000);

/// A call with a value in every field.
pub fn a_full_call() -> CallContent {
    CallContent {
        site: SiteId::new(3),
        direction: CallDirection::Out,
        from: "+441132000000".to_owned(),
        to: "+447700900123".to_owned(),
        contact: Some(ContactId::new(17)),
        lead: Some(LeadId::new(73)),
        vehicle: Some(VehicleId::new(5)),
        staff: Some(StaffId::new(2)),
        started: NOW.plus_seconds(-90),
        answered: Some(NOW.plus_seconds(-80)),
        ended: Some(NOW.plus_seconds(-20)),
        duration: Some(59),
        outcome: Some(CallOutcome::Answered),
        provider: "Switch \"Board\"".to_owned(),
        external_id: "c-\u{1f697}-1".to_owned(),
        tracking: "spring".to_owned(),
        recording_url: "https://calls.example/1".to_owned(),
        transcript: "Zoë Šimić: hello.\nGood morning.".to_owned(),
        summary: "A greeting.".to_owned(),
        notes: "Rings again.".to_owned(),
        contact_sent: true,
        lead_sent: true,
        lead_made: true,
        moved: vec![CallOutcome::Answered],
    }
}

/// Tests that `store` meets the contract of a store of calls. The two businesses must have neither calls nor leads.
///
/// # Panics
/// If the store violates the contract.
pub async fn call_store_contract(store: &mut dyn CallStore, ours: BusinessId, theirs: BusinessId) {
    keeps_every_field(store, ours, theirs).await;
    finds_reported_calls(store, ours, theirs).await;
    finds_leads_of_a_party(store, ours, theirs).await;
    purges_what_is_old(store, ours, theirs).await;
    lists_what_passes(store, ours, theirs).await;
}

async fn insert(store: &mut dyn CallStore, business: BusinessId, content: CallContent) -> Call {
    store.insert_call(business, content, NOW).await.expect("it is stored")
}

async fn keeps_every_field(store: &mut dyn CallStore, ours: BusinessId, theirs: BusinessId) {
    let call = insert(store, ours, a_full_call()).await;
    let expected = Call {
        id: call.id,
        version: Version::FIRST,
        created: NOW,
        updated: NOW,
        content: a_full_call(),
    };
    assert_eq!(call, expected);
    assert_eq!(
        store.call(ours, call.id).await.expect("it is read"),
        Some(expected.clone())
    );
    assert_eq!(
        store.lock_call(ours, call.id).await.expect("it is locked"),
        Some(expected)
    );
    for nothing in [
        store.call(theirs, call.id).await,
        store.lock_call(theirs, call.id).await,
    ] {
        assert_eq!(nothing.expect("there is none"), None, "businesses are apart");
    }
    let changed = Call {
        version: call.version.next(),
        updated: NOW.plus_seconds(9),
        content: CallContent::blank(),
        ..call
    };
    store.save_call(ours, &changed).await.expect("it is saved");
    assert_eq!(
        store.call(ours, changed.id).await.expect("it is read"),
        Some(changed.clone())
    );
    store.delete_call(theirs, changed.id).await.expect("nothing is deleted");
    assert!(store.call(ours, changed.id).await.expect("it is read").is_some());
    store.delete_call(ours, changed.id).await.expect("it is deleted");
    assert_eq!(store.call(ours, changed.id).await.expect("it is gone"), None);
}

async fn finds_reported_calls(store: &mut dyn CallStore, ours: BusinessId, theirs: BusinessId) {
    let call = insert(store, ours, a_full_call()).await;
    let (provider, external_id) = (call.content.provider.as_str(), call.content.external_id.as_str());
    let cases = [
        (ours, provider, external_id, Some(call.id)),
        (theirs, provider, external_id, None),
        (ours, "switch \"board\"", external_id, None),
        (ours, provider, "c", None),
    ];
    for (business, provider, external_id, expected) in cases {
        let found = store.call_reported_as(business, provider, external_id).await;
        assert_eq!(found.expect("it is looked up"), expected, "{provider} {external_id}");
    }
    // Many calls have no name, and other businesses have the same ones.
    let unnamed = CallContent {
        external_id: String::new(),
        ..a_full_call()
    };
    let mut others = vec![
        insert(store, ours, unnamed.clone()).await,
        insert(store, ours, unnamed).await,
    ];
    let foreign = insert(store, theirs, a_full_call()).await;
    others.push(call);
    for call in others {
        store.delete_call(ours, call.id).await.expect("it is deleted");
    }
    store.delete_call(theirs, foreign.id).await.expect("it is deleted");
}

async fn finds_leads_of_a_party(store: &mut dyn CallStore, ours: BusinessId, theirs: BusinessId) {
    let (contact, other) = (ContactId::new(17), ContactId::new(18));
    let draft = |contact: Option<ContactId>, phone: &str, mobile: &str, status| LeadDraft {
        contact,
        phone: phone.to_owned(),
        mobile: mobile.to_owned(),
        status,
        ..LeadDraft::blank(&Catalogue::default())
    };
    let number = "+447700900123";
    let mut leads = Vec::new();
    for (business, lead, at) in [
        (ours, draft(Some(contact), "", "", LeadStatus::New), 0),
        (ours, draft(None, number, "", LeadStatus::Replied), 1),
        (ours, draft(Some(other), "", number, LeadStatus::Read), 2),
        (ours, draft(Some(contact), number, "", LeadStatus::Closed), 3),
        (ours, draft(Some(contact), "", number, LeadStatus::Junk), 4),
        (theirs, draft(Some(contact), number, number, LeadStatus::New), 5),
    ] {
        let lead = store
            .insert_lead(business, lead, NOW.plus_seconds(at))
            .await
            .expect("it is stored");
        leads.push(lead.id);
    }
    let cases = [
        (Some(contact), "", 0, Some(0)),
        (None, number, 0, Some(2)),
        (Some(contact), number, 0, Some(2)),
        (Some(contact), "+447700900199", 0, Some(0)),
        (Some(contact), "", 1, None),
        (None, number, 3, None),
        (None, "", 0, None),
        (Some(ContactId::new(99)), "", 0, None),
    ];
    for (contact, number, since, expected) in cases {
        let found = store
            .lead_of_party(ours, contact, number, NOW.plus_seconds(since))
            .await;
        let expected = expected.map(|place: usize| leads[place]);
        assert_eq!(
            found.expect("it is looked up"),
            expected,
            "{contact:?} {number:?} {since}"
        );
    }
}

async fn purges_what_is_old(store: &mut dyn CallStore, ours: BusinessId, theirs: BusinessId) {
    let began = |seconds| CallContent {
        started: NOW.plus_seconds(seconds),
        ..CallContent::blank()
    };
    let mut calls = Vec::new();
    for seconds in [-30, -40, -10, 0] {
        calls.push(insert(store, ours, began(seconds)).await);
    }
    let foreign = insert(store, theirs, began(-50)).await;
    let cases = [(-40, -50, 0), (-35, -50, 1), (-35, -38, 1), (-5, -100, 3), (-5, -20, 1)];
    for (before, since, expected) in cases {
        let quota = store
            .call_purge_quota(ours, NOW.plus_seconds(before), NOW.plus_seconds(since))
            .await;
        assert_eq!(quota.expect("it is counted"), expected, "{before} {since}");
    }
    let purged = store.purge_calls(ours, NOW.plus_seconds(-10), 1).await;
    assert_eq!(purged.expect("one is deleted"), 1);
    assert_eq!(
        store.call(ours, calls[0].id).await.expect("it is gone"),
        None,
        "the first one"
    );
    let purged = store.purge_calls(ours, NOW.plus_seconds(-10), 9).await;
    assert_eq!(purged.expect("another is deleted"), 1);
    assert!(store.call(ours, calls[2].id).await.expect("it is read").is_some());
    assert!(store.call(theirs, foreign.id).await.expect("it is read").is_some());
    for call in &calls[2..] {
        store.delete_call(ours, call.id).await.expect("it is deleted");
    }
}

async fn lists_what_passes(store: &mut dyn CallStore, ours: BusinessId, theirs: BusinessId) {
    let mut stored = Vec::new();
    let number = |place: i64| format!("+44770090010{place}");
    for place in 0..4 {
        let is_even = place % 2 == 0;
        let content = CallContent {
            site: SiteId::new(place % 3),
            direction: if is_even { CallDirection::In } else { CallDirection::Out },
            from: number(place),
            to: number(place + 1),
            contact: is_even.then_some(ContactId::new(17)),
            lead: is_even.then_some(LeadId::new(73)),
            vehicle: is_even.then_some(VehicleId::new(5)),
            staff: is_even.then_some(StaffId::new(2)),
            started: NOW.plus_seconds(place - 100),
            answered: is_even.then_some(NOW),
            ended: None,
            duration: None,
            outcome: None,
            external_id: place.to_string(),
            tracking: if is_even { "spring".to_owned() } else { String::new() },
            provider: if is_even {
                "board".to_owned()
            } else {
                "other".to_owned()
            },
            ..a_full_call()
        };
        let at = NOW.plus_seconds(place);
        stored.push(store.insert_call(ours, content, at).await.expect("it is stored"));
    }
    insert(store, theirs, a_full_call()).await;
    let phone = |place| Phone::parse(&number(place), Country::GB).ok();
    let lately = |from: i64, to: i64| {
        Some(Range {
            from: Some(NOW.plus_seconds(from)),
            to: Some(NOW.plus_seconds(to)),
        })
    };
    macro_rules! by {
        ($($field:ident: $value:expr),*) => {
            CallFilter { $($field: $value,)* ..CallFilter::default() }
        };
    }
    let cases = [
        (by!(), vec![3, 2, 1, 0]),
        (by!(site: Some(SiteId::new(0))), vec![3, 0]),
        (by!(direction: Some(CallDirection::Out)), vec![3, 1]),
        (by!(outcome: Some(CallOutcome::Missed)), vec![3, 1]),
        (by!(outcome: Some(CallOutcome::Answered)), vec![2, 0]),
        (by!(contact: Some(ContactId::new(17))), vec![2, 0]),
        (by!(contact: Some(ContactId::new(18))), vec![]),
        (by!(lead: Some(LeadId::new(73))), vec![2, 0]),
        (by!(vehicle: Some(VehicleId::new(5))), vec![2, 0]),
        (by!(staff: Some(StaffId::new(2))), vec![2, 0]),
        (by!(from: phone(1)), vec![1]),
        (by!(to: phone(1)), vec![0]),
        (by!(number: phone(1)), vec![1, 0]),
        (by!(number: phone(1), direction: Some(CallDirection::Out)), vec![1]),
        (by!(provider: Some("board".to_owned())), vec![2, 0]),
        (by!(external_id: Some("3".to_owned())), vec![3]),
        (by!(tracking: Some("spring".to_owned())), vec![2, 0]),
        (by!(started: lately(-99, -98)), vec![2, 1]),
        (by!(created: lately(1, 2)), vec![2, 1]),
        (by!(updated: lately(3, 9)), vec![3]),
    ];
    for (filter, expected) in cases {
        let expected: Vec<Call> = expected.into_iter().map(|place: usize| stored[place].clone()).collect();
        assert_pages(
            &expected,
            |call| call.id.get(),
            async |request| {
                let page = store.calls(ours, &filter, &request).await;
                page.unwrap_or_else(|failure| panic!("{filter:?}: {failure}"))
            },
        )
        .await;
    }
}
