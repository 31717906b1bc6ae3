//! Stores made-up records in the database, many at a time.

use std::time::{Duration, Instant};

use forecourt_accounts::Business;
use forecourt_contacts::ContactFilter;
use forecourt_dealership::{Database, Session};
use forecourt_kernel::{BusinessId, Cursor, Page, PageRequest, Position, StoreError, StoreResult, View};
use forecourt_vehicles::VehicleFilter;

use super::{Customers, ExistingRecords, Generator, Stock};
use crate::{progress::Progress, transaction::transact};

/// The number of records that one transaction stores: enough that its fsync does not matter, few enough that other writers do
/// not wait long. SQLite also keeps an undo list for a failing statement, which it walks at each insert, so a batch must not be
/// too long.
const BATCH: u64 = 500;

/// The result of loading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadReport {
    /// The number of stored records.
    pub(crate) records: u64,
    /// The time that it took.
    pub(crate) took: Duration,
}

/// Stores `count` leads of the generator for a business, in batches: a failure leaves those before it.
///
/// # Errors
/// The store's.
pub(crate) async fn load_leads(
    database: &dyn Database,
    business: BusinessId,
    mut generator: Generator,
    count: u64,
) -> Result<LoadReport, StoreError> {
    let make = |at| generator.lead(at, count);
    load(database, "leads", count, make, async |session, leads| {
        session.load_made_leads(business, leads).await
    })
    .await
}

/// Stores contacts in the same way.
///
/// # Errors
/// The store's.
pub(crate) async fn load_contacts(
    database: &dyn Database,
    business: BusinessId,
    mut customers: Customers,
    count: u64,
) -> Result<LoadReport, StoreError> {
    let make = |at| customers.contact(at, count);
    load(database, "contacts", count, make, async |session, contacts| {
        session.load_made_contacts(business, contacts).await
    })
    .await
}

/// Stores vehicles in the same way.
///
/// # Errors
/// The store's.
pub(crate) async fn load_vehicles(
    database: &dyn Database,
    business: BusinessId,
    mut stock: Stock,
    count: u64,
) -> Result<LoadReport, StoreError> {
    let make = |at| stock.vehicle(at, count);
    load(database, "vehicles", count, make, async |session, vehicles| {
        session.load_made_vehicles(business, vehicles).await
    })
    .await
}

/// The maximum number of a business's contacts, and of its vehicles, to which made-up records refer: the newest.
const KNOWN: usize = 20_000;

/// Reads the existing records to which a business's made-up vehicles and leads refer.
///
/// # Errors
/// The store's.
pub(crate) async fn existing(session: &mut dyn Session, business: &Business) -> StoreResult<ExistingRecords> {
    let mut known = ExistingRecords::new(session.vehicles_for_sale(business.id).await?);
    let contacts = newest(async |page: &PageRequest| {
        let filter = ContactFilter::default();
        session.contacts(business.id, &filter, page, View::Simple).await
    });
    for contact in contacts.await? {
        known.add_contact(contact);
    }
    let vehicles =
        newest(async |page: &PageRequest| session.vehicles(business.id, &VehicleFilter::default(), page).await);
    for vehicle in vehicles.await? {
        let address = business.vehicle_address(&vehicle.url());
        known.add_vehicle(&vehicle, address);
    }
    Ok(known)
}

/// Returns the newest records of a list, the oldest of them first.
async fn newest<T>(mut read: impl AsyncFnMut(&PageRequest) -> StoreResult<Page<T>>) -> StoreResult<Vec<T>> {
    let mut found = Vec::new();
    let mut next = Some(Cursor::at([i64::MAX]));
    while let Some(cursor) = next.filter(|_| found.len() < KNOWN) {
        let page = PageRequest {
            position: Position::After(cursor),
            per_page: PageRequest::MAX_PER_PAGE,
        };
        let page = read(&page).await?;
        found.extend(page.items);
        next = page.next;
    }
    found.reverse();
    Ok(found)
}

async fn load<R: Clone>(
    database: &dyn Database,
    kind: &'static str,
    count: u64,
    make: impl FnMut(u64) -> R,
    store: impl AsyncFn(&mut dyn Session, Vec<R>) -> Result<(), StoreError>,
) -> Result<LoadReport, StoreError> {
    let begun = Instant::now();
    let mut progress = Progress::of(kind, count);
    let mut made = (0..count).map(make);
    let mut loaded = 0;
    while loaded < count {
        let end = count.min(loaded + BATCH);
        let records: Vec<R> = made
            .by_ref()
            .take(usize::try_from(end - loaded).unwrap_or(usize::MAX))
            .collect();
        transact(database, async |session| store(session, records.clone()).await).await?;
        loaded = end;
        progress.reach(loaded);
    }
    database.analyze().await?;
    Ok(LoadReport {
        records: loaded,
        took: begun.elapsed(),
    })
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::Timestamp;

    use super::*;
    use crate::{
        memory::MemoryDatabase,
        sample::{Period, testing::a_business},
    };

    #[tokio::test]
    async fn all_are_stored_in_order_and_none_twice_after_a_conflict() {
        let database = MemoryDatabase::default();
        database.refuse_commits(1);
        let period = Period::days_before(Timestamp::from_epoch_seconds(1_000_000_000), 10);
        let count = BATCH + 10;
        let generator = Generator::new(&a_business(), 1, period, ExistingRecords::default());
        let report = load_leads(&database, BusinessId::new(1), generator, count)
            .await
            .unwrap();
        assert_eq!(report.records, count);
        let leads = database.state().records.leads;
        assert_eq!(leads.all().count() as u64, count);
        assert!(leads.all().is_sorted_by_key(|lead| lead.created));
    }

    #[tokio::test]
    async fn vehicles_know_the_contacts_and_what_is_for_sale_already() {
        let database = MemoryDatabase::default();
        let (business, id) = (a_business(), BusinessId::new(1));
        let period = Period::days_before(Timestamp::from_epoch_seconds(1_790_000_000), 60);
        load_contacts(&database, id, Customers::new(&business, 1, period), 50)
            .await
            .unwrap();
        let known = async || {
            let mut session = database.begin().await.unwrap();
            existing(&mut *session, &Business { id, ..business.clone() })
                .await
                .unwrap()
        };
        let before = known().await;
        assert_eq!(before.for_sale, 0);
        let stock = Stock::new(&business, 1, period, before);
        let report = load_vehicles(&database, id, stock, 300).await.unwrap();
        assert_eq!((report.records, database.state().vehicles.all().count()), (300, 300));
        let known = known().await;
        assert!(known.for_sale > 100, "{}", known.for_sale);
        let vehicles = database.state().records.vehicles;
        assert!(vehicles.all().is_sorted_by_key(|vehicle| vehicle.created));
        let offered =
            |vehicle: &forecourt_vehicles::Vehicle| vehicle.content.data.appraisal.details.customer_id.0.is_some();
        assert!(vehicles.all().any(offered));
        let generator = Generator::new(&business, 1, period, known);
        load_leads(&database, id, generator, 200).await.unwrap();
        let state = database.state();
        let concerned = state.leads.associations().len();
        assert!(concerned > 80, "{concerned}");
        let linked = state.leads.all().filter(|lead| lead.content.contact.is_some());
        assert!(linked.count() > 30);
    }
}
