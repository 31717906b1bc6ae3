//! A team that has its own storage implements three small traits; here the storage is a map.

use std::collections::BTreeMap;

use async_trait::async_trait;
use forecourt_accounts::{BusinessFile, Caller};
use forecourt_kernel::{
    BusinessId, Clock, ContactId, EventLog, NewEvent, Page, PageRequest, ScopeSet, StoreResult, Timestamp, VehicleId,
    Version,
};
use forecourt_reference::StockType;
use forecourt_vehicles::{
    ChannelOptionsPatch, Detail, NewVehicle, SetChannels, UpdateVehicle, Vehicle, VehicleDraft, VehicleError,
    VehicleFilter, VehicleFollower, VehicleReader, VehicleStatus, VehicleStore, VehicleTag, VehicleView,
    create_vehicle, read_data, set_channels, update_vehicle,
};
use serde_json::json;

#[derive(Default)]
struct Memory {
    vehicles: BTreeMap<VehicleId, Vehicle>,
    contacts: BTreeMap<ContactId, String>,
    events: Vec<NewEvent>,
}

impl Memory {
    /// What is there, newest first; what is deleted is not.
    fn all(&self) -> impl Iterator<Item = &Vehicle> {
        let newest_first = self.vehicles.values().rev();
        newest_first.filter(|vehicle| vehicle.content.status != VehicleStatus::Deleted)
    }
}

#[async_trait]
impl VehicleReader for Memory {
    async fn vehicle(&mut self, _: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>> {
        Ok(self.all().find(|vehicle| vehicle.id == id).cloned())
    }

    async fn vehicles(&mut self, _: BusinessId, filter: &VehicleFilter, _: &PageRequest) -> StoreResult<Page<Vehicle>> {
        Ok(Page {
            items: self.all().filter(|vehicle| filter.matches(vehicle)).cloned().collect(),
            next: None,
            total: None,
        })
    }

    async fn vehicles_for_sale(&mut self, _: BusinessId) -> StoreResult<u32> {
        let for_sale = self.all().filter(|vehicle| vehicle.content.status.counts_as_for_sale());
        Ok(u32::try_from(for_sale.count()).unwrap_or(u32::MAX))
    }

    async fn contact_name(&mut self, _: BusinessId, id: ContactId) -> StoreResult<Option<String>> {
        Ok(self.contacts.get(&id).cloned())
    }
}

impl VehicleFollower for Memory {}

#[async_trait]
impl VehicleStore for Memory {
    async fn lock_vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>> {
        self.vehicle(business, id).await
    }

    async fn lock_vehicles_for_sale(&mut self, business: BusinessId) -> StoreResult<u32> {
        self.vehicles_for_sale(business).await
    }

    async fn insert_vehicle(&mut self, _: BusinessId, content: VehicleDraft, at: Timestamp) -> StoreResult<Vehicle> {
        let id = 1 + self.vehicles.keys().last().map_or(0, |last| last.get());
        let vehicle = Vehicle {
            id: VehicleId::new(id),
            tag: VehicleTag::nth(id.unsigned_abs()),
            created: at,
            updated: at,
            version: Version::FIRST,
            content,
        };
        self.vehicles.insert(vehicle.id, vehicle.clone());
        Ok(vehicle)
    }

    async fn save_vehicle(&mut self, _: BusinessId, vehicle: &Vehicle) -> StoreResult<()> {
        self.vehicles.insert(vehicle.id, vehicle.clone());
        Ok(())
    }
}

#[async_trait]
impl EventLog for Memory {
    async fn record(&mut self, _: BusinessId, event: NewEvent) -> StoreResult<()> {
        self.events.push(event);
        Ok(())
    }
}

/// The time is a port too, so that a test can be at any hour.
struct NewYear;

impl Clock for NewYear {
    fn now(&self) -> Timestamp {
        Timestamp::from_epoch_seconds(1_767_225_600)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let acme: BusinessFile = serde_json::from_str(r#"{"tag": "acme", "name": "Acme Cars"}"#)?;
    let by = Caller {
        key: "fck_0123456789abcdef".parse()?,
        scopes: ScopeSet::all(),
        business: acme.apply(None, NewYear.now())?.into(),
    };
    let mut store = Memory::default();

    let data = json!({
        "vehicle": {"type": "Car", "make": "Ford", "model": "Fiesta", "fuel": "petrol"},
        "stock": {"vin": "wf0kxxgcbkdp31574"},
    });
    let fiesta = NewVehicle {
        kind: StockType::InStock,
        registration: Some("ab17cde".parse()?),
        country: None,
        owner: None,
        parent: None,
        data: read_data(&data, &by.business, NewYear.now(), true)?,
    };
    let fiesta = create_vehicle(&mut store, &NewYear, &by, fiesta).await?;

    let publish = || SetChannels {
        channels: vec!["website".into()],
        options: ChannelOptionsPatch::default(),
    };
    let refused = set_channels(&mut store, &NewYear, &by, fiesta.id, publish()).await;
    assert!(
        matches!(refused, Err(VehicleError::PublishIncomplete(missing)) if missing == ["data.stock.price_website"])
    );

    let faulty = read_data(
        &json!({"stock": {"price_website": "9995"}}),
        &by.business,
        NewYear.now(),
        false,
    );
    let fault = faulty.err().map(|errors| errors.to_string());
    assert_eq!(fault.as_deref(), Some("data.stock.price_website must be a number"));

    let priced = read_data(
        &json!({"stock": {"price_website": 9995}}),
        &by.business,
        NewYear.now(),
        false,
    )?;
    update_vehicle(
        &mut store,
        &NewYear,
        &by,
        fiesta.id,
        UpdateVehicle {
            data: priced,
            ..UpdateVehicle::default()
        },
    )
    .await?;
    let fiesta = set_channels(&mut store, &NewYear, &by, fiesta.id, publish()).await?;
    assert_eq!(fiesta.content.status, VehicleStatus::ForSale);

    let shown = serde_json::to_value(VehicleView::new(&fiesta, &by.business, Detail::Simple, by.scopes))?;
    assert_eq!(shown["url"], "ford-fiesta-kqvrk");
    assert_eq!(shown["registration"], "AB17 CDE");
    assert_eq!(shown["data"]["vehicle"]["fuel"], "Petrol");
    assert_eq!(shown["data"]["stock"]["price_website"], "9995.00");

    let events: Vec<_> = store.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(events, ["vehicle.created", "vehicle.updated", "vehicle.updated"]);
    Ok(())
}
