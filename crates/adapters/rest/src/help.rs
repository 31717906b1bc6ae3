//! What each error code means and what to do about it: the pages `/docs/errors/<code>`, whose address every error names in
//! `details.help`.

use crate::error::Code;

/// What a caller can read of a code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Help {
    /// What the answer says.
    pub(crate) meaning: &'static str,
    /// How it comes about.
    pub(crate) cause: &'static str,
    /// What to do.
    pub(crate) remedy: &'static str,
}

/// The addresses of the pages.
#[derive(Clone, Debug)]
pub(crate) struct HelpPages {
    base: String,
}

impl HelpPages {
    /// Those of a server that is reached at `public_url`.
    pub(crate) fn new(public_url: &str) -> Self {
        Self {
            base: format!("{}/docs/errors/", public_url.trim_end_matches('/')),
        }
    }

    /// The address of the page of a code.
    pub(crate) fn of(&self, code: Code) -> String {
        format!("{}{}", self.base, code.as_str())
    }
}

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:1rem/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem}\
code{font-family:ui-monospace,monospace}\
h1 code{overflow-wrap:anywhere}\
table{border-collapse:collapse;width:100%}\
th,td{text-align:left;padding:.35rem .75rem .35rem 0;border-bottom:1px solid #8886;vertical-align:top;overflow-wrap:anywhere}";

/// The page of a code, as HTML.
pub(crate) fn page(code: Code) -> String {
    let Help { meaning, cause, remedy } = help(code);
    let (name, status) = (code.as_str(), code.status());
    let body = format!(
        "<nav><a href=\"../errors\">All error codes</a></nav>\n\
         <h1><code>{name}</code></h1>\n<p>{meaning}</p>\n\
         <h2>Status</h2>\n<p>{status}</p>\n<h2>Cause</h2>\n<p>{cause}</p>\n<h2>Remedy</h2>\n<p>{remedy}</p>",
        meaning = escaped(meaning),
        cause = escaped(cause),
        remedy = escaped(remedy),
    );
    document(name, &body)
}

/// The list of all codes, as HTML.
pub(crate) fn index() -> String {
    let row = |code: &Code| {
        format!(
            "<tr><td><a href=\"errors/{name}\"><code>{name}</code></a></td><td>{status}</td><td>{meaning}</td></tr>\n",
            name = code.as_str(),
            status = code.status().as_u16(),
            meaning = escaped(help(*code).meaning),
        )
    };
    let rows: String = Code::ALL.iter().map(row).collect();
    let body = format!(
        "<nav><a href=\"../docs\">API reference</a></nav>\n<h1>Error codes</h1>\n\
         <p>An error is <code>{{\"success\": false, \"error\": {{\"code\", \"message\", \"details\"}}}}</code>. Branch on the \
         status and the code, which are stable within version 2; the message is for people and may change.</p>\n\
         <table>\n<tr><th>Code</th><th>Status</th><th>Meaning</th></tr>\n{rows}</table>"
    );
    document("Error codes", &body)
}

fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title} · Forecourt</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
}

/// Plain text as HTML, in which `` `code` `` stands out.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut html = String::with_capacity(text.len());
    for (at, part) in text.split('`').enumerate() {
        if at > 0 {
            html.push_str(if at % 2 == 1 { "<code>" } else { "</code>" });
        }
        html.push_str(part);
    }
    html
}

