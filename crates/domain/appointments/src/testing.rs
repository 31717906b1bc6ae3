//! A store in memory, and the contract suite for stores of appointments.

#![expect(clippy::expect_used, clippy::panic, reason = "this is for tests, which fail so")]

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use forecourt_kernel::testing::{HoldsEvents, HoldsMails, MemoryEvents, MemoryMails, assert_pages, page_of};
use forecourt_kernel::{
    AppointmentId, BusinessId, ContactId, EventLog, LeadId, MailOutbox, Page, PageRequest, Range, SiteId, StaffId,
    StoreResult, Timestamp, VehicleId, Version,
};
use forecourt_reference::LeadChannel;

use crate::{
    AgendaFilter, AgendaPlace, Appointment, AppointmentContent, AppointmentFeed, AppointmentFeedId, AppointmentFilter,
    AppointmentReader, AppointmentStatus, AppointmentStore, ContactAppointmentReader, DueReminder, FeedDetails,
    NewFeed, Occupied, Visitor,
};

/// Appointments in memory, with the data of contacts, leads and vehicles that they need.
#[derive(Clone, Debug, Default)]
pub struct MemoryAppointments {
    appointments: BTreeMap<AppointmentId, (BusinessId, Appointment)>,
    feeds: BTreeMap<AppointmentFeedId, (BusinessId, String, AppointmentFeed)>,
    of_leads: BTreeSet<(LeadId, AppointmentId)>,
    contacts: BTreeMap<ContactId, (BusinessId, Visitor)>,
    leads: BTreeMap<LeadId, (BusinessId, Option<ContactId>, Version)>,
    vehicles: BTreeMap<VehicleId, (BusinessId, String)>,
    /// The deals that businesses have.
    pub deals: BTreeSet<(BusinessId, i64)>,
    last_id: i64,
}

impl MemoryAppointments {
    /// The appointments of all businesses, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Appointment> {
        self.appointments.values().map(|(_, appointment)| appointment)
    }

    /// Adds a contact to the business, and replaces one with the same id.
    pub fn know_contact(&mut self, business: BusinessId, visitor: Visitor) {
        self.contacts.insert(visitor.contact, (business, visitor));
    }

    /// Adds a lead to the business.
    pub fn know_lead(&mut self, business: BusinessId, lead: LeadId, contact: Option<ContactId>) {
        self.leads.insert(lead, (business, contact, Version::FIRST));
    }

    /// Adds a vehicle to the business.
    pub fn know_vehicle(&mut self, business: BusinessId, vehicle: VehicleId, title: &str) {
        self.vehicles.insert(vehicle, (business, title.to_owned()));
    }

    fn visited(&self, appointment: &Appointment) -> Appointment {
        let contact = appointment.content.contact;
        let visitor = contact
            .and_then(|id| self.contacts.get(&id))
            .map(|(_, visitor)| visitor);
        appointment.clone().visited_by(visitor)
    }

    fn of(&self, business: BusinessId) -> impl DoubleEndedIterator<Item = Appointment> {
        let own = self.appointments.values().filter(move |(owner, _)| *owner == business);
        own.map(|(_, appointment)| self.visited(appointment))
    }

    fn chosen(&self, business: BusinessId, filter: &AgendaFilter) -> Vec<Appointment> {
        let mut chosen: Vec<_> = self
            .of(business)
            .filter(|appointment| filter.matches(&appointment.content))
            .collect();
        chosen.sort_by_key(|appointment| (appointment.content.start, appointment.id));
        chosen
    }

    fn next_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }
}

/// A type that keeps appointments in memory, perhaps with other records. With an event log and an outbox it is an
/// [`AppointmentStore`].
pub trait HoldsAppointments: Send {
    /// The appointments.
    fn held_appointments(&mut self) -> &mut MemoryAppointments;
}

/// A complete store: appointments, the events of their changes, and the mails that they cause.
#[derive(Clone, Debug, Default)]
pub struct MemoryAppointmentStore {
    /// The appointments.
    pub appointments: MemoryAppointments,
    /// The recorded events.
    pub events: MemoryEvents,
    /// The queued mails.
    pub mails: MemoryMails,
}

