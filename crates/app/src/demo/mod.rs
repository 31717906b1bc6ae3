//! A sample dealership, to try the API on.

mod appointments;
mod articles;
mod bills;
mod calls;
mod deals;
mod photos;
mod purchases;
mod reviews;
mod yard;

pub(crate) use photos::Gallery;

use forecourt_accounts::{Business, BusinessFile, IssuedKey, Token, issue_key};
use forecourt_contacts::{Contact, ContactFilter};
use forecourt_dealership::{Database, Loaded, Session};
use forecourt_kernel::{BoxError, Clock, Cursor, PageRequest, Position, ScopeSet, StoreError, StoreResult, View};
use forecourt_leads::LeadStatus;
use forecourt_reference::{StockType, VehicleClass};
use forecourt_vehicles::{Vehicle, VehicleDraft, VehicleFilter, VehicleStatus};

use crate::{
    commands::CommandError,
    mail_kinds::mail_kinds,
    output::{self, OutputError},
    sample::{Customers, Generator, Period, Stock, existing},
    transaction::transact,
};

/// The dealership's file.
const FILE: &str = include_str!("business.json");
/// The number of its leads in each status.
const LEADS_PER_STATUS: u64 = 7;
/// The number of its contacts.
const CONTACTS: u64 = 40;
/// The number of its vehicles of each stock type and in each state; those for sale are the newest.
const VEHICLES: &[(usize, StockType, VehicleStatus)] = &[
    (2, StockType::Appraisal, VehicleStatus::Added),
    (2, StockType::Appraisal, VehicleStatus::Appraised),
    (1, StockType::Appraisal, VehicleStatus::Accepted),
    (1, StockType::Appraisal, VehicleStatus::Rejected),
    (1, StockType::Courtesy, VehicleStatus::Draft),
    (2, StockType::Courtesy, VehicleStatus::InUse),
    (1, StockType::Courtesy, VehicleStatus::Closed),
    (1, StockType::Customer, VehicleStatus::Draft),
    (2, StockType::Customer, VehicleStatus::OnSite),
    (1, StockType::Customer, VehicleStatus::Closed),
    (1, StockType::ToOrder, VehicleStatus::Complete),
    (1, StockType::ToOrder, VehicleStatus::Sold),
    (2, StockType::ToOrder, VehicleStatus::ForSale),
    (1, StockType::ToOrder, VehicleStatus::Reserved),
    (1, StockType::ToOrder, VehicleStatus::Draft),
    (4, StockType::InStock, VehicleStatus::Complete),
    (4, StockType::InStock, VehicleStatus::Sold),
    (5, StockType::InStock, VehicleStatus::Draft),
    (3, StockType::InStock, VehicleStatus::Reserved),
    (24, StockType::InStock, VehicleStatus::ForSale),
];
/// The number of days over which vehicles and leads arrived.
const DAYS: i64 = 30;
/// The number of days over which contacts did: most are older than the vehicles that they offer or supply.
const CONTACT_DAYS: i64 = 365;
const SEED: u64 = 1;

/// The data to try the API with.
#[derive(Debug)]
pub(crate) enum Demo {
    /// The sample dealership, just created, with its key.
    Made(Token),
    /// A database that has a business already; it is unchanged.
    ThereAlready {
        /// The tag of one of its businesses.
        tag: String,
    },
}

