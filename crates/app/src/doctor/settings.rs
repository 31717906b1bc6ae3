//! Checks of the settings, and of what comes with them.

use std::{env, os::unix::fs::PermissionsExt as _};

use forecourt_kernel::Clock as _;
use forecourt_rest::CorsOrigins;
use forecourt_storage::Unlocked;
use ipnet::IpNet;

use super::{Checked, Context, Finding};
use crate::{
    report::Report,
    settings::{Settings, is_passed_over},
    system::{SystemClock, SystemRandom},
};

/// The prefix of this program's environment variables.
const PREFIX: &str = "FORECOURT_";
/// The seconds for which a proxy that is not listed is remembered.
const RECENT: i64 = 3_600;

/// Returns the environment variables that look like settings, by name.
pub(super) fn variables() -> Vec<String> {
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(PREFIX)).collect();
    names.sort_unstable();
    names
}

pub(super) async fn read(context: &Context) -> Checked {
    Ok(match &context.settings {
        Ok(_) => Finding::ok("options, environment and file can be read"),
        Err(fault) => Finding::fail(
            fault.as_str(),
            "correct that setting; `forecourt serve --help` lists all of them",
        ),
    })
}

pub(super) async fn unused(context: &Context) -> Checked {
    Ok(judge_unused(&context.variables))
}

pub(super) fn judge_unused(variables: &[String]) -> Finding {
    let unused: Vec<&str> = variables
        .iter()
        .map(String::as_str)
        .filter(|name| is_passed_over(name))
        .collect();
    if unused.is_empty() {
        return Finding::ok("every FORECOURT_ variable is a setting");
    }
    let names = unused.join(" ");
    Finding::warn(
        format!("passed over: {}", unused.join(", ")),
        format!("unset {names} (on Kubernetes: enableServiceLinks: false in the pod's spec)"),
    )
}

pub(super) async fn insecure(context: &Context) -> Checked {
    Ok(judge_insecure(context.settings()?))
}

pub(super) fn judge_insecure(settings: &Settings) -> Finding {
    let public_url = settings.base_url(settings.bind);
    let faults = [
        (
            settings.webhook_allow_insecure_targets,
            "webhooks may go to http:// and to private addresses",
            "FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS=false",
        ),
        (
            settings.cors_origins == CorsOrigins::Any,
            "pages of any origin may call the API from a browser",
            "FORECOURT_CORS_ORIGINS=https://your.site",
        ),
        (
            settings.rate_limits().per_minute.is_none() || settings.rate_limits().per_day.is_none(),
            "a business may make any number of requests",
            "unset FORECOURT_RATE_LIMIT_PER_MINUTE and FORECOURT_RATE_LIMIT_PER_DAY",
        ),
        (
            !public_url.starts_with("https://"),
            "the public URL is not https",
            "FORECOURT_PUBLIC_URL=https://your.host",
        ),
    ];
    let found: Vec<_> = faults.iter().filter(|(is_so, ..)| *is_so).collect();
    if found.is_empty() {
        return Finding::ok("no setting is for development alone");
    }
    let join = |texts: Vec<&str>| texts.join("; ");
    Finding::warn(
        join(found.iter().map(|(_, what, _)| *what).collect()),
        join(found.iter().map(|(.., remedy)| *remedy).collect()),
    )
}

pub(super) async fn proxy(context: &Context) -> Checked {
    let since = SystemClock.now().epoch_seconds() - RECENT;
    let reports = context
        .servers
        .iter()
        .map(|running| Report::read(&running.server.report));
    let unlisted = reports
        .filter_map(|report| report.unlisted_proxy)
        .filter(|(_, at)| *at >= since);
    let mut addresses: Vec<String> = unlisted.map(|(address, _)| address).collect();
    addresses.sort_unstable();
    addresses.dedup();
    Ok(judge_proxies(context.settings()?, &addresses))
}

pub(super) fn judge_proxies(settings: &Settings, unlisted: &[String]) -> Finding {
    if settings.trusted_proxies.iter().any(|range| range.prefix_len() == 0) {
        return Finding::warn(
            "every address is trusted as a proxy",
            "FORECOURT_TRUSTED_PROXIES=ADDRESS_OF_THE_PROXY",
        );
    }
    if unlisted.is_empty() {
        return Finding::ok("no proxy is unlisted");
    }
    let listed = settings.trusted_proxies.iter().map(IpNet::to_string);
    let all: Vec<String> = listed.chain(unlisted.iter().cloned()).collect();
    Finding::warn(
        format!(
            "requests with X-Forwarded-For came from {}, which is not listed",
            unlisted.join(", ")
        ),
        format!("FORECOURT_TRUSTED_PROXIES={}", all.join(",")),
    )
}

pub(super) async fn secret_key(context: &Context) -> Checked {
    let settings = context.settings()?;
    let keys = match settings.found_keys(&SystemRandom) {
        Ok(Some(keys)) => keys,
        Ok(None) => {
            return Ok(Finding::fail(
                "there is no key yet",
                "forecourt serve (makes one; or set FORECOURT_SECRET_KEY to that of the database)",
            ));
        }
        Err(error) => {
            return Ok(Finding::fail(
                error.to_string(),
                "FORECOURT_SECRET_KEY=$(openssl rand -base64 32) for a new database, else the key that it was used with",
            ));
        }
    };
    if settings.secret_key.is_none() {
        let file = settings.secret_key_file();
        let mode = file.metadata()?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Ok(Finding::fail(
                format!("others can read {} (mode {mode:04o})", file.display()),
                format!("chmod 600 {}", file.display()),
            ));
        }
    }
    let id = keys.current.id();
    let Ok(storage) = &context.storage else {
        return Ok(Finding::ok(format!(
            "there is a key ({id}); the database was not asked"
        )));
    };
    Ok(match storage.try_keys(keys.current, keys.previous).await? {
        None => Finding::ok(format!(
            "there is a key ({id}), and the database was used with none yet"
        )),
        Some(Unlocked::Keys(_)) => Finding::ok(format!("it is the database's ({id})")),
        Some(Unlocked::WrongKey) => Finding::fail(
            format!("the database was used with another key than {id}"),
            "set FORECOURT_SECRET_KEY to that one; if it is lost: forecourt secret-key forget",
        ),
        Some(Unlocked::NeedsPrevious) => Finding::fail(
            "a change of keys is not finished",
            "set FORECOURT_SECRET_KEY_PREVIOUS to the key before, then: forecourt secret-key rotate",
        ),
    })
}
