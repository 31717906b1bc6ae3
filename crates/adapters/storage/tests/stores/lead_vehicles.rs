//! The vehicles that leads concern, beyond the contract of `leads`.

use forecourt_dealership::ReadSession;
use forecourt_kernel::{BusinessId, LeadId, PageRequest, StoreError, VehicleId};
use forecourt_leads::{LeadFilter, VehicleChoice};
use forecourt_vehicles::{VehicleDraft, VehicleFilter, VehicleStatus};

use crate::installation::{Installation, both_engines};
use crate::samples::{a_car, a_lead, at};

both_engines!(
    a_deleted_vehicle_is_not_found,
    vehicles_are_listed_by_a_lead_of_their_business,
    simultaneous_associations_are_one,
    what_is_not_committed_is_not_associated,
    a_vehicle_that_changes_keeps_its_leads,
    a_deleted_vehicle_leaves_its_leads,
    a_vehicle_that_is_deleted_meanwhile_is_a_conflict,
);

impl Installation {
    /// Stores this number of empty vehicles; returns their ids, oldest first.
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

/// Returns the ids of the lead's vehicles, and checks their number.
async fn of_lead(reader: &mut dyn ReadSession, business: BusinessId, lead: LeadId) -> Vec<VehicleId> {
    let page = reader
        .lead_vehicles(business, lead, &PageRequest::first())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(page.total, i64::try_from(page.items.len()).ok());
    page.items.iter().map(|item| item.vehicle.id).collect()
}

/// Returns the ids of the leads that concern the vehicle, and checks their number.
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

async fn a_deleted_vehicle_is_not_found(installation: Installation) {
    let business = installation.business("acme").await;
    let car = installation.cars(business, 1).await[0];
    let mut reader = installation.read().await;
    let tag = reader.vehicle(business, car).await.unwrap().unwrap().tag.to_string();
    let choices = [VehicleChoice::Id(car), VehicleChoice::Tag(tag)];
    for choice in &choices {
        assert!(reader.stock_vehicle(business, choice).await.unwrap().is_some());
    }
    drop(reader);
    installation.delete_car(business, car).await;
    let mut reader = installation.read().await;
    for choice in &choices {
        assert_eq!(
            reader.stock_vehicle(business, choice).await.unwrap(),
            None,
            "{choice:?}"
        );
    }
}

async fn vehicles_are_listed_by_a_lead_of_their_business(installation: Installation) {
    let (ours, theirs) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    let (our_lead, their_lead) = (installation.a_lead(ours).await, installation.a_lead(theirs).await);
    let cars = installation.cars(ours, 2).await;
    let their_car = installation.cars(theirs, 1).await[0];
    for car in &cars {
        installation.associate(ours, our_lead, *car, 0).await;
    }
    installation.associate(theirs, their_lead, their_car, 0).await;
    let mut reader = installation.read().await;
    assert_eq!(by_lead(reader.as_mut(), ours, our_lead).await, [cars[1], cars[0]]);
    assert!(by_lead(reader.as_mut(), ours, their_lead).await.is_empty());
    assert_eq!(of_lead(reader.as_mut(), theirs, their_lead).await, [their_car]);
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
