//! The spelling of pids and tids, and a cache from it to tracks.

use crate::trace::{StringId, TrackId};

/// A pid or tid: usually a number, sometimes a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    Number(u64),
    Text(StringId),
}

/// The last tracks, by the spelling of their pid and tid.
#[derive(Debug, Default)]
pub(super) struct TrackCache {
    slots: [Option<(Spelling, Spelling, TrackId)>; 16],
}

impl TrackCache {
    #[inline]
    pub(super) fn get(&self, pid: Spelling, tid: Spelling) -> Option<TrackId> {
        match self.slots.get(Self::slot(pid, tid))? {
            Some((cached_pid, cached_tid, track)) if (*cached_pid, *cached_tid) == (pid, tid) => {
                Some(*track)
            }
            _ => None,
        }
    }

    pub(super) fn put(&mut self, pid: Spelling, tid: Spelling, track: TrackId) {
        if let Some(slot) = self.slots.get_mut(Self::slot(pid, tid)) {
            *slot = Some((pid, tid, track));
        }
    }

    #[inline]
    fn slot(pid: Spelling, tid: Spelling) -> usize {
        let number = |spelling| match spelling {
            Spelling::Number(number) => number,
            Spelling::Text(text) => u64::from(text.0) + 7,
        };
        ((number(pid).wrapping_mul(31) ^ number(tid)) % 16) as usize
    }
}
