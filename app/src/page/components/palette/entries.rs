//! The entries of the palette: what can be found, and what choosing it does.

use dormer_core::assess::Thresholds;
use dormer_core::output::markup::slug;

use crate::page::components::offline::{KEEP, SITES};
use crate::page::engine::TraceSource;
use crate::page::prelude::*;
use crate::page::state::{Shown, Stage};
use crate::page::url::Theme;
use crate::page::views::{VIEWS, export};
use crate::protocol::{About, ArtifactLine, ArtifactQuery, Found, FoundKind, Offer, fuzzy};

/// The file extensions of exported files.
const ENDINGS: &[&str] = &["csv", "html", "json", "md", "xlsx", "zip"];

/// The most entries for views, GPUs, files and actions together.
const MOST: usize = 40;

/// The action of an entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Act {
    /// Goes to a hash.
    Go(String),
    /// Goes to a hash, and moves the focus to the details there.
    GoToDetails(String),
    /// Selects a GPU.
    Gpu(String),
    /// Analyzes a time range; `None` for the whole trace.
    Analyze(Option<(u64, u64)>),
    /// Analyzes only one GPU, by its number.
    AnalyzeGpu(String),
    /// Generates a file and downloads it under a name.
    Download(ArtifactQuery, String),
    OpenFile,
    OpenSample,
    CompareWith,
    Swap,
    CloseReference,
    Theme(Theme),
    Keys,
    /// Shows the panel of thresholds.
    Thresholds,
    /// Shows one threshold, by its key.
    Threshold(&'static str),
    Models,
    Recent,
    /// Shows the dialog about the offline copy and trusted sites.
    Offline,
    /// Uses theoretical peaks, or achievable figures.
    Peak(bool),
    OpenFolder,
}

impl Act {
    /// Whether it only changes the page's appearance or behavior, not what is open.
    fn is_setting(&self) -> bool {
        matches!(
            self,
            Act::Theme(_)
                | Act::Keys
                | Act::Thresholds
                | Act::Models
                | Act::Recent
                | Act::Offline
                | Act::Peak(_)
        )
    }
}

/// A line of the list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// Its kind, in a word.
    pub(super) kind: &'static str,
    /// The color token of an operation's category; empty for other entries.
    pub(super) token: String,
    pub(super) text: String,
    /// The note beside it.
    pub(super) note: String,
    pub(super) act: Act,
}

impl Entry {
    fn new(kind: &'static str, text: &str, act: Act) -> Entry {
        Entry {
            kind,
            token: String::new(),
            text: text.to_owned(),
            note: String::new(),
            act,
        }
    }
}

/// The entries that match the text: views, GPUs and actions by how well they match, then operations and files.
pub(super) fn entries(
    state: AppState,
    text: &str,
    files: Vec<Entry>,
    in_trace: &[Found],
) -> Vec<Entry> {
    let is_typed = !text.trim().is_empty();
    let all = of_page(state, is_typed);
    let best = |entries: Vec<Entry>| {
        let scored = entries.into_iter().filter_map(|entry| {
            let score = fuzzy::score(text, &format!("{} {}", entry.text, entry.kind))?;
            Some((score, entry))
        });
        fuzzy::best(scored, MOST)
    };
    // Entries that contain the text as a whole come first. Those with only its letters come after the results from the
    // trace, or not at all if an entry of the page has the whole text.
    let is_strong = |entry: &Entry| {
        let score = fuzzy::score(
            text,
            &format!("{} {} {}", entry.text, entry.kind, entry.note),
        );
        score.is_some_and(|score| fuzzy::is_strong(text, score))
    };
    let (all, mut weak): (Vec<Entry>, Vec<Entry>) = all.into_iter().partition(is_strong);
    let mut found = best(all);
    let mut of_trace: Vec<Entry> = in_trace.iter().map(|one| of_trace(state, one)).collect();
    if !found.is_empty() && is_typed {
        of_trace.retain(is_strong);
        weak.clear();
    }
    let (files, thresholds) = match is_typed {
        true => (best(files), best(thresholds(state))),
        false => (Vec::new(), Vec::new()),
    };
    // A text with a file extension is a search for a file.
    let is_file = text.split([' ', '.']).any(|word| ENDINGS.contains(&word));
    found.extend(match is_file {
        true => [files, of_trace, best(weak), thresholds].concat(),
        false => [of_trace, best(weak), thresholds, files].concat(),
    });
    found
}

