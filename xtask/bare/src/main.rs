//! The yardstick of `cargo xtask bench`: what actix-web and SQLite do on this machine when nothing stands between them.
//!
//! `forecourt-bare FILE PORT` serves the leads of the business with id 1 from a SQLite file that Forecourt has made. Each
//! request is the SQL that it needs and nothing else: no credentials, no limits, no validation, no log, no metrics, and JSON
//! that is spliced together from the stored texts. It is no example of how to write a server.

mod hook;
mod leads;
mod listings;
mod reader;
mod writer;

use std::env;
use std::error::Error;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use actix_web::error::{ErrorBadRequest, ErrorInternalServerError, ErrorNotFound};
use actix_web::{App, HttpResponse, HttpServer, Result, web};
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
    listings::prepare(&file)?;
    let writer = Writer::start(&file)?;
    let hook = Hook::default();
    HttpServer::new(move || {
        let file = file.clone();
        App::new()
            .data_factory(move || {
                let reader = Reader::open(&file);
                async { reader }
            })
            .app_data(web::Data::new(writer.clone()))
            .app_data(web::Data::new(hook.clone()))
            .route("/", web::get().to(version))
            .route("/hello", web::get().to(hello))
            .route("/listings", web::get().to(feed))
            .route("/leads/{id}", web::get().to(read))
            .route("/leads", web::get().to(list))
            .route("/leads", web::post().to(create))
            .route("/hook", web::post().to(hook::deliver))
            .route("/hook", web::get().to(hook::count))
            .route("/hook/hold", web::post().to(hook::hold))
            .route("/hook/release", web::post().to(hook::release))
            .route("/hook/{number}", web::get().to(hook::arrival))
    })
    .bind((Ipv4Addr::LOCALHOST, port))?
    .run()
    .await?;
    Ok(())
}

/// Returns which SQLite is measured; an answer shows that the rest works too.
async fn version() -> &'static str {
    rusqlite::version()
}

async fn read(reader: web::Data<Reader>, id: web::Path<i64>) -> Result<HttpResponse> {
    let lead = reader.lead(*id).map_err(ErrorInternalServerError)?;
    let lead = lead.ok_or_else(|| ErrorNotFound("no such lead"))?;
    Ok(HttpResponse::Ok().content_type("application/json").body(lead))
}

/// The least that a server can do.
async fn hello() -> &'static str {
    "hello"
}

/// Which page of the feed is wanted.
#[derive(Deserialize)]
struct FeedQuery {
    updated: i64,
    id: i64,
    limit: i64,
}

async fn feed(reader: web::Data<Reader>, query: web::Query<FeedQuery>) -> Result<HttpResponse> {
    let page = reader.listings(query.updated, query.id, query.limit);
    let page = page.map_err(ErrorInternalServerError)?;
    Ok(HttpResponse::Ok().content_type("application/json").body(page))
}

/// Which page of the list is wanted: the first with the list's total, or the one behind a lead.
#[derive(Deserialize)]
struct ListQuery {
    status: i64,
    before: Option<i64>,
}

async fn list(reader: web::Data<Reader>, query: web::Query<ListQuery>) -> Result<HttpResponse> {
    let page = match query.before {
        None => reader.first_page(query.status),
        Some(lead) => reader.page_before(query.status, lead),
    };
    let page = page.map_err(ErrorInternalServerError)?;
    Ok(HttpResponse::Ok().content_type("application/json").body(page))
}

async fn create(writer: web::Data<Writer>, enquiry: web::Bytes) -> Result<HttpResponse> {
    let lead = writer.create(enquiry).await;
    // The writer's failure and a bad request are not distinguished.
    let lead = lead.ok_or_else(|| ErrorBadRequest("the lead was not kept"))?;
    Ok(HttpResponse::Created().content_type("application/json").body(lead))
}
