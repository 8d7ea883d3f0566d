//! GPU activity: `GpuRenderStageEvent`.

use std::borrow::Cow;

use super::annotations::link;
use super::names::{Sequence, Table};
use super::reader::{Packet, Reader};
use crate::import::args_text::ArgsText;
use crate::import::unordered::stream_track;
use crate::import::warning::WarningKind;
use crate::import::wire::{Fields, RecordReader, Value};
use crate::trace::{Category, LinkId, NewEvent, StringTable, TraceBuilder};

/// More GPUs than this are damage.
const MOST_GPUS: usize = 1024;

/// More arguments of a launch than this are damage.
const MOST_ARGUMENTS: usize = 64;

/// The fields of a stage event.
#[derive(Default)]
struct Stage<'a> {
    dur_ns: i64,
    gpu: u64,
    queue: u64,
    stage: u64,
    name: Option<u64>,
    kernel: Option<u64>,
    launch: Option<Value<'a>>,
}

impl<'a> Stage<'a> {
    /// `None` if its bytes are damaged.
    fn read(value: Value<'a>) -> Option<Stage<'a>> {
        let mut stage = Stage::default();
        let mut fields = value.fields();
        for (number, value) in fields.by_ref() {
            match number {
                2 => stage.dur_ns = value.signed(),
                11 => stage.gpu = value.number(),
                13 => stage.queue = value.number(),
                14 => stage.stage = value.number(),
                20 => stage.name = Some(value.number()),
                19 => stage.kernel = Some(value.number()),
                21 => stage.launch = Some(value),
                _ => {}
            }
        }
        fields.bad().is_none().then_some(stage)
    }
}

/// What the pairs of names and values of a stage event say; the rest of them are its arguments.
#[derive(Default)]
struct Pairs<'a> {
    stream: Option<Cow<'a, str>>,
    correlation: Option<LinkId>,
    arch: Option<String>,
}

impl<'a> Pairs<'a> {
    fn read(value: Value<'a>, args: &mut ArgsText, builder: &mut TraceBuilder) -> Pairs<'a> {
        let mut pairs = Pairs::default();
        for (_, pair) in value.fields().filter(|(number, _)| *number == 6) {
            let (key, written) = pair_of(pair.fields());
            match &*key {
                "stream id" => {
                    args.number_or_text("stream", &written);
                    pairs.stream = Some(written);
                }
                "correlation" => pairs.correlation = link(&written, builder),
                "device id" => args.number_or_text("device", &written),
                "context id" => args.number_or_text("context", &written),
                "arch" => pairs.arch = pairs.arch.or_else(|| Some(written.into_owned())),
                "process_id" | "process_name" => {}
                key => args.number_or_text(key, &written),
            }
        }
        pairs
    }
}

impl Reader {
    /// Reads a kernel, copy or fill.
    pub(super) fn stage(&mut self, packet: Packet, value: Value) {
        let Some(stage) = Stage::read(value) else {
            return self.warn(WarningKind::UnreadableEvent, packet.offset);
        };
        self.tally.count();
        let Some(ts_ns) = self.time(packet) else {
            return;
        };
        let Reader {
            events,
            sequences,
            annotations,
            archs,
            ..
        } = self;
        let builder = &mut events.builder;
        let names = sequences.entry(packet.sequence).or_default();
        annotations.clear();
        let args = &mut annotations.rest;
        let pairs = Pairs::read(value, args, builder);
        let correlation = pairs.correlation;
        let is_new = archs.iter().all(|(gpu, _)| *gpu != stage.gpu);
        if is_new && archs.len() < MOST_GPUS {
            archs.extend(pairs.arch.map(|arch| (stage.gpu, arch)));
        }
        if let Some(launch) = stage.launch {
            add_launch(launch, args, names);
        }
        let category = names
            .text(Table::GPU, stage.stage)
            .map_or(Category::Other, category_of);
        let queue = names.text(Table::GPU, stage.queue).unwrap_or_default();
        let stream = match pairs.stream {
            Some(stream) => stream.into_owned(),
            None => last_number(queue).unwrap_or(stage.queue).to_string(),
        };
        let track = stream_track(builder, stage.gpu, &stream);
        let tables = [
            (Table::EVENTS, stage.name),
            (Table::KERNELS, stage.kernel),
            (Table::GPU, Some(stage.stage)),
        ];
        let mut named = tables.into_iter();
        let name = named.find_map(|(table, iid)| names.id(table, iid?, builder));
        let event = NewEvent {
            uid: 0,
            category,
            name: name.unwrap_or(StringTable::EMPTY),
            track,
            ts_ns,
            dur_ns: Some(stage.dur_ns),
            external_id: None,
            correlation,
            op_args: None,
            extra_args: annotations.rest(builder),
        };
        self.unknown.note(category);
        if events.add(event, None, packet.offset).is_some()
            && let Some(id) = correlation
        {
            events.builder.flow_end(id, track);
        }
    }
}

fn category_of(stage: &str) -> Category {
    match stage {
        "Kernel" => Category::Kernel,
        "Memcpy" => Category::GpuMemcpy,
        "Memset" => Category::GpuMemset,
        "Annotation" => Category::GpuUserAnnotation,
        _ => Category::Other,
    }
}

/// Adds the sizes and arguments of a launch.
fn add_launch(launch: Value, args: &mut ArgsText, names: &Sequence) {
    let mut n_arguments = 0;
    for (number, value) in launch.fields() {
        match number {
            1 => args.raw("grid", three(value.fields())),
            2 => args.raw("block", three(value.fields())),
            3 if n_arguments < MOST_ARGUMENTS => {
                n_arguments += 1;
                let (mut name, mut amount) = (None, None);
                for (number, value) in value.fields() {
                    match number {
                        1 => name = names.text(Table::LAUNCH, value.number()),
                        2..=4 => amount = Some(value.number()),
                        _ => {}
                    }
                }
                if let (Some(name), Some(amount)) = (name, amount) {
                    args.raw(as_json(name), amount);
                }
            }
            _ => {}
        }
    }
}

/// A name and its value.
fn pair_of<'a>(fields: Fields<'a>) -> (Cow<'a, str>, Cow<'a, str>) {
    let (mut key, mut written) = Default::default();
    for (number, value) in fields {
        match number {
            1 => key = value.text(),
            2 => written = value.text(),
            _ => {}
        }
    }
    (key, written)
}

/// The name of a launch argument in PyTorch's JSON.
fn as_json(name: &str) -> &str {
    match name {
        "registers_per_thread" => "registers per thread",
        "shared_mem_dynamic" => "shared memory",
        name => name,
    }
}

/// `[512, 1, 1]`
fn three(fields: Fields) -> String {
    let mut sizes = [0; 3];
    for (number, value) in fields {
        if let Some(size) = sizes.get_mut((number as usize).wrapping_sub(1)) {
            *size = value.number();
        }
    }
    let [x, y, z] = sizes;
    format!("[{x}, {y}, {z}]")
}

/// The stream of a queue named `[7] stream 7`.
fn last_number(queue: &str) -> Option<u64> {
    queue.rsplit(' ').next()?.parse().ok()
}
