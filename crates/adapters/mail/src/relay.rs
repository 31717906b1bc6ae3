//! The mail server: its address, the encryption of the connection, and the login.

use std::{net::IpAddr, time::Duration};

use lettre::transport::smtp::{
    Error,
    authentication::{Credentials, DEFAULT_MECHANISMS},
    client::{AsyncSmtpConnection, TlsParameters},
    extension::ClientId,
};
use percent_encoding::percent_decode_str;
use url::{Host, Url};

use crate::problem::{Problem, Step};

/// The time for one of the host's addresses to answer before the next one is tried.
const EACH_ADDRESS: Duration = Duration::from_secs(3);

/// A mail server, as its URL describes it.
pub(crate) struct Relay {
    host: String,
    port: u16,
    security: Security,
    tls: TlsParameters,
    credentials: Option<Credentials>,
    /// The name with which the server is greeted.
    hello: ClientId,
}

/// The encryption of the connection to the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Security {
    /// TLS from the first byte.
    Implicit,
    /// TLS after STARTTLS; without it no mail is sent.
    Required,
    /// TLS after STARTTLS if the server offers it. Without it no credentials are sent.
    IfOffered,
    /// No encryption.
    Plain,
}

impl Relay {
    /// Reads a URL as [`SmtpMailer::new`](crate::SmtpMailer::new) describes it.
    pub(crate) fn parse(url: &str, hello: &str) -> Result<Self, InvalidSmtpUrl> {
        let url = Url::parse(url).map_err(|_| InvalidSmtpUrl("is no URL"))?;
        let host = match url.host() {
            Some(Host::Domain(domain)) if !domain.is_empty() => domain.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            _ => return Err(InvalidSmtpUrl("names no host")),
        };
        if !matches!(url.path(), "" | "/") || url.fragment().is_some() {
            return Err(InvalidSmtpUrl("must end after the host and the port"));
        }
        let credentials = credentials(&url)?;
        let security = security(&url, &host)?;
        let usual_port = match (security, &credentials) {
            (Security::Implicit, _) => 465,
            (_, Some(_)) => 587,
            (_, None) => 25,
        };
        Ok(Self {
            port: url.port().unwrap_or(usual_port),
            security,
            tls: TlsParameters::new(host.clone()).map_err(|_| InvalidSmtpUrl("names a host that TLS cannot verify"))?,
            host,
            credentials,
            hello: ClientId::Domain(hello.to_owned()),
        })
    }

    /// Opens a connection and makes it ready for a mail.
    pub(crate) async fn connect(&self) -> Result<AsyncSmtpConnection, Problem> {
        let mut connection = self.greet().await?;
        if let Some(credentials) = &self.credentials {
            if self.security == Security::IfOffered && !connection.is_encrypted() {
                return Err(Problem::Unguarded);
            }
            let answer = connection.auth(DEFAULT_MECHANISMS, credentials).await;
            answer.map_err(Problem::at(Step::Login))?;
        }
        Ok(connection)
    }

    /// Opens a connection without logging in.
    pub(crate) async fn greet(&self) -> Result<AsyncSmtpConnection, Problem> {
        self.open_connection().await.map_err(Problem::at(Step::Greeting))
    }

    async fn open_connection(&self) -> Result<AsyncSmtpConnection, Error> {
        let server = (self.host.as_str(), self.port);
        let tls = (self.security == Security::Implicit).then(|| self.tls.clone());
        let mut connection =
            AsyncSmtpConnection::connect_tokio1(server, Some(EACH_ADDRESS), &self.hello, tls, None).await?;
        let upgrade = match self.security {
            Security::Required => true,
            Security::IfOffered => connection.can_starttls(),
            Security::Implicit | Security::Plain => false,
        };
        if upgrade {
            connection.starttls(self.tls.clone(), &self.hello).await?;
        }
        Ok(connection)
    }
}

