//! Every view and state held to axe-core's rules, in both themes.
//!
//! `cargo xtask test` fetches axe-core and says where it lies; a test run without it says that it
//! skips.

use std::path::PathBuf;

use thirtyfour::prelude::*;

use super::page::{Page, skip, with_page};
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
    let found = page.js_async(script, vec![]).await;
    let found = found.as_array().cloned().unwrap_or_default();
    found
        .iter()
        .map(|one| format!("{what}, {theme}: {}", one.as_str().unwrap_or_default()))
        .collect()
}

#[test]
fn keys_open_views_and_find_operations() {
    with_page("keys", async |page| {
        page.open_sample().await;
        let body = page.find("body").await;
        body.send_keys("3").await.unwrap();
        page.find("[id^=unified_perf_summary-]").await;
        assert!(page.hash().await.starts_with("#/operations"));
        // What is typed into a field is no command.
        let filter = page.find("#filter").await;
        filter.send_keys("1").await.unwrap();
        page.wait_hash("find=1").await;
        page.go("#/overview").await;
        page.find("[data-testid=headline]").await;

        page.enter("body", Key::Control + "k").await;
        let field = page.find("#palette[open] input").await;
        field.send_keys("aten::").await.unwrap();
        page.wait_for(
            "$$('#palette [role=option] .kind-of').some(kind => kind.textContent === 'Operation')",
        )
        .await;
        let first = "$$('#palette [role=option] .kind-of').findIndex(kind => kind.textContent === 'Operation')";
        for _ in 0..page.value::<u64>(first).await {
            field.send_keys(Key::Down + "").await.unwrap();
        }
        field.send_keys(Key::Enter + "").await.unwrap();
        page.wait_hash("#/operations?row=").await;
        page.wait_for("!$('dialog[open]')").await;
    });
}
