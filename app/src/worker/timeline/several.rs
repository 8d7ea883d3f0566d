//! The timeline of the target, with that of the reference below it, and for ranks of a job up to two more.
//!
//! Rows and counters of each trace are numbered after those of the traces above, so that a number identifies the trace.
//! All share one time scale, whose zero is the target's first event.

use dormer_core::base::format;
use dormer_core::base::interval::Interval;

use super::{Timeline, hue};
use crate::protocol::{
    Align, BLOCK_BYTES, DrawQuery, Drawn, FindEvents, FoundEvents, GlanceQuery, MomentQuery,
    RangeBelow, RangeCard, RangeQuery, SpanCard, SpanQuery, TimelineOutline, Towards, TraceBelow,
    TraceSide,
};

/// The shown timelines. A trace without events has none.
pub(in crate::worker) struct Timelines<'a> {
    target: Option<Timeline<'a>>,
    /// From top to bottom, the reference first.
    below: Vec<Timeline<'a>>,
    /// The reference's alignment, and the possible ones.
    align: Align,
    aligns: Vec<Align>,
}

/// A trace that is shown below the target.
pub(in crate::worker) struct Below<'a> {
    pub(in crate::worker) timeline: Option<Timeline<'a>>,
    /// What it is called.
    pub(in crate::worker) name: &'a str,
    /// A moment in the target and in this one, if both are ranks of a job.
    pub(in crate::worker) moment: Option<MomentQuery>,
}

impl Below<'_> {
    /// The times in this trace and in the target that align.
    fn anchors(&self, target: Option<&Timeline>, align: Align) -> Option<(i64, i64)> {
        if align == Align::Clock {
            let moment = self.moment?;
            return Some((moment.reference_ns, moment.target_ns));
        }
        let own = self.timeline.as_ref()?.anchor_ns(align)?;
        Some((own, target?.anchor_ns(align)?))
    }
}

impl<'a> Timelines<'a> {
    /// Only the target's timeline.
    pub(in crate::worker) fn of_one(target: Option<Timeline<'a>>) -> Timelines<'a> {
        Timelines {
            target,
            below: Vec::new(),
            align: Align::Start,
            aligns: Vec::new(),
        }
    }

    /// The timelines of several traces; the first one below is the reference. A trace that cannot be aligned as
    /// requested is aligned by its first event.
    pub(in crate::worker) fn of_several(
        mut target: Option<Timeline<'a>>,
        target_name: &str,
        below: Vec<Below<'a>>,
        requested: Align,
    ) -> Timelines<'a> {
        let reference = below.first();
        let aligns = Align::ALL.into_iter().filter(|align| {
            reference.is_some_and(|of| of.anchors(target.as_ref(), *align).is_some())
        });
        let aligns: Vec<Align> = aligns.collect();
        let align = match aligns.contains(&requested) {
            true => requested,
            false => Align::Start,
        };
        if let Some(target) = &mut target {
            target.place.trace = target_name.to_owned();
        }
        let own = target.as_ref().map(|target| target.open.lanes.span);
        let mut length_ns = own.map_or(0, Interval::length);
        let mut first_row = target.as_ref().map_or(0, |of| of.open.rows.len());
        let mut first_counter = target.as_ref().map_or(0, |of| of.open.counters.len());
        let mut shown = Vec::new();
        for (of, side) in below.into_iter().zip(TraceSide::ALL.into_iter().skip(1)) {
            let anchors = of.anchors(target.as_ref(), align);
            let Some(mut timeline) = of.timeline else {
                continue;
            };
            let other = timeline.open.lanes.span;
            timeline.place.trace = of.name.to_owned();
            timeline.place.side = side;
            timeline.place.first_row = first_row;
            timeline.place.first_counter = u32::try_from(first_counter).unwrap_or(u32::MAX);
            first_row += timeline.open.rows.len();
            first_counter += timeline.open.counters.len();
            // The time in this trace that aligns with the target's first event.
            let zero_ns = match (own, anchors) {
                (Some(own), Some((its_ns, ns))) => {
                    its_ns.saturating_sub(ns.saturating_sub(own.start_ns))
                }
                _ => other.start_ns,
            };
            timeline.place.span.start_ns = zero_ns;
            length_ns = length_ns.max(other.end_ns.saturating_sub(zero_ns));
            shown.push(timeline);
        }
        let mut timelines = Timelines {
            target,
            below: shown,
            align,
            aligns,
        };
        for timeline in timelines.all() {
            let span = &mut timeline.place.span;
            span.end_ns = span.start_ns.saturating_add(length_ns);
        }
        timelines
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Timeline<'a>> {
        self.target.iter_mut().chain(&mut self.below)
    }

    /// The outline of all lanes.
    pub(in crate::worker) fn outline(&self) -> TimelineOutline {
        let outline = self.target.as_ref().map(Timeline::outline);
        let mut outline = outline.unwrap_or_default();
        for timeline in &self.below {
            let own = timeline.outline();
            outline.lanes.extend(own.lanes);
            outline.length_ns = own.length_ns;
            outline.tokens = hue::tokens();
            outline.gpu = match (outline.gpu, own.gpu) {
                (Some((start, end)), Some((its_start, its_end))) => {
                    Some((start.min(its_start), end.max(its_end)))
                }
                (one, other) => one.or(other),
            };
            outline.below.push(TraceBelow {
                side: timeline.place.side,
                name: timeline.place.trace.clone(),
                note: note(timeline),
                align: self.align,
                aligns: self.aligns.clone(),
                window: own.window,
                minimap: own.minimap,
            });
        }
        outline
    }

