//! A store in memory, and the suite that every store of deals must pass.

#![expect(clippy::expect_used, clippy::panic, reason = "this is for tests, which fail so")]

use std::collections::BTreeMap;

use async_trait::async_trait;
use forecourt_billing::{
    BillLine, BilledContact, BilledVehicle, BillingReader, DealId, ExchangeScheme, InvoiceId, LineKind, OrderId,
    PartExchange, VatRate, VatScheme,
};
use forecourt_kernel::testing::{HoldsEvents, MemoryEvents, assert_pages, page_of};
use forecourt_kernel::{
    BusinessId, ContactId, Date, EventLog, LeadId, Line, LongText, Money, Page, PageRequest, Range, SiteId, StaffId,
    StoreError, StoreResult, Timestamp, VehicleId, Version,
};
use forecourt_reference::LeadChannel;

use crate::{
    ContactDealReader, Deal, DealContent, DealDeposit, DealFilter, DealFinance, DealReader, DealReason, DealStage,
    DealStore, DealSurroundings, Delivery, DeliveryMethod, FinanceStatus, FinanceType, MovedBy, ReasonCode,
    Surroundings,
};

/// Deals in memory by id, and the last reference of each business.
#[derive(Clone, Debug, Default)]
pub struct MemoryDeals {
    deals: BTreeMap<DealId, (BusinessId, Deal)>,
    references: BTreeMap<BusinessId, i64>,
}

impl MemoryDeals {
    /// Returns the deals of all businesses, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Deal> {
        self.deals.values().map(|(_, deal)| deal)
    }

    fn of(&self, business: BusinessId) -> impl DoubleEndedIterator<Item = &Deal> {
        let own = self.deals.values().filter(move |(owner, _)| *owner == business);
        own.map(|(_, deal)| deal)
    }

    fn reported_as(&self, business: BusinessId, name: (&str, &str), except: Option<DealId>) -> Option<DealId> {
        let mut own = self.of(business).filter(|deal| Some(deal.id) != except);
        own.find(|deal| deal.content.reported_as() == Some(name))
            .map(|deal| deal.id)
    }
}

/// A store in memory that holds deals, perhaps with other records. If it reads what deals name and show, it is a [`DealReader`]; with an
/// event log it is a [`DealStore`].
pub trait HoldsDeals: Send {
    /// The deals.
    fn held_deals(&mut self) -> &mut MemoryDeals;
}

/// A complete store: deals with their events, and what they name and show.
#[derive(Clone, Debug, Default)]
pub struct MemoryDealStore {
    /// The deals.
    pub deals: MemoryDeals,
    /// The recorded events.
    pub events: MemoryEvents,
    /// The contacts of each business.
    pub contacts: Vec<(BusinessId, BilledContact)>,
    /// The vehicles of each business.
    pub vehicles: Vec<(BusinessId, BilledVehicle)>,
    /// The leads of each business.
    pub leads: Vec<(BusinessId, LeadId)>,
    /// The deposits that contacts of each business have paid.
    pub deposits: Vec<(BusinessId, DealDeposit)>,
    /// The vehicles that deals have reserved.
    pub reserved: Vec<(VehicleId, DealId)>,
}

impl HoldsDeals for MemoryDealStore {
    fn held_deals(&mut self) -> &mut MemoryDeals {
        &mut self.deals
    }
}

impl HoldsEvents for MemoryDealStore {
    fn held_events(&mut self) -> &mut MemoryEvents {
        &mut self.events
    }
}

#[async_trait]
impl BillingReader for MemoryDealStore {
    async fn billed_contacts(&mut self, business: BusinessId, ids: &[ContactId]) -> StoreResult<Vec<BilledContact>> {
        let own = self.contacts.iter().filter(|(owner, _)| *owner == business);
        let named = own.filter(|(_, contact)| ids.contains(&contact.id));
        Ok(named.map(|(_, contact)| contact.clone()).collect())
    }

