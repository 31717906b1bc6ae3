//! A sample dealership, to try the API on.

use forecourt_accounts::{Business, BusinessFile, IssuedKey, Token, issue_key};
use forecourt_dealership::Database;
use forecourt_kernel::{BoxError, Clock, Random, ScopeSet};
use forecourt_leads::LeadStatus;

use crate::{
    commands::CommandError,
    output::{self, OutputError},
    sample::{Customers, Generator, Period},
    transaction::transact,
};

/// The dealership's file.
const FILE: &str = include_str!("business.json");
/// How many leads it has of each status.
const LEADS_PER_STATUS: u64 = 7;
/// How many contacts it has.
const CONTACTS: u64 = 40;
/// Over how many days they came in.
const DAYS: i64 = 30;
const SEED: u64 = 1;

/// What there is to try the API on.
#[derive(Debug)]
pub(crate) enum Demo {
    /// The sample dealership, made just now, with the key to it.
    Made(Token),
    /// A database that has a business already; it was left alone.
    ThereAlready {
        /// The tag of a business that it has.
        tag: String,
    },
}

/// Makes the sample dealership with contacts, leads in every status and a key with every scope, all or nothing, unless the database
/// has a business.
///
/// # Errors
/// [`CommandError::Store`].
pub(crate) async fn prepare(
    database: &dyn Database,
    clock: &dyn Clock,
    random: &dyn Random,
) -> Result<Demo, CommandError> {
    let now = clock.now();
    let file: BusinessFile = serde_json::from_str(FILE).map_err(|error| CommandError::Demo(error.into()))?;
    let business = file
        .apply(None, now)
        .map_err(|error| CommandError::Demo(BoxError::from(error)))?;
    transact(database, async |session| {
        let stored = session.businesses().await?;
        if let Some(Business { tag, .. }) = stored.first() {
            return Ok(Demo::ThereAlready { tag: tag.clone() });
        }
        let id = session.insert_business(&business).await?;
        let IssuedKey { key, token } = issue_key(Some(id), ScopeSet::all(), None, now, random);
        session.insert_key(&key).await?;
        let mut generator = Generator::new(&business, SEED, Period::days_before(now, DAYS));
        let statuses = LeadStatus::ALL.into_iter().cycle();
        let count = LEADS_PER_STATUS * LeadStatus::ALL.len() as u64;
        let leads = (0..count)
            .zip(statuses)
            .map(|(at, status)| generator.lead_with(status, at, count));
        session.load_leads(id, leads.collect()).await?;
        let mut customers = Customers::new(&business, SEED, Period::days_before(now, DAYS));
        let contacts = (0..CONTACTS).map(|at| customers.contact(at, CONTACTS));
        session.load_contacts(id, contacts.collect()).await?;
        Ok(Demo::Made(token))
    })
    .await
}

impl Demo {
    /// Prints how to try the API at `base_url`.
    ///
    /// # Errors
    /// [`OutputError::Closed`].
    pub(crate) fn tell(&self, base_url: &str) -> Result<(), OutputError> {
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

curl -H 'Authorization: Bearer {token}' '{base_url}/2.0/leads?status=new'
curl -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' -d '{{"name": "Ann Smith", "email": "ann@example.com", "type": "test_drive", "data": {{"message": "Is Saturday all right?"}}}}' '{base_url}/2.0/leads'
curl -H 'Authorization: Bearer {token}' '{base_url}/2.0/meta'

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
    use super::*;
    use crate::{
        memory::{FixedClock, Memory},
        system::SystemRandom,
    };

    #[tokio::test]
    async fn an_empty_database_gets_a_dealership_with_leads_in_every_status_once() {
        let (database, clock) = (Memory::default(), FixedClock::at(1_790_000_000));
        let Demo::Made(token) = prepare(&database, &clock, &SystemRandom).await.unwrap() else {
            panic!("the database is not empty")
        };
        let mut session = database.begin().await.unwrap();
        let stored = session.credential(token.key_id()).await.unwrap().unwrap();
        assert_eq!((stored.key.scopes, stored.key.expires), (ScopeSet::all(), None));
        assert_eq!(stored.business.unwrap().tag, "demo");
        let state = database.state();
        for status in LeadStatus::ALL {
            let leads = state.leads.values().filter(|(_, lead)| lead.content.status == status);
            assert_eq!(leads.count() as u64, LEADS_PER_STATUS);
        }
        assert_eq!(state.contacts.len() as u64, CONTACTS);
        let again = prepare(&database, &clock, &SystemRandom).await.unwrap();
        assert!(matches!(again, Demo::ThereAlready { tag } if tag == "demo"));
        assert_eq!(database.state().keys.len(), 1);
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
