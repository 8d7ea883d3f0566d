//! Which lanes are folded, hidden, pinned to the top, or shown with the stack that all calls share.

use std::collections::BTreeSet;

use dormer_core::base::sort::Arrange;

use crate::page::components::table_tools::menu;
use crate::page::prelude::*;
use crate::page::url::Place;
use crate::protocol::LaneLine;

use super::model::Model;

/// Fewer rows than this are not worth folding.
const STACK_FROM: usize = 3;

/// The user's changes to the lanes, by lane position.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tracks {
    /// The letter of the change, and the lane.
    done: BTreeSet<(char, usize)>,
}

pub(super) const FOLDED: char = 'f';
pub(super) const HIDDEN: char = 'h';
pub(super) const PINNED: char = 'p';
/// The rows of the common stack are shown.
pub(super) const WHOLE: char = 's';

impl Tracks {
    /// Parses the format in the URL: `f0.h3`.
    pub(super) fn parse(text: &str) -> Tracks {
        let one = |word: &str| {
            let mut letters = word.chars();
            let letter = letters.next()?;
            let is_known = [FOLDED, HIDDEN, PINNED, WHOLE].contains(&letter);
            let lane = letters.as_str().parse().ok()?;
            is_known.then_some((letter, lane))
        };
        Tracks {
            done: text.split('.').filter_map(one).collect(),
        }
    }

    pub(super) fn text(&self) -> String {
        let words = self
            .done
            .iter()
            .map(|(letter, lane)| format!("{letter}{lane}"));
        words.collect::<Vec<String>>().join(".")
    }

    pub(super) fn is(&self, done: char, lane: usize) -> bool {
        self.done.contains(&(done, lane))
    }

    pub(super) fn turn(&mut self, done: char, lane: usize, on: bool) {
        match on {
            true => self.done.insert((done, lane)),
            false => self.done.remove(&(done, lane)),
        };
    }

    pub(super) fn is_folded(&self, lane: usize) -> bool {
        self.is(FOLDED, lane)
    }

    /// The number of a lane's rows in the common stack, if the stack is folded.
    pub(super) fn folded_rows(&self, at: usize, lane: &LaneLine) -> usize {
        match lane.stack >= STACK_FROM && !self.is(WHOLE, at) {
            true => lane.stack,
            false => 0,
        }
    }

    /// The visible lanes, from top to bottom.
    pub(super) fn order(&self, lanes: &[LaneLine], filter: &str) -> Vec<usize> {
        let filter = filter.trim().to_lowercase();
        let is_shown = |at: &usize| {
            let named = lanes.get(*at).is_some_and(|lane| {
                let name = format!("{} {} {}", lane.title, lane.note, lane.trace).to_lowercase();
                name.contains(&filter)
            });
            named && !self.is(HIDDEN, *at)
        };
        let shown: Vec<usize> = (0..lanes.len()).filter(is_shown).collect();
        let (mut pinned, others): (Vec<usize>, Vec<usize>) =
            shown.into_iter().partition(|at| self.is(PINNED, *at));
        pinned.extend(others);
        pinned
    }
}

impl Model {
    /// Applies or reverts a change to a lane: folded, hidden or pinned.
    pub(super) fn turn(self, done: char, lane: usize, on: bool) {
        let mut tracks = self.tracks.get_untracked();
        tracks.turn(done, lane, on);
        self.state.look_at(|focus| focus.tracks = tracks.text());
    }

    /// Makes a row visible if it is folded or hidden.
    pub(super) fn unfold(self, row: usize) {
        if self
            .layout
            .with_untracked(|layout| layout.top(row).is_some())
        {
            return;
        }
        let lane = self.outline.with_untracked(|outline| {
            let mut lanes = outline.lanes.iter();
            lanes.position(|lane| (lane.first_row..lane.first_row + lane.rows).contains(&row))
        });
        let Some(lane) = lane else { return };
        self.filter.set(String::new());
        let mut tracks = self.tracks.get_untracked();
        tracks.turn(FOLDED, lane, false);
        tracks.turn(HIDDEN, lane, false);
        let is_still_folded = self.outline.with_untracked(|outline| {
            let of = outline.lanes.get(lane);
            of.is_some_and(|of| row < of.first_row + tracks.folded_rows(lane, of))
        });
        if is_still_folded {
            tracks.turn(WHOLE, lane, true);
        }
        self.state.look_at(|focus| focus.tracks = tracks.text());
    }
}

/// The titles of the lanes, above the canvas: a click folds a lane.
pub(super) fn titles(model: Model) -> impl IntoView {
    let titles = move || {
        let tops = model.layout.with(|layout| layout.titles.clone());
        let lanes = model.outline.with(|outline| outline.lanes.clone());
        let tracks = model.tracks.get();
        let title = |(at, top): (usize, f64)| {
            let lane = lanes.get(at)?.clone();
            let is_folded = tracks.is_folded(at);
            let is_whole = tracks.is(WHOLE, at);
            let most = lane.counter.as_ref().map(|counter| {
                view! { <span class="soft">{format!("up to {}", counter.most_text)}</span> }
            });
            let stack = (lane.stack >= STACK_FROM && !is_folded).then(|| {
                let n = format::counted(lane.stack as u64, "common call");
                let text = if is_whole { format!("Fold {n}") } else { format!("Show {n}") };
                view! {
                    <button type="button" class="small ghost" on:click=move |_| model.turn(WHOLE, at, !is_whole)>{text}</button>
                }
            });
            let mark = if is_folded { "fold" } else { "fold open" };
            Some(view! {
                // Presses and keys on its buttons must not reach the lanes.
                <h2
                    class="lane"
                    style:top=format!("{top}px")
                    on:pointerdown=|event| event.stop_propagation()
                    on:keydown=|event| event.stop_propagation()
                >
                    <button
                        type="button"
                        class="small ghost title"
                        aria-expanded=(!is_folded).to_string()
                        id=format!("lane-{at}")
                        on:click=move |_| {
                            model.turn(FOLDED, at, !is_folded);
                            // The titles are redrawn: the keyboard focus stays where it was.
                            browser::after_paint(move || browser::focus_on(&format!("lane-{at}")));
                        }
                    >
                        <i class=mark aria-hidden="true"></i>
                        {lane.title} {trace_name(lane.trace)} <span class="soft">{lane.note}</span>
                    </button>
                    {most} {stack}
                </h2>
            })
        };
        tops.into_iter().filter_map(title).collect_view()
    };
    view! { {titles} }
}

