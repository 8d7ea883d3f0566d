//! Everything the page can show: every view, and the states within views. axe-core checks all of them, and screenshots
//! can be taken of all.
//!
//! To add a state: a row in the list of what must be open for it.

use std::path::PathBuf;

use dormer_core::sample;
use thirtyfour::prelude::*;

use super::fleet::{choose_fleet, summary};
use super::job::{drop_job, ranks};
use super::page::{Page, VIEWS};
use crate::support::shared;
use crate::support::skipped::partly_skipped;

/// A state of the page.
pub(crate) struct State {
    /// Its name, and that of its screenshot.
    name: &'static str,
    /// The view and its focus, as a hash.
    place: &'static str,
    /// The user's actions there.
    steps: &'static [Step],
    /// An element that exists once the state is reached.
    mark: &'static str,
}

/// A user action.
enum Step {
    /// Clicks an element, as soon as it exists.
    Click(&'static str),
    /// Chooses the first option of a list that contains a text.
    Choose(&'static str, &'static str),
    /// Presses a letter with Ctrl.
    Command(&'static str),
    /// Drops a file that is not a trace, as the reference.
    DropBroken,
    /// Drops a file that is not a trace, to be opened instead.
    DropBrokenInstead,
    /// Another site sends a trace.
    Send,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opened {
    /// Nothing: the start page, and the message about a file that cannot be read.
    Nothing,
    /// The built-in sample.
    Sample,
    /// The sample, truncated in the middle, with a kernel that claims three days.
    Damaged,
    /// The sample, and the sample with one operator replaced by another.
    Two,
    /// Four ranks of one job.
    Job,
    /// A summary of many traces.
    Fleet,
    /// A large real trace.
    Real,
}

impl Opened {
    /// All variants, in the order of visiting.
    pub(crate) const ALL: [Opened; 7] = [
        Opened::Nothing,
        Opened::Sample,
        Opened::Damaged,
        Opened::Two,
        Opened::Job,
        Opened::Fleet,
        Opened::Real,
    ];

    /// The variants for a quick run: a real trace takes long.
    pub(crate) const SHORT: &[Opened] = Opened::ALL.split_at(6).0;

    /// The prefix of the screenshots' names.
    fn word(self) -> &'static str {
        match self {
            Opened::Nothing => "empty",
            Opened::Sample => "sample",
            Opened::Damaged => "damaged",
            Opened::Two => "two",
            Opened::Job => "job",
            Opened::Fleet => "fleet",
            Opened::Real => "real",
        }
    }

    /// Its states besides the views.
    fn states(self) -> &'static [State] {
        match self {
            Opened::Nothing => &[],
            Opened::Sample | Opened::Real => WITHIN,
            Opened::Damaged => DAMAGED,
            Opened::Two => COMPARED,
            Opened::Job => OF_JOB,
            Opened::Fleet => OF_FLEET,
        }
    }

    /// Opens it in a reloaded page. `false` if it is not on this machine.
    async fn open(self, page: &mut Page, theme: &str) -> bool {
        page.load(&format!("#/?theme={theme}")).await;
        match self {
            Opened::Nothing => return true,
            Opened::Sample => page.click("#open-sample").await,
            Opened::Damaged => {
                let half = &sample::TRACE[..sample::TRACE.len() / 2];
                let kernel_us = r#""dur":24.993,"#;
                assert!(half.contains(kernel_us), "the sample's first kernel");
                let damaged = half.replacen(kernel_us, r#""dur":259200000000,"#, 1);
                page.drop_file("cut.json", &damaged).await;
            }
            Opened::Two => {
                let old = sample::TRACE;
                let new = old.replace("aten::gelu", "my::gelu");
                let files = [("new.json", &*new), ("old.json", old)];
                page.drop_files(&files).await;
            }
            Opened::Job => {
                drop_job(page, &ranks()).await;
                page.find("[data-testid=job]").await;
                return true;
            }
            Opened::Fleet => {
                choose_fleet(page, &summary(600)).await;
                return true;
            }
            Opened::Real => match real() {
                Some(file) => page.choose(&file).await,
                None => return false,
            },
        }
        page.wait_until_shown(1).await;
        true
    }
}

/// The path of the real trace, if it is on this machine.
fn real() -> Option<PathBuf> {
    let file = shared::folder_for_more()?.join("traces/xdit_sd35.json.gz");
    // The browser does not accept `..`.
    let whole = file.canonicalize();
    if whole.is_err() {
        partly_skipped(&format!("no {}", file.display()));
    }
    whole.ok()
}

/// The message of a window opened by the page: it comes from a frame that looks like one, not from another site.
const SEND: &str = "
    const frame = document.body.appendChild(document.createElement('iframe'));
    const source = frame.contentWindow;
    source.opener = window;
    const perfetto = { buffer: new ArrayBuffer(2e6), title: 'decode, batch size 32' };
    dispatchEvent(new MessageEvent('message', { data: { perfetto }, origin: 'https://tools.example', source }));
    frame.remove();";

/// States within the views of one trace.
#[rustfmt::skip]
const WITHIN: &[State] = &[
    at("rough", "report?table=rough", "[data-testid=report] h2"),
    at("top-down", "tree?table=top-down", "[id^=node-]"),
    at("bottom-up", "tree?table=bottom-up", "[id^=node-]"),
    at("modules", "tree?table=modules", "[id^=node-]"),
    at("backward", "tree?table=backward", "main .tree-modes"),
    at("flame", "tree?section=flame", "#flame canvas"),
    at("flame-cpu", "tree?section=flame-cpu", "#flame canvas"),
    by("timeline-call", "tree", &[Step::Click("#hottest"), Step::Click(".details [data-to=timeline]")], "main[data-view=timeline] [data-testid=details].some"),
    at("operation-details", "operations?row=0", "#op-details .op-details"),
    at("kernel-details", "kernels?row=0", "#op-details .op-details"),
    at("details-beside", "overview?story=operation-0", "#op-details .op-details"),
    by("tree-call", "tree", &[Step::Click("#hottest")], "[data-testid=details].some"),
    by("columns", "operations", &[Step::Click("#columns")], ".menu[open] fieldset"),
    by("columns-pinned", "operations", &[Step::Click("#columns"), Step::Click("#column-pin-gpu-time")], "#column-pin-gpu-time[aria-pressed=true]"),
    at("grouped", "operations?group=category", "[data-testid=groups] tbody tr"),
    by("search-help", "operations", &[Step::Click("#search-help")], ".menu[open] .search-help"),
    by("recent", "overview", &[Step::Click("#recent-button")], "#recent-dialog[open]"),
    by("thresholds", "overview", &[Step::Click("#thresholds-button")], ".panel"),
    by("step-chosen", "timeline", &[Step::Choose("#step", "Step")], "#analyze-range"),
    by("step-analyzed", "timeline", &[Step::Choose("#step", "Step"), Step::Click("#analyze-range"), Step::Click("[data-nav=overview]")], "#window"),
    by("keys", "overview", &[Step::Click("#keys")], "#key-sheet[open]"),
    by("palette", "overview", &[Step::Command("k")], "#palette[open]"),
    by("models", "overview", &[Step::Click("#models-button")], "#models-dialog[open]"),
    by("offline", "overview", &[Step::Click("#offline-button")], "#offline-dialog[open] #keep-copy"),
    by("sender", "overview", &[Step::Send], "#sender-question[open] #sender-always"),
    by("not-compared", "overview", &[Step::DropBroken], "#reference-error"),
    by("not-opened", "overview", &[Step::DropBrokenInstead], "#open-error"),
    by("gpu-figures", "overview", &[Step::Choose("#gpu", "Enter values…")], "#gpu-dialog[open]"),
];

/// States of a partially read trace.
#[rustfmt::skip]
const DAMAGED: &[State] = &[
    at("overview", "overview", "[data-testid=repaired]"),
    by("limit", "overview", &[Step::Click("[data-limit=repaired] summary")], "[data-limit=repaired] [open]"),
    at("report", "report", "[data-testid=report] h2"),
];

/// States of a comparison.
#[rustfmt::skip]
const COMPARED: &[State] = &[
    at("compare", "compare", "[data-testid=compare-headline]"),
    at("trees", "compare?table=compare_tree", "[id^=both-]"),
    by("difference", "compare?table=compare_tree", &[Step::Click("#difference-next")], "[data-testid=details].some"),
    at("places", "compare?table=compare_places", "[id^=compare_places-]"),
    at("categories", "compare?table=compare_categories", "[id^=compare_categories-]"),
    at("compared-kernels", "compare?table=compare_kernels", "[id^=compare_kernels-]"),
    at("timelines", "timeline?below=start&find=mm", "[data-testid=reference-below]"),
    by("range-of-both", "timeline?below=gpu&kept=100000-900000:why%20so%20slow", &[Step::Click("[data-testid=kept-ranges] button")], "[data-testid=range-below]"),
    at("report", "report", "[data-testid=report] h2"),
    at("export", "export", "[data-testid=artifacts]"),
    by("export-redacted", "export", &[Step::Click("#redact")], "#redact:checked"),
];

/// States of a job.
#[rustfmt::skip]
const OF_JOB: &[State] = &[
    at("job", "job", "#strip canvas"),
    by("heatmap", "job?row=1&step=1", &[Step::Click("[data-testid=heat-figures] > summary")], "[data-testid=heat-figures] tbody tr"),
    by("strip", "job?step=1", &[Step::Click("[data-testid=strip-figures] > summary")], "[data-testid=strip-figures] tbody tr"),
    by("bandwidth", "job", &[Step::Click("[data-testid=bandwidth-figures] > summary")], "[data-testid=bandwidth-figures] tbody tr"),
];

/// States of a summary.
#[rustfmt::skip]
const OF_FLEET: &[State] = &[
    at("fleet", "fleet", "[data-testid=fleet-runs] tbody tr[id]"),
    by("run", "fleet", &[Step::Click("[data-testid=fleet-runs] tbody tr[id] td")], "[data-testid=run-chosen] button"),
];

/// A state reached by an address.
const fn at(name: &'static str, place: &'static str, mark: &'static str) -> State {
    by(name, place, &[], mark)
}

/// A state reached by user actions.
const fn by(
    name: &'static str,
    place: &'static str,
    steps: &'static [Step],
    mark: &'static str,
) -> State {
    State {
        name,
        place,
        steps,
        mark,
    }
}

/// Opens something and visits all of its states, in one theme. What is not on this machine is skipped. Finally checks
/// that nothing was fetched.
pub(crate) async fn visit(
    page: &mut Page,
    opened: Opened,
    theme: &str,
    mut look: impl AsyncFnMut(&Page, String),
) {
    if !opened.open(page, theme).await {
        return;
    }
    let word = opened.word();
    if opened == Opened::Nothing {
        look(page, format!("{word}-start")).await;
        page.drop_file("broken.json", "no JSON at all").await;
        page.find("#error").await;
        look(page, format!("{word}-error")).await;
    }
    let has_views = matches!(opened, Opened::Sample | Opened::Real);
    let views = VIEWS.iter().filter(|_| has_views);
    let views = views.map(|(view, mark)| at(view, view, mark));
    for state in views.collect::<Vec<_>>().iter().chain(opened.states()) {
        reach(page, state, theme).await;
        look(page, format!("{word}-{}", state.name)).await;
        tidy(page).await;
    }
    assert_eq!(page.requests_after_load(), []);
}

/// Goes to a state like a user.
async fn reach(page: &Page, state: &State, theme: &str) {
    let more = if state.place.contains('?') { '&' } else { '?' };
    page.go(&format!("#/{}{more}theme={theme}", state.place))
        .await;
    let view = state.place.split('?').next().unwrap_or_default();
    page.find(&format!("main[data-view={view}]")).await;
    for step in state.steps {
        match step {
            Step::Click(css) => {
                // Also clicks what a narrow window scrolls out of view.
                page.act(&format!("$(`{css}`).click()")).await;
            }
            Step::Choose(css, says) => {
                page.choose_option(css, says).await;
            }
            Step::Command(letter) => {
                page.enter("body", Key::Control + *letter).await;
            }
            Step::DropBroken => page.drop_reference("broken.json", "no JSON at all").await,
            Step::Send => {
                page.js(SEND).await;
            }
            Step::DropBrokenInstead => page.drop_file("broken.json", "no JSON at all").await,
        }
    }
    page.find(state.mark).await;
    // Rows come from the worker.
    page.wait_for("!$('.coming')").await;
}

/// Closes what covers or changes the views.
async fn tidy(page: &Page) {
    page.js("$('dialog[open]')?.close();
         $('.menu[open] > summary')?.click();
         $('#whole-trace')?.click();
         $(':is(#reference-error, #open-error) ~ [aria-label=Close]')?.click();
         if ($('.panel')) $('#thresholds-button').click();")
        .await;
    page.wait_for(
        "!$('dialog[open], .menu[open], #window, #reference-error, #open-error, .panel')",
    )
    .await;
}
