//! How smooth the page is with a large trace: the cost of a frame, and the latency of a key.
//!
//! - **Script and layout**: the time that the main thread spends on scripts, styles and layout after one turn of the
//!   wheel, one move of the mouse or one key, including answers of the worker, divided by the frames drawn in the
//!   meantime: the browser spreads scrolling over several.
//! - **Key to next frame**: from the browser's own Event Timing API, in steps of 8 ms. It omits events under 16 ms, and
//!   does not cover wheel events.

use std::time::Duration;

use serde_json::{Value, json};
use thirtyfour::prelude::*;

use super::Outcome;
use super::figure::{Record, Role, Table, Unit, quantile};
use super::page::Page;

/// The number of steps of each habit in a run: half of them forth and half back.
const N_STEPS: usize = 40;
/// The browser does not report faster keys.
const LEAST_KEY_MS: f64 = 16.0;
/// This share of all values does not exceed the figure.
const SHARE: f64 = 0.95;
/// The time for the page to finish a step: three frames at 60 Hz.
const STEP: Duration = Duration::from_millis(50);
/// The position of the mouse: over the rows of every view.
const AT: (f64, f64) = (800.0, 500.0);

/// A user action that is repeated.
struct Habit {
    name: &'static str,
    view: &'static str,
    /// An element that exists once the view is drawn; it is focused.
    mark: &'static str,
    /// A script to run first, with the element as `mark`.
    before: &'static str,
    act: Act,
}

enum Act {
    /// Turns the wheel by this many pixels horizontally and vertically, forth and back.
    Wheel { across: f64, down: f64, ctrl: bool },
    /// Moves the mouse with the button down.
    Drag,
    /// Presses these keys in turn.
    Keys(&'static [&'static str]),
}

/// Zooms into the timeline, so that it can be panned.
const CLOSER: &str = "for (let i = 0; i < 4; i++) mark.dispatchEvent(new KeyboardEvent('keydown', { key: 'w', bubbles: true }));";
/// Opens the tree to some depth, so that it can be scrolled.
const UNFOLDED: &str = "const depth = document.querySelector('#to-depth');
    depth.value = [...depth.options].map(option => option.value).filter(value => +value <= 6).pop();
    depth.dispatchEvent(new Event('change', { bubbles: true }));";

#[rustfmt::skip]
const HABITS: &[Habit] = &[
    Habit { name: "Timeline, zoom by wheel", view: "timeline", mark: "#lanes", before: "", act: Act::Wheel { across: 0.0, down: -120.0, ctrl: true } },
    Habit { name: "Timeline, pan by wheel", view: "timeline", mark: "#lanes", before: CLOSER, act: Act::Wheel { across: 120.0, down: 0.0, ctrl: false } },
    Habit { name: "Timeline, pan by dragging", view: "timeline", mark: "#lanes", before: "", act: Act::Drag },
    Habit { name: "Timeline, zoom and pan by keys", view: "timeline", mark: "#lanes", before: "", act: Act::Keys(&["w", "d", "d", "s", "a", "a"]) },
    Habit { name: "Tree, scroll", view: "tree", mark: "[role=treegrid]", before: UNFOLDED, act: Act::Wheel { across: 0.0, down: 240.0, ctrl: false } },
    Habit { name: "Tree, arrow keys", view: "tree", mark: "[role=treegrid]", before: "", act: Act::Keys(&["ArrowDown", "ArrowDown", "PageDown", "ArrowUp"]) },
    Habit { name: "Operations, scroll", view: "operations", mark: "[role=grid]", before: "", act: Act::Wheel { across: 0.0, down: 240.0, ctrl: false } },
    Habit { name: "Operations, arrow keys", view: "operations", mark: "[role=grid]", before: "", act: Act::Keys(&["ArrowDown", "ArrowDown", "PageDown", "ArrowUp"]) },
];

/// Repeats everything `n_runs` times. The figures are the 95th percentiles of frames and keys.
pub(crate) async fn measure(page: &Page, n_runs: u32, trace: &str, record: &mut Record) -> Outcome {
    let driver = page.driver();
    send(driver, "Performance.enable", json!({})).await?;
    let mut taken: Vec<[Vec<f64>; 2]> = HABITS.iter().map(|_| Default::default()).collect();
    for _ in 0..n_runs {
        for (habit, [frames, keys]) in HABITS.iter().zip(&mut taken) {
            let (frames_ms, mut keys_ms) = habit.measure(driver).await?;
            frames.push(quantile(&frames_ms, SHARE) / 1e3);
            if matches!(habit.act, Act::Keys(_)) {
                keys_ms.resize(N_STEPS.max(keys_ms.len()), LEAST_KEY_MS);
                keys.push(quantile(&keys_ms, SHARE) / 1e3);
            }
        }
    }
    for (habit, [frames, keys]) in HABITS.iter().zip(taken) {
        for (table, values) in [(Table::Frames, frames), (Table::Keys, keys)] {
            let how = (Unit::Time, Role::Cost);
            record.add((table, trace), habit.name, how, values);
        }
    }
    Ok(())
}