impl HoldsAppointments for MemoryAppointmentStore {
    fn held_appointments(&mut self) -> &mut MemoryAppointments {
        &mut self.appointments
    }
}

impl HoldsEvents for MemoryAppointmentStore {
    fn held_events(&mut self) -> &mut MemoryEvents {
        &mut self.events
    }
}

impl HoldsMails for MemoryAppointmentStore {
    fn held_mails(&mut self) -> &mut MemoryMails {
        &mut self.mails
    }
}

#[async_trait]
impl<S: HoldsAppointments> AppointmentReader for S {
    async fn appointment(&mut self, business: BusinessId, id: AppointmentId) -> StoreResult<Option<Appointment>> {
        let held = self.held_appointments();
        let stored = held.appointments.get(&id).filter(|(owner, _)| *owner == business);
        Ok(stored.map(|(_, appointment)| held.visited(appointment)))
    }

    async fn appointments(
        &mut self,
        business: BusinessId,
        filter: &AppointmentFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Appointment>> {
        let newest_first = self.held_appointments().of(business).rev();
        let passing: Vec<_> = newest_first.filter(|appointment| filter.matches(appointment)).collect();
        Ok(page_of(&passing, page, |appointment| appointment.id.get()))
    }

    async fn agenda(
        &mut self,
        business: BusinessId,
        filter: &AgendaFilter,
        after: Option<AgendaPlace>,
        limit: u32,
    ) -> StoreResult<Vec<Appointment>> {
        let chosen = self.held_appointments().chosen(business, filter).into_iter();
        let behind =
            chosen.filter(|appointment| after.is_none_or(|after| (appointment.content.start, appointment.id) > after));
        Ok(behind.take(limit as usize).collect())
    }

    async fn count_agenda(&mut self, business: BusinessId, filter: &AgendaFilter, limit: u32) -> StoreResult<u32> {
        let chosen = self.held_appointments().chosen(business, filter).len();
        Ok(u32::try_from(chosen).unwrap_or(u32::MAX).min(limit))
    }

    async fn occupied(&mut self, business: BusinessId, from: Timestamp, to: Timestamp) -> StoreResult<Vec<Occupied>> {
        let filter = AgendaFilter::between(from, to);
        let chosen = self.held_appointments().chosen(business, &filter).into_iter();
        let taking = chosen.filter(|appointment| appointment.content.status.takes_up());
        Ok(taking
            .map(|appointment| appointment.content.occupied(appointment.id))
            .collect())
    }

    async fn visitor(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<Option<Visitor>> {
        let known = self.held_appointments().contacts.get(&contact);
        Ok(known
            .filter(|(owner, _)| *owner == business)
            .map(|(_, visitor)| visitor.clone()))
    }

    async fn contact_of_lead(&mut self, business: BusinessId, lead: LeadId) -> StoreResult<Option<Option<ContactId>>> {
        let known = self.held_appointments().leads.get(&lead);
        Ok(known
            .filter(|(owner, ..)| *owner == business)
            .map(|(_, contact, _)| *contact))
    }

    async fn is_deal_known(&mut self, business: BusinessId, deal: i64) -> StoreResult<bool> {
        Ok(self.held_appointments().deals.contains(&(business, deal)))
    }

    async fn vehicle_title(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<Option<String>> {
        let known = self.held_appointments().vehicles.get(&vehicle);
        Ok(known
            .filter(|(owner, _)| *owner == business)
            .map(|(_, title)| title.clone()))
    }

    async fn lead_appointments(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<Appointment>>> {
        if self.contact_of_lead(business, lead).await?.is_none() {
            return Ok(None);
        }
        let held = self.held_appointments();
        let listed: Vec<_> = held
            .of(business)
            .rev()
            .filter(|appointment| held.of_leads.contains(&(lead, appointment.id)))
            .collect();
        Ok(Some(page_of(&listed, page, |appointment| appointment.id.get())))
    }

    async fn appointment_feeds(
        &mut self,
        business: BusinessId,
        page: &PageRequest,
    ) -> StoreResult<Page<AppointmentFeed>> {
        let newest_first = self.held_appointments().feeds.values().rev();
        let own = newest_first.filter(|(owner, ..)| *owner == business);
        Ok(page_of(own.map(|(.., feed)| feed), page, |feed| feed.id.get()))
    }

    async fn feed_of_token(&mut self, digest: &str) -> StoreResult<Option<(BusinessId, AppointmentFeed)>> {
        let mut feeds = self.held_appointments().feeds.values();
        let found = feeds.find(|(_, known, _)| known == digest);
        Ok(found.map(|(business, _, feed)| (*business, feed.clone())))
    }
}

#[async_trait]
impl<S: HoldsAppointments> ContactAppointmentReader for S {
    async fn contact_appointments(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: AppointmentId,
    ) -> StoreResult<Vec<Appointment>> {
        let own = self.held_appointments().of(business);
        Ok(own
            .filter(|appointment| appointment.id > after && appointment.content.contact == Some(contact))
            .collect())
    }
}

#[async_trait]
impl<S: HoldsAppointments + EventLog + MailOutbox> AppointmentStore for S {
    async fn lock_appointment(&mut self, business: BusinessId, id: AppointmentId) -> StoreResult<Option<Appointment>> {
        self.appointment(business, id).await
    }

    async fn lock_calendars(&mut self, _: BusinessId) -> StoreResult<()> {
        Ok(())
    }

    async fn insert_appointment(
        &mut self,
        business: BusinessId,
        content: AppointmentContent,
        remind_at: Option<Timestamp>,
        at: Timestamp,
    ) -> StoreResult<Appointment> {
        let held = self.held_appointments();
        let appointment = Appointment {
            id: AppointmentId::new(held.next_id()),
            version: Version::FIRST,
            created: at,
            updated: at,
            reminded: None,
            remind_at,
            content,
        };
        held.appointments
            .insert(appointment.id, (business, appointment.clone()));
        Ok(appointment)
    }

    async fn save_appointment(&mut self, business: BusinessId, appointment: &Appointment) -> StoreResult<()> {
        let saved = Appointment {
            version: Version::new(appointment.version.number()),
            ..appointment.clone()
        };
        self.held_appointments()
            .appointments
            .insert(appointment.id, (business, saved));
        Ok(())
    }

    async fn lead_version(&mut self, business: BusinessId, lead: LeadId) -> StoreResult<Option<Version>> {
        let known = self.held_appointments().leads.get(&lead);
        Ok(known
            .filter(|(owner, ..)| *owner == business)
            .map(|(.., version)| *version))
    }

    async fn add_lead_appointment(
        &mut self,
        _: BusinessId,
        lead: LeadId,
        appointment: AppointmentId,
        _: Timestamp,
    ) -> StoreResult<bool> {
        Ok(self.held_appointments().of_leads.insert((lead, appointment)))
    }

    async fn remove_lead_appointment(
        &mut self,
        _: BusinessId,
        lead: LeadId,
        appointment: AppointmentId,
    ) -> StoreResult<bool> {
        Ok(self.held_appointments().of_leads.remove(&(lead, appointment)))
    }

    async fn count_feeds(&mut self, business: BusinessId) -> StoreResult<usize> {
        let feeds = self.held_appointments().feeds.values();
        Ok(feeds.filter(|(owner, ..)| *owner == business).count())
    }

    async fn insert_feed(
        &mut self,
        business: BusinessId,
        content: NewFeed,
        digest: &str,
        created: Timestamp,
    ) -> StoreResult<AppointmentFeed> {
        let held = self.held_appointments();
        let id = AppointmentFeedId::new(held.next_id());
        let feed = AppointmentFeed { id, created, content };
        held.feeds.insert(id, (business, digest.to_owned(), feed.clone()));
        Ok(feed)
    }

    async fn delete_feed(&mut self, business: BusinessId, id: AppointmentFeedId) -> StoreResult<bool> {
        let feeds = &mut self.held_appointments().feeds;
        let is_own = feeds.get(&id).is_some_and(|(owner, ..)| *owner == business);
        if is_own {
            feeds.remove(&id);
        }
        Ok(is_own)
    }

    async fn due_reminders(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueReminder>> {
        let all = self.held_appointments().appointments.values();
        let due = all.filter(|(_, appointment)| appointment.remind_at.is_some_and(|at| at <= now));
        Ok(due
            .take(limit as usize)
            .map(|(business, appointment)| DueReminder {
                business: *business,
                appointment: appointment.id,
            })
            .collect())
    }
}

/// The moment at which the sample appointments begin.
const START: Timestamp = Timestamp::from_epoch_seconds(1_790_000_000);

/// An appointment with a value in every field that needs no other record.
pub fn an_appointment() -> AppointmentContent {
    AppointmentContent {
        site: SiteId::new(3),
        kind: "test_drive".to_owned(),
        calendar: "sales".to_owned(),
        status: AppointmentStatus::Confirmed,
        title: "Second \"look\"; with, commas".to_owned(),
        contact: None,
        lead: None,
        vehicle: None,
        deal: None,
        staff: vec![StaffId::new(4), StaffId::new(2)],
        start: START,
        end: START.plus_seconds(1_800),
        location: "Showroom".to_owned(),
        name: "Zoë Šimić".to_owned(),
        email: "zoe@example.com".to_owned(),
        phone: "+447700900123".to_owned(),
        notes: "Brings a friend.\n\u{1f697}".to_owned(),
        source: LeadChannel::Website,
        reminder_minutes: Some(60),
        cancel_reason: "not yet".to_owned(),
    }
}

/// Tests that `store` meets the contract of a store of appointments. The two businesses must have none.
///
/// # Panics
/// If the store violates the contract.
pub async fn appointment_store_contract(store: &mut dyn AppointmentStore, ours: BusinessId, theirs: BusinessId) {
    keeps_every_field(store, ours, theirs).await;
    lists_what_passes(store, ours, theirs).await;
    knows_what_takes_up_time(store, ours, theirs).await;
    knows_whose_reminder_is_due(store, ours).await;
    keeps_feeds(store, ours, theirs).await;
}

async fn keeps_every_field(store: &mut dyn AppointmentStore, ours: BusinessId, theirs: BusinessId) {
    let remind_at = Some(START.plus_seconds(-3_600));
    store.lock_calendars(ours).await.expect("they are locked");
    let stored = store
        .insert_appointment(ours, an_appointment(), remind_at, START)
        .await
        .expect("it is stored");
    let expected = Appointment {
        id: stored.id,
        version: Version::FIRST,
        created: START,
        updated: START,
        reminded: None,
        remind_at,
        content: an_appointment(),
    };
    assert_eq!(stored, expected);
    let read = store.appointment(ours, stored.id).await.expect("it is read");
    assert_eq!(read, Some(expected.clone()));
    let locked = store.lock_appointment(ours, stored.id).await.expect("it is locked");
    assert_eq!(locked, Some(expected));
    for nothing in [
        store.appointment(theirs, stored.id).await,
        store.lock_appointment(theirs, stored.id).await,
    ] {
        assert_eq!(nothing.expect("there is none"), None, "businesses are apart");
    }
    let changed = Appointment {
        version: stored.version.next(),
        updated: START.plus_seconds(9),
        remind_at: None,
        content: AppointmentContent {
            status: AppointmentStatus::Cancelled,
            staff: Vec::new(),
            reminder_minutes: None,
            ..AppointmentContent::blank()
        },
        ..stored
    };
    store.save_appointment(ours, &changed).await.expect("it is saved");
    let read = store.appointment(ours, changed.id).await.expect("it is read");
    assert_eq!(read, Some(changed.clone()));
    let reminded = Appointment {
        reminded: Some(START),
        ..changed
    };
    store.save_appointment(ours, &reminded).await.expect("it is saved");
    let read = store.appointment(ours, reminded.id).await.expect("it is read");
    let read = read.expect("it is there");
    assert_eq!((read.reminded, read.version.number()), (Some(START), 2));
    assert!(read.version.digest().is_some(), "it shows more than its version says");
}

async fn lists_what_passes(store: &mut dyn AppointmentStore, ours: BusinessId, theirs: BusinessId) {
    let mut stored = Vec::new();
    for number in 0..6_i64 {
        let is_odd = number % 2 == 1;
        let content = AppointmentContent {
            site: SiteId::new(number % 3 + 10),
            kind: if is_odd { "viewing" } else { "service" }.to_owned(),
            calendar: if number < 2 { "workshop" } else { "front" }.to_owned(),
            status: if number == 5 {
                AppointmentStatus::NoShow
            } else {
                AppointmentStatus::Booked
            },
            deal: (number == 4).then_some(77),
            staff: if is_odd { vec![StaffId::new(7)] } else { Vec::new() },
            start: START.plus_seconds(100_000 + number * 600),
            end: START.plus_seconds(100_000 + number * 600 + 900),
            source: if number == 0 {
                LeadChannel::Phone
            } else {
                LeadChannel::Api
            },
            ..an_appointment()
        };
        let at = START.plus_seconds(1_000 + number);
        let one = store.insert_appointment(ours, content, None, at).await;
        stored.push(one.expect("it is stored"));
    }
    let other = store.insert_appointment(theirs, an_appointment(), None, START).await;
    other.expect("it is stored");
    let ids: Vec<_> = stored.iter().map(|appointment| appointment.id).collect();
    let seconds = |from: i64, to: i64| {
        Some(Range {
            from: Some(START.plus_seconds(from)),
            to: Some(START.plus_seconds(to)),
        })
    };
    let all = AppointmentFilter {
        created: seconds(1_000, 1_005),
        ..AppointmentFilter::default()
    };
    let filter = |change: &dyn Fn(&mut AppointmentFilter)| {
        let mut filter = all.clone();
        change(&mut filter);
        filter
    };
    let cases = [
        (all.clone(), vec![5, 4, 3, 2, 1, 0]),
        (filter(&|it| it.site = Some(SiteId::new(11))), vec![4, 1]),
        (filter(&|it| it.kind = Some("viewing".to_owned())), vec![5, 3, 1]),
        (filter(&|it| it.calendar = Some("workshop".to_owned())), vec![1, 0]),
        (filter(&|it| it.status = Some(AppointmentStatus::NoShow)), vec![5]),
        (filter(&|it| it.contact = Some(ContactId::new(1))), vec![]),
        (filter(&|it| it.lead = Some(LeadId::new(1))), vec![]),
        (filter(&|it| it.vehicle = Some(VehicleId::new(1))), vec![]),
        (filter(&|it| it.deal = Some(77)), vec![4]),
        (filter(&|it| it.staff = Some(StaffId::new(7))), vec![5, 3, 1]),
        (filter(&|it| it.source = Some(LeadChannel::Phone)), vec![0]),
        (filter(&|it| it.start = seconds(100_600, 101_200)), vec![2, 1]),
        (filter(&|it| it.end = seconds(100_900, 101_500)), vec![1, 0]),
        (filter(&|it| it.created = seconds(1_002, 1_003)), vec![3, 2]),
        (filter(&|it| it.updated = seconds(1_003, 1_009)), vec![5, 4, 3]),
        (
            filter(&|it| {
                it.staff = Some(StaffId::new(7));
                it.status = Some(AppointmentStatus::Booked);
            }),
            vec![3, 1],
        ),
    ];
    for (filter, expected) in cases {
        let expected: Vec<Appointment> = expected
            .into_iter()
            .map(|number: usize| stored[number].clone())
            .collect();
        assert_pages(
            &expected,
            |appointment| appointment.id.get(),
            async |request| {
                let page = store.appointments(ours, &filter, &request).await;
                page.unwrap_or_else(|failure| panic!("{filter:?}: {failure}"))
            },
        )
        .await;
    }

    let between = |from: i64, to: i64| AgendaFilter::between(START.plus_seconds(from), START.plus_seconds(to));
    let agendas = [
        (between(100_900, 101_800), vec![1, 2]),
        (between(100_899, 101_801), vec![0, 1, 2, 3]),
        (
            AgendaFilter {
                staff: Some(StaffId::new(7)),
                ..between(100_000, 104_000)
            },
            vec![1, 3, 5],
        ),
        (
            AgendaFilter {
                calendar: Some("front".to_owned()),
                site: Some(SiteId::new(12)),
                ..between(100_000, 104_000)
            },
            vec![2, 5],
        ),
        (
            AgendaFilter {
                vehicle: Some(VehicleId::new(1)),
                ..between(100_000, 104_000)
            },
            vec![],
        ),
    ];
    for (filter, expected) in agendas {
        let expected: Vec<AppointmentId> = expected.into_iter().map(|number: usize| ids[number]).collect();
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let part = store.agenda(ours, &filter, after, 2).await.expect("it is read");
            let Some(last) = part.last() else { break };
            after = Some((last.content.start, last.id));
            found.extend(part.iter().map(|appointment| appointment.id));
        }
        assert_eq!(found, expected, "{filter:?}");
        let count = store.count_agenda(ours, &filter, 3).await.expect("they are counted");
        assert_eq!(count as usize, expected.len().min(3), "{filter:?}");
    }
}

async fn knows_what_takes_up_time(store: &mut dyn AppointmentStore, ours: BusinessId, theirs: BusinessId) {
    let mut expected = Vec::new();
    for (number, status) in AppointmentStatus::ALL.into_iter().enumerate() {
        let content = AppointmentContent {
            status,
            start: START.plus_seconds(500_000),
            end: START.plus_seconds(500_900),
            ..an_appointment()
        };
        let stored = store.insert_appointment(ours, content.clone(), None, START).await;
        let stored = stored.expect("it is stored");
        if number < 3 {
            expected.push(content.occupied(stored.id));
        }
    }
    for (from, to, is_there) in [
        (500_000, 500_001, true),
        (500_899, 600_000, true),
        (499_000, 500_000, false),
        (500_900, 600_000, false),
    ] {
        let (from, to) = (START.plus_seconds(from), START.plus_seconds(to));
        let found = store.occupied(ours, from, to).await.expect("they are read");
        let expected = if is_there { expected.clone() } else { Vec::new() };
        assert_eq!(found, expected, "{from:?} {to:?}");
        assert_eq!(store.occupied(theirs, from, to).await.expect("they are read"), []);
    }
}

async fn knows_whose_reminder_is_due(store: &mut dyn AppointmentStore, ours: BusinessId) {
    let at = START.plus_seconds(-90_000);
    let stored = store.insert_appointment(ours, an_appointment(), Some(at), START).await;
    let mut stored = stored.expect("it is stored");
    let due = DueReminder {
        business: ours,
        appointment: stored.id,
    };
    let before = store
        .due_reminders(at.plus_seconds(-1), 9)
        .await
        .expect("they are read");
    assert_eq!(before, []);
    assert_eq!(store.due_reminders(at, 9).await.expect("they are read"), [due]);
    stored.remind_at = None;
    store.save_appointment(ours, &stored).await.expect("it is saved");
    assert_eq!(store.due_reminders(at, 9).await.expect("they are read"), []);
}

async fn keeps_feeds(store: &mut dyn AppointmentStore, ours: BusinessId, theirs: BusinessId) {
    let content = NewFeed {
        name: "Sales".to_owned(),
        calendar: Some("sales".to_owned()),
        staff: Some(StaffId::new(2)),
        details: FeedDetails::Full,
    };
    let all = NewFeed {
        calendar: None,
        staff: None,
        details: FeedDetails::Busy,
        ..content.clone()
    };
    let first = store
        .insert_feed(ours, content.clone(), "digest of the first", START)
        .await;
    let first = first.expect("it is stored");
    let second = store.insert_feed(ours, all, "digest of the second", START).await;
    let second = second.expect("it is stored");
    assert_eq!((first.created, &first.content), (START, &content));
    assert_eq!(store.count_feeds(ours).await.expect("they are counted"), 2);
    assert_eq!(store.count_feeds(theirs).await.expect("they are counted"), 0);
    assert_pages(
        &[second, first.clone()],
        |feed| feed.id.get(),
        async |request| store.appointment_feeds(ours, &request).await.expect("they are listed"),
    )
    .await;
    let found = store.feed_of_token("digest of the first").await.expect("it is found");
    assert_eq!(found, Some((ours, first.clone())));
    assert!(!store.delete_feed(theirs, first.id).await.expect("there is none"));
    assert!(store.delete_feed(ours, first.id).await.expect("it is deleted"));
    assert!(!store.delete_feed(ours, first.id).await.expect("it is gone"));
    let found = store.feed_of_token("digest of the first").await.expect("it is gone");
    assert_eq!(found, None);
}
