//! The calls that could have launched a piece of work, by the id that both have.

use super::process;
use super::table::LinkTable;
use crate::base::map::Map;
use crate::trace::{EventId, StringId, Trace};

/// The calls with the link ids of GPU activity.
pub(super) struct Callers {
    /// The first call of each row.
    first: Vec<Option<EventId>>,
    /// For each row, the first call of each further process.
    others: Map<usize, Vec<(StringId, EventId)>>,
}

/// Calls of several processes have the id of some work.
pub(super) struct Ambiguous;

impl Callers {
    pub(super) fn new(trace: &Trace, calls: &[EventId], table: &LinkTable) -> Callers {
        let mut first = vec![None; table.rows.len()];
        let mut others: Map<usize, Vec<(StringId, EventId)>> = Map::default();
        for &call in calls {
            let Some(row) = table.row_of(trace, call) else {
                continue;
            };
            let first = *first[row].get_or_insert(call);
            if let (Some(process), Some(known)) = (process(trace, call), process(trace, first))
                && process != known
            {
                let others = others.entry(row).or_default();
                if !others.iter().any(|(known, _)| *known == process) {
                    others.push((process, call));
                }
            }
        }
        Callers { first, others }
    }

    /// The call of a row; if several processes have one, that of the process that drives the work's device.
    pub(super) fn of(
        &self,
        trace: &Trace,
        row: usize,
        driver: Option<StringId>,
    ) -> Result<Option<EventId>, Ambiguous> {
        let first = self.first.get(row).copied().flatten();
        let others = self.others.get(&row);
        match driver {
            Some(_) if first.and_then(|first| process(trace, first)) == driver => Ok(first),
            Some(driver) => {
                let mut others = others.into_iter().flatten();
                let of_driver = others.find(|(process, _)| *process == driver);
                Ok(of_driver.map(|(_, call)| *call))
            }
            None if others.is_some() => Err(Ambiguous),
            None => Ok(first),
        }
    }
}
