//! Checks of the services that a server uses, and of the ways to it and from it.

use std::{collections::BTreeMap, time::Duration};

use forecourt_kernel::{Mail, Mailer as _};
use forecourt_mail::SmtpMailer;
use forecourt_redis::RedisFacts;
use forecourt_webhook_client::ApiAnswer;
use futures_util::future::join_all;
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};
use url::Url;

use super::{Checked, Context, Finding, Unchecked, dns};
use crate::{
    output::chain,
    settings::{LeadAi, Settings},
    wiring,
};

/// The oldest version of Redis that the tests run on.
const OLDEST_REDIS: (u32, u32) = (7, 0);
/// The number of receivers of webhooks that are tried, and the time for each.
const MAX_HOSTS: usize = 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Asks Redis; `None` if none is used.
async fn inspect_redis(context: &Context) -> Result<Option<Result<RedisFacts, String>>, Unchecked> {
    let Some(url) = &context.settings()?.redis_url else {
        return Ok(None);
    };
    let inspected = forecourt_redis::inspect(url.reveal()).await;
    Ok(Some(inspected.map_err(|error| chain(&error))))
}

pub(super) async fn redis(context: &Context) -> Checked {
    Ok(judge_redis(inspect_redis(context).await?.as_ref()))
}

pub(super) fn judge_redis(inspected: Option<&Result<RedisFacts, String>>) -> Finding {
    match inspected {
        None => Finding::ok("none is used: each server counts for itself"),
        Some(Err(fault)) => Finding::fail(fault.as_str(), "start Redis, or correct FORECOURT_REDIS_URL"),
        Some(Ok(facts)) if facts.is_read_only => Finding::fail(
            "it is a replica, and takes no writes",
            "FORECOURT_REDIS_URL=redis://HOST_OF_THE_PRIMARY",
        ),
        Some(Ok(_)) => Finding::ok("it answers and takes writes"),
    }
}

pub(super) async fn redis_version(context: &Context) -> Checked {
    Ok(match inspect_redis(context).await? {
        None => Finding::ok("none is used"),
        Some(Err(_)) => Finding::skip("Redis does not answer"),
        Some(Ok(facts)) => judge_redis_version(&facts.version),
    })
}

pub(super) fn judge_redis_version(version: &str) -> Finding {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
    let found = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    if found >= OLDEST_REDIS {
        Finding::ok(version)
    } else {
        Finding::warn(format!("{version} is older than 7.0"), "upgrade Redis to 7.0 or later")
    }
}

/// Returns the sender over SMTP; `None` if mails are written as files.
fn smtp_mailer(settings: &Settings) -> Result<Option<SmtpMailer>, Unchecked> {
    Ok(wiring::smtp_mailer(settings)?)
}

pub(super) async fn smtp(context: &Context) -> Checked {
    let Some(mailer) = smtp_mailer(context.settings()?)? else {
        return Ok(Finding::ok("none is used: mails are written as files"));
    };
    Ok(match mailer.greet().await {
        Ok(()) => Finding::ok("the mail server answers"),
        Err(error) => Finding::fail(
            chain(&error),
            "start the mail server, or correct FORECOURT_SMTP_URL (host, port, TLS)",
        ),
    })
}

pub(super) async fn smtp_auth(context: &Context) -> Checked {
    let Some(mailer) = smtp_mailer(context.settings()?)? else {
        return Ok(Finding::ok("none is used: mails are written as files"));
    };
    if mailer.greet().await.is_err() {
        return Ok(Finding::skip("the mail server does not answer"));
    }
    let remedy = "correct the user and the password in FORECOURT_SMTP_URL (special characters percent-encoded)";
    if let Err(error) = mailer.log_in().await {
        return Ok(Finding::warn(chain(&error), remedy));
    }
    let Some(address) = &context.mail_to else {
        return Ok(Finding::ok("the mail server accepts the login"));
    };
    let mail = Mail::new(
        address.as_str(),
        "Forecourt: a test",
        "This mail was sent by `forecourt doctor --mail-to`.\n",
    );
    Ok(match mailer.send(&mail).await {
        Ok(()) => Finding::ok(format!("a mail to {address} was accepted")),
        Err(error) => Finding::warn(
            format!("a mail to {address} was not accepted: {}", chain(&error)),
            remedy,
        ),
    })
}

pub(super) async fn mail_sender(context: &Context) -> Checked {
    let settings = context.settings()?;
    if settings.smtp_url.is_none() {
        return Ok(Finding::ok("mails are written as files"));
    }
    let domain = wiring::sender_domain(settings)?;
    let servers = dns::records(&domain, dns::MX).await?.len();
    let texts = dns::records(&domain, dns::TXT).await?;
    let has_policy = texts
        .iter()
        .any(|text| dns::text(text).to_ascii_lowercase().starts_with("v=spf1"));
    Ok(judge_sender(&domain, servers, has_policy))
}

