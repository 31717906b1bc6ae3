//! The list of vehicles. The columns that it filters by are in a narrow table of their own, and those that it shows in
//! `vehicles`.

use diesel::prelude::*;
use diesel::sql_types::Bool;
use forecourt_kernel::{BusinessId, Page, PageRequest, StaffId, StoreResult, TextFilter};
use forecourt_vehicles::{
    FieldCondition, FieldFilter, Vehicle, VehicleFilter, VehiclePreview, VehicleStatus, VehicleTag,
};

use super::super::selection::{RecordKind, Selection};
use super::super::session::{Mode, Session};
use super::{Conn, list};
use crate::models::{VehicleRow, key_of};
use crate::preview;
use crate::schema::vehicles;
use crate::statement::{RunQueryDsl, Sql};

const VEHICLES: RecordKind = RecordKind {
    table: "vehicle_facts",
    rows: "vehicles",
    // A walk through the narrow rows of a business is as fast.
    texts: None,
};

/// Selects the vehicles that pass `filter`. A filter by a field of the data has a column of its name.
fn selection(business: BusinessId, filter: &VehicleFilter) -> Selection {
    let VehicleFilter {
        kind,
        status,
        registration,
        tag,
        owner,
        channel,
        tag_name,
        created,
        updated,
        lead,
        fields,
    } = filter;
    let mut list = Selection::all(VEHICLES, business);
    list.is("kind", kind.map(|kind| kind.key()));
    let states = |choice: forecourt_vehicles::StatusChoice| {
        let meant = VehicleStatus::ALL
            .into_iter()
            .filter(move |status| choice.means(*status));
        meant.map(VehicleStatus::name)
    };
    list.any_of("status", status.map(states));
    list.is("registration", registration.as_deref());
    list.is("owner", owner.map(StaffId::get));
    for FieldFilter { name, wanted } in fields {
        match wanted {
            FieldCondition::AnyOf(texts) => list.any_of(name, Some(texts.iter().map(|text| key_of(text)))),
            FieldCondition::Text(TextFilter::Exact(text)) => list.is(name, Some(key_of(text))),
            FieldCondition::Text(pattern) => list.text(name, Some(pattern)),
            FieldCondition::Within(range) => list.within(name, Some(*range)),
        }
    }
    list.linked("vehicles", "id", "tag", tag.as_ref().map(VehicleTag::as_str));
    list.tagged("vehicle_channels", "vehicle_id", "channel", channel.as_deref());
    list.tagged("vehicle_tags", "vehicle_id", "name", tag_name.as_deref());
    if let Some(lead) = lead {
        list.linked("lead_vehicles", "vehicle_id", "lead_id", Some(lead.get()));
        // To associate a vehicle with a lead is a write of the lead.
        list.forget_total();
    }
    list.during("created", *created);
    list.during("updated", *updated);
    list
}

/// Returns a page of the vehicles that pass `filter`.
pub(super) async fn page(
    session: &mut Session<impl Mode>,
    business: BusinessId,
    filter: &VehicleFilter,
    request: &PageRequest,
) -> StoreResult<Page<Vehicle>> {
    let selection = selection(business, filter);
    let columns = VehicleRow::as_select();
    let page = list::page(session, &selection, request, columns, |row: &VehicleRow| row.id).await?;
    page.try_map(Vehicle::try_from)
}

/// Reads these vehicles in full.
async fn rows(conn: &mut Conn, business: BusinessId, which: Sql<Bool>) -> StoreResult<Vec<VehicleRow>> {
    vehicles::table
        .filter(vehicles::business_id.eq(business.get()))
        .filter(vehicles::deleted.eq(false))
        .filter(which)
        .order(vehicles::id.desc())
        .select(VehicleRow::as_select())
        .load(conn)
        .await
}

/// Returns the same page in the simple view.
pub(super) async fn previews(
    session: &mut Session<impl Mode>,
    business: BusinessId,
    filter: &VehicleFilter,
    request: &PageRequest,
) -> StoreResult<Page<VehiclePreview>> {
    let selection = selection(business, filter);
    let columns = (vehicles::id, vehicles::preview);
    let page = list::page(session, &selection, request, columns, |row: &(i64, Option<String>)| {
        row.0
    })
    .await?;
    let Page { items, next, total } = page;
    let (mut items, others) = preview::stored(items);
    if let Some(others) = others {
        let rows = self::rows(session.flushed_conn().await?, business, others).await?;
        let read = rows.into_iter().map(Vehicle::try_from).collect::<StoreResult<_>>()?;
        items = preview::with_read(items, read)?;
    }
    Ok(Page { items, next, total })
}
