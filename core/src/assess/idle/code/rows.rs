//! Idle time by the code that ran in it.

use std::collections::BTreeMap;

use super::copied::Copied;
use super::place::{PlaceKey, Places};
use super::{Code, CodePart, Place};
use crate::assess::idle::cause::IdleCause;
use crate::base::map::Map;
use crate::base::sort::Arranged;
use crate::base::tally::Tally;
use crate::names::cpu_activity::CpuActivity;
use crate::profile::Profile;
use crate::trace::{EventId, StringId};

/// One piece of code, and the idle time in which it ran.
#[derive(Debug, Clone)]
pub(crate) struct CodeRow {
    pub(crate) place: Place,
    pub(crate) activity: Option<CpuActivity>,
    /// A first use, or something that a warm run without a profiler does not do: cannot be saved.
    pub(crate) is_one_off: bool,
    /// Gaps in which it ran, and for how long.
    pub(crate) all: Tally,
    pub(crate) longest_ns: i64,
    /// The call of the longest part.
    pub(crate) event: EventId,
    pub(crate) by_cause: BTreeMap<IdleCause, Tally>,
    /// Copies that bring it data of the GPU, or take its results there.
    pub(crate) copied: Copied,
}

impl CodeRow {
    /// Whether most of it is in gaps with this cause.
    pub(crate) fn is_mostly(&self, cause: IdleCause) -> bool {
        let of = self.by_cause.get(&cause);
        of.is_some_and(|tally| tally.ns > self.all.ns / 2)
    }
}

/// Idle time by code.
#[derive(Debug, Clone, Default)]
pub(crate) struct CodeRows {
    /// Longest first.
    pub(crate) rows: Vec<CodeRow>,
    /// For gaps caused by the CPU: all of them, the time with known code, and the rest.
    pub(crate) all: Tally,
    pub(crate) known_ns: i64,
    /// Time without known code: in gaps that a warm run has, too, and in cold starts.
    pub(crate) unknown: [Unknown; 2],
}

/// Parts of gaps without recorded code.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unknown {
    pub(crate) all: Tally,
    pub(crate) longest_ns: i64,
}

/// Identifies a row.
type RowKey = (PlaceKey, Option<CpuActivity>, bool);

/// A row, its longest code, and its callers: the first, and whether there are others.
struct Known {
    row: CodeRow,
    longest: Code,
    caller: Option<StringId>,
    has_callers: bool,
}

/// Sums up parts of gaps.
pub(crate) struct CodeTable<'a> {
    profile: &'a Profile,
    places: Places<'a>,
    index: Map<RowKey, usize>,
    rows: Vec<Known>,
    /// Everything but the rows.
    sums: CodeRows,
}

impl<'a> CodeTable<'a> {
    pub(crate) fn new(profile: &'a Profile) -> CodeTable<'a> {
        CodeTable {
            profile,
            places: Places::new(profile),
            index: Map::default(),
            rows: Vec::new(),
            sums: CodeRows::default(),
        }
    }

    /// Adds the parts of one gap, with the cause that each belongs to. The copies around the gap belong to the longest.
    pub(crate) fn add(&mut self, ns: i64, parts: &[(IdleCause, CodePart)], copied: Copied) {
        self.sums.all.add(ns);
        // A function that takes two parts of a gap counts one gap.
        let mut of_gap: Vec<(usize, IdleCause, Code, i64)> = Vec::new();
        for &(cause, part) in parts {
            let Some(code) = part.code else {
                let unknown = &mut self.sums.unknown[usize::from(cause.is_of_first_use())];
                unknown.all.add(part.ns);
                unknown.longest_ns = unknown.longest_ns.max(part.ns);
                continue;
            };
            self.sums.known_ns = self.sums.known_ns.saturating_add(part.ns);
            let row = self.row(cause, code);
            let same =
                |known: &&mut (usize, IdleCause, Code, i64)| (known.0, known.1) == (row, cause);
            match of_gap.iter_mut().find(same) {
                Some((.., ns)) => *ns = ns.saturating_add(part.ns),
                None => of_gap.push((row, cause, code, part.ns)),
            }
        }
        let longest = of_gap.iter().max_by_key(|(.., ns)| *ns);
        let longest = longest.and_then(|(row, ..)| self.rows.get_mut(*row));
        if let Some(Known { row, .. }) = longest {
            row.copied.add(copied);
        }
        for (row, cause, code, ns) in of_gap {
            let Some(Known { row, longest, .. }) = self.rows.get_mut(row) else {
                continue;
            };
            row.all.add(ns);
            row.by_cause.entry(cause).or_default().add(ns);
            if ns > row.longest_ns {
                row.longest_ns = ns;
                *longest = code;
            }
        }
    }

    fn row(&mut self, cause: IdleCause, code: Code) -> usize {
        let is_one_off = match (cause, code.activity) {
            (cause, _) if cause.is_of_first_use() => true,
            (
                IdleCause::Recompilation,
                Some(CpuActivity::Compilation | CpuActivity::GraphCapture),
            ) => false,
            (_, activity) => activity.is_some_and(CpuActivity::is_one_off),
        };
        let (place, caller) = self.places.key(code);
        let key = (place, code.activity, is_one_off);
        let next = self.rows.len();
        let at = *self.index.entry(key).or_insert(next);
        if at == next {
            let row = CodeRow {
                place: Place::default(),
                activity: code.activity,
                is_one_off,
                all: Tally::default(),
                longest_ns: 0,
                event: code.event,
                by_cause: BTreeMap::new(),
                copied: Copied::default(),
            };
            self.rows.push(Known {
                row,
                longest: code,
                caller,
                has_callers: false,
            });
        } else if let Some(known) = self.rows.get_mut(at) {
            known.has_callers |= known.caller != caller;
        }
        at
    }

    pub(crate) fn finish(self) -> CodeRows {
        let profile = self.profile;
        let rows = self.rows.into_iter().map(|known| {
            let code = known.longest;
            let mut place = Place::of(profile, code);
            place.caller = place.caller.filter(|_| !known.has_callers);
            CodeRow {
                place,
                event: match code.activity {
                    Some(activity) if !activity.is_around_code() => code.within,
                    _ => code.event,
                },
                ..known.row
            }
        });
        let rows = rows.arranged_by_largest(|row| row.all.ns);
        CodeRows { rows, ..self.sums }
    }
}
