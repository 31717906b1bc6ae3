//! The vehicles that leads concern.

use forecourt_dealership::ReadSession;
use forecourt_kernel::{BusinessId, Cursor, LeadId, PageRequest, Position, StoreError, VehicleId};
use forecourt_leads::{LeadFilter, LeadVehicle, StockVehicle, VehicleChoice};
use forecourt_reference::StockType;
use forecourt_vehicles::{Vehicle, VehicleDraft, VehicleFilter, VehicleStatus};

use crate::installation::{Installation, both_engines};
use crate::samples::{a_car, a_lead, at};

both_engines!(
    a_vehicle_is_found_by_its_id_and_by_its_tag,
    a_vehicle_is_associated_once_with_each_lead,
    simultaneous_associations_are_one,
    pages_are_in_the_order_of_the_vehicles,
    what_is_not_committed_is_not_associated,
    a_vehicle_that_changes_keeps_its_leads,
    a_deleted_vehicle_leaves_its_leads,
    a_vehicle_that_is_deleted_meanwhile_is_a_conflict,
    businesses_are_apart,
);

impl Installation {
    /// Stores that many vehicles of which nothing is known; yields their ids, oldest first.
    pub(crate) async fn cars(&self, business: BusinessId, count: usize) -> Vec<VehicleId> {
        let mut session = self.begin().await;
        let mut ids = Vec::new();
        for _ in 0..count {
            ids.push(session.insert_vehicle(business, a_car(), at(0)).await.unwrap().id);
        }
        session.commit().await.unwrap();
        ids
    }

    pub(crate) async fn associate(&self, business: BusinessId, lead: LeadId, vehicle: VehicleId, second: i64) -> bool {
        let mut session = self.begin().await;
        let new = session
            .associate_vehicle(business, lead, vehicle, at(second))
            .await
            .unwrap();
        session.commit().await.unwrap();
        new
    }

    async fn dissociate(&self, business: BusinessId, lead: LeadId, vehicle: VehicleId) -> bool {
        let mut session = self.begin().await;
        let known = session.dissociate_vehicle(business, lead, vehicle).await.unwrap();
        session.commit().await.unwrap();
        known
    }

    /// Gives a vehicle the content that `change` makes of it.
    async fn change_car(&self, business: BusinessId, id: VehicleId, change: impl FnOnce(&mut VehicleDraft)) {
        let mut session = self.begin().await;
        let mut vehicle = session.lock_vehicle(business, id).await.unwrap().unwrap();
        change(&mut vehicle.content);
        session.save_vehicle(business, &vehicle).await.unwrap();
        session.commit().await.unwrap();
    }

    async fn delete_car(&self, business: BusinessId, id: VehicleId) {
        self.change_car(business, id, |content| content.status = VehicleStatus::Deleted)
            .await;
    }

    async fn a_lead(&self, business: BusinessId) -> LeadId {
        self.lead(business, a_lead(), 0).await.id
    }
}

/// The ids of the lead's vehicles, and how many there are.
async fn of_lead(reader: &mut dyn ReadSession, business: BusinessId, lead: LeadId) -> Vec<VehicleId> {
    let page = reader
        .lead_vehicles(business, lead, &PageRequest::first())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(page.total, i64::try_from(page.items.len()).ok());
    page.items.iter().map(|item| item.vehicle.id).collect()
}

/// The ids of the leads that concern the vehicle, and how many there are.
async fn of_vehicle(reader: &mut dyn ReadSession, business: BusinessId, vehicle: VehicleId) -> Vec<LeadId> {
    let filter = LeadFilter {
        vehicle: Some(vehicle),
        ..LeadFilter::default()
    };
    let page = reader.leads(business, &filter, &PageRequest::first()).await.unwrap();
    assert_eq!(page.total, i64::try_from(page.items.len()).ok());
    page.items.iter().map(|lead| lead.id).collect()
}

