//! The interactive reference in a real browser, as people see it: on a desktop and on a telephone, light and dark.

use harness::{Appearance, Browser, Engine, Shop};
use serde_json::json;

const DESKTOP: Appearance = Appearance {
    width: 1280,
    height: 900,
    mobile: false,
    dark: false,
};
const TELEPHONE: Appearance = Appearance {
    width: 390,
    height: 844,
    mobile: true,
    dark: false,
};

/// Returns an expression: whether this text is visible in the element that a selector finds.
fn shows(selector: &str, text: &str) -> String {
    let (selector, text) = (json!(selector), json!(text));
    format!(
        "[...document.querySelectorAll({selector})].some(found => found.getClientRects().length > 0 && found.innerText.includes({text}))"
    )
}

/// Returns the selector of an operation's element in the reference.
fn block(tag: &str, operation: &str) -> String {
    format!("#operations-{tag}-{operation}")
}

/// Asserts that nothing is wider than the screen, and that there were no complaints.
async fn assert_sound(browser: &mut Browser, shop: &Shop, appearance: Appearance) {
    let width = browser.evaluate("document.documentElement.scrollWidth").await;
    let place = browser.evaluate("location.href").await;
    assert!(
        width.as_u64().is_some_and(|width| width <= appearance.width.into()),
        "{place} is {width} pixels wide in {appearance:?}"
    );
    let complaints = browser.complaints(&shop.server.base_url()).await;
    assert!(complaints.is_empty(), "{place} in {appearance:?}: {complaints:#?}");
}

/// Tests that the reference and the guides are shown completely.
#[tokio::test]
async fn the_reference_is_seen_on_every_screen() {
    let Some(mut browser) = Browser::start() else { return };
    let shop = Shop::open(Engine::Sqlite).await;
    let at = |path: &str| format!("{}{path}", shop.server.base_url());
    let operation = block("leads", "list_leads");
    for screen in [DESKTOP, TELEPHONE] {
        browser.open_window(screen).await;
        browser.open(&at("/docs#/leads/list_leads")).await;
        browser.wait_until(&shows(&operation, "List leads")).await;
        let example = format!("{operation} .responses-wrapper .example");
        browser.wait_until(&shows(&example, "Ann Smith")).await;
        for dark in [false, true] {
            let appearance = Appearance { dark, ..screen };
            browser.look(appearance).await;
            browser
                .wait_until(&format!(
                    "document.documentElement.classList.contains('dark-mode') === {dark}"
                ))
                .await;
            assert_sound(&mut browser, &shop, appearance).await;
        }
        for guide in ["/docs/guides/first-call", "/docs/guides/webhooks", "/docs/errors"] {
            browser.open(&at(guide)).await;
            browser
                .wait_until("document.readyState === 'complete' && !!document.querySelector('h1')")
                .await;
            assert_sound(&mut browser, &shop, screen).await;
        }
    }
}

/// Tests that an address of the reference leads to its operation, and to an event's payload.
#[tokio::test]
async fn operations_and_webhooks_have_addresses() {
    let Some(mut browser) = Browser::start() else { return };
    let shop = Shop::open(Engine::Sqlite).await;
    browser.open_window(DESKTOP).await;
    for (tag, operation, text) in [
        ("leads", "create_lead", "Idempotency-Key"),
        ("webhooks", "on_lead_created", "X-Service-Signature"),
    ] {
        browser
            .open(&format!("{}/docs#/{tag}/{operation}", shop.server.base_url()))
            .await;
        browser.wait_until(&shows(&block(tag, operation), text)).await;
    }
    assert_sound(&mut browser, &shop, DESKTOP).await;
}

/// Tests that a prefilled operation works unchanged, also after the page was loaded again.
#[tokio::test]
async fn operations_can_be_tried_out() {
    let Some(mut browser) = Browser::start() else { return };
    let shop = Shop::open(Engine::Sqlite).await;
    let key = shop.business.key("all").await;
    browser.open_window(DESKTOP).await;
    browser
        .open(&format!("{}/docs#/leads/create_lead", shop.server.base_url()))
        .await;
    browser.click(".auth-wrapper .authorize").await;
    browser.fill(".modal-ux input", &key.token).await;
    browser.click(".modal-ux .auth.authorize").await;
    browser.click(".modal-ux .btn-done").await;
    try_out(&mut browser, &block("leads", "create_lead")).await;
    browser.reload().await;
    browser
        .wait_until("!!document.querySelector('.auth-wrapper .authorize.locked')")
        .await;
    try_out(&mut browser, &block("leads", "create_lead")).await;
    browser
        .open(&format!("{}/docs#/leads/create_lead_from_adf", shop.server.base_url()))
        .await;
    try_out(&mut browser, &block("leads", "create_lead_from_adf")).await;
    assert_sound(&mut browser, &shop, DESKTOP).await;
    assert_eq!(
        shop.api.get("/2.0/leads").await.json()["data"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
}

/// Sends an operation that creates a record with its prefilled values.
async fn try_out(browser: &mut Browser, operation: &str) {
    browser.click(&format!("{operation} .execute")).await;
    browser
        .wait_until(&shows(
            &format!("{operation} .live-responses-table .response-col_status"),
            "201",
        ))
        .await;
}
