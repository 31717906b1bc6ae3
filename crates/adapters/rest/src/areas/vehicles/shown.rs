//! Vehicles in answers.

use forecourt_accounts::{Shown, ShownRecord};
use forecourt_dealership::Session;
use forecourt_kernel::{Scope, View};
use forecourt_vehicles::{self as vehicles, Detail, Vehicle, VehicleView};

use crate::{call::Call, error::ApiError, record::Personal, reply::Reply};

/// Returns the members of a vehicle that the caller may see.
pub(super) fn shown<'a>(vehicle: &'a Vehicle, call: &'a Call, view: View) -> VehicleView<'a> {
    let detail = match view {
        View::Simple => Detail::Simple,
        View::Full => Detail::Full,
    };
    VehicleView::new(vehicle, &call.caller.business, detail, call.caller.scopes)
}

impl Personal for Vehicle {
    type View<'a> = VehicleView<'a>;

    fn view<'a>(&'a self, call: &'a Call) -> VehicleView<'a> {
        shown(self, call, View::Full)
    }

    /// It shows the person who offered it.
    fn shown(&self) -> Shown {
        let customer = &self.content.data.appraisal.details.customer_id;
        Shown {
            contact: customer.0.map(|customer| customer.0),
            record: Some(ShownRecord::Vehicle(self.id)),
        }
    }
}

/// Runs a write that answers with a vehicle. The answer to a retry may have been made for another key of the business, so
/// everything that this key may not see is removed.
pub(super) async fn write_vehicle<C: Clone>(
    call: &Call,
    command: Result<C, ApiError>,
    work: impl AsyncFn(&mut dyn Session, C) -> Result<Reply, ApiError>,
) -> Result<Reply, ApiError> {
    let reply = call.write(command, work).await?;
    if reply.replayed && !call.caller.may(Scope::VehiclePricingRead) {
        return reply.withholding(|vehicle| vehicles::project(vehicle, call.caller.scopes));
    }
    Ok(reply)
}
