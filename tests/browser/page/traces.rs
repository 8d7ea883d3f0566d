//! Traces that the page opens, and files that it writes.

use std::path::Path;
use std::time::Instant;

use serde_json::json;

use super::{BETWEEN_LOOKS, PATIENCE, Page};

impl Page {
    /// Chooses a file like the file dialog.
    pub(crate) async fn choose(&self, file: &Path) {
        self.enter("#file-input", file.to_str().unwrap()).await;
    }

    /// Drops a file onto the page.
    pub(crate) async fn drop_file(&self, name: &str, text: &str) {
        self.drop_files(&[(name, text)]).await;
    }

    /// Drops files onto the page together: their names and texts.
    pub(crate) async fn drop_files(&self, files: &[(&str, &str)]) {
        self.drop_at("0", files).await;
    }

    /// Drops a file on the right half of the window, as the reference.
    pub(crate) async fn drop_reference(&self, name: &str, text: &str) {
        self.drop_at("innerWidth - 10", &[(name, text)]).await;
    }

    async fn drop_at(&self, x: &str, files: &[(&str, &str)]) {
        let script = format!(
            "const data = new DataTransfer();
             for (const [name, text] of arguments[0])
               data.items.add(new File([text], name));
             for (const kind of ['dragenter', 'dragover', 'drop'])
               $('#main').dispatchEvent(
                 new DragEvent(kind, {{ bubbles: true, cancelable: true, dataTransfer: data, clientX: {x} }}));"
        );
        self.js_with(&script, vec![json!(files)]).await;
    }

    /// A downloaded file, as soon as it is complete.
    pub(crate) async fn downloaded(&self, name: &str) -> Vec<u8> {
        let file = self.chromium.downloads.join(name);
        let start = Instant::now();
        // The browser reserves the name with an empty file.
        while std::fs::metadata(&file).map_or(0, |file| file.len()) == 0 {
            assert!(start.elapsed() < PATIENCE, "{name} was not downloaded");
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        std::fs::read(file).unwrap()
    }

    /// Waits until this many traces were opened and shown.
    pub(crate) async fn wait_until_shown(&self, n_loads: u32) {
        let shown = format!("document.documentElement.dataset.ready === '{n_loads}'");
        let error = "!!$('#error')";
        self.wait_for(&format!("{shown} || {error}")).await;
        if self.value(error).await {
            panic!("the page says: {}", self.text("#error").await);
        }
    }

    /// Opens the built-in sample and waits until it is shown.
    pub(crate) async fn open_sample(&self) {
        self.click("#open-sample").await;
        self.wait_until_shown(1).await;
    }

    /// The same, then goes to a hash and waits until an element exists.
    pub(crate) async fn open_sample_at(&self, hash: &str, css: &str) {
        self.open_sample().await;
        self.go(hash).await;
        self.find(css).await;
    }

    /// Drops a trace onto the page and waits until it is shown.
    pub(crate) async fn open(&self, name: &str, text: &str) {
        let shown: Option<String> = self.value("document.documentElement.dataset.ready").await;
        let n_before: u32 = shown.map_or(0, |n| n.parse().unwrap());
        self.drop_file(name, text).await;
        self.wait_until_shown(n_before + 1).await;
    }
}
