//! Automatic checks of every view and state: what does not fit, and what axe-core reports. With `DORMER_SCREENSHOTS`
//! set, also screenshots, for manual inspection.

use serde_json::json;

use super::accessibility::{Axe, Rules};
use super::page::{Page, VIEWS, settled, with_page};
use super::states::{Opened, visit};

/// The variable that asks for screenshots. They take a large part of the time of these tests.
const SCREENSHOTS: &str = "DORMER_SCREENSHOTS";

/// A window: its name, width and height in CSS pixels.
type Size = (&'static str, u32, u32);

const WIDE: Size = ("wide", 1440, 900);
const NARROW: Size = ("narrow", 390, 844);
/// The narrowest window that everything must fit into.
const LEAST: Size = ("least", 320, 640);
const LARGE: Size = ("4k", 3840, 2160);

/// What is tested in windows of unusual size.
const FEW: [Opened; 3] = [Opened::Nothing, Opened::Sample, Opened::Two];

#[test]
fn all_is_well_in_light() {
    all_is_well(&Opened::ALL, WIDE, "light", Rules::All);
}

#[test]
fn all_is_well_in_dark() {
    all_is_well(Opened::SHORT, WIDE, "dark", Rules::OfColors);
}

// Neither colors depend on the size nor sizes on the theme: each is checked in one of the other.
#[test]
fn all_is_well_in_a_narrow_window() {
    all_is_well(&Opened::ALL, NARROW, "light", Rules::AllButColors);
}

#[test]
fn all_is_well_in_the_narrowest_window() {
    all_is_well(&FEW, LEAST, "light", Rules::OfSize);
}

#[test]
fn all_is_well_in_a_large_window() {
    all_is_well(&FEW, LARGE, "light", Rules::OfSize);
}

/// Visits every state in one size and theme; fails if something does not fit, or if axe-core reports a violation.
fn all_is_well(all: &[Opened], (size, width, height): Size, theme: &str, rules: Rules) {
    let axe = Axe::new(rules);
    let takes_screenshots = std::env::var_os(SCREENSHOTS).is_some();
    // Longer texts in the same components: their colors are those of the sample.
    let axe_of_real = axe.as_ref().map(Axe::without_colors);
    with_page(&format!("looks-{theme}-{size}"), async |page| {
        let mut wrong = Vec::new();
        page.resize(width, height).await;
        for &opened in all {
            let axe = match opened {
                Opened::Real => &axe_of_real,
                _ => &axe,
            };
            visit(page, opened, theme, async |page, state| {
                let name = format!("{state}-{theme}-{size}");
                if takes_screenshots {
                    page.screenshot(&format!("{name}.png")).await;
                }
                let mut of_state = misfits_of(page).await;
                if let Some(axe) = &axe {
                    of_state.extend(axe.wrong(page).await);
                }
                wrong.extend(of_state.iter().map(|one| format!("{name}: {one}")));
            })
            .await;
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    });
}

/// What overflows the window or its container, once the layout is stable.
async fn misfits_of(page: &Page) -> Vec<String> {
    settled(async || serde_json::from_value(page.js(MISFITS).await).unwrap()).await
}

/// Returns a line for each overflow.
const MISFITS: &str = r#"
    const wrong = new Set();
    const root = document.documentElement, main = $('#main');
    const beside = root.scrollWidth - window.innerWidth;
    if (beside > 0) wrong.add(`${beside} pixels beside the window`);
    if (main.scrollWidth > main.clientWidth + 1) wrong.add(`the view is ${main.scrollWidth} pixels wide, its window ${main.clientWidth}`);
    const scrolls = element => element.scrollHeight > element.clientHeight + 1;
    if (scrolls(root) && scrolls(main) && getComputedStyle(main).overflowY !== 'visible')
      wrong.add('two bars to scroll with');

    const says = element => {
      const text = (element.innerText || element.getAttribute('aria-label') || '').replace(/\s+/g, ' ').slice(0, 40);
      const name = element.getAttribute('class');
      return `${element.localName}${element.id && '#' + element.id}${name ? '.' + name : ''} “${text}”`;
    };
    // A name that loses its middle, what is drawn, and what only listeners hear are cut on purpose.
    const onPurpose = '.cut, .cut *, canvas, svg, svg *, option, .unseen, .unseen *, .probes, .probes *, .diff-missing';
    for (const element of $$('body *')) {
      if (element.matches(onPurpose) || !element.checkVisibility({ visibilityProperty: true })) continue;
      const style = getComputedStyle(element);
      if (style.display.startsWith('inline') || element.clientWidth < 2) continue;
      const over = element.scrollWidth - element.clientWidth;
      if (over > 1 && style.overflowX === 'hidden' && style.textOverflow !== 'ellipsis')
        wrong.add(`${over} pixels cut off in ${says(element)}`);
      const below = element.scrollHeight - element.clientHeight;
      if (below > 3 && style.overflowY === 'hidden' && element.clientHeight > 0)
        wrong.add(`${below} pixels cut off below in ${says(element)}`);
      // Text that reaches out of its own box: over what stands beside it.
      const own = [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
      if (own && over > 3 && style.overflowX === 'visible')
        wrong.add(`${over} pixels of text beside ${says(element)}`);
    }

    // What can be clicked must not lie under something else that can.
    const layer = element => element.closest('dialog, .panel, .op-details-panel, .top, .trace-bar, .side, fieldset, #main');
    // What a box with bars to scroll hides lies under nothing.
    const hidden = (element, x, y) => {
      for (let box = element.parentElement; box && box !== main; box = box.parentElement) {
        if (getComputedStyle(box).overflowY === 'visible') continue;
        const { left, right, top, bottom } = box.getBoundingClientRect();
        if (x < left || x > right || y < top || y > bottom) return true;
      }
      return false;
    };
    const clickable = 'button, select, input, a, summary';
    for (const element of $$(clickable)) {
      if (element.matches('.unseen') || !element.checkVisibility({ visibilityProperty: true })) continue;
      const box = element.getBoundingClientRect();
      const x = box.left + box.width / 2, y = box.top + box.height / 2;
      if (hidden(element, x, y)) continue;
      const over = document.elementFromPoint(x, y)?.closest(clickable);
      if (!over || over === element || over.contains(element) || element.contains(over)) continue;
      if (layer(over) === layer(element) && !over.closest('.skip, thead'))
        wrong.add(`${says(over)} lies over ${says(element)}`);
    }
    return [...wrong];
"#;

#[test]
fn dark_mode_has_no_light_part() {
    with_page("dark", async |page| {
        page.load("#/?theme=dark").await;
        page.open_sample().await;
        for (view, mark) in VIEWS {
            page.go(&format!("#/{view}?theme=dark")).await;
            page.find(mark).await;
            // Larger elements whose own background is light gray; series have a color.
            page.wait_value(
                    "(() => {
                     const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
                     const lightness = color => {
                       canvas.clearRect(0, 0, 1, 1);
                       canvas.fillStyle = color;
                       canvas.fillRect(0, 0, 1, 1);
                       const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
                       const gray = Math.max(r, g, b) - Math.min(r, g, b) < 48;
                       return a < 128 || !gray ? 0 : (r + g + b) / 3;
                     };
                     return $$('body, body *').filter(element => {
                       const box = element.getBoundingClientRect();
                       return box.width * box.height > 20000
                         && lightness(getComputedStyle(element).backgroundColor) > 128;
                     }).map(element => element.outerHTML.slice(0, 80));
                   })()",
                    json!([]),
                )
                .await;
        }
    });
}
