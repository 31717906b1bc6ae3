//! A history of the requests and answers of clients, while servers and their database are killed, stopped, disconnected and
//! filled up.
//!
//! Afterwards [`check`] compares it with the stored state.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use harness::{
    Answer, Client, Dice, Engine, Installation, LossyProxy, Postgres, Proxy, Server, Shop, eventually, now, proof_time,
    wait_for,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

use check::{Ask, Exchange, State};

mod check;

/// The time for which each nemesis acts in the suite.
const TIME: Duration = Duration::from_secs(5);
/// The maximum time until everything works again.
const RECOVERY: Duration = Duration::from_secs(60);
const CLIENTS: u64 = 12;
/// The number of leads that all clients change at once.
const HOT: usize = 6;

/// The kinds of failures.
#[derive(Clone, Copy, Debug)]
enum Nemesis {
    /// A server is killed and started again.
    Kill,
    /// A server is stopped and continues.
    Freeze,
    /// No file of the server can grow.
    FullDisk,
    /// PostgreSQL ends at once, and recovers.
    DatabaseCrash,
    /// PostgreSQL ends all connections.
    TerminatedBackends,
    /// The answers to some commits are lost.
    LostCommits,
    /// PostgreSQL ends or cannot be reached any longer, and its standby takes its place.
    Promotion,
}

#[tokio::test]
async fn sqlite() {
    let shop = Shop::open_with(Engine::Sqlite, harness::Serve::surviving_file_limits).await;
    let (installation, clients) = (shop.installation().clone(), vec![shop.api]);
    let mut proof = Proof::new(installation, vec![shop.server], clients);
    for nemesis in [Nemesis::Kill, Nemesis::Freeze, Nemesis::FullDisk] {
        proof.suffer(nemesis).await;
    }
    proof.conclude("SQLite").await;
}

#[tokio::test]
async fn postgres() {
    let database = Postgres::start().await;
    let installation = Installation::at(&database.url());
    let proxy = LossyProxy::to(installation.database_address()).await;
    let shop = Shop::on(installation.serve().start().await).await;
    let url = installation.database_through(proxy.port());
    let second = installation.serve().env("DATABASE_URL", url).start().await;
    let clients = vec![shop.api, second.client(&shop.business.key("all").await.token)];
    let mut proof = Proof::new(installation, vec![shop.server, second], clients);
    proof.database = Some(database);
    proof.proxy = Some(proxy);
    for nemesis in [
        Nemesis::Kill,
        Nemesis::Freeze,
        Nemesis::TerminatedBackends,
        Nemesis::LostCommits,
        Nemesis::DatabaseCrash,
    ] {
        proof.suffer(nemesis).await;
    }
    proof.conclude("PostgreSQL").await;
}

#[tokio::test]
async fn promotion() {
    let database = Postgres::start().await;
    let standby = database.standby().await;
    let switch = Proxy::to(database.address()).await;
    let installation = Installation::at(&database.url_through(&switch));
    let shop = Shop::on(installation.serve().start().await).await;
    let second = installation.serve().start().await;
    let clients = vec![shop.api, second.client(&shop.business.key("all").await.token)];
    let mut proof = Proof::new(installation, vec![shop.server, second], clients);
    proof.database = Some(database);
    proof.standby = Some((standby, switch));
    proof.suffer(Nemesis::Promotion).await;
    proof.conclude("a promoted PostgreSQL").await;
}

struct Proof {
    installation: Installation,
    servers: Vec<Server>,
    /// The PostgreSQL; `None` on SQLite.
    database: Option<Postgres>,
    proxy: Option<LossyProxy>,
    /// The standby of the PostgreSQL, and the proxy through which the servers reach the primary one.
    standby: Option<(Postgres, Proxy)>,
    /// The logs of former primary servers.
    former_logs: String,
    book: Arc<Book>,
}

/// The state that a client keeps.
struct Kept {
    epoch: i64,
    /// The newest position in the log of events.
    position: String,
    /// A cursor of a list.
    cursor: String,
    /// The path of a lead, and its entity tag.
    lead: String,
    tag: String,
}

/// The state that the clients share.
struct Book {
    /// A client for each server.
    servers: Vec<Client>,
    history: Mutex<Vec<Exchange>>,
    /// The existing leads, each with the latest version that was seen.
    leads: Mutex<BTreeMap<i64, i64>>,
    /// Counts the moments at which something began or ended.
    clock: AtomicU64,
    names: AtomicUsize,
}

