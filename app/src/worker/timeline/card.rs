//! One event of the timeline, with everything recorded about it.

use std::ops::Range;

use dormer_core::base::format;
use dormer_core::base::interval::{Interval, busy};
use dormer_core::names::without_prefix;
use dormer_core::profile::launch::GpuId;
use dormer_core::report::details::{is_in_tree, launching_call};
use dormer_core::report::shapes::shapes_of;
use dormer_core::trace::{Category, EventId};

use super::{Timeline, hue};
use crate::protocol::{ArrowEnd, GlanceQuery, SpanCard, SpanQuery, Towards};

/// Kernels of one call that get an arrow.
const MAX_ARROWS: usize = 200;
/// Facts in the tooltip; the panel has all.
const AT_POINTER: usize = 4;
/// Letters of a name in the tooltip.
const NAME_CHARS: usize = 90;
/// Longer values, such as lists of a collective's ranks, are cut.
const VALUE_CHARS: usize = 240;

impl Timeline<'_> {
    /// The requested event.
    pub fn span(&mut self, query: &SpanQuery) -> Option<SpanCard> {
        let card = self.span_alone(query)?;
        let start_ns = self.absolute(card.from_ns);
        let gaps = self.gaps();
        let next = gaps.partition_point(|gap| gap.span.end_ns < start_ns);
        let gap = gaps.get(next).filter(|gap| gap.span.end_ns == start_ns);
        let gap_start_ns = gap.map(|gap| gap.span.start_ns);
        Some(SpanCard {
            gap_from_ns: gap_start_ns.map(|ns| self.since_start(ns)),
            ..card
        })
    }

    fn span_alone(&self, query: &SpanQuery) -> Option<SpanCard> {
        let trace = &self.source.profile.trace;
        let event = match *query {
            SpanQuery::At(place) => {
                let event = self.at(place)?;
                if let Some(card) = self.part_card(place.row, event) {
                    return Some(card);
                }
                event
            }
            SpanQuery::Event(uid) => trace.events.by_uid(uid)?,
            SpanQuery::Beside(_, uid, towards) => {
                self.neighbor(trace.events.by_uid(uid)?, towards)?
            }
        };
        self.card(event)
    }

    /// The short form for the tooltip, without arguments and arrows.
    pub fn glance(&self, query: &GlanceQuery) -> Option<SpanCard> {
        let trace = &self.source.profile.trace;
        let event = self.at(*query)?;
        if let Some(card) = self.part_card(query.row, event) {
            return Some(card);
        }
        let name = trace.strings.get(trace.events.name(event));
        let mut fields = self.main_fields(event);
        fields.truncate(AT_POINTER);
        Some(SpanCard {
            side: self.place.side,
            trace: self.place.trace.clone(),
            row: query.row,
            from_ns: self.since_start(trace.events.ts_ns(event)),
            to_ns: self.since_start(trace.events.end_ns(event)),
            name: format::middle_ellipsis(without_prefix(name), NAME_CHARS),
            fields,
            ..SpanCard::default()
        })
    }

    /// A time range that starts with an event: a step or a layer. `None` in any other row.
    fn part_card(&self, row: usize, event: EventId) -> Option<SpanCard> {
        let profile = self.source.profile;
        let (span, name) = self.row(row)?.part(event)?;
        let inside = profile.gpu.iter().map(|(_, work)| work.span);
        let inside: Vec<Interval> = inside.filter(|work| span.contains(work.start_ns)).collect();
        let events = format::counted(inside.len() as u64, "GPU event");
        let busy = busy(inside.into_iter().filter_map(|work| work.overlap(span)));
        let start_ns = span.start_ns.saturating_sub(self.open.lanes.span.start_ns);
        let fields = [
            ("Duration", format::time_ns(span.length())),
            ("Start", format::time_ns(start_ns)),
            ("GPU busy", format!("{} in {events}", format::time_ns(busy))),
        ];
        Some(SpanCard {
            side: self.place.side,
            trace: self.place.trace.clone(),
            uid: profile.trace.events.uid(event),
            row,
            from_ns: self.since_start(span.start_ns),
            to_ns: self.since_start(span.end_ns),
            name: name.to_owned(),
            kind: "part of the time on the GPU".to_owned(),
            token: "annotation".to_owned(),
            fields: fields
                .map(|(label, value)| (label.to_owned(), value))
                .to_vec(),
            in_tree: is_in_tree(self.source.analyzed, event),
            ..SpanCard::default()
        })
    }

    fn at(&self, place: GlanceQuery) -> Option<EventId> {
        let row = self.row(place.row)?;
        let (ns, within_ns) = (self.absolute(place.ns), place.within_ns as i64);
        row.at(&self.source.profile.trace, ns, within_ns)
    }

    /// The neighbor of an event.
    fn neighbor(&self, event: EventId, towards: Towards) -> Option<EventId> {
        let trace = &self.source.profile.trace;
        let number = self.row_of(event)?;
        let row = self.row(number)?;
        match towards {
            Towards::Before => row.event(row.position(trace, event)?.checked_sub(1)?),
            Towards::After => row.event(row.position(trace, event)? + 1),
            Towards::Above => self.nearest(self.row_numbers().start..number, towards, event),
            Towards::Below => self.nearest(number + 1..self.row_numbers().end, towards, event),
        }
    }

    /// The event nearest to the middle of another one, in the nearest nonempty row in that direction.
    fn nearest(&self, rows: Range<usize>, towards: Towards, of: EventId) -> Option<EventId> {
        self.nearest_to(rows, towards, self.middle_ns(of))
    }

    fn nearest_to(&self, rows: Range<usize>, towards: Towards, ns: i64) -> Option<EventId> {
        let trace = &self.source.profile.trace;
        let nearest = |number: usize| self.row(number)?.at(trace, ns, i64::MAX);
        match towards {
            Towards::Above => rows.rev().find_map(nearest),
            _ => rows.into_iter().find_map(nearest),
        }
    }

    fn middle_ns(&self, event: EventId) -> i64 {
        let events = &self.source.profile.trace.events;
        let half_ns = events.dur_ns(event).unwrap_or(0) / 2;
        events.ts_ns(event).saturating_add(half_ns)
    }

    /// The middle of an event, given by number, in the page's time.
    pub(super) fn middle_of(&self, uid: u32) -> Option<f64> {
        let event = self.source.profile.trace.events.by_uid(uid)?;
        Some(self.since_start(self.middle_ns(event)))
    }

    /// The event nearest to a time of the page, in the first nonempty row: from the top, or when moving up, from the
    /// bottom.
    pub(super) fn entered(&self, towards: Towards, ns: f64) -> Option<SpanCard> {
        let event = self.nearest_to(self.row_numbers(), towards, self.absolute(ns))?;
        self.card(event)
    }

    pub(super) fn card(&self, event: EventId) -> Option<SpanCard> {
        let profile = self.source.profile;
        let trace = &profile.trace;
        let events = &trace.events;
        let category = events.category(event);
        Some(SpanCard {
            side: self.place.side,
            trace: self.place.trace.clone(),
            uid: events.uid(event),
            row: self.row_of(event)?,
            from_ns: self.since_start(events.ts_ns(event)),
            to_ns: self.since_start(events.end_ns(event)),
            name: without_prefix(trace.strings.get(events.name(event))).to_owned(),
            kind: category.label().to_owned(),
            token: hue::token(self.source, event).to_owned(),
            fields: self.fields(event),
            arrows: self.arrows(event),
            in_tree: is_in_tree(self.source.analyzed, event),
            gap_from_ns: None,
        })
    }

    /// All fields of an event; the recorded arguments come last.
    fn fields(&self, event: EventId) -> Vec<(String, String)> {
        let trace = &self.source.profile.trace;
        let mut fields = self.main_fields(event);
        if let Some(args) = trace.events.extra_args(event) {
            let args = arguments(trace.strings.get(args)).into_iter();
            fields.extend(args.map(|(key, value)| (key.to_owned(), argument_value(value))));
        }
        fields
    }

    fn main_fields(&self, event: EventId) -> Vec<(String, String)> {
        let profile = self.source.profile;
        let trace = &profile.trace;
        let events = &trace.events;
        let mut fields: Vec<(String, String)> = Vec::new();
        let mut add = |label: &str, value: String| {
            if !value.is_empty() {
                fields.push((label.to_owned(), value));
            }
        };
        let duration = events.dur_ns(event);
        add(
            "Duration",
            duration.map_or_else(|| "unknown".to_owned(), format::time_ns),
        );
        let start_ns = events
            .ts_ns(event)
            .saturating_sub(self.open.lanes.span.start_ns);
        add("Start", format::time_ns(start_ns));
        if events.category(event).is_gpu() {
            if let Some(call) = launching_call(profile, event) {
                let waited_ns = events.ts_ns(event).saturating_sub(events.ts_ns(call));
                add("Launch to start", format::time_ns(waited_ns));
                let op = profile.tree.node_of(call);
                let op = op.and_then(|call| profile.tree.op_above(trace, call));
                let name = op.and_then(|op| profile.tree.event(op));
                let name = name.map(|op| trace.strings.get(events.name(op)).to_owned());
                add("Launched for", name.unwrap_or_default());
            } else {
                add("Launched by", "no recorded call".to_owned());
            }
        } else if let Some(node) = profile.full_tree().node_of(event) {
            let work = profile.full_tree().gpu_work(node);
            if !work.is_empty() {
                let busy = format::time_ns(profile.gpu.busy_ns(work));
                let events = format::counted(work.len() as u64, "GPU event");
                add("GPU time", format!("{busy} in {events}"));
            }
        }
        if let Some(args) = events.op_args(event).and_then(|id| trace.args.get(id)) {
            add("Shapes", shapes_of(trace, args));
        }
        fields
    }

    /// The other ends of an event's arrows.
    fn arrows(&self, event: EventId) -> Vec<ArrowEnd> {
        let profile = self.source.profile;
        let events = &profile.trace.events;
        let end = |other: EventId, ns: i64| {
            Some(ArrowEnd {
                row: self.row_of(other)?,
                ns: self.since_start(ns),
            })
        };
        if events.category(event).is_gpu() {
            let call = launching_call(profile, event);
            let arrow = call.and_then(|call| end(call, events.ts_ns(call)));
            return arrow.into_iter().collect();
        }
        if events.category(event) == Category::PythonFunction {
            return Vec::new();
        }
        let Some(node) = profile.tree.node_of(event) else {
            return Vec::new();
        };
        let work = profile.tree.gpu_work(node).iter().take(MAX_ARROWS);
        let work = work.filter_map(|id: &GpuId| profile.gpu.get(*id));
        work.filter_map(|work| end(work.event, work.span.start_ns))
            .collect()
    }
}