impl Act {
    async fn step(&self, driver: &WebDriver, step: usize) -> WebDriverResult<()> {
        // Back again, so that no end is reached.
        let sign = if step < N_STEPS / 2 { 1.0 } else { -1.0 };
        match self {
            Act::Wheel { across, down, ctrl } => {
                let turn = json!({"type": "mouseWheel", "x": AT.0, "y": AT.1, "deltaX": across * sign, "deltaY": down * sign,
                    "modifiers": if *ctrl { 2 } else { 0 }});
                send(driver, "Input.dispatchMouseEvent", turn).await
            }
            Act::Drag => {
                let way = step.min(N_STEPS - step) as f64;
                mouse(driver, "mouseMoved", AT.0 - 15.0 * way).await
            }
            Act::Keys(keys) => press(driver, keys[step % keys.len()]).await,
        }
    }
}

impl Habit {
    /// For each step, the milliseconds of script, styles and layout per frame; and for each key that took 16 ms or
    /// more, the time to the next frame.
    async fn measure(&self, driver: &WebDriver) -> WebDriverResult<(Vec<f64>, Vec<f64>)> {
        let show = format!("location.hash = '{}'", self.view);
        driver.execute(show, vec![]).await?;
        let mark = driver.query(By::Css(self.mark)).first().await?;
        tokio::time::sleep(Duration::from_secs(2)).await;
        mark.focus().await?;
        let before = format!("const mark = arguments[0]; {}", self.before);
        driver.execute(before, vec![mark.to_json()?]).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let watch = "window.slow = []; window.watch?.disconnect();
            window.watch = new PerformanceObserver(list => {
                for (const entry of list.getEntries()) if (entry.name === 'keydown') window.slow.push(entry.duration);
            });
            window.watch.observe({ type: 'event', durationThreshold: 16 });
            if (window.drawn === undefined) {
                const draw = () => { window.drawn++; requestAnimationFrame(draw); };
                draw();
            }
            window.drawn = 0;";
        driver.execute(watch, vec![]).await?;
        mouse(driver, "mouseMoved", AT.0).await?;
        if matches!(self.act, Act::Drag) {
            mouse(driver, "mousePressed", AT.0).await?;
        }
        let mut frames_ms = Vec::new();
        let mut before = spent_ms(driver).await?;
        for step in 0..N_STEPS {
            self.act.step(driver, step).await?;
            tokio::time::sleep(STEP).await;
            let after = spent_ms(driver).await?;
            frames_ms.push((after - before) / frames_drawn(driver).await?.max(1.0));
            before = after;
        }
        if matches!(self.act, Act::Drag) {
            mouse(driver, "mouseReleased", AT.0).await?;
        }
        let slow = driver.execute("return window.slow", vec![]).await?;
        Ok((frames_ms, slow.convert()?))
    }
}

/// The total time that the main thread has spent on scripts, styles and layout.
async fn spent_ms(driver: &WebDriver) -> WebDriverResult<f64> {
    let answer = driver
        .cdp()
        .send_raw("Performance.getMetrics", json!({}))
        .await?;
    let metrics = answer["metrics"].as_array().cloned().unwrap_or_default();
    let spent = metrics.iter().filter(|metric| {
        let name = metric["name"].as_str();
        name.is_some_and(|name| {
            ["ScriptDuration", "LayoutDuration", "RecalcStyleDuration"].contains(&name)
        })
    });
    let seconds: f64 = spent.filter_map(|metric| metric["value"].as_f64()).sum();
    Ok(seconds * 1e3)
}

/// The number of frames drawn since the last call.
async fn frames_drawn(driver: &WebDriver) -> WebDriverResult<f64> {
    let script = "const drawn = window.drawn; window.drawn = 0; return drawn";
    let answer = driver.execute(script, vec![]).await?;
    answer.convert()
}

async fn press(driver: &WebDriver, key: &str) -> WebDriverResult<()> {
    let code = match key {
        "ArrowDown" => 40,
        "ArrowUp" => 38,
        "PageDown" => 34,
        _ => 0,
    };
    let mut down = json!({"type": "keyDown", "key": key, "windowsVirtualKeyCode": code});
    if key.chars().count() == 1 {
        down["text"] = json!(key);
    }
    send(driver, "Input.dispatchKeyEvent", down).await?;
    let up = json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code});
    send(driver, "Input.dispatchKeyEvent", up).await
}

async fn mouse(driver: &WebDriver, kind: &str, x: f64) -> WebDriverResult<()> {
    let buttons = u8::from(kind != "mouseReleased");
    let event = json!({"type": kind, "x": x, "y": AT.1, "button": "left", "buttons": buttons, "clickCount": 1});
    send(driver, "Input.dispatchMouseEvent", event).await
}

async fn send(driver: &WebDriver, command: &str, params: Value) -> WebDriverResult<()> {
    driver.cdp().send_raw(command, params).await.map(drop)
}
