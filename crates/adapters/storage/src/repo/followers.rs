//! The records that follow a vehicle in its transactions: its listing, its entry in the stock book, its jobs, and the appointments
//! about it.

use async_trait::async_trait;
use forecourt_accounts::Business;
use forecourt_files::FileName;
use forecourt_jobs::{apply_boards, remove_jobs};
use forecourt_kernel::{StoreResult, Timestamp, VehicleId};
use forecourt_listings::follow;
use forecourt_stock_book::follow_vehicle;
use forecourt_vehicles::{Vehicle, VehicleFollower};

use super::session::{Session, Write};

#[async_trait]
impl VehicleFollower for Session<Write> {
    async fn vehicle_changed(&mut self, business: &Business, vehicle: &Vehicle, at: Timestamp) -> StoreResult<()> {
        follow(self, business, vehicle, at).await?;
        follow_vehicle(self, business, vehicle).await
    }

    async fn vehicle_created(&mut self, business: &Business, vehicle: &Vehicle, at: Timestamp) -> StoreResult<()> {
        apply_boards(self, business, vehicle.id, vehicle.content.kind, at).await
    }

    async fn vehicle_deleted(
        &mut self,
        business: &Business,
        vehicle: VehicleId,
        at: Timestamp,
    ) -> StoreResult<Vec<FileName>> {
        remove_jobs(self, business.id, vehicle, at).await
    }

    async fn vehicle_lost(&mut self, business: &Business, vehicle: &Vehicle, at: Timestamp) -> StoreResult<()> {
        super::appointments::vehicle_lost(self, business, vehicle, at).await
    }
}
