//! Pairs the begins and ends of events, which are separate packets, and sets the durations.
//!
//! PyTorch writes some thousand begins and then their ends in the same order, so they are paired by position: nothing
//! else identifies the end of events that overlap without nesting. In other writers' traces, the last event started on
//! a track ends first.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::import::unordered::Unordered;
use crate::import::warning::WarningKind;
use crate::trace::EventId;

/// Maximum number of unpaired halves.
const MOST_HALVES: usize = 1 << 25;

/// One half of an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Half {
    /// The track that the packet names.
    pub(super) track: u64,
    pub(super) ts_ns: i64,
    pub(super) offset: u64,
    /// The event that starts, if this is a begin; the inner `None` is for one that was not kept.
    pub(super) begun: Option<Option<EventId>>,
}

/// Unpaired halves.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// Consecutive begins, and the ends after them.
    begins: Vec<Half>,
    ends: Vec<Half>,
    /// Halves that cannot be paired by position.
    loose: Vec<Half>,
}

impl Pairs {
    /// Takes the next half of the trace.
    pub(super) fn add(&mut self, half: Half, is_pytorch: bool, events: &mut Unordered) {
        if self.begins.len() + self.ends.len() + self.loose.len() >= MOST_HALVES {
            return events.warn(WarningKind::TooManyEvents, half.offset);
        }
        match half.begun {
            Some(_) => {
                if !self.ends.is_empty() {
                    self.close_run(is_pytorch, events);
                }
                self.begins.push(half);
            }
            None => self.ends.push(half),
        }
    }

    /// Pairs a run of begins with the ends after it by position, if the writer writes them that way.
    fn close_run(&mut self, is_pytorch: bool, events: &mut Unordered) {
        let pairs = || self.begins.iter().zip(&self.ends);
        let fits = self.begins.len() == self.ends.len()
            && pairs().all(|(begin, end)| begin.track == end.track && begin.ts_ns <= end.ts_ns);
        // If the last one started ends first, ends are in time order.
        let is_unordered = |two: &[Half]| match two {
            [one, next] => one.track == next.track && next.ts_ns < one.ts_ns,
            _ => false,
        };
        let is_by_position =
            is_pytorch || self.begins.len() == 1 || self.ends.windows(2).any(is_unordered);
        if fits && is_by_position {
            for (begin, end) in pairs() {
                pair(begin, end, events);
            }
        } else {
            self.loose.extend_from_slice(&self.begins);
            self.loose.extend_from_slice(&self.ends);
        }
        self.begins.clear();
        self.ends.clear();
    }

    /// Pairs what is left, after the last packet.
    pub(super) fn finish(mut self, is_pytorch: bool, events: &mut Unordered) {
        self.close_run(is_pytorch, events);
        self.loose
            .sort_by_key(|half| (half.track, half.ts_ns, half.offset));
        let mut open: HashMap<u64, Vec<Half>, FxBuildHasher> = HashMap::default();
        for half in self.loose {
            let open = open.entry(half.track).or_default();
            match (half.begun, open.pop_if(|_| half.begun.is_none())) {
                (Some(_), _) => open.push(half),
                (None, Some(begin)) => pair(&begin, &half, events),
                (None, None) => events.warn(WarningKind::UnknownPhase, half.offset),
            }
        }
        let endless = || open.values().flatten().map(|half| half.offset);
        let count = endless().count() as u64;
        events
            .warnings
            .add_many(WarningKind::MissingDuration, count, endless().min());
    }
}

fn pair(begin: &Half, end: &Half, events: &mut Unordered) {
    if let Some(Some(event)) = begin.begun {
        let dur_ns = end.ts_ns.saturating_sub(begin.ts_ns);
        events.set_duration(event, dur_ns, end.offset);
    }
}
