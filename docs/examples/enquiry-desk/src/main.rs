//! Runs the desk. Its settings are the environment variables named below.

use std::env;
use std::error::Error;

use enquiry_desk::{Receiver, Settings, serve};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let or = |name: &str, default: &str| env::var(name).unwrap_or_else(|_| default.to_owned());
    let receiver = match (env::var("DESK_HOOK_URL"), env::var("DESK_HOOK_SECRET")) {
        (Ok(url), Ok(secret)) => Some(Receiver::new(&url, secret)?),
        (Err(_), Err(_)) => None,
        _ => return Err("DESK_HOOK_URL and DESK_HOOK_SECRET belong together".into()),
    };
    let listener = TcpListener::bind(or("DESK_BIND", "127.0.0.1:8090")).await?;
    println!("enquiries are taken at http://{}/enquiries", listener.local_addr()?);
    let settings = Settings::new(or("DESK_DATABASE", "enquiries.db"), receiver);
    serve(listener, settings).await
}
