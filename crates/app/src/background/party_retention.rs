//! Blanks the parties of issued invoices, orders and purchases whose contacts were deleted, once tax law no longer asks for them: at the start,
//! and at each midnight in UTC (areas §10.0, "People").

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use forecourt_accounts::Business;
use forecourt_dealership::Database;
use forecourt_kernel::{BoxError, BusinessId, Clock, Date, StoreError};
use forecourt_orders::OrderError;
use forecourt_sales::SaleError;

use super::{
    job::{Job, Ports, Round},
    purge_pause::PurgePause,
};
use crate::{shutdown::Shutdown, transaction::transact};

/// The number of documents that one round looks at. The next day goes on.
const AT_ONCE: u32 = 100_000;

#[derive(Clone)]
pub(super) struct PartyRetention {
    database: Arc<dyn Database>,
    clock: Arc<dyn Clock>,
    pause: PurgePause,
    /// The day of the last round.
    done: Option<Date>,
}

impl PartyRetention {
    pub(super) fn new(ports: &Ports) -> Self {
        let Ports {
            database,
            clock,
            purge_pause: pause,
            ..
        } = ports.clone();
        Self {
            database,
            clock,
            pause,
            done: None,
        }
    }

    /// Returns the first day whose documents a business still keeps.
    fn kept_from(business: &Business, today: Date) -> Option<Date> {
        let years = i32::try_from(business.settings.retention_years()).ok()?;
        format!("{:04}-01-01", today.year() - years).parse().ok()
    }

    async fn forget(&self, today: Date, shutdown: &Shutdown) -> Result<(), BoxError> {
        let businesses = self.database.read().await?.businesses().await?;
        let kept: BTreeMap<BusinessId, (Business, Date)> = businesses
            .into_iter()
            .filter_map(|business| {
                let from = Self::kept_from(&business, today)?;
                Some((business.id, (business, from)))
            })
            .collect();
        let Some(last) = kept.values().map(|(_, from)| *from).max() else {
            return Ok(());
        };
        let (invoices, orders, purchases) = transact::<_, StoreError>(&*self.database, async |session| {
            let invoices = session.invoices_with_former_parties(last, AT_ONCE).await?;
            let orders = session.orders_with_former_parties(last, AT_ONCE).await?;
            let purchases = session.purchases_with_former_parties(last, AT_ONCE).await?;
            Ok((invoices, orders, purchases))
        })
        .await?;
        let clock = &*self.clock;
        for (business, id) in invoices {
            if let Some((business, from)) = kept.get(&business).filter(|_| !shutdown.is_requested()) {
                transact::<_, SaleError>(&*self.database, async |session| {
                    forecourt_sales::forget_former_party(session, clock, business, id, *from).await
                })
                .await?;
            }
        }
        for (business, id) in orders {
            if let Some((business, from)) = kept.get(&business).filter(|_| !shutdown.is_requested()) {
                transact::<_, OrderError>(&*self.database, async |session| {
                    forecourt_orders::forget_former_party(session, clock, business, id, *from).await
                })
                .await?;
            }
        }
        for (business, id) in purchases {
            if let Some((business, from)) = kept.get(&business).filter(|_| !shutdown.is_requested()) {
                transact::<_, SaleError>(&*self.database, async |session| {
                    forecourt_sales::forget_former_supplier(session, clock, business, id, *from).await
                })
                .await?;
            }
        }
        Ok(())
    }
}

impl Job for PartyRetention {
    const NAME: &'static str = "party_retention";
    const REST: Duration = Duration::from_secs(60);

    async fn round(&mut self, shutdown: &Shutdown) -> Result<Round, BoxError> {
        let today = self.clock.now().date();
        if self.pause.is_paused() || self.done == Some(today) {
            return Ok(Round::Done);
        }
        // The day is noted before the work begins, so that what fails is not tried again at once.
        self.done = Some(today);
        self.forget(today, shutdown).await?;
        Ok(Round::Done)
    }
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::Timestamp;

    use super::*;
    use crate::sample::testing::a_business;

    #[test]
    fn a_document_is_kept_until_the_end_of_the_last_year_of_its_retention() {
        let today = Timestamp::from_epoch_seconds(1_795_824_000).date();
        let mut business = a_business();
        assert_eq!(today.to_string(), "2026-11-28");
        let kept = |business: &Business| PartyRetention::kept_from(business, today).map(|day| day.to_string());
        assert_eq!(kept(&business).as_deref(), Some("2020-01-01"), "six years by default");
        business.settings.retention_years = Some(1);
        assert_eq!(kept(&business).as_deref(), Some("2025-01-01"));
    }
}
