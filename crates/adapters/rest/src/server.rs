//! Listens for connections, and stops without dropping accepted requests.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use actix_http::{ConnectionType, HttpService};
use actix_service::{IntoServiceFactory as _, ServiceFactoryExt as _, map_config};
use actix_web::{
    App, Error, HttpResponse, HttpServer,
    body::MessageBody,
    dev::{AppConfig, Server, ServerHandle, Service as _, ServiceFactory, ServiceRequest, ServiceResponse, fn_service},
    http::header,
    rt::net::TcpStream,
    web,
};
use bytes::Bytes;
use forecourt_accounts::{KeyUses, RateCounters, RateLimits};
use forecourt_contacts::PasswordHasher;
use forecourt_dealership::Database;
use forecourt_files::{AddressKey, FileStore, PictureMaker};
use forecourt_kernel::{Clock, Mailer, Random};
use forecourt_print::Printer;
use forecourt_webhooks::Projections;
use ipnet::IpNet;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::sync::Semaphore;

use crate::{
    address::Gate,
    admission::Admission,
    answer_cache::AnswerCache,
    areas,
    connection::{self, Connection, Exchange, Progress, Refuse, Refused, Tracked},
    cors::CorsOrigins,
    credentials::CredentialCache,
    docs,
    help::HelpPages,
    keyed_mutex::KeyedMutex,
    large_answers::LargeAnswers,
    manifests::Manifests,
    metrics::{self, Meter, Metrics},
    notifier::EventNotifier,
    operation::Operation,
    parsing::ParsePool,
    pipeline::{self, Pipeline, handle},
    proxy_watch::ProxyWatch,
    router::Router,
    tail::Tails,
    upload::Uploads,
    worker::{Shared, Worker},
};

/// The maximum time for a request's head to arrive.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The time for which a caller may leave an answer unread before the connection is dropped.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// The time for which an idle connection is kept.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// The time in seconds that a stop waits for accepted requests.
const STOP_SECONDS: u64 = 30;
/// The number of connections that each worker serves at the same time; more wait to be accepted.
const MAX_CONNECTIONS: usize = 4096;
/// The number of connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// The number of passwords that are hashed at the same time: each takes some 20 MiB meanwhile.
const HASHED_AT_ONCE: usize = 4;

/// The server's settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address on which the API listens.
    pub bind: SocketAddr,
    /// The address on which Prometheus finds the metrics; `None` for nowhere.
    pub admin_bind: Option<SocketAddr>,
    /// The URL by which callers reach the server.
    pub public_url: String,
    /// The mark of the installation, by which `/healthz` is known from that of another one.
    pub installation: String,
    /// The folder for files while they are received.
    pub spool: PathBuf,
    /// The key that signs addresses of private files.
    pub address_key: AddressKey,
    /// The number of threads that answer requests.
    pub workers: usize,
    /// The limits on the requests of a business.
    pub limits: RateLimits,
    /// The number of failed authentications in a minute that block an address; `None` blocks none.
    pub auth_failures_per_minute: Option<u32>,
    /// Addresses that are always blocked.
    pub blocked: Vec<IpNet>,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// True if webhooks may go to `http:` urls; for development and tests only.
    pub allow_insecure_targets: bool,
    /// The origins whose pages may read answers in a browser.
    pub cors: CorsOrigins,
}

/// Makes the database of one worker on that worker's thread, where its connections stay.
pub type DatabaseFactory = Arc<dyn Fn() -> Arc<dyn Database> + Send + Sync>;

/// The ports through which the server uses the rest of the program.
#[derive(Clone)]
pub struct Ports {
    /// Gives each worker its database.
    pub database: DatabaseFactory,
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Names requests, and makes secrets.
    pub random: Arc<dyn Random>,
    /// Counts requests.
    pub counters: Arc<dyn RateCounters>,
    /// Records which keys are in use.
    pub key_uses: Arc<KeyUses>,
    /// Notes proxies that the settings do not list.
    pub proxies: Arc<ProxyWatch>,
    /// Collects metrics, if they are wanted.
    pub metrics: Option<Metrics>,
    /// Projections of the records in events for a key's scopes.
    pub projections: Projections,
    /// Notified after events are committed.
    pub notifier: EventNotifier,
    /// Sends mails that cannot wait in the queue: login details, which contain a password.
    pub mailer: Arc<dyn Mailer>,
    /// Hashes the passwords of logins.
    pub hasher: Arc<dyn PasswordHasher>,
    /// Stores the content of files.
    pub files: Arc<dyn FileStore>,
    /// Makes copies of pictures for showing.
    pub pictures: Arc<dyn PictureMaker>,
    /// Prints documents as PDF.
    pub printer: Arc<dyn Printer>,
}

