//! A trace without private names, to show to people who may not know what ran.
//!
//! ```text
//! Profile ─redact→ Profile → Report → files
//! ```
//!
//! The redacted trace is built from scratch, so that no text can remain by oversight: each use of a text (the name of a
//! kernel, of a Python frame, a value among the arguments, …) has its own rule, and a text is copied only if its rule
//! recognizes it. Everything else becomes a placeholder such as `kernel_1`, the same one for the same text. All output
//! is then made from that trace as from any other.
//!
//! | kept | replaced or removed |
//! |---|---|
//! | times, ids, streams, shapes, strides, types, numbers and flags among arguments | text among arguments, unknown arguments, trace metadata |
//! | operators of PyTorch and of well-known libraries | other operators: `op_1` |
//! | kernels of PyTorch and of vendors' libraries | other kernels: `kernel_1` |
//! | PyTorch's own Python frames and modules | other frames: `file_1.py(7): function_1`; other modules: `module_1` |
//! | `ProfilerStep#3`, collectives, steps of PyTorch's optimizers, lengths of the requests of a step | other annotations: `annotation_1` |
//! | GPUs that are in the table | other devices: `device_1`; names of processes, threads and groups |
//!
//! A placeholder also contains the common words of the name, as in `kernel_1_rms_norm`: they say what kind of work it
//! is, which the analysis depends on.

mod arguments;
mod frames;
mod kernels;
mod operators;
mod placeholder;
mod ranges;
mod tracks;
mod words;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::base::map::Map;
use crate::hardware;
use crate::import::Imported;
use crate::profile::Profile;
use crate::profile::window::Window;
use crate::trace::annotations::step_number;
use crate::trace::{
    Category, DeviceProperties, NewEvent, OpArgs, OpArgsId, StringId, StringTable, Trace,
    TraceBuilder,
};
use placeholder::Placeholders;

/// Replaces all private names; for a window of a trace, keeps the same window.
pub fn redact(plain: &Profile) -> Profile {
    let mut whole = Profile::new(Imported {
        trace: Redactor::new(&plain.trace).run(),
        warnings: plain.recording.imported.without_details(),
        text_bytes: plain.recording.text_bytes,
    });
    whole.coverage = plain
        .coverage
        .as_ref()
        .map(|coverage| Arc::new(coverage.without_names()));
    let whole = whole.with_sources(plain.sources.without_names());
    let Some(of) = &plain.window else {
        return whole;
    };
    // A profiler step has a number; any other step has a name from the program.
    let numbered = |step: &&String| step_number(step).is_some();
    let device = of.window.device.as_deref();
    whole.window(&Window {
        step: of.window.step.as_ref().filter(numbered).cloned(),
        device: device.and_then(|device| shown_device(device, &plain.trace, &whole.trace)),
        span: of.window.span,
        on_host: of.window.on_host,
        run: of.window.run,
    })
}

/// The name of a GPU among the redacted tracks, which keep their ids.
fn shown_device(device: &str, old: &Trace, new: &Trace) -> Option<String> {
    let mut tracks = old.tracks.iter();
    let (id, _) = tracks.find(|(_, track)| old.strings.get(track.pid) == device)?;
    let track = new.tracks.get(id)?;
    Some(new.strings.get(track.pid).to_owned())
}

struct Redactor<'a> {
    old: &'a Trace,
    new: TraceBuilder,
    placeholders: Placeholders,
    names: Map<(StringId, Category), StringId>,
    arguments: Map<OpArgsId, OpArgsId>,
    extra: Map<StringId, StringId>,
}

