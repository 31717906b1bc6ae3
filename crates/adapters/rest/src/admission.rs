//! The checks of a request's caller: address block, credential, account, rate and scope, in the order of decisions §3.

use std::sync::Arc;

use actix_web::{HttpRequest, http::header};
use forecourt_accounts::{Caller, RateCounters, RateLimits, Token};
use forecourt_kernel::{Scope, Timestamp};
use ipnet::IpNet;

use crate::{
    address::{self, Client, Gate},
    code::Code,
    credentials::token_of,
    deadline::{WORK_TIMEOUT, with_timeout},
    error::ApiError,
    metrics::{self, AUTHENTICATION_CODES},
    request_info::RequestInfo,
    worker::Worker,
};

/// The limits on callers, shared by all workers.
pub(crate) struct Admission {
    pub(crate) counters: Arc<dyn RateCounters>,
    pub(crate) limits: RateLimits,
    pub(crate) gate: Gate,
    pub(crate) trusted_proxies: Vec<IpNet>,
}

/// A request whose caller is authorized for it.
pub(crate) struct Admitted {
    pub(crate) token: Token,
    pub(crate) caller: Caller,
    pub(crate) client: Option<Client>,
}

/// Admits a request whose caller has `scope`: checks its address, its credential, its account and its rate.
///
/// # Errors
/// The first of these checks that fails, in that order.
pub(crate) async fn admit(
    admission: &Admission,
    worker: &Worker,
    request: &HttpRequest,
    scope: Scope,
    info: &mut RequestInfo,
) -> Result<Admitted, ApiError> {
    let Admission {
        counters,
        limits,
        gate,
        trusted_proxies,
    } = admission;
    let now = worker.shared.clock.now();

    let client = address::client(request, trusted_proxies);
    gate.check(client, now)?;
    let (token, caller) = match identify(admission, worker, request, client, info).await {
        Ok(identified) => identified,
        Err(error) if is_of_credential(&error) => {
            limit_address(gate, client, now, info)?;
            return Err(error);
        }
        Err(error) => return Err(error),
    };
    info.business = Some(caller.business_id().get());

    info.rate_limit = counters.count(caller.business_id(), *limits, now).await?;
    if let Some(rate_limit) = info.rate_limit.filter(|rate_limit| !rate_limit.allowed) {
        info.retry_after = Some((rate_limit.reset.epoch_seconds() - now.epoch_seconds()).max(1));
        return Err(ApiError::new(
            Code::RATE_LIMITED,
            "this business has made too many requests; see Retry-After",
        ));
    }

    if caller.scopes.is_empty() {
        return Err(ApiError::scope_required(scope));
    }
    if !caller.may(scope) {
        return Err(ApiError::scope_denied(scope));
    }
    Ok(Admitted { token, caller, client })
}

/// Returns the token of a request and the caller that it identifies. An invalid token is counted.
async fn identify(
    admission: &Admission,
    worker: &Worker,
    request: &HttpRequest,
    client: Option<Client>,
    info: &mut RequestInfo,
) -> Result<(Token, Caller), ApiError> {
    let identified = async {
        let token = token_of(request)?;
        info.key = Some(token.key_id().to_string());
        let caller = worker.caller(&token, client.map(Client::address));
        let caller = with_timeout(WORK_TIMEOUT, caller).await?;
        Ok((token, caller))
    };
    let identified = identified.await;
    identified.inspect_err(|error| note_failure(&admission.gate, client, error, worker.shared.clock.now()))
}

/// Admits a request for a public page: one with a valid credential, or one of an address that has made few requests without.
pub(crate) async fn admit_to_page(
    admission: &Admission,
    worker: &Worker,
    request: &HttpRequest,
    client: Option<Client>,
    info: &mut RequestInfo,
) -> Result<(), ApiError> {
    let now = worker.shared.clock.now();
    admission.gate.check(client, now)?;
    let is_identified = request.headers().contains_key(header::AUTHORIZATION)
        && identify(admission, worker, request, client, info).await.is_ok();
    if is_identified {
        return Ok(());
    }
    limit_address(&admission.gate, client, now, info)
}

/// Counts a request for a feed of appointments, which has no credential.
///
/// # Errors
/// 429 if its address has made too many.
pub(crate) fn limit_calendars(
    admission: &Admission,
    worker: &Worker,
    request: &HttpRequest,
    info: &mut RequestInfo,
) -> Result<(), ApiError> {
    let client = address::client(request, &admission.trusted_proxies);
    let now = worker.shared.clock.now();
    let Some(seconds) = client.and_then(|client| admission.gate.count_calendar_request(client, now)) else {
        return Ok(());
    };
    info.retry_after = Some(seconds);
    metrics::count_limited_request();
    Err(ApiError::new(
        Code::RATE_LIMITED,
        "this address has requested calendars too often; see Retry-After",
    ))
}

/// Counts a request without a valid credential.
///
/// # Errors
/// 429 if its address has made too many.
fn limit_address(gate: &Gate, client: Option<Client>, now: Timestamp, info: &mut RequestInfo) -> Result<(), ApiError> {
    let Some(seconds) = client.and_then(|client| gate.count_request(client, now)) else {
        return Ok(());
    };
    info.retry_after = Some(seconds);
    metrics::count_limited_request();
    Err(ApiError::new(
        Code::RATE_LIMITED,
        "this address has made too many requests without a valid key; see Retry-After",
    ))
}

/// Returns true if a request is refused for its credential, or for having none.
fn is_of_credential(error: &ApiError) -> bool {
    let ApiError::Refused(refusal) = error else {
        return false;
    };
    refusal.code == Code::AUTHENTICATION_REQUIRED || AUTHENTICATION_CODES.contains(&refusal.code)
}

/// Counts a presented credential that was invalid. A request without one does not guess, and a key that is bound to other
/// addresses was not guessed.
fn note_failure(gate: &Gate, client: Option<Client>, error: &ApiError, now: Timestamp) {
    let ApiError::Refused(refusal) = error else { return };
    if !AUTHENTICATION_CODES.contains(&refusal.code) {
        return;
    }
    metrics::count_authentication_failure(refusal.code);
    if let Some(client) = client.filter(|_| refusal.code != Code::AUTHENTICATION_BLOCKED) {
        gate.note_failure(client, now);
    }
}