/// Creates the sample dealership with contacts, vehicles in every state, leads in every status and a key with every scope, all
/// or nothing. Does nothing if the database has a business.
///
/// # Errors
/// [`CommandError::Store`].
pub(crate) async fn prepare(
    database: &dyn Database,
    gallery: &Gallery<'_>,
    clock: &dyn Clock,
) -> Result<Demo, CommandError> {
    let now = clock.now();
    let file: BusinessFile = serde_json::from_str(FILE).map_err(|error| CommandError::Demo(error.into()))?;
    let business = file
        .apply(None, &mail_kinds(), now)
        .map_err(|error| CommandError::Demo(BoxError::from(error)))?;
    transact(database, async |session| {
        let stored = session.businesses().await?;
        if let Some(Business { tag, .. }) = stored.first() {
            return Ok(Demo::ThereAlready { tag: tag.clone() });
        }
        let id = session.insert_business(&business).await?;
        let IssuedKey { key, token } = issue_key(Some(id), ScopeSet::all(), Vec::new(), None, now, gallery.random);
        session.insert_key(&key).await?;
        // A starting state has no events: they are held until the session ends.
        session.hold_events();
        let business = Business { id, ..business.clone() };
        let period = Period::days_before(now, DAYS);
        let mut customers = Customers::new(&business, SEED, Period::days_before(now, CONTACT_DAYS));
        let contacts = (0..CONTACTS).map(|at| customers.contact(at, CONTACTS));
        session.load_made_contacts(id, contacts.collect()).await?;
        let mut stock = Stock::new(&business, SEED, period, existing(session, &business).await?);
        let mut vehicles = vehicles(&mut stock);
        gallery.hang(session, id, &mut vehicles, now).await?;
        session.load_made_vehicles(id, vehicles).await?;
        let mut generator = Generator::new(&business, SEED, period, existing(session, &business).await?);
        let statuses = LeadStatus::ALL.into_iter().cycle();
        let count = LEADS_PER_STATUS * LeadStatus::ALL.len() as u64;
        let leads = (0..count)
            .zip(statuses)
            .map(|(at, status)| generator.lead_with(status, at, count));
        session.load_made_leads(id, leads.collect()).await?;
        reviews::load(session, id, now).await?;
        calls::load(session, &business, now).await?;
        appointments::load(session, &business, gallery.random, clock).await?;
        articles::load(session, id, now).await?;
        yard::load(session, gallery, &business, clock).await?;
        // Their futures are long.
        Box::pin(purchases::load(session, &business, clock)).await?;
        bills::load(session, &business, clock).await?;
        Box::pin(deals::load(session, &business, clock)).await?;
        Ok(Demo::Made(token))
    })
    .await
}

/// Reads more than the dealership has of any record, newest first.
fn everything() -> PageRequest {
    PageRequest {
        position: Position::After(Cursor::at([i64::MAX])),
        per_page: 200,
    }
}

/// Returns the dealership's stored vehicles, newest first.
async fn stored_vehicles(session: &mut dyn Session, business: &Business) -> StoreResult<Vec<Vehicle>> {
    let filter = VehicleFilter::default();
    Ok(session.vehicles(business.id, &filter, &everything()).await?.items)
}

/// Returns the dealership's stored contacts, newest first.
async fn stored_contacts(session: &mut dyn Session, business: &Business) -> StoreResult<Vec<Contact>> {
    let filter = ContactFilter::default();
    let page = session
        .contacts(business.id, &filter, &everything(), View::Full)
        .await?;
    Ok(page.items)
}

/// The error for what a use case refuses: the dealership's records are ours, so it is no caller's fault.
fn refused(error: impl Into<BoxError>) -> StoreError {
    StoreError::Other(error.into())
}

/// Returns the dealership's vehicles. The first of those for sale are one of each class.
fn vehicles(stock: &mut Stock) -> Vec<Loaded<VehicleDraft>> {
    let states = VEHICLES
        .iter()
        .flat_map(|&(count, kind, status)| std::iter::repeat_n((kind, status), count));
    let count: usize = VEHICLES.iter().map(|(count, _, _)| count).sum();
    let mut classes = VehicleClass::ALL.into_iter();
    (0..)
        .zip(states)
        .map(|(at, (kind, status))| {
            let offered = (kind, status) == (StockType::InStock, VehicleStatus::ForSale);
            let class = if offered { classes.next() } else { None };
            stock.vehicle_with((kind, status), class, at, count as u64)
        })
        .collect()
}

impl Demo {
    /// Prints how to try the API at `base_url`.
    ///
    /// # Errors
    /// [`OutputError::Closed`].
    pub(crate) fn print(&self, base_url: &str) -> Result<(), OutputError> {
        output::text(&match self {
            Self::Made(token) => first_steps(base_url, &token.reveal()),
            Self::ThereAlready { tag } => next_steps(base_url, tag),
        })
    }
}

fn first_steps(base_url: &str, token: &str) -> String {
    format!(
        r#"A sample dealership is ready to try.

Base URL: {base_url}
Token:    {token}

curl -H 'Authorization: Bearer {token}' '{base_url}/2.0/vehicles?status=for-sale&make=Ford'
curl -H 'Authorization: Bearer {token}' '{base_url}/2.0/leads?status=new'
curl -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' -d '{{"name": "Ann Smith", "email": "ann@example.com", "type": "test_drive", "data": {{"message": "Is Saturday all right?"}}}}' '{base_url}/2.0/leads'

The token is not shown again. The documentation is at {base_url}/docs
"#
    )
}

