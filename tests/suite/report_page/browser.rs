//! A headless Chromium, controlled through its debugging pipe: messages of the Chrome DevTools Protocol as JSON, each
//! terminated by a zero byte, on file descriptors 3 (to the browser) and 4 (from it). It needs neither a driver
//! program nor a port.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Maximum wait for one answer; the machine may be busy with other tests.
const PATIENCE: Duration = Duration::from_secs(120);

/// Names under which Chromium is installed.
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// Finds the browser on the search path. If there is none, reports that on stderr and returns `None`, or fails if `CI`
/// is set.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|candidate| candidate.is_file());
    if found.is_none() {
        let told = format!(
            "no browser found: the page is tested in one of {}; install it, e.g. `apt-get install chromium`",
            NAMES.join(", ")
        );
        assert!(std::env::var_os("CI").is_none(), "{told}");
        eprintln!("skipped: {told}");
    }
    found
}

/// A page in its own browser.
pub(crate) struct Page {
    browser: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: Option<String>,
    sent: u64,
    /// All messages of the browser that were not answers.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Page {
    /// Opens a file in a window of the given size.
    pub(crate) fn open(browser: &Path, file: &Path, width: u32, height: u32) -> Self {
        Self::open_at(
            browser,
            &format!("file://{}", file.display()),
            width,
            height,
        )
    }

    /// Opens an address in a window of the given size.
    pub(crate) fn open_at(browser: &Path, address: &str, width: u32, height: u32) -> Self {
        let profile = tempfile::tempdir().expect("a temporary folder");
        let mut child = Command::new("sh")
            .args([
                "-c",
                "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1",
                "sh",
            ])
            .arg(browser)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .args([
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts the browser");
        let to = child.stdin.take().expect("piped");
        let mut answers = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while answers
                .read_until(0, &mut message)
                .is_ok_and(|read| read > 0)
            {
                message.pop();
                let value = serde_json::from_slice(&message).expect("the browser speaks JSON");
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut page = Self {
            browser: child,
            to,
            from,
            session: None,
            sent: 0,
            events: Vec::new(),
            _profile: profile,
        };
        let target = page.call("Target.createTarget", &json!({"url": "about:blank"}));
        let session = page.call(
            "Target.attachToTarget",
            &json!({"targetId": target["targetId"], "flatten": true}),
        );
        page.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), &json!({}));
        }
        page.resize(width, height);
        page.call("Page.navigate", &json!({"url": address}));
        page.wait_until_drawn();
        page.settle();
        page
    }

    /// Calls a method and waits for its result.
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.try_call(method, parameters)
            .unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn try_call(&mut self, method: &str, parameters: &Value) -> Result<Value, Value> {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).expect("JSON");
        bytes.push(0);
        self.to
            .write_all(&bytes)
            .and_then(|()| self.to.flush())
            .expect("the browser listens");
        loop {
            let mut answer = self
                .from
                .recv_timeout(PATIENCE)
                .expect("the browser answers");
            if answer["id"] == self.sent {
                return if answer.get("error").is_some() {
                    Err(answer["error"].take())
                } else {
                    Ok(answer["result"].take())
                };
            }
            if answer.get("method").is_some() {
                self.events.push(answer);
            }
        }
    }

    /// The value of a JavaScript expression; waits for a promise.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let parameters =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", &parameters);
        assert!(
            answer.get("exceptionDetails").is_none(),
            "{expression}: {}",
            answer["exceptionDetails"]
        );
        answer["result"]["value"].take()
    }

    pub(crate) fn number(&mut self, expression: &str) -> f64 {
        let value = self.evaluate(expression);
        value
            .as_f64()
            .unwrap_or_else(|| panic!("{expression} is {value}, no number"))
    }

    /// The value of an expression as a whole number.
    pub(crate) fn whole(&mut self, expression: &str) -> i64 {
        let value = self.number(expression);
        assert!(
            value.fract().abs() < f64::EPSILON,
            "{expression} is {value}, not whole"
        );
        value as i64
    }

    pub(crate) fn text(&mut self, expression: &str) -> String {
        let value = self.evaluate(expression);
        value
            .as_str()
            .unwrap_or_else(|| panic!("{expression} is {value}, no text"))
            .to_owned()
    }

    pub(crate) fn is(&mut self, expression: &str) -> bool {
        self.evaluate(&format!("Boolean({expression})")) == json!(true)
    }

    /// Waits until the file is loaded and drawn; while it loads, there may be no page to query.
    fn wait_until_drawn(&mut self) {
        let start = Instant::now();
        let drawn = json!({"expression": "document.documentElement?.classList.contains('drawn')", "returnByValue": true});
        while !self
            .try_call("Runtime.evaluate", &drawn)
            .is_ok_and(|answer| answer["result"]["value"] == json!(true))
        {
            assert!(
                start.elapsed() < PATIENCE,
                "the page is not drawn; the browser said {:?}",
                self.complaints()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the browser has drawn pending changes.
    pub(crate) fn settle(&mut self) {
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
    }

    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Presses and releases a key `times` times.
    pub(crate) fn press(&mut self, key: &str, times: u32) {
        // Native controls use the key's number, as defined by Windows.
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            " " => 32,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        for _ in 0..times {
            for kind in ["keyDown", "keyUp"] {
                let mut event =
                    json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
                if key == "Enter" && kind == "keyDown" {
                    event["text"] = json!("\r");
                }
                self.call("Input.dispatchKeyEvent", &event);
            }
        }
        self.settle();
    }

    /// Moves the mouse to a position within an element, given as shares of its width and height.
    pub(crate) fn point(&mut self, selector: &str, across: f64, down: f64) {
        let box_of = |side: &str| {
            format!("document.querySelector('{selector}').getBoundingClientRect().{side}")
        };
        self.evaluate(&format!(
            "document.querySelector('{selector}').scrollIntoView({{block: 'center', behavior: 'instant'}})"
        ));
        self.settle();
        let x = self.number(&box_of("left")) + across * self.number(&box_of("width"));
        let y = self.number(&box_of("top")) + down * self.number(&box_of("height"));
        self.call(
            "Input.dispatchMouseEvent",
            &json!({"type": "mouseMoved", "x": x, "y": y}),
        );
        self.settle();
    }

    /// Emulates a medium (`print`, or empty for the screen) and a preferred colour scheme.
    pub(crate) fn emulate(&mut self, medium: &str, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call(
            "Emulation.setEmulatedMedia",
            &json!({"media": medium, "features": features}),
        );
        self.settle();
    }

    /// Problems of the page: exceptions, console output, and log messages of the browser.
    pub(crate) fn complaints(&self) -> Vec<String> {
        const KINDS: [&str; 3] = [
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
            "Log.entryAdded",
        ];
        let complains = |event: &&Value| KINDS.iter().any(|kind| event["method"] == *kind);
        self.events
            .iter()
            .filter(complains)
            .map(Value::to_string)
            .collect()
    }

    /// The addresses that the page requested.
    pub(crate) fn requests(&self) -> Vec<String> {
        let asked = self
            .events
            .iter()
            .filter(|event| event["method"] == "Network.requestWillBeSent");
        asked
            .filter_map(|event| event["params"]["request"]["url"].as_str())
            .map(str::to_owned)
            .collect()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // The browser ends when its pipe is closed. A browser that hangs is killed and not waited for.
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}
