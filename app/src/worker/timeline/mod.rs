//! The Timeline view: what is drawn, what a span is, and what a range contains.

mod card;
mod find;
pub(super) mod hue;
mod range;
mod several;
#[cfg(test)]
mod tests;

use dormer_core::base::interval::{Interval, percent_of};
use dormer_core::findings::cpu_idle::{IdleGap, idle_gaps};
use dormer_core::names::without_prefix;
use dormer_core::profile::gpu::unattributed::Unattributed;
use dormer_core::profile::lanes::{
    Block, Counter, LaneKind, Lanes, Row, View, counters, utilization,
};
use dormer_core::trace::EventId;
use dormer_core::{Profile, Report, base::format};

use super::families::Families;
use crate::protocol::{
    BLOCK_BYTES, CounterLine, DrawQuery, Drawn, GapMark, LaneLine, MINIMAP_PARTS, RangeCard,
    RangeQuery, TimelineOutline, TraceSide,
};
use find::Hits;
use hue::Hues;
pub(super) use several::{Below, Timelines};

/// Narrower blocks have no name.
const LABEL_PX: f64 = 34.0;
/// The page shortens names to their block, which never fits more than this.
const LABEL_CHARS: usize = 120;
/// Narrower gaps are not marked.
const GAP_PX: f64 = 3.0;

/// The data behind an answer.
#[derive(Clone, Copy)]
pub(super) struct TimelineSource<'a> {
    /// The whole trace, which is what is drawn.
    pub(super) profile: &'a Profile,
    /// What all other views show, which can be a part of it.
    pub(super) analyzed: &'a Profile,
    pub(super) report: &'a Report,
    pub(super) families: &'a Families,
}

/// The lanes of an open trace, and cached results about them.
pub(super) struct Open {
    lanes: Lanes,
    /// Lane and row in it, by row number across all lanes.
    rows: Vec<(usize, usize)>,
    hues: Hues,
    /// Idle gaps of the current report.
    gaps: Option<Vec<IdleGap>>,
    counters: Vec<Counter>,
    hits: Hits,
}

/// The timeline of an open trace with its data.
pub struct Timeline<'a> {
    open: &'a mut Open,
    source: TimelineSource<'a>,
    place: Place,
}

/// The position of a trace in the drawing: alone, or one of several.
struct Place {
    side: TraceSide,
    /// The name of the trace; empty if it is alone.
    trace: String,
    /// The number of its first row.
    first_row: usize,
    /// The number of its first counter.
    first_counter: u32,
    /// The time range that can be shown. The page counts from its start.
    span: Interval,
}

impl Open {
    fn new(profile: &Profile) -> Option<Open> {
        let lanes = Lanes::new(profile)?;
        let rows = lanes.lanes.iter().enumerate();
        Some(Open {
            rows: rows
                .flat_map(|(lane, of)| (0..of.rows.len()).map(move |row| (lane, row)))
                .collect(),
            lanes,
            hues: Hues::default(),
            gaps: None,
            counters: counters(profile),
            hits: Hits::default(),
        })
    }

    /// Another report has other GPU events, and other thresholds for gaps.
    pub(super) fn forget_gaps(&mut self) {
        self.gaps = None;
    }
}

impl<'a> Timeline<'a> {
    /// The timeline, built on first use; `None` for a trace without events.
    pub(super) fn of(
        open: &'a mut Option<Open>,
        source: TimelineSource<'a>,
    ) -> Option<Timeline<'a>> {
        if open.is_none() {
            *open = Open::new(source.profile);
        }
        let open = open.as_mut()?;
        let place = Place {
            side: TraceSide::Target,
            trace: String::new(),
            first_row: 0,
            first_counter: 0,
            span: open.lanes.span,
        };
        Some(Timeline {
            open,
            source,
            place,
        })
    }
}