/// What there is to say of a code.
pub(crate) const fn help(code: Code) -> Help {
    let (meaning, cause, remedy) = match code {
        Code::AuthenticationRequired => (
            "The request carries no key.",
            "There is no header `Authorization`, or it has another scheme than `Bearer`, or nothing after it.",
            "Send `Authorization: Bearer <key_id>.<secret>` with every request.",
        ),
        Code::AuthenticationInvalid => (
            "The key is not known.",
            "The token is malformed or cut short, belongs to another installation, or its secret is wrong.",
            "Compare the token with the one that was shown when the key was made. A lost token cannot be shown again: have a new key made.",
        ),
        Code::AuthenticationExpired => (
            "The key is past its expiry.",
            "The key was made with an expiry date, which has come.",
            "Have a new key made (`forecourt key create`) and use its token.",
        ),
        Code::AuthenticationRevoked => (
            "The key was revoked.",
            "Somebody who runs the installation revoked the key.",
            "Ask the person who gave you the key for a new one.",
        ),
        Code::AuthenticationBlocked => (
            "Requests from this address are blocked.",
            "The address is on the installation's block list, or too many requests with wrong tokens came from it within a minute; such a block lasts five minutes.",
            "Stop sending wrong tokens and wait five minutes. If the block remains, ask the operator of the installation.",
        ),
        Code::PreconditionFailed => (
            "The record has another version than the request is meant for.",
            "`If-Match` names none of the versions that the record has now; somebody has changed it since you read it. `details.version` is the present one.",
            "Read the record again, apply your change to what it says now, and send it with the new version.",
        ),
        Code::ScopeRequired => (
            "The key has no scope at all.",
            "The operation needs the scope in `details.scope`, and the key was made without any.",
            "Have a key made with the scopes that you need; `forecourt key scopes` lists them with their operations.",
        ),
        Code::ScopeDenied => (
            "The key lacks a scope.",
            "The operation, a wildcard in a filter, or the webhook's own scopes need the scope in `details.scope`.",
            "Have a key made with that scope too, or leave out what needs it.",
        ),
        Code::BusinessRequired => (
            "The key belongs to no business.",
            "The key was made with `--no-business`.",
            "Use a key of the business whose data you want.",
        ),
        Code::BusinessNotFound => (
            "The key's business no longer exists.",
            "The business was deleted.",
            "Nothing can be read with this key any more; stop using it.",
        ),
        Code::BusinessUnverified => (
            "The business is not verified yet.",
            "Its verification has not been completed.",
            "Complete the verification, or ask the operator of the installation.",
        ),
        Code::AccountFrozen => (
            "The account is frozen.",
            "The operator of the installation froze the business's account.",
            "Ask the operator of the installation; requests work again as soon as it is active.",
        ),
        Code::AccountSuspended => (
            "The account is suspended.",
            "The account is suspended for billing.",
            "Settle the account; requests work again as soon as it is active.",
        ),
        Code::AccountDemo => (
            "Demo accounts have no API access.",
            "The business is a demo account.",
            "Use a key of a business with a full account.",
        ),
        Code::AccountReadOnly => (
            "The account is read-only.",
            "The business's account was set to read-only.",
            "Ask the operator of the installation.",
        ),
        Code::PlanUpgradeRequired => (
            "The plan does not include the API.",
            "The API needs the Growth plan or above.",
            "Upgrade the business's plan.",
        ),
        Code::ApiAccessRequired => (
            "The business has no access to this API.",
            "Access to API 2.0 was not granted to the business.",
            "Ask the operator of the installation to grant it.",
        ),
        Code::RequestInvalid => (
            "The request is not valid HTTP.",
            "The request line or a header is malformed.",
            "Use an HTTP client library; look at what a proxy in between may have changed.",
        ),
        Code::UriTooLong => (
            "The request target is too long.",
            "Path and query together have more than 16 KiB.",
            "Send fewer or shorter query parameters.",
        ),
        Code::HeadersTooLarge => (
            "The header fields are too long, or too many.",
            "The header fields together have more than 32 KiB or 96 lines.",
            "Send fewer or shorter headers; cookies of other sites are a usual cause.",
        ),
        Code::JsonInvalid => (
            "The body is not valid JSON.",
            "The body cannot be parsed, or its `Content-Type` is not JSON.",
            "Send a JSON object with `Content-Type: application/json`; the message says where parsing failed.",
        ),
        Code::ValidationFailed => (
            "A field or a query parameter is not valid.",
            "`details.field` names the first one found wrong; `details.errors` lists them all, each with a message. With `Prefer: handling=strict` unknown names are among them.",
            "Correct every entry of `details.errors` and send the request again.",
        ),
        Code::IdempotencyKeyInvalid => (
            "The header `Idempotency-Key` is malformed.",
            "The key is empty, longer than 255 characters, has other characters than letters, digits, hyphens and underscores, or was sent twice.",
            "Send one key of 1 to 255 letters, digits, hyphens or underscores, such as a UUID.",
        ),
        Code::IdempotencyKeyReused => (
            "The `Idempotency-Key` was used for another request.",
            "Within 24 hours the same key came with another method, path, query or body.",
            "Use a new key for each request, and the same key only to repeat a request unchanged.",
        ),
        Code::RouteNotFound => (
            "No endpoint matches the path.",
            "The path is misspelt, lacks `/2.0`, or has a slash too many.",
            "Compare it with the API reference; `GET /2.0/meta` lists what your key can use.",
        ),
        Code::MethodNotAllowed => (
            "The path has no such method.",
            "The path exists, but not for this method.",
            "Use one of the methods in the response header `Allow`.",
        ),
        Code::ContactNotFound => (
            "The business has no such contact.",
            "The id is wrong, the contact was deleted, or it belongs to another business.",
            "Look the contact up with `GET /2.0/contacts`, and forget ids that answer 404.",
        ),
        Code::ContactNoteNotFound => (
            "The contact has no such note.",
            "The id is wrong, the note was deleted, or it belongs to another contact.",
            "List the notes with `GET /2.0/contacts/{id}/notes`.",
        ),
        Code::ContactEmailDuplicate => (
            "Another contact logs in with this email.",
            "The email is the login name, so two contacts with login cannot have the same.",
            "Use another email, or disable the login of one of them.",
        ),
        Code::ContactLoginDisabled => (
            "The contact has no login.",
            "The operation is for contacts whose `login` is true.",
            "Enable it with `PATCH /2.0/contacts/{id}` and `{\"login\": true}`; that needs an email.",
        ),
        Code::ContactLoginEmailFailed => (
            "The mail with the login details could not be sent.",
            "The mail server could not be reached or refused the mail. The password was not changed.",
            "Try again after a while. If it keeps failing, ask the operator of the installation to look at the mail settings.",
        ),
        Code::ContactLoginPasswordUnavailable => (
            "A new password could not be made.",
            "The server failed while it made one. The password was not changed.",
            "Try again after a while.",
        ),
        Code::LeadNotFound => (
            "The business has no such lead.",
            "The id is wrong, the lead was deleted, or it belongs to another business.",
            "Look the lead up with `GET /2.0/leads`, and forget ids that answer 404.",
        ),
        Code::LeadVehicleNotFound => (
            "The lead is associated with no such vehicle.",
            "The vehicle was never associated with this lead, was taken off, or was deleted.",
            "List the associations with `GET /2.0/leads/{id}/vehicles`.",
        ),
        Code::LeadVehicleDuplicate => (
            "The vehicle is already associated with the lead.",
            "It was added before.",
            "Nothing needs to be done: what was asked for is so already.",
        ),
        Code::VehicleNotFound => (
            "The business has no such vehicle.",
            "The id is wrong, the vehicle was deleted, or it belongs to another business.",
            "Look the vehicle up with `GET /2.0/vehicles`, and forget ids that answer 404.",
        ),
        Code::VehicleCostsFull => (
            "The vehicle cannot hold more purchase costs.",
            "A vehicle holds at most 50 rows in `data.stock.purchase_cost_data`.",
            "Combine rows, or remove some.",
        ),
        Code::VehicleStatusProcessRequired => (
            "The status belongs to the reserve or sale process.",
            "Reserved, sold and complete cannot be set directly.",
            "Use the operations of that process.",
        ),
        Code::VehicleStatusTransitionInvalid => (
            "The vehicle cannot go from its status to that one.",
            "The move is not among those that its stock type allows.",
            "Read the vehicle's present status, and take the steps that lead on from it.",
        ),
        Code::VehiclePublishIncomplete => (
            "The vehicle lacks what publishing needs.",
            "The fields in `details.missing` are empty: a published vehicle needs its class, make, model, and a price or price on application.",
            "Fill them in with `PATCH /2.0/vehicles/{id}`; `GET /2.0/vehicles/{id}/publish-check` says beforehand what is missing.",
        ),
        Code::VehiclePublishLimitReached => (
            "The business may not have more vehicles for sale.",
            "For-sale and reserved vehicles have reached the business's limit.",
            "Take another vehicle off sale first, or have the limit raised.",
        ),
        Code::WebhookNotFound => (
            "The business has no such webhook.",
            "The id is wrong, the webhook was deleted, or it belongs to another business.",
            "List them with `GET /2.0/webhooks`.",
        ),
        Code::WebhookDeliveryNotFound => (
            "The webhook has no such delivery.",
            "The id is wrong or belongs to another webhook, or the delivery is more than 30 days old.",
            "List the deliveries with `GET /2.0/webhooks/{id}/deliveries`.",
        ),
        Code::RequestTimeout => (
            "The request did not arrive in time.",
            "Its head took more than 10 seconds or its body more than 20.",
            "Send it again over a better connection; a write with an `Idempotency-Key` is safe to repeat.",
        ),
        Code::RateLimited => (
            "The business has made too many requests.",
            "Its limit for this UTC minute or day is used up; `X-RateLimit-Reset` says when the window ends.",
            "Wait as many seconds as `Retry-After` says. Use webhooks instead of polling, and larger pages.",
        ),
        Code::ServiceUnavailable => (
            "The service cannot answer at the moment.",
            "The database cannot be reached, is busy, full or read-only, or the server is stopping.",
            "Repeat the request with exponential backoff, not before `Retry-After`; send writes with an `Idempotency-Key`.",
        ),
        Code::Internal => (
            "An unexpected error occurred.",
            "The server met a fault of its own, which its log holds under the request's `X-Request-Id`.",
            "Repeat the request with backoff. If it keeps failing, report the `X-Request-Id`.",
        ),
    };
    Help { meaning, cause, remedy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page_of_its_own() {
        let index = index();
        for code in Code::ALL {
            let Help { meaning, cause, remedy } = help(*code);
            assert!(
                [meaning, cause, remedy].iter().all(|text| text.ends_with('.')),
                "{code:?}"
            );
            assert!(
                [meaning, cause, remedy]
                    .iter()
                    .all(|text| text.matches('`').count() % 2 == 0),
                "{code:?}"
            );
            let page = page(*code);
            assert!(page.contains(code.as_str()) && page.contains(&code.status().as_u16().to_string()));
            assert!(index.contains(&format!("\"errors/{}\"", code.as_str())));
        }
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escaped("`a <b>` & c"), "<code>a &lt;b&gt;</code> &amp; c");
    }

    #[test]
    fn an_address_has_one_slash_between_its_parts() {
        for url in ["https://api.example/base", "https://api.example/base/"] {
            let address = HelpPages::new(url).of(Code::RateLimited);
            assert_eq!(address, "https://api.example/base/docs/errors/rate_limited");
        }
    }
}