/// The ids of the vehicles that the list of vehicles finds by the lead.
async fn by_lead(reader: &mut dyn ReadSession, business: BusinessId, lead: LeadId) -> Vec<VehicleId> {
    let filter = VehicleFilter {
        lead: Some(lead),
        ..VehicleFilter::default()
    };
    let page = reader.vehicles(business, &filter, &PageRequest::first()).await.unwrap();
    assert_eq!(page.total, i64::try_from(page.items.len()).ok());
    page.items.iter().map(|vehicle| vehicle.id).collect()
}

async fn a_vehicle_is_found_by_its_id_and_by_its_tag(installation: Installation) {
    let business = installation.business("acme").await;
    let mut draft = VehicleDraft {
        kind: StockType::Customer,
        registration: "ab12 cde".parse().ok(),
        ..a_car()
    };
    draft.data.vehicle.make = "Škoda".into();
    draft.data.vehicle.model = "Octavia".into();
    draft.data.vehicle.derivative = "2.0 TDI".into();
    let mut session = installation.begin().await;
    let stored: Vehicle = session.insert_vehicle(business, draft, at(0)).await.unwrap();
    let expected = StockVehicle {
        id: stored.id,
        tag: stored.tag.to_string(),
        registration: Some("AB12 CDE".into()),
        kind: StockType::Customer,
        make: "Škoda".into(),
        model: "Octavia".into(),
        derivative: "2.0 TDI".into(),
        url: stored.url(),
    };
    let tag = stored.tag.to_string();
    let choices = [
        VehicleChoice::Id(stored.id),
        VehicleChoice::Tag(tag.clone()),
        VehicleChoice::Tag(tag.to_lowercase()),
    ];
    for choice in &choices {
        let found = session.stock_vehicle(business, choice).await.unwrap();
        assert_eq!(found.as_ref(), Some(&expected), "{choice:?}");
    }
    session.commit().await.unwrap();
    let mut reader = installation.read().await;
    for choice in &choices {
        let found = reader.stock_vehicle(business, choice).await.unwrap();
        assert_eq!(found.as_ref(), Some(&expected), "{choice:?}");
    }
    for choice in [
        VehicleChoice::Id(VehicleId::new(stored.id.get() + 1)),
        VehicleChoice::Id(VehicleId::new(0)),
        VehicleChoice::Id(VehicleId::new(i64::MAX)),
        VehicleChoice::Tag("ZZZZZ".into()),
        VehicleChoice::Tag("no tag at all".into()),
        VehicleChoice::Tag(String::new()),
    ] {
        assert_eq!(
            reader.stock_vehicle(business, &choice).await.unwrap(),
            None,
            "{choice:?}"
        );
    }
    drop(reader);
    installation.delete_car(business, stored.id).await;
    let mut reader = installation.read().await;
    for choice in &choices {
        assert_eq!(
            reader.stock_vehicle(business, choice).await.unwrap(),
            None,
            "{choice:?}"
        );
    }
}

async fn a_vehicle_is_associated_once_with_each_lead(installation: Installation) {
    let business = installation.business("acme").await;
    let (one, other) = (installation.a_lead(business).await, installation.a_lead(business).await);
    let cars = installation.cars(business, 2).await;
    assert!(installation.associate(business, one, cars[0], 5).await);
    assert!(!installation.associate(business, one, cars[0], 6).await);
    assert!(installation.associate(business, one, cars[1], 7).await);
    assert!(installation.associate(business, other, cars[0], 8).await);

    let mut reader = installation.read().await;
    let page = reader
        .lead_vehicles(business, one, &PageRequest::first())
        .await
        .unwrap()
        .unwrap();
    let mut expected = Vec::new();
    for (car, second) in [(cars[1], 7), (cars[0], 5)] {
        let vehicle = reader.stock_vehicle(business, &VehicleChoice::Id(car)).await.unwrap();
        expected.push(LeadVehicle {
            lead: one,
            vehicle: vehicle.unwrap(),
            created: at(second),
        });
    }
    assert_eq!((page.items, page.next, page.total), (expected, None, Some(2)));
    assert_eq!(of_vehicle(reader.as_mut(), business, cars[0]).await, [other, one]);
    assert_eq!(of_vehicle(reader.as_mut(), business, cars[1]).await, [one]);
    assert_eq!(by_lead(reader.as_mut(), business, one).await, [cars[1], cars[0]]);
    drop(reader);

    assert!(installation.dissociate(business, one, cars[0]).await);
    assert!(!installation.dissociate(business, one, cars[0]).await);
    assert!(!installation.dissociate(business, other, cars[1]).await);
    let mut reader = installation.read().await;
    assert_eq!(of_lead(reader.as_mut(), business, one).await, [cars[1]]);
    assert_eq!(of_lead(reader.as_mut(), business, other).await, [cars[0]]);
    assert_eq!(of_vehicle(reader.as_mut(), business, cars[0]).await, [other]);
    let missing = LeadId::new(other.get() + 1);
    let page = reader
        .lead_vehicles(business, missing, &PageRequest::first())
        .await
        .unwrap();
    assert_eq!(page, None);
}