    /// The drawing of some rows, with the blocks as bytes.
    pub(in crate::worker) fn draw(&mut self, query: &DrawQuery) -> (Drawn, Vec<u8>) {
        let (mut all, mut bytes) = (Drawn::default(), Vec::new());
        // Each draws its own rows.
        for timeline in self.all() {
            let (drawn, blocks) = timeline.draw(query);
            let before = (bytes.len() / BLOCK_BYTES) as u32;
            let labels = drawn.labels.into_iter();
            all.labels
                .extend(labels.map(|(block, label)| (block + before, label)));
            let hits = drawn.hits.into_iter();
            all.hits.extend(hits.map(|block| block + before));
            all.gaps.extend(drawn.gaps);
            all.counters.extend(drawn.counters);
            bytes.extend(blocks);
        }
        (all, bytes)
    }

    /// The short form for the tooltip.
    pub(in crate::worker) fn glance(&mut self, query: &GlanceQuery) -> Option<SpanCard> {
        self.all().find_map(|timeline| timeline.glance(query))
    }

    /// The requested event.
    pub(in crate::worker) fn span(&mut self, query: &SpanQuery) -> Option<SpanCard> {
        let (side, uid, towards) = match *query {
            SpanQuery::At(_) => return self.all().find_map(|timeline| timeline.span(query)),
            SpanQuery::Event(_) => return self.target.as_mut()?.span(query),
            SpanQuery::Beside(side, uid, towards) => (side, uid, towards),
        };
        let mut all: Vec<&mut Timeline> = self.all().collect();
        let at = all.iter().position(|of| of.place.side == side)?;
        let own = all.get_mut(at)?;
        let found = own.span(query);
        if found.is_some() {
            return found;
        }
        // From the last row of one trace to the first of the next, and back.
        let middle_ns = own.middle_of(uid)?;
        let next = match towards {
            Towards::Below => at.checked_add(1)?,
            Towards::Above => at.checked_sub(1)?,
            Towards::Before | Towards::After => return None,
        };
        all.get(next)?.entered(towards, middle_ns)
    }

    /// What happened in a time range.
    pub(in crate::worker) fn range(&self, query: &RangeQuery) -> RangeCard {
        let card = self.target.as_ref().map(|of| of.range(query));
        let below = self.below.iter().map(|timeline| {
            let card = timeline.range(query);
            RangeBelow {
                trace: card.trace,
                parts: card.parts,
                n_work: card.n_work,
            }
        });
        RangeCard {
            below: below.collect(),
            ..card.unwrap_or_default()
        }
    }

    /// Goes to the next event whose name contains a text: in the current trace, or in the next one with a match.
    pub(in crate::worker) fn find(&mut self, query: &FindEvents) -> FoundEvents {
        let found = self.all().map(|timeline| {
            let side = timeline.place.side;
            let query = FindEvents {
                from: query.from.filter(|_| query.side == side),
                ..query.clone()
            };
            (side, timeline.find(&query))
        });
        let mut found: Vec<(TraceSide, FoundEvents)> = found.collect();
        let (mut marks, mut marks_below) = (Vec::new(), Vec::new());
        for (side, of) in &found {
            match side.below() {
                None => marks.clone_from(&of.marks),
                Some(_) => marks_below.push(of.marks.clone()),
            }
        }
        let requested = found.iter().position(|(side, _)| *side == query.side);
        found.rotate_left(requested.unwrap_or(0));
        let first = found.into_iter().map(|(_, of)| of);
        let first = first.reduce(|first, next| if first.of > 0 { first } else { next });
        FoundEvents {
            marks,
            marks_below,
            ..first.unwrap_or_default()
        }
    }
}

/// The length of a trace below, and how much of it precedes the visible range.
fn note(timeline: &Timeline) -> String {
    let span = timeline.open.lanes.span;
    let length = format::time_ns(span.length());
    let before_ns = timeline.place.span.start_ns.saturating_sub(span.start_ns);
    match before_ns {
        1.. => format!(
            "{length} recorded; its first {} are before the start shown here",
            format::time_ns(before_ns)
        ),
        _ => format!("{length} recorded"),
    }
}

impl Timeline<'_> {
    /// The time that aligns with the corresponding time of another trace; `None` if there is none.
    fn anchor_ns(&self, align: Align) -> Option<i64> {
        match align {
            Align::Start => Some(self.open.lanes.span.start_ns),
            Align::Gpu => {
                let work = self.source.profile.gpu.all();
                work.map(|work| work.span.start_ns).min()
            }
            Align::Analyzed => {
                let window = self.source.analyzed.window.as_ref();
                window.map(|of| of.window.span.start_ns)
            }
            // Only the job knows it.
            Align::Clock => None,
        }
    }
}