    async fn billed_vehicles(&mut self, business: BusinessId, ids: &[VehicleId]) -> StoreResult<Vec<BilledVehicle>> {
        let own = self.vehicles.iter().filter(|(owner, _)| *owner == business);
        let named = own.filter(|(_, vehicle)| ids.contains(&vehicle.id));
        Ok(named.map(|(_, vehicle)| vehicle.clone()).collect())
    }

    async fn deal_exists(&mut self, business: BusinessId, deal: DealId) -> StoreResult<bool> {
        Ok(self.deal(business, deal).await?.is_some())
    }
}

#[async_trait]
impl DealSurroundings for MemoryDealStore {
    async fn deposits_paid(&mut self, business: BusinessId, contacts: &[ContactId]) -> StoreResult<Vec<DealDeposit>> {
        let own = self.deposits.iter().filter(|(owner, _)| *owner == business);
        let theirs = own.filter(|(_, paid)| contacts.contains(&paid.contact));
        Ok(theirs.map(|(_, paid)| *paid).collect())
    }

    async fn reserved_by_deals(
        &mut self,
        _: BusinessId,
        vehicles: &[VehicleId],
    ) -> StoreResult<Vec<(VehicleId, DealId)>> {
        let named = self.reserved.iter().filter(|(vehicle, _)| vehicles.contains(vehicle));
        Ok(named.copied().collect())
    }

    async fn is_lead_known(&mut self, business: BusinessId, lead: LeadId) -> StoreResult<bool> {
        Ok(self.leads.contains(&(business, lead)))
    }
}

#[async_trait]
impl<S: HoldsDeals + BillingReader + DealSurroundings> DealReader for S {
    async fn deal(&mut self, business: BusinessId, id: DealId) -> StoreResult<Option<Deal>> {
        let stored = self.held_deals().deals.get(&id).filter(|(owner, _)| *owner == business);
        Ok(stored.map(|(_, deal)| deal.clone()))
    }

    async fn deals(
        &mut self,
        business: BusinessId,
        filter: &DealFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Deal>> {
        let newest_first = self.held_deals().of(business).rev();
        let passing = newest_first.filter(|deal| filter.matches(deal));
        Ok(page_of(passing, page, |deal| deal.id.get()))
    }
}

#[async_trait]
impl<S: HoldsDeals> ContactDealReader for S {
    async fn contact_deals(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: DealId,
    ) -> StoreResult<Vec<Deal>> {
        let own = self.held_deals().of(business);
        let theirs = own.filter(|deal| deal.id > after && deal.content.contact == Some(contact));
        Ok(theirs.cloned().collect())
    }
}

#[async_trait]
impl<S: HoldsDeals + BillingReader + DealSurroundings + EventLog> DealStore for S {
    async fn lock_deal(&mut self, business: BusinessId, id: DealId) -> StoreResult<Option<Deal>> {
        self.deal(business, id).await
    }

    async fn deal_reported_as(
        &mut self,
        business: BusinessId,
        provider: &str,
        external_id: &str,
    ) -> StoreResult<Option<DealId>> {
        Ok(self.held_deals().reported_as(business, (provider, external_id), None))
    }

