//! Tests of the use cases, over a store in memory and at a fixed hour.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong in a test fails it")]

mod assessment;
mod assign;
mod conversation;
mod create;
mod delete;
mod enquiry_mail;
mod failures;
mod model;
mod read;
mod reopen;
mod status;
mod suggestion;
mod support;
mod update;
mod vehicles;
mod versions;

/// The store of these tests meets its contract.
mod in_memory {
    use forecourt_accounts::Business;
    use forecourt_kernel::{BusinessId, ContactId, VehicleId};
    use forecourt_leads::{
        StockVehicle,
        testing::{
            KnownContact, KnownVehicle, MemoryStore, Surroundings, conversation_store_contract, lead_reader_contract,
            lead_store_contract,
        },
    };

    use crate::support::golf;

    #[tokio::test]
    async fn the_store_keeps_the_contract_of_leads() {
        let (ours, theirs) = (BusinessId::new(1), BusinessId::new(2));
        let contact = |id, email: &str, numbers: [&str; 2]| KnownContact {
            id: ContactId::new(id),
            email: email.into(),
            numbers: numbers.map(str::to_owned),
        };
        let vehicle = |id: i64, numbers: [&str; 2], vin: &str| KnownVehicle {
            vehicle: StockVehicle {
                id: VehicleId::new(id),
                tag: format!("KQVR{id}"),
                registration: (!vin.is_empty()).then(|| "AB12 CDE".into()),
                ..golf()
            },
            numbers: numbers.map(str::to_owned),
            vin: vin.into(),
        };
        let described = |id| vehicle(id, ["A-17", "Ref 9"], "WVWZZZ1KZ6W000001");
        let around = Surroundings {
            ours,
            theirs,
            contacts: [
                contact(1, "Ann@Example.com", ["+441632960123", "+447700900123"]),
                contact(2, "", ["", "+447700900999"]),
            ],
            vehicles: [
                vehicle(1, ["", ""], ""),
                vehicle(2, ["", ""], ""),
                vehicle(3, ["", ""], ""),
                described(4),
                described(5),
            ],
            their_vehicle: vehicle(6, ["", ""], ""),
        };
        let mut store = MemoryStore::default();
        for contact in &around.contacts {
            store.leads.know_contact(ours, contact.clone());
        }
        for vehicle in &around.vehicles {
            store.leads.know_vehicle(ours, vehicle.clone());
        }
        store.leads.know_vehicle(theirs, around.their_vehicle.clone());
        let book = lead_store_contract(&mut store, &around).await;
        lead_reader_contract(&mut store, &book).await;
    }

    #[tokio::test]
    async fn the_store_keeps_the_contract_of_conversations() {
        let [ours, theirs] = [1, 2].map(|id| Business::new(BusinessId::new(id), "acme", "Acme Cars"));
        conversation_store_contract(&mut MemoryStore::default(), &ours, &theirs).await;
    }
}