/// A server that is listening.
pub struct Running {
    address: SocketAddr,
    api: ServerHandle,
    admin: Option<ServerHandle>,
    notifier: EventNotifier,
    servers: Vec<tokio::task::JoinHandle<io::Result<()>>>,
}

impl Running {
    /// Returns the address that the API listens on, with the actual port if the setting left it open.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening at once, and returns when accepted requests have been answered, or after 30 seconds. Requests that wait
    /// for events are answered with those that exist.
    pub async fn stop(self) {
        self.notifier.mute();
        self.api.stop(true).await;
        if let Some(admin) = self.admin {
            admin.stop(false).await;
        }
        for server in self.servers {
            if let Ok(Err(error)) = server.await {
                tracing::error!(%error, "a listener ended with an error");
            }
        }
    }
}

/// Starts listening.
///
/// # Errors
/// If an address cannot be bound, or an operation lacks a required declaration.
pub fn start(config: Config, ports: Ports) -> io::Result<Running> {
    let operations = areas::operations().map_err(io::Error::other)?;
    let shared = Arc::new(Shared {
        operations: operations.iter().map(Operation::summary).collect(),
        help: HelpPages::new(&config.public_url),
        tails: Tails::new(ports.notifier.clone(), Arc::clone(&ports.clock)),
        clock: ports.clock,
        random: ports.random,
        allow_insecure_targets: config.allow_insecure_targets,
        projections: ports.projections,
        key_uses: ports.key_uses,
        proxies: ports.proxies,
        notifier: ports.notifier.clone(),
        mailer: ports.mailer,
        hasher: ports.hasher,
        hashing: Semaphore::new(HASHED_AT_ONCE),
        keyed_requests: KeyedMutex::default(),
        login_mails: KeyedMutex::default(),
        drive_mails: KeyedMutex::default(),
        document_mails: KeyedMutex::default(),
        large_answers: LargeAnswers::default(),
        manifests: Manifests::default(),
        answers: Arc::new(AnswerCache::default()),
        parsing: ParsePool::new(),
        uploads: Uploads::new(config.spool),
        files: ports.files,
        pictures: ports.pictures,
        printer: ports.printer,
        public_url: config.public_url.clone(),
        address_key: config.address_key,
    });
    let pipeline = Arc::new(Pipeline {
        router: Router::new(operations).map_err(io::Error::other)?,
        pages: docs::pages(config.public_url, &config.installation),
        unrouted: Meter::new("-", "-"),
        admission: Admission {
            counters: ports.counters,
            limits: config.limits,
            gate: Gate::new(config.blocked, config.auth_failures_per_minute),
            trusted_proxies: config.trusted_proxies,
        },
        cors: config.cors,
    });

    let database = Arc::clone(&ports.database);
    let listener = listen(config.bind, WRITE_TIMEOUT)?;
    let address = listener.local_addr()?;
    let app = {
        let (pipeline, shared) = (Arc::clone(&pipeline), Arc::clone(&shared));
        move || {
            let worker = Worker {
                shared: Arc::clone(&shared),
                database: database(),
                credentials: CredentialCache::default(),
            };
            App::new()
                .app_data(web::ThinData(Arc::clone(&pipeline)))
                .app_data(web::ThinData(Rc::new(worker)))
                .default_service(web::to(handle))
        }
    };
    let refuse = move |refused| pipeline::refuse(&pipeline, &shared, refused);
    // Started before the API: when the server is ready, its metrics can be read too.
    let mut servers = Vec::new();
    let admin = match (config.admin_bind, ports.metrics) {
        (Some(bind), Some(metrics)) => {
            let server = admin_server(bind, metrics, ports.database)?;
            let handle = server.handle();
            servers.push(tokio::spawn(server));
            Some(handle)
        }
        _ => None,
    };
    let api = serve(listener, config.workers, app, refuse)?;
    let handle = api.handle();
    servers.push(tokio::spawn(api));
    Ok(Running {
        address,
        api: handle,
        admin,
        notifier: ports.notifier,
        servers,
    })
}

/// Opens the socket. Each connection inherits the options that are set on it here.
fn listen(address: SocketAddr, write_timeout: Duration) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    #[cfg(not(windows))]
    socket.set_reuse_address(true)?;
    // For a caller that does not read: the time for which sent data may stay unacknowledged, or the caller's buffer full.
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(write_timeout))?;
    #[cfg(not(target_os = "linux"))]
    let _: Duration = write_timeout;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Serves the API like `HttpServer`, over connections that are watched ([`Connection`]).