/// A value as text: numbers with a fraction get three digits, because the profiler writes all digits of a 32-bit float.
fn argument_value(value: &str) -> String {
    match value.parse::<f64>() {
        Ok(number) if value.contains('.') && number.abs() >= 0.001 => format::number(number),
        _ => format::middle_ellipsis(value, VALUE_CHARS),
    }
}

/// Keys and values of `"key": value, …` as written, strings without their quotes.
fn arguments(text: &str) -> Vec<(&str, &str)> {
    let (mut depth, mut in_string, mut is_escaped, mut start) = (0_i32, false, false, 0);
    let mut parts = Vec::new();
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if in_string => is_escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(text.get(start..));
    let plain = |text: &str| text.len() > 1 && text.starts_with('"') && text.ends_with('"');
    parts
        .into_iter()
        .filter_map(|part: &str| {
            let part = part.trim();
            let (key, value) = part.strip_prefix('"')?.split_once('"')?;
            let value = value.trim_start().strip_prefix(':')?.trim();
            let value = match plain(value) {
                true => value.get(1..value.len() - 1)?,
                false => value,
            };
            (!key.is_empty() && !value.is_empty()).then_some((key, value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_have_three_digits() {
        let values = [
            "3.7878788",
            "0.0030303031",
            "0.00000012",
            "128",
            "2.8.0",
            "[1.25, 2]",
        ];
        let shown = values.map(argument_value);
        assert_eq!(
            shown,
            ["3.79", "0.003", "0.00000012", "128", "2.8.0", "[1.25, 2]"]
        );
    }

    #[test]
    fn arguments_are_split_where_nothing_encloses_the_comma() {
        let text = r#""grid": [512, 1, 1], "stream": 7, "kind": "a, \"b\"", "empty": """#;
        assert_eq!(
            arguments(text),
            [
                ("grid", "[512, 1, 1]"),
                ("stream", "7"),
                ("kind", r#"a, \"b\""#),
            ]
        );
        assert_eq!(arguments("half a"), []);
    }
}
