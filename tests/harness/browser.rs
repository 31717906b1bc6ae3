//! A real browser without a screen, which shows pages as people see them.

use std::env;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::time::eventually;

/// Names a Chromium.
const VARIABLE: &str = "FORECOURT_TEST_BROWSER";
/// A time longer than a page takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
/// No first-run steps, no background work, and no connections except to the pages that a test opens.
const ARGUMENTS: [&str; 11] = [
    "--headless",
    // It runs as root in containers, and it opens only our own pages.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
    "--remote-debugging-pipe",
];

/// A Chromium with which a test opens pages, by its DevTools protocol. It ends when this is dropped.
#[derive(Debug)]
pub struct Browser {
    _child: Child,
    requests: ChildStdin,
    messages: BufReader<ChildStdout>,
    last_id: u64,
    /// The current tab.
    session: Option<String>,
    /// The tab's events.
    events: Vec<Value>,
    _profile: TempDir,
}

/// The appearance of a page.
#[derive(Clone, Copy, Debug)]
pub struct Appearance {
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
    /// True for a telephone.
    pub mobile: bool,
    /// True if dark colours are preferred.
    pub dark: bool,
}

impl Browser {
    /// Starts the browser that `cargo xtask test` has found; returns `None` and prints a line if there is none on this machine.
    #[expect(
        clippy::print_stderr,
        reason = "a skipped check is to be seen by the person who runs the tests"
    )]
    pub fn start() -> Option<Self> {
        let Some(program) = env::var_os(VARIABLE).filter(|program| !program.is_empty()) else {
            eprintln!("skipped: {VARIABLE} names no Chromium, so no page is looked at in a browser");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        let mut child = Command::new("sh")
            // The protocol's pipes are those after the standard ones.
            .args(["-c", r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null"#, "sh"])
            .arg(program)
            .args(ARGUMENTS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Some(Self {
            requests: child.stdin.take().unwrap(),
            messages: BufReader::new(child.stdout.take().unwrap()),
            _child: child,
            last_id: 0,
            session: None,
            events: Vec::new(),
            _profile: profile,
        })
    }

    /// Sends a command of the protocol; returns its result.
    async fn call(&mut self, method: &str, params: Value) -> Value {
        let result = self.attempt(method, params).await;
        result.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Sends a command of the protocol, which may fail: a page that is being left does not answer.
    async fn attempt(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.last_id += 1;
        let mut request = json!({"id": self.last_id, "method": method, "params": params});
        if let Some(session) = &self.session {
            request["sessionId"] = session.as_str().into();
        }
        let mut bytes = request.to_string().into_bytes();
        bytes.push(0);
        self.requests.write_all(&bytes).await.unwrap();
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let mut message = self.message(deadline, method).await;
            if message["id"] == self.last_id {
                return match message["error"].take() {
                    Value::Null => Ok(message["result"].take()),
                    error => Err(error),
                };
            }
            self.events.push(message);
        }
    }

    async fn message(&mut self, deadline: Instant, what: &str) -> Value {
        let mut bytes = Vec::new();
        let left = deadline.saturating_duration_since(Instant::now());
        let read = tokio::time::timeout(left, self.messages.read_until(0, &mut bytes)).await;
        let read = read.unwrap_or_else(|_| panic!("{what} is not answered within {TIMEOUT:?}"));
        assert!(read.unwrap() > 0, "the browser has ended before it answered {what}");
        serde_json::from_slice(bytes.strip_suffix(&[0]).unwrap_or(&bytes)).unwrap()
    }

    /// Opens a new window, which shares nothing with the last one.
    pub async fn open_window(&mut self, appearance: Appearance) {
        self.session = None;
        let context = self.call("Target.createBrowserContext", json!({})).await["browserContextId"].take();
        let page = json!({"url": "about:blank", "browserContextId": context});
        let target = self.call("Target.createTarget", page).await["targetId"].take();
        let attached = self
            .call("Target.attachToTarget", json!({"targetId": target, "flatten": true}))
            .await;
        self.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({})).await;
        }
        // The protocol reports a violation as text of the console; the page knows it as a violation.
        let source = "window.violations = []; \
            addEventListener('securitypolicyviolation', event => violations.push(`${event.violatedDirective}: ${event.blockedURI}`));";
        self.call("Page.addScriptToEvaluateOnNewDocument", json!({"source": source}))
            .await;
        self.look(appearance).await;
    }

    /// Changes the appearance of the page.
    pub async fn look(&mut self, appearance: Appearance) {
        let Appearance {
            width,
            height,
            mobile,
            dark,
        } = appearance;
        let screen = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile});
        self.call("Emulation.setDeviceMetricsOverride", screen).await;
        let scheme = json!({"name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" }});
        self.call("Emulation.setEmulatedMedia", json!({"features": [scheme]}))
            .await;
    }

    /// Opens the page at this address.
    pub async fn open(&mut self, url: &str) {
        // Nothing would be loaded for another fragment of the same page.
        self.call("Page.navigate", json!({"url": "about:blank"})).await;
        let opened = self.call("Page.navigate", json!({"url": url})).await;
        assert!(opened["errorText"].is_null(), "{url}: {opened}");
    }

    /// Loads the page again.
    pub async fn reload(&mut self) {
        self.evaluate("window.before = true").await;
        self.call("Page.reload", json!({})).await;
        self.wait_until("!window.before && document.readyState === 'complete'")
            .await;
    }

    /// Returns the value of an expression in the page.
    pub async fn evaluate(&mut self, expression: &str) -> Value {
        let result = self.attempt_evaluation(expression).await;
        result.unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    async fn attempt_evaluation(&mut self, expression: &str) -> Result<Value, Value> {
        let params = json!({"expression": expression, "returnByValue": true});
        let mut answer = self.attempt("Runtime.evaluate", params).await?;
        match answer["exceptionDetails"].take() {
            Value::Null => Ok(answer["result"]["value"].take()),
            exception => Err(exception),
        }
    }

    /// Waits until an expression in the page is true.
    pub async fn wait_until(&mut self, expression: &str) {
        eventually(expression, TIMEOUT, async || {
            let seen = self.attempt_evaluation(expression).await;
            if seen == Ok(true.into()) {
                return Ok(());
            }
            let text = self.attempt_evaluation("document.body?.innerText.slice(0, 2000)").await;
            Err((seen, text))
        })
        .await;
    }

    /// Waits for the first element that this selector finds, and clicks on it.
    pub async fn click(&mut self, selector: &str) {
        let element = format!("document.querySelector({})", json!(selector));
        self.wait_until(&format!("!!{element}?.getClientRects().length && !{element}.disabled"))
            .await;
        self.evaluate(&format!("{element}.click()")).await;
    }

    /// Types into the element that this selector finds.
    pub async fn fill(&mut self, selector: &str, text: &str) {
        let element = format!("document.querySelector({})", json!(selector));
        self.wait_until(&format!("!!{element}")).await;
        self.evaluate(&format!("{element}.focus()")).await;
        self.call("Input.insertText", json!({"text": text})).await;
    }

    /// Returns the complaints of this window's pages: errors on the console, exceptions, violations of the content security
    /// policy, and requests to another origin than `origin`.
    pub async fn complaints(&mut self, origin: &str) -> Vec<String> {
        let violations = self.evaluate("window.violations ?? []").await;
        let violations = violations.as_array().into_iter().flatten().map(Value::to_string);
        let of_events = self.events.iter().filter_map(|event| complaint(event, origin));
        of_events.chain(violations).collect()
    }
}

/// Returns the complaint in an event.
fn complaint(event: &Value, origin: &str) -> Option<String> {
    let params = &event["params"];
    match event["method"].as_str()? {
        "Runtime.exceptionThrown" => Some(params["exceptionDetails"].to_string()),
        "Runtime.consoleAPICalled" if ["error", "assert"].iter().any(|kind| params["type"] == *kind) => {
            Some(params["args"].to_string())
        }
        "Log.entryAdded" if params["entry"]["level"] == "error" => Some(params["entry"].to_string()),
        "Network.requestWillBeSent" => {
            let url = params["request"]["url"].as_str()?;
            let ours = url.strip_prefix(origin).is_some_and(|rest| rest.starts_with('/'));
            let local = ["data:", "blob:", "about:"]
                .iter()
                .any(|scheme| url.starts_with(scheme));
            (!ours && !local).then(|| format!("request to {url}"))
        }
        _ => None,
    }
}
