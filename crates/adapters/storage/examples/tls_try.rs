//! scratch
#![allow(clippy::all, clippy::unwrap_used, clippy::print_stdout, clippy::allow_attributes_without_reason, missing_docs)]
use forecourt_storage::{Config, Effort, Storage};
use diesel_async::RunQueryDsl;
use diesel::dsl::sql;
#[tokio::main]
async fn main() {
    for url in std::env::args().skip(1) {
        let r = async {
            let Storage::Postgres(e) = Storage::open(&Config::new(url.clone())).await.map_err(|e| format!("{e:?}"))? else { panic!() };
            let mut c = e.read(Effort::Light).await.map_err(|e| format!("{e:?}"))?;
            diesel::select(sql::<diesel::sql_types::Text>("(SELECT ssl::text || coalesce(version,'') FROM pg_stat_ssl WHERE pid = pg_backend_pid())")).get_result::<String>(&mut *c).await.map_err(|e| format!("{e:?}"))
        }.await;
        println!("{url}\n   {r:?}");
    }
}