async fn simultaneous_associations_are_one(installation: Installation) {
    let business = installation.business("acme").await;
    let lead = installation.a_lead(business).await;
    let car = installation.cars(business, 1).await[0];
    let tasks: Vec<_> = (0..12)
        .map(|second| {
            let database = installation.database.clone();
            tokio::spawn(async move {
                // Without the lead's lock, which would let one in after the other.
                let mut session = database.begin().await.unwrap();
                let new = session
                    .associate_vehicle(business, lead, car, at(second))
                    .await
                    .unwrap();
                session.commit().await.unwrap();
                new
            })
        })
        .collect();
    let mut made = 0;
    for task in tasks {
        made += usize::from(task.await.unwrap());
    }
    assert_eq!(made, 1);
}

async fn pages_are_in_the_order_of_the_vehicles(installation: Installation) {
    let business = installation.business("acme").await;
    let lead = installation.a_lead(business).await;
    let cars = installation.cars(business, 5).await;
    for index in [2, 4, 0, 3, 1] {
        installation.associate(business, lead, cars[index], 0).await;
    }
    let mut reader = installation.read().await;
    let mut seen = Vec::new();
    let mut position = Position::Number(1);
    loop {
        let request = PageRequest { position, per_page: 2 };
        let page = reader.lead_vehicles(business, lead, &request).await.unwrap().unwrap();
        let is_numbered = matches!(request.position, Position::Number(_));
        assert_eq!(page.total, is_numbered.then_some(5));
        seen.extend(page.items.iter().map(|item| item.vehicle.id));
        match page.next {
            Some(next) => position = Position::After(next),
            None => break,
        }
    }
    let newest_first: Vec<_> = cars.iter().rev().copied().collect();
    assert_eq!(seen, newest_first);
    for (number, expected) in [(2, &newest_first[2..4]), (3, &newest_first[4..]), (4, &[])] {
        let request = PageRequest {
            position: Position::Number(number),
            per_page: 2,
        };
        let page = reader.lead_vehicles(business, lead, &request).await.unwrap().unwrap();
        let ids: Vec<_> = page.items.iter().map(|item| item.vehicle.id).collect();
        assert_eq!((&*ids, page.next.is_some()), (expected, number < 3));
    }
    let request = PageRequest {
        position: Position::After(Cursor::at([cars[0].get()])),
        per_page: 2,
    };
    let page = reader.lead_vehicles(business, lead, &request).await.unwrap().unwrap();
    assert!(page.items.is_empty() && page.next.is_none());
}

async fn what_is_not_committed_is_not_associated(installation: Installation) {
    let business = installation.business("acme").await;
    let lead = installation.a_lead(business).await;
    let car = installation.cars(business, 1).await[0];
    let mut session = installation.begin().await;
    assert!(session.associate_vehicle(business, lead, car, at(0)).await.unwrap());
    let page = session
        .lead_vehicles(business, lead, &PageRequest::first())
        .await
        .unwrap();
    assert_eq!(page.unwrap().items.len(), 1);
    drop(session);
    let mut reader = installation.read().await;
    assert!(of_lead(reader.as_mut(), business, lead).await.is_empty());
}

