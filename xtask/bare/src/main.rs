//! The yardstick of `cargo xtask bench`: the work of actix-web and SQLite on this machine without anything between them.
//!
//! `forecourt-bare FILE PORT` serves the leads of the business with id 1 from a SQLite file that Forecourt has made. Each
//! request only runs the SQL that it needs: no credentials, no limits, no validation, no log, no metrics, and JSON that is
//! assembled from the stored texts. It is not an example of a server.

mod database;
mod hook;
mod reader;
mod writer;

use std::env;
use std::error::Error;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use actix_web::error::{ErrorBadRequest, ErrorInternalServerError, ErrorNotFound};
use actix_web::web::{self, Bytes, Data, Path, Query};
use actix_web::{App, HttpResponse, HttpResponseBuilder, HttpServer, Result};
use serde::Deserialize;

use hook::Hook;
use reader::Reader;
use writer::Writer;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let (Some(file), Some(port)) = (arguments.next(), arguments.next()) else {
        return Err("usage: forecourt-bare FILE PORT".into());
    };
    let file = PathBuf::from(file);
    let port = port.to_string_lossy().parse()?;
    database::copy_listings(&file)?;
    let writer = Writer::start(&file)?;
    let hook = Hook::default();
    HttpServer::new(move || {
        let file = file.clone();
        App::new()
            .data_factory(move || {
                let reader = Reader::open(&file);
                async { reader }
            })
            .app_data(Data::new(writer.clone()))
            .app_data(Data::new(hook.clone()))
            .route("/", web::get().to(async || rusqlite::version()))
            // The minimum work of a server.
            .route("/hello", web::get().to(async || "hello"))
            .route("/leads/{id}", web::get().to(read))
            .route("/leads", web::get().to(list))
            .route("/leads", web::post().to(create))
            .route("/listings", web::get().to(feed))
            .route("/hook", web::post().to(hook::deliver))
            .route("/hook/{number}", web::get().to(hook::arrivals))
            .route("/hook/holds/{whether}", web::post().to(hook::hold))
    })
    .bind((Ipv4Addr::LOCALHOST, port))?
    .run()
    .await?;
    Ok(())
}

fn json(mut response: HttpResponseBuilder, body: String) -> Result<HttpResponse> {
    Ok(response.content_type("application/json").body(body))
}

async fn read(reader: Data<Reader>, id: Path<i64>) -> Result<HttpResponse> {
    let lead = reader.lead(*id).map_err(ErrorInternalServerError)?;
    json(HttpResponse::Ok(), lead.ok_or_else(|| ErrorNotFound("no such lead"))?)
}

/// The requested page of the list: the first with the list's total, or the one after a lead.
#[derive(Deserialize)]
struct ListQuery {
    status: i64,
    before: Option<i64>,
}

async fn list(reader: Data<Reader>, query: Query<ListQuery>) -> Result<HttpResponse> {
    let page = match query.before {
        None => reader.first_page(query.status),
        Some(lead) => reader.page_before(query.status, lead),
    };
    json(HttpResponse::Ok(), page.map_err(ErrorInternalServerError)?)
}

/// The requested page of the feed; the first has an empty cursor.
#[derive(Deserialize)]
struct FeedQuery {
    per_page: i64,
    cursor: String,
}

async fn feed(reader: Data<Reader>, query: Query<FeedQuery>) -> Result<HttpResponse> {
    let page = reader.listings(&query.cursor, query.per_page);
    json(HttpResponse::Ok(), page.map_err(ErrorInternalServerError)?)
}

async fn create(writer: Data<Writer>, enquiry: Bytes) -> Result<HttpResponse> {
    let lead = writer.create(enquiry).await;
    // A failure of the writer and a bad request are not distinguished.
    json(
        HttpResponse::Created(),
        lead.ok_or_else(|| ErrorBadRequest("the lead was not kept"))?,
    )
}
