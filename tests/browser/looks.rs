//! Pictures of every view, to be looked at; and what can be told without looking.

use serde_json::json;

use super::page::{Page, with_page};

/// Name, width and height in CSS pixels.
const SIZES: [(&str, u32, u32); 2] = [("wide", 1440, 900), ("narrow", 390, 844)];

const VIEWS: [&str; 6] = [
    "overview",
    "report",
    "operations",
    "kernels",
    "tree",
    "export",
];

#[test]
fn nothing_overflows_in_any_view() {
    with_page("looks", async |page| {
        for (size, width, height) in SIZES {
            page.resize(width, height).await;
            for theme in ["light", "dark"] {
                page.load(&format!("#/?theme={theme}")).await;
                look(page, &format!("start-{theme}-{size}")).await;
                page.open_sample().await;
                for view in VIEWS {
                    page.go(&format!("#/{view}?theme={theme}")).await;
                    page.find(&format!("[data-view={view}]")).await;
                    // Rows come from the worker.
                    page.wait_for("!document.querySelector('.coming')").await;
                    look(page, &format!("{view}-{theme}-{size}")).await;
                }
            }
        }
    });
}

/// Keeps a picture, and checks that the page is as wide as the window.
async fn look(page: &Page, name: &str) {
    page.screenshot(&format!("{name}.png")).await;
    let overflow = page
        .js(
            "return document.documentElement.scrollWidth - window.innerWidth",
            vec![],
        )
        .await;
    assert!(
        overflow.as_i64() <= Some(0),
        "{name}: {overflow} pixels beside the window"
    );
}

#[test]
fn dark_mode_has_no_light_part() {
    with_page("dark", async |page| {
        page.load("#/?theme=dark").await;
        page.open_sample().await;
        for view in VIEWS {
            page.go(&format!("#/{view}?theme=dark")).await;
            page.find(&format!("[data-view={view}]")).await;
            // Elements of some size whose own background is lighter than mid-grey.
            let light = page
                .js(
                    "const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
                     const lightness = colour => {
                       canvas.clearRect(0, 0, 1, 1);
                       canvas.fillStyle = colour;
                       canvas.fillRect(0, 0, 1, 1);
                       const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
                       return a < 128 ? 0 : 0.3 * r + 0.6 * g + 0.1 * b;
                     };
                     return [...document.querySelectorAll('body, body *')].filter(element => {
                       const box = element.getBoundingClientRect();
                       return box.width * box.height > 20000
                         && lightness(getComputedStyle(element).backgroundColor) > 128;
                     }).map(element => element.outerHTML.slice(0, 80))",
                    vec![],
                )
                .await;
            assert_eq!(light, json!([]), "{view}");
        }
    });
}
