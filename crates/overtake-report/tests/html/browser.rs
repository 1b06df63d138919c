//! A headless browser, driven over the pipe that Chromium's developer tools protocol offers.
//!
//! Messages are JSON, each followed by a zero byte; the browser reads them on descriptor 3 and writes on 4. A shell puts our
//! pipes there. No port is opened and no driver is needed.

use std::collections::VecDeque;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// How often a test looks whether the page is as it should be. It counts looks, not seconds: on a busy machine each look takes longer, and
/// the page has more time.
const LOOKS: usize = 6_000;

const NAMES: &[&str] =
    &["chromium", "chromium-headless-shell", "chromium-browser", "google-chrome", "chrome"];

/// A running browser with one page. Ends with the value.
pub(crate) struct Browser {
    process: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    /// Events that came while an answer was waited for.
    events: VecDeque<Value>,
    session: String,
    last_id: u64,
    /// The browser's profile, and pages that tests write.
    pub(crate) directory: TempDir,
}

/// The browser to use; `None` if tests in a browser are not wanted.
fn executable() -> Option<PathBuf> {
    let on_path = |name: &&str| {
        env::split_paths(&env::var_os("PATH")?)
            .map(|directory| directory.join(name))
            .find(|file| file.is_file())
    };
    let found = env::var_os("OVERTAKE_BROWSER").map(PathBuf::from).or_else(|| NAMES.iter().find_map(on_path));
    if found.is_none() && env::var_os("OVERTAKE_NO_BROWSER").is_some() && env::var_os("CI").is_none() {
        eprintln!("skipped: there is no browser, and OVERTAKE_NO_BROWSER is set");
        return None;
    }
    Some(found.unwrap_or_else(|| {
        panic!(
            "no Chromium found to test the HTML report with: install one (Debian: apt-get install chromium), name one in \
             OVERTAKE_BROWSER, or skip these tests with OVERTAKE_NO_BROWSER=1"
        )
    }))
}

