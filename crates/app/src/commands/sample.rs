//! `forecourt sample`.

use forecourt_dealership::Database;
use forecourt_kernel::Clock;

use super::{CommandError, business_of_tag};
use crate::{
    cli::SampleArgs,
    output,
    sample::{Customers, Generator, LoadReport, Period, load_contacts, load_leads},
    system::SystemClock,
    transaction::transact,
};

/// Over how many days made-up leads are spread.
const DAYS: i64 = 730;

/// Whether this version can make up what is asked for.
///
/// # Errors
/// [`CommandError::NoSuchSamples`].
pub(super) fn judge(args: &SampleArgs) -> Result<(), CommandError> {
    if args.vehicles > 0 {
        return Err(CommandError::NoSuchSamples("vehicles"));
    }
    Ok(())
}

/// Makes up contacts and leads.
///
/// # Errors
/// [`CommandError::NoBusiness`], [`CommandError::Store`].
pub(super) async fn run(database: &dyn Database, args: SampleArgs) -> Result<(), CommandError> {
    let business = transact(database, async |session| business_of_tag(session, &args.business).await).await?;
    let period = Period::days_before(SystemClock.now(), DAYS);
    if args.contacts > 0 {
        let customers = Customers::new(&business, args.seed, period);
        let report = load_contacts(database, business.id, customers, args.contacts).await?;
        tell("contacts", &business.name, report)?;
    }
    if args.leads > 0 || args.contacts == 0 {
        let generator = Generator::new(&business, args.seed, period);
        let report = load_leads(database, business.id, generator, args.leads).await?;
        tell("leads", &business.name, report)?;
    }
    Ok(())
}

fn tell(kind: &str, business: &str, LoadReport { records, took }: LoadReport) -> Result<(), CommandError> {
    let seconds = took.as_secs_f64();
    Ok(output::line(format_args!(
        "{records} {kind} for {business} in {seconds:.1} s"
    ))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{memory::Memory, sample::testing::a_business};

    fn args(leads: u64, vehicles: u64) -> SampleArgs {
        SampleArgs {
            business: "acme".into(),
            vehicles,
            leads,
            contacts: 0,
            seed: 1,
        }
    }

    #[tokio::test]
    async fn leads_are_made_for_the_business_that_is_named() {
        let database = Memory::default();
        assert!(matches!(
            run(&database, args(1, 0)).await,
            Err(CommandError::NoBusiness(_))
        ));
        let mut session = database.begin().await.unwrap();
        session.insert_business(&a_business()).await.unwrap();
        session.commit().await.unwrap();
        run(&database, args(3, 0)).await.unwrap();
        assert_eq!((database.state().leads.len(), database.state().contacts.len()), (3, 0));
        let contacts = SampleArgs {
            contacts: 2,
            ..args(0, 0)
        };
        run(&database, contacts).await.unwrap();
        assert_eq!((database.state().leads.len(), database.state().contacts.len()), (3, 2));
    }

    #[test]
    fn what_there_is_not_yet_is_refused_by_name() {
        assert!(judge(&args(1, 0)).is_ok());
        assert!(judge(&args(1, 1)).unwrap_err().to_string().starts_with("--vehicles: "));
    }
}
