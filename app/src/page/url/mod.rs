//! What is shown, to the URL's hash and back.
//!
//! `#/operations?find=bmm&sort=-Count&row=3&gpu=NVIDIA%20H100&events=all&theme=dark&t.short_kernel_us=5`:
//! the view, what it shows, what the user chose for the whole page, and the name of the trace's file.
//! Never anything of the trace but what the user typed or picked. `#/?url=traces/rank0.json.gz` says where the page
//! finds the trace itself; several are several traces.

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
    /// What the view shows.
    pub focus: Focus,
    /// GPU, part of the time, population of GPU events, thresholds.
    pub choice: Choice,
    /// Colors.
    pub theme: Theme,
    /// Where the files are fetched from that are open: addresses as the link has them.
    pub urls: Vec<String>,
    /// The name of the trace's file, so that a link says which one it is of; empty for none.
    pub file: String,
}

impl Place {
    /// A job, a fleet or a list of runs is shown, and no trace.
    pub fn is_of_many(&self) -> bool {
        [JOB, FLEET, RUNS].contains(&self.view.as_str())
    }
}

/// A range of the timeline, in nanoseconds since the first event, and what was noted about it.
pub type KeptRange = ((u64, u64), String);

/// What one view shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Focus {
    /// The filter of a table, the search text of the tree.
    pub find: String,
    /// The order of a table; `None` is the table's own.
    pub sort: Option<Sort>,
    /// The selected row of a table, or node of the tree.
    pub row: Option<u32>,
    /// The step of a job, by position.
    pub step: Option<u32>,
    /// The node of the tree that the blocks of a flame graph begin with; `None` for all of them.
    pub top: Option<u32>,
    /// The event to be found in the tree: `N` of `dormer tree --uid N`.
    pub event: Option<u32>,
    /// The part of the time that the timeline shows, in nanoseconds since the first event.
    pub span: Option<(u64, u64)>,
    /// What was done to the lanes of the timeline, as `tracks` of that view reads it.
    pub tracks: String,
    /// Ranges of the timeline that were kept, with a note each.
    pub kept: Vec<KeptRange>,
    /// The reference's timeline is shown below that of the target, aligned so.
    pub below: Option<Align>,
    /// Which of its tables or documents the view shows; empty for the first.
    pub table: String,
    /// Calls without GPU time are rows of the tree, too.
    pub all_rows: bool,
    /// The heading of a document to start at, by its slug.
    pub section: String,
    /// The color tokens of the categories that are shown; empty for all.
    pub only: Vec<String>,
    /// What the rows of a table are taken together by; empty for nothing.
    pub group: String,
    /// What the details panel shows. In a table it is the selected row.
    pub details: Option<DetailsOf>,
}

/// The section of a [`Focus`] that looks for the idle time before its event.
pub const GAP: &str = "gap";

impl Focus {
    fn with(change: impl FnOnce(&mut Focus)) -> Focus {
        let mut focus = Focus::default();
        change(&mut focus);
        focus
    }

    /// An event is looked for.
    pub fn at_event(uid: u32) -> Focus {
        Focus::with(|focus| focus.event = Some(uid))
    }

    /// The GPU's idle time that an event ends is looked for.
    pub fn at_gap(uid: u32) -> Focus {
        Focus::with(|focus| {
            focus.event = Some(uid);
            focus.section = GAP.to_owned();
        })
    }

    /// A row is selected.
    pub fn at_row(row: u32) -> Focus {
        Focus::with(|focus| focus.row = Some(row))
    }

    /// A text is searched for.
    pub fn finding(text: String) -> Focus {
        Focus::with(|focus| focus.find = text)
    }

    /// A document starts at a heading.
    pub fn at_section(slug: String) -> Focus {
        Focus::with(|focus| focus.section = slug)
    }

    /// One category alone is shown, by its color token.
    pub fn of_category(token: String) -> Focus {
        Focus::with(|focus| focus.only = vec![token])
    }

    /// One of the tables is shown.
    pub fn at_table(table: &str) -> Focus {
        Focus::with(|focus| focus.table = table.to_owned())
    }

    /// The same without what the user typed, and what may be called after something of the trace.
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

    /// Shows a category too, or no longer.
    pub fn toggle(&mut self, token: String) {
        toggle(&mut self.only, token);
    }
}

/// Puts something on a list; what is on it already is taken off.
pub fn toggle<T: PartialEq>(list: &mut Vec<T>, one: T) {
    match list.iter().position(|known| *known == one) {
        Some(at) => drop(list.remove(at)),
        None => list.push(one),
    }
}

/// What the details panel shows where no row of a table is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetailsOf {
    /// Of an operation: its row in the sheet of operations.
    Operation(u32),
    /// Of an operator with all its arguments: its row in the sheet of operators.
    Operator(u32),
    /// Of what an event is part of.
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
    /// In the order in which the button goes through them.
    const ALL: [Theme; 3] = [Theme::System, Theme::Light, Theme::Dark];

    /// The word in the hash and on the page's root element.
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

    /// The one the button goes to next.
    pub fn next(self) -> Theme {
        Theme::ALL[(self as usize + 1) % Theme::ALL.len()]
    }
}
