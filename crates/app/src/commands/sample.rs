//! `forecourt sample`.

use forecourt_dealership::Database;
use forecourt_kernel::Clock;

use super::{CommandError, business_of_tag};
use crate::{
    cli::SampleArgs,
    output,
    sample::{Customers, Generator, LoadReport, Period, Stock, existing, load_contacts, load_leads, load_vehicles},
    system::SystemClock,
    transaction::transact,
};

/// The number of days over which made-up records are spread.
const DAYS: i64 = 730;

/// Makes contacts, then vehicles, which may be theirs, then leads.
///
/// # Errors
/// [`CommandError::NoBusiness`], [`CommandError::Store`].
pub(super) async fn run(database: &dyn Database, args: SampleArgs) -> Result<(), CommandError> {
    let business = transact(database, async |session| business_of_tag(session, &args.business).await).await?;
    let period = Period::days_before(SystemClock.now(), DAYS);
    if args.contacts > 0 {
        let customers = Customers::new(&business, args.seed, period);
        let report = load_contacts(database, business.id, customers, args.contacts).await?;
        print("contacts", &business.name, report)?;
    }
    if args.vehicles > 0 {
        let known = transact(database, async |session| {
            Ok::<_, CommandError>(existing(session, &business).await?)
        })
        .await?;
        let stock = Stock::new(&business, args.seed, period, known);
        let report = load_vehicles(database, business.id, stock, args.vehicles).await?;
        print("vehicles", &business.name, report)?;
    }
    if args.leads > 0 || (args.contacts == 0 && args.vehicles == 0) {
        let known = transact(database, async |session| {
            Ok::<_, CommandError>(existing(session, &business).await?)
        })
        .await?;
        let generator = Generator::new(&business, args.seed, period, known);
        let report = load_leads(database, business.id, generator, args.leads).await?;
        print("leads", &business.name, report)?;
    }
    Ok(())
}

fn print(kind: &str, business: &str, LoadReport { records, took }: LoadReport) -> Result<(), CommandError> {
    let seconds = took.as_secs_f64();
    Ok(output::line(format_args!(
        "{records} {kind} for {business} in {seconds:.1} s"
    ))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{memory::MemoryDatabase, sample::testing::a_business};

    fn args(leads: u64, vehicles: u64, contacts: u64) -> SampleArgs {
        SampleArgs {
            business: "acme".into(),
            vehicles,
            leads,
            contacts,
            seed: 1,
        }
    }

    #[tokio::test]
    async fn records_are_made_for_the_business_that_is_named() {
        let database = MemoryDatabase::default();
        assert!(matches!(
            run(&database, args(1, 0, 0)).await,
            Err(CommandError::NoBusiness(_))
        ));
        let mut session = database.begin().await.unwrap();
        session.insert_business(&a_business()).await.unwrap();
        session.commit().await.unwrap();
        let there = || {
            let state = database.state();
            (
                state.leads.all().count(),
                state.vehicles.all().count(),
                state.contacts.all().count(),
            )
        };
        run(&database, args(3, 0, 0)).await.unwrap();
        assert_eq!(there(), (3, 0, 0));
        run(&database, args(0, 0, 2)).await.unwrap();
        assert_eq!(there(), (3, 0, 2));
        run(&database, args(0, 5, 0)).await.unwrap();
        assert_eq!(there(), (3, 5, 2));
        run(&database, args(1, 1, 1)).await.unwrap();
        assert_eq!(there(), (4, 6, 3));
    }
}
