//! Stable names of errors, each declared once with its status and its help page, which `details.help` names (contract, "Codes";
//! decisions §3).
//!
//! Codes that any operation can return are here; an area declares its own codes beside its operations.

use std::fmt;

use actix_web::http::StatusCode;

/// A code, such as `lead_not_found`.
#[derive(Clone, Copy)]
pub(crate) struct Code(&'static Definition);

/// The declaration of a code.
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(crate) status: StatusCode,
    pub(crate) help: Help,
}

/// The help text on a code for callers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Help {
    /// The meaning of the code.
    pub(crate) meaning: &'static str,
    /// The cause of the error.
    pub(crate) cause: &'static str,
    /// The steps to take.
    pub(crate) remedy: &'static str,
}

impl Code {
    pub(crate) const fn new(definition: &'static Definition) -> Self {
        Self(definition)
    }

    /// The codes of any operation, in the order of the documentation; `areas::codes` has all.
    pub(crate) const COMMON: &[Self] = COMMON;

    pub(crate) const fn as_str(self) -> &'static str {
        self.0.name
    }

    pub(crate) const fn status(self) -> StatusCode {
        self.0.status
    }

    pub(crate) const fn help(self) -> Help {
        self.0.help
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Code {}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Declares codes: a constant of [`Code`] for each, and a list of all under the name that comes first.
macro_rules! codes {
    (
        $list:ident;
        $($constant:ident = $status:ident, $name:literal {
            meaning: $meaning:literal,
            cause: $cause:literal,
            remedy: $remedy:literal,
        })+
    ) => {
        impl $crate::code::Code {
            $(pub(crate) const $constant: Self = Self::new(&$crate::code::Definition {
                name: $name,
                status: actix_web::http::StatusCode::$status,
                help: $crate::code::Help { meaning: $meaning, cause: $cause, remedy: $remedy },
            });)+
        }

        const $list: &[$crate::code::Code] = &[$($crate::code::Code::$constant,)+];
    };
}
pub(crate) use codes;

codes! {
    COMMON;
    AUTHENTICATION_REQUIRED = UNAUTHORIZED, "authentication_required" {
        meaning: "The request carries no key.",
        cause: "There is no header `Authorization`, or it has another scheme than `Bearer`, or nothing after it.",
        remedy: "Send `Authorization: Bearer <key_id>.<secret>` with every request.",
    }
    AUTHENTICATION_INVALID = UNAUTHORIZED, "authentication_invalid" {
        meaning: "The key is not known.",
        cause: "The token is malformed or cut short, belongs to another installation, or its secret is wrong.",
        remedy: "Compare the token with the one that was shown when the key was made. A lost token cannot be shown again: have a new key made.",
    }
    AUTHENTICATION_EXPIRED = UNAUTHORIZED, "authentication_expired" {
        meaning: "The key is past its expiry.",
        cause: "The key was made with an expiry date, which has come.",
        remedy: "Have a new key made (`forecourt key create`) and use its token.",
    }
    AUTHENTICATION_REVOKED = UNAUTHORIZED, "authentication_revoked" {
        meaning: "The key was revoked.",
        cause: "Somebody who runs the installation revoked the key.",
        remedy: "Ask the person who gave you the key for a new one.",
    }
    AUTHENTICATION_BLOCKED = UNAUTHORIZED, "authentication_blocked" {
        meaning: "Requests from this address are blocked, or the key may not be used from it.",
        cause: "The address is on the installation's block list, too many requests with wrong tokens came from it within a minute, or the key is bound to other addresses. A block for wrong tokens lasts five minutes.",
        remedy: "Stop sending wrong tokens and wait five minutes. If the block remains, ask the operator of the installation, also for the addresses that the key is bound to.",
    }
    SCOPE_REQUIRED = FORBIDDEN, "scope_required" {
        meaning: "The key has no scope at all.",
        cause: "The operation needs the scope in `details.scope`, and the key was made without any.",
        remedy: "Have a key made with the scopes that you need; `forecourt key scopes` lists them with their operations.",
    }
    SCOPE_DENIED = FORBIDDEN, "scope_denied" {
        meaning: "The key lacks a scope.",
        cause: "The operation, a wildcard in a filter, or the webhook's own scopes need the scope in `details.scope`.",
        remedy: "Have a key made with that scope too, or leave out what needs it.",
    }
    BUSINESS_REQUIRED = FORBIDDEN, "business_required" {
        meaning: "The key belongs to no business.",
        cause: "The key was made with `--no-business`.",
        remedy: "Use a key of the business whose data you want.",
    }
    BUSINESS_NOT_FOUND = FORBIDDEN, "business_not_found" {
        meaning: "The key's business no longer exists.",
        cause: "The business was deleted.",
        remedy: "Nothing can be read with this key any more; stop using it.",
    }
    BUSINESS_UNVERIFIED = FORBIDDEN, "business_unverified" {
        meaning: "The business is not verified yet.",
        cause: "Its verification has not been completed.",
        remedy: "Complete the verification, or ask the operator of the installation.",
    }
    ACCOUNT_FROZEN = FORBIDDEN, "account_frozen" {
        meaning: "The account is frozen.",
        cause: "The operator of the installation froze the business's account.",
        remedy: "Ask the operator of the installation; requests work again as soon as it is active.",
    }
    ACCOUNT_SUSPENDED = FORBIDDEN, "account_suspended" {
        meaning: "The account is suspended.",
        cause: "The account is suspended for billing.",
        remedy: "Settle the account; requests work again as soon as it is active.",
    }
    ACCOUNT_DEMO = FORBIDDEN, "account_demo" {
        meaning: "Demo accounts have no API access.",
        cause: "The business is a demo account.",
        remedy: "Use a key of a business with a full account.",
    }
    ACCOUNT_READ_ONLY = FORBIDDEN, "account_read_only" {
        meaning: "The account is read-only.",
        cause: "The business's account was set to read-only.",
        remedy: "Ask the operator of the installation.",
    }
    PLAN_UPGRADE_REQUIRED = FORBIDDEN, "plan_upgrade_required" {
        meaning: "The plan does not include the API.",
        cause: "The API needs the Growth plan or above.",
        remedy: "Upgrade the business's plan.",
    }
    API_ACCESS_REQUIRED = FORBIDDEN, "api_access_required" {
        meaning: "The business has no access to this API.",
        cause: "Access to API 2.0 was not granted to the business.",
        remedy: "Ask the operator of the installation to grant it.",
    }
    REQUEST_INVALID = BAD_REQUEST, "request_invalid" {
        meaning: "The request is not valid HTTP.",
        cause: "The request line or a header is malformed.",
        remedy: "Use an HTTP client library; look at what a proxy in between may have changed.",
    }
    URI_TOO_LONG = URI_TOO_LONG, "uri_too_long" {
        meaning: "The request target is too long.",
        cause: "Path and query together have more than 16 KiB.",
        remedy: "Send fewer or shorter query parameters.",
    }
    HEADERS_TOO_LARGE = REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large" {
        meaning: "The header fields are too long, or too many.",
        cause: "The header fields together have more than 32 KiB or 96 lines.",
        remedy: "Send fewer or shorter headers; cookies of other sites are a usual cause.",
    }
    JSON_INVALID = BAD_REQUEST, "json_invalid" {
        meaning: "The body is not valid JSON.",
        cause: "The body cannot be parsed, or its `Content-Type` is not JSON.",
        remedy: "Send a JSON object with `Content-Type: application/json`; the message says where parsing failed.",
    }
    VALIDATION_FAILED = UNPROCESSABLE_ENTITY, "validation_failed" {
        meaning: "A field or a query parameter is not valid.",
        cause: "`details.field` names the first one found wrong; `details.errors` lists them all, each with a message. With `Prefer: handling=strict` unknown names are among them.",
        remedy: "Correct every entry of `details.errors` and send the request again.",
    }
    IDEMPOTENCY_KEY_INVALID = BAD_REQUEST, "idempotency_key_invalid" {
        meaning: "The header `Idempotency-Key` is malformed.",
        cause: "The key is empty, longer than 255 characters, has other characters than letters, digits, hyphens and underscores, or was sent twice.",
        remedy: "Send one key of 1 to 255 letters, digits, hyphens or underscores, such as a UUID.",
    }
    IDEMPOTENCY_KEY_REUSED = UNPROCESSABLE_ENTITY, "idempotency_key_reused" {
        meaning: "The `Idempotency-Key` was used for another request.",
        cause: "Within 24 hours the same key came with another method, path, query or body.",
        remedy: "Use a new key for each request, and the same key only to repeat a request unchanged.",
    }
    ROUTE_NOT_FOUND = NOT_FOUND, "route_not_found" {
        meaning: "No endpoint matches the path.",
        cause: "The path is misspelt, lacks `/2.0`, or has a slash too many.",
        remedy: "Compare it with the API reference; `GET /2.0/meta` lists what your key can use.",
    }
    METHOD_NOT_ALLOWED = METHOD_NOT_ALLOWED, "method_not_allowed" {
        meaning: "The path has no such method.",
        cause: "The path exists, but not for this method.",
        remedy: "Use one of the methods in the response header `Allow`.",
    }
    PRECONDITION_FAILED = PRECONDITION_FAILED, "precondition_failed" {
        meaning: "The record has another version than the request is meant for.",
        cause: "`If-Match` names none of the versions that the record has now; somebody has changed it since you read it. `details.version` is the present one.",
        remedy: "Read the record again, apply your change to what it says now, and send it with the new version.",
    }
    REQUEST_TIMEOUT = REQUEST_TIMEOUT, "request_timeout" {
        meaning: "The request did not arrive in time.",
        cause: "Its head took more than 10 seconds or its body more than 20.",
        remedy: "Send it again over a better connection; a write with an `Idempotency-Key` is safe to repeat.",
    }
    RATE_LIMITED = TOO_MANY_REQUESTS, "rate_limited" {
        meaning: "The business, or an address without a valid key, has made too many requests.",
        cause: "The business's limit for this UTC minute or day is used up; `X-RateLimit-Reset` says when the window ends. Without a valid key, an address may make 600 requests in a UTC minute.",
        remedy: "Wait as many seconds as `Retry-After` says. Use webhooks instead of polling, and larger pages.",
    }
    SERVICE_UNAVAILABLE = SERVICE_UNAVAILABLE, "service_unavailable" {
        meaning: "The service cannot answer at the moment.",
        cause: "The database cannot be reached, is busy, full or read-only, or the server is stopping.",
        remedy: "Repeat the request with exponential backoff, not before `Retry-After`; send writes with an `Idempotency-Key`.",
    }
    INTERNAL = INTERNAL_SERVER_ERROR, "internal" {
        meaning: "An unexpected error occurred.",
        cause: "The server met a fault of its own, which its log holds under the request's `X-Request-Id`.",
        remedy: "Repeat the request with backoff. If it keeps failing, report the `X-Request-Id`.",
    }
}