pub(super) fn judge_sender(domain: &str, servers: usize, has_policy: bool) -> Finding {
    if servers == 0 {
        Finding::warn(
            format!("{domain} receives no mail: it has no MX record"),
            "FORECOURT_MAIL_FROM='Acme Cars <office@a-domain-that-receives-mail.example>'",
        )
    } else if has_policy {
        Finding::ok(format!("{domain} receives mail and names its servers"))
    } else {
        Finding::warn(
            format!("{domain} does not say which servers may send for it"),
            format!("add the DNS record: {domain}. TXT \"v=spf1 mx ~all\" (with the mail server that is used)"),
        )
    }
}

pub(super) async fn lead_ai(context: &Context) -> Checked {
    let settings = context.settings()?;
    let (LeadAi::Openai, Some(url)) = (settings.lead_ai, &settings.lead_ai_url) else {
        return Ok(Finding::ok("no model is asked"));
    };
    let base = url
        .reveal()
        .as_str()
        .trim_end_matches('/')
        .trim_end_matches("/chat/completions");
    let key = settings.lead_ai_key.as_ref().map_or("", |key| key.reveal().as_str());
    let answer = wiring::reader(base, key)?.get("/models").await;
    Ok(judge_model(
        answer.map(|answer| answer.status).map_err(|error| chain(&error)),
    ))
}

pub(super) fn judge_model(answered: Result<u16, String>) -> Finding {
    let remedy =
        "correct FORECOURT_LEAD_AI_URL or FORECOURT_LEAD_AI_KEY, or use the built-in rules: FORECOURT_LEAD_AI=rules";
    match answered {
        Ok(200..=299) => Finding::ok("the endpoint answers"),
        Ok(status) => Finding::warn(format!("the endpoint answers {status}"), remedy),
        Err(fault) => Finding::warn(fault, remedy),
    }
}

/// Asks the server at the public URL who it is.
pub(super) async fn healthz(settings: &Settings) -> Result<ApiAnswer, Unchecked> {
    let client = wiring::reader(&settings.base_url(settings.bind), "")?;
    Ok(client.get("/healthz").await?)
}

pub(super) async fn public_url(context: &Context) -> Checked {
    let settings = context.settings()?;
    if settings.public_url.is_none() {
        return Ok(Finding::skip("FORECOURT_PUBLIC_URL is not set"));
    }
    let installation = context.storage()?.installation().await?;
    let mark = installation.map(|installation| wiring::installation_mark(&installation));
    let answer = healthz(settings).await;
    let found = answer.map_err(|Unchecked(fault)| fault).and_then(|answer| {
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let found = body["installation"].as_str().map(str::to_owned);
        found.ok_or_else(|| format!("/healthz there answers {} and names no installation", answer.status))
    });
    Ok(judge_public_url(mark.as_deref(), found))
}

pub(super) fn judge_public_url(own: Option<&str>, found: Result<String, String>) -> Finding {
    let remedy =
        "FORECOURT_PUBLIC_URL=https://your.host (or correct its DNS record, its certificate or the proxy there)";
    match found {
        Ok(found) if own == Some(found.as_str()) => Finding::ok("it leads to this installation"),
        Ok(_) => Finding::warn("it leads to another installation", remedy),
        Err(fault) => Finding::warn(fault, remedy),
    }
}

pub(super) async fn outbound(context: &Context) -> Checked {
    if context.no_network {
        return Ok(Finding::skip("left out, with --no-network"));
    }
    let mut hosts = BTreeMap::new();
    for url in context.storage()?.webhook_urls().await? {
        if let Ok(url) = Url::parse(&url)
            && let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default())
        {
            hosts.insert(host.trim_matches(['[', ']']).to_owned(), port);
        }
    }
    let tried = hosts.into_iter().take(MAX_HOSTS).map(async |(host, port)| {
        let connected = timeout(CONNECT_TIMEOUT, TcpStream::connect((host.as_str(), port))).await;
        let fault = match connected {
            Ok(Ok(_)) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("no answer within 3 seconds".to_owned()),
        };
        (format!("{host}:{port}"), fault)
    });
    Ok(judge_hosts(&join_all(tried).await))
}

pub(super) fn judge_hosts(tried: &[(String, Option<String>)]) -> Finding {
    let faults = tried
        .iter()
        .filter_map(|(host, fault)| Some(format!("{host}: {}", fault.as_ref()?)));
    let faults: Vec<String> = faults.collect();
    if faults.is_empty() {
        Finding::ok(format!("{} receivers of webhooks can be reached", tried.len()))
    } else {
        Finding::warn(
            faults.join("; "),
            "let this machine resolve these names and connect to them (firewall, DNS), or have the webhooks' owners correct them",
        )
    }
}