/// Views, actions, GPUs and steps.
fn of_page(state: AppState, is_typed: bool) -> Vec<Entry> {
    let Stage::Open(opened) = state.stage.get() else {
        return actions(state);
    };
    let views = VIEWS.iter();
    let views = views.map(|view| Entry::new("View", view.title, Act::Go(state.link_to(view.slug))));
    let mut all: Vec<Entry> = views.collect();
    all.extend(actions(state));
    // With nothing typed, they would be most of the list.
    if is_typed {
        let gpus = opened.gpus.iter();
        all.extend(gpus.map(|name| Entry::new("GPU", name, Act::Gpu(name.clone()))));
        all.extend(opened.steps.iter().map(|step| Entry {
            note: step.window_length.clone(),
            ..Entry::new(
                "Step",
                &format!("Analyze {}", step.name),
                Act::Analyze(Some(step.window)),
            )
        }));
        all.extend(opened.gpus_alone.iter().map(|gpu| Entry {
            note: gpu.length.clone(),
            ..Entry::new(
                "GPU",
                &format!("Analyze {} alone", gpu.name),
                Act::AnalyzeGpu(gpu.device.clone()),
            )
        }));
    }
    all
}

/// A result from the trace, and the link to it.
fn of_trace(state: AppState, one: &Found) -> Entry {
    let (kind, act) = match &one.kind {
        FoundKind::Finding(heading) => {
            let focus = Focus::at_section(slug(heading));
            ("Finding", Act::Go(state.link_into("report", focus)))
        }
        FoundKind::Category(token) => {
            let focus = Focus::of_category(token.clone());
            ("Category", Act::Go(state.link_into("operations", focus)))
        }
        FoundKind::Module(class) => {
            let focus = Focus::finding(format!("module:\"{class}\""));
            ("Module", Act::Go(state.link_into("operations", focus)))
        }
        FoundKind::Operation(row) => {
            let focus = Focus::at_row(*row);
            (
                "Operation",
                Act::GoToDetails(state.link_into("operations", focus)),
            )
        }
        FoundKind::Kernel(row) => {
            let focus = Focus::at_row(*row);
            (
                "Kernel",
                Act::GoToDetails(state.link_into("kernels", focus)),
            )
        }
    };
    Entry {
        kind,
        token: one.token.clone(),
        text: one.name.clone(),
        note: one.note.clone(),
        act,
    }
}

/// The thresholds that can be changed.
fn thresholds(state: AppState) -> Vec<Entry> {
    if !state.is_open() {
        return Vec::new();
    }
    let all = Thresholds::ALL.iter().map(|threshold| Entry {
        note: threshold.group.to_owned(),
        ..Entry::new("Threshold", threshold.doc, Act::Threshold(threshold.key))
    });
    all.collect()
}

/// Every file that the Export view offers, archives of all files first.
pub(super) fn downloads(state: AppState, offers: &[Offer]) -> Vec<Entry> {
    let entry = |about, path: Option<&str>, name: String, title: &str| {
        let saved = match path {
            Some(_) => export::saved_name(state, about, false, &name),
            None => name.clone(),
        };
        let query = ArtifactQuery::new(about, path, false);
        Entry {
            note: match about {
                About::Target => title.to_owned(),
                About::Comparison => format!("{title} (comparison)"),
            },
            ..Entry::new("Export", &name.clone(), Act::Download(query, saved))
        }
    };
    let archives = offers.iter().map(|offer| {
        let name = export::archive_name(state, offer.about);
        entry(offer.about, None, name, "All files")
    });
    let groups = offers.iter().flat_map(|offer| &offer.groups);
    let lines = groups
        .flat_map(|group| &group.kinds)
        .flat_map(|kind| &kind.lines);
    let lines = lines.map(|line: &ArtifactLine| {
        let name = line.path.rsplit('/').next().unwrap_or(&line.path);
        entry(line.about, Some(&line.path), name.to_owned(), &line.title)
    });
    archives.chain(lines).collect()
}