fn serve<T, B>(
    listener: TcpListener,
    workers: usize,
    app: impl Fn() -> App<T> + Send + Clone + 'static,
    refuse: impl Fn(Refused) -> Bytes + Send + Clone + 'static,
) -> io::Result<Server>
where
    T: ServiceFactory<ServiceRequest, Config = (), Response = ServiceResponse<B>, Error = Error, InitError = ()>
        + 'static,
    B: MessageBody + Unpin + 'static,
{
    let builder = Server::build()
        .workers(workers)
        .max_concurrent_connections(MAX_CONNECTIONS)
        .shutdown_timeout(STOP_SECONDS)
        .disable_signals();
    let stopping = builder.graceful_shutdown_signal();
    let builder = builder.listen("api", listener, move || {
        let refuse: Refuse = Rc::new(refuse.clone());
        let stopping = stopping.clone();
        let app = app().wrap_fn(|request, app| {
            let exchange = request
                .conn_data::<Rc<Progress>>()
                .map(|progress| progress.begin(connection::has_body(request.headers())));
            let answer = app.call(request);
            async move {
                let mut answer = answer.await?;
                if exchange.as_ref().is_some_and(Exchange::leaves_body_unread) {
                    answer
                        .response_mut()
                        .head_mut()
                        .set_connection_type(ConnectionType::Close);
                }
                Ok(answer.map_body(|_, body| Tracked::new(body, exchange)))
            }
        });
        let app = app.into_factory().map_err(|error: Error| error.error_response());
        let http = HttpService::build()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            .keep_alive(KEEP_ALIVE)
            .client_request_timeout(HEAD_TIMEOUT)
            .client_disconnect_timeout(Duration::from_secs(5))
            // A caller that closes its connection has gone: work for it ends, and its turn passes to others.
            .h1_allow_half_closed(false)
            .on_connect_ext(|connection: &Connection, data| {
                data.insert(connection.progress());
            })
            .h1(map_config(app, |()| AppConfig::default()));
        fn_service(move |stream: TcpStream| {
            let peer = stream.peer_addr().ok();
            let connection = Connection::new(stream, Rc::clone(&refuse));
            async move { Ok((connection, peer)) }
        })
        .and_then(http)
    })?;
    Ok(builder.run())
}