fn next_steps(base_url: &str, tag: &str) -> String {
    format!(
        "The database has data already, so no demo data was added.

Base URL: {base_url}

A token is shown only once, when its key is made. Make another key with:
forecourt key create --business {tag} --scopes all

The documentation is at {base_url}/docs
"
    )
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use forecourt_appointments::AppointmentStatus;
    use forecourt_billing::BillStatus;
    use forecourt_calls::CallOutcome;
    use forecourt_deals::DealStage;
    use forecourt_files::testing::{CopyingPictureMaker, MemoryFileStore};
    use forecourt_invoices::{InvoiceKind, InvoiceStatus};
    use forecourt_orders::OrderStatus;
    use forecourt_purchases::PurchaseKind;
    use forecourt_vehicles::TestDrive;

    use super::*;
    use crate::{
        memory::{FixedClock, MemoryDatabase, clock_at},
        system::SystemRandom,
    };

    async fn prepared(database: &MemoryDatabase, clock: &FixedClock) -> Demo {
        let gallery = Gallery {
            files: &MemoryFileStore::default(),
            pictures: &CopyingPictureMaker,
            draw: |paint| paint.to_vec(),
            random: &SystemRandom,
        };
        prepare(database, &gallery, clock).await.unwrap()
    }

    #[tokio::test]
    async fn an_empty_database_gets_a_dealership_with_records_in_every_state_once() {
        let (database, clock) = (MemoryDatabase::default(), clock_at(1_790_000_000));
        let Demo::Made(token) = prepared(&database, &clock).await else {
            panic!("the database is not empty")
        };
        let mut session = database.begin().await.unwrap();
        let stored = session.credential(token.key_id()).await.unwrap().unwrap();
        assert_eq!((stored.key.scopes, stored.key.expires), (ScopeSet::all(), None));
        assert_eq!(stored.business.unwrap().tag, "demo");
        let state = database.state();
        for status in LeadStatus::ALL {
            let leads = state.leads.all().filter(|lead| lead.content.status == status);
            assert_eq!(leads.count() as u64, LEADS_PER_STATUS);
        }
        assert_eq!(state.contacts.all().count() as u64, CONTACTS);
        let vehicles = || state.vehicles.all().map(|vehicle| &vehicle.content);
        // One of them came in part exchange.
        assert_eq!(vehicles().count(), 61);
        for kind in StockType::ALL {
            for &status in VehicleStatus::of(kind) {
                let found = vehicles().any(|vehicle| (vehicle.kind, vehicle.status) == (kind, status));
                assert_eq!(found, status != VehicleStatus::Deleted, "{kind:?} {status:?}");
            }
        }
        for class in VehicleClass::ALL {
            let of_class = |vehicle: &&VehicleDraft| vehicle.data.vehicle.class.0 == Some(class);
            let offered = vehicles()
                .filter(of_class)
                .any(|vehicle| vehicle.status == VehicleStatus::ForSale);
            assert!(offered, "{class:?}");
        }
        let appraised = |vehicle: &&VehicleDraft| vehicle.kind == StockType::Appraisal;
        let customer = |vehicle: &VehicleDraft| vehicle.data.appraisal.details.customer_id.0.is_some();
        assert!(vehicles().filter(appraised).all(customer));
        let about = state.leads.associations().len();
        assert!(about > 5, "{about} leads are about vehicles");
        assert!(state.reviews.all().count() > 10);
        let count = |status| {
            let appointments = state.appointments.all();
            appointments.filter(|one| one.content.status == status).count()
        };
        for status in [AppointmentStatus::Cancelled, AppointmentStatus::NoShow] {
            assert_eq!(count(status), 1, "{status:?}");
        }
        assert!(count(AppointmentStatus::Booked) > 20);
        let calls: Vec<_> = state.calls.all().map(|call| &call.content).collect();
        assert_eq!(calls.len(), 40);
        for outcome in CallOutcome::ALL {
            assert!(
                calls.iter().any(|call| call.actual_outcome() == *outcome),
                "{outcome:?}"
            );
        }
        let about = calls.iter().filter(|call| call.lead.is_some()).count();
        assert!(about > 10, "{about} calls are about leads");
        assert!(state.articles.all().count() > 5);
        assert!(state.vehicle_records.drives().any(TestDrive::is_active));
        assert!(state.vehicle_records.drives().any(|drive| !drive.is_active()));
        assert!(state.vehicle_records.documents().count() > 0);
        let drafts = vehicles()
            .filter(|vehicle| vehicle.status == VehicleStatus::Draft)
            .count();
        let for_sale = vehicles()
            .filter(|vehicle| vehicle.status == VehicleStatus::ForSale)
            .count();
        assert_eq!(state.jobs.all().count(), drafts + for_sale.div_ceil(3));
        let today = clock.now().date();
        let overdue = state
            .jobs
            .all()
            .filter(|job| job.content.due_by().is_some_and(|day| day < today));
        assert_eq!(overdue.count(), 1);
        let stages: HashSet<_> = state.jobs.all().map(|job| job.content.outline().stage).collect();
        assert_eq!(stages.len(), 4);
        let invoiced = vehicles().filter(|vehicle| {
            let reservation = vehicle.reservation.current.as_ref();
            reservation.is_some_and(|reservation| reservation.invoice.is_some())
        });
        let invoices = || state.invoices.all().map(|invoice| &invoice.content);
        let of = |kind| invoices().filter(move |invoice| invoice.kind == kind);
        let deposits = of(InvoiceKind::Deposit).filter(|deposit| deposit.status == InvoiceStatus::Paid);
        assert_eq!(invoiced.count(), deposits.count());
        for kind in InvoiceKind::ALL {
            assert!(of(kind).count() > 0, "{kind:?}");
        }
        for status in InvoiceStatus::ALL {
            let found = of(InvoiceKind::Sale).any(|sale| sale.status == status);
            assert!(found, "{status:?}");
        }
        assert!(of(InvoiceKind::Sale).any(|sale| !sale.agreement.part_exchanges.is_empty()));
        let unpaid = || of(InvoiceKind::Sale).filter(|sale| sale.status == InvoiceStatus::Issued);
        assert!(unpaid().any(|sale| sale.payments.is_empty() && sale.due_date < today));
        assert!(unpaid().any(|sale| !sale.payments.is_empty()));
        let is_sold = |vehicle: &&VehicleDraft| {
            let state = (vehicle.kind, vehicle.status);
            matches!(
                state,
                (
                    StockType::InStock | StockType::ToOrder,
                    VehicleStatus::Sold | VehicleStatus::Complete
                )
            )
        };
        let billed = |vehicle: &VehicleDraft| vehicle.sale.as_ref().is_some_and(|sale| sale.invoice.is_some());
        assert!(vehicles().filter(is_sold).all(billed));
        for status in OrderStatus::ALL {
            assert!(
                state.orders.all().any(|order| order.content.status == status),
                "{status:?}"
            );
        }
        for status in BillStatus::ALL {
            let found = state.purchases.all().any(|purchase| purchase.content.status == status);
            assert!(found, "{status:?}");
        }
        for kind in PurchaseKind::ALL {
            let of_kind = state.purchases.all().filter(|purchase| purchase.content.kind == kind);
            assert!(of_kind.count() > 0, "{kind:?}");
        }
        let stock = [StockType::InStock, StockType::ToOrder, StockType::Courtesy];
        assert!(
            vehicles()
                .filter(|vehicle| stock.contains(&vehicle.kind))
                .all(|vehicle| vehicle.acquisition.is_some())
        );
        for stage in DealStage::ALL {
            let in_stage = state.deals.all().filter(|deal| deal.content.stage == *stage);
            assert_eq!(in_stage.count(), 2, "{stage:?}");
        }
        assert!(state.events.is_empty());
        let again = prepared(&database, &clock).await;
        assert!(matches!(again, Demo::ThereAlready { tag } if tag == "demo"));
        assert_eq!(database.state().accounts.keys().len(), 1);
    }

    #[tokio::test]
    async fn there_is_something_to_find_on_every_day() {
        for day in [0, 1, 100, 5_000] {
            let (database, clock) = (MemoryDatabase::default(), clock_at(1_790_000_000 + day * 86_400));
            prepared(&database, &clock).await;
            let vehicles = database.state().records.vehicles;
            let found = vehicles.all().filter(|vehicle| {
                let content = &vehicle.content;
                content.status == VehicleStatus::ForSale && content.data.vehicle.make == "Ford"
            });
            assert!(found.count() >= 2, "day {day}");
        }
    }

    #[test]
    fn what_is_printed_can_be_pasted() {
        let text = first_steps("http://127.0.0.1:8080", "fck_a.b");
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with("curl ")).collect();
        assert_eq!(lines.len(), 3);
        for line in lines {
            assert!(line.contains("'Authorization: Bearer fck_a.b'") && line.contains("'http://127.0.0.1:8080/2.0/"));
            assert_eq!(line.matches('\'').count() % 2, 0);
        }
    }
}
