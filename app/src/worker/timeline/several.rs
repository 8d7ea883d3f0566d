//! The timeline of the target, and that of the reference below it.
//!
//! Rows and counters of the reference are numbered after those of the target, so that a number says
//! which trace it is of. Both traces share one scale of time, whose zero is the target's first event.

use dormer_core::base::format;
use dormer_core::base::interval::Interval;

use super::{Timeline, hue};
use crate::protocol::{
    Align, BLOCK_BYTES, DrawQuery, Drawn, FindEvents, FoundEvents, GlanceQuery, MomentQuery,
    RangeBelow, RangeCard, RangeQuery, SpanCard, SpanQuery, TimelineOutline, Towards, TraceBelow,
    TraceSide,
};

/// The timelines that are shown. A trace without events has none.
pub(in crate::worker) struct Timelines<'a> {
    target: Option<Timeline<'a>>,
    reference: Option<Timeline<'a>>,
    /// How the reference lies in time, and how it could.
    align: Align,
    aligns: Vec<Align>,
}

impl<'a> Timelines<'a> {
    /// That of the target alone.
    pub(in crate::worker) fn of_one(target: Option<Timeline<'a>>) -> Timelines<'a> {
        Timelines {
            target,
            reference: None,
            align: Align::Start,
            aligns: Vec::new(),
        }
    }

    /// Those of both; the names are the reference's and the target's. Where they cannot be aligned as
    /// is wanted, it is by their first events.
    pub(in crate::worker) fn of_two(
        mut target: Option<Timeline<'a>>,
        mut reference: Option<Timeline<'a>>,
        [reference_name, target_name]: &[String; 2],
        wanted: Align,
        moment: Option<MomentQuery>,
    ) -> Timelines<'a> {
        let anchors = |align: Align| {
            if align == Align::Clock {
                return moment.map(|moment| (moment.reference_ns, moment.target_ns));
            }
            let anchor = |of: &Option<Timeline>| of.as_ref().and_then(|of| of.anchor_ns(align));
            anchor(&reference).zip(anchor(&target))
        };
        let aligns: Vec<Align> = Align::ALL
            .into_iter()
            .filter(|align| anchors(*align).is_some())
            .collect();
        let align = match aligns.contains(&wanted) {
            true => wanted,
            false => Align::Start,
        };
        let anchors = anchors(align);
        if let Some(target) = &mut target {
            target.place.trace.clone_from(target_name);
        }
        if let Some(reference) = &mut reference {
            reference.place.trace.clone_from(reference_name);
            reference.place.side = TraceSide::Reference;
        }
        if let (Some(target), Some(reference)) = (&mut target, &mut reference) {
            reference.place.first_row = target.open.rows.len();
            let n_counters = u32::try_from(target.open.counters.len());
            reference.place.first_counter = n_counters.unwrap_or(u32::MAX);
            let (own, other) = (target.open.lanes.span, reference.open.lanes.span);
            // The time of the reference that stands where the target's first event does.
            let zero_ns = match anchors {
                Some((its_ns, ns)) => its_ns.saturating_sub(ns.saturating_sub(own.start_ns)),
                None => other.start_ns,
            };
            let its_end_ns = other.end_ns.saturating_sub(zero_ns);
            let length_ns = own.length().max(its_end_ns);
            let from = |ns: i64| Interval::new(ns, ns.saturating_add(length_ns));
            target.place.span = from(own.start_ns);
            reference.place.span = from(zero_ns);
        }
        Timelines {
            target,
            reference,
            align,
            aligns,
        }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Timeline<'a>> {
        self.target.iter_mut().chain(&mut self.reference)
    }