impl Browser {
    /// Starts a browser with an empty page of this size; nothing if tests in a browser are not wanted.
    pub(crate) fn start(width: u32, height: u32) -> Option<Browser> {
        let executable = executable()?;
        let directory = TempDir::new().unwrap();
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null"])
            .arg(executable)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--remote-debugging-pipe",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-dev-shm-usage",
            ])
            .arg(format!("--user-data-dir={}", directory.path().join("profile").display()))
            .arg(format!("--window-size={width},{height}"))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, messages) = channel();
        let answers = BufReader::new(process.stdout.take().unwrap());
        thread::spawn(move || {
            for message in answers.split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { return };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let commands = process.stdin.take().unwrap();
        let session = String::new();
        let mut browser =
            Browser { process, commands, messages, events: VecDeque::new(), session, last_id: 0, directory };
        browser.attach(width, height);
        Some(browser)
    }

    fn attach(&mut self, width: u32, height: u32) {
        let targets = self.call("Target.getTargets", json!({}));
        let page = targets["targetInfos"]
            .as_array()
            .unwrap()
            .iter()
            .find(|target| target["type"] == "page")
            .unwrap();
        let attached =
            self.call("Target.attachToTarget", json!({ "targetId": page["targetId"], "flatten": true }));
        self.session = attached["sessionId"].as_str().unwrap().into();
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        self.resize(width, height);
    }

    /// Calls a method of the protocol.
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).unwrap();
        loop {
            let message =
                self.messages.recv().unwrap_or_else(|error| panic!("{method}: the browser is gone: {error}"));
            if message["id"] == self.last_id {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push_back(message);
        }
    }

    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Sets a feature that the page's style asks for: `prefers-color-scheme`, `prefers-reduced-motion`.
    pub(crate) fn prefer(&mut self, features: &[(&str, &str)]) {
        let features: Vec<Value> =
            features.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Opens a file, at a fragment, and waits until the report shows.
    pub(crate) fn open(&mut self, file: &Path, fragment: &str) {
        // The same file at another fragment would not be loaded again.
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        self.call("Page.navigate", json!({ "url": format!("file://{}{fragment}", file.display()) }));
        self.wait_for(
            "document.body?.classList.contains('ready') && document.querySelector('main h2') !== null",
        );
    }

    /// The value of an expression in the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let answer = self.call(
            "Runtime.evaluate",
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true }),
        );
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    pub(crate) fn text(&mut self, expression: &str) -> String {
        self.evaluate(expression).as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn number(&mut self, expression: &str) -> f64 {
        self.evaluate(expression).as_f64().unwrap_or_else(|| panic!("{expression} is not a number"))
    }

    /// Waits until an expression holds.
    pub(crate) fn wait_for(&mut self, condition: &str) {
        for _ in 0..LOOKS {
            if self.evaluate(condition) == json!(true) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("still not so: {condition}");
    }

    /// Presses and releases a key: a character, or a name such as `ArrowDown`.
    pub(crate) fn press(&mut self, key: &str) {
        let mut event = json!({ "type": "keyDown", "key": key });
        if key.chars().count() == 1 {
            event["text"] = json!(key);
        }
        self.call("Input.dispatchKeyEvent", event);
        self.call("Input.dispatchKeyEvent", json!({ "type": "keyUp", "key": key }));
    }

    /// Sets a field of the page, as a user does who types or picks a value.
    pub(crate) fn choose(&mut self, field: &str, value: &str) {
        self.evaluate(&format!(
            "(() => {{ const field = document.getElementById('{field}'); field.value = {value:?}; \
             field.dispatchEvent(new Event('input')); field.dispatchEvent(new Event('change')); }})()"
        ));
    }

    /// Clicks the middle of the element that a selector finds first.
    pub(crate) fn click(&mut self, selector: &str) {
        let place = self.evaluate(&format!(
            "(() => {{ const node = document.querySelector({selector:?}); node.scrollIntoView({{ block: 'center' }}); \
             const box = node.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event =
                json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// What the page complained about or asked the network for since it was opened.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        self.evaluate("0");
        self.events.extend(self.messages.try_iter());
        self.events.drain(..).filter_map(|event| complaint(&event)).collect()
    }

    /// Keeps a picture of the page if `OVERTAKE_SCREENSHOTS` names a directory for them.
    pub(crate) fn picture(&mut self, name: &str) {
        let Some(directory) = env::var_os("OVERTAKE_SCREENSHOTS") else { return };
        let answer = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        keep(Path::new(&directory), &format!("{name}.png"), &answer);
    }

    /// The page on paper, as PDF; kept like a picture. Returns how many bytes it has.
    pub(crate) fn print(&mut self, name: &str) -> usize {
        let answer =
            self.call("Page.printToPDF", json!({ "printBackground": true, "preferCSSPageSize": true }));
        if let Some(directory) = env::var_os("OVERTAKE_SCREENSHOTS") {
            keep(Path::new(&directory), &format!("{name}.pdf"), &answer);
        }
        answer["data"].as_str().unwrap().len() / 4 * 3
    }
}

fn keep(directory: &Path, name: &str, answer: &Value) {
    use base64::prelude::{BASE64_STANDARD, Engine};
    let bytes = BASE64_STANDARD.decode(answer["data"].as_str().unwrap()).unwrap();
    std::fs::write(directory.join(name), bytes).unwrap();
}

fn complaint(event: &Value) -> Option<String> {
    let parameters = &event["params"];
    match event["method"].as_str()? {
        "Runtime.exceptionThrown" => Some(parameters["exceptionDetails"].to_string()),
        "Runtime.consoleAPICalled" => Some(parameters["args"].to_string()),
        "Log.entryAdded" => Some(parameters["entry"].to_string()),
        "Network.requestWillBeSent" => {
            let address = parameters["request"]["url"].as_str()?;
            let own = ["file:", "data:", "about:"].iter().any(|scheme| address.starts_with(scheme));
            (!own).then(|| format!("asks for {address}"))
        }
        _ => None,
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The shell became the browser; its helpers end with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
