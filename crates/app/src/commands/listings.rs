//! `forecourt listings`.

use forecourt_accounts::Business;
use forecourt_dealership::{Database, Session};
use forecourt_kernel::{Clock, Cursor, PageRequest, Position, VehicleId};
use forecourt_listings::{Build, Difference, rebuild};
use forecourt_vehicles::VehicleFilter;
use serde::Serialize;

use super::{CommandError, business_of_tag};
use crate::{
    background::is_settled,
    cli::{Format, ListingsCommand},
    output,
    progress::Progress,
    system::SystemClock,
    transaction::transact,
};

/// The number of vehicles that one transaction processes: few enough that other writers do not wait noticeably.
const AT_ONCE: u32 = 50;

/// Runs a command on listings.
///
/// # Errors
/// [`CommandError`].
pub(super) async fn run(database: &dyn Database, command: ListingsCommand) -> Result<(), CommandError> {
    let ListingsCommand::Rebuild { business, format } = command;
    rebuild_all(database, business.as_deref(), format).await
}

/// The outcome of rebuilding the listings of a business.
#[derive(Debug, Serialize)]
struct RebuildReport {
    /// The business's tag.
    business: String,
    /// The number of vehicles that were processed.
    vehicles: u64,
    /// The number of listings now.
    listed: u64,
    /// The differences that were corrected.
    differences: Vec<FoundDifference>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct FoundDifference {
    /// Vehicle id.
    id: i64,
    /// The difference: missing, stale or extra.
    found: &'static str,
}

async fn rebuild_all(database: &dyn Database, tag: Option<&str>, format: Format) -> Result<(), CommandError> {
    let businesses = transact::<_, CommandError>(database, async |session| match tag {
        Some(tag) => Ok(vec![business_of_tag(session, tag).await?]),
        None => Ok(session.businesses().await?),
    })
    .await?;
    let mut reports = Vec::with_capacity(businesses.len());
    let mut progress = Progress::count("vehicles");
    let mut vehicles = 0;
    for business in &businesses {
        let report = rebuild_listings(database, business, |looked_at| progress.reach(vehicles + looked_at)).await?;
        vehicles += report.vehicles;
        if !format.json {
            progress.print(|| print(&report))?;
        }
        reports.push(report);
    }
    drop(progress);
    match reports.as_slice() {
        _ if !format.json => Ok(()),
        [report] if tag.is_some() => Ok(output::json(report)?),
        reports => Ok(output::json(&reports)?),
    }
}

fn print(report: &RebuildReport) -> Result<(), CommandError> {
    let RebuildReport {
        business,
        vehicles,
        listed,
        differences,
    } = report;
    for FoundDifference { id, found } in differences {
        output::line(format_args!(
            "{business}: the listing of vehicle {id} was {found}, and is mended"
        ))?;
    }
    let wrong = differences.len();
    Ok(output::line(format_args!(
        "{business}: {vehicles} vehicles looked at, {listed} listed, {wrong} listings mended"
    ))?)
}

/// Makes every listing of a business once more, in small transactions; after each, `progress` gets the number of processed
/// vehicles.
async fn rebuild_listings(
    database: &dyn Database,
    business: &Business,
    mut progress: impl FnMut(u64),
) -> Result<RebuildReport, CommandError> {
    let mut report = RebuildReport {
        business: business.tag.clone(),
        vehicles: 0,
        listed: 0,
        differences: Vec::new(),
    };
    // A server makes listings once more that were made before every server knows of the change.
    let begun = is_settled(business, SystemClock.now()).then_some(Build {
        of: business.updated,
        below: Some(VehicleId::new(i64::MAX)),
    });
    move_build(database, business, |_| begun).await?;
    let mut below = Some(i64::MAX);
    while let Some(before) = below {
        let (ids, found, next) = transact::<_, CommandError>(database, async |session| {
            let request = PageRequest {
                position: Position::After(Cursor::at([before])),
                per_page: AT_ONCE,
            };
            let page = session
                .vehicles(business.id, &VehicleFilter::default(), &request)
                .await?;
            let ids: Vec<VehicleId> = page.items.iter().map(|vehicle| vehicle.id).collect();
            let mut found = Vec::new();
            for &id in &ids {
                found.extend(rebuild_listing(session, business, id).await?);
            }
            Ok((ids, found, page.next.map(|cursor| cursor.id())))
        })
        .await?;
        report.vehicles += ids.len() as u64;
        report.differences.extend(found);
        progress(report.vehicles);
        below = next;
    }
    // Listings left from vehicles that no longer exist.
    let mut after = Some(VehicleId::new(0));
    while let Some(behind) = after {
        let (ids, found) = transact::<_, CommandError>(database, async |session| {
            let ids = session.stored_listings(business.id, behind, AT_ONCE).await?;
            let mut found = Vec::new();
            for &id in &ids {
                found.extend(rebuild_listing(session, business, id).await?);
            }
            Ok((ids, found))
        })
        .await?;
        let removed = found
            .iter()
            .filter(|found| found.found == Difference::Extra.as_str())
            .count();
        report.listed += (ids.len() - removed) as u64;
        report.differences.extend(found);
        after = ids.last().copied().filter(|_| ids.len() >= AT_ONCE as usize);
    }
    // A server has nothing left to make, unless it has begun to, or vehicles were loaded meanwhile.
    let ended = begun.map(|build| Build { below: None, ..build });
    move_build(database, business, |build| ended.filter(|_| begun == Some(build))).await?;
    Ok(report)
}

/// Replaces the record of how far the listings of a business have been made by the result of `to`, unless that is `None` or
/// another transaction holds the record.
async fn move_build(
    database: &dyn Database,
    business: &Business,
    to: impl Fn(Build) -> Option<Build>,
) -> Result<(), CommandError> {
    transact::<_, CommandError>(database, async |session| {
        if let Some(build) = session.lock_build(business.id).await?.and_then(&to) {
            session.save_build(business.id, build).await?;
        }
        Ok(())
    })
    .await
}

async fn rebuild_listing(
    session: &mut dyn Session,
    business: &Business,
    id: VehicleId,
) -> Result<Option<FoundDifference>, CommandError> {
    // Locked, so that it does not change until its listing is written.
    let vehicle = session.lock_vehicle(business.id, id).await?;
    let difference = rebuild(session, business, id, vehicle.as_ref(), SystemClock.now()).await?;
    Ok(difference.map(|difference: Difference| FoundDifference {
        id: id.get(),
        found: difference.as_str(),
    }))
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::{BusinessId, Timestamp};

    use super::*;
    use crate::{memory::MemoryDatabase, sample::testing::a_business};

    async fn build_of(database: &MemoryDatabase, business: BusinessId) -> Option<Build> {
        let mut session = database.begin().await.unwrap();
        session.lock_build(business).await.unwrap()
    }

    /// Rebuilds the listings of a business that was last changed this number of seconds ago.
    async fn rebuilt(seconds: i64) -> (Option<Build>, Timestamp) {
        let database = MemoryDatabase::default();
        let mut session = database.begin().await.unwrap();
        let mut business = Business {
            updated: SystemClock.now().plus_seconds(-seconds),
            ..a_business()
        };
        business.id = session.insert_business(&business).await.unwrap();
        session.commit().await.unwrap();
        rebuild_listings(&database, &business, |_| {}).await.unwrap();
        (build_of(&database, business.id).await, business.updated)
    }

    #[tokio::test]
    async fn a_server_makes_nothing_of_what_was_rebuilt() {
        let (build, updated) = rebuilt(60).await;
        let ended = Build {
            of: updated,
            below: None,
        };
        assert_eq!(build, Some(ended));
    }

    #[tokio::test]
    async fn a_server_makes_the_listings_of_a_business_that_changed_just_now() {
        let (build, updated) = rebuilt(0).await;
        assert!(build.is_some_and(|build| build.of < updated && build.below.is_some()));
    }
}
