//! Every view and state held to axe-core's rules, in both themes.
//!
//! `cargo xtask test` fetches axe-core and says where it lies; a test run without it says that it
//! skips.

use std::path::PathBuf;

use thirtyfour::prelude::*;

use super::page::{Page, settled, skip, with_page};
use super::states::{Opened, visit};

/// The file of axe-core: `xtask/src/tools.rs` sets it.
const AXE: &str = "DORMER_AXE";

#[test]
fn axe_finds_nothing_to_mend() {
    for theme in ["light", "dark"] {
        hold_to_axe(&format!("axe-{theme}"), theme, (1440, 900), &Opened::ALL);
    }
}

#[test]
fn axe_finds_nothing_to_mend_in_a_narrow_window() {
    hold_to_axe("axe-narrow", "dark", (390, 844), Opened::SHORT);
    hold_to_axe("axe-least", "light", (320, 640), Opened::SHORT);
}

#[test]
fn axe_finds_nothing_to_mend_in_a_large_window() {
    for theme in ["light", "dark"] {
        hold_to_axe(
            &format!("axe-4k-{theme}"),
            theme,
            (3840, 2160),
            Opened::SHORT,
        );
    }
}

/// Has axe-core look at every state, in one theme and one size of the window.
fn hold_to_axe(test: &str, theme: &str, (width, height): (u32, u32), all: &[Opened]) {
    let Some(axe) = axe() else {
        return;
    };
    with_page(test, async |page| {
        let mut wrong = Vec::new();
        page.resize(width, height).await;
        for &opened in all {
            visit(page, opened, theme, async |page, state| {
                wrong.extend(look(page, &axe, &state, theme).await);
            })
            .await;
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    });
}

/// The text of axe-core; where it was not provided, says so, or fails if `CI` is set.
fn axe() -> Option<String> {
    let Some(file) = std::env::var_os(AXE).map(PathBuf::from) else {
        skip(&format!(
            "{AXE} names no axe-core; `cargo xtask test` fetches it"
        ));
        return None;
    };
    let text = std::fs::read_to_string(&file);
    Some(text.unwrap_or_else(|error| panic!("{}: {error}", file.display())))
}

/// What axe-core finds wrong with what is on screen.
async fn look(page: &Page, axe: &str, what: &str, theme: &str) -> Vec<String> {
    if page.value("!window.axe").await {
        page.js(axe).await;
    }
    let script = "
        const says = rule => `${rule.id}: ${rule.help}: ${rule.nodes.map(node => node.target.join(' ')).slice(0, 5).join(', ')}`;
        axe.run(document, { resultTypes: ['violations'] })
          .then(({ violations }) => done(violations.map(says)), error => done([String(error)]));";
    let wrong: Vec<String> = settled(async || {
        let found = page.js_async(script, vec![]).await;
        serde_json::from_value(found).unwrap()
    })
    .await;
    let wrong = wrong.iter();
    wrong.map(|one| format!("{what}, {theme}: {one}")).collect()
}

#[test]
fn keys_open_views_and_find_operations() {
    with_page("keys", async |page| {
        page.open_sample().await;
        page.enter("body", "3").await;
        page.find("[id^=unified_perf_summary-]").await;
        page.wait_hash_begins("#/operations").await;
        // What is typed into a field is no command.
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
        // Down to the first of them, wherever further answers put it.
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
