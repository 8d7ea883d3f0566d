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
#[derive(Clone)]
pub(super) struct Axe {
    text: String,
    rules: Rules,
}

/// Which rules of axe-core to check.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rules {
    All,
    AllButColors,
    /// Those that depend on the theme. They take as long as all others together.
    OfColors,
    /// Those that depend on the window size.
    OfSize,
}

impl Rules {
    /// The options of `axe.run`.
    fn options(self) -> serde_json::Value {
        const OF_COLORS: [&str; 2] = ["color-contrast", "link-in-text-block"];
        // Style sheets are not fetched a second time: no rule that runs needs their text.
        let mut options = json!({"resultTypes": ["violations"], "preload": false});
        let mut only =
            |rules: &[&str]| options["runOnly"] = json!({"type": "rule", "values": rules});
        match self {
            Rules::All => {}
            Rules::AllButColors => {
                let off = OF_COLORS.map(|rule| (rule.to_owned(), json!({"enabled": false})));
                options["rules"] = serde_json::Map::from_iter(off).into();
            }
            Rules::OfColors => only(&OF_COLORS),
            Rules::OfSize => only(&["scrollable-region-focusable"]),
        }
        options
    }
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
        Some(Axe {
            text: text.unwrap_or_else(|error| panic!("{}: {error}", file.display())),
            rules,
        })
    }

    /// The same, without rules of colors if it has others.
    pub(super) fn without_colors(&self) -> Axe {
        let mut axe = self.clone();
        if let Rules::All = axe.rules {
            axe.rules = Rules::AllButColors;
        }
        axe
    }

    /// The violations on screen. An open dialog is checked alone: what it covers is a state of its own.
    pub(super) async fn wrong(&self, page: &Page) -> Vec<String> {
        if page.value("!window.axe").await {
            page.js(&self.text).await;
        }
        let script = "
            const says = rule => `${rule.id}: ${rule.help}: ${rule.nodes.map(node => node.target.join(' ')).slice(0, 5).join(', ')}`;
            axe.run($('dialog[open]') ?? document, arguments[0])
              .then(({ violations }) => done(violations.map(says)), error => done([String(error)]));";
        settled(async || {
            let found = page.js_async(script, vec![self.rules.options()]).await;
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