impl Proof {
    fn new(installation: Installation, servers: Vec<Server>, clients: Vec<Client>) -> Self {
        let book = Book {
            servers: clients,
            history: Mutex::default(),
            leads: Mutex::default(),
            clock: AtomicU64::new(0),
            names: AtomicUsize::new(0),
        };
        Self {
            installation,
            servers,
            database: None,
            proxy: None,
            standby: None,
            former_logs: String::new(),
            book: Arc::new(book),
        }
    }

    /// Has the clients at work while the nemesis strikes repeatedly, then repeats every request whose outcome is unknown.
    async fn suffer(&mut self, nemesis: Nemesis) {
        let stop = Arc::new(AtomicBool::new(false));
        let mut clients = JoinSet::new();
        for number in 0..CLIENTS {
            let dice = Dice::new(number ^ u64::try_from(now()).expect("after 1970"));
            clients.spawn(work(Arc::clone(&self.book), dice, Arc::clone(&stop)));
        }
        let end = Instant::now() + proof_time(TIME);
        let mut dice = Dice::new(u64::try_from(now()).expect("after 1970"));
        while Instant::now() < end {
            sleep(Duration::from_millis(100 + dice.below(400))).await;
            self.strike(nemesis, &mut dice).await;
        }
        stop.store(true, Ordering::SeqCst);
        let unknown: Vec<Exchange> = clients.join_all().await.into_iter().flatten().collect();
        for server in &self.book.servers {
            wait_for("the server works again", RECOVERY, async || {
                let asked = server
                    .request("POST", "/2.0/leads")
                    .key("after-all")
                    .json(&json!({"name": "After all"}));
                asked.attempt().await.is_ok_and(|answer| answer.status == 201)
            })
            .await;
        }
        for Exchange { key, ask, .. } in unknown {
            eventually("the outcome is known", RECOVERY, async || {
                let answer = self
                    .book
                    .exchange(&self.book.servers[0], key.clone(), ask.clone())
                    .await;
                answer.filter(|(status, _)| *status < 500).ok_or("not yet")
            })
            .await;
        }
    }

    async fn strike(&mut self, nemesis: Nemesis, dice: &mut Dice) {
        let one = dice.pick(self.servers.len());
        match nemesis {
            Nemesis::Kill => {
                self.servers[one].kill9().await;
                self.servers[one].restart().await;
            }
            Nemesis::Freeze => {
                self.servers[one].freeze().await;
                sleep(Duration::from_millis(200 + dice.below(1_500))).await;
                self.servers[one].thaw().await;
            }
            Nemesis::FullDisk => {
                let log: PathBuf = self.installation.folder().join("forecourt.db-wal");
                let length = fs::metadata(log).map_or(0, |log| log.len());
                // The limit is before or after the place where the log continues.
                let room = length / 2 + dice.below(length / 2 + 65_536);
                self.servers[one].limit_files(Some(room)).await;
                sleep(Duration::from_millis(200 + dice.below(400))).await;
                self.servers[one].limit_files(None).await;
            }
            Nemesis::DatabaseCrash => {
                let database = self.database.as_mut().expect("a PostgreSQL");
                database.stop_at_once().await;
                database.restart().await;
            }
            Nemesis::TerminatedBackends => {
                let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                           WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
                self.installation.execute(end).await;
            }
            Nemesis::LostCommits => {
                let proxy = self.proxy.as_ref().expect("a proxy");
                proxy.lose_a_commit();
                wait_for("a commit is lost", RECOVERY, async || proxy.has_lost()).await;
            }
            Nemesis::Promotion => self.promote(dice).await,
        }
    }

    /// Has the standby take the place of the primary server, and starts another standby.
    async fn promote(&mut self, dice: &mut Dice) {
        let mut kept = Vec::new();
        for server in &self.book.servers {
            kept.push(eventually("a client reads", RECOVERY, async || Kept::read(server).await).await);
        }
        let (standby, switch) = self.standby.take().expect("a standby");
        let mut former = self.database.replace(standby).expect("a PostgreSQL");
        let standby = self.database.as_ref().expect("a PostgreSQL");
        // A primary that is only cut off still accepts commits and waits for the standby to confirm them.
        let ends = dice.below(2) == 0;
        if ends {
            former.stop_at_once().await;
        }
        // Servers may meet the standby before it is promoted.
        if dice.below(2) == 0 {
            switch.switch(standby.address());
            sleep(Duration::from_millis(dice.below(300))).await;
            standby.promote().await;
        } else {
            switch.cut();
            standby.promote().await;
            switch.switch(standby.address());
        }
        self.former_logs += &former.log();
        drop(former);
        let next = standby.standby().await;
        self.standby = Some((next, switch));
        for (server, kept) in self.book.servers.iter().zip(&kept) {
            eventually("what a client keeps is judged by the epoch", RECOVERY, async || {
                kept.is_judged(server).await
            })
            .await;
        }
    }

