//! The use cases on the store in memory: a vehicle is created, priced and published.

use forecourt_accounts::{Business, Caller};
use forecourt_kernel::{BusinessId, Clock as _, ScopeSet, Timestamp, testing::FixedClock};
use forecourt_reference::StockType;
use forecourt_vehicles::{
    ChannelOptionsPatch, Detail, NewVehicle, SetChannels, UpdateVehicle, VehicleError, VehicleStatus, VehicleView,
    create_vehicle, read_data, set_channels, testing::MemoryStore, update_vehicle,
};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let by = Caller::of(Business::new(BusinessId::new(1), "acme", "Acme Cars"), ScopeSet::all());
    let (mut store, clock) = (
        MemoryStore::default(),
        FixedClock::at(Timestamp::from_epoch_seconds(1_767_225_600)),
    );

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
        data: read_data(&data, &by.business, clock.now(), true)?,
    };
    let fiesta = create_vehicle(&mut store, &clock, &by, fiesta).await?;

    let publish = || SetChannels {
        channels: Some(vec!["website".into()]),
        options: ChannelOptionsPatch::default(),
    };
    let refused = set_channels(&mut store, &clock, &by, fiesta.id, publish()).await;
    assert!(
        matches!(refused, Err(VehicleError::PublishIncomplete(missing)) if missing == ["data.stock.price_website"])
    );

    let faulty = read_data(
        &json!({"stock": {"price_website": "9995"}}),
        &by.business,
        clock.now(),
        false,
    );
    let fault = faulty.err().map(|errors| errors.to_string());
    assert_eq!(fault.as_deref(), Some("data.stock.price_website must be a number"));

    let priced = read_data(
        &json!({"stock": {"price_website": 9995}}),
        &by.business,
        clock.now(),
        false,
    )?;
    update_vehicle(
        &mut store,
        &clock,
        &by,
        fiesta.id,
        UpdateVehicle {
            data: priced,
            ..UpdateVehicle::default()
        },
    )
    .await?;
    let fiesta = set_channels(&mut store, &clock, &by, fiesta.id, publish()).await?;
    assert_eq!(fiesta.content.status, VehicleStatus::ForSale);

    let shown = serde_json::to_value(VehicleView::new(&fiesta, &by.business, Detail::Simple, by.scopes))?;
    assert_eq!(shown["url"], "ford-fiesta-kqvrk");
    assert_eq!(shown["registration"], "AB17 CDE");
    assert_eq!(shown["data"]["vehicle"]["fuel"], "Petrol");
    assert_eq!(shown["data"]["stock"]["price_website"], "9995.00");

    let events: Vec<_> = store.events.iter().map(|(_, event)| event.name.as_str()).collect();
    assert_eq!(events, ["vehicle.created", "vehicle.updated", "vehicle.updated"]);
    Ok(())
}
