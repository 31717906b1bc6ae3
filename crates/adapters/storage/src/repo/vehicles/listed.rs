//! The list of vehicles. The columns that it filters by are in a narrow table of their own, and those that it shows in
//! `vehicles`.

use diesel::prelude::*;
use diesel::sql_types::Bool;
use forecourt_kernel::{BusinessId, LeadId, Page, PageRequest, StaffId, StoreResult, TextFilter};
use forecourt_vehicles::{
    FieldCondition, FieldFilter, Vehicle, VehicleFilter, VehiclePreview, VehicleStatus, VehicleTag,
};

use super::super::session::{Mode, Session};
use super::{Conn, list};
use crate::models::{VehicleRow, key_of};
use crate::preview;
use crate::schema::vehicles;
use crate::selection::{RecordKind, Selection, TextIndex};
use crate::statement::{RunQueryDsl, Sql};

const VEHICLES: RecordKind = RecordKind {
    table: "vehicle_facts",
    rows: "vehicles",
    texts: Some(TextIndex {
        name: "vehicle_search",
        has_columns: true,
    }),
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
    list.noted("vehicles", "id", "tag", tag.as_ref().map(VehicleTag::as_str));
    list.noted("vehicle_channels", "vehicle_id", "channel", channel.as_deref());
    list.noted("vehicle_tags", "vehicle_id", "name", tag_name.as_deref());
    list.noted("lead_vehicles", "vehicle_id", "lead_id", lead.map(LeadId::get));
    list.created(*created);
    list.updated(*updated);
    list
}

/// Returns a page of the vehicles that pass `filter`.
pub(super) async fn page(
    session: &mut Session<impl Mode>,
    business: BusinessId,
    filter: &VehicleFilter,
    request: &PageRequest,
) -> StoreResult<Page<Vehicle>> {
    let found = list::find(session, &selection(business, filter), request).await?;
    let total = found.total;
    let rows: Vec<VehicleRow> = found
        .select(VehicleRow::as_select())
        .load(session.flushed_conn().await?)
        .await?;
    Page::of(rows, request, total, |row| row.id).try_map(Vehicle::try_from)
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
    let found = list::find(session, &selection(business, filter), request).await?;
    let total = found.total;
    let preview = found.select((vehicles::id, vehicles::preview));
    let rows: Vec<(i64, Option<String>)> = preview.load(session.flushed_conn().await?).await?;
    let Page { items, next, total } = Page::of(rows, request, total, |row| row.0);
    let (mut items, others) = preview::stored(items);
    if let Some(others) = others {
        let rows = self::rows(session.flushed_conn().await?, business, others).await?;
        let read = rows.into_iter().map(Vehicle::try_from).collect::<StoreResult<_>>()?;
        items = preview::with_read(items, read)?;
    }
    Ok(Page { items, next, total })
}
