//! Converts the timestamps of packets to nanoseconds of one clock.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::import::wire::Fields;

/// The default clock of timestamps: time since boot.
const BOOT: u64 = 6;
/// Time since 1970.
const REAL: u64 = 1;
/// Clocks with these numbers belong to one sequence.
const OF_SEQUENCE: std::ops::Range<u64> = 64..128;

/// More clocks than this are damage.
const MOST_CLOCKS: usize = 1 << 20;

/// How the clocks of a trace are related.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// The offset that PyTorch subtracts from all times in its JSON.
    base_ns: i64,
    by_id: HashMap<(u32, u64), Clock, FxBuildHasher>,
    /// Whether a snapshot was read.
    is_any: bool,
    /// Whether the first snapshot has the form that PyTorch writes.
    pub(super) is_pytorch: bool,
}

/// A clock, synchronized with the main clock at one moment.
#[derive(Debug, Clone, Copy)]
struct Clock {
    /// How far it is behind the main clock.
    behind_ns: i64,
    /// Nanoseconds per unit.
    unit_ns: i64,
    /// Whether each timestamp is the difference to the previous one.
    is_incremental: bool,
    last: i64,
}

fn owner(sequence: u32, clock: u64) -> (u32, u64) {
    match OF_SEQUENCE.contains(&clock) {
        true => (sequence, clock),
        false => (0, clock),
    }
}

impl Clocks {
    /// Reads a snapshot of several clocks.
    pub(super) fn snapshot(&mut self, sequence: u32, fields: Fields) {
        let clocks = fields.filter(|(number, _)| *number == 1).map(|(_, clock)| {
            let (mut id, mut shown, mut is_incremental, mut unit_ns) = (0, 0, false, 1);
            for (number, value) in clock.fields() {
                match number {
                    1 => id = value.number(),
                    2 => shown = value.signed(),
                    3 => is_incremental = value.number() != 0,
                    4 => unit_ns = value.signed().max(1),
                    _ => {}
                }
            }
            (id, shown, is_incremental, unit_ns)
        });
        let clocks: Vec<(u64, i64, bool, i64)> = clocks.collect();
        let shown_by = |id| {
            clocks
                .iter()
                .find(|(of, ..)| *of == id)
                .map(|(_, shown, ..)| *shown)
        };
        // PyTorch records the offset that it subtracts in its JSON: both clocks show that time.
        if let (Some(base_ns), 2, false) = (shown_by(BOOT), clocks.len(), self.is_any)
            && shown_by(REAL) == Some(base_ns)
        {
            self.base_ns = base_ns;
            self.is_pytorch = true;
        }
        self.is_any = true;
        let Some(main_ns) = shown_by(BOOT) else {
            return;
        };
        for (id, shown, is_incremental, unit_ns) in clocks {
            let clock = Clock {
                behind_ns: main_ns.saturating_sub(shown.saturating_mul(unit_ns)),
                unit_ns,
                is_incremental,
                last: shown,
            };
            if self.by_id.len() < MOST_CLOCKS {
                self.by_id.insert(owner(sequence, id), clock);
            }
        }
    }

    /// A timestamp of a clock of a sequence, converted; `None` if it is invalid.
    pub(super) fn ns(&mut self, sequence: u32, clock: Option<u64>, shown: u64) -> Option<i64> {
        let shown = i64::try_from(shown).ok()?;
        let known = match clock.unwrap_or(BOOT) {
            BOOT => None,
            clock => self.by_id.get_mut(&owner(sequence, clock)),
        };
        let ns = match known {
            None => shown,
            Some(clock) => {
                clock.last = match clock.is_incremental {
                    true => clock.last.checked_add(shown)?,
                    false => shown,
                };
                let own_ns = clock.last.checked_mul(clock.unit_ns)?;
                own_ns.checked_add(clock.behind_ns)?
            }
        };
        ns.checked_sub(self.base_ns)
    }
}
