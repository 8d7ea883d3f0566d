//! Elements: their texts, clicks and keys.

use std::time::Instant;

use serde_json::json;
use thirtyfour::prelude::*;

use super::{BETWEEN_LOOKS, PATIENCE, Page};

impl Page {
    /// Uses an element as soon as it exists and nothing covers it. If it is redrawn in the meantime, it is looked up
    /// again.
    async fn with_element<T>(
        &self,
        css: &str,
        act: impl AsyncFn(WebElement) -> WebDriverResult<T>,
    ) -> T {
        const PASSING: [&str; 4] = [
            "no such element",
            "stale element",
            "click intercepted",
            "not interactable",
        ];
        let start = Instant::now();
        loop {
            self.wait_for(&format!("!!$({})", json!(css))).await;
            let found = self.chromium.driver.find(By::Css(css)).await;
            let done = match found {
                Ok(element) => act(element).await,
                Err(error) => Err(error),
            };
            let error = match done {
                Ok(done) => return done,
                Err(error) => error.to_string(),
            };
            let is_passing = PASSING.iter().any(|passing| error.contains(passing));
            assert!(is_passing && start.elapsed() < PATIENCE, "{css}: {error}");
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }

    /// An element, as soon as it exists.
    pub(crate) async fn find(&self, css: &str) -> WebElement {
        self.with_element(css, async |element| Ok(element)).await
    }

    /// The text of an element, as soon as it exists.
    pub(crate) async fn text(&self, css: &str) -> String {
        self.with_element(css, async |element| element.text().await)
            .await
    }

    /// The text of an element, as soon as it meets a condition.
    pub(crate) async fn text_when(&self, css: &str, is_so: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let text = self.text(css).await;
            if is_so(&text) {
                return text;
            }
            let waited = start.elapsed();
            assert!(waited < PATIENCE, "waited in vain: {css} says {text:?}");
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }

    /// Waits until an element has exactly this text.
    pub(crate) async fn wait_says(&self, css: &str, words: &str) {
        self.text_when(css, |text| text == words).await;
    }

    /// Clicks an element, as soon as it exists.
    pub(crate) async fn click(&self, css: &str) {
        self.with_element(css, async |element| element.click().await)
            .await;
    }

    /// Opens the first finding that contains an element, unless it is open.
    pub(crate) async fn unfold_finding(&self, css: &str) {
        let holds = format!("[data-testid=finding]:has({css})");
        self.find(&holds).await;
        if self.value(&format!("!$({}).open", json!(holds))).await {
            self.click(&format!("{holds}:not([open]) > summary")).await;
            self.wait_for(&format!("$({}).open", json!(holds))).await;
        }
    }

    /// Sends keys to an element, as soon as it exists.
    pub(crate) async fn enter(&self, css: &str, keys: impl Into<TypingData>) {
        let keys = keys.into().to_string();
        self.with_element(css, async |element| element.send_keys(&*keys).await)
            .await;
    }

    /// Chooses the first option of a list that contains these words, as soon as it exists.
    pub(crate) async fn choose_option(&self, list: &str, words: &str) {
        let (list, words) = (json!(list), json!(words));
        self.act(&format!(
            "const list = $({list});
             list.value = [...list.options].find(option => option.text.includes({words})).value;
             list.dispatchEvent(new Event('change', {{ bubbles: true }}))"
        ))
        .await;
    }

    /// Types some words into the palette and chooses the first matching command.
    pub(crate) async fn command(&self, words: &str, command: &str) {
        self.enter("body", Key::Control + "k").await;
        self.enter("#palette[open] input", words).await;
        let first = format!("$('#palette-0 .what').innerText.startsWith('{command}')");
        self.wait_for(&first).await;
        self.enter("#palette[open] input", Key::Enter + "").await;
    }

    /// Presses a key on the focused element.
    pub(crate) async fn press(&self, key: Key) {
        let keys = self.chromium.driver.action_chain().send_keys(key);
        keys.perform().await.unwrap();
    }
}
