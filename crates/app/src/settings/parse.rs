//! The parsers of settings' texts, and the types that are of no use elsewhere.
//!
//! A parser's error is the requirement on the text; it completes the sentence that begins with the setting's name.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    num::NonZeroU32,
    str::FromStr,
    sync::Arc,
};

use clap::ValueEnum;
use forecourt_file_store::FileLocation;
use forecourt_kernel::Email;
use forecourt_mail::MessageBuilder;
use forecourt_rest::CorsOrigins;
use forecourt_storage::Cell;
use ipnet::IpNet;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;
use url::Url;

use crate::system::{SystemClock, SystemRandom};

/// The result of a parser.
type Parsed<T> = Result<T, &'static str>;
// These names keep clap from taking such a type for a setting that may be missing, or be given several times.
/// The address of a listener that can be turned off.
pub(super) type OptionalBind = Option<SocketAddr>;
/// A number of requests or mails; `None` is any number.
pub(super) type Limit = Option<u32>;
/// Networks of callers.
pub(super) type Networks = Vec<IpNet>;
/// Delays in seconds from one common start, in ascending order.
pub(super) type Offsets = Vec<u32>;

pub(super) fn switch(text: &str) -> Parsed<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err("must be true or false"),
    }
}

/// Parses a number that may be 0.
pub(super) fn number(text: &str) -> Parsed<u32> {
    digits(text).ok_or("must be a whole number, 0 or above")
}

/// Parses a number that may not be 0.
pub(super) fn positive(text: &str) -> Parsed<NonZeroU32> {
    let number = digits(text).and_then(NonZeroU32::new);
    number.ok_or("must be a whole number, 1 or above")
}

/// Parses a number of which 0 means no limit.
pub(super) fn limit(text: &str) -> Parsed<Limit> {
    let limit = digits(text).ok_or("must be a whole number, or 0 for no limit")?;
    Ok(Some(limit).filter(|&limit| limit > 0))
}

pub(super) fn cell(text: &str) -> Parsed<Cell> {
    let cell = digits(text).and_then(|number| Cell::new(u16::try_from(number).ok()?));
    cell.ok_or("must be a whole number from 0 to 511")
}

pub(super) fn email(text: &str) -> Parsed<Email> {
    text.parse().map_err(|_| "must be an email address")
}

/// Parses a number in plain digits; the standard parser would accept a `+` as well.
fn digits(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

pub(super) fn bind(text: &str) -> Parsed<SocketAddr> {
    text.parse()
        .map_err(|_| "must be an address and a port, such as 127.0.0.1:8080 or [::1]:8080")
}

pub(super) fn optional_bind(text: &str) -> Parsed<OptionalBind> {
    if text.eq_ignore_ascii_case("off") {
        return Ok(None);
    }
    let bind = text.parse().map(Some);
    bind.map_err(|_| "must be an address and a port, such as 127.0.0.1:9090, or off")
}

/// Parses a network, written as an address or a CIDR range. A network of IPv4 addresses in their IPv6 form becomes that of the
/// IPv4 addresses, by which callers are known.
pub(crate) fn network(text: &str) -> Option<IpNet> {
    /// The number of leading bits that all IPv4 addresses in IPv6 form share.
    const MAPPED_BITS: u8 = 96;
    let single = || text.parse::<IpAddr>().ok().map(IpNet::from);
    let network: IpNet = text.parse().ok().or_else(single)?;
    let mapped = || match network.addr().to_canonical() {
        IpAddr::V4(address) if network.addr().is_ipv6() => {
            IpNet::new(address.into(), network.prefix_len().checked_sub(MAPPED_BITS)?).ok()
        }
        _ => None,
    };
    Some(mapped().unwrap_or(network).trunc())
}

pub(super) fn networks(text: &str) -> Parsed<Networks> {
    let networks: Option<_> = items(text).map(network).collect();
    networks.ok_or("must be comma-separated addresses or CIDR ranges, such as 10.0.0.0/8,192.0.2.7")
}

pub(super) fn cors_origins(text: &str) -> Parsed<CorsOrigins> {
    if text.trim() == "*" {
        return Ok(CorsOrigins::Any);
    }
    let origins: Option<_> = items(text).map(origin).collect();
    origins.map(CorsOrigins::These).ok_or(
        "must be comma-separated origins without a path, such as https://shop.example,http://localhost:3000, or * alone",
    )
}

/// Returns an origin as a browser writes it.
fn origin(text: &str) -> Option<String> {
    let url = web_url(text)?;
    let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    (bare && names_nobody(&url) && !text.ends_with('/')).then(|| url.origin().ascii_serialization())
}

/// Returns true if the URL has neither a user name nor a password.
fn names_nobody(url: &Url) -> bool {
    url.username().is_empty() && url.password().is_none()
}

pub(super) fn offsets(text: &str) -> Parsed<Offsets> {
    let item = |item: &str| Some(item).filter(|item| !item.is_empty()).and_then(digits);
    let offsets: Option<Vec<_>> = items(text).map(item).collect();
    let offsets = offsets.filter(|offsets| offsets.is_sorted());
    offsets.ok_or("must be comma-separated whole seconds that never go down, such as 60,300,900")
}

/// Returns the items of a comma-separated list; an empty text is an empty list.
fn items(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim();
    let nothing = text.is_empty();
    text.split(',').map(str::trim).filter(move |_| !nothing)
}

/// Parses the base of links to this server, and returns it without a trailing slash.
pub(super) fn public_url(text: &str) -> Parsed<String> {
    web_url(text)
        .filter(|url| url.query().is_none() && url.fragment().is_none() && names_nobody(url))
        .map(|_| text.trim_end_matches('/').to_owned())
        .ok_or("must be an http:// or https:// URL without a user name, such as https://api.dealer.example")
}

/// Parses the address of another service, which may contain a password, or a key among its parameters.
pub(super) fn secret_web_url(text: &str) -> Parsed<Secret<Url>> {
    web_url(text).map(Secret).ok_or("must be an http:// or https:// URL")
}

fn web_url(text: &str) -> Option<Url> {
    url_of(text, &["http", "https"])
}

/// Parses an address that names a host under one of these schemes.
fn url_of(text: &str, schemes: &[&str]) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    (schemes.contains(&url.scheme()) && url.has_host()).then_some(url)
}