    async fn open_deals_of_vehicle(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<Vec<DealId>> {
        let own = self.held_deals().of(business);
        let open = own.filter(|deal| deal.content.vehicle == Some(vehicle) && deal.content.stage.is_open());
        Ok(open.map(|deal| deal.id).collect())
    }

    async fn insert_deal(&mut self, business: BusinessId, content: DealContent, at: Timestamp) -> StoreResult<Deal> {
        let held = self.held_deals();
        let known = content
            .reported_as()
            .and_then(|name| held.reported_as(business, name, None));
        if known.is_some() {
            return Err(StoreError::Conflict);
        }
        let last = held.deals.last_key_value().map_or(0, |(id, _)| id.get());
        let reference = held.references.entry(business).or_default();
        *reference += 1;
        let deal = Deal {
            id: DealId::new(last + 1),
            reference: *reference,
            version: Version::FIRST,
            created: at,
            updated: at,
            content,
            around: Surroundings::default(),
        };
        held.deals.insert(deal.id, (business, deal.clone()));
        Ok(deal)
    }

    async fn save_deal(&mut self, business: BusinessId, deal: &Deal) -> StoreResult<()> {
        let held = self.held_deals();
        let name = deal.content.reported_as();
        if name
            .and_then(|name| held.reported_as(business, name, Some(deal.id)))
            .is_some()
        {
            return Err(StoreError::Conflict);
        }
        let stored = Deal {
            around: Surroundings::default(),
            ..deal.clone()
        };
        held.deals.insert(deal.id, (business, stored));
        Ok(())
    }
}

/// The time of the first deal of the suite.
const AT: Timestamp = Timestamp::from_epoch_seconds(1_790_000_000);

fn line(text: &str) -> Line {
    Line::new(text).expect("it is short")
}

fn long(text: &str) -> LongText {
    LongText::new(text).expect("it is short")
}

/// A deal with a value in every member.
pub fn a_full_deal() -> DealContent {
    let money = |minor| Some(Money::from_minor(minor));
    let reason = DealReason {
        code: ReasonCode::Unaffordable,
        note: long("Asks again in spring."),
    };
    let mut content = DealContent {
        site: SiteId::new(2),
        contact: Some(ContactId::new(17)),
        lead: Some(LeadId::new(73)),
        vehicle: Some(VehicleId::new(5)),
        staff: Some(StaffId::new(2)),
        source: LeadChannel::Website,
        provider: line("Desk"),
        external_id: line("d-1"),
        lines: vec![BillLine {
            id: 1,
            kind: LineKind::Product,
            product: Some(line("warranty-12")),
            vehicle: Some(VehicleId::new(5)),
            stock_number: Some(9),
            description: line("12 months' warranty"),
            category: None,
            quantity: 1,
            net: Money::from_minor(39_900),
            vat_scheme: VatScheme::Exempt,
            vat_rate: VatRate::ZERO,
            vat: Money::ZERO,
            gross: Money::from_minor(39_900),
            credited: Money::ZERO,
            nominal: line("4010"),
        }],
        price: money(1_299_500),
        price_sent: true,
        part_exchanges: vec![PartExchange {
            id: 1,
            registration: line("AB12 CDE"),
            vin: line("WVWZZZ1KZ6W000001"),
            make: line("Volkswagen"),
            model: line("Golf"),
            mileage: Some(61_000),
            vehicle: Some(VehicleId::new(6)),
            allowance: Money::from_minor(400_000),
            settlement: Money::from_minor(150_000),
            lender: Some(ContactId::new(18)),
            vat_scheme: ExchangeScheme::Standard,
            purchase: None,
            settlement_purchase: None,
            stock_vehicle: None,
        }],
        finance: DealFinance {
            kind: FinanceType::Pcp,
            provider: Some(ContactId::new(19)),
            amount: money(600_000),
            deposit: money(50_000),
            term: Some(48),
            apr: Some(VatRate::from_hundredths(990)),
            monthly: money(15_000),
            final_payment: money(10_000),
            admin_fee: money(100),
            option_purchase_fee: money(1_000),
            total_payable: money(781_100),
            status: FinanceStatus::Approved,
            reference: line("F-1"),
            commission_disclosed: true,
        },
        delivery: Delivery {
            method: DeliveryMethod::Delivery,
            date: "2026-12-01".parse::<Date>().ok(),
            address: long("1 High Street"),
            notes: long("Ring twice."),
        },
        distance: true,
        deposit: money(9_900),
        order: Some(OrderId::new(3)),
        invoice: Some(InvoiceId::new(4)),
        notes: long("Likes blue."),
        ..DealContent::blank(DealStage::Begin)
    };
    content.enter(DealStage::Begin, AT, MovedBy::Api, None);
    content.enter(DealStage::Declined, AT, MovedBy::System, Some(reason));
    content
}

/// Checks what every [`DealStore`] promises. The two businesses must have no deals in it, and have drawn no references.
///
/// # Panics
/// If the store breaks its contract.
pub async fn deal_store_contract(store: &mut dyn DealStore, ours: BusinessId, theirs: BusinessId) {
    keeps_every_field(store, ours, theirs).await;
    knows_deals_by_their_names(store, ours, theirs).await;
    finds_open_deals(store, ours, theirs).await;
    lists_what_passes(store, ours, theirs).await;
}

async fn insert(store: &mut dyn DealStore, business: BusinessId, content: DealContent) -> Deal {
    store.insert_deal(business, content, AT).await.expect("it is stored")
}

async fn keeps_every_field(store: &mut dyn DealStore, ours: BusinessId, theirs: BusinessId) {
    let unnamed = |content: DealContent| DealContent {
        external_id: Line::default(),
        ..content
    };
    let first = insert(store, ours, unnamed(a_full_deal())).await;
    let blank = insert(store, ours, DealContent::blank(DealStage::Pending)).await;
    let foreign = insert(store, theirs, DealContent::blank(DealStage::Begin)).await;
    assert_eq!((first.reference, blank.reference, foreign.reference), (1, 2, 1));
    assert!(first.id < blank.id);
    assert_eq!((first.version, first.created, first.updated), (Version::FIRST, AT, AT));
    for (business, deal) in [(ours, &first), (ours, &blank), (theirs, &foreign)] {
        let read = store.deal(business, deal.id).await.expect("it is read");
        assert_eq!(read.as_ref(), Some(deal));
        let locked = store.lock_deal(business, deal.id).await.expect("it is locked");
        assert_eq!(locked.as_ref(), Some(deal));
        assert!(store.deal_exists(business, deal.id).await.expect("it is read"));
    }
    assert_eq!(store.deal(theirs, first.id).await.expect("it is read"), None);
    assert_eq!(store.lock_deal(theirs, first.id).await.expect("it is read"), None);
    assert!(!store.deal_exists(theirs, first.id).await.expect("it is read"));
    let changed = Deal {
        version: blank.version.next(),
        updated: AT.plus_seconds(9),
        content: unnamed(a_full_deal()),
        ..blank.clone()
    };
    store.save_deal(ours, &changed).await.expect("it is saved");
    assert_eq!(store.deal(ours, blank.id).await.expect("it is read"), Some(changed));
    let emptied = Deal {
        version: first.version.next(),
        content: DealContent::blank(DealStage::Complete),
        ..first.clone()
    };
    store.save_deal(ours, &emptied).await.expect("it is saved");
    assert_eq!(store.deal(ours, first.id).await.expect("it is read"), Some(emptied));
}

async fn knows_deals_by_their_names(store: &mut dyn DealStore, ours: BusinessId, theirs: BusinessId) {
    let named = insert(store, ours, a_full_deal()).await;
    for (business, provider, external_id, expected) in [
        (ours, "Desk", "d-1", Some(named.id)),
        (ours, "desk", "d-1", None),
        (ours, "Desk", "d-2", None),
        (ours, "Desk", "", None),
        (theirs, "Desk", "d-1", None),
    ] {
        let found = store.deal_reported_as(business, provider, external_id).await;
        assert_eq!(found.expect("it is looked up"), expected, "{provider} {external_id}");
    }
    insert(store, theirs, a_full_deal()).await;
}

async fn finds_open_deals(store: &mut dyn DealStore, ours: BusinessId, theirs: BusinessId) {
    let car = VehicleId::new(901);
    let about = |stage| DealContent {
        vehicle: Some(car),
        ..DealContent::blank(stage)
    };
    let mut open = Vec::new();
    for stage in DealStage::ALL.iter().copied() {
        let deal = insert(store, ours, about(stage)).await;
        if stage.is_open() {
            open.push(deal.id);
        }
    }
    insert(store, theirs, about(DealStage::Begin)).await;
    let found = store.open_deals_of_vehicle(ours, car).await.expect("they are found");
    assert_eq!(found, open);
    let none = store.open_deals_of_vehicle(ours, VehicleId::new(902)).await;
    assert_eq!(none.expect("they are looked up"), []);
}

async fn lists_what_passes(store: &mut dyn DealStore, ours: BusinessId, theirs: BusinessId) {
    let site = SiteId::new(77);
    let mut stored = Vec::new();
    for place in 0..4 {
        let is_even = place % 2 == 0;
        let stage = [
            DealStage::Begin,
            DealStage::Declined,
            DealStage::Confirm,
            DealStage::Complete,
        ][usize::try_from(place).unwrap_or_default()];
        let content = DealContent {
            site,
            stage,
            contact: is_even.then_some(ContactId::new(807)),
            lead: is_even.then_some(LeadId::new(808)),
            vehicle: is_even.then_some(VehicleId::new(809)),
            staff: is_even.then_some(StaffId::new(3)),
            source: if is_even {
                LeadChannel::Phone
            } else {
                LeadChannel::Email
            },
            provider: line(if is_even { "Board" } else { "Other" }),
            external_id: line(&format!("x{place}")),
            order: is_even.then_some(OrderId::new(810)),
            invoice: is_even.then_some(InvoiceId::new(811)),
            ..a_full_deal()
        };
        let at = AT.plus_seconds(1_000 + place);
        stored.push(store.insert_deal(ours, content, at).await.expect("it is stored"));
    }
    let foreign = DealContent {
        site,
        external_id: line("x0"),
        provider: line("Board"),
        ..a_full_deal()
    };
    insert(store, theirs, foreign).await;
    let lately = |from: i64, to: i64| {
        Some(Range {
            from: Some(AT.plus_seconds(1_000 + from)),
            to: Some(AT.plus_seconds(1_000 + to)),
        })
    };
    macro_rules! by {
        ($($field:ident: $value:expr),*) => {
            DealFilter { $($field: $value,)* ..DealFilter::default() }
        };
    }
    let ours_alone = Some(site);
    let cases = [
        (by!(site: ours_alone), vec![3, 2, 1, 0]),
        (by!(reference: Some(stored[1].reference)), vec![1]),
        (by!(site: ours_alone, stage: Some(DealStage::Confirm)), vec![2]),
        (by!(site: ours_alone, open: Some(true)), vec![2, 0]),
        (by!(site: ours_alone, open: Some(false)), vec![3, 1]),
        (by!(contact: Some(ContactId::new(807))), vec![2, 0]),
        (by!(contact: Some(ContactId::new(800))), vec![]),
        (by!(lead: Some(LeadId::new(808))), vec![2, 0]),
        (by!(vehicle: Some(VehicleId::new(809))), vec![2, 0]),
        (by!(staff: Some(StaffId::new(3))), vec![2, 0]),
        (by!(source: Some(LeadChannel::Email)), vec![3, 1]),
        (by!(provider: Some("Board".to_owned())), vec![2, 0]),
        (by!(external_id: Some("x3".to_owned())), vec![3]),
        (by!(order: Some(OrderId::new(810))), vec![2, 0]),
        (by!(invoice: Some(InvoiceId::new(811)), open: Some(true)), vec![2, 0]),
        (by!(created: lately(1, 2)), vec![2, 1]),
        (by!(updated: lately(3, 9)), vec![3]),
    ];
    for (filter, expected) in cases {
        let expected: Vec<Deal> = expected.into_iter().map(|place: usize| stored[place].clone()).collect();
        assert_pages(
            &expected,
            |deal| deal.id.get(),
            async |request| {
                let page = store.deals(ours, &filter, &request).await;
                page.unwrap_or_else(|failure| panic!("{filter:?}: {failure}"))
            },
        )
        .await;
    }
}