impl Timeline<'_> {
    /// Nanoseconds since the start of what is shown, the page's time.
    fn since_start(&self, ns: i64) -> f64 {
        ns.saturating_sub(self.place.span.start_ns) as f64
    }

    /// Converts the page's time to trace time.
    fn absolute(&self, ns: f64) -> i64 {
        self.place.span.start_ns.saturating_add(ns as i64)
    }

    /// What happened in a time range.
    pub fn range(&self, query: &RangeQuery) -> RangeCard {
        let (from_ns, to_ns) = (self.absolute(query.from_ns), self.absolute(query.to_ns));
        let range = Interval::new(from_ns.min(to_ns), from_ns.max(to_ns));
        RangeCard {
            trace: self.place.trace.clone(),
            ..range::card(self.source, range)
        }
    }

    fn row(&self, number: usize) -> Option<&Row> {
        let at = number.checked_sub(self.place.first_row)?;
        let (lane, row) = self.open.rows.get(at)?;
        self.open.lanes.lanes.get(*lane)?.rows.get(*row)
    }

    /// The number of the row in which an event is drawn.
    fn row_of(&self, event: EventId) -> Option<usize> {
        let place = self.open.lanes.place(&self.source.profile.trace, event)?;
        let at = self.open.rows.iter().position(|row| *row == place)?;
        Some(at + self.place.first_row)
    }

    /// The numbers of all rows.
    fn row_numbers(&self) -> std::ops::Range<usize> {
        let first = self.place.first_row;
        first..first + self.open.rows.len()
    }

    /// What lanes there are.
    pub fn outline(&self) -> TimelineOutline {
        let mut first_row = self.place.first_row;
        let is_of_gpu = |kind: LaneKind| matches!(kind, LaneKind::Stream | LaneKind::Device);
        let lanes = self.open.lanes.lanes.iter().map(|lane| {
            let line = LaneLine {
                side: self.place.side,
                trace: self.place.trace.clone(),
                stack: lane.common_stack(),
                counter: None,
                title: lane.title.clone(),
                note: lane.note.clone(),
                first_row,
                rows: lane.rows.len(),
                has_gaps: is_of_gpu(lane.kind),
            };
            first_row += lane.rows.len();
            line
        });
        let mut lanes: Vec<LaneLine> = lanes.collect();
        // Counters are below the GPUs.
        let above = lanes.iter().rposition(|lane| lane.has_gaps);
        let at = above.map_or(0, |above| above + 1);
        lanes.splice(at..at, self.counter_lines());
        let work = self.source.profile.gpu.all();
        let gpu = work.map(|work| work.span).reduce(Interval::hull);
        let edges = |span: Interval| {
            (
                self.since_start(span.start_ns),
                self.since_start(span.end_ns),
            )
        };
        let window = self.source.analyzed.window.as_ref();
        TimelineOutline {
            length_ns: self.place.span.length() as f64,
            below: Vec::new(),
            lead: self.lead(),
            lanes,
            minimap: self.minimap(),
            window: window.map(|of| edges(of.window.span)),
            gpu: gpu.map(edges),
            tokens: hue::tokens(),
        }
    }

    fn counter_lines(&self) -> Vec<LaneLine> {
        let counters = self.open.counters.iter().zip(self.place.first_counter..);
        let line = |(counter, number): (&Counter, u32)| LaneLine {
            side: self.place.side,
            trace: self.place.trace.clone(),
            title: counter.name.clone(),
            note: counter.note.clone(),
            first_row: 0,
            rows: 0,
            has_gaps: false,
            stack: 0,
            counter: Some(CounterLine {
                number,
                most: counter.most(),
                most_text: amount(counter.most(), counter.unit),
            }),
        };
        counters.map(line).collect()
    }

    fn minimap(&self) -> Vec<f32> {
        let (profile, span) = (self.source.profile, self.place.span);
        let shares = utilization(profile, span, MINIMAP_PARTS);
        shares.into_iter().map(|share| share as f32).collect()
    }

    fn lead(&self) -> String {
        let length = format::time_ns(self.open.lanes.span.length());
        if let Some(window) = &self.source.analyzed.window {
            let rest = match window.window.device {
                Some(_) => "the rest of the time",
                None => "the rest",
            };
            return format!(
                "{length} recorded. Only {} is analyzed ({}); {rest} is dimmed.",
                window.name(),
                window.length()
            );
        }
        match &self.source.report.timelines.whole {
            None => format!("{length} recorded on the CPU; no GPU activity was recorded."),
            Some(gpu) => {
                let idle = percent_of(gpu.idle_ns, gpu.total_ns()).unwrap_or_default();
                let mut lead = format!(
                    "{length} recorded. Within the {} of GPU activity, the GPU is idle for {} ({}).",
                    format::time_ns(gpu.total_ns()),
                    format::time_ns(gpu.idle_ns),
                    format::percent(idle)
                );
                let unattributed = Unattributed::of(self.source.profile);
                if unattributed.all.count > 0 {
                    lead += &format!(
                        " {} of kernel and copy time ({}) is unattributed.",
                        format::time_ns(unattributed.all.ns),
                        format::counted(unattributed.all.count, "event"),
                    );
                }
                lead
            }
        }
    }

    /// The drawing of some rows, with the blocks as bytes.
    pub fn draw(&mut self, query: &DrawQuery) -> (Drawn, Vec<u8>) {
        let is_usable = query.ns_per_px.is_finite() && query.ns_per_px > 0.0;
        if !is_usable || !query.from_ns.is_finite() {
            return (Drawn::default(), Vec::new());
        }
        let view = View {
            from_ns: self.absolute(query.from_ns),
            ns_per_px: query.ns_per_px,
            width_px: query.width_px,
        };
        let source = self.source;
        let trace = &source.profile.trace;
        let mut hues = std::mem::take(&mut self.open.hues);
        let (mut labels, mut bytes, mut n_blocks) = (Vec::new(), Vec::new(), 0_u32);
        let mut hits = Vec::new();
        let mut marks = Vec::new();
        for number in &query.rows {
            self.open.know_hits(trace, *number, self.place.first_row);
            let Some(row) = self.row(*number) else {
                continue;
            };
            let hue = |event: EventId| match row.is_of_parts() {
                true => hue::of_cpu(None),
                false => hues.of(source, event),
            };
            for block in row.draw(trace, &view, hue) {
                let seen_px = block.right_px.min(query.width_px) - block.left_px.max(0.0);
                if block.count == 1 && seen_px >= LABEL_PX {
                    let part = row.part(block.event).map(|(_, name)| name.to_owned());
                    let name = part.unwrap_or_else(|| label(source, block.event));
                    labels.push((n_blocks, name));
                }
                if block.count == 1 && self.open.is_hit(trace.events.name(block.event)) {
                    hits.push(n_blocks);
                }
                append(&mut bytes, *number, trace.events.uid(block.event), &block);
                n_blocks += 1;
            }
            marks.extend(self.short_hits(*number, &view));
        }
        for (row, mark) in marks {
            append(&mut bytes, row, trace.events.uid(mark.event), &mark);
        }
        self.open.hues = hues;
        let counters = query.counters.iter().filter_map(|number| {
            let own = number.checked_sub(self.place.first_counter)?;
            let counter = self.open.counters.get(own as usize)?;
            let values = counter.draw(&view).into_iter();
            Some((*number, values.map(|value| value as f32).collect()))
        });
        let drawn = Drawn {
            labels,
            hits,
            counters: counters.collect(),
            gaps: self.marks(&view),
        };
        (drawn, bytes)
    }

    fn gaps(&mut self) -> &[IdleGap] {
        let input = self.source.report.analysis_input(self.source.profile);
        self.open.gaps.get_or_insert_with(|| idle_gaps(&input))
    }

    /// The visible idle gaps of a view.
    fn marks(&mut self, view: &View) -> Vec<GapMark> {
        let side = self.place.side;
        let gaps = self.gaps();
        let px = |ns: i64| ns.saturating_sub(view.from_ns) as f64 / view.ns_per_px;
        let first = gaps.partition_point(|gap| gap.span.end_ns <= view.from_ns);
        gaps.iter()
            .skip(first)
            .map(|gap| (px(gap.span.start_ns), px(gap.span.end_ns), gap))
            .take_while(|(left_px, ..)| *left_px < view.width_px)
            .filter(|(left_px, right_px, _)| right_px - left_px >= GAP_PX)
            .map(|(left_px, right_px, gap)| GapMark {
                side,
                left_px: left_px as f32,
                right_px: right_px as f32,
                text: format!("{} {}", format::time_ns(gap.span.length()), gap.cause),
            })
            .collect()
    }
}

/// A value with its unit; bytes are scaled to the unit that fits.
fn amount(value: f64, unit: &str) -> String {
    match unit {
        "bytes" => format::bytes(value as u64),
        _ => format!("{} {unit}", format::count(value.round() as u64)),
    }
}

/// The name on a block.
fn label(source: TimelineSource, event: EventId) -> String {
    let trace = &source.profile.trace;
    let name = trace.strings.get(trace.events.name(event));
    let name = match trace.events.category(event).is_gpu() {
        true => format::kernel_name(name),
        false => without_prefix(name).to_owned(),
    };
    format::middle_ellipsis(&name, LABEL_CHARS)
}

/// Encodes a block in the format of `protocol`.
fn append(bytes: &mut Vec<u8>, row: usize, uid: u32, block: &Block) {
    let row = u16::try_from(row).unwrap_or(u16::MAX);
    let fill = (block.filled * 255.0).round() as u8;
    bytes.reserve(BLOCK_BYTES);
    bytes.extend((block.left_px as f32).to_le_bytes());
    bytes.extend((block.right_px as f32).to_le_bytes());
    bytes.extend(uid.to_le_bytes());
    bytes.extend(row.to_le_bytes());
    bytes.extend([block.hue, fill]);
}
