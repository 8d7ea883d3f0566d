//! Assigns each piece of GPU activity to the call that launched it: by flows, by correlation ids, or by external ids.

use super::callers::{Ambiguous, Callers};
use super::link_key::LinkKey;
use super::ranks::Ranks;
use super::repeated::Repeated;
use super::table::LinkTable;
use super::{GpuId, Launch, Launches, is_around, is_graph_launch};
use crate::base::map::Map;
use crate::trace::{ByName, Category, EventId, LinkId, Trace};

/// What calls and work are linked by.
#[derive(Clone, Copy)]
pub(super) struct Linking<'a> {
    pub(super) trace: &'a Trace,
    /// The calls that may have launched something.
    pub(super) calls: &'a [EventId],
    /// In a trace of several processes that use the same ids.
    pub(super) ranks: Option<&'a Ranks<'a>>,
    /// Ids of several calls.
    pub(super) repeated: &'a Repeated,
}

impl Launches {
    /// Assigns work to a call, unless another one has it: a runtime call and the driver call inside it may have the
    /// same id, but the work ran once.
    fn join(&mut self, call: EventId, work: GpuId) {
        if let Some(slot @ None) = self.launched_by.get_mut(work.index()) {
            *slot = Some(call);
            self.launches.push(Launch { call, work });
        }
    }

    /// Follows the flows, and assigns to graph launches all work with their id.
    pub(super) fn by_flow(&mut self, linking: Linking, table: &LinkTable) {
        let Linking {
            trace,
            ranks,
            repeated,
            ..
        } = linking;
        let mut graph_launches = ByName::new(is_graph_launch);
        // For each id: whether its work is already assigned, and the work that its flow leads to.
        let mut is_given = vec![false; table.rows.len()];
        let mut heads: Vec<Option<Option<GpuId>>> = vec![None; table.rows.len()];
        let mut called: Vec<Option<EventId>> = vec![None; table.rows.len()];
        let is_counted = ranks.is_none() && table.key == LinkKey::Correlation;
        for &call in linking.calls {
            let Some(row) = table.row_of(trace, call) else {
                continue;
            };
            match called.get_mut(row) {
                Some(first @ None) => *first = Some(call),
                Some(Some(first)) if is_counted && !is_around(trace, *first, call) => {
                    self.repeating_calls.push(call);
                }
                _ => {}
            }
            if repeated.contains(row) || is_given.get(row) == Some(&true) {
                continue;
            }
            if graph_launches.of(trace, call) {
                let mut children: Vec<GpuId> = match ranks {
                    None => {
                        if let Some(is_given) = is_given.get_mut(row) {
                            *is_given = true;
                        }
                        table.work_of(row).collect()
                    }
                    Some(ranks) => ranks.all_of_call(table, row, call),
                };
                children.reverse();
                for work in children {
                    self.join(call, work);
                }
                continue;
            }
            let head = match ranks {
                None => heads.get_mut(row).and_then(|head| {
                    *head.get_or_insert_with(|| table.head_of_arrow(trace, row, &self.work))
                }),
                Some(ranks) => ranks.head_of_arrow(table, row, call),
            };
            if let Some(work) = head {
                self.join(call, work);
            }
        }
        for &Launch { call, work } in &repeated.pairs {
            self.join(call, work);
        }
    }

