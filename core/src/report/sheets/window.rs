//! Sheet `window`: which part of the trace all other sheets cover. It is left out if they cover the whole trace.

use super::SheetInput;
use crate::base::interval::Interval;
use crate::profile::Profile;
use crate::profile::window::{WindowOf, recorded_span};
use crate::report::ReportOptions;
use crate::report::columns::ms;
use crate::report::overview::recorded_on;
use crate::report::sheet::{Cell, Column, Unit, column};

/// The name of the sheet, for one trace and for two.
pub(crate) const NAME: &str = "window";

#[rustfmt::skip]
pub(crate) const COLUMNS: [Column; 9] = [
    column("analyzed", Unit::Text, "What is analyzed alone: a step by its name, a GPU by its number, or a range of time."),
    column("start ms", Unit::Ms, "When it begins, after the first event of the trace starts."),
    column("end ms", Unit::Ms, "When it ends, after the first event of the trace starts."),
    column("length ms", Unit::Ms, "How long it is."),
    column("counted start ms", Unit::Ms, "When the time begins that totals and shares are of: later than the window where earlier work runs into it."),
    column("counted end ms", Unit::Ms, "When that time ends: later than the window where work that starts in it runs on."),
    column("trace length ms", Unit::Ms, "From the first event of the trace to the end of its last."),
    column("recorded on", Unit::Text, "The GPU as the trace names it."),
    column("judged by", Unit::Text, "The GPU whose roofline operations are compared with."),
];

pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let window = input.profile.window.iter();
    window.map(|_| row(input.profile, input.options)).collect()
}

/// The analyzed part of a trace, or all of it: the cells under [`COLUMNS`].
pub(crate) fn row(profile: &Profile, options: &ReportOptions) -> Vec<Cell> {
    let part = profile.window.as_ref();
    let recorded = match part {
        Some(of) => Some(of.recorded),
        None => recorded_span(&profile.trace),
    };
    let analyzed = part.map(|of| of.window.span).or(recorded);
    let counted = part.map(|of| of.gpu);
    let since_start = |span: Option<Interval>| match span.zip(recorded) {
        Some((Interval { start_ns, end_ns }, recorded)) => {
            [start_ns, end_ns].map(|ns| ms(ns.saturating_sub(recorded.start_ns)))
        }
        None => [Cell::Empty, Cell::Empty],
    };
    let length = |span: Option<Interval>| span.map_or(Cell::Empty, |span| ms(span.length()));
    let text = |text: Option<String>| text.map_or(Cell::Empty, Cell::Text);
    let [start, end] = since_start(analyzed);
    let [counted_start, counted_end] = since_start(counted);
    let is_run = |of: &&WindowOf| of.window.run.is_some_and(|run| run.first.is_some());
    let name = match part.map(|of| (of, of.window.step.as_deref())) {
        Some((_, Some(step))) => step.to_owned(),
        Some((of, None)) if is_run(&of) || of.window.device.is_some() => of.name(),
        Some((_, None)) => "a range of time".to_owned(),
        None => "the whole trace".to_owned(),
    };
    vec![
        Cell::Text(name),
        start,
        end,
        length(analyzed),
        counted_start,
        counted_end,
        length(recorded),
        text(recorded_on(profile)),
        text(options.gpu.as_ref().map(|gpu| gpu.name.to_string())),
    ]
}
