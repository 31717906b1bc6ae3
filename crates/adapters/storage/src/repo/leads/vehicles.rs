//! The vehicles that leads concern.
//!
//! An association refers to the lead and to the vehicle's place in lists, and is deleted with either: a deleted vehicle has no
//! such place.

use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error as QueryError};
use forecourt_kernel::{
    BusinessId, LeadId, Page, PageRequest, Position, StoreError, StoreResult, Timestamp, VehicleId, fold,
};
use forecourt_leads::{LeadVehicle, StockVehicle, VehicleChoice, VehicleClue};
use forecourt_vehicles::{Registration, Vehicle, VehicleTag};

use super::{Conn, Db};
use crate::error::store_error;
use crate::models::{VehicleRow, key_of};
use crate::schema::{lead_vehicles, leads, vehicle_facts, vehicles};
use crate::statement::{AnyStatement, Connection as _, RunQueryDsl};

/// Returns the chosen vehicle, unless it is deleted.
pub(super) async fn named(
    conn: &mut Conn,
    business: BusinessId,
    choice: &VehicleChoice,
) -> StoreResult<Option<StockVehicle>> {
    let kept = vehicles::table
        .filter(vehicles::business_id.eq(business.get()))
        .filter(vehicles::deleted.eq(false))
        .select(VehicleRow::as_select());
    let row: Option<VehicleRow> = match choice {
        VehicleChoice::Id(id) => kept.filter(vehicles::id.eq(id.get())).get_optional(conn).await?,
        VehicleChoice::Tag(text) => match text.parse::<VehicleTag>() {
            Ok(tag) => kept.filter(vehicles::tag.eq(tag.as_str())).get_optional(conn).await?,
            // A text that is no tag is no vehicle's tag.
            Err(_) => return Ok(None),
        },
    };
    row.map(stock_vehicle).transpose()
}

/// Returns the first vehicle of this description. A deleted one is in no list, and so is not found.
pub(super) async fn described(
    conn: &mut Conn,
    business: BusinessId,
    clue: &VehicleClue,
) -> StoreResult<Option<VehicleId>> {
    macro_rules! first {
        ($column:ident, $value:expr) => {
            vehicle_facts::table
                .filter(vehicle_facts::business_id.eq(business.get()))
                .filter(vehicle_facts::$column.assume_not_null().eq($value))
                .order(vehicle_facts::id)
                .limit(1)
                .select(vehicle_facts::id)
                .get_optional::<i64>(conn)
                .await?
        };
    }
    let found = match clue {
        VehicleClue::StockNumber(number) => {
            let key = key_of(&fold(number));
            match first!(number, &key) {
                None => first!(reference, &key),
                found => found,
            }
        }
        VehicleClue::Vin(vin) => first!(vin, key_of(&fold(vin))),
        VehicleClue::Registration(mark) => match mark.parse::<Registration>() {
            Ok(mark) => first!(registration, mark.key()),
            // A text that is no mark is no vehicle's mark.
            Err(_) => None,
        },
    };
    Ok(found.map(VehicleId::new))
}

/// Returns a page of a lead's vehicles, or `None` if there is no such lead.
pub(super) async fn page(
    conn: &mut Conn,
    business: BusinessId,
    lead: LeadId,
    request: &PageRequest,
) -> StoreResult<Option<Page<LeadVehicle>>> {
    let known = leads::table.find((business.get(), lead.get())).select(leads::id);
    let known: Option<i64> = known.get_optional(conn).await?;
    if known.is_none() {
        return Ok(None);
    }
    let all = || {
        lead_vehicles::table
            .filter(lead_vehicles::business_id.eq(business.get()))
            .filter(lead_vehicles::lead_id.eq(lead.get()))
    };
    let total = match request.position {
        Position::Number(_) => Some(all().count().get_result(conn).await?),
        Position::After(_) => None,
    };
    let same = vehicles::business_id
        .eq(lead_vehicles::business_id)
        .and(vehicles::id.eq(lead_vehicles::vehicle_id));
    let mut query = all().inner_join(vehicles::table.on(same)).into_boxed::<Db>();
    if let Position::After(cursor) = &request.position {
        query = query.filter(lead_vehicles::vehicle_id.lt(cursor.id()));
    }
    let rows: Vec<(i64, VehicleRow)> = query
        .order((lead_vehicles::lead_id.desc(), lead_vehicles::vehicle_id.desc()))
        .limit(request.wanted())
        .offset(request.offset().unwrap_or_default())
        .select((lead_vehicles::created, VehicleRow::as_select()))
        .load(conn)
        .await?;
    let associated = |(created, row)| {
        Ok(LeadVehicle {
            lead,
            vehicle: stock_vehicle(row)?,
            created: Timestamp::from_epoch_seconds(created),
        })
    };
    let page = Page::of(rows, request, total, |(_, row)| row.id);
    page.try_map(associated).map(Some)
}

/// Stores an association; returns `false` if there is one already.
pub(super) async fn associate(
    conn: &mut Conn,
    business: BusinessId,
    lead: LeadId,
    vehicle: VehicleId,
    at: Timestamp,
) -> StoreResult<bool> {
    let row = (
        lead_vehicles::business_id.eq(business.get()),
        lead_vehicles::lead_id.eq(lead.get()),
        lead_vehicles::vehicle_id.eq(vehicle.get()),
        lead_vehicles::created.eq(at.epoch_seconds()),
    );
    let insert = diesel::insert_into(lead_vehicles::table)
        .values(row)
        .on_conflict_do_nothing();
    match conn.execute_any(AnyStatement::new(insert)).await {
        Ok(rows) => Ok(rows > 0),
        // Deleted since it was looked up: the retry reports that.
        Err(QueryError::DatabaseError(DatabaseErrorKind::ForeignKeyViolation, _)) => Err(StoreError::Conflict),
        Err(error) => Err(store_error(error)),
    }
}

/// Deletes an association; returns `false` if there is none.
pub(super) async fn dissociate(
    conn: &mut Conn,
    business: BusinessId,
    lead: LeadId,
    vehicle: VehicleId,
) -> StoreResult<bool> {
    let row = lead_vehicles::table.find((business.get(), vehicle.get(), lead.get()));
    let deleted = diesel::delete(row).execute(conn).await?;
    Ok(deleted > 0)
}

fn stock_vehicle(row: VehicleRow) -> StoreResult<StockVehicle> {
    let vehicle = Vehicle::try_from(row)?;
    let url = vehicle.url();
    let Vehicle { id, tag, content, .. } = vehicle;
    let described = content.data.vehicle;
    Ok(StockVehicle {
        id,
        tag: tag.into(),
        registration: content.registration.as_ref().map(ToString::to_string),
        kind: content.kind,
        make: described.make,
        model: described.model,
        derivative: described.derivative,
        url,
    })
}