    /// Assigns work without a flow to the call with the same correlation id, and also the only piece of work of an id
    /// whose flow leads elsewhere. If no flow leads from any call to any work, flows are ignored.
    pub(super) fn by_correlation(&mut self, linking: Linking, flows: LinkTable) {
        let Linking { trace, ranks, .. } = linking;
        let unlinked = self.without_flow(linking, &flows);
        self.repeated.clone_from(&linking.repeated.unknown);
        if unlinked.is_empty() {
            self.arrange();
            return;
        }
        let table = match flows.key {
            LinkKey::Correlation => flows,
            LinkKey::ExternalId => {
                let by_correlation = LinkTable::new(trace, &self.work, LinkKey::Correlation);
                match by_correlation.rows.is_empty() {
                    true => flows,
                    false => by_correlation,
                }
            }
        };
        let callers = Callers::new(trace, linking.calls, &table);
        let (mut found, mut ambiguous) = (Vec::new(), Vec::new());
        for work in unlinked {
            let event = self.work.get(work.index());
            let Some(row) = event.and_then(|event| table.row_of(trace, *event)) else {
                continue;
            };
            let process = ranks.and_then(|ranks| ranks.process_of(work));
            match callers.of(trace, row, process) {
                Ok(call) => found.extend(call.map(|call| Launch { call, work })),
                Err(Ambiguous) => ambiguous.push(work),
            }
        }
        let claimed = found.len();
        self.without_shared_calls(trace, &mut found);
        let is_shared = found.len() < claimed;
        for &Launch { call, work } in &found {
            self.join(call, work);
        }
        self.by_correlation = found.into_iter().map(|launch| launch.work).collect();
        self.ambiguous = ambiguous;
        if is_shared {
            self.repeated.sort_unstable();
        }
        self.arrange();
    }

    /// Work without a call that no flow leads to.
    fn without_flow(&self, linking: Linking, flows: &LinkTable) -> Vec<GpuId> {
        let Linking {
            trace,
            ranks,
            repeated,
            ..
        } = linking;
        let are_arrows_true = !self.launches.is_empty();
        let has_flow = |work: GpuId| {
            let event = self.work.get(work.index()).copied();
            let link = event.and_then(|event| flows.key.read(trace, event));
            let row = link.and_then(|id| flows.row(id));
            row.is_some_and(|row| match ranks {
                _ if repeated.contains(row) => true,
                _ if !are_arrows_true => false,
                None => {
                    flows.has_arrow(row)
                        && !event.is_some_and(|event| flows.is_passed_by(row, trace, event))
                }
                Some(ranks) => ranks.has_arrow(flows, row, work),
            })
        };
        let all = (0..self.work.len() as u32).map(GpuId);
        let unlinked = all.filter(|work| self.launched_by(*work).is_none());
        unlinked.filter(|work| !has_flow(*work)).collect()
    }

    /// Assigns work to the operator with its external id, in a trace in which no call that launched it was recorded.
    pub(super) fn by_operator(&mut self, trace: &Trace) {
        // None for an id that several operators have.
        let mut operators: Map<LinkId, Option<EventId>> = Map::default();
        for event in trace.events.in_category(Category::CpuOp) {
            if let Some(id) = trace.events.external_id(event) {
                let is_new = !operators.contains_key(&id);
                operators.insert(id, is_new.then_some(event));
            }
        }
        let launches = self.work.iter().zip(0..).filter_map(|(event, work)| {
            let id = trace.events.external_id(*event)?;
            let call = (*operators.get(&id)?)?;
            let is_before = trace.events.ts_ns(call) <= trace.events.ts_ns(*event);
            is_before.then_some(Launch {
                call,
                work: GpuId(work),
            })
        });
        let launches: Vec<Launch> = launches.collect();
        for Launch { call, work } in launches {
            self.join(call, work);
        }
        self.are_of_operators = !self.launches.is_empty();
        self.arrange();
    }

    /// Removes the work of calls that can launch only one piece but would get several.
    fn without_shared_calls(&mut self, trace: &Trace, found: &mut Vec<Launch>) {
        let mut n_pieces: Map<EventId, u32> = Map::default();
        for launch in &*found {
            *n_pieces.entry(launch.call).or_default() += 1;
        }
        let mut graph_launches = ByName::new(is_graph_launch);
        let repeated = &mut self.repeated;
        found.retain(|launch| {
            let is_alone = n_pieces.get(&launch.call) == Some(&1);
            let stays = is_alone || graph_launches.of(trace, launch.call);
            if !stays {
                repeated.push(launch.work);
            }
            stays
        });
    }
}
