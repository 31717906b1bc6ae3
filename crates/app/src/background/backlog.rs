//! Measures the backlog of mails and webhooks, for Prometheus.
//!
//! The measurement does not run when the metrics are read, so no reader, however frequent, keeps the database busy.

use std::{sync::Arc, time::Duration};

use forecourt_dealership::{Backlog, Database};
use forecourt_kernel::{BoxError, Clock, Moment};
use metrics::Unit;

use super::job::{Job, Ports, Round};
use crate::shutdown::Shutdown;

const DELIVERIES: &str = "forecourt_webhook_deliveries_waiting";
const OLDEST_DUE: &str = "forecourt_webhook_oldest_due_age_seconds";
const DISABLED: &str = "forecourt_webhooks_disabled";
const MAILS: &str = "forecourt_mails_waiting";

#[derive(Clone)]
pub(super) struct BacklogGauges {
    database: Arc<dyn Database>,
    clock: Arc<dyn Clock>,
}

impl BacklogGauges {
    pub(super) fn new(ports: &Ports) -> Self {
        describe();
        let Ports { database, clock, .. } = ports.clone();
        Self { database, clock }
    }
}

/// Registers the descriptions of the metrics.
fn describe() {
    metrics::describe_gauge!(
        DELIVERIES,
        "Deliveries of webhooks that wait in the database, those of disabled webhooks among them; counted up to 100,000"
    );
    metrics::describe_gauge!(
        OLDEST_DUE,
        Unit::Seconds,
        "For how long the oldest due delivery of an active webhook has waited; 0 if none is due"
    );
    metrics::describe_gauge!(DISABLED, "Webhooks that are disabled");
    metrics::describe_gauge!(MAILS, "Mails that wait in the database; counted up to 100,000");
}

impl Job for BacklogGauges {
    const NAME: &'static str = "backlog";
    const REST: Duration = Duration::from_secs(15);

    async fn round(&mut self, _: &Shutdown) -> Result<Round, BoxError> {
        let Backlog {
            deliveries,
            oldest_due,
            disabled_webhooks,
            mails,
        } = self.database.read().await?.backlog().await?;
        metrics::gauge!(DELIVERIES).set(deliveries);
        metrics::gauge!(OLDEST_DUE).set(age(oldest_due, self.clock.moment()));
        metrics::gauge!(DISABLED).set(disabled_webhooks);
        metrics::gauge!(MAILS).set(mails);
        Ok(Round::Done)
    }
}

/// Returns the seconds for which something has been due.
fn age(due: Option<Moment>, now: Moment) -> f64 {
    let waited = due.map_or(0, |due| now.epoch_millis() - due.epoch_millis());
    // Prometheus uses floating-point numbers, in which this is exact for 285 thousand years.
    waited.max(0) as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        memory::{MemoryDatabase, clock_at},
        shutdown::shutdown,
    };

    #[test]
    fn what_is_not_due_yet_has_not_waited() {
        let at = Moment::from_epoch_millis;
        assert_eq!(age(None, at(9_500)), 0.0);
        assert_eq!(age(Some(at(9_501)), at(9_500)), 0.0);
        assert_eq!(age(Some(at(8_000)), at(9_500)), 1.5);
    }

    #[tokio::test]
    async fn a_database_that_is_gone_is_a_failed_round() {
        let database = MemoryDatabase::default();
        let mut job = BacklogGauges {
            database: Arc::new(database.clone()),
            clock: Arc::new(clock_at(0)),
        };
        let (_trigger, shutdown) = shutdown();
        assert_eq!(job.round(&shutdown).await.unwrap(), Round::Done);
        database.cut(true);
        assert!(job.round(&shutdown).await.is_err());
    }
}
