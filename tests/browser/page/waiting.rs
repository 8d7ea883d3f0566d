//! Scripts in the page, and waiting until something is on screen.

use std::time::Instant;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{BETWEEN_LOOKS, PATIENCE, Page};

/// Functions for scripts: `$` finds an element, `$$` all matching ones.
const FINDERS: &str = "const $ = css => document.querySelector(css);
    const $$ = css => [...document.querySelectorAll(css)];
    ";

impl Page {
    /// Runs a script in the page, where `$` finds an element and `$$` all matching ones.
    pub(crate) async fn js(&self, script: &str) -> Value {
        self.js_with(script, vec![]).await
    }

    /// The same; `arguments` holds the arguments.
    pub(super) async fn js_with(&self, script: &str, arguments: Vec<Value>) -> Value {
        let script = format!("{FINDERS}{script}");
        let result = self.chromium.driver.execute(&*script, arguments).await;
        let result = result.unwrap_or_else(|error| panic!("{script}: {error}"));
        result.json().clone()
    }

    /// Runs a script that uses elements, as soon as they exist: until it does not throw.
    pub(crate) async fn act(&self, script: &str) {
        let script = format!("(() => {{ {script}; return true; }})()");
        self.wait_for(&script).await;
    }

    pub(crate) async fn value<T: DeserializeOwned>(&self, expression: &str) -> T {
        let value = self.js(&format!("return {expression}")).await;
        serde_json::from_value(value).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// Runs a script that calls `done` with its result.
    pub(crate) async fn js_async(&self, script: &str, arguments: Vec<Value>) -> Value {
        let script = format!("{FINDERS}const done = arguments[arguments.length - 1];\n{script}");
        let driver = &self.chromium.driver;
        let result = driver.execute_async(&*script, arguments).await;
        let result = result.unwrap_or_else(|error| panic!("{script}: {error}"));
        result.json().clone()
    }

    /// Waits until an expression is neither `null` nor `false`. An expression that throws is retried.
    pub(crate) async fn wait_for(&self, expression: &str) -> Value {
        let is_so = |value: &Value| !value.is_null() && *value != json!(false);
        self.wait_until(expression, is_so, "waited in vain").await
    }

    /// Waits until an expression has this value.
    pub(crate) async fn wait_value(&self, expression: &str, value: impl Into<Value>) {
        let value = value.into();
        let wanted = format!("waited in vain for {value}");
        self.wait_until(expression, |now| *now == value, &wanted)
            .await;
    }

    async fn wait_until(
        &self,
        expression: &str,
        is_so: impl Fn(&Value) -> bool,
        wanted: &str,
    ) -> Value {
        let start = Instant::now();
        let look = format!("try {{ return {expression} }} catch {{ return null }}");
        loop {
            let value = self.js(&look).await;
            if is_so(&value) {
                return value;
            }
            if start.elapsed() > PATIENCE {
                // If it throws, report that.
                let value: Value = self.value(expression).await;
                panic!("{wanted}: {expression} is {value}");
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }

    /// Waits until an element's text contains some words.
    pub(crate) async fn wait_text(&self, css: &str, words: &str) {
        let (css, words) = (json!(css), json!(words));
        self.wait_for(&format!(
            "[$({css})?.innerText, $({css})?.textContent].some(text => text?.includes({words}))"
        ))
        .await;
    }

    /// Waits until the URL's hash contains some words.
    pub(crate) async fn wait_hash(&self, words: &str) {
        let words = json!(words);
        self.wait_for(&format!("location.hash.includes({words})"))
            .await;
    }

    /// Waits until the URL's hash starts with some words.
    pub(crate) async fn wait_hash_begins(&self, words: &str) {
        let words = json!(words);
        self.wait_for(&format!("location.hash.startsWith({words})"))
            .await;
    }

    /// Errors on the console since the last call, including policy violations.
    pub(crate) async fn console_errors(&self) -> Vec<String> {
        let log = self.chromium.driver.browser_log().await.unwrap();
        let errors = log.into_iter().filter(|entry| entry.level == "SEVERE");
        errors.map(|entry| entry.message).collect()
    }

    /// Waits until there is an error on the console that contains some words; returns the errors until then.
    pub(crate) async fn wait_console_error(&self, words: &str) -> Vec<String> {
        let start = Instant::now();
        let mut errors = Vec::new();
        loop {
            errors.extend(self.console_errors().await);
            if errors.iter().any(|error| error.contains(words)) {
                return errors;
            }
            assert!(start.elapsed() < PATIENCE, "no {words:?} in {errors:?}");
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }
}