/// The address of the database. It may contain a password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct DatabaseUrl(String);

impl DatabaseUrl {
    /// Returns the address, including the password.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the part that may be shown: the file, or that it is a server.
    pub(crate) fn shown(&self) -> String {
        match self.0.strip_prefix("sqlite://") {
            Some(path) => match std::path::absolute(path) {
                Ok(path) => path.display().to_string(),
                Err(_) => path.to_owned(),
            },
            None => "postgres://…".to_owned(),
        }
    }

    /// Returns true if it names a PostgreSQL server, which several servers may share.
    pub(crate) fn is_postgres(&self) -> bool {
        !self.0.starts_with("sqlite://")
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_postgres() {
            "postgres://…"
        } else {
            "sqlite://…"
        })
    }
}

pub(super) fn database_url(text: &str) -> Parsed<DatabaseUrl> {
    ["sqlite://", "postgres://", "postgresql://"]
        .iter()
        .any(|scheme| text.starts_with(scheme) && text.len() > scheme.len())
        .then(|| DatabaseUrl(text.to_owned()))
        .ok_or("must be sqlite://PATH or postgres://USER:PASSWORD@HOST/DATABASE")
}

/// A value that must not be shown in logs or on terminals.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret<T>(T);

impl<T> Secret<T> {
    /// Keeps `value` from being shown by accident.
    pub(crate) const fn new(value: T) -> Self {
        Self(value)
    }

    /// Returns the hidden value.
    pub(crate) const fn reveal(&self) -> &T {
        &self.0
    }
}

/// Shows nothing of the value.
impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

pub(super) fn secret(text: &str) -> Parsed<Secret<String>> {
    Ok(Secret(text.to_owned()))
}

pub(super) fn redis_url(text: &str) -> Parsed<Secret<String>> {
    let url = url_of(text, &["redis", "rediss"]);
    url.map(|_| Secret(text.to_owned()))
        .ok_or("must be redis://HOST or rediss://HOST")
}

pub(super) fn smtp_url(text: &str) -> Parsed<Secret<String>> {
    let url = url_of(text, &["smtp", "smtps"]);
    url.map(|_| Secret(text.to_owned()))
        .ok_or("must be smtp://HOST or smtps://HOST, with USER:PASSWORD@ before the host if need be")
}

/// Parses the sender of mails: an address, with or without a name.
pub(super) fn sender(text: &str) -> Parsed<String> {
    MessageBuilder::new(text, Arc::new(SystemClock), Arc::new(SystemRandom))
        .map(|_| text.to_owned())
        .map_err(|_| "must be an email address, such as Acme Cars <office@acme.example>")
}

pub(super) fn blob_url(text: &str) -> Parsed<FileLocation> {
    text.parse().map_err(|_| "must be file://PATH or s3://BUCKET/PREFIX")
}