fn credentials(url: &Url) -> Result<Option<Credentials>, InvalidSmtpUrl> {
    let decode = |text: &str| match percent_decode_str(text).decode_utf8() {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => Err(InvalidSmtpUrl("has credentials that are not UTF-8")),
    };
    match (url.username(), url.password()) {
        ("", None) => Ok(None),
        ("", Some(_)) => Err(InvalidSmtpUrl("has a password without a user")),
        (_, None) => Err(InvalidSmtpUrl("has a user without a password")),
        (user, Some(password)) => Ok(Some(Credentials::new(decode(user)?, decode(password)?))),
    }
}

fn security(url: &Url, host: &str) -> Result<Security, InvalidSmtpUrl> {
    let mut asked = None;
    for (name, value) in url.query_pairs() {
        match (&*name, &*value) {
            ("tls", "required") => asked = Some(Security::Required),
            ("tls", "none") => asked = Some(Security::Plain),
            _ => return Err(InvalidSmtpUrl("knows no parameters but tls=required and tls=none")),
        }
    }
    match (url.scheme(), asked) {
        ("smtps", None | Some(Security::Required)) => Ok(Security::Implicit),
        ("smtps", _) => Err(InvalidSmtpUrl("asks for smtps without TLS")),
        ("smtp", Some(security)) => Ok(security),
        // A connection that does not leave the machine needs no encryption, and local servers have self-signed certificates.
        ("smtp", None) if is_this_machine(host) => Ok(Security::Plain),
        ("smtp", None) => Ok(Security::IfOffered),
        _ => Err(InvalidSmtpUrl("must begin with smtp:// or smtps://")),
    }
}

fn is_this_machine(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// The text is not the URL of a mail server. The message does not repeat it, since it may contain a password.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}; expected smtp://[USER:PASSWORD@]HOST[:PORT] or smtps://…")]
pub struct InvalidSmtpUrl(&'static str);

#[cfg(test)]
mod tests {
    use super::*;

    fn relay(url: &str) -> Result<Relay, InvalidSmtpUrl> {
        Relay::parse(url, "example.com")
    }

    #[test]
    fn the_url_says_where_and_how() {
        let table = [
            ("smtps://mail.example.com", 465, Security::Implicit),
            ("smtps://u:p@mail.example.com:4650/", 4650, Security::Implicit),
            ("smtp://mail.example.com", 25, Security::IfOffered),
            ("smtp://u:p@mail.example.com", 587, Security::IfOffered),
            ("smtp://mail.example.com:2525?tls=required", 2525, Security::Required),
            ("smtp://mail.example.com?tls=none", 25, Security::Plain),
            ("smtp://localhost:1025", 1025, Security::Plain),
            ("smtp://127.0.0.2", 25, Security::Plain),
            ("smtp://[::1]:1025", 1025, Security::Plain),
            ("smtp://localhost?tls=required", 25, Security::Required),
        ];
        for (url, port, security) in table {
            let relay = relay(url).unwrap();
            assert_eq!((relay.port, relay.security), (port, security), "{url}");
        }
        assert_eq!(relay("smtp://[::1]").unwrap().host, "::1");
    }

    #[test]
    fn credentials_are_percent_decoded() {
        let relay = relay("smtps://ann%40example.com:p%3Ass%20w%C3%B6rd@mail.example.com").unwrap();
        let expected = Credentials::new("ann@example.com".into(), "p:ss wörd".into());
        assert_eq!(relay.credentials, Some(expected));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_without_being_repeated() {
        for url in [
            "",
            "mail.example.com",
            "http://mail.example.com",
            "smtp://",
            "smtp:mail.example.com",
            "smtp://secret@mail.example.com",
            "smtp://:secret@mail.example.com",
            "smtp://u:secret%FF@mail.example.com",
            "smtp://u:secret@mail.example.com/path",
            "smtp://u:secret@mail.example.com?tls=maybe",
            "smtp://u:secret@mail.example.com?tsl=required",
            "smtps://u:secret@mail.example.com?tls=none",
            "smtp://u:secret@mail.example.com:99999",
        ] {
            let refusal = relay(url).err().unwrap_or_else(|| panic!("{url} is taken"));
            assert!(!format!("{refusal} {refusal:?}").contains("secret"), "{url}");
        }
    }
}
