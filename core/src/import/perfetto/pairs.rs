//! Begins and ends of events, which are packets of their own, to durations.
//!
//! PyTorch writes some thousand begins and then their ends in the same order, so they are paired by
//! position: events that overlap without nesting have no other tell. Other writers end the last event to
//! begin on a track first.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::import::unordered::Unordered;
use crate::import::warning::WarningKind;
use crate::trace::EventId;

/// Most halves that are kept until they find each other.
const MOST_HALVES: usize = 1 << 25;

/// One half of an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Half {
    /// The track that the packet names.
    pub(super) track: u64,
    pub(super) ts_ns: i64,
    pub(super) offset: u64,
    /// The event that begins, if this is a begin; `None` within for one that was not kept.
    pub(super) begun: Option<Option<EventId>>,
}

/// Halves that have not found each other.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// Begins that follow each other, and the ends behind them.
    begins: Vec<Half>,
    ends: Vec<Half>,
    /// Those that cannot be paired by position.
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

    /// Pairs a run of begins with the ends behind it by position, where that is how they are written.
    fn close_run(&mut self, is_pytorch: bool, events: &mut Unordered) {
        let pairs = || self.begins.iter().zip(&self.ends);
        let fits = self.begins.len() == self.ends.len()
            && pairs().all(|(begin, end)| begin.track == end.track && begin.ts_ns <= end.ts_ns);
        // Where the last to begin ends first, ends are in order of time.
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