/// The service that rates and summarises leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum LeadAi {
    /// The built-in rules.
    Rules,
    /// An OpenAI-compatible chat endpoint.
    Openai,
    /// No service.
    Off,
}

/// The format of log lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Parses the log lines that are written: a level, or levels by module.
pub(super) fn log_filter(text: &str) -> Parsed<EnvFilter> {
    // The library takes any single word for a module's name; a typing error in a level would turn the log off unnoticed.
    let lone = !text.contains(['=', ',', '[', ':', '_']);
    let is_plain = !text.is_empty() && (!lone || LevelFilter::from_str(text).is_ok());
    let filter = is_plain.then(|| EnvFilter::try_new(text).ok()).flatten();
    filter.ok_or(
        "must be a level (off, error, warn, info, debug, trace), or levels by module such as info,forecourt=debug",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that a parser accepts the texts of `good`, and refuses those of `bad`.
    #[track_caller]
    fn check<T>(parse: fn(&str) -> Parsed<T>, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(parse(text).is_ok(), "{text:?} is refused");
        }
        for text in bad {
            assert!(parse(text).is_err(), "{text:?} is accepted");
        }
    }

    #[test]
    fn each_kind_takes_its_form_and_no_other() {
        check(switch, &["true", "FALSE", "1", "no"], &["", "maybe", "2"]);
        let not_numbers = &["", "-1", "+1", "1.5", "99999999999", "ten", " 1"];
        check(number, &["0", "10"], not_numbers);
        check(limit, &["0", "10"], not_numbers);
        check(positive, &["1"], &["0", ""]);
        check(
            bind,
            &["127.0.0.1:0", "[::]:8080"],
            &["", "8080", "127.0.0.1", "localhost:1", "1.2.3.4:99999"],
        );
        check(optional_bind, &["off", "OFF", "127.0.0.1:9090"], &["", "on", "9090"]);
        check(
            public_url,
            &["http://a", "https://a.example/b/"],
            &[
                "",
                "a.example",
                "ftp://a",
                "http://",
                "http://a?b=c",
                "https://u:p@a.example",
            ],
        );
        check(
            database_url,
            &["sqlite://a.db", "postgres://h/d", "postgresql://h"],
            &["", "sqlite://", "mysql://h", "a.db"],
        );
        check(
            redis_url,
            &["redis://h", "rediss://:p@h:6379/1"],
            &["", "h:6379", "http://h"],
        );
        check(
            smtp_url,
            &["smtp://h", "smtps://u:p@h:465"],
            &["", "h", "imap://h", "smtp:h"],
        );
        check(
            sender,
            &["a@b.example", "Acme Cars <a@b.example>"],
            &["", "a", "a b <c>"],
        );
        check(
            blob_url,
            &["file:///a", "file://a", "s3://bucket", "s3://bucket/c"],
            &["", "file://", "s3://", "s3:///p", "/a"],
        );
        check(
            log_filter,
            &["info", "WARN", "info,forecourt=debug", "forecourt_rest"],
            &["", "inof", "forecourt=loud", "a=b=c"],
        );
        check(
            cors_origins,
            &[
                "",
                "*",
                "https://shop.example",
                "HTTPS://Shop.Example:443, http://localhost:3000",
            ],
            &[
                "shop.example",
                "https://shop.example/",
                "https://a.example/b",
                "*,https://a.example",
                "null",
                "https://a@b.example",
                "https://a.example,",
                "ftp://a.example",
                "https://*.example?",
            ],
        );
        check(
            networks,
            &["", "10.0.0.0/8, 192.0.2.7,::1,fd00::/8"],
            &["10.0.0.0/33", "a", "10.0.0.1,,::1", ","],
        );
        check(offsets, &["", "0", "60,300", "1,1"], &["60,30", "a", "1,,2", "-1"]);
    }

    #[test]
    fn what_is_read_is_what_was_said() {
        assert_eq!((limit("0"), limit("7")), (Ok(None), Ok(Some(7))));
        assert_eq!(offsets("60, 300"), Ok(vec![60, 300]));
        assert_eq!(public_url("https://a.example/b/").as_deref(), Ok("https://a.example/b"));
        let shop = CorsOrigins::These(vec!["https://shop.example".to_owned()]);
        assert_eq!(cors_origins("HTTPS://Shop.Example:443"), Ok(shop));
        let networks = networks("::ffff:203.0.113.9, ::ffff:10.0.0.0/104, 2001:db8::1/32").unwrap();
        let networks: Vec<_> = networks.iter().map(ToString::to_string).collect();
        assert_eq!(networks, ["203.0.113.9/32", "10.0.0.0/8", "2001:db8::/32"]);
    }
}