async fn a_vehicle_that_changes_keeps_its_leads(installation: Installation) {
    let business = installation.business("acme").await;
    let lead = installation.a_lead(business).await;
    let car = installation.cars(business, 1).await[0];
    installation.associate(business, lead, car, 0).await;
    let change = |content: &mut VehicleDraft| {
        content.data.vehicle.make = "Seat".into();
        content.channels = vec!["website".into()];
    };
    installation.change_car(business, car, change).await;
    let mut reader = installation.read().await;
    let page = reader
        .lead_vehicles(business, lead, &PageRequest::first())
        .await
        .unwrap();
    assert_eq!(page.unwrap().items[0].vehicle.make, "Seat");
    assert_eq!(of_vehicle(reader.as_mut(), business, car).await, [lead]);
}

async fn a_deleted_vehicle_leaves_its_leads(installation: Installation) {
    let business = installation.business("acme").await;
    let (one, other) = (installation.a_lead(business).await, installation.a_lead(business).await);
    let cars = installation.cars(business, 2).await;
    for lead in [one, other] {
        for car in &cars {
            installation.associate(business, lead, *car, 0).await;
        }
    }
    installation.delete_car(business, cars[1]).await;
    let mut reader = installation.read().await;
    for lead in [one, other] {
        assert_eq!(of_lead(reader.as_mut(), business, lead).await, [cars[0]]);
        assert_eq!(by_lead(reader.as_mut(), business, lead).await, [cars[0]]);
    }
    assert!(of_vehicle(reader.as_mut(), business, cars[1]).await.is_empty());
    assert_eq!(of_vehicle(reader.as_mut(), business, cars[0]).await, [other, one]);
    drop(reader);
    assert!(!installation.dissociate(business, one, cars[1]).await);
}

async fn a_vehicle_that_is_deleted_meanwhile_is_a_conflict(installation: Installation) {
    let business = installation.business("acme").await;
    let lead = installation.a_lead(business).await;
    let car = installation.cars(business, 1).await[0];
    installation.delete_car(business, car).await;
    let mut session = installation.begin().await;
    let outcome = session.associate_vehicle(business, lead, car, at(0)).await;
    assert!(matches!(outcome, Err(StoreError::Conflict)), "{outcome:?}");
}

async fn businesses_are_apart(installation: Installation) {
    let (ours, theirs) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    let (our_lead, their_lead) = (installation.a_lead(ours).await, installation.a_lead(theirs).await);
    let our_car = installation.cars(ours, 1).await[0];
    let their_car = installation.cars(theirs, 2).await[1];
    installation.associate(ours, our_lead, our_car, 0).await;
    installation.associate(theirs, their_lead, their_car, 0).await;

    let mut reader = installation.read().await;
    let their_tag = reader
        .vehicle(theirs, their_car)
        .await
        .unwrap()
        .unwrap()
        .tag
        .to_string();
    for choice in [VehicleChoice::Id(their_car), VehicleChoice::Tag(their_tag)] {
        assert_eq!(reader.stock_vehicle(ours, &choice).await.unwrap(), None);
    }
    let page = reader
        .lead_vehicles(ours, their_lead, &PageRequest::first())
        .await
        .unwrap();
    assert_eq!(page, None);
    assert!(of_vehicle(reader.as_mut(), ours, their_car).await.is_empty());
    assert!(by_lead(reader.as_mut(), ours, their_lead).await.is_empty());
    drop(reader);
    for (lead, car) in [(our_lead, their_car), (their_lead, our_car), (their_lead, their_car)] {
        assert!(!installation.dissociate(ours, lead, car).await);
    }
    let mut reader = installation.read().await;
    assert_eq!(of_lead(reader.as_mut(), theirs, their_lead).await, [their_car]);
}
