//! Accessibility: what axe-core reports for the page, and what keys do.
//!
//! `cargo xtask test` fetches axe-core and passes its path; without it, tests report that they skip this part.

use std::path::PathBuf;

use serde_json::json;
use thirtyfour::prelude::*;

use super::page::{Page, settled, with_page};
use crate::support::skipped::partly_skipped;

/// The variable with the path of axe-core, set by `xtask/src/tools.rs`.
const AXE: &str = "DORMER_AXE";

/// axe-core with some of its rules.
pub(super) struct Axe {
    text: String,
    run: serde_json::Value,
}

/// Which rules of axe-core to check.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rules {
    All,
    /// Those that depend on the theme; each is as slow as all others together.
    OfColors,
    /// Those that depend on the window size.
    OfSize,
}

impl Axe {
    /// `None` if axe-core is missing: reports that, or fails if `CI` is set.
    pub(super) fn new(rules: Rules) -> Option<Axe> {
        let Some(file) = std::env::var_os(AXE).map(PathBuf::from) else {
            let missing = format!("{AXE} names no axe-core; `cargo xtask test` fetches it");
            assert!(std::env::var_os("CI").is_none(), "not tested: {missing}");
            partly_skipped(&missing);
            return None;
        };
        let text = std::fs::read_to_string(&file);
        let only = |rules: &[&str]| json!({"resultTypes": ["violations"], "runOnly": {"type": "rule", "values": rules}});
        Some(Axe {
            text: text.unwrap_or_else(|error| panic!("{}: {error}", file.display())),
            run: match rules {
                Rules::All => json!({"resultTypes": ["violations"]}),
                Rules::OfColors => only(&["color-contrast", "link-in-text-block"]),
                Rules::OfSize => only(&["scrollable-region-focusable"]),
            },
        })
    }

    /// The violations on screen.
    pub(super) async fn wrong(&self, page: &Page) -> Vec<String> {
        if page.value("!window.axe").await {
            page.js(&self.text).await;
        }
        let script = "
            const says = rule => `${rule.id}: ${rule.help}: ${rule.nodes.map(node => node.target.join(' ')).slice(0, 5).join(', ')}`;
            axe.run(document, arguments[0])
              .then(({ violations }) => done(violations.map(says)), error => done([String(error)]));";
        settled(async || {
            let found = page.js_async(script, vec![self.run.clone()]).await;
            serde_json::from_value(found).unwrap()
        })
        .await
    }
}

#[test]
fn keys_open_views_and_find_operations() {
    with_page("keys", async |page| {
        page.open_sample().await;
        page.enter("body", "3").await;
        page.find("[id^=unified_perf_summary-]").await;
        page.wait_hash_begins("#/operations").await;
        // Text typed into a field is not a command.
        page.enter("#filter", "1").await;
        page.wait_hash("find=1").await;
        page.go("#/overview").await;
        page.find("[data-testid=headline]").await;

        page.enter("body", Key::Control + "k").await;
        let field = "#palette[open] input";
        page.enter(field, "aten::").await;
        let kinds = "$$('#palette [role=option] .kind-of').map(kind => kind.textContent)";
        page.wait_for(&format!("{kinds}.includes('Operation')"))
            .await;
        // Move down to the first of them, wherever later answers put it.
        let chosen = "$('#palette [role=option][aria-selected=true] .kind-of')?.textContent";
        for _ in 0..100 {
            if page.value::<Option<String>>(chosen).await.as_deref() == Some("Operation") {
                break;
            }
            page.enter(field, Key::Down + "").await;
        }
        page.enter(field, Key::Enter + "").await;
        page.wait_hash("#/operations?row=").await;
        page.wait_for("!$('dialog[open]')").await;
    });
}
