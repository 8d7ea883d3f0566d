//! Encodes what is shown in the URL's hash, and decodes it.
//!
//! `#/operations?find=bmm&sort=-Count&row=3&gpu=NVIDIA%20H100&events=all&theme=dark&t.short_kernel_us=5`: the view,
//! what it shows, what the user chose for the whole page, and the name of the trace's file. It contains nothing of the
//! trace except what the user typed or selected. `#/?url=traces/rank0.json.gz` says where the page fetches the trace;
//! several addresses are several traces.

mod hash;

use crate::page::fleet::VIEW as FLEET;
use crate::page::ranks::VIEW as JOB;
use crate::page::runs::VIEW as RUNS;
use crate::protocol::{Align, Choice, Sort};
pub use hash::{PLAIN, parse_threshold};

/// Where the user is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Place {
    /// The view's slug; empty for the first one.
    pub view: String,
    /// The focus of the view.
    pub focus: Focus,
    /// GPU, time range, population of GPU events, thresholds.
    pub choice: Choice,
    /// The color theme.
    pub theme: Theme,
    /// The addresses from which the open files are fetched, as in the link.
    pub urls: Vec<String>,
    /// The name of the trace's file, so that a link says which trace it refers to; may be empty.
    pub file: String,
}

impl Place {
    /// Whether a job, a fleet or a list of runs is shown, not a trace.
    pub fn is_of_many(&self) -> bool {
        [JOB, FLEET, RUNS].contains(&self.view.as_str())
    }
}

/// A range of the timeline, in nanoseconds since the first event, and the user's note on it.
pub type KeptRange = ((u64, u64), String);

/// What one view shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Focus {
    /// The filter of a table, the search text of the tree.
    pub find: String,
    /// The sort order of a table; `None` for its default.
    pub sort: Option<Sort>,
    /// The selected row of a table, or node of the tree.
    pub row: Option<u32>,
    /// The step of a job, by position.
    pub step: Option<u32>,
    /// The node of the tree that is the root of the flame graph; `None` for all.
    pub top: Option<u32>,
    /// The event to find in the tree: `N` of `dormer tree --uid N`.
    pub event: Option<u32>,
    /// The time range of the timeline, in nanoseconds since the first event.
    pub span: Option<(u64, u64)>,
    /// The user's changes to the timeline's lanes, in the format of the view's `tracks`.
    pub tracks: String,
    /// Kept ranges of the timeline, each with a note.
    pub kept: Vec<KeptRange>,
    /// If set, the reference's timeline is shown below the target's, aligned this way.
    pub below: Option<Align>,
    /// Which table or document the view shows; empty for the first.
    pub table: String,
    /// Whether the tree also has rows for calls without GPU time.
    pub all_rows: bool,
    /// The slug of the heading at which a document starts.
    pub section: String,
    /// The color tokens of the shown categories; empty for all.
    pub only: Vec<String>,
    /// The column by which the rows of a table are grouped; empty for none.
    pub group: String,
    /// What the details panel shows, other than the selected row of a table.
    pub details: Option<DetailsOf>,
}

/// The section of a [`Focus`] that shows the idle time before its event.
pub const GAP: &str = "gap";

impl Focus {
    fn with(change: impl FnOnce(&mut Focus)) -> Focus {
        let mut focus = Focus::default();
        change(&mut focus);
        focus
    }

    /// Shows an event.
    pub fn at_event(uid: u32) -> Focus {
        Focus::with(|focus| focus.event = Some(uid))
    }

    /// Shows the GPU idle gap that an event ends.
    pub fn at_gap(uid: u32) -> Focus {
        Focus::with(|focus| {
            focus.event = Some(uid);
            focus.section = GAP.to_owned();
        })
    }

    /// Selects a row.
    pub fn at_row(row: u32) -> Focus {
        Focus::with(|focus| focus.row = Some(row))
    }

    /// Searches for a text.
    pub fn finding(text: String) -> Focus {
        Focus::with(|focus| focus.find = text)
    }

    /// Starts a document at a heading.
    pub fn at_section(slug: String) -> Focus {
        Focus::with(|focus| focus.section = slug)
    }

    /// Shows only one category, by its color token.
    pub fn of_category(token: String) -> Focus {
        Focus::with(|focus| focus.only = vec![token])
    }

    /// Shows one of the tables.
    pub fn at_table(table: &str) -> Focus {
        Focus::with(|focus| focus.table = table.to_owned())
    }

    /// The same without what the user typed and what may contain names from the trace.
    pub fn without_words(self) -> Focus {
        Focus {
            find: String::new(),
            section: String::new(),
            kept: self
                .kept
                .into_iter()
                .map(|(span, _)| (span, String::new()))
                .collect(),
            ..self
        }
    }

    /// Shows a category, or hides it again.
    pub fn toggle(&mut self, token: String) {
        toggle(&mut self.only, token);
    }
}

/// Adds an item to a list, or removes it if it is there.
pub fn toggle<T: PartialEq>(list: &mut Vec<T>, one: T) {
    match list.iter().position(|known| *known == one) {
        Some(at) => drop(list.remove(at)),
        None => list.push(one),
    }
}

/// What the details panel shows if no row of a table is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetailsOf {
    /// An operation: its row in the sheet of operations.
    Operation(u32),
    /// An operator with all its arguments: its row in the sheet of operators.
    Operator(u32),
    /// The operation that an event belongs to.
    Event(u32),
}

impl DetailsOf {
    pub(super) fn word(self) -> String {
        match self {
            DetailsOf::Operation(row) => format!("operation-{row}"),
            DetailsOf::Operator(row) => format!("operator-{row}"),
            DetailsOf::Event(uid) => format!("event-{uid}"),
        }
    }

    pub(super) fn parse(word: &str) -> Option<DetailsOf> {
        let (kind, number) = word.split_once('-')?;
        let number = number.parse().ok()?;
        match kind {
            "operation" => Some(DetailsOf::Operation(number)),
            "operator" => Some(DetailsOf::Operator(number)),
            "event" => Some(DetailsOf::Event(number)),
            _ => None,
        }
    }
}

/// Light or dark.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

impl Theme {
    /// In the order in which the theme button cycles.
    const ALL: [Theme; 3] = [Theme::System, Theme::Light, Theme::Dark];

    /// The name in the hash and on the page's root element.
    pub fn word(self) -> &'static str {
        match self {
            Theme::System => "system",
            Theme::Light => "light",
            Theme::Dark => "dark",
        }
    }

    pub(super) fn parse(word: &str) -> Theme {
        let named = Theme::ALL.into_iter().find(|theme| theme.word() == word);
        named.unwrap_or_default()
    }

    /// The next theme in the cycle.
    pub fn next(self) -> Theme {
        Theme::ALL[(self as usize + 1) % Theme::ALL.len()]
    }
}
