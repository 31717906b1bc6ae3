//! The valid texts of settings, and the types that they are parsed to.

use std::{
    borrow::Cow,
    fmt,
    net::{IpAddr, SocketAddr},
    num::NonZeroU32,
    path::PathBuf,
    str::FromStr,
    sync::Arc,
};

use forecourt_file_store::FileLocation;
use forecourt_mail::MessageBuilder;
use forecourt_rest::CorsOrigins;
use ipnet::IpNet;
use tracing_subscriber::EnvFilter;
use url::Url;

use crate::system::{SystemClock, SystemRandom};

/// The requirement on a setting's text; completes the sentence that begins with the setting's name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Expected(Cow<'static, str>);

impl Expected {
    pub(super) const fn new(sentence: &'static str) -> Self {
        Self(Cow::Borrowed(sentence))
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A type that a setting's text can be parsed to.
pub(super) trait Value: Sized {
    /// True if the text is or may contain something that must not be shown in logs or on terminals.
    const SECRET: bool = false;
    /// True if the option may be used without a value, which then means yes.
    const SWITCH: bool = false;

    /// Parses the text.
    fn read(text: &str) -> Result<Self, Expected>;
}

/// An optional setting; an empty text leaves it out.
impl<V: Value> Value for Option<V> {
    const SECRET: bool = V::SECRET;

    fn read(text: &str) -> Result<Self, Expected> {
        if text.is_empty() {
            Ok(None)
        } else {
            V::read(text).map(Some)
        }
    }
}

impl Value for bool {
    const SWITCH: bool = true;

    fn read(text: &str) -> Result<Self, Expected> {
        match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Ok(true),
            "false" | "no" | "off" | "0" => Ok(false),
            _ => Err(Expected::new("must be true or false")),
        }
    }
}

/// A number that may be 0.
impl Value for u32 {
    fn read(text: &str) -> Result<Self, Expected> {
        number(text).ok_or(Expected::new("must be a whole number, 0 or above"))
    }
}

impl Value for NonZeroU32 {
    fn read(text: &str) -> Result<Self, Expected> {
        number(text)
            .and_then(Self::new)
            .ok_or(Expected::new("must be a whole number, 1 or above"))
    }
}

/// Parses a number in plain digits; the standard parser would accept a `+` as well.
fn number(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

impl Value for String {
    fn read(text: &str) -> Result<Self, Expected> {
        Ok(text.to_owned())
    }
}

impl Value for PathBuf {
    fn read(text: &str) -> Result<Self, Expected> {
        if text.is_empty() {
            return Err(Expected::new("must be the path of a folder"));
        }
        Ok(Self::from(text))
    }
}

impl Value for SocketAddr {
    fn read(text: &str) -> Result<Self, Expected> {
        text.parse()
            .map_err(|_| Expected::new("must be an address and a port, such as 127.0.0.1:8080 or [::1]:8080"))
    }
}

/// The address of a listener that can be turned off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OptionalBind(pub(crate) Option<SocketAddr>);

impl Value for OptionalBind {
    fn read(text: &str) -> Result<Self, Expected> {
        if text.eq_ignore_ascii_case("off") {
            return Ok(Self(None));
        }
        let expected = |_| Expected::new("must be an address and a port, such as 127.0.0.1:9090, or off");
        SocketAddr::read(text).map(|bind| Self(Some(bind))).map_err(expected)
    }
}

/// A number of requests; 0 in the text means no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limit(pub(crate) Option<u32>);

impl Value for Limit {
    fn read(text: &str) -> Result<Self, Expected> {
        let limit = u32::read(text).map_err(|_| Expected::new("must be a whole number, or 0 for no limit"))?;
        Ok(Self(Some(limit).filter(|&limit| limit > 0)))
    }
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

/// Networks, written as comma-separated addresses and CIDR ranges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Networks(pub(crate) Vec<IpNet>);

impl Value for Networks {
    fn read(text: &str) -> Result<Self, Expected> {
        let networks: Option<_> = items(text).map(network).collect();
        networks.map(Self).ok_or(Expected::new(
            "must be comma-separated addresses or CIDR ranges, such as 10.0.0.0/8,192.0.2.7",
        ))
    }
}

/// Origins, written as comma-separated URLs without a path, or `*` alone.
impl Value for CorsOrigins {
    fn read(text: &str) -> Result<Self, Expected> {
        let expected = Expected::new(
            "must be comma-separated origins without a path, such as https://shop.example,http://localhost:3000, or * alone",
        );
        if text.trim() == "*" {
            return Ok(Self::Any);
        }
        let origins: Option<_> = items(text).map(origin).collect();
        origins.map(Self::These).ok_or(expected)
    }
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

/// Delays in seconds from one common start, in ascending order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Offsets(pub(crate) Vec<u32>);

impl Value for Offsets {
    fn read(text: &str) -> Result<Self, Expected> {
        let offsets: Option<Vec<_>> = items(text).map(number_item).collect();
        offsets
            .filter(|offsets| offsets.is_sorted())
            .map(Self)
            .ok_or(Expected::new(
                "must be comma-separated whole seconds that never go down, such as 60,300,900",
            ))
    }
}

fn number_item(text: &str) -> Option<u32> {
    if text.is_empty() { None } else { number(text) }
}

/// Returns the items of a comma-separated list; an empty text is an empty list.
fn items(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim();
    let nothing = text.is_empty();
    text.split(',').map(str::trim).filter(move |_| !nothing)
}

/// The base of links to this server: `http://` or `https://`, without a trailing slash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PublicUrl(pub(crate) String);

impl Value for PublicUrl {
    fn read(text: &str) -> Result<Self, Expected> {
        web_url(text)
            .filter(|url| url.query().is_none() && url.fragment().is_none())
            .filter(names_nobody)
            .map(|_| Self(text.trim_end_matches('/').to_owned()))
            .ok_or(Expected::new(
                "must be an http:// or https:// URL without a user name, such as https://api.dealer.example",
            ))
    }
}

/// An `http://` or `https://` address of another service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WebUrl(pub(crate) Secret<Url>);

/// The URL may contain a password, or a key among its parameters.
impl Value for WebUrl {
    const SECRET: bool = true;

    fn read(text: &str) -> Result<Self, Expected> {
        web_url(text)
            .map(|url| Self(Secret(url)))
            .ok_or(Expected::new("must be an http:// or https:// URL"))
    }
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

impl Value for DatabaseUrl {
    const SECRET: bool = true;

    fn read(text: &str) -> Result<Self, Expected> {
        let known = ["sqlite://", "postgres://", "postgresql://"];
        if known
            .iter()
            .any(|scheme| text.starts_with(scheme) && text.len() > scheme.len())
        {
            Ok(Self(text.to_owned()))
        } else {
            Err(Expected::new(
                "must be sqlite://PATH or postgres://USER:PASSWORD@HOST/DATABASE",
            ))
        }
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

impl Value for Secret<String> {
    const SECRET: bool = true;

    fn read(text: &str) -> Result<Self, Expected> {
        Ok(Self(text.to_owned()))
    }
}

/// The address of shared rate-limit counters. It may contain a password.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RedisUrl(pub(crate) Secret<String>);

impl Value for RedisUrl {
    const SECRET: bool = true;

    fn read(text: &str) -> Result<Self, Expected> {
        url_of(text, &["redis", "rediss"])
            .map(|_| Self(Secret(text.to_owned())))
            .ok_or(Expected::new("must be redis://HOST or rediss://HOST"))
    }
}

/// The server that sends mails. It may contain a password.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SmtpUrl(pub(crate) Secret<String>);

impl Value for SmtpUrl {
    const SECRET: bool = true;

    fn read(text: &str) -> Result<Self, Expected> {
        url_of(text, &["smtp", "smtps"])
            .map(|_| Self(Secret(text.to_owned())))
            .ok_or(Expected::new(
                "must be smtp://HOST or smtps://HOST, with USER:PASSWORD@ before the host if need be",
            ))
    }
}

/// The sender of mails: an address, with or without a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sender(pub(crate) String);

impl Value for Sender {
    fn read(text: &str) -> Result<Self, Expected> {
        MessageBuilder::new(text, Arc::new(SystemClock), Arc::new(SystemRandom))
            .map(|_| Self(text.to_owned()))
            .map_err(|_| Expected::new("must be an email address, such as Acme Cars <office@acme.example>"))
    }
}

impl Value for FileLocation {
    fn read(text: &str) -> Result<Self, Expected> {
        text.parse()
            .map_err(|_| Expected::new("must be file://PATH or s3://BUCKET/PREFIX"))
    }
}

/// The service that rates and summarises leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LeadAi {
    /// The built-in rules.
    Rules,
    /// An OpenAI-compatible chat endpoint.
    OpenAi,
    /// No service.
    Off,
}

impl Value for LeadAi {
    fn read(text: &str) -> Result<Self, Expected> {
        match text {
            "rules" => Ok(Self::Rules),
            "openai" => Ok(Self::OpenAi),
            "off" => Ok(Self::Off),
            _ => Err(Expected::new("must be rules, openai or off")),
        }
    }
}

/// The format of log lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl Value for LogFormat {
    fn read(text: &str) -> Result<Self, Expected> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(Expected::new("must be text or json")),
        }
    }
}

/// The log lines that are written: a level, or levels by module.
#[derive(Clone, Debug)]
pub(crate) struct LogFilter(pub(crate) EnvFilter);

impl Value for LogFilter {
    fn read(text: &str) -> Result<Self, Expected> {
        // The parser takes any single word for a module's name; a typing error in a level would turn the log off unnoticed.
        let lone = !text.contains(['=', ',', '[', ':', '_']);
        let level = tracing::level_filters::LevelFilter::from_str(text).is_ok();
        if text.is_empty() || (lone && !level) {
            return Err(log_filter_expected());
        }
        EnvFilter::try_new(text).map(Self).map_err(|_| log_filter_expected())
    }
}

const fn log_filter_expected() -> Expected {
    Expected::new(
        "must be a level (off, error, warn, info, debug, trace), or levels by module such as info,forecourt=debug",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that the texts of `good` can be parsed as one kind of value, and those of `bad` cannot.
    #[track_caller]
    fn check<V: Value>(good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(V::read(text).is_ok(), "{text:?} is refused");
        }
        for text in bad {
            assert!(V::read(text).is_err(), "{text:?} is accepted");
        }
    }

    #[test]
    fn each_kind_takes_its_form_and_no_other() {
        check::<bool>(&["true", "FALSE", "1", "no"], &["", "maybe", "2"]);
        check::<u32>(&["0", "10"], &["", "-1", "+1", "1.5", "99999999999", "ten", " 1"]);
        check::<NonZeroU32>(&["1"], &["0", ""]);
        check::<SocketAddr>(
            &["127.0.0.1:0", "[::]:8080"],
            &["", "8080", "127.0.0.1", "localhost:1", "1.2.3.4:99999"],
        );
        check::<OptionalBind>(&["off", "OFF", "127.0.0.1:9090"], &["", "on", "9090"]);
        check::<PublicUrl>(
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
        check::<DatabaseUrl>(
            &["sqlite://a.db", "postgres://h/d", "postgresql://h"],
            &["", "sqlite://", "mysql://h", "a.db"],
        );
        check::<RedisUrl>(&["redis://h", "rediss://:p@h:6379/1"], &["", "h:6379", "http://h"]);
        check::<SmtpUrl>(&["smtp://h", "smtps://u:p@h:465"], &["", "h", "imap://h", "smtp:h"]);
        check::<Sender>(&["a@b.example", "Acme Cars <a@b.example>"], &["", "a", "a b <c>"]);
        check::<FileLocation>(
            &["file:///a", "file://a", "s3://bucket", "s3://bucket/c"],
            &["", "file://", "s3://", "s3:///p", "/a"],
        );
        check::<LeadAi>(&["rules", "openai", "off"], &["", "none", "OpenAI"]);
        check::<LogFormat>(&["text", "json"], &["", "xml"]);
        check::<LogFilter>(
            &["info", "WARN", "info,forecourt=debug", "forecourt_rest"],
            &["", "inof", "forecourt=loud", "a=b=c"],
        );
        check::<CorsOrigins>(
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
        assert_eq!(
            CorsOrigins::read("HTTPS://Shop.Example:443").ok(),
            Some(CorsOrigins::These(vec!["https://shop.example".to_owned()]))
        );
        check::<Networks>(
            &["", "10.0.0.0/8, 192.0.2.7,::1,fd00::/8"],
            &["10.0.0.0/33", "a", "10.0.0.1,,::1", ","],
        );
        check::<Offsets>(&["", "0", "60,300", "1,1"], &["60,30", "a", "1,,2", "-1"]);
    }

    #[test]
    fn what_is_read_is_what_was_said() {
        assert_eq!(Limit::read("0"), Ok(Limit(None)));
        assert_eq!(Limit::read("7"), Ok(Limit(Some(7))));
        assert_eq!(Offsets::read("60, 300"), Ok(Offsets(vec![60, 300])));
        assert_eq!(
            PublicUrl::read("https://a.example/b/"),
            Ok(PublicUrl("https://a.example/b".into()))
        );
        assert_eq!(Option::<LeadAi>::read(""), Ok(None));
        let networks = Networks::read("::ffff:203.0.113.9, ::ffff:10.0.0.0/104, 2001:db8::1/32").unwrap();
        let networks: Vec<_> = networks.0.iter().map(ToString::to_string).collect();
        assert_eq!(networks, ["203.0.113.9/32", "10.0.0.0/8", "2001:db8::/32"]);
    }

    #[test]
    fn secrets_say_nothing() {
        let shown = format!(
            "{:?} {:?} {:?}",
            DatabaseUrl::read("postgres://u:hunter2@h/d").unwrap(),
            SmtpUrl::read("smtp://u:hunter2@h").unwrap(),
            Secret::<String>::read("hunter2").unwrap(),
        );
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
