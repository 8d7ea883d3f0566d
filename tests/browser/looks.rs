//! Pictures of every view, to be looked at; and what can be told without looking.

use serde_json::json;

use super::page::{Page, VIEWS, with_page};

/// Name, width and height in CSS pixels.
const SIZES: [(&str, u32, u32); 2] = [("wide", 1440, 900), ("narrow", 390, 844)];

#[test]
fn nothing_overflows_in_any_view() {
    with_page("looks", async |page| {
        let mut misfits = Vec::new();
        for (size, width, height) in SIZES {
            page.resize(width, height).await;
            for theme in ["light", "dark"] {
                page.load(&format!("#/?theme={theme}")).await;
                misfits.extend(look(page, &format!("start-{theme}-{size}")).await);
                page.open_sample().await;
                for (view, mark) in VIEWS {
                    page.go(&format!("#/{view}?theme={theme}")).await;
                    page.find(mark).await;
                    // Rows come from the worker.
                    page.wait_for("!document.querySelector('.coming')").await;
                    misfits.extend(look(page, &format!("{view}-{theme}-{size}")).await);
                }
            }
        }
        assert!(misfits.is_empty(), "{misfits:#?}");
    });
}

/// Keeps a picture; says what does not fit into it.
async fn look(page: &Page, name: &str) -> Option<String> {
    page.screenshot(&format!("{name}.png")).await;
    let script = "
        const root = document.documentElement, main = document.querySelector('#main');
        const scrolls = element => element.scrollHeight > element.clientHeight + 1;
        const beside = root.scrollWidth - window.innerWidth;
        if (beside > 0) return `${beside} pixels beside the window`;
        if (scrolls(root) && scrolls(main) && getComputedStyle(main).overflowY !== 'visible')
          return 'two bars to scroll with';";
    let wrong = page.js(script, vec![]).await;
    Some(format!("{name}: {}", wrong.as_str()?))
}

#[test]
fn dark_mode_has_no_light_part() {
    with_page("dark", async |page| {
        page.load("#/?theme=dark").await;
        page.open_sample().await;
        for (view, mark) in VIEWS {
            page.go(&format!("#/{view}?theme=dark")).await;
            page.find(mark).await;
            // Elements of some size whose own background is a light grey; series have a colour.
            let light = page
                .js(
                    "const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
                     const lightness = colour => {
                       canvas.clearRect(0, 0, 1, 1);
                       canvas.fillStyle = colour;
                       canvas.fillRect(0, 0, 1, 1);
                       const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
                       const grey = Math.max(r, g, b) - Math.min(r, g, b) < 48;
                       return a < 128 || !grey ? 0 : (r + g + b) / 3;
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