    /// Compares the history with the stored state.
    #[expect(clippy::print_stdout, reason = "`cargo xtask prove` shows what a proof found")]
    async fn conclude(self, engine: &str) {
        if self.database.is_some() {
            // Work of a killed server may still be in progress.
            let quiet = "SELECT count(*) = 0 FROM pg_stat_activity
                         WHERE xact_start IS NOT NULL AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
            wait_for("no transaction is open", RECOVERY, async || {
                self.installation.is_true(quiet).await
            })
            .await;
        }
        let mut state = State {
            leads: self.book.servers[0].walk("/2.0/leads?view=full&per_page=500").await,
            events: Vec::new(),
            database_log: self.former_logs + &self.database.as_ref().map(Postgres::log).unwrap_or_default(),
        };
        // These were made by the proof itself, between two nemeses.
        for server in &self.book.servers {
            state.events.push(server.walk("/2.0/events?per_page=500").await);
        }
        let mut history = std::mem::take(&mut *self.book.history.lock().unwrap());
        let own = self.book.exchange(
            &self.book.servers[0],
            Some("after-all".to_owned()),
            Ask::Create {
                name: "After all".to_owned(),
            },
        );
        own.await;
        history.append(&mut self.book.history.lock().unwrap());
        let count = |found: &dyn Fn(Option<u16>) -> bool| {
            let statuses = history
                .iter()
                .map(|exchange| exchange.answer.as_ref().map(|(status, _)| *status));
            statuses.filter(|status| found(*status)).count()
        };
        println!(
            "history on {engine}: {} requests, {} done, {} refused, {} failed, {} unanswered; {} events",
            history.len(),
            count(&|status| matches!(status, Some(200 | 201))),
            count(&|status| matches!(status, Some(400..500))),
            count(&|status| matches!(status, Some(500..))),
            count(&|status| status.is_none()),
            state.events[0].len(),
        );
        let faults = check::faults(&history, &state);
        let first: Vec<&String> = faults.iter().take(20).collect();
        assert!(faults.is_empty(), "{} faults: {first:#?}", faults.len());
    }
}

impl Kept {
    /// Reads the state from a server that may not answer.
    async fn read(server: &Client) -> Result<Self, Answer> {
        let read = async |path: &str| {
            let answer = server.get(path).await;
            if answer.status == 200 { Ok(answer) } else { Err(answer) }
        };
        let log = read("/2.0/events?cursor=latest").await?;
        let list = read("/2.0/leads?per_page=1").await?;
        let meta = list.json()["meta"]["pagination"].take();
        let lead = format!("/2.0/leads/{}", list.json()["data"][0]["id"]);
        let shown = read(&lead).await?;
        let Some(cursor) = meta["next_cursor"].as_str() else {
            return Err(list);
        };
        Ok(Self {
            epoch: log.json()["meta"]["epoch"].as_i64().unwrap(),
            position: log.json()["meta"]["position"].as_str().unwrap().to_owned(),
            cursor: cursor.to_owned(),
            tag: shown.header("ETag").unwrap().to_owned(),
            lead,
        })
    }

    /// Asserts that a server in a new epoch refuses what it cannot vouch for and goes on with the rest; fails while the server
    /// has not answered, or knows of no new epoch.
    async fn is_judged(&self, server: &Client) -> Result<(), Answer> {
        let read = async |path: String| {
            let answer = server.get(&path).await;
            if answer.status < 500 { Ok(answer) } else { Err(answer) }
        };
        // All acknowledged writes are there, so the position is.
        let log = read(format!("/2.0/events?cursor={}", self.position)).await?;
        assert_eq!(log.status, 200, "{log:?}");
        let epoch = log.json()["meta"]["epoch"].as_i64().unwrap();
        if epoch == self.epoch {
            return Err(log);
        }
        assert!(epoch > self.epoch, "{epoch} after {}", self.epoch);
        let beyond = read("/2.0/events?cursor=9223372036854775807".to_owned()).await?;
        beyond.refused(410, "events_expired");
        let page = read(format!("/2.0/leads?per_page=1&cursor={}", self.cursor)).await?;
        page.invalid(&["cursor"]);
        let known = server.request("GET", &self.lead).header("If-None-Match", &self.tag);
        let known = known.send().await;
        match known.status {
            // The lead may have been deleted meanwhile.
            404 => Ok(()),
            200 => {
                let tag = known.header("ETag").unwrap();
                assert!(tag.ends_with(&format!("-e{epoch}\"")), "{tag}");
                Ok(())
            }
            status => {
                assert!(status >= 500, "{known:?}");
                Err(known)
            }
        }
    }
}