/// The name of the trace of a lane or of an event, while two traces are shown.
pub(super) fn trace_name(trace: String) -> impl IntoView {
    (!trace.is_empty()).then(|| view! { <span class="trace-name">{trace}</span> })
}

/// The menu of all lanes: which are shown and pinned, and a filter by name.
pub(super) fn track_menu(model: Model) -> impl IntoView {
    let rows = move || {
        let lanes = model.outline.with(|outline| outline.lanes.clone());
        let row = |(at, lane): (usize, LaneLine)| {
            let is = move |done: char| model.tracks.with(|tracks| tracks.is(done, at));
            let name = [lane.title, lane.note, lane.trace].join(" ");
            let pin = format!("Pin {name} to the top");
            view! {
                <li>
                    <label>
                        <input
                            type="checkbox"
                            prop:checked=move || !is(HIDDEN)
                            on:change=move |_| model.turn(HIDDEN, at, !untrack(|| is(HIDDEN)))
                        />
                        {name}
                    </label>
                    <button
                        type="button"
                        class="small ghost"
                        aria-label=pin
                        aria-pressed=move || is(PINNED).to_string()
                        on:click=move |_| model.turn(PINNED, at, !untrack(|| is(PINNED)))
                    >
                        "Pin"
                    </button>
                </li>
            }
        };
        lanes.into_iter().enumerate().map(row).collect_view()
    };
    let n_hidden = move || {
        let all = model.outline.with(|outline| outline.lanes.len());
        let shown = model.layout.with(|layout| layout.titles.len());
        match all.saturating_sub(shown) {
            0 => String::new(),
            n => format!("{n} hidden"),
        }
    };
    let inside = view! {
            <fieldset>
                <legend class="unseen">"Tracks"</legend>
                <input
                    type="search"
                    id="track-filter"
                    placeholder="Filter tracks by name"
                    aria-label="Filter tracks by name"
                    prop:value=move || model.filter.get()
                    on:input=move |event| model.filter.set(event_target_value(&event))
                />
                <ul>{rows}</ul>
                <button type="button" class="small" on:click=move |_| {
                    model.filter.set(String::new());
                    model.state.look_at(|focus| focus.tracks = String::new());
                }>"Show all tracks"</button>
            </fieldset>
    };
    let summary = view! { "Tracks " <small>{n_hidden}</small> };
    view! { <div class="tracks" id="tracks">{menu("tracks-menu", summary, inside)}</div> }
}

/// A kept range, with the user's note.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kept {
    pub(super) from_ns: f64,
    pub(super) to_ns: f64,
    pub(super) note: String,
}

impl Model {
    /// Adds the marked range to the kept ranges in the link, or removes one.
    pub(super) fn keep(self, range: (f64, f64), note: &str, on: bool) {
        let span = (range.0.round() as u64, range.1.round() as u64);
        let note = note.trim().to_owned();
        self.state.look_at(|focus| {
            focus.kept.retain(|(known, _)| *known != span);
            if on {
                focus.kept.push((span, note));
                focus.kept.arrange_by_key(|(span, _)| *span);
            }
        });
    }

    /// Shows a kept range and marks it.
    pub(super) fn show_kept(self, kept: &Kept) {
        self.range.set(Some((kept.from_ns, kept.to_ns)));
        self.go_around((kept.from_ns, kept.to_ns));
        self.remember();
    }
}

/// The kept ranges, each with a link.
pub(super) fn kept_ranges(model: Model) -> impl IntoView {
    let one = move |kept: Kept| {
        let length = format::time_ns((kept.to_ns - kept.from_ns) as i64);
        let name = match kept.note.is_empty() {
            true => length.clone(),
            false => format!("{}, {length}", kept.note),
        };
        let remove = format!("Remove {name}");
        let range = (kept.from_ns, kept.to_ns);
        view! {
            <li>
                <button type="button" class="small" on:click=move |_| model.show_kept(&kept)>{name}</button>
                <button type="button" class="small ghost" aria-label=remove on:click=move |_| model.keep(range, "", false)>"×"</button>
            </li>
        }
    };
    let state = model.state;
    let link = move || browser::url_with(&state.place.with_untracked(Place::hash));
    move || {
        let kept = model.kept.get();
        (!kept.is_empty()).then(|| {
            let copy = copy_made(link, "Copy link", move || state.link_was_copied());
            view! {
                <ul class="kept" aria-label="Saved ranges" data-testid="kept-ranges">
                    {each(kept, one)} <li id="copy-link">{copy}</li>
                </ul>
            }
        })
    }
}