fn admin_server(bind: SocketAddr, figures: Metrics, database: DatabaseFactory) -> io::Result<actix_web::dev::Server> {
    let server = HttpServer::new(move || {
        let (figures, database) = (figures.clone(), database());
        let metrics = move || {
            metrics::record_pool(database.load());
            let body = figures.render();
            async {
                HttpResponse::Ok()
                    .insert_header((header::CONTENT_TYPE, "text/plain; version=0.0.4"))
                    .body(body)
            }
        };
        App::new().route("/metrics", web::get().to(metrics))
    });
    Ok(server.workers(1).disable_signals().bind(bind)?.run())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use actix_web::{HttpRequest, body::BodyStream};
    use futures_util::stream;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream as Caller,
        task::JoinHandle,
    };

    use super::*;
    use crate::code::Code;

    type Serving = (SocketAddr, ServerHandle, JoinHandle<io::Result<()>>);

    /// Serves the app that `app` makes; a refusal contains only its code.
    fn serving<T, B>(write_timeout: Duration, app: impl Fn() -> App<T> + Send + Clone + 'static) -> Serving
    where
        T: ServiceFactory<ServiceRequest, Config = (), Response = ServiceResponse<B>, Error = Error, InitError = ()>
            + 'static,
        B: MessageBody + Unpin + 'static,
    {
        let listener = listen(([127, 0, 0, 1], 0).into(), write_timeout).unwrap();
        let address = listener.local_addr().unwrap();
        let refuse = |Refused { code, .. }: Refused| Bytes::from_static(code.as_str().as_bytes());
        let server = serve(listener, 1, app, refuse).unwrap();
        (address, server.handle(), tokio::spawn(server))
    }

    /// Returns everything that the server answers to `request` until it closes the connection.
    async fn said(address: SocketAddr, request: String) -> String {
        let mut caller = Caller::connect(address).await.unwrap();
        caller.write_all(request.as_bytes()).await.unwrap();
        let mut said = Vec::new();
        caller.read_to_end(&mut said).await.unwrap();
        String::from_utf8(said).unwrap()
    }

    #[tokio::test]
    async fn what_http_cannot_read_is_refused_with_a_code() {
        let app = || App::new().default_service(web::to(|| async { HttpResponse::Ok().body("fine") }));
        let (address, handle, running) = serving(WRITE_TIMEOUT, app);
        let target = |length: usize| format!("GET /{} HTTP/1.1\r\nhost: any\r\n\r\n", "x".repeat(length));
        let lines = |count: usize| "a: b\r\n".repeat(count);
        let long = format!("GET / HTTP/1.1\r\na: {}\r\n\r\n", "x".repeat(300_000));
        let many = format!("GET / HTTP/1.1\r\nhost: any\r\n{}\r\n", lines(200));
        for (request, code) in [
            (target(70_000), Code::URI_TOO_LONG),
            (target(1_000_000), Code::URI_TOO_LONG),
            (long, Code::HEADERS_TOO_LARGE),
            (many, Code::HEADERS_TOO_LARGE),
            ("nonsense\r\n\r\n".to_owned(), Code::REQUEST_INVALID),
        ] {
            assert_eq!(said(address, request.clone()).await, code.as_str());
            // The same after another request, which the connection has served by then.
            let mut caller = Caller::connect(address).await.unwrap();
            caller.write_all(target(1).as_bytes()).await.unwrap();
            let mut first = vec![0; 4096];
            let length = caller.read(&mut first).await.unwrap();
            assert!(first[..length].ends_with(b"fine"));
            caller.write_all(request.as_bytes()).await.unwrap();
            let mut rest = String::new();
            caller.read_to_string(&mut rest).await.unwrap();
            assert_eq!(rest, code.as_str());
        }
        handle.stop(false).await;
        running.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn an_unread_body_ends_the_connection() {
        let app = || App::new().default_service(web::to(|_: HttpRequest| async { HttpResponse::Ok().body("fine") }));
        let (address, handle, running) = serving(WRITE_TIMEOUT, app);
        let body = "x".repeat(200_000);
        for framing in [
            "content-length: 200000\r\n\r\n".to_owned(),
            // A chunk that never ends.
            "transfer-encoding: chunked\r\n\r\nfffffff\r\n".to_owned(),
        ] {
            let answer = said(address, format!("POST / HTTP/1.1\r\nhost: any\r\n{framing}{body}")).await;
            assert!(
                answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nfine"),
                "{answer}"
            );
            assert!(answer.contains("connection: close"), "{answer}");
        }
        handle.stop(true).await;
        running.await.unwrap().unwrap();
    }

    /// Reports when it is dropped.
    struct Guard(mpsc::Sender<()>);

    impl Drop for Guard {
        fn drop(&mut self) {
            let _: Result<(), _> = self.0.send(());
        }
    }

    #[tokio::test]
    async fn a_caller_that_hangs_up_ends_what_it_waits_for() {
        let (gone, ended) = mpsc::channel();
        let app = move || {
            let gone = gone.clone();
            let endless = move || {
                let guard = Guard(gone.clone());
                async move {
                    let _guard = guard;
                    std::future::pending::<HttpResponse>().await
                }
            };
            App::new().default_service(web::to(endless))
        };
        let (address, handle, running) = serving(WRITE_TIMEOUT, app);
        let mut caller = Caller::connect(address).await.unwrap();
        caller.write_all(b"GET / HTTP/1.1\r\nhost: any\r\n\r\n").await.unwrap();
        // No bytes were left unread, so the connection is closed, not reset.
        drop(caller);
        let dropped = tokio::task::spawn_blocking(move || ended.recv_timeout(Duration::from_secs(60)));
        dropped.await.unwrap().expect("the work is given up");
        handle.stop(false).await;
        running.await.unwrap().unwrap();
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_caller_that_never_reads_is_dropped() {
        let (gone, ended) = mpsc::channel();
        let app = move || {
            let gone = gone.clone();
            let endless = move || {
                let guard = Guard(gone.clone());
                let more = move || {
                    let _: &Guard = &guard;
                    Ok::<_, io::Error>(Bytes::from_static(&[b'x'; 64 * 1024]))
                };
                async { HttpResponse::Ok().body(BodyStream::new(stream::repeat_with(more))) }
            };
            App::new().default_service(web::to(endless))
        };
        let (address, handle, running) = serving(Duration::from_secs(2), app);
        let mut caller = Caller::connect(address).await.unwrap();
        caller.write_all(b"GET / HTTP/1.1\r\nhost: any\r\n\r\n").await.unwrap();
        let dropped = tokio::task::spawn_blocking(move || ended.recv_timeout(Duration::from_secs(60)));
        dropped.await.unwrap().expect("the answer is given up");
        handle.stop(false).await;
        running.await.unwrap().unwrap();
    }
}
