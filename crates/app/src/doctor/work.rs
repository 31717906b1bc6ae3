//! Checks of the work that a server does by itself.

use forecourt_kernel::Clock as _;
use forecourt_storage::{RunningServer, TroubledWebhook};
use url::Url;

use super::{Checked, Context, Finding};
use crate::{report::Report, system::SystemClock};

/// The seconds for which a mail may wait.
const MAX_MAIL_WAIT: i64 = 3_600;
/// The number of intervals after which a task should have had a good round, and the seconds of its due work.
const MAX_INTERVALS: i64 = 10;
const MAX_LAG: i64 = 60;

pub(super) async fn failing(context: &Context) -> Checked {
    let failing = context.storage()?.failing_webhooks().await?;
    Ok(judge_webhooks(&failing, "the last 10 attempts failed", "none fails"))
}

pub(super) async fn disabled(context: &Context) -> Checked {
    let stopped = context.storage()?.stopped_webhooks().await?;
    Ok(judge_webhooks(
        &stopped,
        "disabled while deliveries wait",
        "none is disabled while deliveries wait",
    ))
}

/// Describes webhooks by id, host and last error: a path or a query may hold a secret.
pub(super) fn judge_webhooks(troubled: &[TroubledWebhook], what: &str, fine: &str) -> Finding {
    let Some(first) = troubled.first() else {
        return Finding::ok(fine);
    };
    let describe = |webhook: &TroubledWebhook| {
        let url = Url::parse(&webhook.url).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or("-").to_owned();
        format!(
            "webhook {} of {} ({host}): {}, {} waiting",
            webhook.id, webhook.business, webhook.error, webhook.waiting
        )
    };
    let all: Vec<String> = troubled.iter().map(describe).collect();
    Finding::warn(
        format!("{what}: {}", all.join("; ")),
        format!(
            "mend the receiver, then PATCH /2.0/webhooks/{} {{\"status\": \"active\"}}",
            first.id
        ),
    )
}

pub(super) async fn background(context: &Context) -> Checked {
    Ok(judge_background(&context.servers, SystemClock.now().epoch_seconds()))
}

pub(super) fn judge_background(servers: &[RunningServer], now: i64) -> Finding {
    if servers.is_empty() {
        return Finding::skip("no server runs");
    }
    let mut late = Vec::new();
    for running in servers {
        for task in Report::read(&running.server.report).tasks {
            let interval = i64::try_from(task.interval.max(1)).unwrap_or(i64::MAX);
            let is_silent = now - task.last_round > interval.saturating_mul(MAX_INTERVALS).max(MAX_LAG);
            if is_silent {
                late.push(format!(
                    "{} on {}: no good round for {} s",
                    task.name,
                    running.server.host,
                    now - task.last_round
                ));
            } else if task.lag > MAX_LAG {
                late.push(format!(
                    "{} on {} lags by {} s",
                    task.name, running.server.host, task.lag
                ));
            }
        }
    }
    if late.is_empty() {
        Finding::ok(format!("all tasks of {} servers work", servers.len()))
    } else {
        Finding::warn(
            late.join("; "),
            "look for ERROR lines of these tasks in the log, then restart that server",
        )
    }
}

pub(super) async fn mails(context: &Context) -> Checked {
    let oldest = context.storage()?.oldest_mail().await?;
    Ok(judge_mails(oldest, SystemClock.now().epoch_seconds()))
}

pub(super) fn judge_mails(oldest: Option<i64>, now: i64) -> Finding {
    match oldest.map(|oldest| now - oldest) {
        Some(wait) if wait > MAX_MAIL_WAIT => Finding::warn(
            format!("the oldest has waited for {} minutes", wait / 60),
            "forecourt doctor --only smtp,smtp.auth,outgoing",
        ),
        _ => Finding::ok("none waits for long"),
    }
}

/// Servers make no backups themselves yet, and those of a timer are not recorded.
pub(super) async fn backup(_: &Context) -> Checked {
    Ok(Finding::warn(
        "none configured",
        "let a timer run `forecourt backup --to s3://BUCKET/PREFIX` daily, and leave this check out: --skip backup",
    ))
}

pub(super) async fn outgoing(context: &Context) -> Checked {
    let outgoing = context.storage()?.outgoing().await?;
    Ok(if outgoing.is_held {
        Finding::warn("held", "forecourt outgoing release")
    } else {
        Finding::ok("sending")
    })
}
