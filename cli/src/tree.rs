//! `dormer tree`: one event of a trace with its callers and callees; or calls by name.

mod found;

use std::io::Write;

use dormer_core::base::format;
use dormer_core::import::Imported;
use dormer_core::profile::Profile;
use dormer_core::profile::cpu::tree::{CallTree, NodeId};
use dormer_core::profile::launch::{GpuId, Launch};
use dormer_core::trace::{EventId, TrackId};

use crate::args::TreeArgs;
use crate::stdout::Out;
use crate::{Failure, input, text};

/// Prints one event with its callers and everything below it, or the calls with a name.
pub(crate) fn run(args: &TreeArgs, out: &mut Out) -> Result<(), Failure> {
    let imported = input::import(&args.trace)?;
    match (&args.call.find, args.call.uid) {
        (Some(name), _) => found::run(&Profile::new(imported), &args.trace, name, out),
        (None, uid) => of_event(imported, uid.unwrap_or_default(), out),
    }
}

/// Prints the callers of the event, outermost first, the event, and everything below it.
fn of_event(imported: Imported, uid: u32, out: &mut Out) -> Result<(), Failure> {
    let Some(event) = imported.trace.events.by_uid(uid) else {
        return Err(Failure::Usage(format!(
            "there is no complete event at position {uid} of traceEvents, which has {}; positions count from 0",
            format::counted(imported.trace.n_events_read, "entry")
        )));
    };
    let profile = Profile::new(imported);
    let view = View {
        profile: &profile,
        tree: profile.full_tree(),
        event,
    };
    writeln!(out, "{}\n", view.title())?;
    let heads = [">uid", ">CPU time", ">GPU time", ">GPU events", "", "call"];
    text::write(out, heads, &view.rows())?;
    std::mem::forget(profile);
    Ok(())
}

/// One event in its call tree.
struct View<'a> {
    profile: &'a Profile,
    tree: &'a CallTree,
    event: EventId,
}

type Row = [String; 6];

impl View<'_> {
    /// What the event is and where it ran.
    fn title(&self) -> String {
        let events = &self.profile.trace.events;
        let category = events.category(self.event).label();
        format!(
            "{}: {category} on {}",
            self.name(self.event),
            self.track(events.track(self.event))
        )
    }

    fn rows(&self) -> Vec<Row> {
        // Set if the event itself is GPU activity.
        let gpu_work = self.profile.launches.id_of(self.event);
        let node = self.tree.node_of(self.event).or_else(|| {
            let call = self.profile.launches.launched_by(gpu_work?)?;
            self.tree.node_of(call)
        });
        let Some(node) = node else {
            // Annotations and profiler overhead are not in the tree.
            return vec![match gpu_work {
                Some(work) => self.gpu_row(work, 0),
                None => self.host_row(self.event, &[], 0),
            }];
        };
        let mut above: Vec<NodeId> = self.tree.ancestors(node).collect();
        above.reverse();
        let mut rows = Vec::new();
        for (depth, caller) in above.iter().enumerate() {
            rows.extend(self.node_row(*caller, depth));
        }
        let depth = above.len();
        match gpu_work {
            Some(work) => {
                rows.extend(self.node_row(node, depth));
                rows.push(self.gpu_row(work, depth + 1));
            }
            None => self.push_subtree(node, depth, &mut rows),
        }
        rows
    }

    fn push_subtree(&self, root: NodeId, root_depth: usize, rows: &mut Vec<Row>) {
        let above = self.tree.depth(root);
        // Nodes are in depth-first order, so the subtree is a range.
        for node in self.tree.subtree(root).map(NodeId) {
            let depth = root_depth + usize::from(self.tree.depth(node).saturating_sub(above));
            rows.extend(self.node_row(node, depth));
            for launch in self.launches_of(node) {
                rows.push(self.gpu_row(launch.work, depth + 1));
            }
        }
    }

    /// The GPU activity that a call itself launched.
    fn launches_of(&self, node: NodeId) -> &[Launch] {
        let launches = &self.profile.launches.launches;
        let Some(call) = self.tree.event(node) else {
            return &[];
        };
        let start = launches.partition_point(|launch| launch.call < call);
        let end = launches.partition_point(|launch| launch.call <= call);
        launches.get(start..end).unwrap_or_default()
    }

    fn node_row(&self, node: NodeId, depth: usize) -> Option<Row> {
        let event = self.tree.event(node)?;
        Some(self.host_row(event, self.tree.gpu_work(node), depth))
    }

    fn host_row(&self, event: EventId, gpu_work: &[GpuId], depth: usize) -> Row {
        let [gpu_time, n_gpu_events] = match gpu_work.len() as u64 {
            0 => [String::new(), String::new()],
            n => [
                format::time_ns(self.profile.gpu.busy_ns(gpu_work)),
                format::count(n),
            ],
        };
        let host_time = self.profile.trace.events.dur_ns(event);
        let host_time = host_time.map_or_else(String::new, format::time_ns);
        self.row(event, depth, [host_time, gpu_time, n_gpu_events])
    }

    fn gpu_row(&self, work: GpuId, depth: usize) -> Row {
        let Some(&event) = self.profile.launches.work.get(work.index()) else {
            return Row::default();
        };
        let gpu_time = self.profile.trace.events.dur_ns(event);
        let gpu_time = gpu_time.map_or_else(String::new, format::time_ns);
        self.row(event, depth, [String::new(), gpu_time, String::new()])
    }

    fn row(&self, event: EventId, depth: usize, times: [String; 3]) -> Row {
        let [host_time, gpu_time, n_gpu_events] = times;
        let mark = if event == self.event { "→" } else { "" };
        [
            self.profile.trace.events.uid(event).to_string(),
            host_time,
            gpu_time,
            n_gpu_events,
            mark.to_owned(),
            format!("{}{}", "  ".repeat(depth), self.name(event)),
        ]
    }

    /// A name on one line, without characters that would move a terminal's cursor.
    fn name(&self, event: EventId) -> String {
        text::printable(self.profile.trace.name(event))
    }

    fn track(&self, track: TrackId) -> String {
        let trace = &self.profile.trace;
        let Some(track) = trace.tracks.get(track) else {
            return "an unknown thread".to_owned();
        };
        let text = |id| text::printable(trace.strings.get(id));
        let thread = match track.thread_name {
            Some(name) => text(name),
            None => format!("thread {}", text(track.tid)),
        };
        match track.process_name {
            Some(name) => format!("{thread} of {} ({})", text(name), text(track.pid)),
            None => format!("{thread} of process {}", text(track.pid)),
        }
    }
}