impl<'a> Redactor<'a> {
    fn new(old: &'a Trace) -> Redactor<'a> {
        Redactor {
            old,
            new: TraceBuilder::default(),
            placeholders: Placeholders::default(),
            names: Map::default(),
            arguments: Map::default(),
            extra: Map::default(),
        }
    }

    fn run(mut self) -> Trace {
        let old = self.old;
        // Tracks and links keep their ids: both tables are built in their original order.
        for (_, track) in old.tracks.iter() {
            self.track(track);
        }
        for number in 1..=old.link_ids.spellings().len() {
            self.new.spelled_link(&format!("link_{number}"));
        }
        for event in old.events.ids() {
            let event = old.events.get(event);
            let name = self.name(event.name, event.category);
            let op_args = event.op_args.map(|args| self.op_args(args));
            let extra_args = event.extra_args.and_then(|args| self.extra_args(args));
            self.new.event(NewEvent {
                name,
                op_args,
                extra_args,
                ..event
            });
        }
        for (event, number) in &old.sequence_numbers {
            self.new.sequence_number(*event, *number);
        }
        for start in old.flows.starts.iter() {
            self.new.flow_start(start.id, start.track);
        }
        for end in old.flows.ends.iter() {
            self.new.flow_end(end.id, end.track);
        }
        let devices = old.devices.iter();
        let devices = devices.map(|device| self.device(device)).collect();
        let mut trace = self.new.finish();
        trace.devices = devices;
        trace.n_events_read = old.n_events_read;
        trace.source = old.source;
        // A process has the name of its tracks, which keep their ids.
        trace.memory = old.memory.renamed(|pid| {
            let mut tracks = old.tracks.iter();
            let track = tracks.find(|(_, track)| track.pid == pid);
            let renamed = track.and_then(|(id, _)| trace.tracks.get(id));
            renamed.map_or(StringTable::EMPTY, |track| track.pid)
        });
        // Events keep their ids.
        trace.captured = old.captured.clone();
        trace
    }

    /// The new name of an event, depending on its category.
    fn name(&mut self, name: StringId, category: Category) -> StringId {
        if let Some(known) = self.names.get(&(name, category)) {
            return *known;
        }
        let text = self.old.strings.get(name);
        let names = &mut self.placeholders;
        let shown = match category {
            Category::CpuOp => operators::name(text, names),
            Category::Runtime | Category::Driver => operators::call(text, names),
            Category::PythonFunction => frames::name(text, names),
            Category::Kernel => kernels::name(text, names),
            Category::GpuMemcpy | Category::GpuMemset => kernels::copy(text, category, names),
            Category::UserAnnotation | Category::GpuUserAnnotation => ranges::name(text, names),
            Category::Overhead | Category::Other => ranges::other(text, names),
        };
        let shown = self.new.string(&shown);
        self.names.insert((name, category), shown);
        shown
    }

    fn op_args(&mut self, id: OpArgsId) -> OpArgsId {
        if let Some(known) = self.arguments.get(&id) {
            return *known;
        }
        let args = self.old.args.get(id).cloned().unwrap_or_default();
        let args = self.arguments_of(&args);
        let shown = self.new.trace.args.intern(args);
        self.arguments.insert(id, shown);
        shown
    }

    fn arguments_of(&mut self, args: &OpArgs) -> OpArgs {
        arguments::redacted(args, self.old, &mut self.new.trace, &mut self.placeholders)
    }

    fn extra_args(&mut self, id: StringId) -> Option<StringId> {
        if let Some(known) = self.extra.get(&id) {
            return Some(*known);
        }
        let text = arguments::extra(self.old.strings.get(id), &mut self.placeholders)?;
        let shown = self.new.string(&text);
        self.extra.insert(id, shown);
        Some(shown)
    }

    /// A GPU in the hardware table has that table's name.
    fn device(&mut self, device: &DeviceProperties) -> DeviceProperties {
        let name = device.name.trim();
        let known = hardware::of_name(name).map(|gpu| gpu.name.to_string());
        DeviceProperties {
            name: match name.is_empty() {
                true => String::new(),
                false => known.unwrap_or_else(|| self.placeholders.of("device", name)),
            },
            ..device.clone()
        }
    }
}
