//! What is measured, and what it is measured against.

use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::Engine;
use super::wrk::Request;
use crate::error::{Context as _, Error, Result};
use crate::http;
use crate::server::Server;

/// How many leads a page shows by default.
const PER_PAGE: u64 = 50;

/// One row of the table.
pub(super) struct Workload {
    pub(super) name: &'static str,
    pub(super) request: Request,
    pub(super) against: Against,
    /// The least that the ratio is to be, if something was promised.
    pub(super) target: Option<f64>,
}

/// What the program is compared with.
pub(super) enum Against {
    /// The engine's yardstick, which does the same work.
    Yardstick {
        bare: Request,
        /// pgbench's script.
        sql: &'static str,
    },
    /// The bare program, whatever the engine is: what it does needs no database, or is read from a file of its own.
    Bare(Request),
    /// The program itself, with another request.
    Itself(Request),
}

/// The workloads of leads. Those that write come last: what they leave behind is in no other's way.
pub(super) fn all(engine: Engine, places: &Places) -> Vec<Workload> {
    let promised = |on_sqlite: f64, on_postgres: f64| match engine {
        Engine::Sqlite => Some(on_sqlite),
        Engine::Postgres => Some(on_postgres),
    };
    let Places {
        after_first_new,
        after_first,
        deep,
        manifest,
    } = places;
    let create = |name, request, target| Workload {
        name,
        request,
        against: Against::Yardstick {
            bare: Request::Create("/leads".to_owned()),
            sql: include_str!("sql/create.sql"),
        },
        target,
    };
    vec![
        Workload {
            name: "read by id",
            request: Request::Record("/2.0/leads/".to_owned()),
            against: Against::Yardstick {
                bare: Request::Record("/leads/".to_owned()),
                sql: include_str!("sql/read.sql"),
            },
            target: promised(0.65, 0.50),
        },
        Workload {
            name: "list of 50 with total, filtered",
            request: Request::Page("/2.0/leads?status=new".to_owned()),
            against: Against::Yardstick {
                bare: Request::Page("/leads?status=0".to_owned()),
                sql: include_str!("sql/page_by_number.sql"),
            },
            target: promised(0.60, 0.60),
        },
        Workload {
            name: "list of 50 by cursor, filtered",
            request: Request::Page(format!("/2.0/leads?status=new&cursor={}", after_first_new.cursor)),
            against: Against::Yardstick {
                bare: Request::Page(format!("/leads?status=0&before={}", after_first_new.id)),
                sql: include_str!("sql/page_by_cursor.sql"),
            },
            target: promised(0.60, 0.60),
        },
        Workload {
            name: "page deep by cursor ÷ first page",
            request: Request::Page(format!("/2.0/leads?cursor={}", deep.cursor)),
            against: Against::Itself(Request::Page(format!("/2.0/leads?cursor={}", after_first.cursor))),
            target: promised(0.90, 0.90),
        },
        Workload {
            name: "manifest of listings, unchanged ÷ hello",
            request: Request::Unchanged("/2.0/listings/manifest".to_owned(), manifest.clone()),
            against: Against::Bare(Request::Page("/hello".to_owned())),
            target: promised(0.50, 0.50),
        },
        Workload {
            name: "listings, page of 50",
            request: Request::Page("/2.0/listings?per_page=50&cursor=".to_owned()),
            against: Against::Bare(Request::Page("/listings?updated=0&id=0&limit=50".to_owned())),
            target: promised(0.60, 0.60),
        },
        create(
            "create with event",
            Request::Create("/2.0/leads".to_owned()),
            promised(0.50, 0.33),
        ),
        create(
            "create with event and idempotency key",
            Request::CreateWithKey("/2.0/leads".to_owned()),
            None,
        ),
    ]
}

/// Places in the list of leads.
pub(super) struct Places {
    /// Behind the first page of the new ones.
    pub(super) after_first_new: Place,
    /// Behind the first page of all.
    after_first: Place,
    /// Shortly before the end of all.
    deep: Place,
    /// The entity tag of the manifest of listings.
    manifest: String,
}

/// A place behind a lead.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) id: i64,
    cursor: String,
}

impl Places {
    /// Finds the places by asking the server.
    pub(super) fn find(server: &Server, authorization: &str) -> Result<Self> {
        let page = |query: &str| -> Result<Value> {
            let path = format!("/2.0/leads{query}");
            let answer = http::get(server.port(), &path, &format!("{authorization}\r\n"));
            let answer = answer.context(|| format!("{path} is not answered"))?;
            serde_json::from_str(&answer.body).context(|| format!("the answer to {path} is not understood"))
        };
        let first = page("")?;
        let pages = first["meta"]["pagination"]["total"].as_u64().unwrap_or_default() / PER_PAGE;
        // Behind it a full page follows, as behind the first.
        let deep = format!("?page={}", (pages * 95 / 100).clamp(1, pages.saturating_sub(1).max(1)));
        Ok(Self {
            after_first_new: Place::after(&page("?status=new")?)?,
            after_first: Place::after(&first)?,
            deep: Place::after(&page(&deep)?)?,
            manifest: manifest_tag(server, authorization)?,
        })
    }
}

/// The entity tag of the manifest, once the server has been through all listings and it stays the same.
fn manifest_tag(server: &Server, authorization: &str) -> Result<String> {
    const STEADY: u32 = 5;
    let mut last = manifest_tag_now(server, authorization)?;
    let mut steady = 0;
    while steady < STEADY {
        thread::sleep(Duration::from_secs(1));
        let tag = manifest_tag_now(server, authorization)?;
        steady = if tag == last { steady + 1 } else { 0 };
        last = tag;
    }
    Ok(last)
}

fn manifest_tag_now(server: &Server, authorization: &str) -> Result<String> {
    let path = "/2.0/listings/manifest";
    let answer = http::get(server.port(), path, &format!("{authorization}\r\n"));
    let answer = answer.context(|| format!("{path} is not answered"))?;
    answer
        .etag
        .ok_or_else(|| Error::new(format!("{path} is answered without an entity tag")))
}

impl Place {
    fn after(page: &Value) -> Result<Self> {
        let last = page["data"].as_array().and_then(|leads| leads.last());
        let id = last.and_then(|lead| lead["id"].as_i64());
        let cursor = page["meta"]["pagination"]["next_cursor"].as_str();
        id.zip(cursor)
            .map(|(id, cursor)| Self {
                id,
                cursor: cursor.to_owned(),
            })
            .ok_or_else(|| Error::new("the lists are shorter than two pages: take more leads"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_is_behind_the_last_lead_of_a_page_that_another_follows() {
        let page = json!({"data": [{"id": 9}, {"id": 7}], "meta": {"pagination": {"next_cursor": "abc"}}});
        let expected = Place {
            id: 7,
            cursor: "abc".to_owned(),
        };
        assert_eq!(Place::after(&page).unwrap(), expected);
        let last = json!({"data": [{"id": 9}], "meta": {"pagination": {"next_cursor": null}}});
        assert!(
            Place::after(&last)
                .unwrap_err()
                .to_string()
                .ends_with("take more leads")
        );
    }
}