/// The currently available actions.
fn actions(state: AppState) -> Vec<Entry> {
    let is_open = state.is_open();
    let has_reference = state.reference.with(Stage::is_open);
    let has_window = state
        .overview
        .with(|overview| is_open && overview.window.is_some());
    let can_be_stored = browser::can_be_stored();
    let copy = state.offline.get();
    let (is_stored, has_newer) = (copy.kept.is_some(), copy.newer.is_some());
    #[rustfmt::skip]
    let rows = [
        (true, "Open a file\u{2026}", Act::OpenFile),
        (true, "Open the sample", Act::OpenSample),
        (is_open, "Compare with\u{2026}", Act::CompareWith),
        (has_window, "Analyze the whole trace", Act::Analyze(None)),
        (has_reference, "Swap target and reference", Act::Swap),
        (has_reference, "Close the reference", Act::CloseReference),
        (true, "Colors: light", Act::Theme(Theme::Light)),
        (true, "Colors: dark", Act::Theme(Theme::Dark)),
        (true, "Colors: system", Act::Theme(Theme::System)),
        (true, "Keyboard shortcuts", Act::Keys),
        (true, "Choose a folder of traces\u{2026}", Act::OpenFolder),
        (true, "Recent traces", Act::Recent),
        (state.has_runs(), "Back to the runs", Act::Go("#/runs".to_owned())),
        (can_be_stored && !is_stored, KEEP, Act::Offline),
        (is_stored && !has_newer, "Offline copy: look for a newer one\u{2026}", Act::Offline),
        (has_newer, "Offline copy: replace it with the newer build\u{2026}", Act::Offline),
        (is_stored, "Offline copy: delete it\u{2026}", Act::Offline),
        (true, SITES, Act::Offline),
        (is_open, "Thresholds", Act::Thresholds),
        (is_open, "Custom perf models", Act::Models),
        (is_open, "Roofline peaks: achievable", Act::Peak(false)),
        (is_open, "Roofline peaks: data sheet (peak)", Act::Peak(true)),
    ];
    let possible = rows.into_iter().filter(|(is_possible, ..)| *is_possible);
    let entry = |(_, text, act): (bool, &str, Act)| {
        let kind = match act.is_setting() {
            true => "Setting",
            false => "Action",
        };
        Entry::new(kind, text, act)
    };
    possible.map(entry).collect()
}

pub(super) fn act(state: AppState, engine: Engine, act: Act) {
    match act {
        Act::Go(hash) => browser::go_to_hash(&hash),
        Act::GoToDetails(hash) => {
            state.enters_details.set(true);
            browser::go_to_hash(&hash);
        }
        Act::Gpu(name) => state.go(|place| place.choice.gpu = Some(name)),
        Act::Analyze(window) => state.analyze(window),
        Act::AnalyzeGpu(device) => state.analyze_gpu(device),
        Act::Download(query, name) => export::download(engine, query, name, |_| {}),
        Act::OpenFile => browser::choose_file(),
        Act::OpenSample => engine.open(TraceSource::Sample),
        Act::CompareWith => browser::choose_reference(),
        Act::Swap => engine.swap(),
        Act::CloseReference => engine.close_reference(),
        Act::Theme(theme) => state.go(|place| place.theme = theme),
        Act::Keys => state.dialog.set(Some(Shown::Keys)),
        Act::Thresholds => {
            state.thresholds.set(true);
            browser::after_paint(|| browser::focus_on("thresholds"));
        }
        Act::Threshold(key) => {
            state.thresholds.set(true);
            browser::after_paint(move || browser::reveal(&format!("threshold-{key}")));
        }
        Act::Models => state.dialog.set(Some(Shown::Models)),
        Act::Recent => state.dialog.set(Some(Shown::Recent)),
        Act::Offline => state.dialog.set(Some(Shown::Offline)),
        Act::Peak(peak) => state.go(|place| place.choice.peak = peak),
        Act::OpenFolder => browser::choose_folder(),
    }
}
