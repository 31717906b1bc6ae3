//! One unit of work in one transaction.

use forecourt_appointments::AppointmentError;
use forecourt_blogs::ArticleError;
use forecourt_dealership::{Database, Session};
use forecourt_deals::DealError;
use forecourt_invoices::InvoiceError;
use forecourt_kernel::StoreError;
use forecourt_leads::LeadError;
use forecourt_orders::OrderError;
use forecourt_purchases::PurchaseError;
use forecourt_sales::SaleError;
use forecourt_vehicles::VehicleError;

/// The number of runs after which a unit of work that conflicts with others fails.
const ATTEMPTS: usize = 5;

/// A failure of a unit of work.
pub(crate) trait UnitError: From<StoreError> {
    /// Returns the store's failure that it wraps, if there is one.
    fn store_error(&self) -> Option<&StoreError>;

    /// Returns true if the unit conflicted with another one, and may succeed if it is run again.
    fn is_conflict(&self) -> bool {
        matches!(self.store_error(), Some(StoreError::Conflict))
    }
}

impl UnitError for StoreError {
    fn store_error(&self) -> Option<&StoreError> {
        Some(self)
    }
}

/// Implements [`UnitError`] for errors of areas that have the store's failures as a variant.
macro_rules! unit_errors {
    ($($error:ty)+) => {$(
        impl UnitError for $error {
            fn store_error(&self) -> Option<&StoreError> {
                match self {
                    Self::Store(error) => Some(error),
                    _ => None,
                }
            }
        }
    )+};
}

impl UnitError for SaleError {
    fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Invoice(error) => error.store_error(),
            Self::Deal(error) => error.store_error(),
            Self::Order(error) => error.store_error(),
            Self::Purchase(error) => error.store_error(),
            Self::Vehicle(error) => error.store_error(),
        }
    }
}

unit_errors!(LeadError ArticleError DealError InvoiceError OrderError PurchaseError VehicleError AppointmentError);

/// Runs `work` in a transaction and commits it. Runs it again, a bounded number of times, if it conflicts with another one.
///
/// # Errors
/// The failure of `work` or of the commit; nothing is stored then.
pub(crate) async fn transact<T, E: UnitError>(
    database: &dyn Database,
    mut work: impl AsyncFnMut(&mut dyn Session) -> Result<T, E>,
) -> Result<T, E> {
    let mut attempt = 1;
    loop {
        match run_once(database, &mut work).await {
            Err(error) if error.is_conflict() && attempt < ATTEMPTS => attempt += 1,
            outcome => return outcome,
        }
    }
}

async fn run_once<T, E: UnitError>(
    database: &dyn Database,
    work: &mut impl AsyncFnMut(&mut dyn Session) -> Result<T, E>,
) -> Result<T, E> {
    let mut session = database.begin().await?;
    let done = work(&mut *session).await?;
    session.commit().await?;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryDatabase;

    #[tokio::test]
    async fn a_conflict_runs_the_whole_unit_again_but_not_for_ever() {
        let database = MemoryDatabase::default();
        let mut runs = 0;
        let mut count = async |session: &mut dyn Session| {
            runs += 1;
            session.businesses().await.map(|_| ())
        };
        database.refuse_commits(2);
        assert!(transact(&database, &mut count).await.is_ok());
        database.refuse_commits(100);
        let refused: Result<(), StoreError> = transact(&database, &mut count).await;
        assert!(matches!(refused, Err(StoreError::Conflict)));
        assert_eq!(runs, 3 + ATTEMPTS);
    }
}