    /// What lanes there are.
    pub(in crate::worker) fn outline(&self) -> TimelineOutline {
        let outline = self.target.as_ref().map(Timeline::outline);
        let mut outline = outline.unwrap_or_default();
        let Some(reference) = &self.reference else {
            return outline;
        };
        let own = reference.outline();
        outline.lanes.extend(own.lanes);
        outline.length_ns = own.length_ns;
        outline.tokens = hue::tokens();
        outline.gpu = match (outline.gpu, own.gpu) {
            (Some((start, end)), Some((its_start, its_end))) => {
                Some((start.min(its_start), end.max(its_end)))
            }
            (one, other) => one.or(other),
        };
        outline.below = Some(TraceBelow {
            name: reference.place.trace.clone(),
            note: self.note(reference),
            align: self.align,
            aligns: self.aligns.clone(),
            window: own.window,
            minimap: own.minimap,
        });
        outline
    }

    /// How long the reference is, and what of it lies before all that can be shown.
    fn note(&self, reference: &Timeline) -> String {
        let span = reference.open.lanes.span;
        let length = format::time_ns(span.length());
        let before_ns = reference.place.span.start_ns.saturating_sub(span.start_ns);
        match before_ns {
            1.. => format!(
                "{length} recorded; its first {} are before the start shown here",
                format::time_ns(before_ns)
            ),
            _ => format!("{length} recorded"),
        }
    }

    /// What some rows look like, and the blocks as bytes.
    pub(in crate::worker) fn draw(&mut self, query: &DrawQuery) -> (Drawn, Vec<u8>) {
        let (mut all, mut bytes) = (Drawn::default(), Vec::new());
        // Each draws those that are its own.
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

    /// The little that is said at the pointer.
    pub(in crate::worker) fn glance(&mut self, query: &GlanceQuery) -> Option<SpanCard> {
        self.all().find_map(|timeline| timeline.glance(query))
    }

    /// The event that is asked for.
    pub(in crate::worker) fn span(&mut self, query: &SpanQuery) -> Option<SpanCard> {
        let (target, reference) = (&mut self.target, &mut self.reference);
        match *query {
            SpanQuery::At(_) => self.all().find_map(|timeline| timeline.span(query)),
            SpanQuery::Event(_) => target.as_mut()?.span(query),
            SpanQuery::Beside(side, uid, towards) => {
                let (own, other) = match side {
                    TraceSide::Target => (target, reference),
                    TraceSide::Reference => (reference, target),
                };
                let own = own.as_mut()?;
                own.span(query).or_else(|| match (side, towards) {
                    // From the last row of the one to the first of the other, and back.
                    (TraceSide::Target, Towards::Below)
                    | (TraceSide::Reference, Towards::Above) => {
                        other.as_ref()?.entered(towards, own.middle_of(uid)?)
                    }
                    _ => None,
                })
            }
        }
    }

    /// What happened in a part of the time.
    pub(in crate::worker) fn range(&self, query: &RangeQuery) -> RangeCard {
        let card = self.target.as_ref().map(|of| of.range(query));
        let below = self.reference.as_ref().map(|reference| {
            let card = reference.range(query);
            RangeBelow {
                trace: card.trace,
                parts: card.parts,
                n_work: card.n_work,
            }
        });
        RangeCard {
            below,
            ..card.unwrap_or_default()
        }
    }

    /// Goes to the next event whose name contains a text: in the trace that is looked in, or in the
    /// other one where that has none.
    pub(in crate::worker) fn find(&mut self, query: &FindEvents) -> FoundEvents {
        let found = |of: Option<&mut Timeline>, side: TraceSide| {
            let query = FindEvents {
                from: query.from.filter(|_| query.side == side),
                ..query.clone()
            };
            of.map(|of| of.find(&query)).unwrap_or_default()
        };
        let target = found(self.target.as_mut(), TraceSide::Target);
        let reference = found(self.reference.as_mut(), TraceSide::Reference);
        let is_wanted = query.side == TraceSide::Reference || target.of == 0;
        let marks = [target.marks.clone(), reference.marks.clone()];
        let shown = match is_wanted && reference.of > 0 {
            true => reference,
            false => target,
        };
        let [marks, reference_marks] = marks;
        FoundEvents {
            marks,
            reference_marks,
            ..shown
        }
    }
}

impl Timeline<'_> {
    /// The time that stands where the same of another trace does; `None` where it has no such.
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
            // Told by the job alone.
            Align::Clock => None,
        }
    }
}