/// Sends requests until it must stop; returns those whose outcome is unknown and that can be repeated.
async fn work(book: Arc<Book>, mut dice: Dice, stop: Arc<AtomicBool>) -> Vec<Exchange> {
    let mut unknown = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        let number = book.names.fetch_add(1, Ordering::Relaxed);
        let ask = book.next(&mut dice, number);
        let is_write = !matches!(ask, Ask::Read { .. });
        let key = (is_write && dice.below(5) > 0).then(|| format!("key-{number}"));
        let mut answer = None;
        // It repeats at once, perhaps on another server, and later again if necessary.
        for _ in 0..2 {
            let server = book.servers[dice.pick(book.servers.len())].clone();
            answer = book
                .exchange(&server, key.clone(), ask.clone())
                .await
                .filter(|(status, _)| *status < 500);
            if answer.is_some() || key.is_none() {
                break;
            }
            sleep(Duration::from_millis(dice.below(40))).await;
        }
        if answer.is_none() && key.is_some() {
            unknown.push(Exchange {
                key,
                ask,
                began: 0,
                ended: 0,
                answer,
            });
        }
    }
    unknown
}

impl Book {
    /// Returns a client's next request.
    fn next(&self, dice: &mut Dice, number: usize) -> Ask {
        let leads = self.leads.lock().unwrap();
        let hot: Vec<(i64, i64)> = leads
            .iter()
            .rev()
            .take(HOT)
            .map(|(lead, version)| (*lead, *version))
            .collect();
        let kind = dice.below(20);
        if hot.is_empty() || kind < 5 {
            return Ask::Create {
                name: format!("lead-{number}"),
            };
        }
        let (lead, if_match) = hot[dice.pick(hot.len())];
        match kind {
            5..15 => Ask::Change {
                lead,
                if_match,
                token: format!("token-{number}"),
            },
            15..19 => Ask::Read { lead },
            _ => Ask::Delete { lead, if_match },
        }
    }

    /// Sends a request and records the outcome.
    async fn exchange(&self, server: &Client, key: Option<String>, ask: Ask) -> Option<(u16, Value)> {
        let lead = |lead: &i64| format!("/2.0/leads/{lead}");
        let request = match &ask {
            Ask::Create { name } => server.request("POST", "/2.0/leads").json(&json!({"name": name})),
            Ask::Change {
                lead: id,
                if_match,
                token,
            } => server
                .request("PATCH", &lead(id))
                .header("If-Match", &format!("\"{if_match}\""))
                .json(&json!({"data": {"token": token}})),
            Ask::Delete { lead: id, if_match } => server
                .request("DELETE", &lead(id))
                .header("If-Match", &format!("\"{if_match}\"")),
            Ask::Read { lead: id } => server.request("GET", &lead(id)),
        };
        let request = match &key {
            Some(key) => request.key(key),
            None => request,
        };
        let began = self.clock.fetch_add(1, Ordering::SeqCst);
        let answer = request
            .attempt()
            .await
            .ok()
            .map(|answer| (answer.status, answer.json()));
        let ended = self.clock.fetch_add(1, Ordering::SeqCst);
        if answer.is_none() {
            sleep(Duration::from_millis(20)).await;
        }
        self.learn(&ask, answer.as_ref());
        let exchange = Exchange {
            key,
            ask,
            began,
            ended,
            answer: answer.clone(),
        };
        self.history.lock().unwrap().push(exchange);
        answer
    }

    /// Records the state of a lead from an answer.
    fn learn(&self, ask: &Ask, answer: Option<&(u16, Value)>) {
        let mut leads = self.leads.lock().unwrap();
        match (ask, answer) {
            (Ask::Create { .. }, Some((201, body))) => {
                leads.insert(body["data"]["id"].as_i64().expect("an id"), 1);
            }
            (Ask::Delete { lead, .. }, Some((200 | 404, _)))
            | (Ask::Change { lead, .. } | Ask::Read { lead }, Some((404, _))) => {
                leads.remove(lead);
            }
            (Ask::Change { lead, .. } | Ask::Delete { lead, .. } | Ask::Read { lead }, Some((200 | 412, body))) => {
                let said = body["data"]["version"]
                    .as_i64()
                    .or(body["error"]["details"]["version"].as_i64());
                if let (Some(known), Some(said)) = (leads.get_mut(lead), said) {
                    *known = (*known).max(said);
                }
            }
            _ => (),
        }
    }
}
